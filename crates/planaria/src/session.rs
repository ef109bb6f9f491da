//! A session: statements, calls, transactions of one thread.

pub(crate) mod answer;
pub(crate) mod beside;
pub(crate) mod bind;
pub(crate) mod block;
pub(crate) mod cache;
pub(crate) mod changing;
pub(crate) mod channels;
pub(crate) mod constraints;
pub(crate) mod copy_triggers;
pub(crate) mod core;
pub(crate) mod current_of;
mod deferred;
pub(crate) mod deferred_triggers;
pub(crate) mod explain;
mod explain_formats;
pub(crate) mod explain_recovery;
pub(crate) mod fetch;
pub(crate) mod given;
pub(crate) mod healing;
pub(crate) mod importing;
pub(crate) mod in_time;
pub(crate) mod kept;
pub(crate) mod locking;
pub(crate) mod named;
pub(crate) mod origin;
mod overtaking;
pub(crate) mod path;
pub(crate) mod pauses;
pub(crate) mod prepared;
pub(crate) mod queue;
pub(crate) mod reading;
pub(crate) mod record;
pub(crate) mod rewrite;
pub(crate) mod role;
pub(crate) mod savepoint;
pub(crate) mod schema;
pub(crate) mod schema_block;
pub(crate) mod serve;
pub(crate) mod server_settings;
pub(crate) mod several;
pub(crate) mod statement;
pub(crate) mod steps;
pub(crate) mod styled;
pub(crate) mod temporary;
pub(crate) mod truncate;
pub(crate) mod user;
pub(crate) mod waiting;

use self::core::SessionCore;
use self::given::Given;
use crate::from_row::FromRow;
use crate::named::{self as by_name, InOrder};
use crate::notice::Notice;
use crate::owned::{Owned, caught};
use crate::params::Params;
use crate::row::Rows;
use crate::sink::Each;
use crate::statement::{Statement, TransactionStatus};
use crate::ticket::Ticket;
use arc_swap::ArcSwap;
use planaria_base::{Error, Result, SqlState};
use planaria_syntax::{ast, parse};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What one statement answered.
#[derive(Clone, Debug)]
pub struct StatementResult {
    /// The command tag of PostgreSQL: `INSERT 0 1`, `SELECT 3`, `CREATE TABLE`.
    pub tag: String,
    /// Its rows, if it is of a kind that has any.
    pub rows: Option<Rows>,
    /// Rows affected or returned.
    pub count: u64,
    /// Messages.
    pub notices: Vec<Notice>,
    /// Where the statement begins in its text, in bytes.
    pub position: usize,
}

/// A call that is committed in memory, at its place in the order of commits.
#[derive(Debug)]
pub struct Submitted {
    /// Its answer.
    pub rows: Rows,
    /// Its way to the disk.
    pub ticket: Ticket,
}

/// A procedure or function, found by name and number of arguments, ready to be called often.
/// Belongs to no session; make one for each thread, so that threads share no counter.
pub struct PreparedCall {
    pub(crate) name: String,
    pub(crate) given: Given,
    /// Of this one alone.
    pub(crate) number: u64,
    /// What it came to last, for sessions that have not run it yet.
    pub(crate) resolved: ArcSwap<crate::session::prepared::Resolved>,
}

/// Cancels statements of one session, from any thread.
///
/// ```
/// # fn main() -> planaria::Result<()> {
/// let db = planaria::Database::in_memory()?;
/// let mut session = db.session()?;
/// let canceller = session.canceller();
/// let soon = std::thread::spawn(move || {
///     std::thread::sleep(std::time::Duration::from_millis(20));
///     canceller.cancel();
/// });
/// let error = session.execute("DO $$ BEGIN LOOP NULL; END LOOP; END $$", ()).unwrap_err();
/// assert_eq!(error.sqlstate(), planaria::SqlState::QUERY_CANCELED);
/// # soon.join().unwrap();
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Canceller(Arc<AtomicBool>);

