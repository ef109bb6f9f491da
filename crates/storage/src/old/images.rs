//! Old versions of rows that are still there, by record.
//!
//! A commit that changes a row leaves the image of before here: a copy into memory of its own, found by the record's
//! address. Nothing is taken out one by one. Versions are in *generations*, and a generation goes as a whole, when no
//! reader is left that is older than its last version.
//!
//! ```text
//!  newest --> generation --> generation (sealed) --> generation (sealed) --> ..
//!               lanes:   chunks of memory, in which versions stand one behind the other: record, [begin, end), image
//!               buckets: address -> version -> version -> ..       made by who looks for one
//! ```
//!
//! 1. New versions go to the newest generation. Now and then it is *sealed* ([`OldImages::seal`]): a new one is put before
//!    it, and it is written down up to which timestamp its versions reach. So whoever reads the past at S looks through
//!    the generations as long as they reach beyond S.
//! 2. A lane is a writer's for as long as it copies the images of a commit ([`Keeper`]). There are enough of them that
//!    writers do not meet. A version can be found as soon as its chunk is said to be filled so far.
//! 3. *Who looks makes the index.* Commits are many and readers of what has changed are few: a commit writes one image
//!    behind the other, and nothing else. Whoever looks for one enters into buckets what has come since somebody looked
//!    ([`Generation::enter_all`]). A bucket is a list that only grows, at its head.
//! 4. What only readers needed that have gone, while older ones stay, is picked out once there are several generations: of
//!    one of which less than half is needed, that half is copied. Small ones are put together, so that there are never many.
//! 5. Chunks of generations that are gone are filled again, of whichever table: see [`lane`].
//! 6. A record's address may be another's in time. Versions of the two never overlap; whoever looks for a key has to see
//!    whether the version has it.

mod lane;

use super::OldUse;
use crate::reclaim::{Participant, Pinned};
use crossbeam_utils::CachePadded;
use lane::{Lane, Place, Version, Writer};
pub use lane::{free_spare, give_back_spare, spare_bytes};
use planaria_base::CommitTs;
use planaria_base::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering, Ordering::Relaxed};
use planaria_base::sync::model::{Mutex, MutexGuard};
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;

const UNHARMED: &str = "nobody panics while copying";

/// Writers at a time that do not wait for each other.
const LANES: usize = if cfg!(loom) { 2 } else { 16 };
/// Buckets of a generation, and how many versions there are for each before there is a new one.
const BUCKETS_MIN: usize = if cfg!(loom) { 2 } else { 256 };
const BUCKETS_MAX: usize = 1 << 20;
const LOAD_MAX: u64 = 4;
/// As many sealed generations are left alone: readers come and go, and they go as a whole soon.
const YOUNG_MAX: usize = if cfg!(loom) { 0 } else { 3 };
/// More than that are put together.
const SEALED_MAX: usize = 6;

/// Of a generation that is not sealed: later than any.
const OPEN: u64 = u64::MAX;

struct Generation {
    lanes: Box<[CachePadded<Lane>]>,
    /// How many buckets it is to have, a power of two, and those, once somebody has looked.
    room: usize,
    buckets: OnceLock<Box<[AtomicPtr<Version>]>>,
    /// Up to where the versions of each lane are in buckets.
    entered: Mutex<Vec<Place>>,
    /// All are, and none comes any more.
    complete: AtomicBool,
    /// No version ends later; or [`OPEN`].
    sealed: AtomicU64,
    /// An older one, or null.
    next: AtomicPtr<Generation>,
}

// SAFETY: versions are immutable once they can be found, and freed with their generation.
unsafe impl Send for Generation {}
// SAFETY: as above.
unsafe impl Sync for Generation {}

impl Generation {
    fn new(versions: u64, lanes: usize) -> Generation {
        let generation = Generation {
            lanes: (0..lanes).map(|_| CachePadded::default()).collect(),
            room: (versions as usize).clamp(BUCKETS_MIN, BUCKETS_MAX).next_power_of_two(),
            buckets: OnceLock::new(),
            entered: Mutex::new(vec![Place::START; lanes]),
            complete: AtomicBool::new(false),
            sealed: AtomicU64::new(OPEN),
            next: AtomicPtr::new(ptr::null_mut()),
        };
        if cfg!(loom) {
            // Which knows nothing of a cell that is written once.
            generation.buckets();
        }
        generation
    }

    fn buckets(&self) -> &[AtomicPtr<Version>] {
        self.buckets.get_or_init(|| (0..self.room).map(|_| AtomicPtr::new(ptr::null_mut())).collect())
    }

