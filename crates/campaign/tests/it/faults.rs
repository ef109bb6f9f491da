//! A fixed part of the fault campaign; `planaria lab faults` runs as much as one likes.

use planaria_campaign::faults::{Extent, Kind, run};

fn strike(kind: Kind, extent: Extent) {
    let tally = run(kind, extent, &mut |_| ());
    println!(
        "{kind}: {} cases, {} held, {} detected, {} tail",
        tally.cases, tally.held, tally.detected, tally.tail
    );
    for failure in &tally.failures {
        println!(
            "{kind} --seed {} --steps {} --case {}: {}",
            failure.seed, extent.steps, failure.case, failure.what
        );
    }
    assert!(
        tally.failures.is_empty(),
        "{kind}: {} of {} cases went wrong",
        tally.failures.len(),
        tally.cases
    );
    assert!(tally.cases > 0);
}

const SPREAD: Extent = Extent { seed: 1, steps: 30, cases: 40, per_seed: 10, seeds: 0 };

#[test]
fn power_fails_at_any_operation() {
    strike(Kind::Crash, Extent { cases: 120, per_seed: 30, ..SPREAD });
}

#[test]
fn power_fails_within_recovery_again_and_again() {
    strike(Kind::Recovery, SPREAD);
}

#[test]
fn a_sync_fails() {
    strike(Kind::Sync, SPREAD);
}

#[test]
fn a_write_fails() {
    strike(Kind::Write, SPREAD);
}

#[test]
fn a_read_fails() {
    strike(Kind::Read, SPREAD);
}

#[test]
fn the_disk_is_full() {
    strike(Kind::Full, SPREAD);
}

#[test]
fn a_bit_flips() {
    strike(Kind::Flip, Extent { cases: 200, per_seed: 50, ..SPREAD });
}

/// `planaria lab faults --kind byte --steps 6 --seeds 1 --cases 10000000` changes all of them.
#[test]
fn a_byte_is_another() {
    strike(Kind::Byte, Extent { steps: 6, cases: 300, per_seed: 100, ..SPREAD });
}

#[test]
fn a_file_is_not_what_it_was() {
    strike(Kind::File, Extent { cases: 100, per_seed: 25, ..SPREAD });
}

#[test]
fn a_write_goes_astray() {
    strike(Kind::Misdirected, SPREAD);
}

#[test]
fn the_clock_jumps() {
    strike(Kind::Clock, Extent { cases: 10, ..SPREAD });
}

#[test]
fn a_backup_is_cut_short() {
    strike(Kind::Backup, SPREAD);
}

#[test]
fn power_fails_under_threads_that_take_turns() {
    strike(Kind::Schedule, Extent { cases: 60, per_seed: 30, ..SPREAD });
}

#[test]
fn power_fails_under_threads() {
    strike(Kind::Storm, Extent { cases: 12, per_seed: 4, ..SPREAD });
}
