//! Statements that are analysed once and run often.

use crate::row::Column;
use crate::session::prepared::PreparedStatement;
use planaria_base::Type;
use std::sync::Arc;

/// A statement with parameters, analysed once.
#[derive(Clone)]
pub struct Statement {
    pub(crate) inner: Arc<PreparedStatement>,
    /// Of its parameters, where it has them by name.
    pub(crate) names: Option<Arc<[String]>>,
}

impl std::fmt::Debug for Statement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Statement").field(&self.text()).finish()
    }
}

impl Statement {
    /// The text.
    pub fn text(&self) -> &str {
        &self.inner.text
    }
    /// The columns of its answer; none where it has no rows.
    pub fn columns(&self) -> &[Column] {
        &self.inner.columns
    }
    /// The types of its parameters: as declared, else inferred from where they stand.
    pub fn parameters(&self) -> &[Type] {
        // Those of COPY are its columns.
        if self.inner.copy.is_some() { &[] } else { &self.inner.parameters }
    }
}

/// Where a session's transaction stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionStatus {
    /// None is open.
    Idle,
    /// One is open.
    Open,
    /// One is open and has failed; only ROLLBACK leaves it.
    Failed,
}
