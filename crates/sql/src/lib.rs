//! From text to IR: parser, binder, planner, PL/pgSQL and SQL lowering, schema changes.
//!
//! ```text
//!  text --parse--> ast --lower--> ir::Program          (queries, DML, PL/pgSQL bodies, DO)
//!                     \--ddl----> changed catalog + work on stored rows
//! ```

pub mod ast;
pub mod ddl;
pub mod lower;
pub mod parse;
