//! PACMAN's schemes on the suites: where they must end, and that the suites' procedures are replayed in
//! pieces, not one at a time.

use planaria::{Durability, LogKind, Scheme};
use planaria_lab::recovery::{Experiment, Length, Watch};
use planaria_workload::Suite;

struct Unseen;

impl Watch for Unseen {
    fn step(&self, _: &str, _: u64) {}
    fn at(&self, _: u64) {}
}

fn schemes() -> Vec<Scheme> {
    Scheme::ALL.iter().copied().filter(|s| s.name().starts_with("clr")).collect()
}

fn experiment(suite: &str, size: u64, ad_hoc: f64, batch: usize) -> Experiment {
    Experiment {
        suite: Suite::find(suite).expect("a suite"),
        size,
        length: Length::Transactions(1000),
        workers: 2,
        schemes: schemes(),
        kinds: Some(vec![LogKind::Command]),
        threads: vec![1, 8],
        repeat: 1,
        ad_hoc,
        batch: Some(batch),
        durability: Durability::Async,
        seed: 7,
        record_tasks: true,
    }
}

#[test]
fn the_suites_in_pieces() {
    for (suite, size) in [("smallbank", 100), ("tpcc", 1), ("tpcb", 1), ("voter", 6), ("ycsb", 1000)] {
        for (ad_hoc, batch) in [(0.0, 256), (30.0, 1000)] {
            let dir = tempfile::tempdir().expect("a directory");
            let outcome = experiment(suite, size, ad_hoc, batch).run(dir.path(), &Unseen).expect("runs");
            assert_eq!(outcome.wrong(), [""; 0], "{suite}");
            for r in outcome.results.iter().filter(|r| r.scheme != "clr") {
                assert_eq!(r.barriers, 0, "{suite}: {}", r.scheme);
            }
        }
    }
}
