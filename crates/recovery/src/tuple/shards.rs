//! What a run knows of each row, and the row's latch.
//!
//! Rows go by a word (the address of a record, or a location in the log). A row's latch is that of its
//! shard: there are many more shards than threads, and a latch is held for the writing of one row.

use planaria_base::sync::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

const SHARDS: usize = 1 << 10;

/// A map from words to what is known of their rows.
pub(super) type Rows<V> = HashMap<u64, V, BuildHasherDefault<WordHasher>>;

/// Rows in shards.
pub(super) struct Shards<V>(Box<[Mutex<Rows<V>>]>);

impl<V> Shards<V> {
    /// No rows.
    pub(super) fn new() -> Shards<V> {
        Shards((0..SHARDS).map(|_| Mutex::new(Rows::default())).collect())
    }

    /// Latches the row that `word` stands for, with the others of its shard.
    #[inline]
    pub(super) fn latch(&self, word: u64) -> MutexGuard<'_, Rows<V>> {
        let shard = mixed(word) as usize & (SHARDS - 1);
        self.0[shard].lock()
    }

    /// Number of shards.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes the rows of a shard out.
    pub(super) fn take(&self, shard: usize) -> Rows<V> {
        std::mem::take(&mut *self.0[shard].lock())
    }
}

/// Spreads words: addresses differ in few bits.
#[inline]
pub(super) fn mixed(word: u64) -> u64 {
    let product = u128::from(word) * 0x9e37_79b9_7f4a_7c15;
    (product >> 64) as u64 ^ product as u64
}

/// Hashes one word.
#[derive(Default)]
pub(super) struct WordHasher(u64);

impl Hasher for WordHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|b| self.write_u64(u64::from(*b)));
    }
    fn write_u64(&mut self, word: u64) {
        // Not the bits that chose the shard.
        self.0 = mixed(self.0 ^ word).rotate_left(32);
    }
}
