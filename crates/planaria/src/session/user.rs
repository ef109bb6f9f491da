//! Who a session is: the user it logged in as, SET SESSION AUTHORIZATION, SET ROLE.
//!
//! Settings made in a transaction block are undone with it, those made LOCAL end with it.

use planaria_base::{Error, Result, RoleId, SqlState};
use planaria_catalog::{Catalog, Object, Privileges, Requirement, SUPERUSER};
use planaria_sql::ddl::Actor;

/// `session_user`, and the role that SET ROLE chose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    pub(crate) session: RoleId,
    pub(crate) role: Option<RoleId>,
}

impl From<Actor> for Identity {
    fn from(actor: Actor) -> Identity {
        Identity { session: actor.session_user, role: Some(actor.user) }
    }
}

/// See the module's head.
pub(crate) struct User {
    /// Logged in as this.
    pub(crate) authenticated: RoleId,
    pub(crate) now: Identity,
    /// What it will be when the transaction block is committed.
    after_commit: Identity,
    /// What it was when it began.
    at_begin: Identity,
}

impl Default for User {
    /// The first superuser: who opens a database is asked nothing.
    fn default() -> User {
        User::new(SUPERUSER)
    }
}

impl User {
    pub(crate) fn new(role: RoleId) -> User {
        let identity = Identity { session: role, role: None };
        User { authenticated: role, now: identity, after_commit: identity, at_begin: identity }
    }

    /// `current_user`
    #[inline]
    pub(crate) fn current(&self) -> RoleId {
        match self.now.role {
            Some(role) => role,
            None => self.now.session,
        }
    }

    /// `session_user`
    pub(crate) fn session(&self) -> RoleId {
        self.now.session
    }

    /// Who made a change of the schema that is replayed, for as long as that takes; answers with who it was.
    pub(crate) fn act(&mut self, identity: Identity) -> Identity {
        std::mem::replace(&mut self.now, identity)
    }

    pub(crate) fn begin(&mut self) {
        self.at_begin = self.now;
    }

    pub(crate) fn end(&mut self, committed: bool) {
        self.now = if committed { self.after_commit } else { self.at_begin };
        self.after_commit = self.now;
    }

    /// What it is, and what it will be when the transaction block is committed: LOCAL settings end there, whatever savepoints
    /// are gone back to.
    pub(crate) fn at_savepoint(&self) -> (Identity, Identity) {
        (self.now, self.after_commit)
    }

    /// Back to a savepoint, with what was said there.
    pub(crate) fn back_to(&mut self, (now, after_commit): (Identity, Identity)) {
        self.now = now;
        self.after_commit = after_commit;
    }

    /// Has the session be a role now, and be one when the transaction has committed, if that was said.
    pub(crate) fn become_role(&mut self, now: Option<RoleId>, after: Option<Option<RoleId>>) {
        self.now.role = now;
        if let Some(role) = after {
            self.after_commit.role = role;
        }
    }

    pub(crate) fn set(&mut self, local: bool, change: impl Fn(&mut Identity)) {
        change(&mut self.now);
        if !local {
            change(&mut self.after_commit);
        }
    }
}

/// The part of a compiled thing's key that is compared on each call: the catalog version and the role it
/// was checked for.
#[inline]
pub(crate) fn stamp(version: u64, role: RoleId) -> u64 {
    version << ROLE_BITS | u64::from(role.0)
}

const ROLE_BITS: u32 = planaria_base::limits::ROLES_MAX.ilog2();

/// A role that may log in; 28000 where there is none.
pub(crate) fn log_in(catalog: &Catalog, name: &str) -> Result<RoleId> {
    let refused = |message| Error::new(SqlState::INVALID_AUTHORIZATION_SPECIFICATION, message);
    let role = catalog.role(name).ok_or_else(|| refused(format!("role \"{name}\" does not exist")))?;
    if !role.login {
        return Err(refused(format!("role \"{name}\" is not permitted to log in")));
    }
    let connect = Requirement::new(Object::Database, Privileges::CONNECT);
    catalog.require(role.id, &connect).map_err(|e| e.with_detail("User does not have CONNECT privilege."))?;
    Ok(role.id)
}
