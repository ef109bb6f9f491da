//! Calls: built-in functions, aggregates, window functions, set-returning functions, the user's
//! functions and procedures.

use super::Lowerer;
use super::bind_expr::arrayed;
use super::bound::{Aggregate, Bound, BoundKind, Rel, RelId, RelKind, WindowCall};
use super::functions::{ambiguous, missing_function, no_function};
use super::names::Names;
use super::resolve::{Choice, choose};
use super::types::{CastContext, unmodified};
use planaria_base::{Datum, Error, ProcedureId, Result, SchemaId, SqlState, Type};
use planaria_catalog::{Catalog, Mode, Parameter, Procedure, Returns, Wanted, no_schema};
use planaria_ir::{Func, ReadMode};
use planaria_syntax::ast::{Argument, Expr, ExprKind, FunctionCall, Name, Window};
use std::borrow::Cow;

/// Which clause of a SELECT is being bound: some forbid aggregates and the like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clause {
    From,
    Where,
    On,
    GroupBy,
    Select,
    Having,
    OrderBy,
    /// Inside an aggregate's arguments.
    Aggregate,
    /// Inside its FILTER.
    Filter,
    /// Inside a window function's arguments.
    Window,
    /// Outside of a SELECT.
    Other(&'static str),
}

impl Clause {
    pub fn name(self) -> &'static str {
        match self {
            Clause::From => "functions in FROM",
            Clause::Where => "WHERE",
            Clause::On => "JOIN conditions",
            Clause::GroupBy => "GROUP BY",
            Clause::Select => "SELECT",
            Clause::Having => "HAVING",
            Clause::OrderBy => "ORDER BY",
            Clause::Aggregate => "aggregate arguments",
            Clause::Filter => "FILTER",
            Clause::Window => "window definitions",
            Clause::Other(what) => what,
        }
    }
}

/// What the expressions of one SELECT leave behind while they are bound.
pub(super) struct Collector {
    pub clause: Clause,
    /// The pseudo relation of group keys and aggregates, and how many keys there are.
    pub group_rel: RelId,
    pub keys: usize,
    /// The keys, and which of them each grouping set has.
    pub grouped_by: (Vec<Bound>, Vec<Vec<bool>>),
    pub aggregates: Vec<Aggregate>,
    pub window_rel: RelId,
    pub windows: Vec<WindowCall>,
    pub named_windows: Vec<(String, Window)>,
    /// Set-returning functions of the select list, to be joined laterally.
    pub sets: Vec<RelId>,
    /// How many calls of such functions there are so far.
    pub set_calls: usize,
}

/// What PostgreSQL advises where a set-returning function cannot stand.
const MOVE_TO_FROM: &str = "You might be able to move the set-returning function into a LATERAL FROM item.";

/// How a parameter of a routine gets its value.
#[derive(Clone)]
pub(super) enum Given {
    /// The argument at that position.
    Argument(usize),
    /// The arguments from there on, as an array.
    Variadic(usize),
    Default,
}

/// Functions that PostgreSQL has as aggregates.
pub(super) fn is_aggregate(name: &str) -> bool {
    matches!(
        name,
        "count"
            | "sum"
            | "avg"
            | "min"
            | "max"
            | "bool_and"
            | "bool_or"
            | "every"
            | "string_agg"
            | "array_agg"
            | super::bind_aggregate::GATHERED
    )
}

fn is_other_aggregate(name: &str) -> bool {
    matches!(
        name,
        "stddev"
            | "stddev_pop"
            | "stddev_samp"
            | "variance"
            | "var_pop"
            | "var_samp"
            | "corr"
            | "covar_pop"
            | "covar_samp"
            | "regr_avgx"
            | "regr_avgy"
            | "regr_count"
            | "regr_intercept"
            | "regr_r2"
            | "regr_slope"
            | "regr_sxx"
            | "regr_sxy"
            | "regr_syy"
            | "jsonb_agg"
            | "jsonb_object_agg"
            | "bit_and"
            | "bit_or"
            | "bit_xor"
            | "mode"
            | "percentile_cont"
            | "percentile_disc"
    )
}

pub(super) fn is_window(name: &str) -> bool {
    matches!(
        name,
        "row_number"
            | "rank"
            | "dense_rank"
            | "lag"
            | "lead"
            | "first_value"
            | "last_value"
            | "percent_rank"
            | "cume_dist"
            | "ntile"
            | "nth_value"
    )
}

