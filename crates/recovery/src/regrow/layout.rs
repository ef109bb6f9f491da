//! Which tables go together, and how their rows are divided.
//!
//! A *class* is a set of tables that pieces touch together: the union-find of the tables of every piece
//! of every procedure met so far. Its rows are divided by the values of their first `prefix` primary
//! key columns, as many as every piece of the class names; two rows that differ there may be changed in
//! any order. Only unique secondary indexes see across that: a key that one row gives up, another may
//! take. A segment in which this can have happened runs such a class whole, in commit order.

use super::kernel::{Kernel, NewRow};
use super::operands::{BITS_MAX, Packing};
use crate::{AnyWorld, CompiledPiece, CompiledPlan, Routines};
use planaria_base::{ColumnId, Error, IndexId, ProcedureId, Result, TableId, Type};
use planaria_exec::Slot;
use planaria_ir::{OpKind, Program};
use planaria_storage::{ColumnKind, KeyBuf, Shape};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The first bytes of an encoded key prefix: what pieces are sorted and divided by. It orders as the
/// prefixes do; those that agree in it stay in commit order.
pub(super) type SortKey = (u64, u32);
const SORT_KEY_BYTES: usize = 12;

/// The sort key of an encoded prefix.
#[inline]
pub(super) fn sort_key(key: &KeyBuf) -> SortKey {
    let words = key.words();
    let at = |i: usize| words.get(i).copied().unwrap_or(0);
    (at(0), (at(1) >> 32) as u32)
}

/// A class of tables.
#[derive(Clone, Debug)]
pub(super) struct Class {
    /// Leading primary key columns that rows are divided by; 0: not divided.
    pub prefix: usize,
    /// Where the partitions but the first begin, ascending. None before there are samples.
    pub splitters: Vec<u128>,
    /// Its one table, if sort keys are whole primary keys of it.
    pub exact: Option<TableId>,
    /// Number of its first queue.
    pub first_queue: usize,
    /// Classes whose pieces hand over pieces of this one; all of them stand before it.
    pub takes: Vec<usize>,
    /// Whether its pieces hand over others.
    pub gives: bool,
}

fn as_number((high, low): SortKey) -> u128 {
    u128::from(high) << 32 | u128::from(low)
}

impl Class {
    pub(super) fn partitions(&self) -> usize {
        self.splitters.len() + 1
    }
    /// The queue for pieces with this key.
    #[inline]
    pub(super) fn queue(&self, key: SortKey) -> usize {
        // As one number: a comparison without branches, whose outcomes nobody could predict.
        let key = as_number(key);
        self.first_queue + self.splitters.partition_point(|s| *s <= key)
    }
}

/// What the planner and the executor must know of a piece.
#[derive(Clone, Copy, Debug)]
pub(super) struct PieceInfo {
    pub procedure: u32,
    /// Its number within the procedure.
    pub number: u32,
    /// `None`: it touches no table.
    pub class: Option<u16>,
    /// The table whose primary key encodes its key.
    pub table: TableId,
    /// It may give up, or take, a unique key that another partition's rows want.
    pub disturbs: bool,
}

/// What is known of a table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TableInfo {
    pub class: u16,
    /// A unique index besides the primary one.
    pub unique_secondary: bool,
    /// One whose keys can meet those of rows in other partitions.
    pub dangerous: bool,
}

/// A procedure whose calls are replayed in pieces.
#[derive(Clone, Debug)]
pub(super) struct PlannedProcedure {
    pub id: ProcedureId,
    /// Whether the plan is for calls that kept values.
    pub keeps: bool,
    /// Number of its first piece among all.
    pub first_piece: u32,
    /// How many it has.
    pub pieces: u32,
    /// Tables that its plan reads.
    pub reads: Vec<TableId>,
    /// Tables of which its pieces change what some plan reads.
    pub changes: Vec<TableId>,
}

/// How the sort key of a piece is made.
#[derive(Debug)]
pub(super) enum KeyForm {
    /// Out of integers of these widths in bits, 128 together at most.
    Integers(Box<[u8]>),
    /// By the codec of the primary index.
    Encoded,
}

impl KeyForm {
    /// For the first `prefix` columns of a table's primary key.
    fn of(table: &Shape, prefix: usize) -> KeyForm {
        let codec = table.index(IndexId::PRIMARY).codec();
        let widths: Option<Box<[u8]>> = codec
            .columns()
            .take(prefix)
            .map(|id| match table.layout().column(id).kind() {
                ColumnKind::Int2 => Some(16),
                ColumnKind::Int4 => Some(32),
                ColumnKind::Int8 => Some(64),
                _ => None,
            })
            .collect();
        match widths {
            Some(widths) if widths.iter().map(|w| u32::from(*w)).sum::<u32>() <= 128 => {
                KeyForm::Integers(widths)
            }
            _ => KeyForm::Encoded,
        }
    }

