//! Options of views, and ALTER VIEW.

use super::Expr;
use planaria_catalog::CheckOption;

/// What a statement says of a view's options; `None`: nothing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ViewOptions {
    /// WITH CHECK OPTION, or `check_option`
    pub check: Option<Option<CheckOption>>,
    /// `security_invoker`
    pub security_invoker: Option<bool>,
    /// `security_barrier`
    pub security_barrier: Option<bool>,
    /// The names of these, in the order in which they are written.
    pub order: Vec<&'static str>,
}

/// ALTER VIEW
#[derive(Clone, PartialEq, Debug)]
pub enum AlterView {
    /// SET (..), RESET (..)
    Options(ViewOptions),
    /// RENAME COLUMN .. TO
    RenameColumn {
        /// Its name.
        from: String,
        /// Its new one.
        to: String,
    },
    /// ALTER COLUMN .. SET DEFAULT (with its text), DROP DEFAULT
    Default {
        /// Its name.
        column: String,
        /// The expression and its text.
        default: Option<(Box<Expr>, String)>,
    },
}
