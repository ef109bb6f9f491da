//! Old versions that no tree has yet: one behind the other, as they came.

use super::Version;
use std::ops::Range;

/// See the module's head.
#[derive(Default)]
pub(super) struct Waiting {
    /// With where their keys are.
    versions: Vec<(Range<usize>, Version)>,
    keys: Vec<u64>,
}

impl Waiting {
    pub(super) fn push(&mut self, key: &[u64], version: Version) {
        let from = self.keys.len();
        self.keys.extend_from_slice(key);
        self.versions.push((from..self.keys.len(), version));
    }

    pub(super) fn len(&self) -> u64 {
        self.versions.len() as u64
    }

    pub(super) fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// Bytes of images, as they count.
    pub(super) fn counted(&self) -> u64 {
        self.versions.iter().map(|(_, version)| version.counted).sum()
    }

    /// In the order in which they came.
    pub(super) fn for_each(self, mut f: impl FnMut(&[u64], Version)) {
        for (key, version) in self.versions {
            f(&self.keys[key], version);
        }
    }

    /// Drops those that are not `needed`.
    pub(super) fn retain(&mut self, mut needed: impl FnMut(&Version) -> bool) {
        let Waiting { versions, keys } = self;
        let mut end = 0;
        versions.retain_mut(|(key, version)| {
            let stays = needed(version);
            if stays {
                // Keys are in the order of their versions, so it moves to the front, if at all.
                keys.copy_within(key.clone(), end);
                *key = end..end + key.len();
                end = key.end;
            }
            stays
        });
        keys.truncate(end);
    }

    /// Adds those that came later.
    pub(super) fn append(&mut self, later: &mut Waiting) {
        let from = self.keys.len();
        self.keys.append(&mut later.keys);
        let moved = |(key, version): (Range<usize>, Version)| (key.start + from..key.end + from, version);
        self.versions.extend(later.versions.drain(..).map(moved));
    }
}
