//! OIDs of the objects of a database.
//!
//! An object gets its OID when the schema change that made it is applied, from a counter that starts
//! where PostgreSQL's does, and keeps it as long as it keeps its name. Schema changes are replayed
//! from the log in their order, so a recovered database has the same OIDs.

use crate::{
    Catalog, Check, Index, PREDEFINED, Procedure, Role, SUPERUSER, Schema, Sequence, Table, TypeKind,
    UserType, View, Wanted, key, of_key,
};
use imbl::OrdMap;
use planaria_base::oid::{FIRST_NORMAL, Oid};
use planaria_base::{RoleId, SchemaId, SequenceId, TableId, TypeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// OID of the role that a database is made with.
pub const SUPERUSER_OID: Oid = 10;

/// OID of the database: that of `postgres` in PostgreSQL.
pub const DATABASE_OID: Oid = 5;

/// Something that has an OID.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Object {
    /// A table.
    Table(TableId),
    /// An index of a table, by name.
    Index(TableId, String),
    /// A constraint of a table, by name: primary key, unique, check, foreign key.
    Constraint(TableId, String),
    /// The default of a column, by name.
    Default(TableId, String),
    /// A sequence.
    Sequence(SequenceId),
    /// A view, by its [`key`](crate::key).
    View(String),
    /// The rule that makes a relation a view.
    Rule(String),
    /// The row type of a table or view, by the relation's [`key`](crate::key).
    RowType(String),
    /// Arrays of that.
    RowTypeArray(String),
    /// A procedure or function, by its [`key`](crate::key) and input types: a new version keeps the OID.
    Routine(String),
    /// A type that a user made.
    Type(TypeId),
    /// Arrays of that.
    TypeArray(TypeId),
    /// A label of an enumerated type, by its rank.
    Label(TypeId, i32),
    /// A condition of a domain, by name.
    DomainConstraint(TypeId, String),
    /// A role; the first has PostgreSQL's OID of it.
    Role(RoleId),
    /// A schema beside `public`.
    Schema(SchemaId),
    /// A trigger of a table, by name.
    Trigger(TableId, String),
    /// A policy of a table, by name.
    Policy(TableId, String),
    /// The default of a view's column: the view by its [`key`](crate::key), the column by name.
    ViewDefault(String, String),
    /// A conversion, by the OIDs of its types.
    Cast(Oid, Oid),
    /// A trigger of a view: the view by its [`key`](crate::key), the trigger by name.
    ViewTrigger(String, String),
    /// An extension, by name.
    Extension(String),
    /// Extended statistics: of a table, by their [`key`](crate::key).
    Statistics(TableId, String),
}

/// The OIDs given out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Oids {
    next: Oid,
    by_object: OrdMap<Object, Oid>,
    by_oid: OrdMap<Oid, Object>,
    /// Everything in the catalog was given one by this program. What was read may be from a version that gave
    /// OIDs to less.
    complete: bool,
}

/// Where they come from does not matter.
impl PartialEq for Oids {
    fn eq(&self, other: &Oids) -> bool {
        self.next == other.next && self.by_oid == other.by_oid
    }
}

impl Default for Oids {
    fn default() -> Oids {
        Oids { next: FIRST_NORMAL, by_object: OrdMap::new(), by_oid: OrdMap::new(), complete: true }
    }
}

/// The same as a list: not every encoding has maps with such keys.
#[derive(Serialize, Deserialize)]
struct Stored {
    next: Oid,
    objects: Vec<(Oid, Object)>,
}

impl From<Oids> for Stored {
    fn from(oids: Oids) -> Stored {
        Stored { next: oids.next, objects: oids.by_oid.into_iter().collect() }
    }
}

impl From<Stored> for Oids {
    fn from(stored: Stored) -> Oids {
        Oids {
            next: stored.next,
            by_object: stored.objects.iter().map(|(oid, object)| (object.clone(), *oid)).collect(),
            by_oid: stored.objects.into_iter().collect(),
            complete: false,
        }
    }
}

impl Oids {
    /// One for something that nobody looks up by it.
    pub(crate) fn fresh(&mut self) -> Oid {
        self.next += 1;
        self.next - 1
    }
    /// The OID of an object; 0 where it has none.
    pub fn of(&self, object: &Object) -> Oid {
        self.by_object.get(object).copied().unwrap_or(0)
    }
    /// What an OID is of.
    pub fn object(&self, oid: Oid) -> Option<&Object> {
        self.by_oid.get(&oid)
    }

