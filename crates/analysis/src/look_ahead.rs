//! Lookups whose keys are known before a call has read anything: to be made ahead, together.
//!
//! A lookup waits for memory, and the next one waits for the first, though its key may depend on nothing but arguments. The
//! *plan* of a program is what is left of it if everything goes that depends on tables, inputs or calls: the
//! lookups whose keys are known, what computes these keys, and the loops and branches around them. It runs before the
//! program ([`plan`]), and asks for all rows at once.
//!
//! What it says is a hint. So it may be wrong, where a branch that cannot be decided is passed over; it need not be complete;
//! and it only has to end: of loops those are kept that have a lookup in them, and whoever runs the plan counts turns.
//!
//! Of calls that wait their turn there are several plans to be run together. Each is a program of its own, and there is a second
//! one: what is looked up by what the first lookups find ([`waves`]).

use planaria_ir::{Block, Label, Op, OpId, OpKind, ParamMode, Program, ReadMode, Reg};
use std::collections::{BTreeMap, HashMap, HashSet};

/// Lookups outside loops that make looking ahead worth its while.
const LOOKUPS_MIN: usize = 3;

/// A program that looks ahead.
pub struct LookAhead {
    /// The program, its plan first: a block whose `Get`s are [`ReadMode::Ahead`].
    pub program: Program,
    /// The label of that block.
    pub label: Label,
    /// The lookups of the program that are made ahead, in its order, and whether several times.
    pub lookups: Vec<(OpId, bool)>,
}

/// The program with its plan; `None` if there is too little to look ahead for.
pub fn look_ahead(program: &Program) -> Option<LookAhead> {
    let params = program.params.iter().filter(|p| p.mode != ParamMode::Out);
    let mut known: HashSet<Reg> = params.map(|p| p.reg).collect();
    let mut finder = Finder::new(program, false);
    let label = finder.label;
    let mut plan = finder.block(&program.body, &mut known, false);
    let several = finder.lookups.iter().any(|(_, several)| *several);
    if !several && finder.lookups.len() < LOOKUPS_MIN {
        return None;
    }
    // Most programs end above: statements, which are compiled each time, are not copied for nothing.
    let mut program = program.clone();
    program.labels = finder.labels;
    prune(&mut plan);
    give_registers_of_its_own(&mut program, &mut plan);
    let (id, position) = program.body.0.first().map_or((OpId(0), 0), |op| (op.id, op.position));
    program.body.0.insert(0, Op { id, position, kind: OpKind::Block { label, body: plan } });
    Some(LookAhead { program, label, lookups: finder.lookups })
}

/// What calls of a program can look up together while they wait their turn: plans alone that are run one after another. The second
/// one reads rows that the first has fetched, and asks for those whose keys are made of them. Nothing where a call alone has
/// enough to look up, in a loop.
pub fn waves(program: &Program) -> Vec<LookAhead> {
    let in_loop = |ahead: LookAhead| ahead.lookups.iter().any(|(_, several)| *several);
    if look_ahead(program).is_some_and(in_loop) {
        return Vec::new();
    }
    [false, true].into_iter().filter_map(|reads| wave(program, reads)).collect()
}

fn wave(program: &Program, reads: bool) -> Option<LookAhead> {
    // What has not been written yet is NULL: so a variable that one branch assigns is known behind it.
    let mut known: HashSet<Reg> = (0..program.regs.len()).map(Reg::from).collect();
    let mut finder = Finder::new(program, reads);
    let mut plan = finder.block(&program.body, &mut known, false);
    // Loops are another matter: nobody counts how often they turn.
    if finder.lookups.is_empty() || finder.lookups.iter().any(|(_, several)| *several) {
        return None;
    }
    let label = finder.label;
    prune(&mut plan);
    let (id, position) = plan.0.first().map_or((OpId(0), 0), |op| (op.id, op.position));
    let body = Block(vec![Op { id, position, kind: OpKind::Block { label, body: plan } }]);
    let wave = Program {
        labels: finder.labels,
        inlined: BTreeMap::new(),
        outputs: Vec::new(),
        outs: Vec::new(),
        row_count: None,
        body,
        ..program.clone()
    };
    Some(LookAhead { program: wave, label, lookups: finder.lookups })
}

struct Finder {
    /// Rows with known keys are read, and what is asked for are those whose keys are made of them.
    reads: bool,
    /// What depends on such a row.
    read: HashSet<Reg>,
    /// What leaves the plan goes here.
    label: Label,
    labels: u32,
    /// Labels of regions that the plan has, by those of the program.
    fresh: HashMap<Label, Label>,
    lookups: Vec<(OpId, bool)>,
}

/// Everything that a block writes.
fn writes(block: &Block, f: &mut impl FnMut(Reg)) {
    block.visit(&mut |op| op.kind.writes(f));
}

fn forget(known: &mut HashSet<Reg>, reg: Reg) {
    known.remove(&reg);
}

