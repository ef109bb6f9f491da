//! Random programs on several threads. What a program does is a function of its seed and of what it
//! reads, so that it can be replayed: in commit order, on `serial`, with the same answers and the same
//! tables at the end. The histories are also given to the model and to the graph.

use super::fixture::*;
use planaria_base::Strength;
use planaria_base::sync::thread;
use planaria_protocol::{Backoff, Conflict, Healed, Hosted, IfClaimed, Serial};
use planaria_sim::history::{By, History, Model, Transaction, Violation};
use planaria_sim::scheduler;
use std::sync::atomic::{AtomicU32, Ordering};

/// How a run is made.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub seed: u64,
    pub threads: u64,
    /// Transactions a thread commits.
    pub commits: u64,
    /// Keys and tags are below this.
    pub keys: u64,
    /// Operations of a transaction are at most this.
    pub ops: u64,
    /// Percent of operations after which the processor is given up: two cores interleave little.
    pub yields: u64,
    /// Percent of transactions that claim what they write, and remember ranges.
    pub claims: u64,
    /// Rows move between groups, and groups are counted; nothing else.
    pub moves: bool,
    /// Percent of programs that only read, and say so.
    pub readers: u64,
}

impl Plan {
    /// Whether the program with this seed only reads.
    fn only_reads(&self, seed: u64) -> bool {
        self.readers > 0 && Random(seed ^ 0xbead).chance(self.readers)
    }

    pub fn of(seed: u64) -> Plan {
        let (threads, commits, keys, ops, yields) = (4, 250, 16, 10, 15);
        Plan { seed, threads, commits, keys, ops, yields, claims: 30, moves: false, readers: 0 }
    }
}

fn write<P: Hosted>(c: &mut Client<'_, P>, r: &mut Random, plan: &Plan, carried: i64) -> Outcome<()> {
    let (table, key) = (r.below(TABLES.into()) as u32, r.below(plan.keys) as i64);
    let tag = r.chance(60).then(|| r.below(plan.keys) as i64);
    let pad = if r.chance(10) { 300 } else { r.below(20) as usize };
    let new = NewRow { key, group: carried.rem_euclid(5), tag, value: carried, pad };
    match (r.below(5), c.get(table, key)?) {
        (_, None) => c.insert(table, new)?.map(drop).unwrap_or_default(),
        (0, Some(seen)) => {
            c.delete(table, seen)?;
            if r.chance(50) {
                c.insert(table, new)?.map(drop).unwrap_or_default();
            }
        }
        (1, Some(seen)) => c.update(table, seen, new)?.unwrap_or_default(),
        (2, Some(seen)) => {
            // Give the tag to another row.
            c.update(table, seen, NewRow { tag: None, ..seen.row })?.unwrap_or_default();
            let other = c.get(table, r.below(plan.keys) as i64)?;
            if let Some(other) = other.filter(|other| other.row.key != key) {
                c.update(table, other, NewRow { tag: seen.row.tag, ..other.row })?.unwrap_or_default();
            }
        }
        (_, Some(seen)) => {
            c.update(table, seen, NewRow { value: carried, pad, ..seen.row })?.unwrap_or_default();
        }
    }
    Ok(())
}

/// One that counts the rows of a group, or moves one to another.
fn move_or_count<P: Hosted>(c: &mut Client<'_, P>, plan: &Plan, seed: u64, pace: bool) -> Outcome<()> {
    let mut r = Random(seed);
    let (group, key) = (r.below(3) as i64, r.below(plan.keys) as i64);
    let (table, value) = match r.below(2) {
        0 => (1, c.scan_by(0, By::Group, group, group, r.chance(50))?.len() as i64),
        _ => (0, 0),
    };
    let new = NewRow { group, value, ..row(key) };
    match c.get(table, key)? {
        Some(seen) => c.update(table, seen, NewRow { tag: seen.row.tag, ..new })?.unwrap_or_default(),
        None => c.insert(table, new)?.map(drop).unwrap_or_default(),
    }
    // Its entries are in the indexes by now, and others come by.
    (0..r.below(8)).filter(|_| pace).for_each(|_| thread::yield_now());
    Ok(())
}

