//! Types as PostgreSQL's catalogs and wire protocol name them: OID, length, modifier, short name.
//!
//! The numbers are those of PostgreSQL's `pg_type`; drivers know them by heart. OIDs of tables and
//! other objects of a database are `planaria_catalog::oid`'s business.

use crate::datetime::IntervalFields;
use crate::types::{Clock, PackedType, RangeType, RowType, SystemType, Type};

/// An object identifier.
pub type Oid = u32;

/// Namespace `pg_catalog`.
pub const PG_CATALOG: Oid = 11;
/// Namespace `public`.
pub const PUBLIC: Oid = 2200;
/// The first OID that objects of users have.
pub const FIRST_NORMAL: Oid = 16_384;
/// `citext` and its array: extensions of PostgreSQL get theirs where they are made; these are below those of users.
const CITEXT: Oid = 16_330;
const CITEXT_ARRAY: Oid = 16_331;

/// What `pg_type` says of a built-in type.
struct Line {
    oid: Oid,
    /// Its array type; 0 where there is none.
    array: Oid,
    name: &'static str,
    /// `typlen`: bytes in PostgreSQL, -1 where they vary.
    len: i16,
}

const fn line(oid: Oid, array: Oid, name: &'static str, len: i16) -> Line {
    Line { oid, array, name, len }
}

/// `None`: an array, a record or a type of the user, which are not lines of their own.
fn built_in(ty: &Type) -> Option<Line> {
    use SystemType as S;
    Some(match ty {
        Type::Bool => line(16, 1000, "bool", 1),
        Type::Bytea => line(17, 1001, "bytea", -1),
        Type::Int8 => line(20, 1016, "int8", 8),
        Type::Int2 => line(21, 1005, "int2", 2),
        Type::Int4 => line(23, 1007, "int4", 4),
        Type::Text => line(25, 1009, "text", -1),
        Type::Float4 => line(700, 1021, "float4", 4),
        Type::Float8 => line(701, 1022, "float8", 8),
        Type::Char(_) => line(1042, 1014, "bpchar", -1),
        Type::Varchar(_) => line(1043, 1015, "varchar", -1),
        Type::Date => line(1082, 1182, "date", 4),
        Type::Time => line(1083, 1183, "time", 8),
        Type::Timestamp => line(1114, 1115, "timestamp", 8),
        Type::TimestampTz => line(1184, 1185, "timestamptz", 8),
        Type::Interval | Type::OldInterval => line(1186, 1187, "interval", 16),
        Type::Numeric(_) => line(1700, 1231, "numeric", -1),
        Type::Uuid => line(2950, 2951, "uuid", 16),
        Type::Jsonb => line(3802, 3807, "jsonb", -1),
        Type::Packed(of) => match of {
            PackedType::Inet => line(869, 1041, "inet", -1),
            PackedType::Cidr => line(650, 651, "cidr", -1),
            PackedType::MacAddr => line(829, 1040, "macaddr", 6),
            PackedType::MacAddr8 => line(774, 775, "macaddr8", 8),
            PackedType::Bit(_) => line(1560, 1561, "bit", -1),
            PackedType::VarBit(_) => line(1562, 1563, "varbit", -1),
            PackedType::Money => line(790, 791, "money", 8),
            PackedType::TimeTz(_) => line(1266, 1270, "timetz", 12),
            PackedType::JsonPath => line(4072, 4073, "jsonpath", -1),
            PackedType::TsVector => line(3614, 3643, "tsvector", -1),
            PackedType::TsQuery => line(3615, 3645, "tsquery", -1),
        },
        Type::Range(of) => match of {
            RangeType::Int4 => line(3904, 3905, "int4range", -1),
            RangeType::Num => line(3906, 3907, "numrange", -1),
            RangeType::Timestamp => line(3908, 3909, "tsrange", -1),
            RangeType::TimestampTz => line(3910, 3911, "tstzrange", -1),
            RangeType::Date => line(3912, 3913, "daterange", -1),
            RangeType::Int8 => line(3926, 3927, "int8range", -1),
        },
        Type::Unknown => line(705, 0, "unknown", -2),
        Type::Void => line(2278, 0, "void", 4),
        Type::System(system) => match system {
            S::Char => line(18, 1002, "char", 1),
            S::Name => line(19, 1003, "name", 64),
            S::Int2Vector => line(22, 1006, "int2vector", -1),
            S::RegProc => line(24, 1008, "regproc", 4),
            S::Oid => line(26, 1028, "oid", 4),
            S::Tid => line(27, 1010, "tid", 6),
            S::Xid => line(28, 1011, "xid", 4),
            S::OidVector => line(30, 1013, "oidvector", -1),
            S::NodeTree => line(194, 0, "pg_node_tree", -1),
            S::AclItem => line(1033, 1034, "aclitem", 12),
            S::Json => line(114, 199, "json", -1),
            S::RefCursor => line(1790, 2201, "refcursor", -1),
            S::RegProcedure => line(2202, 2207, "regprocedure", 4),
            S::RegOper => line(2203, 2208, "regoper", 4),
            S::RegOperator => line(2204, 2209, "regoperator", 4),
            S::RegClass => line(2205, 2210, "regclass", 4),
            S::RegType => line(2206, 2211, "regtype", 4),
            S::RegRole => line(4096, 4097, "regrole", 4),
            S::RegNamespace => line(4089, 4090, "regnamespace", 4),
            S::RegCollation => line(4191, 4192, "regcollation", 4),
            S::RegConfig => line(3734, 3735, "regconfig", 4),
            S::AnyElement => line(2283, 0, "anyelement", 4),
            S::AnyArray => line(2277, 0, "anyarray", -1),
            S::AnyNonArray => line(2776, 0, "anynonarray", 4),
            S::AnyEnum => line(3500, 0, "anyenum", 4),
            S::AnyRange => line(3831, 0, "anyrange", -1),
            S::AnyCompatible => line(5077, 0, "anycompatible", 4),
            S::AnyCompatibleArray => line(5078, 0, "anycompatiblearray", -1),
            S::AnyCompatibleNonArray => line(5079, 0, "anycompatiblenonarray", 4),
            S::AnyCompatibleRange => line(5080, 0, "anycompatiblerange", -1),
        },
        Type::Citext => line(CITEXT, CITEXT_ARRAY, "citext", -1),
        Type::Rounded(clock, _) => return built_in(clock.ty()),
        Type::Array(_) | Type::Enum(_) | Type::Record(_) => return None,
    })
}

