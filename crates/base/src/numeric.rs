//! Exact decimal numbers as PostgreSQL computes and prints them.
//!
//! A value is `mantissa / 10^scale`; the scale is the *display* scale PostgreSQL keeps with every
//! numeric, so `1.50` prints `1.50`. |mantissa| < 2^119 always (35 digits: a named limit), so that
//! a value packs into 16 bytes. What would not fit is SQLSTATE 22003, never a rounded answer.

use serde::{Deserialize, Serialize};

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
}

impl PackedNumeric {
    /// Back from two words.
    #[inline]
    pub const fn unpack(self) -> Numeric {
        let bits = self.0[0] as u128 | (self.0[1] as u128) << 64;
        Numeric { mantissa: (bits as i128) >> 8, scale: bits as u8 }
    }
}