impl Canceller {
    /// The statement that the session runs now ends with 57014, soon; nothing happens where it runs none.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Calls by name that a session keeps prepared.
const CALLS_KEPT: usize = 256;

/// A session: what one thread does with a [`Database`](crate::Database), which makes it. Not shared between threads; many
/// sessions run at the same time.
///
/// It keeps settings, temporary tables, advisory locks and what it has prepared from statement to statement. Errors are as those of
/// [`Database`](crate::Database), which has most of these methods, too.
///
/// ```
/// # fn main() -> planaria::Result<()> {
/// let db = planaria::Database::in_memory()?;
/// let mut session = db.session()?;
/// session.execute_script("CREATE TABLE t (id int PRIMARY KEY, name text)")?;
/// let insert = session.prepare("INSERT INTO t VALUES ($1, $2)")?;
/// for (id, name) in [(1, "one"), (2, "two")] {
///     session.execute_prepared(&insert, (id, name))?;
/// }
/// let mut transaction = session.transaction()?;
/// transaction.execute("DELETE FROM t WHERE id = $1", (1,))?;
/// transaction.rollback()?;
/// assert_eq!(session.query("SELECT count(*) FROM t", ())?[0].get::<i64>(0)?, 2);
/// # Ok(()) }
/// ```
pub struct Session {
    pub(crate) api: Owned<SessionCore>,
    calls: Vec<Arc<PreparedCall>>,
}

impl Session {
    pub(crate) fn new(api: Box<SessionCore>) -> Session {
        Session { api: Owned::new(api), calls: Vec::new() }
    }

    /// Runs `f`. A panic in it is an error: what it was at is undone, and the session refuses what comes next.
    fn guarded<T>(&mut self, f: impl FnOnce(&mut SessionCore) -> Result<T>) -> Result<T> {
        let mut returned = false;
        let outcome = caught(|| {
            let outcome = f(&mut self.api);
            returned = true;
            outcome
        });
        if !returned {
            // It may be what undoing stumbles over, too.
            let _ = caught(|| {
                self.api.panicked();
                Ok(())
            });
        }
        outcome
    }

    /// Whether a statement of it has panicked: it can only be dropped.
    pub(crate) fn has_panicked(&self) -> bool {
        self.api.has_panicked()
    }

    /// Becomes the session of another role, as if that had logged in. 28000 where the role does not exist
    /// or may not log in, 25001 inside a transaction block.
    pub fn log_in_as(&mut self, role: &str) -> Result<()> {
        self.api.log_in_as(role)
    }

    /// Runs `f`, and tells of it as what `text` says.
    #[inline]
    fn told<T>(&mut self, text: &str, f: impl FnOnce(&mut SessionCore) -> Result<T>) -> Result<T> {
        let slow = self.api.engine.slow_statement;
        crate::trace::statement(text, slow, || self.guarded(f))
    }

    #[inline]
    fn answer(&mut self, sql: &str, params: &dyn Params) -> Result<StatementResult> {
        match params.names() {
            None => {
                self.told(sql, |api| api.statement_text(sql, params)).map_err(|e| by_name::hinted(e, sql))
            }
            Some(names) => {
                let numbered = caught(|| by_name::numbered(sql))?;
                let order = by_name::order(names, &numbered.names)?;
                self.told(sql, |api| api.statement_text(&numbered.text, &InOrder { params, order: &order }))
                    .map_err(|e| by_name::moved(e, &numbered))
            }
        }
    }

    #[inline]
    fn prepared_answer(&mut self, statement: &Statement, params: &dyn Params) -> Result<StatementResult> {
        match params.names() {
            None => self.told(statement.text(), |api| api.run_prepared(&statement.inner, params)),
            Some(names) => {
                let order = by_name::order(names, statement.names.as_deref().unwrap_or_default())?;
                self.told(statement.text(), |api| {
                    api.run_prepared(&statement.inner, &InOrder { params, order: &order })
                })
            }
        }
    }

