//! Whether the graph has every dependency that there is: random programs are run twice, and one operation answers otherwise the
//! second time.
//!
//! Values are hashes of what they were made of, so that whatever goes into a value is seen in it, and each branch can go both
//! ways. What an operation on tables answers (its values, how many rows there are, whether it fails) is drawn by its place and the
//! turns of the loops around it, and by nothing else. So where one answers otherwise, no other operation does, and whatever is
//! given other values, or runs where it did not, depends on that one directly.

use super::{DependencyGraph, Edge, EdgeKind};
use crate::errors::may_raise;
use planaria_base::*;
use planaria_ir::*;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Turns of any loop.
const TURNS: u64 = 3;
/// Operations of a run. Where they are spent it says nothing.
const STEPS: u32 = 3000;

/// An operation in certain turns of the loops around it.
type Instance = (OpId, Vec<u64>);

#[derive(Clone)]
struct Error {
    state: SqlState,
    value: u64,
}

/// How a block ends.
enum Ended {
    On,
    Exit(Label),
    Continue(Label),
    Return,
    Error(Error),
}

/// What an operation on tables was given, and what it could see.
struct Ran {
    keys: u64,
    values: u64,
    /// The operations before that meet it, and whether what they did has been undone.
    met: BTreeMap<Instance, bool>,
}

struct Run<'p> {
    world: u64,
    /// What answers otherwise than the world has it, and by what.
    other: OpId,
    changed: u64,
    regs: Vec<u64>,
    colls: Vec<u64>,
    turns: Vec<u64>,
    handlers: Vec<&'p [Handler]>,
    handled: Vec<Error>,
    /// Operations on tables that were run, in order; and whether what they did has been undone.
    done: Vec<(Instance, &'p OpKind, bool)>,
    ran: BTreeMap<Instance, Ran>,
    steps: u32,
}

fn meets(a: &OpKind, b: &OpKind) -> bool {
    match (a.table(), b.table()) {
        (Some(x), Some(y)) => x == y && (a.is_write() || b.is_write()),
        _ => true,
    }
}

