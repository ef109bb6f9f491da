//! An engine small enough to see through: tables on the serial protocol, procedures in IR text.

use planaria_base::{
    ColumnId, CommitTs, Datum, Epoch, Error, IndexId, ProcedureId, Result, SequenceId, SequencePlace,
    TableId, Type, WorkerId,
};
use planaria_base::{Level, clock::CommitClock};
use planaria_exec::{
    Code, CompileEnv, Context, Dynamic, Heap, Host, IndexMeta, Interrupt, Link, Machine, Slot, Source,
    TableMeta, compile,
};
use planaria_ir::verify::{IndexShape, Signature, VerifyEnv};
use planaria_ir::{Draw, Program};
use planaria_log::{Call, Effect, LogReader, Options, RowChange, ValueWriter};
use planaria_protocol::Protocol;
use planaria_protocol::serial::{Serial, SerialHeader, SerialTxn};
use planaria_recovery::{CompiledPiece, CompiledPlan, Progress, Replayer, Routines, Target, World};
use planaria_sim::disk::SimDisk;
use planaria_storage::reclaim::Participant;
use planaria_storage::{ColumnSpec, Field, IndexSpec, KeyBuf, Table, TableDigest, TableSet, TableSpec};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// A transaction: a call (procedure, arguments, kept inputs) or logged changes.
#[derive(Clone, Debug)]
pub enum Step {
    Call(u32, Vec<i64>, Vec<i64>),
    /// Table and values of a row.
    Insert(u32, Vec<i64>),
    /// The same, several at once: unique keys may wander between them.
    Update(u32, Vec<Vec<i64>>),
    Delete(u32, i64),
}

/// Table, then per procedure: the whole, the plan, the pieces with their tables.
const PROCEDURES: &[(&str, &str, &[(&str, u32)])] = &[
    // p0: a change in which the order shows.
    (
        "procedure mix
           reg id: int4
           reg by: int8
           reg row: row t0
           reg n: int8
           reg three: int8
           param in id: int4 = id
           param in by: int8 = by
         begin
           three = const 3
           get t0.i0 (id) -> row, c1 = n
           n = int8.mul(n, three)
           n = int8.add(n, by)
           by = const 1000003
           n = int.mod(n, by)
           update t0 row set c1 = n
         end",
        "procedure mix
           reg id: int4
           reg by: int8
           param in id: int4 = id
           param in by: int8 = by
         begin
           piece 0 (id, by)
         end",
        &[(
            "procedure mix
               reg id: int4
               reg by: int8
               reg row: row t0
               reg n: int8
               reg three: int8
               param in id: int4 = id
               param in by: int8 = by
             begin
               three = const 3
               get t0.i0 (id) -> row, c1 = n
               n = int8.mul(n, three)
               n = int8.add(n, by)
               by = const 1000003
               n = int.mod(n, by)
               update t0 row set c1 = n
             end",
            0,
        )],
    ),
    // p1: its plan reads what logged changes change.
    (
        "procedure scaled
           reg id: int4
           reg other: int4
           reg row: row t2
           reg factor: int8
           reg target: row t0
           param in id: int4 = id
           param in other: int4 = other
         begin
           get t2.i0 (other) -> row, c1 = factor
           get t0.i0 (id) -> target
           update t0 target set c1 = factor
         end",
        "procedure scaled
           reg id: int4
           reg other: int4
           reg row: row t2
           reg factor: int8
           param in id: int4 = id
           param in other: int4 = other
         begin
           get t2.i0 (other) -> row, c1 = factor
           piece 0 (id, factor)
         end",
        &[(
            "procedure scaled
               reg id: int4
               reg factor: int8
               reg target: row t0
               param in id: int4 = id
               param in factor: int8 = factor
             begin
               get t0.i0 (id) -> target
               update t0 target set c1 = factor
             end",
            0,
        )],
    ),
    // p2: moves a unique key.
    (
        "procedure rename
           reg id: int4
           reg name: int8
           reg row: row t1
           param in id: int4 = id
           param in name: int8 = name
         begin
           get t1.i0 (id) -> row
           update t1 row set c1 = name
         end",
        "procedure rename
           reg id: int4
           reg name: int8
           param in id: int4 = id
           param in name: int8 = name
         begin
           piece 0 (id, name)
         end",
        &[(
            "procedure rename
               reg id: int4
               reg name: int8
               reg row: row t1
               param in id: int4 = id
               param in name: int8 = name
             begin
               get t1.i0 (id) -> row
               update t1 row set c1 = name
             end",
            1,
        )],
    ),
    // p3: a row goes and comes again, by a number that the log keeps.
    (
        "procedure again
           reg id: int4
           reg row: row t0
           reg n: int8
           param in id: int4 = id
         begin
           get t0.i0 (id) -> row, c1 = n
           keep n
           delete t0 row
           insert t0 (id, n)
         end",
        "procedure again
           reg id: int4
           reg n: int8
           param in id: int4 = id
         begin
           n = kept
           piece 0 (id)
           piece 1 (id, n)
         end",
        &[
            (
                "procedure again
                   reg id: int4
                   reg row: row t0
                   param in id: int4 = id
                 begin
                   get t0.i0 (id) -> row
                   delete t0 row
                 end",
                0,
            ),
            (
                "procedure again
                   reg id: int4
                   reg n: int8
                   param in id: int4 = id
                   param in n: int8 = n
                 begin
                   insert t0 (id, n)
                 end",
                0,
            ),
        ],
    ),
];

