//! The database: opening, sessions, and the short way for single calls.

use crate::api::EngineHandle;
use crate::directory::{directory, directory_of_database};
use crate::from_row::FromRow;
use crate::opening::{open_engine, open_engine_over};
use crate::options::{Options, RecoveryReport};
use crate::owned::{Owned, caught};
use crate::params::Params;
use crate::row::Rows;
use crate::session::channels::Listener;
use crate::session::{Session, Transaction};
use crate::stats::{CheckpointReport, Stats};
use crate::trace;
use planaria_base::limits::ATTEMPTS_MAX;
use planaria_base::sync::Mutex;
use planaria_base::{Error, Result, SqlState};
use planaria_protocol::{Backoff, Hosted};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A database. Cheap to share: give each thread its own [`Session`], or call it directly, which
/// borrows a session from a pool.
///
/// ```
/// # fn main() -> planaria::Result<()> {
/// let db = planaria::Database::in_memory()?;
/// db.execute_script(
///     "CREATE TABLE t (id int PRIMARY KEY, n int NOT NULL);
///      CREATE FUNCTION put(p_id int, p_n int) RETURNS int LANGUAGE plpgsql AS $$
///      BEGIN
///          INSERT INTO t VALUES (p_id, p_n)
///          ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n
///          RETURNING n INTO p_n;
///          RETURN p_n;
///      END $$;",
/// )?;
/// db.call("put", (1, 40))?;
/// let answer = db.call("put", (1, 2))?;
/// assert_eq!(answer[0].get::<i32>(0)?, 42);
/// # Ok(()) }
/// ```
///
/// Clones are handles to the same database, which is closed when the last is gone, or by [`Database::close`].
#[derive(Clone)]
pub struct Database(Arc<Handle>);

/// What handles share.
struct Handle {
    engine: Owned<Arc<EngineHandle>>,
    pool: Mutex<Vec<Session>>,
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Database").finish_non_exhaustive()
    }
}

/// Nobody could read what comes for a session of the pool.
fn left_listening() -> Error {
    Error::new(
        SqlState::INVALID_PARAMETER_VALUE,
        "LISTEN was run through a database, which would hear nothing",
    )
    .with_hint("Use Database::listen, or open a session with Database::session.")
}

/// Of a statement that has begun a transaction on a session that nobody has.
fn left_open() -> Error {
    Error::new(
        SqlState::INVALID_TRANSACTION_STATE,
        "a transaction block was left open on a session that cannot be reached again; it was rolled back",
    )
    .with_detail("Each call of a Database may run on another session.")
    .with_hint("Use Database::transaction, or open a session with Database::session.")
}

