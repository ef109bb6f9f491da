//! Numerics as text, and to and from integers and doubles.

use super::{MANTISSA_BOUND, Numeric, POW10, overflow};
use crate::error::{Error, Result, SqlState};
use crate::limits::NUMERIC_SCALE_MAX;
use crate::watch;

impl Numeric {
    /// Reads what PostgreSQL reads: blanks around, a sign, digits with a point, an exponent.
    pub fn parse(text: &str) -> Result<Numeric> {
        let invalid = || {
            Error::new(
                SqlState::INVALID_TEXT_REPRESENTATION,
                format!("invalid input syntax for type numeric: \"{text}\""),
            )
        };
        let trimmed = crate::text_io::trim(text);
        let (negative, body) = match trimmed.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            all => (false, all),
        };
        let mut digits = Digits { mantissa: 0, zeros: 0, too_many: false };
        let whole = leading_digits(body);
        let (mut seen, mut scale, mut rest) = (whole.len(), 0i64, &body[whole.len()..]);
        digits.push_all(whole);
        if let [b'.', fraction @ ..] = rest {
            let fraction_digits = leading_digits(fraction);
            digits.push_all(fraction_digits);
            seen += fraction_digits.len();
            scale = fraction_digits.len() as i64;
            rest = &fraction[fraction_digits.len()..];
        }
        if seen == 0 {
            // They have room elsewhere.
            return Err(match body.to_ascii_lowercase().as_slice() {
                b"nan" if body.len() == trimmed.len() => overflow(),
                b"infinity" | b"inf" => overflow(),
                _ => invalid(),
            });
        }
        if let [b'e' | b'E', exponent @ ..] = rest {
            let exponent = std::str::from_utf8(exponent).map_err(|_| invalid())?;
            let exponent_digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if exponent_digits.is_empty() || !exponent_digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(invalid());
            }
            let exponent = exponent.parse::<i32>().map_err(|_| overflow())?;
            scale -= i64::from(exponent);
            rest = &[];
        }
        if !rest.is_empty() {
            return Err(invalid());
        }
        if scale > i64::from(NUMERIC_SCALE_MAX) {
            return Err(overflow());
        }
        let magnitude = digits.finish(scale.min(0).unsigned_abs()).ok_or_else(overflow)?;
        let mantissa = if negative { -magnitude } else { magnitude };
        Numeric::checked(mantissa, scale.max(0) as u32)
    }

    /// Appends the text form.
    pub fn write(self, out: &mut Vec<u8>) {
        if self.mantissa < 0 {
            out.push(b'-');
        }
        let magnitude = self.mantissa.unsigned_abs();
        // 36 digits at most, and up to 200 zeros between point and digits.
        let mut buffer = [b'0'; 40];
        let mut at = buffer.len();
        let mut left = magnitude;
        while left > u64::MAX as u128 {
            let (high, low) = (left / 10_000_000_000_000_000_000, left % 10_000_000_000_000_000_000);
            let stop = at - 19;
            put_digits(low as u64, &mut buffer, at);
            at = stop;
            left = high;
        }
        at = put_digits(left as u64, &mut buffer, at);
        let digits = &buffer[at..];
        let scale = self.scale as usize;
        if scale == 0 {
            out.extend_from_slice(if digits.is_empty() { b"0" } else { digits });
        } else if digits.len() > scale {
            let point = digits.len() - scale;
            out.extend_from_slice(&digits[..point]);
            out.push(b'.');
            out.extend_from_slice(&digits[point..]);
        } else {
            out.extend_from_slice(b"0.");
            out.resize(out.len() + scale - digits.len(), b'0');
            out.extend_from_slice(digits);
        }
    }

    /// As `bigint`: half away from zero, `None` beyond 64 bits.
    #[inline]
    pub fn to_i64(self) -> Option<i64> {
        let whole = if self.scale == 0 {
            self.mantissa
        } else {
            super::div_pow10_round(self.mantissa, self.scale as u32)
        };
        i64::try_from(whole).ok()
    }

    /// A whole number beyond 64 bits, if it fits.
    pub fn from_i128(n: i128) -> Result<Numeric> {
        Numeric::checked(n, 0)
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        const EXACT: i128 = 1 << 53;
        if (-EXACT..=EXACT).contains(&self.mantissa) && self.scale <= 22 {
            // Both operands are exact, so one rounding: the nearest.
            return self.mantissa as f64 / POW10[self.scale as usize] as f64;
        }
        let mut text = Vec::with_capacity(48);
        self.write(&mut text);
        let text = std::str::from_utf8(&text).unwrap_or("0");
        text.parse().unwrap_or(0.0)
    }

    /// The cast of a double: 15 significant digits, as PostgreSQL prints it for this.
    pub fn from_f64(x: f64) -> Result<Numeric> {
        Numeric::from_digits(x, 14)
    }

    /// From a `real`, which `x` is: its six digits.
    pub fn from_real(x: f64) -> Result<Numeric> {
        Numeric::from_digits(x, 5)
    }

    /// Rounded to so many digits behind the first.
    fn from_digits(x: f64, further: i32) -> Result<Numeric> {
        if !x.is_finite() {
            return Err(overflow());
        }
        if x == 0.0 {
            return Ok(Numeric::ZERO);
        }
        let text = format!("{x:.*e}", further as usize);
        let Some((digits, exponent)) = text.split_once('e') else { return Err(overflow()) };
        let mut mantissa = 0i64;
        for digit in digits.bytes().filter(u8::is_ascii_digit) {
            mantissa = mantissa * 10 + i64::from(digit - b'0');
        }
        let mut scale = further - exponent.parse::<i32>().map_err(|_| overflow())?;
        while mantissa % 10 == 0 && scale > 0 {
            mantissa /= 10;
            scale -= 1;
        }
        let mantissa = i128::from(if x < 0.0 { -mantissa } else { mantissa });
        if scale >= 0 {
            return Numeric::checked(mantissa, scale as u32);
        }
        let whole = super::pow10(scale.unsigned_abs()).and_then(|p| mantissa.checked_mul(p));
        Numeric::checked(whole.ok_or_else(overflow)?, 0)
    }
}

