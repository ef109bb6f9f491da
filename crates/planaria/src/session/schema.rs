//! Changes of the schema: alone behind the gate, all or nothing, in the log like any commit.
//!
//! 1. close the gate: nobody runs;
//! 2. work the change out on a copy of the catalog (`sql::ddl`), do the work on stored rows in new
//!    storage beside the old ([`rewrite`](crate::session::rewrite));
//! 3. log the statement's text, at a commit timestamp of its own, with what 2 computed: the values of
//!    new columns, and the rows that were inserted or changed on the way (by CREATE TABLE AS, by
//!    functions in defaults, in USING, in CHECKs);
//! 4. install the new schema version, open the gate.
//!
//! An error before 3 leaves everything as it was. Replay applies the same text to the same catalog, which
//! depends on nothing else, and takes all that was computed from the log: it runs no expression, and
//! validates nothing anew. Row ids of rewritten tables are numbered anew from 1, by the order of their
//! rows. In a transaction block 3 and 4 are its COMMIT's ([`schema_block`](crate::session::schema_block)).

use crate::change::{self, SchemaChange};
use crate::engine::gate::Exclusive;
use crate::engine::program::refusal::gave_up;
use crate::engine::schema_version::SchemaVersion;
use crate::engine::sequence::SequenceEffect;
use crate::engine::table_locks::Touches;
use crate::engine::worker::once;
use crate::engine::written::Written;
use crate::notice::Notice;
use crate::session::StatementResult;
use crate::session::answer::done;
use crate::session::core::{Block, SessionCore};
use crate::session::record;
use crate::session::rewrite::Draft;
use crate::session::role::without_passwords;
use crate::settings::{check_default, check_own};
use planaria_base::sync::Instant;
use planaria_base::text_io::quote_literal;
use planaria_base::{CommitTs, Datum, Error, Result, SqlState};
use planaria_catalog::{SearchPath, path_names};
use planaria_log::{Effect, encode_effects};
use planaria_protocol::Backoff;
use planaria_sql::ddl::{self, DdlOutcome, Work};
use planaria_syntax::ast::{DefaultsChange, RoutineSetting, SettingValue, Statement, StatementKind};
use planaria_syntax::parse;
use std::sync::Arc;

/// A change that is worked out, but for what takes a transaction.
pub(crate) struct Prepared {
    pub(crate) outcome: DdlOutcome,
    pub(crate) new: Arc<SchemaVersion>,
    /// What is left to be done, in `new`.
    pub(crate) later: Vec<Work>,
    /// What the log is to have before the rows that changed, as effects; `None` on replay.
    pub(crate) record: Option<Vec<u8>>,
    /// What its programs touch, in a block.
    pub(crate) reads: Touches,
}

impl SessionCore {
    /// Carries out a schema change: as a transaction of its own, or in the open block.
    pub(crate) fn change_schema(&mut self, statement: &Statement, text: &str) -> Result<StatementResult> {
        if !ddl::is_ddl(statement) && !matches!(statement.kind, StatementKind::Maintain(_)) {
            return Err(Error::internal("a statement that nobody carries out").at(statement.position));
        }
        let own_text = &text[statement.position as usize..statement.end as usize];
        if let StatementKind::AlterDefaults { change: DefaultsChange::Set(name, value), .. } = &statement.kind
        {
            self.check_of_superusers(name)?;
            check_default(name, value)?;
        }
        self.refuse_styled(statement, own_text)?;
        let spelled_out = self.own_settings(statement, own_text)?;
        let own_text = spelled_out.as_deref().unwrap_or(own_text);
        self.settle_temporary()?;
        self.prepare_temporary(statement)?;
        let (own_text, cleared) = without_passwords(statement, own_text)?;
        let shifted = |e: Error| {
            let mut e = e;
            if let Some(p) = &mut e.fields_mut().position {
                *p += statement.position;
            }
            e
        };
        let (outcome, count) = if matches!(self.block, Block::None) {
            let (outcome, count, ts) = self.apply_change(Change::New(&own_text)).map_err(shifted)?;
            self.note_commit();
            self.last_commit = Some((ts, true));
            self.pending.add(self.ticket(ts, true));
            (outcome, count)
        } else {
            self.change_in_block(&own_text).map_err(shifted)?
        };
        let tag = if outcome.tag == "SELECT" { format!("SELECT {count}") } else { outcome.tag.to_owned() };
        let mut result = done(&tag);
        result.count = count;
        result.notices.extend(cleared.map(|message| Notice {
            severity: "NOTICE",
            code: SqlState::SUCCESSFUL_COMPLETION,
            message: message.to_owned(),
            detail: None,
            hint: None,
        }));
        let told = outcome.notices.iter().map(|notice| Notice::of(notice.level, &notice.fields));
        result.notices.extend(told);
        if let Some(id) = outcome.routine {
            result.notices.extend(self.how_logged(id));
        }
        Ok(result)
    }

