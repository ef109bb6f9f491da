//! What is worth knowing of a checkpoint besides its rows.

use serde::{Deserialize, Serialize};

/// Kept in the manifest as JSON; what a reader does not know it leaves out, what is missing is 0.
#[derive(Clone, PartialEq, Default, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Notes {
    /// When it was begun: microseconds since 2000-01-01 UTC.
    pub began_micros: i64,
    /// How long rows took to write, in microseconds.
    pub took_micros: u64,
    /// Measured when the database was opened last: bytes of rows loaded in a second, as stored.
    pub load_bytes_per_second: f64,
    /// Measured when the database was opened last: bytes of records replayed in a second.
    pub replay_bytes_per_second: f64,
}
