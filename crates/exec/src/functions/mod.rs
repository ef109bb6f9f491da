//! The scalar functions: one arm for each line of [`planaria_ir::Func`], and the casts.
//!
//! Values are those of PostgreSQL 15, errors have its SQLSTATE and wording. What a function
//! computes on stands in `base` where constants need it too (numerics, dates, text forms); here
//! they are applied to [`Slot`]s.
//!
//! | file | holds |
//! |---|---|
//! | `mod.rs` | the dispatch, constant folding |
//! | `fast.rs` | what the machine calls directly: arithmetic, comparison, concatenation |
//! | `order.rs` | order, equality and hash over all classes |
//! | `cast.rs` | casts and text forms |
//! | `float.rs`, `text.rs`, `like.rs`, `regex.rs`, `format.rs`, `json.rs`, `jsonpath.rs`, `bytes.rs`, `array.rs` | a class each |
//!
//! # Where PostgreSQL answers differently
//!
//! * numeric: at most 35 digits (22003 beyond, never a rounded answer), no NaN and no infinity;
//! * the words `now`, `today` in literals are refused;
//! * regular expressions have no lookaround and no back references;
//! * doubles' `exp`, `ln`, `sin` are the platform's.
//!
//! All of these but the first say 0A000.

mod array;
pub use array::null_subscript;
mod bucket;
mod bytes;
pub mod cast;
mod crypto;
mod degrees;
mod encodings;
mod escapes;
pub mod fast;
mod float;
mod format;
mod hash;
mod json;
mod json_rows;
mod jsonpath;
pub mod like;
mod normalize;
pub mod number;
pub mod order;
mod packed;
mod range;
mod regex;
mod regex_find;
mod roots;
mod sample;
mod search;
mod shaped;
mod statistics;
#[cfg(test)]
mod tests;
mod text;
mod trigram;

pub use array::{get as element, load as load_array, nth as nth_element, store as store_array};
pub use cast::{cast, display};
pub(crate) use hash::{is_of_partition, of_key as hash_of_value};
pub use order::{compare, eq, hash};
pub use shaped::nest as nest_arrays;

use crate::heap::Heap;
use crate::slot::Slot;
use jsonpath::Wanted;
use planaria_base::datetime::{self, Interval, Zone};
use planaria_base::json::change::At;
use planaria_base::json::part::Kind;
use planaria_base::packed::bits::Bits;
use planaria_base::packed::inet::Inet;
use planaria_base::packed::{mac, money, timetz};
use planaria_base::range::Range;
use planaria_base::text_io::to_real;
use planaria_base::{Datum, Numeric, Result, Type, numeric};
use planaria_ir::Func;
use std::cmp::Ordering;
use text::{Case, Ends};

/// Applies a function. Arguments are of the classes its signature names; NULL in a strict function
/// gives NULL.
pub fn call(func: Func, args: &[Slot], heap: &mut Heap) -> Result<Slot> {
    if func.strict() && args.iter().any(|a| a.is_null()) {
        return Ok(Slot::Null);
    }
    apply(func, args, heap)
}

/// A function of constants, when a program is compiled.
pub fn fold(func: Func, args: &[Datum]) -> Result<Datum> {
    let mut heap = Heap::small();
    let args: Vec<Slot> = args.iter().map(|a| heap.push_datum(a)).collect::<Result<_>>()?;
    let result = call(func, &args, &mut heap)?;
    Ok(heap.to_datum(result))
}

/// A cast of a constant, when a program is compiled.
pub fn fold_cast(value: &Datum, from: &Type, to: &Type, explicit: bool) -> Result<Datum> {
    let mut heap = Heap::small();
    let slot = heap.push_datum(value)?;
    let result = cast(slot, from, to, explicit, &mut heap)?;
    Ok(heap.to_datum(result))
}

fn int(n: Result<i64>) -> Result<Slot> {
    n.map(Slot::Int)
}
fn num(n: Result<Numeric>) -> Result<Slot> {
    n.map(Slot::numeric)
}
fn ivl(i: Result<Interval>) -> Result<Slot> {
    i.map(Slot::Interval)
}
fn flt(x: Result<f64>) -> Result<Slot> {
    x.map(Slot::Float)
}

fn is(order: Ordering, func: Func) -> Result<Slot> {
    use Func::*;
    Ok(Slot::Bool(match func {
        IntEq | NumEq | FltEq | BoolEq | TextEq | BytesEq | UuidEq | IntervalEq => order.is_eq(),
        IntNe | NumNe | FltNe | BoolNe | TextNe | BytesNe | UuidNe | IntervalNe => order.is_ne(),
        IntLt | NumLt | FltLt | BoolLt | TextLt | BytesLt | UuidLt | IntervalLt => order.is_lt(),
        IntLe | NumLe | FltLe | BoolLe | TextLe | BytesLe | UuidLe | IntervalLe => order.is_le(),
        IntGt | NumGt | FltGt | BoolGt | TextGt | BytesGt | UuidGt | IntervalGt => order.is_gt(),
        _ => order.is_ge(),
    }))
}

/// A digit count: beyond 32 bits all are alike.
fn digits(slot: Slot) -> i32 {
    slot.int().clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
}

