//! Statements, one by one; SQL statements with their INTO.

use super::assign::{Target, store_row};
use super::by_steps::{CALL_BY_ITSELF, OF_SESSION_ALONE, ROLE_CHANGE, SCHEMA_CHANGE};
use super::routine::without_into;
use super::{Body, unsupported};
use crate::lower::{CastContext, Lowerer, Typed, Variable};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_catalog::ROWS_TOLD;
use planaria_ir::{CollDecl, CollKind, Diagnostic, Func, OpKind, Output, ProgramKind, Reg, RegKind, Run};
use planaria_syntax::ast::plpgsql::{Stmt, StmtKind};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{Expr, ExprKind, FunctionCall, Into, Query, QueryBody, Statement, StatementKind};

impl Body<'_, '_> {
    pub(super) fn statement(&mut self, statement: &Stmt) -> Result<()> {
        match &statement.kind {
            StmtKind::Assign { target, value } => self.assign(target, value),
            StmtKind::Block(block) => self.block(block),
            StmtKind::If { branches, otherwise } => self.if_chain(branches, otherwise),
            StmtKind::Case { operand, whens, otherwise } => {
                self.case(operand.as_ref(), whens, otherwise.as_deref())
            }
            StmtKind::Loop { label, body } => self.endless(label.as_deref(), body),
            StmtKind::While { label, condition, body } => self.while_loop(label.as_deref(), condition, body),
            StmtKind::ForRange { label, variable, reverse, from, to, step, body } => {
                self.for_range(label.as_deref(), variable, *reverse, from, to, step.as_ref(), body)
            }
            StmtKind::ForQuery { label, targets, query, body } => {
                self.for_query(label.as_deref(), targets, query, body)
            }
            StmtKind::ForExecute { label, targets, text, using, body } => {
                self.for_execute(label.as_deref(), targets, text, using, body)
            }
            StmtKind::ForEach { label, targets, slice, array, body } => {
                self.for_each(label.as_deref(), targets, slice.unwrap_or(0), array, body)
            }
            StmtKind::Exit { label, when } => self.exit(label.as_deref(), when.as_ref()),
            StmtKind::Continue { label, when } => self.continue_(label.as_deref(), when.as_ref()),
            StmtKind::Return(value) => self.return_(value.as_ref()),
            StmtKind::ReturnNext(value) => self.return_next(value.as_ref()),
            StmtKind::ReturnQuery(query) => self.return_query(query),
            StmtKind::ReturnQueryExecute { text, using } => self.return_query_execute(text, using),
            StmtKind::Raise(raise) => self.raise(raise),
            StmtKind::Assert { condition, message } => self.assert(condition, message.as_ref()),
            StmtKind::Perform(query) => self.perform(query),
            StmtKind::Sql(statement) => self.sql(statement),
            StmtKind::Execute { text, into, using } => self.execute(text, into.as_ref(), using),
            StmtKind::GetDiagnostics { stacked, items } => self.diagnostics(*stacked, items),
            StmtKind::Open { cursor, scroll, what } => self.open(cursor, *scroll, what),
            StmtKind::Fetch { cursor, direction, into } => self.fetch(cursor, direction, into.as_ref()),
            StmtKind::Close(cursor) => self.close(cursor),
            StmtKind::ForCursor { label, targets, cursor, args, body } => {
                self.for_cursor(label.as_deref(), targets, cursor, args, body)
            }
            StmtKind::Null => Ok(()),
            StmtKind::Transaction(ends) => self.end_transaction(ends),
            StmtKind::Unsupported(what) if what == planaria_syntax::ast::plpgsql::TRANSACTION_CONTROL => {
                self.fail(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "unsupported transaction command in PL/pgSQL",
                    None,
                );
                Ok(())
            }
            StmtKind::Unsupported(what) => Err(unsupported(what, statement.position)),
        }
    }

