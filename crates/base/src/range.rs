//! Ranges: `int4range` and its like.
//!
//! A value is kept as bytes whose order is the type's: comparing bytes compares ranges, and equal ranges have equal bytes.
//! So keys, sorting, grouping and hashing know nothing of ranges; who asks for a bound reads the bytes ([`Range::decode`]).
//!
//! | bytes | |
//! |---|---|
//! | 1 | the type's number times 8, plus 1: empty (nothing follows), 2: no lower bound, 3: a lower bound follows |
//! | value, 1 | the lower bound; `02` it belongs to the range, `03` it does not |
//! | 1 | `02`: an upper bound follows, `03`: none |
//! | value, 1 | the upper bound; `02` it does not belong to the range, `03` it does |
//!
//! A value takes 4 bytes (`int4range`, `daterange`), 8 (`int8range`, `tsrange`, `tstzrange`), biased to unsigned, or 17 as in
//! a key of an index (`numrange`, without trailing zeros of its fraction: `1.50` comes back as `1.5`).
//!
//! The discrete ones (of integers and dates) are kept as PostgreSQL's canonical form, `[)`.

use crate::datetime::{self, Forms};
use crate::error::{Error, Result, SqlState};
use crate::numeric::Numeric;
use crate::text_io;
use crate::types::Type;
use crate::watch;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// The range types there are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RangeType {
    /// `int4range`
    Int4,
    /// `int8range`
    Int8,
    /// `numrange`
    Num,
    /// `daterange`
    Date,
    /// `tsrange`
    Timestamp,
    /// `tstzrange`
    TimestampTz,
}

impl RangeType {
    /// All of them.
    pub const ALL: [RangeType; 6] = [
        RangeType::Int4,
        RangeType::Int8,
        RangeType::Num,
        RangeType::Date,
        RangeType::Timestamp,
        RangeType::TimestampTz,
    ];

    /// Its name, which is that of its constructor, too.
    pub const fn name(self) -> &'static str {
        match self {
            RangeType::Int4 => "int4range",
            RangeType::Int8 => "int8range",
            RangeType::Num => "numrange",
            RangeType::Date => "daterange",
            RangeType::Timestamp => "tsrange",
            RangeType::TimestampTz => "tstzrange",
        }
    }

    /// By its name.
    pub fn by_name(name: &str) -> Option<RangeType> {
        RangeType::ALL.into_iter().find(|of| of.name() == name)
    }

    /// The type of its bounds.
    pub const fn element(self) -> Type {
        match self {
            RangeType::Int4 => Type::Int4,
            RangeType::Int8 => Type::Int8,
            RangeType::Num => Type::Numeric(None),
            RangeType::Date => Type::Date,
            RangeType::Timestamp => Type::Timestamp,
            RangeType::TimestampTz => Type::TimestampTz,
        }
    }

    /// The range type over values of a type.
    pub fn over(element: &Type) -> Option<RangeType> {
        RangeType::ALL.into_iter().find(|of| of.element() == element.base())
    }

    const fn number(self) -> u8 {
        match self {
            RangeType::Int4 => 1,
            RangeType::Int8 => 2,
            RangeType::Num => 3,
            RangeType::Date => 4,
            RangeType::Timestamp => 5,
            RangeType::TimestampTz => 6,
        }
    }

    /// By its place in [`RangeType::ALL`], which programs name it by.
    pub fn at(index: i64) -> Option<RangeType> {
        RangeType::ALL.get(usize::try_from(index).ok()?).copied()
    }

    /// Its place in [`RangeType::ALL`].
    pub const fn index(self) -> i64 {
        self.number() as i64 - 1
    }

    /// Whether a value has a next one, so that all ranges have a form `[)`.
    pub const fn is_discrete(self) -> bool {
        matches!(self, RangeType::Int4 | RangeType::Int8 | RangeType::Date)
    }

    /// The value behind a discrete one; an infinite date has none.
    fn next(self, value: RangeValue) -> Result<Option<RangeValue>> {
        let RangeValue::Int(n) = value else { return Ok(None) };
        let out = |message| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message);
        Ok(Some(RangeValue::Int(match self {
            RangeType::Int4 => i32::try_from(n + 1).map_err(|_| out("integer out of range"))?.into(),
            RangeType::Int8 => n.checked_add(1).ok_or_else(|| out("bigint out of range"))?,
            RangeType::Date if matches!(n, datetime::DATE_INFINITY | datetime::DATE_MINUS_INFINITY) => {
                return Ok(None);
            }
            RangeType::Date if n + 1 >= datetime::DATE_END => {
                return Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "date out of range"));
            }
            RangeType::Date => n + 1,
            _ => return Ok(None),
        })))
    }
}

