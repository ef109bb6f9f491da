//! Types that users make.

use super::{Constraint, Expr, Name, TypeName};

/// What ALTER TYPE does to an enumerated type.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum AlterEnum {
    /// ADD VALUE [IF NOT EXISTS] label [BEFORE | AFTER label]
    AddValue { label: String, if_not_exists: bool, place: LabelPlace },
    /// RENAME VALUE a TO b
    RenameValue { from: String, to: String },
}

/// Where a label goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LabelPlace {
    /// Behind all others.
    Last,
    /// BEFORE
    Before(String),
    /// AFTER
    After(String),
}

/// ALTER DOMAIN actions.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum AlterDomain {
    /// SET DEFAULT; `None`: DROP DEFAULT
    SetDefault(Option<(Expr, String)>),
    /// SET, DROP NOT NULL
    SetNotNull(bool),
    /// ADD CONSTRAINT
    AddConstraint(Constraint),
    /// DROP CONSTRAINT
    DropConstraint { name: String, if_exists: bool, cascade: bool },
    /// VALIDATE CONSTRAINT
    ValidateConstraint(String),
    /// RENAME CONSTRAINT a TO b
    RenameConstraint { from: String, to: String },
}

/// A type by its name, and whether the statement is one of domains.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeRef {
    /// Name.
    pub name: Name,
    /// DOMAIN, not TYPE
    pub domain: bool,
}

impl TypeRef {
    /// TYPE, DOMAIN
    pub fn word(&self) -> &'static str {
        if self.domain { "DOMAIN" } else { "TYPE" }
    }
}

/// The types of a conversion.
#[derive(Clone, PartialEq, Debug)]
pub struct CastTypes {
    /// What is converted.
    pub source: TypeName,
    /// What it becomes.
    pub target: TypeName,
}

/// How a conversion is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CastMethod {
    /// WITH INOUT: by way of its text
    InOut,
    /// WITHOUT FUNCTION: as it is
    Binary,
}

/// CREATE CAST, DROP CAST
#[derive(Clone, PartialEq, Debug)]
pub enum CastChange {
    /// CREATE CAST
    Create {
        /// From what to what.
        types: CastTypes,
        /// How.
        method: CastMethod,
        /// Where it is done.
        context: planaria_catalog::UserCastContext,
    },
    /// DROP CAST
    Drop {
        /// From what to what.
        types: CastTypes,
        /// IF EXISTS
        if_exists: bool,
    },
}

/// CREATE EXTENSION, DROP EXTENSION
#[derive(Clone, PartialEq, Debug)]
pub enum ExtensionChange {
    /// CREATE EXTENSION
    Create {
        /// Which.
        name: String,
        /// IF NOT EXISTS
        if_not_exists: bool,
        /// SCHEMA
        schema: Option<String>,
        /// VERSION
        version: Option<String>,
    },
    /// DROP EXTENSION
    Drop {
        /// Which.
        names: Vec<String>,
        /// IF EXISTS
        if_exists: bool,
        /// CASCADE
        cascade: bool,
    },
}
