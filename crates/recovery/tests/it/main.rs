//! The integration tests of the room in one binary, so that the engine is linked once.

mod logs_by_value;
#[path = "../mini/mod.rs"]
mod mini;
mod regrow;
