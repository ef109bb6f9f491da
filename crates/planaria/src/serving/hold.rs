//! Memory that is taken on behalf of clients, outside of the engine: messages, answers, portals. It counts against
//! the memory budget like any.

use crate::api::EngineHandle;
use planaria_base::Result;
use std::sync::Arc;

/// So much memory, until it is dropped. See [`Database::hold`](crate::serving::ServedDatabase::hold).
pub struct Hold {
    engine: Arc<EngineHandle>,
    bytes: u64,
}

impl Hold {
    pub(crate) fn new(engine: Arc<EngineHandle>) -> Hold {
        Hold { engine, bytes: 0 }
    }

    /// It is so much from now on. 53200 where it is more than before, all of it is above the memory budget, and
    /// what clients hold so is not little: then it is what it was.
    pub fn set(&mut self, bytes: u64) -> Result<()> {
        self.engine.hold(self.bytes, bytes, true)?;
        self.bytes = bytes;
        Ok(())
    }

    /// The same for what is there already, and cannot be refused.
    pub fn note(&mut self, bytes: u64) {
        // Nothing is refused.
        let _ = self.engine.hold(self.bytes, bytes, false);
        self.bytes = bytes;
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.note(0);
    }
}
