//! Times of day: microseconds since midnight, 24:00 included.

use super::{
    Interval, MICROS_PER_DAY, MICROS_PER_HOUR, MICROS_PER_MINUTE, is_finite_timestamp, out_of_range,
};
use crate::error::Result;

/// `time + interval`: the days of an interval do not count, and after midnight comes 0:00.
pub const fn time_add(time: i64, interval: Interval) -> i64 {
    // Two summands below a day, so that nothing overflows.
    (time + interval.micros % MICROS_PER_DAY).rem_euclid(MICROS_PER_DAY)
}

/// `time - interval`.
pub const fn time_sub(time: i64, interval: Interval) -> i64 {
    (time - interval.micros % MICROS_PER_DAY).rem_euclid(MICROS_PER_DAY)
}

/// A time that comes as its number of microseconds.
pub fn time_from_micros(micros: i64) -> Result<i64> {
    if (0..=MICROS_PER_DAY).contains(&micros) { Ok(micros) } else { Err(out_of_range("time out of range")) }
}

/// An interval as a time: its hours and less, those of a day.
pub const fn time_of_interval(interval: Interval) -> i64 {
    interval.micros.rem_euclid(MICROS_PER_DAY)
}

/// What clocks show at a timestamp; `None` of infinity.
pub const fn time_of_timestamp(timestamp: i64) -> Option<i64> {
    if is_finite_timestamp(timestamp) { Some(timestamp.rem_euclid(MICROS_PER_DAY)) } else { None }
}

/// `make_time(hour, minute, second)`; the seconds have a fraction.
pub fn make_time(hour: i64, minute: i64, second: f64) -> Result<i64> {
    let micros = (second * 1e6).round_ties_even();
    let in_range = (0..=24).contains(&hour) && (0..60).contains(&minute) && (0.0..=60e6).contains(&micros);
    let time = if in_range { hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + micros as i64 } else { 0 };
    if !in_range || time > MICROS_PER_DAY {
        let mut shown = Vec::new();
        crate::text_io::write_float(&mut shown, second);
        let second = String::from_utf8_lossy(&shown).into_owned();
        return Err(out_of_range(format!("time field value out of range: {hour}:{minute:02}:{second:0>2}")));
    }
    Ok(time)
}
