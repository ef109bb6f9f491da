//! Powers, exponentials and logarithms of numerics.
//!
//! PostgreSQL computes them with some guard digits and rounds to a scale that gives at least 16
//! significant digits. Here they are computed to [`PRECISION`] digits, which is more than both that
//! and what a numeric holds, and rounded once to the same scale. So the answers agree unless the true
//! value lies within PostgreSQL's own error (about 10^-8 of the last digit) of a rounding boundary.
//!
//! * whole exponents: square and multiply;
//! * exp: Taylor series after halving the argument to below 2^-8, then squaring back;
//! * ln: powers of two are split off, the rest is `2 artanh((x-1)/(x+1))`.

use super::arith::MIN_SIGNIFICANT_DIGITS;
use super::{MANTISSA_BOUND, Numeric, POW10, digits, overflow, wide};
use crate::error::{Error, Result, SqlState};
use crate::limits::NUMERIC_SCALE_MAX;
use std::cmp::Ordering;

/// Significant decimal digits of an intermediate.
const PRECISION: u32 = 80;
/// Digits behind the point up to which a logarithm is exact: its parts may cancel. Longer ones are computed as [`super::Long`].
const SCALE_EXACT: u32 = PRECISION - 20;
/// Beyond this decimal exponent nothing fits a numeric.
const EXPONENT_MAX: f64 = 2_000.0;
/// As many digits of log10(e) as PostgreSQL estimates weights with.
#[allow(clippy::approx_constant, reason = "the estimates must agree to the last bit")]
pub(super) const LOG10_E: f64 = 0.434294481903252;

#[cold]
pub(super) fn power_argument(message: &str) -> Error {
    Error::new(SqlState::new("2201F"), message)
}

impl Numeric {
    /// `base ^ exponent`.
    pub fn power(self, exponent: Numeric) -> Result<Numeric> {
        if self.is_zero() && exponent.mantissa < 0 {
            return Err(power_argument("zero raised to a negative power is undefined"));
        }
        let whole = exponent.trunc(0)?;
        if whole.compare(exponent).is_eq()
            && let Some(n) = whole.to_i64().and_then(|n| i32::try_from(n).ok())
        {
            return self.power_whole(n);
        }
        if self.is_zero() {
            return Numeric::checked(0, MIN_SIGNIFICANT_DIGITS as u32);
        }
        if self.mantissa < 0 && !whole.compare(exponent).is_eq() {
            return Err(power_argument(
                "a negative number raised to a non-integer power yields a complex result",
            ));
        }
        let negative = self.mantissa < 0 && whole.mantissa % 2 != 0;
        let ln_base = ln(&Real::from(self.abs()));
        let log = ln_base.mul(&Real::from(exponent));
        // PostgreSQL estimates the result's weight with eight digits of the logarithm.
        let estimate_scale = (8 - self.abs().ln_weight()).max(0);
        let estimate = ln_base.round(estimate_scale as u32)?.mul(exponent)?.round(estimate_scale)?;
        let weight = estimate.to_f64();
        if weight.abs() > EXPONENT_MAX * 3.01 {
            return Err(overflow());
        }
        let scale = result_scale(weight * LOG10_E, self.scale.max(exponent.scale));
        let power = exp(&log).round(scale)?;
        Ok(if negative { power.neg() } else { power })
    }

    /// Whole exponents have their own scale: 16, or the base's if that is larger.
    fn power_whole(self, exponent: i32) -> Result<Numeric> {
        let scale = (MIN_SIGNIFICANT_DIGITS as u32).max(self.scale as u32);
        match exponent {
            0 => return Numeric::from_i64(1).round(scale as i32),
            1 => return self.round(scale as i32),
            -1 => return Numeric::from_i64(1).div_at(self, scale),
            _ if self.is_zero() => return Numeric::checked(0, scale),
            _ => {}
        }
        let (weight, first) = self.weight();
        let weight = f64::from(exponent) * (f64::from(first).log10() + f64::from(4 * weight));
        if weight > EXPONENT_MAX {
            return Err(overflow());
        }
        if weight < -EXPONENT_MAX {
            return Numeric::checked(0, scale);
        }
        let power = Real::from(self.abs()).power(exponent.unsigned_abs());
        let power = if exponent < 0 { Real::one().div(&power) } else { power };
        let rounded = power.round(scale)?;
        Ok(if self.mantissa < 0 && exponent % 2 != 0 { rounded.neg() } else { rounded })
    }

