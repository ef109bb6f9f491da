//! Definitions that versions of a catalog share.
//!
//! A schema change works on a clone of the catalog. So that making the ten-thousandth table costs no more than
//! making the first:
//!
//! 1. definitions stand in persistent containers: a clone shares all of them, a change copies the one it touches
//!    and the path to it;
//! 2. an index by [`Key`] leads from names (and from what definitions refer to) to definitions. It is brought up
//!    to date by [`Definitions::settle`] when the change ends; until then what was touched is looked at as well.
//!    Each answer is held against the definition itself, so an index that is behind is never wrong;
//! 3. what was touched is known, with what it was before: whoever keeps something beside each definition (OIDs,
//!    storage, states of sequences) looks at nothing else.

use imbl::{OrdMap, OrdSet, Vector};
use planaria_base::TableId;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt::{self, Debug};
use std::ops::{Deref, DerefMut, Index, IndexMut};
use std::sync::Arc;

/// A definition that several catalogs have. Changing it makes it this catalog's own.
pub struct Shared<T>(Arc<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Shared(self.0.clone())
    }
}
impl<T> From<T> for Shared<T> {
    fn from(definition: T) -> Self {
        Shared(Arc::new(definition))
    }
}
impl<T> Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}
impl<T: Clone> DerefMut for Shared<T> {
    fn deref_mut(&mut self) -> &mut T {
        Arc::make_mut(&mut self.0)
    }
}
impl<T: Debug> Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || *self.0 == *other.0
    }
}
impl<T: Serialize> Serialize for Shared<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(s)
    }
}
impl<'d, T: Deserialize<'d>> Deserialize<'d> for Shared<T> {
    fn deserialize<D: Deserializer<'d>>(d: D) -> Result<Self, D::Error> {
        T::deserialize(d).map(Shared::from)
    }
}

/// What definitions are looked up by.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Key {
    /// A name that the definition goes by, or gives to a part of it (indexes, constraints).
    Name(Arc<str>),
    /// A foreign key refers to the table.
    References(TableId),
    /// It belongs to the table, and goes with it.
    OwnedBy(TableId),
    /// It has a foreign key that is checked when a transaction commits.
    ChecksLast,
    /// It runs with the rights of its owner.
    Definer,
}

impl Key {
    /// The key of a name.
    pub fn name(name: &str) -> Key {
        Key::Name(name.into())
    }
}

/// A definition that can be looked up.
pub trait Defined {
    /// All keys it is to be found by.
    fn each_key(&self, each: &mut dyn FnMut(Key));
}

/// A place in a list of definitions.
pub trait Entry: Clone {
    /// What stands there.
    type Definition: Defined;
    /// It, unless it was dropped.
    fn definition(&self) -> Option<&Self::Definition>;
}

impl<T: Defined> Entry for Shared<T> {
    type Definition = T;
    fn definition(&self) -> Option<&T> {
        Some(self)
    }
}
impl<T: Defined> Entry for Option<Shared<T>> {
    type Definition = T;
    fn definition(&self) -> Option<&T> {
        self.as_deref()
    }
}

/// An entry that a change has touched, and what it was before; `None` where it is new.
pub type Touched<K, E> = Vec<(K, Option<E>)>;

/// Definitions by id.
#[derive(Clone)]
pub struct Definitions<E> {
    entries: Vector<E>,
    by_key: OrdSet<(Key, u32)>,
    /// Since [`settle`](Self::settle).
    touched: Touched<u32, E>,
}

