//! Statements that a running program makes: EXECUTE.

use crate::engine::program::kind::is_program;
use crate::engine::program::refusal::transaction_executed;
use crate::engine::schema_version::SchemaVersion;
use planaria_base::{Error, Result, RoleId, SqlState, Type};
use planaria_exec::{Code, StepProgram};
use planaria_ir::Output;
use planaria_sql::lower::{self, ParamTypes};
use planaria_syntax::ast::{Statement, StatementKind};
use planaria_syntax::parse;
use std::any::Any;
use std::sync::Arc;

/// SQL text made by a running program. `tables`: what it may call the last arguments, which are rows.
pub(crate) fn compile_dynamic(
    schema: &SchemaVersion,
    role: RoleId,
    text: &str,
    arguments: &[Type],
    tables: &[String],
) -> Result<Arc<Code>> {
    let statement = among(one_statement(text)?, text, tables);
    let types = ParamTypes(arguments.iter().cloned().map(Some).collect());
    let (_, code, _) = schema.compile_for(role, &statement, &types)?;
    Ok(Arc::new(code))
}

/// The same of a query that a cursor is opened for, with its columns.
pub(crate) fn compile_query(
    schema: &SchemaVersion,
    role: RoleId,
    text: &str,
    arguments: &[Type],
) -> Result<(Vec<Output>, Arc<Code>)> {
    let statement = one_statement(text)?;
    if !matches!(statement.kind, StatementKind::Query(_)) {
        let tag = match &statement.kind {
            StatementKind::Insert(s) if s.returning.is_empty() => "INSERT",
            StatementKind::Update(s) if s.returning.is_empty() => "UPDATE",
            StatementKind::Delete(s) if s.returning.is_empty() => "DELETE",
            _ => {
                return Err(Error::unsupported("a cursor for this statement", "Open it for a SELECT."));
            }
        };
        let message = format!("cannot open {tag} query as cursor");
        return Err(Error::new(SqlState::new("42P11"), message));
    }
    let types = ParamTypes(arguments.iter().cloned().map(Some).collect());
    let (program, code, _) = schema.compile_for(role, &statement, &types)?;
    Ok((program.outputs, Arc::new(code)))
}

/// A statement that can read its last parameters as tables, where its text may name them.
pub(crate) fn among(statement: Statement, text: &str, tables: &[String]) -> Statement {
    let named = |name: &String| lower::mentions(text, name).then(|| name.clone());
    let tables: Vec<Option<String>> = tables.iter().map(named).collect();
    if tables.is_empty() {
        return statement;
    }
    let (position, end) = (statement.position, statement.end);
    Statement { kind: StatementKind::Among(Box::new(statement), tables), position, end }
}

/// A statement that was not made of text, and the types of its parameters: how a step comes to the host.
pub(crate) struct Wanted {
    pub(crate) statement: Statement,
    pub(crate) types: ParamTypes,
}

/// The program of a step.
pub(crate) fn compile_step(schema: &SchemaVersion, role: RoleId, step: &dyn Any) -> Result<StepProgram> {
    let wanted = step.downcast_ref::<Wanted>().ok_or_else(|| Error::internal("a step of another's"))?;
    let (program, code, _) = schema.compile_for(role, &wanted.statement, &wanted.types)?;
    Ok((program.outputs.into_iter().map(|o| (o.name, o.ty)).collect(), Arc::new(code)))
}

fn one_statement(text: &str) -> Result<Statement> {
    let mut statements = parse::statements(text)?;
    let statement = match (statements.pop(), statements.is_empty()) {
        (Some(statement), true) => statement,
        (None, _) => {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "EXECUTE of an empty statement"));
        }
        _ => {
            return Err(Error::unsupported(
                "EXECUTE of several statements",
                "Execute them one after another.",
            ));
        }
    };
    if let Some(query) = lower::shown(&statement)? {
        return Ok(query);
    }
    if matches!(statement.kind, StatementKind::Transaction(_)) {
        return Err(transaction_executed());
    }
    let more = matches!(statement.kind, StatementKind::Set { .. } | StatementKind::Truncate { .. });
    if !is_program(&statement) && !more {
        return Err(Error::unsupported(
            "EXECUTE of a schema change or transaction control",
            "Run it outside of the procedure.",
        ));
    }
    Ok(statement)
}
