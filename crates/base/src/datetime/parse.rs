//! Reading dates, times and timestamps.
//!
//! Accepted, as PostgreSQL does: `2024-01-31`, `2024/1/31`, `20240131`, `1/31/2024` in the order that [`DateOrder`] says,
//! `Jan 31 2024`, `31-Jan-2024`, a weekday in front, `BC` behind; a time `10:11[:12[.5]]`
//! with AM or PM, after a blank or `T`, or `allballs`; a day by its Julian number, `J2460341`; a zone `Z`, `UTC`, `+02`, `+02:30`, `-0330`, `CET`, `Europe/Zurich`; `infinity`,
//! `epoch`. Words that depend on the clock (`now`, `today`) are 0A000: a literal must mean the same in every run of a
//! procedure.

use super::style::{DateOrder, Forms};
use super::zone::Zone;
use super::{
    DATE_END, DATE_INFINITY, DATE_MIN, DATE_MINUS_INFINITY, JULIAN_OFFSET_DAYS, MICROS_PER_DAY,
    MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND, TIMESTAMP_END, TIMESTAMP_INFINITY, TIMESTAMP_MIN,
    TIMESTAMP_MINUS_INFINITY, UNIX_EPOCH_OFFSET_SECONDS, days_from_civil, days_in_month,
};
use crate::error::{Error, Result, SqlState};
use crate::{text_io, watch};
use std::sync::Arc;

/// Reads a date; a time behind it is checked and dropped.
pub fn parse_date(text: &str, order: DateOrder) -> Result<i64> {
    match read(text, "date", order)? {
        Parsed::Infinity => Ok(DATE_INFINITY),
        Parsed::MinusInfinity => Ok(DATE_MINUS_INFINITY),
        Parsed::Instant { days, .. } if (DATE_MIN..DATE_END).contains(&days) => Ok(days),
        Parsed::Instant { .. } => Err(super::out_of_range(format!("date out of range: \"{text}\""))),
    }
}

/// Reads a time of day; a date before it and a zone behind it are checked and dropped.
pub fn parse_time(text: &str, order: DateOrder) -> Result<i64> {
    match read(text, TIME, order)? {
        Parsed::Instant { time, .. } if time <= MICROS_PER_DAY => Ok(time),
        Parsed::Instant { .. } => {
            Err(super::out_of_range(format!("date/time field value out of range: \"{text}\"")))
        }
        Parsed::Infinity | Parsed::MinusInfinity => Err(Error::new(
            SqlState::INVALID_DATETIME_FORMAT,
            format!("invalid input syntax for type {TIME}: \"{text}\""),
        )),
    }
}

/// Reads a time of day with how far its clock is ahead of UTC in microseconds. A date before it says that of a zone that has
/// summers. Where the text has no zone it is `local`'s business, which is told the local timestamp if there is a date.
pub fn parse_timetz(
    text: &str,
    order: DateOrder,
    local: impl FnOnce(Option<i64>) -> Result<i64>,
) -> Result<(i64, i64)> {
    let invalid = || {
        let message = format!("invalid input syntax for type {TIMETZ}: \"{text}\"");
        Error::new(SqlState::INVALID_DATETIME_FORMAT, message)
    };
    let Parsed::Instant { days, time, at, dated } = read(text, TIMETZ, order)? else { return Err(invalid()) };
    if time > MICROS_PER_DAY {
        return Err(super::out_of_range(format!("date/time field value out of range: \"{text}\"")));
    }
    let clock = dated.then(|| days.saturating_mul(MICROS_PER_DAY).saturating_add(time));
    let offset = match at {
        None => local(clock)?,
        Some(Place::Offset(offset)) => offset,
        Some(Place::Zone(zone)) => match (zone.fixed_offset(), clock) {
            (Some(offset), _) => offset,
            (None, Some(clock)) => clock.saturating_sub(zone.to_utc(clock)?),
            (None, None) => return Err(invalid()),
        },
    };
    Ok((time, offset))
}

