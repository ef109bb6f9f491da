//! CREATE EXTENSION, DROP EXTENSION.

use planaria_base::Result;

use super::parser::Parser;
use crate::ast::{ExtensionChange, StatementKind};

/// Those that there are.
const KNOWN: [&str; 6] = ["plpgsql", "uuid-ossp", "pgcrypto", "btree_gist", "pg_trgm", "citext"];

impl Parser<'_> {
    /// `CREATE EXTENSION [IF NOT EXISTS] name [WITH] [SCHEMA schema] [VERSION version] [CASCADE]`, CREATE taken: nothing can be
    /// added but what is built in.
    pub(crate) fn create_extension(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_not_exists = self.eat_words(&["if", "not", "exists"]);
        let name = self.name()?;
        if !KNOWN.contains(&name.as_str()) {
            return self.unsupported_statement(&format!("CREATE EXTENSION {name}"));
        }
        self.eat_word("with");
        let (mut schema, mut version) = (None, None);
        loop {
            if self.eat_word("schema") {
                schema = Some(self.name()?);
            } else if self.eat_word("version") {
                version = Some(if self.at_string() { self.string()? } else { self.name()? });
            } else if !self.eat_word("cascade") {
                break;
            }
        }
        Ok(StatementKind::Extension(Box::new(ExtensionChange::Create {
            name,
            if_not_exists,
            schema,
            version,
        })))
    }

    /// `DROP EXTENSION [IF EXISTS] name [, ..] [CASCADE | RESTRICT]`, DROP taken.
    pub(crate) fn drop_extension(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_exists = self.eat_words(&["if", "exists"]);
        let names = self.list(Self::name)?;
        let cascade = self.cascade();
        Ok(StatementKind::Extension(Box::new(ExtensionChange::Drop { names, if_exists, cascade })))
    }
}
