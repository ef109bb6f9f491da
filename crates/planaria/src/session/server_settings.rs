//! Settings that are the server's, as a session sees and changes them: SHOW, SET, ALTER SYSTEM.

use crate::serving::host::{Host, HostChange, not_of_a_session, setting};
use crate::session::StatementResult;
use crate::session::answer::{done, table_result};
use crate::session::core::{Block, SessionCore};
use crate::settings::{REPLICATION_ROLE, Settings};
use planaria_base::{Error, Result, SqlState};
use planaria_syntax::ast::DefaultsChange;
use std::sync::Arc;

/// 42501 where a role is none that may change the server.
pub(crate) fn check_superuser(superuser: bool, what: &str) -> Result<()> {
    if superuser {
        return Ok(());
    }
    Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, format!("permission denied to {what}"))
        .with_detail("Only superusers may."))
}

/// 55P02 where SET names a setting of the server's.
pub(crate) fn check_settable(host: Option<&Arc<dyn Host>>, name: &str) -> Result<()> {
    match setting(host, name) {
        Some(found) => Err(not_of_a_session(&found)),
        None => Ok(()),
    }
}

/// Whether a setting is one that only superusers set.
pub(crate) fn is_of_superusers(name: &str) -> bool {
    name.eq_ignore_ascii_case(REPLICATION_ROLE)
}

/// 42501 for one who is none.
pub(crate) fn denied(name: &str) -> Error {
    let message = format!("permission denied to set parameter \"{}\"", name.to_ascii_lowercase());
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
}

/// `SHOW name` or `SHOW ALL`: column names and rows. Where the server has a setting of a name, it is that.
pub(crate) fn show<'n>(
    settings: &Settings,
    host: Option<&Arc<dyn Host>>,
    name: &'n str,
) -> Result<(Vec<&'n str>, Vec<Vec<String>>)> {
    let Some(host) = host else { return settings.show(name) };
    if name.eq_ignore_ascii_case("all") {
        let (columns, mut rows) = settings.show(name)?;
        let of_server = host.settings();
        rows.retain(|row| !of_server.iter().any(|s| row.first() == Some(&s.name)));
        rows.extend(of_server.into_iter().map(|s| vec![s.name, s.value, s.description]));
        rows.sort_by_cached_key(|row| row[0].to_lowercase());
        return Ok((columns, rows));
    }
    match setting(Some(host), name) {
        Some(found) => Ok((vec![name], vec![vec![found.value]])),
        None => settings.show(name),
    }
}

impl SessionCore {
    /// `SHOW name` or `SHOW ALL`
    pub(crate) fn show(&self, name: &str) -> Result<StatementResult> {
        let (columns, rows) = show(&self.settings, self.engine.host.get().as_ref(), name)?;
        Ok(table_result("SHOW", columns, rows))
    }

    /// SET and RESET of a setting of the session. 55P02 where it is the server's.
    pub(crate) fn set_setting(&mut self, name: &str, value: Option<&[String]>, local: bool) -> Result<()> {
        check_settable(self.engine.host.get().as_ref(), name)?;
        self.check_of_superusers(name)?;
        self.settings.set(name, value, local)
    }

    /// 42501 for a setting that only superusers set, if the session's user is none: wherever it would be set.
    pub(crate) fn check_of_superusers(&self, name: &str) -> Result<()> {
        match is_of_superusers(name) && !self.newest_catalog().is_superuser(self.user.current()) {
            true => Err(denied(name)),
            false => Ok(()),
        }
    }

    /// ALTER SYSTEM. 0A000 where the engine is embedded, or its database in memory.
    pub(crate) fn alter_system(&mut self, change: &DefaultsChange) -> Result<StatementResult> {
        if !matches!(self.block, Block::None) {
            let message = "ALTER SYSTEM cannot run inside a transaction block";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        let superuser = self.newest_catalog().is_superuser(self.user.current());
        let what = match change {
            DefaultsChange::Set(name, _) | DefaultsChange::Reset(name) => {
                format!("set parameter \"{name}\"")
            }
            DefaultsChange::ResetAll => "perform ALTER SYSTEM RESET ALL".to_owned(),
        };
        check_superuser(superuser, &what)?;
        let Some(host) = self.engine.host.get() else {
            let hint = "Set what a program embeds with planaria::Options; `planaria serve` runs a server.";
            return Err(Error::unsupported("ALTER SYSTEM needs a server", hint));
        };
        match change {
            DefaultsChange::Set(name, value) => {
                host.alter(&HostChange::Set(&name.to_ascii_lowercase(), &value.join(", ")))
            }
            DefaultsChange::Reset(name) => host.alter(&HostChange::Reset(&name.to_ascii_lowercase())),
            DefaultsChange::ResetAll => host.alter(&HostChange::ResetAll),
        }?;
        Ok(done("ALTER SYSTEM"))
    }
}