/// Reads a timestamp without time zone: one in the text does not count.
pub fn parse_timestamp(text: &str, order: DateOrder) -> Result<i64> {
    instant(text, read(text, "timestamp", order)?, false, None)
}

/// Reads a `timestamptz`; where no zone stands in the text, clocks are those of whoever reads.
pub fn parse_timestamptz(text: &str, forms: Forms<'_>) -> Result<i64> {
    instant(text, read(text, "timestamp with time zone", forms.styles.order)?, true, forms.zone)
}

/// The same where the text says all: its zone, or that there is no end. `None` where the zone of the session counts.
pub fn parse_whole_timestamptz(text: &str, order: DateOrder) -> Result<Option<i64>> {
    match read(text, "timestamp with time zone", order)? {
        Parsed::Instant { at: None, .. } => Ok(None),
        parsed => instant(text, parsed, true, None).map(Some),
    }
}

fn instant(text: &str, parsed: Parsed, with_zone: bool, zone: Option<&Zone>) -> Result<i64> {
    let (days, time, at) = match parsed {
        Parsed::Infinity => return Ok(TIMESTAMP_INFINITY),
        Parsed::MinusInfinity => return Ok(TIMESTAMP_MINUS_INFINITY),
        Parsed::Instant { days, time, at, .. } => (days, time, at),
    };
    let out_of_range = || super::out_of_range(format!("timestamp out of range: \"{text}\""));
    let local =
        days.checked_mul(MICROS_PER_DAY).and_then(|d| d.checked_add(time)).ok_or_else(out_of_range)?;
    let utc = match (with_zone, &at, zone) {
        (false, ..) | (true, None, None) => Some(local),
        (true, Some(Place::Offset(offset)), _) => local.checked_sub(*offset),
        (true, Some(Place::Zone(zone)), _) => zone.to_utc(local).ok(),
        (true, None, Some(zone)) => zone.to_utc(local).ok(),
    };
    utc.filter(|t| (TIMESTAMP_MIN..TIMESTAMP_END).contains(t)).ok_or_else(out_of_range)
}

/// A type of which a text needs no date.
const TIME: &str = "time";
/// The other one.
const TIMETZ: &str = "time with time zone";

/// Where a clock hangs.
#[derive(Clone)]
enum Place {
    /// So many microseconds east of UTC.
    Offset(i64),
    Zone(Arc<Zone>),
}

enum Parsed {
    Infinity,
    MinusInfinity,
    /// Day, microseconds of the day, and the zone, if the text has one.
    Instant {
        days: i64,
        time: i64,
        at: Option<Place>,
        /// Whether there is a date in the text.
        dated: bool,
    },
}

struct Fields<'a> {
    text: &'a str,
    ty: &'a str,
    order: DateOrder,
    /// Day number, once known.
    days: Option<i64>,
    /// Parts of a date given by separate words: `Jan 5 2024`.
    month: Option<u32>,
    numbers: Vec<&'a str>,
    before_christ: bool,
    time: Option<i64>,
    /// 12 hours are to be added (`Some(true)` is PM).
    afternoon: Option<bool>,
    at: Option<Place>,
}

fn read(text: &str, ty: &str, order: DateOrder) -> Result<Parsed> {
    let trimmed = text_io::trim(text);
    match trimmed.to_ascii_lowercase().as_str() {
        "infinity" | "+infinity" => return Ok(Parsed::Infinity),
        "-infinity" => return Ok(Parsed::MinusInfinity),
        "epoch" => {
            let days = -UNIX_EPOCH_OFFSET_SECONDS / 86_400;
            return Ok(Parsed::Instant { days, time: 0, at: Some(Place::Offset(0)), dated: true });
        }
        "allballs" if is_time(ty) => {
            return Ok(Parsed::Instant { days: 0, time: 0, at: Some(Place::Offset(0)), dated: false });
        }
        "now" | "today" | "tomorrow" | "yesterday" => {
            return Err(Error::unsupported(
                format!("the word \"{trimmed}\" is not supported as a constant of type {ty}"),
                "Use now() or current_date.",
            ));
        }
        _ => {}
    }
    let mut fields = Fields {
        text,
        ty,
        order,
        days: None,
        month: None,
        numbers: Vec::new(),
        // Most often at the end of the text, but it decides the leap day and how short years are read.
        before_christ: is_before_christ(trimmed),
        time: None,
        afternoon: None,
        at: None,
    };
    for token in trimmed.split(|c: char| c.is_ascii() && super::separates(c as u8)) {
        let mut rest = token;
        while let Some(at) = separator(rest) {
            fields.token(&rest[..at])?;
            rest = &rest[at + 1..];
        }
        if !rest.is_empty() {
            fields.token(rest)?;
        }
    }
    fields.finish()
}

