//! `bit` and `bit varying`: strings of bits.
//!
//! As kept: the bits in bytes, the first bit the highest, the last byte filled with zeros; each zero byte followed by `FF`; at
//! the end a zero byte, and how many bits of the last byte count (0: there are none). So bytes compare as PostgreSQL compares
//! bits: as if the shorter string had zeros behind, then by length.

use crate::error::{Error, Result, SqlState};
use crate::limits::TEXT_BYTES_MAX;
use crate::watch;

/// More bits than a value can have.
const BITS_MAX: usize = TEXT_BYTES_MAX;

/// A string of bits.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Bits {
    /// How many.
    pub len: usize,
    /// In bytes, the first bit the highest of the first byte; zeros behind the last.
    pub bytes: Vec<u8>,
}

fn different_sizes(what: &str) -> Error {
    let message = format!("cannot {what} bit strings of different sizes");
    Error::new(SqlState::STRING_DATA_LENGTH_MISMATCH, message)
}

fn negative_length() -> Error {
    Error::new(SqlState::SUBSTRING_ERROR, "negative substring length not allowed")
}

impl Bits {
    /// So many zeros.
    pub fn zeros(len: usize) -> Bits {
        watch::count(len.div_ceil(8));
        Bits { len, bytes: vec![0; len.div_ceil(8)] }
    }

    /// As it is kept.
    pub fn encode(&self) -> Vec<u8> {
        watch::count(self.bytes.len());
        let mut out = Vec::with_capacity(self.bytes.len() + 8);
        for byte in &self.bytes {
            out.push(*byte);
            if *byte == 0 {
                out.push(0xFF);
            }
        }
        out.extend_from_slice(&[0, (self.len - 8 * self.bytes.len().saturating_sub(1)) as u8]);
        out
    }

    /// From bytes of [`Bits::encode`]; `None` of others.
    pub fn decode(kept: &[u8]) -> Option<Bits> {
        watch::count(kept.len());
        let mut bytes = Vec::with_capacity(kept.len());
        let mut at = 0;
        let last = loop {
            match (*kept.get(at)?, kept.get(at + 1)) {
                (0, Some(0xFF)) => {
                    bytes.push(0);
                    at += 2;
                }
                (0, Some(last)) => break usize::from(*last),
                (0, None) => return None,
                (byte, _) => {
                    bytes.push(byte);
                    at += 1;
                }
            }
        };
        let bits = Bits { len: 8 * bytes.len().saturating_sub(1) + last, bytes };
        let whole = last <= 8 && (last == 0) == bits.bytes.is_empty();
        (whole && at + 2 == kept.len() && bits.tail() & bits.bytes.last().copied().unwrap_or(0) == 0)
            .then_some(bits)
    }

    /// Ones where the last byte has no bits.
    fn tail(&self) -> u8 {
        match self.len % 8 {
            0 => 0,
            used => 0xFF >> used,
        }
    }

    /// With zeros behind the last bit.
    fn cut(mut self) -> Bits {
        let tail = self.tail();
        if let Some(last) = self.bytes.last_mut() {
            *last &= !tail;
        }
        self
    }

    /// Reads digits, binary ones or, behind an `x`, hexadecimal ones.
    pub fn parse(text: &str) -> Result<Bits> {
        match text.as_bytes() {
            [b'b' | b'B', ..] => Bits::of_digits(&text[1..], false),
            [b'x' | b'X', ..] => Bits::of_digits(&text[1..], true),
            _ => Bits::of_digits(text, false),
        }
    }

