//! Statements: from the syntax tree to the part of the engine that does it.

use crate::engine::checkpoint::FULL_SPEED;
use crate::engine::program::kind::{is_program, tag, tag_name};
use crate::engine::program::refusal::{read_only, schema_changed};
use crate::engine::schema_version::LogAs;
use crate::engine::schema_version::SchemaVersion;
use crate::params::{ParamRef, Params};
use crate::row::{Column, Columns};
use crate::session::answer::{done, table_result};
use crate::session::core::{Block, SessionCore};
use crate::session::given::Given;
use crate::session::origin::origins;
use crate::session::prepared::{Compiled, Defaults, PreparedStatement, Resolved};
use crate::session::user::stamp;
use crate::session::{PreparedCall, StatementResult, Submitted};
use crate::sink::RowSink;
use crate::sink::reborrow;
use planaria_base::sync::Mutex;
use planaria_base::{CommitTs, Datum, Error, Result, SqlState, Type};
use planaria_catalog::Wanted;
use planaria_exec::Interrupt;
use planaria_ir::{Determinism, Program};
use planaria_sql::lower::{self, ParamTypes};
use planaria_syntax::ast::{Statement, StatementKind};
use planaria_syntax::parse;
use std::sync::Arc;

fn columns_of(program: &Program) -> Columns {
    program.outputs.iter().map(|o| Column { name: o.name.clone(), ty: o.ty.clone(), origin: None }).collect()
}

impl SessionCore {
    // ---- calls ----

    /// Finds a routine by name and number of arguments.
    pub(crate) fn resolve(&mut self, name: &str, given: &Given) -> Result<Resolved> {
        let schema = self.schema();
        let catalog = &schema.catalog;
        let in_schema = name.split_once('.').and_then(|(s, local)| Some((catalog.schema(s)?, local)));
        let wanted: Wanted<'_> = in_schema.map_or_else(|| name.into(), Wanted::from);
        let exists = catalog.procedures_named(wanted).next().is_some();
        let mut found = catalog.procedures_named(wanted).filter(|p| given.fits(p));
        let (first, second) = (found.next(), found.next());
        let procedure = match (first, second) {
            (Some(p), None) => p,
            (Some(_), Some(_)) => {
                return Err(Error::new(
                    SqlState::AMBIGUOUS_FUNCTION,
                    format!("several routines \"{name}\" take {given}"),
                )
                .with_hint("Use a CALL or SELECT statement with casts to choose one."));
            }
            (None, _) => {
                let error = Error::new(
                    SqlState::UNDEFINED_FUNCTION,
                    format!("no procedure or function \"{name}\" takes {given}"),
                );
                return Err(if exists {
                    error.with_hint("There are routines of that name with other arguments.")
                } else {
                    error
                });
            }
        };
        let id = procedure.id;
        let role = self.user.current();
        schema.require_call(role, id)?;
        let guarded = !schema.permits_routine(role, id);
        let parameters: Arc<[Type]> = procedure.inputs().map(|p| p.ty.clone()).collect();
        let order = given.order(procedure);
        let left_out = procedure.inputs().enumerate().filter(|(i, q)| !given.has(*i, q)).map(|(_, q)| q);
        let left_out = left_out.map(|p| (p.default.as_deref().unwrap_or("NULL"), &p.ty));
        let defaults = self.defaults(&schema, &left_out.collect::<Vec<_>>())?;
        let columns: Columns = schema.routine(id)?.columns.iter().cloned().collect();
        let stamp = stamp(schema.version(), role);
        Ok(Resolved { stamp, id, guarded, parameters, order, defaults, columns })
    }

