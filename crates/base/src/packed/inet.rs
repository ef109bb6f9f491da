//! `inet` and `cidr`: addresses of the Internet with the length of a mask.
//!
//! | bytes | |
//! |---|---|
//! | 1 | `04` or `06` |
//! | 4, 16 | the network: the address with zeros behind the mask |
//! | 1 | bits of the mask |
//! | 4, 16 | the address; left out where it is its network's |
//!
//! That is PostgreSQL's order: networks come before what is within them, and of one network its addresses in theirs.
//!
//! What is read and written follows the BSD functions that PostgreSQL has them from (`inet_net_pton`, `inet_cidr_ntop`).

use crate::error::{Error, Result, SqlState};
use crate::text_io::invalid_syntax;
use crate::watch;
use std::io::Write as _;

/// An address and its mask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inet {
    /// Whether it is of version 6.
    pub v6: bool,
    /// Bits of the mask.
    pub bits: u8,
    /// The address; of version 4 the first 4 bytes, zeros behind.
    pub address: [u8; 16],
}

fn parameter(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

fn out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "result is out of range")
}

impl Inet {
    /// Bytes of an address.
    #[expect(clippy::len_without_is_empty, reason = "no address is empty")]
    pub const fn len(&self) -> usize {
        if self.v6 { 16 } else { 4 }
    }

    /// Bits of an address.
    pub const fn bits_max(&self) -> u8 {
        if self.v6 { 128 } else { 32 }
    }

    /// The address as a number.
    fn number(&self) -> u128 {
        u128::from_be_bytes(self.address)
    }

    /// With another number and mask; what is behind its bytes is cut off.
    fn with(&self, number: u128, bits: u8) -> Inet {
        let kept = if self.v6 { u128::MAX } else { u128::MAX << 96 };
        Inet { v6: self.v6, bits, address: (number & kept).to_be_bytes() }
    }

    /// As it is kept.
    pub fn encode(&self) -> Vec<u8> {
        let network = self.network();
        let mut out = Vec::with_capacity(2 * self.len() + 2);
        out.push(if self.v6 { 6 } else { 4 });
        out.extend_from_slice(&network.address[..self.len()]);
        out.push(self.bits);
        if network != *self {
            out.extend_from_slice(&self.address[..self.len()]);
        }
        out
    }

    /// From bytes of [`Inet::encode`]; `None` of others.
    pub fn decode(bytes: &[u8]) -> Option<Inet> {
        let (&version, rest) = bytes.split_first()?;
        let v6 = match version {
            4 => false,
            6 => true,
            _ => return None,
        };
        let mut inet = Inet { v6, bits: 0, address: [0; 16] };
        let len = inet.len();
        inet.bits = *rest.get(len)?;
        let address = match &rest[len + 1..] {
            [] => &rest[..len],
            address if address.len() == len => address,
            _ => return None,
        };
        inet.address[..len].copy_from_slice(address);
        (inet.bits <= inet.bits_max() && inet.network().address[..len] == rest[..len]).then_some(inet)
    }

    /// Reads an `inet`.
    pub fn parse(text: &str) -> Result<Inet> {
        watch::count(text.len());
        let found = if text.contains(':') { version_6(text) } else { version_4(text, false) };
        found.ok_or_else(|| invalid_syntax("inet", text))
    }

    /// Reads a `cidr`.
    pub fn parse_network(text: &str) -> Result<Inet> {
        watch::count(text.len());
        let found = if text.contains(':') { version_6(text) } else { version_4(text, true) };
        let inet = found.ok_or_else(|| invalid_syntax("cidr", text))?;
        if inet.network() != inet {
            let message = format!("invalid cidr value: \"{text}\"");
            return Err(Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
                .with_detail("Value has bits set to right of mask."));
        }
        Ok(inet)
    }

    /// Appends the text; the mask where it is `wanted`, or does not cover the whole address.
    pub fn write(&self, wanted: bool, out: &mut Vec<u8>) {
        self.write_host(out);
        if wanted || self.bits != self.bits_max() {
            let _ = write!(out, "/{}", self.bits);
        }
    }

    /// Appends the address alone.
    pub fn write_host(&self, out: &mut Vec<u8>) {
        if self.v6 {
            write_version_6(&self.address, out);
        } else {
            let [a, b, c, d, ..] = self.address;
            let _ = write!(out, "{a}.{b}.{c}.{d}");
        }
    }

    /// Appends the short form of a network: `10.1/16`.
    pub fn write_short(&self, out: &mut Vec<u8>) {
        if self.v6 {
            short_version_6(self, out);
        } else if self.bits == 0 {
            out.push(b'0');
        } else {
            let network = self.network();
            for (i, byte) in network.address[..usize::from(self.bits.div_ceil(8))].iter().enumerate() {
                let _ = write!(out, "{}{byte}", if i > 0 { "." } else { "" });
            }
        }
        let _ = write!(out, "/{}", self.bits);
    }

