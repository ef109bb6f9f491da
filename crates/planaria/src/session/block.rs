//! Transactions of several statements: BEGIN, COMMIT, ROLLBACK, savepoints; statements named by PREPARE.

use crate::engine::program::refusal::{key_of_another, not_serialized, schema_changed};
use crate::engine::schema_version::LogAs;
use crate::serving::ServedTicket;
use crate::session::StatementResult;
use crate::session::answer::done;
use crate::session::core::{Block, SessionCore};
use crate::session::savepoint::{At, Locked, Mark};
use crate::ticket::Ticket;
use planaria_base::limits::ATTEMPTS_MAX;
use planaria_base::sync::Instant;
use planaria_base::{CommitTs, Error, Result, SqlState};
use planaria_exec::Interrupt;
use planaria_protocol::Conflict;
use planaria_syntax::ast::Transaction;
use std::time::Duration;

/// How long a COMMIT tries to get what others hold for a moment each, without `lock_timeout`.
const COMMIT_PATIENCE: Duration = Duration::from_secs(10);

/// A savepoint that does not exist (3B001), or one outside of a transaction (25P01).
fn no_savepoint(name: &str) -> Error {
    Error::new(SqlState::INVALID_SAVEPOINT_SPECIFICATION, format!("savepoint \"{name}\" does not exist"))
}

