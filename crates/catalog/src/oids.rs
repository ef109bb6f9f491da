//! OIDs of the objects of a database.
//!
//! An object gets its OID when the schema change that made it is applied, from a counter that starts
//! where PostgreSQL's does, and keeps it as long as it keeps its name. Schema changes are replayed
//! from the log in their order, so a recovered database has the same OIDs.

use crate::{Catalog, Index, Procedure, Role, SUPERUSER, Table, View};
use planaria_base::oid::{FIRST_NORMAL, Oid};
use planaria_base::{RoleId, SequenceId, TableId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

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
    /// A view, by name.
    View(String),
    /// The rule that makes a relation a view.
    Rule(String),
    /// The row type of a table or view, by the relation's name.
    RowType(String),
    /// Arrays of that.
    RowTypeArray(String),
    /// A procedure or function, by its name and input types: a new version keeps the OID.
    Routine(String),
    /// A role; the first has PostgreSQL's OID of it.
    Role(RoleId),
}

/// The OIDs given out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "Stored", into = "Stored")]
pub struct Oids {
    next: Oid,
    by_object: BTreeMap<Object, Oid>,
    by_oid: BTreeMap<Oid, Object>,
}

impl Default for Oids {
    fn default() -> Oids {
        Oids { next: FIRST_NORMAL, by_object: BTreeMap::new(), by_oid: BTreeMap::new() }
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
        }
    }
}

impl Oids {
    /// The OID of an object; 0 where it has none.
    pub fn of(&self, object: &Object) -> Oid {
        self.by_object.get(object).copied().unwrap_or(0)
    }
    /// What an OID is of.
    pub fn object(&self, oid: Oid) -> Option<&Object> {
        self.by_oid.get(&oid)
    }
}

/// `name(integer,text)`: what tells routines apart.
pub fn signature(procedure: &Procedure) -> String {
    let types: Vec<String> = procedure.inputs().map(|p| p.ty.to_string()).collect();
    format!("{}({})", procedure.name, types.join(","))
}

impl Catalog {
    /// Gives OIDs to what is new and takes them back from what is gone. Part of every schema change.
    pub fn assign_oids(&mut self) {
        let mut present: Vec<Object> = Vec::new();
        for table in self.tables.iter().flatten() {
            present.push(Object::Table(table.id));
            present.push(Object::RowType(table.name.clone()));
            present.push(Object::RowTypeArray(table.name.clone()));
            let defaults = table.visible().filter(|(_, c)| c.has_default());
            present.extend(defaults.map(|(_, c)| Object::Default(table.id, c.name.clone())));
            for index in table.shown_indexes() {
                present.push(Object::Index(table.id, index.name.clone()));
                if index.constraint {
                    present.push(Object::Constraint(table.id, index.name.clone()));
                }
            }
            let checks = table.checks.iter().map(|c| &c.name);
            let names = checks.chain(table.foreign_keys.iter().map(|k| &k.name));
            present.extend(names.map(|name| Object::Constraint(table.id, name.clone())));
        }
        let sequences = self.sequences.iter().flatten().filter(|s| !s.hidden);
        present.extend(sequences.map(|s| Object::Sequence(s.id)));
        for name in self.views.keys() {
            present.push(Object::View(name.clone()));
            present.push(Object::Rule(name.clone()));
            present.push(Object::RowType(name.clone()));
            present.push(Object::RowTypeArray(name.clone()));
        }
        present.extend(self.procedures.iter().filter(|p| p.current).map(|p| Object::Routine(signature(p))));
        let roles = self.roles.iter().flatten().filter(|r| r.id != SUPERUSER);
        present.extend(roles.map(|r| Object::Role(r.id)));
        let oids = &mut self.oids;
        let mut known = 0;
        for object in &present {
            if oids.by_object.contains_key(object) {
                known += 1;
                continue;
            }
            oids.by_object.insert(object.clone(), oids.next);
            oids.by_oid.insert(oids.next, object.clone());
            known += 1;
            // 32 bits of OIDs are more than a catalog kept in memory can be made to use up.
            oids.next = oids.next.checked_add(1).unwrap_or(FIRST_NORMAL);
        }
        if oids.by_object.len() > known {
            let present: HashSet<&Object> = present.iter().collect();
            oids.by_object.retain(|object, _| present.contains(object));
            oids.by_oid.retain(|_, object| present.contains(object));
        }
    }

    /// A current procedure or function by its [`signature`].
    pub fn routine_by_signature(&self, wanted: &str) -> Option<&Procedure> {
        let name = wanted.split('(').next().unwrap_or(wanted);
        self.procedures_named(name)
            .find(|p| signature(p) == wanted)
            .or_else(|| self.procedures.iter().find(|p| p.current && signature(p) == wanted))
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
        self.oids.of(&Object::View(view.name.clone()))
    }
    /// The OID of a sequence.
    pub fn sequence_oid(&self, id: SequenceId) -> Oid {
        self.oids.of(&Object::Sequence(id))
    }
    /// The OID of a procedure or function.
    pub fn routine_oid(&self, procedure: &Procedure) -> Oid {
        self.oids.of(&Object::Routine(signature(procedure)))
    }
    /// The OID of a role.
    pub fn role_oid(&self, id: RoleId) -> Oid {
        if id == SUPERUSER { SUPERUSER_OID } else { self.oids.of(&Object::Role(id)) }
    }
    /// The role of an OID.
    pub fn role_of_oid(&self, oid: Oid) -> Option<&Role> {
        match self.oids.object(oid) {
            _ if oid == SUPERUSER_OID => self.role_by_id(SUPERUSER),
            Some(Object::Role(id)) => self.role_by_id(*id),
            _ => None,
        }
    }
    /// The OID of a table, view, index or sequence by name.
    pub fn relation_oid(&self, name: &str) -> Option<Oid> {
        if let Some(table) = self.table(name) {
            return Some(self.table_oid(table.id));
        }
        if let Some(view) = self.views.get(name) {
            return Some(self.view_oid(view));
        }
        if let Some(sequence) = self.sequence(name).filter(|s| !s.hidden) {
            return Some(self.sequence_oid(sequence.id));
        }
        let (table, index) = self.index(name)?;
        let index = &table.indexes[index.index()];
        table.shown_indexes().any(|i| i.name == index.name).then(|| self.index_oid(table, index))
    }
    /// The name of a table, view, index or sequence.
    pub fn relation_name(&self, oid: Oid) -> Option<&str> {
        match self.oids.object(oid)? {
            Object::Table(id) => Some(&self.table_by_id(*id).name),
            Object::Index(_, name) | Object::View(name) => Some(name),
            Object::Sequence(id) => self.sequences[id.index()].as_ref().map(|s| s.name.as_str()),
            _ => None,
        }
    }
}

impl Table {
    /// Indexes but for that of the hidden row id.
    pub fn shown_indexes(&self) -> impl Iterator<Item = &Index> {
        self.indexes.iter().skip(usize::from(!self.has_primary_key))
    }
}
