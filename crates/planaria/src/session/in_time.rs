//! Statements in the time that they may take, watched: see [`cancel`](crate::engine::program::cancel).

use crate::engine::Engine;
use crate::owned::has_panicked;
use crate::session::core::SessionCore;
use planaria_base::sync::Instant;
use planaria_base::watch::{Room, Watch};
use planaria_base::{Error, Result, WorkerId};
use std::sync::Arc;
use std::time::Duration;

/// The memory that a session's statements may compute with.
struct SessionRoom {
    engine: Arc<Engine>,
    worker: WorkerId,
}

impl Room for SessionRoom {
    fn room(&self, bytes: usize) -> Result<()> {
        self.engine.meter.admit(bytes as u64, self.worker, &self.engine.schema.load())
    }
}

impl SessionCore {
    /// Runs a statement in the time that it may take, if the session may run any.
    #[inline]
    pub(crate) fn in_time<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.panicked || self.engine.is_over() {
            return Err(self.over());
        }
        self.cancel.begin();
        let limit = self.settings.milliseconds("statement_timeout");
        if limit == 0 || self.cancel.deadline().is_some() {
            return self.watched(run);
        }
        self.cancel.ends_by(Some(Instant::now() + Duration::from_millis(limit)));
        let outcome = self.watched(run);
        self.cancel.ends_by(None);
        outcome
    }

    /// Why no statement can run.
    #[cold]
    fn over(&self) -> Error {
        self.engine.check_open().err().unwrap_or_else(has_panicked)
    }

    /// Runs with the session's watch lent to the thread: what does not come by the session asks that.
    #[inline]
    fn watched<T>(&mut self, run: impl FnOnce(&mut Self) -> T) -> T {
        let mut watch = self.watch.take().unwrap_or_else(|| self.new_watch());
        watch.deadline = self.cancel.deadline();
        let lent = watch.lend();
        let outcome = run(self);
        self.watch = lent.back();
        outcome
    }

    #[cold]
    fn new_watch(&self) -> Box<Watch> {
        let room = SessionRoom { engine: self.engine.clone(), worker: self.worker };
        Box::new(Watch { flag: self.cancel.flag().clone(), deadline: None, room: Some(Arc::new(room)) })
    }

    /// 57014 where the statement is to end.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        self.cancel.check()
    }
}
