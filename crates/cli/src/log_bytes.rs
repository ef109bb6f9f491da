//! What logging costs in bytes: the same transactions under every log kind.

use crate::print;
use planaria::lab::LabDatabase;
use planaria::{Database, Error, LogKind, Result};
use planaria_workload::Suite;
use serde::Serialize;
use std::path::Path;

/// The kinds compared, in the order of the table.
const KINDS: [LogKind; 5] =
    [LogKind::Command, LogKind::Adaptive, LogKind::Physiological, LogKind::Logical, LogKind::Physical];

/// The log of the same transactions under one log kind.
#[derive(Serialize)]
pub struct LogBytes {
    /// The log kind.
    kind: String,
    /// Transactions run.
    transactions: u64,
    /// Of these, records in the log: those that changed something.
    records: u64,
    /// Bytes of records.
    bytes: u64,
    /// Bytes a transaction.
    bytes_per_txn: f64,
    /// Bytes a record.
    bytes_per_record: f64,
    /// Compared with the log of calls.
    times_command: f64,
}

/// Runs the workload's first `transactions` transactions of a seed on a copy of the database under each
/// log kind, each in a directory of its own under `dir`.
pub fn compare(
    db: &Database,
    suite: &Suite,
    size: u64,
    transactions: u64,
    seed: u64,
    dir: &Path,
) -> Result<Vec<LogBytes>> {
    let mut rows: Vec<LogBytes> = Vec::new();
    for kind in KINDS {
        let options = planaria::Options::new().log(kind);
        let copy = db.open_on_copy(dir.join(kind.to_string()), options)?;
        let mut session = copy.session()?;
        let mut driver = suite.driver(&mut session, size, seed)?;
        let before = copy.stats();
        let mut newest = None;
        for _ in 0..transactions {
            let (transaction, outcome) = driver.next(&mut session);
            let place = |e: Error| e.context(format!("{} under log {kind}", suite.transactions[transaction]));
            let ticket = outcome.map_err(place)?.ticket;
            if !ticket.is_durable() {
                newest = Some(ticket);
            }
        }
        // What is committed is counted when it is written, with its epoch.
        newest.map_or(Ok(()), |ticket| ticket.wait())?;
        let after = copy.stats();
        let (records, bytes) = (after.log_records - before.log_records, after.log_bytes - before.log_bytes);
        drop(session);
        let per = |n: u64| bytes as f64 / n.max(1) as f64;
        rows.push(LogBytes {
            kind: kind.to_string(),
            transactions,
            records,
            bytes,
            bytes_per_txn: per(transactions),
            bytes_per_record: per(records),
            times_command: bytes as f64 / rows.first().map_or(bytes, |r| r.bytes).max(1) as f64,
        });
        copy.close()?;
        std::fs::remove_dir_all(dir.join(kind.to_string()))?;
    }
    Ok(rows)
}

/// The table.
pub fn text(rows: &[LogBytes]) -> String {
    let mut text = format!(
        "  log bytes of the same {} transactions by kind:\n  {:<18} {:>10} {:>14} {:>12} {:>12} {:>10}\n",
        rows.first().map_or_else(String::new, |r| print::grouped(r.transactions)),
        "",
        "records",
        "bytes",
        "a txn",
        "a record",
        "/ command"
    );
    for r in rows {
        text += &format!(
            "  {:<18} {:>10} {:>14} {:>12.1} {:>12.1} {:>10.2}\n",
            r.kind,
            print::grouped(r.records),
            print::grouped(r.bytes),
            r.bytes_per_txn,
            r.bytes_per_record,
            r.times_command
        );
    }
    text
}