impl<E: Entry> Definitions<E> {
    /// How many there are or have been.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether there has never been one.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// What stands at a place.
    pub fn get(&self, at: usize) -> Option<&E> {
        self.entries.get(at)
    }
    /// The same, to be changed.
    pub fn get_mut(&mut self, at: usize) -> Option<&mut E> {
        let before = self.entries.get(at)?;
        let at_u32 = at as u32;
        if !self.touched.iter().any(|(touched, _)| *touched == at_u32) {
            self.touched.push((at_u32, Some(before.clone())));
        }
        self.entries.get_mut(at)
    }
    /// Adds one; its id is the number of those before it.
    pub fn push(&mut self, entry: E) {
        self.touched.push((self.entries.len() as u32, None));
        self.entries.push_back(entry);
    }
    /// All entries, by id.
    pub fn iter(&self) -> imbl::vector::Iter<'_, E, imbl::shared_ptr::DefaultSharedPtr> {
        self.entries.iter()
    }
    /// All definitions, by id.
    pub fn definitions(&self) -> impl Iterator<Item = &E::Definition> {
        self.entries.iter().filter_map(E::definition)
    }
    /// Definitions that a key may lead to, by id. The caller looks whether they are what it wants: some may
    /// have had the key before the change that is under way.
    pub fn candidates(&self, key: Key) -> impl Iterator<Item = &E::Definition> + use<'_, E> {
        let last = (key.clone(), u32::MAX);
        let mut ids: Vec<u32> = self.by_key.range((key, 0)..=last).map(|(_, id)| *id).collect();
        if !self.touched.is_empty() {
            ids.extend(self.touched.iter().map(|(id, _)| *id));
            ids.sort_unstable();
            ids.dedup();
        }
        ids.into_iter().filter_map(|id| self.entries.get(id as usize)?.definition())
    }
    /// Changes those that are `wanted`; others stay shared.
    pub fn change_where(&mut self, wanted: impl Fn(&E::Definition) -> bool, mut change: impl FnMut(&mut E)) {
        let wanted = |e: &E| e.definition().is_some_and(&wanted);
        let ids: Vec<usize> = (0..self.len()).filter(|id| wanted(&self.entries[*id])).collect();
        for id in ids {
            change(&mut self[id]);
        }
    }
    /// Ends a change: the index by key knows it. Answers with what was touched, by id.
    pub fn settle(&mut self) -> Touched<u32, E> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable_by_key(|(id, _)| *id);
        for (id, before) in &touched {
            if let Some(before) = before.as_ref().and_then(E::definition) {
                before.each_key(&mut |key| drop(self.by_key.remove(&(key, *id))));
            }
            if let Some(now) = self.entries.get(*id as usize).and_then(E::definition) {
                now.each_key(&mut |key| drop(self.by_key.insert((key, *id))));
            }
        }
        touched
    }
}

impl<E> Default for Definitions<E> {
    fn default() -> Self {
        Definitions { entries: Vector::new(), by_key: OrdSet::new(), touched: Vec::new() }
    }
}
impl<E: Entry> FromIterator<E> for Definitions<E> {
    fn from_iter<I: IntoIterator<Item = E>>(entries: I) -> Self {
        let entries: Vector<E> = entries.into_iter().collect();
        let touched = (0..entries.len() as u32).map(|id| (id, None)).collect();
        let mut all = Definitions { entries, by_key: OrdSet::new(), touched };
        all.settle();
        all
    }
}
impl<E: Entry> Index<usize> for Definitions<E> {
    type Output = E;
    fn index(&self, at: usize) -> &E {
        &self.entries[at]
    }
}
impl<E: Entry> IndexMut<usize> for Definitions<E> {
    fn index_mut(&mut self, at: usize) -> &mut E {
        self.get_mut(at).expect("an id of this catalog")
    }
}
impl<'d, E: Entry> IntoIterator for &'d Definitions<E> {
    type Item = &'d E;
    type IntoIter = imbl::vector::Iter<'d, E, imbl::shared_ptr::DefaultSharedPtr>;
    fn into_iter(self) -> Self::IntoIter {
        self.entries.iter()
    }
}
impl<E: Debug + Clone> Debug for Definitions<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.entries).finish()
    }
}
impl<E: PartialEq + Clone> PartialEq for Definitions<E> {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}
impl<E: Serialize + Clone> Serialize for Definitions<E> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_seq(&self.entries)
    }
}
impl<'d, E: Entry + Deserialize<'d>> Deserialize<'d> for Definitions<E> {
    fn deserialize<D: Deserializer<'d>>(d: D) -> Result<Self, D::Error> {
        Ok(Vec::<E>::deserialize(d)?.into_iter().collect())
    }
}

