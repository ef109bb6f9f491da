//! Exact decimal numbers as PostgreSQL computes and prints them.
//!
//! A value is `mantissa / 10^scale`; the scale is the *display* scale PostgreSQL keeps with every
//! numeric, so `1.50` prints `1.50`. |mantissa| < 2^119 always (35 digits: a named limit), so that
//! a value packs into 16 bytes. What would not fit is SQLSTATE 22003, never a rounded answer; whoever has a place for longer
//! numbers then computes with [`Long`].
//!
//! Where PostgreSQL's result scale depends on the *weight* of a value (division, square root, power), it
//! counts in groups of four digits aligned at the point; `Numeric::weight` gives the same count.
//!
//! | file | holds |
//! |---|---|
//! | `numeric.rs` | the type, comparison, rounding, `numeric(p,s)` |
//! | `numeric/arith.rs` | `+ - * / %`, avg, sqrt |
//! | `numeric/power.rs` | power, exp, ln, log by arbitrary precision |
//! | `numeric/text.rs` | parsing, printing, conversion from and to integers and doubles |
//! | `numeric/wide.rs` | 256-bit intermediates |
//! | `numeric/long.rs` | numbers of any length, NaN and the infinities |

mod arith;
pub mod long;
mod power;
mod template;
#[cfg(test)]
mod tests;
mod text;
mod to_char;
mod to_number;
mod wide;

pub use long::{Long, Number};
pub use to_char::{float_to_char, int_to_char};

use crate::error::{Error, Result, SqlState};
use crate::limits::{NUMERIC_DIGITS_MAX, NUMERIC_SCALE_MAX};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// An exact decimal number. Equality of the struct is equality of text; compare values with
/// [`Numeric::compare`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Numeric {
    mantissa: i128,
    scale: u8,
}

/// A [`Numeric`] in two words: `mantissa << 8 | scale`, low word first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct PackedNumeric(pub [u64; 2]);

const MANTISSA_BOUND: i128 = 1 << 119;

const _: () = assert!(10i128.pow(NUMERIC_DIGITS_MAX) < MANTISSA_BOUND, "35 digits fit");

/// Powers of ten that fit 128 bits.
const POW10: [u128; 39] = {
    let mut table = [1u128; 39];
    let mut i = 1;
    while i < 39 {
        table[i] = table[i - 1] * 10;
        i += 1;
    }
    table
};

/// 10^`n` as long as it is below 2^127.
#[inline]
fn pow10(n: u32) -> Option<i128> {
    POW10.get(n as usize).map(|p| *p as i128)
}

const OVERFLOW: &str = "value overflows numeric format";

#[cold]
#[inline(never)]
pub(crate) fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, OVERFLOW)
}

impl Numeric {
    /// Zero, scale 0.
    pub const ZERO: Numeric = Numeric { mantissa: 0, scale: 0 };

    /// From its parts; `None` if the mantissa does not fit.
    #[inline]
    pub const fn from_parts(mantissa: i128, scale: u8) -> Option<Numeric> {
        if mantissa > -MANTISSA_BOUND && mantissa < MANTISSA_BOUND {
            Some(Numeric { mantissa, scale })
        } else {
            None
        }
    }
    /// A whole number.
    #[inline]
    pub const fn from_i64(n: i64) -> Numeric {
        Numeric { mantissa: n as i128, scale: 0 }
    }
    /// The digits as a whole number.
    #[inline]
    pub const fn mantissa(self) -> i128 {
        self.mantissa
    }
    /// Digits after the point.
    #[inline]
    pub const fn scale(self) -> u8 {
        self.scale
    }
    /// Into two words.
    #[inline]
    pub const fn pack(self) -> PackedNumeric {
        let bits = (self.mantissa << 8) as u128 | self.scale as u128;
        PackedNumeric([bits as u64, (bits >> 64) as u64])
    }

    /// [`Numeric::from_parts`] with PostgreSQL's error; the scale is checked too.
    #[inline]
    fn checked(mantissa: i128, scale: u32) -> Result<Numeric> {
        if mantissa > -MANTISSA_BOUND && mantissa < MANTISSA_BOUND && scale <= NUMERIC_SCALE_MAX {
            Ok(Numeric { mantissa, scale: scale as u8 })
        } else {
            Err(overflow())
        }
    }

    /// Whether this is zero, of whatever scale.
    #[inline]
    pub const fn is_zero(self) -> bool {
        self.mantissa == 0
    }
    /// -1, 0 or 1.
    #[inline]
    pub const fn signum(self) -> i32 {
        self.mantissa.signum() as i32
    }
    /// The sign as a numeric of scale 0.
    pub const fn sign(self) -> Numeric {
        Numeric { mantissa: self.mantissa.signum(), scale: 0 }
    }
    /// Without its sign.
    #[inline]
    pub const fn abs(self) -> Numeric {
        Numeric { mantissa: self.mantissa.abs(), scale: self.scale }
    }
    /// With the other sign.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "beside its checked siblings")]
    pub const fn neg(self) -> Numeric {
        Numeric { mantissa: -self.mantissa, scale: self.scale }
    }

