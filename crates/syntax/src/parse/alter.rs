//! ALTER TABLE, and ALTER of objects that can only be renamed.

use planaria_base::Result;
use planaria_catalog::{ReplicaIdentity, Volatility};

use super::parser::Parser;
use crate::ast::{
    AlterIndex, AlterTable, ConstraintKind, DefaultsOf, Name, ObjectKind, OwnedObject, Parameter, Position,
    RoutineOptions, RoutineRef, SequenceOptions, StatementKind, Told,
};

impl Parser<'_> {
    /// `ALTER TABLE ..`, ALTER taken.
    pub(crate) fn alter_table(&mut self) -> Result<StatementKind> {
        self.bump();
        if self.at_words(&["all", "in", "tablespace"]) {
            return self.unsupported_statement("ALTER TABLE ALL IN TABLESPACE");
        }
        let if_exists = self.eat_words(&["if", "exists"]);
        let only = self.at_word("only");
        let name = self.relation_name()?;
        if self.at_words(&["set", "schema"]) {
            return self.set_schema(OwnedObject::Relation(ObjectKind::Table, name, if_exists));
        }
        let actions = match self.at_word("rename") {
            true => vec![self.rename()?],
            false => self.list(Self::alter_action)?,
        };
        Ok(StatementKind::AlterTable { name, if_exists, only, actions })
    }

    fn rename(&mut self) -> Result<AlterTable> {
        self.bump();
        if self.eat_word("to") {
            return Ok(AlterTable::RenameTable(self.name()?));
        }
        if self.eat_word("constraint") {
            let from = self.name()?;
            self.expect_word("to")?;
            return Ok(AlterTable::RenameConstraint { from, to: self.name()? });
        }
        self.eat_word("column");
        let from = self.name()?;
        self.expect_word("to")?;
        Ok(AlterTable::RenameColumn { from, to: self.name()? })
    }

    fn alter_action(&mut self) -> Result<AlterTable> {
        let position = self.position();
        let word = self.word();
        match word.as_str() {
            "add" => {
                self.bump();
                if self.at_table_constraint() {
                    return Ok(AlterTable::AddConstraint(self.table_constraint()?));
                }
                self.eat_word("column");
                let if_not_exists = self.eat_words(&["if", "not", "exists"]);
                Ok(AlterTable::AddColumn { column: self.column_def()?, if_not_exists })
            }
            "drop" => {
                self.bump();
                let constraint = self.eat_word("constraint");
                if !constraint {
                    self.eat_word("column");
                }
                let if_exists = self.eat_words(&["if", "exists"]);
                let name = self.name()?;
                let cascade = self.cascade();
                Ok(match constraint {
                    true => AlterTable::DropConstraint { name, if_exists, cascade },
                    false => AlterTable::DropColumn { name, if_exists, cascade },
                })
            }
            "alter" => {
                self.bump();
                if self.at_word("constraint") {
                    return self.alter_constraint();
                }
                self.eat_word("column");
                self.alter_column()
            }
            "owner" => Ok(AlterTable::OwnerTo(self.owner_to()?)),
            "validate" if self.at_word_ahead(1, "constraint") => {
                self.expect_words(&["validate", "constraint"])?;
                Ok(AlterTable::ValidateConstraint(self.name()?))
            }
            "replica" if self.at_word_ahead(1, "identity") => {
                self.expect_words(&["replica", "identity"])?;
                let identity = match self.word().as_str() {
                    "default" => None,
                    "full" => Some(ReplicaIdentity::Full),
                    "nothing" => Some(ReplicaIdentity::Nothing),
                    _ => {
                        self.eat_words(&["using", "index"]);
                        Some(ReplicaIdentity::Index(self.name()?))
                    }
                };
                if !matches!(identity, Some(ReplicaIdentity::Index(_))) {
                    self.bump();
                }
                Ok(AlterTable::ReplicaIdentity(identity))
            }
            "set" if self.at_word_ahead(1, "logged") || self.at_word_ahead(1, "unlogged") => {
                self.bump();
                self.bump();
                Ok(AlterTable::Ignored("SET LOGGED".to_owned()))
            }
            "set" if self.at_word_ahead(1, "without") => {
                self.bump();
                self.bump();
                if self.eat_word("oids") {
                    return Ok(AlterTable::Ignored("SET WITHOUT OIDS".to_owned()));
                }
                self.expect_word("cluster")?;
                Ok(AlterTable::ClusterOn(None))
            }
            "set" if self.at_word_ahead(1, "access") => {
                self.expect_words(&["set", "access", "method"])?;
                match self.name()?.as_str() {
                    "heap" => Ok(AlterTable::Ignored("SET ACCESS METHOD".to_owned())),
                    _ => self.rest_unsupported("SET ACCESS METHOD", position),
                }
            }
            "set" if self.at_word_ahead(1, "tablespace") => {
                self.bump();
                self.bump();
                self.name()?;
                Ok(AlterTable::Ignored("SET TABLESPACE".to_owned()))
            }
            "cluster" => {
                self.expect_words(&["cluster", "on"])?;
                Ok(AlterTable::ClusterOn(Some(self.name()?)))
            }
            "set" | "reset" if self.peek_at(1).kind == super::lex::Kind::LeftParen => {
                let reset = self.word().as_str() == "reset";
                self.bump();
                Ok(match self.parameters_or_what()? {
                    Some(parameters) => AlterTable::Parameters { parameters, reset },
                    None => AlterTable::Ignored("storage parameters".to_owned()),
                })
            }
            "enable" | "disable" if let Some(action) = self.enable_trigger()? => Ok(action),
            "enable" | "disable" | "force" | "no" if let Some(action) = self.row_security() => Ok(action),
            "attach" if self.at_word_ahead(1, "partition") => {
                self.expect_words(&["attach", "partition"])?;
                let partition = self.qualified_name()?;
                Ok(AlterTable::Attach { partition, bound: self.partition_spec()? })
            }
            "detach" if self.at_word_ahead(1, "partition") => {
                self.expect_words(&["detach", "partition"])?;
                let partition = self.qualified_name()?;
                // Schema changes stop all work for a moment anyway.
                if !self.eat_word("concurrently") {
                    self.eat_word("finalize");
                }
                Ok(AlterTable::Detach(partition))
            }
            "set" | "inherit" | "no" | "of" | "not" | "enable" | "disable" | "force" | "replica"
            | "validate" | "attach" | "detach" => {
                let second = self.word_at(1);
                let what = format!("{} {}", word.as_str(), second.as_str()).to_uppercase();
                self.rest_unsupported(what.trim(), position)
            }
            _ => self.fail(),
        }
    }

    /// Parameters in parentheses; `None` for something else in them, which logs of former versions may have.
    fn parameters_or_what(&mut self) -> Result<Option<Vec<Parameter>>> {
        let at = self.index();
        match self.set_of_parameters() {
            Ok(parameters) => Ok(Some(parameters)),
            Err(_) => {
                self.seek(at);
                self.parameters_in_parens().map(|()| None)
            }
        }
    }

    fn parameters_in_parens(&mut self) -> Result<()> {
        match self.closing(self.index()) {
            Some(close) => {
                self.seek(close + 1);
                Ok(())
            }
            None => {
                self.skip_to_end()?;
                self.fail()
            }
        }
    }

    /// An action that is not supported, which takes the rest of the statement.
    fn rest_unsupported(&mut self, what: &str, position: u32) -> Result<AlterTable> {
        self.skip_to_end()?;
        Ok(AlterTable::Unsupported(what.to_owned(), position))
    }

    /// `ALTER CONSTRAINT name [NOT] DEFERRABLE [INITIALLY ..]`, ALTER taken.
    fn alter_constraint(&mut self) -> Result<AlterTable> {
        self.bump();
        let name = self.name()?;
        let check = self.check_time()?;
        Ok(AlterTable::AlterConstraint { name, check })
    }

    /// What follows `ALTER [COLUMN]`.
    fn alter_column(&mut self) -> Result<AlterTable> {
        let position = self.position();
        let column = self.name()?;
        if self.eat_words(&["set", "default"]) {
            return Ok(AlterTable::SetDefault { column, default: Some(self.expr_with_text(false)?) });
        }
        if self.eat_words(&["drop", "default"]) {
            return Ok(AlterTable::SetDefault { column, default: None });
        }
        if self.at_words(&["add", "generated"]) {
            self.bump();
            return match self.generated()? {
                ConstraintKind::Identity { always, options } => {
                    Ok(AlterTable::AddIdentity { column, always, options, position })
                }
                _ => self.fail(),
            };
        }
        if self.eat_words(&["set", "not", "null"]) {
            return Ok(AlterTable::SetNotNull { column, not_null: true });
        }
        if self.eat_words(&["drop", "not", "null"]) {
            return Ok(AlterTable::SetNotNull { column, not_null: false });
        }
        if self.eat_words(&["drop", "identity"]) {
            let if_exists = self.eat_words(&["if", "exists"]);
            return Ok(AlterTable::DropIdentity { column, if_exists });
        }
        if self.eat_words(&["drop", "expression"]) {
            let if_exists = self.eat_words(&["if", "exists"]);
            return Ok(AlterTable::DropExpression { column, if_exists });
        }
        if self.eat_words(&["set", "statistics"]) {
            let told = Told::Statistics(self.signed_integer()?);
            return Ok(AlterTable::ColumnTold { column, told });
        }
        if self.at_any(&["set", "reset"]) && self.peek_at(1).kind == super::lex::Kind::LeftParen {
            let reset = self.word().as_str() == "reset";
            self.bump();
            let told = Told::Parameters(self.parameters_or_what()?, reset);
            return Ok(AlterTable::ColumnTold { column, told });
        }
        if self.eat_words(&["set", "storage"]) {
            let told = Told::Storage(self.label()?);
            return Ok(AlterTable::ColumnTold { column, told });
        }
        if self.eat_words(&["set", "compression"]) {
            let told = Told::Compression(self.label()?);
            return Ok(AlterTable::ColumnTold { column, told });
        }
        if self.eat_words(&["set", "data", "type"]) || self.eat_word("type") {
            let ty = self.type_name()?;
            let collation = if self.eat_word("collate") { self.byte_collation()? } else { None };
            let using = match self.eat_word("using") {
                true => Some(self.expr_with_text(false)?),
                false => None,
            };
            return Ok(AlterTable::SetType { column, ty, collation, using });
        }
        match self.word().as_str() {
            "set" | "restart" => self.set_identity(column),
            "reset" => self.rest_unsupported("ALTER COLUMN .. RESET", position),
            _ => self.fail(),
        }
    }

    /// `SET GENERATED ..`, `SET option`, `RESTART ..`, one or more of them.
    fn set_identity(&mut self, column: String) -> Result<AlterTable> {
        let (mut always, mut options) = (None, SequenceOptions::default());
        loop {
            let position = self.position();
            if self.eat_word("set") {
                if self.eat_word("generated") {
                    let value = self.eat_word("always");
                    if !value {
                        self.expect_words(&["by", "default"])?;
                    }
                    if always.replace(value).is_some() {
                        return Err(self.syntax_error("conflicting or redundant options", position));
                    }
                    continue;
                }
            } else if !self.at_word("restart") {
                return Ok(AlterTable::SetIdentity { column, always, options });
            }
            self.sequence_option(&mut options)?;
        }
    }

    /// `ALTER INDEX .. RENAME TO`
    pub(crate) fn alter_name(&mut self, object: ObjectKind, tag: &str) -> Result<StatementKind> {
        self.bump();
        if self.at_words(&["all", "in", "tablespace"]) {
            return self.unsupported_statement(&format!("{tag} ALL IN TABLESPACE"));
        }
        let if_exists = self.eat_words(&["if", "exists"]);
        let name = self.qualified_name()?;
        self.alter_named(object, tag, if_exists, name)
    }

    /// What is done to an index or view, behind its name.
    pub(crate) fn alter_named(
        &mut self,
        object: ObjectKind,
        tag: &str,
        if_exists: bool,
        name: Name,
    ) -> Result<StatementKind> {
        if self.eat_words(&["rename", "to"]) {
            return Ok(StatementKind::Rename { object, name, to: self.name()?, if_exists });
        }
        if self.at_word("owner") {
            let object = OwnedObject::Relation(object, name, if_exists);
            return Ok(StatementKind::AlterOwner { object, owner: self.owner_to()? });
        }
        if self.at_words(&["set", "schema"]) {
            return self.set_schema(OwnedObject::Relation(object, name, if_exists));
        }
        if object == ObjectKind::Index && self.eat_words(&["attach", "partition"]) {
            return Ok(StatementKind::AttachIndex { name, index: self.qualified_name()? });
        }
        if object == ObjectKind::Index
            && let Some(action) = self.index_action()?
        {
            return Ok(StatementKind::AlterIndex { name, if_exists, action });
        }
        match self.at_end() {
            true => self.fail(),
            false => self.unsupported_statement(tag),
        }
    }

    /// What is said of how an index is stored.
    fn index_action(&mut self) -> Result<Option<AlterIndex>> {
        if self.at_any(&["set", "reset"]) && self.peek_at(1).kind == super::lex::Kind::LeftParen {
            let reset = self.word().as_str() == "reset";
            self.bump();
            return Ok(Some(AlterIndex::Parameters(self.set_of_parameters()?, reset)));
        }
        if self.eat_words(&["set", "tablespace"]) {
            self.name()?;
            return Ok(Some(AlterIndex::Tablespace));
        }
        if self.eat_word("alter") {
            self.eat_word("column");
            let number = self.signed_integer()?;
            self.expect_words(&["set", "statistics"])?;
            return Ok(Some(AlterIndex::Statistics(number, self.signed_integer()?)));
        }
        Ok(None)
    }

    /// `ALTER FUNCTION | PROCEDURE | ROUTINE ..`
    pub(crate) fn alter_routine(&mut self, procedure: Option<bool>) -> Result<StatementKind> {
        self.bump();
        let routine = self.routine_ref(procedure)?;
        match self.named_routine(routine.clone())? {
            Some(statement) => Ok(statement),
            None => self.altered_routine(routine),
        }
    }

    /// `ALTER AGGREGATE a(types)`
    pub(crate) fn alter_aggregate(&mut self) -> Result<StatementKind> {
        self.bump();
        let aggregate = self.aggregate_ref()?;
        match self.named_routine(aggregate)? {
            Some(statement) => Ok(statement),
            None => self.fail(),
        }
    }

    /// `.. OWNER TO | SET SCHEMA | RENAME TO`
    fn named_routine(&mut self, routine: RoutineRef) -> Result<Option<StatementKind>> {
        if self.at_words(&["depends", "on"]) || self.at_words(&["no", "depends"]) {
            return self.unsupported_statement("ALTER FUNCTION .. DEPENDS ON EXTENSION").map(Some);
        }
        if self.at_word("owner") {
            let object = OwnedObject::Routine(routine);
            return Ok(Some(StatementKind::AlterOwner { object, owner: self.owner_to()? }));
        }
        if self.at_words(&["set", "schema"]) {
            return self.set_schema(OwnedObject::Routine(routine)).map(Some);
        }
        if self.eat_words(&["rename", "to"]) {
            let options = RoutineOptions { name: Some(self.function_name()?), ..RoutineOptions::default() };
            return Ok(Some(StatementKind::AlterRoutine { routine, options }));
        }
        Ok(None)
    }

    fn altered_routine(&mut self, routine: RoutineRef) -> Result<StatementKind> {
        if self.at_end() {
            return self.fail();
        }
        let mut options = RoutineOptions::default();
        while !self.at_end() && !self.at_word("restrict") {
            self.altered_option(&mut options)?;
        }
        self.eat_word("restrict");
        Ok(StatementKind::AlterRoutine { routine, options })
    }

    fn altered_option(&mut self, options: &mut RoutineOptions) -> Result<()> {
        let position = self.position();
        let word = self.word();
        self.bump();
        let again = match word.as_str() {
            "immutable" => options.volatility.replace(Volatility::Immutable).is_some(),
            "stable" => options.volatility.replace(Volatility::Stable).is_some(),
            "volatile" => options.volatility.replace(Volatility::Volatile).is_some(),
            "strict" => options.strict.replace(true).is_some(),
            "returns" => {
                self.expect_words(&["null", "on", "null", "input"])?;
                options.strict.replace(true).is_some()
            }
            "called" => {
                self.expect_words(&["on", "null", "input"])?;
                options.strict.replace(false).is_some()
            }
            "external" | "security" => {
                if word.as_str() == "external" {
                    self.expect_word("security")?;
                }
                let definer = !self.eat_word("invoker");
                if definer {
                    self.expect_word("definer")?;
                }
                options.security_definer.replace(definer).is_some()
            }
            "leakproof" | "not" | "parallel" | "cost" | "rows" => {
                self.routine_hint(word.as_str(), &mut options.hints, position)?;
                false
            }
            "set" => {
                options.settings.push(self.routine_setting(position)?);
                false
            }
            "reset" => {
                options.settings.push(self.routine_reset(position)?);
                false
            }
            "support" => return self.unsupported("SUPPORT", position),
            _ => {
                self.seek(self.index() - 1);
                return self.fail();
            }
        };
        match again {
            true => Err(self.syntax_error("conflicting or redundant options", position)),
            false => Ok(()),
        }
    }

    /// `SET SCHEMA ..`, behind what is to be moved.
    pub(crate) fn set_schema(&mut self, object: OwnedObject) -> Result<StatementKind> {
        self.expect_words(&["set", "schema"])?;
        Ok(StatementKind::SetSchema { object, schema: self.name()? })
    }

    /// `ALTER SCHEMA | DATABASE .. OWNER TO`
    pub(crate) fn alter_place(
        &mut self,
        object: fn(String, Position) -> OwnedObject,
        tag: &str,
    ) -> Result<StatementKind> {
        self.bump();
        let position = self.position();
        let object = object(self.name()?, position);
        if let OwnedObject::Database(name, position) = &object
            && self.at_any(&["set", "reset"])
            && !self.at_word_ahead(1, "tablespace")
        {
            return self.alter_defaults(DefaultsOf::Database((name.clone(), *position)));
        }
        if let OwnedObject::Schema(name, _) = &object
            && self.eat_words(&["rename", "to"])
        {
            return Ok(StatementKind::RenameSchema { name: name.clone(), to: self.name()? });
        }
        match self.at_word("owner") {
            true => Ok(StatementKind::AlterOwner { object, owner: self.owner_to()? }),
            false if self.at_end() => self.fail(),
            false => self.unsupported_statement(tag),
        }
    }

    /// `ALTER SEQUENCE ..`
    pub(crate) fn alter_sequence(&mut self) -> Result<StatementKind> {
        self.bump();
        let if_exists = self.eat_words(&["if", "exists"]);
        let name = self.qualified_name()?;
        if self.eat_words(&["rename", "to"]) {
            let object = ObjectKind::Sequence;
            return Ok(StatementKind::Rename { object, name, to: self.name()?, if_exists });
        }
        if self.at_word("owner") {
            let object = OwnedObject::Relation(ObjectKind::Sequence, name, if_exists);
            return Ok(StatementKind::AlterOwner { object, owner: self.owner_to()? });
        }
        if self.at_words(&["set", "schema"]) {
            return self.set_schema(OwnedObject::Relation(ObjectKind::Sequence, name, if_exists));
        }
        if self.at_word("set") {
            return self.unsupported_statement("ALTER SEQUENCE .. SET");
        }
        if self.at_end() {
            return self.fail();
        }
        let options = self.sequence_options()?;
        Ok(StatementKind::AlterSequence { name, if_exists, options })
    }
}