impl Database {
    /// Opens the database in a directory with the default [`Options`]: made if it is not there,
    /// recovered if it is. Errors: 55006 where another process has it open, XX001 where its log is
    /// damaged (with file and offset).
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        Options::new().open(path)
    }

    /// A database without a directory; gone when dropped.
    pub fn in_memory() -> Result<Database> {
        Options::new().in_memory()
    }

    pub(crate) fn open_with(path: &Path, options: Options) -> Result<Database> {
        Database::open_device(directory_of_database(path)?, options)
    }

    pub(crate) fn open_device(device: Arc<dyn planaria_log::Device>, options: Options) -> Result<Database> {
        let place = device.describe("");
        Database::of(&place, || open_engine(Some(device), options))
    }

    pub(crate) fn in_memory_with(options: Options) -> Result<Database> {
        Database::of("memory", || open_engine(None, options))
    }

    pub(crate) fn in_memory_over<P: Hosted>(options: Options) -> Result<Database> {
        Database::of("memory", || open_engine_over::<P>(None, options))
    }

    pub(crate) fn open_device_over<P: Hosted>(
        device: Arc<dyn planaria_log::Device>,
        options: Options,
    ) -> Result<Database> {
        let place = device.describe("");
        Database::of(&place, || open_engine_over::<P>(Some(device), options))
    }

    pub(crate) fn of(place: &str, open: impl FnOnce() -> Result<Arc<EngineHandle>>) -> Result<Database> {
        let engine = trace::open(place, || caught(open), |engine| engine.recovery())?;
        let engine = Owned::new(Box::new(engine));
        Ok(Database(Arc::new(Handle { engine, pool: Mutex::new(Vec::new()) })))
    }

    pub(crate) fn engine(&self) -> &Arc<EngineHandle> {
        &self.0.engine
    }

    /// A new session. 53300 where all slots are taken.
    pub fn session(&self) -> Result<Session> {
        caught(|| Ok(Session::new(self.0.engine.session()?)))
    }

    /// Listens to channels (`NOTIFY`) from now on, without a session: see [`Listener`].
    pub fn listen<'c>(&self, channels: impl IntoIterator<Item = &'c str>) -> Result<Listener> {
        Listener::new(self.0.engine.channels(), channels)
    }

    /// A new session of a role, as if it had logged in: what it may not do is refused. 28000 where the
    /// role does not exist or may not log in. [`Database::session`] is the first superuser's, who need not
    /// log in: whoever opens the database has its files.
    pub fn session_as(&self, role: &str) -> Result<Session> {
        let mut session = self.session()?;
        session.log_in_as(role)?;
        Ok(session)
    }

    /// Runs `f` with a session of the pool.
    fn with_session<T>(&self, f: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        // Who had the pool when the process was copied has it there for good.
        self.0.engine.check_process()?;
        let pooled = self.0.pool.lock().pop();
        let mut session = match pooled {
            Some(session) => session,
            None => self.session()?,
        };
        let outcome = f(&mut session);
        if session.in_transaction() {
            // Nobody could get at it any more: dropped, which rolls it back.
            drop(session);
            return outcome.and_then(|_| Err(left_open()));
        }
        if !session.channels().is_empty() {
            drop(session);
            return outcome.and_then(|_| Err(left_listening()));
        }
        if !session.has_panicked() {
            self.0.pool.lock().push(session);
        }
        outcome
    }

    /// Runs a transaction of several statements: commits when `body` returns, rolls back when it fails. Where the
    /// transaction cannot be serialized (40001), or was chosen to end a deadlock (40P01), it is run again from its
    /// beginning, after a while that grows; so what `body` does beside the transaction may happen more than once. Returns
    /// when durable. That error is returned after 1,000 attempts.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// db.execute_script("CREATE TABLE account (id int PRIMARY KEY, balance int); INSERT INTO account VALUES (1, 50), (2, 0)")?;
    /// let left = db.transaction(|tx| {
    ///     tx.execute("UPDATE account SET balance = balance - 40 WHERE id = $1", (1,))?;
    ///     tx.execute("UPDATE account SET balance = balance + 40 WHERE id = $1", (2,))?;
    ///     tx.query("SELECT balance FROM account WHERE id = 1", ())?[0].get::<i32>(0)
    /// })?;
    /// assert_eq!(left, 10);
    /// # Ok(()) }
    /// ```
    pub fn transaction<T>(&self, mut body: impl FnMut(&mut Transaction<'_>) -> Result<T>) -> Result<T> {
        self.with_session(|session| {
            let mut backoff = Backoff::new(std::ptr::from_ref(session).addr() as u64);
            loop {
                let mut transaction = session.transaction()?;
                let outcome = body(&mut transaction).and_then(|answer| transaction.commit().map(|()| answer));
                match outcome {
                    Err(e) if e.sqlstate().is_retryable() && backoff.attempts() < ATTEMPTS_MAX => {
                        backoff.wait();
                    }
                    outcome => return outcome,
                }
            }
        })
    }

    /// Calls a procedure or function as one transaction; returns when it is durable. The answer is
    /// one row of INOUT and OUT parameters, one row with the function's value, or a set-returning
    /// function's rows.
    pub fn call(&self, name: &str, params: impl Params) -> Result<Rows> {
        self.with_session(|s| s.call(name, params))
    }

    /// Runs one statement; returns the number of rows it affected (or returned). 25000 for BEGIN: see
    /// [`Database::transaction`].
    pub fn execute(&self, sql: &str, params: impl Params) -> Result<u64> {
        self.with_session(|s| s.execute(sql, params))
    }

    /// Runs one statement; returns its rows.
    pub fn query(&self, sql: &str, params: impl Params) -> Result<Rows> {
        self.with_session(|s| s.query(sql, params))
    }

    /// Runs one statement; returns its rows as values of `T`: tuples, or what derives [`FromRow`].
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// db.execute_script("CREATE TABLE t (id int PRIMARY KEY, name text); INSERT INTO t VALUES (1, 'one'), (2, NULL)")?;
    /// let all: Vec<(i32, Option<String>)> = db.query_as("SELECT id, name FROM t ORDER BY id", ())?;
    /// assert_eq!(all, [(1, Some("one".to_owned())), (2, None)]);
    /// let (count,): (i64,) = db.query_one("SELECT count(*) FROM t", ())?;
    /// assert_eq!(count, 2);
    /// # Ok(()) }
    /// ```
    pub fn query_as<T: FromRow>(&self, sql: &str, params: impl Params) -> Result<Vec<T>> {
        self.with_session(|s| s.query_as(sql, params))
    }

    /// The same of one row: P0002 where there is none, P0003 where there are several.
    pub fn query_one<T: FromRow>(&self, sql: &str, params: impl Params) -> Result<T> {
        self.with_session(|s| s.query_one(sql, params))
    }

    /// The same of one row or none: P0003 where there are several.
    pub fn query_optional<T: FromRow>(&self, sql: &str, params: impl Params) -> Result<Option<T>> {
        self.with_session(|s| s.query_optional(sql, params))
    }

    /// Runs a query and hands on its rows one by one: see [`Session::query_each`].
    pub fn query_each<T: FromRow>(
        &self,
        sql: &str,
        params: impl Params,
        f: impl FnMut(T) -> Result<()>,
    ) -> Result<u64> {
        self.with_session(|s| s.query_each(sql, params, f))
    }

    /// Runs the statements of a script, each its own transaction unless the script says BEGIN. 25000 if a block is open
    /// at its end.
    pub fn execute_script(&self, sql: &str) -> Result<()> {
        self.with_session(|s| s.execute_script(sql))
    }

    /// Counters and memory.
    pub fn stats(&self) -> Stats {
        self.0.engine.stats()
    }

    /// What recovery did when this database was opened; `None` where there was nothing to recover.
    pub fn recovery(&self) -> Option<RecoveryReport> {
        self.0.engine.recovery()
    }

    /// A digest of each table's rows (its name first), in order of the names: equal for equal
    /// contents, whatever the order the rows came in. Takes the database for itself meanwhile.
    pub fn digests(&self) -> Result<Vec<(String, u128)>> {
        caught(|| self.0.engine.digests())
    }

    /// Checks that every row stands in every index once, under its key, and nothing else does; XX001
    /// names the table and says what is wrong. Takes the database for itself meanwhile.
    pub fn check(&self) -> Result<()> {
        caught(|| self.0.engine.check())
    }

    /// Writes a checkpoint: all rows as of now, from which a recovery begins from then on; then deletes the
    /// log before it. Transactions go on meanwhile (under protocol `serial` they wait). After an error the
    /// checkpoint before, and the log after it, are as they were: 53100 where the disk is full.
    pub fn checkpoint(&self) -> Result<CheckpointReport> {
        caught(|| self.0.engine.checkpoint(Duration::ZERO))
    }

    /// The same, spread over about so much time, so that the cores are left to transactions, as they are by
    /// checkpoints that come by themselves. At full speed from when somebody else asks for a checkpoint.
    pub fn checkpoint_over(&self, time: Duration) -> Result<CheckpointReport> {
        caught(|| self.0.engine.checkpoint(time))
    }

    /// Writes all rows as of now into another directory, empty or not there yet, from which they can be
    /// restored: a database that is opened there is this one as it was. Transactions go on meanwhile, as for a checkpoint.
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<CheckpointReport> {
        caught(|| self.0.engine.backup(directory(path.as_ref())?, None))
    }

    /// Returns when everything committed so far is on disk, whatever the durability; at once where
    /// nothing is logged.
    pub fn flush(&self) -> Result<()> {
        self.0.engine.flush()
    }

    /// Writes out the log (and before that a checkpoint, with [`Options::checkpoint_on_close`]), syncs it and
    /// closes the database, for all its handles; sessions still open hear 57P01, whatever they do next or wait for.
    /// Dropping the last handle does the same but cannot report an error.
    pub fn close(self) -> Result<()> {
        self.0.engine.check_process()?;
        self.0.pool.lock().clear();
        let outcome = caught(|| self.0.engine.close());
        trace::closed(&outcome);
        outcome
    }
}
