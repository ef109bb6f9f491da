//! Values, control flow, calls: programs that touch no table.

use crate::common;

use common::{Db, Schema, int, num, text};
use planaria_base::{Datum, Level, SqlState};
use planaria_exec::Interrupt;

use planaria_protocol::Hosted;

on_every_protocol!(
    arithmetic_and_nulls,
    overflow_is_an_error,
    loops_nest_and_leave,
    handlers_see_the_error,
    handlers_choose,
    an_error_in_a_handler_goes_outwards,
    raise_again,
    raise_computes_its_state,
    context_names_the_routines,
    calls_pass_and_answer,
    recursion_is_bounded,
    set_functions_emit_into_lists,
    dynamic_sql_runs_nested,
    arrays_are_values,
    cancellation_ends_endless_loops,
    variables_start_as_null,
    inputs_come_from_the_host,
    constants_are_made_where_needed,
);

fn db<P: Hosted>() -> Db<P> {
    Db::new(Schema::default())
}

fn arithmetic_and_nulls<P: Hosted>() {
    let program = "
procedure p
  reg a: int4
  reg b: int4
  reg x: numeric(12, 2)
  reg c: int4
  reg d: numeric
  reg e: bool
  reg two: int4
  param in a: int4 = a
  param in b: int4 = b
  param in x: numeric(12, 2) = x
  output c: int4
  output d: numeric
  output e: bool
  outs (c, d, e)
begin
  two = const 2
  c = int4.mul(a, two)
  c = int4.add(c, b)
  d = num.mul(x, x)
  d = num.add(d, x)
  e = int.lt(a, b)
end
";
    let mut db = db::<P>();
    let out = db.eval(program, &[int(20), int(2), num(150, 2)]).unwrap();
    assert_eq!(out, [int(42), num(37500, 4), Datum::Bool(false)]);
    let out = db.eval(program, &[int(20), Datum::Null, Datum::Null]).unwrap();
    assert_eq!(out, [Datum::Null, Datum::Null, Datum::Null]);
    let wrong = db.eval(program, &[int(20), int(1 << 40), Datum::Null]).unwrap_err();
    assert_eq!(wrong.sqlstate(), SqlState::DATATYPE_MISMATCH);
}

fn overflow_is_an_error<P: Hosted>() {
    let program = "
procedure p
  reg a: int4
  reg w: int8
  reg n: int2
  param in a: int4 = a
  output n: int2
  outs (n)
begin
  a = int4.add(a, a)
  w = copy a
  n = cast w
end
";
    let mut db = db::<P>();
    assert_eq!(db.eval(program, &[int(16000)]).unwrap(), [int(32000)]);
    let error = db.eval(program, &[int(17000)]).unwrap_err();
    assert_eq!(
        (error.sqlstate(), error.message()),
        (SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "smallint out of range")
    );
    let error = db.eval(program, &[int(i64::from(i32::MAX))]).unwrap_err();
    assert_eq!(error.message(), "integer out of range");
    assert_eq!(error.fields().context.as_deref(), Some("PL/pgSQL function p() line 1"));
}

fn loops_nest_and_leave<P: Hosted>() {
    // Counts pairs i < 10, j < i with i + j even, stopping at i = 8; odd i are left out.
    let program = "
procedure p
  reg i: int8
  reg j: int8
  reg n: int8
  reg one: int8
  reg two: int8
  reg ten: int8
  reg eight: int8
  reg r7: int8
  reg r8: bool
  reg r9: bool
  reg zero: int8
  output n: int8
  outs (n)
  labels 3
begin
  one = const 1
  two = const 2
  ten = const 10
  eight = const 8
  zero = const 0
  n = const 0
  i = const 0
  loop l0 {
    r8 = int.ge(i, ten)
    if r8 {
      exit l0
    }
    block l1 {
      r7 = int.mod(i, two)
      r8 = int.eq(r7, one)
      if r8 {
        exit l1
      }
      r8 = int.eq(i, eight)
      if r8 {
        exit l0
      }
      j = const 0
      loop l2 {
        r8 = int.lt(j, i)
        r9 = not(r8)
        if r9 {
          exit l2
        }
        r7 = int8.add(i, j)
        r7 = int.mod(r7, two)
        j = int8.add(j, one)
        r8 = int.ne(r7, zero)
        if r8 {
          continue l2
        }
        n = int8.add(n, one)
      }
    }
    i = int8.add(i, one)
  }
end
";
    assert_eq!(db::<P>().eval(program, &[]).unwrap(), [int(1 + 2 + 3)]);
}

