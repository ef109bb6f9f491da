//! Advisory locks as a running program asks for them: see [`advisory`](crate::engine::advisory).

use crate::engine::advisory::AdvisoryLocks;
use crate::engine::advisory::own::{Level, OwnLocks};
use crate::engine::table_locks::Wanted;
use crate::notice::Notice;
use crate::system::AdvisoryLock;
use planaria_base::{Error, Result, WorkerId};
use planaria_exec::Interrupt;
use planaria_exec::slot::Slot;
use planaria_ir::{ADVISORY_PAIR, ADVISORY_SHARED, ADVISORY_TRANSACTION, Question};
use planaria_protocol::Conflict;
use std::sync::atomic::AtomicI32;

/// How a program waits for a lock where it is, for so many milliseconds at most if that is not 0.
type Wait<'a> = &'a dyn Fn(AdvisoryLock, u64) -> Result<()>;

/// See the module's head.
pub(crate) struct Keys<'a> {
    pub(crate) all: &'a AdvisoryLocks,
    pub(crate) own: &'a mut OwnLocks,
    pub(crate) worker: WorkerId,
    /// Where others see who has what they wait for.
    pub(crate) process: &'a AtomicI32,
    /// What the attempt has to wait for.
    pub(crate) barred: &'a mut Option<Wanted>,
    /// `None`: the attempt is taken back, and repeated when the lock is there.
    pub(crate) wait: Option<Wait<'a>>,
}

fn lock_of(args: &[Slot]) -> (AdvisoryLock, Level) {
    let (first, second, how) = (args[0].int(), args[1].int(), args[2].int());
    let pair = how & ADVISORY_PAIR != 0;
    let key = if pair { (first as u64) << 32 | u64::from(second as u32) } else { first as u64 };
    let level = if how & ADVISORY_TRANSACTION != 0 { Level::Transaction } else { Level::Session };
    (AdvisoryLock { key, pair, shared: how & ADVISORY_SHARED != 0 }, level)
}

impl Keys<'_> {
    pub(crate) fn answer(
        &mut self,
        question: Question,
        args: &[Slot],
        limit: u64,
        notices: &mut Vec<Notice>,
    ) -> Result<Slot, Interrupt> {
        match question {
            Question::AdvisoryLock => {
                let (lock, level) = lock_of(args);
                self.lock(lock, level, limit).map(|()| Slot::Null)
            }
            Question::TryAdvisoryLock => {
                let (lock, level) = lock_of(args);
                Ok(Slot::Bool(self.try_lock(lock, level, false)))
            }
            Question::AdvisoryUnlock => {
                let unlocked = self.own.unlock(lock_of(args).0);
                if unlocked == Some(true) {
                    self.all.release(self.worker, lock_of(args).0);
                } else if unlocked.is_none() {
                    notices.push(Notice {
                        severity: "WARNING",
                        code: planaria_base::SqlState::WARNING,
                        message: format!("you don't own a lock of type {}", lock_of(args).0.mode()),
                        detail: None,
                        hint: None,
                    });
                }
                Ok(Slot::Bool(unlocked.is_some()))
            }
            Question::AdvisoryUnlockAll => {
                self.own.unlock_all(&mut |lock| self.all.release(self.worker, lock));
                Ok(Slot::Null)
            }
            other => Err(Error::internal(format!("{} locks nothing", other.name())).into()),
        }
    }

    fn try_lock(&mut self, lock: AdvisoryLock, level: Level, insists: bool) -> bool {
        if self.own.lock_again(lock, level) {
            return true;
        }
        let granted = self.all.try_lock(self.worker, lock, insists);
        if granted {
            self.own.locked(lock, level);
        }
        granted
    }

    fn lock(&mut self, lock: AdvisoryLock, level: Level, limit: u64) -> Result<(), Interrupt> {
        if self.try_lock(lock, level, true) {
            return Ok(());
        }
        let Some(wait) = self.wait else {
            *self.barred = Some(Wanted::Advisory(lock, level));
            return Err(Conflict::Claimed.into());
        };
        wait(lock, limit)?;
        self.own.locked(lock, level);
        Ok(())
    }

    pub(crate) fn unlock_to(&mut self, len: usize) {
        self.own.release_to(len, &mut |lock| self.all.release(self.worker, lock));
    }
}
