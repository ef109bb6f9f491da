//! Constraints, and what depends on what.

use super::Facts;
use super::relations::{exclusion_operators, is_primary, key_numbers, visible_sequences};
use super::routines::result;
use super::rows::Rows;
use super::types::declared_oid;
use planaria_base::oid::{self, FIRST_NORMAL, Oid};
use planaria_base::{ColumnId, TableId, Type};
use planaria_catalog::oids::Object;
use planaria_catalog::{Catalog, CheckTime, ColumnDefault, IndexKey, ReferentialAction, Returns, Table, key};
use planaria_sql::ddl;
use std::collections::BTreeSet;

/// OIDs of catalogs that `pg_depend` speaks of.
const PG_CLASS: Oid = 1259;
const PG_ATTRDEF: Oid = 2604;
const PG_CONSTRAINT: Oid = 2606;
const PG_PROC: Oid = 1255;
const PG_TYPE: Oid = 1247;
const PG_REWRITE: Oid = 2618;
const PG_TRIGGER: Oid = 2620;
const PG_POLICY: Oid = 3256;
const PG_CAST: Oid = 2605;
const PG_NAMESPACE: Oid = 2615;
const PG_EXTENSION: Oid = 3079;
const PG_STATISTIC_EXT: Oid = 3381;

fn numbers(table: &Table, columns: &[ColumnId]) -> Vec<i16> {
    columns.iter().map(|c| table.number(*c)).collect()
}

/// `confdeltype`, `confupdtype`
fn action(action: ReferentialAction) -> char {
    match action {
        ReferentialAction::Restrict => 'a',
        ReferentialAction::Cascade => 'c',
        ReferentialAction::SetNull => 'n',
        ReferentialAction::SetDefault => 'd',
    }
}

