//! Prepared statements and portals: what Parse and Bind make, and Execute uses up.

use crate::decode::Parameters;
use crate::encode::Format;
use crate::metrics::Histogram;
use crate::reply::Reply;
use crate::spool::Slice;
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
    /// See [`crate::statements`].
    pub(crate) id: u64,
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

impl Prepared {
    /// About what a statement takes, parsed and compiled. Measured: 4.4 KB for `SELECT v FROM t WHERE id = $1 AND w =
    /// 1`, 237 KB for a SELECT of 500 times `1 + 1` (3.5 KB of text), 63 KB for one literal of 20 KB.
    pub(crate) fn bytes(&self) -> usize {
        const EMPTY: usize = 4 << 10;
        const OF_SYNTAX: usize = 64;
        const OF_LITERAL: usize = 4;
        let Some(statement) = &self.statement else { return EMPTY };
        let parts = statement.text().as_bytes().split(|b| *b == b'\'').enumerate();
        let bytes = parts.map(|(i, part)| part.len() * if i % 2 == 0 { OF_SYNTAX } else { OF_LITERAL });
        EMPTY + bytes.sum::<usize>()
    }
}

impl Portal {
    /// What its parameters take, and rows that wait.
    pub(crate) fn bytes(&self) -> usize {
        let held = match &self.state {
            State::Open(held) => held.rows.capacity() + held.window.capacity(),
            State::Ready | State::Done => 0,
        };
        self.params.bytes() + self.formats.capacity() + held
    }
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
    filed: Option<Slice>,
    /// Where the next one in the file begins.
    at: u64,
    /// Some of the file, from `window_at` on.
    window: Vec<u8>,
    window_at: u64,
    /// Those behind the file.
    rows: Vec<u8>,
    /// Where the next one of them begins.
    next: usize,
    /// How many are left.
    left: u64,
}

/// Read of a file at a time, to find where messages end.
const READ_BYTES: usize = 64 << 10;
/// Type and length.
const HEADER_BYTES: usize = 5;

impl Held {
    /// `count`: of all rows, in the file and in memory.
    pub(crate) fn new(filed: Option<Slice>, rows: Vec<u8>, count: u64) -> Held {
        Held { filed, at: 0, window: Vec::new(), window_at: 0, rows, next: 0, left: count }
    }

    /// Hands on the next messages, at most `n` of them (0: all); how many they were. What comes from the file stays
    /// there until it is sent, unless it is little.
    pub(crate) fn fetch(&mut self, n: usize, out: &mut Reply) -> Result<u64> {
        let wanted = if n == 0 { self.left } else { self.left.min(n as u64) };
        let mut count = 0;
        if let Some(filed) = &self.filed {
            let from = self.at;
            if wanted == self.left {
                self.at = filed.len();
            }
            while count < wanted && self.at < filed.len() {
                let at = (self.at - self.window_at) as usize;
                let header =
                    if self.at < self.window_at { None } else { self.window.get(at..at + HEADER_BYTES) };
                if let Some(header) = header {
                    self.at += message_len(header) as u64;
                    count += 1;
                } else {
                    self.window.clear();
                    self.window_at = self.at;
                    filed.read(&mut self.window, self.at, READ_BYTES)?;
                }
            }
            let here = from.checked_sub(self.window_at).and_then(|at| {
                let at = usize::try_from(at).ok()?;
                self.window.get(at..at + usize::try_from(self.at - from).ok()?)
            });
            match here {
                Some(bytes) => out.append(bytes),
                None => out.spooled(out.len(), Some(filed.part(from, self.at))),
            }
            if self.at == filed.len() {
                (self.filed, self.window) = (None, Vec::new());
            }
        }
        if wanted == self.left {
            out.append(&self.rows[self.next..]);
            (self.rows, self.next) = (Vec::new(), 0);
        }
        let start = self.next;
        while wanted < self.left && count < wanted {
            self.next += message_len(&self.rows[self.next..]);
            count += 1;
        }
        out.append(&self.rows[start..self.next]);
        self.left -= wanted;
        Ok(wanted)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.left == 0
    }
}

/// The length of a message that begins with these bytes.
fn message_len(header: &[u8]) -> usize {
    1 + u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::Fragment;
    use crate::spool::{Spool, tests::room};

    fn fetch(held: &mut Held, n: usize) -> (Vec<u8>, u64) {
        let mut out = Reply::default();
        let count = held.fetch(n, &mut out).expect("rows");
        let mut all = Vec::new();
        for part in out.parts() {
            match part {
                Fragment::Bytes(bytes) => all.extend_from_slice(bytes),
                Fragment::Spool(slice) => drop(slice.read(&mut all, 0, usize::MAX).expect("bytes")),
            }
        }
        (all, count)
    }

    #[test]
    fn rows_are_fetched_a_few_at_a_time() {
        let rows = b"D\0\0\0\x05aD\0\0\0\x04D\0\0\0\x05b".to_vec();
        let mut held = Held::new(None, rows.clone(), 3);
        assert_eq!(fetch(&mut held, 2), (rows[..11].to_vec(), 2));
        assert!(!held.is_empty());
        assert_eq!(fetch(&mut held, 0), (rows[11..].to_vec(), 1));
        assert!(held.is_empty());
        assert_eq!(fetch(&mut held, 5), (Vec::new(), 0));
    }

    fn row(i: u32) -> Vec<u8> {
        [b"D\0\0\0\x08".as_slice(), &i.to_be_bytes()].concat()
    }

    /// Some rows in a file, some in memory.
    fn held(filed: u32, count: u32) -> Held {
        let mut spool = Spool::new(&room());
        spool.append(&(0..filed).flat_map(row).collect::<Vec<u8>>()).expect("room");
        Held::new(spool.finish(), (filed..count).flat_map(row).collect(), count.into())
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn those_in_a_file_come_first() {
        let filed = READ_BYTES as u32 / 9 * 2 + 100;
        for n in [1u32, 7, 1_000, filed - 1, filed, filed + 1, filed + 3, 0] {
            let mut held = held(filed, filed + 3);
            let mut at = 0;
            while at < filed + 3 {
                assert!(!held.is_empty());
                let count = if n == 0 { filed + 3 } else { n.min(filed + 3 - at) };
                let rows: Vec<u8> = (at..at + count).flat_map(row).collect();
                assert_eq!(fetch(&mut held, n as usize), (rows, count.into()));
                at += count;
            }
            assert!(held.is_empty());
            assert_eq!(fetch(&mut held, 2), (Vec::new(), 0));
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_is_fetched_from_a_file_does_not_go_through_memory() {
        let count = READ_BYTES as u32;
        let mut held = held(count, count);
        let mut out = Reply::default();
        assert_eq!(held.fetch(100, &mut out), Ok(100));
        assert_eq!((out.len(), out.weight()), (900, 900));
        assert_eq!(held.fetch(count as usize - 200, &mut out), Ok(u64::from(count) - 200));
        assert_eq!(held.fetch(0, &mut out), Ok(100));
        assert_eq!((out.len() < 2_000, out.weight()), (true, u64::from(count) * 9));
    }
}
