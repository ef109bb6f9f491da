//! CLR: command-log recovery (PACMAN §6.2; Malviya et al., ICDE 2014, §III).
//!
//! Guarantee: the state after the last durable commit, exactly.
//!
//! 1. Batches are read in order of epochs; within a batch records come by commit timestamp.
//! 2. Each call is run again, each list of effects put in place, one transaction after the other on
//!    one thread. Of some calls that come next the rows are fetched together: the papers' schemes wait for each.
//! 3. What needs nothing but rows and inputs runs over the rows as they are ([`rerun`](crate::rerun)); what does runs as the
//!    engine runs it ([`Replayer::call`](crate::Replayer::call)).
//!
//! What it does not do: anything in parallel, any analysis of what it replays beyond whether it needs the engine.

use crate::record::Recorder;
use crate::rerun::Rerun;
use crate::{Options, Progress, Report, Target, TaskKind, at};
use planaria_base::Result;
use planaria_base::sync::Instant;
use planaria_log::{Batches, Call, RawRecord, Record, RecordBody};
use planaria_storage::Header;
use std::time::Duration;

/// Transactions between two reports of progress.
const PROGRESS_EVERY: u64 = 256;

/// Transactions whose rows are fetched before they run.
const GROUP: usize = 16;

fn changes_schema(record: &RawRecord<'_>) -> bool {
    record.effects().into_iter().flatten().any(|e| e.table().is_none() && e.place().is_none())
}

fn call_of(record: &Record) -> Option<&Call> {
    match &record.body {
        RecordBody::Call(call) => Some(call),
        RecordBody::Effects(_) => None,
    }
}

/// Runs a group over the rows as they are.
fn again<H: Header>(rerun: &mut Rerun<H>, group: &[RawRecord<'_>]) -> Result<()> {
    rerun.begin(group).map_err(|e| at(e, group[0].commit_ts()))?;
    for (n, record) in group.iter().enumerate() {
        rerun.run(n, record).map_err(|e| at(e, record.commit_ts()))?;
    }
    rerun.end();
    Ok(())
}

/// Runs a group as the engine runs transactions; the longest one took so long.
fn by_engine<T: Target>(target: &mut T, group: &[RawRecord<'_>]) -> Result<Duration> {
    let mut longest = Duration::ZERO;
    let mut last = Instant::now();
    let records = group.iter().map(|raw| raw.decode()).collect::<Result<Vec<_>>>()?;
    let calls: Vec<&Call> = records.iter().filter_map(call_of).collect();
    target.coming(&calls);
    for record in records {
        let ts = record.commit_ts;
        let done = match record.body {
            RecordBody::Call(call) => target.call(ts, call),
            RecordBody::Effects(effects) => target.effects(ts, effects),
        };
        done.map_err(|e| at(e, ts))?;
        // The first of a group answers for its fetching.
        let now = Instant::now();
        longest = longest.max(now - last);
        last = now;
    }
    Ok(longest)
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
    let mut rerun = Rerun::new(target.world());
    let (mut last, mut told) = (None, 0);
    loop {
        let began = Instant::now();
        let batch = batches.next();
        let took = began.elapsed();
        report.load += took;
        let Some(batch) = batch.transpose()? else { break };
        // One thread does it all: the next batch is read when this one is done.
        recorder.stage(TaskKind::Load, [took]);
        let began = Instant::now();
        let mut records = batch.records().peekable();
        let mut group = Vec::with_capacity(GROUP);
        while let Some(first) = records.peek() {
            let plain = rerun.can(first);
            // What comes behind what is left to the engine may mean something else.
            while group.len() < GROUP
                && let Some(next) = records.next_if(|next| rerun.can(next) == plain)
            {
                group.push(next);
                if !plain && changes_schema(&next) {
                    break;
                }
            }
            let longest = match plain {
                true => {
                    let began = Instant::now();
                    again(&mut rerun, &group).inspect_err(|_| rerun.give_up())?;
                    began.elapsed() / group.len() as u32
                }
                false => {
                    let longest = by_engine(target, &group)?;
                    rerun.enter(target.world());
                    longest
                }
            };
            report.longest_transaction = report.longest_transaction.max(longest);
            for record in group.drain(..) {
                report.calls += u64::from(record.call().is_some());
                report.transactions += 1;
                report.log_bytes += record.size() as u64;
            }
            if report.transactions / PROGRESS_EVERY > told {
                told = report.transactions / PROGRESS_EVERY;
                let (bytes_done, transactions) = (report.log_bytes, report.transactions);
                target.progress(Progress { bytes_done, bytes_total, transactions, planned: transactions });
            }
        }
        let took = began.elapsed();
        report.execute += took;
        recorder.alone(took);
        last = batch.len().checked_sub(1).map(|at| batch.get(at).commit_ts()).or(last);
    }
    if let Some(last) = last {
        target.reached(last);
    }
    report.tasks = recorder.into_tasks();
    report.barriers = report.transactions;
    report.replay = start.elapsed();
    let (bytes_done, transactions) = (bytes_total, report.transactions);
    target.progress(Progress { bytes_done, bytes_total, transactions, planned: transactions });
    Ok(report)
}