    /// A lane of its own for a writer that has this number, unless others have all.
    fn try_lane(&self, number: usize) -> Option<(&Lane, MutexGuard<'_, Writer>)> {
        let own = number % self.lanes.len();
        let lanes = self.lanes[own..].iter().chain(&self.lanes[..own]);
        lanes.map(|lane| &**lane).find_map(|lane| Some((lane, lane.writer.try_lock().ok()?)))
    }

    fn bucket<'b>(&self, buckets: &'b [AtomicPtr<Version>], record: u64) -> &'b AtomicPtr<Version> {
        // Addresses are multiples of 8, and neighbours are often changed together.
        const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
        let bits = self.room.trailing_zeros();
        &buckets[((record >> 3).wrapping_mul(MULTIPLIER) >> (64 - bits)) as usize]
    }

    /// Buckets with all versions that had come when this was called.
    fn enter_all(&self) -> &[AtomicPtr<Version>] {
        let buckets = self.buckets();
        if self.complete.load(Ordering::Acquire) {
            return buckets;
        }
        let mut entered = self.entered.lock().expect(UNHARMED);
        // Before the lanes are looked through: who seals it does so when nobody puts any more.
        let complete = self.sealed() != OPEN;
        for (lane, place) in self.lanes.iter().zip(entered.iter_mut()) {
            while let Some(version) = place.next(lane) {
                let bucket = self.bucket(buckets, version.record);
                version.next.store(bucket.load(Relaxed), Relaxed);
                bucket.store(ptr::from_ref(version).cast_mut(), Ordering::Release);
            }
        }
        if complete {
            self.complete.store(true, Ordering::Release);
        }
        buckets
    }

    /// Versions of a record, as long as the generation is there: in any order, as each lane has its own.
    fn of(&self, record: u64) -> impl Iterator<Item = &Version> {
        let mut next = self.bucket(self.enter_all(), record).load(Ordering::Acquire).cast_const();
        std::iter::from_fn(move || {
            // SAFETY: versions live as long as their generation. Those behind the head were in the bucket when it was put
            // there, so reading the head has synchronized with them, too.
            while let Some(version) = unsafe { next.as_ref() } {
                next = version.next.load(Relaxed);
                if version.record == record {
                    return Some(version);
                }
            }
            None
        })
    }

    fn sealed(&self) -> u64 {
        self.sealed.load(Ordering::Acquire)
    }

    /// How many versions there are, and bytes of all.
    fn size(&self) -> (u64, u64) {
        let buckets = self.buckets.get().map_or(0, |buckets| size_of_val(&**buckets));
        let mut size = (0, buckets as u64);
        for lane in &self.lanes {
            let writer = lane.writer.lock().expect(UNHARMED);
            size = (size.0 + lane.versions.load(Relaxed), size.1 + writer.words * size_of::<u64>() as u64);
        }
        size
    }

    /// All versions.
    fn versions(&self) -> impl Iterator<Item = &Version> {
        self.lanes.iter().flat_map(|lane| {
            let mut place = Place::START;
            std::iter::from_fn(move || place.next(lane))
        })
    }
}

impl Drop for Generation {
    fn drop(&mut self) {
        for lane in &self.lanes {
            lane.empty();
        }
    }
}

/// Puts the versions that one commit keeps of one table. See [`OldImages::try_keeper`].
pub struct Keeper<'p> {
    old: &'p OldImages,
    generation: *mut Generation,
    lane: &'p Lane,
    writer: MutexGuard<'p, Writer>,
    room: usize,
}

impl Keeper<'_> {
    /// Keeps the image that a record has had from one commit to another. It can be found when the keeper is dropped: that
    /// has to be before the record changes.
    #[inline]
    pub(crate) fn put(
        &mut self,
        record: u64,
        lifetime: (CommitTs, CommitTs),
        image: impl ExactSizeIterator<Item = u64>,
    ) {
        self.writer.put(self.lane, record, lifetime, image);
    }
}

impl Drop for Keeper<'_> {
    fn drop(&mut self) {
        self.writer.publish(self.lane);
        let versions = self.writer.versions;
        if versions > LOAD_MAX * self.room as u64 && self.room < BUCKETS_MAX {
            self.old.renew(self.generation, versions * LOAD_MAX);
        }
    }
}

/// # Safety
/// `generation` was made by `Box::into_raw`, and nobody can reach it any more.
unsafe fn free(generation: *mut u8) {
    // SAFETY: as promised.
    drop(unsafe { Box::from_raw(generation.cast::<Generation>()) });
}

/// The old versions of a table's rows that are still there. See the module's head.
pub(crate) struct OldImages {
    /// Null until the first version comes.
    newest: AtomicPtr<Generation>,
    /// Held by whoever takes generations out.
    sweeping: Mutex<()>,
}

