//! What a change of the schema does to stored rows: new storage beside the old.
//!
//! Nothing that the schema of before has is touched: neither its tables nor the states of its sequences. So a
//! change that fails, or is rolled back, is forgotten, and whoever reads a snapshot from before goes on.
//!
//! The values of columns that were not there before are computed once, row by row, in the change's transaction
//! (what functions among them write to other tables is committed with it), and logged. Replay takes them from the
//! log. Logs of formats before 5 have none: there they are computed again, as they were then.

use crate::engine::schema_version::SchemaVersion;
use crate::engine::sequence::{self, SequenceState};
use crate::session::core::SessionCore;
use planaria_base::chunks::Chunks;
use planaria_base::datetime::Interval;
use planaria_base::types::TypeClass;
use planaria_base::{ColumnId, Datum, Error, IndexId, Result, RoleId, SequenceId, SqlState, TableId, Type};
use planaria_catalog::oids::Touched;
use planaria_catalog::{Catalog, ColumnDefault};
use planaria_exec::Code;
use planaria_exec::functions;
use planaria_exec::heap::Heap;
use planaria_exec::slot::{BytesKind, Slot};
use planaria_exec::values::write_slot;
use planaria_log::{Effect, ValueReader, encode_effects, encode_values};
use planaria_sql::ddl::{self, NewColumn, Rebuild, Work};
use planaria_storage::reclaim::Participant;
use planaria_storage::{AnyTable, Field, Shape, Tables};
use std::sync::Arc;

/// Rows that are copied between two looks whether to go on.
const ROWS_PER_CHECK: u64 = 1024;

impl SessionCore {
    /// Work on storage that needs no transaction.
    pub(crate) fn store(&mut self, draft: &mut Draft<'_>, work: Work) -> Result<()> {
        match work {
            Work::CreateTable(id) | Work::Truncate(id) => {
                draft.tables.insert(draft.new_table(id)?);
            }
            Work::DropTable(id) => draft.tables.remove(id),
            Work::Rebuild(rebuild) => self.rebuild(draft, &rebuild)?,
            Work::CreateIndex(id, _) | Work::DropIndex(id, _) => {
                // The storage may be new in this statement, made with all indexes.
                let now = draft.catalog.table_by_id(id).indexes.len();
                let stored = draft.tables.try_get(id).map_or(0, |t| t.shape().indexes().len());
                if now != stored || matches!(work, Work::CreateIndex(..)) {
                    self.reindex(draft, id)?;
                }
            }
            Work::RestartSequence(id, value) => {
                if let Some(state) = draft.own_sequence(id) {
                    state.restart(value);
                }
            }
            // What the log has was checked when it was written.
            Work::KeepSequence(id) if draft.logged.is_none() => {
                if let Some(old) = draft.before.sequences.get(id.index())
                    && let Some(now) = draft.catalog.sequences[id.index()].as_deref()
                {
                    ddl::check_last(old.last_value().unwrap_or(old.definition().start), now)?;
                }
            }
            Work::KeepSequence(_) => {}
            Work::CreateSequence(_) | Work::DropSequence(_) | Work::Validate(_) | Work::Fill(..) => {}
        }
        Ok(())
    }

    /// The same rows in storage with other indexes.
    fn reindex(&mut self, draft: &mut Draft<'_>, id: TableId) -> Result<()> {
        let Some(old) = draft.tables.shared(id) else { return Ok(()) };
        let new = draft.new_table(id)?;
        let mut loader = Loader::new(&draft.catalog, &*new, self.worker.0 as usize);
        let mut reading = Participant::new();
        old.for_each_row(reading.guard().pinned(), &mut |image| {
            if loader.rows.is_multiple_of(ROWS_PER_CHECK) {
                self.go_on_with(draft, &*new, 0)?;
            }
            loader.load(image)
        })?;
        draft.tables.insert(new);
        Ok(())
    }

