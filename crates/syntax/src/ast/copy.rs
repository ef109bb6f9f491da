//! COPY: what it copies, and the form of the data.

use super::{Name, Position, Statement};

/// COPY
#[derive(Clone, PartialEq, Debug)]
pub struct Copy {
    /// Table or statement.
    pub source: CopySource,
    /// FROM STDIN (`true`) or TO STDOUT.
    pub from: bool,
    /// The form of the data.
    pub options: CopyOptions,
    /// Where COPY stands.
    pub position: Position,
}

/// What is copied.
#[derive(Clone, PartialEq, Debug)]
pub enum CopySource {
    /// A table; its columns, none: all in order.
    Table(Name, Vec<(String, Position)>),
    /// The rows of a statement.
    Statement(Box<Statement>),
}

/// The kinds of form.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CopyFormat {
    /// Lines of values with backslashes.
    #[default]
    Text,
    /// Comma-separated values.
    Csv,
    /// PostgreSQL's binary form.
    Binary,
}

/// A first line with the names of the columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CopyHeader {
    /// There is none.
    #[default]
    None,
    /// There is one.
    Line,
    /// There is one, and its names must be those of the columns.
    Match,
}

/// Columns of a FORCE option.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum CopyColumns {
    /// None of them.
    #[default]
    None,
    /// `*`
    All,
    /// Those.
    Named(Vec<String>),
}

/// The form of the data; the defaults of the format stand where nothing was said.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CopyOptions {
    /// Kind.
    pub format: CopyFormat,
    /// Between values.
    pub delimiter: u8,
    /// What NULL looks like.
    pub null: String,
    /// A first line with names.
    pub header: CopyHeader,
    /// Quotes of CSV.
    pub quote: u8,
    /// What stands before a quote within quotes.
    pub escape: u8,
    /// FORCE_QUOTE: these are written in quotes always.
    pub force_quote: CopyColumns,
    /// FORCE_NOT_NULL: in these nothing is NULL.
    pub force_not_null: CopyColumns,
    /// FORCE_NULL: in these what looks like NULL is NULL even in quotes.
    pub force_null: CopyColumns,
}
