//! Rows as values: those of a table's row type, and records.
//!
//! A row in a register is an array of its fields ([`Type::Record`]), NULL or not. In a body, the parameter that it is passed
//! by is a row variable: a register for each field. Whether it is NULL or a row of NULLs, its flag says ([`super::held`]), and of
//! what a function answers with a value behind the columns. In programs of former forms both are NULL as a value.

use super::bound::{Bound, BoundKind, RelKind};
use super::held::{Held, RowId};
use super::names::Names;
use super::operators::is_comparison;
use super::types::{CastContext, same_base, told_apart};
use super::{Found, Lowerer, Scope, Typed, Variable};
use planaria_base::types::{RowOf, RowType};
use planaria_base::{Datum, Error, Result, SchemaId, SqlState, TableId, Type};
use planaria_catalog::oids::Object;
use planaria_catalog::{Catalog, ROWS_TOLD, Returns, Table};
use planaria_ir::{Block, Func, Op, OpId, OpKind, Reg, RegKind};
use planaria_syntax::ast::{Argument, BinaryOp, Expr, ExprKind, FunctionCall, Name, SelectItem};
use std::borrow::Cow;
use std::cmp::Ordering;

/// The type of a table's rows.
pub fn row_type(catalog: &Catalog, table: &Table) -> RowType {
    let name = match table.schema {
        SchemaId::PUBLIC => table.name.clone(),
        schema => format!("{}.{}", catalog.schema_name(schema), table.name),
    };
    // However an interval is kept, it is one when it is read.
    let read = |ty: &Type| if *ty == Type::OldInterval { Type::Interval } else { ty.clone() };
    let fields = table.visible().map(|(_, c)| (c.name.clone(), read(&c.ty))).collect();
    let key = planaria_catalog::key(table.schema, &table.name);
    let oids = (catalog.oids.of(&Object::RowType(key.clone())), catalog.oids.of(&Object::RowTypeArray(key)));
    RowType { of: Some(Box::new(RowOf { table: table.id, name, oids })), fields }
}

/// The `n`-th field of a row.
pub(super) fn nth_field(row: Bound, n: usize, ty: Type, position: u32) -> Bound {
    if let BoundKind::Apply(Func::ArrayMake | Func::RowMake, fields) = &row.stripped().kind
        && let Some(field) = fields.get(n)
    {
        return Bound { position, ..field.clone() };
    }
    let index = Bound::constant(Datum::Int(n as i64 + 1), Type::Int4, position);
    Bound::apply(Func::ArrayGet, vec![row, index], ty, position)
}

