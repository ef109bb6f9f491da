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

fn experiment(suite: &str, size: u64, ad_hoc: f64, batch: usize) -> Experiment<'static> {
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

/// Without ad hoc transactions, and with them in larger batches, from one base.
fn in_pieces(suite: &str, size: u64) {
    let dir = tempfile::tempdir().expect("a directory");
    let base = experiment(suite, size, 0.0, 256).load(&Unseen).expect("loads");
    for (ad_hoc, batch) in [(0.0, 256), (30.0, 1000)] {
        let outcome =
            experiment(suite, size, ad_hoc, batch).run_on(&base, dir.path(), &Unseen).expect("runs");
        assert_eq!(outcome.wrong(), [""; 0], "{suite}");
        for r in outcome.results.iter().filter(|r| r.scheme != "clr") {
            assert_eq!(r.barriers, 0, "{suite}: {}", r.scheme);
        }
    }
}

macro_rules! suites {
    ($($suite:ident $size:literal;)*) => {
        $(#[test]
        fn $suite() {
            in_pieces(stringify!($suite), $size);
        })*
    };
}

suites! {
    tpcc 1;
    tpcb 1;
    ycsb 1000;
    smallbank 100;
    voter 6;
}
