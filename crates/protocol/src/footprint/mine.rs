//! Records that a transaction has locked although it still runs: it is being healed (`crate::versioned`, `heal`).

use super::SPINS_MAX;
use planaria_base::sync::simulation;

/// Looks at a locked record out of lock order.
pub(crate) const IMPATIENCE: u32 = 32;

/// Addresses and versions, by address. Of all but schemes that heal it is empty.
#[derive(Default)]
pub(crate) struct Mine {
    locked: Vec<(u64, u64)>,
}

impl Mine {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.locked.is_empty()
    }

    /// The version at which a record is locked by this transaction.
    #[inline]
    pub(crate) fn version_of(&self, address: u64) -> Option<u64> {
        if self.locked.is_empty() {
            return None;
        }
        let at = self.locked.binary_search_by_key(&address, |(address, _)| *address).ok()?;
        Some(self.locked[at].1)
    }

    #[inline]
    pub(crate) fn has(&self, address: u64) -> bool {
        self.version_of(address).is_some()
    }

    /// The highest address; 0 where there is none.
    pub(crate) fn highest(&self) -> u64 {
        self.locked.last().map_or(0, |(address, _)| *address)
    }

    /// How often to look at a record that somebody else has locked. Who holds locks waits in their order alone: beyond the
    /// highest. Out of it two could wait for each other, and all others for them.
    #[inline]
    pub(crate) fn patience(&self, address: u64) -> u32 {
        if self.locked.is_empty() || address > self.highest() && simulation::orders_by_address() {
            SPINS_MAX
        } else {
            IMPATIENCE
        }
    }

    pub(crate) fn insert(&mut self, address: u64, version: u64) {
        // In lock order it comes to the end.
        let at = self.locked.partition_point(|(other, _)| *other < address);
        self.locked.insert(at, (address, version));
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.locked.iter().copied()
    }

    pub(crate) fn clear(&mut self) {
        super::recycle(&mut self.locked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_locked_is_found_at_its_version() {
        let mut mine = Mine::default();
        assert!(mine.is_empty() && !mine.has(8) && mine.highest() == 0);
        for address in [16, 8, 40, 24] {
            mine.insert(address, address + 1);
        }
        assert_eq!(mine.iter().map(|(address, _)| address).collect::<Vec<_>>(), [8, 16, 24, 40]);
        assert_eq!((mine.version_of(24), mine.version_of(32), mine.highest()), (Some(25), None, 40));
        assert_eq!((mine.patience(32), mine.patience(48)), (IMPATIENCE, SPINS_MAX));
        mine.clear();
        assert!(mine.is_empty());
    }
}