    /// Ones where the mask is not.
    fn host_bits(&self) -> u128 {
        u128::MAX.checked_shr(self.bits.into()).unwrap_or(0)
    }

    /// The network that it is of.
    pub fn network(&self) -> Inet {
        self.with(self.number() & !self.host_bits(), self.bits)
    }

    /// The last address of its network.
    pub fn broadcast(&self) -> Inet {
        self.with(self.number() | self.host_bits(), self.bits)
    }

    /// Its mask, as an address.
    pub fn netmask(&self) -> Inet {
        self.with(!self.host_bits(), self.bits_max())
    }

    /// Ones where its mask is not, as an address.
    pub fn hostmask(&self) -> Inet {
        self.with(self.host_bits(), self.bits_max())
    }

    /// With a mask of so many bits; -1: all.
    pub fn with_mask(&self, bits: i64) -> Result<Inet> {
        let all = i64::from(self.bits_max());
        let bits = if bits == -1 { all } else { bits };
        if !(0..=all).contains(&bits) {
            return Err(parameter(format!("invalid mask length: {bits}")));
        }
        Ok(Inet { bits: bits as u8, ..*self })
    }

    /// How many bits two have in common from the first on, of at most so many.
    fn common(&self, other: &Inet, most: u8) -> u8 {
        ((self.number() ^ other.number()).leading_zeros() as u8).min(most)
    }

    /// `a >>= b`: whether the other's network is within this one's, or the same.
    pub fn contains(&self, other: &Inet) -> bool {
        self.v6 == other.v6 && self.bits <= other.bits && self.common(other, self.bits) == self.bits
    }

    /// `&&`: whether one is within the other.
    pub fn overlaps(&self, other: &Inet) -> bool {
        self.contains(other) || other.contains(self)
    }

    /// The least network that both are within.
    pub fn merge(&self, other: &Inet) -> Result<Inet> {
        if self.v6 != other.v6 {
            return Err(parameter("cannot merge addresses from different families"));
        }
        let bits = self.common(other, self.bits.min(other.bits));
        Ok(Inet { bits, ..*self }.network())
    }

    /// `~`
    pub fn not(&self) -> Inet {
        self.with(!self.number(), self.bits)
    }

    /// `&`
    pub fn and(&self, other: &Inet) -> Result<Inet> {
        if self.v6 != other.v6 {
            return Err(parameter("cannot AND inet values of different sizes"));
        }
        Ok(self.with(self.number() & other.number(), self.bits.max(other.bits)))
    }

    /// `|`
    pub fn or(&self, other: &Inet) -> Result<Inet> {
        if self.v6 != other.v6 {
            return Err(parameter("cannot OR inet values of different sizes"));
        }
        Ok(self.with(self.number() | other.number(), self.bits.max(other.bits)))
    }

    /// `+`
    pub fn plus(&self, by: i64) -> Result<Inet> {
        let low = if self.v6 { 0 } else { 96 };
        let number = self.number() >> low;
        let moved = number.checked_add_signed(by.into()).ok_or_else(out_of_range)?;
        if !self.v6 && moved > u128::from(u32::MAX) {
            return Err(out_of_range());
        }
        Ok(self.with(moved << low, self.bits))
    }

    /// `inet - bigint`
    pub fn minus(&self, by: i64) -> Result<Inet> {
        // The least number is its own negative, as in PostgreSQL.
        self.plus(by.wrapping_neg())
    }

    /// `inet - inet`
    pub fn distance(&self, other: &Inet) -> Result<i64> {
        if self.v6 != other.v6 {
            return Err(parameter("cannot subtract inet values of different sizes"));
        }
        let low = if self.v6 { 0 } else { 96 };
        let (a, b) = (self.number() >> low, other.number() >> low);
        let negative = a < b;
        let apart = i128::try_from(a.abs_diff(b)).map_err(|_| out_of_range())?;
        i64::try_from(if negative { -apart } else { apart }).map_err(|_| out_of_range())
    }

    /// Appends the binary form: family, bits, whether it is a network, bytes of the address, the address.
    pub fn send(&self, network: bool, out: &mut Vec<u8>) {
        let len = self.len() as u8;
        out.extend_from_slice(&[if self.v6 { 3 } else { 2 }, self.bits, network.into(), len]);
        out.extend_from_slice(&self.address[..self.len()]);
    }

