//! Aggregate functions: which query a call belongs to, its arguments, its kind.

use super::Lowerer;
use super::bind_call::{Clause, is_own};
use super::bound::{Aggregate, AggregateKind, Bound, BoundKind};
use super::functions::no_function;
use super::names::Names;
use super::types::{has_order, told_apart, unmodified};
use planaria_base::types::{PackedKind, PackedType};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_catalog::Wanted;
use planaria_ir::Func;
use planaria_syntax::ast::FunctionCall;

/// The aggregate that puts values into a list whatever they are: `array_agg` makes of arrays one of more dimensions.
pub(super) const GATHERED: &str = "our list";

/// What an aggregate's call stands for, whose value is `found`.
pub(super) fn whole_aggregate(name: &str, found: Bound) -> Bound {
    match &found.ty {
        Type::Array(of) if name == "array_agg" && matches!(**of, Type::Array(_)) => {
            let (ty, position) = ((**of).clone(), found.position);
            Bound::apply(Func::ArrayStack, vec![found], ty, position)
        }
        _ => found,
    }
}

/// An aggregate whose arguments are being bound: which levels of queries they take columns from.
pub(super) struct Aggregated {
    /// The level at which it is written.
    depth: usize,
    /// The innermost level, from there outwards, whose columns are used.
    columns: Option<usize>,
    /// The innermost level that an aggregate inside belongs to.
    aggregates: Option<usize>,
}

