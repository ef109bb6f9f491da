//! SET ROLE and SET SESSION AUTHORIZATION; passwords on their way into the catalog. See [`user`](crate::session::user).

use crate::notice::Notice;
use crate::serving::scram::Verifier;
use crate::session::StatementResult;
use crate::session::answer::done;
use crate::session::core::{Block, SessionCore};
use crate::session::user::{Identity, User, log_in};
use crate::settings::Settings;
use crate::system::{may_become, setting_of_role};
use planaria_base::{Error, Result, SqlState};
use planaria_catalog::Catalog;
use planaria_sql::ddl::{self, Actor};
use planaria_syntax::ast::{RoleChange, RoleOption, Statement, StatementKind};
use std::borrow::Cow;

impl SessionCore {
    /// Who changes the schema.
    pub(crate) fn actor(&self) -> Actor {
        Actor {
            user: self.user.current(),
            session_user: self.user.session(),
            before_roles: false,
            before_intervals: false,
            forgets_indexes: false,
            checks_bodies: !self.settings.is_off("check_function_bodies"),
            any_database: false,
            indexes_by_text: false,
            rows_of_nulls: false,
            former_labels: false,
            reads_after: false,
            form: planaria_catalog::PROGRAM_FORM,
            routes_late: false,
            plain_composites: false,
            internal: self.internal,
        }
    }

    /// Who makes this change of the schema. 3D000 where it is of another database.
    pub(crate) fn actor_of(&self, statement: &Statement) -> Result<Actor> {
        let named = ddl::databases_named(&statement.kind);
        let other = named.iter().find(|name| !self.settings.is_database(name));
        // A comment of another is passed over with a warning: dumps have them.
        if let (Some(other), false) = (other, matches!(statement.kind, StatementKind::Comment { .. })) {
            let message = format!("database \"{other}\" does not exist");
            return Err(Error::new(SqlState::INVALID_CATALOG_NAME, message));
        }
        Ok(Actor { any_database: !named.is_empty() && other.is_none(), ..self.actor() })
    }

    /// The newest catalog, with what the open block has done to it.
    pub(crate) fn newest_catalog(&self) -> std::sync::Arc<Catalog> {
        let catalog = match self.changing.is_some() {
            true => self.schema.catalog.clone(),
            false => self.engine.schema.load().catalog.clone(),
        };
        let path = self.path(&catalog);
        if path.is_home() { catalog } else { std::sync::Arc::new(catalog.along(&path)) }
    }

