//! Changes of the schema: alone behind the gate, all or nothing, in the log like any commit.
//!
//! 1. close the gate: nobody runs;
//! 2. work the change out on a copy of the catalog (`sql::ddl`), do the work on stored rows in new
//!    storage beside the old;
//! 3. log the statement's text, at a commit timestamp of its own (with the rows of CREATE TABLE AS in
//!    the same record);
//! 4. install the new snapshot, open the gate.
//!
//! An error before 3 leaves everything as it was. Replay applies the same text to the same catalog
//! and the same rows; so everything in 2 depends on these alone. Row ids of rewritten tables are
//! numbered anew from 1 for that reason.

use super::host::SequenceEffect;
use super::record;
use super::sequence::SequenceState;
use super::session::{Block, SessionCore};
use super::snapshot::Snapshot;
use super::statement::done;
use super::user::without_passwords;
use crate::change::{self, SchemaChange};
use crate::session::{Notice, StatementResult};
use planaria_base::types::TypeClass;
use planaria_base::{ColumnId, CommitTs, Error, IndexId, Result, SequenceId, SqlState, TableId};
use planaria_catalog::{Catalog, ColumnDefault};
use planaria_exec::functions;
use planaria_exec::heap::Heap;
use planaria_exec::slot::Slot;
use planaria_exec::{Code, Interrupt};
use planaria_ir::Level;
use planaria_protocol::Protocol;
use planaria_sql::ast::Statement;
use planaria_sql::ddl::{self, DdlOutcome, NewColumn, Rebuild, Work};
use planaria_sql::parse;
use planaria_storage::reclaim::Participant;
use planaria_storage::{Field, Table, TableSet};
use std::sync::Arc;

impl<P: Protocol> SessionCore<P> {
    /// Carries out a schema change as a transaction of its own.
    pub(super) fn change_schema(&mut self, statement: &Statement, text: &str) -> Result<StatementResult> {
        if !ddl::is_ddl(statement) {
            return Err(Error::internal("a statement that nobody carries out").at(statement.position));
        }
        if !matches!(self.block, Block::None) {
            return Err(Error::unsupported(
                "schema changes inside a transaction block are not supported",
                "COMMIT first; a schema change is a transaction of its own.",
            )
            .at(statement.position));
        }
        let own_text = &text[statement.position as usize..statement.end as usize];
        let (own_text, cleared) = without_passwords(statement, own_text)?;
        let shifted = |e: Error| {
            let mut e = e;
            if let Some(p) = &mut e.fields_mut().position {
                *p += statement.position;
            }
            e
        };
        let (outcome, count, ts) = self.apply_change(Change::New(&own_text)).map_err(shifted)?;
        let tag = if outcome.tag == "SELECT" { format!("SELECT {count}") } else { outcome.tag.to_owned() };
        let mut result = done(&tag);
        result.count = count;
        result.notices.extend(cleared.map(|message| Notice {
            severity: "NOTICE",
            message: message.to_owned(),
            detail: None,
            hint: None,
        }));
        for notice in outcome.notices {
            let fields = notice.fields.fields();
            result.notices.push(Notice {
                severity: severity(notice.level),
                message: fields.message.clone(),
                detail: fields.detail.clone(),
                hint: fields.hint.clone(),
            });
        }
        if let Some(id) = outcome.routine {
            result.notices.extend(self.how_logged(id));
        }
        self.pending = self.ticket(ts, true);
        Ok(result)
    }

    /// Replays the text of a schema change. The rows of CREATE TABLE AS follow as effects.
    pub(super) fn replay_schema_change(&mut self, text: &[u8]) -> Result<()> {
        self.apply_change(Change::Logged(&SchemaChange::decode(text)?)).map(|_| ())
    }

