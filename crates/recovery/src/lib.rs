//! From a log back to the database.
//!
//! A [`Scheme`] takes the batches of a log and gives them to a [`Replayer`], the engine's side: it
//! knows how to run a call again and how to put effects in place. The shelf has one entry:
//!
//! * [`clr`]: command-log recovery, serial, in the order of commit timestamps.
//!
//! Every scheme ends in the state that the database had after the last durable commit, and no two
//! schemes may differ in it (state digests, per table).

pub mod clr;

use planaria_base::{CommitTs, Error, Result};
use planaria_log::{Batches, Call, Effect};
use std::time::Duration;

/// The engine's side of replay. Transactions come in the order of their commit timestamps.
pub trait Replayer {
    /// Runs a procedure call again, with the arguments and inputs it had.
    fn call(&mut self, commit_ts: CommitTs, call: Call) -> Result<()>;
    /// Puts the effects of a transaction in place, all or nothing.
    fn effects(&mut self, commit_ts: CommitTs, effects: Vec<Effect>) -> Result<()>;
    /// Is told now and then how far replay has come.
    fn progress(&mut self, progress: Progress);
}

/// How far a replay has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Bytes of log done.
    pub bytes_done: u64,
    /// Bytes of log there are.
    pub bytes_total: u64,
    /// Transactions done.
    pub transactions: u64,
}

/// What a recovery did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Transactions replayed.
    pub transactions: u64,
    /// Of these, calls run again.
    pub calls: u64,
    /// Bytes of log read.
    pub log_bytes: u64,
    /// Time for reading and replaying.
    pub replay: Duration,
    /// Of that, time in transactions.
    pub executing: Duration,
    /// The longest single transaction.
    pub longest_transaction: Duration,
}

macro_rules! schemes {
    ($($(#[$doc:meta])* $variant:ident $module:ident $name:literal;)*) => {
        /// A recovery scheme.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Scheme { $($(#[$doc])* $variant,)* }

        impl Scheme {
            /// All of them.
            pub const ALL: &[Scheme] = &[$(Scheme::$variant,)*];
            /// Its name.
            pub const fn name(self) -> &'static str { match self { $(Scheme::$variant => $name,)* } }
            /// Replays the batches of a log, which hold `bytes_total` bytes of records.
            pub fn replay(self, batches: Batches, bytes_total: u64, replayer: &mut dyn Replayer) -> Result<Report> {
                match self { $(Scheme::$variant => $module::replay(batches, bytes_total, replayer),)* }
            }
        }
    };
}

schemes! {
    /// Serial replay of commands and after-images in commit order.
    Clr clr "clr";
}

impl std::str::FromStr for Scheme {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Scheme::ALL.iter().copied().find(|s| s.name() == name).ok_or_else(|| {
            let names: Vec<_> = Scheme::ALL.iter().map(|s| s.name()).collect();
            format!("there is no recovery scheme \"{name}\"; there are {}", names.join(", "))
        })
    }
}

/// An error in replaying a transaction, with its place in the order.
#[cold]
fn at(error: Error, commit_ts: CommitTs) -> Error {
    error.context(format!("replay of transaction {commit_ts:?}"))
}
