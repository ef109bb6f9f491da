//! What a transaction sees of the schema: one catalog version with its tables, sequences and codes.
//!
//! Immutable but for procedures being compiled when first called. Sessions hold an `Arc` of one and
//! look for a newer one between transactions; so nothing is counted or locked on the way of a call.

mod along;
mod deferred;
mod leaves;
mod permit;
mod plan;

pub(crate) use deferred::DeferredKey;
pub(crate) use plan::{LogAs, Planned};

use crate::engine::sequence::SequenceState;
use crate::engine::table_locks::Touches;
use crate::row::Column;
use crate::stats::Memory;
use crate::system::{Amount, Stock};
use permit::Permits;
use planaria_analysis::logging::{self, Logging};
use planaria_analysis::regrow::Facts;
use planaria_base::chunks::Chunks;
use planaria_base::sync::{Mutex, OnceLock, thread};
use planaria_base::{
    ColumnId, Error, ProcedureId, Result, RoleId, SequenceId, SequencePlace, SqlState, TableId, watch,
};
use planaria_catalog::{self as catalog, Catalog, ColumnDefault, Language, Procedure};
use planaria_exec::{Code, CompileEnv, IndexMeta, Link, Source, TableMeta, Teller, Told};
use planaria_ir::{OpKind, Program};
use planaria_log::Keeping;
use planaria_recovery::{CompiledPlan, Routines};
use planaria_sql::lower::plpgsql::BySteps;
use planaria_sql::lower::{self, Lowered};
use planaria_storage::{AnyTable, ColumnSpec, Header, IndexSpec, OldUse, Shape, Table, TableSpec, Tables};
use planaria_syntax::marks;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Schema versions made so far in this process.
static MADE: AtomicU64 = AtomicU64::new(0);

/// See the module's head.
pub(crate) struct SchemaVersion {
    /// Of this one alone, among all of the process: of a catalog version there may be several, if a
    /// change of the schema was rolled back.
    version: u64,
    /// Looked at along other paths, and from where this is looked at.
    along: along::Along,
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) tables: Tables,
    pub(crate) sequences: Chunks<Arc<SequenceState>>,
    metas: Cells<Result<Arc<TableMeta>>>,
    programs: Cells<Result<Lowered>>,
    routines: Cells<Result<Routine>>,
    pub(crate) plans: Cells<Result<Planned, String>>,
    by_steps: Cells<bool>,
    /// What calls that wait their turn ask for. See [`Self::waves`].
    waves: Cells<Box<[Code]>>,
    facts: OnceLock<Arc<Facts>>,
    /// Held by who makes them.
    making_facts: Mutex<()>,
    permits: Permits,
    /// Some foreign keys are checked at commit alone.
    pub(crate) has_deferred: bool,
    pub(crate) deferred: OnceLock<Result<Vec<DeferredKey>>>,
    /// A table that is being rewritten: nothing that changes its rows is compiled.
    frozen: Option<TableId>,
}

/// A procedure, compiled.
pub(crate) struct Routine {
    pub(crate) code: Code,
    pub(crate) columns: Vec<Column>,
    /// How its calls are logged, if they can be planned.
    pub(crate) logging: Logging,
    /// It claims rows.
    pub(crate) claims: bool,
    /// What it does to tables.
    pub(crate) touches: Arc<Touches>,
}

/// What is made when it is first asked for, for each definition. Places are made in chunks, when they are first
/// looked at: after most changes of the schema most of them never are.
pub(crate) struct Cells<T> {
    chunks: Chunked<T>,
    len: usize,
    /// Of polymorphic routines with the types of calls: there are most often none.
    instances: OnceLock<Chunked<T>>,
}

type Chunked<T> = Box<[OnceLock<Box<[OnceLock<T>]>>]>;

impl<T> Cells<T> {
    const CHUNK: usize = 64;

    pub(crate) fn new(len: usize) -> Cells<T> {
        Cells { chunks: Self::chunks(len), len, instances: OnceLock::new() }
    }

