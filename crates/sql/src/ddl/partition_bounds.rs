//! Bounds of partitions: from what a statement says to values, their order, and the conditions of rows.
//!
//! Values are kept as text of the key's type. They are literals: nothing is computed here, and a bound means the same
//! whenever the statement is carried out again.

use planaria_base::text_io::quote_literal;
use planaria_base::types::TypeClass;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_catalog::{PartitionBound, PartitionKey, RangeLimit, Strategy};
use planaria_syntax::ast::{
    Expr, ExprKind, PartitionSpec, PartitionSpecKind, RangeDatum, TypeNameKind, UnaryOp,
};
use std::cmp::Ordering;

/// A partition key with its types.
pub(super) struct KeyTypes<'t> {
    pub strategy: Strategy,
    pub keys: &'t [PartitionKey],
    pub types: Vec<Type>,
}

/// Whether values of a type can tell partitions apart.
pub(super) fn is_key_type(ty: &Type, strategy: Strategy) -> bool {
    match ty.class() {
        TypeClass::Bool | TypeClass::Integer | TypeClass::DateTime | TypeClass::Text | TypeClass::Uuid => {
            true
        }
        TypeClass::Numeric | TypeClass::Float | TypeClass::Enum | TypeClass::Citext => {
            strategy != Strategy::Hash
        }
        _ => false,
    }
}

