//! Statements named in SQL: PREPARE, EXECUTE, DEALLOCATE.

use crate::engine::program::kind::is_program;
use crate::session::StatementResult;
use crate::session::answer::done;
use crate::session::core::SessionCore;
use crate::session::prepared::{Named, PreparedStatement};
use planaria_base::cast::{CastContext, cast_allowed};
use planaria_base::datetime::Forms;
use planaria_base::text_io::quote_literal;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_catalog::oids::Object;
use planaria_ir::ProgramKind;
use planaria_sql::lower::{Lowerer, ParamTypes};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{self, Statement, StatementKind, TypeNameKind};
use planaria_syntax::parse;
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
        let schema = self.schema();
        let (mut declared, mut domains) = (Vec::new(), Vec::new());
        for ty in types {
            let lowerer = Lowerer::new(&schema.catalog, "type", ProgramKind::Statement);
            let of = lowerer.declared(ty)?;
            domains.push(of.domain.map(|_| ty.clone()));
            declared.push(Some(of.ty));
        }
        let mut prepared = self.analyse_declared(statement.clone(), text, ParamTypes(declared))?;
        if let Some(prepared) = Arc::get_mut(&mut prepared) {
            prepared.domains = domains;
        }
        self.give_name(name, prepared, true);
        Ok(done("PREPARE"))
    }

    pub(crate) fn execute_named(
        &mut self,
        name: &str,
        args: &[ast::Expr],
        text: &str,
    ) -> Result<StatementResult> {
        let prepared = self.named_statement(name)?;
        let (values, _) = self.values_for(&prepared, name, args, text)?;
        self.run_program(&prepared, &values)
    }

    /// CREATE TABLE AS EXECUTE: what is made, and logged, is CREATE TABLE AS the query with the values in it. `places`: where the
    /// statement begins, where EXECUTE stands, where that ends, and where the statement does.
    pub(crate) fn create_table_execute(
        &mut self,
        name: &str,
        args: &[ast::Expr],
        text: &str,
        places: [u32; 4],
    ) -> Result<StatementResult> {
        let prepared = self.named_statement(name)?;
        if !matches!(prepared.statement.kind, StatementKind::Query(_)) {
            let message = "prepared statement is not a SELECT";
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        let (values, types) = self.values_for(&prepared, name, args, text)?;
        let part = |text: &str, from: u32, to: u32| {
            let part = text.get(from as usize..to as usize).map(str::to_owned);
            part.ok_or_else(|| Error::internal("a statement that is not in its text"))
        };
        let mut query = part(&prepared.text, prepared.statement.position, prepared.statement.end)?;
        let mut found = Vec::new();
        visit::statement(&prepared.statement, &mut |node| {
            if let Node::Expr(ast::Expr { kind: ast::ExprKind::Parameter(n), position }) = node {
                found.push((*position, *n));
            }
        });
        found.sort_unstable();
        found.dedup();
        let catalog = self.newest_catalog();
        for (position, n) in found.into_iter().rev() {
            let at = (position - prepared.statement.position) as usize;
            let index = n as usize - 1;
            let given = (values.get(index), types.get(index), prepared.parameters.get(index));
            let (Some(value), Some(of), Some(ty)) = given else { continue };
            let literal = match value {
                Datum::Null => "NULL".to_owned(),
                value => {
                    let mut written = Vec::new();
                    value.write_in(of, Forms::default(), &mut written);
                    quote_literal(&String::from_utf8_lossy(&written))
                }
            };
            let value = format!("({literal}::{})", catalog.as_shown(ty));
            // As it is written: `$01` is the first, too.
            let digits = query.bytes().skip(at + 1).take_while(u8::is_ascii_digit).count();
            query.replace_range(at..at + 1 + digits, &value);
        }
        let [begins, from, to, ends] = places;
        let (head, tail) = (part(text, begins, from)?, part(text, to, ends)?);
        let made = format!("{head}({query}){tail}");
        let mut statements = parse::statements(&made)?;
        let statement =
            statements.pop().ok_or_else(|| Error::internal("a statement that came to nothing"))?;
        self.run_statement(&statement, &made, &())
    }

    /// The values of the arguments of EXECUTE.
    fn values_for(
        &mut self,
        prepared: &PreparedStatement,
        name: &str,
        args: &[ast::Expr],
        text: &str,
    ) -> Result<(Vec<Datum>, Vec<Type>)> {
        let wanted = prepared.parameters.len();
        if args.len() != wanted {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message)
                .with_detail(format!("Expected {wanted} parameters but got {}.", args.len())));
        }
        let (mut values, mut types) = (Vec::new(), Vec::new());
        if !args.is_empty() {
            // A row becomes one of the type while it is written out.
            let typed = |(i, e): (usize, &ast::Expr)| match prepared.parameters.get(i) {
                _ if let Some(Some(name)) = prepared.domains.get(i) => {
                    let name = ast::TypeName { position: e.position, kind: name.kind.clone() };
                    ast::Expr { position: e.position, kind: ast::ExprKind::Cast(Box::new(e.clone()), name) }
                }
                Some(ty @ Type::Record(_)) => {
                    let name = ast::TypeName { position: e.position, kind: TypeNameKind::Known(ty.clone()) };
                    ast::Expr { position: e.position, kind: ast::ExprKind::Cast(Box::new(e.clone()), name) }
                }
                _ => e.clone(),
            };
            let items = args.iter().enumerate().map(typed);
            let items = items.map(|expr| ast::SelectItem { expr, alias: None }).collect();
            let select = ast::Select { items, ..Default::default() };
            let query = ast::Query::new(ast::QueryBody::Select(Box::new(select)), 0);
            let kind = StatementKind::Query(Box::new(query));
            let select = self.analyse(Statement { position: 0, end: 0, kind }, text, &())?;
            for (i, (to, column)) in prepared.parameters.iter().zip(select.columns.iter()).enumerate() {
                // A bare literal is of any type.
                let literal = matches!(args[i].kind, ast::ExprKind::String(_) | ast::ExprKind::Null);
                if !literal && cast_allowed(&column.ty, to) > CastContext::Assignment {
                    let (n, from) = (i + 1, column.ty.base());
                    let message =
                        format!("parameter ${n} of type {from} cannot be coerced to the expected type {to}");
                    return Err(Error::new(SqlState::DATATYPE_MISMATCH, message)
                        .with_hint("You will need to rewrite or cast the expression.")
                        .at(args[i].position));
                }
            }
            let answer = self.run_program(&select, &())?;
            values = answer.rows.into_iter().flatten().next().map(|r| r.values).unwrap_or_default();
            types = select.columns.iter().map(|column| column.ty.clone()).collect();
        }
        Ok((values, types))
    }

    /// The type of the user's that has the OID, or arrays of which have it. A domain is what it is over: what is
    /// stored or converted is held against its conditions there.
    pub(crate) fn user_type(&mut self, oid: u32) -> Option<Type> {
        let schema = self.schema();
        let object = schema.catalog.oids.object(oid)?;
        match object {
            Object::Type(id) => Some(schema.catalog.type_by_id(*id).values()),
            Object::RowType(key) | Object::RowTypeArray(key) => {
                let (of, name) = planaria_catalog::of_key(key);
                let table = schema.catalog.of_rows((of, name))?;
                let row = Type::Record(planaria_sql::lower::row_type(&schema.catalog, table));
                Some(match object {
                    Object::RowType(_) => row,
                    _ => Type::Array(Box::new(row)),
                })
            }
            Object::TypeArray(id) => Some(Type::Array(Box::new(schema.catalog.type_by_id(*id).values()))),
            _ => None,
        }
    }

    /// The statement of that name; 26000 where there is none.
    pub(crate) fn named_statement(&self, name: &str) -> Result<Arc<PreparedStatement>> {
        let named = self.statements.named.get(name);
        named.map(|named| named.statement.clone()).ok_or_else(|| no_statement(name))
    }

    pub(crate) fn give_name(&mut self, name: &str, statement: Arc<PreparedStatement>, by_sql: bool) {
        let named = Named { statement, since: self.inputs.moment(), by_sql };
        self.statements.named.insert(name.to_owned(), named);
    }

    pub(crate) fn deallocate(&mut self, name: Option<&str>) -> Result<StatementResult> {
        match name {
            None => {
                self.statements.named.clear();
                return Ok(done("DEALLOCATE ALL"));
            }
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
