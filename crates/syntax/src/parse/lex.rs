//! From text to tokens, by PostgreSQL's lexical rules (`scan.l`).
//!
//! The lexer works on bytes and never fails: what is broken (an unterminated string, a number with
//! letters behind it) becomes a [`Kind::Bad`] token, so that a syntax error before it is reported
//! first, as PostgreSQL does. Strings are delimited here and decoded in [`super::literal`].

use planaria_base::watch;

/// Kinds of token. Keywords are words: which of them may be names is asked of [`super::keyword`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Identifier without quotes, or keyword.
    Word,
    /// `"name"`
    Quoted,
    /// `U&"name"`
    UnicodeQuoted,
    /// `42`
    Integer,
    /// `4.2`, `4e2`
    Decimal,
    /// `'text'`, continuations included
    String,
    /// `E'text'`
    EscapeString,
    /// `U&'text'`
    UnicodeString,
    /// `$tag$text$tag$`
    DollarString,
    /// `B'01'`, `X'ff'`
    BitString,
    /// `$1`
    Parameter,
    /// An operator, whatever its characters
    Operator,
    /// `(`
    LeftParen,
    /// `)`
    RightParen,
    /// `[`
    LeftBracket,
    /// `]`
    RightBracket,
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// `:`
    Colon,
    /// `.`
    Dot,
    /// `..`
    DotDot,
    /// `::`
    ColonColon,
    /// `:=`
    ColonEquals,
    /// A character that begins nothing.
    Other,
    /// A broken lexeme.
    Bad(Bad),
    /// Behind the last token.
    End,
}

/// What is wrong with a lexeme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bad {
    UnterminatedString,
    UnterminatedBitString,
    UnterminatedDollarString,
    UnterminatedName,
    UnterminatedComment,
    EmptyName,
    NumberJunk,
    ParameterJunk,
}

impl Bad {
    /// PostgreSQL's words for it.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Bad::UnterminatedString => "unterminated quoted string",
            Bad::UnterminatedBitString => "unterminated bit string literal",
            Bad::UnterminatedDollarString => "unterminated dollar-quoted string",
            Bad::UnterminatedName => "unterminated quoted identifier",
            Bad::UnterminatedComment => "unterminated /* comment",
            Bad::EmptyName => "zero-length delimited identifier",
            Bad::NumberJunk => "trailing junk after numeric literal",
            Bad::ParameterJunk => "trailing junk after parameter",
        }
    }
}

/// A token: a kind and a byte range of the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Token {
    /// The token's part of the text.
    pub(crate) fn text(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }
}

/// Gives the tokens of a text one after another.
pub(crate) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    /// Each sign up to here is an operator of its own: a long run of them is looked through once.
    signs_until: usize,
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}
fn is_word_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_' || b >= 0x80
}
fn is_word(b: u8) -> bool {
    is_word_start(b) || b.is_ascii_digit() || b == b'$'
}
fn is_operator(b: u8) -> bool {
    matches!(
        b,
        b'~' | b'!'
            | b'@'
            | b'#'
            | b'^'
            | b'&'
            | b'|'
            | b'`'
            | b'?'
            | b'+'
            | b'-'
            | b'*'
            | b'/'
            | b'%'
            | b'<'
            | b'>'
            | b'='
    )
}

