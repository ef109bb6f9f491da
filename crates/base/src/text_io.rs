//! Values as text, exactly as PostgreSQL reads and prints them with its default settings.
//!
//! The primitives work on one class each and append to a byte buffer; [`crate::Datum::parse`] and
//! [`crate::Datum::display`] put them together by type, and the executor does the same over its
//! own values. Numbers, dates and texts have no separate binary form in SQL, so this is what
//! literals, casts to and from text, RAISE, `||` and results all go through.

mod array;
mod float;
mod ident;
mod record;

pub use array::{parse_array, write_array, write_array_element, write_nested};
pub use float::{parse_float, parse_real, to_real, write_float, write_float_as, write_real};
pub use ident::{quote_ident, quote_literal, write_doubled, write_ident, write_literal};
pub use record::parse_record;

use crate::datetime::BytesForm;
use crate::error::{Error, Result, SqlState};
use crate::types::{SystemType, Type};
use crate::watch::{self, Pace};

/// Whether PostgreSQL's input functions skip it (`isspace` in the C locale).
#[inline]
pub fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

/// Without the blanks around.
pub fn trim(text: &str) -> &str {
    watch::count(text.len());
    text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// The first `n` characters.
pub fn first_chars(text: &str, n: usize) -> &str {
    // A character is at least a byte.
    if text.len() <= n {
        return text;
    }
    let first = text.char_indices().nth(n).map_or(text, |(end, _)| &text[..end]);
    watch::count(first.len());
    first
}

/// Appends a `char(n)`: padded with blanks to n characters.
pub fn write_char(out: &mut Vec<u8>, text: &[u8], n: usize) {
    watch::count(text.len());
    out.extend_from_slice(text);
    out.resize(out.len() + n.saturating_sub(count_chars(text)), b' ');
}

/// Number of characters of a UTF-8 text: of the bytes that do not continue one.
#[inline]
pub fn count_chars(text: &[u8]) -> usize {
    watch::count(text.len());
    // In counters of a byte, many of which the processor adds at a time.
    let begins = |bytes: &[u8]| bytes.iter().map(|b| u8::from((*b as i8) >= -0x40)).sum::<u8>();
    text.chunks(192).map(|bytes| usize::from(begins(bytes))).sum()
}

/// 22P02 as every input function words it.
#[cold]
pub fn invalid_syntax(ty: &str, text: &str) -> Error {
    watch::count(text.len());
    Error::new(
        SqlState::INVALID_TEXT_REPRESENTATION,
        format!("invalid input syntax for type {ty}: \"{text}\""),
    )
}

/// Appends an integer.
#[inline]
pub fn write_int(out: &mut Vec<u8>, n: i64) {
    let mut buffer = [0u8; 20];
    let mut at = buffer.len();
    let mut left = n.unsigned_abs();
    loop {
        at -= 1;
        buffer[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    if n < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&buffer[at..]);
}

/// Reads a smallint, integer or bigint.
pub fn parse_int(text: &str, ty: &Type) -> Result<i64> {
    let trimmed = trim(text);
    let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    watch::count(digits.len());
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(invalid_syntax(&ty.to_string(), text));
    }
    let in_range = |n: &i64| match ty {
        Type::Int2 => i16::try_from(*n).is_ok(),
        Type::Int4 => i32::try_from(*n).is_ok(),
        _ => true,
    };
    trimmed.parse::<i64>().ok().filter(in_range).ok_or_else(|| {
        Error::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value \"{text}\" is out of range for type {ty}"),
        )
    })
}

/// Reads an oid or an alias of it, in digits.
pub fn parse_oid(text: &str, ty: SystemType) -> Result<u32> {
    let trimmed = trim(text);
    let digits = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    watch::count(digits.len());
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(invalid_syntax(ty.name(), text));
    }
    // A negative number stands for the 32 bits of its two's complement.
    let n = trimmed.parse::<i64>().ok();
    let unsigned = n.and_then(|n| u32::try_from(n).ok().or_else(|| i32::try_from(n).ok().map(|n| n as u32)));
    unsigned.ok_or_else(|| {
        Error::new(
            SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
            format!("value \"{text}\" is out of range for type {}", ty.name()),
        )
    })
}

