//! `to_char` of timestamps and intervals.

use super::field::{day_of_week, day_of_year, iso_week};
use super::template::{Field, Node, What, parse};
use super::zone::Zone;
use super::{
    Interval, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, civil_from_days, is_finite_timestamp,
    julian_day, time_of_day,
};
use crate::error::{Error, Result, SqlState};
use crate::watch;
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
pub(super) const DAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
pub(super) const ROMAN: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// A moment, or the parts of an interval.
struct Shown {
    /// 0 is 1 BC.
    year: i64,
    month: i64,
    day: i64,
    day_of_year: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micros: i64,
    interval: bool,
    /// What clocks are called that show it; nothing of a timestamp without time zone.
    zone: Option<String>,
    /// How far they are ahead of UTC, in microseconds.
    offset: i64,
}

/// Appends a timestamp by a template; `false` where there is nothing to show, which is NULL: of infinity, by an empty
/// template.
pub fn to_char(out: &mut Vec<u8>, timestamp: i64, template: &str) -> Result<bool> {
    moment(out, timestamp, None, 0, template)
}

/// The same of a timestamp with time zone, as clocks of a zone show it; without one that is UTC.
pub fn to_char_in_zone(
    out: &mut Vec<u8>,
    timestamp: i64,
    zone: Option<&Zone>,
    template: &str,
) -> Result<bool> {
    match zone.filter(|_| is_finite_timestamp(timestamp)) {
        None => moment(out, timestamp, Some("UTC".to_owned()), 0, template),
        Some(zone) => {
            let (name, offset) = (zone.called_at(timestamp).0, zone.offset_at(timestamp));
            moment(out, zone.to_local(timestamp)?, Some(name), offset, template)
        }
    }
}

/// The same of an interval: of what depends on a date there is nothing to show.
pub fn to_char_of_interval(out: &mut Vec<u8>, interval: Interval, template: &str) -> Result<bool> {
    let (year, month) = (i64::from(interval.months / 12), i64::from(interval.months % 12));
    let (hour, minute, second, micros) = time_of_day(interval.micros);
    let day = i64::from(interval.days);
    let day_of_year = i64::from(interval.months) * 30 + day;
    let (interval, zone, offset) = (true, None, 0);
    shown(
        out,
        &Shown { year, month, day, day_of_year, hour, minute, second, micros, interval, zone, offset },
        template,
    )
}

fn moment(
    out: &mut Vec<u8>,
    timestamp: i64,
    zone: Option<String>,
    offset: i64,
    template: &str,
) -> Result<bool> {
    if !is_finite_timestamp(timestamp) {
        return Ok(false);
    }
    let days = timestamp.div_euclid(MICROS_PER_DAY);
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second, micros) = time_of_day(timestamp.rem_euclid(MICROS_PER_DAY));
    let (month, day, day_of_year) = (i64::from(month), i64::from(day), day_of_year(days));
    let interval = false;
    shown(
        out,
        &Shown { year, month, day, day_of_year, hour, minute, second, micros, interval, zone, offset },
        template,
    )
}

fn shown(out: &mut Vec<u8>, moment: &Shown, template: &str) -> Result<bool> {
    if template.is_empty() {
        return Ok(false);
    }
    watch::count(template.len());
    for node in parse(template) {
        match node {
            Node::Field(field) => moment.write(out, &field)?,
            Node::Separator(c) | Node::Space(c) | Node::Text(c) => {
                let mut buffer = [0; 4];
                out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
            }
        }
    }
    Ok(true)
}

impl Shown {
    fn write(&self, out: &mut Vec<u8>, field: &Field<'_>) -> Result<()> {
        if self.interval && of_dates_alone(field.what) {
            return Err(Error::new(
                SqlState::INVALID_DATETIME_FORMAT,
                "invalid format specification for an interval value",
            )
            .with_hint("Intervals are not tied to specific calendar dates."));
        }
        let padded = |out: &mut Vec<u8>, name: &str, width: usize| {
            out.extend_from_slice(name.as_bytes());
            if field.fill {
                out.resize(out.len() + width.saturating_sub(name.len()), b' ');
            }
        };
        match field.what {
            What::MonthName(full) => {
                let name = MONTHS[self.month as usize - 1];
                let name = if full { name } else { &name[..3] };
                padded(out, &cased(name, field.name), if full { 9 } else { 3 });
            }
            What::DayName(full) => {
                let name = DAYS[day_of_week(self.days()) as usize];
                let name = if full { name } else { &name[..3] };
                padded(out, &cased(name, field.name), if full { 9 } else { 3 });
            }
            What::Roman => {
                let at = match self.month {
                    0 if self.year == 0 => return Ok(()),
                    // Of an interval of whole years.
                    0 if self.year > 0 => 11,
                    0 => 0,
                    // The last month of an interval that goes back is its first.
                    month if month < 0 => (12 + month) as usize,
                    month => month as usize - 1,
                };
                let small = field.name.starts_with('r');
                padded(out, &if small { ROMAN[at].to_ascii_lowercase() } else { ROMAN[at].to_owned() }, 4);
            }
            What::Meridiem(points) => {
                // Of intervals, too, whose hours may be any number.
                let afternoon = self.hour % 24 >= 12;
                two_letters(out, if afternoon { "PM" } else { "AM" }, points, field.name);
            }
            What::Era(points) => {
                two_letters(out, if self.year > 0 { "AD" } else { "BC" }, points, field.name);
            }
            What::Zone => {
                let name = self.zone.as_deref().unwrap_or_default();
                let small = field.name.starts_with('t');
                let name = if small { name.to_ascii_lowercase() } else { name.to_owned() };
                out.extend_from_slice(name.as_bytes());
            }
            What::Offset | What::OffsetHour => {
                let hours = self.offset.abs() / MICROS_PER_HOUR;
                let minutes = self.offset.abs() / MICROS_PER_MINUTE % 60;
                let width = if field.fill || field.what == What::OffsetHour { 2 } else { 1 };
                let _ = write!(out, "{}{hours:0width$}", if self.offset < 0 { '-' } else { '+' });
                if field.what == What::Offset && minutes != 0 {
                    let _ = write!(out, ":{minutes:02}");
                }
            }
            What::OffsetMinute => {
                let _ = write!(out, "{:02}", self.offset.abs() / MICROS_PER_MINUTE % 60);
            }
            What::Exact => {}
            What::Quarter if self.month == 0 => {}
            What::YearComma => {
                let year = self.counted(self.year);
                let _ = write!(out, "{},{:03}", year / 1000, year % 1000);
                ordinal(out, year, field.ordinal);
            }
            what => {
                let (number, width, fixed) = self.number(what);
                let width = if fixed || field.fill { width + self.sign_of(what, number) } else { 1 };
                let _ = write!(out, "{number:0width$}");
                ordinal(out, number, field.ordinal);
            }
        }
        Ok(())
    }

