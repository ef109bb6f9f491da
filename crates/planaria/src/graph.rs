//! The graphs of the analysis as data, as text and in DOT: what `planaria graph` draws.

use crate::database::Database;
use crate::options::named;
use planaria_base::Result;
use std::fmt::Write;

named! {
    /// What a graph shows.
    GraphKind "kind of graph" {
        /// The operations of a procedure and what each depends on.
        Procedure "procedure",
        /// The slices of a procedure (PACMAN §4.1.1).
        Local "local",
        /// The blocks over all procedures (PACMAN §4.1.2).
        #[default]
        Global "global",
        /// Blocks over the pieces of transaction chopping, the paper's baseline.
        Chopping "chopping",
        /// When the piece-sets of log batches run, and their critical path (PACMAN §4.2 to §4.4).
        Schedule "schedule",
        /// The pieces that `regrow` replays, by classes of tables with one key.
        Regrow "regrow",
    }
}

/// Which graph.
#[derive(Clone, PartialEq, Debug)]
pub struct GraphRequest {
    /// What it shows.
    pub kind: GraphKind,
    /// Of these procedures; of all whose calls are logged as calls, if none is named.
    pub procedures: Vec<String>,
    /// For schedules: calls of each procedure in a batch; one of each, if none is given.
    pub calls: Vec<(String, u64)>,
    /// For schedules: batches, all alike.
    pub batches: usize,
    /// For schedules: whether a batch may begin before the one before has ended.
    pub pipelined: bool,
    /// For schedules: workers.
    pub workers: usize,
}

impl GraphRequest {
    /// All procedures; schedules of one batch, pipelined, on 4 workers.
    pub fn new(kind: GraphKind) -> GraphRequest {
        GraphRequest {
            kind,
            procedures: Vec::new(),
            calls: Vec::new(),
            batches: 1,
            pipelined: true,
            workers: 4,
        }
    }
}

/// A graph.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Graph {
    /// For people.
    pub title: String,
    /// The same for a terminal, a line each.
    pub text: Vec<String>,
    /// Nodes.
    pub nodes: Vec<GraphNode>,
    /// Edges.
    pub edges: Vec<GraphEdge>,
}

/// What a node does, for those who colour it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum GraphRole {
    /// It reads only.
    #[default]
    Read,
    /// It changes tables.
    Write,
    /// It calls another procedure.
    Call,
    /// It is a class of pieces, which are replayed apart where their keys differ.
    Piece,
}

/// A node.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GraphNode {
    /// Its text: a heading, then details.
    pub lines: Vec<String>,
    /// What it does.
    pub role: GraphRole,
    /// The procedure it belongs to; empty where that is more than one.
    pub group: String,
    /// On the critical path.
    pub critical: bool,
}

/// An edge: `to` depends on `from` (positions in [`Graph::nodes`]).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphEdge {
    /// What comes first.
    pub from: usize,
    /// What depends on it.
    pub to: usize,
    /// Why; empty where there is but one reason.
    pub label: String,
    /// May be so (data dependencies), rather than must (flow dependencies).
    pub dashed: bool,
}

impl Graph {
    /// In the language of Graphviz.
    pub fn dot(&self) -> String {
        let mut out = format!("digraph {} {{\n  node [shape=box];\n", quoted(&self.title));
        for (i, node) in self.nodes.iter().enumerate() {
            let style = if node.critical { ", penwidth=2, color=red" } else { "" };
            let _ = writeln!(out, "  n{i} [label={}{style}];", quoted(&node.lines.join("\n")));
        }
        for edge in &self.edges {
            let (a, b) = (&self.nodes[edge.from], &self.nodes[edge.to]);
            let mut attributes = Vec::new();
            if !edge.label.is_empty() {
                attributes.push(format!("label={}", quoted(&edge.label)));
            }
            if edge.dashed {
                attributes.push("style=dashed".to_owned());
            }
            if a.critical && b.critical {
                attributes.push("color=red".to_owned());
            }
            let attributes =
                if attributes.is_empty() { String::new() } else { format!(" [{}]", attributes.join(", ")) };
            let _ = writeln!(out, "  n{} -> n{}{attributes};", edge.from, edge.to);
        }
        out + "}\n"
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

impl GraphRequest {
    /// The graph for the procedures that a database has now. Errors: 42883 where a procedure is not known, 42725 where a
    /// name is not unique, and what compiling one says.
    pub fn graph(&self, database: &Database) -> Result<Graph> {
        database.engine().graph(self)
    }
}
