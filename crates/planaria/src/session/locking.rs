//! A session and the tables that are locked: see [`table_locks`](crate::engine::table_locks).

use crate::engine::gate::Patience;
use crate::engine::program::refusal::schema_changed;
use crate::engine::schema_version::SchemaVersion;
use crate::engine::table_locks::{Place, Touches, Wanted};
use crate::engine::waits::Lookout;
use crate::session::StatementResult;
use crate::session::answer::done;
use crate::session::core::{Block, SessionCore};
use crate::session::savepoint::Locked;
use planaria_base::sync::Instant;
use planaria_base::{Error, IndexId, Isolation, ProcedureId, Result, SqlState, TableId};
use planaria_exec::Interrupt;
use planaria_ir::{OpKind, Program, Question, ReadMode};
use planaria_protocol::Conflict;
use planaria_sql::ddl::lock::{Lockable, lockable, table_named};
use planaria_sql::lower::ParamTypes;
use planaria_syntax::ast::{InsertSource, LockMode, LockTable, Name, Statement, StatementKind};
use std::collections::BTreeSet;
use std::sync::Arc;

impl SchemaVersion {
    /// What a program, with all it calls, does to tables.
    pub(crate) fn touches(&self, program: &Program) -> Arc<Touches> {
        let mut touches = Touches::default();
        self.add_touches(program, &[], &mut touches, &mut BTreeSet::new());
        Arc::new(touches)
    }

    /// The same of what a statement was lowered to.
    pub(crate) fn touches_of_statement(&self, statement: &Statement, program: &Program) -> Arc<Touches> {
        let mut touches = Touches::default();
        self.add_touches(program, &self.written_parts(statement), &mut touches, &mut BTreeSet::new());
        Arc::new(touches)
    }

    /// Roots of which a statement, but for the routines and triggers that it calls, writes only to these partitions.
    fn written_parts(&self, statement: &Statement) -> Vec<(TableId, TableId)> {
        let (names, changes) = match &statement.kind {
            StatementKind::Insert(insert)
                if insert.with.is_empty()
                    && insert.on_conflict.is_none()
                    && !matches!(insert.source, InsertSource::Query(_)) =>
            {
                (std::slice::from_ref(&insert.table), false)
            }
            StatementKind::Update(update) if update.with.is_empty() => {
                (std::slice::from_ref(&update.table), true)
            }
            StatementKind::Delete(delete) if delete.with.is_empty() => {
                (std::slice::from_ref(&delete.table), true)
            }
            StatementKind::Truncate { names, cascade: false, .. } => (&names[..], false),
            _ => return Vec::new(),
        };
        let tables = names.iter().map(|name| table_named(&self.catalog, name).map(|table| table.id));
        let Some(tables) = tables.collect::<Option<Vec<TableId>>>() else { return Vec::new() };
        let parts = tables.iter().map(|id| (self.catalog.partition_root(*id).id, *id));
        // What a key does to the rows that refer to changed ones is anywhere.
        let refers = |root| changes && self.catalog.references_to(root).next().is_some();
        parts.filter(|(root, id)| root != id && !tables.contains(root) && !refers(*root)).collect()
    }

    /// The same of the program of a routine.
    pub(crate) fn touches_of(&self, id: ProcedureId, program: &Program) -> Arc<Touches> {
        let within = self.within(id);
        let mut touches = Touches::default();
        within.as_deref().unwrap_or(self).add_touches(program, &[], &mut touches, &mut BTreeSet::new());
        Arc::new(touches)
    }

    /// The tables that a view reads.
    fn tables_of_view(&self, key: &str) -> Result<Vec<TableId>> {
        let (schema, name) = planaria_catalog::of_key(key);
        let text = format!("SELECT * FROM {}", self.catalog.shown(schema, name, None));
        let statement = planaria_syntax::parse::statements(&text)?
            .pop()
            .ok_or_else(|| Error::internal("a query is no statement"))?;
        let types = ParamTypes(Vec::new());
        let program = planaria_sql::lower::lower_statement(&self.catalog, &statement, &types)?;
        Ok(self.touches(&program).tables.iter().map(|touch| touch.table).collect())
    }

