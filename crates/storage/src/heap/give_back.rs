//! Giving chunks without a block in use back to the system.
//!
//! 1. The free lists are taken out of the shard: who allocates meanwhile carves new blocks.
//! 2. Bytes of free blocks are added up by chunk. One whose blocks are all free is nobody's any more: none of
//!    them can be allocated while the lists are out.
//! 3. The lists go back without the blocks of those chunks, which are unmapped then.
//!
//! The chunk that is being carved stays, and so does the first one: it may be allocated from at once.

#![allow(unsafe_code)] // an allocator

use super::{CLASSES, ChunkHead, Heap, Shard, class_words};
use crate::chunk::{self, CHUNK};
use std::collections::{HashMap, HashSet};
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

/// Free bytes in chunks from which on it is worth the walk.
const WORTH: u64 = 2 * CHUNK as u64;

impl Heap {
    /// Gives back the chunks that have no block in use, if there may be some; answers with their bytes.
    pub(crate) fn give_back(&self) -> u64 {
        self.shards.iter().filter_map(std::sync::OnceLock::get).map(|shard| shard.give_back()).sum()
    }
}

impl Shard {
    fn give_back(&self) -> u64 {
        let mut inner = self.lock();
        let reserved = (inner.chunks.len() * CHUNK) as u64;
        let used = self.used.load(Ordering::Relaxed).saturating_sub(inner.huge_bytes);
        if reserved.saturating_sub(used + inner.fresh_bytes as u64) < WORTH {
            return 0;
        }
        let mut lists = std::mem::replace(&mut inner.free, [null_mut(); CLASSES + 1]);
        let kept = [chunk_of(inner.fresh), inner.chunks[0].addr()];
        drop(inner);

        let mut free: HashMap<usize, usize> = HashMap::new();
        for (class, list) in lists.iter().enumerate().skip(1) {
            let mut block = *list;
            while !block.is_null() {
                *free.entry(chunk_of(block)).or_default() += class_words(class as u8) * 8;
                // SAFETY: the first word of a free block points to the next one, and the lists are this call's.
                block = unsafe { block.cast::<*mut u64>().read() };
            }
        }
        let whole = CHUNK - size_of::<ChunkHead>();
        let empty: HashSet<usize> = free
            .into_iter()
            .filter(|(chunk, bytes)| *bytes == whole && !kept.contains(chunk))
            .map(|(chunk, _)| chunk)
            .collect();
        // What is left of each list, and its last block.
        let mut ends = [null_mut::<u64>(); CLASSES + 1];
        for (list, end) in lists.iter_mut().zip(&mut ends) {
            let mut block = std::mem::replace(list, null_mut());
            while !block.is_null() {
                // SAFETY: as above; only blocks that were passed have been written to.
                let next = unsafe { block.cast::<*mut u64>().read() };
                if !empty.contains(&chunk_of(block)) {
                    if end.is_null() {
                        *end = block;
                    }
                    // SAFETY: a free block of this call's lists.
                    unsafe { block.cast::<*mut u64>().write(*list) };
                    *list = block;
                }
                block = next;
            }
        }

        let mut inner = self.lock();
        for ((list, end), free) in lists.into_iter().zip(ends).zip(&mut inner.free) {
            if !end.is_null() {
                // SAFETY: the last block of a list of free blocks; those freed meanwhile follow it.
                unsafe { end.cast::<*mut u64>().write(*free) };
                *free = list;
            }
        }
        let mut given = Vec::with_capacity(empty.len());
        inner.chunks.retain(|chunk| {
            let gone = empty.contains(&chunk.addr());
            given.extend(gone.then_some(*chunk));
            !gone
        });
        drop(inner);
        let bytes = (given.len() * CHUNK) as u64;
        for chunk in given {
            // SAFETY: mapped by `open_chunk`; all its blocks were free, and are in no list any more.
            unsafe { chunk::unmap(chunk) }
        }
        bytes
    }
}

/// The address of the chunk that a block is in.
fn chunk_of<T>(block: *mut T) -> usize {
    block.addr() & !(CHUNK - 1)
}
