//! Transaction control, settings, prepared statements, EXPLAIN.

use planaria_base::text_io::quote_ident;
use planaria_base::{Error, Isolation, Result, SqlState};

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{ExplainFormat, Position, SettingValue, StatementKind, Transaction};

/// What a list of transaction modes says.
#[derive(Default)]
struct Modes {
    read_only: Option<bool>,
    isolation: Option<Isolation>,
}

impl Parser<'_> {
    /// BEGIN, COMMIT, SAVEPOINT and so on.
    pub(crate) fn transaction(&mut self) -> Result<StatementKind> {
        let word = self.word();
        let position = self.bump().start;
        let transaction = match word.as_str() {
            "begin" => {
                self.work();
                self.begin()?
            }
            "start" => {
                self.expect_word("transaction")?;
                self.begin()?
            }
            "commit" | "rollback" if self.at_word("prepared") => {
                let name = format!("{} PREPARED", word.as_str().to_uppercase());
                return self.unsupported_statement(&name);
            }
            "commit" | "end" => {
                self.work();
                self.ends(Transaction::Commit, Transaction::CommitAndChain)?
            }
            "abort" => {
                self.work();
                self.ends(Transaction::Rollback, Transaction::RollbackAndChain)?
            }
            "rollback" => {
                self.work();
                if self.eat_word("to") {
                    self.eat_word("savepoint");
                    Transaction::RollbackTo(self.name()?)
                } else {
                    self.ends(Transaction::Rollback, Transaction::RollbackAndChain)?
                }
            }
            "savepoint" => Transaction::Savepoint(self.name()?),
            "release" => {
                self.eat_word("savepoint");
                Transaction::Release(self.name()?)
            }
            _ => return Err(self.syntax_error("syntax error", position)),
        };
        Ok(StatementKind::Transaction(transaction))
    }

    fn work(&mut self) {
        if !self.eat_word("work") {
            self.eat_word("transaction");
        }
    }

    fn begin(&mut self) -> Result<Transaction> {
        let modes = self.modes()?;
        Ok(Transaction::Begin { read_only: modes.read_only, isolation: modes.isolation })
    }

    /// `[AND [NO] CHAIN]`
    pub(super) fn ends(&mut self, ends: Transaction, chains: Transaction) -> Result<Transaction> {
        if !self.eat_word("and") {
            return Ok(ends);
        }
        let no = self.eat_word("no");
        self.expect_word("chain")?;
        Ok(if no { ends } else { chains })
    }

    /// `[mode [, mode]...]`
    fn modes(&mut self) -> Result<Modes> {
        let mut modes = Modes::default();
        while !self.at_end() {
            if self.eat_words(&["read", "only"]) {
                modes.read_only = Some(true);
            } else if self.eat_words(&["read", "write"]) {
                modes.read_only = Some(false);
            } else if self.eat_words(&["isolation", "level"]) {
                modes.isolation = Some(self.isolation()?);
            } else if !self.eat_word("deferrable") && !self.eat_words(&["not", "deferrable"]) {
                return self.fail();
            }
            if self.eat(Kind::Comma) && self.at_end() {
                return self.fail();
            }
        }
        Ok(modes)
    }

    fn isolation(&mut self) -> Result<Isolation> {
        let levels: [(&[&str], Isolation); 4] = [
            (&["serializable"], Isolation::Serializable),
            (&["repeatable", "read"], Isolation::RepeatableRead),
            (&["read", "committed"], Isolation::ReadCommitted),
            (&["read", "uncommitted"], Isolation::ReadUncommitted),
        ];
        match levels.iter().find(|(words, _)| self.at_words(words)) {
            Some((words, level)) => {
                self.expect_words(words)?;
                Ok(*level)
            }
            None => self.fail(),
        }
    }

    /// `SET ..`
    pub(crate) fn set(&mut self) -> Result<StatementKind> {
        let position = self.bump().start;
        if self.at_words(&["session", "characteristics"]) {
            self.expect_words(&["session", "characteristics", "as", "transaction"])?;
            return self.set_modes(true);
        }
        let scoped = !self.at_words(&["session", "authorization"]) && !self.setting_follows(1);
        let local = scoped && self.eat_word("local");
        if scoped && !local {
            self.eat_word("session");
        }
        if self.at_words(&["session", "authorization"]) {
            return self.set_session_authorization(local);
        }
        if self.at_word("transaction") && !self.setting_follows(1) {
            self.bump();
            if self.at_word("snapshot") {
                if local {
                    return self.unsupported("SET LOCAL TRANSACTION SNAPSHOT", position);
                }
                self.bump();
                return Ok(StatementKind::SetSnapshot(self.string()?));
            }
            return self.set_modes(false);
        }
        if !self.setting_follows(1) {
            match self.word().as_str() {
                "role" => return self.set_role(local),
                "constraints" => return self.set_constraints(),
                "xml" if self.at_word_ahead(1, "option") => {
                    return self.unsupported_statement("SET XML OPTION");
                }
                "catalog" => return self.unsupported_statement("SET CATALOG"),
                _ => {}
            }
        }
        let (name, value) = self.setting_assignment(position)?;
        let first = |value: Option<Vec<String>>| value.and_then(|v| v.into_iter().next());
        Ok(match name.as_str() {
            "role" => StatementKind::SetRole { name: first(value).filter(|n| n != "none"), local },
            "session_authorization" => StatementKind::SetSessionAuthorization { name: first(value), local },
            _ => StatementKind::Set { name, value, local },
        })
    }

    /// `name = value`, as SET, ALTER ROLE .. SET and ALTER DATABASE .. SET have it; the value is `None` for DEFAULT.
    pub(crate) fn setting_assignment(&mut self, position: Position) -> Result<(String, Option<Vec<String>>)> {
        match self.setting_value_or_current()? {
            (_, SettingValue::Current(..)) => self.unsupported("SET .. FROM CURRENT", position),
            (name, SettingValue::Values(values)) => Ok((name, Some(values))),
            (name, SettingValue::Default) => Ok((name, None)),
        }
    }

    /// The same, or `name FROM CURRENT`, as routines have it.
    pub(crate) fn setting_value_or_current(&mut self) -> Result<(String, SettingValue)> {
        let followed = !self.setting_follows(1);
        let (name, value) = match self.word().as_str() {
            "time" if self.at_word_ahead(1, "zone") => {
                self.expect_words(&["time", "zone"])?;
                let value = match self.word().as_str() {
                    "local" => {
                        self.bump();
                        None
                    }
                    // `INTERVAL '+02:00' HOUR TO MINUTE`: an offset, whose sign is the one that people use.
                    "interval" if self.at_string_ahead(1) => {
                        self.bump();
                        let offset = self.string()?;
                        if self.eat_word("hour") && self.eat_word("to") {
                            self.expect_word("minute")?;
                        }
                        Some(vec![format!("INTERVAL {offset}")])
                    }
                    _ => self.setting_values()?,
                };
                ("timezone".to_owned(), value)
            }
            "names" if followed => {
                self.bump();
                let value = match self.at_end() || self.eat_word("default") {
                    true => None,
                    false => Some(vec![self.string()?]),
                };
                ("client_encoding".to_owned(), value)
            }
            "schema" if followed => {
                self.bump();
                ("search_path".to_owned(), Some(vec![quote_ident(&self.string()?)]))
            }
            _ => {
                let name = self.setting_name()?;
                let start = self.position();
                if self.eat_words(&["from", "current"]) {
                    let end = self.last_end();
                    return Ok((name, SettingValue::Current(start, end)));
                }
                if !self.eat_operator("=") {
                    self.expect_word("to")?;
                }
                let value = self.setting_values()?;
                // Names, of which a text has to be made that can be read again.
                let quoted = |names: Vec<String>| {
                    let names: Vec<String> = names.iter().map(|name| quote_ident(name)).collect();
                    vec![names.join(", ")]
                };
                let is_path = name.eq_ignore_ascii_case("search_path");
                (name, if is_path { value.map(quoted) } else { value })
            }
        };
        Ok((name, value.map_or(SettingValue::Default, SettingValue::Values)))
    }

    /// Whether `=`, TO or a further part of a setting's name stands `ahead`.
    pub(crate) fn setting_follows(&self, ahead: usize) -> bool {
        let next = self.peek_at(ahead);
        next.kind == Kind::Dot
            || next.kind == Kind::Operator && next.text(self.text) == "="
            || self.at_word_ahead(ahead, "to")
    }

    /// `SET TRANSACTION modes`
    fn set_modes(&mut self, default: bool) -> Result<StatementKind> {
        let Modes { read_only, isolation } = self.modes()?;
        if read_only.is_none() && isolation.is_none() {
            return self.fail();
        }
        Ok(StatementKind::SetModes { default, read_only, isolation })
    }

    /// `SET CONSTRAINTS ALL | name, .. DEFERRED | IMMEDIATE`
    fn set_constraints(&mut self) -> Result<StatementKind> {
        self.bump();
        let names = match self.eat_word("all") {
            true => None,
            false => Some(self.list(Self::qualified_name)?),
        };
        let deferred = self.eat_word("deferred");
        if !deferred {
            self.expect_word("immediate")?;
        }
        Ok(StatementKind::SetConstraints { names, deferred })
    }

    fn setting_name(&mut self) -> Result<String> {
        Ok(self.qualified_name()?.parts.join("."))
    }

    /// `value, ...`, or `None` for DEFAULT.
    fn setting_values(&mut self) -> Result<Option<Vec<String>>> {
        if self.eat_word("default") {
            return Ok(None);
        }
        self.list(Self::setting_value).map(Some)
    }

    fn setting_value(&mut self) -> Result<String> {
        if self.at_string() {
            return self.string();
        }
        let minus = self.eat_operator("-");
        if !minus {
            self.eat_operator("+");
        }
        if matches!(self.peek().kind, Kind::Integer | Kind::Decimal) {
            let number = self.bump().text(self.text);
            return Ok(if minus { format!("-{number}") } else { number.to_owned() });
        }
        if minus || !self.at_label() {
            return self.fail();
        }
        if self.at_any(&["true", "false", "on"]) { self.label() } else { self.unreserved() }
    }

    /// `RESET name | ALL`
    pub(crate) fn reset(&mut self) -> Result<StatementKind> {
        self.bump();
        match self.shown_name()?.as_str() {
            "role" => Ok(StatementKind::SetRole { name: None, local: false }),
            "session_authorization" => {
                Ok(StatementKind::SetSessionAuthorization { name: None, local: false })
            }
            name => Ok(StatementKind::Set { name: name.to_owned(), value: None, local: false }),
        }
    }

    /// `SHOW name | ALL`
    pub(crate) fn show(&mut self) -> Result<StatementKind> {
        self.bump();
        Ok(StatementKind::Show(self.shown_name()?))
    }

    pub(crate) fn shown_name(&mut self) -> Result<String> {
        let special: [(&[&str], &str); 4] = [
            (&["all"], "all"),
            (&["time", "zone"], "timezone"),
            (&["transaction", "isolation", "level"], "transaction_isolation"),
            (&["session", "authorization"], "session_authorization"),
        ];
        match special.iter().find(|(words, _)| self.at_words(words)) {
            Some((words, name)) => {
                self.expect_words(words)?;
                Ok((*name).to_owned())
            }
            None => self.setting_name(),
        }
    }

    /// `PREPARE name [(types)] AS statement`
    pub(crate) fn prepare(&mut self) -> Result<StatementKind> {
        self.bump();
        if self.at_word("transaction") && self.at_string_ahead(1) {
            return self.unsupported_statement("PREPARE TRANSACTION");
        }
        let name = self.name()?;
        let types = match self.at_kind(Kind::LeftParen) {
            true => self.paren_list(Self::type_name)?,
            false => Vec::new(),
        };
        self.expect_word("as")?;
        // PostgreSQL prepares no CALL; drivers that emulate it are none the worse for it.
        let statement = match self.at_word("call") {
            true => self.statement()?,
            false => self.preparable()?,
        };
        Ok(StatementKind::Prepare { name, types, statement: Box::new(statement) })
    }

    /// `EXECUTE name [(args)]`
    pub(crate) fn execute(&mut self) -> Result<StatementKind> {
        self.bump();
        let name = self.name()?;
        let args = self.plain_arguments()?;
        Ok(StatementKind::ExecutePrepared { name, args })
    }

    /// `DEALLOCATE [PREPARE] name | ALL`
    pub(crate) fn deallocate(&mut self) -> Result<StatementKind> {
        self.bump();
        if self.at_word("prepare") && !matches!(self.peek_at(1).kind, Kind::End) {
            self.bump();
        }
        let name = match self.eat_word("all") {
            true => None,
            false => Some(self.name()?),
        };
        Ok(StatementKind::Deallocate(name))
    }

    /// `NOTIFY channel [, 'payload']`
    pub(crate) fn notify(&mut self) -> Result<StatementKind> {
        self.bump();
        let channel = self.name()?;
        let payload = if self.eat(Kind::Comma) { self.string()? } else { String::new() };
        Ok(StatementKind::Notify { channel, payload })
    }

    /// `LISTEN channel`
    pub(crate) fn listen(&mut self) -> Result<StatementKind> {
        self.bump();
        Ok(StatementKind::Listen(self.name()?))
    }

    /// `UNLISTEN channel | *`
    pub(crate) fn unlisten(&mut self) -> Result<StatementKind> {
        self.bump();
        let channel = if self.eat_operator("*") { None } else { Some(self.name()?) };
        Ok(StatementKind::Unlisten(channel))
    }

    /// `DISCARD ALL | PLANS | SEQUENCES | TEMP | TEMPORARY`
    pub(crate) fn discard(&mut self) -> Result<StatementKind> {
        self.bump();
        let what = self.word();
        if !self.at_any(&["all", "plans", "sequences", "temp", "temporary"]) {
            return self.fail();
        }
        self.bump();
        let what = if what.as_str() == "temporary" { "temp" } else { what.as_str() };
        Ok(StatementKind::Discard(what.to_owned()))
    }

    /// `EXPLAIN [ANALYZE] [VERBOSE] statement`, `EXPLAIN (options) statement`, and our own
    /// `EXPLAIN PROCEDURE name [(types)]` and `EXPLAIN RECOVERY`.
    pub(crate) fn explain(&mut self) -> Result<StatementKind> {
        self.bump();
        if self.eat_word("procedure") {
            return self.explain_procedure();
        }
        if self.eat_word("recovery") {
            return Ok(StatementKind::ExplainRecovery);
        }
        let (mut analyze, mut format, mut summary) = (false, ExplainFormat::Text, None);
        if self.at_kind(Kind::LeftParen) && !self.at_paren_query() {
            self.bump();
            loop {
                self.explain_option(&mut analyze, &mut format, &mut summary)?;
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
            self.expect(Kind::RightParen)?;
        } else {
            analyze = self.eat_word("analyze") || self.eat_word("analyse");
            self.eat_word("verbose");
        }
        let allowed = ["with", "insert", "update", "delete", "create", "execute", "call", "declare", "merge"];
        if !(self.at_any(&allowed) || self.at_query() || self.at_kind(Kind::LeftParen)) {
            return self.fail();
        }
        let statement = Box::new(self.statement()?);
        Ok(StatementKind::Explain { analyze, format, summary, statement })
    }

    /// One option: ANALYZE counts, SUMMARY tells times, the others shape PostgreSQL's own figures.
    fn explain_option(
        &mut self,
        analyze: &mut bool,
        format: &mut ExplainFormat,
        summary: &mut Option<bool>,
    ) -> Result<()> {
        let position = self.position();
        let option = self.label()?;
        let value = match self.peek().kind {
            Kind::Comma | Kind::RightParen => "true".to_owned(),
            _ => self.setting_value()?.to_ascii_lowercase(),
        };
        let truth = || match value.as_str() {
            "true" | "on" | "1" => Ok(true),
            "false" | "off" | "0" => Ok(false),
            _ => Err(Error::new(SqlState::SYNTAX_ERROR, format!("{option} requires a Boolean value"))),
        };
        match option.as_str() {
            "analyze" | "analyse" => *analyze = truth()?,
            "summary" => *summary = Some(truth()?),
            "format" => {
                *format = match value.as_str() {
                    "text" => ExplainFormat::Text,
                    "json" => ExplainFormat::Json,
                    "xml" => ExplainFormat::Xml,
                    "yaml" => ExplainFormat::Yaml,
                    _ => {
                        let message =
                            format!("unrecognized value for EXPLAIN option \"format\": \"{value}\"");
                        let state = SqlState::INVALID_PARAMETER_VALUE;
                        return Err(Error::new(state, message).at(position));
                    }
                }
            }
            "verbose" | "costs" | "settings" | "buffers" | "wal" | "timing" => {
                truth()?;
            }
            "generic_plan" | "memory" | "serialize" => {}
            _ => {
                let message = format!("unrecognized EXPLAIN option \"{option}\"");
                return Err(self.syntax_error(message, position));
            }
        }
        Ok(())
    }

    fn explain_procedure(&mut self) -> Result<StatementKind> {
        let name = self.qualified_function()?;
        let args = match self.at_kind(Kind::LeftParen) {
            true => Some(self.type_list()?),
            false => None,
        };
        Ok(StatementKind::ExplainProcedure { name, args })
    }
}
