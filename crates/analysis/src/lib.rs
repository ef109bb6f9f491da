//! What a program tells about itself: dependencies between its operations, and how its calls are logged.
//!
//! * `flow`: definitions, controls and escapes of a program, found by one walk over it. What depends on control flow is a view
//!   of it: the next, [`regrow`]'s values and [`paper`]'s chains of definitions.
//! * [`graph`]: the program dependency graph: key, value, control and data edges (PACMAN §4.1; thesis
//!   §3.3). `EXPLAIN` shows it, and which operations a stale read may change under healing; [`paper`] cuts slices along it.
//!   Healing itself runs the whole program again, and does not read it.
//! * [`inline()`]: calls replaced by the bodies of what they call.
//! * [`committed()`]: a program as replay of a logged call meets it.
//! * [`logging`]: whether a call can be logged as a call, and why not.
//! * [`look_ahead()`]: lookups that can be made before a call has read anything.
//! * [`paper`]: slices and blocks of PACMAN at table level, transaction chopping.
//! * [`explain()`]: the first two for people (`EXPLAIN PROCEDURE`).
//!
//! Everything is computed from the IR alone, for the whole dialect: nothing is known of any procedure.

pub mod committed;
pub mod cost;
pub mod errors;
pub mod explain;
mod flow;
pub mod graph;
pub mod inline;
pub mod logging;
pub mod look_ahead;
pub mod paper;
pub mod regrow;

pub use committed::{committed, committed_whole};
pub use cost::Cost;
pub use explain::{Names, Numbers, explain};
pub use graph::{DependencyGraph, Edge, EdgeKind};
pub use inline::{NotInlined, inline, inline_except};
pub use logging::Logging;
pub use look_ahead::{LookAhead, look_ahead, waves};
