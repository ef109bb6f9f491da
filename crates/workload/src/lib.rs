//! Workloads: TPC-C, SmallBank, YCSB, Voter and a TPC-B, each defined by its SQL alone.
//!
//! 1. A [`Suite`] is the SQL of a workload: schema, loader, procedures, a golden run and checks
//!    (the files under `sql/`, which run unchanged on PostgreSQL 15).
//! 2. A [`Driver`] draws the inputs of one transaction after another and calls the procedures
//!    through the embedding API, as an application would: as the benchmark says, or by [`Parameters`].
//! 3. [`Suite::violations`] runs the checks.
//!
//! 4. Or all of that comes from a folder of the user's: SQL and `workload.toml` ([`Workload::find`]).
//!
//! The engine knows none of these names.

mod folder;
mod inputs;
mod parameters;
pub mod skew;
mod smallbank;
mod suite;
mod tpcb;
mod tpcc;
mod voter;
mod ycsb;

pub use folder::Set;
pub use parameters::Parameters;
pub use suite::{Driver, Suite, Violation, Workload};
