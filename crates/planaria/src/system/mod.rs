//! The system catalogs' rows, and answers to questions about them.
//!
//! Nothing of `pg_catalog` is stored: when a query reads a system relation, its rows are made from the
//! schema version that the query runs under, from counters of the storage, and from the session.
//!
//! | file | makes |
//! |---|---|
//! | `rows` | the shape of rows; which relation is made by whom |
//! | `relations` | `pg_class`, `pg_attribute`, `pg_index`, `pg_attrdef`, `pg_sequence`, `pg_rewrite` |
//! | `types` | `pg_type` |
//! | `constraints` | `pg_constraint`, `pg_depend` |
//! | `routines` | `pg_proc` |
//! | `server` | databases, schemas, roles, settings, activity, statistics |
//! | `definitions`, `describe` | texts: `pg_get_indexdef` and its like |
//! | `privileges` | `has_table_privilege` and its like |
//! | `answers` | a [`planaria_ir::Question`] and its arguments to a value |
//!
//! Invariants: OIDs come from the catalog (`planaria_catalog::oids`) or are PostgreSQL's own; a relation that
//! has no maker and no fixed rows is empty.

mod answers;
mod constraints;
mod definitions;
mod describe;
mod privileges;
mod relations;
mod routines;
mod rows;
mod server;
mod types;

pub(crate) use answers::answer;
pub(crate) use rows::push_rows;

use crate::clients::Clients;
use crate::engine::program::cursor::Cursors;
use crate::engine::program::settings::Settings;
use crate::engine::waits::LockInfo;
use crate::engine::{RestartFacts, SnapshotInfo};
use crate::stats::Memory;
use planaria_base::{RoleId, SequenceId, TableId};
use planaria_catalog::Catalog;
use planaria_storage::OldUse;
use std::sync::Arc;

/// What rows and answers are made from.
pub(crate) struct Facts<'a> {
    /// Definitions.
    pub(crate) catalog: &'a Catalog,
    /// Rows and bytes.
    pub(crate) stock: &'a dyn Stock,
    /// What the session has set.
    pub(crate) settings: &'a mut Settings,
    /// Cursors that the session has open.
    pub(crate) cursors: &'a Cursors,
    /// Whose rights hold.
    pub(crate) role: RoleId,
    /// Who began the session.
    pub(crate) session_user: RoleId,
    /// Number of the session.
    pub(crate) session: i32,
    /// Who is connected to the server.
    pub(crate) clients: Option<Arc<dyn Clients>>,
    /// When the engine was started: microseconds since 2000-01-01 UTC.
    pub(crate) started: i64,
    /// The time now, in the same unit.
    pub(crate) now: i64,
    /// What the engine knows of itself.
    pub(crate) vitals: &'a dyn Vitals,
}

/// How much there is of a table: live rows, bytes of rows, bytes of indexes.
#[derive(Clone, Copy, Default)]
pub(crate) struct Amount {
    pub(crate) rows: u64,
    pub(crate) row_bytes: u64,
    pub(crate) index_bytes: u64,
}

/// The engine as the catalogs speak of it.
pub(crate) trait Vitals {
    /// Snapshots that are open.
    fn snapshots(&self) -> Vec<SnapshotInfo>;
    /// What a restart would take.
    fn restart(&self) -> RestartFacts;
    /// The memory budget, if there is one, what sessions take, and what the log has not written yet.
    fn budget(&self) -> (Option<u64>, u64, u64);
    /// What sessions have locked, and what they wait for.
    fn locks(&self) -> Vec<LockInfo>;
    /// The sessions that do not go on and wait for no lock, by their numbers, with the wait events of that: types and names.
    fn pauses(&self) -> Vec<(i32, (&'static str, &'static str))>;
    /// The sessions that a session waits for, by their numbers, in rising order.
    fn blockers(&self, process: i32) -> Vec<i32>;
}

/// Storage as the catalogs speak of it.
pub(crate) trait Stock {
    /// How much there is of a table.
    fn amount(&self, table: TableId) -> Amount;
    /// The value last drawn from a sequence; `None` before the first.
    fn last_value(&self, sequence: SequenceId) -> Option<i64>;
    /// What all of it takes.
    fn memory(&self) -> Memory;
    /// What is kept of rows for the readers of snapshots.
    fn old_versions(&self) -> OldUse;
}
