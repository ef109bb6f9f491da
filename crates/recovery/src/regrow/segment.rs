//! Segments: runs of transactions that are planned together and executed partition by partition.

use super::layout::{Layout, SortKey};
use planaria_base::CommitTs;
use planaria_base::sync::RwLock;
use planaria_log::Batch;
use std::ops::Range;
use std::sync::Arc;
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
    /// While it is planned, its queue. Once queues are gathered, the chunk's number within the segment,
    /// parts first.
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

/// Places of operands are 32 bits.
const PLACES_MAX: usize = u32::MAX as usize;

/// What planning a part leaves. Reused, so that the steady state neither allocates nor touches new
/// pages; and made as large as it will be at once, because the first touch of memory is dear and growing
/// touches twice as much.
#[derive(Default)]
pub(super) struct Chunk {
    /// In commit order; by queue, in commit order within one, after [`divide`](Chunk::divide).
    pub pieces: Vec<Descriptor>,
    /// Where each queue ends.
    ends: Vec<u32>,
    pub operands: Vec<u8>,
    /// A row in the making.
    pub image: Vec<u64>,
    /// Transactions, with the sequence number of the first of their pieces.
    pub transactions: Vec<(u32, CommitTs)>,
    /// Pieces so far.
    pub sequence: u32,
    /// Bytes of operands that it may hold.
    pub operands_max: usize,
    /// There was more.
    pub overflowed: bool,
    /// Some of the keys, by class.
    pub samples: Vec<Vec<SortKey>>,
    /// Of pieces that pieces handed over, by sequence number: the part and place in it of the piece
    /// that did.
    pub origins: Vec<(u16, u32)>,
}

impl Chunk {
    pub(super) fn begin(&mut self, classes: usize) {
        self.pieces.clear();
        self.ends.clear();
        self.samples.iter_mut().for_each(Vec::clear);
        self.samples.resize_with(classes.max(self.samples.len()), Vec::new);
        self.operands.clear();
        self.transactions.clear();
        self.origins.clear();
        self.sequence = 0;
        self.operands_max = PLACES_MAX;
        self.overflowed = false;
    }

    /// Makes room for so many pieces and bytes of operands.
    pub(super) fn reserve(&mut self, pieces: usize, bytes: usize) {
        self.pieces.reserve_exact(pieces);
        self.operands.reserve_exact(bytes);
    }

    /// Puts the pieces into `queues` queues. `spare`: a buffer.
    pub(super) fn divide(&mut self, queues: usize, spare: &mut Vec<Descriptor>) {
        let Chunk { pieces, ends, .. } = self;
        ends.clear();
        ends.resize(queues, 0);
        pieces.iter().for_each(|d| ends[usize::from(d.chunk)] += 1);
        let mut begin = 0;
        for end in ends.iter_mut() {
            begin += std::mem::replace(end, begin);
        }
        let Some(first) = pieces.first() else { return };
        spare.clear();
        spare.resize(pieces.len(), *first);
        for d in pieces.iter() {
            let at = &mut ends[usize::from(d.chunk)];
            spare[*at as usize] = *d;
            *at += 1;
        }
        // Back, so that a small chunk does not end up with a large buffer.
        pieces.copy_from_slice(spare);
    }

    /// Puts the pieces into the queues of another division of the same classes, none of which is divided so far.
    fn divide_anew(&mut self, from: &Layout, to: &Layout, spare: &mut Vec<Descriptor>) {
        for d in &mut self.pieces {
            let class = from.class_of(usize::from(d.chunk));
            d.chunk = to.classes[class].queue((d.key, d.key_low)) as u16;
        }
        self.divide(to.queues.len(), spare);
    }

    /// The pieces of some queues, which stand one behind the other.
    pub(super) fn in_queues(&self, queues: Range<usize>) -> &[Descriptor] {
        // Of what was handed over by nobody, there are no queues.
        let Some(end) = queues.end.checked_sub(1).and_then(|last| self.ends.get(last)) else { return &[] };
        let begin = queues.start.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.pieces[begin as usize..*end as usize]
    }

    /// The transaction that a piece belongs to.
    pub(super) fn transaction(&self, sequence: u32) -> CommitTs {
        let after = self.transactions.partition_point(|(first, _)| *first <= sequence);
        after.checked_sub(1).map_or(CommitTs(0), |at| self.transactions[at].1)
    }
}

