//! exec

pub mod functions;
pub mod heap;
pub mod slot;
