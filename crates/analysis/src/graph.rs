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
//! The first three are flow dependencies (PACMAN §4.1.1); they follow the registers. The analysis is
//! an abstract interpretation of the structured regions: every register holds the set of nodes its
//! value comes from, directly or through other values; branches join, loops are repeated until
//! nothing changes. A register that was written in a branch or a loop depends, afterwards, on what
//! decided the branch or ended the loop. Collections are one set each.
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

use crate::errors::may_raise;
use crate::paper::Accesses;
use crate::regrow::is_small;
use planaria_base::{Level, ProcedureId};
use planaria_ir::{Block, Catch, Label, OpId, OpKind, Program, Reg};
use std::collections::{BTreeMap, BTreeSet};

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
        let mut touched = Vec::new();
        touches(&program.body, &mut Vec::new(), of_callee, &mut touched);
        let nodes: Vec<OpId> = touched.iter().map(|t| t.id).collect();
        if !is_small(program) {
            return DependencyGraph::circle(nodes);
        }
        let mut flow = Flow {
            regs: vec![Sources::new(); program.regs.len()],
            colls: vec![Sources::new(); program.colls.len()],
            escapes: BTreeMap::new(),
            ends: Sources::new(),
            raised: Sources::new(),
            handlers: Vec::new(),
            loops: 0,
            undone: Vec::new(),
            edges: BTreeSet::new(),
        };
        flow.block(&program.body, &Sources::new());
        for (i, a) in touched.iter().enumerate() {
            for b in touched[..i].iter().filter(|b| a.conflicts(b)) {
                flow.edges.insert(Edge { to: a.id, from: b.id, kind: EdgeKind::Data });
                if a.loops.iter().any(|l| b.loops.contains(l)) {
                    flow.edges.insert(Edge { to: b.id, from: a.id, kind: EdgeKind::Data });
                }
            }
        }
        flow.undo_edges();
        DependencyGraph { nodes, edges: flow.edges.into_iter().collect() }
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

    /// What an operation depends on.
    pub fn dependencies(&self, of: OpId) -> impl Iterator<Item = Edge> + '_ {
        self.edges.iter().copied().filter(move |e| e.to == of)
    }
}

/// A node, what it touches (`None`: anything), and the loops around it (by the operation that is the loop).
struct Touch {
    id: OpId,
    accesses: Option<Accesses>,
    loops: Vec<OpId>,
}

impl Touch {
    fn conflicts(&self, other: &Touch) -> bool {
        let some = |a: &Accesses| *a != Accesses::default();
        match (&self.accesses, &other.accesses) {
            (Some(a), Some(b)) => a.conflicts(b),
            (Some(a), None) | (None, Some(a)) => some(a),
            (None, None) => true,
        }
    }
}

fn touches(
    block: &Block,
    loops: &mut Vec<OpId>,
    of_callee: &dyn Fn(ProcedureId) -> Option<Accesses>,
    all: &mut Vec<Touch>,
) {
    for op in &block.0 {
        if is_node(&op.kind) {
            let accesses = match &op.kind {
                OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => of_callee(*procedure),
                OpKind::Execute { .. } => None,
                kind => {
                    let mut accesses = Accesses::default();
                    let set = if kind.is_write() { &mut accesses.writes } else { &mut accesses.reads };
                    set.extend(kind.table());
                    Some(accesses)
                }
            };
            all.push(Touch { id: op.id, accesses, loops: loops.clone() });
        }
        let turns = matches!(
            op.kind,
            OpKind::Loop { .. } | OpKind::Scan { .. } | OpKind::ForEach { .. } | OpKind::ForMatches { .. }
        );
        if turns {
            loops.push(op.id);
        }
        op.kind.blocks(&mut |b| touches(b, loops, of_callee, all));
        if turns {
            loops.pop();
        }
    }
}

/// Whether an operation is a node of the graph.
pub fn is_node(kind: &OpKind) -> bool {
    kind.table().is_some()
        || matches!(kind, OpKind::Call { .. } | OpKind::CallSet { .. } | OpKind::Execute { .. })
}

type Sources = BTreeSet<OpId>;

struct Flow {
    regs: Vec<Sources>,
    colls: Vec<Sources>,
    /// What decided that a region was left or continued early.
    escapes: BTreeMap<Label, Sources>,
    /// What decided that the program ended.
    ends: Sources,
    /// What may have raised an error that a `Try` around catches.
    raised: Sources,
    /// What the `Try`s around catch, outer before inner.
    handlers: Vec<Vec<Catch>>,
    /// Loops around.
    loops: usize,
    /// For each `Try`: what decided whether its body's writes were undone, the operations of the body, and
    /// whether it stands in a loop.
    undone: Vec<(Sources, Sources, bool)>,
    edges: BTreeSet<Edge>,
}

