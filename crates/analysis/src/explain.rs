//! `EXPLAIN PROCEDURE`: operations, keys, dependencies, and how calls are logged.

use crate::graph::{DependencyGraph, is_node};
use crate::logging::Logging;
use crate::paper::Accesses;
use planaria_base::{ColumnId, Datum, IndexId, ProcedureId, SequenceId, TableId};
use planaria_ir::{Bound, Func, Op, OpId, OpKind, Program, Range, Reg};
use std::collections::{HashMap, HashSet};

/// Names of what a program refers to by number.
pub trait Names {
    /// A table.
    fn table(&self, id: TableId) -> String;
    /// A column of a table.
    fn column(&self, table: TableId, column: ColumnId) -> String;
    /// An index of a table.
    fn index(&self, table: TableId, index: IndexId) -> String;
    /// The key columns of an index.
    fn index_columns(&self, table: TableId, index: IndexId) -> Vec<ColumnId>;
    /// A procedure.
    fn procedure(&self, id: ProcedureId) -> String;
    /// A sequence.
    fn sequence(&self, id: SequenceId) -> String;
    /// The tables that a procedure and what it calls touch; `None` where it may be any.
    fn accesses(&self, procedure: ProcedureId) -> Option<Accesses> {
        let _ = procedure;
        None
    }
}

/// Names for whoever has no catalog: the numbers (`t6`, `t6.c1`).
pub struct Numbers;

impl Names for Numbers {
    fn table(&self, id: TableId) -> String {
        id.to_string()
    }
    fn column(&self, _: TableId, column: ColumnId) -> String {
        column.to_string()
    }
    fn index(&self, table: TableId, index: IndexId) -> String {
        format!("{table}.{index}")
    }
    fn index_columns(&self, _: TableId, _: IndexId) -> Vec<ColumnId> {
        Vec::new()
    }
    fn procedure(&self, id: ProcedureId) -> String {
        id.to_string()
    }
    fn sequence(&self, id: SequenceId) -> String {
        id.to_string()
    }
}

/// The lines of `EXPLAIN PROCEDURE`.
pub fn explain(program: &Program, logging: &Logging, names: &dyn Names) -> Vec<String> {
    let graph = DependencyGraph::with_callees(program, &|p| names.accesses(p));
    let printer = Printer::new(program, names);
    let mut lines = vec![format!("Procedure {}", program.name)];
    lines.push(format!("  Logged as: {}", logging.describe()));
    lines.push(format!("  Why: {}", logging.reason()));
    lines.push("  Operations:".to_owned());
    let mut number = HashMap::new();
    for (i, id) in graph.nodes.iter().enumerate() {
        number.insert(*id, i + 1);
    }
    printer.block(&program.body.0, 2, &graph, &number, &mut lines);
    if graph.nodes.is_empty() {
        lines.push("    none: it touches no table".to_owned());
    }
    lines
}

/// The numbers of operations in [`explain`].
pub fn numbers(program: &Program, names: &dyn Names) -> HashMap<OpId, usize> {
    let graph = DependencyGraph::with_callees(program, &|p| names.accesses(p));
    graph.nodes.iter().zip(1..).map(|(id, number)| (*id, number)).collect()
}

/// By their numbers in [`explain`]: of each operation that reads, which ones may come out otherwise when a program is run again
/// because what it has read is stale. That is itself, what depends on it, and whatever touches a table that one of these writes.
pub fn repeats(program: &Program, names: &dyn Names) -> Vec<(usize, Vec<usize>)> {
    let graph = DependencyGraph::with_callees(program, &|p| names.accesses(p));
    let mut reads = HashSet::new();
    program.body.visit(&mut |op| {
        let calls = is_node(&op.kind) && op.kind.table().is_none();
        if calls || matches!(op.kind, OpKind::Get { .. } | OpKind::Scan { .. }) {
            reads.insert(op.id);
        }
    });
    let number = |id: OpId| graph.nodes.iter().position(|node| *node == id).map(|at| at + 1);
    let closure = |read: OpId| {
        let mut numbers: Vec<usize> =
            graph.reached_from(program, [read]).into_iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    };
    let nodes = graph.nodes.iter().filter(|id| reads.contains(id));
    nodes.filter_map(|id| Some((number(*id)?, closure(*id)))).collect()
}

