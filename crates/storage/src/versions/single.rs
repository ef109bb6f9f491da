//! One image a row, in its record: what a commit changes it changes in place. What a reader needs of the images before is
//! copied beside the table ([`crate::old`], `images`), by who is about to change them, while there are such readers.
//!
//! It adds nothing to a record.

#![allow(unsafe_code)] // frees what it is told to

use super::{Needed, VersionStorage};
use crate::heap::Heap;
use crate::old::{Forgetting, Keeper, OldImages, OldUse};
use crate::reclaim::{Participant, Pinned};
use crate::record::{self, Header, RecordPtr, RecordRef};
use planaria_base::CommitTs;
use planaria_base::sync::atomic::{AtomicU64, Ordering};

/// See the module's head.
pub struct Single {
    old: OldImages,
}

impl VersionStorage for Single {
    const NAME: &'static str = "single";
    const INTACT: bool = false;
    type Keeper<'k> = Keeper<'k>;

    fn new() -> Single {
        Single { old: OldImages::new() }
    }

    #[inline]
    fn room(words: usize) -> usize {
        words
    }

    #[inline]
    fn newest<H: Header>(record: RecordRef<'_, H>) -> &[AtomicU64] {
        record.only_image()
    }

    #[inline]
    fn overwrite<H: Header>(
        &self,
        record: RecordRef<'_, H>,
        image: &[u64],
        heap: &Heap,
        worker: usize,
        pin: Pinned<'_>,
    ) {
        record.overwrite(image, heap, worker, pin);
    }

    #[inline]
    fn install<H: Header>(
        &self,
        record: RecordRef<'_, H>,
        image: &[u64],
        _ts: CommitTs,
        heap: &Heap,
        worker: usize,
        pin: Pinned<'_>,
    ) {
        record.overwrite(image, heap, worker, pin);
    }

    #[inline]
    fn try_keeper<'k>(&'k self, worker: usize, pin: Pinned<'k>) -> Option<Keeper<'k>> {
        self.old.try_keeper(pin, worker)
    }

    #[inline]
    fn keep<H: Header>(
        &self,
        keeper: &mut Keeper<'_>,
        record: RecordRef<'_, H>,
        lifetime: (CommitTs, CommitTs),
        _needed: Needed<'_>,
        _worker: usize,
        _pin: Pinned<'_>,
    ) {
        let words = record.only_image().iter().map(|word| word.load(Ordering::Relaxed));
        keeper.put(record.ptr().to_word(), lifetime, words);
    }

    fn find<'p, H: Header>(
        &self,
        record: RecordRef<'p, H>,
        at: CommitTs,
        pin: Pinned<'p>,
    ) -> Option<&'p [u64]> {
        self.old.find(pin, record.ptr().to_word(), at)
    }

    fn for_each<H: Header>(
        &self,
        record: RecordRef<'_, H>,
        pin: Pinned<'_>,
        f: impl FnMut(CommitTs, CommitTs, &[u64]),
    ) {
        self.old.for_each(pin, record.ptr().to_word(), f);
    }

    #[inline]
    unsafe fn free<H: Header>(record: RecordPtr<H>) {
        // SAFETY: as promised.
        unsafe { record::free_overflow(record) }
    }

    #[inline]
    unsafe fn retire<H: Header>(&self, record: RecordPtr<H>, pin: Pinned<'_>) {
        // SAFETY: as promised.
        unsafe { record::retire(record, pin) }
    }

    fn memory(&self) -> OldUse {
        self.old.memory()
    }

    fn is_empty(&self) -> bool {
        self.old.is_empty()
    }

    fn seal(&self, until: CommitTs) {
        self.old.seal(until);
    }

    fn sweep<H: Header>(
        &self,
        participant: &mut Participant,
        what: &Forgetting<'_>,
        rest: &mut dyn FnMut() -> bool,
    ) -> bool {
        self.old.sweep(participant, what, rest)
    }
}
