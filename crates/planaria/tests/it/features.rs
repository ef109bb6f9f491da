//! Values of other crates, on their way in and out: what each cargo feature promises.

use planaria::{Database, Error, FromDatum, Param, SqlState};
use std::time::Duration;

/// A value of `ty` that the other side has sent, which must be written as `text`, and read back.
fn round<T: Param + FromDatum + PartialEq + std::fmt::Debug + Clone>(ty: &str, value: T, text: &str) {
    let db = Database::in_memory().unwrap();
    db.execute_script(&format!("CREATE TABLE t (id int PRIMARY KEY, v {ty}, many {ty}[])")).unwrap();
    let many = vec![Some(value.clone()), None];
    db.execute("INSERT INTO t VALUES (1, $1, $2)", (value.clone(), &many)).unwrap();
    db.execute("INSERT INTO t VALUES (2, $1, $2)", (None::<T>, None::<Vec<T>>)).unwrap();
    let rows = db.query("SELECT v, many, v::text FROM t ORDER BY id", ()).unwrap();
    assert_eq!(rows[0].get::<String>(2).unwrap(), text);
    assert_eq!(rows[0].get::<T>(0).unwrap(), value);
    assert_eq!(rows[0].get::<Vec<Option<T>>>(1).unwrap(), many);
    assert_eq!(rows[1].get::<Option<T>>(0).unwrap(), None);
    assert_eq!(rows[1].get::<T>(0).unwrap_err().sqlstate(), SqlState::NULL_VALUE_NOT_ALLOWED);
    let alone = db.query(&format!("SELECT $1::{ty}"), (value.clone(),)).unwrap();
    assert_eq!(alone[0].get::<T>(0).unwrap(), value);
    // json has no equality
    if ty != "json" {
        let found = db.query("SELECT count(*) FROM t WHERE v = $1", (value,)).unwrap();
        assert_eq!(found[0].get::<i64>(0).unwrap(), 1);
    }
    // Of a procedure's parameters, too.
    db.execute_script(&format!(
        "CREATE FUNCTION same(p {ty}) RETURNS {ty} LANGUAGE plpgsql AS $$ BEGIN RETURN p; END $$"
    ))
    .unwrap();
    assert_eq!(db.call("same", (many[0].clone(),)).unwrap()[0].get::<Option<T>>(0).unwrap(), many[0].clone());
}

/// Reading `sql` as a `T` fails.
fn unread<T: FromDatum + std::fmt::Debug>(sql: &str) -> Error {
    let db = Database::in_memory().unwrap();
    db.query(&format!("SELECT {sql}"), ()).unwrap()[0].get::<T>(0).unwrap_err()
}

/// A `ty` cannot be this.
fn unwritten(ty: &str, value: impl Param) -> Error {
    let db = Database::in_memory().unwrap();
    db.execute_script(&format!("CREATE TABLE t (id int PRIMARY KEY, v {ty})")).unwrap();
    db.execute("INSERT INTO t VALUES (1, $1)", (value,)).unwrap_err()
}

#[test]
fn durations() {
    round("interval", Duration::from_micros(90_000_001), "00:01:30.000001");
    assert_eq!(unread::<Duration>("interval '1 day'").sqlstate(), SqlState::DATETIME_FIELD_OVERFLOW);
    assert_eq!(unread::<Duration>("interval '-1 s'").sqlstate(), SqlState::DATETIME_FIELD_OVERFLOW);
    let refused = unwritten("interval", Duration::MAX);
    assert_eq!(refused.sqlstate(), SqlState::DATETIME_FIELD_OVERFLOW);
    assert!(refused.fields().context.as_ref().is_some_and(|c| c.contains("$1")), "{refused:?}");
}

