//! Generators: how a parameter, or the value of a column, is drawn.
//!
//! A [`Spec`] is what `workload.toml` says; bound to variables it is a [`Generator`], which draws
//! ([`super::draw`]).

use super::class::Class;
use super::draw::{Draw, Generator};
use super::expression::{Bound, Expression, Scope};
use super::read::{Item, hinted};
use crate::skew::{Skewed, stride};
use planaria::{Datum, Result, Type};
use toml::de::DeValue;

/// What a generator is called in the file, and the keys that it may have beside that.
const KINDS: &[(&str, &[&str])] = &[
    ("uniform", &[]),
    ("zipf", &["theta", "scattered"]),
    ("nurand", &["a", "c"]),
    ("sequence", &["step"]),
    ("unique", &[]),
    ("value", &[]),
    ("text", &[]),
    ("choice", &["weights"]),
    ("chance", &[]),
    ("string", &["of"]),
    ("decimal", &[]),
    ("float", &[]),
    ("date", &[]),
    ("timestamp", &[]),
    ("uuid", &[]),
    ("format", &["of"]),
    ("array", &["length", "distinct", "sorted"]),
];

/// Letters of random strings, unless others are said.
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// A generator of the file.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    kind: Kind,
    pub(crate) at: usize,
    /// Of a hundred values, those that are NULL.
    null: Option<Expression>,
    /// The parameter whose value it is not to have.
    other_than: Option<(String, usize)>,
}

