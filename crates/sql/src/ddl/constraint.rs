//! Keys and foreign keys: what CREATE TABLE and ALTER TABLE share.

use super::exclusion::ExcludeDef;
use super::lowering::{Made, Promise};
use super::{Change, names};
use planaria_base::types::{PackedType, SystemType, TypeClass};
use planaria_base::{ColumnId, Error, IndexId, Result, SqlState, TableId, Type, limits};
use planaria_catalog::{
    CheckTime, Columns, Exclusion, ExclusionOperator, ForeignKey, Index, IndexDefinition, IndexKey, Object,
    Privileges, ReferentialAction, Requirement, Table, UniqueKind,
};
use planaria_syntax::ast::{Constraint, ConstraintKind, Expr, Name, Position};
use std::borrow::Cow;

/// A constraint that waits for the table's columns to be known.
pub(super) enum Pending {
    Check { name: Option<String>, expr: Expr, text: String },
    Key(Key),
    ForeignKey(ForeignKeyDef),
    Exclude(ExcludeDef),
}

/// PRIMARY KEY or UNIQUE.
#[derive(Clone)]
pub(super) struct Key {
    pub name: Option<String>,
    pub columns: Vec<String>,
    /// INCLUDE
    pub included: Vec<String>,
    pub primary: bool,
    /// NULLS NOT DISTINCT
    pub equal_nulls: bool,
    pub check: CheckTime,
    pub position: Position,
}

/// FOREIGN KEY.
pub(super) struct ForeignKeyDef {
    pub name: Option<String>,
    pub columns: Vec<String>,
    pub parent: Name,
    pub parent_columns: Vec<String>,
    pub match_full: bool,
    pub on_delete: ReferentialAction,
    pub set_columns: Vec<String>,
    pub on_update: ReferentialAction,
    pub check: CheckTime,
    /// ON DELETE, and ON UPDATE, were said to be RESTRICT.
    pub restricts: (bool, bool),
    pub position: Position,
}

impl Pending {
    /// `column`: where it stands at a column.
    pub(super) fn from_ast(c: &Constraint, column: Option<&str>) -> Result<Pending> {
        let or_own = |columns: &[String]| match column {
            Some(own) if columns.is_empty() => vec![own.to_owned()],
            _ => columns.to_vec(),
        };
        let (name, position, check) = (c.name.clone(), c.position, c.check);
        Ok(match &c.kind {
            ConstraintKind::Check { expr, text } => {
                Pending::Check { name, expr: expr.clone(), text: text.clone() }
            }
            ConstraintKind::PrimaryKey { columns, included } => {
                let (columns, included) = (or_own(columns), included.clone());
                let (primary, equal_nulls) = (true, false);
                Pending::Key(Key { name, columns, included, primary, equal_nulls, check, position })
            }
            ConstraintKind::Unique { columns, equal_nulls, included } => {
                let (columns, included) = (or_own(columns), included.clone());
                let (primary, equal_nulls) = (false, *equal_nulls);
                Pending::Key(Key { name, columns, included, primary, equal_nulls, check, position })
            }
            ConstraintKind::ForeignKey {
                columns,
                parent,
                parent_columns,
                match_full,
                on_delete,
                set_columns,
                on_update,
                check,
            } => Pending::ForeignKey(ForeignKeyDef {
                name,
                columns: or_own(columns),
                parent: parent.clone(),
                parent_columns: parent_columns.clone(),
                on_delete: on_delete.unwrap_or(ReferentialAction::Restrict),
                set_columns: set_columns.clone(),
                on_update: on_update.unwrap_or(ReferentialAction::Restrict),
                check: *check,
                restricts: (
                    *on_delete == Some(ReferentialAction::Restrict),
                    *on_update == Some(ReferentialAction::Restrict),
                ),
                match_full: *match_full,
                position,
            }),
            ConstraintKind::Exclude(exclude) => {
                Pending::Exclude(ExcludeDef { name, exclude: (**exclude).clone(), check, position })
            }
            ConstraintKind::UsingIndex { .. } => {
                let message = "ALTER TABLE / ADD CONSTRAINT USING INDEX is the only form with an index";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
            }
            ConstraintKind::Unsupported(what) => {
                let hint = "Use PRIMARY KEY, UNIQUE, CHECK, NOT NULL or FOREIGN KEY.";
                return Err(Error::unsupported(format!("{what} is not supported"), hint).at(position));
            }
            ConstraintKind::NotNull
            | ConstraintKind::Null
            | ConstraintKind::Default { .. }
            | ConstraintKind::GeneratedStored { .. }
            | ConstraintKind::Identity { .. } => {
                return Err(Error::internal("a column's property as a table constraint"));
            }
        })
    }
}

