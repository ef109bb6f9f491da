//! What a run of a program was given of what is new each time, to be given again to one that heals it: by kind, in the
//! order in which it came.

use planaria_base::{SequenceId, SequencePlace};
use planaria_exec::slot::Slot;
use planaria_ir::Draw;

/// Gifts that there is room for between transactions.
const GIFTS_KEPT: usize = 1 << 12;

/// What was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Draw(Draw),
    Next(SequenceId),
}

#[derive(Clone, Copy)]
enum Value {
    Drawn(Slot),
    Place(SequencePlace),
}

struct Gift {
    what: What,
    value: Value,
    /// By the present run.
    taken: bool,
}

/// See the module's head. Of a scheme that does not heal it stays empty.
#[derive(Default)]
pub(crate) struct Handed {
    pub(crate) keeps: bool,
    gifts: Vec<Gift>,
    /// Those that the present run has not taken, and where the first of them is.
    left: usize,
    first_left: usize,
    /// What `currval` said before the transaction drew from a sequence for the first time.
    before: Vec<(SequenceId, Option<i64>)>,
}

impl Handed {
    /// A transaction begins.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.gifts.clear();
        if self.gifts.capacity() > GIFTS_KEPT {
            self.gifts = Vec::new();
        }
        self.before.clear();
        (self.left, self.first_left) = (0, 0);
    }

    /// It runs again: `currval` says what it said at first.
    pub(crate) fn again(&mut self, put_back: &mut dyn FnMut(SequenceId, Option<i64>)) {
        self.gifts.iter_mut().for_each(|gift| gift.taken = false);
        (self.left, self.first_left) = (self.gifts.len(), 0);
        self.before.iter().for_each(|(sequence, current)| put_back(*sequence, *current));
    }

    /// A sequence is about to be drawn from, of which `currval` says this.
    #[inline]
    pub(crate) fn keep_current(&mut self, sequence: SequenceId, current: Option<i64>) {
        if self.keeps && self.before.iter().all(|(known, _)| *known != sequence) {
            self.before.push((sequence, current));
        }
    }

    /// Whether a value of a sequence was given to an earlier run alone.
    pub(crate) fn has_left_over(&self) -> bool {
        self.left > 0 && self.gifts.iter().any(|gift| !gift.taken && matches!(gift.what, What::Next(_)))
    }

    #[inline]
    fn take(&mut self, what: What) -> Option<Value> {
        if self.left == 0 {
            return None;
        }
        let gift = self.gifts[self.first_left..].iter_mut().find(|gift| !gift.taken && gift.what == what)?;
        gift.taken = true;
        let value = gift.value;
        self.left -= 1;
        // As a rule it runs as it did before.
        while self.gifts.get(self.first_left).is_some_and(|gift| gift.taken) {
            self.first_left += 1;
        }
        Some(value)
    }

    fn give(&mut self, what: What, value: Value) {
        if self.keeps {
            self.gifts.push(Gift { what, value, taken: true });
        }
    }

    /// An input that was drawn before, or one that `draw` draws now.
    #[inline]
    pub(crate) fn drawn<E>(
        &mut self,
        input: Draw,
        draw: impl FnOnce() -> Result<Slot, E>,
    ) -> Result<Slot, E> {
        if let Some(Value::Drawn(slot)) = self.take(What::Draw(input)) {
            return Ok(slot);
        }
        let slot = draw()?;
        self.give(What::Draw(input), Value::Drawn(slot));
        Ok(slot)
    }

    /// The same of the next value of a sequence.
    #[inline]
    pub(crate) fn next<E>(
        &mut self,
        sequence: SequenceId,
        draw: impl FnOnce() -> Result<SequencePlace, E>,
    ) -> Result<SequencePlace, E> {
        if let Some(Value::Place(place)) = self.take(What::Next(sequence)) {
            return Ok(place);
        }
        let place = draw()?;
        self.give(What::Next(sequence), Value::Place(place));
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_is_given_again_by_kind_and_order() {
        let mut handed = Handed { keeps: true, ..Handed::default() };
        let mut source = 0;
        let mut fresh = || {
            source += 1;
            Ok::<Slot, ()>(Slot::Int(source))
        };
        let one = handed.drawn(Draw::Random, &mut fresh).unwrap().int();
        let clock = handed.drawn(Draw::ClockTimestamp, &mut fresh).unwrap().int();
        let two = handed.drawn(Draw::Random, &mut fresh).unwrap().int();
        let place = |value| Ok::<_, ()>(SequencePlace::given(0, value));
        let next = handed.next(SequenceId(3), || place(40)).unwrap();
        assert!(!handed.has_left_over());
        handed.again(&mut |_, _| {});
        assert!(handed.has_left_over());
        assert_eq!(handed.drawn(Draw::Random, &mut fresh).map(|slot| slot.int()), Ok(one));
        assert_eq!(handed.drawn(Draw::Random, &mut fresh).map(|slot| slot.int()), Ok(two));
        assert_eq!(handed.drawn(Draw::Random, &mut fresh).map(|slot| slot.int()), Ok(4));
        assert_eq!(handed.drawn(Draw::ClockTimestamp, &mut fresh).map(|slot| slot.int()), Ok(clock));
        assert_eq!(handed.next(SequenceId(4), || place(7)).map(|p| p.value), Ok(7));
        assert_eq!(handed.next(SequenceId(3), || place(41)), Ok(next));
        assert!(!handed.has_left_over());
        handed.clear();
        handed.again(&mut |_, _| {});
        assert_eq!(handed.next(SequenceId(3), || place(41)).map(|p| p.value), Ok(41));
    }

    #[test]
    fn what_is_left_over_is_known_wherever_it_was_given() {
        let mut handed = Handed { keeps: true, ..Handed::default() };
        let place = |value| Ok::<_, ()>(SequencePlace::given(0, value));
        for value in 0..5 {
            handed.next(SequenceId((value % 2) as u32), || place(value)).unwrap();
        }
        handed.again(&mut |_, _| {});
        // The second sequence alone, and once more than before.
        for wanted in [1, 3, 50] {
            assert_eq!(handed.next(SequenceId(1), || place(50)).map(|p| p.value), Ok(wanted));
        }
        assert!(handed.has_left_over());
        handed.again(&mut |_, _| {});
        for wanted in [1, 3, 50] {
            assert_eq!(handed.next(SequenceId(1), || place(60)).map(|p| p.value), Ok(wanted));
        }
        for wanted in [0, 2, 4] {
            assert!(handed.has_left_over());
            assert_eq!(handed.next(SequenceId(0), || place(70)).map(|p| p.value), Ok(wanted));
        }
        assert!(!handed.has_left_over());
    }

    #[test]
    fn current_values_are_put_back_as_they_were() {
        let mut handed = Handed { keeps: true, ..Handed::default() };
        let (one, other) = (SequenceId(1), SequenceId(2));
        handed.keep_current(one, Some(3));
        handed.keep_current(one, Some(4));
        handed.keep_current(other, None);
        let mut put_back = Vec::new();
        handed.again(&mut |sequence, current| put_back.push((sequence, current)));
        assert_eq!(put_back, [(one, Some(3)), (other, None)]);
        handed.clear();
        handed.again(&mut |_, _| panic!("nothing was drawn"));
    }
}