/// A part of a segment, from one log batch.
pub(super) struct SegmentPart {
    pub batch: Arc<Batch>,
    /// Records of the batch.
    pub records: Range<usize>,
    pub chunk: RwLock<Chunk>,
}

/// Transactions that were planned, and what they came to.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    pub transactions: u64,
    pub pieces: u64,
    /// Bytes of operands.
    pub operands: u64,
}

impl Known {
    /// Bytes of what was planned, descriptors included.
    pub(super) fn bytes(&self) -> u64 {
        self.pieces * size_of::<Descriptor>() as u64 + self.operands
    }

    /// Pieces and bytes of operands to make room for, for so many more transactions: an eighth more
    /// than they will come to if they are like those.
    pub(super) fn expect(&self, transactions: usize) -> (usize, usize) {
        let share = |total: u64| {
            let all = u128::from(total) * transactions as u128 / u128::from(self.transactions.max(1));
            usize::try_from(all + all / 8).unwrap_or(0)
        };
        (share(self.pieces), share(self.operands))
    }
}

/// See the module's head.
pub(super) struct Segment {
    pub id: u32,
    /// Number of the layout's classes, whatever their division.
    pub base: u32,
    pub layout: Arc<Layout>,
    pub parts: Vec<SegmentPart>,
    /// What the pieces of each queue handed over, by the number of the queue (the first of those that
    /// were executed together).
    pub handed: Vec<RwLock<Chunk>>,
    /// Whether plans of this segment read what segments before it change.
    pub waits: bool,
    /// Classes whose partitions are not independent this time.
    pub whole: Vec<AtomicBool>,
    /// Its pieces would take more memory than there is for them: it is replayed call by call, in its place.
    pub given_up: AtomicBool,
    /// What the log held up to here came to.
    pub so_far: Known,
    pub transactions: u64,
    pub calls: u64,
    pub bytes: u64,
    pub last: CommitTs,
}

impl Segment {
    /// The same, planned, in another division of its classes, none of which is divided so far. Takes the chunks.
    pub(super) fn divided(&self, layout: Arc<Layout>) -> Segment {
        let mut spare = Vec::new();
        let parts = self.parts.iter().map(|part| {
            let mut chunk = std::mem::take(&mut *part.chunk.write());
            chunk.divide_anew(&self.layout, &layout, &mut spare);
            SegmentPart {
                batch: part.batch.clone(),
                records: part.records.clone(),
                chunk: RwLock::new(chunk),
            }
        });
        let is_whole = |whole: &AtomicBool| AtomicBool::new(whole.load(Ordering::Relaxed));
        Segment {
            parts: parts.collect(),
            handed: layout.queues.iter().map(|_| RwLock::default()).collect(),
            whole: self.whole.iter().map(is_whole).collect(),
            given_up: AtomicBool::new(self.is_given_up()),
            layout,
            ..*self
        }
    }

    pub(super) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divided_chunk_has_each_queue_in_commit_order() {
        let mut chunk = Chunk::default();
        let mut spare = Vec::new();
        assert!(chunk.in_queues(0..3).is_empty(), "nothing was handed over");
        for (pieces, queues) in [(0u32, 3u16), (1000, 7), (10, 20)] {
            chunk.begin(0);
            for sequence in 0..pieces {
                // Queue 1 stays empty.
                let queue = match (sequence * 7 % u32::from(queues)) as u16 {
                    1 => 0,
                    queue => queue,
                };
                chunk.pieces.push(Descriptor {
                    key: 0,
                    key_low: 0,
                    sequence,
                    operands: 0,
                    chunk: queue,
                    piece: 0,
                });
            }
            chunk.divide(usize::from(queues), &mut spare);
            let mut all = 0;
            for queue in 0..queues {
                let found = chunk.in_queues(usize::from(queue)..usize::from(queue) + 1);
                assert!(found.iter().all(|d| d.chunk == queue));
                assert!(found.is_sorted_by_key(|d| d.sequence));
                all += found.len();
            }
            assert_eq!(all, pieces as usize);
            assert!(chunk.in_queues(1..2).is_empty());
            assert_eq!(chunk.in_queues(0..usize::from(queues)).len(), all);
        }
    }

    #[test]
    fn room_is_made_for_what_transactions_came_to() {
        let so_far = Known { transactions: 100, pieces: 800, operands: 4000 };
        assert_eq!(so_far.expect(200), (1800, 9000));
        assert_eq!(Known::default().expect(1 << 20), (0, 0));
    }
}
