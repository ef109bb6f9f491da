//! What is known of the procedures of a log: slices, blocks, compiled slice programs.

use super::Mode;
use crate::{AnyWorld, Routines};
use planaria_analysis::committed_whole;
use planaria_analysis::paper::slicing::{self, Input, KeyColumns, SliceProgram};
use planaria_analysis::paper::{GlobalGraph, LocalGraph, OperationGraph, chop};
use planaria_base::{ColumnId, IndexId, ProcedureId, Result, TableId, Type};
use planaria_exec::Code;
use planaria_ir::{OpKind, Program};
use planaria_log::Keeping;
use planaria_storage::Shape;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A compiled program of a slice, of its keys, or of a prologue.
pub(super) struct SliceCode {
    pub(super) code: Code,
    pub(super) inputs: Vec<Input>,
    pub(super) outputs: Vec<usize>,
}

/// What a call of a procedure has to do in a block.
pub(super) struct Piece {
    pub(super) slice: SliceCode,
    /// Hands over the leading key values of the rows it touches; none if they are not known before.
    pub(super) keys: Option<SliceCode>,
}

/// A procedure that is replayed in pieces.
pub(super) struct Procedure {
    /// Number of values that pass between the pieces of a call.
    pub(super) values: usize,
    pub(super) prologue: Option<SliceCode>,
    /// By block.
    pub(super) pieces: Vec<Option<Piece>>,
}

/// A block of the global dependency graph.
pub(super) struct Block {
    /// The blocks it depends on.
    pub(super) needs: Vec<usize>,
    /// Whether its piece-sets cannot be split: rows of different keys meet in a unique index.
    pub(super) serial: bool,
    /// Whether its keys follow from what is known before any piece has run.
    pub(super) early: bool,
}

/// The global dependency graph, compiled.
pub(super) struct Graph {
    pub(super) procedures: Vec<Procedure>,
    pub(super) by_id: HashMap<ProcedureId, usize>,
    /// In topological order.
    pub(super) blocks: Vec<Block>,
    pub(super) block_of: HashMap<TableId, usize>,
}

/// How calls of a procedure are replayed.
enum Known {
    /// With nobody else at work.
    Alone,
    /// They changed nothing.
    Nothing,
    Pieces(Box<Cuttable>),
}

impl Known {
    /// Whether a call runs alone; so does one of another program than the calls before it.
    fn is_alone(&self, keeping: Keeping) -> bool {
        match self {
            Known::Alone => true,
            Known::Nothing => false,
            Known::Pieces(cuttable) => keeping != cuttable.keeping,
        }
    }
}

/// A procedure whose calls can be replayed in pieces.
struct Cuttable {
    /// As replayed.
    program: Program,
    operations: OperationGraph,
    /// Whether it is the program that keeps values.
    keeping: Keeping,
}

/// What a log has called so far, in one version of the schema.
pub(super) struct Procedures {
    world: Arc<dyn AnyWorld>,
    mode: Mode,
    known: BTreeMap<ProcedureId, Known>,
    /// Tables that the procedures change.
    written: BTreeSet<TableId>,
    /// By the further tables that transactions logged by value change.
    graphs: BTreeMap<BTreeSet<TableId>, Arc<Graph>>,
}

struct Columns<'a> {
    world: &'a dyn AnyWorld,
    changed: BTreeSet<TableId>,
}

/// The first column of the primary key.
pub(super) fn leading(table: &Shape) -> ColumnId {
    table.index(IndexId::PRIMARY).codec().columns().next().expect("keys have columns")
}

impl KeyColumns for Columns<'_> {
    fn leading(&self, table: TableId) -> (ColumnId, Type) {
        let table = self.world.table(table);
        let column = leading(table);
        (column, table.layout().specs()[column.index()].ty.clone())
    }
    fn index(&self, table: TableId, index: IndexId) -> Vec<ColumnId> {
        self.world.table(table).index(index).codec().columns().collect()
    }
    fn changes(&self, table: TableId) -> bool {
        self.changed.contains(&table)
    }
}

/// Whether rows with different leading keys may exclude each other.
fn meets_elsewhere(table: &Shape) -> bool {
    let leading = leading(table);
    table.secondary().any(|(_, index)| index.codec().unique() && !index.codec().depends_on(leading))
}

impl Procedures {
    pub(super) fn new(world: Arc<dyn AnyWorld>, mode: Mode) -> Procedures {
        Procedures { world, mode, known: BTreeMap::new(), written: BTreeSet::new(), graphs: BTreeMap::new() }
    }

    fn routines(&self) -> &dyn Routines {
        &**self.world.routines()
    }

    /// Takes note of a procedure; whether its calls run alone. `keeping`: the call ran as the program that
    /// keeps values.
    pub(super) fn learn(&mut self, id: ProcedureId, keeping: Keeping) -> Result<bool> {
        let routines = self.world.routines().clone();
        let keeping = routines.kept(id, keeping);
        if let Some(known) = self.known.get(&id) {
            return Ok(known.is_alone(keeping));
        }
        let callee = |id: ProcedureId| routines.program(id).ok();
        let source = match keeping {
            Keeping::Yes => routines.keeping(id)?,
            Keeping::No => Some(routines.program(id)?),
            // Not taken note of: other calls of it may be cut.
            Keeping::ByFormer | Keeping::ByAnother => return Ok(true),
        };
        let Some(source) = source else {
            self.known.insert(id, Known::Alone);
            return Ok(true);
        };
        let program = committed_whole(source, &callee);
        let operations = OperationGraph::of(&program, &callee);
        let mut draws = false;
        program.body.visit(&mut |op| {
            draws |= matches!(op.kind, OpKind::NextValue { .. } | OpKind::SetValue { .. });
        });
        let known = match (operations.barrier.is_some(), operations.is_read_only()) {
            (true, _) => Known::Alone,
            (false, true) if draws => Known::Alone,
            (false, true) => Known::Nothing,
            (false, false) => {
                for operation in &operations.operations {
                    self.written.extend(&operation.accesses.writes);
                }
                Known::Pieces(Box::new(Cuttable { program, operations, keeping }))
            }
        };
        let alone = known.is_alone(keeping);
        self.known.insert(id, known);
        self.graphs.clear();
        Ok(alone)
    }

