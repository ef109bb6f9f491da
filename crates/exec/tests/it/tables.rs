//! Tables and collections: what reaches a protocol, and what comes back.

use crate::common;

use common::{Db, Schema, int, num, text};
use planaria_base::{Datum, SqlState, Type};
use planaria_exec::Interrupt;
use planaria_protocol::{Conflict, Hosted};

on_every_protocol!(
    rows_go_in_and_come_out,
    missing_rows_are_null,
    scans_in_both_directions,
    scans_are_left_early,
    a_scan_sees_each_row_once,
    updates_keep_secondary_indexes,
    updates_move_the_primary_key,
    duplicates_name_their_key,
    an_error_undoes_the_region,
    a_region_that_ends_well_stays,
    lists_sort,
    lists_are_trimmed,
    maps_group,
    multimaps_join,
    entries_are_set_in_place,
    texts_outlive_the_heap,
    shared_texts_stay_shared,
    a_conflict_leaves_the_machine_usable,
);

/// t0 account: id int4 primary key, name text unique, bal numeric(12,2) null; index by bal, name.
/// t1 note: a int2, b int8 primary key (a, b), body text null, done bool.
fn schema() -> Schema {
    Schema::default()
        .table(
            "account",
            &[
                ("id", Type::Int4, false),
                ("name", Type::Text, false),
                ("bal", Type::Numeric(Some((12, 2))), true),
            ],
            &[
                ("account_pkey", true, &[0]),
                ("account_name_key", true, &[1]),
                ("account_bal", false, &[2, 1]),
            ],
        )
        .table(
            "note",
            &[
                ("a", Type::Int2, false),
                ("b", Type::Int8, false),
                ("body", Type::Text, true),
                ("done", Type::Bool, false),
            ],
            &[("note_pkey", true, &[0, 1])],
        )
}

const PUT: &str = "
procedure put
  reg id: int4
  reg name: text
  reg bal: numeric(12, 2)
  reg n: numeric
  reg r: row t0
  param in id: int4 = id
  param in name: text = name
  param in bal: numeric = n
begin
  bal = cast n
  insert t0 (id, name, bal) -> r
end
";

const ALL: &str = "
statement all
  reg r: row t0
  reg id: int4
  reg name: text
  reg bal: numeric(12, 2)
  output id: int4
  output name: text
  output bal: numeric
  labels 1
begin
  scan t0.i0 () -> r, c0 = id, c1 = name, c2 = bal as l0 {
    emit (id, name, bal)
  }
end
";

fn filled<P: Hosted>(n: i64) -> Db<P> {
    let mut db = Db::new(schema());
    let put = db.compile(PUT);
    for id in 0..n {
        db.run(&put, &[int(id), text(&format!("n{id:03}")), num((id % 3).into(), 1)]).unwrap();
    }
    db
}

fn rows_go_in_and_come_out<P: Hosted>() {
    let mut db = filled::<P>(2);
    let put = db.compile(PUT);
    db.run(&put, &[int(7), text("nö"), Datum::Null]).unwrap();
    let error = db.run(&put, &[int(8), text("big"), num(1 << 50, 0)]).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::NUMERIC_VALUE_OUT_OF_RANGE);
    let expected = [
        [int(0), text("n000"), num(0, 2)],
        [int(1), text("n001"), num(10, 2)],
        [int(7), text("nö"), Datum::Null],
    ];
    assert_eq!(db.rows(ALL, &[]), expected);
}

const GET: &str = "
procedure find
  reg name: text
  reg r: row t0
  reg id: int4
  reg bal: numeric(12, 2)
  reg found: bool
  param in name: text = name
  output id: int4
  output bal: numeric
  output found: bool
  outs (id, bal, found)
begin
  get t0.i1 (name) -> r, c0 = id, c2 = bal
  found = is.notnull(r)
end
";

fn missing_rows_are_null<P: Hosted>() {
    let mut db = filled::<P>(5);
    assert_eq!(db.eval(GET, &[text("n004")]).unwrap(), [int(4), num(10, 2), Datum::Bool(true)]);
    for name in [text("n999"), Datum::Null] {
        assert_eq!(db.eval(GET, &[name]).unwrap(), [Datum::Null, Datum::Null, Datum::Bool(false)]);
    }
}

