//! Which conversions there are, and where they happen without being asked for.

use crate::types::{PackedType, SystemType, Type, TypeClass};

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
    let (from, to) = (from.plain(), to.plain());
    if matches!(from, Type::System(_) | Type::Record(_)) || matches!(to, Type::System(_) | Type::Record(_)) {
        return system_cast(from, to);
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
        (TypeClass::Float, TypeClass::Float) if *to == Type::Float8 => Implicit,
        (TypeClass::Float, TypeClass::Float) => Assignment,
        (TypeClass::Numeric | TypeClass::Float, TypeClass::Integer) => Assignment,
        (TypeClass::Bool, TypeClass::Integer) if *to == Type::Int4 => Explicit,
        (TypeClass::Integer, TypeClass::Bool) if *from == Type::Int4 => Explicit,
        (TypeClass::Json, TypeClass::Bool | TypeClass::Integer | TypeClass::Numeric | TypeClass::Float) => {
            Explicit
        }
        (TypeClass::Text, TypeClass::Text) => Implicit,
        (TypeClass::Citext, TypeClass::Text) if !matches!(to, Type::Char(_)) => Implicit,
        (_, TypeClass::Text | TypeClass::Citext) => Assignment,
        (TypeClass::Text | TypeClass::Citext, _) => Explicit,
        (TypeClass::DateTime, TypeClass::DateTime) => match (from, to) {
            (Type::Date, _) | (Type::Timestamp, Type::TimestampTz) => Implicit,
            _ => Assignment,
        },
        (TypeClass::DateTime, TypeClass::Time) if *from != Type::Date => Assignment,
        (TypeClass::Time, TypeClass::Interval) => Implicit,
        (TypeClass::Interval, TypeClass::Time) => Assignment,
        (TypeClass::Integer, TypeClass::Packed) | (TypeClass::Packed, TypeClass::Integer) => match (from, to)
        {
            (Type::Int4 | Type::Int8, Type::Packed(PackedType::Bit(_)))
            | (Type::Packed(PackedType::Bit(_)), Type::Int4 | Type::Int8) => Explicit,
            (Type::Int4 | Type::Int8, Type::Packed(PackedType::Money)) => Assignment,
            _ => None,
        },
        (TypeClass::Time, TypeClass::Packed) if is_timetz(to) => Implicit,
        (TypeClass::DateTime, TypeClass::Packed) if is_timetz(to) && *from.plain() == Type::TimestampTz => {
            Assignment
        }
        (TypeClass::Packed, TypeClass::Time) if is_timetz(from) => Assignment,
        (TypeClass::Numeric, TypeClass::Packed) if *to == PackedType::Money.ty() => Assignment,
        (TypeClass::Packed, TypeClass::Numeric) if *from == PackedType::Money.ty() => Assignment,
        (TypeClass::Packed, TypeClass::Packed) => match (from, to) {
            (Type::Packed(from), Type::Packed(to)) => packed_cast(*from, *to),
            _ => None,
        },
        (TypeClass::Array, TypeClass::Array) => match (from, to) {
            (Type::Array(from), Type::Array(to)) => cast_allowed(from, to),
            _ => None,
        },
        _ => None,
    }
}

fn is_timetz(ty: &Type) -> bool {
    matches!(ty, Type::Packed(PackedType::TimeTz(_)))
}

/// The same between types that are kept as bytes.
fn packed_cast(from: PackedType, to: PackedType) -> CastContext {
    use PackedType::{Bit, Cidr, Inet, MacAddr, MacAddr8, TimeTz, VarBit};
    match (from, to) {
        (TimeTz(_), TimeTz(_)) => CastContext::Implicit,
        (Cidr, Inet) | (MacAddr, MacAddr8) | (MacAddr8, MacAddr) => CastContext::Implicit,
        (Bit(_), VarBit(_)) | (VarBit(_), Bit(_)) => CastContext::Implicit,
        (Inet, Cidr) => CastContext::Assignment,
        _ => CastContext::None,
    }
}