    /// Checks what a routine is to set; the statement with the values in it that FROM CURRENT means, if it says that.
    fn own_settings(&self, statement: &Statement, text: &str) -> Result<Option<String>> {
        let all = match &statement.kind {
            StatementKind::CreateRoutine(create) => &create.settings,
            StatementKind::AlterRoutine { options, .. } => &options.settings,
            _ => return Ok(None),
        };
        let (mut spelled_out, mut done) = (String::new(), 0);
        for RoutineSetting { name, value, position } in all {
            let checked = match value {
                SettingValue::Default => check_own(name, None),
                SettingValue::Values(values) => check_own(name, Some(values)),
                SettingValue::Current(start, end) => {
                    let value = self.settings.get(name).map_err(|e| e.at(*position))?;
                    let values = match name.eq_ignore_ascii_case("search_path") {
                        true => path_names(value),
                        false => vec![value.to_owned()],
                    };
                    let quoted: Vec<String> = values.iter().map(|value| quote_literal(value)).collect();
                    // A path that leads nowhere.
                    let quoted = if quoted.is_empty() { "''".to_owned() } else { quoted.join(", ") };
                    let [start, end] = [start, end].map(|at| (at - statement.position) as usize);
                    spelled_out.push_str(&text[done..start]);
                    spelled_out.push_str("TO ");
                    spelled_out.push_str(&quoted);
                    done = end;
                    check_own(name, Some(&[value.to_owned()]))
                }
            };
            checked.map_err(|e| {
                if e.sqlstate() == SqlState::FEATURE_NOT_SUPPORTED { e.at(*position) } else { e }
            })?;
        }
        if done == 0 {
            return Ok(None);
        }
        spelled_out.push_str(&text[done..]);
        Ok(Some(spelled_out))
    }

    /// Replays a schema change with what it computed, which is among the effects of its part. The rows that
    /// changed with it are put in place behind it.
    pub(crate) fn replay_schema_change(&mut self, change: &[u8], part: &[Effect]) -> Result<()> {
        self.apply_change(Change::Logged(&SchemaChange::decode(change)?, part)).map(|_| ())
    }

    /// Closes the gate, outside of a block, at a moment when no transaction is open that others would have to wait
    /// for: where transactions come one after another, an open one has what the change needs, and may wait at the
    /// gate itself.
    fn close_gate_alone(&mut self) -> Result<()> {
        let mut backoff = Backoff::new(u64::from(self.worker.0) + 1);
        loop {
            self.close_gate_on_unlocked()?;
            let engine = &*self.engine;
            if self.txn.try_begin() {
                self.txn.abort(&engine.schema.load().tables);
                return Ok(());
            }
            engine.gate.open();
            self.check_cancelled()?;
            backoff.wait();
        }
    }

    pub(crate) fn apply_change(&mut self, change: Change<'_>) -> Result<(DdlOutcome, u64, CommitTs)> {
        let outcome = self.apply_change_alone(change);
        self.share.end_transaction(&self.engine.meter);
        outcome
    }

