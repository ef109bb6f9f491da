//! Which operations a register's value may come from at each of its uses (reaching definitions), and
//! how operations nest: what the cutting of programs stands on.

use planaria_base::Level;
use planaria_ir::{Block, Label, Op, OpKind, Program, Reg};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The value a register has when the program starts.
pub(super) const ENTRY: u32 = u32::MAX;

pub(super) type Defs = Rc<BTreeSet<u32>>;

/// An `Exit`, `Continue` or `Return`.
pub(super) struct Escape {
    pub(super) op: u32,
    /// The region it leaves or starts anew; `None`: the program.
    pub(super) target: Option<u32>,
}

/// See the module's head. Operations are numbered in program order, as [`Program::renumber`] does.
pub(super) struct Chains<'p> {
    pub(super) ops: Vec<&'p Op>,
    /// The operation whose block an operation stands in.
    pub(super) parent: Vec<Option<u32>>,
    /// The last operation inside (itself if it has no block).
    last: Vec<u32>,
    /// By operation, for each register it reads: the definitions that may reach it.
    pub(super) uses: Vec<BTreeMap<Reg, BTreeSet<u32>>>,
    /// By operation that reads a collection: what may have put something in it.
    pub(super) fills: Vec<BTreeSet<u32>>,
    /// By region: the definitions that reach its end, by register.
    end: BTreeMap<u32, Vec<Defs>>,
    pub(super) escapes: Vec<Escape>,
}

#[derive(Clone)]
struct State {
    regs: Vec<Defs>,
    colls: Vec<Defs>,
}

/// `None`: not reached.
type Reached = Option<State>;

fn join_defs(a: &mut [Defs], b: &[Defs]) {
    for (a, b) in a.iter_mut().zip(b) {
        if !Rc::ptr_eq(a, b) && !b.is_subset(a) {
            Rc::make_mut(a).extend(b.iter());
        }
    }
}

fn join(a: Reached, b: Reached) -> Reached {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            join_defs(&mut a.regs, &b.regs);
            join_defs(&mut a.colls, &b.colls);
            Some(a)
        }
        (a, b) => a.or(b),
    }
}

impl<'p> Chains<'p> {
    pub(super) fn of(program: &'p Program) -> Chains<'p> {
        let mut chains = Chains {
            ops: Vec::new(),
            parent: Vec::new(),
            last: Vec::new(),
            uses: Vec::new(),
            fills: Vec::new(),
            end: BTreeMap::new(),
            escapes: Vec::new(),
        };
        let mut labels = BTreeMap::new();
        chains.nest(&program.body, None, &mut labels);
        let count = chains.ops.len();
        chains.uses = vec![BTreeMap::new(); count];
        chains.fills = vec![BTreeSet::new(); count];
        let entry: Defs = Rc::new(BTreeSet::from([ENTRY]));
        let empty: Defs = Rc::default();
        let start = State { regs: vec![entry; program.regs.len()], colls: vec![empty; program.colls.len()] };
        let mut walk = Walk { chains, exits: BTreeMap::new(), nexts: BTreeMap::new() };
        walk.block(&program.body, Some(start));
        walk.chains
    }

    fn nest(&mut self, block: &'p Block, parent: Option<u32>, labels: &mut BTreeMap<Label, u32>) {
        for op in &block.0 {
            let id = self.ops.len() as u32;
            debug_assert_eq!(op.id.0, id, "operations are numbered in program order");
            self.ops.push(op);
            self.parent.push(parent);
            self.last.push(id);
            if let Some(label) = op.kind.label() {
                labels.insert(label, id);
            }
            match op.kind {
                OpKind::Exit { label } | OpKind::Continue { label } => {
                    self.escapes.push(Escape { op: id, target: labels.get(&label).copied() });
                }
                OpKind::Return => self.escapes.push(Escape { op: id, target: None }),
                _ => {}
            }
            op.kind.blocks(&mut |b| self.nest(b, Some(id), labels));
            self.last[id as usize] = self.ops.len() as u32 - 1;
        }
    }

    pub(super) fn kind(&self, op: u32) -> &'p OpKind {
        &self.ops[op as usize].kind
    }

    /// Whether `inner` is `outer` or stands inside it.
    pub(super) fn contains(&self, outer: u32, inner: u32) -> bool {
        outer <= inner && inner <= self.last[outer as usize]
    }

    /// The operations inside a region, itself first.
    pub(super) fn inside(&self, region: u32) -> std::ops::RangeInclusive<u32> {
        region..=self.last[region as usize]
    }

