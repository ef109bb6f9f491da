//! ALTER COLUMN TYPE.
//!
//! An index that is computed from the column is dropped, and made again behind the last action of the statement, from the
//! values that the rows get.

use super::alter::{Rewrite, not_automatic};
use super::constraint::check_key;
use super::depend::References;
use super::index::{mentions, mentions_text};
use super::lowering::{self, Made, Place, RowExpr, node, restrict};
use super::table::column_type;
use super::unmade::class_of;
use super::{Change, NewColumn, reparse};
use crate::lower::{CastContext, Declared};
use planaria_base::{ColumnId, Error, Result, SqlState, TableId};
use planaria_catalog::{ColumnDefault, Index, IndexKey, Table};
use planaria_syntax::ast::{Expr, ExprKind, Name, TypeName, TypeNameKind};

/// An index that is made again: with the names of its columns, which may move until then.
pub(super) struct Anew {
    index: Index,
    keys: Vec<Option<String>>,
    included: Vec<String>,
}

impl Anew {
    fn of(table: &Table, index: &Index) -> Anew {
        let name = |c: &ColumnId| table.columns[c.index()].name.clone();
        let definition = index.definition.iter();
        let keys = definition.clone().flat_map(|d| &d.keys).map(|key| match key {
            IndexKey::Column(c) => Some(name(c)),
            IndexKey::Expression(_) => None,
        });
        let included = definition.flat_map(|d| &d.included).map(name).collect();
        Anew { index: index.clone(), keys: keys.collect(), included }
    }

    /// Whether it stands on the column.
    fn mentions(&self, name: &str) -> Result<bool> {
        let named = self.keys.iter().flatten().chain(&self.included).any(|column| column == name);
        Ok(named || mentions_text(&self.index, name)?)
    }
}

impl Rewrite {
    /// The column goes, and with it what was to be made again over it.
    pub(super) fn forget_anew(&mut self, column: &str) -> Result<()> {
        self.altered.retain(|(altered, _)| altered != column);
        let mut kept = Vec::new();
        for again in std::mem::take(&mut self.anew) {
            if !again.mentions(column)? {
                kept.push(again);
            }
        }
        self.anew = kept;
        Ok(())
    }
}

