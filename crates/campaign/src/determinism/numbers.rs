//! Where sequences may stand after a crash.
//!
//! A number that a transaction drew is not given again once that transaction was acknowledged; what others drew may
//! be, after a crash, and may not, after the database was closed. So of the places where a sequence stood, one after
//! the other, all are right from the last one that something acknowledged brought it to.

use super::content::{Position, positions};
use planaria::{Database, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Places of all sequences, step by step, of one life of a database.
#[derive(Clone)]
pub struct Numbers {
    /// After each step; first where they stood when it was opened.
    places: Vec<BTreeMap<String, Position>>,
    /// Of each sequence, the last of those that is acknowledged; the first where it is not among them.
    settled: BTreeMap<String, usize>,
    /// Moves of transactions that are open, by session.
    open: BTreeMap<usize, BTreeSet<(String, usize)>>,
}

/// What became of a step's transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// It is acknowledged, with all that its block did before.
    Committed,
    /// It goes on.
    Open,
    /// It was rolled back.
    Lost,
}

impl Numbers {
    /// Of a database that was opened.
    pub fn new(db: &Database) -> Result<Numbers> {
        Ok(Numbers { places: vec![positions(db)?], settled: BTreeMap::new(), open: BTreeMap::new() })
    }

    /// A session did something.
    pub fn step(&mut self, db: &Database, who: usize, fate: Fate) -> Result<()> {
        let (now, number) = (positions(db)?, self.places.len());
        let before = &self.places[number - 1];
        let moved = now.iter().filter(|(name, place)| before.get(*name).map(|p| p.last) != Some(place.last));
        let open = self.open.entry(who).or_default();
        open.extend(moved.map(|(name, _)| (name.clone(), number)));
        match fate {
            Fate::Open => {}
            Fate::Lost => open.clear(),
            Fate::Committed => {
                for (name, number) in std::mem::take(open) {
                    let settled = self.settled.entry(name).or_default();
                    *settled = number.max(*settled);
                }
            }
        }
        self.places.push(now);
        Ok(())
    }

    /// Where sequences stand now.
    pub fn now(&self) -> &BTreeMap<String, Position> {
        &self.places[self.places.len() - 1]
    }

    /// Whether sequences may stand so after the database was closed and opened; what is wrong if not.
    pub fn closed(&self, there: &BTreeMap<String, Position>) -> std::result::Result<(), String> {
        for (name, place) in self.now() {
            let last = there.get(name).map(|p| p.last);
            if last != Some(place.last) {
                return Err(format!(
                    "sequence {name} was at {:?} when it was closed, and is at {last:?}",
                    place.last
                ));
            }
        }
        Ok(())
    }

    /// Whether sequences may stand so after a crash; what is wrong if not. `later`: those of a step that may have
    /// reached the disk.
    pub fn allow(
        &self,
        there: &BTreeMap<String, Position>,
        later: Option<&Numbers>,
    ) -> std::result::Result<(), String> {
        for (name, place) in there {
            let from = self.settled.get(name).copied().unwrap_or(0);
            let later = later.map(Numbers::now);
            let mut places = self.places[from..].iter().chain(later).filter_map(|places| places.get(name));
            if !places.clone().any(|allowed| allowed.last == place.last) && places.next().is_some() {
                let all: Vec<_> =
                    self.places[from..].iter().chain(later).map(|p| p.get(name).map(|p| p.last)).collect();
                return Err(format!("sequence {name} stands at {:?}; it stood at {all:?}", place.last));
            }
        }
        Ok(())
    }
}
