//! A session and the tables that are locked: see [`table_locks`](super::table_locks).

use super::answer::done;
use super::gate::Patience;
use super::refusal::schema_changed;
use super::schema_version::SchemaVersion;
use super::session::{Block, SessionCore};
use super::table_locks::{Edge, Touches, Wanted};
use crate::session::StatementResult;
use planaria_base::sync::Instant;
use planaria_base::{Error, ProcedureId, Result, SqlState, TableId};
use planaria_exec::Interrupt;
use planaria_ir::{OpKind, Program};
use planaria_protocol::{Conflict, Hosted};
use planaria_sql::ddl::lock::{Lockable, lockable};
use planaria_sql::lower::ParamTypes;
use planaria_storage::Header;
use planaria_syntax::ast::{LockMode, LockTable};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often whoever waits looks whether it has been cancelled, or is part of a ring.
const LOOK: Duration = Duration::from_millis(20);

impl<H: Header> SchemaVersion<H> {
    /// What a program, with all it calls, does to tables.
    pub(super) fn touches(&self, program: &Program) -> Arc<Touches> {
        let mut touches = Touches::default();
        self.add_touches(program, &mut touches, &mut BTreeSet::new());
        Arc::new(touches)
    }

    /// The tables that a view reads.
    fn tables_of_view(&self, name: &str) -> Result<Vec<TableId>> {
        let text = format!("SELECT * FROM \"{}\"", name.replace('"', "\"\""));
        let statement = planaria_syntax::parse::statements(&text)?
            .pop()
            .ok_or_else(|| Error::internal("a query is no statement"))?;
        let types = ParamTypes(Vec::new());
        let lowered = planaria_sql::lower::lower_statement_rights(&self.catalog, &statement, &types, None)?;
        Ok(self.touches(&lowered.program).tables.iter().map(|(table, _)| *table).collect())
    }

    fn add_touches(&self, program: &Program, touches: &mut Touches, seen: &mut BTreeSet<ProcedureId>) {
        program.body.visit(&mut |op| match &op.kind {
            OpKind::Insert { table, .. } | OpKind::Update { table, .. } | OpKind::Delete { table, .. } => {
                touches.add(*table, LockMode::RowExclusive);
            }
            OpKind::Claim { table, .. } => touches.add(*table, LockMode::RowShare),
            OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => {
                if seen.insert(*procedure)
                    && let Ok(callee) = self.program(*procedure)
                {
                    self.add_touches(callee, touches, seen);
                }
            }
            OpKind::Execute { .. } => touches.anything = true,
            other => {
                if let Some(table) = other.table() {
                    touches.add(table, LockMode::AccessShare);
                }
            }
        });
    }
}

impl<P: Hosted> SessionCore<P> {
    /// A program is about to touch tables: it conflicts where others have locked them.
    #[inline]
    pub(super) fn touch(&mut self, touches: &Arc<Touches>) -> Result<(), Interrupt> {
        if matches!(self.block, Block::None) && !self.engine.locks.are_strong() {
            return Ok(());
        }
        self.touch_in_block(touches)
    }

    fn touch_in_block(&mut self, touches: &Arc<Touches>) -> Result<(), Interrupt> {
        let engine = self.engine.clone();
        // Whoever has closed the gate is alone.
        while self.changing.is_none() {
            let in_block = !matches!(self.block, Block::None);
            let known = if in_block { engine.locks.touch(self.worker, touches) } else { 0 };
            self.has_locks |= in_block;
            if !engine.locks.bars(self.worker, touches, known) {
                return Ok(());
            }
            if in_block {
                engine.locks.step_back(self.worker, known);
            }
            if self.reading.is_none() {
                self.barred = Some(touches.clone());
                return Err(Conflict::Claimed.into());
            }
            // Who reads a snapshot stands outside of the gate.
            self.await_locks(&Wanted::Run(touches.clone()))?;
        }
        Ok(())
    }

    /// Waits for tables that others have locked, outside of the gate. 57014 where the statement is cancelled, 55P03
    /// where `lock_timeout` has passed, 40P01 where it would wait for itself.
    pub(super) fn await_locks(&mut self, wanted: &Wanted) -> Result<()> {
        self.show_process();
        let deadline = self.lock_deadline();
        let (engine, cancel, worker) = (&self.engine, &self.cancel, self.worker);
        let (mut out_of_time, mut outcome) = (false, Ok(true));
        (self.sleeps_by)(&mut || {
            outcome = engine.locks.wait(worker, wanted, &|| engine.protocol.claims(), &mut || {
                if cancel.is_due() {
                    return None;
                }
                let Some(deadline) = deadline else { return Some(LOOK) };
                let left = deadline.saturating_duration_since(Instant::now());
                out_of_time = left.is_zero();
                (!out_of_time).then(|| left.min(LOOK))
            });
        });
        match outcome {
            Ok(true) => Ok(()),
            Ok(false) => Err(super::waiting::gave_up(out_of_time, cancel)),
            Err(ring) => Err(self.locked_in_a_ring(&ring)),
        }
    }

