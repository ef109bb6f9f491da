//! Values that go to the log and come back: `Keep`, `Kept`, `Piece`.

use crate::common;

use common::{Db, Schema, int, text};
use planaria_base::Datum;
use planaria_protocol::Hosted;

on_every_protocol!(values_are_kept_and_taken);

fn db<P: Hosted>() -> Db<P> {
    Db::new(Schema::default())
}

fn values_are_kept_and_taken<P: Hosted>() {
    let mut db = db::<P>();
    let forward = "
procedure p
  reg n: int8
  reg s: text
  reg tags: text[]
  reg i: int4
  param in n: int8 = n
  param in s: text = s
begin
  i = const 1
  keep n, s
  set tags[i] = s
  keep tags
  s = const 'other'
  set tags[i] = s
  keep tags, n
end
";
    db.eval(forward, &[int(7), text("x")]).unwrap();
    let tags = |s: &str| Datum::Array(vec![text(s)]);
    assert_eq!(db.host.kept, [int(7), text("x"), tags("x"), tags("other"), int(7)]);
    let plan = "
procedure p
  reg a: int8
  reg b: text
  reg c: text[]
begin
  a = kept
  b = kept
  piece 0 (a, b)
  c = kept
  piece 1 (c)
  c = kept
  a = kept
  piece 1 (c)
  piece 2 ()
end
";
    db.eval(plan, &[]).unwrap();
    assert!(db.host.kept.is_empty());
    let pieces = [(0, vec![int(7), text("x")]), (1, vec![tags("x")]), (1, vec![tags("other")]), (2, vec![])];
    assert_eq!(db.host.pieces, pieces);
    let error = db.eval(plan, &[]).unwrap_err();
    assert_eq!(error.message(), "nothing was kept");
}