#[derive(Clone, Debug)]
enum Kind {
    Value(Expression),
    Uniform([Expression; 2]),
    Zipf {
        range: [Expression; 2],
        theta: Expression,
        scattered: bool,
    },
    Nurand {
        range: [Expression; 2],
        a: Expression,
        c: Expression,
    },
    Sequence {
        from: Expression,
        step: Expression,
    },
    Unique,
    Choice {
        values: Vec<Literal>,
        weights: Option<Vec<Expression>>,
    },
    Bool(bool),
    Chance(Expression),
    Letters {
        length: [Expression; 2],
        of: Vec<char>,
    },
    Decimal {
        low: i64,
        high: i64,
        scale: u8,
    },
    Float([Expression; 2]),
    /// Days or microseconds.
    Stored {
        low: i64,
        high: i64,
        date: bool,
    },
    Uuid,
    Format {
        text: Format,
        of: Vec<Expression>,
    },
    Array {
        of: Box<Spec>,
        length: [Expression; 2],
        distinct: bool,
        sorted: bool,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Decimal(i64, u8),
    Text(String),
}

/// What is said before each number, how many digits it has at least, and what is said in the end.
#[derive(Clone, Debug)]
pub(super) struct Format {
    pub(super) parts: Vec<(String, usize)>,
    pub(super) end: String,
}

impl Spec {
    pub(crate) fn of(item: Item<'_>) -> Result<Spec> {
        let plain = |kind| Ok(Spec { kind, at: item.at, null: None, other_than: None });
        match item.value {
            DeValue::Boolean(b) => return plain(Kind::Bool(*b)),
            DeValue::Table(_) => {}
            _ => return plain(Kind::Value(Expression::of(item)?)),
        }
        let table = item.table("a generator")?;
        let names: Vec<&str> = KINDS.iter().map(|(name, _)| *name).collect();
        let entries = table.entries();
        let mut named = KINDS.iter().filter_map(|(name, keys)| Some((*name, *keys, table.get(name)?)));
        let Some((name, keys, of)) = named.next() else {
            let known: Vec<&str> = names.iter().copied().chain(["null", "not"]).collect();
            let unknown = entries.iter().find(|((key, _), _)| !known.contains(key));
            return Err(match unknown {
                Some(((key, at), _)) => {
                    hinted(item.source.error(*at, format!("there is no generator \"{key}\"")), key, &names)
                }
                None => item
                    .error("a generator needs to say what is drawn")
                    .with_hint(format!("There are {}.", names.join(", "))),
            });
        };
        if let Some((other, ..)) = named.next()
            && !keys.contains(&other)
        {
            return Err(item.error(format!("a generator is \"{name}\" or \"{other}\", not both")));
        }
        let what = format!("the generator \"{name}\"");
        let table = item.table(&what)?.only(&[&[name, "null", "not"], keys].concat())?;
        let expression = |key: &str, usual: i64| {
            table.get(key).map_or_else(|| Ok(Expression::int(usual, item.at)), Expression::of)
        };
        let flag = |key: &str| table.get(key).map_or(Ok(false), |v| v.bool());
        let kind = match name {
            "uniform" => Kind::Uniform(range(of)?),
            "zipf" => Kind::Zipf {
                range: range(of)?,
                theta: Expression::of(table.required("theta")?)?,
                scattered: flag("scattered")?,
            },
            "nurand" => Kind::Nurand {
                range: range(of)?,
                a: Expression::of(table.required("a")?)?,
                c: expression("c", 0)?,
            },
            "sequence" => Kind::Sequence { from: Expression::of(of)?, step: expression("step", 1)? },
            "unique" | "uuid" => {
                if !of.bool()? {
                    return Err(of.error(format!("write {name} = true")));
                }
                if name == "uuid" { Kind::Uuid } else { Kind::Unique }
            }
            "value" => match of.value {
                DeValue::Boolean(b) => Kind::Bool(*b),
                _ => Kind::Value(Expression::of(of)?),
            },
            "text" => Kind::Choice { values: vec![Literal::Text(of.scalar()?)], weights: None },
            "choice" => Kind::Choice {
                values: literals(of)?,
                weights: match table.get("weights") {
                    None => None,
                    Some(weights) => {
                        let listed =
                            weights.list()?.into_iter().map(Expression::of).collect::<Result<Vec<_>>>()?;
                        let wanted = of.list()?.len();
                        if listed.len() != wanted {
                            let what = format!("{wanted} values have {} weights", listed.len());
                            return Err(weights.error(what));
                        }
                        Some(listed)
                    }
                },
            },
            "chance" => Kind::Chance(Expression::of(of)?),
            "string" => {
                let letters = table.get("of").map_or(Ok(LETTERS), |v| v.str())?;
                if letters.is_empty() {
                    return Err(item.error("there are no letters to make a string of"));
                }
                Kind::Letters { length: fixed_or_range(of)?, of: letters.chars().collect() }
            }
            "decimal" => decimals(of)?,
            "float" => Kind::Float(range(of)?),
            "date" | "timestamp" => {
                let date = name == "date";
                let ty = if date { Type::Date } else { Type::Timestamp };
                let read = |v: &Item<'_>| match Datum::parse(&ty, &v.scalar()?) {
                    Ok(Datum::Int(n)) => Ok(n),
                    Ok(_) => Err(v.error(format!("this is no {name}"))),
                    Err(error) => Err(v.error(error.message())),
                };
                let [low, high] = two(of)?;
                Kind::Stored { low: read(&low)?, high: read(&high)?, date }
            }
            "format" => {
                let args: Vec<Expression> = match table.get("of") {
                    Some(args) => {
                        args.one_or_more()?.into_iter().map(Expression::of).collect::<Result<_>>()?
                    }
                    None => Vec::new(),
                };
                let text = Format::of(of)?;
                if text.parts.len() != args.len() {
                    let what = format!("{} places for numbers, and {} numbers", text.parts.len(), args.len());
                    return Err(of
                        .error(what)
                        .with_hint("Write { format = \"Customer {:06}\", of = \"id\" }."));
                }
                Kind::Format { text, of: args }
            }
            "array" => Kind::Array {
                of: Box::new(Spec::of(of)?),
                length: fixed_or_range(table.required("length")?)?,
                distinct: flag("distinct")?,
                sorted: flag("sorted")?,
            },
            _ => return Err(item.error(format!("there is no generator \"{name}\""))),
        };
        let other_than = match table.get("not") {
            Some(name) => Some((name.str()?.to_owned(), name.at)),
            None => None,
        };
        Ok(Spec { kind, at: item.at, null: table.get("null").map(Expression::of).transpose()?, other_than })
    }