    /// Defaults of parameters: expressions over nothing, and the types they are cast to.
    fn defaults(&mut self, schema: &SchemaVersion, left_out: &[(&str, &Type)]) -> Result<Defaults> {
        if left_out.iter().all(|(text, _)| text.trim().eq_ignore_ascii_case("null")) {
            return Ok(Defaults::Values(vec![Datum::Null; left_out.len()]));
        }
        let casts: Vec<String> =
            left_out.iter().map(|(text, ty)| format!("CAST(({text}) AS {ty})")).collect();
        let statement = parse::statements(&format!("SELECT {}", casts.join(", ")))?.remove(0);
        let program = lower::lower_statement(&schema.catalog, &statement, &ParamTypes::default())?;
        let code = schema.compile(&program, None)?;
        // What a callee does is not looked at.
        if program.determinism(&mut |_| Determinism::Text) > Determinism::Deterministic {
            let (only_reads, touches) = (schema.only_reads(&program), schema.touches(&program));
            return Ok(Defaults::Computed { code: Box::new(code), only_reads, touches });
        }
        let columns = columns_of(&program);
        if matches!(self.block, Block::None) {
            self.transact(&mut |s, schema| {
                s.run(schema, &code, &[], &columns, &(), false)?;
                Ok(LogAs::Values)
            })?;
        } else {
            self.in_block(|s| s.run(schema, &code, &[], &columns, &(), false))?;
        }
        Ok(Defaults::Values(self.rows.pop().map(|r| r.values).unwrap_or_default()))
    }

    /// The values of defaults in a call that is about to be run; they may have written.
    fn computed(
        &mut self,
        schema: &SchemaVersion,
        defaults: &Defaults,
    ) -> Result<Option<Vec<Datum>>, Interrupt> {
        let Defaults::Computed { code, touches, .. } = defaults else { return Ok(None) };
        if self.several.goes_on() {
            return Ok(None);
        }
        self.touch(touches)?;
        self.run(schema, code, &[], &self.no_columns.clone(), &(), false)?;
        Ok(Some(self.rows.pop().map(|r| r.values).unwrap_or_default()))
    }

