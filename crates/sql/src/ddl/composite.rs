//! CREATE, ALTER and DROP of composite types: tables that never have a row, and that no statement finds as relations.

use super::alter::Rewrite;
use super::depend::References;
use super::table::column_type;
use super::{Change, NewColumn, names};
use crate::lower::Declared;
use planaria_base::{ColumnId, Error, Result, SchemaId, SqlState, TableId, Type};
use planaria_catalog::oids;
use planaria_catalog::{ColumnDefault, IndexKey, Object, ObjectKind, Table, key};
use planaria_syntax::ast::{AlterTable, ColumnDef, Constraint, ConstraintKind, Name};

/// 42704 of `serial` and its like, of which the integers are those, where a type has to stand.
pub(crate) fn no_serial(of: &Type) -> Error {
    let name = match of {
        Type::Int8 => "bigserial",
        Type::Int2 => "smallserial",
        _ => "serial",
    };
    Error::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}

impl Change {
    pub(super) fn create_composite(&mut self, name: &Name, attributes: &[ColumnDef]) -> Result<&'static str> {
        let new = names::new(&self.catalog, name)?;
        self.require_create_of(name, new.0)?;
        self.check_type_name(new)?;
        if self.catalog.relation_exists(new) {
            return Err(names::relation_exists(new.1));
        }
        let id = self.new_table(new.0, new.1);
        self.table_mut(id).composite = true;
        self.table_mut(id).rights = match self.actor.plain_composites {
            true => planaria_catalog::Rights::of(self.actor.user),
            false => self.new_rights(ObjectKind::Type, new.0),
        };
        for def in attributes {
            self.refuse_serial(def)?;
            let (column, _) = self.column(id, def)?;
            if self.table_mut(id).column(&def.name).is_some() {
                let message = format!("column \"{}\" specified more than once", def.name);
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(def.position));
            }
            self.table_mut(id).columns.push(column);
        }
        super::table::check_columns(attributes.len()).map_err(|e| e.at(name.position))?;
        self.finish_table(id, Vec::new())?;
        Ok("CREATE TYPE")
    }

    /// A table will be in that schema, by another name if one is given: its row type keeps its OID, by which columns are of it.
    pub(super) fn row_type_moved(&mut self, id: TableId, (schema, name): (SchemaId, Option<&str>)) {
        let table = self.catalog.table_by_id(id);
        let from = key(table.schema, &table.name);
        let to = key(schema, name.unwrap_or(&table.name));
        self.catalog.oids.rename(&oids::Object::RowType(from.clone()), oids::Object::RowType(to.clone()));
        self.catalog.oids.rename(&oids::Object::RowTypeArray(from), oids::Object::RowTypeArray(to));
    }

    /// A column that is of the table's row type, or has a value of it somewhere.
    fn column_of_rows(&self, id: TableId) -> Option<(TableId, ColumnId)> {
        let of_it = |ty: &Type| ty.row_of().is_some_and(|of| of.table == id);
        let find = |arrays: bool| {
            let wanted = |ty: &Type| matches!(ty, Type::Array(_)) == arrays && of_it(ty);
            self.catalog.tables.iter().flatten().filter(|table| table.id != id).find_map(|table| {
                let (column, _) = table.visible().find(|(_, c)| wanted(&c.ty))?;
                // What is in a type that nothing is of is in no row.
                if table.composite { self.column_of_rows(table.id) } else { Some((table.id, column)) }
            })
        };
        find(true).or_else(|| find(false))
    }

    /// 0A000 for a change of a table, or of a composite type, that the rows that columns have as values cannot follow.
    pub(super) fn check_rows_as_values(&self, id: TableId, action: &AlterTable) -> Result<()> {
        let changes_rows = matches!(
            action,
            AlterTable::AddColumn { .. }
                | AlterTable::DropColumn { .. }
                | AlterTable::SetType { .. }
                | AlterTable::RenameColumn { .. }
        );
        let Some((user, column)) = changes_rows.then(|| self.column_of_rows(id)).flatten() else {
            return Ok(());
        };
        let table = self.catalog.table_by_id(id);
        match action {
            AlterTable::RenameColumn { from, .. } => {
                return self.refuse_field_in_texts(from, &table.name, "renamed");
            }
            AlterTable::DropColumn { name, .. } => {
                return self.refuse_field_in_texts(name, &table.name, "dropped");
            }
            // Its value in rows that are there is NULL, as in PostgreSQL.
            AlterTable::AddColumn { column, .. } if self.is_null_at_first(column)? => return Ok(()),
            _ => {}
        }
        let (what, its) = if table.composite { ("type", "it") } else { ("table", "its row type") };
        let user = self.catalog.table_by_id(user);
        let message = format!(
            "cannot alter {what} \"{}\" because column \"{}.{}\" uses {its}",
            table.name,
            user.name,
            user.columns[column.index()].name
        );
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
    }

    /// Whether a new column is NULL in all rows: it has no default, is not computed, and is of no domain.
    fn is_null_at_first(&self, def: &ColumnDef) -> Result<bool> {
        let (Declared { domain, .. }, serial) = column_type(&self.catalog, &def.name, &def.ty)?;
        let says_what = |c: &Constraint| {
            use ConstraintKind::{Default, GeneratedStored, Identity};
            matches!(c.kind, Default { .. } | GeneratedStored { .. } | Identity { .. })
        };
        Ok(!serial && domain.is_none() && !def.constraints.iter().any(says_what))
    }

    /// The tables that have rows of a table or type as values, as they are before it gets or loses columns.
    pub(super) fn holders_of_rows(&self, id: TableId, actions: &[AlterTable]) -> Vec<Table> {
        let changes =
            |a: &AlterTable| matches!(a, AlterTable::AddColumn { .. } | AlterTable::DropColumn { .. });
        if !actions.iter().any(changes) || self.column_of_rows(id).is_none() {
            return Vec::new();
        }
        let has_rows = |table: &Table| {
            let some = table.columns.iter().any(|c| c.ty.row_of().is_some());
            some && !table.composite && table.partition.is_none() && table.id != id
        };
        let all = self.catalog.tables.iter().flatten();
        all.filter(|table| has_rows(table)).map(|table| Table::clone(table)).collect()
    }

    /// The rows that columns have as values get, and lose, what the table or type has got and lost: rows that have such
    /// columns are written anew.
    pub(super) fn reshape_rows_as_values(
        &mut self,
        id: TableId,
        rewrite: &Rewrite,
        stored: Vec<Table>,
    ) -> Result<()> {
        if stored.is_empty() {
            return Ok(());
        }
        let table = self.catalog.table_by_id(id);
        for (column, source) in table.columns.iter().zip(&rewrite.columns).filter(|(c, _)| !c.hidden) {
            let before = rewrite.stored.column(&column.name);
            if before.is_some_and(|(place, _)| !matches!(source, NewColumn::Keep(from) if *from == place)) {
                // A row's fields go on by their names.
                let message = format!("attribute \"{}\" cannot be dropped and added at once", column.name);
                return Err(Error::unsupported(message, "Do it in two statements."));
            }
        }
        self.keep_row_types();
        for table in stored {
            let mut rewrite = Rewrite::of(&table);
            let now = self.catalog.table_by_id(table.id).columns.clone();
            for (place, (was, now)) in table.columns.iter().zip(&now).enumerate() {
                if was.ty != now.ty {
                    rewrite.reshape(place, &was.name, now.ty.clone());
                }
            }
            if rewrite.needed {
                self.finish_alter(table.id, rewrite)?;
            }
        }
        Ok(())
    }

    /// 0A000 where a text that is kept names a field: it would not follow.
    fn refuse_field_in_texts(&self, field: &str, of: &str, what: &str) -> Result<()> {
        let names_it = |texts: &mut dyn Iterator<Item = &str>| -> Result<bool> {
            for text in texts {
                if References::of_text(text)?.fields.contains(field) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        let message = || format!("attribute \"{field}\" of \"{of}\" cannot be {what}");
        let hint = "Drop what names it, make the change, create it again.";
        let refused = |what: String| {
            let detail = format!("{what} may name it, and is kept as text.");
            Err(Error::unsupported(message(), hint).with_detail(detail))
        };
        for table in self.catalog.tables.iter().flatten() {
            let columns = table.columns.iter().filter_map(|c| match &c.default {
                ColumnDefault::Expression(text) | ColumnDefault::Generated(text) => Some(text.as_str()),
                _ => None,
            });
            let checks = table.checks.iter().map(|c| c.expression.as_str());
            let triggers = table.triggers.iter().filter_map(|t| t.condition.as_deref());
            let policies = table.policies.iter().flat_map(|p| p.texts()).map(String::as_str);
            let indexes = table.all_indexes().filter_map(|i| i.definition.as_ref());
            let indexes = indexes.flat_map(|d| {
                let keys = d.keys.iter().filter_map(|key| match key {
                    IndexKey::Expression(text) => Some(text.as_str()),
                    IndexKey::Column(_) => None,
                });
                keys.chain(d.predicate.as_deref())
            });
            if names_it(&mut columns.chain(checks).chain(triggers).chain(policies).chain(indexes))? {
                return refused(format!("Table \"{}\"", table.name));
            }
        }
        for ty in self.catalog.types.iter().flatten().filter(|_| !self.actor.internal) {
            let Some(domain) = ty.domain() else { continue };
            let checks = domain.checks.iter().map(|c| c.expression.as_str());
            if names_it(&mut checks.chain(domain.default.as_deref()))? {
                return refused(format!("Domain \"{}\"", ty.name));
            }
        }
        for view in self.catalog.views.values() {
            if References::of_view(view)?.fields.contains(field) {
                return refused(format!("View \"{}\"", view.name));
            }
        }
        Ok(())
    }

    /// 42P16 where a row would be a part of itself.
    pub(super) fn check_not_in_itself(&self, id: TableId, ty: &Type) -> Result<()> {
        let Some(of) = ty.row_of() else { return Ok(()) };
        if of.table != id {
            let mut columns = self.catalog.table_by_id(of.table).visible();
            return columns.try_for_each(|(_, column)| self.check_not_in_itself(id, &column.ty));
        }
        let message = format!("composite type {} cannot be made a member of itself", of.name);
        Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message))
    }

    /// 42704: `serial` is no type.
    fn refuse_serial(&self, def: &ColumnDef) -> Result<()> {
        let planaria_syntax::ast::TypeNameKind::Serial(of) = &def.ty.kind else { return Ok(()) };
        Err(no_serial(of).at(def.ty.position))
    }

    /// The composite type of that name, if there is one and the actor owns it.
    pub(super) fn owned_composite(&self, name: &Name) -> Result<Option<TableId>> {
        let wanted = self.catalog.located(names::wanted(&self.catalog, name)?);
        let Some(found) = self.catalog.composite(wanted) else { return Ok(None) };
        self.catalog.require_owner(self.actor.user, &Object::Table(found.id))?;
        Ok(Some(found.id))
    }

    pub(super) fn alter_composite(&mut self, name: &Name, actions: &[AlterTable]) -> Result<&'static str> {
        let Some(id) = self.owned_composite(name)? else {
            let wanted = self.catalog.located(names::wanted(&self.catalog, name)?);
            if !self.catalog.relation_exists(wanted) {
                return Err(names::no_relation(name));
            }
            let message = format!("\"{}\" is not a composite type", wanted.local);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        };
        let mut rewrite = Rewrite::of(self.catalog.table_by_id(id));
        let holders = self.holders_of_rows(id, actions);
        for action in actions {
            if let AlterTable::AddColumn { column, .. } = action {
                self.refuse_serial(column)?;
            }
            self.action(id, action, &mut rewrite)?;
        }
        self.reshape_rows_as_values(id, &rewrite, holders)?;
        self.finish_alter(id, rewrite)?;
        Ok("ALTER TYPE")
    }

    /// Renames a composite type.
    pub(super) fn rename_composite(&mut self, id: TableId, to: &str) -> Result<()> {
        self.check_type_name((self.catalog.table_by_id(id).schema, to))?;
        self.rename_table(id, to)
    }
}
