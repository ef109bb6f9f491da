//! Sequences at run time: numbers drawn outside any transaction, never given twice.
//!
//! What is done to a sequence takes effect at once and stays, whatever becomes of the transaction that did it. Each
//! number drawn, and each `setval`, is a [`SequencePlace`]: within a *generation* numbers go one way, and `setval` and
//! a cycle that starts over begin a new one. The log has places, in whatever order transactions committed, and the last
//! of the newest generation is where the sequence stands after replay. They come to the log
//!
//! 1. with a call, among its inputs, or with the rows of a transaction that is logged by values;
//! 2. of a statement in a transaction block when the statement ends, so before anybody acts on its answer;
//! 3. of a transaction that failed, and of an attempt that is begun anew, in a record of their own: the next attempt
//!    may end before it draws anything, and `currval` tells.
//!
//! Records of the second and the third kind are no commits: whoever waits for a commit or for what a statement has read knows
//! nothing of them. So the session remembers the newest of their epochs, and each of its answers but those within a block
//! waits for that, too.
//!
//! A number that was drawn while another session set the sequence is dropped, as nobody can say to which generation
//! it belongs.
//!
//! Row ids of tables without a primary key come from hidden sequences, of which each session draws
//! a run of [`RUN`] at a time: nobody sees them, so they need not be dense, and cores need not
//! share the counter's cache line at every insert. They are never set: they have one generation.

use planaria_base::sync::{Mutex, MutexGuard};
use planaria_base::{Epoch, Error, Result, SequenceId, SequencePlace, SqlState};
use planaria_catalog::Sequence;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// Row ids a session draws at a time.
pub(crate) const RUN: i64 = 256;

/// What comes next in a generation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Standing {
    pub(crate) generation: u64,
    /// The next value, unless `exhausted`: then the last one.
    pub(crate) next: i64,
    /// The last value was given and there is none after it.
    pub(crate) exhausted: bool,
}

/// A sequence's state.
#[repr(align(128))]
pub(crate) struct SequenceState {
    /// See [`Standing`].
    next: AtomicI64,
    exhausted: AtomicBool,
    /// Twice the generation; odd while a new one begins, when `next` belongs to neither.
    version: AtomicU64,
    definition: Sequence,
    /// Taken by whoever does anything but draw a value that another follows.
    turning: Mutex<()>,
}

impl SequenceState {
    pub(crate) fn new(definition: Sequence) -> SequenceState {
        SequenceState {
            next: AtomicI64::new(definition.start),
            exhausted: AtomicBool::new(false),
            version: AtomicU64::new(0),
            definition,
            turning: Mutex::new(()),
        }
    }

    /// Its definition.
    pub(crate) fn definition(&self) -> &Sequence {
        &self.definition
    }

    /// The value given last; `None` before the first.
    pub(crate) fn last_value(&self) -> Option<i64> {
        let Standing { next, exhausted, .. } = self.position();
        if exhausted {
            return Some(next);
        }
        (next != self.definition.start).then(|| next.wrapping_sub(self.definition.increment))
    }

    /// The value that it shows as a relation, and whether it was given. A sequence does not know by which way it came to
    /// its next value, so what `setval(.., false)` has made the next is shown as the one given before that, if there is one.
    pub(crate) fn row(&self) -> (i64, bool) {
        let Standing { next, exhausted, .. } = self.position();
        let Sequence { start, increment, min, max, .. } = self.definition;
        let before = next.checked_sub(increment).filter(|last| (min..=max).contains(last) && next != start);
        match before {
            _ if exhausted => (next, true),
            Some(last) => (last, true),
            None => (next, false),
        }
    }

    /// A copy under a changed definition, going on behind the value that this one gave last.
    pub(crate) fn redefined(&self, definition: Sequence) -> SequenceState {
        let state = SequenceState::new(definition);
        let old = self.position();
        // What would come next depends on these.
        let ways = |s: &Sequence| (s.increment, s.min, s.max);
        let other = old.exhausted || ways(&state.definition) != ways(&self.definition);
        state.restore(match self.last_value().filter(|_| other) {
            Some(last) => state.after(old.generation, last, true),
            None => old,
        });
        state
    }

    /// The next value; 2200H at the end.
    pub(crate) fn next(&self) -> Result<SequencePlace> {
        loop {
            let version = self.version.load(Ordering::SeqCst);
            let value = self.next.load(Ordering::SeqCst);
            let plain = version.is_multiple_of(2) && !self.exhausted.load(Ordering::SeqCst);
            let Some(after) = self.following(value).filter(|_| plain) else {
                match self.turn()? {
                    Some(last) => return Ok(last),
                    None => continue,
                }
            };
            let (weak, here) = (Ordering::SeqCst, &self.next);
            if here.compare_exchange_weak(value, after, weak, weak).is_ok()
                && self.version.load(Ordering::SeqCst) == version
            {
                return Ok(SequencePlace::given(version / 2, value));
            }
        }
    }

