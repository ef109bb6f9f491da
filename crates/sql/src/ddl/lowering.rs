//! Where schema changes meet the lowering: expressions over one row, and validations.

use super::{Change, Validation, Work, reparse};
use crate::lower::{self, CastContext, Lowerer, ParamTypes, Scope, Typed, Variable};
use planaria_base::{ColumnId, Error, Result, SqlState, TableId, Type, TypeId};
use planaria_catalog::{Catalog, Column, Table};
use planaria_ir::{Output, Param, ParamMode, Program, ProgramKind, RegKind};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{
    BinaryOp, Expr, ExprKind, IsWhat, Name, Query, QueryBody, Select, SelectItem, Statement, StatementKind,
    TableAlias, TableRef, TypeName, TypeNameKind, UnaryOp,
};

/// Where an expression of a definition stands, for errors.
#[derive(Clone, Copy)]
pub(super) enum Place {
    Check,
    Default,
    Generated,
    IndexExpression,
    IndexPredicate,
    Statistics,
    /// ALTER COLUMN TYPE ... USING
    Transform,
    TriggerCondition,
}

impl Place {
    fn clause(self) -> &'static str {
        match self {
            Place::Check => "check constraint",
            Place::Default => "DEFAULT expression",
            Place::IndexExpression => "index expression",
            Place::IndexPredicate => "index predicate",
            Place::Statistics => "statistics expression",
            Place::Generated => "column generation expression",
            Place::Transform => "transform expression",
            Place::TriggerCondition => "trigger WHEN condition",
        }
    }
}

const AGGREGATES: &[&str] =
    &["count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every", "array_agg", "string_agg"];

/// What must not stand in an expression of a definition.
pub(super) fn restrict(expr: &Expr, place: Place) -> Result<()> {
    let mut found = None;
    let mut refuse = |state, message: String, position: Option<u32>| {
        let error = Error::new(state, message);
        found.get_or_insert(match position {
            Some(p) => error.at(p),
            None => error,
        });
    };
    visit::expr(expr, &mut |node| match node {
        Node::Enter(visit::Place::Subquery) => {
            let message = format!("cannot use subquery in {}", place.clause());
            refuse(SqlState::FEATURE_NOT_SUPPORTED, message, Some(expr.position));
        }
        Node::Call(call) => {
            let name = call.name.parts.last().map_or("", |n| n.as_str());
            let at = Some(call.name.position);
            if call.over.is_some() {
                let message = format!("window functions are not allowed in {}s", place.clause());
                refuse(SqlState::WINDOWING_ERROR, message, at);
            } else if AGGREGATES.contains(&name) && call.name.parts.len() == 1 {
                let message = format!("aggregate functions are not allowed in {}s", place.clause());
                refuse(SqlState::GROUPING_ERROR, message, at);
            }
        }
        Node::Expr(Expr { kind: ExprKind::Column(_), position }) if matches!(place, Place::Default) => {
            let message = "cannot use column reference in DEFAULT expression".to_owned();
            refuse(SqlState::FEATURE_NOT_SUPPORTED, message, Some(*position));
        }
        Node::Expr(Expr { kind: ExprKind::Parameter(n), position }) => {
            refuse(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${n}"), Some(*position));
        }
        _ => {}
    });
    found.map_or(Ok(()), Err)
}

/// An expression over a row, and the type it is to have.
pub(super) struct RowExpr {
    pub expr: Expr,
    /// It is what a definition keeps as text, and means what that means.
    pub kept: bool,
    pub ty: Type,
    pub context: CastContext,
    /// The domain whose conditions it must meet.
    pub domain: Option<TypeId>,
    /// The column it gives, for the output's name.
    pub column: String,
    /// It is over the row as it becomes: columns that are computed in front of it are those.
    pub over_new: bool,
}

/// A program that takes the stored columns of a row and answers with the expressions.
pub(super) fn row_program(catalog: &Catalog, row: &Table, exprs: &[RowExpr]) -> Result<Program> {
    let catalog = &*catalog.ready();
    let mut lowerer = Lowerer::new(catalog, format!("rewrite of {}", row.name), ProgramKind::Function);
    let scope = row_scope(&mut lowerer, row);
    // What columns are that another type was given to.
    let mut changed: Vec<(&str, Typed)> = Vec::new();
    for e in exprs {
        lowerer.at(e.expr.position);
        let computed = |l: &mut Lowerer<'_>| {
            if !e.over_new {
                let value = l.expr(&scope, &e.expr)?;
                if are_rows_of_before(&value.ty, &e.ty) {
                    return l.reshaped(value, &e.ty);
                }
                return l.cast(value, &e.ty, e.context);
            }
            let scope = new_row_scope(l, row, &changed);
            let value = l.expr(&scope, &e.expr)?;
            l.cast(value, &e.ty, e.context)
        };
        let reg = if e.kept { lowerer.at_home(computed)? } else { computed(&mut lowerer)? };
        if let Some(domain) = e.domain {
            lowerer.check_domain(reg, domain)?;
        }
        if !e.over_new {
            changed.push((&e.column, Typed { reg, ty: e.ty.clone() }));
        }
        lowerer.program.outs.push(reg);
        lowerer.program.outputs.push(Output { name: e.column.clone(), ty: e.ty.clone() });
    }
    lowerer.finish()
}

