//! Arithmetic of numbers of any length, with PostgreSQL's result scales.

use super::super::arith::{MIN_SIGNIFICANT_DIGITS, division_by_zero};
use super::super::{Numeric, field_overflow, overflow};
use super::{DIGITS_BEFORE_MAX, Decimal, Long, SCALE_MAX, digits_of, pow10};
use crate::error::{Error, Result, SqlState};
use num_bigint::{BigInt, BigUint, Sign};
use std::cmp::Ordering;

/// Quotients and functions show no more digits behind the point.
pub(super) const DISPLAY_SCALE_MAX: i32 = 1000;

/// `a / b`, half away from zero.
pub(super) fn div_round(a: &BigInt, b: &BigInt) -> BigInt {
    let (quotient, rest) = (a / b, a % b);
    let twice = rest.magnitude() * 2u32;
    if twice >= *b.magnitude() && rest.sign() != Sign::NoSign {
        let away = if a.sign() == b.sign() { 1 } else { -1 };
        return quotient + away;
    }
    quotient
}

/// Number of decimal digits in groups of four aligned at the point, as PostgreSQL keeps them: the exponent of the first
/// group, and the first `groups` groups as one number.
pub(super) fn leading(n: &Decimal, groups: i64) -> (i32, BigUint) {
    if n.is_zero() {
        return (0, BigUint::default());
    }
    let magnitude = n.digits.magnitude();
    let exponent = digits_of(magnitude) as i64 - 1 - i64::from(n.scale);
    let weight = exponent.div_euclid(4);
    let shift = i64::from(n.scale) + 4 * (weight - groups + 1);
    let first = if shift >= 0 {
        magnitude / pow10(shift as u32)
    } else {
        magnitude * pow10(shift.unsigned_abs() as u32)
    };
    (weight as i32, first)
}

impl Decimal {
    /// Exponent and value of the first group of four digits; `(0, 0)` for zero.
    pub(super) fn weight(&self) -> (i32, u32) {
        let (weight, first) = leading(self, 1);
        (weight, u32::try_from(&first).unwrap_or(0))
    }

    /// The digits at another scale, half away from zero.
    pub(super) fn round_digits(&self, scale: i32) -> BigInt {
        self.drop_digits(scale, div_round)
    }

    fn drop_digits(&self, scale: i32, divide: impl Fn(&BigInt, &BigInt) -> BigInt) -> BigInt {
        let drop = i64::from(self.scale) - i64::from(scale);
        if drop <= 0 {
            return &self.digits * BigInt::from(pow10(drop.unsigned_abs() as u32));
        }
        // Of what is far smaller than a half nothing is left.
        if drop > digits_of(self.digits.magnitude()) as i64 + 1 {
            return BigInt::default();
        }
        divide(&self.digits, &BigInt::from(pow10(drop as u32)))
    }

    fn to_scale(&self, scale: i32, divide: impl Fn(&BigInt, &BigInt) -> BigInt) -> Decimal {
        let digits = self.drop_digits(scale, divide);
        match u32::try_from(scale) {
            Ok(scale) => Decimal::new(digits, scale),
            Err(_) => Decimal::new(digits * BigInt::from(pow10(scale.unsigned_abs())), 0),
        }
    }

    /// Rounded half away from zero.
    pub(super) fn rounded(&self, scale: i32) -> Decimal {
        self.to_scale(scale, div_round)
    }

    pub(super) fn is_whole(&self) -> bool {
        self.scale == 0 || (&self.digits % BigInt::from(pow10(self.scale))).sign() == Sign::NoSign
    }

    /// The whole part.
    pub(super) fn whole(&self) -> BigInt {
        if self.scale == 0 { self.digits.clone() } else { &self.digits / BigInt::from(pow10(self.scale)) }
    }

    /// Quotient at a scale.
    pub(super) fn div_at(&self, divisor: &Decimal, scale: u32) -> Decimal {
        let shift = i64::from(scale) + i64::from(divisor.scale) - i64::from(self.scale);
        let power = BigInt::from(pow10(shift.unsigned_abs() as u32));
        let digits = if shift >= 0 {
            div_round(&(&self.digits * power), &divisor.digits)
        } else {
            div_round(&self.digits, &(&divisor.digits * power))
        };
        Decimal::new(digits, scale)
    }