    /// The regions around an operation, innermost first.
    pub(super) fn around(&self, op: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.parent[op as usize], |p| self.parent[*p as usize])
    }

    /// Whether an operation may run more than once.
    pub(super) fn repeats(&self, op: u32) -> bool {
        self.around(op).any(|x| is_loop(self.kind(x)))
    }

    /// What may have defined a register where a region, or an operation that writes it, ends.
    pub(super) fn defs_after(&self, op: u32, reg: Reg) -> BTreeSet<u32> {
        match self.end.get(&op) {
            Some(regs) => (*regs[reg.index()]).clone(),
            None => BTreeSet::from([op]),
        }
    }

    /// An operation and the regions around it, from the inside out, that have ended where something in the
    /// block of `scope` runs.
    pub(super) fn ended(&self, op: u32, scope: Option<u32>) -> Vec<u32> {
        let ended = |x: &u32| scope.is_none_or(|s| !self.contains(*x, s));
        std::iter::once(op).chain(self.around(op)).take_while(ended).collect()
    }

    /// Whether something inside leaves the region for one farther out.
    pub(super) fn is_left_early(&self, region: u32) -> bool {
        self.escapes
            .iter()
            .any(|e| self.contains(region, e.op) && e.target.is_none_or(|t| !self.contains(region, t)))
    }

    /// Whether `escape` has a say in whether `op` runs.
    pub(super) fn governs(&self, escape: &Escape, op: u32) -> bool {
        if escape.op == op || escape.target.is_some_and(|t| t == op || !self.contains(t, op)) {
            return false;
        }
        // An earlier one, or one of an earlier turn of a loop around both.
        escape.op < op || self.around(op).any(|x| is_loop(self.kind(x)) && self.contains(x, escape.op))
    }
}

pub(super) fn is_loop(kind: &OpKind) -> bool {
    kind.label().is_some() && !matches!(kind, OpKind::Block { .. })
}

pub(super) fn is_region(kind: &OpKind) -> bool {
    kind.label().is_some() || matches!(kind, OpKind::If { .. } | OpKind::Try { .. })
}

struct Walk<'p> {
    chains: Chains<'p>,
    /// What `Exit`s carry to the end of their region, and `Continue`s to its next turn.
    exits: BTreeMap<Label, State>,
    nexts: BTreeMap<Label, State>,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block, mut state: Reached) -> Reached {
        for op in &block.0 {
            state = self.op(op, state?);
        }
        state
    }

    fn read(&mut self, op: &Op, state: &State) {
        let uses = &mut self.chains.uses[op.id.index()];
        op.kind.reads(&mut |r| uses.entry(r).or_default().extend(state.regs[r.index()].iter()));
        if let Some(coll) = op.kind.read_collection() {
            self.chains.fills[op.id.index()].extend(state.colls[coll.index()].iter());
        }
    }

    fn write(op: &Op, state: &mut State) {
        let own: Defs = Rc::new(BTreeSet::from([op.id.0]));
        op.kind.writes(&mut |r| state.regs[r.index()] = own.clone());
        if let Some(coll) = op.kind.changed_collection() {
            if matches!(op.kind, OpKind::Clear { .. }) {
                state.colls[coll.index()] = own;
            } else {
                Rc::make_mut(&mut state.colls[coll.index()]).insert(op.id.0);
            }
        }
    }

    fn put(to: &mut BTreeMap<Label, State>, label: Label, state: State) {
        let joined = join(to.remove(&label), Some(state));
        to.extend(joined.map(|s| (label, s)));
    }

    fn op(&mut self, op: &Op, mut state: State) -> Reached {
        self.read(op, &state);
        let after = match &op.kind {
            OpKind::If { then, otherwise, .. } => {
                let a = self.block(then, Some(state.clone()));
                let b = self.block(otherwise, Some(state));
                join(a, b)
            }
            OpKind::Block { label, body } => {
                let end = self.block(body, Some(state));
                join(end, self.exits.remove(label))
            }
            OpKind::Loop { label, body } => {
                self.turns(op, *label, body, state);
                self.exits.remove(label)
            }
            OpKind::Scan { label, body, .. }
            | OpKind::ForEach { label, body, .. }
            | OpKind::ForMatches { label, body, .. } => {
                let head = self.turns(op, *label, body, state);
                join(Some(head), self.exits.remove(label))
            }
            OpKind::Exit { label } => {
                Self::put(&mut self.exits, *label, state);
                return None;
            }
            OpKind::Continue { label } => {
                Self::put(&mut self.nexts, *label, state);
                return None;
            }
            OpKind::Return | OpKind::Raise { level: Level::Exception, .. } => return None,
            // Replayed programs have no handlers.
            OpKind::Try { body, .. } => self.block(body, Some(state)),
            _ => {
                Self::write(op, &mut state);
                return Some(state);
            }
        };
        if let Some(after) = &after {
            self.chains.end.insert(op.id.0, after.regs.clone());
        }
        after
    }

    /// Goes round until nothing changes; answers with what may hold when a turn is about to begin.
    fn turns(&mut self, op: &Op, label: Label, body: &Block, state: State) -> State {
        let mut head = state;
        loop {
            let mut start = head.clone();
            if let Some(coll) = op.kind.read_collection() {
                // The body may set values of rows that are still to come.
                self.chains.fills[op.id.index()].extend(head.colls[coll.index()].iter());
            }
            Self::write(op, &mut start);
            let end = self.block(body, Some(start));
            let next = join(end, self.nexts.remove(&label));
            let joined = join(Some(head.clone()), next).expect("the first turn is reached");
            if joined.regs == head.regs && joined.colls == head.colls {
                return head;
            }
            head = joined;
        }
    }
}
