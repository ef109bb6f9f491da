//! The executable form: a flat vector of 12-byte instructions over a window of registers.
//!
//! [`crate::compile()`] makes a [`Code`] from a program once per catalog version. Everything that does
//! not depend on the data is decided there: jumps are resolved, constants stand in the frame's
//! template, columns have become [`Column`] readers, an UPDATE knows which indexes it touches.
//! Operands are `u16` positions in the frame, a window of [`Slot`]s:
//!
//! ```text
//!   0 .. constants | registers of the program that are used | hidden: iteration, array ownership
//! ```
//!
//! Instructions with more operands than fit point to a description in one of the side tables
//! ([`GetDesc`], ...) or to a run of `u16` in [`Code::operands`].

use crate::slot::Slot;
use planaria_base::{ColumnId, Datum, IndexId, ProcedureId, SequenceId, SqlState, TableId, Type};
use planaria_ir::{Catch, CollKind, Draw, Func, Level, OpId, ProgramKind, SortKey};
use planaria_storage::{Column, ColumnSpec, IndexSet, RowLayout};
use std::sync::Arc;

/// A register: its position in the frame.
pub(crate) type R = u16;
/// No register: a result nobody reads.
pub(crate) const NONE: R = R::MAX;
/// A position in [`Code::insts`]; while compiling, a label.
pub(crate) type Pc = u32;

/// A run of operands: the position of its length in [`Code::operands`], where the operands follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run(pub u32);

/// A comparison as the set of outcomes for which it jumps or is true: bit 0 less, bit 1 equal, bit 2
/// greater, bit 3 a NULL operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Test(pub u8);

impl Test {
    pub const LT: Test = Test(0b001);
    pub const EQ: Test = Test(0b010);
    pub const GT: Test = Test(0b100);
    pub const LE: Test = Test(0b011);
    pub const NE: Test = Test(0b101);
    pub const GE: Test = Test(0b110);
    pub const NULL: u8 = 0b1000;

    /// The comparison that is true where this one is false; NULL stays NULL.
    pub fn negate(self) -> Test {
        Test(self.0 ^ 0b111)
    }
    /// Everything but this: "false or NULL".
    pub fn complement(self) -> Test {
        Test(self.0 ^ 0b1111)
    }
    /// Whether the outcome is in the set.
    #[inline(always)]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        self.0 >> (order as i8 + 1) & 1 != 0
    }
    /// Whether a NULL operand is in the set.
    #[inline(always)]
    pub fn holds_null(self) -> bool {
        self.0 & Self::NULL != 0
    }
}

/// What a conditional jump wants of a boolean register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    True,
    NotTrue,
    False,
    NotFalse,
}

/// A bitwise operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bits {
    And,
    Or,
    Xor,
}

/// How operands of a comparison are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Int,
    Num,
    Text,
}

