//! Dates and timestamps as text: ISO, `BC` behind years before 1.

use super::from_char::Moment;
use super::zone::Zone;
use super::{
    DATE_INFINITY, DATE_MINUS_INFINITY, MICROS_PER_DAY, TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY,
    civil_from_days, time_of_day,
};

/// Appends a date.
pub fn write_date(out: &mut Vec<u8>, date: i64) {
    match date {
        DATE_INFINITY => out.extend_from_slice(b"infinity"),
        DATE_MINUS_INFINITY => out.extend_from_slice(b"-infinity"),
        _ => {
            let before_christ = write_day(out, date);
            if before_christ {
                out.extend_from_slice(b" BC");
            }
        }
    }
}

/// Appends a timestamp, for `timestamptz` with its offset `+00`.
pub fn write_timestamp(out: &mut Vec<u8>, timestamp: i64, with_zone: bool) {
    write_clock_of(out, timestamp, with_zone.then_some(0));
}

/// Appends a `timestamptz` as clocks of a zone show it, with their offset; without a zone that is UTC.
pub fn write_timestamptz(out: &mut Vec<u8>, timestamp: i64, zone: Option<&Zone>) {
    let offset = zone.map_or(0, |zone| zone.offset_at(timestamp));
    // The ends of time are out of the zone's range, and shown as they are in UTC.
    let Some(local) = timestamp.checked_add(offset) else { return write_timestamp(out, timestamp, true) };
    write_clock_of(out, local, Some(offset));
}

fn write_clock_of(out: &mut Vec<u8>, timestamp: i64, offset: Option<i64>) {
    match timestamp {
        TIMESTAMP_INFINITY => out.extend_from_slice(b"infinity"),
        TIMESTAMP_MINUS_INFINITY => out.extend_from_slice(b"-infinity"),
        _ => {
            let before_christ = write_day(out, timestamp.div_euclid(MICROS_PER_DAY));
            out.push(b' ');
            write_time(out, timestamp.rem_euclid(MICROS_PER_DAY));
            match offset {
                None => {}
                Some(0) => out.extend_from_slice(b"+00"),
                Some(offset) => super::zone::write_offset(out, offset),
            }
            if before_christ {
                out.extend_from_slice(b" BC");
            }
        }
    }
}

/// Appends a moment as JSON has it: as in XML, with a `T` and the minutes of each offset.
pub fn write_moment(out: &mut Vec<u8>, moment: Moment) {
    let (timestamp, offset) = match moment {
        Moment::Date(date) => return write_date(out, date),
        Moment::Time(time) => return write_time(out, time),
        Moment::TimeTz(time, offset) => {
            write_time(out, time);
            return super::zone::write_long_offset(out, offset);
        }
        Moment::Timestamp(timestamp) => (timestamp, None),
        Moment::TimestampTz(utc, offset) => (utc.saturating_add(offset), Some(offset)),
    };
    let before_christ = write_day(out, timestamp.div_euclid(MICROS_PER_DAY));
    out.push(b'T');
    write_time(out, timestamp.rem_euclid(MICROS_PER_DAY));
    if let Some(offset) = offset {
        super::zone::write_long_offset(out, offset);
    }
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

/// `YYYY-MM-DD`; whether the year is before 1.
fn write_day(out: &mut Vec<u8>, days: i64) -> bool {
    let (year, month, day) = civil_from_days(days);
    let shown = if year > 0 { year } else { 1 - year };
    if shown < 10_000 {
        two_digits(out, shown / 100);
        two_digits(out, shown % 100);
    } else {
        crate::text_io::write_int(out, shown);
    }
    out.push(b'-');
    two_digits(out, i64::from(month));
    out.push(b'-');
    two_digits(out, i64::from(day));
    year <= 0
}

/// `HH:MM:SS` with the fraction as long as it must be.
pub fn write_time(out: &mut Vec<u8>, micros: i64) {
    write_clock(out, time_of_day(micros));
}

/// The same of its parts, whose sign does not count.
pub(super) fn write_clock(out: &mut Vec<u8>, (hour, minute, second, fraction): (i64, i64, i64, i64)) {
    match hour.abs() {
        hour @ 0..100 => two_digits(out, hour),
        // Of an interval.
        hour => crate::text_io::write_int(out, hour),
    }
    out.push(b':');
    two_digits(out, minute.abs());
    out.push(b':');
    two_digits(out, second.abs());
    write_fraction(out, fraction.abs());
}

/// `.ffffff` without trailing zeros, nothing for zero.
pub(super) fn write_fraction(out: &mut Vec<u8>, micros: i64) {
    if micros != 0 {
        out.push(b'.');
        two_digits(out, micros / 10_000);
        two_digits(out, micros / 100 % 100);
        two_digits(out, micros % 100);
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
}

/// A number below 100 with its leading zero; this is what timestamps spend their time on.
fn two_digits(out: &mut Vec<u8>, n: i64) {
    out.extend([b'0' + (n / 10) as u8, b'0' + (n % 10) as u8]);
}
