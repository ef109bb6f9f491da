//! Transaction chopping (Shasha, Llirbat, Simon, Valduriez: *Transaction Chopping: Algorithms and
//! Performance Studies*, TODS 20(3), 1995), the baseline that PACMAN's §6.3.1 compares its slices with.
//!
//! Vertices of the SC-graph are pieces; S edges connect the pieces of one transaction, C edges
//! conflicting pieces of different ones. A chopping is correct if no cycle has both. The finest one is
//! found procedure by procedure (their §3): take the operations of one as pieces and every other
//! transaction whole; pieces that C edges connect, by way of others, stay one. Any number of calls of a
//! procedure may be under way, so each stands twice: a procedure meets itself.
//!
//! Adapted to replay as in PACMAN: only procedures that are logged count, calls committed (so where they
//! could roll back does not matter), and pieces that depend on each other in a circle are one.

use super::classes::Classes;
use super::{Accesses, LocalGraph, OperationGraph};
use planaria_base::ProcedureId;

/// The finest chopping of procedures: for each its pieces, in the form of slices.
pub fn chop(procedures: &[(ProcedureId, OperationGraph)]) -> Vec<(ProcedureId, LocalGraph)> {
    // Every transaction that may be under way, whole. One more of the same procedure is like it.
    let logged = |g: &OperationGraph| g.barrier.is_none() && !g.is_read_only();
    let whole: Vec<Accesses> = procedures
        .iter()
        .filter(|(_, g)| logged(g))
        .map(|(_, g)| {
            g.operations.iter().fold(Accesses::default(), |mut all, o| {
                all.add(&o.accesses);
                all
            })
        })
        .collect();
    procedures.iter().map(|(procedure, graph)| (*procedure, pieces(graph, &whole))).collect()
}

fn pieces(graph: &OperationGraph, others: &[Accesses]) -> LocalGraph {
    let n = graph.operations.len();
    // C edges between the operations of this transaction and the others, and between those.
    let vertices: Vec<&Accesses> = graph.operations.iter().map(|o| &o.accesses).chain(others).collect();
    let mut connected = Classes::new(vertices.len());
    for (i, a) in vertices.iter().enumerate() {
        for (j, b) in vertices.iter().enumerate().skip(n.max(i + 1)) {
            if a.conflicts(b) {
                connected.merge(i, j);
            }
        }
    }
    let mut classes = Classes::new(n);
    for i in 0..n {
        for j in i + 1..n {
            if connected.of(i) == connected.of(j) {
                classes.merge(i, j);
            }
        }
    }
    LocalGraph::of_classes(graph, classes)
}
