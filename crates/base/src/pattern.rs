//! PostgreSQL's regular expressions: read ([`parse`]), and in the syntax of the `regex` crate where that has all of them.
//!
//! What is beyond that crate (back references, lookaround), and how parentheses divide a match, is found by whoever has the
//! tree ([`tree`]).

mod names;
mod read;
pub mod tree;

use crate::{Error, Result, SqlState};
use std::ops::BitOr;
use tree::{Expression, Made, SHORTER};

/// 2201B
#[cold]
pub fn invalid(what: &str) -> Error {
    Error::new(SqlState::INVALID_REGULAR_EXPRESSION, format!("invalid regular expression: {what}"))
}

/// How an expression is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// Basic expressions.
    pub const BASIC: Flags = Flags(0);
    /// Extended ones.
    pub const EXTENDED: Flags = Flags(1);
    /// Advanced ones.
    pub const ADVANCED: Flags = Flags(3);
    /// A text, no expression.
    pub const QUOTE: Flags = Flags(4);
    /// Without regard to case.
    pub const IGNORE_CASE: Flags = Flags(8);
    /// Blanks and comments are no part of it.
    pub const EXPANDED: Flags = Flags(16);
    /// `.` and brackets that exclude do not match a newline.
    pub const STOPS: Flags = Flags(32);
    /// `^` and `$` match beside a newline.
    pub const LINES: Flags = Flags(64);
    /// Both.
    pub const NEWLINE: Flags = Flags(96);

    /// All of these.
    pub fn has(self, flags: Flags) -> bool {
        self.0 & flags.0 == flags.0
    }

    fn set(&mut self, flags: Flags) {
        self.0 |= flags.0;
    }

    fn clear(&mut self, flags: Flags) {
        self.0 &= !flags.0;
    }

    /// An option at the beginning of an expression, as in `(?in)`. False for what is none.
    fn embedded(&mut self, letter: char) -> bool {
        match letter {
            'b' => self.clear(Flags::ADVANCED | Flags::QUOTE),
            'e' => {
                self.clear(Flags::ADVANCED | Flags::QUOTE);
                self.set(Flags::EXTENDED);
            }
            'q' => {
                self.clear(Flags::ADVANCED);
                self.set(Flags::QUOTE);
            }
            _ => return self.common(letter),
        }
        true
    }

    /// An option of a function. False for what is none. `e` is what PostgreSQL makes of it: basic.
    pub fn option(&mut self, letter: char) -> bool {
        match letter {
            'b' | 'e' => self.clear(Flags::ADVANCED | Flags::QUOTE),
            'q' => {
                self.clear(Flags::ADVANCED);
                self.set(Flags::QUOTE);
            }
            _ => return self.common(letter),
        }
        true
    }

    fn common(&mut self, letter: char) -> bool {
        match letter {
            'c' => self.clear(Flags::IGNORE_CASE),
            'i' => self.set(Flags::IGNORE_CASE),
            'm' | 'n' => self.set(Flags::NEWLINE),
            'p' => {
                self.set(Flags::STOPS);
                self.clear(Flags::LINES);
            }
            's' => self.clear(Flags::NEWLINE),
            't' => self.clear(Flags::EXPANDED),
            'w' => {
                self.clear(Flags::STOPS);
                self.set(Flags::LINES);
            }
            'x' => self.set(Flags::EXPANDED),
            _ => return false,
        }
        true
    }
}

impl Default for Flags {
    fn default() -> Flags {
        Flags::ADVANCED
    }
}

impl BitOr for Flags {
    type Output = Flags;
    fn bitor(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// An expression that has been read.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// What it is made of.
    pub tree: Expression,
    /// How many parentheses tell what they have matched.
    pub groups: u32,
    /// Without regard to case.
    pub ignore_case: bool,
    /// There are back references.
    pub refers: bool,
    looks: bool,
}

/// 2201B where it is none.
pub fn parse(pattern: &str, flags: Flags) -> Result<Parsed> {
    read::Reader::new(pattern, flags)?.whole()
}

impl Parsed {
    /// Whether of the matches that begin at one place the shortest is meant.
    pub fn prefers_shortest(&self) -> bool {
        self.tree.flags & SHORTER != 0
    }

    /// What it matches, in the syntax of the `regex` crate; `None` where that has nothing of the kind.
    pub fn translated(&self) -> Option<String> {
        if self.refers || self.looks {
            return None;
        }
        let mut out = String::new();
        self.tree.regex.write(&mut out)?;
        Some(out)
    }

    /// The same with its parentheses, where an engine that tries as many as possible first divides a match as PostgreSQL does.
    pub fn with_groups(&self) -> Option<String> {
        let mut told = 0;
        let simple = self.tree.is_simple() && !self.tree.regex.has_inner_places(true, true);
        if !simple || !in_order(&self.tree, &mut told) || told != self.groups {
            return None;
        }
        let mut out = String::new();
        self.tree.write(&mut out)?;
        Some(out)
    }
}

/// Whether its parentheses come in the order of their numbers, none left out.
fn in_order(part: &Expression, told: &mut u32) -> bool {
    if part.group > 0 {
        *told += 1;
        if *told != part.group {
            return false;
        }
    }
    match &part.made {
        Made::Both(both) => both.iter().all(|part| in_order(part, told)),
        Made::Within(inner) => in_order(inner, told),
        _ => true,
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
    let mut separators = 0;
    let mut chars = pattern.chars();
    // Within brackets, and whether their first character may still come.
    let mut brackets: Option<bool> = None;
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            let Some(next) = chars.next() else { break };
            // What SUBSTRING asks for stands between two of these, with as little as possible before it.
            if next == '"' && brackets.is_none() {
                separators += 1;
                out.push_str(match separators {
                    1 => "){1,1}?(",
                    2 => "){1,1}(?:",
                    _ => {
                        let message =
                            "SQL regular expression may not contain more than two escape-double-quote separators";
                        return Err(Error::new(SqlState::new("2200C"), message));
                    }
                });
                continue;
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
