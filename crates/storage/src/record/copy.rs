//! Words from a record and to it. Each is an atomic of its own, which no compiler copies several of at a time; so a line of
//! memory at a time is written out here, without a test and a jump for each word.

use planaria_base::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Words that are gone through at a time: a line of memory.
const LINE: usize = 8;

/// Copies words to as many.
#[inline(always)]
pub(crate) fn load(from: &[AtomicU64], to: &mut [u64]) {
    assert_eq!(from.len(), to.len());
    let (from_lines, from_rest) = from.as_chunks::<LINE>();
    let (to_lines, to_rest) = to.as_chunks_mut::<LINE>();
    for (to, from) in to_lines.iter_mut().zip(from_lines) {
        for i in 0..LINE {
            to[i] = from[i].load(Relaxed);
        }
    }
    for (to, from) in to_rest.iter_mut().zip(from_rest) {
        *to = from.load(Relaxed);
    }
}

/// Stores the words that are others than before: most updates change a few, and the other lines stay clean.
#[inline(always)]
pub(super) fn store_changed(to: &[AtomicU64], from: &[u64]) {
    assert_eq!(to.len(), from.len());
    let store = |to: &AtomicU64, new: u64| {
        if to.load(Relaxed) != new {
            to.store(new, Relaxed);
        }
    };
    let (to_lines, to_rest) = to.as_chunks::<LINE>();
    let (from_lines, from_rest) = from.as_chunks::<LINE>();
    for (to, from) in to_lines.iter().zip(from_lines) {
        let changes = (0..LINE).fold(0, |changes, i| changes | (to[i].load(Relaxed) ^ from[i]));
        if changes != 0 {
            (0..LINE).for_each(|i| store(&to[i], from[i]));
        }
    }
    for (to, from) in to_rest.iter().zip(from_rest) {
        store(to, *from);
    }
}
