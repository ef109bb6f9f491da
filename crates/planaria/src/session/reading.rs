//! Reading snapshots: transactions that are READ ONLY, and statements that would not get through otherwise.
//!
//! ```text
//!  BEGIN READ ONLY  -- open --> [statement] [statement] .. -- COMMIT, ROLLBACK --> close
//!  SELECT ..           tried some times in vain, or long:  open [statement] close
//! ```
//!
//! A snapshot is of the moment at which it was opened ([`Moment::Now`]); so it has everything
//! that was acknowledged before, and everything that this session has committed. What it answers is
//! acknowledged when the epoch of that moment is on disk, like any answer. (A checkpoint's is of the end of an epoch.)
//! Under READ COMMITTED each statement opens one of its own.
//!
//! *Schema.* A snapshot is opened inside the [gate](crate::engine::gate): no change of the schema comes between its moment and
//! the schema that it is read with; of an epoch, that has ended before the gate is
//! left. The reader keeps that catalog version, and
//! its tables, to the end; changes of the schema do not wait for it and do not disturb it, because they make
//! new tables in place of old ones. So a reader stands inside the gate only while it opens.
//!
//! *Memory.* Between two statements nothing is pinned: an idle reader costs what changes meanwhile.
//!
//! Writes in a snapshot fail with 25006, where they are tried; so do `nextval` and `setval`.

use crate::engine::exported::Exports;
use crate::engine::program::refusal::read_only;
use crate::engine::schema_version::LogAs;
use crate::engine::schema_version::SchemaVersion;
use crate::engine::snapshot::{OpenSnapshot, Reading};
use crate::session::core::{Block, SessionCore};
use planaria_base::{CommitTs, Error, Result, SqlState, Strength};
use planaria_exec::Interrupt;
use planaria_protocol::{Conflict, Isolation, Moment};

use planaria_syntax::ast::{
    AggregateChange, CastChange, DefaultsOf, ExtensionChange, ObjectKind, OwnedObject, Statement,
    StatementKind, StatisticsChange,
};
use std::sync::Arc;

impl SessionCore {
    /// Errors as [`Self::go_in`].
    pub(crate) fn open_reading(&mut self) -> Result<Box<Reading>> {
        // Where the gate is closed, waits as other statements do.
        self.go_in()?;
        self.leave();
        let session = i32::from(self.worker.0) + 1;
        let goes_on = || self.check_cancelled();
        let (open, ()) =
            OpenSnapshot::new(&self.engine, self.worker, session, Moment::Now, &goes_on, |_| ())?;
        let (reader, open) = (open.reader(self.worker), Arc::new(open));
        let exports = Exports::new(&self.engine, &open);
        Ok(Box::new(Reading { reader, open, exports, used: false }))
    }

    /// The schema of the transaction that is open, or the newest.
    #[allow(clippy::redundant_allocation, reason = "the outer count is this session's alone")]
    pub(crate) fn schema(&mut self) -> Arc<Arc<SchemaVersion>> {
        if let Some(reading) = &self.reading {
            let schema = reading.open.schema.clone();
            return self.scoped_of(schema);
        }
        if matches!(self.block, Block::None) && self.is_stale() {
            self.refresh();
        }
        self.scoped()
    }

    /// Before the first statement of a block: the schema may have changed since BEGIN without harm. Waits where it
    /// is changing. Before each of one that reads what is committed: it reads a new snapshot.
    pub(crate) fn catch_up(&mut self) -> Result<()> {
        if matches!(self.block, Block::Open)
            && self.isolation.effective() == Isolation::ReadCommitted
            && self.reading.as_ref().is_some_and(|reading| reading.used)
        {
            let mut reading = self.open_reading()?;
            if let Some(before) = &mut self.reading {
                reading.exports.take_over(&mut before.exports);
            }
            self.reading = Some(reading);
        }
        let idle = !self.used && self.savepoints.is_empty() && self.changing.is_none();
        if matches!(self.block, Block::Open) && !idle && self.reading.is_none() && self.is_stale() {
            // What does not is told so by its statement.
            self.follow();
        }
        if !matches!(self.block, Block::Open)
            || !idle
            || self.reading.is_some()
            || !self.engine.traits.concurrent
        {
            return Ok(());
        }
        self.go_in()?;
        if self.is_stale() {
            let schema = self.schema.clone();
            self.txn.abort(&schema.tables);
            self.refresh();
            self.begin();
            self.claim_writes();
        }
        self.leave();
        Ok(())
    }

    /// Whether a statement may not write.
    pub(crate) fn is_read_only(&self) -> bool {
        match self.block {
            Block::None => self.settings.is_on("default_transaction_read_only"),
            Block::Open | Block::Failed => self.read_only,
        }
    }

