//! Bodies that are carried out statement by statement: see [`goes_by_steps`](planaria_sql::lower::plpgsql::goes_by_steps). DO
//! blocks here; [routines](routine), whose call is all that a statement does.
//!
//! 1. The whole is one transaction: a block of its own, unless one is open. Where it meets others it is done again
//!    from its beginning, as any DO is; the messages are those of the time that succeeded.
//! 2. Each statement that has no others in it is a program ([`StatementKind::Step`]) that takes the variables and
//!    answers with them. Between statements they are values here, with the types that they have by then: a record takes
//!    whatever row comes.
//! 3. What changes the schema is run as it would be outside, and the next step is analysed under what it made.
//! 4. An EXCEPTION block is a savepoint.
//!
//! So it is slower by far than a program, and logged by the rows that it changes. COMMIT and ROLLBACK end the transaction, if it is its
//! own, and begin another; what meets others behind that fails. A routine whose records take rows of which nothing is known is carried out so by whatever program calls it ([`Ground`]).

mod current_of;
mod cursor;
mod diagnostics;
mod ends;
mod ground;
mod routine;
mod rows;
mod trigger;
mod variables;

pub(crate) use ground::within;

use crate::engine::program::dynamic::among;
use crate::engine::schema_version::SchemaVersion;
use crate::notice::Notice;
use crate::session::StatementResult;
use crate::session::answer::done;
use crate::session::core::{Block, SessionCore};
use ground::Ground;
use planaria_base::types::RowType;
use planaria_base::{Datum, Error, Isolation, ProcedureId, Result, SqlState, Type, TypeId};
use planaria_sql::ddl::is_ddl;
use planaria_sql::lower::{self, ParamTypes};
use planaria_syntax::ast::plpgsql::{
    Declaration, DeclarationKind, Opened, PlBlock, PlHandler, RaiseWhat, Step, StepFrame, StepKind,
    StepVariable, Stmt, StmtKind,
};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{
    Expr, ExprKind, Into, Name, Position, Query, QueryBody, Statement, StatementKind, Transaction,
    TypeNameKind,
};
use planaria_syntax::parse;
use std::sync::Arc;

/// Names of hidden variables.
const OPERAND: &str = "(operand)";
const CONVERTED: &str = "(converted)";

/// What errors call the body of a DO block.
const BLOCK: &str = "inline_code_block";

/// Times that it is done again where it meets others.
const ATTEMPTS_MAX: usize = 20;

impl SessionCore {
    /// Carries a DO block out. `start`: where its body begins in the statement's text.
    pub(crate) fn do_by_steps(&mut self, body: &str, start: Position) -> Result<StatementResult> {
        let block = parse::plpgsql(body)?;
        let own = matches!(self.block, Block::None);
        let mut attempts = 0;
        loop {
            if own {
                let begins = Transaction::Begin { read_only: None, isolation: Some(Isolation::Serializable) };
                self.transaction_control(&begins)?;
            }
            let mut steps = Steps::new(Ground::Session(self, Vec::new()), body, BLOCK, &block);
            steps.ends = own.then_some(0);
            let outcome = steps.block(&block);
            let ended = steps.has_ended();
            let notices = std::mem::take(&mut steps.notices);
            let outcome = outcome.and_then(|_| match own {
                true => self.transaction_control(&Transaction::Commit).map(|_| ()),
                false => Ok(()),
            });
            let Err(error) = outcome else {
                let mut result = done("DO");
                result.notices = notices;
                return Ok(result);
            };
            if own && !matches!(self.block, Block::None) {
                self.transaction_control(&Transaction::Rollback)?;
            }
            attempts += 1;
            if own && !ended && error.is_conflict() && attempts < ATTEMPTS_MAX {
                continue;
            }
            // What was said before it failed is heard all the same.
            self.notices.splice(0..0, notices);
            return Err(error.within(start));
        }
    }
}

/// How a statement was left.
enum Flow {
    Next,
    Exit(Option<String>),
    Continue(Option<String>),
    Return,
}

struct Frame {
    label: Option<String>,
    variables: Vec<Variable>,
}

