//! What the caller is told beside the answer.

/// A message of RAISE NOTICE and the like, or of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// DEBUG, LOG, INFO, NOTICE or WARNING.
    pub severity: &'static str,
    /// One line.
    pub message: String,
    /// More.
    pub detail: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}
