//! Row-level security: which rows of a table a role sees and may store.
//!
//! A policy belongs to its table and goes with it. Its conditions are kept as SQL text over the table's columns; programs
//! that read or write the table are lowered with them. Whom they concern is a matter of the catalog alone:
//! [`Catalog::is_exempt`] says who is not bound by any, [`Policy::is_for`] whom one is for.

use crate::{Catalog, Table};
use planaria_base::{RoleId, TableId};
use serde::{Deserialize, Serialize};

/// What a policy is for.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub enum PolicyCommand {
    /// ALL
    #[default]
    All,
    /// SELECT
    Select,
    /// INSERT
    Insert,
    /// UPDATE
    Update,
    /// DELETE
    Delete,
}

impl PolicyCommand {
    /// Its word.
    pub const fn word(self) -> &'static str {
        match self {
            PolicyCommand::All => "ALL",
            PolicyCommand::Select => "SELECT",
            PolicyCommand::Insert => "INSERT",
            PolicyCommand::Update => "UPDATE",
            PolicyCommand::Delete => "DELETE",
        }
    }

    /// `polcmd`
    pub const fn letter(self) -> char {
        match self {
            PolicyCommand::All => '*',
            PolicyCommand::Select => 'r',
            PolicyCommand::Insert => 'a',
            PolicyCommand::Update => 'w',
            PolicyCommand::Delete => 'd',
        }
    }
}

/// A policy of a table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Policy {
    /// Name, unique among those of the table.
    pub name: String,
    /// Not RESTRICTIVE: any of these lets a row pass, all restrictive ones must.
    pub permissive: bool,
    /// What it is for.
    pub command: PolicyCommand,
    /// Whom it is for; empty: PUBLIC, everybody.
    pub roles: Vec<RoleId>,
    /// USING, as SQL text: which rows are there.
    pub using: Option<String>,
    /// WITH CHECK, as SQL text: which rows may be stored.
    pub check: Option<String>,
    /// COMMENT ON
    #[serde(default)]
    pub comment: Option<String>,
}

impl Policy {
    /// Whether it concerns a role: itself, or a role whose privileges it has.
    pub fn is_for(&self, catalog: &Catalog, role: RoleId) -> bool {
        self.roles.is_empty() || self.roles.iter().any(|of| catalog.has_privileges_of(role, *of))
    }
    /// Its conditions.
    pub fn texts(&self) -> impl Iterator<Item = &String> {
        self.using.iter().chain(&self.check)
    }
    /// The same to be changed.
    pub fn texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        self.using.iter_mut().chain(&mut self.check)
    }
}

impl Table {
    /// A policy by name.
    pub fn policy(&self, name: &str) -> Option<&Policy> {
        self.policies.iter().find(|p| p.name == name)
    }
    /// Those that are for a command, in the order of their names.
    pub fn policies_for(&self, command: PolicyCommand) -> impl Iterator<Item = &Policy> {
        self.policies.iter().filter(move |p| p.command == command || p.command == PolicyCommand::All)
    }
}

impl Catalog {
    /// Whether the policies of a table do not bind a role: it has no row security, or the role is a superuser, has
    /// BYPASSRLS, or has the rights of the owner of a table without FORCE.
    pub fn is_exempt(&self, role: RoleId, table: TableId) -> bool {
        let table = self.table_by_id(table);
        if !table.row_security || self.role_by_id(role).is_some_and(|r| r.superuser || r.bypass_rls) {
            return true;
        }
        !table.force_row_security && self.has_privileges_of(role, table.rights.owner)
    }
}