    /// Whether values of these types are all found in sort keys, NULL aside.
    fn holds(&self, types: &[Type]) -> bool {
        let width = |ty: &Type| match ty {
            Type::Int2 => Some(16),
            Type::Int4 => Some(32),
            Type::Int8 => Some(64),
            _ => None,
        };
        match self {
            KeyForm::Integers(widths) => {
                widths.iter().zip(types).all(|(w, ty)| width(ty).is_some_and(|ty| ty <= *w))
            }
            KeyForm::Encoded => false,
        }
    }

    /// The sort key of integers: their encodings one behind the other, as the codec makes them. `None` for
    /// another form, or for what no row can have.
    #[inline]
    pub(super) fn sort_key(&self, value: impl Fn(usize) -> Slot) -> Option<SortKey> {
        let KeyForm::Integers(widths) = self else { return None };
        let (mut key, mut bits) = (0u128, 0);
        for (i, width) in widths.iter().enumerate() {
            let Slot::Int(n) = value(i) else { return None };
            let unused = 64 - u32::from(*width);
            if (n << unused) >> unused != n {
                return None;
            }
            let biased = (n ^ (1i64 << (width - 1))) as u64 & (u64::MAX >> unused);
            key = key << (width & 127) | u128::from(biased);
            bits += u32::from(*width);
        }
        let key = if bits == 0 { 0 } else { key << (128 - bits) };
        Some(((key >> 64) as u64, (key >> 32) as u32))
    }
}

/// Tables that no piece touches have so many classes at most: numbers of classes and queues are 16 bits, and
/// a segment keeps something of each class.
const ALONE_MAX: usize = 1024;
/// Classes that are divided as finely as may be, where all have as many pieces. So a segment has a bounded number of
/// queues, each worth its task, however many tables there are.
const FULL_CLASSES: usize = 8;
/// More lines of operands are not asked for ahead.
const LINES_MAX: usize = 6;

/// What a piece was compiled to.
#[derive(Debug)]
pub(super) struct PieceForm {
    /// Of the class: its prefix, and whether its sort keys are whole keys of the piece's table.
    class: (usize, bool),
    pub key: KeyForm,
    /// If it is but a new row: its operands are that.
    pub row: Option<NewRow>,
    /// Its operands otherwise.
    pub packing: Packing,
    /// `None` where the machine runs it.
    pub kernel: Option<Kernel>,
    /// Lines of memory that its operands are likely to lie on.
    pub lines: u8,
    /// How many bytes of the row of its own key it is likely to look at; 0 if it does not begin with that.
    pub row_bytes: u32,
}

/// What plans and pieces were compiled to, by their numbers.
pub(super) struct Forms {
    /// Tells these from those of other layouts.
    pub id: u64,
    /// `None` where the machine runs it.
    pub plans: Vec<Option<Arc<Kernel>>>,
    pub pieces: Vec<Arc<PieceForm>>,
}

impl Forms {
    /// `before`: those of the first ones of the same procedures, in the same world. What is of classes that are
    /// divided as they were there is taken over.
    fn new(
        plans: &[&CompiledPlan],
        pieces: &[PieceInfo],
        classes: &[Class],
        world: &dyn AnyWorld,
        before: Option<&Forms>,
    ) -> Forms {
        static LAYOUTS: AtomicU64 = AtomicU64::new(1);
        let compiled = plans.iter().flat_map(|p| &p.pieces);
        let form = |(number, (piece, info)): (usize, (&CompiledPiece, &PieceInfo))| {
            let class = info.class.map(|class| &classes[usize::from(class)]);
            let prefix = class.map_or(0, |class| class.prefix);
            let exact = class.is_some_and(|class| class.exact == Some(info.table));
            if let Some(same) = before.and_then(|before| before.pieces.get(number))
                && same.class == (prefix, exact)
            {
                return same.clone();
            }
            let key = match class {
                Some(_) => KeyForm::of(world.table(info.table), prefix),
                None => KeyForm::Encoded,
            };
            let types = piece.code.input_types();
            // Their NULLs must be seen before the row is given.
            let own_row = if exact && key.holds(types) && types.len() <= BITS_MAX { piece.key } else { 0 };
            let row = NewRow::of(&piece.program, world);
            let packing = Packing::new(types.iter());
            let kernel = Kernel::new(&piece.program, own_row, world);
            // They begin anywhere on a line, and texts of some length follow.
            let bytes = row.as_ref().map_or(packing.bytes(), NewRow::bytes);
            let lines = (bytes / 64 + 1 + usize::from(bytes % 64 >= 32)).min(LINES_MAX) as u8;
            let row_bytes =
                kernel.as_ref().map_or(0, |kernel| if row.is_some() { 0 } else { kernel.row_bytes() });
            Arc::new(PieceForm { class: (prefix, exact), key, row, packing, kernel, lines, row_bytes })
        };
        let plan = |(number, plan): (usize, &&CompiledPlan)| {
            let same = before.and_then(|before| before.plans.get(number));
            same.cloned().unwrap_or_else(|| Kernel::new(&plan.program, 0, world).map(Arc::new))
        };
        Forms {
            id: LAYOUTS.fetch_add(1, Ordering::Relaxed),
            plans: plans.iter().enumerate().map(plan).collect(),
            pieces: compiled.zip(pieces).enumerate().map(form).collect(),
        }
    }
}

