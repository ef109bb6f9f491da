//! Seats: where workers leave their records until a logger takes them.

use crate::published::PublishedEpoch;
use crossbeam_utils::CachePadded;
use planaria_base::limits::WORKERS_MAX;
#[cfg(not(loom))]
use planaria_base::sync::Mutex;
use planaria_base::sync::OnceLock;
use planaria_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
#[cfg(loom)]
use planaria_base::sync::unpoisoned::Mutex;
use planaria_base::{CommitTs, Epoch, Error, Result, SqlState, WorkerId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const CHUNK: usize = if cfg!(loom) { 2 } else { 64 };
/// A run of records ends at this many bytes, so that frames can be cut between runs.
const RUN_BYTES: usize = 256 << 10;
/// A buffer that grew beyond this is given back to the allocator once it is empty.
const KEEP_BYTES: usize = 4 << 20;

/// Records of one worker that stand next to each other and share an epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub epoch: Epoch,
    /// Where they end in the buffer; they start where the run before ends.
    pub end: usize,
    pub records: u32,
}

/// Encoded records of one worker in the order they committed.
#[derive(Default)]
pub(crate) struct Buffer {
    bytes: Vec<u8>,
    runs: Vec<Run>,
}

impl Buffer {
    /// Appends what `encode` writes, a record with this timestamp.
    #[inline]
    fn append(&mut self, ts: CommitTs, encode: impl FnOnce(&mut Vec<u8>)) {
        let start = self.end();
        // Whatever stands there was left by an `encode` that panicked.
        self.bytes.truncate(start);
        encode(&mut self.bytes);
        let end = self.bytes.len();
        let run_start = if self.runs.len() < 2 { 0 } else { self.runs[self.runs.len() - 2].end };
        match self.runs.last_mut() {
            Some(run) if run.epoch == ts.epoch() && end - run_start <= RUN_BYTES => {
                run.end = end;
                run.records += 1;
            }
            _ => self.runs.push(Run { epoch: ts.epoch(), end, records: 1 }),
        }
    }

    fn end(&self) -> usize {
        self.runs.last().map_or(0, |run| run.end)
    }

    /// The runs and their bytes.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (Run, &[u8])> {
        let mut start = 0;
        self.runs.iter().map(move |run| {
            let bytes = &self.bytes[start..run.end];
            start = run.end;
            (*run, bytes)
        })
    }

    /// Makes it empty, ready to be used again.
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.bytes.clear();
        if self.bytes.capacity() > KEEP_BYTES {
            self.bytes = Vec::new();
        }
    }

    /// Exchanges it with `empty`, but for the records after `epoch`, which stay.
    fn take(&mut self, epoch: Epoch, empty: &mut Buffer) {
        std::mem::swap(self, empty);
        let taken = empty;
        let keep = taken.runs.partition_point(|run| run.epoch <= epoch);
        if keep < taken.runs.len() {
            let cut = if keep == 0 { 0 } else { taken.runs[keep - 1].end };
            self.bytes.extend_from_slice(&taken.bytes[cut..taken.end()]);
            self.runs.extend(taken.runs.drain(keep..).map(|run| Run { end: run.end - cut, ..run }));
            taken.bytes.truncate(cut);
        }
    }
}

/// One worker's seat: its published epoch and its buffer, on cache lines of their own.
#[derive(Default)]
pub(crate) struct Seat {
    pub published: PublishedEpoch,
    /// Uncontended but for the moment in which a logger takes the records.
    buffer: Mutex<Buffer>,
    /// Bytes in the buffer; written under its lock.
    buffered: AtomicU64,
}

impl Seat {
    /// Appends a record.
    #[inline]
    pub(crate) fn append(&self, ts: CommitTs, encode: impl FnOnce(&mut Vec<u8>)) {
        let mut buffer = self.buffer.lock();
        buffer.append(ts, encode);
        self.buffered.store(buffer.bytes.len() as u64, Ordering::Relaxed);
    }

    /// Bytes that no logger has taken yet.
    #[inline]
    pub(crate) fn buffered(&self) -> u64 {
        self.buffered.load(Ordering::Relaxed)
    }

    /// Moves the records up to `epoch` into `empty`. Call with no worker holding `epoch` open: then
    /// what `buffered` shows includes them.
    pub(crate) fn take(&self, epoch: Epoch, empty: &mut Buffer) -> bool {
        if self.buffered() == 0 {
            return false;
        }
        let mut buffer = self.buffer.lock();
        if buffer.runs.first().is_none_or(|run| run.epoch > epoch) {
            return false;
        }
        buffer.take(epoch, empty);
        self.buffered.store(buffer.bytes.len() as u64, Ordering::Relaxed);
        true
    }
}

