//! What the caller is told beside the answer.

use planaria_base::{Error, Level, SqlState};

/// A message of RAISE NOTICE and the like, or of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// DEBUG, LOG, INFO, NOTICE or WARNING.
    pub severity: &'static str,
    /// Its SQLSTATE.
    pub code: SqlState,
    /// One line.
    pub message: String,
    /// More.
    pub detail: Option<String>,
    /// What to do.
    pub hint: Option<String>,
}

impl Notice {
    /// A message of a level.
    pub(crate) fn of(level: Level, message: &Error) -> Notice {
        let fields = message.fields();
        Notice {
            severity: level.severity(),
            code: fields.sqlstate,
            message: fields.message.clone(),
            detail: fields.detail.clone(),
            hint: fields.hint.clone(),
        }
    }
}
