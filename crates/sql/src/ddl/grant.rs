//! GRANT and REVOKE of privileges on objects.

use super::{Change, names, routine};
use planaria_base::{Error, Result, RoleId, SchemaId, SqlState, TableId};
use planaria_catalog::{
    ALL_OF_COLUMNS, DefaultKind, Dependents, Grant, Object, ObjectKind, Privileges, Rights, no_schema,
};
use planaria_syntax::ast::{
    DefaultsFor, DefaultsKind, GrantStatement, GrantTarget, Name, Position, RoleName, RoutineRef,
};

/// 0LP01
fn invalid_privilege(word: &str, kind: &str) -> Error {
    let message = format!("invalid privilege type {word} for {kind}");
    Error::new(SqlState::INVALID_GRANT_OPERATION, message)
}

impl Change {
    pub(super) fn grant(&mut self, statement: &GrantStatement) -> Result<&'static str> {
        if let Some(grantor) = &statement.granted_by
            && self.role_of(grantor)? != self.actor.user
        {
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, "grantor must be current user"));
        }
        if let GrantTarget::Defaults(of) = &statement.target {
            let (grantees, wanted) = (self.grantees(statement)?, privileges(statement)?);
            column_privileges(statement)?;
            self.default_privileges(of, wanted, &grantees, statement)?;
            return Ok("ALTER DEFAULT PRIVILEGES");
        }
        if self.are_of_system(&statement.target)? {
            self.grantees(statement)?;
            self.grant_of_system(statement, privileges(statement)?, &column_privileges(statement)?)?;
            return Ok(if statement.revoke { "REVOKE" } else { "GRANT" });
        }
        let targets = self.targets(&statement.target)?;
        let grantees = self.grantees(statement)?;
        let wanted = privileges(statement)?;
        let on_columns = column_privileges(statement)?;
        for object in targets {
            if on_columns.is_empty() || statement.privileges.as_ref().is_none_or(|words| !words.is_empty()) {
                self.grant_on(&object, wanted, &grantees, statement)?;
            }
            if !on_columns.is_empty() {
                self.grant_columns(&object, &on_columns, &grantees, statement)?;
            }
        }
        Ok(if statement.revoke { "REVOKE" } else { "GRANT" })
    }

    /// Privileges on columns: column by column, in the order of the table, whatever the order in which they are said.
    fn grant_columns(
        &mut self,
        object: &Object,
        on_columns: &[(Privileges, Vec<String>)],
        grantees: &[Option<RoleId>],
        statement: &GrantStatement,
    ) -> Result<()> {
        let relation = self.catalog.object_name(object);
        if self.catalog.object_kind(object) == ObjectKind::Sequence {
            let message = format!("sequence \"{relation}\" only supports SELECT column privileges");
            self.warning(SqlState::INVALID_GRANT_OPERATION, message);
            return Ok(());
        }
        let columns: Vec<String> =
            self.catalog.named_columns(object).into_iter().map(str::to_owned).collect();
        for name in on_columns.iter().flat_map(|(_, names)| names) {
            if !columns.contains(name) {
                let message = format!("column \"{name}\" of relation \"{relation}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
            }
        }
        for column in columns {
            let of = |all: Privileges, (p, names): &(Privileges, Vec<String>)| match names.contains(&column) {
                true => all.with(*p),
                false => all,
            };
            let wanted = on_columns.iter().fold(Privileges::NONE, of);
            if wanted.is_empty() {
                continue;
            }
            let on_column = self.catalog.rights(object).map_or(Vec::new(), |r| r.on_column(&column).to_vec());
            let (grantor, options) = self.catalog.grantor_with(self.actor.user, object, &on_column, wanted);
            let options = options.and(ALL_OF_COLUMNS);
            if options.is_empty() {
                let (own, _) = self.catalog.granted_on_column(Some(self.actor.user), object, &column);
                let any = self.catalog.privileges(self.actor.user, object).and(ALL_OF_COLUMNS).with(own);
                if any.is_empty() {
                    return Err(self.catalog.denied_column(object, &column));
                }
            }
            let what = format!("column \"{column}\" of relation \"{relation}\"");
            self.warn_ungranted(statement.revoke, wanted, options, wanted != ALL_OF_COLUMNS, &what);
            let given = wanted.and(options);
            for grantee in grantees {
                let own = self.catalog.rights_mut(object);
                let rights = own.ok_or_else(|| Error::internal("rights on an object that is gone"))?;
                let on = |privileges, options| Grant { grantee: *grantee, grantor, privileges, options };
                match (statement.revoke, statement.option) {
                    (false, false) => rights.grant_column(&column, on(given, Privileges::NONE))?,
                    (false, true) => rights.grant_column(&column, on(given, given))?,
                    (true, option) => {
                        let taken = if option { Privileges::NONE } else { given };
                        rights.revoke_column(&column, on(taken, given), dependents(statement))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A warning where not all of what is wanted is the actor's to give.
    fn warn_ungranted(
        &mut self,
        revoke: bool,
        wanted: Privileges,
        options: Privileges,
        listed: bool,
        what: &str,
    ) {
        let given = wanted.and(options);
        let done = if revoke { "privileges could be revoked" } else { "privileges were granted" };
        let state = match revoke {
            true => SqlState::PRIVILEGE_NOT_REVOKED,
            false => SqlState::PRIVILEGE_NOT_GRANTED,
        };
        if given.is_empty() && !wanted.is_empty() {
            self.warning(state, format!("no {done} for {what}"));
        } else if listed && given != wanted {
            self.warning(state, format!("not all {done} for {what}"));
        }
    }

    /// ALTER DEFAULT PRIVILEGES
    fn default_privileges(
        &mut self,
        of: &DefaultsFor,
        wanted: Option<Privileges>,
        grantees: &[Option<RoleId>],
        statement: &GrantStatement,
    ) -> Result<()> {
        let kind = default_kind(of.kind);
        let roles = if of.roles.is_empty() { vec![self.actor.user] } else { self.roles_of(&of.roles)? };
        for role in &roles {
            if !self.catalog.is_member_of(self.actor.user, *role) {
                let message = format!("must be member of role \"{}\"", self.catalog.role_name(*role));
                return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
            }
        }
        let mut schemas = Vec::new();
        for (name, _) in &of.schemas {
            schemas.push(Some(self.catalog.schema(name).ok_or_else(|| no_schema(name))?));
        }
        if kind == DefaultKind::Schemas && !schemas.is_empty() {
            let message = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
            return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
        }
        if schemas.is_empty() {
            schemas.push(None);
        }
        let given = wanted.unwrap_or(kind.object().all());
        for role in roles {
            for schema in &schemas {
                for grantee in grantees {
                    let on =
                        |privileges, options| Grant { grantee: *grantee, grantor: role, privileges, options };
                    let (grant, revoke) = match (statement.revoke, statement.option) {
                        (false, false) => (on(given, Privileges::NONE), None),
                        (false, true) => (on(given, given), None),
                        (true, true) => (on(Privileges::NONE, given), Some(dependents(statement))),
                        (true, false) => (on(given, given), Some(dependents(statement))),
                    };
                    self.catalog.change_default_rights((role, *schema, kind), grant, revoke)?;
                }
            }
        }
        // PostgreSQL keeps these in order.
        for defaults in &mut self.catalog.default_rights {
            defaults.grants.sort_by_key(|g| (g.grantee, g.grantor));
        }
        Ok(())
    }

    /// The rights of something that the actor makes.
    pub(super) fn new_rights(&self, kind: ObjectKind, schema: SchemaId) -> Rights {
        self.catalog.rights_of_new(self.actor.user, kind, Some(schema))
    }

    fn grantees(&self, statement: &GrantStatement) -> Result<Vec<Option<RoleId>>> {
        let mut all = Vec::new();
        for spec in &statement.grantees {
            all.push(match spec.name {
                RoleName::Public if statement.option && !statement.revoke => {
                    let message = "grant options can only be granted to roles";
                    return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
                }
                RoleName::Public => None,
                _ => Some(self.role_of(spec)?),
            });
        }
        Ok(all)
    }

    /// The objects that are meant.
    fn targets(&self, target: &GrantTarget) -> Result<Vec<Object>> {
        let catalog = &self.catalog;
        match target {
            GrantTarget::Relations(names) => names.iter().map(|n| self.relation(n, false)).collect(),
            GrantTarget::Sequences(names) => names.iter().map(|n| self.relation(n, true)).collect(),
            GrantTarget::Routines(routines) => routines.iter().map(|r| self.routine(r)).collect(),
            GrantTarget::Schemas(names) => self.schemas(names),
            GrantTarget::Databases(names) => {
                let mut all = Vec::new();
                for named in names {
                    self.check_is_ours(named)?;
                    all.push(Object::Database);
                }
                Ok(all)
            }
            GrantTarget::Types(names, domains) => {
                let mut all = Vec::new();
                for name in names {
                    if let Some(id) = self.composite_to_grant(name, *domains)? {
                        all.push(Object::Table(id));
                        continue;
                    }
                    let ty = self.user_type(name)?;
                    if *domains && ty.domain().is_none() {
                        let message = format!("\"{}\" is not a domain", ty.name);
                        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                    }
                    all.push(Object::Type(ty.id));
                }
                Ok(all)
            }
            GrantTarget::AllTables(schemas) => {
                let within = self.schemas(schemas)?;
                let tables = catalog.tables.iter().flatten().filter(|t| !t.composite);
                let tables = tables.map(|t| Object::Table(t.id));
                let all = tables.chain(catalog.plain_views().map(|v| Object::View(v.key())));
                Ok(all.filter(|o| self.is_within(o, &within)).collect())
            }
            GrantTarget::AllSequences(schemas) => {
                let within = self.schemas(schemas)?;
                let sequences = catalog.sequences.iter().flatten().filter(|s| !s.hidden);
                let all = sequences.map(|s| Object::Sequence(s.id));
                Ok(all.filter(|o| self.is_within(o, &within)).collect())
            }
            GrantTarget::AllRoutines(procedure, schemas) => {
                let within = self.schemas(schemas)?;
                let wanted = |p: &&planaria_catalog::Procedure| {
                    p.current && procedure.is_none_or(|wanted| wanted == p.is_procedure())
                };
                let all = catalog.procedures.definitions().filter(wanted).map(|p| Object::Routine(p.id));
                Ok(all.filter(|o| self.is_within(o, &within)).collect())
            }
            GrantTarget::Languages(_) | GrantTarget::Defaults(_) => Ok(Vec::new()),
        }
    }

    /// The composite type of that name, if there is one, and none of another kind is nearer on the path. 42809 where a domain is
    /// wanted.
    fn composite_to_grant(&self, name: &Name, domain: bool) -> Result<Option<TableId>> {
        let wanted = names::wanted(&self.catalog, name)?;
        if let Some(ty) = self.catalog.user_type(wanted) {
            let rank = |schema| self.catalog.path().rank(schema);
            let relation = self.catalog.of_rows(wanted);
            // Logs of former versions mean the other kinds alone.
            if self.actor.internal || relation.is_none_or(|t| rank(t.schema) >= rank(ty.schema)) {
                return Ok(None);
            }
        }
        if domain && (self.catalog.of_rows(wanted).is_some() || self.catalog.view(wanted).is_some()) {
            let message = format!("\"{}\" is not a domain", wanted.local);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        Ok(self.catalog.composite(wanted).map(|found| found.id))
    }

    fn is_within(&self, object: &Object, schemas: &[Object]) -> bool {
        self.catalog.schema_of(object).is_some_and(|schema| schemas.contains(&Object::Schema(schema)))
    }

    fn schemas(&self, names: &[(String, Position)]) -> Result<Vec<Object>> {
        let mut all = Vec::new();
        for (name, _) in names {
            all.push(Object::Schema(self.catalog.schema(name).ok_or_else(|| no_schema(name))?));
        }
        Ok(all)
    }

    /// A table, view or sequence by name.
    pub(super) fn relation(&self, name: &Name, sequence: bool) -> Result<Object> {
        let local = names::relation_wanted(&self.catalog, name)?;
        let catalog = &self.catalog;
        let not = |a: &str| Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{local}\" is {a}")));
        if let Some(s) = catalog.sequence(local).filter(|s| !s.hidden) {
            return Ok(Object::Sequence(s.id));
        }
        if sequence && catalog.relation_exists(local) {
            return not("not a sequence");
        }
        if let Some(table) = catalog.table(local) {
            return Ok(Object::Table(table.id));
        }
        if let Some(view) = catalog.view(local) {
            return Ok(Object::View(view.key()));
        }
        if catalog.index(local).is_some() {
            return not("an index");
        }
        if catalog.composite(local).is_some() {
            return not("a composite type");
        }
        let mut missing = names::no_relation(name);
        missing.fields_mut().position = None;
        Err(missing)
    }

    /// A routine by name and types.
    pub(super) fn routine(&self, r: &RoutineRef) -> Result<Object> {
        let unplaced = |mut e: Error| {
            e.fields_mut().position = None;
            e
        };
        if r.aggregate {
            return self.aggregate(r).map(|p| Object::Routine(p.id));
        }
        let found = routine::find(&self.catalog, &r.name, r.types.as_deref(), r.procedure);
        let found = found.map_err(unplaced)?;
        if r.procedure.is_some_and(|p| p != found.is_procedure()) {
            let kind = routine::kind_word(r.procedure);
            let message = format!("{} is not a {kind}", routine::signature(found));
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        Ok(Object::Routine(found.id))
    }

    fn grant_on(
        &mut self,
        object: &Object,
        wanted: Option<Privileges>,
        grantees: &[Option<RoleId>],
        statement: &GrantStatement,
    ) -> Result<()> {
        let kind = self.catalog.object_kind(object);
        let name = self.catalog.object_name(object);
        let mut privileges = wanted.unwrap_or(kind.all());
        if let GrantTarget::Relations(_) = statement.target {
            let beyond = privileges.without(kind.all());
            if kind == ObjectKind::Sequence && !beyond.is_empty() {
                let message =
                    format!("sequence \"{name}\" only supports USAGE, SELECT, and UPDATE privileges");
                self.warning(SqlState::INVALID_GRANT_OPERATION, message);
                privileges = privileges.and(kind.all());
            } else if let Some(word) = beyond.words().next() {
                return Err(invalid_privilege(word, "table"));
            }
        }
        let (grantor, options) = self.catalog.grantor(self.actor.user, object, privileges);
        let given = privileges.and(options);
        if options.is_empty() {
            let any = self.catalog.privileges(self.actor.user, object);
            if any.is_empty() {
                return Err(self.catalog.denied(object));
            }
        }
        self.warn_ungranted(statement.revoke, privileges, options, wanted.is_some(), &format!("\"{name}\""));
        for grantee in grantees {
            let own = self.catalog.rights_mut(object);
            let rights = own.ok_or_else(|| Error::internal("rights on an object that is gone"))?;
            let on = |privileges, options| Grant { grantee: *grantee, grantor, privileges, options };
            match (statement.revoke, statement.option) {
                (false, false) => rights.grant(kind, on(given, Privileges::NONE))?,
                (false, true) => rights.grant(kind, on(given, given))?,
                (true, option) => {
                    let taken = if option { Privileges::NONE } else { given };
                    rights.revoke(kind, on(taken, given), dependents(statement))?;
                    // What was granted on columns goes as well.
                    let (taken, given) = (taken.and(ALL_OF_COLUMNS), given.and(ALL_OF_COLUMNS));
                    let columns: Vec<String> = rights.columns.iter().map(|(name, _)| name.clone()).collect();
                    for column in columns.iter().filter(|_| !given.is_empty()) {
                        rights.revoke_column(column, on(taken, given), dependents(statement))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// How a REVOKE treats what depends on it.
fn dependents(statement: &GrantStatement) -> Dependents {
    if statement.cascade { Dependents::Cascade } else { Dependents::Restrict }
}

fn default_kind(kind: DefaultsKind) -> DefaultKind {
    match kind {
        DefaultsKind::Tables => DefaultKind::Tables,
        DefaultsKind::Sequences => DefaultKind::Sequences,
        DefaultsKind::Functions => DefaultKind::Functions,
        DefaultsKind::Types => DefaultKind::Types,
        DefaultsKind::Schemas => DefaultKind::Schemas,
    }
}

/// 42601
fn unrecognized(word: &str) -> Error {
    let message = format!("unrecognized privilege type \"{}\"", word.to_ascii_lowercase());
    Error::new(SqlState::SYNTAX_ERROR, message)
}

/// The privileges on columns. 0LP01 where there are no such.
fn column_privileges(statement: &GrantStatement) -> Result<Vec<(Privileges, Vec<String>)>> {
    if statement.on_columns.is_empty() {
        return Ok(Vec::new());
    }
    match statement.target {
        GrantTarget::Relations(_) | GrantTarget::AllTables(_) => {}
        GrantTarget::Defaults(_) => {
            let message = "default privileges cannot be set for columns";
            return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
        }
        _ => {
            let message = "column privileges are only valid for relations";
            return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
        }
    }
    let mut all = Vec::new();
    for said in &statement.on_columns {
        let privileges = match &said.word {
            None => ALL_OF_COLUMNS,
            Some(word) => {
                let privilege = Privileges::of_word(word).ok_or_else(|| unrecognized(word))?;
                if !ALL_OF_COLUMNS.contains(privilege) {
                    let word = privilege.words().next().unwrap_or_default();
                    return Err(invalid_privilege(word, "column"));
                }
                privilege
            }
        };
        all.push((privileges, said.columns.iter().map(|(name, _)| name.clone()).collect()));
    }
    Ok(all)
}

/// The privileges that are named; `None` is ALL. 0LP01 where the kind of object has no such.
fn privileges(statement: &GrantStatement) -> Result<Option<Privileges>> {
    let routine = |procedure: Option<bool>| match procedure {
        Some(true) => ("procedure", ObjectKind::Procedure.all()),
        Some(false) => ("function", ObjectKind::Function.all()),
        None => ("routine", ObjectKind::Function.all()),
    };
    let (kind, allowed) = match &statement.target {
        GrantTarget::Relations(_) | GrantTarget::AllTables(_) => {
            ("relation", ObjectKind::Table.all().with(ObjectKind::Sequence.all()))
        }
        GrantTarget::Sequences(_) | GrantTarget::AllSequences(_) => ("sequence", ObjectKind::Sequence.all()),
        GrantTarget::Routines(all) => routine(all.first().and_then(|r| r.procedure)),
        GrantTarget::AllRoutines(procedure, _) => routine(*procedure),
        GrantTarget::Schemas(_) => ("schema", ObjectKind::Schema.all()),
        GrantTarget::Databases(_) => ("database", ObjectKind::Database.all()),
        GrantTarget::Languages(_) => ("language", Privileges::USAGE),
        GrantTarget::Types(_, domains) => (if *domains { "domain" } else { "type" }, ObjectKind::Type.all()),
        GrantTarget::Defaults(of) => match of.kind {
            DefaultsKind::Tables => ("relation", ObjectKind::Table.all()),
            DefaultsKind::Sequences => ("sequence", ObjectKind::Sequence.all()),
            DefaultsKind::Functions => ("function", ObjectKind::Function.all()),
            DefaultsKind::Types => ("type", ObjectKind::Type.all()),
            DefaultsKind::Schemas => ("schema", ObjectKind::Schema.all()),
        },
    };
    let Some(words) = &statement.privileges else { return Ok(None) };
    let mut all = Privileges::NONE;
    for (word, _) in words {
        let Some(privilege) = Privileges::of_word(word) else {
            return Err(unrecognized(word));
        };
        if !allowed.contains(privilege) {
            return Err(invalid_privilege(privilege.words().next().unwrap_or_default(), kind));
        }
        all = all.with(privilege);
    }
    Ok(Some(all))
}