/// Whether there is a `BC` in the text.
fn is_before_christ(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = |text: &[u8]| text.last_chunk::<2>().is_some_and(|end| end.eq_ignore_ascii_case(b"bc"));
    ends(bytes) || bytes.windows(3).any(|w| ends(&w[..2]) && text_io::is_space(w[2]))
}

/// Whether digits of a time have nothing but a zone behind them, as in `040506-08`.
fn is_compact_clock(token: &str) -> bool {
    let digits = token.bytes().take_while(u8::is_ascii_digit).count();
    let rest = &token.as_bytes()[digits..];
    let fraction = match rest {
        [b'.', rest @ ..] if digits == 6 => rest.iter().take_while(|b| b.is_ascii_digit()).count() + 1,
        _ => 0,
    };
    let zone = &rest[fraction..];
    let is_zone =
        matches!(zone, [b'+' | b'-', zone @ ..] if zone.iter().all(|b| b.is_ascii_digit() || *b == b':'));
    matches!(digits, 4 | 6) && (is_zone || fraction > 1 && zone.is_empty())
}

/// Whether digits behind a `T` are hours, minutes and seconds, before what an ISO time may have behind it.
fn is_compact_time(clock: &[u8]) -> bool {
    let digits = clock.iter().take_while(|b| b.is_ascii_digit()).count();
    matches!(digits, 4 | 6) && !clock.contains(&b':')
}

/// Whether a text of the type needs no date.
fn is_time(ty: &str) -> bool {
    ty == TIME || ty == TIMETZ
}

/// Where a `T` between digits separates date and time.
fn separator(token: &str) -> Option<usize> {
    let bytes = token.as_bytes();
    let at = bytes
        .windows(3)
        .position(|w| w[0].is_ascii_digit() && matches!(w[1], b'T' | b't') && w[2].is_ascii_digit());
    watch::count(at.unwrap_or(bytes.len()));
    at.map(|at| at + 1)
}

impl<'a> Fields<'a> {
    #[cold]
    fn invalid(&self) -> Error {
        Error::new(
            SqlState::INVALID_DATETIME_FORMAT,
            format!("invalid input syntax for type {}: \"{}\"", self.ty, self.text),
        )
    }
    #[cold]
    fn field_overflow(&self) -> Error {
        super::out_of_range(format!("date/time field value out of range: \"{}\"", self.text))
    }
    #[cold]
    fn month_or_day_overflow(&self) -> Error {
        self.field_overflow().with_hint("Perhaps you need a different \"datestyle\" setting.")
    }

