//! What is said of how tables, columns and indexes are stored: storage parameters, statistics targets, STORAGE, COMPRESSION,
//! REPLICA IDENTITY. It has no effect here; it is kept as PostgreSQL keeps it, to be shown and dumped, and what PostgreSQL
//! refuses is refused. Logs of former versions have what nobody looked at: it is passed over.

use super::{Change, names};
use planaria_base::{Error, Result, SqlState, TableId, Type};
use planaria_catalog::{ColumnTold, IndexKey, Object, ReplicaIdentity, TableTold};
use planaria_syntax::ast::{AlterIndex, Name, Parameter, Told};

/// The values that a parameter takes.
#[derive(Clone, Copy)]
enum Takes {
    Bool,
    Int(i64, i64),
    Real(f64, f64),
    One(&'static [&'static str], &'static str),
}

use Takes::{Bool, Int, One, Real};

const MAX: i64 = i32::MAX as i64;
const CLEANUP: Takes = One(
    &["auto", "on", "off", "true", "false", "yes", "no", "1", "0"],
    "Valid values are \"on\", \"off\", and \"auto\".",
);

/// Of tables, and of what is stored beside them (`toast.`).
const OF_BOTH: [(&str, Takes); 17] = [
    ("autovacuum_enabled", Bool),
    ("autovacuum_vacuum_threshold", Int(0, MAX)),
    ("autovacuum_vacuum_insert_threshold", Int(-1, MAX)),
    ("autovacuum_vacuum_cost_limit", Int(1, 10_000)),
    ("autovacuum_vacuum_cost_delay", Real(-1.0, 100.0)),
    ("autovacuum_vacuum_scale_factor", Real(0.0, 100.0)),
    ("autovacuum_vacuum_insert_scale_factor", Real(0.0, 100.0)),
    ("autovacuum_freeze_min_age", Int(0, 1_000_000_000)),
    ("autovacuum_freeze_max_age", Int(100_000, 2_000_000_000)),
    ("autovacuum_freeze_table_age", Int(0, 2_000_000_000)),
    ("autovacuum_multixact_freeze_min_age", Int(0, 1_000_000_000)),
    ("autovacuum_multixact_freeze_max_age", Int(10_000, 2_000_000_000)),
    ("autovacuum_multixact_freeze_table_age", Int(0, 2_000_000_000)),
    ("log_autovacuum_min_duration", Int(-1, MAX)),
    ("vacuum_index_cleanup", CLEANUP),
    ("vacuum_truncate", Bool),
    ("toast_tuple_target", Int(128, 8160)),
];

const OF_TABLES: [(&str, Takes); 5] = [
    ("fillfactor", Int(10, 100)),
    ("autovacuum_analyze_threshold", Int(0, MAX)),
    ("autovacuum_analyze_scale_factor", Real(0.0, 100.0)),
    ("parallel_workers", Int(0, 1024)),
    ("user_catalog_table", Bool),
];

const OF_COLUMNS: [(&str, Takes); 2] =
    [("n_distinct", Real(-1.0, f64::MAX)), ("n_distinct_inherited", Real(-1.0, f64::MAX))];

/// Of indexes of a method.
fn of_indexes(method: &str) -> &'static [(&'static str, Takes)] {
    const FILL: (&str, Takes) = ("fillfactor", Int(10, 100));
    match method {
        "btree" => &[FILL, ("deduplicate_items", Bool)],
        "hash" | "spgist" => &[FILL],
        "gist" => {
            const BUFFERING: Takes = One(
                &["auto", "on", "off", "true", "false", "yes", "no", "1", "0"],
                "Valid values are \"on\", \"off\", and \"auto\".",
            );
            &[FILL, ("buffering", BUFFERING)]
        }
        "gin" => &[("fastupdate", Bool), ("gin_pending_list_limit", Int(64, MAX))],
        "brin" => &[("pages_per_range", Int(1, 131_072)), ("autosummarize", Bool)],
        _ => &[],
    }
}

