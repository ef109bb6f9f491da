//! Intervals as text.
//!
//! Read: quantities with units (`1 day 2 hours`, `1d2h`, `90 sec`), `HH:MM[:SS[.f]]`, a bare number
//! of seconds at the end, `ago`, and ISO 8601 durations (`P1DT2H`). Printed in PostgreSQL's style.

use super::{
    MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, format, interval_out_of_range,
};
use crate::error::{Error, Result, SqlState};
use crate::{text_io, watch};
use std::io::Write;

/// Appends an interval: days, then the time, both with their sign.
pub fn write_interval(out: &mut Vec<u8>, interval: i64) {
    let (days, time) = (interval / MICROS_PER_DAY, interval % MICROS_PER_DAY);
    if days != 0 {
        let plural = if days == 1 { "" } else { "s" };
        let _ = write!(out, "{days} day{plural}");
    }
    if time != 0 || days == 0 {
        if days != 0 {
            out.push(b' ');
        }
        if time < 0 {
            out.push(b'-');
        }
        format::write_time(out, time.abs());
    }
}

/// `interval * factor`, rounded to the nearest microsecond.
pub fn mul_interval(interval: i64, factor: f64) -> Result<i64> {
    if let Some(whole) = exact_whole(factor) {
        return interval.checked_mul(whole).ok_or_else(interval_out_of_range);
    }
    let product = (interval as f64 * factor).round_ties_even();
    // Both bounds are exact doubles; NaN is in no range.
    if (i64::MIN as f64..-(i64::MIN as f64)).contains(&product) {
        Ok(product as i64)
    } else {
        Err(interval_out_of_range())
    }
}

/// `interval / divisor`, rounded to the nearest microsecond.
pub fn div_interval(interval: i64, divisor: f64) -> Result<i64> {
    if divisor == 0.0 {
        return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
    }
    let quotient = (interval as f64 / divisor).round_ties_even();
    if (i64::MIN as f64..-(i64::MIN as f64)).contains(&quotient) {
        Ok(quotient as i64)
    } else {
        Err(interval_out_of_range())
    }
}

fn exact_whole(x: f64) -> Option<i64> {
    (x.fract() == 0.0 && x.abs() < 9.0e15).then_some(x as i64)
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a [u8],
    total: i64,
    /// Units already given; PostgreSQL refuses one twice.
    seen: u32,
}

/// Reads an interval.
pub fn parse_interval(text: &str) -> Result<i64> {
    let trimmed = text_io::trim(text);
    let mut reader = Reader { text, rest: trimmed.as_bytes(), total: 0, seen: 0 };
    match reader.rest {
        [] => return Err(reader.invalid()),
        [b'P', rest @ ..] => {
            reader.rest = rest;
            reader.iso()?;
            return Ok(reader.total);
        }
        _ => {}
    }
    let mut ago = false;
    let mut anything = false;
    loop {
        reader.skip_blanks();
        match reader.rest.first() {
            None => break,
            Some(b'@') if !anything => {
                reader.rest = &reader.rest[1..];
                continue;
            }
            Some(b) if b.is_ascii_alphabetic() => {
                let word = reader.word();
                if word == "ago" && anything && !ago {
                    ago = true;
                    continue;
                }
                return Err(reader.invalid());
            }
            Some(_) if ago => return Err(reader.invalid()),
            Some(_) => reader.quantity()?,
        }
        anything = true;
    }
    if !anything {
        return Err(reader.invalid());
    }
    if ago { reader.total.checked_neg().ok_or_else(|| reader.field_overflow()) } else { Ok(reader.total) }
}

