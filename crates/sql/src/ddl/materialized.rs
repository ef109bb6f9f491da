//! Materialized views.
//!
//! One is a table that nobody changes, and beside it, under the same name, a view with its query
//! (`planaria_catalog::View::stored`): what the query depends on depends on it as on that of another view, and names lead
//! to the table. CREATE and REFRESH fill it as CREATE TABLE AS does: the rows are logged, the query is not run again.

use super::{Change, Work, names};
use planaria_base::{Error, Result, SqlState, TableId};
use planaria_catalog::{Object, OnCommit, Table, View, key};
use planaria_syntax::ast::{AlterTable, Name, Query};

/// 42809 for what a view does not have.
fn refused(action: &str, view: &str, kind: &str) -> Error {
    let message = format!("ALTER action {action} cannot be performed on relation \"{view}\"");
    Error::new(SqlState::WRONG_OBJECT_TYPE, message)
        .with_detail(format!("This operation is not supported for {kind}."))
}

/// What of ALTER TABLE is not for materialized views.
pub(super) fn refuse_action(table: &Table, action: &AlterTable) -> Result<()> {
    match action_of_tables(action) {
        Some(action) if table.materialized.is_some() => {
            Err(refused(action, &table.name, "materialized views"))
        }
        _ => Ok(()),
    }
}

/// What of ALTER TABLE is not for views.
pub(super) fn refuse_actions_of_view(view: &View, actions: &[AlterTable]) -> Result<()> {
    match actions.iter().find_map(action_of_tables) {
        Some(action) => Err(refused(action, &view.name, "views")),
        None => Ok(()),
    }
}

/// How messages name an action that only tables have.
fn action_of_tables(action: &AlterTable) -> Option<&str> {
    Some(match action {
        AlterTable::RenameTable(_)
        | AlterTable::RenameColumn { .. }
        | AlterTable::OwnerTo(_)
        | AlterTable::ClusterOn(_)
        | AlterTable::Ignored(_)
        | AlterTable::Parameters { .. }
        | AlterTable::ReplicaIdentity(_)
        | AlterTable::ColumnTold { .. } => return None,
        AlterTable::AddColumn { .. } => "ADD COLUMN",
        AlterTable::DropColumn { .. } => "DROP COLUMN",
        AlterTable::AddConstraint(_) => "ADD CONSTRAINT",
        AlterTable::DropConstraint { .. } => "DROP CONSTRAINT",
        AlterTable::SetDefault { .. } => "ALTER COLUMN ... SET DEFAULT",
        AlterTable::AddIdentity { .. } => "ALTER COLUMN ... ADD IDENTITY",
        AlterTable::SetIdentity { .. } => "ALTER COLUMN ... SET",
        AlterTable::DropIdentity { .. } => "ALTER COLUMN ... DROP IDENTITY",
        AlterTable::AlterConstraint { .. } => "ALTER CONSTRAINT",
        AlterTable::ValidateConstraint(_) => "VALIDATE CONSTRAINT",
        AlterTable::DropExpression { .. } => "ALTER COLUMN ... DROP EXPRESSION",
        AlterTable::SetNotNull { not_null: true, .. } => "ALTER COLUMN ... SET NOT NULL",
        AlterTable::SetNotNull { .. } => "ALTER COLUMN ... DROP NOT NULL",
        AlterTable::SetType { .. } => "ALTER COLUMN ... SET DATA TYPE",
        AlterTable::RenameConstraint { .. } => "RENAME CONSTRAINT",
        AlterTable::EnableTrigger { .. } => "ENABLE TRIGGER",
        AlterTable::RowSecurity(true) => "ENABLE ROW SECURITY",
        AlterTable::RowSecurity(false) => "DISABLE ROW SECURITY",
        AlterTable::ForceRowSecurity(true) => "FORCE ROW SECURITY",
        AlterTable::ForceRowSecurity(false) => "NO FORCE ROW SECURITY",
        AlterTable::Attach { .. } => "ATTACH PARTITION",
        AlterTable::Detach(_) => "DETACH PARTITION",
        AlterTable::Unsupported(what, _) => what,
    })
}

