//! CREATE CAST, DROP CAST.

use planaria_base::Result;

use super::parser::Parser;
use crate::ast::{CastChange, CastMethod, CastTypes, CommentTarget, StatementKind};
use planaria_catalog::UserCastContext;

impl Parser<'_> {
    /// `(source AS target)`
    fn cast_types(&mut self) -> Result<CastTypes> {
        let mut types = self.paren_list(|p| {
            let source = p.type_name()?;
            p.expect_word("as")?;
            Ok(CastTypes { source, target: p.type_name()? })
        })?;
        match (types.pop(), types.is_empty()) {
            (Some(types), true) => Ok(types),
            _ => self.fail(),
        }
    }

    /// `CREATE CAST (source AS target) ..`, CREATE taken.
    pub(crate) fn create_cast(&mut self) -> Result<StatementKind> {
        self.bump();
        let types = self.cast_types()?;
        let position = self.position();
        let method = if self.eat_words(&["with", "inout"]) {
            CastMethod::InOut
        } else if self.eat_words(&["without", "function"]) {
            CastMethod::Binary
        } else if self.eat_words(&["with", "function"]) {
            return self.unsupported("CREATE CAST WITH FUNCTION", position);
        } else {
            return self.fail();
        };
        let context = if self.eat_words(&["as", "implicit"]) {
            UserCastContext::Implicit
        } else if self.eat_words(&["as", "assignment"]) {
            UserCastContext::Assignment
        } else {
            UserCastContext::Explicit
        };
        Ok(StatementKind::Cast(Box::new(CastChange::Create { types, method, context })))
    }

    /// `DROP CAST [IF EXISTS] (source AS target)`, DROP taken.
    pub(crate) fn drop_cast(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_exists = self.eat_words(&["if", "exists"]);
        let types = self.cast_types()?;
        self.cascade();
        Ok(StatementKind::Cast(Box::new(CastChange::Drop { types, if_exists })))
    }

    /// `CAST (source AS target)` of COMMENT ON.
    pub(crate) fn comment_on_cast(&mut self) -> Result<CommentTarget> {
        self.bump();
        Ok(CommentTarget::Cast(Box::new(self.cast_types()?)))
    }
}
