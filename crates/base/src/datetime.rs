//! Dates, times, timestamps and intervals: the proleptic Gregorian calendar.
//!
//! * a date is days since 2000-01-01; `i32::MIN` and `i32::MAX` are -infinity and infinity;
//! * a timestamp is microseconds since 2000-01-01 00:00; `i64::MIN` and `i64::MAX` are infinite;
//! * a time is microseconds since midnight, 24:00 included;
//! * an interval is months, days and microseconds, see [`Interval`].
//!
//! A `timestamptz` is an instant, counted in UTC; what clocks of a zone show then is [`Zone`]'s business.
//! Day numbers come from era arithmetic (Hinnant, "chrono-Compatible Low-Level Date Algorithms").

mod field;
mod fields;
mod format;
mod from_char;
mod interval;
mod parse;
mod style;
mod template;
#[cfg(test)]
mod tests;
mod time;
mod to_char;
pub mod zone;

pub use field::{
    check_untimed, check_unzoned, extract_date, extract_interval, extract_time, extract_timestamp,
    extract_timestamptz, extract_timetz, trunc, trunc_in_zone, trunc_interval,
};
pub use fields::IntervalFields;
pub use format::{write_date, write_moment, write_time, write_timestamp, write_timestamptz};
pub use from_char::{Moment, by_standard_template, to_date, to_timestamp};
pub use interval::{Interval, make_interval, parse_interval, write_interval};
pub use parse::{
    parse_date, parse_time, parse_timestamp, parse_timestamptz, parse_timetz, parse_whole_timestamptz,
};
pub use style::{BytesForm, DateForm, DateOrder, Forms, IntervalForm, Styles};
pub use time::{make_time, time_add, time_from_micros, time_of_interval, time_of_timestamp, time_sub};
pub use to_char::{to_char, to_char_in_zone, to_char_of_interval};
pub use zone::{Zone, write_offset};

use crate::error::{Error, Result, SqlState};

/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 86_400_000_000;
pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(crate) const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
pub(crate) const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;
/// The Unix epoch as a timestamp, negated: seconds between 1970-01-01 and 2000-01-01.
pub const UNIX_EPOCH_OFFSET_SECONDS: i64 = 946_684_800;
/// Julian day of 2000-01-01.
pub(crate) const JULIAN_OFFSET_DAYS: i64 = 2_451_545;

/// The date after all others.
pub const DATE_INFINITY: i64 = i32::MAX as i64;
/// The date before all others.
pub const DATE_MINUS_INFINITY: i64 = i32::MIN as i64;
/// The timestamp after all others.
pub const TIMESTAMP_INFINITY: i64 = i64::MAX;
/// The timestamp before all others.
pub const TIMESTAMP_MINUS_INFINITY: i64 = i64::MIN;

/// 4714-11-24 BC, Julian day 0.
const DATE_MIN: i64 = -JULIAN_OFFSET_DAYS;
/// The day after 5874897-12-31.
pub(crate) const DATE_END: i64 = 2_147_483_494 - JULIAN_OFFSET_DAYS;
const TIMESTAMP_MIN: i64 = DATE_MIN * MICROS_PER_DAY;
/// The first instant of 294277.
const TIMESTAMP_END: i64 = 9_223_371_331_200_000_000;

/// Whether a byte stands between the words of a date or an interval: blanks, and signs that mean nothing in them.
pub(crate) fn separates(b: u8) -> bool {
    let means = matches!(b, b'+' | b'-' | b'.' | b'/' | b':' | b'_');
    crate::text_io::is_space(b) || b.is_ascii_punctuation() && !means
}

#[cold]
pub(crate) fn out_of_range(message: impl Into<String>) -> Error {
    Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}

/// Days since 2000-01-01 of a day of the proleptic Gregorian calendar; year 0 is 1 BC.
pub const fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    // Years start in March here, so that the leap day is the last of its year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month = (month as i64 + 9) % 12;
    let day_of_year = (153 * month + 2) / 5 + day as i64 - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    // 730425 days from 0000-03-01 to 2000-01-01.
    era * 146_097 + day_of_era - 730_425
}

