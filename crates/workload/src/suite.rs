//! The shelf of workloads.

use crate::folder::{self, Folder, Set};
use crate::parameters::Parameters;
use crate::{smallbank, tpcb, tpcc, voter, ycsb};
use planaria::{Database, Error, Result, Session, SqlState, Submitted};
use std::borrow::Cow;
use std::ops::Deref;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A workload: its SQL, its loader and its driver.
pub struct Suite {
    /// Name on the command line.
    pub name: Cow<'static, str>,
    /// One line for people.
    pub about: Cow<'static, str>,
    /// DROP and CREATE of its tables.
    pub schema: &'static str,
    /// Procedures that make its data inside the server.
    pub load: &'static str,
    /// The transactions.
    pub procedures: &'static str,
    /// A repeatable run that prints digests.
    pub golden: &'static str,
    /// What `golden` prints on PostgreSQL 15.
    pub expected: &'static str,
    /// Invariants: a row each, name and number of violations.
    pub checks: &'static str,
    /// What the size counts: warehouses, customers, records.
    pub unit: Cow<'static, str>,
    /// Size when none is asked for.
    pub default_size: u64,
    /// Names of the transactions in the order of their numbers.
    pub transactions: Vec<Cow<'static, str>>,
    /// Checks whose name begins so hold only after runs of other procedures than the driver's.
    pub not_after_run: &'static [&'static str],
    /// Names of the [`Parameters`] it has.
    pub parameters: &'static [&'static str],
    /// SQL that is run once its rows are loaded: triggers, indexes, settings of one's own.
    prepare: String,
    source: Source,
}

/// Where its rows and its inputs come from.
enum Source {
    /// From this crate.
    BuiltIn {
        /// The statement that loads `$1` units.
        load_call: fn(u64) -> String,
        /// The same rows by statements that do not depend on each other: first the one list, one after
        /// another, then the other in any order, also at the same time.
        load_parts: fn(u64) -> (Vec<String>, Vec<String>),
        driver: fn(&mut Session, &Draws<'_>) -> Result<Box<dyn Driver>>,
    },
    /// From a folder of the user's, which has its texts, too: the fields of SQL are empty.
    Folder(Box<Folder>),
}

/// A workload of the shelf, or of one's own.
pub enum Workload {
    /// Of the shelf.
    BuiltIn(&'static Suite),
    /// From a folder, or prepared with SQL of one's own.
    Own(Box<Suite>),
}

impl Deref for Workload {
    type Target = Suite;
    fn deref(&self) -> &Suite {
        match self {
            Workload::BuiltIn(suite) => suite,
            Workload::Own(suite) => suite,
        }
    }
}

impl Workload {
    /// By name, or by the path of a folder with `workload.toml` in it, some of whose variables are `set`; with SQL that is
    /// run once its rows are loaded, if any. 22023 says what is wrong with it, with the line.
    pub fn find(name: &str, set: &[Set], prepare: Option<String>) -> Result<Workload> {
        let found = Workload::of(name, set)?;
        let Some(prepare) = prepare else { return Ok(found) };
        let suite = match found {
            Workload::BuiltIn(suite) => shelf().into_iter().find(|s| s.name == suite.name).map(Box::new),
            Workload::Own(suite) => Some(suite),
        };
        let suite = suite.expect("a suite of the shelf");
        Ok(Workload::Own(Box::new(Suite { prepare, ..*suite })))
    }

    fn of(name: &str, set: &[Set]) -> Result<Workload> {
        let path = Path::new(name);
        if name.contains(['/', '\\']) || name.starts_with('.') || path.join("workload.toml").exists() {
            return folder::open(path, set).map(|suite| Workload::Own(Box::new(suite)));
        }
        let suite = Suite::find(name)?;
        match set {
            [] => Ok(Workload::BuiltIn(suite)),
            [(variable, _), ..] => Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("{name} has no variable \"{variable}\""),
            )
            .with_hint("Variables belong to workload folders; built-in workloads have options instead.")),
        }
    }
}