    /// Reads the binary form.
    pub fn receive(bytes: &[u8], network: bool) -> Result<Inet> {
        let name = if network { "cidr" } else { "inet" };
        let wrong = |what: &str| {
            let message = format!("invalid {what} in external \"{name}\" value");
            Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
        };
        let (&[family, bits, _, len], rest) = bytes.split_first_chunk().ok_or_else(|| wrong("length"))?;
        let v6 = match family {
            2 => false,
            3 => true,
            _ => return Err(wrong("address family")),
        };
        let mut inet = Inet { v6, bits, address: [0; 16] };
        if bits > inet.bits_max() {
            return Err(wrong("bits"));
        }
        if usize::from(len) != inet.len() || rest.len() != inet.len() {
            return Err(wrong("length"));
        }
        inet.address[..rest.len()].copy_from_slice(rest);
        if network && inet.network() != inet {
            let message = "invalid external \"cidr\" value";
            return Err(Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message)
                .with_detail("Value has bits set to right of mask."));
        }
        Ok(inet)
    }
}

/// The digits at the front as a number of at most so much, and what follows.
fn digits(text: &[u8], most: u32) -> Option<(u32, &[u8])> {
    let end = text.iter().position(|b| !b.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 {
        return None;
    }
    let number = text[..end].iter().try_fold(0u32, |n, digit| {
        let n = n * 10 + u32::from(digit - b'0');
        (n <= most).then_some(n)
    })?;
    Some((number, &text[end..]))
}

/// Four numbers, or of a mask fewer; a network may leave out its mask, too, which its class then says.
fn version_4(text: &str, network: bool) -> Option<Inet> {
    let mut rest = text.as_bytes();
    let mut bytes = Vec::with_capacity(4);
    if network
        && let [b'0', b'x' | b'X', digit, ..] = rest
        && digit.is_ascii_hexdigit()
    {
        rest = &rest[2..];
        let end = rest.iter().position(|b| !b.is_ascii_hexdigit()).unwrap_or(rest.len());
        if end > 8 {
            return None;
        }
        let digit = |b: &u8| char::from(*b).to_digit(16).unwrap_or(0) as u8;
        bytes.extend(rest[..end].chunks(2).map(|pair| digit(&pair[0]) << 4 | pair.get(1).map_or(0, digit)));
        rest = &rest[end..];
    } else {
        loop {
            let Some((number, behind)) = digits(rest, 255) else {
                // An address may end in a dot.
                if network || bytes.is_empty() {
                    return None;
                }
                break;
            };
            if bytes.len() == 4 {
                return None;
            }
            bytes.push(number as u8);
            rest = behind;
            match rest {
                [b'.', behind @ ..] => rest = behind,
                _ => break,
            }
        }
    }
    let mut bits = None;
    if let [b'/', behind @ ..] = rest {
        let (number, behind) = digits(behind, 32)?;
        bits = Some(number as usize);
        rest = behind;
    }
    if !rest.is_empty() {
        return None;
    }
    let said = bytes.len() * 8;
    let bits = match bits {
        Some(bits) => bits,
        None if network => {
            let class = match bytes[0] {
                240.. => 32,
                224.. => 8,
                192.. => 24,
                128.. => 16,
                _ => 8,
            };
            match class.max(said) {
                8 if bytes[0] == 224 => 4,
                bits => bits,
            }
        }
        None if bytes.len() == 4 => 32,
        None => return None,
    };
    if !network && bits / 8 > bytes.len() {
        return None;
    }
    let mut address = [0; 16];
    address[..bytes.len()].copy_from_slice(&bytes);
    Some(Inet { v6: false, bits: bits as u8, address })
}

/// The bits of a mask of version 6: no sign, no zeros in front.
fn mask_6(text: &[u8]) -> Option<u8> {
    match text {
        [b'0', _, ..] => None,
        _ => digits(text, 128).filter(|(_, rest)| rest.is_empty()).map(|(bits, _)| bits as u8),
    }
}

/// The last four bytes of an address of version 6 as an address of version 4, and the mask behind it.
fn tail_4(text: &[u8]) -> Option<(Vec<u8>, Option<u8>)> {
    let (address, mask) = match text.iter().position(|b| *b == b'/') {
        Some(at) => (&text[..at], Some(mask_6(&text[at + 1..])?)),
        None => (text, None),
    };
    let byte = |part: &[u8]| match part {
        [b'0', _, ..] => None,
        _ => digits(part, 255).filter(|(_, rest)| rest.is_empty()).map(|(byte, _)| byte as u8),
    };
    let bytes: Vec<u8> = address.split(|b| *b == b'.').map(byte).collect::<Option<_>>()?;
    (bytes.len() == 4).then_some((bytes, mask))
}

fn version_6(text: &str) -> Option<Inet> {
    let mut rest = text.as_bytes();
    let mut bytes: Vec<u8> = Vec::with_capacity(16);
    // Where zeros were left out.
    let mut gap = None;
    let mut bits = None;
    if let [b':', behind @ ..] = rest {
        if !behind.starts_with(b":") {
            return None;
        }
        rest = behind;
    }
    loop {
        let end = rest.iter().position(|b| !b.is_ascii_hexdigit()).unwrap_or(rest.len());
        if end > 4 {
            return None;
        }
        if rest.get(end) == Some(&b'.') && bytes.len() <= 12 {
            let (tail, mask) = tail_4(rest)?;
            bytes.extend(tail);
            bits = mask;
            break;
        }
        if end > 0 {
            let word = rest[..end]
                .iter()
                .fold(0u16, |n, b| n << 4 | char::from(*b).to_digit(16).unwrap_or(0) as u16);
            bytes.extend(word.to_be_bytes());
            if bytes.len() > 16 {
                return None;
            }
        }
        match &rest[end..] {
            [] => break,
            [b'/', behind @ ..] => {
                bits = Some(mask_6(behind)?);
                break;
            }
            [b':', behind @ ..] => {
                if end == 0 {
                    if gap.is_some() {
                        return None;
                    }
                    gap = Some(bytes.len());
                } else if behind.is_empty() {
                    return None;
                }
                rest = behind;
            }
            _ => return None,
        }
    }
    if let Some(gap) = gap {
        if bytes.len() >= 16 {
            return None;
        }
        let missing = 16 - bytes.len();
        bytes.splice(gap..gap, std::iter::repeat_n(0, missing));
    }
    let address = bytes.try_into().ok()?;
    Some(Inet { v6: true, bits: bits.unwrap_or(128), address })
}

/// The first of the longest runs of zeros among some words, where it is longer than one: begin and length.
fn zeros(words: &[u16]) -> Option<(usize, usize)> {
    let mut best = (0, 1);
    let mut at = 0;
    while at < words.len() {
        let run = words[at..].iter().take_while(|w| **w == 0).count();
        if run > best.1 {
            best = (at, run);
        }
        at += run.max(1);
    }
    (best.1 > 1).then_some(best)
}

fn words(address: &[u8; 16]) -> [u16; 8] {
    std::array::from_fn(|i| u16::from_be_bytes([address[2 * i], address[2 * i + 1]]))
}

fn write_version_6(address: &[u8; 16], out: &mut Vec<u8>) {
    let words = words(address);
    let gap = zeros(&words);
    for (i, word) in words.iter().enumerate() {
        if let Some((begin, len)) = gap
            && (begin..begin + len).contains(&i)
        {
            if i == begin {
                out.push(b':');
            }
            continue;
        }
        if i > 0 {
            out.push(b':');
        }
        // An address of version 4 in one of version 6.
        if let Some((0, len)) = gap
            && i == 6
            && (len == 6 || len == 7 && words[7] != 1 || len == 5 && words[5] == 0xFFFF)
        {
            let _ = write!(out, "{}.{}.{}.{}", address[12], address[13], address[14], address[15]);
            return;
        }
        let _ = write!(out, "{word:x}");
    }
    if gap.is_some_and(|(begin, len)| begin + len == 8) {
        out.push(b':');
    }
}

/// As many words as the mask covers, at least two.
fn short_version_6(inet: &Inet, out: &mut Vec<u8>) {
    if inet.bits == 0 {
        out.extend_from_slice(b"::");
        return;
    }
    let address = inet.network().address;
    let words = words(&address);
    let count = usize::from(inet.bits.div_ceil(16)).max(2);
    // As there: a run that is no longer than the longest goes on counting with the next one.
    let (mut begin, mut len, mut run_begin, mut run) = (0, 0, 0, 0);
    for (i, word) in words[..count].iter().enumerate() {
        if *word == 0 {
            if run == 0 {
                run_begin = i;
            }
            run += 1;
        } else if run > 0 && len < run {
            (begin, len, run) = (run_begin, run, 0);
        }
    }
    if run > 0 && len < run {
        (begin, len) = (run_begin, run);
    }
    let version_4 = len != count
        && begin == 0
        && (len == 6 || len == 5 && words[5] == 0xFFFF || len == 7 && address[14] != 0 && address[15] != 1);
    let start = out.len();
    for (i, word) in words[..count].iter().enumerate() {
        if len > 0 && (begin..begin + len).contains(&i) {
            if i == begin {
                out.push(b':');
            }
            if i == count - 1 {
                out.push(b':');
            }
        } else if version_4 && i > 5 {
            out.push(if i == 6 { b':' } else { b'.' });
            let _ = write!(out, "{}", address[2 * i]);
            if i != 7 || inet.bits > 120 {
                let _ = write!(out, ".{}", address[2 * i + 1]);
            }
        } else {
            if out.len() > start {
                out.push(b':');
            }
            let _ = write!(out, "{word:x}");
        }
    }
}
