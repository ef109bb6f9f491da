//! `to_char(timestamp, template)`.
//!
//! The templates people use: years to microseconds, names, ISO weeks, AM/PM, ordinals, `FM`, quoted
//! text. Patterns that depend on a locale or zone (`TM`, `TZ`, `OF`) and the rest are 0A000.

use super::field::{day_of_week, day_of_year, iso_day_of_week, iso_week};
use super::zone::Zone;
use super::{JULIAN_OFFSET_DAYS, MICROS_PER_DAY, civil_from_days, is_finite_timestamp, time_of_day};
use super::{MICROS_PER_HOUR, MICROS_PER_MINUTE};
use crate::error::{Error, Result};
use std::io::Write;

pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const ROMAN: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Pattern {
    /// A number with its width; `FM` drops leading zeros.
    Number(Part, usize),
    /// The last digits of a number.
    YearComma,
    Month,
    MonthShort,
    Day,
    DayShort,
    Roman,
    /// AM or PM, with points.
    Meridiem(bool),
    Era(bool),
    Fraction(usize),
    /// What clocks are called there.
    Zone,
    Offset,
    OffsetHour,
    OffsetMinute,
    Unsupported,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Year,
    Year3,
    Year2,
    Year1,
    IsoYear,
    IsoYear3,
    IsoYear2,
    IsoYear1,
    Century,
    Quarter,
    Month,
    Week,
    IsoWeek,
    WeekOfMonth,
    DayOfYear,
    IsoDayOfYear,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    Hour,
    Hour12,
    Minute,
    Second,
    SecondOfDay,
    Julian,
}

/// Longest first among those that begin alike; matched without regard to case, but the case of the
/// names is that of the template.
const PATTERNS: &[(&str, Pattern)] = &[
    ("A.D.", Pattern::Era(true)),
    ("A.M.", Pattern::Meridiem(true)),
    ("AD", Pattern::Era(false)),
    ("AM", Pattern::Meridiem(false)),
    ("B.C.", Pattern::Era(true)),
    ("BC", Pattern::Era(false)),
    ("CC", Pattern::Number(Part::Century, 2)),
    ("DAY", Pattern::Day),
    ("DDD", Pattern::Number(Part::DayOfYear, 3)),
    ("DD", Pattern::Number(Part::Day, 2)),
    ("DY", Pattern::DayShort),
    ("D", Pattern::Number(Part::DayOfWeek, 1)),
    ("FF1", Pattern::Fraction(1)),
    ("FF2", Pattern::Fraction(2)),
    ("FF3", Pattern::Fraction(3)),
    ("FF4", Pattern::Fraction(4)),
    ("FF5", Pattern::Fraction(5)),
    ("FF6", Pattern::Fraction(6)),
    ("FX", Pattern::Unsupported),
    ("HH24", Pattern::Number(Part::Hour, 2)),
    ("HH12", Pattern::Number(Part::Hour12, 2)),
    ("HH", Pattern::Number(Part::Hour12, 2)),
    ("IDDD", Pattern::Number(Part::IsoDayOfYear, 3)),
    ("ID", Pattern::Number(Part::IsoDayOfWeek, 1)),
    ("IW", Pattern::Number(Part::IsoWeek, 2)),
    ("IYYY", Pattern::Number(Part::IsoYear, 4)),
    ("IYY", Pattern::Number(Part::IsoYear3, 3)),
    ("IY", Pattern::Number(Part::IsoYear2, 2)),
    ("I", Pattern::Number(Part::IsoYear1, 1)),
    ("J", Pattern::Number(Part::Julian, 1)),
    ("MI", Pattern::Number(Part::Minute, 2)),
    ("MM", Pattern::Number(Part::Month, 2)),
    ("MONTH", Pattern::Month),
    ("MON", Pattern::MonthShort),
    ("MS", Pattern::Fraction(3)),
    ("OF", Pattern::Offset),
    ("P.M.", Pattern::Meridiem(true)),
    ("PM", Pattern::Meridiem(false)),
    ("Q", Pattern::Number(Part::Quarter, 1)),
    ("RM", Pattern::Roman),
    ("SSSSS", Pattern::Number(Part::SecondOfDay, 1)),
    ("SSSS", Pattern::Number(Part::SecondOfDay, 1)),
    ("SS", Pattern::Number(Part::Second, 2)),
    ("TM", Pattern::Unsupported),
    ("TZH", Pattern::OffsetHour),
    ("TZM", Pattern::OffsetMinute),
    ("TZ", Pattern::Zone),
    ("US", Pattern::Fraction(6)),
    ("WW", Pattern::Number(Part::Week, 2)),
    ("W", Pattern::Number(Part::WeekOfMonth, 1)),
    ("Y,YYY", Pattern::YearComma),
    ("YYYY", Pattern::Number(Part::Year, 4)),
    ("YYY", Pattern::Number(Part::Year3, 3)),
    ("YY", Pattern::Number(Part::Year2, 2)),
    ("Y", Pattern::Number(Part::Year1, 1)),
];

