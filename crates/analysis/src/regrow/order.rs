//! Whether pieces of one table, each run at once where it is handed over, do what their operations did
//! one by one. Keys are not looked at: two pieces may be of one row, or of rows that want one unique key.
//!
//! A piece takes its turn behind the last operation of its range; its reads stood earlier. Of two pieces,
//! every read or write of the one must stand on the same side of those of the other, which it does not
//! touch if both read, as the turns have them. Pieces of different turns of a loop are in order anyway:
//! no piece reaches into a loop that it does not begin in.

use super::emit::last;
use super::pieces::{Division, Draft};
use super::value::Values;
use planaria_ir::{Block, OpId, Program};
use std::collections::BTreeMap;

/// Places in program order: where an operation begins, and where the last one inside it does.
fn places(block: &Block, next: &mut usize, into: &mut BTreeMap<OpId, (usize, usize)>) {
    for op in &block.0 {
        let begin = *next;
        *next += 1;
        op.kind.blocks(&mut |b| places(b, next, into));
        into.insert(op.id, (begin, *next - 1));
    }
}

/// The writes of a piece that would come at the wrong time; they must find their rows again.
pub fn crossed(values: &Values<'_>, program: &Program, division: &Division) -> Option<Vec<OpId>> {
    let mut at = BTreeMap::new();
    places(&program.body, &mut 0, &mut at);
    let touches = |draft: &Draft| -> Vec<(usize, bool)> {
        let reads = draft.reads.iter().map(|r| (at[&values.reads[*r].op].0, false));
        reads.chain(draft.writes.iter().map(|w| (at[w].0, true))).collect()
    };
    let pieces: Vec<(&Draft, Vec<(usize, bool)>, (usize, usize))> = division
        .drafts
        .iter()
        .zip(&division.closures)
        .enumerate()
        .filter(|(_, (draft, _))| !draft.hosted)
        .map(|(i, (draft, closure))| (draft, touches(draft), (at[&last(values, draft, closure)].1, i)))
        .collect();
    for (i, (a, touched, turn)) in pieces.iter().enumerate() {
        for (b, others, other_turn) in pieces[..i].iter().filter(|(b, ..)| b.table == a.table) {
            let in_order = touched.iter().all(|(x, x_writes)| {
                others.iter().all(|(y, y_writes)| !(*x_writes || *y_writes) || (x < y) == (turn < other_turn))
            });
            if !in_order {
                // One of them reads: what was detached has its turn where it stands.
                let reader = if a.reads.is_empty() { b } else { a };
                return Some(reader.writes.clone());
            }
        }
    }
    None
}
