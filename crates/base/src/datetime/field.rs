//! `extract` and `date_trunc`.

use super::zone::Zone;
use super::{
    Interval, JULIAN_OFFSET_DAYS, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND,
    UNIX_EPOCH_OFFSET_SECONDS, checked_timestamp, civil_from_days, days_from_civil, is_finite_date,
    is_finite_timestamp, time_of_day,
};
use crate::error::{Error, Result, SqlState};
use crate::numeric::{Long, Number, Numeric};

/// A field of a date or time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    IsoYear,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Julian,
    Epoch,
    Zone,
}

fn field(name: &str, ty: &str) -> Result<Field> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "microsecond" | "microseconds" | "us" | "usec" | "usecs" | "usecond" | "useconds" | "microsecon" => {
            Field::Microseconds
        }
        "millisecond" | "milliseconds" | "ms" | "msec" | "msecs" | "msecond" | "mseconds" | "millisecon" => {
            Field::Milliseconds
        }
        "second" | "seconds" | "s" | "sec" | "secs" => Field::Second,
        "minute" | "minutes" | "m" | "min" | "mins" => Field::Minute,
        "hour" | "hours" | "h" | "hr" | "hrs" => Field::Hour,
        "day" | "days" | "d" => Field::Day,
        "week" | "weeks" | "w" => Field::Week,
        "month" | "months" | "mon" | "mons" => Field::Month,
        "quarter" | "qtr" => Field::Quarter,
        "year" | "years" | "y" | "yr" | "yrs" => Field::Year,
        "decade" | "decades" | "dec" | "decs" => Field::Decade,
        "century" | "centuries" | "c" | "cent" => Field::Century,
        "millennium" | "millennia" | "mil" | "mils" => Field::Millennium,
        "isoyear" => Field::IsoYear,
        "dow" => Field::DayOfWeek,
        "isodow" => Field::IsoDayOfWeek,
        "doy" => Field::DayOfYear,
        "julian" | "jd" | "j" => Field::Julian,
        "epoch" => Field::Epoch,
        "timezone" | "timezone_h" | "timezone_hour" | "timezone_m" | "timezone_minute" => Field::Zone,
        _ => {
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("unit \"{name}\" not recognized for type {ty}"),
            ));
        }
    })
}

#[cold]
fn not_supported(name: &str, ty: &str) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, format!("unit \"{name}\" not supported for type {ty}"))
}

/// A field of infinity: NULL for those that come round, infinity for those that only rise.
fn of_infinity(field: Field, negative: bool) -> Option<Number> {
    match field {
        Field::Year
        | Field::Decade
        | Field::Century
        | Field::Millennium
        | Field::IsoYear
        | Field::Julian
        | Field::Epoch => Some(Number::Long(if negative { Long::NegInfinity } else { Long::Infinity })),
        _ => None,
    }
}

fn whole(n: i64) -> Numeric {
    Numeric::from_i64(n)
}
fn scaled(n: i128, scale: u8) -> Result<Numeric> {
    Numeric::from_parts(n, scale).ok_or_else(crate::numeric::overflow)
}

/// The year as people count: no year 0.
fn counted(year: i64) -> i64 {
    if year > 0 { year } else { year - 1 }
}

/// `extract(.. from date)`.
pub fn extract_date(name: &str, date: i64) -> Result<Option<Number>> {
    let field = field(name, "date")?;
    if !is_finite_date(date) {
        return Ok(of_infinity(field, date < 0));
    }
    let value = match field {
        Field::Epoch => date * 86_400 + UNIX_EPOCH_OFFSET_SECONDS,
        _ => day_field(field, date).ok_or_else(|| not_supported(name, "date"))?,
    };
    Ok(Some(Number::Short(whole(value))))
}

/// `extract(.. from time)`.
pub fn extract_time(name: &str, time: i64) -> Result<Numeric> {
    const TYPE: &str = "time without time zone";
    let field = field(name, TYPE)?;
    match field {
        Field::Epoch => scaled(i128::from(time), 6),
        _ => time_field(field, time)?.ok_or_else(|| not_supported(name, TYPE)),
    }
}

/// `extract(.. from timetz)`, whose clock is so many seconds ahead of UTC.
pub fn extract_timetz(name: &str, time: i64, offset: i64) -> Result<Numeric> {
    const TYPE: &str = "time with time zone";
    let what = field(name, TYPE)?;
    Ok(match (what, name.to_ascii_lowercase().as_str()) {
        (Field::Epoch, _) => {
            scaled(i128::from(time) - i128::from(offset) * i128::from(MICROS_PER_SECOND), 6)?
        }
        (Field::Zone, "timezone_h" | "timezone_hour") => whole(offset / 3600),
        (Field::Zone, "timezone_m" | "timezone_minute") => whole(offset / 60 % 60),
        (Field::Zone, _) => whole(offset),
        _ => time_field(what, time)?.ok_or_else(|| not_supported(name, TYPE))?,
    })
}

