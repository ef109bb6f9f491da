//! Serializability, at the level of the whole engine: histories of random transactions on several threads.
//!
//! A history is short and crowded: some threads, each with a few transactions over a handful of rows. They
//! are calls of compiled PL/pgSQL, statements and transaction blocks, with scans by three indexes, unique
//! keys, deletes, `FOR UPDATE`, savepoints and handlers, and readers of snapshots; pauses by seed make them
//! meet. Each write has a version of its own, so that what is read says who wrote it
//! ([`planaria_sim::history`]). Of each history it is checked that
//!
//! 1. its direct serialization graph has no cycle, and nothing aborted or intermediate was read;
//! 2. the transactions, one after the other in the order of their commit timestamps, give the same answers;
//! 3. and lead to the same rows;
//! 4. what a block was shown, whether or not it was committed, is one of the states between them, and its own changes.
//!
//! Blocks are of all levels; of those below SERIALIZABLE the writes alone have a place in the order, and under READ
//! COMMITTED (4) is not asked for.
//!
//! Half of the batches log to a simulated disk: after those the log is replayed, by a scheme drawn, and must
//! lead to the same digests.

pub(crate) mod client;
pub(crate) mod program;

use client::Client;
use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, Result, Scheme};
use planaria_base::sync::thread;
use planaria_sim::dice::Dice;
use planaria_sim::disk::{SimDisk, Survival};
use planaria_sim::history::{History, Model, RowState, Transaction, Version};
use serde::Serialize;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};

/// How much is run.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Seed of the first history.
    pub seed: u64,
    /// Histories.
    pub count: u64,
    /// Of the threads of one.
    pub threads: u64,
}

/// What was found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    /// Histories checked.
    pub histories: u64,
    /// Transactions committed in them.
    pub transactions: u64,
    /// Operations of those.
    pub operations: u64,
    /// Blocks that were shown one state.
    pub shown: u64,
    /// Blocks that could not be serialized and were rolled back.
    pub conflicts: u64,
    /// Logs replayed and compared.
    pub replays: u64,
    /// What was wrong, with the seed of the batch.
    pub violations: Vec<String>,
}

/// Histories on one database.
pub const BATCH: u64 = 50;

/// Keys, tags and groups are below this.
const KEYS: i64 = 10;

pub(crate) const SCHEMA: &str = "
    CREATE TABLE t (id bigint PRIMARY KEY, version bigint NOT NULL, grp bigint NOT NULL, tag bigint UNIQUE);
    CREATE INDEX t_by_grp ON t (grp);";

/// Runs and checks; `told` hears after each batch. Ends early after ten violations.
pub fn run(extent: Extent, told: &mut dyn FnMut(&Tally)) -> Tally {
    let mut tally = Tally::default();
    let mut batch = 0;
    while tally.histories < extent.count && tally.violations.len() < 10 {
        let seed = extent.seed + batch;
        let count = BATCH.min(extent.count - tally.histories);
        if let Err(what) = one_batch(seed, count, extent.threads, &mut tally) {
            tally.violations.push(format!("seed {seed}: {what}"));
        }
        told(&tally);
        batch += 1;
    }
    tally
}

fn one_batch(seed: u64, count: u64, threads: u64, tally: &mut Tally) -> std::result::Result<(), String> {
    let say = |e: planaria::Error| format!("{} {e}", e.sqlstate().as_str());
    let mut dice = Dice::new(seed, 5);
    let protocol = crate::protocol(&mut dice);
    // Of those that may heal, half also decide whether to.
    let options = Options::new().protocol(protocol).heal_always(seed.is_multiple_of(2));
    if dice.chance(50) {
        let db = options.in_memory().map_err(say)?;
        return batch_on(&db, seed, count, threads, tally);
    }
    let disk = SimDisk::new(seed);
    let kinds: Vec<_> = LogKind::ALL.iter().copied().filter(|k| *k != LogKind::Off).collect();
    let options = options.log(dice.of(&kinds)).loggers(1 + dice.below(2) as usize);
    let options = options.log_segments(64 << 10, 1000);
    let db = options.clone().open_device(disk.device()).map_err(say)?;
    batch_on(&db, seed, count, threads, tally)?;
    let digests = db.digests().map_err(say)?;
    disk.crash(Survival::Nothing);
    drop(db);
    let scheme = dice.of(Scheme::ALL);
    let options = options.recovery(scheme).recovery_threads(1 + dice.below(3) as usize);
    let db = options.open_device(disk.device()).map_err(say)?;
    let replayed = db.digests().and_then(|d| db.check().map(|()| d)).map_err(say)?;
    if replayed != digests {
        return Err(format!("replay by {scheme} leads to {replayed:?}, not to {digests:?}"));
    }
    tally.replays += 1;
    Ok(())
}

