//! GRANT and REVOKE.

use planaria_base::Result;

use super::lex::Kind;
use super::parser::Parser;
use crate::ast::{GrantStatement, GrantTarget, Position, RoutineRef, StatementKind};

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
        let words = match self.at_word("all") {
            true => {
                self.bump();
                self.eat_word("privileges");
                if self.at_kind(Kind::LeftParen) {
                    return self.unsupported("a privilege on columns", self.position());
                }
                None
            }
            false => Some(self.list(Self::privilege)?),
        };
        let to = if revoke { "from" } else { "to" };
        if words.is_some() && !option && (admin || !self.at_word("on")) {
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
        self.expect_word(to)?;
        let grantees = self.list(|p| {
            // PostgreSQL 7 wrote GROUP in front of groups.
            if p.at_word("group") && p.at_name_ahead(1) {
                p.bump();
            }
            p.role_spec()
        })?;
        if !revoke && self.eat_words(&["with", "grant", "option"]) {
            option = true;
        }
        let granted_by = self.granted_by()?;
        let cascade = revoke && self.cascade();
        let upper = |words: Vec<(String, Position)>| {
            words.into_iter().map(|(word, at)| (word.to_ascii_uppercase(), at)).collect()
        };
        let privileges = words.map(upper);
        let grant = GrantStatement { revoke, privileges, target, grantees, option, granted_by, cascade };
        Ok(StatementKind::Grant(Box::new(grant)))
    }

    /// A privilege, or a role to be granted.
    fn privilege(&mut self) -> Result<(String, Position)> {
        let position = self.position();
        let name = match self.at_any(&["select", "references", "create"]) {
            true => self.label()?,
            false => self.unreserved()?,
        };
        if self.at_kind(Kind::LeftParen) {
            return self.unsupported("a privilege on columns", self.position());
        }
        Ok((name, position))
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
            "domain" | "foreign" | "language" | "large" | "parameter" | "tablespace" | "type" if named => {
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
        Ok(RoutineRef { name, types, procedure })
    }
}