    /// `parts`: see [`Self::written_parts`].
    fn add_touches(
        &self,
        program: &Program,
        parts: &[(TableId, TableId)],
        touches: &mut Touches,
        seen: &mut BTreeSet<(u64, ProcedureId)>,
    ) {
        let columns_of = |table: &TableId, index: &IndexId| {
            let definition = self.catalog.table_by_id(*table);
            definition.indexes[index.index()].columns.iter().copied()
        };
        program.body.visit(&mut |op| match &op.kind {
            OpKind::Get { table, index, columns, mode, .. }
            | OpKind::Scan { table, index, columns, mode, .. } => {
                // Foreign keys look at the other table as FOR KEY SHARE does.
                let refers = matches!(mode, ReadMode::Check | ReadMode::Parent);
                touches.add(*table, if refers { LockMode::RowShare } else { LockMode::AccessShare });
                // An entry leads to a row as long as that has its key.
                let read = columns.iter().map(|(column, _)| *column);
                touches.columns.insert(*table, columns_of(table, index).chain(read));
            }
            OpKind::Load { table, columns, .. } => {
                touches.add(*table, LockMode::AccessShare);
                touches.columns.insert(*table, columns.iter().map(|(column, _)| *column));
            }
            OpKind::Insert { table, .. } | OpKind::Update { table, .. } | OpKind::Delete { table, .. } => {
                let mut known = parts.iter().filter(|(root, _)| root == table).peekable();
                if known.peek().is_none() {
                    touches.add(*table, LockMode::RowExclusive);
                }
                known.for_each(|(_, part)| touches.add_within(*table, Some(*part), LockMode::RowExclusive));
            }
            OpKind::Claim { table, .. } => {
                touches.add(*table, LockMode::RowShare);
                touches.claimed.push(*table);
            }
            OpKind::Ask { question: Question::Sleep, .. } => touches.sleeps = true,
            OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => {
                if seen.insert((self.version(), *procedure))
                    && let Ok(callee) = self.program(*procedure)
                {
                    let within = self.within(*procedure);
                    within.as_deref().unwrap_or(self).add_touches(callee, &[], touches, seen);
                }
            }
            OpKind::Execute { .. } => {
                touches.anything = true;
                touches.columns.insert_everything();
            }
            other => {
                if let Some(table) = other.table() {
                    touches.add(table, LockMode::AccessShare);
                }
            }
        });
    }
}

impl SessionCore {
    /// A program is about to touch tables: it conflicts where others have locked them.
    #[inline]
    pub(crate) fn touch(&mut self, touches: &Arc<Touches>) -> Result<(), Interrupt> {
        if matches!(self.block, Block::None) {
            if self.engine.traits.heals {
                self.touched.note(touches);
            }
            if !self.engine.locks.are_strong() && !touches.may_sleep() {
                return Ok(());
            }
        }
        self.touch_in_block(touches)
    }

    fn touch_in_block(&mut self, touches: &Arc<Touches>) -> Result<(), Interrupt> {
        if self.changing.is_some() {
            return Ok(self.touch_beside(touches)?);
        }
        self.confirm(touches)?;
        let engine = self.engine.clone();
        loop {
            let in_block = !matches!(self.block, Block::None);
            let notes = in_block || touches.may_sleep();
            let before = if notes { engine.locks.touch(self.worker, touches) } else { (0, false) };
            if notes {
                self.has_locks = true;
                self.show_process();
            }
            if in_block && self.reading.is_none() {
                self.date_anew(touches)?;
                self.txn.will_read(&touches.columns);
            }
            if !engine.locks.bars(self.worker, touches, before) {
                return Ok(());
            }
            if notes {
                engine.locks.step_back(self.worker, before);
            }
            if self.reading.is_none() {
                self.barred = Some(Wanted::Run(touches.clone()));
                return Err(Conflict::Claimed.into());
            }
            // Who reads a snapshot stands outside of the gate.
            self.await_locks(&Wanted::Run(touches.clone()))?;
        }
    }