/// Everything above for one version of the schema and the procedures met so far. Immutable: pieces in
/// queues refer to it.
pub(super) struct Layout {
    pub forms: Arc<Forms>,
    pub world: Arc<dyn AnyWorld>,
    pub procedures: Arc<[PlannedProcedure]>,
    /// By the ids of procedures: their place among those; `u32::MAX` for the others.
    pub numbers: Arc<[u32]>,
    pub pieces: Arc<[PieceInfo]>,
    pub classes: Vec<Class>,
    pub tables: Arc<[TableInfo]>,
    /// The class of each queue.
    pub queues: Vec<u16>,
    /// Whether planning collects samples of the keys.
    pub samples: bool,
    /// Some piece moves texts about in rows of which a plan reads texts: a plan may not run beside it.
    pub plans_alone: bool,
}

impl Layout {
    /// The layout for these procedures, all of which have plans. No class is divided yet. `before`: one for the first
    /// ones of them.
    pub(super) fn new(
        world: Arc<dyn AnyWorld>,
        ids: &[ProcedureId],
        before: Option<&Layout>,
    ) -> Result<Layout> {
        let (routines, all) = (world.routines().clone(), world.tables());
        let plans = plans(&*routines, ids)?;
        let pieces_of_all = || plans.iter().flat_map(|p| &p.pieces);
        let count = all.iter().map(|t| t.index() + 1).max().unwrap_or(0);
        let mut parent: Vec<usize> = (0..count).collect();
        // Key columns that pieces name, by table; none of what no piece touches.
        let mut named: Vec<Option<usize>> = vec![None; count];
        for piece in pieces_of_all() {
            for table in &piece.tables {
                let named = &mut named[table.index()];
                *named = Some(named.map_or(piece.key, |key| key.min(piece.key)));
            }
            for pair in piece.tables.windows(2) {
                let (a, b) = (root(&parent, pair[0].index()), root(&parent, pair[1].index()));
                parent[a.max(b)] = a.min(b);
            }
        }
        let untouched = all.iter().map(|t| t.index()).filter(|t| named[*t].is_none());
        let mut alone: Vec<usize> = Vec::new();
        for (number, table) in untouched.enumerate() {
            match alone.get(number % ALONE_MAX) {
                Some(other) => parent[table] = *other,
                None => alone.push(table),
            }
        }
        let mut members: BTreeMap<usize, Vec<TableId>> = BTreeMap::new();
        for table in all {
            members.entry(root(&parent, table.index())).or_default().push(table);
        }
        let mut tables = vec![TableInfo::default(); count];
        let mut classes: Vec<Class> = Vec::new();
        for members in members.into_values() {
            let codec = |id: TableId| world.table(id).index(IndexId::PRIMARY).codec();
            let common = members.iter().map(|id| codec(members[0]).common_columns(codec(*id))).min();
            let keys = members.iter().filter_map(|id| named[id.index()]);
            let prefix = common.into_iter().chain(keys).min().unwrap_or(0);
            for id in &members {
                let table = world.table(*id);
                let primary: Vec<ColumnId> = codec(*id).columns().take(prefix).collect();
                let mut info = TableInfo { class: classes.len() as u16, ..TableInfo::default() };
                for (_, index) in table.secondary().filter(|(_, index)| index.codec().unique()) {
                    info.unique_secondary = true;
                    let columns: Vec<ColumnId> = index.codec().columns().collect();
                    info.dangerous |= prefix > 0 && !primary.iter().all(|c| columns.contains(c));
                }
                tables[id.index()] = info;
            }
            let first_queue = classes.len();
            let (splitters, takes) = (Vec::new(), Vec::new());
            let exact = match members[..] {
                [table] => {
                    let codec = codec(table);
                    (prefix == codec.column_count() && codec.bytes_max() <= SORT_KEY_BYTES).then_some(table)
                }
                _ => None,
            };
            classes.push(Class { prefix, splitters, exact, first_queue, takes, gives: false });
        }
        let mut read = PlanReads::default();
        for plan in &plans {
            read.add(plan, &*world);
        }
        let (mut procedures, mut pieces) = (Vec::new(), Vec::new());
        let mut plans_alone = false;
        for (plan, id) in plans.iter().zip(ids) {
            let first_piece = pieces.len() as u32;
            let mut changes = BTreeSet::new();
            for (number, piece) in (0u32..).zip(&plan.pieces) {
                let writes = Writes::of(&piece.program);
                let table = piece.tables.first().copied();
                pieces.push(PieceInfo {
                    procedure: procedures.len() as u32,
                    number,
                    class: table.map(|t| tables[t.index()].class),
                    table: table.unwrap_or(TableId(0)),
                    disturbs: writes.disturb(&*world, &tables),
                });
                changes.extend(writes.conflicts(&read));
                plans_alone |= writes.moves_texts(&read, &*world);
            }
            for piece in &plan.pieces {
                for target in &piece.hands_over {
                    let class =
                        |p: &CompiledPiece| p.tables.first().map(|t| usize::from(tables[t.index()].class));
                    let target = plan.pieces.get(*target as usize).and_then(class);
                    match (class(piece), target) {
                        (Some(from), Some(to)) if from < to => {
                            classes[from].gives = true;
                            if !classes[to].takes.contains(&from) {
                                classes[to].takes.push(from);
                            }
                        }
                        _ => return Err(Error::internal("a piece hands over one that comes before it")),
                    }
                }
            }
            let changes = changes.into_iter().collect();
            procedures.push(PlannedProcedure {
                id: *id,
                keeps: plan.keeps,
                first_piece,
                pieces: plan.pieces.len() as u32,
                reads: plan.reads.clone(),
                changes,
            });
        }
        let mut numbers = vec![u32::MAX; ids.iter().map(|id| id.index() + 1).max().unwrap_or(0)];
        for (number, id) in (0u32..).zip(ids) {
            numbers[id.index()] = number;
        }
        let before = before.filter(|b| {
            Arc::ptr_eq(&b.world, &world) && b.procedures.iter().zip(ids).all(|(p, id)| p.id == *id)
        });
        let forms =
            Arc::new(Forms::new(&plans, &pieces, &classes, &*world, before.map(|before| &*before.forms)));
        drop(plans);
        Ok(Layout {
            forms,
            world,
            procedures: procedures.into(),
            numbers: numbers.into(),
            pieces: pieces.into(),
            queues: (0..classes.len() as u16).collect(),
            classes,
            tables: tables.into(),
            samples: true,
            plans_alone,
        })
    }

