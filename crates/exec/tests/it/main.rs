//! The integration tests of the room in one binary, so that the engine is linked once.

#[path = "../common/generator.rs"]
mod generator;
#[macro_use]
#[path = "../common/mod.rs"]
mod common;
mod functions;
mod inline;
mod keep;
mod programs;
mod random;
mod tables;
