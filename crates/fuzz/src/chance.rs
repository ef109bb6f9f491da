//! Inputs by chance: pieces of a corpus, changed.

/// Numbers from a seed (splitmix64: G. Steele, D. Lea, C. Flood, OOPSLA 2014).
#[derive(Clone)]
pub struct Chance(pub u64);

impl Chance {
    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// One below `n`; 0 if there is none.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.number() % n as u64) as usize }
    }

    /// Once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of them.
    pub fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Changes bytes in a few places: flipped, set to a border, taken out, doubled, or replaced by a piece of
    /// `other`.
    pub fn change(&mut self, bytes: &mut Vec<u8>, other: &[u8]) {
        for _ in 0..1 + self.below(4) {
            let at = self.below(bytes.len() + 1);
            let most = if self.once_in(4) { 64 } else { 4 };
            let long = 1 + self.below(most);
            let end = (at + long).min(bytes.len());
            match self.below(6) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                1 if at < bytes.len() => {
                    bytes[at] = *self.of(&[0, 1, 0x7f, 0x80, 0xff, b'\'', b'$', b'(', b';'])
                }
                2 => drop(bytes.drain(at..end)),
                3 => {
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
                4 if at + 4 <= bytes.len() => {
                    let border = *self.of(&[0u32, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 1 << 24]);
                    let border = if self.once_in(2) { border.to_be_bytes() } else { border.to_le_bytes() };
                    bytes[at..at + 4].copy_from_slice(&border);
                }
                _ => {
                    let from = self.below(other.len());
                    let piece = other[from..(from + long).min(other.len())].to_vec();
                    bytes.splice(at..if self.once_in(2) { end } else { at }, piece);
                }
            }
        }
    }
}
