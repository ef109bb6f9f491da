//! The node set, and the map that finds a record's write.

use crate::Conflict;
use planaria_storage::btree::{NodeChanges, NodeRef};

/// Elements that are searched one by one before a map is made.
const LINEAR: usize = 8;

/// From addresses to positions in a list that only grows: nothing while the list is short, then an
/// open-addressing table with linear probing, at most half full.
#[derive(Default)]
pub(crate) struct PointerMap {
    /// Address and position; address 0 is free.
    slots: Vec<(u64, u32)>,
    /// Slots in use are `slots[..=mask]`; 0: no map yet.
    mask: usize,
}

/// Slots that are kept between transactions.
const SLOTS_KEPT: usize = 1 << 16;

impl PointerMap {
    #[inline]
    fn home(&self, address: u64) -> usize {
        (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & self.mask
    }

    /// The position of an address in the list of `len`, whose elements `at` gives.
    #[inline]
    pub(crate) fn find(&self, address: u64, len: usize, at: impl Fn(usize) -> u64) -> Option<u32> {
        if self.mask == 0 {
            return (0..len).find(|i| at(*i) == address).map(|i| i as u32);
        }
        let mut slot = self.home(address);
        loop {
            let (found, position) = self.slots[slot];
            if found == address {
                return Some(position);
            }
            if found == 0 {
                return None;
            }
            slot = (slot + 1) & self.mask;
        }
    }

    /// Notes that an address has just been put at the end of the list, at `position`.
    #[inline]
    pub(crate) fn insert(&mut self, address: u64, position: usize, at: impl Fn(usize) -> u64) {
        if position < LINEAR {
            return;
        }
        if (position + 1) * 2 > self.mask {
            self.rebuild(position, at);
        }
        self.put(address, position as u32);
    }

    #[inline]
    fn put(&mut self, address: u64, position: u32) {
        let mut slot = self.home(address);
        while self.slots[slot].0 != 0 {
            slot = (slot + 1) & self.mask;
        }
        self.slots[slot] = (address, position);
    }

    #[cold]
    fn rebuild(&mut self, len: usize, at: impl Fn(usize) -> u64) {
        let slots = ((len + 1) * 4).next_power_of_two();
        if self.slots.len() < slots {
            self.slots.resize(slots, (0, 0));
        }
        self.slots[..slots].fill((0, 0));
        self.mask = slots - 1;
        (0..len).for_each(|i| self.put(at(i), i as u32));
    }

    /// Forgets everything; costs nothing.
    pub(crate) fn clear(&mut self) {
        self.mask = 0;
        if self.slots.len() > SLOTS_KEPT {
            self.slots = Vec::new();
        }
    }
}

/// The leaves that scans and failed lookups depend on, each with the *first* insert version seen.
#[derive(Default)]
pub(crate) struct NodeSet {
    nodes: Vec<NodeRef>,
    map: PointerMap,
    /// A leaf was met again at another version: the transaction cannot commit.
    moved: bool,
    /// Places of leaves that splits made out of others in the set.
    created: Vec<u32>,
}

impl NodeSet {
    #[inline]
    fn find(&self, node: usize) -> Option<usize> {
        let at = |i: usize| self.nodes[i].node() as u64;
        self.map.find(node as u64, self.nodes.len(), at).map(|i| i as usize)
    }

    /// Adds a leaf.
    #[inline]
    pub(crate) fn add(&mut self, node: NodeRef) {
        if self.nodes.last() == Some(&node) {
            return;
        }
        match self.find(node.node()) {
            Some(i) => self.moved |= self.nodes[i] != node,
            None => {
                let NodeSet { nodes, map, .. } = self;
                nodes.push(node);
                map.insert(node.node() as u64, nodes.len() - 1, |i| nodes[i].node() as u64);
            }
        }
    }

    /// Moves along with an insert of the transaction's own.
    #[inline]
    pub(crate) fn apply(&mut self, changes: &NodeChanges) {
        if self.nodes.is_empty() {
            return;
        }
        let Some(i) = self.find(changes.before.node()) else { return };
        if self.nodes[i] != changes.before {
            self.moved = true;
            return;
        }
        self.nodes[i] = changes.after;
        if let Some(created) = changes.created {
            self.created.push(self.nodes.len() as u32);
            self.add(created);
        }
    }

    /// The present state, for [`NodeSet::go_back`].
    pub(crate) fn mark(&self) -> (u32, bool) {
        (self.nodes.len() as u32, self.moved)
    }

    /// Forgets the leaves added since, but for those that came out of others: what was read in those
    /// may lie in these now.
    pub(crate) fn go_back(&mut self, (len, moved): (u32, bool)) {
        self.moved = moved;
        if self.nodes.len() == len as usize {
            return;
        }
        let created = self.created.split_off(self.created.partition_point(|at| *at < len));
        let split: Vec<NodeRef> =
            created.iter().filter_map(|at| self.nodes.get(*at as usize).copied()).collect();
        self.nodes.truncate(len as usize);
        self.map.clear();
        let NodeSet { nodes, map, .. } = self;
        if !nodes.is_empty() {
            // Made anew from the whole list when the last of it is put in.
            map.insert(nodes[nodes.len() - 1].node() as u64, nodes.len() - 1, |i| nodes[i].node() as u64);
        }
        for node in split {
            self.created.push(self.nodes.len() as u32);
            self.add(node);
        }
    }

    /// From now on it counts as known that a leaf has moved.
    pub(crate) fn set_moved(&mut self) {
        self.moved = true;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && !self.moved
    }

    /// Whether it is known already that a leaf has moved.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), Conflict> {
        if self.moved { Err(Conflict::Phantom) } else { Ok(()) }
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &NodeRef> {
        self.nodes.iter()
    }

    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.nodes.is_empty() {
            super::recycle(&mut self.nodes);
            self.map.clear();
            self.created.clear();
        }
        self.moved = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_map_finds_what_was_put_in_at_any_size() {
        let mut map = PointerMap::default();
        let mut list: Vec<u64> = Vec::new();
        for round in [5u64, 100_000, 9, 20_000] {
            for i in 0..round {
                let address = (i + 1) * 64;
                list.push(address);
                map.insert(address, list.len() - 1, |i| list[i]);
            }
            for (i, address) in list.iter().enumerate() {
                assert_eq!(map.find(*address, list.len(), |i| list[i]), Some(i as u32));
                assert_eq!(map.find(address + 8, list.len(), |i| list[i]), None);
            }
            list.clear();
            map.clear();
        }
    }
}
