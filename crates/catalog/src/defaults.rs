//! Settings that sessions begin with: ALTER ROLE .. SET, ALTER DATABASE .. SET.

use crate::Catalog;
use planaria_base::RoleId;
use serde::{Deserialize, Serialize};

/// CACHE of a sequence that says nothing.
pub(crate) fn one() -> i64 {
    1
}

/// What some sessions begin with: a row of PostgreSQL's `pg_db_role_setting`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Defaults {
    /// Whose sessions; `None`: those of all roles.
    pub role: Option<RoleId>,
    /// Said of the database. There is one, so that only decides which of two counts.
    pub in_database: bool,
    /// Names and values, in the order in which they were set first.
    pub settings: Vec<(String, String)>,
}

impl Catalog {
    /// What is set of the sessions of a role (of all, without), in the database or everywhere.
    pub fn defaults(&self, role: Option<RoleId>, in_database: bool) -> &[(String, String)] {
        let found = self.defaults.iter().find(|d| d.role == role && d.in_database == in_database);
        found.map_or(&[], |d| &d.settings)
    }

    /// What the sessions of a role begin with; of two values of one setting the later counts.
    pub fn session_defaults(&self, role: RoleId) -> impl Iterator<Item = &(String, String)> {
        let of = [(None, false), (None, true), (Some(role), false), (Some(role), true)];
        of.into_iter().flat_map(|(role, in_database)| self.defaults(role, in_database))
    }

    /// Changes what [`Catalog::defaults`] answers.
    pub fn change_defaults(
        &mut self,
        role: Option<RoleId>,
        in_database: bool,
        change: impl FnOnce(&mut Vec<(String, String)>),
    ) {
        let is_it = |d: &Defaults| d.role == role && d.in_database == in_database;
        let at = self.defaults.iter().position(is_it).unwrap_or_else(|| {
            self.defaults.push(Defaults { role, in_database, settings: Vec::new() });
            self.defaults.len() - 1
        });
        change(&mut self.defaults[at].settings);
        if self.defaults[at].settings.is_empty() {
            self.defaults.remove(at);
        }
    }
}
