//! UPDATE and DELETE with WHERE CURRENT OF a cursor of the session: see [`planaria_sql::lower::keyed`].

use crate::engine::program::cursor::no_cursor;
use crate::params::{ParamRef, Params};
use crate::session::StatementResult;
use crate::session::core::SessionCore;
use planaria_base::{Datum, Error, Result, SqlState, TableId, Type};
use planaria_catalog::{Object, Privileges};
use planaria_ir::Output;
use planaria_sql::lower::{self, ParamTypes};
use planaria_syntax::ast::cursor::DeclareCursor;
use planaria_syntax::ast::{Statement, StatementKind};

/// Parameters, and the values of a key behind them.
struct Behind<'a> {
    given: &'a dyn Params,
    count: usize,
    key: &'a Vec<Datum>,
}

impl Params for Behind<'_> {
    fn count(&self) -> usize {
        self.count + self.key.len()
    }
    fn param(&self, i: usize) -> ParamRef<'_> {
        match i.checked_sub(self.count) {
            Some(at) => self.key.param(at),
            None => self.given.param(i),
        }
    }
}

fn invalid(message: String) -> Error {
    Error::new(SqlState::new("24000"), message)
}

impl SessionCore {
    /// The query of a cursor with the key of its table behind its columns, where it has one and whoever declares it may
    /// read that.
    pub(crate) fn keyed_query(
        &mut self,
        declare: &DeclareCursor,
    ) -> Option<(Statement, TableId, Vec<Output>)> {
        let StatementKind::Query(query) = &declare.query.kind else { return None };
        let catalog = self.schema().catalog.clone();
        let (query, table, keys) = lower::keyed(&catalog, query)?;
        let may =
            catalog.privileges(self.user.current(), &Object::Table(table)).intersects(Privileges::SELECT);
        let statement = Statement { kind: StatementKind::Query(Box::new(query)), ..(*declare.query).clone() };
        may.then_some((statement, table, keys))
    }

    /// UPDATE or DELETE of the row that a cursor stands on. `types`: those of the parameters, where they are known.
    pub(crate) fn change_current(
        &mut self,
        statement: &Statement,
        text: &str,
        params: &dyn Params,
        types: &[Type],
    ) -> Result<StatementResult> {
        let name = lower::current_of(statement).map(|name| name.parts.join(".")).unwrap_or_default();
        let cursor = self.cursors.open.get(&name).ok_or_else(|| no_cursor(&name))?;
        if cursor.hold && !cursor.fresh {
            return Err(invalid(format!("cursor \"{name}\" is held from a previous transaction")));
        }
        let (keys, at) = (cursor.keys.clone(), cursor.at);
        let table = match &statement.kind {
            StatementKind::Update(update) => &update.table,
            StatementKind::Delete(delete) => &delete.table,
            _ => return Err(Error::internal("a statement without a table")),
        };
        let local = table.parts.last().cloned().unwrap_or_default();
        let other =
            || invalid(format!("cursor \"{name}\" is not a simply updatable scan of table \"{local}\""));
        let keys = keys.ok_or_else(other)?;
        let count = params.count();
        let catalog = self.schema().catalog.clone();
        // Whatever else is wrong with the statement is said first.
        let declared: Vec<Option<Type>> = match types.is_empty() {
            true => vec![None; count],
            false => types.iter().cloned().map(Some).collect(),
        };
        let first = count as u32 + 1;
        let Some(by_key) = lower::by_key(&catalog, statement, keys.table, &keys.columns, first) else {
            self.analyse_declared(lower::without_current(statement), text, ParamTypes(declared))?;
            return Err(other());
        };
        let row = at.checked_sub(1).and_then(|at| keys.rows.get(at));
        let row = row.ok_or_else(|| invalid(format!("cursor \"{name}\" is not positioned on a row")))?;
        let of_key = keys.columns.iter().map(|key| Some(key.ty.clone()));
        let declared = declared.into_iter().chain(of_key).collect();
        let prepared = self.analyse_declared(by_key, text, ParamTypes(declared))?;
        self.run_program(&prepared, &Behind { given: params, count, key: row })
    }
}
