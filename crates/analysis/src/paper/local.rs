//! The local dependency graph of a procedure (PACMAN §4.1.1, Appendix B, Algorithm 1).

use super::classes::Classes;
use super::{Accesses, OperationGraph, SliceId};
use planaria_base::ProcedureId;
use planaria_ir::{OpId, Program};
use std::collections::BTreeSet;

/// A slice: operations of one procedure that stay together.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Slice {
    /// Its operations, in program order.
    pub ops: Vec<OpId>,
    /// What they touch.
    pub accesses: Accesses,
}

/// The slices of a procedure, and what must run before what.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LocalGraph {
    /// By [`SliceId`]; a slice stands behind all it depends on.
    pub slices: Vec<Slice>,
    /// (a, b): slice `b` uses what `a` read, or runs because of it; `a < b`.
    pub edges: BTreeSet<(SliceId, SliceId)>,
    /// Why calls of the procedure cannot be cut and have to run alone, if so. Then it is one slice.
    pub barrier: Option<String>,
}

impl LocalGraph {
    /// Algorithm 1 for a program whose operations are numbered; `callee` knows the routines that are still
    /// called in it. For replay, pass the program through [`committed()`](crate::committed()) first.
    pub fn of<'a>(program: &Program, callee: &dyn Fn(ProcedureId) -> Option<&'a Program>) -> LocalGraph {
        LocalGraph::of_operations(&OperationGraph::of(program, callee))
    }

    /// Algorithm 1.
    pub fn of_operations(graph: &OperationGraph) -> LocalGraph {
        let operations = &graph.operations;
        let mut classes = Classes::new(operations.len());
        for (i, a) in operations.iter().enumerate() {
            for (j, b) in operations.iter().enumerate().skip(i + 1) {
                if a.accesses.conflicts(&b.accesses) {
                    classes.merge(i, j);
                }
            }
        }
        LocalGraph::of_classes(graph, classes)
    }

    /// "Build graph" and "break cycles" over operations that were merged already.
    pub(super) fn of_classes(graph: &OperationGraph, mut classes: Classes) -> LocalGraph {
        let operations = &graph.operations;
        for (a, b) in graph.same_row_positions() {
            classes.merge(a, b);
        }
        if graph.barrier.is_some() {
            (1..operations.len()).for_each(|i| classes.merge(0, i));
        }
        let condensed = classes.condense(&graph.flow_positions());
        let slices = condensed.groups.iter().map(|group| {
            let mut slice = Slice::default();
            for i in group {
                slice.ops.push(operations[*i].id);
                slice.accesses.add(&operations[*i].accesses);
            }
            slice
        });
        LocalGraph {
            slices: slices.collect(),
            edges: condensed.edges.iter().map(|(a, b)| (SliceId::from(*a), SliceId::from(*b))).collect(),
            barrier: graph.barrier.clone(),
        }
    }

    /// Whether it changes no table: then its calls are not replayed (PACMAN, Appendix C).
    pub fn is_read_only(&self) -> bool {
        self.slices.iter().all(|s| s.accesses.writes.is_empty())
    }

    /// The slices that a slice depends on directly.
    pub fn needs(&self, slice: SliceId) -> impl Iterator<Item = SliceId> + '_ {
        self.edges.iter().filter(move |(_, to)| *to == slice).map(|(from, _)| *from)
    }

    /// The slice of an operation.
    pub fn slice_of(&self, op: OpId) -> Option<SliceId> {
        self.slices.iter().position(|s| s.ops.contains(&op)).map(SliceId::from)
    }
}
