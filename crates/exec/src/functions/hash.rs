//! PostgreSQL's hash of bytes (`hash_bytes_extended`): Bob Jenkins' lookup3, little-endian. Programs keep what it gives, in tables
//! and as keys of advisory locks, so it must be the same here.

use crate::heap::Heap;
use crate::slot::Slot;

fn mix(s: &mut [u32; 3]) {
    // Who is changed, by whom, turned by how much, and who is added then.
    for (x, y, z, by) in
        [(0, 2, 1, 4), (1, 0, 2, 6), (2, 1, 0, 8), (0, 2, 1, 16), (1, 0, 2, 19), (2, 1, 0, 4)]
    {
        s[x] = s[x].wrapping_sub(s[y]) ^ s[y].rotate_left(by);
        s[y] = s[y].wrapping_add(s[z]);
    }
}

fn finish(s: &mut [u32; 3]) {
    for (x, y, by) in [(2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24)] {
        s[x] = (s[x] ^ s[y]).wrapping_sub(s[y].rotate_left(by));
    }
}

/// The hash of bytes with a seed; the lower half of that with seed 0 is `hash_bytes`.
pub fn extended(bytes: &[u8], seed: u64) -> u64 {
    let mut s = [0x9e37_79b9_u32.wrapping_add(bytes.len() as u32).wrapping_add(3_923_095); 3];
    if seed != 0 {
        s[0] = s[0].wrapping_add((seed >> 32) as u32);
        s[1] = s[1].wrapping_add(seed as u32);
        mix(&mut s);
    }
    let mut parts = bytes.chunks_exact(12);
    for part in &mut parts {
        for (word, four) in s.iter_mut().zip(part.chunks_exact(4)) {
            *word = word.wrapping_add(u32::from_le_bytes([four[0], four[1], four[2], four[3]]));
        }
        mix(&mut s);
    }
    for (i, byte) in parts.remainder().iter().enumerate() {
        // The lowest byte of the third word was kept for the length.
        let place = i % 4 + usize::from(i >= 8);
        s[i / 4] = s[i / 4].wrapping_add(u32::from(*byte) << (8 * place));
    }
    finish(&mut s);
    u64::from(s[1]) << 32 | u64::from(s[2])
}

/// The hash of a bigint: of those that are integers, too, the same.
pub fn of_int8(value: i64, seed: u64) -> u64 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    let folded = low ^ if value >= 0 { high } else { !high };
    extended(&folded.to_le_bytes(), seed)
}

/// PostgreSQL's seed of the hashes that tell partitions apart.
const PARTITION_SEED: u64 = 0x7A5B_2236_7996_DCFD;

/// The hash of a part of a partition key; `None` of a type that no such key has.
pub(crate) fn of_key(value: Slot, heap: &Heap) -> Option<Slot> {
    let hash = match value {
        Slot::Null => return Some(Slot::Null),
        // An integer has the hash of the bigint that it is.
        Slot::Int(n) => of_int8(n, PARTITION_SEED),
        Slot::Text(bytes) => extended(heap.bytes(bytes), PARTITION_SEED),
        Slot::Bool(b) => extended(&i32::from(b).to_le_bytes(), PARTITION_SEED),
        Slot::Uuid(uuid) => extended(&uuid, PARTITION_SEED),
        _ => return None,
    };
    Some(Slot::Int(hash as i64))
}

/// Whether the hashes of a partition key, those of NULLs left out, leave a remainder: modulus, remainder, hashes
/// (`satisfies_hash_partition`).
pub fn is_of_partition(args: &[Slot]) -> bool {
    let [modulus, remainder, hashes @ ..] = args else { return false };
    if modulus.is_null() || remainder.is_null() || modulus.int() <= 0 {
        return false;
    }
    let mut row: u64 = 0;
    for hash in hashes.iter().filter(|h| !h.is_null()) {
        let hash = hash.int() as u64;
        row ^= hash.wrapping_add(0x49a0_f4dd_15e5_a8e3).wrapping_add(row << 54).wrapping_add(row >> 7);
    }
    row % modulus.int() as u64 == remainder.int() as u64
}