#[rustfmt::skip]
fn apply(func: Func, a: &[Slot], heap: &mut Heap) -> Result<Slot> {
    use Func::*;
    match func {
        // ---- integers ----
        Int2Add => int(fast::int2(a[0].int().checked_add(a[1].int()))),
        Int4Add => int(fast::int4_add(a[0].int(), a[1].int())),
        Int8Add => int(fast::int8_add(a[0].int(), a[1].int())),
        Int2Sub => int(fast::int2(a[0].int().checked_sub(a[1].int()))),
        Int4Sub => int(fast::int4_sub(a[0].int(), a[1].int())),
        Int8Sub => int(fast::int8_sub(a[0].int(), a[1].int())),
        Int2Mul => int(fast::int2(a[0].int().checked_mul(a[1].int()))),
        Int4Mul => int(fast::int4_mul(a[0].int(), a[1].int())),
        Int8Mul => int(fast::int8_mul(a[0].int(), a[1].int())),
        Int2Div => int(fast::int2(fast::int_div(a[0].int(), a[1].int())?)),
        Int4Div => int(fast::int4(fast::int_div(a[0].int(), a[1].int())?)),
        Int8Div => int(fast::int8(fast::int_div(a[0].int(), a[1].int())?)),
        IntMod => int(fast::int_mod(a[0].int(), a[1].int())),
        Int2Neg => int(fast::int2(a[0].int().checked_neg())),
        Int4Neg => int(fast::int4(a[0].int().checked_neg())),
        Int8Neg => int(fast::int8(a[0].int().checked_neg())),
        Int2Abs => int(fast::int2(a[0].int().checked_abs())),
        Int4Abs => int(fast::int4(a[0].int().checked_abs())),
        Int8Abs => int(fast::int8(a[0].int().checked_abs())),
        Ntile => bucket::ntile(a[0].int(), a[1].int(), a[2].int()).map(Slot::Int),
        SampleShare => sample::share(a[0].float(), a[1].bool()).map(Slot::Float),
        SampleDraw => sample::draw(a[0].float(), a[1].bool(), heap.str(a[2].bytes())).map(Slot::Float),
        IntSign => Ok(Slot::Int(a[0].int().signum())),
        IntAnd => Ok(Slot::Int(a[0].int() & a[1].int())),
        IntOr => Ok(Slot::Int(a[0].int() | a[1].int())),
        IntXor => Ok(Slot::Int(a[0].int() ^ a[1].int())),
        IntNot => Ok(Slot::Int(!a[0].int())),
        Int4Gcd => int(fast::int4(gcd(a[0].int(), a[1].int()))),
        Int8Gcd => int(fast::int8(gcd(a[0].int(), a[1].int()))),
        Int4Lcm => int(fast::int4(lcm(a[0].int(), a[1].int()))),
        Int8Lcm => int(fast::int8(lcm(a[0].int(), a[1].int()))),
        Int4ToHex => heap.text(&format!("{:x}", a[0].int() as u32)),
        Int8ToHex => heap.text(&format!("{:x}", a[0].int())),
        // Shifts are those of the processor: the count modulo the width, which is 32 for smallint.
        Int2Shl => Ok(Slot::Int(i64::from((a[0].int() as i32).wrapping_shl(a[1].int() as u32) as i16))),
        Int4Shl => Ok(Slot::Int(i64::from((a[0].int() as i32).wrapping_shl(a[1].int() as u32)))),
        Int8Shl => Ok(Slot::Int(a[0].int().wrapping_shl(a[1].int() as u32))),
        Int2Shr => Ok(Slot::Int(i64::from((a[0].int() as i32).wrapping_shr(a[1].int() as u32) as i16))),
        Int4Shr => Ok(Slot::Int(i64::from((a[0].int() as i32).wrapping_shr(a[1].int() as u32)))),
        Int8Shr => Ok(Slot::Int(a[0].int().wrapping_shr(a[1].int() as u32))),
        IntEq | IntNe | IntLt | IntLe | IntGt | IntGe => is(a[0].int().cmp(&a[1].int()), func),

        // ---- numeric ----
        NumAdd | NumSub | NumMul | NumDiv | NumMod | NumNeg | NumAbs | NumSign | NumCeil | NumFloor | NumRound | NumTrunc
        | NumSqrt | NumPower | NumExp | NumLn | NumLog10 | NumLog | NumDivTrunc | NumMinScale | NumTrimScale | NumScale
        | NumEq | NumNe | NumLt | NumLe | NumGt | NumGe | NumAvg | NumWidthBucket | NumFactorial | NumGcd | NumLcm
        | ToCharNumeric => number::apply(func, a, heap),

        // ---- double precision ----
        RealAdd => flt(float::add(a[0].float(), a[1].float()).and_then(to_real)),
        RealSub => flt(float::sub(a[0].float(), a[1].float()).and_then(to_real)),
        RealMul => flt(float::mul(a[0].float(), a[1].float()).and_then(to_real)),
        RealDiv => flt(float::div(a[0].float(), a[1].float()).and_then(to_real)),
        FltAdd => flt(float::add(a[0].float(), a[1].float())),
        FltSub => flt(float::sub(a[0].float(), a[1].float())),
        FltMul => flt(float::mul(a[0].float(), a[1].float())),
        FltDiv => flt(float::div(a[0].float(), a[1].float())),
        FltNeg => Ok(Slot::Float(-a[0].float())),
        FltAbs => Ok(Slot::Float(a[0].float().abs())),
        FltSign => Ok(Slot::Float(float::sign(a[0].float()))),
        FltCeil => Ok(Slot::Float(a[0].float().ceil())),
        FltFloor => Ok(Slot::Float(a[0].float().floor())),
        FltRound => Ok(Slot::Float(a[0].float().round_ties_even())),
        FltTrunc => Ok(Slot::Float(a[0].float().trunc())),
        FltSqrt => flt(float::sqrt(a[0].float())),
        FltPower => flt(float::power(a[0].float(), a[1].float())),
        FltExp => flt(float::exp(a[0].float())),
        FltLn => flt(float::ln(a[0].float())),
        FltLog10 => flt(float::log10(a[0].float())),
        FltCbrt => Ok(Slot::Float(roots::cbrt(a[0].float()))),
        FltSin => flt(float::periodic(a[0].float(), f64::sin)),
        FltCos => flt(float::periodic(a[0].float(), f64::cos)),
        FltTan => flt(float::periodic(a[0].float(), f64::tan)),
        FltAsin => flt(float::inverse(a[0].float(), f64::asin)),
        FltAcos => flt(float::inverse(a[0].float(), f64::acos)),
        FltAtan => Ok(Slot::Float(a[0].float().atan())),
        FltAtan2 => Ok(Slot::Float(a[0].float().atan2(a[1].float()))),
        FltCot => Ok(Slot::Float(1.0 / a[0].float().tan())),
        FltSinh => Ok(Slot::Float(a[0].float().sinh())),
        FltCosh => Ok(Slot::Float(a[0].float().cosh())),
        FltTanh => Ok(Slot::Float(a[0].float().tanh())),
        FltAsinh => Ok(Slot::Float(roots::asinh(a[0].float()))),
        FltAcosh => flt(float::acosh(a[0].float())),
        FltAtanh => flt(float::atanh(a[0].float())),
        FltSind => flt(float::periodic(a[0].float(), degrees::sin)),
        FltCosd => flt(float::periodic(a[0].float(), degrees::cos)),
        FltTand => flt(float::periodic(a[0].float(), degrees::tan)),
        FltCotd => flt(float::periodic(a[0].float(), degrees::cot)),
        FltAsind => flt(float::inverse(a[0].float(), degrees::asin)),
        FltAcosd => flt(float::inverse(a[0].float(), degrees::acos)),
        FltAtand => Ok(Slot::Float(degrees::atan(a[0].float()))),
        FltAtan2d => Ok(Slot::Float(degrees::atan2(a[0].float(), a[1].float()))),
        FltWidthBucket => {
            bucket::of_float(a[0].float(), a[1].float(), a[2].float(), a[3].int()).map(Slot::Int)
        }
        FltDegrees => flt(float::div(a[0].float(), float::RADIANS_PER_DEGREE)),
        FltRadians => flt(float::mul(a[0].float(), float::RADIANS_PER_DEGREE)),
        FltEq | FltNe | FltLt | FltLe | FltGt | FltGe => is(fast::float_cmp(a[0].float(), a[1].float()), func),

        // ---- boolean ----
        And => Ok(match (a[0], a[1]) {
            (Slot::Bool(false), _) | (_, Slot::Bool(false)) => Slot::Bool(false),
            (Slot::Null, _) | (_, Slot::Null) => Slot::Null,
            _ => Slot::Bool(true),
        }),
        Or => Ok(match (a[0], a[1]) {
            (Slot::Bool(true), _) | (_, Slot::Bool(true)) => Slot::Bool(true),
            (Slot::Null, _) | (_, Slot::Null) => Slot::Null,
            _ => Slot::Bool(false),
        }),
        Not => Ok(Slot::Bool(!a[0].bool())),
        BoolEq | BoolNe | BoolLt | BoolLe | BoolGt | BoolGe => is(a[0].bool().cmp(&a[1].bool()), func),
        IsNull => Ok(Slot::Bool(a[0].is_null())),
        IsNotNull => Ok(Slot::Bool(!a[0].is_null())),
        AnyNull => Ok(Slot::Bool(a.iter().any(|v| v.is_null()))),
        IsTrue => Ok(Slot::Bool(a[0].is_true())),
        IsFalse => Ok(Slot::Bool(matches!(a[0], Slot::Bool(false)))),
        Distinct => Ok(Slot::Bool(!eq(a[0], a[1], heap))),
        NotDistinct => Ok(Slot::Bool(eq(a[0], a[1], heap))),
        BoolOut => heap.text(if a[0].bool() { "t" } else { "f" }),

        // ---- text ----
        TextEq => Ok(Slot::Bool(fast::text_eq(heap, a[0].bytes(), a[1].bytes()))),
        TextNe => Ok(Slot::Bool(!fast::text_eq(heap, a[0].bytes(), a[1].bytes()))),
        TextLt | TextLe | TextGt | TextGe => is(fast::text_cmp(heap, a[0].bytes(), a[1].bytes()), func),
        TextConcat => fast::text_concat(heap, a[0].bytes(), a[1].bytes()),
        TextLength => Ok(Slot::Int(text::length(heap.bytes(a[0].bytes())))),
        OctetLength | BytesLength => Ok(Slot::Int(i64::from(a[0].bytes().len))),
        Substr => text::substr(heap, a[0].bytes(), a[1].int(), None),
        SubstrFor => text::substr(heap, a[0].bytes(), a[1].int(), Some(a[2].int())),
        Upper => text::change_case(heap, a[0].bytes(), Case::Upper),
        Lower => text::change_case(heap, a[0].bytes(), Case::Lower),
        InitCap => text::change_case(heap, a[0].bytes(), Case::Title),
        LPad => text::pad(heap, a[0].bytes(), a[1].int(), a[2].bytes(), true),
        RPad => text::pad(heap, a[0].bytes(), a[1].int(), a[2].bytes(), false),
        Repeat => text::repeat(heap, a[0].bytes(), a[1].int()),
        LTrim => Ok(text::trim(heap, a[0].bytes(), a[1].bytes(), Ends::Left)),
        RTrim => Ok(text::trim(heap, a[0].bytes(), a[1].bytes(), Ends::Right)),
        BTrim => Ok(text::trim(heap, a[0].bytes(), a[1].bytes(), Ends::Both)),
        Replace => text::replace(heap, a[0].bytes(), a[1].bytes(), a[2].bytes()),
        Reverse => text::reverse(heap, a[0].bytes()),
        Position => Ok(Slot::Int(text::position(heap.bytes(a[0].bytes()), heap.bytes(a[1].bytes())))),
        SplitPart => text::split_part(heap, a[0].bytes(), a[1].bytes(), a[2].int()),
        Left => Ok(text::left(heap, a[0].bytes(), a[1].int())),
        Right => Ok(text::right(heap, a[0].bytes(), a[1].int())),
        Translate => text::translate(heap, a[0].bytes(), a[1].bytes(), a[2].bytes()),
        Ascii => Ok(Slot::Int(text::ascii(heap.str(a[0].bytes())))),
        Chr => text::chr(heap, a[0].int()),
        Md5 => bytes::md5_hex(heap, a[0].bytes()),
        StartsWith => Ok(Slot::Bool(heap.bytes(a[0].bytes()).starts_with(heap.bytes(a[1].bytes())))),
        HashText => Ok(Slot::Int(hash::extended(heap.bytes(a[0].bytes()), a[1].int() as u64) as i64)),
        HashInt4 => Ok(Slot::Int(hash::extended(&(a[0].int() as i32).to_le_bytes(), a[1].int() as u64) as i64)),
        HashInt8 => Ok(Slot::Int(hash::of_int8(a[0].int(), a[1].int() as u64) as i64)),
        HashBool => {
            Ok(Slot::Int(hash::extended(&i32::from(a[0].bool()).to_le_bytes(), a[1].int() as u64) as i64))
        }
        HashUuid => Ok(Slot::Int(hash::extended(&a[0].uuid(), a[1].int() as u64) as i64)),
        HashPartition => Ok(Slot::Bool(hash::is_of_partition(a))),
        HashText4 => Ok(Slot::Int(i64::from(hash::extended(heap.bytes(a[0].bytes()), 0) as u32 as i32))),
        Similar => {
            let built = heap.build(|heap, out| {
                let (pattern, escape) = (heap.str(a[0].bytes()), heap.str(a[1].bytes()));
                out.extend_from_slice(planaria_base::pattern::similar(pattern, escape)?.as_bytes());
                Ok(())
            });
            built.map(Slot::Text)
        }
        Overlay => text::overlay(heap, a[0].bytes(), a[1].bytes(), a[2].int(), a[3].int()),
        Like => {
            let matches = like::like(heap.bytes(a[0].bytes()), heap.bytes(a[1].bytes()), heap.bytes(a[2].bytes()));
            matches.map(Slot::Bool)
        }
        ILike => {
            let [text, pattern, escape] = [a[0], a[1], a[2]].map(|slot| heap.str(slot.bytes()));
            like::ilike(text, pattern, escape).map(Slot::Bool)
        }
        LikePlain => {
            like::like(heap.bytes(a[0].bytes()), heap.bytes(a[1].bytes()), b"\\").map(Slot::Bool)
        }
        ILikePlain => {
            like::ilike(heap.str(a[0].bytes()), heap.str(a[1].bytes()), "\\").map(Slot::Bool)
        }
        Regex => regex::matches(heap.str(a[0].bytes()), heap.str(a[1].bytes()), false).map(Slot::Bool),
        IRegex => regex::matches(heap.str(a[0].bytes()), heap.str(a[1].bytes()), true).map(Slot::Bool),
        RegexReplace => {
            let texts = [0, 1, 2, 3].map(|i: usize| a[i].bytes());
            regex_find::replace(heap, texts, a[4].int(), a[5].int())
        }
        RegexMatch => regex_find::first(heap, [0, 1, 2].map(|i: usize| a[i].bytes())),
        RegexAll => regex_find::all(heap, [0, 1, 2].map(|i: usize| a[i].bytes())),
        RegexAllCount => int(regex_find::all_count(heap, [0, 1, 2].map(|i: usize| a[i].bytes()))),
        RegexPart => regex_find::part(heap, a[0].bytes(), a[1].bytes()),
        RegexSubstr => {
            let texts = [0, 1, 2].map(|i: usize| a[i].bytes());
            regex_find::matched(heap, texts, [3, 4, 5].map(|i: usize| a[i].int()))
        }
        Normalize => normalize::normalized(heap, a[0].bytes(), a[1].bytes()),
        IsNormalized => normalize::is_normalized(heap.str(a[0].bytes()), heap.str(a[1].bytes())).map(Slot::Bool),
        Similarity => {
            trigram::similarity(heap.str(a[0].bytes()), heap.str(a[1].bytes())).map(Slot::Float)
        }
        WordSimilarity => {
            let (word, text) = (heap.str(a[0].bytes()), heap.str(a[1].bytes()));
            trigram::word_similarity(word, text, a[2].int() != 0).map(Slot::Float)
        }
        Trigrams => {
            let text = heap.str(a[0].bytes()).to_owned();
            trigram::shown(heap, &text)
        }
        RegexInstr => {
            let texts = [0, 1, 2].map(|i: usize| a[i].bytes());
            int(regex_find::instr(heap, texts, [3, 4, 5, 6].map(|i: usize| a[i].int())))
        }
        RegexSplit => regex_find::split(heap, [0, 1, 2].map(|i: usize| a[i].bytes())),
        RegexCount => int(regex_find::count(heap, [0, 1, 2].map(|i: usize| a[i].bytes()), a[3].int())),
        RegexLike => regex_find::like(heap, [0, 1, 2].map(|i: usize| a[i].bytes())).map(Slot::Bool),
        JsonQuote => format::json_quote(heap, a[0].bytes()),
        JsonKey => format::json_key(heap, a[0], a[1].int()),
        JsonbIn => json::jsonb_in(heap, a[0].bytes()),
        CitextEq => Ok(Slot::Bool(order::compare(a[0], a[1], heap).is_eq())),
        CitextNe => Ok(Slot::Bool(order::compare(a[0], a[1], heap).is_ne())),
        CitextLt => Ok(Slot::Bool(order::compare(a[0], a[1], heap).is_lt())),
        CitextLe => Ok(Slot::Bool(order::compare(a[0], a[1], heap).is_le())),
        CitextGt => Ok(Slot::Bool(order::compare(a[0], a[1], heap).is_gt())),
        CitextGe => Ok(Slot::Bool(order::compare(a[0], a[1], heap).is_ge())),
        JsonbEq => Ok(Slot::Bool(order::compare(a[0], a[1], heap).is_eq())),
        JsonbNe => Ok(Slot::Bool(order::compare(a[0], a[1], heap).is_ne())),
        JsonbLt => Ok(Slot::Bool(order::compare(a[0], a[1], heap).is_lt())),
        JsonbLe => Ok(Slot::Bool(order::compare(a[0], a[1], heap).is_le())),
        JsonbGt => Ok(Slot::Bool(order::compare(a[0], a[1], heap).is_gt())),
        JsonbGe => Ok(Slot::Bool(order::compare(a[0], a[1], heap).is_ge())),
        JsonField => json::field(heap, a[0], a[1].bytes()),
        JsonFieldText => json::field_text(heap, a[0], a[1].bytes()),
        JsonElement => json::element(heap, a[0], a[1].int()),
        JsonElementText => json::element_text(heap, a[0], a[1].int()),
        JsonPath => json::path(heap, a[0], a[1].array()),
        JsonPathText => json::path_text(heap, a[0], a[1].array()),
        JsonTypeof => json::type_of(heap, a[0].bytes()),
        JsonLength => json::length(heap, a[0].bytes()),
        JsonElements => json::list(heap, a[0], a[1].bytes(), Kind::Array, json::List::Values),
        JsonElementTexts => json::list(heap, a[0], a[1].bytes(), Kind::Array, json::List::Texts),
        JsonRecord => json::record(heap, a[0]),
        JsonRecords => json::records(heap, a[0], a[1].bytes()),
        JsonFieldTexts => json::field_texts(heap, a[0], a[1].bytes()),
        JsonFieldRows => json_rows::field_rows(heap, a[0], a[1].bytes(), a[2].bytes()),
        JsonKeys => json::list(heap, a[0], a[1].bytes(), Kind::Object, json::List::Keys),
        JsonValues => json::list(heap, a[0], a[1].bytes(), Kind::Object, json::List::Values),
        JsonValueTexts => json::list(heap, a[0], a[1].bytes(), Kind::Object, json::List::Texts),
        JsonbContains => json::contains(heap, a[0].bytes(), a[1].bytes()),
        JsonbHas => json::has(heap, a[0].bytes(), a[1].bytes()),
        JsonbHasAny => json::has_any(heap, a[0].bytes(), a[1].array(), false),
        JsonbHasAll => json::has_any(heap, a[0].bytes(), a[1].array(), true),
        JsonbConcat => json::concat(heap, a[0].bytes(), a[1].bytes()),
        JsonbWithout => json::without(heap, a[0].bytes(), a[1].bytes()),
        JsonbWithoutAll => json::without_all(heap, a[0].bytes(), a[1].array()),
        JsonbWithoutAt => json::without_at(heap, a[0].bytes(), a[1].int()),
        JsonbWithoutPath => json::at_path(heap, a[0].bytes(), a[1].array(), None, At::Delete),
        JsonbSet => {
            let how = if a[3].bool() { At::Create } else { At::Replace };
            json::at_path(heap, a[0].bytes(), a[1].array(), Some(a[2].bytes()), how)
        }
        JsonbInsert => {
            let how = if a[3].bool() { At::After } else { At::Before };
            json::at_path(heap, a[0].bytes(), a[1].array(), Some(a[2].bytes()), how)
        }
        JsonbSetLax => json::set_lax(heap, a),
        JsonbPut => json::put(heap, a),
        JsonStripNulls => json::strip_nulls(heap, a[0]),
        JsonbPretty => json::pretty(heap, a[0].bytes()),
        JsonLines => json::lines(heap, a[0].bytes()),
        JsonPathExists | JsonPathExistsTz => jsonpath::call(Wanted::Exists, a, heap),
        JsonPathMatch | JsonPathMatchTz => jsonpath::call(Wanted::Match, a, heap),
        JsonPathValues | JsonPathValuesTz => jsonpath::call(Wanted::Values, a, heap),
        JsonPathArray | JsonPathArrayTz => jsonpath::call(Wanted::Array, a, heap),
        JsonPathFirst | JsonPathFirstTz => jsonpath::call(Wanted::First, a, heap),
        JsonObject => json::object(heap, a[0].array(), None),
        JsonObjectOf => json::object(heap, a[0].array(), Some(a[1].array())),
        SizePretty => number::size_pretty(heap, a[0]),
        SizeBytes => escapes::size_bytes(heap, a[0].bytes()),
        Unistr => escapes::unistr(heap, a[0].bytes()),
        ParseIdent => escapes::identifier(heap, a[0].bytes(), a[1].bool()),
        InDetail => text::in_detail(heap, a[0].bytes()),
        QuoteIdent => format::quote_ident(heap, a[0].bytes()),
        QuoteLiteral => format::quote_literal(heap, a[0].bytes()),
        QuoteNullable => format::quote_nullable(heap, a[0]),
        Concat => text::concat_all(heap, None, a),
        ConcatWs => if a[0].is_null() { Ok(Slot::Null) } else { text::concat_all(heap, Some(a[0].bytes()), &a[1..]) },
        Format => if a[0].is_null() { Ok(Slot::Null) } else { format::format(heap, a[0].bytes(), &a[1..]) },
        CharPad => text::char_pad(heap, a[0].bytes(), a[1].int()),
        RaiseFormat => if a[0].is_null() { Ok(Slot::Null) } else { format::raise_format(heap, a[0].bytes(), &a[1..]) },

        // ---- bytea, uuid ----
        BytesEq => Ok(Slot::Bool(fast::text_eq(heap, a[0].bytes(), a[1].bytes()))),
        BytesNe => Ok(Slot::Bool(!fast::text_eq(heap, a[0].bytes(), a[1].bytes()))),
        BytesLt | BytesLe | BytesGt | BytesGe => is(fast::text_cmp(heap, a[0].bytes(), a[1].bytes()), func),
        TextBytes => Ok(Slot::Bytea(a[0].bytes())),
        BytesLTrim => Ok(bytes::trim(heap, a[0].bytes(), a[1].bytes(), Ends::Left)),
        BytesRTrim => Ok(bytes::trim(heap, a[0].bytes(), a[1].bytes(), Ends::Right)),
        BytesBTrim => Ok(bytes::trim(heap, a[0].bytes(), a[1].bytes(), Ends::Both)),
        BytesConcat => fast::concat(heap, a[0].bytes(), a[1].bytes()).map(Slot::Bytea),
        BytesSubstr => bytes::substr(a[0].bytes(), a[1].int(), None),
        BytesSubstrFor => bytes::substr(a[0].bytes(), a[1].int(), Some(a[2].int())),
        BytesMd5 => bytes::md5_hex(heap, a[0].bytes()),
        BytesSha => bytes::sha(heap, a[0].bytes(), a[1].int()),
        // ---- ranges ----
        RangeMake => range::make(heap, a),
        RangeLower => range::bound(heap, a[0], |lower, _| lower),
        RangeUpper => range::bound(heap, a[0], |_, upper| upper),
        RangeIsEmpty => range::one(heap, a[0], |r| r.is_empty()),
        RangeLowerInc => range::one(heap, a[0], |r| r.bounds.is_some_and(|(lower, _)| lower.inclusive)),
        RangeUpperInc => range::one(heap, a[0], |r| r.bounds.is_some_and(|(_, upper)| upper.inclusive)),
        RangeLowerInf => range::one(heap, a[0], |r| r.bounds.is_some_and(|(lower, _)| lower.value.is_none())),
        RangeUpperInf => range::one(heap, a[0], |r| r.bounds.is_some_and(|(_, upper)| upper.value.is_none())),
        RangeHas => range::has(heap, a[0], a[1]),
        RangeOverlaps => range::two(heap, a, Range::overlaps),
        RangeContains => range::two(heap, a, Range::contains),
        RangeBefore => range::two(heap, a, Range::is_before),
        RangeEndsWithin => range::two(heap, a, Range::ends_within),
        RangeBeginsWithin => range::two(heap, a, Range::begins_within),
        RangeAdjacent => range::two(heap, a, Range::is_adjacent),
        RangeUnion => range::made(heap, a, Range::union),
        RangeMinus => range::made(heap, a, Range::difference),
        RangeIntersect => range::made(heap, a, |a, b| Ok(a.intersection(b))),
        RangeMerge => range::made(heap, a, |a, b| Ok(a.merge(b))),
        RangeCeiling => range::ceiling(heap, a[0]),

        ConvertTo => encodings::convert_to(heap, a[0].bytes(), a[1].bytes()),
        ConvertFrom => encodings::convert_from(heap, a[0].bytes(), a[1].bytes()),
        BytesDigest => crypto::digest(heap, a[0].bytes(), a[1].bytes()),
        BytesHmac => crypto::hmac(heap, a[0].bytes(), a[1].bytes(), a[2].bytes()),
        Crypt => crypto::crypt(heap, a[0].bytes(), a[1].bytes()),
        CryptSalt => crypto::salt(heap, [a[0].uuid(), a[1].uuid()], a[2].bytes(), a[3].int()),
        RandomBytes => crypto::random_bytes(heap, [a[0].uuid(), a[1].uuid()], a[2].int()),
        BytesEncrypt => crypto::encrypt(heap, [0, 1, 2, 3].map(|i: usize| a[i].bytes()), a[4].bool()),
        BytesDecrypt => crypto::decrypt(heap, [0, 1, 2, 3].map(|i: usize| a[i].bytes()), a[4].bool()),
        Armor => crypto::armor(heap, a[0].bytes()),
        Dearmor => crypto::dearmor(heap, a[0].bytes()),
        UuidOfName => crypto::uuid_of_name(heap, a[0].uuid(), a[1].bytes(), a[2].int()),
        UuidOfTime => Ok(crypto::uuid_of_time(a[0].uuid(), a[1].int())),
        ArrayTrim => array::trimmed(heap, a[0].array(), a[1].int()),
        ArrayBucket => bucket::of_thresholds(heap, a[0], a[1].array()),
        // ---- addresses ----
        InetText => packed::inet_text(heap, a[0], a[1].int()),
        InetOf => packed::inet_of(heap, a[0], a[1].int()),
        InetMaskLength => Ok(Slot::Int(packed::inet(heap, a[0])?.bits.into())),
        InetFamily => Ok(Slot::Int(if packed::inet(heap, a[0])?.v6 { 6 } else { 4 })),
        InetSetMask => packed::set_mask(heap, a[0], a[1].int(), a[2].int() != 0),
        InetSameFamily => packed::two(heap, a, |a, b| a.v6 == b.v6),
        InetMerge => packed::made(heap, a, Inet::merge),
        InetWithin => packed::two(heap, a, |a, b| b.contains(a)),
        InetStrictlyWithin => packed::two(heap, a, |a, b| b.contains(a) && a.bits > b.bits),
        InetOverlaps => packed::two(heap, a, Inet::overlaps),
        InetNot => {
            let inet = packed::inet(heap, a[0])?.not();
            packed::kept(heap, inet)
        }
        InetAnd => packed::made(heap, a, Inet::and),
        InetOr => packed::made(heap, a, Inet::or),
        InetAdd => {
            let inet = packed::inet(heap, a[0])?.plus(a[1].int())?;
            packed::kept(heap, inet)
        }
        InetSub => {
            let inet = packed::inet(heap, a[0])?.minus(a[1].int())?;
            packed::kept(heap, inet)
        }
        InetDistance => Ok(Slot::Int(packed::inet(heap, a[0])?.distance(&packed::inet(heap, a[1])?)?)),
        MacNot => packed::bytes(heap, a[0], |mac| mac.iter().map(|b| !b).collect()),
        MacAnd => packed::pairs(heap, a, |(a, b)| a & b),
        MacOr => packed::pairs(heap, a, |(a, b)| a | b),
        MacTrunc => packed::bytes(heap, a[0], mac::truncated),
        MacSetBit7 => packed::bytes(heap, a[0], mac::with_bit_7),

        // ---- bits ----
        BitsLength => packed::of_bits(heap, a[0], |bits| bits.len as i64),
        BitsOctets => packed::of_bits(heap, a[0], |bits| bits.bytes.len() as i64),
        BitsCount => packed::of_bits(heap, a[0], Bits::count_ones),
        BitsSubstr => packed::made_bits(heap, a[0], |bits| bits.substring(a[1].int(), None)),
        BitsSubstrFor => packed::made_bits(heap, a[0], |bits| bits.substring(a[1].int(), Some(a[2].int()))),
        BitsPosition => {
            let part = packed::bits(heap, a[1])?;
            packed::of_bits(heap, a[0], |bits| bits.position(&part))
        }
        BitsGet => Ok(Slot::Int(packed::bits(heap, a[0])?.get(a[1].int())?.into())),
        BitsSet => packed::made_bits(heap, a[0], |bits| bits.set(a[1].int(), a[2].int())),
        BitsOverlay | BitsOverlayFor => {
            let new = packed::bits(heap, a[1])?;
            let count = a.get(3).map_or(new.len as i64, |count| count.int());
            packed::made_bits(heap, a[0], |bits| bits.overlay(&new, a[2].int(), count))
        }
        BitsAnd => packed::paired_bits(heap, a, |a, b| a.and(b)),
        BitsOr => packed::paired_bits(heap, a, |a, b| a.or(b)),
        BitsXor => packed::paired_bits(heap, a, |a, b| a.xor(b)),
        BitsNot => packed::made_bits(heap, a[0], |bits| Ok(bits.not())),
        BitsShl => packed::made_bits(heap, a[0], |bits| Ok(bits.shifted(a[1].int()))),
        BitsShr => packed::made_bits(heap, a[0], |bits| Ok(bits.shifted(a[1].int().saturating_neg()))),
        BitsConcat => packed::paired_bits(heap, a, |a, b| a.concat(b)),
        BitsFold => packed::fold_bits(heap, a[0].array(), a[1].bytes()),
        // ---- times with a zone ----
        ExtractTimeTz => {
            let time = packed::time(heap, a[1])?;
            num(datetime::extract_timetz(heap.str(a[0].bytes()), time.time, time.offset))
        }
        TimeTzAddInterval => packed::timed(heap, a[0], |time| time.plus(a[1].interval())),
        TimeTzSubInterval => packed::timed(heap, a[0], |time| time.minus(a[1].interval())),
        DateAddTimeTz => {
            let time = packed::time(heap, a[1])?;
            int(time.on(a[0].int()))
        }
        TimeTzShift => {
            let offset = timetz::offset_of(a[0].interval(), heap.styles())?;
            packed::timed(heap, a[1], |time| time.shifted(offset))
        }
        TimeTzInZone => {
            let zone = Zone::find(heap.str(a[0].bytes()))?;
            packed::timed(heap, a[1], |time| time.in_zone(&zone))
        }
        // ---- money ----
        MoneyAdd => {
            let cents = packed::cents(heap, a[0])?.checked_add(packed::cents(heap, a[1])?);
            packed::amount(heap, money::within(cents)?)
        }
        MoneySub => {
            let cents = packed::cents(heap, a[0])?.checked_sub(packed::cents(heap, a[1])?);
            packed::amount(heap, money::within(cents)?)
        }
        MoneyMul => {
            let cents = packed::cents(heap, a[0])? as f64 * a[1].float();
            packed::amount(heap, money::rounded(cents)?)
        }
        MoneyDiv => {
            let by = packed::divisor(a[1].float())?;
            let cents = packed::cents(heap, a[0])? as f64 / by;
            packed::amount(heap, money::rounded(cents)?)
        }
        MoneyMulInt => {
            let cents = packed::cents(heap, a[0])?.checked_mul(a[1].int());
            packed::amount(heap, money::within(cents)?)
        }
        MoneyDivInt => {
            packed::divisor(a[1].int() as f64)?;
            let cents = packed::cents(heap, a[0])?.checked_div(a[1].int());
            packed::amount(heap, money::within(cents)?)
        }
        MoneyRatio => {
            let by = packed::divisor(packed::cents(heap, a[1])? as f64)?;
            Ok(Slot::Float(packed::cents(heap, a[0])? as f64 / by))
        }

        // ---- full-text search ----
        VectorMake | VectorOfJson | QueryMake | VectorMatches | VectorRank | VectorRankBy | Headline
        | VectorLength | VectorStrip | VectorSetWeight | VectorSetWeightOf | VectorConcat | VectorDelete
        | VectorDeleteAll | VectorFilter | VectorOfArray | VectorLexemes | VectorPositions | VectorWeights
        | QueryAnd | QueryOr | QueryNot | QueryPhrase | QueryNodes | QueryTree | QueryContains => {
            search::call(func, heap, a)
        }

        // ---- statistics ----
        NumSpread => {
            let name = heap.str(a[1].bytes()).to_owned();
            statistics::numeric_spread(heap, a[0].array(), &name)
        }
        FltSpread => statistics::float_spread(heap, a[0].array(), heap.str(a[1].bytes())),
        Regression => {
            statistics::regression(heap, a[0].array(), a[1].array(), heap.str(a[2].bytes()))
        }
        BitFold => statistics::bits(heap, a[0].array(), heap.str(a[1].bytes())),
        PercentileDisc => statistics::percentile_disc(heap, a[0].array(), a[1].float()),
        PercentileCont => statistics::percentile_cont(heap, a[0].array(), a[1].float()),
        PercentileDiscs => statistics::percentiles(heap, a[0].array(), a[1].array(), statistics::percentile_disc),
        PercentileConts => statistics::percentiles(heap, a[0].array(), a[1].array(), statistics::percentile_cont),
        PercentileInterval => match statistics::percentile_interval(heap, a[0].array(), a[1].float())? {
            Some(interval) => ivl(Ok(interval)),
            None => Ok(Slot::Null),
        },
        ModeOf => Ok(statistics::mode(heap, a[0].array())),

        GetByte => bytes::get_byte(heap, a[0].bytes(), a[1].int()),
        SetByte => bytes::set_byte(heap, a[0].bytes(), a[1].int(), a[2].int()),
        GetBit => bytes::get_bit(heap, a[0].bytes(), a[1].int()),
        SetBit => bytes::set_bit(heap, a[0].bytes(), a[1].int(), a[2].int()),
        BitCount => Ok(Slot::Int(heap.bytes(a[0].bytes()).iter().map(|b| i64::from(b.count_ones())).sum())),
        Encode => bytes::encode(heap, a[0].bytes(), a[1].bytes()),
        Decode => bytes::decode(heap, a[0].bytes(), a[1].bytes()),
        UuidEq | UuidNe | UuidLt | UuidLe | UuidGt | UuidGe => is(a[0].uuid().cmp(&a[1].uuid()), func),

        // ---- dates and times ----
        TimeAddInterval => Ok(Slot::Int(datetime::time_add(a[0].int(), a[1].interval()))),
        TimeSubInterval => Ok(Slot::Int(datetime::time_sub(a[0].int(), a[1].interval()))),
        TimeSub => Ok(Slot::Interval(Interval { months: 0, days: 0, micros: a[0].int() - a[1].int() })),
        DateAddTime => {
            let midnight = datetime::date_to_timestamp(a[0].int())?;
            int(datetime::timestamp_add(midnight, Interval { months: 0, days: 0, micros: a[1].int() }))
        }
        MakeTime => int(datetime::make_time(a[0].int(), a[1].int(), a[2].float())),
        ExtractTime => datetime::extract_time(heap.str(a[0].bytes()), a[1].int()).map(Slot::numeric),
        DateAddInt => int(datetime::date_add(a[0].int(), a[1].int())),
        DateSubInt => int(datetime::date_sub(a[0].int(), a[1].int())),
        DateSub => int(datetime::date_diff(a[0].int(), a[1].int())),
        DateToTimestamp => int(Ok(datetime::date_among_timestamps(a[0].int()))),
        TimestampToDate => Ok(Slot::Int(datetime::timestamp_to_date(a[0].int()))),
        TimestampAddInterval => int(datetime::timestamp_add(a[0].int(), a[1].interval())),
        TimestampSubInterval => int(datetime::timestamp_sub(a[0].int(), a[1].interval())),
        TimestampSub => ivl(datetime::timestamp_diff(a[0].int(), a[1].int())),
        TimestampAge => ivl(datetime::age(a[0].int(), a[1].int())),
        Overlaps => Ok(overlaps([a[0], a[1]], [a[2], a[3]], heap)),
        DateBin => int(datetime::date_bin(a[0].interval(), a[1].int(), a[2].int())),
        IntervalEq | IntervalNe | IntervalLt | IntervalLe | IntervalGt | IntervalGe => {
            is(a[0].interval().compare(a[1].interval()), func)
        }
        IntervalAdd => ivl(a[0].interval().checked_add(a[1].interval())),
        IntervalSub => ivl(a[0].interval().checked_sub(a[1].interval())),
        IntervalNeg => ivl(a[0].interval().checked_neg()),
        IntervalMul => ivl(a[0].interval().checked_mul(a[1].float())),
        IntervalDiv => ivl(a[0].interval().checked_div(a[1].float())),
        JustifyHours => ivl(a[0].interval().justify_hours()),
        JustifyDays => ivl(a[0].interval().justify_days()),
        JustifyInterval => ivl(a[0].interval().justify()),
        MakeInterval => {
            let [years, months, weeks, days, hours, minutes] = [0, 1, 2, 3, 4, 5].map(|i: usize| a[i].int());
            ivl(datetime::make_interval([years, months, weeks, days, hours, minutes], a[6].float()))
        }
        IntervalTrunc => ivl(datetime::trunc_interval(heap.str(a[0].bytes()), a[1].interval())),
        ExtractUnzoned => {
            datetime::check_unzoned(heap.str(a[0].bytes()), a[1].int())?;
            apply(ExtractTimestamp, a, heap)
        }
        ExtractUntimed => {
            datetime::check_untimed(heap.str(a[0].bytes()))?;
            apply(ExtractDate, a, heap)
        }
        ExtractTimestamp => {
            let field = datetime::extract_timestamp(heap.str(a[0].bytes()), a[1].int())?;
            field.map_or(Ok(Slot::Null), |n| heap.number(n))
        }
        ExtractDate => {
            let field = datetime::extract_date(heap.str(a[0].bytes()), a[1].int())?;
            field.map_or(Ok(Slot::Null), |n| heap.number(n))
        }
        ExtractInterval => num(datetime::extract_interval(heap.str(a[0].bytes()), a[1].interval())),
        DateTrunc => int(datetime::trunc(heap.str(a[0].bytes()), a[1].int())),
        ToCharTimestamp => shown(heap, |heap, out| datetime::to_char(out, a[0].int(), template(heap, a[1])?)),
        ToCharInterval => {
            shown(heap, |heap, out| datetime::to_char_of_interval(out, a[0].interval(), template(heap, a[1])?))
        }
        ToCharInt => heap
            .build(|heap, out| numeric::int_to_char(out, a[0].int(), a[2].int(), template(heap, a[1])?))
            .map(Slot::Text),
        ToCharFloat | ToCharReal => heap
            .build(|heap, out| {
                numeric::float_to_char(out, a[0].float(), func == ToCharReal, template(heap, a[1])?)
            })
            .map(Slot::Text),
        ToDate => int(datetime::to_date(heap.str(a[0].bytes()), template(heap, a[1])?)),
        ToTimestamp => {
            let zone = heap.zone();
            int(datetime::to_timestamp(heap.str(a[0].bytes()), template(heap, a[1])?, zone.as_deref()))
        }
        ToNumber => {
            let number = numeric::Number::by_template(heap.str(a[0].bytes()), template(heap, a[1])?)?;
            number.map_or(Ok(Slot::Null), |n| heap.number(n))
        }
        ExtractTz => {
            let zone = heap.zone();
            let field = datetime::extract_timestamptz(heap.str(a[0].bytes()), a[1].int(), zone.as_deref())?;
            field.map_or(Ok(Slot::Null), |n| heap.number(n))
        }
        TruncTz => {
            let zone = heap.zone();
            int(datetime::trunc_in_zone(heap.str(a[0].bytes()), a[1].int(), zone.as_deref()))
        }
        ToCharTz => {
            let zone = heap.zone();
            shown(heap, |heap, out| {
                datetime::to_char_in_zone(out, a[0].int(), zone.as_deref(), template(heap, a[1])?)
            })
        }
        TzAddInterval => int(add_in_zone(a[0].int(), a[1].interval(), heap)),
        TzSubInterval => int(add_in_zone(a[0].int(), a[1].interval().checked_neg()?, heap)),
        TzAge => {
            let local = |at: i64, zone: &Option<_>| zone.as_ref().map_or(Ok(at), |zone: &std::sync::Arc<Zone>| zone.to_local(at));
            let zone = heap.zone();
            ivl(datetime::age(local(a[0].int(), &zone)?, local(a[1].int(), &zone)?))
        }
        ZoneLocal => int(Zone::find(heap.str(a[0].bytes()))?.to_local(a[1].int())),
        ZoneTz => int(Zone::find(heap.str(a[0].bytes()))?.to_utc(a[1].int())),
        ZoneTrunc => {
            let zone = Zone::find(heap.str(a[2].bytes()))?;
            int(datetime::trunc_in_zone(heap.str(a[0].bytes()), a[1].int(), Some(&zone)))
        }
        MakeDate => int(datetime::make_date(a[0].int(), a[1].int(), a[2].int())),
        MakeTimestamp => {
            let day = datetime::make_date(a[0].int(), a[1].int(), a[2].int())?;
            int(datetime::make_timestamp(day, a[3].int(), a[4].int(), a[5].float()))
        }
        ToTimestampFloat => int(datetime::timestamp_from_unix(a[0].float())),

        // ---- arrays ----
        ArrayStore => array::store(heap, a[0].array()),
        ArrayLoad => array::load(heap, a[0].bytes()),
        RowMake if a.iter().all(|field| field.is_null()) => Ok(Slot::Null),
        ArrayMake | RowMake => heap.array(a),
        ArrayNest => shaped::nest(heap, a),
        ArrayStack => shaped::stack(heap, a[0].array()),
        ArrayNth => Ok(array::nth(heap, a[0].array(), a[1].int())),
        ArrayParts => shaped::parts(heap, a[0].array(), a[1].int()),
        ArrayGet => Ok(array::get(heap, a[0].array(), a[1].int())),
        ArrayAt => Ok(shaped::at(heap, a[0].array(), &a[1..])),
        ArraySlice => shaped::slice(heap, a[0].array(), a[1].bytes(), &a[2..]),
        ArrayLength => Ok(array::length(heap, a[0].array(), a[1].int())),
        ArrayUpper => Ok(array::upper(heap, a[0].array(), a[1].int())),
        ArrayNdims => Ok(match shaped::count(heap, a[0].array()) {
            0 => Slot::Null,
            count => Slot::Int(count as i64),
        }),
        ArrayDims => shaped::text_of_dimensions(heap, a[0].array()),
        ArrayFill => shaped::fill(heap, a[0], a[1], None),
        ArrayFillFrom => shaped::fill(heap, a[0], a[1], Some(a[2])),
        Cardinality => Ok(Slot::Int(i64::from(a[0].array().len))),
        ArrayLower => Ok(array::lower(heap, a[0].array(), a[1].int())),
        ArrayAppend => array::append(heap, a[0], a[1]),
        ArrayPrepend => array::prepend(heap, a[0], a[1]),
        ArrayConcat => array::concat(heap, a[0], a[1]),
        ArrayContainsElement => Ok(array::any_equal(heap, a[0], a[1])),
        ArrayPosition => array::position(heap, a[0], a[1]),
        ArrayPositionFrom => array::position_from(heap, a[0], a[1], a[2]),
        ArrayRemove => array::remove(heap, a[0], a[1]),
        ArrayPositions => array::positions(heap, a[0], a[1]),
        ArrayPut => array::put(heap, a[0], a[1], a[2]),
        ArrayPutAt => array::put_at(heap, a[0], a[1], &a[2..]),
        ArrayPutSlice => shaped::put_slice(heap, a[0], a[1], a[2], &a[3..]),
        ArrayReplace => array::replace(heap, a[0], a[1], a[2]),
        ArrayEq => Ok(Slot::Bool(array::equal(heap, a[0].array(), a[1].array()))),
        ArrayNe => Ok(Slot::Bool(!array::equal(heap, a[0].array(), a[1].array()))),
        ArrayToStringOr => array::to_string_or(heap, a[0], a[1], a[2]),
        ArrayToString => array::to_string(heap, a[0].array(), a[1].bytes()),
        StringToArray => array::from_string(heap, a[0], a[1]),
        ArrayOverlaps => array::overlaps(heap, a[0].array(), a[1].array()).map(Slot::Bool),
        ArrayCompare => Ok(Slot::Int(order::compare(a[0], a[1], heap) as i64)),
        ArrayContains => array::contains(heap, a[0].array(), a[1].array()).map(Slot::Bool),

        // ---- over any class ----
        Greatest | Least | Max | Min => {
            Ok(a.iter().fold(Slot::Null, |old, new| order::best(func, old, *new, heap)))
        }
        Compare => Ok(Slot::Int(compare(a[0], a[1], heap) as i64)),
        Hash => Ok(Slot::Int(hash(a[0], heap) as i64)),
        PgColumnSize => Ok(Slot::Int(column_size(a[0], heap))),
        Version => heap.text(concat!("PostgreSQL 15.18 (Planaria ", env!("CARGO_PKG_VERSION"), ")")),
    }
}

