//! Order, equality and hash of values: ORDER BY, GROUP BY, DISTINCT, min, max, IS DISTINCT FROM.
//!
//! Both sides are of one class. Equality here is that of grouping: NULL equals NULL, numeric `1.0`
//! equals `1.00`, `-0.0` equals `0.0`, NaN equals NaN. Whatever is equal has the same hash.

use super::fast::{float_cmp, num_cmp, text_cmp};
use crate::heap::Heap;
use crate::slot::{ArrayRef, Slot};
use planaria_base::citext;
use planaria_base::numeric::{Long, Number};
use planaria_ir::Func;
use std::cmp::Ordering;

/// The order of two values, NULL last.
#[inline]
pub fn compare(a: Slot, b: Slot, heap: &Heap) -> Ordering {
    match (a, b) {
        (Slot::Int(a), Slot::Int(b)) => a.cmp(&b),
        (Slot::Numeric(a), Slot::Numeric(b)) => num_cmp(a, b),
        (Slot::Text(a), Slot::Text(b)) | (Slot::Bytea(a), Slot::Bytea(b)) => text_cmp(heap, a, b),
        (Slot::Float(a), Slot::Float(b)) => float_cmp(a, b),
        (Slot::Bool(a), Slot::Bool(b)) => a.cmp(&b),
        (Slot::Uuid(a), Slot::Uuid(b)) => a.cmp(&b),
        (Slot::Interval(a), Slot::Interval(b)) => a.compare(b),
        (Slot::Jsonb(a), Slot::Jsonb(b)) => planaria_base::json::compare(heap.str(a), heap.str(b)),
        (Slot::Citext(a), Slot::Citext(b)) => citext::compare(heap.bytes(a), heap.bytes(b)),
        (Slot::Null, other) => {
            if other.is_null() {
                Ordering::Equal
            } else {
                Ordering::Greater
            }
        }
        (_, Slot::Null) => Ordering::Less,
        (Slot::Array(whole_a), Slot::Array(whole_b)) => {
            let (a, b) = (heap.elements(whole_a), heap.elements(whole_b));
            let first_difference =
                a.iter().zip(b).map(|(a, b)| compare(*a, *b, heap)).find(|order| order.is_ne());
            first_difference
                .unwrap_or_else(|| a.len().cmp(&b.len()).then_with(|| shapes(whole_a, whole_b, heap)))
        }
        (Slot::Long(_), Slot::Long(_) | Slot::Numeric(_)) | (Slot::Numeric(_), Slot::Long(_)) => {
            super::number::compare(a, b, heap)
        }
        (a, b) => panic!("values of two classes are compared: {a:?}, {b:?}"),
    }
}

/// Of arrays whose elements are the same: by how many dimensions they have, their lengths, their lower bounds.
fn shapes(a: ArrayRef, b: ArrayRef, heap: &Heap) -> Ordering {
    if a.is_list() && b.is_list() {
        return Ordering::Equal;
    }
    let (Some(a), Some(b)) = (heap.dimensions(a), heap.dimensions(b)) else { return Ordering::Equal };
    let (a, b) = (a.dimensions(), b.dimensions());
    let lengths = a.iter().map(|d| d.len).cmp(b.iter().map(|d| d.len));
    a.len().cmp(&b.len()).then(lengths).then_with(|| a.iter().map(|d| d.lower).cmp(b.iter().map(|d| d.lower)))
}

/// Whether a value replaces the one before it, to which it stands in that order: of equals GREATEST and LEAST keep the
/// first, min and max the last.
#[inline]
pub fn replaces(func: Func, new_to_old: Ordering) -> bool {
    match func {
        Func::Greatest => new_to_old.is_gt(),
        Func::Least => new_to_old.is_lt(),
        Func::Max => new_to_old.is_ge(),
        _ => new_to_old.is_le(),
    }
}

/// GREATEST, LEAST, min or max of two values; NULLs do not count.
#[inline]
pub fn best(func: Func, old: Slot, new: Slot, heap: &Heap) -> Slot {
    match (old, new) {
        (Slot::Int(old), Slot::Int(new)) => {
            Slot::Int(if matches!(func, Func::Greatest | Func::Max) { old.max(new) } else { old.min(new) })
        }
        (Slot::Null, new) => new,
        (old, Slot::Null) => old,
        (old, new) if replaces(func, compare(new, old, heap)) => new,
        _ => old,
    }
}

/// Whether two values are equal as GROUP BY has it.
#[inline]
pub fn eq(a: Slot, b: Slot, heap: &Heap) -> bool {
    match (a, b) {
        (Slot::Int(a), Slot::Int(b)) => a == b,
        (Slot::Text(a), Slot::Text(b)) => super::fast::text_eq(heap, a, b),
        (a, b) => compare(a, b, heap).is_eq(),
    }
}

/// `=`, three-valued: `None` if a side is NULL.
#[inline]
pub fn sql_eq(a: Slot, b: Slot, heap: &Heap) -> Option<bool> {
    if a.is_null() || b.is_null() { None } else { Some(eq(a, b, heap)) }
}

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

/// Multiplies to 128 bits and folds: every input bit reaches every output bit.
#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word ^ SEED) * u128::from(FACTOR);
    (product as u64 ^ (product >> 64) as u64).wrapping_add(word.rotate_left(32))
}

fn mix_bytes(mut hash: u64, bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        hash = mix(hash, u64::from_le_bytes(word.try_into().expect("eight bytes")));
    }
    let mut last = [0u8; 8];
    last[..words.remainder().len()].copy_from_slice(words.remainder());
    mix(mix(hash, u64::from_le_bytes(last)), bytes.len() as u64)
}

/// A hash of the value, the same on every machine and in every version.
#[inline]
pub fn hash(slot: Slot, heap: &Heap) -> u64 {
    hash_with(0, slot, heap)
}

/// [`hash`] on top of another: for keys of several columns.
#[inline]
pub fn hash_with(seed: u64, slot: Slot, heap: &Heap) -> u64 {
    match slot {
        Slot::Null => mix(seed, 1),
        Slot::Bool(b) => mix(seed, 2 + u64::from(b)),
        Slot::Int(n) => mix(seed, n as u64),
        Slot::Float(x) => mix(
            seed,
            if x == 0.0 {
                0
            } else if x.is_nan() {
                f64::NAN.to_bits()
            } else {
                x.to_bits()
            },
        ),
        Slot::Numeric(n) => {
            let [low, high] = n.unpack().normalized().pack().0;
            mix(mix(seed, low), high)
        }
        Slot::Long(b) => match Long::from_bytes(heap.long(b)).normalized().narrow() {
            Number::Short(n) => hash_with(seed, Slot::numeric(n), heap),
            Number::Long(n) => {
                let mut bytes = Vec::new();
                n.encode(&mut bytes);
                mix_bytes(seed, &bytes)
            }
        },
        Slot::Text(b) | Slot::Bytea(b) => mix_bytes(seed, heap.bytes(b)),
        Slot::Uuid(u) => mix_bytes(seed, &u),
        Slot::Interval(i) => mix_bytes(seed, &i.span().to_le_bytes()),
        Slot::Jsonb(b) => mix_bytes(seed, planaria_base::json::comparable(heap.str(b)).as_bytes()),
        Slot::Citext(b) => mix_bytes(seed, &citext::fold(heap.bytes(b))),
        Slot::Array(a) => {
            heap.elements(a).iter().fold(mix(seed, u64::from(a.len)), |h, e| hash_with(h, *e, heap))
        }
    }
}
