//! Roles as a server needs them: who may log in, and with what password.

use planaria_base::RoleId;

/// A role, as of the newest schema change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Role {
    /// Its number, which stays when it is renamed.
    pub id: RoleId,
    /// Name.
    pub name: String,
    /// Whether it may log in.
    pub login: bool,
    /// Whether no rights are checked.
    pub superuser: bool,
    /// The verifier of its password, in PostgreSQL's text form; parse it as a
    /// [`Verifier`](crate::serving::scram::Verifier). `None`: no password opens it.
    pub verifier: Option<String>,
    /// Until when the password holds: microseconds since 2000-01-01 UTC, `i64::MAX` for ever. `None`: for
    /// ever.
    pub valid_until: Option<i64>,
    /// Sessions it may have at a time; -1: any number.
    pub connection_limit: i32,
}

impl From<&planaria_catalog::Role> for Role {
    fn from(role: &planaria_catalog::Role) -> Role {
        Role {
            id: role.id,
            name: role.name.clone(),
            login: role.login,
            superuser: role.superuser,
            verifier: role.verifier.clone(),
            valid_until: role.valid_until,
            connection_limit: role.connection_limit,
        }
    }
}
