//! Reads a regular expression as PostgreSQL reads it: basic ones, extended ones, advanced ones, and texts.
//!
//! Tokens depend on where they stand ([`Reader::advance`]); the structure of what is read on preferences
//! ([`Reader::quantified`], [`super::tree`]).

use super::names;
use super::tree::{
    CAPTURES, Expression, LONGER, Made, Place, REFERS, Regex, SHORTER, combine, messy, preference, repeated,
    sequence, up,
};
use super::{Flags, Parsed, invalid};
use crate::{Result, stack};
use std::rc::Rc;

/// What a repetition counts up to.
const COUNT_MAX: u32 = 255;
/// Classes of what a back reference may repeat, all copies counted.
const SIZE_MAX: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq)]
enum Token {
    End,
    Plain(char),
    /// The class of an escape; and whether it is what is not in it.
    Class(char),
    /// `*` and its like: how often, and whether longer ones are preferred.
    Often(u32, Option<u32>, bool),
    /// The beginning of bounds.
    Brace,
    /// `(`, and whether it tells what it has matched.
    Open(bool),
    Close,
    Look {
        ahead: bool,
        negated: bool,
    },
    Bracket {
        excludes: bool,
    },
    Any,
    Or,
    At(Place),
    Again(u32),
}

pub(super) struct Reader<'a> {
    rest: &'a str,
    flags: Flags,
    token: Token,
    groups: u32,
    /// What is known of the groups that are complete.
    known: Vec<Option<Rc<Regex>>>,
    refers: bool,
    looks: bool,
    size: usize,
}

/// What has been read of a branch, where no more must be known of it than what it matches.
#[derive(Default)]
struct Branch {
    parts: Vec<Rc<Regex>>,
    flags: u8,
}

/// A character as a class of the `regex` crate.
fn one(c: char) -> Rc<Regex> {
    let mut out = String::new();
    push(&mut out, c);
    Rc::new(Regex::One(out.into()))
}

fn push(out: &mut String, c: char) {
    if c.is_ascii_graphic() && !c.is_ascii_alphanumeric() && c != '_' && c != '<' && c != '>' || c == ' ' {
        match c {
            '\'' | '"' | '!' | '%' | ',' | '/' | ':' | ';' | '=' | '@' | '`' | ' ' => out.push(c),
            _ => out.extend(['\\', c]),
        }
    } else if c.is_ascii_control() {
        out.push_str(&format!("\\x{:02x}", u32::from(c)));
    } else {
        out.push(c);
    }
}

/// The class that an escape stands for.
fn escaped_class(c: char) -> &'static str {
    match c {
        'd' => "[0-9]",
        'D' => "[^0-9]",
        's' => "\\s",
        'S' => "\\S",
        'w' => "\\w",
        _ => "\\W",
    }
}

