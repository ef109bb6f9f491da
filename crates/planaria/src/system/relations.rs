//! Tables, views, indexes and sequences with their columns.

use super::rows::{Row, Rows, fixed};
use super::types::{Shape, shapes};
use super::{Facts, shown};
use planaria_base::oid::{self, Oid};
use planaria_base::types::RangeType;
use planaria_base::{ColumnId, Datum, SchemaId, Type, TypeId};
use planaria_catalog::oids::Object;
use planaria_catalog::system::{self, SystemRelation};
use planaria_catalog::{
    Catalog, CheckTime, ColumnDefault, ColumnTold, Index, IndexDefinition, IndexKey, KeyOrder,
    ReplicaIdentity, Rights, Sequence, Table, View, key, shown_grants,
};
use std::collections::HashMap;

/// Access methods: of tables and of indexes.
const HEAP: Oid = 2;
const BTREE: Oid = 403;
/// The type of a range of any kind, whose operators all of them have.
const ANYRANGE: Oid = 3831;
/// The same of arrays, of their elements, and of enumerated types.
const ANYARRAY: Oid = 2277;
const ANYELEMENT: Oid = 2283;
const ANYENUM: Oid = 3500;
/// What `name_ops` of an ordered index keeps: `cstring`.
const NAME_KEPT: Oid = 2275;

/// Names and types of a view's columns; none where its query does not bind any more.
pub(super) fn view_columns(catalog: &Catalog, view: &View) -> Vec<(String, Type)> {
    let described = planaria_syntax::parse::query(&view.query).and_then(|query| {
        let kind = planaria_ir::ProgramKind::Statement;
        // The text of a view is kept for the path from home.
        let mut lowerer = planaria_sql::lower::Lowerer::new(catalog.home(), "view", kind);
        lowerer.describe(&planaria_sql::lower::Scope::new(), &query)
    });
    let columns = described.unwrap_or_default().into_iter().map(|o| (o.name, o.ty));
    let mut columns: Vec<(String, Type)> = columns.collect();
    for ((name, _), said) in columns.iter_mut().zip(&view.columns) {
        name.clone_from(said);
    }
    columns
}

/// The domains of a view's columns, where they have some.
fn domains_of_view(catalog: &Catalog, view: &View) -> Vec<Option<TypeId>> {
    if !catalog.types.iter().flatten().any(|ty| ty.domain().is_some()) {
        return Vec::new();
    }
    let query = planaria_syntax::parse::query(&view.query).ok();
    let domains = query
        .and_then(|query| planaria_sql::deparse::domains_of_columns(catalog.home(), &query, &view.query));
    domains.unwrap_or_default()
}

/// Sequences that are seen.
pub(super) fn visible_sequences(catalog: &Catalog) -> impl Iterator<Item = &Sequence> {
    catalog.sequences.definitions().filter(|s| !s.hidden)
}

/// The type of a sequence's values: that with its limit, where former versions stored it or its bounds left it.
pub(super) fn sequence_type(sequence: &Sequence) -> Type {
    let holds = |ty: &&Type| {
        let (min, max) = match ty {
            Type::Int2 => (i64::from(i16::MIN), i64::from(i16::MAX)),
            Type::Int4 => (i64::from(i32::MIN), i64::from(i32::MAX)),
            _ => (i64::MIN, i64::MAX),
        };
        sequence.min >= min && sequence.max <= max
    };
    if let Some(ty) = sequence.ty.as_ref().filter(holds) {
        return ty.clone();
    }
    let within = |low: i64, high: i64| {
        let ends = if sequence.increment > 0 { sequence.max == high } else { sequence.min == low };
        ends && sequence.min >= low && sequence.max <= high
    };
    if within(i64::from(i16::MIN), i64::from(i16::MAX)) {
        Type::Int2
    } else if within(i64::from(i32::MIN), i64::from(i32::MAX)) {
        Type::Int4
    } else {
        Type::Int8
    }
}

