//! Random programs against a reference: a plain walk over the tree of operations. What the compiler does
//! (constants folded and moved, copies forwarded, jumps fused, arrays changed in place) must not show.

mod common;

use common::{Db, Schema};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_exec::functions;
use planaria_ir::{
    Block, Catch, Coll, CollDecl, CollKind, ErrorFields, Func, Handler, Label, Level, Op, OpId, OpKind,
    Output, Program, ProgramKind, Reg, RegKind, StateSource,
};
use planaria_protocol::Serial;

// ---- the reference ----

enum Flow {
    Next,
    Exit(Label),
    Continue(Label),
    Return,
}

struct Reference<'p> {
    program: &'p Program,
    regs: Vec<Datum>,
    lists: Vec<Vec<Vec<Datum>>>,
    rows: Vec<Vec<Datum>>,
    handling: Vec<Error>,
    /// Texts grow out of hand: the program is not worth running.
    giant: bool,
}

const TEXT_BYTES_MAX: usize = 10_000;

impl Reference<'_> {
    fn get(&self, r: Reg) -> Datum {
        self.regs[r.index()].clone()
    }

    fn block(&mut self, block: &Block) -> Result<Flow> {
        for op in &block.0 {
            match self.op(&op.kind)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn op(&mut self, kind: &OpKind) -> Result<Flow> {
        match kind {
            OpKind::Const { dst, value } => self.regs[dst.index()] = value.clone(),
            OpKind::Copy { dst, src } => self.regs[dst.index()] = self.get(*src),
            OpKind::Apply { dst, func, args } => {
                let args: Vec<Datum> = args.iter().map(|a| self.get(*a)).collect();
                let value = functions::fold(*func, &args)?;
                if matches!(&value, Datum::Text(t) if t.len() > TEXT_BYTES_MAX) {
                    self.giant = true;
                    return Ok(Flow::Return);
                }
                self.regs[dst.index()] = value;
            }
            OpKind::Cast { dst, src, explicit } => {
                let (from, to) = (self.program.type_of(*src).unwrap(), self.program.type_of(*dst).unwrap());
                self.regs[dst.index()] = functions::fold_cast(&self.get(*src), from, to, *explicit)?;
            }
            OpKind::ArraySet { array, index, value } => {
                let Datum::Int(at) = self.get(*index) else {
                    return Err(Error::new(
                        SqlState::NULL_VALUE_NOT_ALLOWED,
                        "array subscript in assignment must not be null",
                    ));
                };
                let mut items = match self.get(*array) {
                    Datum::Array(items) => items,
                    _ => Vec::new(),
                };
                if at < 1 {
                    return Err(Error::new(
                        SqlState::FEATURE_NOT_SUPPORTED,
                        format!("assignment to array element {at}"),
                    ));
                }
                if items.len() < at as usize {
                    items.resize(at as usize, Datum::Null);
                }
                items[at as usize - 1] = self.get(*value);
                self.regs[array.index()] = Datum::Array(items);
            }
            OpKind::If { cond, then, otherwise } => {
                let holds = self.get(*cond) == Datum::Bool(true);
                return self.block(if holds { then } else { otherwise });
            }
            OpKind::Loop { label, body } => loop {
                match self.block(body)? {
                    Flow::Exit(l) if l == *label => break,
                    Flow::Continue(l) if l == *label => {}
                    Flow::Next => {}
                    other => return Ok(other),
                }
            },
            OpKind::Block { label, body } => match self.block(body)? {
                Flow::Exit(l) if l == *label => {}
                other => return Ok(other),
            },
            OpKind::Exit { label } => return Ok(Flow::Exit(*label)),
            OpKind::Continue { label } => return Ok(Flow::Continue(*label)),
            OpKind::Return => return Ok(Flow::Return),
            OpKind::Try { body, handlers } => {
                let depth = self.handling.len();
                match self.block(body) {
                    Ok(flow) => return Ok(flow),
                    Err(e) => {
                        self.handling.truncate(depth);
                        let state = e.sqlstate();
                        let catches = |c: &Catch| match c {
                            Catch::Others => state != SqlState::QUERY_CANCELED,
                            Catch::State(s) => {
                                *s == state || (s.0.ends_with(b"000") && s.class() == state.class())
                            }
                        };
                        let Some(h) = handlers.iter().find(|h| h.catches.iter().any(catches)) else {
                            return Err(e);
                        };
                        self.regs[h.sqlstate.index()] = Datum::Text(state.to_string());
                        self.regs[h.sqlerrm.index()] = Datum::Text(e.message().to_owned());
                        self.handling.push(e);
                        let flow = self.block(&h.body)?;
                        self.handling.pop();
                        return Ok(flow);
                    }
                }
            }
            OpKind::Raise { state, message, .. } => {
                return Err(match (state, self.get(*message)) {
                    (StateSource::Current, _) => self.handling.last().unwrap().clone(),
                    (StateSource::Known(s), Datum::Text(m)) => Error::new(*s, m),
                    (StateSource::Known(_), _) => {
                        Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "RAISE statement option cannot be null")
                    }
                    (StateSource::Computed(_), _) => unreachable!(),
                });
            }
            OpKind::Emit { values } => {
                let row = values.iter().map(|r| self.get(*r)).collect();
                self.rows.push(row);
            }
            OpKind::Push { coll, values } => {
                let row = values.iter().map(|r| self.get(*r)).collect();
                self.lists[coll.index()].push(row);
            }
            OpKind::Clear { coll } => self.lists[coll.index()].clear(),
            OpKind::Len { dst, coll } => {
                self.regs[dst.index()] = Datum::Int(self.lists[coll.index()].len() as i64);
            }
            OpKind::ForEach { coll, columns, entry, label, body } => {
                for (at, row) in self.lists[coll.index()].clone().into_iter().enumerate() {
                    for (r, v) in columns.iter().zip(row) {
                        self.regs[r.index()] = v;
                    }
                    if let Some(r) = entry {
                        self.regs[r.index()] = Datum::Int(at as i64);
                    }
                    match self.block(body)? {
                        Flow::Exit(l) if l == *label => break,
                        Flow::Continue(l) if l == *label => {}
                        Flow::Next => {}
                        other => return Ok(other),
                    }
                }
            }
            other => unreachable!("{other:?}"),
        }
        Ok(Flow::Next)
    }
}

