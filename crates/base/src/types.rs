//! SQL types.

pub use crate::cast::{CastContext, cast_allowed, needs_cast};
use crate::datetime::{Interval, IntervalFields};
use crate::enumeration::Enum;
pub use crate::packed::{PackedKind, PackedType};
pub use crate::range::RangeType;
pub use crate::row_type::{RowOf, RowType};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

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
    Numeric(Option<(u16, i16)>),
    /// `double precision`
    Float8,
    /// `real`: a double that is one of 32 bits, too
    Float4,
    /// `text`
    Text,
    /// `varchar`, or `varchar(n)` with n in characters
    Varchar(Option<u32>),
    /// `char(n)`: kept without its trailing blanks, printed padded to n characters; 0 is `bpchar`, of any length
    Char(u32),
    /// `bytea`
    Bytea,
    /// `date`: days since 2000-01-01
    Date,
    /// `timestamp`: microseconds since 2000-01-01 00:00
    Timestamp,
    /// `timestamptz`: microseconds since 2000-01-01 00:00 UTC
    TimestampTz,
    /// `interval`
    #[serde(rename = "IntervalParts")]
    Interval,
    /// `interval` as the tables of databases of before catalogs knew of [`Type::Interval`] keep it: microseconds alone. Of
    /// columns only.
    #[serde(rename = "Interval")]
    OldInterval,
    /// `time`: microseconds since midnight, up to 24:00
    Time,
    /// `timestamp(p)` and its like: the fraction of a second has that many digits, 0 to 6. A value is rounded when it
    /// becomes one; it is as one without a modifier otherwise, see [`Type::plain`].
    Rounded(Clock, u8),
    /// `uuid`
    Uuid,
    /// `jsonb`: kept as the text it is printed as ([`crate::json::canonical`])
    Jsonb,
    /// `int4range` and its like: bytes whose order is that of ranges ([`crate::range`])
    Range(RangeType),
    /// `inet` and its like: bytes whose order is that of the values ([`crate::packed`])
    Packed(PackedType),
    /// An enumerated type of the user: the rank of a label
    Enum(Enum),
    /// Array of them, whatever its dimensions
    Array(Box<Type>),
    /// The type of a bare `NULL` or an uncast string literal before its context gives it one
    Unknown,
    /// No value: the result of a procedure without INOUT parameters, or of a `void` function
    Void,
    /// A type of the system catalogs
    System(SystemType),
    /// A row of named fields, as a value
    Record(RowType),
    /// `citext`: a text that is compared without regard to case ([`crate::citext`])
    Citext,
}

/// Types with seconds, of which [`Type::Rounded`] has so many digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Clock {
    /// `time`
    Time,
    /// `timestamp`
    Timestamp,
    /// `timestamptz`
    TimestampTz,
    /// `interval`
    Interval,
    /// `interval year to month` and its like
    Fields(IntervalFields),
}

impl Clock {
    /// As many digits as there are, where a type with fields says none.
    pub const WHOLE: u8 = 7;

    /// All of them that have no fields.
    pub const ALL: [Clock; 4] = [Clock::Time, Clock::Timestamp, Clock::TimestampTz, Clock::Interval];

    /// The type without a modifier.
    pub const fn ty(self) -> &'static Type {
        match self {
            Clock::Time => &Type::Time,
            Clock::Timestamp => &Type::Timestamp,
            Clock::TimestampTz => &Type::TimestampTz,
            Clock::Interval | Clock::Fields(_) => &Type::Interval,
        }
    }

    /// Whether every value has so many digits, and no shorter fields: six are all that there are.
    pub const fn keeps(self, digits: u8) -> bool {
        match self {
            Clock::Fields(fields) => digits >= 6 && fields.has_seconds(),
            _ => digits >= 6,
        }
    }

    /// An interval as one of the type.
    pub const fn fit(self, interval: Interval, digits: u8) -> Interval {
        match self {
            Clock::Fields(fields) => interval.cut(fields).rounded(digits),
            _ => interval.rounded(digits),
        }
    }

    /// A text of an interval with the units that the fields of the type give it.
    pub fn completed(self, text: &str) -> Cow<'_, str> {
        match self {
            Clock::Fields(fields) => fields.completed(text),
            _ => Cow::Borrowed(text),
        }
    }
}