/// `pg_class`
pub(super) fn classes(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for relation in system::relations() {
        rows.add(|r| {
            let kind = if relation.view { 'v' } else { 'r' };
            class(r, relation.oid, relation.name, kind, relation.columns.len());
            r.set("relnamespace", relation.namespace());
            if !relation.view {
                r.set("relam", HEAP);
            }
        });
    }
    for table in catalog.tables.iter().flatten() {
        let amount = facts.stock.amount(table.id);
        let referenced = catalog.references_to(table.id).next().is_some()
            || table.partition.is_some() && !catalog.partition_root(table.id).foreign_keys.is_empty();
        rows.add(|r| {
            let kind = match table.materialized {
                Some(_) => 'm',
                None if table.composite => 'c',
                None if table.is_partitioned() => 'p',
                None => 'r',
            };
            class(r, catalog.table_oid(table.id), &table.name, kind, table.numbers());
            if let Some(populated) = table.materialized {
                r.set("relispopulated", populated).set("relhasrules", true);
            }
            if table.is_partitioned() {
                r.set("relhassubclass", catalog.partitions_of(table.id).next().is_some());
            }
            if table.partition.is_some() {
                r.set("relispartition", true)
                    .set("relpartbound", planaria_sql::ddl::partition_bound_text(catalog, table));
            }
            if let Some(told) = table.told.as_deref() {
                r.set("reloptions", (!told.options.is_empty()).then(|| told.options.clone()));
                let identity = told.identity.as_ref().map(|identity| match identity {
                    ReplicaIdentity::Full => 'f',
                    ReplicaIdentity::Nothing => 'n',
                    ReplicaIdentity::Index(_) => 'i',
                });
                if let Some(identity) = identity {
                    r.set("relreplident", identity);
                }
            }
            owned(r, catalog, &table.rights);
            if table.composite {
                // What is granted is granted on its type.
                r.set("relacl", planaria_base::Datum::Null);
            }
            in_schema(r, catalog, table.schema);
            r.set("reltype", catalog.oids.of(&Object::RowType(key(table.schema, &table.name))))
                .set("relam", if table.composite || table.is_partitioned() { 0 } else { HEAP })
                .set("reltuples", amount.rows as f64)
                .set("relpages", amount.row_bytes.div_ceil(8192).min(i32::MAX as u64) as i64)
                .set("relhasindex", table.shown_indexes().next().is_some())
                .set("relchecks", table.checks.len())
                .set("relrowsecurity", table.row_security)
                .set("relforcerowsecurity", table.force_row_security)
                // Foreign keys are triggers in PostgreSQL: psql asks for them only then.
                .set(
                    "relhastriggers",
                    referenced
                        || !table.foreign_keys.is_empty()
                        || !table.triggers.is_empty()
                        || table.may_check_last(),
                );
        });
        for index in table.shown_indexes() {
            rows.add(|r| {
                let oid = catalog.index_oid(table, index);
                let kind = if table.is_partitioned() { 'I' } else { 'i' };
                class(r, oid, &index.name, kind, index.key_count() + included(index).len());
                let at = table.all_indexes().position(|i| i.name == index.name);
                if at.is_some_and(|at| catalog.parent_index(table, at).is_some()) {
                    r.set("relispartition", true);
                }
                r.set("relowner", catalog.role_oid(table.rights.owner));
                in_schema(r, catalog, table.schema);
                r.set("relam", method(index)).set("reltuples", amount.rows as f64);
                r.set("reloptions", (!index.options.is_empty()).then(|| index.options.clone()));
            });
        }
    }
    for sequence in visible_sequences(catalog) {
        rows.add(|r| {
            class(r, catalog.sequence_oid(sequence.id), &sequence.name, 'S', 3);
            owned(r, catalog, &sequence.rights);
            in_schema(r, catalog, sequence.schema);
            r.set("reltuples", 1.0).set("relpages", 1);
        });
    }
    for view in catalog.plain_views() {
        rows.add(|r| {
            class(r, catalog.view_oid(view), &view.name, 'v', view_columns(catalog, view).len());
            owned(r, catalog, &view.rights);
            in_schema(r, catalog, view.schema);
            r.set("reltype", catalog.oids.of(&Object::RowType(view.key())))
                .set("relhasrules", true)
                .set("relhastriggers", !view.triggers().is_empty())
                .set("reltuples", 0.0);
            let options = view.options();
            if !options.is_empty() {
                r.set("reloptions", options);
            }
        });
    }
}