struct Variable {
    known: StepVariable,
    value: Datum,
    /// Declared as `record`: it takes the structure of whatever row comes.
    record: bool,
    /// A bound cursor: how it is declared.
    cursor: Option<Arc<Declaration>>,
}

/// The answer of a step: names and types of its columns, and its rows.
struct Answer {
    columns: Vec<(String, Type)>,
    rows: Vec<Vec<Datum>>,
    /// Rows that it has changed, where it counts them.
    counted: Option<i64>,
}

/// What a body answers with.
enum Gives {
    /// Its OUT parameters, if any.
    Outs,
    /// A value.
    Value(Type),
    /// A row, as the routine declares it.
    Row(ProcedureId),
    /// Rows.
    Set(ProcedureId),
    /// A row before which a trigger fires; its type, where it is stored.
    Before(Option<RowType>),
    /// Nothing that anybody looks at.
    Nothing,
}

struct Steps<'s> {
    ground: Ground<'s>,
    body: Arc<str>,
    /// What errors call it.
    title: Arc<str>,
    /// Of a function: what it returns, and that, once it is known.
    gives: Gives,
    returned: Option<Vec<Datum>>,
    /// Behind a row stands whether there is one.
    tells_row: bool,
    /// Transition tables.
    tables: Vec<(String, Type, Datum)>,
    /// The transaction is its own, and it may end it: how often it has.
    ends: Option<u32>,
    /// How many blocks are around that catch errors.
    guarded: u32,
    /// Rows that cursors stand on are changed, so those that are opened keep the keys of theirs.
    keeps_keys: bool,
    /// Where the cursors of loops stand whose rows were fetched ahead, the innermost last.
    ahead: Vec<current_of::Ahead>,
    /// How many parameters have numbers.
    parameters: usize,
    conflict: planaria_syntax::ast::plpgsql::VariableConflict,
    frames: Vec<Frame>,
    found: bool,
    row_count: i64,
    /// The errors that are being handled, the innermost last.
    handled: Vec<Error>,
    notices: Vec<Notice>,
}