/// The same where one of the types is of the catalogs.
fn system_cast(from: &Type, to: &Type) -> CastContext {
    use CastContext::{Assignment, Explicit, Implicit, None};
    let text = |ty: &Type| matches!(ty, Type::Text | Type::Varchar(_) | Type::Char(_));
    let int = |ty: &Type| matches!(ty, Type::Int2 | Type::Int4 | Type::Int8);
    match (from, to) {
        (Type::Unknown, _) => Implicit,
        // oid and its aliases are one another, but an alias is not another alias.
        (a, b) if a.is_oid() && b.is_oid() => {
            if *a == Type::OID || *b == Type::OID {
                Implicit
            } else {
                None
            }
        }
        (a, b) if int(a) && b.is_oid() => Implicit,
        (a, Type::Int4 | Type::Int8) if a.is_oid() => Assignment,
        (a, Type::System(SystemType::RegClass)) if text(a) => Implicit,
        (Type::System(SystemType::Name), Type::Text) => Implicit,
        (a, Type::System(SystemType::Name)) if text(a) => Implicit,
        (Type::System(SystemType::Char), Type::Text) => Implicit,
        (a, Type::System(SystemType::Char)) if text(a) => Assignment,
        (Type::System(SystemType::Char), Type::Int4) | (Type::Int4, Type::System(SystemType::Char)) => {
            Explicit
        }
        (Type::System(SystemType::NodeTree), Type::Text) => Implicit,
        (Type::System(SystemType::Json), Type::Jsonb) | (Type::Jsonb, Type::System(SystemType::Json)) => {
            Assignment
        }
        (Type::System(a), Type::Array(b)) if a.element().as_ref() == Some(b) => Implicit,
        (_, b) if text(b) || *b == Type::Citext => Assignment,
        (a, _) if text(a) || *a == Type::Citext => Explicit,
        (Type::Array(a), Type::System(b)) => match b.element() {
            Some(element) => cast_allowed(a, &element).max(Assignment),
            Option::None => None,
        },
        _ => None,
    }
}

/// Whether a cast between these types can change a value or fail. Where not, lowering leaves it out.
pub fn needs_cast(from: &Type, to: &Type) -> bool {
    match (from, to) {
        (Type::Int2 | Type::Int4 | Type::Int8, Type::Int8) | (Type::Int2, Type::Int4) => false,
        (Type::Text | Type::Varchar(_) | Type::Char(_) | Type::Unknown, Type::Text | Type::Varchar(None)) => {
            false
        }
        (Type::Numeric(_), Type::Numeric(None)) => false,
        (Type::Interval | Type::OldInterval, Type::Interval | Type::OldInterval) => false,
        (Type::Float4, Type::Float8) => false,
        (Type::Packed(from), Type::Packed(to)) => !from.is_relabel(*to),
        (Type::Rounded(..), to) if from.plain() == to => false,
        (from, Type::Rounded(clock, digits)) if clock.keeps(*digits) && from == to.plain() => false,
        (Type::Array(from), Type::Array(to)) => needs_cast(from, to),
        (from, to) if from.is_oid() && to.is_oid() => false,
        (from, Type::Int8) if from.is_oid() => false,
        (
            Type::System(SystemType::Name | SystemType::Char | SystemType::NodeTree | SystemType::RefCursor),
            Type::Text,
        ) => false,
        (Type::System(from), Type::Array(to)) => from.element().as_ref() != Some(&**to),
        (from, to) => from != to,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows and columns in this order; I, A, E as `pg_cast` of PostgreSQL 15 has it (with the rules
    /// for text), `.` for none.
    #[test]
    fn contexts_are_those_of_postgresql() {
        let types = [
            Type::Bool,
            Type::Int2,
            Type::Int4,
            Type::Int8,
            Type::Numeric(None),
            Type::Float8,
            Type::Float4,
            Type::Text,
            Type::Char(1),
            Type::Bytea,
            Type::Date,
            Type::Timestamp,
            Type::TimestampTz,
            Type::Interval,
            Type::Time,
            Type::Uuid,
            Type::Jsonb,
        ];
        let expected = [
            "I.E....AA........",
            ".IIIIIIAA........",
            "EAIIIIIAA........",
            ".AAIIIIAA........",
            ".AAAIIIAA........",
            ".AAAAIAAA........",
            ".AAAAIIAA........",
            "EEEEEEEIIEEEEEEEE",
            "EEEEEEEIIEEEEEEEE",
            ".......AAI.......",
            ".......AA.III....",
            ".......AA.AII.A..",
            ".......AA.AAI.A..",
            ".......AA....IA..",
            ".......AA....II..",
            ".......AA......I.",
            "EEEEEEEAA.......I",
        ];
        for (from, row) in types.iter().zip(expected) {
            let letter = |to| match cast_allowed(from, to) {
                CastContext::Implicit => 'I',
                CastContext::Assignment => 'A',
                CastContext::Explicit => 'E',
                CastContext::None => '.',
            };
            let found: String = types.iter().map(letter).collect();
            assert_eq!(found, row, "from {from}");
        }
    }
}
