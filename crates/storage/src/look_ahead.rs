//! Rows that are going to be looked up: their index paths and their images are fetched together, before the first is wanted.
//!
//! It is a hint from end to end: the lookups are made all the same, and find in the processor's caches what they would have waited
//! for, one after the other. Where a path led is kept until the next group, for a lookup that comes to the same key: it may look
//! at that record first, and goes by the index if it is not the row that it is looking for.
//!
//! A group may be of several calls to come. Then it has as many lookups as they want, made in batches, and each call finds its own.

use crate::btree::{BTree, Stepped, Walk};
use crate::reclaim::Pinned;
use crate::{Header, RecordPtr, TableSet};
use planaria_base::{IndexId, TableId};
use std::ops::Range;

/// Lookups that are made together. More would push each other out of the nearest cache.
pub const GROUP_MAX: usize = 32;

/// How far behind the last lookup that was found its successor is searched: programs keep to the order of what they said, nearly.
const NEXT_MAX: usize = 4;

/// Times that a call may have had its turn to join.
const TURNS_MAX: usize = 2;

#[derive(Clone, Copy)]
struct Look {
    table: TableId,
    index: IndexId,
    /// Of the image, to be fetched.
    bytes: u32,
    /// Where the key is among the words, and how long.
    at: u32,
    len: u32,
    /// Where its path led; 0 is nowhere.
    found: u64,
}

/// A record that an index had for a key.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    word: u64,
    pin: u64,
}

impl Found {
    /// Its address, under the pin that it was found under; else `None`.
    #[inline]
    pub fn under(self, pin: Pinned<'_>) -> Option<u64> {
        (self.pin == pin.serial()).then_some(self.word)
    }
}

/// A group of lookups by unique keys, to be made ahead. Empty groups keep their memory.
#[derive(Default)]
pub struct LookAhead {
    words: Vec<u64>,
    looks: Vec<Look>,
    /// So many of them have been made, under this pin.
    ran: usize,
    made: Option<u64>,
    /// Of a group that has been made: which of them comes next.
    next: usize,
    /// Of a group of several calls: where the lookups of each begin, in the order in which they joined.
    calls: Vec<(u32, usize)>,
    /// Those of the call that is served.
    served: [Range<usize>; TURNS_MAX],
    of_calls: bool,
}

impl LookAhead {
    /// A lookup joins, of whose row so many bytes will be read; not again behind the same one.
    #[inline]
    pub fn add(&mut self, table: TableId, index: IndexId, key: &[u64], bytes: u32) {
        if self.made.is_some() && !self.of_calls {
            self.clear();
        }
        if let Some(last) = self.looks.last()
            && (last.table, last.index) == (table, index)
            && &self.words[last.at as usize..] == key
        {
            return;
        }
        let (at, len) = (self.words.len() as u32, key.len() as u32);
        self.words.extend_from_slice(key);
        self.looks.push(Look { table, index, bytes, at, len, found: 0 });
    }

    /// Forgets them.
    #[inline]
    pub fn clear(&mut self) {
        self.looks.clear();
        self.words.clear();
        self.ran = 0;
        self.made = None;
        self.next = 0;
    }

    /// Forgets them; those that join now are of several calls.
    pub fn begin_calls(&mut self) {
        self.clear();
        self.calls.clear();
        self.served = Default::default();
        self.of_calls = true;
    }

    /// Those that join from now on are of the call of this number.
    pub fn of_call(&mut self, call: u32) {
        self.calls.push((call, self.looks.len()));
    }

    /// From now on it is this call that looks for its own: whether it has any.
    pub fn serve(&mut self, call: u32) -> bool {
        self.served = Default::default();
        let ends = self.calls.iter().skip(1).map(|(_, begin)| *begin).chain([self.looks.len()]);
        let turns = self.calls.iter().zip(ends).filter(|((of, begin), end)| *of == call && begin < end);
        let mut any = false;
        for (served, ((_, begin), end)) in self.served.iter_mut().zip(turns) {
            *served = *begin..end;
            any = true;
        }
        any
    }