impl std::fmt::Display for Numeric {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut text = Vec::with_capacity(48);
        self.write(&mut text);
        f.pad(std::str::from_utf8(&text).unwrap_or(""))
    }
}

fn leading_digits(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|b| !b.is_ascii_digit()).unwrap_or(bytes.len());
    watch::count(end);
    &bytes[..end]
}

/// Writes the digits of `n` (none for zero) so that they end before `end`; returns where they
/// start.
fn put_digits(mut n: u64, buffer: &mut [u8; 40], end: usize) -> usize {
    let mut at = end;
    while n > 0 {
        at -= 1;
        buffer[at] = b'0' + (n % 10) as u8;
        n /= 10;
    }
    at
}

/// A mantissa being read. Trailing zeros are held back, so that `1000e-3` with many of them fits
/// wherever its value does.
struct Digits {
    mantissa: i128,
    zeros: u64,
    too_many: bool,
}

impl Digits {
    fn push_all(&mut self, digits: &[u8]) {
        watch::count(digits.len());
        for digit in digits {
            if *digit == b'0' {
                self.zeros += u64::from(self.mantissa != 0);
                continue;
            }
            match shifted(self.mantissa, self.zeros + 1) {
                Some(m) => self.mantissa = m + i128::from(digit - b'0'),
                None => self.too_many = true,
            }
            self.zeros = 0;
        }
    }

    /// The mantissa with `more` zeros behind it.
    fn finish(self, more: u64) -> Option<i128> {
        if self.too_many { None } else { shifted(self.mantissa, self.zeros + more) }
    }
}

fn shifted(mantissa: i128, zeros: u64) -> Option<i128> {
    if mantissa == 0 {
        return Some(0);
    }
    let power = *POW10.get(usize::try_from(zeros).ok()?)?;
    mantissa.checked_mul(power as i128).filter(|m| *m < MANTISSA_BOUND)
}