impl<'p> Run<'p> {
    fn of(program: &'p Program, world: u64, other: OpId, changed: u64) -> Run<'p> {
        let mut run = Run {
            world,
            other,
            changed,
            regs: (0..program.regs.len()).map(|r| hash(("start", r))).collect(),
            colls: vec![0; program.colls.len()],
            turns: Vec::new(),
            handlers: Vec::new(),
            handled: Vec::new(),
            done: Vec::new(),
            ran: BTreeMap::new(),
            steps: 0,
        };
        run.block(&program.body);
        run
    }

    fn at(&self, op: &Op) -> Instance {
        (op.id, self.turns.clone())
    }

    /// What an operation answers.
    fn answer(&self, op: &Op) -> u64 {
        let changed = if op.id == self.other { self.changed } else { 0 };
        hash((self.world, changed, self.at(op)))
    }

    fn read(&self, regs: &[Reg]) -> u64 {
        hash(regs.iter().map(|r| self.regs[r.index()]).collect::<Vec<_>>())
    }

    fn block(&mut self, block: &'p Block) -> Ended {
        for op in &block.0 {
            self.steps += 1;
            if self.steps > STEPS {
                return Ended::Return;
            }
            match self.op(op) {
                Ended::On => {}
                ended => return ended,
            }
        }
        Ended::On
    }

    /// The error that it ends with, if so: one that a handler around catches.
    fn fails(&self, op: &Op, by: u64) -> Option<Error> {
        let mut states = Vec::new();
        for catch in self.handlers.iter().flat_map(|h| h.iter()).flat_map(|h| &h.catches) {
            if may_raise(&op.kind, catch) {
                states.push(match catch {
                    Catch::State(state) => *state,
                    Catch::Others => SqlState(*b"XX000"),
                });
            }
        }
        let fails = !states.is_empty() && by.is_multiple_of(5);
        fails.then(|| Error { state: states[(by / 5) as usize % states.len()], value: by })
    }

    /// An operation on tables begins.
    fn begin(&mut self, op: &'p Op, keys: &[Reg], values: &[Reg]) {
        let met = self.done.iter().filter(|(at, kind, _)| at.0 != op.id && meets(kind, &op.kind));
        let ran = Ran {
            keys: self.read(keys),
            values: self.read(values),
            met: met.map(|(at, _, undone)| (at.clone(), *undone)).collect(),
        };
        let at = self.at(op);
        self.done.push((at.clone(), &op.kind, false));
        self.ran.insert(at, ran);
    }

    /// A loop, `turn` begins each turn; or says that there is none.
    fn turns(
        &mut self,
        label: Label,
        body: &'p Block,
        turn: &mut dyn FnMut(&mut Self, u64) -> bool,
    ) -> Ended {
        for count in 0..TURNS {
            if !turn(self, count) {
                break;
            }
            self.turns.push(count);
            let ended = self.block(body);
            self.turns.pop();
            match ended {
                Ended::On => {}
                Ended::Continue(to) if to == label => {}
                Ended::Exit(from) if from == label => break,
                ended => return ended,
            }
        }
        Ended::On
    }

    fn op(&mut self, op: &'p Op) -> Ended {
        let kind = &op.kind;
        let mut all = Vec::new();
        kind.reads(&mut |r| all.push(r));
        match kind {
            OpKind::Get { .. } | OpKind::Load { .. } | OpKind::Delete { .. } | OpKind::Scan { .. } => {
                self.begin(op, &all, &[]);
            }
            OpKind::Claim { .. } => self.begin(op, &all, &[]),
            OpKind::Update { .. } => self.begin(op, &all[..1], &all[1..]),
            kind if super::is_node(kind) => self.begin(op, &[], &all),
            _ => {}
        }
        let looked = kind.read_collection().or(kind.changed_collection()).map(|c| self.colls[c.index()]);
        let answer = if super::is_node(kind) { self.answer(op) } else { 0 };
        let made = hash((op.id, self.read(&all), looked, answer));
        match kind {
            OpKind::Raise { .. } => {}
            _ => {
                if let Some(error) = self.fails(op, hash((made, "fails"))) {
                    return Ended::Error(error);
                }
            }
        }
        match kind {
            OpKind::If { cond, then, otherwise } => {
                let taken = self.regs[cond.index()].is_multiple_of(2);
                return self.block(if taken { then } else { otherwise });
            }
            OpKind::Loop { label, body } => return self.turns(*label, body, &mut |_, _| true),
            OpKind::Block { label, body } => {
                return match self.block(body) {
                    Ended::Exit(from) if from == *label => Ended::On,
                    ended => ended,
                };
            }
            OpKind::Exit { label } => return Ended::Exit(*label),
            OpKind::Continue { label } => return Ended::Continue(*label),
            OpKind::Return => return Ended::Return,
            OpKind::Raise { level: Level::Exception, state, .. } => {
                let state = match state {
                    StateSource::Known(state) => *state,
                    StateSource::Computed(reg) => {
                        let states = [SqlState::UNIQUE_VIOLATION, SqlState(*b"TC001"), SqlState(*b"XX000")];
                        states[self.regs[reg.index()] as usize % 3]
                    }
                    StateSource::Current => match self.handled.last() {
                        Some(error) => return Ended::Error(error.clone()),
                        None => SqlState(*b"0Z002"),
                    },
                };
                return Ended::Error(Error { state, value: made });
            }
            OpKind::Try { body, handlers } => return self.guarded(body, handlers),
            OpKind::Scan { label, body, .. } => {
                let rows = answer % TURNS;
                return self.turns(*label, body, &mut |run, turn| {
                    let there = turn < rows;
                    if there {
                        run.write(kind, hash((answer, turn)));
                    }
                    there
                });
            }
            OpKind::ForEach { coll, label, body, .. } | OpKind::ForMatches { coll, label, body, .. } => {
                let (keys, rows) = (self.read(&all), made % TURNS);
                return self.turns(*label, body, &mut |run, turn| {
                    let there = turn < rows;
                    if there {
                        // The body may have set values of rows that were still to come.
                        run.write(kind, hash((keys, run.colls[coll.index()], turn)));
                    }
                    there
                });
            }
            OpKind::MapGet { found, values, .. } => {
                self.regs[found.index()] = hash((made, "found"));
                if made % 2 == 0 {
                    values.iter().for_each(|r| self.regs[r.index()] = hash((made, r.index())));
                }
            }
            OpKind::Copy { dst, src } => self.regs[dst.index()] = self.regs[src.index()],
            OpKind::Clear { coll } => self.colls[coll.index()] = 0,
            kind => {
                let made = if super::is_node(kind) { answer } else { made };
                self.write(kind, made);
                if let Some(coll) = kind.changed_collection() {
                    self.colls[coll.index()] = hash((made, looked));
                }
            }
        }
        Ended::On
    }

    fn write(&mut self, kind: &OpKind, value: u64) {
        kind.writes(&mut |r| self.regs[r.index()] = hash((value, r.index())));
    }

    fn guarded(&mut self, body: &'p Block, handlers: &'p [Handler]) -> Ended {
        let first = self.done.len();
        self.handlers.push(handlers);
        let ended = self.block(body);
        self.handlers.pop();
        let Ended::Error(error) = ended else { return ended };
        let catches = |h: &&Handler| h.catches.iter().any(|c| c.catches(error.state));
        let Some(handler) = handlers.iter().find(catches) else { return Ended::Error(error) };
        self.done[first..].iter_mut().for_each(|(_, _, undone)| *undone = true);
        self.regs[handler.sqlstate.index()] = hash(error.state.0);
        self.regs[handler.sqlerrm.index()] = hash((error.value, "message"));
        for (nth, (_, reg)) in handler.diagnostics.iter().enumerate() {
            self.regs[reg.index()] = hash((error.value, nth));
        }
        self.handled.push(error);
        let ended = self.block(&handler.body);
        self.handled.pop();
        ended
    }
}

/// The edges that there must be, as two runs differ of which one operation has answered otherwise in the second; and those
/// between operations on one table.
fn seen(a: &Run<'_>, b: &Run<'_>, found: &mut BTreeSet<Edge>) {
    let from = a.other;
    let mut add = |to: OpId, kind| {
        if to != from {
            found.insert(Edge { to, from, kind });
        }
    };
    for at in a.ran.keys().chain(b.ran.keys()) {
        match (a.ran.get(at), b.ran.get(at)) {
            (Some(x), Some(y)) => {
                if x.keys != y.keys {
                    add(at.0, EdgeKind::Key);
                }
                if x.values != y.values {
                    add(at.0, EdgeKind::Value);
                }
                if x.met.iter().any(|(at, undone)| y.met.get(at).is_some_and(|other| other != undone)) {
                    add(at.0, EdgeKind::Control);
                }
            }
            _ => add(at.0, EdgeKind::Control),
        }
    }
    for (to, ran) in &a.ran {
        found.extend(ran.met.keys().map(|from| Edge { to: to.0, from: from.0, kind: EdgeKind::Data }));
    }
}

/// All the edges that some worlds show.
fn edges(program: &Program, worlds: u64) -> BTreeSet<Edge> {
    let mut found = BTreeSet::new();
    let mut nodes = Vec::new();
    program.body.visit(&mut |op| nodes.extend(super::is_node(&op.kind).then_some(op.id)));
    for world in 0..worlds {
        for node in nodes.iter().copied() {
            let first = Run::of(program, world, node, 0);
            for changed in 1..3 {
                let second = Run::of(program, world, node, changed);
                if first.steps.max(second.steps) <= STEPS {
                    seen(&first, &second, &mut found);
                }
            }
        }
    }
    found
}

/// Random programs.
struct Gen {
    seed: u64,
    regs: Vec<Reg>,
    rows: Vec<Reg>,
    labels: u32,
    /// Whether there are handlers, and whether this is in one.
    tries: bool,
    handles: bool,
    left: u32,
}

impl Gen {
    fn program(seed: u64) -> Program {
        let mut program = Program::new("p", ProgramKind::Procedure);
        let regs = (0..4).map(|_| program.value(Type::Int8)).collect();
        let rows = (0..2).map(|_| program.reg(RegKind::Row(TableId(0)), None)).collect();
        for _ in 0..2 {
            let values = vec![RegKind::Value(Type::Int8)];
            program.colls.push(CollDecl { kind: CollKind::List, keys: vec![], values });
        }
        let left = 10 + (seed % 4) as u32 * 8;
        let tries = seed.is_multiple_of(2);
        let mut of = Gen { seed: hash(seed), regs, rows, labels: 0, tries, handles: false, left };
        while of.left > 2 {
            let more = of.block(0, &mut Vec::new());
            program.body.0.extend(more.0);
        }
        program.labels = of.labels;
        program.renumber();
        program
    }

