//! Epoch-based reclamation: memory that optimistic readers may still look at is freed two epochs
//! after it was unlinked (Fraser, *Practical lock-freedom*, 2004, §5.2.3).
//!
//! One global epoch `E`, one slot per [`Participant`].
//!
//! 1. *Pin*: publish "pinned at `E`" in the own slot, then one `SeqCst` fence. From here on nothing
//!    that the participant can reach is freed.
//! 2. *Retire*: unlink the object first, then [`Pinned::retire`] it. Retired objects gather in the
//!    participant's limbo list; a batch is *sealed* with the epoch read after a `SeqCst` fence.
//! 3. *Advance* `E` to `E + 1` when every pinned slot says `E`.
//! 4. *Free* a batch sealed at `S` once `E >= S + 2`.
//!
//! Why two: whoever can still hold an object sealed at `S` was pinned before it was unlinked, hence
//! at an epoch `<= S`. Advancing to `S + 2` needs every pinned slot at `S + 1`, so that one has left.
//!
//! An object that participants pinned now may still *show* to others until they leave ([retired
//! late](Pinned::retire_late)) waits for `S + 3`: whoever shows it is pinned at `<= S`, so it was seen
//! while `E <= S + 1`, by someone who is gone when `E >= S + 3`.
//!
//! Sealing, advancing and freeing are amortised over [`BATCH`] retirements or pins. A participant
//! that is not pinned never holds the epoch back; one that is dropped, or says that it goes idle
//! ([`Participant::flush`]), leaves its limbo list to the others, and so does one that leaves with a long one.
//! [`collect`] is for whoever has time: what others left is freed though nobody pins any more.
//!
//! The epoch here has nothing to do with commit epochs: it advances as fast as memory is retired.
//! It is one per process, so that any pin protects any index of any database.
//! So a long reader of one database keeps what was retired in another one of the same process. One domain for each
//! database would end that, but the proofs of `unsafe` rest on "pinned is pinned": a pin, an index and a heap would each
//! have to carry their domain, and each place that follows a pointer to say that they are the same.

#![allow(unsafe_code)] // runs deleters on retired pointers; see `Pinned::retire`

use crossbeam_utils::CachePadded;
use planaria_base::sync::atomic::{AtomicU64, Ordering, fence};
use planaria_base::sync::model::Mutex;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

/// Retirements, or pins with something in limbo, between two attempts to advance the epoch.
const BATCH: usize = if cfg!(loom) { 1 } else { 64 };

/// What a participant keeps in limbo when it leaves; more is left to the others, as it may not come back soon.
const LIMBO_MAX: usize = 1024;
const LIMBO_BYTES_MAX: usize = 256 << 10;

/// Frees one retired object. It must not pin, retire or otherwise come back here.
pub type Deleter = unsafe fn(*mut u8);

/// "Not pinned" in a slot; otherwise the slot holds `epoch << 1 | 1`.
const IDLE: u64 = 0;

struct Slot(CachePadded<AtomicU64>);

struct Retired {
    object: *mut u8,
    deleter: Deleter,
    /// The epoch it was sealed with, and one more if it was retired late.
    sealed: u64,
    late: bool,
}

// SAFETY: `retire` requires that the deleter may run on any thread, and whoever holds the
// `Retired` is the only one who will run it.
unsafe impl Send for Retired {}

struct Registry {
    epoch: CachePadded<AtomicU64>,
    /// Held while scanning or changing the slots: there is at most one advancer at a time.
    slots: Mutex<Vec<Arc<Slot>>>,
    /// Sealed leftovers of participants that left or went idle.
    orphans: Mutex<VecDeque<Retired>>,
}

impl Registry {
    #[cfg(not(loom))]
    const fn new() -> Registry {
        Registry {
            epoch: CachePadded::new(AtomicU64::new(2)),
            slots: Mutex::new(Vec::new()),
            orphans: Mutex::new(VecDeque::new()),
        }
    }

