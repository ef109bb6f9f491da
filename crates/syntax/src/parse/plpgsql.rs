//! PL/pgSQL: blocks and declarations. Statements are in [`statement`], their SQL in [`embedded`].
//!
//! As in PostgreSQL, the body is one token stream; each expression and SQL statement in it gets a
//! window up to the word or semicolon that ends it (outside of parentheses), and must use it up.

mod control;
mod cursor;
mod embedded;
mod message;
mod statement;

use planaria_base::Result;

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::Position;
use crate::ast::plpgsql::{Condition, Declaration, DeclarationKind, PlBlock, PlHandler, VariableConflict};

/// Words that PL/pgSQL reserves on top of SQL's: they name no variable.
const RESERVED: &[&str] = &[
    "all", "begin", "by", "case", "declare", "else", "end", "execute", "for", "foreach", "from", "if", "in",
    "into", "loop", "not", "null", "or", "strict", "then", "to", "using", "when", "while",
];

impl Parser<'_> {
    /// A whole body: options, one block, perhaps a semicolon.
    pub(crate) fn pl_body(&mut self) -> Result<PlBlock> {
        let mut conflict = VariableConflict::default();
        while self.at_operator("#") {
            self.pl_option(&mut conflict)?;
        }
        let mut block = self.pl_block()?;
        block.conflict = conflict;
        self.eat(Kind::Semicolon);
        Ok(block)
    }

    /// `#option`
    fn pl_option(&mut self, conflict: &mut VariableConflict) -> Result<()> {
        self.bump();
        if self.eat_words(&["option", "dump"]) {
            return Ok(());
        }
        if self.eat_word("variable_conflict") {
            *conflict = match self.word().as_str() {
                "error" => VariableConflict::Error,
                "use_variable" => VariableConflict::Variable,
                "use_column" => VariableConflict::Column,
                _ => return self.fail(),
            };
            self.bump();
            return Ok(());
        }
        if self.eat_word("print_strict_params") {
            return if self.eat_word("on") || self.eat_word("off") { Ok(()) } else { self.fail() };
        }
        self.fail()
    }

    /// Whether a variable or label name comes next.
    pub(super) fn at_pl_name(&self) -> bool {
        match self.peek().kind {
            Kind::Word => !RESERVED.contains(&self.word().as_str()),
            Kind::Quoted | Kind::UnicodeQuoted => true,
            _ => false,
        }
    }

    /// The name of a variable or label.
    pub(super) fn pl_name(&mut self) -> Result<String> {
        if self.at_pl_name() { self.label() } else { self.fail() }
    }

    /// `<<label>>`
    pub(super) fn pl_label(&mut self) -> Result<Option<String>> {
        if !self.eat_operator("<<") {
            return Ok(None);
        }
        let label = self.pl_name()?;
        if !self.eat_operator(">>") {
            return self.fail();
        }
        Ok(Some(label))
    }

    /// `[label]` behind END: the label of what it ends.
    pub(super) fn pl_end_label(&mut self, label: Option<&str>) -> Result<()> {
        if !self.at_pl_name() {
            return Ok(());
        }
        let position = self.position();
        let end = self.pl_name()?;
        let message = match label {
            None => format!("end label \"{end}\" specified for unlabeled block"),
            Some(label) if label != end => {
                format!("end label \"{end}\" differs from block's label \"{label}\"")
            }
            Some(_) => return Ok(()),
        };
        Err(self.syntax_error(message, position))
    }

    /// A block up to the label behind its END, the semicolon left.
    fn pl_block(&mut self) -> Result<PlBlock> {
        let position = self.position();
        let label = self.pl_label()?;
        self.pl_block_behind_label(label, position)
    }

    pub(super) fn pl_block_behind_label(
        &mut self,
        label: Option<String>,
        position: Position,
    ) -> Result<PlBlock> {
        let mut declarations = Vec::new();
        while self.eat_word("declare") {
            while !self.at_word("begin") && !self.at_word("declare") {
                declarations.push(self.pl_declaration()?);
            }
        }
        self.expect_word("begin")?;
        let body = self.pl_statements()?;
        let mut handlers = Vec::new();
        if self.eat_word("exception") {
            if !self.at_word("when") {
                return self.fail();
            }
            while self.eat_word("when") {
                handlers.push(self.pl_handler()?);
            }
        }
        self.expect_word("end")?;
        self.pl_end_label(label.as_deref())?;
        let conflict = VariableConflict::default();
        Ok(PlBlock { conflict, label, declarations, body, handlers, position })
    }

    fn pl_handler(&mut self) -> Result<PlHandler> {
        let mut conditions = vec![self.pl_condition()?];
        while self.eat_word("or") {
            conditions.push(self.pl_condition()?);
        }
        self.expect_word("then")?;
        Ok(PlHandler { conditions, body: self.pl_statements()? })
    }

    fn pl_condition(&mut self) -> Result<Condition> {
        let position = self.position();
        if self.at_word("sqlstate") && self.at_string_ahead(1) {
            self.bump();
            return Ok(Condition::State(self.pl_sqlstate()?, position));
        }
        Ok(Condition::Name(self.pl_name()?, position))
    }

    /// A SQLSTATE as a string: five digits or capital letters.
    pub(super) fn pl_sqlstate(&mut self) -> Result<String> {
        let position = self.position();
        let state = self.string()?;
        match planaria_base::SqlState::parse(&state) {
            Some(_) => Ok(state),
            None => Err(self.syntax_error("invalid SQLSTATE code", position)),
        }
    }

    /// `name [CONSTANT] type [COLLATE c] [NOT NULL] [:= e];`, `name ALIAS FOR other;`
    fn pl_declaration(&mut self) -> Result<Declaration> {
        let position = self.position();
        let name = self.pl_name()?;
        let kind = if self.eat_words(&["alias", "for"]) {
            DeclarationKind::Alias(self.pl_alias()?)
        } else if self.at_word("cursor")
            || self.at_words(&["scroll", "cursor"])
            || self.at_words(&["no", "scroll"])
        {
            self.pl_cursor()?
        } else {
            self.pl_variable()?
        };
        self.expect(Kind::Semicolon)?;
        Ok(Declaration { name, kind, position, end: self.end_of_last() })
    }

    fn pl_alias(&mut self) -> Result<String> {
        if self.at_kind(Kind::Parameter) {
            return Ok(self.bump().text(self.text).to_owned());
        }
        self.pl_name()
    }

    fn pl_variable(&mut self) -> Result<DeclarationKind> {
        let constant = self.eat_word("constant");
        let ty = self.type_name()?;
        if self.eat_word("collate") {
            self.byte_collation()?;
        }
        let not_null = self.at_word("not");
        if not_null {
            self.expect_words(&["not", "null"])?;
        }
        let assigned = self.eat(Kind::ColonEquals) || self.eat_operator("=") || self.eat_word("default");
        let default = match assigned {
            true => {
                let end = self.pl_semicolon()?;
                Some(self.pl_expr_to(end)?)
            }
            false => None,
        };
        Ok(DeclarationKind::Variable { ty, constant, not_null, default })
    }
}
