//! Sessions of the engine, shared by connections: a connection has one while a statement of its runs,
//! a transaction of its is open, or it has advisory locks or temporary relations, else only what it must remember.

use parking_lot::Mutex;
use planaria::{Database, Result, Session, TransactionStatus};
use std::sync::Arc;

/// See the module's head. The last given back is the first given out: few are in use, and warm.
pub(crate) struct SessionPool {
    db: Arc<Database>,
    free: Mutex<Vec<Session>>,
}

impl SessionPool {
    pub(crate) fn new(db: Arc<Database>) -> SessionPool {
        SessionPool { db, free: Mutex::new(Vec::new()) }
    }

    /// The database.
    pub(crate) fn database(&self) -> &Database {
        &self.db
    }

    /// A session without a transaction; 53300 where too many transactions are open.
    pub(crate) fn take(&self) -> Result<Session> {
        let free = self.free.lock().pop();
        match free {
            Some(session) => Ok(session),
            None => self.db.session(),
        }
    }

    /// Gives one back.
    pub(crate) fn give(&self, session: Session) {
        debug_assert_eq!(session.transaction_status(), TransactionStatus::Idle);
        self.free.lock().push(session);
    }
}
