//! `macaddr` and `macaddr8`: addresses of network cards.

use crate::error::{Error, Result, SqlState};
use crate::text_io::{invalid_syntax, is_space};
use crate::watch;
use std::io::Write as _;

/// A number in hexadecimal digits as C's `%x` reads it, of at most `width` characters: blanks, a sign and `0x` may come first.
fn hexadecimal(text: &[u8], width: usize) -> Option<(u32, &[u8])> {
    let blanks = text.iter().position(|b| !is_space(*b))?;
    let text = &text[blanks..];
    let mut at = 0;
    let negative = text[0] == b'-';
    if matches!(text[0], b'+' | b'-') {
        at = 1;
    }
    if at + 2 < width
        && let Some([b'0', b'x' | b'X', digit, ..]) = text.get(at..)
        && digit.is_ascii_hexdigit()
    {
        at += 2;
    }
    let begin = at;
    let mut number = 0u32;
    while at < width
        && let Some(digit) = text.get(at).and_then(|b| char::from(*b).to_digit(16))
    {
        number = number.saturating_mul(16).saturating_add(digit);
        at += 1;
    }
    let number = if negative { number.wrapping_neg() } else { number };
    (at > begin).then(|| (number, &text[at..]))
}

/// The six numbers of a text with those separators behind each of the first five, and nothing but blanks at its end.
fn six(text: &str, width: usize, separators: [&[u8]; 5]) -> Option<[u32; 6]> {
    let mut rest = text.as_bytes();
    let mut numbers = [0; 6];
    for (i, number) in numbers.iter_mut().enumerate() {
        (*number, rest) = hexadecimal(rest, width)?;
        if let Some(separator) = separators.get(i) {
            rest = rest.strip_prefix(*separator)?;
        }
    }
    rest.iter().all(|b| is_space(*b)).then_some(numbers)
}

/// Reads a `macaddr`, in any of PostgreSQL's forms.
pub fn parse(text: &str) -> Result<[u8; 6]> {
    const ANY: usize = usize::MAX;
    watch::count(text.len());
    let forms: [(usize, [&[u8]; 5]); 7] = [
        (ANY, [b":"; 5]),
        (ANY, [b"-"; 5]),
        (2, [b"", b"", b":", b"", b""]),
        (2, [b"", b"", b"-", b"", b""]),
        (2, [b"", b".", b"", b".", b""]),
        (2, [b"", b"-", b"", b"-", b""]),
        (2, [b""; 5]),
    ];
    let found = forms.into_iter().find_map(|(width, separators)| six(text, width, separators));
    let numbers = found.ok_or_else(|| invalid_syntax("macaddr", text))?;
    let mut mac = [0; 6];
    for (byte, number) in mac.iter_mut().zip(numbers) {
        *byte = u8::try_from(number).map_err(|_| {
            let message = format!("invalid octet value in \"macaddr\" value: \"{text}\"");
            Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message)
        })?;
    }
    Ok(mac)
}

/// Reads a `macaddr8`: pairs of digits, with one kind of separator or none between; one of 6 bytes gets `FF:FE` in its middle.
pub fn parse_long(text: &str) -> Result<[u8; 8]> {
    watch::count(text.len());
    let wrong = || invalid_syntax("macaddr8", text);
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest
        && is_space(*first)
    {
        rest = behind;
    }
    let mut bytes = Vec::with_capacity(8);
    let mut separator = None;
    while let [high, low, behind @ ..] = rest {
        let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
        let (Some(high), Some(low)) = (digit(*high), digit(*low)) else { return Err(wrong()) };
        if bytes.len() == 8 {
            return Err(wrong());
        }
        bytes.push(high << 4 | low);
        rest = behind;
        if let [b @ (b':' | b'-' | b'.'), behind @ ..] = rest {
            if *separator.get_or_insert(*b) != *b {
                return Err(wrong());
            }
            rest = behind;
        }
        if matches!(bytes.len(), 6 | 8) && rest.first().is_some_and(|b| is_space(*b)) {
            if !rest.iter().all(|b| is_space(*b)) {
                return Err(wrong());
            }
            rest = &[];
        }
    }
    match *bytes {
        [a, b, c, d, e, f] => Ok([a, b, c, 0xFF, 0xFE, d, e, f]),
        _ => bytes.try_into().map_err(|_| wrong()),
    }
}

/// Appends the text form.
pub fn write(bytes: &[u8], out: &mut Vec<u8>) {
    for (i, byte) in bytes.iter().enumerate() {
        let _ = write!(out, "{}{byte:02x}", if i > 0 { ":" } else { "" });
    }
}

/// A `macaddr` as a `macaddr8`.
pub fn longer(bytes: &[u8]) -> Option<Vec<u8>> {
    let &[a, b, c, d, e, f] = bytes else { return None };
    Some(vec![a, b, c, 0xFF, 0xFE, d, e, f])
}

/// A `macaddr8` as a `macaddr`: those that one can be.
pub fn shorter(bytes: &[u8]) -> Result<Vec<u8>> {
    match *bytes {
        [a, b, c, 0xFF, 0xFE, d, e, f] => Ok(vec![a, b, c, d, e, f]),
        _ => {
            let message = "macaddr8 data out of range to convert to macaddr";
            Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message).with_hint(
                "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example \
                 xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.",
            ))
        }
    }
}

/// Reads the binary form, which is the bytes; `macaddr8` takes the 6 of a `macaddr`, too.
pub fn receive(bytes: &[u8], len: usize) -> Result<Vec<u8>> {
    match bytes.len() {
        n if n == len => Ok(bytes.to_vec()),
        6 => longer(bytes).ok_or_else(|| Error::internal("six bytes")),
        _ => {
            let message = "incorrect binary data format";
            Err(Error::new(SqlState::INVALID_BINARY_REPRESENTATION, message))
        }
    }
}

/// With the bits of the card's maker alone: the first three bytes.
pub fn truncated(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().enumerate().map(|(i, b)| if i < 3 { *b } else { 0 }).collect()
}

/// With the bit that says that the address is universal in modified EUI-64.
pub fn with_bit_7(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().enumerate().map(|(i, b)| if i == 0 { b | 2 } else { *b }).collect()
}
