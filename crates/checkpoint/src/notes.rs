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

impl Notes {
    /// As JSON, which has no number that is none.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let number = |n: f64| if n.is_finite() { n } else { 0.0 };
        let notes = Notes {
            load_bytes_per_second: number(self.load_bytes_per_second),
            replay_bytes_per_second: number(self.replay_bytes_per_second),
            ..self.clone()
        };
        serde_json::to_vec(&notes).unwrap_or_else(|_| b"{}".to_vec())
    }

    /// Back. No row depends on them: what cannot be read is as if it had not been noted.
    pub(crate) fn decode(json: &[u8]) -> Notes {
        serde_json::from_slice(json).unwrap_or_default()
    }
}
