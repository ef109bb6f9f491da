//! What stands between the quotes: strings and names with their escapes resolved.

use planaria_base::{Error, Result, SqlState, watch};

use super::lex::{Kind, Token, continuation};

/// Longest name in bytes; longer ones are cut, as PostgreSQL does (`NAMEDATALEN - 1`).
const NAME_BYTES_MAX: usize = 63;

/// `22021`: bytes that are not text.
const CHARACTER_NOT_IN_REPERTOIRE: SqlState = SqlState::new("22021");

/// A name without quotes: lower case (ASCII only), cut to its longest.
pub(crate) fn fold(word: &str) -> String {
    cut(word.to_ascii_lowercase())
}

fn cut(mut name: String) -> String {
    if name.len() > NAME_BYTES_MAX {
        let mut end = NAME_BYTES_MAX;
        while !name.is_char_boundary(end) {
            end -= 1;
        }
        name.truncate(end);
    }
    name
}

/// The name in `"name"`.
pub(crate) fn quoted_name(text: &str) -> String {
    cut(text[1..text.len() - 1].replace("\"\"", "\""))
}

/// The name in `U&"name"`.
pub(crate) fn unicode_name(text: &str, escape: char, position: u32) -> Result<String> {
    let inner = text[3..text.len() - 1].replace("\"\"", "\"");
    unicode(&inner, escape, position).map(cut)
}

/// The text of a string token. `escape` counts for `U&''` only.
pub(crate) fn string(token: Token, text: &str, escape: char) -> Result<String> {
    let raw = token.text(text);
    watch::count(raw.len());
    let value = match token.kind {
        Kind::DollarString => {
            let tag = raw[1..].find('$').map_or(0, |at| at + 2);
            raw[tag..raw.len() - tag].to_owned()
        }
        Kind::String => unquote(&raw[raw.find('\'').map_or(0, |at| at + 1)..]),
        Kind::UnicodeString => unicode(&unquote(&raw[3..]), escape, token.start)?,
        Kind::EscapeString => escaped(&raw[2..], token.start)?,
        Kind::BitString => {
            let mut bits = raw[..1].to_ascii_lowercase();
            bits.push_str(&unquote(&raw[2..]));
            bits
        }
        other => unreachable!("{other:?} is no string"),
    };
    if value.contains('\0') {
        return Err(invalid_byte(0, token.start));
    }
    Ok(value)
}

/// The text behind an opening quote up to its closing one, continuations included.
fn unquote(raw: &str) -> String {
    let mut value = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find('\'') {
        value.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(more) = rest.strip_prefix('\'') {
            value.push('\'');
            rest = more;
        } else {
            match continuation(rest.as_bytes()) {
                Some(skip) => rest = &rest[skip..],
                None => break,
            }
        }
    }
    value
}

fn invalid_byte(byte: u8, position: u32) -> Error {
    let message = format!("invalid byte sequence for encoding \"UTF8\": 0x{byte:02x}");
    Error::new(CHARACTER_NOT_IN_REPERTOIRE, message).at(position)
}

fn bad_escape(message: &str, position: u32) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message).at(position)
}