    fn token(&mut self, token: &'a str) -> Result<()> {
        watch::count(token.len());
        let bytes = token.as_bytes();
        // A zone may stand behind a date without a clock, too: drivers send `2026-11-22 +00` for a date.
        if matches!(bytes[0], b'+' | b'-') {
            return self.zone(token);
        }
        if let Some(at) = token.find('+').filter(|_| bytes[0].is_ascii_digit() && !self.has_date()) {
            self.token(&token[..at])?;
            return self.zone(&token[at..]);
        }
        // `2024-01-01Z`: a zone directly behind a date.
        if let [.., b'0'..=b'9', b'Z' | b'z'] = bytes
            && bytes[0].is_ascii_digit()
            && !token.contains(':')
            && !self.has_date()
            && !is_time(self.ty)
        {
            let (date, zone) = token.split_at(token.len() - 1);
            self.token(date)?;
            return self.zone(zone);
        }
        if let [b'T' | b't', clock @ ..] = bytes
            && is_compact_time(clock)
            && (self.has_date() || is_time(self.ty))
        {
            return self.compact_clock(&token[1..]);
        }
        if token.contains(':') {
            return self.clock(token.trim_start_matches(['T', 't']));
        }
        if bytes[0].is_ascii_alphabetic() {
            let dated = token.contains(['-', '/']) && token.contains(|c: char| c.is_ascii_digit());
            return if dated && month_by_name(&token[..3.min(token.len())].to_ascii_lowercase()).is_some() {
                self.date(token)
            } else {
                self.word(token)
            };
        }
        if !bytes[0].is_ascii_digit() {
            return Err(self.invalid());
        }
        if token.bytes().all(|b| b.is_ascii_digit()) {
            return self.digits(token);
        }
        let clock = self.has_date() || is_time(self.ty) && is_compact_clock(token);
        if clock && self.time.is_none() { self.compact_clock(token) } else { self.date(token) }
    }

    /// Whether the date is complete, by one word or several.
    fn has_date(&self) -> bool {
        self.days.is_some() || self.month.is_some() && self.numbers.len() == 2 || self.numbers.len() == 3
    }

    /// A number without separators: a compact date, a compact time behind a date, or a part.
    fn digits(&mut self, token: &'a str) -> Result<()> {
        let number = |text: &str| text.parse::<i64>().unwrap_or(i64::MAX);
        match token.len() {
            4 | 6 if is_time(self.ty) && self.time.is_none() => self.compact_clock(token),
            length @ (6 | 8..) if self.days.is_none() && self.numbers.is_empty() && self.month.is_none() => {
                let (year, month) = (&token[..length - 4], &token[length - 4..length - 2]);
                let year = if length == 6 { self.short_year(number(year)) } else { number(year) };
                self.set_day(year, number(month), number(&token[length - 2..]))
            }
            4 | 6 if self.has_date() && self.time.is_none() => self.compact_clock(token),
            _ if self.days.is_none() && self.numbers.len() < 3 - usize::from(self.month.is_some()) => {
                self.numbers.push(token);
                Ok(())
            }
            _ => Err(self.invalid()),
        }
    }

    fn compact_clock(&mut self, token: &str) -> Result<()> {
        let (clock, zone) = split_zone(token);
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
        let number = |text: &str| text.parse::<i64>().map_err(|_| self.invalid());
        let (hour, minute, second) = match clock.len() {
            2 => (number(clock)?, 0, 0),
            4 => (number(&clock[..2])?, number(&clock[2..])?, 0),
            6 => (number(&clock[..2])?, number(&clock[2..4])?, number(&clock[4..])?),
            _ => return Err(self.invalid()),
        };
        self.set_time(hour, minute, second, 0)?;
        self.add_fraction(fraction)?;
        self.behind_clock(zone)
    }

