//! Roles: CREATE, ALTER, DROP, membership. What PostgreSQL 15 allows whom, in its words.

use super::{Change, names};
use planaria_base::{Error, Result, RoleId, SchemaId, SqlState, datetime, limits};
use planaria_catalog::{Membership, Object, PREDEFINED, Role, SUPERUSER, no_role};
use planaria_syntax::ast::{Position, RoleChange, RoleName, RoleOption, RoleSpec};

pub(super) fn denied(message: impl Into<String>) -> Error {
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
}

/// Whether a text is a verifier as `pg_authid.rolpassword` has it:
/// `SCRAM-SHA-256$iterations:salt$StoredKey:ServerKey`.
pub fn is_verifier(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("SCRAM-SHA-256$") else { return false };
    let base64 = |s: &str| {
        !s.is_empty()
            && s.len().is_multiple_of(4)
            && s.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(&b))
    };
    let Some((first, second)) = rest.split_once('$') else { return false };
    let (Some((count, salt)), Some((stored, server))) = (first.split_once(':'), second.split_once(':'))
    else {
        return false;
    };
    count.parse::<u32>().is_ok_and(|n| n > 0)
        && base64(salt)
        && [stored, server].iter().all(|key| key.len() == 44 && base64(key))
}

impl Change {
    /// The role a statement names; 42704 where there is none.
    pub(super) fn role_of(&self, spec: &RoleSpec) -> Result<RoleId> {
        match &spec.name {
            RoleName::Name(name) => self.catalog.role_named(name).map(|r| r.id),
            RoleName::CurrentUser => Ok(self.actor.user),
            RoleName::SessionUser => Ok(self.actor.session_user),
            RoleName::Public => Err(no_role("public")),
        }
    }

    pub(super) fn roles_of(&self, specs: &[RoleSpec]) -> Result<Vec<RoleId>> {
        specs.iter().map(|s| self.role_of(s)).collect()
    }

    fn role_mut(&mut self, id: RoleId) -> &mut Role {
        self.catalog.roles[id.index()].as_mut().expect("a role id of this catalog")
    }

    pub(super) fn is_superuser(&self) -> bool {
        self.catalog.is_superuser(self.actor.user)
    }

    /// Whether the actor may make and change roles.
    pub(super) fn may_create_roles(&self) -> bool {
        self.catalog.role_by_id(self.actor.user).is_some_and(|r| r.superuser || r.create_role)
    }

