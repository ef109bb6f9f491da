//! What a change of the schema does to stored rows: new storage beside the old.
//!
//! Nothing that the schema of before has is touched: neither its tables nor the states of its sequences. So a
//! change that fails, or is rolled back, is forgotten, and whoever reads a snapshot from before goes on.

use super::sequence::SequenceState;
use super::session::SessionCore;
use super::snapshot::Snapshot;
use planaria_base::chunks::Chunks;
use planaria_base::types::TypeClass;
use planaria_base::{ColumnId, Error, IndexId, Result, SequenceId, SqlState, TableId};
use planaria_catalog::oids::Touched;
use planaria_catalog::{Catalog, ColumnDefault};
use planaria_exec::Code;
use planaria_exec::Interrupt;
use planaria_exec::functions;
use planaria_exec::heap::Heap;
use planaria_exec::slot::Slot;
use planaria_protocol::Protocol;
use planaria_sql::ddl::{self, NewColumn, Rebuild, Work};
use planaria_storage::reclaim::Participant;
use planaria_storage::{Field, Table, TableSet};
use std::sync::Arc;

/// Rows that are copied between two looks whether to go on.
const ROWS_PER_CHECK: u64 = 1024;

impl<P: Protocol> SessionCore<P> {
    /// Work on storage that needs no transaction.
    pub(super) fn store(&mut self, draft: &mut Draft<'_, P>, work: Work) -> Result<()> {
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
                    state.restart(value);
                }
            }
            Work::CreateSequence(_) | Work::DropSequence(_) | Work::Validate(_) | Work::Fill(..) => {}
        }
        Ok(())
    }

    /// The same rows in storage with other indexes.
    fn reindex(&mut self, draft: &mut Draft<'_, P>, id: TableId) -> Result<()> {
        let Some(old) = draft.tables.try_get(id).cloned() else { return Ok(()) };
        let new = Snapshot::new_table(&draft.catalog, id)?;
        let mut loader = Loader::new(&draft.catalog, &new, self.worker.0 as usize);
        let mut reading = Participant::new();
        old.try_for_each_row(reading.guard().pinned(), |image| {
            if loader.rows.is_multiple_of(ROWS_PER_CHECK) {
                self.go_on_with(draft, &new)?;
            }
            loader.load(image)
        })?;
        draft.tables.insert(Arc::new(new));
        Ok(())
    }

    /// Whether a change that is filling this table may go on: 57014 where it is cancelled, 53200 where there is no
    /// memory for what it makes beside what is there.
    fn go_on_with(&mut self, draft: &Draft<'_, P>, table: &Table<P::Header>) -> Result<()> {
        self.check_cancelled()?;
        if !draft.bounded {
            return Ok(());
        }
        let bytes = |table: &Table<P::Header>| {
            let memory = table.memory();
            (memory.row_bytes + memory.index_bytes) as usize
        };
        let is_new = |t: &&Arc<Table<P::Header>>| {
            draft.before.tables.try_get(t.id()).is_none_or(|before| !Arc::ptr_eq(before, t))
        };
        let made: usize = draft.tables.iter().filter(is_new).map(|t| bytes(t)).sum();
        self.share.holds(made + bytes(table));
        let meter = &self.engine.meter;
        if self.share.is_due(meter) { meter.weigh_stored(&mut self.share, draft.before) } else { Ok(()) }
    }

    /// New rows, computed from the old ones.
    fn rebuild(&mut self, draft: &mut Draft<'_, P>, rebuild: &Rebuild) -> Result<()> {
        let id = rebuild.table;
        let Some(old) = draft.tables.try_get(id).cloned() else { return Ok(()) };
        let new: Table<P::Header> = Snapshot::new_table(&draft.catalog, id)?;
        let table = draft.catalog.table_by_id(id);
        let snapshot =
            Arc::new(Snapshot::new(draft.catalog.clone(), draft.tables.clone(), draft.sequences.clone())?);
        let code = rebuild.compute.as_ref().map(|p| snapshot.compile(p, None)).transpose()?;
        let mut loader = Loader::new(&draft.catalog, &new, self.worker.0 as usize);
        let mut image = Vec::new();
        let mut row_id = 0i64;
        self.engine.protocol.begin(&mut self.txn);
        let mut reading = Participant::new();
        let outcome = old.try_for_each_row(reading.guard().pinned(), |from| {
            if loader.rows.is_multiple_of(ROWS_PER_CHECK) {
                self.go_on_with(draft, &new)?;
            }
            row_id += 1;
            let computed = self.compute(&snapshot, code.as_ref(), &old, from)?;
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
            let null =
                fields.iter().zip(&table.columns).position(|(f, c)| c.not_null && matches!(f, Field::Null));
            if let Some(i) = null {
                return Err(ddl::null_in_column(table, ColumnId::from(i)));
            }
            image.clear();
            new.layout().encode(&fields, &mut image)?;
            loader.load(&image)
        });
        drop(reading);
        self.engine.protocol.abort(&mut self.txn, &snapshot.tables);
        outcome?;
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
                state.restart(next);
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

/// Storage of the schema to be.
pub(super) struct Draft<'o, P: Protocol> {
    /// The schema that it is a change of.
    before: &'o Snapshot<P::Header>,
    /// Whether what it makes has to find memory; what was there before must find its place again.
    bounded: bool,
    pub(super) catalog: Arc<Catalog>,
    pub(super) tables: TableSet<P::Header>,
    pub(super) sequences: Chunks<Arc<SequenceState>>,
}

impl<'o, P: Protocol> Draft<'o, P> {
    /// The schema of `old` with another catalog, before anything has been done to stored rows.
    pub(super) fn new(
        before: &'o Snapshot<P::Header>,
        catalog: Catalog,
        touched: &Touched,
        bounded: bool,
    ) -> Draft<'o, P> {
        let catalog = Arc::new(catalog);
        Draft {
            sequences: sequences(before, &catalog, touched),
            tables: before.tables.clone(),
            catalog,
            before,
            bounded,
        }
    }

    /// The state of a sequence, the draft's own: where it is moved, the schema of before stays where it is.
    fn own_sequence(&mut self, id: SequenceId) -> Option<&SequenceState> {
        let state = self.sequences.get(id.index())?;
        let own = Arc::new(state.redefined(state.definition().clone()));
        self.sequences.set(id.index(), Some(own));
        self.sequences.get(id.index()).map(|state| &**state)
    }
}

/// Sequence states under a changed catalog: kept, redefined, new or gone.
fn sequences<H: planaria_storage::Header>(
    old: &Snapshot<H>,
    catalog: &Catalog,
    touched: &Touched,
) -> Chunks<Arc<SequenceState>> {
    let mut states = old.sequences.clone();
    for id in &touched.sequences {
        let definition = catalog.sequences[id.index()].as_deref();
        let state = definition.map(|definition| match old.sequences.get(id.index()) {
            Some(state) if state.definition() == definition => state.clone(),
            Some(state) => Arc::new(state.redefined(definition.clone())),
            None => Arc::new(SequenceState::new(definition.clone())),
        });
        states.set(id.index(), state);
    }
    states
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
    /// Loaded so far.
    rows: u64,
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
            rows: 0,
        }
    }

    fn load(&mut self, image: &[u64]) -> Result<()> {
        self.rows += 1;
        let refused = self.table.load(image, self.worker, self.participant.guard().pinned());
        refused.map_err(|index| self.refused(index, image))
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
