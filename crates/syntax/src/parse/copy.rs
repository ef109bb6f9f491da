//! COPY, in its present form and in the two older ones.

use planaria_base::{Error, Result, SqlState};

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::copy::{Copy, CopyColumns, CopyFormat, CopyHeader, CopyOptions, CopySource};
use crate::ast::{Position, StatementKind};

/// What was said of the form, before the defaults of the format.
#[derive(Default)]
struct Said {
    format: Option<CopyFormat>,
    delimiter: Option<(String, Position)>,
    null: Option<(String, Position)>,
    header: Option<CopyHeader>,
    quote: Option<(String, Position)>,
    escape: Option<(String, Position)>,
    force_quote: CopyColumns,
    force_not_null: CopyColumns,
    force_null: CopyColumns,
}

impl Parser<'_> {
    /// `COPY ...`
    pub(crate) fn copy(&mut self) -> Result<StatementKind> {
        let position = self.bump().start;
        let mut said = Said::default();
        if self.eat_word("binary") {
            said.format = Some(CopyFormat::Binary);
        }
        let source = if self.eat(Kind::LeftParen) {
            let statement = self.preparable()?;
            self.expect(Kind::RightParen)?;
            CopySource::Statement(Box::new(statement))
        } else {
            let table = self.qualified_name()?;
            let columns = match self.at_kind(Kind::LeftParen) {
                true => self.paren_list(|p| {
                    let position = p.position();
                    Ok((p.name()?, position))
                })?,
                false => Vec::new(),
            };
            CopySource::Table(table, columns)
        };
        let from = match self.eat_word("from") {
            true if matches!(source, CopySource::Statement(_)) => return self.fail(),
            true => true,
            false => {
                self.expect_word("to")?;
                false
            }
        };
        let at = self.position();
        if self.at_string() || self.at_word("program") {
            return Err(Error::unsupported(
                "COPY from or to files and programs of the server is not supported",
                "Use COPY FROM STDIN or COPY TO STDOUT; psql's \\copy does.",
            )
            .at(at));
        }
        // PostgreSQL takes either word in either direction.
        if !self.eat_word("stdin") && !self.eat_word("stdout") {
            return self.fail();
        }
        if self.eat_word("using") {
            self.expect_word("delimiters")?;
            said.delimiter = Some(self.copy_string()?);
        }
        self.eat_word("with");
        if self.at_kind(Kind::LeftParen) {
            self.bump();
            loop {
                self.copy_option(&mut said)?;
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
            self.expect(Kind::RightParen)?;
        } else {
            while !self.at_end() && !self.at_word("where") {
                self.old_copy_option(&mut said)?;
            }
        }
        if from && self.at_word("where") {
            return self.unsupported("COPY ... WHERE", self.position());
        }
        let options = options(said, from)?;
        Ok(StatementKind::Copy(Box::new(Copy { source, from, options, position })))
    }

    fn copy_string(&mut self) -> Result<(String, Position)> {
        let position = self.position();
        Ok((self.string()?, position))
    }

    /// One option in parentheses.
    fn copy_option(&mut self, said: &mut Said) -> Result<()> {
        let position = self.position();
        let name = self.label()?;
        match name.as_str() {
            "format" => {
                let at = self.position();
                let format = if self.at_string() { self.string()? } else { self.label()? };
                said.format = Some(match format.as_str() {
                    "text" => CopyFormat::Text,
                    "csv" => CopyFormat::Csv,
                    "binary" => CopyFormat::Binary,
                    _ => {
                        let message = format!("COPY format \"{format}\" not recognized");
                        return Err(invalid(message).at(at));
                    }
                });
            }
            // Nothing is faster for it, and nothing else changes.
            "freeze" => drop(self.copy_bool("freeze")?),
            "header" => {
                said.header = Some(if self.eat_word("match") {
                    CopyHeader::Match
                } else if self.copy_bool("header")? {
                    CopyHeader::Line
                } else {
                    CopyHeader::None
                });
            }
            "delimiter" => said.delimiter = Some(self.copy_string()?),
            "null" => said.null = Some(self.copy_string()?),
            "quote" => said.quote = Some(self.copy_string()?),
            "escape" => said.escape = Some(self.copy_string()?),
            "encoding" => self.copy_encoding()?,
            "force_quote" => said.force_quote = self.copy_columns()?,
            "force_not_null" => said.force_not_null = self.copy_columns()?,
            "force_null" => said.force_null = self.copy_columns()?,
            _ => {
                let message = format!("option \"{name}\" not recognized");
                return Err(self.syntax_error(message, position));
            }
        }
        Ok(())
    }

    /// One option as it was written before there were parentheses.
    fn old_copy_option(&mut self, said: &mut Said) -> Result<()> {
        let word = self.word();
        match word.as_str() {
            "binary" => {
                self.bump();
                said.format = Some(CopyFormat::Binary);
            }
            "csv" => {
                self.bump();
                said.format = Some(CopyFormat::Csv);
            }
            "freeze" => drop(self.bump()),
            "header" => {
                self.bump();
                said.header = Some(CopyHeader::Line);
            }
            "delimiter" | "null" | "quote" | "escape" => {
                self.bump();
                self.eat_word("as");
                let text = Some(self.copy_string()?);
                match word.as_str() {
                    "delimiter" => said.delimiter = text,
                    "null" => said.null = text,
                    "quote" => said.quote = text,
                    _ => said.escape = text,
                }
            }
            "encoding" => {
                self.bump();
                self.copy_encoding()?;
            }
            "force" => {
                self.bump();
                if self.eat_word("quote") {
                    said.force_quote = match self.eat_operator("*") {
                        true => CopyColumns::All,
                        false => CopyColumns::Named(self.list(Self::name)?),
                    };
                } else if self.eat_words(&["not", "null"]) {
                    said.force_not_null = CopyColumns::Named(self.list(Self::name)?);
                } else {
                    self.expect_word("null")?;
                    said.force_null = CopyColumns::Named(self.list(Self::name)?);
                }
            }
            _ => return self.fail(),
        }
        Ok(())
    }

    fn copy_encoding(&mut self) -> Result<()> {
        let (encoding, at) = self.copy_string()?;
        match encoding.to_ascii_lowercase().replace('-', "").as_str() {
            "utf8" | "unicode" => Ok(()),
            _ => self.unsupported(&format!("the encoding \"{encoding}\""), at),
        }
    }

    fn copy_columns(&mut self) -> Result<CopyColumns> {
        if self.eat_operator("*") {
            return Ok(CopyColumns::All);
        }
        self.paren_list(Self::name).map(CopyColumns::Named)
    }

    /// A Boolean behind an option; none is true.
    fn copy_bool(&mut self, option: &str) -> Result<bool> {
        if matches!(self.peek().kind, Kind::Comma | Kind::RightParen) {
            return Ok(true);
        }
        let at = self.position();
        let text = if self.at_string() {
            self.string()?
        } else if self.at_kind(Kind::Integer) {
            self.bump();
            self.text_since(at).to_owned()
        } else {
            self.label()?
        };
        match text.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => Err(self.syntax_error(format!("{option} requires a Boolean value"), at)),
        }
    }
}