    /// Whether a change that is filling this table may go on: 57014 where it is cancelled, 53200 where there is no
    /// memory for what it makes beside what is there, `more` bytes for the log among it.
    fn go_on_with(&mut self, draft: &Draft<'_>, table: &dyn AnyTable, more: usize) -> Result<()> {
        self.check_cancelled()?;
        if draft.logged.is_some() {
            return Ok(());
        }
        let bytes = |table: &dyn AnyTable| {
            let memory = table.memory();
            (memory.row_bytes + memory.index_bytes) as usize
        };
        let is_new = |t: &&dyn AnyTable| !draft.before.tables.share(&draft.tables, t.id());
        let made: usize = draft.tables.iter().filter(is_new).map(bytes).sum();
        self.share.holds(made + bytes(table) + more);
        let meter = &self.engine.meter;
        if self.share.is_due(meter) { meter.weigh_stored(&mut self.share, draft.before) } else { Ok(()) }
    }

    /// New rows, computed from the old ones, or taken from the log.
    fn rebuild(&mut self, draft: &mut Draft<'_>, rebuild: &Rebuild) -> Result<()> {
        let id = rebuild.table;
        let Some(old) = draft.tables.shared(id) else { return Ok(()) };
        let new = draft.new_table(id)?;
        let table = draft.catalog.clone();
        let table = table.table_by_id(id);
        let columns = draft.columns(rebuild, table);
        let mut source = Source::new(draft, rebuild, &columns, self.user.current())?;
        let mut loader = Loader::new(&draft.catalog, &*new, self.worker.0 as usize);
        let mut image = Vec::new();
        let mut values = Vec::new();
        let mut row_id = 0i64;
        let mut reading = Participant::new();
        old.for_each_row(reading.guard().pinned(), &mut |from| {
            if loader.rows.is_multiple_of(ROWS_PER_CHECK) {
                self.go_on_with(draft, &*new, source.log_bytes())?;
            }
            row_id += 1;
            self.values(&mut source, &columns, (old.shape(), from), &mut values)?;
            let heap = self.machine.heap();
            let mut rest = values.iter();
            let mut next = || rest.next().map_or(Field::Null, |value| field(*value, heap));
            let fields: Vec<Field<'_>> = columns
                .iter()
                .map(|column| match column {
                    // Numbered anew: see the head of `schema`.
                    ColumnSource::RowId => Field::Int(row_id),
                    ColumnSource::Old(c) => old.shape().layout().field(from, *c),
                    ColumnSource::Program(_) | ColumnSource::Sequence(_) => next(),
                })
                .collect();
            let null =
                fields.iter().zip(&table.columns).position(|(f, c)| c.not_null && matches!(f, Field::Null));
            if let Some(i) = null {
                return Err(ddl::null_in_column(table, ColumnId::from(i)));
            }
            image.clear();
            new.shape().layout().encode(&fields, &mut image)?;
            loader.load(&image)
        })?;
        drop(reading);
        let computed = source.end()?;
        if draft.logged.is_some() {
            // Logs of older versions have not what functions wrote on the way: it was thrown away.
            self.txn.abort(&draft.before.tables);
            self.txn.begin();
            self.effects.clear();
        } else if let Some(values) = computed.filter(|_| self.log.is_some()) {
            draft.computed.extend(encode_effects(|w| w.computed(id, &values)));
        }
        // The sequence of the row ids goes on behind them.
        if let Some((true, ColumnDefault::Sequence(sequence))) =
            table.columns.last().map(|c| (c.hidden, &c.default))
            && let Some(state) = draft.own_sequence(*sequence)
        {
            state.restart(row_id + 1);
        }
        draft.tables.insert(new);
        Ok(())
    }

