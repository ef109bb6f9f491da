//! Which statements are known to be short.
//!
//! A statement runs on one of few threads that serve all connections. Of one that takes long these are told before it
//! runs, so that one more is started if too few are left; that may cost more than a short statement does. So statements
//! are remembered by their *shape*, their text without its constants, and of one of a shape that was short the last time
//! nobody is told.
//!
//! Shapes are hashed into a fixed table without locks; one that pushes another out costs a word with the others.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const SLOTS: usize = 1 << 12;
/// Of a longer text only the beginning counts.
const HASHED_BYTES_MAX: usize = 4 << 10;
/// What is as long as this is not short.
const SHORT_MAX: Duration = Duration::from_micros(1_000);

/// See the module's head.
pub(crate) struct Shapes {
    short: Box<[AtomicU64]>,
}

impl Default for Shapes {
    fn default() -> Shapes {
        Shapes { short: (0..SLOTS).map(|_| AtomicU64::new(0)).collect() }
    }
}

/// The shape of a text: a hash of it that passes over digits and over what stands between quotes.
pub(crate) fn shape(text: &str) -> u64 {
    let mut hash = 0xCBF2_9CE4_8422_2325u64;
    let mut quoted = false;
    for byte in text.bytes().take(HASHED_BYTES_MAX) {
        if byte == b'\'' {
            quoted = !quoted;
        }
        if !quoted && !byte.is_ascii_digit() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
        }
    }
    // 0 marks an empty slot.
    hash | 1
}

impl Shapes {
    fn slot(&self, shape: u64) -> &AtomicU64 {
        &self.short[(shape >> 32) as usize % SLOTS]
    }

    /// Whether the last statement of this shape was short.
    pub(crate) fn is_short(&self, shape: u64) -> bool {
        self.slot(shape).load(Ordering::Relaxed) == shape
    }

    /// A statement of this shape took so long.
    pub(crate) fn ran(&self, shape: u64, time: Duration) {
        let slot = self.slot(shape);
        let known = slot.load(Ordering::Relaxed) == shape;
        if known != (time < SHORT_MAX) {
            slot.store(if known { 0 } else { shape }, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_do_not_change_a_shape() {
        assert_eq!(shape("SELECT 1 WHERE a = 'x'"), shape("SELECT 27 WHERE a = 'yz'"));
        assert_ne!(shape("SELECT a"), shape("SELECT b"));
    }

    #[test]
    fn what_was_short_is_short_until_it_is_long() {
        let shapes = Shapes::default();
        let s = shape("SELECT 1");
        assert!(!shapes.is_short(s));
        shapes.ran(s, Duration::from_micros(5));
        assert!(shapes.is_short(s));
        shapes.ran(s, Duration::from_millis(5));
        assert!(!shapes.is_short(s));
    }
}
