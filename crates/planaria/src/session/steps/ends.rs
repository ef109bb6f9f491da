//! COMMIT and ROLLBACK in a body that is carried out by steps.

use super::Steps;
use super::ground::Ground;
use planaria_base::{Error, Isolation, Result, SqlState};
use planaria_syntax::ast::Transaction;

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