impl Reader<'_> {
    #[cold]
    fn invalid(&self) -> Error {
        Error::new(
            SqlState::INVALID_DATETIME_FORMAT,
            format!("invalid input syntax for type interval: \"{}\"", self.text),
        )
    }
    #[cold]
    fn field_overflow(&self) -> Error {
        Error::new(
            SqlState::INTERVAL_FIELD_OVERFLOW,
            format!("interval field value out of range: \"{}\"", self.text),
        )
    }

    fn skip_blanks(&mut self) {
        let before = self.rest.len();
        while let [b, rest @ ..] = self.rest
            && (text_io::is_space(*b) || *b == b',')
        {
            self.rest = rest;
        }
        watch::count(before - self.rest.len());
    }

    fn word(&mut self) -> String {
        let end = self.rest.iter().position(|b| !b.is_ascii_alphabetic()).unwrap_or(self.rest.len());
        watch::count(end);
        let word = String::from_utf8_lossy(&self.rest[..end]).to_ascii_lowercase();
        self.rest = &self.rest[end..];
        word
    }

    fn sign(&mut self) -> bool {
        let negative = self.rest.first() == Some(&b'-');
        if matches!(self.rest.first(), Some(b'-' | b'+')) {
            self.rest = &self.rest[1..];
            self.skip_blanks();
        }
        negative
    }

    /// Digits with an optional fraction: whole part, and the fraction in units of 10^-9.
    fn number(&mut self) -> Result<(i64, i64)> {
        let digits = |rest: &[u8]| rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let count = digits(self.rest);
        let (whole, rest) = self.rest.split_at(count);
        let mut fraction: &[u8] = b"";
        self.rest = rest;
        if let [b'.', rest @ ..] = rest {
            let (digits, rest) = rest.split_at(digits(rest));
            fraction = digits;
            self.rest = rest;
        }
        watch::count(whole.len() + fraction.len());
        if whole.is_empty() && fraction.is_empty() {
            return Err(self.invalid());
        }
        let whole = whole.iter().try_fold(0i64, |n, digit| {
            n.checked_mul(10)?
                .checked_add(i64::from(digit - b'0'))
                .filter(|n| *n <= i64::from(i32::MAX) * 1_000_000)
        });
        let nanos = (0..9).fold(0i64, |n, i| n * 10 + i64::from(fraction.get(i).map_or(0, |d| d - b'0')));
        Ok((whole.ok_or_else(|| self.field_overflow())?, nanos))
    }

    fn add(&mut self, negative: bool, whole: i64, nanos: i64, unit: i64) -> Result<()> {
        let part = whole.checked_mul(unit);
        let billionths = i128::from(nanos) * i128::from(unit);
        let (floor, rest) = (billionths / 1_000_000_000, billionths % 1_000_000_000);
        let up = rest > 500_000_000 || rest == 500_000_000 && floor % 2 == 1;
        let fraction = floor as i64 + i64::from(up);
        let amount = part.and_then(|p| p.checked_add(fraction));
        let total =
            amount.and_then(|a| if negative { self.total.checked_sub(a) } else { self.total.checked_add(a) });
        self.total = total.ok_or_else(|| self.field_overflow())?;
        Ok(())
    }

    fn quantity(&mut self) -> Result<()> {
        let negative = self.sign();
        let (whole, nanos) = self.number()?;
        if self.rest.first() == Some(&b':') {
            return self.time(negative, whole, nanos);
        }
        self.skip_blanks();
        if self.rest.is_empty() {
            self.once(if nanos != 0 { UNIT_SECONDS } else { UNIT_SECOND })?;
            return self.add(negative, whole, nanos, MICROS_PER_SECOND);
        }
        if self.rest.first() == Some(&b'-') && nanos == 0 {
            // `1-2`: years and months.
            return Err(months());
        }
        let word = self.word();
        let (unit, bit) = unit(&word)?.ok_or_else(|| self.invalid())?;
        self.once(if bit == UNIT_SECOND && nanos != 0 { UNIT_SECONDS } else { bit })?;
        self.add(negative, whole, nanos, unit)
    }

    fn once(&mut self, unit: u32) -> Result<()> {
        if self.seen & unit != 0 {
            return Err(self.invalid());
        }
        self.seen |= unit;
        Ok(())
    }

    /// `:MM[:SS[.f]]` behind the hours; with a fraction behind the second number, `MM:SS.f`.
    fn time(&mut self, negative: bool, first: i64, first_nanos: i64) -> Result<()> {
        if first_nanos != 0 {
            return Err(self.invalid());
        }
        self.once(UNIT_HOUR | UNIT_MINUTE | UNIT_SECONDS)?;
        self.rest = &self.rest[1..];
        let (second, nanos) = self.number()?;
        let (hours, minutes, seconds, nanos) = if let [b':', rest @ ..] = self.rest {
            if nanos != 0 {
                return Err(self.invalid());
            }
            self.rest = rest;
            let (third, nanos) = self.number()?;
            (first, second, third, nanos)
        } else if nanos != 0 {
            (0, first, second, nanos)
        } else {
            (first, second, 0, 0)
        };
        if self.rest.first().is_some_and(|b| !text_io::is_space(*b)) {
            return Err(self.invalid());
        }
        if minutes > 59 || seconds > 60 || (seconds == 60 && nanos > 0) {
            return Err(self.field_overflow());
        }
        self.add(negative, hours, 0, MICROS_PER_HOUR)?;
        self.add(negative, minutes, 0, MICROS_PER_MINUTE)?;
        self.add(negative, seconds, nanos, MICROS_PER_SECOND)
    }

    /// The part of an ISO 8601 duration behind `P`.
    fn iso(&mut self) -> Result<()> {
        let mut in_time = false;
        let mut anything = false;
        while let Some(first) = self.rest.first() {
            if *first == b'T' && !in_time {
                in_time = true;
                self.rest = &self.rest[1..];
                continue;
            }
            let negative = self.sign();
            let (whole, nanos) = self.number()?;
            let Some((designator, rest)) = self.rest.split_first() else { return Err(self.invalid()) };
            self.rest = rest;
            let unit = match (designator, in_time) {
                (b'W', false) => 7 * MICROS_PER_DAY,
                (b'D', false) => MICROS_PER_DAY,
                (b'H', true) => MICROS_PER_HOUR,
                (b'M', true) => MICROS_PER_MINUTE,
                (b'S', true) => MICROS_PER_SECOND,
                (b'Y' | b'M', false) if whole == 0 && nanos == 0 => 0,
                (b'Y' | b'M', false) => return Err(months()),
                _ => return Err(self.invalid()),
            };
            self.add(negative, whole, nanos, unit)?;
            anything = true;
        }
        if anything { Ok(()) } else { Err(self.invalid()) }
    }
}