type Chunk = Box<[CachePadded<Seat>]>;

/// All seats. They are made when first needed and never go away; numbers are given out again, lowest
/// first, so that there are never more seats to look at than sessions there once were.
pub(crate) struct Seats {
    chunks: Box<[OnceLock<Chunk>]>,
    /// Seats ever used.
    used: AtomicUsize,
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    returned: BinaryHeap<Reverse<u16>>,
    taken: usize,
}

impl Seats {
    pub(crate) fn new() -> Seats {
        Seats {
            chunks: (0..WORKERS_MAX.div_ceil(CHUNK)).map(|_| OnceLock::new()).collect(),
            used: AtomicUsize::new(0),
            free: Mutex::default(),
        }
    }

    /// Takes a free seat.
    pub(crate) fn acquire(&self) -> Result<WorkerId> {
        let mut free = self.free.lock();
        let id = match free.returned.pop() {
            Some(Reverse(id)) => id,
            None => {
                let used = self.used.load(Ordering::Relaxed);
                if used == WORKERS_MAX {
                    return Err(Error::new(
                        SqlState::TOO_MANY_CONNECTIONS,
                        "all seats for sessions are taken",
                    )
                    .with_hint(format!("at most {WORKERS_MAX} sessions can be open at a time")));
                }
                self.chunks[used / CHUNK]
                    .get_or_init(|| (0..CHUNK).map(|_| CachePadded::default()).collect());
                // Release: whoever sees the number sees the seat.
                self.used.store(used + 1, Ordering::Release);
                used as u16
            }
        };
        free.taken += 1;
        Ok(WorkerId(id))
    }

    /// Gives a seat back. Its records stay until they are taken.
    pub(crate) fn release(&self, id: WorkerId) {
        let mut free = self.free.lock();
        free.returned.push(Reverse(id.0));
        free.taken -= 1;
    }

    /// Seats taken now.
    pub(crate) fn taken(&self) -> usize {
        self.free.lock().taken
    }

    /// A seat that was acquired once.
    #[inline]
    pub(crate) fn get(&self, id: WorkerId) -> &Seat {
        let i = id.0 as usize;
        &self.chunks[i / CHUNK].get().expect("an acquired seat exists")[i % CHUNK]
    }

    /// All seats that were ever acquired.
    ///
    /// A seat acquired while somebody iterates may be left out: its worker enters after the clock was
    /// advanced, so it has no part in the epoch being closed.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &Seat)> {
        (0..self.used.load(Ordering::SeqCst)).map(|i| (i, self.get(WorkerId(i as u16))))
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use loom::sync::Arc;
    use planaria_base::clock::CommitClock;

    /// Two sessions come, commit (the first one twice), and one of them goes, while epochs are closed: each
    /// close takes exactly the records of its epoch, and none is left behind.
    fn no_record_is_missed(sessions: &'static [u32]) {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let clock = Arc::new(CommitClock::new(Epoch(1)));
            let seats = Arc::new(Seats::new());
            let workers: Vec<_> = sessions
                .iter()
                .map(|commits| {
                    let (clock, seats) = (clock.clone(), seats.clone());
                    loom::thread::spawn(move || {
                        let id = seats.acquire().expect("a seat");
                        let seat = seats.get(id);
                        for _ in 0..*commits {
                            seat.published.enter(&clock);
                            let ts = clock.draw();
                            seat.append(ts, |bytes| bytes.push(1));
                            seat.published.leave();
                        }
                        if *commits == 1 {
                            seats.release(id);
                        }
                    })
                })
                .collect();
            let mut taken = 0;
            let mut close = |clock: &CommitClock| {
                let epoch = Epoch(clock.advance().0 - 1);
                for (_, seat) in seats.iter() {
                    while seat.published.holds(epoch) {
                        loom::thread::yield_now();
                    }
                }
                for (_, seat) in seats.iter() {
                    let mut buffer = Buffer::default();
                    if seat.take(epoch, &mut buffer) {
                        for (run, bytes) in buffer.runs() {
                            assert_eq!(run.epoch, epoch, "a record came after its epoch was closed");
                            assert_eq!(run.records as usize, bytes.len());
                            taken += run.records;
                        }
                    }
                }
            };
            close(&clock);
            workers.into_iter().for_each(|w| w.join().unwrap());
            close(&clock);
            assert_eq!(taken, sessions.iter().sum());
        });
    }

    #[test]
    fn no_record_of_a_session_that_goes_on_is_missed() {
        no_record_is_missed(&[2]);
    }

    #[test]
    fn no_record_of_a_session_that_comes_and_goes_is_missed() {
        no_record_is_missed(&[1, 1]);
    }
}