    fn apply_change(&mut self, change: Change<'_>) -> Result<(DdlOutcome, u64, CommitTs)> {
        let engine = self.engine.clone();
        let text = match change {
            Change::New(text) => text,
            Change::Logged(change) => change.text,
        };
        let statement = parse::statements(text)?
            .pop()
            .ok_or_else(|| Error::internal("a schema change without a statement"))?;
        let alone = self.close_gate(&engine)?;
        let old = engine.snapshot.load_full();
        let mut catalog = (*old.catalog).clone();
        let actor = match change {
            Change::New(_) => self.actor(),
            Change::Logged(change) => change.actor(&catalog)?,
        };
        if catalog.role_by_id(actor.user).is_none() {
            let message = format!("role with OID {} does not exist", actor.user.0);
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        }
        let mut outcome = ddl::apply_as(&mut catalog, &statement, actor)?;
        let record = match change {
            Change::New(text) => Some(change::encode(&old.catalog, actor, text)),
            Change::Logged(_) => None,
        };
        self.sequences.forget_runs();
        let catalog = Arc::new(catalog);
        let mut draft = Draft { sequences: sequences(&old, &catalog), tables: old.tables.clone(), catalog };
        let mut later = Vec::new();
        for work in std::mem::take(&mut outcome.work) {
            match work {
                Work::Validate(_) | Work::Fill(..) => later.push(work),
                work => self.store(&mut draft, work)?,
            }
        }
        let new = Arc::new(Snapshot::new(draft.catalog, draft.tables, draft.sequences)?);
        self.begin();
        let done = self.finish_change(&new, later, record.as_deref());
        if done.is_err() {
            engine.protocol.abort(&mut self.txn, &new.tables);
        }
        let (count, ts) = done?;
        engine.install(new);
        self.snapshot = Arc::new(engine.snapshot.load_full());
        drop(alone);
        Ok((outcome, count, ts))
    }

    /// Validates, fills, logs and commits; `record` is what the log is to have, `None` on replay.
    fn finish_change(
        &mut self,
        new: &Arc<Snapshot<P::Header>>,
        later: Vec<Work>,
        record: Option<&[u8]>,
    ) -> Result<(u64, CommitTs)> {
        let alone = |i: Interrupt| match i {
            Interrupt::Error(e) => e,
            Interrupt::Conflict(c) => Error::from(c),
        };
        let no_columns = self.no_columns.clone();
        let mut count = 0;
        for work in later {
            match work {
                Work::Validate(validation) => {
                    let code = new.compile(&validation.program, None)?;
                    self.run(new, &code, &[], &no_columns, &(), false).map_err(alone)?;
                    if let Some(row) = std::mem::take(&mut self.rows).into_iter().next() {
                        let error = validation.error;
                        return Err(match row.values.into_iter().next() {
                            Some(planaria_base::Datum::Text(detail)) => error.detail(detail),
                            _ => error,
                        });
                    }
                }
                Work::Fill(_, program) if record.is_some() => {
                    let code = new.compile(&program, None)?;
                    self.run(new, &code, &[], &no_columns, &(), false).map_err(alone)?;
                    self.rows.clear();
                    count = self.machine.row_count().unwrap_or(0) as u64;
                }
                _ => {}
            }
        }
        let engine = &*self.engine;
        let Some((log, change)) = self.log.as_mut().zip(record) else {
            let ts = engine
                .protocol
                .commit(&mut self.txn, &new.tables, &engine.clock, |_, _| {})
                .map_err(Error::from)?;
            return Ok((count, ts));
        };
        let commit = log.enter()?;
        engine.counters.committing(self.worker);
        let effects: &[SequenceEffect] = &self.effects;
        if engine.protocol.is_read_only(&self.txn) {
            // Nothing to lock or validate: the change is alone.
            let ts = engine.clock.draw();
            commit.effects(ts, |w| {
                w.schema(change);
                record::write_sequences(w, effects, new);
            });
            engine.counters.committed(self.worker, log.newest());
            engine.protocol.abort(&mut self.txn, &new.tables);
            return Ok((count, ts));
        }
        let append = |ts: CommitTs, txn: &P::Txn| {
            commit.effects(ts, |w| {
                w.schema(change);
                record::write_sequences(w, effects, new);
                let form = record::RowForm::of(engine.log_kind);
                record::write_rows(w, form, new, &engine.protocol, txn);
            });
        };
        let outcome = engine.protocol.commit(&mut self.txn, &new.tables, &engine.clock, append);
        engine.counters.committed(self.worker, log.newest());
        Ok((count, outcome.map_err(Error::from)?))
    }

