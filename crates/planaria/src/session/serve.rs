//! Statements as a server runs them: analysed ahead, their rows lent to a sink, the disk not waited for.

use crate::engine::program::kind::{is_program, tag_name, utility_columns};
use crate::engine::schema_version::SchemaVersion;
use crate::params::Params;
use crate::row::Rows;
use crate::serving::statement::{Done, Parsed};
use crate::session::StatementResult;
use crate::session::answer::done;
use crate::session::core::{Block, SessionCore};
use crate::session::prepared::PreparedStatement;
use crate::sink::RowSink;
use crate::ticket::Ticket;
use planaria_base::sync::Mutex;
use planaria_base::{Error, Result, SqlState, Type};
use planaria_catalog::{Catalog, TriggerEvent, Wanted};
use planaria_sql::lower::ParamTypes;
use planaria_syntax::ast::copy::{Copy, CopySource};
use planaria_syntax::ast::{self, Expr, ExprKind, InsertSource, Statement, StatementKind};
use std::borrow::Cow;
use std::sync::Arc;

/// Longer texts are not kept analysed.
const TEXT_KEPT_MAX: usize = 16 << 10;

/// How a statement went, but for its way to the disk, which the session has.
pub(crate) struct Started {
    tag: Cow<'static, str>,
    count: u64,
    rows: Option<Rows>,
}

impl Started {
    pub(crate) fn done(self, ticket: Ticket) -> Done {
        let Started { tag, count, rows } = self;
        Done { tag, count, rows, ticket }
    }
}

/// Drops arguments that are parameters of type void, as PostgreSQL does: JDBC's `{? = call f(?)}` arrives as
/// `SELECT * FROM f($1, $2) AS result` with the place of the result among the arguments.
fn without_void(statement: &mut Statement, types: &[Option<Type>]) {
    if !types.contains(&Some(Type::Void)) {
        return;
    }
    let is_void = |e: &Expr| match e.kind {
        ExprKind::Parameter(n) => types.get((n as usize).wrapping_sub(1)) == Some(&Some(Type::Void)),
        _ => false,
    };
    let clean = |call: &mut ast::FunctionCall| call.args.retain(|a| !is_void(&a.value));
    match &mut statement.kind {
        StatementKind::Call { call, .. } => clean(call),
        StatementKind::Query(query) => {
            let ast::QueryBody::Select(select) = &mut query.body else { return };
            for item in &mut select.items {
                if let ExprKind::Call(call) = &mut item.expr.kind {
                    clean(call);
                }
            }
            for item in &mut select.from {
                if let ast::TableRef::Function { call, .. } = item {
                    clean(call);
                }
            }
        }
        _ => {}
    }
}

fn column(name: &str, position: u32) -> Expr {
    let name = ast::Name { parts: vec![name.to_owned()], position };
    Expr { position, kind: ExprKind::Column(name) }
}

/// `SELECT columns FROM table`, all of them if none are named.
fn rows_of(position: u32, table: &ast::Name, columns: &[(String, u32)]) -> Statement {
    let all = Expr { position, kind: ExprKind::Star(None) };
    let item = |expr| ast::SelectItem { expr, alias: None };
    let items = match columns {
        [] => vec![item(all)],
        columns => columns.iter().map(|(name, at)| item(column(name, *at))).collect(),
    };
    let from = vec![ast::TableRef::Relation { name: table.clone(), only: false, alias: None }];
    let select = ast::Select { items, from, ..Default::default() };
    let query = ast::Query::new(ast::QueryBody::Select(Box::new(select)), position);
    Statement { position, end: position, kind: StatementKind::Query(Box::new(query)) }
}

/// A relation by the name that a COPY gives it.
fn wanted<'n>(catalog: &Catalog, name: &'n ast::Name) -> Option<Wanted<'n>> {
    match &name.parts[..] {
        [schema, local] => catalog.schema(schema).map(|id| (id, local.as_str()).into()),
        parts => parts.last().map(Wanted::from),
    }
}

