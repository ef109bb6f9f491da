//! Parts of a JSON text, which are parts of the text: nothing is copied, and what is passed by is not taken apart.
//!
//! The text has been checked before. Of a key that is there twice, as `json` may have it, the last one counts.

use super::Lexer;
use super::value::unquoted;
use crate::{Result, watch};
use std::borrow::Cow;

/// What a JSON value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `null`
    Null,
    /// `true`, `false`
    Bool,
    /// A number
    Number,
    /// A string
    String,
    /// An array
    Array,
    /// An object
    Object,
}

impl Kind {
    /// As `json_typeof` has it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Null => "null",
            Kind::Bool => "boolean",
            Kind::Number => "number",
            Kind::String => "string",
            Kind::Array => "array",
            Kind::Object => "object",
        }
    }

    /// Whether it is neither an object nor an array.
    pub const fn is_scalar(self) -> bool {
        !matches!(self, Kind::Array | Kind::Object)
    }
}

/// What a JSON text is.
pub fn kind(text: &str) -> Kind {
    match text.bytes().find(|b| !matches!(b, b' ' | b'\t' | b'\n' | b'\r')) {
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b'"') => Kind::String,
        Some(b't' | b'f') => Kind::Bool,
        Some(b'n') | None => Kind::Null,
        Some(_) => Kind::Number,
    }
}

/// The elements of an array, or the values of an object with their keys, one after the other; nothing of a scalar.
pub struct Parts<'a> {
    lexer: Lexer<'a>,
    object: bool,
    done: bool,
}

/// A part of an array or object.
pub struct Part<'a> {
    /// In quotes, with its escapes; of an object's part.
    key: &'a str,
    /// The value, as it stands.
    pub value: &'a str,
}

impl<'a> Part<'a> {
    /// The key as it is written, in its quotes; empty of an element.
    pub fn quoted_key(&self) -> &'a str {
        self.key
    }
    /// The key.
    pub fn key(&self) -> Result<Cow<'a, str>> {
        unquoted(self.key)
    }

    fn has_key(&self, key: &str) -> Result<bool> {
        let inner = &self.key.as_bytes()[1..self.key.len() - 1];
        Ok(inner == key.as_bytes() && !key.contains('\\') || self.key.contains('\\') && self.key()? == key)
    }
}

/// See [`Parts`].
pub fn parts(text: &str) -> Result<Parts<'_>> {
    watch::count(text.len());
    let mut lexer = Lexer::new(text);
    let first = lexer.next()?;
    Ok(Parts { lexer, object: first == "{", done: first != "{" && first != "[" })
}

impl<'a> Parts<'a> {
    /// The next one.
    #[allow(clippy::should_implement_trait, reason = "it may fail")]
    pub fn next(&mut self) -> Result<Option<Part<'a>>> {
        if self.done {
            return Ok(None);
        }
        let mut token = self.lexer.next()?;
        if token == "," {
            token = self.lexer.next()?;
        }
        if matches!(token, "]" | "}" | "") {
            self.done = true;
            return Ok(None);
        }
        let mut key = "";
        if self.object {
            key = token;
            self.lexer.next()?;
            token = self.lexer.next()?;
        }
        let start = self.lexer.at - token.len();
        if matches!(token, "{" | "[") {
            let mut depth = 1;
            while depth > 0 {
                match self.lexer.next()? {
                    "{" | "[" => depth += 1,
                    "}" | "]" => depth -= 1,
                    "" => break,
                    _ => {}
                }
            }
        }
        Ok(Some(Part { key, value: &self.lexer.text[start..self.lexer.at] }))
    }

    /// How many are left.
    pub fn count(mut self) -> Result<usize> {
        let mut n = 0;
        while self.next()?.is_some() {
            n += 1;
        }
        Ok(n)
    }
}

/// The value of a key of an object.
pub fn field<'a>(text: &'a str, key: &str) -> Result<Option<&'a str>> {
    if kind(text) != Kind::Object {
        return Ok(None);
    }
    let mut parts = parts(text)?;
    let mut found = None;
    while let Some(part) = parts.next()? {
        if part.has_key(key)? {
            found = Some(part.value);
        }
    }
    Ok(found)
}

/// An element of an array, counted from 0, or from -1 backwards.
pub fn element(text: &str, index: i64) -> Result<Option<&str>> {
    if kind(text) != Kind::Array {
        return Ok(None);
    }
    let mut all = parts(text)?;
    let mut skip = index;
    if index < 0 {
        skip += parts(text)?.count()? as i64;
        if skip < 0 {
            return Ok(None);
        }
    }
    while let Some(part) = all.next()? {
        if skip == 0 {
            return Ok(Some(part.value));
        }
        skip -= 1;
    }
    Ok(None)
}

/// What a step of a path leads to: a key of an object, or the number of an element.
pub fn step<'a>(text: &'a str, step: &str) -> Result<Option<&'a str>> {
    match kind(text) {
        Kind::Object => field(text, step),
        Kind::Array => match index(step) {
            Some(index) => element(text, index),
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

/// A step of a path as the number of an element.
pub(super) fn index(step: &str) -> Option<i64> {
    let digits = step.trim_start_matches([' ', '\t', '\n', '\r']);
    digits.parse::<i32>().ok().map(i64::from)
}

/// A value as a text: strings without quotes and escapes, all else as it stands; nothing of `null`.
pub fn as_text(value: &str) -> Result<Option<Cow<'_, str>>> {
    match kind(value) {
        Kind::Null => Ok(None),
        Kind::String => {
            watch::count(value.len());
            unquoted(value.trim_matches([' ', '\t', '\n', '\r'])).map(Some)
        }
        _ => Ok(Some(Cow::Borrowed(value))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_parts_of_the_text() {
        let text = r#" {"a" : [1, {"b": "x\n"} , "]"], "b\"":2 ,"a":3, "" : null } "#;
        assert_eq!(field(text, "a").unwrap(), Some("3"));
        assert_eq!(field(text, "b\"").unwrap(), Some("2"));
        assert_eq!(field(text, "b\\\"").unwrap(), None);
        assert_eq!(field(text, "").unwrap(), Some("null"));
        assert_eq!(parts(text).unwrap().count().unwrap(), 4);
        let array = r#"[1, {"b": "x\n"} , "]"]"#;
        assert_eq!(element(array, 1).unwrap(), Some(r#"{"b": "x\n"}"#));
        assert_eq!(element(array, -1).unwrap(), Some(r#""]""#));
        assert_eq!([element(array, 3).unwrap(), element(array, -4).unwrap()], [None, None]);
        assert_eq!(step(array, "1").unwrap().and_then(|t| step(t, "b").unwrap()), Some(r#""x\n""#));
        assert_eq!(as_text(r#""x\nä""#).unwrap().as_deref(), Some("x\nä"));
    }
}