const DIVIDES: &str = "
procedure p
  reg a: int4
  reg b: int4
  reg c: int4
  reg d: int4
  reg state: text
  reg message: text
  param in a: int4 = a
  param in b: int4 = b
  output c: int4
  output state: text
  output message: text
  outs (d, state, message)
begin
  c = const 1
  try {
    d = const 7
    c = int4.div(a, b)
    d = copy c
  } handle '22003' -> (state, message) {
    c = const 2
  } handle '22000' -> (state, message) {
    c = const 3
  }
end
";

fn handlers_see_the_error<P: Hosted>() {
    let mut db = db::<P>();
    assert_eq!(db.eval(DIVIDES, &[int(9), int(3)]).unwrap(), [int(3), Datum::Null, Datum::Null]);
    // The class 22000 catches 22012; what was assigned before the error stays.
    let out = db.eval(DIVIDES, &[int(9), int(0)]).unwrap();
    assert_eq!(out, [int(7), text("22012"), text("division by zero")]);
}

fn handlers_choose<P: Hosted>() {
    let program = "
procedure p
  reg state: text
  reg m: text
  reg s: text
  reg e: text
  reg by: text
  param in state: text = state
  output by: text
  outs (by)
begin
  try {
    try {
      m = const 'boom'
      raise exception state m
    } handle '23505', 'TC001' -> (s, e) {
      by = const 'inner'
    }
  } handle others -> (s, e) {
    by = const 'outer'
  }
end
";
    let mut db = db::<P>();
    for (state, by) in [("23505", "inner"), ("TC001", "inner"), ("23503", "outer"), ("P0001", "outer")] {
        assert_eq!(db.eval(program, &[text(state)]).unwrap(), [text(by)], "{state}");
    }
    for state in ["57014", "P0004"] {
        assert_eq!(db.eval(program, &[text(state)]).unwrap_err().sqlstate().as_str(), state);
    }
}

fn an_error_in_a_handler_goes_outwards<P: Hosted>() {
    let program = "
procedure p
  reg m: text
  reg s: text
  reg e: text
  output e: text
  outs (e)
begin
  try {
    try {
      m = const 'first'
      raise exception 'P0001' m
    } handle others -> (s, e) {
      m = const 'second'
      raise exception 'P0002' m
    }
  } handle 'P0002' -> (s, e) {
  }
end
";
    assert_eq!(db::<P>().eval(program, &[]).unwrap(), [text("second")]);
}

fn raise_again<P: Hosted>() {
    let program = "
procedure p
  reg m: text
  reg s: text
  reg e: text
  reg log: text
  output log: text
  outs (log)
begin
  log = const ''
  try {
    try {
      m = const 'first'
      raise exception '22023' m
    } handle others -> (s, e) {
      try {
        m = const 'second'
        raise exception 'P0002' m
      } handle others -> (s, e) {
        log = text.concat(log, e)
      }
      raise exception * m
    }
  } handle '22023' -> (s, e) {
    log = text.concat(log, e)
  }
end
";
    assert_eq!(db::<P>().eval(program, &[]).unwrap(), [text("secondfirst")]);
}

fn raise_computes_its_state<P: Hosted>() {
    let program = "
procedure p
  reg state: text
  reg m: text
  reg hint: text
  param in state: text = state
  param in m: text = m
begin
  hint = const 'look up'
  raise warning '01000' m
  raise exception state m, hint = hint, constraint = 'k', table = 't'
end
";
    let mut db = db::<P>();
    let error = db.eval(program, &[text("no_data_found"), text("gone")]).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::NO_DATA_FOUND);
    let fields = error.fields();
    assert_eq!(fields.hint.as_deref(), Some("look up"));
    assert_eq!((fields.constraint.as_deref(), fields.table.as_deref()), (Some("k"), Some("t")));
    assert_eq!(db.host.notices, [(Level::Warning, "gone".to_owned())]);
    let error = db.eval(program, &[text("nonsense"), text("gone")]).unwrap_err();
    assert_eq!(error.message(), "unrecognized exception condition \"nonsense\"");
    let error = db.eval(program, &[text("P0001"), Datum::Null]).unwrap_err();
    assert_eq!(error.sqlstate(), SqlState::NULL_VALUE_NOT_ALLOWED);
}