/// `information_schema.view_column_usage`: columns of relations whose owner whoever asks may be.
pub(super) fn columns_of_views(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for view in catalog.plain_views() {
        for (schema, relation, column) in planaria_sql::deparse::columns_used(catalog, view) {
            let wanted = (schema, relation.as_str());
            let rights = match (catalog.table(wanted), catalog.view(wanted)) {
                (Some(table), _) if table.materialized.is_none() => &table.rights,
                (None, Some(view)) => &view.rights,
                _ => continue,
            };
            if !catalog.has_privileges_of(facts.role, rights.owner) {
                continue;
            }
            rows.add(|r| {
                r.set("view_catalog", facts.settings.database())
                    .set("view_schema", catalog.schema_name(view.schema))
                    .set("view_name", &view.name)
                    .set("table_catalog", facts.settings.database())
                    .set("table_schema", catalog.schema_name(schema))
                    .set("table_name", relation)
                    .set("column_name", column);
            });
        }
    }
}

fn in_schema(row: &mut Row<'_>, catalog: &Catalog, schema: SchemaId) {
    let persistence = if catalog.is_temporary(schema) { 't' } else { 'p' };
    row.set("relnamespace", catalog.schema_oid(schema)).set("relpersistence", persistence);
}

fn owned(row: &mut Row<'_>, catalog: &Catalog, rights: &Rights) {
    row.set("relowner", catalog.role_oid(rights.owner)).set("relacl", rights.display(catalog));
}

fn class(row: &mut Row<'_>, oid: Oid, name: &str, kind: char, columns: usize) {
    row.set("oid", oid)
        .set("relname", name)
        .set("relkind", kind)
        .set("relnatts", columns)
        .set("relfilenode", if matches!(kind, 'v' | 'p' | 'I') { 0 } else { oid })
        .set("relreplident", if matches!(kind, 'r' | 'm' | 'p') { 'd' } else { 'n' });
}

/// `pg_attribute`
pub(super) fn attributes(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    let shapes = shapes();
    let mut add = |relation: Oid, at: usize, name: &str, ty: &Type, fill: &mut dyn FnMut(&mut Row<'_>)| {
        rows.add(|r| {
            r.set("attrelid", relation)
                .set("attname", name)
                .set("attnum", at + 1)
                .set("atttypid", oid::of(ty))
                .set("atttypmod", oid::modifier(ty))
                .set("attndims", i32::from(matches!(ty, Type::Array(_))));
            shape(r, &shapes, ty);
            fill(r);
        });
    };
    for relation in system::relations() {
        for (i, column) in relation.columns.iter().enumerate() {
            add(relation.oid, i, column.name, &column.ty, &mut |r| {
                r.set("attnotnull", column.not_null);
            });
        }
    }
    for table in catalog.tables.iter().flatten() {
        let oid = catalog.table_oid(table.id);
        for (id, column) in table.visible() {
            add(oid, table.number(id) as usize - 1, &column.name, &column.ty, &mut |r| {
                r.set("attnotnull", column.not_null).set("atthasdef", column.has_default());
                if column.domain.is_some() {
                    r.set("atttypid", catalog.declared_oid(&column.ty, column.domain)).set("atttypmod", -1);
                }
                if let Some(told) = column.told.as_deref() {
                    show_told(r, told);
                }
                r.set("attacl", column_acl(catalog, &table.rights, &column.name));
                if table.partition.is_some() {
                    r.set("attislocal", false).set("attinhcount", 1);
                }
                if column.generated().is_some() {
                    r.set("attgenerated", 's');
                }
                if let ColumnDefault::Identity { always, .. } = column.default {
                    r.set("attidentity", if always { 'a' } else { 'd' });
                }
            });
        }
        for dropped in &table.dropped {
            add(oid, usize::from(dropped.number) - 1, &dropped.name(), &dropped.ty, &mut |r| {
                r.set("atttypid", 0).set("attisdropped", true);
            });
        }
        for index in table.shown_indexes() {
            let oid = catalog.index_oid(table, index);
            let keys = table.said_keys(index).map(|at| {
                let name = key_column(index, at).map_or("", |c| &table.columns[c.index()].name);
                let ty = key_type(table, index, at);
                let kept = index.columns.is_empty().then(|| kept_type(index, at, ty)).flatten();
                (shown_name(index, at, name), ty, kept)
            });
            let included = included(index).iter().map(|column| {
                let column = &table.columns[column.index()];
                (column.name.clone(), &column.ty, None)
            });
            for (i, (name, ty, kept)) in keys.chain(included).enumerate() {
                add(oid, i, &name, ty, &mut |r| {
                    if let Some(kept) = kept {
                        r.set("atttypid", kept).set("atttypmod", -1).set("attndims", 0);
                    }
                });
            }
        }
    }
    for sequence in visible_sequences(catalog) {
        let oid = catalog.sequence_oid(sequence.id);
        let columns = [("last_value", Type::Int8), ("log_cnt", Type::Int8), ("is_called", Type::Bool)];
        for (i, (name, ty)) in columns.iter().enumerate() {
            add(oid, i, name, ty, &mut |r| {
                r.set("attnotnull", true);
            });
        }
    }
    for view in catalog.plain_views() {
        let oid = catalog.view_oid(view);
        let domains = domains_of_view(catalog, view);
        for (i, (name, ty)) in view_columns(catalog, view).iter().enumerate() {
            add(oid, i, name, ty, &mut |r| {
                if let Some(Some(domain)) = domains.get(i) {
                    r.set("atttypid", catalog.declared_oid(ty, Some(*domain))).set("atttypmod", -1);
                }
                r.set("atthasdef", view.defaults.contains_key(name));
                r.set("attacl", column_acl(catalog, &view.rights, name));
            });
        }
    }
}