    fn chunks(len: usize) -> Chunked<T> {
        (0..len.div_ceil(Self::CHUNK)).map(|_| OnceLock::new()).collect()
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&OnceLock<T>> {
        if at >= self.len {
            return self.of_instance(at);
        }
        Some(Self::cell(&self.chunks, at))
    }

    #[cold]
    fn of_instance(&self, at: usize) -> Option<&OnceLock<T>> {
        let at = at.checked_sub(catalog::FIRST_INSTANCE.index()).filter(|at| *at < catalog::INSTANCES_MAX)?;
        Some(Self::cell(self.instances.get_or_init(|| Self::chunks(catalog::INSTANCES_MAX)), at))
    }

    fn cell(chunks: &Chunked<T>, at: usize) -> &OnceLock<T> {
        let chunk =
            chunks[at / Self::CHUNK].get_or_init(|| (0..Self::CHUNK).map(|_| OnceLock::new()).collect());
        &chunk[at % Self::CHUNK]
    }
}

impl SchemaVersion {
    pub(crate) fn new(
        catalog: Arc<Catalog>,
        tables: Tables,
        sequences: Chunks<Arc<SequenceState>>,
    ) -> SchemaVersion {
        let metas = Cells::new(catalog.tables.len());
        let routines = catalog.procedures.len();
        let (programs, routines, plans) = (Cells::new(routines), Cells::new(routines), Cells::new(routines));
        let by_steps = Cells::new(catalog.procedures.len());
        let waves = Cells::new(catalog.procedures.len());
        let facts = OnceLock::new();
        let permits = Permits::new(&catalog);
        let version = MADE.fetch_add(1, Ordering::Relaxed) + 1;
        let (has_deferred, deferred) = (catalog.has_deferred_keys(), OnceLock::new());
        SchemaVersion {
            version,
            along: along::Along::new(version, catalog.procedures.len()),
            catalog,
            tables,
            sequences,
            metas,
            programs,
            routines,
            plans,
            by_steps,
            waves,
            facts,
            making_facts: Mutex::new(()),
            permits,
            has_deferred,
            deferred,
            frozen: None,
        }
    }

    /// The same while a table is rewritten: what changes the table's rows fails (55006).
    pub(crate) fn freezing(self, table: TableId) -> SchemaVersion {
        SchemaVersion { frozen: Some(table), ..self }
    }

    /// Tells schema versions apart: what was compiled under one belongs to it.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// The definitions that programs refer to.
    pub(crate) fn env(&self) -> lower::CatalogEnv<'_> {
        lower::CatalogEnv(&self.catalog)
    }

    /// Whether a table has its rows in the same storage here and there.
    pub(crate) fn shares_table(&self, other: &SchemaVersion, id: TableId) -> bool {
        self.tables.share(&other.tables, id)
    }

    /// Whether a sequence has the same state here and there.
    pub(crate) fn shares_sequence(&self, other: &SchemaVersion, id: SequenceId) -> bool {
        match (self.sequences.get(id.index()), other.sequences.get(id.index())) {
            (Some(here), Some(there)) => Arc::ptr_eq(here, there),
            _ => false,
        }
    }

    /// What is known of a table that is there without its records.
    pub(crate) fn shape(&self, id: TableId) -> &Shape {
        self.tables.get(id).shape()
    }

    /// The table's storage.
    pub(crate) fn table<H: Header>(&self, id: TableId) -> Result<&Table<H>> {
        let table = self.tables.of().try_get(id);
        table.map(|t| &**t).ok_or_else(|| Error::internal(format!("there is no table {id}")))
    }

    /// A table that the log names.
    pub(crate) fn logged_table<H: Header>(&self, id: TableId) -> Result<&Table<H>> {
        self.table(id)
            .map_err(|_| Error::corrupted(format!("the log changes table {id}, which there is not")))
    }

    /// The program of a routine, lowered when first asked for.
    pub(crate) fn program(&self, id: ProcedureId) -> Result<&Program> {
        self.lowered(id).map(|l| &l.program)
    }

    /// The same with what it needs rights for.
    pub(crate) fn lowered(&self, id: ProcedureId) -> Result<&Lowered> {
        kept(self.programs.get(id.index()).ok_or_else(|| no_procedure(id))?, || self.lower(id))
    }

    fn lower(&self, id: ProcedureId) -> Result<Lowered> {
        let procedure = self.catalog.procedure_if(id).ok_or_else(|| no_procedure(id))?;
        let lowered = lower::plpgsql::lower_procedure_rights(&self.catalog, procedure, None)?;
        planaria_ir::verify::verify(&lowered.program, &self.env())?;
        Ok(lowered)
    }

