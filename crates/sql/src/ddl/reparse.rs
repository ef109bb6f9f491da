//! Definitions are kept as text; here they become trees again.

use crate::ast::{Expr, Query};
use planaria_base::Result;

/// The query of a view.
pub(super) fn query(text: &str) -> Result<Query> {
    crate::parse::query(text)
}

/// A default or a CHECK.
pub(super) fn expression(text: &str) -> Result<Expr> {
    crate::parse::expression(text)
}