/// Each operation on tables, and each call, in program order, with what it does.
pub fn operations(program: &Program, names: &dyn Names) -> Vec<(OpId, String)> {
    let printer = Printer::new(program, names);
    let mut all = Vec::new();
    program.body.visit(&mut |op| {
        if is_node(&op.kind) {
            all.push((op.id, printer.operation(&op.kind)));
        }
    });
    all
}

struct Printer<'p> {
    program: &'p Program,
    names: &'p dyn Names,
    /// The one operation that writes a register, where there is just one.
    definitions: HashMap<Reg, Option<&'p Op>>,
}

impl<'p> Printer<'p> {
    fn new(program: &'p Program, names: &'p dyn Names) -> Printer<'p> {
        let mut definitions: HashMap<Reg, Option<&'p Op>> = HashMap::new();
        program.body.visit(&mut |op| {
            op.kind.writes(&mut |r| {
                definitions.entry(r).and_modify(|d| *d = None).or_insert(Some(op));
            });
        });
        Printer { program, names, definitions }
    }

    fn block(
        &self,
        ops: &[Op],
        indent: usize,
        graph: &DependencyGraph,
        number: &HashMap<planaria_ir::OpId, usize>,
        lines: &mut Vec<String>,
    ) {
        for op in ops {
            let pad = "  ".repeat(indent);
            let mut inner = indent;
            if is_node(&op.kind) {
                lines.push(format!("{pad}{}. {}", number[&op.id], self.operation(&op.kind)));
                let mut by_kind: Vec<(&'static str, Vec<String>)> = Vec::new();
                for edge in graph.dependencies(op.id) {
                    let Some(n) = number.get(&edge.from) else { continue };
                    let name = edge.kind.name();
                    match by_kind.iter_mut().find(|(k, _)| *k == name) {
                        Some((_, from)) => from.push(n.to_string()),
                        None => by_kind.push((name, vec![n.to_string()])),
                    }
                }
                if !by_kind.is_empty() {
                    let parts: Vec<String> =
                        by_kind.into_iter().map(|(k, from)| format!("{k} of {}", from.join(", "))).collect();
                    lines.push(format!("{pad}     depends on: {}", parts.join("; ")));
                }
                inner += 1;
            } else {
                let head = match &op.kind {
                    OpKind::If { cond, .. } => Some(format!("if {}", self.reg(*cond, 3))),
                    OpKind::Loop { .. } => Some("loop".to_owned()),
                    OpKind::ForEach { .. } => Some("for each row collected".to_owned()),
                    OpKind::ForMatches { .. } => Some("for each match".to_owned()),
                    OpKind::Try { .. } => Some("with exception handlers".to_owned()),
                    OpKind::NextValue { sequence, .. } => {
                        let name = self.names.sequence(*sequence);
                        lines.push(format!("{pad}draws the next value of {name}"));
                        None
                    }
                    OpKind::Draw { input, .. } => {
                        lines.push(format!("{pad}draws {input:?}"));
                        None
                    }
                    OpKind::Keep { values } => {
                        let values: Vec<String> = values.iter().map(|r| self.reg(*r, 3)).collect();
                        lines.push(format!("{pad}logs {}", values.join(", ")));
                        None
                    }
                    OpKind::Piece { piece, args } => {
                        let args: Vec<String> = args.iter().map(|r| self.reg(*r, 3)).collect();
                        lines.push(format!("{pad}plans piece {piece} ({})", args.join(", ")));
                        None
                    }
                    _ => None,
                };
                let mut any = false;
                op.kind.blocks(&mut |b| {
                    b.visit(&mut |o| {
                        any |= is_node(&o.kind)
                            || matches!(
                                o.kind,
                                OpKind::NextValue { .. }
                                    | OpKind::Draw { .. }
                                    | OpKind::Keep { .. }
                                    | OpKind::Piece { .. }
                            );
                    });
                });
                if let Some(head) = head.filter(|_| any) {
                    lines.push(format!("{pad}{head}"));
                    inner += 1;
                }
            }
            match &op.kind {
                OpKind::If { then, otherwise, .. } => {
                    self.block(&then.0, inner, graph, number, lines);
                    let mut nodes = false;
                    otherwise.visit(&mut |o| nodes |= is_node(&o.kind));
                    if nodes {
                        lines.push(format!("{pad}else"));
                    }
                    self.block(&otherwise.0, inner, graph, number, lines);
                }
                kind => kind.blocks(&mut |b| self.block(&b.0, inner, graph, number, lines)),
            }
        }
    }

    fn operation(&self, kind: &OpKind) -> String {
        let n = self.names;
        match kind {
            OpKind::Get { table, index, key, columns, .. } => {
                let columns = self.columns(*table, columns);
                format!("read {} where {}{columns}", n.table(*table), self.key(*table, *index, key))
            }
            OpKind::Scan { table, index, range, descending, columns, .. } => {
                let order = if *descending { ", descending" } else { "" };
                let columns = self.columns(*table, columns);
                format!(
                    "scan {} by {}{}{order}{columns}",
                    n.table(*table),
                    n.index(*table, *index),
                    self.range(*table, *index, range)
                )
            }
            OpKind::Load { table, columns, .. } => {
                format!("read again {}{}", n.table(*table), self.columns(*table, columns))
            }
            OpKind::Insert { table, values, .. } => {
                let values: Vec<String> = values.iter().map(|r| self.reg(*r, 2)).collect();
                format!("insert into {} ({})", n.table(*table), values.join(", "))
            }
            OpKind::Update { table, set, .. } => {
                let set: Vec<String> = set
                    .iter()
                    .map(|(c, r)| format!("{} = {}", n.column(*table, *c), self.reg(*r, 4)))
                    .collect();
                format!("update {} set {}", n.table(*table), set.join(", "))
            }
            OpKind::Delete { table, .. } => format!("delete from {}", n.table(*table)),
            OpKind::Claim { table, .. } => format!("claim {}", n.table(*table)),
            OpKind::Call { procedure, args, .. } | OpKind::CallSet { procedure, args, .. } => {
                let args: Vec<String> = args.iter().map(|r| self.reg(*r, 3)).collect();
                format!("call {}({})", n.procedure(*procedure), args.join(", "))
            }
            OpKind::Execute { text, .. } => format!("execute {}", self.reg(*text, 3)),
            _ => String::new(),
        }
    }

    fn columns(&self, table: TableId, columns: &[(ColumnId, Reg)]) -> String {
        if columns.is_empty() {
            return String::new();
        }
        let names: Vec<String> = columns.iter().map(|(c, _)| self.names.column(table, *c)).collect();
        format!(" -> {}", names.join(", "))
    }

    fn key(&self, table: TableId, index: IndexId, key: &[Reg]) -> String {
        let columns = self.names.index_columns(table, index);
        let parts: Vec<String> = columns
            .iter()
            .zip(key)
            .map(|(c, r)| format!("{} = {}", self.names.column(table, *c), self.reg(*r, 3)))
            .collect();
        parts.join(", ")
    }

    fn range(&self, table: TableId, index: IndexId, range: &Range) -> String {
        let columns = self.names.index_columns(table, index);
        let mut parts = Vec::new();
        if !range.prefix.is_empty() {
            parts.push(self.key(table, index, &range.prefix));
        }
        if let Some(column) = columns.get(range.prefix.len()) {
            let name = self.names.column(table, *column);
            let mut bound = |bound: &Option<Bound>, strict: &str, inclusive: &str| {
                if let Some(b) = bound {
                    let op = if b.inclusive { inclusive } else { strict };
                    parts.push(format!("{name} {op} {}", self.reg(b.reg, 3)));
                }
            };
            bound(&range.lower, ">", ">=");
            bound(&range.upper, "<", "<=");
        }
        if parts.is_empty() { String::new() } else { format!(" where {}", parts.join(", ")) }
    }

    /// A register as the expression it holds, to some depth.
    fn reg(&self, reg: Reg, depth: usize) -> String {
        let decl = &self.program.regs[reg.index()];
        if let Some(name) = &decl.name {
            return name.clone();
        }
        let Some(Some(op)) = self.definitions.get(&reg) else { return reg.to_string() };
        if depth == 0 {
            return "...".to_owned();
        }
        match &op.kind {
            OpKind::Const { value, .. } => constant(value),
            OpKind::Copy { src, .. } => self.reg(*src, depth),
            OpKind::Cast { src, .. } => self.reg(*src, depth),
            OpKind::Apply { func, args, .. } => {
                let args: Vec<String> = args.iter().map(|a| self.reg(*a, depth - 1)).collect();
                applied(*func, &args)
            }
            OpKind::Get { table, columns, .. }
            | OpKind::Scan { table, columns, .. }
            | OpKind::Load { table, columns, .. } => match columns.iter().find(|(_, r)| *r == reg) {
                Some((c, _)) => self.names.column(*table, *c),
                None => format!("row of {}", self.names.table(*table)),
            },
            OpKind::Call { procedure, .. } => format!("{}()", self.names.procedure(*procedure)),
            OpKind::NextValue { sequence, .. } => format!("next of {}", self.names.sequence(*sequence)),
            OpKind::Draw { input, .. } => format!("{input:?}"),
            _ => reg.to_string(),
        }
    }
}