impl Change {
    pub(super) fn create_materialized(
        &mut self,
        name: &Name,
        if_not_exists: bool,
        columns: &[String],
        (query, query_text): (&Query, &str),
        with_data: bool,
    ) -> Result<&'static str> {
        const TAG: &str = "CREATE MATERIALIZED VIEW";
        let refuse = |message: &str| Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        if crate::lower::changes_in_with(query) {
            return refuse("materialized views must not use data-modifying statements in WITH");
        }
        if self.reads_temporary(query) {
            return refuse("materialized views must not use temporary tables or views");
        }
        super::view::refuse_parameters(query)?;
        let (schema, local) = self.name_of_query(name, query)?;
        if self.catalog.relation_exists((schema, local)) {
            let exists = names::relation_exists(local);
            if !if_not_exists {
                return Err(exists);
            }
            self.skip_existing(&exists);
            return Ok(TAG);
        }
        let written = crate::lower::written_out(&self.catalog.ready(), query_text);
        let (_, written) = written.map_err(|e| e.within(query.position))?;
        let written = crate::lower::qualified_query(&self.catalog, &written)?;
        let id = self.table_of_query((schema, local), name.position, columns, query)?;
        self.table_mut(id).on_commit = OnCommit::PreserveRows;
        if with_data {
            self.fill(id, query, name.position, false)?;
        }
        self.table_mut(id).materialized = Some(with_data);
        let all = self.catalog.table_by_id(id).visible().map(|(_, c)| c.name.clone()).collect();
        let mut view =
            View::new(schema, local.to_owned(), all, written, self.catalog.table_by_id(id).rights.clone());
        view.stored = true;
        self.catalog.views.insert(key(schema, local), view);
        Ok(if with_data { "SELECT" } else { TAG })
    }

    pub(super) fn refresh(
        &mut self,
        name: &Name,
        concurrently: bool,
        with_data: bool,
    ) -> Result<&'static str> {
        let local = names::own_relation(&self.catalog, name)?;
        let table = self.catalog.table(local).cloned();
        let Some((table, populated)) = table.and_then(|t| t.materialized.map(|populated| (t, populated)))
        else {
            if self.catalog.relation_exists(local) {
                let (state, what) = match self.catalog.table(local).is_some() {
                    true => (SqlState::FEATURE_NOT_SUPPORTED, "a materialized view"),
                    false => (SqlState::WRONG_OBJECT_TYPE, "a table or materialized view"),
                };
                return Err(Error::new(state, format!("\"{local}\" is not {what}")));
            }
            let mut missing = names::no_relation(name);
            missing.fields_mut().position = None;
            return Err(missing);
        };
        self.catalog.require_owner(self.actor.user, &Object::Table(table.id))?;
        if concurrently && !populated {
            let message = "CONCURRENTLY cannot be used when the materialized view is not populated";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if concurrently && !with_data {
            let message = "CONCURRENTLY and WITH NO DATA options cannot be used together";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        }
        let whole = |i: &planaria_catalog::Index| i.unique && i.definition.is_none();
        if concurrently && !table.shown_indexes().any(whole) {
            let shown = self.catalog.shown(table.schema, &table.name, None);
            let message = format!("cannot refresh materialized view \"{shown}\" concurrently");
            return Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).with_hint(
                "Create a unique index with no WHERE clause on one or more columns of the materialized view.",
            ));
        }
        let view = self.catalog.stored_view(&table);
        let query = view.map(|v| v.query.clone()).ok_or_else(|| Error::internal("no query of a view"))?;
        let id = table.id;
        self.table_mut(id).generation += 1;
        self.out.work.push(Work::Truncate(id));
        if with_data {
            // To this statement alone it is a table as others are.
            self.table_mut(id).materialized = None;
            self.fill(id, &super::reparse::query(&query)?, name.position, true)?;
        }
        self.table_mut(id).materialized = Some(with_data);
        Ok("REFRESH MATERIALIZED VIEW")
    }

    /// The query of a materialized view goes where its table went.
    pub(super) fn stored_view_moved(&mut self, id: TableId, from: &str) {
        let table = self.catalog.table_by_id(id);
        if table.materialized.is_none() {
            return;
        }
        let (schema, name) = (table.schema, table.name.clone());
        let columns = table.visible().map(|(_, c)| c.name.clone()).collect();
        if let Some(view) = self.catalog.views.remove(from) {
            let view = View { columns, ..view.renamed(schema, &name) };
            self.catalog.views.insert(key(schema, &name), view);
        }
    }
}