/// The OID of a type, its modifier aside: 23 for `integer`.
pub fn of(ty: &Type) -> Oid {
    match ty {
        Type::Array(of) => array_of(of),
        Type::Enum(of) => of.oid(),
        Type::Record(RowType { of: Some(of), .. }) => of.oids.0,
        Type::Record(_) => 2249,
        ty => built_in(ty).map_or(0, |l| l.oid),
    }
}

/// The OID of the arrays of a type; that of an array is its own, as in PostgreSQL. 0 where there is
/// no such type.
pub fn array_of(element: &Type) -> Oid {
    match element {
        Type::Array(of) => array_of(of),
        Type::Enum(of) => of.array_oid(),
        Type::Record(RowType { of: Some(of), .. }) => of.oids.1,
        Type::Record(_) => 2287,
        ty => built_in(ty).map_or(0, |l| l.array),
    }
}

/// `typlen`: bytes of a value in PostgreSQL, -1 where they vary, -2 for C strings.
pub fn length(ty: &Type) -> i16 {
    if let Type::Enum(_) = ty { 4 } else { built_in(ty).map_or(-1, |l| l.len) }
}

/// `atttypmod`: -1 without a modifier. That of an array is its elements'.
pub fn modifier(ty: &Type) -> i32 {
    match ty {
        Type::Char(0) => -1,
        Type::Varchar(Some(n)) | Type::Char(n) => *n as i32 + 4,
        Type::Numeric(Some((precision, scale))) => {
            (i32::from(*precision) << 16 | i32::from(*scale) & 0x7FF) + 4
        }
        // An interval's has a mask of fields above it: all of them.
        Type::Rounded(Clock::Interval, digits) => 0x7FFF << 16 | i32::from(*digits),
        Type::Rounded(Clock::Fields(fields), digits) => {
            let digits = if *digits < Clock::WHOLE { i32::from(*digits) } else { 0xFFFF };
            fields.mask() << 16 | digits
        }
        Type::Rounded(_, digits) => i32::from(*digits),
        Type::Packed(of) => of.limit().map_or(-1, |n| n as i32),
        Type::Array(of) => modifier(of),
        _ => -1,
    }
}

/// The name in `pg_type`: `int4`, `_int4` for its array.
pub fn name(ty: &Type) -> String {
    match ty {
        Type::Array(of) => format!("_{}", name(of)),
        Type::Record(_) => "record".to_owned(),
        Type::Enum(of) => of.name().to_owned(),
        ty => built_in(ty).map_or("", |l| l.name).to_owned(),
    }
}

