//! Functions and operators of the types that are kept as bytes in their order ([`planaria_base::packed`]): lines of the
//! tables that overloads are chosen from.

use super::Lowerer;
use super::bound::{Bound, BoundKind};
use super::functions::{Extra, Line, Make, line};
use super::operators::{Operator, comparison, op};
use super::search::{QUERY, VECTOR};
use planaria_base::types::{PackedKind, PackedType, TypeClass};
use planaria_base::{Datum, Result, Type};
use planaria_ir::Func;
use planaria_syntax::ast::BinaryOp;

use Make::Func as F;
use Make::Then;
use Make::With;
use Type::{Bool, Date, Float4, Float8, Int2, Int4, Int8, Interval, Text, TimestampTz};

const NUM: Type = Type::Numeric(None);

const INET: Type = Type::Packed(PackedType::Inet);
const CIDR: Type = Type::Packed(PackedType::Cidr);
const MAC: Type = Type::Packed(PackedType::MacAddr);
const MAC8: Type = Type::Packed(PackedType::MacAddr8);
const BIT: Type = Type::Packed(PackedType::Bit(None));
const VARBIT: Type = Type::Packed(PackedType::VarBit(None));
const MONEY: Type = Type::Packed(PackedType::Money);
pub(super) const TIMETZ: Type = Type::Packed(PackedType::TimeTz(None));

/// Which text of an address, and which address of one: see [`Func::InetText`], [`Func::InetOf`].
const NTH: [&[Extra]; 4] = [&[Extra::Int(0)], &[Extra::Int(1)], &[Extra::Int(2)], &[Extra::Int(3)]];
/// How an address is printed, by its place among its texts.
pub(super) const PRINTED: i64 = 1;

/// The functions.
pub(super) const TABLE: &[Line] = &[
    line("host", &[INET], Text, With(Func::InetText, NTH[0])),
    line("text", &[INET], Text, With(Func::InetText, NTH[2])),
    line("abbrev", &[INET], Text, With(Func::InetText, NTH[1])),
    line("abbrev", &[CIDR], Text, With(Func::InetText, NTH[3])),
    line("broadcast", &[INET], INET, With(Func::InetOf, NTH[0])),
    line("netmask", &[INET], INET, With(Func::InetOf, NTH[1])),
    line("hostmask", &[INET], INET, With(Func::InetOf, NTH[2])),
    line("network", &[INET], CIDR, With(Func::InetOf, NTH[3])),
    line("masklen", &[INET], Int4, F(Func::InetMaskLength)),
    line("set_masklen", &[INET, Int4], INET, With(Func::InetSetMask, NTH[0])),
    line("set_masklen", &[CIDR, Int4], CIDR, With(Func::InetSetMask, NTH[1])),
    line("family", &[INET], Int4, F(Func::InetFamily)),
    line("inet_same_family", &[INET, INET], Bool, F(Func::InetSameFamily)),
    line("inet_merge", &[INET, INET], CIDR, F(Func::InetMerge)),
    line("trunc", &[MAC], MAC, F(Func::MacTrunc)),
    line("trunc", &[MAC8], MAC8, F(Func::MacTrunc)),
    line("macaddr8_set7bit", &[MAC8], MAC8, F(Func::MacSetBit7)),
    line("extract", &[Text, TIMETZ], NUM, F(Func::ExtractTimeTz)),
    line("date_part", &[Text, TIMETZ], Float8, Then(Func::ExtractTimeTz)),
    line("timezone", &[Text, TIMETZ], TIMETZ, F(Func::TimeTzInZone)),
    line("timezone", &[Interval, TIMETZ], TIMETZ, F(Func::TimeTzShift)),
    line("length", &[BIT], Int4, F(Func::BitsLength)),
    line("bit_length", &[BIT], Int4, F(Func::BitsLength)),
    line("octet_length", &[BIT], Int4, F(Func::BitsOctets)),
    line("bit_count", &[BIT], Int8, F(Func::BitsCount)),
    line("substring", &[BIT, Int4], BIT, F(Func::BitsSubstr)),
    line("substring", &[BIT, Int4, Int4], BIT, F(Func::BitsSubstrFor)),
    line("position", &[BIT, BIT], Int4, F(Func::BitsPosition)),
    line("get_bit", &[BIT, Int4], Int4, F(Func::BitsGet)),
    line("set_bit", &[BIT, Int4, Int4], BIT, F(Func::BitsSet)),
    line("overlay", &[BIT, BIT, Int4], BIT, F(Func::BitsOverlay)),
    line("overlay", &[BIT, BIT, Int4, Int4], BIT, F(Func::BitsOverlayFor)),
];