// ---- the programs ----

struct Choice(u64);

impl Choice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % n
    }
    fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

struct Generator {
    choice: Choice,
    program: Program,
    ints: Vec<Reg>,
    texts: Vec<Reg>,
    bools: Vec<Reg>,
    arrays: Vec<Reg>,
    /// Labels around, with whether `Continue` may name them.
    labels: Vec<(Label, bool)>,
    handlers: usize,
    iterating: bool,
    size: usize,
}

fn op(kind: OpKind) -> Op {
    Op { id: OpId(0), position: 0, kind }
}

impl Generator {
    fn new(seed: u64) -> Generator {
        let mut program = Program::new("random", ProgramKind::Statement);
        let mut variables = |prefix: &str, ty: Type, n: usize| -> Vec<Reg> {
            (0..n).map(|i| program.reg(RegKind::Value(ty.clone()), Some(format!("{prefix}_{i}")))).collect()
        };
        let ints = variables("i", Type::Int8, 5);
        let texts = variables("t", Type::Text, 4);
        let bools = variables("b", Type::Bool, 3);
        let arrays = variables("a", Type::Array(Box::new(Type::Int8)), 3);
        let row = vec![RegKind::Value(Type::Int8), RegKind::Value(Type::Array(Box::new(Type::Int8)))];
        program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values: row });
        program.outputs = vec![
            Output { name: "i".into(), ty: Type::Int8 },
            Output { name: "t".into(), ty: Type::Text },
            Output { name: "a".into(), ty: Type::Array(Box::new(Type::Int8)) },
        ];
        Generator {
            choice: Choice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            program,
            ints,
            texts,
            bools,
            arrays,
            labels: Vec::new(),
            handlers: 0,
            iterating: false,
            size: 0,
        }
    }

    fn int(&mut self, ops: &mut Vec<Op>) -> Reg {
        if self.choice.below(3) > 0 {
            return self.choice.of(&self.ints);
        }
        let dst = self.program.value(Type::Int8);
        let value = Datum::Int(self.choice.of(&[0, 1, 2, 3, 7, -1, i64::MAX]));
        ops.push(op(OpKind::Const { dst, value }));
        dst
    }
    fn text(&mut self, ops: &mut Vec<Op>) -> Reg {
        if self.choice.below(2) > 0 {
            return self.choice.of(&self.texts);
        }
        let dst = self.program.value(Type::Text);
        let value = Datum::Text(self.choice.of(&["", "x", "boom", "a longer text than others"]).to_owned());
        ops.push(op(OpKind::Const { dst, value }));
        dst
    }
    /// A variable to assign to, or by way of a temporary that is copied.
    fn assign(&mut self, ops: &mut Vec<Op>, variable: Reg, make: impl FnOnce(Reg) -> OpKind) {
        if self.choice.below(2) == 0 {
            ops.push(op(make(variable)));
        } else {
            let ty = self.program.type_of(variable).unwrap().clone();
            let temp = self.program.value(ty);
            ops.push(op(make(temp)));
            ops.push(op(OpKind::Copy { dst: variable, src: temp }));
        }
    }
    fn condition(&mut self, ops: &mut Vec<Op>) -> Reg {
        let (a, b) = (self.int(ops), self.int(ops));
        let (s, t) = (self.text(ops), self.text(ops));
        let (func, args) = match self.choice.below(6) {
            0 => (Func::IntLt, vec![a, b]),
            1 => (Func::IntNe, vec![a, b]),
            2 => (Func::IsNull, vec![s]),
            3 => (Func::TextLe, vec![s, t]),
            4 => (Func::AnyNull, vec![a, s, t]),
            _ => return self.choice.of(&self.bools),
        };
        let dst = self.program.value(Type::Bool);
        ops.push(op(OpKind::Apply { dst, func, args }));
        match self.choice.below(4) {
            0 => {
                let not = self.program.value(Type::Bool);
                ops.push(op(OpKind::Apply { dst: not, func: Func::Not, args: vec![dst] }));
                not
            }
            1 => {
                let (other, both) = (self.choice.of(&self.bools), self.program.value(Type::Bool));
                let func = self.choice.of(&[Func::And, Func::Or]);
                ops.push(op(OpKind::Apply { dst: both, func, args: vec![other, dst] }));
                both
            }
            _ => dst,
        }
    }

    fn block(&mut self, depth: usize) -> Block {
        let mut ops = Vec::new();
        for _ in 0..1 + self.choice.below(5) {
            if self.size < 120 {
                self.size += 1;
                self.statement(&mut ops, depth);
            }
        }
        Block(ops)
    }

    fn statement(&mut self, ops: &mut Vec<Op>, depth: usize) {
        let i = self.choice.of(&self.ints);
        let t = self.choice.of(&self.texts);
        let a = self.choice.of(&self.arrays);
        match self.choice.below(if depth == 0 { 13 } else { 21 }) {
            0 | 1 => {
                let (x, y) = (self.int(ops), self.int(ops));
                let func = self.choice.of(&[Func::Int8Add, Func::Int8Sub, Func::IntMod, Func::IntXor]);
                self.assign(ops, i, |dst| OpKind::Apply { dst, func, args: vec![x, y] });
            }
            2 => {
                let (s, u) = (self.text(ops), self.text(ops));
                self.assign(ops, t, |dst| OpKind::Apply { dst, func: Func::TextConcat, args: vec![s, u] });
            }
            3 => {
                let x = self.int(ops);
                self.assign(ops, t, |dst| OpKind::Cast { dst, src: x, explicit: true });
            }
            4 => {
                let value = Datum::Int(self.choice.of(&[0, 1, 5]));
                self.assign(ops, i, |dst| OpKind::Const { dst, value });
            }
            5 => {
                let value = Datum::Text(self.choice.of(&["", "constant"]).to_owned());
                self.assign(ops, t, |dst| OpKind::Const { dst, value });
            }
            6 => {
                let (array, index, value) = (a, self.int(ops), self.int(ops));
                // A subscript that is too large makes a large array: keep it small.
                let small = self.program.value(Type::Int8);
                let seven = self.program.value(Type::Int8);
                ops.push(op(OpKind::Const { dst: seven, value: Datum::Int(7) }));
                ops.push(op(OpKind::Apply { dst: small, func: Func::IntMod, args: vec![index, seven] }));
                ops.push(op(OpKind::ArraySet { array, index: small, value }));
            }
            7 => {
                let (from, x) = (self.choice.of(&self.arrays), self.int(ops));
                let func = self.choice.of(&[Func::ArrayAppend, Func::ArrayRemove]);
                self.assign(ops, a, |dst| OpKind::Apply { dst, func, args: vec![from, x] });
            }
            8 => {
                let src = self.choice.of(&self.arrays);
                self.assign(ops, a, |dst| OpKind::Copy { dst, src });
            }
            9 => {
                let x = self.int(ops);
                self.assign(ops, i, |dst| OpKind::Apply { dst, func: Func::ArrayGet, args: vec![a, x] });
            }
            10 => {
                let c = self.condition(ops);
                let b = self.choice.of(&self.bools);
                ops.push(op(OpKind::Copy { dst: b, src: c }));
            }
            11 => ops.push(op(OpKind::Emit { values: vec![i, t, a] })),
            12 => {
                let coll = Coll(0);
                let x = self.int(ops);
                if !self.iterating {
                    ops.push(op(OpKind::Push { coll, values: vec![x, a] }));
                }
                self.assign(ops, i, |dst| OpKind::Len { dst, coll });
            }
            13 | 14 => {
                let cond = self.condition(ops);
                let then = self.block(depth - 1);
                let otherwise =
                    if self.choice.below(2) == 0 { self.block(depth - 1) } else { Block::default() };
                ops.push(op(OpKind::If { cond, then, otherwise }));
            }
            15 => {
                // At most four turns: the counter is nobody else's.
                let n = self.program.regs.len();
                let counter = self.program.reg(RegKind::Value(Type::Int8), Some(format!("n_{n}")));
                let [zero, one, four] = [0, 1, 4].map(|n| {
                    let dst = self.program.value(Type::Int8);
                    ops.push(op(OpKind::Const { dst, value: Datum::Int(n) }));
                    dst
                });
                let label = self.program.label();
                ops.push(op(OpKind::Copy { dst: counter, src: zero }));
                self.labels.push((label, true));
                let done = self.program.value(Type::Bool);
                let mut body = vec![
                    op(OpKind::Apply { dst: done, func: Func::IntGe, args: vec![counter, four] }),
                    op(OpKind::If {
                        cond: done,
                        then: Block(vec![op(OpKind::Exit { label })]),
                        otherwise: Block::default(),
                    }),
                    op(OpKind::Apply { dst: counter, func: Func::Int8Add, args: vec![counter, one] }),
                ];
                body.extend(self.block(depth - 1).0);
                self.labels.pop();
                ops.push(op(OpKind::Loop { label, body: Block(body) }));
            }
            16 => {
                let label = self.program.label();
                self.labels.push((label, false));
                let body = self.block(depth - 1);
                self.labels.pop();
                ops.push(op(OpKind::Block { label, body }));
            }
            17 => {
                let body = self.block(depth - 1);
                let (sqlstate, sqlerrm) = (self.choice.of(&self.texts), self.choice.of(&self.texts));
                let catch = self.choice.of(&[
                    Catch::Others,
                    Catch::State(SqlState::DIVISION_BY_ZERO),
                    Catch::State(SqlState::DATA_EXCEPTION),
                ]);
                self.handlers += 1;
                let handler =
                    Handler { catches: vec![catch], sqlstate, sqlerrm, body: self.block(depth - 1) };
                self.handlers -= 1;
                ops.push(op(OpKind::Try { body, handlers: vec![handler] }));
            }
            18 if !self.iterating => {
                let label = self.program.label();
                self.labels.push((label, true));
                self.iterating = true;
                let body = self.block(depth - 1);
                self.iterating = false;
                self.labels.pop();
                let entry = (self.choice.below(2) == 0).then_some(i);
                let columns = vec![self.choice.of(&self.ints), a];
                ops.push(op(OpKind::ForEach { coll: Coll(0), columns, entry, label, body }));
            }
            19 if !self.labels.is_empty() => {
                let cond = self.condition(ops);
                let (label, repeats) = self.choice.of(&self.labels);
                let leave = if repeats && self.choice.below(2) == 0 {
                    OpKind::Continue { label }
                } else {
                    OpKind::Exit { label }
                };
                let then = Block(vec![op(leave)]);
                ops.push(op(OpKind::If { cond, then, otherwise: Block::default() }));
            }
            _ => {
                let cond = self.condition(ops);
                let mut then = Vec::new();
                let message = self.text(&mut then);
                let state = if self.handlers > 0 && self.choice.below(3) == 0 {
                    StateSource::Current
                } else {
                    StateSource::Known(SqlState::RAISE_EXCEPTION)
                };
                then.push(op(match self.choice.below(5) {
                    0 => OpKind::Return,
                    _ => OpKind::Raise {
                        level: Level::Exception,
                        state,
                        message,
                        fields: ErrorFields::default(),
                    },
                }));
                ops.push(op(OpKind::If { cond, then: Block(then), otherwise: Block::default() }));
            }
        }
    }
}