fn context_names_the_routines<P: Hosted>() {
    let schema = Schema::default()
        .routine(
            "
procedure inner
  reg m: text
begin
  m = const 'boom'
  raise exception 'P0001' m @ 2
end
",
        )
        .routine(
            "
procedure outer
begin
  call p0 () -> () @ 4
end
",
        );
    let error =
        Db::<P>::new(schema).eval("statement s\nbegin\n  call p1 () -> () @ 17\nend\n", &[]).unwrap_err();
    assert_eq!(
        error.fields().context.as_deref(),
        Some("PL/pgSQL function inner() line 2\nPL/pgSQL function outer() line 3")
    );
    assert_eq!(error.fields().position, Some(17));
}

fn calls_pass_and_answer<P: Hosted>() {
    let schema = Schema::default().routine(
        "
procedure swap
  reg a: text
  reg b: text
  reg t: text
  param inout a: text = a
  param inout b: text = b
  output a: text
  output b: text
  outs (a, b)
begin
  t = copy a
  a = copy b
  b = text.concat(t, t)
end
",
    );
    let program = "
procedure p
  reg x: text
  reg y: text
  param in x: text = x
  param in y: text = y
  output x: text
  output y: text
  outs (x, y)
begin
  call p0 (x, y) -> (x, y)
  call p0 (x, y) -> (x, y)
end
";
    let mut db = Db::<P>::new(schema);
    assert_eq!(db.eval(program, &[text("a"), text("b")]).unwrap(), [text("aa"), text("bb")]);
}

fn recursion_is_bounded<P: Hosted>() {
    let factorial = "
function f
  reg n: int8
  reg one: int8
  reg r2: bool
  reg r3: int8
  reg r4: int8
  param in n: int8 = n
  output result: int8
  outs (r4)
begin
  one = const 1
  r4 = copy one
  r2 = int.le(n, one)
  if r2 {
    return
  }
  r3 = int8.sub(n, one)
  call p0 (r3) -> (r3)
  r4 = int8.mul(n, r3)
end
";
    let endless = "
procedure deep
  reg m: text
  reg s: text
  reg e: text
  output e: text
  outs (e)
begin
  try {
    call p1 () -> (s)
  } handle 'P0001' -> (s, e) {
  }
end
";
    let mut db = Db::<P>::new(Schema::default().routine(factorial).routine(endless));
    assert_eq!(db.eval(factorial, &[int(20)]).unwrap(), [int(2_432_902_008_176_640_000)]);
    let error = db.eval(endless, &[]).unwrap_err();
    assert_eq!(
        (error.sqlstate(), error.message()),
        (SqlState::STATEMENT_TOO_COMPLEX, "stack depth limit exceeded")
    );
    assert_eq!(db.eval(factorial, &[int(5)]).unwrap(), [int(120)]);
}

fn set_functions_emit_into_lists<P: Hosted>() {
    let series = "
setfunction series
  reg n: int8
  reg i: int8
  reg one: int8
  reg r3: bool
  param in n: int8 = n
  output i: int8
  labels 1
begin
  one = const 1
  i = const 0
  loop l0 {
    i = int8.add(i, one)
    r3 = int.gt(i, n)
    if r3 {
      exit l0
    }
    emit (i)
  }
end
";
    let program = "
statement s
  reg n: int8
  reg i: int8
  reg e: int8
  coll x0: list (int8)
  param in n: int8 = n
  output i: int8
  output e: int8
  row_count n
  labels 1
begin
  call p0 (n) -> x0
  call p0 (n) -> x0
  foreach x0 -> (i) entry e as l0 {
    emit (i, e)
  }
  n = len x0
end
";
    let mut db = Db::<P>::new(Schema::default().routine(series));
    let rows = db.rows(program, &[int(2)]);
    let expected: Vec<Vec<_>> =
        [(1, 0), (2, 1), (1, 2), (2, 3)].iter().map(|(i, e)| vec![int(*i), int(*e)]).collect();
    assert_eq!(rows, expected);
    assert_eq!(db.machine.row_count(), Some(4));
}

