//! An owned SQL value: constants, arguments, results, logged inputs. The executor has its own,
//! register-sized form (`exec::Slot`).

use crate::numeric::Numeric;
use serde::{Deserialize, Serialize};

/// An owned SQL value. Its [`crate::Type`] is known from where it stands.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
pub enum Datum {
    /// SQL NULL
    #[default]
    Null,
    /// boolean
    Bool(bool),
    /// smallint, integer, bigint; date in days, timestamps and intervals in microseconds since
    /// 2000-01-01
    Int(i64),
    /// double precision
    Float(f64),
    /// numeric
    Numeric(Numeric),
    /// text, varchar, and char without its trailing blanks
    Text(String),
    /// bytea
    Bytea(Vec<u8>),
    /// uuid, in network order
    Uuid([u8; 16]),
    /// one-dimensional array, 1-based
    Array(Vec<Datum>),
}

impl Datum {
    /// Whether this is SQL NULL.
    pub fn is_null(&self) -> bool {
        matches!(self, Datum::Null)
    }
}
