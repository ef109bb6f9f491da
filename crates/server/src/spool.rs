//! What of an answer does not stay in memory: it waits in a temporary file until it may leave.
//!
//! An answer is not sent before its transaction has committed and is on disk, so all of it must be somewhere
//! until then. Up to `result_memory_bytes` that is the connection's buffer; what is more is written behind each
//! other into a file without a name, which is gone with the connection, and read from there as the client takes
//! it.

use planaria::{Error, Result, SqlState};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// See the module's head.
#[derive(Default)]
pub(crate) struct Spool {
    file: Option<File>,
    len: u64,
}

impl Spool {
    /// Bytes in it.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Forgets what is in it.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Appends bytes; 53100 or 58030 with the place where they cannot be kept.
    pub(crate) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let written = match &self.file {
            Some(file) => file.write_all_at(bytes, self.len),
            None => tempfile::tempfile().and_then(|file| {
                let written = file.write_all_at(bytes, 0);
                self.file = Some(file);
                written
            }),
        };
        written.map_err(|e| {
            let code =
                if e.kind() == io::ErrorKind::StorageFull { SqlState::DISK_FULL } else { SqlState::IO_ERROR };
            let place = std::env::temp_dir();
            Error::new(code, format!("could not write a temporary file in {}: {e}", place.display()))
                .detail("A large answer waits there until the client takes it.")
                .hint("TMPDIR chooses another place.")
        })?;
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Appends up to `n` bytes from `offset` on to a buffer; how many there were. May have to wait for the disk:
    /// the thread's other tasks are handed on first.
    pub(crate) fn read(&self, out: &mut Vec<u8>, offset: u64, n: usize) -> io::Result<usize> {
        let n = n.min(usize::try_from(self.len - offset).unwrap_or(n));
        let Some(file) = self.file.as_ref().filter(|_| n > 0) else { return Ok(0) };
        let start = out.len();
        out.resize(start + n, 0);
        let read = || file.read_exact_at(&mut out[start..], offset);
        tokio::task::block_in_place(read)?;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn what_was_put_in_comes_out() {
        let mut spool = Spool::default();
        spool.append(b"void").expect("room");
        spool.clear();
        spool.append(b"0123").expect("room");
        spool.append(b"456789").expect("room");
        let mut out = b"x".to_vec();
        assert_eq!(spool.read(&mut out, 2, 5).ok(), Some(5));
        assert_eq!(spool.read(&mut out, 7, 100).ok(), Some(3));
        assert_eq!(spool.read(&mut out, 10, 100).ok(), Some(0));
        assert_eq!((out.as_slice(), spool.len()), (&b"x23456789"[..], 10));
    }
}
