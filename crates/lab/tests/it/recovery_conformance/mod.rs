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
//! Each log is written, and gone on with after recovery, under another concurrency control: they take turns, from one on that
//! depends on the case's name.
//!
//! Shelves are read from their lists: a new scheme or log kind is covered with nothing done here.
//! Every failure names the case, the log and the scheme; `PLANARIA_SEED` draws other transactions,
//! `PLANARIA_SCHEME` looks at one scheme only.

mod cases;

use cases::{Case, Step};
use planaria::lab::LabDatabase;
use planaria::lab::LabOptions;
use planaria::{Database, LogKind, Options, ProtocolKind, Scheme, Session};
use planaria_sim::disk::{SimDisk, Survival};
use planaria_workload::Suite;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeMap;

const SESSIONS: usize = 3;

/// How much is run and how it is recovered.
struct Scale {
    /// Transactions, if not the case's own number.
    steps: Option<u32>,
    /// Whether the sessions run at the same time; else in turn, the same way each time.
    concurrent: bool,
    /// What is logged how, with how many ad hoc transactions of a hundred.
    logs: fn() -> Vec<(LogKind, u32)>,
    /// Threads and transactions a batch; none: the scheme's own choice.
    settings: &'static [(usize, Option<usize>)],
}

/// Few transactions, in every way there is.
const SMALL: Scale = Scale {
    steps: None,
    concurrent: false,
    logs: || {
        let kinds = LogKind::ALL.iter().copied().filter(|k| *k != LogKind::Off && *k != LogKind::Command);
        [0, 25, 100]
            .map(|share| (LogKind::Command, share))
            .into_iter()
            .chain(kinds.map(|k| (k, 10)))
            .collect()
    },
    settings: &[(1, None), (2, Some(7)), (3, Some(1)), (16, Some(1 << 20))],
};

/// So many that workers meet.
const LARGE: Scale = Scale {
    steps: Some(3000),
    concurrent: true,
    logs: || vec![(LogKind::Command, 0), (LogKind::Command, 20), (LogKind::Logical, 0)],
    settings: &[(2, Some(97)), (4, Some(1000))],
};

fn seed() -> u64 {
    std::env::var("PLANARIA_SEED").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// How often a procedure was called, and how often it was not refused.
type Calls = BTreeMap<&'static str, (u32, u32)>;

/// One case with one log.
struct Run<'a> {
    case: &'a Case,
    scale: &'a Scale,
    ad_hoc: u32,
    rng: SmallRng,
    calls: Calls,
}

impl Run<'_> {
    /// Runs transactions, and crashes the disk under the database. Answers with the digests.
    fn go_on(&mut self, db: Database, disk: &SimDisk, steps: u32) -> Vec<(String, u128)> {
        let mut sessions: Vec<Session> = (0..SESSIONS).map(|_| db.session().expect("a session")).collect();
        if self.scale.concurrent {
            let (case, ad_hoc, seed) = (self.case, self.ad_hoc, self.rng.random::<u64>());
            let calls: Vec<Calls> = std::thread::scope(|scope| {
                let work = |(i, session): (usize, Session)| {
                    let mut rng = SmallRng::seed_from_u64(seed + i as u64);
                    scope.spawn(move || some(case, ad_hoc, &mut rng, &mut [session], steps / SESSIONS as u32))
                };
                let workers: Vec<_> = sessions.drain(..).enumerate().map(work).collect();
                workers.into_iter().map(|w| w.join().expect("a worker")).collect()
            });
            sessions.push(db.session().expect("a session"));
            calls.into_iter().for_each(|c| add(&mut self.calls, c));
        } else {
            let calls = some(self.case, self.ad_hoc, &mut self.rng, &mut sessions, steps);
            add(&mut self.calls, calls);
        }
        let digests = db.digests().expect("digests");
        // The sessions keep the database running: its end is the disk's.
        db.close().expect("flushes the log");
        disk.crash(Survival::Nothing);
        digests
    }
}

fn add(calls: &mut Calls, more: Calls) {
    for (name, (called, done)) in more {
        let entry = calls.entry(name).or_default();
        *entry = (entry.0 + called, entry.1 + done);
    }
}

