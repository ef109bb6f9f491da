//! The memory budget: an error of one statement in place of the end of the process.
//!
//! 1. Storage knows what it takes: each heap of rows and each index counts its bytes, in lines that nobody
//!    shares. Adding them up costs some microseconds.
//! 2. Each session counts what it adds ([`Share`]): bytes of rows that it stores, of what its statement
//!    computes with, of the answer that it collects. When that has grown by a step, it says how much it is, has
//!    everything added up ([`Meter::weigh`]), and fails with 53200 where the sum is above the budget. Rows of open
//!    cursors count for as long as they are there ([`Kept`]), what servers hold for their clients
//!    ([`Hold`](crate::Hold)), and what waits for the log to be written.
//! 3. The last sum is there for all: when it is above the budget, everybody who is to store a row looks again.
//!
//! So the budget may be passed by a step for each session, and by what one instruction takes. Deletes and
//! reads are not refused for what the rows take: a statement that stores nothing may always have a sixteenth
//! of the budget, as long as all statements together take no more than a quarter.

use crate::engine::schema_version::SchemaVersion;
use crate::system::Stock;
use planaria_base::limits::WORKERS_MAX;
use planaria_base::sync::OnceLock;
use planaria_base::{Error, Result, SqlState, WorkerId};
use planaria_log::Log;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that a session takes before it looks again, at most.
const STEP_MAX: u64 = 1 << 20;
/// Of the budget, the part that is a step, the part that a statement which stores nothing always has, and the part
/// up to which that holds for all of them together.
const STEPS: u64 = 256;
const FREE: u64 = 16;
const FREE_TOGETHER: u64 = 4;

/// See the module's head.
pub(crate) struct Meter {
    /// `u64::MAX`: none.
    budget: u64,
    step: u64,
    /// The last sum.
    used: AtomicU64,
    /// What sessions take, by worker.
    sessions: Box<[AtomicU64]>,
    /// What they keep beyond statements.
    kept: Arc<AtomicU64>,
    /// How much of that is in the last sum.
    kept_in_sum: AtomicU64,
    /// Whose buffers count, too.
    log: OnceLock<Arc<Log>>,
}

/// Memory that is taken for as long as this lives.
pub(crate) struct Kept {
    all: Arc<AtomicU64>,
    bytes: u64,
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.all.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What one session takes.
pub(crate) struct Share {
    worker: WorkerId,
    /// Rows that its transaction has stored.
    stored: u64,
    /// What its statement computes with.
    held: u64,
    /// The answer that is being collected.
    answer: u64,
    /// All of it when it was told last.
    told: u64,
    /// Rows stored, by whatever transaction, since then.
    since: u64,
    /// It was once much; what it was computed in may still be there.
    was_much: bool,
}

impl Share {
    pub(crate) fn new(worker: WorkerId) -> Share {
        Share { worker, stored: 0, held: 0, answer: 0, told: 0, since: 0, was_much: false }
    }

    pub(crate) fn begin_transaction(&mut self) {
        (self.stored, self.held, self.answer) = (0, 0, 0);
    }

    pub(crate) fn begin_statement(&mut self) {
        (self.held, self.answer) = (0, 0);
    }

    /// The transaction is over: what it took is free, or among the tables' bytes.
    pub(crate) fn end_transaction(&mut self, meter: &Meter) {
        self.begin_transaction();
        if std::mem::take(&mut self.told) > 0 {
            meter.sessions[usize::from(self.worker.0)].store(0, Ordering::Relaxed);
        }
    }

    /// Whether it has been more than a step since this was asked last.
    pub(crate) fn was_much(&mut self) -> bool {
        std::mem::take(&mut self.was_much)
    }

    #[inline]
    pub(crate) fn stores(&mut self, bytes: usize) {
        self.stored += bytes as u64;
        self.since += bytes as u64;
    }

    pub(crate) fn holds(&mut self, bytes: usize) {
        self.held = bytes as u64;
    }

    pub(crate) fn answers(&mut self, bytes: usize) {
        self.answer += bytes as u64;
    }

    fn total(&self) -> u64 {
        self.stored + self.held + self.answer
    }

    /// Whether it has grown by a step.
    #[inline]
    pub(crate) fn is_due(&self, meter: &Meter) -> bool {
        self.since >= meter.step || self.total() >= self.told.saturating_add(meter.step)
    }
}

impl Meter {
    /// 0: no budget.
    pub(crate) fn new(budget: u64) -> Meter {
        let budget = if budget == 0 { u64::MAX } else { budget };
        Meter {
            budget,
            step: (budget / STEPS).clamp(1, STEP_MAX),
            used: AtomicU64::new(0),
            sessions: (0..WORKERS_MAX).map(|_| AtomicU64::new(0)).collect(),
            kept: Arc::default(),
            kept_in_sum: AtomicU64::new(0),
            log: OnceLock::new(),
        }
    }

