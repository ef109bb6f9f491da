//! CREATE TABLE: columns, constraints, and what tables of PostgreSQL have besides.

use planaria_base::{Error, Result, SqlState};
use planaria_catalog::{CheckTime, ColumnTold, KeyOrder, OnCommit, ReferentialAction, TEMPORARY};

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{
    ColumnDef, Constraint, ConstraintKind, CreateTable, Exclude, ExcludeElement, Expr, Like, Name, Parameter,
    Position, StatementKind,
};

/// Collations that order text by its bytes, as all text here is ordered.
const BYTE_ORDER: &[&str] = &["C", "POSIX", "ucs_basic", "default", "C.UTF-8", "C.utf8"];

impl Parser<'_> {
    /// `CREATE [TEMP | UNLOGGED] TABLE ..`, CREATE taken.
    pub(crate) fn create_table(&mut self) -> Result<StatementKind> {
        if !self.eat_word("local") {
            self.eat_word("global");
        }
        let temporary = self.eat_word("temporary") || self.eat_word("temp");
        let unlogged = !temporary && self.eat_word("unlogged");
        self.expect_word("table")?;
        let if_not_exists = self.eat_words(&["if", "not", "exists"]);
        let name = self.new_relation(temporary)?;
        if self.at_any(&["as", "with", "without", "tablespace", "using", "on"]) || self.at_bare_columns() {
            return self.create_table_as(name, if_not_exists, unlogged);
        }
        let mut table = CreateTable {
            name,
            if_not_exists,
            on_commit: OnCommit::PreserveRows,
            unlogged,
            columns: Vec::new(),
            constraints: Vec::new(),
            likes: Vec::new(),
            partition_by: None,
            partition_of: None,
            parameters: Vec::new(),
            unsupported: None,
        };
        if self.at_words(&["partition", "of"]) {
            self.partition_of(&mut table)?;
            self.table_options(&mut table)?;
            return Ok(StatementKind::CreateTable(Box::new(table)));
        }
        if self.at_word("of") {
            table.unsupported.get_or_insert(("OF type".to_owned(), self.position()));
            self.skip_to_end()?;
            return Ok(StatementKind::CreateTable(Box::new(table)));
        }
        self.expect(Kind::LeftParen)?;
        if !self.eat(Kind::RightParen) {
            loop {
                self.table_element(&mut table)?;
                if !self.eat(Kind::Comma) {
                    break;
                }
            }
            self.expect(Kind::RightParen)?;
        }
        self.table_options(&mut table)?;
        Ok(StatementKind::CreateTable(Box::new(table)))
    }

    /// Whether `(name, ...)` comes next: names without types.
    fn at_bare_columns(&self) -> bool {
        self.at_kind(Kind::LeftParen)
            && self.peek_at(1).kind != Kind::RightParen
            && matches!(self.peek_at(2).kind, Kind::Comma | Kind::RightParen)
    }

    /// `[(columns)] AS query [WITH [NO] DATA]`
    fn create_table_as(&mut self, name: Name, if_not_exists: bool, unlogged: bool) -> Result<StatementKind> {
        let columns = match self.at_kind(Kind::LeftParen) {
            true => self.paren_names()?,
            false => Vec::new(),
        };
        let mut on_commit = OnCommit::PreserveRows;
        while !self.at_word("as") {
            let position = self.position();
            match self.word().as_str() {
                "with" => drop(self.storage_parameters()?),
                "without" => self.expect_words(&["without", "oids"])?,
                "on" => on_commit = self.on_commit(&name)?,
                "tablespace" => {
                    self.bump();
                    self.name()?;
                }
                "using" => {
                    self.bump();
                    let method = self.name()?;
                    if method != "heap" {
                        return self.unsupported(&format!("access method {method}"), position);
                    }
                }
                _ => break,
            }
        }
        self.expect_word("as")?;
        if self.at_word("execute") {
            let from = self.position();
            let StatementKind::ExecutePrepared { name, args } = self.execute()? else {
                return self.unsupported("this EXECUTE", from);
            };
            let to = self.end_of_last();
            if !self.eat_words(&["with", "no", "data"]) {
                self.eat_words(&["with", "data"]);
            }
            return Ok(StatementKind::CreateTableExecute { name, args, from, to });
        }
        let query = Box::new(self.query()?);
        let with_data = !self.eat_words(&["with", "no", "data"]);
        if with_data {
            self.eat_words(&["with", "data"]);
        }
        Ok(StatementKind::CreateTableAs {
            name,
            if_not_exists,
            unlogged,
            columns,
            query,
            with_data,
            on_commit,
        })
    }

    fn table_element(&mut self, table: &mut CreateTable) -> Result<()> {
        if self.at_word("like") {
            let like = self.like_table(table.columns.len())?;
            table.likes.push(like);
        } else if self.at_table_constraint() {
            table.constraints.push(self.table_constraint()?);
        } else {
            table.columns.push(self.column_def()?);
        }
        Ok(())
    }

    fn like_table(&mut self, place: usize) -> Result<Like> {
        self.bump();
        let mut like = Like {
            table: self.qualified_name()?,
            place,
            comments: false,
            constraints: false,
            defaults: false,
            generated: false,
            identity: false,
            indexes: false,
            statistics: false,
            storage: false,
            compression: false,
        };
        loop {
            let on = match () {
                () if self.eat_word("including") => true,
                () if self.eat_word("excluding") => false,
                () => return Ok(like),
            };
            match self.word().as_str() {
                "comments" => like.comments = on,
                "constraints" => like.constraints = on,
                "defaults" => like.defaults = on,
                "generated" => like.generated = on,
                "identity" => like.identity = on,
                "indexes" => like.indexes = on,
                "statistics" => like.statistics = on,
                "compression" => like.compression = on,
                "storage" => like.storage = on,
                "all" => {
                    like = Like {
                        comments: on,
                        constraints: on,
                        defaults: on,
                        generated: on,
                        identity: on,
                        indexes: on,
                        statistics: on,
                        storage: on,
                        compression: on,
                        ..like
                    }
                }
                _ => return self.fail(),
            }
            self.bump();
        }
    }

    /// What stands behind the closing parenthesis.
    /// The name of a new relation. A temporary one is in the session's own schema.
    pub(crate) fn new_relation(&mut self, temporary: bool) -> Result<Name> {
        let position = self.position();
        let mut name = self.qualified_name()?;
        match &name.parts[..] {
            [_] if temporary => name.parts.insert(0, TEMPORARY.to_owned()),
            [schema, _] if temporary && schema != TEMPORARY => {
                let message = "cannot create temporary relation in non-temporary schema";
                return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(position));
            }
            _ => {}
        }
        Ok(name)
    }

    /// `ON COMMIT {PRESERVE ROWS | DELETE ROWS | DROP}`
    fn on_commit(&mut self, table: &Name) -> Result<OnCommit> {
        let position = self.position();
        self.expect_words(&["on", "commit"])?;
        let on_commit = match self.word().as_str() {
            "drop" => OnCommit::Drop,
            "delete" => OnCommit::DeleteRows,
            "preserve" => OnCommit::PreserveRows,
            _ => return self.fail(),
        };
        self.bump();
        if on_commit != OnCommit::Drop {
            self.expect_word("rows")?;
        }
        if table.parts[0] != TEMPORARY {
            let message = "ON COMMIT can only be used on temporary tables";
            return Err(Error::new(SqlState::INVALID_TABLE_DEFINITION, message).at(position));
        }
        Ok(on_commit)
    }

    fn table_options(&mut self, table: &mut CreateTable) -> Result<()> {
        while !self.at_element_end() {
            let position = self.position();
            let word = self.word();
            match word.as_str() {
                "with" => table.parameters = self.storage_parameters()?,
                "without" => {
                    self.expect_words(&["without", "oids"])?;
                }
                "tablespace" => {
                    self.bump();
                    self.name()?;
                }
                "using" => {
                    self.bump();
                    let method = self.name()?;
                    if method != "heap" {
                        let what = format!("access method {method}");
                        table.unsupported.get_or_insert((what, position));
                    }
                }
                "on" if self.at_words(&["on", "commit"]) => table.on_commit = self.on_commit(&table.name)?,
                "partition" if table.partition_by.is_none() => {
                    table.partition_by = Some(self.partition_by()?);
                }
                "inherits" => {
                    table.unsupported.get_or_insert(("INHERITS".to_owned(), position));
                    self.skip_to_end()?;
                }
                _ => return self.fail(),
            }
        }
        Ok(())
    }

    /// `WITH (name = value, ...)`
    pub(crate) fn storage_parameters(&mut self) -> Result<Vec<Parameter>> {
        self.expect_word("with")?;
        self.set_of_parameters()
    }

    /// `(name = value, ...)`
    pub(crate) fn set_of_parameters(&mut self) -> Result<Vec<Parameter>> {
        self.paren_list(|p| {
            let mut name = p.label()?;
            while p.eat(Kind::Dot) {
                name = format!("{name}.{}", p.label()?);
            }
            let value = match p.eat_operator("=") {
                true => Some(p.parameter_value()?),
                false => None,
            };
            Ok(Parameter { name, value })
        })
    }

    fn parameter_value(&mut self) -> Result<String> {
        let minus = self.eat_operator("-");
        match self.peek().kind {
            Kind::Integer | Kind::Decimal => {
                let number = self.bump().text(self.text);
                Ok(if minus { format!("-{number}") } else { number.to_owned() })
            }
            _ if minus => self.fail(),
            _ if self.at_string() => self.string(),
            _ => self.label(),
        }
    }

    /// `name type constraints`
    pub(crate) fn column_def(&mut self) -> Result<ColumnDef> {
        let position = self.position();
        let name = self.name()?;
        let ty = self.type_name()?;
        let mut constraints: Vec<Constraint> = Vec::new();
        let mut told = ColumnTold::default();
        let mut unknown_compression = None;
        loop {
            if self.eat_word("collate") {
                told.collation = self.byte_collation()?;
            } else if self.at_any(&["storage", "compression"]) {
                let compression = self.word().as_str() == "compression";
                self.bump();
                let value = self.label()?;
                match compression {
                    true => {
                        told.compression = ColumnTold::compression_letter(&value);
                        let unknown = told.compression.is_none() && value != "default";
                        unknown_compression = unknown.then_some(value);
                    }
                    false => told.storage = ColumnTold::storage_letter(&value),
                }
            } else if let Some(constraint) = self.column_constraint()? {
                if constraint.not_valid {
                    self.seek(self.index() - 1);
                    return self.fail();
                }
                constraints.push(constraint);
            } else {
                let told = (told != ColumnTold::default()).then(|| Box::new(told));
                return Ok(ColumnDef { name, ty, constraints, told, unknown_compression, position });
            }
        }
    }

    /// The collation of a column or key: only the order of bytes. By which name, if it is not that of the database.
    pub(crate) fn byte_collation(&mut self) -> Result<Option<String>> {
        let name = self.qualified_name()?;
        let last = name.parts.last().expect("a name has a part");
        if BYTE_ORDER.contains(&last.as_str()) {
            return Ok(Some(last.clone()).filter(|name| name != "default"));
        }
        self.unsupported(&format!("collation \"{last}\""), name.position)
    }

    fn constraint_name(&mut self) -> Result<Option<String>> {
        if self.eat_word("constraint") { Ok(Some(self.name()?)) } else { Ok(None) }
    }

    pub(crate) fn column_constraint(&mut self) -> Result<Option<Constraint>> {
        let position = self.position();
        let name = self.constraint_name()?;
        let word = self.word();
        let kind = match word.as_str() {
            "not" if self.at_word_ahead(1, "null") => {
                self.bump();
                self.bump();
                self.eat_words(&["no", "inherit"]);
                ConstraintKind::NotNull
            }
            "null" => {
                self.bump();
                ConstraintKind::Null
            }
            "default" => {
                self.bump();
                let (expr, text) = self.expr_with_text(true)?;
                ConstraintKind::Default { expr, text }
            }
            "generated" => self.generated()?,
            "primary" => {
                self.expect_words(&["primary", "key"])?;
                self.index_options_behind_columns()?;
                ConstraintKind::PrimaryKey { columns: Vec::new(), included: Vec::new() }
            }
            "unique" => {
                self.bump();
                let equal_nulls = self.equal_nulls();
                self.index_options_behind_columns()?;
                ConstraintKind::Unique { columns: Vec::new(), equal_nulls, included: Vec::new() }
            }
            "check" => self.check()?,
            "references" => self.references(Vec::new(), position)?,
            _ if name.is_some() => return self.fail(),
            _ => return Ok(None),
        };
        let (kind, not_valid, check) = self.constraint_attributes(kind)?;
        Ok(Some(Constraint { name, kind, not_valid, check, position }))
    }

    /// An expression with its text.
    pub(crate) fn expr_with_text(&mut self, restricted: bool) -> Result<(Expr, String)> {
        let start = self.position();
        let expr = if restricted { self.restricted_expr()? } else { self.expr()? };
        Ok((expr, self.text_since(start).to_owned()))
    }

    /// A call and its like, with its text.
    pub(crate) fn operand_with_text(&mut self) -> Result<(Expr, String)> {
        let start = self.position();
        let expr = self.operand()?;
        Ok((expr, self.text_since(start).to_owned()))
    }

    /// `GENERATED ALWAYS | BY DEFAULT AS IDENTITY [(options)]`, `GENERATED ALWAYS AS (e) STORED`
    pub(crate) fn generated(&mut self) -> Result<ConstraintKind> {
        self.bump();
        let always = self.eat_word("always");
        if !always {
            self.expect_words(&["by", "default"])?;
        }
        self.expect_word("as")?;
        if always && self.at_kind(Kind::LeftParen) {
            self.bump();
            let (expr, text) = self.expr_with_text(false)?;
            self.expect(Kind::RightParen)?;
            self.expect_word("stored")?;
            return Ok(ConstraintKind::GeneratedStored { expr, text });
        }
        self.expect_word("identity")?;
        let options = match self.eat(Kind::LeftParen) {
            true => {
                let options = self.sequence_options()?;
                self.expect(Kind::RightParen)?;
                options
            }
            false => Default::default(),
        };
        Ok(ConstraintKind::Identity { always, options })
    }

    /// Further parentheses around all of a condition, as definitions of constraints are printed with, are left out: how
    /// many there are to be closed.
    fn printed_parentheses(&mut self) -> usize {
        const PRINTED_WITH_MAX: usize = 4;
        let mut more = 0;
        while more < PRINTED_WITH_MAX
            && self.at_kind(Kind::LeftParen)
            && !self.at_paren_query()
            && let Some(close) = self.closing(self.index())
            && self.peek_at(close + 1 - self.index()).kind == Kind::RightParen
        {
            self.bump();
            more += 1;
        }
        more
    }

    fn check(&mut self) -> Result<ConstraintKind> {
        self.bump();
        self.expect(Kind::LeftParen)?;
        let more = self.printed_parentheses();
        let (expr, text) = self.expr_with_text(false)?;
        for _ in 0..=more {
            self.expect(Kind::RightParen)?;
        }
        self.eat_words(&["no", "inherit"]);
        Ok(ConstraintKind::Check { expr, text })
    }

    /// `NULLS [NOT] DISTINCT` of UNIQUE: whether NULLs are equal.
    fn equal_nulls(&mut self) -> bool {
        if self.eat_words(&["nulls", "not", "distinct"]) {
            return true;
        }
        self.eat_words(&["nulls", "distinct"]);
        false
    }

    /// What may follow PRIMARY KEY and UNIQUE and their columns.
    fn index_options_behind_columns(&mut self) -> Result<()> {
        if self.at_word("with") {
            self.storage_parameters()?;
        }
        if self.eat_words(&["using", "index", "tablespace"]) {
            self.name()?;
        }
        Ok(())
    }

    /// `REFERENCES parent [(columns)] [MATCH ..] [ON DELETE ..] [ON UPDATE ..]`
    fn references(&mut self, columns: Vec<String>, position: Position) -> Result<ConstraintKind> {
        self.expect_word("references")?;
        let parent = self.qualified_name()?;
        let parent_columns = match self.at_kind(Kind::LeftParen) {
            true => self.paren_names()?,
            false => Vec::new(),
        };
        let mut match_full = false;
        if self.eat_word("match") {
            match_full = self.eat_word("full");
            if !match_full && !self.eat_word("simple") {
                return self.unsupported("MATCH PARTIAL", position);
            }
        }
        let (mut on_delete, mut on_update) = (None, None);
        let mut set_columns = Vec::new();
        loop {
            let delete = match () {
                () if self.eat_words(&["on", "delete"]) => true,
                () if self.eat_words(&["on", "update"]) => false,
                () => break,
            };
            let action = self.referential_action()?;
            if action.is_some_and(ReferentialAction::sets) && self.at_kind(Kind::LeftParen) {
                if !delete {
                    let message = "a column list with SET NULL is only supported for ON DELETE actions";
                    return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(self.position()));
                }
                set_columns = self.paren_names()?;
            }
            *if delete { &mut on_delete } else { &mut on_update } = action;
        }
        let check = CheckTime::NotDeferrable;
        Ok(ConstraintKind::ForeignKey {
            columns,
            parent,
            parent_columns,
            match_full,
            on_delete,
            set_columns,
            on_update,
            check,
        })
    }

    /// None: NO ACTION, which is what there is without a word of it.
    fn referential_action(&mut self) -> Result<Option<ReferentialAction>> {
        let action = if self.eat_words(&["no", "action"]) {
            return Ok(None);
        } else if self.eat_word("restrict") {
            ReferentialAction::Restrict
        } else if self.eat_word("cascade") {
            ReferentialAction::Cascade
        } else if self.eat_words(&["set", "null"]) {
            ReferentialAction::SetNull
        } else if self.eat_words(&["set", "default"]) {
            ReferentialAction::SetDefault
        } else {
            return self.fail();
        };
        Ok(Some(action))
    }

    /// Whether rows that are there may violate a constraint, and when it is checked.
    fn constraint_attributes(
        &mut self,
        mut kind: ConstraintKind,
    ) -> Result<(ConstraintKind, bool, CheckTime)> {
        let (mut deferrable, mut deferred) = (None, None);
        let mut not_valid = false;
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
            } else if !not_valid && self.eat_words(&["not", "valid"]) {
                let what = match kind {
                    ConstraintKind::Check { .. } | ConstraintKind::ForeignKey { .. } => {
                        not_valid = true;
                        continue;
                    }
                    ConstraintKind::PrimaryKey { .. } => "PRIMARY KEY",
                    ConstraintKind::Exclude(_) => "EXCLUDE",
                    _ => "UNIQUE",
                };
                let message = format!("{what} constraints cannot be marked NOT VALID");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
            } else if self.at_words(&["not", "enforced"]) {
                return self.unsupported("NOT ENFORCED", position);
            } else {
                break;
            };
            if slot.replace(value).is_some() {
                return Err(self.syntax_error("conflicting constraint properties", position));
            }
        }
        let wanted = match (deferrable, deferred) {
            (Some(false), Some(true)) => {
                let message = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
                return Err(self.syntax_error(message, begin));
            }
            (_, Some(true)) => CheckTime::Deferred,
            (Some(true), _) => CheckTime::Deferrable,
            _ => CheckTime::NotDeferrable,
        };
        match &mut kind {
            ConstraintKind::ForeignKey { check, .. } => *check = wanted,
            _ if wanted == CheckTime::NotDeferrable => {}
            ConstraintKind::PrimaryKey { .. }
            | ConstraintKind::Unique { equal_nulls: false, .. }
            | ConstraintKind::Exclude(_) => {}
            ConstraintKind::Unique { .. } => {
                return self.unsupported("a deferrable constraint with NULLS NOT DISTINCT", begin);
            }
            ConstraintKind::UsingIndex { .. } => {
                return self.unsupported("a deferrable constraint USING INDEX", begin);
            }
            ConstraintKind::Unsupported(_) => {}
            _ => return Err(self.syntax_error("misplaced DEFERRABLE clause", begin)),
        }
        Ok((kind, not_valid, wanted))
    }

    /// Whether a constraint of the table comes next, not a column.
    pub(crate) fn at_table_constraint(&self) -> bool {
        match self.word().as_str() {
            "constraint" | "primary" | "unique" | "check" | "foreign" => true,
            "exclude" => {
                self.peek_at(1).kind == Kind::LeftParen
                    || self.at_word_ahead(1, "using") && self.at_name_ahead(2)
            }
            _ => false,
        }
    }

    /// `[CONSTRAINT name] PRIMARY KEY (..) | UNIQUE (..) | CHECK (..) | FOREIGN KEY ..`
    pub(crate) fn table_constraint(&mut self) -> Result<Constraint> {
        let position = self.position();
        let name = self.constraint_name()?;
        let word = self.word();
        let kind = match word.as_str() {
            "primary" => {
                self.expect_words(&["primary", "key"])?;
                match self.using_index()? {
                    Some(index) => ConstraintKind::UsingIndex { primary: true, index },
                    None => {
                        let (columns, included) = self.key_columns()?;
                        ConstraintKind::PrimaryKey { columns, included }
                    }
                }
            }
            "unique" => {
                self.bump();
                let equal_nulls = self.equal_nulls();
                match self.using_index()? {
                    Some(index) => ConstraintKind::UsingIndex { primary: false, index },
                    None => {
                        let (columns, included) = self.key_columns()?;
                        ConstraintKind::Unique { columns, equal_nulls, included }
                    }
                }
            }
            "check" => self.check()?,
            "foreign" => {
                self.expect_words(&["foreign", "key"])?;
                let columns = self.paren_names()?;
                self.references(columns, position)?
            }
            "exclude" => {
                self.bump();
                self.exclude()?
            }
            _ => return self.fail(),
        };
        let (kind, not_valid, check) = self.constraint_attributes(kind)?;
        Ok(Constraint { name, kind, not_valid, check, position })
    }

    /// What stands behind EXCLUDE.
    fn exclude(&mut self) -> Result<ConstraintKind> {
        let method = match self.at_word("using") {
            true => {
                let position = self.bump().start;
                Some((self.name()?, position))
            }
            false => None,
        };
        let elements = self.paren_list(Self::exclude_element)?;
        if self.at_word("include") {
            return self.unsupported("INCLUDE", self.position());
        }
        self.index_options_behind_columns()?;
        let predicate = match self.eat_word("where") {
            true => {
                self.expect(Kind::LeftParen)?;
                let more = self.printed_parentheses();
                let predicate = self.expr_with_text(false)?;
                for _ in 0..=more {
                    self.expect(Kind::RightParen)?;
                }
                Some(predicate)
            }
            false => None,
        };
        Ok(ConstraintKind::Exclude(Box::new(Exclude { method, elements, predicate })))
    }

    fn exclude_element(&mut self) -> Result<ExcludeElement> {
        let (item, position, order) = self.index_column()?;
        if order != KeyOrder::default() {
            return self.unsupported("an order or operator class in EXCLUDE", position);
        }
        self.expect_word("with")?;
        let qualified = self.at_word("operator") && self.peek_at(1).kind == Kind::LeftParen;
        if qualified {
            self.bump();
            self.bump();
            while self.at_name() {
                self.name()?;
                self.expect(Kind::Dot)?;
            }
        }
        if !self.at_kind(Kind::Operator) {
            return self.fail();
        }
        let operator_position = self.position();
        let operator = self.token_text().to_owned();
        self.bump();
        if qualified {
            self.expect(Kind::RightParen)?;
        }
        Ok(ExcludeElement { item, position, operator, operator_position })
    }

    /// `USING INDEX name`
    fn using_index(&mut self) -> Result<Option<String>> {
        if self.eat_words(&["using", "index"]) { Ok(Some(self.name()?)) } else { Ok(None) }
    }

    /// Columns of PRIMARY KEY and UNIQUE, and of their INCLUDE.
    fn key_columns(&mut self) -> Result<(Vec<String>, Vec<String>)> {
        if self.at_words(&["using", "index"]) {
            return self.unsupported("a constraint made of an existing index", self.position());
        }
        let columns = self.paren_names()?;
        let included = if self.eat_word("include") { self.paren_names()? } else { Vec::new() };
        self.index_options_behind_columns()?;
        Ok((columns, included))
    }
}