#[cfg(feature = "chrono")]
#[test]
fn chrono() {
    use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};
    let day = |y, m, d| NaiveDate::from_ymd_opt(y, m, d).unwrap();
    round("date", day(1969, 12, 31), "1969-12-31");
    round("date", day(2026, 11, 25), "2026-11-25");
    round("date", day(-43, 3, 15), "0044-03-15 BC");
    round("time", NaiveTime::from_hms_micro_opt(23, 59, 59, 999_999).unwrap(), "23:59:59.999999");
    let at = day(1969, 12, 31).and_hms_micro_opt(23, 59, 59, 1).unwrap();
    round("timestamp", at, "1969-12-31 23:59:59.000001");
    round("timestamp(3)", day(2026, 1, 1).and_hms_milli_opt(1, 2, 3, 4).unwrap(), "2026-01-01 01:02:03.004");
    round("timestamptz", at.and_utc(), "1969-12-31 23:59:59.000001+00");
    let there: DateTime<FixedOffset> = "2026-11-25T12:00:00+02:00".parse().unwrap();
    round("timestamptz", there, "2026-11-25 10:00:00+00");
    round("interval", TimeDelta::microseconds(-90_000_001), "-00:01:30.000001");

    // Finer than a microsecond: cut, not rounded into the future.
    let db = Database::in_memory().unwrap();
    let fine = DateTime::<Utc>::from_timestamp(-1, 999_999_999).unwrap();
    let read = db.query("SELECT $1::timestamptz", (fine,)).unwrap()[0].get::<DateTime<Utc>>(0).unwrap();
    assert_eq!(read, DateTime::from_timestamp(-1, 999_999_000).unwrap());

    let overflow = SqlState::DATETIME_FIELD_OVERFLOW;
    assert_eq!(unread::<DateTime<Utc>>("'infinity'::timestamptz").sqlstate(), overflow);
    assert_eq!(unread::<NaiveDate>("'-infinity'::date").sqlstate(), overflow);
    assert_eq!(unread::<NaiveDateTime>("'294000-01-01'::timestamp").sqlstate(), overflow);
    assert_eq!(unread::<NaiveTime>("'24:00'::time").sqlstate(), overflow);
    assert_eq!(unread::<TimeDelta>("interval '1 month'").sqlstate(), overflow);
    assert_eq!(unread::<NaiveDate>("now()").sqlstate(), SqlState::DATATYPE_MISMATCH);
    assert_eq!(unread::<DateTime<Utc>>("'2026-01-01'::timestamp").sqlstate(), SqlState::DATATYPE_MISMATCH);
    assert_eq!(unwritten("timestamptz", DateTime::<Utc>::MIN_UTC).sqlstate(), overflow);
    assert_eq!(unwritten("date", NaiveDate::MIN).sqlstate(), overflow);
    // With a zone, or without?
    let zoneless = unwritten("timestamptz", at);
    assert_eq!(zoneless.sqlstate(), SqlState::DATATYPE_MISMATCH);
    assert!(zoneless.fields().hint.is_some(), "{zoneless:?}");
    assert_eq!(unwritten("timestamp", at.and_utc()).sqlstate(), SqlState::DATATYPE_MISMATCH);
    assert_eq!(unwritten("int", day(2026, 1, 1)).sqlstate(), SqlState::DATATYPE_MISMATCH);
    // A day begins at midnight.
    db.execute_script("CREATE TABLE t (at timestamp PRIMARY KEY, as_text text)").unwrap();
    db.execute("INSERT INTO t VALUES ($1, $2)", (day(2026, 11, 25), day(2026, 11, 26))).unwrap();
    let row = &db.query("SELECT at::text, as_text FROM t", ()).unwrap()[0];
    assert_eq!(row.get::<String>(0).unwrap(), "2026-11-25 00:00:00");
    assert_eq!(row.get::<String>(1).unwrap(), "2026-11-26");
}

