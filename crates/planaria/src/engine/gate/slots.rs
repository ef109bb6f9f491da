//! The words of the gate: who stands inside, and whether it is closed. The rest of the gate is waiting.
//!
//! The model checker runs this file as it stands (`sim/tests/loom_engine.rs`), with atomics of its own; so they come
//! from whoever includes it.

use super::atomic::{AtomicBool, AtomicU64, Ordering, store_before_load};

/// A worker's own line: how often it went in and out, so odd while it stands inside.
#[repr(align(128))]
struct Slot(AtomicU64);

/// See the module's head.
pub(crate) struct Slots {
    slots: Box<[Slot]>,
    closed: AtomicBool,
}

impl Slots {
    pub(crate) fn new(n: usize) -> Slots {
        Slots { slots: (0..n).map(|_| Slot(AtomicU64::new(0))).collect(), closed: AtomicBool::new(false) }
    }

    /// Passes the gate if it is open: whether it was.
    #[inline]
    pub(crate) fn try_enter(&self, n: usize) -> bool {
        let Slot(visits) = &self.slots[n];
        // Nobody else writes it.
        visits.store((visits.load(Ordering::Relaxed) + 1) | 1, Ordering::SeqCst);
        store_before_load();
        let open = !self.closed.load(Ordering::SeqCst);
        if !open {
            self.leave(n);
        }
        open
    }

    /// Leaves, whoever is inside.
    #[inline]
    pub(crate) fn leave(&self, n: usize) {
        let Slot(visits) = &self.slots[n];
        visits.store((visits.load(Ordering::Relaxed) + 1) & !1, Ordering::Release);
    }

    /// The visit that is under way: another number each time.
    pub(crate) fn visit(&self, n: usize) -> Option<u64> {
        Some(self.slots[n].0.load(Ordering::SeqCst)).filter(|visits| visits % 2 == 1)
    }

    /// Nobody passes from now on. Who is found not to be inside then is not, and was not since.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        store_before_load();
    }

    pub(crate) fn reopen(&self) {
        self.closed.store(false, Ordering::SeqCst);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }
}
