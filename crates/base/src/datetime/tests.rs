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
    fn what_is_printed_reads_back(days in DATE_MIN..DATE_END, micros in TIMESTAMP_MIN..TIMESTAMP_END, interval in any::<(i32, i32, i64)>()) {
        prop_assert_eq!(parse_date(&text(|o| write_date(o, days, Styles::DEFAULT)), DateOrder::Mdy).unwrap(), days);
        let shown = text(|o| write_timestamp(o, micros, Styles::DEFAULT));
        prop_assert_eq!(parse_timestamp(&shown, DateOrder::Mdy).unwrap(), micros);
        let shown = text(|o| write_timestamptz(o, micros, Forms::default()));
        prop_assert_eq!(parse_timestamptz(&shown, Forms::default()).unwrap(), micros);
        let (months, days, micros) = interval;
        // Hours are read up to 2^31 by a million.
        let interval = Interval { months, days, micros: micros / 2 };
        prop_assert_eq!(parse_interval(&text(|o| write_interval(o, interval, Styles::DEFAULT)), IntervalForm::Postgres).unwrap(), interval);
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
        let _ = parse_date(&text, DateOrder::Dmy);
        let _ = parse_timestamptz(&text, Forms::default());
        let _ = parse_interval(&text, IntervalForm::SqlStandard);
    }
}

#[test]
fn what_is_no_date_is_found_when_it_comes_as_a_number() {
    for days in [DATE_MIN, 0, DATE_END - 1, DATE_INFINITY, DATE_MINUS_INFINITY] {
        assert_eq!(date_from_days(days), Ok(days));
    }
    for days in [DATE_MIN - 1, DATE_END, DATE_INFINITY - 1, DATE_INFINITY + 1, i64::MAX, i64::MIN] {
        assert_eq!(date_from_days(days).map_err(|e| e.sqlstate()), Err(SqlState::DATETIME_FIELD_OVERFLOW));
    }
    for micros in [TIMESTAMP_MIN, 0, TIMESTAMP_END - 1, TIMESTAMP_INFINITY, TIMESTAMP_MINUS_INFINITY] {
        assert_eq!(timestamp_from_micros(micros), Ok(micros));
    }
    for micros in [TIMESTAMP_MIN - 1, TIMESTAMP_END, i64::MAX - 1, i64::MIN + 1] {
        let found = timestamp_from_micros(micros).map_err(|e| e.sqlstate());
        assert_eq!(found, Err(SqlState::DATETIME_FIELD_OVERFLOW));
    }
}

#[test]
fn no_timestamp_is_truncated_to_what_is_none() {
    assert_eq!(trunc("day", TIMESTAMP_MIN), Ok(TIMESTAMP_MIN));
    // Julian day 0 was a Monday.
    assert_eq!(trunc("week", TIMESTAMP_MIN), Ok(TIMESTAMP_MIN));
    for (field, micros) in [
        ("month", TIMESTAMP_MIN),
        ("century", TIMESTAMP_MIN),
        ("millennium", TIMESTAMP_MIN),
        // No timestamps, but a forged file has no others.
        ("hour", i64::MIN + 1),
        ("week", i64::MIN + 1),
        ("year", i64::MIN + 1),
    ] {
        let error = trunc(field, micros).expect_err(field);
        assert_eq!(error.sqlstate(), SqlState::DATETIME_FIELD_OVERFLOW, "{field}");
    }
}

#[test]
fn what_depends_on_the_clock_is_refused() {
    for word in ["now", "today", "yesterday"] {
        assert_eq!(parse_date(word, DateOrder::Mdy).unwrap_err().sqlstate(), SqlState::FEATURE_NOT_SUPPORTED);
    }
}

#[test]
fn clocks_and_instants_are_each_others() {
    let zone = |name| Zone::find(name).unwrap();
    let at = |text| parse_timestamptz(text, Forms::default()).unwrap();
    assert_eq!(at("2024-01-01 10:00 Europe/Berlin"), at("2024-01-01 09:00+00"));
    let berlin = zone("europe/berlin");
    assert_eq!(berlin.name(), "Europe/Berlin");
    // Passed over, and shown twice.
    assert_eq!(berlin.to_utc(at("2024-03-31 02:30")).unwrap(), at("2024-03-31 01:30"));
    assert_eq!(berlin.to_utc(at("2024-10-27 02:30")).unwrap(), at("2024-10-27 01:30"));
    for year in [-4000, 1, 1900, 1970, 2024, 9999, 12_000, 290_000] {
        for month in 1..=12 {
            let utc = days_from_civil(year, month, 15) * MICROS_PER_DAY + 12_345_678;
            for zone in
                [&berlin, &zone("Asia/Kolkata"), &zone("America/St_Johns"), &zone("+02"), &zone("UTC")]
            {
                let local = zone.to_local(utc).unwrap();
                assert_eq!(zone.to_utc(local).unwrap(), utc, "{} {year}-{month}", zone.name());
                let shown = text(|o| write_timestamptz(o, utc, Forms::of_zone(Some(zone))));
                assert_eq!(parse_timestamptz(&shown, Forms::default()).unwrap(), utc, "{shown}");
            }
        }
    }
    let names: Vec<&str> = zone::abbreviations().iter().map(|(name, _)| *name).collect();
    assert!(names.is_sorted());
    for name in zone::names() {
        assert!(Zone::named(&name).is_some(), "{name}");
    }
    assert!(["", "Nowhere", "<+02", "+1:2:3:4", "Europe/"].iter().all(|name| Zone::find(name).is_err()));
}