    /// Keeps the messages of a statement for [`Session::take_notices`].
    #[inline]
    fn kept(&mut self, mut result: StatementResult) -> StatementResult {
        self.api.keep_notices(std::mem::take(&mut result.notices));
        result
    }

    /// Runs one statement; returns the number of rows affected or returned. Outside of a transaction it is one of its own, and
    /// on disk when this returns. 42601 where the text is not one statement, 25P02 in a transaction that has failed.
    ///
    /// A statement's text is kept analysed: to run it again costs little more than a [prepared](Session::prepare) one.
    pub fn execute(&mut self, sql: &str, params: impl Params) -> Result<u64> {
        let result = self.answer(sql, &params)?;
        Ok(self.kept(result).count)
    }

    /// Runs one statement; returns its rows (none for statements that have none), all in memory: see
    /// [`Session::query_each`] for many.
    pub fn query(&mut self, sql: &str, params: impl Params) -> Result<Rows> {
        let result = self.answer(sql, &params)?;
        Ok(self.kept(result).rows.unwrap_or_else(Rows::empty))
    }

    /// Runs one statement; returns its rows as values of `T`: tuples, or what derives [`FromRow`](trait@FromRow).
    /// 42804 where a column is of another type than `T` takes, 22004 where it is NULL and `T` takes none, 42703 where there is
    /// none of that name.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// let mut session = db.session()?;
    /// let rows: Vec<(i32, String)> = session.query_as("VALUES (1, 'one'), (2, 'two')", ())?;
    /// assert_eq!(rows[1], (2, "two".to_owned()));
    /// # Ok(()) }
    /// ```
    pub fn query_as<T: FromRow>(&mut self, sql: &str, params: impl Params) -> Result<Vec<T>> {
        self.query(sql, params)?.read()
    }

    /// [`Session::query_as`] of one row: P0002 where there is none, P0003 where there are several.
    pub fn query_one<T: FromRow>(&mut self, sql: &str, params: impl Params) -> Result<T> {
        self.query(sql, params)?.read_one()
    }

    /// [`Session::query_as`] of one row or none: P0003 where there are several.
    pub fn query_optional<T: FromRow>(&mut self, sql: &str, params: impl Params) -> Result<Option<T>> {
        self.query(sql, params)?.read_optional()
    }

    /// Analyses a statement with parameters `$n`, or `:name`, to run it often. It is analysed again where the schema
    /// has changed since. Errors are those of the statement's text: 42601, 42P01, 42703, ..
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// let mut session = db.session()?;
    /// let add = session.prepare("SELECT :a::int + :b::int AS sum")?;
    /// assert_eq!(add.columns()[0].name, "sum");
    /// let rows = session.query_prepared(&add, planaria::named! { b: 2, a: 40 })?;
    /// assert_eq!(rows[0].get::<i32>(0)?, 42);
    /// # Ok(()) }
    /// ```
    pub fn prepare(&mut self, sql: &str) -> Result<Statement> {
        let Some(names) = caught(|| parse::numbered(sql))? else {
            return Ok(Statement { inner: self.guarded(|api| api.prepare(sql))?, names: None });
        };
        let inner = self.guarded(|api| api.prepare(&names.text)).map_err(|e| by_name::moved(e, &names))?;
        Ok(Statement { inner, names: Some(names.names.into()) })
    }

    /// Runs a prepared statement; returns the number of rows affected or returned. 22023 where it has another number of parameters.
    pub fn execute_prepared(&mut self, statement: &Statement, params: impl Params) -> Result<u64> {
        let result = self.prepared_answer(statement, &params)?;
        Ok(self.kept(result).count)
    }

    /// Runs a prepared statement; returns its rows. 22023 where it has another number of parameters.
    pub fn query_prepared(&mut self, statement: &Statement, params: impl Params) -> Result<Rows> {
        let result = self.prepared_answer(statement, &params)?;
        Ok(self.kept(result).rows.unwrap_or_else(Rows::empty))
    }

