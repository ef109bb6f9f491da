//! Checks of the house, executed: `cargo xtask tidy`.
//!
//! 1. room directions: who may depend on whom (a room not listed here fails: decide where it stands);
//! 2. file growth: a source file over 900 lines is thought about again, or listed with its reason;
//! 3. `unsafe` only in rooms that declare it, and only in files that say why;
//! 4. docs present: every room's `lib.rs` opens with its protocol, every format has its page, the
//!    pages that the README promises exist;
//! 5. nothing unfinished: no `todo!`, no ignored tests, no paths of a machine.

mod tidy;

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => tidy::run(),
        _ => {
            eprintln!("usage: cargo xtask tidy");
            ExitCode::from(2)
        }
    }
}
