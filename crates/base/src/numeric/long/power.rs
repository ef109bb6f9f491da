//! Powers, exponentials and logarithms of numbers of any length.
//!
//! They are computed with fixed-point numbers of as many bits as the result needs, and some more, and rounded once. What
//! scale a result has, and where it is too large, is PostgreSQL's way (`exp_var`, `ln_var`, `power_var` of its `numeric.c`).
//!
//! * exp: whole powers of two are split off, the rest is halved until a Taylor series is short, and squared back;
//! * ln: whole powers of two are split off, the rest is `2 artanh((x-1)/(x+1))`.

use super::super::arith::MIN_SIGNIFICANT_DIGITS;
use super::super::overflow;
use super::super::power::{LOG10_E, power_argument};
use super::arith::{DISPLAY_SCALE_MAX, display_scale, leading};
use super::{Decimal, Long, pow10};
use crate::error::{Error, Result, SqlState};
use num_bigint::{BigInt, BigUint, Sign};
use std::cmp::Ordering;

/// Beyond this argument an exponential is too large, or nothing.
const EXPONENT_MAX: f64 = 2000.0;
/// Bits of a decimal digit, rounded up.
const BITS_PER_DIGIT: f64 = 3.322;
/// Bits beyond those that are needed.
const GUARD_BITS: u64 = 96;

fn bits_for(digits: f64) -> u64 {
    (digits.max(0.0) * BITS_PER_DIGIT) as u64 + GUARD_BITS
}

/// `2^bits` as a fixed-point number is 1.
fn fixed(n: &Decimal, bits: u64) -> BigInt {
    (&n.digits << bits) / BigInt::from(pow10(n.scale))
}

fn mul(a: &BigInt, b: &BigInt, bits: u64) -> BigInt {
    (a * b) >> bits
}

/// A fixed-point number with so many bits, rounded to a scale.
fn decimal(n: &BigInt, bits: u64, scale: u32) -> Decimal {
    let scaled = n * BigInt::from(pow10(scale));
    let half = if bits > 0 { BigInt::from(1) << (bits - 1) } else { BigInt::default() };
    // Half away from zero: shifts round down.
    let digits =
        if scaled.sign() == Sign::Minus { -((-scaled + half) >> bits) } else { (scaled + half) >> bits };
    Decimal::new(digits, scale)
}

/// `2 artanh(x)` of a fixed-point number below 1.
fn two_artanh(x: &BigInt, bits: u64) -> BigInt {
    let square = mul(x, x, bits);
    let (mut sum, mut power, mut n) = (x.clone(), x.clone(), 1u32);
    loop {
        power = mul(&power, &square, bits);
        n += 2;
        let term = &power / n;
        if term.bits() <= 1 {
            break;
        }
        sum += term;
    }
    sum * 2
}

/// ln 2.
fn ln_two(bits: u64) -> BigInt {
    let third = (BigInt::from(1) << bits) / 3;
    two_artanh(&third, bits)
}

/// The natural logarithm of a positive number, fixed-point.
fn ln(n: &Decimal, bits: u64) -> BigInt {
    // n = rest * 2^twos with rest in 0.75 .. 1.5.
    let one = BigInt::from(1) << bits;
    let mut twos = n.digits.bits() as i64 - pow10(n.scale).bits() as i64;
    let rest_of = |twos: i64| {
        let (above, below) = (n.digits.clone(), BigInt::from(pow10(n.scale)));
        if twos >= 0 {
            (above << bits) / (below << twos as u64)
        } else {
            ((above << twos.unsigned_abs()) << bits) / below
        }
    };
    let mut rest = rest_of(twos);
    let upper = &one + (&one >> 1u32);
    let lower = &one - (&one >> 2u32);
    while rest > upper {
        twos += 1;
        rest = rest_of(twos);
    }
    while rest < lower {
        twos -= 1;
        rest = rest_of(twos);
    }
    let argument = ((&rest - &one) << bits) / (&rest + &one);
    let small = if argument.sign() == Sign::NoSign { BigInt::default() } else { two_artanh(&argument, bits) };
    small + ln_two(bits) * twos
}