    /// Whether its values depend on how many there were before: not for rows of tables, which are made in any order.
    pub(crate) fn counts(&self) -> bool {
        matches!(self.kind, Kind::Sequence { .. } | Kind::Unique)
    }

    pub(crate) fn is_array(&self) -> bool {
        matches!(self.kind, Kind::Array { .. })
    }

    /// Why a parameter of this type cannot take its values.
    pub(crate) fn unfit(&self, ty: &Type) -> Option<String> {
        use Class as C;
        let class = Class::of(ty);
        let fits = match &self.kind {
            Kind::Value(_)
            | Kind::Uniform(_)
            | Kind::Zipf { .. }
            | Kind::Nurand { .. }
            | Kind::Sequence { .. }
            | Kind::Unique => matches!(class, C::Whole | C::Number),
            Kind::Decimal { .. } | Kind::Float(_) => class == C::Number,
            Kind::Bool(_) | Kind::Chance(_) => class == C::Bool,
            Kind::Letters { .. } => class == C::Text,
            Kind::Format { .. } => class != C::Bool && class != C::Array,
            Kind::Uuid => class == C::Uuid,
            Kind::Stored { date, .. } => {
                if *date {
                    *ty == Type::Date
                } else {
                    class == C::Moment
                }
            }
            Kind::Choice { values, .. } => {
                return values.iter().find_map(|value| match value {
                    Literal::Text(text) if class != C::Other => {
                        Datum::parse(ty, text).err().map(|e| e.message().to_owned())
                    }
                    Literal::Int(_) if !matches!(class, C::Whole | C::Number | C::Other) => {
                        Some(format!("it is of type {ty}, and would be given a whole number"))
                    }
                    _ => None,
                });
            }
            Kind::Array { of, .. } => match ty {
                Type::Array(inner) => return of.unfit(inner),
                _ => false,
            },
        };
        let drawn = self.drawn();
        (!fits && class != C::Other).then(|| format!("it is of type {ty}, and would be given {drawn}"))
    }

