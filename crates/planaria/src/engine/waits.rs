//! Who waits for whom, whatever for: what deadlocks are found by, and what `pg_locks` and `pg_blocking_pids` tell.
//!
//! Rows, tables, advisory locks and the gate have a list each. Whoever waits for a table or an advisory lock collects
//! them all, at once and then now and then (a wait for a row finds rings of such waits alone; so the others find those
//! that it closes). The lists are not of one moment: a ring counts where two collections in a row have it, as the waits
//! of a ring do not end by themselves. Who finds one gives up.

use crate::engine::Engine;
use crate::engine::counters::Pause;
use crate::engine::program::cancel::Cancel;
use crate::engine::program::refusal::gave_up;
use crate::stats::Waiting;
use crate::system::{Awaited, LockInfo};
use planaria_base::sync::Instant;
use planaria_base::{Error, SqlState, Strength, TableId, WorkerId};
use planaria_catalog::Catalog;
use planaria_catalog::oids::DATABASE_OID;
use planaria_protocol::Wait;
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often whoever waits looks whether it has been cancelled.
pub(crate) const LOOK: Duration = Duration::from_millis(20);

/// How long a wait for tables and keys lasts at most before it looks for rings again.
const RINGS_MAX: Duration = Duration::from_secs(1);

/// One session waits for another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    pub(crate) worker: WorkerId,
    pub(crate) holder: WorkerId,
    pub(crate) what: Awaited,
}

/// What a claim is about: the end of a transaction, if there is no row.
fn awaited(row: Option<(TableId, Strength)>) -> Awaited {
    row.map_or(Awaited::End, |(table, strength)| Awaited::Row(table, strength))
}

impl Edge {
    /// A wait for a row, or for the end of a transaction.
    pub(crate) fn of_claim(wait: &Wait) -> Edge {
        Edge { worker: wait.worker, holder: wait.holder, what: awaited(wait.row) }
    }
}

/// The ring of waits that a session is part of.
fn ring_in(edges: &[Edge], worker: WorkerId) -> Option<Vec<Edge>> {
    let mut of: HashMap<WorkerId, Vec<Edge>> = HashMap::new();
    edges.iter().for_each(|edge| of.entry(edge.worker).or_default().push(*edge));
    let (mut seen, mut path) = (HashSet::from([worker]), Vec::new());
    // Places in the edges of each session on the path.
    let mut places = vec![(worker, 0)];
    while let Some((at, place)) = places.last_mut() {
        let Some(edge) = of.get(at).and_then(|edges| edges.get(*place)) else {
            places.pop();
            path.pop();
            continue;
        };
        *place += 1;
        if edge.holder == worker {
            path.push(*edge);
            return Some(path);
        }
        if seen.insert(edge.holder) {
            path.push(*edge);
            places.push((edge.holder, 0));
        }
    }
    None
}

impl Engine {
    /// Who waits for whom.
    pub(crate) fn waits(&self) -> Vec<Edge> {
        let mut edges: Vec<Edge> = self.store.waits().iter().map(Edge::of_claim).collect();
        edges.extend(self.locks.waits());
        let advisory = self.advisory.waits().into_iter();
        edges.extend(advisory.map(|(worker, holder, lock)| Edge {
            worker,
            holder,
            what: Awaited::Advisory(lock),
        }));
        let at_gate = self.gate.at_gate();
        if let Some(holder) = at_gate.iter().find(|at| at.holds) {
            let waiting = at_gate.iter().filter(|at| !at.holds && at.worker != holder.worker);
            edges.extend(waiting.map(|at| Edge {
                worker: at.worker,
                holder: holder.worker,
                what: Awaited::Gate,
            }));
        }
        edges
    }

    /// How many sessions do not go on.
    pub(crate) fn waiting(&self) -> Waiting {
        let locks: HashSet<WorkerId> = self.waits().iter().map(|edge| edge.worker).collect();
        let paused = self.counters.paused();
        let of = |wanted| paused.iter().filter(|(_, pause)| *pause == wanted).count() as u64;
        let locks = locks.len() as u64 + of(Pause::Turn);
        Waiting { locks, retries: of(Pause::Retry), heals: of(Pause::Heal) }
    }

    /// What sessions have locked, and what they wait for: tables that open blocks have touched or locked, keys, rows,
    /// the ends of transactions, the gate.
    pub(crate) fn all_locks(&self) -> Vec<LockInfo> {
        let mut list = Vec::new();
        let mut add = |worker, what, granted| {
            list.push(LockInfo { process: self.process(worker), what, granted });
        };
        for (worker, touch) in self.locks.all_touched() {
            add(worker, Awaited::Table(touch.mode, touch.part.unwrap_or(touch.table)), true);
        }
        for lock in self.locks.list() {
            add(lock.worker, Awaited::Table(lock.mode, lock.place.shown()), lock.granted);
        }
        for (worker, table, mode) in self.locks.barred() {
            add(worker, Awaited::Table(mode, table), false);
        }
        for info in self.advisory.list() {
            add(info.worker, Awaited::Advisory(info.lock), info.granted);
        }
        for claim in self.store.claims() {
            add(claim.worker, awaited(claim.row), claim.granted);
        }
        for at in self.gate.at_gate() {
            add(at.worker, Awaited::Gate, at.holds);
        }
        list
    }

    /// The sessions that a session waits for.
    pub(crate) fn blockers(&self, process: i32) -> Vec<i32> {
        let waits = self.waits().into_iter().filter(|edge| self.process(edge.worker) == process);
        let mut blockers: Vec<i32> = waits.map(|edge| self.process(edge.holder)).collect();
        blockers.sort_unstable();
        blockers.dedup();
        blockers
    }

