//! CREATE, ALTER and DROP STATISTICS.

use planaria_base::Result;

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{StatementKind, StatisticsAlteration, StatisticsChange};

impl Parser<'_> {
    /// `CREATE STATISTICS [IF NOT EXISTS] name [(kinds)] ON columns and expressions FROM table`, CREATE taken.
    pub(crate) fn create_statistics(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_not_exists = self.eat_words(&["if", "not", "exists"]);
        let name = self.qualified_name()?;
        let kinds = if self.at_kind(Kind::LeftParen) { self.paren_names()? } else { Vec::new() };
        self.expect_word("on")?;
        let items = self.list(|p| p.index_column().map(|(item, position, _)| (item, position)))?;
        self.expect_word("from")?;
        let tables = self.list(Self::qualified_name)?;
        let create = StatisticsChange::Create { name, if_not_exists, kinds, items, tables };
        Ok(StatementKind::Statistics(Box::new(create)))
    }

    /// `ALTER STATISTICS name ..`, ALTER taken.
    pub(crate) fn alter_statistics(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_exists = self.eat_words(&["if", "exists"]);
        let name = self.qualified_name()?;
        let change = if self.eat_words(&["rename", "to"]) {
            StatisticsAlteration::Rename(self.name()?)
        } else if self.eat_words(&["owner", "to"]) {
            StatisticsAlteration::Owner(self.role_spec()?)
        } else if self.eat_words(&["set", "schema"]) {
            StatisticsAlteration::Schema(self.name()?)
        } else {
            self.expect_words(&["set", "statistics"])?;
            StatisticsAlteration::Target(self.signed_integer()?)
        };
        // Only the last of these has IF EXISTS.
        if if_exists && !matches!(change, StatisticsAlteration::Target(_)) {
            return self.fail();
        }
        Ok(StatementKind::Statistics(Box::new(StatisticsChange::Alter { name, if_exists, change })))
    }

    /// `DROP STATISTICS [IF EXISTS] name, ..`, DROP taken.
    pub(crate) fn drop_statistics(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_exists = self.eat_words(&["if", "exists"]);
        let names = self.list(Self::qualified_name)?;
        self.cascade();
        Ok(StatementKind::Statistics(Box::new(StatisticsChange::Drop { names, if_exists })))
    }
}
