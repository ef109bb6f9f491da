//! The way in: what an engine and its sessions can do, whatever the protocol; one virtual call per statement.

use super::Engine;
use super::checkpoint::FULL_SPEED;
use super::checkpointer::Checkpointer;
use super::collector::Collector;
use super::prepared::{PreparedStatement, Resolved};
use super::serve::KeptState;
use super::session::{Block, SessionCore};
use super::waiting::Sleeper;
use crate::clients::Clients;
use crate::graph::{Graph, GraphRequest};
use crate::options::{Options, RecoveryReport};
use crate::params::Params;
use crate::row::{Column, Rows};
use crate::session::{Notice, PreparedCall, StatementResult, Submitted};
use crate::sink::RowSink;
use crate::statement::{Done, Parsed, TransactionStatus};
use crate::stats::{CheckpointReport, Memory, Stats};
use crate::system::Stock;
use crate::ticket::Ticket;
use planaria_base::clock::CommitClock;
use planaria_base::sync::Instant;
use planaria_base::{CommitTs, Epoch, Error, Result, RoleId, SqlState, Type};
use planaria_catalog::Catalog;
use planaria_log::Device;
use planaria_protocol::Hosted;
use planaria_storage::reclaim::Participant;
use planaria_syntax::ast;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The engine, whatever its protocol.
pub(crate) trait EngineApi: Send + Sync {
    /// 55000 in a process that did not open it.
    fn check_process(&self) -> Result<()>;
    fn session(&self) -> Result<Box<dyn SessionApi>>;
    fn catalog(&self) -> Arc<Catalog>;
    fn stats(&self) -> Stats;
    fn identity(&self) -> Option<[u8; 16]>;
    /// What somebody else holds goes from so many bytes to so many; 53200 where that may be refused.
    fn hold(&self, before: u64, now: u64, refusable: bool) -> Result<()>;
    fn recovery(&self) -> Option<RecoveryReport>;
    fn digests(&self) -> Result<Vec<(String, u128)>>;
    fn check(&self) -> Result<()>;
    fn graph(&self, request: &GraphRequest) -> Result<Graph>;
    fn open_on_copy(&self, device: Option<Arc<dyn Device>>, options: &Options) -> Result<Arc<dyn EngineApi>>;
    fn flush(&self) -> Result<()>;
    fn served_to(&self, clients: &Arc<dyn Clients>);
    /// Spread over about so much time.
    fn checkpoint(&self, time: Duration) -> Result<CheckpointReport>;
    fn close(&self) -> Result<()>;
    /// Writes the database into an empty directory. Of one that was replayed to be restored: the identity the
    /// copy gets, a new one without, and the epoch it shows at least.
    fn backup(
        &self,
        device: Arc<dyn Device>,
        restored: Option<(Option<[u8; 16]>, Epoch)>,
    ) -> Result<CheckpointReport>;
}

