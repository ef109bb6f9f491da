//! CREATE, ALTER and DROP of types and domains.

use planaria_base::Result;
use planaria_catalog::ColumnTold;

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{
    AlterDomain, AlterEnum, AlterTable, ColumnDef, LabelPlace, OwnedObject, StatementKind, TypeRef,
};

impl Parser<'_> {
    /// `CREATE TYPE name AS ENUM (..)`, `AS (..)`; other kinds are refused.
    pub(crate) fn create_type(&mut self) -> Result<StatementKind> {
        self.bump();
        let name = self.qualified_name()?;
        let position = self.position();
        if !self.eat_word("as") {
            return self.unsupported("a type of that kind", position);
        }
        let position = self.position();
        if self.eat(Kind::LeftParen) {
            let mut attributes = Vec::new();
            if !self.at_kind(Kind::RightParen) {
                attributes = self.list(Self::attribute)?;
            }
            self.expect(Kind::RightParen)?;
            return Ok(StatementKind::CreateComposite { name, attributes });
        }
        if self.at_word("range") {
            return self.unsupported("a range type", position);
        }
        self.expect_word("enum")?;
        self.expect(Kind::LeftParen)?;
        let mut labels = Vec::new();
        if !self.at_kind(Kind::RightParen) {
            labels = self.list(Self::string)?;
        }
        self.expect(Kind::RightParen)?;
        Ok(StatementKind::CreateEnum { name, labels })
    }

    /// `name type [COLLATE ..]`
    fn attribute(&mut self) -> Result<ColumnDef> {
        let position = self.position();
        let (name, ty) = (self.name()?, self.type_name()?);
        let mut told = None;
        if self.eat_word("collate") {
            let collation = self.byte_collation()?;
            told =
                collation.map(|name| Box::new(ColumnTold { collation: Some(name), ..ColumnTold::default() }));
        }
        Ok(ColumnDef { name, ty, constraints: Vec::new(), told, unknown_compression: None, position })
    }

    /// `ADD | DROP | ALTER ATTRIBUTE ..`
    fn attribute_action(&mut self) -> Result<AlterTable> {
        let word = self.word();
        self.bump();
        self.expect_word("attribute")?;
        let action = match word.as_str() {
            "add" => AlterTable::AddColumn { column: self.attribute()?, if_not_exists: false },
            "drop" => {
                let if_exists = self.eat_words(&["if", "exists"]);
                AlterTable::DropColumn { name: self.name()?, if_exists, cascade: self.cascade() }
            }
            "alter" => {
                let column = self.name()?;
                self.eat_words(&["set", "data"]);
                self.expect_word("type")?;
                AlterTable::SetType { column, ty: self.type_name()?, collation: None, using: None }
            }
            _ => return self.fail(),
        };
        // What has values of the type would follow: nothing has.
        self.cascade();
        Ok(action)
    }

    /// `CREATE DOMAIN name [AS] type [constraints]`
    pub(crate) fn create_domain(&mut self) -> Result<StatementKind> {
        self.bump();
        let name = self.qualified_name()?;
        self.eat_word("as");
        let ty = self.type_name()?;
        let mut constraints = Vec::new();
        loop {
            if self.eat_word("collate") {
                self.byte_collation()?;
                continue;
            }
            match self.column_constraint()? {
                Some(constraint) => constraints.push(constraint),
                None => break,
            }
        }
        Ok(StatementKind::CreateDomain { name, ty, constraints })
    }

    /// `ALTER TYPE ..`
    pub(crate) fn alter_type(&mut self) -> Result<StatementKind> {
        self.bump();
        let name = self.qualified_name()?;
        if self.at_words(&["add", "value"]) {
            self.expect_words(&["add", "value"])?;
            let if_not_exists = self.eat_words(&["if", "not", "exists"]);
            let label = self.string()?;
            let place = if self.eat_word("before") {
                LabelPlace::Before(self.string()?)
            } else if self.eat_word("after") {
                LabelPlace::After(self.string()?)
            } else {
                LabelPlace::Last
            };
            return Ok(StatementKind::AlterEnum {
                name,
                action: AlterEnum::AddValue { label, if_not_exists, place },
            });
        }
        if self.at_any(&["add", "drop", "alter"]) && self.at_word_ahead(1, "attribute") {
            let actions = self.list(Self::attribute_action)?;
            return Ok(StatementKind::AlterComposite { name, actions });
        }
        if self.eat_words(&["rename", "attribute"]) {
            let from = self.name()?;
            self.expect_word("to")?;
            let to = self.name()?;
            self.cascade();
            let actions = vec![AlterTable::RenameColumn { from, to }];
            return Ok(StatementKind::AlterComposite { name, actions });
        }
        if self.eat_words(&["rename", "value"]) {
            let from = self.string()?;
            self.expect_word("to")?;
            let to = self.string()?;
            return Ok(StatementKind::AlterEnum { name, action: AlterEnum::RenameValue { from, to } });
        }
        self.alter_any_type(TypeRef { name, domain: false })
    }

    /// `ALTER DOMAIN ..`
    pub(crate) fn alter_domain(&mut self) -> Result<StatementKind> {
        self.bump();
        let name = self.qualified_name()?;
        let word = self.word();
        let action = match word.as_str() {
            "set" if self.at_word_ahead(1, "default") => {
                self.expect_words(&["set", "default"])?;
                AlterDomain::SetDefault(Some(self.expr_with_text(false)?))
            }
            "drop" if self.at_word_ahead(1, "default") => {
                self.expect_words(&["drop", "default"])?;
                AlterDomain::SetDefault(None)
            }
            "set" if self.at_word_ahead(1, "not") => {
                self.expect_words(&["set", "not", "null"])?;
                AlterDomain::SetNotNull(true)
            }
            "drop" if self.at_word_ahead(1, "not") => {
                self.expect_words(&["drop", "not", "null"])?;
                AlterDomain::SetNotNull(false)
            }
            "add" => {
                self.bump();
                let position = self.position();
                match self.column_constraint()? {
                    Some(constraint) => AlterDomain::AddConstraint(constraint),
                    None => return Err(self.syntax_error("a constraint is expected", position)),
                }
            }
            "drop" if self.at_word_ahead(1, "constraint") => {
                self.expect_words(&["drop", "constraint"])?;
                let if_exists = self.eat_words(&["if", "exists"]);
                let name = self.name()?;
                AlterDomain::DropConstraint { name, if_exists, cascade: self.cascade() }
            }
            "rename" if self.at_word_ahead(1, "constraint") => {
                self.expect_words(&["rename", "constraint"])?;
                let from = self.name()?;
                self.expect_word("to")?;
                AlterDomain::RenameConstraint { from, to: self.name()? }
            }
            "validate" => {
                self.expect_words(&["validate", "constraint"])?;
                AlterDomain::ValidateConstraint(self.name()?)
            }
            _ => return self.alter_any_type(TypeRef { name, domain: true }),
        };
        Ok(StatementKind::AlterDomain { name, action })
    }

    /// `RENAME TO`, `OWNER TO`
    fn alter_any_type(&mut self, ty: TypeRef) -> Result<StatementKind> {
        if self.eat_words(&["rename", "to"]) {
            return Ok(StatementKind::RenameType { to: self.name()?, ty });
        }
        if self.at_word("owner") {
            return Ok(StatementKind::AlterOwner { object: OwnedObject::Type(ty), owner: self.owner_to()? });
        }
        if self.at_words(&["set", "schema"]) {
            return self.set_schema(OwnedObject::Type(ty));
        }
        if self.at_end() {
            return self.fail();
        }
        let what = format!("ALTER {}", ty.word());
        self.unsupported_statement(&what)
    }

    /// `DROP TYPE ..`, `DROP DOMAIN ..`
    pub(crate) fn drop_type(&mut self, domain: bool) -> Result<StatementKind> {
        self.bump();
        let if_exists = self.eat_words(&["if", "exists"]);
        let names = self.list(Self::qualified_name)?;
        let cascade = self.cascade();
        Ok(StatementKind::DropType { domain, names, if_exists, cascade })
    }
}
