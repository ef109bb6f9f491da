//! Which partition a row of a root belongs to, told from its image: for errors alone, which name the partition and its index.
//! Programs ask bounds by conditions of SQL.

use crate::functions::{compare, hash_of_value, is_of_partition};
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::{ColumnId, Datum, IndexId};
use std::cmp::Ordering;

/// A partition without partitions of its own.
#[derive(Debug)]
pub struct Leaf {
    /// Its name.
    pub name: String,
    /// The names of its indexes by those of the root, where they are known.
    pub indexes: Vec<Option<String>>,
}

/// Rows are told apart by these columns.
#[derive(Debug)]
pub struct Partitions {
    /// The key.
    pub keys: Vec<ColumnId>,
    /// The partitions with their bounds.
    pub parts: Vec<(Bounds, Part)>,
}

/// What is within bounds.
#[derive(Debug)]
pub enum Part {
    /// Rows.
    Leaf(Leaf),
    /// More partitions.
    Partitions(Partitions),
}

/// Which rows a partition has.
#[derive(Debug)]
pub enum Bounds {
    /// Those of no other.
    Default,
    /// Those whose key is one of these.
    List(Vec<Datum>),
    /// From one end on, up to the other, which is not in it.
    Range(Vec<End>, Vec<End>),
    /// Those whose hash, divided by the first, leaves the second.
    Hash(u32, u32),
}

/// A part of an end of a range.
#[derive(Debug)]
pub enum End {
    /// Before everything.
    First,
    /// There.
    At(Datum),
    /// Behind everything.
    Last,
}

impl Partitions {
    /// The partition of a row: `value` gives its columns. `None` if it is not known.
    pub fn leaf(&self, value: &mut dyn FnMut(ColumnId) -> Datum) -> Option<&Leaf> {
        let mut heap = Heap::new();
        let mut keys = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            keys.push(heap.push_datum(&value(*key)).ok()?);
        }
        let within = |bounds: &Bounds, heap: &mut Heap| bounds.have(&keys, heap).unwrap_or(false);
        let mut named = self.parts.iter().filter(|(bounds, _)| !matches!(bounds, Bounds::Default));
        let other = || self.parts.iter().find(|(bounds, _)| matches!(bounds, Bounds::Default));
        let found = named.find(|(bounds, _)| within(bounds, &mut heap)).or_else(other);
        match &found?.1 {
            Part::Leaf(leaf) => Some(leaf),
            Part::Partitions(under) => under.leaf(value),
        }
    }
}

impl Leaf {
    /// The name of its part of an index.
    pub fn index(&self, index: IndexId) -> Option<&str> {
        self.indexes.get(index.index())?.as_deref()
    }
}

impl Bounds {
    fn have(&self, keys: &[Slot], heap: &mut Heap) -> Option<bool> {
        Some(match self {
            Bounds::Default => false,
            Bounds::List(values) => {
                for value in values {
                    let value = heap.push_datum(value).ok()?;
                    if compare(*keys.first()?, value, heap).is_eq() {
                        return Some(true);
                    }
                }
                false
            }
            Bounds::Range(from, to) => {
                if keys.iter().any(|key| key.is_null()) {
                    return Some(false);
                }
                order(keys, from, heap)?.is_ge() && order(keys, to, heap)?.is_lt()
            }
            Bounds::Hash(modulus, remainder) => {
                let mut args = vec![Slot::Int(i64::from(*modulus)), Slot::Int(i64::from(*remainder))];
                for key in keys {
                    args.push(hash_of_value(*key, heap)?);
                }
                is_of_partition(&args)
            }
        })
    }
}

/// Where a key is from an end.
fn order(keys: &[Slot], end: &[End], heap: &mut Heap) -> Option<Ordering> {
    for (key, part) in keys.iter().zip(end) {
        let found = match part {
            End::First => Ordering::Greater,
            End::Last => Ordering::Less,
            End::At(value) => {
                let value = heap.push_datum(value).ok()?;
                compare(*key, value, heap)
            }
        };
        if found.is_ne() {
            return Some(found);
        }
    }
    Some(Ordering::Equal)
}