/// What a driver is made from.
pub(crate) struct Draws<'a> {
    /// Units loaded, of which it uses all.
    pub size: u64,
    pub seed: u64,
    /// Among the drivers of a run, from 0.
    pub number: u64,
    pub parameters: &'a Parameters,
}

/// Draws and submits transactions.
pub trait Driver {
    /// Submits one transaction; returns its number (see [`Suite::transactions`]) and its outcome.
    fn next(&mut self, session: &mut Session) -> (usize, Result<Submitted>);

    /// Submits `many` transactions; those of which all is known before they begin, together ([`Session::submit_all`]).
    fn next_together(
        &mut self,
        session: &mut Session,
        many: usize,
        each: &mut dyn FnMut(usize, Result<Submitted>),
    ) {
        for _ in 0..many {
            let (kind, outcome) = self.next(session);
            each(kind, outcome);
        }
    }
}

/// A check that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// What does not hold.
    pub condition: String,
    /// How often.
    pub count: i64,
}

macro_rules! suite {
    ($name:literal, $about:literal, $module:ident, unit $unit:literal $size:literal, load $load:expr, parts $parts:expr, lifted $lifted:expr) => {
        Suite {
            name: Cow::Borrowed($name),
            about: Cow::Borrowed($about),
            schema: include_str!(concat!("../sql/", $name, "/schema.sql")),
            load: include_str!(concat!("../sql/", $name, "/load.sql")),
            procedures: include_str!(concat!("../sql/", $name, "/procedures.sql")),
            golden: include_str!(concat!("../sql/", $name, "/golden.sql")),
            expected: include_str!(concat!("../sql/", $name, "/golden.expected")),
            checks: include_str!(concat!("../sql/", $name, "/checks.sql")),
            unit: Cow::Borrowed($unit),
            default_size: $size,
            transactions: $module::TRANSACTIONS.iter().map(|name| Cow::Borrowed(*name)).collect(),
            not_after_run: $lifted,
            parameters: $module::PARAMETERS,
            prepare: String::new(),
            source: Source::BuiltIn { load_call: $load, load_parts: $parts, driver: $module::driver },
        }
    };
}

/// Rows a statement of a load in parts makes, where they have one number.
const PIECE: u64 = 100_000;

/// Statements for 1 to `n` in pieces.
fn pieces(n: u64, statement: impl Fn(u64, u64) -> String) -> Vec<String> {
    (1..=n).step_by(PIECE as usize).map(|from| statement(from, n.min(from + PIECE - 1))).collect()
}

static SUITES: LazyLock<Vec<Suite>> = LazyLock::new(shelf);