    fn word(&mut self, token: &str) -> Result<()> {
        let word = token.to_ascii_lowercase();
        // A day by its Julian number, a zone directly behind it.
        if let Some(text) = word.strip_prefix('j').filter(|_| !is_time(self.ty)) {
            let (number, zone) = text.split_at(text.find(['+', '-']).unwrap_or(text.len()));
            if let Some(number) = number.parse::<i32>().ok().filter(|n| *n >= 0) {
                if self.has_date() {
                    return Err(self.invalid());
                }
                self.days = Some(i64::from(number) - JULIAN_OFFSET_DAYS);
                return if zone.is_empty() { Ok(()) } else { self.zone(zone) };
            }
        }
        if let Some((year, month, day)) = spelled_out(&word) {
            if self.has_date() {
                return Err(self.invalid());
            }
            return self.set_day(year, month, day);
        }
        if let Some(month) = month_by_name(&word) {
            if self.month.is_some() || self.days.is_some() {
                return Err(self.invalid());
            }
            self.month = Some(month);
            return Ok(());
        }
        match word.as_str() {
            "bc" | "ad" => {} // known from the start
            "allballs" if self.time.is_none() && self.at.is_none() => {
                (self.time, self.at) = (Some(0), Some(Place::Offset(0)));
            }
            "am" | "pm" => self.afternoon = Some(word == "pm"),
            "sun" | "sunday" | "mon" | "monday" | "tue" | "tues" | "tuesday" | "wed" | "weds"
            | "wednesday" | "thu" | "thur" | "thurs" | "thursday" | "fri" | "friday" | "sat" | "saturday" => {
            }
            _ => return self.zone(token),
        }
        Ok(())
    }

