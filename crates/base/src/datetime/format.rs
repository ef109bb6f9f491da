//! Dates and timestamps as text, in each [`DateForm`]; `BC` behind years before 1.

use super::field::day_of_week;
use super::from_char::Moment;
use super::style::{DateForm, DateOrder, Forms, Styles};
use super::to_char::{DAYS, MONTHS};
use super::{
    DATE_INFINITY, DATE_MINUS_INFINITY, MICROS_PER_DAY, TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY,
    civil_from_days, time_of_day,
};

/// Appends a date.
#[inline]
pub fn write_date(out: &mut Vec<u8>, date: i64, styles: Styles) {
    if styles.dates != DateForm::Iso {
        return write_date_otherwise(out, date, styles);
    }
    write_iso_date(out, date);
}

fn write_iso_date(out: &mut Vec<u8>, date: i64) {
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

/// Appends a timestamp without time zone.
#[inline]
pub fn write_timestamp(out: &mut Vec<u8>, timestamp: i64, styles: Styles) {
    if styles.dates != DateForm::Iso {
        return write_timestamp_otherwise(out, timestamp, styles, "");
    }
    write_clock_of(out, timestamp, None);
}

/// Appends a `timestamptz` as clocks of a zone show it, with their offset; without a zone that is UTC.
pub fn write_timestamptz(out: &mut Vec<u8>, timestamp: i64, forms: Forms<'_>) {
    let offset = forms.zone.map_or(0, |zone| zone.offset_at(timestamp));
    // The ends of time are out of the zone's range, and shown as they are in UTC.
    let (local, offset) = timestamp.checked_add(offset).map_or((timestamp, 0), |local| (local, offset));
    if forms.styles.dates != DateForm::Iso {
        let called = forms.zone.map_or_else(|| "UTC".to_owned(), |zone| zone.called_at(timestamp).0);
        return write_timestamp_otherwise(out, local, forms.styles, &called);
    }
    write_clock_of(out, local, Some(offset));
}

/// A date in a form that is not ISO's.
#[cold]
fn write_date_otherwise(out: &mut Vec<u8>, date: i64, styles: Styles) {
    if matches!(date, DATE_INFINITY | DATE_MINUS_INFINITY) {
        return write_iso_date(out, date);
    }
    if write_day_otherwise(out, date, styles, if styles.dates == DateForm::Sql { b'/' } else { b'-' }) {
        out.extend_from_slice(b" BC");
    }
}

/// A timestamp in such a form, with what its clock is called, if it has a zone.
#[cold]
fn write_timestamp_otherwise(out: &mut Vec<u8>, local: i64, styles: Styles, called: &str) {
    if matches!(local, TIMESTAMP_INFINITY | TIMESTAMP_MINUS_INFINITY) {
        return write_clock_of(out, local, None);
    }
    let (days, time) = (local.div_euclid(MICROS_PER_DAY), local.rem_euclid(MICROS_PER_DAY));
    let before_christ = if styles.dates == DateForm::Postgres {
        let (year, month, day) = civil_from_days(days);
        out.extend_from_slice(&DAYS[day_of_week(days) as usize].as_bytes()[..3]);
        out.push(b' ');
        let month = &MONTHS[month as usize - 1].as_bytes()[..3];
        if styles.order == DateOrder::Dmy {
            two_digits(out, i64::from(day));
            out.push(b' ');
            out.extend_from_slice(month);
        } else {
            out.extend_from_slice(month);
            out.push(b' ');
            two_digits(out, i64::from(day));
        }
        out.push(b' ');
        write_time(out, time);
        out.push(b' ');
        write_year(out, year)
    } else {
        let before_christ = write_day_otherwise(out, days, styles, b'/');
        out.push(b' ');
        write_time(out, time);
        before_christ
    };
    if !called.is_empty() {
        out.push(b' ');
        out.extend_from_slice(called.as_bytes());
    }
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

/// The day with its year behind; whether that is before 1.
fn write_day_otherwise(out: &mut Vec<u8>, days: i64, styles: Styles, between: u8) -> bool {
    let (year, month, day) = civil_from_days(days);
    let (month, day) = (i64::from(month), i64::from(day));
    let (first, second, between) = match (styles.dates, styles.order) {
        (DateForm::German, _) => (day, month, b'.'),
        (_, DateOrder::Dmy) => (day, month, between),
        _ => (month, day, between),
    };
    two_digits(out, first);
    out.push(between);
    two_digits(out, second);
    out.push(between);
    write_year(out, year)
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
        Moment::Date(date) => return write_iso_date(out, date),
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
    let before_christ = write_year(out, year);
    out.push(b'-');
    two_digits(out, i64::from(month));
    out.push(b'-');
    two_digits(out, i64::from(day));
    before_christ
}

/// A year with four digits or more; whether it is before 1.
#[inline]
fn write_year(out: &mut Vec<u8>, year: i64) -> bool {
    let shown = if year > 0 { year } else { 1 - year };
    if shown < 10_000 {
        two_digits(out, shown / 100);
        two_digits(out, shown % 100);
    } else {
        crate::text_io::write_int(out, shown);
    }
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