/// A session, whatever the protocol.
pub(crate) trait SessionApi: Send {
    /// Runs one statement and waits until it is durable.
    fn statement(
        &mut self,
        statement: &ast::Statement,
        text: &str,
        params: &dyn Params,
    ) -> Result<StatementResult>;
    /// The same from its text, which is kept analysed.
    fn statement_text(&mut self, text: &str, params: &dyn Params) -> Result<StatementResult>;
    fn prepare(&mut self, text: &str) -> Result<Arc<PreparedStatement>>;
    fn run_prepared(&mut self, statement: &PreparedStatement, params: &dyn Params)
    -> Result<StatementResult>;
    /// Analyses a parsed statement whose first parameters have these types, where they are known.
    fn prepare_parsed(&mut self, parsed: &Parsed, types: &[Option<Type>]) -> Result<Arc<PreparedStatement>>;
    fn recall(&mut self, text: &str, types: &[Option<Type>]) -> Option<Arc<PreparedStatement>>;
    fn remember(&mut self, text: &str, statement: &Arc<PreparedStatement>);
    fn name(&mut self, name: &str, statement: &Arc<PreparedStatement>) -> Result<()>;
    fn named(&self, name: &str) -> Option<&Arc<PreparedStatement>>;
    fn forget(&mut self, name: &str);
    /// The columns of a cursor, if there is one of that name.
    fn cursor(&self, name: &str) -> Option<Arc<[Column]>>;
    /// The next rows of a cursor, at most `n` (0: all).
    fn fetch(&mut self, name: &str, n: usize) -> Result<Rows>;
    fn close_cursor(&mut self, name: &str);
    /// Runs a statement without waiting for the disk; its rows go to the sink.
    fn start(
        &mut self,
        statement: &PreparedStatement,
        params: &dyn Params,
        sink: &mut dyn RowSink,
    ) -> Result<Done>;
    /// BEGIN, COMMIT or ROLLBACK, without waiting for the disk; the command tag.
    fn control(&mut self, transaction: &ast::Transaction) -> Result<(String, Ticket)>;
    /// The open transaction block has failed.
    fn fail_block(&mut self);
    /// Whether the session has advisory locks, which cannot be another one's.
    fn keeps_locks(&self) -> bool;
    /// Puts the state of another session in place of this one's.
    fn swap_state(&mut self, state: &mut KeptState);
    fn wait(&mut self, ticket: &Ticket) -> Result<()>;
    /// Becomes the session of a role, as if it had logged in.
    fn log_in_as(&mut self, role: &str) -> Result<()>;
    fn cancelled_by(&mut self, flag: &Arc<AtomicBool>);
    /// What cancels this session's statements.
    fn cancel_flag(&self) -> Arc<AtomicBool>;
    /// When statements end that are begun from now on; `None`: when `statement_timeout` says.
    fn ends_by(&mut self, deadline: Option<Instant>);
    /// 57014 where a statement that is under way is to end.
    fn check_cancelled(&self) -> Result<()>;
    fn numbered(&mut self, number: i32);
    fn role(&self) -> RoleId;
    fn sleeps_by(&mut self, sleeper: Sleeper);
    /// Place of the last transaction that committed, and whether it drew it.
    fn last_commit(&self) -> Option<(CommitTs, bool)>;
    fn set(&mut self, name: &str, value: &str) -> Result<()>;
    fn setting(&self, name: &str) -> Result<&str>;
    fn settings_changes(&self) -> u64;
    fn setting_milliseconds(&self, name: &str) -> u64;
    fn resolve_call(&mut self, name: &str, arguments: usize) -> Result<Arc<Resolved>>;
    fn submit(&mut self, call: &PreparedCall, params: &dyn Params) -> Result<Submitted>;
    fn transaction_status(&self) -> TransactionStatus;
    fn take_notices(&mut self) -> Vec<Notice>;
    fn catalog(&mut self) -> Arc<Catalog>;
    /// After a panic of one of its methods: undoes what is open; from now on statements are refused.
    fn panicked(&mut self);
    fn has_panicked(&self) -> bool;
}

/// The engine as [`EngineApi`]: sessions need to share it. Dropping it ends its threads.
pub(super) struct Handle<P: Hosted>(
    Arc<Engine<P>>,
    #[allow(dead_code, reason = "dropping it is its use")] Option<Checkpointer>,
    #[allow(dead_code, reason = "dropping it is its use")] Option<Collector>,
);

impl<P: Hosted> Handle<P> {
    pub(super) fn open(engine: Arc<Engine<P>>, options: &Options) -> Result<Arc<dyn EngineApi>> {
        let checkpointer = Checkpointer::start(&engine, options.checkpoints)?;
        let collector = Collector::start(&engine)?;
        Ok(Arc::new(Handle(engine, checkpointer, collector)))
    }

    /// Of an engine whose state nobody changes any more.
    pub(super) fn replayed(engine: Arc<Engine<P>>) -> Result<Arc<dyn EngineApi>> {
        let collector = Collector::start(&engine)?;
        Ok(Arc::new(Handle(engine, None, collector)))
    }
}

impl<P: Hosted> EngineApi for Handle<P> {
    fn check_process(&self) -> Result<()> {
        if self.0.process.is_copy() { self.0.check_open() } else { Ok(()) }
    }

    fn session(&self) -> Result<Box<dyn SessionApi>> {
        self.0.check_open()?;
        Ok(Box::new(SessionCore::new(self.0.clone())?))
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.0.schema.load().catalog.clone()
    }

    fn stats(&self) -> Stats {
        let engine = &*self.0;
        let memory = Memory {
            session_bytes: engine.meter.sessions(),
            log_buffer_bytes: engine.meter.log_buffers(),
            budget: engine.meter.budget(),
            ..engine.schema.load().memory()
        };
        let log = engine.log.get().map(|l| l.stats());
        Stats {
            commits: engine.counters.commits(),
            open_snapshots: engine.open_snapshots.all().len() as u64,
            aborts: engine.counters.aborts(),
            log_records: log.as_ref().map_or(0, |l| l.records),
            log_bytes: log.as_ref().map_or(0, |l| l.bytes),
            fsyncs: log.as_ref().map_or(0, |l| l.syncs),
            sync_time: log.as_ref().map_or(Duration::ZERO, |l| l.sync_time),
            sync_histogram: log.as_ref().map_or(Vec::new(), |l| l.sync_histogram.to_vec()),
            memory,
            checkpoint: engine.checkpoint_stats(),
        }
    }

    fn identity(&self) -> Option<[u8; 16]> {
        self.0.log.get().and_then(|log| log.database())
    }

    fn hold(&self, before: u64, now: u64, refusable: bool) -> Result<()> {
        let engine = &*self.0;
        engine.meter.hold(before, now, refusable, || engine.schema.load())
    }

