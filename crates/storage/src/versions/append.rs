//! Append-only storage, newest to oldest: each commit that changes a row puts a new block behind its record, and the block
//! of before stays behind that for as long as a reader needs it.
//!
//! **Paper.** Y. Wu, *Transaction Management on Multicores* (NUS 2017), §5.4.1 (append-only, N2O), §5.5.2
//! (transaction-level collection), §5.6.1 (logical pointers: the record stands between indexes and versions).
//!
//! ```text
//!  | header H | descriptor |
//!                  '-> | class, length | begin | end = never | older | image .. |
//!                                                                '-> | .. | begin | end | older | image .. | -> ..
//! ```
//!
//! 1. A version was the row from `begin` to `end`. It is written before it can be found, and then never again, but for
//!    `end` and `older`. So whoever reads it may take its time, whatever becomes of the record.
//! 2. *Changing a chain* takes the latch, a bit of the descriptor: for a few stores, by the commit that holds the record's
//!    lock, or by whoever collects. Reading takes nothing.
//! 3. *Reading as of S* goes from the newest version to the first with `begin <= S`. What is unlinked meanwhile still leads
//!    on, and is retired, so that whoever is pinned ends where it would have.
//! 4. *What stays.* Where no reader needs the version that a commit replaces ([`VersionStorage::keep`]), it is unlinked
//!    and retired at once: without readers a row has one version. Otherwise the commit also takes out those behind it that
//!    no reader needs any more: so beside a long reader a row has as many versions as there are open moments, and one.
//! 5. *Collection* is for what no commit comes by again. A record with older versions, or with one that is about to be
//!    replaced and was kept, is *listed*, once, in the list of the worker whose commit has kept one first: a transaction's list of what it has superseded, for all of its table. Whoever
//!    collects ([`VersionStorage::sweep`]) looks at what is there. What the oldest reader needs, and nobody else, is set
//!    *aside* until that reader has gone, or a commit keeps more of the row.
//! 6. A record that is listed is not freed: its retirement is left to whoever takes it from the list (*orphaned*).

#![allow(unsafe_code)] // blocks of varying length, and chains of them

use super::{Needed, VersionStorage};
use crate::heap::{self, Heap};
use crate::old::{Forgetting, OldUse};
use crate::reclaim::{Participant, Pinned};
use crate::record::{self, CLASS_MASK, Header, RecordPtr, RecordRef, SHIFT, store};
use crossbeam_utils::CachePadded;
use planaria_base::CommitTs;
use planaria_base::sync::atomic::{AtomicU64, Ordering, Ordering::Relaxed};
use planaria_base::sync::model::Mutex;
use planaria_base::sync::{spin_hint, thread};
use std::collections::HashSet;
use std::ptr::NonNull;

/// In a descriptor: somebody is changing the chain.
const LATCHED: u64 = 0x200;
/// The record is in a list.
const LISTED: u64 = 0x400;
/// The record has left the indexes; nothing is installed any more.
const ORPHANED: u64 = 0x800;
/// Its list is that of those set aside. Whoever takes that back lists it again; what is left there counts for nothing.
const ASIDE: u64 = 0x1000;
const FLAGS: u64 = LATCHED | LISTED | ORPHANED | ASIDE;

/// The end of a version that nobody has replaced.
const NEVER: u64 = u64::MAX;

/// Workers that do not meet when they list.
const LANES: usize = if cfg!(loom) { 1 } else { 8 };
/// Records looked at under one pin.
const AT_A_TIME: usize = 256;
/// Looks at a latch before its holder may need the processor.
const SPINS_MAX: u32 = 128;

const UNHARMED: &str = "nobody panics while collecting";

/// The head of a version; its image stands behind it.
#[repr(C)]
struct Version {
    /// The class of its block, and from [`SHIFT`] on the words of its image.
    size: u64,
    begin: CommitTs,
    end: AtomicU64,
    /// The address of an older one, or 0.
    older: AtomicU64,
}

