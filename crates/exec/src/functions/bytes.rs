//! Bytea: `encode`, `decode`, and md5.

use super::text::Ends;
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::watch::{self, Pace, STEP};
use planaria_base::{Error, Result, SqlState, text_io};
use planaria_storage::arena::Bytes;

#[cold]
fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// `substr(bytea, start [, count])`: shares the bytes.
pub fn substr(at: Bytes, start: i64, count: Option<i64>) -> Result<Slot> {
    let end = match count {
        Some(count) if count < 0 => {
            return Err(Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed"));
        }
        Some(count) => start.saturating_add(count),
        None => i64::MAX,
    };
    let len = i64::from(at.len);
    let from = (start.max(1) - 1).min(len);
    let to = (end.max(1) - 1).min(len).max(from);
    Ok(Slot::Bytea(Bytes { offset: at.offset + from as u32, len: (to - from) as u32 }))
}

/// `btrim(bytea, bytes)` and its like: shares the bytes.
pub fn trim(heap: &Heap, at: Bytes, set: Bytes, ends: Ends) -> Slot {
    let (bytes, set) = (heap.bytes(at), heap.bytes(set));
    let (mut from, mut to) = (0, bytes.len());
    while ends != Ends::Right && from < to && set.contains(&bytes[from]) {
        from += 1;
    }
    while ends != Ends::Left && from < to && set.contains(&bytes[to - 1]) {
        to -= 1;
    }
    Slot::Bytea(Bytes { offset: at.offset + from as u32, len: (to - from) as u32 })
}

#[cold]
fn out_of_range(index: i64, len: i64) -> Error {
    let message = format!("index {index} out of valid range, 0..{}", len - 1);
    Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
}

/// A byte, or a bit of it: numbered from the least of the first byte.
fn byte_at(heap: &Heap, at: Bytes, index: i64, each: i64) -> Result<(usize, u8)> {
    let byte = usize::try_from(index / each).ok().filter(|_| index >= 0);
    let found = byte.and_then(|i| heap.bytes(at).get(i).map(|b| (i, *b)));
    found.ok_or_else(|| out_of_range(index, i64::from(at.len) * each))
}

pub fn get_byte(heap: &Heap, at: Bytes, index: i64) -> Result<Slot> {
    Ok(Slot::Int(byte_at(heap, at, index, 1)?.1.into()))
}

pub fn get_bit(heap: &Heap, at: Bytes, index: i64) -> Result<Slot> {
    let (_, byte) = byte_at(heap, at, index, 8)?;
    Ok(Slot::Int(i64::from(byte >> (index % 8) & 1)))
}

fn with_byte(heap: &mut Heap, at: Bytes, index: usize, byte: u8) -> Result<Slot> {
    let mut bytes = heap.bytes(at).to_vec();
    bytes[index] = byte;
    heap.bytea(&bytes)
}

pub fn set_byte(heap: &mut Heap, at: Bytes, index: i64, new: i64) -> Result<Slot> {
    let (i, _) = byte_at(heap, at, index, 1)?;
    with_byte(heap, at, i, new as u8)
}

pub fn set_bit(heap: &mut Heap, at: Bytes, index: i64, new: i64) -> Result<Slot> {
    let (i, byte) = byte_at(heap, at, index, 8)?;
    let bit = 1 << (index % 8);
    match new {
        0 => with_byte(heap, at, i, byte & !bit),
        1 => with_byte(heap, at, i, byte | bit),
        _ => Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, "new bit must be 0 or 1")),
    }
}

/// SHA-2 of so many bits.
pub fn sha(heap: &mut Heap, data: Bytes, bits: i64) -> Result<Slot> {
    let digest = sha2(heap.bytes(data), bits)?;
    heap.bytea(&digest)
}

/// SHA-2 of so many bits.
pub(super) fn sha2(data: &[u8], bits: i64) -> Result<Vec<u8>> {
    use sha2::Digest;
    fn digest<D: Digest>(data: &[u8]) -> Result<Vec<u8>> {
        let (mut digest, mut pace) = (D::new(), Pace::default());
        for part in data.chunks(4096) {
            pace.step(part.len())?;
            digest.update(part);
        }
        Ok(digest.finalize().to_vec())
    }
    match bits {
        224 => digest::<sha2::Sha224>(data),
        256 => digest::<sha2::Sha256>(data),
        384 => digest::<sha2::Sha384>(data),
        512 => digest::<sha2::Sha512>(data),
        _ => Err(invalid(format!("there is no SHA-2 of {bits} bits"))),
    }
}

enum Encoding {
    Hex,
    Base64,
    Escape,
}

