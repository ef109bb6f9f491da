//! Old versions of rows that are still there, by record.
//!
//! A commit that changes a row leaves the image of before here: a copy into memory of its own, found by the record's
//! address. Nothing is taken out one by one. Versions are in *generations*, and a generation goes as a whole, when no
//! reader is left that is older than its last version.
//!
//! ```text
//!  newest --> generation --> generation (sealed) --> generation (sealed) --> ..
//!               buckets: address -> version -> version -> ..      each: record, [begin, end), the image
//!               lanes:   chunks of memory, in which the versions are
//! ```
//!
//! 1. New versions go to the newest generation. Now and then it is *sealed* ([`OldImages::seal`]): a new one is put before
//!    it, and it is written down up to which timestamp its versions reach. So whoever reads the past at S looks through
//!    the generations as long as they reach beyond S.
//! 2. A bucket is a list that only grows, at its head, by one compare-and-swap.
//! 3. A lane is a writer's for as long as it copies one image. There are enough of them that writers do not meet.
//! 4. What only readers needed that have gone, while older ones stay, is picked out once there are several generations: of
//!    one of which less than half is needed, that half is copied. Small ones are put together, so that there are never many.
//! 5. A record's address may be another's in time. Versions of the two never overlap; whoever looks for a key has to see
//!    whether the version has it.

use super::OldUse;
use crate::reclaim::{Participant, Pinned};
use crossbeam_utils::CachePadded;
use planaria_base::CommitTs;
use planaria_base::sync::atomic::{AtomicPtr, AtomicU64, Ordering, Ordering::Relaxed};
use planaria_base::sync::model::Mutex;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;

const UNHARMED: &str = "nobody panics while copying";

/// Writers at a time that do not wait for each other.
const LANES: usize = if cfg!(loom) { 2 } else { 16 };
/// Buckets of a generation, and how many versions there are for each before there is a new one.
const BUCKETS_MIN: usize = if cfg!(loom) { 2 } else { 256 };
const BUCKETS_MAX: usize = 1 << 20;
const LOAD_MAX: u64 = 4;
/// Words of a chunk.
const CHUNK_MIN: usize = 512;
const CHUNK_MAX: usize = 32 << 10;
/// As many sealed generations are left alone: readers come and go, and they go as a whole soon.
const YOUNG_MAX: usize = if cfg!(loom) { 0 } else { 3 };
/// More than that are put together.
const SEALED_MAX: usize = 6;

/// Of a generation that is not sealed: later than any.
const OPEN: u64 = u64::MAX;

/// One version of a row. Its image stands behind it.
#[repr(C)]
struct Version {
    /// An older one in the same bucket, or null.
    next: *const Version,
    record: u64,
    begin: CommitTs,
    end: CommitTs,
    words: u64,
}

const HEAD_WORDS: usize = size_of::<Version>() / size_of::<u64>();

impl Version {
    fn image(&self) -> &[u64] {
        // SAFETY: `Lane::copy` has put that many words behind it, in the same chunk.
        unsafe { std::slice::from_raw_parts(ptr::from_ref(self).add(1).cast(), self.words as usize) }
    }
}

/// Where the next version goes.
struct Lane {
    next: *mut u64,
    /// Words left from there on.
    left: usize,
    chunks: Vec<*mut [MaybeUninit<u64>]>,
    versions: u64,
    words: u64,
}

// SAFETY: its chunks are its own, and plain memory.
unsafe impl Send for Lane {}

impl Default for Lane {
    fn default() -> Self {
        Lane { next: ptr::null_mut(), left: 0, chunks: Vec::new(), versions: 0, words: 0 }
    }
}

impl Lane {
    /// A version that nobody can find yet, and what is to become its `next`.
    fn copy(
        &mut self,
        record: u64,
        (begin, end): (CommitTs, CommitTs),
        image: impl ExactSizeIterator<Item = u64>,
    ) -> *mut Version {
        let words = image.len();
        let needed = HEAD_WORDS + words;
        if self.left < needed {
            self.grow(needed);
        }
        let version = self.next.cast::<Version>();
        // SAFETY: `left` words from `next` on are nobody else's; a version is as aligned as they are. The iterator is
        // asked for as many words as it has promised, no more.
        unsafe {
            version.write(Version { next: ptr::null(), record, begin, end, words: words as u64 });
            let to = self.next.add(HEAD_WORDS);
            let mut copied = 0;
            for (at, word) in image.take(words).enumerate() {
                to.add(at).write(word);
                copied = at + 1;
            }
            (*version).words = copied as u64;
            self.next = self.next.add(needed);
        }
        self.left -= needed;
        self.versions += 1;
        version
    }

