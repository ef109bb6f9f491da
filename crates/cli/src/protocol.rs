//! Which protocol a benchmark runs with: one of the shelf, or an upper bound of the laboratory.

use planaria::lab::{LabOptions, UpperBound};
use planaria::{Database, Error, Options, ProtocolKind, Result, SqlState};
use std::fmt;
use std::str::FromStr;

/// What `--protocol` names.
#[derive(Clone, Copy)]
pub enum Protocol {
    /// One that databases may be run with.
    OfTheShelf(ProtocolKind),
    /// One that loses updates.
    UpperBound(UpperBound),
}

impl Protocol {
    /// Options of a database over it. An upper bound is in them only by [`Protocol::in_memory`], and has nothing
    /// to do with a directory (22023, if one `is_wanted`).
    pub fn options(self, is_wanted: bool) -> Result<Options> {
        match self {
            Protocol::OfTheShelf(kind) => Ok(Options::new().protocol(kind)),
            Protocol::UpperBound(bound) if is_wanted => {
                let what =
                    format!("{bound} loses updates, and is an upper bound for measurements in memory alone");
                Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, what).with_hint("Use --durability off."))
            }
            Protocol::UpperBound(bound) => {
                eprintln!("{bound} is not meant for databases: it is not serializable, and loses updates");
                Ok(Options::new())
            }
        }
    }

    /// A database in memory.
    pub fn in_memory(self, options: Options) -> Result<Database> {
        match self {
            Protocol::OfTheShelf(_) => options.in_memory(),
            Protocol::UpperBound(bound) => options.in_memory_unvalidated(bound),
        }
    }
}

impl FromStr for Protocol {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name.parse() {
            Ok(bound) => Ok(Protocol::UpperBound(bound)),
            Err(_) => name.parse().map(Protocol::OfTheShelf),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Protocol::OfTheShelf(kind) => kind.fmt(f),
            Protocol::UpperBound(bound) => write!(f, "{bound} (not serializable)"),
        }
    }
}