impl Flow {
    fn of(&self, regs: impl IntoIterator<Item = Reg>) -> Sources {
        regs.into_iter().flat_map(|r| self.regs[r.index()].iter().copied()).collect()
    }

    fn reads(&self, kind: &OpKind) -> Sources {
        let mut regs = Vec::new();
        kind.reads(&mut |r| regs.push(r));
        self.of(regs)
    }

    fn edges_to(&mut self, to: OpId, from: &Sources, kind: EdgeKind) {
        self.edges.extend(from.iter().filter(|f| **f != to).map(|f| Edge { to, from: *f, kind }));
    }

    /// `control`: what decides whether the block runs at all.
    fn block(&mut self, block: &Block, control: &Sources) {
        for op in &block.0 {
            let mut now = control.clone();
            now.extend(&self.ends);
            now.extend(&self.raised);
            now.extend(self.escapes.values().flatten());
            self.op(op.id, &op.kind, &now);
            self.note_errors(op.id, &op.kind, &now);
        }
    }

    /// An operation that may raise what a handler around catches decides about all behind it.
    fn note_errors(&mut self, id: OpId, kind: &OpKind, control: &Sources) {
        if !self.handlers.iter().flatten().any(|c| may_raise(kind, c)) {
            return;
        }
        let mut sources = self.reads(kind);
        sources.extend(control);
        if is_node(kind) {
            sources.insert(id);
        }
        self.raised.extend(sources);
    }

    /// Who depends on a write that may be undone depends on what may undo it.
    fn undo_edges(&mut self) {
        for (decided, body, in_loop) in std::mem::take(&mut self.undone) {
            let meets: Sources = self
                .edges
                .iter()
                .filter(|e| e.kind == EdgeKind::Data && body.contains(&e.from))
                .filter(|e| in_loop || !body.contains(&e.to))
                .map(|e| e.to)
                .collect();
            for to in meets {
                self.edges_to(to, &decided, EdgeKind::Control);
            }
        }
    }

    fn write_all(&mut self, kind: &OpKind, sources: &Sources) {
        let regs = &mut self.regs;
        kind.writes(&mut |r| regs[r.index()].clone_from(sources));
    }

    /// Runs `f`, and adds `decided` to every register and collection that it wrote.
    fn region(&mut self, blocks: &[&Block], decided: &Sources, f: impl FnOnce(&mut Self)) {
        let (regs_before, colls_before) = (self.regs.clone(), self.colls.clone());
        f(self);
        for block in blocks {
            block.visit(&mut |op| {
                let regs = &mut self.regs;
                op.kind.writes(&mut |r| {
                    regs[r.index()].extend(decided);
                    regs[r.index()].extend(&regs_before[r.index()]);
                });
                if let Some(c) = op.kind.changed_collection().map(|c| c.index()) {
                    self.colls[c].extend(decided);
                    self.colls[c].extend(&colls_before[c]);
                }
            });
        }
    }

    /// A region that may run any number of times: until nothing changes.
    fn repeat(&mut self, label: Label, body: &Block, control: &Sources, decided: &Sources) {
        self.loops += 1;
        loop {
            let before = (self.regs.clone(), self.colls.clone(), self.edges.len(), self.escapes.clone());
            let ends = (self.ends.len(), self.raised.len());
            let mut decided = decided.clone();
            decided.extend(self.escapes.get(&label).into_iter().flatten());
            let mut inner = control.clone();
            inner.extend(&decided);
            self.region(&[body], &decided, |f| f.block(body, &inner));
            let same =
                before == (self.regs.clone(), self.colls.clone(), self.edges.len(), self.escapes.clone());
            if same && ends == (self.ends.len(), self.raised.len()) {
                break;
            }
        }
        self.loops -= 1;
        self.escapes.remove(&label);
    }