impl<'s> Steps<'s> {
    fn new(ground: Ground<'s>, body: &str, title: &str, block: &PlBlock) -> Steps<'s> {
        Steps {
            ground,
            body: body.into(),
            title: title.into(),
            gives: Gives::Outs,
            returned: None,
            tells_row: false,
            tables: Vec::new(),
            ends: None,
            guarded: 0,
            keeps_keys: lower::plpgsql::changes_current(block),
            ahead: Vec::new(),
            parameters: 0,
            conflict: block.conflict,
            frames: Vec::new(),
            found: false,
            row_count: 0,
            handled: Vec::new(),
            notices: Vec::new(),
        }
    }

    fn block(&mut self, block: &PlBlock) -> Result<Flow> {
        self.frames.push(Frame { label: block.label.clone(), variables: Vec::new() });
        let depth = self.frames.len();
        let outcome = self.block_within(block);
        self.frames.truncate(depth - 1);
        match outcome? {
            Flow::Exit(label) if label.is_some() && label == block.label => Ok(Flow::Next),
            flow => Ok(flow),
        }
    }

    fn block_within(&mut self, block: &PlBlock) -> Result<Flow> {
        for declaration in &block.declarations {
            self.declare(declaration).map_err(|error| self.placed(error, declaration.position))?;
        }
        if block.handlers.is_empty() {
            return self.statements(&block.body);
        }
        let savepoint = self.ground.enter()?;
        self.guarded += 1;
        let (frames, ahead) = (self.frames.len(), self.ahead.len());
        let handled = self.handled.len();
        let outcome = self.statements(&block.body);
        self.guarded -= 1;
        match outcome {
            Ok(flow) => {
                self.ground.leave(savepoint)?;
                Ok(flow)
            }
            Err(error) => {
                self.frames.truncate(frames);
                self.ahead.truncate(ahead);
                self.handled.truncate(handled);
                let handler =
                    if self.ground.is_stopped() { None } else { ends::handler_of(&block.handlers, &error)? };
                let Some(handler) = handler else {
                    self.ground.fail();
                    return Err(error);
                };
                self.ground.back(savepoint)?;
                self.handle(handler, error)
            }
        }
    }

    fn handle(&mut self, handler: &PlHandler, error: Error) -> Result<Flow> {
        let text = |name: &str, value: String| Variable {
            known: StepVariable {
                name: name.to_owned(),
                ty: Some(Type::Text),
                constant: false,
                not_null: false,
                domain: None,
                as_value: false,
            },
            value: Datum::Text(value),
            record: false,
            cursor: None,
        };
        let variables = vec![
            text("sqlstate", error.sqlstate().as_str().to_owned()),
            text("sqlerrm", error.message().to_owned()),
        ];
        self.frames.push(Frame { label: None, variables });
        self.handled.push(error);
        let flow = self.statements(&handler.body)?;
        self.handled.pop();
        self.frames.pop();
        Ok(flow)
    }

    fn declare(&mut self, declaration: &Declaration) -> Result<()> {
        let (constant, not_null, record) = match &declaration.kind {
            DeclarationKind::Variable { ty, constant, not_null, .. } => {
                (*constant, *not_null, matches!(ty.kind, TypeNameKind::Record))
            }
            DeclarationKind::Cursor { .. } => return self.declare_cursor(declaration),
            DeclarationKind::Alias(_) => return Err(refused("ALIAS")),
        };
        let answer = self.step(StepKind::Declare(declaration.clone()))?;
        let domain = match answer.rows.first().map(Vec::as_slice) {
            Some([_, Datum::Int(id)]) => u32::try_from(*id).ok().map(TypeId),
            _ => None,
        };
        let (ty, value) = answer.only()?;
        let ty = (ty != Type::Void).then_some(ty);
        let known =
            StepVariable { name: declaration.name.clone(), ty, constant, not_null, domain, as_value: false };
        let frame =
            self.frames.last_mut().ok_or_else(|| Error::internal("a declaration outside of a block"))?;
        frame.variables.push(Variable { known, value, record, cursor: None });
        Ok(())
    }

    fn statements(&mut self, statements: &[Stmt]) -> Result<Flow> {
        for statement in statements {
            self.ground.check()?;
            match self.statement(statement)? {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, statement: &Stmt) -> Result<Flow> {
        let at = statement.position;
        match &statement.kind {
            StmtKind::Block(block) => self.block(block),
            StmtKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    if self.is_true(condition)? {
                        return self.statements(body);
                    }
                }
                self.statements(otherwise)
            }
            StmtKind::Case { operand, whens, otherwise } => {
                let frames = self.frames.len();
                if let Some(operand) = operand {
                    let (ty, value) = self.step(StepKind::Value(operand.clone()))?.only()?;
                    self.frames.push(Frame { label: None, variables: vec![hidden(OPERAND, ty, value)] });
                }
                let mut chosen = None;
                for (values, body) in whens {
                    for value in values {
                        let condition = match operand {
                            None => value.clone(),
                            Some(_) => equals(named(OPERAND, value.position), value),
                        };
                        if self.is_true(&condition)? {
                            chosen.get_or_insert(body);
                            break;
                        }
                    }
                    if chosen.is_some() {
                        break;
                    }
                }
                self.frames.truncate(frames);
                match chosen.or(otherwise.as_ref()) {
                    Some(body) => self.statements(body),
                    None => {
                        let error = Error::new(SqlState::new("20000"), "case not found")
                            .with_hint("CASE statement is missing ELSE part.");
                        Err(self.placed(error, at))
                    }
                }
            }
            StmtKind::Loop { label, body } => self.repeat(label.as_deref(), body, &mut |_| Ok(true)),
            StmtKind::While { label, condition, body } => {
                self.repeat(label.as_deref(), body, &mut |s| s.is_true(condition))
            }
            StmtKind::ForRange { label, variable, reverse, from, to, step, body } => {
                let from = self.whole_number(from, "lower bound", at)?;
                let to = self.whole_number(to, "upper bound", at)?;
                let step = match step {
                    Some(step) => self.whole_number(step, "BY value", at)?,
                    None => 1,
                };
                if step <= 0 {
                    let error = Error::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        "BY value of FOR loop must be greater than zero",
                    );
                    return Err(self.placed(error, at));
                }
                self.for_range(
                    label.as_deref(),
                    variable,
                    (from, to, if *reverse { -step } else { step }),
                    body,
                )
            }
            StmtKind::ForQuery { label, targets, query, body } => {
                let shown = lower::shown(query)?;
                let query = shown.as_ref().unwrap_or(query);
                let answer = self.step(match &query.kind {
                    StatementKind::Query(query) => StepKind::Query(query.clone()),
                    _ => StepKind::Change(Box::new(query.clone())),
                })?;
                self.for_rows(label.as_deref(), targets, answer, body, at)
            }
            StmtKind::ForExecute { label, targets, text, using, body } => {
                let (statement, text, types, values) = self.dynamic(text, using, at)?;
                // What is looped over is not counted.
                let counted = self.row_count;
                let answer = match has_rows(&statement) {
                    true => self
                        .run_dynamic(&statement, &text, types, values)
                        .map_err(|error| self.placed(error, at))?,
                    false => None,
                };
                let answer = answer.ok_or_else(|| {
                    let words: Vec<String> = text.split_whitespace().take(2).map(str::to_uppercase).collect();
                    let tag = crate::engine::program::kind::tag_name(&statement);
                    let tag = if tag.is_empty() { words.join(" ") } else { tag.to_owned() };
                    let message = format!("cannot open {tag} query as cursor");
                    self.placed(Error::new(SqlState::new("42P11"), message), at)
                })?;
                self.row_count = counted;
                self.for_rows(label.as_deref(), targets, answer, body, at)
            }
            StmtKind::ForCursor { label, targets, cursor, args, body } => {
                self.for_cursor((label.as_deref(), targets, body), (cursor, args), at)
            }
            StmtKind::ForEach { label, targets, slice, array, body } => {
                let answer = self.step(StepKind::Value(array.clone()))?;
                let (ty, value) = answer.only()?;
                let of = ty.element().ok_or_else(|| {
                    Error::new(SqlState::DATATYPE_MISMATCH, "FOREACH expression must yield an array")
                })?;
                let inner = slice.unwrap_or(0);
                let parts =
                    variables::parts(value, inner as usize).map_err(|error| self.placed(error, at))?;
                let of = if inner == 0 { of } else { ty };
                let mut elements = parts.into_iter();
                let mut any = false;
                let flow = self.repeat(label.as_deref(), body, &mut |s| {
                    let Some(element) = elements.next() else { return Ok(false) };
                    any = true;
                    match targets.len() {
                        1 => s.assign_values(targets, &[(of.clone(), element)], at)?,
                        _ => s.assign_fields(targets, &of, element, at)?,
                    }
                    Ok(true)
                });
                self.found = any;
                flow
            }
            StmtKind::Exit { label, when } => match self.holds(when.as_ref())? {
                true => Ok(Flow::Exit(label.clone())),
                false => Ok(Flow::Next),
            },
            StmtKind::Continue { label, when } => match self.holds(when.as_ref())? {
                true => Ok(Flow::Continue(label.clone())),
                false => Ok(Flow::Next),
            },
            StmtKind::Return(None) => Ok(Flow::Return),
            StmtKind::Return(Some(value)) => self.return_(statement, value),
            StmtKind::ReturnNext(_) | StmtKind::ReturnQuery(_) | StmtKind::ReturnQueryExecute { .. }
                if let Gives::Set(routine) = self.gives =>
            {
                self.return_rows(statement, routine)?;
                Ok(Flow::Next)
            }
            _ => self.simple(statement).map(|()| Flow::Next),
        }
    }