/// `attacl`
fn column_acl(catalog: &Catalog, rights: &Rights, column: &str) -> Option<Vec<String>> {
    let grants = rights.on_column(column);
    (!grants.is_empty()).then(|| shown_grants(grants, catalog))
}

fn shape(row: &mut Row<'_>, shapes: &HashMap<Oid, Shape>, ty: &Type) {
    match ty {
        Type::Enum(_) => {
            row.set("attlen", 4).set("attbyval", true).set("attalign", 'i').set("attstorage", 'p');
        }
        Type::Array(of) if matches!(**of, Type::Enum(_)) => {
            row.set("attlen", -1).set("attbyval", false).set("attalign", 'i').set("attstorage", 'x');
        }
        Type::Citext => {
            row.set("attlen", -1).set("attbyval", false).set("attalign", 'i').set("attstorage", 'x');
            row.set("attcollation", super::extensions::DEFAULT_COLLATION);
        }
        ty if ty.row_of().is_some() => {
            row.set("attlen", -1).set("attbyval", false).set("attalign", 'd').set("attstorage", 'x');
        }
        _ => {}
    }
    if let Some(shape) = shapes.get(&oid::of(ty)) {
        row.set("attlen", shape.len)
            .set("attbyval", shape.by_value.clone())
            .set("attalign", shape.align.clone())
            .set("attstorage", shape.storage.clone())
            .set("attcollation", shape.collation);
    }
}

/// What is said of how a column is stored.
fn show_told(r: &mut Row<'_>, told: &ColumnTold) {
    if let Some(collation) = told.collation.as_deref() {
        r.set("attcollation", collation_oid(collation).unwrap_or(super::extensions::DEFAULT_COLLATION));
    }
    if let Some(target) = told.statistics {
        r.set("attstattarget", i32::from(target));
    }
    if let Some(storage) = told.storage {
        r.set("attstorage", storage);
    }
    if let Some(compression) = told.compression {
        r.set("attcompression", compression);
    }
    if !told.options.is_empty() {
        r.set("attoptions", told.options.clone());
    }
}

/// `pg_attrdef`
pub(super) fn defaults(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for table in catalog.tables.iter().flatten() {
        for (id, column) in table.visible().filter(|(_, c)| c.has_default()) {
            rows.add(|r| {
                r.set("oid", catalog.oids.of(&Object::Default(table.id, column.name.clone())))
                    .set("adrelid", catalog.table_oid(table.id))
                    .set("adnum", table.number(id))
                    .set("adbin", shown::default_text(catalog, table, column));
            });
        }
    }
    for view in catalog.views.values().filter(|v| !v.defaults.is_empty()) {
        for (at, (column, ty)) in view_columns(catalog, view).iter().enumerate() {
            let Some(text) = view.defaults.get(column) else { continue };
            rows.add(|r| {
                r.set("oid", catalog.oids.of(&Object::ViewDefault(view.key(), column.clone())))
                    .set("adrelid", catalog.view_oid(view))
                    .set("adnum", at as i16 + 1)
                    .set("adbin", shown::view_default(catalog, text, ty));
            });
        }
    }
}

