//! Definitions are kept as text; here they become trees again.

use planaria_base::Result;
use planaria_syntax::ast::{Expr, Query, Statement};

/// The query of a view.
pub(super) fn query(text: &str) -> Result<Query> {
    planaria_syntax::parse::query(text)
}

/// The body of a routine.
pub(super) fn statements(text: &str) -> Result<Vec<Statement>> {
    planaria_syntax::parse::statements(text)
}

/// A default or a CHECK.
pub(super) fn expression(text: &str) -> Result<Expr> {
    planaria_syntax::parse::expression(text)
}
