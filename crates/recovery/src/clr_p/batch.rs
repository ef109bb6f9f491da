//! A batch of transactions, its piece-sets, and the values that pass between pieces.

use super::graph::Graph;
use planaria_base::sync::{Mutex, OnceLock};
use planaria_base::{CommitTs, Datum, ProcedureId, Result, TableId};
use planaria_log::{Batch as LogBatch, Effect, Keeping, RecordBody};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize};

/// Transactions that are decoded, prepared and dispatched at a time.
pub(super) const CHUNK: usize = 1024;

/// A transaction of the log.
pub(super) struct Txn {
    pub(super) ts: CommitTs,
    pub(super) work: Work,
    /// Bytes of its record.
    pub(super) bytes: u32,
}

/// What a transaction did.
pub(super) enum Work {
    Call {
        id: ProcedureId,
        args: Vec<Datum>,
        inputs: Vec<Datum>,
        /// Whether values that it kept are among the inputs.
        keeping: Keeping,
        /// The procedure in the graph, none if there is nothing to do; and where its values begin.
        procedure: Option<u32>,
        values: u32,
    },
    Effects(Vec<Effect>),
}

impl Txn {
    /// Whether it must run with nobody else at work, whatever is known of procedures.
    pub(super) fn is_alone(&self) -> bool {
        let alone = |e: &Effect| match e {
            Effect::Schema(_) | Effect::Truncate { .. } | Effect::Part => true,
            Effect::Sequence { place, .. } => place.is_in_commit_order(),
            _ => false,
        };
        matches!(&self.work, Work::Effects(effects) if effects.iter().any(alone))
    }

    /// Tables that it changes by value.
    pub(super) fn tables_by_value(&self, into: &mut BTreeSet<TableId>) {
        if let Work::Effects(effects) = &self.work {
            into.extend(effects.iter().filter_map(|e| e.logical().map(|c| c.table())));
        }
    }
}

/// Records to decode, in chunks.
pub(super) struct Decode {
    log: Arc<LogBatch>,
    chunks: Vec<Range<usize>>,
    done: Vec<Mutex<Vec<Txn>>>,
}

impl Decode {
    pub(super) fn new(log: Arc<LogBatch>, range: Range<usize>) -> Decode {
        let chunks = chunks(range);
        Decode { log, done: chunks.iter().map(|_| Mutex::default()).collect(), chunks }
    }

    pub(super) fn len(&self) -> usize {
        self.chunks.len()
    }

    pub(super) fn decode(&self, chunk: usize) -> Result<()> {
        let mut txns = Vec::with_capacity(CHUNK);
        for i in self.chunks[chunk].clone() {
            let raw = self.log.get(i);
            let bytes = raw.size() as u32;
            let record = raw.decode()?;
            let work = match record.body {
                RecordBody::Call(call) => Work::Call {
                    id: call.procedure,
                    args: call.args,
                    inputs: call.inputs,
                    keeping: call.keeping,
                    procedure: None,
                    values: 0,
                },
                RecordBody::Effects(effects) => Work::Effects(effects),
            };
            txns.push(Txn { ts: record.commit_ts, work, bytes });
        }
        *self.done[chunk].lock() = txns;
        Ok(())
    }

    /// All of them, in order.
    pub(super) fn take(&self) -> impl Iterator<Item = Txn> + '_ {
        self.done.iter().flat_map(|d| std::mem::take(&mut *d.lock()))
    }
}

fn chunks(range: Range<usize>) -> Vec<Range<usize>> {
    let end = range.end;
    range.step_by(CHUNK).map(|from| from..(from + CHUNK).min(end)).collect()
}

/// A piece in the queue of a part.
pub(super) struct Entry {
    /// The transaction's place in the batch.
    pub(super) txn: u32,
    /// Where the parts meet that it touches, counted from 1; 0 if it touches one.
    pub(super) meet: u32,
}

/// A piece that touches several parts: the last to come to it runs it, the others wait for that.
pub(super) struct Meet {
    pub(super) parts: u32,
    pub(super) came: AtomicU32,
    pub(super) done: AtomicU32,
}

/// A chunk of a piece-set, split by keys.
pub(super) struct Split {
    /// By part.
    pub(super) queues: Vec<Vec<Entry>>,
    pub(super) meets: Vec<Meet>,
}

/// Where a part of a piece-set stands.
#[derive(Default)]
pub(super) struct Cursor {
    pub(super) chunk: usize,
    pub(super) next: usize,
    /// Whether it has come to the meeting that stands next.
    pub(super) came: bool,
}

/// A piece-set.
pub(super) struct PieceSet {
    /// By chunk; only if it has more than one part.
    pub(super) split: Vec<OnceLock<Split>>,
    /// By part.
    pub(super) cursors: Vec<Mutex<Cursor>>,
    /// Parts that wait at a meeting.
    pub(super) waiting: AtomicUsize,
}

/// Transactions between which nothing has to run alone.
pub(super) struct Batch {
    pub(super) graph: Arc<Graph>,
    pub(super) txns: Vec<Txn>,
    pub(super) chunks: Vec<Range<usize>>,
    /// Values that pass between pieces, by transaction.
    pub(super) values: Vec<OnceLock<Datum>>,
    /// By chunk and block: the transactions with a piece there, in order.
    pub(super) pieces: Vec<OnceLock<Vec<Vec<u32>>>>,
    /// By block.
    pub(super) sets: Vec<PieceSet>,
}

impl Batch {
    /// `parts`: into how many parts to split a block's piece-set, given the pieces by block.
    pub(super) fn new(
        graph: Arc<Graph>,
        mut txns: Vec<Txn>,
        parts: impl FnOnce(&Graph, &[u64]) -> Vec<usize>,
    ) -> Batch {
        let mut next = 0;
        let mut calls = vec![0u64; graph.procedures.len()];
        let mut counts = vec![0u64; graph.blocks.len()];
        for txn in &mut txns {
            match &mut txn.work {
                Work::Call { id, procedure, values, .. } => {
                    let Some(number) = graph.by_id.get(id) else { continue };
                    (*procedure, *values) = (Some(*number as u32), next);
                    next += graph.procedures[*number].values as u32;
                    calls[*number] += 1;
                }
                Work::Effects(effects) => {
                    for block in effects.iter().filter_map(|e| graph.block_of.get(&e.logical()?.table())) {
                        counts[*block] += 1;
                    }
                }
            }
        }
        for (procedure, calls) in graph.procedures.iter().zip(calls) {
            for (count, piece) in counts.iter_mut().zip(&procedure.pieces) {
                *count += if piece.is_some() { calls } else { 0 };
            }
        }
        let chunks = chunks(0..txns.len());
        let set = |parts: usize| PieceSet {
            split: if parts > 1 { chunks.iter().map(|_| OnceLock::new()).collect() } else { Vec::new() },
            cursors: (0..parts).map(|_| Mutex::default()).collect(),
            waiting: AtomicUsize::new(0),
        };
        let sets = parts(&graph, &counts).into_iter().map(set).collect();
        Batch {
            graph,
            values: (0..next).map(|_| OnceLock::new()).collect(),
            pieces: chunks.iter().map(|_| OnceLock::new()).collect(),
            chunks,
            txns,
            sets,
        }
    }
}
