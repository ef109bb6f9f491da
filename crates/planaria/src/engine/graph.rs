//! Graphs of the procedures of a catalog version.

pub(crate) mod pieces;

use crate::engine::names::Names;
use crate::engine::schema_version::SchemaVersion;
use crate::graph::{Graph, GraphEdge, GraphKind, GraphNode, GraphRequest, GraphRole};
use planaria_analysis::paper::schedule::{self, Manner};
use planaria_analysis::paper::{
    self, BlockId, GlobalGraph, LocalGraph, OperationGraph, Schedule, SliceId, chop, text,
};
use planaria_analysis::{self as analysis, DependencyGraph, EdgeKind, Names as _, committed_whole, explain};
use planaria_base::{Error, ProcedureId, Result, SqlState, TableId};
use planaria_catalog::Procedure;
use planaria_ir::{OpId, Program};
use std::collections::{BTreeMap, BTreeSet};

/// The graph that was asked for.
pub(crate) fn graph(schema: &SchemaVersion, request: &GraphRequest) -> Result<Graph> {
    let analysed = Analysed::of(schema, &request.procedures)?;
    match request.kind {
        GraphKind::Procedure => analysed.operations(),
        GraphKind::Local => Ok(analysed.local()),
        GraphKind::Global => Ok(analysed.global("Global dependency graph", &analysed.locals())),
        GraphKind::Chopping => Ok(analysed.global("Transaction chopping", &chop(&analysed.graphs()))),
        GraphKind::Schedule => analysed.schedule(request),
        GraphKind::Regrow => Ok(pieces::graph(&analysed)),
    }
}

/// A procedure, what replay runs of it, and its operations' dependencies there.
pub(crate) struct Replayed {
    pub(crate) id: ProcedureId,
    pub(crate) program: Program,
    pub(crate) graph: OperationGraph,
}

/// Procedures of a catalog version, analysed as the paper has it.
pub(crate) struct Analysed<'s> {
    pub(crate) schema: &'s SchemaVersion,
    pub(crate) names: Names<'s>,
    pub(crate) procedures: Vec<Replayed>,
    /// Those that cannot be compiled, and why.
    pub(crate) broken: Vec<(ProcedureId, Error)>,
}

