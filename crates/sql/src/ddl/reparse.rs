//! Definitions are kept as text; here they become trees again.

use planaria_base::Result;
use planaria_syntax::ast::{Expr, Query};

/// The query of a view.
pub(super) fn query(text: &str) -> Result<Query> {
    planaria_syntax::parse::query(text)
}

/// A default or a CHECK.
pub(super) fn expression(text: &str) -> Result<Expr> {
    planaria_syntax::parse::expression(text)
}