    /// The values of one row that were not there before; in the machine's heap until the next.
    fn values(
        &mut self,
        source: &mut Source<'_>,
        columns: &[ColumnSource],
        (old, image): (&Shape, &[u64]),
        values: &mut Vec<Slot>,
    ) -> Result<()> {
        self.machine.reset();
        values.clear();
        match source {
            Source::Nothing => {}
            Source::Log(reader, types) => {
                for (ty, nullable) in types {
                    let value = reader.datum().map(|value| match value {
                        Datum::Int(micros) if *ty == Type::OldInterval => {
                            Datum::Interval(Interval::of_micros(micros))
                        }
                        value => value,
                    });
                    let value = value.filter(|v| is_of(v, ty) || *nullable && v.is_null());
                    let value = value.ok_or_else(not_these)?;
                    values.push(self.machine.heap_mut().push_datum(&value)?);
                }
            }
            Source::Program { code, schema, log } => {
                if let Some(code) = code {
                    self.args.clear();
                    for i in 0..old.layout().columns().len() {
                        let field = old.layout().field(image, ColumnId::from(i));
                        let ty = &old.layout().specs()[i].ty;
                        self.args.push(slot(field, ty, self.machine.heap_mut())?);
                    }
                    self.run_args(schema, code)?;
                }
                for column in columns {
                    match column {
                        ColumnSource::Program(i) => {
                            let value = self.machine.outs()[*i];
                            values.push(match value {
                                Slot::Array(a) => functions::store_array(self.machine.heap_mut(), a)?,
                                value => value,
                            });
                        }
                        ColumnSource::Sequence(state) => {
                            let place = state.next()?;
                            sequence::note(&mut self.effects, state.definition().id, place);
                            values.push(Slot::Int(place.value));
                        }
                        ColumnSource::Old(_) | ColumnSource::RowId => {}
                    }
                }
                let heap = self.machine.heap();
                encode_values(log, values.len(), |w| {
                    values.iter().for_each(|value| write_slot(w, *value, heap));
                });
            }
        }
        Ok(())
    }
}

/// Where the values of a column of a rewritten table come from.
enum ColumnSource {
    /// From a column that was there.
    Old(ColumnId),
    /// Row ids are numbered.
    RowId,
    /// The program's output of this number.
    Program(usize),
    /// A new sequence.
    Sequence(Arc<SequenceState>),
}

impl ColumnSource {
    /// Whether the log has the values.
    fn is_logged(&self) -> bool {
        matches!(self, ColumnSource::Program(_) | ColumnSource::Sequence(_))
    }
}

/// Where the values that the log has come from.
enum Source<'o> {
    /// There are none.
    Nothing,
    /// They are computed: in the schema of before, but that the table cannot be changed. The log is to have them.
    Program { code: Option<Box<Code>>, schema: Box<SchemaVersion>, log: Vec<u8> },
    /// The log has them: of these types, and whether they may be NULL.
    Log(ValueReader<'o>, Vec<(Type, bool)>),
}

impl<'o> Source<'o> {
    fn new(
        draft: &Draft<'o>,
        rebuild: &Rebuild,
        columns: &[ColumnSource],
        role: RoleId,
    ) -> Result<Source<'o>> {
        if !columns.iter().any(ColumnSource::is_logged) {
            return Ok(Source::Nothing);
        }
        let logged = draft.logged.unwrap_or_default().iter().find_map(|effect| match effect {
            Effect::Computed { table, values } if *table == rebuild.table => Some(values),
            _ => None,
        });
        if let Some(values) = logged {
            let defined = &draft.catalog.table_by_id(rebuild.table).columns;
            let types = columns.iter().zip(defined).filter(|(from, _)| from.is_logged());
            let types = types.map(|(_, column)| (column.ty.clone(), !column.not_null)).collect();
            return Ok(Source::Log(ValueReader::new(values), types));
        }
        let schema = Box::new(draft.meanwhile(rebuild.table)?);
        let code = rebuild.compute.as_ref().map(|p| schema.compile_as(role, p)).transpose()?.map(Box::new);
        Ok(Source::Program { code, schema, log: Vec::new() })
    }

    /// Bytes of what the log is to have so far.
    fn log_bytes(&self) -> usize {
        match self {
            Source::Program { log, .. } => log.len(),
            Source::Nothing | Source::Log(..) => 0,
        }
    }

    /// After the last row: what the log is to have.
    fn end(self) -> Result<Option<Vec<u8>>> {
        match self {
            Source::Nothing => Ok(None),
            Source::Program { log, .. } => Ok(Some(log)),
            Source::Log(reader, _) if reader.is_empty() => Ok(None),
            Source::Log(..) => Err(not_these()),
        }
    }
}

