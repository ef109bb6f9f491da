//! Owners: OWNER TO, REASSIGN OWNED, DROP OWNED.

use super::depend::Object as Dropped;
use super::{Change, names};
use planaria_base::{Error, Result, RoleId, SchemaId, SequenceId, SqlState};
use planaria_catalog::{Catalog, Dependents, Grant, Object, SUPERUSER, no_schema};
use planaria_syntax::ast::{Name, ObjectKind as Kind, OwnedObject, RoleSpec};

fn denied(message: String) -> Error {
    Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
}

/// An object with its kind, as PostgreSQL lists it.
pub(super) fn describe(catalog: &Catalog, object: &Object) -> String {
    let kind = match object {
        Object::Table(id) if catalog.table_by_id(*id).materialized.is_some() => "materialized view",
        _ => catalog.object_kind(object).word(),
    };
    let name = catalog.object_name(object);
    let name = match (object, catalog.schema_of(object)) {
        (Object::Routine(id), _) => catalog.shown_signature(catalog.procedure(*id)),
        (Object::Type(id), _) => catalog.shown_user_type(*id),
        (_, Some(schema)) => catalog.shown_relation(schema, &name),
        (_, None) => name,
    };
    // A procedure is a function there.
    format!("{} {name}", if kind == "procedure" { "function" } else { kind })
}