    /// Runs the statements of a script in order; stops at the first error, and what was committed before it stays. Each is its
    /// own transaction unless the script says BEGIN.
    pub fn execute_script(&mut self, sql: &str) -> Result<()> {
        self.execute_each(sql, &mut |_| {}).map_err(|(error, _)| error)
    }

    /// [`Session::execute_script`], handing on each statement's answer. An error comes with the byte position it
    /// points at: its own, or the beginning of its statement.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// let mut tags = Vec::new();
    /// let script = "CREATE TABLE t (n int); INSERT INTO t VALUES (1); SELECT * FROM u";
    /// let outcome = db.session()?.execute_each(script, &mut |answer| tags.push(answer.tag));
    /// let (error, position) = outcome.unwrap_err();
    /// assert_eq!(tags, ["CREATE TABLE", "INSERT 0 1"]);
    /// assert_eq!((error.sqlstate(), &script[position..]), (planaria::SqlState::UNDEFINED_TABLE, "u"));
    /// # Ok(()) }
    /// ```
    pub fn execute_each(
        &mut self,
        sql: &str,
        f: &mut dyn FnMut(StatementResult),
    ) -> Result<(), (Error, usize)> {
        let ranges = caught(|| parse::split(sql)).map_err(|e| {
            let position = e.fields().position.unwrap_or(0) as usize;
            (e, position)
        })?;
        for range in ranges {
            let start = range.start;
            let text = &sql[range.clone()];
            let outcome = self.told(text, |api| api.statement(&parse::statement(sql, range)?, sql, &()));
            match outcome {
                Ok(mut result) => {
                    result.position = start;
                    f(result);
                }
                Err(error) => {
                    let position = error.fields().position.map_or(start, |p| p as usize);
                    return Err((error, position));
                }
            }
        }
        Ok(())
    }

    /// Finds a procedure or function by name and number of arguments passed: 42883 where there is none, 42725 where there are
    /// several. Found again by itself where the schema has changed since.
    pub fn prepare_call(&mut self, name: &str, arguments: usize) -> Result<PreparedCall> {
        self.prepare_given(name, Given::First(arguments))
    }

    /// [`Session::prepare_call`] by the names of the arguments that will be passed, in that order; those left out have defaults.
    pub fn prepare_call_named(&mut self, name: &str, arguments: &[&str]) -> Result<PreparedCall> {
        self.prepare_given(name, Given::Named(arguments.iter().map(|name| (*name).to_owned()).collect()))
    }

    fn prepare_given(&mut self, name: &str, given: Given) -> Result<PreparedCall> {
        let resolved = self.guarded(|api| api.resolve_call(name, &given))?;
        Ok(PreparedCall {
            name: name.to_owned(),
            given,
            number: crate::session::prepared::next_number(),
            resolved: ArcSwap::new(resolved),
        })
    }

    /// Runs a prepared call as one transaction and returns as soon as it is committed in memory;
    /// the ticket tells when it is on disk. Inside an open transaction it is part of that. Errors are those of [`Session::call`].
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// let mut session = db.session()?;
    /// session.execute_script(
    ///     "CREATE TABLE t (n int PRIMARY KEY);
    ///      CREATE PROCEDURE put(n int) LANGUAGE sql AS 'INSERT INTO t VALUES (n)'",
    /// )?;
    /// let put = session.prepare_call("put", 1)?;
    /// let mut all = planaria::Ticket::done();
    /// for n in 0..100 {
    ///     all = all.and(session.submit(&put, (n,))?.ticket);
    /// }
    /// all.wait()?; // for the disk once, not a hundred times
    /// # Ok(()) }
    /// ```
    pub fn submit(&mut self, call: &PreparedCall, params: impl Params) -> Result<Submitted> {
        if params.names().is_some() && !call.given.is_of(&params) {
            return Err(by_name::other_arguments(&call.name, &call.given));
        }
        self.told(&call.name, |api| api.submit(call, &params))
    }