#[cfg(feature = "jiff")]
#[test]
fn jiff() {
    use jiff::{SignedDuration, Span, Timestamp, civil};
    round("date", civil::date(1969, 12, 31), "1969-12-31");
    round("date", civil::date(-43, 3, 15), "0044-03-15 BC");
    round("time", civil::time(23, 59, 59, 999_999_000), "23:59:59.999999");
    round("timestamp", civil::date(1969, 12, 31).at(23, 59, 59, 1_000), "1969-12-31 23:59:59.000001");
    let at: Timestamp = "2026-11-25T12:00:00.5+02:00".parse().unwrap();
    round("timestamptz", at, "2026-11-25 10:00:00.5+00");
    round("timestamptz(1)", at, "2026-11-25 10:00:00.5+00");
    round("interval", SignedDuration::from_micros(-90_000_001), "-00:01:30.000001");
    let db = Database::in_memory().unwrap();
    let span = Span::new().years(1).months(2).weeks(1).days(3).hours(4).microseconds(5);
    let row = &db.query("SELECT ($1::interval)::text, $1::interval", (span,)).unwrap()[0];
    assert_eq!(row.get::<String>(0).unwrap(), "1 year 2 mons 10 days 04:00:00.000005");
    let read = row.get::<Span>(1).unwrap();
    assert_eq!((read.get_months(), read.get_days(), read.get_microseconds()), (14, 10, 14_400_000_005));
    let zoned = at.to_zoned_datetime(jiff::tz::TimeZone::UTC);
    round("timestamptz", zoned, "2026-11-25 10:00:00.5+00");

    let overflow = SqlState::DATETIME_FIELD_OVERFLOW;
    assert_eq!(unread::<Span>("interval '1 month -1 day'").sqlstate(), overflow);
    assert_eq!(unread::<SignedDuration>("interval '1 month'").sqlstate(), overflow);
    assert_eq!(unread::<Timestamp>("'20000-01-01'::timestamptz").sqlstate(), overflow);
    assert_eq!(unread::<civil::Date>("'infinity'::date").sqlstate(), overflow);
    assert_eq!(unread::<civil::Date>("'20000-01-01'::date").sqlstate(), overflow);
    assert_eq!(unread::<civil::Time>("'24:00'::time").sqlstate(), overflow);
    assert_eq!(unwritten("date", civil::Date::MIN).sqlstate(), overflow);
    assert_eq!(unwritten("timestamptz", civil::DateTime::MAX).sqlstate(), SqlState::DATATYPE_MISMATCH);
}

#[cfg(feature = "time")]
#[test]
fn time() {
    use time::{Date, Duration, Month, OffsetDateTime, PrimitiveDateTime, Time, UtcDateTime, UtcOffset};
    let date = Date::from_calendar_date(1969, Month::December, 31).unwrap();
    let clock = Time::from_hms_micro(23, 59, 59, 1).unwrap();
    round("date", date, "1969-12-31");
    round("date", Date::from_calendar_date(-43, Month::March, 15).unwrap(), "0044-03-15 BC");
    round("time", clock, "23:59:59.000001");
    round("timestamp", PrimitiveDateTime::new(date, clock), "1969-12-31 23:59:59.000001");
    round("timestamptz", UtcDateTime::new(date, clock), "1969-12-31 23:59:59.000001+00");
    let there = PrimitiveDateTime::new(date, clock).assume_offset(UtcOffset::from_hms(2, 0, 0).unwrap());
    round("timestamptz", there, "1969-12-31 21:59:59.000001+00");
    round("interval", Duration::microseconds(-90_000_001), "-00:01:30.000001");

    let overflow = SqlState::DATETIME_FIELD_OVERFLOW;
    assert_eq!(unread::<OffsetDateTime>("'20000-01-01'::timestamptz").sqlstate(), overflow);
    assert_eq!(unread::<OffsetDateTime>("'-infinity'::timestamptz").sqlstate(), overflow);
    assert_eq!(unread::<Date>("'20000-01-01'::date").sqlstate(), overflow);
    assert_eq!(unread::<Time>("'24:00'::time").sqlstate(), overflow);
    assert_eq!(unread::<Duration>("interval '1 day'").sqlstate(), overflow);
    assert_eq!(unwritten("interval", Duration::MAX).sqlstate(), overflow);
    assert_eq!(unwritten("date", Date::MIN).sqlstate(), overflow);
}

