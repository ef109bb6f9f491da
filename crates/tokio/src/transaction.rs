//! Transactions that a task has open.

use crate::pool::Lent;
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

    /// Runs one statement; returns the number of rows affected or returned.
    pub async fn execute(
        &mut self,
        sql: impl Into<String>,
        params: impl Params + Send + 'static,
    ) -> Result<u64> {
        let sql = sql.into();
        self.run(move |s| s.execute(&sql, params)).await
    }

    /// Runs one statement; returns its rows.
    pub async fn query(
        &mut self,
        sql: impl Into<String>,
        params: impl Params + Send + 'static,
    ) -> Result<Rows> {
        let sql = sql.into();
        self.run(move |s| s.query(&sql, params)).await
    }

    /// The same as values of `T`.
    pub async fn query_as<T: FromRow + Send + 'static>(
        &mut self,
        sql: impl Into<String>,
        params: impl Params + Send + 'static,
    ) -> Result<Vec<T>> {
        let sql = sql.into();
        self.run(move |s| s.query_as(&sql, params)).await
    }

    /// The same of one row: P0002 where there is none, P0003 where there are several.
    pub async fn query_one<T: FromRow + Send + 'static>(
        &mut self,
        sql: impl Into<String>,
        params: impl Params + Send + 'static,
    ) -> Result<T> {
        let sql = sql.into();
        self.run(move |s| s.query_one(&sql, params)).await
    }

    /// The same of one row or none: P0003 where there are several.
    pub async fn query_optional<T: FromRow + Send + 'static>(
        &mut self,
        sql: impl Into<String>,
        params: impl Params + Send + 'static,
    ) -> Result<Option<T>> {
        let sql = sql.into();
        self.run(move |s| s.query_optional(&sql, params)).await
    }

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
