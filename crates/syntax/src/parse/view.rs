//! CREATE VIEW, ALTER VIEW.

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{AlterView, ObjectKind, Query, StatementKind, ViewOptions};
use planaria_base::text_io::quote_ident;
use planaria_base::{Error, Result, SqlState};
use planaria_catalog::CheckOption;

impl Parser<'_> {
    /// `CREATE [OR REPLACE] [RECURSIVE] VIEW ..`
    pub(crate) fn create_view(&mut self, or_replace: bool, temporary: bool) -> Result<StatementKind> {
        let recursive = self.eat_word("recursive");
        self.expect_word("view")?;
        let name = self.new_relation(temporary)?;
        let columns = match recursive || self.at_kind(Kind::LeftParen) {
            true => self.paren_names()?,
            false => Vec::new(),
        };
        let mut options = match self.eat_word("with") {
            true => self.view_options(true)?,
            false => ViewOptions::default(),
        };
        self.expect_word("as")?;
        let start = self.position();
        let mut query = Box::new(self.query()?);
        let mut query_text = self.text_since(start).to_owned();
        let at = self.position();
        if recursive {
            (*query, query_text) =
                read_by_itself(&name.parts[name.parts.len() - 1], &columns, *query, &query_text)?;
        }
        if self.eat_word("with") {
            let local = self.eat_word("local");
            if !local {
                self.eat_word("cascaded");
            }
            self.expect_words(&["check", "option"])?;
            if recursive {
                let message = "WITH CHECK OPTION not supported on recursive views";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(at));
            }
            if options.check.is_some() {
                let message = "parameter \"check_option\" specified more than once";
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message).at(at));
            }
            options.order.push("check_option");
            options.check = Some(Some(if local { CheckOption::Local } else { CheckOption::Cascaded }));
        }
        Ok(StatementKind::CreateView { name, or_replace, columns, options, query, query_text })
    }

    /// `CREATE MATERIALIZED VIEW ..`, from MATERIALIZED on
    pub(crate) fn create_materialized(&mut self) -> Result<StatementKind> {
        self.expect_words(&["materialized", "view"])?;
        let if_not_exists = self.eat_words(&["if", "not", "exists"]);
        let name = self.new_relation(false)?;
        let columns = match self.at_kind(Kind::LeftParen) {
            true => self.paren_names()?,
            false => Vec::new(),
        };
        if self.at_word("with") {
            drop(self.storage_parameters()?);
        }
        if self.at_any(&["using", "tablespace"]) {
            let what = format!("{} in CREATE MATERIALIZED VIEW", self.word().as_str().to_uppercase());
            return self.unsupported(&what, self.position());
        }
        self.expect_word("as")?;
        let start = self.position();
        let query = Box::new(self.query()?);
        let query_text = self.text_since(start).to_owned();
        let with_data = self.with_data();
        Ok(StatementKind::CreateMaterialized { name, if_not_exists, columns, query, query_text, with_data })
    }

    /// `[WITH [NO] DATA]`
    fn with_data(&mut self) -> bool {
        let without = self.eat_words(&["with", "no", "data"]);
        if !without {
            self.eat_words(&["with", "data"]);
        }
        !without
    }

    /// `REFRESH MATERIALIZED VIEW ..`
    pub(crate) fn refresh(&mut self) -> Result<StatementKind> {
        self.expect_words(&["refresh", "materialized", "view"])?;
        let concurrently = self.eat_word("concurrently");
        let name = self.qualified_name()?;
        let with_data = self.with_data();
        Ok(StatementKind::Refresh { name, concurrently, with_data })
    }

    /// `(name [= value], ..)`; `set`: with values.
    fn view_options(&mut self, set: bool) -> Result<ViewOptions> {
        let mut options = ViewOptions::default();
        self.paren_list(|p| {
            let name = p.label()?;
            let value = match set && p.eat_operator("=") {
                true if p.at_string() => Some(p.string()?),
                true if p.peek().kind == Kind::Integer => {
                    let text = p.token_text().to_owned();
                    p.bump();
                    Some(text)
                }
                true => Some(p.label()?),
                false => None,
            };
            let twice = |is: bool| match is {
                true => {
                    let message = format!("parameter \"{name}\" specified more than once");
                    Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
                }
                false => Ok(()),
            };
            match name.as_str() {
                "check_option" => {
                    twice(options.check.is_some())?;
                    options.order.push("check_option");
                    let value = value.unwrap_or_else(|| "true".to_owned());
                    options.check = Some(match value.to_ascii_lowercase().as_str() {
                        _ if !set => None,
                        "local" => Some(CheckOption::Local),
                        "cascaded" => Some(CheckOption::Cascaded),
                        _ => {
                            let message = format!("invalid value for enum option \"check_option\": {value}");
                            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                                .with_detail("Valid values are \"local\" and \"cascaded\"."));
                        }
                    });
                }
                "security_invoker" | "security_barrier" => {
                    let option = match name.as_str() {
                        "security_invoker" => &mut options.security_invoker,
                        _ => &mut options.security_barrier,
                    };
                    twice(option.is_some())?;
                    options.order.push(match name.as_str() {
                        "security_invoker" => "security_invoker",
                        _ => "security_barrier",
                    });
                    let value = value.unwrap_or_else(|| "true".to_owned());
                    let truth = match set {
                        true => planaria_base::text_io::parse_bool(&value),
                        false => Ok(false),
                    };
                    *option = Some(truth.map_err(|_| {
                        let message = format!("invalid value for boolean option \"{name}\": {value}");
                        Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                    })?);
                }
                _ => {
                    let message = format!("unrecognized parameter \"{name}\"");
                    return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
                }
            }
            Ok(())
        })?;
        Ok(options)
    }

    /// `ALTER VIEW ..`
    pub(crate) fn alter_view(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_exists = self.eat_words(&["if", "exists"]);
        let name = self.qualified_name()?;
        let action = if self.at_words(&["set"]) && self.peek_at(1).kind == Kind::LeftParen {
            self.bump();
            AlterView::Options(self.view_options(true)?)
        } else if self.eat_word("reset") {
            AlterView::Options(self.view_options(false)?)
        } else if self.at_word("alter") {
            self.bump();
            self.eat_word("column");
            let column = self.name()?;
            let default = if self.eat_words(&["set", "default"]) {
                let (e, text) = self.expr_with_text(false)?;
                Some((Box::new(e), text))
            } else {
                self.expect_words(&["drop", "default"])?;
                None
            };
            AlterView::Default { column, default }
        } else if self.at_word("rename") && !self.at_word_ahead(1, "to") {
            self.bump();
            self.eat_word("column");
            let from = self.name()?;
            self.expect_word("to")?;
            AlterView::RenameColumn { from, to: self.name()? }
        } else {
            return self.alter_named(ObjectKind::View, "ALTER VIEW", if_exists, name);
        };
        Ok(StatementKind::AlterView { name, if_exists, action })
    }
}

/// What a recursive view is short for, and its text: `WITH RECURSIVE name (columns) AS (query) SELECT columns FROM name`.
fn read_by_itself(name: &str, columns: &[String], query: Query, text: &str) -> Result<(Query, String)> {
    let name = quote_ident(name);
    let columns = columns.iter().map(|c| quote_ident(c)).collect::<Vec<_>>().join(", ");
    let around =
        |text: &str| format!("WITH RECURSIVE {name} ({columns}) AS ({text}) SELECT {columns} FROM {name}");
    // Places in the query are those of the statement.
    let mut whole = super::query(&around("SELECT 1"))?;
    if let [table] = &mut whole.with[..] {
        table.statement.kind = StatementKind::Query(Box::new(query));
    }
    Ok((whole, around(text)))
}