impl KeyTypes<'_> {
    /// The bound that a statement says, of a partition of that name.
    pub fn bound(&self, spec: &PartitionSpec, name: &str, parent: &str) -> Result<PartitionBound> {
        let invalid =
            |message: String| Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(spec.position));
        let other = |strategy: Strategy| {
            invalid(format!("invalid bound specification for a {} partition", strategy.name()))
        };
        match (&spec.kind, self.strategy) {
            (PartitionSpecKind::Default, Strategy::Hash) => {
                let message = "a hash-partitioned table may not have a default partition";
                Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message))
            }
            (PartitionSpecKind::Default, _) => Ok(PartitionBound::Default),
            (PartitionSpecKind::In(values), Strategy::List) => {
                let mut all: Vec<Option<String>> = Vec::new();
                for value in values {
                    let value = self.value(0, value)?;
                    if !all.contains(&value) {
                        all.push(value);
                    }
                }
                Ok(PartitionBound::List(all))
            }
            (PartitionSpecKind::Range(from, to), Strategy::Range) => {
                if from.len() != self.keys.len() {
                    return invalid("FROM must specify exactly one value per partitioning column".to_owned());
                }
                if to.len() != self.keys.len() {
                    return invalid("TO must specify exactly one value per partitioning column".to_owned());
                }
                let (from, to) = (self.limits(from)?, self.limits(to)?);
                if self.compare_limits(&from, &to)?.is_ge() {
                    let message = format!("empty range bound specified for partition \"{name}\"");
                    let detail = format!(
                        "Specified lower bound {} is greater than or equal to upper bound {}.",
                        limits_text(&from, &self.types),
                        limits_text(&to, &self.types)
                    );
                    return Err(Error::new(SqlState::INVALID_OBJECT_DEFINITION, message)
                        .with_detail(detail)
                        .at(spec.position));
                }
                Ok(PartitionBound::Range { from, to })
            }
            (PartitionSpecKind::Hash(modulus, remainder), Strategy::Hash) => {
                if *modulus <= 0 {
                    let message = "modulus for hash partition must be an integer value greater than zero";
                    return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
                }
                if *remainder < 0 {
                    let message =
                        "remainder for hash partition must be an integer value greater than or equal to zero";
                    return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
                }
                if remainder >= modulus {
                    let message = "remainder for hash partition must be less than modulus";
                    return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message));
                }
                let out = || {
                    let message = format!("modulus of a partition of \"{parent}\" is too large");
                    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
                };
                let modulus = u32::try_from(*modulus).map_err(|_| out())?;
                let remainder = u32::try_from(*remainder).map_err(|_| out())?;
                Ok(PartitionBound::Hash { modulus, remainder })
            }
            (_, strategy) => other(strategy),
        }
    }

    fn limits(&self, said: &[RangeDatum]) -> Result<Vec<RangeLimit>> {
        let mut all: Vec<RangeLimit> = Vec::new();
        for (at, datum) in said.iter().enumerate() {
            let (limit, position) = match datum {
                RangeDatum::Min => (RangeLimit::MinValue, 0),
                RangeDatum::Max => (RangeLimit::MaxValue, 0),
                RangeDatum::Value(e) => match self.value(at, e)? {
                    Some(text) => (RangeLimit::Value(text), e.position),
                    None => {
                        let message = "cannot specify NULL in range bound";
                        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
                    }
                },
            };
            let word = match all.last() {
                Some(RangeLimit::MinValue) if limit != RangeLimit::MinValue => Some("MINVALUE"),
                Some(RangeLimit::MaxValue) if limit != RangeLimit::MaxValue => Some("MAXVALUE"),
                _ => None,
            };
            if let Some(word) = word {
                let message = format!("every bound following {word} must also be {word}");
                let error = Error::new(SqlState::DATATYPE_MISMATCH, message);
                return Err(if position > 0 { error.at(position) } else { error });
            }
            all.push(limit);
        }
        Ok(all)
    }

    /// A literal as a value of a part of the key.
    fn value(&self, at: usize, e: &Expr) -> Result<Option<String>> {
        let ty = &self.types[at];
        let Some((text, of)) = literal(e)? else { return Ok(None) };
        let of = of.unwrap_or_else(|| ty.clone());
        let value = Datum::parse(&of, &text).map_err(|error| error.at(e.position))?;
        let shown = value.display(&of);
        if of == *ty {
            return Ok(Some(shown));
        }
        let value = Datum::parse(ty, &shown).map_err(|_| {
            let message = format!(
                "specified value cannot be cast to type {ty} for column \"{}\"",
                self.keys[at].column.as_deref().unwrap_or(&self.keys[at].text)
            );
            Error::new(SqlState::DATATYPE_MISMATCH, message).at(e.position)
        })?;
        Ok(Some(value.display(ty)))
    }

    /// The order of two values of a part of the key.
    pub fn compare(&self, at: usize, a: &str, b: &str) -> Result<Ordering> {
        let ty = &self.types[at];
        let (a, b) = (Datum::parse(ty, a)?, Datum::parse(ty, b)?);
        Ok(match (&a, &b) {
            (Datum::Int(a), Datum::Int(b)) => a.cmp(b),
            (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
            (Datum::Float(a), Datum::Float(b)) => {
                a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
            }
            (Datum::Numeric(a), Datum::Numeric(b)) => a.compare(*b),
            (Datum::Numeric(a), Datum::Long(b)) => a.compare_long(b),
            (Datum::Long(a), Datum::Numeric(b)) => b.compare_long(a).reverse(),
            (Datum::Long(a), Datum::Long(b)) => a.compare(b),
            (Datum::Text(a), Datum::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Datum::Uuid(a), Datum::Uuid(b)) => a.cmp(b),
            _ => return Err(Error::internal("values of a bound that have no order")),
        })
    }

    pub fn compare_limits(&self, a: &[RangeLimit], b: &[RangeLimit]) -> Result<Ordering> {
        for (at, pair) in a.iter().zip(b).enumerate() {
            let order = match pair {
                (RangeLimit::Value(a), RangeLimit::Value(b)) => self.compare(at, a, b)?,
                (RangeLimit::MinValue, RangeLimit::MinValue)
                | (RangeLimit::MaxValue, RangeLimit::MaxValue) => {
                    // What follows says nothing.
                    return Ok(Ordering::Equal);
                }
                (RangeLimit::MinValue, _) | (_, RangeLimit::MaxValue) => Ordering::Less,
                (RangeLimit::MaxValue, _) | (_, RangeLimit::MinValue) => Ordering::Greater,
            };
            if order.is_ne() {
                return Ok(order);
            }
        }
        Ok(Ordering::Equal)
    }

    /// Whether two bounds have a value in common.
    pub fn overlap(&self, a: &PartitionBound, b: &PartitionBound) -> Result<bool> {
        Ok(match (a, b) {
            (PartitionBound::List(a), PartitionBound::List(b)) => {
                for a in a {
                    for b in b {
                        let same = match (a, b) {
                            (Some(a), Some(b)) => self.compare(0, a, b)?.is_eq(),
                            (None, None) => true,
                            _ => false,
                        };
                        if same {
                            return Ok(true);
                        }
                    }
                }
                false
            }
            (PartitionBound::Range { from, to }, PartitionBound::Range { from: f, to: t }) => {
                self.compare_limits(from, t)?.is_lt() && self.compare_limits(f, to)?.is_lt()
            }
            (
                PartitionBound::Hash { modulus, remainder },
                PartitionBound::Hash { modulus: m, remainder: r },
            ) => {
                let common = gcd(*modulus, *m);
                remainder % common == r % common
            }
            _ => false,
        })
    }

    /// What rows of a bound meet; `others`: those of the partitions beside it, of which the default one has none.
    pub fn condition(&self, table: &str, bound: &PartitionBound, others: &[String]) -> String {
        let key = |at: usize| {
            let key = &self.keys[at];
            if key.column.is_some() { key.text.clone() } else { format!("({})", key.text) }
        };
        match bound {
            PartitionBound::Default if others.is_empty() => "true".to_owned(),
            PartitionBound::Default => format!("NOT ({})", any_of(others)),
            PartitionBound::List(values) => self.in_list(&key(0), values),
            PartitionBound::Range { from, to } => {
                let mut all: Vec<String> =
                    (0..self.keys.len()).map(|at| format!("({} IS NOT NULL)", key(at))).collect();
                all.extend(self.beyond(from, 0, true));
                all.extend(self.beyond(to, 0, false));
                format!("({})", all.join(" AND "))
            }
            PartitionBound::Hash { modulus, remainder } => {
                let keys: Vec<String> = (0..self.keys.len()).map(key).collect();
                format!(
                    "satisfies_hash_partition({}::regclass, {modulus}, {remainder}, {})",
                    quote_literal(table),
                    keys.join(", ")
                )
            }
        }
    }

    fn in_list(&self, key: &str, values: &[Option<String>]) -> String {
        let known: Vec<String> = values.iter().flatten().map(|v| literal_text(v, &self.types[0])).collect();
        let null = values.contains(&None);
        let among = match &known[..] {
            [one] => format!("({key} = {one})"),
            _ => format!("({key} IN ({}))", known.join(", ")),
        };
        match (&known[..], null) {
            ([], _) => format!("({key} IS NULL)"),
            (_, true) => format!("(({key} IS NULL) OR {among})"),
            _ => format!("(({key} IS NOT NULL) AND {among})"),
        }
    }

    /// That the key, from a part on, is not before a limit, or is before it; `None`: it always is.
    fn beyond(&self, limits: &[RangeLimit], at: usize, lower: bool) -> Option<String> {
        let Some(limit) = limits.get(at) else {
            return if lower { None } else { Some("false".to_owned()) };
        };
        let key = &self.keys[at];
        let key = if key.column.is_some() { key.text.clone() } else { format!("({})", key.text) };
        let value = match (limit, lower) {
            (RangeLimit::Value(value), _) => literal_text(value, &self.types[at]),
            (RangeLimit::MinValue, true) | (RangeLimit::MaxValue, false) => return None,
            _ => return Some("false".to_owned()),
        };
        let (beyond, last) = if lower { (">", ">=") } else { ("<", "<") };
        if at + 1 == limits.len() {
            return Some(format!("({key} {last} {value})"));
        }
        Some(match self.beyond(limits, at + 1, lower) {
            None => format!("({key} {beyond}= {value})"),
            Some(rest) if rest == "false" => format!("({key} {beyond} {value})"),
            Some(rest) => format!("(({key} {beyond} {value}) OR (({key} = {value}) AND {rest}))"),
        })
    }

    /// What a row meets that one of these bounds has; `None`: every row does.
    pub fn any_condition(&self, table: &str, bounds: &[&PartitionBound]) -> Result<Option<String>> {
        if bounds.iter().any(|b| **b == PartitionBound::Default) {
            return Ok(None);
        }
        if bounds.is_empty() {
            return Ok(Some("false".to_owned()));
        }
        match self.strategy {
            Strategy::Hash => {
                let largest = bounds.iter().filter_map(|b| modulus(b)).max().unwrap_or(1);
                let covered: u64 =
                    bounds.iter().filter_map(|b| modulus(b)).map(|m| u64::from(largest / m)).sum();
                if covered >= u64::from(largest) {
                    return Ok(None);
                }
                let all: Vec<String> = bounds.iter().map(|b| self.condition(table, b, &[])).collect();
                Ok(Some(any_of(&all)))
            }
            Strategy::List => {
                let mut values = Vec::new();
                for bound in bounds {
                    if let PartitionBound::List(of) = bound {
                        values.extend(of.iter().cloned());
                    }
                }
                Ok(Some(self.condition(table, &PartitionBound::List(values), &[])))
            }
            Strategy::Range => {
                let mut ranges: Vec<(Vec<RangeLimit>, Vec<RangeLimit>)> = Vec::new();
                for bound in bounds {
                    if let PartitionBound::Range { from, to } = bound {
                        let mut place = ranges.len();
                        while place > 0 && self.compare_limits(from, &ranges[place - 1].0)?.is_lt() {
                            place -= 1;
                        }
                        ranges.insert(place, (from.clone(), to.clone()));
                    }
                }
                let mut merged: Vec<(Vec<RangeLimit>, Vec<RangeLimit>)> = Vec::new();
                for (from, to) in ranges {
                    match merged.last_mut() {
                        Some((_, end)) if self.compare_limits(end, &from)?.is_eq() => *end = to,
                        _ => merged.push((from, to)),
                    }
                }
                let all: Vec<String> = merged
                    .into_iter()
                    .map(|(from, to)| self.condition(table, &PartitionBound::Range { from, to }, &[]))
                    .collect();
                Ok(Some(any_of(&all)))
            }
        }
    }
}

