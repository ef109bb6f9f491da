//! Every recovery scheme on every kind of transaction: the same rows as before the crash, per table,
//! and indexes that agree with them.
//!
//! For each case (see [`cases`]) and each kind of log, with a share of ad hoc transactions:
//!
//! 1. a database that begins as a copy of the case's base runs the drawn transactions, one after
//!    another on several sessions, so that records stand in several buffers; some it waits for, so
//!    that there are many epochs;
//! 2. the disk crashes;
//! 3. for each scheme, with several numbers of threads and sizes of batches: the log is recovered on
//!    another copy. Digests and indexes are compared; then the database goes on with further
//!    transactions and is recovered once more.
//!
//! Shelves are read from their lists: a new scheme or log kind is covered with nothing done here.
//! Every failure names the case, the log and the scheme; `PLANARIA_SEED` draws other transactions,
//! `PLANARIA_SCHEME` looks at one scheme only.

mod cases;

use cases::{Case, Step};
use planaria::{Database, LogKind, Options, Scheme, Session};
use planaria_sim::disk::{SimDisk, Survival};
use planaria_workload::Suite;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;

const SESSIONS: usize = 3;

/// Threads and transactions a batch; none: the scheme's own choice.
const SETTINGS: &[(usize, Option<usize>)] = &[(1, None), (2, Some(7)), (3, Some(1)), (16, Some(1 << 20))];

/// What is logged how, with how many ad hoc transactions of a hundred.
fn logs() -> Vec<(LogKind, u32)> {
    let kinds = LogKind::ALL.iter().copied().filter(|k| *k != LogKind::Off && *k != LogKind::Command);
    [0, 25, 100].map(|share| (LogKind::Command, share)).into_iter().chain(kinds.map(|k| (k, 10))).collect()
}

fn seed() -> u64 {
    std::env::var("PLANARIA_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// One case with one log.
struct Run<'a> {
    case: &'a Case,
    base: &'a Database,
    kind: LogKind,
    ad_hoc: u32,
    rng: SmallRng,
    drawn: u32,
    /// How often each procedure was called, and how often it was not refused.
    calls: BTreeMap<&'static str, (u32, u32)>,
}

impl Run<'_> {
    fn open(&self, disk: &SimDisk, options: Options) -> Database {
        self.base.open_on_copy_device(disk.device(), options.log(self.kind)).expect("opens")
    }

    /// Runs transactions, and crashes the disk under the database. Answers with the digests.
    fn go_on(&mut self, db: Database, disk: &SimDisk, steps: u32) -> Vec<(String, u128)> {
        let mut sessions: Vec<Session> = (0..SESSIONS).map(|_| db.session().expect("a session")).collect();
        for _ in 0..steps {
            let step = (self.case.draw)(&mut self.rng, self.drawn);
            let (who, ad_hoc) =
                (self.rng.random_range(0..SESSIONS), self.rng.random_range(0..100) < self.ad_hoc);
            let wait = self.rng.random_range(0..12) == 0;
            let outcome = run(&mut sessions[who], &step, ad_hoc, wait);
            self.drawn += 1;
            match step {
                Step::Call(name, _) => {
                    let (called, done) = self.calls.entry(name).or_default();
                    *called += 1;
                    *done += u32::from(outcome.is_ok());
                }
                Step::Schema(sql) => outcome.unwrap_or_else(|e| panic!("{sql}: {e}")),
                Step::Sql(_) => {}
            }
        }
        let digests = db.digests().expect("digests");
        // The sessions keep the database running: its end is the disk's.
        db.close().expect("flushes the log");
        disk.crash(Survival::Nothing);
        digests
    }
}

/// Runs a transaction; a refusal is as good as a success.
fn run(session: &mut Session, step: &Step, ad_hoc: bool, wait: bool) -> planaria::Result<()> {
    match step {
        Step::Schema(sql) => session.execute(sql, ()).map(|_| ()),
        _ if ad_hoc => {
            let mut block = session.transaction()?;
            run(&mut block, step, false, true)?;
            block.commit()
        }
        Step::Sql(sql) => session.execute(sql, ()).map(|_| ()),
        Step::Call(name, arguments) => {
            let call = session.prepare_call(name, arguments.len())?;
            let submitted = session.submit(&call, arguments)?;
            if wait { submitted.ticket.wait() } else { Ok(()) }
        }
    }
}

fn conforms(name: &str, case: &Case) {
    let only = std::env::var("PLANARIA_SCHEME").ok();
    println!("seed {}", seed());
    let base = Database::in_memory().expect("opens");
    if let Some(suite) = case.suite {
        Suite::find(suite).expect("a suite").install_schema(&base).expect("the suite's schema");
    }
    base.execute_script(case.setup).unwrap_or_else(|e| panic!("{name}: {e}"));
    for (kind, ad_hoc) in logs() {
        let mut run = Run {
            case,
            base: &base,
            kind,
            ad_hoc,
            rng: SmallRng::seed_from_u64(seed()),
            drawn: 0,
            calls: BTreeMap::new(),
        };
        let disk = SimDisk::new(seed());
        let db = run.open(&disk, Options::new());
        let mut expected = run.go_on(db, &disk, case.steps);
        for (procedure, (called, done)) in &run.calls {
            assert!(
                done * 10 > *called,
                "{name}: {procedure} was refused {} of {called} times",
                called - done
            );
        }
        for &scheme in Scheme::ALL {
            if only.as_ref().is_some_and(|only| only != scheme.name()) {
                continue;
            }
            // A scheme that is not made for this kind of log must still read it right: once is enough.
            let all = kind == LogKind::Command && ad_hoc < 100 || kind == LogKind::Logical;
            let settings = if all { SETTINGS } else { &SETTINGS[1..2] };
            for &(threads, batch) in settings {
                let what = format!(
                    "{name}: log {kind}, {ad_hoc} % ad hoc, scheme {}, {threads} threads, batches of {batch:?}, seed {}",
                    scheme.name(),
                    seed()
                );
                let mut options = Options::new().recovery(scheme).recovery_threads(threads);
                if let Some(transactions) = batch {
                    options = options.recovery_batch(transactions);
                }
                let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    base.open_on_copy_device(disk.device(), options.log(kind))
                }));
                let db = match opened {
                    Ok(Ok(db)) => db,
                    Ok(Err(error)) => panic!("{what}: {error}"),
                    Err(_) => panic!("{what}: panicked"),
                };
                assert_eq!(db.digests().expect("digests"), expected, "{what}");
                db.check().unwrap_or_else(|e| panic!("{what}: {e}"));
                if threads == 2 {
                    // What was recovered is a database like any other.
                    expected = run.go_on(db, &disk, 12);
                }
            }
        }
    }
}

macro_rules! cases {
    ($($name:ident $case:ident;)*) => {
        $(#[test]
        fn $name() {
            conforms(stringify!($name), &cases::$case);
        })*
    };
}

cases! {
    hot_key HOT_KEY;
    sums SUMS;
    aborts ABORTS;
    coming_and_going COMING_AND_GOING;
    ranges RANGES;
    chains CHAINS;
    wandering_keys WANDERING_KEYS;
    moving_rows MOVING_ROWS;
    handlers HANDLERS;
    nested NESTED;
    inputs INPUTS;
    wide_rows WIDE_ROWS;
    families FAMILIES;
    schema_changes SCHEMA_CHANGES;
    by_hand BY_HAND;
    tpcc TPCC;
    smallbank SMALLBANK;
    ycsb YCSB;
    voter VOTER;
    tpcb TPCB;
}
