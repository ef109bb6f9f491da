//! Opening an engine: over the protocol that was chosen, on a device or in memory, with what is there.

use crate::api::EngineHandle;
use crate::engine::Engine;
use crate::engine::checkpoint::is_empty;
use crate::engine::collector::ReadyMemory;
use crate::engine::store::StoreOf;
use crate::engine::teller::Teller;
use crate::options::{Options, RecoveryPhases, RecoveryReport};
use crate::replay::Replay;
use crate::{Durability, LogKind};
use planaria_analysis as analysis;
use planaria_base::clock::CommitClock;
use planaria_base::sync::Instant;
use planaria_base::types::TypeClass;
use planaria_base::{Epoch, Error, Result, SqlState};
use planaria_checkpoint::Manifest;
use planaria_ir::RegKind;
use planaria_log::{Device, LogReader, LogSummary, OldCalls, PlannerVersion, Until};
use planaria_protocol::{Hosted, ProtocolJob};
use std::sync::Arc;

/// The version of the planner whose plans the log is written under: part of the log's header, because a
/// call replays as it ran only under the plans it ran with.
///
/// Execution goes up when a procedure of the same catalog may read rows in another order or draw other
/// inputs than before: then logs with calls cannot be opened any more. Keeping goes up when a procedure may
/// keep other values than before (`planaria_analysis::regrow`): then calls that kept some are replayed one
/// by one, without what they kept.
const PLANNER_VERSION: PlannerVersion = PlannerVersion::new(1, 5);

/// An empty engine over a protocol.
pub(crate) fn new_engine<P: Hosted>(options: &Options) -> Result<Arc<Engine>> {
    let clock = Arc::new(CommitClock::new(Epoch(1)));
    Engine::new(Arc::new(StoreOf::<P>::new(clock.clone())), clock, options)
}

/// The same over the protocol that was chosen: the one place where its name becomes a type.
fn new_engine_as_chosen(options: &Options) -> Result<Arc<Engine>> {
    struct New<'o>(&'o Options);
    impl ProtocolJob for New<'_> {
        type Output = Result<Arc<Engine>>;
        fn run<P: Hosted>(self) -> Self::Output {
            new_engine::<P>(self.0)
        }
    }
    options.protocol.dispatch(New(options))
}

/// Opens an engine: on a device, or in memory.
pub(crate) fn open_engine(device: Option<Arc<dyn Device>>, options: Options) -> Result<Arc<EngineHandle>> {
    EngineHandle::open(new_engine_as_chosen(&options)?.start(device, &options)?)
}

/// The same over a protocol that need not be of the shelf.
pub(crate) fn open_engine_over<P: Hosted>(
    device: Option<Arc<dyn Device>>,
    options: Options,
) -> Result<Arc<EngineHandle>> {
    EngineHandle::open(new_engine::<P>(&options)?.start(device, &options)?)
}

/// An engine in memory, in the state that a checkpoint and the log after it say, all of it or up to and with
/// a transaction; nothing is written.
pub(crate) fn replay_engine(
    device: &dyn Device,
    checkpoint: Option<&Manifest>,
    reader: &LogReader,
    until: Option<Until>,
    options: Options,
) -> Result<Arc<EngineHandle>> {
    let engine = new_engine_as_chosen(&options)?;
    let _ready = ReadyMemory::start(&engine)?;
    let mut teller = Teller::new(options.on_recovery.clone());
    if let Some(manifest) = checkpoint {
        engine.restore_one(device, manifest, options.recovery_threads, &mut teller)?;
    }
    engine.replay(reader, until, &options, teller)?;
    EngineHandle::replayed(engine)
}

impl Engine {
    /// Recovers what is on the device and goes on logging there; without one, or where nothing is to
    /// be logged, the database lives in memory.
    pub(crate) fn start(
        self: Arc<Self>,
        device: Option<Arc<dyn Device>>,
        options: &Options,
    ) -> Result<Arc<Engine>> {
        match device {
            Some(device) if options.log != LogKind::Off && options.durability != Durability::Off => {
                self.recover(device, options)
            }
            // Nothing is read or written there, so there must be nothing: who opens a database expects to find its rows.
            Some(device) if !is_empty(&*device)? => {
                let message = format!(
                    "\"{}\" holds a database, which is not read where nothing is logged",
                    device.describe("")
                );
                Err(Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
                    .with_hint("Open it with durability async or fsync, or choose an empty directory."))
            }
            _ => Ok(self),
        }
    }