impl<'a> Reader<'a> {
    pub(super) fn new(pattern: &'a str, flags: Flags) -> Result<Reader<'a>> {
        let quoted_otherwise = Flags::ADVANCED | Flags::EXPANDED | Flags::NEWLINE;
        if flags.has(Flags::QUOTE) && flags.0 & quoted_otherwise.0 != 0 {
            return Err(invalid("invalid argument to regex function"));
        }
        let mut reader = Reader {
            rest: pattern,
            flags,
            token: Token::End,
            groups: 0,
            known: vec![None],
            refers: false,
            looks: false,
            size: 0,
        };
        reader.prefixes()?;
        Ok(reader)
    }

    pub(super) fn whole(mut self) -> Result<Parsed> {
        self.token = self.lex(true)?;
        let tree = self.expression(false, false)?;
        Ok(Parsed {
            tree,
            groups: self.groups,
            ignore_case: self.flags.has(Flags::IGNORE_CASE),
            refers: self.refers,
            looks: self.looks,
        })
    }

    fn eat(&mut self, text: &str) -> bool {
        let found = self.rest.strip_prefix(text);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn next_of_escape(&mut self) -> Result<char> {
        self.next().ok_or_else(|| invalid("invalid escape \\ sequence"))
    }

    /// Directors (`***=`) and embedded options (`(?x)`).
    fn prefixes(&mut self) -> Result<()> {
        if self.flags.has(Flags::QUOTE) {
            return Ok(());
        }
        if self.rest.starts_with("***") && self.rest.len() > 3 {
            let wrong = if self.rest.starts_with("***?") {
                "invalid regexp (reg version 0.8)"
            } else {
                "quantifier operand invalid"
            };
            if self.eat("***=") {
                self.flags.set(Flags::QUOTE);
                self.flags.clear(Flags::ADVANCED | Flags::EXPANDED | Flags::NEWLINE);
                return Ok(());
            }
            if !self.eat("***:") {
                return Err(invalid(wrong));
            }
            self.flags.set(Flags::ADVANCED);
        }
        if !self.flags.has(Flags::ADVANCED) {
            return Ok(());
        }
        let Some(letters) = self.rest.strip_prefix("(?") else { return Ok(()) };
        if !letters.starts_with(char::is_alphabetic) {
            return Ok(());
        }
        self.rest = letters;
        while self.rest.starts_with(char::is_alphabetic) {
            let letter = self.next().unwrap_or_default();
            if !self.flags.embedded(letter) {
                return Err(invalid("invalid embedded option"));
            }
        }
        if !self.eat(")") {
            return Err(invalid("invalid embedded option"));
        }
        if self.flags.has(Flags::QUOTE) {
            self.flags.clear(Flags::EXPANDED | Flags::NEWLINE);
        }
        Ok(())
    }

    /// Blanks and comments, where they are none of the expression.
    fn skip(&mut self) {
        if !self.flags.has(Flags::EXPANDED) {
            return;
        }
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with('#') {
                break;
            }
            self.rest = self.rest.find('\n').map_or("", |at| &self.rest[at..]);
        }
    }

    fn advance(&mut self) -> Result<()> {
        self.token = self.lex(false)?;
        Ok(())
    }

    /// The next token; those that come first mean something else where expressions are basic.
    fn lex(&mut self, first: bool) -> Result<Token> {
        if self.flags.has(Flags::QUOTE) {
            return Ok(self.next().map_or(Token::End, Token::Plain));
        }
        loop {
            self.skip();
            let Some(c) = self.next() else { return Ok(Token::End) };
            if !self.flags.has(Flags::EXTENDED) {
                return self.basic(c, first);
            }
            let advanced = self.flags.has(Flags::ADVANCED);
            let often = |reader: &mut Self, min, max| Token::Often(min, max, !(advanced && reader.eat("?")));
            return Ok(match c {
                '|' => Token::Or,
                '*' => often(self, 0, None),
                '+' => often(self, 1, None),
                '?' => often(self, 0, Some(1)),
                '{' => {
                    self.skip();
                    if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
                        Token::Brace
                    } else {
                        Token::Plain(c)
                    }
                }
                '(' if advanced && self.eat("?") => match self.next() {
                    Some(':') => Token::Open(false),
                    Some('#') => {
                        self.rest = self.rest.find(')').map_or("", |at| &self.rest[at + 1..]);
                        continue;
                    }
                    Some('=') => Token::Look { ahead: true, negated: false },
                    Some('!') => Token::Look { ahead: true, negated: true },
                    Some('<') if self.eat("=") => Token::Look { ahead: false, negated: false },
                    Some('<') if self.eat("!") => Token::Look { ahead: false, negated: true },
                    _ => return Err(invalid("quantifier operand invalid")),
                },
                '(' => Token::Open(true),
                ')' => Token::Close,
                '[' => self.bracket_begins(),
                '.' => Token::Any,
                '^' => self.line_begins(),
                '$' => self.line_ends(),
                '\\' if advanced => self.escape()?,
                '\\' => Token::Plain(self.next_of_escape()?),
                c => Token::Plain(c),
            });
        }
    }

    fn bracket_begins(&mut self) -> Token {
        if self.eat("[:<:]]") {
            Token::At(Place::WordBegin)
        } else if self.eat("[:>:]]") {
            Token::At(Place::WordEnd)
        } else {
            Token::Bracket { excludes: self.eat("^") }
        }
    }

    fn line_begins(&self) -> Token {
        Token::At(if self.flags.has(Flags::LINES) { Place::LineBegin } else { Place::Begin })
    }

    fn line_ends(&self) -> Token {
        Token::At(if self.flags.has(Flags::LINES) { Place::LineEnd } else { Place::End })
    }

