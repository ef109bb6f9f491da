//! What of an answer does not stay in memory: it waits in a temporary file until it may leave.
//!
//! An answer is not sent before its transaction has committed and is on disk, so all of it must be somewhere
//! until then. Up to `result_memory_bytes` that is the connection's buffer; what is more is written behind each
//! other into a file without a name, which is gone with the last who may read from it.
//!
//! Files and their bytes are counted, for each connection and for the server as a whole ([`Room`]).

use crate::crew::blocking;
use planaria::{Error, Result, SqlState};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Files that the answers of one connection may wait in: large answers of one transaction, and open portals.
const FILES_OF_CONNECTION_MAX: u64 = 64;
/// The same for all connections: each is a descriptor, like a connection.
const FILES_MAX: u64 = 1_024;

/// Room for answers in files: of a connection, or of the server.
pub(crate) struct Room {
    files: AtomicU64,
    bytes: AtomicU64,
    files_max: u64,
    bytes_max: u64,
    /// What this is a part of.
    whole: Option<Arc<Room>>,
}

impl Room {
    /// That of a server.
    pub(crate) fn of_server(bytes_max: u64) -> Arc<Room> {
        Arc::new(Room::new(FILES_MAX, bytes_max, None))
    }

    /// That of a connection to it.
    pub(crate) fn of_connection(whole: &Arc<Room>, bytes_max: u64) -> Arc<Room> {
        Arc::new(Room::new(FILES_OF_CONNECTION_MAX, bytes_max, Some(whole.clone())))
    }

    fn new(files_max: u64, bytes_max: u64, whole: Option<Arc<Room>>) -> Room {
        Room { files: AtomicU64::new(0), bytes: AtomicU64::new(0), files_max, bytes_max, whole }
    }

    /// Takes room: 53400 where this connection has no more, 53100 where the server has not.
    fn take(&self, files: u64, bytes: u64) -> Result<()> {
        let files_now = self.files.fetch_add(files, Ordering::Relaxed) + files;
        let bytes_now = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let outcome = if files_now > self.files_max || bytes_now > self.bytes_max {
            Err(self.full())
        } else {
            self.whole.as_ref().map_or(Ok(()), |whole| whole.take(files, bytes))
        };
        if outcome.is_err() {
            self.files.fetch_sub(files, Ordering::Relaxed);
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        }
        outcome
    }

    fn give_back(&self, files: u64, bytes: u64) {
        self.files.fetch_sub(files, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        if let Some(whole) = &self.whole {
            whole.give_back(files, bytes);
        }
    }

    #[cold]
    fn full(&self) -> Error {
        let (files, bytes) = (self.files_max, self.bytes_max);
        if self.whole.is_some() {
            let message = "too much of this connection's answers waits in temporary files";
            return Error::new(SqlState::new("53400"), message)
                .with_detail(format!("They may take {bytes} bytes (max_result_bytes) in {files} files."))
                .with_hint(
                    "Fetch or close open portals, or run fewer statements with large results at a time.",
                );
        }
        let message = "too much of all clients' answers waits in temporary files";
        tracing::warn!(files, bytes, "{message}");
        Error::new(SqlState::DISK_FULL, message)
            .with_detail(format!("They may take {bytes} bytes (max_temp_bytes) in {files} files."))
            .with_hint("Try again later, or fetch fewer rows at a time.")
    }
}

/// A file, counted as long as somebody may read from it.
struct Counted {
    file: File,
    bytes: AtomicU64,
    room: Arc<Room>,
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.room.give_back(1, *self.bytes.get_mut());
    }
}

/// Bytes that are being put into a file.
pub(crate) struct Spool {
    room: Arc<Room>,
    file: Option<Arc<Counted>>,
    len: u64,
}

/// Some of the bytes of a file, to be read.
pub(crate) struct Slice {
    file: Arc<Counted>,
    from: u64,
    to: u64,
}

impl Spool {
    pub(crate) fn new(room: &Arc<Room>) -> Spool {
        Spool { room: room.clone(), file: None, len: 0 }
    }

    /// Bytes in it.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Forgets what is in it.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends bytes; 53100, 53400 or 58030 where they cannot be kept. May have to wait for the disk: the
    /// thread's other tasks are handed on first.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let len = self.len + bytes.len() as u64;
        blocking(|| {
            let file = match &self.file {
                Some(file) => file,
                None => self.file.insert(Arc::new(create(&self.room)?)),
            };
            let more = len.saturating_sub(file.bytes.load(Ordering::Relaxed));
            file.room.take(0, more)?;
            file.bytes.fetch_add(more, Ordering::Relaxed);
            file.file.write_all_at(bytes, self.len).map_err(|e| cannot(&e))
        })?;
        self.len = len;
        Ok(())
    }

    /// All of it, if there is anything.
    pub(crate) fn finish(self) -> Option<Slice> {
        let to = self.len;
        self.file.filter(|_| to > 0).map(|file| Slice { file, from: 0, to })
    }
}