    /// An object goes by another name, and keeps its OID.
    pub fn rename(&mut self, from: &Object, to: Object) {
        if let Some(oid) = self.by_object.remove(from) {
            self.by_object.insert(to.clone(), oid);
            self.by_oid.insert(oid, to);
        }
    }

    pub(crate) fn give(&mut self, objects: Vec<Object>) {
        for object in objects {
            if self.by_object.contains_key(&object) {
                continue;
            }
            self.by_object.insert(object.clone(), self.next);
            self.by_oid.insert(self.next, object);
            // 32 bits of OIDs are more than a catalog kept in memory can be made to use up.
            self.next = self.next.checked_add(1).unwrap_or(FIRST_NORMAL);
        }
    }

    pub(crate) fn take_back(&mut self, objects: &BTreeSet<Object>) {
        for oid in objects.iter().filter_map(|object| self.by_object.remove(object)) {
            self.by_oid.remove(&oid);
        }
    }
}

/// What a schema change has touched.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Touched {
    /// Tables that were made, changed or dropped.
    pub tables: Vec<TableId>,
    /// Sequences that were.
    pub sequences: Vec<SequenceId>,
}

fn of_table(table: &Table, each: &mut dyn FnMut(Object)) {
    each(Object::Table(table.id));
    let key = key(table.schema, &table.name);
    each(Object::RowType(key.clone()));
    each(Object::RowTypeArray(key));
    let defaults = table.visible().filter(|(_, c)| c.has_default());
    defaults.for_each(|(_, c)| each(Object::Default(table.id, c.name.clone())));
    for index in table.shown_indexes() {
        each(Object::Index(table.id, index.name.clone()));
        if index.constraint {
            each(Object::Constraint(table.id, index.name.clone()));
        }
    }
    let checks = table.checks.iter().map(|c| &c.name);
    let names = checks.chain(table.foreign_keys.iter().map(|k| &k.name));
    names.for_each(|name| each(Object::Constraint(table.id, name.clone())));
    for trigger in &table.triggers {
        if trigger.constraint.is_some() {
            each(Object::Constraint(table.id, trigger.name.clone()));
        }
        each(Object::Trigger(table.id, trigger.name.clone()));
    }
    table.policies.iter().for_each(|p| each(Object::Policy(table.id, p.name.clone())));
    table
        .statistics
        .iter()
        .for_each(|of| each(Object::Statistics(table.id, crate::key(of.schema, &of.name))));
}

fn of_sequence(sequence: &Sequence, each: &mut dyn FnMut(Object)) {
    if !sequence.hidden {
        each(Object::Sequence(sequence.id));
    }
}

fn of_view(name: &str, view: &View, each: &mut dyn FnMut(Object)) {
    if !view.stored {
        each(Object::View(name.to_owned()));
    }
    each(Object::Rule(name.to_owned()));
    // Names lead to its table.
    if view.stored {
        return;
    }
    each(Object::RowType(name.to_owned()));
    each(Object::RowTypeArray(name.to_owned()));
    view.triggers().iter().for_each(|t| each(Object::ViewTrigger(name.to_owned(), t.name.clone())));
    view.defaults.keys().for_each(|column| each(Object::ViewDefault(name.to_owned(), column.clone())));
}

fn of_routine(procedure: &Procedure, each: &mut dyn FnMut(Object)) {
    if procedure.current {
        each(Object::Routine(identity(procedure)));
    }
}

fn of_type(ty: &UserType, each: &mut dyn FnMut(Object)) {
    each(Object::Type(ty.id));
    each(Object::TypeArray(ty.id));
    match &ty.kind {
        TypeKind::Enum(of) => of.labels().iter().for_each(|l| each(Object::Label(ty.id, l.rank))),
        TypeKind::Domain(domain) => {
            let name = |c: &Check| Object::DomainConstraint(ty.id, c.name.clone());
            domain.checks.iter().for_each(|c| each(name(c)));
        }
    }
}

fn of_role(role: &Role, each: &mut dyn FnMut(Object)) {
    if role.id != SUPERUSER {
        each(Object::Role(role.id));
    }
}

fn of_schema(schema: &Schema, each: &mut dyn FnMut(Object)) {
    each(Object::Schema(schema.id));
}

/// `name(integer,text)`: what tells routines of a schema apart.
pub fn signature(procedure: &Procedure) -> String {
    let types: Vec<String> = procedure.inputs().map(|p| p.ty.to_string()).collect();
    format!("{}({})", procedure.name, types.join(","))
}

/// What tells routines apart.
pub fn identity(procedure: &Procedure) -> String {
    key(procedure.schema, &signature(procedure))
}