const HEAD_WORDS: usize = size_of::<Version>() / size_of::<u64>();

type Link = Option<NonNull<Version>>;

fn link(address: u64) -> Link {
    NonNull::new(std::ptr::with_exposed_provenance_mut(address as usize))
}

fn address(version: Link) -> u64 {
    version.map_or(0, |version| version.as_ptr().expose_provenance() as u64)
}

impl Version {
    /// A version that nobody knows.
    fn make(heap: &Heap, worker: usize, image: &[u64], begin: CommitTs) -> NonNull<Version> {
        let block = heap.allocate(worker, HEAD_WORDS + image.len());
        let version = block.start.cast::<Version>();
        let size = u64::from(block.class) | (image.len() as u64) << SHIFT;
        let (end, older) = (AtomicU64::new(NEVER), AtomicU64::new(0));
        // SAFETY: a fresh block of that many words, as aligned as they are.
        unsafe {
            version.write(Version { size, begin, end, older });
            let words = block.start.add(HEAD_WORDS);
            #[cfg(loom)]
            record::make_atomics(words, image.len());
            store(words.cast(), image);
        }
        assert!(address(NonNull::new(version)) >> (64 - SHIFT) == 0, "user addresses have 48 bits");
        NonNull::new(version).expect("an allocation")
    }

    fn words(&self) -> usize {
        (self.size >> SHIFT) as usize
    }

    fn class(&self) -> u8 {
        (self.size & CLASS_MASK) as u8
    }

    fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    /// Whether it was kept.
    fn is_old(&self) -> bool {
        self.end() != NEVER
    }

    /// The address of the next older one.
    fn older(&self) -> u64 {
        self.older.load(Ordering::Acquire)
    }

    fn bytes(&self) -> u64 {
        ((HEAD_WORDS + self.words()) * size_of::<u64>()) as u64
    }
}

/// # Safety
/// `version` was found in the chain of a record that the caller may look at for `'p`, under its pin; or the caller alone
/// knows it.
unsafe fn show<'p>(version: NonNull<Version>) -> &'p Version {
    // SAFETY: versions are published by the release of a descriptor or of a link, and freed when everybody has unpinned who was
    // pinned as they were unlinked.
    unsafe { version.as_ref() }
}

/// # Safety
/// As for [`show`].
unsafe fn image_of<'p>(version: NonNull<Version>) -> &'p [u64] {
    // SAFETY: that many words were written before the version could be found, and are not written again.
    unsafe {
        let words = version.as_ptr().add(1).cast::<u64>();
        std::slice::from_raw_parts(words, show(version).words())
    }
}

/// The newest version that a descriptor leads to.
fn newest_of(descriptor: u64) -> Link {
    link(descriptor >> SHIFT)
}

/// Frees a version when nobody can look at it any more.
///
/// # Safety
/// Nobody comes to it any more but who is pinned now; retired once; its heap is alive.
unsafe fn retire_version(version: NonNull<Version>, pin: Pinned<'_>) {
    unsafe fn free(block: *mut u8) {
        // SAFETY: the deleter runs once for the retired block.
        unsafe { Heap::free_retired(block.cast(), (*block.cast::<Version>()).class()) }
    }
    // SAFETY: as promised.
    unsafe { Heap::retire(version.as_ptr().cast(), show(version).class(), pin, free) }
}

/// Takes the latch; the descriptor as it was.
fn latch<H>(record: RecordRef<'_, H>) -> u64 {
    let descriptor = &record.head().descriptor;
    let mut looks = 0u32;
    loop {
        let now = descriptor.load(Relaxed);
        let taken = || descriptor.compare_exchange(now, now | LATCHED, Ordering::Acquire, Relaxed);
        if now & LATCHED == 0 && taken().is_ok() {
            return now;
        }
        looks += 1;
        if looks > SPINS_MAX { thread::yield_now() } else { spin_hint() }
    }
}

