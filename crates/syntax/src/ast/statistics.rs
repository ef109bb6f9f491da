//! CREATE, ALTER and DROP STATISTICS.

use super::{IndexItem, Name, Position, RoleSpec};

/// What is done to extended statistics.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum StatisticsChange {
    /// CREATE STATISTICS name (kinds) ON items FROM tables
    Create {
        name: Name,
        if_not_exists: bool,
        kinds: Vec<String>,
        items: Vec<(IndexItem, Position)>,
        tables: Vec<Name>,
    },
    /// ALTER STATISTICS
    Alter { name: Name, if_exists: bool, change: StatisticsAlteration },
    /// DROP STATISTICS
    Drop { names: Vec<Name>, if_exists: bool },
}

/// What ALTER STATISTICS says.
#[derive(Clone, PartialEq, Debug)]
pub enum StatisticsAlteration {
    /// RENAME TO
    Rename(String),
    /// OWNER TO
    Owner(RoleSpec),
    /// SET SCHEMA
    Schema(String),
    /// SET STATISTICS
    Target(i64),
}
