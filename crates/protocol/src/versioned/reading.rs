//! Transactions that say beforehand that they write nothing, where the rules let them be [readers](Rules::READERS).
//!
//! Such a one reads as of its begin, by the reader of snapshots: it remembers nothing, and has nothing to validate. It sees
//! all that has drawn its place before it began, so nothing that anybody has been told is missing.

use super::*;
use crate::snapshot::{Moment, Opened, ReaderTxn, SnapshotReader};

/// A worker's reader, made when it is asked for first.
#[derive(Default)]
pub(super) struct Reading {
    txn: Option<Box<ReaderTxn>>,
    /// While it reads.
    moment: Option<Opened>,
}

impl Reading {
    #[inline]
    pub(super) fn is_on(&self) -> bool {
        self.moment.is_some()
    }

    pub(super) fn moment(&self) -> Option<CommitTs> {
        self.moment.map(|moment| moment.at)
    }
}

impl<R: Rules> Txn<R> {
    /// See [`crate::SnapshotSource::only_reads`].
    pub(super) fn only_reads(&mut self, snapshots: &Snapshots, clock: &CommitClock) -> bool {
        let nothing = self.accesses.is_empty() && self.foot.writes.is_empty() && self.foot.nodes.is_empty();
        if self.claiming || self.alone || !nothing || self.cursors.are_open() || !self.is_unheld() {
            return false;
        }
        if !self.reading.is_on() {
            let worker = WorkerId(self.foot.worker as u16);
            let reader = SnapshotReader::<R::Header>::new();
            let txn = self.reading.txn.get_or_insert_with(|| Box::new(reader.worker(worker)));
            let moment = snapshots.announce(clock, Moment::Now);
            txn.read_at(moment.at);
            reader.begin(txn);
            self.reading.moment = Some(moment);
        }
        true
    }

    /// Whether no claims of an attempt before are held or waited for.
    fn is_unheld(&self) -> bool {
        self.held.is_empty() && self.blocked.is_none()
    }

    /// The reader, if the transaction is one.
    #[inline]
    pub(super) fn reader(&mut self) -> Option<(SnapshotReader<R::Header>, &mut ReaderTxn)> {
        if !R::READERS || !self.reading.is_on() {
            return None;
        }
        self.reading.txn.as_deref_mut().map(|txn| (SnapshotReader::new(), txn))
    }

    /// Whether the transaction is a reader.
    #[inline]
    pub(super) fn is_reader(&self) -> bool {
        R::READERS && self.reading.is_on()
    }

    /// See [`crate::Effects::newest_met`], of a reader.
    pub(super) fn newest_read(&self, tables: &TableSet<R::Header>) -> Option<CommitTs> {
        self.reading.txn.as_deref()?.newest_met(tables)
    }

    /// What was kept for it may go.
    #[cold]
    pub(super) fn end_reading(&mut self, tables: &TableSet<R::Header>) {
        if let Some((reader, txn)) = self.reader() {
            reader.abort(txn, tables);
        }
        self.leave_moment();
    }

    fn leave_moment(&mut self) {
        if let Some(moment) = self.reading.moment.take() {
            self.dated.snapshots.close_later(moment);
        }
    }
}