/// The overloads of an operator.
pub(super) fn operators(which: BinaryOp) -> Vec<Operator> {
    use BinaryOp::{
        Add, BitAnd, BitOr, BitXor, Concat, ContainedBy, Contains, Div, HoldsOrSame, Mul, Overlaps, Shl, Shr,
        Sub, WithinOrSame,
    };
    if let Some(func) = comparison(which, TypeClass::Packed) {
        return [INET, MAC, MAC8, BIT, VARBIT, MONEY, TIMETZ, VECTOR, QUERY]
            .map(|ty| op(ty.clone(), ty, func, Bool))
            .into();
    }
    let both = |ty: Type, func| op(ty.clone(), ty.clone(), func, ty);
    let truth = |func| op(INET, INET, func, Bool);
    let turned = |operator| Operator { swapped: true, ..operator };
    match which {
        Shl => vec![truth(Func::InetStrictlyWithin), op(BIT, Int4, Func::BitsShl, BIT)],
        WithinOrSame => vec![truth(Func::InetWithin)],
        Shr => vec![turned(truth(Func::InetStrictlyWithin)), op(BIT, Int4, Func::BitsShr, BIT)],
        HoldsOrSame => vec![turned(truth(Func::InetWithin))],
        Overlaps => vec![truth(Func::InetOverlaps), both(QUERY, Func::QueryAnd)],
        Contains => vec![op(QUERY, QUERY, Func::QueryContains, Bool)],
        ContainedBy => vec![turned(op(QUERY, QUERY, Func::QueryContains, Bool))],
        BitAnd => vec![
            both(INET, Func::InetAnd),
            both(MAC, Func::MacAnd),
            both(MAC8, Func::MacAnd),
            both(BIT, Func::BitsAnd),
        ],
        BitOr => vec![
            both(INET, Func::InetOr),
            both(MAC, Func::MacOr),
            both(MAC8, Func::MacOr),
            both(BIT, Func::BitsOr),
        ],
        BitXor => vec![both(BIT, Func::BitsXor)],
        Concat => {
            vec![both(VARBIT, Func::BitsConcat), both(VECTOR, Func::VectorConcat), both(QUERY, Func::QueryOr)]
        }
        Add => vec![
            op(INET, Int8, Func::InetAdd, INET),
            turned(op(Int8, INET, Func::InetAdd, INET)),
            op(TIMETZ, Interval, Func::TimeTzAddInterval, TIMETZ),
            turned(op(Interval, TIMETZ, Func::TimeTzAddInterval, TIMETZ)),
            op(Date, TIMETZ, Func::DateAddTimeTz, TimestampTz),
            turned(op(TIMETZ, Date, Func::DateAddTimeTz, TimestampTz)),
            both(MONEY, Func::MoneyAdd),
        ],
        Sub => vec![
            op(INET, Int8, Func::InetSub, INET),
            op(INET, INET, Func::InetDistance, Int8),
            op(TIMETZ, Interval, Func::TimeTzSubInterval, TIMETZ),
            both(MONEY, Func::MoneySub),
        ],
        Mul => {
            let numbers = [
                (Float8, Func::MoneyMul),
                (Float4, Func::MoneyMul),
                (Int8, Func::MoneyMulInt),
                (Int4, Func::MoneyMulInt),
                (Int2, Func::MoneyMulInt),
            ];
            let both_ways = |(ty, func): (Type, Func)| {
                [op(MONEY, ty.clone(), func, MONEY), turned(op(ty, MONEY, func, MONEY))]
            };
            numbers.into_iter().flat_map(both_ways).collect()
        }
        Div => vec![
            op(MONEY, Float8, Func::MoneyDiv, MONEY),
            op(MONEY, Float4, Func::MoneyDiv, MONEY),
            op(MONEY, Int8, Func::MoneyDivInt, MONEY),
            op(MONEY, Int4, Func::MoneyDivInt, MONEY),
            op(MONEY, Int2, Func::MoneyDivInt, MONEY),
            op(MONEY, MONEY, Func::MoneyRatio, Float8),
        ],
        _ => Vec::new(),
    }
}

/// The function of `~` before such a type, and what it gives.
pub(super) fn complement(ty: &Type) -> Option<(Func, Type)> {
    let Type::Packed(of) = ty else { return None };
    Some(match of.kind() {
        PackedKind::Network => (Func::InetNot, INET),
        PackedKind::Bits => (Func::BitsNot, BIT),
        PackedKind::Money
        | PackedKind::JsonPath
        | PackedKind::TimeTz
        | PackedKind::TsVector
        | PackedKind::TsQuery => return None,
        PackedKind::MacAddr | PackedKind::MacAddr8 => (Func::MacNot, ty.clone()),
    })
}

impl Lowerer<'_> {
    /// A zone as `AT TIME ZONE` takes it: there a number is how far UTC is from it, where others say how far it is from UTC.
    pub(super) fn east_of_utc(&mut self, zone: Bound, position: u32) -> Result<Bound> {
        let text = |s: &str| Bound::constant(Datum::Text(s.to_owned()), Type::Text, position);
        let one = Bound::constant(Datum::Int(1), Type::Int4, position);
        let first = Bound::apply(Func::Left, vec![zone.clone(), one], Type::Text, position);
        let turned = vec![zone.clone(), text("+-"), text("-+")];
        let turned = Bound::apply(Func::Translate, turned, Type::Text, position);
        let mut whens = Vec::new();
        for sign in ["+", "-"] {
            let is = Bound::apply(Func::TextEq, vec![first.clone(), text(sign)], Type::Bool, position);
            whens.push((is, turned.clone()));
        }
        Ok(Bound::new(BoundKind::Case(whens, Box::new(zone)), Type::Text, position))
    }
}
