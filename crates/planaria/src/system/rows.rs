//! Rows of system relations on their way into a query.

use super::grants::{self, Shown};
use super::{
    Facts, constraints, extensions, partitions, policies, privileges, relations, routines, server,
    statistics, triggers, types,
};
use planaria_base::{ColumnId, Datum, Result, SystemId};
use planaria_catalog::Comment;
use planaria_catalog::system::{self, SystemRelation};
use planaria_exec::heap::Heap;
use planaria_exec::slot::Slot;

/// The rows being made of one relation: of each the columns that are wanted, in their order.
pub(super) struct Rows {
    relation: &'static SystemRelation,
    wanted: Vec<&'static str>,
    template: Vec<Datum>,
    rows: Vec<Vec<Datum>>,
}

/// One row, its columns by name.
pub(super) struct Row<'r> {
    relation: &'static SystemRelation,
    wanted: &'r [&'static str],
    values: &'r mut [Datum],
}

/// A value of a column.
pub(super) trait Value {
    fn datum(self) -> Datum;
}

macro_rules! integers {
    ($($ty:ty)*) => { $(impl Value for $ty { fn datum(self) -> Datum { Datum::Int(self as i64) } })* };
}
integers!(i16 i32 i64 u32 usize);

impl Value for bool {
    fn datum(self) -> Datum {
        Datum::Bool(self)
    }
}
impl Value for f64 {
    fn datum(self) -> Datum {
        Datum::Float(self)
    }
}
impl Value for &str {
    fn datum(self) -> Datum {
        Datum::Text(self.to_owned())
    }
}
impl Value for &String {
    fn datum(self) -> Datum {
        Datum::Text(self.clone())
    }
}
impl Value for String {
    fn datum(self) -> Datum {
        Datum::Text(self)
    }
}
/// A `"char"`.
impl Value for char {
    fn datum(self) -> Datum {
        Datum::Text(self.to_string())
    }
}
impl Value for Datum {
    fn datum(self) -> Datum {
        self
    }
}
impl<V: Value> Value for Option<V> {
    fn datum(self) -> Datum {
        self.map_or(Datum::Null, Value::datum)
    }
}
impl<V: Value> Value for Vec<V> {
    fn datum(self) -> Datum {
        Datum::Array(self.into_iter().map(Value::datum).collect())
    }
}

impl Rows {
    fn of(relation: &'static SystemRelation, columns: &[ColumnId]) -> Rows {
        let columns = columns.iter().map(|c| &relation.columns[c.index()]);
        let (wanted, template) = columns.map(|c| (c.name, c.default.clone())).unzip();
        Rows { relation, wanted, template, rows: Vec::new() }
    }

    /// Adds a row: what is not set has its column's default.
    pub(super) fn add(&mut self, fill: impl FnOnce(&mut Row<'_>)) {
        let mut values = self.template.clone();
        fill(&mut Row { relation: self.relation, wanted: &self.wanted, values: &mut values });
        self.rows.push(values);
    }
}

impl Row<'_> {
    /// Sets a column if it is wanted. The relation has it: another name is a bug of ours.
    pub(super) fn set(&mut self, column: &str, value: impl Value) -> &mut Self {
        debug_assert!(self.relation.column(column).is_some(), "{} has no {column}", self.relation.name);
        if let Some(at) = self.wanted.iter().position(|name| *name == column) {
            self.values[at] = value.datum();
        }
        self
    }
}

/// A row that is the same in every database, by column names.
pub(super) struct Fixed {
    relation: &'static SystemRelation,
    row: &'static [Datum],
}

impl Fixed {
    /// The integer in a column; 0 where it is NULL.
    pub(super) fn int(&self, column: &str) -> i64 {
        match self.relation.column(column).map(|c| &self.row[c]) {
            Some(Datum::Int(n)) => *n,
            _ => 0,
        }
    }
    /// Any value in a column.
    pub(super) fn value(&self, column: &str) -> Datum {
        self.relation.column(column).map_or(Datum::Null, |c| self.row[c].clone())
    }
}

/// Rows of a relation of `pg_catalog` that are the same in every database.
pub(super) fn fixed(relation: &str) -> impl Iterator<Item = Fixed> {
    let relation = system::unqualified(relation).expect("a system relation");
    system::fixed_rows(relation.id).iter().map(move |row| Fixed { relation, row })
}

