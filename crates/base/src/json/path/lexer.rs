//! Tokens of a path.
//!
//! The longest token wins, so `1ab` is a name, while `1a` is a number with something behind it. A name ends at a blank, a
//! special character or a quote; that is where an error at it is reported, as it is only known then.

use crate::{Error, Result, SqlState};

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name that is no key word, or a word that is one, as it was written.
    Name(String),
    /// In quotes.
    Quoted(String),
    Variable(String),
    /// Digits alone.
    Integer(String),
    /// Another number, as it was written.
    Number(String),
    /// A special character, or one of `&&`, `||`, `**` and the comparisons.
    Symbol(&'static str),
    End,
}

/// A token with the text that an error at it shows: empty at the end.
#[derive(Clone, Debug)]
pub(super) struct Lexeme {
    pub token: Token,
    pub shown: String,
}

/// Symbols, longest first.
const SYMBOLS: [&str; 29] = [
    "&&", "||", "**", "<=", "==", "<>", "!=", ">=", "<", ">", "!", "?", "%", "$", ".", "[", "]", "{", "}",
    "(", ")", "@", ",", "*", "-", "+", "/", "=", ":",
];

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

fn is_special(c: char) -> bool {
    "?%$.[]{}()|&!=<>@#,*:-+/".contains(c)
}

fn is_other(c: char) -> bool {
    !is_special(c) && !is_blank(c) && c != '\\' && c != '"'
}

#[cold]
pub(super) fn syntax(message: &str, shown: &str) -> Error {
    let place = if shown.is_empty() { " at end".to_owned() } else { format!(" at or near \"{shown}\"") };
    Error::new(SqlState::SYNTAX_ERROR, format!("{message}{place} of jsonpath input"))
}

#[cold]
fn surrogate(detail: &str) -> Error {
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "invalid input syntax for type jsonpath")
        .with_detail(detail)
}

const LONE: &str = "Unicode low surrogate must follow a high surrogate.";

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

/// How long the beginning of a text is whose characters pass a test.
fn span(text: &str, is: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is(c)).unwrap_or(text.len())
}

fn digits(text: &str) -> usize {
    span(text, |c| c.is_ascii_digit())
}

/// How long an integer, a decimal and a real number at the beginning of a text are; 0 where there is none.
fn numbers(text: &str) -> [usize; 3] {
    let whole = digits(text);
    let integer = if text.starts_with('0') { 1 } else { whole };
    let decimal = if integer > 0 && text[integer..].starts_with('.') {
        integer + 1 + digits(&text[integer + 1..])
    } else if integer == 0 && text.starts_with('.') {
        match digits(&text[1..]) {
            0 => 0,
            more => 1 + more,
        }
    } else {
        0
    };
    let real =
        [decimal, integer].into_iter().filter(|n| *n > 0).map(|n| exponent(text, n)).max().unwrap_or(0);
    [integer, decimal, real]
}

