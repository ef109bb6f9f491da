//! Control flow: IF, CASE, loops, EXIT and CONTINUE, RETURN.

use super::assign::Target;
use super::routine::{emit_as, emit_exactly, same_columns};
use super::shapes::continues;
use super::statement::settled;
use super::{Answer, Body, Region};
use crate::lower::held::{Held, RowId, unassigned};
use crate::lower::{CastContext, Found, Lowerer, Typed, Variable};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_ir::{Coll, CollDecl, CollKind, Func, Label, OpKind, Output, ProgramKind, Reg, RegKind};
use planaria_syntax::ast::plpgsql::Stmt;
use planaria_syntax::ast::{BinaryOp, Expr, ExprKind, Name, Statement, StatementKind, Transaction};

/// Whether there is the row that a function answers with.
enum Told {
    There,
    /// A variable's: what is known of it.
    Held(Held, RowId),
    /// If this value is no NULL.
    Value(Reg),
}

impl Body<'_, '_> {
    pub(super) fn if_chain(&mut self, branches: &[(Expr, Vec<Stmt>)], otherwise: &[Stmt]) -> Result<()> {
        let Some(((condition, body), rest)) = branches.split_first() else {
            return self.statements(otherwise);
        };
        match self.decided(condition) {
            Some(true) => return self.statements(body),
            Some(false) => return self.if_chain(rest, otherwise),
            None => {}
        }
        let cond = self.l.condition(&self.scope, condition)?;
        let (then, otherwise) = self.either(|s| s.statements(body), |s| s.if_chain(rest, otherwise))?;
        self.l.emit(OpKind::If { cond, then, otherwise });
        Ok(())
    }

    pub(super) fn case(
        &mut self,
        operand: Option<&Expr>,
        whens: &[(Vec<Expr>, Vec<Stmt>)],
        otherwise: Option<&[Stmt]>,
    ) -> Result<()> {
        let operand = match operand {
            None => None,
            Some(e) => {
                // A hidden variable, so that the operand is evaluated once.
                let value = self.value(e)?;
                let ty = if value.ty == Type::Unknown { Type::Text } else { value.ty.clone() };
                let src = self.l.cast(value, &ty, CastContext::Implicit)?;
                self.hidden += 1;
                let name = format!("(case {})", self.hidden);
                let variable = self.scalar(&name, ty);
                if let Variable::Scalar(t) = &variable {
                    self.copy(t.reg, src);
                }
                self.scope.declare(name.clone(), variable);
                let position = e.position;
                Some(Expr { position, kind: ExprKind::Column(Name { parts: vec![name], position }) })
            }
        };
        self.case_chain(operand.as_ref(), whens, otherwise)
    }

    fn case_chain(
        &mut self,
        operand: Option<&Expr>,
        whens: &[(Vec<Expr>, Vec<Stmt>)],
        otherwise: Option<&[Stmt]>,
    ) -> Result<()> {
        let Some(((values, body), rest)) = whens.split_first() else {
            return match otherwise {
                Some(body) => self.statements(body),
                None => {
                    self.fail(
                        SqlState::CASE_NOT_FOUND,
                        "case not found",
                        Some("CASE statement is missing ELSE part."),
                    );
                    Ok(())
                }
            };
        };
        let mut condition: Option<Expr> = None;
        for value in values {
            let position = value.position;
            let one = match operand {
                Some(operand) => Expr {
                    position,
                    kind: ExprKind::Binary(BinaryOp::Eq, Box::new(operand.clone()), Box::new(value.clone())),
                },
                None => value.clone(),
            };
            condition = Some(match condition {
                None => one,
                Some(before) => {
                    Expr { position, kind: ExprKind::Binary(BinaryOp::Or, Box::new(before), Box::new(one)) }
                }
            });
        }
        let condition = condition.ok_or_else(|| Error::internal("a WHEN without a value"))?;
        let cond = self.l.condition(&self.scope, &condition)?;
        let (then, otherwise) =
            self.either(|s| s.statements(body), |s| s.case_chain(operand, rest, otherwise))?;
        self.l.emit(OpKind::If { cond, then, otherwise });
        Ok(())
    }

    // ---- transactions ----

