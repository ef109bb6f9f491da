//! The text form against itself: printing then parsing gives the same program, for any program.

use super::parse;
use crate::{
    Block, Bound, Catch, Coll, CollDecl, CollKind, Diagnostic, Draw, ErrorFields, Func, Handler, IfClaimed,
    Inlined, Label, Op, OpId, OpKind, Output, Param, ParamMode, Program, ProgramKind, Question, Range,
    ReadMode, Reg, RegKind, Run, SortKey, StateSource, Step,
};
use planaria_base::shape::{Dimension, Shape};
use planaria_base::{
    ColumnId, Datum, IndexId, Level, Numeric, ProcedureId, RoleId, SequenceId, SqlState, Strength, SystemId,
    TableId, Type,
};
use proptest::prelude::*;

const TRANSFER: &str = "\
procedure transfer
  reg source: int8
  reg amount: numeric(12, 2)
  reg r2: row t0
  reg r3 'Odd name': text
  reg found: bool
  reg n.5: int4
  reg n.6: int4
  coll x0: list (int8, row t0)
  coll x1: map (text) -> (int8)
  param in source: int8 = source
  param inout 'Amount': numeric(12, 2) = amount
  output amount: numeric(12, 2)
  outs (amount)
  labels 2
begin
  get t0.i0 (source) -> r2, c1 = amount @ 17
  found = is.notnull(r2)
  if found @ 20 {
    n.5 = const -5
    r3 = const 'it''s'
  } else {
    try {
      raise exception 'P0001' r3, hint = r3, constraint = 'k' @ 9
    } handle others, '23505' -> (r3, r3) {
      raise exception * r3
    }
  }
  scan t0.i1 (n.5) >= n.6 < n.6 desc -> r2, c0 = source as l0 @ 3 {
    continue l0
  }
  foreach x0 -> (source, r2) entry source as l1 {
    setentry x0 (source, 0) = source
    exit l1
  }
  return
end
";

#[test]
fn a_program_reads_as_it_prints() {
    let program = parse(TRANSFER).unwrap();
    assert_eq!(program.to_string(), TRANSFER);
}

#[test]
fn errors_have_their_place() {
    let error = parse("procedure p\nbegin\n  frobnicate\nend\n").unwrap_err();
    assert_eq!(error.message(), "IR text: frobnicate is no operation");
    assert_eq!(error.fields().position, Some(20));
}

/// A source of choices: xorshift64*, so that proptest shrinks one seed.
struct Choice(u64);

