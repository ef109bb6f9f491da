//! Operators as they are written.

use planaria_syntax::ast::BinaryOp;

/// The symbol of an infix operator.
pub(super) fn binary(op: BinaryOp) -> String {
    crate::lower::operator_symbol(op).to_owned()
}