    /// COMMIT and ROLLBACK, with or without AND CHAIN: each transaction of a call has the level of the one before.
    pub(super) fn end_transaction(&mut self, ends: &Transaction) -> Result<()> {
        if self.changing_loops > 0 {
            let message = "cannot perform transaction commands inside a cursor loop that is not read-only";
            self.fail(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message, None);
            return Ok(());
        }
        let commit = matches!(ends, Transaction::Commit | Transaction::CommitAndChain);
        self.l.emit(OpKind::EndTransaction { commit });
        self.close_all_but_loops();
        Ok(())
    }

    // ---- loops ----

    pub(super) fn endless(&mut self, name: Option<&str>, body: &[Stmt]) -> Result<()> {
        let label = self.l.label();
        let region =
            Region { name: name.map(str::to_owned), exit: label, next: Some((label, false)), closes: None };
        let body = self.in_loop(region, body, |s| s.statements(body))?;
        self.l.emit(OpKind::Loop { label, body });
        Ok(())
    }

    pub(super) fn in_loop(
        &mut self,
        region: Region,
        body: &[Stmt],
        mut f: impl FnMut(&mut Self) -> Result<()>,
    ) -> Result<planaria_ir::Block> {
        let lost = self.lost_by(body);
        let labels = [Some(region.exit), region.next.map(|(next, _)| next)];
        self.regions.push(region);
        self.loops += 1;
        self.l.rows.turns += 1;
        let body = self.repeated(&labels, &lost, |s| s.sub_block(&mut f));
        self.l.rows.turns -= 1;
        self.loops -= 1;
        self.regions.pop();
        body
    }

    pub(super) fn while_loop(&mut self, name: Option<&str>, condition: &Expr, body: &[Stmt]) -> Result<()> {
        let label = self.l.label();
        let region =
            Region { name: name.map(str::to_owned), exit: label, next: Some((label, false)), closes: None };
        let body = self.in_loop(region, body, |s| {
            let cond = s.l.condition(&s.scope, condition)?;
            s.unless(cond, |s| {
                s.l.emit(OpKind::Exit { label });
                Ok(())
            })?;
            s.statements(body)
        })?;
        self.l.emit(OpKind::Loop { label, body });
        Ok(())
    }