    /// [`Session::submit`] for each of these calls, one after another, each a transaction of its own, whatever becomes of the others.
    /// While they wait their turn, rows that they are known to look up are fetched together: short calls on much data take
    /// a fraction less each.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// use planaria::Params;
    /// let db = planaria::Database::in_memory()?;
    /// let mut session = db.session()?;
    /// session.execute_script(
    ///     "CREATE TABLE t (n int PRIMARY KEY, hits int NOT NULL);
    ///      INSERT INTO t SELECT g, 0 FROM generate_series(1, 100) g;
    ///      CREATE PROCEDURE hit(n int) LANGUAGE sql AS 'UPDATE t SET hits = hits + 1 WHERE t.n = hit.n'",
    /// )?;
    /// let hit = session.prepare_call("hit", 1)?;
    /// let whom: Vec<(i32,)> = (1..=100).map(|n| (n,)).collect();
    /// let calls: Vec<_> = whom.iter().map(|one| (&hit, one as &dyn Params)).collect();
    /// for submitted in session.submit_all(&calls) {
    ///     submitted?.ticket.wait()?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn submit_all(&mut self, calls: &[(&PreparedCall, &dyn Params)]) -> Vec<Result<Submitted>> {
        let mut all = Vec::with_capacity(calls.len());
        for group in calls.chunks(queue::GROUP) {
            // What is wrong will be seen when they run.
            let _ = self.guarded(|api| api.fetch_ahead(group));
            for (n, (call, params)) in group.iter().enumerate() {
                self.api.serve(n);
                all.push(self.submit(call, *params));
            }
            self.api.end_calls();
        }
        all
    }

    /// Calls a procedure or function as one transaction; returns when it is durable. The answer is one row of INOUT and OUT
    /// parameters, one row with the function's value, or a set-returning function's rows. 42883 where no routine of that name takes
    /// so many arguments, or those names; 42725 where several do; and what the routine raises.
    pub fn call(&mut self, name: &str, params: impl Params) -> Result<Rows> {
        let call = self.known_call(name, &params)?;
        self.told(&call.name, |api| {
            let submitted = api.submit(&call, &params)?;
            api.wait(&submitted.ticket)?;
            Ok(submitted.rows)
        })
    }

    /// [`Session::call`], but returns as soon as it is committed in memory; the ticket tells when it is on disk.
    pub fn submit_call(&mut self, name: &str, params: impl Params) -> Result<Submitted> {
        let call = self.known_call(name, &params)?;
        self.submit(&call, params)
    }

    /// The call of that name and arguments, which is kept prepared.
    fn known_call(&mut self, name: &str, params: &dyn Params) -> Result<Arc<PreparedCall>> {
        if let Some(call) = self.calls.iter().find(|c| c.name == name && c.given.is_of(params)) {
            return Ok(call.clone());
        }
        let call = Arc::new(self.prepare_given(name, Given::of(params))?);
        if self.calls.len() == CALLS_KEPT {
            self.calls.remove(0);
        }
        self.calls.push(call.clone());
        Ok(call)
    }

    /// What cancels the statements of this session from other threads.
    pub fn canceller(&self) -> Canceller {
        Canceller(self.api.cancel_flag())
    }

