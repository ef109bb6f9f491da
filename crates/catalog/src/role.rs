//! Roles: users and groups, who is a member of what, and what follows from that.
//!
//! A role is PostgreSQL's: a user if it may log in, a group if it has members. Membership is a
//! directed graph without circles; a role that *inherits* uses the privileges of the roles it is a
//! member of without SET ROLE.

use crate::{Catalog, ObjectKind, Privileges};
use planaria_base::oid::Oid;
use planaria_base::{Error, Result, RoleId, SqlState};
use serde::{Deserialize, Serialize};

/// The superuser that every database is made with. Its name can be changed, it cannot be dropped.
pub const SUPERUSER: RoleId = RoleId(0);

/// Name of the first superuser: what clients of PostgreSQL guess. A constant, because the state that a
/// log is replayed from must not depend on the machine.
pub const SUPERUSER_NAME: &str = "postgres";

/// The roles that every database of PostgreSQL has, with their OIDs. Here one comes to be when it first gets a member.
pub const PREDEFINED: [(&str, Oid); 12] = [
    ("pg_checkpoint", 4544),
    DATABASE_OWNER,
    ("pg_execute_server_program", 4571),
    ("pg_monitor", 3373),
    ("pg_read_all_data", READ_ALL.1),
    ("pg_read_all_settings", 3374),
    ("pg_read_all_stats", 3375),
    ("pg_read_server_files", 4569),
    ("pg_signal_backend", 4200),
    ("pg_stat_scan_tables", 3377),
    ("pg_write_all_data", WRITE_ALL.1),
    ("pg_write_server_files", 4570),
];

/// Whoever owns the database.
pub const DATABASE_OWNER: (&str, Oid) = ("pg_database_owner", 6171);

/// The predefined role that is a member of others, and those.
pub const MONITOR: (&str, [&str; 3]) =
    ("pg_monitor", ["pg_read_all_settings", "pg_read_all_stats", "pg_stat_scan_tables"]);

/// Whose members may read all tables, views and sequences.
const READ_ALL: (&str, Oid) = ("pg_read_all_data", 6181);

/// Whose members may change all tables, views and sequences.
const WRITE_ALL: (&str, Oid) = ("pg_write_all_data", 6182);

/// A role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// Id. Never reused.
    pub id: RoleId,
    /// Name, in lower case unless quoted.
    pub name: String,
    /// SUPERUSER: no rights are checked.
    pub superuser: bool,
    /// INHERIT: has the privileges of the roles it is a member of.
    pub inherit: bool,
    /// CREATEROLE: may make, change and drop roles that are no superusers.
    pub create_role: bool,
    /// CREATEDB: kept for clients; there is one database.
    pub create_db: bool,
    /// LOGIN
    pub login: bool,
    /// REPLICATION: kept for clients.
    pub replication: bool,
    /// BYPASSRLS: policies of tables do not bind it.
    pub bypass_rls: bool,
    /// CONNECTION LIMIT; -1 is none.
    pub connection_limit: i32,
    /// The password's SCRAM-SHA-256 verifier, in PostgreSQL's text form. Never the password.
    pub verifier: Option<String>,
    /// VALID UNTIL of the password: microseconds since 2000-01-01 UTC; `i64::MAX` is infinity.
    pub valid_until: Option<i64>,
    /// Roles it is a member of.
    pub member_of: Vec<Membership>,
    /// COMMENT ON
    #[serde(default)]
    pub comment: Option<String>,
}

/// A role's membership in another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// The group.
    pub role: RoleId,
    /// WITH ADMIN OPTION: the member may let others in.
    pub admin: bool,
    /// Who granted it.
    pub grantor: RoleId,
}

impl Role {
    /// What CREATE ROLE without options makes.
    pub fn new(id: RoleId, name: impl Into<String>) -> Role {
        Role {
            id,
            name: name.into(),
            superuser: false,
            inherit: true,
            create_role: false,
            create_db: false,
            login: false,
            replication: false,
            bypass_rls: false,
            connection_limit: -1,
            verifier: None,
            valid_until: None,
            member_of: Vec::new(),
            comment: None,
        }
    }