impl SessionCore {
    pub(crate) fn transaction_control(&mut self, statement: &Transaction) -> Result<StatementResult> {
        match statement {
            Transaction::Begin { read_only, isolation } => {
                if !matches!(self.block, Block::None) {
                    self.warn("there is already a transaction in progress");
                    return Ok(done("BEGIN"));
                }
                self.settle_temporary()?;
                let read_only = read_only.unwrap_or_else(|| self.is_read_only());
                let isolation = isolation.unwrap_or_else(|| self.settings.isolation());
                self.begin_block(read_only, isolation)?;
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
            Transaction::CommitAndChain | Transaction::RollbackAndChain => {
                let commits = matches!(statement, Transaction::CommitAndChain);
                let command = if commits { "COMMIT AND CHAIN" } else { "ROLLBACK AND CHAIN" };
                self.in_a_block(command)?;
                let (read_only, isolation) = (self.read_only, self.isolation);
                let ends = if commits { Transaction::Commit } else { Transaction::Rollback };
                let ended = self.transaction_control(&ends)?;
                let begins = Transaction::Begin { read_only: Some(read_only), isolation: Some(isolation) };
                self.transaction_control(&begins)?;
                Ok(ended)
            }
            Transaction::Savepoint(name) => {
                self.in_a_block("SAVEPOINT")?;
                let at = match &self.reading {
                    Some(_) => At::Snapshot,
                    None if self.changing.is_some() => self.savepoint_of_part()?,
                    None => At::Transaction(self.txn.savepoint()),
                };
                let (identity, settings) = (self.user.at_savepoint(), self.settings.clone());
                let read_only = self.read_only;
                let tables = if self.has_locks { self.engine.locks.count(self.worker) } else { 0 };
                let (keys, said) = (self.own_locks.mark(), self.said.mark());
                let deferred = self.deferred.mark();
                let locks = Locked { tables, keys, rows: self.txn.locked(), said, deferred };
                let name = name.clone();
                self.savepoints.push(Mark { name, at, identity, settings, read_only, locks });
                Ok(done("SAVEPOINT"))
            }
            Transaction::Release(name) => {
                self.in_a_block("RELEASE SAVEPOINT")?;
                let at = self.savepoint_at(name)?;
                self.release_to(at);
                Ok(done("RELEASE"))
            }
            Transaction::RollbackTo(name) => {
                self.in_a_block("ROLLBACK TO SAVEPOINT")?;
                let at = self.savepoint_at(name)?;
                self.end_cursors_since(at);
                self.release_to(at + 1);
                let mark = &self.savepoints[at];
                (self.read_only, self.settings) = (mark.read_only, self.settings.back_to(&mark.settings));
                let (at, identity, locks) = (mark.at.clone(), mark.identity, mark.locks);
                self.release_locks_to(locks);
                self.user.back_to(identity);
                self.mirror_user();
                // A transaction that cannot be serialized is not mended by going back.
                if !self.doomed {
                    match at {
                        At::InstalledChanges(parts, schema) => self.back_to_part(parts, &schema)?,
                        At::Transaction(savepoint) => {
                            let schema = self.schema.clone();
                            // As in `abandon`.
                            let inside = self.engine.gate.try_enter(self.worker);
                            self.txn.rollback_to(savepoint, &schema.tables);
                            if inside {
                                self.leave();
                            }
                        }
                        At::Snapshot => {}
                    }
                    self.block = Block::Open;
                }
                Ok(done("ROLLBACK"))
            }
        }
    }

    pub(crate) fn is_in_block(&self) -> bool {
        !matches!(self.block, Block::None)
    }

    /// Leaves those messages that the client wants to hear (`client_min_messages`); INFO is heard always.
    pub(crate) fn keep_heard(&self, notices: &mut Vec<crate::notice::Notice>) {
        if notices.is_empty() {
            return;
        }
        let least = self.settings.get("client_min_messages").unwrap_or("notice");
        notices.retain(|notice| match notice.severity {
            "NOTICE" => !matches!(least, "warning" | "error"),
            "WARNING" => least != "error",
            _ => true,
        });
    }

    /// Of what makes no sense as the transaction stands: 25P01 without a block, 25001 within one.
    pub(crate) fn warn(&mut self, message: &str) {
        let code = match self.block {
            Block::None => SqlState::NO_ACTIVE_SQL_TRANSACTION,
            _ => SqlState::ACTIVE_SQL_TRANSACTION,
        };
        self.notices.push(crate::notice::Notice {
            severity: "WARNING",
            code,
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
        self.savepoints.iter().rposition(|mark| mark.name == name).ok_or_else(|| no_savepoint(name))
    }

    /// Releases the savepoints from number `len` on.
    fn release_to(&mut self, len: usize) {
        self.cursors_belong_to(len);
        while self.savepoints.len() > len {
            if let Some(Mark { at: At::Transaction(savepoint), .. }) = self.savepoints.pop() {
                self.txn.release(savepoint);
            }
        }
    }

    /// Commits a block that has read a snapshot.
    fn commit_reading(&mut self, at: CommitTs) -> StatementResult {
        self.release_to(0);
        self.speak(at);
        self.engine.counters.commit(self.worker);
        self.last_commit = Some((at.next(), false));
        self.pending.add(self.ticket(at, false));
        self.end_block(true);
        done("COMMIT")
    }

    fn end_block(&mut self, committed: bool) {
        self.block = Block::None;
        self.followed_from = None;
        self.show_moment();
        self.end_locks();
        self.inputs.end_block();
        (self.doomed, self.reading, self.read_only) = (false, None, false);
        self.settings.end(committed);
        self.end_cursors(committed);
        self.end_user(committed);
        self.savepoints.clear();
        self.deferred.clear();
        self.share.end_transaction(&self.engine.meter);
    }

    fn commit_block(&mut self) -> Result<StatementResult> {
        if let Err(error) = self.take_gate_back() {
            self.roll_back();
            return Err(error);
        }
        if !self.deferred.is_empty()
            && let Err(error) = self.fire_deferred_in_block()
        {
            self.roll_back();
            return Err(error);
        }
        if self.reading.is_none()
            && let Err(error) = self.end_temporary()
        {
            self.roll_back();
            return Err(error);
        }
        if let Some(reading) = &self.reading {
            let at = reading.open.at;
            return Ok(self.commit_reading(at));
        }
        if self.changing.is_some() {
            self.release_to(0);
            let outcome = self.commit_schema_block();
            self.end_block(outcome.is_ok());
            let (ts, logged) = outcome?;
            self.last_commit = Some((ts, logged));
            self.pending.add(self.ticket(ts, logged));
            return Ok(done("COMMIT"));
        }
        if !self.used {
            // It has neither read nor written: it need not wait for a change of the schema.
            let schema = self.schema.clone();
            self.release_to(0);
            self.abandon(&schema);
            self.speak(self.engine.clock.now());
            self.engine.counters.commit(self.worker);
            self.end_block(true);
            return Ok(done("COMMIT"));
        }
        let mut outcome = Ok(());
        self.release_to(0);
        let mut backoff = self.backoff();
        let mut until = None;
        let committed = loop {
            let entered = self.go_in();
            let committed = match entered {
                Err(error) => Err(Interrupt::Error(error)),
                Ok(()) if self.is_stale() && !self.follow() => Err(Interrupt::Error(schema_changed())),
                // What does not hold is found before rows are locked and the log's epoch is kept open for it.
                Ok(()) => {
                    let schema = self.schema.clone();
                    match self.txn.validate(&schema.tables) {
                        true => self.commit(&schema, LogAs::Values),
                        false => Err(Interrupt::Conflict(Conflict::Validation)),
                    }
                }
            };
            // Somebody holds what it needs for a moment: that fails no block.
            if !matches!(committed, Err(Interrupt::Conflict(Conflict::Locked))) {
                break committed;
            }
            let patience = || self.lock_deadline().unwrap_or_else(|| Instant::now() + COMMIT_PATIENCE);
            if Instant::now() >= *until.get_or_insert_with(patience) {
                break committed;
            }
            self.leave();
            if let Err(error) = self.check_cancelled() {
                break Err(Interrupt::Error(error));
            }
            self.wait_to_retry(&mut backoff);
        };
        let ticket = match committed {
            Ok((ts, logged)) => {
                self.engine.counters.commit(self.worker);
                Some(self.ticket(ts, logged))
            }
            Err(interrupt) => {
                let schema = self.schema.clone();
                self.txn.abort(&schema.tables);
                outcome = Err(match interrupt {
                    Interrupt::Conflict(cause) => {
                        self.engine.counters.abort(self.worker, cause);
                        not_serialized()
                    }
                    other => other.into(),
                });
                None
            }
        };
        self.leave();
        self.end_block(outcome.is_ok());
        outcome?;
        if let Some(ticket) = ticket {
            self.pending.add(ticket);
        }
        Ok(done("COMMIT"))
    }

    fn roll_back(&mut self) {
        if matches!(self.block, Block::None) {
            return;
        }
        if self.reading.is_none() {
            let schema = self.schema.clone();
            self.abandon(&schema);
        }
        self.end_block(false);
    }

    /// The end of a statement whose caller hears of it when it is durable.
    pub(crate) fn finish<T>(&mut self, outcome: Result<T>) -> Result<T> {
        let outcome = self.fail_block_on_error(outcome);
        let (answer, ticket) = self.with_ticket(outcome)?;
        self.until_durable(&ticket)?;
        Ok(answer)
    }

    /// The end of a statement whose caller waits for the disk later: with what it waits for. Who hears of an error hears of it
    /// when that is on disk which was committed before, and stays.
    pub(crate) fn with_ticket<T>(&mut self, outcome: Result<T>) -> Result<(T, Ticket)> {
        let ticket = self.pending.take();
        match outcome {
            Ok(answer) => Ok((answer, ticket)),
            Err(error) => {
                self.until_durable(&ticket)?;
                Err(error)
            }
        }
    }

    /// Returns when it is on disk. Who is cancelled, or out of time, while there is no room there, hears that he
    /// waits no longer.
    pub(crate) fn until_durable(&mut self, ticket: &Ticket) -> Result<()> {
        let cancel = &self.cancel;
        if !ticket.wait_unless(&mut || cancel.is_due())? {
            let notice = Ticket::given_up(self.cancel.why());
            self.notices.push(notice);
        }
        Ok(())
    }

    /// The end of a statement: one that fails fails its transaction block.
    pub(crate) fn fail_block_on_error<T>(&mut self, outcome: Result<T>) -> Result<T> {
        self.settle_locks();
        if let (Err(error), Block::Open) = (&outcome, &self.block) {
            self.block_failed(error.is_conflict());
        }
        outcome
    }

    /// The open block can only be rolled back; if it is `doomed`, only as a whole. What cannot come back
    /// lets go of its claims at once.
    pub(crate) fn block_failed(&mut self, doomed: bool) {
        self.block = Block::Failed;
        self.doomed |= doomed;
        if self.doomed || self.savepoints.is_empty() {
            if let Some(reading) = &mut self.reading {
                reading.exports.end();
            }
            let schema = self.schema.clone();
            self.abandon(&schema);
            self.show_moment();
            self.end_locks();
        } else if let Some(mark) = self.savepoints.last() {
            self.release_locks_to(mark.locks);
        }
    }

    /// Runs `f`, the whole of a statement, in the open transaction block: again if it meets others and what
    /// the block read before still holds. A failure fails the block.
    pub(crate) fn in_block(&mut self, f: impl FnMut(&mut Self) -> Result<(), Interrupt>) -> Result<()> {
        self.in_block_unless_outdated(false, f).map(|_| ())
    }

    /// The same. Where the code of the statement turns out to be for a schema of before, and nothing has been run of it, whoever
    /// `compiles` it anew is told so (false), and the block goes on.
    pub(crate) fn in_block_unless_outdated(
        &mut self,
        compiles: bool,
        mut f: impl FnMut(&mut Self) -> Result<(), Interrupt>,
    ) -> Result<bool> {
        (self.used, self.pure) = (true, false);
        self.share.begin_statement();
        self.inputs.begin_statement();
        self.own_locks.begin();
        self.said.begin();
        self.deferred.begin();
        if self.reading.is_some() {
            let outcome = self.in_snapshot(f).map_err(Error::from);
            self.follow_role();
            return self.fail_block_on_error(outcome).map(|()| true);
        }
        let notices = self.notices.len();
        let mut backoff = self.backoff();
        if let Err(error) = self.go_in() {
            return self.fail_block_on_error(Err(error)).map(|()| true);
        }
        let schema = self.schema.clone();
        if self.changing.is_none() {
            self.txn.begin_statement();
            self.show_moment();
        }
        (self.compiled_for, self.outdated) = (None, false);
        let outcome = loop {
            if self.is_stale() && !self.follow_with_code() {
                if compiles && self.follow() {
                    self.leave();
                    return Ok(false);
                }
                break Err(schema_changed());
            }
            let point = self.txn.point();
            let done = f(self).and_then(|()| self.check_immediate(&schema));
            if std::mem::take(&mut self.outdated) && compiles && done.is_err() {
                self.compiled_for = None;
                self.txn.go_back(point, &schema.tables);
                self.txn.pass(point);
                self.end_statement_of_cursors(false);
                self.leave();
                return Ok(false);
            }
            let done = match self.compiled_for.take() {
                // It has not said what it touches.
                Some((_, false)) if done.is_ok() => Err(schema_changed().into()),
                _ => done,
            };
            let cause = match done.map_err(|i| self.believable(i)) {
                Ok(()) if self.txn.is_behind() => Conflict::Past,
                Ok(()) => match self.txn.end_statement(&schema.tables) {
                    Ok(()) => {
                        self.txn.pass(point);
                        break Ok(());
                    }
                    Err(conflict) => {
                        self.engine.counters.abort(self.worker, conflict);
                        self.txn.go_back(point, &schema.tables);
                        break Err(not_serialized());
                    }
                },
                Err(Interrupt::Error(_)) if self.txn.is_behind() => Conflict::Past,
                Err(Interrupt::Conflict(cause)) if cause.is_retryable() => cause,
                Err(other) => break Err(other.into()),
            };
            self.engine.counters.abort(self.worker, cause);
            self.txn.go_back(point, &schema.tables);
            self.end_statement_of_cursors(false);
            let moves_on = |s: &mut Self| s.txn.move_on(&schema.tables, cause);
            if !moves_on(self) || backoff.attempts() >= ATTEMPTS_MAX {
                break Err(if cause == Conflict::Past { cause.into() } else { not_serialized() });
            }
            self.txn.pass(point);
            self.notices.truncate(notices);
            self.rows.clear();
            self.sunk = 0;
            self.own_locks.take_back();
            self.said.take_back();
            self.deferred.take_back();
            if cause == Conflict::Claimed && self.changing.is_some() {
                break Err(key_of_another());
            } else if cause == Conflict::Claimed {
                self.leave();
                let waited = self.await_claim().and_then(|waited| self.go_in().map(|()| waited));
                match waited {
                    // It may have waited for what it read before.
                    Ok(Ok(())) if !moves_on(self) => break Err(not_serialized()),
                    Ok(Ok(())) => {}
                    Ok(Err(ring)) => break Err(self.deadlock(&ring)),
                    Err(error) => break Err(error),
                }
            } else if let Err(error) = self.check_cancelled() {
                break Err(error);
            } else {
                self.wait_to_retry(&mut backoff);
            }
        };
        self.end_statement_of_cursors(outcome.is_ok());
        self.follow_role();
        let base = self.changing.as_ref().map_or_else(|| schema.clone(), |block| block.base.clone());
        let logged = self.log_sequences(&|sequence| base.shares_sequence(&schema, sequence));
        self.leave();
        self.show_moment();
        self.fail_block_on_error(outcome.and(logged)).map(|()| true)
    }

    /// Others can see since when old versions are kept for the block.
    fn show_moment(&self) {
        self.engine.block_moments.show(self.worker, self.txn.moment(), self.inputs.statement());
    }
}
