//! Planaria for programs on tokio: statements, calls and transactions to await.
//!
//! ```
//! # #[tokio::main] async fn main() -> planaria_tokio::Result<()> {
//! use planaria_tokio::Database;
//! let db = Database::new(planaria::Database::in_memory()?);
//! db.execute_script("CREATE TABLE t (id int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 1)").await?;
//! let n = db
//!     .transaction(async |tx| {
//!         tx.execute("UPDATE t SET n = n + $1", (41,)).await?;
//!         let (n,): (i32,) = tx.query_one("SELECT n FROM t WHERE id = $1", (1,)).await?;
//!         Ok(n)
//!     })
//!     .await?;
//! assert_eq!(n, 42);
//! # Ok(()) }
//! ```
//!
//! How it works: a pool of sessions (`pool`), each used by one task at a time, and the threads that tokio has for what blocks.
//! A task that wants a session waits for one without a thread. Who calls a procedure waits for the disk without a thread or a
//! session, too.
//!
//! Dropping a future cancels what it waits for: the statement that runs ends as soon as it can (57014) and has done nothing, unless it
//! had committed before; a transaction is rolled back. What has not begun does not begin.
//!
//! What it does not do: a transaction of `planaria` itself stays on its thread, which those here do not; so the error for
//! who waits for himself is not known here. Use `tx`, not `db`, within a transaction.

mod pool;
mod statements;
mod stream;
mod transaction;

pub use planaria::{Error, FromRow, Listener, Notification, Params, Result, Row, Rows, Session, SqlState};
pub use stream::RowStream;
pub use transaction::Transaction;

use pool::Pool;
use statements::statements;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Sessions of a pool, unless it is told otherwise.
pub const SESSIONS: usize = 128;
/// Attempts of a transaction that cannot be serialized.
const ATTEMPTS_MAX: u32 = 1000;
/// The longest pause between attempts.
const PAUSE_MAX: Duration = Duration::from_millis(50);

/// A database, for tasks. Clones are handles to the same one.
#[derive(Clone, Debug)]
pub struct Database {
    pool: Arc<Pool>,
}

impl Database {
    /// Of a database that is open, with a pool of [`SESSIONS`].
    pub fn new(database: planaria::Database) -> Database {
        Database::with_sessions(database, SESSIONS)
    }

    /// The same with so many sessions, at least one: so many statements run at the same time.
    pub fn with_sessions(database: planaria::Database, sessions: usize) -> Database {
        Database { pool: Arc::new(Pool::new(database, sessions.max(1))) }
    }

    /// Opens the database in a directory, and recovers it, on a thread of its own.
    pub async fn open(path: impl AsRef<Path>) -> Result<Database> {
        Database::open_with(planaria::Options::new(), path).await
    }

    /// The same with options.
    pub async fn open_with(options: planaria::Options, path: impl AsRef<Path>) -> Result<Database> {
        let path = path.as_ref().to_owned();
        pool::on_a_thread(move || options.open(path)).await.map(Database::new)
    }

    /// The database itself, for what is not here. What it does blocks the thread.
    pub fn blocking(&self) -> &planaria::Database {
        self.pool.database()
    }

    /// Listens to channels (`NOTIFY`) from now on: await [`Listener::next`]. `LISTEN` is for a session of one's own; one of the pool
    /// forgets it when it goes back.
    ///
    /// ```
    /// # #[tokio::main] async fn main() -> planaria_tokio::Result<()> {
    /// let db = planaria_tokio::Database::new(planaria::Database::in_memory()?);
    /// let jobs = db.listen(["jobs"])?;
    /// db.execute("NOTIFY jobs, '17'", ()).await?;
    /// assert_eq!(jobs.next().await.map(|job| job.payload).as_deref(), Some("17"));
    /// # Ok(()) }
    /// ```
    pub fn listen<'c>(&self, channels: impl IntoIterator<Item = &'c str>) -> Result<Listener> {
        self.blocking().listen(channels)
    }

    /// Runs `work` with a session of the pool, on a thread that may block. Where this future is dropped, the statement that
    /// `work` is at is cancelled, not those that come after it. A transaction that it leaves open is rolled back.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Session) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let lent = self.pool.borrow().await?;
        let (lent, outcome) = lent.run(work).await?;
        drop(lent);
        outcome
    }

    statements!(self, &self);

    /// Runs a query whose rows come one by one, and are never all in memory: see [`Session::query_each`].
    pub async fn stream<T: FromRow + Send + 'static>(
        &self,
        sql: impl Into<String>,
        params: impl Params + Send + 'static,
    ) -> Result<RowStream<T>> {
        let lent = self.pool.borrow().await?;
        Ok(stream::begin(lent, sql.into(), params))
    }

    /// Calls a procedure or function as one transaction; returns when it is durable. The session is free as soon as the call
    /// has committed in memory.
    pub async fn call(&self, name: impl Into<String>, params: impl Params + Send + 'static) -> Result<Rows> {
        let name = name.into();
        let submitted = self.run(move |s| s.submit_call(&name, params)).await?;
        submitted.ticket.await?;
        Ok(submitted.rows)
    }

    /// Runs the statements of a script, each its own transaction unless the script says BEGIN.
    pub async fn execute_script(&self, sql: impl Into<String>) -> Result<()> {
        let sql = sql.into();
        self.run(move |s| {
            s.execute_script(&sql)?;
            transaction::check_closed(s)
        })
        .await
    }

    /// Begins a transaction, which is rolled back when it is dropped.
    pub async fn begin(&self) -> Result<Transaction> {
        Transaction::begin(self.pool.borrow().await?).await
    }

    /// Runs a transaction of several statements: commits when `body` returns, rolls back when it fails. Where it cannot be
    /// serialized (40001), or was chosen to end a deadlock (40P01), it is run again from its beginning, after a while that grows;
    /// so what `body` does beside the transaction may happen more than once. Returns when durable.
    pub async fn transaction<T>(
        &self,
        mut body: impl AsyncFnMut(&mut Transaction) -> Result<T>,
    ) -> Result<T> {
        let mut pause = Duration::from_micros(100);
        for _ in 1..ATTEMPTS_MAX {
            match self.attempt(&mut body).await {
                Err(e) if e.sqlstate().is_retryable() => tokio::time::sleep(pause).await,
                outcome => return outcome,
            }
            pause = (pause * 2).min(PAUSE_MAX);
        }
        self.attempt(&mut body).await
    }

    async fn attempt<T>(&self, body: &mut impl AsyncFnMut(&mut Transaction) -> Result<T>) -> Result<T> {
        let mut transaction = self.begin().await?;
        match body(&mut transaction).await {
            Ok(answer) => transaction.commit().await.map(|()| answer),
            Err(error) => {
                // What the transaction has locked is free when the next attempt begins.
                let _ = transaction.rollback().await;
                Err(error)
            }
        }
    }

    /// Closes the database for all its handles: see [`planaria::Database::close`].
    pub async fn close(self) -> Result<()> {
        let database = self.pool.database().clone();
        self.pool.forget();
        pool::on_a_thread(move || database.close()).await
    }
}
