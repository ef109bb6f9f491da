//! What the server around the engine tells SQL of itself: its settings (`SHOW`, `pg_settings`, `ALTER SYSTEM`,
//! `pg_reload_conf`) and what statements have taken (`pg_stat_statements`).
//!
//! The engine has none of it: the server lends it a [`Host`], see [`crate::serving::ServedDatabase::hosted_by`]. Where nobody does, there are
//! no such settings and no statistics.

use planaria_base::{Error, Result, RoleId, SqlState};
use std::sync::Arc;

/// A setting of the server, for people.
#[derive(Clone, Debug, Default)]
pub struct HostSetting {
    /// Its name.
    pub name: String,
    /// Its value now.
    pub value: String,
    /// What it is where nobody says anything.
    pub default: String,
    /// What it is for.
    pub description: String,
    /// Its values: `bool`, `integer`, `string`, as `pg_settings` has them.
    pub kind: &'static str,
    /// Whether it changes when the settings are read again; else only with the next start.
    pub reloadable: bool,
    /// Where its value is from, in PostgreSQL's words.
    pub source: &'static str,
    /// It has another value in the files, which waits for the next start.
    pub pending_restart: bool,
}

/// What `ALTER SYSTEM` is to change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HostChange<'a> {
    /// SET name = value
    Set(&'a str, &'a str),
    /// RESET name
    Reset(&'a str),
    /// RESET ALL
    ResetAll,
}

/// What the statements of one text, but for its constants, have taken for a role. Times are milliseconds.
#[derive(Clone, Debug)]
pub struct StatementStatistics {
    /// Who ran them.
    pub role: RoleId,
    /// A hash of the text.
    pub id: i64,
    /// The text, with `$1`, `$2` in place of its constants.
    pub text: Arc<str>,
    /// How often they ran, successfully.
    pub calls: u64,
    /// Rows that they gave or changed.
    pub rows: u64,
    /// Of all of them.
    pub total: f64,
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// The standard deviation.
    pub deviation: f64,
}

/// See the module's head.
pub trait Host: Send + Sync {
    /// All its settings, by name.
    fn settings(&self) -> Vec<HostSetting>;
    /// Notes a change in the file for that; it counts from when the settings are read again. 42704 for a name that
    /// there is not, 22023 for a value it cannot have.
    fn alter(&self, change: &HostChange<'_>) -> Result<()>;
    /// Has the settings read again, soon.
    fn reload(&self) -> Result<()>;
    /// What statements have taken since the start, or since they were forgotten.
    fn statements(&self) -> Vec<StatementStatistics>;
    /// Forgets what statements have taken.
    fn forget_statements(&self);
    /// When the settings were read last: microseconds since 2000-01-01 UTC.
    fn loaded(&self) -> i64;
}

/// The setting of the server that has a name, whatever its letters' case.
pub(crate) fn setting(host: Option<&Arc<dyn Host>>, name: &str) -> Option<HostSetting> {
    host?.settings().into_iter().find(|s| s.name.eq_ignore_ascii_case(name))
}

/// 55P02: of SET, for a setting that is the server's.
pub(crate) fn not_of_a_session(setting: &HostSetting) -> Error {
    let (message, hint) = match setting.reloadable {
        true => (
            format!("parameter \"{}\" cannot be changed now", setting.name),
            "It is the server's: ALTER SYSTEM SET changes it, and SELECT pg_reload_conf() has that read.",
        ),
        false => (
            format!("parameter \"{}\" cannot be changed without restarting the server", setting.name),
            "ALTER SYSTEM SET notes a value for the next start.",
        ),
    };
    Error::new(SqlState::CANT_CHANGE_RUNTIME_PARAM, message).with_hint(hint)
}