fn scans_in_both_directions<P: Hosted>() {
    let mut db = filled::<P>(50);
    let program = |range: &str| {
        format!(
            "
statement s
  reg low: int8
  reg high: int8
  reg r: row t0
  reg id: int4
  param in low: int8 = low
  param in high: int8 = high
  output id: int4
  labels 1
begin
  scan t0.i0 () {range} -> r, c0 = id as l0 {{
    emit (id)
  }}
end
"
        )
    };
    let ids = |rows: Vec<Vec<Datum>>| -> Vec<i64> {
        rows.iter().map(|r| if let Datum::Int(n) = r[0] { n } else { panic!() }).collect()
    };
    let mut run = |range: &str, low: Datum, high: Datum| ids(db.rows(&program(range), &[low, high]));
    assert_eq!(run(">= low < high", int(10), int(13)), [10, 11, 12]);
    assert_eq!(run("> low <= high", int(10), int(13)), [11, 12, 13]);
    assert_eq!(run("> low <= high desc", int(10), int(13)), [13, 12, 11]);
    assert_eq!(run("<= high", int(0), int(2)), [0, 1, 2]);
    assert_eq!(run("> low desc", int(47), Datum::Null), [49, 48]);
    assert_eq!(run(">= low", int(1 << 40), Datum::Null), [0i64; 0]);
    assert_eq!(run("<= high", int(0), Datum::Null), [0i64; 0]);
    assert_eq!(run("", int(0), int(0)), (0..50).collect::<Vec<_>>());
    let by_bal = "
statement s
  reg bal: numeric(12, 2)
  reg n: numeric
  reg low: text
  reg r: row t0
  reg id: int4
  param in n: numeric = n
  param in low: text = low
  output id: int4
  labels 1
begin
  scan t0.i2 (n) > low desc -> r, c0 = id as l0 {
    emit (id)
  }
end
";
    assert_eq!(ids(db.rows(by_bal, &[num(1, 1), text("n040")])), [49, 46, 43]);
    assert_eq!(ids(db.rows(by_bal, &[num(1, 3), text("n040")])), [0i64; 0]);
}

fn scans_are_left_early<P: Hosted>() {
    // Leaves the inner scan by exit, both by return, and both by an error that is caught.
    let program = "
procedure p
  reg how: int4
  reg r: row t0
  reg q: row t0
  reg id: int4
  reg jd: int4
  reg n: int8
  reg one: int8
  reg one4: int4
  reg two: int4
  reg three: int4
  reg b: bool
  reg m: text
  reg s: text
  param in how: int4 = how
  output n: int8
  outs (n)
  labels 3
begin
  n = const 0
  one = const 1
  one4 = const 1
  two = const 2
  three = const 3
  m = const 'out'
  try {
    scan t0.i0 () -> r, c0 = id as l0 {
      scan t0.i0 () >= id desc -> q, c0 = jd as l1 {
        n = int8.add(n, one)
        b = int.eq(how, one4)
        if b {
          exit l1
        }
        b = int.eq(how, two)
        if b {
          return
        }
        b = int.eq(how, three)
        if b {
          raise exception 'P0001' m
        }
      }
    }
  } handle others -> (s, m) {
    scan t0.i0 () -> r as l2 {
      n = int8.add(n, one)
    }
  }
end
";
    let mut db = filled::<P>(10);
    let code = db.compile(program);
    for _ in 0..3 {
        assert_eq!(db.run(&code, &[int(0)]).unwrap(), [int(55)]);
        assert_eq!(db.run(&code, &[int(1)]).unwrap(), [int(10)]);
        assert_eq!(db.run(&code, &[int(2)]).unwrap(), [int(1)]);
        assert_eq!(db.run(&code, &[int(3)]).unwrap(), [int(11)]);
    }
}

fn a_scan_sees_each_row_once<P: Hosted>() {
    let program = "
procedure p
  reg r: row t0
  reg bal: numeric(12, 2)
  reg x: numeric
  reg one: numeric
  reg n: int8
  reg o: int8
  output n: int8
  outs (n)
  labels 1
begin
  one = const 1n
  o = const 1
  n = const 0
  scan t0.i0 () -> r, c2 = bal as l0 {
    x = num.add(bal, one)
    bal = cast x
    update t0 r set c2 = bal
    n = int8.add(n, o)
  }
end
";
    let mut db = filled::<P>(100);
    assert_eq!(db.eval(program, &[]).unwrap(), [int(100)]);
    let rows = db.rows(ALL, &[]);
    assert_eq!(rows[99], [int(99), text("n099"), num(100, 2)]);
    assert_eq!(rows[98], [int(98), text("n098"), num(120, 2)]);
}