    /// The same, its classes divided by where the samples lie: into at most `partitions` each, those of which there are
    /// few pieces into fewer.
    pub(super) fn divided(&self, samples: &mut [Vec<SortKey>], partitions: usize, last: bool) -> Layout {
        let mut classes = self.classes.clone();
        let mut queues = Vec::new();
        let all = samples.iter().map(Vec::len).sum::<usize>().max(1);
        // Numbers of queues are 16 bits in descriptors.
        let partitions_max = partitions.min(usize::from(u16::MAX) / classes.len().max(1));
        for (number, class) in (0u16..).zip(&mut classes) {
            class.first_queue = queues.len();
            class.splitters.clear();
            let samples = samples.get_mut(usize::from(number)).filter(|samples| !samples.is_empty());
            if let (1.., Some(samples)) = (class.prefix, samples) {
                samples.sort_unstable();
                let share = (samples.len() * partitions * FULL_CLASSES).div_ceil(all);
                let parts = share.min(partitions_max).min(samples.len());
                class.splitters.extend((1..parts).map(|i| as_number(samples[i * samples.len() / parts])));
                class.splitters.dedup();
            }
            queues.resize(queues.len() + class.partitions(), number);
        }
        Layout {
            forms: self.forms.clone(),
            world: self.world.clone(),
            procedures: self.procedures.clone(),
            numbers: self.numbers.clone(),
            pieces: self.pieces.clone(),
            classes,
            tables: self.tables.clone(),
            queues,
            samples: !last,
            plans_alone: self.plans_alone,
        }
    }