struct Moment {
    days: i64,
    time: i64,
    year: i64,
    month: u32,
    day: u32,
    /// What clocks are called that show it; nothing of a timestamp without time zone.
    zone: Option<String>,
    /// How far they are ahead of UTC, in microseconds.
    offset: i64,
}

/// Appends a timestamp by a template.
pub fn to_char(out: &mut Vec<u8>, timestamp: i64, template: &str) -> Result<()> {
    shown(out, timestamp, None, 0, template)
}

/// The same of a timestamp with time zone, as clocks of a zone show it; without one that is UTC.
pub fn to_char_in_zone(out: &mut Vec<u8>, timestamp: i64, zone: Option<&Zone>, template: &str) -> Result<()> {
    match zone.filter(|_| is_finite_timestamp(timestamp)) {
        None => shown(out, timestamp, Some("UTC".to_owned()), 0, template),
        Some(zone) => {
            let (name, offset) = (zone.called_at(timestamp).0, zone.offset_at(timestamp));
            shown(out, zone.to_local(timestamp)?, Some(name), offset, template)
        }
    }
}

fn shown(out: &mut Vec<u8>, timestamp: i64, zone: Option<String>, offset: i64, template: &str) -> Result<()> {
    if !is_finite_timestamp(timestamp) || template.is_empty() {
        return Err(Error::unsupported(
            "to_char of an infinite timestamp or with an empty template is not supported",
            "Test for these first.",
        ));
    }
    let days = timestamp.div_euclid(MICROS_PER_DAY);
    let (year, month, day) = civil_from_days(days);
    let time = timestamp.rem_euclid(MICROS_PER_DAY);
    let moment = Moment { days, time, year, month, day, zone, offset };
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        if first == '"' {
            rest = quoted(out, &rest[1..]);
            continue;
        }
        if let Some(escaped) = rest.strip_prefix('\\') {
            let shown = if escaped.starts_with('"') { "\"" } else { "\\" };
            out.extend_from_slice(shown.as_bytes());
            rest = escaped.strip_prefix('"').unwrap_or(escaped);
            continue;
        }
        let fill = !starts(rest, "FM");
        let body = if fill { rest } else { &rest[2..] };
        let Some((name, pattern)) = PATTERNS.iter().find(|(name, _)| starts(body, name)) else {
            if fill {
                let mut buffer = [0; 4];
                out.extend_from_slice(first.encode_utf8(&mut buffer).as_bytes());
            }
            rest = if fill { &rest[first.len_utf8()..] } else { body };
            continue;
        };
        let written = &body[..name.len()];
        rest = &body[name.len()..];
        let ordinal = ["TH", "th"].into_iter().find(|s| rest.starts_with(s));
        rest = &rest[ordinal.map_or(0, str::len)..];
        moment.write(out, *pattern, written, fill, ordinal)?;
    }
    Ok(())
}

/// Whether `text` begins with this pattern, whatever its case.
fn starts(text: &str, pattern: &str) -> bool {
    text.as_bytes().get(..pattern.len()).is_some_and(|head| head.eq_ignore_ascii_case(pattern.as_bytes()))
}

/// Appends the text up to the closing quote; returns what follows it.
fn quoted<'a>(out: &mut Vec<u8>, text: &'a str) -> &'a str {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return &text[at + 1..],
            '\\' => {
                if let Some((_, escaped)) = chars.next() {
                    let mut buffer = [0; 4];
                    out.extend_from_slice(escaped.encode_utf8(&mut buffer).as_bytes());
                }
            }
            plain => {
                let mut buffer = [0; 4];
                out.extend_from_slice(plain.encode_utf8(&mut buffer).as_bytes());
            }
        }
    }
    ""
}