/// Sets id and name of the account with an id; answers with the row as its handle then loads it.
const RENAME: &str = "
procedure rename
  reg id: int4
  reg to: int4
  reg name: text
  reg r: row t0
  reg id2: int4
  reg name2: text
  param in id: int4 = id
  param in to: int4 = to
  param in name: text = name
  output id: int4
  output name: text
  outs (id2, name2)
begin
  get t0.i0 (id) -> r
  update t0 r set c0 = to, c1 = name
  load t0 r -> c0 = id2, c1 = name2
end
";

fn updates_keep_secondary_indexes<P: Hosted>() {
    let mut db = filled::<P>(5);
    assert_eq!(db.eval(RENAME, &[int(3), int(3), text("new")]).unwrap(), [int(3), text("new")]);
    assert_eq!(db.eval(GET, &[text("new")]).unwrap()[0], int(3));
    assert_eq!(db.eval(GET, &[text("n003")]).unwrap()[2], Datum::Bool(false));
    // A row that is not there changes nothing.
    assert_eq!(db.eval(RENAME, &[int(99), int(3), text("x")]).unwrap(), [Datum::Null, Datum::Null]);
}

fn updates_move_the_primary_key<P: Hosted>() {
    let mut db = filled::<P>(3);
    assert_eq!(db.eval(RENAME, &[int(1), int(77), text("moved")]).unwrap(), [int(77), text("moved")]);
    let ids: Vec<_> = db.rows(ALL, &[]).into_iter().map(|r| r[0].clone()).collect();
    assert_eq!(ids, [int(0), int(2), int(77)]);
    assert_eq!(db.eval(GET, &[text("moved")]).unwrap()[0], int(77));
    let error = db.eval(RENAME, &[int(77), int(2), text("moved")]).unwrap_err();
    assert_eq!(error.message(), "duplicate key value violates unique constraint \"account_pkey\"");
}

fn duplicates_name_their_key<P: Hosted>() {
    let mut db = filled::<P>(3);
    let put = db.compile(PUT);
    let error = db.run(&put, &[int(9), text("n002"), Datum::Null]).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::UNIQUE_VIOLATION);
    assert_eq!(error.message(), "duplicate key value violates unique constraint \"account_name_key\"");
    let fields = error.fields();
    assert_eq!(fields.detail.as_deref(), Some("Key (name)=(n002) already exists."));
    assert_eq!(fields.constraint.as_deref(), Some("account_name_key"));
    assert_eq!(fields.table.as_deref(), Some("account"));
    let note = "
procedure note
  reg a: int2
  reg b: int8
  reg body: text
  reg done: bool
  param in a: int2 = a
  param in b: int8 = b
begin
  done = const true
  insert t1 (a, b, body, done)
end
";
    db.eval(note, &[int(1), int(-2)]).unwrap();
    let error = db.eval(note, &[int(1), int(-2)]).unwrap_err();
    assert_eq!(error.fields().detail.as_deref(), Some("Key (a, b)=(1, -2) already exists."));
}

const TRIES: &str = "
procedure p
  reg fails: bool
  reg id: int4
  reg name: text
  reg bal: numeric(12, 2)
  reg r: row t0
  reg m: text
  reg s: text
  reg n: int4
  param in fails: bool = fails
  output n: int4
  outs (n)
begin
  id = const 100
  name = const 'before'
  insert t0 (id, name, bal)
  n = const 0
  try {
    id = const 0
    get t0.i0 (id) -> r
    delete t0 r
    id = const 101
    name = const 'inside'
    insert t0 (id, name, bal)
    n = const 1
    if fails {
      id = const 1
      insert t0 (id, name, bal)
    }
  } handle '23505' -> (s, m) {
    id = const 102
    name = const 'handler'
    insert t0 (id, name, bal)
  }
end
";

fn an_error_undoes_the_region<P: Hosted>() {
    let mut db = filled::<P>(2);
    assert_eq!(db.eval(TRIES, &[Datum::Bool(true)]).unwrap(), [int(1)]);
    let ids: Vec<_> = db.rows(ALL, &[]).into_iter().map(|r| r[0].clone()).collect();
    assert_eq!(ids, [int(0), int(1), int(100), int(102)]);
}