    fn basic(&mut self, c: char, first: bool) -> Result<Token> {
        // What is behind the token that is the last one by then.
        let opened = !first && matches!(self.token, Token::Open(_));
        let lined = !first && matches!(self.token, Token::At(Place::Begin | Place::LineBegin));
        Ok(match c {
            '*' if first || opened || lined => Token::Plain(c),
            '*' => Token::Often(0, None, true),
            '[' => self.bracket_begins(),
            '.' => Token::Any,
            '^' if first || opened => self.line_begins(),
            '$' => {
                self.skip();
                match self.rest.is_empty() || self.rest.starts_with("\\)") {
                    true => self.line_ends(),
                    false => Token::Plain(c),
                }
            }
            '\\' => match self.next_of_escape()? {
                '{' => Token::Brace,
                '(' => Token::Open(true),
                ')' => Token::Close,
                '<' => Token::At(Place::WordBegin),
                '>' => Token::At(Place::WordEnd),
                digit @ '1'..='9' => Token::Again(digit as u32 - '0' as u32),
                c => Token::Plain(c),
            },
            c => Token::Plain(c),
        })
    }

    /// What follows a backslash.
    fn escape(&mut self) -> Result<Token> {
        let c = self.next_of_escape()?;
        let wrong = || invalid("invalid escape \\ sequence");
        Ok(match c {
            c if !c.is_ascii_alphanumeric() => Token::Plain(c),
            'a' => Token::Plain('\x07'),
            'b' => Token::Plain('\x08'),
            'B' => Token::Plain('\\'),
            'c' => {
                let control = u32::from(self.next_of_escape()?) & 31;
                Token::Plain(char::from_u32(control).ok_or_else(wrong)?)
            }
            'e' => Token::Plain('\x1b'),
            'f' => Token::Plain('\x0c'),
            'n' => Token::Plain('\n'),
            'r' => Token::Plain('\r'),
            't' => Token::Plain('\t'),
            'v' => Token::Plain('\x0b'),
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => Token::Class(c),
            'A' => Token::At(Place::Begin),
            'Z' => Token::At(Place::End),
            'm' => Token::At(Place::WordBegin),
            'M' => Token::At(Place::WordEnd),
            'y' => Token::At(Place::WordEdge),
            'Y' => Token::At(Place::NoWordEdge),
            'u' | 'U' | 'x' => {
                let (min, max) = match c {
                    'u' => (4, 4),
                    'U' => (8, 8),
                    _ => (1, 255),
                };
                let code = self.digits(16, min, max)?;
                Token::Plain(char::from_u32(code).ok_or_else(wrong)?)
            }
            '0'..='9' => {
                let digits = self.rest;
                let value = u32::from(c) - u32::from('0');
                if c != '0' {
                    let more = self.rest.bytes().take_while(u8::is_ascii_digit).count();
                    let number = self.rest[..more].parse::<u32>().ok();
                    let number = match more {
                        0 => Some(value),
                        _ => number
                            .and_then(|n| value.checked_mul(10u32.checked_pow(more as u32)?)?.checked_add(n)),
                    };
                    if let Some(number) = number
                        && (more == 0 || number <= self.groups)
                    {
                        self.rest = &self.rest[more..];
                        return Ok(Token::Again(number));
                    }
                    self.rest = digits;
                }
                self.octal(value)?
            }
            _ => return Err(wrong()),
        })
    }