    /// 40P01
    #[cold]
    fn locked_in_a_ring(&self, ring: &[Edge]) -> Error {
        let process = |edge| self.engine.processes[usize::from(edge)].load(Ordering::Relaxed);
        let lines = ring.iter().map(|edge| {
            let (waiting, holding) = (process(edge.worker.0), process(edge.holder.0));
            let what = match edge.lock {
                Some((mode, table)) => {
                    let table = self.schema.catalog.tables.get(table.index()).and_then(Option::as_ref);
                    let name = table.map_or("", |t| t.name.as_str());
                    format!("{} on relation \"{name}\"", mode.name())
                }
                None => format!("ShareLock on the transaction of process {holding}"),
            };
            format!("Process {waiting} waits for {what}; blocked by process {holding}.")
        });
        Error::new(SqlState::DEADLOCK_DETECTED, "deadlock detected")
            .detail(lines.collect::<Vec<_>>().join("\n"))
            .hint("See server log for query details.")
    }

    /// LOCK TABLE
    pub(super) fn lock_tables(&mut self, lock: &LockTable) -> Result<StatementResult> {
        if matches!(self.block, Block::None) {
            return Err(Error::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "LOCK TABLE can only be used in transaction blocks",
            ));
        }
        self.catch_up()?;
        let schema = self.schema();
        for what in lockable(&schema.catalog, self.user.current(), lock)? {
            let tables = match what {
                Lockable::Table(table) => vec![table],
                Lockable::View(name) => schema.tables_of_view(&name)?,
                Lockable::System => Vec::new(),
            };
            for table in tables {
                self.lock_one(&schema, table, lock)?;
            }
        }
        if self.reading.is_none() && self.is_stale() {
            // While it waited. What has seen nothing yet may see the new schema.
            self.catch_up()?;
            if self.is_stale() {
                return Err(schema_changed());
            }
        }
        Ok(done("LOCK TABLE"))
    }

    fn lock_one(
        &mut self,
        schema: &SchemaVersion<P::Header>,
        table: TableId,
        lock: &LockTable,
    ) -> Result<()> {
        let (engine, worker) = (self.engine.clone(), self.worker);
        self.has_locks = true;
        let before = engine.locks.count(worker);
        if !engine.locks.ask(worker, table, lock.mode) {
            return Ok(());
        }
        if self.changing.is_some() {
            engine.locks.grant(worker);
            return Ok(());
        }
        let mut outcome = if lock.mode.is_strong() { self.outlast_statements() } else { Ok(()) };
        if outcome.is_ok() {
            let wanted = Wanted::Lock(table, lock.mode);
            outcome = match lock.nowait {
                false => self.await_locks(&wanted),
                true => match engine.locks.wait(worker, &wanted, &Vec::new, &mut || None) {
                    Ok(true) => Ok(()),
                    _ => {
                        let name = &schema.catalog.table_by_id(table).name;
                        let message = format!("could not obtain lock on relation \"{name}\"");
                        Err(Error::new(SqlState::LOCK_NOT_AVAILABLE, message))
                    }
                },
            };
        }
        if outcome.is_err() {
            engine.locks.release_to(worker, before);
        }
        outcome
    }

    /// Waits for those that passed the gate before they could see that a table is locked.
    fn outlast_statements(&mut self) -> Result<()> {
        self.show_process();
        let deadline = self.lock_deadline();
        let (cancel, gate, worker) = (&self.cancel, &self.engine.gate, self.worker);
        let (mut out_of_time, mut outlasted) = (false, false);
        (self.sleeps_by)(&mut || {
            let patience: Patience<'_> = &mut || {
                out_of_time = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                !out_of_time && !cancel.is_due()
            };
            outlasted = gate.outlast(worker, patience);
        });
        if outlasted { Ok(()) } else { Err(super::waiting::gave_up(out_of_time, cancel)) }
    }

    /// Closes the gate, for a change of the schema, when nobody else has locked tables.
    pub(super) fn close_gate_on_unlocked(&mut self) -> Result<()> {
        loop {
            self.close_gate()?;
            if !self.engine.locks.are_held_by_others(self.worker) {
                return Ok(());
            }
            self.engine.gate.open();
            self.await_locks(&Wanted::Change)?;
        }
    }

    /// Lets go of tables that were locked after the first so many.
    pub(super) fn release_locks_to(&mut self, len: usize) {
        if self.has_locks {
            self.engine.locks.release_to(self.worker, len);
        }
    }

    /// The end of a transaction that had locked tables, or touched some in a block.
    #[inline]
    pub(super) fn end_locks(&mut self) {
        self.barred = None;
        if std::mem::take(&mut self.has_locks) {
            self.engine.locks.end(self.worker);
        }
    }
}
