//! From the syntax tree to IR: binder, planner, PL/pgSQL and SQL lowering, schema changes.
//!
//! ```text
//!  text --parse (room `syntax`)--> ast --lower--> ir::Program   (queries, DML, PL/pgSQL bodies, DO)
//!                                     \--ddl----> changed catalog + work on stored rows
//! ```

pub mod ddl;
pub mod deparse;
pub mod lower;
