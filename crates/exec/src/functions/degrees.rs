//! Trigonometry in degrees, exact where an angle and what belongs to it both are: `sind(30)` is 0.5.
//!
//! An angle is reduced to the first quadrant, where each function is scaled so that its well-known values come out.

/// Reduced to [0, 360).
fn turn(x: f64) -> f64 {
    let x = x % 360.0;
    if x < 0.0 { x + 360.0 } else { x }
}

/// Sine from 0 to 30 degrees.
fn sin_0_to_30(x: f64) -> f64 {
    (x.to_radians_exact().sin() / 30f64.to_radians_exact().sin()) / 2.0
}

/// Cosine from 0 to 60 degrees.
fn cos_0_to_60(x: f64) -> f64 {
    let below_one = 1.0 - x.to_radians_exact().cos();
    1.0 - (below_one / (1.0 - 60f64.to_radians_exact().cos())) / 2.0
}

fn sin_quadrant(x: f64) -> f64 {
    if x <= 30.0 { sin_0_to_30(x) } else { cos_0_to_60(90.0 - x) }
}

fn cos_quadrant(x: f64) -> f64 {
    if x <= 60.0 { cos_0_to_60(x) } else { sin_0_to_30(90.0 - x) }
}

trait Radians {
    fn to_radians_exact(self) -> f64;
}

impl Radians for f64 {
    /// As the function `radians` converts.
    fn to_radians_exact(self) -> f64 {
        self * super::float::RADIANS_PER_DEGREE
    }
}

/// The angle in the first quadrant, and the signs of sine and cosine.
fn reduced(x: f64) -> (f64, f64, f64) {
    let x = turn(x);
    match x {
        _ if x <= 90.0 => (x, 1.0, 1.0),
        _ if x <= 180.0 => (180.0 - x, 1.0, -1.0),
        _ if x <= 270.0 => (x - 180.0, -1.0, -1.0),
        _ => (360.0 - x, -1.0, 1.0),
    }
}

pub fn sin(x: f64) -> f64 {
    let (angle, sign, _) = reduced(x);
    sign * sin_quadrant(angle)
}

pub fn cos(x: f64) -> f64 {
    let (angle, _, sign) = reduced(x);
    sign * cos_quadrant(angle)
}

pub fn tan(x: f64) -> f64 {
    let (angle, s, c) = reduced(x);
    let one = sin_quadrant(45.0) / cos_quadrant(45.0);
    // No zero is negative.
    s * c * ((sin_quadrant(angle) / cos_quadrant(angle)) / one) + 0.0
}

pub fn cot(x: f64) -> f64 {
    let (angle, s, c) = reduced(x);
    let one = cos_quadrant(45.0) / sin_quadrant(45.0);
    s * c * ((cos_quadrant(angle) / sin_quadrant(angle)) / one) + 0.0
}

fn asin_quadrant(x: f64) -> f64 {
    match x <= 0.5 {
        true => (x.asin() / 0.5f64.asin()) * 30.0,
        false => 90.0 - (x.acos() / 0.5f64.acos()) * 60.0,
    }
}

pub fn asin(x: f64) -> f64 {
    if x >= 0.0 { asin_quadrant(x) } else { -asin_quadrant(-x) }
}

pub fn acos(x: f64) -> f64 {
    let quadrant = |x: f64| match x <= 0.5 {
        true => 90.0 - (x.asin() / 0.5f64.asin()) * 30.0,
        false => (x.acos() / 0.5f64.acos()) * 60.0,
    };
    if x >= 0.0 { quadrant(x) } else { 90.0 + asin_quadrant(-x) }
}

pub fn atan(x: f64) -> f64 {
    (x.atan() / 1f64.atan()) * 45.0
}

pub fn atan2(y: f64, x: f64) -> f64 {
    (y.atan2(x) / 1f64.atan()) * 45.0
}
