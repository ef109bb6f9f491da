//! `serde_json`: `Value`, and [`Json`] for whatever serde knows (json, jsonb).

use crate::params::{Param, ParamRef};
use crate::row::{FromDatum, mismatch};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;

/// A value that is written as JSON: of anything that serde knows, to `json` and `jsonb` and back.
///
/// ```
/// # fn main() -> planaria::Result<()> {
/// use planaria::Json;
/// use std::collections::BTreeMap;
/// let db = planaria::Database::in_memory()?;
/// db.execute_script("CREATE TABLE t (id int PRIMARY KEY, tags jsonb)")?;
/// let tags = BTreeMap::from([("colour", "red")]);
/// db.execute("INSERT INTO t VALUES (1, $1)", (Json(&tags),))?;
/// let Json(back) = db.query("SELECT tags FROM t", ())?[0].get::<Json<BTreeMap<String, String>>>(0)?;
/// assert_eq!(back["colour"], "red");
/// # Ok(()) }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Json<T>(pub T);

impl<T: Serialize> fmt::Display for Json<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(&self.0).map_err(|_| fmt::Error)?)
    }
}

impl<T: Serialize> Param for Json<T> {
    fn as_param(&self) -> ParamRef<'_> {
        ParamRef::Json(self)
    }
}

impl Param for Value {
    fn as_param(&self) -> ParamRef<'_> {
        ParamRef::Json(self)
    }
}

fn read<T: DeserializeOwned>(value: &Datum, ty: &Type, wanted: &str) -> Result<T> {
    match value {
        Datum::Text(text) | Datum::Jsonb(text) if matches!(ty, &Type::JSON | Type::Jsonb) => {
            serde_json::from_str(text).map_err(|e| {
                Error::new(
                    SqlState::INVALID_TEXT_REPRESENTATION,
                    format!("JSON cannot be read as {wanted}: {e}"),
                )
            })
        }
        other => mismatch(other, ty, wanted),
    }
}

/// 22P02 where the JSON is not what the type wants.
impl<T: DeserializeOwned> FromDatum for Json<T> {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        read(value, ty, std::any::type_name::<T>()).map(Json)
    }
}

/// Numbers beyond 64 bits become floating point, which is how `serde_json` reads them.
impl FromDatum for Value {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        read(value, ty, "serde_json::Value")
    }
}
