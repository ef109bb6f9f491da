//! The pieces of all procedures, by classes of tables: what `regrow` replays, for people.
//!
//! A class is a set of tables that pieces touch together; its key are the leading primary key columns
//! that every piece of it names. Pieces of a class with different keys run apart.

use super::{Analysed, counted};
use crate::graph::{Graph, GraphEdge, GraphNode, GraphRole};
use planaria_analysis::Names as _;
use planaria_analysis::paper::text;
use planaria_base::{IndexId, ProcedureId, TableId};
use std::collections::BTreeSet;

/// A class of tables.
#[derive(Debug, Default)]
struct Class {
    tables: BTreeSet<TableId>,
    /// Number of key columns.
    key: usize,
    /// Procedure and number of the piece, from 0.
    pieces: Vec<(ProcedureId, usize)>,
}

/// The classes, by their first tables; and which hand over pieces to which.
fn classes(analysed: &Analysed<'_>) -> (Vec<Class>, BTreeSet<(usize, usize)>) {
    let mut classes: Vec<Class> = Vec::new();
    let plans = || {
        let plan = |id| analysed.schema.planned(id).ok().map(|planned| (id, &planned.plan));
        analysed.procedures.iter().filter_map(move |p| plan(p.id))
    };
    for (id, plan) in plans() {
        for (number, piece) in plan.pieces.iter().enumerate() {
            let tables: BTreeSet<TableId> = piece.tables.iter().copied().collect();
            let mut class = Class { tables, key: piece.key, pieces: vec![(id, number)] };
            let meets = |c: &mut Class| !c.tables.is_disjoint(&class.tables);
            for other in classes.extract_if(.., meets).collect::<Vec<_>>() {
                class.tables.extend(other.tables);
                class.key = class.key.min(other.key);
                class.pieces.extend(other.pieces);
            }
            class.pieces.sort();
            classes.push(class);
        }
    }
    classes.sort_by(|a, b| a.tables.cmp(&b.tables));
    let of = |id: ProcedureId, piece: usize| classes.iter().position(|c| c.pieces.contains(&(id, piece)));
    let mut hands_over = BTreeSet::new();
    for (id, plan) in plans() {
        for (number, piece) in plan.pieces.iter().enumerate() {
            let Some(from) = of(id, number) else { continue };
            hands_over
                .extend(piece.hands_over.iter().filter_map(|p| of(id, *p as usize)).map(|to| (from, to)));
        }
    }
    (classes, hands_over)
}

/// A row each: number, tables, key, pieces, classes that hand over to it.
fn rows(
    analysed: &Analysed<'_>,
    classes: &[Class],
    hands_over: &BTreeSet<(usize, usize)>,
) -> Vec<[String; 5]> {
    let names = &analysed.names;
    let row = |(i, class): (usize, &Class)| {
        let tables: Vec<String> = class.tables.iter().map(|t| names.table(*t)).collect();
        let key: Vec<String> = class.tables.first().map_or_else(Vec::new, |table| {
            let columns = names.index_columns(*table, IndexId::PRIMARY);
            columns.iter().take(class.key).map(|c| names.column(*table, *c)).collect()
        });
        let pieces: Vec<String> =
            class.pieces.iter().map(|(p, n)| format!("{}.{}", names.procedure(*p), n + 1)).collect();
        let givers: Vec<String> =
            hands_over.iter().filter(|(_, to)| *to == i).map(|(from, _)| format!("k{from}")).collect();
        let key = if key.is_empty() { "as a whole".to_owned() } else { format!("by {}", key.join(", ")) };
        let after = if givers.is_empty() { String::new() } else { format!("after {}", givers.join(", ")) };
        [format!("k{i}"), tables.join(", "), key, pieces.join(", "), after]
    };
    classes.iter().enumerate().map(row).collect()
}

/// The classes, a line or more each.
pub(crate) fn lines(analysed: &Analysed<'_>) -> Vec<String> {
    let (classes, hands_over) = classes(analysed);
    text::table(rows(analysed, &classes, &hands_over).into_iter())
}

/// The same as a graph.
pub(crate) fn graph(analysed: &Analysed<'_>) -> Graph {
    let (classes, hands_over) = classes(analysed);
    let rows = rows(analysed, &classes, &hands_over);
    let title = "Classes of pieces with one key".to_owned();
    let mut lines = vec![format!("{title}: {}", counted(classes.len(), "class"))];
    lines.extend(text::table(rows.iter().cloned()).into_iter().map(|l| format!("  {l}")));
    for procedure in &analysed.procedures {
        if let Err(why) = analysed.schema.planned(procedure.id) {
            lines.push(format!("  {}: {why}", analysed.names.procedure(procedure.id)));
        }
    }
    let node = |row: &[String; 5]| {
        let mut lines = vec![row[0].clone(), row[1].clone(), row[2].clone()];
        lines.extend(row[3].split(", ").map(str::to_owned));
        GraphNode { lines, role: GraphRole::Piece, ..GraphNode::default() }
    };
    let edge = |(from, to): &(usize, usize)| GraphEdge {
        from: *from,
        to: *to,
        label: "hands over".to_owned(),
        dashed: false,
    };
    Graph {
        title,
        text: lines,
        nodes: rows.iter().map(node).collect(),
        edges: hands_over.iter().filter(|(a, b)| a != b).map(edge).collect(),
    }
}