/// A function's application as SQL would write it.
fn applied(func: Func, args: &[String]) -> String {
    match (func.operator(), args) {
        (Some("~~"), [a, b] | [a, b, _]) => format!("{} LIKE {}", within(a), within(b)),
        (Some(operator), [a, b]) => format!("{} {operator} {}", within(a), within(b)),
        _ => match (func, args) {
            (Func::Not, [a]) => format!("NOT {}", within(a)),
            (Func::IsNull, [a]) => format!("{} IS NULL", within(a)),
            (Func::IsNotNull, [a]) => format!("{} IS NOT NULL", within(a)),
            (Func::ArrayGet | Func::ArrayNth, [a, i]) => format!("{}[{i}]", within(a)),
            _ => format!("{}({})", func.name(), args.join(", ")),
        },
    }
}

/// An operand: in parentheses where it has parts.
fn within(operand: &str) -> String {
    let quoted = operand.starts_with('\'') && operand.ends_with('\'');
    let bare = operand.strip_prefix("row of ").is_none() && operand.contains(' ');
    if bare && !quoted { format!("({operand})") } else { operand.to_owned() }
}

fn constant(value: &Datum) -> String {
    match value {
        Datum::Null => "NULL".to_owned(),
        Datum::Bool(b) => b.to_string(),
        Datum::Int(n) => n.to_string(),
        Datum::Float(x) => x.to_string(),
        Datum::Numeric(n) => n.to_string(),
        Datum::Long(n) => n.to_string(),
        Datum::Text(t) | Datum::Jsonb(t) | Datum::Citext(t) => format!("'{t}'"),
        Datum::Bytea(_) | Datum::Uuid(_) => "bytes".to_owned(),
        Datum::Interval(_) => format!("'{}'", value.display(&planaria_base::Type::Interval)),
        Datum::Reg(_, name) => format!("'{name}'"),
        Datum::Array(a) => format!("array of {}", a.len()),
        Datum::Shaped(a) => format!("array of {}", a.elements().len()),
    }
}