    /// FOR over integers: bounds and step are evaluated once; the counter never leaves its range.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn for_range(
        &mut self,
        name: Option<&str>,
        variable: &str,
        reverse: bool,
        from: &Expr,
        to: &Expr,
        step: Option<&Expr>,
        body: &[Stmt],
    ) -> Result<()> {
        let first = self.bound(from, "lower bound of FOR loop cannot be null")?;
        let last = self.bound(to, "upper bound of FOR loop cannot be null")?;
        let step = match step {
            None => None,
            Some(e) => {
                let step = self.bound(e, "BY value of FOR loop cannot be null")?;
                let zero = self.l.constant(Datum::Int(0), Type::Int4);
                let bad = self.apply(Func::IntLe, vec![step, zero], Type::Bool);
                self.when(bad, |s| {
                    let message = "BY value of FOR loop must be greater than zero";
                    s.fail(SqlState::INVALID_PARAMETER_VALUE, message, None);
                    Ok(())
                })?;
                Some(step)
            }
        };
        let counter = self.l.temp(Type::Int4);
        self.copy(counter, first);
        let (runs, ends) = if reverse { (Func::IntGe, Func::IntLe) } else { (Func::IntLe, Func::IntGe) };
        let enter = self.apply(runs, vec![counter, last], Type::Bool);
        self.scope.push(name.map(str::to_owned));
        let variable_reg = match self.scalar(variable, Type::Int4) {
            Variable::Scalar(t) => {
                self.scope.declare(variable, Variable::Scalar(t.clone()));
                t.reg
            }
            _ => counter,
        };
        let (label, inner) = (self.l.label(), self.l.label());
        let outcome = self.sub_block(|s| {
            let region = Region {
                name: name.map(str::to_owned),
                exit: label,
                next: Some((inner, true)),
                closes: None,
            };
            let turn = s.in_loop(region, body, |s| s.statements(body))?;
            let around = s.sub_block(|s| {
                s.copy(variable_reg, counter);
                if continues(body) {
                    s.l.emit(OpKind::Block { label: inner, body: turn });
                } else {
                    s.l.splice(turn);
                }
                let done = match step {
                    None => s.apply(ends, vec![counter, last], Type::Bool),
                    Some(step) => {
                        let (a, b) = if reverse { (counter, last) } else { (last, counter) };
                        let left = s.apply(Func::Int8Sub, vec![a, b], Type::Int8);
                        s.apply(Func::IntLt, vec![left, step], Type::Bool)
                    }
                };
                s.when(done, |s| {
                    s.l.emit(OpKind::Exit { label });
                    Ok(())
                })?;
                let by = step.unwrap_or_else(|| s.l.constant(Datum::Int(1), Type::Int4));
                let func = if reverse { Func::Int4Sub } else { Func::Int4Add };
                s.l.emit(OpKind::Apply { dst: counter, func, args: vec![counter, by] });
                Ok(())
            })?;
            s.l.emit(OpKind::Loop { label, body: around });
            Ok(())
        });
        self.scope.pop();
        self.l.emit(OpKind::If { cond: enter, then: outcome?, otherwise: Default::default() });
        // As PostgreSQL: FOUND tells whether the loop ran at all.
        self.copy(self.found, enter);
        Ok(())
    }

    fn bound(&mut self, e: &Expr, if_null: &str) -> Result<Reg> {
        let mut reg = self.l.expr_as(&self.scope, e, &Type::Int4, CastContext::Variable)?;
        if self.l.program.regs[reg.index()].name.is_some() {
            // The body may change the variable.
            let kept = self.l.temp(Type::Int4);
            self.copy(kept, reg);
            reg = kept;
        }
        if !matches!(e.kind, ExprKind::Integer(_)) {
            let null = self.is_null(reg);
            self.when(null, |s| {
                s.fail(SqlState::NULL_VALUE_NOT_ALLOWED, if_null, None);
                Ok(())
            })?;
        }
        Ok(reg)
    }

    pub(super) fn for_query(
        &mut self,
        name: Option<&str>,
        targets: &[Expr],
        query: &Statement,
        body: &[Stmt],
    ) -> Result<()> {
        let shown = crate::lower::shown(query)?;
        let query = shown.as_ref().unwrap_or(query);
        let columns = settled(&self.l.describe_statement(&self.scope, query)?);
        let coll = self.list(&columns);
        self.l.emit(OpKind::Clear { coll });
        let mut push = |l: &mut crate::lower::Lowerer<'_>, values: &[Typed]| {
            let mut row = Vec::new();
            for (value, column) in values.iter().zip(&columns) {
                row.push(l.cast(value.clone(), &column.ty, CastContext::Implicit)?);
            }
            l.emit(OpKind::Push { coll, values: row });
            Ok(())
        };
        match &query.kind {
            StatementKind::Query(q) => {
                self.l.query(&self.scope, q, &mut push)?;
            }
            StatementKind::Insert(s) => {
                self.l.insert(&self.scope, s, &mut push)?;
            }
            StatementKind::Update(s) => {
                self.l.update(&self.scope, s, &mut push)?;
            }
            StatementKind::Delete(s) => {
                self.l.delete(&self.scope, s, &mut push)?;
            }
            _ => return Err(super::unsupported("FOR over this statement", query.position)),
        }
        let changes = u32::from(!matches!(query.kind, StatementKind::Query(_)));
        self.changing_loops += changes;
        let looped = self.for_rows(name, targets, coll, &columns, body);
        self.changing_loops -= changes;
        looped
    }

    fn list(&mut self, columns: &[Output]) -> Coll {
        let values = columns.iter().map(|c| RegKind::Value(c.ty.clone())).collect();
        self.l.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values })
    }

    /// Runs the body for each row collected.
    fn for_rows(
        &mut self,
        name: Option<&str>,
        targets: &[Expr],
        coll: Coll,
        columns: &[Output],
        body: &[Stmt],
    ) -> Result<()> {
        let targets = self.loop_targets(targets, columns)?;
        let row: Vec<Typed> =
            columns.iter().map(|c| Typed { reg: self.l.temp(c.ty.clone()), ty: c.ty.clone() }).collect();
        let label = self.l.label();
        let ran = self.l.temp(Type::Bool);
        self.l.emit(OpKind::Const { dst: ran, value: Datum::Bool(false) });
        let yes = self.truth(true);
        let region =
            Region { name: name.map(str::to_owned), exit: label, next: Some((label, false)), closes: None };
        let block = self.in_loop(region, body, |s| {
            s.copy(ran, yes);
            s.store_all(&targets, &row)?;
            s.statements(body)
        });
        let columns = row.iter().map(|t| t.reg).collect();
        self.l.emit(OpKind::ForEach { coll, columns, entry: None, label, body: block? });
        self.unless(ran, |s| s.store_nulls(&targets))?;
        self.copy(self.found, ran);
        Ok(())
    }

    /// The targets of a loop over rows.
    fn loop_targets(&mut self, targets: &[Expr], columns: &[Output]) -> Result<Vec<Target>> {
        for target in targets {
            if let ExprKind::Column(name) = &target.kind
                && self.scope.lookup(&name.parts).is_none()
            {
                let message =
                    "loop variable of loop over rows must be a record variable or list of scalar variables";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(target.position));
            }
        }
        self.targets(targets, columns)
    }

    pub(super) fn for_execute(
        &mut self,
        name: Option<&str>,
        targets: &[Expr],
        text: &Expr,
        using: &[Expr],
        body: &[Stmt],
    ) -> Result<()> {
        // The columns are not known: the targets say what is wanted.
        let mut columns = Vec::new();
        for target in targets {
            let ExprKind::Column(name) = &target.kind else {
                return Err(super::unsupported("this target of a loop", target.position));
            };
            match self.scope.lookup(&name.parts) {
                Some(Found::Variable(Variable::Row { fields, .. })) if targets.len() == 1 => {
                    columns.extend(fields.iter().map(|(n, t)| Output { name: n.clone(), ty: t.ty.clone() }));
                }
                Some(Found::Variable(Variable::Scalar(t))) | Some(Found::Field(t)) => {
                    columns.push(Output { name: name.parts.join("."), ty: t.ty.clone() });
                }
                _ => {
                    let what = "FOR over EXECUTE with a record variable, in a routine that is not called by itself, is not supported";
                    return Err(Error::unsupported(what, super::by_steps::CALL_BY_ITSELF).at(target.position));
                }
            }
        }
        let types: Vec<Type> = columns.iter().map(|c| c.ty.clone()).collect();
        let (coll, _) = self.collect_text(text, using, &types)?;
        self.for_rows(name, targets, coll, &columns, body)
    }

    pub(super) fn for_each(
        &mut self,
        name: Option<&str>,
        said: &[Expr],
        slice: u32,
        array: &Expr,
        body: &[Stmt],
    ) -> Result<()> {
        let array = self.value(array)?;
        let Type::Array(of) = array.ty.clone() else {
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                format!("FOREACH expression must yield an array, not type {}", array.ty),
            ));
        };
        let null = self.is_null(array.reg);
        self.when(null, |s| {
            s.fail(SqlState::NULL_VALUE_NOT_ALLOWED, "FOREACH expression must not be null", None);
            Ok(())
        })?;
        // What it goes through: the elements, or arrays of so many of the inner dimensions.
        let (of, kept) = match slice {
            0 => {
                let kept = self.l.temp(array.ty.clone());
                self.copy(kept, array.reg);
                (*of, kept)
            }
            _ => {
                let parts = Type::Array(Box::new(array.ty.clone()));
                let dimensions = self.l.constant(Datum::Int(slice.into()), Type::Int4);
                (array.ty.clone(), self.apply(Func::ArrayParts, vec![array.reg, dimensions], parts))
            }
        };
        let length = self.apply(Func::Cardinality, vec![kept], Type::Int4);
        let (zero, one) =
            (self.l.constant(Datum::Int(0), Type::Int4), self.l.constant(Datum::Int(1), Type::Int4));
        let at = self.l.temp(Type::Int4);
        self.copy(at, zero);
        // A row variable takes the fields of a row, and so do several variables.
        let row = match (&of, said) {
            (Type::Record(row), [_, _, ..]) => Some(row.clone()),
            (Type::Record(row), [target]) if self.whole_row(target).is_some() => Some(row.clone()),
            _ => None,
        };
        let targets = match &row {
            Some(row) => {
                let output = |(name, ty): &(String, Type)| Output { name: name.clone(), ty: ty.clone() };
                let outputs: Vec<Output> = row.iter().map(output).collect();
                self.targets(said, &outputs)?
            }
            None => {
                if said.len() > 1 && slice == 0 {
                    let message = "cannot assign non-composite value to a row variable";
                    self.fail(SqlState::DATATYPE_MISMATCH, message, None);
                    return Ok(());
                }
                let target = self.target(&said[0])?;
                let an_array = said.len() == 1 && matches!(target.ty(), Type::Array(_));
                let message = match (slice, an_array) {
                    (0, true) => Some("FOREACH loop variable must not be of an array type"),
                    (1.., false) => Some("FOREACH ... SLICE loop variable must be of an array type"),
                    _ => None,
                };
                if let Some(message) = message {
                    self.fail(SqlState::DATATYPE_MISMATCH, message, None);
                    return Ok(());
                }
                vec![target]
            }
        };
        let label = self.l.label();
        let region =
            Region { name: name.map(str::to_owned), exit: label, next: Some((label, false)), closes: None };
        let block = self.in_loop(region, body, |s| {
            let done = s.apply(Func::IntGe, vec![at, length], Type::Bool);
            s.when(done, |s| {
                s.l.emit(OpKind::Exit { label });
                Ok(())
            })?;
            s.l.emit(OpKind::Apply { dst: at, func: Func::Int4Add, args: vec![at, one] });
            let element = s.apply(Func::ArrayNth, vec![kept, at], of.clone());
            let values = match &row {
                Some(row) => s.l.unpacked(element, row, None).into_iter().map(|(_, field)| field).collect(),
                None => vec![Typed { reg: element, ty: of.clone() }],
            };
            s.store_all(&targets, &values)?;
            s.statements(body)
        })?;
        self.l.emit(OpKind::Loop { label, body: block });
        let found = self.found;
        self.l.emit(OpKind::Apply { dst: found, func: Func::IntGt, args: vec![length, zero] });
        Ok(())
    }

    // ---- EXIT, CONTINUE ----

    pub(super) fn exit(&mut self, name: Option<&str>, when: Option<&Expr>) -> Result<()> {
        let region = match name {
            Some(name) => self.regions.iter().rev().find(|r| r.name.as_deref() == Some(name)),
            None => self.regions.iter().rev().find(|r| r.next.is_some()),
        };
        let Some(label) = region.map(|r| r.exit) else {
            return Err(no_region(name, "EXIT cannot be used outside a loop, unless it has a label"));
        };
        self.jump(when, OpKind::Exit { label }, label)
    }

    pub(super) fn continue_(&mut self, name: Option<&str>, when: Option<&Expr>) -> Result<()> {
        let region = match name {
            Some(name) => self.regions.iter().rev().find(|r| r.name.as_deref() == Some(name)),
            None => self.regions.iter().rev().find(|r| r.next.is_some()),
        };
        match region.map(|r| r.next) {
            Some(Some((label, true))) => self.jump(when, OpKind::Exit { label }, label),
            Some(Some((label, false))) => self.jump(when, OpKind::Continue { label }, label),
            Some(None) => Err(Error::new(
                SqlState::SYNTAX_ERROR,
                format!("block label \"{}\" cannot be used in CONTINUE", name.unwrap_or_default()),
            )),
            None => Err(no_region(name, "CONTINUE cannot be used outside a loop")),
        }
    }

    /// Jumps; the cursors of loops that are left on the way are closed.
    fn jump(&mut self, when: Option<&Expr>, kind: OpKind, to: Label) -> Result<()> {
        let stays = |r: &&Region| r.exit != to && r.next.is_none_or(|(next, _)| next != to);
        let left: Vec<usize> = self.regions.iter().rev().take_while(stays).filter_map(|r| r.closes).collect();
        let jump = |s: &mut Self| {
            left.iter().for_each(|at| s.close_quietly(*at));
            s.jumps.push((to, s.scope.clone()));
            s.l.emit(kind);
            Ok(())
        };
        match when {
            None => jump(self),
            Some(condition) => {
                let cond = self.l.condition(&self.scope, condition)?;
                self.when(cond, jump)
            }
        }
    }

    // ---- RETURN ----

    pub(super) fn return_(&mut self, value: Option<&Expr>) -> Result<()> {
        let wrong = |message: &str| Err(Error::new(SqlState::DATATYPE_MISMATCH, message.to_owned()));
        match (&self.answer, value) {
            (Answer::Outs | Answer::Void | Answer::Set(..) | Answer::Unknown(true), None) => {}
            (Answer::Outs, Some(_)) if self.l.program.kind == ProgramKind::Procedure => {
                let message = "RETURN cannot have a parameter in a procedure";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            (Answer::Outs, Some(_)) => {
                return wrong("RETURN cannot have a parameter in function with OUT parameters");
            }
            (Answer::Void, Some(_)) => {
                return wrong("RETURN cannot have a parameter in function returning void");
            }
            (Answer::Set(..) | Answer::Unknown(true), Some(_)) => {
                return wrong("RETURN cannot have a parameter in function returning set")
                    .map_err(|e| e.with_hint("Use RETURN NEXT or RETURN QUERY."));
            }
            (Answer::Unknown(false), Some(e)) => self.note_answer(e)?,
            (
                Answer::Value(_)
                | Answer::Row(_)
                | Answer::Record(_)
                | Answer::Trigger
                | Answer::Unknown(false),
                None,
            ) => {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "missing expression at or near \";\""));
            }
            (Answer::Trigger, Some(e)) => self.return_to_trigger(e)?,
            (Answer::Value(reg), Some(e)) => {
                let reg = *reg;
                self.l.returned_into(&self.scope, e, reg)?;
                self.l.check_assigned(reg)?;
            }
            (Answer::Row(row) | Answer::Record(row), Some(Expr { kind: ExprKind::Null, .. })) => {
                let row = row.clone();
                row.iter().for_each(|to| self.null(to.reg));
                self.l.tell_row(false);
            }
            (Answer::Row(row) | Answer::Record(row), Some(Expr { kind: ExprKind::Column(name), .. }))
                if let Some(id) = self.unassigned(name) =>
            {
                let row = row.clone();
                self.l.unassigned_value(id, &name.parts.join("."), name.position)?;
                row.iter().for_each(|to| self.null(to.reg));
                self.l.tell_row(false);
            }
            (Answer::Row(row) | Answer::Record(row), Some(e)) => {
                let row = row.clone();
                let Some((values, told)) = self.row_values(e)? else {
                    row.iter().for_each(|to| self.null(to.reg));
                    self.l.tell_row(false);
                    self.l.pack_outs(&self.scope)?;
                    self.l.emit(OpKind::Return);
                    return Ok(());
                };
                if matches!(self.answer, Answer::Record(_)) {
                    let wanted: Vec<&Type> = row.iter().map(|t| &t.ty).collect();
                    same_columns(
                        "returned record type does not match expected record type",
                        &wanted,
                        &values,
                    )?;
                }
                if values.len() != row.len() {
                    self.returned_misfit(&row, &values);
                    return Ok(());
                }
                for (to, from) in row.iter().zip(values) {
                    let src = self.l.cast(from, &to.ty, CastContext::Variable)?;
                    self.copy(to.reg, src);
                    self.l.check_assigned(to.reg)?;
                }
                match told {
                    Told::There => self.l.tell_row(true),
                    Told::Held(held, id) => self.l.tell_row_of(held, id),
                    Told::Value(value) => self.l.tell_row_by(value),
                }
            }
        }
        self.give_outs()?;
        self.l.emit(OpKind::Return);
        Ok(())
    }

    /// Puts together what OUT parameters of row types give.
    pub(super) fn give_outs(&mut self) -> Result<()> {
        // The one that is the answer is a row as its variable is.
        if let (Answer::Outs, Some(_), Some(first)) =
            (&self.answer, self.l.row_told, self.l.program.outs.first().copied())
        {
            match self.scope.held_of(first) {
                Some((held, id)) => self.l.tell_row_of(held, id),
                None => self.l.tell_row(true),
            }
        }
        self.l.pack_outs(&self.scope)
    }

    /// The fields of a row variable, or of a row of expressions; `None`: there is no row, as the value is NULL of another type.
    fn row_values(&mut self, e: &Expr) -> Result<Option<(Vec<Typed>, Told)>> {
        match &e.kind {
            ExprKind::Column(name)
                if let Some(Found::Variable(Variable::Row { fields, held, id, .. })) =
                    self.scope.lookup(&name.parts) =>
            {
                let told = Told::Held(*held, *id);
                Ok(Some((fields.iter().map(|(_, t)| t.clone()).collect(), told)))
            }
            ExprKind::Row(items) => {
                let values = items.iter().map(|i| self.value(i)).collect::<Result<_>>()?;
                Ok(Some((values, Told::There)))
            }
            _ => {
                let value = self.value(e)?;
                let Type::Record(row) = &value.ty else {
                    self.must_be_null(value.reg)?;
                    return Ok(None);
                };
                let fields = self.l.unpacked(value.reg, row, None);
                Ok(Some((fields.into_iter().map(|(_, t)| t).collect(), Told::Value(value.reg))))
            }
        }
    }

    /// Puts down what rows the routine answers with, where that is looked for.
    fn note_answer(&mut self, e: &Expr) -> Result<()> {
        if self.l.inferring.is_empty() || e.kind == ExprKind::Null {
            return Ok(());
        }
        let shape = match &e.kind {
            ExprKind::Column(name) if self.unassigned(name).is_some() => return Ok(()),
            ExprKind::Column(name)
                if let Some(Found::Variable(Variable::Row { fields, .. })) =
                    self.scope.lookup(&name.parts) =>
            {
                fields.iter().map(|(name, t)| (name.clone(), t.ty.clone())).collect()
            }
            ExprKind::Row(items) => {
                let mut shape = Vec::with_capacity(items.len());
                for (at, item) in items.iter().enumerate() {
                    shape.push((format!("f{}", at + 1), self.value(item)?.ty));
                }
                shape
            }
            _ => match self.value(e)?.ty {
                Type::Record(row) => row.iter().cloned().collect(),
                _ => return Ok(()),
            },
        };
        self.note_shape(shape);
        Ok(())
    }

    /// The same of the columns of a query.
    pub(super) fn note_columns(&mut self, columns: &[Output]) {
        if self.l.inferring.is_empty() {
            return;
        }
        let shape = match columns {
            // A row that is a column is the row itself.
            [Output { ty: Type::Record(row), .. }] => row.iter().cloned().collect(),
            _ => columns.iter().map(|o| (o.name.clone(), o.ty.clone())).collect(),
        };
        self.note_shape(shape);
    }

    fn note_shape(&mut self, shape: Vec<(String, Type)>) {
        let settled = |ty| if ty == Type::Unknown { Type::Text } else { ty };
        let shape: Vec<_> = shape.into_iter().map(|(name, ty)| (name, settled(ty))).collect();
        if !self.l.answered.contains(&shape) {
            self.l.answered.push(shape);
        }
    }

    /// 42804 unless a value that is no row, where one is answered with, is NULL.
    fn must_be_null(&mut self, value: Reg) -> Result<()> {
        let there = self.apply(Func::IsNotNull, vec![value], Type::Bool);
        self.when(there, |s| {
            let message = "cannot return non-composite value from function returning composite type";
            s.fail(SqlState::DATATYPE_MISMATCH, message, None);
            Ok(())
        })
    }

    pub(super) fn return_next(&mut self, value: Option<&Expr>) -> Result<()> {
        if let (Answer::Unknown(true), Some(e)) = (&self.answer, value) {
            return self.note_answer(e);
        }
        let Answer::Set(outputs, outs) = &self.answer else {
            if let Answer::Unknown(true) = self.answer {
                return Err(Error::new(SqlState::SYNTAX_ERROR, "missing expression at or near \";\""));
            }
            return Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                "cannot use RETURN NEXT in a non-SETOF function",
            ));
        };
        let (outputs, outs) = (outputs.clone(), outs.clone());
        match (value, outs) {
            (None, Some(regs)) => {
                self.l.pack_outs(&self.scope)?;
                self.l.emit(OpKind::Emit { values: regs });
                Ok(())
            }
            (Some(_), Some(_)) => Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                "RETURN NEXT cannot have a parameter in function with OUT parameters",
            )),
            (None, None) => Err(Error::new(SqlState::SYNTAX_ERROR, "missing expression at or near \";\"")),
            (Some(e), None) => {
                if let ExprKind::Column(name) = &e.kind {
                    if let Some(id) = self.unassigned(name) {
                        self.l.rows.read_early(id);
                        return Err(unassigned(&name.parts.join(".")));
                    }
                    self.l.must_hold(&self.scope, &name.parts, name.position)?;
                }
                let row = matches!(&e.kind, ExprKind::Row(_))
                    || matches!(&e.kind, ExprKind::Column(n)
                        if matches!(self.scope.lookup(&n.parts), Some(Found::Variable(Variable::Row { .. }))));
                let mut values = match row {
                    true => self.row_values(e)?.map(|(values, _)| values).unwrap_or_default(),
                    false => vec![self.value(e)?],
                };
                // Of several columns, what is no row can only be NULL.
                if let ([value], false) = (&values[..], row || outputs.len() == 1)
                    && !matches!(value.ty, Type::Record(_))
                {
                    let value = value.reg;
                    if matches!(&e.kind, ExprKind::Column(name)
                        if matches!(self.scope.lookup(&name.parts), Some(Found::Variable(_))))
                    {
                        return Err(Error::new(
                            SqlState::DATATYPE_MISMATCH,
                            "wrong result type supplied in RETURN NEXT",
                        ));
                    }
                    self.must_be_null(value)?;
                    let nulls = outputs.iter().map(|o| self.l.constant(Datum::Null, o.ty.clone())).collect();
                    self.l.emit(OpKind::Emit { values: nulls });
                    return Ok(());
                }
                let fields = self.l.spread_row(outputs.len(), &values);
                let row = row || fields.is_some();
                values = fields.unwrap_or(values);
                let name = self.name.clone();
                if row {
                    let message = match &e.kind {
                        ExprKind::Column(_) => "wrong record type supplied in RETURN NEXT",
                        _ => "returned record type does not match expected record type",
                    };
                    emit_exactly(self.l, &outputs, &values, message)
                } else {
                    emit_as(self.l, &name, &outputs, &values, CastContext::Variable)
                }
            }
        }
    }

    pub(super) fn return_query(&mut self, statement: &Statement) -> Result<()> {
        let outputs = self.set_outputs()?;
        let count = self.l.temp(Type::Int8);
        self.l.emit(OpKind::Const { dst: count, value: Datum::Int(0) });
        let (one, zero) = (self.int8(1), self.int8(0));
        let unknown = matches!(self.answer, Answer::Unknown(_));
        let mut sink = |l: &mut Lowerer<'_>, values: &[Typed]| {
            if !unknown {
                emit_exactly(l, &outputs, values, "structure of query does not match function result type")?;
            }
            l.emit(OpKind::Apply { dst: count, func: Func::Int8Add, args: vec![count, one] });
            Ok(())
        };
        let tag = match &statement.kind {
            StatementKind::Query(query) => {
                let columns = self.l.query(&self.scope, query, &mut sink)?;
                if unknown {
                    self.note_columns(&columns);
                }
                None
            }
            StatementKind::Insert(s) if s.returning.is_empty() => Some("INSERT"),
            StatementKind::Update(s) if s.returning.is_empty() => Some("UPDATE"),
            StatementKind::Delete(s) if s.returning.is_empty() => Some("DELETE"),
            StatementKind::Insert(_) | StatementKind::Update(_) | StatementKind::Delete(_) => {
                self.change(statement, &mut sink)?;
                None
            }
            _ => return Err(super::unsupported("RETURN QUERY of this statement", statement.position)),
        };
        if let Some(tag) = tag {
            let message = format!("{tag} query does not return tuples");
            // Said when it runs, as by PostgreSQL.
            self.fail(SqlState::SYNTAX_ERROR, &message, None);
        }
        let found = self.found;
        self.l.emit(OpKind::Apply { dst: found, func: Func::IntGt, args: vec![count, zero] });
        self.set_row_count(count);
        Ok(())
    }

    /// Whether a name is that of a record without a structure.
    fn unassigned(&self, name: &Name) -> Option<RowId> {
        match self.scope.lookup(&name.parts) {
            Some(Found::Variable(Variable::Unassigned { id })) if self.whole_name(name) => Some(*id),
            _ => None,
        }
    }

    fn set_outputs(&self) -> Result<Vec<Output>> {
        match &self.answer {
            Answer::Set(outputs, _) => Ok(outputs.clone()),
            Answer::Unknown(true) => Ok(Vec::new()),
            _ => Err(Error::new(
                SqlState::DATATYPE_MISMATCH,
                "cannot use RETURN QUERY in a non-SETOF function",
            )),
        }
    }

    pub(super) fn return_query_execute(&mut self, text: &Expr, using: &[Expr]) -> Result<()> {
        let outputs = self.set_outputs()?;
        let types: Vec<Type> = outputs.iter().map(|o| o.ty.clone()).collect();
        let (coll, count) = self.collect_text(text, using, &types)?;
        let row: Vec<Reg> = types.iter().map(|ty| self.l.temp(ty.clone())).collect();
        let label = self.l.label();
        let body = self.sub_block(|s| s.l.emit_row(row.clone()))?;
        self.l.emit(OpKind::ForEach { coll, columns: row, entry: None, label, body });
        let zero = self.int8(0);
        let found = self.found;
        self.l.emit(OpKind::Apply { dst: found, func: Func::IntGt, args: vec![count, zero] });
        self.set_row_count(count);
        Ok(())
    }
}

fn no_region(name: Option<&str>, message: &str) -> Error {
    match name {
        Some(name) => Error::new(
            SqlState::SYNTAX_ERROR,
            format!("there is no label \"{name}\" attached to any block or loop enclosing this statement"),
        ),
        None => Error::new(SqlState::SYNTAX_ERROR, message.to_owned()),
    }
}
