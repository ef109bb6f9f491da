// Values of the types that sqlx knows, there and back, in binary and as text.
use crate::{show, told};
use rust_decimal::Decimal;
use sqlx::error::Error;
use sqlx::postgres::types::*;
use sqlx::postgres::{PgHasArrayType, PgPool, PgTypeInfo};
use sqlx::types::chrono::*;
use sqlx::types::{BitVec, Json, JsonValue, Text, Uuid, ipnetwork::IpNetwork, mac_address::MacAddress};
use sqlx::{Decode, Encode, Postgres, Row, Type};
use std::fmt::Debug;
use std::ops::Bound;

#[derive(Debug, Clone, Copy, PartialEq, Type)]
#[sqlx(type_name = "mood", rename_all = "snake_case")]
pub enum Mood {
    Sad,
    SoSo,
    Glad,
}

#[derive(Debug, Clone, PartialEq, Type)]
#[sqlx(type_name = "place")]
pub struct Place {
    pub city: String,
    pub number: Option<i32>,
}

#[derive(Debug, Clone, PartialEq, Type)]
#[sqlx(type_name = "code")]
struct Code(String);

#[derive(Debug, Clone, PartialEq, Type)]
#[sqlx(transparent)]
struct Id(i64);

#[derive(Debug, Clone, Copy, PartialEq, Type)]
#[repr(i32)]
enum Level {
    Low = 1,
    High = 2,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
struct Doc {
    a: i32,
    b: Vec<Option<String>>,
}

async fn both<T>(pool: &PgPool, ty: &str, value: T)
where
    T: for<'q> Encode<'q, Postgres>
        + Type<Postgres>
        + for<'r> Decode<'r, Postgres>
        + Debug
        + Clone
        + PartialEq
        + Send
        + 'static,
    Option<T>: for<'q> Encode<'q, Postgres> + Type<Postgres>,
{
    let sql = format!("select $1::{ty}, $1::{ty}::text, pg_typeof($1)::text, $2::{ty}");
    let row = sqlx::query(&sql).bind(value.clone()).bind(None::<T>).fetch_one(pool).await;
    let text = match row.and_then(|r| {
        Ok((
            r.try_get::<T, _>(0)?,
            r.try_get::<String, _>(1)?,
            r.try_get::<String, _>(2)?,
            r.try_get::<Option<T>, _>(3)?,
        ))
    }) {
        Ok((back, text, sent, none)) => {
            println!("{ty} {sent} {text} {back:?} {} {}", back == value, none.is_none());
            text
        }
        Err(e) => return println!("{ty} {value:?}: {}", told(&e)),
    };
    let sql = format!("select '{}'::{ty}", text.replace('\'', "''"));
    match sqlx::raw_sql(&sql).fetch_one(pool).await.and_then(|r| r.try_get::<T, _>(0)) {
        Ok(back) if back == value => {}
        Ok(back) => println!("{ty} as text: {back:?}"),
        Err(e) => println!("{ty} as text: {}", told(&e)),
    }
}

pub async fn types(pool: &PgPool) -> Result<(), Error> {
    let day = NaiveDate::from_ymd_opt(2024, 2, 29).unwrap();
    let time = NaiveTime::from_hms_micro_opt(12, 34, 56, 789_012).unwrap();
    let at = NaiveDateTime::new(day, time);
    let uuid = Uuid::from_u128(0x1234_5678_9abc_def0_1234_5678_9abc_def0);
    both(pool, "bool", true).await;
    both(pool, "\"char\"", b'c' as i8).await;
    both(pool, "int2", i16::MIN).await;
    both(pool, "int4", i32::MIN).await;
    both(pool, "int8", i64::MAX).await;
    both(pool, "oid", Oid(4_000_000_000)).await;
    both(pool, "float4", 1.1f32).await;
    both(pool, "float8", f64::MIN_POSITIVE).await;
    both(pool, "float8", f64::NEG_INFINITY).await;
    for n in ["0", "-1.50", "79228162514264337593543950335", "0.0000000000000000000000000001", "100000"] {
        both(pool, "numeric", n.parse::<Decimal>().unwrap()).await;
    }
    both(pool, "money", PgMoney(-123_456)).await;
    both(pool, "text", "x 'ü' \u{1f600}".to_string()).await;
    both(pool, "varchar(4)", "abcd".to_string()).await;
    both(pool, "char(3)", "ab".to_string()).await;
    both(pool, "name", "n".to_string()).await;
    both(pool, "bytea", vec![0u8, 255, 39, 92]).await;
    both(pool, "date", day).await;
    both(pool, "date", NaiveDate::from_ymd_opt(-44, 3, 15).unwrap()).await;
    both(pool, "time", time).await;
    both(pool, "timetz", PgTimeTz { time, offset: FixedOffset::east_opt(-19_800).unwrap() }).await;
    both(pool, "timestamp", at).await;
    both(pool, "timestamptz", at.and_utc()).await;
    both(pool, "timestamptz", DateTime::<Utc>::from_timestamp(-100_000_000_000, 1000).unwrap()).await;
    both(pool, "interval", PgInterval { months: 14, days: -3, microseconds: 4_005_006_007 }).await;
    both(pool, "uuid", uuid).await;
    both(pool, "json", Text(1)).await;
    both(
        pool,
        "jsonb",
        serde_json::from_str::<JsonValue>(r#"{"b": [1, 2.50, null, "\u00e9"], "a": {"x": true}}"#).unwrap(),
    )
    .await;
    both(pool, "jsonb", Json(Doc { a: 1, b: vec![None, Some("x".into())] })).await;
    both(pool, "jsonb[]", vec![Json(1), Json(2)]).await;
    both(pool, "inet", "10.1.2.3/8".parse::<IpNetwork>().unwrap()).await;
    both(pool, "inet", "2001:db8::1/128".parse::<IpNetwork>().unwrap()).await;
    both(pool, "cidr", "10.0.0.0/8".parse::<IpNetwork>().unwrap()).await;
    both(pool, "macaddr", MacAddress::new([8, 0, 43, 1, 2, 3])).await;
    both(pool, "bit(5)", BitVec::from_fn(5, |i| i % 2 == 0)).await;
    both(pool, "varbit", BitVec::from_fn(11, |i| i % 3 == 0)).await;

    both(pool, "int4[]", vec![Some(1), None, Some(3)]).await;
    both(pool, "int8[]", Vec::<i64>::new()).await;
    both(pool, "text[]", vec!["a,b".to_string(), "\"".into(), "null".into(), String::new()]).await;
    both(pool, "bool[]", vec![true, false]).await;
    both(pool, "uuid[]", vec![uuid; 2]).await;
    both(pool, "numeric[]", vec![Some(Decimal::new(15, 1)), None]).await;
    both(pool, "timestamptz[]", vec![at.and_utc()]).await;
    both(pool, "date[]", vec![day]).await;
    both(pool, "bytea[]", vec![vec![1u8], vec![]]).await;
    both(pool, "inet[]", vec!["10.1.2.3/32".parse::<IpNetwork>().unwrap()]).await;
    both(pool, "int4range", PgRange::from(1..5)).await;
    both(pool, "int8range", PgRange::from(1i64..)).await;
    both(
        pool,
        "numrange",
        PgRange { start: Bound::Excluded(Decimal::ONE), end: Bound::Included(Decimal::TEN) },
    )
    .await;
    both(pool, "daterange", PgRange { start: Bound::Unbounded, end: Bound::Excluded(day) }).await;
    both(pool, "tsrange", PgRange::from(at..)).await;
    both(
        pool,
        "tstzrange",
        PgRange { start: Bound::Included(at.and_utc()), end: Bound::Included(at.and_utc()) },
    )
    .await;
    both(pool, "int4range[]", vec![PgRange::from(1..2)]).await;

    both(pool, "mood", Mood::SoSo).await;
    both(pool, "mood[]", vec![Mood::Glad, Mood::Sad]).await;
    both(pool, "place", Place { city: "Bad \"Ems\", (x)".into(), number: None }).await;
    both(pool, "place[]", vec![Place { city: "a".into(), number: Some(1) }]).await;
    both(pool, "code", Code("abc".into())).await;
    both(pool, "int8", Id(7)).await;
    both(pool, "int8[]", vec![Id(7), Id(8)]).await;
    both(pool, "int4", Level::High).await;
    both(pool, "point", PgPoint { x: 1.0, y: 2.0 }).await;
    show(
        "an empty range",
        sqlx::query_scalar::<_, PgRange<i32>>("select 'empty'::int4range").fetch_one(pool).await,
    );
    show(
        "a record",
        sqlx::query_scalar::<_, (i32, Option<String>, Vec<i64>)>("select row(1, 'a'::text, array[2::int8])")
            .fetch_one(pool)
            .await,
    );
    show(
        "records",
        sqlx::query_scalar::<_, Vec<(i32, String)>>(
            "select array_agg(row(g, g::text)) from generate_series(1, 2) g",
        )
        .fetch_one(pool)
        .await,
    );
    show("an odd label", sqlx::query_scalar::<_, Mood>("select 'x'::text").fetch_one(pool).await);
    show(
        "an odd level",
        sqlx::query_scalar::<_, Level>("select 3").fetch_one(pool).await.map(|l| l == Level::Low),
    );
    show(
        "two dimensions",
        sqlx::query_scalar::<_, Vec<i32>>("select '{{1},{2}}'::int[]").fetch_one(pool).await,
    );
    show("NaN", sqlx::query_scalar::<_, Decimal>("select 'NaN'::numeric").fetch_one(pool).await);
    show("void", sqlx::query_scalar::<_, ()>("select pg_sleep(0)").fetch_one(pool).await);
    show("unknown", sqlx::query_scalar::<_, String>("select 'x'").fetch_one(pool).await);
    println!("{:?}", [Mood::array_type_info(), PgTypeInfo::with_name("late")].map(|t| t.to_string()));
    Ok(())
}