impl<'a> Lexer<'a> {
    /// Begins at byte `from`; the text ends at byte `to`. Both lie on character boundaries.
    pub(crate) fn new(text: &'a str, from: usize, to: usize) -> Lexer<'a> {
        let at = if from == 0 && text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { from };
        Lexer { text: &text.as_bytes()[..to], at: at.min(to), signs_until: 0 }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// The next token; [`Kind::End`] again and again at the end.
    pub(crate) fn next_token(&mut self) -> Token {
        let before = self.at;
        let bad = self.skip_blanks();
        let start = self.at;
        if let Some(bad) = bad {
            watch::count(start - before);
            return bad;
        }
        let kind = match self.text.get(self.at) {
            None => Kind::End,
            Some(&first) => self.lexeme(first),
        };
        watch::count(self.at - before);
        Token { kind, start: start as u32, end: self.at as u32 }
    }

    /// Skips white space and comments; a comment without end is a token.
    fn skip_blanks(&mut self) -> Option<Token> {
        loop {
            match self.byte(0) {
                b if is_space(b) => self.at += 1,
                b'-' if self.byte(1) == b'-' => self.skip_line(),
                b'/' if self.byte(1) == b'*' => {
                    let start = self.at;
                    if !self.skip_comment() {
                        let kind = Kind::Bad(Bad::UnterminatedComment);
                        return Some(Token { kind, start: start as u32, end: self.at as u32 });
                    }
                }
                _ => return None,
            }
        }
    }

    fn skip_line(&mut self) {
        while self.at < self.text.len() && !matches!(self.text[self.at], b'\n' | b'\r') {
            self.at += 1;
        }
    }

    /// Skips a comment, nested ones included; false if it does not end.
    fn skip_comment(&mut self) -> bool {
        let mut depth = 0u32;
        while self.at < self.text.len() {
            match (self.byte(0), self.byte(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return true;
                    }
                }
                _ => self.at += 1,
            }
        }
        false
    }

    fn lexeme(&mut self, first: u8) -> Kind {
        let single = match first {
            b'(' => Kind::LeftParen,
            b')' => Kind::RightParen,
            b'[' => Kind::LeftBracket,
            b']' => Kind::RightBracket,
            b',' => Kind::Comma,
            b';' => Kind::Semicolon,
            b':' => {
                self.at += 1;
                return match self.byte(0) {
                    b':' => self.take(1, Kind::ColonColon),
                    b'=' => self.take(1, Kind::ColonEquals),
                    _ => Kind::Colon,
                };
            }
            b'.' if self.byte(1) == b'.' => return self.take(2, Kind::DotDot),
            b'.' if self.byte(1).is_ascii_digit() => return self.number(),
            b'.' => Kind::Dot,
            b'\'' => return self.string(1, false, Kind::String),
            b'"' => return self.quoted_name(1, Kind::Quoted),
            b'$' => return self.dollar(),
            b if b.is_ascii_digit() => return self.number(),
            b if is_word_start(b) => return self.word(b),
            b if is_operator(b) => return self.operator(),
            _ => Kind::Other,
        };
        self.take(1, single)
    }

    fn take(&mut self, bytes: usize, kind: Kind) -> Kind {
        self.at += bytes;
        kind
    }

    fn word(&mut self, first: u8) -> Kind {
        match (first | 0x20, self.byte(1), self.byte(2)) {
            (b'e', b'\'', _) => return self.string(2, true, Kind::EscapeString),
            (b'b' | b'x', b'\'', _) => return self.string(2, false, Kind::BitString),
            (b'n', b'\'', _) => return self.string(2, false, Kind::String),
            (b'u', b'&', b'\'') => return self.string(3, false, Kind::UnicodeString),
            (b'u', b'&', b'"') => return self.quoted_name(3, Kind::UnicodeQuoted),
            _ => {}
        }
        while is_word(self.byte(0)) {
            self.at += 1;
        }
        Kind::Word
    }

    /// A string whose text begins `prefix` bytes ahead. Strings separated by white space with a
    /// newline in it are one string.
    fn string(&mut self, prefix: usize, escapes: bool, kind: Kind) -> Kind {
        self.at += prefix;
        loop {
            match self.text.get(self.at) {
                None if kind == Kind::BitString => return Kind::Bad(Bad::UnterminatedBitString),
                None => return Kind::Bad(Bad::UnterminatedString),
                Some(b'\\') if escapes => {
                    // The character behind may have several bytes; none of them is a quote.
                    self.at = (self.at + 2).min(self.text.len());
                }
                Some(b'\'') if self.byte(1) == b'\'' => self.at += 2,
                Some(b'\'') => {
                    self.at += 1;
                    match continuation(&self.text[self.at..]) {
                        Some(skip) => self.at += skip,
                        None => return kind,
                    }
                }
                Some(_) => self.at += 1,
            }
        }
    }

    fn quoted_name(&mut self, prefix: usize, kind: Kind) -> Kind {
        self.at += prefix;
        let start = self.at;
        loop {
            match self.text.get(self.at) {
                None => return Kind::Bad(Bad::UnterminatedName),
                Some(b'"') if self.byte(1) == b'"' => self.at += 2,
                Some(b'"') => {
                    self.at += 1;
                    return if self.at - 1 == start { Kind::Bad(Bad::EmptyName) } else { kind };
                }
                Some(_) => self.at += 1,
            }
        }
    }

    /// `$1`, or a dollar-quoted string.
    fn dollar(&mut self) -> Kind {
        let start = self.at;
        self.at += 1;
        if self.byte(0).is_ascii_digit() {
            while self.byte(0).is_ascii_digit() {
                self.at += 1;
            }
            if is_word_start(self.byte(0)) {
                while is_word(self.byte(0)) {
                    self.at += 1;
                }
                return Kind::Bad(Bad::ParameterJunk);
            }
            return Kind::Parameter;
        }
        let mut tag = self.at;
        if self.text.get(tag).is_some_and(|b| is_word_start(*b)) {
            while self.text.get(tag).is_some_and(|b| is_word(*b) && *b != b'$') {
                tag += 1;
            }
        }
        if self.text.get(tag) != Some(&b'$') {
            return Kind::Other;
        }
        let tag = &self.text[start..=tag];
        watch::count(tag.len());
        self.at = start + tag.len();
        while self.at < self.text.len() {
            if self.text[self.at] == b'$' && self.text[self.at..].starts_with(tag) {
                self.at += tag.len();
                return Kind::DollarString;
            }
            self.at += 1;
        }
        Kind::Bad(Bad::UnterminatedDollarString)
    }

    fn digits(&mut self) {
        while self.byte(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    fn number(&mut self) -> Kind {
        let mut kind = Kind::Integer;
        self.digits();
        // `1..2` is a range, not `1.` and `.2`
        if self.byte(0) == b'.' && self.byte(1) != b'.' {
            kind = Kind::Decimal;
            self.at += 1;
            self.digits();
        }
        if matches!(self.byte(0), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
            if self.byte(1 + sign).is_ascii_digit() {
                kind = Kind::Decimal;
                self.at += 1 + sign;
                self.digits();
            }
        }
        if is_word_start(self.byte(0)) {
            while is_word(self.byte(0)) {
                self.at += 1;
            }
            return Kind::Bad(Bad::NumberJunk);
        }
        kind
    }

    /// The longest run of operator characters, but: comments end it, and it ends in `+` or `-`
    /// only if a character that no SQL operator has stands in it (so that `2*-3` is `2 * -3`).
    fn operator(&mut self) -> Kind {
        if self.at < self.signs_until {
            return self.take(1, Kind::Operator);
        }
        let start = self.at;
        while is_operator(self.byte(0)) {
            let comment = matches!((self.byte(0), self.byte(1)), (b'-', b'-') | (b'/', b'*'));
            if comment && self.at > start {
                break;
            }
            self.at += 1;
        }
        let run = &self.text[start..self.at];
        let special = run
            .iter()
            .any(|b| matches!(b, b'~' | b'!' | b'@' | b'#' | b'^' | b'&' | b'|' | b'`' | b'?' | b'%'));
        watch::count(run.len());
        if !special {
            self.signs_until = self.at;
            while self.at - start > 1 && matches!(self.text[self.at - 1], b'+' | b'-') {
                self.at -= 1;
            }
        }
        Kind::Operator
    }
}

/// Behind a closing quote: how many bytes until the text of the continuing string, if there is one.
pub(crate) fn continuation(rest: &[u8]) -> Option<usize> {
    let mut newline = false;
    let mut at = 0;
    loop {
        watch::count(1);
        match rest.get(at)? {
            b'\n' | b'\r' => {
                newline = true;
                at += 1;
            }
            b if is_space(*b) => at += 1,
            b'-' if rest.get(at + 1) == Some(&b'-') => {
                while !matches!(rest.get(at)?, b'\n' | b'\r') {
                    at += 1;
                }
            }
            b'\'' if newline => return Some(at + 1),
            _ => return None,
        }
    }
}
