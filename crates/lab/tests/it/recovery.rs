//! The experiment itself, small.

use planaria::{Durability, LogKind, Scheme};
use planaria_lab::recovery::{Experiment, Length, Measured, Watch};
use planaria_lab::simulate::TaskGraph;
use planaria_workload::Suite;

struct Unseen;

impl Watch for Unseen {
    fn step(&self, _: &str, _: u64) {}
    fn at(&self, _: u64) {}
}

fn experiment(suite: &str, size: u64) -> Experiment<'static> {
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

/// What is wrong with the tasks that a recovery recorded.
fn wrong_with_tasks(r: &Measured) -> Option<String> {
    for (place, task) in (0u32..).zip(&r.tasks) {
        if task.id != place || task.predecessors.iter().any(|p| *p >= place) {
            return Some(format!("task {place} is out of place: {task:?}"));
        }
    }
    let has = |kind: &str| r.tasks.iter().any(|t| t.kind.name() == kind);
    if !has("load") || !(has("execute") || has("barrier")) {
        return Some("nothing was loaded, or nothing executed".into());
    }
    // The phases are timed apart from the tasks, which they contain; what is not in tasks is overhead.
    let graph = TaskGraph::new("a test".into(), r.scheme, r.threads, 400, &r.tasks);
    let worked = (r.phases.load + r.phases.plan + r.phases.execute + r.phases.index) * 1e9;
    let covered = graph.work_ns() as f64 / worked;
    if !(0.3..1.5).contains(&covered) {
        return Some(format!("the tasks cover {covered:.2} of the work"));
    }
    let (one, many) = (graph.makespan_ns(1, 0), graph.makespan_ns(64, 0));
    (one != graph.work_ns() || many > one || many < graph.span_ns())
        .then(|| format!("{one} ns alone, {many} ns by many"))
}

#[test]
fn every_scheme_records_tasks_that_cover_its_work() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut experiment = experiment("smallbank", 100);
    experiment.record_tasks = true;
    // Enough that what is done once (analysis, threads) does not count.
    experiment.length = Length::Transactions(20_000);
    experiment.batch = None;
    experiment.threads = vec![2];
    let mut wrong = Vec::new();
    // A machine that does something else meanwhile makes tasks and phases differ: another try then.
    for _ in 0..5 {
        let outcome = experiment.run(dir.path(), &Unseen).expect("runs");
        assert_eq!(outcome.wrong(), [""; 0]);
        let of =
            |r: &Measured| Some(format!("{}, {} threads: {}", r.scheme, r.threads, wrong_with_tasks(r)?));
        wrong = outcome.results.iter().filter_map(of).collect();
        if wrong.is_empty() {
            break;
        }
    }
    assert_eq!(wrong, [""; 0]);
}
