//! What flows where in a program: the one walk over its control flow.
//!
//! Every variable of a program (a register, or a collection) has *definitions*: what an operation wrote, and the meetings
//! of several at the end of a branch, at the head of a loop or behind it (the φ of static single assignment; over structured
//! regions every φ has its place at a region). The walk notes which definition each operation reads, how operations nest, what
//! leaves regions early, and the order in which it came by all that ([`Step`]). It knows nothing of what operations mean.
//!
//! Three *views* give the meaning, and walk no more than the list of steps:
//!
//! | view | for | a definition is |
//! |---|---|---|
//! | [`graph`](crate::graph) | `EXPLAIN`, drawings, slices by tables (`paper`), healing | the operations on tables that it comes from |
//! | `regrow::value` | pieces | a value, with its number and what it is made of |
//! | `paper::slicing::chains` | slices as programs | the operations that may have written it (reaching definitions) |
//!
//! **Two ways to walk** ([`Paths`]). Whoever makes programs wants to know what can be: a path ends where it is left, and
//! what stands behind that is not reached. Whoever shows a program to people says something of each operation, also of those
//! that are never reached, and may say too much: jumps are taken for something that may happen or not, and so is every region.
//!
//! **Handlers** begin with whatever their body may have left: any definition in it, or the one before.

use planaria_base::Level;
use planaria_ir::{Block, Coll, Handler, Label, Op, OpKind, Program, Reg};
use std::collections::BTreeMap;

/// An operation, by its place in program order.
pub(crate) type At = u32;

/// A definition.
pub(crate) type DefId = usize;

/// What has values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Var {
    Reg(Reg),
    Coll(Coll),
}

/// Which paths through a program are looked at. See the module's head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Paths {
    /// Those that there are.
    Taken,
    /// More: over each jump and around each region, too.
    All,
}

/// Where a definition comes to be, at its operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Before everything.
    Start,
    /// Written by the operation; in each turn, if it is a loop.
    Def,
    /// At the end of an `If`, of that of both branches.
    Join,
    /// At the start of each turn.
    Head,
    /// Where handlers begin.
    Caught,
    /// Behind the region.
    After,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub(crate) struct Def {
    pub(crate) var: Var,
    /// None before everything.
    pub(crate) at: Option<At>,
    pub(crate) place: Place,
    /// Which of those that the operation writes.
    pub(crate) nth: usize,
    /// The definitions that meet here; of what an operation wrote, the one that was there before.
    pub(crate) from: Vec<DefId>,
    /// Loops around it.
    pub(crate) depth: u32,
}

/// What the walk comes by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// An operation; what is inside follows.
    Op(At),
    /// A definition.
    Def(DefId),
    /// The handlers of a `Try`: its body has ended.
    Handlers(At),
    /// The end of an operation that has blocks.
    End(At),
}

/// An `Exit`, `Continue` or `Return`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Escape {
    pub(crate) at: At,
    /// The region that it leaves or starts anew; `None`: the program.
    pub(crate) target: Option<At>,
}

/// See the module's head.
pub(crate) struct Flow<'p> {
    pub(crate) ops: Vec<&'p Op>,
    /// The operation whose block an operation stands in.
    pub(crate) parent: Vec<Option<At>>,
    /// Which of its blocks.
    arm: Vec<usize>,
    /// The operations of each block, by the operation that has it (`None`: the program) and which of its blocks it is.
    inner: BTreeMap<(Option<At>, usize), Vec<At>>,
    /// The last operation inside (itself if it has no block).
    last: Vec<At>,
    /// Of all, reached or not.
    pub(crate) escapes: Vec<Escape>,
    /// The blocks that are reached, in the order of the walk.
    pub(crate) blocks: Vec<Vec<At>>,
    /// By operation: the number of its block. None: it is not reached.
    pub(crate) block: Vec<Option<usize>>,
    /// By operation: which of its block.
    pub(crate) position: Vec<usize>,
    /// By operation: loops around.
    pub(crate) depth: Vec<u32>,
    pub(crate) defs: Vec<Def>,
    /// By operation, in its order: the registers it reads, each with its definition.
    pub(crate) uses: Vec<Vec<(Reg, DefId)>>,
    /// By operation that looks into a collection: the definition of that. A loop over it has a second one: the body may set
    /// values of rows that are still to come.
    pub(crate) looks: Vec<Vec<DefId>>,
    /// By region whose end is reached: the definitions there of what is written inside.
    ends: BTreeMap<At, Vec<(Var, DefId)>>,
    pub(crate) steps: Vec<Step>,
}