    /// The class of a queue.
    pub(super) fn class_of(&self, queue: usize) -> usize {
        usize::from(self.queues[queue])
    }

    /// A compiled piece, by its number.
    pub(super) fn compiled(&self, piece: usize) -> Result<&CompiledPiece> {
        let info = &self.pieces[piece];
        Ok(&self.plan(info.procedure as usize)?.pieces[info.number as usize])
    }

    /// The plan of one of `procedures`.
    pub(super) fn plan(&self, number: usize) -> Result<&CompiledPlan> {
        let plan = self.world.routines().plan(self.procedures[number].id)?;
        plan.ok_or_else(|| Error::internal("a planned procedure has no plan"))
    }
}

fn plans<'r>(routines: &'r dyn Routines, ids: &[ProcedureId]) -> Result<Vec<&'r CompiledPlan>> {
    let mut plans = Vec::with_capacity(ids.len());
    for id in ids {
        plans.extend(routines.plan(*id)?);
    }
    Ok(plans)
}

fn root(parent: &[usize], mut at: usize) -> usize {
    while parent[at] != at {
        at = parent[at];
    }
    at
}

/// The columns that plans read.
#[derive(Default)]
struct PlanReads {
    columns: BTreeSet<(TableId, ColumnId)>,
    /// Tables of which they read texts.
    texts: BTreeSet<TableId>,
}

impl PlanReads {
    fn add(&mut self, plan: &CompiledPlan, world: &dyn AnyWorld) {
        plan.program.body.visit(&mut |op| {
            let (table, index, columns) = match &op.kind {
                OpKind::Get { table, index, columns, .. } | OpKind::Scan { table, index, columns, .. } => {
                    (*table, Some(*index), columns)
                }
                OpKind::Load { table, columns, .. } => (*table, None, columns),
                _ => return,
            };
            let storage = world.table(table);
            if let Some(index) = index {
                self.columns.extend(storage.index(index).codec().columns().map(|c| (table, c)));
            }
            for (column, _) in columns {
                self.columns.insert((table, *column));
                if is_text(&storage.layout().specs()[column.index()].ty) {
                    self.texts.insert(table);
                }
            }
        });
    }
}

fn is_text(ty: &Type) -> bool {
    ColumnKind::of(ty) == Some(ColumnKind::Bytes)
}

/// What a piece may write.
#[derive(Default)]
struct Writes {
    /// Tables in which rows come and go.
    rows: BTreeSet<TableId>,
    deleted: BTreeSet<TableId>,
    columns: BTreeSet<(TableId, ColumnId)>,
}

impl Writes {
    fn of(program: &Program) -> Writes {
        let mut writes = Writes::default();
        program.body.visit(&mut |op| match &op.kind {
            OpKind::Insert { table, .. } => {
                writes.rows.insert(*table);
            }
            OpKind::Delete { table, .. } => {
                writes.rows.insert(*table);
                writes.deleted.insert(*table);
            }
            OpKind::Update { table, set, .. } => writes.columns.extend(set.iter().map(|(c, _)| (*table, *c))),
            _ => {}
        });
        writes
    }

    fn disturb(&self, world: &dyn AnyWorld, tables: &[TableInfo]) -> bool {
        let dangerous = |t: &TableId| tables[t.index()].dangerous;
        let in_unique = |(t, c): &(TableId, ColumnId)| {
            let table = world.table(*t);
            table.indexes().iter().any(|i| i.codec().unique() && i.codec().depends_on(*c))
        };
        self.deleted.iter().any(dangerous) || self.columns.iter().filter(|(t, _)| dangerous(t)).any(in_unique)
    }

    /// Tables of which it writes what plans read.
    fn conflicts(&self, plans: &PlanReads) -> BTreeSet<TableId> {
        let columns = self.columns.iter().filter(|c| plans.columns.contains(c)).map(|(t, _)| *t);
        let read = |t: &TableId| plans.columns.range((*t, ColumnId(0))..).next().is_some_and(|(r, _)| r == t);
        columns.chain(self.rows.iter().copied().filter(read)).collect()
    }

    /// Whether it may move texts in an image from which some plan reads another.
    fn moves_texts(&self, plans: &PlanReads, world: &dyn AnyWorld) -> bool {
        self.columns.iter().any(|(table, column)| {
            let specs = world.table(*table).layout().specs();
            plans.texts.contains(table) && is_text(&specs[column.index()].ty)
        })
    }
}