    fn n(&mut self, n: u64) -> u64 {
        self.seed = hash(self.seed);
        self.seed % n
    }

    fn reg(&mut self) -> Reg {
        let nth = self.n(self.regs.len() as u64);
        self.regs[nth as usize]
    }

    fn row(&mut self) -> Reg {
        let nth = self.n(self.rows.len() as u64);
        self.rows[nth as usize]
    }

    fn coll(&mut self) -> Coll {
        Coll(self.n(2) as _)
    }

    fn table(&mut self) -> TableId {
        TableId(self.n(4) as u32)
    }

    fn columns(&mut self) -> Vec<(ColumnId, Reg)> {
        (0..self.n(3)).map(|nth| (ColumnId(nth as u32), self.reg())).collect()
    }

    fn block(&mut self, depth: u32, labels: &mut Vec<(Label, bool)>) -> Block {
        let mut all = Vec::new();
        for _ in 0..1 + self.n(4) {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let kind = self.kind(depth, labels);
            all.push(Op { id: OpId(0), position: 0, kind });
        }
        Block(all)
    }

    fn jump(&mut self, labels: &[(Label, bool)]) -> OpKind {
        match labels.len() as u64 {
            0 => OpKind::Return,
            _ if self.n(8) == 0 => OpKind::Return,
            count => match labels[self.n(count) as usize] {
                (label, true) if self.n(2) == 0 => OpKind::Continue { label },
                (label, _) => OpKind::Exit { label },
            },
        }
    }