    /// Before a program runs that `pure`ly reads, or may write. One that `claims` rows has to meet others.
    #[inline]
    pub(crate) fn declare(&mut self, pure: bool, claims: bool) -> Result<(), Interrupt> {
        self.pure = pure && !claims;
        if !pure && self.reading.is_none() && matches!(self.block, Block::None) && self.is_read_only() {
            // What it writes fails there.
            return Err(Conflict::Long.into());
        }
        // Who never fails need not change over to a snapshot.
        if self.pure && self.reading.is_none() && matches!(self.block, Block::None) && self.txn.only_reads() {
            self.pure = false;
        }
        Ok(())
    }

    /// Refuses what writes by its very kind in a transaction that may not (25006).
    pub(crate) fn check_writable(&self, statement: &Statement) -> Result<()> {
        match writes_as(&statement.kind) {
            Some(command) if self.is_read_only() => Err(read_only(command)),
            _ => Ok(()),
        }
    }

    /// Runs `body` as one transaction that reads a snapshot.
    #[cold]
    pub(crate) fn transact_in_snapshot(
        &mut self,
        body: &mut dyn FnMut(&mut Self, &SchemaVersion) -> Result<LogAs, Interrupt>,
    ) -> Result<(CommitTs, bool)> {
        let reading = self.open_reading()?;
        let (at, schema) = (reading.open.at, reading.open.schema.clone());
        self.reading = Some(reading);
        self.begin_state();
        let outcome = self.in_snapshot(|s| body(s, &schema).map(|_| s.pause()));
        self.reading = None;
        match outcome {
            Ok(()) => {
                self.speak(at);
                self.engine.counters.commit(self.worker);
                self.last_commit = Some((at.next(), false));
                Ok((at, false))
            }
            Err(interrupt) => Err(interrupt.into()),
        }
    }

    /// Runs what needs no gate, as a transaction of its own: it reads no rows. So a change of the schema that takes
    /// long keeps nobody from looking what it waits for.
    pub(crate) fn run_detached(
        &mut self,
        schema: &SchemaVersion,
        body: impl FnOnce(&mut Self) -> Result<(), Interrupt>,
    ) -> Result<(CommitTs, bool)> {
        self.notices.clear();
        self.pure = false;
        self.begin();
        let outcome = body(self);
        self.met = if self.inputs.unlogged { None } else { self.txn.newest_met(&schema.tables) };
        if outcome.is_ok() {
            self.speak(self.engine.clock.now());
        }
        self.end_locks();
        self.settings.end_statement(outcome.is_ok());
        self.follow_role();
        self.end_statement_of_cursors(outcome.is_ok());
        self.txn.abort(&schema.tables);
        self.share.end_transaction(&self.engine.meter);
        match outcome {
            Ok(()) => {
                self.engine.counters.commit(self.worker);
                let ts = self.engine.clock.now();
                self.last_commit = Some((ts, false));
                Ok((ts, false))
            }
            Err(interrupt) => Err(interrupt.into()),
        }
    }

    /// Runs `f` in the snapshot that is being read.
    pub(crate) fn in_snapshot(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<(), Interrupt>,
    ) -> Result<(), Interrupt> {
        self.pure = false;
        self.machine.reset();
        if let Some(Reading { reader, used, .. }) = self.reading.as_deref_mut() {
            *used = true;
            reader.begin();
        }
        let outcome = f(self);
        if let Some(Reading { reader, open, .. }) = self.reading.as_deref_mut() {
            reader.end(&open.schema.tables);
        }
        outcome
    }

    /// Begins a transaction block.
    pub(crate) fn begin_block(&mut self, read_only: bool, isolation: Isolation) -> Result<()> {
        self.isolation = isolation;
        if read_only {
            self.reading = Some(self.open_reading()?);
            self.begin_state();
        } else {
            self.begin_writing()?;
        }
        self.inputs.begin_block();
        self.block = Block::Open;
        (self.read_only, self.used) = (read_only, false);
        self.settings.begin();
        self.show_isolation()?;
        self.show_read_only()
    }

    /// The transaction claims what it writes, and has the level of the block.
    fn claim_writes(&mut self) {
        self.txn.claim_writes();
        self.txn.set_level(self.isolation.effective());
    }

    fn show_isolation(&mut self) -> Result<()> {
        let value = self.isolation.name().to_owned();
        self.settings.set("transaction_isolation", Some(&[value]), true)
    }

