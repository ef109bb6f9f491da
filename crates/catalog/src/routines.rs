//! Bodies of routines as SQL has them: no strings, but statements.

use crate::Procedure;
use serde::{Deserialize, Serialize};

/// How the body of a routine was written that is no string. [`Procedure::body`] has the statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StandardBody {
    /// RETURN expression
    Return,
    /// BEGIN ATOMIC .. END
    Atomic,
}

impl Procedure {
    /// The body as it is written behind the options, if it is no string.
    pub fn standard_text(&self) -> Option<String> {
        let body = self.body.trim();
        Some(match self.standard? {
            StandardBody::Return => {
                let expression = body.get("SELECT".len()..).unwrap_or_default();
                format!("RETURN{expression}")
            }
            StandardBody::Atomic if body.is_empty() => "BEGIN ATOMIC\nEND".to_owned(),
            StandardBody::Atomic => {
                let end = if body.ends_with(';') { "" } else { ";" };
                format!("BEGIN ATOMIC\n {body}{end}\nEND")
            }
        })
    }
}
