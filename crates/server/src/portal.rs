//! Prepared statements and portals: what Parse and Bind make, and Execute uses up.

use crate::decode::Parameters;
use crate::encode::Format;
use crate::metrics::Histogram;
use planaria::Statement;
use std::sync::Arc;

/// A statement that Parse made.
pub(crate) struct Prepared {
    /// `None`: the text was empty.
    pub(crate) statement: Option<Statement>,
    /// OIDs of parameters as the client declared them; there may be fewer than parameters.
    pub(crate) declared: Vec<u32>,
    /// See [`crate::shapes`].
    pub(crate) shape: u64,
    /// Where the calls of its procedure are counted.
    pub(crate) calls: Option<Arc<Histogram>>,
}

/// A statement with its parameters, run or about to be.
pub(crate) struct Portal {
    pub(crate) prepared: Arc<Prepared>,
    pub(crate) params: Parameters,
    /// Formats of the columns, as Bind gave them.
    pub(crate) formats: Vec<Format>,
    pub(crate) state: State,
}

/// How far a portal is.
pub(crate) enum State {
    /// Not run yet.
    Ready,
    /// Run; the client has not fetched all rows.
    Open(Held),
    /// Used up.
    Done,
}

/// Rows that wait to be fetched, as messages.
pub(crate) struct Held {
    rows: Vec<u8>,
    /// Where the next one begins.
    next: usize,
}

impl Held {
    pub(crate) fn new(rows: Vec<u8>) -> Held {
        Held { rows, next: 0 }
    }

    /// The next messages, at most `n` of them (0: all), and how many they are.
    pub(crate) fn fetch(&mut self, n: usize) -> (&[u8], u64) {
        let start = self.next;
        let mut count = 0;
        while self.next < self.rows.len() && (n == 0 || count < n) {
            let at = self.next + 1;
            let len =
                u32::from_be_bytes([self.rows[at], self.rows[at + 1], self.rows[at + 2], self.rows[at + 3]]);
            self.next = at + len as usize;
            count += 1;
        }
        (&self.rows[start..self.next], count as u64)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.rows.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_fetched_a_few_at_a_time() {
        let rows = b"D\0\0\0\x05aD\0\0\0\x04D\0\0\0\x05b".to_vec();
        let mut held = Held::new(rows.clone());
        assert_eq!(held.fetch(2), (&rows[..11], 2));
        assert!(!held.is_empty());
        assert_eq!(held.fetch(0), (&rows[11..], 1));
        assert!(held.is_empty());
        assert_eq!(held.fetch(5), (&[][..], 0));
    }
}
