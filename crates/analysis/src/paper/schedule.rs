//! The execution schedule of log batches at the granularity of piece-sets (PACMAN §4.2, §4.3.2, §4.4;
//! Figures 6, 9, 10): when each piece-set can run, and which chain of them takes longest.
//!
//! A piece-set runs on one worker, as with static analysis alone (§4.2.1). It waits for the piece-sets of
//! its batch that its block depends on, and for those of the batch before: all of them (synchronous), or
//! the one of its own block (pipelined). Of those that are ready the first in order of batches and blocks
//! is taken by the worker that is free first.
//!
//! Nothing is measured here: costs are given. Parallelism within a piece-set (§4.3.1) is not modelled;
//! [`cores`] says how many cores the paper would give each block.

use super::{BlockId, GlobalGraph};
use planaria_base::ProcedureId;
use std::collections::BTreeMap;

/// What a batch has for a block.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Load {
    /// Pieces: calls of procedures with a slice in the block.
    pub pieces: u64,
    /// Cost of them all, in whatever unit the caller counts.
    pub cost: f64,
}

/// The load of each block in a batch of so many calls of each procedure; a piece costs what its slice has
/// operations.
pub fn load(graph: &GlobalGraph, calls: &BTreeMap<ProcedureId, u64>) -> Vec<Load> {
    let of = |block: &super::Block| {
        block.slices.iter().fold(Load::default(), |load, (procedure, slice)| {
            let pieces = calls.get(procedure).copied().unwrap_or(0);
            let operations = graph.locals[procedure].slices[slice.index()].ops.len();
            Load { pieces: load.pieces + pieces, cost: load.cost + (pieces * operations as u64) as f64 }
        })
    };
    graph.blocks.iter().map(of).collect()
}

/// How many of `cores` cores each block gets: in proportion to its pieces, at least one where it has any
/// and there are enough (§4.4, Figure 10). Blocks without a core of their own share those of others.
pub fn cores(load: &[Load], cores: usize) -> Vec<usize> {
    let total: u64 = load.iter().map(|l| l.pieces).sum();
    if total == 0 {
        return vec![0; load.len()];
    }
    let due = |l: &Load| l.pieces as f64 * cores as f64 / total as f64;
    let mut given: Vec<usize> = load.iter().map(|l| due(l) as usize).collect();
    let mut left = cores - given.iter().sum::<usize>().min(cores);
    // The rest goes first to blocks that have none, then by what is missing most.
    let mut order: Vec<usize> = (0..load.len()).filter(|i| load[*i].pieces > 0).collect();
    order.sort_by(|a, b| {
        let missing = |i: usize| (given[i] == 0, due(&load[i]) - given[i] as f64);
        let ((a_none, a_part), (b_none, b_part)) = (missing(*a), missing(*b));
        b_none.cmp(&a_none).then(b_part.total_cmp(&a_part)).then(a.cmp(b))
    });
    for i in order {
        if left == 0 {
            break;
        }
        given[i] += 1;
        left -= 1;
    }
    given
}

/// A piece-set in its place.
#[derive(Clone, PartialEq, Debug)]
pub struct PieceSet {
    /// Which batch, from 0.
    pub batch: usize,
    /// Which block.
    pub block: BlockId,
    /// What it has to do.
    pub load: Load,
    /// The worker that runs it.
    pub worker: usize,
    /// When it begins.
    pub start: f64,
    /// When it is done.
    pub finish: f64,
    /// Whether it stands on the critical path.
    pub critical: bool,
}

/// How batches are run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Manner {
    /// Batches, all alike.
    pub batches: usize,
    /// A batch may begin before the one before has ended (§4.3.2).
    pub pipelined: bool,
    /// Workers.
    pub workers: usize,
}

/// A schedule.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    /// By batch, then block; those without pieces are left out.
    pub piece_sets: Vec<PieceSet>,
    /// Sum of all costs: the time on one worker.
    pub work: f64,
    /// Cost of the critical path: the time with as many workers as could be of use.
    pub span: f64,
    /// The time with the workers there are.
    pub makespan: f64,
}

