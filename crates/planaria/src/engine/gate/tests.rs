use super::*;
use planaria_sim::scheduler;

#[test]
fn a_schema_change_is_alone() {
    let gate = Gate::new();
    let (inside, changing, changes) = (AtomicU32::new(0), AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                let worker = gate.sit_down().expect("a slot");
                while changes.load(Ordering::SeqCst) < 100 {
                    assert!(gate.enter_patiently(worker, &mut || true));
                    inside.fetch_add(1, Ordering::SeqCst);
                    assert!(!changing.load(Ordering::SeqCst));
                    inside.fetch_sub(1, Ordering::SeqCst);
                    gate.leave(worker);
                }
                gate.give_back_slot(worker);
            });
        }
        for _ in 0..100 {
            let exclusive = gate.close();
            changing.store(true, Ordering::SeqCst);
            assert_eq!(inside.load(Ordering::SeqCst), 0);
            changing.store(false, Ordering::SeqCst);
            drop(exclusive);
            changes.fetch_add(1, Ordering::SeqCst);
        }
    });
}

#[test]
fn whoever_waits_can_give_up() {
    let gate = Gate::new();
    let worker = gate.sit_down().expect("a slot");
    let twice = |left: &mut u32| {
        *left = left.saturating_sub(1);
        *left > 0
    };
    let alone = gate.close();
    let mut left = 2;
    assert!(!gate.try_enter(worker) && !gate.enter_patiently(worker, &mut || twice(&mut left)));
    left = 2;
    assert!(!gate.close_patiently(&mut || twice(&mut left)), "another has closed it");
    drop(alone);
    assert!(gate.try_enter(worker));
    left = 2;
    assert!(!gate.close_patiently(&mut || twice(&mut left)), "somebody is inside");
    gate.leave(worker);
    drop(gate.close());
    assert!(gate.enter_patiently(worker, &mut || true));
}

/// Enters, and says how long that took.
fn entering(gate: &Gate, worker: WorkerId) -> Duration {
    let began = Instant::now();
    assert!(gate.enter_patiently(worker, &mut || true));
    let took = began.elapsed();
    gate.leave(worker);
    took
}

/// Runs it in simulated time, under some schedules: how busy the machine is does not matter.
fn in_simulated_time(test: fn()) {
    for seed in 1..=10 {
        let run = scheduler::run(scheduler::Options::of_seed(seed), test);
        run.unwrap_or_else(|stuck| panic!("seed {seed}: {stuck}"))
            .value
            .unwrap_or_else(|_| panic!("seed {seed}: see above"));
    }
}

#[test]
fn behind_a_long_statement_nobody_waits_for_a_change() {
    in_simulated_time(a_change_behind_a_long_statement);
}

fn a_change_behind_a_long_statement() {
    let gate = Gate::new();
    let [long, other] = [(); 2].map(|()| gate.sit_down().expect("a slot"));
    let changed = AtomicBool::new(false);
    assert!(gate.try_enter(long));
    thread::scope(|scope| {
        scope.spawn(|| {
            drop(gate.close());
            changed.store(true, Ordering::SeqCst);
        });
        // By then the windows would have grown.
        let end = Instant::now() + Duration::from_secs(2);
        let (mut waited, mut longest) = (Duration::ZERO, Duration::ZERO);
        while Instant::now() < end {
            let took = entering(&gate, other);
            (waited, longest) = (waited + took, longest.max(took));
            thread::sleep(GLANCE);
        }
        let early = changed.load(Ordering::SeqCst);
        // Before anything is asserted: the change waits for that.
        gate.leave(long);
        assert!(!early);
        assert!(longest < WINDOW_MAX && waited < Duration::from_secs(1), "{waited:?}, {longest:?}");
        let begun = Instant::now();
        while !changed.load(Ordering::SeqCst) {
            assert!(begun.elapsed() < Duration::from_secs(10), "and then it comes");
            thread::sleep(GLANCE);
        }
    });
}

#[test]
fn a_flood_of_short_statements_does_not_keep_a_change_waiting() {
    in_simulated_time(a_flood_of_short_statements);
}

/// Somebody is inside at every moment, none of them for long.
fn a_flood_of_short_statements() {
    let gate = Gate::new();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for n in 0..4 {
            let (gate, stop) = (&gate, &stop);
            scope.spawn(move || {
                let worker = gate.sit_down().expect("a slot");
                thread::sleep(Duration::from_millis(20 * n));
                while !stop.load(Ordering::SeqCst) {
                    assert!(gate.enter_patiently(worker, &mut || true));
                    thread::sleep(Duration::from_millis(80));
                    gate.leave(worker);
                }
            });
        }
        thread::sleep(Duration::from_millis(100));
        let begun = Instant::now();
        let came = gate.close_patiently(&mut || begun.elapsed() < Duration::from_secs(10));
        if came {
            gate.open();
        }
        stop.store(true, Ordering::SeqCst);
        assert!(came);
    });
}
