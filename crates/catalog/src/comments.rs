//! Comments on objects: COMMENT ON, `pg_description`, `pg_shdescription`.
//!
//! A comment stands in the definition of what it is about, so it is renamed, replaced and dropped with it.

use crate::oids::{DATABASE_OID, Object};
use crate::{Catalog, TypeKind};
use planaria_base::oid::{Oid, PUBLIC};
use planaria_base::{ColumnId, IndexId, ProcedureId, RoleId, SchemaId, SequenceId, TableId, TypeId};

/// Catalogs that objects with comments are in.
const PG_CLASS: Oid = 1259;
const PG_PROC: Oid = 1255;
const PG_CONSTRAINT: Oid = 2606;
const PG_TYPE: Oid = 1247;
const PG_NAMESPACE: Oid = 2615;
const PG_DATABASE: Oid = 1262;
const PG_AUTHID: Oid = 1260;
const PG_TRIGGER: Oid = 2620;
const PG_POLICY: Oid = 3256;
const PG_CAST: Oid = 2605;
const PG_EXTENSION: Oid = 3079;
const PG_STATISTIC_EXT: Oid = 3381;

/// What a comment can be about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Commented {
    /// A table.
    Table(TableId),
    /// A column of a table.
    Column(TableId, ColumnId),
    /// A view, by its [`key`](crate::key).
    View(String),
    /// A column of a view, by the view's key and its name.
    ViewColumn(String, String),
    /// An index.
    Index(TableId, IndexId),
    /// A constraint, by name.
    Constraint(TableId, String),
    /// A trigger, by name.
    Trigger(TableId, String),
    /// A policy, by name.
    Policy(TableId, String),
    /// A sequence.
    Sequence(SequenceId),
    /// A procedure or function.
    Routine(ProcedureId),
    /// A type.
    Type(TypeId),
    /// A condition of a domain, by name.
    DomainConstraint(TypeId, String),
    /// A conversion, by the OIDs of its types.
    Cast(Oid, Oid),
    /// An extension, by name.
    Extension(String),
    /// Extended statistics of a table, by their [`key`](crate::key).
    Statistics(TableId, String),
    /// A role.
    Role(RoleId),
    /// A schema of users.
    Schema(SchemaId),
    /// The database.
    Database,
}

/// A comment as the catalogs have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Comment<'c> {
    /// OID of the catalog that the object is in.
    pub class: Oid,
    /// OID of the object.
    pub object: Oid,
    /// Number of the column, from 1; 0 where it is about the object itself.
    pub column: i32,
    /// What it says.
    pub text: &'c str,
}

impl Catalog {
    pub(crate) fn first_schema_comment() -> Option<String> {
        Some("standard public schema".to_owned())
    }

    /// Sets or, with `None`, removes a comment. Does nothing where there is no such object.
    pub fn set_comment(&mut self, of: &Commented, comment: Option<String>) {
        let place = match of {
            Commented::Table(id) => self.tables[id.index()].as_mut().map(|t| &mut t.comment),
            Commented::Column(id, column) => {
                self.tables[id.index()].as_mut().map(|t| &mut t.columns[column.index()].comment)
            }
            Commented::View(name) => self.views.get_mut(name).map(|v| &mut v.comment),
            Commented::ViewColumn(name, column) => {
                if let Some(view) = self.views.get_mut(name) {
                    match comment {
                        Some(text) => drop(view.column_comments.insert(column.clone(), text)),
                        None => drop(view.column_comments.remove(column)),
                    }
                }
                return;
            }
            Commented::Index(id, index) => {
                self.tables[id.index()].as_mut().map(|t| &mut t.index_at_mut(index.index()).comment)
            }
            Commented::Constraint(id, name) => self.tables[id.index()].as_mut().and_then(|t| {
                let t = &mut **t;
                let checks = t.checks.iter_mut().map(|c| (&c.name, &mut c.comment));
                let keys = t.foreign_keys.iter_mut().map(|k| (&k.name, &mut k.comment));
                let indexes = t.indexes.iter_mut().filter(|i| i.constraint);
                let indexes = indexes.map(|i| (&i.name, &mut i.constraint_comment));
                checks.chain(keys).chain(indexes).find(|(n, _)| *n == name).map(|(_, place)| place)
            }),
            Commented::Trigger(id, name) => self.tables[id.index()]
                .as_mut()
                .and_then(|t| t.triggers.iter_mut().find(|t| t.name == *name).map(|t| &mut t.comment)),
            Commented::Policy(id, name) => self.tables[id.index()]
                .as_mut()
                .and_then(|t| t.policies.iter_mut().find(|p| p.name == *name).map(|p| &mut p.comment)),
            Commented::Sequence(id) => self.sequences[id.index()].as_mut().map(|s| &mut s.comment),
            Commented::Routine(id) => Some(&mut self.procedures[id.index()].comment),
            Commented::Type(id) => self.types[id.index()].as_mut().map(|t| &mut t.comment),
            Commented::Cast(source, target) => {
                let cast = self.casts.iter_mut().find(|c| (c.source, c.target) == (*source, *target));
                cast.map(|c| &mut c.comment)
            }
            Commented::Extension(name) => {
                self.extensions.iter_mut().find(|e| e.name == *name).map(|e| &mut e.comment)
            }
            Commented::Statistics(id, key) => self.tables[id.index()].as_mut().and_then(|t| {
                let found = t.statistics.iter_mut().find(|of| crate::key(of.schema, &of.name) == *key);
                found.map(|of| &mut of.comment)
            }),
            Commented::DomainConstraint(id, name) => {
                let kind = self.types[id.index()].as_mut().map(|t| &mut t.kind);
                match kind {
                    Some(TypeKind::Domain(domain)) => {
                        domain.checks.iter_mut().find(|c| c.name == *name).map(|c| &mut c.comment)
                    }
                    _ => None,
                }
            }
            Commented::Role(id) => self.roles[id.index()].as_mut().map(|r| &mut r.comment),
            Commented::Schema(SchemaId::PUBLIC) => Some(&mut self.schema_comment),
            Commented::Schema(id) => self.schema_mut(*id).map(|s| &mut s.comment),
            Commented::Database => Some(&mut self.database_comment),
        };
        if let Some(place) = place {
            *place = comment;
        }
    }