    /// The budget, if there is one.
    pub(crate) fn budget(&self) -> Option<u64> {
        (self.budget < u64::MAX).then_some(self.budget)
    }

    /// What sessions take, as far as they have told, and keep.
    pub(crate) fn sessions(&self) -> u64 {
        self.statements() + self.kept.load(Ordering::Relaxed)
    }

    /// What is taken by the statements under way.
    fn statements(&self) -> u64 {
        self.sessions.iter().map(|s| s.load(Ordering::Relaxed)).sum()
    }

    /// Whether a statement that takes so much, and stores nothing, may have it whatever else is taken.
    fn is_little(&self, held: u64) -> bool {
        held <= self.budget / FREE && (held < self.step || self.statements() <= self.budget / FREE_TOGETHER)
    }

    /// Takes memory beyond a statement. 53200 where all of it is above the budget, and what is kept so not little.
    pub(crate) fn keep(&self, bytes: u64, tables: &SchemaVersion) -> Result<Kept> {
        let taken = self.keep_anyway(bytes);
        let (kept, used) = (self.kept.load(Ordering::Relaxed), self.sum(tables));
        if used > self.budget && kept > self.budget / FREE {
            Err(self.out_of_memory(used))
        } else {
            Ok(taken)
        }
    }

    /// The same for what cannot be refused any more: whoever comes next finds it taken.
    pub(crate) fn keep_anyway(&self, bytes: u64) -> Kept {
        self.kept.fetch_add(bytes, Ordering::Relaxed);
        Kept { all: self.kept.clone(), bytes }
    }

    /// What somebody holds beyond statements goes from so many bytes to so many. 53200, where it is `refusable`, if
    /// all of it is above the budget, and what is held so not little: then it stays as it was.
    pub(crate) fn hold<S: std::ops::Deref<Target = Arc<SchemaVersion>>>(
        &self,
        before: u64,
        now: u64,
        refusable: bool,
        tables: impl FnOnce() -> S,
    ) -> Result<()> {
        let Some(more) = now.checked_sub(before) else {
            self.kept.fetch_sub(before - now, Ordering::Relaxed);
            return Ok(());
        };
        let kept = self.kept.fetch_add(more, Ordering::Relaxed) + more;
        if !refusable || self.budget == u64::MAX {
            return Ok(());
        }
        // Adding up takes its time where there are many tables: not while that can make no difference.
        let used = self.used.load(Ordering::Relaxed);
        let since = kept.saturating_sub(self.kept_in_sum.load(Ordering::Relaxed));
        if used > 0 && used.saturating_add(since) < self.budget / 4 * 3 {
            return Ok(());
        }
        let used = self.sum(&tables());
        if used > self.budget && kept > self.budget / FREE {
            self.kept.fetch_sub(more, Ordering::Relaxed);
            return Err(self.out_of_memory(used));
        }
        Ok(())
    }

    /// What this log has in memory counts from now on.
    pub(crate) fn count_log(&self, log: &Arc<Log>) {
        let _ = self.log.set(log.clone());
    }

    /// What has not been written to the log yet.
    pub(crate) fn log_buffers(&self) -> u64 {
        self.log.get().map_or(0, |log| log.buffered_bytes())
    }

    /// Whether there was nothing left when somebody looked last.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.budget
    }

    /// What of the budget was left when somebody looked last.
    pub(crate) fn left(&self) -> u64 {
        self.budget - self.used.load(Ordering::Relaxed).min(self.budget)
    }

    /// Adds up what everything takes.
    pub(crate) fn sum(&self, tables: &SchemaVersion) -> u64 {
        self.kept_in_sum.store(self.kept.load(Ordering::Relaxed), Ordering::Relaxed);
        let used = tables.memory().bytes() + self.sessions() + self.log_buffers();
        self.used.store(used, Ordering::Relaxed);
        used
    }

    #[cold]
    #[inline(never)]
    fn tell(&self, share: &mut Share, tables: &SchemaVersion) -> u64 {
        (share.told, share.since, share.was_much) = (share.total(), 0, true);
        self.sessions[usize::from(share.worker.0)].store(share.told, Ordering::Relaxed);
        let used = self.sum(tables);
        if used <= self.budget {
            return used;
        }
        // What was deleted counts until it is free.
        planaria_storage::reclaim::collect();
        self.sum(tables)
    }

    /// For a statement that stores a row. 53200 where all of it is above the budget.
    pub(crate) fn weigh_stored(&self, share: &mut Share, tables: &SchemaVersion) -> Result<()> {
        let used = self.tell(share, tables);
        if used > self.budget { Err(self.out_of_memory(used)) } else { Ok(()) }
    }