/// A value that a range ends at.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum RangeValue {
    /// Of integers, dates and timestamps.
    Int(i64),
    /// Of numerics.
    Numeric(Numeric),
}

impl RangeValue {
    fn compare(self, other: RangeValue) -> Ordering {
        match (self, other) {
            (RangeValue::Int(a), RangeValue::Int(b)) => a.cmp(&b),
            (RangeValue::Numeric(a), RangeValue::Numeric(b)) => a.compare(b),
            // A range has values of one type.
            (RangeValue::Int(_), RangeValue::Numeric(_)) => Ordering::Less,
            (RangeValue::Numeric(_), RangeValue::Int(_)) => Ordering::Greater,
        }
    }
}

/// Where a range ends on one side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RangeBound {
    /// `None`: nowhere.
    pub value: Option<RangeValue>,
    /// Whether the value belongs to the range; never of none.
    pub inclusive: bool,
}

impl RangeBound {
    /// A side without an end.
    pub const INFINITE: RangeBound = RangeBound { value: None, inclusive: false };

    /// The end of what lies on the other side of it.
    fn turned(self) -> RangeBound {
        RangeBound { inclusive: !self.inclusive, ..self }
    }
}

/// On which side of its range a bound is.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Lower,
    Upper,
}

/// The order of two bounds along the line of values.
fn compare_bounds(a: RangeBound, a_side: Side, b: RangeBound, b_side: Side) -> Ordering {
    // How far a bound is beside its value: what is excluded moves inwards, what is infinite to its end.
    let beside = |bound: RangeBound, side| match (bound.inclusive, side) {
        (true, _) => 0,
        (false, Side::Lower) => 1,
        (false, Side::Upper) => -1,
    };
    let end = |side| if side == Side::Lower { -1 } else { 1 };
    match (a.value, b.value) {
        (None, None) => end(a_side).cmp(&end(b_side)),
        (None, Some(_)) => end(a_side).cmp(&0),
        (Some(_), None) => 0.cmp(&end(b_side)),
        (Some(x), Some(y)) => x.compare(y).then(beside(a, a_side).cmp(&beside(b, b_side))),
    }
}

/// A range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Range {
    /// Its type.
    pub of: RangeType,
    /// Its lower and its upper bound; `None`: it is empty.
    pub bounds: Option<(RangeBound, RangeBound)>,
}

impl Range {
    /// The one without values.
    pub const fn empty(of: RangeType) -> Range {
        Range { of, bounds: None }
    }

    /// From bounds, in the canonical form; 22000 where the lower one is above the upper one.
    pub fn new(of: RangeType, mut lower: RangeBound, mut upper: RangeBound) -> Result<Range> {
        let made = Range::as_it_is(of, lower, upper)?;
        if !of.is_discrete() || made.bounds.is_none() {
            return Ok(made);
        }
        if let (Some(value), false) = (lower.value, lower.inclusive)
            && let Some(next) = of.next(value)?
        {
            lower = RangeBound { value: Some(next), inclusive: true };
        }
        if let (Some(value), true) = (upper.value, upper.inclusive)
            && let Some(next) = of.next(value)?
        {
            upper = RangeBound { value: Some(next), inclusive: false };
        }
        Range::as_it_is(of, lower, upper)
    }

    fn as_it_is(of: RangeType, mut lower: RangeBound, mut upper: RangeBound) -> Result<Range> {
        for bound in [&mut lower, &mut upper] {
            bound.inclusive &= bound.value.is_some();
            if let Some(RangeValue::Numeric(n)) = bound.value {
                // As it comes back from bytes.
                bound.value = Some(RangeValue::Numeric(n.normalized()));
            }
        }
        if let (Some(a), Some(b)) = (lower.value, upper.value) {
            match a.compare(b) {
                Ordering::Greater => {
                    let message = "range lower bound must be less than or equal to range upper bound";
                    return Err(Error::new(SqlState::DATA_EXCEPTION, message));
                }
                Ordering::Equal if !(lower.inclusive && upper.inclusive) => return Ok(Range::empty(of)),
                _ => {}
            }
        }
        Ok(Range { of, bounds: Some((lower, upper)) })
    }

