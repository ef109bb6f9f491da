//! The experiment itself, small.

use planaria::{Durability, LogKind, Scheme};
use planaria_lab::recovery::{Experiment, Length, Watch};
use planaria_workload::Suite;

struct Unseen;

impl Watch for Unseen {
    fn step(&self, _: &str, _: u64) {}
    fn at(&self, _: u64) {}
}

fn experiment(suite: &str, size: u64) -> Experiment {
    Experiment {
        suite: Suite::find(suite).expect("a suite"),
        size,
        length: Length::Transactions(400),
        workers: 2,
        schemes: Scheme::ALL.to_vec(),
        kinds: None,
        threads: vec![1, 2],
        repeat: 1,
        ad_hoc: 0.0,
        batch: Some(100),
        durability: Durability::Async,
        seed: 1,
        record_tasks: false,
    }
}

#[test]
fn every_scheme_is_measured_and_ends_where_it_must() {
    let dir = tempfile::tempdir().expect("a directory");
    let outcome = experiment("smallbank", 100).run(dir.path(), &Unseen).expect("runs");
    assert_eq!(outcome.wrong(), [""; 0]);
    for scheme in Scheme::ALL {
        let of_it: Vec<_> = outcome.results.iter().filter(|r| r.scheme == scheme.name()).collect();
        assert!(!of_it.is_empty(), "{scheme}");
        for r in of_it {
            let run = outcome.runs.iter().find(|run| run.log == r.log).expect("its run");
            assert_eq!(r.digest, run.digest);
            assert!(r.txn_per_s > 0.0 && r.speedup_over_clr.is_some_and(|x| x > 0.0));
        }
    }
    assert_eq!(outcome.run.log, "command");
    assert_eq!(outcome.run.transactions, 400);
    assert!(dir.path().read_dir().expect("lists").next().is_none(), "its logs are gone");
}

#[test]
fn ad_hoc_transactions_and_other_logs_are_measured_too() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut experiment = experiment("voter", 6);
    experiment.ad_hoc = 40.0;
    experiment.kinds = Some(vec![LogKind::Command, LogKind::Logical]);
    let outcome = experiment.run(dir.path(), &Unseen).expect("runs");
    assert_eq!(outcome.wrong(), [""; 0]);
    assert_eq!(outcome.runs.len(), 2);
    assert!(outcome.results.iter().any(|r| r.scheme == "clr" && r.log == "logical"));
}
