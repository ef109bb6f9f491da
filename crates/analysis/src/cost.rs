//! What a call costs if it is logged as a call, and if it is logged by the rows it changes: the choice of
//! the log kind `adaptive`.
//!
//! Both costs are estimated from the program alone, when it is compiled, so the choice is fixed with the
//! catalog version like the plan is:
//!
//! ```text
//!  cost = bytes in the log * BYTE_NS + ns to replay        of one transaction
//! ```
//!
//! *Bytes.* A call has its arguments, what it draws and what it keeps; rows have their after-images, as
//! the log encodes them. Values are taken to be of [`value_bytes`].
//!
//! *Replay.* A call runs its operations again, each as often as it is estimated to run: of two branches
//! each half the time (one that is empty or only raises: never), a loop over constants as often as it says, a list as often as
//! there were rows put into it, a range of an index or any other loop [`TURNS`] times, a whole table
//! [`TABLE_ROWS`] times. Rows are found by their key and put in place.
//!
//! *Constants.* Measured, if only on a busy machine, with procedures that repeat one operation: numbers
//! (30 ns for six operations), conversions and texts, inserts (0.6 us with one index). Those of lookups,
//! ranges, updates and deletes are estimates for tables beyond the caches. The bytes come near to what is
//! logged of TPC-C (a NewOrder call: 136 estimated, 85 logged). The price of a byte is that of a disk with
//! 500 MB/s, as PACMAN's (§6), once for writing and once for reading. What replay costs counts as much as
//! what running costs: it is paid at once, by everybody, where running is paid by one caller at a time.
//! None of the numbers is exact; the choice needs them only where one side is several times the other.
//!
//! **What it does not do.** It knows nothing of how often a branch is really taken, how many rows a range
//! has, or how many threads will replay; it does not learn from running.

use planaria_base::{IndexId, Level, ProcedureId, TableId, Type};
use planaria_ir::func::Sig;
use planaria_ir::verify::VerifyEnv;
use planaria_ir::{Block, Coll, Draw, Func, Op, OpKind, ParamMode, Program, Range, Reg};
use std::collections::HashMap;

/// Writing a byte of log and reading it again.
const BYTE_NS: f64 = 4.0;
/// Turns of a loop of which nothing is known; rows in a range of an index.
const TURNS: f64 = 10.0;
/// Rows of a table that is read as a whole.
const TABLE_ROWS: f64 = 1000.0;
/// How often each of two branches is taken.
const BRANCH: f64 = 0.5;

/// A transaction of either form: begin, commit, taking it from the log.
const TRANSACTION_NS: f64 = 150.0;
/// Calling a procedure, from the log or from another one.
const CALL_NS: f64 = 100.0;
/// Reading a row by its key.
const GET_NS: f64 = 300.0;
/// Opening a range of an index.
const RANGE_NS: f64 = 350.0;
/// Reading the next row of it.
const NEXT_NS: f64 = 50.0;
/// Putting a row in: the record and its primary index.
const INSERT_NS: f64 = 350.0;
/// Taking a row out.
const DELETE_NS: f64 = 300.0;
/// Changing a row that is at hand.
const UPDATE_NS: f64 = 100.0;
/// Each further index of an insert or delete.
const INDEX_NS: f64 = 250.0;
/// An operation on numbers or truth values.
const NUMBER_NS: f64 = 3.0;
/// An operation on texts, arrays, uuids, or a conversion; a row of a list.
const VALUE_NS: f64 = 30.0;

/// The prices by name, in nanoseconds: what `planaria lab costs` measures.
pub const PRICES: [(&str, f64); 10] = [
    ("transaction and call", TRANSACTION_NS + CALL_NS),
    ("get", GET_NS),
    ("range", RANGE_NS),
    ("next", NEXT_NS),
    ("insert", INSERT_NS),
    ("further index", INDEX_NS),
    ("update", UPDATE_NS),
    ("delete", DELETE_NS),
    ("number", NUMBER_NS),
    ("value", VALUE_NS),
];