    pub(super) fn create_role(&mut self, name: &RoleSpec, options: &[RoleOption]) -> Result<&'static str> {
        let RoleName::Name(name) = &name.name else { return Err(Error::internal("a role without a name")) };
        let sets = |o: &RoleOption| options.contains(o);
        if !self.is_superuser() {
            let message = if sets(&RoleOption::Superuser(true)) {
                Some("must be superuser to create superusers")
            } else if sets(&RoleOption::Replication(true)) {
                Some("must be superuser to create replication users")
            } else if sets(&RoleOption::BypassRls(true)) {
                Some("must be superuser to create bypassrls users")
            } else if !self.may_create_roles() {
                Some("permission denied to create role")
            } else {
                None
            };
            if let Some(message) = message {
                return Err(denied(message));
            }
        }
        refuse_reserved(name)?;
        if self.catalog.role(name).is_some() {
            return Err(role_exists(name));
        }
        if self.catalog.roles.len() >= limits::ROLES_MAX as usize {
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "there are too many roles"));
        }
        let id = RoleId::from(self.catalog.roles.len());
        let mut role = Role::new(id, name.as_str());
        for option in options {
            set_option(&mut role, option)?;
        }
        self.catalog.had_passwords |= role.verifier.is_some();
        self.catalog.roles.push(Some(role.into()));
        for option in options {
            match option {
                RoleOption::InRole(groups) => {
                    for group in self.roles_of(groups)? {
                        self.add_members(group, &[id], false, self.actor.user)?;
                    }
                }
                RoleOption::Members(members) => {
                    self.add_members(id, &self.roles_of(members)?, false, self.actor.user)?;
                }
                RoleOption::Admins(members) => {
                    self.add_members(id, &self.roles_of(members)?, true, self.actor.user)?;
                }
                _ => {}
            }
        }
        Ok("CREATE ROLE")
    }

    pub(super) fn alter_role(&mut self, role: &RoleSpec, change: &RoleChange) -> Result<&'static str> {
        if let RoleName::Name(name) = &role.name {
            refuse_reserved(name).map_err(|e| e.with_detail("Cannot alter reserved roles."))?;
        }
        let id = self.role_of(role)?;
        match change {
            RoleChange::Options(options) => self.alter_options(id, options)?,
            RoleChange::Rename(to, position) => self.rename_role(id, to, *position)?,
            RoleChange::Members(add, members) => {
                let members = self.roles_of(members)?;
                if *add {
                    self.add_members(id, &members, false, self.actor.user)?;
                } else {
                    self.remove_members(id, &members, false)?;
                }
            }
        }
        Ok("ALTER ROLE")
    }

    fn alter_options(&mut self, id: RoleId, options: &[RoleOption]) -> Result<()> {
        let sets = |of: fn(&RoleOption) -> bool| options.iter().any(of);
        let role = self.catalog.role_by_id(id).ok_or_else(|| Error::internal("a role without data"))?;
        if !self.is_superuser() {
            if role.superuser || sets(|o| matches!(o, RoleOption::Superuser(_))) {
                let message = "must be superuser to alter superuser roles or change superuser attribute";
                return Err(denied(message));
            }
            if role.replication || sets(|o| matches!(o, RoleOption::Replication(_))) {
                let message = "must be superuser to alter replication roles or change replication attribute";
                return Err(denied(message));
            }
            if sets(|o| matches!(o, RoleOption::BypassRls(_))) {
                return Err(denied("must be superuser to change bypassrls attribute"));
            }
            // Whoever may log in may change the own password.
            let own = id == self.actor.user && options.iter().all(|o| matches!(o, RoleOption::Password(..)));
            if !self.may_create_roles() && !own {
                return Err(denied("permission denied"));
            }
        }
        if id == SUPERUSER && options.contains(&RoleOption::Superuser(false)) {
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "permission denied to alter role")
                .with_detail("The bootstrap superuser must have the SUPERUSER attribute."));
        }
        for option in options {
            set_option(self.role_mut(id), option)?;
            self.catalog.had_passwords |= self.catalog.role_by_id(id).is_some_and(|r| r.verifier.is_some());
            if let RoleOption::Members(members) = option {
                self.add_members(id, &self.roles_of(members)?, false, self.actor.user)?;
            }
        }
        Ok(())
    }

    fn rename_role(&mut self, id: RoleId, to: &str, position: Position) -> Result<()> {
        for (of, what) in [(self.actor.session_user, "session"), (self.actor.user, "current")] {
            if id == of {
                let message = format!("{what} user cannot be renamed");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        }
        refuse_reserved(to).map_err(|e| e.at(position))?;
        if self.catalog.role(to).is_some() {
            return Err(role_exists(to));
        }
        if self.catalog.is_superuser(id) && !self.is_superuser() {
            return Err(denied("must be superuser to rename superusers"));
        }
        if !self.may_create_roles() {
            return Err(denied("permission denied to rename role"));
        }
        self.role_mut(id).name = to.to_owned();
        Ok(())
    }

    pub(super) fn drop_roles(&mut self, roles: &[RoleSpec], if_exists: bool) -> Result<&'static str> {
        if !self.may_create_roles() {
            return Err(denied("permission denied to drop role"));
        }
        let mut ids = Vec::new();
        for spec in roles {
            let RoleName::Name(name) = &spec.name else {
                let message = "cannot use special role specifier in DROP ROLE";
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            };
            let Some(role) = self.catalog.role(name) else {
                if !if_exists {
                    return Err(no_role(name));
                }
                self.skip_missing(&no_role(name));
                continue;
            };
            let in_use = |what: &str| {
                let message = format!("{what} user cannot be dropped");
                Err(Error::new(SqlState::OBJECT_IN_USE, message))
            };
            if role.id == self.actor.user {
                return in_use("current");
            }
            if role.id == self.actor.session_user {
                return in_use("session");
            }
            if role.superuser && !self.is_superuser() {
                return Err(denied("must be superuser to drop superusers"));
            }
            if role.id == SUPERUSER {
                let message =
                    format!("cannot drop role {name} because it is required by the database system");
                return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message));
            }
            if !ids.contains(&role.id) {
                ids.push(role.id);
            }
        }
        for id in ids {
            self.refuse_dependents(id)?;
            self.catalog.roles[id.index()] = None;
            self.catalog.defaults.retain(|d| d.role != Some(id));
            let is_member = |role: &Role| role.member_of.iter().any(|m| m.role == id);
            self.catalog.roles.change_where(is_member, |role| {
                role.iter_mut().for_each(|role| role.member_of.retain(|m| m.role != id));
            });
        }
        Ok("DROP ROLE")
    }

    /// 2BP01 where a role owns something or was granted something.
    fn refuse_dependents(&self, id: RoleId) -> Result<()> {
        let mut lines = Vec::new();
        // In the order of their making; a sequence behind a column was made with its table.
        for object in self.catalog.objects() {
            let Some(rights) = self.catalog.rights(&object) else { continue };
            let what = || super::owner::describe(&self.catalog, &object);
            let age = match &object {
                Object::Sequence(of) => {
                    match self.catalog.sequences[of.index()].as_ref().and_then(|s| s.owner) {
                        Some((table, _)) => self.catalog.table_oid(table),
                        None => self.catalog.sequence_oid(*of),
                    }
                }
                object => self.catalog.object_oid(object),
            };
            if rights.owner == id {
                lines.push((age, format!("owner of {}", what())));
            } else if rights.mentions(id) {
                lines.push((age, format!("privileges for {}", what())));
            }
            for column in rights.columns_mentioning(id).filter(|_| rights.owner != id) {
                lines.push((age, format!("privileges for column {column} of {}", what())));
            }
        }
        for (table, of) in self.catalog.all_statistics().filter(|(_, of)| of.owner == id) {
            let name = self.catalog.shown_statistics(of);
            lines
                .push((self.catalog.statistics_oid(table, of), format!("owner of statistics object {name}")));
        }
        let defaults = self.catalog.default_rights.iter();
        lines.extend(defaults.filter_map(|d| Some((d.oid, self.depends_by_default(d, id)?))));
        lines.sort_by_key(|(age, _)| *age);
        let mut lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
        for (table, policy) in self.policies_for_role(id) {
            let policy = super::depend::Object::Policy(table, policy).describe(&self.catalog);
            lines.push(format!("target of {policy}"));
        }
        if lines.is_empty() {
            return Ok(());
        }
        let name = self.catalog.role_name(id);
        let message = format!("role \"{name}\" cannot be dropped because some objects depend on it");
        Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message).with_detail(lines.join("\n")))
    }

    /// What default privileges say of a role, as an object that depends on it.
    fn depends_by_default(&self, of: &planaria_catalog::DefaultRights, id: RoleId) -> Option<String> {
        let what = self.describe_defaults(of);
        if of.role == id {
            return Some(format!("owner of {what}"));
        }
        of.mentions(id).then(|| format!("privileges for {what}"))
    }

    /// `default privileges on new relations belonging to role r in schema s`
    fn describe_defaults(&self, of: &planaria_catalog::DefaultRights) -> String {
        let role = planaria_base::text_io::quote_ident(&self.catalog.role_name(of.role));
        let what = format!("default privileges on new {} belonging to role {role}", of.kind.word());
        match of.schema {
            Some(schema) => {
                let schema = planaria_base::text_io::quote_ident(self.catalog.schema_name(schema));
                format!("{what} in schema {schema}")
            }
            None => what,
        }
    }

    // ---- membership ----

    pub(super) fn grant_role(
        &mut self,
        roles: &[(String, Position)],
        members: &[RoleSpec],
        admin: bool,
        granted_by: Option<&RoleSpec>,
    ) -> Result<&'static str> {
        let grantor = granted_by.map_or(Ok(self.actor.user), |g| self.role_of(g))?;
        let members = self.roles_of(members)?;
        for (name, _) in roles {
            let role = self.predefined_or_named(name)?;
            self.add_members(role, &members, admin, grantor)?;
        }
        Ok("GRANT ROLE")
    }

    pub(super) fn revoke_role(
        &mut self,
        roles: &[(String, Position)],
        members: &[RoleSpec],
        admin: bool,
    ) -> Result<&'static str> {
        let members = self.roles_of(members)?;
        for (name, _) in roles {
            let role = self.predefined_or_named(name)?;
            self.remove_members(role, &members, admin)?;
        }
        Ok("REVOKE ROLE")
    }

    /// A role by name; one that every database of PostgreSQL has is made where it is not there yet.
    fn predefined_or_named(&mut self, name: &str) -> Result<RoleId> {
        let predefined = PREDEFINED.iter().any(|(predefined, _)| *predefined == name);
        if !predefined || self.catalog.role(name).is_some() {
            return self.catalog.role_named(name).map(|role| role.id);
        }
        let id = RoleId::from(self.catalog.roles.len());
        self.catalog.roles.push(Some(Role::new(id, name).into()));
        Ok(id)
    }

    /// Whether the actor may say who is a member of a role.
    fn check_admin(&self, role: RoleId) -> Result<()> {
        if self.is_superuser() {
            return Ok(());
        }
        if self.catalog.is_superuser(role) {
            return Err(denied("must be superuser to alter superusers"));
        }
        if self.may_create_roles() || self.catalog.is_admin_of(self.actor.user, role) {
            return Ok(());
        }
        Err(denied(format!("must have admin option on role \"{}\"", self.catalog.role_name(role))))
    }

    fn add_members(&mut self, role: RoleId, members: &[RoleId], admin: bool, grantor: RoleId) -> Result<()> {
        if members.is_empty() {
            return Ok(());
        }
        self.check_admin(role)?;
        if grantor != self.actor.user && !self.is_superuser() {
            return Err(denied("must be superuser to set grantor"));
        }
        for member in members {
            let (group, name) = (self.catalog.role_name(role), self.catalog.role_name(*member));
            if self.catalog.is_member_nosuper(role, *member) {
                let message = format!("role \"{group}\" is a member of role \"{name}\"");
                return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
            }
            let memberships = &mut self.role_mut(*member).member_of;
            match memberships.iter_mut().find(|m| m.role == role) {
                Some(m) if admin && !m.admin => *m = Membership { role, admin, grantor },
                Some(_) => {
                    let message = format!("role \"{name}\" is already a member of role \"{group}\"");
                    self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
                }
                None => memberships.push(Membership { role, admin, grantor }),
            }
        }
        Ok(())
    }

    fn remove_members(&mut self, role: RoleId, members: &[RoleId], admin_only: bool) -> Result<()> {
        if members.is_empty() {
            return Ok(());
        }
        self.check_admin(role)?;
        for member in members {
            let (group, name) = (self.catalog.role_name(role), self.catalog.role_name(*member));
            let memberships = &mut self.role_mut(*member).member_of;
            match memberships.iter().position(|m| m.role == role) {
                Some(at) if admin_only => memberships[at].admin = false,
                Some(at) => drop(memberships.remove(at)),
                None => {
                    let message = format!("role \"{name}\" is not a member of role \"{group}\"");
                    self.warning(SqlState::WARNING, message);
                }
            }
        }
        Ok(())
    }

    /// 42501 where the actor may not create anything in the schema.
    pub(super) fn require_create(&self, schema: SchemaId) -> Result<()> {
        self.require_create_by(self.actor.user, schema)
    }

    /// The same for something by name. Where a name says no schema, one that the actor may not use is none.
    pub(super) fn require_create_of(
        &self,
        name: &planaria_syntax::ast::Name,
        schema: SchemaId,
    ) -> Result<()> {
        self.require_create(schema).map_err(|denied| {
            let usable = self.catalog.privileges(self.actor.user, &Object::Schema(schema));
            if name.parts.len() > 1 || usable.contains(planaria_catalog::Privileges::USAGE) {
                return denied;
            }
            Error::new(SqlState::INVALID_SCHEMA_NAME, "no schema has been selected to create in")
        })
    }

    /// The same for another role.
    pub(super) fn require_create_by(&self, role: RoleId, schema: SchemaId) -> Result<()> {
        let create = planaria_catalog::Privileges::CREATE;
        if self.catalog.path().temporary() == Some(schema) {
            return Ok(());
        }
        self.catalog.require(role, &planaria_catalog::Requirement::new(Object::Schema(schema), create))
    }

    /// A new object's name, for whose making the actor has the right.
    pub(super) fn new_name<'n>(&self, name: &'n planaria_syntax::ast::Name) -> Result<(SchemaId, &'n str)> {
        let new = names::new(&self.catalog, name)?;
        self.require_create_of(name, new.0).map_err(|e| e.at(name.position))?;
        if self.catalog.user_type(new).is_some() && !self.catalog.relation_exists(new) {
            return Err(super::user_type::in_the_way(new.1));
        }
        Ok(new)
    }
}

