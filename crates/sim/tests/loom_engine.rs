//! Models of what the engine and replay do with a few words and no lock. The gate's words are the engine's own file;
//! the others are written down here once more, step by step as they stand there, since those rooms are too big for
//! the model checker: who changes one changes the other.
//!
//! loom takes sequentially consistent loads and stores for acquire and release, but knows fences: where the rooms
//! rely on the order of a store and a load of another word, a fence stands between them here.
//!
//! `RUSTFLAGS="--cfg loom" cargo test -p planaria-sim --release --test loom_engine`
#![cfg(loom)]

use loom::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

fn model(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(f);
}

/// What the engine's file is made of here.
mod atomic {
    pub use loom::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    pub fn store_before_load() {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// The engine's own.
#[path = "../../planaria/src/engine/gate/slots.rs"]
mod slots;

/// `planaria::engine::gate`: what transactions read, a schema change writes with nobody inside; also one that
/// opens the gate again, for those who come meanwhile, and closes it once more.
#[test]
fn a_schema_change_is_alone() {
    struct Gate {
        slots: slots::Slots,
        /// Relaxed: who misses a change that he should have seen reads the old value.
        catalog: AtomicU32,
        changing: AtomicBool,
    }
    impl Gate {
        /// `try_enter`, a look at the catalog, `leave`.
        fn transaction(&self, worker: usize) -> Option<u32> {
            self.slots.try_enter(worker).then(|| {
                assert!(!self.changing.load(Ordering::Relaxed), "not alone");
                let seen = self.catalog.load(Ordering::Relaxed);
                self.slots.leave(worker);
                seen
            })
        }
        /// `close_patiently`, a change, `open`.
        fn change(&self) {
            self.slots.close();
            if (0..2).any(|worker| self.slots.visit(worker).is_some()) {
                self.slots.reopen();
                thread::yield_now();
                self.slots.close();
            }
            for worker in 0..2 {
                while self.slots.visit(worker).is_some() {
                    thread::yield_now();
                }
            }
            self.changing.store(true, Ordering::Relaxed);
            self.catalog.store(self.catalog.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
            self.changing.store(false, Ordering::Relaxed);
            self.slots.reopen();
            assert!(!self.slots.is_closed());
        }
    }

    model(3, || {
        let gate = Arc::new(Gate {
            slots: slots::Slots::new(2),
            catalog: AtomicU32::new(0),
            changing: AtomicBool::new(false),
        });
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let gate = gate.clone();
                thread::spawn(move || [(); 2].map(|()| gate.transaction(worker)))
            })
            .collect();
        gate.change();
        for worker in workers {
            let seen = worker.join().unwrap();
            assert!(seen.iter().flatten().is_sorted(), "an old catalog after a new one: {seen:?}");
        }
        assert_eq!(gate.transaction(0), Some(1));
    });
}

/// `planaria::engine::counters`: who has seen a commit's rows finds its worker marked, or its epoch.
#[test]
fn whoever_saw_rows_finds_the_mark_of_their_commit() {
    const COMMITTING: u64 = u64::MAX;
    model(3, || {
        let shared = Arc::new((AtomicU64::new(0), AtomicU64::new(0)));
        let worker = {
            let shared = shared.clone();
            thread::spawn(move || {
                let (newest, row) = &*shared;
                for epoch in 1..=2 {
                    newest.store(COMMITTING, Ordering::Release);
                    row.store(epoch, Ordering::Release);
                    newest.store(epoch, Ordering::Release);
                }
            })
        };
        let (newest, row) = &*shared;
        let seen = row.load(Ordering::Acquire);
        assert!(newest.load(Ordering::Acquire) >= seen);
        worker.join().unwrap();
    });
}

/// `planaria::engine::sequence`: values that are drawn at once where a cycle ends, or another sets the sequence, are
/// different ones of their generation.
#[test]
fn no_value_of_a_sequence_is_given_twice_in_a_cycle() {
    const LAST: i64 = 3;
    struct Sequence {
        next: AtomicI64,
        exhausted: AtomicBool,
        version: AtomicU64,
        turning: Mutex<()>,
    }
    impl Sequence {
        fn stand(&self, generation: u64, next: i64) {
            self.version.store(generation * 2 + 1, Ordering::SeqCst);
            self.next.store(next, Ordering::SeqCst);
            self.exhausted.store(false, Ordering::SeqCst);
            self.version.store(generation * 2, Ordering::SeqCst);
        }
        fn turn(&self) -> Option<(u64, i64)> {
            let _turning = self.turning.lock().unwrap();
            let generation = self.version.load(Ordering::SeqCst) / 2;
            if self.exhausted.load(Ordering::SeqCst) {
                self.stand(generation + 1, 1);
                return None;
            }
            if self.next.load(Ordering::SeqCst) < LAST {
                return None;
            }
            self.exhausted.store(true, Ordering::SeqCst);
            Some((generation, LAST))
        }
        fn next(&self) -> (u64, i64) {
            loop {
                let version = self.version.load(Ordering::SeqCst);
                let value = self.next.load(Ordering::SeqCst);
                let plain = version % 2 == 0 && !self.exhausted.load(Ordering::SeqCst);
                if value >= LAST || !plain {
                    match self.turn() {
                        Some(last) => return last,
                        None => continue,
                    }
                }
                let weak = (Ordering::SeqCst, Ordering::SeqCst);
                if self.next.compare_exchange(value, value + 1, weak.0, weak.1).is_ok()
                    && self.version.load(Ordering::SeqCst) == version
                {
                    return (version / 2, value);
                }
            }
        }
        fn set(&self, value: i64) {
            let _turning = self.turning.lock().unwrap();
            let generation = self.version.load(Ordering::SeqCst) / 2;
            self.stand(generation + 1, value);
        }
    }
    for sets in [false, true] {
        model(if sets { 2 } else { 3 }, move || {
            let sequence = Arc::new(Sequence {
                next: AtomicI64::new(LAST - 1),
                exhausted: AtomicBool::new(false),
                version: AtomicU64::new(0),
                turning: Mutex::new(()),
            });
            let other = {
                let sequence = sequence.clone();
                thread::spawn(move || [sequence.next(), sequence.next()])
            };
            let first = sequence.next();
            if sets {
                sequence.set(LAST - 1);
            }
            let mut values = vec![first, sequence.next()];
            values.extend(other.join().unwrap());
            values.sort_unstable();
            assert!(values.windows(2).all(|two| two[0] != two[1]), "{values:?}");
        });
    }
}

/// `planaria_recovery::clr_p`: the parts of a piece meet; the last to come runs it, and none of the others sleeps on.
#[test]
fn parts_that_meet_all_go_on() {
    struct Meeting {
        came: AtomicU32,
        done: AtomicU32,
        waiting: AtomicUsize,
        /// Of the schedule, by part: whether it waits.
        parts: Mutex<[bool; 2]>,
        changed: Condvar,
        /// How often it ran; relaxed, as above.
        piece: AtomicU32,
    }
    impl Meeting {
        fn wake(&self, parts: &mut [bool; 2]) {
            *parts = [false; 2];
            self.waiting.store(0, Ordering::SeqCst);
            self.changed.notify_all();
        }
        fn part(&self, part: usize) {
            // `Worker::pieces`
            if self.came.fetch_add(1, Ordering::AcqRel) + 1 == 2 {
                self.piece.fetch_add(1, Ordering::Relaxed);
                self.done.store(1, Ordering::SeqCst);
                fence(Ordering::SeqCst);
                // `Shared::run`: met
                if self.waiting.load(Ordering::SeqCst) > 0 {
                    self.wake(&mut self.parts.lock().unwrap());
                }
            }
            while self.done.load(Ordering::SeqCst) == 0 {
                // `Schedule::waits`
                let mut parts = self.parts.lock().unwrap();
                self.waiting.fetch_add(1, Ordering::SeqCst);
                parts[part] = true;
                fence(Ordering::SeqCst);
                if self.done.load(Ordering::SeqCst) > 0 {
                    self.wake(&mut parts);
                }
                while parts[part] {
                    parts = self.changed.wait(parts).unwrap();
                }
            }
            assert_eq!(self.piece.load(Ordering::Relaxed), 1);
        }
    }
    model(3, || {
        let meeting = Arc::new(Meeting {
            came: AtomicU32::new(0),
            done: AtomicU32::new(0),
            waiting: AtomicUsize::new(0),
            parts: Mutex::new([false; 2]),
            changed: Condvar::new(),
            piece: AtomicU32::new(0),
        });
        let other = {
            let meeting = meeting.clone();
            thread::spawn(move || meeting.part(1))
        };
        meeting.part(0);
        other.join().unwrap();
    });
}