#[cfg(feature = "uuid")]
#[test]
fn uuid() {
    let id = uuid::Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef);
    round("uuid", id, "01234567-89ab-cdef-0123-456789abcdef");
    assert_eq!(unread::<uuid::Uuid>("'no'::text").sqlstate(), SqlState::DATATYPE_MISMATCH);
    assert_eq!(unwritten("int", id).sqlstate(), SqlState::DATATYPE_MISMATCH);
}

#[cfg(feature = "rust_decimal")]
#[test]
fn rust_decimal() {
    use rust_decimal::Decimal;
    round("numeric", Decimal::new(-4_000, 2), "-40.00");
    round("numeric(12,2)", Decimal::new(123, 2), "1.23");
    round("numeric", Decimal::MAX, "79228162514264337593543950335");
    round("numeric", Decimal::new(1, 28), "0.0000000000000000000000000001");
    let db = Database::in_memory().unwrap();
    assert_eq!(db.query("SELECT 7", ()).unwrap()[0].get::<Decimal>(0).unwrap(), Decimal::new(7, 0));
    let long = "1.50000000000000000000000000000000";
    let read = db.query(&format!("SELECT {long}::numeric"), ()).unwrap()[0].get::<Decimal>(0).unwrap();
    assert_eq!(read, Decimal::new(15, 1));
    let out_of_range = SqlState::NUMERIC_VALUE_OUT_OF_RANGE;
    assert_eq!(unread::<Decimal>("79228162514264337593543950336::numeric").sqlstate(), out_of_range);
    assert_eq!(unread::<Decimal>("1.00000000000000000000000000000001::numeric").sqlstate(), out_of_range);
    assert_eq!(unwritten("numeric(4,2)", Decimal::new(100, 0)).sqlstate(), out_of_range);
    // A fraction is no whole number.
    assert_eq!(unwritten("int", Decimal::new(15, 1)).sqlstate(), SqlState::DATATYPE_MISMATCH);
}

#[cfg(feature = "serde_json")]
#[test]
fn serde_json() {
    use planaria::Json;
    use serde_json::{Value, json};
    use std::collections::BTreeMap;
    let value = json!({"a": [1, 2.5, null, "x\"y"], "b": {"c": true}});
    round("jsonb", value.clone(), r#"{"a": [1, 2.5, null, "x\"y"], "b": {"c": true}}"#);
    round("json", json!([1, "two"]), r#"[1,"two"]"#);
    // NULL and JSON's null are two things.
    round("jsonb", Value::Null, "null");
    round("jsonb", Json(BTreeMap::from([("k".to_owned(), 7u8)])), r#"{"k": 7}"#);
    let db = Database::in_memory().unwrap();
    let read = db.query("SELECT $1::jsonb->'b'->>'c'", (&value,)).unwrap();
    assert_eq!(read[0].get::<String>(0).unwrap(), "true");
    assert_eq!(unread::<Json<u8>>("'300'::jsonb").sqlstate(), SqlState::INVALID_TEXT_REPRESENTATION);
    assert_eq!(unread::<Value>("'{}'::text").sqlstate(), SqlState::DATATYPE_MISMATCH);
    assert_eq!(unwritten("int", json!(1)).sqlstate(), SqlState::DATATYPE_MISMATCH);
    // What serde cannot write: a map whose keys are no texts.
    let keys = Json(BTreeMap::from([(vec![1], 1)]));
    assert_eq!(unwritten("jsonb", keys).sqlstate(), SqlState::INVALID_PARAMETER_VALUE);
}
