//! What a regular expression is when it has been read: what a part matches ([`Regex`]), and how a match of it is divided
//! among its parentheses ([`Expression`]).
//!
//! Parts have PostgreSQL's structure: only what holds parentheses, back references or a mixture of preferences is taken apart,
//! since the rest needs no more than whether it matches.

use std::rc::Rc;

/// What a part matches.
#[derive(Clone, Debug, PartialEq)]
pub enum Regex {
    /// Nothing of the text.
    Empty,
    /// One character of a class, as the `regex` crate writes it.
    One(Rc<str>),
    /// Nothing, at a certain place.
    At(Place),
    /// Nothing, where what is ahead or behind matches, or does not.
    Look {
        /// Ahead, else behind.
        ahead: bool,
        /// It must not match.
        negated: bool,
        /// What is looked for.
        inner: Rc<Regex>,
    },
    /// One behind the other.
    Sequence(Vec<Rc<Regex>>),
    /// Either.
    Either(Vec<Rc<Regex>>),
    /// So many times; without an end where that is `None`.
    Repeated(Rc<Regex>, u32, Option<u32>),
}

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Its beginning.
    Begin,
    /// Its end.
    End,
    /// The beginning of a line.
    LineBegin,
    /// The end of a line.
    LineEnd,
    /// The beginning of a word.
    WordBegin,
    /// The end of a word.
    WordEnd,
    /// Either.
    WordEdge,
    /// Neither.
    NoWordEdge,
}

/// Of the matches that begin at one place, the longest is preferred.
pub const LONGER: u8 = 1;
/// The shortest.
pub const SHORTER: u8 = 2;
/// Parts have different preferences.
pub const MIXED: u8 = 4;
/// Parentheses are to be told.
pub const CAPTURES: u8 = 8;
/// There are back references.
pub const REFERS: u8 = 16;

/// What is inherited by whatever has such a part.
pub(super) fn up(flags: u8) -> u8 {
    flags & (MIXED | CAPTURES | REFERS) | ((flags << 2) & (flags << 1) & MIXED)
}

/// A part has to be taken apart.
pub(super) fn messy(flags: u8) -> bool {
    flags & (MIXED | CAPTURES | REFERS) != 0
}

pub(super) fn preference(flags: u8) -> u8 {
    flags & (LONGER | SHORTER)
}

/// Of two parts: the preference is that of the first that has one.
pub(super) fn combine(first: u8, second: u8) -> u8 {
    let preferred = match preference(first) {
        0 => preference(second),
        own => own,
    };
    up(first | second) | preferred
}

/// A part of an expression.
#[derive(Clone, Debug)]
pub struct Expression {
    /// What it matches, back references taken for whatever they refer to.
    pub regex: Rc<Regex>,
    /// `LONGER` and its like.
    pub flags: u8,
    /// The number of its parentheses; 0 without.
    pub group: u32,
    /// What it is made of.
    pub made: Made,
}

/// What a part is made of.
#[derive(Clone, Debug)]
pub enum Made {
    /// Nothing that matters.
    Plain,
    /// What a group has matched, so many times.
    Again {
        /// Its number.
        group: u32,
        /// At least.
        min: u32,
        /// At most.
        max: Option<u32>,
    },
    /// Two, one behind the other.
    Both(Box<[Expression; 2]>),
    /// Either.
    Either(Vec<Expression>),
    /// So many times.
    Repeated(Box<Expression>, u32, Option<u32>),
    /// Parentheses around what has its own.
    Within(Box<Expression>),
}

impl Expression {
    pub(super) fn plain(flags: u8, regex: Rc<Regex>) -> Expression {
        Expression { regex, flags, group: 0, made: Made::Plain }
    }

    pub(super) fn both(flags: u8, first: Expression, second: Expression) -> Expression {
        let regex = Rc::new(sequence(vec![first.regex.clone(), second.regex.clone()]));
        Expression { regex, flags, group: 0, made: Made::Both(Box::new([first, second])) }
    }
}

pub(super) fn sequence(mut parts: Vec<Rc<Regex>>) -> Regex {
    match parts.len() {
        0 => Regex::Empty,
        1 => parts.pop().map_or(Regex::Empty, |only| (*only).clone()),
        _ => Regex::Sequence(parts),
    }
}

/// So many times the same.
pub(super) fn repeated(inner: Rc<Regex>, min: u32, max: Option<u32>) -> Rc<Regex> {
    match (min, max) {
        (1, Some(1)) => inner,
        (_, Some(0)) => Rc::new(Regex::Empty),
        _ => Rc::new(Regex::Repeated(inner, min, max)),
    }
}