    pub(crate) fn submit_call(&mut self, call: &PreparedCall, params: &dyn Params) -> Result<Submitted> {
        let arguments = call.given.count();
        if params.count() != arguments {
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("\"{}\" was prepared for {} arguments, not {}", call.name, arguments, params.count()),
            ));
        }
        self.check_block(None)?;
        let mut resolved = self.calls.take(call.number).unwrap_or_else(|| call.resolved.load_full());
        let outcome = self.submit_resolved(call, &mut resolved, params);
        self.calls.put(call.number, resolved);
        outcome
    }

    /// What a call comes to by now, where it was found under an older schema, or for another role.
    #[cold]
    fn resolve_anew(&mut self, call: &PreparedCall, resolved: &mut Arc<Resolved>) -> Result<()> {
        // Perhaps another session has looked.
        let found = call.resolved.load_full();
        if found.stamp != resolved.stamp {
            *resolved = found;
            return Ok(());
        }
        *resolved = Arc::new(self.resolve(&call.name, &call.given)?);
        call.resolved.store(resolved.clone());
        Ok(())
    }

    fn submit_resolved(
        &mut self,
        call: &PreparedCall,
        known: &mut Arc<Resolved>,
        params: &dyn Params,
    ) -> Result<Submitted> {
        loop {
            let resolved = &**known;
            let (given, only_reads) = match &resolved.defaults {
                Defaults::Values(values) => (&values[..], true),
                Defaults::Computed { only_reads, .. } => (&[][..], *only_reads),
            };
            if !matches!(self.block, Block::None) {
                self.catch_up()?;
                let schema = self.schema();
                if resolved.stamp != stamp(schema.version(), self.user.current()) {
                    self.resolve_anew(call, known)?;
                    continue;
                }
                let pure =
                    || only_reads && schema.routine(resolved.id).is_ok_and(|r| r.logging.is_read_only());
                if self.read_only && self.reading.is_none() && !pure() {
                    return Err(read_only("CALL"));
                }
                self.in_block(|s| {
                    s.touch(&schema.routine(resolved.id)?.touches)?;
                    let code = match resolved.guarded {
                        false => &schema.routine(resolved.id)?.code,
                        true => &schema.guarded_routine(resolved.id)?.code,
                    };
                    let computed = s.computed(&schema, &resolved.defaults)?;
                    let defaults = computed.as_deref().unwrap_or(given);
                    let params = WithDefaults { params, defaults, order: resolved.order.as_deref() };
                    s.run(&schema, code, &resolved.parameters, &resolved.columns, &params, false)
                })?;
                let ticket = self.ticket_in_block()?;
                return Ok(Submitted { rows: self.take_rows(&resolved.columns), ticket });
            }
            let mut stale = false;
            let outcome = self.transact_all(&mut |s, schema| {
                stale = !s.several.goes_on() && resolved.stamp != stamp(schema.version(), s.user.current());
                if stale {
                    return Err(Error::internal("the call was resolved under an older schema").into());
                }
                let routine = schema.routine(resolved.id)?;
                let (code, mut log_as) = match resolved.guarded {
                    false => s.logged_call(schema, resolved.id, routine)?,
                    true => (&schema.guarded_routine(resolved.id)?.code, LogAs::Values),
                };
                s.declare(only_reads && routine.logging.is_read_only(), routine.claims)?;
                s.touch(&routine.touches)?;
                let computed = s.computed(schema, &resolved.defaults)?;
                if computed.is_some() {
                    // Their inputs are in the arguments; what they wrote is not.
                    s.inputs.record_anew();
                    if !only_reads {
                        log_as = LogAs::Values;
                    }
                }
                let (types, columns) = (&resolved.parameters, &resolved.columns);
                let defaults = computed.as_deref().unwrap_or(given);
                let order = resolved.order.as_deref();
                let completed = WithDefaults { params, defaults, order };
                let all_given = defaults.is_empty() && order.is_none();
                let params = if all_given { params } else { &completed };
                s.run(schema, code, types, columns, params, log_as != LogAs::Values)?;
                Ok(log_as)
            });
            if stale {
                self.resolve_anew(call, known)?;
                continue;
            }
            let (ts, logged) = outcome?;
            let ticket = self.ticket(ts, logged);
            return Ok(Submitted { rows: self.take_rows(&resolved.columns), ticket });
        }
    }

    // ---- statements ----

    /// Refuses what a failed transaction does not take (25P02).
    pub(crate) fn check_block(&self, statement: Option<&Statement>) -> Result<()> {
        let leaves = matches!(
            statement.map(|s| &s.kind),
            Some(StatementKind::Transaction(transaction)) if transaction.leaves_failure()
        );
        if matches!(self.block, Block::Failed) && !leaves {
            return Err(Error::new(
                SqlState::IN_FAILED_SQL_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block",
            ));
        }
        Ok(())
    }

    /// Runs what takes long and can be cancelled, with others of this thread handed on before.
    fn asleep<T>(&self, f: &dyn Fn(&(dyn Fn() -> Result<()> + Sync)) -> Result<T>) -> Result<T> {
        let cancel = &self.cancel;
        let goes_on = || cancel.check();
        let mut outcome = None;
        (self.sleeps_by)(&mut || outcome = Some(f(&goes_on)));
        outcome.unwrap_or_else(|| Err(Error::internal("nothing was run")))
    }

    /// Where transactions run one at a time, a checkpoint would wait for its own; and nothing of a changed schema
    /// may be in one before it is committed.
    fn refuse_in_serial_block(&self, what: &str) -> Result<()> {
        if !self.engine.traits.concurrent && !matches!(self.block, Block::None) || self.changing.is_some() {
            let message = format!("{what} cannot run inside a transaction block");
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        Ok(())
    }

    /// Runs one statement and waits until it is durable.
    pub(crate) fn run_statement(
        &mut self,
        statement: &Statement,
        text: &str,
        params: &dyn Params,
    ) -> Result<StatementResult> {
        self.check_block(Some(statement))?;
        if lower::current_of(statement).is_some() {
            return self.change_current(statement, text, params, &[]);
        }
        if is_program(statement) {
            let prepared = self.analyse(statement.clone(), text, params)?;
            return self.run_program(&prepared, params);
        }
        self.notices.clear();
        self.check_writable(statement)?;
        let mut result = match &statement.kind {
            StatementKind::Set { name, value, .. } if name.eq_ignore_ascii_case("transaction_read_only") => {
                self.settings.set(name, value.as_deref(), true)?;
                self.set_read_only(self.settings.is_on("transaction_read_only"))?;
                done("SET")
            }
            StatementKind::Set { name, value, .. } if name.eq_ignore_ascii_case("transaction_isolation") => {
                let isolation = self.settings.level(value.as_deref())?;
                self.set_isolation(isolation)?;
                done("SET")
            }
            StatementKind::SetModes { default, read_only, isolation } => {
                self.set_modes(*default, *read_only, *isolation)?;
                done("SET")
            }
            StatementKind::SetSnapshot(name) => {
                self.set_snapshot(name)?;
                done("SET")
            }
            StatementKind::Transaction(t) => self.transaction_control(t)?,
            StatementKind::Do { body, body_position, language } => {
                lower::check_language(language.as_deref())?;
                self.do_by_steps(body, *body_position)?
            }
            StatementKind::Explain { statement, format, analyze: false, summary } => {
                self.explain(statement, *format, *summary == Some(true), params)?
            }
            StatementKind::Explain { statement, format, analyze: true, summary } => {
                let (format, summary) = (*format, summary.unwrap_or(true));
                return self.explain_analyze(statement, format, summary, (text, params));
            }
            StatementKind::ExplainProcedure { name, args } => {
                self.explain_procedure(name, args.as_deref())?
            }
            StatementKind::ExplainRecovery => self.explain_recovery()?,
            StatementKind::Set { name, value, local } => {
                self.is_local_outside(*local, "SET LOCAL");
                self.set_setting(name, value.as_deref(), *local)?;
                self.mirror_user();
                done("SET")
            }
            StatementKind::Show(name) if name.eq_ignore_ascii_case("recovery") => {
                table_result("SHOW", vec!["what", "value"], self.recovery_rows())
            }
            StatementKind::Show(name) => self.show(name)?,
            StatementKind::AlterSystem(change) => self.alter_system(change)?,
            StatementKind::Prepare { name, types, statement } => {
                self.prepare_named(name, types, statement, text)?
            }
            StatementKind::ExecutePrepared { name, args } => {
                return self.execute_named(name, args, text);
            }
            StatementKind::CreateTableExecute { name, args, from, to } => {
                let places = [statement.position, *from, *to, statement.end];
                return self.create_table_execute(name, args, text, places);
            }
            StatementKind::Deallocate(name) => self.deallocate(name.as_deref())?,
            StatementKind::SetRole { name, local } => self.set_role(name.as_deref(), *local)?,
            StatementKind::SetSessionAuthorization { name, local } => {
                self.set_session_authorization(name.as_deref(), *local)?
            }
            StatementKind::DeclareCursor(declare) => self.declare_cursor(declare, text, params, &[])?,
            StatementKind::Fetch { name, direction, moves } => self.fetch(name, *direction, *moves)?,
            StatementKind::CloseCursor(name) => self.close_cursor(name.as_deref())?,
            StatementKind::Discard(what) => self.discard(what)?,
            StatementKind::Listen(channel) => self.listen(channel)?,
            StatementKind::Unlisten(channel) => self.unlisten(channel.as_deref()),
            StatementKind::Copy(_) => {
                return Err(Error::unsupported(
                    "COPY needs a connection to a server",
                    "Run `planaria serve`, or insert the rows with a prepared INSERT.",
                )
                .at(statement.position));
            }
            StatementKind::SetConstraints { names, deferred } => {
                self.set_constraints(names.as_deref(), *deferred)?
            }
            StatementKind::LockTable(lock) => self.lock_tables(lock)?,
            StatementKind::Maintain(maintain) => {
                let catalog = self.schema().catalog.clone();
                if self.is_in_block() && planaria_sql::ddl::lock::stands_alone(&catalog, maintain) {
                    let message = format!("{} cannot run inside a transaction block", maintain.tag);
                    return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
                }
                planaria_sql::ddl::lock::check_maintained(&catalog, self.user.current(), maintain)?;
                match planaria_sql::ddl::lock::marks_index(&catalog, maintain) {
                    true => self.change_schema(statement, text)?,
                    false => done(maintain.tag),
                }
            }
            StatementKind::NoOperation(tag) => done(tag),
            StatementKind::Backup(directory) => {
                if !self.newest_catalog().is_superuser(self.user.current()) {
                    return Err(Error::new(
                        SqlState::INSUFFICIENT_PRIVILEGE,
                        "must be superuser to do BACKUP",
                    )
                    .with_detail("It writes files of the server."));
                }
                self.refuse_in_serial_block("BACKUP")?;
                let device = crate::directory::directory(std::path::Path::new(directory))?;
                let engine = self.engine.clone();
                self.asleep(&|goes_on| engine.backup(&*device, None, goes_on))?;
                done("BACKUP")
            }
            StatementKind::Checkpoint => {
                let role = self.user.current();
                if !self.newest_catalog().is_superuser(role) {
                    return Err(Error::new(
                        SqlState::INSUFFICIENT_PRIVILEGE,
                        "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT",
                    ));
                }
                self.refuse_in_serial_block("CHECKPOINT")?;
                let engine = self.engine.clone();
                self.asleep(&|goes_on| engine.checkpoint(goes_on, FULL_SPEED))?;
                done("CHECKPOINT")
            }
            StatementKind::Unsupported(what) => {
                let hint = match what.as_str() {
                    "CREATE RULE" => {
                        "Use a trigger: one INSTEAD OF of a view, one BEFORE or AFTER of a table."
                    }
                    _ => "docs/sql.md lists what is.",
                };
                let message = format!("{what} is not supported");
                return Err(Error::unsupported(message, hint).at(statement.position));
            }
            StatementKind::Truncate { restart_identity, .. }
                if !restart_identity && matches!(self.block, Block::Open) && self.changing.is_none()
                    || self.truncate_fires(statement)? =>
            {
                self.truncate_by_rows(statement, text)?
            }
            _ => self.change_schema(statement, text)?,
        };
        if result.tag == "SET" && is_reset(statement, text) {
            "RESET".clone_into(&mut result.tag);
        }
        result.notices.append(&mut std::mem::take(&mut self.notices));
        self.keep_heard(&mut result.notices);
        Ok(result)
    }

    /// Analyses a program-like statement; parameters get their types from the context, or from
    /// the values where the context leaves them open.
    pub(crate) fn analyse(
        &mut self,
        statement: Statement,
        text: &str,
        params: &dyn Params,
    ) -> Result<Arc<PreparedStatement>> {
        match self.analyse_declared(statement.clone(), text, ParamTypes::default()) {
            Err(error) if params.count() > 0 && might_know_types(&error) => {
                let hints = (0..params.count()).map(|i| type_of(params.param(i))).collect();
                self.analyse_declared(statement, text, ParamTypes(hints)).map_err(|_| error)
            }
            other => other,
        }
    }

    /// Analyses a program-like statement whose first parameters have these types.
    pub(crate) fn analyse_declared(
        &mut self,
        statement: Statement,
        text: &str,
        types: ParamTypes,
    ) -> Result<Arc<PreparedStatement>> {
        self.catch_up()?;
        let schema = self.schema();
        let role = self.user.current();
        let (program, compiled) = Compiled::new(&schema, role, &statement, &types)?;
        let by_steps = compiled.by_steps.is_some() || self.calls_by_steps(&statement);
        let origins = origins(&schema.catalog, &statement.kind, program.outputs.len());
        let named = program.outputs.iter().zip(origins);
        let columns =
            named.map(|(o, origin)| Column { name: o.name.clone(), ty: o.ty.clone(), origin }).collect();
        let parameters = program.params.iter().map(|p| p.ty.clone()).collect();
        Ok(Arc::new(PreparedStatement {
            text: text.into(),
            statement,
            parameters,
            declared: types.0,
            domains: Vec::new(),
            columns,
            detached: compiled.detached,
            by_steps,
            copy: None,
            compiled: Mutex::new(Some((stamp(schema.version(), role), compiled))),
        }))
    }

    /// Whether a statement was analysed under the schema and for the role that hold now.
    pub(crate) fn is_current(&mut self, statement: &PreparedStatement) -> bool {
        let base = match &self.reading {
            Some(reading) => reading.open.schema.clone(),
            None if self.is_stale() => return false,
            None => self.schema.clone(),
        };
        let now = stamp(self.scoped_of(base).version(), self.user.current());
        statement.compiled.lock().as_ref().is_some_and(|(under, _)| *under == now)
    }

    pub(crate) fn prepare_text(&mut self, text: &str, params: &dyn Params) -> Result<Arc<PreparedStatement>> {
        if let Some(found) = self.statements.find(text).cloned()
            && self.is_current(&found)
        {
            return Ok(found);
        }
        let mut statements = parse::statements(text)?;
        let statement = match (statements.pop(), statements.is_empty()) {
            (Some(statement), true) => statement,
            (None, _) => return Err(Error::new(SqlState::SYNTAX_ERROR, "there is no statement in the text")),
            (Some(second), false) => {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "there are several statements in the text")
                    .at(second.position)
                    .with_hint("Use execute_script for several statements."));
            }
        };
        if !is_program(&statement) || lower::current_of(&statement).is_some() {
            return Ok(Arc::new(PreparedStatement {
                text: text.into(),
                columns: crate::engine::program::kind::utility_columns(&statement),
                statement,
                parameters: Arc::from([]),
                declared: Vec::new(),
                domains: Vec::new(),
                detached: false,
                by_steps: false,
                copy: None,
                compiled: Mutex::new(None),
            }));
        }
        let prepared = self.analyse(statement, text, params)?;
        self.statements.keep(text, &prepared);
        Ok(prepared)
    }

    pub(crate) fn run_prepared_statement(
        &mut self,
        prepared: &PreparedStatement,
        params: &dyn Params,
    ) -> Result<StatementResult> {
        self.check_block(Some(&prepared.statement))?;
        if is_program(&prepared.statement) && lower::current_of(&prepared.statement).is_none() {
            return self.run_program(prepared, params);
        }
        self.run_statement(&prepared.statement.clone(), &prepared.text, params)
    }

    pub(crate) fn run_program(
        &mut self,
        prepared: &PreparedStatement,
        params: &dyn Params,
    ) -> Result<StatementResult> {
        let count = self.start_program(prepared, params, None)?;
        let rows = (!prepared.columns.is_empty()).then(|| self.take_rows(&prepared.columns));
        let mut notices = std::mem::take(&mut self.notices);
        self.keep_heard(&mut notices);
        Ok(StatementResult {
            tag: tag(&prepared.statement, count),
            rows,
            count,
            notices,
            position: prepared.statement.position as usize,
        })
    }

    /// Runs a program and adds its way to the disk to `pending`, leaves its rows in `rows` or the sink;
    /// answers with the number of rows returned or affected.
    pub(crate) fn start_program(
        &mut self,
        prepared: &PreparedStatement,
        params: &dyn Params,
        mut sink: Option<&mut dyn RowSink>,
    ) -> Result<u64> {
        if params.count() != prepared.parameters.len() {
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!(
                    "the statement has {} parameters, {} values were given",
                    prepared.parameters.len(),
                    params.count()
                ),
            ));
        }
        if prepared.copy.as_ref().is_some_and(|copy| copy.from) && self.is_read_only() {
            return Err(read_only("COPY FROM"));
        }
        self.check_writable(&prepared.statement)?;
        if prepared.by_steps {
            return self.call_by_steps(prepared, params, sink);
        }
        let ticket = if matches!(self.block, Block::None) {
            self.settle_temporary()?;
            let (ts, logged) = self.transact_statement(prepared, params, sink)?;
            self.note_commit();
            self.ticket(ts, logged)
        } else {
            self.notices.clear();
            self.rows.clear();
            self.sunk = 0;
            // The schema may change between compiling and running.
            let mut again = false;
            loop {
                self.catch_up()?;
                let schema = self.schema();
                let compiled = match prepared.compiled(&schema, self.user.current()) {
                    // Rows of other columns than the client was told are asked for anew.
                    Err(error) if again && error.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED => {
                        return self.fail_block_on_error(Err(schema_changed()));
                    }
                    compiled => compiled?,
                };
                if self.read_only && self.reading.is_none() && !compiled.pure {
                    return Err(read_only(tag_name(&prepared.statement)));
                }
                let (types, columns) = (&prepared.parameters, &prepared.columns);
                let ran = self.in_block_unless_outdated(true, |s| {
                    s.touch(&compiled.touches)?;
                    s.run_to(&schema, &compiled.code, types, columns, params, false, reborrow(&mut sink))
                })?;
                if ran {
                    break;
                }
                again = true;
            }
            self.ticket_in_block()?
        };
        self.pending.add(ticket);
        Ok(self.machine.row_count().map_or(self.rows.len() as u64 + self.sunk, |n| n as u64))
    }

    /// Runs a statement as a transaction of its own. One that is nothing but the call of a routine
    /// that writes is logged as that call.
    fn transact_statement(
        &mut self,
        prepared: &PreparedStatement,
        params: &dyn Params,
        mut sink: Option<&mut dyn RowSink>,
    ) -> Result<(CommitTs, bool)> {
        // Whoever watches the database, and can end what makes the others wait, need not wait with them.
        if prepared.detached && self.engine.traits.concurrent {
            let schema = self.schema();
            let compiled = prepared.compiled(&schema, self.user.current())?;
            if compiled.detached {
                return self.run_detached(&schema, |s| {
                    let (types, columns) = (&prepared.parameters, &prepared.columns);
                    s.run_to(&schema, &compiled.code, types, columns, params, false, reborrow(&mut sink))
                });
            }
        }
        self.transact_all(&mut |s, schema| {
            let compiled = prepared.compiled(schema, s.user.current())?;
            s.declare(compiled.pure, compiled.claims)?;
            s.touch(&compiled.touches)?;
            let (own_types, columns) = (&prepared.parameters, &prepared.columns);
            let sink = reborrow(&mut sink);
            let Some(call) = compiled.call.as_ref().filter(|_| s.log.is_some()) else {
                s.run_to(schema, &compiled.code, own_types, columns, params, false, sink)?;
                return Ok(LogAs::Values);
            };
            let (code, mut log_as) = s.logged_call(schema, call.routine, schema.routine(call.routine)?)?;
            let encode = log_as != LogAs::Values;
            if let Some(order) = &call.passed_on {
                let passed = PassedOn { params, order };
                s.run_to(schema, code, &call.types, columns, &passed, encode, sink)?;
                return Ok(log_as);
            }
            if s.several.goes_on() {
                s.run_to(schema, code, &call.types, columns, &(), false, sink)?;
                return Ok(log_as);
            }
            s.run(schema, &call.arguments, own_types, &s.no_columns.clone(), params, false)?;
            let arguments = s.rows.pop().map(|r| r.values).unwrap_or_default();
            if !s.effects.is_empty() {
                log_as = LogAs::Values;
            }
            // Inputs of the arguments are in the arguments.
            s.inputs.record_anew();
            s.run_to(schema, code, &call.types, columns, &arguments, encode, sink)?;
            Ok(log_as)
        })
    }
}