    fn drawn(&self) -> &'static str {
        match self.kind {
            Kind::Decimal { .. } => "a decimal",
            Kind::Float(_) => "a double",
            Kind::Bool(_) | Kind::Chance(_) => "true or false",
            Kind::Letters { .. } | Kind::Format { .. } | Kind::Choice { .. } => "a text",
            Kind::Uuid => "a uuid",
            Kind::Stored { date: true, .. } => "a date",
            Kind::Stored { .. } => "a timestamp",
            Kind::Array { .. } => "an array",
            _ => "a whole number",
        }
    }

    /// With its names bound.
    pub(crate) fn bind(&self, scope: &Scope<'_>) -> Result<Generator> {
        let error = |what: String| Err(scope.source.error(self.at, what));
        let whole = |range: &[Expression; 2]| -> Result<[Bound; 2]> {
            let [low, high] = [range[0].bind_whole(scope)?, range[1].bind_whole(scope)?];
            if let (Bound::Int(low), Bound::Int(high)) = (&low, &high)
                && low > high
            {
                return Err(scope
                    .source
                    .error(range[0].at, format!("there is nothing between {low} and {high}")));
            }
            Ok([low, high])
        };
        let share = |of: &Expression| -> Result<f64> {
            let share = of.double(scope)?;
            if (0.0..=100.0).contains(&share) {
                Ok(share)
            } else {
                Err(scope.source.error(of.at, "a share is one of a hundred"))
            }
        };
        let draw = match &self.kind {
            Kind::Value(of) => Draw::Value(of.bind_whole(scope)?),
            Kind::Uniform(range) => Draw::Uniform(whole(range)?),
            Kind::Zipf { range, theta, scattered } => {
                let (low, high) = (range[0].whole(scope)?, range[1].whole(scope)?);
                let keys = match high.checked_sub(low) {
                    Some(keys) if (0..i64::MAX).contains(&keys) => keys as u64 + 1,
                    _ => return error(format!("there is nothing between {low} and {high}")),
                };
                let exponent = theta.double(scope)?;
                if !(0.0..10.0).contains(&exponent) {
                    return Err(scope.source.error(theta.at, "theta is at least 0, and below 10"));
                }
                let stride = if *scattered { stride(keys) } else { 1 };
                Draw::Zipf { skewed: Skewed::new(keys, exponent), low, keys, stride }
            }
            Kind::Nurand { range, a, c } => {
                let (low, high) = (range[0].whole(scope)?, range[1].whole(scope)?);
                let (a, c) = (a.whole(scope)?, c.whole(scope)?);
                if low > high
                    || low < 0
                    || a < 0
                    || c < 0
                    || high > i64::MAX / 4
                    || a > i64::MAX / 4
                    || c > i64::MAX / 4
                {
                    return error("nurand takes 0 <= low <= high, a >= 0 and c >= 0".to_owned());
                }
                Draw::Nurand { low, high, a, c }
            }
            Kind::Sequence { from, step } => {
                Draw::Sequence { next: from.whole(scope)?, step: step.whole(scope)? }
            }
            Kind::Unique => Draw::Unique(0),
            Kind::Choice { values, weights } => {
                let weights = match weights {
                    None => vec![1; values.len()],
                    Some(weights) => weights.iter().map(|w| w.whole(scope)).collect::<Result<_>>()?,
                };
                if weights.iter().any(|w| !(0..=1 << 32).contains(w)) || weights.iter().all(|w| *w == 0) {
                    return error("weights are at least 0, and not all are 0".to_owned());
                }
                let mut sum = 0;
                let upto = weights.iter().map(|w| {
                    sum += w;
                    sum
                });
                Draw::Choice { upto: upto.collect(), values: values.clone() }
            }
            Kind::Bool(b) => Draw::Bool(*b),
            Kind::Chance(of) => Draw::Chance(share(of)?),
            Kind::Letters { length, of } => Draw::Letters { length: whole(length)?, of: of.clone() },
            Kind::Decimal { low, high, scale } => Draw::Decimal { low: *low, high: *high, scale: *scale },
            Kind::Float(range) => {
                let (low, high) = (range[0].double(scope)?, range[1].double(scope)?);
                if low.is_nan() || high.is_nan() || low > high {
                    return error(format!("there is nothing between {low} and {high}"));
                }
                Draw::Float { low, high }
            }
            Kind::Stored { low, high, .. } if low > high => {
                return error("the first is after the last".to_owned());
            }
            Kind::Stored { low, high, .. } => Draw::Stored { low: *low, high: *high },
            Kind::Uuid => Draw::Uuid,
            Kind::Format { text, of } => {
                let of = of.iter().map(|of| of.bind_whole(scope)).collect::<Result<_>>()?;
                Draw::Format { text: text.clone(), of }
            }
            Kind::Array { of, length, distinct, sorted } => Draw::Array {
                of: Box::new(of.bind(scope)?),
                length: whole(length)?,
                distinct: *distinct,
                sorted: *sorted,
            },
        };
        let other_than = match &self.other_than {
            None => None,
            Some((name, at)) => {
                let slot = scope.slots.iter().position(|s| s == name);
                let missing =
                    || scope.source.error(*at, format!("there is no parameter before this \"{name}\""));
                Some(slot.ok_or_else(|| hinted(missing(), name, scope.slots))?)
            }
        };
        let null = self.null.as_ref().map(share).transpose()?;
        Ok(Generator { draw, null: null.unwrap_or(0.0), other_than })
    }
}

