//! The way in: what an engine and its sessions can do.

use crate::engine::Engine;
use crate::engine::channels::{Channels, Mailbox};
use crate::engine::checkpoint::FULL_SPEED;
use crate::engine::checkpointer::Checkpointer;
use crate::engine::collector::Collector;
use crate::engine::nap::Sleeper;
use crate::graph::{Graph, GraphRequest};
use crate::notice::Notice;
use crate::options::{Options, RecoveryReport};
use crate::params::Params;
use crate::row::{Columns, Rows};
use crate::serving::clients::Clients;
use crate::serving::host::Host;
use crate::serving::statement::{Done, Parsed};
use crate::session::copy_triggers::CopyTriggers;
use crate::session::core::{Block, SessionCore};
use crate::session::given::Given;
use crate::session::kept::KeptState;
use crate::session::prepared::{PreparedStatement, Resolved};
use crate::session::{PreparedCall, StatementResult, Submitted};
use crate::sink::RowSink;
use crate::statement::TransactionStatus;
use crate::stats::{CheckpointReport, Memory, Stats};
use crate::system::Stock;
use crate::ticket::Ticket;
use planaria_base::clock::CommitClock;
use planaria_base::sync::{Instant, Mutex};
use planaria_base::{CommitTs, Epoch, Error, Result, RoleId, SqlState, Type};
use planaria_catalog::Catalog;
use planaria_log::Device;
use planaria_storage::reclaim::Participant;
use planaria_syntax::ast;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// An engine and its threads, which end when this is dropped; sessions share the engine.
pub(crate) struct EngineHandle(
    Arc<Engine>,
    Mutex<Option<Checkpointer>>,
    #[allow(dead_code, reason = "dropping it is its use")] Option<Collector>,
);

impl EngineHandle {
    pub(crate) fn open(engine: Arc<Engine>) -> Result<Arc<EngineHandle>> {
        let checkpointer = Mutex::new(Checkpointer::start(&engine)?);
        let collector = Collector::start(&engine)?;
        Ok(Arc::new(EngineHandle(engine, checkpointer, collector)))
    }

    /// Of an engine whose state nobody changes any more.
    pub(crate) fn replayed(engine: Arc<Engine>) -> Result<Arc<EngineHandle>> {
        let collector = Collector::start(&engine)?;
        Ok(Arc::new(EngineHandle(engine, Mutex::new(None), collector)))
    }
}

