//! Classes of types, as far as generators care.

use planaria::Type;

/// What a type holds.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Class {
    Whole,
    Number,
    Bool,
    Text,
    Uuid,
    Moment,
    Array,
    Other,
}

impl Class {
    pub(super) fn of(ty: &Type) -> Class {
        match ty {
            Type::Int2 | Type::Int4 | Type::Int8 => Class::Whole,
            Type::Numeric(_) | Type::Float4 | Type::Float8 => Class::Number,
            Type::Bool => Class::Bool,
            Type::Text | Type::Varchar(_) | Type::Char(_) => Class::Text,
            Type::Uuid => Class::Uuid,
            Type::Date | Type::Timestamp | Type::TimestampTz | Type::Rounded(..) => Class::Moment,
            Type::Array(_) => Class::Array,
            _ => Class::Other,
        }
    }
}
