//! Tokens of the text form.

use planaria_base::{Error, Result, SqlState};

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Token {
    /// Words: names, keywords, `t0.i1`, `int4.add`.
    Word(String),
    /// `'..'`, quotes undoubled.
    Quoted(String),
    /// Digits with an optional sign, point and suffix `n`.
    Number(String),
    /// One of the fixed signs.
    Sign(&'static str),
}

const SIGNS: &[&str] = &["->", ">=", "<=", ">", "<", "=", "(", ")", "[", "]", "{", "}", ",", ":", "@", "*"];

pub(super) fn tokens(text: &str) -> Result<Vec<(Token, u32)>> {
    let bytes = text.as_bytes();
    let mut all = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let start = i;
        let rest = &text[i..];
        let b = bytes[i];
        let token = if b.is_ascii_whitespace() {
            i += 1;
            continue;
        } else if b == b';' {
            i += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if b.is_ascii_alphabetic() || b == b'_' {
            i +=
                rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.').unwrap_or(rest.len());
            Token::Word(text[start..i].to_owned())
        } else if b.is_ascii_digit() || (b == b'-' && bytes.get(i + 1).is_some_and(u8::is_ascii_digit)) {
            i += 1;
            i += text[i..]
                .find(|c: char| !c.is_ascii_digit() && c != '.' && c != 'n')
                .unwrap_or(text.len() - i);
            Token::Number(text[start..i].to_owned())
        } else if b == b'\'' {
            let mut value = String::new();
            i += 1;
            loop {
                let Some(end) = text[i..].find('\'') else {
                    return Err(error("a quoted string without end", start));
                };
                value.push_str(&text[i..i + end]);
                i += end + 1;
                if bytes.get(i) != Some(&b'\'') {
                    break;
                }
                value.push('\'');
                i += 1;
            }
            Token::Quoted(value)
        } else if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            i += sign.len();
            Token::Sign(sign)
        } else {
            return Err(error("an unknown sign", start));
        };
        all.push((token, start as u32));
    }
    Ok(all)
}

pub(super) fn error(what: &str, position: usize) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, format!("IR text: {what}")).at(position as u32)
}
