//! ARIES for main memory (Malviya et al., ICDE 2014, §IV), for logs of kind `physiological`.
//!
//! Guarantee: the state after the last durable commit, exactly, for every kind of log.
//!
//! 1. *Analysis*: the log reader has found the newest epoch that every logger has on disk, the last of the
//!    winners, and what is left of the epoch behind it: the losers. Checkpoints are transaction-consistent
//!    and there are no pages, hence no dirty pages and no LSNs to compare: redo begins where the checkpoint
//!    ends.
//! 2. *Redo* of the winners: with one thread serially, as VoltDB does at each site; with several by partition
//!    of the primary key: changes of one row are replayed by one thread, in commit order, and secondary
//!    indexes are brought in line at the end.
//! 3. *Redo* of the losers, in commit order, serially: history is repeated as far as it is known.
//! 4. *Undo* of the losers, in the opposite order, by their before-images.
//!
//! The losers are transactions that committed, but whose epoch is not on every disk: a transaction is logged
//! when it commits, so the log has no others. What reached the disks of their epoch need not be a beginning
//! of it: where a loser changes a row that is not as it was then, another loser is missing. The before-images
//! tell. Such a loser is not redone; what is redone is undone exactly. Nor are those redone that have no
//! before-images in the log (calls, rows in other kinds of log, schema changes). The other schemes end in the
//! same state without steps 3 and 4, which is the simplification that the paper proposes for such a store.
//!
//! Calls in the log are run again serially.

use crate::tuple::{self, Style};
use crate::{Options, Report, Target, at};
use planaria_base::sync::Instant;
use planaria_base::{CommitTs, Result, SqlState};
use planaria_log::{Batch, Batches, Effect, RecordBody};

/// Replays `batches`, which hold `bytes_total` bytes of records.
pub fn replay<T: Target>(
    batches: Batches,
    bytes_total: u64,
    options: &Options,
    target: &mut T,
) -> Result<Report> {
    let losers = batches.torn_tail();
    let mut report = tuple::replay(batches, bytes_total, options, target, Style::Physiological)?;
    if let Some(losers) = losers {
        let began = Instant::now();
        report.undone = redo_and_undo(&losers, target)?;
        report.execute += began.elapsed();
        report.replay += began.elapsed();
    }
    Ok(report)
}

/// Steps 3 and 4. Answers with the number of losers redone.
fn redo_and_undo<T: Target>(losers: &Batch, target: &mut T) -> Result<u64> {
    let mut undo: Vec<Vec<Effect>> = Vec::new();
    let mut last = CommitTs(0);
    for record in losers.records() {
        let ts = record.commit_ts();
        let RecordBody::Effects(mut effects) = record.decode()?.body else { continue };
        // Sequences are no part of a transaction: that a value was drawn is not undone, and need not be
        // redone for one that did not come to be.
        effects.retain(|effect| !matches!(effect, Effect::Sequence { .. }));
        let Some(inverse) = tuple::inverse(&*target.world(), &effects) else { continue };
        match target.effects(ts, effects) {
            Ok(()) => {
                undo.push(inverse);
                last = ts;
            }
            // The rows are not as they were; nothing was changed.
            Err(error) if error.sqlstate() == SqlState::DATA_CORRUPTED => {}
            Err(error) => return Err(at(error, ts)),
        }
    }
    let redone = undo.len() as u64;
    while let Some(effects) = undo.pop() {
        last = CommitTs(last.0 + 1);
        target.effects(last, effects).map_err(|e| at(e, last))?;
    }
    Ok(redone)
}
