//! How strongly a row is locked.

/// Each strength keeps others from all that the ones before it do. PostgreSQL's four.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strength {
    /// The row stays, with its unique keys: FOR KEY SHARE.
    KeyShare,
    /// The row stays as it is: FOR SHARE.
    Share,
    /// It may be changed, but not deleted, and its unique keys stay: FOR NO KEY UPDATE.
    NoKeyUpdate,
    /// Anything may be done to it: FOR UPDATE.
    Update,
}

impl Strength {
    /// All of them, from the weakest.
    pub const ALL: [Strength; 4] =
        [Strength::KeyShare, Strength::Share, Strength::NoKeyUpdate, Strength::Update];

    /// Whether two transactions cannot have a row with these.
    #[inline]
    pub const fn conflicts(self, other: Strength) -> bool {
        // The weaker the one, the stronger the other has to be.
        self as u8 + other as u8 >= Strength::Update as u8
    }

    /// As SQL writes it behind FOR.
    pub const fn name(self) -> &'static str {
        match self {
            Strength::KeyShare => "KEY SHARE",
            Strength::Share => "SHARE",
            Strength::NoKeyUpdate => "NO KEY UPDATE",
            Strength::Update => "UPDATE",
        }
    }

    /// The lock on a row that PostgreSQL takes for it, as `pg_locks` names it.
    pub const fn mode(self) -> &'static str {
        match self {
            Strength::KeyShare => "AccessShareLock",
            Strength::Share => "RowShareLock",
            Strength::NoKeyUpdate => "ExclusiveLock",
            Strength::Update => "AccessExclusiveLock",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strengths_conflict_as_postgresqls_do() {
        let rows = ["0001", "0011", "0111", "1111"];
        for (a, row) in Strength::ALL.iter().zip(rows) {
            for (b, conflicts) in Strength::ALL.iter().zip(row.chars()) {
                assert_eq!(a.conflicts(*b), conflicts == '1', "{a:?} and {b:?}");
            }
        }
    }
}
