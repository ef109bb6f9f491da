//! Cutting a tree into ranges with about as many entries each, by the separators of its inner nodes.

#![allow(unsafe_code)] // follows node pointers; each site names the check that allows it

use super::compare_keys;
use super::fill::push_key;
use super::lock::{Backoff, Header, Restart};
use super::tree::Tree;
use crate::reclaim::Pinned;

impl<const W: usize, const LONG: bool, const L: usize, const I: usize> Tree<W, LONG, L, I> {
    /// See [`BTree::separators`](super::BTree::separators).
    pub(super) fn separators(&self, wanted: usize, _pin: Pinned<'_>) -> Vec<Vec<u64>> {
        let mut backoff = Backoff::default();
        loop {
            match self.try_separators(wanted) {
                Ok(keys) => return evenly(keys, wanted),
                Err(Restart) => backoff.wait(),
            }
        }
    }

    /// All separators down to the first level that has enough of them.
    fn try_separators(&self, wanted: usize) -> Result<Vec<Vec<u64>>, Restart> {
        let mut level: Vec<(&Header, u64)> = vec![self.root()?];
        let mut keys: Vec<Vec<u64>> = Vec::new();
        while keys.len() + 1 < wanted && level[0].0.level > 0 {
            let (mut below, mut finer) = (Vec::new(), Vec::new());
            let mut above = keys.into_iter();
            for (node, version) in level {
                // SAFETY: reached under a check, and no leaf: all nodes of a level have the same level.
                let inner = unsafe { self.inner(node) };
                let n = inner.count();
                for child in 0..n {
                    below.push(self.step(inner, version, child)?);
                }
                let cells: Vec<_> = (1..n).map(|child| inner.cell(child - 1)).collect();
                inner.header.check(version)?;
                for cell in &cells {
                    let mut key = Vec::new();
                    push_key::<W, LONG>(cell, &mut key);
                    finer.push(key);
                }
                finer.extend(above.next());
            }
            (level, keys) = (below, finer);
        }
        // What lies between the levels may have been unlinked meanwhile, so that a node's range reaches beyond the separator that
        // was read above it. Any keys in order cut the tree into ranges that miss and share nothing.
        keys.sort_by(|a, b| compare_keys(a, b));
        keys.dedup_by(|a, b| compare_keys(a, b).is_eq());
        Ok(keys)
    }
}

/// At most `wanted - 1` of them, evenly.
fn evenly(keys: Vec<Vec<u64>>, wanted: usize) -> Vec<Vec<u64>> {
    let wanted = wanted.max(1);
    if keys.len() < wanted {
        return keys;
    }
    let ranges = keys.len() + 1;
    let mut chosen: Vec<usize> = (1..wanted).map(|i| i * ranges / wanted - 1).collect();
    chosen.dedup();
    let mut keys: Vec<Option<Vec<u64>>> = keys.into_iter().map(Some).collect();
    chosen.into_iter().filter_map(|i| keys[i].take()).collect()
}