/// One that looks at rows, and at some of them twice.
fn look<P: Hosted>(c: &mut Client<'_, P>, plan: &Plan, seed: u64, pace: bool) -> Outcome<()> {
    let (mut r, mut pauses) = (Random(seed), Random(seed ^ 0xfeed));
    for _ in 0..1 + r.below(plan.ops) {
        let (table, value) = (r.below(TABLES.into()) as u32, r.below(plan.keys) as i64);
        match r.below(4) {
            0 => {
                if let Some(seen) = c.get(table, value)? {
                    let again = c.load(table, seen.handle)?;
                    // (A run that may be healed goes on where a row changes under it, as it will be run again.)
                    assert!(P::HEALS || again.map(|again| again.version) == Some(seen.version));
                }
            }
            1 => drop(c.get_by(table, By::Tag, value)?),
            _ => {
                let by = [By::Key, By::Group, By::Tag][r.below(3) as usize];
                let high = value + r.below(plan.keys) as i64;
                c.scan_by(table, by, value, high, r.chance(50))?;
            }
        }
        if pace && pauses.chance(plan.yields) {
            thread::yield_now();
        }
    }
    Ok(())
}

/// One transaction's operations.
pub fn program<P: Hosted>(c: &mut Client<'_, P>, plan: &Plan, seed: u64, pace: bool) -> Outcome<()> {
    if plan.only_reads(seed) {
        return look(c, plan, seed, pace);
    }
    if plan.moves {
        return move_or_count(c, plan, seed, pace);
    }
    let mut r = Random(seed);
    // Pauses come from other numbers: replay makes none.
    let mut pauses = Random(seed ^ 0xfeed);
    // What has been read, so that it shows in what is written.
    let mut carried = 0i64;
    let mut savepoints = Vec::new();
    for _ in 0..1 + r.below(plan.ops) {
        let (table, value) = (r.below(TABLES.into()) as u32, r.below(plan.keys) as i64);
        match r.below(10) {
            0 | 1 => {
                let seen = c.get(table, value)?;
                carried += seen.map_or(1, |seen| seen.row.value);
                if let Some(seen) = seen.filter(|_| pauses.chance(50)) {
                    c.claim(table, seen, Strength::ALL[pauses.below(4) as usize], IfClaimed::Wait)?;
                }
            }
            2 => carried += c.get_by(table, By::Tag, value)?.map_or(2, |seen| seen.row.value),
            3 => {
                let by = [By::Key, By::Group, By::Tag][r.below(3) as usize];
                let high = value + r.below(plan.keys) as i64;
                let descending = r.chance(50);
                let rows = match r.below(3) {
                    0 if by != By::Group => {
                        let n = 1 + r.below(3) as usize;
                        c.scan_first(table, by, (value, high), descending, n)?
                    }
                    _ => c.scan_by(table, by, value, high, descending)?,
                };
                carried += rows.iter().map(|s| s.row.value + 1).sum::<i64>();
            }
            4 => savepoints.push(c.savepoint()),
            5 => {
                if let Some(savepoint) = savepoints.pop() {
                    if r.chance(60) {
                        // Before or after, or not at all.
                        let unlocks = pauses.below(3);
                        if unlocks == 0 {
                            c.unlock_to(savepoint);
                        }
                        c.rollback_to(savepoint);
                        if unlocks == 1 {
                            c.unlock_to(savepoint);
                        }
                    }
                    c.release(savepoint);
                }
            }
            _ => write(c, &mut r, plan, carried % 1000)?,
        }
        if pace && pauses.chance(plan.yields) {
            thread::yield_now();
        }
    }
    while let Some(savepoint) = savepoints.pop() {
        c.release(savepoint);
    }
    Ok(())
}

pub struct Run<P: Hosted> {
    pub db: Db<P>,
    pub initial: Model,
    /// Committed transactions with their seeds.
    pub committed: Vec<(u64, Transaction)>,
    pub conflicts: Vec<Conflict>,
    /// Those that were healed, and what that took.
    pub healed: usize,
    pub healing: Healed,
}

fn initial_rows(plan: &Plan) -> Vec<NewRow> {
    (0..plan.keys as i64).step_by(2).map(|key| NewRow { tag: Some(key), ..row(key) }).collect()
}