/// The exponential of a fixed-point number, as `fixed-point * 2^n`, the first between 1 and 2.
fn exp(x: &BigInt, bits: u64) -> (BigInt, i64) {
    const HALVINGS: u64 = 24;
    let work = bits + 2 * HALVINGS + 16;
    let x = x << (work - bits);
    let two = ln_two(work);
    let mut twos = &x / &two;
    let mut rest = &x - &twos * &two;
    if rest.sign() == Sign::Minus {
        twos -= 1;
        rest += &two;
    }
    let small = rest >> HALVINGS;
    let one = BigInt::from(1) << work;
    let (mut sum, mut term, mut n) = (one.clone(), one, 0u32);
    loop {
        n += 1;
        term = mul(&term, &small, work) / n;
        if term.bits() == 0 {
            break;
        }
        sum += &term;
    }
    for _ in 0..HALVINGS {
        sum = mul(&sum, &sum, work);
    }
    (sum >> (work - bits), i64::try_from(&twos).unwrap_or(0))
}

/// The exponential of a number that is kept with so many bits, at a scale.
fn exp_at(x: &BigInt, bits: u64, scale: u32) -> Decimal {
    let (mantissa, twos) = exp(x, bits);
    match bits as i64 - twos {
        shift @ 0.. => decimal(&mantissa, shift as u64, scale),
        shift => decimal(&(mantissa << shift.unsigned_abs()), 0, scale),
    }
}

impl Decimal {
    fn about(&self) -> f64 {
        Long::from(self.clone()).to_f64()
    }

    fn one() -> Decimal {
        Decimal::new(BigInt::from(1), 0)
    }

    /// The decimal weight of the natural logarithm, as PostgreSQL estimates it.
    fn ln_weight(&self) -> i32 {
        if self.signum() <= 0 {
            return 0;
        }
        let tenths = |n: i32| Decimal::new(BigInt::from(n), 1);
        if self.compare(&tenths(9)).is_ge() && self.compare(&tenths(11)).is_le() {
            let one = BigInt::from(pow10(self.scale));
            let distance = Decimal::new(&self.digits - one, self.scale);
            if distance.is_zero() {
                return 0;
            }
            let (weight, first) = distance.weight();
            return weight * 4 + f64::from(first).log10() as i32;
        }
        let (weight, two) = leading(self, 2);
        let (first, rest) = (&two / 10_000u32, &two % 10_000u32);
        let about = |n: &BigUint| u32::try_from(n).map_or(0.0, f64::from);
        // Two groups of four digits where there are two.
        let (digits, exponent) = if rest.bits() == 0 && self.ends_at(weight) {
            (about(&first), weight)
        } else {
            (about(&two), weight - 1)
        };
        (digits.ln() + f64::from(exponent * 4) * std::f64::consts::LN_10).abs().log10() as i32
    }

    /// Whether nothing but zeros follows the group of four digits of this weight.
    fn ends_at(&self, weight: i32) -> bool {
        let drop = i64::from(self.scale) + 4 * i64::from(weight);
        drop <= 0 || (self.digits.magnitude() % pow10(drop as u32)).bits() == 0
    }
}

fn check_logarithm(n: &Long) -> Result<()> {
    let message = match n.signum() {
        0 => "cannot take logarithm of zero",
        -1 => "cannot take logarithm of a negative number",
        _ => return Ok(()),
    };
    Err(Error::new(SqlState::new("2201E"), message))
}

impl Long {
    /// The exponential.
    pub fn exp(&self) -> Result<Long> {
        let n = match self {
            Long::Finite(n) => n,
            Long::NegInfinity => return Ok(Long::whole(0)),
            other => return Ok(other.clone()),
        };
        let about = n.about();
        let weight = (about * LOG10_E).clamp(-EXPONENT_MAX, EXPONENT_MAX);
        let scale = display_scale(MIN_SIGNIFICANT_DIGITS - weight as i32, &[n]);
        if about.abs() >= EXPONENT_MAX * 3.0 {
            return if about > 0.0 {
                Err(overflow())
            } else {
                Decimal::new(BigInt::default(), scale).checked()
            };
        }
        let bits = bits_for(f64::from(scale) + (about * LOG10_E).max(0.0) + 8.0);
        exp_at(&fixed(n, bits), bits, scale).checked()
    }

    /// The natural logarithm.
    pub fn ln(&self) -> Result<Long> {
        if self.is_nan() {
            return Ok(Long::Nan);
        }
        check_logarithm(self)?;
        let Long::Finite(n) = self else { return Ok(self.clone()) };
        let scale = display_scale(MIN_SIGNIFICANT_DIGITS - n.ln_weight(), &[n]);
        let bits = bits_for(f64::from(scale) + 8.0);
        decimal(&ln(n, bits), bits, scale).checked()
    }

