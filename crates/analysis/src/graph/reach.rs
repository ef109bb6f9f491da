//! Which operations on tables each definition of a program comes from, and which decide whether an operation runs: a view
//! of [`Flow`].
//!
//! Every definition has a set of nodes, and so has every operation (what decides whether it runs) and every region (what
//! decides how its variables come out of it). They are the least sets that satisfy what is said in the head of
//! [`graph`](super), found by going through the steps of the walk until nothing grows.
//!
//! What leaves a region early decides about all that comes behind it in the region; inside a loop, about all of the loop. So the
//! steps are gone through with what has left each of the regions around so far. A body with handlers is such a region for whatever
//! may raise what they catch, and the program for whatever ends it.

use super::{Edge, EdgeKind, is_node};
use crate::errors::may_raise;
use crate::flow::{At, Def, DefId, Flow, Place, Step, Var, is_loop};
use planaria_base::Level;
use planaria_ir::{OpKind, StateSource};
use std::collections::{BTreeMap, BTreeSet};

/// A set of nodes, by their numbers.
#[derive(Clone, PartialEq, Eq, Default)]
struct Nodes(Vec<u64>);

impl Nodes {
    fn insert(&mut self, node: usize) {
        if self.0.len() <= node / 64 {
            self.0.resize(node / 64 + 1, 0);
        }
        self.0[node / 64] |= 1 << (node % 64);
    }

    /// Whether it has grown.
    fn add(&mut self, other: &Nodes) -> bool {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        let mut grown = false;
        for (all, more) in self.0.iter_mut().zip(&other.0) {
            grown |= more & !*all != 0;
            *all |= more;
        }
        grown
    }

    fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = |(at, word): (usize, &u64)| {
            let word = *word;
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        };
        self.0.iter().enumerate().flat_map(bits)
    }
}

/// See the module's head.
pub(super) struct Reach<'f, 'p> {
    flow: &'f Flow<'p>,
    /// The nodes, in program order; and their numbers.
    nodes: Vec<At>,
    number: BTreeMap<At, usize>,
    /// By definition.
    defs: Vec<Nodes>,
    /// By operation: what decides whether it runs.
    control: Vec<Nodes>,
    /// By region: what decides how its variables come out of it.
    decided: Vec<Nodes>,
    /// By loop: what has left the regions around when it ends.
    turned: BTreeMap<At, Vec<Nodes>>,
    /// What has left each region around so far, outermost (the program) first.
    left: Vec<(Option<At>, Nodes)>,
    /// The `Try`s in whose bodies this is, outermost first.
    tries: Vec<At>,
    grown: bool,
}

impl<'f, 'p> Reach<'f, 'p> {
    pub(super) fn of(flow: &'f Flow<'p>) -> Reach<'f, 'p> {
        let count = flow.ops.len();
        let nodes: Vec<At> = (0..count as At).filter(|at| is_node(flow.kind(*at))).collect();
        let mut reach = Reach {
            flow,
            number: nodes.iter().copied().zip(0..).collect(),
            nodes,
            defs: vec![Nodes::default(); flow.defs.len()],
            control: vec![Nodes::default(); count],
            decided: vec![Nodes::default(); count],
            turned: BTreeMap::new(),
            left: Vec::new(),
            tries: Vec::new(),
            grown: true,
        };
        while std::mem::take(&mut reach.grown) {
            reach.left = vec![(None, Nodes::default())];
            for step in &flow.steps {
                match *step {
                    Step::Op(at) => reach.begin(at),
                    Step::Def(def) => reach.define(def),
                    Step::Handlers(_) => {
                        reach.tries.pop();
                        reach.left.pop();
                    }
                    Step::End(at) => reach.end(at),
                }
            }
        }
        reach
    }

    pub(super) fn nodes(&self) -> &[At] {
        &self.nodes
    }