fn invalid(message: String) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// 22023 for a value that a parameter does not take.
fn check(name: &str, value: &str, takes: Takes) -> Result<()> {
    let of_kind = |kind: &str| Err(invalid(format!("invalid value for {kind} option \"{name}\": {value}")));
    let bounds = |min: String, max: String| {
        let detail = format!("Valid values are between \"{min}\" and \"{max}\".");
        Err(invalid(format!("value {value} out of bounds for option \"{name}\"")).with_detail(detail))
    };
    match takes {
        Bool => {
            let word = value.to_ascii_lowercase();
            let known = ["true", "false", "yes", "no", "on", "off"].iter().any(|known| {
                known.starts_with(&word)
                    && word.len() > usize::from(known.starts_with('o'))
                    && !word.is_empty()
            });
            if known || ["1", "0"].contains(&value) { Ok(()) } else { of_kind("boolean") }
        }
        Int(min, max) => match value.parse::<i64>() {
            Ok(n) if (min..=max).contains(&n) => Ok(()),
            Ok(n) if i32::try_from(n).is_ok() => bounds(min.to_string(), max.to_string()),
            _ => of_kind("integer"),
        },
        Real(min, max) => match value.parse::<f64>() {
            Ok(x) if (min..=max).contains(&x) => Ok(()),
            Ok(_) => bounds(format!("{min:.6}"), format!("{max:.6}")),
            Err(_) => of_kind("floating point"),
        },
        One(known, detail) => match known.iter().any(|known| known.eq_ignore_ascii_case(value)) {
            true => Ok(()),
            false => of_kind("enum").map_err(|e| e.with_detail(detail)),
        },
    }
}

