//! What experiments with the database and tests of it need: pauses and counters for measurements of contention, copies
//! that recover again and again, disks that are simulated, protocols that are broken.
//!
//! **Not covered by the promise of semantic versions.** Whoever embeds the database needs none of it.
//!
//! * [`LabOptions`], [`LabDatabase`]: databases on any device, over any protocol, with a clock of one's own.
//! * [`LabSession`]: a session that [pauses](Pauses), and counts what it does.
//! * [`LabRestore`], [`open_log`], [`verify_log`]: what [`checkpoint`](crate::checkpoint) and [`log`](crate::log) do in
//!   directories, on any device.

use crate::checkpoint::{Place, Restore, Restored};
use crate::database::Database;
use crate::directory::directory_of_database;
use crate::log::{LogView, Verification};
use crate::options::{Options, Scheme};
use crate::sealed::Sealed;
use crate::session::Session;
pub use crate::session::pauses::Pauses;
use crate::stats::CheckpointReport;
use planaria_base::{CommitTs, Result, WallClock};
use planaria_log::Device;
use planaria_protocol::{Hosted, ProtocolJob};
pub use planaria_protocol::{Remembers, UpperBound};
pub use planaria_recovery::{TaskKind, TaskRecord};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// What a database is opened with to be experimented with.
pub trait LabOptions: Sealed {
    /// Has the report of a recovery list its [tasks](crate::RecoveryReport::tasks), with their costs and what each waited for.
    #[must_use]
    fn record_recovery_tasks(self, record: bool) -> Options;
    /// Size of the log's files in bytes, and epochs one spans at most: for tests that want many files.
    #[must_use]
    fn log_segments(self, bytes_max: u64, epochs_max: u64) -> Options;
    /// Whether threads close epochs and make files ahead of time. Without, the log does the same things to
    /// its disk in each run, and epochs close when somebody waits: for tests that must be repeatable.
    #[must_use]
    fn log_threads(self, threads: bool) -> Options;
    /// Whether protocol `healing` heals what it can also where repeating would cost less: the thesis's scheme.
    #[must_use]
    fn heal_always(self, always: bool) -> Options;
    /// Whether a run that is healed leaves what the runs before have drawn in the record of the call. That is wrong, and there
    /// for the test that has to notice.
    #[must_use]
    fn heal_with_stale_inputs(self, stale: bool) -> Options;
    /// What protocol `healing` remembers of transactions that it may heal: to price the parts of its cache.
    #[must_use]
    fn healing_remembers(self, what: Remembers) -> Options;
    /// Says what time it is instead of the system's clock: for tests.
    #[must_use]
    fn wall_clock(self, clock: WallClock) -> Options;
    /// [`Options::open`] on any device: for tests on a simulated disk.
    fn open_device(self, device: Arc<dyn Device>) -> Result<Database>;
    /// A database without a directory over any protocol, of the shelf or not: for tests that must catch
    /// one that is broken.
    fn in_memory_over<P: Hosted>(self) -> Result<Database>;
    /// A database without a directory that loses updates: for the laboratory, which wants to know how fast one would be
    /// whose attempts never fail. It is never one on a directory.
    fn in_memory_unvalidated(self, bound: UpperBound) -> Result<Database>;
    /// The same as [`LabOptions::in_memory_over`] on a device.
    fn open_device_over<P: Hosted>(self, device: Arc<dyn Device>) -> Result<Database>;
}

impl LabOptions for Options {
    fn record_recovery_tasks(mut self, record: bool) -> Options {
        self.record_recovery_tasks = record;
        self
    }
    fn log_segments(mut self, bytes_max: u64, epochs_max: u64) -> Options {
        self.log_files.segment_bytes_max = bytes_max;
        self.log_files.segment_epochs_max = epochs_max;
        self
    }
    fn log_threads(mut self, threads: bool) -> Options {
        self.log_files.threads = threads;
        self
    }
    fn heal_always(mut self, always: bool) -> Options {
        self.heal_always = always;
        self
    }
    fn heal_with_stale_inputs(mut self, stale: bool) -> Options {
        self.heal_with_stale_inputs = stale;
        self
    }
    fn healing_remembers(mut self, what: Remembers) -> Options {
        self.healing_remembers = what;
        self
    }
    fn wall_clock(mut self, clock: WallClock) -> Options {
        self.wall_clock = clock;
        self
    }
    fn open_device(self, device: Arc<dyn Device>) -> Result<Database> {
        Database::open_device(device, self)
    }
    fn in_memory_over<P: Hosted>(self) -> Result<Database> {
        Database::in_memory_over::<P>(self)
    }
    fn in_memory_unvalidated(self, bound: UpperBound) -> Result<Database> {
        struct Open(Options);
        impl ProtocolJob for Open {
            type Output = Result<Database>;
            fn run<P: Hosted>(self) -> Self::Output {
                self.0.in_memory_over::<P>()
            }
        }
        bound.dispatch(Open(self))
    }
    fn open_device_over<P: Hosted>(self, device: Arc<dyn Device>) -> Result<Database> {
        Database::open_device_over::<P>(device, self)
    }
}

