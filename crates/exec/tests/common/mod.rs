//! A small engine around the machine: programs in IR text, tables in words, on any protocol.
#![allow(dead_code)] // each test file uses what it needs

use planaria_base::{
    ColumnId, Datum, Epoch, Error, IndexId, Numeric, ProcedureId, Result, SequenceId, SqlState, TableId,
    Type, WorkerId,
};
use planaria_base::{Level, clock::CommitClock};
use planaria_exec::{
    Code, CompileEnv, Context, Dynamic, Heap, Host, IndexMeta, Interrupt, Link, Machine, Slot, Source,
    TableMeta, compile,
};
use planaria_ir::verify::{IndexShape, Signature, VerifyEnv};
use planaria_ir::{Draw, ParamMode, Program, ProgramKind};
use planaria_protocol::Hosted;
use planaria_storage::{ColumnSpec, IndexSpec, Table, TableSet, TableSpec};
use std::sync::Arc;

/// Definitions of the tables `t0`, `t1`, ... and of the procedures `p0`, `p1`, ...
#[derive(Default)]
pub struct Schema {
    pub metas: Vec<Arc<TableMeta>>,
    uniques: Vec<Vec<bool>>,
    pub programs: Vec<Program>,
}

pub struct Routines(pub Vec<Code>);

impl Link for Routines {
    fn code(&self, procedure: ProcedureId) -> Result<&Code> {
        self.0.get(procedure.index()).ok_or_else(|| Error::internal("no such procedure"))
    }
}

impl Schema {
    /// A table from `name type [null]` columns and `name [unique] (columns)` indexes; the first index is
    /// the primary key.
    pub fn table(
        mut self,
        name: &str,
        columns: &[(&str, Type, bool)],
        indexes: &[(&str, bool, &[u32])],
    ) -> Self {
        let columns = columns
            .iter()
            .map(|(name, ty, nullable)| {
                (name.to_string(), ColumnSpec { ty: ty.clone(), nullable: *nullable })
            })
            .collect();
        let metas = indexes.iter().map(|(name, _, columns)| IndexMeta {
            name: name.to_string(),
            columns: columns.iter().map(|c| ColumnId(*c)).collect(),
        });
        let meta = TableMeta::new(name, columns, metas.collect()).unwrap();
        self.metas.push(Arc::new(meta));
        self.uniques.push(indexes.iter().map(|(_, unique, _)| *unique).collect());
        self
    }

    /// The next procedure, in IR text.
    pub fn routine(mut self, text: &str) -> Self {
        self.programs.push(planaria_ir::text::parse(text).unwrap());
        self
    }
}

impl VerifyEnv for Schema {
    fn columns(&self, table: TableId) -> Option<Vec<Type>> {
        let meta = self.metas.get(table.index())?;
        Some(meta.layout.specs().iter().map(|s| s.ty.clone()).collect())
    }
    fn index(&self, table: TableId, index: IndexId) -> Option<IndexShape> {
        let columns = self.metas.get(table.index())?.indexes.get(index.index())?.columns.clone();
        Some(IndexShape { columns, unique: self.uniques[table.index()][index.index()] })
    }
    fn procedure(&self, id: ProcedureId) -> Option<Signature> {
        let program = self.programs.get(id.index())?;
        Some(Signature {
            inputs: program
                .params
                .iter()
                .filter(|p| p.mode != ParamMode::Out)
                .map(|p| p.ty.clone())
                .collect(),
            outputs: program.outputs.iter().map(|o| o.ty.clone()).collect(),
            set: program.kind == ProgramKind::SetFunction,
        })
    }
    fn sequence(&self, _: SequenceId) -> bool {
        true
    }
}

fn routine_source(program: &Program) -> Source {
    fn read(text: &str) -> planaria_exec::Teller {
        let text = text.to_owned();
        Box::new(move |position| {
            let before = &text[..position as usize];
            let line = before.lines().count() + usize::from(before.ends_with('\n'));
            planaria_exec::Told {
                behind: Some(format!("line {}", line.max(1))),
                statement: None,
                query: None,
            }
        })
    }
    Source::routine(format!("PL/pgSQL function {}()", program.name), "x\ny\nz\n", read)
}

struct Env<'a> {
    schema: &'a Schema,
    source: Option<Source>,
}

