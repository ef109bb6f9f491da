//! The program dependency graph.
//!
//! Nodes are the operations that touch a table or call a procedure. An edge `a -> b` says that `b`
//! may not run before `a`, or not without it:
//!
//! | edge | meaning |
//! |---|---|
//! | key | what `a` answered is part of the key or range of `b`, or found its row |
//! | value | what `a` answered is part of what `b` writes, or an argument of the call `b` |
//! | control | what `a` answered decides whether `b` runs |
//! | data | both touch one table, at least one writes; `a` stands first, or both stand in one loop |
//!
//! The first three are flow dependencies (PACMAN §4.1.1); they follow the registers: every definition of one ([`crate::flow`])
//! has the set of nodes that its value comes from, directly or through other values (`reach`). What was written in a
//! branch or a loop depends, afterwards, on what decided the branch or ended the loop. Collections are one set each.
//!
//! Errors. Outside of `Try` an error ends the transaction, so it decides nothing about one that
//! committed; only an explicit `Raise` counts, as a guard. Within a `Try`, an operation that may raise
//! what a handler catches ([`super::errors`]) decides whether what stands behind it runs, and whether the
//! handler does, and whether what the body wrote is still there for whoever looks behind it (a control
//! edge, too). So an EXCEPTION block for one SQLSTATE of the user's costs nothing.
//!
//! Calls. What a called routine touches is known if the caller says so; else it is taken to touch
//! everything.
//!
//! The result is an over-approximation: an edge too many costs parallelism, one too few would be
//! wrong.

mod reach;

use crate::flow::{At, Flow, Paths};
use crate::paper::Accesses;
use crate::regrow::is_small;
use planaria_base::ProcedureId;
use planaria_ir::{OpId, OpKind, Program};
use reach::Reach;
use std::collections::BTreeSet;

/// Why one operation depends on another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EdgeKind {
    /// Part of the key.
    Key,
    /// Part of the written values.
    Value,
    /// Decides whether it runs.
    Control,
    /// Same table.
    Data,
}

impl EdgeKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            EdgeKind::Key => "key",
            EdgeKind::Value => "value",
            EdgeKind::Control => "control",
            EdgeKind::Data => "data",
        }
    }
}

/// A dependency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edge {
    /// What depends.
    pub to: OpId,
    /// On what.
    pub from: OpId,
    /// Why.
    pub kind: EdgeKind,
}

/// The dependency graph of a program whose operations are numbered.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DependencyGraph {
    /// Operations that touch tables or call procedures, in program order.
    pub nodes: Vec<OpId>,
    /// Dependencies, by dependent operation.
    pub edges: Vec<Edge>,
}

impl DependencyGraph {
    /// Builds the graph; nothing is known of the routines it calls.
    pub fn of(program: &Program) -> DependencyGraph {
        DependencyGraph::with_callees(program, &|_| None)
    }

    /// Builds the graph; `of_callee` says what the routines it calls touch.
    pub fn with_callees(
        program: &Program,
        of_callee: &dyn Fn(ProcedureId) -> Option<Accesses>,
    ) -> DependencyGraph {
        let mut nodes = Vec::new();
        program.body.visit(&mut |op| nodes.extend(is_node(&op.kind).then_some(op.id)));
        if !is_small(program) {
            return DependencyGraph::circle(nodes);
        }
        let flow = Flow::of(program, Paths::All);
        let reach = Reach::of(&flow);
        let mut edges = reach.edges();
        add_data(&flow, of_callee, &reach, &mut edges);
        DependencyGraph { nodes, edges: edges.into_iter().collect() }
    }

    /// Of a program that is too large to look at closely: each operation depends on the one before, and the first
    /// on the last, so that each depends on all.
    fn circle(nodes: Vec<OpId>) -> DependencyGraph {
        let before = nodes.iter().copied().cycle().skip(nodes.len().saturating_sub(1));
        let pairs = nodes.iter().copied().zip(before).filter(|(to, from)| to != from);
        let mut edges: Vec<Edge> = pairs
            .flat_map(|(to, from)| [EdgeKind::Control, EdgeKind::Data].map(|kind| Edge { to, from, kind }))
            .collect();
        edges.sort_unstable();
        DependencyGraph { nodes, edges }
    }

