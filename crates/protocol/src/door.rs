//! How schemes follow record addresses.
//!
//! An address is only a number: nothing says that its record is still there. Whoever follows one says why it is, at the
//! place where he does so. All proofs are one of these:
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

/// Looks at a record.
///
/// # Safety
/// The record was not freed, and will not be as long as `pin` lasts: it was found in an index under this very pin,
/// or allocated.
#[inline]
pub(crate) unsafe fn look<H: Header>(record: RecordPtr<H>, pin: Pinned<'_>) -> RecordRef<'_, H> {
    // SAFETY: by the caller.
    unsafe { record.deref(pin) }
}

/// Lets go of a record that the transaction has taken out of every index.
///
/// # Safety
/// It is called once for a record that the caller deleted under its lock, or inserted and took back, after its
/// index entries were removed. Others can have added entries to a row only while it was not dead, and remove them before
/// they unpin.
pub(crate) unsafe fn retire<H: Header>(table: &Table<H>, record: RecordPtr<H>, pin: Pinned<'_>) {
    // SAFETY: by the caller.
    unsafe { table.retire(record, pin) }
}

/// Frees a record that no index has ever pointed to.
///
/// # Safety
/// The caller has just allocated it, nobody else has seen it, and nobody looks at it again.
pub(crate) unsafe fn free<H: Header>(table: &Table<H>, record: RecordPtr<H>) {
    // SAFETY: by the caller.
    unsafe { table.free(record) }
}
