//! Bodies of routines as SQL has them: no strings, but statements; forms of programs.

use crate::{Language, Procedure, Returns};
use serde::{Deserialize, Serialize};

/// The form in which programs of new routines are made. Since 1, aggregates without an order of their own take the rows as
/// they come where another aggregate beside them has one, `VARIADIC` of functions that build JSON is a list of its elements,
/// and no argument stands behind one that is named. Since 2, a routine in PL/pgSQL whose records take rows of which nothing is known
/// beforehand is carried out by steps, whatever calls it; before, such a statement failed where it was reached. Since 3, so is one
/// that calls `set_config('search_path', ..)`; before, that had no effect on the statements behind it. Since 4, a function that
/// answers with a row says whether there is one, which was NULL where its fields were, and so is a row that is passed or assigned;
/// AFTER triggers of changes in WITH fire when all parts of the statement are done, which each part did when it ended. Since 5, what
/// is assigned to an element or a slice of an array column has the length and the scale of its elements, trigger functions are
/// carried out by steps as other routines are, and conditions that ask for what a query answers once are checked before those that
/// call functions.
pub const PROGRAM_FORM: u8 = 5;

/// The first form in which a condition with a query that is the same for all rows is checked before one with a function.
pub const ASKED_ONCE: u8 = 5;

/// The first form in which rows of NULLs are told from no row, and AFTER triggers wait for all parts of their statement.
pub const ROWS_TOLD: u8 = 4;

/// The first form in which elements that are assigned fit the type of the column; and of changes of the schema the first in which
/// columns of CREATE TABLE AS have the domains of what the query reads.
pub const ELEMENTS_FIT: u8 = 5;

pub(crate) fn is_first_form(form: &u8) -> bool {
    *form == 0
}

/// How the body of a routine was written that is no string. [`Procedure::body`] has the statements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum StandardBody {
    /// RETURN expression
    Return,
    /// BEGIN ATOMIC .. END
    Atomic,
}

/// What a function says of itself to planners that estimate, and run parts of plans in parallel. It is shown, and changes nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Hints {
    /// LEAKPROOF
    #[serde(default)]
    pub leakproof: bool,
    /// PARALLEL, as `pg_proc` has it, where it is not UNSAFE.
    #[serde(default)]
    pub parallel: Option<char>,
    /// COST, as a `real` is written.
    #[serde(default)]
    pub cost: Option<String>,
    /// ROWS
    #[serde(default)]
    pub rows: Option<String>,
}

impl Hints {
    /// COST where nothing is said.
    pub const COST: &str = "100";
    /// ROWS where nothing is said.
    pub const ROWS: &str = "1000";

    /// Whether nothing is said.
    pub fn are_none(&self) -> bool {
        *self == Hints::default()
    }
}

impl Procedure {
    /// Whether its program answers, behind the columns, with whether there is a row.
    pub fn says_row(&self) -> bool {
        self.form >= ROWS_TOLD
            && match &self.returns {
                Returns::RowOf(_) => true,
                Returns::Record { set, columns } => !set && !columns.is_empty(),
                // Where PL/pgSQL has OUT parameters there is a row of them.
                Returns::OutRow => self.language == Language::Sql,
                _ => false,
            }
    }

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