    /// Whether no more should join before those that have are fetched.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.looks.len() - self.ran >= GROUP_MAX
    }

    /// Goes down for all of them together, that it has not gone down for yet.
    pub fn run<H: Header>(&mut self, tables: &TableSet<H>, pin: Pinned<'_>) {
        // What was found under another pin may be gone.
        if self.made.is_some_and(|made| made != pin.serial()) {
            self.looks.iter_mut().for_each(|look| look.found = 0);
            self.ran = 0;
        }
        let mut walks: [Option<(&BTree, Walk)>; GROUP_MAX] = [None; GROUP_MAX];
        while self.ran < self.looks.len() {
            let end = self.looks.len().min(self.ran + GROUP_MAX);
            let looks = &mut self.looks[self.ran..end];
            let mut going = 0;
            for (look, walk) in looks.iter().zip(&mut walks) {
                let tree = tables.get(look.table).index(look.index).tree();
                *walk = tree.walk(pin).map(|walk| (tree, walk));
                going += usize::from(walk.is_some());
            }
            // One alone finds nothing to overlap with.
            if going < 2 && !self.of_calls {
                self.clear();
                return;
            }
            while going > 0 {
                for (look, slot) in looks.iter_mut().zip(&mut walks) {
                    let Some((tree, walk)) = slot else { continue };
                    let key = &self.words[look.at as usize..][..look.len as usize];
                    match tree.walk_on(walk, pin, key) {
                        Stepped::Down => continue,
                        Stepped::Found(word) => {
                            RecordPtr::<H>::from_word(word).prefetch_image(look.bytes as usize);
                            look.found = word;
                        }
                        Stepped::Nothing => {}
                    }
                    *slot = None;
                    going -= 1;
                }
            }
            self.ran = end;
        }
        self.made = (self.ran > 0).then_some(pin.serial());
    }

    /// The record that a lookup of the call that is served came to, if it was made ahead.
    #[inline]
    pub fn find_for_call(&self, table: TableId, index: IndexId, key: &[u64]) -> Option<Found> {
        let pin = self.made?;
        let looks = self.served.iter().flat_map(|turn| self.looks.get(turn.clone()).unwrap_or_default());
        let look = looks.into_iter().find(|look| self.is_of(look, table, index, key))?;
        (look.found != 0).then_some(Found { word: look.found, pin })
    }

    #[inline]
    fn is_of(&self, look: &Look, table: TableId, index: IndexId, key: &[u64]) -> bool {
        (look.table, look.index) == (table, index)
            && &self.words[look.at as usize..][..look.len as usize] == key
    }

    /// Where the path of this lookup led, if it was made ahead and comes in its turn, or nearly so.
    #[inline]
    pub fn find(&mut self, table: TableId, index: IndexId, key: &[u64]) -> Option<Found> {
        let pin = self.made?;
        let coming = self.looks.get(self.next..)?.iter().take(NEXT_MAX);
        let (nth, look) = coming.enumerate().find(|(_, look)| self.is_of(look, table, index, key))?;
        let word = look.found;
        self.next += nth + 1;
        (word != 0).then_some(Found { word, pin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: TableId = TableId(3);

    fn keys(ahead: &LookAhead, from: u64) -> Vec<u64> {
        (from..from + 10)
            .filter(|key| ahead.find_for_call(TABLE, IndexId::PRIMARY, &[*key]).is_some())
            .collect()
    }

    /// As if it had been made: each key led to a record.
    fn made(ahead: &mut LookAhead) {
        for look in &mut ahead.looks {
            look.found = 8;
        }
        ahead.ran = ahead.looks.len();
        ahead.made = Some(1);
    }

    #[test]
    fn each_call_finds_its_own() {
        let mut ahead = LookAhead::default();
        ahead.begin_calls();
        for turn in 0..2_u64 {
            for call in 0..3 {
                ahead.of_call(call);
                // The second one asks for nothing at first.
                if (turn, call) != (0, 1) {
                    ahead.add(TABLE, IndexId::PRIMARY, &[10 * u64::from(call) + turn], 0);
                    ahead.add(TABLE, IndexId::PRIMARY, &[10 * u64::from(call) + turn + 5], 0);
                }
            }
            made(&mut ahead);
        }
        for (call, expected) in [(0, &[0, 1, 5, 6][..]), (1, &[11, 16]), (2, &[20, 21, 25, 26])] {
            assert!(ahead.serve(call));
            let all: Vec<u64> = [0, 10, 20].into_iter().flat_map(|from| keys(&ahead, from)).collect();
            assert_eq!(all, expected);
        }
        assert!(!ahead.serve(3));
        assert!(keys(&ahead, 0).is_empty());
        ahead.begin_calls();
        assert!(!ahead.serve(0) && keys(&ahead, 0).is_empty());
    }

    #[test]
    fn a_group_is_full_of_what_has_not_been_made() {
        let mut ahead = LookAhead::default();
        ahead.begin_calls();
        for key in 0..3 * GROUP_MAX as u64 {
            assert_eq!(ahead.is_full(), key > 0 && key % GROUP_MAX as u64 == 0);
            if ahead.is_full() {
                made(&mut ahead);
            }
            ahead.add(TABLE, IndexId::PRIMARY, &[key], 0);
        }
        // That of one call alone begins anew instead.
        let mut alone = LookAhead::default();
        alone.add(TABLE, IndexId::PRIMARY, &[1], 0);
        made(&mut alone);
        alone.add(TABLE, IndexId::PRIMARY, &[2], 0);
        assert_eq!(alone.looks.len(), 1);
    }
}
