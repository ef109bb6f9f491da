//! ALTER TABLE: several actions, one rewrite at most.
//!
//! Each action changes the catalog at once, so that the next one sees it; what it means for stored
//! rows is kept aside: for every column of the new shape, where its values come from, and the
//! indexes made and dropped. At the end either the table is rewritten (which builds all indexes), or
//! the index work alone is done; promises (new CHECKs and FOREIGN KEYs) are validated last.

use super::constraint::{Key, Pending};
use super::depend::{Object as Dependent, References};
use super::drop::{index_includes, stands_on};
use super::index::mentions;
use super::lowering::{self, Promise, RowExpr, node};
use super::materialized::{refuse_action, refuse_actions_of_view};
use super::retype::Anew;
use super::table::{DefaultDef, check_columns, says_nothing, table_constraint};
use super::{Change, NewColumn, Rebuild, Work, names, reparse};
use crate::lower::CastContext;
use crate::lower::qualified_expression;
use planaria_base::{ColumnId, Error, IndexId, Result, SequenceId, SqlState, TableId, Type};
use planaria_catalog::{CheckTime, ColumnDefault, ForeignKey, IndexKey, KeyOrder, Object, Table};
use planaria_syntax::ast::{
    AlterTable, AlterView, ColumnDef, Constraint, ConstraintKind, Expr, ExprKind, Name,
};
use std::collections::BTreeSet;

/// What an ALTER TABLE means for stored rows, so far.
pub(super) struct Rewrite {
    /// The table as its rows are stored now.
    pub(super) stored: Table,
    /// For each column of the new shape.
    pub(super) columns: Vec<NewColumn>,
    pub(super) computed: Vec<RowExpr>,
    /// Whether rows must be written anew.
    pub(super) needed: bool,
    /// Index work, if they need not.
    indexes: Vec<Work>,
    pub(super) promises: Vec<Promise>,
    /// Indexes that are computed from columns of another type now, to be made again behind the last action.
    pub(super) anew: Vec<Anew>,
    /// Columns that had SET TYPE, and whether they are of another type since; but for those that went after that.
    pub(super) altered: Vec<(String, bool)>,
}

impl Rewrite {
    /// Nothing yet.
    pub(super) fn of(table: &Table) -> Rewrite {
        Rewrite {
            stored: table.clone(),
            columns: (0..table.columns.len()).map(|c| NewColumn::Keep(ColumnId::from(c))).collect(),
            computed: Vec::new(),
            needed: false,
            indexes: Vec::new(),
            promises: Vec::new(),
            anew: Vec::new(),
            altered: Vec::new(),
        }
    }
    /// Work on an index, to be done if the rows need not be written anew.
    pub(super) fn index(&mut self, work: Work) {
        self.indexes.push(work);
    }
    /// Rows are to be written anew.
    pub(super) fn require(&mut self) {
        self.needed = true;
    }
    /// Nothing is to be looked at: there are no rows.
    pub(super) fn promise_nothing(&mut self) {
        self.promises.clear();
    }
    /// A column's rows, as values, have other fields.
    pub(super) fn reshape(&mut self, place: usize, column: &str, ty: Type) {
        let own = ExprKind::Column(Name { parts: vec![column.to_owned()], position: 0 });
        self.computed.push(RowExpr {
            expr: node(own),
            kept: false,
            ty,
            context: CastContext::Assignment,
            domain: None,
            column: column.to_owned(),
            over_new: false,
        });
        self.columns[place] = NewColumn::Computed(self.computed.len() - 1);
        self.needed = true;
    }
    /// A new column at that place is computed from the stored row.
    pub(super) fn compute(&mut self, place: usize, e: RowExpr) {
        self.computed.push(e);
        self.columns.insert(place, NewColumn::Computed(self.computed.len() - 1));
        self.needed = true;
    }
}

