//! `money`: an amount in cents, as it is written where `lc_monetary` is `C`.
//!
//! As kept: the number of cents in 8 bytes, from the highest, its sign turned, so that bytes compare as amounts.

use crate::error::{Error, Result, SqlState};
use crate::numeric::{Long, Numeric};
use crate::text_io::{invalid_syntax, is_space};
use crate::watch;
use std::io::Write as _;

/// As it is kept.
pub fn encode(cents: i64) -> [u8; 8] {
    (cents ^ i64::MIN).to_be_bytes()
}

/// From bytes of [`encode`]; `None` of others.
pub fn decode(bytes: &[u8]) -> Option<i64> {
    bytes.try_into().ok().map(|bytes| i64::from_be_bytes(bytes) ^ i64::MIN)
}

fn blanks(text: &[u8]) -> &[u8] {
    let count = text.iter().take_while(|b| is_space(**b)).count();
    watch::count(count);
    &text[count..]
}

/// Without blanks and a sign of the currency at the front.
fn unsigned(text: &[u8]) -> &[u8] {
    let text = blanks(text);
    blanks(text.strip_prefix(b"$").unwrap_or(text))
}

/// Reads an amount. Commas count for nothing, digits behind the cents are rounded.
pub fn parse(text: &str) -> Result<i64> {
    let out_of_range = || {
        let message = format!("value \"{text}\" is out of range for type money");
        Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
    };
    watch::count(text.len());
    let mut rest = unsigned(text.as_bytes());
    let mut negative = false;
    if let [sign @ (b'-' | b'(' | b'+'), behind @ ..] = rest {
        negative = *sign != b'+';
        rest = behind;
    }
    rest = unsigned(rest);
    // The negative amount: there is one more of them.
    let mut cents = 0i64;
    let digit_more = |cents: i64, digit: u8| {
        cents.checked_mul(10).and_then(|n| n.checked_sub(digit.into())).ok_or_else(out_of_range)
    };
    let mut fraction: Option<u8> = None;
    while let [b, behind @ ..] = rest {
        match b {
            b'0'..=b'9' if fraction != Some(2) => {
                cents = digit_more(cents, b - b'0')?;
                fraction = fraction.map(|digits| digits + 1);
            }
            b'.' if fraction.is_none() => fraction = Some(0),
            b',' => {}
            _ => break,
        }
        rest = behind;
    }
    if let [b'5'..=b'9', ..] = rest {
        cents = cents.checked_sub(1).ok_or_else(out_of_range)?;
    }
    for _ in fraction.unwrap_or(0)..2 {
        cents = digit_more(cents, 0)?;
    }
    rest = &rest[rest.iter().take_while(|b| b.is_ascii_digit()).count()..];
    for b in rest {
        match b {
            b'-' => negative = true,
            b')' | b'+' | b'$' => {}
            b if is_space(*b) => {}
            _ => return Err(invalid_syntax("money", text)),
        }
    }
    if negative { Ok(cents) } else { cents.checked_neg().ok_or_else(out_of_range) }
}

/// Appends an amount: `-$1,234.56`.
pub fn write(cents: i64, out: &mut Vec<u8>) {
    let amount = cents.unsigned_abs();
    let whole = (amount / 100).to_string();
    out.extend_from_slice(if cents < 0 { b"-$" } else { b"$" });
    for (i, digit) in whole.bytes().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(b',');
        }
        out.push(digit);
    }
    let _ = write!(out, ".{:02}", amount % 100);
}

/// Reads the binary form.
pub fn receive(bytes: &[u8]) -> Result<i64> {
    let wrong = |_| Error::new(SqlState::INVALID_BINARY_REPRESENTATION, "incorrect binary data format");
    bytes.try_into().map(i64::from_be_bytes).map_err(wrong)
}

/// An amount that there is.
pub fn within(cents: Option<i64>) -> Result<i64> {
    cents.ok_or_else(|| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "money out of range"))
}

/// What a number of cents is that was computed as a double.
pub fn rounded(cents: f64) -> Result<i64> {
    let cents = cents.round_ties_even();
    // Both bounds are exact doubles; NaN is in no range.
    within((i64::MIN as f64..-(i64::MIN as f64)).contains(&cents).then_some(cents as i64))
}

fn bigint_out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "bigint out of range")
}

/// A whole number of the currency.
pub fn of_integer(n: i64) -> Result<i64> {
    n.checked_mul(100).ok_or_else(bigint_out_of_range)
}

/// A number of the currency, rounded to cents.
pub fn of_numeric(n: Numeric) -> Result<i64> {
    of_long(&n.into())
}

/// The same of a numeric of any length.
pub fn of_long(n: &Long) -> Result<i64> {
    let cents = n.mul(&Long::whole(100)).map_err(|_| bigint_out_of_range())?;
    cents.to_i64("bigint")?.ok_or_else(bigint_out_of_range)
}