/// An instruction. `dst` is written, everything else read; `to` is a jump's target.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Inst {
    // ---- values ----
    /// A text, bytea or array constant, copied into the heap.
    Const {
        dst: R,
        constant: u32,
    },
    Copy {
        dst: R,
        src: R,
    },
    AddInt4 {
        dst: R,
        a: R,
        b: R,
    },
    SubInt4 {
        dst: R,
        a: R,
        b: R,
    },
    MulInt4 {
        dst: R,
        a: R,
        b: R,
    },
    AddInt8 {
        dst: R,
        a: R,
        b: R,
    },
    SubInt8 {
        dst: R,
        a: R,
        b: R,
    },
    MulInt8 {
        dst: R,
        a: R,
        b: R,
    },
    AddNum {
        dst: R,
        a: R,
        b: R,
    },
    SubNum {
        dst: R,
        a: R,
        b: R,
    },
    MulNum {
        dst: R,
        a: R,
        b: R,
    },
    ModInt {
        dst: R,
        a: R,
        b: R,
    },
    BitsInt {
        bits: Bits,
        dst: R,
        a: R,
        b: R,
    },
    Concat {
        dst: R,
        a: R,
        b: R,
    },
    CompareInt {
        test: Test,
        dst: R,
        a: R,
        b: R,
    },
    CompareNum {
        test: Test,
        dst: R,
        a: R,
        b: R,
    },
    CompareText {
        test: Test,
        dst: R,
        a: R,
        b: R,
    },
    IsNull {
        dst: R,
        src: R,
    },
    IsNotNull {
        dst: R,
        src: R,
    },
    Not {
        dst: R,
        src: R,
    },
    And {
        dst: R,
        a: R,
        b: R,
    },
    Or {
        dst: R,
        a: R,
        b: R,
    },
    Element {
        dst: R,
        array: R,
        index: R,
    },
    Apply1 {
        func: Func,
        dst: R,
        a: R,
    },
    Apply2 {
        func: Func,
        dst: R,
        a: R,
        b: R,
    },
    ApplyN {
        func: Func,
        dst: R,
        args: Run,
    },
    /// To smallint (2 bytes) or integer (4) from another integer type: a range check.
    CastInt {
        bytes: u8,
        dst: R,
        src: R,
    },
    /// Numeric to numeric(p, s).
    CastNum {
        dst: R,
        src: R,
        cast: u16,
    },
    /// Any other cast.
    Cast {
        dst: R,
        src: R,
        cast: u16,
    },
    Draw {
        dst: R,
        input: Draw,
    },
    NextValue {
        dst: R,
        sequence: SequenceId,
    },
    CurrentValue {
        dst: R,
        sequence: SequenceId,
    },
    SetValue {
        value: R,
        is_called: R,
        sequence: SequenceId,
    },
    /// `owner` is a hidden register: true while `array` is shared with no other slot.
    ArraySet {
        array: R,
        index: R,
        value: R,
        owner: R,
    },
    /// The array of this hidden register is about to be shared or replaced.
    Disown {
        owner: R,
    },

    // ---- control ----
    Jump {
        to: Pc,
    },
    /// A jump backwards: the place where long programs are interrupted and the heap compacted.
    Back {
        to: Pc,
    },
    JumpBool {
        when: When,
        src: R,
        to: Pc,
    },
    JumpNull {
        src: R,
        to: Pc,
    },
    JumpNotNull {
        src: R,
        to: Pc,
    },
    JumpInt {
        test: Test,
        a: R,
        b: R,
        to: Pc,
    },
    JumpNum {
        test: Test,
        a: R,
        b: R,
        to: Pc,
    },
    JumpText {
        test: Test,
        a: R,
        b: R,
        to: Pc,
    },
    Return,
    TryEnter {
        region: u16,
    },
    /// The region's body ended well.
    TryLeave,
    /// A handler is left: the error it handled is forgotten.
    HandlerLeave,
    Raise {
        raise: u16,
    },

    // ---- calls ----
    Call {
        call: u16,
    },
    Execute {
        execute: u16,
    },
    Emit {
        values: Run,
    },

    // ---- tables ----
    Get {
        get: u16,
    },
    Load {
        load: u16,
    },
    ScanOpen {
        scan: u16,
    },
    /// The next row of the innermost open scan, or on to `end` (which closes it).
    ScanNext {
        scan: u16,
        end: Pc,
    },
    ScanClose,
    Insert {
        insert: u16,
    },
    Update {
        update: u16,
    },
    Delete {
        table: TableId,
        row: R,
    },

    // ---- collections ----
    Clear {
        coll: u16,
    },
    Push {
        coll: u16,
        values: Run,
    },
    Len {
        coll: u16,
        dst: R,
    },
    Sort {
        coll: u16,
        keys: u16,
    },
    MapGet {
        map: u16,
    },
    MapPut {
        coll: u16,
        row: Run,
    },
    /// Hidden register `at` is the number of the next row; `each` says where the row goes.
    EachNext {
        each: u16,
        at: R,
        end: Pc,
    },
    /// Hidden register `at` becomes the number of the first row with the key, NULL if none.
    MatchFirst {
        each: u16,
        at: R,
    },
    MatchNext {
        each: u16,
        at: R,
        end: Pc,
    },
    SetEntry {
        coll: u16,
        column: u16,
        entry: R,
        value: R,
    },
}

const _: () = assert!(size_of::<Inst>() <= 12, "four bytes more are a third more cache");

/// One column of a row image and the register it goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub column: Column,
    /// bytea rather than text.
    pub bytea: bool,
    pub dst: R,
}

