//! Running programs: IR to register code, the machine, the scalar functions.
//!
//! ```text
//!  Program --compile--> Code --Machine::run--> Protocol (rows), Host (inputs, messages, answer rows)
//! ```
//!
//! * [`compile()`] makes a [`Code`] once per program and catalog version: jumps resolved, constants and
//!   column readers in place, temporaries and dead columns gone.
//! * A worker's [`Machine`] runs codes, one transaction after another, without allocating in the
//!   steady state. It is generic over the protocol, chosen once at the edge; what does not touch rows
//!   is not generic.
//! * Values are [`Slot`]s, three words in a register; what does not fit lies in the worker's [`Heap`].
//! * [`functions`] are the scalar functions, operators and casts of the IR.
//!
//! The machine knows no catalog, no SQL and no log: what it needs from the engine it asks its
//! [`Host`], and what the engine logs is what the host gave out.

pub mod functions;
pub mod heap;
pub mod slot;
pub mod values;

mod code;
mod collection;
mod compile;
mod host;
mod machine;
mod search;

pub use code::{
    Bounds, Class, Code, End, IndexMeta, Leaf, Part, Partitions, Source, TableMeta, Teller, Test, Told,
};
pub use compile::{CompileEnv, Conversion, comparison, compile, compile_ahead, conversion, simplified};
pub use heap::Heap;
pub use host::{Beside, Carrier, Context, CursorAt, Dynamic, Host, Interrupt, Link, StepProgram, Stepwise};
#[cfg(debug_assertions)]
pub use machine::{Event, Frame, Trace};
pub use machine::{Machine, Pace, Suspended, tidy};
pub use slot::{BytesKind, Slot};