    fn apply_change_alone(&mut self, change: Change<'_>) -> Result<(DdlOutcome, u64, CommitTs)> {
        let engine = self.engine.clone();
        let (mut patient, until, late) = (true, self.patient_until(), self.lock_deadline());
        let (old, alone, began) = loop {
            self.close_gate_alone()?;
            let began = Instant::now();
            let alone = Exclusive::closed(&engine.gate);
            let old = engine.schema.load_full();
            let busy = if patient { self.overtaken(&old, change) } else { Vec::new() };
            if busy.is_empty() {
                break (old, alone, began);
            }
            drop(alone);
            patient = self.await_end_of(busy, until)? && Instant::now() < until;
            // Whoever says how long to wait for locks does not want to overtake.
            if !patient && late.is_some_and(|late| Instant::now() >= late) {
                return Err(gave_up(true, &self.cancel));
            }
        };
        self.begin_state();
        let prepared = self.prepare_change(&old, change);
        let Prepared { outcome, new, later, record, .. } = prepared.inspect_err(|_| {
            // Where the log has failed, nothing comes after it.
            let _ = self.log_sequences(&|sequence| old.shares_sequence(&old, sequence));
        })?;
        let count = self.carry_out(&new, later, record.is_some());
        let done = count.and_then(|count| Ok((count, self.commit_change(&new, record.as_deref())?)));
        if done.is_err() {
            self.txn.abort(&new.tables);
            // Where the log has failed, nothing comes after it.
            let _ = self.log_sequences(&|sequence| old.shares_sequence(&new, sequence));
        }
        let (count, ts) = done?;
        engine.install(new);
        self.schema = Arc::new(engine.schema.load_full());
        self.keep_before_images();
        engine.budget.lock().changed(began.elapsed());
        drop(alone);
        Ok((outcome, count, ts))
    }

    /// Works a change of `old` out, and leaves a transaction open with the rows that changed on the way. No
    /// transaction is running before, nor after an error.
    pub(crate) fn prepare_change(&mut self, old: &SchemaVersion, change: Change<'_>) -> Result<Prepared> {
        let text = match change {
            Change::New(text) => text,
            Change::Logged(change, _) => change.text,
        };
        let statement = parse::statements(text)?
            .pop()
            .ok_or_else(|| Error::internal("a schema change without a statement"))?;
        let mut catalog = (*old.catalog).clone();
        let actor = match change {
            Change::New(_) => self.actor_of(&statement)?,
            Change::Logged(change, _) => change.actor(&catalog)?,
        };
        let path = match change {
            Change::New(_) => self.path(&catalog),
            Change::Logged(change, _) => change.path()?,
        };
        catalog.set_path(&path);
        if catalog.role_by_id(actor.user).is_none() {
            let message = format!("role with OID {} does not exist", actor.user.0);
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        }
        let mut outcome = ddl::apply_as(&mut catalog, &statement, actor)?;
        catalog.set_path(&SearchPath::default());
        let (logged, encoded) = match change {
            Change::New(text) => (None, Some(change::encode(&old.catalog, actor, &path, text))),
            Change::Logged(_, part) => (Some(part), None),
        };
        self.sequences.forget_runs();
        // Not what ran before: nothing of this could begin anew in a snapshot.
        self.pure = false;
        let mut draft = Draft::new(old, catalog, &outcome.touched, logged);
        let mut later = Vec::new();
        let in_block = self.changing.is_some();
        let mut reads = Touches::default();
        self.txn.begin();
        let before = self.user.act(actor.into());
        let stored = std::mem::take(&mut outcome.work).into_iter().try_for_each(|work| match work {
            Work::Validate(_) | Work::Fill(..) => {
                later.push(work);
                Ok(())
            }
            work => {
                if let Work::Rebuild(rebuild) = &work
                    && let Some(program) = rebuild.compute.as_ref().filter(|_| in_block)
                {
                    reads.join(&old.touches(program));
                }
                self.store(&mut draft, work)
            }
        });
        self.user.act(before);
        let stored = match logged {
            Some(_) => stored.map_err(|e| {
                Error::corrupted(format!("the rows do not allow a change of the schema: {}", e.message()))
            }),
            None => stored,
        };
        let computed = std::mem::take(&mut draft.computed);
        let new = stored.map(|()| SchemaVersion::new(draft.catalog, draft.tables, draft.sequences));
        let new = new.inspect_err(|_| self.txn.abort(&old.tables))?;
        for work in later.iter().filter(|_| in_block) {
            match work {
                Work::Validate(validation) => reads.join(&new.touches(&validation.program)),
                Work::Fill(_, program) => reads.join(&new.touches(program)),
                _ => {}
            }
        }
        let record = encoded.map(|change| {
            encode_effects(|w| {
                w.schema(&change);
                w.encoded(&computed);
            })
        });
        Ok(Prepared { outcome, new: Arc::new(new), later, record, reads })
    }