    /// A statement that has no others in it.
    fn simple(&mut self, statement: &Stmt) -> Result<()> {
        let at = statement.position;
        match &statement.kind {
            StmtKind::Raise(raise) if matches!(raise.what, RaiseWhat::Current) && raise.using.is_empty() => {
                let error = self.handled.last().cloned().unwrap_or_else(|| {
                    let message = "RAISE without parameters cannot be used outside an exception handler";
                    Error::new(SqlState::new("0Z002"), message)
                });
                Err(self.placed(error, at))
            }
            StmtKind::Sql(sql) if is_ddl(sql) && !matches!(sql.kind, StatementKind::Truncate { .. }) => {
                if let StatementKind::CreateTableAs { query, .. } = &sql.kind
                    && self.names_variable(query)
                {
                    return Err(self.placed(refused("variables in the query of CREATE TABLE AS"), at));
                }
                let body = self.body.clone();
                self.change_schema(sql, &body).map_err(|error| self.placed(error, at))
            }
            StmtKind::Sql(sql) if lower::plpgsql::needs_session(sql) => {
                let body = self.body.clone();
                self.change_schema(sql, &body).map_err(|error| self.placed(error, at))
            }
            StmtKind::Sql(sql) if let Some((query, target)) = self.record_of_into(sql) => {
                let answer = self.step(StepKind::Query(Box::new(query)))?;
                self.found = !answer.rows.is_empty();
                self.row_count = answer.rows.len().min(1) as i64;
                let row = answer.rows.into_iter().next();
                self.assign_record(&target, &answer.columns, row).map_err(|error| self.placed(error, at))
            }
            StmtKind::Assign { target, value }
                if let Some(record) = self.record(std::slice::from_ref(target)) =>
            {
                let answer = self.step(StepKind::Value(value.clone()))?;
                let (ty, value) = answer.only()?;
                let ty = match ty {
                    Type::Record(_) => Some(ty),
                    _ if value == Datum::Null => None,
                    _ => {
                        let message = "input of anonymous composite types is not implemented";
                        return Err(self.placed(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message), at));
                    }
                };
                self.set_record(&record, ty, value).map_err(|error| self.placed(error, at))
            }
            StmtKind::Sql(sql) if let Some(cursor) = lower::current_of(sql) => {
                self.change_current(sql, cursor, at).map_err(|error| self.placed(error, at))
            }
            StmtKind::Open { cursor, what: Opened::Query(query), .. } if self.keeps_keys => {
                self.open_keyed(statement, cursor, query)
            }
            StmtKind::Execute { text, into, using } => self.execute(text, into.as_ref(), using, at),
            StmtKind::Perform(query)
                if let Some(call) = lower::plpgsql::sole_call(query)
                    && self.ground.may_go_by_steps(call) =>
            {
                self.perform(call, at)
            }
            StmtKind::Sql(sql)
                if let StatementKind::Call { call, .. } = &sql.kind
                    && self.ground.may_go_by_steps(call) =>
            {
                self.call(sql, call, at)
            }
            StmtKind::GetDiagnostics { stacked, items } => {
                for (target, item) in items {
                    let value = self.diagnostic(*stacked, item, at)?;
                    self.assign_values(std::slice::from_ref(target), &[value], at)?;
                }
                Ok(())
            }
            StmtKind::Fetch { cursor, into: Some(into), .. }
                if let Some(record) = self.record(&into.targets) =>
            {
                self.fetch_record(statement, cursor, &record)
            }
            StmtKind::Open { cursor, what: Opened::Bound(args), .. } => self.open_bound(cursor, args, at),
            StmtKind::Transaction(ends) => self.end_transaction(ends).map_err(|error| self.placed(error, at)),
            _ => self.plain(statement),
        }
    }

    /// A statement as a program of its own.
    fn plain(&mut self, statement: &Stmt) -> Result<()> {
        let answer = self.step(StepKind::Statement(Box::new(statement.clone())));
        let answer = answer.map_err(|error| match error.sqlstate() {
            SqlState::READ_ONLY_SQL_TRANSACTION => self.placed(error, statement.position),
            _ => error,
        })?;
        let Some(row) = answer.rows.into_iter().next() else { return Ok(()) };
        let mut values = answer.columns.into_iter().zip(row);
        for variable in self.frames.iter_mut().flat_map(|frame| &mut frame.variables) {
            let ((_, ty), value) =
                values.next().ok_or_else(|| Error::internal("a step without its variables"))?;
            variable.known.ty = (ty != Type::Void).then_some(ty);
            variable.value = value;
        }
        let mut rest = values.map(|(_, value)| value);
        self.found = matches!(rest.next(), Some(Datum::Bool(true)));
        if let Some(Datum::Int(n)) = rest.next() {
            self.row_count = n;
        }
        Ok(())
    }

    fn execute(&mut self, text: &Expr, into: Option<&Into>, using: &[Expr], at: Position) -> Result<()> {
        let (statement, text, types, values) = self.dynamic(text, using, at)?;
        if is_ddl(&statement) && !matches!(statement.kind, StatementKind::Truncate { .. }) {
            return self
                .change_schema(&statement, &text)
                .map_err(|error| self.placed_at(of_statement(of_text(error, &text), &text), at));
        }
        let outcome = self.run_dynamic(&statement, &text, types, values);
        let answer = outcome.map_err(|error| self.placed_at(of_statement(error, &text), at))?;
        let Some(into) = into else { return Ok(()) };
        let Some(Answer { columns, rows, .. }) = answer else {
            let message = "INTO used with a command that cannot return data";
            return Err(self.placed(Error::new(SqlState::SYNTAX_ERROR, message), at));
        };
        if into.strict && rows.len() != 1 {
            let error = match rows.is_empty() {
                true => Error::new(SqlState::NO_DATA_FOUND, "query returned no rows"),
                false => Error::new(SqlState::TOO_MANY_ROWS, "query returned more than one row"),
            };
            return Err(self.placed(error, at));
        }
        self.assign_row(&into.targets, &columns, rows.into_iter().next(), at)
    }

    /// The statement of an EXECUTE, its text, and its parameters.
    fn dynamic(
        &mut self,
        text: &Expr,
        using: &[Expr],
        at: Position,
    ) -> Result<(Statement, String, Vec<Option<Type>>, Vec<Datum>)> {
        let (_, made) = self.step(StepKind::Value(text.clone()))?.only()?;
        let Datum::Text(made) = made else {
            let error =
                Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "query string argument of EXECUTE is null");
            return Err(self.placed(error, at));
        };
        let (mut types, mut values) = (Vec::new(), Vec::new());
        for e in using {
            let (ty, value) = self.step(StepKind::Value(e.clone()))?.only()?;
            types.push(Some(ty));
            values.push(value);
        }
        let mut statements =
            parse::statements(&made).map_err(|error| self.placed(error.in_query(&*made), at))?;
        match (statements.pop(), statements.is_empty()) {
            (Some(statement), true) if !matches!(statement.kind, StatementKind::Transaction(_)) => {
                let statement = lower::shown(&statement)?.unwrap_or(statement);
                Ok((statement, made, types, values))
            }
            (Some(_), true) => {
                let message = "EXECUTE of transaction commands is not implemented";
                Err(self.placed(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message), at))
            }
            (None, _) => {
                let error = Error::new(SqlState::SYNTAX_ERROR, "EXECUTE of an empty statement");
                Err(self.placed(error, at))
            }
            _ => {
                let hint = "Execute them one after another.";
                Err(self.placed(Error::unsupported("EXECUTE of several statements", hint), at))
            }
        }
    }

    /// Runs a statement made at run time; `None`: it has no rows to answer with.
    fn run_dynamic(
        &mut self,
        statement: &Statement,
        text: &str,
        types: Vec<Option<Type>>,
        values: Vec<Datum>,
    ) -> Result<Option<Answer>> {
        if !self.ground.runs(statement) {
            self.change_schema(statement, text).map_err(|error| of_text(error, text))?;
            return Ok(None);
        }
        let (mut types, mut values) = (types, values);
        let names: Vec<String> = self.tables.iter().map(|(name, ..)| name.clone()).collect();
        for (_, ty, rows) in &self.tables {
            types.push(Some(ty.clone()));
            values.push(rows.clone());
        }
        let statement = among(statement.clone(), text, &names);
        let answer = self
            .ground
            .run(statement, text, ParamTypes(types), values, &mut self.notices)
            .map_err(|error| of_text(error, text))?;
        self.row_count = answer.counted.unwrap_or(answer.rows.len() as i64);
        Ok((!answer.columns.is_empty()).then_some(answer))
    }

    fn change_schema(&mut self, statement: &Statement, text: &str) -> Result<()> {
        let notices = self.ground.change_schema(statement, text)?;
        self.notices.extend(notices);
        Ok(())
    }

    fn step_of(&self, kind: StepKind) -> Step {
        let known = |frame: &Frame| StepFrame {
            label: frame.label.clone(),
            variables: frame.variables.iter().map(|v| v.known.clone()).collect(),
        };
        Step {
            body: self.body.clone(),
            title: self.title.clone(),
            conflict: self.conflict,
            frames: self.frames.iter().map(known).collect(),
            parameters: self.parameters,
            tables: self.tables.iter().map(|(name, ty, _)| (name.clone(), ty.clone())).collect(),
            kind,
        }
    }

    fn step(&mut self, kind: StepKind) -> Result<Answer> {
        let step = self.step_of(kind);
        let variables = self.frames.iter().flat_map(|frame| &frame.variables);
        let mut values: Vec<Datum> =
            variables.filter(|v| v.known.ty.is_some()).map(|v| v.value.clone()).collect();
        values.extend([Datum::Bool(self.found), Datum::Int(self.row_count)]);
        values.extend(self.tables.iter().map(|(_, _, rows)| rows.clone()));
        self.ground.step(step, values, &mut self.notices)
    }

    fn is_true(&mut self, condition: &Expr) -> Result<bool> {
        Ok(self.converted(condition, Type::Bool)? == Datum::Bool(true))
    }

    /// The value of an expression, as it is assigned to a variable of a type.
    fn converted(&mut self, e: &Expr, ty: Type) -> Result<Datum> {
        self.frames.push(Frame { label: None, variables: vec![hidden(CONVERTED, ty, Datum::Null)] });
        let depth = self.frames.len();
        let target = named(CONVERTED, e.position);
        let assign = StmtKind::Assign { target, value: e.clone() };
        let (found, count) = (self.found, self.row_count);
        self.plain(&Stmt { position: e.position, end: e.position, kind: assign })?;
        (self.found, self.row_count) = (found, count);
        let frame = self.frames.drain(depth - 1..).next();
        let variable = frame.and_then(|frame| frame.variables.into_iter().next());
        variable.map(|variable| variable.value).ok_or_else(|| Error::internal("a step without its variables"))
    }

    fn holds(&mut self, when: Option<&Expr>) -> Result<bool> {
        when.map_or(Ok(true), |condition| self.is_true(condition))
    }

    fn whole_number(&mut self, e: &Expr, what: &str, at: Position) -> Result<i64> {
        match self.converted(e, Type::Int4)? {
            Datum::Int(n) => Ok(n),
            _ => {
                let message = format!("{what} of FOR loop cannot be null");
                Err(self.placed(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message), at))
            }
        }
    }

    /// A loop: `next` says before each turn whether there is one.
    fn repeat(
        &mut self,
        label: Option<&str>,
        body: &[Stmt],
        next: &mut dyn FnMut(&mut Self) -> Result<bool>,
    ) -> Result<Flow> {
        while next(self)? {
            self.ground.check()?;
            let own = |of: &Option<String>| of.is_none() || of.as_deref() == label;
            match self.statements(body)? {
                Flow::Next => {}
                Flow::Exit(of) if own(&of) => break,
                Flow::Continue(of) if own(&of) => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn for_range(
        &mut self,
        label: Option<&str>,
        variable: &str,
        (from, to, step): (i64, i64, i64),
        body: &[Stmt],
    ) -> Result<Flow> {
        let known = StepVariable {
            name: variable.to_owned(),
            ty: Some(Type::Int4),
            constant: false,
            not_null: false,
            domain: None,
            as_value: false,
        };
        let counter = Variable { known, value: Datum::Int(from), record: false, cursor: None };
        // The loop's label names its variable, too.
        self.frames.push(Frame { label: label.map(str::to_owned), variables: vec![counter] });
        let depth = self.frames.len();
        let mut next = Some(from);
        let mut any = false;
        let flow = self.repeat(label, body, &mut |s| {
            let Some(now) = next.filter(|now| if step > 0 { *now <= to } else { *now >= to }) else {
                return Ok(false);
            };
            any = true;
            next = now.checked_add(step).filter(|next| i32::try_from(*next).is_ok());
            if let Some(counter) = s.frames.get_mut(depth - 1).and_then(|f| f.variables.first_mut()) {
                counter.value = Datum::Int(now);
            }
            Ok(true)
        });
        self.frames.truncate(depth - 1);
        self.found = any;
        flow
    }

    fn for_rows(
        &mut self,
        label: Option<&str>,
        targets: &[Expr],
        answer: Answer,
        body: &[Stmt],
        at: Position,
    ) -> Result<Flow> {
        let Answer { columns, rows, .. } = answer;
        let mut rows = rows.into_iter();
        let mut any = false;
        if rows.len() == 0 {
            self.assign_row(targets, &columns, None, at)?;
        }
        let flow = self.repeat(label, body, &mut |s| {
            let Some(row) = rows.next() else { return Ok(false) };
            any = true;
            s.assign_row(targets, &columns, Some(row), at)?;
            Ok(true)
        });
        self.found = any;
        flow
    }

    fn names_variable(&self, query: &Query) -> bool {
        let mut names = false;
        visit::query(query, &mut |node| {
            if let Node::Expr(Expr { kind: ExprKind::Column(name), .. }) = node {
                names |= name.parts.first().is_some_and(|first| self.find(first).is_some());
            }
        });
        names
    }

    /// For `SELECT .. INTO record`: the query without INTO, and the record.
    fn record_of_into(&self, statement: &Statement) -> Option<(Query, String)> {
        let StatementKind::Query(query) = &statement.kind else { return None };
        let QueryBody::Select(select) = &query.body else { return None };
        let into = select.into.as_ref().filter(|into| !into.strict)?;
        let record = self.record(&into.targets)?;
        let mut query = (**query).clone();
        if let QueryBody::Select(select) = &mut query.body {
            select.into = None;
        }
        // More rows are of no interest, and must not be computed.
        if query.limit.is_none() && !query.ties {
            let position = query.position;
            query.limit = Some(Expr { position, kind: ExprKind::Integer("1".to_owned()) });
        }
        Some((query, record))
    }

    /// Where in the body an error arose that no program told.
    fn placed(&self, error: Error, at: Position) -> Error {
        match error.fields().context.as_deref().is_some_and(|lines| lines.contains(&*self.title)) {
            true => error,
            false => self.placed_at(error, at),
        }
    }

    fn placed_at(&self, error: Error, at: Position) -> Error {
        SchemaVersion::source_of_body(&self.title, &self.body).context(at, error)
    }
}

impl Answer {
    /// Its only value.
    fn only(self) -> Result<(Type, Datum)> {
        let value = self.rows.into_iter().next().and_then(|row| row.into_iter().next());
        match (self.columns.into_iter().next(), value) {
            (Some((_, ty)), Some(value)) => Ok((ty, value)),
            _ => Err(Error::internal("a step without its answer")),
        }
    }
}

/// Whether a statement answers with rows.
fn has_rows(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Query(_) => true,
        StatementKind::Insert(insert) => !insert.returning.is_empty(),
        StatementKind::Update(update) => !update.returning.is_empty(),
        StatementKind::Delete(delete) => !delete.returning.is_empty(),
        _ => false,
    }
}

fn equals(left: Expr, right: &Expr) -> Expr {
    let position = right.position;
    let kind = ExprKind::Binary(planaria_syntax::ast::BinaryOp::Eq, Box::new(left), Box::new(right.clone()));
    Expr { position, kind }
}

fn named(name: &str, position: Position) -> Expr {
    Expr { position, kind: ExprKind::Column(Name { parts: vec![name.to_owned()], position }) }
}

/// A variable that no text can name.
fn hidden(name: &str, ty: Type, value: Datum) -> Variable {
    let (name, ty) = (name.to_owned(), Some(ty));
    let known = StepVariable { name, ty, constant: false, not_null: false, domain: None, as_value: false };
    Variable { known, value, record: false, cursor: None }
}

/// An error whose place is in a text made at run time; one that a routine called there has told of has none.
fn of_text(error: Error, text: &str) -> Error {
    let fields = error.fields();
    if fields.position.is_some() && fields.context.is_none() { error.in_query(text) } else { error }
}

/// An error of a statement made at run time: where it has a place in its text, that is told instead.
fn of_statement(error: Error, text: &str) -> Error {
    if error.fields().query.is_some() { error } else { error.context(format!("SQL statement \"{text}\"")) }
}

/// 0A000 of what is not done by steps.
fn refused(what: &str) -> Error {
    Error::unsupported(
        format!("{what} are not supported in a body that changes the schema or reads records of EXECUTE"),
        "Do that in a block, or a routine, of its own.",
    )
}
