//! The open snapshots of an engine, for people.

use planaria_base::Epoch;
use planaria_base::sync::Mutex;
use std::collections::BTreeMap;

/// An open snapshot, for people.
#[derive(Clone, Debug)]
pub(crate) struct SnapshotInfo {
    /// That of its moment.
    pub(crate) epoch: Epoch,
    /// Microseconds since 2000-01-01 UTC.
    pub(crate) opened: i64,
    /// Number of the session that reads it; 0 for none.
    pub(crate) session: i32,
}

/// The open snapshots of an engine, for people.
#[derive(Default)]
pub(crate) struct SnapshotList {
    open: Mutex<(u64, BTreeMap<u64, SnapshotInfo>)>,
}

impl SnapshotList {
    pub(crate) fn add(&self, info: SnapshotInfo) -> u64 {
        let (last, open) = &mut *self.open.lock();
        *last += 1;
        open.insert(*last, info);
        *last
    }

    pub(crate) fn remove(&self, number: u64) {
        self.open.lock().1.remove(&number);
    }

    /// All of them, oldest first.
    pub(crate) fn all(&self) -> Vec<SnapshotInfo> {
        self.open.lock().1.values().cloned().collect()
    }
}