impl Change {
    pub(super) fn alter_owner(&mut self, object: &OwnedObject, owner: &RoleSpec) -> Result<&'static str> {
        let (object, tag) = match object {
            OwnedObject::Relation(kind, name, if_exists) => {
                return self.alter_relation_owner(*kind, name, *if_exists, owner);
            }
            OwnedObject::Routine(r) => {
                let tag = match r.procedure {
                    _ if r.aggregate => "ALTER AGGREGATE",
                    Some(true) => "ALTER PROCEDURE",
                    Some(false) => "ALTER FUNCTION",
                    None => "ALTER ROUTINE",
                };
                (self.routine(r)?, tag)
            }
            OwnedObject::Type(ty) => match self.owned_composite(&ty.name)?.filter(|_| !ty.domain) {
                Some(id) => (Object::Table(id), "ALTER TYPE"),
                None => {
                    let found = self.user_type(&ty.name)?;
                    if ty.domain && found.domain().is_none() {
                        let message = format!("\"{}\" is not a domain", found.name);
                        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                    }
                    (Object::Type(found.id), if ty.domain { "ALTER DOMAIN" } else { "ALTER TYPE" })
                }
            },
            OwnedObject::Schema(name, _) => {
                (Object::Schema(self.catalog.schema(name).ok_or_else(|| no_schema(name))?), "ALTER SCHEMA")
            }
            OwnedObject::Database(name, _) if self.is_ours(name) => (Object::Database, "ALTER DATABASE"),
            OwnedObject::Database(name, _) => {
                let message = format!("database \"{name}\" does not exist");
                return Err(Error::new(SqlState::INVALID_CATALOG_NAME, message));
            }
        };
        let owner = self.role_of(owner)?;
        self.change_owner(&object, owner)?;
        Ok(tag)
    }

    fn alter_relation_owner(
        &mut self,
        kind: Kind,
        name: &Name,
        if_exists: bool,
        owner: &RoleSpec,
    ) -> Result<&'static str> {
        let tag = match kind {
            Kind::Index => "ALTER INDEX",
            Kind::View => "ALTER VIEW",
            Kind::MaterializedView => "ALTER MATERIALIZED VIEW",
            _ => "ALTER SEQUENCE",
        };
        let local = names::relation_wanted(&self.catalog, name)?;
        let object = match kind {
            Kind::Index if self.catalog.index(local).is_some() => {
                let message = format!("cannot change owner of index \"{local}\"");
                let fields = Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                    .with_hint("Change the ownership of the index's table, instead.");
                self.out.notices.push(super::Notice { level: planaria_base::Level::Warning, fields });
                return Ok(tag);
            }
            Kind::Sequence if self.catalog.sequence(local).is_some_and(|s| !s.hidden) => {
                self.catalog.sequence(local).map(|s| Object::Sequence(s.id))
            }
            Kind::MaterializedView if self.catalog.table(local).is_some_and(|t| t.materialized.is_some()) => {
                self.catalog.table(local).map(|table| Object::Table(table.id))
            }
            Kind::View if self.catalog.view(local).is_some() => {
                self.catalog.view(local).map(|view| Object::View(view.key()))
            }
            _ if self.catalog.relation_exists(local) => {
                let a = if kind == Kind::Index { "an index" } else { tag.trim_start_matches("ALTER ") };
                let a = if kind == Kind::Index { a.to_owned() } else { format!("a {}", a.to_lowercase()) };
                let message = format!("\"{local}\" is not {a}");
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            _ => None,
        };
        let Some(object) = object else {
            let mut missing = names::no_relation(name);
            missing.fields_mut().position = None;
            if !if_exists {
                return Err(missing);
            }
            self.skip_missing(&missing);
            return Ok(tag);
        };
        if let Object::Sequence(id) = &object
            && let Some((table, _)) = self.catalog.sequences[id.index()].as_ref().and_then(|s| s.owner)
        {
            let message = format!("cannot change owner of sequence \"{local}\"");
            let table = &self.catalog.table_by_id(table).name;
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_detail(format!("Sequence \"{local}\" is linked to table \"{table}\".")));
        }
        let owner = self.role_of(owner)?;
        self.change_owner(&object, owner)?;
        Ok(tag)
    }

    /// Changes an owner, if the actor may: it owns the object, could be the new owner, and that could have
    /// made it.
    pub(super) fn change_owner(&mut self, object: &Object, owner: RoleId) -> Result<()> {
        if self.catalog.rights(object).is_some_and(|r| r.owner == owner) {
            return Ok(());
        }
        if !self.is_superuser() {
            self.catalog.require_owner(self.actor.user, object)?;
            if !self.catalog.is_member_of(self.actor.user, owner) {
                return Err(denied(format!("must be member of role \"{}\"", self.catalog.role_name(owner))));
            }
            if let Some(schema) = self.catalog.schema_of(object) {
                self.require_create_by(owner, schema)?;
            }
        }
        self.give_to(object, owner);
        Ok(())
    }

    /// The object, and the sequences behind the columns of a table, become a role's.
    fn give_to(&mut self, object: &Object, owner: RoleId) {
        if let Some(rights) = self.catalog.rights_mut(object) {
            rights.change_owner(owner);
        }
        if let Object::Table(id) = object {
            let table = self.catalog.table_by_id(*id);
            let view = planaria_catalog::key(table.schema, &table.name);
            if table.materialized.is_some()
                && let Some(view) = self.catalog.views.get_mut(&view)
            {
                view.rights.change_owner(owner);
            }
            let owned: Vec<SequenceId> = self.catalog.sequences_of(*id).map(|s| s.id).collect();
            for sequence in owned.into_iter().map(Object::Sequence) {
                if let Some(rights) = self.catalog.rights_mut(&sequence) {
                    rights.change_owner(owner);
                }
            }
        }
    }

    /// The roles, if the actor has the privileges of all of them.
    fn own_roles(&self, specs: &[RoleSpec], what: &str) -> Result<Vec<RoleId>> {
        let roles = self.roles_of(specs)?;
        for role in &roles {
            if !self.catalog.has_privileges_of(self.actor.user, *role) {
                return Err(denied(format!("permission denied to {what} objects")));
            }
        }
        Ok(roles)
    }

    fn refuse_bootstrap(&self, roles: &[RoleId], what: &str) -> Result<()> {
        if !roles.contains(&SUPERUSER) {
            return Ok(());
        }
        let role = format!("role {}", self.catalog.role_name(SUPERUSER));
        let message = format!("{what} {role} because they are required by the database system");
        Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message))
    }

    pub(super) fn reassign_owned(&mut self, from: &[RoleSpec], to: &RoleSpec) -> Result<&'static str> {
        let from = self.own_roles(from, "reassign")?;
        let to = self.role_of(to)?;
        if !self.catalog.has_privileges_of(self.actor.user, to) {
            return Err(denied("permission denied to reassign objects".into()));
        }
        self.refuse_bootstrap(&from, "cannot reassign ownership of objects owned by")?;
        for object in self.catalog.objects() {
            if self.catalog.rights(&object).is_some_and(|r| from.contains(&r.owner)) {
                self.give_to(&object, to);
            }
        }
        self.change_all_statistics(|of| {
            if from.contains(&of.owner) {
                of.owner = to;
            }
            true
        });
        Ok("REASSIGN OWNED")
    }

    pub(super) fn drop_owned(&mut self, roles: &[RoleSpec], cascade: bool) -> Result<&'static str> {
        let roles = self.own_roles(roles, "drop")?;
        self.refuse_bootstrap(&roles, "cannot drop objects owned by")?;
        let mut targets = Vec::new();
        for object in self.catalog.objects() {
            let kind = self.catalog.object_kind(&object);
            let Some(rights) = self.catalog.rights_mut(&object) else { continue };
            if roles.contains(&rights.owner) {
                targets.extend(match object {
                    Object::Table(id) => Some(Dropped::Table(id)),
                    Object::View(name) => Some(Dropped::View(name)),
                    Object::Routine(id) => Some(Dropped::Routine(id)),
                    // One behind a column goes with its table.
                    Object::Sequence(id) => {
                        let of_table = |s: &planaria_catalog::Sequence| s.owner.is_some();
                        let behind = self.catalog.sequences[id.index()].as_deref().is_some_and(of_table);
                        (!behind).then_some(Dropped::Sequence(id))
                    }
                    Object::Type(id) => Some(Dropped::Type(id)),
                    Object::Schema(id) => (id != SchemaId::PUBLIC).then_some(Dropped::Schema(id)),
                    Object::Database => None,
                });
                continue;
            }
            let of_roles = |grant: &Grant| grant.grantee.is_some_and(|g| roles.contains(&g));
            let mut granted: Vec<Grant> = rights.grants(kind).to_vec();
            // It is a REVOKE of all, after which the rights are written out.
            if granted.iter().chain(rights.columns.iter().flat_map(|(_, all)| all)).any(of_roles) {
                rights.grants.get_or_insert_with(|| granted.clone());
            }
            granted.retain(of_roles);
            for grant in granted {
                let options = grant.options.with(grant.privileges);
                rights.revoke(kind, Grant { options, ..grant }, Dependents::Cascade)?;
            }
            for (column, granted) in rights.columns.clone() {
                for grant in granted {
                    if of_roles(&grant) {
                        let options = grant.options.with(grant.privileges);
                        rights.revoke_column(&column, Grant { options, ..grant }, Dependents::Cascade)?;
                    }
                }
            }
        }
        self.drop_targets(targets, cascade)?;
        self.change_all_statistics(|of| !roles.contains(&of.owner));
        roles.iter().for_each(|role| {
            self.drop_from_policies(*role);
            self.catalog.forget_default_rights(*role);
        });
        Ok("DROP OWNED")
    }
}