/// Year (0 is 1 BC), month and day of a day number.
pub const fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + 730_425;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month + 2) / 5 + 1) as u32;
    let month = if month < 10 { month + 3 } else { month - 9 } as u32;
    let year = year_of_era + era * 400 + (month <= 2) as i64;
    (year, month, day)
}

/// The Julian day of a day of the calendar, and of parts that are none, as those of an interval: by PostgreSQL's formula,
/// which goes on beyond the months of a year.
const fn julian_day(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year + 4800, month + 1) } else { (year + 4799, month + 13) };
    let century = year / 100;
    year * 365 - 32_167 + year / 4 - century + century / 4 + 7834 * month / 256 + day
}

/// Days of a month.
pub const fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// Whether the date is not infinite.
#[inline]
pub const fn is_finite_date(date: i64) -> bool {
    date != DATE_INFINITY && date != DATE_MINUS_INFINITY
}
/// Whether the timestamp is not infinite.
#[inline]
pub const fn is_finite_timestamp(timestamp: i64) -> bool {
    timestamp != TIMESTAMP_INFINITY && timestamp != TIMESTAMP_MINUS_INFINITY
}

/// A fraction of a second rounded to so many digits, half away from zero: `timestamp(3)`.
pub const fn round_seconds(micros: i64, digits: u8) -> i64 {
    if digits >= 6 {
        return micros;
    }
    let unit = 10i64.pow(6 - digits as u32);
    let half = if micros < 0 { -unit / 2 } else { unit / 2 };
    micros.saturating_add(half) / unit * unit
}

/// The same of a timestamp, where infinity stays.
pub fn round_timestamp(timestamp: i64, digits: u8) -> Result<i64> {
    if !is_finite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    // What is rounded up may be behind the last instant, as in PostgreSQL.
    Ok(round_seconds(timestamp, digits))
}

fn checked_date(days: Option<i64>) -> Result<i64> {
    match days {
        Some(d) if (DATE_MIN..DATE_END).contains(&d) => Ok(d),
        _ => Err(out_of_range("date out of range")),
    }
}

fn checked_timestamp(micros: Option<i64>) -> Result<i64> {
    match micros {
        Some(t) if (TIMESTAMP_MIN..TIMESTAMP_END).contains(&t) => Ok(t),
        _ => Err(out_of_range("timestamp out of range")),
    }
}

/// A date that comes as its number of days; the infinities are dates, too.
pub fn date_from_days(days: i64) -> Result<i64> {
    if is_finite_date(days) { checked_date(Some(days)) } else { Ok(days) }
}

/// A timestamp that comes as its number of microseconds; the infinities are timestamps, too.
pub fn timestamp_from_micros(micros: i64) -> Result<i64> {
    if is_finite_timestamp(micros) { checked_timestamp(Some(micros)) } else { Ok(micros) }
}

fn interval_out_of_range() -> Error {
    out_of_range("interval out of range")
}

/// `date + integer`.
pub fn date_add(date: i64, days: i64) -> Result<i64> {
    if !is_finite_date(date) {
        return Ok(date);
    }
    checked_date(date.checked_add(days))
}

/// `date - integer`.
pub fn date_sub(date: i64, days: i64) -> Result<i64> {
    if !is_finite_date(date) {
        return Ok(date);
    }
    checked_date(date.checked_sub(days))
}

/// `date - date`: days.
pub fn date_diff(a: i64, b: i64) -> Result<i64> {
    if !is_finite_date(a) || !is_finite_date(b) {
        return Err(out_of_range("cannot subtract infinite dates"));
    }
    Ok(a - b)
}

/// The first instant of a day.
pub fn date_to_timestamp(date: i64) -> Result<i64> {
    match date {
        DATE_INFINITY => Ok(TIMESTAMP_INFINITY),
        DATE_MINUS_INFINITY => Ok(TIMESTAMP_MINUS_INFINITY),
        _ => date
            .checked_mul(MICROS_PER_DAY)
            .filter(|t| *t < TIMESTAMP_END)
            .ok_or_else(|| out_of_range("date out of range for timestamp")),
    }
}

