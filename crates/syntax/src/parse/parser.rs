//! The token cursor that all grammar files share: looking ahead, names, errors, limits.
//!
//! A parser sees a *window* of tokens; behind the window it sees [`Kind::End`], but an error there
//! names the real token, as PostgreSQL does. PL/pgSQL gives each expression its own window.

use planaria_base::{Error, Result, SqlState, limits, stack, watch};

use super::keyword::{self, Class, Lower};
use super::lex::{Kind, Token};
use super::literal;
use crate::ast::{Name, Position};

/// Recursive-descent parser over a window of tokens.
pub(crate) struct Parser<'a> {
    /// The whole text; positions are offsets into it.
    pub(crate) text: &'a str,
    /// The window and at least one token behind it.
    tokens: &'a [Token],
    at: usize,
    end: usize,
    /// Open productions that nest.
    depth: usize,
    /// Productions that nest, so far.
    turns: u32,
    /// The next SELECT is a statement's own, which may make a table; then that table, if it does.
    pub(crate) may_select_into: bool,
    pub(crate) selected_into: Option<(Name, bool)>,
    /// Height of the tallest expression or query made so far within the open production.
    height: usize,
}

/// Productions between two questions whether the statement is to end.
const TURNS_PER_CHECK: u32 = 256;

impl<'a> Parser<'a> {
    /// A parser over all tokens but the last, which only bounds the window.
    pub(crate) fn new(text: &'a str, tokens: &'a [Token]) -> Parser<'a> {
        assert!(!tokens.is_empty(), "a window is bounded by a token");
        Parser {
            text,
            tokens,
            at: 0,
            end: tokens.len() - 1,
            depth: 0,
            turns: 0,
            may_select_into: false,
            selected_into: None,
            height: 0,
        }
    }

    /// A parser for part of this one's tokens, as deep as this one.
    pub(crate) fn over<'b>(&self, tokens: &'b [Token]) -> Parser<'b>
    where
        'a: 'b,
    {
        Parser { depth: self.depth, ..Parser::new(self.text, tokens) }
    }

    // ------------------------------------------------------------ looking

    /// The token `ahead` of the cursor.
    pub(crate) fn peek_at(&self, ahead: usize) -> Token {
        let index = self.at + ahead;
        if index < self.end { self.tokens[index] } else { Token { kind: Kind::End, ..self.tokens[self.end] } }
    }

    /// The token at the cursor.
    pub(crate) fn peek(&self) -> Token {
        self.peek_at(0)
    }

    /// Where the next token stands.
    pub(crate) fn position(&self) -> Position {
        self.peek().start
    }

    /// Where the token before the cursor ends.
    pub(crate) fn end_of_last(&self) -> Position {
        self.tokens.get(self.at.wrapping_sub(1)).map_or(0, |token| token.end)
    }

    /// Index of the cursor among the tokens.
    pub(crate) fn index(&self) -> usize {
        self.at
    }

    /// Index behind the window.
    pub(crate) fn window_end(&self) -> usize {
        self.end
    }

    /// All tokens.
    pub(crate) fn tokens(&self) -> &'a [Token] {
        self.tokens
    }

    /// Byte behind the last token that was taken.
    pub(crate) fn last_end(&self) -> Position {
        self.at.checked_sub(1).map_or(0, |last| self.tokens[last].end)
    }

    /// The text from `start` to the last token taken.
    pub(crate) fn text_since(&self, start: Position) -> &'a str {
        &self.text[start as usize..(self.last_end().max(start)) as usize]
    }

    /// Text of the token at the cursor.
    pub(crate) fn token_text(&self) -> &'a str {
        self.peek().text(self.text)
    }

    /// The word at the cursor in lower case; empty if no word stands there.
    pub(crate) fn word(&self) -> Lower {
        self.word_at(0)
    }

    /// The word `ahead` of the cursor in lower case; empty if no word stands there.
    pub(crate) fn word_at(&self, ahead: usize) -> Lower {
        let token = self.peek_at(ahead);
        Lower::new(if token.kind == Kind::Word { token.text(self.text) } else { "" })
    }

    /// Whether nothing is left in the window.
    pub(crate) fn at_end(&self) -> bool {
        self.at >= self.end
    }

    /// Whether a token of that kind comes next.
    pub(crate) fn at_kind(&self, kind: Kind) -> bool {
        self.peek().kind == kind
    }

    /// Whether the word `word` (given in lower case) comes next.
    pub(crate) fn at_word(&self, word: &str) -> bool {
        self.at_word_ahead(0, word)
    }

    /// Whether the word `word` stands `ahead` of the cursor.
    pub(crate) fn at_word_ahead(&self, ahead: usize, word: &str) -> bool {
        let token = self.peek_at(ahead);
        token.kind == Kind::Word && token.text(self.text).eq_ignore_ascii_case(word)
    }

    /// Whether these words come next.
    pub(crate) fn at_words(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(ahead, word)| self.at_word_ahead(ahead, word))
    }

    /// Whether one of these words comes next.
    pub(crate) fn at_any(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.at_word(word))
    }

    /// Whether this operator comes next.
    pub(crate) fn at_operator(&self, operator: &str) -> bool {
        self.at_kind(Kind::Operator) && self.token_text() == operator
    }

    // ------------------------------------------------------------ taking

    /// Takes the next token, whatever it is.
    pub(crate) fn bump(&mut self) -> Token {
        let token = self.peek();
        if self.at < self.end {
            self.at += 1;
        }
        token
    }

    /// Moves the cursor.
    pub(crate) fn seek(&mut self, index: usize) {
        self.at = index.min(self.end);
    }

    /// Runs `f` in a window that ends at token `end`, which must then be used up.
    pub(crate) fn within<T>(&mut self, end: usize, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = std::mem::replace(&mut self.end, end);
        let result = f(self).and_then(|value| self.expect_end().map(|()| value));
        self.end = outer;
        result
    }

    /// Takes a token of that kind if it comes next.
    pub(crate) fn eat(&mut self, kind: Kind) -> bool {
        let found = self.at_kind(kind);
        if found {
            self.at += 1;
        }
        found
    }

    /// Takes the word if it comes next.
    pub(crate) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.at += 1;
        }
        found
    }

    /// Takes the words if they come next.
    pub(crate) fn eat_words(&mut self, words: &[&str]) -> bool {
        let found = self.at_words(words);
        if found {
            self.at += words.len();
        }
        found
    }

    /// Takes the operator if it comes next.
    pub(crate) fn eat_operator(&mut self, operator: &str) -> bool {
        let found = self.at_operator(operator);
        if found {
            self.at += 1;
        }
        found
    }

    /// Takes a token of that kind.
    pub(crate) fn expect(&mut self, kind: Kind) -> Result<()> {
        if self.eat(kind) { Ok(()) } else { self.fail() }
    }

    /// Takes the word.
    pub(crate) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { self.fail() }
    }

    /// Takes the words.
    pub(crate) fn expect_words(&mut self, words: &[&str]) -> Result<()> {
        words.iter().try_for_each(|word| self.expect_word(word))
    }

    /// Whether a statement ends here that may be one of those within CREATE SCHEMA.
    pub(crate) fn at_element_end(&self) -> bool {
        self.at_end() || self.at_any(&["create", "grant"])
    }

    /// Demands the end of the window.
    pub(crate) fn expect_end(&self) -> Result<()> {
        if self.at_end() { Ok(()) } else { self.fail() }
    }

    /// `item [, item]...`
    pub(crate) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(Kind::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// `(item [, item]...)`
    pub(crate) fn paren_list<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect(Kind::LeftParen)?;
        let items = self.list(item)?;
        self.expect(Kind::RightParen)?;
        Ok(items)
    }

    // ------------------------------------------------------------ errors

    /// The error of a token that does not fit here.
    #[cold]
    pub(crate) fn unexpected(&self) -> Error {
        let token = self.tokens[self.at.min(self.tokens.len() - 1)];
        let text = token.text(self.text);
        let what = match token.kind {
            Kind::End => return self.syntax_error("syntax error at end of input", token.start),
            Kind::Bad(bad) => bad.message(),
            _ => "syntax error",
        };
        self.syntax_error(format!("{what} at or near \"{text}\""), token.start)
    }

    /// Fails at the next token.
    #[cold]
    pub(crate) fn fail<T>(&self) -> Result<T> {
        Err(self.unexpected())
    }

    /// `42601` with a message of its own.
    #[cold]
    pub(crate) fn syntax_error(&self, message: impl std::convert::Into<String>, at: Position) -> Error {
        Error::new(SqlState::SYNTAX_ERROR, message).at(at)
    }

    /// `0A000`: PostgreSQL knows it, Planaria does not.
    #[cold]
    pub(crate) fn unsupported<T>(&self, what: &str, at: Position) -> Result<T> {
        Err(Error::unsupported(format!("{what} is not supported"), "docs/sql.md lists what is.").at(at))
    }

    // ------------------------------------------------------------ limits

    /// Runs `f` one level deeper. What it makes is one level taller than the tallest in it.
    pub(crate) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let outer = std::mem::replace(&mut self.height, 0);
        self.depth += 1;
        if self.depth > limits::NESTING_MAX {
            return Err(self.too_deep());
        }
        stack::check().map_err(|e| e.at(self.position()))?;
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(TURNS_PER_CHECK) {
            watch::check()?;
        }
        let result = f(self)?;
        self.depth -= 1;
        self.grow()?;
        self.height = self.height.max(outer);
        Ok(result)
    }

    /// Says that a node was put on top of what this production made so far. Chains such as
    /// `a + b + ...` nest to the left without nesting in the parser; those who walk the tree
    /// recurse, so its height is bounded too.
    pub(crate) fn grow(&mut self) -> Result<()> {
        self.height += 1;
        if self.height > limits::NESTING_MAX { Err(self.too_deep()) } else { Ok(()) }
    }

    /// 54001 for a chain of too many operands.
    #[cold]
    pub(crate) fn too_long(&self) -> Error {
        Error::new(SqlState::STATEMENT_TOO_COMPLEX, "a chain of operators is too long")
            .with_detail(format!("The limit is {} operands.", limits::CHAIN_OPERANDS_MAX))
            .at(self.position())
    }

    #[cold]
    fn too_deep(&self) -> Error {
        Error::new(SqlState::STATEMENT_TOO_COMPLEX, "statement is nested too deeply")
            .with_detail(format!("The limit is {} levels.", limits::NESTING_MAX))
            .at(self.position())
    }

    // ------------------------------------------------------------ names

    /// The category of the word `ahead`, if it is one; quoted names are names everywhere.
    pub(crate) fn class_at(&self, ahead: usize) -> Option<Class> {
        let token = self.peek_at(ahead);
        match token.kind {
            Kind::Word => Some(keyword::class(token.text(self.text))),
            Kind::Quoted | Kind::UnicodeQuoted => Some(Class::Unreserved),
            _ => None,
        }
    }

    /// Whether a name of a column, table or variable comes next (`ColId`).
    pub(crate) fn at_name(&self) -> bool {
        self.at_name_ahead(0)
    }

    /// Whether a name of a column, table or variable stands `ahead`.
    pub(crate) fn at_name_ahead(&self, ahead: usize) -> bool {
        matches!(self.class_at(ahead), Some(Class::Unreserved | Class::ColumnName))
    }

    /// Whether a name of a function or type stands `ahead` (`type_function_name`).
    pub(crate) fn at_function_name_ahead(&self, ahead: usize) -> bool {
        matches!(self.class_at(ahead), Some(Class::Unreserved | Class::TypeOrFunction))
    }

    /// Whether any word or quoted name comes next (`ColLabel`).
    pub(crate) fn at_label(&self) -> bool {
        self.class_at(0).is_some()
    }

    /// Whether a label without AS comes next (`BareColLabel`).
    pub(crate) fn at_bare_label(&self) -> bool {
        match self.peek().kind {
            Kind::Word => keyword::is_bare_label(self.token_text()),
            Kind::Quoted | Kind::UnicodeQuoted => true,
            _ => false,
        }
    }

    /// A name of a column, table or variable.
    pub(crate) fn name(&mut self) -> Result<String> {
        if self.at_name() { self.label() } else { self.fail() }
    }

    /// A name of a function or type.
    pub(crate) fn function_name(&mut self) -> Result<String> {
        if self.at_function_name_ahead(0) { self.label() } else { self.fail() }
    }

    /// Any name but a reserved word.
    pub(crate) fn unreserved(&mut self) -> Result<String> {
        match self.class_at(0) {
            Some(Class::Reserved) | None => self.fail(),
            Some(_) => self.label(),
        }
    }

    /// Any word as a name.
    pub(crate) fn label(&mut self) -> Result<String> {
        let token = self.peek();
        let text = token.text(self.text);
        let name = match token.kind {
            Kind::Word => literal::fold(text),
            Kind::Quoted | Kind::UnicodeQuoted if text.contains('\0') => return self.fail(),
            Kind::Quoted => literal::quoted_name(text),
            Kind::UnicodeQuoted => {
                self.at += 1;
                let escape = self.unicode_escape()?;
                return literal::unicode_name(text, escape, token.start);
            }
            _ => return self.fail(),
        };
        self.at += 1;
        Ok(name)
    }

    /// `[UESCAPE 'c']` behind `U&''` and `U&""`.
    fn unicode_escape(&mut self) -> Result<char> {
        if !(self.at_word("uescape") && self.peek_at(1).kind == Kind::String) {
            return Ok('\\');
        }
        self.at += 1;
        let token = self.bump();
        let text = literal::string(token, self.text, '\\')?;
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(c), None) if !c.is_ascii_hexdigit() && !matches!(c, '+' | '\'' | '"' | ' ') => Ok(c),
            _ => Err(self.syntax_error("invalid Unicode escape character", token.start)),
        }
    }

    /// A possibly qualified name.
    pub(crate) fn qualified_name(&mut self) -> Result<Name> {
        let position = self.position();
        let mut parts = vec![self.name()?];
        while self.eat(Kind::Dot) {
            parts.push(self.label()?);
        }
        Ok(Name { parts, position })
    }

    /// A possibly qualified name of a function.
    pub(crate) fn qualified_function(&mut self) -> Result<Name> {
        if self.peek_at(1).kind == Kind::Dot {
            return self.qualified_name();
        }
        let position = self.position();
        Ok(Name { parts: vec![self.function_name()?], position })
    }

    /// `(name, ...)`
    pub(crate) fn paren_names(&mut self) -> Result<Vec<String>> {
        self.paren_list(Self::name)
    }

    // ------------------------------------------------------------ literals

    /// Whether a string comes next.
    pub(crate) fn at_string(&self) -> bool {
        self.at_string_ahead(0)
    }

    /// Whether a string stands `ahead`.
    pub(crate) fn at_string_ahead(&self, ahead: usize) -> bool {
        matches!(
            self.peek_at(ahead).kind,
            Kind::String | Kind::EscapeString | Kind::UnicodeString | Kind::DollarString
        )
    }

    /// A string of any notation.
    pub(crate) fn string(&mut self) -> Result<String> {
        if !self.at_string() {
            return self.fail();
        }
        let token = self.bump();
        let escape = if token.kind == Kind::UnicodeString { self.unicode_escape()? } else { '\\' };
        literal::string(token, self.text, escape)
    }

    /// A number that fits `i64`, with its sign.
    pub(crate) fn signed_integer(&mut self) -> Result<i64> {
        let position = self.position();
        let minus = self.eat_operator("-");
        if !minus {
            self.eat_operator("+");
        }
        if !self.at_kind(Kind::Integer) {
            return self.fail();
        }
        let text = self.bump().text(self.text);
        let text = if minus { format!("-{text}") } else { text.to_owned() };
        text.parse().map_err(|_| {
            let message = format!("value \"{text}\" is out of range for type bigint");
            Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message).at(position)
        })
    }

    /// A small number without sign, such as a length.
    pub(crate) fn small_integer(&mut self) -> Result<u32> {
        if !self.at_kind(Kind::Integer) {
            return self.fail();
        }
        match self.token_text().parse() {
            Ok(n) => {
                self.bump();
                Ok(n)
            }
            Err(_) => self.fail(),
        }
    }

    // ------------------------------------------------------------ parentheses

    /// Index of the token that closes the parenthesis at index `open`, in the window.
    pub(crate) fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        for index in open..self.end {
            match self.tokens[index].kind {
                Kind::LeftParen | Kind::LeftBracket => depth += 1,
                Kind::RightParen | Kind::RightBracket => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0 {
                        return Some(index);
                    }
                }
                _ => {}
            }
        }
        None
    }
}