/// The operator class of an index column, by the type's OID.
fn operator_classes(method: Oid) -> HashMap<Oid, Oid> {
    let own = fixed("pg_opclass").filter(move |c| {
        c.value("opcdefault") == Datum::Bool(true) && c.int("opcmethod") == i64::from(method)
    });
    own.map(|c| (c.int("opcintype") as Oid, c.int("oid") as Oid)).collect()
}

/// The operator classes that an index names, by method.
fn named_classes() -> HashMap<(Oid, String), Oid> {
    let classes = fixed("pg_opclass").filter_map(|c| match c.value("opcname") {
        Datum::Text(name) => Some(((c.int("opcmethod") as Oid, name), c.int("oid") as Oid)),
        _ => None,
    });
    classes.collect()
}

/// The OID of an index's method.
fn method(index: &Index) -> Oid {
    let name = Datum::Text(index.shown_method().to_owned());
    fixed("pg_am").find(|am| am.value("amname") == name).map_or(BTREE, |am| am.int("oid") as Oid)
}

/// The OIDs of the collations that order by bytes in every database.
fn collation_oid(name: &str) -> Option<Oid> {
    Some(match name {
        "C" => 950,
        "POSIX" => 951,
        _ => return None,
    })
}

/// `indoption`: 1 for DESC, 2 for NULLS FIRST.
fn options(index: &Index) -> Vec<i16> {
    let order = |at: usize| index.orders.get(at).cloned().unwrap_or_default();
    let option = |o: KeyOrder| i16::from(o.descending) + 2 * i16::from(o.nulls_first);
    (0..index.key_count()).map(|at| option(order(at))).collect()
}

/// Whether an index is what REPLICA IDENTITY names.
fn is_identity(table: &Table, index: &Index) -> bool {
    let identity = table.told.as_ref().and_then(|told| told.identity.as_ref());
    matches!(identity, Some(ReplicaIdentity::Index(name)) if *name == index.name)
}

/// `pg_index`
pub(super) fn indexes(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    let (named, shapes) = (named_classes(), shapes());
    let mut of_methods: HashMap<Oid, HashMap<Oid, Oid>> = HashMap::new();
    for table in catalog.tables.iter().flatten() {
        for index in table.shown_indexes() {
            let method = method(index);
            let classes = &*of_methods.entry(method).or_insert_with(|| operator_classes(method));
            rows.add(|r| {
                let types = || table.said_keys(index).map(|at| oid::of(key_type(table, index, at)));
                let families = table.said_keys(index).map(|at| family(key_type(table, index, at)));
                let own = |ty: Oid| classes.get(&ty).copied().unwrap_or(0);
                let class = |(at, ty): (usize, Oid)| {
                    let name = index.orders.get(at).and_then(|o| o.class.as_ref());
                    let name = name.map(|name| name.split(' ').next().unwrap_or(name).to_owned());
                    name.and_then(|name| named.get(&(method, name)).copied()).unwrap_or_else(|| own(ty))
                };
                let collation = |(at, ty): (usize, Oid)| {
                    let said = index.orders.get(at).and_then(|o| o.collation.as_deref());
                    let said = said.or_else(|| table.key_collation(index, at));
                    said.and_then(collation_oid).unwrap_or_else(|| shapes.get(&ty).map_or(0, |s| s.collation))
                };
                r.set("indexrelid", catalog.index_oid(table, index))
                    .set("indrelid", catalog.table_oid(table.id))
                    .set("indnatts", index.key_count() + included(index).len())
                    .set("indnkeyatts", index.key_count())
                    .set("indisunique", index.is_unique())
                    .set("indimmediate", index.check() == CheckTime::NotDeferrable)
                    .set("indnullsnotdistinct", index.equal_nulls)
                    .set("indisexclusion", index.excludes())
                    .set("indisreplident", is_identity(table, index))
                    .set("indisprimary", is_primary(table, index))
                    .set("indisclustered", index.clustered)
                    .set("indkey", shown_keys(table, index))
                    .set("indexprs", expressions(catalog, table, index))
                    .set("indpred", predicate(catalog, table, index))
                    .set("indclass", families.enumerate().map(class).collect::<Vec<_>>())
                    .set("indoption", options(index))
                    .set("indcollation", types().enumerate().map(collation).collect::<Vec<_>>());
            });
        }
    }
}