/// A database that is experimented with.
pub trait LabDatabase: Sealed {
    /// A database with this one's schema and rows, in memory of its own, that logs to a directory.
    /// Where the directory has a log, that of an earlier copy of this database in the same state, the
    /// copy is recovered from it first. So a recovery can be repeated without what went before it:
    /// the laboratory measures replay so. The protocol is this database's, whatever the options say.
    fn open_on_copy(&self, path: impl AsRef<Path>, options: Options) -> Result<Database>;
    /// The same on any device: for tests on a simulated disk.
    fn open_on_copy_device(&self, device: Arc<dyn Device>, options: Options) -> Result<Database>;
    /// [`Database::backup`] into any device: for tests on a simulated disk.
    fn backup_device(&self, device: Arc<dyn Device>) -> Result<CheckpointReport>;
}

impl LabDatabase for Database {
    fn open_on_copy(&self, path: impl AsRef<Path>, options: Options) -> Result<Database> {
        self.open_on_copy_device(directory_of_database(path.as_ref())?, options)
    }
    fn open_on_copy_device(&self, device: Arc<dyn Device>, options: Options) -> Result<Database> {
        let place = device.describe("");
        Database::of(&place, || self.engine().open_on_copy(Some(device), &options))
    }
    fn backup_device(&self, device: Arc<dyn Device>) -> Result<CheckpointReport> {
        self.engine().backup(device, None)
    }
}

/// A session that is measured.
pub trait LabSession: Sealed {
    /// Place of this session's last committed transaction in the order of all, and whether it wrote: one
    /// that did not comes right before the one that drew the same timestamp. For tests of that order.
    fn last_commit(&self) -> Option<(CommitTs, bool)>;
    /// Makes its transactions pause, for measurements of contention.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// use planaria::lab::{LabSession, Pauses};
    ///
    /// let db = planaria::Database::in_memory()?;
    /// let mut session = db.session()?;
    /// session.execute_script("CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1), (2)")?;
    /// session.pause(Pauses { yield_every: 1, ..Default::default() });
    /// let before = session.table_operations();
    /// session.query("SELECT n FROM t WHERE n = 2", ())?;
    /// assert_eq!(session.table_operations(), before + 1);
    /// # Ok(()) }
    /// ```
    fn pause(&mut self, pauses: Pauses);
    /// Operations on tables that its transactions have done, attempts in vain included: rows looked up, met by scans,
    /// read again, inserted, updated, deleted.
    fn table_operations(&self) -> u64;
    /// Time that went into attempts in vain, with what was waited before the next ones, if [`Pauses::timed`] asks for it.
    fn time_lost(&self) -> Duration;
}

impl LabSession for Session {
    fn last_commit(&self) -> Option<(CommitTs, bool)> {
        self.api.last_commit()
    }
    fn pause(&mut self, pauses: Pauses) {
        self.api.set_pauses(pauses);
    }
    fn table_operations(&self) -> u64 {
        self.api.table_operations()
    }
    fn time_lost(&self) -> Duration {
        self.api.time_lost()
    }
}

/// A restore among devices: for tests on a simulated disk.
pub trait LabRestore: Sealed {
    /// [`Restore::new`] from any device: for tests on a simulated disk.
    fn from_device(from: Arc<dyn Device>) -> Restore;
    /// [`Restore::log`] on any device.
    #[must_use]
    fn log_device(self, log: Arc<dyn Device>) -> Restore;
    /// [`Restore::to`] on any device.
    fn to_device(&self, device: Arc<dyn Device>) -> Result<Restored>;
}

impl LabRestore for Restore {
    fn from_device(from: Arc<dyn Device>) -> Restore {
        Restore::of(Place::Device(from))
    }
    fn log_device(mut self, log: Arc<dyn Device>) -> Restore {
        self.log = Some(Place::Device(log));
        self
    }
    fn to_device(&self, device: Arc<dyn Device>) -> Result<Restored> {
        self.write(|| Ok(device))
    }
}

/// [`LogView::open`] on any device: for tests on a simulated disk.
pub fn open_log(device: Arc<dyn Device>) -> Result<LogView> {
    LogView::open_device(device)
}

/// [`log::verify`](crate::log::verify) on any device: for tests on a simulated disk.
pub fn verify_log(
    device: &dyn Fn() -> Result<Arc<dyn Device>>,
    scheme: Scheme,
    threads: usize,
) -> Result<Verification> {
    crate::log::verify_device(device, scheme, threads)
}
