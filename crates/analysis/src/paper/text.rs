//! Slices and blocks for people, a line each.

use super::{Accesses, BlockId, GlobalGraph, LocalGraph, Slice, SliceId};
use crate::Names;
use planaria_base::ProcedureId;
use std::fmt::Display;

/// What is touched: `district (changed), item`.
pub fn accesses(accesses: &Accesses, names: &dyn Names) -> String {
    let tables = accesses.tables().into_iter().map(|t| {
        let name = names.table(t);
        if accesses.writes.contains(&t) { format!("{name} (changed)") } else { name }
    });
    list(tables)
}

/// The slices of a procedure.
pub fn local(graph: &LocalGraph, names: &dyn Names) -> Vec<String> {
    if let Some(why) = &graph.barrier {
        return vec![format!("Its calls run alone: {why}")];
    }
    slices(graph, names).concat()
}

/// The lines of each slice.
pub fn slices(graph: &LocalGraph, names: &dyn Names) -> Vec<Vec<String>> {
    let row = |(i, slice): (usize, &Slice)| {
        let id = SliceId::from(i);
        [id.to_string(), accesses(&slice.accesses, names), after(graph.needs(id))]
    };
    by_row(graph.slices.iter().enumerate().map(row))
}

/// The blocks; `procedure` names a procedure.
pub fn global(graph: &GlobalGraph, names: &dyn Names) -> Vec<String> {
    let reduced = graph.reduced();
    let ids = || (0..graph.blocks.len()).map(BlockId::from);
    table(ids().map(|id| {
        let block = &graph.blocks[id.index()];
        let slices = block.slices.iter().map(|(p, s)| slice_name(*p, *s, names));
        let needs = reduced.iter().filter(|(_, to)| *to == id).map(|(from, _)| *from);
        [id.to_string(), accesses(&block.accesses, names), list(slices), after(needs)]
    }))
}

/// A row as one or more: lists continue in the rows that follow.
fn wrapped<const N: usize>(row: &[String; N]) -> Vec<[String; N]> {
    let mut rows: Vec<[String; N]> = vec![std::array::from_fn(|_| String::new())];
    for (i, cell) in row.iter().enumerate() {
        let mut at = 0;
        for item in cell.split_inclusive(", ") {
            let line = &rows[at][i];
            if !line.is_empty() && line.chars().count() + item.trim_end().chars().count() > CELL_CHARS {
                at += 1;
                if at == rows.len() {
                    rows.push(std::array::from_fn(|_| String::new()));
                }
            }
            rows[at][i].push_str(item);
        }
        rows.iter_mut().for_each(|r| r[i].truncate(r[i].trim_end().len()));
    }
    rows
}

/// `new_order.s2`
pub fn slice_name(procedure: ProcedureId, slice: SliceId, names: &dyn Names) -> String {
    format!("{}.{slice}", names.procedure(procedure))
}

fn after(needs: impl Iterator<Item = impl Display>) -> String {
    let needs = list(needs);
    if needs.is_empty() { needs } else { format!("after {needs}") }
}

fn list(items: impl Iterator<Item = impl Display>) -> String {
    items.map(|i| i.to_string()).collect::<Vec<_>>().join(", ")
}

/// Characters to which the cells of [`table`] are wrapped, after commas.
const CELL_CHARS: usize = 44;

/// Rows with their columns aligned; a row with long lists takes several lines.
pub fn table<const N: usize>(rows: impl Iterator<Item = [String; N]>) -> Vec<String> {
    by_row(rows).concat()
}

/// The lines of each row.
fn by_row<const N: usize>(rows: impl Iterator<Item = [String; N]>) -> Vec<Vec<String>> {
    let rows: Vec<Vec<[String; N]>> = rows.map(|row| wrapped(&row)).collect();
    let widths: Vec<usize> =
        (0..N).map(|i| rows.iter().flatten().map(|r| r[i].chars().count()).max().unwrap_or(0)).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).filter(|(_, w)| **w > 0);
        let cells: Vec<String> = cells.map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(|lines| lines.iter().map(line).collect()).collect()
}