    /// `exp`.
    pub fn exp(self) -> Result<Numeric> {
        let weight = self.to_f64() * LOG10_E;
        if weight.abs() > EXPONENT_MAX {
            return Err(overflow());
        }
        exp(&Real::from(self)).round(result_scale(weight, self.scale))
    }

    /// Natural logarithm.
    pub fn ln(self) -> Result<Numeric> {
        self.check_logarithm()?;
        let scale = (MIN_SIGNIFICANT_DIGITS - self.ln_weight()).max(i32::from(self.scale)) as u32;
        check_scale(scale)?;
        ln(&Real::from(self)).round(scale)
    }

    /// Logarithm of `self` to a base.
    pub fn log(self, base: Numeric) -> Result<Numeric> {
        base.check_logarithm()?;
        self.check_logarithm()?;
        if base.compare(Numeric::from_i64(1)).is_eq() {
            return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
        }
        let weight = self.ln_weight() - base.ln_weight();
        let scale =
            (MIN_SIGNIFICANT_DIGITS - weight).max(i32::from(self.scale)).max(i32::from(base.scale)) as u32;
        check_scale(scale)?;
        ln(&Real::from(self)).div(&ln(&Real::from(base))).round(scale)
    }

    fn check_logarithm(self) -> Result<()> {
        let message = match self.mantissa.signum() {
            0 => "cannot take logarithm of zero",
            -1 => "cannot take logarithm of a negative number",
            _ => return Ok(()),
        };
        Err(Error::new(SqlState::new("2201E"), message))
    }

    /// The decimal weight of the natural logarithm, as PostgreSQL estimates it.
    fn ln_weight(self) -> i32 {
        let near = |n: i128| self.compare(Numeric { mantissa: n, scale: 1 });
        if near(9).is_ge() && near(11).is_le() {
            let distance = self.sub(Numeric::from_i64(1)).unwrap_or(Numeric::ZERO);
            if distance.is_zero() {
                return 0;
            }
            let (weight, first) = distance.weight();
            return weight * 4 + f64::from(first).log10() as i32;
        }
        let (weight, first) = self.weight();
        // Two groups of four digits where there are two.
        let shift = i32::from(self.scale) + 4 * (weight - 1);
        let magnitude = self.mantissa.unsigned_abs();
        let two = if shift >= 0 {
            magnitude / POW10[shift as usize]
        } else {
            magnitude.saturating_mul(POW10[shift.unsigned_abs().min(8) as usize])
        };
        let (leading, exponent) =
            if two == u128::from(first) * 10_000 { (u128::from(first), weight) } else { (two, weight - 1) };
        let ln = (leading as f64).ln() + f64::from(exponent * 4) * std::f64::consts::LN_10;
        ln.abs().log10() as i32
    }
}

fn check_scale(scale: u32) -> Result<()> {
    if scale > SCALE_EXACT { Err(overflow()) } else { Ok(()) }
}

/// At least 16 significant digits of a result of about this decimal weight, and the operands' scale.
fn result_scale(weight: f64, operand_scale: u8) -> u32 {
    (MIN_SIGNIFICANT_DIGITS - weight as i32).max(i32::from(operand_scale)).max(0) as u32
}

/// A decimal floating point number of up to [`PRECISION`] digits: `±limbs * 10^exponent`.
#[derive(Clone, Debug)]
struct Real {
    negative: bool,
    /// Little-endian, without leading zeros.
    limbs: Vec<u32>,
    exponent: i64,
}

fn trim(mut limbs: Vec<u32>) -> Vec<u32> {
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
    limbs
}

fn limbs_of(mut n: u128) -> Vec<u32> {
    let mut limbs = Vec::new();
    while n > 0 {
        limbs.push(n as u32);
        n >>= 32;
    }
    limbs
}

fn mul_limbs(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut out = vec![0; a.len() + b.len()];
    wide::mul_limbs(a, b, &mut out);
    trim(out)
}

fn div_rem_limbs(a: &[u32], b: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut rest = a.to_vec();
    rest.resize(a.len().max(b.len()) + 1, 0);
    let mut quotient = vec![0; rest.len()];
    wide::div_rem_limbs(&mut rest, b, &mut quotient);
    (trim(quotient), trim(rest))
}

fn compare_limbs(a: &[u32], b: &[u32]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.iter().rev().cmp(b.iter().rev()))
}