    /// Begins a transaction of several statements; it is rolled back when dropped. Inside another one it is a part of that.
    /// Where others are in its way, statements and [`Transaction::commit`] fail with 40001 or 40P01, and it is to be begun again:
    /// [`Database::transaction`](crate::Database::transaction) does that by itself.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// db.execute_script("CREATE TABLE t (n int PRIMARY KEY)")?;
    /// let mut session = db.session()?;
    /// let mut transaction = session.transaction()?;
    /// transaction.execute("INSERT INTO t VALUES (1)", ())?;
    /// transaction.execute("INSERT INTO t VALUES (2)", ())?;
    /// transaction.commit()?;
    ///
    /// let mut given_up = session.transaction()?;
    /// given_up.execute("DELETE FROM t", ())?;
    /// drop(given_up);
    /// assert_eq!(session.query_one::<(i64,)>("SELECT count(*) FROM t", ())?, (2,));
    /// # Ok(()) }
    /// ```
    pub fn transaction(&mut self) -> Result<Transaction<'_>> {
        self.begin_as("BEGIN")
    }

    /// Begins a transaction of several statements that only reads. It sees the database as it was when it
    /// began, is never in anybody's way, and never fails for the sake of others (`BEGIN READ ONLY`).
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// db.execute_script("CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t VALUES (1)")?;
    /// let mut session = db.session()?;
    /// let mut reader = session.read_only_transaction()?;
    /// db.execute("DELETE FROM t", ())?;
    /// assert_eq!(reader.query("SELECT count(*) FROM t", ())?[0].get::<i64>(0)?, 1);
    /// reader.commit()?;
    /// # Ok(()) }
    /// ```
    pub fn read_only_transaction(&mut self) -> Result<Transaction<'_>> {
        self.begin_as("BEGIN READ ONLY")
    }

    fn begin_as(&mut self, begin: &str) -> Result<Transaction<'_>> {
        let nested = self.in_transaction();
        self.execute(begin, ())?;
        if !nested {
            self.api.stays_on_thread(true);
        }
        Ok(Transaction { session: self, nested, _on_thread: PhantomData })
    }

    /// Runs a query and hands on its rows one by one, as values of `T`: however many they are, they are never all in memory.
    /// Returns how many there were. An error of `f` ends the query, and is returned.
    ///
    /// Outside of a transaction the query reads the database as it was when it began, and changes nothing (25006); inside, the
    /// transaction has failed after an error of `f`, and 40001 ends a query that has to begin anew after rows have been handed
    /// on, as one FOR UPDATE may.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// let mut sum = 0;
    /// let rows = db.query_each("SELECT n FROM generate_series(1, 100000) n", (), |(n,): (i64,)| {
    ///     sum += n;
    ///     Ok(())
    /// })?;
    /// assert_eq!((rows, sum), (100_000, 5_000_050_000));
    /// # Ok(()) }
    /// ```
    pub fn query_each<T: FromRow>(
        &mut self,
        sql: &str,
        params: impl Params,
        f: impl FnMut(T) -> Result<()>,
    ) -> Result<u64> {
        let statement = self.prepare(sql)?;
        if self.in_transaction() {
            return self.each_row(&statement, &params, f);
        }
        let mut transaction = self.read_only_transaction()?;
        let rows = transaction.each_row(&statement, &params, f)?;
        transaction.commit()?;
        Ok(rows)
    }

    fn each_row<T: FromRow>(
        &mut self,
        statement: &Statement,
        params: &dyn Params,
        f: impl FnMut(T) -> Result<()>,
    ) -> Result<u64> {
        let order = match params.names() {
            Some(names) => Some(by_name::order(names, statement.names.as_deref().unwrap_or_default())?),
            None => None,
        };
        let ordered = order.as_deref().map(|order| InOrder { params, order });
        let params = ordered.as_ref().map_or(params, |ordered| ordered as &dyn Params);
        let mut sink = Each::new(statement.inner.columns.clone(), f);
        let done = self.told(statement.text(), |api| api.start(&statement.inner, params, &mut sink))?;
        self.guarded(|api| api.wait(&done.ticket))?;
        // Of SHOW and its like, which are few.
        done.rows.into_iter().flatten().try_for_each(|row| sink.take(row))?;
        Ok(sink.count())
    }

    /// Messages of the last statement or call: those of RAISE NOTICE, and warnings. They are taken out.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// let mut session = db.session()?;
    /// session.execute("DO $$ BEGIN RAISE NOTICE 'half of it'; END $$", ())?;
    /// assert_eq!(session.take_notices()[0].message, "half of it");
    /// # Ok(()) }
    /// ```
    pub fn take_notices(&mut self) -> Vec<Notice> {
        self.api.take_notices()
    }

    /// The value of a setting, as SHOW has it; 42704 where there is none of that name.
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// let mut session = db.session()?;
    /// session.set("statement_timeout", "1500ms")?;
    /// assert_eq!(session.setting("statement_timeout")?, "1500ms");
    /// # Ok(()) }
    /// ```
    pub fn setting(&self, name: &str) -> Result<&str> {
        self.api.setting(name)
    }
    /// Sets a setting from one text for the rest of the session, as SET does; 42704 for an unknown one, 22023 for a value it
    /// cannot have. See [`Options::set`](crate::Options::set) for all sessions.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.api.set(name, value)
    }
    /// Where the transaction stands.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.api.transaction_status()
    }
    /// Whether BEGIN was said and neither COMMIT nor ROLLBACK since.
    pub fn in_transaction(&self) -> bool {
        self.transaction_status() != TransactionStatus::Idle
    }

    /// A list of tables and views, for people.
    pub fn describe_tables(&mut self) -> String {
        crate::describe::tables(&self.api.catalog())
    }

    /// The columns, indexes and constraints of a table, for people; 42P01 where there is none.
    pub fn describe_table(&mut self, name: &str) -> Result<String> {
        crate::describe::table(&self.api.catalog(), name)
    }

    /// A list of procedures and functions, for people.
    pub fn describe_procedures(&mut self) -> String {
        crate::describe::procedures(&self.api.catalog())
    }
}