impl<'p> Flow<'p> {
    pub(crate) fn of(program: &'p Program, paths: Paths) -> Flow<'p> {
        let mut flow = Flow {
            ops: Vec::new(),
            parent: Vec::new(),
            arm: Vec::new(),
            inner: BTreeMap::new(),
            last: Vec::new(),
            escapes: Vec::new(),
            blocks: Vec::new(),
            block: Vec::new(),
            position: Vec::new(),
            depth: Vec::new(),
            defs: Vec::new(),
            uses: Vec::new(),
            looks: Vec::new(),
            ends: BTreeMap::new(),
            steps: Vec::new(),
        };
        flow.nest(&program.body, None, 0, &mut BTreeMap::new());
        let count = flow.ops.len();
        (flow.block, flow.depth) = (vec![None; count], vec![0; count]);
        (flow.uses, flow.looks) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        let mut walk = Walk { flow, paths, regs: program.regs.len(), regions: BTreeMap::new(), depth: 0 };
        let slots = program.regs.len() + program.colls.len();
        let start = (0..slots).map(|slot| walk.define(slot, None, Place::Start, Vec::new())).collect();
        walk.block(None, 0, &mut Some(start));
        walk.flow
    }

    fn nest(&mut self, block: &'p Block, parent: Option<At>, arm: usize, labels: &mut BTreeMap<Label, At>) {
        let mut all = Vec::new();
        for op in &block.0 {
            let at = self.ops.len() as At;
            all.push(at);
            self.ops.push(op);
            self.parent.push(parent);
            self.arm.push(arm);
            self.position.push(all.len() - 1);
            self.last.push(at);
            labels.extend(op.kind.label().map(|label| (label, at)));
            match op.kind {
                OpKind::Exit { label } | OpKind::Continue { label } => {
                    self.escapes.push(Escape { at, target: labels.get(&label).copied() });
                }
                OpKind::Return => self.escapes.push(Escape { at, target: None }),
                _ => {}
            }
            let mut arm = 0;
            op.kind.blocks(&mut |inner| {
                self.nest(inner, Some(at), arm, labels);
                arm += 1;
            });
            self.last[at as usize] = self.ops.len() as At - 1;
        }
        self.inner.insert((parent, arm), all);
    }

    pub(crate) fn kind(&self, at: At) -> &'p OpKind {
        &self.ops[at as usize].kind
    }

    /// Whether `inner` is `outer` or stands inside it.
    pub(crate) fn contains(&self, outer: At, inner: At) -> bool {
        outer <= inner && inner <= self.last[outer as usize]
    }

    /// The operations inside a region, itself first.
    pub(crate) fn inside(&self, region: At) -> std::ops::RangeInclusive<At> {
        region..=self.last[region as usize]
    }

    /// The operations inside one of its blocks.
    pub(crate) fn inside_block(&self, region: At, arm: usize) -> std::ops::Range<At> {
        let all = self.inner.get(&(Some(region), arm));
        match all.and_then(|all| Some((*all.first()?, *all.last()?))) {
            Some((first, last)) => first..self.last[last as usize] + 1,
            None => region..region,
        }
    }

    /// The regions around an operation, innermost first.
    pub(crate) fn around(&self, at: At) -> impl Iterator<Item = At> + '_ {
        std::iter::successors(self.parent[at as usize], |p| self.parent[*p as usize])
    }

    /// The operation around it, and which of that one's blocks it stands in.
    pub(crate) fn arm(&self, at: At) -> Option<(At, usize)> {
        Some((self.parent[at as usize]?, self.arm[at as usize]))
    }

    /// Whether an operation may run more than once.
    pub(crate) fn repeats(&self, at: At) -> bool {
        self.around(at).any(|x| is_loop(self.kind(x)))
    }

    /// Whether there is a loop around both.
    pub(crate) fn share_a_loop(&self, a: At, b: At) -> bool {
        self.around(a).any(|x| is_loop(self.kind(x)) && x != b && self.contains(x, b))
    }

    /// Those of a region, or of regions inside it.
    pub(crate) fn escapes_in(&self, region: At) -> &[Escape] {
        let inside = self.inside(region);
        let from = self.escapes.partition_point(|e| e.at < *inside.start());
        let to = self.escapes.partition_point(|e| e.at <= *inside.end());
        &self.escapes[from..to]
    }

    /// Where an escape leads.
    pub(crate) fn target(&self, escape: At) -> Option<At> {
        self.escapes_in(escape).first()?.target
    }

    /// What a region that writes a register has left in it; `None` if its end is not reached.
    pub(crate) fn at_end(&self, region: At, reg: Reg) -> Option<DefId> {
        let ends = self.ends.get(&region)?;
        ends.iter().find(|(var, _)| *var == Var::Reg(reg)).map(|(_, def)| *def)
    }
}

