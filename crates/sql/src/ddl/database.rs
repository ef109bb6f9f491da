//! What the database is called: by its own name, and by whatever name a client connected to.

use super::Change;
use planaria_base::{Error, Result, SqlState};
use planaria_catalog::DATABASE;
use planaria_syntax::ast::{CommentTarget, DefaultsOf, GrantTarget, OwnedObject, Position, StatementKind};

/// The names of databases in a schema change.
pub fn databases_named(statement: &StatementKind) -> Vec<&str> {
    match statement {
        StatementKind::Grant(grant) => match &grant.target {
            GrantTarget::Databases(names) => names.iter().map(|(name, _)| &**name).collect(),
            _ => Vec::new(),
        },
        StatementKind::Comment { on: CommentTarget::Database(name), .. }
        | StatementKind::AlterOwner { object: OwnedObject::Database(name, _), .. }
        | StatementKind::AlterDefaults {
            of: DefaultsOf::Role(_, Some((name, _))) | DefaultsOf::Database((name, _)),
            ..
        } => vec![name],
        _ => Vec::new(),
    }
}

impl Change {
    pub(super) fn is_ours(&self, name: &str) -> bool {
        self.actor.any_database || name == DATABASE
    }

    /// 3D000 where it is another's name.
    pub(super) fn check_is_ours(&self, (name, _): &(String, Position)) -> Result<()> {
        if self.is_ours(name) {
            return Ok(());
        }
        let message = format!("database \"{name}\" does not exist");
        Err(Error::new(SqlState::INVALID_CATALOG_NAME, message))
    }
}