#[test]
fn code_does_what_the_tree_says() {
    let mut db = Db::<Serial>::new(Schema::default());
    let (mut rows, mut errors) = (0, 0);
    for seed in 1..3_000 {
        let mut generator = Generator::new(seed);
        let mut body = generator.block(4);
        for _ in 0..3 {
            let part = generator.block(4);
            if generator.choice.below(4) == 0 {
                body.0.extend(part.0);
                continue;
            }
            // An error ends the part, not the program.
            let (sqlstate, sqlerrm) = (generator.texts[0], generator.texts[1]);
            let handler = Handler { catches: vec![Catch::Others], sqlstate, sqlerrm, body: Block::default() };
            body.0.push(op(OpKind::Try { body: part, handlers: vec![handler] }));
        }
        for at in 0..4 {
            let values =
                vec![generator.ints[at], generator.texts[at], generator.arrays[at % generator.arrays.len()]];
            if generator.choice.below(2) == 0 {
                body.0.push(op(OpKind::Emit { values }));
            }
        }
        let mut program = generator.program;
        program.body = body;
        program.renumber();

        let mut reference = Reference {
            program: &program,
            regs: vec![Datum::Null; program.regs.len()],
            lists: vec![Vec::new()],
            rows: Vec::new(),
            handling: Vec::new(),
            giant: false,
        };
        let wanted = reference.block(&program.body).err().map(|e| (e.sqlstate(), e.message().to_owned()));
        if reference.giant {
            continue;
        }
        let code = db.compile_program(&program);
        db.host.rows.clear();
        let got = db.run(&code, &[]).err().map(|e| (e.sqlstate(), e.message().to_owned()));
        let (got_state, wanted_state) = (got.as_ref().map(|e| e.0), wanted.as_ref().map(|e| e.0));
        let listing = code.listing();
        assert_eq!(db.host.rows, reference.rows, "seed {seed}\n{program}\n{listing}");
        assert_eq!(got_state, wanted_state, "seed {seed}: {got:?}\n{program}\n{listing}");
        rows += reference.rows.len();
        errors += usize::from(wanted.is_some());
    }
    // The programs are worth running.
    assert!(rows > 8_000 && errors > 400, "{rows} rows, {errors} errors");
}
