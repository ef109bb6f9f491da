//! Ranges that a transaction has read, for those that take long: blocks that a client holds open.
//!
//! A leaf that has changed says little: a key of an aborted transaction, a placeholder of one that is still open, or a
//! key beside the range move it as well. A call is over before that matters, and runs again. A block cannot be run
//! again by the engine; so it remembers what it asked for, key by key and range by range as far as it came, and
//! which rows it met. Where a leaf has moved ([`Txn::scan_again`]), commit looks at these ranges once more, and only a
//! *committed* row that the block has not met is a phantom. (A row that it met and that is gone has another version.)
//!
//! # Why that is a place in the order
//!
//! The second look is before the timestamp is drawn. It gives the leaves and the *witnesses*: records that stand in a
//! range without a row there, such as placeholders of others. After the draw these are validated like everything
//! else: if they are as they were, the ranges hold at the timestamp. If not, the transaction looks again and draws
//! again, a bounded number of times.

#![allow(unsafe_code)] // looks at records; see `door`

use super::*;
use crate::door::look;
use crate::footprint::record::{Seen, read_record};
use crate::snapshot::has_key;
use planaria_storage::Index;
use std::ops::Bound;

/// How often leaves may move under a commit that looks at its ranges again.
pub(super) const ROUNDS_MAX: u32 = 16;

/// Words in [`Ranges::words`].
#[derive(Clone, Copy, Default)]
struct Words {
    at: u32,
    len: u32,
}

/// How far a range was read.
#[derive(Clone, Copy)]
enum Reached {
    /// Not at all.
    Nothing,
    /// As far as this key, which is included.
    Key(Words),
    /// To its end.
    End,
}

/// What was asked for.
#[derive(Clone, Copy)]
struct Asked {
    table: TableId,
    index: IndexId,
    /// Of a single key: the key.
    lower: Words,
    /// Excluded; `None`: there is no bound.
    upper: Option<Words>,
    descending: bool,
    single: bool,
    reached: Reached,
}

/// What a transaction has asked for, and what it met.
pub(super) struct Ranges<R: Rules> {
    asked: Vec<Asked>,
    words: Vec<u64>,
    /// Range and record of every row that was there, and of every own row that was passed.
    met: Vec<(u32, u64)>,
    /// `met` is sorted up to here.
    sorted: usize,
    /// Records that stood in a range without a row of it, at these versions.
    witnesses: Vec<Access<R>>,
    /// For looking again.
    cursor: Option<Cursor>,
    images: Arena,
}

impl<R: Rules> Default for Ranges<R> {
    fn default() -> Self {
        Ranges {
            asked: Vec::new(),
            words: Vec::new(),
            met: Vec::new(),
            sorted: 0,
            witnesses: Vec::new(),
            cursor: None,
            images: Arena::new(),
        }
    }
}

impl<R: Rules> Ranges<R> {
    fn keep(&mut self, words: &[u64]) -> Words {
        let at = self.words.len() as u32;
        self.words.extend_from_slice(words);
        Words { at, len: words.len() as u32 }
    }

    fn words(&self, words: Words) -> &[u64] {
        &self.words[words.at as usize..][..words.len as usize]
    }

    /// A key that has no row; answers with its number.
    pub(super) fn add_key(&mut self, table: TableId, index: IndexId, key: &[u64]) -> u32 {
        let lower = self.keep(key);
        let (upper, descending, single, reached) = (None, false, true, Reached::End);
        self.asked.push(Asked { table, index, lower, upper, descending, single, reached });
        self.asked.len() as u32 - 1
    }

    /// A range that is about to be read; answers with its number.
    pub(super) fn add(&mut self, table: TableId, index: IndexId, range: &KeyRange, descending: bool) -> u32 {
        let lower = self.keep(range.lower());
        let upper = range.upper().map(|upper| self.keep(upper));
        let (single, reached) = (false, Reached::Nothing);
        self.asked.push(Asked { table, index, lower, upper, descending, single, reached });
        self.asked.len() as u32 - 1
    }

    /// The scan has come to this key; `None`: to its end.
    pub(super) fn reach(&mut self, range: u32, key: Option<&[u64]>) {
        let Some(key) = key else {
            self.asked[range as usize].reached = Reached::End;
            return;
        };
        let reached = match self.asked[range as usize].reached {
            Reached::Key(words) if words.len as usize == key.len() => {
                self.words[words.at as usize..][..key.len()].copy_from_slice(key);
                words
            }
            _ => self.keep(key),
        };
        self.asked[range as usize].reached = Reached::Key(reached);
    }

    /// A row was there.
    pub(super) fn meet(&mut self, range: u32, record: Ptr<R>) {
        self.met.push((range, record.to_word()));
    }

    /// A record stood in a range without a row of it.
    pub(super) fn witness(&mut self, record: Ptr<R>, version: u64) {
        self.witnesses.push(Access { record, version });
    }

    pub(super) fn witnesses(&self) -> &[Access<R>] {
        &self.witnesses
    }

