//! Numerics of a row that have no room in their place.

use super::Words;
use planaria_base::limits::NUMERIC_SCALE_MAX;
use planaria_base::numeric::{Long, PackedNumeric};
use std::ops::Range;

/// A numeric as a row has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stored {
    /// In two words.
    Packed(PackedNumeric),
    /// NaN or an infinity: its byte.
    Special(&'static [u8]),
    /// Any other: where its bytes stand in the image.
    Long(Range<usize>),
}

/// NaN in a column of 8 bytes.
pub(super) const NAN_MANTISSA: i64 = i64::MIN;
/// In place of a scale: the bytes are elsewhere, from the byte in the upper half of the low word on, as many as the high word says.
pub(super) const MARK_LONG: u8 = 0xFE;
/// In place of a scale: NaN or an infinity, whose byte follows.
pub(super) const MARK_SPECIAL: u8 = 0xFF;
const _: () = assert!(NUMERIC_SCALE_MAX < MARK_LONG as u32, "a mark is no scale");

#[cold]
#[inline(never)]
pub(super) fn marked(low: u64, high: u64) -> Stored {
    if low as u8 == MARK_SPECIAL {
        return Stored::Special(Long::special_bytes((low >> 8) as u8));
    }
    let start = (low >> 32) as usize;
    Stored::Long(start..start.saturating_add(high as u32 as usize))
}

/// Appends bytes of an image that nobody changes meanwhile; of words that are no image as many as there are.
pub fn copy_range<W: Words + ?Sized>(image: &W, range: Range<usize>, out: &mut Vec<u8>) {
    let Range { mut start, end } = range;
    while end - start >= 8 {
        out.extend_from_slice(&image.load::<8>(start as u32));
        start += 8;
    }
    while start < end {
        out.extend_from_slice(&image.load::<1>(start as u32));
        start += 1;
    }
}
