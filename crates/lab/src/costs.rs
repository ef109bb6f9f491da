//! What operations cost: the prices by which the log kind `adaptive` chooses (`planaria_analysis::cost`),
//! measured.
//!
//! 1. Tables of so many rows are loaded in memory: with a plain key, with a key of two columns (ten rows
//!    for each value of the first), and with a second index.
//! 2. For each operation a procedure repeats it on keys drawn at random (a linear congruential generator),
//!    in one transaction. What the same loop costs without it is taken off, and of an operation that finds
//!    its row by the key also what finding it costs.
//! 3. The least of several turns, all operations in each: what else the machine does only adds.
//!
//! It is the forward path that is measured, on one thread, without a log: replay runs the same code, without
//! validation. Not measured: bytes (the price of a byte is a choice of disk), and how long a transaction
//! waits for its log.

use crate::recovery::Watch;
use planaria::{Database, Result, Session};
use planaria_analysis::cost::PRICES;
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Instant;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    /// Rows of each table; at least 100.
    pub rows: u64,
    /// Times an operation is repeated in a transaction.
    pub operations: u64,
    /// Turns.
    pub repeat: usize,
}

/// The price of an operation.
#[derive(Clone, Debug, Serialize)]
pub struct Price {
    /// The operation, as `planaria_analysis::cost` names it.
    pub operation: &'static str,
    /// Nanoseconds measured.
    pub measured_ns: f64,
    /// Nanoseconds in use.
    pub used_ns: f64,
}

/// Numbers that a loop repeats, to be more than its own cost.
const UNROLLED: usize = 10;
/// Rows for each first key column of the table with two.
const GROUP: u64 = 10;

const TABLES: &str = "
    CREATE TABLE plain (id bigint PRIMARY KEY, v bigint NOT NULL);
    CREATE TABLE grouped (g bigint, i bigint, v bigint NOT NULL, PRIMARY KEY (g, i));
    CREATE TABLE indexed (id bigint PRIMARY KEY, v bigint NOT NULL);
    CREATE INDEX indexed_v ON indexed (v);
    CREATE PROCEDURE one(p_id bigint) LANGUAGE plpgsql AS $$
    BEGIN UPDATE plain SET v = v + 1 WHERE id = p_id; END $$;";

/// The loops: name and body. `k` is random, `p_rows` the number of rows, which have even keys.
fn loops() -> Vec<(&'static str, String)> {
    let id = "k % p_rows * 2";
    vec![
        ("nothing", String::new()),
        ("get", format!("SELECT v INTO x FROM plain WHERE id = {id};")),
        ("update", format!("UPDATE plain SET v = v + 1 WHERE id = {id};")),
        ("one", scan("AND i < 1")),
        ("group", scan("")),
        ("insert", "INSERT INTO plain VALUES (k * 2 + 1, k);".to_owned()),
        ("delete", "DELETE FROM plain WHERE id = k * 2 + 1;".to_owned()),
        ("insert indexed", "INSERT INTO indexed VALUES (k * 2 + 1, k * 7919 % 1000003);".to_owned()),
        ("delete indexed", "DELETE FROM indexed WHERE id = k * 2 + 1;".to_owned()),
        ("number", "x := x + k;".repeat(UNROLLED)),
        ("value", "t := left(t, 10);".repeat(UNROLLED)),
    ]
}

fn scan(range: &str) -> String {
    format!("FOR x IN SELECT v FROM grouped WHERE g = k % (p_rows / {GROUP}) {range} LOOP END LOOP;")
}

impl Measurement {
    /// Measures every operation, in the order of [`PRICES`].
    pub fn run(&self, watch: &dyn Watch) -> Result<Vec<Price>> {
        watch.step(&format!("loading {} rows each", self.rows), 0);
        let db = Database::in_memory()?;
        let mut session = db.session()?;
        self.load(&mut session)?;
        let mut least: BTreeMap<&str, f64> = BTreeMap::new();
        watch.step("measuring", self.repeat as u64);
        for turn in 0..self.repeat.max(1) {
            for (name, time) in self.turn(&mut session, turn as i64)? {
                least.entry(name).and_modify(|least| *least = time.min(*least)).or_insert(time);
            }
            watch.at(turn as u64 + 1);
        }
        let price =
            |(operation, used_ns)| Price { operation, measured_ns: measured(operation, &least), used_ns };
        Ok(PRICES.into_iter().map(price).collect())
    }

    fn load(&self, session: &mut Session) -> Result<()> {
        session.execute_script(TABLES)?;
        let rows = self.rows.max(100) as i64;
        for (sql, upto) in [
            ("INSERT INTO plain SELECT i * 2, i FROM generate_series(0, $1 - 1) AS g(i)", rows),
            (
                "INSERT INTO indexed SELECT i * 2, i::bigint * 7919 % 1000003 FROM generate_series(0, $1 - 1) AS g(i)",
                rows,
            ),
            (
                "INSERT INTO grouped SELECT g, i, 1 FROM generate_series(0, $1 - 1) AS g(g), generate_series(0, 9) AS h(i)",
                rows / GROUP as i64,
            ),
        ] {
            session.execute(sql, (upto,))?;
        }
        for (number, (_, body)) in loops().into_iter().enumerate() {
            session.execute_script(&format!(
                "CREATE PROCEDURE loop_{number}(p_n bigint, p_rows bigint, p_seed bigint) LANGUAGE plpgsql AS $$
                 DECLARE k bigint := p_seed; x bigint := 0; t text := 'some text that is a little longer';
                 BEGIN
                     FOR n IN 1..p_n LOOP
                         k := (k * 1664525 + 1013904223) % 4294967296;
                         {body}
                     END LOOP;
                 END $$;"
            ))?;
        }
        Ok(())
    }

    /// Nanoseconds of one run of each loop's body, and of a call.
    fn turn(&self, session: &mut Session, turn: i64) -> Result<Vec<(&'static str, f64)>> {
        let (n, rows) = (self.operations.max(1) as i64, self.rows.max(100) as i64);
        let mut times = Vec::new();
        for (number, (name, _)) in loops().into_iter().enumerate() {
            let began = Instant::now();
            session.call(&format!("loop_{number}"), (n, rows, turn * 7 + 1))?;
            times.push((name, began.elapsed().as_nanos() as f64 / n as f64));
        }
        let call = session.prepare_call("one", 1)?;
        let mut id = turn;
        let began = Instant::now();
        for _ in 0..n {
            id = (id * 1_664_525 + 1_013_904_223) % (1 << 32);
            session.submit(&call, (id % rows * 2,))?;
        }
        times.push(("call", began.elapsed().as_nanos() as f64 / n as f64));
        Ok(times)
    }
}

/// What an operation costs, from the least times of the loops.
fn measured(operation: &str, least: &BTreeMap<&str, f64>) -> f64 {
    let of = |name: &str| least[name] - least["nothing"];
    let next = (of("group") - of("one")) / (GROUP - 1) as f64;
    let ns = match operation {
        "transaction and call" => least["call"] - of("update"),
        "get" => of("get"),
        "range" => of("one") - next,
        "next" => next,
        "insert" => of("insert"),
        "further index" => of("insert indexed") - of("insert"),
        "update" => of("update") - of("get"),
        "delete" => of("delete") - of("get"),
        // An assignment is an operation and a copy.
        "number" => of("number") / (2 * UNROLLED) as f64,
        "value" => of("value") / UNROLLED as f64,
        other => unreachable!("there is no loop for {other}"),
    };
    // What is lost in the noise costs next to nothing.
    ns.max(0.0)
}