/// Definitions by name.
#[derive(Clone)]
pub struct Named<T> {
    by_name: OrdMap<String, Shared<T>>,
    /// Since [`settle`](Self::settle).
    touched: Touched<String, Shared<T>>,
}

impl<T: Clone> Named<T> {
    /// The definition of a name.
    pub fn get(&self, name: &str) -> Option<&T> {
        self.by_name.get(name).map(|d| &**d)
    }
    /// The same, to be changed.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        self.touch(name);
        self.by_name.get_mut(name).map(|d| &mut **d)
    }
    /// Whether there is one.
    pub fn contains_key(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }
    /// Adds or replaces.
    pub fn insert(&mut self, name: String, definition: T) {
        self.touch(&name);
        self.by_name.insert(name, definition.into());
    }
    /// Takes one out.
    pub fn remove(&mut self, name: &str) -> Option<T> {
        self.touch(name);
        self.by_name.remove(name).map(|d| (*d).clone())
    }
    /// All names, in their order.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.by_name.keys()
    }
    /// All definitions, in the order of their names.
    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.by_name.values().map(|d| &**d)
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }
    /// Ends a change. Answers with what was touched, in the order of names.
    pub fn settle(&mut self) -> Touched<String, Shared<T>> {
        let mut touched = std::mem::take(&mut self.touched);
        touched.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        touched
    }

    fn touch(&mut self, name: &str) {
        if !self.touched.iter().any(|(touched, _)| touched == name) {
            self.touched.push((name.to_owned(), self.by_name.get(name).cloned()));
        }
    }
}

