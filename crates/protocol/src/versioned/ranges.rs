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
//!
//! # What need not be looked at again
//!
//! The entries of a leaf whose insert version is that of the last look were all looked at then. Rows that were met answer by
//! their versions; the others are witnesses. So if all witnesses are as they were, only leaves that have moved are gone
//! through. A look may have entered a leaf in its middle, where a split has cut it off the one before: that one has
//! moved, so a leaf counts only if the one before it, in the direction of travel, stands as well. None counts after a
//! look that failed half way, nor after one while cursors were open, as those go on in leaves as they were before.

#![allow(unsafe_code)] // looks at records; see `door`

use super::*;
use crate::door::look;
use crate::footprint::record::{Seen, read_record};
use crate::snapshot::has_key;
use planaria_storage::Index;
use planaria_storage::btree::NodeRef;
use planaria_storage::reclaim::Pinned;
use std::ops::Bound;

/// How often leaves may move under a commit that looks at its ranges again.
pub(super) const ROUNDS_MAX: u32 = 16;

/// Marks a row of [`Ranges::found`] that had been met.
const STRUCK: u32 = 1 << 31;

/// How far the rows of a second look may be behind those of the first.
const AHEAD: usize = 4;
/// How often a second look searches all that was met for a row.
const SEARCHES_MAX: u32 = 16;

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
    /// The leaf that it came to last.
    leaf: Option<NodeRef>,
}

/// A leaf that a look at a range has come to.
#[derive(Clone, Copy)]
struct Passed {
    range: u32,
    leaf: NodeRef,
    /// The leaf that the range came to before.
    before: Option<NodeRef>,
}

impl Passed {
    fn key(&self) -> (u32, usize) {
        (self.range, self.leaf.node())
    }
}

/// What a transaction has asked for, and what it met.
pub(super) struct Ranges<R: Rules> {
    asked: Vec<Asked>,
    words: Vec<u64>,
    /// Range and record of every row that was there, and of every own row that was passed.
    met: Vec<(u32, u64)>,
    /// During a look: the row of `met` that is likely to be found next, and how often it was another one.
    next_met: usize,
    searches: u32,
    /// What a look has found and not searched for.
    found: Vec<(u32, u64)>,
    /// The leaves of the last look, in the order of travel of each range.
    passed: Vec<Passed>,
    /// During a look: those of the look before, sorted.
    before: Vec<Passed>,
    /// `passed` does not vouch for what is in the leaves.
    unsure: bool,
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
            next_met: 0,
            searches: 0,
            found: Vec::new(),
            passed: Vec::new(),
            before: Vec::new(),
            unsure: false,
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
        let (upper, descending, single, reached, leaf) = (None, false, true, Reached::End, None);
        self.asked.push(Asked { table, index, lower, upper, descending, single, reached, leaf });
        self.asked.len() as u32 - 1
    }

    /// A range that is about to be read; answers with its number.
    pub(super) fn add(&mut self, table: TableId, index: IndexId, range: &KeyRange, descending: bool) -> u32 {
        let lower = self.keep(range.lower());
        let upper = range.upper().map(|upper| self.keep(upper));
        let (single, reached, leaf) = (false, Reached::Nothing, None);
        self.asked.push(Asked { table, index, lower, upper, descending, single, reached, leaf });
        self.asked.len() as u32 - 1
    }

    /// A scan has come to the end of its range.
    #[inline]
    pub(super) fn reach_end(&mut self, range: u32) {
        self.asked[range as usize].reached = Reached::End;
    }

    /// A scan has come to this key, if to any.
    fn reach(&mut self, range: u32, key: Option<&[u64]>) {
        let Some(key) = key else { return };
        let reached = match self.asked[range as usize].reached {
            Reached::End => return,
            Reached::Key(words) if words.len as usize == key.len() => {
                self.words[words.at as usize..][..key.len()].copy_from_slice(key);
                words
            }
            _ => self.keep(key),
        };
        self.asked[range as usize].reached = Reached::Key(reached);
    }

    /// How far an open scan has come is with its cursor, until somebody asks.
    pub(super) fn reach_cursor(&mut self, slot: &OpenCursor) {
        let Look { range, dated, past, .. } = &slot.more;
        if *range != NONE {
            self.reach(*range, if *dated { past.key() } else { slot.cursor.came_to() });
        }
    }

    /// A scan has come to a leaf.
    pub(super) fn pass(&mut self, range: u32, leaf: NodeRef) {
        let before = self.asked[range as usize].leaf.replace(leaf);
        self.passed.push(Passed { range, leaf, before });
    }

    /// Begins a second look: at `all`, or at what has moved since the last.
    fn look_again(&mut self, all: bool) {
        let Ranges { asked, found, passed, before, witnesses, .. } = self;
        (self.next_met, self.searches) = (0, 0);
        asked.iter_mut().for_each(|asked| asked.leaf = None);
        found.clear();
        before.clear();
        if all {
            passed.clear();
            witnesses.clear();
        }
        std::mem::swap(passed, before);
        // Stable: of one leaf the version that was met first stays first.
        before.sort_by_key(Passed::key);
    }

    /// Whether everything in a leaf has been looked at, see the head.
    fn stands(&self, range: u32, leaf: NodeRef, pin: Pinned<'_>) -> bool {
        let at = self.before.partition_point(|passed| passed.key() < (range, leaf.node()));
        // The first of them is the first that the range came to: versions grow.
        self.before.get(at).is_some_and(|passed| {
            passed.range == range
                && passed.leaf == leaf
                && passed.before.is_none_or(|before| before.is_current(pin))
        })
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
            self.passed.retain(|passed| passed.range < mark);
        }
    }

    pub(super) fn clear(&mut self) {
        // Going back forgets ranges, and leaves their words.
        recycle(&mut self.asked);
        recycle(&mut self.words);
        recycle(&mut self.met);
        recycle(&mut self.found);
        recycle(&mut self.passed);
        recycle(&mut self.before);
        recycle(&mut self.witnesses);
        self.unsure = false;
    }

    /// Whether a row that is found now had been met before, as far as that is known before the look ends: see
    /// [`Ranges::has_met_found`]. Mostly rows come in the order in which they were met.
    fn has_met(&mut self, range: u32, record: Ptr<R>) -> bool {
        let Ranges { met, next_met, searches, found, .. } = self;
        let pair = (range, record.to_word());
        if let Some(at) = met[*next_met..].iter().take(AHEAD).position(|met| *met == pair) {
            *next_met += at + 1;
            return true;
        }
        if *searches == SEARCHES_MAX {
            found.push(pair);
            return true;
        }
        *searches += 1;
        let (before, behind) = met.split_at(*next_met);
        let behind = behind.iter().position(|met| *met == pair).map(|at| *next_met + at);
        let Some(at) = behind.or_else(|| before.iter().position(|met| *met == pair)) else { return false };
        *next_met = at + 1;
        true
    }

    /// Whether what was found and not searched for had been met before.
    fn has_met_found(&mut self) -> bool {
        let Ranges { met, found, .. } = self;
        if found.is_empty() {
            return true;
        }
        found.sort_unstable();
        found.dedup();
        let mut missing = found.len();
        for pair in met.iter() {
            // Each is struck once, even if it was met more than once.
            if let Ok(at) = found.binary_search_by_key(pair, |(range, record)| (range & !STRUCK, *record))
                && found[at].0 & STRUCK == 0
            {
                found[at].0 |= STRUCK;
                missing -= 1;
            }
        }
        found.clear();
        missing == 0
    }
}