    fn op(&mut self, id: OpId, kind: &OpKind, control: &Sources) {
        if is_node(kind) {
            self.edges_to(id, control, EdgeKind::Control);
        }
        match kind {
            OpKind::If { cond, then, otherwise } => {
                let decided = self.of([*cond]);
                let mut inner = control.clone();
                inner.extend(&decided);
                let start = (self.regs.clone(), self.colls.clone());
                self.region(&[then, otherwise], &decided, |f| {
                    f.block(then, &inner);
                    let after = std::mem::replace(&mut f.regs, start.0);
                    let colls = std::mem::replace(&mut f.colls, start.1);
                    f.block(otherwise, &inner);
                    f.regs.iter_mut().zip(after).for_each(|(a, b)| a.extend(b));
                    f.colls.iter_mut().zip(colls).for_each(|(a, b)| a.extend(b));
                });
            }
            OpKind::Loop { label, body } => self.repeat(*label, body, control, &Sources::new()),
            OpKind::Block { label, body } => {
                self.region(&[body], &Sources::new(), |f| f.block(body, control));
                let decided = self.escapes.remove(label).unwrap_or_default();
                self.region(&[body], &decided, |_| {});
            }
            OpKind::Exit { label } | OpKind::Continue { label } => {
                self.escapes.entry(*label).or_default().extend(control);
            }
            OpKind::Return => self.ends.extend(control),
            OpKind::Raise { level: Level::Exception, .. } => {
                if !self.handlers.iter().flatten().any(|c| may_raise(kind, c)) {
                    let reads = self.reads(kind);
                    self.ends.extend(control);
                    self.ends.extend(&reads);
                }
            }
            OpKind::Try { body, handlers } => {
                let outer = std::mem::take(&mut self.raised);
                self.handlers.push(handlers.iter().flat_map(|h| &h.catches).copied().collect());
                self.region(&[body], &Sources::new(), |f| f.block(body, control));
                self.handlers.pop();
                let decided = std::mem::replace(&mut self.raised, outer);
                let mut within = Sources::new();
                body.visit(&mut |op| {
                    within.insert(op.id);
                });
                self.undone.push((decided.clone(), within, self.loops > 0));
                let mut inner = control.clone();
                inner.extend(&decided);
                let blocks: Vec<&Block> = handlers.iter().map(|h| &h.body).collect();
                self.region(&[body], &decided, |_| {});
                self.region(&blocks, &decided, |f| {
                    for handler in handlers {
                        f.regs[handler.sqlstate.index()].clone_from(&decided);
                        f.regs[handler.sqlerrm.index()].clone_from(&decided);
                        f.block(&handler.body, &inner);
                    }
                });
                if !self.handlers.is_empty() {
                    // It may be for the handlers further out.
                    self.raised.extend(&decided);
                }
            }
            OpKind::Scan { range, label, body, .. } => {
                let key = self.of(range
                    .prefix
                    .iter()
                    .copied()
                    .chain(range.lower.iter().chain(&range.upper).map(|b| b.reg)));
                self.edges_to(id, &key, EdgeKind::Key);
                let itself = Sources::from([id]);
                self.write_all(kind, &itself);
                self.repeat(*label, body, control, &itself);
            }
            OpKind::Get { key, .. } => {
                let key = self.of(key.iter().copied());
                self.edges_to(id, &key, EdgeKind::Key);
                self.write_all(kind, &Sources::from([id]));
            }
            OpKind::Load { row, .. } => {
                let row = self.of([*row]);
                self.edges_to(id, &row, EdgeKind::Key);
                self.write_all(kind, &Sources::from([id]));
            }
            OpKind::Insert { values, .. } => {
                let values = self.of(values.iter().copied());
                self.edges_to(id, &values, EdgeKind::Value);
                self.write_all(kind, &Sources::from([id]));
            }
            OpKind::Update { row, set, .. } => {
                let row = self.of([*row]);
                self.edges_to(id, &row, EdgeKind::Key);
                let values = self.of(set.iter().map(|(_, r)| *r));
                self.edges_to(id, &values, EdgeKind::Value);
            }
            OpKind::Delete { row, .. } => {
                let row = self.of([*row]);
                self.edges_to(id, &row, EdgeKind::Key);
            }
            OpKind::Call { .. } | OpKind::CallSet { .. } | OpKind::Execute { .. } => {
                let args = self.reads(kind);
                self.edges_to(id, &args, EdgeKind::Value);
                self.write_all(kind, &Sources::from([id]));
                if let Some(c) = kind.changed_collection().map(|c| c.index()) {
                    self.colls[c].insert(id);
                }
            }
            OpKind::Clear { coll } => self.colls[coll.index()].clear(),
            OpKind::Push { coll, .. }
            | OpKind::Trim { coll, .. }
            | OpKind::Fill { coll, .. }
            | OpKind::MapPut { coll, .. }
            | OpKind::SetEntry { coll, .. } => {
                let mut sources = self.reads(kind);
                // How many rows there are depends on what decided that this one comes.
                sources.extend(control);
                self.colls[coll.index()].extend(sources);
            }
            OpKind::Len { coll, .. } => {
                let sources = self.colls[coll.index()].clone();
                self.write_all(kind, &sources);
            }
            OpKind::MapGet { coll, .. } => {
                let mut sources = self.reads(kind);
                sources.extend(&self.colls[coll.index()]);
                self.write_all(kind, &sources);
            }
            OpKind::ForEach { coll, label, body, .. } | OpKind::ForMatches { coll, label, body, .. } => {
                let mut sources = self.reads(kind);
                sources.extend(&self.colls[coll.index()]);
                self.write_all(kind, &sources);
                self.repeat(*label, body, control, &sources);
            }
            OpKind::ArraySet { array, .. } => {
                let sources = self.reads(kind);
                self.regs[array.index()].extend(sources);
            }
            _ => {
                let sources = self.reads(kind);
                self.write_all(kind, &sources);
            }
        }
    }
}

#[cfg(test)]
mod tests;