    fn served_to(&self, clients: &Arc<dyn Clients>) {
        self.0.clients.set(clients);
    }

    fn recovery(&self) -> Option<RecoveryReport> {
        self.0.recovery.lock().clone()
    }

    fn digests(&self) -> Result<Vec<(String, u128)>> {
        let engine = &*self.0;
        engine.check_open()?;
        engine.gate.check_not_own("computing digests")?;
        let _alone = engine.gate.close();
        let schema = engine.schema.load_full();
        let mut participant = Participant::new();
        let guard = participant.guard();
        let mut digests: Vec<(String, u128)> = schema
            .tables
            .digest(guard.pinned())
            .into_iter()
            .map(|(id, d)| {
                let name = schema.catalog.table_by_id(id).name.clone();
                (name, u128::from(d.rows) << 64 | u128::from(d.hash))
            })
            .collect();
        digests.sort();
        Ok(digests)
    }

    fn check(&self) -> Result<()> {
        self.0.check_open()?;
        self.0.gate.check_not_own("a check")?;
        let _alone = self.0.gate.close();
        let schema = self.0.schema.load_full();
        let mut participant = Participant::new();
        let guard = participant.guard();
        for table in schema.tables.iter() {
            table.check(guard.pinned()).map_err(|what| {
                let name = &schema.catalog.table_by_id(table.id()).name;
                Error::new(SqlState::DATA_CORRUPTED, format!("table \"{name}\" is damaged: {what}"))
            })?;
        }
        Ok(())
    }

    fn graph(&self, request: &GraphRequest) -> Result<Graph> {
        super::graph::graph(&self.0.schema.load_full(), request)
    }

    fn open_on_copy(&self, device: Option<Arc<dyn Device>>, options: &Options) -> Result<Arc<dyn EngineApi>> {
        self.0.check_open()?;
        let copy = Engine::<P>::new(Arc::new(CommitClock::new(self.0.clock.epoch().next())), options)?;
        copy.install(Arc::new(self.0.copy_state()?));
        Handle::open(copy.start(device, options)?, options)
    }

    fn checkpoint(&self, time: Duration) -> Result<CheckpointReport> {
        self.0.check_open()?;
        self.0.gate.check_not_own("a checkpoint")?;
        let start = Instant::now();
        // The last blocks have to be on disk in time, too.
        let due = || start.elapsed().as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE);
        self.0.checkpoint(&|| Ok(()), &|share| self.0.leave_cores(share, &due))
    }

    fn close(&self) -> Result<()> {
        let engine = &self.0;
        engine.check_open()?;
        engine.closed.store(true, Ordering::SeqCst);
        // A block that is changing the schema will not be committed any more, and must not be waited for.
        let written = match engine.checkpoint_on_close && !engine.gate.is_held() {
            true => engine.checkpoint(&|| Ok(()), FULL_SPEED).map(|_| ()),
            false => Ok(()),
        };
        // Nobody may write among the files of whoever opens them next.
        engine.stopping.store(true, Ordering::SeqCst);
        drop(engine.checkpoints.lock());
        written.and(engine.log.get().map_or(Ok(()), |log| log.stop()))
    }

    fn backup(
        &self,
        device: Arc<dyn Device>,
        restored: Option<(Option<[u8; 16]>, Epoch)>,
    ) -> Result<CheckpointReport> {
        self.0.check_open()?;
        self.0.gate.check_not_own("a backup")?;
        self.0.backup(&*device, restored, &|| Ok(()))
    }

    fn flush(&self) -> Result<()> {
        self.0.check_open()?;
        self.0.log.get().map_or(Ok(()), |log| log.flush().map(|_| ()))
    }
}

