//! What a connection takes of the memory budget: messages that have not come as a whole, answers that have not
//! left, portals, prepared statements.
//!
//! It is weighed in steps of [`STEP`], so that who takes little is not weighed at all: small messages and answers
//! go on where the memory is used up. Who takes more then has an answer that waits in a file instead of memory
//! ([`overflow`](crate::overflow)), a statement that fails with 53200, or, where a message would be too much, is
//! sent away with it.

use parking_lot::Mutex;
use planaria::Result;
use planaria::serving::Hold;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What is less is not told.
pub(crate) const STEP: usize = 64 << 10;

/// What is weighed.
#[derive(Clone, Copy)]
pub(crate) enum Taken {
    Input,
    Reply,
    Portals,
    Statements,
    Copy,
}

/// See the module's head. Its connection alone writes to it.
pub(crate) struct Scales {
    hold: Mutex<Hold>,
    parts: [AtomicUsize; 5],
    told: AtomicUsize,
}

impl Scales {
    pub(crate) fn new(hold: Hold) -> Scales {
        Scales { hold: Mutex::new(hold), parts: Default::default(), told: AtomicUsize::new(0) }
    }

    /// A part takes so many bytes. 53200 where it is more than before and there is no memory: then it counts as
    /// before, and has to become less.
    #[inline]
    pub(crate) fn weigh(&self, part: Taken, bytes: usize) -> Result<()> {
        let part = &self.parts[part as usize];
        let before = part.load(Ordering::Relaxed);
        if before == bytes {
            return Ok(());
        }
        part.store(bytes, Ordering::Relaxed);
        let all = self.all();
        if all.abs_diff(self.told.load(Ordering::Relaxed)) < STEP {
            return Ok(());
        }
        self.tell(all).inspect_err(|_| part.store(before, Ordering::Relaxed))
    }

    /// The same for what is there already, and is not refused.
    #[inline]
    pub(crate) fn note(&self, part: Taken, bytes: usize) {
        self.parts[part as usize].store(bytes, Ordering::Relaxed);
        let all = self.all();
        if all.abs_diff(self.told.load(Ordering::Relaxed)) >= STEP {
            self.hold.lock().note(all as u64);
            self.told.store(all, Ordering::Relaxed);
        }
    }

    fn all(&self) -> usize {
        self.parts.iter().map(|part| part.load(Ordering::Relaxed)).sum()
    }

    #[cold]
    fn tell(&self, all: usize) -> Result<()> {
        self.hold.lock().set(all as u64)?;
        self.told.store(all, Ordering::Relaxed);
        Ok(())
    }
}
