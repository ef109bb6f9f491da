//! Simulation: what the tests of durability and isolation stand on.

pub mod disk;
pub mod history;