/// The number of a `tid`: `(0,1)` is 1, `(1,0)` 65536. As PostgreSQL reads it, but that the first number has 48 bits: rows are
/// told apart by numbers of 64.
pub fn parse_tid(text: &str) -> Result<i64> {
    let wrong = || invalid_syntax("tid", text);
    watch::count(text.len());
    let (_, rest) = text.split_once(['(', ',']).ok_or_else(wrong)?;
    let (block, rest) = rest.split_once(',').ok_or_else(wrong)?;
    let (offset, _) = rest.split_once(')').ok_or_else(wrong)?;
    let number = |text: &str| text.trim_start().parse::<i64>().map_err(|_| wrong());
    let (block, offset) = (number(block)?, number(offset)?);
    // A negative number stands for the 32 bits of its two's complement.
    let block = i32::try_from(block).map_or(block, |block| i64::from(block as u32));
    if !(0..1 << 48).contains(&block) || !(0..1 << 16).contains(&offset) {
        return Err(wrong());
    }
    Ok(block << 16 | offset)
}

/// Appends the text form of a `tid`.
pub fn write_tid(out: &mut Vec<u8>, n: i64) {
    out.push(b'(');
    write_int(out, (n as u64 >> 16) as i64);
    out.push(b',');
    write_int(out, n & 0xffff);
    out.push(b')');
}

/// The longest beginning of at most `n` bytes that cuts no character.
pub fn first_bytes(text: &str, n: usize) -> &str {
    let mut end = text.len().min(n);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Appends a field of a record: quoted where it could be taken for something else.
pub fn write_record_field(out: &mut Vec<u8>, text: &[u8]) {
    watch::count(text.len());
    let special = |b: &u8| matches!(b, b'"' | b'\\' | b'(' | b')' | b',') || is_space(*b);
    if !text.is_empty() && !text.iter().any(special) {
        return out.extend_from_slice(text);
    }
    out.push(b'"');
    for b in text {
        if matches!(b, b'"' | b'\\') {
            out.push(*b);
        }
        out.push(*b);
    }
    out.push(b'"');
}

/// Reads a boolean: a unique prefix of true, false, yes, no, on, off, or 1, 0.
pub fn parse_bool(text: &str) -> Result<bool> {
    let word = trim(text).to_ascii_lowercase();
    let starts = |full: &str, at_least: usize| word.len() >= at_least && full.starts_with(&word);
    if starts("true", 1) || starts("yes", 1) || starts("on", 2) || word == "1" {
        Ok(true)
    } else if starts("false", 1) || starts("no", 1) || starts("off", 2) || word == "0" {
        Ok(false)
    } else {
        Err(invalid_syntax("boolean", text))
    }
}

/// Appends lower-case hexadecimal digits.
pub fn write_hex(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    watch::count(bytes.len() * 2);
    out.reserve(bytes.len() * 2);
    for b in bytes {
        out.extend([DIGITS[(b >> 4) as usize], DIGITS[(b & 15) as usize]]);
    }
}

fn hex_digit(b: u8) -> Option<u8> {
    (b as char).to_digit(16).map(|d| d as u8)
}

/// Reads pairs of hexadecimal digits, blanks between pairs allowed.
pub fn parse_hex(text: &[u8]) -> Result<Vec<u8>> {
    watch::admit(text.len() / 2)?;
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut pace = Pace::default();
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        if matches!(first, b' ' | b'\n' | b'\t' | b'\r') {
            rest = tail;
            pace.step(1)?;
            continue;
        }
        let high = hex_digit(*first).ok_or_else(|| invalid_digit(rest))?;
        let [second, tail @ ..] = tail else {
            let message = "invalid hexadecimal data: odd number of digits";
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        };
        let low = hex_digit(*second).ok_or_else(|| invalid_digit(&rest[1..]))?;
        bytes.push(high << 4 | low);
        rest = tail;
        pace.step(2)?;
    }
    Ok(bytes)
}

/// Of the character that a text begins with.
#[cold]
fn invalid_digit(text: &[u8]) -> Error {
    let first = String::from_utf8_lossy(&text[..text.len().min(4)]);
    let c = first.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
    Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("invalid hexadecimal digit: \"{c}\""))
}