/// Runs so many transactions on these sessions.
fn some(case: &Case, ad_hoc: u32, rng: &mut SmallRng, sessions: &mut [Session], steps: u32) -> Calls {
    let mut calls = Calls::new();
    for n in 0..steps {
        let step = (case.draw)(rng, n);
        let (who, ad_hoc) = (rng.random_range(0..sessions.len()), rng.random_range(0..100) < ad_hoc);
        let wait = rng.random_range(0..12) == 0;
        let outcome = run(&mut sessions[who], &step, ad_hoc, wait);
        match step {
            Step::Call(name, _) => add(&mut calls, Calls::from([(name, (1, u32::from(outcome.is_ok())))])),
            Step::Schema(sql) => outcome.unwrap_or_else(|e| panic!("{sql}: {e}")),
            Step::Sql(_) => {}
        }
    }
    calls
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

fn conforms(name: &str, case: &Case, scale: &Scale) {
    let only = std::env::var("PLANARIA_SCHEME").ok();
    println!("seed {}", seed());
    let first: usize = name.bytes().map(usize::from).sum();
    let mut protocols = ProtocolKind::ALL.iter().cycle().skip(first % ProtocolKind::ALL.len());
    for (kind, ad_hoc) in (scale.logs)() {
        let protocol = *protocols.next().expect("a cycle");
        let base = Options::new().protocol(protocol).heal_always(true).in_memory().expect("opens");
        if let Some(suite) = case.suite {
            Suite::find(suite).expect("a suite").install_schema(&base).expect("the suite's schema");
        }
        base.execute_script(case.setup).unwrap_or_else(|e| panic!("{name}: {e}"));
        let rng = SmallRng::seed_from_u64(seed());
        let mut run = Run { case, scale, ad_hoc, rng, calls: Calls::new() };
        let disk = SimDisk::new(seed());
        let open = |options: Options| base.open_on_copy_device(disk.device(), options.log(kind));
        let db = open(Options::new()).expect("opens");
        let mut expected = run.go_on(db, &disk, scale.steps.unwrap_or(case.steps));
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
            // What a scheme is made for is read with every setting; other kinds of log once.
            let all = scale.concurrent
                || match kind {
                    LogKind::Command => ad_hoc < 100,
                    LogKind::Physical => scheme == Scheme::Plr,
                    LogKind::Physiological => scheme == Scheme::Aries,
                    _ => kind == LogKind::Logical,
                };
            let settings = if all { scale.settings } else { &scale.settings[1..2] };
            for &(threads, batch) in settings {
                let what = format!(
                    "{name}: {protocol}, log {kind}, {ad_hoc} % ad hoc, scheme {scheme}, {threads} threads, batches of {batch:?}, seed {}",
                    seed()
                );
                let mut options = Options::new().recovery(scheme).recovery_threads(threads);
                if let Some(transactions) = batch {
                    options = options.recovery_batch(transactions);
                }
                let opened = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| open(options)));
                let db = match opened {
                    Ok(Ok(db)) => db,
                    Ok(Err(error)) => panic!("{what}: {error}"),
                    Err(_) => panic!("{what}: panicked"),
                };
                assert_eq!(db.digests().expect("digests"), expected, "{what}");
                db.check().unwrap_or_else(|e| panic!("{what}: {e}"));
                let report = db.recovery().expect("a report");
                println!("{what}: {} transactions, {} behind barriers", report.transactions, report.barriers);
                if threads == 2 {
                    // What was recovered is a database like any other.
                    expected = run.go_on(db, &disk, 12);
                }
            }
        }
    }
}

macro_rules! cases {
    ($($name:ident $case:ident $scale:ident;)*) => {
        $(#[test]
        fn $name() {
            conforms(stringify!($name), &cases::$case, &$scale);
        })*
    };
}

cases! {
    hot_key HOT_KEY SMALL;
    sums SUMS SMALL;
    aborts ABORTS SMALL;
    coming_and_going COMING_AND_GOING SMALL;
    ranges RANGES SMALL;
    chains CHAINS SMALL;
    wandering_keys WANDERING_KEYS SMALL;
    meeting_rows MEETING_ROWS SMALL;
    moving_rows MOVING_ROWS SMALL;
    handlers HANDLERS SMALL;
    nested NESTED SMALL;
    triggers TRIGGERS SMALL;
    cursors CURSORS SMALL;
    inputs INPUTS SMALL;
    wide_rows WIDE_ROWS SMALL;
    families FAMILIES SMALL;
    schema_changes SCHEMA_CHANGES SMALL;
    by_hand BY_HAND SMALL;
    tpcc TPCC SMALL;
    smallbank SMALLBANK SMALL;
    ycsb YCSB SMALL;
    voter VOTER SMALL;
    tpcb TPCB SMALL;
    many_sums SUMS LARGE;
    many_coming_and_going COMING_AND_GOING LARGE;
    many_chains CHAINS LARGE;
    many_triggers TRIGGERS LARGE;
    many_wandering_keys WANDERING_KEYS LARGE;
    many_inputs INPUTS LARGE;
    many_ranges RANGES LARGE;
    much_tpcc TPCC LARGE;
    much_smallbank SMALLBANK LARGE;
    much_voter VOTER LARGE;
}