/// Where an exponent behind a number ends; 0 where there is none.
fn exponent(text: &str, number: usize) -> usize {
    let Some(rest) = text[number..].strip_prefix(['e', 'E']) else { return 0 };
    let sign = usize::from(rest.starts_with(['+', '-']));
    match digits(&rest[sign..]) {
        0 => 0,
        n => number + 1 + sign + n,
    }
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0 }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn take(&mut self, len: usize) -> &'a str {
        let taken = &self.rest()[..len];
        self.at += len;
        taken
    }

    /// Passes over a comment, whose beginning has been read.
    fn comment(&mut self) -> Result<()> {
        match self.rest().find("*/") {
            Some(end) => {
                self.at += end + 2;
                Ok(())
            }
            None => Err(syntax("unexpected end of comment", "")),
        }
    }

    /// The next token.
    pub fn next(&mut self) -> Result<Lexeme> {
        loop {
            self.at += span(self.rest(), is_blank);
            let rest = self.rest();
            let Some(first) = rest.chars().next() else {
                return Ok(Lexeme { token: Token::End, shown: String::new() });
            };
            if rest.starts_with("/*") {
                self.at += 2;
                self.comment()?;
                continue;
            }
            if let Some(number) = self.number()? {
                return Ok(number);
            }
            if let Some(name) = rest.strip_prefix('$').map(|name| &name[..span(name, is_other)])
                && !name.is_empty()
            {
                let shown = self.take(1 + name.len()).to_owned();
                return Ok(Lexeme { token: Token::Variable(name.to_owned()), shown });
            }
            if rest.starts_with("$\"") {
                self.at += 2;
                let name = self.quoted()?;
                return Ok(Lexeme { token: Token::Variable(name), shown: "\"".to_owned() });
            }
            if first == '"' {
                self.at += 1;
                let text = self.quoted()?;
                return Ok(Lexeme { token: Token::Quoted(text), shown: "\"".to_owned() });
            }
            if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
                self.at += symbol.len();
                return Ok(Lexeme { token: Token::Symbol(symbol), shown: symbol.to_owned() });
            }
            if is_special(first) {
                // One that no rule has.
                let shown = self.take(first.len_utf8()).to_owned();
                return Ok(Lexeme { token: Token::Symbol("#"), shown });
            }
            if let Some(name) = self.name()? {
                return Ok(name);
            }
        }
    }

    fn number(&mut self) -> Result<Option<Lexeme>> {
        let rest = self.rest();
        let [integer, decimal, real] = numbers(rest);
        let longest = integer.max(decimal).max(real);
        if longest == 0 {
            return Ok(None);
        }
        // What stands directly behind a number makes it no number, and a longer name if it goes on.
        let junk = |len: usize| match rest[len..].chars().next() {
            Some(c) if len > 0 && is_other(c) => len + c.len_utf8(),
            _ => 0,
        };
        let trailing = [integer, decimal, real].into_iter().map(junk).max().unwrap_or(0);
        // An exponent that has a sign and no digits.
        let broken = [integer, decimal].into_iter().filter(|n| *n > 0).map(|n| {
            let sign = rest[n..].strip_prefix(['e', 'E']).is_some_and(|r| r.starts_with(['+', '-']));
            if sign { n + 2 } else { 0 }
        });
        let broken = broken.max().unwrap_or(0);
        let name = span(rest, is_other);
        if name > longest.max(trailing).max(broken) {
            return Ok(None);
        }
        if broken > longest && broken >= trailing {
            return Err(syntax("invalid numeric literal", &rest[..broken]));
        }
        if trailing > longest {
            return Err(syntax("trailing junk after numeric literal", &rest[..trailing]));
        }
        let text = self.take(longest).to_owned();
        let token = if longest == integer && real != longest && decimal != longest {
            Token::Integer(text.clone())
        } else {
            Token::Number(text.clone())
        };
        Ok(Some(Lexeme { token, shown: text }))
    }

    /// A name; `None` where a comment has swallowed it, as PostgreSQL has it.
    fn name(&mut self) -> Result<Option<Lexeme>> {
        let mut name = String::new();
        loop {
            let rest = self.rest();
            let Some(c) = rest.chars().next() else {
                return Ok(Some(Lexeme { token: Token::Name(name), shown: String::new() }));
            };
            if rest.starts_with("/*") {
                self.at += 2;
                self.comment()?;
                return Ok(None);
            }
            if is_blank(c) {
                let shown = self.take(span(rest, is_blank)).to_owned();
                return Ok(Some(Lexeme { token: Token::Name(name), shown }));
            }
            if is_special(c) || c == '"' {
                return Ok(Some(Lexeme { token: Token::Name(name), shown: String::new() }));
            }
            if c == '\\' {
                self.escape(&mut name)?;
            } else {
                name.push_str(self.take(span(rest, is_other)));
            }
        }
    }

    /// The rest of a string in quotes.
    fn quoted(&mut self) -> Result<String> {
        let mut text = String::new();
        loop {
            match self.rest().chars().next() {
                None => return Err(syntax("unexpected end of quoted string", "")),
                Some('"') => {
                    self.at += 1;
                    return Ok(text);
                }
                Some('\\') => self.escape(&mut text)?,
                Some(_) => text.push_str(self.take(span(self.rest(), |c| c != '"' && c != '\\'))),
            }
        }
    }

    /// Reads what begins with a backslash.
    fn escape(&mut self, out: &mut String) -> Result<()> {
        let rest = self.rest();
        let Some(c) = rest[1..].chars().next() else {
            return Err(syntax("unexpected end after backslash", "\\"));
        };
        match c {
            'u' => return self.unicode(out),
            'x' => {
                let hex = span(&rest[2..], |c| c.is_ascii_hexdigit()).min(2);
                if hex < 2 {
                    return Err(syntax("invalid hex character sequence", &rest[..2 + hex]));
                }
                self.at += 4;
                return push(out, u32::from_str_radix(&rest[2..4], 16).unwrap_or(0));
            }
            'b' => out.push('\u{8}'),
            'f' => out.push('\u{c}'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\u{b}'),
            other => out.push(other),
        }
        self.at += 1 + c.len_utf8();
        Ok(())
    }

    /// `\uXXXX` and `\u{X..}`, as many as follow each other: two may be the halves of one character.
    fn unicode(&mut self, out: &mut String) -> Result<()> {
        let begin = self.at;
        let mut high: Option<u32> = None;
        while let Some(rest) = self.rest().strip_prefix("\\u") {
            let braces = rest.starts_with('{');
            let digits = &rest[usize::from(braces)..];
            let most = if braces { 6 } else { 4 };
            let len = span(digits, |c| c.is_ascii_hexdigit()).min(most);
            let whole = if braces { len > 0 && digits[len..].starts_with('}') } else { len == 4 };
            if !whole {
                let end = self.at + 2 + usize::from(braces) + len;
                return Err(syntax("invalid unicode sequence", &self.text[begin..end]));
            }
            let code = u32::from_str_radix(&digits[..len], 16).unwrap_or(0);
            self.at += 2 + len + if braces { 2 } else { 0 };
            match (high, code) {
                (Some(_), 0xD800..=0xDBFF) => {
                    return Err(surrogate("Unicode high surrogate must not follow a high surrogate."));
                }
                (None, 0xD800..=0xDBFF) => high = Some(code),
                (Some(first), 0xDC00..=0xDFFF) => {
                    push(out, 0x10000 + ((first & 0x3ff) << 10) + (code & 0x3ff))?;
                    high = None;
                }
                (Some(_), _) | (None, 0xDC00..=0xDFFF) => return Err(surrogate(LONE)),
                (None, code) => push(out, code)?,
            }
        }
        if high.is_some() { Err(surrogate(LONE)) } else { Ok(()) }
    }
}

fn push(out: &mut String, code: u32) -> Result<()> {
    if code == 0 {
        let message = "unsupported Unicode escape sequence";
        return Err(Error::new(SqlState::UNTRANSLATABLE_CHARACTER, message)
            .with_detail("\\u0000 cannot be converted to text."));
    }
    match char::from_u32(code) {
        Some(c) => out.push(c),
        None => return Err(Error::new(SqlState::SYNTAX_ERROR, "invalid Unicode code point")),
    }
    Ok(())
}
