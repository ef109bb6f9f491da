//! Cube roots and inverse hyperbolic functions, to the last digit as the C library of PostgreSQL's machines has them: Rust's own
//! round differently, and overflow where the result is far from that.

use std::f64::consts::LN_2;

/// What a number is of the next power of two above it, in `[0.5, 1)`, and the exponent of that; of finite ones but 0.
fn parts(x: f64) -> (f64, i32) {
    const TWO_54: f64 = 18_014_398_509_481_984.0;
    let (x, lifted) = if x.abs() < f64::MIN_POSITIVE { (x * TWO_54, 54) } else { (x, 0) };
    let bits = x.to_bits();
    let exponent = (bits >> 52 & 0x7FF) as i32 - 1022;
    (f64::from_bits(bits & !(0x7FF << 52) | 1022 << 52), exponent - lifted)
}

/// The cube root: a polynomial, and one step of Halley's.
pub fn cbrt(x: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x + x;
    }
    let root = 1.259_921_049_894_873_2;
    let square = 1.587_401_051_968_199_6;
    let factors = [1.0 / square, 1.0 / root, 1.0, root, square];
    let (m, exponent) = parts(x.abs());
    let inner = 0.784_932_344_976_639_2 - 0.145_263_899_385_486_37 * m;
    let inner = 1.834_692_774_836_130_8 - inner * m;
    let inner = 2.446_931_225_635_344_4 - inner * m;
    let inner = 2.114_994_941_673_713 - inner * m;
    let u = 0.354_895_765_043_919_84 + (1.508_191_937_815_849 - inner * m) * m;
    let cube = u * u * u;
    let y = u * (cube + 2.0 * m) / (2.0 * cube + m) * factors[(2 + exponent % 3) as usize];
    let y = y * 2f64.powi(exponent / 3);
    if x > 0.0 { y } else { -y }
}

/// The arc of a hyperbolic sine.
pub fn asinh(x: f64) -> f64 {
    let far = x.abs();
    let y = if !x.is_finite() || far < 2f64.powi(-28) {
        return x;
    } else if far > 2f64.powi(28) {
        far.ln() + LN_2
    } else if far > 2.0 {
        (2.0 * far + 1.0 / ((far * far + 1.0).sqrt() + far)).ln()
    } else {
        let square = far * far;
        (far + square / (1.0 + (1.0 + square).sqrt())).ln_1p()
    };
    y.copysign(x)
}

/// The arc of a hyperbolic cosine, of 1 and more.
pub fn acosh(x: f64) -> f64 {
    if x > 2f64.powi(28) {
        if x.is_infinite() { x } else { x.ln() + LN_2 }
    } else if x > 2.0 {
        (2.0 * x - 1.0 / (x + (x * x - 1.0).sqrt())).ln()
    } else {
        let t = x - 1.0;
        (t + (2.0 * t + t * t).sqrt()).ln_1p()
    }
}

/// The arc of a hyperbolic tangent, of -1 to 1.
pub fn atanh(x: f64) -> f64 {
    let far = x.abs();
    let y = if far < 2f64.powi(-28) {
        return x;
    } else if far < 0.5 {
        let twice = far + far;
        0.5 * (twice + twice * far / (1.0 - far)).ln_1p()
    } else {
        0.5 * ((far + far) / (1.0 - far)).ln_1p()
    };
    y.copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_what_postgres_prints() {
        assert_eq!(cbrt(0.1).to_string(), "0.46415888336127786");
        assert_eq!(cbrt(123_456_789.123_456_79).to_string(), "497.93385938415247");
        assert_eq!(cbrt(-27.0).to_string(), "-3.0000000000000004");
        assert_eq!(cbrt(1e15), 100_000.0);
        assert_eq!(acosh(std::f64::consts::PI).to_string(), "1.811526272460853");
        assert_eq!(acosh(f64::MAX).to_string(), "710.4758600739439");
        assert_eq!(asinh(-f64::MAX).to_string(), "-710.4758600739439");
        assert_eq!((acosh(1.0), asinh(0.0), atanh(0.0)), (0.0, 0.0, 0.0));
        assert_eq!((atanh(1.0), acosh(f64::INFINITY)), (f64::INFINITY, f64::INFINITY));
        assert!(cbrt(f64::NAN).is_nan() && cbrt(5e-324) > 1e-108);
    }
}
