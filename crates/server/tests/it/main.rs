//! The integration tests of the room in one binary, so that the engine is linked once.

mod activity;
mod budget;
mod called;
mod claims;
#[path = "../common/mod.rs"]
mod common;
mod crowd;
mod door;
mod durability;
mod encryption;
mod explained;
mod full_disk;
mod gate;
mod limits;
mod login;
mod notify;
mod page;
mod protocol;
mod statistics;
