//! Random programs against a reference: a plain walk over the tree of operations. What the compiler does
//! (constants folded and moved, copies forwarded, jumps fused, arrays changed in place) must not show.

use crate::common;
use crate::generator;

use common::{Db, Schema};
use generator::{Generator, op};
use planaria_base::shape::{Dimension, Shape};
use planaria_base::{Datum, Error, Result, SqlState};
use planaria_exec::functions;
use planaria_ir::{Block, Catch, Handler, Label, OpKind, Program, Reg, StateSource};
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
                let (mut lower, mut items) = match self.get(*array) {
                    Datum::Array(items) => (1, items),
                    Datum::Shaped(of) => (i64::from(of.shape().dimensions()[0].lower), of.into_elements()),
                    _ => (1, Vec::new()),
                };
                if items.is_empty() {
                    lower = at;
                }
                while at < lower {
                    items.insert(0, Datum::Null);
                    lower -= 1;
                }
                let place = (at - lower) as usize;
                if items.len() <= place {
                    items.resize(place + 1, Datum::Null);
                }
                items[place] = self.get(*value);
                let dimension = Dimension { lower: lower as i32, len: items.len() as u32 };
                self.regs[array.index()] = Datum::array(Shape::new(&[dimension])?, items);
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
            let handler = Handler {
                catches: vec![Catch::Others],
                sqlstate,
                sqlerrm,
                diagnostics: Vec::new(),
                body: Block::default(),
            };
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