/// Some of a statement's parameters, in the order in which a routine takes them.
struct PassedOn<'a> {
    params: &'a dyn Params,
    order: &'a [usize],
}

impl Params for PassedOn<'_> {
    fn count(&self) -> usize {
        self.order.len()
    }
    fn param(&self, i: usize) -> ParamRef<'_> {
        self.params.param(self.order[i])
    }
}

/// Arguments given, then defaults; or these in the order in which the routine takes them.
pub(super) struct WithDefaults<'a> {
    pub(super) params: &'a dyn Params,
    pub(super) defaults: &'a [Datum],
    pub(super) order: Option<&'a [usize]>,
}

impl Params for WithDefaults<'_> {
    fn count(&self) -> usize {
        self.params.count() + self.defaults.len()
    }
    fn param(&self, i: usize) -> ParamRef<'_> {
        use crate::params::Param;
        let i = self.order.map_or(i, |order| order[i]);
        match i.checked_sub(self.params.count()) {
            None => self.params.param(i),
            Some(i) => self.defaults[i].as_param(),
        }
    }
}

/// Whether knowing the parameters' types could have helped.
pub(crate) fn might_know_types(error: &Error) -> bool {
    [
        SqlState::INDETERMINATE_DATATYPE,
        SqlState::AMBIGUOUS_FUNCTION,
        SqlState::UNDEFINED_FUNCTION,
        SqlState::DATATYPE_MISMATCH,
        SqlState::INVALID_TEXT_REPRESENTATION,
    ]
    .contains(&error.sqlstate())
}

