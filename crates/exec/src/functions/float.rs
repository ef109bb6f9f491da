//! Double precision with PostgreSQL's checks: a finite operand must not give infinity, nor a
//! non-zero one zero.

use super::fast::division_by_zero;
use planaria_base::{Error, Result, SqlState};

#[cold]
fn range(what: &str) -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, format!("value out of range: {what}"))
}

fn checked(result: f64, infinite_operand: bool, zero_allowed: bool) -> Result<f64> {
    if result.is_infinite() && !infinite_operand {
        return Err(range("overflow"));
    }
    if result == 0.0 && !zero_allowed {
        return Err(range("underflow"));
    }
    Ok(result)
}

pub fn add(a: f64, b: f64) -> Result<f64> {
    checked(a + b, a.is_infinite() || b.is_infinite(), true)
}
pub fn sub(a: f64, b: f64) -> Result<f64> {
    checked(a - b, a.is_infinite() || b.is_infinite(), true)
}
pub fn mul(a: f64, b: f64) -> Result<f64> {
    checked(a * b, a.is_infinite() || b.is_infinite(), a == 0.0 || b == 0.0)
}
pub fn div(a: f64, b: f64) -> Result<f64> {
    if b == 0.0 && !a.is_nan() {
        return Err(division_by_zero());
    }
    checked(a / b, a.is_infinite(), a == 0.0 || b.is_infinite())
}

pub fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        0.0
    }
}

pub fn sqrt(x: f64) -> Result<f64> {
    if x < 0.0 {
        return Err(power_argument("cannot take square root of a negative number"));
    }
    Ok(x.sqrt())
}

#[cold]
fn power_argument(message: &str) -> Error {
    Error::new(SqlState::new("2201F"), message)
}

pub fn power(a: f64, b: f64) -> Result<f64> {
    if a == 0.0 && b < 0.0 {
        return Err(power_argument("zero raised to a negative power is undefined"));
    }
    if a < 0.0 && b.is_finite() && b.fract() != 0.0 {
        return Err(power_argument(
            "a negative number raised to a non-integer power yields a complex result",
        ));
    }
    checked(a.powf(b), a.is_infinite() || b.is_infinite(), a == 0.0 || a.is_infinite() || b.is_infinite())
}

pub fn exp(x: f64) -> Result<f64> {
    checked(x.exp(), x.is_infinite(), x.is_infinite())
}

fn logarithm_argument(x: f64) -> Result<()> {
    let message = if x == 0.0 {
        "cannot take logarithm of zero"
    } else if x < 0.0 {
        "cannot take logarithm of a negative number"
    } else {
        return Ok(());
    };
    Err(Error::new(SqlState::new("2201E"), message))
}

pub fn ln(x: f64) -> Result<f64> {
    logarithm_argument(x)?;
    checked(x.ln(), x.is_infinite(), x == 1.0)
}
pub fn log10(x: f64) -> Result<f64> {
    logarithm_argument(x)?;
    checked(x.log10(), x.is_infinite(), x == 1.0)
}

pub const RADIANS_PER_DEGREE: f64 = 0.017_453_292_519_943_295;

/// A function of an angle, which infinity is not.
pub fn periodic(x: f64, f: fn(f64) -> f64) -> Result<f64> {
    if x.is_infinite() { Err(range_of_input()) } else { checked(f(x), false, true) }
}
/// Arc sine and arc cosine.
pub fn inverse(x: f64, f: fn(f64) -> f64) -> Result<f64> {
    if x.abs() > 1.0 { Err(range_of_input()) } else { Ok(f(x)) }
}

pub fn acosh(x: f64) -> Result<f64> {
    if x < 1.0 { Err(range_of_input()) } else { Ok(super::roots::acosh(x)) }
}
pub fn atanh(x: f64) -> Result<f64> {
    if x.abs() > 1.0 { Err(range_of_input()) } else { Ok(super::roots::atanh(x)) }
}

#[cold]
fn range_of_input() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range")
}
