//! Statements named in SQL: PREPARE, EXECUTE, DEALLOCATE.

use crate::engine::program::kind::is_program;
use crate::session::StatementResult;
use crate::session::answer::done;
use crate::session::core::SessionCore;
use crate::session::prepared::PreparedStatement;
use planaria_base::{Error, Result, SqlState};
use planaria_sql::lower::ParamTypes;
use planaria_syntax::ast::{self, Statement, StatementKind};
use std::sync::Arc;

impl SessionCore {
    pub(crate) fn prepare_named(
        &mut self,
        name: &str,
        types: &[ast::TypeName],
        statement: &Statement,
        text: &str,
    ) -> Result<StatementResult> {
        if self.statements.named.contains_key(name) {
            return Err(Error::new(
                SqlState::DUPLICATE_PREPARED_STATEMENT,
                format!("prepared statement \"{name}\" already exists"),
            ));
        }
        if !is_program(statement) {
            return Err(Error::new(
                SqlState::SYNTAX_ERROR,
                "only queries and changes of rows can be prepared",
            )
            .at(statement.position));
        }
        let mut declared = Vec::new();
        for ty in types {
            match &ty.kind {
                ast::TypeNameKind::Known(ty) => declared.push(Some(ty.clone())),
                _ => {
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, "type does not exist").at(ty.position));
                }
            }
        }
        let prepared = self.analyse_declared(statement.clone(), text, ParamTypes(declared))?;
        self.statements.named.insert(name.to_owned(), prepared);
        Ok(done("PREPARE"))
    }

    pub(crate) fn execute_named(
        &mut self,
        name: &str,
        args: &[ast::Expr],
        text: &str,
    ) -> Result<StatementResult> {
        let prepared = self.named_statement(name)?;
        let mut values = Vec::new();
        if !args.is_empty() {
            let items = args.iter().map(|e| ast::SelectItem { expr: e.clone(), alias: None }).collect();
            let select = ast::Select { items, ..Default::default() };
            let query = ast::Query::new(ast::QueryBody::Select(Box::new(select)), 0);
            let kind = StatementKind::Query(Box::new(query));
            let select = self.analyse(Statement { position: 0, end: 0, kind }, text, &())?;
            let answer = self.run_program(&select, &())?;
            values = answer.rows.into_iter().flatten().next().map(|r| r.values).unwrap_or_default();
        }
        self.run_program(&prepared, &values)
    }

    /// The statement of that name; 26000 where there is none.
    pub(crate) fn named_statement(&self, name: &str) -> Result<Arc<PreparedStatement>> {
        self.statements.named.get(name).cloned().ok_or_else(|| no_statement(name))
    }

    pub(crate) fn deallocate(&mut self, name: Option<&str>) -> Result<StatementResult> {
        match name {
            None => self.statements.named.clear(),
            Some(name) => {
                self.statements.named.remove(name).ok_or_else(|| no_statement(name))?;
            }
        }
        Ok(done("DEALLOCATE"))
    }
}

/// 26000
fn no_statement(name: &str) -> Error {
    Error::new(SqlState::INVALID_SQL_STATEMENT_NAME, format!("prepared statement \"{name}\" does not exist"))
}