impl SessionCore {
    pub(crate) fn prepare_statement(
        &mut self,
        parsed: &Parsed,
        types: &[Option<Type>],
    ) -> Result<Arc<PreparedStatement>> {
        let statement = &parsed.statement;
        self.check_block(Some(statement))?;
        if let StatementKind::Copy(copy) = &statement.kind {
            return self.prepare_copy(copy, &parsed.text);
        }
        if planaria_sql::lower::current_of(statement).is_some() {
            let all = planaria_sql::lower::without_current(statement);
            let all = self.analyse_declared(all, &parsed.text, ParamTypes(types.to_vec()))?;
            return Ok(Arc::new(PreparedStatement {
                text: parsed.text.clone(),
                statement: statement.clone(),
                parameters: all.parameters.clone(),
                declared: Vec::new(),
                domains: Vec::new(),
                columns: all.columns.clone(),
                detached: false,
                by_steps: false,
                copy: None,
                compiled: Mutex::new(None),
            }));
        }
        if is_program(statement) {
            let mut statement = statement.clone();
            without_void(&mut statement, types);
            return self.analyse_declared(statement, &parsed.text, ParamTypes(types.to_vec()));
        }
        let parameters = match &statement.kind {
            StatementKind::DeclareCursor(declare) => {
                let types = ParamTypes(types.to_vec());
                self.analyse_declared((*declare.query).clone(), &parsed.text, types)?.parameters.clone()
            }
            StatementKind::Explain { statement, .. } if is_program(statement) => {
                let types = ParamTypes(types.to_vec());
                self.analyse_declared((**statement).clone(), &parsed.text, types)?.parameters.clone()
            }
            _ => Arc::from([]),
        };
        let columns = match &statement.kind {
            StatementKind::ExecutePrepared { name, .. } => {
                self.named_statement(name).map(|p| p.columns.clone()).unwrap_or_default()
            }
            StatementKind::Fetch { name, moves: false, .. } => self.cursor_columns(name).unwrap_or_default(),
            _ => utility_columns(statement),
        };
        Ok(Arc::new(PreparedStatement {
            text: parsed.text.clone(),
            statement: statement.clone(),
            parameters,
            declared: Vec::new(),
            domains: Vec::new(),
            columns,
            detached: false,
            by_steps: false,
            copy: None,
            compiled: Mutex::new(None),
        }))
    }

    /// COPY is an INSERT of one row, run for each line, or a query.
    fn prepare_copy(&mut self, copy: &Copy, text: &str) -> Result<Arc<PreparedStatement>> {
        let inner = match &copy.source {
            CopySource::Statement(statement) => (**statement).clone(),
            CopySource::Table(table, columns) => {
                // All columns but the generated ones, if none are named.
                if copy.from {
                    self.refuse_copied(table)?;
                }
                let columns = self.copied_columns(table, columns);
                if copy.from {
                    insert_of_row(copy.position, table, columns)
                } else {
                    rows_of(copy.position, table, &columns)
                }
            }
        };
        let statement = self.analyse_declared(inner, text, ParamTypes::default())?;
        if !copy.from && statement.columns.is_empty() {
            return Err(Error::new(
                SqlState::FEATURE_NOT_SUPPORTED,
                "COPY query must have a RETURNING clause",
            ));
        }
        Ok(Arc::new(PreparedStatement {
            text: statement.text.clone(),
            statement: statement.statement.clone(),
            parameters: statement.parameters.clone(),
            declared: Vec::new(),
            domains: Vec::new(),
            // Of COPY FROM, the names of the columns that are filled.
            columns: statement.columns.clone(),
            detached: false,
            by_steps: false,
            copy: Some(Box::new(copy.clone())),
            compiled: Mutex::new(None),
        }))
    }