/// An `E''` string behind its opening quote.
fn escaped(raw: &str, position: u32) -> Result<String> {
    let bytes = raw.as_bytes();
    let mut value: Vec<u8> = Vec::with_capacity(raw.len());
    let mut at = 0;
    let mut utf16 = Utf16::default();
    loop {
        match bytes[at] {
            b'\'' if bytes.get(at + 1) == Some(&b'\'') => {
                value.push(b'\'');
                at += 2;
            }
            b'\'' => match continuation(&bytes[at + 1..]) {
                Some(skip) => at += 1 + skip,
                None => break,
            },
            b'\\' => {
                let letter = bytes[at + 1];
                at += 2;
                match letter {
                    b'b' => value.push(8),
                    b'f' => value.push(12),
                    b'n' => value.push(b'\n'),
                    b'r' => value.push(b'\r'),
                    b't' => value.push(b'\t'),
                    b'0'..=b'7' => {
                        let digits = run(&bytes[at - 1..], 3, |b| matches!(b, b'0'..=b'7'));
                        let code = u32::from_str_radix(&raw[at - 1..at - 1 + digits], 8).unwrap_or(0);
                        value.push(code as u8);
                        at += digits - 1;
                    }
                    b'x' if bytes[at].is_ascii_hexdigit() => {
                        let digits = run(&bytes[at..], 2, |b| b.is_ascii_hexdigit());
                        value.push(u8::from_str_radix(&raw[at..at + digits], 16).unwrap_or(0));
                        at += digits;
                    }
                    b'u' | b'U' => {
                        let want = if letter == b'u' { 4 } else { 8 };
                        if run(&bytes[at..], want, |b| b.is_ascii_hexdigit()) < want {
                            return Err(bad_escape("invalid Unicode escape", position)
                                .with_hint("Unicode escapes must be \\uXXXX or \\UXXXXXXXX."));
                        }
                        let code = u32::from_str_radix(&raw[at..at + want], 16).unwrap_or(0);
                        at += want;
                        if let Some(c) = utf16.push(code, position)? {
                            value.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                        }
                        continue;
                    }
                    other => value.push(other),
                }
            }
            other => {
                value.push(other);
                at += 1;
            }
        }
        utf16.end(position)?;
    }
    utf16.end(position)?;
    if value.contains(&0) {
        return Err(invalid_byte(0, position));
    }
    String::from_utf8(value).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        invalid_byte(e.as_bytes()[at], position)
    })
}

fn run(bytes: &[u8], max: usize, accept: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take(max).take_while(|b| accept(**b)).count()
}

/// `\XXXX`, `\+XXXXXX` and `\\` with any escape character.
fn unicode(inner: &str, escape: char, position: u32) -> Result<String> {
    let mut value = String::with_capacity(inner.len());
    let mut rest = inner;
    let mut utf16 = Utf16::default();
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != escape {
            utf16.end(position)?;
            value.push(c);
            continue;
        }
        if let Some(more) = rest.strip_prefix(escape) {
            utf16.end(position)?;
            value.push(escape);
            rest = more;
            continue;
        }
        let (digits, want) = match rest.strip_prefix('+') {
            Some(long) => (long, 6),
            None => (rest, 4),
        };
        if run(digits.as_bytes(), want, |b| b.is_ascii_hexdigit()) < want {
            return Err(bad_escape("invalid Unicode escape", position)
                .with_hint("Unicode escapes must be \\XXXX or \\+XXXXXX."));
        }
        let code = u32::from_str_radix(&digits[..want], 16).unwrap_or(0);
        rest = &digits[want..];
        value.extend(utf16.push(code, position)?);
    }
    utf16.end(position)?;
    Ok(value)
}

/// Joins the two halves of a surrogate pair.
#[derive(Default)]
struct Utf16 {
    high: Option<u32>,
}

impl Utf16 {
    fn push(&mut self, code: u32, position: u32) -> Result<Option<char>> {
        match (self.high.take(), code) {
            (None, 0xd800..=0xdbff) => {
                self.high = Some(code);
                Ok(None)
            }
            (Some(high), 0xdc00..=0xdfff) => {
                Ok(char::from_u32(0x10000 + ((high & 0x3ff) << 10) + (code & 0x3ff)))
            }
            (Some(_), _) | (None, 0xdc00..=0xdfff) => {
                Err(bad_escape("invalid Unicode surrogate pair", position))
            }
            (None, code) => match char::from_u32(code) {
                Some(c) if c != '\0' => Ok(Some(c)),
                _ => Err(bad_escape("invalid Unicode escape value", position)),
            },
        }
    }

    /// Nothing but the second half may follow the first.
    fn end(&self, position: u32) -> Result<()> {
        match self.high {
            Some(_) => Err(bad_escape("invalid Unicode surrogate pair", position)),
            None => Ok(()),
        }
    }
}