#[test]
fn infinity_stays_infinite() {
    assert_eq!(timestamp_add(TIMESTAMP_INFINITY, Interval::of_micros(5)).unwrap(), TIMESTAMP_INFINITY);
    assert_eq!(timestamp_to_date(TIMESTAMP_MINUS_INFINITY), DATE_MINUS_INFINITY);
    assert_eq!(date_to_timestamp(DATE_INFINITY).unwrap(), TIMESTAMP_INFINITY);
}

#[test]
fn templates_may_be_long_and_texts_anything() {
    let nines = "9".repeat(70_000);
    let mut out = Vec::new();
    for template in
        [format!("{nines}.{nines}"), format!("9.{nines}EEEE"), format!("FM{nines}V{nines}"), nines]
    {
        crate::Numeric::from_i64(-7).to_char(&mut out, &template).expect("a numeric");
        crate::numeric::float_to_char(&mut out, -7.5, false, &template).expect("a float");
        crate::numeric::int_to_char(&mut out, -7, 32, &template).expect("an integer");
    }
    let texts = ["9223372036854775807,999", "-2147483648", "é", "--é-", "99999999999999999999", "2147483647"];
    let templates =
        ["Y,YYY", "YYYY", "CC YY", "J", "IYYY-IW-ID", "DDD", "TZH", "-TZH", "FXMonth", "US", "FF6TH", "WW"];
    for text in texts {
        for template in templates {
            let _either = to_date(text, template);
            let _either = to_timestamp(text, template, None);
            let _either = crate::numeric::Number::by_template(text, "S9,9.9th");
        }
    }
}

#[test]
fn date_styles_are_read_as_postgresql_reads_them() {
    let shown = |from: Styles, text: &str| from.with_dates(text, Styles::DEFAULT).map(Styles::shown_dates);
    let german = Styles { dates: DateForm::German, order: DateOrder::Dmy, ..Styles::DEFAULT };
    for (from, text, to) in [
        (Styles::DEFAULT, "", "ISO, MDY"),
        (Styles::DEFAULT, "German", "German, DMY"),
        (Styles::DEFAULT, "mdy, german", "German, MDY"),
        (german, "SQL", "SQL, DMY"),
        (german, "postgresql , US", "Postgres, MDY"),
        (german, "European", "German, DMY"),
        (german, "\"ISO\", 'nope'", ""),
        (german, "default", "ISO, MDY"),
        (german, "YMD", "German, YMD"),
    ] {
        assert_eq!(shown(from, text).unwrap_or_default(), to, "{text}");
    }
    for (text, why) in [
        ("ISO MDY", "List syntax is invalid."),
        ("sql,", "List syntax is invalid."),
        ("iso, sql", "Conflicting \"datestyle\" specifications."),
        ("dmy, mdy", "Conflicting \"datestyle\" specifications."),
        ("foo", "Unrecognized key word: \"foo\"."),
    ] {
        assert_eq!(shown(german, text).unwrap_err(), why, "{text}");
    }
}

proptest! {
    #[test]
    fn what_a_style_writes_it_reads(
        days in DATE_MIN..DATE_END,
        micros in TIMESTAMP_MIN..TIMESTAMP_END,
        months in -120_000..120_000i32,
        day in -1_000_000..1_000_000i32,
        time in -1_000_000_000_000..1_000_000_000_000i64,
    ) {
        use DateForm::{German, Iso, Postgres, Sql};
        use IntervalForm::{Iso8601, PostgresVerbose, SqlStandard};
        let interval = Interval { months, days: day, micros: time };
        for order in DateOrder::ALL {
            for dates in [Iso, Sql, Postgres, German] {
                let styles = Styles { dates, order, ..Styles::DEFAULT };
                // Written with the day in front, or the month, and read so alone.
                let order = match (dates, order) {
                    (Iso, _) => order,
                    (German, _) => DateOrder::Dmy,
                    (_, DateOrder::Ymd) => DateOrder::Mdy,
                    _ => order,
                };
                prop_assert_eq!(parse_date(&text(|o| write_date(o, days, styles)), order).unwrap(), days);
                let shown = text(|o| write_timestamp(o, micros, styles));
                prop_assert_eq!(parse_timestamp(&shown, order).unwrap(), micros, "{}", shown);
                let shown = text(|o| write_timestamptz(o, micros, styles.into()));
                let forms = Forms { zone: None, styles: Styles { order, ..styles } };
                prop_assert_eq!(parse_timestamptz(&shown, forms).unwrap(), micros, "{}", shown);
            }
        }
        for intervals in [IntervalForm::Postgres, PostgresVerbose, SqlStandard, Iso8601] {
            let shown = text(|o| write_interval(o, interval, Styles { intervals, ..Styles::DEFAULT }));
            prop_assert_eq!(parse_interval(&shown, intervals).unwrap(), interval, "{}", shown);
        }
    }
}
