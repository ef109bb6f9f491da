//! Levels of isolation of transaction blocks, by SQL's names.

/// What a transaction block may see of others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Isolation {
    /// The same as READ COMMITTED, but for its name.
    ReadUncommitted,
    /// Each statement reads the state of its own moment.
    ReadCommitted,
    /// All statements read the state of one moment: snapshot isolation, the first who changes a row wins.
    RepeatableRead,
    /// As if transactions ran one after another.
    #[default]
    Serializable,
}

impl Isolation {
    /// As SHOW spells it.
    pub const fn name(self) -> &'static str {
        match self {
            Isolation::ReadUncommitted => "read uncommitted",
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }

    /// What it comes to: nobody sees what is not committed.
    pub const fn effective(self) -> Isolation {
        match self {
            Isolation::ReadUncommitted => Isolation::ReadCommitted,
            other => other,
        }
    }

    /// The level with a name, in lower case.
    pub fn of(name: &str) -> Option<Isolation> {
        Some(match name {
            "read uncommitted" => Isolation::ReadUncommitted,
            "read committed" => Isolation::ReadCommitted,
            "repeatable read" => Isolation::RepeatableRead,
            "serializable" => Isolation::Serializable,
            _ => return None,
        })
    }
}
