use super::*;
use planaria_base::sync::{self, Condvar, Instant, Mutex, OnceLock, channel, thread};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

fn ok<T: Send + 'static>(seed: u64, f: impl FnOnce() -> T + Send + 'static) -> Outcome<T> {
    run(Options::of_seed(seed), f).unwrap_or_else(|stuck| panic!("seed {seed}: {stuck}"))
}

/// Threads that add to a counter in two steps: what gets lost depends on who goes on where.
fn lossy() -> u64 {
    let counter = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..4 {
                    let seen = counter.load(Ordering::Relaxed);
                    sync::point("between");
                    counter.store(seen + 1, Ordering::Relaxed);
                }
            });
        }
    });
    counter.into_inner()
}

#[test]
fn a_seed_is_a_run_and_seeds_differ() {
    let (mut values, mut traces) = (BTreeSet::new(), BTreeSet::new());
    for seed in 0..100 {
        let (a, b) = (ok(seed, lossy), ok(seed, lossy));
        assert_eq!((a.trace, a.points, a.time), (b.trace, b.points, b.time), "seed {seed}");
        values.insert(a.value.expect("no panic"));
        assert_eq!(b.threads, 4);
        traces.insert(a.trace);
    }
    assert!(values.contains(&12) && values.iter().any(|v| *v < 8), "{values:?}");
    assert!(traces.len() > 80, "{}", traces.len());
}

#[test]
fn locks_exclude() {
    for seed in 0..100 {
        let sum = ok(seed, || {
            let (sum, inside) = (Mutex::new(0), AtomicU64::new(0));
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(|| {
                        for _ in 0..5 {
                            let mut sum = sum.lock();
                            assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                            sync::point("inside");
                            *sum += 1;
                            inside.fetch_sub(1, Ordering::Relaxed);
                        }
                    });
                }
            });
            sum.into_inner()
        });
        assert_eq!(sum.value.expect("no panic"), 15);
    }
}

#[test]
fn a_deadlock_is_named() {
    let (mut found, mut passed) = (0, 0);
    for seed in 0..40 {
        let crossed = || {
            let locks = Arc::new((Mutex::new(0u8), Mutex::new('a')));
            let other = locks.clone();
            let name = thread::Builder::new().name("crossing".into());
            let thread = name.spawn(move || drop((other.1.lock(), other.0.lock()))).expect("starts");
            drop((locks.0.lock(), locks.1.lock()));
            thread.join().expect("no panic");
        };
        match run(Options::of_seed(seed), crossed) {
            Ok(_) => passed += 1,
            Err(stuck) => {
                found += 1;
                assert_eq!(stuck.why, Why::Deadlock);
                let said = stuck.to_string();
                assert!(said.contains("thread 1 (crossing): locks u8 at"), "{said}");
                assert!(said.contains("thread 0 (first) has it, which locks u8 at"), "{said}");
            }
        }
    }
    assert!(found > 0 && passed > 0, "{found} {passed}");
}

#[test]
fn time_is_the_simulations() {
    let began = std::time::Instant::now();
    for seed in 0..20 {
        let run = ok(seed, || {
            let start = Instant::now();
            let other = thread::spawn(|| thread::sleep(Duration::from_secs(7200)));
            thread::sleep(Duration::from_secs(3600));
            let half = start.elapsed();
            other.join().expect("no panic");
            (half, start.elapsed(), planaria_base::wall::system_micros())
        });
        let (half, all, wall) = run.value.expect("no panic");
        assert!(half.as_secs() >= 3600 && all.as_secs() >= 7200 && all.as_secs() < 7300, "{half:?} {all:?}");
        assert_eq!(wall / 1_000_000, run.time.as_secs() as i64);
    }
    assert!(began.elapsed().as_secs() < 60);
}

#[test]
fn who_waits_is_woken() {
    for seed in 0..100 {
        let value = ok(seed, || {
            let state = Arc::new((Mutex::new(0), Condvar::new(), OnceLock::new()));
            let (sender, receiver) = channel::bounded(2);
            let threads: Vec<_> = (0..3)
                .map(|i| {
                    let (state, sender) = (state.clone(), sender.clone());
                    thread::spawn(move || {
                        let made = *state.2.get_or_init(|| {
                            sync::point("makes it");
                            i
                        });
                        (0..4).for_each(|n| sender.send(n).expect("received"));
                        drop(sender);
                        *state.0.lock() += 1;
                        state.1.notify_one();
                        thread::park_timeout(Duration::MAX);
                        made
                    })
                })
                .collect();
            drop(sender);
            let received: i32 = receiver.iter().inspect(|_| threads[0].thread().unpark()).sum();
            let mut ready = state.0.lock();
            while *ready < 3 {
                state.1.wait(&mut ready);
            }
            drop(ready);
            threads.iter().for_each(|t| t.thread().unpark());
            let made: BTreeSet<i32> = threads.into_iter().map(|t| t.join().expect("no panic")).collect();
            (received, made.len())
        });
        assert_eq!(value.value.expect("no panic"), (18, 1));
    }
}

#[test]
fn a_wait_ends_when_its_time_is_over() {
    for seed in 0..20 {
        let value = ok(seed, || {
            let (state, never) = (Mutex::new(()), Condvar::new());
            let woken = never.wait_for(&mut state.lock(), Duration::from_secs(5));
            let held = state.lock();
            let other = thread::scope(|scope| {
                let other = scope.spawn(|| state.try_lock_for(Duration::from_millis(10)).is_some());
                other.join().expect("no panic")
            });
            drop(held);
            (woken, other, state.try_lock().is_some())
        });
        assert_eq!(value.value.expect("no panic"), (false, false, true));
    }
}

#[test]
fn a_panic_is_the_threads() {
    let run = ok(1, || thread::spawn(|| panic!("as it is meant to")).join().is_err());
    assert!(run.value.expect("the first thread goes on"));
    assert!(ok(1, || panic!("so, too")).value.is_err());
}

#[test]
fn what_never_ends_is_given_up() {
    let options = Options { points_max: 1000, ..Options::of_seed(1) };
    let stuck = run(options, || {
        loop {
            sync::spin_hint();
        }
    });
    assert_eq!(stuck.expect_err("it cannot end").why, Why::Points);
}

/// In virtual time threads work beside each other, and who waits for a lock waits as long as it is held.
#[test]
fn virtual_time_goes_by_for_all_at_once() {
    let prices = Prices { yields: Duration::from_micros(1), ..Prices::default() };
    let timed = |seed, f: fn()| {
        let options = Options { prices: Some(prices), ..Options::of_seed(seed) };
        run(options, f).unwrap_or_else(|stuck| panic!("{stuck}")).time
    };
    let beside = || {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10).for_each(|_| thread::yield_now()));
            }
        });
    };
    let behind = || {
        let lock = Mutex::new(());
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let _held = lock.lock();
                    (0..10).for_each(|_| thread::yield_now());
                });
            }
        });
    };
    let sleeping = || {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| thread::sleep(Duration::from_millis(5)));
            }
        });
    };
    for seed in 0..5 {
        assert_eq!(timed(seed, beside), Duration::from_micros(10));
        assert_eq!(timed(seed, behind), Duration::from_micros(40));
        assert_eq!(timed(seed, sleeping), Duration::from_millis(5));
    }
}
