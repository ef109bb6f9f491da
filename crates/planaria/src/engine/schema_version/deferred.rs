//! The constraints of a schema that may be deferred, with the programs that look at them: see [`crate::session::deferred`].

use super::SchemaVersion;
use planaria_base::{ColumnId, Datum, Result, TableId, Type};
use planaria_catalog::{CheckTime, ForeignKey, Index, Table};
use planaria_exec::Code;
use planaria_sql::lower;
use planaria_storage::Shape;

/// A constraint that may be deferred, with the programs that look at one of its keys.
pub(crate) struct DeferredKey {
    /// The table that has it.
    pub(crate) child: TableId,
    pub(crate) name: String,
    pub(crate) made: CheckTime,
    /// Of a foreign key: whether no parent is looked for, and whether whoever changes parents does not ask.
    pub(crate) disabled: [bool; 2],
    /// For a row that is new.
    pub(crate) child_side: Side,
    /// Of a foreign key, for a parent that is gone.
    pub(crate) parent_side: Option<Side>,
}

/// What a row of one side has of a key.
pub(crate) struct Side {
    pub(crate) table: TableId,
    columns: Vec<ColumnId>,
    pub(crate) types: Vec<Type>,
    pub(crate) code: Code,
}

impl SchemaVersion {
    /// The constraints that may be deferred, compiled when first asked for. In the order in which PostgreSQL looks at a row's:
    /// keys and exclusion constraints, then foreign keys.
    pub(crate) fn deferred_keys(&self) -> Result<&[DeferredKey]> {
        let keys = self.deferred.get_or_init(|| {
            let tables = || self.catalog.tables.iter().flatten().filter(|t| t.may_check_last());
            let indexes = tables().flat_map(|t| t.indexes.iter().map(move |i| (&**t, i)));
            let indexes = indexes.filter(|(_, i)| i.check() != CheckTime::NotDeferrable);
            let keys = tables().flat_map(|t| t.foreign_keys.iter().map(move |k| (t.id, k)));
            let keys = keys.filter(|(_, k)| k.check != CheckTime::NotDeferrable);
            let indexes = indexes.map(|(table, index)| self.deferred_exclusion(table, index));
            indexes.chain(keys.map(|(child, key)| self.deferred_key(child, key))).collect()
        });
        keys.as_deref().map_err(Clone::clone)
    }

    fn deferred_key(&self, child: TableId, key: &ForeignKey) -> Result<DeferredKey> {
        let side = |referenced: bool| -> Result<Side> {
            let (table, columns) =
                if referenced { (key.parent, &key.parent_columns) } else { (child, &key.columns) };
            let definition = self.catalog.table_by_id(table);
            let types = columns.iter().map(|c| definition.columns[c.index()].ty.clone()).collect();
            let code = self.compile(&lower::deferred_key(&self.catalog, child, key, referenced)?, None)?;
            Ok(Side { table, columns: columns.clone(), types, code })
        };
        let (child_side, parent_side) = (side(false)?, Some(side(true)?));
        let (name, disabled) = (key.name.clone(), [key.unchecked, key.inactive]);
        Ok(DeferredKey { child, name, made: key.check, disabled, child_side, parent_side })
    }

    fn deferred_exclusion(&self, table: &Table, index: &Index) -> Result<DeferredKey> {
        let columns: Vec<ColumnId> = index.columns.iter().chain(&table.indexes[0].columns).copied().collect();
        let types = columns.iter().map(|c| table.columns[c.index()].ty.clone()).collect();
        let code = self.compile(&lower::deferred_exclusion(&self.catalog, table.id, &index.name)?, None)?;
        let child_side = Side { table: table.id, columns, types, code };
        let (name, made) = (index.name.clone(), index.check());
        let (child, disabled) = (table.id, [false; 2]);
        Ok(DeferredKey { child, name, made, disabled, child_side, parent_side: None })
    }
}

impl Side {
    /// The key that a row has in a table of this shape; `None` where a part of it is NULL.
    pub(crate) fn key(&self, shape: &Shape, row: &[u64]) -> Option<Vec<Datum>> {
        let layout = shape.layout();
        let values = self.columns.iter().zip(&self.types);
        let values = values.map(|(c, ty)| crate::log::datum(layout.field(row, *c), ty));
        let values: Vec<Datum> = values.collect();
        (!values.iter().any(Datum::is_null)).then_some(values)
    }
}