/// Whether an operation runs its block any number of times.
pub(crate) fn is_loop(kind: &OpKind) -> bool {
    kind.label().is_some() && !matches!(kind, OpKind::Block { .. })
}

/// The definition that is there now, by variable; `None`: this is not reached.
type State = Option<Vec<DefId>>;

/// A region with a label, while the walk is inside.
#[derive(Default)]
struct Region {
    /// What `Exit`s carry to its end, and `Continue`s to its next turn.
    exits: Vec<Vec<DefId>>,
    nexts: Vec<Vec<DefId>>,
}

struct Walk<'p> {
    flow: Flow<'p>,
    paths: Paths,
    /// How many; collections come behind them.
    regs: usize,
    regions: BTreeMap<Label, Region>,
    depth: u32,
}

impl<'p> Walk<'p> {
    fn slot(&self, var: Var) -> usize {
        match var {
            Var::Reg(reg) => reg.index(),
            Var::Coll(coll) => self.regs + coll.index(),
        }
    }

    fn var(&self, slot: usize) -> Var {
        match slot.checked_sub(self.regs) {
            None => Var::Reg(Reg::from(slot)),
            Some(coll) => Var::Coll(Coll::from(coll)),
        }
    }

    fn define(&mut self, slot: usize, at: Option<At>, place: Place, from: Vec<DefId>) -> DefId {
        let id = self.flow.defs.len();
        self.flow.defs.push(Def { var: self.var(slot), at, place, nth: 0, from, depth: self.depth });
        self.flow.steps.push(Step::Def(id));
        id
    }

    /// What an operation itself writes.
    fn written(&self, kind: &OpKind, slots: &mut Vec<usize>) {
        kind.writes(&mut |r| slots.push(r.index()));
        slots.extend(kind.changed_collection().map(|c| self.slot(Var::Coll(c))));
    }

    /// What is written inside of an operation, in order.
    fn written_inside(&self, op: &Op) -> Vec<usize> {
        let mut slots = Vec::new();
        op.kind.blocks(&mut |block| block.visit(&mut |op| self.written(&op.kind, &mut slots)));
        slots.sort_unstable();
        slots.dedup();
        slots
    }

    fn write(&mut self, op: &Op, at: At, state: &mut [DefId]) {
        let mut slots = Vec::new();
        self.written(&op.kind, &mut slots);
        for (nth, slot) in slots.into_iter().enumerate() {
            state[slot] = self.define(slot, Some(at), Place::Def, vec![state[slot]]);
            self.flow.defs[state[slot]].nth = nth;
        }
    }

    /// A block of the operation around it.
    fn block(&mut self, around: Option<At>, arm: usize, state: &mut State) {
        let number = self.flow.blocks.len();
        let all = self.flow.inner.get(&(around, arm)).cloned().unwrap_or_default();
        self.flow.blocks.push(all.clone());
        for at in all {
            if state.is_none() {
                break;
            }
            self.flow.block[at as usize] = Some(number);
            self.op(at, state);
        }
    }

    fn op(&mut self, at: At, state: &mut State) {
        let Some(here) = state.as_mut() else { return };
        let (index, op) = (at as usize, self.flow.ops[at as usize]);
        self.flow.steps.push(Step::Op(at));
        self.flow.depth[index] = self.depth;
        let uses = &mut self.flow.uses[index];
        op.kind.reads(&mut |r| uses.push((r, here[r.index()])));
        if let Some(coll) = op.kind.read_collection() {
            self.flow.looks[index].push(here[self.regs + coll.index()]);
        }
        match &op.kind {
            OpKind::If { .. } => self.branch(op, at, state),
            OpKind::Try { handlers, .. } => self.guarded(op, at, handlers, state),
            OpKind::Exit { label } => self.leave(Some((*label, false)), state),
            OpKind::Continue { label } => self.leave(Some((*label, true)), state),
            OpKind::Return | OpKind::Raise { level: Level::Exception, .. } => self.leave(None, state),
            kind => match kind.label() {
                Some(label) => self.region(op, at, label, state),
                None => self.write(op, at, here),
            },
        }
    }

    /// To the region of a label, whose next turn it may be; or out of the program.
    fn leave(&mut self, to: Option<(Label, bool)>, state: &mut State) {
        let left = if self.paths == Paths::All { state.clone() } else { state.take() };
        if let (Some(state), Some((label, next))) = (left, to)
            && let Some(region) = self.regions.get_mut(&label)
        {
            if next { region.nexts.push(state) } else { region.exits.push(state) }
        }
    }

