//! Programs that embed Planaria, to read and to run:
//!
//! * `cargo run -p planaria-examples --example ledger`: accounts over HTTP, with axum;
//! * `cargo run -p planaria-examples --example job_queue`: workers that take jobs from a table;
//! * `cargo run -p planaria-examples --example testing`: code over the database, and how it is tested.
//!
//! They stand apart from the library, so that it does not depend on what they depend on. The tests of this crate run them.

/// The book's blocks of code, which are compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/embedding.md")]
mod guide {}

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/tutorial-embedded.md")]
mod tutorial {}
