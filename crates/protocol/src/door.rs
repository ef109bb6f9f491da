//! The one place where schemes follow record addresses.

#![allow(unsafe_code)] // see `look`

use planaria_storage::reclaim::Pinned;
use planaria_storage::{Header, RecordPtr, RecordRef, Table};

/// Looks at a record.
///
/// Schemes hold record addresses only from the `begin` of a transaction, which pins, to its end, which
/// forgets them and unpins; and only such as they found in an index or allocated in between.
#[inline]
pub(crate) fn look<H: Header>(record: RecordPtr<H>, pin: Pinned<'_>) -> RecordRef<'_, H> {
    // SAFETY: by the above, found or allocated under this very pin.
    unsafe { record.deref(pin) }
}

/// Lets go of a record that the transaction has taken out of every index.
pub(crate) fn retire<H: Header>(table: &Table<H>, record: RecordPtr<H>, pin: Pinned<'_>) {
    // SAFETY: schemes call this once for a record that they deleted under its lock, or inserted and
    // took back, after removing its index entries. Others can have added entries to a row only while it
    // was not dead, and remove them before they unpin.
    unsafe { table.retire(record, pin) }
}

/// Frees a record that no index has ever pointed to.
pub(crate) fn free<H: Header>(table: &Table<H>, record: RecordPtr<H>) {
    // SAFETY: schemes call this for a record just allocated whose first index entry was refused.
    unsafe { table.free(record) }
}