#[cold]
fn months() -> Error {
    Error::unsupported(
        "intervals of months or years are not supported",
        "Use days, or compute the date with make_date.",
    )
}

const UNIT_SECOND: u32 = 1;
const UNIT_MINUTE: u32 = 2;
const UNIT_HOUR: u32 = 4;
const UNIT_MICROSECOND: u32 = 8;
const UNIT_MILLISECOND: u32 = 16;
/// Seconds with a fraction: the units below are given as well.
const UNIT_SECONDS: u32 = UNIT_SECOND | UNIT_MICROSECOND | UNIT_MILLISECOND;

/// Microseconds of a unit, and its bit.
fn unit(word: &str) -> Result<Option<(i64, u32)>> {
    Ok(Some(match word {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecond" | "microseconds" => {
            (1, UNIT_MICROSECOND)
        }
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecond" | "milliseconds" => {
            (1_000, UNIT_MILLISECOND)
        }
        "s" | "sec" | "secs" | "second" | "seconds" => (MICROS_PER_SECOND, UNIT_SECOND),
        "m" | "min" | "mins" | "minute" | "minutes" => (MICROS_PER_MINUTE, UNIT_MINUTE),
        "h" | "hr" | "hrs" | "hour" | "hours" => (MICROS_PER_HOUR, UNIT_HOUR),
        "d" | "day" | "days" => (MICROS_PER_DAY, 32),
        "w" | "week" | "weeks" => (7 * MICROS_PER_DAY, 64),
        "mon" | "mons" | "month" | "months" | "y" | "yr" | "yrs" | "year" | "years" | "qtr" | "quarter"
        | "dec" | "decs" | "decade" | "decades" | "c" | "cent" | "century" | "centuries" | "mil" | "mils"
        | "millennia" | "millennium" => return Err(months()),
        _ => return Ok(None),
    }))
}
