//! Sequences at run time: numbers drawn outside any transaction, never given twice.
//!
//! A value drawn by a procedure is one of the call's logged inputs, so replay gives it again and
//! moves the sequence past it; a transaction that is logged by values logs where its sequences
//! stand. A number drawn by a transaction that then failed is lost, as in PostgreSQL.
//!
//! Row ids of tables without a primary key come from hidden sequences, of which each session draws
//! a run of [`RUN`] at a time: nobody sees them, so they need not be dense, and cores need not
//! share the counter's cache line at every insert.

use planaria_base::sync::Mutex;
use planaria_base::{Error, Result, SequenceId, SqlState};
use planaria_catalog::Sequence;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// Row ids a session draws at a time.
pub(crate) const RUN: i64 = 256;

/// A sequence's state.
#[repr(align(128))]
pub(crate) struct SequenceState {
    /// The next value, unless `exhausted`.
    next: AtomicI64,
    /// The last value was given and there is none after it.
    exhausted: AtomicBool,
    definition: Sequence,
    /// Taken where the last value is given and where a cycle begins.
    turning: Mutex<()>,
}

impl SequenceState {
    pub(crate) fn new(definition: Sequence) -> SequenceState {
        SequenceState {
            next: AtomicI64::new(definition.start),
            exhausted: AtomicBool::new(false),
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
        let next = self.next.load(Ordering::SeqCst);
        if self.exhausted.load(Ordering::SeqCst) {
            return Some(next);
        }
        (next != self.definition.start).then(|| next.wrapping_sub(self.definition.increment))
    }

    /// A copy under a changed definition, going on where this one stands.
    pub(crate) fn redefined(&self, definition: Sequence) -> SequenceState {
        let state = SequenceState::new(definition);
        state.next.store(self.next.load(Ordering::SeqCst), Ordering::SeqCst);
        state.exhausted.store(self.exhausted.load(Ordering::SeqCst), Ordering::SeqCst);
        state
    }

    /// The next value; 2200H at the end.
    pub(crate) fn next(&self) -> Result<i64> {
        loop {
            let value = self.next.load(Ordering::SeqCst);
            if self.exhausted.load(Ordering::SeqCst) {
                return self.wrap_around();
            }
            let after = value.checked_add(self.definition.increment).filter(|a| self.within(*a));
            match after {
                Some(after) => {
                    if self
                        .next
                        .compare_exchange_weak(value, after, Ordering::SeqCst, Ordering::SeqCst)
                        .is_ok()
                    {
                        return Ok(value);
                    }
                }
                None => {
                    let _turning = self.turning.lock();
                    if self.next.load(Ordering::SeqCst) == value
                        && !self.exhausted.swap(true, Ordering::SeqCst)
                    {
                        return Ok(value);
                    }
                }
            }
        }
    }

    fn within(&self, value: i64) -> bool {
        self.definition.min <= value && value <= self.definition.max
    }

    fn wrap_around(&self) -> Result<i64> {
        let definition = &self.definition;
        let ascending = definition.increment > 0;
        if definition.cycle {
            let turning = self.turning.lock();
            if self.exhausted.load(Ordering::SeqCst) {
                let first = if ascending { definition.min } else { definition.max };
                self.next.store(first, Ordering::SeqCst);
                self.exhausted.store(false, Ordering::SeqCst);
            }
            drop(turning);
            return self.next();
        }
        let (which, end) = if ascending { ("maximum", definition.max) } else { ("minimum", definition.min) };
        Err(Error::new(
            SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED,
            format!("nextval: reached {which} value of sequence \"{}\" ({end})", definition.name),
        ))
    }

    /// The first of `RUN` values for row ids.
    pub(crate) fn next_run(&self) -> i64 {
        self.next.fetch_add(RUN, Ordering::SeqCst)
    }

    /// `next` is the next value according to the log; behind the last one (where `setval` put it there), none is
    /// left.
    pub(crate) fn stand_at(&self, next: i64) {
        self.restore(next, !self.within(next));
    }

    /// A value was given before the crash: never give it again.
    pub(crate) fn observe(&self, value: i64) {
        match value.checked_add(self.definition.increment).filter(|after| self.within(*after)) {
            Some(after) if self.definition.increment > 0 => {
                self.next.fetch_max(after, Ordering::SeqCst);
            }
            Some(after) => {
                self.next.fetch_min(after, Ordering::SeqCst);
            }
            None => self.exhausted.store(true, Ordering::SeqCst),
        }
    }

    /// `setval(sequence, value, is_called)`; 22003 outside its bounds.
    pub(crate) fn set(&self, value: i64, is_called: bool) -> Result<()> {
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
        let after = value.checked_add(self.definition.increment);
        let exhausted = is_called && !after.is_some_and(|a| definition.min <= a && a <= definition.max);
        self.next.store(if is_called { after.unwrap_or(value) } else { value }, Ordering::SeqCst);
        self.exhausted.store(exhausted, Ordering::SeqCst);
        Ok(())
    }

    /// Where it stands, as [`SequenceState::restore`] takes it: the next value, and whether the last was given.
    pub(crate) fn position(&self) -> (i64, bool) {
        (self.next.load(Ordering::SeqCst), self.exhausted.load(Ordering::SeqCst))
    }

    /// Puts it where a rewrite left it.
    pub(crate) fn restore(&self, next: i64, exhausted: bool) {
        self.next.store(next, Ordering::SeqCst);
        self.exhausted.store(exhausted, Ordering::SeqCst);
    }
}

/// What a session remembers of sequences: values last drawn (`currval`), runs of row ids.
#[derive(Default)]
pub(crate) struct SessionSequences {
    current: Vec<Option<i64>>,
    runs: Vec<(i64, i64)>,
}

impl SessionSequences {
    /// The next value for this session.
    #[inline]
    pub(crate) fn next(&mut self, id: SequenceId, state: &SequenceState) -> Result<i64> {
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
            return Ok(run.0 - 1);
        }
        let value = state.next()?;
        self.remember(id, value);
        Ok(value)
    }

