//! Planaria: a main-memory SQL database you can embed, call, kill and trust.
//!
//! ```
//! # fn main() -> planaria::Result<()> {
//! let db = planaria::Database::in_memory()?;      // or Database::open("directory")
//! db.execute_script(
//!     "CREATE TABLE account (id bigint PRIMARY KEY, balance numeric(12,2) NOT NULL CHECK (balance >= 0));
//!      INSERT INTO account VALUES (1, 100.00), (2, 0.00);
//!      CREATE PROCEDURE transfer(p_from bigint, p_to bigint, p_amount numeric)
//!      LANGUAGE plpgsql AS $$
//!      BEGIN
//!          UPDATE account SET balance = balance - p_amount WHERE id = p_from;
//!          UPDATE account SET balance = balance + p_amount WHERE id = p_to;
//!      END $$;",
//! )?;
//! db.call("transfer", (1, 2, "40.00"))?;          // one serializable transaction
//! let rows = db.query("SELECT balance FROM account ORDER BY id", ())?;
//! assert_eq!(rows[1].get::<String>("balance")?, "40.00");
//!
//! let refused = db.call("transfer", (1, 2, "400.00")).unwrap_err();
//! assert_eq!(refused.sqlstate(), planaria::SqlState::CHECK_VIOLATION);
//! # Ok(()) }
//! ```
//!
//! * [`Database`] is opened from a directory or lives in memory; [`Options`] choose protocol, log
//!   and durability. [`Database::transaction`] runs several statements as one transaction, again where it has to.
//! * [`Session`] is what one thread does: statements, [calls](Session::call), [transactions](Session::transaction).
//! * [`Ticket`] is a commit's way to the disk: wait for it, ask it, or await it.
//! * [`Error`] has PostgreSQL's SQLSTATE, position, detail and hint.
//!
//! Modules beside that:
//!
//! * [`checkpoint`]: checkpoints and backups in directories, and restoring from them.
//! * [`log`]: what a log consists of, and whether it can be replayed.
//! * [`graph`]: what the analysis says of procedures, drawn.
//! * [`serving`] is for servers, [`lab`] for experiments and tests of the database itself: they change with those, and are not
//!   covered by the promise of semantic versions.
//!
//! This room assembles the others; see `ARCHITECTURE.md` for the map.

mod api;
mod change;
pub mod checkpoint;
mod convert;
mod database;
mod describe;
mod directory;
mod engine;
mod from_row;
pub mod graph;
pub mod lab;
pub mod log;
mod named;
mod notice;
mod opening;
mod options;
mod owned;
mod params;
mod replay;
mod row;
mod sealed;
pub mod serving;
mod session;
mod settings;
mod sink;
mod statement;
mod stats;
mod system;
mod ticket;
mod trace;

#[cfg(feature = "serde_json")]
pub use convert::Json;
pub use database::Database;
pub use engine::channels::Notification;
pub use from_row::FromRow;
pub use named::Named;
pub use notice::Notice;
pub use options::{
    BackoffKind, Durability, LoadedCheckpoint, LogKind, Options, ProtocolKind, RecoveryPhases,
    RecoveryProgress, RecoveryReport, RecoveryStage, Scheme,
};
pub use params::{Bytes, Param, ParamRef, Params};
pub use planaria_base::datetime::Interval;
pub use planaria_base::numeric::Long;
pub use planaria_base::shape::{Dimension, Shape, Shaped};
pub use planaria_base::{Datum, Error, Numeric, Result, SqlState, Type};
/// Reads a struct from a row, each field from the column of its name: see [`FromRow`](trait@FromRow).
///
/// ```
/// # fn main() -> planaria::Result<()> {
/// use planaria::{FromRow, Params};
///
/// #[derive(Debug, PartialEq, FromRow, Params)]
/// struct Account {
///     id: i64,
///     #[planaria(rename = "owner_name")]
///     owner: Option<String>,
///     #[planaria(skip)]
///     dirty: bool,
/// }
///
/// let db = planaria::Database::in_memory()?;
/// db.execute_script("CREATE TABLE account (id bigint PRIMARY KEY, owner_name text)")?;
/// let account = Account { id: 1, owner: Some("Ada".into()), dirty: false };
/// db.execute("INSERT INTO account VALUES (:id, :owner_name)", &account)?;
/// let read: Account = db.query_one("SELECT * FROM account", ())?;
/// assert_eq!(read, account);
/// # Ok(()) }
/// ```
///
/// `#[planaria(..)]` of a field takes `rename = "name"`, `skip` (no column, no parameter: its `Default`) and `default` (where the
/// answer has no such column); of the struct, `crate = "path"`.
#[cfg(feature = "derive")]
pub use planaria_derive::FromRow;
/// Makes a struct a list of parameters by name: see [`FromRow`](derive@FromRow), which takes the same attributes.
#[cfg(feature = "derive")]
pub use planaria_derive::Params;
pub use row::{Column, ColumnIndex, FromDatum, Origin, Row, Rows};
pub use session::channels::Listener;
pub use session::{Canceller, PreparedCall, Session, StatementResult, Submitted, Transaction};
pub use statement::{Statement, TransactionStatus};
pub use stats::{CheckpointReport, CheckpointStats, Healing, Memory, Restart, Stats, Waiting};
pub use ticket::Ticket;

/// Where the statements of a text stand, without their semicolons: for programs that run them one by one. Nothing but quotes,
/// comments, parentheses and bodies is looked at; where one of them does not end, its statement goes to the end of the text.
pub fn split(text: &str) -> Result<Vec<std::ops::Range<usize>>> {
    planaria_syntax::parse::split(text)
}

/// Whether a text ends a statement: all quotes closed, parentheses and bodies too, a semicolon at its end. Space and comments alone
/// end none. For prompts.
///
/// ```
/// assert!(planaria::is_complete("SELECT 1; -- one"));
/// assert!(!planaria::is_complete("-- one"));
/// assert!(!planaria::is_complete("SELECT 1"));
/// assert!(!planaria::is_complete("DO $$ BEGIN PERFORM 1;"));
/// ```
pub fn is_complete(text: &str) -> bool {
    planaria_syntax::parse::is_whole(text)
}