fn dynamic_sql_runs_nested<P: Hosted>() {
    let dynamic = "
statement s
  reg a: int4
  reg b: text
  param in '$1': int4 = a
  output a: int4
  output b: text
begin
  b = const 'x'
  emit (a, b)
  emit (a, b)
end
";
    let program = "
procedure p
  reg q: text
  reg a: int4
  reg n: int8
  reg sum: int8
  reg i: int8
  reg t: text
  reg missing: int4
  coll x0: list (int8, text, int4)
  param in q: text = q
  param in a: int4 = a
  output n: int8
  output sum: int8
  outs (n, sum)
  labels 1
begin
  sum = const 0
  execute q (a) -> n, x0
  foreach x0 -> (i, t, missing) as l0 {
    sum = int8.add(sum, i)
  }
end
";
    let mut db = db::<P>();
    let code = std::sync::Arc::new(db.compile(dynamic));
    db.host.dynamic.push(("select".into(), code));
    assert_eq!(db.eval(program, &[text("select"), int(21)]).unwrap(), [int(2), int(42)]);
    let fails = db.compile(
        "
statement s
  reg a: int4
  reg z: int4
  param in a: int4 = a
  output a: int4
begin
  z = const 0
  a = int4.div(a, z) @ 7
  emit (a)
end
",
    );
    db.host.dynamic.push(("select 1 / 0".into(), std::sync::Arc::new(fails)));
    let error = db.eval(program, &[text("select 1 / 0"), int(21)]).unwrap_err();
    assert_eq!(error.fields().position, None);
    assert_eq!(
        error.fields().context.as_deref(),
        Some("SQL statement \"select 1 / 0\"\nPL/pgSQL function p() line 1")
    );
    assert_eq!(db.eval(program, &[text("selec"), int(21)]).unwrap_err().sqlstate(), SqlState::SYNTAX_ERROR);
    assert_eq!(
        db.eval(program, &[Datum::Null, int(21)]).unwrap_err().sqlstate(),
        SqlState::NULL_VALUE_NOT_ALLOWED
    );
}

fn arrays_are_values<P: Hosted>() {
    // Assigning an element never changes another variable, however arrays were shared before.
    let program = "
procedure p
  reg a: int4[]
  reg b: int4[]
  reg c: int4[]
  reg one: int4
  reg two: int4
  reg nine: int4
  reg four: int4
  param inout a: int4[] = a
  output a: int4[]
  output b: int4[]
  output c: int4[]
  outs (a, b, c)
begin
  one = const 1
  two = const 2
  nine = const 9
  four = const 4
  set a[one] = nine
  b = copy a
  set a[two] = nine
  c = array.append(a, one)
  set a[four] = nine
  set b[one] = one
  set b[two] = four
end
";
    let array = |items: &[i64]| Datum::Array(items.iter().map(|i| int(*i)).collect());
    let out = db::<P>().eval(program, &[array(&[1, 2, 3])]).unwrap();
    assert_eq!(out, [array(&[9, 9, 3, 9]), array(&[1, 4, 3]), array(&[9, 9, 3, 1])]);
    let out = db::<P>().eval(program, &[Datum::Null]).unwrap();
    assert_eq!(out[0], Datum::Array(vec![int(9), int(9), Datum::Null, int(9)]));
}

fn cancellation_ends_endless_loops<P: Hosted>() {
    let program = "
procedure p
  reg s: text
  reg e: text
  labels 1
begin
  try {
    loop l0 {
    }
  } handle others -> (s, e) {
  }
end
";
    let mut db = db::<P>();
    db.host.interrupted = true;
    assert_eq!(db.eval(program, &[]).unwrap_err().sqlstate(), SqlState::QUERY_CANCELED);
}

