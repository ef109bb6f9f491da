//! Statements that a running program makes: EXECUTE.

use crate::engine::program::kind::is_program;
use crate::engine::schema_version::SchemaVersion;
use planaria_base::{Error, Result, RoleId, SqlState, Type};
use planaria_exec::Code;
use planaria_sql::lower::ParamTypes;
use planaria_syntax::parse;
use std::sync::Arc;

/// SQL text made by a running program.
pub(crate) fn compile_dynamic(
    schema: &SchemaVersion,
    role: RoleId,
    text: &str,
    arguments: &[Type],
) -> Result<Arc<Code>> {
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
    if !is_program(&statement) {
        return Err(Error::unsupported(
            "EXECUTE of a schema change or transaction control",
            "Run it outside of the procedure.",
        ));
    }
    let types = ParamTypes(arguments.iter().cloned().map(Some).collect());
    let (_, code, _) = schema.compile_for(role, &statement, &types)?;
    Ok(Arc::new(code))
}