/// 42939
fn refuse_reserved(name: &str) -> Result<()> {
    if !name.starts_with("pg_") {
        return Ok(());
    }
    let message = format!("role name \"{name}\" is reserved");
    Err(Error::new(SqlState::RESERVED_NAME, message)
        .with_detail("Role names starting with \"pg_\" are reserved."))
}

/// 42710
fn role_exists(name: &str) -> Error {
    Error::new(SqlState::DUPLICATE_OBJECT, format!("role \"{name}\" already exists"))
}

/// An option of the role itself.
fn set_option(role: &mut Role, option: &RoleOption) -> Result<()> {
    match option {
        RoleOption::Superuser(on) => role.superuser = *on,
        RoleOption::Inherit(on) => role.inherit = *on,
        RoleOption::CreateRole(on) => role.create_role = *on,
        RoleOption::CreateDb(on) => role.create_db = *on,
        RoleOption::Login(on) => role.login = *on,
        RoleOption::Replication(on) => role.replication = *on,
        RoleOption::BypassRls(on) => role.bypass_rls = *on,
        RoleOption::ConnectionLimit(limit) => role.connection_limit = *limit,
        RoleOption::ValidUntil(text, _) => {
            role.valid_until = Some(datetime::parse_timestamptz(text, datetime::Forms::default())?);
        }
        RoleOption::Password(None, _) => role.verifier = None,
        RoleOption::Password(Some(text), _) if is_verifier(text) => role.verifier = Some(text.clone()),
        // Nobody gets here with a password: it would go to the log.
        RoleOption::Password(Some(_), _) => {
            return Err(Error::internal("a password that was not made a verifier"));
        }
        RoleOption::InRole(_) | RoleOption::Members(_) | RoleOption::Admins(_) => {}
    }
    Ok(())
}
