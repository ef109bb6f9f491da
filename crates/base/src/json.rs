//! JSON: whether a text is some, with PostgreSQL's errors; what it is made of ([`value`]), parts of it ([`part`]), what
//! becomes of it ([`change`]), and the language in which parts are asked for ([`path`]).
//!
//! A lexer and a parser with a stack of its own, in one pass: as deep as memory, in linear work.

pub mod change;
pub mod key;
pub mod part;
pub mod path;
pub mod value;

pub use value::{Json, canonical, comparable, compare};

use crate::watch::Pace;
use crate::{Error, Result, SqlState};

/// What the parser wants next.
#[derive(Clone, Copy, PartialEq)]
enum Want {
    Value,
    /// A value, or the end of an array that has just begun.
    Element,
    /// A key, or the end of an object that has just begun.
    Key,
    /// A key behind a comma.
    NextKey,
    Colon,
    /// Behind a value: a comma, or the end of what it is in.
    Next,
}

impl Want {
    /// In words; `array`: what a value stands in, if anything.
    fn words(self, array: Option<bool>) -> &'static str {
        match (self, array) {
            (Want::Value | Want::Element, _) => "JSON value",
            (Want::Key, _) => "string or \"}\"",
            (Want::NextKey, _) => "string",
            (Want::Colon, _) => "\":\"",
            (Want::Next, Some(true)) => "\",\" or \"]\"",
            (Want::Next, Some(false)) => "\",\" or \"}\"",
            (Want::Next, None) => "end of input",
        }
    }
}

/// 22P02 unless the text is JSON.
pub fn check(text: &str) -> Result<()> {
    let mut lexer = Lexer::new(text);
    // Whether each is an array, else an object.
    let mut open: Vec<bool> = Vec::new();
    let mut want = Want::Value;
    let mut pace = Pace::default();
    let mut before = 0;
    loop {
        pace.step(lexer.at - before)?;
        before = lexer.at;
        let start = lexer.skip_blanks();
        let token = lexer.token()?;
        let first = token.bytes().next();
        if first.is_none() && want == Want::Next && open.is_empty() {
            return Ok(());
        }
        want = match (want, first) {
            (Want::Value | Want::Element, Some(b'{')) => {
                open.push(false);
                Want::Key
            }
            (Want::Value | Want::Element, Some(b'[')) => {
                open.push(true);
                Want::Element
            }
            (Want::Element, Some(b']')) | (Want::Key, Some(b'}')) => {
                open.pop();
                Want::Next
            }
            (Want::Value | Want::Element, Some(b'"' | b'-' | b'0'..=b'9' | b'a'..=b'z')) => Want::Next,
            (Want::Key | Want::NextKey, Some(b'"')) => Want::Colon,
            (Want::Colon, Some(b':')) => Want::Value,
            (Want::Next, Some(b',')) if !open.is_empty() => match open.last() {
                Some(true) => Want::Value,
                _ => Want::NextKey,
            },
            (Want::Next, Some(b']')) if open.last() == Some(&true) => {
                open.pop();
                Want::Next
            }
            (Want::Next, Some(b'}')) if open.last() == Some(&false) => {
                open.pop();
                Want::Next
            }
            (_, None) => return Err(lexer.cut_short()),
            _ => {
                let expected = want.words(open.last().copied());
                debug_assert!(start < lexer.at);
                return Err(lexer.error(format!("Expected {expected}, but found \"{token}\".")));
            }
        };
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
    /// Where the present line begins.
    line: usize,
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0, line: 0 }
    }

    /// The next token behind blanks; empty at the end.
    fn next(&mut self) -> Result<&'a str> {
        self.skip_blanks();
        self.token()
    }

    /// 22P02 of a text that ends too early.
    fn cut_short(&self) -> Error {
        self.error("The input string ended unexpectedly.".to_owned())
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) -> usize {
        while let Some(b @ (b' ' | b'\t' | b'\n' | b'\r')) = self.peek() {
            self.at += 1;
            if b == b'\n' {
                self.line = self.at;
            }
        }
        self.at
    }

    /// The next token; empty at the end.
    fn token(&mut self) -> Result<&'a str> {
        let start = self.at;
        match self.peek() {
            None => {}
            Some(b'{' | b'}' | b'[' | b']' | b',' | b':') => self.at += 1,
            Some(b'"') => self.string(start)?,
            Some(b'-' | b'0'..=b'9') => self.number(start)?,
            Some(_) => {
                self.word();
                if self.at == start {
                    self.at += 1;
                }
                if !["true", "false", "null"].contains(&&self.text[start..self.at]) {
                    return Err(self.invalid(start));
                }
            }
        }
        Ok(&self.text[start..self.at])
    }

    fn word(&mut self) {
        while self.peek().is_some_and(is_word) {
            self.at += 1;
        }
    }

    fn string(&mut self, start: usize) -> Result<()> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err(self.invalid(start)),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(byte @ 0..0x20) => {
                    return Err(self.error(format!("Character with value 0x{byte:02x} must be escaped.")));
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape(start)?;
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn escape(&mut self, start: usize) -> Result<()> {
        match self.peek() {
            None => Err(self.invalid(start)),
            Some(b'u') => {
                self.at += 1;
                for _ in 0..4 {
                    match self.peek() {
                        None => return Err(self.invalid(start)),
                        Some(byte) if byte.is_ascii_hexdigit() => self.at += 1,
                        Some(_) => {
                            self.pass();
                            let detail = "\"\\u\" must be followed by four hexadecimal digits.";
                            return Err(self.error(detail.to_owned()));
                        }
                    }
                }
                Ok(())
            }
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 1;
                Ok(())
            }
            Some(_) => {
                let from = self.at;
                self.pass();
                Err(self.error(format!("Escape sequence \"\\{}\" is invalid.", &self.text[from..self.at])))
            }
        }
    }

    /// Passes over a character.
    fn pass(&mut self) {
        self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8);
    }

    fn digits(&mut self) -> bool {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        self.at > start
    }

    fn number(&mut self, start: usize) -> Result<()> {
        self.at += usize::from(self.peek() == Some(b'-'));
        let mut right = match self.peek() {
            Some(b'0') => {
                self.at += 1;
                true
            }
            _ => self.digits(),
        };
        if self.peek() == Some(b'.') {
            self.at += 1;
            right &= self.digits();
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            right &= self.digits();
        }
        // What follows at once belongs to it.
        let end = self.at;
        self.word();
        if right && self.at == end { Ok(()) } else { Err(self.invalid(start)) }
    }

    fn invalid(&self, start: usize) -> Error {
        self.error(format!("Token \"{}\" is invalid.", &self.text[start..self.at]))
    }

    #[cold]
    fn error(&self, detail: String) -> Error {
        let number = self.text[..self.line].bytes().filter(|b| *b == b'\n').count() + 1;
        let before = &self.text[self.line..self.at];
        // Half a hundred bytes are enough to find the place.
        let mut from = before.len().saturating_sub(50);
        while !before.is_char_boundary(from) {
            from += 1;
        }
        let dots = if from > 0 { "..." } else { "" };
        let more = if self.text[self.at..].trim_end().is_empty() { "" } else { "..." };
        Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type json")
            .with_detail(detail)
            .context(format!("JSON data, line {number}: {dots}{}{more}", &before[from..]))
    }
}