/// Types that have a line in `pg_type` of every database, without modifiers.
pub fn scalars() -> impl Iterator<Item = Type> {
    let plain = [
        Type::Bool,
        Type::Bytea,
        Type::Int8,
        Type::Int2,
        Type::Int4,
        Type::Text,
        Type::Float4,
        Type::Float8,
        Type::Char(0),
        Type::Varchar(None),
        Type::Date,
        Type::Time,
        Type::Timestamp,
        Type::TimestampTz,
        Type::Interval,
        Type::Numeric(None),
        Type::Uuid,
        Type::Jsonb,
        Type::Unknown,
        Type::Void,
    ];
    let ranges = RangeType::ALL.into_iter().map(Type::Range);
    let packed = PackedType::ALL.into_iter().map(Type::Packed);
    plain.into_iter().chain(ranges).chain(packed).chain(SystemType::ALL.iter().copied().map(Type::System))
}

/// The type of an OID, with a modifier as `atttypmod` has it (-1: none). `None` for types that are
/// not known here.
pub fn to_type(oid: Oid, modifier: i32) -> Option<Type> {
    for ty in scalars().chain([Type::Citext]) {
        if of(&ty) == oid {
            return Some(modified(ty, modifier));
        }
        let array = array_of(&ty);
        if array == oid && array != 0 {
            return Some(Type::Array(Box::new(modified(ty, modifier))));
        }
    }
    None
}

fn modified(ty: Type, modifier: i32) -> Type {
    let has = |fields: &IntervalFields| fields.mask() == modifier >> 16;
    if let (Type::Interval, Some(fields)) = (&ty, IntervalFields::ALL.into_iter().find(has)) {
        let digits = (modifier & 0xFFFF).min(i32::from(Clock::WHOLE));
        return Type::Rounded(Clock::Fields(fields), digits as u8);
    }
    if let Some(clock) = Clock::ALL.into_iter().find(|clock| *clock.ty() == ty)
        && (0..=6).contains(&(modifier & 0xFFFF))
        && modifier >= 0
    {
        return Type::Rounded(clock, modifier as u8);
    }
    if let (Type::Packed(of), 0..) = (&ty, modifier) {
        return Type::Packed(of.with_limit(modifier as u32));
    }
    match (ty, u32::try_from(modifier.saturating_sub(4))) {
        (Type::Varchar(_), Ok(n)) if n > 0 => Type::Varchar(Some(n)),
        (Type::Char(_), Ok(n)) if n > 0 => Type::Char(n),
        // The scale has eleven bits and a sign.
        (Type::Numeric(_), Ok(n)) if n > 0 => {
            let scale = ((n & 0x7FF) ^ 0x400) as i16 - 0x400;
            Type::Numeric(Some(((n >> 16) as u16, scale)))
        }
        (ty, _) => ty,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_oids_are_one_to_one() {
        let mut seen = std::collections::BTreeSet::new();
        for ty in scalars() {
            assert!(seen.insert(of(&ty)), "{ty}");
            assert_eq!(to_type(of(&ty), -1), Some(ty.clone()));
            let array = Type::Array(Box::new(ty));
            if of(&array) != 0 {
                assert!(seen.insert(of(&array)), "{array}");
                assert_eq!(to_type(of(&array), -1), Some(array));
            }
        }
    }

    #[test]
    fn modifiers_come_back() {
        let rounded = Clock::ALL.map(|clock| Type::Rounded(clock, 3));
        let fields = IntervalFields::ALL.map(|fields| Type::Rounded(Clock::Fields(fields), Clock::WHOLE));
        let bits = [PackedType::Bit(Some(3)), PackedType::VarBit(Some(20))].map(Type::Packed);
        let others = [Type::Varchar(Some(20)), Type::Char(3), Type::Numeric(Some((12, 2)))];
        for ty in rounded.into_iter().chain(others).chain(bits).chain(fields) {
            assert_eq!(to_type(of(&ty), modifier(&ty)), Some(ty.clone()));
            let array = Type::Array(Box::new(ty));
            assert_eq!(to_type(of(&array), modifier(&array)), Some(array));
        }
        assert_eq!(modifier(&Type::Numeric(Some((12, 2)))), 786_438);
        assert_eq!(name(&Type::Array(Box::new(Type::Int4))), "_int4");
    }
}
