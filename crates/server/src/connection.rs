//! A connection from its first byte to its last: reads messages, has them answered, writes the replies
//! once the commits that they tell of are on disk.
//!
//! Replies leave at Sync, at Flush, at the end of a simple query, or when many have gathered; and only when
//! no further message has come yet: so a client that sends ahead has its commits wait for one sync of the
//! disk together.

use crate::backend::{Backend, terminated};
use crate::clients::{Key, SYNCS, WRITES};
use crate::input::{Ahead, Front, Input};
use crate::lobby::Guest;
use crate::login::{self, Opened};
use crate::read::violation;
use crate::reply::{Fragment, Reply, Severity};
use crate::scales::Taken;
use crate::server::{Phase, Shared};
use crate::stream::Stream;
use planaria::serving::ServedTicket;
use planaria::{Error, SqlState, Ticket};
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

/// Replies are sent, whatever else there is to do, when so many bytes have gathered, in memory and in files.
const SEND_BYTES: u64 = 64 << 10;

/// Written at a time: what a client has to have room for within the time it has to read.
const WRITE_BYTES: usize = 256 << 10;

/// How often who is to wait no longer looks whether that is for room on the disk.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The client left, or was told why it has to.
    Closed,
    /// It went away without a word.
    Lost(io::Error),
    /// It did not read what it had asked for.
    Slow,
    /// The log failed: what was committed may or may not be there after a restart.
    LogFailed(Error),
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> End {
        End::Lost(error)
    }
}

struct Connection {
    stream: Stream,
    input: Input,
    backend: Backend,
    phase: watch::Receiver<Phase>,
}

/// Serves a client until it leaves.
pub(crate) async fn serve(
    shared: Arc<Shared>,
    stream: Stream,
    guest: Guest,
    phase: watch::Receiver<Phase>,
) -> End {
    let timeout = shared.config().startup_timeout;
    let opened = tokio::select! {
        opened = tokio::time::timeout(timeout, login::open(&shared, stream)) => opened,
        () = guest.until_sent_away() => {
            shared.metrics.refused.fetch_add(1, Ordering::Relaxed);
            tracing::info!("disconnected a client that had not logged in, to make room for others");
            return End::Closed;
        }
    };
    // `_place`: as long as the connection.
    let Opened { stream, input, backend, place: _place } = match opened {
        Ok(Ok(Some(opened))) => opened,
        Ok(Ok(None)) => return End::Closed,
        Ok(Err(error)) => return End::Lost(error),
        Err(_) => {
            tracing::info!("a client did not log in within {timeout:?}");
            return End::Closed;
        }
    };
    drop(guest);
    let process = backend.key.process;
    let mut connection = Connection { stream, input, backend, phase };
    match connection.talk().await {
        Ok(()) => End::Closed,
        Err(End::LogFailed(error)) => {
            tracing::error!(connection = process, "the log failed: {error}");
            End::LogFailed(error)
        }
        Err(end) => end,
    }
}

impl Connection {
    async fn talk(&mut self) -> Result<(), End> {
        self.send().await?;
        loop {
            self.answer().await?;
            if self.backend.flush || self.backend.closing {
                self.send().await?;
            }
            if self.backend.closing {
                // The socket may be gone already.
                let _ = self.stream.shutdown().await;
                return Ok(());
            }
            if !self.read().await? {
                return Ok(());
            }
        }
    }