/// What comes after all timestamps but infinity: what a date is beside them that is behind the last. No timestamp.
pub const AFTER_TIMESTAMPS: i64 = TIMESTAMP_INFINITY - 1;

/// The first instant of a day, to be compared with timestamps: no timestamp where none is so late.
pub fn date_among_timestamps(date: i64) -> i64 {
    date_to_timestamp(date).unwrap_or(AFTER_TIMESTAMPS)
}

/// The day of an instant.
pub const fn timestamp_to_date(timestamp: i64) -> i64 {
    match timestamp {
        TIMESTAMP_INFINITY => DATE_INFINITY,
        TIMESTAMP_MINUS_INFINITY => DATE_MINUS_INFINITY,
        _ => timestamp.div_euclid(MICROS_PER_DAY),
    }
}

/// `timestamp + interval`: months first, where a day that the month does not have is its last; then days; then the rest.
pub fn timestamp_add(timestamp: i64, interval: Interval) -> Result<i64> {
    if !is_finite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    let moved = || {
        let (mut days, time) = (timestamp.div_euclid(MICROS_PER_DAY), timestamp.rem_euclid(MICROS_PER_DAY));
        if interval.months != 0 {
            days = add_months(days, i64::from(interval.months));
        }
        let days = days.checked_add(i64::from(interval.days))?;
        days.checked_mul(MICROS_PER_DAY)?.checked_add(time)?.checked_add(interval.micros)
    };
    checked_timestamp(moved())
}

/// The same day so many months later, or the last of that month.
fn add_months(days: i64, months: i64) -> i64 {
    let (year, month, day) = civil_from_days(days);
    let months = year * 12 + i64::from(month) - 1 + months;
    let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as u32 + 1);
    days_from_civil(year, month, day.min(days_in_month(year, month)))
}

/// `timestamp - interval`.
pub fn timestamp_sub(timestamp: i64, interval: Interval) -> Result<i64> {
    timestamp_add(timestamp, interval.checked_neg()?)
}

/// `timestamptz + interval`: months and days by the clocks of a zone, the rest by time that passes; without one in UTC.
pub fn timestamptz_add(timestamp: i64, interval: Interval, zone: Option<&Zone>) -> Result<i64> {
    let Some(zone) = zone.filter(|_| interval.months != 0 || interval.days != 0) else {
        return timestamp_add(timestamp, interval);
    };
    let moved = timestamp_add(zone.to_local(timestamp)?, Interval { micros: 0, ..interval })?;
    timestamp_add(zone.to_utc(moved)?, Interval { months: 0, days: 0, ..interval })
}

/// `timestamp - timestamp`: days and the rest.
pub fn timestamp_diff(a: i64, b: i64) -> Result<Interval> {
    if !is_finite_timestamp(a) || !is_finite_timestamp(b) {
        return Err(out_of_range("cannot subtract infinite timestamps"));
    }
    a.checked_sub(b).map(Interval::of_micros).ok_or_else(interval_out_of_range)
}

/// `age(timestamp, timestamp)`: years, months and days as people count them.
pub fn age(a: i64, b: i64) -> Result<Interval> {
    // PostgreSQL 15 takes infinity for the instant that its number would be; that of minus infinity is before all days.
    if a.min(b) == TIMESTAMP_MINUS_INFINITY {
        return Err(out_of_range("timestamp out of range"));
    }
    let (early, late) = (a.min(b), a.max(b));
    let parts = |at: i64| {
        let (year, month, day) = civil_from_days(at.div_euclid(MICROS_PER_DAY));
        (year * 12 + i64::from(month), i64::from(day), at.rem_euclid(MICROS_PER_DAY))
    };
    let ((late_months, late_day, late_time), (months, day, time)) = (parts(late), parts(early));
    let (mut months, mut days, mut micros) = (late_months - months, late_day - day, late_time - time);
    if micros < 0 {
        (days, micros) = (days - 1, micros + MICROS_PER_DAY);
    }
    // The days of the month of the earlier one, as PostgreSQL has it.
    let (year, month, _) = civil_from_days(early.div_euclid(MICROS_PER_DAY));
    while days < 0 {
        (months, days) = (months - 1, days + i64::from(days_in_month(year, month)));
    }
    let age = Interval { months: months as i32, days: days as i32, micros };
    if a < b { age.checked_neg() } else { Ok(age) }
}