impl<'s> Analysed<'s> {
    /// The named procedures, or all current ones whose calls are logged as calls.
    pub(crate) fn of(schema: &'s SchemaVersion, names: &[String]) -> Result<Analysed<'s>> {
        let mut analysed =
            Analysed { schema, names: Names(schema), procedures: Vec::new(), broken: Vec::new() };
        if names.is_empty() {
            for procedure in schema.catalog.procedures.iter().filter(|p| p.current) {
                match schema.logging(procedure.id) {
                    Ok(logging) if logging.is_command() => analysed.add(procedure.id)?,
                    Ok(_) => {}
                    Err(error) => analysed.broken.push((procedure.id, error)),
                }
            }
        }
        for name in names {
            analysed.add(procedure_named(schema, name)?.id)?;
        }
        Ok(analysed)
    }

    fn add(&mut self, id: ProcedureId) -> Result<()> {
        let schema = self.schema;
        let callee = |id: ProcedureId| schema.program(id).ok();
        let program = committed_whole(schema.program(id)?, &callee);
        let graph = OperationGraph::of(&program, &callee);
        self.procedures.push(Replayed { id, program, graph });
        Ok(())
    }

    fn graphs(&self) -> Vec<(ProcedureId, OperationGraph)> {
        self.procedures.iter().map(|p| (p.id, p.graph.clone())).collect()
    }

    pub(crate) fn locals(&self) -> Vec<(ProcedureId, LocalGraph)> {
        self.procedures.iter().map(|p| (p.id, LocalGraph::of_operations(&p.graph))).collect()
    }

    /// The tables that procedures logged by values change.
    pub(crate) fn ad_hoc(&self) -> BTreeSet<TableId> {
        let schema = self.schema;
        let callee = |id: ProcedureId| schema.program(id).ok();
        let by_values = schema.catalog.procedures.iter().filter(|p| p.current).filter_map(|p| {
            let logging = schema.logging(p.id).ok()?;
            if logging.is_command() || logging.is_read_only() { None } else { schema.program(p.id).ok() }
        });
        by_values
            .flat_map(|program| OperationGraph::of(program, &callee).operations)
            .flat_map(|o| o.accesses.writes)
            .collect()
    }

    fn operations(&self) -> Result<Graph> {
        let mut graph = Graph { title: "Operations".to_owned(), ..Graph::default() };
        for procedure in &self.procedures {
            let (program, logging) = (self.schema.program(procedure.id)?, self.schema.logging(procedure.id)?);
            graph.text.extend(analysis::explain(program, &logging, &self.names));
            let described = explain::operations(program, &self.names);
            let first = graph.nodes.len();
            let at: BTreeMap<OpId, usize> =
                described.iter().enumerate().map(|(i, (id, _))| (*id, first + i)).collect();
            let group = self.names.procedure(procedure.id);
            graph.nodes.extend(described.into_iter().enumerate().map(|(i, (_, text))| {
                let role = match text.split(' ').next() {
                    Some("insert" | "update" | "delete") => GraphRole::Write,
                    Some("call") => GraphRole::Call,
                    _ => GraphRole::Read,
                };
                let lines = [vec![format!("{group} {}", i + 1)], wrapped(&text)].concat();
                GraphNode { lines, role, group: group.clone(), critical: false }
            }));
            let mut edges: BTreeMap<(usize, usize, bool), Vec<&str>> = BTreeMap::new();
            let touched = |id| self.names.accesses(id);
            for edge in DependencyGraph::with_callees(program, &touched).edges {
                if let (Some(from), Some(to)) = (at.get(&edge.from), at.get(&edge.to)) {
                    let data = edge.kind == EdgeKind::Data;
                    edges.entry((*from, *to, data)).or_default().push(edge.kind.name());
                }
            }
            graph.edges.extend(edges.into_iter().map(|((from, to, dashed), kinds)| GraphEdge {
                from,
                to,
                label: kinds.join(", "),
                dashed,
            }));
        }
        Ok(graph)
    }

    fn local(&self) -> Graph {
        let mut graph = Graph { title: "Local dependency graphs".to_owned(), ..Graph::default() };
        for (procedure, (id, local)) in self.procedures.iter().zip(self.locals()) {
            let name = self.names.procedure(id);
            let described: BTreeMap<OpId, String> = explain::operations(&procedure.program, &self.names)
                .into_iter()
                .enumerate()
                .map(|(i, (op, text))| (op, format!("{}. {text}", i + 1)))
                .collect();
            if !graph.text.is_empty() {
                graph.text.push(String::new());
            }
            graph.text.push(format!("{name}: {}", counted(local.slices.len(), "slice")));
            if local.barrier.is_some() {
                graph.text.extend(text::local(&local, &self.names).into_iter().map(|l| format!("  {l}")));
                continue;
            }
            let first = graph.nodes.len();
            for (slice, lines) in local.slices.iter().zip(text::slices(&local, &self.names)) {
                graph.text.extend(lines.into_iter().map(|l| format!("  {l}")));
                let ops: Vec<String> = slice.ops.iter().filter_map(|o| described.get(o).cloned()).collect();
                graph.text.extend(ops.iter().map(|o| format!("        {o}")));
                let head = format!("{name}.{}", SliceId::from(graph.nodes.len() - first));
                let lines = [vec![head], ops.iter().flat_map(|o| wrapped(o)).collect()].concat();
                let role = role(!slice.accesses.writes.is_empty());
                graph.nodes.push(GraphNode { lines, role, group: name.clone(), critical: false });
            }
            graph.edges.extend(local.edges.iter().map(|(a, b)| edge(first + a.index(), first + b.index())));
        }
        graph
    }

    fn global(&self, title: &str, locals: &[(ProcedureId, LocalGraph)]) -> Graph {
        let global = GlobalGraph::of(locals, self.ad_hoc());
        let mut graph = Graph { title: title.to_owned(), ..Graph::default() };
        graph.text.push(format!(
            "{title}: {} over {}",
            counted(global.blocks.len(), "block"),
            counted(global.locals.len(), "procedure")
        ));
        graph.text.extend(text::global(&global, &self.names).into_iter().map(|l| format!("  {l}")));
        graph.text.extend(self.alone(locals).into_iter().map(|l| format!("  {l}")));
        graph.nodes = (self.blocks(&global).into_iter().zip(&global.blocks))
            .map(|(lines, block)| {
                let role = role(!block.accesses.writes.is_empty());
                GraphNode { lines, role, ..GraphNode::default() }
            })
            .collect();
        graph.edges = global.reduced().iter().map(|(a, b)| edge(a.index(), b.index())).collect();
        graph
    }

    /// The text of each block.
    fn blocks(&self, global: &GlobalGraph) -> Vec<Vec<String>> {
        let block = |(i, block): (usize, &paper::Block)| {
            let mut lines = vec![BlockId::from(i).to_string()];
            lines.extend(wrapped(&text::accesses(&block.accesses, &self.names)));
            lines.extend(block.slices.iter().map(|(p, s)| text::slice_name(*p, *s, &self.names)));
            lines
        };
        global.blocks.iter().enumerate().map(block).collect()
    }

    /// Procedures whose calls run alone, and why.
    pub(crate) fn alone(&self, locals: &[(ProcedureId, LocalGraph)]) -> Vec<String> {
        let why = |(id, local): &(ProcedureId, LocalGraph)| {
            let why = local.barrier.as_ref()?;
            Some(format!("{} runs alone: {why}", self.names.procedure(*id)))
        };
        locals.iter().filter_map(why).collect()
    }

    fn schedule(&self, request: &GraphRequest) -> Result<Graph> {
        let global = GlobalGraph::of(&self.locals(), self.ad_hoc());
        let mut calls: BTreeMap<ProcedureId, u64> = BTreeMap::new();
        for (name, n) in &request.calls {
            let id = procedure_named(self.schema, name)?.id;
            if !self.procedures.iter().any(|p| p.id == id) {
                let message = format!("calls of procedure \"{name}\" are not replayed as calls");
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
            *calls.entry(id).or_default() += n;
        }
        if calls.is_empty() {
            calls = global.locals.keys().map(|id| (*id, 1)).collect();
        }
        let load = schedule::load(&global, &calls);
        let (batches, workers) = (request.batches.max(1), request.workers.max(1));
        let manner = Manner { batches, workers, pipelined: request.pipelined };
        let plan = Schedule::of(&global, &load, manner);
        let mut graph = Graph { title: "Schedule".to_owned(), ..Graph::default() };
        graph.text = self.timetable(&global, &load, manner, &plan);
        let blocks = self.blocks(&global);
        let mut at = BTreeMap::new();
        for set in &plan.piece_sets {
            at.insert((set.batch, set.block), graph.nodes.len());
            let mut lines = vec![format!("batch {} {}", set.batch + 1, set.block)];
            lines.extend(blocks[set.block.index()][1..].iter().take(1).cloned());
            lines.push(format!("{}, cost {}", counted(set.load.pieces as usize, "piece"), set.load.cost));
            lines.push(format!("{} to {}", set.start, set.finish));
            let role = role(!global.blocks[set.block.index()].accesses.writes.is_empty());
            graph.nodes.push(GraphNode { lines, role, critical: set.critical, ..GraphNode::default() });
        }
        for ((batch, block), to) in &at {
            let needs = global.reduced().into_iter().filter(|(_, b)| b == block).map(|(a, _)| (*batch, a));
            let before = batch.checked_sub(1).map(|b| (b, *block));
            for from in needs.chain(before).filter_map(|f| at.get(&f)) {
                graph.edges.push(edge(*from, *to));
            }
        }
        Ok(graph)
    }

    /// A schedule for a terminal: a line a block, time from left to right.
    fn timetable(
        &self,
        global: &GlobalGraph,
        load: &[schedule::Load],
        manner: Manner,
        plan: &Schedule,
    ) -> Vec<String> {
        const WIDTH: f64 = 60.0;
        let total: u64 = load.iter().map(|l| l.pieces).sum();
        let cores = schedule::cores(load, manner.workers);
        let at = |time: f64| (time / plan.makespan.max(f64::MIN_POSITIVE) * WIDTH).round() as usize;
        let rows = global.blocks.iter().enumerate().map(|(i, block)| {
            let mut bar = vec![' '; WIDTH as usize];
            for set in plan.piece_sets.iter().filter(|s| s.block.index() == i) {
                let mark = char::from_digit(((set.batch + 1) % 10) as u32, 10).unwrap_or('#');
                let (from, to) = (at(set.start), at(set.finish).max(at(set.start) + 1));
                bar.iter_mut().take(to).skip(from).for_each(|c| *c = mark);
            }
            let critical = plan.piece_sets.iter().any(|s| s.critical && s.block.index() == i);
            let share = (load[i].pieces * 100).checked_div(total).unwrap_or(0);
            [
                BlockId::from(i).to_string(),
                text::accesses(&block.accesses, &self.names),
                counted(load[i].pieces as usize, "piece"),
                format!("{share} %"),
                counted(cores[i], "core"),
                format!(
                    "|{}|{}",
                    bar.into_iter().collect::<String>(),
                    if critical { " critical" } else { "" }
                ),
            ]
        });
        let rows = text::table(rows);
        let path: Vec<String> = plan
            .critical_path()
            .map(|s| {
                if manner.batches > 1 { format!("{}/{}", s.batch + 1, s.block) } else { s.block.to_string() }
            })
            .collect();
        let order = if manner.pipelined { "pipelined" } else { "one after the other" };
        let mut lines = vec![format!(
            "{}, {order}, on {}; costs in operations of slices; in the bars, the number of the batch",
            counted(manner.batches, "batch"),
            counted(manner.workers, "worker"),
        )];
        lines.extend(rows.into_iter().map(|r| format!("  {r}")));
        lines.push(format!("critical path: {}", path.join(" -> ")));
        lines.push(format!(
            "work {}, critical path {}: {:.2} times as fast at most; with {} {}: {:.2} times",
            plan.work,
            plan.span,
            plan.work / plan.span.max(f64::MIN_POSITIVE),
            counted(manner.workers, "worker"),
            plan.makespan,
            plan.work / plan.makespan.max(f64::MIN_POSITIVE),
        ));
        lines
    }
}

/// The current procedure of a name.
fn procedure_named<'s>(schema: &'s SchemaVersion, name: &str) -> Result<&'s Procedure> {
    let mut found = schema.catalog.procedures_named(name);
    match (found.next(), found.next()) {
        (Some(procedure), None) => Ok(procedure),
        (None, _) => Err(Error::new(
            SqlState::UNDEFINED_FUNCTION,
            format!("procedure or function \"{name}\" does not exist"),
        )),
        _ => {
            Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, format!("procedure name \"{name}\" is not unique")))
        }
    }
}

fn role(changes: bool) -> GraphRole {
    if changes { GraphRole::Write } else { GraphRole::Read }
}

fn edge(from: usize, to: usize) -> GraphEdge {
    GraphEdge { from, to, label: String::new(), dashed: false }
}

pub(crate) fn counted(n: usize, what: &str) -> String {
    let s = match (n, what.ends_with("ch") || what.ends_with("ss")) {
        (1, _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{n} {what}{s}")
}

/// Lines of at most 40 characters or one word.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= 40 => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
