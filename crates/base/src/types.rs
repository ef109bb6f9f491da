//! SQL types.

pub use crate::cast::{CastContext, cast_allowed, needs_cast};
use serde::{Deserialize, Serialize};

/// A SQL type, with its modifier where it has one.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Type {
    /// `boolean`
    Bool,
    /// `smallint`
    Int2,
    /// `integer`
    Int4,
    /// `bigint`
    Int8,
    /// `numeric`, or `numeric(precision, scale)`
    Numeric(Option<(u8, u8)>),
    /// `double precision`
    Float8,
    /// `text`
    Text,
    /// `varchar`, or `varchar(n)` with n in characters
    Varchar(Option<u32>),
    /// `char(n)`: kept without its trailing blanks, printed padded to n characters
    Char(u32),
    /// `bytea`
    Bytea,
    /// `date`: days since 2000-01-01
    Date,
    /// `timestamp`: microseconds since 2000-01-01 00:00
    Timestamp,
    /// `timestamptz`: microseconds since 2000-01-01 00:00 UTC
    TimestampTz,
    /// `interval`: kept as microseconds; months are not supported
    Interval,
    /// `uuid`
    Uuid,
    /// One-dimensional array
    Array(Box<Type>),
    /// The type of a bare `NULL` or an uncast string literal before its context gives it one
    Unknown,
    /// No value: the result of a procedure without INOUT parameters, or of a `void` function
    Void,
}

/// What the bits of a value mean, whatever the modifier: types of one class share operators.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum TypeClass {
    /// boolean
    Bool,
    /// smallint, integer, bigint
    Integer,
    /// numeric
    Numeric,
    /// double precision
    Float,
    /// text, varchar, char
    Text,
    /// bytea
    Bytea,
    /// date, timestamp, timestamptz
    DateTime,
    /// interval
    Interval,
    /// uuid
    Uuid,
    /// arrays
    Array,
    /// unknown literals, void
    Other,
}

impl Type {
    /// The class of the type.
    pub fn class(&self) -> TypeClass {
        match self {
            Type::Bool => TypeClass::Bool,
            Type::Int2 | Type::Int4 | Type::Int8 => TypeClass::Integer,
            Type::Numeric(_) => TypeClass::Numeric,
            Type::Float8 => TypeClass::Float,
            Type::Text | Type::Varchar(_) | Type::Char(_) => TypeClass::Text,
            Type::Bytea => TypeClass::Bytea,
            Type::Date | Type::Timestamp | Type::TimestampTz => TypeClass::DateTime,
            Type::Interval => TypeClass::Interval,
            Type::Uuid => TypeClass::Uuid,
            Type::Array(_) => TypeClass::Array,
            Type::Unknown | Type::Void => TypeClass::Other,
        }
    }

    /// The type without its modifier: `numeric(12,2)` becomes `numeric`, `varchar(10)` `varchar`.
    pub fn base(&self) -> Type {
        match self {
            Type::Numeric(_) => Type::Numeric(None),
            Type::Varchar(_) => Type::Varchar(None),
            other => other.clone(),
        }
    }
}

impl std::fmt::Display for Type {
    /// As `format_type` of PostgreSQL prints it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Type::Bool => f.write_str("boolean"),
            Type::Int2 => f.write_str("smallint"),
            Type::Int4 => f.write_str("integer"),
            Type::Int8 => f.write_str("bigint"),
            Type::Numeric(None) => f.write_str("numeric"),
            Type::Numeric(Some((p, s))) => write!(f, "numeric({p},{s})"),
            Type::Float8 => f.write_str("double precision"),
            Type::Text => f.write_str("text"),
            Type::Varchar(None) => f.write_str("character varying"),
            Type::Varchar(Some(n)) => write!(f, "character varying({n})"),
            Type::Char(n) => write!(f, "character({n})"),
            Type::Bytea => f.write_str("bytea"),
            Type::Date => f.write_str("date"),
            Type::Timestamp => f.write_str("timestamp without time zone"),
            Type::TimestampTz => f.write_str("timestamp with time zone"),
            Type::Interval => f.write_str("interval"),
            Type::Uuid => f.write_str("uuid"),
            Type::Array(of) => write!(f, "{of}[]"),
            Type::Unknown => f.write_str("unknown"),
            Type::Void => f.write_str("void"),
        }
    }
}
