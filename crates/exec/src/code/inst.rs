//! Instructions.

use planaria_base::{SequenceId, Strength, TableId};
use planaria_ir::{Draw, Func};
use planaria_protocol::IfClaimed;

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
pub struct Test(pub(crate) u8);

impl Test {
    pub(crate) const LT: Test = Test(0b001);
    pub(crate) const EQ: Test = Test(0b010);
    pub(crate) const GT: Test = Test(0b100);
    pub(crate) const LE: Test = Test(0b011);
    pub(crate) const NE: Test = Test(0b101);
    pub(crate) const GE: Test = Test(0b110);
    pub(crate) const NULL: u8 = 0b1000;

    /// The comparison that is true where this one is false; NULL stays NULL.
    pub(crate) fn negate(self) -> Test {
        Test(self.0 ^ 0b111)
    }
    /// Everything but this: "false or NULL".
    pub(crate) fn complement(self) -> Test {
        Test(self.0 ^ 0b1111)
    }
    /// Whether the outcome is in the set.
    #[inline(always)]
    pub fn holds(self, order: std::cmp::Ordering) -> bool {
        self.0 >> (order as i8 + 1) & 1 != 0
    }
    /// Whether a NULL operand is in the set.
    #[inline(always)]
    pub(crate) fn holds_null(self) -> bool {
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
pub enum Class {
    /// As integers.
    Int,
    /// As numerics.
    Num,
    /// As texts.
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
        /// Of all elements in their order, not by a subscript.
        nth: bool,
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
    /// GREATEST, LEAST, min or max (`func`) of two.
    Best {
        func: Func,
        dst: R,
        a: R,
        b: R,
    },
    /// The same of many, of each pair into its first: a fold's steps one after the other.
    Bests {
        func: Func,
        pairs: Run,
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
    /// The name of a user, or of the database.
    Name {
        dst: R,
        of: Draw,
    },
    /// The next kept value; `ty` is its type's number in [`Code::kept`].
    Kept {
        dst: R,
        ty: u16,
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
    /// Jumps if any (`wanted`) or none of the registers is NULL.
    JumpAnyNull {
        wanted: bool,
        regs: Run,
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
    EndTransaction {
        commit: bool,
    },
    Notify {
        channel: R,
        payload: R,
    },

    // ---- calls ----
    Call {
        call: u16,
    },
    Execute {
        execute: u16,
    },
    Ask {
        ask: u16,
    },
    SystemRows {
        rows: u16,
    },
    Emit {
        values: Run,
    },
    Keep {
        values: Run,
    },
    Piece {
        piece: u32,
        args: Run,
    },

    // ---- tables ----
    /// The same where it was made before and nothing changed its table since, with these columns: made where that need not stand.
    GetAgain {
        get: u16,
    },
    /// A lookup that is going to be made joins those that are made ahead; with a full group on to `end`.
    Ahead {
        ahead: u16,
        end: Pc,
    },
    /// Makes the lookups that have joined.
    LookAhead,
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
    /// What the innermost open scan's row is read for beyond its filter.
    ScanRead {
        scan: u16,
    },
    /// `dst` + `by` for each of the next rows of the innermost open scan, which is read as a whole, or on to `end`.
    ScanAdd {
        scan: u16,
        dst: R,
        by: R,
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
    Claim {
        table: TableId,
        row: R,
        strength: Strength,
        if_claimed: IfClaimed,
        granted: R,
    },

    // ---- collections ----
    Clear {
        coll: u16,
    },
    Fill {
        coll: u16,
        rows: u16,
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
    Trim {
        trim: u16,
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
    /// Behind it: what is looked up for the rows from here on is made ahead, now and then.
    EachAhead {
        each: u16,
        at: R,
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