/// Length, sequence number and kind of a record.
const RECORD_BYTES: f64 = 4.0;
/// Procedure and numbers of values of a call.
const CALL_BYTES: f64 = 3.0;
/// Tag, table and length of an effect.
const EFFECT_BYTES: f64 = 3.0;
/// Length of a text of which no length is declared.
const TEXT_BYTES: f64 = 20.0;

/// The two costs of a call.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Cost {
    /// Bytes of its record as a call.
    pub call_bytes: f64,
    /// Nanoseconds to run it again.
    pub call_ns: f64,
    /// Bytes of its record by the rows it changes.
    pub rows_bytes: f64,
    /// Nanoseconds to put these in place.
    pub rows_ns: f64,
    /// Of `call_bytes`, what is drawn and kept.
    drawn_bytes: f64,
}

impl Cost {
    /// Estimates a call of a program; `of_callee` answers for the procedures it calls (`None`: nothing
    /// is known).
    pub fn of(
        program: &Program,
        env: &dyn VerifyEnv,
        of_callee: &mut dyn FnMut(ProcedureId) -> Option<Cost>,
    ) -> Cost {
        let mut definitions: HashMap<Reg, Vec<&OpKind>> = HashMap::new();
        program
            .body
            .visit(&mut |op| op.kind.writes(&mut |r| definitions.entry(r).or_default().push(&op.kind)));
        let mut walk = Walk {
            program,
            env,
            of_callee,
            definitions,
            pushed: HashMap::new(),
            draws_now: false,
            cost: Cost {
                call_ns: TRANSACTION_NS + CALL_NS,
                rows_ns: TRANSACTION_NS,
                rows_bytes: RECORD_BYTES,
                ..Cost::default()
            },
        };
        walk.block(&program.body, 1.0);
        let mut cost = walk.cost;
        let args = program.params.iter().map(|p| match p.mode {
            ParamMode::In => value_bytes(&p.ty),
            // Most are there for the answer, and passed as NULL.
            ParamMode::InOut => 1.0,
            ParamMode::Out => 0.0,
        });
        let args: f64 = args.sum();
        cost.call_bytes = RECORD_BYTES + CALL_BYTES + args + cost.drawn_bytes;
        cost
    }

    /// Whether logging the call costs no more than logging the rows.
    pub fn prefers_call(&self) -> bool {
        self.call_total() <= self.rows_total()
    }

    fn call_total(&self) -> f64 {
        self.call_bytes * BYTE_NS + self.call_ns
    }

    fn rows_total(&self) -> f64 {
        self.rows_bytes * BYTE_NS + self.rows_ns
    }

    /// Which of them, and why: one sentence.
    pub fn reason(&self) -> String {
        format!(
            "{}; the call would take about {:.0} bytes and {} to replay, its rows {:.0} bytes and {}.",
            if self.prefers_call() { "the call" } else { "the rows" },
            self.call_bytes,
            time(self.call_ns),
            self.rows_bytes,
            time(self.rows_ns)
        )
    }
}

fn time(ns: f64) -> String {
    if ns < 100_000.0 { format!("{:.1} us", ns / 1e3) } else { format!("{:.1} ms", ns / 1e6) }
}

/// Bytes that a value of a type is taken to have in the log, as an argument.
fn value_bytes(ty: &Type) -> f64 {
    match ty.plain() {
        Type::Bool | Type::Void | Type::Unknown => 1.0,
        Type::Int2 => 2.0,
        Type::Int4 | Type::Enum(_) => 3.0,
        Type::Int8 => 4.0,
        Type::Date => 4.0,
        Type::Numeric(_) => 5.0,
        Type::Float8 | Type::Float4 | Type::Time | Type::Timestamp | Type::TimestampTz => 9.0,
        Type::Interval | Type::OldInterval | Type::Rounded(..) => 9.0,
        Type::Uuid => 17.0,
        Type::Text
        | Type::Bytea
        | Type::Varchar(_)
        | Type::Char(_)
        | Type::Jsonb
        | Type::Citext
        | Type::Range(_)
        | Type::Packed(_) => 2.0 + text_bytes(ty),
        Type::Array(element) => 2.0 + TURNS * value_bytes(element),
        Type::Record(fields) => 2.0 + fields.iter().map(|(_, ty)| value_bytes(ty)).sum::<f64>(),
        ty if ty.is_oid() || *ty == Type::TID => 4.0,
        Type::System(_) => TEXT_BYTES,
    }
}

