//! Row-level security.

use super::{Expr, Name, RoleSpec};
use planaria_catalog::PolicyCommand;

/// CREATE POLICY
#[derive(Clone, PartialEq, Debug)]
pub struct CreatePolicy {
    /// Name.
    pub name: String,
    /// Its table.
    pub table: Name,
    /// AS PERMISSIVE
    pub permissive: bool,
    /// FOR
    pub command: PolicyCommand,
    /// TO; empty: nothing was said
    pub roles: Vec<RoleSpec>,
    /// USING, with its text
    pub using: Option<(Expr, String)>,
    /// WITH CHECK, with its text
    pub check: Option<(Expr, String)>,
}

/// What ALTER POLICY changes.
#[derive(Clone, PartialEq, Debug)]
pub enum PolicyChange {
    /// RENAME TO
    Rename(String),
    /// What was said of it becomes so.
    Set {
        /// TO; empty: as they are
        roles: Vec<RoleSpec>,
        /// USING, with its text
        using: Option<(Expr, String)>,
        /// WITH CHECK, with its text
        check: Option<(Expr, String)>,
    },
}
