//! LIKE: a matcher over bytes without allocation.
//!
//! Patterns that are a literal with `%` at one or both ends (nearly all) are a comparison or a
//! search. The rest runs the usual scan with one backtracking point: at the last `%`, which is
//! enough, because an earlier one can only match less. The byte behind a `%` is searched for.

use super::text::fold_case;
use planaria_base::watch::Pace;
use planaria_base::{Error, Result, SqlState};

/// Whether `text` matches; `escape` is empty for none.
pub fn like(text: &[u8], pattern: &[u8], escape: &[u8]) -> Result<bool> {
    let escape = escape_byte(escape)?;
    if let Some(matches) = literal_match(text, pattern, escape) {
        return Ok(matches);
    }
    general(text, pattern, escape)
}

/// ILIKE. Escapes are resolved before the case is folded, so that an escape letter stays one.
pub fn ilike(text: &str, pattern: &str, escape: &str) -> Result<bool> {
    let mut folded = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    let escape = escape_byte(escape.as_bytes())?.and(escape.chars().next());
    while let Some(c) = rest.next() {
        match c {
            c if Some(c) == escape => {
                folded.push('\\');
                folded.extend(rest.next());
            }
            '\\' => folded.push_str("\\\\"),
            c => folded.push(c),
        }
    }
    like(fold_case(text).as_bytes(), fold_case(&folded).as_bytes(), b"\\")
}

/// The escape character's bytes; PostgreSQL's rule is one character or none.
fn escape_byte(escape: &[u8]) -> Result<Option<&[u8]>> {
    match planaria_base::text_io::count_chars(escape) {
        0 => Ok(None),
        1 => Ok(Some(escape)),
        _ => Err(Error::new(SqlState::INVALID_ESCAPE_SEQUENCE, "invalid escape string")
            .with_hint("Escape string must be empty or one character.")),
    }
}

/// For patterns `lit`, `lit%`, `%lit`, `%lit%`.
#[inline]
fn literal_match(text: &[u8], pattern: &[u8], escape: Option<&[u8]>) -> Option<bool> {
    let (open_start, rest) = match pattern {
        [b'%', rest @ ..] => (true, rest),
        all => (false, all),
    };
    let (open_end, literal) = match rest {
        [literal @ .., b'%'] => (true, literal),
        all => (false, all),
    };
    let escape = escape.and_then(|e| e.first().copied());
    if literal.iter().any(|b| matches!(b, b'%' | b'_') || Some(*b) == escape) {
        return None;
    }
    Some(match (open_start, open_end) {
        (false, false) => text == literal,
        (false, true) => text.starts_with(literal),
        (true, false) => text.ends_with(literal),
        (true, true) => contains(text, literal),
    })
}

/// Texts up to this are searched without preparing anything: that would take longer than the search.
const SHORT_MAX: usize = 256;

fn contains(text: &[u8], literal: &[u8]) -> bool {
    match literal {
        [first, rest @ ..] if literal.len() <= text.len() && text.len() <= SHORT_MAX => {
            let starts = &text[..=text.len() - literal.len()];
            memchr::memchr_iter(*first, starts).any(|at| text[at + 1..].starts_with(rest))
        }
        _ => memchr::memmem::find(text, literal).is_some(),
    }
}

fn general(text: &[u8], pattern: &[u8], escape: Option<&[u8]>) -> Result<bool> {
    let (mut t, mut p) = (0, 0);
    // Where to go on when a literal fails: the pattern behind the last `%`, the text position tried
    // for it, and the byte that a position must have.
    let mut retry: Option<(usize, usize, u8)> = None;
    let mut pace = Pace::default();
    loop {
        if p == pattern.len() && t == text.len() {
            return Ok(true);
        }
        if t == text.len() && !pattern[p..].starts_with(b"%") {
            // What is left of the pattern needs more text, and a later start has even less.
            return Ok(false);
        }
        let stepped = match step(&pattern[p..], escape)? {
            Token::Any(len) => {
                p += len;
                // `_` behind `%` is taken at once, so that a retry starts at a literal.
                let first = loop {
                    match step(&pattern[p..], escape)? {
                        Token::Any(len) => p += len,
                        Token::One if t == text.len() => return Ok(false),
                        Token::One => {
                            t += char_len(text[t]);
                            p += 1;
                        }
                        Token::Literal(bytes, _) => break bytes[0],
                        Token::End => return Ok(true),
                    }
                };
                let Some(skipped) = memchr::memchr(first, &text[t..]) else { return Ok(false) };
                t += skipped;
                retry = Some((p, t, first));
                continue;
            }
            Token::One if t < text.len() => Some((1, char_len(text[t]))),
            Token::Literal(bytes, len) if text[t..].starts_with(bytes) => Some((len, bytes.len())),
            _ => None,
        };
        match (stepped, &mut retry) {
            (Some((pattern_len, text_len)), _) => {
                p += pattern_len;
                t += text_len;
            }
            (None, Some((resume, tried, first))) => {
                pace.step(t - *tried + 1)?;
                let Some(skipped) = memchr::memchr(*first, &text[*tried + 1..]) else { return Ok(false) };
                *tried += 1 + skipped;
                (p, t) = (*resume, *tried);
            }
            _ => return Ok(false),
        }
    }
}

enum Token<'a> {
    /// `%`, with its length in the pattern.
    Any(usize),
    /// `_`
    One,
    /// A character, with its length in the pattern.
    Literal(&'a [u8], usize),
    End,
}

fn step<'a>(pattern: &'a [u8], escape: Option<&[u8]>) -> Result<Token<'a>> {
    let Some(first) = pattern.first() else { return Ok(Token::End) };
    if let Some(escape) = escape
        && let Some(escaped) = pattern.strip_prefix(escape)
    {
        let Some(next) = escaped.first() else {
            return Err(Error::new(
                SqlState::INVALID_ESCAPE_SEQUENCE,
                "LIKE pattern must not end with escape character",
            ));
        };
        let len = char_len(*next);
        return Ok(Token::Literal(&escaped[..len], escape.len() + len));
    }
    Ok(match first {
        b'%' => Token::Any(1),
        b'_' => Token::One,
        other => {
            let len = char_len(*other);
            Token::Literal(&pattern[..len], len)
        }
    })
}

/// Length of the UTF-8 character that starts with this byte.
#[inline]
pub(super) fn char_len(first: u8) -> usize {
    match first {
        0..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}