fn a_region_that_ends_well_stays<P: Hosted>() {
    let mut db = filled::<P>(2);
    assert_eq!(db.eval(TRIES, &[Datum::Bool(false)]).unwrap(), [int(1)]);
    let ids: Vec<_> = db.rows(ALL, &[]).into_iter().map(|r| r[0].clone()).collect();
    assert_eq!(ids, [int(1), int(100), int(101)]);
}

/// A statement over the array `items`, pushed to the list x0 of (text, item).
fn over_items(colls: &str, ops: &str, outputs: &str) -> String {
    format!(
        "
statement s
  reg items: int8[]
  reg i: int8
  reg n: int8
  reg len: int8
  reg one: int8
  reg zero: int8
  reg b: bool
  reg k: text
  reg v: int8
  reg w: int8
  reg e: int8
  reg found: bool
  {colls}
  param in items: int8[] = items
  {outputs}
  labels 5
begin
  one = const 1
  zero = const 0
  i = const 1
  len = array.cardinality(items)
  loop l4 {{
    b = int.gt(i, len)
    if b {{
      exit l4
    }}
    v = array.get(items, i)
    k = const 'k'
    {ops}
    i = int8.add(i, one)
  }}
"
    )
}

fn array(items: &[Option<i64>]) -> Datum {
    Datum::Array(items.iter().map(|i| i.map_or(Datum::Null, int)).collect())
}

fn lists_sort<P: Hosted>() {
    let mut db = Db::<P>::new(Schema::default());
    let run = |db: &mut Db<P>, keys: &str| {
        let program =
            over_items("coll x0: list (int8, int8)", "push x0 (v, i)", "output v: int8\n  output w: int8")
                + &format!(
                    "  sort x0 ({keys})\n  foreach x0 -> (v, w) as l0 {{\n    emit (v, w)\n  }}\nend\n"
                );
        let rows = db.rows(&program, &[array(&[Some(3), None, Some(1), Some(3), Some(2), None])]);
        rows.into_iter().map(|r| (r[0].clone(), r[1].clone())).collect::<Vec<_>>()
    };
    let row = |v: Option<i64>, i: i64| (v.map_or(Datum::Null, int), int(i));
    let (one, two, three, four, five, six) =
        (row(Some(3), 1), row(None, 2), row(Some(1), 3), row(Some(3), 4), row(Some(2), 5), row(None, 6));
    let all = |rows: [&(Datum, Datum); 6]| rows.map(Clone::clone).to_vec();
    assert_eq!(run(&mut db, "0"), all([&three, &five, &one, &four, &two, &six]));
    assert_eq!(run(&mut db, "0 desc nulls_first"), all([&two, &six, &one, &four, &five, &three]));
    assert_eq!(run(&mut db, "0 nulls_first, 1 desc"), all([&six, &two, &three, &five, &four, &one]));
}

fn lists_are_trimmed<P: Hosted>() {
    let mut db = Db::<P>::new(Schema::default());
    let mut run = |trim: &str, n: Option<i64>| {
        let set = n.map_or("n = const null".to_owned(), |n| format!("n = const {n}"));
        let ops = format!("{set}\n    push x0 (v, i)\n    {trim}");
        let program = over_items("coll x0: list (int8, int8)", &ops, "output v: int8\n  output w: int8")
            + "  sort x0 (0 desc)\n  foreach x0 -> (v, w) as l0 {\n    emit (v, w)\n  }\nend\n";
        // Each of 0 to 999 four times.
        let items: Vec<_> = (0..4000).map(|i| Some((i * 7) % 1000)).collect();
        let rows = db.rows(&program, &[array(&items)]);
        rows.into_iter().map(|r| (r[0].clone(), r[1].clone())).collect::<Vec<_>>()
    };
    let all = run("", None);
    assert_eq!(all.len(), 4000);
    for (trim, first, n) in [
        ("trim x0 (0 desc) (n)", 10, Some(10)),
        ("trim x0 (0 desc) (n, one)", 11, Some(10)),
        ("trim x0 (0 desc) (one)", 1, None),
        ("trim_ties x0 (0 desc) (n)", 12, Some(10)),
        ("trim_ties x0 (0 desc) (n, one)", 12, Some(11)),
    ] {
        let some = run(trim, n);
        assert!(some.len() < 400, "{trim} leaves {}", some.len());
        assert_eq!(some[..first], all[..first], "{trim}");
    }
    // No limit.
    assert_eq!(run("trim x0 (0 desc) (n)", None), all);
    assert_eq!(run("trim x0 (0 desc) (n, one)", None), all);
    assert_eq!(run("trim x0 (0 desc) (n)", Some(i64::MAX)), all);
    assert_eq!(run("trim x0 (0 desc) (n, one)", Some(i64::MAX)), all);
}

