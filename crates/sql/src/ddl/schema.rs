//! CREATE, ALTER and DROP of schemas, and what moves from one to another.
//!
//! What is kept as text names schemas: such texts follow where a schema is renamed (`schema_texts`), and nothing moves that
//! one names.

use super::depend::{Object as Target, References};
use super::{Change, names};
use planaria_base::{Error, Result, SchemaId, SqlState};
use planaria_catalog::system::is_system_schema;
use planaria_catalog::{
    Catalog, ColumnDefault, IndexKey, Object, PUBLIC, Privileges, Requirement, Schema, SearchPath, TypeKind,
    Wanted, key, no_schema,
};
use planaria_syntax::ast::{
    Name, ObjectKind as RelationKind, OwnedObject, RoleSpec, Statement, StatementKind,
};

/// 42P06
fn schema_exists(name: &str) -> Error {
    Error::new(SqlState::DUPLICATE_SCHEMA, format!("schema \"{name}\" already exists"))
}

/// 42939 of a name that is the system's.
fn refuse_reserved(name: &str) -> Result<()> {
    if !name.starts_with("pg_") {
        return Ok(());
    }
    let message = format!("unacceptable schema name \"{name}\"");
    Err(Error::new(SqlState::RESERVED_NAME, message)
        .with_detail("The prefix \"pg_\" is reserved for system schemas."))
}

/// What names mean in a text that is kept, as [`References`] has them.
pub(super) fn mention(catalog: &Catalog, schema: SchemaId, name: &str) -> String {
    match schema {
        SchemaId::PUBLIC => name.to_owned(),
        schema => format!("{}\0{name}", catalog.schema_name(schema)),
    }
}

/// Every text that a catalog keeps, with what keeps it.
fn each_text(catalog: &Catalog, each: &mut dyn FnMut(&str, String, References)) -> Result<()> {
    for view in catalog.views.values() {
        each("view", view.name.clone(), References::of_view(view)?);
    }
    for table in catalog.tables.iter().flatten() {
        let mut expression = |text: &str| -> Result<()> {
            each("table", table.name.clone(), References::of_text(text)?);
            Ok(())
        };
        for column in &table.columns {
            if let ColumnDefault::Expression(text) | ColumnDefault::Generated(text) = &column.default {
                expression(text)?;
            }
        }
        table.checks.iter().try_for_each(|check| expression(&check.expression))?;
        let keys = table.partitioning.iter().flat_map(|p| &p.keys).filter(|key| key.column.is_none());
        keys.map(|key| &key.text).try_for_each(|text| expression(text))?;
        table.policies.iter().flat_map(|p| p.texts()).try_for_each(|text| expression(text))?;
        table.triggers.iter().filter_map(|t| t.condition.as_ref()).try_for_each(|text| expression(text))?;
        for definition in table.all_indexes().filter_map(|i| i.definition.as_ref()) {
            for key in &definition.keys {
                if let IndexKey::Expression(text) = key {
                    expression(text)?;
                }
            }
            definition.predicate.iter().try_for_each(|text| expression(text))?;
        }
        for statistics in &table.statistics {
            for text in &statistics.expressions {
                each("statistics object", statistics.name.clone(), References::of_text(text)?);
            }
        }
    }
    for ty in catalog.types.iter().flatten() {
        if let TypeKind::Domain(domain) = &ty.kind {
            for text in domain.checks.iter().map(|c| &c.expression).chain(&domain.default) {
                each("domain", ty.name.clone(), References::of_text(text)?);
            }
        }
    }
    Ok(())
}

