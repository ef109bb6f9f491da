//! Tables whatever their records carry: for those who ask how rows are laid out and how many there are, and who copy,
//! count or check all of them while nobody else is at work. Transactions read the tables themselves ([`Tables::of`]).

use crate::reclaim::Pinned;
use crate::{Header, MemoryUse, OldUse, Shape, Table, TableDigest, TableSet, TableSpec};
use planaria_base::{IndexId, Result, TableId};
use std::any::Any;
use std::sync::Arc;

/// A mistake of whoever brings tables and a protocol together.
const OTHER: &str = "the records of a database carry what its protocol wants";

/// A table whatever its records carry.
pub trait AnyTable: Any + Send + Sync {
    /// See [`Table::id`].
    fn id(&self) -> TableId;
    /// See [`Table::shape`].
    fn shape(&self) -> &Shape;
    /// See [`Table::memory`].
    fn memory(&self) -> MemoryUse;
    /// See [`Table::old_versions`].
    fn old_versions(&self) -> OldUse;
    /// See [`Table::give_back`].
    fn give_back(&self) -> u64;
    /// See [`Table::try_for_each_row`].
    fn for_each_row(&self, pin: Pinned<'_>, f: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()>;
    /// See [`Table::load`].
    fn load(&self, image: &[u64], worker: usize, pin: Pinned<'_>) -> Result<(), Option<IndexId>>;
    /// See [`Table::separators`].
    fn separators(&self, wanted: usize, pin: Pinned<'_>) -> Vec<Vec<u64>>;
    /// See [`Table::digest`].
    fn digest(&self, pin: Pinned<'_>) -> TableDigest;
    /// See [`Table::check`].
    fn check(&self, pin: Pinned<'_>) -> Result<(), String>;
}

impl<H: Header> AnyTable for Table<H> {
    fn id(&self) -> TableId {
        Table::id(self)
    }
    fn shape(&self) -> &Shape {
        Table::shape(self)
    }
    fn memory(&self) -> MemoryUse {
        Table::memory(self)
    }
    fn old_versions(&self) -> OldUse {
        Table::old_versions(self)
    }
    fn give_back(&self) -> u64 {
        Table::give_back(self)
    }
    fn for_each_row(&self, pin: Pinned<'_>, f: &mut dyn FnMut(&[u64]) -> Result<()>) -> Result<()> {
        self.try_for_each_row(pin, f)
    }
    fn load(&self, image: &[u64], worker: usize, pin: Pinned<'_>) -> Result<(), Option<IndexId>> {
        Table::load(self, image, worker, pin)
    }
    fn separators(&self, wanted: usize, pin: Pinned<'_>) -> Vec<Vec<u64>> {
        Table::separators(self, wanted, pin)
    }
    fn digest(&self, pin: Pinned<'_>) -> TableDigest {
        Table::digest(self, pin)
    }
    fn check(&self, pin: Pinned<'_>) -> Result<(), String> {
        Table::check(self, pin)
    }
}

/// A set of tables whatever their records carry.
trait AnyTableSet: Any + Send + Sync {
    fn try_get(&self, id: TableId) -> Option<&dyn AnyTable>;
    fn shared(&self, id: TableId) -> Option<Arc<dyn AnyTable>>;
    fn iter(&self) -> Box<dyn Iterator<Item = &dyn AnyTable> + '_>;
    fn make(&self, id: TableId, spec: TableSpec<'_>) -> Result<Arc<dyn AnyTable>>;
    fn copy(&self) -> Arc<dyn AnyTableSet>;
    fn insert(&mut self, table: Arc<dyn AnyTable>);
    fn remove(&mut self, id: TableId);
}

impl<H: Header> AnyTableSet for TableSet<H> {
    fn try_get(&self, id: TableId) -> Option<&dyn AnyTable> {
        TableSet::try_get(self, id).map(|table| -> &dyn AnyTable { &**table })
    }
    fn shared(&self, id: TableId) -> Option<Arc<dyn AnyTable>> {
        TableSet::try_get(self, id).cloned().map(|table| -> Arc<dyn AnyTable> { table })
    }
    fn iter(&self) -> Box<dyn Iterator<Item = &dyn AnyTable> + '_> {
        Box::new(TableSet::iter(self).map(|table| -> &dyn AnyTable { &**table }))
    }
    fn make(&self, id: TableId, spec: TableSpec<'_>) -> Result<Arc<dyn AnyTable>> {
        Ok(Arc::new(Table::<H>::new(id, spec)?))
    }
    fn copy(&self) -> Arc<dyn AnyTableSet> {
        Arc::new(self.clone())
    }
    fn insert(&mut self, table: Arc<dyn AnyTable>) {
        let table: Arc<dyn Any + Send + Sync> = table;
        TableSet::insert(self, table.downcast().unwrap_or_else(|_| panic!("{OTHER}")));
    }
    fn remove(&mut self, id: TableId) {
        TableSet::remove(self, id);
    }
}

/// A [`TableSet`] whatever its records carry, shared.
#[derive(Clone)]
pub struct Tables(Arc<dyn AnyTableSet>);

impl<H: Header> From<TableSet<H>> for Tables {
    fn from(tables: TableSet<H>) -> Tables {
        Tables(Arc::new(tables))
    }
}

impl Tables {
    /// The set itself, for whoever reads rows. It panics where the records carry something else.
    #[inline]
    pub fn of<H: Header>(&self) -> &TableSet<H> {
        let set: &dyn Any = &*self.0;
        set.downcast_ref().expect(OTHER)
    }

    /// A table, if it is there.
    pub fn try_get(&self, id: TableId) -> Option<&dyn AnyTable> {
        self.0.try_get(id)
    }

    /// A table that is known to be there.
    pub fn get(&self, id: TableId) -> &dyn AnyTable {
        self.try_get(id).expect("a transaction's table is in its table set")
    }

    /// The same, to be kept.
    pub fn shared(&self, id: TableId) -> Option<Arc<dyn AnyTable>> {
        self.0.shared(id)
    }

    /// An empty table whose records carry what those of this set do. It is in no set.
    pub fn make(&self, id: TableId, spec: TableSpec<'_>) -> Result<Arc<dyn AnyTable>> {
        self.0.make(id, spec)
    }

    /// Adds a table, or puts it in place of the one with its id. It panics where its records carry something else.
    pub fn insert(&mut self, table: Arc<dyn AnyTable>) {
        self.own().insert(table);
    }

    /// Removes a table.
    pub fn remove(&mut self, id: TableId) {
        self.own().remove(id);
    }

    /// The set, shared with nobody.
    fn own(&mut self) -> &mut dyn AnyTableSet {
        if Arc::get_mut(&mut self.0).is_none() {
            self.0 = self.0.copy();
        }
        Arc::get_mut(&mut self.0).expect("a copy is nobody else's")
    }

    /// All tables, by id.
    pub fn iter(&self) -> impl Iterator<Item = &dyn AnyTable> {
        self.0.iter()
    }

    /// Whether a table is there and in another set, and is the same.
    pub fn share(&self, other: &Tables, id: TableId) -> bool {
        match (self.try_get(id), other.try_get(id)) {
            (Some(here), Some(there)) => std::ptr::addr_eq(here, there),
            _ => false,
        }
    }
}