fn maps_group<P: Hosted>() {
    // Counts by value: NULL is a group; groups come in the order of their first rows.
    let ops = "lookup x0 (v) -> found (w)
    if found {
      w = int8.add(w, one)
    } else {
      w = copy one
    }
    put x0 (v) (w)";
    let program = over_items("coll x0: map (int8) -> (int8)", ops, "output v: int8\n  output w: int8")
        + "  foreach x0 -> (v, w) as l0 {\n    emit (v, w)\n  }\nend\n";
    let mut db = Db::<P>::new(Schema::default());
    let rows = db.rows(&program, &[array(&[Some(5), None, Some(4), Some(5), None, Some(5)])]);
    assert_eq!(rows, [[int(5), int(3)], [Datum::Null, int(2)], [int(4), int(1)]]);
    let many: Vec<_> = (0..3000).map(|i| Some(i % 1000)).collect();
    let rows = db.rows(&program, &[array(&many)]);
    assert!(rows.len() == 1000 && rows.iter().enumerate().all(|(i, r)| *r == [int(i as i64), int(3)]));
}

fn multimaps_join<P: Hosted>() {
    // By v mod 3, all i in the order they came; the text key is part of the key.
    let ops = "w = const 3\n    w = int.mod(v, w)\n    put x0 (k, w) (i)";
    let tail = "  k = const 'k'
  w = const 1
  matches x0 (k, w) -> (i) entry e as l0 {
    emit (i, e)
  }
  k = const 'other'
  matches x0 (k, w) -> (i) as l1 {
    emit (i, i)
  }
end
";
    let program =
        over_items("coll x0: multimap (text, int8) -> (int8)", ops, "output i: int8\n  output e: int8")
            + tail;
    let mut db = Db::<P>::new(Schema::default());
    let items: Vec<_> = (0..10).map(Some).collect();
    let rows = db.rows(&program, &[array(&items)]);
    assert_eq!(rows, [[int(2), int(1)], [int(5), int(4)], [int(8), int(7)]]);
}

fn entries_are_set_in_place<P: Hosted>() {
    // Ranks rows: the entry number goes into the second column.
    let tail = "  foreach x0 -> (v, w) entry e as l0 {
    setentry x0 (e, 1) = e
  }
  foreach x0 -> (v, w) as l1 {
    b = int.eq(v, zero)
    if b {
      continue l1
    }
    emit (v, w)
  }
  clear x0
  foreach x0 -> (v, w) as l2 {
    emit (v, w)
  }
end
";
    let program =
        over_items("coll x0: list (int8, int8)", "push x0 (v, zero)", "output v: int8\n  output w: int8")
            + tail;
    let rows = Db::<P>::new(Schema::default()).rows(&program, &[array(&[Some(5), Some(0), Some(7)])]);
    assert_eq!(rows, [[int(5), int(0)], [int(7), int(2)]]);
}