impl Change {
    pub(super) fn create_schema(
        &mut self,
        name: Option<&str>,
        if_not_exists: bool,
        owner: Option<&RoleSpec>,
        elements: &[Statement],
    ) -> Result<&'static str> {
        let owner = owner.map_or(Ok(self.actor.user), |role| self.role_of(role))?;
        let named = name.map_or_else(|| self.catalog.role_name(owner).to_string(), str::to_owned);
        let needed = if self.actor.internal { Privileges::TEMPORARY } else { Privileges::CREATE };
        self.require(&Requirement::new(Object::Database, needed))?;
        if owner != self.actor.user && !self.catalog.is_member_of(self.actor.user, owner) {
            let message = format!("must be member of role \"{}\"", self.catalog.role_name(owner));
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        if is_system_schema(&named) || self.catalog.schema(&named).is_some() {
            let exists = schema_exists(&named);
            if !if_not_exists {
                return Err(exists);
            }
            self.skip_existing(&exists);
            return Ok("CREATE SCHEMA");
        }
        if !self.actor.internal {
            refuse_reserved(&named)?;
        }
        let id = self.catalog.next_schema();
        let rights = self.catalog.rights_of_new(owner, planaria_catalog::ObjectKind::Schema, None);
        let schema = Schema { id, name: named.clone(), rights, comment: None };
        self.catalog.schemas.push(Some(schema.into()));
        if !elements.is_empty() {
            self.create_elements((id, &named), owner, elements)?;
        }
        Ok("CREATE SCHEMA")
    }

    /// What CREATE SCHEMA makes in its schema, which is the first of the path for it, in the name of the schema's owner:
    /// sequences, tables, views, indexes, triggers, grants.
    fn create_elements(
        &mut self,
        (id, name): (SchemaId, &str),
        owner: planaria_base::RoleId,
        elements: &[Statement],
    ) -> Result<()> {
        let mut ranked = Vec::new();
        for element in elements {
            let (rank, of) = match &element.kind {
                StatementKind::CreateSequence { name, .. } => (0, Some(name)),
                StatementKind::CreateTable(create) => (1, Some(&create.name)),
                StatementKind::CreateView { name, .. } => (2, Some(name)),
                StatementKind::CreateIndex(create) => (3, Some(&create.table)),
                StatementKind::CreateTrigger(create) => (4, Some(&create.table)),
                _ => (5, None),
            };
            if let Some([schema, _]) = of.map(|name| &name.parts[..])
                && schema != name
            {
                let message = format!(
                    "CREATE specifies a schema ({schema}) different from the one being created ({name})"
                );
                return Err(Error::new(SqlState::INVALID_SCHEMA_DEFINITION, message));
            }
            ranked.push((rank, element));
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        let (before, actor) = (self.catalog.path().clone(), self.actor.user);
        let path = SearchPath::new(std::iter::once(id).chain(before.schemas().iter().copied()));
        let path = before.temporary().map_or(path.clone(), |temporary| path.with_temporary(temporary));
        self.catalog.set_path(&path);
        self.actor.user = owner;
        for (_, element) in ranked {
            self.statement(element)?;
        }
        self.actor.user = actor;
        self.catalog.set_path(&before);
        Ok(())
    }

    pub(super) fn rename_schema(&mut self, name: &str, to: &str) -> Result<&'static str> {
        let id = self.catalog.schema(name).ok_or_else(|| no_schema(name))?;
        self.catalog.require_owner(self.actor.user, &Object::Schema(id))?;
        self.require(&Requirement::new(Object::Database, Privileges::CREATE))?;
        if id == SchemaId::PUBLIC {
            let hint = "Make another schema, and move what is to be in it.";
            return Err(Error::unsupported(format!("schema \"{PUBLIC}\" cannot be renamed"), hint));
        }
        if is_system_schema(to) || self.catalog.schema(to).is_some() {
            return Err(schema_exists(to));
        }
        refuse_reserved(to)?;
        let before = self.rename_schema_in_texts(name, to)?;
        if let Some(schema) = self.catalog.schema_mut(id) {
            to.clone_into(&mut schema.name);
        }
        let types = self.catalog.types.iter().flatten().filter(|ty| ty.schema == id);
        let enums: Vec<_> = types
            .filter_map(|ty| match &ty.kind {
                TypeKind::Enum(of) => Some((ty.id, of.within(Some(to)))),
                TypeKind::Domain(_) => None,
            })
            .collect();
        for (id, now) in enums {
            self.catalog.replace_enum(id, &now);
        }
        self.refuse_changed_views(before, &format!("schema \"{name}\" cannot be renamed"))?;
        Ok("ALTER SCHEMA")
    }

