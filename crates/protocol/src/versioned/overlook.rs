//! Commit of a scheme that validates nothing ([`crate::unvalidated`]): what has changed is changed as it is now, but for what
//! indexes depend on.

use super::*;
use crate::footprint::record::{Seen, read_record};

/// Rounds of looking at what has changed before it counts as a conflict.
const ROUNDS_MAX: u32 = 100;

impl<R: Rules> Txn<R> {
    /// [`Rules::lock`], whatever has become of the rows since they were read.
    #[cold]
    pub(super) fn lock_overlooking(
        &mut self,
        tables: &TableSet<R::Header>,
        locked: &mut usize,
    ) -> Result<(), Conflict> {
        for _ in 0..ROUNDS_MAX {
            match R::lock(self, locked) {
                Err(Conflict::Validation) => {}
                outcome => return outcome,
            }
            self.unlock(std::mem::take(locked));
            R::let_go(self);
            (0..self.foot.order.len()).try_for_each(|at| self.overlook(tables, self.foot.order[at].1))?;
        }
        Err(Conflict::Locked)
    }

    /// Takes a row as it is now for the one that was read. It must be there, and have the keys that indexes have of the
    /// one that it is to become.
    fn overlook(&mut self, tables: &TableSet<R::Header>, at: u32) -> Result<(), Conflict> {
        let write = self.foot.writes[at as usize];
        if write.origin == Origin::Insert {
            return Ok(());
        }
        let Footprint { participant, images, scratch, key, other_key, writes, mine, .. } = &mut self.foot;
        let mark = images.mark();
        let seen = read_record(write.record, participant.pinned(), mine, images);
        scratch.clear();
        let version = match &seen {
            Ok(Seen::Row(version, image)) => {
                scratch.extend_from_slice(image.words(images));
                *version
            }
            _ => CLAIMED,
        };
        images.truncate(mark);
        seen?;
        if version == write.version {
            return Ok(());
        }
        let image = write.image.words(images);
        let keeps_its_keys = version != CLAIMED
            && write.state == State::Live
            && write.touched.is_empty()
            && tables.get(write.table).indexes().iter().all(|index| {
                let codec = index.codec();
                codec.encode_row(scratch, key).is_ok()
                    && codec.encode_row(image, other_key).is_ok()
                    && key == other_key
            });
        if !keeps_its_keys {
            return Err(Conflict::Validation);
        }
        writes[at as usize].version = version;
        Ok(())
    }
}
