//! From text to the syntax tree: SQL in PostgreSQL's dialect, and PL/pgSQL.
//!
//! ```text
//!  text --lex--> tokens --split at `;`--> windows --recursive descent--> ast::Statement
//!                                                     \ expressions: precedence climbing
//!  body --lex--> tokens --PL/pgSQL statements--> windows for the SQL in it --> ast::plpgsql::PlBlock
//! ```
//!
//! The parser is written by hand over PostgreSQL's own rules (`scan.l`, `gram.y`, `kwlist.h`,
//! `pl_gram.y`): one token decides what comes next nearly everywhere, so an error stands at the first
//! token that cannot continue the statement, in PostgreSQL's words. What PostgreSQL knows and the
//! tree cannot say is refused with `0A000`, its name and its place; nothing is dropped in silence
//! but clauses that make no difference here (storage parameters, lock modes), each said so where it
//! is taken.
//!
//! Limits: text of [`limits::SQL_TEXT_BYTES_MAX`] bytes, nesting (of productions and of the tree)
//! of [`limits::NESTING_MAX`] levels, so that neither this parser nor those who walk the tree run
//! out of stack.

mod aggregate;
mod alter;
mod call;
mod cast;
mod comment;
mod copy;
mod cursor;
mod dml;
mod expr;
mod extension;
mod from;
mod grant;
mod keyword;
mod lex;
mod literal;
mod lock;
mod named;
mod object;
mod operand;
mod parser;
mod partition;
mod plpgsql;
mod policy;
mod query;
mod renamed;
mod role;
mod routine;
mod script;
mod session;
mod statement;
mod statistics;
mod table;
mod trigger;
mod types;
mod user_type;
mod view;

use std::ops::Range;

use planaria_base::{Error, Result, SqlState, limits};

use self::lex::{Kind, Lexer, Token};
pub use self::named::{Numbered, numbered};
use self::parser::Parser;
pub use self::renamed::schema_renamed;
pub use self::script::Script;
use crate::ast;

/// All statements of a script. Fails at the first error; see [`Script`] to run what stands before it.
pub fn statements(text: &str) -> Result<Vec<ast::Statement>> {
    Script::new(text)?.collect()
}

/// The byte ranges of the statements of a script, without their semicolons. Empty statements have
/// none. Quotes, comments, parentheses and `BEGIN ATOMIC` bodies are respected; nothing is parsed.
pub fn split(text: &str) -> Result<Vec<Range<usize>>> {
    let mut script = Script::new(text)?;
    let mut ranges = Vec::new();
    while let Some(range) = script.advance() {
        ranges.push(range);
    }
    Ok(ranges)
}

/// Whether a script has statements, and each ends in a semicolon: all quotes, comments, parentheses and bodies do.
pub fn is_whole(text: &str) -> bool {
    Script::new(text).is_ok_and(|mut script| script.is_whole())
}

/// The one statement in a range of the text, as [`split`] gives it. Positions count from the start
/// of the text.
pub fn statement(text: &str, range: Range<usize>) -> Result<ast::Statement> {
    check_length(text)?;
    let end = range.end;
    let mut tokens = tokens(text, range);
    // An error at the end names what stands there, most often the semicolon.
    if let Some(last) = tokens.last_mut() {
        *last = Lexer::new(text, end, text.len()).next_token();
    }
    Parser::new(text, &tokens).whole_statement()
}

/// An expression, and nothing behind it.
pub fn expression(text: &str) -> Result<ast::Expr> {
    whole(text, |p| p.expr())
}

/// A query without semicolon.
pub fn query(text: &str) -> Result<ast::Query> {
    whole(text, |p| p.query())
}

/// The name of a type.
pub fn type_name(text: &str) -> Result<ast::TypeName> {
    whole(text, |p| p.type_name())
}

/// The body of a PL/pgSQL routine or DO. Positions count from the start of the body.
pub fn plpgsql(body: &str) -> Result<ast::plpgsql::PlBlock> {
    whole(body, |p| p.pl_body())
}

/// The string literals of a text, whatever they stand for, and where each begins.
pub fn strings(text: &str) -> Vec<(ast::Position, String)> {
    let all = tokens(text, 0..text.len()).into_iter();
    let is_string = |token: &Token| {
        matches!(token.kind, Kind::String | Kind::EscapeString | Kind::UnicodeString | Kind::DollarString)
    };
    let strings = all.filter(is_string);
    strings.filter_map(|token| Some((token.start, literal::string(token, text, '\\').ok()?))).collect()
}

fn whole<T>(text: &str, parse: impl FnOnce(&mut Parser<'_>) -> Result<T>) -> Result<T> {
    check_length(text)?;
    let tokens = tokens(text, 0..text.len());
    let mut parser = Parser::new(text, &tokens);
    let result = parse(&mut parser)?;
    parser.expect_end()?;
    Ok(result)
}

/// The tokens of a range, and its end.
fn tokens(text: &str, range: Range<usize>) -> Vec<Token> {
    let mut tokens = Vec::with_capacity(range.len() / 4 + 1);
    let mut lexer = Lexer::new(text, range.start, range.end);
    loop {
        let token = lexer.next_token();
        tokens.push(token);
        if token.kind == Kind::End {
            return tokens;
        }
    }
}

fn check_length(text: &str) -> Result<()> {
    if text.len() > limits::SQL_TEXT_BYTES_MAX {
        return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "the SQL text is too long")
            .with_detail(format!("The limit is {} bytes.", limits::SQL_TEXT_BYTES_MAX)));
    }
    if text.as_bytes().contains(&0) {
        return Err(zero_byte());
    }
    Ok(())
}

/// 22021, of a text with a character that no text can have.
pub fn zero_byte() -> Error {
    let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
    Error::new(SqlState::new("22021"), message)
}