    /// Waits for tables or keys that others have locked, outside of the gate. 57014 where the statement is cancelled,
    /// 55P03 where `lock_timeout` has passed, 40P01 where it would wait for itself.
    pub(crate) fn await_locks(&mut self, wanted: &Wanted) -> Result<()> {
        self.show_process();
        let (engine, worker) = (&*self.engine, self.worker);
        let mut lookout = Lookout::new(engine, worker, &self.cancel, self.lock_deadline());
        let mut came = false;
        (self.sleeps_by)(&mut || {
            let goes_on = &mut || lookout.look();
            came = match wanted {
                Wanted::Advisory(lock, _) => engine.advisory.wait(worker, *lock, goes_on),
                _ => engine.locks.wait(worker, wanted, goes_on),
            };
        });
        if !came {
            return Err(lookout.error(&self.schema.catalog));
        }
        if let Wanted::Advisory(lock, level) = wanted {
            self.own_locks.granted(*lock, *level);
        }
        Ok(())
    }

    /// LOCK TABLE
    pub(crate) fn lock_tables(&mut self, lock: &LockTable) -> Result<StatementResult> {
        if matches!(self.block, Block::None) {
            return Err(Error::new(
                SqlState::NO_ACTIVE_SQL_TRANSACTION,
                "LOCK TABLE can only be used in transaction blocks",
            ));
        }
        self.lock_those(lock, &|_| true)?;
        Ok(done("LOCK TABLE"))
    }

    /// Locks those of the names that are partitions against everybody else who writes to them, for a TRUNCATE of the open block
    /// that need not validate then that nobody adds rows to them: whether it is so. Errors as those of LOCK TABLE.
    pub(crate) fn lock_partitions(&mut self, names: &[Name]) -> Result<bool> {
        // Where a block changes the schema, others wait for it. Who stays with a moment is told what has changed since.
        if !matches!(self.block, Block::Open)
            || self.changing.is_some()
            || self.reading.is_some()
            || !self.engine.traits.concurrent
            || self.isolation == Isolation::RepeatableRead
        {
            return Ok(false);
        }
        let lock = LockTable { names: names.to_vec(), mode: LockMode::ShareRowExclusive, nowait: false };
        if !self.lock_those(&lock, &|place| place.is_part())? {
            return Ok(false);
        }
        // A block that changes the schema may have come before it, and look at no locks. From now on none does: it would wait.
        let mut held = false;
        self.in_block(|s| {
            held = s.engine.gate.is_held();
            Ok(())
        })?;
        Ok(!held)
    }

    /// Locks what is named as far as it is wanted: whether that was anything.
    fn lock_those(&mut self, lock: &LockTable, wanted: &dyn Fn(&Place) -> bool) -> Result<bool> {
        self.catch_up()?;
        let (schema, base) = (self.schema(), self.schema.clone());
        let mut locked = Vec::new();
        for what in lockable(&schema.catalog, self.user.current(), lock)? {
            let tables = match what {
                Lockable::Table(table) => vec![table],
                Lockable::View(name) => schema.tables_of_view(&name)?,
                Lockable::System => Vec::new(),
            };
            for table in tables {
                let place = Place::of(&schema.catalog, table);
                if wanted(&place) {
                    locked.extend([table, place.table]);
                    self.lock_one(place, lock)?;
                }
            }
        }
        if self.reading.is_none() && self.is_stale() {
            // While it waited. What has seen nothing yet may see the new schema.
            self.catch_up()?;
            self.follow_or_fail()?;
            if !self.schema.leaves_all(&base, &locked) {
                return Err(schema_changed());
            }
        }
        Ok(!locked.is_empty())
    }

    /// 55P03
    pub(crate) fn lock_not_available(&self, table: TableId) -> Error {
        let name = &self.schema.catalog.table_by_id(table).name;
        let message = format!("could not obtain lock on relation \"{name}\"");
        Error::new(SqlState::LOCK_NOT_AVAILABLE, message)
    }