    /// What decides whether the writes of a body with handlers are undone.
    pub(super) fn decided(&self, region: At) -> impl Iterator<Item = At> + '_ {
        self.decided[region as usize].iter().map(|node| self.nodes[node])
    }

    /// Key, value and control edges.
    pub(super) fn edges(&self) -> BTreeSet<Edge> {
        let mut edges = BTreeSet::new();
        for at in self.nodes.iter().copied() {
            let to = self.flow.ops[at as usize].id;
            let mut from = |sources: &Nodes, kind: EdgeKind| {
                let ids = sources.iter().map(|node| self.flow.ops[self.nodes[node] as usize].id);
                edges.extend(ids.filter(|from| *from != to).map(|from| Edge { to, from, kind }));
            };
            from(&self.control[at as usize], EdgeKind::Control);
            let uses = &self.flow.uses[at as usize];
            // The row comes first.
            let (keys, values) = match self.flow.kind(at) {
                OpKind::Scan { .. }
                | OpKind::Get { .. }
                | OpKind::Load { .. }
                | OpKind::Delete { .. }
                | OpKind::Claim { .. } => uses.split_at(uses.len()),
                OpKind::Update { .. } => uses.split_at(1),
                _ => uses.split_at(0),
            };
            for (uses, kind) in [(keys, EdgeKind::Key), (values, EdgeKind::Value)] {
                uses.iter().for_each(|(_, def)| from(&self.defs[*def], kind));
            }
        }
        edges
    }

    fn itself(&self, at: At) -> Nodes {
        let mut nodes = Nodes::default();
        self.number.get(&at).iter().for_each(|number| nodes.insert(**number));
        nodes
    }

    /// What the registers that an operation reads come from.
    fn reads(&self, at: At) -> Nodes {
        let mut nodes = Nodes::default();
        for (_, def) in &self.flow.uses[at as usize] {
            nodes.add(&self.defs[*def]);
        }
        nodes
    }

    /// The same with the collection that it looks into.
    fn looks(&self, at: At) -> Nodes {
        let mut nodes = self.reads(at);
        self.flow.looks[at as usize].iter().for_each(|def| {
            nodes.add(&self.defs[*def]);
        });
        nodes
    }

    fn decide(&mut self, region: At, nodes: &Nodes) {
        self.grown |= self.decided[region as usize].add(nodes);
    }

    /// Something leaves a region, or the program, because of these.
    fn leave(&mut self, target: Option<At>, because: &Nodes) {
        if let Some((_, left)) = self.left.iter_mut().find(|(region, _)| *region == target) {
            left.add(because);
        }
        if let Some(region) = target {
            self.decide(region, because);
        }
    }

    /// Whether some handler around catches what the operation may raise.
    fn is_caught(&self, kind: &OpKind) -> bool {
        self.tries.iter().any(|at| match self.flow.kind(*at) {
            OpKind::Try { handlers, .. } => {
                handlers.iter().flat_map(|h| &h.catches).any(|c| may_raise(kind, c))
            }
            _ => false,
        })
    }

    /// An operation that may raise what a handler around catches leaves the innermost body around.
    fn note_errors(&mut self, at: At) {
        let Some(region) = self.tries.last().copied() else { return };
        if self.is_caught(self.flow.kind(at)) {
            let mut because = self.looks(at);
            because.add(&self.control[at as usize]);
            because.add(&self.itself(at));
            self.leave(Some(region), &because);
        }
    }

    fn begin(&mut self, at: At) {
        let (index, kind) = (at as usize, self.flow.kind(at));
        let mut control = Nodes::default();
        if let Some((around, arm)) = self.flow.arm(at) {
            control.add(&self.control[around as usize]);
            let decides = match self.flow.kind(around) {
                OpKind::Block { .. } => false,
                OpKind::Try { .. } => arm > 0,
                _ => true,
            };
            if decides {
                control.add(&self.decided[around as usize]);
            }
        }
        for (_, left) in &self.left {
            control.add(left);
        }
        self.grown |= self.control[index].add(&control);
        match kind {
            OpKind::If { .. } => self.decide(at, &self.reads(at)),
            OpKind::Scan { .. } => self.decide(at, &self.itself(at)),
            OpKind::ForEach { .. } | OpKind::ForMatches { .. } => self.decide(at, &self.looks(at)),
            OpKind::Exit { .. } | OpKind::Continue { .. } | OpKind::Return => {
                self.leave(self.flow.target(at), &control);
            }
            // Which error it is may be known when it is raised, and then there may be no handler for it.
            OpKind::Raise { level: Level::Exception, state, .. }
                if !matches!(state, StateSource::Known(_)) || !self.is_caught(kind) =>
            {
                control.add(&self.reads(at));
                self.leave(None, &control);
            }
            _ => {}
        }
        self.note_errors(at);
        if let OpKind::Try { .. } = kind {
            self.tries.push(at);
        }
        if kind.label().is_some() || matches!(kind, OpKind::Try { .. }) {
            self.left.push((Some(at), Nodes::default()));
            // What leaves in one turn decides about the next.
            for (left, turned) in self.left.iter_mut().zip(self.turned.get(&at).into_iter().flatten()) {
                left.1.add(turned);
            }
        }
    }

    fn end(&mut self, at: At) {
        let kind = self.flow.kind(at);
        if is_loop(kind) {
            let turned: Vec<Nodes> = self.left.iter().map(|(_, left)| left.clone()).collect();
            self.grown |= self.turned.get(&at) != Some(&turned);
            self.turned.insert(at, turned);
        }
        if kind.label().is_some() {
            self.left.pop();
        }
        if let (OpKind::Try { .. }, Some(outer)) = (kind, self.tries.last().copied()) {
            // It may be for the handlers further out.
            let decided = self.decided[at as usize].clone();
            self.leave(Some(outer), &decided);
        }
    }

    fn define(&mut self, def: DefId) {
        let Def { var, at, place, .. } = self.flow.defs[def];
        let Some(at) = at else { return };
        let nodes = if place == Place::Def { self.written(def, at) } else { self.met(def, at) };
        if let (Var::Coll(_), Place::Def, Some(region)) = (var, place, self.tries.last().copied())
            && self.is_caught(self.flow.kind(at))
        {
            // Whether there is room for more, for one.
            let before = self.before(def);
            self.leave(Some(region), &before);
        }
        self.grown |= self.defs[def].add(&nodes);
    }

    /// What meets at the end of a region, or at its beginning: it depends on what decided.
    fn met(&self, def: DefId, at: At) -> Nodes {
        let mut nodes = self.before(def);
        nodes.add(&self.decided[at as usize]);
        nodes
    }

    fn before(&self, def: DefId) -> Nodes {
        let mut nodes = Nodes::default();
        self.flow.defs[def].from.iter().for_each(|from| {
            nodes.add(&self.defs[*from]);
        });
        nodes
    }

    fn written(&self, def: DefId, at: At) -> Nodes {
        let kind = self.flow.kind(at);
        if let Var::Coll(_) = self.flow.defs[def].var {
            let mut nodes = self.before(def);
            match kind {
                OpKind::Clear { .. } => return Nodes::default(),
                OpKind::CallSet { .. } | OpKind::Execute { .. } => {
                    nodes.add(&self.itself(at));
                }
                OpKind::Push { .. }
                | OpKind::Trim { .. }
                | OpKind::Fill { .. }
                | OpKind::MapPut { .. }
                | OpKind::SetEntry { .. } => {
                    nodes.add(&self.reads(at));
                    // How many rows there are depends on what decided that this one comes.
                    nodes.add(&self.control[at as usize]);
                }
                _ => {}
            }
            return nodes;
        }
        match kind {
            OpKind::Scan { .. }
            | OpKind::Get { .. }
            | OpKind::Load { .. }
            | OpKind::Insert { .. }
            | OpKind::Claim { .. }
            | OpKind::Call { .. }
            | OpKind::CallSet { .. }
            | OpKind::Execute { .. } => self.itself(at),
            // A map leaves the values alone where there is no such key.
            OpKind::MapGet { .. } => {
                let mut nodes = self.looks(at);
                nodes.add(&self.before(def));
                nodes
            }
            OpKind::Try { .. } => self.decided[at as usize].clone(),
            _ => self.looks(at),
        }
    }
}
