//! CREATE, ALTER and DROP POLICY; row-level security of ALTER TABLE.

use planaria_base::{Error, Result, SqlState};
use planaria_catalog::PolicyCommand;

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{AlterTable, CommentTarget, CreatePolicy, Expr, PolicyChange, RoleSpec, StatementKind};

impl Parser<'_> {
    /// `CREATE POLICY ..`, CREATE taken.
    pub(crate) fn create_policy(&mut self) -> Result<StatementKind> {
        self.bump();
        let name = self.name()?;
        self.expect_word("on")?;
        let table = self.qualified_name()?;
        let mut permissive = true;
        if self.eat_word("as") {
            let position = self.position();
            let word = self.word();
            permissive = match word.as_str() {
                "permissive" => true,
                "restrictive" => false,
                _ if !self.at_name_ahead(0) => return self.fail(),
                other => {
                    let message = format!("unrecognized row security option \"{other}\"");
                    return Err(Error::new(SqlState::SYNTAX_ERROR, message)
                        .with_hint("Only PERMISSIVE or RESTRICTIVE policies are supported currently.")
                        .at(position));
                }
            };
            self.bump();
        }
        let mut command = PolicyCommand::All;
        if self.eat_word("for") {
            command = match self.word().as_str() {
                "all" => PolicyCommand::All,
                "select" => PolicyCommand::Select,
                "insert" => PolicyCommand::Insert,
                "update" => PolicyCommand::Update,
                "delete" => PolicyCommand::Delete,
                _ => return self.fail(),
            };
            self.bump();
        }
        let (roles, using, check) = self.policy_clauses()?;
        Ok(StatementKind::CreatePolicy(Box::new(CreatePolicy {
            name,
            table,
            permissive,
            command,
            roles,
            using,
            check,
        })))
    }

    /// `[TO roles] [USING (e)] [WITH CHECK (e)]`
    #[allow(clippy::type_complexity)]
    fn policy_clauses(&mut self) -> Result<(Vec<RoleSpec>, Option<(Expr, String)>, Option<(Expr, String)>)> {
        let roles = if self.eat_word("to") { self.role_list()? } else { Vec::new() };
        let using = if self.eat_word("using") { Some(self.policy_condition()?) } else { None };
        let check = if self.eat_words(&["with", "check"]) { Some(self.policy_condition()?) } else { None };
        Ok((roles, using, check))
    }

    fn policy_condition(&mut self) -> Result<(Expr, String)> {
        self.expect(Kind::LeftParen)?;
        // A condition is printed with parentheses of its own.
        let more = self.at_kind(Kind::LeftParen)
            && !self.at_paren_query()
            && self
                .closing(self.index())
                .is_some_and(|close| self.peek_at(close + 1 - self.index()).kind == Kind::RightParen);
        if more {
            self.bump();
        }
        let condition = self.expr_with_text(false)?;
        for _ in 0..=usize::from(more) {
            self.expect(Kind::RightParen)?;
        }
        Ok(condition)
    }

    /// `ALTER POLICY name ON table ..`, ALTER taken.
    pub(crate) fn alter_policy(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_exists = self.eat_words(&["if", "exists"]);
        let name = self.name()?;
        self.expect_word("on")?;
        let table = self.qualified_name()?;
        let change = if self.at_word("rename") {
            self.expect_words(&["rename", "to"])?;
            PolicyChange::Rename(self.name()?)
        } else if if_exists {
            // Renaming alone has IF EXISTS.
            return self.fail();
        } else {
            let (roles, using, check) = self.policy_clauses()?;
            PolicyChange::Set { roles, using, check }
        };
        Ok(StatementKind::AlterPolicy { name, table, if_exists, change: Box::new(change) })
    }

    /// `DROP POLICY [IF EXISTS] name ON table`, DROP taken.
    pub(crate) fn drop_policy(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_exists = self.eat_words(&["if", "exists"]);
        let name = self.name()?;
        self.expect_word("on")?;
        let table = self.qualified_name()?;
        // Nothing depends on a policy.
        self.cascade();
        Ok(StatementKind::DropPolicy { name, table, if_exists })
    }

    /// `POLICY name ON table` of COMMENT ON.
    pub(crate) fn comment_on_policy(&mut self) -> Result<CommentTarget> {
        self.bump();
        let name = self.name()?;
        self.expect_word("on")?;
        Ok(CommentTarget::Policy(name, self.qualified_name()?))
    }

    /// `{ENABLE | DISABLE | FORCE | NO FORCE} ROW LEVEL SECURITY` of ALTER TABLE; `None` where it is about something
    /// else.
    pub(crate) fn row_security(&mut self) -> Option<AlterTable> {
        const WHAT: [&str; 3] = ["row", "level", "security"];
        let (words, action): (&[&str], _) = match (self.word().as_str(), self.word_at(1).as_str()) {
            ("enable", "row") => (&["enable"], AlterTable::RowSecurity(true)),
            ("disable", "row") => (&["disable"], AlterTable::RowSecurity(false)),
            ("force", "row") => (&["force"], AlterTable::ForceRowSecurity(true)),
            ("no", "force") => (&["no", "force"], AlterTable::ForceRowSecurity(false)),
            _ => return None,
        };
        let all: Vec<&str> = words.iter().chain(&WHAT).copied().collect();
        self.eat_words(&all).then_some(action)
    }
}