/// 22023
fn invalid(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// 0A000, as PostgreSQL answers to combinations that make no sense.
fn senseless(message: impl Into<String>) -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

fn one_byte(said: Option<(String, Position)>, default: u8, what: &str) -> Result<u8> {
    match said {
        None => Ok(default),
        Some((text, at)) => match text.as_bytes() {
            [byte] => Ok(*byte),
            _ => Err(senseless(format!("COPY {what} must be a single one-byte character")).at(at)),
        },
    }
}

/// The options of a format, checked as PostgreSQL checks them.
fn options(said: Said, from: bool) -> Result<CopyOptions> {
    let format = said.format.unwrap_or_default();
    let csv = format == CopyFormat::Csv;
    if format == CopyFormat::Binary {
        if said.delimiter.is_some() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "cannot specify DELIMITER in BINARY mode"));
        }
        if said.null.is_some() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "cannot specify NULL in BINARY mode"));
        }
        if said.header.is_some_and(|h| h != CopyHeader::None) {
            return Err(senseless("cannot specify HEADER in BINARY mode"));
        }
    }
    if !csv {
        let only = [
            (said.quote.is_some(), "quote"),
            (said.escape.is_some(), "escape"),
            (said.force_quote != CopyColumns::None, "force quote"),
            (said.force_not_null != CopyColumns::None, "force not null"),
            (said.force_null != CopyColumns::None, "force null"),
        ];
        if let Some((_, what)) = only.iter().find(|(said, _)| *said) {
            return Err(senseless(format!("COPY {what} available only in CSV mode")));
        }
    }
    if said.header == Some(CopyHeader::Match) && !from {
        return Err(senseless("cannot use \"match\" with HEADER in COPY TO"));
    }
    if said.force_quote != CopyColumns::None && from {
        return Err(senseless("COPY force quote only available using COPY TO"));
    }
    if said.force_not_null != CopyColumns::None && !from {
        return Err(senseless("COPY force not null only available using COPY FROM"));
    }
    if said.force_null != CopyColumns::None && !from {
        return Err(senseless("COPY force null only available using COPY FROM"));
    }
    let delimiter = one_byte(said.delimiter, if csv { b',' } else { b'\t' }, "delimiter")?;
    if matches!(delimiter, b'\n' | b'\r') {
        return Err(invalid("COPY delimiter cannot be newline or carriage return"));
    }
    if !csv && b"\\.abcdefghijklmnopqrstuvwxyz0123456789".contains(&delimiter) {
        return Err(invalid(format!("COPY delimiter cannot be \"{}\"", delimiter as char)));
    }
    let null = match said.null {
        Some((text, _)) if text.contains(['\n', '\r']) => {
            return Err(invalid("COPY null representation cannot use newline or carriage return"));
        }
        Some((text, _)) => text,
        None if csv => String::new(),
        None => "\\N".to_owned(),
    };
    let quote = one_byte(said.quote, b'"', "quote")?;
    let escape = one_byte(said.escape, quote, "escape")?;
    if csv && delimiter == quote {
        return Err(invalid("COPY delimiter and quote must be different"));
    }
    if null.as_bytes().contains(&delimiter) {
        return Err(invalid("COPY delimiter must not appear in the NULL specification"));
    }
    if csv && null.as_bytes().contains(&quote) {
        return Err(invalid("CSV quote character must not appear in the NULL specification"));
    }
    Ok(CopyOptions {
        format,
        delimiter,
        null,
        header: said.header.unwrap_or_default(),
        quote,
        escape,
        force_quote: said.force_quote,
        force_not_null: said.force_not_null,
        force_null: said.force_null,
    })
}
