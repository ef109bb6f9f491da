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
/// Parameters (`$1`, `$2`, or `:name`) go as a tuple, a slice, [`params!`](crate::params!) or [`named!`](crate::named!): see
/// [`Params`](trait@Params). Each call is a transaction of its own, serializable among all others, and repeated inside where
/// it has met them; when it returns, it is as durable as [`Options::durability`] says. [`Database::transaction`] makes several
/// statements one.
///
/// Errors are those of PostgreSQL, by their [`SqlState`]. Beside what a method names, all of them may say: 57P01, the database is
/// closed; 55000, this process is a copy of the one that opened it; 53200, the memory budget is used up; 58030 or 53100, the
/// log cannot be written; XX000, the engine panicked (the session is given up, the database goes on).
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
    /// damaged (with file and offset), 55000 where the directory holds something else.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// use planaria::Database;
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("shop");
    /// let db = Database::open(&path)?;
    /// db.execute_script("CREATE TABLE t (n int); INSERT INTO t VALUES (42)")?;
    /// db.close()?;
    ///
    /// let again = Database::open(&path)?; // recovered
    /// assert_eq!(again.query("SELECT n FROM t", ())?[0].get::<i32>(0)?, 42);
    /// # Ok(()) }
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Database> {
        Options::new().open(path)
    }

    /// A database without a directory; gone when dropped. Everything but durability is the same, so tests use it.
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

    /// A new session, for one thread: it keeps what it has prepared, its settings and its temporary tables from call to call.
    /// 53300 where all slots are taken.
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
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// db.execute_script("CREATE TABLE t (n int); CREATE ROLE reader LOGIN; GRANT SELECT ON t TO reader")?;
    /// let mut session = db.session_as("reader")?;
    /// assert!(session.query("SELECT * FROM t", ())?.is_empty());
    /// let refused = session.execute("DELETE FROM t", ()).unwrap_err();
    /// assert_eq!(refused.sqlstate(), planaria::SqlState::INSUFFICIENT_PRIVILEGE);
    /// # Ok(()) }
    /// ```
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
    /// when durable. That error is returned after 1,000 attempts. 25P02 where a statement had failed and `body` returned all the
    /// same.
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
    /// function's rows. 42883 where no routine of that name takes so many arguments, or those names; 42725 where several do; and what
    /// the routine raises.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// db.execute_script(
    ///     "CREATE FUNCTION area(width int, height int DEFAULT 1) RETURNS int LANGUAGE sql AS 'SELECT width * height'",
    /// )?;
    /// assert_eq!(db.call("area", (6, 7))?[0].get::<i32>(0)?, 42);
    /// assert_eq!(db.call("area", planaria::named! { width: 5 })?[0].get::<i32>(0)?, 5);
    /// # Ok(()) }
    /// ```
    pub fn call(&self, name: &str, params: impl Params) -> Result<Rows> {
        self.with_session(|s| s.call(name, params))
    }

    /// Runs one statement; returns the number of rows it affected (or returned). 25000 for BEGIN: see
    /// [`Database::transaction`]. 42601 where the text is not one statement.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// use planaria::{SqlState, named};
    /// let db = planaria::Database::in_memory()?;
    /// db.execute("CREATE TABLE item (id int PRIMARY KEY, name text)", ())?;
    /// assert_eq!(db.execute("INSERT INTO item VALUES ($1, $2), ($3, $4)", (1, "lamp", 2, None::<&str>))?, 2);
    /// assert_eq!(db.execute("UPDATE item SET name = :name WHERE id = :id", named! { id: 2, name: "chair" })?, 1);
    ///
    /// let error = db.execute("INSERT INTO item VALUES (1, 'desk')", ()).unwrap_err();
    /// assert_eq!(error.sqlstate(), SqlState::UNIQUE_VIOLATION);
    /// assert_eq!(error.detail(), Some("Key (id)=(1) already exists."));
    /// # Ok(()) }
    /// ```
    pub fn execute(&self, sql: &str, params: impl Params) -> Result<u64> {
        self.with_session(|s| s.execute(sql, params))
    }

    /// Runs one statement; returns its rows, all in memory: see [`Database::query_each`] for many. None where the statement has
    /// none.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// let rows = db.query("SELECT n, n * n AS square FROM generate_series(1, $1) n", (3,))?;
    /// for row in &rows {
    ///     let (n, square) = (row.get::<i32>("n")?, row.get::<i32>(1)?);
    ///     assert_eq!(square, n * n);
    /// }
    /// assert_eq!(rows.len(), 3);
    /// # Ok(()) }
    /// ```
    pub fn query(&self, sql: &str, params: impl Params) -> Result<Rows> {
        self.with_session(|s| s.query(sql, params))
    }

    /// Runs one statement; returns its rows as values of `T`: tuples, or what derives [`FromRow`](trait@FromRow).
    /// 42804 where a column is of another type than `T` takes, 22004 where it is NULL and `T` takes none, 42703 where there is
    /// none of that name.
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

    /// [`Database::query_as`] of one row: P0002 where there is none, P0003 where there are several.
    pub fn query_one<T: FromRow>(&self, sql: &str, params: impl Params) -> Result<T> {
        self.with_session(|s| s.query_one(sql, params))
    }

    /// [`Database::query_as`] of one row or none: P0003 where there are several.
    pub fn query_optional<T: FromRow>(&self, sql: &str, params: impl Params) -> Result<Option<T>> {
        self.with_session(|s| s.query_optional(sql, params))
    }

    /// Runs a query and hands on its rows one by one, so that they are never all in memory; returns how many there were. It
    /// reads the database as it was when it began: 25006 for what changes something. An error of `f` ends it, and is returned.
    /// See [`Session::query_each`].
    pub fn query_each<T: FromRow>(
        &self,
        sql: &str,
        params: impl Params,
        f: impl FnMut(T) -> Result<()>,
    ) -> Result<u64> {
        self.with_session(|s| s.query_each(sql, params, f))
    }

    /// Runs the statements of a script, each its own transaction unless the script says BEGIN. Stops at the first error; what
    /// was committed before it stays. 25000 if a block is open at its end.
    pub fn execute_script(&self, sql: &str) -> Result<()> {
        self.with_session(|s| s.execute_script(sql))
    }

    /// Counters since it was opened, memory, checkpoints, and how long opening it again would take. Cheap enough to ask each second.
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

    /// [`Database::checkpoint`] spread over about so much time, so that the cores are left to transactions, as they are by
    /// checkpoints that come by themselves. At full speed from when somebody else asks for a checkpoint.
    pub fn checkpoint_over(&self, time: Duration) -> Result<CheckpointReport> {
        caught(|| self.0.engine.checkpoint(time))
    }

    /// Writes all rows as of now into another directory, empty or not there yet, from which they can be
    /// restored: a database that is opened there is this one as it was. Transactions go on meanwhile, as for a checkpoint.
    /// 58P02 where the directory is not empty, 53100 where its disk is full. With the log that follows, see
    /// [`checkpoint::Restore`](crate::checkpoint::Restore), any moment since can be restored.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// # let directory = tempfile::tempdir().unwrap();
    /// # let path = directory.path().join("backup");
    /// let db = planaria::Database::in_memory()?;
    /// db.execute_script("CREATE TABLE t (n int); INSERT INTO t VALUES (1)")?;
    /// db.backup(&path)?;
    /// db.execute("DELETE FROM t", ())?;
    ///
    /// let copy = planaria::Database::open(&path)?;
    /// assert_eq!(copy.query_one::<(i32,)>("SELECT n FROM t", ())?, (1,));
    /// # Ok(()) }
    /// ```
    pub fn backup(&self, path: impl AsRef<Path>) -> Result<CheckpointReport> {
        caught(|| self.0.engine.backup(directory(path.as_ref())?, None))
    }

    /// Returns when everything committed so far is on disk, whatever the durability; at once where
    /// nothing is logged. 58030 or 53100 where the log failed.
    pub fn flush(&self) -> Result<()> {
        self.0.engine.flush()
    }

    /// Writes out the log (and before that a checkpoint, with [`Options::checkpoint_on_close`]), syncs it and
    /// closes the database, for all its handles; sessions still open hear 57P01, whatever they do next or wait for.
    /// Dropping the last handle does the same but cannot report an error: 58030 or 53100, where something could not be written.
    pub fn close(self) -> Result<()> {
        self.0.engine.check_process()?;
        self.0.pool.lock().clear();
        let outcome = caught(|| self.0.engine.close());
        trace::closed(&outcome);
        outcome
    }
}
