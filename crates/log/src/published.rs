//! What holds an epoch open.
//!
//! ```text
//! worker                                   whoever closes epoch E
//! 1. published := clock.epoch()            a. clock: E -> E+1
//! 2. draw commit_ts from the clock         b. wait until no worker has published 1..=E
//! 3. append the record to the own buffer   c. take all records of epochs <= E
//! 4. published := idle
//! ```
//!
//! No record of epoch E is missed: a worker that drew a timestamp of E did so before (a), which is a
//! read-modify-write of the same word; so (1) happens before (b), which then sees E (and waits) or
//! what came later, the idle of (4) or the next (1), before which the record was put into the buffer. A
//! worker that drew after (a) has a later epoch and may at most delay (b). Silo §4.10 has the same rule per
//! worker thread (`e_w`); here a session that does nothing holds nothing.

use planaria_base::Epoch;
use planaria_base::clock::CommitClock;
use planaria_base::sync::atomic::{AtomicU64, Ordering};

const IDLE: u64 = 0;

/// One worker's published epoch.
#[derive(Default)]
pub(crate) struct PublishedEpoch {
    published: AtomicU64,
}

impl PublishedEpoch {
    /// Holds the open epoch, and thereby all later ones, open. Call before drawing.
    #[inline]
    pub(crate) fn enter(&self, clock: &CommitClock) {
        // Release, for whoever sees this and not the idle before it: a store that follows a release in the
        // same thread does not carry it on.
        self.published.store(clock.epoch().0, Ordering::Release);
    }

    /// Holds nothing any more. Call with the record in the buffer.
    #[inline]
    pub(crate) fn leave(&self) {
        self.published.store(IDLE, Ordering::Release);
    }

    /// Whether a record of `epoch` or before may still come from here. Call with the clock beyond `epoch`.
    #[inline]
    pub(crate) fn holds(&self, epoch: Epoch) -> bool {
        let published = self.published.load(Ordering::Acquire);
        published != IDLE && published <= epoch.0
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::{Arc, Mutex};
    use planaria_base::CommitTs;

    /// Two workers commit twice while epochs are closed: each close takes exactly the records up to
    /// its epoch, and none is left behind.
    #[test]
    fn no_record_is_missed_by_the_close_of_its_epoch() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            struct Seat {
                published: PublishedEpoch,
                records: Mutex<Vec<CommitTs>>,
            }
            let clock = Arc::new(CommitClock::new(Epoch(1)));
            let seats: Arc<[Seat; 2]> = Arc::new(std::array::from_fn(|_| Seat {
                published: PublishedEpoch::default(),
                records: Mutex::new(Vec::new()),
            }));
            let workers: Vec<_> = (0..2)
                .map(|w| {
                    let (clock, seats) = (clock.clone(), seats.clone());
                    loom::thread::spawn(move || {
                        let seat = &seats[w];
                        for _ in 0..2 - w {
                            seat.published.enter(&clock);
                            let ts = clock.draw();
                            seat.records.lock().unwrap().push(ts);
                            seat.published.leave();
                        }
                    })
                })
                .collect();
            let mut taken = Vec::new();
            let mut close = |clock: &CommitClock| {
                let epoch = Epoch(clock.advance().0 - 1);
                for seat in seats.iter() {
                    while seat.published.holds(epoch) {
                        loom::thread::yield_now();
                    }
                    let mut records = seat.records.lock().unwrap();
                    for ts in records.extract_if(.., |ts| ts.epoch() <= epoch) {
                        assert_eq!(ts.epoch(), epoch, "a record came after its epoch was closed");
                        taken.push(ts);
                    }
                }
            };
            close(&clock);
            workers.into_iter().for_each(|w| w.join().unwrap());
            close(&clock);
            assert_eq!(taken.len(), 3);
        });
    }
}
