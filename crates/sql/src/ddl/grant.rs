//! GRANT and REVOKE of privileges on objects.

use super::{Change, names, routine};
use planaria_base::{Error, Result, RoleId, SqlState};
use planaria_catalog::{DATABASE, Dependents, Grant, Object, ObjectKind, Privileges, no_schema};
use planaria_syntax::ast::{GrantStatement, GrantTarget, Name, Position, RoleName, RoutineRef};

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
        let grantees = self.grantees(statement)?;
        let wanted = privileges(statement)?;
        for object in self.targets(&statement.target)? {
            self.grant_on(&object, wanted, &grantees, statement)?;
        }
        Ok(if statement.revoke { "REVOKE" } else { "GRANT" })
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
                for (name, _) in names {
                    if name != DATABASE {
                        let message = format!("database \"{name}\" does not exist");
                        return Err(Error::new(SqlState::INVALID_CATALOG_NAME, message));
                    }
                    all.push(Object::Database);
                }
                Ok(all)
            }
            GrantTarget::AllTables(schemas) => {
                self.schemas(schemas)?;
                let tables = catalog.tables.iter().flatten().map(|t| Object::Table(t.id));
                Ok(tables.chain(catalog.plain_views().map(|v| Object::View(v.key()))).collect())
            }
            GrantTarget::AllSequences(schemas) => {
                self.schemas(schemas)?;
                let sequences = catalog.sequences.iter().flatten().filter(|s| !s.hidden);
                Ok(sequences.map(|s| Object::Sequence(s.id)).collect())
            }
            GrantTarget::AllRoutines(procedure, schemas) => {
                self.schemas(schemas)?;
                let wanted = |p: &&planaria_catalog::Procedure| {
                    p.current && procedure.is_none_or(|wanted| wanted == p.is_procedure())
                };
                Ok(catalog.procedures.definitions().filter(wanted).map(|p| Object::Routine(p.id)).collect())
            }
        }
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
        let done = if statement.revoke { "privileges could be revoked" } else { "privileges were granted" };
        let state = match statement.revoke {
            true => SqlState::PRIVILEGE_NOT_REVOKED,
            false => SqlState::PRIVILEGE_NOT_GRANTED,
        };
        if given.is_empty() && !privileges.is_empty() {
            self.warning(state, format!("no {done} for \"{name}\""));
        } else if wanted.is_some() && given != privileges {
            self.warning(state, format!("not all {done} for \"{name}\""));
        }
        for grantee in grantees {
            let own = self.catalog.rights_mut(object);
            let rights = own.ok_or_else(|| Error::internal("rights on an object that is gone"))?;
            let on = |privileges, options| Grant { grantee: *grantee, grantor, privileges, options };
            match (statement.revoke, statement.option) {
                (false, false) => rights.grant(kind, on(given, Privileges::NONE))?,
                (false, true) => rights.grant(kind, on(given, given))?,
                (true, option) => {
                    let taken = if option { Privileges::NONE } else { given };
                    let dependents =
                        if statement.cascade { Dependents::Cascade } else { Dependents::Restrict };
                    rights.revoke(kind, on(taken, given), dependents)?;
                }
            }
        }
        Ok(())
    }
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
    };
    let Some(words) = &statement.privileges else { return Ok(None) };
    let mut all = Privileges::NONE;
    for (word, _) in words {
        let Some(privilege) = Privileges::of_word(word) else {
            let message = format!("unrecognized privilege type \"{}\"", word.to_ascii_lowercase());
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        };
        if !allowed.contains(privilege) {
            return Err(invalid_privilege(privilege.words().next().unwrap_or_default(), kind));
        }
        all = all.with(privilege);
    }
    Ok(Some(all))
}
