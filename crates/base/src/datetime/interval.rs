//! Intervals: months, days and microseconds, which nothing mixes but what is asked to.
//!
//! Read: quantities with units (`1 year 2 months`, `1d2h`, `90 sec`), `Y-M`, `HH:MM[:SS[.f]]`, a bare number of
//! seconds at the end or of days before a time, `ago`, and ISO 8601 durations (`P1Y2M3DT4H`). Printed in each
//! [`IntervalForm`].

use super::fields::IntervalFields;
use super::style::{IntervalForm, Styles};
use super::{
    MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, format, interval_out_of_range,
};
use crate::error::{Error, Result, SqlState};
use crate::{text_io, watch};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::io::Write;

const DAYS_PER_MONTH: i32 = 30;
const SECONDS_PER_DAY: f64 = 86_400.0;

/// An interval. Equal in SQL is what [`Interval::compare`] finds equal: `1 mon` and `30 days`; equal here is what is printed
/// alike.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Interval {
    /// Months, 12 a year.
    pub months: i32,
    /// Days, of whatever length.
    pub days: i32,
    /// The rest.
    pub micros: i64,
}

impl Interval {
    /// Without what is shorter than the last of some fields, and without years and months where none of them is one.
    #[must_use]
    pub const fn cut(self, fields: IntervalFields) -> Interval {
        use IntervalFields::*;
        let Interval { months, days, micros } = self;
        match fields {
            Year => Interval { months: months - months % 12, days: 0, micros: 0 },
            Month | YearToMonth => Interval { months, days: 0, micros: 0 },
            Day => Interval { months, days, micros: 0 },
            Hour | DayToHour => Interval { months, days, micros: micros - micros % MICROS_PER_HOUR },
            Minute | DayToMinute | HourToMinute => {
                Interval { months, days, micros: micros - micros % MICROS_PER_MINUTE }
            }
            Second | DayToSecond | HourToSecond | MinuteToSecond => self,
        }
    }
    /// With so many digits of a fraction of a second: `interval(3)`.
    #[must_use]
    pub const fn rounded(self, digits: u8) -> Interval {
        Interval { micros: super::round_seconds(self.micros, digits), ..self }
    }
    /// No time at all.
    pub const ZERO: Interval = Interval { months: 0, days: 0, micros: 0 };

    /// A length of time in microseconds, its days of 24 hours apart: as versions of before kept intervals.
    pub const fn of_micros(micros: i64) -> Interval {
        // 2^63 microseconds are some 107 million days.
        let days = (micros / MICROS_PER_DAY) as i32;
        Interval { months: 0, days, micros: micros % MICROS_PER_DAY }
    }

    /// Microseconds, for what orders intervals: a month has 30 days, a day 24 hours.
    pub const fn span(self) -> i128 {
        let days = self.months as i128 * DAYS_PER_MONTH as i128 + self.days as i128;
        days * MICROS_PER_DAY as i128 + self.micros as i128
    }

    /// The order of SQL.
    pub fn compare(self, other: Interval) -> Ordering {
        self.span().cmp(&other.span())
    }

    /// `interval + interval`
    pub fn checked_add(self, other: Interval) -> Result<Interval> {
        self.parts(other, i32::checked_add, i64::checked_add)
    }

    /// `interval - interval`
    pub fn checked_sub(self, other: Interval) -> Result<Interval> {
        self.parts(other, i32::checked_sub, i64::checked_sub)
    }

    fn parts(
        self,
        other: Interval,
        short: impl Fn(i32, i32) -> Option<i32>,
        long: impl Fn(i64, i64) -> Option<i64>,
    ) -> Result<Interval> {
        let whole = || {
            Some(Interval {
                months: short(self.months, other.months)?,
                days: short(self.days, other.days)?,
                micros: long(self.micros, other.micros)?,
            })
        };
        whole().ok_or_else(interval_out_of_range)
    }

    /// `- interval`
    pub fn checked_neg(self) -> Result<Interval> {
        Interval::ZERO.checked_sub(self)
    }

    /// `interval * factor`: fractions of months and days go to the parts below.
    pub fn checked_mul(self, factor: f64) -> Result<Interval> {
        self.scaled(|part| part * factor)
    }

    /// `interval / divisor`, the same way.
    pub fn checked_div(self, divisor: f64) -> Result<Interval> {
        if divisor == 0.0 {
            return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
        }
        self.scaled(|part| part / divisor)
    }

