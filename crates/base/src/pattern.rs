//! PostgreSQL's advanced regular expressions in the syntax of the `regex` crate.
//!
//! Where that has nothing of the kind (back references, lookaround) the error is 0A000, so that who plans a statement
//! can refuse it before it runs.

use crate::{Error, Result, SqlState};

/// 2201B
#[cold]
pub fn invalid(what: &str) -> Error {
    Error::new(SqlState::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {what}"))
}

#[cold]
fn unbalanced() -> Error {
    invalid("parentheses () not balanced")
}

#[cold]
fn unsupported(what: &str) -> Error {
    Error::unsupported(
        format!("{what} in a regular expression is not supported"),
        "Use LIKE, position or substr, or a simpler expression.",
    )
}

/// What a pattern may say of itself at its beginning, as in `(?in)`.
#[derive(Clone, Copy, Default)]
struct Options {
    ignore_case: bool,
    /// `.` and brackets that exclude do not match a newline.
    stops_at_newline: bool,
    /// `^` and `$` match beside a newline.
    lines: bool,
    /// The rest is a text, not a pattern.
    literal: bool,
}

/// The options at the beginning of a pattern, and what is behind them.
fn embedded(mut pattern: &str) -> Result<(Options, &str)> {
    let mut options = Options::default();
    while let Some((letters, rest)) = pattern.strip_prefix("(?").and_then(|p| p.split_once(')'))
        && !letters.is_empty()
        && letters.bytes().all(|b| b.is_ascii_lowercase())
    {
        for letter in letters.chars() {
            match letter {
                'i' => options.ignore_case = true,
                'c' => options.ignore_case = false,
                'n' | 'm' => (options.stops_at_newline, options.lines) = (true, true),
                'p' => (options.stops_at_newline, options.lines) = (true, false),
                'w' => (options.stops_at_newline, options.lines) = (false, true),
                's' => (options.stops_at_newline, options.lines) = (false, false),
                'q' => options.literal = true,
                't' => {}
                'b' | 'e' | 'x' => return Err(unsupported("a director or embedded option")),
                _ => return Err(invalid("invalid embedded option")),
            }
        }
        pattern = rest;
    }
    Ok((options, pattern))
}

/// The pattern in the other syntax.
pub fn translate(pattern: &str) -> Result<String> {
    let (options, rest) = embedded(pattern)?;
    let translator = Translator { rest, out: String::new(), stops_at_newline: options.stops_at_newline };
    let translated = match options.literal {
        true => rest.chars().fold(String::new(), |mut out, c| {
            if "\\.+*?()|[]{}^$#&-~".contains(c) {
                out.push('\\');
            }
            out.push(c);
            out
        }),
        false => translator.translate()?,
    };
    let flag = |on: bool, flag: &'static str| if on { flag } else { "" };
    let on = [flag(options.ignore_case, "i"), flag(options.lines, "m")].concat();
    let off = flag(options.stops_at_newline, "-s");
    match on.is_empty() && off.is_empty() {
        true => Ok(translated),
        false => Ok(format!("(?{on}{off}:{translated})")),
    }
}

struct Translator<'a> {
    rest: &'a str,
    out: String,
    stops_at_newline: bool,
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
        let mut open = 0usize;
        while let Some(c) = self.next() {
            open = match c {
                '(' => open + 1,
                ')' => open.checked_sub(1).ok_or_else(unbalanced)?,
                _ => open,
            };
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
        if open > 0 {
            return Err(unbalanced());
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
            c => {
                if "\\.+*?()|[]{}^$#&-~".contains(c) {
                    self.out.push('\\');
                }
                self.out.push(c);
            }
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
            if self.stops_at_newline {
                self.out.push_str("\\n");
            }
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

/// Whether of the matches that begin at one place the shortest is meant. An expression has the preference of the first
/// part of it that has one: a repetition that is no fixed number; of several alternatives the longest is always meant.
pub fn prefers_shortest(pattern: &str) -> bool {
    match embedded(pattern) {
        Ok((options, rest)) => !options.literal && Preference { rest }.expression() == Some(true),
        Err(_) => false,
    }
}

struct Preference<'a> {
    rest: &'a str,
}

impl Preference<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    /// Up to the end, or to the parenthesis that closes it: whether it prefers the shortest, if it prefers anything.
    fn expression(&mut self) -> Option<bool> {
        let (mut preference, mut alternatives) = (None, false);
        while let Some(c) = self.next() {
            let own = match c {
                ')' => break,
                '|' => {
                    alternatives = true;
                    continue;
                }
                '(' => {
                    self.rest = self.rest.strip_prefix("?:").unwrap_or(self.rest);
                    self.expression()
                }
                '[' => {
                    self.bracket();
                    None
                }
                '\\' => {
                    self.next();
                    None
                }
                _ => None,
            };
            let repeated = self.repetition();
            preference = preference.or(repeated.unwrap_or(own));
        }
        if alternatives { Some(false) } else { preference }
    }

    fn bracket(&mut self) {
        self.rest = self.rest.strip_prefix('^').unwrap_or(self.rest);
        let mut first = true;
        while let Some(c) = self.next() {
            match c {
                ']' if !first => break,
                '[' if self.rest.starts_with(':') => {
                    self.rest = self.rest.split_once(":]").map_or("", |(_, rest)| rest);
                }
                '\\' => {
                    self.next();
                }
                _ => {}
            }
            first = false;
        }
    }

    /// A repetition of what was just read: none, one of a fixed number (which leaves the preference as it is), or one
    /// with a preference.
    fn repetition(&mut self) -> Option<Option<bool>> {
        let fixed = match self.rest.chars().next()? {
            '*' | '+' | '?' => {
                self.next();
                false
            }
            '{' if self.rest[1..].starts_with(|c: char| c.is_ascii_digit()) => {
                let (bounds, rest) = self.rest.split_once('}').unwrap_or((self.rest, ""));
                let fixed = !bounds.contains(',');
                self.rest = rest;
                fixed
            }
            _ => return None,
        };
        let shortest = self.rest.starts_with('?');
        self.rest = self.rest.strip_prefix('?').unwrap_or(self.rest);
        if fixed { None } else { Some(Some(shortest)) }
    }
}

/// The regular expression that a pattern of SIMILAR TO is: SQL's wildcards, the operators of regular expressions, and an
/// escape character (none where it is empty).
pub fn similar(pattern: &str, escape: &str) -> Result<String> {
    let mut escapes = escape.chars();
    let escape = escapes.next();
    if escapes.next().is_some() {
        let message = "invalid escape string";
        return Err(Error::new(SqlState::new("22025"), message)
            .with_hint("Escape string must be empty or one character."));
    }
    let mut out = "^(?:".to_owned();
    let mut chars = pattern.chars();
    // Within brackets, and whether their first character may still come.
    let mut brackets: Option<bool> = None;
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            let Some(next) = chars.next() else { break };
            if next == '"' && brackets.is_none() {
                return Err(unsupported("the separator of SUBSTRING"));
            }
            out.extend(['\\', next]);
            brackets = brackets.map(|_| false);
            continue;
        }
        match (c, brackets) {
            ('\\', _) => out.push_str("\\\\"),
            (']', Some(false)) => {
                out.push(c);
                brackets = None;
                continue;
            }
            ('^', Some(true)) => {
                out.push(c);
                continue;
            }
            (_, Some(_)) => out.push(c),
            ('[', None) => {
                out.push(c);
                brackets = Some(true);
                continue;
            }
            ('%', None) => out.push_str(".*"),
            ('_', None) => out.push('.'),
            ('(', None) => out.push_str("(?:"),
            ('.' | '^' | '$', None) => out.extend(['\\', c]),
            (_, None) => out.push(c),
        }
        brackets = brackets.map(|_| false);
    }
    out.push_str(")$");
    Ok(out)
}