fn variables_start_as_null<P: Hosted>() {
    let program = "
procedure p
  reg c: bool
  reg x: int4
  reg y: int4
  reg out: int4
  reg r4: int4
  param in c: bool = c
  output out: int4
  output y: int4
  outs (out, y)
  labels 1
begin
  if c {
    x = const 5
  }
  out = copy x
  block l0 {
    if c {
      exit l0
    }
    y = const 6
  }
end
";
    let mut db = db::<P>();
    assert_eq!(db.eval(program, &[Datum::Bool(true)]).unwrap(), [int(5), Datum::Null]);
    assert_eq!(db.eval(program, &[Datum::Bool(false)]).unwrap(), [Datum::Null, int(6)]);
}

fn inputs_come_from_the_host<P: Hosted>() {
    let program = "
procedure p
  reg t: timestamptz
  reg f: float8
  reg n: int8
  reg c: int8
  reg yes: bool
  reg hundred: int8
  output t: timestamptz
  output f: float8
  output n: int8
  output c: int8
  outs (t, f, n, c)
begin
  t = draw now
  f = draw random
  hundred = const 100
  yes = const true
  n = next s0
  setval s0 (hundred, yes)
  c = current s0
end
";
    let out = db::<P>().eval(program, &[]).unwrap();
    assert_eq!(out, [int(1_000_000), Datum::Float(0.25), int(1), int(100)]);
}

fn constants_are_made_where_needed<P: Hosted>() {
    let program = "
procedure p
  reg n: int4
  reg i: int4
  reg r2: text
  reg r3: text
  reg r4: text
  reg r5: text
  reg s: text
  reg e: text
  reg b: bool
  reg one: int4
  reg three: int4
  param in n: int4 = n
  output t: text
  output c: text
  outs (s, r5)
  labels 2
begin
  r2 = const 'x'
  r3 = const 'boom'
  r4 = const '!'
  r5 = const 'constant'
  one = const 1
  three = const 3
  s = const ''
  i = const 0
  try {
    loop l0 {
      b = int.ge(i, n)
      if b {
        exit l0
      }
      b = int.gt(i, three)
      if b {
        r3 = text.concat(r3, r4)
        raise exception 'P0001' r3
      }
      b = int.gt(i, one)
      if b {
        s = text.concat(s, r4)
      } else {
        s = text.concat(s, r2)
      }
      i = int4.add(i, one)
    }
  } handle others -> (r3, e) {
    s = text.concat(s, e)
    s = text.concat(s, r2)
  }
end
";
    let mut db = db::<P>();
    let mut run = |n| db.eval(program, &[int(n)]).unwrap();
    assert_eq!(run(0), [text(""), text("constant")]);
    assert_eq!(run(3), [text("xx!"), text("constant")]);
    assert_eq!(run(9), [text("xx!!boom!x"), text("constant")]);
}

/// A statement with very many constants compiles in time.
#[test]
fn many_constants() {
    let rows = 10_000;
    let registers: String = (0..rows).map(|i| format!("  reg r{i}: text\n")).collect();
    let constants: String = (0..rows).map(|i| format!("  r{i} = const 'row {i}'\n")).collect();
    let emits: String = (0..rows).map(|i| format!("  emit (r{i})\n")).collect();
    let mut db = db::<planaria_protocol::Serial>();
    let start = std::time::Instant::now();
    let rows =
        db.rows(&format!("statement s\n{registers}  output t: text\nbegin\n{constants}{emits}end\n"), &[]);
    assert_eq!(rows[9_999], [text("row 9999")]);
    assert!(start.elapsed().as_secs() < 5);
}

