//! One broken program for each line of the checklist.

use super::{IndexShape, Signature, VerifyEnv, verify};
use crate::text::parse;
use planaria_base::{ColumnId, IndexId, ProcedureId, SequenceId, TableId, Type};

/// `t0 (int8 primary key, numeric(12,2), text)`, index 1 on the text; `p0(int8) -> int8`; `s0`.
struct Env;

impl VerifyEnv for Env {
    fn columns(&self, table: TableId) -> Option<Vec<Type>> {
        (table.0 < 2).then(|| vec![Type::Int8, Type::Numeric(Some((12, 2))), Type::Text])
    }
    fn index(&self, table: TableId, index: IndexId) -> Option<IndexShape> {
        let column = [0, 2].get(index.index()).map(|c| ColumnId(*c))?;
        (table.0 < 2).then(|| IndexShape { columns: vec![column], unique: index.0 == 0 })
    }
    fn procedure(&self, id: ProcedureId) -> Option<Signature> {
        let signature = Signature { inputs: vec![Type::Int8], outputs: vec![Type::Int8], set: id.0 == 1 };
        (id.0 < 2).then_some(signature)
    }
    fn sequence(&self, id: SequenceId) -> bool {
        id.0 == 0
    }
}

const HEAD: &str = "procedure p
  reg id: int8
  reg name: text
  reg amount: numeric(12, 2)
  reg any: numeric
  reg small: int4
  reg yes: bool
  reg tags: text[]
  reg row: row t0
  reg other: row t1
  reg r9: int8
  reg r10: int8
  reg day: date
  reg ts: timestamp
  coll x0: list (int8, row t0)
  coll x1: map (text) -> (int8)
  coll x2: multimap (text) -> (int8)
  param in id: int8 = id
  labels 2
begin
";

fn check(body: &str) -> Result<(), String> {
    let program = parse(&format!("{HEAD}{body}\nend\n")).map_err(|e| e.to_string())?;
    verify(&program, &Env).map_err(|e| e.message().to_owned())
}

#[track_caller]
fn good(body: &str) {
    if let Err(e) = check(body) {
        panic!("{e}\n{body}");
    }
}

#[track_caller]
fn bad(body: &str, what: &str) {
    let error = check(body).expect_err(body);
    assert!(error.contains(what), "{error}\n{body}");
}

#[test]
fn values_move_only_where_they_fit() {
    good("id = copy small");
    good("any = copy amount");
    bad("small = copy id", "does not fit");
    bad("amount = copy any", "does not fit");
    bad("row = copy other", "does not fit");
    bad("id = const 'x'", "no value of r0");
    bad("small = const 3000000000", "no value of r4");
    good("set tags[small] = name");
    bad("set tags[small] = id", "does not fit");
    bad("id = draw random", "no value of type");
    bad("small = next s0", "no bigint");
    bad("id = next s7", "s7 does not exist");
}

#[test]
fn functions_have_signatures() {
    good("id = int8.add(id, small)");
    bad("id = int8.add(id)", "with 1 arguments");
    bad("id = int8.add(id, name)", "as argument 2");
    bad("name = int8.add(id, id)", "gives no text");
    good("yes = int.lt(day, day)");
    bad("yes = int.lt(day, ts)", "different classes");
    bad("yes = distinct(id, name)", "different classes");
    good("yes = is.null(row)");
    bad("yes = not(row)", "row handle");
    bad("any = greatest()", "greatest");
}

#[test]
fn tables_have_shapes() {
    good("get t0.i0 (id) -> row, c1 = amount, c2 = name");
    bad("get t0.i0 (name) -> row", "no key for a column");
    bad("get t0.i0 () -> row", "0 key columns");
    bad("get t0.i1 (name) -> row", "not unique");
    bad("get t0.i2 (name) -> row", "t0.i2 does not exist");
    bad("get t0.i0 (id) -> other", "no row of t0");
    bad("get t0.i0 (id) -> row, c1 = name", "does not hold c1");
    bad("get t0.i0 (id) -> row, c9 = name", "there is no c9");
    good("scan t0.i1 (name) -> row as l0 { }");
    good("scan t0.i0 () >= id <= small -> row as l0 { }");
    bad("scan t0.i0 (id) > id -> row as l0 { }", "more keys than columns");
    good("insert t0 (id, amount, name) -> row");
    bad("insert t0 (id, amount)", "2 values for 3 columns");
    bad("insert t0 (id, any, name)", "does not fit");
    bad("update t0 row set c1 = amount, c1 = amount", "set twice");
    bad("update t0 other set c1 = amount", "no row of t0");
    bad("delete t0 other", "no row of t0");
    bad("delete t5 row", "t5 does not exist");
}