    /// `currval` answers this value from now on.
    pub(crate) fn remember(&mut self, id: SequenceId, value: i64) {
        if self.current.len() <= id.index() {
            self.current.resize(id.index() + 1, None);
        }
        self.current[id.index()] = Some(value);
    }

    /// `currval`; 55000 where this session has drawn none.
    pub(crate) fn current(&self, id: SequenceId, name: &str) -> Result<i64> {
        self.current.get(id.index()).copied().flatten().ok_or_else(|| {
            Error::new(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("currval of sequence \"{name}\" is not yet defined in this session"),
            )
        })
    }

    /// Exchanges the values last drawn with another session's.
    pub(crate) fn swap_current(&mut self, other: &mut Vec<Option<i64>>) {
        std::mem::swap(&mut self.current, other);
    }

    /// `currval` is not defined any more for the sequences that are not `known`.
    pub(crate) fn forget_unknown(&mut self, known: impl Fn(SequenceId) -> bool) {
        for (i, current) in self.current.iter_mut().enumerate() {
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
mod tests {
    use super::*;

    fn sequence(start: i64, increment: i64, min: i64, max: i64, cycle: bool) -> SequenceState {
        SequenceState::new(Sequence {
            id: SequenceId(0),
            name: "s".into(),
            start,
            increment,
            min,
            max,
            cycle,
            owner: None,
            hidden: false,
            rights: planaria_catalog::Rights::default(),
            comment: None,
        })
    }

    #[test]
    fn a_sequence_ends_at_its_maximum() {
        let s = sequence(1, 2, 1, 4, false);
        assert_eq!((s.next(), s.next()), (Ok(1), Ok(3)));
        let error = s.next().expect_err("the end");
        assert_eq!(error.sqlstate(), SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED);
        assert_eq!(error.message(), "nextval: reached maximum value of sequence \"s\" (4)");
    }

    #[test]
    fn a_cycling_sequence_starts_over() {
        let s = sequence(3, 1, 1, 4, true);
        let drawn: Vec<_> = (0..4).map(|_| s.next().expect("cycles")).collect();
        assert_eq!(drawn, [3, 4, 1, 2]);
    }

    #[test]
    fn observed_values_are_not_given_again() {
        let s = sequence(1, 1, 1, i64::MAX, false);
        s.observe(10);
        s.observe(4);
        assert_eq!(s.next(), Ok(11));
    }

    #[test]
    fn setval_says_where_to_go_on() {
        let s = sequence(1, 1, 1, 100, false);
        s.set(42, true).expect("within");
        assert_eq!(s.next(), Ok(43));
        s.set(42, false).expect("within");
        assert_eq!(s.next(), Ok(42));
        assert_eq!(s.set(101, true).expect_err("outside").sqlstate().as_str(), "22003");
    }
}