impl Regex {
    /// What a back reference can match at most: no condition on where it stands is repeated.
    pub(super) fn without_places(&self) -> Rc<Regex> {
        Rc::new(match self {
            Regex::At(_) | Regex::Look { .. } => Regex::Empty,
            Regex::Sequence(parts) => {
                Regex::Sequence(parts.iter().map(|part| part.without_places()).collect())
            }
            Regex::Either(parts) => Regex::Either(parts.iter().map(|part| part.without_places()).collect()),
            Regex::Repeated(inner, min, max) => Regex::Repeated(inner.without_places(), *min, *max),
            Regex::Empty | Regex::One(_) => self.clone(),
        })
    }

    /// In the syntax of the `regex` crate; `None` where there is lookaround.
    pub(super) fn write(&self, out: &mut String) -> Option<()> {
        match self {
            Regex::Empty => out.push_str("(?:)"),
            Regex::One(class) => out.push_str(class),
            Regex::At(place) => out.push_str(match place {
                Place::Begin => "\\A",
                Place::End => "\\z",
                Place::LineBegin => "(?m:^)",
                Place::LineEnd => "(?m:$)",
                Place::WordBegin => "\\b{start}",
                Place::WordEnd => "\\b{end}",
                Place::WordEdge => "\\b",
                Place::NoWordEdge => "\\B",
            }),
            Regex::Look { .. } => return None,
            Regex::Sequence(parts) => parts.iter().try_for_each(|part| part.write(out))?,
            Regex::Either(parts) => {
                out.push_str("(?:");
                for (i, part) in parts.iter().enumerate() {
                    if i > 0 {
                        out.push('|');
                    }
                    part.write(out)?;
                }
                out.push(')');
            }
            Regex::Repeated(inner, min, max) => {
                let alone = matches!(**inner, Regex::One(_));
                out.push_str(if alone { "" } else { "(?:" });
                inner.write(out)?;
                out.push_str(if alone { "" } else { ")" });
                match (min, max) {
                    (0, None) => out.push('*'),
                    (1, None) => out.push('+'),
                    (0, Some(1)) => out.push('?'),
                    (min, None) => out.push_str(&format!("{{{min},}}")),
                    (min, Some(max)) => out.push_str(&format!("{{{min},{max}}}")),
                }
            }
        }
        Some(())
    }
}

impl Expression {
    /// The same with parentheses that tell what they have matched.
    pub(super) fn write(&self, out: &mut String) -> Option<()> {
        if self.group > 0 {
            out.push('(');
        }
        match &self.made {
            Made::Plain => self.regex.write(out)?,
            Made::Both(both) => both.iter().try_for_each(|part| part.write(out))?,
            Made::Within(inner) => inner.write(out)?,
            Made::Again { .. } | Made::Either(_) | Made::Repeated(..) => return None,
        }
        if self.group > 0 {
            out.push(')');
        }
        Some(())
    }

    /// An engine that tries as many as possible first, from left to right, divides each match of it as PostgreSQL does: what
    /// stands left of something else has one length at most to choose, and that by taking more or fewer characters of a class.
    pub(super) fn is_simple(&self) -> bool {
        let own = self.flags & (SHORTER | MIXED | REFERS) == 0;
        own && match &self.made {
            Made::Plain => self.regex.choices().is_some(),
            Made::Within(inner) => inner.is_simple(),
            Made::Both(both) => {
                let [first, second] = &**both;
                first.regex.choices().is_some_and(|n| n <= 1) && first.is_simple() && second.is_simple()
            }
            Made::Again { .. } | Made::Either(_) | Made::Repeated(..) => false,
        }
    }
}

impl Regex {
    /// How many repetitions of an open number it has, where these are of classes and there is nothing else to choose.
    fn choices(&self) -> Option<usize> {
        match self {
            Regex::Empty | Regex::One(_) => Some(0),
            // What lies around the match is not looked at there.
            Regex::At(place) => matches!(place, Place::Begin | Place::End).then_some(0),
            Regex::Look { .. } | Regex::Either(_) => None,
            Regex::Sequence(parts) => parts.iter().map(|part| part.choices()).sum(),
            Regex::Repeated(inner, min, max) => {
                matches!(**inner, Regex::One(_)).then_some(usize::from(*max != Some(*min)))
            }
        }
    }

    /// Whether it asks for a place that is not at an end of the whole match.
    pub(super) fn has_inner_places(&self, first: bool, last: bool) -> bool {
        match self {
            Regex::Empty | Regex::One(_) | Regex::Repeated(..) => false,
            Regex::At(Place::Begin) => !first,
            Regex::At(Place::End) => !last,
            Regex::At(_) | Regex::Look { .. } => true,
            Regex::Either(parts) => parts.iter().any(|part| part.has_inner_places(first, last)),
            Regex::Sequence(parts) => {
                let end = parts.len() - 1;
                parts
                    .iter()
                    .enumerate()
                    .any(|(i, part)| part.has_inner_places(first && i == 0, last && i == end))
            }
        }
    }
}