    /// The columns that COPY means: those that are named, or all that are stored as given. Where there is no such table,
    /// the statement will say so.
    fn copied_columns(&mut self, table: &ast::Name, named: &[(String, u32)]) -> Vec<(String, u32)> {
        if !named.is_empty() {
            return named.to_vec();
        }
        let catalog = self.newest_catalog();
        let Some(wanted) = wanted(&catalog, table) else { return Vec::new() };
        let rows = catalog.view(wanted).and_then(|view| view.rows.as_deref());
        let Some(found) = catalog.table(wanted).or(rows) else { return Vec::new() };
        let given = found.visible().map(|(_, c)| c).filter(|c| c.generated().is_none());
        given.map(|c| (c.name.clone(), table.position)).collect()
    }

    /// 42809 for COPY into a view, unless a trigger of it takes the rows.
    fn refuse_copied(&mut self, table: &ast::Name) -> Result<()> {
        let catalog = self.newest_catalog();
        let Some(wanted) = wanted(&catalog, table) else { return Ok(()) };
        let refused = |message| Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        if let Some(table) = catalog.table(wanted) {
            return match table.materialized {
                Some(_) => refused(format!("cannot copy to materialized view \"{}\"", table.name)),
                None => Ok(()),
            };
        }
        let Some(view) = catalog.view(wanted) else { return Ok(()) };
        if view.rows.as_deref().is_some_and(|rows| rows.fires_before(TriggerEvent::Insert, false)) {
            return Ok(());
        }
        let hint = "To enable copying to a view, provide an INSTEAD OF INSERT trigger.";
        refused(format!("cannot copy to view \"{}\"", view.name)).map_err(|e: Error| e.with_hint(hint))
    }

