//! Transactions that a task has open.

use crate::pool::Lent;
use crate::statements::statements;
use planaria::{Error, FromRow, Params, Result, Rows, Session, SqlState};

/// An open transaction; rolled back when dropped without [`Transaction::commit`].
pub struct Transaction {
    /// There, unless a statement was not waited for.
    lent: Option<Lent>,
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").finish_non_exhaustive()
    }
}

/// 25000 where a script has left a transaction open, which is rolled back.
pub(crate) fn check_closed(session: &mut Session) -> Result<()> {
    if !session.in_transaction() {
        return Ok(());
    }
    session.execute("ROLLBACK", ())?;
    Err(Error::new(
        SqlState::INVALID_TRANSACTION_STATE,
        "the script has left a transaction open; it was rolled back",
    ))
}

impl Transaction {
    pub(crate) async fn begin(lent: Lent) -> Result<Transaction> {
        let mut transaction = Transaction { lent: Some(lent) };
        transaction.run(|s| s.execute("BEGIN", ())).await?;
        Ok(transaction)
    }

    /// Runs `work` in the transaction, on a thread that may block. Where this future is dropped, the transaction is rolled back.
    pub async fn run<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Session) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let Some(lent) = self.lent.take() else {
            return Err(Error::new(
                SqlState::IN_FAILED_SQL_TRANSACTION,
                "the transaction was rolled back, as one of its statements was not waited for",
            ));
        };
        let (lent, outcome) = lent.run(work).await?;
        self.lent = Some(lent);
        outcome
    }

    statements!(self, &mut self);

    /// Calls a procedure or function within the transaction.
    pub async fn call(
        &mut self,
        name: impl Into<String>,
        params: impl Params + Send + 'static,
    ) -> Result<Rows> {
        let name = name.into();
        self.run(move |s| s.call(&name, params)).await
    }

    /// Commits; returns when durable. 40001 where the transaction cannot be serialized: begin again.
    pub async fn commit(mut self) -> Result<()> {
        self.run(|s| {
            let mut tag = String::new();
            s.execute_each("COMMIT", &mut |answer| tag = answer.tag).map_err(|(error, _)| error)?;
            match &*tag {
                "ROLLBACK" => Err(Error::new(
                    SqlState::IN_FAILED_SQL_TRANSACTION,
                    "the transaction had failed and was rolled back",
                )),
                _ => Ok(()),
            }
        })
        .await
    }

    /// Rolls back.
    pub async fn rollback(mut self) -> Result<()> {
        self.run(|s| s.execute("ROLLBACK", ()).map(drop)).await
    }
}
