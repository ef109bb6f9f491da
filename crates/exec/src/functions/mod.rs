//! The scalar functions: [`planaria_ir::Func`] and the casts.