    fn scaled(self, scale: impl Fn(f64) -> f64) -> Result<Interval> {
        let whole = |part: f64| {
            let fits = (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&part);
            fits.then_some(part as i32).ok_or_else(interval_out_of_range)
        };
        let rounded = |part: f64| (part * 1e6).round_ties_even() / 1e6;
        let (all_months, all_days) = (scale(f64::from(self.months)), scale(f64::from(self.days)));
        let (months, mut days) = (whole(all_months)?, whole(all_days)?);
        let rest_days = rounded((all_months - f64::from(months)) * f64::from(DAYS_PER_MONTH));
        let mut seconds =
            rounded((all_days - f64::from(days) + rest_days - rest_days.trunc()) * SECONDS_PER_DAY);
        let more = |days: i32, n: f64| days.checked_add(n as i32).ok_or_else(interval_out_of_range);
        if seconds.abs() >= SECONDS_PER_DAY {
            let carried = (seconds / SECONDS_PER_DAY).trunc();
            days = more(days, carried)?;
            seconds -= carried * SECONDS_PER_DAY;
        }
        days = more(days, rest_days.trunc())?;
        let micros = (scale(self.micros as f64) + seconds * 1e6).round_ties_even();
        // Both bounds are exact doubles; NaN is in no range.
        if !(i64::MIN as f64..-(i64::MIN as f64)).contains(&micros) {
            return Err(interval_out_of_range());
        }
        Ok(Interval { months, days, micros: micros as i64 })
    }

    /// Hours beyond 24 become days.
    pub fn justify_hours(self) -> Result<Interval> {
        let carried = (self.micros / MICROS_PER_DAY) as i32;
        let days = self.days.checked_add(carried).ok_or_else(interval_out_of_range)?;
        Ok(Interval { days, micros: self.micros % MICROS_PER_DAY, ..self }.alike())
    }

    /// Days beyond 30 become months.
    pub fn justify_days(self) -> Result<Interval> {
        let carried = self.days / DAYS_PER_MONTH;
        let mut months = self.months.checked_add(carried).ok_or_else(interval_out_of_range)?;
        let mut days = self.days % DAYS_PER_MONTH;
        match (months.signum(), days.signum()) {
            (1, -1) => (months, days) = (months - 1, days + DAYS_PER_MONTH),
            (-1, 1) => (months, days) = (months + 1, days - DAYS_PER_MONTH),
            _ => {}
        }
        Ok(Interval { months, days, ..self })
    }

    /// Both, with one sign for all parts.
    pub fn justify(self) -> Result<Interval> {
        let days = i64::from(self.days) + self.micros / MICROS_PER_DAY;
        let micros = self.micros % MICROS_PER_DAY;
        let month = i64::from(DAYS_PER_MONTH);
        let mut months = i64::from(self.months) + days / month;
        let mut days = days % month;
        if months > 0 && (days < 0 || days == 0 && micros < 0) {
            (months, days) = (months - 1, days + month);
        } else if months < 0 && (days > 0 || days == 0 && micros > 0) {
            (months, days) = (months + 1, days - month);
        }
        let months = i32::try_from(months).map_err(|_| interval_out_of_range())?;
        Ok(Interval { months, days: days as i32, micros }.alike())
    }

    /// With one sign for days and time, where they have two.
    fn alike(self) -> Interval {
        match (self.days.signum(), self.micros.signum()) {
            (1, -1) => Interval { days: self.days - 1, micros: self.micros + MICROS_PER_DAY, ..self },
            (-1, 1) => Interval { days: self.days + 1, micros: self.micros - MICROS_PER_DAY, ..self },
            _ => self,
        }
    }
}

/// `make_interval`
pub fn make_interval(
    [years, months, weeks, days, hours, minutes]: [i64; 6],
    seconds: f64,
) -> Result<Interval> {
    let whole = || {
        let micros = (seconds * 1e6).round_ties_even();
        if !(-9.2e18..9.2e18).contains(&micros) {
            return None;
        }
        let clock =
            hours.checked_mul(MICROS_PER_HOUR)?.checked_add(minutes.checked_mul(MICROS_PER_MINUTE)?)?;
        Some(Interval {
            // As in PostgreSQL 15, where they go round.
            months: years.wrapping_mul(12).wrapping_add(months) as i32,
            days: weeks.wrapping_mul(7).wrapping_add(days) as i32,
            micros: clock.checked_add(micros as i64)?,
        })
    };
    whole().ok_or_else(interval_out_of_range)
}

