//! COPY FROM into a table with triggers that fire once, or see all rows: each row is a statement of its own, so these are
//! fired around them.

use crate::session::core::SessionCore;
use crate::session::prepared::PreparedStatement;
use crate::statement::Statement;
use planaria_base::{Datum, Error, Result, SqlState};
use planaria_catalog::{Catalog, Table, TriggerEvent, TriggerTime, Wanted};
use planaria_sql::lower::ParamTypes;
use planaria_syntax::ast::copy::CopySource;
use planaria_syntax::ast::{self, CopyTriggers as Which, Name, SelectItem, StatementKind};

/// What COPY FROM runs instead of one INSERT for each row, in this order.
#[derive(Clone)]
pub struct CopyTriggers {
    /// Once, before the first row.
    pub before: Statement,
    /// For each row, with its values: the INSERT. It answers with the row as it is stored, if that is wanted.
    pub row: Statement,
    /// When all rows are there, for each row that was stored, with it.
    pub after_row: Option<Statement>,
    /// Once.
    pub after: Statement,
    /// The rows that were stored are wanted.
    pub rows: bool,
    /// What fires behind them takes all of them as its last parameter, as an array.
    pub transition: bool,
}

/// A row as the INSERT of a COPY answers with it.
pub type CopiedRow = Vec<Datum>;

fn fires(table: &Table, time: TriggerTime, each_row: bool, replica: bool) -> bool {
    table.fired(TriggerEvent::Insert, time, each_row, replica).next().is_some()
}

/// The same of the rows of a table: those of a partition are its root's, those of a root its partitions'.
fn fires_after_row(catalog: &Catalog, table: &Table, replica: bool) -> bool {
    // A partition without triggers: each row is a statement whose triggers fire behind it.
    if table.partition.is_some() && table.triggers.is_empty() {
        return false;
    }
    let root = catalog.partition_root(table.id);
    let mut all = catalog.leaves_with_triggers(root).chain([root]);
    all.any(|table| fires(table, TriggerTime::After, true, replica))
}

impl SessionCore {
    /// What fires around the rows of a COPY FROM; `None` where it is nothing. 0A000 where policies of the table bind who copies.
    pub(crate) fn copy_triggers(&mut self, copied: &PreparedStatement) -> Result<Option<CopyTriggers>> {
        let Some(copy) = copied.copy.as_deref().filter(|copy| copy.from) else { return Ok(None) };
        let CopySource::Table(name, _) = &copy.source else { return Ok(None) };
        let StatementKind::Insert(insert) = &copied.statement.kind else { return Ok(None) };
        let catalog = self.newest_catalog();
        let in_schema = match &name.parts[..] {
            [schema, local] => catalog.schema(schema).map(|id| Wanted::from((id, local.as_str()))),
            parts => parts.last().map(Wanted::from),
        };
        let Some(table) = in_schema.and_then(|wanted| catalog.table(wanted)) else { return Ok(None) };
        if !catalog.is_exempt(self.user.current(), table.id) {
            let message = "COPY FROM not supported with row-level security";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_hint("Use INSERT statements instead."));
        }
        let replica = self.settings.is_replica();
        let after_row = fires_after_row(&catalog, table, replica);
        let statement = fires(table, TriggerTime::Before, false, replica)
            || fires(table, TriggerTime::After, false, replica);
        if !after_row && !statement {
            return Ok(None);
        }
        let mut insert = insert.clone();
        insert.copied = true;
        let transition = table.transitions(TriggerEvent::Insert, replica).next().is_some();
        let rows = after_row || transition;
        if rows {
            let position = copied.statement.position;
            let column = |name: &String| SelectItem {
                expr: ast::Expr {
                    position,
                    kind: ast::ExprKind::Column(Name { parts: vec![name.clone()], position }),
                },
                alias: None,
            };
            insert.returning = table.visible().map(|(_, c)| column(&c.name)).collect();
        }
        let (position, end) = (copied.statement.position, copied.statement.end);
        let mut prepare = |kind: StatementKind| -> Result<Statement> {
            let statement = ast::Statement { position, end, kind };
            let inner = self.analyse_declared(statement, &copied.text, ParamTypes::default())?;
            Ok(Statement { inner, names: None })
        };
        let mut fire = |which| prepare(StatementKind::FireCopyTriggers { table: name.clone(), which });
        let before = fire(Which::Before)?;
        let after = fire(Which::After)?;
        let after_row = after_row.then(|| fire(Which::AfterRow)).transpose()?;
        let row = prepare(StatementKind::Insert(insert))?;
        Ok(Some(CopyTriggers { before, row, after_row, after, rows, transition }))
    }
}
