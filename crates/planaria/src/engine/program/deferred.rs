//! What a transaction has put off: rows for deferred constraint triggers, and what SET CONSTRAINTS has said.
//!
//! 1. A program that changes a row asks whether a trigger of it is deferred ([`Question::DeferTrigger`]). If it is, the row
//!    becomes an [`Event`] here, as it was then; else the program calls the trigger.
//! 2. COMMIT, or SET CONSTRAINTS .. IMMEDIATE, fires the events in their order, with those that come on the way
//!    ([`session::deferred_triggers`](crate::session::deferred_triggers)).
//! 3. What is rolled back takes its events with it, and what it has fired is to be fired again.
//!
//! [`Question::DeferTrigger`]: planaria_ir::Question::DeferTrigger

use crate::engine::program::cursor::value_bytes;
use planaria_base::oid::Oid;
use planaria_base::{Datum, Error, Result, TableId};
use planaria_catalog::{Catalog, CheckTime, Trigger, TriggerEvent};
use planaria_exec::heap::Heap;
use planaria_exec::slot::Slot;
use std::collections::BTreeMap;

/// What SET CONSTRAINTS has said in the open block: `true` is IMMEDIATE.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct Modes {
    pub(crate) all: Option<bool>,
    pub(crate) named: BTreeMap<(TableId, String), bool>,
}

impl Modes {
    /// Whether a constraint that was made so is immediate now.
    pub(crate) fn is_immediate(&self, table: TableId, constraint: &str, made: CheckTime) -> bool {
        let named = || self.named.get(&(table, constraint.to_owned())).copied();
        let said = if self.named.is_empty() { None } else { named() };
        match made {
            CheckTime::NotDeferrable => true,
            _ => said.or(self.all).unwrap_or(made != CheckTime::Deferred),
        }
    }

    /// Whether anything was said: constraints that are INITIALLY IMMEDIATE may have been deferred.
    pub(crate) fn any_said(&self) -> bool {
        self.all.is_some() || !self.named.is_empty()
    }

    /// Whether any constraint may have been made immediate.
    pub(crate) fn any_immediate(&self) -> bool {
        self.all == Some(true) || self.named.values().any(|immediate| *immediate)
    }
}

/// A row that was changed, for a deferred trigger.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Event {
    pub(crate) table: TableId,
    /// The trigger, which may get another name.
    pub(crate) trigger: Oid,
    pub(crate) event: TriggerEvent,
    /// The visible columns of NEW, then those of OLD, as far as the event has such rows.
    pub(crate) values: Vec<Datum>,
}

/// A moment of the queue: how many events it had, and how many of them had fired.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct EventsMark {
    events: usize,
    fired: usize,
    said: usize,
}

/// See the module's head.
#[derive(Default)]
pub(crate) struct Deferred {
    pub(crate) modes: Modes,
    events: Vec<Event>,
    /// Of each, whether it has fired.
    done: Vec<bool>,
    /// Those that have, in that order.
    fired: Vec<usize>,
    /// What held before each SET CONSTRAINTS.
    former: Vec<Modes>,
    /// When the statement began, which may be tried again.
    before: EventsMark,
}

impl Deferred {
    /// Whether nothing waits, nor could come back.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Whether the transaction has said which constraints are deferred.
    #[inline]
    pub(crate) fn has_said(&self) -> bool {
        !self.former.is_empty()
    }

    /// Answers whether a trigger is deferred; a row that is given with the question then waits for it. Also with how many
    /// bytes that takes.
    pub(crate) fn ask(&mut self, catalog: &Catalog, args: &[Slot], heap: &Heap) -> Result<(bool, usize)> {
        let missing = || Error::internal("a deferred trigger that is not there");
        let [table, routine, row] = args else { return Err(missing()) };
        let at = usize::try_from(table.int()).map_err(|_| missing())?;
        let table = catalog.tables.get(at).and_then(|t| t.as_deref()).ok_or_else(missing)?;
        let mut firings = table.triggers.iter().flat_map(|t| t.firings.iter().map(move |f| (t, f)));
        let found = firings.find(|(_, firing)| i64::from(firing.routine.0) == routine.int());
        let (Trigger { name: trigger, constraint, .. }, firing) = found.ok_or_else(missing)?;
        let (made, event) = (constraint.ok_or_else(missing)?, firing.event);
        if self.modes.is_immediate(table.id, trigger, made) {
            return Ok((false, 0));
        }
        let Datum::Array(values) = heap.to_datum(*row) else { return Ok((true, 0)) };
        let bytes = size_of::<Event>() + values.iter().map(value_bytes).sum::<usize>();
        let trigger = catalog.trigger_oid(table.id, trigger);
        self.push(Event { table: table.id, trigger, event, values });
        Ok((true, bytes))
    }

    fn push(&mut self, event: Event) {
        self.events.push(event);
        self.done.push(false);
    }