    /// The comments of `pg_description`: on everything but roles and databases.
    pub fn comments(&self) -> Vec<Comment<'_>> {
        let mut all: Vec<Comment<'_>> = Vec::new();
        for table in self.tables.iter().flatten() {
            let oid = self.table_oid(table.id);
            match table.composite {
                false => all.extend(comment(PG_CLASS, oid, 0, &table.comment)),
                true => {
                    let row_type = self.oids.of(&Object::RowType(crate::key(table.schema, &table.name)));
                    all.extend(comment(PG_TYPE, row_type, 0, &table.comment));
                }
            }
            for (id, column) in table.visible() {
                all.extend(comment(PG_CLASS, oid, table.number(id) as usize, &column.comment));
            }
            let constraint = |name: &String| self.oids.of(&Object::Constraint(table.id, name.clone()));
            for index in table.shown_indexes() {
                all.extend(comment(PG_CLASS, self.index_oid(table, index), 0, &index.comment));
                all.extend(comment(PG_CONSTRAINT, constraint(&index.name), 0, &index.constraint_comment));
            }
            for trigger in &table.triggers {
                all.extend(comment(
                    PG_TRIGGER,
                    self.trigger_oid(table.id, &trigger.name),
                    0,
                    &trigger.comment,
                ));
            }
            for of in &table.statistics {
                all.extend(comment(PG_STATISTIC_EXT, self.statistics_oid(table, of), 0, &of.comment));
            }
            for policy in &table.policies {
                all.extend(comment(PG_POLICY, self.policy_oid(table.id, &policy.name), 0, &policy.comment));
            }
            let checks = table.checks.iter().map(|c| (&c.name, &c.comment));
            let keys = table.foreign_keys.iter().map(|k| (&k.name, &k.comment));
            all.extend(
                checks.chain(keys).filter_map(|(n, text)| comment(PG_CONSTRAINT, constraint(n), 0, text)),
            );
        }
        for view in self.views.values() {
            let oid = self.view_oid(view);
            all.extend(comment(PG_CLASS, oid, 0, &view.comment));
            for (i, column) in view.columns.iter().enumerate() {
                let text = view.column_comments.get(column);
                all.extend(text.map(|text| Comment {
                    class: PG_CLASS,
                    object: oid,
                    column: i as i32 + 1,
                    text,
                }));
            }
        }
        for sequence in self.sequences.iter().flatten().filter(|s| !s.hidden) {
            all.extend(comment(PG_CLASS, self.sequence_oid(sequence.id), 0, &sequence.comment));
        }
        for routine in self.procedures.iter().filter(|p| p.current) {
            all.extend(comment(PG_PROC, self.routine_oid(routine), 0, &routine.comment));
        }
        for ty in self.types.iter().flatten() {
            all.extend(comment(PG_TYPE, self.type_oid(ty.id), 0, &ty.comment));
            for check in ty.domain().map_or(&[][..], |d| &d.checks) {
                let oid = self.oids.of(&Object::DomainConstraint(ty.id, check.name.clone()));
                all.extend(comment(PG_CONSTRAINT, oid, 0, &check.comment));
            }
        }
        for extension in &self.extensions {
            all.extend(comment(PG_EXTENSION, self.extension_oid(&extension.name), 0, &extension.comment));
        }
        all.extend(comment(PG_NAMESPACE, PUBLIC, 0, &self.schema_comment));
        for schema in self.schemas.definitions() {
            all.extend(comment(PG_NAMESPACE, self.schema_oid(schema.id), 0, &schema.comment));
        }
        all
    }

    /// The comments of `pg_shdescription`: on roles and the database.
    pub fn shared_comments(&self) -> Vec<Comment<'_>> {
        let roles = self.roles.iter().flatten();
        let roles = roles.filter_map(|r| comment(PG_AUTHID, self.role_oid(r.id), 0, &r.comment));
        roles.chain(comment(PG_DATABASE, DATABASE_OID, 0, &self.database_comment)).collect()
    }

    /// The comment on an object of a catalog by its OID, or on the n-th column of it, from 1.
    pub fn comment(&self, class: Oid, oid: Oid, column: usize) -> Option<&str> {
        let comment = match (class, column) {
            (PG_NAMESPACE, 0) if oid == PUBLIC => &self.schema_comment,
            (PG_DATABASE, 0) if oid == DATABASE_OID => &self.database_comment,
            (PG_AUTHID, 0) => &self.role_of_oid(oid)?.comment,
            (PG_NAMESPACE, 0) => match self.oids.object(oid)? {
                Object::Schema(id) => &self.schema_by_id(*id)?.comment,
                _ => return None,
            },
            (PG_CAST, 0) => match self.oids.object(oid)? {
                Object::Cast(source, target) => &self.cast(*source, *target)?.comment,
                _ => return None,
            },
            (PG_EXTENSION, 0) => match self.oids.object(oid)? {
                Object::Extension(name) => &self.extension(name)?.comment,
                _ => return None,
            },
            (PG_STATISTIC_EXT, 0) => &self.statistics_of_oid(oid)?.1.comment,
            (PG_TYPE, 0) => match self.oids.object(oid)? {
                Object::RowType(of) => {
                    let (schema, name) = crate::of_key(of);
                    &self.composite((schema, name))?.comment
                }
                _ => &self.type_of_oid(oid)?.comment,
            },
            (PG_PROC | PG_CLASS | PG_CONSTRAINT | PG_TRIGGER | PG_POLICY, _) => {
                match (self.oids.object(oid)?, class, column) {
                    (Object::Table(id), PG_CLASS, 0) => &self.table_by_id(*id).comment,
                    (Object::Table(id), PG_CLASS, n) => {
                        &self.table_by_id(*id).column_numbered(n as i64)?.1.comment
                    }
                    (Object::View(name), PG_CLASS, 0) => &self.views.get(name)?.comment,
                    (Object::View(name), PG_CLASS, n) => {
                        let view = self.views.get(name)?;
                        return view.column_comments.get(view.columns.get(n - 1)?).map(String::as_str);
                    }
                    (Object::Index(id, name), PG_CLASS, 0) => {
                        &self.table_by_id(*id).all_indexes().find(|i| i.name == *name)?.comment
                    }
                    (Object::Sequence(id), PG_CLASS, 0) => &self.sequences[id.index()].as_ref()?.comment,
                    (Object::Routine(signature), PG_PROC, 0) => &self.routine_by_identity(signature)?.comment,
                    (Object::Trigger(id, name), PG_TRIGGER, 0) => {
                        &self.table_by_id(*id).trigger(name)?.comment
                    }
                    (Object::Policy(id, name), PG_POLICY, 0) => &self.table_by_id(*id).policy(name)?.comment,
                    (Object::DomainConstraint(id, name), PG_CONSTRAINT, 0) => {
                        &self.domain(*id).checks.iter().find(|c| c.name == *name)?.comment
                    }
                    (Object::Constraint(id, name), PG_CONSTRAINT, 0) => {
                        let table = self.table_by_id(*id);
                        let checks = table.checks.iter().map(|c| (&c.name, &c.comment));
                        let keys = table.foreign_keys.iter().map(|k| (&k.name, &k.comment));
                        let indexes = table.indexes.iter().filter(|i| i.constraint);
                        let indexes = indexes.map(|i| (&i.name, &i.constraint_comment));
                        checks.chain(keys).chain(indexes).find(|(n, _)| *n == name)?.1
                    }
                    _ => return None,
                }
            }
            _ => return None,
        };
        comment.as_deref()
    }
}

/// A comment, if there is one.
fn comment(class: Oid, object: Oid, column: usize, text: &Option<String>) -> Option<Comment<'_>> {
    text.as_deref().map(|text| Comment { class, object, column: column as i32, text })
}