    /// Lowers these routines on all processors, where they are many: each is by itself.
    fn lower_many(&self, ids: &[ProcedureId]) {
        /// What a thread takes at a time.
        const SOME: usize = 16;
        let threads = thread::available_parallelism().map_or(1, usize::from).min(ids.len() / (2 * SOME));
        if threads < 2 {
            return;
        }
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some(some) = ids.chunks(SOME).nth(next.fetch_add(1, Ordering::Relaxed)) {
                for id in some {
                    // Where it fails, it may be for want of stack here: that is for the caller to say.
                    if let Some(cell) = self.programs.get(id.index())
                        && cell.get().is_none()
                        && let Ok(lowered) = self.lower(*id)
                    {
                        let _ = cell.set(Ok(lowered));
                    }
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
    }

    /// A routine, compiled when first asked for.
    #[inline]
    pub(crate) fn routine(&self, id: ProcedureId) -> Result<&Routine> {
        kept(self.routines.get(id.index()).ok_or_else(|| no_procedure(id))?, || self.make_routine(id))
    }

    /// What fetches the rows of its calls while they wait their turn, compiled when first asked for; nothing where a call
    /// looks ahead by itself.
    pub(crate) fn waves(&self, id: ProcedureId) -> &[Code] {
        let Some(cell) = self.waves.get(id.index()) else { return &[] };
        cell.get_or_init(|| {
            let Ok(program) = self.program(id) else { return Box::default() };
            let env = Env { schema: self, source: None, routine: None, guarded: false, owner: None };
            let waves = planaria_analysis::waves(program).into_iter();
            waves
                .map_while(|wave| planaria_exec::compile_ahead(wave.program, wave.label, &env).ok())
                .collect()
        })
    }

    #[cold]
    fn make_routine(&self, id: ProcedureId) -> Result<Routine> {
        let program = self.program(id)?;
        let env = Env {
            schema: self,
            source: Some(self.source(id)),
            routine: Some(id),
            guarded: false,
            owner: None,
        };
        let code = self.build(program, &env)?;
        let told = self.catalog.procedure_if(id).is_some_and(planaria_catalog::Procedure::says_row);
        let columns = program
            .outputs
            .iter()
            .take(program.outputs.len() - usize::from(told))
            .map(|o| Column { name: o.name.clone(), ty: o.ty.clone(), origin: None })
            .collect();
        let mut logging = self.logging_of(id, program, &mut BTreeSet::new());
        if !self.is_plain(id) {
            logging = logging.in_settings_of_its_own();
        }
        let within = self.within(id);
        let touches = self.touches_of(id, program);
        let claims = within.as_deref().unwrap_or(self).claims(program);
        Ok(Routine { code, columns, logging, claims, touches })
    }

    /// How calls are logged by what the program and its callees do. What was `seen` adds nothing more
    /// to the whole.
    fn logging_of(
        &self,
        id: ProcedureId,
        program: &Program,
        seen: &mut BTreeSet<(u64, ProcedureId)>,
    ) -> Logging {
        seen.insert((self.version, id));
        let within = self.within(id);
        let inside = within.as_deref().unwrap_or(self);
        let logging = logging::of(program, &mut |callee| {
            if seen.contains(&(inside.version, callee)) {
                return None;
            }
            Some(inside.logging_of(callee, inside.program(callee).ok()?, seen))
        });
        // The zone and the styles that replay computes in are none that a routine sets.
        let routine = self.catalog.behind(id);
        match ["timezone", "datestyle", "intervalstyle", "bytea_output", "extra_float_digits"]
            .iter()
            .any(|name| routine.setting(name).is_some())
        {
            true => logging.in_settings_of_its_own(),
            false => logging,
        }
    }

    /// Whether a statement's program, with all it calls, only reads.
    pub(crate) fn only_reads(&self, program: &Program) -> bool {
        let mut seen = BTreeSet::new();
        let mut of_callee = |callee| Some(self.logging_of(callee, self.program(callee).ok()?, &mut seen));
        logging::of(program, &mut of_callee).is_read_only()
    }

    /// Whether a program claims rows, or calls what does: in a snapshot there are none to be had. Who locks keys wants to
    /// read what is there then, not what was there before.
    pub(crate) fn claims(&self, program: &Program) -> bool {
        self.claims_unseen(program, &mut BTreeSet::new())
    }

    fn claims_unseen(&self, program: &Program, seen: &mut BTreeSet<(u64, ProcedureId)>) -> bool {
        let mut claims = false;
        program.body.visit(&mut |op| {
            claims = claims
                || match &op.kind {
                    OpKind::Claim { .. } => true,
                    OpKind::Ask { question, .. } => question.locks(),
                    OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => {
                        let within = self.within(*procedure);
                        let inside = within.as_deref().unwrap_or(self);
                        seen.insert((self.version, *procedure))
                            && self.program(*procedure).is_ok_and(|p| inside.claims_unseen(p, seen))
                    }
                    _ => false,
                };
        });
        claims
    }

    /// Whether a program reads no stored row, draws from no sequence and calls nothing: what it answers comes from
    /// the catalog alone, and from what the engine knows of itself.
    pub(crate) fn is_detached(program: &Program) -> bool {
        let mut detached = true;
        program.body.visit(&mut |op| {
            detached = detached
                && op.kind.table().is_none()
                && !matches!(
                    op.kind,
                    OpKind::NextValue { .. }
                        | OpKind::CurrentValue { .. }
                        | OpKind::SetValue { .. }
                        | OpKind::Call { .. }
                        | OpKind::CallSet { .. }
                        | OpKind::Execute { .. }
                );
        });
        detached
    }

    /// Where the text of a routine's program comes from.
    pub(crate) fn source(&self, id: ProcedureId) -> Source {
        let procedure = self.catalog.behind(id);
        match procedure.language {
            Language::PlPgSql => Self::source_of_body(&self.title(procedure), &procedure.body),
            Language::Sql => {
                Source::routine(format!("SQL function \"{}\"", procedure.name), &*procedure.body, read_sql)
            }
        }
    }

    /// What errors call a routine in PL/pgSQL: it and its types with their schemas, where they are not found along the path that
    /// it has, or that whoever calls it has.
    pub(crate) fn title(&self, procedure: &Procedure) -> String {
        match self.catalog.own_path(procedure) {
            Some(path) => self.catalog.along(&path).shown_signature(procedure),
            None => self.catalog.shown_signature(procedure),
        }
    }

    /// Whether a routine is carried out by steps, where its call is all that a statement does.
    pub(crate) fn goes_by_steps(&self, id: ProcedureId) -> bool {
        let Some(cell) = self.by_steps.get(id.index()) else { return false };
        // With the types of a call it may answer with what its declaration does not say.
        let carried_out = || lower::plpgsql::check_steps(self.catalog.procedure(id)).is_ok();
        *cell.get_or_init(|| {
            let lead = self.leads_to_steps(self.catalog.behind(id), &mut BTreeSet::new());
            lead != BySteps::No && carried_out()
        })
    }

    /// The same of any routine that goes by a name.
    pub(crate) fn may_go_by_steps(&self, name: &planaria_syntax::ast::Name) -> bool {
        self.routines_meant(name).any(|p| self.goes_by_steps(p.id))
    }

    /// Whether the body of a DO block is carried out by steps because of what it calls by itself.
    pub(crate) fn calls_by_steps(&self, body: &str) -> bool {
        let called = lower::plpgsql::called_by_itself(body);
        let routines = called.iter().flat_map(|name| self.routines_meant(name));
        let leads = routines.filter(|p| self.goes_by_steps(p.id));
        let lead = leads.map(|p| self.leads_to_steps(p, &mut BTreeSet::new())).max();
        lead.is_some_and(|lead| self.follows(body, lead) != BySteps::No)
    }

    /// How a body goes that calls what goes so.
    fn follows(&self, body: &str, lead: BySteps) -> BySteps {
        match lead {
            BySteps::Follows if !lower::plpgsql::can_follow(&self.catalog, body) => BySteps::No,
            lead => lead,
        }
    }

    /// The routines that a name may mean: those in the schema that it says, else along the path.
    fn routines_meant<'n>(
        &'n self,
        name: &'n planaria_syntax::ast::Name,
    ) -> impl Iterator<Item = &'n Procedure> + 'n {
        let local = name.parts.last().map_or("", String::as_str);
        self.catalog.routines_called(local).filter(move |p| match name.parts.as_slice() {
            [.., schema, _] => self.catalog.schema_name(p.schema) == schema,
            _ => self.catalog.path().schemas().contains(&p.schema),
        })
    }

    /// Whether a routine changes the schema or sets what statements mean, or calls one by itself that does.
    fn leads_to_steps(&self, routine: &Procedure, seen: &mut BTreeSet<ProcedureId>) -> BySteps {
        if !seen.insert(routine.id) || lower::plpgsql::check_steps(routine).is_err() {
            return BySteps::No;
        }
        let own = lower::plpgsql::goes_by_steps_under(&self.catalog, routine);
        if own == BySteps::Must || routine.language != Language::PlPgSql {
            return own;
        }
        let called = lower::plpgsql::called_by_itself(&routine.body);
        let routines = called.iter().flat_map(|name| self.routines_meant(name));
        let lead = routines.map(|p| self.leads_to_steps(p, seen)).max().unwrap_or(BySteps::No);
        own.max(self.follows(&routine.body, lead))
    }

    /// Where the text of a statement's program comes from: that of DO is one of PL/pgSQL.
    pub(crate) fn source_of_statement(statement: &planaria_syntax::ast::Statement) -> Option<Source> {
        let (title, body) = match &statement.kind {
            planaria_syntax::ast::StatementKind::Do { body, .. } => ("inline_code_block", &**body),
            planaria_syntax::ast::StatementKind::Step(step) => (&*step.title, &*step.body),
            _ => return None,
        };
        Some(Self::source_of_body(title, body))
    }

    /// Where the text of a body comes from that is called so.
    pub(crate) fn source_of_body(title: &str, body: &str) -> Source {
        Source::routine(format!("PL/pgSQL function {title}"), body, read_plpgsql)
    }

    /// Verifies and compiles a program lowered under this catalog; `source` is where its text came from.
    pub(crate) fn compile(&self, program: &Program, source: Option<Source>) -> Result<Code> {
        planaria_ir::verify::verify(program, &self.env())?;
        self.build(program, &Env { schema: self, source, routine: None, guarded: false, owner: None })
    }

    /// Compiles a verified program.
    pub(crate) fn build(&self, program: &Program, env: &Env<'_>) -> Result<Code> {
        if let Some(table) = self.frozen {
            let mut changes = false;
            program.body.visit(&mut |op| changes |= op.kind.is_write() && op.kind.table() == Some(table));
            if changes {
                let name = &self.catalog.table_by_id(table).name;
                let message = format!(
                    "cannot ALTER TABLE \"{name}\" because it is being used by active queries in this session"
                );
                return Err(Error::new(SqlState::OBJECT_IN_USE, message));
            }
        }
        match planaria_analysis::look_ahead(program) {
            Some(planaria_analysis::LookAhead { program, label, .. }) => {
                planaria_exec::compile_ahead(program, label, env)
            }
            None => planaria_exec::compile(program, env),
        }
    }

    /// A row id that a logged row has is not given again.
    pub(crate) fn observe_row_id(&self, table: TableId, row: &[u64]) {
        let columns = &self.catalog.table_by_id(table).columns;
        if let Some(catalog::Column { hidden: true, default: ColumnDefault::Sequence(sequence), .. }) =
            columns.last()
            && let Some(state) = self.sequences.get(sequence.index())
        {
            let row_id = self.shape(table).layout().int(row, ColumnId::from(columns.len() - 1));
            state.observe(SequencePlace::given(0, row_id));
        }
    }

    /// The storage of a table of this catalog, empty, to be put among tables.
    pub(crate) fn new_table(catalog: &Catalog, tables: &Tables, id: TableId) -> Result<Arc<dyn AnyTable>> {
        let table = catalog.table_by_id(id);
        let columns = column_specs(table);
        let indexes: Vec<IndexSpec> = table
            .indexes
            .iter()
            .map(|i| IndexSpec { columns: i.columns.clone(), unique: i.unique, equal_nulls: i.equal_nulls })
            .collect();
        tables.make(id, TableSpec { columns: &columns, indexes: &indexes })
    }
}

fn column_specs(table: &planaria_catalog::Table) -> Vec<ColumnSpec> {
    table.columns.iter().map(|c| ColumnSpec { ty: c.ty.clone(), nullable: !c.not_null }).collect()
}

fn table_meta(catalog: &Catalog, table: &planaria_catalog::Table) -> Result<Arc<TableMeta>> {
    let mut names: Vec<String> = table
        .columns
        .iter()
        .map(|c| match c.hidden {
            true => c.name.clone(),
            false => planaria_base::text_io::quote_ident(&c.name),
        })
        .collect();
    // Errors name the expressions of an index as its definition has them.
    for index in table.indexes.iter().filter(|i| i.definition.is_some()) {
        for at in table.said_keys(index) {
            let column = index.columns[at].index();
            if table.columns[column].hidden
                && let Some(shown) = crate::system::shown_key(catalog, table, &table.key_text(index, at))
            {
                names[column] = shown;
            }
        }
    }
    let columns = names.into_iter().zip(column_specs(table)).collect();
    let indexes = table
        .indexes
        .iter()
        .map(|i| IndexMeta { name: i.name.clone(), columns: i.columns.clone() })
        .collect();
    let mut meta = TableMeta::new(table.name.clone(), columns, indexes)?;
    meta.partitions = leaves::of_root(catalog, table);
    Ok(Arc::new(meta))
}

/// What is made when it is first asked for. An error that is passing is told, and not kept.
#[inline]
fn kept<T>(cell: &OnceLock<Result<T>>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    match cell.get() {
        Some(made) => made.as_ref().map_err(Clone::clone),
        None => make_kept(cell, make),
    }
}

#[cold]
fn make_kept<T>(cell: &OnceLock<Result<T>>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    // It is for all sessions: none whose time is over leaves it undone.
    let made = watch::unwatched(make);
    match made {
        Err(error) if is_passing(&error) => Err(error),
        made => cell.get_or_init(|| made).as_ref().map_err(Clone::clone),
    }
}

/// Whether an error is of whoever has met it, and of the moment, not of what was to be made.
fn is_passing(error: &Error) -> bool {
    matches!(
        error.sqlstate(),
        SqlState::QUERY_CANCELED | SqlState::OUT_OF_MEMORY | SqlState::STATEMENT_TOO_COMPLEX
    )
}

/// Definitions name none that is not there; a log that was forged may.
#[cold]
pub(crate) fn no_procedure(id: ProcedureId) -> Error {
    Error::corrupted(format!("the log calls procedure {id}, which there is not"))
}

fn read_plpgsql(text: &str) -> Teller {
    let marks = marks::plpgsql(text);
    Box::new(move |position| told(&marks, position))
}

fn read_sql(text: &str) -> Teller {
    let marks = marks::sql(text);
    Box::new(move |position| told(&marks, position))
}

/// What CONTEXT says of a place. Where there is no mark around it, it is nowhere in particular: behind the end of a body.
fn told(marks: &[marks::Mark], position: u32) -> Told {
    match marks::innermost(marks, position) {
        Some(mark) => {
            Told { behind: mark.told.clone(), statement: mark.statement.clone(), query: mark.query.clone() }
        }
        None => {
            let behind = match position {
                lower::plpgsql::CASTING => "while casting return value to function's return type",
                lower::plpgsql::EXITING => "during function exit",
                _ => "",
            };
            Told { behind: Some(behind.to_owned()), statement: None, query: None }
        }
    }
}

impl Stock for SchemaVersion {
    fn amount(&self, table: TableId) -> Amount {
        self.tables.try_get(table).map_or_else(Amount::default, |table| {
            let m = table.memory();
            Amount { rows: m.rows, row_bytes: m.row_bytes, index_bytes: m.index_bytes }
        })
    }
    fn last_value(&self, sequence: SequenceId) -> Option<i64> {
        self.sequences.get(sequence.index())?.last_value()
    }
    fn sequence_row(&self, sequence: SequenceId) -> Option<(i64, bool)> {
        Some(self.sequences.get(sequence.index())?.row())
    }
    fn memory(&self) -> Memory {
        let mut all = Memory {
            old_version_bytes_spare: planaria_storage::spare_bytes(),
            ready_bytes: planaria_storage::ready_bytes(),
            ..Memory::default()
        };
        for table in self.tables.iter() {
            let (m, old) = (table.memory(), table.old_versions());
            all.rows += m.rows;
            all.row_bytes += m.row_bytes;
            all.row_bytes_reserved += m.row_bytes_reserved;
            all.index_entries += m.index_entries;
            all.index_bytes += m.index_bytes;
            all.old_versions += old.versions;
            all.old_version_bytes += old.bytes;
        }
        all
    }
    fn old_versions(&self) -> OldUse {
        let mut all = OldUse::default();
        for table in self.tables.iter() {
            let old = table.old_versions();
            (all.versions, all.bytes) = (all.versions + old.versions, all.bytes + old.bytes);
        }
        all
    }
}

pub(crate) struct Env<'s> {
    pub(crate) schema: &'s SchemaVersion,
    pub(crate) source: Option<Source>,
    /// The routine that is compiled, if it is one.
    pub(crate) routine: Option<ProcedureId>,
    pub(crate) guarded: bool,
    /// Who runs it, whoever begins it, where it is no routine.
    pub(crate) owner: Option<RoleId>,
}