    /// The logarithm to a base.
    pub fn log(&self, base: &Long) -> Result<Long> {
        if self.is_nan() || base.is_nan() {
            return Ok(Long::Nan);
        }
        let (n, b) = match (self, base) {
            (Long::Finite(n), Long::Finite(b)) => {
                check_logarithm(base)?;
                check_logarithm(self)?;
                (n, b)
            }
            _ => {
                // Of all that is not positive the negative ones first.
                if self.signum() < 0 || base.signum() < 0 {
                    check_logarithm(&Long::whole(-1))?;
                }
                check_logarithm(&Long::whole((self.signum() * base.signum()).into()))?;
                return Ok(match (self, base) {
                    (Long::Infinity, Long::Infinity) => Long::Nan,
                    (_, Long::Infinity) => Long::whole(0),
                    _ => Long::Infinity,
                });
            }
        };
        if b.compare(&Decimal::one()).is_eq() {
            return Err(super::super::arith::division_by_zero());
        }
        let (weight, weight_b) = (n.ln_weight(), b.ln_weight());
        let scale = display_scale(MIN_SIGNIFICANT_DIGITS - (weight - weight_b), &[n, b]);
        let digits = f64::from(scale) + f64::from(2 * (-weight_b).max(0) + weight.max(0)) + 16.0;
        let bits = bits_for(digits);
        let (above, below) = (ln(n, bits), ln(b, bits));
        if below.sign() == Sign::NoSign {
            return Err(super::super::arith::division_by_zero());
        }
        decimal(&((above << bits) / below), bits, scale).checked()
    }

    /// `self ^ exponent`.
    pub fn power(&self, exponent: &Long) -> Result<Long> {
        if let (Long::Finite(base), Long::Finite(exponent)) = (self, exponent) {
            return base.power(exponent);
        }
        let one = Long::whole(1);
        if self.is_nan() || exponent.is_nan() {
            let certain = match (self, exponent) {
                (Long::Nan, Long::Finite(n)) => n.is_zero(),
                (Long::Finite(_), _) => self.compare(&one).is_eq(),
                _ => false,
            };
            return Ok(if certain { one } else { Long::Nan });
        }
        check_power(self, exponent)?;
        if self.compare(&one).is_eq() || exponent.signum() == 0 {
            return Ok(one);
        }
        if self.signum() == 0 && exponent.signum() > 0 {
            return Ok(Long::whole(0));
        }
        if let Long::Finite(n) = exponent {
            // Of an infinite base.
            if n.signum() < 0 {
                return Ok(Long::whole(0));
            }
            let odd = n.is_whole() && n.whole().bit(0);
            return Ok(if self.signum() < 0 && odd { Long::NegInfinity } else { Long::Infinity });
        }
        if self.compare(&Long::whole(-1)).is_eq() {
            return Ok(one);
        }
        let grows = self.abs().compare(&one).is_gt() == (exponent.signum() > 0);
        Ok(if grows { Long::Infinity } else { Long::whole(0) })
    }
}

fn check_power(base: &Long, exponent: &Long) -> Result<()> {
    if base.signum() == 0 && exponent.signum() < 0 {
        return Err(power_argument("zero raised to a negative power is undefined"));
    }
    // An infinite exponent counts as whole.
    if base.signum() < 0 && exponent.finite().is_some_and(|n| !n.is_whole()) {
        return Err(power_argument(
            "a negative number raised to a non-integer power yields a complex result",
        ));
    }
    Ok(())
}

impl Decimal {
    fn power(&self, exponent: &Decimal) -> Result<Long> {
        check_power(&self.clone().into(), &exponent.clone().into())?;
        if exponent.is_whole()
            && let Ok(n) = i32::try_from(&exponent.whole())
        {
            return self.power_whole(n);
        }
        if self.is_zero() {
            return Decimal::new(BigInt::default(), MIN_SIGNIFICANT_DIGITS as u32).checked();
        }
        let negative = self.signum() < 0 && exponent.whole().bit(0);
        let base = Decimal::new(BigInt::from(self.digits.magnitude().clone()), self.scale);
        // PostgreSQL estimates the result's weight with eight digits of the logarithm.
        let ln_weight = base.ln_weight();
        let estimate_scale = (8 - ln_weight).max(0) as u32;
        let bits = bits_for(f64::from(estimate_scale) + 8.0);
        let ln_base = decimal(&ln(&base, bits), bits, estimate_scale);
        let product = Decimal::new(&ln_base.digits * &exponent.digits, ln_base.scale + exponent.scale);
        let about = product.rounded(estimate_scale as i32).about();
        if about.abs() > EXPONENT_MAX * 3.01 {
            if about > 0.0 {
                return Err(overflow());
            }
            return Decimal::new(BigInt::default(), DISPLAY_SCALE_MAX as u32).checked();
        }
        let weight = about * LOG10_E;
        let scale = display_scale(MIN_SIGNIFICANT_DIGITS - weight as i32, &[self, exponent]);
        let before = super::digits_of(exponent.whole().magnitude()) as f64;
        let bits = bits_for(f64::from(scale) + weight.max(0.0) + before + 16.0);
        let argument = (ln(&base, bits) * &exponent.digits) / BigInt::from(pow10(exponent.scale));
        if about.abs() >= EXPONENT_MAX * 3.0 - 1.0 {
            let exact = decimal(&argument, bits, 20).about();
            if exact >= EXPONENT_MAX * 3.0 {
                return Err(overflow());
            }
            if exact <= -EXPONENT_MAX * 3.0 {
                return Decimal::new(BigInt::default(), scale).checked();
            }
        }
        let power = exp_at(&argument, bits, scale);
        let digits = if negative { -power.digits } else { power.digits };
        Decimal::new(digits, scale).checked()
    }

