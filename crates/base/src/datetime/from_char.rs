//! `to_date` and `to_timestamp` by a template.
//!
//! Before a field blanks are passed over, and a separator stands for any other, or for none; `FX` takes the text as it
//! stands. A number ends after as many digits as its pattern has letters where digits follow, else where no digits are.

use super::template::{Calendar, Field, Node, What, parse, parse_standard};
use super::to_char::{DAYS, MONTHS, ROMAN};
use super::zone::Zone;
use super::{
    DATE_END, DATE_MIN, JULIAN_OFFSET_DAYS, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE,
    MICROS_PER_SECOND, TIMESTAMP_END, TIMESTAMP_MIN, civil_from_days, days_from_civil, days_in_month,
    out_of_range, round_seconds, round_timestamp,
};
use crate::error::{Error, Result, SqlState};
use crate::{text_io, watch};

/// `to_date(text, template)`
pub fn to_date(text: &str, template: &str) -> Result<i64> {
    read(text, template)?.day(text)
}

/// `to_timestamp(text, template)`: by the clocks of `zone` where the text says no other; without one in UTC.
pub fn to_timestamp(text: &str, template: &str, zone: Option<&Zone>) -> Result<i64> {
    read(text, template)?.timestamp(zone)
}

/// A date or time that says itself what it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// A date.
    Date(i64),
    /// A time.
    Time(i64),
    /// A time, and how far its clock is ahead of UTC, in microseconds.
    TimeTz(i64, i64),
    /// A timestamp.
    Timestamp(i64),
    /// A timestamp in UTC, and how far the clock that it was read from is ahead, in microseconds.
    TimestampTz(i64, i64),
}

/// Reads a text by a template of the SQL standard, which says what it is of, and which nothing may differ from: 22007.
pub fn by_standard_template(text: &str, template: &str) -> Result<Moment> {
    watch::count(template.len());
    let nodes = parse_standard(template)?;
    let mut fields = Fields { standard: true, ..Fields::default() };
    fields.read(text, &nodes)?;
    let said = fields.said(text)?;
    let (mut dated, mut timed, mut zoned) = (false, false, false);
    for node in &nodes {
        match node {
            Node::Field(Field { what: What::Exact, .. }) => {}
            Node::Field(field) => match field.what.of_day() {
                (false, false) => dated = true,
                (time, zone) => (timed, zoned) = (timed || time, zoned || zone),
            },
            _ => {}
        }
    }
    let no_zone = |ty: &str| wrong(format!("missing time zone in input string for type {ty}"));
    let time = if said.digits == 0 { said.time } else { round_seconds(said.time, said.digits) };
    Ok(match (dated, timed, zoned) {
        (true, true, true) => {
            let offset = said.offset.ok_or_else(|| no_zone("timestamptz"))?;
            Moment::TimestampTz(said.timestamp(None)?, offset)
        }
        (true, true, false) => Moment::Timestamp(said.timestamp(None)?),
        (true, false, true) => return Err(wrong("datetime format is zoned but not timed".to_owned())),
        (true, false, false) => Moment::Date(said.day(text)?),
        (false, true, true) => Moment::TimeTz(time, said.offset.ok_or_else(|| no_zone("timetz"))?),
        (false, true, false) => Moment::Time(time),
        (false, false, _) => {
            return Err(wrong("datetime format is not dated and not timed".to_owned()));
        }
    })
}

/// What a text says by its template.
struct Said {
    /// Year (0 is 1 BC), month, day.
    date: (i64, u32, u32),
    time: i64,
    /// How far its zone is ahead of UTC, in microseconds.
    offset: Option<i64>,
    /// Digits of the fraction of a second, if the template says.
    digits: u8,
}

impl Said {
    /// The date; 22008 where it is out of range.
    fn day(&self, text: &str) -> Result<i64> {
        let (year, month, day) = self.date;
        let far = year < -4713 || year == -4713 && month < 11 || year > 5_874_897;
        let days = if far { DATE_END } else { days_from_civil(year, month, day) };
        if (DATE_MIN..DATE_END).contains(&days) {
            return Ok(days);
        }
        Err(out_of_range(format!("date out of range: \"{text}\"")))
    }