    /// Whether it has no value.
    pub const fn is_empty(&self) -> bool {
        self.bounds.is_none()
    }

    /// `&&`: whether they have a value in common.
    pub fn overlaps(&self, other: &Range) -> bool {
        let (Some((l1, u1)), Some((l2, u2))) = (self.bounds, other.bounds) else { return false };
        compare_bounds(l1, Side::Lower, u2, Side::Upper).is_le()
            && compare_bounds(l2, Side::Lower, u1, Side::Upper).is_le()
    }

    /// `@>`: whether each value of the other is one of its own.
    pub fn contains(&self, other: &Range) -> bool {
        let Some((l2, u2)) = other.bounds else { return true };
        let Some((l1, u1)) = self.bounds else { return false };
        compare_bounds(l1, Side::Lower, l2, Side::Lower).is_le()
            && compare_bounds(u1, Side::Upper, u2, Side::Upper).is_ge()
    }

    /// `@>` of a value.
    pub fn contains_value(&self, value: RangeValue) -> bool {
        let Some((lower, upper)) = self.bounds else { return false };
        let at = RangeBound { value: Some(value), inclusive: true };
        compare_bounds(lower, Side::Lower, at, Side::Lower).is_le()
            && compare_bounds(upper, Side::Upper, at, Side::Upper).is_ge()
    }

    /// `<<`: whether all its values are below those of the other.
    pub fn is_before(&self, other: &Range) -> bool {
        match (self.bounds, other.bounds) {
            (Some((_, u1)), Some((l2, _))) => compare_bounds(u1, Side::Upper, l2, Side::Lower).is_lt(),
            _ => false,
        }
    }

    /// `&<`: whether it ends no later.
    pub fn ends_within(&self, other: &Range) -> bool {
        match (self.bounds, other.bounds) {
            (Some((_, u1)), Some((_, u2))) => compare_bounds(u1, Side::Upper, u2, Side::Upper).is_le(),
            _ => false,
        }
    }

    /// `&>`: whether it begins no earlier.
    pub fn begins_within(&self, other: &Range) -> bool {
        match (self.bounds, other.bounds) {
            (Some((l1, _)), Some((l2, _))) => compare_bounds(l1, Side::Lower, l2, Side::Lower).is_ge(),
            _ => false,
        }
    }

    /// `-|-`: whether they have no value in common, and none lies between them.
    pub fn is_adjacent(&self, other: &Range) -> bool {
        let meet = |upper: RangeBound, lower: RangeBound| match (upper.value, lower.value) {
            (Some(a), Some(b)) => match a.compare(b) {
                Ordering::Equal => upper.inclusive != lower.inclusive,
                Ordering::Less => {
                    self.of.is_discrete()
                        && Range::new(self.of, upper.turned(), lower.turned()).is_ok_and(|r| r.is_empty())
                }
                Ordering::Greater => false,
            },
            _ => false,
        };
        match (self.bounds, other.bounds) {
            (Some((l1, u1)), Some((l2, u2))) => meet(u1, l2) || meet(u2, l1),
            _ => false,
        }
    }

    /// The least range that has the values of both: `range_merge`.
    pub fn merge(&self, other: &Range) -> Range {
        let (Some((l1, u1)), Some((l2, u2))) = (self.bounds, other.bounds) else {
            return if self.is_empty() { *other } else { *self };
        };
        let lower = if compare_bounds(l1, Side::Lower, l2, Side::Lower).is_le() { l1 } else { l2 };
        let upper = if compare_bounds(u1, Side::Upper, u2, Side::Upper).is_ge() { u1 } else { u2 };
        Range { of: self.of, bounds: Some((lower, upper)) }
    }

    /// `+`: the values of both; 22000 where others lie between them.
    pub fn union(&self, other: &Range) -> Result<Range> {
        let apart = !self.is_empty() && !other.is_empty();
        if apart && !self.overlaps(other) && !self.is_adjacent(other) {
            let message = "result of range union would not be contiguous";
            return Err(Error::new(SqlState::DATA_EXCEPTION, message));
        }
        Ok(self.merge(other))
    }

    /// `*`: the values that both have.
    pub fn intersection(&self, other: &Range) -> Range {
        let (Some((l1, u1)), Some((l2, u2))) = (self.bounds, other.bounds) else {
            return Range::empty(self.of);
        };
        if !self.overlaps(other) {
            return Range::empty(self.of);
        }
        let lower = if compare_bounds(l1, Side::Lower, l2, Side::Lower).is_ge() { l1 } else { l2 };
        let upper = if compare_bounds(u1, Side::Upper, u2, Side::Upper).is_le() { u1 } else { u2 };
        Range { of: self.of, bounds: Some((lower, upper)) }
    }