/// `extract(.. from timestamptz)`, as clocks of a zone show it; without one that is UTC.
pub fn extract_timestamptz(name: &str, timestamp: i64, zone: Option<&Zone>) -> Result<Option<Number>> {
    let what = field(name, "timestamp with time zone")?;
    if !is_finite_timestamp(timestamp) {
        return Ok(of_infinity(what, timestamp < 0));
    }
    let offset = zone.map_or(0, |zone| zone.offset_at(timestamp));
    let value = Ok(match (what, name.to_ascii_lowercase().as_str()) {
        (Field::Epoch, _) => return extract_timestamp(name, timestamp),
        (Field::Zone, "timezone_h" | "timezone_hour") => whole(offset / MICROS_PER_HOUR),
        (Field::Zone, "timezone_m" | "timezone_minute") => whole(offset / MICROS_PER_MINUTE % 60),
        (Field::Zone, _) => whole(offset / MICROS_PER_SECOND),
        _ => return extract_timestamp(name, zone.map_or(Ok(timestamp), |zone| zone.to_local(timestamp))?),
    });
    value.map(|n| Some(Number::Short(n)))
}

/// 0A000 of what a finite timestamp without a time zone has not.
pub fn check_unzoned(name: &str, timestamp: i64) -> Result<()> {
    const TYPE: &str = "timestamp without time zone";
    match field(name, TYPE)? {
        Field::Zone if is_finite_timestamp(timestamp) => Err(not_supported(name, TYPE)),
        _ => Ok(()),
    }
}

/// 0A000 of what no date has.
pub fn check_untimed(name: &str) -> Result<()> {
    match field(name, "date")? {
        Field::Microseconds
        | Field::Milliseconds
        | Field::Second
        | Field::Minute
        | Field::Hour
        | Field::Zone => Err(not_supported(name, "date")),
        _ => Ok(()),
    }
}

/// `extract(.. from timestamp)`; NULL for some fields of infinity.
pub fn extract_timestamp(name: &str, timestamp: i64) -> Result<Option<Number>> {
    let field = field(name, "timestamp without time zone")?;
    if !is_finite_timestamp(timestamp) {
        return Ok(of_infinity(field, timestamp < 0));
    }
    let (day, time) = (timestamp.div_euclid(MICROS_PER_DAY), timestamp.rem_euclid(MICROS_PER_DAY));
    let value = match field {
        Field::Zone => whole(0),
        Field::Epoch => scaled(i128::from(timestamp) + i128::from(UNIX_EPOCH_OFFSET_SECONDS) * 1_000_000, 6)?,
        Field::Julian => {
            let fraction = whole(time).div(whole(MICROS_PER_DAY))?;
            whole(day + JULIAN_OFFSET_DAYS).add(fraction)?
        }
        _ => match time_field(field, time)? {
            Some(n) => n,
            None => whole(day_field(field, day).ok_or_else(|| Error::internal("a field without value"))?),
        },
    };
    Ok(Some(Number::Short(value)))
}

fn time_field(field: Field, time: i64) -> Result<Option<Numeric>> {
    let (hour, minute, ..) = time_of_day(time);
    let micros = time % MICROS_PER_MINUTE;
    Ok(Some(match field {
        Field::Microseconds => whole(micros),
        Field::Milliseconds => scaled(i128::from(micros), 3)?,
        Field::Second => scaled(i128::from(micros), 6)?,
        Field::Minute => whole(minute),
        Field::Hour => whole(hour),
        _ => return Ok(None),
    }))
}

fn day_field(field: Field, days: i64) -> Option<i64> {
    let (year, month, day) = civil_from_days(days);
    Some(match field {
        Field::Day => i64::from(day),
        Field::Month => i64::from(month),
        Field::Quarter => i64::from((month - 1) / 3 + 1),
        Field::Year => counted(year),
        Field::Decade => year.div_euclid(10),
        Field::Century if year > 0 => (year + 99) / 100,
        Field::Century => -((99 - (year - 1)) / 100),
        Field::Millennium if year > 0 => (year + 999) / 1000,
        Field::Millennium => -((999 - (year - 1)) / 1000),
        Field::Week => iso_week(days).1,
        Field::IsoYear => counted(iso_week(days).0),
        Field::DayOfWeek => day_of_week(days),
        Field::IsoDayOfWeek => iso_day_of_week(days),
        Field::DayOfYear => day_of_year(days),
        Field::Julian => days + JULIAN_OFFSET_DAYS,
        _ => return None,
    })
}

/// 0 is Sunday.
pub(super) fn day_of_week(days: i64) -> i64 {
    (days + 6).rem_euclid(7) // 2000-01-01 was a Saturday
}
/// 1 is Monday, 7 Sunday.
pub(super) fn iso_day_of_week(days: i64) -> i64 {
    (days + 5).rem_euclid(7) + 1
}
/// From 1.
pub(super) fn day_of_year(days: i64) -> i64 {
    let (year, ..) = civil_from_days(days);
    days - days_from_civil(year, 1, 1) + 1
}
/// Year and week of ISO 8601: a week belongs to the year of its Thursday.
pub(super) fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days - iso_day_of_week(days) + 4;
    let (year, ..) = civil_from_days(thursday);
    (year, (thursday - days_from_civil(year, 1, 1)) / 7 + 1)
}