/// The columns that a CHECK names, in the table's order.
fn checked_columns(table: &Table, expression: &str) -> Vec<i16> {
    let names = planaria_syntax::parse::expression(expression).map(|e| e.column_names()).unwrap_or_default();
    let mut found: Vec<i16> =
        names.iter().filter_map(|n| table.column(n)).map(|(id, _)| table.number(id)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// `pg_constraint`
pub(super) fn constraints(facts: &Facts<'_>, rows: &mut Rows) {
    domain_constraints(facts, rows);
    constraint_triggers(facts, rows);
    let catalog = facts.catalog;
    for table in catalog.tables.iter().flatten() {
        let relation = catalog.table_oid(table.id);
        let oid = |name: &str| catalog.oids.of(&Object::Constraint(table.id, name.to_owned()));
        for index in table.shown_indexes().filter(|i| i.constraint) {
            rows.add(|r| {
                r.set("oid", oid(&index.name))
                    .set("conname", &index.name)
                    .set(
                        "contype",
                        match index.excludes() {
                            true => 'x',
                            false if is_primary(table, index) => 'p',
                            false => 'u',
                        },
                    )
                    .set("conrelid", relation)
                    .set("connamespace", catalog.schema_oid(table.schema))
                    .set("conindid", catalog.index_oid(table, index))
                    .set("conkey", key_numbers(table, index).collect::<Vec<_>>());
                r.set("condeferrable", index.check() != CheckTime::NotDeferrable)
                    .set("condeferred", index.check() == CheckTime::Deferred);
                if let Some(operators) = exclusion_operators(table, index) {
                    r.set("conexclop", operators);
                }
                let at = table.indexes.iter().position(|i| i.name == index.name);
                if let Some((parent, above)) = at.and_then(|at| catalog.parent_index(table, at)) {
                    let above = Object::Constraint(parent.id, parent.indexes[above].name.clone());
                    r.set("conparentid", catalog.oids.of(&above))
                        .set("conislocal", false)
                        .set("coninhcount", 1);
                }
            });
        }
        for check in &table.checks {
            rows.add(|r| {
                let columns = checked_columns(table, &check.expression);
                r.set("oid", oid(&check.name))
                    .set("conname", &check.name)
                    .set("contype", 'c')
                    .set("conrelid", relation)
                    .set("connamespace", catalog.schema_oid(table.schema))
                    .set("connoinherit", false)
                    .set("convalidated", !check.not_valid)
                    .set("conislocal", !catalog.is_inherited_check(table, &check.name))
                    .set("coninhcount", i32::from(catalog.is_inherited_check(table, &check.name)))
                    .set("conkey", Some(columns).filter(|c| !c.is_empty()))
                    .set("conbin", super::shown::check(catalog, table, check));
            });
        }
        for key in &table.foreign_keys {
            let parent = catalog.table_by_id(key.parent);
            rows.add(|r| {
                r.set("oid", oid(&key.name))
                    .set("conname", &key.name)
                    .set("contype", 'f')
                    .set("conrelid", relation)
                    .set("connamespace", catalog.schema_oid(table.schema))
                    .set("conindid", catalog.index_oid(parent, &parent.indexes[key.parent_index.index()]))
                    .set("confrelid", catalog.table_oid(parent.id))
                    .set("condeferrable", key.check != CheckTime::NotDeferrable)
                    .set("condeferred", key.check == CheckTime::Deferred)
                    .set("confupdtype", if key.restricts_update { 'r' } else { action(key.on_update) })
                    .set("confdeltype", if key.restricts_delete { 'r' } else { action(key.on_delete) })
                    .set("convalidated", !key.not_valid)
                    .set("confmatchtype", if key.match_full { 'f' } else { 's' })
                    .set("conkey", numbers(table, &key.columns))
                    .set("confkey", numbers(parent, &key.parent_columns));
            });
        }
    }
}

/// `pg_constraint` of constraint triggers.
fn constraint_triggers(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for table in catalog.tables.iter().flatten() {
        for trigger in &table.triggers {
            let Some(check) = trigger.constraint else { continue };
            rows.add(|r| {
                r.set("oid", catalog.oids.of(&Object::Constraint(table.id, trigger.name.clone())))
                    .set("conname", &trigger.name)
                    .set("contype", 't')
                    .set("conrelid", catalog.table_oid(table.id))
                    .set("condeferrable", check != CheckTime::NotDeferrable)
                    .set("condeferred", check == CheckTime::Deferred);
            });
        }
    }
}

/// `pg_constraint` of domains.
fn domain_constraints(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for ty in catalog.types.iter().flatten() {
        let Some(domain) = ty.domain() else { continue };
        for check in &domain.checks {
            rows.add(|r| {
                r.set("oid", catalog.oids.of(&Object::DomainConstraint(ty.id, check.name.clone())))
                    .set("conname", &check.name)
                    .set("contype", 'c')
                    .set("conrelid", 0)
                    .set("contypid", catalog.type_oid(ty.id))
                    .set("connamespace", catalog.schema_oid(ty.schema))
                    .set("convalidated", !check.not_valid)
                    .set("conbin", super::shown::domain_check(catalog, domain, check));
            });
        }
    }
}

/// The objects that a text names.
fn each(named: &ddl::Named, add: &mut dyn FnMut((Oid, Oid, i16))) {
    named.relations.iter().for_each(|oid| add((PG_CLASS, *oid, 0)));
    named.routines.iter().for_each(|oid| add((PG_PROC, *oid, 0)));
    named.types.iter().for_each(|oid| add((PG_TYPE, *oid, 0)));
}

/// What `pg_depend` says of row types that something is of: of them and their arrays. By that a dump finds its order.
fn rows_of_row_types(catalog: &Catalog, add: &mut impl FnMut((Oid, Oid, i16), (Oid, Oid, i16), char)) {
    let mut used: BTreeSet<TableId> = BTreeSet::new();
    for table in catalog.tables.iter().flatten() {
        used.extend(table.composite.then_some(table.id));
        used.extend(table.visible().filter_map(|(_, c)| c.ty.row_of()).map(|of| of.table));
    }
    for p in catalog.procedures.iter().filter(|p| p.current) {
        if let Returns::RowOf(id) | Returns::SetOfTable(id) = p.returns {
            used.insert(id);
        }
        used.extend(p.parameters.iter().filter_map(|q| q.ty.row_of()).map(|of| of.table));
    }
    for table in used.into_iter().map(|id| catalog.table_by_id(id)) {
        let name = key(table.schema, &table.name);
        let relation = (PG_CLASS, catalog.table_oid(table.id), 0);
        let row = (PG_TYPE, catalog.oids.of(&Object::RowType(name.clone())), 0);
        let array = (PG_TYPE, catalog.oids.of(&Object::RowTypeArray(name)), 0);
        add(row, array, 'i');
        match table.composite {
            true => add(row, relation, 'i'),
            false => add(relation, row, 'i'),
        }
    }
}

/// `pg_depend`: sequences on the columns they belong to, defaults, checks, indexes and views on what they name, indexes
/// on their constraints.
pub(super) fn depends(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    let mut add = |on: (Oid, Oid, i16), of: (Oid, Oid, i16), kind: char| {
        rows.add(|r| {
            r.set("classid", of.0)
                .set("objid", of.1)
                .set("objsubid", of.2)
                .set("refclassid", on.0)
                .set("refobjid", on.1)
                .set("refobjsubid", on.2)
                .set("deptype", kind);
        });
    };
    for sequence in visible_sequences(catalog) {
        let Some((table, column)) = sequence.owner else { continue };
        let Some(table) = catalog.tables.get(table.index()).and_then(Option::as_ref) else { continue };
        let default = &table.columns[column.index()].default;
        let identity =
            matches!(default, ColumnDefault::Identity { sequence: own, .. } if *own == sequence.id);
        let of = (PG_CLASS, catalog.sequence_oid(sequence.id), 0);
        let on = (PG_CLASS, catalog.table_oid(table.id), table.number(column));
        add(on, of, if identity { 'i' } else { 'a' });
    }
    for table in catalog.tables.iter().flatten() {
        let relation = catalog.table_oid(table.id);
        for (id, column) in table.visible().filter(|(_, c)| c.has_default()) {
            let default = catalog.oids.of(&Object::Default(table.id, column.name.clone()));
            add((PG_CLASS, relation, table.number(id)), (PG_ATTRDEF, default, 0), 'a');
            match &column.default {
                ColumnDefault::Sequence(sequence) => {
                    add((PG_CLASS, catalog.sequence_oid(*sequence), 0), (PG_ATTRDEF, default, 0), 'n');
                }
                ColumnDefault::Expression(text) | ColumnDefault::Generated(text) => {
                    let named = ddl::named_by_expression(catalog, text);
                    each(&named, &mut |on| add(on, (PG_ATTRDEF, default, 0), 'n'));
                }
                ColumnDefault::None | ColumnDefault::Identity { .. } => {}
            }
        }
        for (id, column) in table.visible().filter(|(_, c)| c.ty.row_of().is_some()) {
            add((PG_TYPE, oid::of(&column.ty), 0), (PG_CLASS, relation, table.number(id)), 'n');
        }
        if let Some(partition) = &table.partition {
            add((PG_CLASS, catalog.table_oid(partition.of), 0), (PG_CLASS, relation, 0), 'a');
        }
        for (at, index) in table.all_indexes().enumerate() {
            let Some((parent, above)) = catalog.parent_index(table, at) else { continue };
            let above = parent.index_at(above);
            let (of, on) = (catalog.index_oid(table, index), catalog.index_oid(parent, above));
            add((PG_CLASS, on, 0), (PG_CLASS, of, 0), 'P');
            if index.constraint {
                let constraint =
                    |t: &Table, name: &str| catalog.oids.of(&Object::Constraint(t.id, name.to_owned()));
                let (of, on) = (constraint(table, &index.name), constraint(parent, &above.name));
                add((PG_CONSTRAINT, on, 0), (PG_CONSTRAINT, of, 0), 'P');
            }
        }
        for check in &table.checks {
            let constraint = catalog.oids.of(&Object::Constraint(table.id, check.name.clone()));
            let named = ddl::named_by_expression(catalog, &check.expression);
            each(&named, &mut |on| add(on, (PG_CONSTRAINT, constraint, 0), 'n'));
        }
        for index in table.shown_indexes() {
            let oid = catalog.index_oid(table, index);
            if index.constraint {
                let constraint = catalog.oids.of(&Object::Constraint(table.id, index.name.clone()));
                add((PG_CONSTRAINT, constraint, 0), (PG_CLASS, oid, 0), 'i');
                for column in index.columns.iter().filter(|c| !table.columns[c.index()].hidden) {
                    add((PG_CLASS, relation, table.number(*column)), (PG_CONSTRAINT, constraint, 0), 'a');
                }
            } else {
                let texts = index.definition.iter().flat_map(|d| {
                    let keys = d.keys.iter().filter_map(|key| match key {
                        IndexKey::Expression(text) => Some(text),
                        IndexKey::Column(_) => None,
                    });
                    keys.chain(&d.predicate)
                });
                for text in texts {
                    let named = ddl::named_by_expression(catalog, text);
                    each(&named, &mut |on| add(on, (PG_CLASS, oid, 0), 'n'));
                }
                let stored = |column: &&ColumnId| !table.columns[column.index()].hidden;
                let said = index.definition.iter().filter(|_| index.columns.is_empty());
                let said = said.flat_map(|d| &d.keys).filter_map(|key| match key {
                    IndexKey::Column(column) => Some(column),
                    IndexKey::Expression(_) => None,
                });
                for column in index.columns.iter().filter(stored).chain(said) {
                    add((PG_CLASS, relation, table.number(*column)), (PG_CLASS, oid, 0), 'a');
                }
            }
        }
        for of in &table.statistics {
            let own = (PG_STATISTIC_EXT, catalog.statistics_oid(table, of), 0);
            for (column, _) in of.columns_in_order(table) {
                add((PG_CLASS, relation, column as i16), own, 'a');
            }
            if of.columns.is_empty() {
                add((PG_CLASS, relation, 0), own, 'a');
            }
            for text in &of.expressions {
                let named = ddl::named_by_expression(catalog, text);
                each(&named, &mut |on| add(on, own, 'n'));
            }
        }
        for trigger in &table.triggers {
            let oid = catalog.trigger_oid(table.id, &trigger.name);
            let function = catalog.routine_oid(catalog.procedure(trigger.function));
            add((PG_PROC, function, 0), (PG_TRIGGER, oid, 0), 'n');
            add((PG_CLASS, relation, 0), (PG_TRIGGER, oid, 0), 'a');
            for column in &trigger.columns {
                add((PG_CLASS, relation, table.number(*column)), (PG_TRIGGER, oid, 0), 'n');
            }
        }
        for policy in &table.policies {
            let oid = catalog.policy_oid(table.id, &policy.name);
            add((PG_CLASS, relation, 0), (PG_POLICY, oid, 0), 'a');
            for text in policy.texts() {
                let named = ddl::named_by_expression(catalog, text);
                each(&named, &mut |on| add(on, (PG_POLICY, oid, 0), 'n'));
            }
        }
        for key in &table.foreign_keys {
            let constraint = catalog.oids.of(&Object::Constraint(table.id, key.name.clone()));
            let parent = catalog.table_oid(key.parent);
            for (column, referenced) in key.columns.iter().zip(&key.parent_columns) {
                add((PG_CLASS, relation, table.number(*column)), (PG_CONSTRAINT, constraint, 0), 'a');
                add(
                    (PG_CLASS, parent, catalog.table_by_id(key.parent).number(*referenced)),
                    (PG_CONSTRAINT, constraint, 0),
                    'n',
                );
            }
        }
    }
    rows_of_row_types(catalog, &mut add);
    // What an extension brings is not dumped beside it.
    if catalog.extension("citext").is_some() {
        let extension = (PG_EXTENSION, catalog.extension_oid("citext"), 0);
        add(extension, (PG_TYPE, oid::of(&Type::Citext), 0), 'e');
    }
    for extension in &catalog.extensions {
        let own = (PG_EXTENSION, catalog.extension_oid(&extension.name), 0);
        add((PG_NAMESPACE, catalog.schema_oid(extension.schema), 0), own, 'n');
    }
    for cast in &catalog.casts {
        for ty in [cast.source, cast.target].into_iter().filter(|oid| *oid >= FIRST_NORMAL) {
            add((PG_TYPE, ty, 0), (PG_CAST, catalog.cast_oid(cast), 0), 'n');
        }
    }
    // What a routine takes and answers must be there before it.
    for p in catalog.procedures.iter().filter(|p| p.current) {
        let types = p.parameters.iter().map(|q| declared_oid(catalog, &q.ty, q.domain));
        let mut types: Vec<Oid> =
            types.chain([result(catalog, p)]).filter(|oid| *oid >= FIRST_NORMAL).collect();
        types.sort_unstable();
        types.dedup();
        for ty in types {
            add((PG_TYPE, ty, 0), (PG_PROC, catalog.routine_oid(p), 0), 'n');
        }
    }
    for view in catalog.views.values() {
        let rule = catalog.oids.of(&Object::Rule(view.key()));
        add((PG_CLASS, catalog.view_oid(view), 0), (PG_REWRITE, rule, 0), 'i');
        for (at, column) in view.columns.iter().enumerate().filter(|(_, c)| view.defaults.contains_key(*c)) {
            let default = catalog.oids.of(&Object::ViewDefault(view.key(), column.clone()));
            let number = at as i16 + 1;
            add((PG_CLASS, catalog.view_oid(view), number), (PG_ATTRDEF, default, 0), 'a');
        }
        for trigger in view.triggers() {
            let oid = catalog.oids.of(&Object::ViewTrigger(view.key(), trigger.name.clone()));
            let function = catalog.routine_oid(catalog.procedure(trigger.function));
            add((PG_PROC, function, 0), (PG_TRIGGER, oid, 0), 'n');
            add((PG_CLASS, catalog.view_oid(view), 0), (PG_TRIGGER, oid, 0), 'a');
        }
        let named = ddl::named_by_view(catalog, view);
        each(&named, &mut |on| add(on, (PG_REWRITE, rule, 0), 'n'));
        // A dump makes the key first.
        let mut keys = ddl::keys_of_view(catalog, view);
        keys.sort_unstable();
        keys.dedup();
        for table in keys.into_iter().map(|id| catalog.table_by_id(id)) {
            if let Some(index) = table.primary_key() {
                let key = catalog.oids.of(&Object::Constraint(table.id, index.name.clone()));
                add((PG_CONSTRAINT, key, 0), (PG_REWRITE, rule, 0), 'n');
            }
        }
    }
    for p in catalog.procedures.iter().filter(|p| p.current) {
        for function in p.aggregate.iter().flat_map(|of| of.functions()) {
            if let Some(called) = function.routine(catalog) {
                add((PG_PROC, catalog.routine_oid(called), 0), (PG_PROC, catalog.routine_oid(p), 0), 'n');
            }
        }
    }
    for p in catalog.procedures.iter().filter(|p| p.current && p.standard.is_some()) {
        let named = ddl::named_by_routine(catalog, p);
        let own = (PG_PROC, catalog.routine_oid(p), 0);
        each(&named, &mut |on| {
            if on != own {
                add(on, own, 'n');
            }
        });
    }
}