    /// The order of the values: `1.0` equals `1.00`.
    #[inline]
    pub fn compare(self, other: Numeric) -> Ordering {
        if self.scale == other.scale {
            return self.mantissa.cmp(&other.mantissa);
        }
        self.compare_scaled(other)
    }

    fn compare_scaled(self, other: Numeric) -> Ordering {
        if self.mantissa.signum() != other.mantissa.signum() {
            return self.mantissa.cmp(&other.mantissa);
        }
        if self.scale > other.scale {
            return other.compare_scaled(self).reverse();
        }
        let difference = (other.scale - self.scale) as u32;
        match pow10(difference).and_then(|p| self.mantissa.checked_mul(p)) {
            Some(aligned) => aligned.cmp(&other.mantissa),
            // Aligned it exceeds 2^127, which no mantissa does.
            None => self.mantissa.cmp(&0),
        }
    }

    /// The value without trailing zeros after the point: one form for each value, for hashing and
    /// grouping.
    pub fn normalized(self) -> Numeric {
        let Numeric { mut mantissa, mut scale } = self;
        if mantissa == 0 {
            return Numeric::ZERO;
        }
        while scale > 0 {
            // 64-bit division is an order of magnitude faster, and nearly all fit.
            if let Ok(small) = i64::try_from(mantissa) {
                if small % 10 != 0 {
                    break;
                }
                mantissa = (small / 10) as i128;
            } else {
                if mantissa % 10 != 0 {
                    break;
                }
                mantissa /= 10;
            }
            scale -= 1;
        }
        Numeric { mantissa, scale }
    }

    /// `round(n, digits)`: half away from zero; `digits` may be negative. The result has that scale.
    pub fn round(self, digits: i32) -> Result<Numeric> {
        self.to_scale(digits, div_pow10_round)
    }
    /// `trunc(n, digits)`: towards zero.
    pub fn trunc(self, digits: i32) -> Result<Numeric> {
        self.to_scale(digits, div_pow10_trunc)
    }
    /// The smallest whole number not below.
    pub fn ceil(self) -> Numeric {
        let whole = div_pow10_trunc(self.mantissa, self.scale as u32);
        let up = self.mantissa > 0 && self.compare_whole(whole) != Ordering::Equal;
        Numeric { mantissa: whole + up as i128, scale: 0 }
    }
    /// The largest whole number not above.
    pub fn floor(self) -> Numeric {
        let whole = div_pow10_trunc(self.mantissa, self.scale as u32);
        let down = self.mantissa < 0 && self.compare_whole(whole) != Ordering::Equal;
        Numeric { mantissa: whole - down as i128, scale: 0 }
    }
    fn compare_whole(self, whole: i128) -> Ordering {
        self.compare(Numeric { mantissa: whole, scale: 0 })
    }

    fn to_scale(self, digits: i32, divide: fn(i128, u32) -> i128) -> Result<Numeric> {
        // PostgreSQL clamps here as well, further out.
        let digits = digits.clamp(-2000, 2000);
        let drop = i32::from(self.scale) - digits;
        if drop <= 0 {
            return self.extend(digits as u32);
        }
        let kept = divide(self.mantissa, drop as u32);
        if digits >= 0 {
            return Numeric::checked(kept, digits as u32);
        }
        if kept == 0 {
            return Ok(Numeric::ZERO);
        }
        let whole = pow10(digits.unsigned_abs()).and_then(|p| kept.checked_mul(p)).ok_or_else(overflow)?;
        Numeric::checked(whole, 0)
    }

    /// The same value with a larger scale.
    fn extend(self, scale: u32) -> Result<Numeric> {
        debug_assert!(scale >= self.scale as u32);
        if self.mantissa == 0 {
            return Numeric::checked(0, scale);
        }
        let grown = pow10(scale - self.scale as u32).and_then(|p| self.mantissa.checked_mul(p));
        Numeric::checked(grown.ok_or_else(overflow)?, scale)
    }

    /// Coerces to `numeric(precision, scale)`: rounds, then 22003 if too large. What is not, but has no room here, is the
    /// error of all that overflows ([`long::is_overflow`]).
    #[inline]
    pub fn rescale(self, precision: u16, scale: i16) -> Result<Numeric> {
        let rounded = if i16::from(self.scale) == scale {
            self
        } else if scale < 0 {
            return self.rescale_whole(precision, scale);
        } else {
            let certain = u32::from(precision) <= NUMERIC_DIGITS_MAX && scale as u32 <= NUMERIC_SCALE_MAX;
            self.round(scale.into())
                .map_err(|e| if certain { field_overflow(precision, scale) } else { e })?
        };
        let fits = match POW10.get(precision as usize) {
            Some(bound) => rounded.mantissa.unsigned_abs() < *bound,
            None => true,
        };
        if fits { Ok(rounded) } else { Err(field_overflow(precision, scale)) }
    }