impl EngineHandle {
    /// 55000 in a process that did not open it.
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.0.process.is_copy() { self.0.check_open() } else { Ok(()) }
    }

    pub(crate) fn session(&self) -> Result<Box<SessionCore>> {
        self.0.check_open()?;
        Ok(Box::new(SessionCore::new(self.0.clone())?))
    }

    pub(crate) fn channels(&self) -> &Arc<Channels> {
        &self.0.channels
    }

    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        self.0.schema.load().catalog.clone()
    }

    pub(crate) fn stats(&self) -> Stats {
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
            healing: engine.counters.healing(),
            waiting: engine.waiting(),
            log_records: log.as_ref().map_or(0, |l| l.records),
            log_bytes: log.as_ref().map_or(0, |l| l.bytes),
            fsyncs: log.as_ref().map_or(0, |l| l.syncs),
            sync_time: log.as_ref().map_or(Duration::ZERO, |l| l.sync_time),
            sync_histogram: log.as_ref().map_or(Vec::new(), |l| l.sync_histogram.to_vec()),
            memory,
            checkpoint: engine.checkpoint_stats(),
        }
    }

    pub(crate) fn identity(&self) -> Option<[u8; 16]> {
        self.0.log.get().and_then(|log| log.database())
    }

    /// What somebody else holds goes from so many bytes to so many; 53200 where that may be refused.
    pub(crate) fn hold(&self, before: u64, now: u64, refusable: bool) -> Result<()> {
        let engine = &*self.0;
        engine.meter.hold(before, now, refusable, || engine.schema.load())
    }

    pub(crate) fn served_to(&self, clients: &Arc<dyn Clients>) {
        self.0.clients.set(clients);
    }

    pub(crate) fn hosted_by(&self, host: &Arc<dyn Host>) {
        self.0.host.set(host);
    }

    pub(crate) fn reconfigure(&self, options: &Options) -> Result<()> {
        options.check()?;
        self.0.defaults.store(Arc::new(options.defaults.clone()));
        *self.0.policy.lock() = options.checkpoints;
        let mut checkpointer = self.1.lock();
        if checkpointer.is_none() {
            *checkpointer = Checkpointer::start(&self.0)?;
        }
        Ok(())
    }

    pub(crate) fn recovery(&self) -> Option<RecoveryReport> {
        self.0.recovery.lock().clone()
    }

    pub(crate) fn digests(&self) -> Result<Vec<(String, u128)>> {
        let engine = &*self.0;
        engine.check_open()?;
        engine.gate.check_not_own("computing digests")?;
        let _alone = engine.gate.close();
        let schema = engine.schema.load_full();
        let mut participant = Participant::new();
        let guard = participant.guard();
        let mut digests: Vec<(String, u128)> = schema
            .tables
            .iter()
            .map(|table| {
                let d = table.digest(guard.pinned());
                let name = schema.catalog.table_by_id(table.id()).name.clone();
                (name, u128::from(d.rows) << 64 | u128::from(d.hash))
            })
            .collect();
        digests.sort();
        Ok(digests)
    }

    pub(crate) fn check(&self) -> Result<()> {
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

    pub(crate) fn graph(&self, request: &GraphRequest) -> Result<Graph> {
        crate::engine::graph::graph(&self.0.schema.load_full(), request)
    }

    pub(crate) fn open_on_copy(
        &self,
        device: Option<Arc<dyn Device>>,
        options: &Options,
    ) -> Result<Arc<EngineHandle>> {
        self.0.check_open()?;
        let clock = Arc::new(CommitClock::new(self.0.clock.epoch().next()));
        let copy = Engine::new(self.0.store.another(clock.clone()), clock, options)?;
        copy.install(Arc::new(self.0.copy_state()?));
        EngineHandle::open(copy.start(device, options)?)
    }

    /// Spread over about so much time.
    pub(crate) fn checkpoint(&self, time: Duration) -> Result<CheckpointReport> {
        self.0.check_open()?;
        self.0.gate.check_not_own("a checkpoint")?;
        let start = Instant::now();
        // The last blocks have to be on disk in time, too.
        let due = || start.elapsed().as_secs_f64() / time.as_secs_f64().max(f64::MIN_POSITIVE);
        self.0.checkpoint(&|| Ok(()), &|share| self.0.leave_cores(share, &due))
    }

    pub(crate) fn close(&self) -> Result<()> {
        let engine = &self.0;
        engine.check_open()?;
        engine.closed.store(true, Ordering::SeqCst);
        engine.channels.close();
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

    /// Writes the database into an empty directory. Of one that was replayed to be restored: the identity the
    /// copy gets, a new one without, and the epoch it shows at least.
    pub(crate) fn backup(
        &self,
        device: Arc<dyn Device>,
        restored: Option<(Option<[u8; 16]>, Epoch)>,
    ) -> Result<CheckpointReport> {
        self.0.check_open()?;
        self.0.gate.check_not_own("a backup")?;
        self.0.backup(&*device, restored, &|| Ok(()))
    }

    pub(crate) fn flush(&self) -> Result<()> {
        self.0.check_open()?;
        self.0.log.get().map_or(Ok(()), |log| log.flush().map(|_| ()))
    }
}

impl SessionCore {
    /// Runs one statement and waits until it is durable.
    pub(crate) fn statement(
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
    /// The same from its text, which is kept analysed.
    pub(crate) fn statement_text(&mut self, text: &str, params: &dyn Params) -> Result<StatementResult> {
        self.in_time(|s| {
            let outcome = s.prepare_text(text, params).and_then(|p| s.run_prepared_statement(&p, params));
            s.finish(outcome)
        })
    }
    pub(crate) fn prepare(&mut self, text: &str) -> Result<Arc<PreparedStatement>> {
        self.in_time(|s| s.prepare_text(text, &()))
    }
    pub(crate) fn run_prepared(
        &mut self,
        statement: &PreparedStatement,
        params: &dyn Params,
    ) -> Result<StatementResult> {
        self.in_time(|s| {
            let outcome = s.run_prepared_statement(statement, params);
            s.finish(outcome)
        })
    }
    /// The plan of a statement.
    pub(crate) fn plan(&mut self, statement: &PreparedStatement) -> Result<Option<String>> {
        self.in_time(|s| s.plan_of(statement))
    }
    /// Analyses a parsed statement whose first parameters have these types, where they are known.
    pub(crate) fn prepare_parsed(
        &mut self,
        parsed: &Parsed,
        types: &[Option<Type>],
    ) -> Result<Arc<PreparedStatement>> {
        let outcome = self.in_time(|s| s.prepare_statement(parsed, types));
        self.fail_block_on_error(outcome)
    }
    /// Runs a statement without waiting for the disk; its rows go to the sink.
    pub(crate) fn start(
        &mut self,
        statement: &PreparedStatement,
        params: &dyn Params,
        sink: &mut dyn RowSink,
    ) -> Result<Done> {
        let outcome = self.in_time(|s| {
            let outcome = s.start_statement(statement, params, sink);
            s.with_ticket(outcome)
        });
        self.fail_block_on_error(outcome).map(|(started, ticket)| started.done(ticket))
    }
    /// What fires around the rows of a COPY FROM.
    pub(crate) fn triggers_of_copy(&mut self, statement: &PreparedStatement) -> Result<Option<CopyTriggers>> {
        let outcome = self.in_time(|s| s.copy_triggers(statement));
        self.fail_block_on_error(outcome)
    }
    /// After a panic of one of its methods: undoes what is open; from now on statements are refused.
    pub(crate) fn panicked(&mut self) {
        self.panicked = true;
        // Not what it reads: that goes with the session.
        self.undo();
        self.block = Block::None;
        self.engine.gate.leave(self.worker);
        // As with any other error.
        let ticket = self.pending.take();
        let _ = self.until_durable(&ticket);
    }
    pub(crate) fn has_panicked(&self) -> bool {
        self.panicked
    }
    /// The open transaction block has failed.
    pub(crate) fn fail_block(&mut self) {
        if matches!(self.block, Block::Open) {
            self.block_failed(false);
        }
    }
    /// BEGIN, COMMIT or ROLLBACK, without waiting for the disk; the command tag.
    pub(crate) fn control(&mut self, transaction: &ast::Transaction) -> Result<(String, Ticket)> {
        self.notices.clear();
        self.in_time(|s| {
            let outcome = s.transaction_control(transaction).map(|ended| ended.tag);
            s.with_ticket(outcome)
        })
    }
    pub(crate) fn recall(&mut self, text: &str, types: &[Option<Type>]) -> Option<Arc<PreparedStatement>> {
        self.recall_statement(text, types)
    }
    pub(crate) fn prepare_general(
        &mut self,
        text: &str,
        types: &[Option<Type>],
        is_call: bool,
    ) -> Option<Arc<PreparedStatement>> {
        self.in_time(|s| Ok(s.prepare_general_statement(text, types, is_call))).ok().flatten()
    }
    pub(crate) fn remember(&mut self, text: &str, statement: &Arc<PreparedStatement>) {
        self.remember_statement(text, statement);
    }
    pub(crate) fn name(&mut self, name: &str, statement: &Arc<PreparedStatement>) -> Result<()> {
        self.name_statement(name, statement)
    }
    pub(crate) fn named(&self, name: &str) -> Option<&Arc<PreparedStatement>> {
        self.statements.named.get(name).map(|named| &named.statement)
    }
    pub(crate) fn forget(&mut self, name: &str) {
        self.statements.named.remove(name);
    }
    pub(crate) fn wait(&mut self, ticket: &Ticket) -> Result<()> {
        self.until_durable(ticket)
    }
    /// Whether the open transaction will be ended by this thread, and no other.
    pub(crate) fn stays_on_thread(&mut self, stays: bool) {
        match stays {
            true => self.engine.on_threads.began(self.worker),
            false => self.engine.on_threads.ended(self.worker),
        }
    }
    /// What comes for the session, if it listens to a channel.
    pub(crate) fn inbox(&self) -> Option<Arc<Mailbox>> {
        self.ears.mailbox().cloned()
    }
    /// Whether the session has advisory locks or temporary relations, which cannot be another one's.
    pub(crate) fn keeps_own(&self) -> bool {
        !self.own_locks.is_empty() || self.temporary.made
    }
    /// Puts the state of another session in place of this one's.
    pub(crate) fn swap_state(&mut self, state: &mut KeptState) {
        self.give_memory_back();
        self.exchange_state(state);
    }
    pub(crate) fn cancelled_by(&mut self, flag: &Arc<AtomicBool>) {
        self.cancel.listen_to(flag);
        self.watch = None;
    }
    /// What cancels this session's statements.
    pub(crate) fn cancel_flag(&self) -> Arc<AtomicBool> {
        self.cancel.flag().clone()
    }
    /// When statements end that are begun from now on; `None`: when `statement_timeout` says.
    pub(crate) fn ends_by(&mut self, deadline: Option<Instant>) {
        self.cancel.ends_by(deadline);
    }
    /// The columns of a cursor, if there is one of that name.
    pub(crate) fn cursor(&self, name: &str) -> Option<Columns> {
        self.cursor_columns(name)
    }
    /// The next rows of a cursor, at most `n` (0: all).
    pub(crate) fn fetch_rows(&mut self, name: &str, n: usize) -> Result<Rows> {
        let outcome = self.check_block(None).and_then(|()| self.fetch_next(name, n));
        let outcome = self.fail_block_on_error(outcome);
        let (rows, ticket) = self.with_ticket(outcome)?;
        ticket.and(self.ticket_in_block()?).wait()?;
        Ok(rows)
    }
    pub(crate) fn drop_cursor(&mut self, name: &str) {
        self.cursors.open.remove(name);
    }
    pub(crate) fn numbered(&mut self, number: i32) {
        self.number = Some(number);
    }
    pub(crate) fn role(&self) -> RoleId {
        self.user.session()
    }
    pub(crate) fn sleeps_by(&mut self, sleeper: Sleeper) {
        self.sleeps_by = sleeper;
    }
    /// Place of the last transaction that committed, and whether it drew it.
    pub(crate) fn last_commit(&self) -> Option<(CommitTs, bool)> {
        self.last_commit
    }
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<()> {
        self.check_of_superusers(name)?;
        self.settings.set(name, Some(&[value.to_owned()]), false)
    }
    pub(crate) fn begin_with(&mut self, name: &str, value: &str) -> Result<()> {
        self.check_of_superusers(name)?;
        self.settings.begin_with(name, value)
    }
    pub(crate) fn call_database(&mut self, name: &str) {
        self.settings.call_database(name);
    }
    pub(crate) fn setting(&self, name: &str) -> Result<&str> {
        self.settings.get(name)
    }
    pub(crate) fn settings_changes(&self) -> u64 {
        self.settings.changes()
    }
    pub(crate) fn setting_milliseconds(&self, name: &str) -> u64 {
        self.settings.milliseconds(name)
    }
    pub(crate) fn resolve_call(&mut self, name: &str, given: &Given) -> Result<Arc<Resolved>> {
        self.in_time(|s| s.resolve(name, given)).map(Arc::new)
    }
    pub(crate) fn submit(&mut self, call: &PreparedCall, params: &dyn Params) -> Result<Submitted> {
        let outcome = self.in_time(|s| s.submit_call(call, params));
        self.fail_block_on_error(outcome)
    }
    pub(crate) fn transaction_status(&self) -> TransactionStatus {
        match self.block {
            Block::None => TransactionStatus::Idle,
            Block::Open => TransactionStatus::Open,
            Block::Failed => TransactionStatus::Failed,
        }
    }
    /// Messages that an answer had, for whoever asks the session.
    pub(crate) fn keep_notices(&mut self, notices: Vec<Notice>) {
        if !notices.is_empty() {
            // What came on the way to the disk came after them.
            self.notices.splice(0..0, notices);
        }
    }
    pub(crate) fn take_notices(&mut self) -> Vec<Notice> {
        let mut notices = std::mem::take(&mut self.notices);
        self.keep_heard(&mut notices);
        notices
    }
    pub(crate) fn catalog(&mut self) -> Arc<Catalog> {
        self.newest_catalog()
    }
}