/// A template, where there is memory for it when it has been taken apart.
fn template(heap: &Heap, at: Slot) -> Result<&str> {
    const BYTES_OF_A_PATTERN: usize = 64;
    let at = at.bytes();
    heap.admit((at.len as usize).saturating_mul(BYTES_OF_A_PATTERN))?;
    Ok(heap.str(at))
}

/// What `to_char` shows; NULL where it shows nothing.
fn shown(heap: &mut Heap, fill: impl FnOnce(&Heap, &mut Vec<u8>) -> Result<bool>) -> Result<Slot> {
    let mut any = false;
    let text = heap.build(|heap, out| {
        any = fill(heap, out)?;
        Ok(())
    })?;
    Ok(if any { Slot::Text(text) } else { Slot::Null })
}

/// `OVERLAPS`: of periods that have an end in common alone one is not in the other; a moment is in a period that begins
/// with it.
fn overlaps(first: [Slot; 2], second: [Slot; 2], heap: &Heap) -> Slot {
    // Begin, and the end if it is known.
    let period = |[a, b]: [Slot; 2]| match (a, b) {
        (Slot::Null, Slot::Null) => None,
        (Slot::Null, at) | (at, Slot::Null) => Some((at, None)),
        (a, b) if compare(a, b, heap).is_gt() => Some((b, Some(a))),
        (a, b) => Some((a, Some(b))),
    };
    let (Some((a, a_end)), Some((b, b_end))) = (period(first), period(second)) else { return Slot::Null };
    // The one that begins later, and the end of the other.
    let (later, later_end, other_end) = match compare(a, b, heap) {
        Ordering::Greater => (a, a_end, b_end),
        Ordering::Less => (b, b_end, a_end),
        Ordering::Equal if a_end.is_none() || b_end.is_none() => return Slot::Null,
        Ordering::Equal => return Slot::Bool(true),
    };
    match other_end {
        None => Slot::Null,
        Some(end) if compare(later, end, heap).is_lt() => Slot::Bool(true),
        Some(_) if later_end.is_none() => Slot::Null,
        Some(_) => Slot::Bool(false),
    }
}