    /// The same to a scale below zero: digits before the point that are zeros.
    #[cold]
    fn rescale_whole(self, precision: u16, scale: i16) -> Result<Numeric> {
        long::Number::Short(self).rescale_long(precision, scale)?.short().ok_or_else(overflow)
    }

    /// The weight (exponent) and value of the first non-zero digit in base 10000, groups aligned
    /// at the point; `(0, 0)` for zero. What PostgreSQL chooses result scales by.
    fn weight(self) -> (i32, u32) {
        let magnitude = self.mantissa.unsigned_abs();
        if magnitude == 0 {
            return (0, 0);
        }
        let exponent = digits(magnitude) as i32 - 1 - i32::from(self.scale);
        let weight = exponent.div_euclid(4);
        let shift = i32::from(self.scale) + 4 * weight;
        let first = if shift >= 0 {
            // At most four digits are left, so the shift is below the number of digits.
            magnitude / POW10[shift as usize]
        } else {
            magnitude * POW10[shift.unsigned_abs() as usize]
        };
        (weight, first as u32)
    }
}

#[cold]
#[inline(never)]
fn field_overflow(precision: u16, scale: i16) -> Error {
    let whole = i32::from(precision) - i32::from(scale);
    let bound = if whole == 0 { "1".to_owned() } else { format!("10^{whole}") };
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").with_detail(format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less than {bound}."
    ))
}

/// Number of decimal digits; 1 for zero.
#[inline]
fn digits(magnitude: u128) -> u32 {
    match u64::try_from(magnitude) {
        Ok(small) => small.checked_ilog10().unwrap_or(0) + 1,
        Err(_) => magnitude.ilog10() + 1,
    }
}

/// `m / 10^k`, half away from zero.
fn div_pow10_round(m: i128, k: u32) -> i128 {
    let Some(divisor) = pow10(k) else {
        return 0; // |m| < 2^119 < 10^38: less than half
    };
    if let (Ok(m), Ok(divisor)) = (i64::try_from(m), i64::try_from(divisor)) {
        let (quotient, rest) = (m / divisor, m % divisor);
        let away = rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
        return i128::from(if away && divisor > 1 { quotient + m.signum() } else { quotient });
    }
    let (quotient, rest) = (m / divisor, m % divisor);
    let away = rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
    if away && divisor > 1 { quotient + m.signum() } else { quotient }
}

/// `m / 10^k`, towards zero.
fn div_pow10_trunc(m: i128, k: u32) -> i128 {
    match pow10(k) {
        Some(divisor) => match (i64::try_from(m), i64::try_from(divisor)) {
            (Ok(m), Ok(divisor)) => i128::from(m / divisor),
            _ => m / divisor,
        },
        None => 0,
    }
}

impl PackedNumeric {
    /// Back from two words.
    #[inline]
    pub const fn unpack(self) -> Numeric {
        let bits = self.bits();
        Numeric { mantissa: bits >> 8, scale: bits as u8 }
    }

    #[inline]
    const fn bits(self) -> i128 {
        (self.0[0] as u128 | (self.0[1] as u128) << 64) as i128
    }

    /// The bits of the other's mantissa alone, if it has the scale of this one.
    #[inline]
    fn aligned(self, other: PackedNumeric) -> Option<i128> {
        let scale = self.0[0] as u8;
        (other.0[0] as u8 == scale).then_some(other.bits() - i128::from(scale))
    }

    /// The sum of two of one scale, where it has room: without unpacking them.
    #[inline]
    pub fn plus(self, other: PackedNumeric) -> Option<PackedNumeric> {
        PackedNumeric::of_bits(self.bits().checked_add(self.aligned(other)?)?)
    }

    /// The difference of two of one scale, where it has room.
    #[inline]
    pub fn minus(self, other: PackedNumeric) -> Option<PackedNumeric> {
        PackedNumeric::of_bits(self.bits().checked_sub(self.aligned(other)?)?)
    }

    /// Of a mantissa in the upper 120 bits; the lowest of these is none.
    #[inline]
    fn of_bits(bits: i128) -> Option<PackedNumeric> {
        (bits >> 8 != -MANTISSA_BOUND).then_some(PackedNumeric([bits as u64, (bits >> 64) as u64]))
    }

    /// The mantissa, if this is the scale and it has room in a word.
    #[inline]
    pub fn word_at(self, scale: u8) -> Option<i64> {
        let mantissa = self.bits() >> 8;
        let word = mantissa as i64;
        (self.0[0] as u8 == scale && i128::from(word) == mantissa).then_some(word)
    }
}