    /// Has all messages answered that have come.
    async fn answer(&mut self) -> Result<(), End> {
        let max = self.backend.shared.config().max_message_bytes;
        while !self.backend.closing {
            match self.input.front(max) {
                Front::Incomplete => return Ok(()),
                Front::BadLength(tag, length) => {
                    let what = if length > 0 { "too long" } else { "of no length" };
                    let error = violation(format!(
                        "invalid message length: message of type {tag} is {what} ({length})"
                    ));
                    tracing::warn!(connection = self.backend.key.process, "{}", error.message());
                    self.backend.die(&error);
                }
                Front::Message(tag) => {
                    let mut alone = false;
                    if tag == b'E' && !self.backend.in_transaction() {
                        match self.input.ahead() {
                            Ahead::Sync => alone = true,
                            Ahead::More => {}
                            Ahead::Unknown => return Ok(()),
                        }
                    }
                    self.backend.message(tag, self.input.body(), alone);
                    self.input.advance();
                    self.backend.scales.note(Taken::Input, self.input.capacity());
                    self.backend.scales.note(Taken::Reply, self.backend.reply.capacity());
                }
            }
            if self.backend.reply.weight() > SEND_BYTES {
                self.send().await?;
            }
        }
        Ok(())
    }

    /// Sends the replies, once the commits that they tell of are on disk.
    async fn send(&mut self) -> Result<(), End> {
        self.backend.flush = false;
        let pending = std::mem::replace(&mut self.backend.pending, Ticket::done());
        if !pending.is_durable() {
            self.backend.key.waits(SYNCS);
            // Those whose messages have come by now commit first: one sync for all of them.
            tokio::task::yield_now().await;
        }
        let Backend { key, deadline, .. } = &mut self.backend;
        let waited = until_on_disk(key, *deadline, pending).await;
        if waited.is_ok() {
            self.backend.tell();
        }
        let Backend { reply, key, shared, closing, scales, .. } = &mut self.backend;
        let blocked = || key.waits(WRITES);
        let timeout = shared.config().write_timeout;
        let waited = match waited {
            Ok(Some(_)) if key.terminated() => {
                // Nothing is said of what was done, as it may be lost.
                reply.clear();
                let detail = Ticket::given_up("").detail.unwrap_or_default();
                reply.error(Severity::Fatal, &terminated().with_detail(detail), None);
                *closing = true;
                Ok(())
            }
            Ok(Some(why)) => {
                let mut warning = Reply::default();
                warning.notice(&Ticket::given_up(why));
                reply.insert(0, warning.bytes());
                Ok(())
            }
            Ok(None) => Ok(()),
            Err(error) => Err(error),
        };
        let Err(error) = waited else {
            write(&mut self.stream, reply, timeout, blocked).await?;
            scales.note(Taken::Reply, reply.capacity());
            return Ok(());
        };
        // Nothing of what was to be said may be said.
        reply.clear();
        reply.error(Severity::Fatal, &error, None);
        *closing = true;
        write(&mut self.stream, reply, timeout, blocked).await?;
        Err(End::LogFailed(error))
    }

    /// There is no memory for the rest of a message.
    #[cold]
    async fn no_memory(&mut self) -> Result<(), End> {
        let bytes = self.input.capacity();
        self.input = Input::default();
        let message = "terminating connection because there is no memory for its message";
        tracing::warn!(connection = self.backend.key.process, bytes, "{message}");
        let error = Error::new(SqlState::OUT_OF_MEMORY, message)
            .with_detail(format!(
                "{bytes} bytes are taken for what has come of it, and the memory budget is used up."
            ))
            .with_hint("Send less at a time, or raise memory_budget.");
        self.backend.die(&error);
        self.send().await
    }

    /// Reads what has come; `None`: somebody else wants something.
    async fn hear(&mut self) -> io::Result<Option<usize>> {
        std::future::poll_fn(|context| {
            let read = self.input.poll_fill(Pin::new(&mut self.stream), context);
            if read.is_ready() {
                return read.map_ok(Some);
            }
            self.backend.key.woken_by(context.waker());
            if self.backend.key.terminated()
                || self.phase.has_changed().unwrap_or(true)
                || self.backend.is_told(context.waker())
            {
                return Poll::Ready(Ok(None));
            }
            Poll::Pending
        })
        .await
    }