impl Lowerer<'_> {
    pub(super) fn bind_aggregate_call(
        &mut self,
        names: &Names<'_>,
        wanted: Wanted<'_>,
        call: &FunctionCall,
        position: u32,
    ) -> Result<Bound> {
        let name = wanted.local;
        let depth = names.depth();
        self.aggregated.push(Aggregated { depth, columns: None, aggregates: None });
        let aggregate =
            self.in_clause(Clause::Aggregate, |l| l.bind_aggregate(names, wanted, call, position));
        let levels = self.aggregated.pop().expect("pushed above");
        let aggregate = aggregate?;
        // It belongs to the innermost level that its arguments speak of: to a query around, if they name
        // nothing but its columns.
        let level = levels.columns.max(levels.aggregates).unwrap_or(depth);
        let at = self.collector_of(names, level);
        let grouping_error = |message: String| Err(Error::new(SqlState::GROUPING_ERROR, message));
        let clause = at.map_or(Clause::Other("this context"), |at| self.collectors[at].clause);
        match clause {
            Clause::Select | Clause::Having | Clause::OrderBy | Clause::Window
                if levels.aggregates != Some(level) => {}
            Clause::Select | Clause::Having | Clause::OrderBy | Clause::Window | Clause::Aggregate => {
                return grouping_error("aggregate function calls cannot be nested".to_owned());
            }
            Clause::From if level < depth => {
                let message = "aggregate functions are not allowed in FROM clause of their own query level";
                return grouping_error(message.to_owned());
            }
            other => {
                return grouping_error(format!("aggregate functions are not allowed in {}", other.name()));
            }
        }
        for outer in self.aggregated.iter_mut().filter(|a| level <= a.depth) {
            outer.aggregates = outer.aggregates.max(Some(level));
        }
        let ty = aggregate.ty.clone();
        // What is volatile is computed as often as it is written.
        let volatile = aggregate.args.iter().chain(&aggregate.filter).any(|e| self.is_volatile(e));
        let collector = &mut self.collectors[at.expect("aggregates were allowed by one")];
        let same = collector.aggregates.iter().position(|a| !volatile && *a == aggregate);
        let at = same.unwrap_or_else(|| {
            collector.aggregates.push(aggregate);
            collector.aggregates.len() - 1
        });
        Ok(whole_aggregate(name, Bound::column(collector.group_rel, collector.keys + at, ty, position)))
    }

    /// A column of a query at that level is used.
    pub(super) fn note_level(&mut self, level: usize) {
        for aggregated in self.aggregated.iter_mut().filter(|a| level <= a.depth) {
            aggregated.columns = aggregated.columns.max(Some(level));
        }
    }

    /// The collector of the level of that depth, seen from `names`: a SELECT's, or what a statement's clause has.
    fn collector_of(&self, names: &Names<'_>, depth: usize) -> Option<usize> {
        let mut level = names;
        let mut inside = self.collectors.len();
        while level.depth() > depth {
            inside = level.collector.unwrap_or(inside);
            level = level.outer?;
        }
        level.collector.or(inside.checked_sub(1))
    }

    pub(super) fn bind_aggregate(
        &mut self,
        names: &Names<'_>,
        wanted: Wanted<'_>,
        call: &FunctionCall,
        position: u32,
    ) -> Result<Aggregate> {
        // No name of a user's schema is one of the system's.
        let set = self.own_set.take();
        let name = if is_own(wanted) || set.is_some() { "" } else { wanted.local };
        let mut condition =
            |f| self.in_clause(Clause::Filter, |l: &mut Self| l.bind_condition(names, f, "FILTER"));
        let filter = call.filter.as_ref().map(&mut condition).transpose()?;
        let mut order = Vec::new();
        for item in &call.order_by {
            let e = self.bind(names, &item.expr)?;
            let e = self.settle(e)?;
            has_order(&e.ty, item.expr.position)?;
            order.push((e, item.descending, item.nulls_first.unwrap_or(item.descending)));
        }
        let mut args = if call.star { Vec::new() } else { self.bind_args(names, call)? };
        if let ("array_agg" | "sum" | "avg", [Bound { ty: Type::Unknown, kind: BoundKind::Const(_), .. }]) =
            (name, &args[..])
        {
            return Err(super::functions::ambiguous(name, &[Type::Unknown], position));
        }
        for arg in &mut args {
            let e = std::mem::replace(arg, Bound::bool(true, position));
            *arg = self.settle(e)?;
        }
        let types: Vec<Type> = args.iter().map(|a| a.ty.plain().clone()).collect();
        let missing = || no_function(&call.name.parts.join("."), &types, position);
        let int = |t: &Type| matches!(t, Type::Int2 | Type::Int4 | Type::Int8);
        let numeric = Type::Numeric(None);
        use AggregateKind as K;
        let (kind, to, ty) = match (name, &types[..]) {
            ("count", []) if call.star => (K::CountStar, None, Type::Int8),
            ("count", [_]) => (K::Count, None, Type::Int8),
            ("sum", [Type::Int2 | Type::Int4]) => (K::Sum(Func::Int8Add), None, Type::Int8),
            ("sum", [Type::Int8 | Type::Numeric(_)]) => {
                (K::Sum(Func::NumAdd), Some(numeric.clone()), numeric)
            }
            ("sum", [Type::Float4]) => (K::Sum(Func::RealAdd), None, Type::Float4),
            ("sum", [Type::Float8]) => (K::Sum(Func::FltAdd), None, Type::Float8),
            ("sum", [Type::Interval]) => (K::Sum(Func::IntervalAdd), None, Type::Interval),
            ("sum", [Type::Packed(PackedType::Money)]) => {
                (K::Sum(Func::MoneyAdd), None, PackedType::Money.ty())
            }
            ("min" | "max", [Type::Packed(PackedType::TimeTz(_))]) => {
                (if name == "min" { K::Min } else { K::Max }, None, super::packed::TIMETZ)
            }
            ("min" | "max", [Type::Packed(PackedType::Money)]) => {
                (if name == "min" { K::Min } else { K::Max }, None, PackedType::Money.ty())
            }
            // Sums of integers stay below 2^63 as long as there are fewer than 2^31 rows of them.
            ("avg", [Type::Int2 | Type::Int4]) => (K::AvgNumeric(Func::Int8Add), None, numeric),
            ("avg", [t]) if int(t) || matches!(t, Type::Numeric(_)) => {
                (K::AvgNumeric(Func::NumAdd), Some(numeric.clone()), numeric)
            }
            ("avg", [Type::Interval]) => (K::AvgByFloat, None, Type::Interval),
            ("avg", [Type::Float4 | Type::Float8]) => (K::AvgByFloat, Some(Type::Float8), Type::Float8),
            ("sum" | "avg", [Type::Time]) => {
                let kind = if name == "sum" { K::Sum(Func::IntervalAdd) } else { K::AvgByFloat };
                (kind, Some(Type::Interval), Type::Interval)
            }
            ("min" | "max", [t])
                if !matches!(
                    t,
                    Type::Bool
                        | Type::Uuid
                        | Type::Bytea
                        | Type::Void
                        | Type::Jsonb
                        | Type::Range(_)
                        | Type::Packed(_)
                        | &Type::JSON
                ) =>
            {
                (if name == "min" { K::Min } else { K::Max }, None, unmodified(t))
            }
            ("min" | "max", [Type::Packed(of)]) if of.kind() == PackedKind::Network => {
                (if name == "min" { K::Min } else { K::Max }, None, PackedType::Inet.ty())
            }
            // false < true, so "all" is the least and "any" the greatest.
            ("bool_and" | "every", [Type::Bool]) => (K::Min, None, Type::Bool),
            ("bool_or", [Type::Bool]) => (K::Max, None, Type::Bool),
            ("array_agg" | GATHERED, [t]) => (K::ArrayAgg, None, Type::Array(Box::new(unmodified(t)))),
            ("string_agg", [a, b]) if [a, b].iter().all(|t| super::operators::is_string(t)) => {
                (K::StringAgg, Some(Type::Text), Type::Text)
            }
            ("string_agg", [Type::Bytea, Type::Bytea | Type::Text])
                if types[1] == Type::Bytea || args[1].as_const().is_some() =>
            {
                // A literal has become a text.
                if let Some(Datum::Text(text)) = args[1].as_const() {
                    let bytes = Datum::parse(&Type::Bytea, text)?;
                    args[1] = Bound::constant(bytes, Type::Bytea, position);
                } else if args[1].as_const() == Some(&Datum::Null) {
                    args[1] = Bound::null(Type::Bytea, position);
                }
                (K::StringAgg, Some(Type::Bytea), Type::Bytea)
            }
            _ if let Some(id) = set => {
                let (taken, ty) = self.own_set_state(id, args, position)?;
                args = taken;
                (K::Own(id), None, ty)
            }
            _ => match self.own_aggregate(wanted, call, &args, position)? {
                Some((id, taken, ty)) => {
                    args = taken;
                    (K::Own(id), None, ty)
                }
                None => return Err(missing()),
            },
        };
        if let Some(to) = to {
            args = args.into_iter().map(|a| self.operand(a, &to)).collect::<Result<_>>()?;
        }
        // DISTINCT changes nothing for the smallest and the greatest.
        let distinct = call.distinct && !matches!(kind, K::Min | K::Max);
        if distinct {
            args.iter().try_for_each(|e| told_apart(&e.ty, position))?;
        }
        if distinct && !order.is_empty() && order.iter().any(|(e, ..)| !args.contains(e)) {
            let message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message));
        }
        if !matches!(kind, K::ArrayAgg | K::StringAgg | K::Own(_)) {
            order.clear();
        } else if distinct && order.is_empty() {
            // What is told apart comes sorted.
            let told_apart = args.iter().filter(|e| e.as_const().is_none());
            order = told_apart.map(|e| (e.clone(), false, false)).collect();
        }
        Ok(Aggregate { kind, args, distinct, filter, order, ty })
    }
}
