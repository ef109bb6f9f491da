//! Templates of `to_char` of numbers and of `to_number`.

use crate::error::{Error, Result, SqlState};

/// A pattern of a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pattern {
    Nine,
    Zero,
    Point,
    Comma,
    Group,
    Currency,
    Sign,
    Minus,
    Plus,
    EitherSign,
    Brackets,
    /// In capitals or not.
    Roman(bool),
    Ordinal(bool),
    Shift,
    Exponent,
    NoFill,
    /// Of the patterns that nothing is done about.
    Nothing,
}

/// A part of a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Node {
    Pattern(Pattern),
    Text(char),
}

/// Where a sign stands that is written with the digits (`S`).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) enum Anchor {
    #[default]
    None,
    Before,
    Behind,
}

/// A template: its parts, and what they say together.
#[derive(Default, Debug)]
pub(super) struct Template {
    pub nodes: Vec<Node>,
    /// Digits before and behind the point.
    pub before: usize,
    pub after: usize,
    /// Digits by which `V` shifts.
    pub shift: usize,
    pub anchor: Anchor,
    /// Digits before `S`.
    pub before_sign: usize,
    /// Places of the first and the last `0`, from 1; 0 is none.
    pub first_zero: usize,
    pub last_zero: usize,
    pub point: bool,
    pub no_fill: bool,
    pub signed: bool,
    pub minus: bool,
    pub plus: bool,
    pub brackets: bool,
    pub roman: bool,
    pub shifted: bool,
    pub exponent: bool,
    /// `B`, which nothing but `EEEE` is looked at for.
    pub blank: bool,
}

use Pattern::*;

/// Longest first among those that begin alike; in capitals or in small letters.
const PATTERNS: &[(&str, Pattern)] = &[
    (",", Comma),
    (".", Point),
    ("0", Zero),
    ("9", Nine),
    ("B", Nothing),
    ("C", Nothing),
    ("D", Point),
    ("EEEE", Exponent),
    ("FM", NoFill),
    ("G", Group),
    ("L", Currency),
    ("MI", Minus),
    ("PL", Plus),
    ("PR", Brackets),
    ("RN", Roman(true)),
    ("SG", EitherSign),
    ("SP", Nothing),
    ("S", Sign),
    ("TH", Ordinal(true)),
    ("V", Shift),
];

#[cold]
fn wrong(message: &str) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, message)
}

impl Template {
    /// Takes a template apart.
    pub fn parse(template: &str) -> Result<Template> {
        let mut parsed = Template::default();
        let mut rest = template;
        while let Some(first) = rest.chars().next() {
            let found = PATTERNS.iter().find_map(|(name, pattern)| {
                let head = rest.get(..name.len())?;
                let small = head == name.to_ascii_lowercase();
                let pattern = match pattern {
                    Roman(_) => Roman(!small),
                    Ordinal(_) => Ordinal(!small),
                    other => *other,
                };
                (head == *name || small).then_some((head, pattern))
            });
            if let Some((head, pattern)) = found {
                rest = &rest[head.len()..];
                parsed.blank |=
                    head.eq_ignore_ascii_case("B") && parsed.before + parsed.after + parsed.first_zero == 0;
                parsed.take(pattern)?;
                parsed.nodes.push(Node::Pattern(pattern));
            } else if first == '"' {
                rest = parsed.quoted(&rest[1..]);
            } else {
                // A backslash counts before a quote alone.
                rest = rest.strip_prefix('\\').filter(|r| r.starts_with('"')).unwrap_or(rest);
                let Some(c) = rest.chars().next() else { break };
                parsed.nodes.push(Node::Text(c));
                rest = &rest[c.len_utf8()..];
            }
        }
        Ok(parsed)
    }

    fn quoted<'t>(&mut self, quoted: &'t str) -> &'t str {
        let mut chars = quoted.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => return &quoted[at + 1..],
                '\\' => self.nodes.push(Node::Text(chars.next().map_or(c, |(_, escaped)| escaped))),
                plain => self.nodes.push(Node::Text(plain)),
            }
        }
        ""
    }

    /// What a pattern says about all; 42601 where it does not go with those before it.
    fn take(&mut self, pattern: Pattern) -> Result<()> {
        let free = self.plus || self.minus;
        match pattern {
            Exponent if self.exponent => return Err(wrong("cannot use \"EEEE\" twice")),
            _ if self.exponent => return Err(wrong("\"EEEE\" must be the last pattern used")),
            Nine if self.brackets => return Err(wrong("\"9\" must be ahead of \"PR\"")),
            Nine if self.shifted => self.shift += 1,
            Nine if self.point => self.after += 1,
            Nine => self.before += 1,
            Zero if self.brackets => return Err(wrong("\"0\" must be ahead of \"PR\"")),
            Zero => {
                if self.first_zero == 0 && !self.point {
                    self.first_zero = self.before + 1;
                }
                *(if self.point { &mut self.after } else { &mut self.before }) += 1;
                self.last_zero = self.before + self.after;
            }
            Point if self.point => return Err(wrong("multiple decimal points")),
            Point | Shift if self.point || self.shifted && pattern == Point => {
                return Err(wrong("cannot use \"V\" and decimal point together"));
            }
            Point => self.point = true,
            Shift => self.shifted = true,
            NoFill => self.no_fill = true,
            Sign if self.signed => return Err(wrong("cannot use \"S\" twice")),
            Sign if free || self.brackets => {
                return Err(wrong("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together"));
            }
            Sign => {
                self.signed = true;
                if self.point {
                    self.anchor = Anchor::Behind;
                } else {
                    (self.anchor, self.before_sign) = (Anchor::Before, self.before);
                }
            }
            Minus if self.signed => return Err(wrong("cannot use \"S\" and \"MI\" together")),
            Minus => self.minus = true,
            Plus if self.signed => return Err(wrong("cannot use \"S\" and \"PL\" together")),
            Plus => self.plus = true,
            EitherSign if self.signed => return Err(wrong("cannot use \"S\" and \"SG\" together")),
            EitherSign => (self.minus, self.plus) = (true, true),
            Brackets if self.signed || free => {
                return Err(wrong("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together"));
            }
            Brackets => self.brackets = true,
            Roman(_) => self.roman = true,
            Exponent => {
                let others = self.blank || self.no_fill || self.signed || self.brackets;
                if others || free || self.roman || self.shifted {
                    return Err(wrong("\"EEEE\" is incompatible with other formats").with_detail(
                        "\"EEEE\" may only be used together with digit and decimal point patterns.",
                    ));
                }
                self.exponent = true;
            }
            Comma | Group | Currency | Ordinal(_) | Nothing => {}
        }
        Ok(())
    }
}