/// Histories on a database without the schema; the first violation ends it.
pub fn batch_on(
    db: &Database,
    seed: u64,
    count: u64,
    threads: u64,
    tally: &mut Tally,
) -> std::result::Result<(), String> {
    let say = |e: planaria::Error| format!("{} {e}", e.sqlstate().as_str());
    db.execute_script(SCHEMA).map_err(say)?;
    db.execute_script(&program::procedures()).map_err(say)?;
    for number in 0..count {
        let recorded = record(db, seed, number, threads).map_err(say)?;
        tally.histories += 1;
        tally.transactions += recorded.history.transactions().len() as u64;
        tally.operations += recorded.history.transactions().iter().map(|t| t.ops.len() as u64).sum::<u64>();
        tally.conflicts += recorded.conflicts;
        tally.shown += recorded.shown.len() as u64;
        check(db, recorded).map_err(|what| format!("history {number}: {what}"))?;
    }
    Ok(())
}

struct Recorded {
    initial: Model,
    history: History,
    conflicts: u64,
    shown: Vec<Transaction>,
}

/// The rows that a history begins with, written by transaction 1.
pub(crate) fn fresh(db: &Database) -> Result<Model> {
    db.execute_script(&format!(
        "BEGIN; DELETE FROM t;
         INSERT INTO t SELECT i, 65536 + i, i % 3, CASE WHEN i % 4 = 0 THEN i END
         FROM generate_series(0, {}, 2) AS g(i); COMMIT",
        KEYS - 1
    ))?;
    let mut model = Model::default();
    for key in (0..KEYS).step_by(2) {
        let version = Version::new(1, key as u32);
        model.put(0, key, RowState { version, group: key % 3, tag: (key % 4 == 0).then_some(key) });
    }
    Ok(model)
}

/// Runs one history.
fn record(db: &Database, seed: u64, number: u64, threads: u64) -> Result<Recorded> {
    let initial = fresh(db)?;
    let mut dice = Dice::new(seed, 100 + number);
    let each = 2 + dice.below(4);
    let ids = AtomicU32::new(2);
    let barrier = Barrier::new(threads as usize);
    let outcomes: Vec<Result<(Vec<Transaction>, u64, Vec<Transaction>)>> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|_| {
                let (ids, barrier, seed) = (&ids, &barrier, dice.draw());
                scope.spawn(move || {
                    // All wait for all, whatever happens: else one that fails would stop the others.
                    let client = db.session().map(|session| Client::new(session, Dice::new(seed, 7), ids));
                    barrier.wait();
                    let mut client = client?;
                    (0..each).try_for_each(|_| client.transaction())?;
                    Ok(client.end())
                })
            })
            .collect();
        let join = |w: thread::ScopedJoinHandle<'_, _>| {
            w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().map(join).collect()
    });
    let (mut transactions, mut conflicts, mut shown) = (Vec::new(), 0, Vec::new());
    for outcome in outcomes {
        let (committed, failed, seen) = outcome?;
        transactions.extend(committed);
        shown.extend(seen);
        conflicts += failed;
    }
    let _ = ids.load(Ordering::Relaxed);
    Ok(Recorded { initial, history: History::new(transactions), conflicts, shown })
}

/// Checks one history, and what it left.
fn check(db: &Database, recorded: Recorded) -> std::result::Result<(), String> {
    let Recorded { initial, history, shown, .. } = recorded;
    explain(db, initial.clone(), &history)?;
    let mut states = vec![initial];
    for transaction in history.transactions() {
        let mut next = states[states.len() - 1].clone();
        next.execute(transaction).map_err(|violation| violation.to_string())?;
        states.push(next);
    }
    match shown.iter().find(|seen| !states.iter().any(|state| state.clone().execute(seen).is_ok())) {
        Some(seen) => {
            let all: String = history.transactions().iter().map(|t| format!("\n  {t:?}")).collect();
            Err(format!("a block was shown what never was:\n  {seen:?}\nall that was committed:{all}"))
        }
        None => Ok(()),
    }
}

/// One order explains a history that began with these rows, and leads to those that are there; which these are.
pub(crate) fn explain(
    db: &Database,
    initial: Model,
    history: &History,
) -> std::result::Result<Model, String> {
    let model = history.check(initial).map_err(|violation| {
        let all: String = history.transactions().iter().map(|t| format!("\n  {t:?}")).collect();
        format!("{violation}\nall of it:{all}")
    })?;
    let say = |e: planaria::Error| format!("{} {e}", e.sqlstate().as_str());
    let rows = db.query("SELECT id, version, grp, tag FROM t ORDER BY id", ()).map_err(say)?;
    let mut there = Vec::new();
    for row in &rows {
        let version = Version(row.get::<i64>(1).map_err(say)? as u64);
        let (group, tag) = (row.get(2).map_err(say)?, row.get(3).map_err(say)?);
        there.push(((0u32, row.get::<i64>(0).map_err(say)?), RowState { version, group, tag }));
    }
    let expected: Vec<_> = model.rows().iter().map(|(key, row)| (*key, *row)).collect();
    match there == expected {
        true => db.check().map(|()| model).map_err(say),
        false => Err(format!("it leaves {there:?}, its transactions one after the other {expected:?}")),
    }
}