fn looks(block: &Block) -> bool {
    let mut looks = false;
    block.visit(&mut |op| looks |= matches!(op.kind, OpKind::Get { .. }));
    looks
}

/// Whether nothing comes after it.
fn diverges(block: &Block) -> bool {
    block.0.last().is_some_and(|op| match &op.kind {
        OpKind::Exit { .. } | OpKind::Continue { .. } | OpKind::Return => true,
        OpKind::Raise { level, .. } => *level == planaria_base::Level::Exception,
        OpKind::If { then, otherwise, .. } => diverges(then) && diverges(otherwise),
        _ => false,
    })
}

impl Finder {
    fn new(program: &Program, reads: bool) -> Finder {
        Finder {
            reads,
            read: HashSet::new(),
            label: Label(program.labels),
            labels: program.labels + 1,
            fresh: HashMap::new(),
            lookups: Vec::new(),
        }
    }

    /// What the plan has of a block. `known`: registers whose values the plan has at this point.
    fn block(&mut self, block: &Block, known: &mut HashSet<Reg>, in_loop: bool) -> Block {
        let mut plan = Vec::new();
        for op in &block.0 {
            let leaves = matches!(op.kind, OpKind::Exit { .. } | OpKind::Continue { .. } | OpKind::Return);
            self.op(op, known, in_loop, &mut plan);
            if leaves {
                break;
            }
        }
        Block(plan)
    }

    fn op(&mut self, op: &Op, known: &mut HashSet<Reg>, in_loop: bool, plan: &mut Vec<Op>) {
        let mut push = |kind: OpKind| plan.push(Op { id: op.id, position: op.position, kind });
        match &op.kind {
            OpKind::Const { dst, .. } => {
                known.insert(*dst);
                push(op.kind.clone());
            }
            OpKind::Copy { dst, .. } | OpKind::Apply { dst, .. } | OpKind::Cast { dst, .. } => {
                let (mut all, mut read) = (true, false);
                op.kind.reads(&mut |r| {
                    all &= known.contains(&r);
                    read |= self.read.contains(&r);
                });
                if all {
                    known.insert(*dst);
                    if read {
                        self.read.insert(*dst);
                    }
                    push(op.kind.clone());
                } else {
                    known.remove(dst);
                }
            }
            OpKind::Get { table, index, key, row, columns, .. }
                if self.reads
                    && key.iter().all(|r| known.contains(r))
                    && !key.iter().any(|r| self.read.contains(r)) =>
            {
                for reg in columns.iter().map(|(_, reg)| *reg).chain([*row]) {
                    known.insert(reg);
                    self.read.insert(reg);
                }
                let (table, index, key, columns) = (*table, *index, key.clone(), columns.clone());
                push(OpKind::Get { table, index, key, mode: ReadMode::Plain, row: *row, columns });
            }
            OpKind::Get { table, index, key, row, columns, .. } => {
                if key.iter().all(|r| known.contains(r)) {
                    if self.lookups.iter().all(|(id, _)| *id != op.id) {
                        self.lookups.push((op.id, in_loop));
                    }
                    let (table, index, key) = (*table, *index, key.clone());
                    push(OpKind::Get {
                        table,
                        index,
                        key,
                        mode: ReadMode::Ahead,
                        row: *row,
                        columns: Vec::new(),
                    });
                }
                known.remove(row);
                columns.iter().for_each(|(_, r)| forget(known, *r));
            }
            OpKind::If { cond, then, otherwise } if known.contains(cond) => {
                let mut other = known.clone();
                let then_plan = self.block(then, known, in_loop);
                let otherwise_plan = self.block(otherwise, &mut other, in_loop);
                match (diverges(then), diverges(otherwise)) {
                    (true, false) => *known = other,
                    (false, true) => {}
                    _ => known.retain(|r| other.contains(r)),
                }
                push(OpKind::If { cond: *cond, then: then_plan, otherwise: otherwise_plan });
            }
            // Nobody knows which way it goes. Where one way leads out, it is the other one that matters.
            OpKind::If { then, otherwise, .. } => {
                for (block, other) in [(then, otherwise), (otherwise, then)] {
                    if diverges(other) && !diverges(block) {
                        plan.extend(self.block(block, known, in_loop).0);
                        return;
                    }
                }
                [then, otherwise].into_iter().for_each(|b| writes(b, &mut |r| forget(known, r)));
            }
            OpKind::Loop { label, body } => {
                if looks(body)
                    && let Some((label, body)) = self.turns(*label, body, known)
                {
                    push(OpKind::Loop { label, body });
                } else {
                    writes(body, &mut |r| forget(known, r));
                }
            }
            OpKind::Block { label, body } => {
                let fresh = self.region(*label);
                let body = self.block(body, known, in_loop);
                self.fresh.remove(label);
                push(OpKind::Block { label: fresh, body });
            }
            OpKind::Try { body, handlers } => {
                plan.extend(self.block(body, known, in_loop).0);
                for handler in handlers {
                    [handler.sqlstate, handler.sqlerrm].into_iter().for_each(|r| forget(known, r));
                    writes(&handler.body, &mut |r| forget(known, r));
                }
            }
            OpKind::Exit { label } => {
                push(OpKind::Exit { label: *self.fresh.get(label).unwrap_or(&self.label) })
            }
            OpKind::Continue { label } => match self.fresh.get(label) {
                Some(label) => push(OpKind::Continue { label: *label }),
                None => push(OpKind::Exit { label: self.label }),
            },
            OpKind::Return => push(OpKind::Exit { label: self.label }),
            other => {
                other.writes(&mut |r| forget(known, r));
                other.blocks(&mut |b| writes(b, &mut |r| forget(known, r)));
            }
        }
    }

