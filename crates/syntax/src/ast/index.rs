//! CREATE INDEX.

use super::{Expr, Name, Parameter, Position};

/// CREATE INDEX
#[derive(Clone, PartialEq, Debug)]
pub struct CreateIndex {
    /// Name, made up if missing.
    pub name: Option<String>,
    /// UNIQUE
    pub unique: bool,
    /// IF NOT EXISTS
    pub if_not_exists: bool,
    /// Table.
    pub table: Name,
    /// ON ONLY: not of its partitions
    pub only: bool,
    /// What is indexed.
    pub columns: Vec<(IndexItem, Position)>,
    /// How each of them is ordered.
    pub orders: Vec<planaria_catalog::KeyOrder>,
    /// INCLUDE
    pub included: Vec<String>,
    /// WHERE; text as written
    pub predicate: Option<(Expr, String)>,
    /// NULLS NOT DISTINCT
    pub equal_nulls: bool,
    /// USING, if not `btree`, and where it stands
    pub method: Option<(String, Position)>,
    /// WITH (parameters)
    pub parameters: Vec<Parameter>,
}

/// `EXCLUDE [USING method] (element WITH operator, ..) [WHERE (predicate)]`
#[derive(Clone, PartialEq, Debug)]
pub struct Exclude {
    /// The index method, and where it stands; `btree` if missing.
    pub method: Option<(String, Position)>,
    /// What is compared.
    pub elements: Vec<ExcludeElement>,
    /// WHERE; text as written, without the parentheses
    pub predicate: Option<(Expr, String)>,
}

/// An element of EXCLUDE.
#[derive(Clone, PartialEq, Debug)]
pub struct ExcludeElement {
    /// A column or an expression.
    pub item: IndexItem,
    /// Where it stands.
    pub position: Position,
    /// The operator behind WITH.
    pub operator: String,
    /// Where that stands.
    pub operator_position: Position,
}

/// What an index is over, or the target of ON CONFLICT.
#[derive(Clone, PartialEq, Debug)]
pub enum IndexItem {
    /// A column.
    Column(String),
    /// An expression; text as written, without parentheses around it
    Expression(Box<Expr>, String),
}