impl Change {
    pub(super) fn alter_type(
        &mut self,
        id: TableId,
        name: &str,
        ty: &TypeName,
        using: Option<&Expr>,
        rewrite: &mut Rewrite,
    ) -> Result<()> {
        let missing = |e| self.unknown_column(id, using).unwrap_or(e);
        let place = self.find_column(id, name).map_err(missing)?;
        let (Declared { ty, domain }, serial) = column_type(&self.catalog, name, ty)?;
        if serial {
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, "type \"serial\" does not exist"));
        }
        let ty = self.kept(ty);
        self.require_types(&ty, domain)?;
        self.check_not_in_itself(id, &ty)?;
        self.refuse_generated(id, name, "cannot alter type of a column used by a generated column")?;
        let column = &self.catalog.table_by_id(id).columns[place.index()];
        let stays = using.is_none() && column.ty == ty && column.domain == domain;
        // Logs of former versions have statements that alter a type twice.
        let altered = rewrite.altered.iter().filter(|(column, _)| column == name && self.actor.form > 0);
        let altered = altered.map(|(_, retyped)| *retyped).reduce(|one, other| one | other);
        if altered == Some(true) {
            let message = format!("cannot alter type of column \"{name}\" twice");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let mut anew = Vec::new();
        let around = self.catalog.table_by_id(id);
        for index in &around.indexes {
            let computed = !stays && !self.hidden_columns(id, index).is_empty();
            if !computed || !mentions(index, place, name)? {
                continue;
            }
            if index.exclusion.is_some() || around.is_partitioned() || around.partition.is_some() {
                let message =
                    format!("cannot alter type of a column that index \"{}\" is computed from", index.name);
                return Err(Error::unsupported(message, "Drop the index, make the change, create it again."));
            }
            anew.push(Anew::of(around, index));
        }
        if !stays {
            let retyped = column.ty != ty || column.domain != domain;
            rewrite.altered.push((name.to_owned(), retyped));
            self.retype_unmade(id, place, &ty)?;
        }
        let table = self.catalog.table_by_id(id).clone();
        let mentioned = super::schema::mention(&self.catalog, table.schema, &table.name);
        if let Some(trigger) = Change::triggers_on(&table, place)?.first() {
            let message = "cannot alter type of a column used in a trigger definition";
            let detail = format!(
                "trigger {} on table {} depends on column {}",
                trigger.name,
                table.name,
                format_args!("\"{name}\"")
            );
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail));
        }
        for view in self.catalog.views.values() {
            let refs = References::of_view(view)?;
            if refs.relations.contains(&mentioned) && (refs.star || refs.columns.contains(name)) {
                let message = "cannot alter type of a column used by a view or rule";
                let kind = if view.stored { "materialized view" } else { "view" };
                let detail = format!("rule _RETURN on {kind} {} depends on column \"{name}\"", view.name);
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_detail(detail));
            }
        }
        self.refuse_used_by_policies(&table, &mentioned, name)?;
        if stays && !matches!(rewrite.columns[place.index()], NewColumn::Computed(_)) {
            return Ok(());
        }
        let mut kept = table.indexes.iter().filter(|i| anew.iter().all(|again| again.index.name != i.name));
        if kept.any(|index| index.columns.contains(&place)) {
            check_key(&ty, 0)?;
        }
        let column = &table.columns[place.index()];
        let source = match (rewrite.columns[place.index()], using) {
            // Added by this same statement: its value is simply of another type.
            (NewColumn::Computed(n), None) if altered.is_none() => {
                rewrite.computed[n].ty = ty.clone();
                rewrite.computed[n].domain = domain;
                NewColumn::Computed(n)
            }
            (_, using) => {
                let own = ExprKind::Column(Name { parts: vec![name.to_owned()], position: 0 });
                let expr = using.cloned().unwrap_or_else(|| node(own));
                if using.is_some() {
                    restrict(&expr, Place::Transform)?;
                }
                let e = RowExpr {
                    expr,
                    kept: false,
                    ty: ty.clone(),
                    context: CastContext::Assignment,
                    domain,
                    column: name.to_owned(),
                    over_new: false,
                };
                let lowered = lowering::row_program(&self.catalog, &rewrite.stored, std::slice::from_ref(&e));
                lowered.map_err(|error| not_automatic(error, name, &ty, using.is_some()))?;
                rewrite.computed.push(e);
                NewColumn::Computed(rewrite.computed.len() - 1)
            }
        };
        if let ColumnDefault::Identity { sequence, .. } = &column.default {
            self.retype_sequence(*sequence, &ty)?;
        }
        if let ColumnDefault::Expression(text) = &column.default {
            let mut default = reparse::expression(text)?;
            if !self.actor.internal && matches!(default.kind, ExprKind::Null) {
                // It is one of the former type. A log may have statements of the time when nobody asked.
                let kind = TypeNameKind::Known(column.ty.base());
                let former = TypeName { kind, position: 0 };
                default = node(ExprKind::Cast(Box::new(default), former));
            }
            lowering::check_default(&self.catalog.at_home(), name, &ty, &default).map_err(|_| {
                let ty = crate::lower::type_in_message(&ty);
                let message =
                    format!("default for column \"{name}\" cannot be cast automatically to type {ty}");
                Error::new(SqlState::DATATYPE_MISMATCH, message)
            })?;
        }
        rewrite.columns[place.index()] = source;
        rewrite.needed = true;
        let column = &mut self.table_mut(id).columns[place.index()];
        (column.ty, column.domain) = (ty, domain);
        for again in anew {
            self.drop_key_index(id, &again.index.name, rewrite)?;
            rewrite.anew.push(again);
        }
        self.retype_unmade_expressions(id, name)?;
        // What stood on the old type must stand on the new one.
        let table = self.catalog.table_by_id(id);
        for check in &table.checks {
            let home = self.catalog.at_home();
            lowering::check_condition(&home, table, &reparse::expression(&check.expression)?)?;
        }
        rewrite.promises.extend(self.recheck_exclusions(id, place)?);
        self.recheck_foreign_keys(id, place)
    }

    /// Foreign keys of, and to, a column whose type changed.
    fn recheck_foreign_keys(&self, id: TableId, column: ColumnId) -> Result<()> {
        for table in self.catalog.tables.iter().flatten() {
            for key in &table.foreign_keys {
                let parent = self.catalog.table_by_id(key.parent);
                for (a, b) in key.columns.iter().zip(&key.parent_columns) {
                    if (table.id == id && *a == column) || (parent.id == id && *b == column) {
                        super::constraint::check_reference(
                            &key.name,
                            (table, *a),
                            (parent, *b),
                            lowering::Made::by(&self.actor),
                        )?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Makes the indexes again that were dropped because a column has another type.
    pub(super) fn make_indexes_again(&mut self, id: TableId, rewrite: &mut Rewrite) -> Result<()> {
        for Anew { mut index, keys, included } in std::mem::take(&mut rewrite.anew) {
            let table = self.catalog.table_by_id(id).clone();
            let place = |name: &String| {
                let found = table.column(name).map(|(c, _)| c);
                found.ok_or_else(|| Error::internal("an index over a column that is gone"))
            };
            let definition =
                index.definition.as_mut().ok_or_else(|| Error::internal("an index over columns"))?;
            for (key, name) in definition.keys.iter_mut().zip(&keys) {
                if let Some(name) = name {
                    *key = IndexKey::Column(place(name)?);
                }
            }
            definition.included = included.iter().map(place).collect::<Result<_>>()?;
            for key in &definition.keys {
                let ty = match key {
                    IndexKey::Column(c) => table.columns[c.index()].ty.clone(),
                    IndexKey::Expression(text) => {
                        let expr = reparse::expression(text)?;
                        lowering::index_expression(&self.catalog.at_home(), &table, &expr, Made::Before)?
                    }
                };
                check_key(&ty, 0)?;
            }
            self.compute_keys(&table, index, rewrite)?;
        }
        Ok(())
    }

    /// Indexes that are remembered, and computed from a column, which has another type now.
    fn retype_unmade_expressions(&mut self, id: TableId, name: &str) -> Result<()> {
        let table = self.catalog.table_by_id(id).clone();
        for (at, index) in table.unmade.iter().enumerate() {
            if !mentions_text(index, name)? {
                continue;
            }
            let method = index.shown_method().to_owned();
            for (n, key) in index.definition.iter().flat_map(|d| &d.keys).enumerate() {
                let IndexKey::Expression(text) = key else { continue };
                let expr = reparse::expression(text)?;
                let ty = lowering::index_expression(&self.catalog.at_home(), &table, &expr, Made::Before)?;
                let said = index.orders.get(n).and_then(|o| o.class.as_deref());
                class_of(&method, &ty, said, method == "gist" && index.key_count() > 1)?;
                self.table_mut(id).unmade[at].unmade_types[n] = ty;
            }
        }
        Ok(())
    }
}