    /// The ring of waits that a session is part of, if it is to give up its own for it: where several look at once,
    /// one of them does. Whoever does is [no victim any more](Lookout) as soon as its wait is over.
    fn give_way(&self, worker: WorkerId) -> Option<Vec<Edge>> {
        let mut victims = self.victims.lock();
        let waits = || {
            let mut edges = self.waits();
            edges.retain(|edge| !victims.contains(&edge.worker));
            edges
        };
        let ring = ring_in(&waits(), worker)?;
        let still = waits();
        let found = ring.iter().all(|edge| still.contains(edge));
        found.then(|| {
            victims.push(worker);
            ring
        })
    }

    /// The number by which clients know a worker's session.
    pub(crate) fn process(&self, worker: WorkerId) -> i32 {
        self.processes[usize::from(worker.0)].load(Ordering::Relaxed)
    }

    /// 40P01
    #[cold]
    pub(crate) fn deadlock(&self, catalog: &Catalog, ring: &[Edge]) -> Error {
        let name = |table: TableId| {
            // It may be one of another version of the catalog.
            let table = catalog.tables.get(table.index()).and_then(Option::as_ref);
            table.map_or("", |t| t.name.as_str())
        };
        let lines = ring.iter().map(|edge| {
            let (waiting, holding) = (self.process(edge.worker), self.process(edge.holder));
            let what = match edge.what {
                Awaited::Table(mode, table) => format!("{} on relation \"{}\"", mode.name(), name(table)),
                Awaited::Row(table, strength) => {
                    format!("{} on a row of relation \"{}\"", strength.mode(), name(table))
                }
                Awaited::End => format!("ShareLock on the transaction of process {holding}"),
                Awaited::Advisory(lock) => {
                    let (class, object, kind) = lock.tag();
                    format!("{} on advisory lock [{DATABASE_OID},{class},{object},{kind}]", lock.mode())
                }
                Awaited::Gate => "AccessShareLock on the database".to_owned(),
            };
            format!("Process {waiting} waits for {what}; blocked by process {holding}.")
        });
        Error::new(SqlState::DEADLOCK_DETECTED, "deadlock detected")
            .with_detail(lines.collect::<Vec<_>>().join("\n"))
            .with_hint("See server log for query details.")
    }
}

/// Why a wait is given up.
enum Given {
    /// The wait would never end.
    Hopeless(Error),
    Up,
    OutOfTime,
    Ring(Vec<Edge>),
}

/// What whoever waits for a table or an advisory lock looks at now and then.
pub(crate) struct Lookout<'a> {
    engine: &'a Engine,
    worker: WorkerId,
    cancel: &'a Cancel,
    deadline: Option<Instant>,
    /// When to look for rings, and how much later again.
    rings: (Instant, Duration),
    given: Option<Given>,
}

impl<'a> Lookout<'a> {
    /// Of a wait that begins now, and is given up after `lock_timeout`.
    pub(crate) fn new(
        engine: &'a Engine,
        worker: WorkerId,
        cancel: &'a Cancel,
        deadline: Option<Instant>,
    ) -> Lookout<'a> {
        Lookout { engine, worker, cancel, deadline, rings: (Instant::now(), LOOK), given: None }
    }

    /// How long to sleep before it is asked again. `None`: no more.
    pub(crate) fn look(&mut self) -> Option<Duration> {
        self.given = self.why_not();
        if self.given.is_some() {
            return None;
        }
        let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        Some(left.map_or(LOOK, |left| left.min(LOOK)))
    }

    fn why_not(&mut self) -> Option<Given> {
        if self.cancel.is_due() {
            return Some(Given::Up);
        }
        let now = Instant::now();
        if now >= self.rings.0 {
            let pause = self.rings.1;
            self.rings = (now + pause, (pause * 2).min(RINGS_MAX));
            if let Some(ring) = self.engine.give_way(self.worker) {
                return Some(Given::Ring(ring));
            }
            if let Some(error) = self.engine.hopeless(self.worker) {
                return Some(Given::Hopeless(error));
            }
        }
        self.deadline.is_some_and(|deadline| now >= deadline).then_some(Given::OutOfTime)
    }

    /// Why it was given up: 57014, 55P03 or 40P01.
    pub(crate) fn error(mut self, catalog: &Catalog) -> Error {
        match self.given.take() {
            Some(Given::Ring(ring)) => self.engine.deadlock(catalog, &ring),
            Some(Given::Hopeless(error)) => error,
            given => gave_up(matches!(given, Some(Given::OutOfTime)), self.cancel),
        }
    }
}

impl Drop for Lookout<'_> {
    fn drop(&mut self) {
        self.engine.victims.lock().retain(|victim| *victim != self.worker);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_is_found_wherever_it_branches_off() {
        let edge =
            |worker, holder| Edge { worker: WorkerId(worker), holder: WorkerId(holder), what: Awaited::End };
        let edges = [edge(0, 9), edge(0, 1), edge(9, 8), edge(1, 8), edge(1, 2), edge(2, 1), edge(2, 0)];
        let ring = vec![edge(0, 1), edge(1, 2), edge(2, 0)];
        assert_eq!(ring_in(&edges, WorkerId(0)), Some(ring));
        assert_eq!(ring_in(&edges[..6], WorkerId(0)), None, "one that it is no part of");
        assert_eq!(ring_in(&edges, WorkerId(9)), None);
        assert_eq!(ring_in(&[], WorkerId(0)), None);
    }
}
