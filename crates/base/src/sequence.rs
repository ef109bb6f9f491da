//! Where a sequence stands, in an order of its own.
//!
//! What is done to a sequence takes effect at once, whatever becomes of the transaction that did it, and in
//! another order than transactions commit. So each effect says which place of the sequence it led to:
//!
//! 1. a *generation* begins where a sequence is set, and where a cycle begins anew;
//! 2. within a generation values go one way, that of the increment.
//!
//! Of places that the log has, in whatever order, the last of the newest generation is where the sequence stands.

use crate::Datum;

/// A place in the life of a sequence.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SequencePlace {
    /// How often it had been set, or begun anew.
    pub generation: u64,
    /// The value it gave last, or gives next.
    pub value: i64,
    /// Whether it was given (`is_called`).
    pub called: bool,
}

impl SequencePlace {
    /// More generations than this no sequence has: it is an `i64` among a call's inputs, and doubled in memory.
    pub const GENERATION_MAX: u64 = i64::MAX as u64 / 2;

    /// Of a value that was given.
    pub fn given(generation: u64, value: i64) -> SequencePlace {
        SequencePlace { generation, value, called: true }
    }

    /// As it stands among the inputs of a logged call: the value, with its generation if that is not the first.
    pub fn of_input(input: &Datum) -> Option<SequencePlace> {
        match input {
            Datum::Int(value) => Some(SequencePlace::given(0, *value)),
            Datum::Array(both) => match both[..] {
                [Datum::Int(value), Datum::Int(generation)] => SequencePlace::of_pair(value, generation),
                _ => None,
            },
            _ => None,
        }
    }

    /// The same of a value and the number of its generation.
    pub fn of_pair(value: i64, generation: i64) -> Option<SequencePlace> {
        let generation = u64::try_from(generation).ok().filter(|g| *g <= SequencePlace::GENERATION_MAX)?;
        Some(SequencePlace::given(generation, value))
    }

    /// Whether it says where the sequence was set without saying which generation that began: so did logs before
    /// format 5. It holds for what comes after it in the order of commits.
    pub fn is_in_commit_order(&self) -> bool {
        self.generation == 0 && !self.called
    }
}