    /// Waits for more. False: the connection is over.
    async fn read(&mut self) -> Result<bool, End> {
        let waits = self.backend.idle_timeout();
        loop {
            self.backend.key.rests(self.backend.client_state());
            if self.backend.flush {
                // Something came on a channel.
                self.send().await?;
            }
            let stopping = matches!(*self.phase.borrow_and_update(), Phase::Stopping)
                || !matches!(*self.phase.borrow(), Phase::Running) && !self.backend.in_transaction();
            if stopping || self.backend.key.terminated() {
                self.backend.die(&terminated());
                self.send().await?;
                return Ok(false);
            }
            let idle = async {
                match waits {
                    Some(time) => tokio::time::sleep(time).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                heard = self.hear() => {
                    let Some(read) = heard? else { continue };
                    if self.backend.scales.weigh(Taken::Input, self.input.capacity()).is_ok() {
                        return Ok(read > 0);
                    }
                    self.no_memory().await?;
                    return Ok(false);
                }
                () = idle => {
                    let message = "terminating connection due to idle-in-transaction timeout";
                    tracing::info!(connection = self.backend.key.process, "{message}");
                    self.backend.die(&Error::new(SqlState::new("25P03"), message));
                    self.send().await?;
                    return Ok(false);
                }
            }
        }
    }
}

/// Waits until commits are on disk. Who is cancelled, or out of time, while there is no room there, waits no longer, and
/// is told why: they cannot be undone any more.
async fn until_on_disk(
    key: &Key,
    deadline: Option<Instant>,
    pending: Ticket,
) -> Result<Option<&'static str>, Error> {
    let ticket = pending.clone();
    let mut pending = pin!(pending);
    let late = async {
        match deadline {
            Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
            None => std::future::pending().await,
        }
    };
    let why = tokio::select! {
        biased;
        outcome = &mut pending => return outcome.map(|()| None),
        () = key.until_cancelled() => "user request",
        () = late => "statement timeout",
    };
    loop {
        // What is only being written is waited for.
        if ticket.waits_for_room() {
            return Ok(Some(why));
        }
        if let Ok(outcome) = tokio::time::timeout(LOOK_EVERY, &mut pending).await {
            return outcome.map(|()| None);
        }
    }
}

/// Writes the replies and forgets them. `blocked` is told when the client does not read.
pub(crate) async fn write(
    stream: &mut Stream,
    reply: &mut Reply,
    timeout: Duration,
    blocked: impl FnOnce(),
) -> Result<(), End> {
    if reply.is_empty() {
        return Ok(());
    }
    let mut blocked = Some(blocked);
    let mut chunk = Vec::new();
    for part in reply.parts() {
        match part {
            Fragment::Bytes(bytes) => {
                for bytes in bytes.chunks(WRITE_BYTES) {
                    write_all(stream, bytes, timeout, &mut blocked).await?;
                }
            }
            Fragment::Spool(spool) => {
                let mut at = 0;
                while spool.read(&mut chunk, at, WRITE_BYTES)? > 0 {
                    at += chunk.len() as u64;
                    write_all(stream, &chunk, timeout, &mut blocked).await?;
                    chunk.clear();
                }
            }
        }
    }
    reply.clear();
    stream.flush().await?;
    Ok(())
}

/// Writes bytes; `timeout` is how long the client may take to read as many.
async fn write_all(
    stream: &mut Stream,
    bytes: &[u8],
    timeout: Duration,
    blocked: &mut Option<impl FnOnce()>,
) -> Result<(), End> {
    let mut writing = pin!(stream.write_all(bytes));
    // Nearly always it is done at once, and needs no clock.
    match std::future::poll_fn(|context| Poll::Ready(writing.as_mut().poll(context))).await {
        Poll::Ready(written) => Ok(written?),
        Poll::Pending => {
            if let Some(blocked) = blocked.take() {
                blocked();
            }
            match tokio::time::timeout(timeout, writing).await {
                Ok(written) => Ok(written?),
                Err(_) => Err(End::Slow),
            }
        }
    }
}