/// Conditions of random shape, once as the value of a register and once as a jump: what the compiler
/// does to jumps must not change their outcome.
#[test]
fn fused_conditions_mean_the_same() {
    let mut seed = 0x2545_f491_4f6c_dd1du64;
    let mut below = move |n: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % n
    };
    let mut db = db::<planaria_protocol::Serial>();
    for _ in 0..200 {
        let mut ops = String::new();
        let mut conditions = Vec::new();
        let mut registers = String::new();
        let mut fresh = 6;
        let mut emit = |ops: &mut String, text: String| {
            registers.push_str(&format!("  reg r{fresh}: bool\n"));
            ops.push_str(&format!("  r{fresh} = {text}\n"));
            fresh += 1;
            format!("r{}", fresh - 1)
        };
        for _ in 0..2 + below(4) {
            let int = |n: u64| ["a", "b"][n as usize];
            let leaf = match below(5) {
                0 => format!("int.lt({}, {})", int(below(2)), int(below(2))),
                1 => format!("int.ne({}, {})", int(below(2)), int(below(2))),
                2 => format!("is.null({})", int(below(2))),
                3 => format!("num.le({}, {})", ["x", "y"][below(2) as usize], ["x", "y"][below(2) as usize]),
                _ => "text.ge(s, t)".to_owned(),
            };
            conditions.push(emit(&mut ops, leaf));
            let at = below(conditions.len() as u64) as usize;
            let last = conditions.last().unwrap().clone();
            let other = conditions[at].clone();
            let combined = match below(7) {
                0 => format!("not({last})"),
                1 => format!("is.true({last})"),
                2 => format!("is.false({last})"),
                3 => format!("and({other}, {last})"),
                4 => format!("or({other}, {last})"),
                5 => format!("and({last}, {other})"),
                _ => continue,
            };
            conditions.push(emit(&mut ops, combined));
        }
        let condition = conditions.last().unwrap().clone();
        let program = |outs: &str, tail: &str| {
            format!(
                "procedure p\n  reg a: int4\n  reg b: int4\n  reg x: numeric\n  reg y: numeric\n  reg s: text\n  reg t: text\n{registers}  reg yes: bool\n  reg no: bool\n  reg out: bool\n  param in a: int4 = a\n  param in b: int4 = b\n  param in x: numeric = x\n  param in y: numeric = y\n  param in s: text = s\n  param in t: text = t\n  output o: bool\n  outs ({outs})\n  labels 1\nbegin\n  yes = const true\n  no = const false\n{ops}{tail}end\n"
            )
        };
        let value = program(&condition, "");
        let jump = program(
            "out",
            &format!("  if {condition} {{\n    out = copy yes\n  }} else {{\n    out = copy no\n  }}\n"),
        );
        let exit = program(
            "out",
            &format!(
                "  out = copy yes\n  block l0 {{\n    if {condition} {{\n      exit l0\n    }}\n    out = copy no\n  }}\n"
            ),
        );
        let (value, jump, exit) = (db.compile(&value), db.compile(&jump), db.compile(&exit));
        for _ in 0..8 {
            let mut n = || if below(4) == 0 { Datum::Null } else { int(below(2) as i64) };
            let (a, b) = (n(), n());
            let args =
                [a, b, num(below(2) as i128, 0), num(below(2) as i128 * 10, 1), text("s"), Datum::Null];
            let wanted = db.run(&value, &args).unwrap()[0] == Datum::Bool(true);
            assert_eq!(db.run(&jump, &args).unwrap(), [Datum::Bool(wanted)], "{args:?}\n{}", jump.listing());
            assert_eq!(db.run(&exit, &args).unwrap(), [Datum::Bool(wanted)], "{args:?}\n{}", exit.listing());
        }
    }
}

#[test]
fn code_is_tight() {
    let db = db::<planaria_protocol::Serial>();
    let code = db.compile(
        "
procedure p
  reg i: int4
  reg n: int4
  reg s: int4
  reg r3: bool
  reg r4: int4
  reg r5: int4
  param in n: int4 = n
  output s: int4
  outs (s)
  labels 2
begin
  r4 = const 1
  i = copy r4
  s = const 0
  loop l0 {
    r3 = int.gt(i, n)
    if r3 {
      exit l0
    }
    r5 = int4.add(s, i)
    s = copy r5
    r5 = int4.add(i, r4)
    i = copy r5
  }
end
",
    );
    // Two initialisations; test, two additions, back; return. (r5 is written twice, so its copies stay.)
    assert!(code.len() <= 9, "{}", code.listing());
}

#[test]
fn interrupts_are_small() {
    assert!(size_of::<Result<(), Interrupt>>() <= 16);
}
