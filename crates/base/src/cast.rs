//! Which conversions there are, and where they happen without being asked for.

use crate::types::{Type, TypeClass};

/// Where a conversion may happen, from the most to the least liberal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CastContext {
    /// Anywhere in an expression.
    Implicit,
    /// When stored into a column or variable of the other type.
    Assignment,
    /// By `CAST` and `::` only.
    Explicit,
    /// Nowhere.
    None,
}

/// PostgreSQL's `pg_cast`, with its rule that every type converts to text by assignment and from
/// text explicitly. Modifiers do not count: `numeric(5,2)` to `numeric(3,1)` is implicit.
pub fn cast_allowed(from: &Type, to: &Type) -> CastContext {
    use CastContext::{Assignment, Explicit, Implicit, None};
    let width = |ty: &Type| match ty {
        Type::Int2 => 2,
        Type::Int4 => 4,
        _ => 8,
    };
    if from.base() == to.base() {
        return Implicit;
    }
    match (from.class(), to.class()) {
        (_, TypeClass::Other) | (TypeClass::Other, _) => {
            if *from == Type::Unknown && *to != Type::Void {
                Implicit
            } else {
                None
            }
        }
        (TypeClass::Integer, TypeClass::Integer) if width(from) <= width(to) => Implicit,
        (TypeClass::Integer, TypeClass::Integer) => Assignment,
        (TypeClass::Integer, TypeClass::Numeric | TypeClass::Float) => Implicit,
        (TypeClass::Numeric, TypeClass::Float) => Implicit,
        (TypeClass::Float, TypeClass::Numeric) => Assignment,
        (TypeClass::Numeric | TypeClass::Float, TypeClass::Integer) => Assignment,
        (TypeClass::Bool, TypeClass::Integer) if *to == Type::Int4 => Explicit,
        (TypeClass::Integer, TypeClass::Bool) if *from == Type::Int4 => Explicit,
        (TypeClass::Text, TypeClass::Text) => Implicit,
        (_, TypeClass::Text) => Assignment,
        (TypeClass::Text, _) => Explicit,
        (TypeClass::DateTime, TypeClass::DateTime) => match (from, to) {
            (Type::Date, _) | (Type::Timestamp, Type::TimestampTz) => Implicit,
            _ => Assignment,
        },
        (TypeClass::Array, TypeClass::Array) => match (from, to) {
            (Type::Array(from), Type::Array(to)) => cast_allowed(from, to),
            _ => None,
        },
        _ => None,
    }
}