    #[cold]
    fn grow(&mut self, needed: usize) {
        let size = (CHUNK_MIN << self.chunks.len().min(16)).min(CHUNK_MAX).max(needed);
        let chunk = Box::into_raw(Box::<[u64]>::new_uninit_slice(size));
        self.chunks.push(chunk);
        self.words += size as u64;
        (self.next, self.left) = (chunk.cast(), size);
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        for chunk in self.chunks.drain(..) {
            // SAFETY: made by `Box::into_raw`; nobody can reach its versions any more.
            drop(unsafe { Box::from_raw(chunk) });
        }
    }
}

struct Generation {
    /// As many as a power of two.
    buckets: Box<[AtomicPtr<Version>]>,
    lanes: Box<[CachePadded<Mutex<Lane>>]>,
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
        let buckets = (versions as usize).clamp(BUCKETS_MIN, BUCKETS_MAX).next_power_of_two();
        Generation {
            buckets: (0..buckets).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
            lanes: (0..lanes).map(|_| CachePadded::default()).collect(),
            sealed: AtomicU64::new(OPEN),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn bucket(&self, record: u64) -> &AtomicPtr<Version> {
        // Addresses are multiples of 8, and neighbours are often changed together.
        const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
        let bits = self.buckets.len().trailing_zeros();
        &self.buckets[((record >> 3).wrapping_mul(MULTIPLIER) >> (64 - bits)) as usize]
    }

    /// Fetches what [`Generation::put`] begins with.
    #[inline]
    fn prefetch(&self, record: u64) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let bucket = ptr::from_ref(self.bucket(record)).cast::<i8>();
            // SAFETY: a prefetch is a hint; it may name any address.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(bucket) };
        }
        #[cfg(not(all(target_arch = "x86_64", not(miri))))]
        let _ = record;
    }

    /// Adds a version; how many its lane has then.
    fn put(
        &self,
        lane: usize,
        record: u64,
        lifetime: (CommitTs, CommitTs),
        image: impl ExactSizeIterator<Item = u64>,
    ) -> u64 {
        let bucket = self.bucket(record);
        let mut at = lane % self.lanes.len();
        let mut lane = loop {
            match self.lanes[at].try_lock() {
                Ok(lane) => break lane,
                Err(_) => at = (at + 1) % self.lanes.len(),
            }
        };
        let version = lane.copy(record, lifetime, image);
        let mut head = bucket.load(Relaxed);
        loop {
            // SAFETY: not in the bucket yet, so it is ours alone.
            unsafe { (*version).next = head };
            match bucket.compare_exchange_weak(head, version, Ordering::Release, Relaxed) {
                Ok(_) => return lane.versions,
                Err(now) => head = now,
            }
        }
    }

    /// Versions of a record, newest first, as long as the generation is there.
    fn of(&self, record: u64) -> impl Iterator<Item = &Version> {
        let mut next = self.bucket(record).load(Ordering::Acquire).cast_const();
        std::iter::from_fn(move || {
            // SAFETY: versions live as long as their generation. Those behind the head were in the bucket when it was put
            // there, so reading the head has synchronized with them, too.
            while let Some(version) = unsafe { next.as_ref() } {
                next = version.next;
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
        let mut size = (0, (self.buckets.len() * size_of::<AtomicPtr<Version>>()) as u64);
        for lane in &self.lanes {
            let lane = lane.lock().expect(UNHARMED);
            size = (size.0 + lane.versions, size.1 + lane.words * size_of::<u64>() as u64);
        }
        size
    }

    /// All versions.
    fn versions(&self) -> impl Iterator<Item = &Version> {
        self.buckets.iter().flat_map(|bucket| {
            let first = bucket.load(Ordering::Acquire).cast_const();
            // SAFETY: as in `of`.
            std::iter::successors(unsafe { first.as_ref() }, |version| unsafe { version.next.as_ref() })
        })
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

    /// A version of a record is to be put soon. Each bucket is a line of its own, and who keeps several versions waits for
    /// all of them together.
    #[inline]
    pub(crate) fn prefetch(&self, _pin: Pinned<'_>, record: u64) {
        // SAFETY: found under the pin; what is taken out is retired.
        if let Some(generation) = unsafe { self.newest.load(Ordering::Acquire).as_ref() } {
            generation.prefetch(record);
        }
    }

    /// Keeps the image that a record has had from one commit to another. Call before the record changes. `lane`: a number of
    /// the writer's own.
    #[inline]
    pub(crate) fn put(
        &self,
        _pin: Pinned<'_>,
        lane: usize,
        record: u64,
        lifetime: (CommitTs, CommitTs),
        image: impl ExactSizeIterator<Item = u64>,
    ) {
        debug_assert!(lifetime.0 < lifetime.1);
        let mut newest = self.newest.load(Ordering::Acquire);
        while newest.is_null() {
            self.renew(newest, 0);
            newest = self.newest.load(Ordering::Acquire);
        }
        // SAFETY: found under the pin; what is taken out is retired.
        let generation = unsafe { &*newest };
        let versions = generation.put(lane, record, lifetime, image);
        let buckets = generation.buckets.len();
        if versions > LOAD_MAX * buckets as u64 && buckets < BUCKETS_MAX {
            self.renew(newest, versions * LOAD_MAX);
        }
    }

    /// The image that a record had at a moment, if it has changed since.
    pub(crate) fn find<'p>(&self, pin: Pinned<'p>, record: u64, at: CommitTs) -> Option<&'p [u64]> {
        // Those further on reach less far.
        let reaching = self.generations(pin).take_while(|generation| at.0 < generation.sealed());
        let mut versions = reaching.flat_map(|generation| generation.of(record));
        versions.find(|version| version.begin <= at && at < version.end).map(Version::image)
    }

    /// Calls `f` with begin, end and image of every version of a record.
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
            empty &= versions == 0 && generation.buckets.len() == BUCKETS_MIN;
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
            (versions + generation.size().0, room + generation.buckets.len())
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
            for version in group.members.clone().flat_map(|at| of(at).versions()) {
                if (what.needed)(version.begin, version.end) {
                    let lifetime = (version.begin, version.end);
                    copy.put(0, version.record, lifetime, version.image().iter().copied());
                }
            }
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
mod tests {
    use super::*;

    fn put(old: &OldImages, participant: &mut Participant, record: u64, begin: u64, end: u64) {
        let lifetime = (CommitTs(begin), CommitTs(end));
        old.put(participant.guard().pinned(), 0, record, lifetime, [begin, record].into_iter());
    }

    /// When the version began that a record had at a moment.
    fn find(old: &OldImages, participant: &mut Participant, record: u64, at: u64) -> Option<u64> {
        let guard = participant.guard();
        let image = old.find(guard.pinned(), record, CommitTs(at))?;
        assert_eq!(image[1], record);
        Some(image[0])
    }

    fn sweep(old: &OldImages, oldest: u64, gone: u64, needed: &dyn Fn(CommitTs, CommitTs) -> bool) {
        let what = Forgetting { oldest: CommitTs(oldest), gone: CommitTs(gone), needed };
        let mut participant = Participant::new();
        assert!(old.sweep(&mut participant, &what, &mut || true));
        drop(participant);
        crate::reclaim::free_what_is_left();
    }

    fn generations(old: &OldImages) -> usize {
        let mut count = 0;
        old.with_sizes(|_, _| count += 1);
        count
    }

    #[test]
    fn a_record_has_the_image_of_each_moment() {
        let old = OldImages::new();
        let mut p = Participant::new();
        assert!(old.is_empty() && find(&old, &mut p, 8, 1).is_none());
        put(&old, &mut p, 8, 1, 3);
        put(&old, &mut p, 16, 0, 2);
        old.seal(CommitTs(3));
        put(&old, &mut p, 8, 3, 4);
        assert_eq!(
            [0, 1, 2, 3, 4].map(|at| find(&old, &mut p, 8, at)),
            [None, Some(1), Some(1), Some(3), None]
        );
        assert_eq!([1, 2].map(|at| find(&old, &mut p, 16, at)), [Some(0), None]);
        let mut versions = Vec::new();
        old.for_each(p.guard().pinned(), 8, |begin, end, _| versions.push((begin.0, end.0)));
        assert_eq!(versions, [(3, 4), (1, 3)]);
        assert_eq!(old.memory().versions, 3);
    }

    #[test]
    fn what_all_have_passed_goes_as_a_whole() {
        let old = OldImages::new();
        let mut p = Participant::new();
        let never = |_, _| unreachable!("nothing is looked at");
        for end in 2..8 {
            put(&old, &mut p, 8, end - 1, end);
            old.seal(CommitTs(end));
        }
        let all = old.memory();
        assert_eq!((generations(&old), all.versions), (7, 6));
        sweep(&old, 1, u64::MAX, &never);
        assert_eq!(old.memory().versions, 6);
        sweep(&old, 5, u64::MAX, &never);
        assert_eq!([4, 5, 6].map(|at| find(&old, &mut p, 8, at)), [None, Some(5), Some(6)]);
        assert_eq!(generations(&old), 3);
        sweep(&old, 7, u64::MAX, &never);
        assert_eq!((old.memory(), old.is_empty()), (OldUse::default(), true));
        // Nothing to end; of use again.
        old.seal(CommitTs(7));
        put(&old, &mut p, 8, 7, 8);
        assert_eq!((generations(&old), find(&old, &mut p, 8, 7)), (1, Some(7)));
    }

    #[test]
    fn of_what_few_need_the_rest_is_left_out() {
        let old = OldImages::new();
        let mut p = Participant::new();
        // Somebody reads as of 1, others came and went.
        const ROUNDS: u64 = 40;
        const ROWS: u64 = if cfg!(miri) { 5 } else { 200 };
        let reads_first = |begin: CommitTs, end: CommitTs| begin.0 <= 1 && 1 < end.0;
        let mut last = vec![0; ROWS as usize];
        for round in 1..=ROUNDS {
            let now = 10 * round;
            // In each round some for the first time.
            for row in 0..ROWS.min(round * ROWS / 20) {
                put(&old, &mut p, 8 * (row + 1), last[row as usize], now);
                last[row as usize] = now;
            }
            old.seal(CommitTs(now));
            sweep(&old, 1, now - 10, &reads_first);
            let first_changes = ROWS.min(round * ROWS / 20);
            assert!(old.memory().versions <= (2 + YOUNG_MAX as u64) * first_changes, "round {round}");
            assert!(generations(&old) <= SEALED_MAX + 4, "round {round}");
        }
        for row in 0..ROWS {
            assert_eq!(find(&old, &mut p, 8 * (row + 1), 1), Some(0));
        }
        assert!(!old.sweep(
            &mut p,
            &Forgetting { oldest: CommitTs(1), gone: CommitTs(0), needed: &reads_first },
            &mut || false
        ));
        assert_eq!(find(&old, &mut p, 8, 1), Some(0));
        drop((old, p));
        crate::reclaim::free_what_is_left();
    }

    #[test]
    fn many_versions_and_long_ones_have_room() {
        let old = OldImages::new();
        let mut p = Participant::new();
        let versions: u64 = if cfg!(miri) { 3000 } else { 50_000 };
        for record in 1..=versions {
            let lifetime = (CommitTs(1), CommitTs(2));
            let words = if record % 1000 == 0 { 40_000 } else { record % 50 };
            let image = (0..words).map(|at| at ^ record).collect::<Vec<_>>();
            old.put(p.guard().pinned(), record as usize, 8 * record, lifetime, image.into_iter());
        }
        assert!(generations(&old) > 1);
        for record in (1..=versions).step_by(if cfg!(miri) { 500 } else { 250 }) {
            let guard = p.guard();
            let image = old.find(guard.pinned(), 8 * record, CommitTs(1)).expect("it was kept");
            assert!((0u64..).zip(image).all(|(at, word)| *word == at ^ record));
        }
        assert_eq!(old.memory().versions, versions);
        old.seal(CommitTs(2));
        {
            // Who looks at one keeps the memory.
            let guard = p.guard();
            let image = old.find(guard.pinned(), 8000, CommitTs(1)).expect("it is there");
            let what = Forgetting { oldest: CommitTs(2), gone: CommitTs(2), needed: &|_, _| false };
            assert!(old.sweep(&mut Participant::new(), &what, &mut || true));
            assert_eq!(image[1], 1 ^ 1000);
            assert_eq!(old.memory(), OldUse::default());
        }
        drop(p);
        crate::reclaim::free_what_is_left();
        // The room that was prepared for as many goes the next time.
        assert!(!old.is_empty() && old.memory() == OldUse::default());
        old.seal(CommitTs(3));
        sweep(&old, 3, 3, &|_, _| false);
        assert!(old.is_empty());
    }

    #[test]
    fn many_put_while_some_is_forgotten() {
        let old = OldImages::new();
        let versions: u64 = if cfg!(miri) { 30 } else { 3000 };
        std::thread::scope(|scope| {
            for writer in 0..4u64 {
                let old = &old;
                scope.spawn(move || {
                    let mut p = Participant::new();
                    for n in 1..=versions {
                        let (begin, record) = (2 * n, 8 * (writer + 1));
                        put(old, &mut p, record, begin, begin + 2);
                        assert_eq!(find(old, &mut p, record, begin + 1), Some(begin));
                    }
                });
            }
            // Without a seal nothing may go; the writers are in no list here.
            let what = Forgetting { oldest: CommitTs(u64::MAX), gone: CommitTs(0), needed: &|_, _| false };
            for _ in 0..20 {
                assert!(old.sweep(&mut Participant::new(), &what, &mut || true));
                std::thread::yield_now();
            }
        });
        assert_eq!(old.memory().versions, 4 * versions);
        let mut p = Participant::new();
        let last = 2 * versions;
        for _ in 0..=YOUNG_MAX {
            old.seal(CommitTs(last + 2));
            put(&old, &mut p, 80, 1, 2);
        }
        old.seal(CommitTs(last + 2));
        sweep(&old, 0, 0, &|begin, _| begin.0 == last);
        assert_eq!([1, 2, 3, 4].map(|record| find(&old, &mut p, 8 * record, last)), [Some(last); 4]);
        assert_eq!(old.memory().versions, 4);
    }
}

#[cfg(all(test, loom))]
mod model;