#[test]
fn regions_are_closed() {
    good("loop l0 { if yes { exit l0 } continue l0 }");
    good("block l0 { exit l0 }");
    bad("block l0 { continue l0 }", "no loop around it");
    bad("loop l0 { } exit l0", "not around it");
    bad("loop l0 { exit l0 } loop l0 { exit l0 }", "another region");
    bad("loop l7 { }", "not declared");
    bad("raise exception * name", "no error is being handled");
    good("try { } handle others -> (name, name) { raise exception * name }");
    bad("try { } handle others -> (id, name) { }", "is no Text");
    bad("if id { }", "is no boolean");
    bad("emit (id)", "emits no rows");
}

#[test]
fn inlined_calls_are_blocks() {
    let with = |body: &str| {
        let head = HEAD.replace("  labels 2\n", "  labels 2\n  inlined l1: p0\n");
        let program = parse(&format!("{head}{body}\nend\n")).unwrap();
        verify(&program, &Env).map_err(|e| e.message().to_owned())
    };
    assert_eq!(with("block l1 { exit l1 }"), Ok(()));
    assert!(with("block l0 { }").unwrap_err().contains("has no block"));
    assert!(with("loop l1 { exit l1 }").unwrap_err().contains("has no block"));
}

#[test]
fn collections_have_columns() {
    good("push x0 (id, row)");
    bad("push x0 (id, other)", "does not fit");
    bad("push x1 (id)", "is a Map");
    good("lookup x1 (name) -> yes (id)");
    bad("lookup x2 (name) -> yes (id)", "is a MultiMap");
    good("put x2 (name) (id)");
    bad("sort x0 (1)", "not sorted by");
    good("foreach x0 -> (id, row) entry id as l0 { setentry x0 (id, 0) = id }");
    bad("foreach x0 -> (id, row) as l0 { push x0 (id, row) }", "being iterated");
    bad("foreach x0 -> (id) as l0 { }", "1 registers for 2 columns");
    bad("id = len x9", "not declared");
}

#[test]
fn calls_match_their_procedure() {
    good("call p0 (id) -> (id)");
    bad("call p0 () -> (id)", "with 0 arguments");
    bad("call p1 (id) -> (id)", "answers with rows");
    bad("call p0 (id) -> x0", "does not answer with rows");
    bad("call p9 (id) -> (id)", "p9 does not exist");
    bad("execute name (row) -> id", "row handle");
    good("keep id, name, tags  any = kept  piece 3 ()");
    bad("keep row", "row handle");
    bad("row = kept", "row handle");
    bad("piece 0 (id, row)", "row handle");
}

#[test]
fn temporaries_are_written_before_they_are_read() {
    bad("id = copy r9", "r9 is read before");
    good("r9 = copy id  id = copy r9");
    bad("if yes { r9 = copy id } id = copy r9", "r9 is read before");
    good("if yes { r9 = copy id } else { r9 = copy id } id = copy r9");
    good("if yes { r9 = copy id } else { return } id = copy r9");
    good("loop l0 { r9 = copy id exit l0 } id = copy r9");
    bad("loop l0 { if yes { exit l0 } r9 = copy id exit l0 } id = copy r9", "r9 is read before");
    bad("scan t0.i0 () -> row, c0 = r9 as l0 { } id = copy r9", "r9 is read before");
    good("scan t0.i0 () -> row, c0 = r9 as l0 { id = copy r9 }");
    bad("try { r9 = copy id } handle others -> (name, name) { id = copy r9 }", "r9 is read before");
    good("block l0 { if yes { r9 = copy id exit l0 } return } id = copy r9");
}