fn shelf() -> Vec<Suite> {
    vec![
        suite!("tpcc", "TPC-C: order entry, five transactions", tpcc, unit "warehouses" 4,
        load |n| format!("CALL tpcc_load(1, {n})"),
        parts |n| (vec!["CALL tpcc_load_items()".into()], (1..=n).map(|w| format!("CALL tpcc_load_warehouse({w})")).collect()),
        lifted &[]),
        suite!("smallbank", "SmallBank: six short banking transactions", smallbank, unit "customers" 100_000,
        load |n| format!("CALL sb_load({n})"),
        parts |n| (vec!["CALL sb_load(0)".into()], pieces(n, |from, to| format!(
            "INSERT INTO sb_account (custid, name) SELECT i, sb_name(i) FROM generate_series({from}, {to}) AS g(i);
             INSERT INTO sb_savings (custid, bal) SELECT i, 10000.00 FROM generate_series({from}, {to}) AS g(i);
             INSERT INTO sb_checking (custid, bal) SELECT i, 10000.00 FROM generate_series({from}, {to}) AS g(i);"))),
        lifted &["S01"]),
        suite!("ycsb", "YCSB A: half reads, half updates, zipfian keys", ycsb, unit "records" 100_000,
        load |n| format!("CALL ycsb_load(1, {n})"),
        parts |n| (vec![], pieces(n, |from, to| format!("CALL ycsb_load({from}, {to})"))),
        lifted &[]),
        suite!("voter", "Voter: a telephone vote", voter, unit "contestants" 6,
        load |n| format!("CALL voter_load({n})"),
        parts |n| (vec![], vec![format!("CALL voter_load({n})")]),
        lifted &["V05"]),
        suite!("tpcb", "TPC-B as pgbench has it", tpcb, unit "branches" 1,
        load |n| format!("CALL tpcb_load({n})"),
        parts |n| (vec!["CALL tpcb_load(0)".into()], (1..=n).map(|b| format!(
            "INSERT INTO pgbench_branches VALUES ({b}, 0, '');
             INSERT INTO pgbench_tellers SELECT i, {b}, 0, '' FROM generate_series({b} * 10 - 9, {b} * 10) AS g(i);
             INSERT INTO pgbench_accounts SELECT i, {b}, 0, '' FROM generate_series({b} * 100000 - 99999, {b} * 100000) AS g(i);"))
            .collect()),
        lifted &[]),
    ]
}

impl Suite {
    pub(crate) fn of_folder(name: String, about: String, default_size: u64, folder: Folder) -> Suite {
        Suite {
            name: name.into(),
            about: about.into(),
            schema: "",
            load: "",
            procedures: "",
            golden: "",
            expected: "",
            checks: "",
            unit: folder.unit().into(),
            default_size,
            transactions: folder.names().into_iter().map(Cow::Owned).collect(),
            not_after_run: &[],
            parameters: &["mix"],
            prepare: String::new(),
            source: Source::Folder(Box::new(folder)),
        }
    }

    /// All workloads of the shelf.
    pub fn all() -> &'static [Suite] {
        &SUITES
    }

    /// By name; 22023 lists the names there are.
    pub fn find(name: &str) -> Result<&'static Suite> {
        SUITES.iter().find(|s| s.name == name).ok_or_else(|| {
            let names: Vec<_> = SUITES.iter().map(|s| s.name.as_ref()).collect();
            Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("there is no workload \"{name}\""))
                .with_hint(format!(
                    "The built-in workloads are {}; a folder with a workload.toml, such as ./mine, is one, too.",
                    names.join(", ")
                ))
        })
    }

    /// Creates tables and procedures and loads `size` units.
    pub fn install(&self, db: &Database, size: u64) -> Result<()> {
        match &self.source {
            Source::BuiltIn { load_call, .. } => {
                self.install_schema(db)?;
                db.session()?.execute_script(&load_call(size))?;
            }
            Source::Folder(folder) => {
                folder.install_schema(db, size)?;
                folder.load(db, size, 1, &|_, _| {})?;
            }
        }
        self.prepare(db)
    }

    fn prepare(&self, db: &Database) -> Result<()> {
        match self.prepare.as_str() {
            "" => Ok(()),
            prepare => db.session()?.execute_each(prepare, &mut |_| ()).map_err(|(error, position)| {
                let line = prepare[..position].matches('\n').count() + 1;
                error.context(format!("line {line} of the SQL that prepares the workload"))
            }),
        }
    }

    /// The same on `threads` threads, in many transactions, telling after each how many of how many
    /// are done. Rows without a primary key get other row ids than [`Suite::install`] gives them.
    pub fn install_parallel(
        &self,
        db: &Database,
        size: u64,
        threads: usize,
        tell: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<()> {
        let load_parts = match &self.source {
            Source::BuiltIn { load_parts, .. } => load_parts,
            Source::Folder(folder) => {
                folder.install_schema(db, size)?;
                folder.load(db, size, threads, tell)?;
                return self.prepare(db);
            }
        };
        self.install_schema(db)?;
        let (first, rest) = load_parts(size);
        let mut session = db.session()?;
        first.iter().try_for_each(|sql| session.execute_script(sql))?;
        let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = || -> Result<()> {
            let mut session = db.session()?;
            while let Some(sql) = rest.get(next.fetch_add(1, Ordering::Relaxed)) {
                session.execute_script(sql)?;
                tell(done.fetch_add(1, Ordering::Relaxed) + 1, rest.len());
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
            let panicked = || Err(Error::new(SqlState::INTERNAL_ERROR, "a thread that loads panicked"));
            workers.into_iter().try_for_each(|w| w.join().unwrap_or_else(|_| panicked()))
        })?;
        self.prepare(db)
    }

    /// Creates tables and procedures.
    pub fn install_schema(&self, db: &Database) -> Result<()> {
        if let Source::Folder(folder) = &self.source {
            return folder.install_schema(db, self.default_size);
        }
        let mut session = db.session()?;
        for text in [self.schema, self.load, self.procedures] {
            session.execute_script(text)?;
        }
        Ok(())
    }

    /// A driver with its own stream of random inputs; `size` as loaded.
    pub fn driver(&self, session: &mut Session, size: u64, seed: u64) -> Result<Box<dyn Driver>> {
        self.driver_with(session, size, seed, 0, &Parameters::default())
    }

    /// The same that draws by `parameters`, the `number`-th of a run, from 0. `size` may be less than was loaded: then
    /// the others are not touched. 22023 for parameters that the workload does not have.
    pub fn driver_with(
        &self,
        session: &mut Session,
        size: u64,
        seed: u64,
        number: u64,
        parameters: &Parameters,
    ) -> Result<Box<dyn Driver>> {
        self.check(parameters)?;
        let draws = Draws { size, seed, number, parameters };
        match &self.source {
            Source::BuiltIn { driver, .. } => driver(session, &draws),
            Source::Folder(folder) => folder.driver(session, &draws),
        }
    }

    /// 22023 where a parameter is out of range, or the workload has none of that name.
    pub fn check(&self, parameters: &Parameters) -> Result<()> {
        parameters.check(&self.name, self.transactions.len(), self.parameters)
    }

    /// Runs the checks; an empty answer is what must be. `after_run` leaves out those that do not
    /// hold after the driver's transactions (they suppose other procedures were used).
    pub fn violations(&self, db: &Database, after_run: bool) -> Result<Vec<Violation>> {
        self.violations_of(db, self.default_size, after_run)
    }

    /// The same of so many units, where checks speak of them.
    pub fn violations_of(&self, db: &Database, size: u64, after_run: bool) -> Result<Vec<Violation>> {
        self.violations_after(db, size, after_run, &Parameters::default())
    }

    /// The same after drivers with these parameters: what cannot hold then is left out, and what does in its place is
    /// looked at.
    pub fn violations_after(
        &self,
        db: &Database,
        size: u64,
        after_run: bool,
        parameters: &Parameters,
    ) -> Result<Vec<Violation>> {
        if let Source::Folder(folder) = &self.source {
            return folder.violations(db, size, after_run);
        }
        let (not_so, instead) = tpcc::checks(parameters);
        let mut session = db.session()?;
        let mut violations = Vec::new();
        for checks in std::iter::once(self.checks).chain(instead) {
            for row in session.query(checks, ())? {
                let condition: String = row.get(0)?;
                let count: i64 = row.get(1)?;
                let of = |lifted: &[&str]| lifted.iter().any(|p| condition.starts_with(p));
                if count != 0 && !(after_run && of(self.not_after_run)) && !of(not_so) {
                    violations.push(Violation { condition, count });
                }
            }
        }
        Ok(violations)
    }

    /// Adds to a database what drivers with these parameters call beside the workload's procedures. Once, before there
    /// are any.
    pub fn make_ready(&self, db: &Database, parameters: &Parameters) -> Result<()> {
        self.check(parameters)?;
        if parameters.no_inserts {
            db.session()?.execute_script(&tpcc::without_inserts(self.procedures))?;
        }
        Ok(())
    }
}