    /// The timestamp, by the clocks of `zone` where the text says no other; without one in UTC.
    fn timestamp(&self, zone: Option<&Zone>) -> Result<i64> {
        let (year, month, day) = self.date;
        let error = || out_of_range("timestamp out of range");
        if !(-5_000..300_000).contains(&year) {
            return Err(error());
        }
        let local = days_from_civil(year, month, day)
            .checked_mul(MICROS_PER_DAY)
            .and_then(|day| day.checked_add(self.time))
            .ok_or_else(error)?;
        let utc = match (self.offset, zone) {
            (Some(offset), _) => local.checked_sub(offset).ok_or_else(error)?,
            (None, Some(zone)) => zone.to_utc(local)?,
            (None, None) => local,
        };
        if !(TIMESTAMP_MIN..TIMESTAMP_END).contains(&utc) {
            return Err(error());
        }
        if self.digits == 0 { Ok(utc) } else { round_timestamp(utc, self.digits) }
    }
}

/// The fields as they are read; 0 is what has not been read.
#[derive(Default)]
struct Fields {
    /// Whether the text has to be exactly what the template says.
    standard: bool,
    calendar: Option<Calendar>,
    hour: i64,
    afternoon: i64,
    twelve: bool,
    minute: i64,
    second: i64,
    second_of_day: i64,
    /// 1 is Sunday.
    day_of_week: i64,
    day: i64,
    day_of_year: i64,
    month: i64,
    millis: i64,
    micros: i64,
    year: i64,
    /// Digits of the year that the template has.
    year_digits: usize,
    before_christ: i64,
    week: i64,
    week_of_month: i64,
    century: i64,
    julian: i64,
    digits: u8,
    zone_sign: i64,
    zone_hour: i64,
    zone_minute: i64,
}

#[cold]
fn wrong(message: String) -> Error {
    Error::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

#[cold]
fn overflow(text: &str) -> Error {
    out_of_range(format!("date/time field value out of range: \"{text}\""))
}

/// Sets a field that may have been set before, to the same value.
fn set(to: &mut i64, value: i64, field: &Field<'_>) -> Result<()> {
    if *to != 0 && *to != value {
        let name = field.name;
        return Err(wrong(format!("conflicting values for \"{name}\" field in formatting string"))
            .with_detail("This value contradicts a previous setting for the same field type."));
    }
    *to = value;
    Ok(())
}

/// A text as it is read.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at..]
    }
    fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }
    /// Passes over blanks; how many they were.
    fn blanks(&mut self) -> i64 {
        let count = self.rest().iter().take_while(|b| text_io::is_space(**b)).count();
        watch::count(count);
        self.at += count;
        count as i64
    }
    /// Passes over a character, if there is one.
    fn skip(&mut self) {
        let len = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        self.at += len;
    }

    /// A whole number in front of some bytes, blanks and sign included, and where it ends: 0 where there is none. `None`
    /// is one that no 64 bits hold.
    fn whole(bytes: &[u8]) -> (Option<i64>, usize) {
        let mut at = bytes.iter().take_while(|b| text_io::is_space(**b)).count();
        let negative = bytes.get(at) == Some(&b'-');
        at += usize::from(matches!(bytes.get(at), Some(b'-' | b'+')));
        let digits = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            return (Some(0), 0);
        }
        let value = bytes[at..at + digits]
            .iter()
            .try_fold(0i64, |n, digit| n.checked_mul(10)?.checked_add(i64::from(digit - b'0')));
        (value.map(|n| if negative { -n } else { n }), at + digits)
    }

    /// Reads a number of a field: of so many characters, if `fixed`. How many characters it took.
    fn number(&mut self, to: Option<&mut i64>, len: usize, field: &Field<'_>, fixed: bool) -> Result<i64> {
        const HINT: &str = "If your source string is not fixed-width, try using the \"FM\" modifier.";
        let (begin, name) = (self.at, field.name);
        self.blanks();
        let rest = &self.text.as_bytes()[self.at..];
        let copy = &rest[..len.min(rest.len())];
        let value = if fixed {
            let left = rest.len();
            if left < len {
                return Err(wrong(format!("source string too short for \"{name}\" formatting field"))
                    .with_detail(format!("Field requires {len} characters, but only {left} remain."))
                    .with_hint(HINT));
            }
            let (value, used) = Self::whole(copy);
            if used > 0 && used < len {
                let shown = String::from_utf8_lossy(copy);
                return Err(wrong(format!("invalid value \"{shown}\" for \"{name}\""))
                    .with_detail(format!("Field requires {len} characters, but only {used} could be parsed."))
                    .with_hint(HINT));
            }
            self.at += used;
            value
        } else {
            let (value, used) = Self::whole(&self.text.as_bytes()[begin..]);
            watch::count(used);
            self.at = begin + used;
            value
        };
        if self.at == begin {
            let shown = String::from_utf8_lossy(copy);
            return Err(wrong(format!("invalid value \"{shown}\" for \"{name}\""))
                .with_detail("Value must be an integer."));
        }
        let Some(value) = value.filter(|n| i32::try_from(*n).is_ok()) else {
            let message = format!("value for \"{name}\" in source string is out of range");
            return Err(out_of_range(message).with_detail(format!(
                "Value must be in the range {} to {}.",
                i32::MIN,
                i32::MAX
            )));
        };
        if let Some(to) = to {
            set(to, value, field)?;
        }
        Ok((self.at - begin) as i64)
    }

    /// Which of these words comes next, whatever its case: the first of them.
    fn word<'w>(&mut self, words: impl Iterator<Item = &'w str>, field: &Field<'_>) -> Result<i64> {
        for (at, word) in words.enumerate() {
            let head = self.rest().get(..word.len());
            if head.is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes())) {
                self.at += word.len();
                return Ok(at as i64);
            }
        }
        let rest = &self.text[self.at..];
        let end = rest.bytes().position(text_io::is_space).unwrap_or(rest.len());
        Err(wrong(format!("invalid value \"{}\" for \"{}\"", &rest[..end], field.name))
            .with_detail("The given value did not match any of the allowed values for this field."))
    }
}

