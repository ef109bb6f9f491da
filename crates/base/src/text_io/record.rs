//! Literals of rows: `(1,"a b",)`.

use super::is_space;
use crate::error::{Error, Result, SqlState};
use crate::watch;

#[cold]
fn malformed(text: &str, detail: &str) -> Error {
    watch::count(text.len());
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, format!("malformed record literal: \"{text}\""))
        .with_detail(detail)
}

/// Splits the literal of a row of so many fields into their texts; `None`: NULL, of which nothing is written.
pub fn parse_record(text: &str, fields: usize) -> Result<Vec<Option<String>>> {
    watch::count(text.len());
    let wrong = |detail: &str| Err(malformed(text, detail));
    let bytes = text.as_bytes();
    let mut at = 0;
    let skip = |at: &mut usize| {
        while bytes.get(*at).is_some_and(|b| is_space(*b)) {
            *at += 1;
        }
    };
    skip(&mut at);
    if bytes.get(at) != Some(&b'(') {
        return wrong("Missing left parenthesis.");
    }
    at += 1;
    let mut texts = Vec::with_capacity(fields);
    for i in 0..fields {
        if i > 0 {
            if bytes.get(at) != Some(&b',') {
                return wrong("Too few columns.");
            }
            at += 1;
        }
        if matches!(bytes.get(at), Some(b',' | b')')) {
            texts.push(None);
            continue;
        }
        let mut field = Vec::new();
        let mut quoted = false;
        loop {
            let Some(b) = bytes.get(at).copied() else { return wrong("Unexpected end of input.") };
            if !quoted && matches!(b, b',' | b')') {
                break;
            }
            at += 1;
            match b {
                b'\\' => {
                    let Some(next) = bytes.get(at) else { return wrong("Unexpected end of input.") };
                    field.push(*next);
                    at += 1;
                }
                b'"' if quoted && bytes.get(at) == Some(&b'"') => {
                    field.push(b'"');
                    at += 1;
                }
                b'"' => quoted = !quoted,
                b => field.push(b),
            }
        }
        // Whole characters were copied.
        texts.push(Some(String::from_utf8_lossy(&field).into_owned()));
    }
    if bytes.get(at) != Some(&b')') {
        return wrong("Too many columns.");
    }
    at += 1;
    skip(&mut at);
    if at < bytes.len() { wrong("Junk after right parenthesis.") } else { Ok(texts) }
}