    #[cfg(loom)]
    fn new() -> Registry {
        Registry {
            epoch: CachePadded::new(AtomicU64::new(2)),
            slots: Mutex::new(Vec::new()),
            orphans: Mutex::new(VecDeque::new()),
        }
    }

    /// Opens the next epoch if every pinned participant has seen this one. Never waits.
    fn try_advance(&self) -> u64 {
        let epoch = self.epoch.load(Ordering::Relaxed);
        let Ok(slots) = self.slots.try_lock() else { return epoch };
        // Only the holder of the lock moves the epoch, so this is its current value.
        let epoch = self.epoch.load(Ordering::Relaxed);
        // Pairs with the fence in `pin`: either this sees the slot pinned, or that participant
        // sees every unlinking that happened before this point.
        fence(Ordering::SeqCst);
        for slot in slots.iter() {
            // Acquire: what the departed participants read happens before what is freed by virtue of
            // `epoch + 1`. (Not by a fence after the loop, of which ThreadSanitizer would not know.)
            let state = slot.0.load(Ordering::Acquire);
            if state != IDLE && state >> 1 != epoch {
                return epoch;
            }
        }
        self.epoch.store(epoch + 1, Ordering::Release);
        epoch + 1
    }

    /// Frees what idle or departed participants left and nobody can see any more.
    fn collect_orphans(&self) {
        loop {
            let epoch = self.epoch.load(Ordering::Acquire);
            let Ok(mut orphans) = self.orphans.try_lock() else { return };
            // Lists of several participants follow each other, so the queue is not sorted by
            // epoch; the front merely waits a little longer than it has to.
            let Some(retired) = orphans.pop_front_if(|r| r.sealed + 2 <= epoch) else { return };
            drop(orphans);
            // SAFETY: sealed two epochs ago (late ones count one more), so no pin that could have
            // reached it is left.
            unsafe { (retired.deleter)(retired.object) }
        }
    }
}

#[cfg(not(loom))]
static REGISTRY: Registry = Registry::new();
#[cfg(not(loom))]
fn registry() -> &'static Registry {
    &REGISTRY
}

#[cfg(loom)]
loom::lazy_static! { static ref REGISTRY: Registry = Registry::new(); }
#[cfg(loom)]
fn registry() -> &'static Registry {
    &REGISTRY
}

/// Pin serials are handed out in blocks, so that no two pins of the process share one.
const SERIALS_PER_BLOCK: u64 = 1 << 32;
static SERIAL_BLOCKS: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);

fn serial_block() -> u64 {
    let block = SERIAL_BLOCKS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    assert!(block < 1 << 32, "pin serials are used up");
    block * SERIALS_PER_BLOCK
}

/// A worker's place at the reclaimer. Owned by one thread at a time.
pub struct Participant {
    slot: Arc<Slot>,
    /// Serial of the current (or last) pin.
    serial: u64,
    pinned: bool,
    /// It stays pinned between [`Participant::unpin`] and the next [`Participant::pin`].
    held: bool,
    /// Pins since the last collection while something was in limbo.
    idle_pins: usize,
    limbo: RefCell<Limbo>,
}

#[derive(Default)]
struct Limbo {
    /// In order of retirement; the first `sealed` carry their epoch.
    retired: VecDeque<Retired>,
    sealed: usize,
    /// Of what was retired since the list was handed over, as far as it was told.
    bytes: usize,
}

impl Limbo {
    fn seal(&mut self) {
        if self.sealed == self.retired.len() {
            return;
        }
        // The unlinking of every retired object precedes the epoch it is sealed with.
        fence(Ordering::SeqCst);
        let epoch = registry().epoch.load(Ordering::Relaxed);
        for retired in self.retired.iter_mut().skip(self.sealed) {
            retired.sealed = epoch + u64::from(retired.late);
        }
        self.sealed = self.retired.len();
    }

    fn collect(&mut self) {
        let registry = registry();
        registry.try_advance();
        let epoch = registry.epoch.load(Ordering::Acquire);
        while self.sealed > 0
            && let Some(retired) = self.retired.pop_front_if(|r| r.sealed + 2 <= epoch)
        {
            self.sealed -= 1;
            // SAFETY: sealed two epochs ago (late ones count one more), so no pin that could have
            // reached it is left.
            unsafe { (retired.deleter)(retired.object) }
        }
        registry.collect_orphans();
    }