const CROSS_DATABASE: &str = "cross-database references are not implemented";

/// 42P01 or 0A000 of a relation by a name whose schema is not there.
pub(super) fn relation_error(name: &Name, error: Error) -> Error {
    match error.sqlstate() {
        SqlState::INVALID_SCHEMA_NAME => super::bind_from::missing_relation(name),
        // Of relations it has quotes.
        SqlState::FEATURE_NOT_SUPPORTED if name.parts.len() > 2 => {
            let what = format!("{CROSS_DATABASE}: \"{}\"", name.parts.join("."));
            Error::new(SqlState::FEATURE_NOT_SUPPORTED, what).at(name.position)
        }
        _ => error,
    }
}

/// Without a schema that is always searched.
pub(super) fn named<'n>(catalog: &Catalog, name: &'n Name) -> Result<Wanted<'n>> {
    match &name.parts[..] {
        [one] => Ok(one.into()),
        [schema, one] if planaria_catalog::system::is_system_schema(schema) => Ok(one.into()),
        [schema, one] => match catalog.schema(schema) {
            Some(id) => Ok((id, one.as_str()).into()),
            None => Err(no_schema(schema).at(name.position)),
        },
        [_, ..] => {
            let what = format!("{CROSS_DATABASE}: {}", name.parts.join("."));
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, what).at(name.position))
        }
        [] => Err(Error::internal("an empty name")),
    }
}

/// Whether a name can only be one of a user's: it is of a schema beside `public` and the system's.
pub(super) fn is_own(wanted: Wanted<'_>) -> bool {
    wanted.schema.is_some_and(|schema| schema != SchemaId::PUBLIC)
}

