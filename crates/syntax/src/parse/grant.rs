//! GRANT and REVOKE; ALTER DEFAULT PRIVILEGES.

use planaria_base::{Error, Result, SqlState};

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{
    ColumnPrivilege, DefaultsFor, DefaultsKind, GrantStatement, GrantTarget, Position, RoutineRef,
    StatementKind,
};

/// Privileges as the syntax tree has them.
fn upper(words: Option<Vec<(String, Position)>>) -> Option<Vec<(String, Position)>> {
    words.map(|words| words.into_iter().map(|(word, at)| (word.to_ascii_uppercase(), at)).collect())
}

impl Parser<'_> {
    /// `GRANT ..` and `REVOKE ..`
    pub(crate) fn grant(&mut self) -> Result<StatementKind> {
        let revoke = self.at_word("revoke");
        self.bump();
        let mut option = false;
        let mut admin = false;
        if revoke && self.at_words(&["grant", "option", "for"]) {
            self.expect_words(&["grant", "option", "for"])?;
            option = true;
        } else if revoke && self.at_words(&["admin", "option", "for"]) {
            self.expect_words(&["admin", "option", "for"])?;
            admin = true;
        }
        let (words, on_columns) = self.privileges()?;
        let to = if revoke { "from" } else { "to" };
        if words.is_some() && !option && (admin || !self.at_word("on")) {
            if !on_columns.is_empty() {
                let message = "column names cannot be included in GRANT/REVOKE ROLE";
                return Err(Error::new(SqlState::INVALID_GRANT_OPERATION, message));
            }
            self.expect_word(to)?;
            let members = self.role_list()?;
            if !revoke && self.eat_words(&["with", "admin", "option"]) {
                admin = true;
            }
            let granted_by = self.granted_by()?;
            let cascade = revoke && self.cascade();
            let roles = words.unwrap_or_default();
            return Ok(StatementKind::GrantRole { revoke, roles, members, admin, granted_by, cascade });
        }
        self.expect_word("on")?;
        let target = self.grant_target()?;
        self.grantees(GrantStatement {
            revoke,
            privileges: upper(words),
            on_columns,
            target,
            grantees: Vec::new(),
            option,
            granted_by: None,
            cascade: false,
        })
    }

    /// `TO | FROM role, .. [WITH GRANT OPTION] [GRANTED BY role] [CASCADE | RESTRICT]`
    fn grantees(&mut self, mut grant: GrantStatement) -> Result<StatementKind> {
        self.expect_word(if grant.revoke { "from" } else { "to" })?;
        grant.grantees = self.list(|p| {
            // PostgreSQL 7 wrote GROUP in front of groups.
            if p.at_word("group") && p.at_name_ahead(1) {
                p.bump();
            }
            p.role_spec()
        })?;
        if !grant.revoke && self.eat_words(&["with", "grant", "option"]) {
            grant.option = true;
        }
        let defaults = matches!(grant.target, GrantTarget::Defaults(_));
        grant.granted_by = if defaults { None } else { self.granted_by()? };
        grant.cascade = grant.revoke && self.cascade();
        Ok(StatementKind::Grant(Box::new(grant)))
    }

    /// `ALTER DEFAULT PRIVILEGES [FOR ROLE ..] [IN SCHEMA ..] GRANT | REVOKE ..`, ALTER taken.
    pub(crate) fn default_privileges(&mut self) -> Result<StatementKind> {
        self.expect_words(&["default", "privileges"])?;
        let (mut roles, mut schemas) = (Vec::new(), Vec::new());
        loop {
            if self.eat_words(&["for", "role"]) || self.eat_words(&["for", "user"]) {
                roles.extend(self.role_list()?);
            } else if self.eat_words(&["in", "schema"]) {
                schemas.extend(self.list(Self::placed_name)?);
            } else {
                break;
            }
        }
        let revoke = self.at_word("revoke");
        if !revoke && !self.at_word("grant") {
            return self.fail();
        }
        self.bump();
        let option = revoke && self.eat_words(&["grant", "option", "for"]);
        let (words, on_columns) = self.privileges()?;
        self.expect_word("on")?;
        let kind = match self.word().as_str() {
            "tables" => DefaultsKind::Tables,
            "sequences" => DefaultsKind::Sequences,
            "functions" | "routines" => DefaultsKind::Functions,
            "types" => DefaultsKind::Types,
            "schemas" => DefaultsKind::Schemas,
            _ => return self.fail(),
        };
        self.bump();
        self.grantees(GrantStatement {
            revoke,
            privileges: upper(words),
            on_columns,
            target: GrantTarget::Defaults(DefaultsFor { kind, roles, schemas }),
            grantees: Vec::new(),
            option,
            granted_by: None,
            cascade: false,
        })
    }

    /// `ALL [PRIVILEGES]`, which is `None`, or a list of privileges; those on columns apart.
    #[allow(clippy::type_complexity)]
    fn privileges(&mut self) -> Result<(Option<Vec<(String, Position)>>, Vec<ColumnPrivilege>)> {
        if self.at_word("all") {
            self.bump();
            self.eat_word("privileges");
            if !self.at_kind(Kind::LeftParen) {
                return Ok((None, Vec::new()));
            }
            let columns = self.paren_list(Self::placed_name)?;
            return Ok((Some(Vec::new()), vec![ColumnPrivilege { word: None, columns }]));
        }
        let (mut words, mut on_columns) = (Vec::new(), Vec::new());
        for ((word, position), columns) in self.list(Self::privilege)? {
            match columns {
                Some(columns) => {
                    on_columns.push(ColumnPrivilege { word: Some(word.to_ascii_uppercase()), columns });
                }
                None => words.push((word, position)),
            }
        }
        Ok((Some(words), on_columns))
    }

    /// A privilege, perhaps on columns, or a role to be granted.
    #[allow(clippy::type_complexity)]
    fn privilege(&mut self) -> Result<((String, Position), Option<Vec<(String, Position)>>)> {
        let position = self.position();
        let name = match self.at_any(&["select", "references", "create"]) {
            true => self.label()?,
            false => self.unreserved()?,
        };
        let columns = match self.at_kind(Kind::LeftParen) {
            true => Some(self.paren_list(Self::placed_name)?),
            false => None,
        };
        Ok(((name, position), columns))
    }

    fn granted_by(&mut self) -> Result<Option<crate::ast::RoleSpec>> {
        if self.eat_words(&["granted", "by"]) { self.role_spec().map(Some) } else { Ok(None) }
    }

    fn grant_target(&mut self) -> Result<GrantTarget> {
        let position = self.position();
        let word = self.word();
        if word.as_str() == "all" && self.at_word_ahead(2, "in") {
            self.bump();
            let what = self.word();
            self.bump();
            self.expect_words(&["in", "schema"])?;
            let schemas = self.list(Self::placed_name)?;
            return Ok(match what.as_str() {
                "tables" => GrantTarget::AllTables(schemas),
                "sequences" => GrantTarget::AllSequences(schemas),
                "functions" => GrantTarget::AllRoutines(Some(false), schemas),
                "procedures" => GrantTarget::AllRoutines(Some(true), schemas),
                "routines" => GrantTarget::AllRoutines(None, schemas),
                _ => {
                    self.seek(self.index() - 1);
                    return self.fail();
                }
            });
        }
        // These words name a kind of object only in front of a name.
        let named = self.at_name_ahead(1) || self.at_function_name_ahead(1);
        Ok(match word.as_str() {
            "table" => {
                self.bump();
                GrantTarget::Relations(self.list(Self::qualified_name)?)
            }
            "sequence" if named => {
                self.bump();
                GrantTarget::Sequences(self.list(Self::qualified_name)?)
            }
            "function" if named => GrantTarget::Routines(self.routine_refs(Some(false))?),
            "procedure" if named => GrantTarget::Routines(self.routine_refs(Some(true))?),
            "routine" if named => GrantTarget::Routines(self.routine_refs(None)?),
            "schema" if named => {
                self.bump();
                GrantTarget::Schemas(self.list(Self::placed_name)?)
            }
            "database" if named => {
                self.bump();
                GrantTarget::Databases(self.list(Self::placed_name)?)
            }
            "type" | "domain" if named => {
                self.bump();
                GrantTarget::Types(self.list(Self::qualified_name)?, word.as_str() == "domain")
            }
            "language" if named => {
                self.bump();
                GrantTarget::Languages(self.list(Self::placed_name)?)
            }
            "foreign" | "large" | "parameter" | "tablespace" if named => {
                let what = format!("GRANT on a {}", word.as_str());
                return self.unsupported(&what, position);
            }
            _ => GrantTarget::Relations(self.list(Self::qualified_name)?),
        })
    }

    /// A name and its place.
    fn placed_name(&mut self) -> Result<(String, Position)> {
        let position = self.position();
        Ok((self.name()?, position))
    }

    /// `FUNCTION f(types), ...`, with the word before them.
    fn routine_refs(&mut self, procedure: Option<bool>) -> Result<Vec<RoutineRef>> {
        self.bump();
        self.list(|p| p.routine_ref(procedure))
    }

    /// `f` or `f(types)`
    pub(crate) fn routine_ref(&mut self, procedure: Option<bool>) -> Result<RoutineRef> {
        let name = self.qualified_function()?;
        let types = match self.at_kind(Kind::LeftParen) {
            true => Some(self.type_list()?),
            false => None,
        };
        Ok(RoutineRef { name, types, procedure, aggregate: false })
    }
}