/// Gives the latch back: the descriptor is this from now on.
fn unlatch<H>(record: RecordRef<'_, H>, descriptor: u64) {
    debug_assert!(descriptor & LATCHED == 0);
    record.head().descriptor.store(descriptor, Ordering::Release);
}

/// Append-only storage. The parameters switch off, for tests that must notice, keeping what is needed, and stopping at the
/// first version that is old enough.
pub struct AppendWith<const KEEPS: bool, const STOPS: bool> {
    versions: AtomicU64,
    bytes: AtomicU64,
    /// Records in lists.
    listed: AtomicU64,
    /// Addresses of records to be looked at.
    lanes: Box<[CachePadded<Mutex<Vec<u64>>>]>,
    /// Had by whoever collects.
    aside: Mutex<Aside>,
}

/// Append-only storage as it should be.
pub type Append = AppendWith<true, true>;

/// Records of which the oldest reader needs a version and nobody else needs another.
#[derive(Default)]
struct Aside {
    records: HashSet<u64>,
    /// That reader's moment.
    oldest: CommitTs,
}

/// What became of a listed record.
enum Swept {
    /// It is in no list any more; or in another one.
    Done,
    /// Somebody else than the oldest reader needs a version, or is about to: whoever that is has it looked at again.
    Again,
    /// It has one old version, which the oldest reader needs.
    Aside,
}

impl<const KEEPS: bool, const STOPS: bool> AppendWith<KEEPS, STOPS> {
    fn list(&self, worker: usize, record: u64) {
        self.lanes[worker % self.lanes.len()].lock().expect(UNHARMED).push(record);
    }

    fn count(&self, version: &Version) {
        self.versions.fetch_add(1, Relaxed);
        self.bytes.fetch_add(version.bytes(), Relaxed);
    }

    fn discount(&self, version: &Version) {
        self.versions.fetch_sub(1, Relaxed);
        self.bytes.fetch_sub(version.bytes(), Relaxed);
    }

    /// The version that a record had at a moment.
    fn version_at<H>(record: RecordRef<'_, H>, at: CommitTs) -> Link {
        let mut next = newest_of(record.head().descriptor.load(Ordering::Acquire));
        while let Some(found) = next {
            // SAFETY: found in the record, under the pin for which the caller may look at it, as are those behind it.
            let version = unsafe { show(found) };
            next = link(version.older());
            if version.begin <= at && (STOPS || next.is_none()) {
                return (at.0 < version.end()).then_some(found);
            }
        }
        None
    }

    /// Takes what is not needed out of the chain behind a version. The latch is held.
    fn prune(&self, newest: NonNull<Version>, needed: Needed<'_>) -> Vec<NonNull<Version>> {
        let mut gone = Vec::new();
        // SAFETY: of the chain of a record that the caller looks at, as are those behind it: only who has the latch unlinks.
        let mut last = unsafe { show(newest) };
        while let Some(next) = link(last.older()) {
            // SAFETY: the same.
            let version = unsafe { show(next) };
            if KEEPS && needed(version.begin, CommitTs(version.end())) {
                last = version;
            } else {
                // Release: whoever comes by the shorter way finds what it leads to.
                last.older.store(version.older(), Ordering::Release);
                self.discount(version);
                gone.push(next);
            }
        }
        gone
    }

    /// Retires a record that is in no list, and its chain.
    ///
    /// # Safety
    /// As for [`VersionStorage::retire`], by whoever has made it an orphan, or has taken it from the list since.
    unsafe fn retire_all<H: Header>(&self, record: RecordPtr<H>, descriptor: u64, pin: Pinned<'_>) {
        let mut next = newest_of(descriptor);
        while let Some(version) = next {
            // SAFETY: of the chain; nobody changes that of an orphan, and it goes once.
            unsafe {
                let shown = show(version);
                if shown.is_old() {
                    self.discount(shown);
                }
                next = link(shown.older());
                retire_version(version, pin);
            }
        }
        // SAFETY: as promised.
        unsafe { record::retire_head(record, pin) }
    }