impl Change {
    /// Columns of a key by name.
    fn key_columns(&self, table: &Table, key: &Key) -> Result<Vec<ColumnId>> {
        let mut all = Vec::new();
        for name in &key.columns {
            let Some((id, column)) = table.column(name) else {
                let message = format!("column \"{name}\" named in key does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(key.position));
            };
            check_key(&column.ty, key.position)?;
            if all.contains(&id) {
                let kind = if key.primary { "primary key" } else { "unique" };
                let message = format!("column \"{name}\" appears twice in {kind} constraint");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(key.position));
            }
            all.push(id);
        }
        check_width(all.len(), key.position)?;
        Ok(all)
    }

    /// What its index says of the columns that it includes.
    fn key_definition(
        &self,
        table: &Table,
        key: &Key,
        columns: &[ColumnId],
    ) -> Result<Option<IndexDefinition>> {
        if key.included.is_empty() {
            return Ok(None);
        }
        let refused = |what: &str| {
            let message = format!("INCLUDE in a key {what} is not supported");
            Err(Error::unsupported(message, "Leave it out: an index leads to whole rows.").at(key.position))
        };
        if key.check != CheckTime::NotDeferrable {
            return refused("that is DEFERRABLE");
        }
        if table.is_partitioned() || table.partition.is_some() {
            return refused("of a partitioned table");
        }
        let mut included = Vec::new();
        for name in &key.included {
            let Some((id, _)) = table.column(name) else {
                let message = format!("column \"{name}\" named in key does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(key.position));
            };
            included.push(id);
        }
        check_width(columns.len() + included.len(), key.position)?;
        let keys = columns.iter().map(|c| IndexKey::Column(*c)).collect();
        Ok(Some(IndexDefinition { keys, predicate: None, included }))
    }

    /// The name of a key's index: the given one if it is free, else PostgreSQL's.
    fn key_name(&self, table: &Table, key: &Key) -> Result<String> {
        match &key.name {
            Some(name) if self.catalog.relation_exists((table.schema, name.as_str())) => {
                Err(names::relation_exists(name))
            }
            Some(name) if table.has_constraint(name) => {
                Err(names::constraint_exists(name, &table.name).at(key.position))
            }
            Some(name) => Ok(name.clone()),
            None if key.primary => Ok(names::relation(&self.catalog, table, &[], "pkey")),
            None => {
                let columns: Vec<&str> =
                    key.columns.iter().chain(&key.included).map(String::as_str).collect();
                Ok(names::relation(&self.catalog, table, &columns, "key"))
            }
        }
    }

    /// Makes the primary key's index the first one. The row id, if there was one, is the caller's to
    /// remove.
    pub(super) fn add_primary_key(&mut self, id: TableId, key: &Key) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let columns = self.key_columns(table, key)?;
        let name = self.key_name(table, key)?;
        let definition = self.key_definition(table, key, &columns)?;
        let table = self.table_mut(id);
        for c in &columns {
            table.columns[c.index()].not_null = true;
        }
        table.has_primary_key = true;
        let mut index = Index::new(name, columns, true, true);
        index.definition = definition;
        table.indexes.insert(0, index);
        Ok(())
    }

    /// Adds a PRIMARY KEY or UNIQUE that is DEFERRABLE: the rows are kept by the row id, and its index lets rows with the same
    /// key be until they are looked at.
    pub(super) fn add_unique_later(&mut self, id: TableId, key: &Key) -> Result<(Promise, IndexId)> {
        let table = self.catalog.table_by_id(id);
        let columns = self.key_columns(table, key)?;
        let name = self.key_name(table, key)?;
        self.key_definition(table, key, &columns)?;
        let kind = if key.primary { UniqueKind::Primary } else { UniqueKind::Unique };
        let exclusion = Exclusion {
            gist: false,
            operators: vec![ExclusionOperator::Equal; columns.len()],
            order: (0..columns.len()).map(|at| at as u16).collect(),
            unique: Some(kind),
            check: key.check,
        };
        if key.primary {
            let table = self.table_mut(id);
            for c in &columns {
                table.columns[c.index()].not_null = true;
            }
        }
        let mut index = Index::new(name.clone(), columns, false, true);
        index.exclusion = Some(exclusion);
        Ok((Promise::Exclusion { table: id, name }, self.push_index(id, index)?))
    }