    /// Recovers the database on a device, then goes on logging there.
    fn recover(self: Arc<Self>, device: Arc<dyn Device>, options: &Options) -> Result<Arc<Engine>> {
        let engine = self;
        let mut teller = Teller::new(options.on_recovery.clone());
        let lock = LogReader::lock(&*device)?;
        let _ready = ReadyMemory::start(&engine)?;
        let found = planaria_checkpoint::find(&*device)?;
        let noted = found.manifests.first().map_or(0.0, |m| m.notes.replay_bytes_per_second);
        teller.expect(&*device, noted);
        let restored = engine.restore(&*device, &found, options, &mut teller)?;
        let after = restored.epoch();
        let began = Instant::now();
        let mut tell = |found: &LogSummary| teller.checked(found);
        let reader =
            LogReader::open_after(device.clone(), lock, after, &mut tell).map_err(|e| restored.why_not(e))?;
        if restored.loaded.is_none() && reader.database().is_none() {
            // Not a new database, but one whose only copy this may be.
            restored.nothing_whole(&*device, &found)?;
        }
        let loaded = restored.loaded;
        engine.replay(&reader, None, options, teller)?;
        engine.budget.lock().replayed(reader.summary().bytes, began.elapsed());
        let log = reader.resume(
            engine.clock.clone(),
            planaria_log::Options {
                durability: options.durability.into(),
                loggers: options.loggers,
                planner_version: PLANNER_VERSION,
                keep: options.keep_log,
                database: loaded.as_ref().and(found.database()),
                wall_clock: options.wall_clock.clone(),
                segment_bytes_max: options.log_files.segment_bytes_max,
                segment_epochs_max: options.log_files.segment_epochs_max,
                threads: options.log_files.threads,
                ..Default::default()
            },
        )?;
        // What a crash between a checkpoint and the deletion behind it has left.
        planaria_checkpoint::clean(&*device, loaded.as_ref().map(|c| c.number))?;
        if after > Epoch(0) && !options.keep_log {
            log.delete_through(after)?;
        }
        engine.checkpoints.lock().next = found.next;
        if let Some(loaded) = loaded {
            engine.recovery.lock().get_or_insert_default().checkpoint = Some(loaded);
        }
        let log = Arc::new(log);
        engine.meter.count_log(&log);
        engine.log.set(log).map_err(|_| Error::internal("two logs"))?;
        crate::session::temporary::drop_left(&engine)?;
        Ok(engine)
    }

    /// 0A000 where a call of an older version computed with intervals: they were numbers of microseconds then, which print
    /// and divide otherwise.
    fn refuse_old_intervals(&self, called: &OldCalls) -> Result<()> {
        let schema = self.schema.load_full();
        let callee = |id| schema.program(id).ok();
        for id in std::mem::take(&mut *called.lock().expect("nobody panics while putting down")) {
            let Ok(program) = schema.program(id) else { continue };
            let program = analysis::committed_whole(program, &callee);
            let interval =
                |kind: &RegKind| matches!(kind, RegKind::Value(ty) if ty.class() == TypeClass::Interval);
            if program.regs.iter().any(|reg| interval(&reg.kind)) {
                let message = format!(
                    "the log has calls of {} by an older version of Planaria, which computed with intervals otherwise",
                    program.name
                );
                let hint = "Open the database with the version that wrote the log, and write a checkpoint: CHECKPOINT.";
                return Err(Error::unsupported(message, hint));
            }
        }
        Ok(())
    }

    /// Brings the engine to the state that a log says, all of it or up to and with a transaction.
    fn replay(
        self: &Arc<Self>,
        reader: &LogReader,
        until: Option<Until>,
        options: &Options,
        teller: Teller,
    ) -> Result<()> {
        let engine = self;
        let summary = reader.summary();
        if summary.records > 0 {
            let mut replay = Replay::new(engine, teller, summary.records)?;
            let old_calls = OldCalls::default();
            let mut batches = reader.batches(summary.base).replayed_by(PLANNER_VERSION);
            batches = batches.noting_old_calls(old_calls.clone());
            if let Some(until) = until {
                batches = batches.until(until);
            }
            let scheme = options.recovery;
            let mut how = planaria_recovery::Options {
                threads: options.recovery_threads,
                record_tasks: options.record_recovery_tasks,
                ..Default::default()
            };
            how.batch = options.recovery_batch.unwrap_or(how.batch);
            let report = engine.store.replay(scheme, batches, summary.bytes, &how, &mut replay);
            engine.refuse_old_intervals(&old_calls)?;
            let report = report?;
            *engine.recovery.lock() = Some(RecoveryReport {
                checkpoint: None,
                scheme,
                threads: report.threads,
                barriers: report.barriers,
                phases: RecoveryPhases {
                    load: report.load,
                    plan: report.plan,
                    execute: report.execute,
                    wait: report.wait,
                    index: report.index,
                },
                transactions: report.transactions,
                calls: report.calls,
                undone: report.undone,
                log_bytes: report.log_bytes,
                replay: report.replay,
                longest_transaction: report.longest_transaction,
                tasks: report.tasks,
            });
        }
        Ok(())
    }
}
