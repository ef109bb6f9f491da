//! CREATE, ALTER and DROP STATISTICS: definitions that are shown and dumped. Plans do not depend on them.

use super::constraint::check_key;
use super::depend::References;
use super::index::printed;
use super::{Change, lowering, names};
use crate::lower::qualified_expression;
use planaria_base::{Error, Result, SchemaId, SqlState, TableId, Type};
use planaria_catalog::{Commented, Object, STATISTICS_KINDS, Statistics, Table, key, no_schema, oids};
use planaria_syntax::ast::{IndexItem, Name, Position, StatisticsAlteration, StatisticsChange};

/// Columns and expressions of one object.
const ITEMS_MAX: usize = 8;

fn missing(name: &Name) -> Error {
    let message = format!("statistics object \"{}\" does not exist", name.parts.join("."));
    Error::new(SqlState::UNDEFINED_OBJECT, message)
}

fn exists(name: &str) -> Error {
    Error::new(SqlState::DUPLICATE_OBJECT, format!("statistics object \"{name}\" already exists"))
}

/// What CREATE STATISTICS says of its items.
#[derive(Default)]
struct Items {
    columns: Vec<String>,
    expressions: Vec<String>,
}

impl Change {
    pub(super) fn change_statistics(&mut self, change: &StatisticsChange) -> Result<&'static str> {
        match change {
            StatisticsChange::Create { name, if_not_exists, kinds, items, tables } => {
                self.create_statistics(name, *if_not_exists, kinds, items, tables)
            }
            StatisticsChange::Alter { name, if_exists, change } => {
                self.alter_statistics(name, *if_exists, change)
            }
            StatisticsChange::Drop { names, if_exists } => self.drop_statistics(names, *if_exists),
        }
    }

    fn create_statistics(
        &mut self,
        name: &Name,
        if_not_exists: bool,
        kinds: &[String],
        items: &[(IndexItem, Position)],
        tables: &[Name],
    ) -> Result<&'static str> {
        const TAG: &str = "CREATE STATISTICS";
        let [table] = tables else {
            let message = "only a single relation is allowed in CREATE STATISTICS";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        };
        let table = self.table_of_statistics(table)?;
        for (item, _) in items {
            if let IndexItem::Expression(expr, _) = item {
                lowering::statistics_expression(&self.catalog, &table, expr)?;
            }
        }
        self.catalog.require_owner(self.actor.user, &Object::Table(table.id))?;
        let (schema, local) = names::new(&self.catalog, name).map_err(unplaced)?;
        self.require_create_of(name, schema)?;
        if self.catalog.statistics((schema, local).into()).is_some() {
            if !if_not_exists {
                return Err(exists(local));
            }
            self.skip_existing(&exists(local));
            return Ok(TAG);
        }
        let Items { columns, expressions } = self.items_of_statistics(&table, items)?;
        let mut letters = String::new();
        if columns.is_empty() && expressions.len() == 1 && !kinds.is_empty() {
            let message =
                "when building statistics on a single expression, statistics kinds may not be specified";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        for kind in kinds {
            let Some((letter, _)) = STATISTICS_KINDS.iter().find(|(_, word)| word == kind) else {
                let message = format!("unrecognized statistics kind \"{kind}\"");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            };
            letters.push(*letter);
        }
        if columns.len() == 1 && expressions.is_empty() {
            let message = "extended statistics require at least 2 columns";
            return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
        }
        for (list, what) in [(&columns, "column name"), (&expressions, "expression")] {
            if (1..list.len()).any(|i| list[..i].contains(&list[i])) {
                let message = format!("duplicate {what} in statistics definition");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
            }
        }
        let owner = self.actor.user;
        let (name, comment, target) = (local.to_owned(), None, -1);
        let new = Statistics { name, schema, owner, kinds: letters, columns, expressions, target, comment };
        self.table_mut(table.id).statistics.push(new);
        Ok(TAG)
    }

    /// The table that statistics are to be of.
    fn table_of_statistics(&self, name: &Name) -> Result<Table> {
        let local = names::own_relation(&self.catalog, name).map_err(unplaced)?;
        if let Some(table) = self.catalog.table(local) {
            return Ok(table.clone());
        }
        if !self.catalog.relation_exists(local) {
            return Err(unplaced(names::no_relation(name)));
        }
        let what = if self.catalog.view(local).is_some() {
            "views"
        } else if self.catalog.index(local).is_some() {
            "indexes"
        } else if self.catalog.sequence(local).is_some() {
            "sequences"
        } else {
            "composite types"
        };
        let message = format!("cannot define statistics for relation \"{}\"", local.local);
        Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
            .with_detail(format!("This operation is not supported for {what}.")))
    }

    fn items_of_statistics(&self, table: &Table, items: &[(IndexItem, Position)]) -> Result<Items> {
        if items.len() > ITEMS_MAX {
            let message = format!("cannot have more than {ITEMS_MAX} columns in statistics");
            return Err(Error::new(SqlState::TOO_MANY_COLUMNS, message));
        }
        let unordered =
            |ty: &Type| matches!(check_key(ty, 0), Err(e) if e.sqlstate() == SqlState::UNDEFINED_OBJECT);
        let refused = |what: String, ty: &Type| {
            let message = format!(
                "{what} because its type {} has no default btree operator class",
                crate::lower::type_in_message(&self.catalog.as_shown(ty))
            );
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        };
        let mut all = Items::default();
        for (item, _) in items {
            match item {
                IndexItem::Column(name) => {
                    let Some((_, column)) = table.column(name) else {
                        if self.free_name(name).is_err() {
                            let message = "statistics creation on system columns is not supported";
                            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
                        }
                        let message = format!("column \"{name}\" does not exist");
                        return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
                    };
                    if unordered(&column.ty) {
                        return Err(refused(
                            format!("column \"{name}\" cannot be used in statistics"),
                            &column.ty,
                        ));
                    }
                    all.columns.push(name.clone());
                }
                IndexItem::Expression(expr, text) => {
                    let ty = lowering::statistics_expression(&self.catalog, table, expr)?;
                    if items.len() > 1 && unordered(&ty) {
                        let what = "expression cannot be used in multivariate statistics";
                        return Err(refused(what.to_owned(), &ty));
                    }
                    all.expressions.push(qualified_expression(&self.catalog, &printed(expr, text))?);
                }
            }
        }
        Ok(all)
    }

    /// The table that an object is of, and its place there.
    fn found_statistics(&self, name: &Name) -> Result<(TableId, usize)> {
        let wanted = names::wanted(&self.catalog, name).map_err(|_| missing(name))?;
        let (table, found) = self.catalog.statistics(wanted).ok_or_else(|| missing(name))?;
        let place = table.statistics.iter().position(|of| std::ptr::eq(of, found));
        place.map(|place| (table.id, place)).ok_or_else(|| missing(name))
    }

    /// The same where the actor owns it.
    fn owned_statistics(&self, name: &Name) -> Result<(TableId, usize)> {
        let (table, place) = self.found_statistics(name)?;
        let of = &self.catalog.table_by_id(table).statistics[place];
        if self.is_superuser() || self.catalog.has_privileges_of(self.actor.user, of.owner) {
            return Ok((table, place));
        }
        let message = format!("must be owner of statistics object {}", name.parts.join("."));
        Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message))
    }

    fn alter_statistics(
        &mut self,
        name: &Name,
        if_exists: bool,
        change: &StatisticsAlteration,
    ) -> Result<&'static str> {
        const TAG: &str = "ALTER STATISTICS";
        let (table, place) = match self.owned_statistics(name) {
            Err(error) if if_exists && error.sqlstate() == SqlState::UNDEFINED_OBJECT => {
                self.skip_missing(&error);
                return Ok(TAG);
            }
            found => found?,
        };
        let mut new = self.catalog.table_by_id(table).statistics[place].clone();
        let before = key(new.schema, &new.name);
        match change {
            StatisticsAlteration::Rename(to) => {
                self.require_create(new.schema)?;
                self.refuse_statistics(new.schema, to)?;
                new.name.clone_from(to);
            }
            StatisticsAlteration::Schema(to) => {
                let schema = self.catalog.schema(to).ok_or_else(|| no_schema(to))?;
                self.require_create(schema)?;
                if schema != new.schema {
                    self.refuse_statistics(schema, &new.name)?;
                }
                new.schema = schema;
            }
            StatisticsAlteration::Owner(role) => {
                let role = self.role_of(role)?;
                if !self.is_superuser() && role != new.owner {
                    if !self.catalog.is_member_of(self.actor.user, role) {
                        let message = format!("must be member of role \"{}\"", self.catalog.role_name(role));
                        return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
                    }
                    self.require_create_by(role, new.schema)?;
                }
                new.owner = role;
            }
            StatisticsAlteration::Target(target) => {
                if *target < -1 {
                    let message = format!("statistics target {target} is too low");
                    return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
                }
                let most = 10_000;
                if *target > most {
                    let message = format!("lowering statistics target to {most}");
                    self.warning(SqlState::INVALID_PARAMETER_VALUE, message);
                }
                new.target = i32::try_from((*target).min(most)).unwrap_or(-1);
            }
        }
        let after = key(new.schema, &new.name);
        if before != after {
            let object = |key| oids::Object::Statistics(table, key);
            self.catalog.oids.rename(&object(before), object(after));
        }
        self.table_mut(table).statistics[place] = new;
        Ok(TAG)
    }

    fn refuse_statistics(&self, schema: SchemaId, name: &str) -> Result<()> {
        if self.catalog.statistics((schema, name).into()).is_none() {
            return Ok(());
        }
        let message = format!(
            "statistics object \"{name}\" already exists in schema \"{}\"",
            self.catalog.schema_name(schema)
        );
        Err(Error::new(SqlState::DUPLICATE_OBJECT, message))
    }

    fn drop_statistics(&mut self, names: &[Name], if_exists: bool) -> Result<&'static str> {
        let mut found = Vec::new();
        for name in names {
            match self.found_statistics(name) {
                Err(error) if if_exists => self.skip_missing(&error),
                Err(error) => return Err(error),
                Ok((table, place)) => {
                    // Who owns the table may drop them, too.
                    if !self.catalog.owns(self.actor.user, &Object::Table(table)) {
                        self.owned_statistics(name)?;
                    }
                    let of = &self.catalog.table_by_id(table).statistics[place];
                    found.push((table, key(of.schema, &of.name)));
                }
            }
        }
        for (table, dropped) in found {
            self.table_mut(table).statistics.retain(|of| key(of.schema, &of.name) != dropped);
        }
        Ok("DROP STATISTICS")
    }

    /// What COMMENT ON STATISTICS is about.
    pub(super) fn commented_statistics(&self, name: &Name) -> Result<Commented> {
        let (table, place) = self.owned_statistics(name)?;
        let of = &self.catalog.table_by_id(table).statistics[place];
        Ok(Commented::Statistics(table, key(of.schema, &of.name)))
    }

    /// Changes the statistics of all tables; keeps those of which that is answered.
    pub(super) fn change_all_statistics(&mut self, mut change: impl FnMut(&mut Statistics) -> bool) {
        let with: Vec<TableId> =
            self.catalog.tables.iter().flatten().filter(|t| !t.statistics.is_empty()).map(|t| t.id).collect();
        for id in with {
            self.table_mut(id).statistics.retain_mut(&mut change);
        }
    }

    /// A column of a table goes, and the statistics of it.
    pub(super) fn forget_statistics(&mut self, id: TableId, column: &str) -> Result<()> {
        let mut gone = Vec::new();
        for of in &self.catalog.table_by_id(id).statistics {
            let mut names_it = of.columns.iter().any(|own| own == column);
            for text in &of.expressions {
                names_it |= References::of_text(text)?.columns.contains(column);
            }
            if names_it {
                gone.push(key(of.schema, &of.name));
            }
        }
        if !gone.is_empty() {
            self.table_mut(id).statistics.retain(|of| !gone.contains(&key(of.schema, &of.name)));
        }
        Ok(())
    }

    /// LIKE .. INCLUDING STATISTICS: those of one table become those of another, by names of its own.
    pub(super) fn copy_statistics(&mut self, source: TableId, id: TableId) {
        for of in self.catalog.table_by_id(source).statistics.clone() {
            let table = self.catalog.table_by_id(id);
            let in_order = of.columns_in_order(self.catalog.table_by_id(source));
            let labels = in_order.into_iter().map(|(_, name)| name.to_owned());
            let labels: Vec<String> =
                labels.chain(of.expressions.iter().map(|_| "expr".to_owned())).collect();
            let (schema, owner) = (table.schema, self.actor.user);
            let taken = |name: &str| self.catalog.statistics((schema, name).into()).is_some();
            let name = names::statistics(&table.name, &labels, taken);
            let copy = Statistics { name, schema, owner, comment: None, target: -1, ..of };
            self.table_mut(id).statistics.push(copy);
        }
    }
}

/// PostgreSQL gives no position here.
fn unplaced(mut error: Error) -> Error {
    error.fields_mut().position = None;
    error
}