/// Types that the system catalogs are made of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize, Deserialize)]
pub enum SystemType {
    /// `oid`: 32 bits without sign
    Oid,
    /// `xid`
    Xid,
    /// `regproc`: an oid that is read and shown as the name of a function
    RegProc,
    /// `regprocedure`: the same with its argument types
    RegProcedure,
    /// `regoper`
    RegOper,
    /// `regoperator`
    RegOperator,
    /// `regclass`: of a table, view, index or sequence
    RegClass,
    /// `regtype`: of a type
    RegType,
    /// `regrole`: of a role
    RegRole,
    /// `regnamespace`: of a schema
    RegNamespace,
    /// `regcollation`: of a collation
    RegCollation,
    /// `regconfig`: of a configuration of full-text search
    RegConfig,
    /// `name`: a text of at most 63 bytes
    Name,
    /// `"char"`: one byte
    Char,
    /// `int2vector`: shown without braces, subscripts count from 0
    Int2Vector,
    /// `oidvector`: the same of oids
    OidVector,
    /// `pg_node_tree`: an expression; here its SQL text
    NodeTree,
    /// `aclitem`: rights of a role on something
    AclItem,
    /// `json`: a text that is JSON, as it was written
    Json,
    /// `refcursor`: the name of a cursor
    RefCursor,
    /// `anyelement`: like those below no type of values, but of the parameters of polymorphic routines, which have the
    /// types that a call gives them
    AnyElement,
    /// `anyarray`: an array of what `anyelement` is
    AnyArray,
    /// `anynonarray`: `anyelement`, which is no array
    AnyNonArray,
    /// `anyenum`: `anyelement`, which is an enumerated type
    AnyEnum,
    /// `anyrange`: a range over what `anyelement` is
    AnyRange,
    /// `anycompatible`: the common type of all that are declared so
    AnyCompatible,
    /// `anycompatiblearray`: an array of it
    AnyCompatibleArray,
    /// `anycompatiblenonarray`: the same, which is no array
    AnyCompatibleNonArray,
    /// `anycompatiblerange`: a range over it
    AnyCompatibleRange,
    /// `tid`: which row of its table a row is. A number, of which the last 16 bits are shown as the second one
    Tid,
}

impl SystemType {
    /// All of them.
    pub const ALL: &[SystemType] = {
        use SystemType::*;
        &[
            Oid,
            Xid,
            RegProc,
            RegProcedure,
            RegOper,
            RegOperator,
            RegClass,
            RegType,
            RegRole,
            RegNamespace,
            RegCollation,
            RegConfig,
            Name,
            Char,
            Int2Vector,
            OidVector,
            NodeTree,
            AclItem,
            Json,
            RefCursor,
            Tid,
        ]
    };

    /// Those that a call gives a type to.
    pub const POLYMORPHIC: &[SystemType] = {
        use SystemType::*;
        &[
            AnyElement,
            AnyArray,
            AnyNonArray,
            AnyEnum,
            AnyRange,
            AnyCompatible,
            AnyCompatibleArray,
            AnyCompatibleNonArray,
            AnyCompatibleRange,
        ]
    };

    /// Whether it stands for a type that a call gives.
    pub fn is_polymorphic(self) -> bool {
        SystemType::POLYMORPHIC.contains(&self)
    }

    /// One that a call gives a type to, by its name.
    pub fn polymorphic(name: &str) -> Option<SystemType> {
        SystemType::POLYMORPHIC.iter().copied().find(|t| t.name() == name)
    }