/// Whether values are rows, or arrays of rows, of the same type before it got, or lost, fields.
fn are_rows_of_before(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (Type::Array(from), Type::Array(to)) => are_rows_of_before(from, to),
        (Type::Record(from), Type::Record(to)) => from.is_former_of(to),
        _ => false,
    }
}

/// The columns of a row as it becomes: those that were computed, and the stored ones.
fn new_row_scope(lowerer: &Lowerer<'_>, row: &Table, changed: &[(&str, Typed)]) -> Scope {
    let mut scope = Scope::new();
    scope.push(Some(row.name.clone()));
    for (name, value) in changed.iter().filter(|(name, _)| row.column(name).is_none()) {
        scope.declare((*name).to_owned(), Variable::Scalar(value.clone()));
    }
    for (column, param) in row.columns.iter().zip(&lowerer.program.params).filter(|(c, _)| !c.hidden) {
        let kept = Typed { reg: param.reg, ty: param.ty.clone() };
        let value = changed.iter().rev().find(|(name, _)| *name == column.name).map(|(_, v)| v.clone());
        scope.declare(column.name.clone(), Variable::Scalar(value.unwrap_or(kept)));
    }
    scope
}

/// The stored columns of a row as parameters; the visible ones have names.
fn row_scope(lowerer: &mut Lowerer<'_>, row: &Table) -> Scope {
    let mut scope = Scope::new();
    scope.push(Some(row.name.clone()));
    for column in &row.columns {
        let ty = column.ty.clone();
        let reg = lowerer.program.reg(RegKind::Value(ty.clone()), Some(column.name.clone()));
        let param = Param { name: column.name.clone(), ty: ty.clone(), mode: ParamMode::In, reg };
        lowerer.program.params.push(param);
        if !column.hidden {
            scope.declare(column.name.clone(), Variable::Scalar(Typed { reg, ty }));
        }
    }
    scope
}

/// The type of an expression over a row, found by lowering it.
fn type_over_row(catalog: &Catalog, row: &Table, expr: &Expr) -> Result<Type> {
    let catalog = &*catalog.ready();
    let mut lowerer = Lowerer::new(catalog, "definition", ProgramKind::Function).of_kept_text();
    let scope = row_scope(&mut lowerer, row);
    lowerer.expr(&scope, expr).map(|v| v.ty)
}

/// A CHECK's expression: a boolean over one row.
pub(super) fn check_condition(catalog: &Catalog, table: &Table, expr: &Expr) -> Result<()> {
    restrict(expr, Place::Check)?;
    match type_over_row(catalog, table, expr)? {
        Type::Bool | Type::Unknown => Ok(()),
        other => {
            let message = format!("argument of CHECK must be type boolean, not type {other}");
            Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(expr.position))
        }
    }
}