    /// The keys of a new table, those that are said twice once: by the first name that one of them has.
    pub(super) fn distinct_keys<'k>(&self, keys: &[&'k Key]) -> Vec<Cow<'k, Key>> {
        let mut all: Vec<Cow<'k, Key>> = Vec::new();
        // The primary key is what stays.
        let (primary, others): (Vec<&Key>, Vec<&Key>) = keys.iter().copied().partition(|key| key.primary);
        for key in primary.into_iter().chain(others) {
            let same = |k: &&mut Cow<'_, Key>| {
                k.columns == key.columns
                    && k.included == key.included
                    && k.equal_nulls == key.equal_nulls
                    && k.check == key.check
            };
            // A second primary key is an error, which is not said here.
            match all.iter_mut().find(same).filter(|_| !key.primary && self.actor.form > 0) {
                Some(known) if known.name.is_none() && key.name.is_some() => {
                    known.to_mut().name.clone_from(&key.name);
                }
                Some(_) => {}
                None => all.push(Cow::Borrowed(key)),
            }
        }
        all
    }

    /// Adds the key of a new table.
    pub(super) fn add_key(&mut self, id: TableId, key: &Key) -> Result<()> {
        match key.check {
            CheckTime::NotDeferrable if self.is_known(id, key)? => Ok(()),
            CheckTime::NotDeferrable => self.add_unique(id, key).map(|_| ()),
            _ => self.add_unique_later(id, key).map(|_| ()),
        }
    }

    /// Whether the primary key or another constraint of a new table says the same already.
    fn is_known(&self, id: TableId, key: &Key) -> Result<bool> {
        let table = self.catalog.table_by_id(id);
        let columns = self.key_columns(table, key)?;
        let same = table.indexes.iter().find(|i| {
            let included =
                i.definition.iter().flat_map(|d| &d.included).map(|c| &table.columns[c.index()].name);
            i.constraint
                && i.unique
                && i.columns == columns
                && included.eq(&key.included)
                && (i.equal_nulls || !key.equal_nulls)
        });
        Ok(same.is_some_and(|i| key.name.as_ref().is_none_or(|n| *n == i.name)))
    }

    /// Adds a UNIQUE constraint; answers with its index.
    pub(super) fn add_unique(&mut self, id: TableId, key: &Key) -> Result<IndexId> {
        let table = self.catalog.table_by_id(id);
        let columns = self.key_columns(table, key)?;
        let name = self.key_name(table, key)?;
        let definition = self.key_definition(table, key, &columns)?;
        let mut index = Index::new(name, columns, true, true);
        index.definition = definition;
        index.equal_nulls = key.equal_nulls;
        self.push_index(id, index)
    }

    /// Appends an index to a table's.
    pub(super) fn push_index(&mut self, id: TableId, index: Index) -> Result<IndexId> {
        let table = self.table_mut(id);
        let position = u16::try_from(table.indexes.len())
            .map_err(|_| Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "too many indexes on a table"))?;
        table.indexes.push(index);
        Ok(IndexId(position))
    }

    /// ALTER CONSTRAINT: when a foreign key is checked.
    pub(super) fn alter_constraint(&mut self, id: TableId, name: &str, check: CheckTime) -> Result<()> {
        let table = self.table_mut(id);
        if let Some(key) = table.foreign_keys.iter_mut().find(|k| k.name == name) {
            key.check = check;
            return Ok(());
        }
        let (state, what) = match table.has_constraint(name) {
            true => (SqlState::WRONG_OBJECT_TYPE, "is not a foreign key constraint"),
            false => (SqlState::UNDEFINED_OBJECT, "does not exist"),
        };
        Err(Error::new(state, format!("constraint \"{name}\" of relation \"{}\" {what}", table.name)))
    }

    pub(super) fn add_foreign_key(&mut self, id: TableId, def: &ForeignKeyDef) -> Result<Promise> {
        let table = self.catalog.table_by_id(id);
        let mut columns = Vec::new();
        for name in &def.columns {
            let Some((c, _)) = table.column(name) else {
                let message =
                    format!("column \"{name}\" referenced in foreign key constraint does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(def.position));
            };
            columns.push(c);
        }
        let generated = columns.iter().any(|c: &ColumnId| table.columns[c.index()].generated().is_some());
        let mut set_columns = Vec::new();
        for name in &def.set_columns {
            let Some((c, _)) = table.column(name) else {
                let message =
                    format!("column \"{name}\" referenced in foreign key constraint does not exist");
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(def.position));
            };
            if !columns.contains(&c) {
                let message = format!(
                    "column \"{name}\" referenced in ON DELETE SET action must be part of foreign key"
                );
                return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(def.position));
            }
            set_columns.push(c);
        }
        let sets = ReferentialAction::sets;
        let wrong = match (sets(def.on_delete), def.on_update) {
            (true, _) => Some("DELETE"),
            (_, ReferentialAction::Cascade) => Some("UPDATE"),
            (_, action) => sets(action).then_some("UPDATE"),
        };
        if let Some(event) = wrong.filter(|_| generated) {
            let message =
                format!("invalid ON {event} action for foreign key constraint containing generated column");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(def.position));
        }
        let parent = self.parent(&def.parent)?;
        let is_temporary = |table: &Table| self.catalog.is_temporary(table.schema);
        if is_temporary(table) != is_temporary(parent) {
            let kind = if is_temporary(table) { "temporary" } else { "permanent" };
            let message = format!("constraints on {kind} tables may reference only {kind} tables");
            return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(def.position));
        }
        if parent.partition.is_some() {
            let message = "a foreign key to a single partition is not supported";
            let hint = "Refer to the partitioned table.";
            return Err(Error::unsupported(message, hint).at(def.position));
        }
        let (parent_index, parent_columns) = parent_key(parent, def)?;
        let referred = parent_columns.iter().map(|c| parent.columns[c.index()].name.clone()).collect();
        let needed = Requirement::new(Object::Table(parent.id), Privileges::REFERENCES);
        self.require(&Requirement { columns: Columns::Named(referred), ..needed })?;
        if columns.len() != parent_columns.len() {
            let message = "number of referencing and referenced columns for foreign key disagree";
            return Err(Error::new(SqlState::INVALID_FOREIGN_KEY, message).at(def.position));
        }
        let name = match &def.name {
            Some(name) if table.has_constraint(name) => {
                return Err(names::constraint_exists(name, &table.name).at(def.position));
            }
            Some(name) => name.clone(),
            None => {
                let own: Vec<&str> = def.columns.iter().map(String::as_str).collect();
                names::constraint(&self.catalog, table, &own, "fkey")
            }
        };
        for (a, b) in columns.iter().zip(&parent_columns) {
            check_reference(&name, (table, *a), (parent, *b), Made::by(&self.actor))
                .map_err(|e| e.at(def.position))?;
        }
        let key = ForeignKey {
            name: name.clone(),
            columns,
            parent: parent.id,
            parent_index,
            parent_columns,
            on_delete: def.on_delete,
            set_columns,
            on_update: def.on_update,
            check: def.check,
            restricts_delete: def.restricts.0,
            restricts_update: def.restricts.1,
            match_full: def.match_full,
            not_valid: false,
            unchecked: false,
            inactive: false,
            comment: None,
        };
        self.table_mut(id).foreign_keys.push(key);
        Ok(Promise::ForeignKey { table: id, name })
    }

    fn parent(&self, name: &Name) -> Result<&Table> {
        let local = names::own_relation(&self.catalog, name)?;
        match self.catalog.table(local) {
            Some(table) if table.materialized.is_none() => Ok(table),
            _ if self.catalog.relation_exists(local) => {
                let message = format!("referenced relation \"{local}\" is not a table");
                Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position))
            }
            _ => Err(names::no_relation(name)),
        }
    }
}