/// The operator class that keys of a type have.
pub(super) fn operator_class(ty: Oid) -> Oid {
    operator_classes(BTREE).get(&of_operators(ty)).copied().unwrap_or(0)
}

/// Columns that an index has beside its keys.
fn included(index: &Index) -> &[ColumnId] {
    index.definition.as_ref().map_or(&[], |d| &d.included)
}

/// `indkey`: numbers of the columns, 0 for an expression.
fn shown_keys(table: &Table, index: &Index) -> Vec<i16> {
    key_numbers(table, index).chain(included(index).iter().map(|c| table.number(*c))).collect()
}

/// The numbers of an index's keys in the order in which they were said, 0 for an expression.
pub(super) fn key_numbers<'i>(table: &'i Table, index: &'i Index) -> impl Iterator<Item = i16> + use<'i> {
    table.said_keys(index).map(|at| match index.definition.as_ref().and_then(|d| d.keys.get(at)) {
        Some(IndexKey::Column(column)) => table.number(*column),
        Some(IndexKey::Expression(_)) => 0,
        None => table.number(index.columns[at]),
    })
}

/// The type of a key of an index.
fn key_type<'t>(table: &'t Table, index: &'t Index, at: usize) -> &'t Type {
    match key_column(index, at) {
        Some(column) => &table.columns[column.index()].ty,
        None => index.unmade_types.get(at).unwrap_or(&Type::Text),
    }
}

/// The column that has a key of an index: none for an expression of one that is only remembered.
fn key_column(index: &Index, at: usize) -> Option<ColumnId> {
    let said = index.definition.as_ref().and_then(|d| d.keys.get(at));
    index.columns.get(at).copied().or(match said {
        Some(IndexKey::Column(column)) => Some(*column),
        _ => None,
    })
}

/// The type whose operators a type has: varchar those of text, cidr those of inet, ranges those of any of them.
fn of_operators(ty: Oid) -> Oid {
    match ty {
        1043 => 25,
        650 => 869,
        ty if RangeType::ALL.into_iter().any(|of| oid::of(&Type::Range(of)) == ty) => ANYRANGE,
        ty => ty,
    }
}

/// The type that the operator classes of a type are of.
fn family(ty: &Type) -> Oid {
    match ty {
        Type::Array(_) => ANYARRAY,
        Type::Enum(_) => ANYENUM,
        ty => of_operators(oid::of(ty)),
    }
}

/// What an index that is only remembered would keep of its keys, where its operator class says so: a type's OID.
fn kept_type(index: &Index, at: usize, ty: &Type) -> Option<Oid> {
    if index.shown_method() == "hash" {
        return Some(oid::of(&Type::Int4));
    }
    let name = index.orders.get(at).and_then(|o| o.class.as_ref());
    let name = name.map(|name| Datum::Text(name.split(' ').next().unwrap_or(name).to_owned()));
    let method = i64::from(method(index));
    let class = fixed("pg_opclass").find(|c| {
        let own = || c.value("opcdefault") == Datum::Bool(true) && c.int("opcintype") as Oid == family(ty);
        c.int("opcmethod") == method && name.as_ref().map_or_else(own, |name| c.value("opcname") == *name)
    })?;
    match (class.int("opckeytype") as Oid, ty) {
        (ANYELEMENT, Type::Array(of)) => Some(oid::of(of)),
        (0 | NAME_KEPT | ANYELEMENT, _) => None,
        (kept, _) => fixed("pg_type").any(|t| t.int("oid") as Oid == kept).then_some(kept),
    }
}

/// The operators of an exclusion constraint, in the order of the keys as they were said.
pub(super) fn exclusion_operators(table: &Table, index: &Index) -> Option<Vec<Oid>> {
    let exclusion = index.exclusion.as_ref().filter(|e| e.unique.is_none())?;
    let of = |at: usize| {
        let ty = i64::from(of_operators(oid::of(key_type(table, index, at))));
        let name = Datum::Text(exclusion.operators[at].symbol().to_owned());
        let mut all = fixed("pg_operator");
        let found =
            all.find(|o| o.value("oprname") == name && o.int("oprleft") == ty && o.int("oprright") == ty);
        found.map_or(0, |o| o.int("oid") as Oid)
    };
    Some(table.said_keys(index).map(of).collect())
}

