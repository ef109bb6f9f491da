//! `citext`: texts that are compared without regard to case, PostgreSQL's extension of that name.
//!
//! A value keeps the letters that it was written with; what counts is its [`fold`], the text that `lower` makes of it. Equality,
//! order, hashes and index keys are those of the folded text.

use std::borrow::Cow;
use std::cmp::Ordering;

/// A mapping to one character; others (`İ` to `i̇`) are left out, as the C library does.
pub fn single(original: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => original,
    }
}

/// What is compared of a value. Bytes that are no UTF-8 stay as they are.
pub fn fold(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.is_ascii() {
        return match bytes.iter().any(u8::is_ascii_uppercase) {
            true => Cow::Owned(bytes.to_ascii_lowercase()),
            false => Cow::Borrowed(bytes),
        };
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let lower = |c: char| single(c, c.to_lowercase());
            Cow::Owned(text.chars().map(lower).collect::<String>().into_bytes())
        }
        Err(_) => Cow::Borrowed(bytes),
    }
}

/// The order of two values.
pub fn compare(a: &[u8], b: &[u8]) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    fold(a).cmp(&fold(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_either_case_are_equal() {
        assert_eq!(compare(b"Foo@Bar", b"fOO@bAR"), Ordering::Equal);
        assert_eq!(compare("ÄÖÜ".as_bytes(), "äöü".as_bytes()), Ordering::Equal);
        assert_eq!(compare(b"a", b"B"), Ordering::Less);
        assert_eq!(compare(b"_", b"A"), Ordering::Less, "as lower case has it");
        assert_eq!(fold(&[0xff, b'A']), &[0xff, b'A'][..]);
    }
}