/// The type a Rust value suggests.
pub(crate) fn type_of(param: ParamRef<'_>) -> Option<Type> {
    Some(match param {
        ParamRef::Null | ParamRef::Refused(..) => return None,
        ParamRef::Date(_) => Type::Date,
        ParamRef::Time(_) => Type::Time,
        ParamRef::Timestamp(_) => Type::Timestamp,
        ParamRef::TimestampTz(_) => Type::TimestampTz,
        ParamRef::Json(_) => Type::Jsonb,
        ParamRef::Text(_) => Type::Text,
        ParamRef::Bool(_) => Type::Bool,
        ParamRef::Int(n) | ParamRef::Stored(n) if i32::try_from(n).is_ok() => Type::Int4,
        ParamRef::Int(_) | ParamRef::Stored(_) => Type::Int8,
        ParamRef::Float(_) => Type::Float8,
        ParamRef::Numeric(_) | ParamRef::Long(_) => Type::Numeric(None),
        ParamRef::Bytes(_) => Type::Bytea,
        ParamRef::Uuid(_) => Type::Uuid,
        ParamRef::Interval(_) => Type::Interval,
        ParamRef::Array(items) => {
            let of = if items.count() == 0 { None } else { type_of(items.param(0)) };
            match of.unwrap_or(Type::Text) {
                // However many dimensions it has.
                array @ Type::Array(_) => array,
                of => Type::Array(Box::new(of)),
            }
        }
        ParamRef::Shaped(array) => {
            let of = type_of(array.elements().param(0));
            Type::Array(Box::new(of.unwrap_or(Type::Text)))
        }
    })
}

/// Whether a setting was made by RESET.
fn is_reset(statement: &Statement, text: &str) -> bool {
    let word = text.get(statement.position as usize..).and_then(|rest| rest.get(..5));
    word.is_some_and(|word| word.eq_ignore_ascii_case("reset"))
}