    /// Up to three octal digits, of which one has been read.
    fn octal(&mut self, first: u32) -> Result<Token> {
        if first > 7 {
            return Err(invalid("invalid escape \\ sequence"));
        }
        let mut code = first;
        for _ in 0..2 {
            let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(8)) else { break };
            if code * 8 + digit > 255 {
                break;
            }
            code = code * 8 + digit;
            self.rest = &self.rest[1..];
        }
        Ok(Token::Plain(char::from_u32(code).unwrap_or_default()))
    }

    fn digits(&mut self, base: u32, min: usize, max: usize) -> Result<u32> {
        let count = self.rest.chars().take(max).take_while(|c| c.is_digit(base)).count();
        if count < min {
            return Err(invalid("invalid escape \\ sequence"));
        }
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        u32::from_str_radix(digits, base).map_err(|_| invalid("invalid escape \\ sequence"))
    }

    /// Up to the end, or to the parenthesis that closes it.
    fn expression(&mut self, within: bool, looking: bool) -> Result<Expression> {
        stack::check()?;
        let (mut branches, mut flags) = (Vec::new(), LONGER);
        loop {
            let branch = self.branch(within, looking)?;
            flags |= up(flags | branch.flags);
            branches.push(branch);
            if self.token != Token::Or {
                break;
            }
            self.advance()?;
        }
        if within && self.token != Token::Close {
            return Err(invalid("parentheses () not balanced"));
        }
        if branches.len() == 1 {
            return branches.pop().ok_or_else(|| invalid("invalid argument to regex function"));
        }
        let regex = Rc::new(Regex::Either(branches.iter().map(|branch| branch.regex.clone()).collect()));
        let made = if messy(flags) { Made::Either(branches) } else { Made::Plain };
        Ok(Expression { regex, flags, group: 0, made })
    }

    fn branch(&mut self, within: bool, looking: bool) -> Result<Expression> {
        stack::check()?;
        let mut branch = Branch::default();
        while !self.branch_ends(within) {
            if let Some(whole) = self.quantified(&mut branch, within, looking)? {
                return Ok(whole);
            }
        }
        Ok(Expression::plain(branch.flags, Rc::new(sequence(branch.parts))))
    }

    fn branch_ends(&self, within: bool) -> bool {
        match self.token {
            Token::End | Token::Or => true,
            Token::Close => within,
            _ => false,
        }
    }

    /// An atom with what is said of how often it comes. Where it has to be taken apart, the rest of the branch is read, too.
    fn quantified(&mut self, branch: &mut Branch, within: bool, looking: bool) -> Result<Option<Expression>> {
        let (mut atom, mut captures, mut again) = (None, 0, 0);
        let regex;
        match self.token.clone() {
            Token::At(place) => {
                branch.parts.push(Rc::new(Regex::At(place)));
                self.advance()?;
                return Ok(None);
            }
            Token::Look { ahead, negated } => {
                self.advance()?;
                let inner = self.expression(true, true)?.regex;
                self.advance()?;
                self.looks = true;
                branch.parts.push(Rc::new(Regex::Look { ahead, negated, inner }));
                return Ok(None);
            }
            Token::Close if self.flags.has(Flags::ADVANCED) || !self.flags.has(Flags::EXTENDED) => {
                return Err(invalid("parentheses () not balanced"));
            }
            // Of extended ones, a character like any other.
            Token::Close => {
                regex = one(')');
                self.advance()?;
            }
            Token::Plain(c) => {
                regex = one(c);
                self.advance()?;
            }
            Token::Class(c) => {
                regex = Rc::new(Regex::One(escaped_class(c).into()));
                self.advance()?;
            }
            Token::Any => {
                let any = if self.flags.has(Flags::STOPS) { "[^\\n]" } else { "(?s:.)" };
                regex = Rc::new(Regex::One(any.into()));
                self.advance()?;
            }
            Token::Bracket { excludes } => {
                regex = Rc::new(Regex::One(self.bracket(excludes)?.into()));
                self.advance()?;
            }
            Token::Open(told) => {
                if told && !looking {
                    self.groups += 1;
                    captures = self.groups;
                    self.known.push(None);
                }
                self.advance()?;
                let mut inner = self.expression(true, looking)?;
                self.advance()?;
                if captures > 0 {
                    inner = match inner.group {
                        0 => Expression { group: captures, flags: inner.flags | CAPTURES, ..inner },
                        _ => Expression {
                            regex: inner.regex.clone(),
                            flags: inner.flags | CAPTURES,
                            group: captures,
                            made: Made::Within(Box::new(inner)),
                        },
                    };
                    self.known[captures as usize] = Some(inner.regex.clone());
                }
                regex = inner.regex.clone();
                atom = Some(inner);
            }
            Token::Again(group) => {
                let known = self.known.get(group as usize).filter(|_| !looking).and_then(Option::as_ref);
                let Some(known) = known.cloned() else {
                    return Err(invalid("invalid backreference number"));
                };
                self.repeats(&known)?;
                regex = known.without_places();
                (again, self.refers) = (group, true);
                atom = Some(Expression {
                    regex: regex.clone(),
                    flags: REFERS,
                    group: 0,
                    made: Made::Again { group, min: 1, max: Some(1) },
                });
                self.advance()?;
            }
            Token::Often(..) | Token::Brace => return Err(invalid("quantifier operand invalid")),
            Token::End | Token::Or => return Ok(None),
        }
        let (min, max, prefers) = self.times()?;
        if max == Some(0) {
            if captures > 0 {
                self.known[captures as usize] = None;
            }
            branch.parts.push(Rc::new(Regex::Empty));
            return Ok(None);
        }
        let of_atom = atom.as_ref().map_or(0, |atom| atom.flags);
        let flags = branch.flags | prefers | of_atom;
        if captures == 0 && again == 0 && !messy(up(flags)) {
            branch.parts.push(repeated(regex, min, max));
            branch.flags = flags;
            return Ok(None);
        }
        let atom = atom.unwrap_or_else(|| Expression::plain(0, regex.clone()));
        let outer = combine(prefers, of_atom);
        let wanted = of_atom & (LONGER | SHORTER | super::tree::MIXED);
        let taken = if again > 0 {
            Expression {
                regex: repeated(regex, min, max),
                flags: atom.flags | outer,
                group: 0,
                made: Made::Again { group: again, min, max },
            }
        } else if (min, max) == (1, Some(1)) && (prefers == 0 || wanted == 0 || prefers == wanted) {
            atom
        } else if of_atom & (CAPTURES | REFERS) == 0 {
            Expression::plain(outer, repeated(regex, min, max))
        } else if min > 0 && of_atom & REFERS == 0 {
            // What the last time has matched is what counts.
            self.repeats(&regex)?;
            let before = repeated(regex, min - 1, max.map(|max| max - 1));
            Expression::both(outer, Expression::plain(preference(outer), before), atom)
        } else {
            Expression {
                regex: repeated(regex, min, max),
                flags: outer,
                group: 0,
                made: Made::Repeated(Box::new(atom), min, max),
            }
        };
        self.rest_of(std::mem::take(branch), outer, taken, within, looking).map(Some)
    }

    /// A part stands in the expression once more: 2201B where that makes it too large. Parts are shared, so that a few levels of
    /// parentheses could be larger than any memory when they are written out.
    fn repeats(&mut self, part: &Regex) -> Result<()> {
        self.size += size(part, SIZE_MAX);
        if self.size > SIZE_MAX { Err(invalid("regular expression is too complex")) } else { Ok(()) }
    }

    /// A branch of which something is taken apart.
    fn rest_of(
        &mut self,
        before: Branch,
        outer: u8,
        taken: Expression,
        within: bool,
        looking: bool,
    ) -> Result<Expression> {
        let first = (!before.parts.is_empty())
            .then(|| Expression::plain(before.flags, Rc::new(sequence(before.parts))));
        if self.branch_ends(within) {
            return Ok(match first {
                None => taken,
                Some(first) => {
                    Expression::both(before.flags | combine(before.flags, taken.flags), first, taken)
                }
            });
        }
        let rest = self.branch(within, looking)?;
        let both = outer | combine(outer, rest.flags);
        let all = before.flags | combine(before.flags, both);
        Ok(match first {
            None => Expression::both(all, taken, rest),
            Some(first) => {
                let plain = |part: &Expression| matches!(part.made, Made::Plain) && part.group == 0;
                let second = match plain(&taken) && plain(&rest) && !messy(up(taken.flags | rest.flags)) {
                    true => {
                        let flags = combine(taken.flags, rest.flags);
                        Expression::plain(flags, Rc::new(sequence(vec![taken.regex, rest.regex])))
                    }
                    false => Expression::both(both, taken, rest),
                };
                Expression::both(all, first, second)
            }
        })
    }

    /// What is said behind an atom of how often it comes, and what is preferred.
    fn times(&mut self) -> Result<(u32, Option<u32>, u8)> {
        let preferred = |longer: bool| if longer { LONGER } else { SHORTER };
        match self.token {
            Token::Often(min, max, longer) => {
                self.advance()?;
                Ok((min, max, preferred(longer)))
            }
            Token::Brace => {
                let min = self.count()?;
                self.skip();
                let mut open = false;
                let max = if self.eat(",") {
                    open = true;
                    self.skip();
                    match self.rest.starts_with(|c: char| c.is_ascii_digit()) {
                        true => Some(self.count()?),
                        false => None,
                    }
                } else {
                    Some(min)
                };
                self.skip();
                if self.rest.is_empty() {
                    return Err(invalid("braces {} not balanced"));
                }
                let ends = if self.flags.has(Flags::EXTENDED) { "}" } else { "\\}" };
                if max.is_some_and(|max| max < min) || !self.eat(ends) {
                    return Err(invalid("invalid repetition count(s)"));
                }
                let longer = !(self.flags.has(Flags::ADVANCED) && self.eat("?"));
                self.advance()?;
                Ok((min, max, if open { preferred(longer) } else { 0 }))
            }
            _ => Ok((1, Some(1), 0)),
        }
    }

    fn count(&mut self) -> Result<u32> {
        self.skip();
        let mut count = 0;
        while let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(10)) {
            count = count * 10 + digit;
            self.rest = &self.rest[1..];
            if count > COUNT_MAX {
                return Err(invalid("invalid repetition count(s)"));
            }
            self.skip();
        }
        Ok(count)
    }
}

