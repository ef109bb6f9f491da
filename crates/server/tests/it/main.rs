//! The integration tests of the room in one binary, so that the engine is linked once.

mod activity;
mod claims;
#[path = "../common/mod.rs"]
mod common;
mod crowd;
mod durability;
mod encryption;
mod gate;
mod limits;
mod login;
mod protocol;