    /// SET TRANSACTION, or what is the `default`.
    pub(crate) fn set_modes(
        &mut self,
        default: bool,
        read_only: Option<bool>,
        isolation: Option<Isolation>,
    ) -> Result<()> {
        if default {
            let on = |on: bool| if on { "on" } else { "off" };
            let modes = [
                ("default_transaction_read_only", read_only.map(on)),
                ("default_transaction_isolation", isolation.map(Isolation::name)),
            ];
            for (name, value) in modes {
                if let Some(value) = value {
                    self.settings.set(name, Some(&[value.to_owned()]), false)?;
                }
            }
            return Ok(());
        }
        if matches!(self.block, Block::None) {
            self.warn("SET TRANSACTION can only be used in transaction blocks");
            return Ok(());
        }
        if let Some(isolation) = isolation {
            self.set_isolation(isolation)?;
        }
        read_only.map_or(Ok(()), |read_only| self.set_read_only(read_only))
    }

    /// SET TRANSACTION ISOLATION LEVEL; without effect outside of a block. 25001 where it is too late.
    pub(crate) fn set_isolation(&mut self, isolation: Isolation) -> Result<()> {
        if matches!(self.block, Block::None) || isolation == self.isolation {
            return Ok(());
        }
        let too_late = |message| Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        if self.reading.as_ref().map_or(self.used, |reading| reading.used) {
            return too_late("SET TRANSACTION ISOLATION LEVEL must be called before any query");
        }
        if !self.savepoints.is_empty() {
            return too_late("SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction");
        }
        self.isolation = isolation;
        if self.reading.is_none() {
            self.txn.set_level(isolation.effective());
        }
        self.show_isolation()
    }

    fn begin_writing(&mut self) -> Result<()> {
        if self.engine.traits.concurrent {
            // A block that has done nothing yet disturbs nobody: see `catch_up`.
            if self.is_stale() {
                self.refresh();
            }
            self.begin();
        } else {
            self.enter()?;
            self.begin_in_turn()?;
            self.leave();
        }
        self.claim_writes();
        self.show_process();
        Ok(())
    }

    fn show_read_only(&mut self) -> Result<()> {
        let value = if self.read_only { "on" } else { "off" };
        self.settings.set("transaction_read_only", Some(&[value.to_owned()]), true)
    }