    fn raise(&mut self) -> OpKind {
        let state = match self.n(4) {
            0 if self.handles => StateSource::Current,
            1 => StateSource::Computed(self.reg()),
            2 => StateSource::Known(SqlState(*b"TC001")),
            _ => StateSource::Known(SqlState::UNIQUE_VIOLATION),
        };
        OpKind::Raise { level: Level::Exception, state, message: self.reg(), fields: Default::default() }
    }

    /// What is left early is mostly left under a condition.
    fn guard(&mut self, kind: OpKind) -> OpKind {
        if self.n(6) == 0 {
            return kind;
        }
        let then = Block(vec![Op { id: OpId(0), position: 0, kind }]);
        OpKind::If { cond: self.reg(), then, otherwise: Block::default() }
    }

    fn handler(&mut self, depth: u32, labels: &mut Vec<(Label, bool)>) -> Handler {
        let catches = vec![match self.n(4) {
            0 => Catch::State(SqlState(*b"TC001")),
            1 => Catch::State(SqlState::UNIQUE_VIOLATION),
            _ => Catch::Others,
        }];
        let outer = std::mem::replace(&mut self.handles, true);
        let body = self.block(depth + 1, labels);
        self.handles = outer;
        let diagnostics = if self.n(2) == 0 { vec![(Diagnostic::Detail, self.reg())] } else { vec![] };
        Handler { catches, sqlstate: self.reg(), sqlerrm: self.reg(), diagnostics, body }
    }