/// A domain's condition: a boolean over `VALUE`.
pub(super) fn check_domain_condition(catalog: &Catalog, base: &Type, expr: &Expr) -> Result<()> {
    restrict(expr, Place::Check)?;
    let catalog = &*catalog.ready();
    let mut lowerer = Lowerer::new(catalog, "definition", ProgramKind::Function).of_kept_text();
    let mut scope = Scope::new();
    let reg = lowerer.program.reg(RegKind::Value(base.clone()), Some("value".to_owned()));
    scope.declare("value", Variable::Scalar(Typed { reg, ty: base.clone() }));
    match lowerer.expr(&scope, expr)?.ty {
        Type::Bool | Type::Unknown => Ok(()),
        other => {
            let message = format!("argument of CHECK must be type boolean, not type {other}");
            Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(expr.position))
        }
    }
}

/// A DEFAULT's expression: no columns, of a type that can be assigned to the column's.
pub(super) fn check_default(catalog: &Catalog, column: &str, ty: &Type, expr: &Expr) -> Result<()> {
    restrict(expr, Place::Default)?;
    let catalog = &*catalog.ready();
    let mut lowerer = Lowerer::new(catalog, "default", ProgramKind::Function).of_kept_text();
    let value = lowerer.expr(&Scope::new(), expr)?;
    let from = value.ty.clone();
    lowerer.cast(value, ty, CastContext::Assignment).map(|_| ()).map_err(|error| {
        if !matches!(error.sqlstate(), SqlState::DATATYPE_MISMATCH | SqlState::CANNOT_COERCE) {
            return error;
        }
        let [ty, from] = [ty, &from].map(lower::type_in_message);
        let message = format!("column \"{column}\" is of type {ty} but default expression is of type {from}");
        Error::new(SqlState::DATATYPE_MISMATCH, message)
            .with_hint("You will need to rewrite or cast the expression.")
            .at(expr.position)
    })
}

/// 22P02 of a default that is no JSON: the text becomes a value when it is stored. What logs have stays.
pub(super) fn check_json_default(made: Made, ty: &Type, expr: &Expr) -> Result<()> {
    match &expr.kind {
        ExprKind::String(text) if made == Made::Now && matches!(ty, Type::Jsonb | &Type::JSON) => {
            planaria_base::Datum::parse(ty, text).map(drop)
        }
        _ => Ok(()),
    }
}

/// When a definition was made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// By this statement.
    Now,
    /// By one of before, or one that the log has, maybe of a program that asked less.
    Before,
}

impl Made {
    /// By a statement of this actor.
    pub(super) fn by(actor: &super::Actor) -> Made {
        if actor.internal { Made::Before } else { Made::Now }
    }
}

/// The type of an index's expression, which must be immutable.
pub(super) fn index_expression(catalog: &Catalog, table: &Table, expr: &Expr, made: Made) -> Result<Type> {
    restrict(expr, Place::IndexExpression)?;
    let catalog = &*catalog.ready();
    let mut lowerer = Lowerer::new(catalog, "definition", ProgramKind::Function).of_kept_text();
    let scope = row_scope(&mut lowerer, table);
    let ty = match lowerer.expr(&scope, expr)?.ty {
        Type::Unknown if made == Made::Now => {
            let message = "data type unknown has no default operator class for access method \"btree\"";
            let hint = "You must specify an operator class for the index or define a default operator class for \
                        the data type.";
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).with_hint(hint));
        }
        Type::Unknown => Type::Text,
        ty => ty,
    };
    must_be_immutable(catalog, lowerer, "index expression", made)?;
    Ok(ty)
}

/// The type of an expression of CREATE STATISTICS.
pub(super) fn statistics_expression(catalog: &Catalog, table: &Table, expr: &Expr) -> Result<Type> {
    restrict(expr, Place::Statistics)?;
    type_over_row(catalog, table, expr)
}

/// The type of a partition key's expression that was accepted before: what its functions are by now is not asked again.
pub(super) fn key_type(catalog: &Catalog, table: &Table, expr: &Expr) -> Result<Type> {
    Ok(match type_over_row(catalog, table, expr)? {
        Type::Unknown => Type::Text,
        ty => ty,
    })
}

