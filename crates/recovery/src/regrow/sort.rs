//! The order in which a queue's pieces are executed: by key, by place in the commit order within a key.
//!
//! Keys of one queue agree in most of their bits. The bits in which they differ, and those in which the
//! places do, are put together into one number, and numbers are sorted digit by digit from the lowest
//! (a stable radix sort): a few nanoseconds an element, whatever the types of the key columns.

use super::segment::Descriptor;

/// A place in the commit order: chunk and sequence number.
pub(super) type Place = (u16, u32);

/// Runs shorter than this are sorted by comparison.
const RADIX_MIN: usize = 96;
const DIGIT_BITS: u32 = 11;

/// Buffers, kept for the next time.
#[derive(Default)]
pub(super) struct Sorter {
    numbers: Vec<(u64, u32)>,
    spare: Vec<(u64, u32)>,
    sorted: Vec<Descriptor>,
}

/// The bits in which some words differ, as runs from the highest.
struct Bits {
    /// Shift to the right, mask afterwards, width.
    runs: Vec<(u32, u128, u32)>,
    width: u32,
}

impl Bits {
    fn of(differing: u128) -> Bits {
        let mut runs = Vec::new();
        let (mut rest, mut width) = (differing, 0);
        while rest != 0 {
            let low = rest.trailing_zeros();
            let len = (!(rest >> low)).trailing_zeros();
            let mask = (1u128 << len) - 1;
            runs.push((low, mask, len));
            width += len;
            rest &= !(mask << low);
        }
        runs.reverse();
        Bits { runs, width }
    }

    /// The word's bits at these places, in their order.
    #[inline]
    fn gather(&self, word: u128) -> u64 {
        self.runs.iter().fold(0, |all, (shift, mask, len)| all << len | (word >> shift & mask) as u64)
    }
}

#[inline]
fn key_word(d: &Descriptor) -> u128 {
    u128::from(d.key) << 32 | u128::from(d.key_low)
}

impl Sorter {
    /// Sorts. `place` gives a piece's place; `by_key` is false where the place alone counts;
    /// `in_order` says that the pieces stand in the order of their places already.
    pub(super) fn sort(
        &mut self,
        order: &mut Vec<Descriptor>,
        by_key: bool,
        in_order: bool,
        place: impl Fn(&Descriptor) -> Place,
    ) {
        let key = |d: &Descriptor| if by_key { key_word(d) } else { 0 };
        let spot = |d: &Descriptor| {
            let (chunk, sequence) = place(d);
            u128::from(chunk) << 32 | u128::from(sequence)
        };
        let Some(first) = order.first().copied() else { return };
        if order.len() < RADIX_MIN {
            order.sort_by_key(|d| (key(d), if in_order { 0 } else { spot(d) }));
            return;
        }
        let (first_key, first_spot) = (key(&first), spot(&first));
        let (mut keys, mut spots) = (0, 0);
        for d in order.iter() {
            keys |= key(d) ^ first_key;
            if !in_order {
                spots |= spot(d) ^ first_spot;
            }
        }
        let (keys, spots) = (Bits::of(keys), Bits::of(spots));
        let width = keys.width + spots.width;
        if width > u64::BITS {
            order.sort_by_key(|d| (key(d), if in_order { 0 } else { spot(d) }));
            return;
        }
        let number = |d: &Descriptor| {
            let low = if spots.width == 0 { 0 } else { spots.gather(spot(d)) };
            keys.gather(key(d)).checked_shl(spots.width).unwrap_or(0) | low
        };
        self.numbers.clear();
        self.numbers.extend((0u32..).zip(order.iter()).map(|(i, d)| (number(d), i)));
        for digit in 0..width.div_ceil(DIGIT_BITS) {
            self.pass(digit * DIGIT_BITS);
        }
        self.sorted.clear();
        self.sorted.extend(self.numbers.iter().map(|(_, i)| order[*i as usize]));
        std::mem::swap(order, &mut self.sorted);
    }

    /// Sorts by one digit, stably.
    fn pass(&mut self, shift: u32) {
        let digit = |number: u64| (number >> shift) as usize & ((1 << DIGIT_BITS) - 1);
        let mut ends = [0u32; 1 << DIGIT_BITS];
        self.numbers.iter().for_each(|(number, _)| ends[digit(*number)] += 1);
        let mut begin = 0;
        for end in &mut ends {
            begin += std::mem::replace(end, begin);
        }
        self.spare.clear();
        self.spare.resize(self.numbers.len(), (0, 0));
        for element in &self.numbers {
            let at = &mut ends[digit(element.0)];
            self.spare[*at as usize] = *element;
            *at += 1;
        }
        std::mem::swap(&mut self.numbers, &mut self.spare);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn radix_sort_is_the_sort_by_key_and_place() {
        let mut state = 3u64;
        let mut next = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let mut sorter = Sorter::default();
        for (len, spread) in [(0, 1), (5, 9), (95, 3), (96, 3), (3000, 50), (5000, 1 << 20), (4000, 1)] {
            let mut pieces: Vec<Descriptor> = (0..len)
                .map(|i| Descriptor {
                    key: 0x8000_0000_0000_0000 | next(spread) << 17,
                    key_low: 0x8000_0000 | next(3) as u32,
                    sequence: i,
                    operands: i,
                    chunk: (i / 700) as u16,
                    piece: 0,
                })
                .collect();
            let place = |d: &Descriptor| (d.chunk, d.sequence);
            let mut expected = pieces.clone();
            expected.sort_by_key(|d| (d.key, d.key_low, place(d)));
            let operands = |v: &[Descriptor]| v.iter().map(|d| d.operands).collect::<Vec<_>>();
            let mut in_order = pieces.clone();
            sorter.sort(&mut in_order, true, true, place);
            assert_eq!(operands(&in_order), operands(&expected));
            for i in (1..pieces.len()).rev() {
                pieces.swap(i, next(i as u64 + 1) as usize);
            }
            let mut shuffled = pieces.clone();
            sorter.sort(&mut shuffled, true, false, place);
            assert_eq!(operands(&shuffled), operands(&expected));
            sorter.sort(&mut pieces, false, false, place);
            assert!(pieces.is_sorted_by_key(place));
        }
    }
}
