//! Settings that say who changes what, and where names lead. `set_config()` of the role: a program runs as one role from its
//! beginning to its end, so the session becomes another when the statement is over that called it.

use super::{OF_TRANSACTIONS, Settings, find, moved, put, unknown, value_of};
use planaria_base::{Error, Result};
use std::collections::BTreeMap;

/// Says for whom changes are made.
pub(crate) const REPLICATION_ROLE: &str = "session_replication_role";

/// What a routine may set while it runs: 42704 for an unknown name, 22023 for a value it cannot have, 0A000 for what says how a
/// transaction is, or who runs it.
pub(crate) fn check_own(name: &str, value: Option<&[String]>) -> Result<()> {
    let lower = name.to_ascii_lowercase();
    if OF_TRANSACTIONS.contains(&lower.as_str()) || matches!(&*lower, "role" | "session_authorization") {
        let what = format!("a routine that sets \"{lower}\" is not supported");
        return Err(Error::unsupported(what, "Set it before the routine is called."));
    }
    match value {
        // Its triggers and keys are what the session has.
        Some(value) if lower == REPLICATION_ROLE && !value.iter().all(|v| v == "origin") => {
            let what = format!("a routine that sets \"{lower}\" is not supported");
            Err(Error::unsupported(what, "Set it before the routine is called."))
        }
        Some(value) => value_of(name, value, &Settings::default()).map(|_| ()),
        None if lower == "all" || lower.contains('.') || find(&lower).is_some() => Ok(()),
        None => Err(unknown(name)),
    }
}

impl Settings {
    /// Whether changes of another server are applied.
    pub(crate) fn is_replica(&self) -> bool {
        self.values.get(REPLICATION_ROLE).is_some_and(|v| v == "replica")
    }

    /// Whether a program may have been made along another path than the one that is set now.
    #[inline]
    pub(crate) fn path_was_set(&self) -> bool {
        self.path_set
    }

    /// `set_config()` of the role, which is one that the session may become: it does when the statement is over
    /// ([`Settings::asked_role`]).
    pub(crate) fn set_role_by_function(&mut self, role: String, local: bool) {
        if self.before.is_none() {
            self.begin_within();
            self.of_statement = true;
        }
        let was = self.was("role");
        put(&mut self.values, "role", Some(role.clone()));
        if !local && let Some(after) = &mut self.after {
            put(after, "role", Some(role));
        }
        self.changes = moved();
        self.note(was);
        self.role_asked = Some(!local || self.role_asked == Some(true));
    }

    /// The role that `set_config()` has named since this was asked last: now, and when the transaction has committed, if it
    /// has said that.
    #[inline]
    pub(crate) fn asked_role(&mut self) -> Option<(String, Option<String>)> {
        let outlasts = self.role_asked.take()?;
        let of =
            |values: &BTreeMap<String, String>| values.get("role").map_or("none", |role| role).to_owned();
        let after = outlasts.then(|| of(self.after.as_ref().unwrap_or(&self.values)));
        Some((of(&self.values), after))
    }
}
