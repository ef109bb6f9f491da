//! CLR: command-log recovery (PACMAN §6.2; Malviya et al., ICDE 2014, §III).
//!
//! Guarantee: the state after the last durable commit, exactly.
//!
//! 1. Batches are read in order of epochs; within a batch records come by commit timestamp.
//! 2. Each call is run again, each list of effects put in place, one transaction after the other on
//!    one thread.
//!
//! What it does not do: anything in parallel, any analysis of what it replays.

use crate::record::Recorder;
use crate::{Options, Progress, Report, Target, TaskKind, at};
use planaria_base::Result;
use planaria_base::sync::Instant;
use planaria_log::{Batches, RecordBody};

/// Transactions between two reports of progress.
const PROGRESS_EVERY: u64 = 256;

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
        for raw in batch.records() {
            let record = raw.decode()?;
            let began = Instant::now();
            match record.body {
                RecordBody::Call(call) => {
                    report.calls += 1;
                    target.call(record.commit_ts, call).map_err(|e| at(e, record.commit_ts))?;
                }
                RecordBody::Effects(effects) => {
                    target.effects(record.commit_ts, effects).map_err(|e| at(e, record.commit_ts))?;
                }
            }
            let took = began.elapsed();
            report.execute += took;
            report.longest_transaction = report.longest_transaction.max(took);
            report.transactions += 1;
            report.log_bytes += raw.size() as u64;
            if report.transactions.is_multiple_of(PROGRESS_EVERY) {
                let (bytes_done, transactions) = (report.log_bytes, report.transactions);
                target.progress(Progress { bytes_done, bytes_total, transactions, planned: transactions });
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