/// `indpred`
fn predicate(catalog: &Catalog, table: &Table, index: &Index) -> Option<String> {
    let text = index.definition.as_ref()?.predicate.as_ref()?;
    Some(shown::condition(catalog, table, text, false).unwrap_or_else(|| text.clone()))
}

/// `indexprs`
fn expressions(catalog: &Catalog, table: &Table, index: &Index) -> Option<String> {
    let of = |key: &IndexKey| match key {
        IndexKey::Column(_) => None,
        IndexKey::Expression(text) => Some(shown::expression(catalog, table, text)),
    };
    let keys = |d: &IndexDefinition| {
        table.said_keys(index).filter_map(|at| of(d.keys.get(at)?)).collect::<Vec<String>>()
    };
    let all = index.definition.as_ref().map(keys).unwrap_or_default();
    (!all.is_empty()).then(|| all.join(", "))
}

/// `attname` of an index's column: a call has its function's name, another expression `expr`.
fn shown_name(index: &Index, at: usize, name: &str) -> String {
    match index.definition.as_ref().and_then(|d| d.keys.get(at)) {
        Some(IndexKey::Expression(text)) => match text.split_once('(') {
            Some((function, _)) if !function.is_empty() => function.to_owned(),
            _ => "expr".to_owned(),
        },
        _ => name.to_owned(),
    }
}

/// Whether an index is its table's primary key.
pub(super) fn is_primary(table: &Table, index: &Index) -> bool {
    table.primary_key().is_some_and(|key| std::ptr::eq(index, key))
}

/// `pg_sequence`
pub(super) fn sequences(facts: &Facts<'_>, rows: &mut Rows) {
    for sequence in visible_sequences(facts.catalog) {
        rows.add(|r| {
            r.set("seqrelid", facts.catalog.sequence_oid(sequence.id))
                .set("seqtypid", oid::of(&sequence_type(sequence)))
                .set("seqstart", sequence.start)
                .set("seqincrement", sequence.increment)
                .set("seqmax", sequence.max)
                .set("seqmin", sequence.min)
                .set("seqcache", sequence.cache)
                .set("seqcycle", sequence.cycle);
        });
    }
}

/// `pg_sequences`
pub(super) fn sequence_view(facts: &Facts<'_>, rows: &mut Rows) {
    for sequence in visible_sequences(facts.catalog) {
        rows.add(|r| {
            r.set("schemaname", facts.catalog.schema_name(sequence.schema))
                .set("sequencename", &sequence.name)
                .set("sequenceowner", facts.catalog.role_name(sequence.rights.owner))
                .set("data_type", oid::of(&sequence_type(sequence)))
                .set("start_value", sequence.start)
                .set("min_value", sequence.min)
                .set("max_value", sequence.max)
                .set("increment_by", sequence.increment)
                .set("cycle", sequence.cycle)
                .set("cache_size", sequence.cache)
                .set("last_value", facts.stock.last_value(sequence.id));
        });
    }
}

/// `planaria_sequences`: sequences as relations of one row, which `SELECT .. FROM sequence` reads.
pub(super) fn sequence_rows(facts: &Facts<'_>, rows: &mut Rows) {
    for sequence in visible_sequences(facts.catalog) {
        if let Some((last_value, is_called)) = facts.stock.sequence_row(sequence.id) {
            rows.add(|r| {
                r.set("schemaname", facts.catalog.schema_name(sequence.schema))
                    .set("sequencename", &sequence.name)
                    .set("last_value", last_value)
                    .set("log_cnt", 0)
                    .set("is_called", is_called);
            });
        }
    }
}

/// `pg_rewrite`: the rule that a view is.
pub(super) fn rules(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for view in catalog.views.values() {
        rows.add(|r| {
            r.set("oid", catalog.oids.of(&Object::Rule(view.key())))
                .set("rulename", "_RETURN")
                .set("ev_class", catalog.view_oid(view))
                .set("ev_type", '1')
                .set("ev_enabled", 'O')
                .set("is_instead", true)
                .set("ev_qual", "<>")
                .set("ev_action", shown::view(catalog, view, false));
        });
    }
}

/// A system relation by its OID.
pub(super) fn system_relation(oid: Oid) -> Option<&'static SystemRelation> {
    system::relations().iter().find(|r| r.oid == oid)
}
