//! Partitioned tables.

use super::{Expr, IndexItem, Name, Position};

/// `PARTITION BY RANGE | LIST | HASH (key, ..)`
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionBy {
    /// How.
    pub strategy: planaria_catalog::Strategy,
    /// By what.
    pub keys: Vec<(IndexItem, Position)>,
    /// Where it stands.
    pub position: Position,
}

/// `PARTITION OF parent bound`
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionOf {
    /// The partitioned table.
    pub parent: Name,
    /// Which rows.
    pub bound: PartitionSpec,
    /// What is said of columns of the parent: constraints, defaults.
    pub columns: Vec<(String, Position, Vec<super::Constraint>)>,
}

/// `FOR VALUES .. | DEFAULT`
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionSpec {
    /// What is said.
    pub kind: PartitionSpecKind,
    /// Where it stands.
    pub position: Position,
}

/// What is said of a partition's rows.
#[derive(Clone, PartialEq, Debug)]
pub enum PartitionSpecKind {
    /// DEFAULT
    Default,
    /// IN (..)
    In(Vec<Expr>),
    /// FROM (..) TO (..)
    Range(Vec<RangeDatum>, Vec<RangeDatum>),
    /// WITH (MODULUS m, REMAINDER r)
    Hash(i64, i64),
}

/// A value of a range's end.
#[derive(Clone, PartialEq, Debug)]
pub enum RangeDatum {
    /// MINVALUE
    Min,
    /// A value.
    Value(Expr),
    /// MAXVALUE
    Max,
}