    /// SET TRANSACTION READ ONLY or READ WRITE; without effect outside of a block. 25001 where it is too late.
    pub(crate) fn set_read_only(&mut self, read_only: bool) -> Result<()> {
        if matches!(self.block, Block::None) || read_only == self.read_only {
            return Ok(());
        }
        let used = self.reading.as_ref().map_or(self.used, |reading| reading.used);
        if !read_only && used {
            let message = "transaction read-write mode must be set before any query";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        if !used && self.savepoints.is_empty() {
            if read_only {
                let schema = self.schema.clone();
                self.txn.abort(&schema.tables);
                self.reading = Some(self.open_reading()?);
                self.begin_state();
            } else {
                self.reading = None;
                self.begin_writing()?;
            }
        } else if !read_only {
            return Err(Error::new(
                SqlState::ACTIVE_SQL_TRANSACTION,
                "cannot set transaction read-write mode inside a read-only transaction",
            ));
        }
        self.read_only = read_only;
        self.show_read_only()
    }
}

/// The command tag of a statement that writes by its very kind, as PostgreSQL names it in errors.
fn writes_as(kind: &StatementKind) -> Option<&'static str> {
    Some(match kind {
        StatementKind::Insert(_) => "INSERT",
        StatementKind::Update(_) => "UPDATE",
        StatementKind::Delete(_) => "DELETE",
        StatementKind::Merge(_) => "MERGE",
        StatementKind::Query(query) => match query.locking.first()?.strength {
            Strength::Update => "SELECT FOR UPDATE",
            Strength::NoKeyUpdate => "SELECT FOR NO KEY UPDATE",
            Strength::Share => "SELECT FOR SHARE",
            Strength::KeyShare => "SELECT FOR KEY SHARE",
        },
        StatementKind::Copy(copy) if copy.from => "COPY FROM",
        StatementKind::CreateTable(_) => "CREATE TABLE",
        StatementKind::CreateTableAs { .. } => "CREATE TABLE AS",
        StatementKind::CreateIndex(_) => "CREATE INDEX",
        StatementKind::CreateView { .. } => "CREATE VIEW",
        StatementKind::AlterView { .. } => "ALTER VIEW",
        StatementKind::CreateMaterialized { .. } => "CREATE MATERIALIZED VIEW",
        StatementKind::Refresh { .. } => "REFRESH MATERIALIZED VIEW",
        StatementKind::CreateSequence { .. } => "CREATE SEQUENCE",
        StatementKind::AlterSequence { .. } => "ALTER SEQUENCE",
        StatementKind::CreateRoutine(routine) if routine.procedure => "CREATE PROCEDURE",
        StatementKind::CreateRoutine(_) => "CREATE FUNCTION",
        StatementKind::CreateEnum { .. } => "CREATE TYPE",
        StatementKind::CreateComposite { .. } => "CREATE TYPE",
        StatementKind::AlterComposite { .. } => "ALTER TYPE",
        StatementKind::CreateDomain { .. } => "CREATE DOMAIN",
        StatementKind::AlterEnum { .. } => "ALTER TYPE",
        StatementKind::AlterDomain { .. } => "ALTER DOMAIN",
        StatementKind::RenameType { ty, .. } if ty.domain => "ALTER DOMAIN",
        StatementKind::RenameType { .. } => "ALTER TYPE",
        StatementKind::DropType { domain: true, .. } => "DROP DOMAIN",
        StatementKind::DropType { .. } => "DROP TYPE",
        StatementKind::Cast(change) => match **change {
            CastChange::Create { .. } => "CREATE CAST",
            CastChange::Drop { .. } => "DROP CAST",
        },
        StatementKind::Statistics(change) => match **change {
            StatisticsChange::Create { .. } => "CREATE STATISTICS",
            StatisticsChange::Alter { .. } => "ALTER STATISTICS",
            StatisticsChange::Drop { .. } => "DROP STATISTICS",
        },
        StatementKind::Aggregate(change) => match **change {
            AggregateChange::Create(_) => "CREATE AGGREGATE",
            AggregateChange::Drop { .. } => "DROP AGGREGATE",
        },
        StatementKind::Extension(change) => match **change {
            ExtensionChange::Create { .. } => "CREATE EXTENSION",
            ExtensionChange::Drop { .. } => "DROP EXTENSION",
        },
        StatementKind::CreateSchema { .. } => "CREATE SCHEMA",
        StatementKind::Drop { object, .. } => of_object(*object).0,
        StatementKind::DropRoutine { procedure: Some(true), .. } => "DROP PROCEDURE",
        StatementKind::DropRoutine { procedure: Some(false), .. } => "DROP FUNCTION",
        StatementKind::DropRoutine { .. } => "DROP ROUTINE",
        StatementKind::AlterTable { .. } => "ALTER TABLE",
        StatementKind::AttachIndex { .. } | StatementKind::AlterIndex { .. } => "ALTER INDEX",
        StatementKind::Rename { object, .. } => of_object(*object).1,
        StatementKind::Truncate { .. } => "TRUNCATE TABLE",
        StatementKind::CreateTrigger(_) => "CREATE TRIGGER",
        StatementKind::DropTrigger { .. } => "DROP TRIGGER",
        StatementKind::RenameTrigger { .. } => "ALTER TRIGGER",
        StatementKind::CreatePolicy(_) => "CREATE POLICY",
        StatementKind::AlterPolicy { .. } => "ALTER POLICY",
        StatementKind::DropPolicy { .. } => "DROP POLICY",
        StatementKind::CreateRole { .. } => "CREATE ROLE",
        StatementKind::AlterRole { .. } => "ALTER ROLE",
        StatementKind::AlterDefaults { of: DefaultsOf::Database(_), .. } => "ALTER DATABASE",
        StatementKind::AlterDefaults { .. } => "ALTER ROLE",
        StatementKind::DropRole { .. } => "DROP ROLE",
        StatementKind::Grant(grant) if grant.revoke => "REVOKE",
        StatementKind::Grant(_) => "GRANT",
        StatementKind::GrantRole { revoke: true, .. } => "REVOKE ROLE",
        StatementKind::GrantRole { .. } => "GRANT ROLE",
        StatementKind::AlterOwner { object, .. } => match object {
            OwnedObject::Relation(object, ..) => of_object(*object).1,
            OwnedObject::Routine(_) => "ALTER ROUTINE",
            OwnedObject::Type(ty) if ty.domain => "ALTER DOMAIN",
            OwnedObject::Type(_) => "ALTER TYPE",
            OwnedObject::Schema(..) => "ALTER SCHEMA",
            OwnedObject::Database(..) => "ALTER DATABASE",
        },
        StatementKind::Comment { .. } => "COMMENT",
        StatementKind::ReassignOwned { .. } => "REASSIGN OWNED",
        StatementKind::DropOwned { .. } => "DROP OWNED",
        _ => return None,
    })
}

/// To drop it, and to alter it.
fn of_object(object: ObjectKind) -> (&'static str, &'static str) {
    match object {
        ObjectKind::Table => ("DROP TABLE", "ALTER TABLE"),
        ObjectKind::Index => ("DROP INDEX", "ALTER INDEX"),
        ObjectKind::View => ("DROP VIEW", "ALTER VIEW"),
        ObjectKind::MaterializedView => ("DROP MATERIALIZED VIEW", "ALTER MATERIALIZED VIEW"),
        ObjectKind::Sequence => ("DROP SEQUENCE", "ALTER SEQUENCE"),
        ObjectKind::Schema => ("DROP SCHEMA", "ALTER SCHEMA"),
    }
}