    fn quotient_scale(&self, divisor: &Decimal) -> u32 {
        let ((weight, first), (weight_d, first_d)) = (self.weight(), divisor.weight());
        // If the first digits are equal, the dividend is taken to be the smaller.
        let weight = weight - weight_d - i32::from(first <= first_d);
        display_scale(MIN_SIGNIFICANT_DIGITS - weight * 4, &[self, divisor])
    }

    fn sqrt_at(&self, scale: u32) -> Decimal {
        // Some digits more, which decide the rounding.
        const FURTHER: u32 = 4;
        let shift = 2 * i64::from(scale + FURTHER) - i64::from(self.scale);
        let magnitude = self.digits.magnitude();
        let power = pow10(shift.unsigned_abs() as u32);
        let radicand = if shift >= 0 { magnitude * power } else { magnitude / power };
        let root = Decimal::new(BigInt::from(radicand.sqrt()), scale + FURTHER);
        root.rounded(scale as i32)
    }
}

/// At least so many digits, no fewer than the operands have, no more than PostgreSQL shows.
pub(super) fn display_scale(wanted: i32, operands: &[&Decimal]) -> u32 {
    let most = operands.iter().map(|n| n.scale as i32).max().unwrap_or(0);
    wanted.max(most).clamp(0, DISPLAY_SCALE_MAX) as u32
}

#[allow(clippy::should_implement_trait, reason = "beside their checked siblings")]
impl Long {
    /// Sum.
    pub fn add(&self, other: &Long) -> Result<Long> {
        match (self, other) {
            (Long::Finite(a), Long::Finite(b)) => {
                let scale = a.scale.max(b.scale);
                Decimal::new(a.at_scale(scale) + b.at_scale(scale), scale).checked()
            }
            (Long::Nan, _) | (_, Long::Nan) => Ok(Long::Nan),
            (Long::Finite(_), infinite) | (infinite, Long::Finite(_)) => Ok(infinite.clone()),
            (a, b) if a == b => Ok(a.clone()),
            _ => Ok(Long::Nan),
        }
    }

    /// Difference.
    pub fn sub(&self, other: &Long) -> Result<Long> {
        self.add(&other.neg())
    }

    /// With the other sign.
    pub fn neg(&self) -> Long {
        match self {
            Long::Nan => Long::Nan,
            Long::Infinity => Long::NegInfinity,
            Long::NegInfinity => Long::Infinity,
            Long::Finite(n) => Decimal::new(-&n.digits, n.scale).into(),
        }
    }

    /// Without its sign.
    pub fn abs(&self) -> Long {
        if self.signum() < 0 { self.neg() } else { self.clone() }
    }

    /// -1, 0 or 1; NaN of NaN.
    pub fn sign(&self) -> Long {
        if self.is_nan() { Long::Nan } else { Long::whole(self.signum().into()) }
    }

    fn infinite(sign: i32) -> Long {
        match sign {
            0 => Long::Nan,
            1.. => Long::Infinity,
            _ => Long::NegInfinity,
        }
    }

    /// Product.
    pub fn mul(&self, other: &Long) -> Result<Long> {
        match (self, other) {
            (Long::Finite(a), Long::Finite(b)) => {
                let product = Decimal::new(&a.digits * &b.digits, a.scale + b.scale);
                if product.scale <= SCALE_MAX {
                    product.checked()
                } else {
                    product.rounded(SCALE_MAX as i32).checked()
                }
            }
            (Long::Nan, _) | (_, Long::Nan) => Ok(Long::Nan),
            (a, b) => Ok(Long::infinite(a.signum() * b.signum())),
        }
    }

    /// What quotients of anything that is not finite are; `None` of two numbers.
    fn special_quotient(&self, divisor: &Long) -> Result<Option<Long>> {
        Ok(Some(match (self, divisor) {
            (Long::Nan, _) | (_, Long::Nan) => Long::Nan,
            (Long::Finite(_), Long::Finite(d)) if d.is_zero() => return Err(division_by_zero()),
            (Long::Finite(_), Long::Finite(_)) => return Ok(None),
            (Long::Finite(_), _) => Long::whole(0),
            (_, Long::Finite(d)) if d.is_zero() => return Err(division_by_zero()),
            (infinite, Long::Finite(d)) => Long::infinite(infinite.signum() * d.signum()),
            _ => Long::Nan,
        }))
    }