fn add_limbs(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut out = Vec::with_capacity(a.len().max(b.len()) + 1);
    let mut carry = 0u64;
    for i in 0..a.len().max(b.len()) {
        let limb = |of: &[u32]| of.get(i).map_or(0, |l| u64::from(*l));
        let sum = limb(a) + limb(b) + carry;
        out.push(sum as u32);
        carry = sum >> 32;
    }
    out.push(carry as u32);
    trim(out)
}

/// `a - b` for a >= b.
fn sub_limbs(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut borrow = 0i64;
    let out = a.iter().enumerate().map(|(i, limb)| {
        let difference = i64::from(*limb) - b.get(i).map_or(0, |l| i64::from(*l)) + borrow;
        borrow = difference >> 32;
        difference as u32
    });
    trim(out.collect())
}

fn pow10_limbs(n: u32) -> Vec<u32> {
    let mut power = limbs_of(POW10[(n % 38) as usize]);
    for _ in 0..n / 38 {
        power = mul_limbs(&power, &limbs_of(POW10[38]));
    }
    power
}

/// An estimate of the number of decimal digits, at most one too high.
fn digits_estimate(limbs: &[u32]) -> u32 {
    let bits = limbs.len() as u32 * 32 - limbs.last().map_or(0, |l| l.leading_zeros());
    (f64::from(bits) * std::f64::consts::LOG10_2) as u32 + 1
}

impl From<Numeric> for Real {
    fn from(n: Numeric) -> Real {
        Real {
            negative: n.mantissa < 0,
            limbs: limbs_of(n.mantissa.unsigned_abs()),
            exponent: -i64::from(n.scale),
        }
    }
}

impl Real {
    fn one() -> Real {
        Real::whole(1)
    }
    fn whole(n: u32) -> Real {
        Real { negative: false, limbs: limbs_of(u128::from(n)), exponent: 0 }
    }
    fn is_zero(&self) -> bool {
        self.limbs.is_empty()
    }

    /// Cut to the precision. Cutting, not rounding: the guard digits absorb it.
    fn cut(mut self) -> Real {
        let excess = digits_estimate(&self.limbs).saturating_sub(PRECISION);
        if excess > 0 {
            self.limbs = div_rem_limbs(&self.limbs, &pow10_limbs(excess)).0;
            self.exponent += i64::from(excess);
        }
        self
    }

    fn mul(&self, other: &Real) -> Real {
        Real {
            negative: self.negative != other.negative,
            limbs: mul_limbs(&self.limbs, &other.limbs),
            exponent: self.exponent + other.exponent,
        }
        .cut()
    }

    fn div(&self, other: &Real) -> Real {
        let shift =
            (PRECISION + 2 + digits_estimate(&other.limbs)).saturating_sub(digits_estimate(&self.limbs));
        let dividend = mul_limbs(&self.limbs, &pow10_limbs(shift));
        Real {
            negative: self.negative != other.negative,
            limbs: div_rem_limbs(&dividend, &other.limbs).0,
            exponent: self.exponent - other.exponent - i64::from(shift),
        }
        .cut()
    }

    fn neg(mut self) -> Real {
        self.negative = !self.negative;
        self
    }

    fn add(&self, other: &Real) -> Real {
        if self.is_zero() || other.is_zero() {
            return if self.is_zero() { other.clone() } else { self.clone() };
        }
        let (high, low) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let gap = high.exponent - low.exponent;
        // What lies wholly below the other's last digit cannot be seen in the sum.
        if gap > i64::from(2 * PRECISION + digits_estimate(&low.limbs)) {
            return high.clone();
        }
        let aligned = mul_limbs(&high.limbs, &pow10_limbs(gap as u32));
        let (negative, limbs) = if high.negative == low.negative {
            (high.negative, add_limbs(&aligned, &low.limbs))
        } else if compare_limbs(&aligned, &low.limbs).is_ge() {
            (high.negative, sub_limbs(&aligned, &low.limbs))
        } else {
            (low.negative, sub_limbs(&low.limbs, &aligned))
        };
        Real { negative, limbs, exponent: low.exponent }.cut()
    }

    fn power(&self, mut n: u32) -> Real {
        let (mut result, mut square) = (Real::one(), self.clone());
        while n > 0 {
            if n & 1 == 1 {
                result = result.mul(&square);
            }
            n >>= 1;
            if n > 0 {
                square = square.mul(&square);
            }
        }
        result
    }