    /// What may come out otherwise when `program`, whose graph this is, runs again because these have read what is stale:
    /// themselves, what depends on them, and whatever touches a table that one of these writes.
    pub fn reached_from(&self, program: &Program, stale: impl IntoIterator<Item = OpId>) -> BTreeSet<OpId> {
        let mut may_write = BTreeSet::new();
        program.body.visit(&mut |op| {
            let calls = is_node(&op.kind) && op.kind.table().is_none();
            may_write.extend((calls || op.kind.is_write()).then_some(op.id));
        });
        let mut found: BTreeSet<OpId> = stale.into_iter().collect();
        let mut next: Vec<OpId> = found.iter().copied().collect();
        while let Some(from) = next.pop() {
            // That a write stands behind a read of its table says when it runs, not what it writes.
            let follows =
                |e: &&Edge| e.from == from && (e.kind != EdgeKind::Data || may_write.contains(&from));
            next.extend(self.edges.iter().filter(follows).map(|e| e.to).filter(|to| found.insert(*to)));
        }
        found
    }

    /// What an operation depends on.
    pub fn dependencies(&self, of: OpId) -> impl Iterator<Item = Edge> + '_ {
        self.edges.iter().copied().filter(move |e| e.to == of)
    }
}

/// What a node touches (`None`: anything).
fn touched(kind: &OpKind, of_callee: &dyn Fn(ProcedureId) -> Option<Accesses>) -> Option<Accesses> {
    match kind {
        OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => of_callee(*procedure),
        OpKind::Execute { .. } => None,
        kind => {
            let mut accesses = Accesses::default();
            let set = if kind.is_write() { &mut accesses.writes } else { &mut accesses.reads };
            set.extend(kind.table());
            Some(accesses)
        }
    }
}

fn conflict(a: &Option<Accesses>, b: &Option<Accesses>) -> bool {
    let some = |a: &Accesses| *a != Accesses::default();
    match (a, b) {
        (Some(a), Some(b)) => a.conflicts(b),
        (Some(a), None) | (None, Some(a)) => some(a),
        (None, None) => true,
    }
}

/// Adds the data edges; and who depends on a write that may be undone depends on what may undo it.
fn add_data(
    flow: &Flow<'_>,
    of_callee: &dyn Fn(ProcedureId) -> Option<Accesses>,
    reach: &Reach<'_, '_>,
    edges: &mut BTreeSet<Edge>,
) {
    let nodes = reach.nodes();
    let touched: Vec<_> = nodes.iter().map(|at| touched(flow.kind(*at), of_callee)).collect();
    let id = |at: At| flow.ops[at as usize].id;
    let mut met = Vec::new();
    for (i, a) in nodes.iter().copied().enumerate() {
        for (j, b) in nodes[..i].iter().copied().enumerate() {
            if conflict(&touched[i], &touched[j]) {
                met.push((a, b));
                if flow.share_a_loop(a, b) {
                    met.push((b, a));
                }
            }
        }
    }
    for (region, op) in (0..).zip(&flow.ops) {
        if !matches!(op.kind, OpKind::Try { .. }) {
            continue;
        }
        let (body, turns) = (flow.inside_block(region, 0), flow.repeats(region));
        let depends = |(to, from): &&(At, At)| body.contains(from) && (turns || !body.contains(to));
        for (to, _) in met.iter().filter(depends) {
            edges.extend(
                reach
                    .decided(region)
                    .map(|from| (id(*to), id(from)))
                    .filter(|(to, from)| to != from)
                    .map(|(to, from)| Edge { to, from, kind: EdgeKind::Control }),
            );
        }
    }
    edges.extend(met.into_iter().map(|(to, from)| Edge { to: id(to), from: id(from), kind: EdgeKind::Data }));
}

/// Whether an operation is a node of the graph.
pub fn is_node(kind: &OpKind) -> bool {
    kind.table().is_some()
        || matches!(kind, OpKind::Call { .. } | OpKind::CallSet { .. } | OpKind::Execute { .. })
}

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;