    fn hand_over(&mut self) {
        self.seal();
        if !self.retired.is_empty() {
            registry().orphans.lock().unwrap().append(&mut self.retired);
            self.sealed = 0;
        }
        self.bytes = 0;
    }

    /// Whether there is so much in it that it should not wait for its participant to come back.
    fn is_large(&self) -> bool {
        self.retired.len() >= LIMBO_MAX || self.bytes >= LIMBO_BYTES_MAX
    }
}

/// Frees what participants that went idle have left, as far as nobody can see it any more. Answers with how much
/// must wait for somebody who is pinned: call again later.
pub fn collect() -> usize {
    let registry = registry();
    // What was sealed last may be freed when the epoch has advanced three times.
    for _ in 0..3 {
        registry.try_advance();
    }
    registry.collect_orphans();
    registry.orphans.lock().unwrap().len()
}

impl Participant {
    /// Takes a place.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Participant {
        let slot = Arc::new(Slot(CachePadded::new(AtomicU64::new(IDLE))));
        registry().slots.lock().unwrap().push(slot.clone());
        Participant {
            slot,
            serial: serial_block(),
            pinned: false,
            held: false,
            idle_pins: 0,
            limbo: RefCell::new(Limbo::default()),
        }
    }

    /// Enters: from here to [`unpin`](Self::unpin) nothing reachable is freed. Panics if pinned.
    #[inline]
    pub fn pin(&mut self) {
        assert!(!self.pinned, "a participant pins once");
        self.pinned = true;
        if self.held {
            return;
        }
        self.serial += 1;
        if self.serial.is_multiple_of(SERIALS_PER_BLOCK) {
            self.serial = serial_block() + 1;
        }
        // An epoch read late only holds the epoch back, until this participant leaves.
        let epoch = registry().epoch.load(Ordering::Relaxed);
        // Release: who advances the epoch may see this pin and not the end of the one before, whose reads must
        // come before what is freed all the same.
        self.slot.0.store(epoch << 1 | 1, Ordering::Release);
        fence(Ordering::SeqCst);
    }

    /// Leaves; now and then frees what nobody can see any more. Does nothing if not pinned.
    #[inline]
    pub fn unpin(&mut self) {
        if !self.pinned {
            return;
        }
        self.pinned = false;
        if !self.held {
            self.leave();
        }
    }

    /// Until [`Participant::let_go`] all its pins are one: what is found under one of them is there under the next ones. Panics if not pinned.
    pub fn hold(&mut self) {
        assert!(self.pinned, "who is not pinned holds nothing");
        self.held = true;
    }

    /// Ends [`Participant::hold`]: the pin that goes on ends as usual.
    #[inline]
    pub fn let_go(&mut self) {
        if std::mem::take(&mut self.held) && !self.pinned {
            self.leave();
        }
    }

    #[inline]
    fn leave(&mut self) {
        self.slot.0.store(IDLE, Ordering::Release);
        let limbo = self.limbo.get_mut();
        if !limbo.retired.is_empty() {
            self.idle_pins += 1;
            let large = limbo.is_large();
            if self.idle_pins >= BATCH || large {
                self.idle_pins = 0;
                limbo.seal();
                limbo.collect();
                if large {
                    limbo.hand_over();
                }
            }
        }
    }

    /// Is this participant pinned?
    #[inline]
    pub fn is_pinned(&self) -> bool {
        self.pinned
    }

    /// The proof of being pinned that index operations ask for. Panics if not pinned.
    #[inline]
    pub fn pinned(&self) -> Pinned<'_> {
        assert!(self.pinned, "not pinned");
        Pinned { participant: self, _not_send: PhantomData }
    }

    /// Pins for a scope.
    #[inline]
    pub fn guard(&mut self) -> Guard<'_> {
        self.pin();
        Guard(self)
    }

    /// Goes idle: frees what can be freed and leaves the rest to the other participants.
    pub fn flush(&mut self) {
        let limbo = self.limbo.get_mut();
        limbo.seal();
        limbo.collect();
        limbo.hand_over();
    }

    /// Objects retired here and not yet freed.
    pub fn limbo_len(&self) -> usize {
        self.limbo.borrow().retired.len()
    }
}