    /// Gives the last value, or begins the next cycle, if it still is at its end.
    #[cold]
    fn turn(&self) -> Result<Option<SequencePlace>> {
        let turning = self.turning.lock();
        let Standing { generation, next, exhausted } = self.standing(&turning);
        let definition = &self.definition;
        if !exhausted {
            if self.following(next).is_some() {
                return Ok(None);
            }
            self.exhausted.store(true, Ordering::SeqCst);
            return Ok(Some(SequencePlace::given(generation, next)));
        }
        let ascending = definition.increment > 0;
        if definition.cycle {
            let first = if ascending { definition.min } else { definition.max };
            self.stand(&turning, Standing { generation: generation + 1, next: first, exhausted: false });
            return Ok(None);
        }
        let (which, end) = if ascending { ("maximum", definition.max) } else { ("minimum", definition.min) };
        Err(Error::new(
            SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
            format!("nextval: reached {which} value of sequence \"{}\" ({end})", definition.name),
        ))
    }

    /// The value after this one, if there is one before the end.
    #[inline]
    fn following(&self, value: i64) -> Option<i64> {
        let Sequence { increment, min, max, .. } = self.definition;
        value.checked_add(increment).filter(|after| min <= *after && *after <= max)
    }

    /// Where a sequence stands that gave this value last, or gives it next.
    fn after(&self, generation: u64, value: i64, called: bool) -> Standing {
        match self.following(value).filter(|_| called) {
            Some(next) => Standing { generation, next, exhausted: false },
            None => Standing { generation, next: value, exhausted: called },
        }
    }

    /// The first of `RUN` values for row ids.
    pub(crate) fn next_run(&self) -> i64 {
        self.next.fetch_add(RUN, Ordering::SeqCst)
    }

    /// The sequence came to this place, says the log: it does not go back behind it.
    pub(crate) fn observe(&self, place: SequencePlace) {
        let SequencePlace { generation, value, called } = place;
        if self.definition.hidden {
            self.next.fetch_max(value.saturating_add(1), Ordering::SeqCst);
            return;
        }
        let turning = self.turning.lock();
        let old = self.standing(&turning);
        if place.is_in_commit_order() {
            // Behind the last value none is left.
            let exhausted = value < self.definition.min || value > self.definition.max;
            self.stand(&turning, Standing { next: value, exhausted, ..old });
            return;
        }
        let new = self.after(generation, value, called);
        if self.is_later(new, old) {
            self.stand(&turning, new);
        }
    }

    fn is_later(&self, one: Standing, other: Standing) -> bool {
        if one.generation != other.generation {
            return one.generation > other.generation;
        }
        let ends = (one.exhausted, other.exhausted);
        match self.definition.increment > 0 {
            true => (one.next, ends.0) > (other.next, ends.1),
            false => (other.next, ends.0) > (one.next, ends.1),
        }
    }

    /// `setval(sequence, value, is_called)`: a new generation; 22003 outside its bounds.
    pub(crate) fn set(&self, value: i64, called: bool) -> Result<SequencePlace> {
        let definition = &self.definition;
        if value < definition.min || value > definition.max {
            return Err(Error::new(
                SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
                format!(
                    "setval: value {value} is out of bounds for sequence \"{}\" ({}..{})",
                    definition.name, definition.min, definition.max
                ),
            ));
        }
        let turning = self.turning.lock();
        let generation = self.standing(&turning).generation + 1;
        self.stand(&turning, self.after(generation, value, called));
        Ok(SequencePlace { generation, value, called })
    }

    /// Where it stands.
    pub(crate) fn position(&self) -> Standing {
        self.standing(&self.turning.lock())
    }

    /// Where it stands, for the log: what it gives next, or gave last.
    pub(crate) fn place(&self) -> SequencePlace {
        let Standing { generation, next, exhausted } = self.position();
        SequencePlace { generation, value: next, called: exhausted }
    }

    /// Puts it there; `next` of another generation than this one's only while nobody draws.
    pub(crate) fn restore(&self, standing: Standing) {
        self.stand(&self.turning.lock(), standing);
    }

    /// `value` is next, in a schema that is being made: nobody draws.
    pub(crate) fn restart(&self, value: i64) {
        let turning = self.turning.lock();
        let old = self.standing(&turning);
        self.stand(&turning, Standing { next: value, exhausted: false, ..old });
    }

    fn standing(&self, _turning: &MutexGuard<'_, ()>) -> Standing {
        Standing {
            generation: self.version.load(Ordering::SeqCst) / 2,
            next: self.next.load(Ordering::SeqCst),
            exhausted: self.exhausted.load(Ordering::SeqCst),
        }
    }

    /// Whoever draws meanwhile sees that the version is another one, and draws again.
    fn stand(&self, _turning: &MutexGuard<'_, ()>, standing: Standing) {
        self.version.store(standing.generation * 2 + 1, Ordering::SeqCst);
        self.next.store(standing.next, Ordering::SeqCst);
        self.exhausted.store(standing.exhausted, Ordering::SeqCst);
        self.version.store(standing.generation * 2, Ordering::SeqCst);
    }
}

