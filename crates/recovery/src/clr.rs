//! CLR: command-log recovery (PACMAN §6.2; Malviya et al., ICDE 2014, §III).
//!
//! Guarantee: the state after the last durable commit, exactly.
//!
//! 1. Batches are read in order of epochs; within a batch records come by commit timestamp.
//! 2. Each call is run again, each list of effects put in place, one transaction after the other on
//!    one thread. Of some calls that come next the rows are fetched together ([`Replayer::coming`](crate::Replayer::coming)): the
//!    papers' schemes wait for each.
//!
//! What it does not do: anything in parallel, any analysis of what it replays.

use crate::record::Recorder;
use crate::{Options, Progress, Report, Target, TaskKind, at};
use planaria_base::Result;
use planaria_base::sync::Instant;
use planaria_log::{Batches, Call, Effect, Record, RecordBody};
use std::collections::VecDeque;

/// Transactions between two reports of progress.
const PROGRESS_EVERY: u64 = 256;

/// Transactions whose calls are told of before they run.
const GROUP: usize = 16;

fn changes_schema(record: &Record) -> bool {
    match &record.body {
        RecordBody::Effects(effects) => effects.iter().any(|e| matches!(e, Effect::Schema(_))),
        RecordBody::Call(_) => false,
    }
}

fn call_of(record: &Record) -> Option<&Call> {
    match &record.body {
        RecordBody::Call(call) => Some(call),
        RecordBody::Effects(_) => None,
    }
}

/// Replays `batches`, which hold `bytes_total` bytes of records.
pub fn replay<T: Target>(
    mut batches: Batches,
    bytes_total: u64,
    options: &Options,
    target: &mut T,
) -> Result<Report> {
    let start = Instant::now();
    let mut report = Report { threads: 1, ..Report::default() };
    let recorder = Recorder::new(options.record_tasks);
    loop {
        let began = Instant::now();
        let batch = batches.next();
        let took = began.elapsed();
        report.load += took;
        let Some(batch) = batch.transpose()? else { break };
        // One thread does it all: the next batch is read when this one is done.
        recorder.stage(TaskKind::Load, [took]);
        let executed = report.execute;
        let mut records = batch.records().peekable();
        let mut group = VecDeque::with_capacity(GROUP);
        while records.peek().is_some() {
            let mut last = Instant::now();
            // What comes behind a change of the schema means something else.
            while group.len() < GROUP && !group.back().is_some_and(|(record, _)| changes_schema(record)) {
                let Some(raw) = records.next() else { break };
                group.push_back((raw.decode()?, raw.size() as u64));
            }
            let calls: Vec<&Call> = group.iter().filter_map(|(record, _)| call_of(record)).collect();
            target.coming(&calls);
            while let Some((record, size)) = group.pop_front() {
                match record.body {
                    RecordBody::Call(call) => {
                        report.calls += 1;
                        target.call(record.commit_ts, call).map_err(|e| at(e, record.commit_ts))?;
                    }
                    RecordBody::Effects(effects) => {
                        target.effects(record.commit_ts, effects).map_err(|e| at(e, record.commit_ts))?;
                    }
                }
                // The first of a group answers for its fetching.
                let now = Instant::now();
                let took = now - last;
                last = now;
                report.execute += took;
                report.longest_transaction = report.longest_transaction.max(took);
                report.transactions += 1;
                report.log_bytes += size;
                if report.transactions.is_multiple_of(PROGRESS_EVERY) {
                    let (bytes_done, transactions) = (report.log_bytes, report.transactions);
                    target.progress(Progress {
                        bytes_done,
                        bytes_total,
                        transactions,
                        planned: transactions,
                    });
                }
            }
        }
        recorder.alone(report.execute - executed);
    }
    report.tasks = recorder.into_tasks();
    report.barriers = report.transactions;
    report.replay = start.elapsed();
    let (bytes_done, transactions) = (bytes_total, report.transactions);
    target.progress(Progress { bytes_done, bytes_total, transactions, planned: transactions });
    Ok(report)
}
