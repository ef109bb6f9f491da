//! The whole database under a seeded scheduler: a run is repeated by its seed, and what is broken is found.

use planaria::{Database, Durability, Options, Result};
use planaria_campaign::schedule::{Report, Subject, case};
use planaria_log::Device;
use planaria_protocol::silo::SiloWith;
use std::sync::Arc;

#[test]
fn a_seed_is_a_run() {
    for seed in 1..=12 {
        let (one, other) = (case(Subject::default(), seed), case(Subject::default(), seed));
        println!("seed {seed}: {one:?}");
        assert_eq!(one, other, "seed {seed}");
        assert_eq!(one.violation, None, "seed {seed}");
    }
}

/// As many cases as one likes: `PLANARIA_CASES=100000 cargo test -p planaria-campaign --test schedule`.
#[test]
fn what_is_acknowledged_stays_and_has_an_order() {
    let cases = std::env::var("PLANARIA_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let (mut points, mut switches, mut transactions, mut wrong) = (0, 0, 0, 0);
    for seed in 100..100 + cases {
        let report = case(Subject::default(), seed);
        (points, switches) = (points + report.points, switches + report.switches);
        transactions += report.transactions;
        if let Some(what) = report.violation {
            println!("seed {seed}: {what} (trace {:016x})", report.trace);
            wrong += 1;
        }
    }
    println!(
        "{cases} cases, {transactions} transactions, {points} points, {switches} switches, {wrong} wrong"
    );
    assert_eq!(wrong, 0);
}

/// The first seed that finds something, which has to find the same again.
fn found(subject: Subject, cases: u64) -> Report {
    let wrong = |seed: &u64| case(subject, *seed).violation.is_some();
    let seed = (1..=cases).find(wrong).unwrap_or_else(|| panic!("nothing is found in {cases} cases"));
    let (one, other) = (case(subject, seed), case(subject, seed));
    assert_eq!(one, other);
    println!("seed {seed}: {one:?}");
    one
}

#[test]
fn acknowledging_before_the_sync_is_found() {
    let subject = Subject { durability: Durability::Async, ..Subject::default() };
    let what = found(subject, 40).violation.unwrap_or_default();
    assert!(what.contains("was acknowledged, and is lost"), "{what}");
}

fn reads_not_validated(options: Options, device: Arc<dyn Device>) -> Result<Database> {
    options.open_device_over::<SiloWith<false, true>>(device)
}

#[test]
fn reads_that_are_not_validated_are_found() {
    found(Subject { open: reads_not_validated, ..Subject::default() }, 200);
}

fn scans_not_validated(options: Options, device: Arc<dyn Device>) -> Result<Database> {
    options.open_device_over::<SiloWith<true, false>>(device)
}

#[test]
fn scans_that_are_not_validated_are_found() {
    found(Subject { open: scans_not_validated, ..Subject::default() }, 200);
}
