//! `chrono`: `NaiveDate`, `NaiveTime`, `NaiveDateTime` (timestamp), `DateTime` (timestamptz), `TimeDelta` (interval).

use super::moments::{self, micros_of_day, unix_days, unix_micros};
use super::{out_of_range, whole_micros};
use crate::params::{Param, ParamRef};
use crate::row::FromDatum;
use chrono::{
    DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Timelike, Utc,
};
use planaria_base::{Datum, Result, Type};

const EPOCH: NaiveDate = NaiveDate::from_ymd_opt(1970, 1, 1).expect("a date");

impl Param for NaiveDate {
    fn as_param(&self) -> ParamRef<'_> {
        moments::date(self.signed_duration_since(EPOCH).num_days())
    }
}

impl FromDatum for NaiveDate {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let days = unix_days(value, ty, "NaiveDate")?;
        let date = TimeDelta::try_days(days).and_then(|days| EPOCH.checked_add_signed(days));
        date.ok_or_else(|| out_of_range(value, ty, "NaiveDate"))
    }
}

/// A leap second is the beginning of the next minute.
impl Param for NaiveTime {
    fn as_param(&self) -> ParamRef<'_> {
        let seconds = i64::from(self.num_seconds_from_midnight());
        moments::time(seconds * 1_000_000_000 + i64::from(self.nanosecond()))
    }
}

impl FromDatum for NaiveTime {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let micros = micros_of_day(value, ty, "NaiveTime")?;
        let (seconds, nanos) = ((micros / 1_000_000) as u32, (micros % 1_000_000 * 1_000) as u32);
        NaiveTime::from_num_seconds_from_midnight_opt(seconds, nanos)
            .ok_or_else(|| out_of_range(value, ty, "NaiveTime"))
    }
}

/// `timestamp`, without time zone.
impl Param for NaiveDateTime {
    fn as_param(&self) -> ParamRef<'_> {
        moments::timestamp(Some(self.and_utc().timestamp_micros()))
    }
}

impl FromDatum for NaiveDateTime {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let micros = unix_micros(value, ty, &Type::Timestamp, "NaiveDateTime")?;
        let moment = DateTime::from_timestamp_micros(micros);
        moment.map(|moment| moment.naive_utc()).ok_or_else(|| out_of_range(value, ty, "NaiveDateTime"))
    }
}

/// `timestamptz`: the moment, whatever the zone.
impl<Tz: TimeZone> Param for DateTime<Tz> {
    fn as_param(&self) -> ParamRef<'_> {
        moments::timestamptz(Some(self.timestamp_micros()))
    }
}

impl FromDatum for DateTime<Utc> {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let micros = unix_micros(value, ty, &Type::TimestampTz, "DateTime")?;
        DateTime::from_timestamp_micros(micros).ok_or_else(|| out_of_range(value, ty, "DateTime"))
    }
}

/// At offset 0: a `timestamptz` is a moment, and keeps no zone.
impl FromDatum for DateTime<FixedOffset> {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        DateTime::<Utc>::from_datum(value, ty).map(|moment| moment.fixed_offset())
    }
}

/// `interval` of hours, minutes and seconds.
impl Param for TimeDelta {
    fn as_param(&self) -> ParamRef<'_> {
        let nanos = i128::from(self.num_seconds()) * 1_000_000_000 + i128::from(self.subsec_nanos());
        moments::interval(Some(nanos))
    }
}

/// Of an interval without months and days.
impl FromDatum for TimeDelta {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        whole_micros(value, ty, "TimeDelta").map(TimeDelta::microseconds)
    }
}