impl OldImages {
    pub(crate) fn new() -> OldImages {
        OldImages { newest: AtomicPtr::new(ptr::null_mut()), sweeping: Mutex::new(()) }
    }

    fn generations<'p>(&self, _pin: Pinned<'p>) -> impl Iterator<Item = &'p Generation> {
        // SAFETY: found under this pin; what is taken out is retired.
        let first = unsafe { self.newest.load(Ordering::Acquire).as_ref() };
        // SAFETY: as above.
        std::iter::successors(first, |generation| unsafe { generation.next.load(Ordering::Acquire).as_ref() })
    }

    /// Puts a generation with room for so many versions before `newest`, if that is still it.
    #[cold]
    fn renew(&self, newest: *mut Generation, versions: u64) {
        let new = Box::new(Generation::new(versions, LANES));
        new.next.store(newest, Relaxed);
        let new = Box::into_raw(new);
        if self.newest.compare_exchange(newest, new, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: nobody has seen it.
            drop(unsafe { Box::from_raw(new) });
        }
    }

    /// To put versions for as long as one commit goes on, unless there are too many writers at a time. `lane`: a number of
    /// the writer's own.
    #[inline]
    pub(crate) fn try_keeper<'p>(&'p self, _pin: Pinned<'p>, lane: usize) -> Option<Keeper<'p>> {
        let mut newest = self.newest.load(Ordering::Acquire);
        while newest.is_null() {
            self.renew(newest, 0);
            newest = self.newest.load(Ordering::Acquire);
        }
        // SAFETY: found under the pin; what is taken out is retired.
        let generation: &'p Generation = unsafe { &*newest };
        let (lane, writer) = generation.try_lane(lane)?;
        Some(Keeper { old: self, generation: newest, lane, writer, room: generation.room })
    }

    /// The image that a record had at a moment, if it has changed since.
    pub(crate) fn find<'p>(&self, pin: Pinned<'p>, record: u64, at: CommitTs) -> Option<&'p [u64]> {
        // Those further on reach less far.
        let reaching = self.generations(pin).take_while(|generation| at.0 < generation.sealed());
        let mut versions = reaching.flat_map(|generation| generation.of(record));
        versions.find(|version| version.begin <= at && at < version.end).map(Version::image)
    }

    /// Calls `f` with begin, end and image of every version of a record, in any order.
    pub(crate) fn for_each(
        &self,
        pin: Pinned<'_>,
        record: u64,
        mut f: impl FnMut(CommitTs, CommitTs, &[u64]),
    ) {
        for version in self.generations(pin).flat_map(|generation| generation.of(record)) {
            f(version.begin, version.end, version.image());
        }
    }

    /// What they take.
    pub(crate) fn memory(&self) -> OldUse {
        let mut all = OldUse::default();
        self.with_sizes(|_, (versions, bytes)| {
            if versions > 0 {
                all = OldUse { versions: all.versions + versions, bytes: all.bytes + bytes };
            }
        });
        all
    }

    /// Whether there is nothing to forget: no version, nor room for many.
    pub(crate) fn is_empty(&self) -> bool {
        let mut empty = true;
        self.with_sizes(|generation, (versions, _)| {
            empty &= versions == 0 && generation.room == BUCKETS_MIN;
        });
        empty
    }

    fn with_sizes(&self, mut f: impl FnMut(&Generation, (u64, u64))) {
        if !self.newest.load(Ordering::Acquire).is_null() {
            let mut participant = Participant::new();
            let guard = participant.guard();
            self.generations(guard.pinned()).for_each(|generation| f(generation, generation.size()));
        }
    }

    /// Ends the newest generation. Nobody puts a version meanwhile, and none that is in ends later than `until`.
    pub(crate) fn seal(&self, until: CommitTs) {
        let newest = self.newest.load(Ordering::Acquire);
        if newest.is_null() {
            return;
        }
        let mut participant = Participant::new();
        let guard = participant.guard();
        let open = self.generations(guard.pinned()).take_while(|generation| generation.sealed() == OPEN);
        let (versions, room) = open.fold((0, 0), |(versions, room), generation| {
            (versions + generation.size().0, room + generation.room)
        });
        if versions == 0 && room == BUCKETS_MIN {
            return;
        }
        self.renew(newest, versions);
        let ended = self.generations(guard.pinned()).skip(1);
        for generation in ended.take_while(|generation| generation.sealed() == OPEN) {
            generation.sealed.store(until.0, Ordering::Release);
        }
    }

    /// Forgets what is [said](Forgetting). Calls `rest` now and then, with nothing pinned, and ends where that says
    /// `false`; whether it came to the end.
    pub(crate) fn sweep(
        &self,
        participant: &mut Participant,
        what: &Forgetting<'_>,
        rest: &mut dyn FnMut() -> bool,
    ) -> bool {
        let _here = self.sweeping.lock().expect(UNHARMED);
        // Whoever sweeps is the only one who takes any out.
        let mut all = Vec::new();
        let mut next = self.newest.load(Ordering::Acquire);
        while !next.is_null() {
            all.push(next);
            // SAFETY: as just said. (By pointers: what was reached by a reference may not be freed through it.)
            next = unsafe { (*next).next.load(Ordering::Acquire) };
        }
        // SAFETY: as above; they are retired further down.
        let of = |at: usize| unsafe { &*all[at].cast_const() };
        // The first of them stays: what was newest a moment ago may have been sealed since, and nothing here leads to it.
        let Some(first) = (1..all.len()).find(|at| of(*at).sealed() != OPEN) else { return true };
        let passed = (first..all.len()).find(|at| of(*at).sealed() <= what.oldest.0).unwrap_or(all.len());
        let (several, many) = (passed - first > YOUNG_MAX, passed - first > SEALED_MAX);
        let mut groups: Vec<Group> = Vec::new();
        for at in first..passed {
            let versions = of(at).size().0;
            let mut group = Group { members: at..at + 1, versions, copied: false };
            if several && of(at).sealed() > what.gone.0 {
                if !rest() {
                    return false;
                }
                let needed = of(at).versions().filter(|v| (what.needed)(v.begin, v.end)).count() as u64;
                if needed * 2 < versions {
                    (group.versions, group.copied) = (needed, true);
                }
            }
            match groups.last_mut() {
                Some(last) if many && last.versions * 2 >= group.versions => {
                    last.members.end = group.members.end;
                    (last.versions, last.copied) = (last.versions + group.versions, true);
                }
                _ => groups.push(group),
            }
        }
        let mut copies = Vec::new();
        for group in groups.iter().rev().filter(|group| group.copied) {
            if !rest() {
                return false;
            }
            let copy = Generation::new(group.versions, 1);
            let lane = &*copy.lanes[0];
            let mut writer = lane.writer.lock().expect(UNHARMED);
            for version in group.members.clone().flat_map(|at| of(at).versions()) {
                if (what.needed)(version.begin, version.end) {
                    let lifetime = (version.begin, version.end);
                    writer.put(lane, version.record, lifetime, version.image().iter().copied());
                }
            }
            writer.publish(lane);
            drop(writer);
            copy.sealed.store(of(group.members.start).sealed(), Relaxed);
            copies.push(Box::new(copy));
        }
        // The oldest first, so that whoever walks through them meets all, however far this is.
        let mut copies = copies.into_iter();
        let mut next: *mut Generation = ptr::null_mut();
        let mut out: Vec<usize> = (passed..all.len()).collect();
        for group in groups.iter().rev() {
            if !group.copied {
                of(group.members.start).next.store(next, Ordering::Release);
                next = all[group.members.start];
                continue;
            }
            out.extend(group.members.clone());
            if let Some(copy) = copies.next().filter(|_| group.versions > 0) {
                copy.next.store(next, Relaxed);
                next = Box::into_raw(copy);
            }
        }
        of(first - 1).next.store(next, Ordering::Release);
        let guard = participant.guard();
        for at in out {
            // SAFETY: made by `Box::into_raw`, and out of the list since just now.
            unsafe { guard.pinned().retire(all[at].cast(), free) };
        }
        true
    }
}

impl Drop for OldImages {
    fn drop(&mut self) {
        let mut next = self.newest.swap(ptr::null_mut(), Ordering::AcqRel);
        while !next.is_null() {
            // SAFETY: nobody else can reach it any more.
            let generation = unsafe { Box::from_raw(next) };
            next = generation.next.load(Ordering::Acquire);
        }
    }
}

/// Which old versions are to go: sealed generations that end at `oldest` or before; and if that leaves several,
/// of those that reach beyond `gone`, what `needed(begin, end)` refuses, if it is much.
pub struct Forgetting<'f> {
    /// Whoever reads the past now or later, reads what there was then, or later.
    pub oldest: CommitTs,
    /// What those have read who have gone since the last time, or later.
    pub gone: CommitTs,
    /// Whether somebody may need a version, from begin to end.
    pub needed: &'f dyn Fn(CommitTs, CommitTs) -> bool,
}

/// Sealed generations, numbered from the newest, that become one, or one that stays.
struct Group {
    members: Range<usize>,
    versions: u64,
    copied: bool,
}

#[cfg(all(test, not(loom)))]
mod tests;

#[cfg(all(test, loom))]
mod model;
