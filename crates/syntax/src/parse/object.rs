//! Indexes, sequences, schemas; DROP and TRUNCATE.

use planaria_base::{Error, Result, SqlState, Type};
use planaria_catalog::KeyOrder;

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{
    CreateIndex, ExprKind, IndexItem, ObjectKind, Position, SequenceOptions, StatementKind, TypeName,
    TypeNameKind,
};

impl Parser<'_> {
    /// `CREATE [UNIQUE] INDEX ..`, CREATE taken.
    pub(crate) fn create_index(&mut self) -> Result<StatementKind> {
        let unique = self.eat_word("unique");
        self.expect_word("index")?;
        // Schema changes stop all work for a moment anyway.
        self.eat_word("concurrently");
        let if_not_exists = self.eat_words(&["if", "not", "exists"]);
        let name = match self.at_word("on") {
            true => None,
            false => Some(self.name()?),
        };
        self.expect_word("on")?;
        let only = self.at_word("only");
        let table = self.relation_name()?;
        let (mut method, mut equal_nulls) = (None, false);
        let (mut included, mut predicate, mut parameters) = (Vec::new(), None, Vec::new());
        if self.at_word("using") {
            let position = self.bump().start;
            method = Some((self.name()?, position)).filter(|(method, _)| method != "btree");
        }
        let items = self.paren_list(Self::index_column)?;
        let mut columns = Vec::with_capacity(items.len());
        let mut orders = Vec::with_capacity(items.len());
        for (column, position, order) in items {
            orders.push(order);
            columns.push((column, position));
        }
        while !self.at_element_end() {
            match self.word().as_str() {
                "with" => parameters = self.storage_parameters()?,
                "tablespace" => {
                    self.bump();
                    self.name()?;
                }
                "nulls" if self.eat_words(&["nulls", "distinct"]) => {}
                "nulls" if self.eat_words(&["nulls", "not", "distinct"]) => equal_nulls = true,
                "include" => {
                    self.bump();
                    included = self.paren_names()?;
                }
                "where" => {
                    self.bump();
                    predicate = Some(self.expr_with_text(false)?);
                }
                _ => return self.fail(),
            }
        }
        let index = CreateIndex {
            name,
            unique,
            if_not_exists,
            table,
            only,
            columns,
            orders,
            included,
            predicate,
            equal_nulls,
            method,
            parameters,
        };
        Ok(StatementKind::CreateIndex(Box::new(index)))
    }

    /// A column of an index, or an expression, with its order.
    pub(crate) fn index_column(&mut self) -> Result<(IndexItem, Position, KeyOrder)> {
        let position = self.position();
        let column = if self.at_kind(Kind::LeftParen) {
            self.bump();
            let (expr, text) = self.expr_with_text(false)?;
            self.expect(Kind::RightParen)?;
            match expr.kind {
                ExprKind::Column(name) if name.parts.len() == 1 => {
                    IndexItem::Column(name.parts.into_iter().next().unwrap_or_default())
                }
                _ => IndexItem::Expression(Box::new(expr), text),
            }
        } else if self.class_at(0).is_some() && matches!(self.peek_at(1).kind, Kind::LeftParen | Kind::Dot) {
            // A call; COALESCE and its like are expressions of their own.
            let (expr, text) = self.operand_with_text()?;
            IndexItem::Expression(Box::new(expr), text)
        } else {
            IndexItem::Column(self.name()?)
        };
        let collation = if self.eat_word("collate") { self.byte_collation()? } else { None };
        // An operator class.
        let mut class = None;
        if self.at_name() && !self.at_any(&["asc", "desc", "nulls"]) {
            let name = self.qualified_name()?;
            let last = name.parts.last().map(String::as_str).unwrap_or_default();
            if !last.ends_with("_ops") {
                return self.unsupported(&format!("operator class {last}"), name.position);
            }
            class = Some(last.to_owned());
            if self.at_kind(Kind::LeftParen) {
                let options = self.paren_list(Self::class_option)?;
                class = class.map(|class| format!("{class} ({})", options.join(", ")));
            }
        }
        let descending = !self.eat_word("asc") && self.eat_word("desc");
        let nulls_first = self.nulls_order()?.unwrap_or(descending);
        Ok((column, position, KeyOrder { class, collation, descending, nulls_first }))
    }

    /// `siglen = 32`, as it is shown.
    fn class_option(&mut self) -> Result<String> {
        let name = self.name()?;
        if !self.eat_operator("=") {
            return self.fail();
        }
        let value = match self.peek().kind {
            Kind::Integer | Kind::Decimal => self.bump().text(self.text).to_owned(),
            _ if self.at_string() => self.string()?,
            _ => self.label()?,
        };
        Ok(format!("{name}='{}'", value.replace('\'', "''")))
    }

    /// `CREATE SEQUENCE ..`
    pub(crate) fn create_sequence(&mut self, temporary: bool) -> Result<StatementKind> {
        self.bump();
        let if_not_exists = self.eat_words(&["if", "not", "exists"]);
        let name = self.new_relation(temporary)?;
        let options = self.sequence_options()?;
        Ok(StatementKind::CreateSequence { name, if_not_exists, options })
    }

    /// Options of a sequence, to the end or a closing parenthesis.
    pub(crate) fn sequence_options(&mut self) -> Result<SequenceOptions> {
        let mut options = SequenceOptions::default();
        while !self.at_element_end() && !self.at_kind(Kind::RightParen) {
            self.sequence_option(&mut options)?;
        }
        Ok(options)
    }

    /// One of them.
    pub(crate) fn sequence_option(&mut self, options: &mut SequenceOptions) -> Result<()> {
        let position = self.position();
        let word = self.word();
        if self.eat_words(&["sequence", "name"]) {
            let name = self.qualified_name()?;
            if options.name.replace(name).is_some() {
                return Err(self.syntax_error("conflicting or redundant options", position));
            }
            return Ok(());
        }
        self.bump();
        let twice = match word.as_str() {
            "as" => {
                let ty = match self.type_name()? {
                    TypeName {
                        kind: TypeNameKind::Known(ty @ (Type::Int2 | Type::Int4 | Type::Int8)),
                        ..
                    } => ty,
                    other => {
                        let message = "sequence type must be smallint, integer, or bigint";
                        let code = planaria_base::SqlState::INVALID_PARAMETER_VALUE;
                        return Err(planaria_base::Error::new(code, message).at(other.position));
                    }
                };
                options.ty.replace(ty).is_some()
            }
            "increment" => {
                self.eat_word("by");
                options.increment.replace(self.signed_integer()?).is_some()
            }
            "start" => {
                self.eat_word("with");
                options.start.replace(self.signed_integer()?).is_some()
            }
            "minvalue" => options.min.replace(Some(self.signed_integer()?)).is_some(),
            "maxvalue" => options.max.replace(Some(self.signed_integer()?)).is_some(),
            "no" if self.eat_word("minvalue") => options.min.replace(None).is_some(),
            "no" if self.eat_word("maxvalue") => options.max.replace(None).is_some(),
            "no" if self.eat_word("cycle") => options.cycle.replace(false).is_some(),
            "cycle" => options.cycle.replace(true).is_some(),
            // How many values a session may draw ahead of time; ours draw none.
            "cache" => {
                let ahead = self.signed_integer()?;
                if ahead <= 0 {
                    let message = format!("CACHE ({ahead}) must be greater than zero");
                    let code = planaria_base::SqlState::INVALID_PARAMETER_VALUE;
                    return Err(planaria_base::Error::new(code, message));
                }
                options.cache.replace(ahead).is_some()
            }
            "restart" => {
                self.eat_word("with");
                let number = self.at_kind(Kind::Integer) || self.at_operator("-") || self.at_operator("+");
                let value = if number { Some(self.signed_integer()?) } else { None };
                options.restart.replace(value).is_some()
            }
            "owned" => {
                self.expect_word("by")?;
                let owner = match self.at_word("none") && self.peek_at(1).kind != Kind::Dot {
                    true => {
                        self.bump();
                        None
                    }
                    false => Some(self.qualified_name()?),
                };
                options.owned_by.replace(owner).is_some()
            }
            _ => {
                self.seek(self.index() - 1);
                return self.fail();
            }
        };
        if twice {
            return Err(self.syntax_error("conflicting or redundant options", position));
        }
        Ok(())
    }

    /// `CREATE SCHEMA ..`
    pub(crate) fn create_schema(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_not_exists = self.eat_words(&["if", "not", "exists"]);
        let name = if self.at_word("authorization") { None } else { Some(self.name()?) };
        let owner = match self.eat_word("authorization") {
            true => Some(self.role_spec()?),
            false => None,
        };
        let mut elements = Vec::new();
        while self.at_any(&["create", "grant"]) {
            let position = self.position();
            if if_not_exists {
                let message = "CREATE SCHEMA IF NOT EXISTS cannot include schema elements";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
            }
            self.check_schema_element()?;
            let begin = self.index();
            let element = self.statement()?;
            if !matches!(
                element.kind,
                StatementKind::CreateTable(_)
                    | StatementKind::CreateView { .. }
                    | StatementKind::CreateIndex(_)
                    | StatementKind::CreateSequence { .. }
                    | StatementKind::CreateTrigger(_)
                    | StatementKind::Grant(_)
            ) {
                // CREATE TABLE AS, GRANT of a role.
                self.seek(begin);
                while !self.at_any(&["as", "to"]) && self.bump().kind != Kind::End {}
                return self.fail();
            }
            elements.push(element);
        }
        Ok(StatementKind::CreateSchema { name, if_not_exists, owner, elements })
    }

    /// 42601 at the word for a kind of object that CREATE SCHEMA cannot contain.
    fn check_schema_element(&mut self) -> Result<()> {
        let begin = self.index();
        if self.eat_word("create") {
            self.eat_words(&["or", "replace"]);
            if !self.at_any(&[
                "constraint",
                "global",
                "index",
                "local",
                "recursive",
                "sequence",
                "table",
                "temp",
                "temporary",
                "trigger",
                "unique",
                "unlogged",
                "view",
            ]) {
                return self.fail();
            }
        }
        self.seek(begin);
        Ok(())
    }

    /// `[CASCADE | RESTRICT]`
    pub(crate) fn cascade(&mut self) -> bool {
        let cascade = self.eat_word("cascade");
        if !cascade {
            self.eat_word("restrict");
        }
        cascade
    }

    /// What follows `DROP TABLE` and the like.
    pub(crate) fn drop_objects(&mut self, object: ObjectKind) -> Result<StatementKind> {
        if object == ObjectKind::Index {
            self.eat_word("concurrently");
        }
        let if_exists = self.eat_words(&["if", "exists"]);
        let names = self.list(Self::qualified_name)?;
        let cascade = self.cascade();
        Ok(StatementKind::Drop { object, names, if_exists, cascade })
    }

    /// `TRUNCATE ..`
    pub(crate) fn truncate(&mut self) -> Result<StatementKind> {
        self.bump();
        self.eat_word("table");
        let names = self.list(Self::relation_name)?;
        let restart_identity = self.eat_words(&["restart", "identity"]);
        if !restart_identity {
            self.eat_words(&["continue", "identity"]);
        }
        let cascade = self.cascade();
        Ok(StatementKind::Truncate { names, restart_identity, cascade, locked: false })
    }
}