#[cold]
fn not_these() -> Error {
    Error::corrupted("the log has not the values that a change of the schema computed")
}

/// Whether a value, not NULL, can stand in a column of this type.
fn is_of(value: &Datum, ty: &Type) -> bool {
    match ty.class() {
        TypeClass::Bool => matches!(value, Datum::Bool(_)),
        TypeClass::Integer | TypeClass::DateTime | TypeClass::Time | TypeClass::Enum => {
            matches!(value, Datum::Int(_))
        }
        TypeClass::Interval => matches!(value, Datum::Interval(_)),
        TypeClass::Numeric => matches!(value, Datum::Numeric(_) | Datum::Long(_)),
        TypeClass::Float => matches!(value, Datum::Float(_)),
        TypeClass::Text => matches!(value, Datum::Text(_)),
        TypeClass::Bytea | TypeClass::Range | TypeClass::Packed => matches!(value, Datum::Bytea(_)),
        TypeClass::Json => matches!(value, Datum::Jsonb(_)),
        TypeClass::Citext => matches!(value, Datum::Citext(_)),
        TypeClass::Uuid => matches!(value, Datum::Uuid(_)),
        // As it is kept.
        TypeClass::Array => matches!(value, Datum::Bytea(_)),
        TypeClass::Other => false,
    }
}

/// Storage of the schema to be.
pub(crate) struct Draft<'o> {
    /// The schema that it is a change of.
    before: &'o SchemaVersion,
    /// The effects of the part of the record that it is replayed from, if it is: what it makes need not find
    /// memory then, as what was there before must find its place again.
    logged: Option<&'o [Effect]>,
    /// What the log is to have of what was computed, as effects.
    pub(crate) computed: Vec<u8>,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) tables: Tables,
    pub(crate) sequences: Chunks<Arc<SequenceState>>,
}

impl<'o> Draft<'o> {
    /// The schema of `old` with another catalog, before anything has been done to stored rows.
    pub(crate) fn new(
        before: &'o SchemaVersion,
        catalog: Catalog,
        touched: &Touched,
        logged: Option<&'o [Effect]>,
    ) -> Draft<'o> {
        let catalog = Arc::new(catalog);
        Draft {
            sequences: sequences(before, &catalog, touched),
            tables: before.tables.clone(),
            catalog,
            before,
            logged,
            computed: Vec::new(),
        }
    }

    /// New storage for a table.
    fn new_table(&self, id: TableId) -> Result<Arc<dyn AnyTable>> {
        SchemaVersion::new_table(&self.catalog, &self.tables, id)
    }

    /// Where the columns of a rewritten table come from. The sequences among them are the draft's own.
    fn columns(&mut self, rebuild: &Rebuild, table: &planaria_catalog::Table) -> Vec<ColumnSource> {
        let column = |(from, column): (&NewColumn, &planaria_catalog::Column)| match *from {
            _ if column.is_row_id() => ColumnSource::RowId,
            NewColumn::Keep(c) => ColumnSource::Old(c),
            NewColumn::Computed(i) => ColumnSource::Program(i),
            NewColumn::Sequence(sequence) => match self.own_sequence(sequence) {
                Some(state) => ColumnSource::Sequence(state.clone()),
                None => ColumnSource::RowId,
            },
        };
        rebuild.columns.iter().zip(&table.columns).map(column).collect()
    }

    /// The schema while a table is rewritten: that of before, with the sequences that are new. The rows of the table can
    /// be read there as they were, not changed.
    fn meanwhile(&self, table: TableId) -> Result<SchemaVersion> {
        let mut catalog = (*self.before.catalog).clone();
        let mut sequences = self.before.sequences.clone();
        for id in catalog.sequences.len()..self.catalog.sequences.len() {
            catalog.sequences.push(self.catalog.sequences[id].clone());
            sequences.set(id, self.sequences.get(id).cloned());
        }
        Ok(SchemaVersion::new(Arc::new(catalog), self.before.tables.clone(), sequences).freezing(table))
    }

    /// The state of a sequence, the draft's own: where it is moved, the schema of before stays where it is.
    fn own_sequence(&mut self, id: SequenceId) -> Option<&Arc<SequenceState>> {
        let state = self.sequences.get(id.index())?;
        let own = Arc::new(state.redefined(state.definition().clone()));
        self.sequences.set(id.index(), Some(own));
        self.sequences.get(id.index())
    }
}