    /// `-`: the values that the other does not have; 22000 where they are in two pieces.
    pub fn difference(&self, other: &Range) -> Result<Range> {
        let (Some((l1, u1)), Some((l2, u2))) = (self.bounds, other.bounds) else { return Ok(*self) };
        let before = compare_bounds(l1, Side::Lower, l2, Side::Lower).is_lt();
        let behind = compare_bounds(u1, Side::Upper, u2, Side::Upper).is_gt();
        if before && behind {
            let message = "result of range difference would not be contiguous";
            return Err(Error::new(SqlState::DATA_EXCEPTION, message));
        }
        if !self.overlaps(other) {
            return Ok(*self);
        }
        match (before, behind) {
            (true, _) => Range::new(self.of, l1, l2.turned()),
            (_, true) => Range::new(self.of, u2.turned(), u1),
            _ => Ok(Range::empty(self.of)),
        }
    }

    /// As it is kept.
    pub fn encode(&self) -> Vec<u8> {
        let head = self.of.number() << 3;
        let Some((lower, upper)) = self.bounds else { return vec![head | 1] };
        let mut out = Vec::with_capacity(40);
        match lower.value {
            None => out.push(head | 2),
            Some(value) => {
                out.push(head | 3);
                self.put(value, &mut out);
                out.push(if lower.inclusive { 2 } else { 3 });
            }
        }
        match upper.value {
            None => out.push(3),
            Some(value) => {
                out.push(2);
                self.put(value, &mut out);
                out.push(if upper.inclusive { 3 } else { 2 });
            }
        }
        out
    }

    fn put(&self, value: RangeValue, out: &mut Vec<u8>) {
        match (self.of, value) {
            (RangeType::Int4 | RangeType::Date, RangeValue::Int(n)) => {
                out.extend_from_slice(&(n as i32 as u32 ^ 1 << 31).to_be_bytes());
            }
            (_, RangeValue::Int(n)) => out.extend_from_slice(&(n as u64 ^ 1 << 63).to_be_bytes()),
            (_, RangeValue::Numeric(n)) => put_numeric(n, out),
        }
    }

    /// What [`Range::encode`] made; `None` for other bytes.
    pub fn decode(bytes: &[u8]) -> Option<Range> {
        let (&head, mut rest) = bytes.split_first()?;
        let of = RangeType::ALL.into_iter().find(|of| of.number() == head >> 3)?;
        let bound = |tag: u8, none: u8, inclusive: u8, rest: &mut &[u8]| {
            if tag == none {
                return Some(RangeBound::INFINITE);
            }
            let value = take_value(of, rest)?;
            let [flag] = take(rest)?;
            Some(RangeBound { value: Some(value), inclusive: flag == inclusive })
        };
        let lower = match head & 7 {
            1 => return rest.is_empty().then_some(Range::empty(of)),
            tag @ (2 | 3) => bound(tag, 2, 2, &mut rest)?,
            _ => return None,
        };
        let [tag] = take(&mut rest)?;
        let upper = bound(tag, 3, 3, &mut rest)?;
        rest.is_empty().then_some(Range { of, bounds: Some((lower, upper)) })
    }

    /// Bytes that no range is above of that overlaps this one: those of one that begins where it ends. They bound a scan of an
    /// index, and are no range where it has no end.
    pub fn ceiling(&self) -> Vec<u8> {
        let beyond = || vec![self.of.number() << 3 | 7];
        let Some((_, upper)) = self.bounds else { return Range::empty(self.of).encode() };
        let Some(value) = upper.value else { return beyond() };
        let lower = RangeBound { value: Some(value), inclusive: true };
        Range { of: self.of, bounds: Some((lower, RangeBound::INFINITE)) }.encode()
    }