    /// Quotient, at the scale that PostgreSQL chooses.
    pub fn div(&self, divisor: &Long) -> Result<Long> {
        if let Some(special) = self.special_quotient(divisor)? {
            return Ok(special);
        }
        match (self, divisor) {
            (Long::Finite(a), Long::Finite(b)) => a.div_at(b, a.quotient_scale(b)).checked(),
            _ => Ok(Long::Nan),
        }
    }

    /// The quotient towards zero, scale 0.
    pub fn div_trunc(&self, divisor: &Long) -> Result<Long> {
        if let Some(special) = self.special_quotient(divisor)? {
            return Ok(special);
        }
        match (self, divisor) {
            (Long::Finite(a), Long::Finite(b)) => {
                let scale = a.scale.max(b.scale);
                Decimal::new(a.at_scale(scale) / b.at_scale(scale), 0).checked()
            }
            _ => Ok(Long::Nan),
        }
    }

    /// Remainder of the truncated division.
    pub fn rem(&self, divisor: &Long) -> Result<Long> {
        match (self, divisor) {
            (Long::Nan, _) | (_, Long::Nan) => Ok(Long::Nan),
            (_, Long::Finite(b)) if b.is_zero() => Err(division_by_zero()),
            (Long::Finite(a), Long::Finite(b)) => {
                let scale = a.scale.max(b.scale);
                Decimal::new(a.at_scale(scale) % b.at_scale(scale), scale).checked()
            }
            (Long::Finite(_), _) => Ok(self.clone()),
            _ => Ok(Long::Nan),
        }
    }

    /// Half away from zero; `digits` may be negative.
    pub fn round(&self, digits: i32) -> Result<Long> {
        self.cut(digits, div_round)
    }

    /// Towards zero.
    pub fn trunc(&self, digits: i32) -> Result<Long> {
        self.cut(digits, |a, b| a / b)
    }

    fn cut(&self, digits: i32, divide: impl Fn(&BigInt, &BigInt) -> BigInt) -> Result<Long> {
        let Long::Finite(n) = self else { return Ok(self.clone()) };
        // PostgreSQL clamps here as well.
        let digits = digits.clamp(-(DIGITS_BEFORE_MAX as i32) - 1, SCALE_MAX as i32);
        n.to_scale(digits, divide).checked()
    }

    /// The smallest whole number not below.
    pub fn ceil(&self) -> Result<Long> {
        self.next_whole(1)
    }

    /// The largest whole number not above.
    pub fn floor(&self) -> Result<Long> {
        self.next_whole(-1)
    }

    fn next_whole(&self, sign: i32) -> Result<Long> {
        let Long::Finite(n) = self else { return Ok(self.clone()) };
        let away = n.signum() == sign && !n.is_whole();
        Decimal::new(n.whole() + if away { sign } else { 0 }, 0).checked()
    }