    fn days(&self) -> i64 {
        julian_day(self.year, self.month, self.day) - super::JULIAN_OFFSET_DAYS
    }

    /// A year as people count, where there is no 0; that of an interval is a number like others.
    fn counted(&self, year: i64) -> i64 {
        if self.interval || year > 0 { year } else { 1 - year }
    }

    /// 1 where a sign comes before the digits that the width counts; of days and weeks it is one of them.
    const fn sign_of(&self, what: What, number: i64) -> usize {
        let before = match what {
            What::Year(2..) | What::IsoYear(2..) => self.interval && self.year < 0,
            What::Month | What::Minute | What::Second | What::Century => number < 0,
            What::Hour | What::Hour12 => self.hour < 0,
            _ => false,
        };
        before as usize
    }

    /// A number, its width, and whether it has that width even where `FM` is said.
    fn number(&self, what: What) -> (i64, usize, bool) {
        let iso = || iso_week(self.days());
        let last = |year: i64, digits: usize| match digits {
            4 => year,
            n => year % 10i64.pow(n as u32),
        };
        let plain = |n: i64, width: usize| (n, width, false);
        let fraction = |digits: usize| (self.micros / 10i64.pow(6 - digits as u32), digits, true);
        match what {
            What::Year(digits) => plain(last(self.counted(self.year), digits), digits),
            What::IsoYear(digits) => plain(last(self.counted(iso().0), digits), digits),
            What::Century if self.interval => plain(self.year / 100, 2),
            What::Century if self.year > 0 => plain((self.year - 1) / 100 + 1, 2),
            What::Century => plain(self.year / 100 - 1, 2),
            What::Quarter => plain((self.month - 1) / 3 + 1, 1),
            What::Month => plain(self.month, 2),
            What::Week => plain((self.day_of_year - 1) / 7 + 1, 2),
            What::IsoWeek => plain(iso().1, 2),
            What::WeekOfMonth => plain((self.day - 1) / 7 + 1, 1),
            What::DayOfYear => plain(self.day_of_year, 3),
            What::IsoDayOfYear => {
                let monday = (self.days() + 5).rem_euclid(7) + 1;
                plain((iso().1 - 1) * 7 + monday, 3)
            }
            What::Day => plain(self.day, 2),
            What::DayOfWeek => plain(day_of_week(self.days()) + 1, 1),
            What::IsoDayOfWeek => plain((self.days() + 5).rem_euclid(7) + 1, 1),
            What::Hour => plain(self.hour, 2),
            What::Hour12 if self.hour % 12 == 0 => plain(12, 2),
            What::Hour12 => plain(self.hour % 12, 2),
            What::Minute => plain(self.minute, 2),
            What::Second => plain(self.second, 2),
            What::SecondOfDay => plain(self.hour * 3600 + self.minute * 60 + self.second, 1),
            What::Julian => plain(julian_day(self.year, self.month, self.day), 1),
            What::Fraction(digits) => fraction(digits),
            What::Milliseconds => fraction(3),
            _ => fraction(6),
        }
    }
}

/// What intervals have nothing of.
const fn of_dates_alone(what: What) -> bool {
    matches!(
        what,
        What::Zone
            | What::Offset
            | What::OffsetHour
            | What::OffsetMinute
            | What::Era(_)
            | What::MonthName(_)
            | What::DayName(_)
            | What::DayOfWeek
            | What::IsoDayOfWeek
    )
}

/// `st`, `nd`, `rd` or `th` behind a number, in the case of the suffix.
fn ordinal(out: &mut Vec<u8>, number: i64, suffix: Option<&str>) {
    if let Some(case) = suffix {
        out.extend_from_slice(crate::text_io::ordinal(number.unsigned_abs(), case == "TH").as_bytes());
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