impl<P: Hosted> SessionApi for SessionCore<P> {
    fn statement(
        &mut self,
        statement: &ast::Statement,
        text: &str,
        params: &dyn Params,
    ) -> Result<StatementResult> {
        self.in_time(|s| {
            let outcome = s.run_statement(statement, text, params);
            s.finish(outcome)
        })
    }
    fn statement_text(&mut self, text: &str, params: &dyn Params) -> Result<StatementResult> {
        self.in_time(|s| {
            let outcome = s.prepare_text(text, params).and_then(|p| s.run_prepared_statement(&p, params));
            s.finish(outcome)
        })
    }
    fn prepare(&mut self, text: &str) -> Result<Arc<PreparedStatement>> {
        self.in_time(|s| s.prepare_text(text, &()))
    }
    fn run_prepared(
        &mut self,
        statement: &PreparedStatement,
        params: &dyn Params,
    ) -> Result<StatementResult> {
        self.in_time(|s| {
            let outcome = s.run_prepared_statement(statement, params);
            s.finish(outcome)
        })
    }
    fn prepare_parsed(&mut self, parsed: &Parsed, types: &[Option<Type>]) -> Result<Arc<PreparedStatement>> {
        let outcome = self.in_time(|s| s.prepare_statement(parsed, types));
        self.fail_block_on_error(outcome)
    }
    fn start(
        &mut self,
        statement: &PreparedStatement,
        params: &dyn Params,
        sink: &mut dyn RowSink,
    ) -> Result<Done> {
        let outcome = self.in_time(|s| s.start_statement(statement, params, sink));
        self.fail_block_on_error(outcome)
    }
    fn log_in_as(&mut self, role: &str) -> Result<()> {
        SessionCore::log_in_as(self, role)
    }
    fn panicked(&mut self) {
        self.panicked = true;
        // Not what it reads: that goes with the session.
        self.undo();
        self.block = Block::None;
        self.engine.gate.leave(self.worker);
    }
    fn has_panicked(&self) -> bool {
        self.panicked
    }
    fn fail_block(&mut self) {
        if matches!(self.block, Block::Open) {
            self.block_failed(false);
        }
    }
    fn control(&mut self, transaction: &ast::Transaction) -> Result<(String, Ticket)> {
        self.notices.clear();
        let tag = self.in_time(|s| s.transaction_control(transaction))?.tag;
        Ok((tag, std::mem::replace(&mut self.pending, Ticket::done())))
    }
    fn recall(&mut self, text: &str, types: &[Option<Type>]) -> Option<Arc<PreparedStatement>> {
        self.recall_statement(text, types)
    }
    fn remember(&mut self, text: &str, statement: &Arc<PreparedStatement>) {
        self.remember_statement(text, statement);
    }
    fn name(&mut self, name: &str, statement: &Arc<PreparedStatement>) -> Result<()> {
        self.name_statement(name, statement)
    }
    fn named(&self, name: &str) -> Option<&Arc<PreparedStatement>> {
        self.statements.named.get(name)
    }
    fn forget(&mut self, name: &str) {
        self.statements.named.remove(name);
    }
    fn wait(&mut self, ticket: &Ticket) -> Result<()> {
        self.until_durable(ticket)
    }
    fn keeps_locks(&self) -> bool {
        !self.own_locks.is_empty()
    }
    fn swap_state(&mut self, state: &mut KeptState) {
        self.give_memory_back();
        self.exchange_state(state);
    }
    fn cancelled_by(&mut self, flag: &Arc<AtomicBool>) {
        self.cancel.listen_to(flag);
        self.watch = None;
    }
    fn cancel_flag(&self) -> Arc<AtomicBool> {
        self.cancel.flag().clone()
    }
    fn ends_by(&mut self, deadline: Option<Instant>) {
        self.cancel.ends_by(deadline);
    }
    fn check_cancelled(&self) -> Result<()> {
        self.cancel.check()
    }
    fn cursor(&self, name: &str) -> Option<Arc<[Column]>> {
        self.cursor_columns(name)
    }
    fn fetch(&mut self, name: &str, n: usize) -> Result<Rows> {
        let outcome = self.check_block(None).and_then(|()| self.fetch_next(name, n));
        let rows = self.fail_block_on_error(outcome)?;
        self.ticket_in_block()?.wait()?;
        Ok(rows)
    }
    fn close_cursor(&mut self, name: &str) {
        self.cursors.remove(name);
    }
    fn numbered(&mut self, number: i32) {
        self.number = Some(number);
    }
    fn role(&self) -> RoleId {
        self.user.session()
    }
    fn sleeps_by(&mut self, sleeper: Sleeper) {
        self.sleeps_by = sleeper;
    }
    fn last_commit(&self) -> Option<(CommitTs, bool)> {
        self.last_commit
    }
    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.settings.set(name, Some(&[value.to_owned()]), false)
    }
    fn setting(&self, name: &str) -> Result<&str> {
        self.settings.get(name)
    }
    fn settings_changes(&self) -> u64 {
        self.settings.changes()
    }
    fn setting_milliseconds(&self, name: &str) -> u64 {
        self.settings.milliseconds(name)
    }
    fn resolve_call(&mut self, name: &str, arguments: usize) -> Result<Arc<Resolved>> {
        self.in_time(|s| s.resolve(name, arguments)).map(Arc::new)
    }
    fn submit(&mut self, call: &PreparedCall, params: &dyn Params) -> Result<Submitted> {
        let outcome = self.in_time(|s| s.submit_call(call, params));
        self.fail_block_on_error(outcome)
    }
    fn transaction_status(&self) -> TransactionStatus {
        match self.block {
            Block::None => TransactionStatus::Idle,
            Block::Open => TransactionStatus::Open,
            Block::Failed => TransactionStatus::Failed,
        }
    }
    fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }
    fn catalog(&mut self) -> Arc<Catalog> {
        self.newest_catalog()
    }
}