/// `date_bin`: the beginning of the span of that length, counted from `origin`, in which a timestamp lies.
pub fn date_bin(stride: Interval, timestamp: i64, origin: i64) -> Result<i64> {
    if !is_finite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    if !is_finite_timestamp(origin) {
        return Err(out_of_range("origin out of range"));
    }
    if stride.months != 0 {
        return Err(Error::new(
            SqlState::FEATURE_NOT_SUPPORTED,
            "timestamps cannot be binned into intervals containing months or years",
        ));
    }
    let stride = stride.span();
    if stride <= 0 {
        return Err(out_of_range("stride must be greater than zero"));
    }
    let behind = (i128::from(timestamp) - i128::from(origin)).div_euclid(stride) * stride;
    checked_timestamp(i64::try_from(i128::from(origin) + behind).ok())
}

/// `make_date(year, month, day)`; a negative year is BC.
pub fn make_date(year: i64, month: i64, day: i64) -> Result<i64> {
    let wrong = || out_of_range(format!("date field value out of range: {year}-{month:02}-{day:02}"));
    let astronomical = if year < 0 { year + 1 } else { year };
    if year == 0 || !(1..=12).contains(&month) || !(-4713..=5_874_897).contains(&astronomical) {
        return Err(wrong());
    }
    let month = month as u32;
    if day < 1 || day > i64::from(days_in_month(astronomical, month)) {
        return Err(wrong());
    }
    let days = days_from_civil(astronomical, month, day as u32);
    if !(DATE_MIN..DATE_END).contains(&days) {
        return Err(out_of_range(format!("date out of range: {year}-{month:02}-{day:02}")));
    }
    Ok(days)
}

/// `make_timestamp` of a day and a time; the seconds have a fraction.
pub fn make_timestamp(day: i64, hour: i64, minute: i64, second: f64) -> Result<i64> {
    let time = make_time(hour, minute, second)?;
    checked_timestamp(date_to_timestamp(day)?.checked_add(time))
}

/// `to_timestamp(seconds since 1970)`.
pub fn timestamp_from_unix(seconds: f64) -> Result<i64> {
    if seconds.is_nan() {
        return Err(out_of_range("timestamp cannot be NaN"));
    }
    if seconds.is_infinite() {
        return Ok(if seconds > 0.0 { TIMESTAMP_INFINITY } else { TIMESTAMP_MINUS_INFINITY });
    }
    let micros = ((seconds - UNIX_EPOCH_OFFSET_SECONDS as f64) * 1e6).round_ties_even();
    let too_large = || {
        // As `%g` of C: six digits.
        let (digits, exponent) = {
            let text = format!("{seconds:.5e}");
            let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            (digits.to_owned(), exponent.parse::<i32>().unwrap_or(0))
        };
        out_of_range(format!("timestamp out of range: \"{digits}e+{exponent:02}\""))
    };
    if !(TIMESTAMP_MIN as f64..TIMESTAMP_END as f64).contains(&micros) {
        return Err(too_large());
    }
    checked_timestamp(Some(micros as i64)).map_err(|_| too_large())
}

/// Hour, minute, second and microsecond of the day of an instant.
pub(crate) fn time_of_day(micros_of_day: i64) -> (i64, i64, i64, i64) {
    (
        micros_of_day / MICROS_PER_HOUR,
        micros_of_day / MICROS_PER_MINUTE % 60,
        micros_of_day / MICROS_PER_SECOND % 60,
        micros_of_day % MICROS_PER_SECOND,
    )
}