/// `extract(.. from interval)`.
pub fn extract_interval(name: &str, interval: Interval) -> Result<Numeric> {
    let field = field(name, "interval")?;
    let (years, months) = (i64::from(interval.months / 12), i64::from(interval.months % 12));
    Ok(match field {
        Field::Epoch => {
            // A year has 365.25 days here, a month 30.
            let days = 1461 * years + 120 * months + 4 * i64::from(interval.days);
            let micros = i128::from(days) * i128::from(MICROS_PER_DAY / 4) + i128::from(interval.micros);
            scaled(micros, 6)?
        }
        Field::Day => whole(i64::from(interval.days)),
        Field::Month => whole(months),
        Field::Quarter => whole(months / 3 + 1),
        Field::Year => whole(years),
        Field::Decade => whole(years / 10),
        Field::Century => whole(years / 100),
        Field::Millennium => whole(years / 1000),
        _ => time_field(field, interval.micros)?.ok_or_else(|| not_supported(name, "interval"))?,
    })
}

/// `date_trunc` of a timestamp with time zone: hours and less where they are, days and more by the clocks of the zone.
pub fn trunc_in_zone(name: &str, timestamp: i64, zone: Option<&Zone>) -> Result<i64> {
    let Some(zone) = zone.filter(|_| is_finite_timestamp(timestamp)) else { return trunc(name, timestamp) };
    let local = zone.to_local(timestamp)?;
    let start = trunc(name, local)?;
    match field(name, "timestamp with time zone")? {
        // Clocks that are turned back within the hour would be read as the later of both.
        Field::Microseconds | Field::Milliseconds | Field::Second | Field::Minute | Field::Hour => {
            checked_timestamp(timestamp.checked_sub(local - start))
        }
        _ => zone.to_utc(start),
    }
}

/// `date_trunc` of an interval.
pub fn trunc_interval(name: &str, interval: Interval) -> Result<Interval> {
    let field = field(name, "interval")?;
    let months = |of: i32| Interval { months: interval.months / of * of, days: 0, micros: 0 };
    let micros = |of: i64| Interval { micros: interval.micros / of * of, ..interval };
    Ok(match field {
        Field::Microseconds => interval,
        Field::Milliseconds => micros(1_000),
        Field::Second => micros(MICROS_PER_SECOND),
        Field::Minute => micros(MICROS_PER_MINUTE),
        Field::Hour => micros(MICROS_PER_HOUR),
        Field::Day => Interval { micros: 0, ..interval },
        Field::Month => months(1),
        Field::Quarter => months(3),
        Field::Year => months(12),
        Field::Decade => months(120),
        Field::Century => months(1_200),
        Field::Millennium => months(12_000),
        Field::Week => {
            return Err(not_supported(name, "interval").with_detail("Months usually have fractional weeks."));
        }
        _ => return Err(not_supported(name, "interval")),
    })
}

/// `date_trunc`.
pub fn trunc(name: &str, timestamp: i64) -> Result<i64> {
    const TYPE: &str = "timestamp without time zone";
    let field = field(name, TYPE)?;
    if !is_finite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    let days = timestamp.div_euclid(MICROS_PER_DAY);
    let (year, month, _) = civil_from_days(days);
    let day = |days: i64| days.checked_mul(MICROS_PER_DAY);
    let down_to = |unit: i64| timestamp.checked_sub(timestamp.rem_euclid(unit));
    // The first year of the span of that many years which contains this one; spans start with a
    // year 1 and, before Christ, are counted from there downwards.
    let first_of = |span: i64| day(days_from_civil((year - 1).div_euclid(span) * span + 1, 1, 1));
    // The first span of all begins before the first timestamp.
    checked_timestamp(match field {
        Field::Microseconds => Some(timestamp),
        Field::Milliseconds => down_to(1_000),
        Field::Second => down_to(MICROS_PER_SECOND),
        Field::Minute => down_to(MICROS_PER_MINUTE),
        Field::Hour => down_to(MICROS_PER_HOUR),
        Field::Day => day(days),
        Field::Week => day(days - iso_day_of_week(days) + 1),
        Field::Month => day(days_from_civil(year, month, 1)),
        Field::Quarter => day(days_from_civil(year, (month - 1) / 3 * 3 + 1, 1)),
        Field::Year => day(days_from_civil(year, 1, 1)),
        Field::Decade => day(days_from_civil(year.div_euclid(10) * 10, 1, 1)),
        Field::Century => first_of(100),
        Field::Millennium => first_of(1000),
        _ => return Err(not_supported(name, TYPE)),
    })
}
