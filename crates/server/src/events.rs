//! Sockets as futures: who waits for one is woken when it has something, or takes something again.
//!
//! One epoll, edge-triggered, that any number of threads may wait at: what comes wakes one of them. It sets what is ready
//! and wakes the future that was there last. A read takes *readable* back before it asks the socket, so that what comes
//! meanwhile sets it again; one that fills less than the buffer has taken all there was, and the socket is not asked again
//! until there is an event. Once the other side has closed, that holds no more, and it is always asked.

use parking_lot::{Mutex, RwLock};
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

const READABLE: u8 = 1;
const WRITABLE: u8 = 2;
const CLOSED: u8 = 4;

/// In place of a descriptor.
const BELL: u64 = u64::MAX;
const STRIPES: usize = 64;

/// See the module's head.
pub(crate) struct Events {
    epoll: OwnedFd,
    bell: OwnedFd,
    /// By descriptor: its remainder, then its quotient.
    sources: [RwLock<Vec<Option<Arc<Source>>>>; STRIPES],
}

/// What a thread was woken for.
pub(crate) enum Heard {
    /// A socket, perhaps.
    Socket,
    /// The bell was rung.
    Bell,
    /// The time is up.
    Nothing,
}

#[derive(Default)]
struct Source {
    ready: AtomicU8,
    reader: Mutex<Option<Waker>>,
    writer: Mutex<Option<Waker>>,
}

impl Events {
    pub(crate) fn new() -> io::Result<Events> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(&epoll, &bell, epoll::EventData::new_u64(BELL), flags)?;
        Ok(Events { epoll, bell, sources: std::array::from_fn(|_| RwLock::default()) })
    }

    /// Wakes one of those who wait.
    pub(crate) fn ring(&self) {
        // It could only fail for a count that is full: then it has been rung.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// Waits for one event, and wakes who waits for it.
    pub(crate) fn hear(&self, time: Option<Duration>) -> Heard {
        let time =
            time.map(|t| Timespec { tv_sec: t.as_secs() as i64, tv_nsec: i64::from(t.subsec_nanos()) });
        let mut event =
            [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }];
        match epoll::wait(&self.epoll, &mut event, time.as_ref()) {
            Ok(0) => Heard::Nothing,
            Ok(_) if event[0].data.u64() == BELL => Heard::Bell,
            Ok(_) => {
                let [epoll::Event { flags, data }] = event;
                self.happened(data.u64() as usize, flags);
                Heard::Socket
            }
            // A signal.
            Err(_) => Heard::Socket,
        }
    }

    fn happened(&self, socket: usize, flags: epoll::EventFlags) {
        use epoll::EventFlags as F;
        let sources = self.sources[socket % STRIPES].read();
        let Some(Some(source)) = sources.get(socket / STRIPES) else { return };
        let closed = flags.intersects(F::RDHUP | F::HUP | F::ERR);
        let mut ready = 0;
        if closed || flags.contains(F::IN) {
            ready |= READABLE;
        }
        if closed || flags.contains(F::OUT) {
            ready |= WRITABLE;
        }
        if closed {
            ready |= CLOSED;
        }
        source.ready.fetch_or(ready, Ordering::AcqRel);
        for (bit, waiting) in [(READABLE, &source.reader), (WRITABLE, &source.writer)] {
            if ready & bit != 0
                && let Some(waker) = &*waiting.lock()
            {
                waker.wake_by_ref();
            }
        }
    }

    fn add(&self, socket: &impl AsFd) -> io::Result<Arc<Source>> {
        use epoll::EventFlags as F;
        let socket = socket.as_fd();
        let at = socket.as_raw_fd() as usize;
        let source = Arc::new(Source::default());
        {
            let mut sources = self.sources[at % STRIPES].write();
            if sources.len() <= at / STRIPES {
                sources.resize(at / STRIPES + 1, None);
            }
            sources[at / STRIPES] = Some(source.clone());
        }
        epoll::add(
            &self.epoll,
            socket,
            epoll::EventData::new_u64(at as u64),
            F::IN | F::OUT | F::RDHUP | F::ET,
        )?;
        Ok(source)
    }

    /// Nobody is woken any more: whoever waits is forgotten.
    pub(crate) fn forget_all(&self) {
        // Who is dropped with his waker may have a socket, which takes itself off the list.
        let sources: Vec<Arc<Source>> = self
            .sources
            .iter()
            .flat_map(|stripe| stripe.read().iter().flatten().cloned().collect::<Vec<_>>())
            .collect();
        for source in sources {
            let wakers = [source.reader.lock().take(), source.writer.lock().take()];
            drop(wakers);
        }
    }
}

/// A socket that does not block.
pub(crate) struct Socket<S: AsFd> {
    socket: S,
    source: Arc<Source>,
    events: Arc<Events>,
}

impl<S: AsFd> Socket<S> {
    /// `socket` must have been made not to block.
    pub(crate) fn new(socket: S, events: &Arc<Events>) -> io::Result<Socket<S>> {
        let source = events.add(&socket)?;
        Ok(Socket { socket, source, events: events.clone() })
    }