/// Hours pass alike in all zones.
fn add_in_zone(timestamp: i64, interval: Interval, heap: &mut Heap) -> Result<i64> {
    if interval.months == 0 && interval.days == 0 {
        return datetime::timestamp_add(timestamp, interval);
    }
    datetime::timestamptz_add(timestamp, interval, heap.zone().as_deref())
}

/// `None` where the result exceeds 64 bits.
fn gcd(a: i64, b: i64) -> Option<i64> {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i64::try_from(a).ok()
}

fn lcm(a: i64, b: i64) -> Option<i64> {
    if a == 0 || b == 0 {
        return Some(0);
    }
    (a / gcd(a, b)?).checked_mul(b)?.checked_abs()
}

/// Bytes of a value, with PostgreSQL's four of length before those that vary.
fn column_size(slot: Slot, heap: &Heap) -> i64 {
    match slot {
        Slot::Null => 0,
        Slot::Bool(_) => 1,
        Slot::Int(_) | Slot::Float(_) => 8,
        Slot::Numeric(_) | Slot::Uuid(_) | Slot::Interval(_) => 16,
        Slot::Text(b) | Slot::Bytea(b) | Slot::Jsonb(b) | Slot::Citext(b) | Slot::Long(b) => {
            4 + i64::from(b.len)
        }
        Slot::Array(a) => 24 + heap.elements(a).iter().map(|e| column_size(*e, heap)).sum::<i64>(),
    }
}
