//! What a body is carried out on: the session, or the program that calls the routine.

use super::{Answer, Steps};
use crate::engine::program::cursor::Cursor;
use crate::engine::program::dynamic::Wanted;
use crate::engine::program::kind::{is_program, tag_name};
use crate::engine::program::refusal::transaction_executed;
use crate::engine::schema_version::SchemaVersion;
use crate::notice::Notice;
use crate::session::core::SessionCore;
use planaria_base::{Datum, Error, ProcedureId, Result, TableId, Type};
use planaria_catalog::{Catalog, Procedure};
use planaria_exec::{Carrier, CursorAt, Interrupt, StepProgram, Stepwise};
use planaria_ir::Output;
use planaria_sql::lower::ParamTypes;
use planaria_sql::lower::plpgsql::Fired;
use planaria_syntax::ast::plpgsql::{PlBlock, Step, StepKind, StmtKind};
use planaria_syntax::ast::{FunctionCall, Statement, StatementKind, Transaction};
use planaria_syntax::parse;
use std::sync::Arc;

/// See the module's head.
pub(super) enum Ground<'s> {
    Session(&'s mut SessionCore, Rows),
    Program(Within<'s>),
}

/// Rows that a routine has answered with.
pub(super) type Rows = Vec<Vec<Datum>>;

/// A program that calls a routine which is carried out by steps.
pub(super) struct Within<'s> {
    carrier: &'s mut dyn Carrier,
    catalog: Arc<Catalog>,
    /// What no handler catches, and nobody here may speak for.
    stopped: Option<Interrupt>,
    /// Programs of steps that have been made: the schema stays as it is meanwhile, but for where one looks for names.
    made: Vec<(Step, StepProgram)>,
    /// Where that was.
    at: u64,
}

/// Programs that are remembered.
const MADE_MAX: usize = 64;

/// A routine, for a program that calls it.
pub(crate) fn within(schema: &SchemaVersion, routine: ProcedureId) -> Result<Arc<dyn Stepwise>> {
    let catalog = &schema.catalog;
    let fired = catalog.trigger_of(catalog.procedure(routine));
    let routine = fired.map_or(routine, |(_, trigger, _)| trigger.function);
    let fired = fired.map(|(table, trigger, event)| Fired::of(catalog, table, trigger, event));
    let title = schema.title(catalog.behind(routine));
    let routine = catalog.procedure(routine).clone();
    let block = parse::plpgsql(&routine.body)?;
    Ok(Arc::new(Routine { routine, fired, title, block, catalog: catalog.clone() }))
}

struct Routine {
    routine: Procedure,
    fired: Option<Fired>,
    title: String,
    block: PlBlock,
    catalog: Arc<Catalog>,
}

impl Stepwise for Routine {
    fn carry_out(
        &self,
        arguments: Vec<Datum>,
        carrier: &mut dyn Carrier,
    ) -> std::result::Result<(), Interrupt> {
        let ground = Ground::Program(Within {
            carrier,
            catalog: self.catalog.clone(),
            stopped: None,
            made: Vec::new(),
            at: 0,
        });
        let mut steps = Steps::new(ground, &self.routine.body, &self.title, &self.block);
        let outcome = match &self.fired {
            Some(fired) => steps.trigger(&self.routine.name, fired, &self.block, arguments),
            None => steps.routine(&self.routine, &self.block, arguments).and_then(|values| {
                if self.routine.returns_set() {
                    return Ok(());
                }
                let row: Vec<Datum> = values.into_iter().map(|(_, value)| value).collect();
                steps.ground.answer(&row)
            }),
        };
        if let Ground::Program(Within { stopped: Some(stopped), .. }) = steps.ground {
            return Err(stopped);
        }
        outcome.map_err(|mut error| {
            if error.fields().query.is_none() {
                error.fields_mut().position = None;
            }
            error.into()
        })
    }
}

