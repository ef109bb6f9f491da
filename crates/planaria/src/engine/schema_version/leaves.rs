//! The partitions of a root as errors need to know them.

use planaria_base::{Datum, IndexId, TableId, Type};
use planaria_catalog::{Catalog, PartitionBound, RangeLimit, Table};
use planaria_exec::{Bounds, End, Leaf, Part, Partitions};
use planaria_sql::ddl::partition_key_types;

/// Whose the rows of a root are; `None` where that takes more than its columns.
pub(super) fn of_root(catalog: &Catalog, table: &Table) -> Option<Partitions> {
    if table.partition.is_some() {
        return None;
    }
    partitions(catalog, table, table)
}

fn partitions(catalog: &Catalog, root: &Table, table: &Table) -> Option<Partitions> {
    let partitioning = table.partitioning.as_deref()?;
    let mut keys = Vec::with_capacity(partitioning.keys.len());
    for key in &partitioning.keys {
        keys.push(root.column(key.column.as_deref()?)?.0);
    }
    let types = partition_key_types(catalog, table)?;
    let mut parts = Vec::new();
    for part in catalog.partitions_of(table.id) {
        let bounds = bounds(&part.partition.as_deref()?.bound, &types)?;
        let of = match part.is_partitioned() {
            true => Part::Partitions(partitions(catalog, root, part)?),
            false => Part::Leaf(leaf(catalog, root.id, part)),
        };
        parts.push((bounds, of));
    }
    Some(Partitions { keys, parts })
}

fn bounds(bound: &PartitionBound, types: &[Type]) -> Option<Bounds> {
    Some(match bound {
        PartitionBound::Default => Bounds::Default,
        PartitionBound::List(values) => {
            let value = |text: &Option<String>| match text {
                Some(text) => Datum::parse(types.first()?, text).ok(),
                None => Some(Datum::Null),
            };
            Bounds::List(values.iter().map(value).collect::<Option<_>>()?)
        }
        PartitionBound::Range { from, to } => Bounds::Range(end(from, types)?, end(to, types)?),
        PartitionBound::Hash { modulus, remainder } => Bounds::Hash(*modulus, *remainder),
    })
}

fn end(limits: &[RangeLimit], types: &[Type]) -> Option<Vec<End>> {
    let part = |(limit, ty): (&RangeLimit, &Type)| {
        Some(match limit {
            RangeLimit::MinValue => End::First,
            RangeLimit::MaxValue => End::Last,
            RangeLimit::Value(text) => End::At(Datum::parse(ty, text).ok()?),
        })
    };
    limits.iter().zip(types).map(part).collect()
}

fn leaf(catalog: &Catalog, root: TableId, table: &Table) -> Leaf {
    let mut indexes: Vec<Option<String>> = vec![None; catalog.table_by_id(root).indexes.len()];
    for (at, index) in table.indexes.iter().enumerate() {
        if let Some(of_root) = above(catalog, root, table, at).and_then(|at| indexes.get_mut(at.index())) {
            *of_root = Some(index.name.clone());
        }
    }
    Leaf { name: table.name.clone(), indexes }
}

/// The index of the root that an index of a partition is a part of.
fn above(catalog: &Catalog, root: TableId, table: &Table, at: usize) -> Option<IndexId> {
    let (mut table, mut at) = catalog.parent_index(table, at)?;
    while table.id != root {
        (table, at) = catalog.parent_index(table, at)?;
    }
    Some(IndexId(u16::try_from(at).ok()?))
}