impl Choice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % n.max(1)
    }
    fn mode(&mut self) -> ReadMode {
        [ReadMode::Plain, ReadMode::Lenient, ReadMode::Check, ReadMode::Parent][self.below(4)]
    }
    fn coin(&mut self) -> bool {
        self.below(2) == 0
    }
    fn maybe<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> Option<T> {
        self.coin().then(|| f(self))
    }
    fn some<T>(&mut self, mut f: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(4)).map(|_| f(self)).collect()
    }
    fn id(&mut self) -> u32 {
        self.below(5) as u32
    }
    fn reg(&mut self) -> Reg {
        Reg(self.below(8) as u32)
    }
    fn text(&mut self) -> String {
        const WORDS: &[&str] =
            &["balance", "x", "r3", "Größe", "it's", "a b", "", "begin", "end", "c1", "_9", "n\n;", "row"];
        WORDS[self.below(WORDS.len())].to_owned()
    }
    fn ty(&mut self) -> Type {
        match self.below(10) {
            0 => Type::Bool,
            1 => Type::Int2,
            2 => Type::Int8,
            3 => Type::Numeric(self.maybe(|c| (c.below(38) as u16, c.below(9) as i16))),
            4 => Type::Varchar(self.maybe(|c| c.id())),
            5 => Type::Char(self.id()),
            6 => Type::Array(Box::new(self.ty())),
            7 => Type::TimestampTz,
            8 => Type::Unknown,
            _ => Type::Text,
        }
    }
    fn kind(&mut self) -> RegKind {
        if self.below(5) == 0 { RegKind::Row(TableId(self.id())) } else { RegKind::Value(self.ty()) }
    }
    fn datum(&mut self) -> Datum {
        match self.below(10) {
            0 => Datum::Null,
            1 => Datum::Bool(self.coin()),
            2 => Datum::Int([i64::MIN, -1, 0, 7, i64::MAX][self.below(5)]),
            3 => Datum::Float([0.1, -1e300, f64::INFINITY, 5e-324][self.below(4)]),
            4 => {
                let mantissa = [-1, 0, 5, 123_456_789, -(1 << 100)][self.below(5)];
                Datum::Numeric(Numeric::from_parts(mantissa, self.below(12) as u8).unwrap())
            }
            5 => Datum::Text(self.text()),
            6 => Datum::Bytea(self.some(|c| c.below(256) as u8)),
            7 => Datum::Uuid(std::array::from_fn(|_| self.below(256) as u8)),
            8 => {
                let dimensions = [Dimension { lower: -1, len: 2 }, Dimension { lower: 1, len: 2 }];
                let shape = Shape::new(&dimensions).unwrap();
                Datum::array(shape, (0..4).map(|_| self.datum()).collect())
            }
            _ => Datum::Array(self.some(Self::datum)),
        }
    }
    fn columns(&mut self) -> Vec<(ColumnId, Reg)> {
        self.some(|c| (ColumnId(c.id()), c.reg()))
    }
    fn state(&mut self) -> SqlState {
        [SqlState::UNIQUE_VIOLATION, SqlState::RAISE_EXCEPTION][self.below(2)]
    }

    fn block(&mut self, depth: usize) -> Block {
        Block(self.some(|c| Op { id: OpId(0), position: c.id() * 100, kind: c.op(depth) }))
    }
    fn op(&mut self, depth: usize) -> OpKind {
        let (table, index, coll) = (TableId(self.id()), IndexId(self.id() as u16), Coll(self.id()));
        let (dst, label) = (self.reg(), Label(self.id()));
        match self.below(if depth > 0 { 42 } else { 35 }) {
            0 | 1 => OpKind::Const { dst, value: self.datum() },
            2 => OpKind::Copy { dst, src: self.reg() },
            3 | 4 => OpKind::Apply {
                dst,
                func: Func::ALL[self.below(Func::ALL.len())],
                args: self.some(Self::reg),
            },
            5 => OpKind::Cast { dst, src: self.reg(), explicit: self.coin() },
            6 => {
                let (now, clock) = (Draw::TransactionTimestamp, Draw::ClockTimestamp);
                let users =
                    [Draw::CurrentUser, Draw::SessionUser, Draw::CurrentDatabase, Draw::Permitted(self.id())];
                let inputs = [
                    now,
                    clock,
                    Draw::Random,
                    Draw::Uuid,
                    Draw::TransactionId,
                    Draw::LastValue,
                    Draw::Kept,
                    Draw::Setting,
                ];
                let security = [
                    Draw::RowSecurity(TableId(self.id())),
                    Draw::ActsAs(RoleId(self.id())),
                    Draw::RowSecurityOff,
                ];
                let inputs = [&inputs[..], &users[..], &security[..]].concat();
                OpKind::Draw { dst, input: inputs[self.below(inputs.len())] }
            }
            7 => OpKind::NextValue { dst, sequence: SequenceId(self.id()) },
            8 => OpKind::CurrentValue { dst, sequence: SequenceId(self.id()) },
            9 => {
                OpKind::SetValue { sequence: SequenceId(self.id()), value: self.reg(), is_called: self.reg() }
            }
            10 => OpKind::ArraySet { array: dst, index: self.reg(), value: self.reg() },
            11 => OpKind::Exit { label },
            12 => OpKind::Continue { label },
            13 => OpKind::Return,
            14 | 15 => {
                let levels = [Level::Debug, Level::Notice, Level::Warning, Level::Exception];
                let state = match self.below(3) {
                    0 => StateSource::Known(self.state()),
                    1 => StateSource::Computed(self.reg()),
                    _ => StateSource::Current,
                };
                let fields = ErrorFields {
                    detail: self.maybe(Self::reg),
                    hint: self.maybe(Self::reg),
                    constraint: self.maybe(Self::text),
                    table: self.maybe(Self::text),
                    column: self.maybe(Self::text),
                    schema: self.maybe(Self::text),
                    datatype: self.maybe(Self::text),
                    computed: self.some(|s| (Diagnostic::NAMES[s.below(5)], s.reg())),
                    found: self.below(2) == 0,
                };
                OpKind::Raise { level: levels[self.below(4)], state, message: self.reg(), fields }
            }
            16 => OpKind::Call {
                procedure: ProcedureId(self.id()),
                args: self.some(Self::reg),
                outs: self.some(Self::reg),
            },
            17 => {
                OpKind::CallSet { procedure: ProcedureId(self.id()), args: self.some(Self::reg), into: coll }
            }
            18 => OpKind::Execute {
                run: match self.below(7) {
                    0 => Run::Open {
                        name: self.reg(),
                        columns: self.maybe(|c| c.some(Self::text)),
                        forward_only: self.coin(),
                    },
                    1 => Run::Fetch(Step::ALL[self.below(Step::ALL.len())].0),
                    2 => Run::Close,
                    3 => Run::Constraints,
                    4 => Run::Steps(ProcedureId(self.id())),
                    5 => Run::Among(self.some(Self::text)),
                    _ => Run::Statement,
                },
                text: self.reg(),
                args: self.some(Self::reg),
                rows: self.maybe(|c| Coll(c.id())),
                row_count: dst,
            },
            19 if self.coin() => OpKind::Ask {
                dst,
                question: Question::ALL[self.below(Question::ALL.len())],
                args: self.some(Self::reg),
            },
            19 if self.coin() => {
                let columns = self.some(|c| ColumnId(c.id()));
                OpKind::SystemRows { relation: SystemId(self.id()), columns, into: coll }
            }
            19 if self.coin() => OpKind::EndTransaction { commit: self.coin() },
            19 if self.coin() => OpKind::Notify { channel: self.reg(), payload: self.reg() },
            19 if self.coin() => {
                let row = |c: &mut Self| c.some(Self::datum);
                OpKind::Fill { coll, rows: (0..self.below(4)).map(|_| row(self)).collect() }
            }
            19 => OpKind::Emit { values: self.some(Self::reg) },
            20 | 21 => {
                let (key, mode, columns) = (self.some(Self::reg), self.mode(), self.columns());
                OpKind::Get { table, index, key, mode, row: dst, columns }
            }
            22 => OpKind::Load { table, row: dst, columns: self.columns() },
            23 => OpKind::Insert { table, values: self.some(Self::reg), row: self.maybe(Self::reg) },
            24 => OpKind::Update { table, row: dst, set: self.columns() },
            25 if self.coin() => {
                let ways = [IfClaimed::Wait, IfClaimed::Refuse, IfClaimed::Skip];
                let (strength, if_claimed) = (Strength::ALL[self.below(4)], ways[self.below(3)]);
                OpKind::Claim { table, row: dst, strength, if_claimed, granted: self.reg() }
            }
            25 => OpKind::Delete { table, row: dst },
            26 => OpKind::Clear { coll },
            27 => OpKind::Push { coll, values: self.some(Self::reg) },
            28 => OpKind::Len { dst, coll },
            29 => {
                let keys =
                    self.some(|c| SortKey { column: c.id(), descending: c.coin(), nulls_first: c.coin() });
                OpKind::Sort { coll, keys }
            }
            30 if self.coin() => {
                let keys =
                    self.some(|c| SortKey { column: c.id(), descending: c.coin(), nulls_first: c.coin() });
                let (limit, offset) = (self.reg(), self.maybe(Self::reg));
                OpKind::Trim { coll, keys, limit, offset, ties: self.coin() }
            }
            30 => {
                let (keys, values) = (self.some(Self::reg), self.some(Self::reg));
                OpKind::MapGet { coll, keys, found: dst, values }
            }
            31 => OpKind::MapPut { coll, keys: self.some(Self::reg), values: self.some(Self::reg) },
            32 => OpKind::SetEntry { coll, entry: dst, column: self.id(), value: self.reg() },
            33 => OpKind::Keep { values: (0..=self.below(3)).map(|_| self.reg()).collect() },
            34 => OpKind::Piece { piece: self.id(), args: self.some(Self::reg) },
            35 => {
                let (then, otherwise) = (self.block(depth - 1), self.block(depth - 1));
                OpKind::If { cond: dst, then, otherwise }
            }
            36 => OpKind::Loop { label, body: self.block(depth - 1) },
            37 => OpKind::Block { label, body: self.block(depth - 1) },
            38 => {
                let body = self.block(depth - 1);
                let handlers = self.some(|c| Handler {
                    catches: vec![
                        if c.coin() { Catch::Others } else { Catch::State(c.state()) },
                        Catch::Others,
                    ],
                    sqlstate: c.reg(),
                    sqlerrm: c.reg(),
                    diagnostics: c.some(|c| (Diagnostic::ALL[c.below(8)].0, c.reg())),
                    body: c.block(depth - 1),
                });
                OpKind::Try { body, handlers }
            }
            39 => {
                let bound = |c: &mut Self| Bound { reg: c.reg(), inclusive: c.coin() };
                let range = Range {
                    prefix: self.some(Self::reg),
                    lower: self.maybe(bound),
                    upper: self.maybe(bound),
                };
                let (descending, mode) = (self.coin(), self.mode());
                let (columns, body) = (self.columns(), self.block(depth - 1));
                OpKind::Scan { table, index, range, descending, mode, row: dst, columns, label, body }
            }
            40 => {
                let (columns, entry) = (self.some(Self::reg), self.maybe(Self::reg));
                OpKind::ForEach { coll, columns, entry, label, body: self.block(depth - 1) }
            }
            _ => {
                let (keys, values) = (self.some(Self::reg), self.some(Self::reg));
                let entry = self.maybe(Self::reg);
                OpKind::ForMatches { coll, keys, values, entry, label, body: self.block(depth - 1) }
            }
        }
    }

    fn program(&mut self) -> Program {
        let kinds =
            [ProgramKind::Procedure, ProgramKind::Function, ProgramKind::SetFunction, ProgramKind::Statement];
        let mut p = Program::new(self.text(), kinds[self.below(4)]);
        for _ in 0..8 {
            let (kind, name) = (self.kind(), self.maybe(Self::text));
            p.reg(kind, name);
        }
        for _ in 0..self.below(3) {
            let kind = [CollKind::List, CollKind::Map, CollKind::MultiMap][self.below(3)];
            let keys = if kind == CollKind::List { Vec::new() } else { self.some(Self::kind) };
            let values = self.some(Self::kind);
            p.coll(CollDecl { kind, keys, values });
        }
        p.params = self.some(|c| Param {
            name: c.text(),
            ty: c.ty(),
            mode: [ParamMode::In, ParamMode::Out, ParamMode::InOut][c.below(3)],
            reg: c.reg(),
        });
        p.outputs = self.some(|c| Output { name: c.text(), ty: c.ty() });
        p.outs = self.some(Self::reg);
        p.row_count = self.maybe(Self::reg);
        p.labels = self.id();
        for _ in 0..self.below(3) {
            let inlined = Inlined { procedure: ProcedureId(self.id()), set: self.coin() };
            p.inlined.insert(Label(self.id()), inlined);
        }
        p.body = self.block(3);
        p.renumber();
        p
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn programs_round_trip(seed in 1u64..) {
        let program = Choice(seed).program();
        let text = program.to_string();
        let back = parse(&text);
        prop_assert!(back.is_ok(), "{:?}\n{text}", back);
        prop_assert_eq!(back.unwrap(), program, "{}", text);
    }

    #[test]
    fn no_text_panics(text in "[ -~\n]{0,60}") {
        let _ = parse(&format!("procedure p\n reg a: int8\nbegin\n{text}\nend"));
    }
}