    fn region(&mut self, label: Label) -> Label {
        let fresh = Label(self.labels);
        self.labels += 1;
        self.fresh.insert(label, fresh);
        fresh
    }

    /// The turns of a loop, if there is anything to look up in them: what is known at the beginning of one is what each turn
    /// leaves known.
    fn turns(&mut self, label: Label, body: &Block, known: &mut HashSet<Reg>) -> Option<(Label, Block)> {
        let fresh = self.region(label);
        let found = self.lookups.len();
        let turns = loop {
            let mut at_end = known.clone();
            self.lookups.truncate(found);
            let turns = self.block(body, &mut at_end, true);
            let before = known.len();
            known.retain(|r| at_end.contains(r));
            if known.len() == before {
                break turns;
            }
        };
        self.fresh.remove(&label);
        (self.lookups.len() > found).then_some((fresh, turns))
    }
}

/// Drops what computes nothing that a key, or the way to a lookup, depends on.
fn prune(plan: &mut Block) {
    let mut needed: HashSet<Reg> = HashSet::new();
    loop {
        let before = needed.len();
        need(plan, &mut needed);
        if needed.len() == before {
            break;
        }
    }
    drop_unneeded(plan, &needed);
}

/// A lookup that is asked for, not made.
fn asks(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Get { mode: ReadMode::Ahead, .. })
}

/// Notes what the operations of a block need that are wanted: whether there are any.
fn need(block: &Block, needed: &mut HashSet<Reg>) -> bool {
    let mut any = false;
    for op in &block.0 {
        let mut wanted = asks(&op.kind) || matches!(op.kind, OpKind::Exit { .. } | OpKind::Continue { .. });
        op.kind.blocks(&mut |b| wanted |= need(b, needed));
        if !asks(&op.kind) {
            op.kind.writes(&mut |r| wanted |= needed.contains(&r));
        }
        if wanted {
            op.kind.reads(&mut |r| {
                needed.insert(r);
            });
        }
        any |= wanted;
    }
    any
}

fn drop_unneeded(block: &mut Block, needed: &HashSet<Reg>) {
    block.0.retain_mut(|op| {
        op.kind.blocks_mut(&mut |b| drop_unneeded(b, needed));
        match &mut op.kind {
            OpKind::Const { dst, .. }
            | OpKind::Copy { dst, .. }
            | OpKind::Apply { dst, .. }
            | OpKind::Cast { dst, .. } => needed.contains(dst),
            OpKind::Get { mode: ReadMode::Plain, row, columns, .. } => {
                columns.retain(|(_, reg)| needed.contains(reg));
                !columns.is_empty() || needed.contains(row)
            }
            OpKind::If { then, otherwise, .. } => !then.0.is_empty() || !otherwise.0.is_empty(),
            OpKind::Block { body, .. } => !body.0.is_empty(),
            _ => true,
        }
    });
}

/// What the plan writes are registers of its own: the program finds all others as if there were no plan.
fn give_registers_of_its_own(program: &mut Program, plan: &mut Block) {
    let mut own: HashMap<Reg, Reg> = HashMap::new();
    let mut written = Vec::new();
    writes(plan, &mut |r| written.push(r));
    for reg in written {
        let kind = program.kind_of(reg).clone();
        own.entry(reg).or_insert_with(|| program.reg(kind, Some("ahead".to_owned())));
    }
    plan.visit_mut(&mut |op| {
        op.kind.entities_mut(&mut |entity| {
            if let planaria_ir::Entity::Reg(reg) = entity
                && let Some(new) = own.get(reg)
            {
                *reg = *new;
            }
        });
    });
    // A parameter that is assigned to begins as it was passed.
    let (id, position) = plan.0.first().map_or((OpId(0), 0), |op| (op.id, op.position));
    for param in program.params.iter().filter(|p| p.mode != ParamMode::Out) {
        if let Some(dst) = own.get(&param.reg) {
            let kind = OpKind::Copy { dst: *dst, src: param.reg };
            plan.0.insert(0, Op { id, position, kind });
        }
    }
}
