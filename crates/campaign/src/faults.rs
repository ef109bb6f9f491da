//! The fault campaign: a shelf of kinds of faults, each a file and a line in the list.
//!
//! Of each seed a [`Setting`](setting::Setting) is drawn (log kind, recovery scheme, loggers, sizes of files), and a script.
//! A case runs the script and lets a fault strike; then the database is opened again, and
//!
//! 1. every step that was answered is there, the one that was under way is there whole or not at all: the
//!    state is one that the script, done without faults, leads through ([`model`](crate::model));
//! 2. it goes on from there to the state that the whole script leads to, and that survives, too.
//!
//! Where a disk does what no disk may (bits flip, writes go astray), the first becomes: an error that names
//! file and offset, or the state as it should be. One thing is allowed besides and counted for itself: the
//! newest group of commits before a crash, of which nothing else on disk says that it was complete.

mod backup;
pub(crate) mod crash;
mod damage;
mod full;
mod io_errors;
pub(crate) mod setting;
mod storm;

use planaria_sim::dice::Dice;
use serde::Serialize;
use setting::Prepared;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a case came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// Nothing that was promised is lost, and it goes on.
    Held,
    /// The damage was found and named; nothing was served.
    Detected,
    /// The newest group of commits before the crash counts as torn.
    Tail,
    /// The fault had nothing to strike.
    Missed,
    /// [`Outcome::Held`], after so much.
    Compared(Drawn),
}

/// What cases of kind `determinism` came to, those that held.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Drawn {
    /// Recoveries whose content was compared with that of the run.
    pub recoveries: u64,
    /// Routines that were made.
    pub routines: u64,
    /// Those of them that ask for the session, the moment, chance, a sequence or the catalogs, through others or not.
    pub asking: u64,
}

impl std::ops::AddAssign for Drawn {
    fn add_assign(&mut self, more: Drawn) {
        self.recoveries += more.recoveries;
        self.routines += more.routines;
        self.asking += more.asking;
    }
}

pub(crate) type Verdict = Result<Outcome, String>;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident $name:literal $run:path, $cases:path;)*) => {
        /// A kind of fault.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Kind { $($(#[$doc])* $variant,)* }

        impl Kind {
            /// All of them.
            pub const ALL: &[Kind] = &[$(Kind::$variant,)*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(Kind::$variant => $name,)* }
            }

            fn strike(self, prepared: &Prepared, number: u64) -> Verdict {
                match self { $(Kind::$variant => $run(prepared, number),)* }
            }

            /// Cases that are all there are for a seed; `None`: each number draws another.
            fn cases(self, prepared: &Prepared) -> Option<u64> {
                match self { $(Kind::$variant => $cases(prepared),)* }
            }
        }
    };
}

/// Each number is another draw.
fn any(_: &Prepared) -> Option<u64> {
    None
}

kinds! {
    /// Power fails at each operation of the disk in turn.
    Crash "crash" crash::once, crash::cases;
    /// Power fails, then again at each operation of the recovery in turn, and at random ones after that.
    Recovery "recovery" crash::nested, crash::nested_cases;
    /// Each sync in turn fails.
    Sync "sync" io_errors::sync, io_errors::syncs;
    /// Each write in turn fails.
    Write "write" io_errors::write, io_errors::writes;
    /// Each read of a recovery in turn fails.
    Read "read" io_errors::read, io_errors::reads;
    /// The disk is full, at random sizes; then there is room again.
    Full "full" full::fill, any;
    /// A bit of any file flips while the database is closed.
    Flip "flip" damage::flip, any;
    /// Each byte of each file in turn becomes another while the database is closed.
    Byte "byte" damage::byte, damage::bytes;
    /// A file is removed, cut, replaced by another or by what it once was, or loses a sector, while the
    /// database is closed.
    File "file" damage::file, any;
    /// A write goes to another place or another file, or nowhere, and power fails later.
    Misdirected "misdirected" damage::misdirect, any;
    /// The clock goes back and forth by days, and power fails.
    Clock "clock" crash::clock, any;
    /// Power fails within a backup; then one is whole, and is restored.
    Backup "backup" backup::backup, backup::cases;
    /// Power fails again and again under threads, with checkpoints, on a slow disk.
    Storm "storm" storm::storm, any;
    /// Power fails under threads that take turns by seed.
    Schedule "schedule" crate::schedule::strike, any;
    /// Power fails, or it is closed, after what depends on the moment, the session and chance.
    Determinism "determinism" crate::determinism::strike, any;
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Kind {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        Kind::ALL.iter().copied().find(|k| k.name() == name).ok_or_else(|| {
            let names: Vec<_> = Kind::ALL.iter().map(|k| k.name()).collect();
            format!("there is no kind of fault \"{name}\"; there are {}", names.join(", "))
        })
    }
}

