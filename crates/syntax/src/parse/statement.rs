//! Which statement a text begins with.

use planaria_base::Result;

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{ObjectKind, OwnedObject, Query, Statement, StatementKind};

impl Parser<'_> {
    /// A statement, to the end of the window.
    pub(crate) fn whole_statement(&mut self) -> Result<Statement> {
        let statement = self.statement()?;
        self.expect_end()?;
        Ok(statement)
    }

    /// A statement.
    pub(crate) fn statement(&mut self) -> Result<Statement> {
        let position = self.position();
        let kind = self.nested(Self::statement_kind)?;
        Ok(Statement { position, end: self.last_end(), kind })
    }

    fn statement_kind(&mut self) -> Result<StatementKind> {
        if self.at_kind(Kind::LeftParen) || self.at_query() && !self.at_word("with") {
            self.may_select_into = self.at_word("select");
            let query = self.query()?;
            return Ok(self.selected(query));
        }
        let word = self.word();
        match word.as_str() {
            "with" | "insert" | "update" | "delete" | "merge" => self.data_statement(true),
            "begin" | "start" | "commit" | "end" | "rollback" | "abort" | "savepoint" | "release" => {
                self.transaction()
            }
            "call" => self.call_statement(),
            "do" => self.do_statement(),
            "create" => self.create(),
            "drop" => self.drop_statement(),
            "alter" => self.alter(),
            "truncate" => self.truncate(),
            "explain" => self.explain(),
            "set" => self.set(),
            "reset" => self.reset(),
            "show" => self.show(),
            "prepare" => self.prepare(),
            "execute" => self.execute(),
            "deallocate" => self.deallocate(),
            "checkpoint" => {
                self.bump();
                Ok(StatementKind::Checkpoint)
            }
            "backup" => {
                self.bump();
                self.expect_word("to")?;
                Ok(StatementKind::Backup(self.string()?))
            }
            "reindex" => self.reindex(),
            "analyze" | "analyse" => self.vacuum("ANALYZE"),
            "vacuum" => self.vacuum("VACUUM"),
            "grant" | "revoke" => self.grant(),
            "reassign" => self.reassign_owned(),
            "comment" => self.comment(),
            "lock" => self.lock_table(),
            "cluster" => self.cluster(),
            "notify" => self.notify(),
            "listen" => self.listen(),
            "unlisten" => self.unlisten(),
            "copy" => self.copy(),
            "discard" => self.discard(),
            "declare" => self.declare_cursor(),
            "fetch" => self.fetch(false),
            "move" => self.fetch(true),
            "close" => self.close_cursor(),
            "refresh" if self.at_word_ahead(1, "materialized") => self.refresh(),
            "load" | "refresh" | "import" => {
                let name = word.as_str().to_uppercase();
                self.unsupported_statement(&name)
            }
            "security" if self.at_word_ahead(1, "label") => self.unsupported_statement("SECURITY LABEL"),
            _ => self.fail(),
        }
    }

    /// Takes the rest of the window: a statement that PostgreSQL knows and we do not.
    pub(crate) fn unsupported_statement(&mut self, name: &str) -> Result<StatementKind> {
        self.skip_to_end()?;
        Ok(StatementKind::Unsupported(name.to_owned()))
    }

    /// Takes the rest of the window, unless a lexeme in it is broken.
    pub(crate) fn skip_to_end(&mut self) -> Result<()> {
        while !self.at_end() {
            if matches!(self.peek().kind, Kind::Bad(_) | Kind::Other) {
                return self.fail();
            }
            self.bump();
        }
        Ok(())
    }

    /// A query, or the table that its INTO makes.
    fn selected(&mut self, query: Query) -> StatementKind {
        let query = Box::new(query);
        let Some((name, unlogged)) = self.selected_into.take() else { return StatementKind::Query(query) };
        StatementKind::CreateTableAs {
            name,
            if_not_exists: false,
            unlogged,
            columns: Vec::new(),
            query,
            with_data: true,
            on_commit: planaria_catalog::OnCommit::PreserveRows,
        }
    }

    /// INSERT, UPDATE, DELETE, MERGE or a query, with WITH in front or without. `alone`: it may make a table by SELECT INTO.
    fn data_statement(&mut self, alone: bool) -> Result<StatementKind> {
        let position = self.position();
        let (with, recursive) = self.with()?;
        let word = self.word();
        if recursive && word.as_str() == "merge" {
            let message = "WITH RECURSIVE is not supported for MERGE statement";
            return Err(self.syntax_error(message, position));
        }
        Ok(match word.as_str() {
            "insert" => StatementKind::Insert(Box::new(self.insert((with, recursive))?)),
            "update" => StatementKind::Update(Box::new(self.update((with, recursive))?)),
            "delete" => StatementKind::Delete(Box::new(self.delete((with, recursive))?)),
            "merge" => StatementKind::Merge(Box::new(self.merge(with)?)),
            _ => {
                self.may_select_into = alone && word.as_str() == "select";
                let query = self.query_behind_with(with, recursive, position)?;
                self.selected(query)
            }
        })
    }

    /// A statement that WITH, PREPARE, EXPLAIN and cursors may hold.
    pub(crate) fn preparable(&mut self) -> Result<Statement> {
        let position = self.position();
        let data = self.at_any(&["with", "insert", "update", "delete", "merge"]);
        let kind = match data {
            true => self.data_statement(false)?,
            false => StatementKind::Query(Box::new(self.query()?)),
        };
        Ok(Statement { position, end: self.last_end(), kind })
    }

    fn call_statement(&mut self) -> Result<StatementKind> {
        let position = self.bump().start;
        let name = self.qualified_function()?;
        let call = self.plain_call(name)?;
        Ok(StatementKind::Call { call, position })
    }

    fn do_statement(&mut self) -> Result<StatementKind> {
        self.bump();
        let mut body = None;
        let mut language = None;
        while !self.at_end() {
            let position = self.position();
            if self.at_word("language") {
                self.bump();
                let name = self.language_name()?;
                if language.replace(name).is_some() {
                    return Err(self.syntax_error("conflicting or redundant options", position));
                }
            } else {
                let begin = self.body_position();
                let text = self.string()?;
                if body.replace((text, begin)).is_some() {
                    return Err(self.syntax_error("conflicting or redundant options", position));
                }
            }
        }
        match body {
            Some((body, body_position)) => Ok(StatementKind::Do { body, body_position, language }),
            None => self.fail(),
        }
    }

    /// `CREATE ..`
    fn create(&mut self) -> Result<StatementKind> {
        let position = self.bump().start;
        let or_replace = self.eat_words(&["or", "replace"]);
        let word = self.word();
        let kind = match word.as_str() {
            "function" => return self.create_routine(or_replace, false),
            "procedure" => return self.create_routine(or_replace, true),
            "trigger" => return self.create_trigger(or_replace),
            "constraint" if self.at_word_ahead(1, "trigger") => return self.create_trigger(or_replace),
            "view" | "recursive" => return self.create_view(or_replace, false),
            "temp" | "temporary"
                if or_replace && matches!(self.word_at(1).as_str(), "view" | "recursive") =>
            {
                self.bump();
                return self.create_view(true, true);
            }
            // PostgreSQL replaces these too.
            "aggregate" => return self.create_aggregate(or_replace),
            "rule" | "language" | "transform" | "trusted" | "procedural" | "temp" | "temporary"
                if or_replace =>
            {
                word.as_str()
            }
            _ if or_replace => return self.fail(),
            "unlogged" if self.at_word_ahead(1, "sequence") => {
                return self.unsupported("an unlogged sequence", position);
            }
            "table" | "unlogged" | "local" | "global" => return self.create_table(),
            "temp" | "temporary" => match self.word_at(1).as_str() {
                "view" | "recursive" => {
                    self.bump();
                    return self.create_view(false, true);
                }
                "sequence" => {
                    self.bump();
                    return self.create_sequence(true);
                }
                _ => return self.create_table(),
            },
            "index" | "unique" => return self.create_index(),
            "sequence" => return self.create_sequence(false),
            "type" => return self.create_type(),
            "domain" => return self.create_domain(),
            "cast" => return self.create_cast(),
            "policy" => return self.create_policy(),
            "schema" => return self.create_schema(),
            "extension" => return self.create_extension(),
            "statistics" => return self.create_statistics(),
            "role" | "group" => return self.create_role(),
            "user" if !self.at_word_ahead(1, "mapping") => return self.create_role(),
            "materialized" => return self.create_materialized(),
            "foreign" if self.at_word_ahead(1, "table") => "foreign table",
            "foreign" => "foreign data wrapper",
            "event" => "event trigger",
            "access" => "access method",
            "text" => "text search object",
            "operator" if self.at_word_ahead(1, "class") => "operator class",
            "operator" if self.at_word_ahead(1, "family") => "operator family",
            "user" => "user mapping",
            "collation" | "conversion" | "database" | "language" | "operator" | "publication" | "rule"
            | "server" | "subscription" | "tablespace" | "transform" | "trusted" | "procedural"
            | "default" => word.as_str(),
            _ => return self.fail(),
        };
        let name = format!("CREATE {}", kind.to_uppercase());
        self.unsupported_statement(&name)
    }

    /// `DROP ..`
    fn drop_statement(&mut self) -> Result<StatementKind> {
        self.bump();
        let word = self.word();
        let object = match word.as_str() {
            "table" => ObjectKind::Table,
            "index" => ObjectKind::Index,
            "view" => ObjectKind::View,
            "materialized" if self.at_word_ahead(1, "view") => {
                self.bump();
                ObjectKind::MaterializedView
            }
            "sequence" => ObjectKind::Sequence,
            "schema" => ObjectKind::Schema,
            "function" => return self.drop_routine(Some(false)),
            "procedure" => return self.drop_routine(Some(true)),
            "routine" => return self.drop_routine(None),
            "role" | "group" => return self.drop_role(),
            "user" if !self.at_word_ahead(1, "mapping") => return self.drop_role(),
            "owned" => return self.drop_owned(),
            "type" => return self.drop_type(false),
            "domain" => return self.drop_type(true),
            "trigger" => return self.drop_trigger(),
            "policy" => return self.drop_policy(),
            "cast" => return self.drop_cast(),
            "aggregate" => return self.drop_aggregate(),
            "extension" => return self.drop_extension(),
            "statistics" => return self.drop_statistics(),
            "access" | "collation" | "conversion" | "database" | "event" | "foreign" | "language"
            | "materialized" | "operator" | "procedural" | "publication" | "rule" | "server"
            | "subscription" | "tablespace" | "text" | "transform" | "user" => {
                let what = match word.as_str() {
                    "materialized" => "MATERIALIZED VIEW".to_owned(),
                    other => other.to_uppercase(),
                };
                return self.unsupported_statement(&format!("DROP {what}"));
            }
            _ => return self.fail(),
        };
        self.bump();
        self.drop_objects(object)
    }

    /// `ALTER ..`
    fn alter(&mut self) -> Result<StatementKind> {
        self.bump();
        let word = self.word();
        match word.as_str() {
            "table" => self.alter_table(),
            "sequence" => self.alter_sequence(),
            "system" => {
                self.bump();
                self.defaults_change().map(StatementKind::AlterSystem)
            }
            "type" => self.alter_type(),
            "domain" => self.alter_domain(),
            "trigger" => self.alter_trigger(),
            "policy" => self.alter_policy(),
            "index" => self.alter_name(ObjectKind::Index, "ALTER INDEX"),
            "view" => self.alter_view(),
            "materialized" if self.at_word_ahead(1, "view") => {
                self.bump();
                self.alter_name(ObjectKind::MaterializedView, "ALTER MATERIALIZED VIEW")
            }
            "role" | "group" => self.alter_role(),
            "user" if !self.at_word_ahead(1, "mapping") => self.alter_role(),
            "function" => self.alter_routine(Some(false)),
            "procedure" => self.alter_routine(Some(true)),
            "routine" => self.alter_routine(None),
            "schema" => self.alter_place(OwnedObject::Schema, "ALTER SCHEMA"),
            "database" => self.alter_place(OwnedObject::Database, "ALTER DATABASE"),
            "default" => self.default_privileges(),
            "aggregate" => self.alter_aggregate(),
            "statistics" => self.alter_statistics(),
            "collation" | "conversion" | "event" | "extension" | "foreign" | "language" | "large"
            | "materialized" | "operator" | "publication" | "rule" | "server" | "subscription"
            | "tablespace" | "text" | "user" | "procedural" => {
                let what = match word.as_str() {
                    "materialized" => "MATERIALIZED VIEW".to_owned(),
                    other => other.to_uppercase(),
                };
                self.unsupported_statement(&format!("ALTER {what}"))
            }
            _ => self.fail(),
        }
    }

    /// Arguments without names, as EXECUTE has them.
    pub(crate) fn plain_arguments(&mut self) -> Result<Vec<crate::ast::Expr>> {
        if !self.at_kind(Kind::LeftParen) {
            return Ok(Vec::new());
        }
        self.bump();
        if self.eat(Kind::RightParen) {
            return Ok(Vec::new());
        }
        let args = self.list(Self::expr)?;
        self.expect(Kind::RightParen)?;
        Ok(args)
    }
}