    /// PERFORM: the rows are of no interest, only whether there is one.
    fn perform(&mut self, query: &Query) -> Result<()> {
        let got = self.l.temp(Type::Bool);
        self.l.emit(OpKind::Const { dst: got, value: Datum::Bool(false) });
        let yes = self.truth(true);
        if self.row_count.is_some() || self.may_have_effects(query) {
            let count = self.counter();
            let one = self.int8(1);
            self.l.query(&self.scope, query, &mut |l, _| {
                l.emit(OpKind::Copy { dst: got, src: yes });
                l.emit(OpKind::Apply { dst: count, func: Func::Int8Add, args: vec![count, one] });
                Ok(())
            })?;
            self.set_row_count(count);
        } else {
            self.l.query_limited(&self.scope, query, 1, &mut |l, _| {
                l.emit(OpKind::Copy { dst: got, src: yes });
                Ok(())
            })?;
        }
        self.copy(self.found, got);
        Ok(())
    }

    /// FOUND and ROW_COUNT of a statement that has met a row, or none.
    pub(super) fn found_one(&mut self, got: Reg) -> Result<()> {
        self.copy(self.found, got);
        if self.row_count.is_some() {
            let (one, zero) = (self.int8(1), self.int8(0));
            self.set_row_count(zero);
            self.when(got, |s| {
                s.set_row_count(one);
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Registers where a row waits until it is known to be the only one. They have names because
    /// they are read where the verifier cannot see that a row has come.
    fn aside(&mut self, columns: &[Output]) -> Vec<Typed> {
        let register = |c: &Output| {
            let kind = RegKind::Value(c.ty.clone());
            let reg = self.l.program.reg(kind, Some(format!("(into {})", c.name)));
            Typed { reg, ty: c.ty.clone() }
        };
        columns.iter().map(register).collect()
    }

    fn counter(&mut self) -> Reg {
        let count = self.l.temp(Type::Int8);
        self.l.emit(OpKind::Const { dst: count, value: Datum::Int(0) });
        count
    }

    /// Whether a query may do more than read: it calls a routine of the user's, or draws numbers.
    fn may_have_effects(&self, query: &Query) -> bool {
        let mut effects = false;
        visit::query(query, &mut |node| {
            if let Node::Call(call) = node {
                let name = call.name.parts.last().map_or("", String::as_str);
                let draws = ["nextval", "setval", "random", "gen_random_uuid"].contains(&name);
                effects |= draws || self.l.catalog.procedures_named(name).next().is_some();
            }
        });
        effects
    }

    /// A SQL statement.
    pub(super) fn sql(&mut self, statement: &Statement) -> Result<()> {
        if let Some(at_current) = self.at_current(statement)? {
            let done = self.sql(&at_current);
            self.scope.pop();
            return done;
        }
        if super::by_steps::needs_session(statement) && (self.by_steps || !self.checking) {
            let what = match super::by_steps::changes_role(statement) {
                true => ROLE_CHANGE,
                false => OF_SESSION_ALONE,
            };
            return Err(
                Error::unsupported(format!("{what} is not supported"), CALL_BY_ITSELF).at(statement.position)
            );
        }
        match &statement.kind {
            StatementKind::Query(query) => match into_of(query) {
                Some(into) => self.select_into(query, &into.clone()),
                None => Err(Error::new(SqlState::SYNTAX_ERROR, "query has no destination for result data")
                    .with_hint("If you want to discard the results of a SELECT, use PERFORM instead.")
                    .at(statement.position)),
            },
            StatementKind::Insert(insert) => {
                self.dml(statement, insert.into.as_ref(), !insert.returning.is_empty())
            }
            StatementKind::Update(update) => {
                self.dml(statement, update.into.as_ref(), !update.returning.is_empty())
            }
            StatementKind::Delete(delete) => {
                self.dml(statement, delete.into.as_ref(), !delete.returning.is_empty())
            }
            StatementKind::Merge(_) => self.dml(statement, None, false),
            StatementKind::Call { call, .. } => self.call(call),
            StatementKind::Notify { channel, payload } => {
                self.l.emit_notify(channel, payload);
                Ok(())
            }
            // What follows is bound already, but where each statement is a program of its own.
            StatementKind::Set { name, .. } if super::by_steps::sets_path(statement) && !self.by_steps => {
                let what = format!("SET {} within a routine is not supported", name.to_ascii_lowercase());
                let hint = "Names in a body are looked for before it runs: say SET where the routine is created, or before it is called.";
                Err(Error::unsupported(what, hint).at(statement.position))
            }
            StatementKind::Set { name, value, local } => {
                self.l.at(statement.position);
                self.l.emit_set(name, value.as_deref(), *local)
            }
            // Each transaction of a procedure is serializable, whatever it asks for; elsewhere the level holds already, or it is too
            // late for another.
            StatementKind::SetModes { default: false, read_only: None | Some(false), isolation } => {
                self.l.at(statement.position);
                match isolation.filter(|_| self.l.program.kind != ProgramKind::Procedure) {
                    Some(level) => {
                        self.l.emit_set("transaction_isolation", Some(&[level.name().to_owned()]), true)
                    }
                    None => Ok(()),
                }
            }
            StatementKind::Show(_) => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "query has no destination for result data"))
            }
            StatementKind::Truncate { names, restart_identity, cascade, .. } => {
                self.l.at(statement.position);
                self.l.emit_truncate(names, *restart_identity, *cascade, false)
            }
            StatementKind::SetConstraints { names, deferred } => {
                self.l.at(statement.position);
                let text = super::super::deferred::said(names.as_deref(), *deferred);
                let text = self.l.constant(Datum::Text(text), Type::Text);
                let row_count = self.l.temp(Type::Int8);
                let run = Run::Constraints;
                self.l.emit(OpKind::Execute { text, args: Vec::new(), rows: None, row_count, run });
                Ok(())
            }
            StatementKind::Maintain(maintain) if maintain.tag == "VACUUM" => {
                self.l.at(statement.position);
                let message = "VACUUM cannot be executed from a function";
                self.fail(SqlState::ACTIVE_SQL_TRANSACTION, message, None);
                Ok(())
            }
            StatementKind::Discard(what) if what == "all" => {
                self.l.at(statement.position);
                let message = "DISCARD ALL cannot be executed from a function";
                self.fail(SqlState::ACTIVE_SQL_TRANSACTION, message, None);
                Ok(())
            }
            // Nobody sees plans.
            StatementKind::Discard(what) if what == "plans" => Ok(()),
            _ if crate::ddl::is_ddl(statement) && self.trigger.is_none() => {
                Err(Error::unsupported(format!("{SCHEMA_CHANGE} is not supported"), CALL_BY_ITSELF)
                    .at(statement.position))
            }
            _ => Err(Error::unsupported(
                "schema changes and other statements of a session are not supported in PL/pgSQL",
                "Run them outside of the procedure.",
            )
            .at(statement.position)),
        }
    }

    fn select_into(&mut self, query: &Query, into: &Into) -> Result<()> {
        let query = without_into(query);
        let columns = self.l.describe(&self.scope, &query)?;
        let (targets, strict) = self.into(into, &columns)?;
        let got = self.l.temp(Type::Bool);
        self.l.emit(OpKind::Const { dst: got, value: Datum::Bool(false) });
        let yes = self.truth(true);
        if strict {
            // The second row must not be looked for with targets already changed: values wait aside.
            let aside = self.aside(&columns);
            let mut direct = false;
            self.l.query_limited(&self.scope, &query, 2, &mut |l, values| {
                direct = l.at_most_one_row();
                if direct {
                    store_row(l, &targets, values)?;
                } else {
                    raise_if_second(l, got);
                    for (to, from) in aside.iter().zip(values) {
                        l.emit(OpKind::Copy { dst: to.reg, src: from.reg });
                    }
                }
                l.emit(OpKind::Copy { dst: got, src: yes });
                Ok(())
            })?;
            self.unless(got, |s| {
                s.fail(SqlState::NO_DATA_FOUND, "query returned no rows", None);
                Ok(())
            })?;
            if direct {
                self.after_store(&targets)?;
            } else {
                self.store_all(&targets, &aside)?;
            }
            self.copy(self.found, yes);
            let one = self.int8(1);
            self.set_row_count(one);
            return Ok(());
        }
        self.l.query_limited(&self.scope, &query, 1, &mut |l, values| {
            store_row(l, &targets, values)?;
            l.emit(OpKind::Copy { dst: got, src: yes });
            Ok(())
        })?;
        self.unless(got, |s| s.store_nulls(&targets))?;
        // The sink cannot look at what it has stored: a failure there would be one of the query.
        self.when(got, |s| s.after_store(&targets))?;
        self.found_one(got)?;
        Ok(())
    }

    fn dml(&mut self, statement: &Statement, into: Option<&Into>, returning: bool) -> Result<()> {
        let count = match into {
            None if returning => {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "query has no destination for result data")
                    .at(statement.position));
            }
            None => self.change(statement, &mut |_, _| Ok(()))?,
            Some(into) => {
                let columns = self.l.describe_statement(&self.scope, statement)?;
                let (targets, strict) = self.into(into, &columns)?;
                let got = self.l.temp(Type::Bool);
                self.l.emit(OpKind::Const { dst: got, value: Datum::Bool(false) });
                let yes = self.truth(true);
                let aside = self.aside(&columns);
                let mut direct = false;
                let count = self.change(statement, &mut |l, values| {
                    direct = l.at_most_one_row();
                    if direct {
                        store_row(l, &targets, values)?;
                    } else {
                        raise_if_second(l, got);
                        for (to, from) in aside.iter().zip(values) {
                            l.emit(OpKind::Copy { dst: to.reg, src: from.reg });
                        }
                    }
                    l.emit(OpKind::Copy { dst: got, src: yes });
                    Ok(())
                })?;
                if strict {
                    self.unless(got, |s| {
                        s.fail(SqlState::NO_DATA_FOUND, "query returned no rows", None);
                        Ok(())
                    })?;
                } else {
                    self.unless(got, |s| s.store_nulls(&targets))?;
                }
                if direct {
                    self.after_store(&targets)?;
                } else {
                    self.when(got, |s| s.store_all(&targets, &aside))?;
                }
                count
            }
        };
        let zero = self.int8(0);
        let found = self.found;
        self.l.emit(OpKind::Apply { dst: found, func: Func::IntGt, args: vec![count, zero] });
        self.set_row_count(count);
        Ok(())
    }

    pub(super) fn change(
        &mut self,
        statement: &Statement,
        sink: &mut dyn FnMut(&mut Lowerer<'_>, &[Typed]) -> Result<()>,
    ) -> Result<Reg> {
        match &statement.kind {
            StatementKind::Insert(s) => self.l.insert(&self.scope, s, sink),
            StatementKind::Update(s) => self.l.update(&self.scope, s, sink),
            StatementKind::Delete(s) => self.l.delete(&self.scope, s, sink),
            StatementKind::Merge(s) => self.l.merge(&self.scope, s),
            _ => Err(Error::internal("no change of rows")),
        }
    }

    /// CALL: what the procedure's OUT and INOUT parameters answer goes to the variables that stand
    /// there.
    fn call(&mut self, call: &FunctionCall) -> Result<()> {
        let called = self.l.call(&self.scope, call)?;
        let (mut targets, mut values, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value, argument) in called.outs {
            let no_place = || {
                let message = format!(
                    "procedure parameter \"{name}\" is an output parameter but corresponding argument is not writable"
                );
                Error::new(SqlState::SYNTAX_ERROR, message)
            };
            let Some(argument) = argument else {
                // Of former versions logs have calls that left them out.
                if self.l.form >= ROWS_TOLD {
                    return Err(no_place().at(call.name.position));
                }
                continue;
            };
            if matches!(argument.kind, ExprKind::Null) {
                continue;
            }
            // A row goes to a row variable field by field.
            if let (Some(Variable::Row { fields, .. }), Type::Record(row)) =
                (self.whole_row(&argument), &value.ty)
                && let ExprKind::Column(variable) = &argument.kind
                && fields.len() == row.len()
            {
                fields.iter().try_for_each(|(_, field)| self.check_constant(field.reg, variable))?;
                rows.extend(fields.first().map(|(_, field)| (Target::Field(field.clone()), value.reg)));
                let row = row.clone();
                values.extend(self.l.unpacked(value.reg, &row, None).into_iter().map(|(_, field)| field));
                targets.extend(fields.into_iter().map(|(_, field)| Target::Value(field)));
                continue;
            }
            let target = self.target(&argument).map_err(|_| no_place().at(argument.position))?;
            targets.push(target);
            values.push(value);
        }
        self.store_all(&targets, &values)?;
        rows.into_iter().for_each(|(first, value)| self.take_value(&[first], value));
        Ok(())
    }

    fn execute(&mut self, text: &Expr, into: Option<&Into>, using: &[Expr]) -> Result<()> {
        let Some(into) = into else {
            let count = self.run_text(text, using, None)?;
            self.set_row_count(count);
            return Ok(());
        };
        let (targets, strict) = self.into(into, &[])?;
        if targets.is_empty() {
            let what =
                "EXECUTE ... INTO a record, in a routine that is not called by itself, is not supported";
            return Err(Error::unsupported(what, CALL_BY_ITSELF).at(into.position));
        }
        let columns: Vec<Type> = targets
            .iter()
            .map(|t| match t {
                Target::Value(t) | Target::Field(t) => t.ty.clone(),
                Target::Element { ty, .. } | Target::Part { ty, .. } => ty.clone(),
            })
            .collect();
        let (coll, count) = self.collect_text(text, using, &columns)?;
        if strict {
            let one = self.int8(1);
            let more = self.apply(Func::IntGt, vec![count, one], Type::Bool);
            self.when(more, |s| {
                s.fail(SqlState::TOO_MANY_ROWS, "query returned more than one row", None);
                Ok(())
            })?;
        }
        let zero = self.int8(0);
        let none = self.apply(Func::IntEq, vec![count, zero], Type::Bool);
        self.when(none, |s| {
            if strict {
                s.fail(SqlState::NO_DATA_FOUND, "query returned no rows", None);
                Ok(())
            } else {
                s.store_nulls(&targets)
            }
        })?;
        let label = self.l.label();
        let row: Vec<Typed> =
            columns.iter().map(|ty| Typed { reg: self.l.temp(ty.clone()), ty: ty.clone() }).collect();
        let body = self.sub_block(|s| {
            s.store_all(&targets, &row)?;
            s.l.emit(OpKind::Exit { label });
            Ok(())
        })?;
        let columns = row.iter().map(|t| t.reg).collect();
        self.l.emit(OpKind::ForEach { coll, columns, entry: None, label, body });
        self.set_row_count(count);
        Ok(())
    }

    /// Runs SQL text; answers with the row count.
    pub(super) fn run_text(
        &mut self,
        text: &Expr,
        using: &[Expr],
        rows: Option<planaria_ir::Coll>,
    ) -> Result<Reg> {
        let (text, mut args) = self.text_and_args(text, using)?;
        let row_count = self.l.temp(Type::Int8);
        let (names, tables): (Vec<String>, Vec<Reg>) = self.l.tables_of_rows.iter().cloned().unzip();
        args.extend(tables);
        let run = if names.is_empty() { Run::Statement } else { Run::Among(names) };
        self.l.emit(OpKind::Execute { text, args, rows, row_count, run });
        Ok(row_count)
    }

    /// The text of EXECUTE, which is not NULL, and what USING gives it.
    pub(super) fn text_and_args(&mut self, text: &Expr, using: &[Expr]) -> Result<(Reg, Vec<Reg>)> {
        refuse_text(text)?;
        let text = self.l.expr_as(&self.scope, text, &Type::Text, CastContext::Variable)?;
        let null = self.is_null(text);
        self.when(null, |s| {
            s.fail(SqlState::NULL_VALUE_NOT_ALLOWED, "query string argument of EXECUTE is null", None);
            Ok(())
        })?;
        let mut args = Vec::new();
        for e in using {
            let value = self.value(e)?;
            let reg = match value.ty {
                Type::Unknown => self.l.cast(value, &Type::Text, CastContext::Implicit)?,
                _ => value.reg,
            };
            args.push(reg);
        }
        Ok((text, args))
    }

    /// Runs SQL text and collects its rows, converted to these types.
    pub(super) fn collect_text(
        &mut self,
        text: &Expr,
        using: &[Expr],
        columns: &[Type],
    ) -> Result<(planaria_ir::Coll, Reg)> {
        let values = columns.iter().cloned().map(RegKind::Value).collect();
        let coll = self.l.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values });
        self.l.emit(OpKind::Clear { coll });
        let count = self.run_text(text, using, Some(coll))?;
        Ok((coll, count))
    }

    fn diagnostics(&mut self, stacked: bool, items: &[(Expr, String)]) -> Result<()> {
        for (target, item) in items {
            let value = match (stacked, item.to_ascii_lowercase().as_str(), self.handled) {
                (false, "row_count", _) => match self.row_count {
                    Some(reg) => Typed { reg, ty: Type::Int8 },
                    None => Typed { reg: self.int8(0), ty: Type::Int8 },
                },
                (true, _, None) => {
                    return Err(Error::new(
                        SqlState::new("0Z002"),
                        "GET STACKED DIAGNOSTICS cannot be used outside an exception handler",
                    )
                    .at(target.position));
                }
                (_, "pg_context", _) if !self.by_steps => {
                    let dst = self.l.program.value(Type::Text);
                    let question = planaria_ir::Question::CallStack;
                    self.l.emit(OpKind::Ask { dst, question, args: Vec::new() });
                    Typed { reg: dst, ty: Type::Text }
                }
                (true, "returned_sqlstate", Some(h)) => Typed { reg: h.sqlstate, ty: Type::Text },
                (true, "message_text", Some(h)) => Typed { reg: h.sqlerrm, ty: Type::Text },
                (true, name, Some(_)) if let Some(what) = diagnostic(name) => {
                    let known = self.diagnosed.iter().find(|(of, _)| *of == what);
                    let reg = match known {
                        Some((_, reg)) => *reg,
                        None => {
                            let reg = self.l.program.value(Type::Text);
                            self.diagnosed.push((what, reg));
                            reg
                        }
                    };
                    Typed { reg, ty: Type::Text }
                }
                (_, other, _) => {
                    return Err(unsupported(
                        &format!("diagnostics item {}", other.to_uppercase()),
                        target.position,
                    ));
                }
            };
            let target = self.target(target)?;
            super::assign::store(self.l, &target, &value)?;
        }
        Ok(())
    }
}