    /// For what a statement computes with. 53200 where all of it is above the budget, and this not little.
    pub(crate) fn weigh(&self, share: &mut Share, tables: &SchemaVersion) -> Result<()> {
        let used = self.tell(share, tables);
        if used > self.budget && !self.is_little(share.held + share.answer) {
            Err(self.out_of_memory(used))
        } else {
            Ok(())
        }
    }

    /// For what a statement is about to make, having this much with it. 53200 where there is no room for that, and
    /// it is not little.
    pub(crate) fn admit(&self, held: u64, worker: WorkerId, tables: &SchemaVersion) -> Result<()> {
        if self.is_little(held) {
            return Ok(());
        }
        // What it has told so far is part of it.
        let told = self.sessions[usize::from(worker.0)].load(Ordering::Relaxed);
        let used = self.sum(tables).saturating_add(held.saturating_sub(told));
        if used > self.budget { Err(self.out_of_memory(used)) } else { Ok(()) }
    }

    #[cold]
    fn out_of_memory(&self, used: u64) -> Error {
        let megabytes = |bytes: u64| (bytes as f64 / f64::from(1 << 20) * 10.0).round() / 10.0;
        Error::new(SqlState::OUT_OF_MEMORY, "out of memory")
            .with_detail(format!(
                "The database would take {} MB of its memory budget of {} MB.",
                megabytes(used),
                megabytes(self.budget)
            ))
            .with_hint("Delete rows, split the statement, or raise memory_budget.")
    }
}

/// 22023 where more is to be claimed than the database may take.
pub(crate) fn check_reserve(bytes: u64, budget: u64) -> Result<()> {
    if budget == 0 || bytes <= budget {
        return Ok(());
    }
    let message = format!("memory_reserve ({bytes} bytes) is more than memory_budget ({budget} bytes)");
    let hint = "Lower memory_reserve, or raise memory_budget.";
    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).with_hint(hint))
}

/// Claims memory for a database that is open. 53200 where there is not so much: the system itself would say so by ending a process.
pub(crate) fn claim(bytes: u64) -> Result<Option<planaria_storage::Claim>> {
    if bytes == 0 {
        return Ok(None);
    }
    if let Some(free) = [machine_bytes("MemAvailable:"), group_bytes(free_in)].into_iter().flatten().min()
        && bytes > free
    {
        let message = format!("{} MiB of memory cannot be claimed: {} MiB are free", bytes >> 20, free >> 20);
        return Err(Error::new(SqlState::OUT_OF_MEMORY, message).with_hint("Lower memory_reserve."));
    }
    planaria_storage::claim(bytes).map(Some)
}

/// Four fifths of the memory that this process can have; no budget where that cannot be found out.
pub(crate) fn default_budget() -> u64 {
    let limits = [machine_bytes("MemTotal:"), group_bytes(limit_of)];
    limits.into_iter().flatten().min().map_or(0, |bytes| bytes / 5 * 4)
}

fn machine_bytes(what: &str) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(what))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn group_file(group: &Path, file: &str) -> Option<u64> {
    std::fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()
}

fn limit_of(group: &Path) -> Option<u64> {
    group_file(group, "memory.max")
}

fn free_in(group: &Path) -> Option<u64> {
    Some(limit_of(group)?.saturating_sub(group_file(group, "memory.current")?))
}

/// The lowest of what is so of the control groups (version 2) that this process is in.
fn group_bytes(of: impl Fn(&Path) -> Option<u64>) -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = text.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    let own = root.join(path);
    let groups = own.ancestors().take_while(|group| group.starts_with(root));
    groups.filter_map(of).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_due_when_it_has_grown_by_a_step() {
        let meter = Meter::new(256 << 10);
        let mut share = Share::new(WorkerId(3));
        assert_eq!((meter.budget(), meter.step), (Some(256 << 10), 1 << 10));
        share.holds(1000);
        assert!(!share.is_due(&meter));
        share.stores(24);
        assert!(share.is_due(&meter));
        share.told = share.total();
        share.since = 0;
        assert!(!share.is_due(&meter));
        share.end_transaction(&meter);
        share.stores(1023);
        assert!(!share.is_due(&meter), "many transactions together");
        share.end_transaction(&meter);
        share.stores(1);
        assert!(share.is_due(&meter), "make a step, too");
    }

    #[test]
    fn what_is_kept_counts_until_it_is_let_go() {
        let meter = Meter::new(1 << 20);
        let (first, second) = (meter.keep_anyway(300), meter.keep_anyway(7));
        assert_eq!(meter.sessions(), 307);
        drop(first);
        assert_eq!(meter.sessions(), 7);
        drop(second);
        assert_eq!((meter.sessions(), meter.log_buffers()), (0, 0));
    }

    #[test]
    fn no_budget_is_never_full() {
        let meter = Meter::new(0);
        meter.used.store(u64::MAX - 1, Ordering::Relaxed);
        assert!(meter.budget().is_none() && !meter.is_full());
        assert!(default_budget() > 1 << 26 || default_budget() == 0);
    }
}
