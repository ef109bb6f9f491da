// The types of the application.
use crate::schema::{posts, sql_types, tags, users};
use bigdecimal::BigDecimal;
use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::prelude::*;
use diesel::serialize::{self, IsNull, Output, ToSql, WriteTuple};
use diesel::sql_types::{Integer, Nullable, Record, Text};
use std::io::Write;
use std::ops::Bound;

#[derive(Debug, Clone, Copy, PartialEq, FromSqlRow, AsExpression)]
#[diesel(sql_type = sql_types::Mood)]
pub enum Mood {
    Sad,
    Glad,
}

impl ToSql<sql_types::Mood, Pg> for Mood {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        out.write_all(if *self == Mood::Sad { b"sad" } else { b"glad" })?;
        Ok(IsNull::No)
    }
}

impl FromSql<sql_types::Mood, Pg> for Mood {
    fn from_sql(bytes: PgValue<'_>) -> deserialize::Result<Self> {
        match bytes.as_bytes() {
            b"sad" => Ok(Mood::Sad),
            b"glad" => Ok(Mood::Glad),
            other => Err(format!("no mood {}", String::from_utf8_lossy(other)).into()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, FromSqlRow, AsExpression)]
#[diesel(sql_type = sql_types::Place)]
pub struct Place {
    pub city: String,
    pub number: Option<i32>,
}

impl ToSql<sql_types::Place, Pg> for Place {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        WriteTuple::<(Text, Nullable<Integer>)>::write_tuple(
            &(self.city.as_str(), self.number),
            &mut out.reborrow(),
        )
    }
}

impl FromSql<sql_types::Place, Pg> for Place {
    fn from_sql(bytes: PgValue<'_>) -> deserialize::Result<Self> {
        let (city, number) = FromSql::<Record<(Text, Nullable<Integer>)>, Pg>::from_sql(bytes)?;
        Ok(Place { city, number })
    }
}

#[derive(Debug, Queryable, Selectable, Identifiable, AsChangeset)]
#[diesel(table_name = users, check_for_backend(Pg))]
pub struct User {
    pub id: i32,
    pub name: String,
    pub email: Option<String>,
    pub mood: Mood,
    pub home: Option<Place>,
    pub updated_at: NaiveDateTime,
}

#[derive(Insertable, AsChangeset)]
#[diesel(table_name = users)]
pub struct NewUser {
    pub name: &'static str,
    pub email: Option<&'static str>,
    pub mood: Option<Mood>,
    pub home: Option<Place>,
}

#[derive(Debug, Queryable, Selectable, Identifiable, Associations)]
#[diesel(table_name = posts, belongs_to(User), check_for_backend(Pg))]
#[allow(dead_code)]
pub struct Post {
    pub id: i64,
    pub user_id: i32,
    pub title: String,
    pub tags: Vec<String>,
    pub doc: Option<serde_json::Value>,
    pub price: Option<BigDecimal>,
    pub at: DateTime<Utc>,
    pub during: Option<(Bound<DateTime<Utc>>, Bound<DateTime<Utc>>)>,
    pub pages: Option<(Bound<i32>, Bound<i32>)>,
}

#[derive(Debug, Insertable, Queryable, Selectable)]
#[diesel(table_name = tags, treat_none_as_default_value = false)]
pub struct NewTag {
    pub post_id: i64,
    pub label: String,
}

#[derive(Debug, QueryableByName)]
pub struct Id {
    #[diesel(sql_type = Integer)]
    pub id: i32,
}