    fn kind(&mut self, depth: u32, labels: &mut Vec<(Label, bool)>) -> OpKind {
        let (table, index) = (self.table(), IndexId::PRIMARY);
        let mode = ReadMode::Plain;
        match self.n(if depth < 5 { 34 } else { 24 }) {
            1 => {
                let (strength, if_claimed) = (Strength::Update, IfClaimed::Skip);
                OpKind::Claim { table, row: self.row(), strength, if_claimed, granted: self.reg() }
            }
            0 => OpKind::Const { dst: self.reg(), value: Datum::Int(1) },
            2 | 25 => OpKind::Copy { dst: self.reg(), src: self.reg() },
            3 | 4 => {
                let func = if self.n(2) == 0 { Func::Int8Add } else { Func::IntGe };
                OpKind::Apply { dst: self.reg(), func, args: vec![self.reg(), self.reg()] }
            }
            5 | 6 => {
                let (key, row) = (vec![self.reg()], self.row());
                OpKind::Get { table, index, key, mode, row, columns: self.columns() }
            }
            7 => OpKind::Load { table, row: self.row(), columns: self.columns() },
            8 => {
                let row = if self.n(2) == 0 { None } else { Some(self.row()) };
                OpKind::Insert { table, values: vec![self.reg(), self.reg()], row }
            }
            9 => OpKind::Update { table, row: self.row(), set: self.columns() },
            10 => OpKind::Delete { table, row: self.row() },
            11 => OpKind::Push { coll: self.coll(), values: vec![self.reg()] },
            12 => match self.n(3) {
                0 => OpKind::Clear { coll: self.coll() },
                1 => OpKind::Sort { coll: self.coll(), keys: vec![] },
                _ => {
                    let (coll, limit) = (self.coll(), self.reg());
                    OpKind::Trim { coll, keys: vec![], limit, offset: None, ties: false }
                }
            },
            13 => OpKind::Len { dst: self.reg(), coll: self.coll() },
            14 => {
                let (keys, values) = (vec![self.reg()], vec![self.reg()]);
                OpKind::MapGet { coll: self.coll(), keys, found: self.reg(), values }
            }
            15 => OpKind::MapPut { coll: self.coll(), keys: vec![self.reg()], values: vec![self.reg()] },
            16 => OpKind::SetEntry { coll: self.coll(), entry: self.reg(), column: 0, value: self.reg() },
            17 => OpKind::ArraySet { array: self.reg(), index: self.reg(), value: self.reg() },
            18 => OpKind::Draw { dst: self.reg(), input: Draw::Random },
            19 => {
                let (procedure, args) = (ProcedureId(0), vec![self.reg()]);
                match self.n(3) {
                    0 => OpKind::CallSet { procedure, args, into: self.coll() },
                    1 => {
                        let rows = Some(self.coll());
                        let (text, row_count) = (self.reg(), self.reg());
                        OpKind::Execute { text, args, rows, row_count, run: planaria_ir::Run::default() }
                    }
                    _ => OpKind::Call { procedure, args, outs: vec![self.reg()] },
                }
            }
            20..=22 => {
                let kind = self.jump(labels);
                self.guard(kind)
            }
            23 => {
                let kind = self.raise();
                self.guard(kind)
            }
            24 | 26 => OpKind::If {
                cond: self.reg(),
                then: self.block(depth + 1, labels),
                otherwise: self.block(depth + 1, labels),
            },
            27 | 28 if self.tries => {
                let body = self.block(depth + 1, labels);
                let handlers = (0..1 + self.n(2)).map(|_| self.handler(depth, labels)).collect();
                OpKind::Try { body, handlers }
            }
            what => {
                let label = Label(self.labels as _);
                self.labels += 1;
                labels.push((label, what != 29));
                let body = self.block(depth + 1, labels);
                labels.pop();
                match what {
                    29 => OpKind::Block { label, body },
                    30 => {
                        let range = Range { prefix: vec![self.reg()], ..Range::default() };
                        let (row, columns) = (self.row(), self.columns());
                        let descending = false;
                        OpKind::Scan { table, index, range, descending, mode, row, columns, label, body }
                    }
                    31 => OpKind::ForEach {
                        coll: self.coll(),
                        columns: vec![self.reg()],
                        entry: None,
                        label,
                        body,
                    },
                    32 => {
                        let (keys, values) = (vec![self.reg()], vec![self.reg()]);
                        let entry = Some(self.reg());
                        OpKind::ForMatches { coll: self.coll(), keys, values, entry, label, body }
                    }
                    _ => OpKind::Loop { label, body },
                }
            }
        }
    }
}

/// Every edge that runs show is in the graph. `PROGRAMS` says how many programs are tried.
#[test]
fn every_dependency_that_runs_show_is_an_edge() {
    let programs = std::env::var("PROGRAMS").ok().and_then(|n| n.parse().ok()).unwrap_or(1000);
    let (mut shown, mut all, mut missed) = ([0; 4], [0; 4], Vec::new());
    for seed in 0..programs {
        let program = Gen::program(seed);
        let mut flat = crate::committed(&program);
        flat.renumber();
        for program in [flat, program] {
            let graph: BTreeSet<Edge> = DependencyGraph::of(&program).edges.into_iter().collect();
            let found = edges(&program, 8);
            graph.iter().for_each(|edge| all[edge.kind as usize] += 1);
            found.iter().for_each(|edge| shown[edge.kind as usize] += 1);
            let less: Vec<Edge> = found.difference(&graph).copied().collect();
            if !less.is_empty() {
                missed.push((program, less));
            }
        }
    }
    println!("{programs} programs; key, value, control and data edges: {shown:?} of {all:?} are shown");
    missed.sort_by_key(|(program, _)| program.to_string().len());
    if let Some((program, less)) = missed.first() {
        panic!("{} programs miss some; of this: {less:?}\n{program}", missed.len());
    }
    assert!(shown.iter().all(|kind| *kind > programs / 4), "the programs show what there is: {shown:?}");
}
