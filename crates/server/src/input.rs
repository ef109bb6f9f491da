//! What has come in and is not yet understood: whole messages in front, perhaps a part of one behind.

use crate::read::Reader;
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes asked of the socket at a time.
const CHUNK_BYTES: usize = 16 << 10;
/// Memory kept while nothing is in it: little, so that idle connections are cheap.
const KEPT_BYTES_MAX: usize = 4 << 10;

thread_local! {
    static CHUNK: RefCell<Box<[u8]>> = RefCell::new(vec![0; CHUNK_BYTES].into());
}

/// See the module's head.
#[derive(Default)]
pub(crate) struct Input {
    bytes: Vec<u8>,
    /// What stands before has been taken.
    start: usize,
}

/// What stands in front.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Front {
    /// A message of this type, whole.
    Message(u8),
    /// The beginning of one.
    Incomplete,
    /// A message of this type says that it is longer than is allowed, or shorter than can be.
    BadLength(u8, i32),
}

/// What comes behind an Execute, as far as the transaction it belongs to is concerned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ahead {
    /// Sync, with nothing before it that could run.
    Sync,
    /// Something that belongs to the same transaction, or a Flush: the answer is wanted before Sync.
    More,
    /// It has not come yet. (The answer cannot be wanted yet either.)
    Unknown,
}

/// Type byte and length.
const HEADER_BYTES: usize = 5;

impl Input {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Memory that it takes.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Whether all has been taken.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest().is_empty()
    }

    /// What stands in front, if no message is longer than `max` bytes.
    pub(crate) fn front(&self, max: usize) -> Front {
        let [tag, a, b, c, d, ..] = *self.rest() else { return Front::Incomplete };
        let len = i32::from_be_bytes([a, b, c, d]);
        match usize::try_from(len) {
            Ok(n) if n < 4 || n > max => Front::BadLength(tag, len),
            Ok(n) if self.rest().len() > n => Front::Message(tag),
            Ok(_) => Front::Incomplete,
            Err(_) => Front::BadLength(tag, len),
        }
    }

    /// The body of the message in front. It must be whole.
    pub(crate) fn body(&self) -> Reader<'_> {
        let rest = self.rest();
        let len = i32::from_be_bytes([rest[1], rest[2], rest[3], rest[4]]) as usize;
        Reader::new(&rest[HEADER_BYTES..1 + len])
    }

    /// Takes the message in front.
    pub(crate) fn advance(&mut self) {
        let rest = self.rest();
        let len = i32::from_be_bytes([rest[1], rest[2], rest[3], rest[4]]) as usize;
        self.take(1 + len);
    }

    /// The first `n` bytes, if so many have come: for packets without a type.
    pub(crate) fn peek(&self, n: usize) -> Option<&[u8]> {
        self.rest().get(..n)
    }

    /// Takes `n` bytes.
    pub(crate) fn take(&mut self, n: usize) {
        self.start += n;
        if self.start == self.bytes.len() {
            self.start = 0;
            self.bytes.clear();
            if self.bytes.capacity() > KEPT_BYTES_MAX {
                self.bytes = Vec::new();
            }
        }
    }

    /// What comes behind the Execute in front.
    pub(crate) fn ahead(&self) -> Ahead {
        let mut rest = self.rest();
        loop {
            let [_, a, b, c, d, ..] = *rest else { return Ahead::Unknown };
            let len = i32::from_be_bytes([a, b, c, d]).max(4) as usize;
            let Some(next) = rest.get(1 + len..) else { return Ahead::Unknown };
            match next.first() {
                None => return Ahead::Unknown,
                Some(b'S') => return Ahead::Sync,
                // Parse, Bind, Describe and Close run nothing.
                Some(b'P' | b'B' | b'D' | b'C') => rest = next,
                Some(_) => return Ahead::More,
            }
        }
    }

    /// Reads what there is; 0 where the other side has closed.
    pub(crate) async fn fill(&mut self, from: &mut (impl AsyncRead + Unpin)) -> io::Result<usize> {
        std::future::poll_fn(|context| self.poll_fill(Pin::new(from), context)).await
    }

    /// The bytes go by way of the thread: an idle connection holds no memory for them.
    pub(crate) fn poll_fill(
        &mut self,
        from: Pin<&mut (impl AsyncRead + ?Sized)>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        CHUNK.with_borrow_mut(|chunk| {
            let mut chunk = ReadBuf::new(chunk);
            std::task::ready!(from.poll_read(context, &mut chunk))?;
            if self.start > 0 && self.start >= self.bytes.len() / 2 {
                self.bytes.drain(..self.start);
                self.start = 0;
            }
            self.bytes.extend_from_slice(chunk.filled());
            Poll::Ready(Ok(chunk.filled().len()))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(messages: &[(u8, &[u8])]) -> Input {
        let mut input = Input::default();
        for (tag, body) in messages {
            input.bytes.push(*tag);
            input.bytes.extend_from_slice(&(body.len() as i32 + 4).to_be_bytes());
            input.bytes.extend_from_slice(body);
        }
        input
    }

    #[test]
    fn a_message_is_seen_when_it_is_whole() {
        let whole = input(&[(b'Q', b"SELECT 1\0")]);
        for n in 0..whole.bytes.len() {
            let part = Input { bytes: whole.bytes[..n].to_vec(), start: 0 };
            assert_eq!(part.front(100), Front::Incomplete);
        }
        assert_eq!(whole.front(100), Front::Message(b'Q'));
        assert_eq!(whole.front(10), Front::BadLength(b'Q', 13));
        let mut two = input(&[(b'P', b"x"), (b'S', b"")]);
        two.advance();
        assert_eq!(two.front(100), Front::Message(b'S'));
        two.advance();
        assert_eq!((two.front(100), two.rest().len()), (Front::Incomplete, 0));
    }

    #[test]
    fn an_execute_is_alone_if_sync_comes_before_anything_that_runs() {
        assert_eq!(input(&[(b'E', b"")]).ahead(), Ahead::Unknown);
        assert_eq!(input(&[(b'E', b""), (b'S', b"")]).ahead(), Ahead::Sync);
        assert_eq!(input(&[(b'E', b""), (b'C', b"P\0"), (b'S', b"")]).ahead(), Ahead::Sync);
        assert_eq!(input(&[(b'E', b""), (b'C', b"P\0")]).ahead(), Ahead::Unknown);
        assert_eq!(input(&[(b'E', b""), (b'B', b"..."), (b'E', b"")]).ahead(), Ahead::More);
        assert_eq!(input(&[(b'E', b""), (b'H', b"")]).ahead(), Ahead::More);
    }
}
