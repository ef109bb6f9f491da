//! From text to the syntax tree: SQL in PostgreSQL's dialect, and PL/pgSQL.
//!
//! ```text
//!  text --parse--> ast::Statement        (and, of a body in PL/pgSQL, ast::plpgsql::PlBlock)
//! ```
//!
//! Whoever reads text stands on this room alone; what names mean is the binder's affair (room `sql`). Of the
//! catalog it knows the words only: how keys are ordered, when a constraint is checked, what a routine promises.

pub mod ast;
pub mod marks;
pub mod parse;
