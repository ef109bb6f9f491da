//! What is known of a database: what was acknowledged, and of the rest what turned out to be there.

use super::definer::{self, Owned};
use super::drawer::{self, Numbers};
use crate::faults::setting::text;
use crate::histories;
use crate::histories::client::Doubt;
use planaria::Database;
use planaria_base::{CommitTs, Epoch};
use planaria_sim::history::{History, Model, Transaction};
use std::collections::{BTreeMap, BTreeSet};

type Checked<T> = Result<T, String>;

fn say(error: planaria::Error) -> String {
    text(&error)
}

/// What clients came to.
#[derive(Default)]
pub struct Seen {
    pub committed: Vec<Transaction>,
    pub doubts: Vec<Doubt>,
    /// Which generation of the procedure that copies rows was called.
    pub generations: Vec<(CommitTs, i64)>,
    pub definers: Vec<definer::Told>,
    pub drawers: Vec<drawer::Told>,
}

/// Commits that a copy has.
#[derive(Clone, Copy, Debug)]
pub enum Until {
    /// Those of the epochs up to this one.
    Epoch(Epoch),
    /// Those up to this one.
    Commit(CommitTs),
}

impl Until {
    fn has(self, ts: CommitTs) -> bool {
        match self {
            Until::Epoch(epoch) => ts.epoch() <= epoch,
            Until::Commit(last) => ts <= last,
        }
    }
}

/// See the module's head.
pub struct Record {
    /// The rows when this life of the database began, and when it ended.
    initial: Model,
    end: Model,
    /// Its transactions.
    transactions: Vec<Transaction>,
    /// Numbers of those that wrote, of all lives.
    written: BTreeSet<u32>,
    /// Of each definer.
    states: BTreeMap<u64, Vec<(CommitTs, Owned)>>,
    numbers: Numbers,
}

impl Record {
    /// Of a database with these rows.
    pub fn new(initial: Model, definers: u64) -> Record {
        let states = (0..definers).map(|n| (n, vec![(CommitTs(0), Owned::new(n))])).collect();
        let (transactions, written) = (Vec::new(), BTreeSet::new());
        let end = initial.clone();
        Record { initial, end, transactions, written, states, numbers: Numbers::default() }
    }

    /// Commits of this life that wrote rows.
    pub fn commits(&self) -> impl Iterator<Item = CommitTs> {
        self.transactions.iter().filter(|t| t.writes()).map(|t| t.ts)
    }

    /// What a definer has.
    pub fn owned(&self, number: u64) -> &Owned {
        &self.states[&number].last().expect("it began with one").1
    }

    /// Checks what there is after a recovery, and takes it in. `again`: a sequence is set back before that.
    pub fn check(&mut self, db: &Database, seen: Seen, again: bool) -> Checked<u64> {
        db.check().map_err(say)?;
        let said = said(db)?;
        self.transactions = seen.committed;
        for doubt in seen.doubts {
            if let Some(answer) = said.get(&doubt.id()) {
                self.transactions.extend(doubt.resolve(answer).map_err(say)?);
            }
        }
        let wrote = |t: &&Transaction| t.writes();
        if let Some(lost) = self.transactions.iter().filter(wrote).find(|t| !said.contains_key(&t.id)) {
            return Err(format!("transaction {} was acknowledged, and is lost", lost.id));
        }
        self.written.extend(self.transactions.iter().filter(wrote).map(|t| t.id));
        // One that only looked where it meant to write has said so, too.
        let known = |id| self.written.contains(id) || self.transactions.iter().any(|t| t.id == *id);
        if let Some(strange) = said.keys().find(|id| !known(id)) {
            return Err(format!("transaction {strange} was not to be there, and is"));
        }
        self.written.extend(said.keys());
        for told in seen.definers {
            self.check_definer(db, told)?;
        }
        for (ts, generation) in seen.generations {
            let expected = self.at(0, |t| t <= ts).and_then(Owned::generation);
            if expected.is_some_and(|expected| expected != generation) {
                return Err(format!("a call at {ts:?} ran generation {generation}, not {expected:?}"));
            }
        }
        self.numbers.check(db, seen.drawers, again)?;
        let history = History::new(self.transactions.clone());
        self.end = histories::explain(db, self.initial.clone(), &history)?;
        Ok(self.transactions.len() as u64)
    }

    fn check_definer(&mut self, db: &Database, told: definer::Told) -> Checked<()> {
        let (_, last) = told.states.last().expect("it began with one");
        let there = Owned::read(db, last.number()).map_err(say)?;
        let doubtful = told.doubt.filter(|(_, state)| *state == there);
        if there != *last && doubtful.is_none() {
            return Err(format!("of the schema there is {there:?}; acknowledged was {last:?}"));
        }
        let states = self.states.entry(last.number()).or_default();
        states.extend(told.states.into_iter().skip(1).chain(doubtful));
        Ok(())
    }

    /// What a definer had after the last of these commits.
    fn at(&self, number: u64, committed: impl Fn(CommitTs) -> bool) -> Option<&Owned> {
        let states = self.states.get(&number)?;
        states.iter().rev().find(|(ts, _)| committed(*ts)).map(|(_, state)| state)
    }

    /// Checks a copy that has some of the commits.
    pub fn check_copy(&self, db: &Database, until: Until) -> Checked<()> {
        db.check().map_err(say)?;
        let some = |t: &&Transaction| t.writes() && until.has(t.ts);
        let some: Vec<_> = self.transactions.iter().filter(some).cloned().collect();
        let said = said(db)?;
        if let Some(lost) = some.iter().find(|t| !said.contains_key(&t.id)) {
            return Err(format!("transaction {} at {:?} is missing", lost.id, lost.ts));
        }
        histories::explain(db, self.initial.clone(), &History::new(some))?;
        for number in self.states.keys() {
            let (there, expected) =
                (Owned::read(db, *number).map_err(say)?, self.at(*number, |t| until.has(t)));
            if Some(&there) != expected {
                return Err(format!("of the schema there is {there:?}, not {expected:?}"));
            }
        }
        self.numbers.check_at(db, |ts| until.has(ts))
    }

    /// The next life begins.
    pub fn end_life(&mut self) {
        self.initial = self.end.clone();
        self.transactions.clear();
    }
}

/// The answers that procedures wrote down.
fn said(db: &Database) -> Checked<BTreeMap<u32, Vec<i64>>> {
    let lost = |e| format!("the schema was acknowledged, and is lost: {}", say(e));
    let mut said = BTreeMap::new();
    for row in &db.query("SELECT id, answer FROM said", ()).map_err(lost)? {
        let answer: String = row.get(1).map_err(say)?;
        let numbers = answer.split_whitespace().map(str::parse::<i64>).collect::<Result<Vec<_>, _>>();
        let numbers = numbers.map_err(|e| format!("the answer {answer:?} is none: {e}"))?;
        said.insert(row.get::<i64>(0).map_err(say)? as u32, numbers);
    }
    Ok(said)
}
