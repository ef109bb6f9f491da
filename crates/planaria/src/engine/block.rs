//! Transactions of several statements: BEGIN, COMMIT, ROLLBACK, savepoints; statements named by PREPARE.

use super::session::{Block, LogAs, SessionCore, not_serialized};
use super::statement::done;
use crate::session::StatementResult;
use crate::ticket::Ticket;
use planaria_base::{Error, Result, SqlState};
use planaria_exec::Interrupt;
use planaria_protocol::Protocol;
use planaria_sql::ast::Transaction;

/// A savepoint that does not exist (3B001), or one outside of a transaction (25P01).
fn no_savepoint(name: &str) -> Error {
    Error::new(SqlState::INVALID_SAVEPOINT_SPECIFICATION, format!("savepoint \"{name}\" does not exist"))
}

impl<P: Protocol> SessionCore<P> {
    pub(super) fn transaction_control(&mut self, statement: &Transaction) -> Result<StatementResult> {
        match statement {
            Transaction::Begin { .. } => {
                if !matches!(self.block, Block::None) {
                    self.warn("there is already a transaction in progress");
                    return Ok(done("BEGIN"));
                }
                self.enter();
                self.begin();
                self.leave();
                self.block = Block::Open;
                self.settings.begin();
                self.user.begin();
                self.savepoints.clear();
                Ok(done("BEGIN"))
            }
            Transaction::Commit => match self.block {
                Block::None => {
                    self.warn("there is no transaction in progress");
                    Ok(done("COMMIT"))
                }
                Block::Failed => {
                    self.roll_back();
                    Ok(done("ROLLBACK"))
                }
                Block::Open => self.commit_block(),
            },
            Transaction::Rollback => {
                if matches!(self.block, Block::None) {
                    self.warn("there is no transaction in progress");
                }
                self.roll_back();
                Ok(done("ROLLBACK"))
            }
            Transaction::Savepoint(name) => {
                self.in_a_block("SAVEPOINT")?;
                let savepoint = self.engine.protocol.savepoint(&mut self.txn);
                self.savepoints.push((name.clone(), savepoint, self.effects.len(), self.user.now));
                Ok(done("SAVEPOINT"))
            }
            Transaction::Release(name) => {
                self.in_a_block("RELEASE SAVEPOINT")?;
                let at = self.savepoint_at(name)?;
                while self.savepoints.len() > at {
                    if let Some((_, savepoint, ..)) = self.savepoints.pop() {
                        self.engine.protocol.release(&mut self.txn, savepoint);
                    }
                }
                Ok(done("RELEASE"))
            }
            Transaction::RollbackTo(name) => {
                self.in_a_block("ROLLBACK TO SAVEPOINT")?;
                let at = self.savepoint_at(name)?;
                while self.savepoints.len() > at + 1 {
                    if let Some((_, savepoint, ..)) = self.savepoints.pop() {
                        self.engine.protocol.release(&mut self.txn, savepoint);
                    }
                }
                let (savepoint, identity) = (self.savepoints[at].1, self.savepoints[at].3);
                self.user.back_to(identity);
                self.mirror_user();
                let snapshot = self.snapshot.clone();
                self.engine.gate.enter(self.worker);
                self.engine.protocol.rollback_to(&mut self.txn, savepoint, &snapshot.tables);
                self.leave();
                // A transaction that cannot be serialized is not mended by going back.
                if !self.doomed {
                    self.block = Block::Open;
                }
                Ok(done("ROLLBACK"))
            }
        }
    }

    fn warn(&mut self, message: &str) {
        self.notices.push(crate::session::Notice {
            severity: "WARNING",
            message: message.to_owned(),
            detail: None,
            hint: None,
        });
    }

    fn in_a_block(&self, what: &str) -> Result<()> {
        if matches!(self.block, Block::None) {
            return Err(Error::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                format!("{what} can only be used in transaction blocks"),
            ));
        }
        Ok(())
    }

    fn savepoint_at(&self, name: &str) -> Result<usize> {
        self.savepoints.iter().rposition(|(n, ..)| n == name).ok_or_else(|| no_savepoint(name))
    }

    fn commit_block(&mut self) -> Result<StatementResult> {
        let mut outcome = Ok(());
        self.engine.gate.enter(self.worker);
        let snapshot = self.snapshot.clone();
        let stale = self.is_stale();
        while let Some((_, savepoint, ..)) = self.savepoints.pop() {
            self.engine.protocol.release(&mut self.txn, savepoint);
        }
        let committed = if stale {
            Err(Interrupt::Error(super::session::schema_changed()))
        } else {
            self.commit(&snapshot, LogAs::Values)
        };
        let ticket = match committed {
            Ok((ts, logged)) => {
                self.engine.counters.commit(self.worker);
                Some(self.ticket(ts, logged))
            }
            Err(interrupt) => {
                self.engine.protocol.abort(&mut self.txn, &snapshot.tables);
                outcome = Err(match interrupt {
                    Interrupt::Error(error) => error,
                    Interrupt::Conflict(cause) => {
                        self.engine.counters.abort(self.worker, cause);
                        not_serialized()
                    }
                });
                None
            }
        };
        self.leave();
        self.block = Block::None;
        self.doomed = false;
        self.settings.end(outcome.is_ok());
        self.end_cursors(outcome.is_ok());
        self.end_user(outcome.is_ok());
        outcome?;
        self.pending = ticket.unwrap_or_else(Ticket::done);
        Ok(done("COMMIT"))
    }

    fn roll_back(&mut self) {
        if matches!(self.block, Block::None) {
            return;
        }
        self.engine.gate.enter(self.worker);
        let snapshot = self.snapshot.clone();
        self.engine.protocol.abort(&mut self.txn, &snapshot.tables);
        self.leave();
        self.block = Block::None;
        self.settings.end(false);
        self.end_cursors(false);
        self.end_user(false);
        self.savepoints.clear();
        self.doomed = false;
    }

    /// The end of a statement whose caller hears of it when it is durable.
    pub(super) fn finish<T>(&mut self, outcome: Result<T>) -> Result<T> {
        let pending = std::mem::replace(&mut self.pending, Ticket::done());
        let answer = self.fail_block_on_error(outcome)?;
        pending.wait()?;
        Ok(answer)
    }

    /// A statement that fails fails its transaction block.
    pub(super) fn fail_block_on_error<T>(&mut self, outcome: Result<T>) -> Result<T> {
        if let (Err(error), Block::Open) = (&outcome, &self.block) {
            self.block = Block::Failed;
            self.doomed |= error.sqlstate() == SqlState::SERIALIZATION_FAILURE;
        }
        outcome
    }
}