/// Whether all that an array or a row is made of can be compared.
fn has_order(ty: &Type) -> bool {
    match ty {
        Type::Array(of) => has_order(of),
        Type::Record(row) => row.iter().all(|(_, ty)| has_order(ty)),
        _ => check_key(ty, 0).is_ok(),
    }
}

/// 42704 of a type without an order, 0A000 of one that no key has here.
pub(super) fn check_key(ty: &Type, position: Position) -> Result<()> {
    match ty {
        Type::System(SystemType::Json) | Type::Packed(PackedType::JsonPath) => {
            let message = format!("data type {ty} has no default operator class for access method \"btree\"");
            let hint = "You must specify an operator class for the index or define a default operator class for the \
                        data type.";
            Err(Error::new(SqlState::UNDEFINED_OBJECT, message).with_hint(hint).at(position))
        }
        Type::Array(_) | Type::Record(_) if !has_order(ty) => {
            let hint = "Keep what is looked for in a column of its own.";
            Err(Error::unsupported(format!("a key of type {ty} is not supported"), hint).at(position))
        }
        _ => Ok(()),
    }
}

/// 54011
pub(super) fn check_width(columns: usize, position: Position) -> Result<()> {
    if columns > limits::INDEX_COLUMNS_MAX {
        let message = format!("cannot use more than {} columns in an index", limits::INDEX_COLUMNS_MAX);
        return Err(Error::new(SqlState::TOO_MANY_COLUMNS, message).at(position));
    }
    Ok(())
}

