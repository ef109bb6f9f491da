//! What a commit runs in: what a scheme asks of those around it as it decides on a transaction.

use crate::Protocol;
use planaria_base::CommitTs;
use planaria_base::clock::CommitClock;

/// The surroundings of one commit. A scheme knows nothing of logs or programs; what it needs of them it asks for here.
///
/// Commit takes it by value, so its last method is called once at most. What a scheme would ask before it has drawn its
/// place (to run parts of a program again, say) belongs here, too, with `&mut self`.
pub trait CommitEnv<P: Protocol> {
    /// Gives out the places in the order.
    fn clock(&self) -> &CommitClock;

    /// The outcome is certain: the transaction has this place, and its writes can still be asked for. Whatever it has
    /// locked is free by then or not, as the scheme likes.
    fn committed(self, ts: CommitTs, txn: &P::Txn);
}

/// Nobody wants to be told.
impl<P: Protocol> CommitEnv<P> for &CommitClock {
    #[inline]
    fn clock(&self) -> &CommitClock {
        self
    }
    #[inline]
    fn committed(self, _ts: CommitTs, _txn: &P::Txn) {}
}

/// A clock, and who is told.
pub struct Telling<'c, F>(pub &'c CommitClock, pub F);

impl<P: Protocol, F: FnOnce(CommitTs, &P::Txn)> CommitEnv<P> for Telling<'_, F> {
    #[inline]
    fn clock(&self) -> &CommitClock {
        self.0
    }
    #[inline]
    fn committed(self, ts: CommitTs, txn: &P::Txn) {
        (self.1)(ts, txn);
    }
}