    /// Work on storage that needs no transaction.
    fn store(&mut self, draft: &mut Draft<P>, work: Work) -> Result<()> {
        match work {
            Work::CreateTable(id) | Work::Truncate(id) => {
                draft.tables.insert(Arc::new(Snapshot::new_table(&draft.catalog, id)?));
            }
            Work::DropTable(id) => drop(draft.tables.remove(id)),
            Work::Rebuild(rebuild) => self.rebuild(draft, &rebuild)?,
            Work::CreateIndex(id, _) | Work::DropIndex(id, _) => {
                // The storage may be new in this statement, made with all indexes.
                let now = draft.catalog.table_by_id(id).indexes.len();
                let stored = draft.tables.try_get(id).map_or(0, |t| t.indexes().len());
                if now != stored || matches!(work, Work::CreateIndex(..)) {
                    self.reindex(draft, id)?;
                }
            }
            Work::RestartSequence(id, value) => {
                if let Some(state) = draft.own_sequence(id) {
                    state.set(value, false)?;
                }
            }
            Work::CreateSequence(_) | Work::DropSequence(_) | Work::Validate(_) | Work::Fill(..) => {}
        }
        Ok(())
    }

    /// The same rows in storage with other indexes.
    fn reindex(&mut self, draft: &mut Draft<P>, id: TableId) -> Result<()> {
        let Some(old) = draft.tables.try_get(id).cloned() else { return Ok(()) };
        let new = Snapshot::new_table(&draft.catalog, id)?;
        let mut loader = Loader::new(&draft.catalog, &new, self.worker.0 as usize);
        let mut reading = Participant::new();
        old.for_each_row(reading.guard().pinned(), |image| loader.load(image));
        loader.finish()?;
        draft.tables.insert(Arc::new(new));
        Ok(())
    }

