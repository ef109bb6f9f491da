//! A small bank, for what is measured: allocations, time.
#![allow(dead_code)] // each of them uses what it needs

use crate::common::{Db, Schema, int, text};
use planaria_base::Type;
use planaria_protocol::Hosted;

pub const DEPOSIT: &str = "
procedure deposit
  reg name: text
  reg amount: numeric
  reg v_id: int8
  reg ok: bool
  reg r4: numeric
  reg r5: bool
  reg r6: text
  reg r7: row t0
  reg r8: int8
  reg r9: bool
  reg r10: row t1
  reg r11: numeric(12, 2)
  reg r12: numeric
  reg r13: numeric(12, 2)
  param in name: text = name
  param in amount: numeric = amount
  param inout ok: bool = ok
  output ok: bool
  outs (ok)
begin
  r4 = const 0n
  r5 = num.lt(amount, r4)
  if r5 {
    r6 = const 'a deposit cannot be negative'
    raise exception '22023' r6
  }
  get t0.i0 (name) -> r7, c1 = r8
  r9 = is.null(r7)
  if r9 {
    r6 = const 'query returned no rows'
    raise exception 'P0002' r6
  }
  v_id = copy r8
  get t1.i0 (v_id) -> r10, c1 = r11
  r9 = is.notnull(r10)
  if r9 {
    r12 = num.add(r11, amount)
    r13 = cast r12
    update t1 r10 set c1 = r13
  }
  ok = const true
end
";

pub const BALANCE: &str = "
procedure balance
  reg id: int8
  reg r: row t1
  reg bal: numeric(12, 2)
  param in id: int8 = id
  output bal: numeric
  outs (bal)
begin
  get t1.i0 (id) -> r, c1 = bal
end
";

pub const SUM: &str = "
procedure sum
  reg low: int8
  reg high: int8
  reg r: row t1
  reg bal: numeric(12, 2)
  reg total: numeric
  param in low: int8 = low
  param in high: int8 = high
  output total: numeric
  outs (total)
  labels 1
begin
  total = const 0n
  scan t1.i0 () >= low < high -> r, c1 = bal as l0 {
    total = num.add(total, bal)
  }
end
";

pub const ADD: &str = "
procedure add
  reg id: int8
  reg r: row t1
  reg bal: numeric(12, 2)
  reg one: numeric(12, 2)
  reg r4: numeric
  param in id: int8 = id
begin
  one = const 1.00n
  get t1.i0 (id) -> r, c1 = bal
  r4 = num.add(bal, one)
  bal = cast r4
  update t1 r set c1 = bal
end
";

/// Appends to a text `n` times.
#[allow(dead_code, reason = "of the benchmark")]
pub const APPEND: &str = "
procedure append
  reg n: int8
  reg i: int8
  reg s: text
  reg r3: bool
  reg r4: int8
  reg r5: text
  param in n: int8 = n
  output s: text
  outs (s)
  labels 1
begin
  r4 = const 1
  r5 = const '0123456789'
  i = const 0
  s = const ''
  loop l0 {
    r3 = int.ge(i, n)
    if r3 {
      exit l0
    }
    s = text.concat(s, r5)
    i = int8.add(i, r4)
  }
end
";

/// Counts, five instructions a turn.
pub const COUNT: &str = "
procedure count
  reg n: int8
  reg i: int8
  reg s: int8
  reg r3: bool
  reg r4: int8
  reg r5: int8
  reg r6: int8
  param in n: int8 = n
  output s: int8
  outs (s)
  labels 1
begin
  r4 = const 1
  r5 = const 7
  i = const 0
  s = const 0
  loop l0 {
    r3 = int.ge(i, n)
    if r3 {
      exit l0
    }
    r6 = int.xor(s, r5)
    s = int8.add(r6, i)
    i = int8.add(i, r4)
  }
end
";

pub const CALLS: &str = "
procedure calls
  reg n: int8
  reg i: int8
  reg one: int8
  reg r3: bool
  reg s: text
  param in n: int8 = n
  labels 1
begin
  one = const 1
  i = const 1
  loop l0 {
    r3 = int.ge(i, n)
    if r3 {
      exit l0
    }
    call p0 (s, i) -> ()
    i = int8.add(i, one)
  }
end
";

pub const REMAINDER: &str = "
procedure remainder
  reg s: text
  reg n: int8
  reg z: int8
  param in s: text = s
  param in n: int8 = n
begin
  z = const 0
  n = int.mod(z, n)
end
";

pub const MIXED: &str = "
procedure mixed
  reg n: int8
  reg i: int8
  reg one: int8
  reg three: int8
  reg r4: bool
  reg key: int8
  reg value: int8
  reg found: bool
  reg t: text
  reg u: text
  reg s: text
  reg e: text
  reg a: int8[]
  reg r13: numeric
  coll x0: map (int8) -> (int8)
  coll x1: list (text, int8)
  param in n: int8 = n
  output value: int8
  output t: text
  outs (value, t)
  labels 3
begin
  one = const 1
  three = const 3
  i = const 0
  u = const '-'
  loop l0 {
    r4 = int.ge(i, n)
    if r4 {
      exit l0
    }
    key = int.mod(i, three)
    lookup x0 (key) -> found (value)
    if found {
      value = int8.add(value, i)
    } else {
      value = copy i
    }
    put x0 (key) (value)
    t = cast key
    t = text.concat(t, u)
    push x1 (t, i)
    a = array.append(a, i)
    i = int8.add(i, one)
  }
  sort x1 (0 desc, 1)
  foreach x0 -> (key, value) as l1 {
    set a[one] = value
  }
  try {
    call p0 (u, value) -> ()
    call p1 (one) -> (r13)
  } handle 'P0002' -> (s, e) {
    value = copy one
  }
  foreach x1 -> (t, i) as l2 {
  }
end
";

/// `n` customers with a checking account each.
pub fn bank<P: Hosted>(n: i64) -> Db<P> {
    let schema = Schema::default()
        .table(
            "account",
            &[("name", Type::Text, false), ("custid", Type::Int8, false)],
            &[("account_pkey", true, &[0])],
        )
        .table(
            "checking",
            &[("custid", Type::Int8, false), ("bal", Type::Numeric(Some((12, 2))), false)],
            &[("checking_pkey", true, &[0])],
        )
        .routine(REMAINDER)
        .routine(BALANCE);
    let mut db = Db::<P>::new(schema);
    let fill = db.compile(
        "
procedure fill
  reg id: int8
  reg name: text
  reg bal: numeric(12, 2)
  param in id: int8 = id
  param in name: text = name
begin
  bal = const 100.00n
  insert t0 (name, id)
  insert t1 (id, bal)
end
",
    );
    for id in 0..n {
        db.run(&fill, &[int(id), text(&format!("customer{id:08}"))]).unwrap();
    }
    db.host.keep_rows = false;
    db
}