/// A case that did not end as it must.
#[derive(Clone, Debug, Serialize)]
pub struct Failure {
    /// Its seed.
    pub seed: u64,
    /// Its number.
    pub case: u64,
    /// What was wrong.
    pub what: String,
}

/// What cases of a kind came to.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    /// The kind.
    pub kind: String,
    /// Seeds: settings and scripts.
    pub seeds: u64,
    /// Cases in which the fault struck.
    pub cases: u64,
    /// Of these, those that lost nothing and went on.
    pub held: u64,
    /// Those in which damage was found and named.
    pub detected: u64,
    /// Those in which the newest group of commits before a crash counted as torn.
    pub tail: u64,
    /// Those in which something was wrong.
    pub failures: Vec<Failure>,
    /// What was drawn and compared, where that is counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drawn: Option<Drawn>,
}

/// How much is run.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// The first seed; each further script has the next.
    pub seed: u64,
    /// Steps of a script after its schema.
    pub steps: usize,
    /// Cases in all. Where a seed has fewer, the next one follows.
    pub cases: u64,
    /// At most so many of one seed, spread over all it has; all of them with 0.
    pub per_seed: u64,
    /// At most so many seeds; as many as it takes with 0.
    pub seeds: u64,
}

/// Strikes so often; `told` hears of each case as it ends.
pub fn run(kind: Kind, extent: Extent, told: &mut dyn FnMut(&Tally)) -> Tally {
    let mut tally = Tally { kind: kind.name().to_owned(), ..Tally::default() };
    let mut left = extent.cases;
    let mut seed = extent.seed;
    while left > 0 && (extent.seeds == 0 || tally.seeds < extent.seeds) {
        tally.seeds += 1;
        match prepare(seed, extent.steps) {
            Err(what) => {
                tally.failures.push(Failure { seed, case: 0, what });
                left -= 1;
            }
            Ok(prepared) => {
                let there_are = kind.cases(&prepared);
                let wanted = there_are.unwrap_or(u64::MAX).min(left);
                let wanted = if extent.per_seed > 0 { wanted.min(extent.per_seed) } else { wanted };
                let mut dice = Dice::new(seed, 77);
                for n in 0..wanted {
                    let number = match there_are {
                        // Spread evenly, with a little chance in between.
                        Some(all) if wanted < all => (n * all + dice.below(all)) / wanted,
                        _ => n,
                    };
                    tally.count(seed, number, one(kind, &prepared, number));
                    told(&tally);
                }
                left -= wanted.max(1).min(left);
            }
        }
        seed += 1;
    }
    tally
}

/// Strikes once: a case that is to be repeated.
pub fn repeat(kind: Kind, seed: u64, steps: usize, case: u64) -> Tally {
    let mut tally = Tally { kind: kind.name().to_owned(), seeds: 1, ..Tally::default() };
    let verdict = prepare(seed, steps).and_then(|prepared| one(kind, &prepared, case));
    tally.count(seed, case, verdict);
    tally
}

fn prepare(seed: u64, steps: usize) -> Result<Prepared, String> {
    caught(|| Prepared::new(seed, steps))
}

fn one(kind: Kind, prepared: &Prepared, number: u64) -> Verdict {
    caught(|| kind.strike(prepared, number))
}

/// A panic of the database is a failure of the case like any other.
fn caught<T>(f: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| Err(format!("panic: {}", said_by(&*panic))))
}

/// What a panic says.
pub(crate) fn said_by(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("of an unknown kind")
}

impl Tally {
    fn count(&mut self, seed: u64, case: u64, verdict: Verdict) {
        match verdict {
            Ok(Outcome::Missed) => return,
            Ok(Outcome::Held) => self.held += 1,
            Ok(Outcome::Compared(drawn)) => {
                self.held += 1;
                *self.drawn.get_or_insert_default() += drawn;
            }
            Ok(Outcome::Detected) => self.detected += 1,
            Ok(Outcome::Tail) => self.tail += 1,
            Err(what) => self.failures.push(Failure { seed, case, what }),
        }
        self.cases += 1;
    }
}
