//! Rows that are going to be looked up: their index paths and their images are fetched together, before the first is wanted.
//!
//! It is a hint from end to end: nothing is answered, nothing is remembered of what was met, and the lookups are made all
//! the same. They find in the processor's caches what they would have waited for, one after the other.

use crate::btree::{BTree, Stepped, Walk};
use crate::reclaim::Pinned;
use crate::{Header, RecordPtr, TableSet};
use planaria_base::{IndexId, TableId};

/// Lookups that are made together. More would push each other out of the nearest cache.
pub const GROUP_MAX: usize = 32;

#[derive(Clone, Copy)]
struct Look {
    table: TableId,
    index: IndexId,
    /// Of the image, to be fetched.
    bytes: u32,
    /// Where the key is among the words, and how long.
    at: u32,
    len: u32,
}

/// A group of lookups by unique keys, to be made ahead. Empty groups keep their memory.
#[derive(Default)]
pub struct LookAhead {
    words: Vec<u64>,
    looks: Vec<Look>,
}

impl LookAhead {
    /// A lookup joins, of whose row so many bytes will be read; not again behind the same one.
    #[inline]
    pub fn add(&mut self, table: TableId, index: IndexId, key: &[u64], bytes: u32) {
        if let Some(last) = self.looks.last()
            && (last.table, last.index) == (table, index)
            && &self.words[last.at as usize..] == key
        {
            return;
        }
        let (at, len) = (self.words.len() as u32, key.len() as u32);
        self.words.extend_from_slice(key);
        self.looks.push(Look { table, index, bytes, at, len });
    }

    /// Forgets them.
    #[inline]
    pub fn clear(&mut self) {
        self.looks.clear();
        self.words.clear();
    }

    /// Whether no more should join.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.looks.len() >= GROUP_MAX
    }

    /// Goes down for all of them together, and empties the group.
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
            going = 0;
        }
        while going > 0 {
            for (look, slot) in self.looks.iter().zip(&mut walks) {
                let Some((tree, walk)) = slot else { continue };
                let key = &self.words[look.at as usize..][..look.len as usize];
                match tree.walk_on(walk, pin, key) {
                    Stepped::Down => continue,
                    Stepped::Found(word) => {
                        RecordPtr::<H>::from_word(word).prefetch_image(look.bytes as usize)
                    }
                    Stepped::Nothing => {}
                }
                *slot = None;
                going -= 1;
            }
        }
        self.clear();
    }
}