/// The unique index of the parent that a foreign key refers to, and the columns in the order of the
/// key's own.
fn parent_key(parent: &Table, def: &ForeignKeyDef) -> Result<(IndexId, Vec<ColumnId>)> {
    let waits = |what: &str| {
        let message = format!("cannot use a deferrable {what} for referenced table \"{}\"", parent.name);
        Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).at(def.position)
    };
    if def.parent_columns.is_empty() {
        if parent.primary_key().is_some_and(|key| key.unique_later().is_some()) {
            return Err(waits("primary key"));
        }
        if !parent.has_primary_key {
            let message = format!("there is no primary key for referenced table \"{}\"", parent.name);
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(def.position));
        }
        return Ok((IndexId::PRIMARY, parent.indexes[0].columns.clone()));
    }
    let mut columns = Vec::new();
    for name in &def.parent_columns {
        let Some((c, _)) = parent.column(name) else {
            let message = format!("column \"{name}\" referenced in foreign key constraint does not exist");
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(def.position));
        };
        if columns.contains(&c) {
            let message = "foreign key referenced-columns list must not contain duplicates";
            return Err(Error::new(SqlState::INVALID_FOREIGN_KEY, message).at(def.position));
        }
        columns.push(c);
    }
    let over = |i: &Index| i.columns.len() == columns.len() && columns.iter().all(|c| i.columns.contains(c));
    match parent.indexes.iter().position(|i| i.unique && over(i)) {
        Some(i) => Ok((IndexId(i as u16), columns)),
        None if parent.indexes.iter().any(|i| i.unique_later().is_some() && over(i)) => {
            Err(waits("unique constraint"))
        }
        None => {
            let message = format!(
                "there is no unique constraint matching given keys for referenced table \"{}\"",
                parent.name
            );
            Err(Error::new(SqlState::INVALID_FOREIGN_KEY, message).at(def.position))
        }
    }
}

/// 42804 where a column cannot refer to another.
pub(super) fn check_reference(
    name: &str,
    (table, a): (&Table, ColumnId),
    (parent, b): (&Table, ColumnId),
    made: Made,
) -> Result<()> {
    let (a, b) = (&table.columns[a.index()], &parent.columns[b.index()]);
    // There is no comparison of an OID with the integers that it could become.
    let is_oid = |ty: &Type| matches!(ty, Type::System(of) if *of == SystemType::Oid || of.is_reg());
    let narrows = is_oid(&a.ty) && matches!(b.ty.base(), Type::Int2 | Type::Int4 | Type::Int8);
    if references(&a.ty, &b.ty) && !(narrows && made == Made::Now) {
        return Ok(());
    }
    if (a.ty.class(), b.ty.class()) == (TypeClass::DateTime, TypeClass::DateTime) {
        let what = format!("a foreign key of type {} that refers to a date is not supported", a.ty.base());
        return Err(Error::unsupported(what, "make both columns dates"));
    }
    let message = format!("foreign key constraint \"{name}\" cannot be implemented");
    let (of, to) = (a.ty.base(), b.ty.base());
    let detail =
        format!("Key columns \"{}\" and \"{}\" are of incompatible types: {of} and {to}.", a.name, b.name);
    Err(Error::new(SqlState::DATATYPE_MISMATCH, message).with_detail(detail))
}

/// Whether a column of type `from` can refer to one of type `to`: the same class, or a conversion
/// that loses nothing.
fn references(from: &Type, to: &Type) -> bool {
    use TypeClass::{DateTime, Float, Integer, Numeric};
    match (from.class(), to.class()) {
        _ if *from == Type::JSON => false,
        // What they are made of is compared as it is.
        (TypeClass::Array, _) | (_, TypeClass::Array) => from.base() == to.base(),
        (DateTime, DateTime) => *from == *to || *from == Type::Date || *to != Type::Date,
        (a, b) if a == b => true,
        (Integer, Numeric | Float) | (Numeric, Float) => true,
        _ => false,
    }
}
