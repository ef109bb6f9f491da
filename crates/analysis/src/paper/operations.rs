//! The operations of a procedure with their flow and data dependencies (PACMAN §4.1.1, Figure 2b).

use crate::graph::{DependencyGraph, EdgeKind, is_node};
use planaria_base::{ProcedureId, TableId};
use planaria_ir::{OpId, OpKind, Program};
use std::collections::{BTreeMap, BTreeSet};

/// The tables that something touches.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Accesses {
    /// Read.
    pub reads: BTreeSet<TableId>,
    /// Changed.
    pub writes: BTreeSet<TableId>,
}

impl Accesses {
    /// Of a program and the routines it calls, whose programs `callee` knows; `None` where it may touch
    /// any table.
    pub fn of<'a>(
        program: &Program,
        callee: &dyn Fn(ProcedureId) -> Option<&'a Program>,
    ) -> Option<Accesses> {
        let mut touched = Touched::default();
        program.body.visit(&mut |op| touched.add(&op.kind, callee, &mut BTreeSet::new()));
        touched.anything.is_none().then_some(touched.accesses)
    }

    /// All tables touched.
    pub fn tables(&self) -> BTreeSet<TableId> {
        self.reads.union(&self.writes).copied().collect()
    }

    /// Whether the order of the two may matter: a table of both is changed by one (PACMAN §4.1.1:
    /// data-dependent).
    pub fn conflicts(&self, other: &Accesses) -> bool {
        let meets = |a: &BTreeSet<TableId>, b: &BTreeSet<TableId>| !a.is_disjoint(b);
        meets(&self.writes, &other.writes)
            || meets(&self.writes, &other.reads)
            || meets(&self.reads, &other.writes)
    }

    pub(super) fn add(&mut self, other: &Accesses) {
        self.reads.extend(&other.reads);
        self.writes.extend(&other.writes);
    }
}

/// An operation on tables: a read, a write, or a call of a routine that touches some.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Which.
    pub id: OpId,
    /// What it touches; for a call, all that the routine and those it calls touch.
    pub accesses: Accesses,
}

/// A procedure's operations and their dependencies.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OperationGraph {
    /// In program order.
    pub operations: Vec<Operation>,
    /// (a, b): `b` is flow-dependent on `a`: it uses what `a` answered, or runs because of it.
    pub flow: BTreeSet<(OpId, OpId)>,
    /// (a, b): a read and an operation on the row that it found. The two are one operation of the paper's.
    pub same_row: BTreeSet<(OpId, OpId)>,
    /// Why calls of the procedure cannot be cut into slices and have to run alone, if so.
    pub barrier: Option<String>,
}

