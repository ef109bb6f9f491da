//! What a call of each procedure takes, one kind after the other: for tuning, and for `cargo xtask perf`, which counts
//! the instructions of [`repeated`].
//!
//! 1. Four procedures of one operation each, on a table of so many rows: commit (an empty body), get, update, insert.
//! 2. Each transaction of a workload of the shelf, drawn by its driver as if there were no other.
//! 3. One thread, in memory, without a log. Every kind is warmed by as many calls as are measured then.

use planaria::{Database, Error, PreparedCall, Result, Session, SqlState};
use planaria_workload::{Driver, Parameters, Suite};
use serde::Serialize;
use std::time::Instant;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Calls {
    /// [`OPERATIONS`], or the name of a workload of the shelf.
    pub suite: String,
    /// Rows of the table of [`OPERATIONS`], or the workload's size.
    pub size: u64,
    /// The kinds to measure, by name; empty: all.
    pub only: Vec<String>,
    /// Calls of each kind that are measured.
    pub times: u64,
    /// Turns; medians are shown.
    pub repeat: usize,
}

/// What a call of one kind took.
#[derive(Clone, Debug, Serialize)]
pub struct Taken {
    /// Its name.
    pub call: String,
    /// Nanoseconds a call.
    pub nanoseconds: f64,
}

/// The name of what is no workload: one operation each.
pub const OPERATIONS: &str = "operations";
/// Rows of its table when no number is asked for.
pub const ROWS: u64 = 100_000;

const PROCEDURES: &str = "
    CREATE TABLE plain (id bigint PRIMARY KEY, v bigint NOT NULL, note text);
    CREATE PROCEDURE commit_nothing(p_id bigint) LANGUAGE plpgsql AS $$ BEGIN END $$;
    CREATE PROCEDURE get_row(p_id bigint) LANGUAGE plpgsql AS $$
    DECLARE x bigint; BEGIN SELECT v INTO x FROM plain WHERE id = p_id; END $$;
    CREATE PROCEDURE update_row(p_id bigint) LANGUAGE plpgsql AS $$
    BEGIN UPDATE plain SET v = v + 1 WHERE id = p_id; END $$;
    CREATE PROCEDURE insert_row(p_id bigint) LANGUAGE plpgsql AS $$
    BEGIN INSERT INTO plain VALUES (p_id, 0, 'a note'); END $$;";

/// Calls of one kind, one after another.
trait Kind {
    fn name(&self) -> String;
    /// Makes the next call. What a procedure refuses is an answer as well.
    fn call(&mut self, session: &mut Session) -> Result<()>;
}

/// One of [`PROCEDURES`].
struct Operation {
    name: &'static str,
    call: PreparedCall,
    rows: u64,
    /// Keys behind the loaded ones, each once.
    fresh: bool,
    made: u64,
}

impl Kind for Operation {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn call(&mut self, session: &mut Session) -> Result<()> {
        self.made += 1;
        // By a step that has no factor in common with most numbers of rows, so that keys are spread.
        let key = if self.fresh { self.rows + self.made } else { self.made * 7_919 % self.rows };
        session.submit(&self.call, (key as i64,)).map(drop)
    }
}

/// One transaction of a workload.
struct Transaction {
    name: String,
    driver: Box<dyn Driver>,
}

impl Kind for Transaction {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn call(&mut self, session: &mut Session) -> Result<()> {
        let (_, answer) = self.driver.next(session);
        drop(answer);
        Ok(())
    }
}

impl Calls {
    /// Measures every kind, in the order of the workload's transactions.
    pub fn run(&self) -> Result<Vec<Taken>> {
        let db = Database::in_memory()?;
        let mut session = db.session()?;
        let kinds = match self.suite.as_str() {
            OPERATIONS => self.operations(&mut session)?,
            name => self.transactions(Suite::find(name)?, &db, &mut session)?,
        };
        if let Some(unknown) = self.only.iter().find(|name| kinds.iter().all(|kind| kind.name() != **name)) {
            let names: Vec<String> = kinds.iter().map(|kind| kind.name()).collect();
            return Err(Error::new(
                SqlState::INVALID_PARAMETER_VALUE,
                format!("{} has no call \"{unknown}\"", self.suite),
            )
            .with_hint(format!("There are {}.", names.join(", "))));
        }
        let wanted = |name: &String| self.only.is_empty() || self.only.contains(name);
        kinds
            .into_iter()
            .filter(|kind| wanted(&kind.name()))
            .map(|mut kind| self.measure(&mut *kind, &mut session))
            .collect()
    }

    fn operations(&self, session: &mut Session) -> Result<Vec<Box<dyn Kind>>> {
        session.execute_script(PROCEDURES)?;
        let rows = self.size.max(1);
        session.execute(
            "INSERT INTO plain SELECT i, 0, 'a note' FROM generate_series(0, $1 - 1) AS g(i)",
            (rows as i64,),
        )?;
        let names = [
            ("commit", "commit_nothing", false),
            ("get", "get_row", false),
            ("update", "update_row", false),
            ("insert", "insert_row", true),
        ];
        let kind = |(name, procedure, fresh)| -> Result<Box<dyn Kind>> {
            let call = session.prepare_call(procedure, 1)?;
            Ok(Box::new(Operation { name, call, rows, fresh, made: 0 }))
        };
        names.into_iter().map(kind).collect()
    }

    fn transactions(
        &self,
        suite: &Suite,
        db: &Database,
        session: &mut Session,
    ) -> Result<Vec<Box<dyn Kind>>> {
        suite.install(db, self.size)?;
        let count = suite.transactions.len();
        let kind = |number: usize| -> Result<Box<dyn Kind>> {
            let mut mix = vec![0; count];
            mix[number] = 1;
            let parameters =
                Parameters { mix: suite.parameters.contains(&"mix").then_some(mix), ..Parameters::default() };
            let driver = suite.driver_with(session, self.size, 1, 0, &parameters)?;
            Ok(Box::new(Transaction { name: suite.transactions[number].to_string(), driver }))
        };
        (0..count).map(kind).collect()
    }

    fn measure(&self, kind: &mut dyn Kind, session: &mut Session) -> Result<Taken> {
        for _ in 0..self.times {
            kind.call(session)?;
        }
        let mut turns = Vec::with_capacity(self.repeat);
        for _ in 0..self.repeat.max(1) {
            let began = Instant::now();
            repeated(kind, session, self.times)?;
            turns.push(began.elapsed().as_nanos() as f64 / self.times.max(1) as f64);
        }
        turns.sort_by(f64::total_cmp);
        Ok(Taken { call: kind.name(), nanoseconds: turns[turns.len() / 2] })
    }
}

/// Makes the calls that are measured. Of its own, so that a tool that counts can be told where to begin and to end.
#[inline(never)]
fn repeated(kind: &mut dyn Kind, session: &mut Session, times: u64) -> Result<()> {
    (0..times).try_for_each(|_| kind.call(session))
}
