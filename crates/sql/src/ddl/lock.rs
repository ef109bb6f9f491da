//! What LOCK TABLE, VACUUM, ANALYZE, REINDEX and CLUSTER name: it has to be there.

use super::{Change, names};
use planaria_base::{Error, Result, RoleId, SqlState, TableId};
use planaria_catalog::system::is_system_schema;
use planaria_catalog::{Catalog, Object, Privileges, Table, Wanted, no_schema};
use planaria_syntax::ast::{LockMode, LockTable, Maintain, Maintained, Name};

/// What is to be locked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lockable {
    /// A table.
    Table(TableId),
    /// A view, by its name: with the tables it reads.
    View(String),
    /// A relation of the system's: nobody changes it.
    System,
}

/// What a LOCK TABLE of a role names: 42P01 for what is not there, 42809 for what cannot be locked, 42501 for what
/// the role may not lock.
pub fn lockable(catalog: &Catalog, role: RoleId, lock: &LockTable) -> Result<Vec<Lockable>> {
    lock.names.iter().map(|name| lockable_one(catalog, role, name, lock.mode)).collect()
}

fn lockable_one(catalog: &Catalog, role: RoleId, name: &Name, mode: LockMode) -> Result<Lockable> {
    if crate::lower::system::named(name).is_some() {
        return Ok(Lockable::System);
    }
    let local = names::relation_wanted(catalog, name)?;
    let (object, lockable) = if let Some(table) = catalog.table(local) {
        (Object::Table(table.id), Lockable::Table(table.id))
    } else if let Some(view) = catalog.view(local) {
        (Object::View(view.key()), Lockable::View(view.key()))
    } else if catalog.relation_exists(local) {
        let what = if catalog.sequence(local).is_some() { "sequences" } else { "indexes" };
        return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("cannot lock relation \"{local}\""))
            .with_detail(format!("This operation is not supported for {what}.")));
    } else {
        return Err(missing(name));
    };
    let writes = Privileges::UPDATE.with(Privileges::DELETE).with(Privileges::TRUNCATE);
    let needed = match mode {
        LockMode::AccessShare => Privileges::SELECT,
        LockMode::RowExclusive => writes.with(Privileges::INSERT),
        _ => writes,
    };
    if !catalog.privileges(role, &object).intersects(needed) {
        return Err(catalog.denied(&object));
    }
    Ok(lockable)
}

/// The table that a name stands for, if it is one.
pub fn table_named<'c>(catalog: &'c Catalog, name: &Name) -> Option<&'c Table> {
    names::table(catalog, name).ok()
}

/// 42P01, without a position, as statements of this kind say it.
fn missing(name: &Name) -> Error {
    let message = format!("relation \"{}\" does not exist", name.parts.join("."));
    Error::new(SqlState::UNDEFINED_TABLE, message)
}

/// Whether a statement marks an index as the one that the table is clustered by, and it is not yet.
pub fn marks_index(catalog: &Catalog, maintain: &Maintain) -> bool {
    let Some((name, index)) = maintain.clustered() else { return false };
    let marked = |table: &Table| table.shown_indexes().any(|i| i.name == index && i.clustered);
    names::table(catalog, name).is_ok_and(|table| !table.is_partitioned() && !marked(table))
}

/// Whether a statement cannot be part of a transaction block: CLUSTER of several tables.
pub fn stands_alone(catalog: &Catalog, maintain: &Maintain) -> bool {
    maintain.tag == "VACUUM"
        || maintain.tag == "CLUSTER"
            && match maintain.what.first() {
                Some(Maintained::Table(name, _) | Maintained::Clustered(name, _)) => {
                    names::table(catalog, name).is_ok_and(|table| table.is_partitioned())
                }
                _ => true,
            }
}

/// Whether everything is there that a statement maintains.
pub fn check_maintained(catalog: &Catalog, role: RoleId, maintain: &Maintain) -> Result<()> {
    if let Some((name, index)) = maintain.clustered() {
        if let Some(table) = table(catalog, name, maintain.tag)? {
            catalog.require_owner(role, &Object::Table(table.id))?;
            check_clustered(catalog, table, index)?;
        }
        return Ok(());
    }
    maintain.what.iter().try_for_each(|what| match what {
        Maintained::Table(name, columns) => table(catalog, name, maintain.tag).and_then(|table| {
            let Some(table) = table else { return Ok(()) };
            if maintain.tag == "REINDEX" || maintain.tag == "CLUSTER" {
                catalog.require_owner(role, &Object::Table(table.id))?;
            }
            let marked = || table.shown_indexes().any(|i| i.clustered);
            if maintain.tag == "CLUSTER" && !marked() {
                let message = format!("there is no previously clustered index for table \"{}\"", table.name);
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
            }
            for (column, _) in columns {
                if !table.columns.iter().any(|c| c.name == *column && !c.hidden) {
                    let message =
                        format!("column \"{column}\" of relation \"{}\" does not exist", table.name);
                    return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
                }
            }
            Ok(())
        }),
        Maintained::Index(name) => index(catalog, role, name),
        // Looked at above.
        Maintained::Clustered(..) => Ok(()),
        Maintained::Schema(name) => {
            let name = name.parts.last().map_or("", String::as_str);
            let known = is_system_schema(name) || catalog.schema(name).is_some();
            if known { Ok(()) } else { Err(no_schema(name)) }
        }
        Maintained::Database(_) => Ok(()),
    })
}

