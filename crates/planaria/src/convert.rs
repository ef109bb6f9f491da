//! Values of other crates as parameters, and columns as values of theirs: a cargo feature for each crate.
//!
//! * What a type of SQL holds and the other type cannot, or the other way round, is an error (22003, 22008), never another
//!   value. The one exception: times that are finer than a microsecond are cut to it, towards the past, as PostgreSQL's
//!   drivers do; otherwise nobody could store the time of a clock.
//! * A timestamp without time zone is none with, nor the other way round: 42804.
//! * NULL is `Option::None`, an array a `Vec`.

#[cfg(feature = "chrono")]
mod chrono;
#[cfg(feature = "jiff")]
mod jiff;
#[cfg(feature = "serde_json")]
mod json;
#[cfg(feature = "rust_decimal")]
mod rust_decimal;
#[cfg(feature = "time")]
mod time;
#[cfg(feature = "uuid")]
mod uuid;

#[cfg(feature = "serde_json")]
pub use json::Json;

use crate::params::{Param, ParamRef};
use crate::row::{FromDatum, mismatch};
use planaria_base::datetime::Interval;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use std::time::Duration;

/// 22008, or 22003 for numbers: `value` has no place in what it should become.
#[cold]
pub(crate) fn out_of_range(value: &Datum, ty: &Type, wanted: &str) -> Error {
    let state = match value {
        Datum::Numeric(_) | Datum::Long(_) | Datum::Float(_) => SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        _ => SqlState::DATETIME_FIELD_OVERFLOW,
    };
    Error::new(state, format!("{} is out of range for {wanted}", value.display(ty)))
}

pub(crate) const INTERVAL_OUT_OF_RANGE: ParamRef<'static> =
    ParamRef::Refused(SqlState::DATETIME_FIELD_OVERFLOW, "interval out of range");

/// The microseconds of an interval that has nothing else.
pub(crate) fn whole_micros(value: &Datum, ty: &Type, wanted: &str) -> Result<i64> {
    match value {
        Datum::Interval(Interval { months: 0, days: 0, micros }) => Ok(*micros),
        Datum::Interval(_) => {
            let message =
                format!("interval '{}' has no fixed length: it has months or days", value.display(ty));
            Err(Error::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
                .with_hint("Read it as planaria::Interval, or select extract(epoch FROM ..)."))
        }
        other => mismatch(other, ty, wanted),
    }
}

/// An interval of hours, minutes and seconds.
impl Param for Duration {
    fn as_param(&self) -> ParamRef<'_> {
        match i64::try_from(self.as_micros()) {
            Ok(micros) => ParamRef::Interval(Interval::of_micros(micros)),
            Err(_) => INTERVAL_OUT_OF_RANGE,
        }
    }
}

/// Of an interval without months and days, not below zero.
impl FromDatum for Duration {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        let micros = whole_micros(value, ty, "Duration")?;
        let micros = u64::try_from(micros).map_err(|_| out_of_range(value, ty, "Duration"))?;
        Ok(Duration::from_micros(micros))
    }
}

/// What the crates of dates and times share: SQL's numbers, and those of 1970.
#[cfg(any(feature = "chrono", feature = "jiff", feature = "time"))]
pub(crate) mod moments {
    use super::{Datum, INTERVAL_OUT_OF_RANGE, Result, SqlState, Type, mismatch, out_of_range};
    use crate::params::ParamRef;
    use planaria_base::datetime::{
        MICROS_PER_DAY, UNIX_EPOCH_OFFSET_SECONDS, is_finite_date, is_finite_timestamp, timestamp_from_micros,
    };

    const TIMESTAMP_OUT_OF_RANGE: ParamRef<'static> =
        ParamRef::Refused(SqlState::DATETIME_FIELD_OVERFLOW, "timestamp out of range");
    const EPOCH_DAYS: i64 = UNIX_EPOCH_OFFSET_SECONDS / 86_400;
    const EPOCH_MICROS: i64 = UNIX_EPOCH_OFFSET_SECONDS * 1_000_000;

    /// A date by its days since 1970-01-01.
    pub(crate) fn date(unix_days: i64) -> ParamRef<'static> {
        ParamRef::Date(unix_days - EPOCH_DAYS)
    }

    /// A time of day by its nanoseconds since midnight.
    pub(crate) fn time(nanos: i64) -> ParamRef<'static> {
        ParamRef::Time(nanos / 1_000)
    }

    fn since_2000(unix_micros: Option<i64>) -> Option<i64> {
        let micros = unix_micros?.checked_sub(EPOCH_MICROS)?;
        (is_finite_timestamp(micros) && timestamp_from_micros(micros).is_ok()).then_some(micros)
    }

    /// A moment by its microseconds since 1970; `None` where they are too many.
    pub(crate) fn timestamptz(unix_micros: Option<i64>) -> ParamRef<'static> {
        since_2000(unix_micros).map_or(TIMESTAMP_OUT_OF_RANGE, ParamRef::TimestampTz)
    }

    /// The same of a clock on the wall.
    pub(crate) fn timestamp(unix_micros: Option<i64>) -> ParamRef<'static> {
        since_2000(unix_micros).map_or(TIMESTAMP_OUT_OF_RANGE, ParamRef::Timestamp)
    }

    /// Days since 1970-01-01; the infinities are out of range.
    pub(crate) fn unix_days(value: &Datum, ty: &Type, wanted: &str) -> Result<i64> {
        match (value, ty.plain()) {
            (Datum::Int(days), Type::Date) if is_finite_date(*days) => Ok(days + EPOCH_DAYS),
            (Datum::Int(_), Type::Date) => Err(out_of_range(value, ty, wanted)),
            _ => mismatch(value, ty, wanted),
        }
    }

    /// Microseconds since midnight, below those of a day: 24:00 is out of range.
    pub(crate) fn micros_of_day(value: &Datum, ty: &Type, wanted: &str) -> Result<i64> {
        match (value, ty.plain()) {
            (Datum::Int(micros), Type::Time) if (0..MICROS_PER_DAY).contains(micros) => Ok(*micros),
            (Datum::Int(_), Type::Time) => Err(out_of_range(value, ty, wanted)),
            _ => mismatch(value, ty, wanted),
        }
    }

    /// Microseconds since 1970 of a value of type `exactly`; the infinities are out of range.
    pub(crate) fn unix_micros(value: &Datum, ty: &Type, exactly: &Type, wanted: &str) -> Result<i64> {
        match value {
            Datum::Int(micros) if ty.plain() == exactly => {
                let finite = is_finite_timestamp(*micros).then_some(*micros);
                finite
                    .and_then(|micros| micros.checked_add(EPOCH_MICROS))
                    .ok_or_else(|| out_of_range(value, ty, wanted))
            }
            _ => mismatch(value, ty, wanted),
        }
    }

    /// Nanoseconds cut to microseconds, towards the past.
    #[cfg(any(feature = "jiff", feature = "time"))]
    pub(crate) fn cut(nanos: i128) -> Option<i64> {
        i64::try_from(nanos.div_euclid(1_000)).ok()
    }

    /// A signed duration in nanoseconds as an interval, cut towards zero.
    pub(crate) fn interval(nanos: Option<i128>) -> ParamRef<'static> {
        match nanos.and_then(|nanos| i64::try_from(nanos / 1_000).ok()) {
            Some(micros) => ParamRef::Interval(super::Interval::of_micros(micros)),
            None => INTERVAL_OUT_OF_RANGE,
        }
    }
}
