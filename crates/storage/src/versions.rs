//! How the versions of a row are stored: a parameter of a table, named by the header that its records carry
//! ([`Header::Versions`]).
//!
//! ```text
//!                     newest image              those before it, while a reader needs them
//!  [`Single`]         in the record, in place   copies beside the table, by record (intervals)
//!  [`Append`]         a block behind it         the blocks of before, newest to oldest
//! ```
//!
//! The record is the anchor of a row's life: indexes lead to it and not to versions, so that a new version changes no
//! index (*logical pointers*, by an identifier of the tuple; Wu, *Transaction Management on Multicores*, NUS 2017,
//! §5.6.1). Keys that a row gives up are [`old`](crate::old) whatever the storage: indexes have one version.
//!
//! A storage answers for memory: whatever a protocol does, nobody reads a block that was freed. What a protocol must do so
//! that readers find the right version stands with each method. Snapshots decide which versions are needed; a storage
//! is told.

#![allow(unsafe_code)] // what is retired, and when

mod append;
mod single;

pub use append::{Append, AppendWith};
pub use single::Single;

use crate::heap::Heap;
use crate::old::{Forgetting, OldUse};
use crate::reclaim::{Participant, Pinned};
use crate::record::{Header, RecordPtr, RecordRef};
use planaria_base::CommitTs;
use planaria_base::sync::atomic::AtomicU64;

/// Whether somebody may need a version, from its begin to its end.
pub type Needed<'n> = &'n dyn Fn(CommitTs, CommitTs) -> bool;

/// How the versions of a table's rows are stored; one value for each table. See the module's head.
pub trait VersionStorage: Sized + Send + Sync + 'static {
    /// Its name.
    const NAME: &'static str;
    /// Whether a version stays as it is while a commit puts the next one in its place. Then a reader that meets a record
    /// which is locked by somebody who comes later than it in the order reads on ([`Header::changes_after`]).
    const INTACT: bool;
    /// What whoever keeps versions holds meanwhile.
    type Keeper<'k>;

    /// Of a table without rows.
    fn new() -> Self;

    /// Words behind the head of a new record for an image of so many words.
    fn room(words: usize) -> usize;

    /// The newest image, as atomics; empty if there is none yet.
    fn newest<H: Header>(record: RecordRef<'_, H>) -> &[AtomicU64];

    /// Replaces the newest image without making a version: for whoever is alone with the record.
    fn overwrite<H: Header>(
        &self,
        record: RecordRef<'_, H>,
        image: &[u64],
        heap: &Heap,
        worker: usize,
        pin: Pinned<'_>,
    );

    /// The commit at `ts`, which holds the record's lock, makes an image the newest one. The one before is gone, unless it
    /// has been [kept](VersionStorage::keep).
    fn install<H: Header>(
        &self,
        record: RecordRef<'_, H>,
        image: &[u64],
        ts: CommitTs,
        heap: &Heap,
        worker: usize,
        pin: Pinned<'_>,
    );

    /// Begins to [keep](VersionStorage::keep) versions for one commit, that of a worker; `None` if it would have to wait.
    fn try_keeper<'k>(&'k self, worker: usize, pin: Pinned<'k>) -> Option<Self::Keeper<'k>>;

    /// Keeps the newest version, which ends by the commit that calls this and holds the record's lock. Older ones that are
    /// not `needed` any more may go. Whoever calls this sees to it that no reader comes meanwhile that needs them.
    fn keep<H: Header>(
        &self,
        keeper: &mut Self::Keeper<'_>,
        record: RecordRef<'_, H>,
        lifetime: (CommitTs, CommitTs),
        needed: Needed<'_>,
        worker: usize,
        pin: Pinned<'_>,
    );

    /// The image that a record had at a moment. The newest one need not be found, unless the storage is
    /// [`INTACT`](VersionStorage::INTACT).
    fn find<'p, H: Header>(
        &self,
        record: RecordRef<'p, H>,
        at: CommitTs,
        pin: Pinned<'p>,
    ) -> Option<&'p [u64]>;

    /// Calls `f` with begin, end and image of everything that was kept of a record, in any order.
    fn for_each<H: Header>(
        &self,
        record: RecordRef<'_, H>,
        pin: Pinned<'_>,
        f: impl FnMut(CommitTs, CommitTs, &[u64]),
    );

    /// Frees all that a record leads to, but not the record.
    ///
    /// # Safety
    /// As for [`Table::free`](crate::Table::free).
    unsafe fn free<H: Header>(record: RecordPtr<H>);

    /// Frees a record and all that it leads to when no reader can hold it any more.
    ///
    /// # Safety
    /// As for [`Table::retire`](crate::Table::retire).
    unsafe fn retire<H: Header>(&self, record: RecordPtr<H>, pin: Pinned<'_>);

    /// What was kept takes.
    fn memory(&self) -> OldUse;

    /// Whether there is nothing to forget.
    fn is_empty(&self) -> bool;

    /// Nobody keeps a version meanwhile, and those that are there end at `until` at the latest.
    fn seal(&self, until: CommitTs);

    /// Forgets what is not needed, as far as that is to be had at little cost. Calls `rest` now and then, with nothing
    /// pinned, and ends where that says `false`; whether it came to the end.
    fn sweep<H: Header>(
        &self,
        participant: &mut Participant,
        what: &Forgetting<'_>,
        rest: &mut dyn FnMut() -> bool,
    ) -> bool;
}
