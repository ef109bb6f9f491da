//! Checks of the house, executed: `cargo xtask tidy` and, where somebody changed the generators of random cases or what
//! they are to find, `cargo xtask mutants [NAME..]` ([`mutants`]). The first looks at
//!
//! 1. room directions: who may depend on whom (a room not listed here fails: decide where it stands);
//! 2. file growth: a source file over 900 lines is thought about again, or listed with its reason;
//! 3. `unsafe` only in rooms that declare it, and only in files that say why;
//! 4. docs present: every room's `lib.rs` opens with its protocol, every format has its page, the
//!    pages that the README promises exist;
//! 5. nothing unfinished: no `todo!`, no ignored tests, no paths of a machine;
//! 6. the patches of mutants apply;
//! 7. the book has all pages, and its links lead somewhere ([`book`]).
//!
//! `cargo xtask book [PAGE..]` carries out the commands of the book; `cargo xtask perf [--keep] [NAME..]` counts what calls
//! and replay cost ([`perf`]).

mod book;
mod mutants;
mod perf;
mod tidy;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.split_first().map(|(command, names)| (command.as_str(), names)) {
        Some(("tidy", [])) => tidy::run(),
        Some(("book", names)) => book::run(names),
        Some(("mutants", names)) => mutants::run(names),
        Some(("perf", arguments)) => perf::run(arguments),
        _ => {
            eprintln!(
                "usage: cargo xtask tidy | cargo xtask mutants [NAME..] | cargo xtask book [PAGE..] | cargo xtask perf [--keep] [NAME..]"
            );
            ExitCode::from(2)
        }
    }
}