struct Schema {
    metas: Vec<Arc<TableMeta>>,
    /// Columns and uniqueness by table and index.
    indexes: Vec<Vec<IndexSpec>>,
}

impl Schema {
    fn new() -> Schema {
        let columns = || {
            let spec = |ty| ColumnSpec { ty, nullable: false };
            vec![("id".to_owned(), spec(Type::Int4)), ("n".to_owned(), spec(Type::Int8))]
        };
        let index =
            |column, unique| IndexSpec { columns: vec![ColumnId(column)], unique, equal_nulls: false };
        let indexes = vec![
            vec![index(0, true), index(1, false)],
            vec![index(0, true), index(1, true)],
            vec![index(0, true)],
        ];
        let metas = indexes.iter().map(|of: &Vec<IndexSpec>| {
            let named = of.iter().map(|i| IndexMeta { name: "index".into(), columns: i.columns.clone() });
            Arc::new(TableMeta::new("table", columns(), named.collect()).expect("a table"))
        });
        Schema { metas: metas.collect(), indexes }
    }
}

impl VerifyEnv for Schema {
    fn columns(&self, _: TableId) -> Option<Vec<Type>> {
        Some(vec![Type::Int4, Type::Int8])
    }
    fn index(&self, table: TableId, index: IndexId) -> Option<IndexShape> {
        let spec = self.indexes.get(table.index())?.get(index.index())?;
        Some(IndexShape { columns: spec.columns.clone(), unique: spec.unique })
    }
    fn procedure(&self, _: ProcedureId) -> Option<Signature> {
        None
    }
    fn sequence(&self, _: SequenceId) -> bool {
        false
    }
}

impl CompileEnv for Schema {
    fn table(&self, table: TableId) -> Result<Arc<TableMeta>> {
        Ok(self.metas[table.index()].clone())
    }
    fn source(&self) -> Option<Source> {
        None
    }
}

struct MiniRoutines {
    schema: Schema,
    programs: Vec<Program>,
    codes: Vec<Code>,
    plans: Vec<CompiledPlan>,
    /// Rows that were put in place by value.
    observed: Mutex<BTreeSet<(u32, Vec<u64>)>>,
}

impl MiniRoutines {
    fn new() -> MiniRoutines {
        let schema = Schema::new();
        let parse =
            |text: &str| planaria_ir::text::parse(text).unwrap_or_else(|e| panic!("{}\n{text}", e.message()));
        let code = |program: &Program| {
            planaria_ir::verify::verify(program, &schema).unwrap_or_else(|e| panic!("{}", e.message()));
            compile(program, &schema).expect("compiles")
        };
        let programs: Vec<Program> = PROCEDURES.iter().map(|(whole, ..)| parse(whole)).collect();
        let codes = programs.iter().map(code).collect();
        let plans = PROCEDURES.iter().map(|(_, plan, pieces)| {
            let piece = |(text, table): &(&str, u32)| {
                let program = parse(text);
                let (tables, hands_over) = (vec![TableId(*table)], Vec::new());
                CompiledPiece { code: code(&program), program, tables, key: 1, hands_over }
            };
            let plan = parse(plan);
            CompiledPlan::new(code(&plan), plan, pieces.iter().map(piece).collect())
        });
        let plans = plans.collect();
        MiniRoutines { programs, codes, plans, observed: Mutex::default(), schema }
    }
}