impl CompileEnv for Env<'_> {
    fn table(&self, table: TableId) -> Result<Arc<TableMeta>> {
        Ok(self.schema.metas[table.index()].clone())
    }
    fn source(&self) -> Option<Source> {
        self.source.clone()
    }
    fn source_of(&self, procedure: ProcedureId) -> Option<Source> {
        Some(routine_source(&self.schema.programs[procedure.index()]))
    }
}

/// The engine as the machine sees it.
#[derive(Default)]
pub struct TestHost {
    pub rows: Vec<Vec<Datum>>,
    pub row_count: usize,
    pub keep_rows: bool,
    pub notices: Vec<(Level, String)>,
    pub next: i64,
    /// What programs kept and have not taken yet.
    pub kept: std::collections::VecDeque<Datum>,
    pub pieces: Vec<(u32, Vec<Datum>)>,
    pub interrupted: bool,
    /// What `EXECUTE` of a text runs.
    pub dynamic: Vec<(String, Arc<Code>)>,
}

impl Host for TestHost {
    fn draw(&mut self, input: Draw) -> Result<Slot> {
        Ok(match input {
            Draw::TransactionTimestamp | Draw::StatementTimestamp | Draw::ClockTimestamp => {
                Slot::Int(1_000_000)
            }
            Draw::Random => Slot::Float(0.25),
            Draw::Uuid => Slot::Uuid([7; 16]),
            Draw::TransactionId | Draw::LastValue => Slot::Int(self.next),
            Draw::Kept | Draw::Setting => return Err(Error::internal("asked of kept()")),
            Draw::CurrentUser | Draw::SessionUser | Draw::CurrentDatabase => {
                return Err(Error::internal("asked of name()"));
            }
            Draw::Permitted(_) => Slot::Bool(true),
            Draw::RowSecurity(_) | Draw::ActsAs(_) | Draw::RowSecurityOff => Slot::Bool(false),
        })
    }
    fn next_value(&mut self, _: SequenceId) -> Result<i64> {
        self.next += 1;
        Ok(self.next)
    }
    fn current_value(&mut self, _: SequenceId) -> Result<i64> {
        Ok(self.next)
    }
    fn set_value(&mut self, _: SequenceId, value: i64, _: bool) -> Result<()> {
        self.next = value;
        Ok(())
    }
    fn notice(&mut self, level: Level, message: &Error) {
        self.notices.push((level, message.message().to_owned()));
    }
    fn row(&mut self, row: &[Slot], heap: &Heap) -> Result<()> {
        self.row_count += 1;
        if self.keep_rows {
            self.rows.push(row.iter().map(|s| heap.to_datum(*s)).collect());
        }
        Ok(())
    }
    fn execute(&mut self, text: &str, _: &[Type], _: &[String]) -> Result<Dynamic> {
        match self.dynamic.iter().find(|(known, _)| known == text) {
            Some((_, code)) => Ok(Dynamic::Code(code.clone())),
            None => Err(Error::new(SqlState::SYNTAX_ERROR, format!("syntax error in \"{text}\""))),
        }
    }
    fn keep(&mut self, values: &[Slot], heap: &Heap) -> Result<()> {
        self.kept.extend(values.iter().map(|s| heap.to_datum(*s)));
        Ok(())
    }
    fn kept(&mut self, _: &Type, heap: &mut Heap) -> Result<Slot> {
        let next = self.kept.pop_front();
        heap.push_datum(&next.ok_or_else(|| Error::internal("nothing was kept"))?)
    }
    fn piece(&mut self, piece: u32, args: &[Slot], heap: &Heap) -> Result<()> {
        self.pieces.push((piece, args.iter().map(|s| heap.to_datum(*s)).collect()));
        Ok(())
    }
    fn check_interrupt(&self) -> Result<()> {
        if self.interrupted {
            return Err(Error::new(SqlState::QUERY_CANCELED, "canceling statement due to user request"));
        }
        Ok(())
    }
}

/// A database with one worker.
pub struct Db<P: Hosted> {
    pub schema: Schema,
    pub protocol: P,
    pub txn: P::Txn,
    pub tables: TableSet<P::Header>,
    pub clock: CommitClock,
    pub routines: Routines,
    pub machine: Machine,
    pub host: TestHost,
}

pub fn int(n: i64) -> Datum {
    Datum::Int(n)
}
pub fn text(s: &str) -> Datum {
    Datum::Text(s.to_owned())
}
pub fn num(mantissa: i128, scale: u8) -> Datum {
    Datum::Numeric(Numeric::from_parts(mantissa, scale).unwrap())
}