impl Catalog {
    /// Ends a schema change: names lead to what is new, which gets OIDs; they are taken back from what is gone.
    /// Answers with what was touched.
    pub fn settle(&mut self) -> Touched {
        let tables = self.tables.settle();
        let sequences = self.sequences.settle();
        let views = self.views.settle();
        let procedures = self.procedures.settle();
        let types = self.types.settle();
        let roles = self.roles.settle();
        let schemas = self.schemas.settle();
        // What was there before, and what is there now, in the order in which OIDs are given.
        let (mut before, mut now) = (BTreeSet::new(), Vec::new());
        for (id, was) in &tables {
            was.iter().flatten().for_each(|t| of_table(t, &mut |o| before.extend([o])));
            self.tables[*id as usize].iter().for_each(|t| of_table(t, &mut |o| now.push(o)));
        }
        for (id, was) in &sequences {
            was.iter().flatten().for_each(|s| of_sequence(s, &mut |o| before.extend([o])));
            self.sequences[*id as usize].iter().for_each(|s| of_sequence(s, &mut |o| now.push(o)));
        }
        for (name, was) in &views {
            was.iter().for_each(|v| of_view(name, v, &mut |o| before.extend([o])));
            self.views.get(name).iter().for_each(|v| of_view(name, v, &mut |o| now.push(o)));
        }
        for (id, was) in &procedures {
            was.iter().for_each(|p| of_routine(p, &mut |o| before.extend([o])));
            of_routine(&self.procedures[*id as usize], &mut |o| now.push(o));
        }
        for (id, was) in &types {
            was.iter().flatten().for_each(|t| of_type(t, &mut |o| before.extend([o])));
            self.types[*id as usize].iter().for_each(|t| of_type(t, &mut |o| now.push(o)));
        }
        for (id, was) in &roles {
            was.iter().flatten().for_each(|r| of_role(r, &mut |o| before.extend([o])));
            self.roles[*id as usize].iter().for_each(|r| of_role(r, &mut |o| now.push(o)));
        }
        for (id, was) in &schemas {
            was.iter().flatten().for_each(|s| of_schema(s, &mut |o| before.extend([o])));
            self.schemas[*id as usize].iter().for_each(|s| of_schema(s, &mut |o| now.push(o)));
        }
        if !self.oids.complete {
            now = self.objects_with_oids();
            before = self.oids.by_object.keys().cloned().collect();
            self.oids.complete = true;
        }
        for object in &now {
            before.remove(object);
        }
        self.oids.take_back(&before);
        self.oids.give(now);
        Touched {
            tables: tables.into_iter().map(|(id, _)| TableId(id)).collect(),
            sequences: sequences.into_iter().map(|(id, _)| SequenceId(id)).collect(),
        }
    }

    /// All that has an OID, in the order in which they are given.
    fn objects_with_oids(&self) -> Vec<Object> {
        let mut all = Vec::new();
        let each = &mut |object| all.push(object);
        self.tables.iter().flatten().for_each(|t| of_table(t, each));
        self.sequences.iter().flatten().for_each(|s| of_sequence(s, each));
        self.views
            .keys()
            .for_each(|name| self.views.get(name).into_iter().for_each(|view| of_view(name, view, each)));
        self.procedures.iter().for_each(|p| of_routine(p, each));
        self.types.iter().flatten().for_each(|t| of_type(t, each));
        self.roles.iter().flatten().for_each(|r| of_role(r, each));
        self.schemas.iter().flatten().for_each(|s| of_schema(s, each));
        all.extend(self.casts.iter().map(|c| Object::Cast(c.source, c.target)));
        all.extend(self.extensions.iter().map(|e| Object::Extension(e.name.clone())));
        all
    }

    /// A current procedure or function by its [`identity`].
    pub fn routine_by_identity(&self, wanted: &str) -> Option<&Procedure> {
        let (schema, signature) = of_key(wanted);
        let name = signature.split('(').next().unwrap_or(signature);
        self.procedures_named((schema, name))
            .find(|p| identity(p) == wanted)
            .or_else(|| self.procedures.definitions().find(|p| p.current && identity(p) == wanted))
    }