/// The condition of a partial index.
pub(super) fn check_predicate(catalog: &Catalog, table: &Table, expr: &Expr, made: Made) -> Result<()> {
    restrict(expr, Place::IndexPredicate)?;
    let catalog = &*catalog.ready();
    let mut lowerer = Lowerer::new(catalog, "definition", ProgramKind::Function).of_kept_text();
    let scope = row_scope(&mut lowerer, table);
    match lowerer.expr(&scope, expr)?.ty {
        Type::Bool | Type::Unknown => {}
        other => {
            let message = format!("argument of WHERE must be type boolean, not type {other}");
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(expr.position));
        }
    }
    must_be_immutable(catalog, lowerer, "index predicate", made)
}

fn must_be_immutable(catalog: &Catalog, lowerer: Lowerer<'_>, what: &str, made: Made) -> Result<()> {
    if lower::is_immutable(catalog, &lowerer.finish()?, made == Made::Now) {
        return Ok(());
    }
    let message = format!("functions in {what} must be marked IMMUTABLE");
    Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message))
}

/// A generated column's expression: immutable, over the row's columns that are not generated themselves.
pub(super) fn check_generated(
    catalog: &Catalog,
    table: &Table,
    column: &Column,
    expr: &Expr,
    made: Made,
) -> Result<()> {
    restrict(expr, Place::Generated)?;
    let names = expr.column_names();
    let other = table
        .visible()
        .map(|(_, c)| c)
        .find(|c| names.contains(&c.name) && (c.generated().is_some() || c.name == column.name));
    if let Some(other) = other {
        let message =
            format!("cannot use generated column \"{}\" in column generation expression", other.name);
        let detail = "A generated column cannot reference another generated column.";
        return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message)
            .with_detail(detail)
            .at(expr.position));
    }
    let catalog = &*catalog.ready();
    let mut lowerer = Lowerer::new(catalog, "definition", ProgramKind::Function).of_kept_text();
    let scope = row_scope(&mut lowerer, table);
    let value = lowerer.expr(&scope, expr)?;
    let from = value.ty.clone();
    lowerer.cast(value, &column.ty, CastContext::Assignment).map_err(|error| {
        if !matches!(error.sqlstate(), SqlState::DATATYPE_MISMATCH | SqlState::CANNOT_COERCE) {
            return error;
        }
        let (name, [ty, from]) = (&column.name, [&column.ty, &from].map(lower::type_in_message));
        let message = format!("column \"{name}\" is of type {ty} but default expression is of type {from}");
        Error::new(SqlState::DATATYPE_MISMATCH, message)
            .with_hint("You will need to rewrite or cast the expression.")
            .at(expr.position)
    })?;
    if !lower::is_immutable(catalog, &lowerer.finish()?, made == Made::Now) {
        let message = "generation expression is not immutable";
        return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message));
    }
    Ok(())
}

// ---- validations: queries that must give no row ----

pub(super) fn node(kind: ExprKind) -> Expr {
    Expr { position: 0, kind }
}

fn column(table: &str, name: &str) -> Expr {
    node(ExprKind::Column(Name { parts: vec![table.to_owned(), name.to_owned()], position: 0 }))
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    node(ExprKind::Binary(op, Box::new(a), Box::new(b)))
}

fn not(e: Expr) -> Expr {
    node(ExprKind::Unary(UnaryOp::Not, Box::new(e)))
}

fn text(e: Expr) -> Expr {
    let ty = TypeName { position: 0, kind: TypeNameKind::Known(Type::Text) };
    node(ExprKind::Cast(Box::new(e), ty))
}

fn select(item: Expr, from: TableRef, filter: Expr, limit: Option<u32>) -> Query {
    let select = Select {
        items: vec![SelectItem { expr: item, alias: None }],
        from: vec![from],
        filter: Some(filter),
        ..Select::default()
    };
    let limit = limit.map(|n| node(ExprKind::Integer(n.to_string())));
    Query { limit, ..Query::new(QueryBody::Select(Box::new(select)), 0) }
}