impl Link for MiniRoutines {
    fn code(&self, procedure: ProcedureId) -> Result<&Code> {
        Ok(&self.codes[procedure.index()])
    }
}

impl Routines for MiniRoutines {
    fn program(&self, procedure: ProcedureId) -> Result<&Program> {
        Ok(&self.programs[procedure.index()])
    }
    fn keeping(&self, procedure: ProcedureId) -> Result<Option<&Program>> {
        Ok(self.programs.get(procedure.index()))
    }
    fn plan(&self, procedure: ProcedureId) -> Result<Option<&CompiledPlan>> {
        Ok(self.plans.get(procedure.index()))
    }
    fn compile(&self, program: &Program) -> Result<Code> {
        compile(program, &self.schema)
    }
    fn observe_row(&self, table: TableId, row: &[u64]) {
        self.observed.lock().unwrap().insert((table.0, row.to_vec()));
    }
    fn observe_sequence(&self, _: SequenceId, _: SequencePlace) {}
    fn table_name(&self, table: TableId) -> String {
        table.to_string()
    }
}

/// See the module's head.
pub struct Mini {
    routines: Arc<MiniRoutines>,
    tables: TableSet<SerialHeader>,
    protocol: Serial,
    txn: SerialTxn<SerialHeader>,
    machine: Machine,
    clock: CommitClock,
    pub reached: CommitTs,
}

/// Gives no inputs; collects what is kept.
struct Forward<'a>(&'a mut Vec<i64>);

impl Host for Forward<'_> {
    fn draw(&mut self, _: Draw) -> Result<Slot> {
        Err(Error::internal("no inputs here"))
    }
    fn next_value(&mut self, _: SequenceId) -> Result<i64> {
        Err(Error::internal("no sequences here"))
    }
    fn current_value(&mut self, _: SequenceId) -> Result<i64> {
        Err(Error::internal("no sequences here"))
    }
    fn set_value(&mut self, _: SequenceId, _: i64, _: bool) -> Result<()> {
        Err(Error::internal("no sequences here"))
    }
    fn notice(&mut self, _: Level, _: &Error) {}
    fn row(&mut self, _: &[Slot], _: &Heap) -> Result<()> {
        Ok(())
    }
    fn execute(&mut self, _: &str, _: &[Type], _: &[String]) -> Result<Dynamic> {
        Err(Error::internal("no SQL here"))
    }
    fn keep(&mut self, values: &[Slot], _: &Heap) -> Result<()> {
        for value in values {
            match value {
                Slot::Int(n) => self.0.push(*n),
                _ => return Err(Error::internal("no row, nothing to keep")),
            }
        }
        Ok(())
    }
}

fn failed(interrupt: Interrupt) -> Error {
    interrupt.into()
}

impl Mini {
    /// 40 rows in each table.
    pub fn new() -> Mini {
        let routines = Arc::new(MiniRoutines::new());
        let mut tables = TableSet::default();
        for (id, indexes) in (0u32..).zip(&routines.schema.indexes) {
            let columns = routines.schema.metas[id as usize].layout.specs();
            let spec = TableSpec { columns, indexes };
            tables.insert(Arc::new(Table::new(TableId(id), spec).expect("a table")));
        }
        let protocol = Serial::new();
        let txn = protocol.worker(WorkerId(0));
        let clock = CommitClock::new(Epoch(1));
        let reached = CommitTs(0);
        let mut mini = Mini { routines, tables, protocol, txn, machine: Machine::new(), clock, reached };
        for table in 0..3 {
            let rows =
                (0..40).map(|id| Effect::Insert { table: TableId(table), row: mini.row(&[id, 1000 + id]) });
            let rows = rows.collect();
            mini.effects(CommitTs(0), rows).expect("loads");
        }
        mini.routines.observed.lock().unwrap().clear();
        mini.reached = CommitTs(0);
        mini
    }

    /// The image of a row.
    pub fn row(&self, values: &[i64]) -> Vec<u64> {
        let fields: Vec<Field<'_>> = values.iter().map(|n| Field::Int(*n)).collect();
        let mut image = Vec::new();
        self.tables.get(TableId(0)).layout().encode(&fields, &mut image).expect("fits");
        image
    }

    fn key(&self, id: i64) -> KeyBuf {
        let mut key = KeyBuf::new();
        self.tables.get(TableId(0)).index(IndexId::PRIMARY).codec().encode_key(&[Field::Int(id)], &mut key);
        key
    }

