//! Errors that more than one part of a session raises.

use crate::engine::program::cancel::Cancel;
use planaria_base::{Error, SqlState};

/// 25006
#[cold]
pub(crate) fn read_only(command: &str) -> Error {
    let message = format!("cannot execute {command} in a read-only transaction");
    Error::new(SqlState::READ_ONLY_SQL_TRANSACTION, message)
}

/// 0A000, for EXECUTE of a text that begins or ends a transaction.
#[cold]
pub(crate) fn transaction_executed() -> Error {
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, "EXECUTE of transaction commands is not implemented")
}

/// 40001, for a transaction block that a schema change overtook.
#[cold]
pub(crate) fn schema_changed() -> Error {
    Error::new(
        SqlState::SERIALIZATION_FAILURE,
        "could not serialize access: the schema was changed during the transaction",
    )
    .with_hint("The transaction might succeed if retried.")
}

/// 40001, for a transaction that the caller must repeat.
#[cold]
pub(crate) fn not_serialized() -> Error {
    Error::new(
        SqlState::SERIALIZATION_FAILURE,
        "could not serialize access due to read/write dependencies among transactions",
    )
    .with_hint("The transaction might succeed if retried.")
}

/// 40P01: a key is being put in by another block, which cannot end before this one.
#[cold]
pub(crate) fn key_of_another() -> Error {
    Error::new(SqlState::DEADLOCK_DETECTED, "deadlock detected")
        .with_detail("Another transaction is inserting the same key, and waits for this one's schema change to finish.")
        .with_hint("The transaction might succeed if retried.")
}

/// The end of a wait that was in vain.
pub(crate) fn gave_up(out_of_time: bool, cancel: &Cancel) -> Error {
    if out_of_time {
        return Error::new(SqlState::LOCK_NOT_AVAILABLE, "canceling statement due to lock timeout");
    }
    cancel.error()
}