fn encoding(name: &str) -> Result<Encoding> {
    match name.to_ascii_lowercase().as_str() {
        "hex" => Ok(Encoding::Hex),
        "base64" => Ok(Encoding::Base64),
        "escape" => Ok(Encoding::Escape),
        _ => Err(invalid(format!("unrecognized encoding: \"{name}\""))),
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Characters of a line of base64.
const LINE: usize = 76;

pub fn encode(heap: &mut Heap, data: Bytes, format: Bytes) -> Result<Slot> {
    let encoding = encoding(heap.str(format))?;
    let longest = data.len as usize * if matches!(encoding, Encoding::Escape) { 4 } else { 2 };
    let built = heap.build_within(longest, |heap, out| {
        let data = heap.bytes(data);
        let mut pace = Pace::default();
        match encoding {
            Encoding::Hex => {
                for some in data.chunks(STEP) {
                    text_io::write_hex(out, some);
                    pace.step(some.len())?;
                }
            }
            Encoding::Base64 => write_base64(out, data)?,
            Encoding::Escape => {
                for b in data {
                    pace.step(1)?;
                    match b {
                        b'\\' => out.extend_from_slice(b"\\\\"),
                        0 | 0x80.. => {
                            out.extend([b'\\', b'0' + (b >> 6), b'0' + (b >> 3 & 7), b'0' + (b & 7)]);
                        }
                        plain => out.push(*plain),
                    }
                }
            }
        }
        Ok(())
    });
    built.map(Slot::Text)
}

fn write_base64(out: &mut Vec<u8>, data: &[u8]) -> Result<()> {
    let mut in_line = 0;
    let mut pace = Pace::default();
    for group in data.chunks(3) {
        pace.step(group.len())?;
        if in_line == LINE {
            out.push(b'\n');
            in_line = 0;
        }
        let word = group.iter().fold(0u32, |w, b| w << 8 | u32::from(*b)) << (8 * (3 - group.len()));
        for i in 0..4 {
            let digit = BASE64[(word >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= group.len() { digit } else { b'=' });
        }
        in_line += 4;
    }
    Ok(())
}

pub fn decode(heap: &mut Heap, text: Bytes, format: Bytes) -> Result<Slot> {
    let encoding = encoding(heap.str(format))?;
    let text = heap.bytes(text);
    let bytes = match encoding {
        Encoding::Hex => text_io::parse_hex(text)?,
        Encoding::Base64 => parse_base64(text)?,
        Encoding::Escape => text_io::parse_escaped_bytes(text)?,
    };
    heap.bytea(&bytes)
}

fn parse_base64(text: &[u8]) -> Result<Vec<u8>> {
    watch::admit(text.len())?;
    let mut pace = Pace::default();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut word, mut digits, mut ends) = (0u32, 0, 0);
    for b in text {
        pace.step(1)?;
        if matches!(b, b' ' | b'\t' | b'\n' | b'\r') {
            continue;
        }
        let digit = if *b == b'=' {
            // A padding sign stands in the last two places only.
            if ends == 0 {
                ends = match digits {
                    2 => 1,
                    3 => 2,
                    _ => return Err(invalid("unexpected \"=\" while decoding base64 sequence")),
                };
            }
            0
        } else if ends > 0 {
            return Err(invalid("invalid base64 end sequence")
                .with_hint("Input data is missing padding, is truncated, or is otherwise corrupted."));
        } else {
            match BASE64.iter().position(|d| d == b) {
                Some(digit) => digit as u32,
                None => {
                    let symbol = *b as char;
                    return Err(invalid(format!(
                        "invalid symbol \"{symbol}\" found while decoding base64 sequence"
                    )));
                }
            }
        };
        word = word << 6 | digit;
        digits += 1;
        if digits == 4 {
            bytes.push((word >> 16) as u8);
            if ends != 1 {
                bytes.push((word >> 8) as u8);
            }
            if ends == 0 {
                bytes.push(word as u8);
            }
            (word, digits) = (0, 0);
        }
    }
    if digits == 0 {
        Ok(bytes)
    } else {
        Err(invalid("invalid base64 end sequence")
            .with_hint("Input data is missing padding, is truncated, or is otherwise corrupted."))
    }
}

/// MD5 (RFC 1321) as hexadecimal digits. For `md5()` only: nothing here relies on its strength.
pub fn md5_hex(heap: &mut Heap, data: Bytes) -> Result<Slot> {
    let digest = md5(heap.bytes(data))?;
    heap.build_text(|_, out| text_io::write_hex(out, &digest))
}

pub(super) fn md5(data: &[u8]) -> Result<[u8; 16]> {
    const SHIFTS: [[u32; 4]; 4] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]];
    let mut state = [0x6745_2301u32, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
    // The last bytes, an end mark, and the length in bits.
    let (whole, rest) = data.as_chunks::<64>();
    let mut padded = rest.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).next_multiple_of(64), 0);
    let end = padded.len();
    padded[end - 8..].copy_from_slice(&(data.len() as u64 * 8).to_le_bytes());
    let mut pace = Pace::default();
    for block in whole.iter().chain(padded.as_chunks::<64>().0) {
        pace.step(block.len())?;
        let word = |i: usize| {
            u32::from_le_bytes([block[4 * i], block[4 * i + 1], block[4 * i + 2], block[4 * i + 3]])
        };
        let [mut a, mut b, mut c, mut d] = state;
        for i in 0..64 {
            let (f, g) = match i / 16 {
                0 => (b & c | !b & d, i),
                1 => (d & b | !d & c, (5 * i + 1) % 16),
                2 => (b ^ c ^ d, (3 * i + 5) % 16),
                _ => (c ^ (b | !d), 7 * i % 16),
            };
            // The constants are the fractional bits of sines of whole radians, by definition.
            let constant = (((i + 1) as f64).sin().abs() * 4_294_967_296.0) as u32;
            let sum = a.wrapping_add(f).wrapping_add(constant).wrapping_add(word(g));
            (a, d, c) = (d, c, b);
            b = b.wrapping_add(sum.rotate_left(SHIFTS[i / 16][i % 4]));
        }
        for (s, v) in state.iter_mut().zip([a, b, c, d]) {
            *s = s.wrapping_add(v);
        }
    }
    let mut digest = [0; 16];
    for (bytes, word) in digest.chunks_exact_mut(4).zip(state) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    Ok(digest)
}