/// The same as a column of a row: numbers lose their leading zero bytes, texts have a place.
fn column_bytes(ty: &Type) -> f64 {
    match ty.plain() {
        Type::Bool => 1.0,
        Type::Int2 => 2.0,
        Type::Int4 | Type::Date | Type::Int8 | Type::Enum(_) => 3.5,
        Type::Numeric(_) => 4.0,
        Type::Float8 | Type::Float4 | Type::Time | Type::Timestamp | Type::TimestampTz => 7.5,
        Type::Interval | Type::OldInterval | Type::Rounded(..) => 7.5,
        Type::Uuid => 17.0,
        Type::Text
        | Type::Bytea
        | Type::Varchar(_)
        | Type::Char(_)
        | Type::Jsonb
        | Type::Citext
        | Type::Range(_)
        | Type::Packed(_) => 3.0 + 1.06 * text_bytes(ty),
        ty if ty.is_oid() || *ty == Type::TID => 3.5,
        Type::System(_) => TEXT_BYTES,
        Type::Array(_) | Type::Record(_) | Type::Unknown | Type::Void => 0.0,
    }
}

fn text_bytes(ty: &Type) -> f64 {
    match ty {
        Type::Varchar(Some(n)) => f64::from(*n) / 2.0,
        Type::Char(n) => f64::from(*n),
        _ => TEXT_BYTES,
    }
}

/// Copies one of the other that are followed.
const COPIES_MAX: usize = 32;

struct Walk<'p> {
    program: &'p Program,
    env: &'p dyn VerifyEnv,
    of_callee: &'p mut dyn FnMut(ProcedureId) -> Option<Cost>,
    definitions: HashMap<Reg, Vec<&'p OpKind>>,
    /// Rows put into each collection so far.
    pushed: HashMap<Coll, f64>,
    /// `now()` is logged once.
    draws_now: bool,
    cost: Cost,
}

impl<'p> Walk<'p> {
    /// Adds what a block costs that runs `times` times.
    fn block(&mut self, block: &'p Block, times: f64) {
        block.0.iter().for_each(|op| self.op(op, times));
    }

