//! The integration tests of the room in one binary, so that the engine is linked once.

mod determinism;
mod faults;
mod histories;
mod moments;
mod references;
