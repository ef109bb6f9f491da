//! Kernels: pieces and plans in the form in which replay runs them.
//!
//! The machine (`exec`) must be able to do everything, for a program that may conflict, fail, be caught and
//! go on: it copies the image of every row that it reads, keeps frames, looks for handlers. A piece is a
//! few operations on rows that nobody else is at, of a transaction that has committed. Its kernel
//!
//! 1. reads columns where they stand in the record, and only where they are wanted: of ten columns that
//!    the branches of a program choose among, one;
//! 2. changes columns of fixed width in place;
//! 3. keeps its registers from run to run, constants in them: nothing is set up but what the program may
//!    read before it writes it.
//!
//! [`Kernel::new`] refuses what it does not know (collections, calls, handlers, secondary indexes that a
//! scan needs, texts made in loops); such a program is run by the machine. Functions and casts are those of `exec`.

mod coalesce;
mod compile;
mod row;
mod run;

pub(super) use row::NewRow;
pub(super) use run::{Banks, HandsOver, Scratch, Surroundings};

use planaria_base::{Datum, IndexId, SequenceId, TableId, Type};
use planaria_exec::{BytesKind, Slot, Test};
use planaria_ir::{Draw, Func};
use planaria_storage::{Column, IndexSet};

/// A register: its position in the bank.
pub(super) type Register = u8;
use Register as R;
/// Registers of a kernel. So many that every position there is is one: no access is checked.
const REGISTERS: usize = 1 << R::BITS;
/// A kernel's registers.
pub(super) type Bank = [Slot; REGISTERS];
/// A position in the operations.
type Pc = u32;

/// Arithmetic of two integers or two numerics.
#[derive(Clone, Copy, Debug)]
enum Arithmetic {
    MulInt4,
    AddInt8,
    SubInt8,
    MulInt8,
    AddNum,
    SubNum,
    MulNum,
}

/// To numeric(precision, scale).
#[derive(Clone, Copy, Debug)]
struct Rescale {
    modifier: (u16, i16),
    /// 10^precision: what is below, at that scale, stays as it is.
    bound: i128,
}

/// A cast that takes a function.
#[derive(Debug)]
struct Cast {
    from: Type,
    to: Type,
    explicit: bool,
}

/// A row looked up by the whole key of a unique index.
#[derive(Debug)]
struct Find {
    table: TableId,
    index: IndexId,
    key: Box<[R]>,
    /// It asks for a row that is in the way of another, for which NULLs may be equal.
    arbiter: bool,
    row: R,
}

/// Columns of a row that change.
#[derive(Debug)]
struct Store {
    row: R,
    columns: Box<[(Column, R)]>,
    /// The same where numerics of 16 bytes are among them, for those that are longer.
    long: Option<Update>,
}

/// The same where texts or secondary keys are among them.
#[derive(Debug)]
struct Update {
    table: TableId,
    row: R,
    set: Box<[(planaria_base::ColumnId, R)]>,
    /// Indexes whose keys may move; never the primary one.
    touched: IndexSet,
}

/// A column to be read.
#[derive(Clone, Copy, Debug)]
struct Read {
    column: Column,
    /// What its bytes are, if it has some.
    bytes: BytesKind,
    dst: R,
}

/// A new row: its columns of fixed width, then the others, in column order.
#[derive(Debug)]
struct Insert {
    table: TableId,
    fixed: Box<[(Column, R)]>,
    texts: Box<[(Column, R)]>,
}

/// A scan of a primary index.
#[derive(Debug)]
struct Scan {
    table: TableId,
    prefix: Box<[R]>,
    lower: Option<(R, bool)>,
    upper: Option<(R, bool)>,
    descending: bool,
}

/// An operation. `dst` is written, everything else read.
#[derive(Debug)]
enum Op {
    Copy {
        dst: R,
        src: R,
    },
    /// A constant that lies in the heap.
    Text {
        dst: R,
        value: Box<Datum>,
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
    Calculate {
        how: Arithmetic,
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
    IsNull {
        dst: R,
        src: R,
        is: bool,
    },
    Element {
        dst: R,
        array: R,
        index: R,
        /// Of all elements in their order, not by a subscript.
        nth: bool,
    },
    Call {
        func: Func,
        dst: R,
        args: Box<[R]>,
    },
    /// To smallint (2 bytes) or integer (4).
    Narrow {
        bytes: u8,
        dst: R,
        src: R,
    },
    Rescale {
        dst: R,
        src: R,
        to: Box<Rescale>,
    },
    Cast {
        dst: R,
        src: R,
        cast: Box<Cast>,
    },
    Draw {
        dst: R,
        input: Draw,
    },
    Kept {
        dst: R,
        ty: Box<Type>,
    },
    NextValue {
        dst: R,
        sequence: SequenceId,
    },
    CurrentValue {
        dst: R,
        sequence: SequenceId,
    },
    Jump {
        to: Pc,
    },
    /// Back to where the turns of a loop begin.
    Turn {
        to: Pc,
    },
    /// Jumps unless the register is true.
    Unless {
        cond: R,
        to: Pc,
    },
    /// Jumps unless the comparison is true.
    UnlessInt {
        test: Test,
        a: R,
        b: R,
        to: Pc,
    },
    Find(Box<Find>),
    /// Columns of a row; NULL without a row.
    Read {
        row: R,
        columns: Box<[Read]>,
    },
    Store(Box<Store>),
    Update(Box<Update>),
    Insert(Box<Insert>),
    Delete {
        table: TableId,
        row: R,
    },
    /// Opens a scan; `cursor` holds it.
    Open {
        cursor: R,
        scan: Box<Scan>,
    },
    /// The next row; without one, jumps.
    Next {
        cursor: R,
        table: TableId,
        row: R,
        to: Pc,
    },
    Close {
        cursor: R,
    },
    Piece {
        piece: u32,
        args: Box<[R]>,
    },
    End,
}

/// A program ready to be run. See the module's head.
#[derive(Debug)]
pub(super) struct Kernel {
    ops: Box<[Op]>,
    /// Registers as they are at first: constants in theirs.
    bank: Box<Bank>,
    /// Where the arguments go.
    inputs: Box<[R]>,
    /// Which of them nothing reads.
    unread: Box<[bool]>,
    /// Where the row goes that the first lookup finds, if that is by the piece's own key: whoever runs
    /// pieces in the order of keys has found it by then.
    given: Option<R>,
    /// How many bytes of that row it is likely to look at.
    row_bytes: u32,
    /// The arguments that are that key, a bit each.
    key_bits: u64,
    /// Registers that may be read before they are written: NULL at the start. All that are written, if `piles_up`.
    nulls: Box<[R]>,
    /// Turns of a loop may leave long numbers in the heap, which is tidied between two of them.
    piles_up: bool,
}