    fn of_digits(digits: &str, hexadecimal: bool) -> Result<Bits> {
        watch::count(digits.len());
        let (radix, width, name) = if hexadecimal { (16, 4, "hexadecimal") } else { (2, 1, "binary") };
        let mut bits = Bits::default();
        for c in digits.chars() {
            let Some(digit) = c.to_digit(radix) else {
                let message = format!("\"{c}\" is not a valid {name} digit");
                return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message));
            };
            for place in (0..width).rev() {
                bits.push(digit >> place & 1 != 0);
            }
        }
        Ok(bits)
    }

    fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if bit && let Some(last) = self.bytes.last_mut() {
            *last |= 0x80 >> (self.len % 8);
        }
        self.len += 1;
    }

    /// The bit at a place that there is.
    fn bit(&self, at: usize) -> bool {
        self.bytes[at / 8] & 0x80 >> (at % 8) != 0
    }

    /// Appends the digits.
    pub fn write(&self, out: &mut Vec<u8>) {
        watch::count(self.len);
        out.extend((0..self.len).map(|at| if self.bit(at) { b'1' } else { b'0' }));
    }

    /// With so many bits: cut, or with zeros behind.
    pub fn resized(mut self, len: usize) -> Bits {
        watch::count(len.div_ceil(8));
        self.bytes.resize(len.div_ceil(8), 0);
        self.len = len;
        self.cut()
    }

    /// The last bits of an integer, with its sign in front where there are more.
    pub fn of_integer(n: i64, len: usize) -> Bits {
        let mut bits = Bits::zeros(len);
        for at in 0..len {
            let place = len - 1 - at;
            if n >> place.min(63) & 1 != 0 {
                bits.bytes[at / 8] |= 0x80 >> (at % 8);
            }
        }
        bits
    }

    /// As an integer of so many bits, the first of which is its sign where there are as many; `None` where there are more.
    pub fn to_integer(&self, width: usize) -> Option<i64> {
        if self.len > width {
            return None;
        }
        let n = (0..self.len).fold(0u64, |n, at| n << 1 | u64::from(self.bit(at)));
        Some(if width == 32 { i64::from(n as u32 as i32) } else { n as i64 })
    }

    fn paired(&self, other: &Bits, what: &str, make: fn((&u8, &u8)) -> u8) -> Result<Bits> {
        if self.len != other.len {
            return Err(different_sizes(what));
        }
        watch::count(self.bytes.len());
        Ok(Bits { len: self.len, bytes: self.bytes.iter().zip(&other.bytes).map(make).collect() })
    }

    /// `&`
    pub fn and(&self, other: &Bits) -> Result<Bits> {
        self.paired(other, "AND", |(a, b)| a & b)
    }

    /// `|`
    pub fn or(&self, other: &Bits) -> Result<Bits> {
        self.paired(other, "OR", |(a, b)| a | b)
    }

    /// `#`
    pub fn xor(&self, other: &Bits) -> Result<Bits> {
        self.paired(other, "XOR", |(a, b)| a ^ b)
    }

    /// `~`
    pub fn not(&self) -> Bits {
        watch::count(self.bytes.len());
        Bits { len: self.len, bytes: self.bytes.iter().map(|b| !b).collect() }.cut()
    }

    /// The bits moved towards the front, or back where `by` is negative; zeros where they were.
    pub fn shifted(&self, by: i64) -> Bits {
        watch::count(self.len);
        let mut moved = Bits::zeros(self.len);
        for at in 0..self.len {
            let from = i64::try_from(at).ok().and_then(|at| at.checked_add(by));
            if let Some(from) = from.and_then(|from| usize::try_from(from).ok())
                && from < self.len
                && self.bit(from)
            {
                moved.bytes[at / 8] |= 0x80 >> (at % 8);
            }
        }
        moved
    }

    /// `||`
    pub fn concat(mut self, other: &Bits) -> Result<Bits> {
        if self.len + other.len > BITS_MAX {
            let message = format!("bit string length exceeds the maximum allowed ({BITS_MAX})");
            return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        watch::count(other.len);
        (0..other.len).for_each(|at| self.push(other.bit(at)));
        Ok(self)
    }

    /// So many bits from a place on, which is counted from 1; without a number all of them.
    pub fn substring(&self, from: i64, count: Option<i64>) -> Result<Bits> {
        let end = match count {
            Some(count) if count < 0 => return Err(negative_length()),
            Some(count) => from.saturating_add(count),
            None => i64::MAX,
        };
        let len = self.len as i64;
        let (begin, end) = (from.saturating_sub(1).clamp(0, len), end.saturating_sub(1).clamp(0, len));
        watch::count(self.len);
        let mut part = Bits::default();
        (begin..end).for_each(|at| part.push(self.bit(at as usize)));
        Ok(part)
    }

    /// With others in the place of some bits, which are counted from 1.
    pub fn overlay(&self, other: &Bits, from: i64, count: i64) -> Result<Bits> {
        if from <= 0 {
            return Err(negative_length());
        }
        let behind = from
            .checked_add(count)
            .filter(|behind| i32::try_from(*behind).is_ok())
            .ok_or_else(|| Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range"))?;
        let front = self.substring(1, Some(from - 1))?;
        front.concat(other)?.concat(&self.substring(behind, None)?)
    }

    /// Where others stand in it, counted from 1; 0: nowhere.
    pub fn position(&self, of: &Bits) -> i64 {
        if of.len > self.len {
            return 0;
        }
        for at in 0..=self.len - of.len {
            let same = (0..of.len).take_while(|i| self.bit(at + i) == of.bit(*i)).count();
            watch::count(same + 1);
            if same == of.len {
                // An empty one is nowhere in an empty one.
                return if self.len == 0 { 0 } else { at as i64 + 1 };
            }
        }
        0
    }

    fn place(&self, at: i64) -> Result<usize> {
        usize::try_from(at).ok().filter(|at| *at < self.len).ok_or_else(|| {
            let message = format!("bit index {at} out of valid range (0..{})", self.len as i64 - 1);
            Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
        })
    }

    /// `get_bit`
    pub fn get(&self, at: i64) -> Result<bool> {
        self.place(at).map(|at| self.bit(at))
    }

    /// `set_bit`
    pub fn set(mut self, at: i64, bit: i64) -> Result<Bits> {
        let at = self.place(at)?;
        let mask = 0x80 >> (at % 8);
        match bit {
            0 => self.bytes[at / 8] &= !mask,
            1 => self.bytes[at / 8] |= mask,
            _ => {
                let message = "new bit must be 0 or 1";
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
        }
        Ok(self)
    }

    /// How many are ones.
    pub fn count_ones(&self) -> i64 {
        watch::count(self.bytes.len());
        self.bytes.iter().map(|b| i64::from(b.count_ones())).sum()
    }

    /// Appends the binary form: the length, the bytes.
    pub fn send(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.len as i32).to_be_bytes());
        out.extend_from_slice(&self.bytes);
    }

    /// Reads the binary form.
    pub fn receive(bytes: &[u8]) -> Result<Bits> {
        let wrong = |message: &str| Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message);
        let (len, bytes) =
            bytes.split_first_chunk().ok_or_else(|| wrong("insufficient data left in message"))?;
        let len = usize::try_from(i32::from_be_bytes(*len))
            .map_err(|_| wrong("invalid length in external bit string"))?;
        if bytes.len() != len.div_ceil(8) {
            return Err(wrong("incorrect binary data format"));
        }
        watch::count(bytes.len());
        Ok(Bits { len, bytes: bytes.to_vec() }.cut())
    }

    /// As a value of a type with a length: cut or filled where somebody asked for it, otherwise it must have it, or of
    /// `varying` ones no more.
    pub fn fitted(self, limit: u32, varying: bool, explicit: bool) -> Result<Bits> {
        let limit = limit as usize;
        if self.len == limit || varying && self.len < limit {
            return Ok(self);
        }
        if explicit {
            return Ok(self.resized(limit));
        }
        Err(if varying {
            let message = format!("bit string too long for type bit varying({limit})");
            Error::new(SqlState::STRING_DATA_RIGHT_TRUNCATION, message)
        } else {
            let message = format!("bit string length {} does not match type bit({limit})", self.len);
            Error::new(SqlState::STRING_DATA_LENGTH_MISMATCH, message)
        })
    }
}
