//! Counting operations on tables, and giving the processor away in the midst of them.
//!
//! A machine with few cores has little contention: a short transaction is over before another one begins. Whoever
//! measures schemes against each other may ask for more overlap: that a thread gives way after so many operations on
//! tables, with whatever its transaction holds by then. What counts down to that counts the operations, too, so that
//! it is one subtraction and one branch at each, whether it is asked for or not. What operation it was is asked for
//! only where the thread gives way: a simulation has a price for each kind.

use planaria_base::sync::thread;

/// See the module's head.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    every: u64,
    /// Operations until the thread gives way.
    left: u64,
    /// Operations before `left` was last set.
    before: u64,
}

/// As good as for ever.
const NEVER: u64 = u64::MAX;

impl Default for Pace {
    fn default() -> Pace {
        Pace { every: NEVER, left: NEVER, before: 0 }
    }
}

impl Pace {
    /// From now on the thread gives way after so many operations; never with 0.
    pub fn set(&mut self, every: u64) {
        let every = if every == 0 { NEVER } else { every };
        *self = Pace { every, left: every, before: self.operations() };
    }

    /// Operations so far.
    pub fn operations(&self) -> u64 {
        self.before + (self.every - self.left)
    }

    /// An operation on a table begins.
    #[inline(always)]
    pub(super) fn step(&mut self, what: &'static str) {
        self.left -= 1;
        if self.left == 0 {
            self.give_way(what);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_way(&mut self, what: &'static str) {
        self.before += self.every;
        self.left = self.every;
        thread::yield_at(what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_counted_whatever_the_pace() {
        let mut pace = Pace::default();
        for every in [0, 1, 3, 0] {
            let before = pace.operations();
            pace.set(every);
            assert_eq!(pace.operations(), before);
            (0..10).for_each(|_| pace.step("gets"));
            assert_eq!(pace.operations(), before + 10);
        }
    }
}
