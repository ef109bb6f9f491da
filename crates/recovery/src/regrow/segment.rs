//! Segments: runs of transactions that are planned together and executed partition by partition.

use super::layout::{Layout, SortKey};
use planaria_base::CommitTs;
use planaria_log::Batch;
use planaria_storage::Header;
use std::ops::Range;
use std::sync::Arc;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A piece, or an after-image, in a queue. What it needs lies in the chunk that it is of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Descriptor {
    pub key: u64,
    pub key_low: u32,
    /// Place in the commit order within the chunk.
    pub sequence: u32,
    /// A piece: where its operands begin. An effect: where it stands in the log batch.
    pub operands: u32,
    /// The chunk's number within the segment, parts first; set when queues are gathered.
    pub chunk: u16,
    /// Number of the piece, or one of the effect codes.
    pub piece: u16,
}

const _: () = assert!(size_of::<Descriptor>() == 24);

/// Puts a logged change in place.
pub(super) const CHANGE: u16 = u16::MAX;
/// Takes the row of a logged update out; the new one waits for [`PUT`]: unique keys may wander between
/// the rows of a transaction.
pub(super) const TAKE: u16 = u16::MAX - 1;
/// Puts the new row of a logged update in.
pub(super) const PUT: u16 = u16::MAX - 2;
/// Numbers of pieces are below.
pub(super) const PIECES_MAX: u16 = u16::MAX - 2;

/// What planning a chunk leaves. Reused, so that the steady state neither allocates nor touches new
/// pages.
#[derive(Default)]
pub(super) struct Chunk {
    /// By queue number, in commit order.
    pub queues: Vec<Vec<Descriptor>>,
    pub operands: Vec<u8>,
    /// A row in the making.
    pub image: Vec<u64>,
    /// Transactions, with the sequence number of the first of their pieces.
    pub transactions: Vec<(u32, CommitTs)>,
    /// Pieces so far.
    pub sequence: u32,
    /// Some of the keys, by class.
    pub samples: Vec<Vec<SortKey>>,
    /// Of pieces that pieces handed over, by sequence number: the part and place in it of the piece
    /// that did.
    pub origins: Vec<(u16, u32)>,
}

impl Chunk {
    pub(super) fn begin(&mut self, queues: usize, classes: usize) {
        self.queues.iter_mut().for_each(Vec::clear);
        self.queues.resize_with(queues.max(self.queues.len()), Vec::new);
        self.samples.iter_mut().for_each(Vec::clear);
        self.samples.resize_with(classes.max(self.samples.len()), Vec::new);
        self.operands.clear();
        self.transactions.clear();
        self.origins.clear();
        self.sequence = 0;
    }

    /// The transaction that a piece belongs to.
    pub(super) fn transaction(&self, sequence: u32) -> CommitTs {
        let after = self.transactions.partition_point(|(first, _)| *first <= sequence);
        after.checked_sub(1).map_or(CommitTs(0), |at| self.transactions[at].1)
    }
}

/// A part of a segment, from one log batch.
pub(super) struct Part {
    pub batch: Arc<Batch>,
    /// Records of the batch.
    pub records: Range<usize>,
    pub chunk: RwLock<Chunk>,
}

/// See the module's head.
pub(super) struct Segment<H: Header> {
    pub id: u32,
    /// Number of the layout's classes, whatever their division.
    pub base: u32,
    pub layout: Arc<Layout<H>>,
    pub parts: Vec<Part>,
    /// What the pieces of each queue handed over, by the number of the queue (the first of those that
    /// were executed together).
    pub handed: Vec<RwLock<Chunk>>,
    /// Whether plans of this segment read what segments before it change.
    pub waits: bool,
    /// Classes whose partitions are not independent this time.
    pub whole: Vec<AtomicBool>,
    pub transactions: u64,
    pub calls: u64,
    pub bytes: u64,
    pub last: CommitTs,
}

impl<H: Header> Segment<H> {
    /// The queues whose pieces may hand over pieces of this class: where several are executed together,
    /// the first of them.
    pub(super) fn givers(&self, class: usize) -> impl Iterator<Item = usize> + '_ {
        self.layout.classes[class].takes.iter().flat_map(|from| {
            let giver = &self.layout.classes[*from];
            let whole = self.whole[*from].load(Ordering::Relaxed);
            let queues = if whole { 1 } else { giver.partitions() };
            giver.first_queue..giver.first_queue + queues
        })
    }
}
