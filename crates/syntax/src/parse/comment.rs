//! COMMENT ON.

use planaria_base::Result;

use super::parser::Parser;
use crate::ast::{CommentTarget, ObjectKind, StatementKind, TypeRef};

impl Parser<'_> {
    /// `COMMENT ON object IS 'text' | NULL`
    pub(crate) fn comment(&mut self) -> Result<StatementKind> {
        self.bump();
        self.expect_word("on")?;
        let word = self.word();
        let relation = match word.as_str() {
            "table" => Some(ObjectKind::Table),
            "index" => Some(ObjectKind::Index),
            "view" => Some(ObjectKind::View),
            "materialized" if self.at_word_ahead(1, "view") => {
                self.bump();
                Some(ObjectKind::MaterializedView)
            }
            "sequence" => Some(ObjectKind::Sequence),
            _ => None,
        };
        if let Some(object) = relation {
            self.bump();
            let name = self.qualified_name()?;
            return self.comment_text(CommentTarget::Relation(object, name));
        }
        let on = match word.as_str() {
            "column" => {
                self.bump();
                CommentTarget::Column(self.qualified_name()?)
            }
            "constraint" => {
                self.bump();
                let name = self.name()?;
                self.expect_word("on")?;
                match self.eat_word("domain") {
                    true => CommentTarget::DomainConstraint(name, self.qualified_name()?),
                    false => CommentTarget::Constraint(name, self.qualified_name()?),
                }
            }
            "trigger" => self.comment_on_trigger()?,
            "policy" => self.comment_on_policy()?,
            "cast" => self.comment_on_cast()?,
            "function" | "procedure" | "routine" => {
                let procedure = match word.as_str() {
                    "function" => Some(false),
                    "procedure" => Some(true),
                    _ => None,
                };
                self.bump();
                CommentTarget::Routine(self.routine_ref(procedure)?)
            }
            "aggregate" => {
                self.bump();
                CommentTarget::Routine(self.aggregate_ref()?)
            }
            "role" => {
                self.bump();
                CommentTarget::Role(self.role_spec()?)
            }
            "type" | "domain" => {
                let domain = word.as_str() == "domain";
                self.bump();
                CommentTarget::Type(TypeRef { name: self.qualified_name()?, domain })
            }
            "schema" => {
                self.bump();
                let position = self.position();
                CommentTarget::Schema(self.name()?, position)
            }
            "database" => {
                self.bump();
                CommentTarget::Database(self.name()?)
            }
            "statistics" => {
                self.bump();
                CommentTarget::Statistics(self.qualified_name()?)
            }
            "extension" => {
                self.bump();
                CommentTarget::Extension(self.name()?)
            }
            "access" | "collation" | "conversion" | "event" | "foreign" | "language" | "large"
            | "materialized" | "operator" | "procedural" | "publication" | "rule" | "server"
            | "subscription" | "tablespace" | "text" | "transform" => {
                let what = match word.as_str() {
                    "materialized" => "MATERIALIZED VIEW".to_owned(),
                    other => other.to_uppercase(),
                };
                return self.unsupported_statement(&format!("COMMENT ON {what}"));
            }
            _ => return self.fail(),
        };
        self.comment_text(on)
    }

    /// `IS 'text' | NULL`; an empty text is none.
    fn comment_text(&mut self, on: CommentTarget) -> Result<StatementKind> {
        self.expect_word("is")?;
        let text = if self.eat_word("null") { None } else { Some(self.string()?) };
        Ok(StatementKind::Comment { on, text: text.filter(|t| !t.is_empty()) })
    }
}
