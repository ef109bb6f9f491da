//! `regrow` and `llr-p` with plans and pieces written by hand, against the serial replay of `clr`.
//!
//! Three tables and four procedures around a small engine: `t0` whose rows are changed, come and go;
//! `t1` with a unique index besides the primary one; `t2` which a plan reads and only logged changes of rows
//! change. Random histories are first run on the small engine itself, so that they are possible.

use crate::mini;

use mini::{Mini, Step, history, log_of, random};
use planaria_base::Epoch;
use planaria_log::LogReader;
use planaria_recovery::{Options, Report, Scheme, TaskKind};
use planaria_sim::disk::SimDisk;

fn replay(disk: &SimDisk, scheme: Scheme, options: &Options) -> Result<(Mini, Report), String> {
    let reader = LogReader::inspect(disk.device()).expect("a log");
    let mut target = Mini::new();
    let bytes = reader.summary().bytes;
    let report = scheme.replay(reader.batches(Epoch(0)), bytes, options, &mut target);
    report.map(|report| (target, report)).map_err(|e| e.message().to_owned())
}

fn options(threads: usize, batch: usize) -> Options {
    Options { threads, batch, record_tasks: true }
}

#[test]
fn every_history_ends_as_in_serial_replay() {
    for (seed, images) in [(1, 0), (2, 5), (3, 50), (4, 100), (5, 20), (6, 1)] {
        let (steps, expected) = history(seed, 1500, images);
        let disk = log_of(&steps);
        let (serial, report) = replay(&disk, Scheme::Clr, &options(1, 64)).expect("clr replays");
        assert_eq!(report.transactions as usize, steps.len());
        assert_eq!(serial.digests(), expected, "seed {seed}: clr");
        for scheme in [Scheme::Regrow, Scheme::LlrP] {
            for (threads, batch) in [(1, 1 << 16), (2, 100), (3, 1), (16, 7), (4, 1 << 20)] {
                let what =
                    format!("seed {seed}, {images} % images, {scheme}, {threads} threads, batch {batch}");
                let (target, report) = replay(&disk, scheme, &options(threads, batch)).expect(&what);
                assert_eq!(target.digests(), expected, "{what}");
                target.check().unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!(report.transactions as usize, steps.len(), "{what}");
                assert_eq!(target.reached, serial.reached, "{what}");
                assert_eq!(target.observed(), serial.observed(), "{what}");
                if scheme == Scheme::Regrow {
                    assert_eq!(report.barriers, 0, "{what}: every call has a plan");
                }
            }
        }
    }
}

#[test]
fn recorded_tasks_form_a_graph_without_cycles() {
    let (steps, _) = history(9, 2000, 10);
    let disk = log_of(&steps);
    let (_, report) = replay(&disk, Scheme::Regrow, &options(2, 300)).expect("replays");
    let count = |kind| report.tasks.iter().filter(|t| t.kind == kind).count();
    assert!(count(TaskKind::Plan) > 1 && count(TaskKind::Execute) > 3);
    for (id, task) in report.tasks.iter().enumerate() {
        assert_eq!(task.id as usize, id);
        assert!(task.predecessors.iter().all(|p| *p < task.id), "{task:?}");
        let planned = task.predecessors.iter().any(|p| report.tasks[*p as usize].kind == TaskKind::Plan);
        assert!(task.kind != TaskKind::Execute || planned, "{task:?}");
    }
}

#[test]
fn an_error_names_its_transaction_and_ends_every_thread() {
    let (mut steps, _) = history(11, 600, 10);
    // The row is there already.
    steps.insert(300, Step::Insert(0, vec![1, 5]));
    steps.insert(300, Step::Insert(0, vec![1, 5]));
    let disk = log_of(&steps);
    for threads in [1, 2, 8] {
        for scheme in [Scheme::Regrow, Scheme::LlrP] {
            let error = replay(&disk, scheme, &options(threads, 64)).err().expect("fails");
            assert!(error.contains("has already"), "{error}");
        }
    }
}

#[test]
fn random_numbers_are_the_same_in_every_run() {
    let (mut a, mut b) = (random(5), random(5));
    assert!((0..10).all(|_| a(1000) == b(1000)));
}

#[test]
fn the_first_segment_is_divided_before_it_is_executed() {
    let (steps, _) = history(9, 2000, 0);
    let disk = log_of(&steps);
    let (_, report) = replay(&disk, Scheme::Regrow, &options(2, 1 << 16)).expect("replays");
    let mut first = report.tasks.iter().filter(|t| t.kind == TaskKind::Execute && t.segment == 0);
    assert!(first.any(|t| t.partition > 0), "by its own samples");
}
