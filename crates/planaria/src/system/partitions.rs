//! Partitioned tables: `pg_partitioned_table`, `pg_inherits`, and what is asked of them.

use super::relations::operator_class;
use super::rows::Rows;
use super::{Facts, shown};
use planaria_base::Type;
use planaria_base::oid::{self, Oid};
use planaria_catalog::oids::Object;
use planaria_catalog::{Catalog, PartitionBound, Partitioning, Strategy, Table};
use planaria_sql::ddl::partition_key_types;
use planaria_sql::lower::shown_expression;

/// `partstrat`
fn strategy(strategy: Strategy) -> char {
    match strategy {
        Strategy::Range => 'r',
        Strategy::List => 'l',
        Strategy::Hash => 'h',
    }
}

/// `pg_partitioned_table`
pub(super) fn partitioned_tables(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for table in catalog.tables.iter().flatten() {
        let Some(partitioning) = table.partitioning.as_deref() else { continue };
        let default = catalog
            .partitions_of(table.id)
            .find(|t| t.partition.as_ref().is_some_and(|p| p.bound == PartitionBound::Default));
        let columns: Vec<i16> = partitioning
            .keys
            .iter()
            .map(|k| k.column.as_deref().and_then(|c| table.column(c)).map_or(0, |(id, _)| table.number(id)))
            .collect();
        let types: Vec<Type> = partition_key_types(catalog, table).unwrap_or_default();
        let expressions: Vec<String> = partitioning
            .keys
            .iter()
            .filter(|k| k.column.is_none())
            .map(|k| shown::expression(catalog, table, &k.text))
            .collect();
        rows.add(|r| {
            r.set("partrelid", catalog.table_oid(table.id))
                .set("partstrat", strategy(partitioning.strategy))
                .set("partnatts", partitioning.keys.len())
                .set("partdefid", default.map_or(0, |t| catalog.table_oid(t.id)))
                .set("partattrs", columns)
                .set("partclass", types.iter().map(|ty| operator_class(oid::of(ty))).collect::<Vec<Oid>>())
                .set("partcollation", vec![0 as Oid; partitioning.keys.len()])
                .set("partexprs", Some(expressions.join(", ")).filter(|e| !e.is_empty()));
        });
    }
}

/// `pg_inherits`: partitions, and their indexes.
pub(super) fn inherits(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    let mut add = |child: Oid, parent: Oid| {
        rows.add(|r| {
            r.set("inhrelid", child)
                .set("inhparent", parent)
                .set("inhseqno", 1)
                .set("inhdetachpending", false);
        });
    };
    for table in catalog.tables.iter().flatten() {
        let Some(partition) = table.partition.as_deref() else { continue };
        add(catalog.table_oid(table.id), catalog.table_oid(partition.of));
        for (at, index) in table.all_indexes().enumerate() {
            if let Some((parent, above)) = catalog.parent_index(table, at) {
                add(catalog.index_oid(table, index), catalog.index_oid(parent, parent.index_at(above)));
            }
        }
    }
}

/// `pg_get_partkeydef`: `RANGE (a, lower(b))`
pub(super) fn key_definition(catalog: &Catalog, oid: Oid) -> Option<String> {
    let table = table_of(catalog, oid)?;
    let Partitioning { strategy, keys, .. } = table.partitioning.as_deref()?;
    let shown: Vec<String> = keys
        .iter()
        .map(|k| match k.column {
            Some(_) => k.text.clone(),
            None => {
                if let Some(key) = shown::key(catalog, table, &k.text, false) {
                    return key;
                }
                let text = shown_expression(catalog, &k.text);
                let call = planaria_syntax::parse::expression(&text)
                    .is_ok_and(|e| matches!(e.kind, planaria_syntax::ast::ExprKind::Call(_)));
                if call { text } else { format!("({text})") }
            }
        })
        .collect();
    Some(format!("{} ({})", strategy.word(), shown.join(", ")))
}

/// `pg_get_partition_constraintdef`
pub(super) fn constraint_definition(catalog: &Catalog, oid: Oid) -> Option<String> {
    let condition = planaria_sql::ddl::partition_condition_text(catalog, table_of(catalog, oid)?)?;
    Some(shown_expression(catalog, &condition))
}

fn table_of(catalog: &Catalog, oid: Oid) -> Option<&Table> {
    match catalog.oids.object(oid)? {
        Object::Table(id) => catalog.tables.get(id.index())?.as_deref(),
        _ => None,
    }
}

/// An index by its OID.
fn index_of(catalog: &Catalog, oid: Oid) -> Option<(&Table, usize)> {
    catalog.tables.definitions().find_map(|table| {
        let at = table.all_indexes().position(|i| catalog.index_oid(table, i) == oid)?;
        (table.is_partitioned() || table.partition.is_some()).then_some((table, at))
    })
}

/// A relation and those that it is a part of; empty of one that has nothing to do with partitions.
pub(super) fn ancestors(catalog: &Catalog, oid: Oid) -> Vec<Oid> {
    if let Some(table) = table_of(catalog, oid) {
        if !table.is_partitioned() && table.partition.is_none() {
            return Vec::new();
        }
        return catalog.partition_ancestors(table.id).into_iter().map(|id| catalog.table_oid(id)).collect();
    }
    let mut all = Vec::new();
    let mut next = index_of(catalog, oid);
    while let Some((table, at)) = next {
        all.push(catalog.index_oid(table, table.index_at(at)));
        next = catalog.parent_index(table, at);
    }
    all
}

/// A relation and what is under it, each level behind the one above.
pub(super) fn tree(catalog: &Catalog, oid: Oid) -> Vec<Oid> {
    if let Some(table) = table_of(catalog, oid) {
        if !table.is_partitioned() && table.partition.is_none() {
            return Vec::new();
        }
        return catalog.partition_tree(table.id).into_iter().map(|id| catalog.table_oid(id)).collect();
    }
    let Some((table, _)) = index_of(catalog, oid) else { return Vec::new() };
    let mut all = vec![oid];
    for id in catalog.partition_tree(table.id).into_iter().skip(1) {
        let under = catalog.table_by_id(id);
        for (at, index) in under.all_indexes().enumerate() {
            let above = catalog.parent_index(under, at);
            if above.is_some_and(|(t, i)| all.contains(&catalog.index_oid(t, t.index_at(i)))) {
                all.push(catalog.index_oid(under, index));
            }
        }
    }
    all
}
