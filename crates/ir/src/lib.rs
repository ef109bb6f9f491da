//! The procedure IR: what every procedure, function and statement becomes before it runs.
//!
//! Planaria has one executable form. PL/pgSQL control flow is kept as structured regions; a SQL
//! query is lowered, data-centric, into nested loops over index accesses and collections, so that
//! *every access to a table is an explicit operation with its key in registers*. That is what
//! lets one walk over a program serve `EXPLAIN`, replay slices (PACMAN §4), and pieces.
//!
//! ```text
//!   SQL, PL/pgSQL --sql--> Program --verify--> Program --exec--> Code (register VM)
//!                                      \--analysis--> dependency graph
//! ```
//!
//! Shape of a [`Program`]:
//!
//! 1. typed registers ([`Reg`]): values, or handles of rows read in this transaction;
//! 2. collections ([`Coll`]): the lists and maps a query needs between its loops;
//! 3. one body: a tree of operations ([`Op`]); blocks nest, there is no goto. A region is left by
//!    `Exit`/`Continue` of an enclosing label, by `Return`, or by an error.
//!
//! Registers are mutable, as PL/pgSQL variables are; the verifier checks that each is written before
//! it is read on every path. All registers are NULL when a program starts.
//!
//! The text form round-trips and is the language of this room's tests.

pub mod determinism;
pub mod entities;
pub mod func;
pub mod op;
pub mod program;
pub mod system;
pub mod text;
pub mod verify;

pub use determinism::Determinism;
pub use entities::Entity;
pub use func::Func;
pub use op::{
    Block, Bound, Catch, Diagnostic, Draw, ErrorFields, Handler, IfClaimed, Op, OpKind, Range, ReadMode, Run,
    SortKey, StateSource, Step,
};
pub use program::{
    CollDecl, CollKind, Inlined, Output, Param, ParamMode, Program, ProgramKind, RegDecl, RegKind,
};
pub use system::{ADVISORY_PAIR, ADVISORY_SHARED, ADVISORY_TRANSACTION, Question};
pub use verify::{IndexShape, Signature, VerifyEnv, verify};

planaria_base::entity_id!(
    /// A register.
    Reg, "r");
planaria_base::entity_id!(
    /// An operation, unique in its program; numbered in program order by [`Program::renumber`].
    OpId, "op");
planaria_base::entity_id!(
    /// A collection: rows between the loops of a query.
    Coll, "x");
planaria_base::entity_id!(
    /// The label of a loop-like region (`Loop`, `Block`, `Scan`, `ForEach`, `ForMatches`).
    Label, "l");
