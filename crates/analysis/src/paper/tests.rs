use super::*;
use planaria_base::ProcedureId;
use planaria_ir::{Program, text};

fn program(text: &str) -> Program {
    let mut program = text::parse(text).unwrap();
    program.renumber();
    program
}

fn local(program: &Program) -> LocalGraph {
    LocalGraph::of(program, &|_| None)
}

const TRANSFER: &str = include_str!("../../tests/paper/transfer.ir");
const DEPOSIT: &str = include_str!("../../tests/paper/deposit.ir");

fn slices(graph: &LocalGraph) -> Vec<Vec<u32>> {
    graph.slices.iter().map(|s| s.ops.iter().map(|o| o.0).collect()).collect()
}

fn edges(graph: &LocalGraph) -> Vec<(u32, u32)> {
    graph.edges.iter().map(|(a, b)| (a.0, b.0)).collect()
}

/// Figures 3, 4, 5: the slices T1 to T3 and D1 to D3, the blocks alpha to delta.
#[test]
fn the_bank_comes_out_as_printed() {
    let (transfer, deposit) = (local(&program(TRANSFER)), local(&program(DEPOSIT)));
    assert_eq!(slices(&transfer), [vec![1], vec![4, 6, 7, 9], vec![10, 12]]);
    assert_eq!(edges(&transfer), [(0, 1), (0, 2)]);
    assert_eq!(slices(&deposit), [vec![3, 5], vec![8, 11], vec![13, 15]]);
    assert_eq!(edges(&deposit), [(0, 1), (0, 2)]);
    let (t, d) = (ProcedureId(0), ProcedureId(1));
    let global = GlobalGraph::of(&[(t, transfer), (d, deposit)], []);
    let blocks: Vec<_> = global.blocks.iter().map(|b| b.slices.clone()).collect();
    let slice = |p, s| (p, SliceId(s));
    assert_eq!(
        blocks,
        [
            vec![slice(t, 0)],
            vec![slice(t, 1), slice(d, 0)],
            vec![slice(t, 2), slice(d, 1)],
            vec![slice(d, 2)]
        ]
    );
    // The dependency of gamma on alpha follows from those over beta; the figure leaves it out.
    let of = |edges: std::collections::BTreeSet<(BlockId, BlockId)>| {
        edges.iter().map(|(a, b)| (a.0, b.0)).collect::<Vec<_>>()
    };
    assert_eq!(of(global.edges.clone()), [(0, 1), (0, 2), (1, 2), (1, 3)]);
    assert_eq!(of(global.reduced()), [(0, 1), (1, 2), (1, 3)]);
}
