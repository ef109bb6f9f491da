//! `jsonpath`: the language of SQL/JSON in which parts of a `jsonb` are asked for.
//!
//! 1. [`lexer`] makes tokens of a text, as greedily as PostgreSQL's: the longest token wins.
//! 2. [`parser`] makes a [`Path`] of them: chains of steps, arithmetic and predicates, which are told apart while they are
//!    read, so that the token at which a path goes wrong is PostgreSQL's.
//! 3. [`print`] writes a path. As PostgreSQL prints it, a few paths lose the parentheses around what a step follows
//!    (`2 * (2 * 3).double()`); a value is therefore kept as its text with all of them ([`Path::to_stored`]), and printed when
//!    it is shown.
//!
//! Who evaluates a path stands in `exec`: it needs regular expressions.

mod lexer;
mod parser;
mod print;

use crate::pattern::Flags;
use crate::{Error, Result, SqlState};

/// A path.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Whether arrays are unwrapped, and what has not the structure asked for is passed over.
    pub lax: bool,
    /// What it begins with.
    pub root: Item,
}

/// A step of a path, or an operator, with what follows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What is done.
    pub step: Step,
    /// What is done with each thing that comes out.
    pub next: Option<Box<Item>>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// As `numeric` prints it.
    Number(String),
    /// A string in quotes.
    String(String),
    /// `$name`
    Variable(String),
    /// `$`
    Root,
    /// `@`
    Current,
    /// `last`
    Last,
    /// `.key`
    Key(String),
    /// `.*`
    AnyKey,
    /// `[*]`
    AnyElement,
    /// `[from to to, ..]`
    Elements(Vec<(Item, Option<Item>)>),
    /// `.**{first to last}`; [`Step::LEAVES`] is `last`.
    Any(u32, u32),
    /// `? (predicate)`
    Filter(Box<Item>),
    /// `.size()` and its like
    Method(Method),
    /// `.datetime(template)`
    DateTime(Option<String>),
    /// `+`, `-`, `*`, `/`, `%` between two
    Arithmetic(Arithmetic, Box<Item>, Box<Item>),
    /// `-` (`true`) or `+` before one
    Sign(bool, Box<Item>),
    /// `==` and its like
    Compare(Comparison, Box<Item>, Box<Item>),
    /// `&&`
    And(Box<Item>, Box<Item>),
    /// `||`
    Or(Box<Item>, Box<Item>),
    /// `!`
    Not(Box<Item>),
    /// `is unknown`
    IsUnknown(Box<Item>),
    /// `exists (..)`
    Exists(Box<Item>),
    /// `starts with`
    StartsWith(Box<Item>, Box<Item>),
    /// `like_regex`
    LikeRegex(Box<Item>, Pattern),
}

impl Step {
    /// `last` as a bound of `.**`.
    pub const LEAVES: u32 = u32::MAX;

    /// Whether it answers true, false or unknown.
    pub const fn is_predicate(&self) -> bool {
        matches!(
            self,
            Step::Compare(..)
                | Step::And(..)
                | Step::Or(..)
                | Step::Not(_)
                | Step::IsUnknown(_)
                | Step::Exists(_)
                | Step::StartsWith(..)
                | Step::LikeRegex(..)
        )
    }
}

/// A regular expression of `like_regex`.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// As it is written.
    pub text: String,
    /// Which of `i`, `s`, `m`, `x`, `q`.
    pub flags: [bool; 5],
}

/// The letters of [`Pattern::flags`].
pub const FLAGS: [char; 5] = ['i', 's', 'm', 'x', 'q'];

impl Pattern {
    /// How it is to be read. 0A000 of flag `x`.
    pub fn regular_expression(&self) -> Result<Flags> {
        let [ignore_case, dot_all, lines, extended, literal] = self.flags;
        let mut flags = if ignore_case { Flags::IGNORE_CASE } else { Flags::BASIC };
        if literal {
            return Ok(flags | Flags::QUOTE);
        }
        if extended {
            let what = "XQuery \"x\" flag (expanded regular expressions) is not implemented";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, what));
        }
        flags = flags | Flags::ADVANCED;
        if !dot_all {
            flags = flags | Flags::STOPS;
        }
        Ok(if lines { flags | Flags::LINES } else { flags })
    }
}

macro_rules! symbols {
    ($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $variant:ident $symbol:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$each])* #[doc = concat!("`", $symbol, "`")] $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant,)*];
            /// As it is written.
            pub const fn symbol(self) -> &'static str { match self { $($name::$variant => $symbol,)* } }
        }
    };
}

symbols! {
    /// Operators of numbers.
    Arithmetic { Add "+", Sub "-", Mul "*", Div "/", Mod "%", }
}
symbols! {
    /// Operators that compare.
    Comparison { Eq "==", Ne "!=", Lt "<", Gt ">", Le "<=", Ge ">=", }
}
symbols! {
    /// Methods without arguments.
    Method { Abs "abs", Size "size", Type "type", Floor "floor", Double "double", Ceiling "ceiling", KeyValue "keyvalue", }
}

impl Path {
    /// Reads a path. 42601 where it is none, 0A000 and 2201B of regular expressions.
    pub fn parse(text: &str) -> Result<Path> {
        parser::parse(text)
    }

    /// Appends it as PostgreSQL prints it.
    pub fn write(&self, out: &mut Vec<u8>) {
        print::write(self, false, out);
    }

    /// Its text with all parentheses that matter: reading it gives the same path.
    pub fn to_stored(&self) -> Vec<u8> {
        let mut out = Vec::new();
        print::write(self, true, &mut out);
        out
    }
}

impl Item {
    /// A step that nothing follows.
    pub const fn alone(step: Step) -> Item {
        Item { step, next: None }
    }

    /// What stands within a step: operands, predicates, subscripts.
    pub fn parts(&self) -> Vec<&Item> {
        match &self.step {
            Step::Elements(ranges) => {
                ranges.iter().flat_map(|(from, to)| [Some(from), to.as_ref()]).flatten().collect()
            }
            Step::Filter(of)
            | Step::Sign(_, of)
            | Step::Not(of)
            | Step::IsUnknown(of)
            | Step::Exists(of)
            | Step::LikeRegex(of, _) => vec![of],
            Step::Arithmetic(_, a, b)
            | Step::Compare(_, a, b)
            | Step::And(a, b)
            | Step::Or(a, b)
            | Step::StartsWith(a, b) => vec![a, b],
            _ => Vec::new(),
        }
    }

    /// Moves all items that are in it out of it.
    fn take_parts(&mut self, out: &mut Vec<Item>) {
        out.extend(self.next.take().map(|next| *next));
        match std::mem::replace(&mut self.step, Step::Null) {
            Step::Elements(ranges) => {
                out.extend(ranges.into_iter().flat_map(|(from, to)| [Some(from), to]).flatten());
            }
            Step::Filter(of)
            | Step::Sign(_, of)
            | Step::Not(of)
            | Step::IsUnknown(of)
            | Step::Exists(of)
            | Step::LikeRegex(of, _) => out.push(*of),
            Step::Arithmetic(_, a, b)
            | Step::Compare(_, a, b)
            | Step::And(a, b)
            | Step::Or(a, b)
            | Step::StartsWith(a, b) => out.extend([*a, *b]),
            _ => {}
        }
    }
}

impl Drop for Item {
    /// Without recursion: users write as many steps and operators as they like.
    fn drop(&mut self) {
        let mut parts = Vec::new();
        self.take_parts(&mut parts);
        while let Some(mut part) = parts.pop() {
            part.take_parts(&mut parts);
        }
    }
}

#[cfg(test)]
mod tests;
