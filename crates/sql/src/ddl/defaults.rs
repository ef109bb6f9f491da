//! ALTER ROLE .. SET, ALTER DATABASE .. SET. Whether there is a setting and may have the value is known above.

use super::Change;
use super::role::denied;
use planaria_base::{Result, RoleId};
use planaria_catalog::Object;
use planaria_syntax::ast::{DefaultsChange, DefaultsOf};

impl Change {
    pub(super) fn alter_defaults(
        &mut self,
        of: &DefaultsOf,
        change: &DefaultsChange,
    ) -> Result<&'static str> {
        let (role, in_database, tag) = match of {
            DefaultsOf::Role(role, database) => {
                let role = role.as_ref().map(|role| self.role_of(role)).transpose()?;
                database.as_ref().map(|named| self.check_is_ours(named)).transpose()?;
                match role {
                    Some(role) => self.check_may_set(role)?,
                    None if database.is_some() => {
                        self.catalog.require_owner(self.actor.user, &Object::Database)?
                    }
                    None if self.is_superuser() => {}
                    None => return Err(denied("must be superuser to alter settings globally")),
                }
                (role, database.is_some(), "ALTER ROLE")
            }
            DefaultsOf::Database(name) => {
                self.check_is_ours(name)?;
                self.catalog.require_owner(self.actor.user, &Object::Database)?;
                (None, true, "ALTER DATABASE")
            }
        };
        self.catalog.change_defaults(role, in_database, |settings| match change {
            DefaultsChange::Set(name, value) => {
                let (name, value) = (name.to_ascii_lowercase(), value.join(", "));
                match settings.iter_mut().find(|(is, _)| *is == name) {
                    Some(setting) => setting.1 = value,
                    None => settings.push((name, value)),
                }
            }
            DefaultsChange::Reset(name) => settings.retain(|(is, _)| !is.eq_ignore_ascii_case(name)),
            DefaultsChange::ResetAll => settings.clear(),
        });
        Ok(tag)
    }

    /// 42501 where the actor may not say what the sessions of a role begin with. Whoever it is may say so of its own.
    fn check_may_set(&self, role: RoleId) -> Result<()> {
        if self.is_superuser() {
            return Ok(());
        }
        if self.catalog.is_superuser(role) {
            return Err(denied("must be superuser to alter superusers"));
        }
        if self.may_create_roles() || role == self.actor.user {
            return Ok(());
        }
        Err(denied("permission denied"))
    }
}