    /// `aside`: it was taken from those.
    fn sweep_record<H: Header>(
        &self,
        word: u64,
        aside: bool,
        what: &Forgetting<'_>,
        pin: Pinned<'_>,
    ) -> Swept {
        let record = RecordPtr::<H>::from_word(word);
        // SAFETY: it is in a list, and what is there is freed by who collects alone, once it is in none: see `sweep`.
        let shown = unsafe { record.deref(pin) };
        let descriptor = latch(shown);
        if aside && descriptor & ASIDE == 0 {
            unlatch(shown, descriptor);
            return Swept::Done;
        }
        let descriptor = descriptor & !ASIDE;
        if descriptor & ORPHANED != 0 {
            unlatch(shown, descriptor);
            self.listed.fetch_sub(1, Relaxed);
            // SAFETY: out of the indexes since it became an orphan, and out of the lists by now.
            unsafe { self.retire_all(record, descriptor, pin) };
            return Swept::Done;
        }
        let Some(newest) = newest_of(descriptor) else {
            unlatch(shown, descriptor);
            return Swept::Again;
        };
        let gone = self.prune(newest, what.needed);
        // SAFETY: the newest one of a record that is being looked at.
        let version = unsafe { show(newest) };
        if version.is_old() && !(KEEPS && (what.needed)(version.begin, CommitTs(version.end()))) {
            // A commit that is about to replace it has kept it for a reader who has gone.
            self.discount(version);
            version.end.store(NEVER, Ordering::Release);
        }
        let swept = match link(version.older()) {
            _ if version.is_old() => Swept::Again,
            None => Swept::Done,
            Some(only) => {
                // SAFETY: the same.
                let only = unsafe { show(only) };
                let oldest = only.begin <= what.oldest && what.oldest.0 < only.end();
                if oldest && only.older() == 0 { Swept::Aside } else { Swept::Again }
            }
        };
        match swept {
            Swept::Done => {
                unlatch(shown, descriptor & !LISTED);
                self.listed.fetch_sub(1, Relaxed);
            }
            Swept::Again => unlatch(shown, descriptor),
            Swept::Aside => unlatch(shown, descriptor | ASIDE),
        }
        for version in gone {
            // SAFETY: unlinked just now, under the latch.
            unsafe { retire_version(version, pin) };
        }
        swept
    }
}

impl<const KEEPS: bool, const STOPS: bool> VersionStorage for AppendWith<KEEPS, STOPS> {
    const NAME: &'static str = "append";
    const INTACT: bool = true;
    type Keeper<'k> = ();

    fn new() -> Self {
        AppendWith {
            versions: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            listed: AtomicU64::new(0),
            lanes: (0..LANES).map(|_| CachePadded::default()).collect(),
            aside: Mutex::new(Aside::default()),
        }
    }

    #[inline]
    fn room(_words: usize) -> usize {
        0
    }

    #[inline]
    fn newest<H: Header>(record: RecordRef<'_, H>) -> &[AtomicU64] {
        match newest_of(record.head().descriptor.load(Ordering::Acquire)) {
            None => &[],
            // SAFETY: found in the record; its words have been written before, by whom this has synchronized with.
            Some(version) => unsafe {
                let words = version.as_ptr().add(1).cast::<AtomicU64>();
                std::slice::from_raw_parts(words, show(version).words())
            },
        }
    }

    fn overwrite<H: Header>(
        &self,
        record: RecordRef<'_, H>,
        image: &[u64],
        heap: &Heap,
        worker: usize,
        pin: Pinned<'_>,
    ) {
        // Also here a block is never written again: somebody may be looking at it.
        let new = Version::make(heap, worker, image, CommitTs(0));
        self.put(record, new, false, pin);
    }