impl Lowerer<'_> {
    /// The type of a table's rows.
    pub(super) fn row_type_of(&self, table: TableId) -> RowType {
        row_type(self.catalog, self.catalog.table_by_id(table))
    }

    /// The row that a name stands for, as a value.
    pub(super) fn row_value(
        &mut self,
        names: &Names<'_>,
        parts: &[String],
        fields: Vec<Bound>,
        position: u32,
    ) -> Result<Bound> {
        if let Some(Found::Variable(variable)) = names.scope.lookup(parts) {
            let variable = variable.clone();
            return self.variable_value(&variable, position);
        }
        let known = names.column_names(parts);
        let of = parts.last().and_then(|alias| names.source(alias)).and_then(|(source, _)| source.of);
        let Some(rel) = of else { return self.record(fields, known, position) };
        let table = match self.rel(rel).kind {
            RelKind::Table(table) => Some(table),
            RelKind::CallSet { procedure, ordinality: false, .. } | RelKind::CallRow { procedure, .. } => {
                match self.catalog.procedure(procedure).returns {
                    Returns::SetOfTable(table) | Returns::RowOf(table) => Some(table),
                    _ => None,
                }
            }
            RelKind::Unnest { ref array, .. } => array.ty.row_of().map(|of| of.table),
            _ => None,
        };
        let func = if self.rel(rel).nullable { Func::RowMake } else { Func::ArrayMake };
        match table {
            Some(table) => {
                let ty = Type::Record(self.row_type_of(table));
                Ok(Bound::apply(func, fields, ty, position))
            }
            None => self.record(fields, known, position),
        }
    }

    /// The value of a row variable.
    pub(super) fn variable_value(&mut self, variable: &Variable, position: u32) -> Result<Bound> {
        let Variable::Row { fields, table, held, id } = variable else {
            return Err(Error::internal("a variable that is no row"));
        };
        let bound = |t: &Typed| Bound::new(BoundKind::Reg(t.reg), t.ty.clone(), position);
        let values: Vec<Bound> = fields.iter().map(|(_, t)| bound(t)).collect();
        // A view's rows have no type of a table's.
        let table = table.as_ref().filter(|table| **table != planaria_catalog::View::ROWS);
        let row = match table {
            Some(table) => {
                let ty = Type::Record(self.row_type_of(*table));
                Bound::apply(Func::ArrayMake, values, ty, position)
            }
            None => {
                let known = fields.iter().map(|(name, _)| name.clone()).collect();
                self.record(values, known, position)?
            }
        };
        Ok(self.held_value(row, *held, *id))
    }

    /// A field of a row, by its name.
    pub(super) fn field_of(&mut self, row: Bound, field: &str, position: u32) -> Result<Bound> {
        let Type::Record(ty) = &row.ty else {
            let message =
                format!("column notation .{field} applied to type {}, which is not a composite type", row.ty);
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(position));
        };
        let Some(at) = ty.iter().position(|(name, _)| name == field) else {
            let message = match &ty.of {
                Some(of) => format!("column \"{field}\" not found in data type {}", of.name),
                None => format!("could not identify column \"{field}\" in record data type"),
            };
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(position));
        };
        let of = ty[at].1.clone();
        Ok(nth_field(row, at, of, position))
    }

    /// What an assignment to a field stands for: the row with that field, of which the others may be NULL.
    pub(super) fn put_field(
        &mut self,
        row: &Bound,
        field: &Bound,
        value: &Bound,
        position: u32,
    ) -> Result<Bound> {
        let BoundKind::Const(Datum::Text(field)) = &field.kind else {
            return Err(Error::internal("a field without a name"));
        };
        let column = match &row.stripped().kind {
            BoundKind::Column(rel, at) => self.rel(*rel).columns.get(*at).map(|(name, _)| name.clone()),
            _ => None,
        };
        let column = column.unwrap_or_default();
        let Type::Record(ty) = &row.ty else {
            let message = format!(
                "cannot assign to field \"{field}\" of column \"{column}\" because its type {} is not a composite \
                 type",
                row.ty
            );
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
        };
        let Some(at) = ty.iter().position(|(name, _)| name == field) else {
            let message = format!(
                "cannot assign to field \"{field}\" of column \"{column}\" because there is no such column in data \
                 type {ty}"
            );
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(position));
        };
        let (wanted, given) = (ty[at].1.clone(), value.ty.clone());
        let value = self.coerce(value.clone(), &wanted, CastContext::Assignment).map_err(|error| {
            if error.sqlstate() != SqlState::CANNOT_COERCE {
                return error;
            }
            let message =
                format!("subfield \"{field}\" is of type {wanted} but expression is of type {given}");
            Error::new(SqlState::DATATYPE_MISMATCH, message)
                .with_hint("You will need to rewrite or cast the expression.")
                .at(value.position)
        })?;
        let ty = ty.clone();
        self.with_let(row.clone(), |_, row| {
            let field = |(i, (_, of)): (usize, &(String, Type))| match i == at {
                true => value.clone(),
                false => nth_field(row.clone(), i, of.clone(), position),
            };
            let fields = ty.iter().enumerate().map(field).collect();
            Ok(Bound::apply(Func::ArrayMake, fields, Type::Record(ty.clone()), position))
        })
    }

    /// Elements of a row or of VALUES, with each `row.*` and `(row).*` written out.
    pub(super) fn spread<'e>(&mut self, names: &Names<'_>, fields: &'e [Expr]) -> Result<Cow<'e, [Expr]>> {
        let fields = names.spread(fields);
        if !fields.iter().any(|e| matches!(e.kind, ExprKind::Fields(_))) {
            return Ok(fields);
        }
        let mut all = Vec::new();
        for e in fields.iter() {
            match &e.kind {
                ExprKind::Fields(inner) => {
                    all.extend(self.fields_of(names, inner, e.position)?.into_iter().map(|item| item.expr));
                }
                _ => all.push(e.clone()),
            }
        }
        Ok(Cow::Owned(all))
    }

    /// An expression that is only looked at for its type: what that leaves behind counts for nothing.
    pub(super) fn looked_at(&mut self, names: &Names<'_>, e: &Expr) -> Result<Type> {
        let before =
            self.collectors.last().map(|c| (c.aggregates.len(), c.windows.len(), c.sets.len(), c.set_calls));
        let bound = self.bind(names, e)?;
        if let (Some(collector), Some((aggregates, windows, sets, calls))) =
            (self.collectors.last_mut(), before)
        {
            collector.aggregates.truncate(aggregates);
            collector.windows.truncate(windows);
            collector.sets.truncate(sets);
            collector.set_calls = calls;
        }
        Ok(bound.ty)
    }

    /// `(e).*`: an item for each field. As in PostgreSQL `e` is computed for each of them.
    pub(super) fn fields_of(
        &mut self,
        names: &Names<'_>,
        inner: &Expr,
        position: u32,
    ) -> Result<Vec<SelectItem>> {
        if self.text.is_some() {
            let message = "row expansion via \"*\" in a view is not supported";
            return Err(Error::unsupported(message, "Name the fields one by one.").at(position));
        }
        let columns = match &inner.kind {
            ExprKind::Column(name) if names.has_row(name) => names.column_names(&name.parts),
            _ => {
                let ty = self.looked_at(names, inner)?;
                let Type::Record(ty) = &ty else {
                    let message = format!("type {ty} is not composite");
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(inner.position));
                };
                ty.iter().map(|(name, _)| name.clone()).collect()
            }
        };
        let item = |field: String| {
            let kind = ExprKind::Field(Box::new(inner.clone()), field.clone());
            SelectItem { expr: Expr { position, kind }, alias: Some(field) }
        };
        Ok(columns.into_iter().map(item).collect())
    }

    /// `row.f`, where there is no such column: the function `f` of the row.
    pub(super) fn function_of_row(
        &mut self,
        names: &Names<'_>,
        name: &Name,
        position: u32,
    ) -> Result<Option<Bound>> {
        let [row, function] = &name.parts[..] else { return Ok(None) };
        let takes_row = |p: &planaria_catalog::Procedure| {
            let mut inputs = p.inputs();
            matches!((inputs.next(), inputs.next()), (Some(one), None) if matches!(one.ty, Type::Record(_)))
        };
        let row = Name { parts: vec![row.clone()], position };
        if !names.has_row(&row) || !self.catalog.procedures_named(function.as_str()).any(takes_row) {
            return Ok(None);
        }
        let value = Expr { position, kind: ExprKind::Column(row) };
        let args = vec![Argument { name: None, value }];
        let call = FunctionCall::plain(Name { parts: vec![function.clone()], position }, args);
        self.bind_call(names, &call, position).map(Some)
    }

    /// A row that becomes one of another type: a record that is written out can become a row of a table.
    pub(super) fn coerce_row(
        &mut self,
        e: Bound,
        from: &RowType,
        to: &RowType,
        context: CastContext,
    ) -> Result<Bound> {
        let position = e.position;
        let wrong = |detail: Option<String>| {
            let message = format!("cannot cast type {from} to {to}");
            let error = Error::new(SqlState::CANNOT_COERCE, message).at(position);
            match detail {
                Some(detail) => error.with_detail(detail),
                None => error,
            }
        };
        let ty = Type::Record(to.clone());
        let Some(of) = &to.of else {
            let alike = from.len() == to.len() && from.iter().zip(to.iter()).all(|((_, a), (_, b))| a == b);
            return match alike {
                true => Ok(Bound::new(BoundKind::Relabel(Box::new(e)), ty, position)),
                false => Err(wrong(None)),
            };
        };
        let (func, fields) = match (&from.of, &e.kind) {
            // A record that may be NULL as a whole.
            (None, BoundKind::Const(Datum::Null)) if self.form >= ROWS_TOLD => {
                return Ok(Bound::null(ty, position));
            }
            (None, BoundKind::Case(whens, otherwise)) if self.form >= ROWS_TOLD => {
                let (whens, otherwise) = (whens.clone(), otherwise.clone());
                let mut turned = Vec::with_capacity(whens.len());
                for (when, then) in whens {
                    turned.push((when, self.coerce_row(then, from, to, context)?));
                }
                let otherwise = self.coerce_row(*otherwise, from, to, context)?;
                return Ok(Bound::new(BoundKind::Case(turned, Box::new(otherwise)), ty, position));
            }
            (None, BoundKind::Apply(func @ (Func::ArrayMake | Func::RowMake), fields)) => {
                (*func, fields.clone())
            }
            // One that was computed before, for a variable or a default: NULL stays NULL.
            (None, BoundKind::Reg(_)) if self.form >= ROWS_TOLD => {
                let fields = from.iter().enumerate();
                let field =
                    |(i, (_, ty)): (usize, &(String, Type))| nth_field(e.clone(), i, ty.clone(), position);
                let fields = fields.map(field).collect();
                let made = Bound::apply(Func::ArrayMake, fields, Type::Record(from.clone()), position);
                let made = self.coerce_row(made, from, to, context)?;
                let is_null = Bound::apply(Func::IsNull, vec![e.clone()], Type::Bool, position);
                let null = Bound::null(ty.clone(), position);
                let kind = BoundKind::Case(vec![(is_null, null)], Box::new(made));
                return Ok(Bound::new(kind, ty, position));
            }
            (None, BoundKind::Reg(_)) => {
                let fields = from.iter().enumerate();
                let field =
                    |(i, (_, ty)): (usize, &(String, Type))| nth_field(e.clone(), i, ty.clone(), position);
                (Func::RowMake, fields.map(field).collect())
            }
            _ => return Err(wrong(None)),
        };
        let given = fields.len();
        let domains: Vec<_> =
            self.catalog.table_by_id(of.table).visible().map(|(_, column)| column.domain).collect();
        let mut converted = Vec::with_capacity(fields.len());
        for (i, ((field, (_, ty)), domain)) in fields.into_iter().zip(to.iter()).zip(domains).enumerate() {
            // A literal takes the type of its column.
            let literal = field.ty == Type::Text
                && matches!(field.kind, BoundKind::Const(Datum::Text(_) | Datum::Null));
            let field = if literal { Bound { ty: Type::Unknown, ..field } } else { field };
            let is = field.ty.clone();
            let field = self.coerce(field, ty, context).map_err(|error| match error.sqlstate() {
                SqlState::CANNOT_COERCE => {
                    wrong(Some(format!("Cannot cast type {is} to {ty} in column {}.", i + 1)))
                }
                _ => error,
            })?;
            converted.push(self.in_domain(field, domain));
        }
        match given.cmp(&to.len()) {
            Ordering::Equal => Ok(Bound::apply(func, converted, ty, position)),
            Ordering::Less => Err(wrong(Some("Input has too few columns.".to_owned()))),
            Ordering::Greater => Err(wrong(Some("Input has too many columns.".to_owned()))),
        }
    }

    /// In programs of former forms a row variable that is NULL is passed as NULL, and so is one of NULLs.
    pub(super) fn row_argument(&self, value: Bound) -> Bound {
        match value.kind {
            BoundKind::Apply(Func::ArrayMake, fields)
                if self.form < ROWS_TOLD
                    && matches!(&value.ty, Type::Record(row) if row.of.is_some())
                    && fields.iter().all(|f| matches!(f.kind, BoundKind::Reg(_))) =>
            {
                Bound { kind: BoundKind::Apply(Func::RowMake, fields), ..value }
            }
            _ => value,
        }
    }

    /// 0A000 for a text that is to be a row of a table that has columns of domains, whose conditions are not looked at.
    pub(super) fn check_row_of_text(&self, to: &RowType, position: u32) -> Result<()> {
        let table = to.of.as_ref().map(|of| self.catalog.table_by_id(of.table));
        if table.is_none_or(|t| t.visible().all(|(_, c)| c.domain.is_none())) {
            return Ok(());
        }
        let message = format!("a text as a row of {to}, which has columns of domains, is not supported");
        Err(Error::unsupported(message, "Write the row as ROW(..).").at(position))
    }

    /// `row IS [NOT] NULL`: all its fields are, or none is.
    pub(super) fn row_is_null(&mut self, row: Bound, negated: bool, position: u32) -> Result<Bound> {
        let Type::Record(ty) = row.ty.clone() else { return Err(Error::internal("no row")) };
        let func = if negated { Func::IsNotNull } else { Func::IsNull };
        self.with_let(row, |_, row| {
            let mut all = Bound::bool(true, position);
            for (i, (_, ty)) in ty.iter().enumerate() {
                let field = nth_field(row.clone(), i, ty.clone(), position);
                all = all.and(Bound::apply(func, vec![field], Type::Bool, position));
            }
            Ok(all)
        })
    }

    /// Calls a function that answers with a row, as a value.
    pub(super) fn call_for_row(
        &mut self,
        procedure: planaria_base::ProcedureId,
        args: Vec<Reg>,
        row: &RowType,
        dst: Reg,
    ) {
        let mut outs: Vec<Reg> = row.iter().map(|(_, ty)| self.temp(ty.clone())).collect();
        let routine = self.catalog.procedure(procedure);
        if routine.says_row() {
            let told = self.temp(Type::Bool);
            outs.push(told);
            self.emit(OpKind::Call { procedure, args, outs: outs.clone() });
            outs.pop();
            let op = |kind| Op { id: OpId(0), position: self.position, kind };
            let then = Block(vec![op(OpKind::Apply { dst, func: Func::ArrayMake, args: outs })]);
            let otherwise = Block(vec![op(OpKind::Const { dst, value: Datum::Null })]);
            self.emit(OpKind::If { cond: told, then, otherwise });
            return;
        }
        self.emit(OpKind::Call { procedure, args, outs: outs.clone() });
        // OUT parameters make a row whatever they are.
        // One in SQL that finds no row is NULL.
        let in_sql = routine.language == planaria_catalog::Language::Sql;
        // One that returns `record` says itself whether there is a row.
        let record = matches!(routine.returns, planaria_catalog::Returns::Record { .. });
        let null = row.of.is_some() || record || in_sql && !self.reads_after;
        let func = if null { Func::RowMake } else { Func::ArrayMake };
        self.emit(OpKind::Apply { dst, func, args: outs });
    }

    /// The fields of a row in a register, each in one of its own; `name`: in variables of a row of that name.
    pub(super) fn unpacked(&mut self, row: Reg, ty: &RowType, name: Option<&str>) -> Vec<(String, Typed)> {
        let mut fields = Vec::with_capacity(ty.len());
        for (i, (field, ty)) in ty.iter().enumerate() {
            let index = self.constant(Datum::Int(i as i64 + 1), Type::Int4);
            let reg = match name {
                Some(name) => self.program.reg(RegKind::Value(ty.clone()), Some(format!("{name}.{field}"))),
                None => self.temp(ty.clone()),
            };
            self.emit(OpKind::Apply { dst: reg, func: Func::ArrayGet, args: vec![row, index] });
            fields.push((field.clone(), Typed { reg, ty: ty.clone() }));
        }
        fields
    }

    /// The row variable of a parameter that the routine gives: NULL, unless it is passed as well.
    pub(super) fn given_row(
        &mut self,
        row: Reg,
        ty: &RowType,
        name: &str,
        passed: bool,
        id: RowId,
    ) -> Variable {
        let fields = match passed {
            true => self.unpacked(row, ty, Some(name)),
            false => {
                let mut fields = Vec::with_capacity(ty.len());
                for (field, ty) in ty.iter() {
                    let reg = self.program.reg(RegKind::Value(ty.clone()), Some(format!("{name}.{field}")));
                    self.emit(OpKind::Const { dst: reg, value: Datum::Null });
                    fields.push((field.clone(), Typed { reg, ty: ty.clone() }));
                }
                fields
            }
        };
        let table = ty.of.as_ref().map(|of| of.table);
        if let Some(table) = table {
            let domains = self.catalog.table_by_id(table).visible().map(|(_, c)| c.domain);
            let domains: Vec<_> = domains.collect();
            for ((_, field), domain) in fields.iter().zip(domains) {
                self.declare_domain(field.reg, domain);
            }
        }
        self.row_outs.push((row, fields.iter().map(|(_, field)| field.reg).collect()));
        let held = if passed || self.rows.former { self.passed_row() } else { Held::Null };
        Variable::Row { fields, table, held, id }
    }

    /// Puts the rows together that the routine gives, before it answers; and says whether there is the one that it answers with.
    pub(super) fn pack_outs(&mut self, scope: &Scope) -> Result<()> {
        for (row, fields) in self.row_outs.clone() {
            let held = fields.first().and_then(|first| scope.held_of(*first));
            let Some((held, id)) = held.filter(|_| self.form >= ROWS_TOLD) else {
                self.emit(OpKind::Apply { dst: row, func: Func::RowMake, args: fields });
                continue;
            };
            match held {
                Held::Row => self.emit(OpKind::Apply { dst: row, func: Func::ArrayMake, args: fields }),
                Held::Null => self.emit(OpKind::Const { dst: row, value: Datum::Null }),
                Held::Unsure => {
                    if let Some(flag) = self.row_flag(id) {
                        let op = |kind| Op { id: OpId(0), position: self.position, kind };
                        let made = OpKind::Apply { dst: row, func: Func::ArrayMake, args: fields };
                        let then = Block(vec![op(made)]);
                        let otherwise = Block(vec![op(OpKind::Const { dst: row, value: Datum::Null })]);
                        self.emit(OpKind::If { cond: flag, then, otherwise });
                    }
                }
            }
        }
        Ok(())
    }

    /// Says that the row which the routine answers with is there, or not.
    pub(super) fn tell_row(&mut self, there: bool) {
        if let Some(dst) = self.row_told {
            self.emit(OpKind::Const { dst, value: Datum::Bool(there) });
        }
    }

    /// Says that it is there if a value is.
    pub(super) fn tell_row_by(&mut self, value: Reg) {
        if let Some(dst) = self.row_told {
            self.emit(OpKind::Apply { dst, func: Func::IsNotNull, args: vec![value] });
        }
    }

    /// Says that it is there if a variable holds one.
    pub(super) fn tell_row_of(&mut self, held: Held, id: RowId) {
        match self.rows.known_of(held, id) {
            Held::Row => self.tell_row(true),
            Held::Null => self.tell_row(false),
            Held::Unsure => {
                if let (Some(dst), Some(src)) = (self.row_told, self.row_flag(id)) {
                    self.emit(OpKind::Copy { dst, src });
                }
            }
        }
    }

    /// Where so many columns are wanted and there is one, a row: its fields.
    pub(super) fn spread_row(&mut self, wanted: usize, values: &[Typed]) -> Option<Vec<Typed>> {
        match values {
            [Typed { reg, ty: Type::Record(row) }] if row.len() == wanted => {
                let (reg, row) = (*reg, row.clone());
                Some(self.unpacked(reg, &row, None).into_iter().map(|(_, t)| t).collect())
            }
            _ => None,
        }
    }

    /// `=`, `<` and the like over two rows, one of them a value: as ORDER BY and DISTINCT have it, by their fields in
    /// order, where NULL equals NULL. (Two that are both written out, `(a, b) = (1, 2)`, are compared field by field.)
    pub(super) fn record_operator(
        &mut self,
        which: BinaryOp,
        left: &Bound,
        right: &Bound,
        position: u32,
    ) -> Result<Option<Bound>> {
        let is_value = |e: &Bound| matches!(e.ty, Type::Record(_));
        if !is_comparison(which) || !is_value(left) && !is_value(right) {
            return Ok(None);
        }
        let other = if is_value(left) { left.ty.clone() } else { right.ty.clone() };
        let mut row = |e: &Bound| match &e.kind {
            BoundKind::Row(fields) => self.record(fields.clone(), Vec::new(), e.position),
            _ if e.ty == Type::Unknown => self.operand(e.clone(), &other),
            _ => Ok(e.clone()),
        };
        let args = vec![row(left)?, row(right)?];
        let (Type::Record(l), Type::Record(r)) = (&args[0].ty, &args[1].ty) else { return Ok(None) };
        let mismatch = |message: String| Err(Error::new(SqlState::DATATYPE_MISMATCH, message));
        for (i, ((_, l), (_, r))) in l.fields.iter().zip(&r.fields).enumerate() {
            if !same_base(l, r) && !matches!((l, r), (Type::Record(_), Type::Record(_))) {
                return mismatch(format!(
                    "cannot compare dissimilar column types {} and {} at record column {}",
                    l.base(),
                    r.base(),
                    i + 1
                ));
            }
            match which {
                BinaryOp::Eq | BinaryOp::Ne => told_apart(l, position)?,
                _ => super::types::has(l, "a comparison function", position)?,
            }
        }
        if l.len() != r.len() {
            return mismatch("cannot compare record types with different numbers of columns".to_owned());
        }
        let equal = |func| Ok(Some(Bound::apply(func, args.clone(), Type::Bool, position)));
        match which {
            BinaryOp::Eq => equal(Func::ArrayEq),
            BinaryOp::Ne => equal(Func::ArrayNe),
            _ => {
                let order = Bound::apply(Func::ArrayCompare, args, Type::Int4, position);
                let zero = Bound::constant(Datum::Int(0), Type::Int4, position);
                self.binary(which, order, zero, position).map(Some)
            }
        }
    }
}