fn create(room: &Arc<Room>) -> Result<Counted> {
    room.take(1, 0)?;
    match tempfile::tempfile() {
        Ok(file) => Ok(Counted { file, bytes: AtomicU64::new(0), room: room.clone() }),
        Err(error) => {
            room.give_back(1, 0);
            Err(cannot(&error))
        }
    }
}

/// 53000, 53100 or 58030, with the place.
#[cold]
fn cannot(error: &io::Error) -> Error {
    const TOO_MANY_OPEN: [i32; 2] = [23, 24];
    let code = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => SqlState::DISK_FULL,
        _ if error.raw_os_error().is_some_and(|e| TOO_MANY_OPEN.contains(&e)) => {
            SqlState::INSUFFICIENT_RESOURCES
        }
        _ => SqlState::IO_ERROR,
    };
    let place = std::env::temp_dir();
    tracing::warn!("could not write a temporary file in {}: {error}", place.display());
    Error::new(code, format!("could not write a temporary file in {}: {error}", place.display()))
        .with_detail("Large results are kept there until the client has read them.")
        .with_hint("Set TMPDIR to use another directory.")
}

impl Slice {
    /// Bytes in it.
    pub(crate) fn len(&self) -> u64 {
        self.to - self.from
    }

    /// Those from `from` to `to`.
    pub(crate) fn part(&self, from: u64, to: u64) -> Slice {
        debug_assert!(from <= to && to <= self.len());
        Slice { file: self.file.clone(), from: self.from + from, to: self.from + to }
    }

    /// Appends up to `n` bytes from `offset` on to a buffer; how many there were. May have to wait for the disk:
    /// the thread's other tasks are handed on first.
    pub(crate) fn read(&self, out: &mut Vec<u8>, offset: u64, n: usize) -> io::Result<usize> {
        let n = n.min(usize::try_from(self.len().saturating_sub(offset)).unwrap_or(n));
        if n == 0 {
            return Ok(0);
        }
        let start = out.len();
        out.resize(start + n, 0);
        let read = || self.file.file.read_exact_at(&mut out[start..], self.from + offset);
        blocking(read)?;
        Ok(n)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As much room as anybody needs.
    pub(crate) fn room() -> Arc<Room> {
        Room::of_connection(&Room::of_server(u64::MAX), u64::MAX)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_was_put_in_comes_out() {
        let mut spool = Spool::new(&room());
        spool.append(b"void").expect("room");
        spool.clear();
        spool.append(b"0123").expect("room");
        spool.append(b"456789").expect("room");
        let slice = spool.finish().expect("something");
        let mut out = b"x".to_vec();
        assert_eq!(slice.read(&mut out, 2, 5).ok(), Some(5));
        assert_eq!(slice.part(5, 10).read(&mut out, 2, 100).ok(), Some(3));
        assert_eq!(slice.read(&mut out, 10, 100).ok(), Some(0));
        assert_eq!((out.as_slice(), slice.len()), (&b"x23456789"[..], 10));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn room_is_given_back() {
        let server = Room::of_server(15);
        let (a, b) = (Room::of_connection(&server, 10), Room::of_connection(&server, 10));
        let full = |spool: &mut Spool, n: usize| {
            spool.append(&vec![0; n]).map_err(|e| e.sqlstate().as_str().to_owned()).err()
        };
        let (mut first, mut second) = (Spool::new(&a), Spool::new(&b));
        assert_eq!(full(&mut first, 8), None);
        assert_eq!(full(&mut first, 3).as_deref(), Some("53400"));
        assert_eq!(full(&mut second, 8).as_deref(), Some("53100"));
        first.clear();
        // Its file is as long as before.
        assert_eq!(full(&mut first, 8), None);
        assert_eq!(full(&mut second, 8).as_deref(), Some("53100"));
        let slice = first.finish().map(|s| s.part(0, 1));
        assert_eq!(full(&mut second, 8).as_deref(), Some("53100"));
        drop(slice);
        assert_eq!(full(&mut second, 8), None);
        let many: Vec<Spool> = (0..FILES_OF_CONNECTION_MAX)
            .map(|_| {
                let mut spool = Spool::new(&a);
                spool.append(b"").expect("room");
                spool
            })
            .collect();
        assert_eq!(full(&mut Spool::new(&a), 0).as_deref(), Some("53400"));
        drop((many, second));
        let counts = |r: &Room| (r.files.load(Ordering::Relaxed), r.bytes.load(Ordering::Relaxed));
        assert_eq!([counts(&a), counts(&b), counts(&server)], [(0, 0); 3]);
    }
}
