//! Prepared statements and portals: what Parse and Bind make, and Execute uses up.

use crate::decode::Parameters;
use crate::encode::Format;
use crate::metrics::Histogram;
use crate::reply::Reply;
use crate::spool::Spool;
use planaria::{Result, Statement};
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

/// Rows that wait to be fetched, as messages: first those in a file, then those in memory.
pub(crate) struct Held {
    spool: Spool,
    /// What was read of the file.
    read: u64,
    /// Those in memory that belong behind the file.
    behind: Vec<u8>,
    /// Those that come next; of the last, perhaps only a part.
    rows: Vec<u8>,
    /// Where the next one begins.
    next: usize,
}

/// Read of a file at a time.
const READ_BYTES: usize = 256 << 10;
/// Type and length.
const HEADER_BYTES: usize = 5;

impl Held {
    pub(crate) fn new(spool: Spool, rows: Vec<u8>) -> Held {
        let mut held = Held { spool, read: 0, behind: rows, rows: Vec::new(), next: 0 };
        if held.spool.len() == 0 {
            held.rows = std::mem::take(&mut held.behind);
        }
        held
    }

    /// The length of the next message, once it is in `rows` as a whole; `None` at the end.
    fn whole(&mut self) -> Result<Option<usize>> {
        loop {
            let rest = &self.rows[self.next..];
            if let Some(head) = rest.get(..HEADER_BYTES) {
                let len = 1 + u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
                if len <= rest.len() {
                    return Ok(Some(len));
                }
            }
            if self.read < self.spool.len() {
                self.rows.drain(..std::mem::take(&mut self.next));
                self.read += self.spool.read(&mut self.rows, self.read, READ_BYTES)? as u64;
            } else if !self.behind.is_empty() {
                self.rows.drain(..std::mem::take(&mut self.next));
                self.rows.append(&mut self.behind);
            } else {
                return Ok(None);
            }
        }
    }

    /// Hands on the next messages, at most `n` of them (0: all); how many they were.
    pub(crate) fn fetch(&mut self, n: usize, out: &mut Reply) -> Result<usize> {
        let mut count = 0;
        while n == 0 || count < n {
            let Some(len) = self.whole()? else { break };
            out.append(&self.rows[self.next..self.next + len]);
            self.next += len;
            count += 1;
        }
        Ok(count)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.next == self.rows.len() && self.read == self.spool.len() && self.behind.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fetch(held: &mut Held, n: usize) -> (Vec<u8>, usize) {
        let mut out = Reply::default();
        let count = held.fetch(n, &mut out).expect("rows");
        (out.bytes().to_vec(), count)
    }

    #[test]
    fn rows_are_fetched_a_few_at_a_time() {
        let rows = b"D\0\0\0\x05aD\0\0\0\x04D\0\0\0\x05b".to_vec();
        let mut held = Held::new(Spool::default(), rows.clone());
        assert_eq!(fetch(&mut held, 2), (rows[..11].to_vec(), 2));
        assert!(!held.is_empty());
        assert_eq!(fetch(&mut held, 0), (rows[11..].to_vec(), 1));
        assert!(held.is_empty());
        assert_eq!(fetch(&mut held, 5), (Vec::new(), 0));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn those_in_a_file_come_first() {
        let row = |i: u32| [b"D\0\0\0\x08".as_slice(), &i.to_be_bytes()].concat();
        let mut spool = Spool::default();
        let many = READ_BYTES as u32 / 9 + 100;
        let filed: Vec<u8> = (0..many).flat_map(row).collect();
        spool.append(&filed).expect("room");
        let mut held = Held::new(spool, [row(many), row(many + 1)].concat());
        for i in 0..many + 2 {
            assert!(!held.is_empty());
            assert_eq!(fetch(&mut held, 1), (row(i), 1));
        }
        assert!(held.is_empty());
    }
}
