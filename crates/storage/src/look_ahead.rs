//! Rows that are going to be looked up: their index paths and their images are fetched together, before the first is wanted.
//!
//! It is a hint from end to end: the lookups are made all the same, and find in the processor's caches what they would have waited
//! for, one after the other. Where a path led is kept until the next group, for a lookup that comes to the same key: it may look
//! at that record first, and goes by the index if it is not the row that it is looking for.

use crate::btree::{BTree, Stepped, Walk};
use crate::reclaim::Pinned;
use crate::{Header, RecordPtr, TableSet};
use planaria_base::{IndexId, TableId};

/// Lookups that are made together. More would push each other out of the nearest cache.
pub const GROUP_MAX: usize = 32;

/// How far behind the last lookup that was found its successor is searched: programs keep to the order of what they said, nearly.
const NEXT_MAX: usize = 4;

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
    /// The group has been made, under this pin.
    made: Option<u64>,
    /// Of a group that has been made: which of them comes next.
    next: usize,
}

impl LookAhead {
    /// A lookup joins, of whose row so many bytes will be read; not again behind the same one.
    #[inline]
    pub fn add(&mut self, table: TableId, index: IndexId, key: &[u64], bytes: u32) {
        if self.made.is_some() {
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
        self.made = None;
        self.next = 0;
    }

    /// Whether no more should join.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.looks.len() >= GROUP_MAX
    }

    /// Goes down for all of them together.
    pub fn run<H: Header>(&mut self, tables: &TableSet<H>, pin: Pinned<'_>) {
        let mut walks: [Option<(&BTree, Walk)>; GROUP_MAX] = [None; GROUP_MAX];
        let mut going = 0;
        for (look, walk) in self.looks.iter().zip(&mut walks) {
            let tree = tables.get(look.table).index(look.index).tree();
            *walk = tree.walk(pin).map(|walk| (tree, walk));
            going += usize::from(walk.is_some());
        }
        // One alone finds nothing to overlap with.
        if going < 2 {
            self.clear();
            return;
        }
        while going > 0 {
            for (look, slot) in self.looks.iter_mut().zip(&mut walks) {
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
        self.made = Some(pin.serial());
    }

    /// Where the path of this lookup led, if it was made ahead and comes in its turn, or nearly so.
    #[inline]
    pub fn find(&mut self, table: TableId, index: IndexId, key: &[u64]) -> Option<Found> {
        let pin = self.made?;
        let coming = self.looks.get(self.next..)?.iter().take(NEXT_MAX);
        let is_it = |look: &Look| {
            (look.table, look.index) == (table, index)
                && &self.words[look.at as usize..][..look.len as usize] == key
        };
        let (nth, look) = coming.enumerate().find(|(_, look)| is_it(look))?;
        let word = look.found;
        self.next += nth + 1;
        (word != 0).then_some(Found { word, pin })
    }
}
