//! The campaign: faults strike a whole database, by seed, and what it promises is held against it.
//!
//! * [`faults`]: scripted and concurrent runs on a simulated disk that fails in every way the list there has.
//! * [`schedule`]: threads that take turns by seed, on a disk that fails.
//! * [`determinism`]: what depends on the moment, the session and chance, in schema changes, routines and sequences.
//! * [`histories`]: random transactions on several threads, and whether one order explains what they saw.
//!
//! A case is a function of its kind, its seed and its number: what is printed of one that fails suffices to
//! repeat it. A few cases of each kind are tests; `planaria lab faults` and `planaria lab histories` run as
//! many as one likes. What the promises are: `docs/reliability.md`.
//!
//! Whether the campaign would find what it is for is tried, too: `mutants/` has patches that take mends of the engine out
//! again, and `cargo xtask mutants` wants a wrong case of each.

pub mod determinism;
pub mod faults;

pub mod histories;
mod model;
pub mod schedule;
mod script;

use planaria::ProtocolKind;
use planaria_sim::dice::Dice;
use std::sync::OnceLock;

static ONLY: OnceLock<ProtocolKind> = OnceLock::new();

/// All cases of this process are run with this protocol, whatever they would draw. Said once, before the first; later it
/// changes nothing.
pub fn only(protocol: ProtocolKind) {
    let _ = ONLY.set(protocol);
}

/// What a case is run with: any of the shelf, the default three times as often as each of the others.
fn protocol(dice: &mut Dice) -> ProtocolKind {
    let mut all = ProtocolKind::ALL.to_vec();
    all.extend([ProtocolKind::default(); 2]);
    let drawn = dice.of(&all);
    ONLY.get().copied().unwrap_or(drawn)
}