impl<T> Default for Named<T> {
    fn default() -> Self {
        Named { by_name: OrdMap::new(), touched: Vec::new() }
    }
}
impl<T: Clone> Index<&str> for Named<T> {
    type Output = T;
    fn index(&self, name: &str) -> &T {
        &self.by_name[name]
    }
}
impl<T: Debug> Debug for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(&self.by_name).finish()
    }
}
impl<T: PartialEq> PartialEq for Named<T> {
    fn eq(&self, other: &Self) -> bool {
        self.by_name == other.by_name
    }
}
impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_map(&self.by_name)
    }
}
impl<'d, T: Deserialize<'d>> Deserialize<'d> for Named<T> {
    fn deserialize<D: Deserializer<'d>>(d: D) -> Result<Self, D::Error> {
        let all = std::collections::BTreeMap::<String, Shared<T>>::deserialize(d)?;
        Ok(Named { by_name: all.into_iter().collect(), touched: Vec::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, CheckTime, ForeignKey, ReferentialAction, Rights, Table, View};
    use planaria_base::{ColumnId, IndexId};

    fn table(catalog: &Catalog, name: &str) -> Table {
        Table {
            id: TableId::from(catalog.tables.len()),
            schema: Default::default(),
            name: name.to_owned(),
            columns: Vec::new(),
            indexes: vec![crate::Index::new(format!("{name}_pkey"), Vec::new(), true, true)],
            unmade: Vec::new(),
            has_primary_key: true,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            on_commit: Default::default(),
            materialized: None,
            composite: false,
            partitioning: None,
            partition: None,
            triggers: Vec::new(),
            row_security: false,
            force_row_security: false,
            policies: Vec::new(),
            dropped: Vec::new(),
            statistics: Vec::new(),
            generation: 0,
            rights: Rights::default(),
            comment: None,
            told: None,
        }
    }

    fn catalog(names: &[&str]) -> Catalog {
        let mut catalog = Catalog::default();
        for name in names {
            let table = table(&catalog, name);
            catalog.tables.push(Some(table.into()));
        }
        catalog.settle();
        catalog
    }

    fn key_to(parent: TableId) -> ForeignKey {
        ForeignKey {
            name: "k".to_owned(),
            columns: vec![ColumnId(0)],
            parent,
            parent_index: IndexId(0),
            parent_columns: vec![ColumnId(0)],
            on_delete: ReferentialAction::Restrict,
            set_columns: Vec::new(),
            on_update: ReferentialAction::Restrict,
            check: CheckTime::Deferred,
            restricts_delete: false,
            restricts_update: false,
            match_full: false,
            not_valid: false,
            unchecked: false,
            inactive: false,
            comment: None,
        }
    }

    #[test]
    fn a_change_is_seen_before_and_after_it_ends_and_nowhere_else() {
        let before = catalog(&["a", "b", "c"]);
        let mut after = before.clone();
        let b = after.table("b").expect("is there").id;
        after.tables[b.index()].as_mut().expect("is there").name = "renamed".to_owned();
        after.tables[0].as_mut().expect("is there").foreign_keys.push(key_to(b));
        after.tables[2] = None;
        for ended in [false, true] {
            if ended {
                assert_eq!(after.settle().tables, [TableId(0), TableId(1), TableId(2)]);
                assert_eq!(after.settle(), Default::default(), "once");
            }
            assert!(after.table("b").is_none() && after.table("c").is_none(), "ended: {ended}");
            assert_eq!(after.table("renamed").map(|t| t.id), Some(b));
            assert!(after.index("c_pkey").is_none() && after.index("a_pkey").is_some());
            assert_eq!(after.references_to(b).map(|(t, _)| t.id).collect::<Vec<_>>(), [TableId(0)]);
            assert!(after.has_deferred_keys());
            assert_eq!(after.tables_with_constraint("k").count(), 1);
        }
        assert!(before.table("b").is_some() && before.table("c").is_some() && !before.has_deferred_keys());
        assert_eq!(before.references_to(b).count(), 0);
    }

    #[test]
    fn what_a_change_does_not_touch_is_shared() {
        let before = catalog(&["a", "b"]);
        let mut after = before.clone();
        after.tables[1].as_mut().expect("is there").comment = Some("changed".to_owned());
        let place = |catalog: &Catalog, at: usize| -> *const Table {
            &**catalog.tables[at].as_ref().expect("is there")
        };
        assert_eq!(place(&before, 0), place(&after, 0));
        assert_ne!(place(&before, 1), place(&after, 1));
        assert_eq!(before.tables[1].as_ref().expect("is there").comment, None);
    }

    #[test]
    fn oids_are_given_once_and_taken_back() {
        let mut catalog = catalog(&["a", "b"]);
        let oid = |catalog: &Catalog, name: &str| catalog.relation_oid(name);
        let (a, key) = (oid(&catalog, "a"), oid(&catalog, "a_pkey"));
        assert!(a.is_some() && key.is_some() && a != key);
        let (schema, query) = (Default::default(), "SELECT 1".to_owned());
        let view = View::new(schema, "v".to_owned(), Vec::new(), query, Rights::default());
        catalog.views.insert("v".to_owned(), view);
        catalog.tables[1] = None;
        let b = oid(&catalog, "b");
        assert_eq!(b, None);
        catalog.settle();
        assert!(oid(&catalog, "v") > key, "a number that nobody had");
        assert_eq!((oid(&catalog, "a"), oid(&catalog, "a_pkey")), (a, key));
        catalog.views.remove("v");
        catalog.settle();
        assert_eq!(oid(&catalog, "v"), None);
        assert_eq!(catalog.oids.object(a.expect("has one")), Some(&crate::oids::Object::Table(TableId(0))));
        // What was written comes back, and goes on where it was.
        let text = serde_json::to_string(&catalog).expect("is data");
        let mut back: Catalog = serde_json::from_str(&text).expect("is a catalog");
        assert_eq!(back, catalog);
        for catalog in [&mut catalog, &mut back] {
            let table = table(catalog, "d");
            catalog.tables.push(Some(table.into()));
            catalog.settle();
        }
        assert_eq!(back, catalog);
        assert_eq!(back.table("d").map(|t| back.table_oid(t.id)), catalog.relation_oid("d"));
    }
}
