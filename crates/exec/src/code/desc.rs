//! What instructions with many operands point to.

use super::{Pc, R, Source, TableMeta};
use crate::slot::BytesKind;
use planaria_base::{ColumnId, IndexId, Level, ProcedureId, SqlState, SystemId, TableId, Type};
use planaria_ir::{Catch, CollKind, Diagnostic, OpId, Question, ReadMode, Run, SortKey};
use planaria_storage::{Column, IndexSet, Part};
use std::sync::Arc;

/// Where an instruction comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// In the source text.
    pub position: u32,
    /// Its operation.
    #[allow(dead_code, reason = "for tracing")]
    pub op: OpId,
    /// The inlined call whose text that is; [`NO_SITE`] for the program's own.
    pub site: u16,
}

/// No inlined call.
pub(crate) const NO_SITE: u16 = u16::MAX;

/// An inlined call: what its errors say that a call's would.
#[derive(Debug)]
pub(crate) struct SiteDesc {
    /// The callee.
    pub source: Source,
    /// Where the call stands.
    pub position: u32,
    /// The inlined call around it, or [`NO_SITE`].
    pub parent: u16,
}

/// One column of a row image and the register it goes to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub column: Column,
    /// What its bytes are, if it has some.
    pub bytes: BytesKind,
    pub dst: R,
}

/// Columns to decode.
#[derive(Debug)]
pub(crate) struct Reads {
    pub columns: Box<[Read]>,
    /// Whether any points into the image. If none does, the image is dropped at once.
    pub keeps_image: bool,
    /// Whether any may be a numeric that does.
    pub numerics: bool,
}

#[derive(Debug)]
pub(crate) struct GetDesc {
    pub table: TableId,
    pub index: IndexId,
    pub key: Box<[R]>,
    pub row: R,
    pub reads: Reads,
    /// What of a wide row that takes; `None`: all of it.
    pub part: Option<Part>,
    /// Only whether there is such a row matters.
    pub presence: bool,
    /// Only whether there is one with this key, which is not the primary one, matters: for a constraint.
    pub key_only: bool,
    pub mode: ReadMode,
    /// Of [`Inst::GetAgain`](super::Inst::GetAgain): which register has the row already.
    pub again: R,
}

/// A lookup that is made ahead.
#[derive(Debug)]
pub(crate) struct AheadDesc {
    pub table: TableId,
    pub index: IndexId,
    pub key: Box<[R]>,
    /// About as long as its row is.
    pub bytes: u32,
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
    pub mode: ReadMode,
    pub row: R,
    pub reads: Reads,
    /// Columns that only rows within the filter are read for, of a `whole` scan.
    pub later: Reads,
    /// All its rows are going to be read, while nothing is written: they may be read several at a time.
    pub whole: bool,
    /// Of a `whole` scan: what is looked up for each row.
    pub ahead: Option<Box<ScanAhead>>,
}

/// A lookup for each of some rows, to be made ahead for several of them.
#[derive(Debug)]
pub(crate) struct EachAhead<C = usize> {
    pub table: TableId,
    pub index: IndexId,
    pub key: Box<[KeyPart<C>]>,
    /// About as long as its row is.
    pub bytes: u32,
}

/// The same for the rows of a scan.
pub(crate) type ScanAhead = EachAhead<Column>;

/// What a part of its key is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeyPart<C> {
    /// A column of the row: where it is.
    Column(C),
    /// What no row changes.
    Register(R),
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
    /// The callee asks for its rights.
    pub guarded: bool,
}

#[derive(Debug)]
pub(crate) struct ExecuteDesc {
    pub text: R,
    pub args: Box<[R]>,
    pub types: Box<[Type]>,
    pub rows: Option<u16>,
    pub row_count: R,
    pub run: Run,
    /// The register of the name of [`Run::Open`].
    pub name: R,
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
    pub schema: Option<String>,
    pub datatype: Option<String>,
    /// Whether it was found when its statement was compiled.
    pub found: bool,
    pub computed: Box<[(Diagnostic, R)]>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum RaiseState {
    Known(SqlState),
    Computed(R),
    Current,
}

#[derive(Debug)]
pub(crate) struct TryDesc {
    /// The inlined call it stands in.
    pub site: u16,
    pub handlers: Box<[HandlerDesc]>,
}

#[derive(Debug)]
pub(crate) struct HandlerDesc {
    pub catches: Box<[Catch]>,
    pub sqlstate: R,
    pub sqlerrm: R,
    pub diagnostics: Box<[(Diagnostic, R)]>,
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

/// A list of which the first rows are wanted, as it is going to be sorted. `offset` may be [`super::NONE`].
#[derive(Debug)]
pub(crate) struct TrimDesc {
    pub coll: u16,
    pub keys: Box<[SortKey]>,
    pub limit: R,
    pub offset: R,
    pub ties: bool,
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
    /// What is looked up for each row.
    pub ahead: Option<Box<EachAhead>>,
}

#[derive(Debug)]
pub(crate) struct CastDesc {
    pub from: Type,
    pub to: Type,
    pub explicit: bool,
    /// For numeric(p, s): `10^p`, and s.
    pub bound: i128,
    pub scale: i16,
}

/// A question to the engine. `dst` is [`super::NONE`] where nobody wants the answer.
#[derive(Debug)]
pub(crate) struct AskDesc {
    pub dst: R,
    pub question: Question,
    pub args: Box<[R]>,
}

/// Rows of a system relation.
#[derive(Debug)]
pub(crate) struct SystemRowsDesc {
    pub relation: SystemId,
    pub columns: Box<[ColumnId]>,
    pub into: u16,
}