/// `[low, high]`, or a number: from 1 to that.
fn range(item: Item<'_>) -> Result<[Expression; 2]> {
    match item.value {
        DeValue::Array(_) => {
            let [low, high] = two(item)?;
            Ok([Expression::of(low)?, Expression::of(high)?])
        }
        _ => Ok([Expression::int(1, item.at), Expression::of(item)?]),
    }
}

/// `[low, high]`, or a number: that one.
fn fixed_or_range(item: Item<'_>) -> Result<[Expression; 2]> {
    match item.value {
        DeValue::Array(_) => range(item),
        _ => Ok([Expression::of(item)?, Expression::of(item)?]),
    }
}

fn two(item: Item<'_>) -> Result<[Item<'_>; 2]> {
    <[Item<'_>; 2]>::try_from(item.list()?)
        .map_err(|items| item.error(format!("a range is [low, high], not {} values", items.len())))
}

/// A decimal as a whole number and its digits after the point.
fn decimal(item: &Item<'_>) -> Result<(i64, u8)> {
    let text = item.scalar()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let digits = format!("{whole}{fraction}");
    match digits.parse() {
        Ok(n) if fraction.len() <= 18 && fraction.bytes().all(|b| b.is_ascii_digit()) => {
            Ok((n, fraction.len() as u8))
        }
        _ => Err(item.error(format!("\"{text}\" is no decimal of at most 18 digits"))),
    }
}

fn decimals(item: Item<'_>) -> Result<Kind> {
    let [low, high] = two(item)?;
    let ((low, a), (high, b)) = (decimal(&low)?, decimal(&high)?);
    let scale = a.max(b);
    let scaled = |n: i64, from: u8| {
        let grown = 10i64.checked_pow(u32::from(scale - from)).and_then(|by| n.checked_mul(by));
        grown.ok_or_else(|| item.error("the decimals have too many digits"))
    };
    let (low, high) = (scaled(low, a)?, scaled(high, b)?);
    if low > high {
        return Err(item.error("there is nothing between these"));
    }
    Ok(Kind::Decimal { low, high, scale })
}

fn literals(item: Item<'_>) -> Result<Vec<Literal>> {
    let values = item.list()?;
    if values.is_empty() {
        return Err(item.error("there is nothing to choose from"));
    }
    let literal = |v: &Item<'_>| {
        Ok(match v.value {
            DeValue::Boolean(b) => Literal::Bool(*b),
            DeValue::Integer(_) => Literal::Int(decimal(v)?.0),
            DeValue::Float(_) => {
                let (n, scale) = decimal(v)?;
                Literal::Decimal(n, scale)
            }
            DeValue::Table(t) if t.is_empty() => Literal::Null,
            _ => Literal::Text(v.scalar()?),
        })
    };
    values.iter().map(literal).collect()
}

impl Format {
    fn of(item: Item<'_>) -> Result<Format> {
        let (mut parts, mut rest) = (Vec::new(), item.str()?);
        while let Some((before, after)) = rest.split_once('{') {
            let (inner, after) =
                after.split_once('}').ok_or_else(|| item.error("\"}\" is missing in the format"))?;
            let width = match inner.strip_prefix(":0") {
                None if inner.is_empty() => 0,
                Some(width) => width.parse().map_err(|_| item.error(format!("\"{inner}\" is no width")))?,
                None => {
                    return Err(item
                        .error(format!("\"{{{inner}}}\" is not understood"))
                        .with_hint("Write {} or {:06}."));
                }
            };
            if width > 1000 {
                return Err(item.error("a number has at most 1000 digits"));
            }
            parts.push((before.to_owned(), width));
            rest = after;
        }
        Ok(Format { parts, end: rest.to_owned() })
    }
}