    /// As `format_type` of PostgreSQL prints it.
    pub const fn name(self) -> &'static str {
        match self {
            SystemType::Oid => "oid",
            SystemType::Xid => "xid",
            SystemType::RegProc => "regproc",
            SystemType::RegProcedure => "regprocedure",
            SystemType::RegOper => "regoper",
            SystemType::RegOperator => "regoperator",
            SystemType::RegClass => "regclass",
            SystemType::RegType => "regtype",
            SystemType::RegRole => "regrole",
            SystemType::RegNamespace => "regnamespace",
            SystemType::RegCollation => "regcollation",
            SystemType::RegConfig => "regconfig",
            SystemType::Name => "name",
            SystemType::Char => "\"char\"",
            SystemType::Int2Vector => "int2vector",
            SystemType::OidVector => "oidvector",
            SystemType::NodeTree => "pg_node_tree",
            SystemType::AclItem => "aclitem",
            SystemType::Json => "json",
            SystemType::RefCursor => "refcursor",
            SystemType::Tid => "tid",
            SystemType::AnyElement => "anyelement",
            SystemType::AnyArray => "anyarray",
            SystemType::AnyNonArray => "anynonarray",
            SystemType::AnyEnum => "anyenum",
            SystemType::AnyRange => "anyrange",
            SystemType::AnyCompatible => "anycompatible",
            SystemType::AnyCompatibleArray => "anycompatiblearray",
            SystemType::AnyCompatibleNonArray => "anycompatiblenonarray",
            SystemType::AnyCompatibleRange => "anycompatiblerange",
        }
    }

    /// By its name in the catalog, `char` without quotes.
    pub fn by_name(name: &str) -> Option<SystemType> {
        SystemType::ALL.iter().copied().find(|t| t.name().trim_matches('"') == name)
    }

    /// Whether it is an oid that is read and shown as a name.
    pub const fn is_reg(self) -> bool {
        use SystemType::*;
        matches!(
            self,
            RegProc
                | RegProcedure
                | RegOper
                | RegOperator
                | RegClass
                | RegType
                | RegRole
                | RegNamespace
                | RegCollation
                | RegConfig
        )
    }

    /// What a vector is made of.
    pub const fn element(self) -> Option<Type> {
        match self {
            SystemType::Int2Vector => Some(Type::Int2),
            SystemType::OidVector => Some(Type::System(SystemType::Oid)),
            SystemType::AnyArray => Some(Type::System(SystemType::AnyElement)),
            SystemType::AnyCompatibleArray => Some(Type::System(SystemType::AnyCompatible)),
            _ => None,
        }
    }

    const fn class(self) -> TypeClass {
        use SystemType::*;
        match self {
            Name | Char | NodeTree | AclItem | Json | RefCursor => TypeClass::Text,
            Int2Vector | OidVector => TypeClass::Array,
            AnyElement
            | AnyArray
            | AnyNonArray
            | AnyEnum
            | AnyRange
            | AnyCompatible
            | AnyCompatibleArray
            | AnyCompatibleNonArray
            | AnyCompatibleRange => TypeClass::Other,
            _ => TypeClass::Integer,
        }
    }
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
    /// double precision, real
    Float,
    /// text, varchar, char
    Text,
    /// citext
    Citext,
    /// bytea
    Bytea,
    /// date, timestamp, timestamptz
    DateTime,
    /// interval
    Interval,
    /// time
    Time,
    /// uuid
    Uuid,
    /// jsonb
    Json,
    /// ranges
    Range,
    /// what is kept as bytes in its order
    Packed,
    /// enumerated types
    Enum,
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
            Type::Float8 | Type::Float4 => TypeClass::Float,
            Type::Text | Type::Varchar(_) | Type::Char(_) => TypeClass::Text,
            Type::Citext => TypeClass::Citext,
            Type::Bytea => TypeClass::Bytea,
            Type::Date | Type::Timestamp | Type::TimestampTz => TypeClass::DateTime,
            Type::Interval | Type::OldInterval => TypeClass::Interval,
            Type::Time => TypeClass::Time,
            Type::Rounded(clock, _) => clock.ty().class(),
            Type::Uuid => TypeClass::Uuid,
            Type::Jsonb => TypeClass::Json,
            Type::Range(_) => TypeClass::Range,
            Type::Packed(_) => TypeClass::Packed,
            Type::Enum(_) => TypeClass::Enum,
            Type::Array(_) => TypeClass::Array,
            Type::Unknown | Type::Void => TypeClass::Other,
            Type::System(system) => system.class(),
            Type::Record(_) => TypeClass::Array,
        }
    }

    /// `oid`
    pub const OID: Type = Type::System(SystemType::Oid);
    /// `tid`
    pub const TID: Type = Type::System(SystemType::Tid);
    /// `name`
    pub const NAME: Type = Type::System(SystemType::Name);
    /// `json`
    pub const JSON: Type = Type::System(SystemType::Json);
    /// `"char"`
    pub const CHAR: Type = Type::System(SystemType::Char);

    /// Whether it is `oid` or one of its aliases (`regclass`, ...).
    pub fn is_oid(&self) -> bool {
        *self != Type::TID && matches!(self, Type::System(s) if s.class() == TypeClass::Integer)
    }

    /// Whether it stands for a type that a call gives: of the parameters and results of polymorphic routines.
    pub fn is_polymorphic(&self) -> bool {
        matches!(self, Type::System(system) if system.is_polymorphic())
    }

    /// Whether its text form, and what it is as a date, depends on a time zone.
    pub fn has_zone(&self) -> bool {
        match self {
            Type::TimestampTz
            | Type::Rounded(Clock::TimestampTz, _)
            | Type::Range(RangeType::TimestampTz)
            | Type::Packed(PackedType::TimeTz(_)) => true,
            Type::Array(of) => of.has_zone(),
            Type::Record(fields) => fields.iter().any(|(_, ty)| ty.has_zone()),
            _ => false,
        }
    }

    /// Whether its text form, and what a text is as a value of it, depends on the styles of dates and intervals.
    pub fn has_style(&self) -> bool {
        match self {
            Type::Date | Type::Time | Type::Timestamp | Type::TimestampTz => true,
            Type::Interval | Type::OldInterval | Type::Rounded(..) => true,
            Type::Range(RangeType::Date | RangeType::Timestamp | RangeType::TimestampTz) => true,
            Type::Packed(PackedType::TimeTz(_)) => true,
            Type::Array(of) => of.has_style(),
            Type::Record(fields) => fields.iter().any(|(_, ty)| ty.has_style()),
            _ => false,
        }
    }

    /// Whether its text form depends on `bytea_output`.
    pub fn has_bytes(&self) -> bool {
        match self {
            Type::Bytea => true,
            Type::Array(of) => of.has_bytes(),
            Type::Record(fields) => fields.iter().any(|(_, ty)| ty.has_bytes()),
            _ => false,
        }
    }

    /// Whether its text form depends on `extra_float_digits`.
    pub fn has_floats(&self) -> bool {
        match self {
            Type::Float4 | Type::Float8 => true,
            Type::Array(of) => of.has_floats(),
            Type::Record(fields) => fields.iter().any(|(_, ty)| ty.has_floats()),
            _ => false,
        }
    }

    /// Whose row type it is, or is an array of.
    pub fn row_of(&self) -> Option<&RowOf> {
        match self {
            Type::Record(row) => row.of.as_deref(),
            Type::Array(of) => of.row_of(),
            _ => None,
        }
    }

    /// The type of the elements of an array or vector.
    pub fn element(&self) -> Option<Type> {
        match self {
            Type::Array(of) => Some((**of).clone()),
            Type::System(system) => system.element(),
            _ => None,
        }
    }

    /// The type without its modifier: `numeric(12,2)` becomes `numeric`, `varchar(10)` `varchar`.
    pub fn base(&self) -> Type {
        match self {
            Type::Numeric(_) => Type::Numeric(None),
            Type::Varchar(_) => Type::Varchar(None),
            Type::OldInterval => Type::Interval,
            Type::Rounded(clock, _) => clock.ty().clone(),
            Type::Packed(of) => Type::Packed(of.plain()),
            other => other.clone(),
        }
    }

    /// The type without the digits of its seconds: `timestamp(3)` becomes `timestamp`. Their values have the same form.
    pub const fn plain(&self) -> &Type {
        match self {
            Type::Rounded(clock, _) => clock.ty(),
            other => other,
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
            Type::Float4 => f.write_str("real"),
            Type::Text => f.write_str("text"),
            Type::Varchar(None) => f.write_str("character varying"),
            Type::Varchar(Some(n)) => write!(f, "character varying({n})"),
            Type::Char(0) => f.write_str("bpchar"),
            Type::Char(n) => write!(f, "character({n})"),
            Type::Bytea => f.write_str("bytea"),
            Type::Date => f.write_str("date"),
            Type::Timestamp => f.write_str("timestamp without time zone"),
            Type::TimestampTz => f.write_str("timestamp with time zone"),
            Type::Interval | Type::OldInterval => f.write_str("interval"),
            Type::Jsonb => f.write_str("jsonb"),
            Type::Time => f.write_str("time without time zone"),
            Type::Rounded(clock, digits) => match clock {
                Clock::Time => write!(f, "time({digits}) without time zone"),
                Clock::Timestamp => write!(f, "timestamp({digits}) without time zone"),
                Clock::TimestampTz => write!(f, "timestamp({digits}) with time zone"),
                Clock::Interval => write!(f, "interval({digits})"),
                Clock::Fields(fields) if *digits < Clock::WHOLE => {
                    write!(f, "interval {}({digits})", fields.name())
                }
                Clock::Fields(fields) => write!(f, "interval {}", fields.name()),
            },
            Type::Uuid => f.write_str("uuid"),
            Type::Range(of) => f.write_str(of.name()),
            Type::Packed(of) => of.fmt(f),
            Type::Enum(of) => f.write_str(&of.shown()),
            Type::Array(of) => write!(f, "{of}[]"),
            Type::Unknown => f.write_str("unknown"),
            Type::Void => f.write_str("void"),
            Type::System(system) => f.write_str(system.name()),
            Type::Record(row) => row.fmt(f),
            Type::Citext => f.write_str("citext"),
        }
    }
}
