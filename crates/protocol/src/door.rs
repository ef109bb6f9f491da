//! How schemes follow record addresses.
//!
//! An address is only a number: nothing says that its record is still there. Whoever makes a [`Met`] of one says why it is, and is
//! going to be for as long as the transaction stays pinned; then it can be looked at. All proofs are one of these:
//!
//! * *found*: an index gave the address under the pin that is held, which has not ended since: a record is freed only
//!   when everybody who was pinned as it left its last index has unpinned;
//! * *kept*: it stands in a list of the transaction, which `begin` has emptied and pinned for, which takes only what was
//!   found or allocated since, and which the end of the transaction empties before it unpins;
//! * *own*: the transaction has allocated it and knows it alone, or has entered it into indexes that nobody but its
//!   end takes it out of.

#![allow(unsafe_code)]

use planaria_storage::reclaim::Pinned;
use planaria_storage::{Header, RecordPtr, RecordRef, Table};

/// The address of a record that may be followed until the transaction's pin ends, for one of the reasons above.
pub struct Met<H>(RecordPtr<H>);

impl<H: Header> Met<H> {
    /// # Safety
    /// An index has given the address under the pin that the transaction holds, or it is that of a [`Met`] which it has had under
    /// that pin. It is not followed when that pin has ended.
    #[inline]
    pub(crate) unsafe fn from_word(word: u64) -> Met<H> {
        Met(RecordPtr::from_word(word))
    }

    /// A new record.
    #[inline]
    pub(crate) fn allocate(table: &Table<H>, worker: usize, words: usize) -> Met<H> {
        Met(table.allocate(worker, words))
    }

    #[inline]
    pub(crate) fn to_word(self) -> u64 {
        self.0.to_word()
    }

    #[inline]
    pub(crate) fn prefetch_image(self, bytes: usize) {
        self.0.prefetch_image(bytes);
    }

    #[inline]
    pub(crate) fn prefetch_head(self) {
        self.0.prefetch_head();
    }
}

impl<H> Clone for Met<H> {
    #[inline]
    fn clone(&self) -> Self {
        *self
    }
}
impl<H> Copy for Met<H> {}
impl<H> PartialEq for Met<H> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl<H> Eq for Met<H> {}
impl<H> std::fmt::Debug for Met<H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Looks at a record.
#[inline]
pub(crate) fn look<H: Header>(record: Met<H>, pin: Pinned<'_>) -> RecordRef<'_, H> {
    // SAFETY: whoever has made a `Met` has promised it for the transaction's pin, which is the one that there is.
    unsafe { record.0.deref(pin) }
}

/// Lets go of a record that the transaction has taken out of every index.
///
/// # Safety
/// It is called once for a record that the caller deleted under its lock, or inserted and took back, after its
/// index entries were removed. Others can have added entries to a row only while it was not dead, and remove them before
/// they unpin.
pub(crate) unsafe fn retire<H: Header>(table: &Table<H>, record: Met<H>, pin: Pinned<'_>) {
    // SAFETY: by the caller.
    unsafe { table.retire(record.0, pin) }
}

/// Frees a record that no index has ever pointed to.
///
/// # Safety
/// The caller has just allocated it, nobody else has seen it, and nobody looks at it again.
pub(crate) unsafe fn free<H: Header>(table: &Table<H>, record: Met<H>) {
    // SAFETY: by the caller.
    unsafe { table.free(record.0) }
}