    /// Which tables the procedures change that are replayed in pieces, now that one of them is not: those have blocks.
    fn count_written(&mut self) {
        let operations = self.known.values().filter_map(|known| match known {
            Known::Pieces(cuttable) => Some(&cuttable.operations.operations),
            Known::Alone | Known::Nothing => None,
        });
        self.written = operations.flatten().flat_map(|o| o.accesses.writes.iter().copied()).collect();
        self.graphs.clear();
    }

    /// The graph of all procedures seen, and of transactions logged by value that change these tables.
    /// `None` if a procedure turned out to be one whose calls run alone: ask [`Procedures::learn`] again.
    pub(super) fn graph(&mut self, by_value: &BTreeSet<TableId>) -> Option<Arc<Graph>> {
        let further: BTreeSet<TableId> = by_value.difference(&self.written).copied().collect();
        if let Some(graph) = self.graphs.get(&further) {
            return Some(graph.clone());
        }
        let mut whole = BTreeSet::new();
        loop {
            match self.build(&further, &whole) {
                Ok(graph) => {
                    let graph = Arc::new(graph);
                    self.graphs.insert(further, graph.clone());
                    return Some(graph);
                }
                // What cannot be cut stays one piece; what cannot be that runs alone.
                Err(id) if whole.insert(id) => {}
                Err(id) => {
                    self.known.insert(id, Known::Alone);
                    self.count_written();
                    return None;
                }
            }
        }
    }

    /// Algorithms 1 and 2, and the programs. `Err`: the procedure that cannot be cut this way.
    fn build(
        &self,
        further: &BTreeSet<TableId>,
        whole: &BTreeSet<ProcedureId>,
    ) -> Result<Graph, ProcedureId> {
        let pieces = || {
            self.known.iter().filter_map(|(id, known)| match known {
                Known::Pieces(c) => Some((*id, &c.program, &c.operations)),
                _ => None,
            })
        };
        let locals: Vec<(ProcedureId, LocalGraph)> = match self.mode.chopping {
            true => chop(&pieces().map(|(id, _, operations)| (id, operations.clone())).collect::<Vec<_>>()),
            false => {
                pieces().map(|(id, _, operations)| (id, LocalGraph::of_operations(operations))).collect()
            }
        };
        let locals: Vec<_> = locals
            .into_iter()
            .map(|(id, local)| if whole.contains(&id) { (id, slicing::whole(&local)) } else { (id, local) })
            .collect();
        let global = GlobalGraph::of(&locals, further.iter().copied());
        let world = &*self.world;
        let changed = global.blocks.iter().flat_map(|b| b.accesses.writes.iter().copied()).collect();
        let columns = Columns { world, changed };
        let mut graph = Graph {
            procedures: Vec::new(),
            by_id: HashMap::new(),
            blocks: Vec::new(),
            block_of: HashMap::new(),
        };
        for (number, block) in global.blocks.iter().enumerate() {
            let id = planaria_analysis::paper::BlockId::from(number);
            let writes = || block.accesses.writes.iter();
            graph.block_of.extend(writes().map(|t| (*t, number)));
            graph.blocks.push(Block {
                needs: global.needs(id).map(|b| b.index()).collect(),
                serial: writes().any(|t| world.try_table(*t).is_none_or(meets_elsewhere)),
                early: true,
            });
        }
        for (id, program, _) in pieces() {
            let local = &global.locals[&id];
            let cut = slicing::cut(program, local, &columns).map_err(|_| id)?;
            let compiled = |part: SliceProgram| -> Result<SliceCode, ProcedureId> {
                let code = self.routines().compile(&part.program).map_err(|_| id)?;
                Ok(SliceCode { code, inputs: part.inputs, outputs: part.outputs })
            };
            let early: BTreeSet<usize> =
                cut.prologue.iter().flat_map(|p| p.outputs.iter().copied()).collect();
            let mut pieces: Vec<Option<Piece>> = graph.blocks.iter().map(|_| None).collect();
            for (number, (slice, keys)) in cut.slices.into_iter().zip(cut.keys).enumerate() {
                if slice.program.body.0.is_empty() {
                    continue; // Only reads that serve nothing.
                }
                let slice_id = planaria_analysis::paper::SliceId::from(number);
                let block = global.block_of(id, slice_id).expect("every slice has a block").index();
                let known = |input: &Input| match input {
                    Input::Arg(_) => true,
                    Input::Value(v) => early.contains(v),
                };
                graph.blocks[block].early &= keys.as_ref().is_none_or(|k| k.inputs.iter().all(known));
                let keys = keys.map(&compiled).transpose()?;
                pieces[block] = Some(Piece { slice: compiled(slice)?, keys });
            }
            graph.by_id.insert(id, graph.procedures.len());
            let prologue = cut.prologue.map(&compiled).transpose()?;
            graph.procedures.push(Procedure { values: cut.values, prologue, pieces });
        }
        Ok(graph)
    }
}