    /// DISCARD
    pub(crate) fn discard(&mut self, what: &str) -> Result<StatementResult> {
        if what == "all" && !matches!(self.block, Block::None) {
            let message = "DISCARD ALL cannot run inside a transaction block";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        if matches!(what, "all" | "sequences") {
            self.sequences.forget();
        }
        if matches!(what, "all" | "temp") {
            self.drop_temporary()?;
        }
        if what == "all" {
            self.statements.named.clear();
            self.cursors.open.clear();
            self.unlock_all();
            self.settle_locks();
            self.unlisten(None);
            self.set_session_authorization(None, false)?;
            self.settings.set("all", None, false)?;
            self.mirror_user();
        }
        Ok(done(&format!("DISCARD {}", what.to_uppercase())))
    }

    /// The statement of a text that this session has analysed before, if it still is what it was: the
    /// schema is the same, and so are the types of the parameters that are given.
    pub(crate) fn recall_statement(
        &mut self,
        text: &str,
        types: &[Option<Type>],
    ) -> Option<Arc<PreparedStatement>> {
        let found = self.statements.find(text)?.clone();
        let declared = |of: &[Option<Type>], i: usize| of.get(i).cloned().flatten();
        let same = types.len() <= found.parameters.len()
            && found.parameters.iter().enumerate().all(|(i, is)| match declared(types, i) {
                Some(wanted) => wanted == *is,
                None => declared(&found.declared, i).is_none(),
            });
        (same && self.is_current(&found) && !matches!(self.block, Block::Failed)).then_some(found)
    }

    /// See [`ServedSession::prepare_general`](crate::serving::ServedSession::prepare_general).
    pub(crate) fn prepare_general_statement(
        &mut self,
        text: &str,
        types: &[Option<Type>],
        is_call: bool,
    ) -> Option<Arc<PreparedStatement>> {
        let schema = self.schema();
        let known = self.statements.particular(text) == Some(schema.version());
        if known || matches!(self.block, Block::Failed) {
            return None;
        }
        let found = self.general(&schema, text, types, is_call);
        match &found {
            Some(statement) => self.statements.keep(text, statement),
            None => self.statements.keep_particular(text, schema.version()),
        }
        found
    }

    fn general(
        &mut self,
        schema: &SchemaVersion,
        text: &str,
        types: &[Option<Type>],
        is_call: bool,
    ) -> Option<Arc<PreparedStatement>> {
        let mut parsed = crate::serving::parse(text).ok()?;
        let (Some(parsed), true) = (parsed.pop(), parsed.is_empty()) else { return None };
        if !is_program(&parsed.statement) || planaria_sql::lower::current_of(&parsed.statement).is_some() {
            return None;
        }
        let statement = self.prepare_statement(&parsed, types).ok()?;
        let compiled = statement.compiled(schema, self.user.current()).ok()?;
        // An index of some rows is of use where a constant says that they are meant.
        let mut tables = compiled.touches.tables.iter().map(|t| schema.catalog.table_by_id(t.table));
        let partial = tables.any(|table| {
            let mut definitions = table.indexes.iter().filter_map(|index| index.definition.as_ref());
            definitions.any(|definition| definition.predicate.is_some())
        });
        let complete = statement.parameters.len() == types.len() && !compiled.touches.anything;
        (complete && !partial && (!is_call || compiled.call.is_some())).then_some(statement)
    }

    /// Keeps a statement for [`Self::recall_statement`], if that makes sense.
    pub(crate) fn remember_statement(&mut self, text: &str, statement: &Arc<PreparedStatement>) {
        if is_program(&statement.statement)
            && planaria_sql::lower::current_of(&statement.statement).is_none()
            && text.len() <= TEXT_KEPT_MAX
        {
            self.statements.keep(text, statement);
        }
    }

    /// Gives a statement a name, as PREPARE does; 42P05 where it is taken.
    pub(crate) fn name_statement(&mut self, name: &str, statement: &Arc<PreparedStatement>) -> Result<()> {
        if self.statements.named.contains_key(name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(Error::new(SqlState::DUPLICATE_PREPARED_STATEMENT, message));
        }
        self.give_name(name, statement.clone(), false);
        Ok(())
    }

    pub(crate) fn start_statement(
        &mut self,
        prepared: &PreparedStatement,
        params: &dyn Params,
        sink: &mut dyn RowSink,
    ) -> Result<Started> {
        self.check_block(Some(&prepared.statement))?;
        let current = planaria_sql::lower::current_of(&prepared.statement).is_some();
        let (tag, count, rows) = if is_program(&prepared.statement) && !current {
            let count = self.start_program(prepared, params, Some(sink))?;
            (tag_name(&prepared.statement).into(), count, None)
        } else {
            let result = match &prepared.statement.kind {
                StatementKind::DeclareCursor(declare) => {
                    self.notices.clear();
                    self.declare_cursor(declare, &prepared.text, params, &prepared.parameters)?
                }
                _ if current => {
                    let (statement, text) = (&prepared.statement, &prepared.text);
                    self.change_current(statement, text, params, &prepared.parameters)?
                }
                _ => self.run_statement(&prepared.statement, &prepared.text, params)?,
            };
            self.notices = result.notices;
            (result.tag.into(), result.count, result.rows)
        };
        Ok(Started { tag, count, rows })
    }
}

/// `INSERT INTO table (columns) VALUES ($1, ...)`
fn insert_of_row(position: u32, table: &ast::Name, columns: Vec<(String, u32)>) -> Statement {
    let parameters = 1..=columns.len() as u32;
    let row = parameters.map(|n| Some(Expr { position, kind: ExprKind::Parameter(n) })).collect();
    let insert = ast::Insert {
        with: Vec::new(),
        recursive: false,
        table: table.clone(),
        alias: None,
        columns,
        parts: Vec::new(),
        overriding: Some(true),
        copied: false,
        source: InsertSource::Values(vec![row]),
        on_conflict: None,
        returning: Vec::new(),
        into: None,
    };
    Statement { position, end: position, kind: StatementKind::Insert(Box::new(insert)) }
}