    /// Reads the text form; a timestamp with time zone is one of the zone where it names none.
    pub fn parse(of: RangeType, text: &str, forms: Forms<'_>) -> Result<Range> {
        let value = |text: Option<String>| -> Result<Option<RangeValue>> {
            let Some(text) = text else { return Ok(None) };
            Ok(Some(match of {
                RangeType::Int4 => RangeValue::Int(text_io::parse_int(&text, &Type::Int4)?),
                RangeType::Int8 => RangeValue::Int(text_io::parse_int(&text, &Type::Int8)?),
                RangeType::Num => RangeValue::Numeric(Numeric::parse(&text).map_err(no_room)?),
                RangeType::Date => RangeValue::Int(datetime::parse_date(&text, forms.styles.order)?),
                RangeType::Timestamp => {
                    RangeValue::Int(datetime::parse_timestamp(&text, forms.styles.order)?)
                }
                RangeType::TimestampTz => RangeValue::Int(datetime::parse_timestamptz(&text, forms)?),
            }))
        };
        let Some(read) = split(text)? else { return Ok(Range::empty(of)) };
        let lower = RangeBound { value: value(read.lower)?, inclusive: read.lower_inclusive };
        let upper = RangeBound { value: value(read.upper)?, inclusive: read.upper_inclusive };
        Range::new(of, lower, upper)
    }

    /// Appends the text form.
    pub fn write(&self, forms: Forms<'_>, out: &mut Vec<u8>) {
        let Some((lower, upper)) = self.bounds else {
            out.extend_from_slice(b"empty");
            return;
        };
        out.push(if lower.inclusive { b'[' } else { b'(' });
        self.write_value(lower, forms, out);
        out.push(b',');
        self.write_value(upper, forms, out);
        out.push(if upper.inclusive { b']' } else { b')' });
    }

    fn write_value(&self, bound: RangeBound, forms: Forms<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        match (bound.value, self.of) {
            (None, _) => return,
            (Some(RangeValue::Numeric(n)), _) => n.write(out),
            (Some(RangeValue::Int(n)), RangeType::Date) => datetime::write_date(out, n, forms.styles),
            (Some(RangeValue::Int(n)), RangeType::Timestamp) => {
                datetime::write_timestamp(out, n, forms.styles)
            }
            (Some(RangeValue::Int(n)), RangeType::TimestampTz) => {
                datetime::write_timestamptz(out, n, forms);
            }
            (Some(RangeValue::Int(n)), _) => text_io::write_int(out, n),
        }
        // No value has a quote or a backslash in it; timestamps have a blank.
        if out[start..].contains(&b' ') {
            out.insert(start, b'"');
            out.push(b'"');
        }
    }

    /// Which values a constructor's last argument says belong to the range: `[]`, `[)`, `(]`, `()`.
    pub fn flags(text: &str) -> Result<(bool, bool)> {
        match text.as_bytes() {
            [lower @ (b'[' | b'('), upper @ (b']' | b')')] => Ok((*lower == b'[', *upper == b']')),
            _ => Err(Error::new(SqlState::SYNTAX_ERROR, "invalid range bound flags")
                .with_hint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\".")),
        }
    }
}

