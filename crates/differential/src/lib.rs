//! Planaria and PostgreSQL 15 run the same random scripts and must answer the same.
//!
//! 1. [`generate::script`] makes the script of a case from a seed: tables, rows, views, routines, then
//!    statements; at the end every table is read. Scripts of a [`generate::Kind`] keep to one matter: statements of
//!    all kinds, referential actions, queries in queries (LATERAL, WITH, recursion), volatile expressions, what hangs on tables
//!    (partitions, triggers, policies, views, types), values of all types, definitions and what the catalogs say of them,
//!    programs. The last three are written by grammars (`src/generate/grammars`).
//! 2. [`compare::cases`] runs it on both engines ([`engines`]) and compares rows (sorted where no order was
//!    asked for), messages, command tags, SQLSTATEs and error messages, statement by statement.
//! 3. [`compare::shrink`] makes a script that differs smaller: statements fall, then clauses, queries and
//!    expressions.
//!
//! [`recovered::case`] recovers what a script leaves by every scheme instead of comparing answers (`--recover`).
//!
//! A statement that Planaria refuses with 0A000 is not asked of PostgreSQL: `docs/sql.md` says what is not
//! there. What differs for good reasons is listed in `compare` (`judge`), each with its reason.
//!
//! `cargo run -p planaria-differential -- --seed 1 --cases 100` looks for differences, with `--kind actions` in
//! scripts of one kind, and counts statements: what fails on both, what is refused. `--file` compares a script that is
//! given. Scripts in which a difference was found and mended are kept in `tests/scripts`; patches that take a mend out again,
//! in `mutants`: `cargo xtask mutants` wants each of them found.

pub mod cluster;
pub mod compare;
pub mod engines;
pub mod generate;
pub mod recovered;
pub mod rng;
pub mod schema;
pub mod tree;
