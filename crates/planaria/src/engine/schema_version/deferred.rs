//! The deferred foreign keys of a schema, with the programs that look at them: see [`crate::session::deferred`].

use super::SchemaVersion;
use planaria_base::{ColumnId, Datum, Result, TableId, Type};
use planaria_catalog::{CheckTime, ForeignKey};
use planaria_exec::Code;
use planaria_sql::lower;
use planaria_storage::Shape;

/// A foreign key that is deferred, with the programs that look at one of its keys.
pub(crate) struct DeferredKey {
    pub(crate) child: TableId,
    pub(crate) name: String,
    /// For a new child.
    pub(crate) child_side: Side,
    /// For a parent that is gone.
    pub(crate) parent_side: Side,
}

/// What a row of one side has of a key.
pub(crate) struct Side {
    pub(crate) table: TableId,
    columns: Vec<ColumnId>,
    pub(crate) types: Vec<Type>,
    pub(crate) code: Code,
}

impl SchemaVersion {
    /// The deferred keys, compiled when first asked for.
    pub(crate) fn deferred_keys(&self) -> Result<&[DeferredKey]> {
        let keys = self.deferred.get_or_init(|| {
            let tables = self.catalog.tables.iter().flatten();
            let keys = tables.flat_map(|t| t.foreign_keys.iter().map(move |k| (t.id, k)));
            let deferred = keys.filter(|(_, k)| k.check == CheckTime::Deferred);
            deferred.map(|(child, key)| self.deferred_key(child, key)).collect()
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
        Ok(DeferredKey { child, name: key.name.clone(), child_side: side(false)?, parent_side: side(true)? })
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