impl Moment {
    fn write(
        &self,
        out: &mut Vec<u8>,
        pattern: Pattern,
        written: &str,
        fill: bool,
        ordinal: Option<&str>,
    ) -> Result<()> {
        let padded = |out: &mut Vec<u8>, name: &str, width: usize| {
            let cased = cased(name, written);
            out.extend_from_slice(cased.as_bytes());
            if fill {
                out.resize(out.len() + width.saturating_sub(name.len()), b' ');
            }
        };
        match pattern {
            Pattern::Number(part, width) => {
                self.write_number(out, self.number(part), if fill { width } else { 1 }, ordinal);
            }
            Pattern::YearComma => {
                let year = self.shown_year();
                let _ = write!(out, "{},{:03}", year / 1000, year % 1000);
            }
            Pattern::Month => padded(out, MONTHS[self.month as usize - 1], 9),
            Pattern::MonthShort => padded(out, &MONTHS[self.month as usize - 1][..3], 3),
            Pattern::Day => padded(out, DAYS[day_of_week(self.days) as usize], 9),
            Pattern::DayShort => padded(out, &DAYS[day_of_week(self.days) as usize][..3], 3),
            Pattern::Roman => {
                let roman = ROMAN[self.month as usize - 1];
                let roman =
                    if written.starts_with('r') { roman.to_ascii_lowercase() } else { roman.to_owned() };
                out.extend_from_slice(roman.as_bytes());
                if fill {
                    out.resize(out.len() + 4 - roman.len(), b' ');
                }
            }
            Pattern::Meridiem(points) => {
                let afternoon = time_of_day(self.time).0 >= 12;
                two_letters(out, if afternoon { "PM" } else { "AM" }, points, written);
            }
            Pattern::Era(points) => {
                two_letters(out, if self.year > 0 { "AD" } else { "BC" }, points, written);
            }
            Pattern::Fraction(digits) => {
                let micros = time_of_day(self.time).3;
                let value = micros / 10i64.pow(6 - digits as u32);
                self.write_number(out, value, digits, ordinal);
            }
            Pattern::Zone => {
                let name = self.zone.as_deref().unwrap_or_default();
                let lower = written.starts_with('t');
                let name = if lower { name.to_ascii_lowercase() } else { name.to_ascii_uppercase() };
                out.extend_from_slice(name.as_bytes());
            }
            Pattern::Offset | Pattern::OffsetHour => {
                let hours = self.offset.abs() / MICROS_PER_HOUR;
                let minutes = self.offset.abs() / MICROS_PER_MINUTE % 60;
                let width = if fill || pattern == Pattern::OffsetHour { 2 } else { 1 };
                let _ = write!(out, "{}{hours:0width$}", if self.offset < 0 { '-' } else { '+' });
                if pattern == Pattern::Offset && minutes != 0 {
                    let _ = write!(out, ":{minutes:02}");
                }
            }
            Pattern::OffsetMinute => {
                let _ = write!(out, "{:02}", self.offset.abs() / MICROS_PER_MINUTE % 60);
            }
            Pattern::Unsupported => {
                return Err(Error::unsupported(
                    format!("template pattern \"{written}\" of to_char is not supported"),
                    "Patterns that depend on a locale or time zone are not supported.",
                ));
            }
        }
        Ok(())
    }

    fn write_number(&self, out: &mut Vec<u8>, n: i64, width: usize, ordinal: Option<&str>) {
        let _ = write!(out, "{n:0width$}");
        if let Some(case) = ordinal {
            let suffix = match (n % 10, n / 10 % 10) {
                (_, 1) => "th",
                (1, _) => "st",
                (2, _) => "nd",
                (3, _) => "rd",
                _ => "th",
            };
            let suffix = if case == "TH" { suffix.to_ascii_uppercase() } else { suffix.to_owned() };
            out.extend_from_slice(suffix.as_bytes());
        }
    }

    fn shown_year(&self) -> i64 {
        if self.year > 0 { self.year } else { 1 - self.year }
    }

    fn number(&self, part: Part) -> i64 {
        let (hour, minute, second, _) = time_of_day(self.time);
        let iso_year = || {
            let year = iso_week(self.days).0;
            if year > 0 { year } else { 1 - year }
        };
        match part {
            Part::Year => self.shown_year(),
            Part::Year3 => self.shown_year() % 1000,
            Part::Year2 => self.shown_year() % 100,
            Part::Year1 => self.shown_year() % 10,
            Part::IsoYear => iso_year(),
            Part::IsoYear3 => iso_year() % 1000,
            Part::IsoYear2 => iso_year() % 100,
            Part::IsoYear1 => iso_year() % 10,
            Part::Century if self.year > 0 => (self.year - 1) / 100 + 1,
            Part::Century => self.year / 100 - 1,
            Part::Quarter => i64::from(self.month - 1) / 3 + 1,
            Part::Month => i64::from(self.month),
            Part::Week => (day_of_year(self.days) - 1) / 7 + 1,
            Part::IsoWeek => iso_week(self.days).1,
            Part::WeekOfMonth => i64::from(self.day - 1) / 7 + 1,
            Part::DayOfYear => day_of_year(self.days),
            Part::IsoDayOfYear => (iso_week(self.days).1 - 1) * 7 + iso_day_of_week(self.days),
            Part::Day => i64::from(self.day),
            Part::DayOfWeek => day_of_week(self.days) + 1,
            Part::IsoDayOfWeek => iso_day_of_week(self.days),
            Part::Hour => hour,
            Part::Hour12 if hour % 12 == 0 => 12,
            Part::Hour12 => hour % 12,
            Part::Minute => minute,
            Part::Second => second,
            Part::SecondOfDay => hour * 3600 + minute * 60 + second,
            Part::Julian => self.days + JULIAN_OFFSET_DAYS,
        }
    }
}

/// `MONTH`, `Month` or `month`, as the template has it.
fn cased(name: &str, written: &str) -> String {
    let mut letters = written.chars();
    let first_upper = letters.next().is_some_and(|c| c.is_ascii_uppercase());
    let second_upper = letters.next().is_some_and(|c| c.is_ascii_uppercase());
    match (first_upper, second_upper) {
        (true, true) => name.to_ascii_uppercase(),
        (true, false) => name.to_owned(),
        _ => name.to_ascii_lowercase(),
    }
}

fn two_letters(out: &mut Vec<u8>, letters: &str, points: bool, written: &str) {
    let lower = written.starts_with(|c: char| c.is_ascii_lowercase());
    for letter in letters.bytes() {
        out.push(if lower { letter.to_ascii_lowercase() } else { letter });
        if points {
            out.push(b'.');
        }
    }
}
