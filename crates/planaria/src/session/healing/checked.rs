//! In debug builds: what a run does otherwise than the run before it lies within what stale reads reach in the dependency graph
//! ([`DependencyGraph::reached_from`]). Healing runs the whole program again and needs no graph for that; so the graph, by
//! which `EXPLAIN` tells what is repeated and replay cuts slices, is held against what has happened.
//!
//! Runs of one program by the same arguments are compared. An operation is *stale* that was given the same and has answered
//! otherwise: a key was looked up, or a range scanned, and others have changed what is there. It has *changed* where it was
//! given other values, or has run more or less often. Every one that has changed must be reached from one that is stale.
//!
//! Not compared: what has drawn other inputs (a turn of a loop less shifts what all draws behind it are handed out), what reads the
//! system catalogs, long runs (`exec::machine::trace`), and rows that are deleted, which are only counted. Reads of what
//! the run itself has written count as stale, too. A run that has not come to its end is compared as far as it goes.

use planaria_analysis::DependencyGraph;
use planaria_exec::{Event, Frame, Trace};
use planaria_ir::{OpId, Program};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Graphs that are remembered.
const GRAPHS: usize = 16;

thread_local! {
    static KNOWN: RefCell<Vec<(Arc<Program>, Arc<DependencyGraph>)>> = const { RefCell::new(Vec::new()) };
}

fn graph_of(program: &Arc<Program>) -> Arc<DependencyGraph> {
    KNOWN.with_borrow_mut(|known| {
        if let Some((_, graph)) = known.iter().find(|(of, _)| Arc::ptr_eq(of, program)) {
            return graph.clone();
        }
        if known.len() == GRAPHS {
            known.remove(0);
        }
        let graph = Arc::new(DependencyGraph::of(program));
        known.push((program.clone(), graph.clone()));
        graph
    })
}

/// Compares a run with the one before it.
pub(super) fn check(before: &Trace, after: &Trace) {
    if before.is_partial || after.is_partial {
        return;
    }
    let earlier = by_call(before);
    for (call, runs) in by_call(after) {
        for (old, new) in earlier.get(&call).into_iter().flatten().zip(runs) {
            check_runs(old, new);
        }
    }
}

/// The runs of each program by the same arguments, in order.
fn by_call(trace: &Trace) -> BTreeMap<(usize, u64), Vec<&Frame>> {
    let mut runs: BTreeMap<(usize, u64), Vec<&Frame>> = BTreeMap::new();
    for frame in &trace.frames {
        runs.entry((Arc::as_ptr(&frame.program).addr(), frame.args)).or_default().push(frame);
    }
    runs
}

/// By operation: what it was given and has answered, in order.
fn by_operation(frame: &Frame) -> BTreeMap<OpId, Vec<&Event>> {
    let mut events: BTreeMap<OpId, Vec<&Event>> = BTreeMap::new();
    frame.events.iter().for_each(|event| events.entry(event.op).or_default().push(event));
    events
}

/// Whether two lists are the same; as far as both go, if they need not be whole.
fn same<T: PartialEq>(a: &[T], b: &[T], whole: bool) -> bool {
    let both = a.len().min(b.len());
    a[..both] == b[..both] && (!whole || a.len() == b.len())
}

fn check_runs(old: &Frame, new: &Frame) {
    let beyond = beyond(old, new, &|| graph_of(&new.program));
    assert!(
        beyond.is_empty(),
        "{}: {beyond:?} came out otherwise, and no stale read reaches them\n{}",
        new.program.name,
        new.program
    );
}

/// The operations that came out otherwise and are not reached from one that is stale.
fn beyond(old: &Frame, new: &Frame, graph: &dyn Fn() -> Arc<DependencyGraph>) -> Vec<OpId> {
    let whole = old.ended && new.ended;
    if !same(&old.draws, &new.draws, whole) {
        return Vec::new();
    }
    let (was, is) = (by_operation(old), by_operation(new));
    let (mut stale, mut changed) = (BTreeSet::new(), BTreeSet::new());
    for op in was.keys().chain(is.keys()) {
        let none = Vec::new();
        let (was, is) = (was.get(op).unwrap_or(&none), is.get(op).unwrap_or(&none));
        if !same(was, is, whole) {
            changed.insert(*op);
        }
        let answers = |events: &[&Event], input: Option<u64>| -> Vec<u64> {
            events.iter().filter(|event| event.input == input).map(|event| event.output).collect()
        };
        let set = |answers: &[u64]| answers.iter().copied().collect::<BTreeSet<u64>>();
        // The same answers in another order are others: a loop may turn a value to and fro.
        let otherwise = |event: &&Event| {
            let (before, after) = (answers(was, event.input), answers(is, event.input));
            !before.is_empty() && (set(&before) != set(&after) || !same(&before, &after, false))
        };
        let is_lost = |event: &&Event| event.input.is_none();
        if is.iter().any(otherwise) || was.iter().chain(is).any(is_lost) {
            stale.insert(*op);
        }
    }
    if changed.is_subset(&stale) {
        return Vec::new();
    }
    let reached = graph().reached_from(&new.program, stale);
    changed.difference(&reached).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One row decides what is written to another, and a third has nothing to do with it.
    #[test]
    fn what_no_stale_read_reaches_is_noticed() {
        let text = "procedure p\n  reg a: int8\n  reg r: row t0\n  reg s: row t1\n  param in a: int8 = a\nbegin\n  \
                    get t0.i0 (a) -> r, c1 = a\n  get t1.i0 (a) -> s\n  update t1 s set c1 = a\nend\n";
        let program = Arc::new(planaria_ir::text::parse(text).expect("it is a program"));
        let run = |answers: [(u64, u64); 3]| Frame {
            program: program.clone(),
            args: 0,
            events: (0..)
                .zip(answers)
                .map(|(op, (input, output))| Event { op: OpId(op), input: Some(input), output })
                .collect(),
            draws: Vec::new(),
            ended: true,
        };
        let old = run([(1, 5), (5, 7), (7, 1)]);
        let whole = DependencyGraph::of(&program);
        let beyond = |new: &Frame, graph: &DependencyGraph| beyond(&old, new, &|| Arc::new(graph.clone()));
        // The first read was stale, and what it has answered is a key and a value.
        let healed = run([(1, 6), (6, 7), (8, 1)]);
        assert!(beyond(&healed, &whole).is_empty());
        let mut less = whole.clone();
        less.edges.retain(|edge| edge.to != OpId(1));
        assert_eq!(beyond(&healed, &less), [OpId(1)], "with an edge taken out");
        // It is read in turns, and the value has been turned by others: the same answers in another order.
        let turned = |answers: [(u64, u64); 3]| Frame {
            events: answers.map(|(input, output)| Event { op: OpId(0), input: Some(input), output }).into(),
            ..run([(1, 5); 3])
        };
        let by = |old: &Frame, new: &Frame| super::beyond(old, new, &|| Arc::new(whole.clone()));
        assert!(by(&turned([(1, 5), (1, 6), (1, 5)]), &turned([(1, 6), (1, 5), (1, 6)])).is_empty());
        // It answers the same, and the second read is given something else.
        assert_eq!(beyond(&run([(1, 5), (6, 7), (7, 1)]), &whole), [OpId(1)]);
    }
}