/// Parameters after a change: those that are named leave their places, and stand behind the others if they are set.
fn changed(
    kept: &[String],
    parameters: &[Parameter],
    reset: bool,
    known: &dyn Fn(&str) -> Option<Takes>,
) -> Result<Vec<String>> {
    let named = |option: &String| {
        let name = option.split('=').next().unwrap_or_default();
        parameters.iter().any(|p| p.name == name)
    };
    let mut all: Vec<String> = kept.iter().filter(|option| !named(option)).cloned().collect();
    for (at, Parameter { name, value }) in parameters.iter().enumerate() {
        if reset {
            if value.is_some() {
                let message = "RESET must not include values for parameters";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            continue;
        }
        let value = value.as_deref().unwrap_or("true");
        match known(name) {
            Some(_) if parameters[..at].iter().any(|p| p.name == *name) => {
                return Err(invalid(format!("parameter \"{name}\" specified more than once")));
            }
            Some(takes) => check(name, value, takes)?,
            None => return Err(invalid(format!("unrecognized parameter \"{name}\""))),
        }
        all.push(format!("{name}={value}"));
    }
    Ok(all)
}

fn find(all: &[(&str, Takes)], name: &str) -> Option<Takes> {
    all.iter().find(|(known, _)| *known == name).map(|(_, takes)| *takes)
}

impl Change {
    /// Nobody looks at what a log says.
    fn unless_logged<T: Default>(&self, result: Result<T>) -> Result<T> {
        if self.actor.internal { Ok(result.unwrap_or_default()) } else { result }
    }

    /// WITH, SET and RESET of a table.
    pub(super) fn set_parameters(&mut self, id: TableId, given: &[Parameter], reset: bool) -> Result<()> {
        if given.is_empty() {
            return Ok(());
        }
        let table = self.catalog.table_by_id(id);
        let kept = table.told.as_ref().map_or(&[][..], |told| &told.options);
        let (mut own, mut outcome) = (Vec::new(), Ok(()));
        for parameter in given {
            match parameter.name.split_once('.') {
                // What is stored beside the rows: nothing is.
                Some(("toast", name)) if find(&OF_BOTH[..16], name).is_some() => {
                    if let (Some(takes), Some(value)) = (find(&OF_BOTH, name), &parameter.value) {
                        outcome = outcome.and(check(name, value, takes));
                    }
                }
                Some(("toast", name)) => {
                    outcome = outcome.and(Err(invalid(format!("unrecognized parameter \"{name}\""))));
                }
                Some((space, _)) => {
                    let message = format!("unrecognized parameter namespace \"{space}\"");
                    outcome = outcome.and(Err(invalid(message)));
                }
                None if parameter.name == "oids" && !reset => {
                    let on =
                        parameter.value.as_deref().is_none_or(|value| ["true", "on", "1"].contains(&value));
                    if on {
                        let message = "tables declared WITH OIDS are not supported";
                        outcome = outcome.and(Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)));
                    }
                }
                None => own.push(parameter.clone()),
            }
        }
        let none = table.is_partitioned();
        let known = |name: &str| match none {
            true => None,
            false => find(&OF_BOTH, name).or_else(|| find(&OF_TABLES, name)),
        };
        let options = outcome.and_then(|()| changed(kept, &own, reset, &known));
        let logged = self.actor.internal && options.is_err();
        let options = self.unless_logged(options)?;
        if !logged {
            self.tell_table(id, |told| told.options = options);
        }
        Ok(())
    }

    /// Changes what is said of a table; nothing is kept where that is nothing.
    fn tell_table(&mut self, id: TableId, change: impl FnOnce(&mut TableTold)) {
        let table = self.table_mut(id);
        let mut told = table.told.take().unwrap_or_default();
        change(&mut told);
        table.told = (*told != TableTold::default()).then_some(told);
    }

    /// REPLICA IDENTITY
    pub(super) fn set_identity_of_rows(&mut self, id: TableId, to: Option<&ReplicaIdentity>) -> Result<()> {
        let checked = match to {
            Some(ReplicaIdentity::Index(name)) => self.check_identity(id, name),
            _ => Ok(()),
        };
        let logged = self.actor.internal && checked.is_err();
        self.unless_logged(checked)?;
        if !logged {
            self.tell_table(id, |told| told.identity = to.cloned());
        }
        Ok(())
    }

    fn check_identity(&self, id: TableId, name: &str) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let wrong = |what: &str| {
            let message = format!("cannot use {what} index \"{name}\" as replica identity");
            Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message))
        };
        let Some(index) = table.shown_indexes().find(|index| index.name == *name) else {
            let found = self.catalog.index((table.schema, name));
            return Err(match found {
                Some(_) => {
                    let message = format!("\"{name}\" is not an index for table \"{}\"", table.name);
                    Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                }
                None => {
                    let message = format!("index \"{name}\" for table \"{}\" does not exist", table.name);
                    Error::new(SqlState::UNDEFINED_OBJECT, message)
                }
            });
        };
        if !index.is_unique() {
            return wrong("non-unique");
        }
        let definition = index.definition.as_ref();
        if definition.is_some_and(|d| d.keys.iter().any(|key| matches!(key, IndexKey::Expression(_)))) {
            return wrong("expression");
        }
        if definition.is_some_and(|d| d.predicate.is_some()) {
            return wrong("partial");
        }
        let nullable = |column: &&planaria_base::ColumnId| !table.columns[column.index()].not_null;
        if let Some(column) = index.columns.iter().find(nullable) {
            let message = format!(
                "index \"{name}\" cannot be used as replica identity because column \"{}\" is nullable",
                table.columns[column.index()].name
            );
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        Ok(())
    }

    /// ALTER COLUMN .. SET STATISTICS, STORAGE, COMPRESSION, (parameters)
    pub(super) fn tell_column(&mut self, id: TableId, column: &str, told: &Told) -> Result<()> {
        let changed = self.column_told(id, column, told);
        let logged = self.actor.internal && changed.is_err();
        let changed = self.unless_logged(changed)?;
        if !logged {
            let place = self.find_column(id, column)?;
            let column = &mut self.table_mut(id).columns[place.index()];
            column.told = (changed != ColumnTold::default()).then(|| Box::new(changed));
        }
        Ok(())
    }

    /// What is said of a column when it gets its type: 42804 and 0A000 where values of the type have no such thing. Nobody
    /// has looked at what logs say.
    pub(super) fn check_told(&self, ty: &Type, told: Option<&ColumnTold>) -> Result<()> {
        let Some(told) = told.filter(|_| !self.actor.internal) else { return Ok(()) };
        let shown = || crate::lower::type_in_message(&self.catalog.as_shown(ty));
        if told.collation.is_some() && !super::index::has_collation(ty) {
            let message = format!("collations are not supported by type {}", shown());
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        }
        let refused = |message: String| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        if told.compression.is_some() && is_plain(ty) {
            return refused(format!("column data type {} does not support compression", shown()));
        }
        Ok(())
    }

    /// 22023 for a method that there is not. Logs may have some, which were passed over.
    pub(super) fn check_compression(&self, ty: &Type, unknown: Option<&str>) -> Result<()> {
        match unknown.filter(|_| !self.actor.internal) {
            Some(_) if is_plain(ty) => {
                let ty = crate::lower::type_in_message(&self.catalog.as_shown(ty));
                let message = format!("column data type {ty} does not support compression");
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
            Some(word) => Err(invalid(format!("invalid compression method \"{word}\""))),
            None => Ok(()),
        }
    }

    /// A replica identity stands on columns that are never NULL.
    pub(super) fn check_identifies_not(&self, id: TableId, place: planaria_base::ColumnId) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let identity = table.told.as_ref().and_then(|told| told.identity.as_ref());
        let Some(ReplicaIdentity::Index(name)) = identity.filter(|_| !self.actor.internal) else {
            return Ok(());
        };
        match table.shown_indexes().find(|index| index.name == *name) {
            Some(index) if index.columns.contains(&place) => {
                let column = &table.columns[place.index()].name;
                let message = format!("column \"{column}\" is in index used as replica identity");
                Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message))
            }
            _ => Ok(()),
        }
    }

    /// A column has got another type: its collation is the one that was said with it.
    pub(super) fn retell(&mut self, id: TableId, column: &str, collation: Option<&str>) -> Result<()> {
        let place = self.find_column(id, column)?;
        if let Some(collation) = collation {
            let told = ColumnTold { collation: Some(collation.to_owned()), ..ColumnTold::default() };
            self.check_told(&self.catalog.table_by_id(id).columns[place.index()].ty.clone(), Some(&told))?;
        }
        let column = &mut self.table_mut(id).columns[place.index()];
        if column.told.is_none() && collation.is_none() {
            return Ok(());
        }
        let told = column.told.take().map(|told| *told).unwrap_or_default();
        let told =
            ColumnTold { collation: collation.map(str::to_owned), storage: None, compression: None, ..told };
        column.told = (told != ColumnTold::default()).then(|| Box::new(told));
        Ok(())
    }

    fn column_told(&mut self, id: TableId, column: &str, told: &Told) -> Result<ColumnTold> {
        let place = self.find_column(id, column)?;
        let column = &self.catalog.table_by_id(id).columns[place.index()];
        let mut all = column.told.as_deref().cloned().unwrap_or_default();
        match told {
            Told::Statistics(target) => all.statistics = self.statistics_target(*target)?,
            Told::Storage(word) => {
                let letter = ColumnTold::storage_letter(word);
                let Some(letter) = letter else {
                    return Err(invalid(format!("invalid storage type \"{word}\"")));
                };
                if letter != 'p' && is_plain(&column.ty) {
                    let ty = crate::lower::type_in_message(&self.catalog.as_shown(&column.ty));
                    let message = format!("column data type {ty} can only have storage PLAIN");
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                all.storage = Some(letter);
            }
            Told::Compression(word) => {
                let letter = ColumnTold::compression_letter(word);
                if letter.is_none() && word != "default" {
                    return Err(invalid(format!("invalid compression method \"{word}\"")));
                }
                if is_plain(&column.ty) && word != "default" {
                    let ty = crate::lower::type_in_message(&self.catalog.as_shown(&column.ty));
                    let message = format!("column data type {ty} does not support compression");
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                }
                all.compression = letter;
            }
            Told::Parameters(Some(parameters), reset) => {
                all.options = changed(&all.options, parameters, *reset, &|name| find(&OF_COLUMNS, name))?;
            }
            Told::Parameters(None, _) => {}
        }
        Ok(all)
    }

    /// A target of statistics; `None` for the default.
    fn statistics_target(&mut self, target: i64) -> Result<Option<i16>> {
        const TARGET_MAX: i16 = 10_000;
        if target < -1 {
            return Err(invalid(format!("statistics target {target} is too low")));
        }
        let kept = i16::try_from(target).unwrap_or(i16::MAX).min(TARGET_MAX);
        if i64::from(kept) < target {
            let message = format!("lowering statistics target to {TARGET_MAX}");
            self.warning(SqlState::INVALID_PARAMETER_VALUE, message);
        }
        Ok(Some(kept).filter(|kept| *kept >= 0))
    }

    /// The parameters of a new index.
    pub(super) fn index_parameters(&self, method: &str, given: &[Parameter]) -> Result<Vec<String>> {
        self.unless_logged(changed(&[], given, false, &|name| find(of_indexes(method), name)))
    }

    /// ALTER INDEX .. SET, RESET, ALTER COLUMN
    pub(super) fn alter_index(
        &mut self,
        name: &Name,
        if_exists: bool,
        action: &AlterIndex,
    ) -> Result<&'static str> {
        const TAG: &str = "ALTER INDEX";
        let wanted = names::own_relation(&self.catalog, name)?;
        let Some((table, at)) = self.catalog.index(wanted).map(|(table, at)| (table.id, at.index())) else {
            let missing = match self.catalog.relation_exists(wanted) {
                true => {
                    let message = format!("\"{wanted}\" is not an index");
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
                false => names::no_relation(name),
            };
            if !if_exists {
                let mut missing = missing;
                missing.fields_mut().position = None;
                return Err(missing);
            }
            self.skip_missing(&missing);
            return Ok(TAG);
        };
        self.catalog.require_owner(self.actor.user, &Object::Table(table))?;
        let index = self.catalog.table_by_id(table).index_at(at);
        match action {
            AlterIndex::Parameters(given, reset) => {
                let known = of_indexes(index.shown_method());
                let options = changed(&index.options, given, *reset, &|name| find(known, name))?;
                self.table_mut(table).index_at_mut(at).options = options;
            }
            AlterIndex::Statistics(number, target) => {
                let key = usize::try_from(*number - 1).ok().filter(|at| *at < index.key_count());
                let Some(key) = key else {
                    let local = &index.name;
                    let message = format!("column number {number} of relation \"{local}\" does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
                };
                let of = self.catalog.table_by_id(table);
                let said = of.said_keys(index).nth(key).unwrap_or(key);
                let computed = index
                    .definition
                    .as_ref()
                    .is_some_and(|d| matches!(d.keys.get(said), Some(IndexKey::Expression(_))));
                if !computed {
                    let column = of.key_text(index, said);
                    let message = format!(
                        "cannot alter statistics on non-expression column \"{column}\" of index \"{}\"",
                        index.name
                    );
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                        .with_hint("Alter statistics on table column instead."));
                }
                let target = self.statistics_target(*target)?;
                let statistics = &mut self.table_mut(table).index_at_mut(at).statistics;
                statistics.retain(|(of, _)| usize::from(*of) != key);
                statistics.extend(target.map(|target| (key as u16, target)));
            }
            AlterIndex::Tablespace => {}
        }
        Ok(TAG)
    }
}

/// Whether values of a type are always stored as they are.
pub(super) fn is_plain(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Bool
            | Type::Int2
            | Type::Int4
            | Type::Int8
            | Type::Float4
            | Type::Float8
            | Type::Date
            | Type::Timestamp
            | Type::TimestampTz
            | Type::Rounded(..)
            | Type::Time
            | Type::Interval
            | Type::Uuid
            | Type::Enum(_)
    )
}