    /// Those that wait.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &Event> {
        self.events.iter().zip(&self.done).filter(|(_, done)| !**done).map(|(event, _)| event)
    }

    /// The first event from number `at` on that waits and is wanted, with its number.
    pub(crate) fn next(&self, at: usize, wanted: &dyn Fn(&Modes, &Event) -> bool) -> Option<(usize, &Event)> {
        let waits = |at: &usize| !self.done[*at] && wanted(&self.modes, &self.events[*at]);
        (at..self.events.len()).find(waits).map(|at| (at, &self.events[at]))
    }

    /// An event fires.
    pub(crate) fn fire(&mut self, at: usize) {
        self.done[at] = true;
        self.fired.push(at);
    }

    pub(crate) fn mark(&self) -> EventsMark {
        EventsMark { events: self.events.len(), fired: self.fired.len(), said: self.former.len() }
    }

    /// The same for a block that catches errors.
    pub(crate) fn beside(&self) -> [usize; 3] {
        [self.events.len(), self.fired.len(), self.former.len()]
    }

    /// Such a block is taken back.
    pub(crate) fn back_beside(&mut self, [events, fired, said]: [usize; 3]) {
        self.back_to(EventsMark { events, fired, said });
    }

    /// SET CONSTRAINTS: of those named, or of all.
    pub(crate) fn say(&mut self, named: Option<Vec<(TableId, String)>>, immediate: bool) {
        let mut modes = self.modes.clone();
        match named {
            None => modes = Modes { all: Some(immediate), named: BTreeMap::new() },
            Some(named) => modes.named.extend(named.into_iter().map(|constraint| (constraint, immediate))),
        }
        if modes != self.modes {
            self.former.push(std::mem::replace(&mut self.modes, modes));
        }
    }

    /// Forgets what came since, and what has fired since waits again.
    pub(crate) fn back_to(&mut self, mark: EventsMark) {
        while self.fired.len() > mark.fired
            && let Some(at) = self.fired.pop()
        {
            self.done[at] = false;
        }
        self.events.truncate(mark.events);
        self.done.truncate(mark.events);
        if let Some(modes) = self.former.get_mut(mark.said) {
            self.modes = std::mem::take(modes);
            self.former.truncate(mark.said);
        }
    }

    /// A statement begins.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.before = self.mark();
    }

    /// It begins again.
    #[inline]
    pub(crate) fn take_back(&mut self) {
        if !self.is_empty() || self.former.len() > self.before.said {
            self.back_to(self.before);
        }
    }

    /// The transaction is over.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if !self.is_empty() {
            // What was much is given back.
            (self.events, self.done, self.fired) = (Vec::new(), Vec::new(), Vec::new());
        }
        if self.has_said() {
            (self.modes, self.former) = (Modes::default(), Vec::new());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: i64) -> Event {
        let values = vec![Datum::Int(id)];
        Event { table: TableId(1), trigger: 7, event: TriggerEvent::Insert, values }
    }

    fn waiting(deferred: &Deferred) -> Vec<Event> {
        deferred.waiting().cloned().collect()
    }

    #[test]
    fn what_is_rolled_back_waits_again_or_is_gone() {
        let mut deferred = Deferred::default();
        (0..3).for_each(|id| deferred.push(event(id)));
        let savepoint = deferred.mark();
        deferred.fire(1);
        deferred.push(event(3));
        deferred.fire(3);
        assert_eq!(waiting(&deferred), [event(0), event(2)]);
        deferred.back_to(savepoint);
        assert_eq!(waiting(&deferred), [event(0), event(1), event(2)]);
        deferred.begin();
        deferred.fire(0);
        deferred.push(event(4));
        deferred.say(None, true);
        deferred.say(Some(vec![(TableId(1), "c".into())]), false);
        let caught = deferred.beside();
        deferred.say(None, false);
        deferred.fire(1);
        deferred.back_beside(caught);
        assert_eq!(waiting(&deferred), [event(1), event(2), event(4)]);
        assert_eq!((deferred.modes.all, deferred.modes.named.len()), (Some(true), 1));
        deferred.take_back();
        assert_eq!(waiting(&deferred), [event(0), event(1), event(2)]);
        assert!(!deferred.modes.any_said());
        deferred.clear();
        assert!(deferred.is_empty() && waiting(&deferred).is_empty());
    }

    #[test]
    fn what_was_said_of_one_holds_before_what_was_said_of_all() {
        let mut modes = Modes::default();
        let is_immediate = |modes: &Modes, made| modes.is_immediate(TableId(1), "c", made);
        assert!(is_immediate(&modes, CheckTime::Deferrable) && !is_immediate(&modes, CheckTime::Deferred));
        modes.all = Some(true);
        assert!(is_immediate(&modes, CheckTime::Deferred));
        modes.named.insert((TableId(1), "c".into()), false);
        assert!(!is_immediate(&modes, CheckTime::Deferrable));
        assert!(is_immediate(&modes, CheckTime::NotDeferrable), "whatever was said");
        assert!(modes.is_immediate(TableId(2), "c", CheckTime::Deferred));
    }
}
