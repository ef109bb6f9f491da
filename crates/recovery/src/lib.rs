//! From a log back to the database.
//!
//! ```text
//!  Batches --scheme--> Target: its tables (by the scheme's own workers), or Replayer (serially)
//! ```
//!
//! A [`Scheme`] takes the batches of a log and fills a [`Target`], the engine's side. What must happen
//! in its place in the order, with nobody else about (changes of the schema, calls that cannot be
//! planned), goes through [`Replayer`]; everything else a scheme may put into the tables of the
//! [`World`] with as many threads as it likes. The shelf:
//!
//! * [`clr`]: command-log recovery, serial, in the order of commit timestamps;
//! * [`plr`], [`llr`], [`aries`]: rows put back from physical, logical and physiological logs, with latches
//!   or by partition; calls are run again serially;
//! * [`clr_p`]: PACMAN's parallel command-log recovery, with the paper's switches as schemes;
//! * [`llr_p`]: after-images by partitions of the primary key;
//! * [`regrow`]: calls planned into pieces, these and after-images executed by partitions.
//!
//! Every scheme ends in the state that the database had after the last durable commit, and no two
//! schemes may differ in it (state digests, per table).

pub mod aries;
pub mod clr;
pub mod clr_p;
pub mod llr;
pub mod llr_p;
mod plan;
pub mod plr;
mod record;
pub mod regrow;
mod report;
mod tuple;
mod world;

pub use plan::{CompiledPiece, CompiledPlan};
pub use report::{Progress, Report, TaskKind, TaskRecord};
pub(crate) use world::AnyWorld;
pub use world::{Replayer, Routines, Target, World};

use planaria_base::{CommitTs, Error, Result};
use planaria_log::Batches;

/// How to replay.
#[derive(Clone, Debug)]
pub struct Options {
    /// Threads that replay; at least 1.
    pub threads: usize,
    /// Transactions that a parallel scheme plans at a time, at most.
    pub batch: usize,
    /// Whether the report lists every task, for simulations.
    pub record_tasks: bool,
}

impl Default for Options {
    /// A thread a core, 64 Ki transactions at a time.
    fn default() -> Options {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
        Options { threads, batch: 1 << 16, record_tasks: false }
    }
}

macro_rules! schemes {
    ($($(#[$doc:meta])* $variant:ident $($module:ident)::+ $name:literal;)*) => {
        /// A recovery scheme.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Scheme { $($(#[$doc])* $variant,)* }

        impl Scheme {
            /// All of them.
            pub const ALL: &[Scheme] = &[$(Scheme::$variant,)*];
            /// Its name.
            pub const fn name(self) -> &'static str { match self { $(Scheme::$variant => $name,)* } }
            /// Whether it uses one thread, however many it is given.
            pub const fn is_serial(self) -> bool { matches!(self, Scheme::Clr) }
            /// Replays the batches of a log, which hold `bytes_total` bytes of records, into `target`.
            /// An error names the transaction that could not be replayed; the target is lost then.
            pub fn replay<T: Target>(
                self,
                batches: Batches,
                bytes_total: u64,
                options: &Options,
                target: &mut T,
            ) -> Result<Report> {
                match self { $(Scheme::$variant => $($module)::+::replay(batches, bytes_total, options, target),)* }
            }
        }
    };
}

schemes! {
    /// Serial replay of commands and after-images in commit order.
    Clr clr "clr";
    /// Physical logs, parallel, latched; indexes at the end.
    Plr plr "plr";
    /// Logical logs, parallel, latched, backwards; the last writer wins.
    Llr llr "llr";
    /// Physiological logs in order, by partition of the primary key.
    Aries aries "aries";
    /// PACMAN in full: slices, piece-sets split by keys, pipelined batches.
    ClrP clr_p "clr-p";
    /// PACMAN without pipelining: one batch after the other.
    ClrPSynchronous clr_p::synchronous "clr-p-sync";
    /// PACMAN's static analysis alone: a thread a piece-set.
    ClrPStatic clr_p::static_only "clr-p-static";
    /// PACMAN's baseline: the pieces of transaction chopping, a thread a piece-set.
    ClrPChopping clr_p::chopping "clr-p-chopping";
    /// After-images, in parallel by partitions of the primary key.
    LlrP llr_p "llr-p";
    /// Pieces of planned calls, and after-images, in parallel by partitions of the primary key.
    Regrow regrow "regrow";
}

impl Default for Scheme {
    /// What a database recovers with if nobody chose.
    fn default() -> Scheme {
        Scheme::Regrow
    }
}

impl std::fmt::Display for Scheme {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
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