    /// A date with separators.
    fn date(&mut self, token: &str) -> Result<()> {
        if self.days.is_some() {
            return Err(self.invalid());
        }
        let parts: Vec<&str> = token.split(['-', '/', '.']).collect();
        let [first, second, third] = parts[..] else { return self.day_of_year(&parts) };
        let number = |text: &str| -> Result<i64> {
            if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
                return Err(self.invalid());
            }
            Ok(text.parse().unwrap_or(i64::MAX))
        };
        let name = |text: &str| month_by_name(&text.to_ascii_lowercase());
        let year = |text: &str| -> Result<i64> {
            let year = number(text)?;
            Ok(if text.len() <= 2 { self.short_year(year) } else { year })
        };
        let (year, month, day) = if let Some(month) = name(second) {
            let (of_year, day) = self.year_and_day(first, third);
            (year(of_year)?, i64::from(month), number(day)?)
        } else if let Some(month) = name(first) {
            let (of_year, day) = self.year_and_day(second, third);
            (year(of_year)?, i64::from(month), number(day)?)
        } else if first.len() >= 3 || self.order == DateOrder::Ymd {
            (year(first)?, number(second)?, number(third)?)
        } else if self.order == DateOrder::Dmy {
            (year(third)?, number(second)?, number(first)?)
        } else {
            (year(third)?, number(first)?, number(second)?)
        };
        self.set_day(year, month, day)
    }

    /// Which of the numbers beside a month with a name is the year, and which the day.
    fn year_and_day<'t>(&self, first: &'t str, second: &'t str) -> (&'t str, &'t str) {
        // 31-Jan-2024 is one in any order.
        let year_first = self.order == DateOrder::Ymd && second.len() < 3;
        if first.len() >= 3 || year_first { (first, second) } else { (second, first) }
    }

    /// `2024.005`, `2024-005`: the day of the year.
    fn day_of_year(&mut self, parts: &[&str]) -> Result<()> {
        let [year, day] = parts else { return Err(self.invalid()) };
        if year.len() < 4 || day.len() != 3 {
            return Err(self.invalid());
        }
        let (Ok(year), Ok(day)) = (year.parse::<i64>(), day.parse::<i64>()) else {
            return Err(self.invalid());
        };
        let length = 337 + i64::from(days_in_month(year, 2));
        if !(1..=length).contains(&day) || !(1..=5_874_898).contains(&year) {
            return Err(self.field_overflow());
        }
        self.days = Some(days_from_civil(year, 1, 1) + day - 1);
        Ok(())
    }

    /// A year of two digits is one of 1970 to 2069.
    fn short_year(&self, year: i64) -> i64 {
        match year {
            _ if self.before_christ => year,
            0..70 => 2000 + year,
            70..100 => 1900 + year,
            _ => year,
        }
    }

    fn set_day(&mut self, year: i64, month: i64, day: i64) -> Result<()> {
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return Err(self.month_or_day_overflow());
        }
        if year == 0 {
            return Err(self.field_overflow());
        }
        let astronomical = if self.before_christ { 1 - year } else { year };
        if day > i64::from(days_in_month(astronomical, month as u32)) {
            return Err(self.field_overflow());
        }
        // Far beyond both ranges, and safe to compute with.
        let astronomical = astronomical.clamp(-10_000_000, 10_000_000);
        self.days = Some(days_from_civil(astronomical, month as u32, day as u32));
        Ok(())
    }

    fn set_time(&mut self, hour: i64, minute: i64, second: i64, micros: i64) -> Result<()> {
        if self.time.is_some() {
            return Err(self.invalid());
        }
        let end_of_day = hour == 24 && minute == 0 && second == 0 && micros == 0;
        let leap_second = second == 60 && micros == 0;
        if minute > 59 || (second > 59 && !leap_second) || (hour > 23 && !end_of_day) {
            return Err(self.field_overflow());
        }
        self.time =
            Some(hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + second * MICROS_PER_SECOND + micros);
        Ok(())
    }

    /// `10:11[:12[.5]]` with AM, PM or a zone directly behind.
    fn clock(&mut self, token: &str) -> Result<()> {
        let (clock, zone) = split_zone(token);
        let mut parts = clock.split(':');
        let mut number = |required: bool| -> Result<&str> {
            match parts.next() {
                Some(text) if !text.is_empty() => Ok(text),
                None if !required => Ok("0"),
                _ => Err(self.invalid()),
            }
        };
        let (hour, minute, second) = (number(true)?, number(true)?, number(false)?);
        if parts.next().is_some() {
            return Err(self.invalid());
        }
        let (second, fraction) = second.split_once('.').unwrap_or((second, ""));
        let whole = |text: &str| -> Result<i64> {
            if text.len() > 2 || !text.bytes().all(|b| b.is_ascii_digit()) {
                return Err(self.invalid());
            }
            text.parse().map_err(|_| self.invalid())
        };
        let (hour, minute, second) = (whole(hour)?, whole(minute)?, whole(second)?);
        self.set_time(hour, minute, second, 0)?;
        self.add_fraction(fraction)?;
        self.behind_clock(zone)
    }

    /// Digits behind a dot, of a second.
    fn add_fraction(&mut self, digits: &str) -> Result<()> {
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(self.invalid());
        }
        let micros = format!("0.{digits}0").parse::<f64>().map_err(|_| self.invalid())? * 1e6;
        self.time = self.time.map(|t| t + micros.round_ties_even() as i64);
        Ok(())
    }

    fn behind_clock(&mut self, text: &str) -> Result<()> {
        match text.to_ascii_lowercase().as_str() {
            "" => Ok(()),
            "am" => self.word("am"),
            "pm" => self.word("pm"),
            _ => self.zone(text),
        }
    }

    fn zone(&mut self, token: &str) -> Result<()> {
        if self.at.is_some() {
            return Err(self.invalid());
        }
        self.at = Some(match token.as_bytes().first() {
            Some(b'+' | b'-') => Place::Offset(self.numeric_offset(&token.to_ascii_lowercase())?),
            _ if token.eq_ignore_ascii_case("utc") || token.eq_ignore_ascii_case("z") => Place::Offset(0),
            Some(first) if first.is_ascii_alphabetic() => {
                let unknown = || match token.contains('/') {
                    true => Error::new(
                        SqlState::INVALID_PARAMETER_VALUE,
                        format!("time zone \"{}\" not recognized", token.to_ascii_lowercase()),
                    ),
                    false => self.invalid(),
                };
                Place::Zone(Zone::find(token).map_err(|_| unknown())?)
            }
            _ => return Err(self.invalid()),
        });
        Ok(())
    }

    fn numeric_offset(&self, word: &str) -> Result<i64> {
        let (sign, digits) = match word.as_bytes() {
            [b'+', ..] => (1, &word[1..]),
            [b'-', ..] => (-1, &word[1..]),
            _ => return Err(self.invalid()),
        };
        let number = |text: &str| -> Result<i64> {
            if text.is_empty() || text.len() > 2 || !text.bytes().all(|b| b.is_ascii_digit()) {
                return Err(self.invalid());
            }
            text.parse().map_err(|_| self.invalid())
        };
        let (hours, minutes, seconds) = if digits.contains(':') {
            let mut parts = digits.split(':');
            let parts = [parts.next(), parts.next(), parts.next()];
            let part = |at: usize| parts[at].map_or(Ok(0), number);
            (part(0)?, part(1)?, part(2)?)
        } else {
            match digits.len() {
                1 | 2 => (number(digits)?, 0, 0),
                3 | 4 => {
                    let split = digits.len() - 2;
                    if !digits.is_ascii() {
                        return Err(self.invalid());
                    }
                    (number(&digits[..split])?, number(&digits[split..])?, 0)
                }
                _ => return Err(self.invalid()),
            }
        };
        if hours > 15 || minutes > 59 || seconds > 59 {
            return Err(Error::new(
                SqlState::new("22009"),
                format!("time zone displacement out of range: \"{}\"", self.text),
            ));
        }
        Ok(sign * (hours * MICROS_PER_HOUR + minutes * MICROS_PER_MINUTE + seconds * MICROS_PER_SECOND))
    }

    fn finish(mut self) -> Result<Parsed> {
        let dated = self.days.is_some() || self.month.is_some() || !self.numbers.is_empty();
        if is_time(self.ty) {
            if self.time.is_none() {
                return Err(self.invalid());
            }
            if !dated {
                self.days = Some(0);
            }
        }
        if self.days.is_none() {
            self.days_by_words()?;
        } else if self.month.is_some() || !self.numbers.is_empty() {
            return Err(self.invalid());
        }
        let days = self.days.ok_or_else(|| self.invalid())?;
        let mut time = self.time.unwrap_or(0);
        if let Some(afternoon) = self.afternoon {
            let hour = time / MICROS_PER_HOUR;
            if self.time.is_none() {
                return Err(self.invalid());
            }
            if hour > 12 {
                return Err(self.field_overflow());
            }
            time += match (afternoon, hour) {
                (true, 12) | (false, 0..12) => 0,
                (true, _) => 12 * MICROS_PER_HOUR,
                (false, _) => -12 * MICROS_PER_HOUR,
            };
        }
        Ok(Parsed::Instant { days, time, at: self.at, dated })
    }

    /// `Jan 5 2024`, `5 Jan 2024`, `1 5 2024`.
    fn days_by_words(&mut self) -> Result<()> {
        if let (None, [a, b, c]) = (self.month, &self.numbers[..]) {
            let date = format!("{a}/{b}/{c}");
            return self.date(&date);
        }
        let (Some(month), [a, b]) = (self.month, &self.numbers[..]) else {
            return Err(self.invalid());
        };
        let (year, day) = self.year_and_day(a, b);
        let number = |text: &str| text.parse::<i64>().unwrap_or(i64::MAX);
        let full = if year.len() <= 2 { self.short_year(number(year)) } else { number(year) };
        self.set_day(full, i64::from(month), number(day))
    }
}

/// `y2001m02d04`
fn spelled_out(word: &str) -> Option<(i64, i64, i64)> {
    let (year, rest) = word.strip_prefix('y')?.split_once('m')?;
    let (month, day) = rest.split_once('d')?;
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    Some((number(year)?, number(month)?, number(day)?))
}

/// Separates a clock from the zone or AM/PM directly behind it.
fn split_zone(token: &str) -> (&str, &str) {
    let end = token.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.')).unwrap_or(token.len());
    token.split_at(end)
}

fn month_by_name(word: &str) -> Option<u32> {
    let at = super::to_char::MONTHS.iter().position(|m| {
        let name = m.to_ascii_lowercase();
        word == name || word == &name[..3] || (word == "sept" && name.starts_with("sep"))
    })?;
    Some(at as u32 + 1)
}

const _: () = assert!(JULIAN_OFFSET_DAYS == -DATE_MIN, "dates start at Julian day 0");
