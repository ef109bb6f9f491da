//! Whether a log leads to one state only.

use super::{LogView, Overview, device};
use crate::opening::replay_engine;
use crate::options::{Options, Scheme};
use planaria_base::sync::Instant;
use planaria_base::{Error, Result, SqlState};
use planaria_log::Device;
use serde::Serialize;
use std::path::Path;
use std::sync::Arc;

/// What [`verify`] found in a log that could be replayed.
#[derive(Clone, Debug, Serialize)]
pub struct Verification {
    /// What the log consists of.
    pub log: Overview,
    /// The replays, the serial one first.
    pub replays: Vec<Replayed>,
    /// Each table, by name.
    pub tables: Vec<TableVerdict>,
}

/// One replay of the log.
#[derive(Clone, Debug, Serialize)]
pub struct Replayed {
    /// Recovery scheme.
    pub scheme: String,
    /// Threads.
    pub threads: usize,
    /// Transactions replayed.
    pub transactions: u64,
    /// Of these, procedure calls run again.
    pub calls: u64,
    /// Seconds, reading included.
    pub seconds: f64,
}

/// What the replays made of a table.
#[derive(Clone, Debug, Serialize)]
pub struct TableVerdict {
    /// Its name.
    pub table: String,
    /// Rows after the serial replay.
    pub rows: u64,
    /// Digest of the rows after each replay; `None` if the table was not there.
    pub digests: Vec<Option<String>>,
    /// Whether they are equal.
    pub equal: bool,
}

impl Verification {
    /// Whether all replays came to the same rows.
    pub fn is_clean(&self) -> bool {
        self.tables.iter().all(|t| t.equal)
    }
}

/// Replays the log in a directory in memory: serially in commit order (`clr`), where each call must
/// determine the keys that the log says it determined, and by `scheme` with `threads`; then checks the
/// indexes and compares the rows. An error names what cannot be replayed: file and offset of damage, or
/// the transaction that does not fit. Nothing is written; the rows of one replay must fit in memory.
pub fn verify(path: impl AsRef<Path>, scheme: Scheme, threads: usize) -> Result<Verification> {
    verify_device(&|| Ok(Arc::new(device(path.as_ref())?)), scheme, threads)
}

pub(crate) fn verify_device(
    device: &dyn Fn() -> Result<Arc<dyn Device>>,
    scheme: Scheme,
    threads: usize,
) -> Result<Verification> {
    let view = LogView::open_device(device()?)?;
    let mut replays = Vec::new();
    let mut digests = Vec::new();
    for (scheme, threads) in [(Scheme::Clr, 1), (scheme, threads.max(1))] {
        let place = |e: Error| {
            let what =
                format!("replay by {scheme} with {threads} thread{}", if threads == 1 { "" } else { "s" });
            e.context(what)
        };
        let options = Options::new().recovery(scheme).recovery_threads(threads);
        let start = Instant::now();
        let engine = replay_engine(&*view.device, view.checkpoint.as_ref(), &view.reader, None, options)
            .map_err(place)?;
        let seconds = start.elapsed().as_secs_f64();
        engine.check().map_err(place)?;
        digests.push(engine.digests().map_err(place)?);
        let report = engine.recovery().unwrap_or_default();
        let (transactions, calls) = (report.transactions, report.calls);
        replays.push(Replayed { scheme: scheme.to_string(), threads, transactions, calls, seconds });
    }
    if replays.iter().any(|r| r.transactions != view.overview.records) {
        return Err(Error::new(
            SqlState::INTERNAL_ERROR,
            format!("a replay did not do all of the {} records", view.overview.records),
        ));
    }
    let tables = compare(&digests);
    Ok(Verification { log: view.overview, replays, tables })
}

fn compare(replays: &[Vec<(String, u128)>]) -> Vec<TableVerdict> {
    let mut names: Vec<&String> = replays.iter().flatten().map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    let verdict = |name: &String| {
        let found = |replay: &Vec<(String, u128)>| replay.iter().find(|(n, _)| n == name).map(|(_, d)| *d);
        let digests: Vec<Option<u128>> = replays.iter().map(found).collect();
        TableVerdict {
            table: name.clone(),
            // A digest is the number of rows, then their hash.
            rows: digests[0].map_or(0, |d| (d >> 64) as u64),
            equal: digests.windows(2).all(|pair| pair[0] == pair[1]),
            digests: digests.into_iter().map(|d| d.map(|d| format!("{d:032x}"))).collect(),
        }
    };
    names.into_iter().map(verdict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_differ_or_are_missing_are_named() {
        let rows = |rows: u128, hash: u128| rows << 64 | hash;
        let serial = vec![("a".to_owned(), rows(3, 7)), ("b".to_owned(), rows(1, 1))];
        let parallel = vec![("b".to_owned(), rows(1, 2)), ("c".to_owned(), rows(0, 0))];
        let found = compare(&[serial.clone(), parallel]);
        let shown: Vec<_> = found.iter().map(|t| (t.table.as_str(), t.rows, t.equal)).collect();
        assert_eq!(shown, [("a", 3, false), ("b", 1, false), ("c", 0, false)]);
        assert_eq!(found[0].digests[1], None);
        assert!(compare(&[serial.clone(), serial]).iter().all(|t| t.equal));
    }
}
