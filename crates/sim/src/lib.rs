//! Simulation: what the tests of durability and isolation stand on.
//!
//! * [`dice`]: chance, by seed.
//! * [`disk`]: a disk that loses what was not synced.
//! * [`history`]: what transactions saw, and whether one order explains it.
//! * [`scheduler`]: threads that take turns by seed.

pub mod dice;
pub mod disk;
pub mod history;
pub mod scheduler;
