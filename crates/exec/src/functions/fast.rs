//! The operations the machine calls directly, without an argument slice: integer and numeric
//! arithmetic, comparisons of texts, concatenation.

use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::numeric::PackedNumeric;
use planaria_base::{Error, Result, SqlState};
use planaria_storage::arena::Bytes;
use std::cmp::Ordering;

#[cold]
#[inline(never)]
pub(super) fn out_of_range(ty: &str) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("{ty} out of range"))
}

#[cold]
#[inline(never)]
pub(super) fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// The value as a smallint, or 22003.
#[inline]
pub fn int2(n: Option<i64>) -> Result<i64> {
    match n {
        Some(n) if n as i16 as i64 == n => Ok(n),
        _ => Err(out_of_range("smallint")),
    }
}

/// The value as an integer, or 22003.
#[inline]
pub fn int4(n: Option<i64>) -> Result<i64> {
    match n {
        Some(n) if n as i32 as i64 == n => Ok(n),
        _ => Err(out_of_range("integer")),
    }
}

/// The value as a bigint, or 22003.
#[inline]
pub fn int8(n: Option<i64>) -> Result<i64> {
    match n {
        Some(n) => Ok(n),
        None => Err(out_of_range("bigint")),
    }
}

/// `integer + integer`
#[inline]
pub fn int4_add(a: i64, b: i64) -> Result<i64> {
    int4(a.checked_add(b))
}
/// `integer - integer`
#[inline]
pub fn int4_sub(a: i64, b: i64) -> Result<i64> {
    int4(a.checked_sub(b))
}
/// `integer * integer`
#[inline]
pub fn int4_mul(a: i64, b: i64) -> Result<i64> {
    int4(a.checked_mul(b))
}
/// `bigint + bigint`
#[inline]
pub fn int8_add(a: i64, b: i64) -> Result<i64> {
    int8(a.checked_add(b))
}
/// `bigint - bigint`
#[inline]
pub fn int8_sub(a: i64, b: i64) -> Result<i64> {
    int8(a.checked_sub(b))
}
/// `bigint * bigint`
#[inline]
pub fn int8_mul(a: i64, b: i64) -> Result<i64> {
    int8(a.checked_mul(b))
}
/// Quotient towards zero, not yet checked for its width.
#[inline]
pub fn int_div(a: i64, b: i64) -> Result<Option<i64>> {
    if b == 0 { Err(division_by_zero()) } else { Ok(a.checked_div(b)) }
}
/// Remainder with the sign of the dividend.
#[inline]
pub fn int_mod(a: i64, b: i64) -> Result<i64> {
    // The smallest bigint modulo -1 is 0, where the processor would trap.
    if b == 0 { Err(division_by_zero()) } else { Ok(a.wrapping_rem(b)) }
}

/// `numeric + numeric`
#[inline]
pub fn num_add(a: PackedNumeric, b: PackedNumeric) -> Result<PackedNumeric> {
    match a.plus(b) {
        Some(sum) => Ok(sum),
        None => Ok(a.unpack().add(b.unpack())?.pack()),
    }
}
/// `numeric - numeric`
#[inline]
pub fn num_sub(a: PackedNumeric, b: PackedNumeric) -> Result<PackedNumeric> {
    match a.minus(b) {
        Some(difference) => Ok(difference),
        None => Ok(a.unpack().sub(b.unpack())?.pack()),
    }
}
/// `numeric * numeric`
#[inline]
pub fn num_mul(a: PackedNumeric, b: PackedNumeric) -> Result<PackedNumeric> {
    Ok(a.unpack().mul(b.unpack())?.pack())
}
/// Order of the values.
#[inline]
pub fn num_cmp(a: PackedNumeric, b: PackedNumeric) -> Ordering {
    a.unpack().compare(b.unpack())
}

/// Order of doubles as SQL has it: NaN equals NaN and is above all, -0 equals 0.
#[inline]
pub fn float_cmp(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// Whether two texts (or byteas) are equal.
#[inline]
pub fn text_eq(heap: &Heap, a: Bytes, b: Bytes) -> bool {
    a.len == b.len && heap.bytes(a) == heap.bytes(b)
}
/// Bytewise order of two texts (or byteas).
#[inline]
pub fn text_cmp(heap: &Heap, a: Bytes, b: Bytes) -> Ordering {
    heap.bytes(a).cmp(heap.bytes(b))
}
/// `text || text`
#[inline]
pub fn text_concat(heap: &mut Heap, a: Bytes, b: Bytes) -> Result<Slot> {
    Ok(Slot::Text(concat(heap, a, b)?))
}

#[inline]
pub(super) fn concat(heap: &mut Heap, a: Bytes, b: Bytes) -> Result<Bytes> {
    if b.len == 0 {
        return Ok(a);
    }
    if a.len == 0 {
        return Ok(b);
    }
    heap.concat(a, std::iter::once(b))
}
