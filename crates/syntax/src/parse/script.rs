//! A script, statement by statement.

use std::ops::Range;

use planaria_base::Result;

use super::lex::{Kind, Lexer, Token};
use super::parser::Parser;
use super::{check_length, keyword};
use crate::ast::Statement;

/// Gives the statements of a text one after another: an error in the fifth does not keep the first
/// four from being run, and the one behind it can still be asked for.
pub struct Script<'a> {
    text: &'a str,
    lexer: Lexer<'a>,
    /// Tokens of the current statement and the one that ended it.
    tokens: Vec<Token>,
}

impl<'a> Script<'a> {
    /// Fails only if the text is too long.
    pub fn new(text: &'a str) -> Result<Script<'a>> {
        check_length(text)?;
        Ok(Script { text, lexer: Lexer::new(text, 0, text.len()), tokens: Vec::new() })
    }

    /// Moves to the next statement and gives its range; `None` at the end.
    pub(crate) fn advance(&mut self) -> Option<Range<usize>> {
        loop {
            self.read_tokens();
            match self.tokens.as_slice() {
                [Token { kind: Kind::End, .. }] => return None,
                [first, .., last, _] => return Some(first.start as usize..last.end as usize),
                [only, _] => return Some(only.start as usize..only.end as usize),
                _ => {}
            }
        }
    }

    /// Whether there are statements left, and each ends in a semicolon, outside of quotes, comments, parentheses and bodies.
    pub(crate) fn is_whole(&mut self) -> bool {
        let mut ends = false;
        loop {
            self.read_tokens();
            match self.tokens.as_slice() {
                [Token { kind: Kind::End, .. }] => return ends,
                [.., Token { kind: Kind::Semicolon, .. }] => ends = true,
                _ => return false,
            }
        }
    }

    /// Reads up to the next semicolon that ends a statement, or the end of the text.
    fn read_tokens(&mut self) {
        self.tokens.clear();
        let mut depth = 0usize;
        let mut atomic = 0usize;
        let mut creates = false;
        let mut after_begin = false;
        loop {
            let token = self.lexer.next_token();
            self.tokens.push(token);
            let mut begin = false;
            match token.kind {
                Kind::End => return,
                Kind::Semicolon if depth == 0 && atomic == 0 => return,
                Kind::LeftParen => depth += 1,
                Kind::RightParen => depth = depth.saturating_sub(1),
                Kind::Word if creates || self.tokens.len() == 1 => {
                    match keyword::Lower::new(token.text(self.text)).as_str() {
                        "create" if self.tokens.len() == 1 => creates = true,
                        "begin" => begin = true,
                        "atomic" if after_begin => atomic = 1,
                        "case" if atomic > 0 => atomic += 1,
                        "end" if atomic > 0 => atomic -= 1,
                        _ => {}
                    }
                }
                _ => {}
            }
            after_begin = begin;
        }
    }
}

impl Iterator for Script<'_> {
    type Item = Result<Statement>;

    fn next(&mut self) -> Option<Result<Statement>> {
        self.advance()?;
        Some(Parser::new(self.text, &self.tokens).whole_statement())
    }
}
