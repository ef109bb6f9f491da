//! CREATE INDEX.

use super::{Expr, IndexItem, Name, Position};

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
    /// `USING gin`: no such index is made.
    pub gin: bool,
    /// Other methods ...: what is not supported, by name and place
    pub unsupported: Option<(String, Position)>,
}
