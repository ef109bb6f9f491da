//! What a recovery did, and how far it has come.

use std::time::Duration;

/// How far a replay has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Bytes of log done.
    pub bytes_done: u64,
    /// Bytes of log there are.
    pub bytes_total: u64,
    /// Transactions done.
    pub transactions: u64,
    /// Transactions read and planned, `transactions` included: schemes that plan are ahead there.
    pub planned: u64,
}

/// What a recovery did. The times of the phases are sums over all threads (PACMAN, figure 20).
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Transactions replayed.
    pub transactions: u64,
    /// Of these, calls run again, whole or in pieces.
    pub calls: u64,
    /// Of these, transactions replayed with nobody else at work.
    pub barriers: u64,
    /// Transactions of an epoch that did not become durable, redone and undone again; not among
    /// `transactions`.
    pub undone: u64,
    /// Bytes of log read.
    pub log_bytes: u64,
    /// Wall-clock time for reading and replaying.
    pub replay: Duration,
    /// The longest single transaction of those that ran whole; of a group that ran under one pin, the mean.
    pub longest_transaction: Duration,
    /// Threads that replayed.
    pub threads: usize,
    /// Reading and decoding the log.
    pub load: Duration,
    /// Working out what is to be done, and in which order.
    pub plan: Duration,
    /// Putting it into the tables.
    pub execute: Duration,
    /// Threads waiting for work that was not ready.
    pub wait: Duration,
    /// Building indexes, where that is a phase of its own.
    pub index: Duration,
    /// Every task, if [`crate::Options::record_tasks`] asks for it; in the order of the tasks' ids.
    pub tasks: Vec<TaskRecord>,
}

/// What a task does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskKind {
    /// Reads a batch of the log.
    Load,
    /// Works out the pieces of a chunk of transactions.
    Plan,
    /// Runs the pieces of one class and partition of a segment.
    Execute,
    /// Runs transactions, one after the other, with nobody else at work.
    Barrier,
    /// Brings indexes in line.
    Index,
}

impl TaskKind {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            TaskKind::Load => "load",
            TaskKind::Plan => "plan",
            TaskKind::Execute => "execute",
            TaskKind::Barrier => "barrier",
            TaskKind::Index => "index",
        }
    }
}

/// A task that ran: a node of the graph that simulations replay.
#[derive(Clone, Debug)]
pub struct TaskRecord {
    /// Identity: its place in the list.
    pub id: u32,
    /// What it did.
    pub kind: TaskKind,
    /// Run of transactions between two barriers, counted from 0.
    pub segment: u32,
    /// Class of tables; 0 where it means nothing.
    pub class: u32,
    /// Partition within the class, or chunk within the segment.
    pub partition: u32,
    /// What it cost. Of `regrow`'s tasks the time that their threads ran.
    pub nanoseconds: u64,
    /// Tasks that had to be done before; all with smaller ids.
    pub predecessors: Vec<u32>,
}