impl<P: Hosted> Db<P> {
    pub fn new(schema: Schema) -> Db<P> {
        let protocol = P::new();
        let mut tables = TableSet::default();
        for (i, meta) in schema.metas.iter().enumerate() {
            let indexes: Vec<IndexSpec> = meta
                .indexes
                .iter()
                .zip(&schema.uniques[i])
                .map(|(index, unique)| IndexSpec {
                    columns: index.columns.clone(),
                    unique: *unique,
                    equal_nulls: false,
                })
                .collect();
            let spec = TableSpec { columns: meta.layout.specs(), indexes: &indexes };
            tables.insert(Arc::new(Table::new(TableId(i as u32), spec).unwrap()));
        }
        let txn = protocol.worker(WorkerId(0));
        let host = TestHost { keep_rows: true, ..TestHost::default() };
        let mut db = Db {
            schema,
            protocol,
            txn,
            tables,
            clock: CommitClock::new(Epoch(1)),
            routines: Routines(Vec::new()),
            machine: Machine::new(),
            host,
        };
        for program in &db.schema.programs {
            let code = db.compile_program(program);
            db.routines.0.push(code);
        }
        db
    }

    pub fn compile_program(&self, program: &Program) -> Code {
        planaria_ir::verify::verify(program, &self.schema)
            .unwrap_or_else(|e| panic!("{}\n{program}", e.message()));
        let source = (program.kind != ProgramKind::Statement).then(|| routine_source(program));
        compile(program, &Env { schema: &self.schema, source }).unwrap()
    }

    pub fn compile(&self, text: &str) -> Code {
        let program = planaria_ir::text::parse(text).unwrap_or_else(|e| panic!("{}\n{text}", e.message()));
        self.compile_program(&program)
    }

    /// Runs a code without beginning or ending a transaction.
    pub fn step(&mut self, code: &Code, args: &[Datum]) -> Result<(), Interrupt> {
        let mut ctx = Context {
            protocol: &self.protocol,
            txn: &mut self.txn,
            tables: &self.tables,
            link: &self.routines,
            host: &mut self.host,
            calls: Default::default(),
        };
        self.machine.call(code, args, &mut ctx)
    }

    pub fn begin(&mut self) {
        self.protocol.begin(&mut self.txn);
    }
    pub fn commit(&mut self) {
        self.protocol.commit(&mut self.txn, &self.tables, &self.clock).unwrap();
    }
    pub fn abort(&mut self) {
        self.protocol.abort(&mut self.txn, &self.tables);
    }

    /// Runs a code as a transaction; its outs.
    pub fn run(&mut self, code: &Code, args: &[Datum]) -> Result<Vec<Datum>> {
        self.begin();
        match self.step(code, args) {
            Ok(()) => {
                self.commit();
                Ok(self.outs())
            }
            Err(Interrupt::Error(e)) => {
                self.abort();
                Err(e)
            }
            Err(other) => panic!("{other:?} with a single worker"),
        }
    }

    pub fn outs(&self) -> Vec<Datum> {
        self.machine.outs().iter().map(|s| self.machine.heap().to_datum(*s)).collect()
    }

    /// Compiles and runs IR text as a transaction.
    pub fn eval(&mut self, text: &str, args: &[Datum]) -> Result<Vec<Datum>> {
        let code = self.compile(text);
        self.run(&code, args)
    }

    /// The rows that IR text emits.
    pub fn rows(&mut self, text: &str, args: &[Datum]) -> Vec<Vec<Datum>> {
        self.host.rows.clear();
        self.eval(text, args).unwrap();
        std::mem::take(&mut self.host.rows)
    }
}

/// A test on every protocol.
#[macro_export]
macro_rules! on_every_protocol {
    ([@ $($name:ident)*] $module:ident: $scheme:ident; $($rest:tt)*) => {
        mod $module {
            $(#[test] fn $name() { super::$name::<planaria_protocol::$scheme>() })*
        }
        on_every_protocol! { [@ $($name)*] $($rest)* }
    };
    ([@ $($name:ident)*]) => {};
    ($($name:ident),* $(,)?) => {
        planaria_protocol::for_each_protocol! { on_every_protocol, @ $($name)* }
    };
}
