//! The integration tests of the room in one binary, so that the engine is linked once.

mod look_ahead;
mod paper;
mod regrow;
mod slicing;