    /// The role that a database is made with.
    pub fn bootstrap() -> Role {
        Role {
            superuser: true,
            create_role: true,
            create_db: true,
            login: true,
            replication: true,
            bypass_rls: true,
            ..Role::new(SUPERUSER, SUPERUSER_NAME)
        }
    }
}

impl Catalog {
    /// A role by name.
    pub fn role(&self, name: &str) -> Option<&Role> {
        self.roles.candidates(crate::definitions::Key::name(name)).find(|r| r.name == name)
    }

    /// A role by name; 42704 where there is none.
    pub fn role_named(&self, name: &str) -> Result<&Role> {
        self.role(name).ok_or_else(|| no_role(name))
    }

    /// A role by id; `None` where it was dropped.
    pub fn role_by_id(&self, id: RoleId) -> Option<&Role> {
        self.roles.get(id.index())?.as_deref()
    }

    /// The name of a role; its number where it was dropped.
    pub fn role_name(&self, id: RoleId) -> String {
        self.role_by_id(id).map_or_else(|| id.0.to_string(), |r| r.name.clone())
    }

    /// Whether a role is a superuser. A dropped one is none.
    pub fn is_superuser(&self, id: RoleId) -> bool {
        self.role_by_id(id).is_some_and(|r| r.superuser)
    }

    /// Roles reached from `member` over memberships, itself first; only through roles that inherit, if
    /// `inheriting`.
    fn reached(&self, member: RoleId, inheriting: bool) -> Vec<RoleId> {
        let mut all = vec![member];
        let mut next = 0;
        while next < all.len() {
            if let Some(role) = self.role_by_id(all[next])
                && (role.inherit || !inheriting)
            {
                let of_monitor = MONITOR.1.iter().filter(|_| role.name == MONITOR.0);
                let of_monitor = of_monitor.filter_map(|name| self.role(name)).map(|role| role.id);
                for role in role.member_of.iter().map(|m| m.role).chain(of_monitor) {
                    if !all.contains(&role) {
                        all.push(role);
                    }
                }
            }
            next += 1;
        }
        all
    }

    /// Whether `member` has the privileges of `role` now: it is that role, inherits from it, or is a
    /// superuser.
    pub fn has_privileges_of(&self, member: RoleId, role: RoleId) -> bool {
        member == role || self.is_superuser(member) || self.reached(member, true).contains(&role)
    }

    /// What a role may do with objects of a kind, whichever, by its memberships in predefined roles.
    pub(crate) fn predefined_privileges(&self, member: RoleId, kind: ObjectKind) -> Privileges {
        let changes = match kind {
            ObjectKind::Table | ObjectKind::View => {
                Privileges::INSERT.with(Privileges::UPDATE).with(Privileges::DELETE)
            }
            ObjectKind::Sequence => Privileges::UPDATE,
            ObjectKind::Schema | ObjectKind::Public => Privileges::USAGE,
            _ => return Privileges::NONE,
        };
        let reads = if changes == Privileges::USAGE { changes } else { Privileges::SELECT };
        let mut all = Privileges::NONE;
        for ((name, _), privileges) in [(READ_ALL, reads), (WRITE_ALL, changes)] {
            if self.role(name).is_some_and(|role| self.has_privileges_of(member, role.id)) {
                all = all.with(privileges);
            }
        }
        all
    }

    /// Whether `member` may become `role` by SET ROLE.
    pub fn is_member_of(&self, member: RoleId, role: RoleId) -> bool {
        self.is_superuser(member) || self.is_member_nosuper(member, role)
    }

    /// The same over memberships alone.
    pub fn is_member_nosuper(&self, member: RoleId, role: RoleId) -> bool {
        self.reached(member, false).contains(&role)
    }

    /// Whether `member` may grant membership in `role`: over a membership WITH ADMIN OPTION of its own
    /// or of a role it is a member of.
    pub fn is_admin_of(&self, member: RoleId, role: RoleId) -> bool {
        self.is_superuser(member)
            || self.reached(member, false).into_iter().any(|r| {
                self.role_by_id(r).is_some_and(|r| r.member_of.iter().any(|m| m.role == role && m.admin))
            })
    }
}

/// 42704
pub fn no_role(name: &str) -> Error {
    Error::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}