fn relation(catalog: &Catalog, table: &Table, alias: &str) -> TableRef {
    let schema = catalog.schema_name(table.schema).to_owned();
    TableRef::Relation {
        name: Name { parts: vec![schema, table.name.clone()], position: 0 },
        only: false,
        alias: Some(TableAlias { name: alias.to_owned(), columns: Vec::new() }),
    }
}

/// A condition to be checked once the whole statement has changed the catalog.
pub(super) enum Promise {
    /// The CHECK of that name holds for all rows.
    Check { table: TableId, name: String },
    /// The column of that name, of a partition, is NULL in no row.
    NotNull { table: TableId, name: String },
    /// The FOREIGN KEY of that name holds for all rows.
    ForeignKey { table: TableId, name: String },
    /// No two rows are in each other's way by the EXCLUDE of that name.
    Exclusion { table: TableId, name: String },
}

impl Change {
    /// Lowers promises against the catalog as it is now.
    pub(super) fn validate(&mut self, promises: Vec<Promise>) -> Result<()> {
        for promise in promises {
            if let Promise::Exclusion { table, name } = &promise {
                self.validate_exclusion(*table, name)?;
                continue;
            }
            let (queries, error) = match &promise {
                Promise::Check { table, name } => {
                    self.validate_check(*table, name)?;
                    continue;
                }
                Promise::NotNull { table, name } => {
                    let Some(table) = &self.catalog.tables[table.index()] else { continue };
                    let expr = Box::new(column(&table.name, name));
                    let is_null = node(ExprKind::Is { expr, what: IsWhat::Null, negated: false });
                    let from = relation(&self.catalog, table, &table.name);
                    let query = select(text(node(ExprKind::Null)), from, is_null, Some(1));
                    let message =
                        format!("column \"{name}\" of relation \"{}\" contains null values", table.name);
                    (vec![query], Error::new(SqlState::NOT_NULL_VIOLATION, message))
                }
                Promise::ForeignKey { table, name } => {
                    let Some(table) = &self.catalog.tables[table.index()] else { continue };
                    if !table.foreign_keys.iter().any(|k| k.name == *name) {
                        continue;
                    }
                    let message = format!(
                        "insert or update on table \"{}\" violates foreign key constraint \"{name}\"",
                        table.name
                    );
                    let error = Error::new(SqlState::FOREIGN_KEY_VIOLATION, message);
                    let mixed = half_null(&self.catalog, table, name);
                    let queries = mixed.into_iter().chain([self.orphans(table, name)]);
                    (queries.collect::<Vec<_>>(), error.constraint(name, &table.name))
                }
                Promise::Exclusion { .. } => continue,
            };
            for query in queries {
                self.validate_by(query, error.clone())?;
            }
        }
        Ok(())
    }

    /// A query that must give no row; else the error.
    fn validate_by(&mut self, query: Query, error: Error) -> Result<()> {
        let kind = StatementKind::Query(Box::new(query));
        let statement = Statement { position: 0, end: 0, kind };
        let home = self.catalog.at_home();
        let program = lower::lower_statement(&home, &statement, &ParamTypes::default())?;
        self.out.work.push(Work::Validate(Box::new(Validation { program, error })));
        Ok(())
    }

    /// The CHECK holds for all rows. Of a partitioned table each partition is asked by itself: the error names it.
    fn validate_check(&mut self, id: TableId, name: &str) -> Result<()> {
        let Some(table) = &self.catalog.tables[id.index()] else { return Ok(()) };
        let Some(check) = table.checks.iter().find(|c| c.name == *name) else { return Ok(()) };
        let condition = reparse::expression(&check.expression)?;
        let mut relations: Vec<TableId> = table.leaves().iter().map(|(leaf, _)| *leaf).collect();
        if relations.is_empty() {
            relations.push(id);
        }
        for id in relations {
            let table = self.catalog.table_by_id(id);
            let null = text(node(ExprKind::Null));
            let from = relation(&self.catalog, table, &table.name);
            let query = select(null, from, not(condition.clone()), Some(1));
            let relation = &table.name;
            let message =
                format!("check constraint \"{name}\" of relation \"{relation}\" is violated by some row");
            let error = Error::new(SqlState::CHECK_VIOLATION, message).constraint(name, relation);
            self.validate_by(query, error)?;
        }
        Ok(())
    }