    /// The session becomes another user's, as if that had logged in. 28000 where it may not, 25001 inside a
    /// transaction block.
    pub(crate) fn log_in_as(&mut self, name: &str) -> Result<()> {
        if !matches!(self.block, Block::None) {
            let message = "the user of a session cannot change inside a transaction block";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        self.user = User::new(log_in(&self.newest_catalog(), name)?);
        self.begin_with_defaults();
        Ok(())
    }

    /// The settings become those that the session's user begins with.
    pub(crate) fn begin_with_defaults(&mut self) {
        let catalog = self.newest_catalog();
        let of_server = self.engine.defaults.load();
        let defaults = of_server.iter().chain(catalog.session_defaults(self.user.session()));
        let settings = Settings::beginning_with(defaults).in_place();
        self.settings = settings.of_database(&self.settings);
        self.mirror_user();
    }

    pub(crate) fn set_role(&mut self, name: Option<&str>, local: bool) -> Result<StatementResult> {
        if self.is_local_outside(local, "SET LOCAL") {
            return Ok(done("SET"));
        }
        let role = match name {
            None => None,
            Some(name) => Some(may_become(&self.newest_catalog(), self.user.session(), name)?),
        };
        self.user.set(local, |identity| identity.role = role);
        self.mirror_user();
        Ok(done("SET"))
    }

    pub(crate) fn set_session_authorization(
        &mut self,
        name: Option<&str>,
        local: bool,
    ) -> Result<StatementResult> {
        if self.is_local_outside(local, "SET LOCAL") {
            return Ok(done("SET"));
        }
        let catalog = self.newest_catalog();
        let session = match name {
            None => self.user.authenticated,
            Some(name) => setting_of_role(&catalog, name)?.id,
        };
        if session != self.user.authenticated && !catalog.is_superuser(self.user.authenticated) {
            let message = "permission denied to set session authorization";
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        self.user.set(local, |identity| *identity = Identity { session, role: None });
        self.mirror_user();
        Ok(done("SET"))
    }

    /// A statement is over that may have called `set_config()` of the role.
    #[inline]
    pub(crate) fn follow_role(&mut self) {
        if let Some((now, after)) = self.settings.asked_role() {
            let catalog = self.newest_catalog();
            let of = |name: String| catalog.role(&name).map(|role| role.id);
            self.user.become_role(of(now), after.map(of));
            self.mirror_user();
        }
    }

    /// Warns of a LOCAL setting where there is no transaction block to end it.
    pub(crate) fn is_local_outside(&mut self, local: bool, what: &str) -> bool {
        let outside = local && matches!(self.block, Block::None);
        if outside {
            self.notices.push(Notice {
                severity: "WARNING",
                code: SqlState::NO_ACTIVE_SQL_TRANSACTION,
                message: format!("{what} can only be used in transaction blocks"),
                detail: None,
                hint: None,
            });
        }
        outside
    }

    /// The end of a transaction block.
    pub(crate) fn end_user(&mut self, committed: bool) {
        let before = self.user.now;
        self.user.end(committed);
        if self.user.now != before {
            self.mirror_user();
        }
    }

    /// Has the settings say who the session is.
    pub(crate) fn mirror_user(&mut self) {
        let catalog = self.newest_catalog();
        let role = self.user.now.role.map_or("none".to_owned(), |r| catalog.role_name(r));
        let on = |b: bool| if b { "on" } else { "off" }.to_owned();
        let settings = &mut self.settings;
        settings.mirror("role", role);
        settings.mirror("session_authorization", catalog.role_name(self.user.session()));
        settings.mirror("is_superuser", on(catalog.is_superuser(self.user.current())));
    }
}

/// The text of a statement with passwords replaced by their verifiers: nothing else is logged or kept.
/// `text` is the statement's own; what is to be said about it comes with it.
pub(crate) fn without_passwords<'t>(
    statement: &Statement,
    text: &'t str,
) -> Result<(Cow<'t, str>, Option<&'static str>)> {
    let options = match &statement.kind {
        StatementKind::CreateRole { options, .. } => options,
        StatementKind::AlterRole { change: RoleChange::Options(options), .. } => options,
        _ => return Ok((Cow::Borrowed(text), None)),
    };
    let password = options.iter().find_map(|option| match option {
        RoleOption::Password(Some(password), range) => Some((password, range)),
        _ => None,
    });
    let Some((password, range)) = password else { return Ok((Cow::Borrowed(text), None)) };
    if ddl::is_verifier(password) {
        return Ok((Cow::Borrowed(text), None));
    }
    let md5 = password.strip_prefix("md5").filter(|hex| hex.len() == 32);
    if md5.is_some_and(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit())) {
        let hint = "Give the password itself, or a SCRAM-SHA-256 verifier.";
        return Err(Error::unsupported("MD5 passwords are not supported", hint).at(range.start));
    }
    let (value, notice) = match password.as_str() {
        "" => ("NULL".to_owned(), Some("empty string is not a valid password, clearing password")),
        password => (format!("'{}'", Verifier::new(password)?), None),
    };
    let mut text = text.to_owned();
    let start = statement.position;
    text.replace_range((range.start - start) as usize..(range.end - start) as usize, &value);
    Ok((Cow::Owned(text), notice))
}