    /// What is there behind a region, where several states meet; `before` is the one where it began.
    fn meet(
        &mut self,
        at: At,
        place: Place,
        slots: &[usize],
        ends: &[Vec<DefId>],
        before: &[DefId],
    ) -> State {
        let mut out = ends.first()?.clone();
        let turns = is_loop(self.flow.kind(at));
        for slot in slots.iter().copied() {
            let mut from: Vec<DefId> = ends.iter().map(|end| end[slot]).collect();
            if self.paths == Paths::All {
                from.push(before[slot]);
            }
            from.dedup();
            if turns || from.len() > 1 {
                out[slot] = self.define(slot, Some(at), place, from);
            }
        }
        Some(out)
    }

    fn end(&mut self, at: At, slots: &[usize], state: &State) {
        if let Some(state) = state {
            let ends = slots.iter().map(|slot| (self.var(*slot), state[*slot])).collect();
            self.flow.ends.insert(at, ends);
        }
        self.flow.steps.push(Step::End(at));
    }

    fn branch(&mut self, op: &Op, at: At, state: &mut State) {
        let Some(before) = state.take() else { return };
        let slots = self.written_inside(op);
        let (mut then, mut otherwise) = (Some(before.clone()), Some(before.clone()));
        self.block(Some(at), 0, &mut then);
        self.block(Some(at), 1, &mut otherwise);
        let ends: Vec<Vec<DefId>> = then.into_iter().chain(otherwise).collect();
        *state = self.meet(at, Place::Join, &slots, &ends, &before);
        self.end(at, &slots, state);
    }

    fn region(&mut self, op: &Op, at: At, label: Label, state: &mut State) {
        let Some(before) = state.take() else { return };
        let turns = is_loop(&op.kind);
        let mut slots = self.written_inside(op);
        self.written(&op.kind, &mut slots);
        slots.sort_unstable();
        slots.dedup();
        self.regions.insert(label, Region::default());
        self.depth += u32::from(turns);
        let mut head = before.clone();
        if turns {
            for slot in slots.iter().copied() {
                head[slot] = self.define(slot, Some(at), Place::Head, vec![before[slot]]);
            }
        }
        if let Some(coll) = op.kind.read_collection() {
            self.flow.looks[at as usize].push(head[self.regs + coll.index()]);
        }
        let mut start = head.clone();
        self.write(op, at, &mut start);
        let mut inside = Some(start);
        self.block(Some(at), 0, &mut inside);
        self.depth -= u32::from(turns);
        let mut region = self.regions.remove(&label).unwrap_or_default();
        let mut ends = region.exits;
        if turns {
            region.nexts.extend(inside.take());
            for slot in slots.iter().copied() {
                self.flow.defs[head[slot]].from.extend(region.nexts.iter().map(|next| next[slot]));
            }
        }
        // A plain loop ends only where it is left.
        if turns && (self.paths == Paths::All || !matches!(op.kind, OpKind::Loop { .. })) {
            ends.push(head);
        }
        ends.extend(inside);
        *state = self.meet(at, Place::After, &slots, &ends, &before);
        self.end(at, &slots, state);
    }

    fn guarded(&mut self, op: &Op, at: At, handlers: &[Handler], state: &mut State) {
        let Some(before) = state.take() else { return };
        let first = self.flow.defs.len();
        let mut ended = Some(before.clone());
        self.block(Some(at), 0, &mut ended);
        self.flow.steps.push(Step::Handlers(at));
        let mut left: BTreeMap<usize, Vec<DefId>> = BTreeMap::new();
        for (def, of) in self.flow.defs.iter().enumerate().skip(first) {
            let slot = self.slot(of.var);
            left.entry(slot).or_insert_with(|| vec![before[slot]]).push(def);
        }
        let mut caught = before.clone();
        for (slot, from) in left {
            caught[slot] = self.define(slot, Some(at), Place::Caught, from);
        }
        let mut slots = self.written_inside(op);
        self.written(&op.kind, &mut slots);
        slots.sort_unstable();
        slots.dedup();
        let mut ends: Vec<Vec<DefId>> = ended.into_iter().collect();
        if self.paths == Paths::All {
            ends.push(caught.clone());
        }
        for (arm, handler) in (1..).zip(handlers) {
            let mut handled = caught.clone();
            let more = handler.diagnostics.iter().map(|(_, r)| *r);
            for reg in [handler.sqlstate, handler.sqlerrm].into_iter().chain(more) {
                let slot = reg.index();
                handled[slot] = self.define(slot, Some(at), Place::Def, vec![handled[slot]]);
            }
            let mut handled = Some(handled);
            self.block(Some(at), arm, &mut handled);
            ends.extend(handled);
        }
        *state = self.meet(at, Place::After, &slots, &ends, &before);
        self.end(at, &slots, state);
    }
}