/// Appends a bytea: `\x` and hexadecimal digits, or its bytes with `\\` and `\ooo` escapes.
pub fn write_bytea(out: &mut Vec<u8>, bytes: &[u8], form: BytesForm) {
    if form == BytesForm::Escape {
        return write_escaped_bytes(out, bytes);
    }
    out.extend_from_slice(b"\\x");
    write_hex(out, bytes);
}

fn write_escaped_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    for byte in bytes {
        match byte {
            b'\\' => out.extend_from_slice(b"\\\\"),
            0x20..=0x7e => out.push(*byte),
            _ => out.extend([b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]),
        }
    }
}

/// Reads a bytea in either format: `\x..`, or bytes with `\\` and `\ooo` escapes.
pub fn parse_bytea(text: &[u8]) -> Result<Vec<u8>> {
    if let [b'\\', b'x', digits @ ..] = text {
        return parse_hex(digits);
    }
    parse_escaped_bytes(text)
}

/// Reads bytes with `\\` and `\ooo` escapes.
pub fn parse_escaped_bytes(text: &[u8]) -> Result<Vec<u8>> {
    let octal = |b: u8, most: u8| (b'0'..=most).contains(&b).then(|| b - b'0');
    watch::admit(text.len())?;
    let mut bytes = Vec::with_capacity(text.len());
    let mut pace = Pace::default();
    let mut rest = text;
    while let [first, tail @ ..] = rest {
        pace.step(1)?;
        rest = match (first, tail) {
            (b'\\', [b'\\', tail @ ..]) => {
                bytes.push(b'\\');
                tail
            }
            (b'\\', [a, b, c, tail @ ..]) if octal(*a, b'3').is_some() => {
                match (octal(*a, b'3'), octal(*b, b'7'), octal(*c, b'7')) {
                    (Some(a), Some(b), Some(c)) => bytes.push(a << 6 | b << 3 | c),
                    _ => return Err(invalid_bytea()),
                }
                tail
            }
            (b'\\', _) => return Err(invalid_bytea()),
            (plain, tail) => {
                bytes.push(*plain);
                tail
            }
        };
    }
    Ok(bytes)
}

#[cold]
fn invalid_bytea() -> Error {
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type bytea")
}

/// Appends a uuid in its standard form.
pub fn write_uuid(out: &mut Vec<u8>, uuid: &[u8; 16]) {
    for (i, b) in uuid.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        write_hex(out, std::slice::from_ref(b));
    }
}

/// Reads a uuid: 32 digits, a hyphen allowed after any group of four, braces around allowed.
pub fn parse_uuid(text: &str) -> Result<[u8; 16]> {
    let invalid = || invalid_syntax("uuid", text);
    let mut rest = text.as_bytes();
    let braces = rest.first() == Some(&b'{');
    if braces {
        rest = &rest[1..];
    }
    let mut uuid = [0u8; 16];
    for (i, byte) in uuid.iter_mut().enumerate() {
        let [a, b, tail @ ..] = rest else { return Err(invalid()) };
        *byte = hex_digit(*a).ok_or_else(invalid)? << 4 | hex_digit(*b).ok_or_else(invalid)?;
        rest = tail;
        if i % 2 == 1
            && i < 15
            && let [b'-', tail @ ..] = rest
        {
            rest = tail;
        }
    }
    let end: &[u8] = if braces { b"}" } else { b"" };
    if rest == end { Ok(uuid) } else { Err(invalid()) }
}

/// What makes a number an ordinal: `st`, `nd`, `rd` or `th`.
pub(crate) const fn ordinal(number: u64, upper: bool) -> &'static str {
    match (number % 10, number / 10 % 10, upper) {
        (1, 0 | 2.., true) => "ST",
        (2, 0 | 2.., true) => "ND",
        (3, 0 | 2.., true) => "RD",
        (_, _, true) => "TH",
        (1, 0 | 2.., _) => "st",
        (2, 0 | 2.., _) => "nd",
        (3, 0 | 2.., _) => "rd",
        _ => "th",
    }
}
