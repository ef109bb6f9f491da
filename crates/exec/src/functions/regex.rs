//! `~` and `~*`: PostgreSQL's advanced regular expressions, as far as whether they match.
//!
//! A pattern is translated to the syntax of the `regex` crate, whose engines are linear in the text
//! (PostgreSQL's may be exponential). Where a match lies is not offered: PostgreSQL prefers the
//! longest, `regex` the first alternative. Back references and lookaround are 0A000.

use planaria_base::{Error, Result, SqlState};
use regex::{Regex, RegexBuilder};
use std::cell::RefCell;

/// Compiled patterns a thread keeps, the latest used first.
const CACHED_MAX: usize = 32;

struct Cached {
    pattern: String,
    ignore_case: bool,
    regex: Regex,
}

thread_local! {
    static CACHE: RefCell<Vec<Cached>> = const { RefCell::new(Vec::new()) };
}

/// Whether the pattern matches somewhere in the text.
pub fn matches(text: &str, pattern: &str, ignore_case: bool) -> Result<bool> {
    CACHE.with_borrow_mut(|cache| {
        let known = cache.iter().position(|c| c.ignore_case == ignore_case && c.pattern == pattern);
        match known {
            Some(at) => cache[..=at].rotate_right(1),
            None => {
                let regex = compile(pattern, ignore_case)?;
                cache.truncate(CACHED_MAX - 1);
                cache.insert(0, Cached { pattern: pattern.to_owned(), ignore_case, regex });
            }
        }
        Ok(cache[0].regex.is_match(text))
    })
}

#[cold]
fn invalid(what: &str) -> Error {
    Error::new(SqlState::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {what}"))
}

#[cold]
fn unsupported(what: &str) -> Error {
    Error::unsupported(
        format!("{what} in a regular expression is not supported"),
        "Use LIKE, position or substr, or a simpler expression.",
    )
}

fn compile(pattern: &str, ignore_case: bool) -> Result<Regex> {
    let translated = Translator { rest: pattern, out: String::new() }.translate()?;
    // A newline is a character like others there.
    RegexBuilder::new(&translated)
        .case_insensitive(ignore_case)
        .dot_matches_new_line(true)
        .build()
        .map_err(|e| invalid(e.to_string().lines().last().unwrap_or("").trim_start_matches("error: ")))
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
}

impl Translator<'_> {
    fn eat(&mut self, token: &str) -> bool {
        let found = self.rest.strip_prefix(token);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn translate(mut self) -> Result<String> {
        if self.rest.starts_with("***") || self.rest.starts_with("(?") && !self.rest.starts_with("(?:") {
            return Err(unsupported("a director or embedded option"));
        }
        while let Some(c) = self.next() {
            match c {
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' if self.rest.starts_with('?') && !self.rest.starts_with("?:") => {
                    return Err(unsupported("lookaround"));
                }
                '{' if !self.rest.starts_with(|c: char| c.is_ascii_digit()) => self.out.push_str("\\{"),
                c => self.out.push(c),
            }
        }
        Ok(self.out)
    }

    /// What follows a backslash.
    fn escape(&mut self, in_class: bool) -> Result<()> {
        let c = self.next().ok_or_else(|| invalid("invalid escape \\ sequence"))?;
        match c {
            'd' => self.out.push_str(if in_class { "0-9" } else { "[0-9]" }),
            'D' if !in_class => self.out.push_str("[^0-9]"),
            's' | 'w' => self.out.extend(['\\', c]),
            'S' | 'W' if !in_class => self.out.extend(['\\', c]),
            'n' | 't' | 'r' | 'f' | 'v' | 'a' => self.out.extend(['\\', c]),
            'A' if !in_class => self.out.push_str("\\A"),
            'Z' if !in_class => self.out.push_str("\\z"),
            'y' if !in_class => self.out.push_str("\\b"),
            'Y' if !in_class => self.out.push_str("\\B"),
            'm' if !in_class => self.out.push_str("\\b{start}"),
            'M' if !in_class => self.out.push_str("\\b{end}"),
            c if c.is_ascii_alphanumeric() => {
                let what = if c.is_ascii_digit() { "a back reference".to_owned() } else { format!("\\{c}") };
                return Err(unsupported(&what));
            }
            c => self.out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
        Ok(())
    }

    /// A bracket expression behind its `[`.
    fn class(&mut self) -> Result<()> {
        if self.rest.starts_with("[:<:]]") || self.rest.starts_with("[:>:]]") {
            let start = self.rest.starts_with("[:<");
            self.rest = &self.rest[6..];
            self.out.push_str(if start { "\\b{start}" } else { "\\b{end}" });
            return Ok(());
        }
        self.out.push('[');
        if self.eat("^") {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let c = self.next().ok_or_else(|| invalid("brackets [] not balanced"))?;
            match c {
                ']' if !first => break,
                '\\' => self.escape(true)?,
                '[' if self.rest.starts_with(['.', '=']) => return Err(unsupported("a collating element")),
                '[' if self.eat(":") => self.named_class()?,
                // The other crate has set operations with these.
                '[' | ']' | '&' | '~' => self.out.extend(['\\', c]),
                '-' if first || self.rest.starts_with([']', '-']) => self.out.push_str("\\-"),
                c => self.out.push(c),
            }
            first = false;
        }
        self.out.push(']');
        Ok(())
    }

    fn named_class(&mut self) -> Result<()> {
        let (name, rest) = self.rest.split_once(":]").ok_or_else(|| invalid("invalid character class"))?;
        self.rest = rest;
        self.out.push_str(match name {
            "alpha" => "\\p{Alphabetic}",
            "alnum" => "\\p{Alphabetic}\\p{N}",
            "digit" => "0-9",
            "upper" => "\\p{Uppercase}",
            "lower" => "\\p{Lowercase}",
            "space" => "\\s",
            "blank" => " \\t",
            "punct" => "[[:punct:]]",
            "xdigit" => "0-9A-Fa-f",
            "word" => "\\w",
            "cntrl" => "\\p{Cc}",
            _ => return Err(invalid("invalid character class")),
        });
        Ok(())
    }
}
