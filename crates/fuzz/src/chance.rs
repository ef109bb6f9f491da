//! Inputs by chance: pieces of a corpus, changed.

use planaria_sim::dice::Dice;

/// A number below `n`; 0 if there is none.
pub fn below(dice: &mut Dice, n: usize) -> usize {
    if n == 0 { 0 } else { dice.below(n as u64) as usize }
}

/// Once in `n` times.
pub fn once_in(dice: &mut Dice, n: usize) -> bool {
    below(dice, n) == 0
}

/// Changes bytes in a few places: flipped, set to a border, taken out, doubled, or replaced by a piece of
/// `other`.
pub fn change(dice: &mut Dice, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..1 + below(dice, 4) {
        let at = below(dice, bytes.len() + 1);
        let most = if once_in(dice, 4) { 64 } else { 4 };
        let long = 1 + below(dice, most);
        let end = (at + long).min(bytes.len());
        match below(dice, 6) {
            0 if at < bytes.len() => bytes[at] ^= 1 << below(dice, 8),
            1 if at < bytes.len() => bytes[at] = dice.of(&[0, 1, 0x7f, 0x80, 0xff, b'\'', b'$', b'(', b';']),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let piece = bytes[at..end].to_vec();
                bytes.splice(at..at, piece);
            }
            4 if at + 4 <= bytes.len() => {
                let border = dice.of(&[0u32, 1, 0x7fff_ffff, 0x8000_0000, u32::MAX, 1 << 24]);
                let border = if once_in(dice, 2) { border.to_be_bytes() } else { border.to_le_bytes() };
                bytes[at..at + 4].copy_from_slice(&border);
            }
            _ => {
                let from = below(dice, other.len());
                let piece = other[from..(from + long).min(other.len())].to_vec();
                bytes.splice(at..if once_in(dice, 2) { end } else { at }, piece);
            }
        }
    }
}
