//! The static analysis of PACMAN (Wu, Guo, Chan, Tan: *Fast Failure Recovery for Main-Memory DBMSs on
//! Multicores*, SIGMOD 2017), §4.1 and Appendix B, at the level of tables.
//!
//! ```text
//!  Program --committed--> Program --OperationGraph--> flow and data dependencies  (Figure 2b)
//!                                        |  Algorithm 1        |  SC-cycles (baseline)
//!                                    LocalGraph: slices    chop: pieces           (Figure 5a, 5b)
//!                                        \--------- Algorithm 2 --------/
//!                                           GlobalGraph: blocks                   (Figures 5c, 21)
//!                                                 |  piece counts, costs
//!                                           Schedule: piece-sets, critical path   (Figures 6, 9)
//! ```
//!
//! Two operations are *data-dependent* where both touch one table and at least one changes it; `b` is
//! *flow-dependent* on `a` where what `a` read is used by `b` or decides whether `b` runs. Everything
//! follows from the IR, for the whole dialect:
//!
//! * A row handle ties an UPDATE or DELETE to the read that found the row: one operation of the paper.
//! * Loops: an operation in a loop stands for all its turns; dependencies carried from one turn to the
//!   next make it mutually dependent with what carries them, and so one slice.
//! * Calls that are left in a program touch what the called routine, and what it calls, touches.
//! * [`committed()`](crate::committed()) gives the program as replay of a logged call meets it: no error was
//!   raised, no handler ran; [`committed_whole()`](crate::committed_whole()) puts in what it calls, besides.
//!   The graphs of the program itself hold for any call.
//! * What cannot be cut (SQL made at run time, `setval`) says why in `barrier`: such calls run alone.
//!
//! What it does not do: columns, keys, dead reads. That is `regrow`'s analysis. Inputs that a call draws
//! (`now()`, sequence values) are logged with it and so depend on nothing; whoever runs slices apart has
//! to hand each the inputs it draws.

mod chopping;
mod classes;
mod global;
mod local;
mod operations;
pub mod schedule;
pub mod slicing;
pub mod text;

pub use chopping::chop;
pub use global::{Block, GlobalGraph};
pub use local::{LocalGraph, Slice};
pub use operations::{Accesses, Operation, OperationGraph};
pub use schedule::Schedule;

planaria_base::entity_id!(
    /// A slice of a procedure: its position in the [`LocalGraph`].
    SliceId, "s");
planaria_base::entity_id!(
    /// A block of a [`GlobalGraph`]: its position there.
    BlockId, "b");

#[cfg(test)]
mod tests;
