//! FROM: tables, subqueries, functions and joins.

use planaria_base::Result;

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{JoinCondition, JoinKind, Name, TableAlias, TableRef, TypeName};

impl Parser<'_> {
    /// A FROM item with the joins behind it.
    pub(crate) fn table_ref(&mut self) -> Result<TableRef> {
        self.nested(|p| {
            let mut left = p.table_primary()?;
            while p.at_any(&["join", "inner", "left", "right", "full", "cross", "natural"]) {
                left = p.join(left)?;
                p.grow()?;
            }
            Ok(left)
        })
    }

    /// A join behind its left side.
    fn join(&mut self, left: TableRef) -> Result<TableRef> {
        let position = self.position();
        let natural = self.eat_word("natural");
        let kind = match self.word().as_str() {
            "cross" if !natural => JoinKind::Cross,
            "left" => JoinKind::Left,
            "right" => JoinKind::Right,
            "full" => JoinKind::Full,
            _ => JoinKind::Inner,
        };
        if self.at_any(&["inner", "left", "right", "full", "cross"]) {
            self.bump();
            if matches!(kind, JoinKind::Left | JoinKind::Right | JoinKind::Full) {
                self.eat_word("outer");
            }
        }
        self.expect_word("join")?;
        let (right, condition) = if natural {
            let right = self.table_primary()?;
            (right, JoinCondition::Natural(self.last_end()))
        } else if kind == JoinKind::Cross {
            (self.table_primary()?, JoinCondition::None)
        } else {
            // In `a JOIN b JOIN c ON x ON y` the inner join is the right side.
            let right = self.table_ref()?;
            (right, self.join_condition()?)
        };
        Ok(TableRef::Join { kind, left: Box::new(left), right: Box::new(right), condition, position })
    }

    fn join_condition(&mut self) -> Result<JoinCondition> {
        if self.eat_word("on") {
            return Ok(JoinCondition::On(self.expr()?));
        }
        self.expect_word("using")?;
        let columns = self.paren_names()?;
        if self.at_word("as") {
            return self.unsupported("an alias of JOIN USING", self.position());
        }
        Ok(JoinCondition::Using(columns))
    }

    fn table_primary(&mut self) -> Result<TableRef> {
        let position = self.position();
        let lateral = self.eat_word("lateral");
        if self.at_paren_query() {
            let query = Box::new(self.paren_query()?);
            let alias = self.table_alias()?;
            return Ok(TableRef::Derived { query, alias, lateral });
        }
        if self.at_kind(Kind::LeftParen) && !lateral {
            return self.paren_join();
        }
        if self.at_words(&["rows", "from"]) && self.peek_at(2).kind == Kind::LeftParen {
            self.bump();
            self.bump();
            let calls = self.paren_list(|p| {
                let name = p.qualified_function()?;
                let call = p.plain_call(name)?;
                let definitions = match p.eat_word("as") {
                    true => p.column_definitions(false)?,
                    false => Vec::new(),
                };
                Ok((call, definitions))
            })?;
            let ordinality = self.eat_words(&["with", "ordinality"]);
            let alias = self.table_alias()?;
            return Ok(TableRef::RowsFrom { calls, alias, ordinality, position });
        }
        if self.at_any(&["xmltable", "json_table"]) && self.peek_at(1).kind == Kind::LeftParen {
            return self.unsupported(&format!("{}()", self.word().as_str().to_uppercase()), position);
        }
        if self.at_call() {
            return self.table_function(lateral);
        }
        if lateral {
            return self.fail();
        }
        let word = self.word();
        if matches!(
            word.as_str(),
            "current_catalog"
                | "current_date"
                | "current_role"
                | "current_schema"
                | "current_time"
                | "current_timestamp"
                | "current_user"
                | "session_user"
                | "user"
        ) {
            return self.unsupported(&format!("{} in FROM", word.as_str().to_uppercase()), position);
        }
        let only = self.at_word("only");
        let name = self.relation_name()?;
        let alias = self.table_alias()?;
        let table = TableRef::Relation { name, only, alias };
        if !self.eat_word("tablesample") {
            return Ok(table);
        }
        let method = self.qualified_function()?;
        let args = self.paren_list(Self::expr)?;
        let seed = match self.eat_word("repeatable") {
            true => {
                self.expect(Kind::LeftParen)?;
                let seed = self.expr()?;
                self.expect(Kind::RightParen)?;
                Some(Box::new(seed))
            }
            false => None,
        };
        Ok(TableRef::Sample { table: Box::new(table), method, args, seed })
    }

    /// Whether `name(` comes next, the name possibly qualified.
    fn at_call(&self) -> bool {
        if self.class_at(0).is_none() || self.at_word("only") {
            return false;
        }
        let mut ahead = 1;
        while self.peek_at(ahead).kind == Kind::Dot {
            ahead += 2;
        }
        self.peek_at(ahead).kind == Kind::LeftParen
    }

    fn table_function(&mut self, lateral: bool) -> Result<TableRef> {
        let position = self.position();
        let name = self.qualified_function()?;
        let call = Box::new(self.plain_call(name)?);
        let ordinality = self.eat_words(&["with", "ordinality"]);
        if self.at_word("as") && self.peek_at(1).kind == Kind::LeftParen {
            self.bump();
            let definitions = self.column_definitions(ordinality)?;
            return Ok(TableRef::Function { call, alias: None, definitions, lateral, ordinality, position });
        }
        let named = usize::from(self.at_word("as"));
        let behind = self.peek_at(named + 3).kind;
        let definitions = self.peek_at(named + 1).kind == Kind::LeftParen
            && self.class_at(named).is_some()
            && self.at_name_ahead(named + 2)
            && !matches!(behind, Kind::Comma | Kind::RightParen | Kind::End);
        if !definitions {
            let alias = self.table_alias()?;
            return Ok(TableRef::Function {
                call,
                alias,
                definitions: Vec::new(),
                lateral,
                ordinality,
                position,
            });
        }
        self.eat_word("as");
        let alias = Some(TableAlias { name: self.name()?, columns: Vec::new() });
        let definitions = self.column_definitions(ordinality)?;
        Ok(TableRef::Function { call, alias, definitions, lateral, ordinality, position })
    }

    /// `(name type, ..)`
    fn column_definitions(&mut self, ordinality: bool) -> Result<Vec<(String, TypeName)>> {
        if ordinality {
            let message = "WITH ORDINALITY cannot be used with a column definition list";
            let error = self.syntax_error(message, self.position());
            return Err(error.with_hint("Put the column definition list inside ROWS FROM()."));
        }
        self.paren_list(|p| {
            let name = p.name()?;
            let ty = p.type_name()?;
            Ok((name, ty))
        })
    }

    /// `(a JOIN b ..)`
    fn paren_join(&mut self) -> Result<TableRef> {
        self.bump();
        let inner = self.table_ref()?;
        if !matches!(inner, TableRef::Join { .. }) {
            return self.fail();
        }
        self.expect(Kind::RightParen)?;
        if self.at_word("as") || self.at_name() {
            return self.unsupported("an alias of a join", self.position());
        }
        Ok(inner)
    }

    /// `[ONLY] name [*]`: there is no inheritance.
    pub(crate) fn relation_name(&mut self) -> Result<Name> {
        let only = self.eat_word("only");
        let paren = only && self.eat(Kind::LeftParen);
        let name = self.qualified_name()?;
        if paren {
            self.expect(Kind::RightParen)?;
        }
        if !only {
            self.eat_operator("*");
        }
        Ok(name)
    }

    /// `[[AS] name [(columns)]]`
    fn table_alias(&mut self) -> Result<Option<TableAlias>> {
        if !(self.eat_word("as") || self.at_name()) {
            return Ok(None);
        }
        let name = self.name()?;
        let mut columns = Vec::new();
        if self.at_kind(Kind::LeftParen) {
            columns = self.paren_names()?;
        }
        Ok(Some(TableAlias { name, columns }))
    }

    /// `[[AS] name]` of the table of an UPDATE or DELETE.
    pub(crate) fn target_alias(&mut self) -> Result<Option<String>> {
        if self.eat_word("as") || self.at_name() && !self.at_word("set") {
            return Ok(Some(self.name()?));
        }
        Ok(None)
    }
}