/// Appends an interval.
#[inline]
pub fn write_interval(out: &mut Vec<u8>, interval: Interval, styles: Styles) {
    match styles.intervals {
        IntervalForm::Postgres => write_postgres(out, interval),
        IntervalForm::PostgresVerbose => write_verbose(out, interval),
        IntervalForm::SqlStandard => write_sql(out, interval),
        IntervalForm::Iso8601 => write_iso(out, interval),
    }
}

/// Years, months, days, hours, minutes, seconds and microseconds, each with its sign.
fn parts(interval: Interval) -> [i64; 7] {
    let (hour, minute, second, fraction) = super::time_of_day(interval.micros);
    let [years, months] = [interval.months / 12, interval.months % 12].map(i64::from);
    [years, months, i64::from(interval.days), hour, minute, second, fraction]
}

/// `@ 1 year 2 mons`: the first part says whether it is `ago`.
#[cold]
fn write_verbose(out: &mut Vec<u8>, interval: Interval) {
    let [years, months, days, hours, minutes, second, fraction] = parts(interval);
    out.push(b'@');
    let mut ago = None;
    let named = [(years, "year"), (months, "mon"), (days, "day"), (hours, "hour"), (minutes, "min")];
    for (value, unit) in named.into_iter().filter(|(value, _)| *value != 0) {
        let shown = if *ago.get_or_insert(value < 0) { -value } else { value };
        let _ = write!(out, " {shown} {unit}{}", if shown == 1 { "" } else { "s" });
    }
    if second != 0 || fraction != 0 {
        let negative = second < 0 || fraction < 0;
        out.push(b' ');
        if *ago.get_or_insert(negative) != negative {
            out.push(b'-');
        }
        text_io::write_int(out, second.abs());
        format::write_fraction(out, fraction.abs());
        out.extend_from_slice(if second.abs() != 1 || fraction != 0 { b" secs" } else { b" sec" });
    }
    match ago {
        None => out.extend_from_slice(b" 0"),
        Some(true) => out.extend_from_slice(b" ago"),
        Some(false) => {}
    }
}

/// `1-2`, `3 4:05:06`; what is neither has all of it, with signs.
#[cold]
fn write_sql(out: &mut Vec<u8>, interval: Interval) {
    let all = parts(interval);
    let (negative, positive) = (all.iter().any(|n| *n < 0), all.iter().any(|n| *n > 0));
    let of_months = all[0] != 0 || all[1] != 0;
    let of_days = all[2..].iter().any(|n| *n != 0);
    let standard = !(negative && positive || of_months && of_days);
    let [years, months, days, hours, minutes, second, fraction] = all.map(i64::abs);
    let clock = |out: &mut Vec<u8>| {
        let _ = write!(out, "{hours}:{minutes:02}:{second:02}");
        format::write_fraction(out, fraction);
    };
    if !negative && !positive {
        out.push(b'0');
    } else if !standard {
        let sign = |negative| if negative { '-' } else { '+' };
        let [of_months, of_days] = [all[0] < 0 || all[1] < 0, all[2] < 0].map(sign);
        let of_clock = sign(all[3..].iter().any(|n| *n < 0));
        let _ = write!(out, "{of_months}{years}-{months} {of_days}{days} {of_clock}");
        clock(out);
    } else {
        if negative {
            out.push(b'-');
        }
        if of_months {
            let _ = write!(out, "{years}-{months}");
            return;
        }
        if days != 0 {
            let _ = write!(out, "{days} ");
        }
        clock(out);
    }
}

/// `P1Y2M3DT4H5M6S`
#[cold]
fn write_iso(out: &mut Vec<u8>, interval: Interval) {
    if interval == Interval::ZERO {
        return out.extend_from_slice(b"PT0S");
    }
    let [years, months, days, hours, minutes, second, fraction] = parts(interval);
    out.push(b'P');
    let part = |out: &mut Vec<u8>, value: i64, unit: char| {
        if value != 0 {
            let _ = write!(out, "{value}{unit}");
        }
    };
    part(out, years, 'Y');
    part(out, months, 'M');
    part(out, days, 'D');
    if interval.micros != 0 {
        out.push(b'T');
    }
    part(out, hours, 'H');
    part(out, minutes, 'M');
    if second != 0 || fraction != 0 {
        if interval.micros < 0 {
            out.push(b'-');
        }
        text_io::write_int(out, second.abs());
        format::write_fraction(out, fraction.abs());
        out.push(b'S');
    }
}