    /// Whole exponents have their own scale: 16, or the base's if that is larger.
    fn power_whole(&self, exponent: i32) -> Result<Long> {
        let scale = display_scale(MIN_SIGNIFICANT_DIGITS, &[self]);
        match exponent {
            0 => return Decimal::one().rounded(scale as i32).checked(),
            1 => return self.rounded(scale as i32).checked(),
            -1 if self.is_zero() => return Err(super::super::arith::division_by_zero()),
            -1 => return Decimal::one().div_at(self, scale).checked(),
            2 => {
                return Decimal::new(&self.digits * &self.digits, 2 * self.scale)
                    .rounded(scale as i32)
                    .checked();
            }
            _ if self.is_zero() => return Decimal::new(BigInt::default(), scale).checked(),
            _ => {}
        }
        // About the decimal exponent of the result.
        let (weight, first) = leading(self, 4);
        let first = first.to_string().parse::<f64>().unwrap_or(1.0);
        let about = f64::from(exponent) * (first.log10() + f64::from(4 * (weight - 3)));
        if about > 3.0 * 32767.0 * 4.0 {
            return Err(overflow());
        }
        if about + 1.0 < -f64::from(scale) || about + 1.0 < -f64::from(DISPLAY_SCALE_MAX) {
            return Decimal::new(BigInt::default(), scale).checked();
        }
        // Significant digits that are kept on the way.
        let digits = f64::from(scale) + about.max(0.0) + 24.0 + f64::from(exponent.unsigned_abs()).log10();
        let keep = digits as u64;
        let cut = |n: BigUint, exponent: i64| {
            let excess = ((n.bits() as f64 * std::f64::consts::LOG10_2) as u64).saturating_sub(keep);
            if excess == 0 { (n, exponent) } else { (n / pow10(excess as u32), exponent + excess as i64) }
        };
        // Numbers times a power of ten.
        let mut result = (BigUint::from(1u32), 0i64);
        let mut square = (self.digits.magnitude().clone(), -i64::from(self.scale));
        let mut n = exponent.unsigned_abs();
        while n > 0 {
            if n & 1 == 1 {
                result = cut(&result.0 * &square.0, result.1 + square.1);
            }
            n >>= 1;
            if n > 0 {
                square = cut(&square.0 * &square.0, 2 * square.1);
            }
        }
        let (above, below, tens) = match exponent {
            0.. => (result.0, BigUint::from(1u32), result.1),
            _ => (BigUint::from(1u32), result.0, -result.1),
        };
        let power = ratio(above, below, tens + i64::from(scale))?;
        let negative = self.signum() < 0 && exponent % 2 != 0;
        let digits = BigInt::from_biguint(if negative { Sign::Minus } else { Sign::Plus }, power);
        Decimal::new(digits, scale).checked()
    }
}

/// `above / below * 10^tens`, rounded.
fn ratio(mut above: BigUint, mut below: BigUint, tens: i64) -> Result<BigUint> {
    let power = pow10(u32::try_from(tens.unsigned_abs()).ok().filter(|n| *n < 1 << 20).ok_or_else(overflow)?);
    *(if tens >= 0 { &mut above } else { &mut below }) *= power;
    let (quotient, rest) = (&above / &below, &above % &below);
    let up = (rest * 2u32).cmp(&below) != Ordering::Less;
    Ok(quotient + u32::from(up))
}
