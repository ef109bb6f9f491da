//! Rows as a stream.

use crate::pool::Lent;
use futures_core::Stream;
use planaria::{Error, FromRow, Params, Result, SqlState};
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// Rows that are on their way at most: who makes them waits for who takes them.
const AHEAD: usize = 64;

/// The rows of a query, as they are made. Dropping it ends the query.
#[derive(Debug)]
pub struct RowStream<T> {
    rows: mpsc::Receiver<Result<T>>,
}

impl<T> RowStream<T> {
    /// The next row; `None` at the end, and after an error.
    pub async fn next(&mut self) -> Option<Result<T>> {
        self.rows.recv().await
    }
}

impl<T> Stream for RowStream<T> {
    type Item = Result<T>;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<T>>> {
        self.rows.poll_recv(context)
    }
}

pub(crate) fn begin<T: FromRow + Send + 'static>(
    lent: Lent,
    sql: String,
    params: impl Params + Send + 'static,
) -> RowStream<T> {
    let (take, rows) = mpsc::channel(AHEAD);
    tokio::spawn(async move {
        let work = move |session: &mut planaria::Session| {
            let each = |row: T| {
                let nobody = || Error::new(SqlState::QUERY_CANCELED, "nobody takes the rows any more");
                take.blocking_send(Ok(row)).map_err(|_| nobody())
            };
            if let Err(error) = session.query_each(&sql, params, each) {
                // Nobody may be there to hear of it.
                let _ = take.blocking_send(Err(error));
            }
            Ok(())
        };
        drop(lent.run(work).await);
    });
    RowStream { rows }
}