/// Columns to decode.
#[derive(Debug)]
pub(crate) struct Reads {
    pub columns: Box<[Read]>,
    /// Whether any points into the image. If none does, the image is dropped at once.
    pub keeps_image: bool,
}

#[derive(Debug)]
pub(crate) struct GetDesc {
    pub table: TableId,
    pub index: IndexId,
    pub key: Box<[R]>,
    pub row: R,
    pub reads: Reads,
}

#[derive(Debug)]
pub(crate) struct LoadDesc {
    pub table: TableId,
    pub row: R,
    pub reads: Reads,
}

#[derive(Debug)]
pub(crate) struct ScanDesc {
    pub table: TableId,
    pub index: IndexId,
    pub prefix: Box<[R]>,
    pub lower: Option<(R, bool)>,
    pub upper: Option<(R, bool)>,
    pub descending: bool,
    pub row: R,
    pub reads: Reads,
}

#[derive(Debug)]
pub(crate) struct InsertDesc {
    pub table: TableId,
    pub values: Box<[R]>,
    pub row: R,
    pub meta: Arc<TableMeta>,
}

#[derive(Debug)]
pub(crate) struct UpdateDesc {
    pub table: TableId,
    pub row: R,
    pub set: Box<[(ColumnId, R)]>,
    /// Indexes with a column that is set, the primary one included.
    pub touched: IndexSet,
    pub meta: Arc<TableMeta>,
}

#[derive(Debug)]
pub(crate) struct CallDesc {
    pub procedure: ProcedureId,
    pub args: Box<[R]>,
    pub outs: Box<[R]>,
    /// For a set-returning function: the list its rows go to.
    pub into: Option<u16>,
}

#[derive(Debug)]
pub(crate) struct ExecuteDesc {
    pub text: R,
    pub args: Box<[R]>,
    pub types: Box<[Type]>,
    pub rows: Option<u16>,
    pub row_count: R,
}

#[derive(Debug)]
pub(crate) struct RaiseDesc {
    pub level: Level,
    pub state: RaiseState,
    pub message: R,
    pub detail: Option<R>,
    pub hint: Option<R>,
    pub constraint: Option<String>,
    pub table: Option<String>,
    pub column: Option<String>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum RaiseState {
    Known(SqlState),
    Computed(R),
    Current,
}

#[derive(Debug)]
pub(crate) struct TryDesc {
    pub handlers: Box<[HandlerDesc]>,
}

#[derive(Debug)]
pub(crate) struct HandlerDesc {
    pub catches: Box<[Catch]>,
    pub sqlstate: R,
    pub sqlerrm: R,
    pub entry: Pc,
}

#[derive(Debug)]
pub(crate) struct CollDesc {
    pub kind: CollKind,
    pub keys: u16,
    pub values: u16,
    /// Types of the values (of lists: all columns), for rows of dynamic SQL. `None`: a row handle.
    pub types: Box<[Option<Type>]>,
}

#[derive(Debug)]
pub(crate) struct MapDesc {
    pub coll: u16,
    pub keys: Box<[R]>,
    pub found: R,
    pub values: Box<[R]>,
}

/// Where the columns of a collection's row go: a register each, or [`NONE`].
#[derive(Debug)]
pub(crate) struct EachDesc {
    pub coll: u16,
    /// Only of `ForMatches`.
    pub keys: Box<[R]>,
    pub columns: Box<[R]>,
    pub entry: R,
}

#[derive(Debug)]
pub(crate) struct CastDesc {
    pub from: Type,
    pub to: Type,
    pub explicit: bool,
    /// For numeric(p, s): `10^p`, p and s.
    pub bound: i128,
    pub precision: u8,
    pub scale: u8,
}

/// A table as compiled code needs to know it. Made by the engine once per catalog version.
#[derive(Debug)]
pub struct TableMeta {
    /// Name, for errors.
    pub name: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Indexes by [`IndexId`].
    pub indexes: Vec<IndexMeta>,
    /// The layout of its rows: the same that its storage has, as both are made from the columns' types.
    pub layout: RowLayout,
}

/// An index as compiled code needs to know it.
#[derive(Clone, Debug)]
pub struct IndexMeta {
    /// Name: that of the constraint, where one made it.
    pub name: String,
    /// Key columns.
    pub columns: Vec<ColumnId>,
}

impl TableMeta {
    /// From names and types; fails for types that cannot be stored.
    pub fn new(
        name: impl Into<String>,
        columns: Vec<(String, ColumnSpec)>,
        indexes: Vec<IndexMeta>,
    ) -> planaria_base::Result<TableMeta> {
        let (columns, specs): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        Ok(TableMeta { name: name.into(), columns, indexes, layout: RowLayout::new(&specs)? })
    }
}

/// Where a program's text came from, for the CONTEXT of errors.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// `name(integer,text)`, as PostgreSQL prints a function; empty for statements.
    pub signature: String,
    /// Positions at which the lines of the text begin, line 2 first.
    line_starts: Box<[u32]>,
}