fn modulus(bound: &PartitionBound) -> Option<u32> {
    match bound {
        PartitionBound::Hash { modulus, .. } => Some(*modulus),
        _ => None,
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Conditions joined by OR, as a balanced tree: of thousands none is nested deeply.
fn any_of(all: &[String]) -> String {
    match all {
        [] => "false".to_owned(),
        [one] => one.clone(),
        _ => {
            let (left, right) = all.split_at(all.len() / 2);
            format!("({} OR {})", any_of(left), any_of(right))
        }
    }
}

/// A value as SQL has it.
pub(super) fn literal_text(value: &str, ty: &Type) -> String {
    match ty {
        Type::Int2 | Type::Int4 | Type::Int8 if !value.starts_with('-') => value.to_owned(),
        Type::Bool => if value == "t" { "true" } else { "false" }.to_owned(),
        Type::Enum(_) => quote_literal(value),
        _ => format!("{}::{ty}", quote_literal(value)),
    }
}

/// A value as bounds show it.
fn shown(value: &str, ty: &Type) -> String {
    match ty {
        Type::Int4 if !value.starts_with('-') => value.to_owned(),
        Type::Numeric(_) | Type::Float8 | Type::Float4 if value.starts_with(|c: char| c.is_ascii_digit()) => {
            value.to_owned()
        }
        Type::Bool => if value == "t" { "true" } else { "false" }.to_owned(),
        _ => quote_literal(value),
    }
}

fn limits_text(limits: &[RangeLimit], types: &[Type]) -> String {
    let one = |(limit, ty): (&RangeLimit, &Type)| match limit {
        RangeLimit::MinValue => "MINVALUE".to_owned(),
        RangeLimit::MaxValue => "MAXVALUE".to_owned(),
        RangeLimit::Value(value) => shown(value, ty),
    };
    let all: Vec<String> = limits.iter().zip(types).map(one).collect();
    format!("({})", all.join(", "))
}

/// A bound as `pg_get_expr(relpartbound)` shows it.
pub(super) fn bound_text(bound: &PartitionBound, types: &[Type]) -> String {
    match bound {
        PartitionBound::Default => "DEFAULT".to_owned(),
        PartitionBound::List(values) => {
            let one = |v: &Option<String>| v.as_ref().map_or("NULL".to_owned(), |v| shown(v, &types[0]));
            let all: Vec<String> = values.iter().map(one).collect();
            format!("FOR VALUES IN ({})", all.join(", "))
        }
        PartitionBound::Range { from, to } => {
            format!("FOR VALUES FROM {} TO {}", limits_text(from, types), limits_text(to, types))
        }
        PartitionBound::Hash { modulus, remainder } => {
            format!("FOR VALUES WITH (modulus {modulus}, remainder {remainder})")
        }
    }
}

/// The text of a literal, and its type where a cast says it; `None`: it is NULL.
fn literal(e: &Expr) -> Result<Option<(String, Option<Type>)>> {
    match &e.kind {
        ExprKind::Null => Ok(None),
        ExprKind::Bool(is) => Ok(Some((if *is { "t" } else { "f" }.to_owned(), None))),
        ExprKind::Integer(text) | ExprKind::Decimal(text) | ExprKind::String(text) => {
            Ok(Some((text.clone(), None)))
        }
        ExprKind::Unary(UnaryOp::Minus, inner) => match &inner.kind {
            ExprKind::Integer(text) | ExprKind::Decimal(text) => Ok(Some((format!("-{text}"), None))),
            _ => Err(no_literal(e)),
        },
        ExprKind::Cast(inner, ty) => {
            let TypeNameKind::Known(ty) = &ty.kind else {
                // An enumerated type: its labels are what they are.
                return literal(inner);
            };
            let Some((text, of)) = literal(inner)? else { return Ok(None) };
            let text = match of {
                Some(of) => Datum::parse(&of, &text)?.display(&of),
                None => text,
            };
            Ok(Some((text, Some(ty.clone()))))
        }
        ExprKind::Column(_) => {
            let message = "cannot use column reference in partition bound expression";
            Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(e.position))
        }
        _ => Err(no_literal(e)),
    }
}

fn no_literal(e: &Expr) -> Error {
    let message = "an expression as the bound of a partition is not supported";
    Error::unsupported(message, "Write the value itself.").at(e.position)
}
