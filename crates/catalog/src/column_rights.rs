//! Privileges on columns of tables and views.
//!
//! What is granted on a column is beside what is granted on its table ([`Rights::columns`]): a statement may read,
//! insert or update a column if it has the privilege on the table, or on each column that it names. One that names
//! none, as `SELECT count(*)`, needs it on any of them.

use crate::{Catalog, Dependents, Grant, Object, Privileges, Requirement, Rights};
use planaria_base::{Error, Result, RoleId, SqlState};
use std::collections::BTreeSet;

/// The privileges there are on columns.
pub const ALL_OF_COLUMNS: Privileges =
    Privileges(Privileges::SELECT.0 | Privileges::INSERT.0 | Privileges::UPDATE.0 | Privileges::REFERENCES.0);

/// The columns that a privilege is needed for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Columns {
    /// The relation as a whole: no privilege on columns is enough.
    Whole,
    /// Each of these, or, where there are none, any.
    Named(BTreeSet<String>),
}

impl Rights {
    /// What was granted on a column.
    pub fn on_column(&self, column: &str) -> &[Grant] {
        self.columns.iter().find(|(name, _)| name == column).map_or(&[], |(_, grants)| grants)
    }

    /// Changes what was granted on a column: adds a grant, or takes one away.
    fn change_column(
        &mut self,
        column: &str,
        change: impl FnOnce(&Rights, &mut Vec<Grant>) -> Result<()>,
    ) -> Result<()> {
        let mut grants = self.on_column(column).to_vec();
        change(self, &mut grants)?;
        match self.columns.iter().position(|(name, _)| name == column) {
            Some(at) if grants.is_empty() => drop(self.columns.remove(at)),
            Some(at) => self.columns[at].1 = grants,
            None if grants.is_empty() => {}
            None => self.columns.push((column.to_owned(), grants)),
        }
        Ok(())
    }

    /// As [`Rights::grant`], on a column.
    pub fn grant_column(&mut self, column: &str, new: Grant) -> Result<()> {
        self.change_column(column, |rights, grants| rights.add(grants, new))
    }

    /// As [`Rights::revoke`], on a column.
    pub fn revoke_column(&mut self, column: &str, old: Grant, dependents: Dependents) -> Result<()> {
        self.change_column(column, |rights, grants| rights.take(grants, old, dependents))
    }

    /// A column is gone, or has another name.
    pub fn move_column(&mut self, column: &str, to: Option<&str>) {
        let Some(at) = self.columns.iter().position(|(name, _)| name == column) else { return };
        match to {
            Some(to) => to.clone_into(&mut self.columns[at].0),
            None => drop(self.columns.remove(at)),
        }
    }

    /// The columns in whose grants a role stands.
    pub fn columns_mentioning(&self, role: RoleId) -> impl Iterator<Item = &str> {
        let stands = move |(_, grants): &&(String, Vec<Grant>)| grants.iter().any(|g| g.mentions(role));
        self.columns.iter().filter(stands).map(|(name, _)| name.as_str())
    }
}

impl Catalog {
    /// The privileges that a role has on a column by what was granted on it alone, and those that it may grant; of
    /// PUBLIC where there is no role.
    pub fn granted_on_column(
        &self,
        role: Option<RoleId>,
        object: &Object,
        column: &str,
    ) -> (Privileges, Privileges) {
        let Some(rights) = self.rights(object) else { return Default::default() };
        let (mut all, mut options) = (Privileges::NONE, Privileges::NONE);
        for grant in rights.on_column(column) {
            let has = |to: RoleId| role.is_some_and(|role| self.has_privileges_of(role, to));
            if grant.grantee.is_none_or(has) {
                all = all.with(grant.privileges);
                options = options.with(grant.options);
            }
        }
        (all, options)
    }

    /// Whether privileges on columns are enough for what is required.
    pub(crate) fn permits_columns(&self, role: RoleId, requirement: &Requirement) -> bool {
        let Columns::Named(names) = &requirement.columns else { return false };
        let Some(rights) = self.rights(&requirement.object) else { return false };
        let has = |column: &str| {
            let (granted, _) = self.granted_on_column(Some(role), &requirement.object, column);
            granted.intersects(requirement.any_of)
        };
        match names.is_empty() {
            true => rights.columns.iter().any(|(name, _)| has(name)),
            false => names.iter().all(|name| has(name)),
        }
    }

    /// The columns of a table or view that can be named, in their order.
    pub fn named_columns(&self, object: &Object) -> Vec<&str> {
        match object {
            Object::Table(id) => self.table_by_id(*id).visible().map(|(_, c)| c.name.as_str()).collect(),
            Object::View(key) => {
                self.views.get(key).map_or(Vec::new(), |v| v.columns.iter().map(String::as_str).collect())
            }
            _ => Vec::new(),
        }
    }

    /// 42501 `permission denied for column a of relation t`
    pub fn denied_column(&self, object: &Object, column: &str) -> Error {
        let name = self.object_name(object);
        let message = format!("permission denied for column \"{column}\" of relation \"{name}\"");
        Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
    }
}