impl<R: Rules> Txn<R> {
    /// Looks at all ranges again, `holding` the locks of the write set or without them: a row that is there and was not
    /// met is a conflict. What the ranges depend on from now on is in the node set and among the witnesses.
    #[cold]
    pub(super) fn scan_again(&mut self, tables: &TableSet<R::Header>, holding: bool) -> Result<(), Conflict> {
        self.cursors.open_ones().for_each(|slot| self.ranges.reach_cursor(slot));
        let as_seen = |w: &Access<R>| self.foot.word(w.record).load() & !CLAIMED == w.version;
        let all = self.ranges.unsure || !self.ranges.witnesses.iter().all(as_seen);
        self.foot.nodes.clear();
        self.ranges.look_again(all);
        let mut cursor = self.ranges.cursor.take().unwrap_or_default();
        let outcome = (0..self.ranges.mark()).try_for_each(|at| {
            let Asked { table, index: id, lower, upper, descending, single, reached, .. } =
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
            let mut stands = false;
            loop {
                let Txn { foot: Footprint { nodes, participant, .. }, ranges, .. } = self;
                let pin = participant.pinned();
                let next = cursor.next(index.tree(), pin, |node| {
                    nodes.add(node);
                    stands = ranges.stands(at, node, pin);
                    ranges.pass(at, node);
                });
                let Some((key, word)) = next else { return Ok(()) };
                if !stands {
                    self.key_again(index, (at, id), key, Some(word), holding)?;
                }
            }
        });
        self.ranges.cursor = Some(cursor);
        let outcome = outcome.and_then(|()| match self.ranges.has_met_found() {
            true => Ok(()),
            false => Err(Conflict::Phantom),
        });
        self.ranges.unsure = outcome.is_err() || self.cursors.are_open();
        outcome
    }

    /// At the end of a statement: whether a row has come into what a transaction has read that has changed something, so that it
    /// cannot commit. Who learns that now begins anew the earlier. COMMIT need not look at the same leaves again.
    pub(super) fn check_for_phantoms(&mut self, tables: &TableSet<R::Header>) -> Result<(), Conflict> {
        if !self.dated.should_look() || !self.ranged || !self.foot.has_effect() {
            return Ok(());
        }
        let pin = self.foot.participant.pinned();
        let nodes = &self.foot.nodes;
        if nodes.check().is_ok() && nodes.iter().all(|node| node.is_current(pin)) {
            return Ok(());
        }
        match self.scan_again(tables, false) {
            Ok(()) => {
                if self.cursors.are_open() {
                    // A cursor goes on with what it has copied of a leaf as it was before: commit looks again.
                    self.foot.nodes.set_moved();
                }
                Ok(())
            }
            Err(conflict) => {
                self.foot.nodes.set_moved();
                // Anything else may pass by until COMMIT.
                if conflict == Conflict::Phantom { Err(conflict) } else { Ok(()) }
            }
        }
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
            // SAFETY: found.
            let record = unsafe { Met::from_word(word) };
            let own = self.foot.find_effective(record);
            if own.is_some_and(|at| self.foot.writes[at as usize].origin == Origin::Insert) {
                return Ok(());
            }
            let Txn { foot: Footprint { participant, mine, .. }, ranges, .. } = self;
            let pin = participant.pinned();
            ranges.images.reset();
            let seen = if own.is_some() && holding {
                Seen::Row(0, look(record, pin).read(&mut ranges.images)?)
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