    /// How many ranges there are, for [`Ranges::go_back`].
    pub(super) fn mark(&self) -> u32 {
        self.asked.len() as u32
    }

    /// Forgets the ranges read since.
    pub(super) fn go_back(&mut self, mark: u32) {
        if self.asked.len() > mark as usize {
            self.asked.truncate(mark as usize);
            self.met.retain(|(range, _)| *range < mark);
            self.sorted = 0;
        }
    }

    pub(super) fn clear(&mut self) {
        // Going back forgets ranges, and leaves their words.
        recycle(&mut self.asked);
        recycle(&mut self.words);
        recycle(&mut self.met);
        recycle(&mut self.witnesses);
        self.sorted = 0;
    }

    fn sort(&mut self) {
        if self.sorted < self.met.len() {
            self.met.sort_unstable();
            self.sorted = self.met.len();
        }
    }

    fn has_met(&self, range: u32, record: Ptr<R>) -> bool {
        self.met.binary_search(&(range, record.to_word())).is_ok()
    }
}

impl<R: Rules> Txn<R> {
    /// Looks at all ranges again, `holding` the locks of the write set or without them: a row that is there and was not
    /// met is a conflict. What the ranges depend on from now on is in the node set and among the witnesses.
    #[cold]
    pub(super) fn scan_again(&mut self, tables: &TableSet<R::Header>, holding: bool) -> Result<(), Conflict> {
        self.foot.nodes.clear();
        self.ranges.witnesses.clear();
        self.ranges.sort();
        let mut cursor = self.ranges.cursor.take().unwrap_or_default();
        let outcome = (0..self.ranges.mark()).try_for_each(|at| {
            let Asked { table, index: id, lower, upper, descending, single, reached } =
                self.ranges.asked[at as usize];
            let index = tables.get(table).index(id);
            if single {
                let key = self.ranges.words(lower).to_vec();
                return self.key_again(index, (at, id), &key, None, holding);
            }
            let (mut from, mut to) = (
                Bound::Included(self.ranges.words(lower)),
                upper.map_or(Bound::Unbounded, |upper| Bound::Excluded(self.ranges.words(upper))),
            );
            match (reached, descending) {
                (Reached::Nothing, _) => return Ok(()),
                (Reached::Key(key), false) => to = Bound::Included(self.ranges.words(key)),
                (Reached::Key(key), true) => from = Bound::Included(self.ranges.words(key)),
                (Reached::End, _) => {}
            }
            cursor.open(from, to, false);
            loop {
                let Footprint { nodes, participant, .. } = &mut self.foot;
                let next = cursor.next(index.tree(), participant.pinned(), |node| nodes.add(node));
                let Some((key, word)) = next else { return Ok(()) };
                self.key_again(index, (at, id), key, Some(word), holding)?;
            }
        });
        self.ranges.cursor = Some(cursor);
        outcome
    }

    /// Looks at what there is under a key, of which the index has given `entry`, if anything.
    fn key_again(
        &mut self,
        index: &Index,
        (range, id): (u32, IndexId),
        key: &[u64],
        mut entry: Option<u64>,
        holding: bool,
    ) -> Result<(), Conflict> {
        let mut stale = None;
        loop {
            let word = match entry.take() {
                Some(word) => word,
                None => {
                    let (found, node) = index.tree().get(self.foot.participant.pinned(), key);
                    self.foot.nodes.add(node);
                    // What led nowhere and still stands has not been taken over: see `look_again`.
                    match found.filter(|word| Some(*word) != stale) {
                        Some(word) => word,
                        None => return Ok(()),
                    }
                }
            };
            let record = RecordPtr::from_word(word);
            let own = self.foot.find_effective(record);
            if own.is_some_and(|at| self.foot.writes[at as usize].origin == Origin::Insert) {
                return Ok(());
            }
            let Txn { foot: Footprint { participant, mine, .. }, ranges, .. } = self;
            let pin = participant.pinned();
            ranges.images.reset();
            let seen = if own.is_some() && holding {
                // SAFETY: kept: of the write set, whose lock is held.
                Seen::Row(0, unsafe { look(record, pin) }.read(&mut ranges.images)?)
            } else {
                match read_record(record, pin, mine, &mut ranges.images) {
                    Err(Conflict::Locked) if self.outwaits(record, holding) => {
                        entry = Some(word);
                        continue;
                    }
                    seen => seen?,
                }
            };
            let Txn { foot: Footprint { other_key, .. }, ranges, .. } = self;
            match seen {
                Seen::Row(_, image) if has_key(index, id, image.words(&ranges.images), key, other_key) => {
                    return if ranges.has_met(range, record) { Ok(()) } else { Err(Conflict::Phantom) };
                }
                Seen::Placeholder(version) => {
                    ranges.witness(record, version);
                    return Ok(());
                }
                // The lock, or the version that it was read at, answers for an own one.
                Seen::Row(..) if own.is_some() => {}
                Seen::Row(version, _) => ranges.witness(record, version),
                Seen::Dead => {}
            }
            stale = Some(word);
        }
    }
}
