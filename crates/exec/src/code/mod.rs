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

mod desc;
mod inst;
mod leaves;
mod meta;

pub(crate) use desc::*;
pub(crate) use inst::*;
pub use inst::{Class, Test};
pub use leaves::{Bounds, End, Leaf, Part, Partitions};
pub use meta::{IndexMeta, Source, TableMeta, Teller, Told};

use crate::slot::Slot;
use planaria_base::{Datum, ProcedureId, RoleId, Type};
use planaria_ir::{ProgramKind, SortKey};
use std::fmt;

/// A compiled program. Immutable; shared by all workers.
#[derive(Debug)]
pub struct Code {
    pub(crate) name: String,
    pub(crate) kind: ProgramKind,
    pub(crate) source: Source,
    /// It is the program of a trigger.
    pub(crate) is_trigger: bool,
    /// Where something else runs it, the transaction is not its own to end.
    pub(crate) is_atomic: bool,
    pub(crate) insts: Box<[Inst]>,
    /// Where in the source, by instruction.
    pub(crate) places: Box<[Place]>,
    /// Calls that were inlined.
    pub(crate) sites: Box<[SiteDesc]>,
    /// What a frame is at entry: constants, then NULLs.
    pub(crate) template: Box<[Slot]>,
    pub(crate) operands: Box<[R]>,
    pub(crate) constants: Box<[Datum]>,
    /// What stands before this is looking ahead: an error there is none, and what it has written nobody reads.
    pub(crate) begin: Pc,
    pub(crate) aheads: Box<[AheadDesc]>,
    pub(crate) gets: Box<[GetDesc]>,
    pub(crate) loads: Box<[LoadDesc]>,
    pub(crate) scans: Box<[ScanDesc]>,
    pub(crate) inserts: Box<[InsertDesc]>,
    pub(crate) updates: Box<[UpdateDesc]>,
    pub(crate) calls: Box<[CallDesc]>,
    pub(crate) executes: Box<[ExecuteDesc]>,
    pub(crate) asks: Box<[AskDesc]>,
    pub(crate) system_rows: Box<[SystemRowsDesc]>,
    pub(crate) raises: Box<[RaiseDesc]>,
    pub(crate) tries: Box<[TryDesc]>,
    pub(crate) colls: Box<[CollDesc]>,
    pub(crate) maps: Box<[MapDesc]>,
    pub(crate) eachs: Box<[EachDesc]>,
    pub(crate) casts: Box<[CastDesc]>,
    pub(crate) sorts: Box<[Box<[SortKey]>]>,
    pub(crate) trims: Box<[TrimDesc]>,
    /// Rows of constants.
    pub(crate) fills: Box<[std::sync::Arc<[Vec<Datum>]>]>,
    /// Types of the kept values that are taken.
    pub(crate) kept: Box<[Type]>,
    /// Registers of the IN and INOUT parameters.
    pub(crate) inputs: Box<[R]>,
    pub(crate) input_types: Box<[Type]>,
    pub(crate) outs: Box<[R]>,
    pub(crate) output_types: Box<[Type]>,
    pub(crate) row_count: Option<R>,
    pub(crate) writes: bool,
    /// Whose rights it runs with, where they are not its caller's.
    pub(crate) definer: Option<RoleId>,
    /// The routine that it is of, where that has settings, or a path, of its own.
    pub(crate) own: Option<ProcedureId>,
    pub(crate) fingerprint: Fingerprint,
    #[cfg(debug_assertions)]
    pub(crate) program: Made,
}

/// What a code was made of, for who traces it. It is no part of what the code is.
#[cfg(debug_assertions)]
#[derive(Default)]
pub(crate) struct Made(pub Option<std::sync::Arc<planaria_ir::Program>>);

#[cfg(debug_assertions)]
impl fmt::Debug for Made {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

/// Of a code's other fields, made when it is first asked for.
#[derive(Default)]
pub(crate) struct Fingerprint(std::sync::OnceLock<u64>);

impl fmt::Debug for Fingerprint {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

/// Hashes what is written to it.
struct Hashing(std::hash::DefaultHasher);

impl fmt::Write for Hashing {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        std::hash::Hasher::write(&mut self.0, text.as_bytes());
        Ok(())
    }
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
    /// Whether it may touch a table, by itself or by what it calls.
    pub fn touches_tables(&self) -> bool {
        let own =
            [self.gets.len(), self.loads.len(), self.scans.len(), self.inserts.len(), self.updates.len()];
        own.iter().chain(&[self.calls.len(), self.executes.len()]).any(|n| *n > 0)
    }
    /// Two codes with the same are the same, with all that they know of tables.
    pub fn fingerprint(&self) -> u64 {
        *self.fingerprint.0.get_or_init(|| {
            let mut hashing = Hashing(std::hash::DefaultHasher::new());
            let _ = fmt::write(&mut hashing, format_args!("{self:?}"));
            std::hash::Hasher::finish(&hashing.0)
        })
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