    #[inline]
    fn install<H: Header>(
        &self,
        record: RecordRef<'_, H>,
        image: &[u64],
        ts: CommitTs,
        heap: &Heap,
        worker: usize,
        pin: Pinned<'_>,
    ) {
        let new = Version::make(heap, worker, image, ts);
        self.put(record, new, true, pin);
    }

    /// Versions are behind the record, which the commit has read.
    #[inline]
    fn try_keeper<'k>(&'k self, _worker: usize, _pin: Pinned<'k>) -> Option<()> {
        Some(())
    }

    #[cold]
    fn keep<H: Header>(
        &self,
        (): &mut (),
        record: RecordRef<'_, H>,
        (begin, end): (CommitTs, CommitTs),
        needed: Needed<'_>,
        worker: usize,
        pin: Pinned<'_>,
    ) {
        let descriptor = latch(record);
        let (mut gone, mut flags) = (Vec::new(), descriptor & (LISTED | ASIDE));
        if let Some(newest) = newest_of(descriptor).filter(|_| descriptor & ORPHANED == 0) {
            // SAFETY: the newest one of a record that the caller looks at.
            let version = unsafe { show(newest) };
            // What replay has put in place, maybe after a commit of its own, has been there for ever to all who can read it.
            let begins = version.begin == begin || version.begin == CommitTs(0);
            debug_assert!(begins && begin < end, "{begin:?} is {:?}", version.begin);
            if !version.is_old() {
                version.end.store(end.0, Ordering::Release);
                self.count(version);
            }
            gone = self.prune(newest, needed);
            flags = LISTED;
        }
        unlatch(record, descriptor & !ASIDE | flags);
        if flags != descriptor & (LISTED | ASIDE) {
            if descriptor & LISTED == 0 {
                self.listed.fetch_add(1, Relaxed);
            }
            self.list(worker, record.ptr().to_word());
        }
        for version in gone {
            // SAFETY: unlinked just now, under the latch.
            unsafe { retire_version(version, pin) };
        }
    }

    fn find<'p, H: Header>(
        &self,
        record: RecordRef<'p, H>,
        at: CommitTs,
        _pin: Pinned<'p>,
    ) -> Option<&'p [u64]> {
        // SAFETY: found in the record, under the pin.
        Self::version_at(record, at).map(|version| unsafe { image_of(version) })
    }

    fn for_each<H: Header>(
        &self,
        record: RecordRef<'_, H>,
        _pin: Pinned<'_>,
        mut f: impl FnMut(CommitTs, CommitTs, &[u64]),
    ) {
        let mut next = newest_of(record.head().descriptor.load(Ordering::Acquire));
        while let Some(found) = next {
            // SAFETY: found in the record, under the pin, as are those behind it.
            let version = unsafe { show(found) };
            if version.is_old() {
                // SAFETY: the same.
                f(version.begin, CommitTs(version.end()), unsafe { image_of(found) });
            }
            next = link(version.older());
        }
    }

    unsafe fn free<H: Header>(record: RecordPtr<H>) {
        // SAFETY: nobody looks at it, so it is the caller's alone.
        let mut next = newest_of(unsafe { (*record.head()).descriptor.load(Relaxed) });
        while let Some(version) = next {
            // SAFETY: the same.
            unsafe {
                next = link(show(version).older());
                Heap::free(version.as_ptr().cast(), show(version).class());
            }
        }
    }

    unsafe fn retire<H: Header>(&self, record: RecordPtr<H>, pin: Pinned<'_>) {
        // SAFETY: as promised: it is retired here.
        let shown = unsafe { record.deref(pin) };
        let descriptor = latch(shown);
        unlatch(shown, descriptor & !ASIDE | ORPHANED);
        if descriptor & LISTED == 0 {
            // SAFETY: as promised.
            unsafe { self.retire_all(record, descriptor, pin) };
        } else if descriptor & ASIDE != 0 {
            self.list(0, record.to_word());
        }
    }

    fn memory(&self) -> OldUse {
        OldUse { versions: self.versions.load(Relaxed), bytes: self.bytes.load(Relaxed) }
    }

    fn is_empty(&self) -> bool {
        self.listed.load(Relaxed) == 0 && self.versions.load(Relaxed) == 0
    }

    /// Nothing is in generations here: each version says when it ended.
    fn seal(&self, _until: CommitTs) {}

    fn sweep<H: Header>(
        &self,
        participant: &mut Participant,
        what: &Forgetting<'_>,
        rest: &mut dyn FnMut() -> bool,
    ) -> bool {
        // One at a time: so what is in a list now is not freed but by this.
        let mut aside = self.aside.lock().expect(UNHARMED);
        let mut listed = Vec::new();
        for lane in &self.lanes {
            listed.append(&mut lane.lock().expect(UNHARMED));
        }
        // What was set aside and has been listed again is in one list only from here on, before it may be freed.
        if !aside.records.is_empty() {
            listed.iter().for_each(|record| {
                aside.records.remove(record);
            });
        }
        let mut records: Vec<(u64, bool)> = listed.into_iter().map(|record| (record, false)).collect();
        if what.oldest != aside.oldest {
            records.extend(aside.records.drain().map(|record| (record, true)));
        }
        aside.oldest = what.oldest;
        let mut again = Vec::new();
        while !records.is_empty() {
            {
                let guard = participant.guard();
                for (record, was_aside) in records.drain(records.len().saturating_sub(AT_A_TIME)..) {
                    match self.sweep_record::<H>(record, was_aside, what, guard.pinned()) {
                        Swept::Done => {}
                        Swept::Again => again.push(record),
                        Swept::Aside => {
                            aside.records.insert(record);
                        }
                    }
                }
            }
            if !rest() {
                break;
            }
        }
        let ended = records.is_empty();
        if !ended {
            // Those set aside are looked at the next time, too.
            aside.oldest = CommitTs(NEVER);
        }
        for (record, was_aside) in records {
            if was_aside {
                aside.records.insert(record);
            } else {
                again.push(record);
            }
        }
        self.lanes[0].lock().expect(UNHARMED).append(&mut again);
        ended
    }
}