/// Builds `n` texts of a kilobyte, most of them garbage at once; keeps every thousandth in a list, one in
/// an array, one in a register, across nested calls.
fn texts_outlive_the_heap<P: Hosted>() {
    let schema = Schema::default().routine(
        "
procedure garbage
  reg i: int8
  reg n: int8
  reg m: int4
  reg one: int8
  reg s: text
  reg t: text
  reg b: bool
  param in n: int8 = n
  labels 1
begin
  one = const 1
  m = const 100
  s = const '0123456789'
  i = const 0
  loop l0 {
    b = int.ge(i, n)
    if b {
      exit l0
    }
    t = text.repeat(s, m)
    i = int8.add(i, one)
  }
end
",
    );
    let program = "
statement s
  reg n: int8
  reg i: int8
  reg one: int8
  reg thousand: int8
  reg zero: int8
  reg x: int8
  reg m: int4
  reg s: text
  reg kept: text
  reg t: text
  reg digits: text
  reg a: text[]
  reg b: bool
  coll x0: list (text, int8)
  coll x1: map (text) -> (int8)
  param in n: int8 = n
  output kept: text
  output a: text[]
  output i: int8
  labels 3
begin
  one = const 1
  zero = const 0
  thousand = const 1000
  m = const 70
  digits = const '0123456789'
  kept = text.concat(digits, digits)
  i = const 0
  loop l0 {
    b = int.ge(i, n)
    if b {
      exit l0
    }
    t = text.repeat(digits, m)
    x = int.mod(i, thousand)
    b = int.eq(x, zero)
    if b {
      s = cast i
      t = text.concat(s, t)
      push x0 (t, i)
      put x1 (s) (i)
      call p0 (thousand) -> ()
      a = array.append(a, s)
    }
    i = int8.add(i, one)
  }
  foreach x0 -> (t, x) as l1 {
    s = cast x
    lookup x1 (s) -> b (i)
    emit (t, a, i)
  }
  emit (kept, a, n)
end
";
    let mut db = Db::<P>::new(schema);
    let rows = db.rows(program, &[int(5000)]);
    let a = Datum::Array((0..5).map(|i| text(&format!("{}", i * 1000))).collect());
    for (i, row) in rows[..5].iter().enumerate() {
        let n = i as i64 * 1000;
        assert_eq!(*row, [text(&format!("{n}{}", "0123456789".repeat(70))), a.clone(), int(n)]);
    }
    assert_eq!(rows[5], [text("01234567890123456789"), a, int(5000)]);
    // 5000 texts of 700 bytes and as many of 1000 went by.
    let used = db.machine.heap().used();
    assert!(used < 2 << 20, "{used} bytes in use");
}

fn shared_texts_stay_shared<P: Hosted>() {
    // One text of a kilobyte in 10,000 rows.
    let program = "
statement s
  reg n: int8
  reg i: int8
  reg one: int8
  reg big: text
  reg t: text
  reg g: text
  reg m: int4
  reg b: bool
  coll x0: list (text)
  param in n: int8 = n
  param in big: text = big
  row_count i
  labels 1
begin
  one = const 1
  i = const 0
  m = const 2
  loop l0 {
    b = int.ge(i, n)
    if b {
      exit l0
    }
    push x0 (big)
    g = text.repeat(big, m)
    i = int8.add(i, one)
  }
end
";
    let mut db = Db::<P>::new(Schema::default());
    db.eval(program, &[int(10_000), text(&"x".repeat(1000))]).unwrap();
    assert!(db.machine.heap().used() < 2 << 20);
}

fn a_conflict_leaves_the_machine_usable<P: Hosted>() {
    if !P::CONCURRENT {
        return;
    }
    // Reads account 1 within a scan within a region; then, told so, spins until the reads are checked.
    let program = "
procedure p
  reg wait: bool
  reg r: row t0
  reg q: row t0
  reg id: int4
  reg s: text
  reg e: text
  reg n: int4
  reg one: int4
  param in wait: bool = wait
  output n: int4
  outs (n)
  labels 3
begin
  n = const 0
  one = const 1
  scan t0.i0 () -> r, c0 = id as l0 {
    n = int4.add(n, one)
    try {
      get t0.i0 (id) -> q, c1 = e
      if wait {
        loop l1 {
        }
      }
    } handle others -> (s, e) {
      n = const 100
    }
  }
end
";
    let mut db = filled::<P>(3);
    let code = db.compile(program);
    let rename = db.compile(RENAME);
    // Another worker changes what this one has read.
    db.begin();
    db.step(&db.compile(GET), &[text("n000")]).unwrap();
    let mut mine = std::mem::replace(&mut db.txn, db.protocol.worker(planaria_base::WorkerId(1)));
    db.begin();
    let renamed = db.step(&rename, &[int(0), int(0), text("renamed")]);
    match renamed {
        Ok(()) => db.commit(),
        // What has been read is locked: the other one is in the way of this.
        Err(_) => {
            assert!(matches!(renamed, Err(Interrupt::Conflict(Conflict::Locked))), "{renamed:?}");
            db.abort();
        }
    }
    std::mem::swap(&mut mine, &mut db.txn);
    if renamed.is_ok() {
        let ended = db.step(&code, &[Datum::Bool(true)]);
        assert!(
            matches!(ended, Err(Interrupt::Conflict(Conflict::Validation | Conflict::Phantom))),
            "{ended:?}"
        );
    }
    db.abort();
    assert_eq!(db.run(&code, &[Datum::Bool(false)]).unwrap(), [int(3)]);
}
