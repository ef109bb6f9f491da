//! `jiff`: `civil::Date`, `civil::Time`, `civil::DateTime` (timestamp), `Timestamp` and `ZonedDateTime` (timestamptz), `Span` and
//! `SignedDuration` (interval).

use super::moments::{self, micros_of_day, unix_days, unix_micros};
use super::{INTERVAL_OUT_OF_RANGE, out_of_range, whole_micros};
use crate::params::{Param, ParamRef};
use crate::row::{FromDatum, mismatch};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Span, Timestamp, ZonedDateTime, civil};
use planaria_base::datetime::Interval;
use planaria_base::{Datum, Result, Type};

const NANOS_PER_DAY: i128 = 86_400_000_000_000;

/// Nanoseconds since 1970 by the clock on the wall.
fn wall_nanos(at: civil::DateTime) -> Option<i128> {
    Some(i128::from(unix_day(at.date())) * NANOS_PER_DAY + i128::from(nanos_of_day(at.time())))
}

fn unix_day(date: civil::Date) -> i64 {
    let (year, month, day) = (i64::from(date.year()), date.month() as u32, date.day() as u32);
    // Counted from 2000, as all dates are here.
    planaria_base::datetime::days_from_civil(year, month, day) + UNIX_TO_2000
}

const UNIX_TO_2000: i64 = planaria_base::datetime::UNIX_EPOCH_OFFSET_SECONDS / 86_400;

fn nanos_of_day(time: civil::Time) -> i64 {
    let seconds = (i64::from(time.hour()) * 60 + i64::from(time.minute())) * 60 + i64::from(time.second());
    seconds * 1_000_000_000 + i64::from(time.subsec_nanosecond())
}

/// The wall's clock in UTC, so many microseconds after 1970.
fn civil(micros: i64) -> Option<civil::DateTime> {
    Timestamp::from_microsecond(micros).ok().map(|at| Offset::UTC.to_datetime(at))
}

impl Param for civil::Date {
    fn as_param(&self) -> ParamRef<'_> {
        moments::date(unix_day(*self))
    }
}

impl FromDatum for civil::Date {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let days = unix_days(value, ty, "Date")?;
        let date = days.checked_mul(86_400_000_000).and_then(civil);
        date.map(civil::DateTime::date).ok_or_else(|| out_of_range(value, ty, "Date"))
    }
}

impl Param for civil::Time {
    fn as_param(&self) -> ParamRef<'_> {
        moments::time(nanos_of_day(*self))
    }
}

impl FromDatum for civil::Time {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let micros = micros_of_day(value, ty, "Time")?;
        civil(micros).map(civil::DateTime::time).ok_or_else(|| out_of_range(value, ty, "Time"))
    }
}

/// `timestamp`, without time zone.
impl Param for civil::DateTime {
    fn as_param(&self) -> ParamRef<'_> {
        moments::timestamp(wall_nanos(*self).and_then(moments::cut))
    }
}

impl FromDatum for civil::DateTime {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let micros = unix_micros(value, ty, &Type::Timestamp, "DateTime")?;
        civil(micros).ok_or_else(|| out_of_range(value, ty, "DateTime"))
    }
}

/// `timestamptz`
impl Param for Timestamp {
    fn as_param(&self) -> ParamRef<'_> {
        moments::timestamptz(moments::cut(self.as_nanosecond()))
    }
}

impl FromDatum for Timestamp {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let micros = unix_micros(value, ty, &Type::TimestampTz, "Timestamp")?;
        Timestamp::from_microsecond(micros).map_err(|_| out_of_range(value, ty, "Timestamp"))
    }
}

/// `timestamptz`: the moment, whatever the zone.
impl Param for ZonedDateTime {
    fn as_param(&self) -> ParamRef<'_> {
        moments::timestamptz(moments::cut(self.timestamp().as_nanosecond()))
    }
}

/// In UTC: a `timestamptz` is a moment, and keeps no zone.
impl FromDatum for ZonedDateTime {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        Timestamp::from_datum(value, ty).map(|at| at.to_zoned_datetime(TimeZone::UTC))
    }
}

/// `interval`: years and months, weeks and days, and the rest, each of its own.
impl Param for Span {
    fn as_param(&self) -> ParamRef<'_> {
        let months = i64::from(self.get_years()) * 12 + i64::from(self.get_months());
        let days = i64::from(self.get_weeks()) * 7 + i64::from(self.get_days());
        let seconds = (i128::from(self.get_hours()) * 60 + i128::from(self.get_minutes())) * 60
            + i128::from(self.get_seconds());
        let nanos = seconds * 1_000_000_000
            + i128::from(self.get_milliseconds()) * 1_000_000
            + i128::from(self.get_microseconds()) * 1_000
            + i128::from(self.get_nanoseconds());
        match (i32::try_from(months), i32::try_from(days), i64::try_from(nanos / 1_000)) {
            (Ok(months), Ok(days), Ok(micros)) => ParamRef::Interval(Interval { months, days, micros }),
            _ => INTERVAL_OUT_OF_RANGE,
        }
    }
}

/// In months, days and microseconds. A span has one sign: 22008 for an interval of several.
impl FromDatum for Span {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let Datum::Interval(of) = value else { return mismatch(value, ty, "Span") };
        let signs = [i64::from(of.months).signum(), i64::from(of.days).signum(), of.micros.signum()];
        if signs.contains(&1) && signs.contains(&-1) {
            return Err(out_of_range(value, ty, "Span").with_hint("Read it as planaria::Interval."));
        }
        let span = Span::new().try_months(of.months).and_then(|span| span.try_days(of.days));
        let span = span.and_then(|span| span.try_microseconds(of.micros));
        span.map_err(|_| out_of_range(value, ty, "Span"))
    }
}

/// `interval` of hours, minutes and seconds.
impl Param for SignedDuration {
    fn as_param(&self) -> ParamRef<'_> {
        moments::interval(Some(self.as_nanos()))
    }
}

/// Of an interval without months and days.
impl FromDatum for SignedDuration {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        whole_micros(value, ty, "SignedDuration").map(SignedDuration::from_micros)
    }
}