/// About what it takes when it is written out, in 16 bytes; no more is looked at than `max`.
fn size(regex: &Regex, max: usize) -> usize {
    match regex {
        Regex::Empty | Regex::At(_) => 1,
        Regex::One(class) => 1 + class.len() / 16,
        Regex::Look { inner, .. } => 1 + size(inner, max),
        Regex::Sequence(parts) | Regex::Either(parts) => {
            let mut sum = 1;
            for part in parts {
                sum += size(part, max);
                if sum > max {
                    break;
                }
            }
            sum
        }
        Regex::Repeated(inner, ..) => 1 + size(inner, max),
    }
}

/// What stands for one end of a range in brackets.
enum Element {
    One(char),
    /// A class, written out.
    Class(String),
}

impl Reader<'_> {
    /// A bracket expression behind its `[`, as a class of the `regex` crate.
    fn bracket(&mut self, excludes: bool) -> Result<String> {
        let mut out = "[".to_owned();
        if excludes {
            out.push('^');
            if self.flags.has(Flags::STOPS) {
                out.push_str("\\n");
            }
        }
        let mut first = true;
        loop {
            if self.rest.is_empty() {
                return Err(invalid("brackets [] not balanced"));
            }
            if !first && self.eat("]") {
                break;
            }
            // A range needs something before it.
            if self.rest.starts_with('-') && !first && !self.rest.starts_with("-]") {
                return Err(invalid("invalid character range"));
            }
            let element = self.element()?;
            self.goes_on()?;
            first = false;
            let ranged = self.rest.starts_with('-') && !self.rest.starts_with("-]");
            match element {
                Element::Class(class) => out.push_str(&class),
                Element::One(begin) => {
                    let mut end = begin;
                    if ranged {
                        self.rest = &self.rest[1..];
                        end = match self.element()? {
                            Element::One(end) => end,
                            Element::Class(_) => return Err(invalid("invalid character range")),
                        };
                        self.goes_on()?;
                        if end < begin {
                            return Err(invalid("invalid character range"));
                        }
                    }
                    push(&mut out, begin);
                    if end > begin {
                        out.push('-');
                        push(&mut out, end);
                    }
                }
            }
        }
        out.push(']');
        Ok(out)
    }

    fn element(&mut self) -> Result<Element> {
        let Some(c) = self.next() else { return Err(invalid("brackets [] not balanced")) };
        match c {
            '\\' if self.flags.has(Flags::ADVANCED) => match self.escape()? {
                Token::Plain(c) => Ok(Element::One(c)),
                Token::Class(c) => Ok(Element::Class(escaped_class(c).to_owned())),
                _ => Err(invalid("invalid escape \\ sequence")),
            },
            '[' if self.rest.is_empty() => Err(invalid("brackets [] not balanced")),
            '[' if self.eat(".") => Ok(Element::One(self.named(".]")?)),
            '[' if self.eat("=") => {
                // No locale has others that are equivalent.
                let mut out = String::new();
                push(&mut out, self.named("=]")?);
                Ok(Element::Class(out))
            }
            '[' if self.eat(":") => {
                let Some((name, rest)) = self.rest.split_once(":]") else {
                    return Err(invalid("brackets [] not balanced"));
                };
                self.rest = rest;
                self.goes_on()?;
                let class = match name {
                    "lower" | "upper" if self.flags.has(Flags::IGNORE_CASE) => "alpha",
                    name => name,
                };
                Ok(Element::Class(named_class(class)?.to_owned()))
            }
            c => Ok(Element::One(c)),
        }
    }

    /// A bracket that is not closed is that before it is anything else.
    fn goes_on(&self) -> Result<()> {
        if self.rest.is_empty() { Err(invalid("brackets [] not balanced")) } else { Ok(()) }
    }

    fn named(&mut self, closes: &str) -> Result<char> {
        let Some((name, rest)) = self.rest.split_once(closes) else {
            return Err(invalid("brackets [] not balanced"));
        };
        self.rest = rest;
        self.goes_on()?;
        names::character(name).ok_or_else(|| invalid("invalid collating element"))
    }
}

fn named_class(name: &str) -> Result<&'static str> {
    Ok(match name {
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
        "ascii" => "\\x00-\\x7f",
        "graph" => "[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}]",
        "print" => "[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}\\p{Zs}]",
        _ => return Err(invalid("invalid character class")),
    })
}