fn read(text: &str, template: &str) -> Result<Said> {
    watch::count(template.len());
    let nodes = parse(template);
    let mut fields = Fields::default();
    fields.read(text, &nodes)?;
    fields.said(text)
}

impl Fields {
    fn read(&mut self, text: &str, nodes: &[Node<'_>]) -> Result<()> {
        let mut reader = Reader { text, at: 0 };
        let mut exact = self.standard;
        // Characters passed over beyond those of the template.
        let mut more = 0i64;
        for (i, node) in nodes.iter().enumerate() {
            if reader.peek().is_none() {
                if self.standard {
                    return Err(wrong("input string is too short for datetime format".to_owned()));
                }
                break;
            }
            let field = match node {
                Node::Field(field) => Some(field),
                _ => None,
            };
            if !exact && (i == 0 || field.is_some()) && field.is_none_or(|f| f.what != What::Exact) {
                more += reader.blanks();
            }
            let Some(field) = field else {
                match node {
                    Node::Text(c) | Node::Separator(c) | Node::Space(c) if self.standard => {
                        if !reader.text[reader.at..].starts_with(*c) {
                            let what = if let Node::Text(_) = node { "character" } else { "separator" };
                            return Err(wrong(format!("unmatched format {what} \"{c}\"")));
                        }
                        reader.skip();
                    }
                    _ if exact => reader.skip(),
                    Node::Text(_) if more > 0 => more -= 1,
                    Node::Text(_) => reader.skip(),
                    _ => {
                        more -= 1;
                        if reader.peek().is_some_and(|b| text_io::is_space(b) || b.is_ascii_punctuation()) {
                            reader.at += 1;
                            more += 1;
                        }
                    }
                }
                continue;
            };
            if field.calendar != Calendar::Any
                && *self.calendar.get_or_insert(field.calendar) != field.calendar
            {
                return Err(wrong("invalid combination of date conventions".to_owned()).with_hint(
                    "Do not mix Gregorian and ISO week date conventions in a formatting template.",
                ));
            }
            let fixed = field.fill && !ends_anywhere(field, nodes.get(i + 1));
            exact |= field.what == What::Exact;
            self.field(&mut reader, field, fixed, more)?;
            if !exact {
                more = reader.blanks();
            }
        }
        if self.standard {
            reader.blanks();
            if reader.peek().is_some() {
                let message = "trailing characters remain in input string after datetime format";
                return Err(wrong(message.to_owned()));
            }
        }
        Ok(())
    }

    fn field(&mut self, reader: &mut Reader<'_>, field: &Field<'_>, fixed: bool, more: i64) -> Result<()> {
        let width = field.name.len();
        let mut number =
            |to: &mut i64, len: usize| -> Result<i64> { reader.number(Some(to), len, field, fixed) };
        match field.what {
            What::Exact => return Ok(()),
            What::Hour | What::Hour12 => {
                number(&mut self.hour, 2)?;
                self.twelve |= field.what == What::Hour12;
            }
            What::Minute => drop(number(&mut self.minute, width)?),
            What::Second => drop(number(&mut self.second, width)?),
            What::Milliseconds => {
                // 25 is 0.25, as 250 is; 025 is 0.025.
                let len = number(&mut self.millis, 3)?;
                self.millis *= 10i64.pow(3i64.saturating_sub(len).clamp(0, 2) as u32);
            }
            What::Microseconds | What::Fraction(_) => {
                let digits = if let What::Fraction(n) = field.what { n } else { 6 };
                if field.what != What::Microseconds {
                    self.digits = digits as u8;
                }
                let len = number(&mut self.micros, digits)?;
                self.micros *= 10i64.pow(6i64.saturating_sub(len).clamp(0, 5) as u32);
            }
            What::SecondOfDay => drop(number(&mut self.second_of_day, width)?),
            What::Month => drop(number(&mut self.month, width)?),
            What::DayOfYear => drop(number(&mut self.day_of_year, width)?),
            What::IsoDayOfYear => drop(number(&mut self.day_of_year, 3)?),
            What::Day => drop(number(&mut self.day, width)?),
            What::DayOfWeek => drop(number(&mut self.day_of_week, width)?),
            What::IsoDayOfWeek => {
                number(&mut self.day_of_week, 1)?;
                // Sunday is the first day here.
                self.day_of_week = if self.day_of_week >= 7 { 1 } else { self.day_of_week + 1 };
            }
            What::Week | What::IsoWeek => drop(number(&mut self.week, width)?),
            // Which day of a quarter nobody knows.
            What::Quarter => drop(reader.number(None, width, field, fixed)?),
            What::Century => drop(number(&mut self.century, width)?),
            What::WeekOfMonth => drop(number(&mut self.week_of_month, width)?),
            What::Julian => drop(number(&mut self.julian, width)?),
            What::Year(digits) | What::IsoYear(digits) => {
                let len = number(&mut self.year, width)?;
                if digits < 4 && len < 4 {
                    self.year = near_2020(self.year);
                }
                self.year_digits = digits;
            }
            What::YearComma => {
                self.year_with_comma(reader, field)?;
                self.year_digits = 4;
            }
            What::Meridiem(_) | What::Era(_) | What::MonthName(_) | What::DayName(_) | What::Roman => {
                return self.named(reader, field);
            }
            What::OffsetHour => {
                // A minus may have been taken for a separator.
                let passed = more > 0 && reader.text.as_bytes()[reader.at - 1] == b'-';
                let sign = reader.peek();
                reader.at += usize::from(matches!(sign, Some(b'+' | b'-' | b' ')));
                self.zone_sign = match sign {
                    Some(b'-') => -1,
                    Some(b'+' | b' ') => 1,
                    _ if passed => -1,
                    _ => 1,
                };
                reader.number(Some(&mut self.zone_hour), 2, field, fixed)?;
                return Ok(());
            }
            What::OffsetMinute => {
                if self.zone_sign == 0 {
                    self.zone_sign = 1;
                }
                number(&mut self.zone_minute, 2)?;
                return Ok(());
            }
            What::Zone | What::Offset => {
                let message = format!("formatting field \"{}\" is only supported in to_char", field.name);
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
        }
        if field.ordinal.is_some() {
            reader.skip();
            reader.skip();
        }
        Ok(())
    }

    fn named(&mut self, reader: &mut Reader<'_>, field: &Field<'_>) -> Result<()> {
        let points = |long: bool, words: [&'static str; 4]| {
            if long { [words[2], words[3]] } else { [words[0], words[1]] }
        };
        match field.what {
            What::Meridiem(long) => {
                let at = reader.word(points(long, ["am", "pm", "a.m.", "p.m."]).into_iter(), field)?;
                set(&mut self.afternoon, at, field)?;
                self.twelve = true;
            }
            What::Era(long) => {
                let at = reader.word(points(long, ["ad", "bc", "a.d.", "b.c."]).into_iter(), field)?;
                set(&mut self.before_christ, at, field)?;
            }
            What::MonthName(full) => {
                let at = reader.word(MONTHS.iter().map(|m| if full { m } else { &m[..3] }), field)?;
                set(&mut self.month, at + 1, field)?;
            }
            What::DayName(full) => {
                let at = reader.word(DAYS.iter().map(|d| if full { d } else { &d[..3] }), field)?;
                set(&mut self.day_of_week, at, field)?;
                self.day_of_week += 1;
            }
            _ => {
                // From the last on: XII begins with X.
                let at = reader.word(ROMAN.iter().rev().copied(), field)?;
                set(&mut self.month, 12 - at, field)?;
            }
        }
        Ok(())
    }

    fn year_with_comma(&mut self, reader: &mut Reader<'_>, field: &Field<'_>) -> Result<()> {
        let found = |rest: &[u8]| {
            let (thousands, used) = Reader::whole(rest);
            let behind = rest.get(used..).filter(|_| used > 0)?.strip_prefix(b",")?;
            let blanks = behind.iter().take_while(|b| text_io::is_space(**b)).count();
            let part = &behind[blanks..behind.len().min(blanks + 3)];
            let (years, len) = Reader::whole(part);
            let thousands = thousands.filter(|n| i32::try_from(*n).is_ok())?;
            (len > 0).then_some((thousands * 1000 + years?, used + 1 + blanks + len))
        };
        let Some((year, used)) = found(reader.rest()) else {
            return Err(wrong("invalid input string for \"Y,YYY\"".to_owned()));
        };
        set(&mut self.year, year, field)?;
        reader.at += used;
        Ok(())
    }

    /// What the fields say together.
    fn said(mut self, text: &str) -> Result<Said> {
        let of_day = self.second_of_day;
        let (mut hour, mut minute, mut second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        for (to, from) in [(&mut hour, self.hour), (&mut minute, self.minute), (&mut second, self.second)] {
            if from != 0 {
                *to = from;
            }
        }
        if self.twelve {
            if !(1..=12).contains(&hour) {
                return Err(wrong(format!("hour \"{hour}\" is invalid for the 12-hour clock"))
                    .with_hint("Use the 24-hour clock, or give an hour between 1 and 12."));
            }
            hour = hour % 12 + if self.afternoon != 0 { 12 } else { 0 };
        }
        let date = self.date(text)?;
        let micros = self.millis * 1000 + self.micros;
        let in_range = (0..24).contains(&hour)
            && (0..60).contains(&minute)
            && (0..60).contains(&second)
            && (0..MICROS_PER_SECOND).contains(&micros);
        if !in_range {
            return Err(overflow(text));
        }
        let time = hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + second * MICROS_PER_SECOND + micros;
        let offset = if self.zone_sign == 0 {
            None
        } else if (0..=15).contains(&self.zone_hour) && (0..60).contains(&self.zone_minute) {
            let minutes = self.zone_hour * MICROS_PER_HOUR + self.zone_minute * MICROS_PER_MINUTE;
            Some(self.zone_sign * minutes)
        } else {
            return Err(Error::new(
                SqlState::new("22009"),
                format!("time zone displacement out of range: \"{text}\""),
            ));
        };
        Ok(Said { date, time, offset, digits: self.digits })
    }

    fn date(&mut self, text: &str) -> Result<(i64, u32, u32)> {
        let before_christ = self.before_christ != 0;
        let (mut month, mut day) = (1, 1);
        let year_said = self.year != 0 || self.century != 0;
        let mut year = self.year_said(before_christ);
        // What has been said, and so has to be in range.
        let (mut months, mut days, mut all) = (false, false, false);
        let of_days = |days: i64| {
            let (year, month, day) = civil_from_days(days);
            (year, i64::from(month), i64::from(day))
        };
        let weeks = self.calendar == Some(Calendar::Weeks);
        if self.julian != 0 {
            (year, month, day) = of_days(self.julian - JULIAN_OFFSET_DAYS);
            all = true;
        }
        if self.week != 0 && weeks {
            let monday = first_monday(year) + (self.week - 1) * 7;
            // Sunday is the last of them.
            let behind = match self.day_of_week {
                0 => 0,
                n if n > 1 => n - 2,
                _ => 6,
            };
            (year, month, day) = of_days(monday + behind);
            all = true;
        } else if self.week != 0 {
            self.day_of_year = (self.week - 1) * 7 + 1;
        }
        if self.week_of_month != 0 {
            self.day = (self.week_of_month - 1) * 7 + 1;
        }
        if self.day != 0 {
            (day, days) = (self.day, true);
        }
        if self.month != 0 {
            (month, months) = (self.month, true);
        }
        if self.day_of_year != 0 && (month <= 1 || day <= 1) {
            if year == 0 && !before_christ {
                return Err(wrong("cannot calculate day of year without year information".to_owned()));
            }
            if weeks {
                (year, month, day) = of_days(first_monday(year) - 1 + self.day_of_year);
                all = true;
            } else {
                let mut rest = self.day_of_year;
                let mut at = 1;
                while at <= 12 && rest > i64::from(days_in_month(year, at)) {
                    rest -= i64::from(days_in_month(year, at));
                    at += 1;
                }
                if month <= 1 {
                    month = i64::from(at);
                }
                if day <= 1 {
                    day = rest;
                }
                (months, days) = (true, true);
            }
        }
        let wrong_month = (months || all) && !(1..=12).contains(&month);
        let wrong_day = (days || all) && !(1..=31).contains(&day);
        if wrong_month || wrong_day {
            return Err(overflow(text));
        }
        let whole = all || months && days && year_said;
        if whole && day > i64::from(days_in_month(year, month as u32)) {
            return Err(overflow(text));
        }
        // Without a year, a day that the month has not is one of the next.
        Ok((year, month as u32, day as u32))
    }

    /// The year, 0 for 1 BC and where nothing is said; years of two digits are those of a century.
    fn year_said(&self, before_christ: bool) -> i64 {
        let century = if before_christ { -self.century } else { self.century };
        if self.year != 0 && self.century != 0 && self.year_digits <= 2 {
            return match self.year % 100 {
                0 => century * 100 + i64::from(century < 0),
                year if century >= 0 => (century - 1) * 100 + year,
                year => (century + 1) * 100 - year + 1,
            };
        }
        if self.year != 0 {
            let year = if before_christ { -self.year } else { self.year };
            return if year < 0 { year + 1 } else { year };
        }
        match century {
            0 => 0,
            1.. => (century - 1) * 100 + 1,
            _ => century * 100 + 1,
        }
    }
}

/// Whether a number ends where its digits do, as no digits follow it.
fn ends_anywhere(field: &Field<'_>, next: Option<&Node<'_>>) -> bool {
    field.ordinal.is_some()
        || match next {
            None => true,
            Some(Node::Field(next)) => !next.digits,
            Some(Node::Separator(c) | Node::Space(c) | Node::Text(c)) => !c.is_ascii_digit(),
        }
}

/// A short year is one of 1970 to 2069, or the like.
const fn near_2020(year: i64) -> i64 {
    match year {
        ..70 | 100..520 => year + 2000,
        70..100 => year + 1900,
        520..1000 => year + 1000,
        _ => year,
    }
}

/// The day on which the first week of ISO 8601's year begins.
fn first_monday(year: i64) -> i64 {
    let fourth = days_from_civil(year, 1, 4);
    fourth - (fourth + 5).rem_euclid(7)
}
