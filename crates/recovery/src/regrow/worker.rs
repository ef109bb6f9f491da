//! A thread's own: machine, transaction, buffers, and where its time went.

use super::kernel::{Banks, Scratch};
use super::segment::Descriptor;
use super::sort::Sorter;
use planaria_base::clock::CommitClock;
use planaria_base::{CommitTs, Epoch, WorkerId};
use planaria_exec::{Machine, Slot};
use planaria_log::ChangeBuf;
use planaria_protocol::Protocol;
use planaria_protocol::serial::SerialOn;
use planaria_storage::{Header, KeyBuf, TableSet};
use std::collections::VecDeque;
use std::time::Duration;

/// Time by phase.
#[derive(Clone, Copy, Default)]
pub(super) struct Times {
    pub load: Duration,
    pub plan: Duration,
    pub execute: Duration,
    pub wait: Duration,
}

/// Execution in place, of what cannot fail but for good.
pub(super) type Sweep<H> = SerialOn<H, false>;

/// See the module's head. Each has a protocol of its own, so that none waits for another: they own the
/// rows that they change.
pub(super) struct Worker<H: Header> {
    pub protocol: Sweep<H>,
    pub txn: <Sweep<H> as Protocol>::Txn,
    clock: CommitClock,
    /// What kernels run in.
    pub scratch: Scratch,
    pub banks: Banks,
    /// Runs what has no kernel.
    pub machine: Machine,
    pub slots: Vec<Slot>,
    pub key: KeyBuf,
    pub change: ChangeBuf,
    pub image: Vec<u64>,
    /// New images of rows that were taken out, in the order in which they will be put in.
    pub taken: VecDeque<Vec<u64>>,
    pub order: Vec<Descriptor>,
    pub spare: Vec<Descriptor>,
    pub sorter: Sorter,
    /// The transaction being replayed, for errors.
    pub current: CommitTs,
    pub times: Times,
}

impl<H: Header> Worker<H> {
    pub(super) fn new(number: usize) -> Worker<H> {
        let protocol = Sweep::new();
        Worker {
            txn: protocol.worker(WorkerId(number as u16)),
            protocol,
            clock: CommitClock::new(Epoch(1)),
            scratch: Scratch::default(),
            banks: Banks::default(),
            machine: Machine::new(),
            slots: Vec::new(),
            key: KeyBuf::new(),
            change: ChangeBuf::default(),
            image: Vec::new(),
            taken: VecDeque::new(),
            order: Vec::new(),
            spare: Vec::new(),
            sorter: Sorter::default(),
            current: CommitTs(0),
            times: Times::default(),
        }
    }

    /// Ends the open transaction; what it did stays.
    pub(super) fn end_transaction(&mut self, tables: &TableSet<H>) {
        let committed = self.protocol.commit(&mut self.txn, tables, &self.clock);
        debug_assert!(committed.is_ok(), "nobody else is there to conflict with");
    }

    /// After an error: what the open transaction did is taken back, so that it may be dropped.
    pub(super) fn give_up(&mut self, tables: &TableSet<H>) {
        self.protocol.abort(&mut self.txn, tables);
    }
}
