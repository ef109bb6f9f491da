//! `uuid`: `Uuid`.

use crate::params::{Param, ParamRef};
use crate::row::{FromDatum, mismatch};
use planaria_base::{Datum, Result, Type};
use uuid::Uuid;

impl Param for Uuid {
    fn as_param(&self) -> ParamRef<'_> {
        ParamRef::Uuid(*self.as_bytes())
    }
}

impl FromDatum for Uuid {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        match value {
            Datum::Uuid(bytes) => Ok(Uuid::from_bytes(*bytes)),
            other => mismatch(other, ty, "Uuid"),
        }
    }
}
