//! CREATE, ALTER and DROP TRIGGER.

use planaria_base::{Error, Result, SqlState};
use planaria_catalog::{CheckTime, TriggerEnabled, TriggerEvent};

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{
    AlterTable, CommentTarget, CreateTrigger, Position, StatementKind, Transition, TriggerNames,
    TriggerTiming,
};

impl Parser<'_> {
    /// `CREATE [OR REPLACE] [CONSTRAINT] TRIGGER ..`, CREATE [OR REPLACE] taken.
    pub(crate) fn create_trigger(&mut self, or_replace: bool) -> Result<StatementKind> {
        let constraint = self.eat_word("constraint");
        self.expect_word("trigger")?;
        if constraint && or_replace {
            let message = "CREATE OR REPLACE CONSTRAINT TRIGGER is not supported";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let name = self.name()?;
        let position = self.position();
        let timing = match self.word().as_str() {
            "after" => TriggerTiming::After,
            "before" if !constraint => TriggerTiming::Before,
            "instead" if !constraint => TriggerTiming::InsteadOf,
            _ => return self.fail(),
        };
        self.bump();
        if timing == TriggerTiming::InsteadOf {
            self.expect_word("of")?;
        }
        let (events, columns) = self.trigger_events()?;
        self.expect_word("on")?;
        let table = self.qualified_name()?;
        let mut check = None;
        if constraint {
            if self.at_word("from") {
                return self.unsupported("a constraint trigger FROM another table", self.position());
            }
            check = Some(self.check_time()?);
        }
        let mut transitions = Vec::new();
        if !constraint && self.eat_word("referencing") {
            transitions.push(self.transition()?);
            while self.at_any(&["old", "new"]) {
                transitions.push(self.transition()?);
            }
        }
        let mut each_row = false;
        if constraint {
            self.expect_words(&["for", "each", "row"])?;
            each_row = true;
        } else if self.eat_word("for") {
            self.eat_word("each");
            each_row = self.eat_word("row");
            if !each_row {
                self.expect_word("statement")?;
            }
        }
        let condition = match self.eat_word("when") {
            true => {
                self.expect(Kind::LeftParen)?;
                // A definition is printed with parentheses of its own.
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
                Some(condition)
            }
            false => None,
        };
        self.expect_word("execute")?;
        if !self.eat_word("procedure") {
            self.expect_word("function")?;
        }
        let function = self.qualified_function()?;
        let arguments = self.trigger_arguments()?;
        Ok(StatementKind::CreateTrigger(Box::new(CreateTrigger {
            name,
            or_replace,
            constraint: check,
            timing,
            events,
            columns,
            table,
            transitions,
            each_row,
            condition,
            function,
            arguments,
            position,
        })))
    }

    fn trigger_events(&mut self) -> Result<(Vec<TriggerEvent>, Vec<(String, Position)>)> {
        let (mut events, mut columns) = (Vec::new(), Vec::new());
        loop {
            let position = self.position();
            let event = match self.word().as_str() {
                "insert" => TriggerEvent::Insert,
                "delete" => TriggerEvent::Delete,
                "update" => TriggerEvent::Update,
                "truncate" => TriggerEvent::Truncate,
                _ => return self.fail(),
            };
            self.bump();
            if events.contains(&event) {
                let word = self.text_since(position);
                let message = format!("duplicate trigger events specified at or near \"{word}\"");
                return Err(self.syntax_error(message, position));
            }
            events.push(event);
            if event == TriggerEvent::Update && self.eat_word("of") {
                columns = self.list(|p| {
                    let position = p.position();
                    Ok((p.name()?, position))
                })?;
            }
            if !self.eat_word("or") {
                return Ok((events, columns));
            }
        }
    }

    /// `[[NOT] DEFERRABLE] [INITIALLY IMMEDIATE | DEFERRED]`
    pub(super) fn check_time(&mut self) -> Result<CheckTime> {
        let (mut deferrable, mut deferred) = (None, None);
        let begin = self.position();
        loop {
            let position = self.position();
            let (slot, value) = if self.eat_words(&["not", "deferrable"]) {
                (&mut deferrable, false)
            } else if self.eat_word("deferrable") {
                (&mut deferrable, true)
            } else if self.eat_words(&["initially", "immediate"]) {
                (&mut deferred, false)
            } else if self.eat_words(&["initially", "deferred"]) {
                (&mut deferred, true)
            } else {
                break;
            };
            if slot.replace(value).is_some() {
                return Err(self.syntax_error("conflicting constraint properties", position));
            }
        }
        match (deferrable, deferred) {
            (Some(false), Some(true)) => {
                let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
                Err(self.syntax_error(message, begin))
            }
            (_, Some(true)) => Ok(CheckTime::Deferred),
            (Some(true), _) => Ok(CheckTime::Deferrable),
            _ => Ok(CheckTime::NotDeferrable),
        }
    }

    /// `OLD | NEW TABLE | ROW [AS] name`
    fn transition(&mut self) -> Result<Transition> {
        let new = !self.eat_word("old");
        if new {
            self.expect_word("new")?;
        }
        let table = self.eat_word("table");
        if !table {
            self.expect_word("row")?;
        }
        self.eat_word("as");
        Ok(Transition { new, table, name: self.name()? })
    }

    /// `(1, 'two', three)`: all are texts.
    fn trigger_arguments(&mut self) -> Result<Vec<String>> {
        self.expect(Kind::LeftParen)?;
        if self.eat(Kind::RightParen) {
            return Ok(Vec::new());
        }
        let all = self.list(|p| match p.peek().kind {
            Kind::Integer | Kind::Decimal => {
                let text = p.token_text().to_owned();
                p.bump();
                Ok(text)
            }
            _ if p.at_string() => p.string(),
            _ => p.label(),
        })?;
        self.expect(Kind::RightParen)?;
        Ok(all)
    }

    /// `DROP TRIGGER [IF EXISTS] name ON table`, DROP taken.
    pub(crate) fn drop_trigger(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_exists = self.eat_words(&["if", "exists"]);
        let name = self.name()?;
        self.expect_word("on")?;
        let table = self.qualified_name()?;
        // Nothing depends on a trigger.
        self.cascade();
        Ok(StatementKind::DropTrigger { name, table, if_exists })
    }

    /// `ALTER TRIGGER name ON table RENAME TO name`, ALTER taken.
    pub(crate) fn alter_trigger(&mut self) -> Result<StatementKind> {
        self.bump();
        let name = self.name()?;
        self.expect_word("on")?;
        let table = self.qualified_name()?;
        if self.at_any(&["depends", "no"]) {
            return self.unsupported_statement("ALTER TRIGGER .. DEPENDS ON EXTENSION");
        }
        self.expect_words(&["rename", "to"])?;
        Ok(StatementKind::RenameTrigger { name, table, to: self.name()? })
    }

    /// `TRIGGER name ON table` of COMMENT ON.
    pub(crate) fn comment_on_trigger(&mut self) -> Result<CommentTarget> {
        self.bump();
        let name = self.name()?;
        self.expect_word("on")?;
        Ok(CommentTarget::Trigger(name, self.qualified_name()?))
    }

    /// `ENABLE | DISABLE [REPLICA | ALWAYS] TRIGGER ..` of ALTER TABLE; `None` where it is about something else.
    pub(crate) fn enable_trigger(&mut self) -> Result<Option<AlterTable>> {
        let (words, enabled): (&[&str], _) = match (self.word().as_str(), self.word_at(1).as_str()) {
            ("disable", "trigger") => (&["disable", "trigger"], TriggerEnabled::Disabled),
            ("enable", "trigger") => (&["enable", "trigger"], TriggerEnabled::Origin),
            ("enable", "replica") => (&["enable", "replica", "trigger"], TriggerEnabled::Replica),
            ("enable", "always") => (&["enable", "always", "trigger"], TriggerEnabled::Always),
            _ => return Ok(None),
        };
        if !self.eat_words(words) {
            return Ok(None);
        }
        let plain = words.len() == 2;
        let names = match self.word().as_str() {
            "all" if plain => TriggerNames::All,
            "user" if plain => TriggerNames::User,
            _ => TriggerNames::One(self.name()?),
        };
        if !matches!(names, TriggerNames::One(_)) {
            self.bump();
        }
        Ok(Some(AlterTable::EnableTrigger { names, enabled }))
    }
}