    /// Validates and fills, in the transaction that is open: if the change is not replayed, when all of that
    /// has been done. Answers with the number of rows that were filled in.
    pub(crate) fn carry_out(
        &mut self,
        new: &Arc<SchemaVersion>,
        later: Vec<Work>,
        is_new: bool,
    ) -> Result<u64> {
        if !is_new {
            return Ok(0);
        }
        let no_columns = self.no_columns.clone();
        let role = self.user.current();
        // What computed rewritten rows has answered with stays there otherwise.
        self.machine.reset();
        self.rows.clear();
        let mut count = 0;
        for work in later {
            match work {
                Work::Validate(validation) => {
                    let code = new.compile_as(role, &validation.program)?;
                    self.run(new, &code, &[], &no_columns, &(), false)?;
                    if let Some(row) = std::mem::take(&mut self.rows).into_iter().next() {
                        let error = validation.error;
                        return Err(match row.values.into_iter().next() {
                            Some(Datum::Text(detail)) => error.with_detail(detail),
                            _ => error,
                        });
                    }
                }
                Work::Fill(table, program) => {
                    let owner = new.catalog.table_by_id(table).rights.owner;
                    let code = new.compile_fill(owner, &program)?;
                    self.run(new, &code, &[], &no_columns, &(), false)?;
                    self.rows.clear();
                    count = self.machine.row_count().unwrap_or(0) as u64;
                }
                _ => {}
            }
        }
        Ok(count)
    }

    /// Logs and commits; `record` is what the log is to have, `None` on replay.
    fn commit_change(&mut self, new: &SchemaVersion, record: Option<&[u8]>) -> Result<CommitTs> {
        let engine = &*self.engine;
        let Some((log, change)) = self.log.as_mut().zip(record) else {
            let commit = self.txn.commit(&new.tables, &mut |_, _| {});
            return commit.map_err(Error::from);
        };
        let commit = log.enter()?;
        engine.counters.committing(self.worker);
        let effects: &[SequenceEffect] = &self.effects;
        if self.txn.is_read_only() {
            // Nothing to lock or validate: the change is alone.
            let ts = engine.clock.draw();
            commit.effects(ts, |w| {
                w.encoded(change);
                record::write_sequences(w, effects);
            });
            engine.counters.committed(self.worker, log.newest());
            self.txn.abort(&new.tables);
            return Ok(ts);
        }
        let append = |ts: CommitTs, written: &dyn Written| {
            commit.effects(ts, |w| {
                w.encoded(change);
                record::write_sequences(w, effects);
                let form = record::RowForm::of(engine.log_kind);
                record::write_rows(w, form, new, written);
            });
        };
        let outcome = self.txn.commit(&new.tables, &mut once(append));
        engine.counters.committed(self.worker, log.newest());
        outcome.map_err(Error::from)
    }
}

/// A change of the schema.
#[derive(Clone, Copy)]
pub(crate) enum Change<'t> {
    /// The session's, to be logged.
    New(&'t str),
    /// From the log, with the effects of its part of the record.
    Logged(&'t SchemaChange<'t>, &'t [Effect]),
}