impl CompileEnv for Env<'_> {
    fn source(&self) -> Option<Source> {
        self.source.clone()
    }
    fn definer(&self) -> Option<RoleId> {
        let Some(routine) = self.routine else { return self.owner };
        let procedure = self.schema.catalog.behind(routine);
        procedure.security_definer.then_some(procedure.rights.owner)
    }
    fn own(&self) -> Option<ProcedureId> {
        self.routine.filter(|id| !self.schema.catalog.behind(*id).settings.is_empty())
    }
    fn guarded(&self) -> bool {
        self.guarded
    }
    fn is_trigger(&self) -> bool {
        let of_trigger = |p: &Procedure| p.fires.is_some() || p.fires_view.is_some();
        self.routine.is_some_and(|id| of_trigger(self.schema.catalog.procedure(id)))
    }
    fn source_of(&self, procedure: ProcedureId) -> Option<Source> {
        Some(self.schema.source(procedure))
    }
    fn table(&self, id: TableId) -> Result<Arc<TableMeta>> {
        let none = || Error::internal(format!("there is no table {id}"));
        let definition = self.schema.catalog.tables.get(id.index()).and_then(Option::as_deref);
        let definition = definition.ok_or_else(none)?;
        let cell = self.schema.metas.get(id.index()).ok_or_else(none)?;
        cell.get_or_init(|| table_meta(&self.schema.catalog, definition)).clone()
    }
}