/// Appends a text as a JSON string: in quotes, with the escapes that JSON demands.
pub fn quote(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            c if c < ' ' => out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes()),
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_told_from_other_texts() {
        for good in
            ["1", " {\"a\" : [1, -2.5e+3, \"\\u00e4\\n\", {}, []], \"a\":null}\n", "[[[[]]]]", "\"\"", "-0"]
        {
            assert!(check(good).is_ok(), "{good}");
        }
        for (bad, detail) in [
            ("", "The input string ended unexpectedly."),
            ("{bad", "Token \"bad\" is invalid."),
            ("[1,2", "The input string ended unexpectedly."),
            ("{\"a\":1} x", "Token \"x\" is invalid."),
            ("{\"a\":1} 2", "Expected end of input, but found \"2\"."),
            ("[1,]", "Expected JSON value, but found \"]\"."),
            ("[1}", "Expected \",\" or \"]\", but found \"}\"."),
            ("{\"a\"}", "Expected \":\", but found \"}\"."),
            ("{\"a\":1,}", "Expected string, but found \"}\"."),
            ("{1:2}", "Expected string or \"}\", but found \"1\"."),
            ("\"a\u{1}\"", "Character with value 0x01 must be escaped."),
            ("\"\\u12ä\"", "\"\\u\" must be followed by four hexadecimal digits."),
            ("\"\\ä\"", "Escape sequence \"\\ä\" is invalid."),
            ("1.e", "Token \"1.e\" is invalid."),
            ("#", "Token \"#\" is invalid."),
        ] {
            let error = check(bad).expect_err(bad);
            assert_eq!(error.fields().detail.as_deref(), Some(detail), "{bad}");
        }
        let deep = "[".repeat(200_000);
        assert!(check(&deep).is_err());
        assert!(check(&format!("{deep}{}", "]".repeat(200_000))).is_ok());
    }
}