    fn op(&mut self, op: &'p Op, times: f64) {
        self.cost.call_ns += times * self.call_ns(&op.kind);
        match &op.kind {
            OpKind::If { then, otherwise, .. } => {
                let (yes, no) = self.branches(then, otherwise);
                self.block(then, times * yes);
                self.block(otherwise, times * no);
            }
            OpKind::Loop { label, body } => {
                let turns = self.turns(*label, body).unwrap_or(TURNS);
                self.block(body, times * turns);
            }
            OpKind::Block { body, .. } => self.block(body, times),
            // No handler runs in a call that is logged as a call.
            OpKind::Try { body, .. } => self.block(body, times),
            OpKind::Scan { table, index, range, label, body, .. } => {
                let once = body.0.iter().any(|op| op.kind == OpKind::Exit { label: *label });
                let rows = if once { 1.0 } else { self.rows(*table, *index, range) };
                self.cost.call_ns += times * rows * NEXT_NS;
                self.block(body, times * rows);
            }
            OpKind::ForEach { coll, body, .. } => {
                let rows = self.pushed.get(coll).map_or(TURNS, |n| n / times.max(f64::MIN_POSITIVE));
                self.block(body, times * rows);
            }
            OpKind::ForMatches { body, .. } => self.block(body, times),
            OpKind::Fill { coll, rows } => {
                *self.pushed.entry(*coll).or_default() += times * rows.len() as f64;
            }
            OpKind::Push { coll, .. } | OpKind::MapPut { coll, .. } => {
                *self.pushed.entry(*coll).or_default() += times;
            }
            OpKind::Draw { input: Draw::TransactionTimestamp | Draw::StatementTimestamp, .. } => {
                let again = std::mem::replace(&mut self.draws_now, true);
                self.cost.drawn_bytes += if again { 0.0 } else { value_bytes(&Type::Timestamp) };
            }
            OpKind::Draw { dst, .. } | OpKind::CurrentValue { dst, .. } => {
                self.cost.drawn_bytes += times * self.bytes_of(*dst);
            }
            OpKind::NextValue { dst, .. } => {
                self.cost.drawn_bytes += times * self.bytes_of(*dst);
                self.cost.rows_bytes += times * (EFFECT_BYTES + self.bytes_of(*dst));
            }
            OpKind::Keep { values } => {
                let bytes: f64 = values.iter().map(|r| self.bytes_of(*r)).sum();
                self.cost.drawn_bytes += times * bytes;
            }
            OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => {
                let callee = (self.of_callee)(*procedure).unwrap_or_default();
                self.cost.drawn_bytes += times * callee.drawn_bytes;
                self.cost.call_ns += times * (callee.call_ns - TRANSACTION_NS).max(0.0);
                self.cost.rows_bytes += times * (callee.rows_bytes - RECORD_BYTES).max(0.0);
                self.cost.rows_ns += times * (callee.rows_ns - TRANSACTION_NS).max(0.0);
            }
            OpKind::Insert { table, .. } => {
                let further = self.further_indexes(*table);
                self.row(times, self.image_bytes(*table), INSERT_NS + further * INDEX_NS);
            }
            OpKind::Update { table, .. } => {
                self.row(times, self.image_bytes(*table), GET_NS + UPDATE_NS);
            }
            OpKind::Delete { table, .. } => {
                let further = self.further_indexes(*table);
                self.row(times, self.key_bytes(*table), GET_NS + DELETE_NS + further * INDEX_NS);
            }
            _ => {}
        }
    }

    fn row(&mut self, times: f64, bytes: f64, ns: f64) {
        self.cost.rows_bytes += times * (EFFECT_BYTES + bytes);
        self.cost.rows_ns += times * ns;
    }

    /// One run of an operation, without the blocks in it.
    fn call_ns(&self, kind: &OpKind) -> f64 {
        match kind {
            OpKind::Const { .. } | OpKind::Copy { .. } | OpKind::If { .. } => NUMBER_NS,
            OpKind::Apply { func, .. } => match func.result() {
                Sig::B | Sig::I | Sig::F | Sig::D | Sig::S | Sig::V | Sig::C => NUMBER_NS,
                _ => VALUE_NS,
            },
            OpKind::Get { .. } => GET_NS,
            OpKind::Scan { .. } => RANGE_NS,
            OpKind::Load { .. } => NEXT_NS,
            OpKind::Insert { table, .. } => INSERT_NS + self.further_indexes(*table) * INDEX_NS,
            OpKind::Update { .. } => UPDATE_NS,
            OpKind::Delete { table, .. } => DELETE_NS + self.further_indexes(*table) * INDEX_NS,
            OpKind::Call { .. } | OpKind::CallSet { .. } => CALL_NS,
            OpKind::Loop { .. } | OpKind::Block { .. } | OpKind::Exit { .. } | OpKind::Continue { .. } => 0.0,
            OpKind::Return | OpKind::Keep { .. } | OpKind::Raise { .. } => 0.0,
            _ => VALUE_NS,
        }
    }