    fn lock_one(&mut self, place: Place, lock: &LockTable) -> Result<()> {
        let (engine, worker) = (self.engine.clone(), self.worker);
        self.has_locks = true;
        self.show_process();
        if self.changing.is_some() {
            // Where nobody else goes on there is nothing to wait for.
            return self.lock_beside(place.table, lock.mode, !lock.nowait);
        }
        let before = engine.locks.count(worker);
        if !engine.locks.ask(worker, &place, lock.mode) {
            return Ok(());
        }
        let mut outcome = if lock.mode.is_strong() { self.outlast_statements() } else { Ok(()) };
        if outcome.is_ok() {
            let shown = place.shown();
            let wanted = Wanted::Lock(place, lock.mode);
            outcome = match lock.nowait {
                false => self.await_locks(&wanted),
                true => match engine.locks.wait(worker, &wanted, &mut || None) {
                    true => Ok(()),
                    false => Err(self.lock_not_available(shown)),
                },
            };
        }
        if outcome.is_err() {
            engine.locks.release_to(worker, before);
        }
        outcome
    }

    /// Waits for those that passed the gate before they could see that a table is locked.
    pub(crate) fn outlast_statements(&mut self) -> Result<()> {
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
        if outlasted { Ok(()) } else { Err(crate::engine::program::refusal::gave_up(out_of_time, cancel)) }
    }

    /// Closes the gate, for a change of the schema, when nobody else has locked tables.
    pub(crate) fn close_gate_on_unlocked(&mut self) -> Result<()> {
        loop {
            self.close_gate()?;
            if !self.engine.locks.are_held_by_others(self.worker) {
                return Ok(());
            }
            self.engine.gate.open();
            self.await_locks(&Wanted::Change)?;
        }
    }

    /// Lets go of what was locked since.
    pub(crate) fn release_locks_to(&mut self, before: Locked) {
        // A block that changes the schema relies on what it has read, whatever it takes back.
        if self.has_locks && self.changing.is_none() {
            self.engine.locks.release_to(self.worker, before.tables);
        }
        self.txn.unlock_to(before.rows);
        let (advisory, worker) = (&self.engine.advisory, self.worker);
        self.own_locks.release_to(before.keys, &mut |lock| advisory.release(worker, lock));
        self.said.back_to(before.said);
        self.deferred.back_to(before.deferred);
    }

    /// The statement under way is over, and will not be repeated.
    #[inline]
    pub(crate) fn settle_locks(&mut self) {
        if !self.own_locks.rests() {
            let (advisory, worker) = (&self.engine.advisory, self.worker);
            self.own_locks.settle(&mut |lock| advisory.release(worker, lock), &mut |lock| {
                advisory.try_lock(worker, lock, true)
            });
        }
    }

    /// The transaction is over: what it has locked by keys for itself.
    #[inline]
    fn end_advisory_locks(&mut self) {
        if !self.own_locks.rests() {
            self.settle_locks();
            let (advisory, worker) = (&self.engine.advisory, self.worker);
            self.own_locks.release_to(0, &mut |lock| advisory.release(worker, lock));
        }
    }

    /// `pg_advisory_unlock_all`
    pub(crate) fn unlock_all(&mut self) {
        self.own_locks.unlock_all(&mut |lock| self.engine.advisory.release(self.worker, lock));
    }

    /// The session is over.
    pub(crate) fn end_own_locks(&mut self) {
        self.own_locks.end().into_iter().for_each(|lock| self.engine.advisory.release(self.worker, lock));
    }

    /// The end of a transaction that had locked tables, or touched some in a block.
    #[inline]
    pub(crate) fn end_locks(&mut self) {
        let rests = self.barred.is_none() && self.said.is_empty() && self.deferred.is_empty();
        let rests = rests && !self.deferred.has_said();
        if !(rests && self.own_locks.rests() && !self.has_locks) {
            self.end_held();
        }
    }

    #[cold]
    fn end_held(&mut self) {
        self.barred = None;
        if !self.said.is_empty() {
            self.said.back_to(0);
        }
        self.deferred.clear();
        self.end_advisory_locks();
        if std::mem::take(&mut self.has_locks) {
            self.engine.locks.end(self.worker);
        }
    }
}