    fn validate_exclusion(&mut self, id: TableId, name: &str) -> Result<()> {
        let Some(table) = &self.catalog.tables[id.index()] else { return Ok(()) };
        let index = table.indexes.iter().find(|i| i.name == name && i.exclusion.is_some());
        let Some(index) = index else { return Ok(()) };
        let (state, what) = match index.excludes() {
            true => (SqlState::EXCLUSION_VIOLATION, "exclusion constraint"),
            false => (SqlState::UNIQUE_VIOLATION, "unique index"),
        };
        let message = format!("could not create {what} \"{name}\"");
        let error = Error::new(state, message).constraint(name, &table.name);
        let program = lower::exclusion_violations(&self.catalog.at_home(), id, name)?;
        self.out.work.push(Work::Validate(Box::new(Validation { program, error })));
        Ok(())
    }

    /// Rows of a child table without a parent; the DETAIL of the error as a column.
    fn orphans(&self, child: &Table, name: &str) -> Query {
        let key = child.foreign_keys.iter().find(|k| k.name == name).expect("the caller found it");
        let parent = self.catalog.table_by_id(key.parent);
        let child_name = |c: &ColumnId| child.columns[c.index()].name.as_str();
        let parent_name = |c: &ColumnId| parent.columns[c.index()].name.as_str();
        let (c, p) = ("child", "parent");

        let pairs = key.columns.iter().zip(&key.parent_columns);
        let matches = pairs
            .map(|(a, b)| binary(BinaryOp::Eq, column(p, parent_name(b)), column(c, child_name(a))))
            .reduce(|a, b| binary(BinaryOp::And, a, b))
            .expect("a key has columns");
        let one = node(ExprKind::Integer("1".into()));
        let exists = select(one, relation(&self.catalog, parent, p), matches, None);
        let orphan = not(node(ExprKind::Exists(Box::new(exists))));
        let filter = key.columns.iter().fold(orphan, |filter, a| {
            let expr = Box::new(column(c, child_name(a)));
            let set = node(ExprKind::Is { expr, what: IsWhat::Null, negated: true });
            binary(BinaryOp::And, set, filter)
        });

        let names: Vec<&str> = key.columns.iter().map(child_name).collect();
        let string = |s: String| text(node(ExprKind::String(s)));
        let mut detail = string(format!("Key ({})=(", names.join(", ")));
        for (i, a) in names.iter().enumerate() {
            if i > 0 {
                detail = binary(BinaryOp::Concat, detail, string(", ".into()));
            }
            detail = binary(BinaryOp::Concat, detail, text(column(c, a)));
        }
        let tail = string(format!(") is not present in table \"{}\".", parent.name));
        let detail = binary(BinaryOp::Concat, detail, tail);
        select(detail, relation(&self.catalog, child, c), filter, Some(1))
    }
}

/// Of a MATCH FULL key, rows of which some columns are NULL and some are not.
fn half_null(catalog: &Catalog, child: &Table, name: &str) -> Option<Query> {
    let key = child.foreign_keys.iter().find(|k| k.name == name && k.match_full && k.columns.len() > 1)?;
    let c = "child";
    let null = |column_id: &ColumnId, negated: bool| {
        let expr = Box::new(column(c, &child.columns[column_id.index()].name));
        node(ExprKind::Is { expr, what: IsWhat::Null, negated })
    };
    let any = |negated| {
        let each = key.columns.iter().map(|column| null(column, negated));
        each.reduce(|a, b| binary(BinaryOp::Or, a, b))
    };
    let filter = binary(BinaryOp::And, any(false)?, any(true)?);
    let detail = text(node(ExprKind::String(lower::MIXED_KEY.to_owned())));
    Some(select(detail, relation(catalog, child, c), filter, Some(1)))
}
