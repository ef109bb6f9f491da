//! Array literals: `{1,2,NULL,"a b"}`.

use super::{is_space, trim};
use crate::error::{Error, Result, SqlState};
use crate::watch::{self, Pace};

#[cold]
fn malformed(text: &str, detail: &str) -> Error {
    watch::count(text.len());
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("malformed array literal: \"{text}\""))
        .with_detail(detail)
}

/// Splits an array literal into the texts of its elements; `None` is an unquoted NULL.
///
/// One dimension with lower bound 1; nested braces and explicit bounds are 0A000.
pub fn parse_array(text: &str) -> Result<Vec<Option<String>>> {
    let trimmed = trim(text);
    let bytes = trimmed.as_bytes();
    match bytes.first() {
        Some(b'{') => {}
        Some(b'[') => {
            return Err(Error::unsupported(
                "array literals with explicit bounds are not supported",
                "Arrays start at 1 here.",
            ));
        }
        _ => {
            return Err(malformed(text, "Array value must start with \"{\" or dimension information."));
        }
    }
    let mut elements = Vec::new();
    let mut pace = Pace::default();
    let mut at = 1;
    skip_spaces(bytes, &mut at);
    if bytes.get(at) == Some(&b'}') {
        return end(text, bytes, at + 1, elements);
    }
    loop {
        let start = at;
        elements.push(element(text, bytes, &mut at)?);
        pace.step(at - start + size_of::<Option<String>>())?;
        // Each takes far more than its text.
        if elements.len().is_power_of_two() {
            watch::admit(2 * elements.len() * size_of::<Option<String>>())?;
        }
        skip_spaces(bytes, &mut at);
        match bytes.get(at) {
            Some(b',') => at += 1,
            Some(b'}') => return end(text, bytes, at + 1, elements),
            None => return Err(malformed(text, "Unexpected end of input.")),
            Some(_) => return Err(malformed(text, "Unexpected array element.")),
        }
    }
}

fn end(text: &str, bytes: &[u8], at: usize, elements: Vec<Option<String>>) -> Result<Vec<Option<String>>> {
    if at == bytes.len() { Ok(elements) } else { Err(malformed(text, "Junk after closing right brace.")) }
}

fn skip_spaces(bytes: &[u8], at: &mut usize) {
    let start = *at;
    while bytes.get(*at).is_some_and(|b| is_space(*b)) {
        *at += 1;
    }
    watch::count(*at - start);
}

fn element(text: &str, bytes: &[u8], at: &mut usize) -> Result<Option<String>> {
    skip_spaces(bytes, at);
    let mut value = Vec::new();
    let mut quoted = false;
    // Up to here the value is kept even if it is blanks: they are quoted or escaped.
    let mut kept = 0;
    loop {
        match bytes.get(*at) {
            None => return Err(malformed(text, "Unexpected end of input.")),
            Some(b'"') => {
                if quoted || !value.is_empty() {
                    return Err(malformed(text, "Unexpected array element."));
                }
                quoted = true;
                *at += 1;
                quoted_part(text, bytes, at, &mut value)?;
                kept = value.len();
            }
            Some(b'\\') => {
                let Some(escaped) = bytes.get(*at + 1) else {
                    return Err(malformed(text, "Unexpected end of input."));
                };
                value.push(*escaped);
                kept = value.len();
                *at += 2;
            }
            Some(b'{') => {
                return Err(Error::unsupported(
                    "arrays of more than one dimension are not supported",
                    "Use a table, or one array for each column.",
                ));
            }
            Some(b',' | b'}') => break,
            Some(b) => {
                if quoted && !is_space(*b) {
                    return Err(malformed(text, "Unexpected array element."));
                }
                if !quoted {
                    value.push(*b);
                    if !is_space(*b) {
                        kept = value.len();
                    }
                }
                *at += 1;
            }
        }
    }
    value.truncate(kept);
    if !quoted && value.is_empty() {
        let found = bytes[*at] as char;
        return Err(malformed(text, &format!("Unexpected \"{found}\" character.")));
    }
    if !quoted && value.eq_ignore_ascii_case(b"null") {
        return Ok(None);
    }
    String::from_utf8(value).map(Some).map_err(|_| malformed(text, "Unexpected array element."))
}

fn quoted_part(text: &str, bytes: &[u8], at: &mut usize, value: &mut Vec<u8>) -> Result<()> {
    loop {
        match bytes.get(*at) {
            None => return Err(malformed(text, "Unexpected end of input.")),
            Some(b'"') => {
                *at += 1;
                return Ok(());
            }
            Some(b'\\') => {
                let Some(escaped) = bytes.get(*at + 1) else {
                    return Err(malformed(text, "Unexpected end of input."));
                };
                value.push(*escaped);
                *at += 2;
            }
            Some(b) => {
                value.push(*b);
                *at += 1;
            }
        }
    }
}

/// Appends the text of an element that is not NULL, quoted where it must be.
pub fn write_array_element(out: &mut Vec<u8>, text: &[u8]) {
    watch::count(text.len());
    let special = |b: &u8| matches!(b, b'{' | b'}' | b',' | b'"' | b'\\') || is_space(*b);
    let quote = text.is_empty() || text.eq_ignore_ascii_case(b"null") || text.iter().any(special);
    if !quote {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    for b in text {
        if matches!(b, b'"' | b'\\') {
            out.push(b'\\');
        }
        out.push(*b);
    }
    out.push(b'"');
}
