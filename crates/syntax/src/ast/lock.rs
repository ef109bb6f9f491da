//! LOCK TABLE, and the statements that maintain tables.

use super::Name;

/// Modes of table locks, from the weakest.
#[allow(missing_docs, reason = "PostgreSQL's names")]
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum LockMode {
    AccessShare,
    RowShare,
    RowExclusive,
    ShareUpdateExclusive,
    Share,
    ShareRowExclusive,
    Exclusive,
    AccessExclusive,
}

use LockMode::{
    AccessExclusive, AccessShare, Exclusive, RowExclusive, RowShare, Share, ShareRowExclusive,
    ShareUpdateExclusive,
};

impl LockMode {
    /// All of them, with what LOCK TABLE calls them.
    pub const ALL: [(LockMode, &'static str); 8] = [
        (AccessShare, "ACCESS SHARE"),
        (RowShare, "ROW SHARE"),
        (RowExclusive, "ROW EXCLUSIVE"),
        (ShareUpdateExclusive, "SHARE UPDATE EXCLUSIVE"),
        (Share, "SHARE"),
        (ShareRowExclusive, "SHARE ROW EXCLUSIVE"),
        (Exclusive, "EXCLUSIVE"),
        (AccessExclusive, "ACCESS EXCLUSIVE"),
    ];

    /// Whether two transactions cannot have these on one table.
    pub fn conflicts(self, other: LockMode) -> bool {
        let weakest = |mode| match mode {
            AccessShare => AccessExclusive,
            RowShare => Exclusive,
            RowExclusive => Share,
            ShareUpdateExclusive => ShareUpdateExclusive,
            Share | ShareRowExclusive => RowExclusive,
            Exclusive => RowShare,
            AccessExclusive => AccessShare,
        };
        // SHARE alone does not conflict with itself.
        other >= weakest(self) && self >= weakest(other) && (self, other) != (Share, Share)
    }

    /// Whether it conflicts with what reading and writing statements take.
    pub fn is_strong(self) -> bool {
        self >= Share
    }

    /// As PostgreSQL names it in messages and `pg_locks`.
    pub fn name(self) -> &'static str {
        match self {
            AccessShare => "AccessShareLock",
            RowShare => "RowShareLock",
            RowExclusive => "RowExclusiveLock",
            ShareUpdateExclusive => "ShareUpdateExclusiveLock",
            Share => "ShareLock",
            ShareRowExclusive => "ShareRowExclusiveLock",
            Exclusive => "ExclusiveLock",
            AccessExclusive => "AccessExclusiveLock",
        }
    }
}

/// LOCK TABLE
#[derive(Clone, PartialEq, Debug)]
pub struct LockTable {
    /// Tables and views.
    pub names: Vec<Name>,
    /// IN .. MODE
    pub mode: LockMode,
    /// NOWAIT
    pub nowait: bool,
}

/// What a statement that maintains something is about.
#[derive(Clone, PartialEq, Debug)]
pub enum Maintained {
    /// A table, and columns of it.
    Table(Name, Vec<(String, u32)>),
    /// An index.
    Index(Name),
    /// A table that is clustered by an index.
    Clustered(Name, String),
    /// A schema.
    Schema(Name),
    /// A database.
    Database(Name),
}

/// VACUUM, ANALYZE, REINDEX, CLUSTER: there is nothing to do, but what they name has to be there.
#[derive(Clone, PartialEq, Debug)]
pub struct Maintain {
    /// The command.
    pub tag: &'static str,
    /// What it names.
    pub what: Vec<Maintained>,
}

impl Maintain {
    /// The table that is clustered by an index, and that index.
    pub fn clustered(&self) -> Option<(&Name, &str)> {
        match &self.what[..] {
            [Maintained::Clustered(table, index)] => Some((table, index)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PostgreSQL's table of conflicts.
    #[test]
    fn modes_conflict_as_postgresqls_do() {
        let rows =
            ["00000001", "00000011", "00001111", "00011111", "00110111", "00111111", "01111111", "11111111"];
        for ((a, name), row) in LockMode::ALL.iter().zip(rows) {
            for ((b, other), conflicts) in LockMode::ALL.iter().zip(row.chars()) {
                assert_eq!(a.conflicts(*b), conflicts == '1', "{name} and {other}");
            }
        }
    }
}
