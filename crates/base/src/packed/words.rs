//! Words in the texts of `tsvector` and `tsquery`: quotes, escapes, positions.

use crate::error::{Error, Result, SqlState};

/// A word has fewer bytes.
pub const WORD_BYTES_MAX: usize = (1 << 11) - 1;
/// A position is less.
pub const POSITION_MAX: u16 = 1 << 14;
/// A lexeme has fewer positions.
pub const POSITIONS_MAX: usize = 256;

/// A place of a lexeme: its position, from 1, and its weight, 0 (D) to 3 (A).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Place(u16);

impl Place {
    /// Of a position, cut off at the highest there is.
    pub fn new(position: u64, weight: u16) -> Place {
        Place((position.min(u64::from(POSITION_MAX) - 1) as u16) << 2 | weight & 3)
    }

    /// In one word, in its order.
    pub fn word(self) -> u16 {
        self.0
    }

    /// From [`Place::word`].
    pub fn of_word(word: u16) -> Place {
        Place(word)
    }

    /// The position.
    pub fn position(self) -> u16 {
        self.0 >> 2
    }

    /// The weight.
    pub fn weight(self) -> u16 {
        self.0 & 3
    }

    /// The letter of the weight.
    pub fn letter(self) -> char {
        ['D', 'C', 'B', 'A'][usize::from(self.weight())]
    }

    /// The same place with another weight.
    pub fn with_weight(self, weight: u16) -> Place {
        Place(self.0 & !3 | weight & 3)
    }
}

/// The weight that a letter stands for.
pub fn weight(letter: char) -> Option<u16> {
    match letter {
        'A' | 'a' => Some(3),
        'B' | 'b' => Some(2),
        'C' | 'c' => Some(1),
        'D' | 'd' => Some(0),
        _ => None,
    }
}

/// What a text with words is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Text {
    /// `tsvector`
    Vector,
    /// `tsquery`: operators end words, positions are none of the word's
    Query,
    /// What `websearch_to_tsquery` takes: the same, without quotes and escapes
    Web,
}

/// Reads words.
pub struct Words<'t> {
    of: Text,
    /// All of it, for errors.
    whole: &'t str,
    /// What is still to be read.
    pub rest: &'t str,
}

/// A word with its places.
pub type Word = (String, Vec<Place>);

/// Whether it is an operator of a query that ends a word.
pub fn is_operator(c: char) -> bool {
    matches!(c, '!' | '&' | '|' | '(' | ')' | '<')
}

/// Whether it is a space, as C has them.
pub fn is_space(c: char) -> bool {
    c == '\u{b}' || c.is_whitespace() && !matches!(c, '\u{85}' | '\u{a0}' | '\u{2007}' | '\u{202f}')
}

impl<'t> Words<'t> {
    /// The words of a text.
    pub fn new(of: Text, whole: &'t str) -> Words<'t> {
        Words { of, whole, rest: whole }
    }

    /// 42601 as PostgreSQL words it.
    pub fn syntax_error(&self) -> Error {
        let what = if self.of == Text::Query { "tsquery" } else { "tsvector" };
        Error::new(SqlState::SYNTAX_ERROR, format!("syntax error in {what}: \"{}\"", self.whole))
    }

    fn bump(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn escaped(&mut self, word: &mut String) -> Result<()> {
        self.bump();
        match self.bump() {
            Some(c) => word.push(c),
            None => {
                let message = format!("there is no escaped character: \"{}\"", self.whole);
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
        }
        Ok(())
    }

    /// The next word, with its places where it is of a `tsvector`; `None` at the end.
    pub fn word(&mut self) -> Result<Option<Word>> {
        self.rest = self.rest.trim_start_matches(is_space);
        let quotes = self.of != Text::Web;
        let of = self.of;
        let stops = move |c: char| of != Text::Vector && is_operator(c) || of == Text::Web && c == '"';
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        let mut word = String::new();
        if quotes && first == '\'' {
            self.bump();
            loop {
                match self.rest.chars().next() {
                    None => return Err(self.syntax_error()),
                    Some('\\') => self.escaped(&mut word)?,
                    Some('\'') => {
                        self.bump();
                        if !self.rest.starts_with('\'') {
                            break;
                        }
                        self.bump();
                        word.push('\'');
                    }
                    Some(c) => {
                        self.bump();
                        word.push(c);
                    }
                }
            }
            if word.is_empty() {
                return Err(self.syntax_error());
            }
        } else {
            if stops(first) {
                return Err(self.syntax_error());
            }
            // The first character is of the word whatever it is, but for an escape.
            if !(quotes && first == '\\') {
                self.bump();
                word.push(first);
            }
            loop {
                match self.rest.chars().next() {
                    Some('\\') if quotes => self.escaped(&mut word)?,
                    None | Some(':') => break,
                    Some(c) if is_space(c) || stops(c) => break,
                    Some(c) => {
                        self.bump();
                        word.push(c);
                    }
                }
            }
        }
        let places = match self.of {
            Text::Vector if self.rest.starts_with(':') => self.places()?,
            _ => Vec::new(),
        };
        Ok(Some((word, places)))
    }

    /// `:1A,2`, up to the space behind it.
    fn places(&mut self) -> Result<Vec<Place>> {
        let mut places = Vec::new();
        loop {
            // The colon, or the comma.
            self.bump();
            let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            if digits == 0 {
                return Err(self.syntax_error());
            }
            let number = self.rest[..digits].parse().unwrap_or(u64::MAX);
            self.rest = &self.rest[digits..];
            if number == 0 {
                let message = format!("wrong position info in tsvector: \"{}\"", self.whole);
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
            let mut place = Place::new(number, 0);
            loop {
                match self.rest.chars().next() {
                    None => {
                        places.push(place);
                        return Ok(places);
                    }
                    Some(c) if is_space(c) => {
                        places.push(place);
                        return Ok(places);
                    }
                    Some(',') => break,
                    Some(c) => {
                        match if c == '*' { Some(3) } else { weight(c) } {
                            Some(_) if place.weight() != 0 => return Err(self.syntax_error()),
                            Some(weight) => place = place.with_weight(weight),
                            None if c.is_ascii_digit() => {}
                            None => return Err(self.syntax_error()),
                        }
                        self.bump();
                    }
                }
            }
            places.push(place);
        }
    }
}

/// Appends a word in quotes.
pub fn write_quoted(word: &str, out: &mut Vec<u8>) {
    out.push(b'\'');
    for byte in word.bytes() {
        if matches!(byte, b'\'' | b'\\') {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'\'');
}
