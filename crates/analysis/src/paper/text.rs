//! Slices and blocks for people, a line each.

use super::{Accesses, BlockId, GlobalGraph, LocalGraph, SliceId};
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
    let ids = || (0..graph.slices.len()).map(SliceId::from);
    table(ids().map(|id| {
        let slice = &graph.slices[id.index()];
        [id.to_string(), accesses(&slice.accesses, names), after(graph.needs(id))]
    }))
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

/// Rows with their columns aligned.
pub fn table<const N: usize>(rows: impl Iterator<Item = [String; N]>) -> Vec<String> {
    let rows: Vec<_> = rows.collect();
    let widths: Vec<usize> =
        (0..N).map(|i| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0)).collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&widths).filter(|(_, w)| **w > 0);
        let cells: Vec<String> = cells.map(|(cell, width)| format!("{cell:width$}")).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
