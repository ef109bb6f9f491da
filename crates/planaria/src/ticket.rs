//! A commit's way to the disk.

use planaria_base::{Epoch, Result};
use planaria_log::Log;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// A commit that is made in memory and on its way to the disk, together with all commits it saw.
/// Wait for it, ask it, or await it. Dropping it changes nothing.
///
/// A transaction that only read has one too: it is durable when all it read is. Should the log fail
/// meanwhile, what it read may be gone after a restart: it must be shown to nobody.
#[derive(Clone, Debug)]
pub struct Ticket {
    /// `None`: nothing to wait for.
    on_disk: Option<OnDisk>,
}

#[derive(Clone)]
struct OnDisk {
    epoch: Epoch,
    log: Arc<SessionLog>,
}

impl std::fmt::Debug for OnDisk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "epoch {}", self.epoch.0)
    }
}

/// A session's own handle of the log: its tickets count references here, not on a line that all
/// cores share.
pub(crate) struct SessionLog(pub(crate) Arc<Log>);

impl Ticket {
    /// Of what needs no disk.
    pub fn done() -> Ticket {
        Ticket { on_disk: None }
    }

    pub(crate) fn new(epoch: Epoch, log: &Arc<SessionLog>) -> Ticket {
        Ticket { on_disk: Some(OnDisk { epoch, log: log.clone() }) }
    }

    /// The ticket of two commits: on disk when both are.
    #[must_use]
    pub fn and(self, other: Ticket) -> Ticket {
        let on_disk = match (self.on_disk, other.on_disk) {
            (Some(a), Some(b)) => Some(OnDisk { epoch: a.epoch.max(b.epoch), log: a.log }),
            (a, b) => a.or(b),
        };
        Ticket { on_disk }
    }

    /// Whether it is on disk.
    #[inline]
    pub fn is_durable(&self) -> bool {
        self.on_disk.as_ref().is_none_or(|d| d.log.0.durable_epoch() >= d.epoch)
    }

    /// Whether it is not on disk, and there is no room.
    pub(crate) fn is_without_room(&self) -> bool {
        self.on_disk.as_ref().is_some_and(|d| d.log.0.is_full()) && !self.is_durable()
    }

    /// [`Ticket::wait`], but for who is to wait no longer while there is no room on the disk: false.
    pub(crate) fn wait_while_not(&self, is_over: &mut dyn FnMut() -> bool) -> Result<bool> {
        match &self.on_disk {
            Some(d) if d.log.0.durable_epoch() < d.epoch => d.log.0.wait_unless(d.epoch, is_over),
            _ => Ok(true),
        }
    }

    /// Returns when it is on disk; on a full disk, when there is room. 58030 or 53100 where the log failed:
    /// the commit may or may not survive a restart, and until then nobody sees it.
    pub fn wait(&self) -> Result<()> {
        match &self.on_disk {
            Some(d) if d.log.0.durable_epoch() < d.epoch => d.log.0.wait(d.epoch),
            _ => Ok(()),
        }
    }
}

/// What a session has committed of a statement, and nobody waits for yet. A statement may commit several times: its tickets
/// come in one by one and go out together, so that none takes another's place.
pub(crate) struct Pending(Ticket);

impl Pending {
    /// Nothing.
    pub(crate) fn none() -> Pending {
        Pending(Ticket::done())
    }

    /// Nothing that needs the disk.
    pub(crate) fn is_none(&self) -> bool {
        self.0.on_disk.is_none()
    }

    #[inline]
    pub(crate) fn add(&mut self, ticket: Ticket) {
        if ticket.on_disk.is_some() {
            self.0 = self.take().and(ticket);
        }
    }

    /// All of them, for who waits.
    #[inline]
    pub(crate) fn take(&mut self) -> Ticket {
        std::mem::replace(&mut self.0, Ticket::done())
    }
}

impl Future for Ticket {
    type Output = Result<()>;
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        let Some(d) = &self.on_disk else { return Poll::Ready(Ok(())) };
        if d.log.0.durable_epoch() >= d.epoch {
            return Poll::Ready(Ok(()));
        }
        if let Err(error) = d.log.0.health() {
            return Poll::Ready(Err(error));
        }
        let waker = context.waker().clone();
        d.log.0.on_durable(d.epoch, move |_| waker.wake());
        // It may have become durable before the callback was in place; then the callback has run
        // or runs now, and the next poll says so.
        Poll::Pending
    }
}
