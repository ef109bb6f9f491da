//! `time`: `Date`, `Time`, `PrimitiveDateTime` (timestamp), `OffsetDateTime` and `UtcDateTime` (timestamptz), `Duration`
//! (interval).

use super::moments::{self, micros_of_day, unix_days, unix_micros};
use super::{out_of_range, whole_micros};
use crate::params::{Param, ParamRef};
use crate::row::FromDatum;
use planaria_base::{Datum, Result, Type};
use time::{Date, Duration, OffsetDateTime, PrimitiveDateTime, Time, UtcDateTime};

/// The Julian day of 1970-01-01.
const EPOCH_JULIAN_DAY: i64 = 2_440_588;

fn moment(unix_micros: i64) -> Option<UtcDateTime> {
    UtcDateTime::from_unix_timestamp_nanos(i128::from(unix_micros) * 1_000).ok()
}

impl Param for Date {
    fn as_param(&self) -> ParamRef<'_> {
        moments::date(i64::from(self.to_julian_day()) - EPOCH_JULIAN_DAY)
    }
}

impl FromDatum for Date {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let day = i32::try_from(unix_days(value, ty, "Date")? + EPOCH_JULIAN_DAY).ok();
        let date = day.and_then(|day| Date::from_julian_day(day).ok());
        date.ok_or_else(|| out_of_range(value, ty, "Date"))
    }
}

impl Param for Time {
    fn as_param(&self) -> ParamRef<'_> {
        let (hour, minute, second, nanos) = self.as_hms_nano();
        let seconds = (i64::from(hour) * 60 + i64::from(minute)) * 60 + i64::from(second);
        moments::time(seconds * 1_000_000_000 + i64::from(nanos))
    }
}

impl FromDatum for Time {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let micros = micros_of_day(value, ty, "Time")?;
        moment(micros).map(UtcDateTime::time).ok_or_else(|| out_of_range(value, ty, "Time"))
    }
}

/// `timestamp`, without time zone.
impl Param for PrimitiveDateTime {
    fn as_param(&self) -> ParamRef<'_> {
        moments::timestamp(moments::cut(self.as_utc().unix_timestamp_nanos()))
    }
}

impl FromDatum for PrimitiveDateTime {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let micros = unix_micros(value, ty, &Type::Timestamp, "PrimitiveDateTime")?;
        let at = moment(micros).ok_or_else(|| out_of_range(value, ty, "PrimitiveDateTime"))?;
        Ok(PrimitiveDateTime::new(at.date(), at.time()))
    }
}

/// `timestamptz`: the moment, whatever the offset.
impl Param for OffsetDateTime {
    fn as_param(&self) -> ParamRef<'_> {
        moments::timestamptz(moments::cut(self.unix_timestamp_nanos()))
    }
}

/// At offset 0: a `timestamptz` is a moment, and keeps no zone.
impl FromDatum for OffsetDateTime {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        UtcDateTime::from_datum(value, ty).map(OffsetDateTime::from)
    }
}

/// `timestamptz`
impl Param for UtcDateTime {
    fn as_param(&self) -> ParamRef<'_> {
        moments::timestamptz(moments::cut(self.unix_timestamp_nanos()))
    }
}

impl FromDatum for UtcDateTime {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let micros = unix_micros(value, ty, &Type::TimestampTz, "UtcDateTime")?;
        moment(micros).ok_or_else(|| out_of_range(value, ty, "UtcDateTime"))
    }
}

/// `interval` of hours, minutes and seconds.
impl Param for Duration {
    fn as_param(&self) -> ParamRef<'_> {
        moments::interval(Some(self.whole_nanoseconds()))
    }
}

/// Of an interval without months and days.
impl FromDatum for Duration {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        whole_micros(value, ty, "Duration").map(Duration::microseconds)
    }
}
