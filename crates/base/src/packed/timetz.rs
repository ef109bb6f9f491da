//! `timetz`: a time of day with the offset of its clock from UTC.
//!
//! Kept as 12 bytes: the time that it is in UTC, beyond both ends of the day where need be, in microseconds (8), then how
//! far its clock is behind UTC in seconds (4); both as integers whose bytes are ordered. Of two that are the same moment the
//! one further east is less, as in PostgreSQL.

use crate::datetime::{
    DateOrder, Forms, Interval, MICROS_PER_DAY, MICROS_PER_SECOND, Styles, Zone, date_to_timestamp,
    is_finite_timestamp, parse_timetz, round_seconds, time_add, time_sub, timestamp_from_micros,
    write_interval, write_offset, write_time,
};
use crate::error::{Error, Result, SqlState};
use crate::wall;

/// Bytes of a value.
pub const LEN: usize = 12;

/// How far a clock may be from UTC, in seconds.
const OFFSET_SECONDS_MAX: i64 = 16 * 3600 - 1;

/// How far from UTC an interval says that a clock is, in seconds; 22023 of months and days.
pub fn offset_of(interval: Interval, styles: Styles) -> Result<i64> {
    if interval.months != 0 || interval.days != 0 {
        let mut shown = Vec::new();
        write_interval(&mut shown, interval, styles);
        let shown = String::from_utf8_lossy(&shown);
        let message = format!("interval time zone \"{shown}\" must not include months or days");
        return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    Ok(interval.micros / MICROS_PER_SECOND)
}

/// A value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeTz {
    /// Microseconds since midnight, as the clock shows them; 24:00 included.
    pub time: i64,
    /// Seconds that the clock is ahead of UTC.
    pub offset: i64,
}

impl TimeTz {
    /// The bytes.
    pub fn encode(self) -> [u8; LEN] {
        let utc = self.time - self.offset * MICROS_PER_SECOND;
        let mut bytes = [0; LEN];
        bytes[..8].copy_from_slice(&(utc ^ i64::MIN).to_be_bytes());
        bytes[8..].copy_from_slice(&((-self.offset) as i32 ^ i32::MIN).to_be_bytes());
        bytes
    }

    /// Of the bytes; `None` of such that are no value.
    pub fn decode(bytes: &[u8]) -> Option<TimeTz> {
        let (utc, zone) = bytes.split_first_chunk::<8>()?;
        let offset = -i64::from(i32::from_be_bytes(zone.try_into().ok()?) ^ i32::MIN);
        let utc = i64::from_be_bytes(*utc) ^ i64::MIN;
        let value = TimeTz { time: utc.checked_add(offset * MICROS_PER_SECOND)?, offset };
        value.is_valid().then_some(value)
    }

    fn is_valid(self) -> bool {
        (0..=MICROS_PER_DAY).contains(&self.time) && self.offset.abs() <= OFFSET_SECONDS_MAX
    }

    /// A time by the clocks of a zone, or of UTC, today.
    pub fn of_time(time: i64, zone: Option<&Zone>) -> TimeTz {
        let offset = zone.map_or(0, |zone| zone.offset_at(wall::system_micros()) / MICROS_PER_SECOND);
        TimeTz { time, offset }
    }

    /// What the clocks of a zone, or of UTC, show at a timestamp, which is finite.
    pub fn of_timestamp(timestamp: i64, zone: Option<&Zone>) -> TimeTz {
        let offset = zone.map_or(0, |zone| zone.offset_at(timestamp));
        let time = timestamp.saturating_add(offset).rem_euclid(MICROS_PER_DAY);
        TimeTz { time, offset: offset / MICROS_PER_SECOND }
    }

    /// With so many digits of seconds.
    pub fn rounded(self, digits: Option<u32>) -> TimeTz {
        match digits {
            Some(digits @ 0..6) => TimeTz { time: round_seconds(self.time, digits as u8), ..self },
            _ => self,
        }
    }

    /// What a clock so many seconds ahead of UTC shows at the same moment.
    pub fn shifted(self, offset: i64) -> TimeTz {
        let micros = self.time + (offset - self.offset) * MICROS_PER_SECOND;
        TimeTz { time: micros.rem_euclid(MICROS_PER_DAY), offset }
    }

    /// The same by the clocks of a named zone, now.
    pub fn in_zone(self, zone: &Zone) -> TimeTz {
        self.shifted(zone.offset_at(wall::system_micros()) / MICROS_PER_SECOND)
    }

    /// `timetz + interval`: months and days do not count.
    pub fn plus(self, interval: Interval) -> TimeTz {
        TimeTz { time: time_add(self.time, interval), ..self }
    }

    /// `timetz - interval`
    pub fn minus(self, interval: Interval) -> TimeTz {
        TimeTz { time: time_sub(self.time, interval), ..self }
    }

    /// The timestamp of this time on a day.
    pub fn on(self, date: i64) -> Result<i64> {
        let midnight = date_to_timestamp(date)?;
        if !is_finite_timestamp(midnight) {
            return Ok(midnight);
        }
        let utc = midnight.checked_add(self.time - self.offset * MICROS_PER_SECOND);
        timestamp_from_micros(utc.unwrap_or(i64::MAX - 1))
    }

    /// Appends the text form.
    pub fn write(self, out: &mut Vec<u8>) {
        write_time(out, self.time);
        write_offset(out, self.offset * MICROS_PER_SECOND);
    }

    /// Reads a text; where it names no zone, clocks are those of whoever reads on the day that it names, or today.
    pub fn parse(text: &str, forms: Forms<'_>) -> Result<TimeTz> {
        let (time, offset) = parse_timetz(text, forms.styles.order, |clock| match (forms.zone, clock) {
            (None, _) => Ok(0),
            (Some(zone), Some(clock)) => Ok(clock.saturating_sub(zone.to_utc(clock)?)),
            (Some(zone), None) => Ok(zone.offset_at(wall::system_micros())),
        })?;
        Ok(TimeTz { time, offset: offset / MICROS_PER_SECOND })
    }

    /// The same where the text says all; `None` where the zone of the session counts.
    pub fn parse_whole(text: &str, order: DateOrder) -> Result<Option<TimeTz>> {
        let mut whole = true;
        let (time, offset) = parse_timetz(text, order, |_| {
            whole = false;
            Ok(0)
        })?;
        Ok(whole.then_some(TimeTz { time, offset: offset / MICROS_PER_SECOND }))
    }

    /// Appends the binary form of the wire: the time, then seconds west of UTC.
    pub fn send(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.time.to_be_bytes());
        out.extend_from_slice(&((-self.offset) as i32).to_be_bytes());
    }

    /// Reads the binary form.
    pub fn receive(bytes: &[u8]) -> Result<TimeTz> {
        let wrong = || Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "incorrect binary data format");
        let (time, zone) = bytes.split_first_chunk::<8>().ok_or_else(wrong)?;
        let zone: [u8; 4] = zone.try_into().map_err(|_| wrong())?;
        let value = TimeTz { time: i64::from_be_bytes(*time), offset: -i64::from(i32::from_be_bytes(zone)) };
        if value.is_valid() {
            return Ok(value);
        }
        Err(match value.offset.abs() > OFFSET_SECONDS_MAX {
            true => Error::new(SqlState::new("22009"), "time zone displacement out of range"),
            false => Error::new(SqlState::DATETIME_FIELD_OVERFLOW, "time out of range"),
        })
    }
}