    /// New rows, computed from the old ones.
    fn rebuild(&mut self, draft: &mut Draft<P>, rebuild: &Rebuild) -> Result<()> {
        let id = rebuild.table;
        let Some(old) = draft.tables.try_get(id).cloned() else { return Ok(()) };
        let new: Table<P::Header> = Snapshot::new_table(&draft.catalog, id)?;
        let table = draft.catalog.table_by_id(id);
        let snapshot =
            Arc::new(Snapshot::new(draft.catalog.clone(), draft.tables.clone(), draft.sequences.clone())?);
        let code = rebuild.compute.as_ref().map(|p| snapshot.compile(p, None)).transpose()?;
        let mut images: Vec<Vec<u64>> = Vec::new();
        let mut reading = Participant::new();
        old.for_each_row(reading.guard().pinned(), |image| images.push(image.to_vec()));
        let mut loader = Loader::new(&draft.catalog, &new, self.worker.0 as usize);
        let mut image = Vec::new();
        let mut row_id = 0i64;
        self.begin();
        let mut failed = None;
        for from in &images {
            row_id += 1;
            let outcome = self.compute(&snapshot, code.as_ref(), &old, from).and_then(|computed| {
                let heap = self.machine.heap();
                let fields: Vec<Field<'_>> = rebuild
                    .columns
                    .iter()
                    .zip(&table.columns)
                    .map(|(from_old, column)| match from_old {
                        // Numbered anew: see the head.
                        _ if column.hidden => Field::Int(row_id),
                        NewColumn::Keep(c) => old.layout().field(from, *c),
                        NewColumn::Computed(i) => field(computed[*i], heap),
                        NewColumn::Sequence(sequence) => Field::Int(drawn(&draft.catalog, *sequence, row_id)),
                    })
                    .collect();
                let null = fields
                    .iter()
                    .zip(&table.columns)
                    .position(|(f, c)| c.not_null && matches!(f, Field::Null));
                if let Some(i) = null {
                    return Err(ddl::null_in_column(table, ColumnId::from(i)));
                }
                image.clear();
                new.layout().encode(&fields, &mut image)
            });
            match outcome {
                Ok(()) => loader.load(&image),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        self.engine.protocol.abort(&mut self.txn, &snapshot.tables);
        if let Some(error) = failed {
            return Err(error);
        }
        loader.finish()?;
        // Sequences that gave values, that of the row ids among them, go on behind them.
        let hidden = table.columns.last().filter(|c| c.hidden).and_then(|c| match &c.default {
            ColumnDefault::Sequence(sequence) => Some(*sequence),
            _ => None,
        });
        let gave = rebuild.columns.iter().filter_map(|c| match c {
            NewColumn::Sequence(sequence) => Some(*sequence),
            _ => None,
        });
        for sequence in gave.chain(hidden) {
            let next = drawn(&draft.catalog, sequence, row_id + 1);
            if let Some(state) = draft.own_sequence(sequence) {
                state.restore(next, false);
            }
        }
        draft.tables.insert(Arc::new(new));
        Ok(())
    }

    /// The computed columns of one row; in the machine's heap until the next.
    fn compute(
        &mut self,
        snapshot: &Snapshot<P::Header>,
        code: Option<&Code>,
        old: &Table<P::Header>,
        image: &[u64],
    ) -> Result<Vec<Slot>> {
        let Some(code) = code else { return Ok(Vec::new()) };
        self.machine.reset();
        self.args.clear();
        for i in 0..old.layout().columns().len() {
            let field = old.layout().field(image, ColumnId::from(i));
            let bytea = old.layout().specs()[i].ty.class() == TypeClass::Bytea;
            let slot = slot(field, bytea, self.machine.heap_mut())?;
            self.args.push(slot);
        }
        self.run_args(snapshot, code).map_err(|i| match i {
            Interrupt::Error(e) => e,
            Interrupt::Conflict(c) => Error::from(c),
        })?;
        Ok(self.machine.outs().to_vec())
    }
}

/// A change of the schema.
#[derive(Clone, Copy)]
enum Change<'t> {
    /// The session's, to be logged.
    New(&'t str),
    /// From the log.
    Logged(&'t SchemaChange<'t>),
}

/// Storage of the schema to be.
struct Draft<P: Protocol> {
    catalog: Arc<Catalog>,
    tables: TableSet<P::Header>,
    sequences: Vec<Option<Arc<SequenceState>>>,
}

impl<P: Protocol> Draft<P> {
    /// The state of a sequence, to be moved: a copy, because the change may yet fail.
    fn own_sequence(&mut self, id: SequenceId) -> Option<&SequenceState> {
        let state = self.sequences.get_mut(id.index())?.as_mut()?;
        *state = Arc::new(state.redefined(state.definition().clone()));
        Some(state)
    }
}

/// Sequence states under a changed catalog: kept, redefined, new or gone.
fn sequences<H: planaria_storage::Header>(
    old: &Snapshot<H>,
    catalog: &Catalog,
) -> Vec<Option<Arc<SequenceState>>> {
    let state = |definition: &planaria_catalog::Sequence| match old.sequences.get(definition.id.index()) {
        Some(Some(state)) if state.definition() == definition => state.clone(),
        Some(Some(state)) => Arc::new(state.redefined(definition.clone())),
        _ => Arc::new(SequenceState::new(definition.clone())),
    };
    catalog.sequences.iter().map(|s| s.as_ref().map(state)).collect()
}

/// The `n`-th value of a new sequence.
fn drawn(catalog: &Catalog, sequence: SequenceId, n: i64) -> i64 {
    let definition = catalog.sequences[sequence.index()].as_ref();
    definition.map_or(n, |s| s.start.saturating_add((n - 1).saturating_mul(s.increment)))
}

/// Loads rows into a table nobody else knows yet.
struct Loader<'t, H: planaria_storage::Header> {
    catalog: &'t Catalog,
    table: &'t Table<H>,
    names: Vec<String>,
    table_name: String,
    worker: usize,
    participant: Participant,
    failed: Option<Error>,
}

impl<'t, H: planaria_storage::Header> Loader<'t, H> {
    fn new(catalog: &'t Catalog, table: &'t Table<H>, worker: usize) -> Loader<'t, H> {
        let definition = catalog.table_by_id(table.id());
        Loader {
            catalog,
            table,
            names: definition.indexes.iter().map(|i| i.name.clone()).collect(),
            table_name: definition.name.clone(),
            worker,
            participant: Participant::new(),
            failed: None,
        }
    }

