//! COMMIT and ROLLBACK in a body that is carried out by steps, and which handler catches an error.
//!
//! What was committed stays, whatever becomes of the rest: its ticket is among the session's
//! [pending](crate::ticket::Pending) ones until the statement is answered, well or with an error.

use super::Steps;
use super::ground::Ground;
use planaria_base::{Error, Isolation, Result, SqlState};
use planaria_ir::Catch;
use planaria_sql::lower;
use planaria_syntax::ast::Transaction;
use planaria_syntax::ast::plpgsql::PlHandler;

impl Steps<'_> {
    /// Whether it has ended a transaction: then it cannot be done again from its beginning.
    pub(super) fn has_ended(&self) -> bool {
        self.ends.is_some_and(|ends| ends > 0)
    }

    /// Ends the transaction, and begins the next. 2D000 where it is somebody else's.
    pub(super) fn end_transaction(&mut self, ends: &Transaction) -> Result<()> {
        let refused = |message: &str| Err(Error::new(SqlState::new("2D000"), message));
        let commits = matches!(ends, Transaction::Commit | Transaction::CommitAndChain);
        let (Some(count), Ground::Session(session, _)) = (self.ends.as_mut(), &mut self.ground) else {
            return refused("invalid transaction termination");
        };
        if self.guarded > 0 {
            return refused(match commits {
                true => "cannot commit while a subtransaction is active",
                false => "cannot roll back while a subtransaction is active",
            });
        }
        *count += 1;
        session.transaction_control(if commits { &Transaction::Commit } else { &Transaction::Rollback })?;
        let begins = Transaction::Begin { read_only: None, isolation: Some(Isolation::Serializable) };
        session.transaction_control(&begins)?;
        Ok(())
    }
}

/// The handler that catches an error. What nothing but the whole transaction, run again, mends is never caught.
pub(super) fn handler_of<'h>(handlers: &'h [PlHandler], error: &Error) -> Result<Option<&'h PlHandler>> {
    if error.is_conflict() {
        return Ok(None);
    }
    let state = error.sqlstate();
    let uncaught = [SqlState::QUERY_CANCELED, SqlState::new("P0004")].contains(&state);
    for handler in handlers {
        for condition in &handler.conditions {
            let catches = match lower::plpgsql::catch(condition)? {
                Catch::Others => !uncaught,
                Catch::State(wanted) => {
                    wanted == state || wanted.0[2..] == *b"000" && wanted.class() == state.class()
                }
            };
            if catches {
                return Ok(Some(handler));
            }
        }
    }
    Ok(None)
}
