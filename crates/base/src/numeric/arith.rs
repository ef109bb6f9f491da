//! Arithmetic, with PostgreSQL's result scales.

use super::{MANTISSA_BOUND, Numeric, POW10, overflow, pow10, wide};
use crate::error::{Error, Result, SqlState};
use crate::limits::NUMERIC_SCALE_MAX;

/// Division, square root and power keep at least this many significant digits.
pub(super) const MIN_SIGNIFICANT_DIGITS: i32 = 16;

#[cold]
#[inline(never)]
pub(super) fn division_by_zero() -> Error {
    Error::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

#[allow(clippy::should_implement_trait, reason = "all of them can fail")]
impl Numeric {
    /// Sum; the larger scale.
    #[inline]
    pub fn add(self, other: Numeric) -> Result<Numeric> {
        if self.scale == other.scale {
            // Two mantissas below 2^119 cannot overflow 127 bits.
            let sum = self.mantissa + other.mantissa;
            if sum > -MANTISSA_BOUND && sum < MANTISSA_BOUND {
                return Ok(Numeric { mantissa: sum, scale: self.scale });
            }
            return Err(overflow());
        }
        self.add_scaled(other)
    }

    fn add_scaled(self, other: Numeric) -> Result<Numeric> {
        let (a, b) = if self.scale < other.scale { (self, other) } else { (other, self) };
        if a.mantissa == 0 {
            return Ok(b);
        }
        // If the aligned one exceeds 127 bits, a summand below 2^119 cannot bring it back.
        let aligned = pow10((b.scale - a.scale) as u32).and_then(|p| a.mantissa.checked_mul(p));
        let sum = aligned.and_then(|a| a.checked_add(b.mantissa)).ok_or_else(overflow)?;
        Numeric::checked(sum, b.scale as u32)
    }

    /// Difference; the larger scale.
    #[inline]
    pub fn sub(self, other: Numeric) -> Result<Numeric> {
        self.add(other.neg())
    }

    /// Product; the sum of the scales.
    #[inline]
    pub fn mul(self, other: Numeric) -> Result<Numeric> {
        let scale = self.scale as u32 + other.scale as u32;
        if let (Ok(a), Ok(b)) = (i64::try_from(self.mantissa), i64::try_from(other.mantissa)) {
            return Numeric::checked(i128::from(a) * i128::from(b), scale);
        }
        Numeric::checked(self.mantissa.checked_mul(other.mantissa).ok_or_else(overflow)?, scale)
    }

    /// Quotient, rounded half away from zero at the scale PostgreSQL chooses: at least 16
    /// significant digits and no less than either operand's scale.
    pub fn div(self, divisor: Numeric) -> Result<Numeric> {
        if divisor.mantissa == 0 {
            return Err(division_by_zero());
        }
        let scale = self.quotient_scale(divisor);
        self.div_at(divisor, scale)
    }

    fn quotient_scale(self, divisor: Numeric) -> u32 {
        let ((weight, first), (weight_d, first_d)) = (self.weight(), divisor.weight());
        // If the first digits are equal, the dividend is taken to be the smaller.
        let weight = weight - weight_d - i32::from(first <= first_d);
        let scale = MIN_SIGNIFICANT_DIGITS - weight * 4;
        scale.max(i32::from(self.scale)).max(i32::from(divisor.scale)) as u32
    }

    /// Quotient at a given scale, not below the dividend's.
    pub(super) fn div_at(self, divisor: Numeric, scale: u32) -> Result<Numeric> {
        if scale > NUMERIC_SCALE_MAX {
            return Err(overflow());
        }
        if self.mantissa == 0 {
            return Numeric::checked(0, scale);
        }
        let dividend = self.mantissa.unsigned_abs();
        let by = divisor.mantissa.unsigned_abs();
        let shift = (scale + divisor.scale as u32 - self.scale as u32) as usize;
        let narrow = POW10.get(shift).and_then(|p| dividend.checked_mul(*p));
        let quotient = match narrow {
            Some(n) => match (u64::try_from(n), u64::try_from(by)) {
                (Ok(n), Ok(by)) => u128::from(round_up(n / by, n % by, by)),
                _ => {
                    let (quotient, rest) = (n / by, n % by);
                    quotient + u128::from(rest >= by - rest)
                }
            },
            // Beyond 256 bits the quotient by a mantissa below 2^119 exceeds 2^119 for sure.
            None => {
                let numerator = wide_shifted(dividend, shift).ok_or_else(overflow)?;
                let (quotient, rest) = wide::div_rem(&numerator, by);
                quotient.ok_or_else(overflow)? + u128::from(rest >= by - rest)
            }
        };
        let quotient = i128::try_from(quotient).map_err(|_| overflow())?;
        let negative = (self.mantissa < 0) != (divisor.mantissa < 0);
        Numeric::checked(if negative { -quotient } else { quotient }, scale)
    }

    /// Remainder of the truncated division: the sign of the dividend, the larger scale.
    pub fn rem(self, divisor: Numeric) -> Result<Numeric> {
        if divisor.mantissa == 0 {
            return Err(division_by_zero());
        }
        let scale = self.scale.max(divisor.scale) as u32;
        let shift = |n: Numeric| pow10(scale - n.scale as u32).and_then(|p| n.mantissa.checked_mul(p));
        let rest = match (shift(self), shift(divisor)) {
            (Some(a), Some(b)) => match (i64::try_from(a), i64::try_from(b)) {
                (Ok(a), Ok(b)) => i128::from(a.wrapping_rem(b)),
                _ => a.wrapping_rem(b),
            },
            // The divisor alone exceeds any mantissa, so it exceeds the dividend, whose scale it is.
            (_, None) => self.mantissa,
            (None, Some(b)) => {
                let by = b.unsigned_abs();
                let mut rest = self.mantissa.unsigned_abs() % by;
                for _ in 0..scale - self.scale as u32 {
                    rest = wide::div_rem(&wide::mul(rest, 10), by).1;
                }
                let rest = rest as i128;
                if self.mantissa < 0 { -rest } else { rest }
            }
        };
        Numeric::checked(rest, scale)
    }

    /// `div`: the quotient towards zero, scale 0.
    pub fn div_trunc(self, divisor: Numeric) -> Result<Numeric> {
        if divisor.mantissa == 0 {
            return Err(division_by_zero());
        }
        let (mut numerator, mut by) =
            (wide::mul(self.mantissa.unsigned_abs(), 1), divisor.mantissa.unsigned_abs());
        let shift = usize::from(self.scale.abs_diff(divisor.scale));
        if self.scale > divisor.scale {
            match POW10.get(shift).and_then(|p| by.checked_mul(*p)) {
                Some(aligned) => by = aligned,
                // Aligned it exceeds any mantissa.
                None => return Ok(Numeric::ZERO),
            }
        } else {
            numerator = wide_shifted(self.mantissa.unsigned_abs(), shift).ok_or_else(overflow)?;
        }
        let quotient = wide::div_rem(&numerator, by).0.and_then(|q| i128::try_from(q).ok());
        let quotient = quotient.ok_or_else(overflow)?;
        let negative = (self.mantissa < 0) != (divisor.mantissa < 0);
        Numeric::checked(if negative { -quotient } else { quotient }, 0)
    }

    /// `sum / count`, as `avg` has it.
    pub fn avg(sum: Numeric, count: i64) -> Result<Numeric> {
        sum.div(Numeric::from_i64(count))
    }

    /// Square root, rounded at PostgreSQL's scale.
    pub fn sqrt(self) -> Result<Numeric> {
        let (weight, _) = self.weight();
        let weight = (weight + 1) * 4 / 2 - 1;
        self.sqrt_at((MIN_SIGNIFICANT_DIGITS - weight).max(i32::from(self.scale)).max(0) as u32)
    }

    /// Square root, rounded at a scale that is not below half of its own.
    fn sqrt_at(self, scale: u32) -> Result<Numeric> {
        if self.mantissa < 0 {
            return Err(Error::new(SqlState::new("2201F"), "cannot take square root of a negative number"));
        }
        if scale > NUMERIC_SCALE_MAX {
            return Err(overflow());
        }
        if self.mantissa == 0 {
            return Numeric::checked(0, scale);
        }
        let shift = 2 * scale as usize - self.scale as usize;
        let radicand = wide_shifted(self.mantissa as u128, shift).ok_or_else(overflow)?;
        let root = wide::sqrt_round(&radicand).ok_or_else(overflow)?;
        Numeric::checked(root as i128, scale)
    }
}

impl Numeric {
    /// Variance, or its root, of so many numbers by their sum and the sum of their squares: of a `sample` or of all. `None` where
    /// there are too few.
    pub fn spread(
        count: i64,
        sum: Numeric,
        squares: Numeric,
        sample: bool,
        root: bool,
    ) -> Result<Option<Numeric>> {
        if count < 1 || sample && count < 2 {
            return Ok(None);
        }
        let n = Numeric::from_i64(count);
        let above = n.mul(squares)?.sub(sum.mul(sum)?)?;
        if above.mantissa <= 0 {
            return Ok(Some(Numeric::ZERO));
        }
        let variance = above.div(n.mul(Numeric::from_i64(count - i64::from(sample)))?)?;
        let scale = u32::from(variance.scale);
        if root { variance.sqrt_at(scale).map(Some) } else { Ok(Some(variance)) }
    }
}

fn round_up(quotient: u64, rest: u64, by: u64) -> u64 {
    quotient + u64::from(rest >= by - rest)
}

/// `n * 10^shift` if it fits 256 bits.
fn wide_shifted(n: u128, shift: usize) -> Option<wide::Wide> {
    let mut product = wide::mul(n, POW10[shift.min(38)]);
    let mut left = shift.saturating_sub(38);
    while left > 0 {
        let step = left.min(38);
        product = wide::checked_mul(&product, POW10[step])?;
        left -= step;
    }
    Some(product)
}