    /// Coerced to `numeric(precision, scale)`: rounded, then 22003 if too large.
    pub fn rescale(&self, precision: u16, scale: i16) -> Result<Long> {
        let n = match self {
            Long::Finite(n) => n,
            Long::Nan => return Ok(Long::Nan),
            _ => {
                let detail = format!(
                    "A field with precision {precision}, scale {scale} cannot hold an infinite value."
                );
                let message = "numeric field overflow";
                return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message).with_detail(detail));
            }
        };
        let digits = n.round_digits(scale.into());
        if digits_of(digits.magnitude()) > u64::from(precision) {
            return Err(field_overflow(precision, scale));
        }
        match u32::try_from(scale) {
            Ok(scale) => Decimal::new(digits, scale).checked(),
            Err(_) => Decimal::new(digits * BigInt::from(pow10(scale.unsigned_abs().into())), 0).checked(),
        }
    }

    /// Square root.
    pub fn sqrt(&self) -> Result<Long> {
        if self.signum() < 0 {
            return Err(Error::new(SqlState::new("2201F"), "cannot take square root of a negative number"));
        }
        let Long::Finite(n) = self else { return Ok(self.clone()) };
        let (weight, _) = n.weight();
        let weight = (weight + 1) * 4 / 2 - 1;
        n.sqrt_at(display_scale(MIN_SIGNIFICANT_DIGITS - weight, &[n])).checked()
    }

    /// Greatest common divisor.
    pub fn gcd(&self, other: &Long) -> Result<Long> {
        let (Long::Finite(a), Long::Finite(b)) = (self, other) else { return Ok(Long::Nan) };
        let scale = a.scale.max(b.scale);
        let (mut a, mut b) = (a.at_scale(scale).into_parts().1, b.at_scale(scale).into_parts().1);
        while b.bits() > 0 {
            (a, b) = (b.clone(), a % b);
        }
        Decimal::new(BigInt::from(a), scale).checked()
    }

    /// Least common multiple.
    pub fn lcm(&self, other: &Long) -> Result<Long> {
        let (Long::Finite(a), Long::Finite(b)) = (self, other) else { return Ok(Long::Nan) };
        let scale = a.scale.max(b.scale);
        if a.is_zero() || b.is_zero() {
            return Decimal::new(BigInt::default(), scale).checked();
        }
        let Long::Finite(divisor) = self.gcd(other)? else { return Ok(Long::Nan) };
        let product = (a.at_scale(scale) / divisor.digits) * b.at_scale(scale);
        Decimal::new(BigInt::from(product.into_parts().1), scale).checked()
    }

    /// The product of all whole numbers from 1 on.
    pub fn factorial(n: i64) -> Result<Long> {
        if n < 0 {
            let message = "factorial of a negative number is undefined";
            return Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message));
        }
        // As PostgreSQL: the largest that has room.
        if n > 32_177 {
            return Err(overflow());
        }
        Decimal::new(BigInt::from(product(1, n.max(1) as u32)), 0).checked()
    }

    /// `sum / count`, as `avg` has it.
    pub fn avg(sum: &Long, count: i64) -> Result<Long> {
        sum.div(&Long::whole(count))
    }

    /// With the square of a number added, which may exceed the limits; NaN if either is not finite.
    pub fn plus_square(&self, n: &Long) -> Long {
        let (Long::Finite(sum), Long::Finite(n)) = (self, n) else { return Long::Nan };
        let square = Decimal::new(&n.digits * &n.digits, 2 * n.scale);
        let scale = sum.scale.max(square.scale);
        Decimal::new(sum.at_scale(scale) + square.at_scale(scale), scale).into()
    }

    /// Variance, or its root: see [`Numeric::spread`].
    pub fn spread(count: i64, sum: &Long, squares: &Long, sample: bool, root: bool) -> Result<Option<Long>> {
        if count < 1 || sample && count < 2 {
            return Ok(None);
        }
        let (Long::Finite(sum), Long::Finite(squares)) = (sum, squares) else { return Ok(Some(Long::Nan)) };
        let n = BigInt::from(count);
        // Beyond the limits of what is kept, as PostgreSQL's are, too.
        let scale = squares.scale.max(2 * sum.scale);
        let square = Decimal::new(&sum.digits * &sum.digits, 2 * sum.scale);
        let above = Decimal::new(&n * squares.at_scale(scale) - square.at_scale(scale), scale);
        if above.signum() <= 0 {
            return Ok(Some(Long::whole(0)));
        }
        let below = Decimal::new(&n * (count - i64::from(sample)), 0);
        let variance = above.div_at(&below, above.quotient_scale(&below));
        let scale = variance.scale;
        let spread = if root { variance.sqrt_at(scale) } else { variance };
        spread.checked().map(Some)
    }
}

/// Halves at a time, so that factors are about as long as each other.
fn product(from: u32, to: u32) -> BigUint {
    if to - from < 16 {
        return (from..=to).fold(BigUint::from(1u32), |product, n| product * n);
    }
    let middle = from + (to - from) / 2;
    product(from, middle) * product(middle + 1, to)
}

impl Numeric {
    /// [`Long::compare`] with a number that fits two words.
    pub fn compare_long(self, other: &Long) -> Ordering {
        Long::from(self).compare(other)
    }
}
