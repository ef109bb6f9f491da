use super::*;

/// PACMAN's Transfer (Figure 2) in IR text: the guarded writes depend on the reads by value, on the
/// condition's read by control, and on the reads of the same row by key.
#[test]
fn edges_follow_keys_values_and_conditions() {
    use planaria_base::{ColumnId, Datum, IndexId, Type};
    use planaria_ir::{Func, Op, ProgramKind, RegKind};
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
