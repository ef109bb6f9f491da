//! Waiting for the disk on behalf of a client, who may have enough of it.

use crate::notice::Notice;
use crate::sealed::Sealed;
use crate::ticket::Ticket;
use planaria_base::Result;

/// The way to the disk of a client's commit.
pub trait ServedTicket: Sealed {
    /// Whether it is not on disk, and there is no room.
    fn waits_for_room(&self) -> bool;
    /// [`Ticket::wait`], but for who is to wait no longer while there is no room on the disk: false. The commit
    /// cannot be undone: others may have seen it, and it is written as soon as there is room.
    fn wait_unless(&self, is_over: &mut dyn FnMut() -> bool) -> Result<bool>;
    /// What who waits no longer is told in place of an error: nothing was undone.
    fn given_up(why: &str) -> Notice;
}

impl ServedTicket for Ticket {
    fn waits_for_room(&self) -> bool {
        self.is_without_room()
    }
    fn wait_unless(&self, is_over: &mut dyn FnMut() -> bool) -> Result<bool> {
        self.wait_while_not(is_over)
    }
    fn given_up(why: &str) -> Notice {
        Notice {
            severity: "WARNING",
            code: planaria_base::SqlState::WARNING,
            message: format!("canceling wait for room on the disk due to {why}"),
            detail: Some(
                "The transaction has already committed in memory, but is not on disk: it will be as soon as \
                 there is room, and is lost if the server ends before."
                    .into(),
            ),
            hint: None,
        }
    }
}