/// Years, months, days, then the time, each with its sign.
fn write_postgres(out: &mut Vec<u8>, interval: Interval) {
    let (mut first, mut before) = (true, false);
    let dates = [(interval.months / 12, "year"), (interval.months % 12, "mon"), (interval.days, "day")];
    for (value, unit) in dates.into_iter().filter(|(value, _)| *value != 0) {
        let (blank, plus) = (if first { "" } else { " " }, if before && value > 0 { "+" } else { "" });
        let plural = if value == 1 { "" } else { "s" };
        let _ = write!(out, "{blank}{plus}{value} {unit}{plural}");
        (first, before) = (false, value < 0);
    }
    if first || interval.micros != 0 {
        if !first {
            out.push(b' ');
        }
        if interval.micros < 0 {
            out.push(b'-');
        } else if before {
            out.push(b'+');
        }
        format::write_clock(out, super::time_of_day(interval.micros));
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a [u8],
    months: i64,
    days: i64,
    micros: i64,
    /// Units already given; PostgreSQL refuses one twice.
    seen: u32,
    /// Signs that stand in the text, and whether one stands in front of it all.
    signs: u32,
    starts_negative: bool,
    /// One sign in front is that of all parts.
    all_negative: bool,
}

/// Reads an interval. In the form of the SQL standard a sign that stands in front, and is the only one, is that of all
/// parts.
pub fn parse_interval(text: &str, form: IntervalForm) -> Result<Interval> {
    let (interval, one_sign) = read(text, false)?;
    if form == IntervalForm::SqlStandard && one_sign {
        return read(text, true).map(|(interval, _)| interval);
    }
    Ok(interval)
}

/// The interval, and whether the only sign of its parts is a minus in front.
fn read(text: &str, all_negative: bool) -> Result<(Interval, bool)> {
    let trimmed = text_io::trim(text);
    let mut reader = Reader {
        text,
        rest: trimmed.as_bytes(),
        months: 0,
        days: 0,
        micros: 0,
        seen: 0,
        signs: 0,
        starts_negative: false,
        all_negative,
    };
    match reader.rest {
        [] => return Err(reader.invalid()),
        [b'P', rest @ ..] => {
            reader.rest = rest;
            reader.iso()?;
            return Ok((reader.whole(false)?, false));
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
            Some(first) => {
                reader.starts_negative |= !anything && *first == b'-';
                reader.signs += u32::from(matches!(first, b'-' | b'+'));
                reader.quantity()?;
            }
        }
        anything = true;
    }
    let one_sign = reader.starts_negative && reader.signs == 1;
    if anything { Ok((reader.whole(ago)?, one_sign)) } else { Err(reader.invalid()) }
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
            && super::separates(*b)
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

    /// What was read, all of it turned round for `ago`.
    fn whole(&self, ago: bool) -> Result<Interval> {
        let short = |n: i64| i32::try_from(n).map_err(|_| self.field_overflow());
        let all = Interval {
            months: i32::try_from(self.months).map_err(|_| interval_out_of_range())?,
            days: short(self.days)?,
            micros: self.micros,
        };
        if ago { all.checked_neg().map_err(|_| self.field_overflow()) } else { Ok(all) }
    }

    /// Adds a quantity: whole, and in units of 10^-9. The fraction of a unit goes to the parts below; that of years to
    /// months alone.
    fn add(&mut self, negative: bool, whole: i64, nanos: i64, unit: Unit) -> Result<()> {
        const BILLION: i128 = 1_000_000_000;
        // Half to even.
        let rounded = |billionths: i128| {
            let (floor, rest) = (billionths / BILLION, billionths % BILLION);
            let up = rest > BILLION / 2 || rest == BILLION / 2 && floor % 2 == 1;
            floor as i64 + i64::from(up)
        };
        let fraction = |of: i64| i128::from(nanos) * i128::from(of);
        // A fraction of so many days: days, and microseconds.
        let split = |of: i64| {
            let billionths = fraction(of);
            let rest = (billionths % BILLION) * i128::from(MICROS_PER_DAY);
            ((billionths / BILLION) as i64, rounded(rest))
        };
        let (months, (days, micros)) = match unit {
            Unit::Micros(n) => {
                (Some(0), (Some(0), whole.checked_mul(n).and_then(|w| w.checked_add(rounded(fraction(n))))))
            }
            Unit::Days(n) => {
                let (days, micros) = split(n);
                (Some(0), (whole.checked_mul(n).and_then(|w| w.checked_add(days)), Some(micros)))
            }
            Unit::Month => {
                let (days, micros) = split(i64::from(DAYS_PER_MONTH));
                (Some(whole), (Some(days), Some(micros)))
            }
            Unit::Years(n) => {
                let months = whole.checked_mul(12 * n).and_then(|w| w.checked_add(rounded(fraction(12 * n))));
                (months, (Some(0), Some(0)))
            }
        };
        let plus = |to: i64, part: Option<i64>| {
            part.and_then(|part| if negative { to.checked_sub(part) } else { to.checked_add(part) })
        };
        match (plus(self.months, months), plus(self.days, days), plus(self.micros, micros)) {
            (Some(months), Some(days), Some(micros)) => {
                (self.months, self.days, self.micros) = (months, days, micros);
                Ok(())
            }
            _ => Err(self.field_overflow()),
        }
    }

    fn quantity(&mut self) -> Result<()> {
        let negative = self.sign() || self.all_negative;
        let (whole, nanos) = self.number()?;
        if self.rest.first() == Some(&b':') {
            return self.time(negative, whole, nanos);
        }
        if self.rest.first() == Some(&b'-') && nanos == 0 {
            // `1-2`: years and months.
            self.rest = &self.rest[1..];
            let (months, fraction) = self.number()?;
            if self.rest.first().is_some_and(|b| !text_io::is_space(*b)) || fraction != 0 {
                return Err(self.invalid());
            }
            if months >= 12 {
                return Err(self.field_overflow());
            }
            self.once(UNIT_MONTH)?;
            self.add(negative, whole, 0, Unit::Years(1))?;
            return self.add(negative, months, 0, Unit::Month);
        }
        self.skip_blanks();
        if self.rest.is_empty() {
            self.once(if nanos != 0 { UNIT_SECONDS } else { UNIT_SECOND })?;
            return self.add(negative, whole, nanos, SECOND);
        }
        if self.time_follows() {
            self.once(UNIT_DAY)?;
            return self.add(negative, whole, nanos, Unit::Days(1));
        }
        let word = self.word();
        let (unit, bit) = unit(&word).ok_or_else(|| self.invalid())?;
        self.once(if bit == UNIT_SECOND && nanos != 0 { UNIT_SECONDS } else { bit })?;
        self.add(negative, whole, nanos, unit)
    }

    /// Whether the next word is a time: a number before it is one of days.
    fn time_follows(&self) -> bool {
        let word = self.rest.split(|b| text_io::is_space(*b)).next().unwrap_or_default();
        word.contains(&b':') && word[0].is_ascii_digit() | matches!(word[0], b'+' | b'-')
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
        self.add(negative, hours, 0, HOUR)?;
        self.add(negative, minutes, 0, MINUTE)?;
        self.add(negative, seconds, nanos, SECOND)
    }

    /// The part of an ISO 8601 duration behind `P`.
    fn iso(&mut self) -> Result<()> {
        let (mut in_time, mut first) = (false, true);
        if self.rest.is_empty() {
            return Err(self.invalid());
        }
        while let Some(b) = self.rest.first() {
            if *b == b'T' {
                (in_time, first) = (true, true);
                self.rest = &self.rest[1..];
                continue;
            }
            let begin = self.rest;
            let negative = self.sign();
            let (whole, nanos) = self.number()?;
            let digits = begin.len() - self.rest.len() - usize::from(!begin[0].is_ascii_digit());
            // The alternative forms: P00010203T040506 and P0001-02-03T04:05:06.
            match (self.rest.first(), in_time) {
                (None | Some(b'T'), false) if first && digits == 8 && nanos == 0 => {
                    self.add(negative, whole / 10_000, 0, Unit::Years(1))?;
                    self.add(negative, whole / 100 % 100, 0, Unit::Month)?;
                    self.add(negative, whole % 100, 0, Unit::Days(1))?;
                    continue;
                }
                (None | Some(b'T' | b'-'), false) if first => {
                    self.add(negative, whole, nanos, Unit::Years(1))?;
                    self.iso_rest(b'-', [Unit::Month, Unit::Days(1)])?;
                    if !matches!(self.rest.first(), None | Some(b'T')) {
                        return Err(self.invalid());
                    }
                    continue;
                }
                (None, true) if first && digits == 6 && nanos == 0 => {
                    self.add(negative, whole / 10_000, 0, HOUR)?;
                    self.add(negative, whole / 100 % 100, 0, MINUTE)?;
                    self.add(negative, whole % 100, 0, SECOND)?;
                    continue;
                }
                (None | Some(b':'), true) if first => {
                    self.add(negative, whole, nanos, HOUR)?;
                    self.iso_rest(b':', [MINUTE, SECOND])?;
                    return if self.rest.is_empty() { Ok(()) } else { Err(self.invalid()) };
                }
                _ => {}
            }
            let Some((designator, rest)) = self.rest.split_first() else { return Err(self.invalid()) };
            self.rest = rest;
            let unit = match (designator, in_time) {
                (b'Y', false) => Unit::Years(1),
                (b'M', false) => Unit::Month,
                (b'W', false) => Unit::Days(7),
                (b'D', false) => Unit::Days(1),
                (b'H', true) => HOUR,
                (b'M', true) => MINUTE,
                (b'S', true) => SECOND,
                _ => return Err(self.invalid()),
            };
            self.add(negative, whole, nanos, unit)?;
            first = false;
        }
        Ok(())
    }

    /// Up to two more numbers of an alternative form, each behind its separator.
    fn iso_rest(&mut self, separator: u8, units: [Unit; 2]) -> Result<()> {
        for unit in units {
            if self.rest.first() != Some(&separator) {
                break;
            }
            self.rest = &self.rest[1..];
            let negative = self.sign();
            let (whole, nanos) = self.number()?;
            self.add(negative, whole, nanos, unit)?;
        }
        Ok(())
    }
}

/// What a quantity counts.
#[derive(Clone, Copy)]
enum Unit {
    /// So many microseconds.
    Micros(i64),
    /// So many days.
    Days(i64),
    Month,
    /// So many years.
    Years(i64),
}

const SECOND: Unit = Unit::Micros(MICROS_PER_SECOND);
const MINUTE: Unit = Unit::Micros(MICROS_PER_MINUTE);
const HOUR: Unit = Unit::Micros(MICROS_PER_HOUR);

const UNIT_SECOND: u32 = 1;
const UNIT_MINUTE: u32 = 2;
const UNIT_HOUR: u32 = 4;
const UNIT_MICROSECOND: u32 = 8;
const UNIT_MILLISECOND: u32 = 16;
const UNIT_DAY: u32 = 32;
const UNIT_MONTH: u32 = 128;
/// Seconds with a fraction: the units below are given as well.
const UNIT_SECONDS: u32 = UNIT_SECOND | UNIT_MICROSECOND | UNIT_MILLISECOND;

/// A unit by its name, and its bit.
fn unit(word: &str) -> Option<(Unit, u32)> {
    Some(match word {
        "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecond" | "microseconds" => {
            (Unit::Micros(1), UNIT_MICROSECOND)
        }
        "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecond" | "milliseconds" => {
            (Unit::Micros(1_000), UNIT_MILLISECOND)
        }
        "s" | "sec" | "secs" | "second" | "seconds" => (SECOND, UNIT_SECOND),
        "m" | "min" | "mins" | "minute" | "minutes" => (MINUTE, UNIT_MINUTE),
        "h" | "hr" | "hrs" | "hour" | "hours" => (HOUR, UNIT_HOUR),
        "d" | "day" | "days" => (Unit::Days(1), UNIT_DAY),
        "w" | "week" | "weeks" => (Unit::Days(7), 64),
        "mon" | "mons" | "month" | "months" => (Unit::Month, UNIT_MONTH),
        "y" | "yr" | "yrs" | "year" | "years" => (Unit::Years(1), 256),
        "dec" | "decs" | "decade" | "decades" => (Unit::Years(10), 512),
        "c" | "cent" | "century" | "centuries" => (Unit::Years(100), 1024),
        "mil" | "mils" | "millennium" | "millennia" => (Unit::Years(1000), 2048),
        _ => return None,
    })
}