/// A place that a statement brought a sequence to.
#[derive(Clone, Copy)]
pub(crate) struct SequenceEffect {
    pub(crate) sequence: SequenceId,
    pub(crate) place: SequencePlace,
}

/// Notes a place; of each sequence the last is enough.
pub(crate) fn note(effects: &mut Vec<SequenceEffect>, sequence: SequenceId, place: SequencePlace) {
    match effects.iter_mut().find(|effect| effect.sequence == sequence) {
        Some(effect) => effect.place = place,
        None => effects.push(SequenceEffect { sequence, place }),
    }
}

/// What a client's session remembers of sequences: values last drawn (`currval`).
#[derive(Default)]
pub(crate) struct LastDrawn {
    current: Vec<Option<i64>>,
    /// The sequence of the last of them.
    last: Option<SequenceId>,
    /// The newest epoch of a record that has places alone.
    logged: Epoch,
}

/// The same, and the runs of row ids of the session that it is lent.
#[derive(Default)]
pub(crate) struct SessionSequences {
    drawn: LastDrawn,
    runs: Vec<(i64, i64)>,
}

impl SessionSequences {
    /// The next value for this session.
    #[inline]
    pub(crate) fn next(&mut self, id: SequenceId, state: &SequenceState) -> Result<SequencePlace> {
        if state.definition.hidden {
            if self.runs.len() <= id.index() {
                self.runs.resize(id.index() + 1, (0, 0));
            }
            let run = &mut self.runs[id.index()];
            if run.0 == run.1 {
                let first = state.next_run();
                *run = (first, first + RUN);
            }
            run.0 += 1;
            return Ok(SequencePlace::given(0, run.0 - 1));
        }
        let place = state.next()?;
        self.remember(id, place.value);
        Ok(place)
    }

    /// `currval` answers this value from now on.
    pub(crate) fn remember(&mut self, id: SequenceId, value: i64) {
        if self.drawn.current.len() <= id.index() {
            self.drawn.current.resize(id.index() + 1, None);
        }
        self.drawn.current[id.index()] = Some(value);
    }

    /// `lastval` is of this sequence from now on, if it has a `currval`: row ids have none.
    pub(crate) fn drew(&mut self, id: SequenceId) {
        if self.last_drawn(id).is_some() {
            self.drawn.last = Some(id);
        }
    }

    /// `lastval`; 55000 where this session has drawn nothing.
    pub(crate) fn last(&self) -> Result<i64> {
        self.drawn.last.and_then(|id| self.last_drawn(id)).ok_or_else(|| {
            let message = "lastval is not yet defined in this session";
            Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        })
    }

    /// Places came to the log in a record of their own, of this epoch.
    pub(crate) fn logged(&mut self, epoch: Epoch) {
        self.drawn.logged = self.drawn.logged.max(epoch);
    }

    /// What has to be on disk before any number is told that this session has drawn.
    #[inline]
    pub(crate) fn newest_logged(&self) -> Epoch {
        self.drawn.logged
    }

    /// What `currval` answers, if it is defined.
    pub(crate) fn last_drawn(&self, id: SequenceId) -> Option<i64> {
        self.drawn.current.get(id.index()).copied().flatten()
    }

    /// `currval` answers this again, or is not defined.
    pub(crate) fn put_back(&mut self, id: SequenceId, current: Option<i64>) {
        if let Some(here) = self.drawn.current.get_mut(id.index()) {
            *here = current;
        }
    }

    /// `currval`; 55000 where this session has drawn none.
    pub(crate) fn current(&self, id: SequenceId, name: &str) -> Result<i64> {
        self.last_drawn(id).ok_or_else(|| {
            Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("currval of sequence \"{name}\" is not yet defined in this session"),
            )
        })
    }

    /// Exchanges what is a client's for another client's.
    pub(crate) fn exchange(&mut self, other: &mut LastDrawn) {
        let SessionSequences { drawn, runs: _ } = self;
        std::mem::swap(drawn, other);
    }

    /// `DISCARD SEQUENCES`: nothing has been drawn. What was logged is to be waited for all the same.
    pub(crate) fn forget(&mut self) {
        self.drawn = LastDrawn { logged: self.drawn.logged, ..LastDrawn::default() };
    }

    /// `currval` is not defined any more for the sequences that are not `known`.
    pub(crate) fn forget_unknown(&mut self, known: impl Fn(SequenceId) -> bool) {
        for (i, current) in self.drawn.current.iter_mut().enumerate() {
            if !known(SequenceId(i as u32)) {
                *current = None;
            }
        }
    }

    /// The row ids kept back belong to tables that are no more.
    pub(crate) fn forget_runs(&mut self) {
        self.runs.clear();
    }
}

#[cfg(test)]
mod tests;
