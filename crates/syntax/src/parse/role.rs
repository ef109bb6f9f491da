//! CREATE, ALTER and DROP of roles; SET ROLE; how statements name roles.

use planaria_base::{Error, Result, SqlState};

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{
    DefaultsChange, DefaultsOf, Position, RoleChange, RoleName, RoleOption, RoleSpec, StatementKind,
};

/// 42939
fn reserved(name: &str, position: Position) -> Error {
    Error::new(SqlState::RESERVED_NAME, format!("role name \"{name}\" is reserved")).at(position)
}

impl Parser<'_> {
    /// A role: a name, CURRENT_USER, CURRENT_ROLE, SESSION_USER or PUBLIC.
    pub(crate) fn role_spec(&mut self) -> Result<RoleSpec> {
        let position = self.position();
        let word = self.word();
        let name = match word.as_str() {
            "current_user" | "current_role" => {
                self.bump();
                RoleName::CurrentUser
            }
            "session_user" => {
                self.bump();
                RoleName::SessionUser
            }
            _ => match self.unreserved()? {
                name if name == "public" => RoleName::Public,
                name if name == "none" => return Err(reserved("none", position)),
                name => RoleName::Name(name),
            },
        };
        Ok(RoleSpec { name, position })
    }

    /// The name of a new role.
    fn role_id(&mut self) -> Result<RoleSpec> {
        let spec = self.role_spec()?;
        match &spec.name {
            RoleName::Name(_) => Ok(spec),
            RoleName::Public => Err(reserved("public", spec.position)),
            RoleName::CurrentUser | RoleName::SessionUser => {
                let text = self.text_since(spec.position).to_ascii_uppercase();
                let message = format!("{text} cannot be used as a role name here");
                Err(Error::new(SqlState::RESERVED_NAME, message).at(spec.position))
            }
        }
    }

    /// `role, ...`
    pub(crate) fn role_list(&mut self) -> Result<Vec<RoleSpec>> {
        self.list(Self::role_spec)
    }

    /// `CREATE ROLE | USER | GROUP ..`, CREATE taken.
    pub(crate) fn create_role(&mut self) -> Result<StatementKind> {
        let user = self.at_word("user");
        self.bump();
        let name = self.role_id()?;
        self.eat_word("with");
        let mut options = Vec::new();
        if user {
            options.push(RoleOption::Login(true));
        }
        let own = self.role_options(true)?;
        if own.iter().any(|o| matches!(o, RoleOption::Login(_))) {
            options.clear();
        }
        options.extend(own);
        Ok(StatementKind::CreateRole { name, options })
    }

    /// `ALTER ROLE | USER ..` and `ALTER GROUP ..`, ALTER taken.
    pub(crate) fn alter_role(&mut self) -> Result<StatementKind> {
        let group = self.at_word("group");
        self.bump();
        if !group && self.eat_word("all") {
            let database = self.in_database()?;
            return self.alter_defaults(DefaultsOf::Role(None, database));
        }
        let role = self.role_spec()?;
        if self.eat_words(&["rename", "to"]) {
            let position = self.position();
            let to = self.role_id()?;
            let RoleName::Name(to) = to.name else { return self.fail() };
            return Ok(StatementKind::AlterRole { role, change: RoleChange::Rename(to, position) });
        }
        if group {
            let add = self.eat_word("add");
            if !add {
                self.expect_word("drop")?;
            }
            self.expect_word("user")?;
            let change = RoleChange::Members(add, self.role_list()?);
            return Ok(StatementKind::AlterRole { role, change });
        }
        if self.at_any(&["in", "set", "reset"]) {
            let database = self.in_database()?;
            return self.alter_defaults(DefaultsOf::Role(Some(role), database));
        }
        self.eat_word("with");
        let change = RoleChange::Options(self.role_options(false)?);
        Ok(StatementKind::AlterRole { role, change })
    }

    /// `[IN DATABASE name]`
    fn in_database(&mut self) -> Result<Option<(String, Position)>> {
        if !self.eat_word("in") {
            return Ok(None);
        }
        self.expect_word("database")?;
        let position = self.position();
        Ok(Some((self.name()?, position)))
    }

    /// `SET name = value`, `RESET name` or `RESET ALL`, behind ALTER ROLE or ALTER DATABASE.
    pub(crate) fn alter_defaults(&mut self, of: DefaultsOf) -> Result<StatementKind> {
        let change = self.defaults_change()?;
        Ok(StatementKind::AlterDefaults { of, change })
    }

    /// The same without what it is for.
    pub(crate) fn defaults_change(&mut self) -> Result<DefaultsChange> {
        Ok(if self.eat_word("reset") {
            match self.shown_name()? {
                name if name == "all" => DefaultsChange::ResetAll,
                name => DefaultsChange::Reset(name),
            }
        } else {
            self.expect_word("set")?;
            match self.setting_assignment(self.position())? {
                (name, Some(value)) => DefaultsChange::Set(name, value),
                (name, None) => DefaultsChange::Reset(name),
            }
        })
    }

    /// Options up to the end; those about membership only where a role is created.
    fn role_options(&mut self, creating: bool) -> Result<Vec<RoleOption>> {
        let mut options: Vec<RoleOption> = Vec::new();
        while !self.at_end() {
            let position = self.position();
            let Some(option) = self.role_option(creating)? else { continue };
            let same = |o: &RoleOption| std::mem::discriminant(o) == std::mem::discriminant(&option);
            if options.iter().any(same) {
                return Err(self.syntax_error("conflicting or redundant options", position));
            }
            options.push(option);
        }
        Ok(options)
    }

    fn role_option(&mut self, creating: bool) -> Result<Option<RoleOption>> {
        let position = self.position();
        let word = self.word();
        if !self.at_kind(Kind::Word) {
            return self.fail();
        }
        let flag = |make: fn(bool) -> RoleOption, on: bool| Some(make(on));
        let simple = match word.as_str() {
            "superuser" => flag(RoleOption::Superuser, true),
            "nosuperuser" => flag(RoleOption::Superuser, false),
            "inherit" => flag(RoleOption::Inherit, true),
            "noinherit" => flag(RoleOption::Inherit, false),
            "createrole" => flag(RoleOption::CreateRole, true),
            "nocreaterole" => flag(RoleOption::CreateRole, false),
            "createdb" => flag(RoleOption::CreateDb, true),
            "nocreatedb" => flag(RoleOption::CreateDb, false),
            "login" => flag(RoleOption::Login, true),
            "nologin" => flag(RoleOption::Login, false),
            "replication" => flag(RoleOption::Replication, true),
            "noreplication" => flag(RoleOption::Replication, false),
            "bypassrls" => flag(RoleOption::BypassRls, true),
            "nobypassrls" => flag(RoleOption::BypassRls, false),
            _ => None,
        };
        if simple.is_some() {
            self.bump();
            return Ok(simple);
        }
        Ok(Some(match word.as_str() {
            "encrypted" | "password" => {
                if self.eat_word("encrypted") && !self.at_word("password") {
                    return self.fail();
                }
                self.bump();
                let start = self.position();
                let password = if self.eat_word("null") { None } else { Some(self.string()?) };
                RoleOption::Password(password, start..self.last_end())
            }
            "unencrypted" if self.at_word_ahead(1, "password") => {
                let message = "UNENCRYPTED PASSWORD is no longer supported";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                    .with_hint("Remove UNENCRYPTED to store the password in encrypted form instead.")
                    .at(position));
            }
            "connection" => {
                self.expect_words(&["connection", "limit"])?;
                let limit = self.signed_integer()?;
                let limit = i32::try_from(limit).ok().filter(|n| *n >= -1);
                RoleOption::ConnectionLimit(limit.ok_or_else(|| {
                    let message = "invalid connection limit: it is -1 or more";
                    Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(position)
                })?)
            }
            "valid" => {
                self.expect_words(&["valid", "until"])?;
                let position = self.position();
                RoleOption::ValidUntil(self.string()?, position)
            }
            // Ids are the engine's own.
            "sysid" => {
                self.bump();
                self.small_integer()?;
                return Ok(None);
            }
            "in" if creating => {
                self.bump();
                if !self.eat_word("role") {
                    self.expect_word("group")?;
                }
                RoleOption::InRole(self.role_list()?)
            }
            "role" | "user" if creating => {
                self.bump();
                RoleOption::Members(self.role_list()?)
            }
            "user" => {
                self.bump();
                RoleOption::Members(self.role_list()?)
            }
            "admin" if creating => {
                self.bump();
                RoleOption::Admins(self.role_list()?)
            }
            other if self.at_name() && !other.is_empty() => {
                let message = format!("unrecognized role option \"{other}\"");
                return Err(self.syntax_error(message, position));
            }
            _ => return self.fail(),
        }))
    }

    /// `DROP ROLE | USER | GROUP ..`, DROP taken.
    pub(crate) fn drop_role(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_exists = self.eat_words(&["if", "exists"]);
        Ok(StatementKind::DropRole { roles: self.role_list()?, if_exists })
    }

    /// `DROP OWNED BY ..`, DROP taken.
    pub(crate) fn drop_owned(&mut self) -> Result<StatementKind> {
        self.expect_words(&["owned", "by"])?;
        let roles = self.role_list()?;
        Ok(StatementKind::DropOwned { roles, cascade: self.cascade() })
    }

    /// `REASSIGN OWNED BY .. TO ..`
    pub(crate) fn reassign_owned(&mut self) -> Result<StatementKind> {
        self.expect_words(&["reassign", "owned", "by"])?;
        let from = self.role_list()?;
        self.expect_word("to")?;
        Ok(StatementKind::ReassignOwned { from, to: self.role_spec()? })
    }

    /// What follows `SET [LOCAL] ROLE`.
    pub(crate) fn set_role(&mut self, local: bool) -> Result<StatementKind> {
        self.bump();
        let name = match self.eat_word("none") {
            true => None,
            false => Some(self.word_or_string()?),
        };
        Ok(StatementKind::SetRole { name, local })
    }

    /// What follows `SET [LOCAL] SESSION AUTHORIZATION`.
    pub(crate) fn set_session_authorization(&mut self, local: bool) -> Result<StatementKind> {
        self.expect_words(&["session", "authorization"])?;
        let name = match self.eat_word("default") {
            true => None,
            false => Some(self.word_or_string()?),
        };
        Ok(StatementKind::SetSessionAuthorization { name, local })
    }

    fn word_or_string(&mut self) -> Result<String> {
        if self.at_string() { self.string() } else { self.unreserved() }
    }

    /// What follows `OWNER TO`.
    pub(crate) fn owner_to(&mut self) -> Result<RoleSpec> {
        self.expect_words(&["owner", "to"])?;
        self.role_spec()
    }
}
