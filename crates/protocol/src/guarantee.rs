//! What a scheme promises, as a value that others decide by.

use crate::Heals;

/// An order in which committed transactions, run one after the other, give the same answers and the same tables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SerialOrder {
    /// That of their commit timestamps.
    CommitTs,
    /// That of the timestamps that they drew when they began, as under multi-version timestamp ordering.
    BeginTs,
}

/// What a scheme promises of the transactions that it commits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guarantee {
    /// The serial order; `None` where there may be none, as under snapshot isolation.
    pub order: Option<SerialOrder>,
    /// Whether rows may come into a range, or under a key, that a committed transaction had read without them.
    pub phantoms: bool,
}

impl Guarantee {
    /// Serializable in the order of commit timestamps.
    pub const SERIALIZABLE: Guarantee = Guarantee { order: Some(SerialOrder::CommitTs), phantoms: false };

    /// Whether a call may be logged as a call: run again in the order of commit timestamps, it sees what it saw. Else
    /// it is logged by the values that it wrote.
    pub const fn replays_calls(self) -> bool {
        matches!(self.order, Some(SerialOrder::CommitTs)) && !self.phantoms
    }
}

/// What there is to know of a scheme without its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traits {
    /// [`crate::Protocol::NAME`]
    pub name: &'static str,
    /// [`crate::Protocol::CONCURRENT`]
    pub concurrent: bool,
    /// [`crate::Protocol::GUARANTEE`]
    pub guarantee: Guarantee,
    /// [`Heals::HEALS`]
    pub heals: bool,
}

impl Traits {
    /// Those of a scheme.
    pub const fn of<P: Heals>() -> Traits {
        Traits { name: P::NAME, concurrent: P::CONCURRENT, guarantee: P::GUARANTEE, heals: P::HEALS }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;
    use crate::silo::SiloWith;
    use crate::{Hybrid, Occ, Serial, Silo, TwoPhase};

    #[test]
    fn only_what_is_serial_in_commit_order_is_replayed_by_calls() {
        assert!(Silo::GUARANTEE.replays_calls() && Serial::GUARANTEE.replays_calls());
        assert!(Occ::GUARANTEE.replays_calls() && TwoPhase::GUARANTEE.replays_calls());
        assert!(Hybrid::GUARANTEE.replays_calls());
        assert!(!SiloWith::<true, true, false>::GUARANTEE.replays_calls());
        let by_begin = Guarantee { order: Some(SerialOrder::BeginTs), phantoms: false };
        let with_phantoms = Guarantee { order: Some(SerialOrder::CommitTs), phantoms: true };
        assert!(!by_begin.replays_calls() && !with_phantoms.replays_calls());
    }
}