impl Lowerer<'_> {
    pub(super) fn clause(&self) -> Clause {
        self.collectors.last().map_or(Clause::Other("this context"), |c| c.clause)
    }

    /// Binds something within another clause.
    pub(super) fn in_clause<R>(&mut self, clause: Clause, f: impl FnOnce(&mut Self) -> R) -> R {
        let Some(collector) = self.collectors.last_mut() else { return f(self) };
        let before = std::mem::replace(&mut collector.clause, clause);
        let result = f(self);
        self.collectors.last_mut().expect("the same one").clause = before;
        result
    }

    /// 42883 where there is no function that takes these arguments, whatever else is asked of it.
    pub(super) fn needs_function(
        &mut self,
        names: &Names<'_>,
        call: &FunctionCall,
        position: u32,
    ) -> Result<()> {
        let mut args = call.args.clone();
        if call.within_group {
            args.extend(call.order_by.iter().map(|item| Argument { name: None, value: item.expr.clone() }));
        }
        self.bind_call(names, &FunctionCall::plain(call.name.clone(), args), position).map(drop)
    }

    /// A call in an expression.
    pub(super) fn bind_call(
        &mut self,
        names: &Names<'_>,
        call: &FunctionCall,
        position: u32,
    ) -> Result<Bound> {
        let wanted = self.meant(&call.name)?;
        let of_system = !is_own(wanted) && (is_aggregate(wanted.local) || is_other_aggregate(wanted.local));
        if !of_system
            && self.calls_own_aggregate(wanted, call)
            && (self.reads_after || !self.means_function(names, wanted, call, position)?)
        {
            if call.within_group
                && let Some(bound) = self.bind_own_ordered_set(names, wanted, call, position)?
            {
                return Ok(bound);
            }
            return match call.over {
                Some(_) => self.bind_window(names, wanted, call, position),
                None => self.bind_aggregate_call(names, wanted, call, position),
            };
        }
        if is_own(wanted) {
            return self.bind_own_call(names, wanted, call, position);
        }
        let name = wanted.local.to_owned();
        // There are no arrays of arrays.
        let in_array = super::json::tells_apart(&name, call)
            && !matches!(self.bind(names, &call.args[0].value)?.ty, Type::Array(_) | Type::Unknown);
        if let Some(call) = super::json::aggregate(&name, call, in_array, position)
            && self.catalog.procedures_named(&name).next().is_none()
        {
            return self.bind_call(names, &call, position);
        }
        if call.within_group
            && super::hypothetical::is_hypothetical(&name)
            && self.catalog.procedures_named(&name).next().is_none()
        {
            return self.bind_hypothetical(names, &name, call, position);
        }
        if call.within_group != super::statistics::is_ordered_set(&name)
            && (is_other_aggregate(&name) || is_aggregate(&name))
            && self.catalog.procedures_named(&name).next().is_none()
        {
            return Err(self.no_aggregate(names, &name, call, position)?);
        }
        if is_other_aggregate(&name)
            && self.catalog.procedures_named(&name).next().is_none()
            && let Some(call) = super::statistics::aggregate(&name, call, position)?
        {
            return self.bind_call(names, &call, position);
        }
        if call.over.is_some() {
            return self.bind_window(names, wanted, call, position);
        }
        if is_aggregate(&name) {
            return self.bind_aggregate_call(names, wanted, call, position);
        }
        if is_other_aggregate(&name) && self.catalog.procedures_named(&name).next().is_none() {
            return Err(self.no_aggregate(names, &name, call, position)?);
        }
        if is_window(&name) && self.catalog.procedures_named(&name).next().is_none() {
            let message = format!("window function {name} requires an OVER clause");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        if name == "range_agg" && self.catalog.procedures_named(&name).next().is_none() {
            let hint = "There are no multiranges; array_agg(range ORDER BY range) has the ranges one by one.";
            return Err(Error::unsupported("range_agg is not supported", hint).at(position));
        }
        if call.distinct || call.filter.is_some() || !call.order_by.is_empty() || call.star {
            let what = if call.distinct {
                "DISTINCT"
            } else if call.filter.is_some() {
                "FILTER"
            } else if call.star {
                "*"
            } else {
                "ORDER BY"
            };
            self.needs_function(names, call, position)?;
            let message = format!("{what} specified, but {name} is not an aggregate function");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        if name == "satisfies_hash_partition" && call.args.len() > 3 {
            return self.bind_hash_partition(names, call, position);
        }
        if name == "grouping" && !call.args.is_empty() {
            return self.bind_grouping(names, call, position);
        }
        if let Some(args) = super::jsonpath::unnamed(&name, call, position) {
            return self.bind_call(names, &FunctionCall { args, ..call.clone() }, position);
        }
        if let Cow::Owned(call) = self.ordered(call, position) {
            return self.bind_call(names, &call, position);
        }
        if let Some(rel) = self.bind_set_function(names, wanted, call, false, position)? {
            return self.set_in_select(rel, position);
        }
        if self.form > 0
            && !self.kept_text
            && let Some(at) = call.args.iter().position(|arg| arg.name.is_some())
            && let Some(arg) = call.args[at..].iter().find(|arg| arg.name.is_none())
        {
            let message = "positional argument cannot follow named argument";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(arg.value.position));
        }
        // Routines of before have what a list of one array makes.
        if call.variadic
            && self.form > 0
            && let [list] = &call.args[..]
            && self.catalog.procedures_named(&name).next().is_none()
            && let Some(query) = super::written::of_array(&name, call, position)?
        {
            if !matches!(self.looked_at(names, &list.value)?, Type::Array(_)) {
                let message = "VARIADIC argument must be an array";
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(list.value.position));
            }
            let expr = Expr { position, kind: ExprKind::Subquery(Box::new(query)) };
            return self.bind(names, &expr);
        }
        // Former versions had no such functions that could hide one of somebody's own, and logged nothing for their calls.
        let own = super::written::LATER.contains(&name.as_str())
            && self.catalog.procedures_named(&name).next().is_some();
        if !own && let Some(query) = super::written::value(&name, call, position)? {
            let expr = Expr { position, kind: ExprKind::Subquery(Box::new(query)) };
            return self.bind(names, &expr);
        }
        if name == "make_interval"
            && let Some(args) = super::parts::of_interval(call, position)
        {
            return self.bind_call(names, &FunctionCall { args, ..call.clone() }, position);
        }
        let base = self.populated(names, call)?;
        if let Some(e) = super::json_records::value(self.catalog, call, base.as_ref(), position)? {
            return self.bind(names, &e);
        }
        let args = self.bind_args(names, call)?;
        let types: Vec<Type> = args.iter().map(|a| a.ty.clone()).collect();
        if call.args.iter().all(|a| a.name.is_none())
            && let Some(bound) = self.bind_builtin(&name, &args, call.variadic, position)?
        {
            return Ok(bound);
        }
        match self.find_routine(wanted, call, &args, false, position)? {
            Some((id, given)) => self.bind_routine(id, given, args, position),
            None if call.args.iter().any(|a| a.name.is_some()) => {
                let shown = call.args.iter().zip(&types).map(|(arg, ty)| {
                    let name = arg.name.as_ref().map(|name| format!("{name} => ")).unwrap_or_default();
                    name + &super::operators::base_name(ty)
                });
                let shown: Vec<String> = shown.collect();
                Err(missing_function(&format!("{name}({})", shown.join(", ")), position))
            }
            None if call.worded => Err(no_function(&format!("pg_catalog.{name}"), &types, position)),
            None => Err(no_function(&name, &types, position)),
        }
    }

    /// A call of what only a user can have made.
    fn bind_own_call(
        &mut self,
        names: &Names<'_>,
        wanted: Wanted<'_>,
        call: &FunctionCall,
        position: u32,
    ) -> Result<Bound> {
        if call.over.is_some()
            || call.distinct
            || call.filter.is_some()
            || !call.order_by.is_empty()
            || call.star
        {
            let message = format!("{wanted} is not an aggregate function");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        if let Some(rel) = self.bind_own_set(names, wanted, call, false, position)? {
            return self.set_in_select(rel, position);
        }
        let args = self.bind_args(names, call)?;
        match self.find_routine(wanted, call, &args, false, position)? {
            Some((id, given)) => self.bind_routine(id, given, args, position),
            None => {
                if let Some(bound) = self.extension_function(wanted, &args, call.variadic, position)? {
                    return Ok(bound);
                }
                let types: Vec<Type> = args.iter().map(|a| a.ty.clone()).collect();
                Err(no_function(&call.name.parts.join("."), &types, position))
            }
        }
    }

    /// What a name means. Who uses a schema must have the right to.
    pub(super) fn meant<'n>(&mut self, name: &'n Name) -> Result<Wanted<'n>> {
        let wanted = named(self.catalog, name)?;
        // What is kept as text has found its things when it was made.
        if let Some(schema) = wanted.schema
            && !self.kept_text
            && self.catalog.path().temporary() != Some(schema)
        {
            self.require(planaria_catalog::Object::Schema(schema), planaria_catalog::Privileges::USAGE);
        }
        Ok(wanted)
    }

    pub(super) fn bind_args(&mut self, names: &Names<'_>, call: &FunctionCall) -> Result<Vec<Bound>> {
        call.args.iter().map(|a| self.bind(names, &a.value)).collect()
    }

    /// A set-returning function in the select list is a lateral FROM item.
    fn set_in_select(&mut self, rel: RelId, position: u32) -> Result<Bound> {
        let mut record = false;
        if let RelKind::CallSet { procedure, .. } = self.rel(rel).kind
            && self.catalog.procedure(procedure).needs_columns()
        {
            let (instance, columns) = self.with_own_columns(procedure, position)?;
            let of = self.rel_mut(rel);
            if let RelKind::CallSet { procedure, .. } = &mut of.kind {
                *procedure = instance;
            }
            (of.uses, of.regs) = (vec![0; columns.len()], vec![None; columns.len()]);
            of.columns = columns;
            record = true;
        }
        let refused = |message: String| Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position);
        match self.clause() {
            Clause::Select | Clause::OrderBy | Clause::GroupBy => {}
            Clause::Aggregate => {
                let message = "aggregate function calls cannot contain set-returning function calls";
                return Err(refused(message.to_owned()).with_hint(MOVE_TO_FROM));
            }
            Clause::From => {
                return Err(refused("set-returning functions must appear at top level of FROM".to_owned()));
            }
            clause => {
                let message = format!("set-returning functions are not allowed in {}", clause.name());
                let error = refused(message);
                let ours = matches!(clause, Clause::Window);
                return Err(if ours { error.with_hint(MOVE_TO_FROM) } else { error });
            }
        }
        let collector = self.collectors.last_mut().expect("these clauses are a SELECT's");
        collector.set_calls += 1;
        let collector = self.collectors.last().expect("the same");
        // The same call twice gives the same rows side by side.
        let same = collector.sets.iter().copied().find(|known| self.rel(*known).kind == self.rel(rel).kind);
        let rel = same.unwrap_or(rel);
        if same.is_none()
            && let Some(collector) = self.collectors.last_mut()
        {
            collector.sets.push(rel);
        }
        let columns = self.rel(rel).columns.clone();
        let field = |(i, (_, ty)): (usize, &(String, Type))| Bound::column(rel, i, ty.clone(), position);
        let table = match self.rel(rel).kind {
            RelKind::CallSet { procedure, .. } => match self.catalog.procedure(procedure).returns {
                Returns::SetOfTable(table) => Some(table),
                _ => None,
            },
            _ => None,
        };
        match &columns[..] {
            _ if let Some(table) = table => {
                let fields = columns.iter().enumerate().map(field).collect();
                let ty = Type::Record(self.row_type_of(table));
                Ok(Bound::apply(Func::ArrayMake, fields, ty, position))
            }
            [(_, ty)] if !record => Ok(Bound::column(rel, 0, ty.clone(), position)),
            _ => {
                let mut fields: Vec<Bound> = columns.iter().enumerate().map(field).collect();
                let mut typed = columns.clone();
                if matches!(self.rel(rel).kind, RelKind::Unnest { .. }) {
                    // Numbers of elements are integers there.
                    let number = fields.pop().expect("two columns");
                    fields.push(self.coerce(number, &Type::Int4, CastContext::Assignment)?);
                    typed[1].1 = Type::Int4;
                }
                Ok(Bound::apply(Func::ArrayMake, fields, Type::Record(typed.into()), position))
            }
        }
    }

    /// How many set-returning functions the SELECT being bound calls so far.
    pub(super) fn set_calls(&self) -> usize {
        self.collectors.last().map_or(0, |c| c.set_calls)
    }

    /// Binds something that may not be computed for a row, so that no set-returning function may stand in it.
    pub(super) fn without_sets<R>(
        &mut self,
        what: &str,
        f: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let before = self.set_calls();
        let bound = f(self)?;
        if self.set_calls() == before {
            return Ok(bound);
        }
        let message = format!("set-returning functions are not allowed in {what}");
        Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).with_hint(MOVE_TO_FROM))
    }

    /// A relation for a call of a set-returning function; `None` where the function is no such.
    pub(super) fn bind_set_function(
        &mut self,
        names: &Names<'_>,
        wanted: Wanted<'_>,
        call: &FunctionCall,
        ordinality: bool,
        position: u32,
    ) -> Result<Option<RelId>> {
        let name = wanted.local;
        let column = |ty: &Type| {
            let mut columns = vec![(name.to_owned(), ty.clone())];
            if ordinality {
                columns.push(("ordinality".to_owned(), Type::Int8));
            }
            columns
        };
        match (name, call.args.len()) {
            ("generate_series", 2 | 3) => {
                let args = self.bind_args(names, call)?;
                let types: Vec<Type> = args.iter().map(|a| unmodified(&a.ty)).collect();
                let n = args.len();
                let mut candidates: Vec<Vec<Type>> =
                    [Type::Int4, Type::Int8, Type::Numeric(None)].map(|t| vec![t; n]).into();
                if n == 3 {
                    candidates.extend(
                        [Type::Timestamp, Type::TimestampTz].map(|t| vec![t.clone(), t, Type::Interval]),
                    );
                }
                let chosen = match choose(&candidates, &types) {
                    Choice::One(i) => candidates.swap_remove(i),
                    Choice::None => return Err(no_function(name, &types, position)),
                    Choice::Ambiguous => return Err(ambiguous(name, &types, position)),
                };
                let ty = chosen[0].clone();
                let mut bound = Vec::new();
                for (arg, ty) in args.into_iter().zip(&chosen) {
                    bound.push(self.coerce(arg, ty, CastContext::Implicit)?);
                }
                let one = Bound::constant(Datum::Int(1), Type::Int4, position);
                let step = match bound.len() {
                    3 => bound.pop().expect("three"),
                    _ => self.coerce(one, &ty, CastContext::Implicit)?,
                };
                let stop = bound.pop().expect("two");
                let start = bound.pop().expect("one");
                let kind = RelKind::Series { start, stop, step, ordinality };
                Ok(Some(self.new_rel(name, column(&ty), kind)))
            }
            ("unnest", 1) if self.bind(names, &call.args[0].value)?.ty == super::search::VECTOR => {
                let query = super::written::rows(super::written::OF_VECTOR, call, position)?
                    .ok_or_else(|| Error::internal("a function of our own"))?;
                let query = if ordinality { super::written::numbered(query)? } else { query };
                let bound = self.bind_level(names.inner(), &query, false)?;
                let columns = bound.columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
                Ok(Some(self.new_rel(name, columns, RelKind::Query(Box::new(bound)))))
            }
            _ if (!super::written::LATER.contains(&name)
                || self.catalog.procedures_named(name).next().is_none())
                && let Some(query) = super::written::rows(
                    self.citext_set(names, call, name)?.unwrap_or(name),
                    call,
                    position,
                )? =>
            {
                let query = if ordinality { super::written::numbered(query)? } else { query };
                let bound = self.bind_level(names.inner(), &query, false)?;
                let columns: Vec<_> = bound.columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
                let columns = match &columns[..] {
                    [(found, ty), ..] if found == super::written::FOUND => column(ty),
                    _ => columns,
                };
                Ok(Some(self.new_rel(name, columns, RelKind::Query(Box::new(bound)))))
            }
            (_, 1) if let Some(function) = super::json::listing(name) => {
                let value = self.bind(names, &call.args[0].value)?;
                let (array, column) = self.json_list(function, value, position)?;
                let of = array.ty.element().unwrap_or(Type::Text);
                let mut columns = vec![(column.to_owned(), of)];
                if ordinality {
                    columns.push(("ordinality".to_owned(), Type::Int8));
                }
                Ok(Some(self.new_rel(name, columns, RelKind::Unnest { array, ordinality })))
            }
            (_, 2..=4) if super::jsonpath::lists(name) => {
                if let Some(args) = super::jsonpath::unnamed(name, call, position) {
                    let call = FunctionCall { args, ..call.clone() };
                    return self.bind_set_function(names, wanted, &call, ordinality, position);
                }
                if call.args.iter().any(|arg| arg.name.is_some()) {
                    return Ok(None);
                }
                let args = self.bind_args(names, call)?;
                let types: Vec<Type> = args.iter().map(|a| a.ty.clone()).collect();
                let Some(array) = self.bind_json_path(name, &args, position)? else {
                    return Err(no_function(name, &types, position));
                };
                Ok(Some(self.new_rel(name, column(&Type::Jsonb), RelKind::Unnest { array, ordinality })))
            }
            ("unnest", 1) => {
                let array = arrayed(self.bind(names, &call.args[0].value)?);
                let Type::Array(of) = array.ty.clone() else {
                    return Err(no_function(name, &[array.ty], position));
                };
                Ok(Some(self.new_rel(name, column(&of), RelKind::Unnest { array, ordinality })))
            }
            // The elements of an array with their numbers, for drivers that ask for keys in order.
            ("_pg_expandarray", 1) => {
                let array = arrayed(self.bind(names, &call.args[0].value)?);
                let Type::Array(of) = array.ty.clone() else {
                    return Err(no_function(name, &[array.ty], position));
                };
                let columns = vec![("x".to_owned(), *of), ("n".to_owned(), Type::Int8)];
                Ok(Some(self.new_rel(name, columns, RelKind::Unnest { array, ordinality: true })))
            }
            ("pg_partition_ancestors", 1) => {
                let regclass = Type::System(planaria_base::types::SystemType::RegClass);
                let relation = self.bind(names, &call.args[0].value)?;
                let relation = self.operand(relation, &regclass)?;
                let which = Bound::constant(Datum::Text("ancestors".to_owned()), Type::Text, position);
                let name = super::written::PARTITIONS;
                let array = self
                    .bind_builtin(name, &[relation, which], false, position)?
                    .ok_or_else(|| Error::internal("a function of our own"))?;
                let mut columns = column(&regclass);
                "relid".clone_into(&mut columns[0].0);
                Ok(Some(self.new_rel(name, columns, RelKind::Unnest { array, ordinality })))
            }
            ("generate_subscripts", 2 | 3) => {
                let array = self.bind(names, &call.args[0].value)?;
                let n = self.bind(names, &call.args[1].value)?;
                let n = self.operand(n, &Type::Int4)?;
                let int = |n| Bound::constant(Datum::Int(n), Type::Int4, position);
                let down = match call.args.get(2) {
                    Some(down) => {
                        let down = self.bind(names, &down.value)?;
                        Some(self.operand(down, &Type::Bool)?)
                    }
                    None => None,
                };
                let bound = |l: &mut Self, name: &str| {
                    let args = [array.clone(), n.clone()];
                    let bound = l.bind_builtin(name, &args, false, position)?;
                    bound.ok_or_else(|| {
                        no_function("generate_subscripts", std::slice::from_ref(&array.ty), position)
                    })
                };
                let (lower, upper) = (bound(self, "array_lower")?, bound(self, "array_upper")?);
                let (start, stop, step) = match down {
                    None => (lower, upper, int(1)),
                    // From the last one on, where it is so.
                    Some(down) => {
                        let either = |yes: &Bound, no: &Bound| {
                            let unknown =
                                Bound::apply(Func::IsNull, vec![down.clone()], Type::Bool, position);
                            let null = Bound::null(Type::Int4, position);
                            let whens = vec![(unknown, null), (down.clone(), yes.clone())];
                            Bound::new(BoundKind::Case(whens, Box::new(no.clone())), Type::Int4, position)
                        };
                        (either(&upper, &lower), either(&lower, &upper), either(&int(-1), &int(1)))
                    }
                };
                let kind = RelKind::Series { start, stop, step, ordinality };
                Ok(Some(self.new_rel(name, column(&Type::Int4), kind)))
            }
            _ => self.bind_own_set(names, wanted, call, ordinality, position),
        }
    }

    /// A call of a user's function that returns a set; `None` where none of that name does.
    pub(super) fn bind_own_set(
        &mut self,
        names: &Names<'_>,
        wanted: Wanted<'_>,
        call: &FunctionCall,
        ordinality: bool,
        position: u32,
    ) -> Result<Option<RelId>> {
        let sets = |p: &Procedure| p.returns_set();
        if !self.catalog.procedures_named(wanted).any(sets) {
            return Ok(None);
        }
        let args = self.bind_args(names, call)?;
        let types: Vec<Type> = args.iter().map(|a| a.ty.clone()).collect();
        let Some((id, given)) = self.find_routine(wanted, call, &args, false, position)? else {
            return Err(no_function(wanted.local, &types, position));
        };
        let procedure = self.catalog.procedure(id);
        if !procedure.returns_set() {
            return Ok(None);
        }
        let mut columns = self.result_columns(procedure);
        if ordinality {
            columns.push(("ordinality".to_owned(), Type::Int8));
        }
        let args = self.routine_args(id, given, args, position)?;
        self.meets_routine(id);
        let kind = RelKind::CallSet { procedure: id, args, ordinality };
        Ok(Some(self.new_rel(wanted.local, columns, kind)))
    }

    /// Columns of a routine's answer.
    pub(super) fn result_columns(&self, p: &Procedure) -> Vec<(String, Type)> {
        let outputs = || p.outputs().enumerate().map(|(i, o)| (output_name(o, i), o.ty.clone())).collect();
        match &p.returns {
            Returns::Procedure
            | Returns::Table
            | Returns::OutRow
            | Returns::SetOfOutRow
            | Returns::Trigger => outputs(),
            Returns::Scalar(ty) | Returns::SetOf(ty) => vec![(p.name.clone(), ty.clone())],
            Returns::Record { columns, .. } => columns.clone(),
            Returns::SetOfTable(table) | Returns::RowOf(table) => self
                .catalog
                .table_by_id(*table)
                .visible()
                .map(|(_, c)| (c.name.clone(), c.ty.clone()))
                .collect(),
        }
    }

    /// The values of a routine's IN and INOUT parameters, in order.
    pub(super) fn routine_args(
        &mut self,
        id: ProcedureId,
        given: Vec<Given>,
        args: Vec<Bound>,
        position: u32,
    ) -> Result<Vec<Bound>> {
        let catalog = self.catalog;
        let procedure = catalog.procedure(id);
        self.require_call(procedure.instance_of.unwrap_or(id));
        let mut args: Vec<Option<Bound>> = args.into_iter().map(Some).collect();
        let mut values = Vec::new();
        for (parameter, given) in passed(procedure).zip(given) {
            let value = match given {
                Given::Argument(i) => args[i].take().expect("each argument is given once"),
                Given::Variadic(from) => {
                    let Type::Array(of) = parameter.ty.clone() else {
                        return Err(Error::internal("a VARIADIC parameter that is no array"));
                    };
                    let mut elements = Vec::new();
                    for arg in args[from..].iter_mut() {
                        let arg = arg.take().expect("each argument is given once");
                        elements.push(self.coerce(arg, &of, CastContext::Implicit)?);
                    }
                    Bound::apply(Func::ArrayMake, elements, parameter.ty.clone(), position)
                }
                Given::Default if parameter.mode == Mode::Out => continue,
                Given::Default => {
                    let text = parameter.default.as_deref().unwrap_or("NULL");
                    self.bind_text(text, position)?
                }
            };
            if parameter.mode == Mode::Out {
                continue;
            }
            let ty = parameter.ty.clone();
            let value = self.row_argument(value);
            values.push(self.coerce(value, &ty, CastContext::Implicit).or_else(|e| {
                // A default is converted as by assignment.
                if e.sqlstate() == SqlState::CANNOT_COERCE && parameter.default.is_some() {
                    let text = parameter.default.as_deref().unwrap_or("NULL");
                    let value = self.bind_text(text, position)?;
                    return self.coerce(value, &ty, CastContext::Assignment);
                }
                Err(e)
            })?);
        }
        Ok(values)
    }

    /// 42883 of an aggregate: what it is ordered by WITHIN GROUP is an argument.
    fn no_aggregate(
        &mut self,
        names: &Names<'_>,
        name: &str,
        call: &FunctionCall,
        position: u32,
    ) -> Result<Error> {
        let sorted = call.order_by.iter().filter(|_| call.within_group).map(|item| &item.expr);
        let args: Vec<&Expr> = call.args.iter().map(|a| &a.value).chain(sorted).collect();
        let types: Result<Vec<Type>> = args.into_iter().map(|e| Ok(self.bind(names, e)?.ty)).collect();
        Ok(no_function(name, &types?, position))
    }

    pub(super) fn bind_routine(
        &mut self,
        id: ProcedureId,
        given: Vec<Given>,
        args: Vec<Bound>,
        position: u32,
    ) -> Result<Bound> {
        let args = self.routine_args(id, given, args, position)?;
        let mut id = id;
        if self.catalog.procedure(id).needs_columns() {
            id = self.with_own_columns(id, position)?.0;
        }
        let procedure = self.catalog.procedure(id);
        let ty = match &procedure.returns {
            Returns::Record { columns, .. } => Type::Record(columns.clone().into()),
            Returns::Scalar(ty) => ty.clone(),
            Returns::Trigger => {
                let message = "trigger functions can only be called as triggers";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            Returns::RowOf(table) => Type::Record(self.row_type_of(*table)),
            _ => match &self.result_columns(procedure)[..] {
                [(_, ty)] => ty.clone(),
                columns => Type::Record(columns.to_vec().into()),
            },
        };
        self.meets_routine(id);
        Ok(Bound::new(BoundKind::Call(id, args), ty, position))
    }

    /// An expression of the catalog (a default): its errors and operations stand at `position`.
    pub(super) fn bind_text(&mut self, text: &str, position: u32) -> Result<Bound> {
        let scope = super::Scope::new();
        self.bind_text_in(&Names::of(&scope), text, position)
    }

    /// The same, with names.
    pub(super) fn bind_text_in(&mut self, names: &Names<'_>, text: &str, position: u32) -> Result<Bound> {
        let foreign = |mut e: Error| {
            e.fields_mut().position = Some(position);
            e
        };
        let e = planaria_syntax::parse::expression(text).map_err(foreign)?;
        let mut bound = self.at_home(|l| l.bind(names, &e)).map_err(foreign)?;
        self.reposition(&mut bound, position);
        bound.kept = bound.ty == Type::Unknown;
        Ok(bound)
    }

    /// A new relation.
    pub(super) fn new_rel(&mut self, name: &str, columns: Vec<(String, Type)>, kind: RelKind) -> RelId {
        let n = columns.len();
        self.rels.push(Rel {
            name: name.to_owned(),
            columns,
            kind,
            nullable: false,
            uses: vec![0; n],
            regs: vec![None; n],
            row: None,
            row_used: false,
            mode: ReadMode::Plain,
        });
        RelId(self.rels.len() as u32 - 1)
    }

    pub(super) fn rel(&self, rel: RelId) -> &Rel {
        &self.rels[rel.0 as usize]
    }

    pub(super) fn rel_mut(&mut self, rel: RelId) -> &mut Rel {
        &mut self.rels[rel.0 as usize]
    }
}

/// The parameters that a call's arguments stand for: of a procedure, also its OUT parameters.
pub(super) fn passed(p: &Procedure) -> impl Iterator<Item = &Parameter> {
    let procedure = p.is_procedure();
    p.parameters.iter().filter(move |q| match q.mode {
        Mode::In | Mode::InOut | Mode::Variadic => true,
        Mode::Out => procedure,
        Mode::Table => false,
    })
}

fn output_name(p: &Parameter, i: usize) -> String {
    if p.name.is_empty() { format!("column{}", i + 1) } else { p.name.clone() }
}