impl Drop for Participant {
    fn drop(&mut self) {
        self.slot.0.store(IDLE, Ordering::Release);
        self.limbo.get_mut().hand_over();
        registry().slots.lock().unwrap().retain(|slot| !Arc::ptr_eq(slot, &self.slot));
    }
}

/// Proof that a participant is pinned; while one exists the participant cannot unpin.
#[derive(Clone, Copy)]
pub struct Pinned<'p> {
    participant: &'p Participant,
    _not_send: PhantomData<*const ()>,
}

/// Proof, for any thread, that some participant stays pinned for `'p`: what a thread that was started
/// since finds reachable is not freed before that. For several threads that keep what they find.
#[derive(Clone, Copy)]
pub struct Lasting<'p> {
    _pin: PhantomData<&'p Participant>,
}

// SAFETY: nothing but the lifetime of a borrow, during which the participant cannot unpin.
unsafe impl Send for Lasting<'_> {}
// SAFETY: as above.
unsafe impl Sync for Lasting<'_> {}

impl<'p> Pinned<'p> {
    /// The proof alone, to be handed to other threads.
    pub fn lasting(self) -> Lasting<'p> {
        Lasting { _pin: PhantomData }
    }

    /// Differs between any two pins of the process: whoever keeps a pointer from one call to the
    /// next can see whether it is still the same pin that protects it.
    #[inline]
    pub fn serial(self) -> u64 {
        self.participant.serial
    }

    /// Frees `object` with `deleter` once no participant can hold it any more.
    ///
    /// # Safety
    /// No participant that pins from now on can reach `object`; it is retired once; `deleter` is
    /// right for it, may run on any thread, and needs nothing that might be gone by then.
    pub unsafe fn retire(self, object: *mut u8, deleter: Deleter) {
        self.defer(object, deleter, false, 0);
    }

    /// The same, where participants that are pinned now may lead others to `object`, which takes so many `bytes`.
    ///
    /// # Safety
    /// Nobody can reach `object` any more once all who are pinned now have left; it is retired once;
    /// `deleter` as for [`retire`](Self::retire).
    pub unsafe fn retire_late(self, object: *mut u8, deleter: Deleter, bytes: usize) {
        self.defer(object, deleter, true, bytes);
    }

    fn defer(self, object: *mut u8, deleter: Deleter, late: bool, bytes: usize) {
        let mut limbo = self.participant.limbo.borrow_mut();
        limbo.bytes += bytes;
        limbo.retired.push_back(Retired { object, deleter, sealed: u64::MAX, late });
        if limbo.retired.len() - limbo.sealed >= BATCH {
            limbo.seal();
            limbo.collect();
        }
    }
}

/// A pin that ends with its scope.
pub struct Guard<'p>(&'p mut Participant);

impl Guard<'_> {
    /// The proof.
    #[inline]
    pub fn pinned(&self) -> Pinned<'_> {
        self.0.pinned()
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.0.unpin();
    }
}

