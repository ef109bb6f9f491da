//! Fuzzing: what strangers may hand us, and what must not come of it.
//!
//! Strangers hand us SQL text ([`sql`]), messages of the wire protocol ([`wire`]) and files ([`files`]: log and
//! checkpoint, whose checksums are made to fit, since who forges a file can count too). Each of these has a
//! function of bytes that panics where the answer is wrong: a panic below, an internal error (XX000), a connection
//! that hangs, a database that opened and does not hold together. An error with its SQLSTATE is right.
//!
//! Two things drive them: `tests/strangers.rs`, with inputs that [`chance`] makes of a corpus by a seed, on any
//! toolchain and in CI; and libFuzzer, which follows the coverage, by `cargo +nightly fuzz run TARGET` in `fuzz/`
//! at the top. What either finds is kept in `corpus/`, whose files run first.

pub mod chance;
pub mod files;
pub mod sql;
pub mod wire;