impl Schedule {
    /// The schedule of `manner.batches` batches with these loads, one a block.
    pub fn of(graph: &GlobalGraph, load: &[Load], manner: Manner) -> Schedule {
        let blocks = graph.blocks.len();
        let tasks: Vec<(usize, usize)> = (0..manner.batches)
            .flat_map(|batch| (0..blocks).map(move |block| (batch, block)))
            .filter(|(_, block)| load[*block].pieces > 0)
            .collect();
        // A block without pieces passes on what it waits for.
        let needs = needs(graph, load);
        let waits = |(batch, block): (usize, usize), (other, b): (usize, usize)| match batch - other {
            0 => needs[block].contains(&b),
            1 => b == block || !manner.pipelined,
            _ => false,
        };
        let before: Vec<Vec<usize>> = tasks
            .iter()
            .enumerate()
            .map(|(i, task)| (0..i).filter(|other| waits(*task, tasks[*other])).collect())
            .collect();
        let cost = |i: usize| load[tasks[i].1].cost;
        // The longest chain to the end of each task, and the task before it on that chain.
        let mut chain: Vec<(f64, Option<usize>)> = Vec::new();
        for (i, before) in before.iter().enumerate() {
            let longest =
                before.iter().copied().max_by(|a, b| chain[*a].0.total_cmp(&chain[*b].0).then(b.cmp(a)));
            chain.push((longest.map_or(0.0, |l| chain[l].0) + cost(i), longest));
        }
        let last = (0..tasks.len()).max_by(|a, b| chain[*a].0.total_cmp(&chain[*b].0).then(b.cmp(a)));
        let mut critical = vec![false; tasks.len()];
        let mut at = last;
        while let Some(i) = at {
            critical[i] = true;
            at = chain[i].1;
        }
        let placed = place(&before, cost, manner.workers);
        let piece_sets: Vec<PieceSet> = tasks
            .iter()
            .zip(placed)
            .zip(critical)
            .map(|(((batch, block), (worker, start, finish)), critical)| PieceSet {
                batch: *batch,
                block: BlockId::from(*block),
                load: load[*block],
                worker,
                start,
                finish,
                critical,
            })
            .collect();
        Schedule {
            work: piece_sets.iter().map(|p| p.load.cost).sum(),
            span: last.map_or(0.0, |l| chain[l].0),
            makespan: piece_sets.iter().map(|p| p.finish).fold(0.0, f64::max),
            piece_sets,
        }
    }

    /// The blocks of the critical path, in order.
    pub fn critical_path(&self) -> impl Iterator<Item = &PieceSet> {
        self.piece_sets.iter().filter(|p| p.critical)
    }
}

/// For each block, those that it waits for and that have pieces.
fn needs(graph: &GlobalGraph, load: &[Load]) -> Vec<Vec<usize>> {
    let mut all: Vec<Vec<usize>> = Vec::new();
    for block in 0..graph.blocks.len() {
        let mut own = Vec::new();
        for need in graph.needs(BlockId::from(block)).map(BlockId::index) {
            if load[need].pieces > 0 {
                own.push(need);
            } else {
                own.extend(&all[need]);
            }
        }
        own.sort();
        own.dedup();
        all.push(own);
    }
    all
}

/// Worker, start and finish of each task; tasks stand behind those they wait for.
fn place(before: &[Vec<usize>], cost: impl Fn(usize) -> f64, workers: usize) -> Vec<(usize, f64, f64)> {
    let mut free = vec![0.0f64; workers.max(1)];
    let mut placed: Vec<Option<(usize, f64, f64)>> = vec![None; before.len()];
    for _ in 0..before.len() {
        // Of the tasks whose time is known, the one that can begin first.
        let worker = (0..free.len()).min_by(|a, b| free[*a].total_cmp(&free[*b])).unwrap_or(0);
        let ready = |i: usize| {
            before[i].iter().try_fold(0.0f64, |at, b| placed[*b].map(|(_, _, finish)| at.max(finish)))
        };
        let next = (0..before.len())
            .filter(|i| placed[*i].is_none())
            .filter_map(|i| Some((i, ready(i)?.max(free[worker]))))
            .min_by(|(i, a), (j, b)| a.total_cmp(b).then(i.cmp(j)));
        let Some((task, start)) = next else { break };
        let finish = start + cost(task);
        free[worker] = finish;
        placed[task] = Some((worker, start, finish));
    }
    placed.into_iter().flatten().collect()
}