impl Ground<'_> {
    /// The session, for what only it does.
    pub(super) fn session(&mut self) -> Result<&mut SessionCore> {
        match self {
            Ground::Session(session, _) => Ok(session),
            Ground::Program(_) => Err(Error::internal("a program does what only a session does")),
        }
    }

    /// Takes the rows that were answered with.
    pub(super) fn take_rows(&mut self) -> Rows {
        match self {
            Ground::Session(_, rows) => std::mem::take(rows),
            Ground::Program(_) => Rows::new(),
        }
    }

    /// A block begins that catches errors; the name of its savepoint.
    pub(super) fn enter(&mut self) -> Result<String> {
        match self {
            Ground::Session(session, _) => {
                // Routines that are called within have savepoints as well: each its own name.
                let savepoint = format!("(step {})", session.savepoints.len());
                session.transaction_control(&Transaction::Savepoint(savepoint.clone()))?;
                Ok(savepoint)
            }
            Ground::Program(within) => {
                within.carrier.enter();
                Ok(String::new())
            }
        }
    }

    /// It has ended well.
    pub(super) fn leave(&mut self, savepoint: String) -> Result<()> {
        match self {
            Ground::Session(session, _) => {
                session.transaction_control(&Transaction::Release(savepoint))?;
            }
            Ground::Program(within) => within.carrier.leave(),
        }
        Ok(())
    }

    /// It has ended with an error that it does not catch.
    pub(super) fn fail(&mut self) {
        if let Ground::Program(within) = self {
            within.carrier.leave();
        }
    }

    /// It has caught an error.
    pub(super) fn back(&mut self, savepoint: String) -> Result<()> {
        match self {
            Ground::Session(session, _) => {
                session.transaction_control(&Transaction::RollbackTo(savepoint.clone()))?;
                session.transaction_control(&Transaction::Release(savepoint))?;
            }
            Ground::Program(within) => within.carrier.back(),
        }
        Ok(())
    }

    /// Whether nothing goes on: the transaction has to be run again.
    pub(super) fn is_stopped(&self) -> bool {
        matches!(self, Ground::Program(Within { stopped: Some(_), .. }))
    }

    pub(super) fn check(&mut self) -> Result<()> {
        match self {
            Ground::Session(session, _) => session.check_cancelled(),
            Ground::Program(within) => within.carrier.check(),
        }
    }

    /// Whether a call may mean a routine that is carried out by steps because it is called by itself.
    pub(super) fn may_go_by_steps(&mut self, call: &FunctionCall) -> bool {
        match self {
            Ground::Session(session, _) => session.may_go_by_steps(call),
            Ground::Program(_) => false,
        }
    }

    /// Whether a statement made at run time is a program here; else it changes the schema.
    pub(super) fn runs(&self, statement: &Statement) -> bool {
        let setting =
            matches!(self, Ground::Program(_)) && matches!(statement.kind, StatementKind::Set { .. });
        is_program(statement) || setting || matches!(statement.kind, StatementKind::Truncate { .. })
    }

    pub(super) fn change_schema(&mut self, statement: &Statement, text: &str) -> Result<Vec<Notice>> {
        if matches!(statement.kind, StatementKind::Transaction(_)) {
            return Err(transaction_executed());
        }
        match self {
            Ground::Session(session, _) => Ok(session.run_statement(statement, text, &())?.notices),
            Ground::Program(_) => Err(Error::unsupported(
                "EXECUTE of a schema change or transaction control",
                "Run it outside of the procedure.",
            )),
        }
    }

    /// Names and types of a cursor's columns.
    pub(super) fn cursor_columns(&self, name: &str) -> Option<Vec<(String, Type)>> {
        match self {
            Ground::Session(session, _) => {
                let cursor = session.cursors.open.get(name)?;
                Some(cursor.columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect())
            }
            Ground::Program(within) => within.carrier.cursor_columns(name),
        }
    }

    /// What names mean.
    pub(super) fn catalog(&mut self) -> Arc<Catalog> {
        match self {
            Ground::Session(session, _) => session.schema().catalog.clone(),
            Ground::Program(within) => within.catalog.clone(),
        }
    }

    /// The last columns of a cursor's rows are the keys of these rows, which are of a table.
    pub(super) fn split_cursor(&mut self, name: &str, table: TableId, keys: &[Output]) -> Result<()> {
        match self {
            Ground::Session(session, _) => session.cursors.split(name, table, keys),
            Ground::Program(within) => within.carrier.split_cursor(name, table, keys),
        }
    }

    /// Where a cursor stands.
    pub(super) fn cursor_at(&self, name: &str) -> Option<CursorAt> {
        match self {
            Ground::Session(session, _) => session.cursors.open.get(name).map(Cursor::stands),
            Ground::Program(within) => within.carrier.cursor_at(name),
        }
    }

    /// A row of the answer.
    pub(super) fn answer(&mut self, row: &[Datum]) -> Result<()> {
        match self {
            Ground::Session(_, rows) => {
                rows.push(row.to_vec());
                Ok(())
            }
            Ground::Program(within) => within.carrier.answer(row),
        }
    }

    /// Runs a step.
    pub(super) fn step(
        &mut self,
        step: Step,
        values: Vec<Datum>,
        notices: &mut Vec<Notice>,
    ) -> Result<Answer> {
        if let Ground::Program(within) = self {
            let at = within.carrier.looks_at();
            if at != within.at {
                within.made.clear();
                within.at = at;
            }
        }
        if let Ground::Program(within) = self
            && let Some((_, (columns, code))) = within.made.iter().find(|(made, _)| *made == step)
        {
            let (columns, code) = (columns.clone(), code.clone());
            return within.run(columns, &code, &values);
        }
        let text = step.body.clone();
        let remembered = matches!(self, Ground::Program(_)).then(|| step.clone());
        let statement = Statement { kind: StatementKind::Step(Box::new(step)), position: 0, end: 0 };
        match (self, remembered) {
            (Ground::Program(within), Some(step)) => {
                let made = within.carrier.program(&Wanted { statement, types: ParamTypes::default() })?;
                if within.made.len() < MADE_MAX {
                    within.made.push((step, made.clone()));
                }
                within.run(made.0, &made.1, &values)
            }
            (ground, _) => ground.run(statement, &text, ParamTypes::default(), values, notices),
        }
    }

    /// Whether a step can be run, as far as that is known beforehand.
    pub(super) fn may_run(&mut self, step: Step) -> bool {
        let text = step.body.clone();
        let statement = Statement { kind: StatementKind::Step(Box::new(step)), position: 0, end: 0 };
        match self {
            Ground::Session(session, _) => {
                let prepared = session.analyse_declared(statement, &text, ParamTypes::default());
                let (schema, role) = (session.schema(), session.user.current());
                prepared.is_ok_and(|prepared| prepared.compiled(&schema, role).is_ok())
            }
            Ground::Program(within) => {
                within.carrier.program(&Wanted { statement, types: ParamTypes::default() }).is_ok()
            }
        }
    }

    /// Runs a statement within the transaction.
    pub(super) fn run(
        &mut self,
        statement: Statement,
        text: &str,
        types: ParamTypes,
        values: Vec<Datum>,
        notices: &mut Vec<Notice>,
    ) -> Result<Answer> {
        let session = match self {
            Ground::Session(session, _) => session,
            Ground::Program(within) => {
                let (columns, code) = within.carrier.program(&Wanted { statement, types })?;
                return within.run(columns, &code, &values);
            }
        };
        let command = command(&statement);
        let prepared = session.analyse_declared(statement, text, types)?;
        session.notices.clear();
        session.rows.clear();
        session.sunk = 0;
        session.catch_up()?;
        let schema = session.schema();
        let compiled = prepared.compiled(&schema, session.user.current())?;
        if session.read_only && session.reading.is_none() && !compiled.pure {
            return Err(crate::engine::program::refusal::read_only(command));
        }
        let outcome = session.in_block(|s| {
            s.touch(&compiled.touches)?;
            s.run_datums(&schema, &compiled.code, &values, false)
        });
        notices.append(&mut session.notices);
        outcome?;
        session.follow_role();
        let columns = prepared.columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
        let rows = std::mem::take(&mut session.rows).into_iter().map(|row| row.values).collect();
        Ok(Answer { columns, rows, counted: session.machine.row_count() })
    }
}

/// What a statement is called where it must not be run.
fn command(statement: &Statement) -> &'static str {
    let inner = match &statement.kind {
        StatementKind::Step(step) => match &step.kind {
            StepKind::Statement(inner) => match &inner.kind {
                StmtKind::Sql(sql) => Some(&**sql),
                _ => None,
            },
            StepKind::Change(sql) => Some(&**sql),
            _ => None,
        },
        _ => Some(statement),
    };
    inner.map(tag_name).filter(|tag| !tag.is_empty()).unwrap_or("DO")
}

impl Within<'_> {
    fn run(
        &mut self,
        columns: Vec<(String, Type)>,
        code: &planaria_exec::Code,
        values: &[Datum],
    ) -> Result<Answer> {
        match self.carrier.run(code, values) {
            Ok((rows, counted)) => Ok(Answer { columns, rows, counted }),
            Err(Interrupt::Error(error)) => Err(error),
            Err(stopped) => {
                self.stopped = Some(stopped);
                Err(Error::internal("the transaction is to be run again"))
            }
        }
    }
}