    /// The OID of a table.
    pub fn table_oid(&self, id: TableId) -> Oid {
        self.oids.of(&Object::Table(id))
    }
    /// The OID of an index.
    pub fn index_oid(&self, table: &Table, index: &Index) -> Oid {
        self.oids.of(&Object::Index(table.id, index.name.clone()))
    }
    /// The OID of a view.
    pub fn view_oid(&self, view: &View) -> Oid {
        match self.table((view.schema, view.name.as_str())).filter(|_| view.stored) {
            Some(table) => self.table_oid(table.id),
            None => self.oids.of(&Object::View(view.key())),
        }
    }
    /// The OID of a sequence.
    pub fn sequence_oid(&self, id: SequenceId) -> Oid {
        self.oids.of(&Object::Sequence(id))
    }
    /// The OID of a procedure or function.
    pub fn routine_oid(&self, procedure: &Procedure) -> Oid {
        self.oids.of(&Object::Routine(identity(procedure)))
    }
    /// The OID of a trigger.
    pub fn trigger_oid(&self, table: TableId, trigger: &str) -> Oid {
        self.oids.of(&Object::Trigger(table, trigger.to_owned()))
    }
    /// The OID of a policy.
    pub fn policy_oid(&self, table: TableId, policy: &str) -> Oid {
        self.oids.of(&Object::Policy(table, policy.to_owned()))
    }
    /// The OID of a role.
    pub fn role_oid(&self, id: RoleId) -> Oid {
        if id == SUPERUSER {
            return SUPERUSER_OID;
        }
        let name = self.role_by_id(id).map_or("", |role| role.name.as_str());
        let predefined = PREDEFINED.iter().find(|(predefined, _)| *predefined == name);
        predefined.map_or_else(|| self.oids.of(&Object::Role(id)), |(_, oid)| *oid)
    }
    /// The role of an OID.
    pub fn role_of_oid(&self, oid: Oid) -> Option<&Role> {
        match self.oids.object(oid) {
            _ if oid == SUPERUSER_OID => self.role_by_id(SUPERUSER),
            Some(Object::Role(id)) => self.role_by_id(*id),
            _ => PREDEFINED.iter().find(|(_, of)| *of == oid).and_then(|(name, _)| self.role(name)),
        }
    }
    /// The OID of a table, view, index or sequence by name.
    pub fn relation_oid<'n>(&self, wanted: impl Into<Wanted<'n>>) -> Option<Oid> {
        let wanted = self.located(wanted.into());
        if let Some(table) = self.of_rows(wanted) {
            return Some(self.table_oid(table.id));
        }
        if let Some(view) = self.view(wanted) {
            return Some(self.view_oid(view));
        }
        if let Some(sequence) = self.sequence(wanted).filter(|s| !s.hidden) {
            return Some(self.sequence_oid(sequence.id));
        }
        let (table, index) = self.index(wanted)?;
        let index = table.index_at(index.index());
        table.shown_indexes().any(|i| i.name == index.name).then(|| self.index_oid(table, index))
    }
    /// Schema and name of a table, view, index or sequence.
    pub fn relation_name(&self, oid: Oid) -> Option<(SchemaId, &str)> {
        match self.oids.object(oid)? {
            Object::Table(id) => {
                let table = self.table_by_id(*id);
                Some((table.schema, &table.name))
            }
            Object::Index(id, name) => Some((self.table_by_id(*id).schema, name)),
            Object::View(key) => Some(of_key(key)),
            Object::Sequence(id) => self.sequences[id.index()].as_ref().map(|s| (s.schema, s.name.as_str())),
            _ => None,
        }
    }
}

impl Table {
    /// Indexes but for that of the hidden row id.
    pub fn shown_indexes(&self) -> impl Iterator<Item = &Index> {
        self.all_indexes().skip(usize::from(!self.has_primary_key)).filter(|i| !i.hidden)
    }
    /// Those that are there, and those that are only remembered.
    pub fn all_indexes(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().chain(&self.unmade)
    }
    /// The same, to be changed.
    pub fn all_indexes_mut(&mut self) -> impl Iterator<Item = &mut Index> {
        self.indexes.iter_mut().chain(&mut self.unmade)
    }
    /// How many there are of both.
    pub fn index_count(&self) -> usize {
        self.indexes.len() + self.unmade.len()
    }
    /// An index by its place: those that are only remembered come last.
    ///
    /// # Panics
    /// Where there is none.
    pub fn index_at(&self, at: usize) -> &Index {
        self.indexes.get(at).unwrap_or_else(|| &self.unmade[at - self.indexes.len()])
    }
    /// The same, to be changed.
    ///
    /// # Panics
    /// Where there is none.
    pub fn index_at_mut(&mut self, at: usize) -> &mut Index {
        let made = self.indexes.len();
        if at < made { &mut self.indexes[at] } else { &mut self.unmade[at - made] }
    }
}