/// Appends the text form of a range that is kept in bytes.
pub fn write(bytes: &[u8], forms: Forms<'_>, out: &mut Vec<u8>) {
    if let Some(range) = Range::decode(bytes) {
        range.write(forms, out);
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (head, tail) = rest.split_first_chunk::<N>()?;
    *rest = tail;
    Some(*head)
}

fn take_value(of: RangeType, rest: &mut &[u8]) -> Option<RangeValue> {
    Some(match of {
        RangeType::Int4 | RangeType::Date => {
            RangeValue::Int(i64::from((u32::from_be_bytes(take(rest)?) ^ 1 << 31) as i32))
        }
        RangeType::Num => RangeValue::Numeric(take_numeric(rest)?),
        _ => RangeValue::Int((u64::from_be_bytes(take(rest)?) ^ 1 << 63) as i64),
    })
}

/// 0A000 instead of the error that a number has no room in two words.
#[cold]
pub fn no_room(e: Error) -> Error {
    if !crate::numeric::long::is_overflow(&e) {
        return e;
    }
    Error::unsupported(
        "bounds of numrange with more than 35 digits, or that are not finite, are not supported",
        "Leave out a bound that is infinite.",
    )
}

const NUMERIC_DIGITS: u32 = 36;
const NUMERIC_ZERO: u16 = 1 << 15;
const NUMERIC_EXPONENT: i32 = 300;

/// 2 bytes of sign and exponent, 15 of digits, which are complemented below zero.
fn put_numeric(n: Numeric, out: &mut Vec<u8>) {
    let magnitude = n.mantissa().unsigned_abs();
    if magnitude == 0 {
        out.extend_from_slice(&NUMERIC_ZERO.to_be_bytes());
        out.extend_from_slice(&[0; 15]);
        return;
    }
    let digits = magnitude.ilog10() + 1;
    let aligned = magnitude * 10u128.pow(NUMERIC_DIGITS - digits);
    let exponent = (digits as i32 - i32::from(n.scale()) + NUMERIC_EXPONENT) as u16;
    let (head, aligned) = if n.mantissa() > 0 {
        (NUMERIC_ZERO + exponent, aligned)
    } else {
        (NUMERIC_ZERO - exponent, !aligned)
    };
    out.extend_from_slice(&head.to_be_bytes());
    out.extend_from_slice(&aligned.to_be_bytes()[1..]);
}

fn take_numeric(rest: &mut &[u8]) -> Option<Numeric> {
    let head = i32::from(u16::from_be_bytes(take(rest)?)) - i32::from(NUMERIC_ZERO);
    let mut bytes = [0; 16];
    bytes[1..].copy_from_slice(&take::<15>(rest)?);
    if head == 0 {
        return Some(Numeric::from_i64(0));
    }
    let mut digits = u128::from_be_bytes(bytes);
    if head < 0 {
        digits = !digits & ((1 << 120) - 1);
    }
    let mut scale = NUMERIC_DIGITS as i32 - (head.abs() - NUMERIC_EXPONENT);
    while digits != 0 && digits.is_multiple_of(10) && scale > 0 {
        (digits, scale) = (digits / 10, scale - 1);
    }
    let mantissa = i128::try_from(digits).ok()?;
    Numeric::from_parts(if head < 0 { -mantissa } else { mantissa }, u8::try_from(scale).ok()?)
}

/// What a text form says, its bounds as texts.
struct Read {
    lower: Option<String>,
    lower_inclusive: bool,
    upper: Option<String>,
    upper_inclusive: bool,
}

/// Takes a text form apart; `None`: `empty`.
fn split(text: &str) -> Result<Option<Read>> {
    let malformed = |detail: &str| {
        let message = format!("malformed range literal: \"{text}\"");
        Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message).with_detail(detail)
    };
    watch::count(text.len());
    let bytes = text.as_bytes();
    let blanks = |from: usize| from + bytes[from..].iter().take_while(|b| text_io::is_space(**b)).count();
    let mut at = blanks(0);
    if bytes.get(at..at + 5).is_some_and(|word| word.eq_ignore_ascii_case(b"empty")) {
        return match blanks(at + 5) {
            end if end == bytes.len() => Ok(None),
            _ => Err(malformed("Junk after \"empty\" key word.")),
        };
    }
    let lower_inclusive = match bytes.get(at) {
        Some(b'[') => true,
        Some(b'(') => false,
        _ => return Err(malformed("Missing left parenthesis or bracket.")),
    };
    at += 1;
    let bound = |at: &mut usize| -> Result<Option<String>> {
        let ends = |at: usize| matches!(bytes.get(at), Some(b',' | b')' | b']'));
        if ends(*at) {
            return Ok(None);
        }
        let (mut value, mut quoted) = (Vec::new(), false);
        let end = || malformed("Unexpected end of input.");
        while quoted || !ends(*at) {
            let byte = *bytes.get(*at).ok_or_else(end)?;
            *at += 1;
            match byte {
                b'\\' => {
                    value.push(*bytes.get(*at).ok_or_else(end)?);
                    *at += 1;
                }
                b'"' if quoted && bytes.get(*at) == Some(&b'"') => {
                    value.push(b'"');
                    *at += 1;
                }
                b'"' => quoted = !quoted,
                byte => value.push(byte),
            }
        }
        // Whole characters: what ends a bound, and what is left out, is ASCII.
        Ok(Some(String::from_utf8_lossy(&value).into_owned()))
    };
    let lower = bound(&mut at)?;
    if bytes.get(at) != Some(&b',') {
        return Err(malformed("Missing comma after lower bound."));
    }
    at += 1;
    let upper = bound(&mut at)?;
    let upper_inclusive = match bytes.get(at) {
        Some(b']') => true,
        Some(b')') => false,
        _ => return Err(malformed("Too many commas.")),
    };
    if blanks(at + 1) != bytes.len() {
        return Err(malformed("Junk after right parenthesis or bracket."));
    }
    Ok(Some(Read { lower, lower_inclusive, upper, upper_inclusive }))
}

#[cfg(test)]
mod tests;