pub fn fresh<P: Hosted>(plan: &Plan) -> Db<P> {
    let db = Db::new();
    for table in 0..TABLES {
        db.load(table + 1, table, &initial_rows(plan));
    }
    db
}

/// Runs programs on all threads; then compares with the model, the graph, and a replay.
pub fn run<P: Hosted>(plan: Plan) -> Run<P> {
    let db: Db<P> = fresh(&plan);
    let initial = db.model();
    let ids = AtomicU32::new(100);
    let (mut committed, mut conflicts) = (Vec::new(), Vec::new());
    let mut healing: Vec<Healed> = Vec::new();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..plan.threads)
            .map(|thread| {
                let (db, ids) = (&db, &ids);
                scope.spawn(move || {
                    let mut client = db.client(thread as u16 + 1);
                    let mut r = Random(plan.seed.wrapping_mul(1000) + thread);
                    let mut backoff = Backoff::new(thread + 1);
                    let (mut committed, mut conflicts) = (Vec::new(), Vec::new());
                    let mut healing = Vec::new();
                    while (committed.len() as u64) < plan.commits {
                        let seed = r.next();
                        backoff.reset();
                        loop {
                            client.begin(ids.fetch_add(1, Ordering::Relaxed));
                            let reads = plan.only_reads(seed);
                            let claims = r.chance(plan.claims) && !reads;
                            if reads && db.protocol.only_reads(&mut client.txn, &db.clock) {
                                let done = program(&mut client, &plan, seed, true);
                                let done = done.and_then(|()| client.commit());
                                committed.push((seed, done.expect("who only reads is not refused")));
                                break;
                            }
                            if claims {
                                client.db.protocol.claim_writes(&mut client.txn);
                            } else {
                                client.may_heal();
                            }
                            match client.run_healed(|c| program(c, &plan, seed, true)) {
                                Ok((transaction, healed)) => {
                                    healing.push(healed);
                                    committed.push((seed, transaction));
                                    break;
                                }
                                Err(conflict) => {
                                    conflicts.push(conflict);
                                    match conflict {
                                        _ if claims => client.abort(),
                                        // Nobody waits here: what it has met it meets again, or not.
                                        Conflict::Claimed => client.abort(),
                                        // As calls are tried again.
                                        _ => client.retry(),
                                    }
                                    let tail = &conflicts[conflicts.len().saturating_sub(20)..];
                                    assert!(conflicts.len() < 200_000, "no progress: {plan:?} {tail:?}");
                                    backoff.wait();
                                }
                            }
                        }
                    }
                    (committed, conflicts, healing)
                })
            })
            .collect();
        for thread in threads {
            let (some, others, healed) = thread.join().unwrap();
            healing.extend(healed);
            committed.extend(some);
            conflicts.extend(others);
        }
    });
    committed.sort_by_key(|(_, t): &(u64, Transaction)| (t.ts, t.drew));
    let healed = healing.iter().filter(|h| h.runs + h.false_invalidations > 0).count();
    let healing = healing.iter().fold(Healed::default(), |sum, h| Healed {
        runs: sum.runs + h.runs,
        known: sum.known + h.known,
        repeated: sum.repeated + h.repeated,
        false_invalidations: sum.false_invalidations + h.false_invalidations,
        relocks: sum.relocks + h.relocks,
    });
    Run { db, initial, committed, conflicts, healed, healing }
}

impl<P: Hosted> Run<P> {
    pub fn history(&self) -> History {
        History::new(self.committed.iter().map(|(_, t)| t.clone()).collect())
    }

    /// What the checkers say.
    pub fn verdict(&self) -> Result<(), Violation> {
        let end = self.history().check_order(self.initial.clone())?;
        self.history().check_graph(&self.initial)?;
        if end != self.db.model() {
            return Err(Violation("the tables differ from the model's at the end".to_owned()));
        }
        Ok(())
    }