    fn to_f64(&self) -> f64 {
        let magnitude = self.limbs.iter().rev().fold(0.0, |x, limb| x * 4_294_967_296.0 + f64::from(*limb));
        // Two steps, so that a long mantissa with a small exponent does not underflow on its way.
        let half = (self.exponent / 2) as i32;
        let value = magnitude * 10f64.powi(half) * 10f64.powi(self.exponent as i32 - half);
        if self.negative { -value } else { value }
    }

    /// About the decimal exponent of the leading digit; very small for zero.
    fn magnitude(&self) -> i64 {
        if self.is_zero() { i64::MIN / 2 } else { self.exponent + i64::from(digits_estimate(&self.limbs)) }
    }

    /// As a numeric of a scale, half away from zero.
    fn round(&self, scale: u32) -> Result<Numeric> {
        if scale > NUMERIC_SCALE_MAX {
            return Err(overflow());
        }
        let drop = -self.exponent - i64::from(scale);
        let limbs = if self.is_zero() {
            Vec::new()
        } else if drop <= 0 {
            if -drop > i64::from(PRECISION) {
                return Err(overflow());
            }
            mul_limbs(&self.limbs, &pow10_limbs((-drop) as u32))
        } else if drop > i64::from(2 * PRECISION) {
            Vec::new()
        } else {
            // Half of the divisor first, then cut.
            let divisor = pow10_limbs(drop as u32);
            let (half, _) = div_rem_limbs(&divisor, &[2]);
            div_rem_limbs(&add_limbs(&self.limbs, &half), &divisor).0
        };
        if limbs.len() > 4 {
            return Err(overflow());
        }
        let magnitude = limbs.iter().rev().fold(0u128, |n, limb| n << 32 | u128::from(*limb));
        if magnitude >= MANTISSA_BOUND as u128 || digits(magnitude) > 36 {
            return Err(overflow());
        }
        let mantissa = magnitude as i128;
        Numeric::checked(if self.negative { -mantissa } else { mantissa }, scale)
    }
}

/// The exponential.
fn exp(x: &Real) -> Real {
    if x.is_zero() {
        return Real::one();
    }
    let halvings = (x.to_f64().abs().log2().max(-8.0) + 9.0) as u32;
    let small = x.div(&Real::whole(2).power(halvings));
    let (mut sum, mut term, mut n) = (Real::one(), Real::one(), 0);
    while term.magnitude() > -i64::from(PRECISION) - 10 {
        n += 1;
        term = term.mul(&small).div(&Real::whole(n));
        sum = sum.add(&term);
    }
    for _ in 0..halvings {
        sum = sum.mul(&sum);
    }
    sum
}

/// The natural logarithm of a positive number.
fn ln(x: &Real) -> Real {
    // x = rest * 2^twos * 10^tens with rest in 0.7..1.4.
    let tens = x.magnitude();
    let mut rest = Real { exponent: x.exponent - tens, ..x.clone() };
    let mut twos = 0u32;
    while rest.to_f64() < 0.7 {
        rest = rest.mul(&Real::whole(2));
        twos += 1;
    }
    let ratio = |a: u32, b: u32| Real::whole(a).div(&Real::whole(b));
    let ln2 = two_artanh(&ratio(1, 3));
    // ln 10 = 3 ln 2 + ln 1.25
    let ln10 = ln2.mul(&Real::whole(3)).add(&two_artanh(&ratio(1, 9)));
    let magnitude = u32::try_from(tens.unsigned_abs()).unwrap_or(u32::MAX);
    let by_tens = ln10.mul(&Real { negative: tens < 0, ..Real::whole(magnitude) });
    let by_twos = ln2.mul(&Real::whole(twos)).neg();
    let argument = rest.add(&Real::one().neg()).div(&rest.add(&Real::one()));
    two_artanh(&argument).add(&by_tens.add(&by_twos))
}

/// `2 artanh(x) = ln((1+x)/(1-x))`, |x| at most 1/3.
fn two_artanh(x: &Real) -> Real {
    if x.is_zero() {
        return x.clone();
    }
    let square = x.mul(x);
    let (mut sum, mut power, mut n) = (x.clone(), x.clone(), 1);
    // Relative to the sum, which may be tiny for arguments next to 1.
    while power.magnitude() > x.magnitude() - i64::from(PRECISION) - 5 {
        n += 2;
        power = power.mul(&square);
        sum = sum.add(&power.div(&Real::whole(n)));
    }
    sum.mul(&Real::whole(2))
}