fn into_of(query: &Query) -> Option<&Into> {
    match &query.body {
        QueryBody::Select(select) => select.into.as_ref(),
        _ => None,
    }
}

/// P0003 where a row came before.
fn raise_if_second(l: &mut Lowerer<'_>, cond: Reg) {
    let mut text = |t: &str| l.constant(Datum::Text(t.to_owned()), Type::Text);
    let message = text("query returned more than one row");
    let hint = text("Make sure the query returns a single row, or use LIMIT 1.");
    l.begin_block();
    l.emit(OpKind::Raise {
        level: planaria_base::Level::Exception,
        state: planaria_ir::StateSource::Known(SqlState::TOO_MANY_ROWS),
        message,
        fields: planaria_ir::ErrorFields { hint: Some(hint), ..Default::default() },
    });
    let then = l.end_block();
    l.emit(OpKind::If { cond, then, otherwise: Default::default() });
}

/// Columns as outputs; those of unknown type are text.
pub(super) fn settled(columns: &[Output]) -> Vec<Output> {
    let settle = |o: &Output| Output {
        name: o.name.clone(),
        ty: if o.ty == Type::Unknown { Type::Text } else { o.ty.clone() },
    };
    columns.iter().map(settle).collect()
}

/// Whether a routine cannot do it: TRUNCATE deletes rows there.
fn changes_schema(statement: &Statement) -> bool {
    crate::ddl::is_ddl(statement) && !matches!(statement.kind, StatementKind::Truncate { .. })
}

/// 0A000 for a text that is there already and says what EXECUTE does not run.
fn refuse_text(text: &Expr) -> Result<()> {
    let ExprKind::String(constant) = &text.kind else { return Ok(()) };
    match planaria_syntax::parse::statements(constant) {
        Err(error) if error.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED => Err(error.at(text.position)),
        Ok(statements) if statements.iter().any(changes_schema) => {
            Err(Error::unsupported(format!("{SCHEMA_CHANGE} is not supported"), CALL_BY_ITSELF)
                .at(text.position))
        }
        _ => Ok(()),
    }
}

/// A further item of GET STACKED DIAGNOSTICS.
fn diagnostic(item: &str) -> Option<Diagnostic> {
    let name = item.strip_prefix("pg_exception_").unwrap_or(item);
    Diagnostic::ALL.iter().find(|(_, known)| *known == name).map(|(what, _)| *what)
}
