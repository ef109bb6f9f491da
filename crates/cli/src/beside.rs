//! What transaction blocks that are open cost the calls beside them: calls are counted in turns, without and with blocks.

use planaria::{Database, Error, Result, SqlState};
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A block is open for so long.
const OPEN: Duration = Duration::from_millis(100);
/// At the beginning of a turn nothing is counted: what was kept for the blocks of the last one is still being forgotten.
const SETTLING: Duration = Duration::from_millis(300);
const COUNTED: Duration = Duration::from_millis(700);
/// How often it is looked whether a turn has ended.
const LOOK: Duration = Duration::from_millis(5);

/// Calls a second without and with blocks open beside them; medians of the turns.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Beside {
    blocks: usize,
    turns: usize,
    without_txn_per_s: f64,
    with_txn_per_s: f64,
    /// Of each turn with blocks the share of those right before and after it.
    ratio: f64,
}

impl std::fmt::Display for Beside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Beside { blocks, turns, without_txn_per_s, with_txn_per_s, ratio } = self;
        write!(
            f,
            "beside {blocks} open blocks {with_txn_per_s:.0} calls per second, without {without_txn_per_s:.0}: \
             {ratio:.3} (medians of {turns} turns)"
        )
    }
}

/// Opens blocks beside what runs, in every second turn, until `stop`; `None` where that came too soon.
pub fn blocks(db: &Database, blocks: usize, stop: &AtomicBool) -> Result<Option<Beside>> {
    let (open, done) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..blocks).map(|_| scope.spawn(|| keep_open(db, &open, stop, &done))).collect();
        let calls = || db.stats().commits.saturating_sub(done.load(Ordering::Relaxed));
        let mut rates = Vec::new();
        while sleep(SETTLING, stop) {
            let (began, before) = (Instant::now(), calls());
            if !sleep(COUNTED, stop) {
                break;
            }
            rates.push((calls() - before) as f64 / began.elapsed().as_secs_f64());
            open.store(rates.len() % 2 == 1, Ordering::Relaxed);
        }
        for block in all {
            block.join().map_err(|_| Error::new(SqlState::INTERNAL_ERROR, "a block panicked"))??;
        }
        Ok(found(blocks, &rates))
    })
}

/// Every second rate is one with blocks, the first is one without.
fn found(blocks: usize, rates: &[f64]) -> Option<Beside> {
    let of = |first: usize| rates.iter().copied().skip(first).step_by(2).collect::<Vec<f64>>();
    let ratios = rates.windows(3).step_by(2).map(|three| 2.0 * three[1] / (three[0] + three[2]));
    let ratios: Vec<f64> = ratios.collect();
    Some(Beside {
        blocks,
        turns: ratios.len(),
        without_txn_per_s: median(of(0))?,
        with_txn_per_s: median(of(1))?,
        ratio: median(ratios)?,
    })
}

fn median(mut of: Vec<f64>) -> Option<f64> {
    of.sort_by(f64::total_cmp);
    of.get(of.len() / 2).copied()
}

/// False: it is to stop.
fn sleep(time: Duration, stop: &AtomicBool) -> bool {
    let end = Instant::now() + time;
    while Instant::now() < end {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// Keeps a transaction block open, one after the other, while there shall be any.
fn keep_open(db: &Database, open: &AtomicBool, stop: &AtomicBool, done: &AtomicU64) -> Result<()> {
    let mut session = db.session()?;
    while sleep(LOOK, stop) {
        while open.load(Ordering::Relaxed) {
            session.execute_script("BEGIN; SELECT 1")?;
            // At one go: a client does not look at its clock meanwhile.
            std::thread::sleep(OPEN);
            let more = !stop.load(Ordering::Relaxed);
            session.execute_script("SELECT 1; COMMIT")?;
            done.fetch_add(1, Ordering::Relaxed);
            if !more {
                return Ok(());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_turn_is_held_against_those_beside_it() {
        assert_eq!(found(3, &[100.0, 90.0]), None);
        // The machine becomes slower meanwhile.
        let beside = found(3, &[100.0, 90.0, 100.0, 80.0, 60.0, 54.0, 60.0]).expect("three turns");
        assert_eq!((beside.turns, beside.ratio), (3, 0.9));
        assert_eq!((beside.without_txn_per_s, beside.with_txn_per_s), (100.0, 80.0));
        assert!(beside.to_string().contains("beside 3 open blocks 80 calls per second, without 100: 0.900"));
    }
}
