//! A small run of the experiment: every part is measured, and what is opened again is what was written.

use planaria_lab::checkpoint::{Checkpoints, Writing};
use planaria_lab::recovery::Watch;
use planaria_workload::Suite;
use std::time::Duration;

struct Quiet;

impl Watch for Quiet {
    fn step(&self, _: &str, _: u64) {}
    fn at(&self, _: u64) {}
}

#[test]
fn every_part_is_measured() {
    let dir = tempfile::tempdir().expect("a directory");
    let experiment = Checkpoints {
        suite: Suite::find("smallbank").expect("it is there"),
        size: 500,
        part: Duration::from_millis(200),
        spread: Duration::from_millis(300),
        writing: &[Writing::FullSpeed, Writing::Spread],
        turns: 1,
        workers: 2,
        in_flight: 4,
        threads: 2,
        seed: 1,
    };
    let outcome = experiment.run(dir.path(), &Quiet).expect("it runs");
    let parts: Vec<Writing> = outcome.parts.iter().map(|p| p.writing).collect();
    assert_eq!(parts, [Writing::None, Writing::FullSpeed, Writing::Spread]);
    for part in &outcome.parts {
        assert!(part.txn_per_s > 0.0 && part.p99_us >= part.p50_us, "{part:?}");
        assert_eq!(part.checkpoints > 0, part.writing != Writing::None);
    }
    assert!(outcome.written.rows >= 1000 && outcome.restart.rows >= 1000);
    assert!(outcome.restart.seconds >= outcome.restart.load_seconds);
    assert!(outcome.yardsticks.disk_write > 0.0 && outcome.yardsticks.memory_copy > 0.0);
}
