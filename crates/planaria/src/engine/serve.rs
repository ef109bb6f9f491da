//! Statements as a server runs them: analysed ahead, their rows lent to a sink, the disk not waited
//! for; and what a session keeps between transactions, so that one session can serve many clients.

use super::session::{Block, SessionCore};
use super::settings::{Settings, show_columns};
use super::statement::{PreparedStatement, is_program, tag_name};
use super::user::User;
use crate::params::Params;
use crate::row::Column;
use crate::sink::RowSink;
use crate::statement::{Done, Parsed};
use crate::ticket::Ticket;
use parking_lot::Mutex;
use planaria_base::{Result, Type};
use planaria_protocol::Protocol;
use planaria_sql::ast::{Statement, StatementKind};
use planaria_sql::lower::ParamTypes;
use std::collections::HashMap;
use std::sync::Arc;

/// What a client's session is, apart from a transaction under way.
#[derive(Default)]
pub(crate) struct KeptState {
    named: HashMap<String, Arc<PreparedStatement>>,
    settings: Settings,
    user: User,
    /// `currval` of sequences.
    current: Vec<Option<i64>>,
}

/// The columns of a statement that is no program, as far as they are known before it runs.
pub(super) fn utility_columns(statement: &Statement) -> Arc<[Column]> {
    let names = match &statement.kind {
        StatementKind::Show(name) if name.eq_ignore_ascii_case("recovery") => vec!["what", "value"],
        StatementKind::Show(name) => show_columns(name),
        StatementKind::Explain { .. }
        | StatementKind::ExplainProcedure { .. }
        | StatementKind::ExplainRecovery => vec!["QUERY PLAN"],
        _ => return Arc::from([]),
    };
    names.into_iter().map(|n| Column { name: n.to_owned(), ty: Type::Text }).collect()
}

impl<P: Protocol> SessionCore<P> {
    pub(super) fn prepare_statement(
        &mut self,
        parsed: &Parsed,
        types: &[Option<Type>],
    ) -> Result<Arc<PreparedStatement>> {
        let statement = &parsed.statement;
        self.check_block(Some(statement))?;
        if is_program(statement) {
            return self.analyse_declared(statement.clone(), &parsed.text, ParamTypes(types.to_vec()));
        }
        let columns = match &statement.kind {
            StatementKind::ExecutePrepared { name, .. } => {
                self.statements.named.get(name).map_or_else(|| Arc::from([]), |p| p.columns.clone())
            }
            _ => utility_columns(statement),
        };
        Ok(Arc::new(PreparedStatement {
            text: parsed.text.clone(),
            statement: statement.clone(),
            parameters: Arc::from([]),
            columns,
            compiled: Mutex::new(None),
        }))
    }

    pub(super) fn start_statement(
        &mut self,
        prepared: &PreparedStatement,
        params: &dyn Params,
        sink: &mut dyn RowSink,
    ) -> Result<Done> {
        self.check_block(Some(&prepared.statement))?;
        let (tag, count, rows) = if is_program(&prepared.statement) {
            let count = self.start_program(prepared, params, Some(sink))?;
            (tag_name(&prepared.statement).into(), count, None)
        } else {
            let result = self.run_statement(&prepared.statement, &prepared.text, params)?;
            self.notices = result.notices;
            (result.tag.into(), result.count, result.rows)
        };
        let ticket = std::mem::replace(&mut self.pending, Ticket::done());
        Ok(Done { tag, count, rows, ticket })
    }

    pub(super) fn exchange_state(&mut self, state: &mut KeptState) {
        debug_assert!(matches!(self.block, Block::None), "a transaction belongs to its session");
        std::mem::swap(&mut self.statements.named, &mut state.named);
        std::mem::swap(&mut self.settings, &mut state.settings);
        std::mem::swap(&mut self.user, &mut state.user);
        self.sequences.swap_current(&mut state.current);
    }
}