    /// How often each branch of an `If` is taken.
    fn branches(&self, then: &Block, otherwise: &Block) -> (f64, f64) {
        let nothing = |b: &Block| match b.0.last() {
            None => true,
            Some(op) => matches!(op.kind, OpKind::Raise { level: Level::Exception, .. }),
        };
        match (nothing(then), nothing(otherwise)) {
            (true, _) => (0.0, 1.0),
            (_, true) => (1.0, 0.0),
            _ => (BRANCH, 1.0 - BRANCH),
        }
    }

    fn only_definition(&self, reg: Reg) -> Option<&'p OpKind> {
        match self.definitions.get(&reg)?.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    /// The constant that a register begins with: its only value, or what a counter is set to before it
    /// counts.
    fn first_value(&self, mut reg: Reg) -> Option<i64> {
        // Variables may be copied in circles.
        for _ in 0..COPIES_MAX {
            let definitions = self.definitions.get(&reg)?;
            let mut first = definitions.iter().filter(|d| !matches!(d, OpKind::Apply { .. }));
            let (Some(one), None) = (first.next(), first.next()) else { return None };
            match one {
                OpKind::Const { value: planaria_base::Datum::Int(n), .. } => return Some(*n),
                OpKind::Copy { src, .. } | OpKind::Cast { src, .. } => reg = *src,
                _ => return None,
            }
        }
        None
    }

    /// Turns of a loop that counts from one constant to another.
    fn turns(&self, label: planaria_ir::Label, body: &Block) -> Option<f64> {
        let leaves = |b: &Block| b.0.iter().any(|op| op.kind == OpKind::Exit { label });
        body.0.iter().find_map(|op| {
            let OpKind::If { cond, then, .. } = &op.kind else { return None };
            let OpKind::Apply { func: Func::IntGe | Func::IntLe, args, .. } = self.only_definition(*cond)?
            else {
                return None;
            };
            let (counter, last) = (args.first()?, args.get(1)?);
            let distance = self.first_value(*last)?.abs_diff(self.first_value(*counter)?);
            leaves(then).then_some(distance as f64 + 1.0)
        })
    }

    /// Rows in a range.
    fn rows(&self, table: TableId, index: IndexId, range: &Range) -> f64 {
        let shape = self.env.index(table, index);
        match shape {
            Some(shape) if shape.unique && range.prefix.len() == shape.columns.len() => 1.0,
            _ if range.prefix.is_empty() && range.lower.is_none() && range.upper.is_none() => TABLE_ROWS,
            _ => TURNS,
        }
    }

    fn further_indexes(&self, table: TableId) -> f64 {
        f64::from((1u16..).take_while(|i| self.env.index(table, IndexId(*i)).is_some()).count() as u32)
    }

    fn image_bytes(&self, table: TableId) -> f64 {
        self.env.columns(table).iter().flatten().map(column_bytes).sum()
    }

    fn key_bytes(&self, table: TableId) -> f64 {
        let (columns, key) = (self.env.columns(table), self.env.index(table, IndexId::PRIMARY));
        let (Some(columns), Some(key)) = (columns, key) else { return 0.0 };
        key.columns.iter().filter_map(|c| columns.get(c.index())).map(key_column_bytes).sum()
    }

    fn bytes_of(&self, reg: Reg) -> f64 {
        self.program.type_of(reg).map_or(0.0, value_bytes)
    }
}

/// Bytes of a column in a key.
fn key_column_bytes(ty: &Type) -> f64 {
    match ty.plain() {
        Type::Bool => 1.0,
        Type::Int2 => 2.0,
        Type::Int4 | Type::Date | Type::Enum(_) => 4.0,
        Type::Uuid | Type::Interval => 16.0,
        Type::Text
        | Type::Bytea
        | Type::Varchar(_)
        | Type::Char(_)
        | Type::Jsonb
        | Type::Citext
        | Type::Range(_)
        | Type::Packed(_) => 1.0 + text_bytes(ty),
        _ => 8.0,
    }
}