/// Makes the rows that depend on the database.
fn make(relation: &'static SystemRelation, columns: &[ColumnId], facts: &Facts<'_>) -> Rows {
    let mut rows = Rows::of(relation, columns);
    let out = &mut rows;
    match (relation.schema, relation.name) {
        (system::PG_CATALOG, "pg_class") => relations::classes(facts, out),
        (system::PG_CATALOG, "pg_attribute") => relations::attributes(facts, out),
        (system::PG_CATALOG, "pg_attrdef") => relations::defaults(facts, out),
        (system::PG_CATALOG, "pg_index") => relations::indexes(facts, out),
        (system::PG_CATALOG, "pg_sequence") => relations::sequences(facts, out),
        (system::PG_CATALOG, "pg_sequences") => relations::sequence_view(facts, out),
        (system::PG_CATALOG, "planaria_sequences") => relations::sequence_rows(facts, out),
        (system::PG_CATALOG, "pg_timezone_names") => server::time_zones(facts, out),
        (system::PG_CATALOG, "pg_timezone_abbrevs") => server::time_zone_abbreviations(out),
        (system::PG_CATALOG, "pg_stat_database") => server::database_statistics(facts, out),
        (system::PG_CATALOG, "pg_rewrite") => relations::rules(facts, out),
        (system::PG_CATALOG, "pg_cast") => types::casts(facts, out),
        (system::PG_CATALOG, "pg_type") => {
            types::types(facts, out);
            extensions::types(facts, out);
        }
        (system::PG_CATALOG, "pg_extension") => extensions::extensions(facts, out),
        (system::PG_CATALOG, "pg_available_extensions") => extensions::available(facts, out),
        (system::PG_CATALOG, "pg_available_extension_versions") => extensions::versions(facts, out),
        (system::PG_CATALOG, "pg_statistic_ext") => statistics::statistics(facts, out),
        (system::PG_CATALOG, "pg_enum") => types::labels(facts, out),
        (system::PG_CATALOG, "pg_constraint") => constraints::constraints(facts, out),
        (system::PG_CATALOG, "pg_trigger") => triggers::triggers(facts, out),
        (system::PG_CATALOG, "pg_partitioned_table") => partitions::partitioned_tables(facts, out),
        (system::PG_CATALOG, "pg_inherits") => partitions::inherits(facts, out),
        (system::PG_CATALOG, "pg_policy") => policies::policies(facts, out),
        (system::PG_CATALOG, "pg_depend") => constraints::depends(facts, out),
        (system::PG_CATALOG, "pg_description") => comments(&facts.catalog.comments(), false, out),
        (system::PG_CATALOG, "pg_shdescription") => comments(&facts.catalog.shared_comments(), true, out),
        (system::PG_CATALOG, "pg_aggregate") => routines::aggregates(facts, out),
        (system::PG_CATALOG, "pg_proc") => routines::routines(facts, out),
        (system::PG_CATALOG, "pg_default_acl") => privileges::defaults(facts, out),
        (system::PG_CATALOG, "pg_namespace") => server::namespaces(facts, out),
        (system::PG_CATALOG, "pg_database") => server::databases(facts, out),
        (system::PG_CATALOG, "pg_authid") => server::roles(facts, out),
        (system::PG_CATALOG, "pg_auth_members") => server::members(facts, out),
        (system::PG_CATALOG, "pg_db_role_setting") => server::defaults(facts, out),
        (system::PG_CATALOG, "pg_settings") => server::settings(facts, out),
        (system::PG_CATALOG, "pg_stat_statements") => server::statements(facts, out),
        (system::PG_CATALOG, "pg_prepared_statements") => server::named_statements(facts, out),
        (system::PG_CATALOG, "pg_cursors") => server::cursors(facts, out),
        (system::PG_CATALOG, "pg_stat_activity") => server::activity(facts, out),
        (system::PG_CATALOG, "planaria_memory") => server::memory(facts, out),
        (system::PG_CATALOG, "planaria_restart") => server::restart(facts, out),
        (system::PG_CATALOG, "planaria_snapshots") => server::snapshots(facts, out),
        (system::PG_CATALOG, "planaria_transactions") => server::outcomes(facts, out),
        (system::PG_CATALOG, "pg_locks") => server::locks(facts, out),
        (system::PG_CATALOG, "pg_stat_all_tables") => server::table_statistics(facts, out),
        (system::INFORMATION_SCHEMA, "table_privileges") => grants::of_tables(facts, Shown::All, out),
        (system::INFORMATION_SCHEMA, "role_table_grants") => grants::of_tables(facts, Shown::OfRoles, out),
        (system::INFORMATION_SCHEMA, "column_privileges") => grants::of_columns(facts, Shown::All, out),
        (system::INFORMATION_SCHEMA, "role_column_grants") => grants::of_columns(facts, Shown::OfRoles, out),
        (system::INFORMATION_SCHEMA, "view_column_usage") => relations::columns_of_views(facts, out),
        _ => {}
    }
    rows
}

/// `pg_description`, or `pg_shdescription`, which knows no columns.
fn comments(comments: &[Comment<'_>], shared: bool, rows: &mut Rows) {
    for comment in comments {
        rows.add(|r| {
            r.set("classoid", comment.class).set("objoid", comment.object).set("description", comment.text);
            if !shared {
                r.set("objsubid", comment.column);
            }
        });
    }
}

/// Hands on the rows of a relation, of each the columns that are wanted.
pub(crate) fn push_rows(
    facts: &Facts<'_>,
    relation: SystemId,
    columns: &[ColumnId],
    heap: &mut Heap,
    push: &mut dyn FnMut(&[Slot]) -> Result<()>,
) -> Result<()> {
    let relation = system::by_id(relation);
    let mut slots = Vec::with_capacity(columns.len());
    let mut hand_on = |row: &mut dyn Iterator<Item = &Datum>| {
        slots.clear();
        for value in row {
            slots.push(heap.push_datum(value)?);
        }
        push(&slots)
    };
    for row in system::fixed_rows(relation.id) {
        hand_on(&mut columns.iter().map(|column| &row[column.index()]))?;
    }
    for row in &make(relation, columns, facts).rows {
        hand_on(&mut row.iter())?;
    }
    Ok(())
}
