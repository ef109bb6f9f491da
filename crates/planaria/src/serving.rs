//! What a server of a protocol needs: of the database, of its sessions, statements and tickets.
//!
//! **Not covered by the promise of semantic versions**: what is here changes with the server (`planaria-server`),
//! whenever that has to. Whoever embeds the database needs none of it.
//!
//! ```text
//!  text --parse--> Parsed --ServedSession::prepare_parsed--> Statement --ServedSession::start--> Done
//!                                                                          rows to a RowSink, Ticket to the disk
//! ```
//!
//! * [`ServedDatabase`]: who may log in ([`Role`], [`scram`]), who is connected ([`Clients`]), what the server tells SQL of
//!   itself ([`Host`]), memory that it takes for its clients ([`Hold`]).
//! * [`ServedSession`]: statements that were parsed before, run without waiting for the disk, their rows lent to a
//!   [`RowSink`]; and one session for many clients, each with a [`SessionState`].
//! * [`ServedStatement`]: what a statement does, so that it can be done in another way: COPY, FETCH.
//! * [`ServedTicket`]: waiting for the disk no longer than a client does.
//!
//! ```
//! # fn main() -> planaria::Result<()> {
//! use planaria::serving::{RowRef, RowSink, ServedSession, parse};
//!
//! /// Counts the rows that it is lent.
//! struct Count(usize);
//! impl RowSink for Count {
//!     fn restart(&mut self) {
//!         self.0 = 0;
//!     }
//!     fn row(&mut self, _: RowRef<'_>) -> planaria::Result<()> {
//!         self.0 += 1;
//!         Ok(())
//!     }
//! }
//!
//! let db = planaria::Database::in_memory()?;
//! let mut session = db.session()?;
//! let parsed = parse("SELECT n FROM generate_series(1, 3) n")?.remove(0);
//! let statement = session.prepare_parsed(&parsed, &[])?;
//! let mut count = Count(0);
//! let done = session.start(&statement, &(), &mut count)?;
//! done.ticket.wait()?;
//! assert_eq!((count.0, done.count), (3, 3));
//! # Ok(()) }
//! ```

pub(crate) mod clients;
mod database;
pub(crate) mod hold;
pub(crate) mod host;
pub(crate) mod role;
pub mod scram;
pub(crate) mod session;
pub(crate) mod statement;
mod ticket;

pub use crate::session::copy_triggers::{CopiedRow, CopyTriggers};
pub use crate::sink::{RowRef, RowSink, ValueRef};
pub use clients::{Client, ClientState, Clients, Signal};
pub use database::ServedDatabase;
pub use hold::Hold;
pub use host::{Host, HostChange, HostSetting, StatementStatistics};
pub use planaria_base::RoleId;
pub use planaria_syntax::ast::copy::{CopyColumns, CopyFormat, CopyHeader, CopyOptions};
pub use role::Role;
pub use session::{Inbox, ServedSession, SessionState};
pub use statement::{CopyForm, Done, Parsed, ServedStatement, StatementKind, parse};
pub use ticket::ServedTicket;
