use super::*;
use proptest::prelude::*;

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn the_calendar_has_no_gaps() {
    assert_eq!(days_from_civil(2000, 1, 1), 0);
    assert_eq!(civil_from_days(DATE_MIN), (-4713, 11, 24));
    assert_eq!(civil_from_days(DATE_END - 1), (5_874_897, 12, 31));
    let mut expected = civil_from_days(-1_000_000);
    for days in -1_000_000..1_000_000 {
        assert_eq!(civil_from_days(days), expected);
        assert_eq!(days_from_civil(expected.0, expected.1, expected.2), days);
        let (year, month, day) = expected;
        expected = if day < days_in_month(year, month) {
            (year, month, day + 1)
        } else if month < 12 {
            (year, month + 1, 1)
        } else {
            (year + 1, 1, 1)
        };
    }
}

proptest! {
    #[test]
    fn what_is_printed_reads_back(days in DATE_MIN..DATE_END, micros in TIMESTAMP_MIN..TIMESTAMP_END, interval in any::<i32>(), scale in 0u32..6) {
        prop_assert_eq!(parse_date(&text(|o| write_date(o, days))).unwrap(), days);
        for with_zone in [false, true] {
            let shown = text(|o| write_timestamp(o, micros, with_zone));
            prop_assert_eq!(parse_timestamp(&shown, with_zone).unwrap(), micros);
        }
        let interval = i64::from(interval) * 10i64.pow(scale);
        prop_assert_eq!(parse_interval(&text(|o| write_interval(o, interval))).unwrap(), interval);
    }

    #[test]
    fn truncation_is_the_start_of_the_field(micros in TIMESTAMP_MIN / 2..TIMESTAMP_END / 2) {
        for field in ["second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade", "century"] {
            let start = trunc(field, micros).unwrap();
            prop_assert!(start <= micros);
            prop_assert_eq!(trunc(field, start).unwrap(), start);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-+:./ 0-9TZapmJanBC]{0,24}") {
        let _ = parse_date(&text);
        let _ = parse_timestamp(&text, true);
        let _ = parse_interval(&text);
    }
}

#[test]
fn what_depends_on_the_clock_is_refused() {
    for word in ["now", "today", "yesterday"] {
        assert_eq!(parse_date(word).unwrap_err().sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
    }
    assert_eq!(parse_interval("1 month").unwrap_err().sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
    let zone = parse_timestamp("2024-01-01 10:00 Europe/Berlin", true).unwrap_err();
    assert_eq!(zone.sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
}

#[test]
fn infinity_stays_infinite() {
    assert_eq!(timestamp_add(TIMESTAMP_INFINITY, 5).unwrap(), TIMESTAMP_INFINITY);
    assert_eq!(timestamp_to_date(TIMESTAMP_MINUS_INFINITY), DATE_MINUS_INFINITY);
    assert_eq!(date_to_timestamp(DATE_INFINITY).unwrap(), TIMESTAMP_INFINITY);
}