impl Change {
    pub(super) fn alter_table(
        &mut self,
        name: &Name,
        if_exists: bool,
        only: bool,
        actions: &[AlterTable],
    ) -> Result<&'static str> {
        if let [AlterTable::OwnerTo(owner)] = actions
            && names::table(&self.catalog, name).is_err()
            && let Ok(object) = self.relation(name, false)
        {
            // PostgreSQL takes a view or a sequence here, too.
            let owner = self.role_of(owner)?;
            self.change_owner(&object, owner)?;
            return Ok("ALTER TABLE");
        }
        if let [AlterTable::SetDefault { column, default }] = actions
            && self.catalog.view(names::relation_wanted(&self.catalog, name)?).is_some()
        {
            // And a view here: so it stands in dumps.
            let default = default.clone().map(|(e, text)| (Box::new(e), text));
            let action = AlterView::Default { column: column.clone(), default };
            return self.alter_view(name, if_exists, &action, "ALTER TABLE");
        }
        if let [AlterTable::RenameTable(to)] = actions
            && names::table(&self.catalog, name).is_err()
            && let Some(kind) = names::kind_of(&self.catalog, name)
        {
            self.rename(kind, name, to, if_exists)?;
            return Ok("ALTER TABLE");
        }
        if let [AlterTable::RenameColumn { from, to }] = actions
            && self.catalog.view(names::relation_wanted(&self.catalog, name)?).is_some()
        {
            let action = AlterView::RenameColumn { from: from.clone(), to: to.clone() };
            return self.alter_view(name, if_exists, &action, "ALTER TABLE");
        }
        let table = match names::table(&self.catalog, name) {
            Ok(table) => table,
            Err(e) if if_exists && e.sqlstate() == SqlState::UNDEFINED_TABLE => {
                self.skip_missing(&e);
                return Ok("ALTER TABLE");
            }
            Err(e) => {
                let view = self.catalog.view(names::relation_wanted(&self.catalog, name)?);
                return view.map_or(Ok(()), |view| refuse_actions_of_view(view, actions)).and(Err(e));
            }
        };
        let id = table.id;
        self.catalog.require_owner(self.actor.user, &Object::Table(id))?;
        actions.iter().try_for_each(|action| refuse_action(table, action))?;
        let mut rewrite = Rewrite::of(table);
        let holders = self.holders_of_rows(id, actions);
        for action in actions {
            self.check_partition_action(id, action)?;
            let before = self.catalog.table_by_id(id).clone();
            if only {
                self.check_only(id, action)?;
            }
            self.action(id, action, &mut rewrite)?;
            self.check_keys_of(id)?;
            self.check_indexes_of_partition(id)?;
            if before.is_partitioned() && !only {
                self.pass_on(id, action, &before)?;
            }
        }
        self.settle_partitions()?;
        self.make_indexes_again(id, &mut rewrite)?;
        self.reshape_rows_as_values(id, &rewrite, holders)?;
        self.finish_alter(id, rewrite)?;
        Ok("ALTER TABLE")
    }

    pub(super) fn finish_alter(&mut self, id: TableId, rewrite: Rewrite) -> Result<()> {
        if rewrite.needed {
            let compute = if rewrite.computed.is_empty() {
                None
            } else {
                Some(lowering::row_program(&self.catalog, &rewrite.stored, &rewrite.computed)?)
            };
            self.table_mut(id).generation += 1;
            let rebuild = Rebuild { table: id, columns: rewrite.columns, compute };
            self.out.work.push(Work::Rebuild(Box::new(rebuild)));
        } else {
            self.out.work.extend(rewrite.indexes);
        }
        self.validate(rewrite.promises)
    }

    pub(super) fn action(&mut self, id: TableId, action: &AlterTable, rewrite: &mut Rewrite) -> Result<()> {
        self.check_rows_as_values(id, action)?;
        match action {
            AlterTable::AddColumn { column, if_not_exists } => {
                self.add_column(id, column, *if_not_exists, rewrite)
            }
            AlterTable::DropColumn { name, if_exists, cascade } => {
                self.drop_column(id, name, *if_exists, *cascade, rewrite)
            }
            AlterTable::AddConstraint(c) => match &c.kind {
                ConstraintKind::UsingIndex { primary, index } => {
                    self.key_of_index(id, c, *primary, index, rewrite)
                }
                _ => self.add_pending(id, table_constraint(c)?, c.not_valid, rewrite),
            },
            AlterTable::AlterConstraint { name, check } => self.alter_constraint(id, name, *check),
            AlterTable::ValidateConstraint(name) => self.validate_constraint(id, name, rewrite),
            AlterTable::DropConstraint { name, if_exists, cascade } => {
                self.drop_constraint(id, name, *if_exists, *cascade, rewrite)
            }
            AlterTable::SetDefault { column, default } => {
                self.alter_default(id, column, default.as_ref().map(|(e, t)| (e, t.as_str())))
            }
            AlterTable::AddIdentity { column, always, options, position } => {
                self.add_identity(id, column, *always, options).map_err(|e| e.at(*position))
            }
            AlterTable::SetIdentity { column, always, options } => {
                self.set_identity(id, column, *always, options)
            }
            AlterTable::DropIdentity { column, if_exists } => self.drop_identity(id, column, *if_exists),
            AlterTable::DropExpression { column, if_exists } => self.drop_expression(id, column, *if_exists),
            AlterTable::SetNotNull { column, not_null } => self.alter_null(id, column, *not_null, rewrite),
            AlterTable::SetType { column, ty, collation, using } => {
                self.alter_type(id, column, ty, using.as_ref().map(|(e, _)| e), rewrite)?;
                self.retell(id, column, collation.as_deref())
            }
            AlterTable::EnableTrigger { names, enabled } => self.enable_triggers(id, names, *enabled),
            AlterTable::RowSecurity(on) => {
                self.set_row_security(id, Some(*on), None);
                Ok(())
            }
            AlterTable::ForceRowSecurity(on) => {
                self.set_row_security(id, None, Some(*on));
                Ok(())
            }
            AlterTable::RenameTable(to) => self.rename_table(id, to),
            AlterTable::RenameColumn { from, to } => self.rename_column(id, from, to),
            AlterTable::RenameConstraint { from, to } => self.rename_constraint(id, from, to),
            AlterTable::OwnerTo(_) if self.actor.before_roles => Ok(()),
            AlterTable::OwnerTo(owner) => {
                let owner = self.role_of(owner)?;
                self.change_owner(&Object::Table(id), owner)
            }
            AlterTable::ClusterOn(index) => self.cluster_on(id, index.as_deref()),
            AlterTable::Ignored(_) => Ok(()),
            AlterTable::Parameters { parameters, reset } => self.set_parameters(id, parameters, *reset),
            AlterTable::ReplicaIdentity(identity) => self.set_identity_of_rows(id, identity.as_ref()),
            AlterTable::ColumnTold { column, told } => self.tell_column(id, column, told),
            AlterTable::Attach { partition, bound } => self.attach(id, partition, bound),
            AlterTable::Detach(partition) => self.detach(id, partition),
            AlterTable::Unsupported(what, position) => {
                let hint = "Create a new table and copy the rows.";
                Err(Error::unsupported(format!("{what} is not supported"), hint).at(*position))
            }
        }
    }

    pub(super) fn find_column(&self, id: TableId, name: &str) -> Result<ColumnId> {
        let table = self.catalog.table_by_id(id);
        table.column(name).map(|(c, _)| c).ok_or_else(|| no_column(table, name))
    }

    // ---- columns ----

    fn add_column(
        &mut self,
        id: TableId,
        def: &ColumnDef,
        if_not_exists: bool,
        rewrite: &mut Rewrite,
    ) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        if !table.composite {
            self.free_name(&def.name)?;
        }
        if table.column(&def.name).is_some() {
            let message = format!("column \"{}\" of relation \"{}\" already exists", def.name, table.name);
            let exists = Error::new(SqlState::DUPLICATE_COLUMN, message);
            if !if_not_exists {
                return Err(exists.at(def.position));
            }
            self.skip_existing(&exists);
            return Ok(());
        }
        check_columns(table.columns.iter().filter(|c| !c.hidden).count() + 1)
            .map_err(|e| e.at(def.position))?;
        let name = table.name.clone();
        let views = self.views_over(&super::schema::mention(&self.catalog, table.schema, &name))?;
        let (column, facts) = self.column(id, def)?;

        // Before the hidden row id, which stays last.
        let table = self.table_mut(id);
        let place = table.columns.iter().position(|c| c.hidden).unwrap_or(table.columns.len());
        self.make_room(id, place);
        let (ty, domain) = (column.ty.clone(), column.domain);
        self.table_mut(id).columns.insert(place, column);
        self.refuse_changed_views(views, &format!("columns cannot be added to table \"{name}\""))?;
        let place_id = ColumnId::from(place);
        self.set_default(id, place_id, facts.default)?;

        let source = match &self.catalog.table_by_id(id).columns[place].default {
            ColumnDefault::Sequence(s) | ColumnDefault::Identity { sequence: s, .. } => {
                NewColumn::Sequence(*s)
            }
            ColumnDefault::Expression(_) | ColumnDefault::Generated(_) | ColumnDefault::None => {
                let default = def.constraints.iter().find_map(|c| match &c.kind {
                    ConstraintKind::Default { expr, .. } | ConstraintKind::GeneratedStored { expr, .. } => {
                        Some(expr.clone())
                    }
                    _ => None,
                });
                let (expr, kept) = match (default, self.catalog.default_of_domain(&ty, domain)) {
                    (Some(own), _) => (own, false),
                    (None, Some(text)) => (reparse::expression(text)?, true),
                    (None, None) => (node(ExprKind::Null), false),
                };
                let context = CastContext::Assignment;
                rewrite.computed.push(RowExpr {
                    expr,
                    kept,
                    ty,
                    context,
                    domain,
                    column: def.name.clone(),
                    over_new: false,
                });
                NewColumn::Computed(rewrite.computed.len() - 1)
            }
        };
        rewrite.columns.insert(place, source);
        rewrite.needed = true;
        for pending in facts.pending {
            self.add_pending(id, pending, false, rewrite)?;
        }
        Ok(())
    }

    fn drop_column(
        &mut self,
        id: TableId,
        name: &str,
        if_exists: bool,
        cascade: bool,
        rewrite: &mut Rewrite,
    ) -> Result<()> {
        let column = match self.find_column(id, name) {
            Ok(column) => column,
            Err(missing) if if_exists => {
                self.skip_missing(&missing);
                return Ok(());
            }
            Err(missing) => return Err(missing),
        };
        if self.actor.internal {
            // Former versions left such keys behind, which nothing could be done with.
            self.forget_references_by_included(id, column);
        }
        self.refuse_own_references(id, column, cascade)?;
        let computed = self.drop_dependents(&[Dependent::Column(id, column)], cascade)?;
        let names = |c: &(TableId, ColumnId)| self.catalog.table_by_id(c.0).columns[c.1.index()].name.clone();
        for other in computed.iter().map(names).collect::<Vec<_>>() {
            self.drop_column(id, &other, true, true, rewrite)?;
        }
        let column = self.find_column(id, name)?;
        // What stands on the column alone or together with others goes with it.
        let table = self.catalog.table_by_id(id);
        let mut checks = Vec::new();
        for check in &table.checks {
            if References::of_text(&check.expression)?.columns.contains(name) {
                checks.push(check.name.clone());
            }
        }
        let mut indexes = Vec::new();
        for index in table.all_indexes() {
            if index.columns.contains(&column) || mentions(index, column, name)? {
                indexes.push(index.name.clone());
            }
        }
        let goes =
            |k: &&ForeignKey| k.columns.contains(&column) || k.parent == id && stands_on(table, k, column);
        let keys: Vec<String> = table.foreign_keys.iter().filter(goes).map(|k| k.name.clone()).collect();
        let table = self.table_mut(id);
        table.checks.retain(|c| !checks.contains(&c.name));
        table.foreign_keys.retain(|k| !keys.contains(&k.name));
        for index in indexes {
            self.drop_key_index(id, &index, rewrite)?;
        }
        self.forget_statistics(id, name)?;
        rewrite.forget_anew(name)?;
        let owned = self.catalog.sequences.iter().flatten();
        let owned: Vec<SequenceId> = owned.filter(|s| s.owner == Some((id, column))).map(|s| s.id).collect();
        owned.into_iter().for_each(|s| self.remove_sequence(s));
        // Hidden columns of indexes went before it.
        let column = self.find_column(id, name)?;
        self.remove_column(id, column, rewrite);
        Ok(())
    }

    /// Takes foreign keys away whose index in this table goes with a column that it has by INCLUDE.
    fn forget_references_by_included(&mut self, id: TableId, column: ColumnId) {
        let table = self.catalog.table_by_id(id);
        let goes = |k: &ForeignKey| index_includes(table, k, column) && !k.parent_columns.contains(&column);
        let lost: Vec<(TableId, String)> = self
            .catalog
            .references_to(id)
            .filter(|(_, key)| goes(key))
            .map(|(child, key)| (child.id, key.name.clone()))
            .collect();
        for (child, name) in lost {
            self.table_mut(child).foreign_keys.retain(|k| k.name != name);
        }
    }

    /// Takes a column that nothing stands on out of the table.
    pub(super) fn remove_column(&mut self, id: TableId, column: ColumnId, rewrite: &mut Rewrite) {
        let gone = column.index();
        let map: Vec<Option<ColumnId>> = (0..self.table_mut(id).columns.len())
            .map(|c| match c.cmp(&gone) {
                std::cmp::Ordering::Less => Some(ColumnId::from(c)),
                std::cmp::Ordering::Equal => None,
                std::cmp::Ordering::Greater => Some(ColumnId::from(c - 1)),
            })
            .collect();
        let name = self.table_mut(id).take_column(column).name;
        self.table_mut(id).rights.move_column(&name, None);
        self.remap(id, &map);
        if let NewColumn::Computed(n) = rewrite.columns.remove(gone) {
            rewrite.computed.remove(n);
            for c in &mut rewrite.columns {
                if let NewColumn::Computed(m) = c
                    && *m > n
                {
                    *m -= 1;
                }
            }
        }
        rewrite.needed = true;
    }

    /// Columns from a place on move up by one.
    pub(super) fn make_room(&mut self, id: TableId, place: usize) {
        let columns = self.catalog.table_by_id(id).columns.len();
        let map: Vec<Option<ColumnId>> =
            (0..columns).map(|c| Some(ColumnId::from(if c < place { c } else { c + 1 }))).collect();
        self.remap(id, &map);
    }

    /// Columns of a table moved: whatever names them by position follows.
    fn remap(&mut self, id: TableId, map: &[Option<ColumnId>]) {
        let moved = |c: &mut ColumnId| {
            if let Some(to) = map[c.index()] {
                *c = to;
            }
        };
        let table = self.table_mut(id);
        for index in table.all_indexes_mut() {
            index.columns.iter_mut().for_each(moved);
            let Some(definition) = &mut index.definition else { continue };
            definition.included.iter_mut().for_each(moved);
            for key in &mut definition.keys {
                if let IndexKey::Column(column) = key {
                    moved(column);
                }
            }
        }
        table.foreign_keys.iter_mut().for_each(|k| k.columns.iter_mut().for_each(moved));
        table.triggers.iter_mut().for_each(|t| t.columns.iter_mut().for_each(moved));
        let referring: BTreeSet<TableId> = self.catalog.references_to(id).map(|(t, _)| t.id).collect();
        for referring in referring {
            for key in self.table_mut(referring).foreign_keys.iter_mut().filter(|k| k.parent == id) {
                key.parent_columns.iter_mut().for_each(moved);
            }
        }
        let owned: Vec<SequenceId> = self.catalog.sequences_of(id).map(|s| s.id).collect();
        for sequence in owned {
            if let Some(sequence) = &mut self.catalog.sequences[sequence.index()]
                && let Some((_, column)) = &mut sequence.owner
            {
                moved(column);
            }
        }
    }

    fn drop_expression(&mut self, id: TableId, name: &str, if_exists: bool) -> Result<()> {
        let place = self.find_column(id, name)?;
        let table = self.catalog.table_by_id(id);
        if table.columns[place.index()].generated().is_some() {
            self.table_mut(id).columns[place.index()].default = ColumnDefault::None;
            return Ok(());
        }
        let message =
            format!("column \"{name}\" of relation \"{}\" is not a stored generated column", table.name);
        let error = Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message);
        if !if_exists {
            return Err(error);
        }
        self.notice(SqlState::SUCCESSFUL_COMPLETION, format!("{}, skipping", error.message()));
        Ok(())
    }

    /// 0A000 where a generated column is computed from the column.
    pub(super) fn refuse_generated(&self, id: TableId, name: &str, what: &str) -> Result<()> {
        for (_, column) in self.catalog.table_by_id(id).visible() {
            if let Some(text) = column.generated()
                && References::of_text(text)?.columns.contains(name)
            {
                let detail = format!("Column \"{name}\" is used by generated column \"{}\".", column.name);
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, what).with_detail(detail));
            }
        }
        Ok(())
    }

    fn alter_default(&mut self, id: TableId, name: &str, default: Option<(&Expr, &str)>) -> Result<()> {
        let place = self.find_column(id, name)?;
        let table = self.catalog.table_by_id(id);
        let column = &table.columns[place.index()];
        if column.generated().is_some() {
            let message = format!("column \"{name}\" of relation \"{}\" is a generated column", table.name);
            let error = Error::new(SqlState::SYNTAX_ERROR, message);
            return Err(match default {
                None => error.with_hint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead."),
                Some(_) => error,
            });
        }
        if matches!(column.default, ColumnDefault::Identity { .. }) {
            let message = format!("column \"{name}\" of relation \"{}\" is an identity column", table.name);
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let default = match default {
            None => DefaultDef::None,
            Some((expr, text)) => {
                lowering::check_default(&self.catalog, name, &column.ty, expr)?;
                lowering::check_json_default(lowering::Made::by(&self.actor), &column.ty, expr)?;
                let nothing = says_nothing(expr, &column.ty, column.domain.is_some());
                match self.own_sequence(id, place, expr) {
                    _ if nothing => DefaultDef::None,
                    Some(sequence) => DefaultDef::Sequence(sequence),
                    None => DefaultDef::Expression(qualified_expression(&self.catalog, text)?),
                }
            }
        };
        self.set_default(id, place, default)
    }

    /// The sequence of which a default draws the next value, if it is the column's own: then the column is a serial.
    fn own_sequence(&self, id: TableId, place: ColumnId, default: &Expr) -> Option<SequenceId> {
        let ExprKind::Call(call) = &default.kind else { return None };
        if call.name.parts.last().is_none_or(|name| name != "nextval") {
            return None;
        }
        let named = References::of_expr(default).sequences;
        let own = self
            .catalog
            .sequences_of(id)
            .find(|s| s.owner == Some((id, place)) && named.contains(&s.name))?;
        Some(own.id)
    }

    fn alter_null(&mut self, id: TableId, name: &str, not_null: bool, rewrite: &mut Rewrite) -> Result<()> {
        let place = self.find_column(id, name)?;
        let table = self.catalog.table_by_id(id);
        let column = &table.columns[place.index()];
        if column.not_null == not_null {
            return Ok(());
        }
        if !not_null {
            if table.primary_key().is_some_and(|key| key.columns.contains(&place)) {
                let message = format!("column \"{name}\" is in a primary key");
                return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
            }
            if matches!(column.default, ColumnDefault::Identity { .. }) {
                let message =
                    format!("column \"{name}\" of relation \"{}\" is an identity column", table.name);
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            self.check_identifies_not(id, place)?;
        }
        // The rows of a partition are its root's: the column may be NULL there.
        if not_null && table.partition.is_some() {
            rewrite.promises.push(Promise::NotNull { table: id, name: name.to_owned() });
        }
        self.table_mut(id).columns[place.index()].not_null = not_null;
        // Rows of nullable columns have another layout.
        rewrite.needed = true;
        Ok(())
    }

    // ---- constraints ----

    pub(super) fn add_pending(
        &mut self,
        id: TableId,
        pending: Pending,
        not_valid: bool,
        rewrite: &mut Rewrite,
    ) -> Result<()> {
        match pending {
            Pending::Check { name, expr, text } => {
                let promise = self.add_check(id, name.as_deref(), &expr, &text)?;
                match self.table_mut(id).checks.last_mut() {
                    Some(check) if not_valid => check.not_valid = true,
                    _ => rewrite.promises.push(promise),
                }
            }
            Pending::ForeignKey(def) => {
                let promise = self.add_foreign_key(id, &def)?;
                match self.table_mut(id).foreign_keys.last_mut() {
                    Some(key) if not_valid => key.not_valid = true,
                    _ => rewrite.promises.push(promise),
                }
            }
            Pending::Exclude(def) => {
                let (promise, index) = self.add_exclusion(id, &def, rewrite)?;
                rewrite.indexes.extend(index.map(|index| Work::CreateIndex(id, index)));
                rewrite.promises.push(promise);
            }
            Pending::Key(key) if key.check != CheckTime::NotDeferrable => {
                self.make_unique_later(id, &key, rewrite)?;
            }
            Pending::Key(key) if key.primary => self.make_primary(id, &key, rewrite)?,
            Pending::Key(key) => {
                let index = self.add_unique(id, &key)?;
                rewrite.indexes.push(Work::CreateIndex(id, index));
            }
        }
        Ok(())
    }

    /// VALIDATE CONSTRAINT: rows that were there before are looked at.
    fn validate_constraint(&mut self, id: TableId, name: &str, rewrite: &mut Rewrite) -> Result<()> {
        let table = self.table_mut(id);
        if let Some(key) = table.foreign_keys.iter_mut().find(|k| k.name == name) {
            if std::mem::take(&mut key.not_valid) {
                rewrite.promises.push(Promise::ForeignKey { table: id, name: name.to_owned() });
            }
            return Ok(());
        }
        if let Some(check) = table.checks.iter_mut().find(|c| c.name == name) {
            if std::mem::take(&mut check.not_valid) {
                rewrite.promises.push(Promise::Check { table: id, name: name.to_owned() });
            }
            return Ok(());
        }
        let (state, what) = match table.has_constraint(name) {
            true => (SqlState::WRONG_OBJECT_TYPE, "is not a foreign key or check constraint"),
            false => (SqlState::UNDEFINED_OBJECT, "does not exist"),
        };
        Err(Error::new(state, format!("constraint \"{name}\" of relation \"{}\" {what}", table.name)))
    }

    /// ADD PRIMARY KEY or UNIQUE USING INDEX: the index becomes the constraint's, and gets its name.
    fn key_of_index(
        &mut self,
        id: TableId,
        constraint: &Constraint,
        primary: bool,
        name: &str,
        rewrite: &mut Rewrite,
    ) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let (table_name, position) = (table.name.clone(), constraint.position);
        let Some((of, index)) = self.catalog.index((table.schema, name)) else {
            let message = format!("index \"{name}\" does not exist");
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(position));
        };
        let (of, index) = (of.id, of.index_at(index.index()).clone());
        let unfit = |message: String| {
            Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                .with_detail("Cannot create a primary key or unique constraint using such an index.")
                .at(position))
        };
        if index.constraint {
            let message = format!("index \"{name}\" is already associated with a constraint");
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).at(position));
        }
        if of != id {
            let message = format!("index \"{name}\" does not belong to table \"{table_name}\"");
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).at(position));
        }
        if !index.unique {
            return unfit(format!("\"{name}\" is not a unique index"));
        }
        if let Some(definition) = &index.definition {
            if definition.predicate.is_some() {
                return unfit(format!("\"{name}\" is a partial index"));
            }
            if definition.keys.iter().any(|key| matches!(key, IndexKey::Expression(_))) {
                return unfit(format!("index \"{name}\" contains expressions"));
            }
        }
        // Once any order would do.
        let unusual = |o: &KeyOrder| o.descending || o.nulls_first || o.class.is_some();
        if let Some(at) = index.orders.iter().position(unusual).filter(|_| !self.actor.internal) {
            let number = at + 1;
            let message =
                format!("index \"{name}\" column number {number} does not have default sorting behavior");
            return unfit(message);
        }
        if primary && table.primary_key().is_some() {
            return Err(self.second_primary_key(id, position));
        }
        let columns = index.columns.iter().map(|c| table.columns[c.index()].name.clone()).collect();
        let new = constraint.name.clone().unwrap_or_else(|| name.to_owned());
        if new != name {
            if self.catalog.relation_exists((table.schema, new.as_str())) {
                return Err(names::relation_exists(&new));
            }
            let message =
                format!("ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{name}\" to \"{new}\"");
            self.notice(SqlState::SUCCESSFUL_COMPLETION, message);
        }
        if !primary {
            let table = self.table_mut(id);
            if let Some(index) = table.indexes.iter_mut().find(|i| i.name == name) {
                index.constraint = true;
                new.clone_into(&mut index.name);
            }
            table.follow_index(name, &new);
            return Ok(());
        }
        // The primary key's index is the one that rows are kept by: it is made anew.
        self.drop_key_index(id, name, rewrite)?;
        self.make_primary(
            id,
            &Key {
                name: Some(new),
                columns,
                included: Vec::new(),
                primary,
                equal_nulls: false,
                check: CheckTime::NotDeferrable,
                position,
            },
            rewrite,
        )
    }

    /// ADD PRIMARY KEY or UNIQUE that is DEFERRABLE.
    fn make_unique_later(&mut self, id: TableId, key: &Key, rewrite: &mut Rewrite) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        if key.primary && table.primary_key().is_some() {
            return Err(self.second_primary_key(id, key.position));
        }
        // Rows of nullable columns have another layout.
        let nullable = |name: &String| table.column(name).is_some_and(|(_, c)| !c.not_null);
        rewrite.needed |= key.primary && key.columns.iter().any(nullable);
        let (promise, index) = self.add_unique_later(id, key)?;
        rewrite.indexes.push(Work::CreateIndex(id, index));
        rewrite.promises.push(promise);
        Ok(())
    }

    /// ADD PRIMARY KEY: the row id and its index give way.
    fn make_primary(&mut self, id: TableId, key: &Key, rewrite: &mut Rewrite) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        if table.primary_key().is_some() {
            return Err(self.second_primary_key(id, key.position));
        }
        if let Some(name) = key.columns.iter().find(|c| table.column(c).is_none()) {
            return Err(no_column(table, name));
        }
        let row_id = ColumnId::from(table.columns.len() - 1);
        let sequence = self.catalog.sequences.iter().flatten().find(|s| s.owner == Some((id, row_id)));
        let sequence = sequence.map(|s| s.id);
        self.table_mut(id).indexes.remove(0);
        self.add_primary_key(id, key)?;
        sequence.into_iter().for_each(|s| self.remove_sequence(s));
        self.remove_column(id, row_id, rewrite);
        Ok(())
    }

    fn drop_constraint(
        &mut self,
        id: TableId,
        name: &str,
        if_exists: bool,
        cascade: bool,
        rewrite: &mut Rewrite,
    ) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        if !table.has_constraint(name) {
            let message = format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
            let missing = Error::new(SqlState::UNDEFINED_OBJECT, message);
            if !if_exists {
                return Err(missing);
            }
            self.skip_missing(&missing);
            return Ok(());
        }
        if let Some(i) = table.indexes.iter().position(|i| i.constraint && i.name == name) {
            self.drop_dependents(&[Dependent::Index(id, IndexId(i as u16))], cascade)?;
            return self.drop_key_index(id, name, rewrite);
        }
        let table = self.table_mut(id);
        table.checks.retain(|c| c.name != name);
        table.foreign_keys.retain(|k| k.name != name);
        rewrite.promises.retain(|p| match p {
            Promise::Check { name: n, .. }
            | Promise::ForeignKey { name: n, .. }
            | Promise::Exclusion { name: n, .. } => n != name,
            Promise::NotNull { .. } => true,
        });
        Ok(())
    }

    /// Removes an index; a table that loses its primary key gets a row id.
    pub(super) fn drop_key_index(&mut self, id: TableId, name: &str, rewrite: &mut Rewrite) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let Some(i) = table.indexes.iter().position(|i| i.name == name) else {
            self.forget_index(id, name);
            return Ok(());
        };
        if i == 0 && table.has_primary_key {
            let table = self.table_mut(id);
            table.has_primary_key = false;
            table.indexes.remove(0);
            let sequence = self.add_row_id(id)?;
            rewrite.columns.push(NewColumn::Sequence(sequence));
            rewrite.needed = true;
            return Ok(());
        }
        let index = IndexId(i as u16);
        let definition = self.catalog.table_by_id(id).indexes[i].clone();
        self.remove_index(id, index);
        rewrite.indexes.push(Work::DropIndex(id, index));
        let mut hidden = self.hidden_columns(id, &definition);
        hidden.sort_unstable();
        for column in hidden.into_iter().rev() {
            self.remove_column(id, column, rewrite);
        }
        Ok(())
    }
}

/// 42703
fn no_column(table: &Table, name: &str) -> Error {
    let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
    Error::new(SqlState::UNDEFINED_COLUMN, message)
}

/// 42804 for a type change without a conversion of its own.
pub(super) fn not_automatic(error: Error, column: &str, whole: &planaria_base::Type, using: bool) -> Error {
    if !matches!(error.sqlstate(), SqlState::DATATYPE_MISMATCH | SqlState::CANNOT_COERCE) {
        return error;
    }
    let ty = crate::lower::type_in_message(whole);
    let (message, hint) = if using {
        (
            format!(
                "result of USING clause for column \"{column}\" cannot be cast automatically to type {ty}"
            ),
            "You might need to add an explicit cast.".to_owned(),
        )
    } else {
        (
            format!("column \"{column}\" cannot be cast automatically to type {ty}"),
            format!("You might need to specify \"USING {column}::{whole}\"."),
        )
    };
    Error::new(SqlState::DATATYPE_MISMATCH, message).with_hint(hint)
}
