//! How similar texts are, by their trigrams: PostgreSQL's extension `pg_trgm`.
//!
//! A word of letters and digits, in lower case, with two blanks before it and one behind, has as trigrams all three characters
//! that stand together. They are kept as three bytes: themselves where they are ASCII, else bytes of a check sum.

use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::Result;
use planaria_base::watch::{Pace, admit};

/// Bytes, which order by their signs.
type Trigram = [i8; 3];

/// The check sum that PostgreSQL had before it was CRC-32: the table of one direction gone through in the other.
fn check_sum(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut sum, mut bit) = (byte as u32, 0);
            while bit < 8 {
                sum = if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
                bit += 1;
            }
            table[byte] = sum;
            byte += 1;
        }
        table
    };
    let step = |sum: u32, byte: &u8| TABLE[((sum >> 24) as u8 ^ byte) as usize] ^ sum << 8;
    !bytes.iter().fold(u32::MAX, step)
}

/// A trigram, and whether it is the first or the last of a word.
struct Placed {
    trigram: Trigram,
    first: bool,
    last: bool,
}

fn trigrams(text: &str) -> Result<Vec<Placed>> {
    admit(text.len() * 2 * size_of::<Placed>())?;
    let mut pace = Pace::default();
    let mut all = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        pace.step(word.len())?;
        let padded: Vec<char> = "  ".chars().chain(word.chars().flat_map(lowered)).chain([' ']).collect();
        let begin = all.len();
        for three in padded.windows(3) {
            let trigram = match three.iter().all(char::is_ascii) {
                true => [three[0] as i8, three[1] as i8, three[2] as i8],
                false => {
                    let bytes: String = three.iter().collect();
                    let [a, b, c, _] = check_sum(bytes.as_bytes()).to_le_bytes();
                    [a as i8, b as i8, c as i8]
                }
            };
            all.push(Placed { trigram, first: all.len() == begin, last: false });
        }
        if let Some(placed) = all.last_mut() {
            placed.last = true;
        }
    }
    Ok(all)
}

/// The lower case of a character where it is one character, as `lower` of the C library has it.
fn lowered(c: char) -> Option<char> {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => Some(one),
        _ => Some(c),
    }
}

fn distinct(text: &str) -> Result<Vec<Trigram>> {
    let mut all: Vec<Trigram> = trigrams(text)?.iter().map(|placed| placed.trigram).collect();
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

fn share(common: usize, one: usize, other: usize) -> f32 {
    common as f32 / (one + other - common) as f32
}

/// `similarity`
pub fn similarity(one: &str, other: &str) -> Result<f64> {
    let (one, other) = (distinct(one)?, distinct(other)?);
    if one.is_empty() || other.is_empty() {
        return Ok(0.0);
    }
    let common = one.iter().filter(|trigram| other.binary_search(trigram).is_ok()).count();
    Ok(share(common, one.len(), other.len()).into())
}

/// `word_similarity`: of a text and the part of another one that is most similar to it, which begins and ends where words do if
/// that is `strict`.
pub fn word_similarity(asked: &str, text: &str, strict: bool) -> Result<f64> {
    let (asked, text) = (distinct(asked)?, trigrams(text)?);
    // Each trigram of the text by a number, and whether it is one that is asked for.
    let mut numbers: Vec<Trigram> = text.iter().map(|placed| placed.trigram).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let number = |placed: &Placed| numbers.binary_search(&placed.trigram).unwrap_or_default();
    let indexes: Vec<usize> = text.iter().map(number).collect();
    let wanted: Vec<bool> = numbers.iter().map(|trigram| asked.binary_search(trigram).is_ok()).collect();

    let mut last: Vec<Option<usize>> = vec![None; numbers.len()];
    let (mut count, mut inside, mut best) = (0, 0, 0f32);
    let mut lower = strict.then_some(0);
    let mut pace = Pace::default();
    for (i, &index) in indexes.iter().enumerate() {
        if lower.is_some() || wanted[index] {
            if last[index].is_none() {
                inside += 1;
                count += usize::from(wanted[index]);
            }
            last[index] = Some(i);
        }
        if !(if strict { text[i].last } else { wanted[index] }) {
            continue;
        }
        let begin = match lower {
            Some(begin) => begin,
            None => {
                inside = 1;
                *lower.insert(i)
            }
        };
        pace.step(i - begin + 1)?;
        let mut now = share(count, asked.len(), inside);
        let (mut fewer, mut smaller, mut moved) = (count, inside, begin);
        for at in begin..=i {
            if !strict || text[at].first {
                let tried = share(fewer, asked.len(), smaller);
                if tried > now {
                    (now, inside, count, moved) = (tried, smaller, fewer, at);
                }
            }
            if last[indexes[at]] == Some(at) {
                smaller -= 1;
                fewer -= usize::from(wanted[indexes[at]]);
            }
        }
        best = best.max(now);
        for at in begin..moved {
            if last[indexes[at]] == Some(at) {
                last[indexes[at]] = None;
            }
        }
        lower = Some(moved);
    }
    Ok(best.into())
}

/// `show_trgm`
pub fn shown(heap: &mut Heap, text: &str) -> Result<Slot> {
    let all = distinct(text)?;
    let mut shown = Vec::with_capacity(all.len());
    for trigram in all {
        let bytes = trigram.map(|byte| byte as u8);
        let printable = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b' ');
        let text = match printable {
            true => bytes.map(char::from).iter().collect(),
            false => format!("0x{:02x}{:02x}{:02x}", bytes[0], bytes[1], bytes[2]),
        };
        shown.push(heap.text(&text)?);
    }
    heap.array(&shown)
}