    pub(super) fn drop_schemas(
        &mut self,
        names: &[Name],
        if_exists: bool,
        cascade: bool,
    ) -> Result<&'static str> {
        let mut targets = Vec::new();
        for name in names {
            let shown = name.parts.join(".");
            let [local] = &name.parts[..] else {
                return Err(Error::new(SqlState::INVALID_NAME, format!("improper qualified name: {shown}")));
            };
            match self.catalog.schema(local) {
                Some(id) => {
                    self.catalog.require_owner(self.actor.user, &Object::Schema(id))?;
                    if id == SchemaId::PUBLIC {
                        let hint = "Drop what is in it. The database keeps the schema.";
                        let message = format!("schema \"{PUBLIC}\" cannot be dropped");
                        return Err(Error::unsupported(message, hint));
                    }
                    if !targets.contains(&Target::Schema(id)) {
                        targets.push(Target::Schema(id));
                    }
                }
                None if is_system_schema(local) => {
                    let message =
                        format!("cannot drop schema {local} because it is required by the database system");
                    return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message));
                }
                None if if_exists => self.skip_missing(&no_schema(local)),
                None => return Err(no_schema(local)),
            }
        }
        self.drop_targets(targets, cascade)?;
        let catalog = self.catalog.clone();
        self.change_all_statistics(|of| catalog.schema_by_id(of.schema).is_some());
        Ok("DROP SCHEMA")
    }

    /// ALTER TABLE moves relations of other kinds, too.
    fn kind_to_move(&self, said: RelationKind, local: Wanted<'_>) -> Result<RelationKind> {
        let catalog = &self.catalog;
        if said != RelationKind::Table {
            return Ok(said);
        }
        if catalog.index(local).is_some() {
            let message = format!("cannot change schema of index \"{local}\"");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                .with_hint("Change the schema of the table instead."));
        }
        if catalog.table(local).is_some_and(|table| table.materialized.is_some()) {
            return Ok(RelationKind::MaterializedView);
        }
        if catalog.table(local).is_none() && catalog.view(local).is_some() {
            return Ok(RelationKind::View);
        }
        Ok(if catalog.sequence(local).is_some() { RelationKind::Sequence } else { said })
    }

    pub(super) fn set_schema(&mut self, object: &OwnedObject, to: &str) -> Result<&'static str> {
        let to_id = self.catalog.schema(to).ok_or_else(|| no_schema(to))?;
        let (object, tag) = match object {
            OwnedObject::Relation(kind, name, if_exists) => {
                use RelationKind as Kind;
                let tag = match kind {
                    Kind::Table => "ALTER TABLE",
                    Kind::View => "ALTER VIEW",
                    Kind::MaterializedView => "ALTER MATERIALIZED VIEW",
                    Kind::Sequence => "ALTER SEQUENCE",
                    Kind::Index | Kind::Schema => {
                        let hint = "An index is in the schema of its table.";
                        return Err(Error::unsupported("an index has no schema of its own", hint));
                    }
                };
                let local = names::own_relation(&self.catalog, name)?;
                let found = match self.find(self.kind_to_move(*kind, local)?, local, name) {
                    Err(e) if e.sqlstate() == SqlState::WRONG_OBJECT_TYPE => {
                        return Err(Error::new(e.sqlstate(), e.message()));
                    }
                    found => found?,
                };
                let Some(found) = found else {
                    let mut missing = names::no_relation(name);
                    missing.fields_mut().position = None;
                    if !if_exists {
                        return Err(missing);
                    }
                    self.skip_missing(&missing);
                    return Ok(tag);
                };
                (found, tag)
            }
            OwnedObject::Routine(routine) => match self.routine(routine)? {
                Object::Routine(id) if self.catalog.procedure(id).is_procedure() => {
                    (Target::Routine(id), "ALTER PROCEDURE")
                }
                Object::Routine(id) if routine.aggregate => (Target::Routine(id), "ALTER AGGREGATE"),
                Object::Routine(id) => (Target::Routine(id), "ALTER FUNCTION"),
                _ => return Err(Error::internal("a routine of another kind")),
            },
            OwnedObject::Type(ty) => {
                let tag = if ty.domain { "ALTER DOMAIN" } else { "ALTER TYPE" };
                match self.owned_composite(&ty.name)?.filter(|_| !ty.domain) {
                    Some(id) => (Target::Table(id), tag),
                    None => (Target::Type(self.user_type(&ty.name)?.id), tag),
                }
            }
            OwnedObject::Schema(..) | OwnedObject::Database(..) => {
                return Err(Error::internal("what has no schema"));
            }
        };
        self.require_owner_of(&object)?;
        self.require_create(to_id)?;
        self.refuse_named(&object, "moved to another schema")?;
        let schema = &self.catalog;
        match &object {
            Target::Table(id) => {
                let table = schema.table_by_id(*id).clone();
                if table.schema == to_id {
                    return Ok(tag);
                }
                let indexes = table.all_indexes().map(|i| i.name.as_str());
                let sequences = schema.sequences_of(*id).filter(|s| !s.hidden).map(|s| s.name.as_str());
                let mut all = indexes.chain(sequences).chain([table.name.as_str()]);
                if let Some(taken) = all.find(|n| schema.relation_exists((to_id, *n))) {
                    return Err(already_there("relation", taken, to));
                }
                let sequences: Vec<_> = schema.sequences_of(*id).map(|s| s.id).collect();
                drop(all);
                self.row_type_moved(*id, (to_id, None));
                self.table_mut(*id).schema = to_id;
                self.stored_view_moved(*id, &key(table.schema, &table.name));
                for id in sequences {
                    if let Some(sequence) = &mut self.catalog.sequences[id.index()] {
                        sequence.schema = to_id;
                    }
                }
            }
            Target::View(from) => {
                let Some(view) = schema.views.get(from).cloned() else { return Ok(tag) };
                if view.schema == to_id {
                    return Ok(tag);
                }
                if schema.relation_exists((to_id, view.name.as_str())) {
                    return Err(already_there("relation", &view.name, to));
                }
                self.catalog.views.remove(from);
                let name = view.name.clone();
                self.view_moved(from, &key(to_id, &name));
                self.catalog.views.insert(key(to_id, &name), view.renamed(to_id, &name));
            }
            Target::Sequence(id) => {
                let name = schema.sequences[id.index()].as_ref().map_or(String::new(), |s| s.name.clone());
                if schema.sequences[id.index()].as_ref().is_some_and(|s| s.schema == to_id) {
                    return Ok(tag);
                }
                if schema.relation_exists((to_id, name.as_str())) {
                    return Err(already_there("relation", &name, to));
                }
                if let Some((table, _)) = schema.sequences[id.index()].as_ref().and_then(|s| s.owner) {
                    let table = &schema.table_by_id(table).name;
                    let message = "cannot move an owned sequence into another schema";
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                        .with_detail(format!("Sequence \"{name}\" is linked to table \"{table}\".")));
                }
                if let Some(sequence) = &mut self.catalog.sequences[id.index()] {
                    sequence.schema = to_id;
                }
            }
            Target::Routine(id) => {
                let routine = schema.procedure(*id);
                if routine.schema == to_id {
                    return Ok(tag);
                }
                let types = |p: &planaria_catalog::Procedure| -> Vec<planaria_base::Type> {
                    p.inputs().map(|q| q.ty.base()).collect()
                };
                let mut there = schema.procedures_named((to_id, routine.name.as_str()));
                if there.any(|p| types(p) == types(routine)) {
                    let message = format!(
                        "function {} already exists in schema \"{to}\"",
                        planaria_catalog::oids::signature(routine)
                    );
                    return Err(Error::new(SqlState::DUPLICATE_FUNCTION, message));
                }
                self.catalog.procedures[id.index()].schema = to_id;
            }
            Target::Type(id) => {
                let ty = schema.type_by_id(*id);
                if ty.schema == to_id {
                    return Ok(tag);
                }
                if schema.user_type((to_id, ty.name.as_str())).is_some() {
                    return Err(already_there("type", &ty.name, to));
                }
                let kind = ty.kind.clone();
                if let Some(ty) = &mut self.catalog.types[id.index()] {
                    ty.schema = to_id;
                }
                if let TypeKind::Enum(of) = kind {
                    let schema = (to_id != SchemaId::PUBLIC).then_some(to);
                    self.catalog.replace_enum(*id, &of.within(schema));
                }
            }
            _ => return Err(Error::internal("what has no schema")),
        }
        Ok(tag)
    }

    /// 0A000 where a text that is kept names the object: it would lead nowhere.
    pub(super) fn refuse_named(&self, object: &Target, what: &str) -> Result<()> {
        let catalog = &self.catalog;
        let (schema, name) = match object {
            Target::Table(id) => {
                let table = catalog.table_by_id(*id);
                (table.schema, table.name.as_str())
            }
            Target::View(key) => planaria_catalog::of_key(key),
            Target::Sequence(id) => match &catalog.sequences[id.index()] {
                Some(sequence) => (sequence.schema, sequence.name.as_str()),
                None => return Ok(()),
            },
            Target::Routine(id) => {
                let routine = catalog.procedure(*id);
                (routine.schema, routine.name.as_str())
            }
            Target::Type(id) => {
                let ty = catalog.type_by_id(*id);
                (ty.schema, ty.name.as_str())
            }
            _ => return Ok(()),
        };
        let mention = mention(catalog, schema, name);
        let mut named = None;
        if let Target::Routine(id) = object
            && let Some(aggregate) = super::aggregate::made_of(catalog, catalog.procedure(*id)).next()
        {
            let holder = &catalog.procedure(aggregate).name;
            named = Some(format!("The aggregate \"{holder}\" names it, and is kept as text."));
        }
        each_text(catalog, &mut |what, holder, references| {
            let names = match object {
                Target::Routine(_) => references.functions.contains(&mention),
                Target::Type(_) => references.types.contains(&mention),
                _ => references.relations.contains(&mention) || references.sequences.contains(&mention),
            };
            if names {
                named.get_or_insert(format!(
                    "The definition of {what} \"{holder}\" names it, and is kept as text."
                ));
            }
        })?;
        match named {
            None => Ok(()),
            Some(detail) => {
                let message = format!("{} cannot be {what}", object.describe(catalog));
                Err(Error::unsupported(message, "Drop it, change the object, create it again.")
                    .with_detail(detail))
            }
        }
    }

    /// Forgets a schema, in which nothing is left.
    pub(super) fn remove_schema(&mut self, id: SchemaId) {
        if let Some(schema) = self.catalog.schemas.get_mut(id.index().wrapping_sub(1)) {
            *schema = None;
        }
        self.catalog.default_rights.retain(|d| d.schema != Some(id));
    }
}

/// 42P07, 42710
fn already_there(what: &str, name: &str, schema: &str) -> Error {
    let state = if what == "type" { SqlState::DUPLICATE_OBJECT } else { SqlState::DUPLICATE_TABLE };
    Error::new(state, format!("{what} \"{name}\" already exists in schema \"{schema}\""))
}