    /// Replays the committed programs in commit order on `serial`.
    pub fn replay(&self, plan: &Plan) {
        let oracle: Db<Serial> = fresh(plan);
        let mut client = oracle.client(1);
        for (seed, transaction) in &self.committed {
            client.begin(transaction.id);
            program(&mut client, plan, *seed, false).unwrap();
            assert_eq!(client.ops, transaction.ops, "T{} replayed differs; {plan:?}", transaction.id);
            client.commit().unwrap();
        }
        oracle.check();
        assert_eq!(oracle.digest(), self.db.digest(), "replay gives other tables; {plan:?}");
    }
}

pub fn check<P: Hosted>(plan: Plan) -> Run<P> {
    let run: Run<P> = run(plan);
    if let Err(violation) = run.verdict() {
        panic!("{plan:?}: {violation}");
    }
    run.db.check();
    run.replay(&plan);
    run
}

/// The seeds to try: `PLANARIA_SEED` alone if it is set.
pub fn seeds(n: u64) -> Vec<u64> {
    match std::env::var("PLANARIA_SEED") {
        Ok(seed) => vec![seed.parse().expect("PLANARIA_SEED is a number")],
        Err(_) => (1..=n).collect(),
    }
}

pub fn histories_are_serializable_in_commit_order<P: Hosted>() {
    let mut conflicts = Vec::new();
    for seed in seeds(6) {
        conflicts.extend(check::<P>(Plan::of(seed)).conflicts);
    }
    // A run without a conflict would test nothing.
    assert_eq!(P::CONCURRENT, !conflicts.is_empty());
}

pub fn hot_keys<P: Hosted>() {
    for seed in seeds(3) {
        check::<P>(Plan { keys: 3, ops: 6, ..Plan::of(seed + 1000) });
    }
}

pub fn long_scans_against_writers<P: Hosted>() {
    for seed in seeds(2) {
        // Several leaves, many inserts and deletes; a scan crosses all of it.
        check::<P>(Plan { keys: 400, ops: 12, commits: 120, yields: 5, ..Plan::of(seed + 2000) });
    }
}

/// Blocks alone, and beside calls.
pub fn ranges_against_writers<P: Hosted>() {
    for seed in seeds(3) {
        check::<P>(Plan { claims: 100, keys: 8, ..Plan::of(seed + 3000) });
        check::<P>(Plan { claims: 50, keys: 300, ops: 14, commits: 100, ..Plan::of(seed + 4000) });
    }
}

/// Blocks whose threads change at the worst points.
pub fn ranges_under_many_schedules<P: Hosted>() {
    for seed in seeds(150) {
        let (keys, claims) = ([3, 5, 40][seed as usize % 3], [100, 100, 60][seed as usize / 3 % 3]);
        let moves = seed % 2 == 0;
        let plan = Plan { threads: 3, commits: 6, keys, ops: 6, claims, moves, ..Plan::of(seed + 5000) };
        let run = scheduler::run(scheduler::Options::of_seed(seed), move || drop(check::<P>(plan)));
        let run = run.unwrap_or_else(|stuck| panic!("{plan:?}: {stuck}"));
        run.value.unwrap_or_else(|_| panic!("{plan:?}: see above"));
    }
}

/// Plans of all shapes for `PLANARIA_STRESS_SECONDS` (1). A failure prints its plan.
pub fn stress<P: Hosted>() {
    let seconds = std::env::var("PLANARIA_STRESS_SECONDS").map_or(1, |s| s.parse().expect("seconds"));
    let start = std::time::Instant::now();
    let mut r = Random(start.elapsed().as_nanos() as u64 ^ u64::from(std::process::id()));
    let (mut runs, mut commits, mut healed, mut conflicts) = (0, 0, 0, 0);
    while start.elapsed().as_secs() < seconds {
        let plan = Plan {
            seed: r.next() >> 32,
            threads: 2 + r.below(5),
            commits: 50 + r.below(300),
            keys: [2, 3, 5, 8, 20, 100, 1000][r.below(7) as usize],
            ops: 2 + r.below(20),
            yields: r.below(50),
            claims: [0, 30, 100][r.below(3) as usize],
            moves: r.chance(20),
            readers: [0, 0, 30][r.below(3) as usize],
        };
        let run = check::<P>(plan);
        runs += 1;
        commits += run.committed.len();
        conflicts += run.conflicts.len();
        healed += run.healed;
    }
    println!("{runs} runs, {commits} commits, {healed} healed, {conflicts} conflicts");
}
