//! What a run of a program was given of what is new each time, to be given again to one that heals it: by kind, in the
//! order in which it came.

use planaria_base::{SequenceId, SequencePlace};
use planaria_exec::slot::Slot;
use planaria_ir::Draw;

/// What was asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Draw(Draw),
    Next(SequenceId),
    Current(SequenceId),
}

#[derive(Clone, Copy)]
enum Value {
    Drawn(Slot),
    Place(SequencePlace),
    Int(i64),
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
}

impl Handed {
    /// A transaction begins.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.gifts.clear();
    }

    /// It runs again.
    pub(crate) fn again(&mut self) {
        self.gifts.iter_mut().for_each(|gift| gift.taken = false);
    }

    /// Whether a value of a sequence was given to an earlier run alone.
    pub(crate) fn has_left_over(&self) -> bool {
        self.gifts.iter().any(|gift| !gift.taken && matches!(gift.what, What::Next(_)))
    }

    fn take(&mut self, what: What) -> Option<Value> {
        let gift = self.gifts.iter_mut().find(|gift| !gift.taken && gift.what == what)?;
        gift.taken = true;
        Some(gift.value)
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

    /// The same of the value that the session drew last.
    pub(crate) fn current<E>(
        &mut self,
        sequence: SequenceId,
        ask: impl FnOnce() -> Result<i64, E>,
    ) -> Result<i64, E> {
        if let Some(Value::Int(value)) = self.take(What::Current(sequence)) {
            return Ok(value);
        }
        let value = ask()?;
        self.give(What::Current(sequence), Value::Int(value));
        Ok(value)
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
        handed.again();
        assert!(handed.has_left_over());
        assert_eq!(handed.drawn(Draw::Random, &mut fresh).map(|slot| slot.int()), Ok(one));
        assert_eq!(handed.drawn(Draw::Random, &mut fresh).map(|slot| slot.int()), Ok(two));
        assert_eq!(handed.drawn(Draw::Random, &mut fresh).map(|slot| slot.int()), Ok(4));
        assert_eq!(handed.drawn(Draw::ClockTimestamp, &mut fresh).map(|slot| slot.int()), Ok(clock));
        assert_eq!(handed.next(SequenceId(4), || place(7)).map(|p| p.value), Ok(7));
        assert_eq!(handed.next(SequenceId(3), || place(41)), Ok(next));
        assert!(!handed.has_left_over());
        handed.clear();
        handed.again();
        assert_eq!(handed.next(SequenceId(3), || place(41)).map(|p| p.value), Ok(41));
    }
}
