//! Random programs: everything but tables.
#![allow(dead_code)] // each test file uses what it needs

use planaria_base::{Datum, Level, ProcedureId, SqlState, Type};
use planaria_ir::{
    Block, Catch, Coll, CollDecl, CollKind, ErrorFields, Func, Handler, Label, Op, OpId, OpKind, Output,
    Program, ProgramKind, Reg, RegKind, StateSource,
};

pub struct Choice(u64);

impl Choice {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % n
    }
    pub fn of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

pub struct Generator {
    pub choice: Choice,
    pub program: Program,
    pub ints: Vec<Reg>,
    pub texts: Vec<Reg>,
    pub bools: Vec<Reg>,
    pub arrays: Vec<Reg>,
    /// Labels around, with whether `Continue` may name them.
    labels: Vec<(Label, bool)>,
    handlers: usize,
    iterating: bool,
    size: usize,
    /// Routines to call: the answer of each is an int, a text and an array, or rows of these.
    pub callees: Vec<(ProcedureId, bool)>,
    /// Where the rows of calls go.
    answers: Option<Coll>,
}

pub fn op(kind: OpKind) -> Op {
    Op { id: OpId(0), position: 0, kind }
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
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
            callees: Vec::new(),
            answers: None,
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

    pub fn block(&mut self, depth: usize) -> Block {
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
        if !self.callees.is_empty() && self.choice.below(6) == 0 {
            let args = vec![self.int(ops), self.text(ops), self.choice.of(&self.arrays)];
            return self.call(ops, args, [i, t, a]);
        }
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
                let handler = Handler {
                    catches: vec![catch],
                    sqlstate,
                    sqlerrm,
                    diagnostics: Vec::new(),
                    body: self.block(depth - 1),
                };
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

    fn call(&mut self, ops: &mut Vec<Op>, args: Vec<Reg>, outs: [Reg; 3]) {
        let (procedure, set) = self.choice.of(&self.callees);
        if !set {
            return ops.push(op(OpKind::Call { procedure, args, outs: outs.to_vec() }));
        }
        let into = *self.answers.get_or_insert_with(|| {
            let values =
                [Type::Int8, Type::Text, Type::Array(Box::new(Type::Int8))].map(RegKind::Value).to_vec();
            self.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values })
        });
        if self.choice.below(2) == 0 {
            ops.push(op(OpKind::Clear { coll: into }));
        }
        ops.push(op(OpKind::CallSet { procedure, args, into }));
        let label = self.program.label();
        let body = Block(vec![op(OpKind::Emit { values: outs.to_vec() })]);
        ops.push(op(OpKind::ForEach { coll: into, columns: outs.to_vec(), entry: None, label, body }));
    }
}