/// A table; `None` for a relation of the system's, and for a view, which is passed over.
fn table<'c>(catalog: &'c Catalog, name: &Name, tag: &str) -> Result<Option<&'c Table>> {
    if crate::lower::system::named(name).is_some() {
        return Ok(None);
    }
    let local = names::relation_wanted(catalog, name)?;
    if let Some(table) = catalog.table(local) {
        return Ok(Some(table));
    }
    if !catalog.relation_exists(local) {
        return Err(missing(name));
    }
    match tag {
        "VACUUM" | "ANALYZE" => Ok(None),
        _ => Err(wrong(local, "is not a table or materialized view")),
    }
}

fn wrong(local: Wanted<'_>, what: &str) -> Error {
    Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{local}\" {what}"))
}

fn index(catalog: &Catalog, role: RoleId, name: &Name) -> Result<()> {
    let local = names::relation_wanted(catalog, name)?;
    match catalog.index(local) {
        Some((owner, _)) => catalog.require_owner(role, &Object::Table(owner.id)),
        None if catalog.relation_exists(local) => Err(wrong(local, "is not an index")),
        None => Err(missing(name)),
    }
}

/// Whether a table has the index, and it has an order that rows can lie in.
fn check_clustered(catalog: &Catalog, table: &Table, name: &str) -> Result<()> {
    let refused = |message: String| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
    let Some(found) = table.shown_indexes().find(|i| i.name == name) else {
        return Err(match catalog.index((table.schema, name)) {
            Some(_) => {
                let message = format!("\"{name}\" is not an index for table \"{}\"", table.name);
                Error::new(SqlState::WRONG_OBJECT_TYPE, message)
            }
            None => {
                let message = format!("index \"{name}\" for table \"{}\" does not exist", table.name);
                Error::new(SqlState::UNDEFINED_OBJECT, message)
            }
        });
    };
    if !matches!(found.shown_method(), "btree" | "gist") {
        let why = "because access method does not support clustering";
        return refused(format!("cannot cluster on index \"{name}\" {why}"));
    }
    if found.definition.as_ref().is_some_and(|d| d.predicate.is_some()) {
        return refused(format!("cannot cluster on partial index \"{name}\""));
    }
    Ok(())
}

impl Change {
    /// ALTER TABLE .. CLUSTER ON index, SET WITHOUT CLUSTER: a mark that is shown and dumped.
    pub(super) fn cluster_on(&mut self, id: TableId, index: Option<&str>) -> Result<()> {
        // Logs may have statements of the time when nobody looked.
        let marked = match (self.check_cluster(id, index), self.actor.internal) {
            (Err(_), true) => return Ok(()),
            (checked, _) => checked.map(|()| index)?,
        };
        let table = self.table_mut(id);
        for one in table.indexes.iter_mut().chain(&mut table.unmade) {
            one.clustered = marked == Some(one.name.as_str());
        }
        Ok(())
    }

    fn check_cluster(&self, id: TableId, index: Option<&str>) -> Result<()> {
        let refused = |message: String| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        let table = self.catalog.table_by_id(id);
        if table.is_partitioned() {
            return refused("cannot mark index clustered in partitioned table".to_owned());
        }
        index.map_or(Ok(()), |index| check_clustered(&self.catalog, table, index))
    }

    /// CLUSTER table USING index: the order of rows is that of the primary key, so the mark is all there is.
    pub(super) fn cluster(&mut self, maintain: &Maintain) -> Result<&'static str> {
        let Some((name, index)) = maintain.clustered() else {
            return Err(Error::internal("nothing is clustered"));
        };
        check_maintained(&self.catalog, self.actor.user, maintain)?;
        let id = names::table(&self.catalog, name)?.id;
        self.cluster_on(id, Some(index))?;
        Ok(maintain.tag)
    }
}
