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
//! | `statistics` | `pg_statistic_ext` |
//! | `extensions` | `pg_extension` and those that can be made; the type of `citext` |
//! | `triggers` | `pg_trigger` |
//! | `policies` | `pg_policy` |
//! | `partitions` | `pg_partitioned_table`, `pg_inherits` |
//! | `server` | databases, schemas, roles, settings, activity, statistics |
//! | `definitions`, `shown`, `describe` | texts: `pg_get_indexdef` and its like |
//! | `privileges` | `has_table_privilege` and its like |
//! | `grants` | `information_schema.table_privileges` and its like |
//! | `vitals` | what the engine and a session tell of themselves |
//! | `answers` | a [`planaria_ir::Question`] and its arguments to a value |
//!
//! Invariants: OIDs come from the catalog (`planaria_catalog::oids`) or are PostgreSQL's own; a relation that
//! has no maker and no fixed rows is empty.

mod answers;
mod constraints;
mod definitions;
mod describe;
mod extensions;
mod grants;
mod partitions;
mod policies;
mod privileges;
mod relations;
mod routines;
mod rows;
mod server;
mod shown;
mod statistics;
mod triggers;
mod types;
mod vitals;

pub(crate) use answers::answer;
pub(crate) use privileges::{may_become, setting_of_role};
pub(crate) use rows::push_rows;
pub(crate) use shown::key_of_errors as shown_key;
pub(crate) use vitals::{
    AdvisoryLock, Amount, Awaited, CursorInfo, LockInfo, NamedInfo, NamedStatements, OpenCursors,
    RestartFacts, SnapshotInfo, Stock, Vitals,
};

use crate::serving::clients::Clients;
use crate::serving::host::Host;
use crate::settings::Settings;
use planaria_base::RoleId;
use planaria_catalog::Catalog;
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
    pub(crate) cursors: &'a dyn OpenCursors,
    /// Statements that the session has names for.
    pub(crate) statements: &'a dyn NamedStatements,
    /// Whose rights hold.
    pub(crate) role: RoleId,
    /// Who began the session.
    pub(crate) session_user: RoleId,
    /// Number of the session.
    pub(crate) session: i32,
    /// Who is connected to the server.
    pub(crate) clients: Option<Arc<dyn Clients>>,
    /// The server itself.
    pub(crate) host: Option<Arc<dyn Host>>,
    /// When the engine was started: microseconds since 2000-01-01 UTC.
    pub(crate) started: i64,
    /// The time now, in the same unit.
    pub(crate) now: i64,
    /// What the engine knows of itself.
    pub(crate) vitals: &'a dyn Vitals,
}