    fn key_bytes(&self, id: i64) -> Vec<u8> {
        self.key(id).words().iter().flat_map(|w| w.to_be_bytes()).take(4).collect()
    }

    pub fn digests(&self) -> Vec<(TableId, TableDigest)> {
        let mut participant = Participant::new();
        self.tables.digest(participant.guard().pinned())
    }

    pub fn check(&self) -> std::result::Result<(), String> {
        let mut participant = Participant::new();
        let guard = participant.guard();
        self.tables.iter().try_for_each(|t| t.check(guard.pinned()))
    }

    pub fn observed(&self) -> BTreeSet<(u32, Vec<u64>)> {
        self.routines.observed.lock().unwrap().clone()
    }

    fn transaction(
        &mut self,
        body: impl FnOnce(&mut Mini) -> std::result::Result<(), Interrupt>,
    ) -> Result<()> {
        self.protocol.begin(&mut self.txn);
        let outcome = body(self);
        match outcome {
            Ok(()) => self.protocol.commit(&mut self.txn, &self.tables, &self.clock).map(drop)?,
            Err(_) => self.protocol.abort(&mut self.txn, &self.tables),
        }
        outcome.map_err(failed)
    }

    /// Runs a call; what it keeps.
    pub fn run(&mut self, procedure: u32, args: &[i64]) -> Result<Vec<i64>> {
        let mut kept = Vec::new();
        let args: Vec<Datum> = args.iter().map(|n| Datum::Int(*n)).collect();
        let routines = self.routines.clone();
        self.transaction(|m| {
            let mut ctx = Context {
                protocol: &m.protocol,
                txn: &mut m.txn,
                tables: &m.tables,
                link: &*routines,
                host: &mut Forward(&mut kept),
                calls: Default::default(),
            };
            m.machine.call(&routines.codes[procedure as usize], &args, &mut ctx)
        })?;
        Ok(kept)
    }

    /// The step's effects, if it is not a call.
    pub fn effects_of(&self, step: &Step) -> Vec<Effect> {
        match step {
            Step::Call(..) => Vec::new(),
            Step::Insert(table, row) => vec![Effect::Insert { table: TableId(*table), row: self.row(row) }],
            Step::Update(table, rows) => {
                let update = |row: &Vec<i64>| Effect::Update { table: TableId(*table), row: self.row(row) };
                rows.iter().map(update).collect()
            }
            Step::Delete(table, id) => {
                vec![Effect::Delete { table: TableId(*table), key: self.key_bytes(*id) }]
            }
        }
    }

    fn take(&mut self, table: TableId, id: i64) -> std::result::Result<(), Interrupt> {
        let (tables, key) = (self.tables.clone(), self.key(id));
        let mut heap = Heap::new();
        let table = tables.get(table);
        let found = self.protocol.get(&mut self.txn, table, IndexId::PRIMARY, &key, &mut heap.arena)?;
        let row = found.ok_or_else(|| Error::internal("no such row"))?;
        self.protocol.delete(&mut self.txn, table, row.handle)?;
        Ok(())
    }
}

impl Default for Mini {
    fn default() -> Mini {
        Mini::new()
    }
}

impl Replayer for Mini {
    fn call(&mut self, commit_ts: CommitTs, call: Call) -> Result<()> {
        self.reached = commit_ts;
        let int = |d: &Datum| match d {
            Datum::Int(n) => *n,
            other => panic!("{other:?}"),
        };
        let args: Vec<i64> = call.args.iter().map(int).collect();
        let kept = self.run(call.procedure.0, &args)?;
        assert_eq!(kept, call.inputs.iter().map(int).collect::<Vec<_>>(), "the kept values");
        Ok(())
    }

    fn effects(&mut self, commit_ts: CommitTs, effects: Vec<Effect>) -> Result<()> {
        self.reached = commit_ts;
        self.transaction(|m| {
            let layout = m.tables.get(TableId(0)).layout().clone();
            let changes: Vec<RowChange<'_>> = effects.iter().filter_map(Effect::logical).collect();
            for change in &changes {
                match change {
                    RowChange::Update { table, row } => m.take(*table, layout.int(row, ColumnId(0)))?,
                    RowChange::Delete { table, key } => {
                        let id = u32::from_be_bytes((*key).try_into().expect("4 bytes")) ^ 1 << 31;
                        m.take(*table, i64::from(id))?;
                    }
                    _ => {}
                }
            }
            for change in &changes {
                if let RowChange::Insert { table, row } | RowChange::Update { table, row } = change {
                    if matches!(change, RowChange::Insert { .. }) {
                        m.routines.observe_row(*table, row);
                    }
                    let inserted = m.protocol.insert(&mut m.txn, m.tables.get(*table), row)?;
                    inserted.map_err(|why| Error::internal(format!("a row that it has already: {why:?}")))?;
                }
            }
            Ok(())
        })
    }