/// Sequence states under a changed catalog: kept, redefined, new or gone.
fn sequences(old: &SchemaVersion, catalog: &Catalog, touched: &Touched) -> Chunks<Arc<SequenceState>> {
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

/// Loads rows into a table nobody else knows yet.
struct Loader<'t> {
    catalog: &'t Catalog,
    table: &'t dyn AnyTable,
    names: Vec<String>,
    table_name: String,
    worker: usize,
    participant: Participant,
    /// Loaded so far.
    rows: u64,
}

impl<'t> Loader<'t> {
    fn new(catalog: &'t Catalog, table: &'t dyn AnyTable, worker: usize) -> Loader<'t> {
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
                    .with_detail(self.duplicated(index, image))
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
            let value = slot(self.table.shape().layout().field(image, *c), &column.ty, &mut heap);
            names.push(column.name.as_str());
            values.push(match value {
                Ok(Slot::Null) | Err(_) => "null".to_owned(),
                Ok(value) => functions::display(&heap, value, &column.ty),
            });
        }
        format!("Key ({})=({}) is duplicated.", names.join(", "), values.join(", "))
    }
}

fn slot(field: Field<'_>, ty: &Type, heap: &mut Heap) -> Result<Slot> {
    Ok(match field {
        Field::Null => Slot::Null,
        Field::Bool(b) => Slot::Bool(b),
        Field::Int(n) => Slot::Int(n),
        Field::Float(x) => Slot::Float(x),
        Field::Numeric(n) => Slot::numeric(n),
        Field::Long(bytes) => heap.long_bytes(bytes)?,
        Field::Uuid(u) => Slot::Uuid(u),
        Field::Interval(i) => Slot::Interval(i),
        Field::Bytes(b) => {
            let bytes = heap.bytea(b)?.bytes();
            match ty {
                Type::Array(_) | Type::Record(_) => functions::load_array(heap, bytes)?,
                ty => BytesKind::of(ty).slot(bytes),
            }
        }
    })
}

fn field(slot: Slot, heap: &Heap) -> Field<'_> {
    match slot {
        Slot::Null | Slot::Array(_) => Field::Null,
        Slot::Bool(b) => Field::Bool(b),
        Slot::Int(n) => Field::Int(n),
        Slot::Float(x) => Field::Float(x),
        Slot::Numeric(n) => Field::Numeric(n.unpack()),
        Slot::Long(at) => Field::Long(heap.long(at)),
        Slot::Uuid(u) => Field::Uuid(u),
        Slot::Interval(i) => Field::Interval(i),
        Slot::Text(b) | Slot::Bytea(b) | Slot::Jsonb(b) | Slot::Citext(b) => Field::Bytes(heap.bytes(b)),
    }
}