    pub(crate) fn get_ref(&self) -> &S {
        &self.socket
    }
}

impl<S: AsFd> Drop for Socket<S> {
    fn drop(&mut self) {
        // Before it is closed: then its number may be another's.
        let at = self.socket.as_fd().as_raw_fd() as usize;
        self.events.sources[at % STRIPES].write()[at / STRIPES] = None;
    }
}

/// Notes who is to be woken.
fn note(waiting: &Mutex<Option<Waker>>, waker: &Waker) {
    let mut waiting = waiting.lock();
    if !waiting.as_ref().is_some_and(|known| known.will_wake(waker)) {
        *waiting = Some(waker.clone());
    }
}

impl<S: AsFd> AsyncRead for Socket<S>
where
    for<'a> &'a S: Read,
    S: Unpin,
{
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let ready = &self.source.ready;
        loop {
            let before = ready.load(Ordering::Acquire);
            if before & (READABLE | CLOSED) != 0 {
                ready.fetch_and(!READABLE, Ordering::AcqRel);
                let room = buf.initialize_unfilled();
                let wanted = room.len();
                match (&self.socket).read(room) {
                    Ok(n) => {
                        if n == wanted {
                            ready.fetch_or(READABLE, Ordering::AcqRel);
                        }
                        buf.advance(n);
                        return Poll::Ready(Ok(()));
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {
                        ready.fetch_or(READABLE, Ordering::AcqRel);
                        continue;
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(error) => return Poll::Ready(Err(error)),
                }
            }
            note(&self.source.reader, cx.waker());
            let now = ready.load(Ordering::Acquire);
            if now & READABLE == 0 && now & CLOSED == before & CLOSED {
                return Poll::Pending;
            }
        }
    }
}

impl<S: AsFd> Socket<S>
where
    for<'a> &'a S: Write,
{
    fn poll_io<T>(&self, cx: &mut Context<'_>, write: impl Fn(&S) -> io::Result<T>) -> Poll<io::Result<T>> {
        loop {
            match write(&self.socket) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    note(&self.source.writer, cx.waker());
                    // What was set before it was asked is taken back, and it is asked once more.
                    if self.source.ready.fetch_and(!WRITABLE, Ordering::AcqRel) & WRITABLE == 0 {
                        return Poll::Pending;
                    }
                }
                outcome => return Poll::Ready(outcome),
            }
        }
    }
}

impl<S: AsFd + Unpin> AsyncWrite for Socket<S>
where
    for<'a> &'a S: Write,
{
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_io(cx, |mut socket| socket.write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // It may be gone already.
        let _ = rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// A socket that a thread hears for, and the other end.
    fn pair() -> (Socket<UnixStream>, UnixStream, Arc<Events>) {
        let events = Arc::new(Events::new().expect("an epoll"));
        let (here, there) = UnixStream::pair().expect("a pair");
        here.set_nonblocking(true).expect("a socket");
        let socket = Socket::new(here, &events).expect("registered");
        let hears = events.clone();
        std::thread::spawn(move || while !matches!(hears.hear(None), Heard::Bell) {});
        (socket, there, events)
    }

    #[tokio::test]
    async fn who_waits_is_woken() {
        let (mut socket, mut there, events) = pair();
        let writes = std::thread::spawn(move || {
            for i in 0..1_000u32 {
                there.write_all(&i.to_be_bytes()).expect("room");
                let mut answer = [0; 4];
                there.read_exact(&mut answer).expect("an answer");
                assert_eq!(u32::from_be_bytes(answer), i + 1);
            }
        });
        for i in 0..1_000 {
            assert_eq!(socket.read_u32().await.expect("a number"), i);
            socket.write_u32(i + 1).await.expect("room");
        }
        writes.join().expect("it has read all");
        // The other side is gone.
        assert_eq!(socket.read(&mut [0; 10]).await.expect("the end"), 0);
        assert_eq!(socket.read(&mut [0; 10]).await.expect("the end"), 0);
        events.ring();
    }

    #[tokio::test]
    async fn who_writes_much_waits_until_it_is_read() {
        let (mut socket, mut there, events) = pair();
        let bytes: Vec<u8> = (0..4_000_000u32).map(|i| (i % 251) as u8).collect();
        let expected = bytes.clone();
        let reads = std::thread::spawn(move || {
            let mut all = vec![0; expected.len()];
            there.read_exact(&mut all).expect("all of it");
            assert!(all == expected);
        });
        socket.write_all(&bytes).await.expect("somebody who reads");
        reads.join().expect("it has read all");
        events.ring();
    }

    #[test]
    fn what_was_dropped_is_not_heard_of() {
        let (socket, mut there, events) = pair();
        drop(socket);
        assert!(there.write_all(b"x").is_err());
        let (here, mut there) = UnixStream::pair().expect("a pair");
        here.set_nonblocking(true).expect("a socket");
        let mut again = Socket::new(here, &events).expect("registered");
        there.write_all(b"x").expect("room");
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        assert_eq!(runtime.block_on(again.read_u8()).expect("a byte"), b'x');
        events.ring();
    }
}