    fn load(&mut self, image: &[u64]) {
        if self.failed.is_some() {
            return;
        }
        let refused = self.table.load(image, self.worker, self.participant.guard().pinned());
        if let Err(index) = refused {
            self.failed = Some(self.refused(index, image));
        }
    }

    #[cold]
    fn refused(&self, index: Option<IndexId>, image: &[u64]) -> Error {
        match index {
            Some(index) => {
                let name = &self.names[index.index()];
                Error::new(SqlState::UNIQUE_VIOLATION, format!("could not create unique index \"{name}\""))
                    .detail(self.duplicated(index, image))
                    .constraint(name, &self.table_name)
            }
            None => Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, "an index key is too long"),
        }
    }

    fn duplicated(&self, index: IndexId, image: &[u64]) -> String {
        let definition = self.catalog.table_by_id(self.table.id());
        let mut names = Vec::new();
        let mut values = Vec::new();
        for c in &definition.indexes[index.index()].columns {
            let column = &definition.columns[c.index()];
            let mut heap = Heap::new();
            let bytea = column.ty.class() == TypeClass::Bytea;
            let value = slot(self.table.layout().field(image, *c), bytea, &mut heap);
            names.push(column.name.as_str());
            values.push(match value {
                Ok(Slot::Null) | Err(_) => "null".to_owned(),
                Ok(value) => functions::display(&heap, value, &column.ty),
            });
        }
        format!("Key ({})=({}) is duplicated.", names.join(", "), values.join(", "))
    }

    fn finish(self) -> Result<()> {
        self.failed.map_or(Ok(()), Err)
    }
}

fn slot(field: Field<'_>, bytea: bool, heap: &mut Heap) -> Result<Slot> {
    Ok(match field {
        Field::Null => Slot::Null,
        Field::Bool(b) => Slot::Bool(b),
        Field::Int(n) => Slot::Int(n),
        Field::Float(x) => Slot::Float(x),
        Field::Numeric(n) => Slot::numeric(n),
        Field::Uuid(u) => Slot::Uuid(u),
        Field::Bytes(b) if bytea => heap.bytea(b)?,
        Field::Bytes(b) => heap.text(&String::from_utf8_lossy(b))?,
    })
}

fn field(slot: Slot, heap: &Heap) -> Field<'_> {
    match slot {
        Slot::Null | Slot::Array(_) => Field::Null,
        Slot::Bool(b) => Field::Bool(b),
        Slot::Int(n) => Field::Int(n),
        Slot::Float(x) => Field::Float(x),
        Slot::Numeric(n) => Field::Numeric(n.unpack()),
        Slot::Uuid(u) => Field::Uuid(u),
        Slot::Text(b) | Slot::Bytea(b) => Field::Bytes(heap.bytes(b)),
    }
}

fn severity(level: Level) -> &'static str {
    match level {
        Level::Debug => "DEBUG",
        Level::Log => "LOG",
        Level::Info => "INFO",
        Level::Notice => "NOTICE",
        Level::Warning | Level::Exception => "WARNING",
    }
}