impl OperationGraph {
    /// Of a program whose operations are numbered; `callee` knows the programs of the routines that are
    /// still called in it.
    pub fn of<'a>(program: &Program, callee: &dyn Fn(ProcedureId) -> Option<&'a Program>) -> OperationGraph {
        let dependencies = DependencyGraph::of(program);
        let mut graph = OperationGraph::default();
        let mut by_row: BTreeMap<OpId, TableId> = BTreeMap::new();
        let mut tables: BTreeMap<OpId, TableId> = BTreeMap::new();
        program.body.visit(&mut |op| {
            if let Some(table) = op.kind.table() {
                tables.insert(op.id, table);
                if matches!(op.kind, OpKind::Load { .. } | OpKind::Update { .. } | OpKind::Delete { .. }) {
                    by_row.insert(op.id, table);
                }
            }
            let mut touched = Touched::default();
            touched.add(&op.kind, callee, &mut BTreeSet::new());
            if graph.barrier.is_none() {
                graph.barrier = touched.barrier();
            }
            if is_node(&op.kind) {
                graph.operations.push(Operation { id: op.id, accesses: touched.accesses });
            }
        });
        let pure = graph.take_pure();
        for edge in &dependencies.edges {
            if edge.kind == EdgeKind::Data {
                continue;
            }
            graph.flow.insert((edge.from, edge.to));
            let row = by_row.get(&edge.to);
            if edge.kind == EdgeKind::Key && row.is_some() && row == tables.get(&edge.from) {
                graph.same_row.insert((edge.from, edge.to));
            }
        }
        pure.into_iter().for_each(|id| graph.bypass(id));
        graph
    }

    /// Removes calls that touch no table: they are part of the program's arithmetic.
    fn take_pure(&mut self) -> Vec<OpId> {
        if self.barrier.is_some() {
            return Vec::new();
        }
        let (pure, rest) = std::mem::take(&mut self.operations)
            .into_iter()
            .partition::<Vec<_>, _>(|o| o.accesses == Accesses::default());
        self.operations = rest;
        pure.into_iter().map(|o| o.id).collect()
    }

    /// What depends on the operation depends on what it depends on.
    fn bypass(&mut self, id: OpId) {
        let above: Vec<OpId> = self.flow.iter().filter(|(_, b)| *b == id).map(|(a, _)| *a).collect();
        let below: Vec<OpId> = self.flow.iter().filter(|(a, _)| *a == id).map(|(_, b)| *b).collect();
        self.flow.retain(|(a, b)| *a != id && *b != id);
        for a in above {
            self.flow.extend(below.iter().filter(|b| **b != a).map(|b| (a, *b)));
        }
    }

    /// Data-dependent pairs (a, b), `a` first in the program.
    pub fn data(&self) -> impl Iterator<Item = (OpId, OpId)> + '_ {
        self.operations.iter().enumerate().flat_map(move |(i, a)| {
            let later = self.operations[i + 1..].iter();
            later.filter(|b| a.accesses.conflicts(&b.accesses)).map(|b| (a.id, b.id))
        })
    }

    /// Whether it changes no table.
    pub fn is_read_only(&self) -> bool {
        self.operations.iter().all(|o| o.accesses.writes.is_empty())
    }

    /// Flow edges between positions in `operations`.
    pub(super) fn flow_positions(&self) -> Vec<(usize, usize)> {
        let at = self.positions();
        self.flow.iter().map(|(a, b)| (at[a], at[b])).collect()
    }

    /// Same-row edges between positions in `operations`.
    pub(super) fn same_row_positions(&self) -> Vec<(usize, usize)> {
        let at = self.positions();
        self.same_row.iter().map(|(a, b)| (at[a], at[b])).collect()
    }

    fn positions(&self) -> BTreeMap<OpId, usize> {
        self.operations.iter().enumerate().map(|(i, o)| (o.id, i)).collect()
    }
}

/// What an operation does outside of the program.
#[derive(Default)]
struct Touched {
    accesses: Accesses,
    /// Why it may touch any table besides, if so.
    anything: Option<String>,
    /// It moves a sequence back or forth.
    sets_sequence: bool,
}

impl Touched {
    /// Adds an operation; `seen` are the routines that were added already.
    fn add<'a>(
        &mut self,
        kind: &OpKind,
        callee: &dyn Fn(ProcedureId) -> Option<&'a Program>,
        seen: &mut BTreeSet<ProcedureId>,
    ) {
        match kind {
            OpKind::Execute { .. } => {
                self.anything.get_or_insert_with(|| "It executes SQL text built at run time.".to_owned());
            }
            OpKind::SetValue { .. } => self.sets_sequence = true,
            OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } if seen.insert(*procedure) => {
                match callee(*procedure) {
                    Some(program) => program.body.visit(&mut |op| self.add(&op.kind, callee, seen)),
                    None => {
                        self.anything
                            .get_or_insert_with(|| "It calls a routine that cannot be analysed.".to_owned());
                    }
                }
            }
            kind => {
                if let Some(table) = kind.table() {
                    let accesses = &mut self.accesses;
                    let set = if kind.is_write() { &mut accesses.writes } else { &mut accesses.reads };
                    set.insert(table);
                }
            }
        }
    }

    /// Why calls of a program with it cannot be cut, if so.
    fn barrier(&self) -> Option<String> {
        let sets = || "It sets a sequence from which other calls draw.".to_owned();
        self.anything.clone().or_else(|| self.sets_sequence.then(sets))
    }
}