impl Link for SchemaVersion {
    fn code(&self, procedure: ProcedureId) -> Result<&Code> {
        Ok(&self.routine(procedure)?.code)
    }
    fn guarded_code(&self, procedure: ProcedureId) -> Result<&Code> {
        Ok(&self.guarded_routine(procedure)?.code)
    }
    fn within(&self, routine: ProcedureId) -> Option<Arc<dyn Link + '_>> {
        SchemaVersion::within(self, routine).map(|within| within as Arc<dyn Link>)
    }
}

impl Routines for SchemaVersion {
    fn program(&self, procedure: ProcedureId) -> Result<&Program> {
        self.program(procedure)
    }
    fn keeping(&self, procedure: ProcedureId) -> Result<Option<&Program>> {
        Ok(self.keeping_program(procedure))
    }
    fn kept(&self, procedure: ProcedureId, keeping: Keeping) -> Keeping {
        match keeping {
            Keeping::ByFormer if self.keeps_as_formerly(procedure) => Keeping::Yes,
            Keeping::ByFormer => Keeping::ByAnother,
            keeping => keeping,
        }
    }
    fn plan(&self, procedure: ProcedureId) -> Result<Option<&CompiledPlan>> {
        Ok(self.planned(procedure).ok().map(|planned| &planned.plan))
    }
    fn compile(&self, program: &Program) -> Result<Code> {
        self.compile(program, None)
    }
    fn observe_row(&self, table: TableId, row: &[u64]) {
        self.observe_row_id(table, row);
    }
    fn observe_sequence(&self, sequence: SequenceId, place: SequencePlace) {
        if let Some(state) = self.sequences.get(sequence.index()) {
            state.observe(place);
        }
    }
    fn table_name(&self, table: TableId) -> String {
        self.catalog.table_by_id(table).name.clone()
    }
}
