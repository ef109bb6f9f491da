use super::*;

/// PACMAN's Transfer (Figure 2) in IR text: the guarded writes depend on the reads by value, on the
/// condition's read by control, and on the reads of the same row by key.
#[test]
fn edges_follow_keys_values_and_conditions() {
    use planaria_base::{ColumnId, Datum, IndexId, TableId, Type};
    use planaria_ir::{Block, Func, Op, ProgramKind, Reg, RegKind};
    let mut p = Program::new("transfer", ProgramKind::Procedure);
    let table = TableId(0);
    let (src, amount) = (p.value(Type::Int8), p.value(Type::Int8));
    let (dst, balance, enough) = (p.value(Type::Int8), p.value(Type::Int8), p.value(Type::Bool));
    let (row, row2) = (p.reg(RegKind::Row(table), None), p.reg(RegKind::Row(table), None));
    let (other, less, more) = (p.value(Type::Int8), p.value(Type::Int8), p.value(Type::Int8));
    let zero = p.value(Type::Int8);
    let op = |kind| Op { id: OpId(0), position: 0, kind };
    let get = |key: Reg, row, column: u32, to| {
        op(OpKind::Get {
            table,
            index: IndexId::PRIMARY,
            key: vec![key],
            mode: Default::default(),
            row,
            columns: vec![(ColumnId(column), to)],
        })
    };
    let apply = |dst, func, args| op(OpKind::Apply { dst, func, args });
    p.body = Block(vec![
        op(OpKind::Const { dst: zero, value: Datum::Int(0) }),
        get(src, row, 1, dst),
        get(src, row, 2, balance),
        apply(enough, Func::IntGe, vec![balance, amount]),
        op(OpKind::If {
            cond: enough,
            then: Block(vec![
                apply(less, Func::Int8Sub, vec![balance, amount]),
                op(OpKind::Update { table, row, set: vec![(ColumnId(2), less)] }),
                get(dst, row2, 2, other),
                apply(more, Func::Int8Add, vec![other, amount]),
                op(OpKind::Update { table, row: row2, set: vec![(ColumnId(2), more)] }),
            ]),
            otherwise: Block::default(),
        }),
    ]);
    p.renumber();
    let graph = DependencyGraph::of(&p);
    let has = |to, from, kind| graph.edges.contains(&Edge { to: OpId(to), from: OpId(from), kind });
    assert_eq!(graph.nodes, [1, 2, 6, 7, 9].map(OpId));
    assert!(has(6, 2, EdgeKind::Value) && has(6, 2, EdgeKind::Control) && has(6, 2, EdgeKind::Key));
    assert!(has(7, 1, EdgeKind::Key), "the destination's key was read from the source");
    assert!(has(9, 7, EdgeKind::Value) && has(9, 7, EdgeKind::Key) && has(9, 2, EdgeKind::Control));
    assert!(has(7, 6, EdgeKind::Data), "the same table, one writes");
    assert!(!has(9, 1, EdgeKind::Value));
}

fn edges(text: &str) -> Vec<String> {
    let graph = DependencyGraph::of(&planaria_ir::text::parse(text).unwrap());
    graph.edges.iter().map(|e| format!("{}<-{} {}", e.to.0, e.from.0, e.kind.name())).collect()
}

fn in_try(catch: &str, body: &str, behind: &str) -> Vec<String> {
    edges(&format!(
        "procedure p\n  reg a: int8\n  reg r: row t0\n  reg c: bool\n  reg q: text\n  reg m: text\n  \
         param in a: int8 = a\nbegin\n  try {{\n{body}\n  }} handle {catch} -> (q, m) {{\n    \
         insert t9 (a, a)\n  }}\n{behind}\nend\n"
    ))
}

/// A handler for a SQLSTATE of the user's: only its RAISE decides what runs; a handler for duplicate keys
/// makes every insert of the body decide.
#[test]
fn handlers_depend_on_what_raises_for_them() {
    // 0 try, 1 insert, 2 get, 3 is.null, 4 if, 5 raise, 6 insert (handler), 7 insert
    let guarded =
        "insert t1 (a, a)\nget t0.i0 (a) -> r\nc = is.null(r)\nif c {\nraise exception 'TC001' q\n}";
    assert_eq!(in_try("'TC001'", guarded, "insert t2 (a, a)"), ["6<-2 control"]);
    assert_eq!(
        in_try("'23505'", guarded, "insert t2 (a, a)"),
        ["2<-1 control", "6<-1 control", "6<-2 control", "7<-1 control", "7<-2 control"],
        "the raise is for nobody here: it ends the program, as a guard of what follows"
    );
    // 1 insert, 2 get, 3 insert (handler), 4 insert
    let plain = "insert t1 (a, a)\nget t0.i0 (a) -> r";
    assert_eq!(in_try("others", plain, "insert t2 (a, a)"), ["2<-1 control", "3<-1 control", "3<-2 control"]);
    // Who reads what the body wrote depends on what may have undone it.
    assert_eq!(
        in_try("others", plain, "insert t1 (a, a)"),
        ["2<-1 control", "3<-1 control", "3<-2 control", "4<-1 control", "4<-1 data", "4<-2 control"]
    );
}

/// In a loop, data dependencies go both ways.
#[test]
fn turns_of_a_loop_meet() {
    let all = edges(
        "procedure p\n  reg a: int8\n  reg r: row t0\n  param in a: int8 = a\n  labels 1\nbegin\n  \
         loop l0 {\n    get t0.i0 (a) -> r\n    insert t0 (a, a)\n    exit l0\n  }\nend\n",
    );
    assert_eq!(all, ["1<-2 data", "2<-1 data"]);
}

/// A call of which nothing is known may touch any table; one of which something is known, those.
#[test]
fn calls_meet_what_they_touch() {
    let text = "procedure p\n  reg a: int8\n  param in a: int8 = a\nbegin\n  insert t0 (a, a)\n  \
                call p1 (a) -> (a)\n  insert t1 (a, a)\nend\n";
    assert_eq!(edges(text), ["1<-0 data", "2<-1 value", "2<-1 data"]);
    let program = planaria_ir::text::parse(text).unwrap();
    let accesses = Accesses { writes: [planaria_base::TableId(1)].into(), ..Accesses::default() };
    let graph = DependencyGraph::with_callees(&program, &|_| Some(accesses.clone()));
    assert!(!graph.edges.iter().any(|e| e.to == OpId(1)));
}
