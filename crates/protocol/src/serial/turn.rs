//! One at a time: a word that whoever is at it has taken.
//!
//! Taking it acquires what was done before it was given back, so that rows, indexes and undo can be read and
//! written without anything else. Loom checks it, below.

use crate::Backoff;
use planaria_base::sync::atomic::{AtomicBool, Ordering};

/// See the module's head.
pub(super) struct Turn(AtomicBool);

impl Turn {
    pub(super) fn new() -> Turn {
        Turn(AtomicBool::new(false))
    }

    /// Takes it, unless somebody has it.
    #[inline]
    pub(super) fn try_take(&self) -> bool {
        self.0.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Takes it, as soon as it is free.
    #[inline]
    pub(super) fn take(&self, worker: usize) {
        if !self.try_take() {
            let mut backoff = Backoff::new(worker as u64);
            while self.is_taken() || !self.try_take() {
                backoff.wait();
            }
        }
    }

    /// A guess, which takes no cache line from who has it.
    fn is_taken(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn give_back(&self) {
        self.0.store(false, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;
    use planaria_base::sync::atomic::AtomicU64;

    /// What the turn is for: two words that are equal whenever nobody is at it, written as rows are.
    #[derive(Default)]
    struct Rows([AtomicU64; 2]);

    impl Rows {
        fn read(&self) -> u64 {
            let [a, b] = [0, 1].map(|i: usize| self.0[i].load(Ordering::Relaxed));
            assert_eq!(a, b, "somebody else is at it, or was and is not seen");
            a
        }
        fn count_up(&self) {
            let was = self.read();
            self.0.iter().for_each(|word| word.store(was + 1, Ordering::Relaxed));
        }
    }

    /// Counts up once for each time that the turn was free, of so many. Waiting is to try again, so nothing but
    /// trying is of interest, and loom wants an end.
    fn tries(turn: &Turn, rows: &Rows, times: usize) -> u64 {
        let mut taken = 0;
        for _ in 0..times {
            if turn.try_take() {
                rows.count_up();
                turn.give_back();
                taken += 1;
            }
        }
        taken
    }

    #[test]
    fn one_at_a_time_and_each_sees_the_one_before() {
        loom::model(|| {
            let shared = Arc::new((Turn::new(), Rows::default()));
            let others = [2, 1].map(|times| {
                let shared = shared.clone();
                thread::spawn(move || tries(&shared.0, &shared.1, times))
            });
            let mut taken = tries(&shared.0, &shared.1, 1);
            taken += others.into_iter().map(|other| other.join().unwrap()).sum::<u64>();
            assert!(taken > 0, "it was free");
            assert!(shared.0.try_take(), "it is given back");
            assert_eq!(shared.1.read(), taken, "nothing is lost");
        });
    }
}