/// An open transaction; rolled back when dropped without [`Transaction::commit`]. It stays on its thread, so that a statement
/// of another session on that thread, which would wait for it for ever, is refused (55P03).
pub struct Transaction<'s> {
    session: &'s mut Session,
    /// Another one is open around it, of which it is part.
    nested: bool,
    _on_thread: PhantomData<*const ()>,
}

/// 25P02 where COMMIT answers that it has rolled back.
fn committed(tag: &str) -> Result<()> {
    if tag == "ROLLBACK" {
        return Err(Error::new(
            SqlState::IN_FAILED_SQL_TRANSACTION,
            "the transaction had failed and was rolled back",
        ));
    }
    Ok(())
}

impl Transaction<'_> {
    /// Commits; returns when durable. 40001 where the transaction cannot be serialized: begin again. 25P02 where a statement had
    /// failed: it was rolled back. Of one inside another, the whole is committed.
    pub fn commit(self) -> Result<()> {
        committed(&self.session.guarded(|api| api.statement_text("COMMIT", &()))?.tag)
    }
    /// Commits, and returns as soon as that is done in memory; the ticket tells when it is on disk. Errors are those of
    /// [`Transaction::commit`].
    ///
    /// ```
    /// # fn main() -> planaria::Result<()> {
    /// let db = planaria::Database::in_memory()?;
    /// let mut session = db.session()?;
    /// let mut transaction = session.transaction()?;
    /// transaction.execute("CREATE TABLE t (n int)", ())?;
    /// let ticket = transaction.submit()?;
    /// ticket.wait()?;
    /// # Ok(()) }
    /// ```
    pub fn submit(self) -> Result<Ticket> {
        let (tag, ticket) = self.session.guarded(|api| api.control(&ast::Transaction::Commit))?;
        committed(&tag).map(|()| ticket)
    }
    /// Rolls back. Dropping it does the same.
    pub fn rollback(self) -> Result<()> {
        self.session.execute("ROLLBACK", ()).map(|_| ())
    }
}

impl std::ops::Deref for Transaction<'_> {
    type Target = Session;
    fn deref(&self) -> &Session {
        self.session
    }
}

impl std::ops::DerefMut for Transaction<'_> {
    fn deref_mut(&mut self) -> &mut Session {
        self.session
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.nested {
            self.session.api.stays_on_thread(false);
        }
        if self.session.in_transaction() {
            // Rolling back cannot fail in a way the caller could mend.
            let _ = self.session.execute("ROLLBACK", ());
        }
    }
}