/// Frees what tests have left, if nobody is pinned: Miri takes for a leak what is still there at the end.
#[cfg(test)]
pub(crate) fn free_what_is_left() {
    let mut participant = Participant::new();
    for _ in 0..4 {
        participant.flush();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    struct Canary(&'static AtomicUsize);
    impl Drop for Canary {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    unsafe fn free(object: *mut u8) {
        // SAFETY: every object retired in these tests is a boxed `Canary`.
        drop(unsafe { Box::from_raw(object.cast::<Canary>()) });
    }
    fn retire(pin: Pinned<'_>, freed: &'static AtomicUsize) {
        // SAFETY: a fresh box that nobody else knows.
        unsafe { pin.retire(Box::into_raw(Box::new(Canary(freed))).cast(), free) }
    }
    /// Other tests of the process pin too; they leave soon.
    fn eventually(mut done: impl FnMut() -> bool) {
        let start = std::time::Instant::now();
        while !done() {
            assert!(start.elapsed().as_secs() < 60, "nothing was freed");
            std::thread::yield_now();
        }
    }

    #[test]
    fn retired_objects_wait_for_whoever_is_pinned() {
        static FREED: AtomicUsize = AtomicUsize::new(0);
        let mut reader = Participant::new();
        let mut writer = Participant::new();
        reader.pin();
        for _ in 0..10 * BATCH {
            let guard = writer.guard();
            retire(guard.pinned(), &FREED);
        }
        assert_eq!(FREED.load(Ordering::SeqCst), 0);
        reader.unpin();
        eventually(|| {
            writer.flush();
            FREED.load(Ordering::SeqCst) == 10 * BATCH
        });
    }

    #[test]
    fn pins_of_one_hold_are_one_pin() {
        static FREED: AtomicUsize = AtomicUsize::new(0);
        let (mut reader, mut writer) = (Participant::new(), Participant::new());
        reader.pin();
        let serial = reader.pinned().serial();
        reader.hold();
        reader.unpin();
        assert!(!reader.is_pinned());
        retire(writer.guard().pinned(), &FREED);
        for _ in 0..5 {
            writer.flush();
            reader.pin();
            assert_eq!(reader.pinned().serial(), serial);
            reader.unpin();
        }
        assert_eq!(FREED.load(Ordering::SeqCst), 0);
        // One that goes on is not ended by that.
        reader.pin();
        reader.let_go();
        assert!(reader.is_pinned());
        for _ in 0..5 {
            writer.flush();
        }
        assert_eq!(FREED.load(Ordering::SeqCst), 0);
        reader.unpin();
        eventually(|| {
            writer.flush();
            FREED.load(Ordering::SeqCst) == 1
        });
        assert_ne!(reader.guard().pinned().serial(), serial);
        // Who holds nothing lets go of nothing.
        reader.let_go();
    }

    #[test]
    fn what_is_retired_late_is_freed_one_epoch_later() {
        static FREED: AtomicUsize = AtomicUsize::new(0);
        let mut writer = Participant::new();
        let pin = writer.guard();
        // SAFETY: a fresh box that nobody else knows.
        unsafe { pin.pinned().retire_late(Box::into_raw(Box::new(Canary(&FREED))).cast(), free, 8) }
        drop(pin);
        let sealed = registry().epoch.load(Ordering::SeqCst);
        eventually(|| {
            writer.flush();
            FREED.load(Ordering::SeqCst) == 1
        });
        assert!(registry().epoch.load(Ordering::SeqCst) >= sealed + 3);
    }

    #[test]
    fn what_a_dropped_participant_retired_is_freed_by_others() {
        static FREED: AtomicUsize = AtomicUsize::new(0);
        let mut gone = Participant::new();
        retire(gone.guard().pinned(), &FREED);
        drop(gone);
        let mut other = Participant::new();
        eventually(|| {
            other.flush();
            FREED.load(Ordering::SeqCst) == 1
        });
    }

    #[test]
    fn steady_retirement_frees_on_the_way() {
        static FREED: AtomicUsize = AtomicUsize::new(0);
        let mut participant = Participant::new();
        eventually(|| {
            retire(participant.guard().pinned(), &FREED);
            FREED.load(Ordering::SeqCst) > 1000
        });
    }

    #[test]
    fn serials_differ_between_pins() {
        let (mut a, mut b) = (Participant::new(), Participant::new());
        let first = a.guard().pinned().serial();
        let other = b.guard().pinned().serial();
        let second = a.guard().pinned().serial();
        assert!(first != second && first != other && second != other);
    }

    #[test]
    #[should_panic(expected = "not pinned")]
    fn no_proof_without_a_pin() {
        Participant::new().pinned();
    }
}
