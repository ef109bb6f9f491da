//! `set_config()` of the role. A program runs as one role from its beginning to its end, so the session becomes another when
//! the statement is over that called it.

use super::{Settings, moved, put};
use std::collections::BTreeMap;

impl Settings {
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
