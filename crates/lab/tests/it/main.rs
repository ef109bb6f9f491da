//! The integration tests of the room in one binary, so that the engine is linked once.

mod breadth;
mod checkpoint;
mod clr_p;
mod costs;
mod recovery;
mod recovery_conformance;