impl<const KEEPS: bool, const STOPS: bool> AppendWith<KEEPS, STOPS> {
    /// Puts a version before all others. What it replaces is retired, unless it was kept, and is to stay.
    fn put<H: Header>(&self, record: RecordRef<'_, H>, new: NonNull<Version>, keeps: bool, pin: Pinned<'_>) {
        let descriptor = latch(record);
        if descriptor & ORPHANED != 0 {
            unlatch(record, descriptor);
            // SAFETY: made by the caller, and nobody else has seen it.
            unsafe { Heap::free(new.as_ptr().cast(), show(new).class()) };
            return;
        }
        let (mut gone, mut older) = (None, None);
        if let Some(newest) = newest_of(descriptor) {
            // SAFETY: the newest one of a record that the caller looks at.
            let version = unsafe { show(newest) };
            if version.is_old() && keeps {
                older = Some(newest);
            } else {
                if version.is_old() {
                    self.discount(version);
                }
                (gone, older) = (Some(newest), link(version.older()));
            }
        }
        // SAFETY: not in the chain yet, so it is the caller's alone.
        unsafe { show(new) }.older.store(address(older), Relaxed);
        debug_assert!(older.is_none() || descriptor & LISTED != 0, "what is kept is listed");
        unlatch(record, address(Some(new)) << SHIFT | descriptor & (CLASS_MASK | FLAGS));
        if let Some(gone) = gone {
            // SAFETY: unlinked just now, under the latch.
            unsafe { retire_version(gone, pin) };
        }
    }
}

const _: () = assert!(heap::CLASS_WORDS_MAX > HEAD_WORDS);

#[cfg(all(test, loom))]
mod model;

#[cfg(all(test, not(loom)))]
mod tests;