impl Source {
    /// The source of a routine: its signature and the text that operations' positions refer to.
    pub fn routine(signature: impl Into<String>, text: &str) -> Source {
        let line_starts =
            text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i as u32 + 1).collect();
        Source { signature: signature.into(), line_starts }
    }
    /// The line (from 1) of a position.
    pub fn line(&self, position: u32) -> usize {
        self.line_starts.partition_point(|start| *start <= position) + 1
    }
}

/// A compiled program. Immutable; shared by all workers.
#[derive(Debug)]
pub struct Code {
    pub(crate) name: String,
    pub(crate) kind: ProgramKind,
    pub(crate) source: Source,
    pub(crate) insts: Box<[Inst]>,
    /// Position in the source and operation, by instruction.
    pub(crate) places: Box<[(u32, OpId)]>,
    /// What a frame is at entry: constants, then NULLs.
    pub(crate) template: Box<[Slot]>,
    pub(crate) operands: Box<[R]>,
    pub(crate) constants: Box<[Datum]>,
    pub(crate) gets: Box<[GetDesc]>,
    pub(crate) loads: Box<[LoadDesc]>,
    pub(crate) scans: Box<[ScanDesc]>,
    pub(crate) inserts: Box<[InsertDesc]>,
    pub(crate) updates: Box<[UpdateDesc]>,
    pub(crate) calls: Box<[CallDesc]>,
    pub(crate) executes: Box<[ExecuteDesc]>,
    pub(crate) raises: Box<[RaiseDesc]>,
    pub(crate) tries: Box<[TryDesc]>,
    pub(crate) colls: Box<[CollDesc]>,
    pub(crate) maps: Box<[MapDesc]>,
    pub(crate) eachs: Box<[EachDesc]>,
    pub(crate) casts: Box<[CastDesc]>,
    pub(crate) sorts: Box<[Box<[SortKey]>]>,
    /// Registers of the IN and INOUT parameters.
    pub(crate) inputs: Box<[R]>,
    pub(crate) input_types: Box<[Type]>,
    pub(crate) outs: Box<[R]>,
    pub(crate) output_types: Box<[Type]>,
    pub(crate) row_count: Option<R>,
    pub(crate) writes: bool,
}

impl Code {
    /// Name of the procedure or function, `statement` otherwise.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// What it was made from.
    pub fn kind(&self) -> ProgramKind {
        self.kind
    }
    /// Types of the arguments it takes (IN and INOUT parameters in order).
    pub fn input_types(&self) -> &[Type] {
        &self.input_types
    }
    /// Types of the columns of its answer.
    pub fn output_types(&self) -> &[Type] {
        &self.output_types
    }
    /// Whether it has an operation that changes a table (calls aside).
    pub fn writes(&self) -> bool {
        self.writes
    }
    /// Number of instructions.
    pub fn len(&self) -> usize {
        self.insts.len()
    }
    /// Whether there is none; never true of compiled code, which ends with a return.
    pub fn is_empty(&self) -> bool {
        self.insts.is_empty()
    }

    #[inline]
    pub(crate) fn run(&self, run: Run) -> &[R] {
        let at = run.0 as usize;
        &self.operands[at + 1..][..self.operands[at] as usize]
    }

    /// One instruction a line, for tests and `EXPLAIN (VERBOSE)`.
    pub fn listing(&self) -> String {
        use std::fmt::Write;
        let mut out = String::new();
        for (pc, inst) in self.insts.iter().enumerate() {
            let _ = writeln!(out, "{pc:4} {inst:?}");
        }
        out
    }
}