    fn progress(&mut self, progress: Progress) {
        assert!(progress.transactions <= progress.planned && progress.bytes_done <= progress.bytes_total);
    }

    fn reached(&mut self, commit_ts: CommitTs) {
        self.reached = commit_ts;
    }
}

impl Target for Mini {
    type Header = SerialHeader;

    fn world(&self) -> Arc<World<SerialHeader>> {
        Arc::new(World { tables: self.tables.clone(), routines: self.routines.clone() })
    }
}

/// Numbers below the one asked for.
pub fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move |n| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    }
}

/// Transactions of which so many in a hundred are logged by value, and the state they end in.
pub fn history(seed: u64, len: usize, images: u64) -> (Vec<Step>, Vec<(TableId, TableDigest)>) {
    let mut next = random(seed);
    let mut mini = Mini::new();
    let mut steps = Vec::new();
    while steps.len() < len {
        let id = |next: &mut dyn FnMut(u64) -> u64| if next(4) == 0 { 7 } else { next(60) as i64 };
        let step = if next(100) < images {
            let (a, b) = (id(&mut next), id(&mut next));
            let table = next(3) as u32;
            match next(6) {
                0 => Step::Delete(table % 2, a),
                1 | 2 => Step::Insert(table, vec![a, 2000 + next(500) as i64]),
                // Unique keys wander between rows.
                3 if a != b => Step::Update(1, vec![vec![a, 1000 + b], vec![b, 1000 + a]]),
                _ => Step::Update(table, vec![vec![a, 1000 + next(90) as i64]]),
            }
        } else {
            let (a, b) = (id(&mut next), next(40) as i64);
            match next(8) {
                0 => Step::Call(1, vec![a, b], Vec::new()),
                1 => Step::Call(2, vec![a, 1000 + next(90) as i64], Vec::new()),
                2 => Step::Call(3, vec![a], Vec::new()),
                _ => Step::Call(0, vec![a, next(1000) as i64], Vec::new()),
            }
        };
        let done = match &step {
            Step::Call(procedure, args, _) => {
                mini.run(*procedure, args).map(|kept| Step::Call(*procedure, args.clone(), kept))
            }
            effects => {
                let effects = mini.effects_of(effects);
                mini.effects(CommitTs(0), effects).map(|()| step.clone())
            }
        };
        // What is refused leaves no trace, and is not logged.
        steps.extend(done.ok());
    }
    let digests = mini.digests();
    (steps, digests)
}

/// A log of these transactions, of many epochs.
pub fn log_of(steps: &[Step]) -> SimDisk {
    let disk = SimDisk::new(1);
    let mini = Mini::new();
    let clock = Arc::new(CommitClock::new(Epoch(1)));
    let options = Options { segment_bytes_max: 16 << 10, ..Options::default() };
    let log = LogReader::open(disk.device()).expect("opens").resume(clock.clone(), options).expect("logs");
    let mut worker = log.worker().expect("a seat");
    for (n, step) in steps.iter().enumerate() {
        let commit = worker.enter().expect("enters");
        let ts = clock.draw();
        match step {
            Step::Call(procedure, args, kept) => {
                let (id, whole) = (ProcedureId(*procedure), PROCEDURES[*procedure as usize].0);
                let write = |w: &mut ValueWriter<'_>| args.iter().chain(kept).for_each(|n| w.int(*n));
                if whole.contains("keep ") {
                    commit.keeping_call(ts, id, args.len(), kept.len(), write);
                } else {
                    commit.call(ts, id, args.len(), kept.len(), write);
                }
            }
            effects => {
                commit.effects(ts, |w| {
                    for effect in mini.effects_of(effects) {
                        match effect {
                            Effect::Insert { table, row } => w.insert(table, &row),
                            Effect::Update { table, row } => w.update(table, &row),
                            Effect::Delete { table, key } => w.delete(table, &key),
                            other => panic!("{other:?}"),
                        }
                    }
                });
            }
        }
        if n % 97 == 0 {
            log.flush().expect("flushes");
        }
    }
    drop(worker);
    log.shutdown().expect("ends");
    disk
}
