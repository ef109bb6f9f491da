//! Slices as programs: what replay of a call runs instead of the whole procedure (PACMAN §4.2, §4.3.1).
//!
//! A slice program is the procedure restricted to the slice's operations, with everything that computes
//! what they use and decides whether they run. What earlier slices of the same call have read comes in as
//! parameters, what later slices need goes out as `outs`:
//!
//! ```text
//!  procedure                    slice a                      slice b (parameters v0, v1[])
//!    get t0 (k) -> x              get t0 (k) -> x              v = copy v0
//!    loop {                       v0 = copy x                  loop {
//!      get t1 (i) -> y            loop {                         y = v1[n++]
//!      insert t2 (x, y)             get t1 (i) -> y              insert t2 (v, y)
//!    }                              v1 = v1 || y }             }
//! ```
//!
//! 1. [`chains`]: for every use of a register, the operations its value may come from.
//! 2. [`demand`]: backwards from what a slice changes, what has to stand in its program. Values that
//!    need no table are computed again wherever they are used; what depends on other slices is *fetched* from
//!    the last of these, as near to its use as it can be. A loop stands in every
//!    slice that has operations in it; values that pass inside of it travel in arrays, in order. A scan of
//!    another slice becomes a loop of as many turns.
//! 3. [`emit`] writes the programs, the last slice first: what it fetches others have to give.
//! 4. [`keys`]: for the dynamic analysis, a program that hands over the keys of all rows a slice touches
//!    in changing tables, where they follow from the slice's parameters (`Piece 0` with one value each:
//!    the leading column of the primary key).
//!
//! Inputs from outside are drawn by a *prologue* that touches no table and runs when the log is read, or,
//! where reads decide about them, by one of the slices; values that the call kept for others are skipped. The slices of a
//! [`LocalGraph`] are right for this because it is closed: whatever decides about or flows into an
//! operation stands in its slice or an earlier one. Where this analysis finds otherwise, or a value cannot
//! pass, cutting fails and says why; [`whole`] is then the way out.

mod chains;
mod demand;
mod emit;
mod keys;
#[cfg(test)]
mod tests;

use super::{LocalGraph, Slice};
use crate::flow::is_loop;
use chains::Chains;
use demand::{Cut, Demand, Part, Pass};
use planaria_base::{ColumnId, IndexId, TableId, Type};
use planaria_ir::{OpKind, Program};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Where a parameter of a slice program comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Input {
    /// The call's argument of that number (IN and INOUT parameters, in order).
    Arg(usize),
    /// The call's value of that number.
    Value(usize),
}

/// A slice as a program.
#[derive(Clone, PartialEq, Debug)]
pub struct SliceProgram {
    /// Runs the slice.
    pub program: Program,
    /// What its parameters are, in order.
    pub inputs: Vec<Input>,
    /// The numbers of the values that its `outs` are, in order.
    pub outputs: Vec<usize>,
}

/// A procedure cut into slice programs.
#[derive(Clone, PartialEq, Debug)]
pub struct SlicedProcedure {
    /// Number of values that pass between the programs of one call.
    pub values: usize,
    /// Draws the call's inputs, if it draws any; touches no table, and runs before everything else.
    pub prologue: Option<SliceProgram>,
    /// By [`super::SliceId`].
    pub slices: Vec<SliceProgram>,
    /// By [`super::SliceId`]: hands over keys of the rows that the slice touches, at least these; `None`
    /// where they are not known before it runs.
    pub keys: Vec<Option<SliceProgram>>,
}

/// Why a procedure could not be cut into these slices.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Uncut {
    /// A value would have to come from a slice that is not an earlier one.
    Order,
    /// The inputs that a call draws depend on what it reads.
    Draws,
    /// An array would have to pass in a loop.
    Arrays,
    /// A row found in one slice is used in another.
    Rows,
    /// It calls routines that could not be put in place of their calls.
    Calls,
}

impl fmt::Display for Uncut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Uncut::Order => "its slices need values of each other",
            Uncut::Draws => "the inputs it draws depend on what it reads",
            Uncut::Arrays => "an array passes from slice to slice in a loop",
            Uncut::Rows => "a row found in one slice is used in another",
            Uncut::Calls => "it calls routines that cannot stand in place of their calls",
        })
    }
}

/// What the keys of tables look like.
pub trait KeyColumns {
    /// The first column of a table's primary key, with its type.
    fn leading(&self, table: TableId) -> (ColumnId, Type);
    /// The columns of an index.
    fn index(&self, table: TableId, index: IndexId) -> Vec<ColumnId>;
    /// Whether rows of the table are touched in order at all: some slice changes it.
    fn changes(&self, table: TableId) -> bool;
}

/// The graph with one slice of everything, for a procedure that cannot be cut as it is.
pub fn whole(graph: &LocalGraph) -> LocalGraph {
    let mut all = Slice::default();
    for slice in &graph.slices {
        all.ops.extend(&slice.ops);
        all.accesses.add(&slice.accesses);
    }
    all.ops.sort();
    LocalGraph { slices: vec![all], edges: BTreeSet::new(), barrier: graph.barrier.clone() }
}

/// Cuts a program into the slices of its graph, which must not be a barrier. The program is the one that
/// the graph was made from: inlined, and [as of a committed call](crate::committed_whole()).
pub fn cut(
    program: &Program,
    graph: &LocalGraph,
    columns: &dyn KeyColumns,
) -> Result<SlicedProcedure, Uncut> {
    let mut program = program.clone();
    let (mut ids, mut calls) = (BTreeMap::new(), false);
    program.body.visit(&mut |op| {
        ids.insert(op.id, ids.len());
        calls |= matches!(
            op.kind,
            OpKind::Call { .. }
                | OpKind::CallSet { .. }
                | OpKind::Execute { .. }
                | OpKind::Ask { .. }
                | OpKind::SystemRows { .. }
        );
    });
    if calls {
        return Err(Uncut::Calls);
    }
    program.renumber();
    let chains = Chains::of(&program);
    let draws = draws(&chains);
    let mut owner: Vec<Option<Part>> = vec![None; chains.ops().len()];
    for (s, slice) in graph.slices.iter().enumerate() {
        slice.ops.iter().for_each(|op| owner[ids[op]] = Some(s + 1));
    }
    draws.iter().for_each(|op| owner[*op as usize] = Some(0));
    let mut before: Vec<BTreeSet<Part>> = vec![BTreeSet::new()];
    for s in 0..graph.slices.len() {
        let mut earlier = BTreeSet::from([0]);
        for (from, _) in graph.edges.iter().filter(|(_, to)| to.index() == s) {
            earlier.extend(before[from.index() + 1].iter());
            earlier.insert(from.index() + 1);
        }
        before.push(earlier);
    }
    let mut cut = Cut::new(&program, chains, owner, before);
    let cutter = |cut: &Cut<'_>| {
        let gives = vec![BTreeSet::new(); graph.slices.len() + 1];
        Cutter { cut, columns, gives, values: BTreeMap::new() }.programs(graph.slices.len())
    };
    match cutter(&cut) {
        Err(Uncut::Draws) => {}
        other => return other,
    }
    // What decides about the draws is read: the earliest slice that knows it all draws.
    for part in 1..=graph.slices.len() {
        cut.assign(&draws, part);
        if let Ok(programs) = cutter(&cut) {
            return Ok(programs);
        }
    }
    Err(Uncut::Draws)
}

/// Operations that take from the inputs of the call: draws, and values kept before the last of them.
fn draws(chains: &Chains<'_>) -> Vec<u32> {
    let is_keep = |op: &u32| matches!(chains.kind(*op), OpKind::Keep { .. });
    let is_draw = |op: &u32| is_input(chains.kind(*op)) && !is_keep(op);
    let all = 0..chains.ops().len() as u32;
    // The last draw, or the end of the loops around it.
    let last = all.clone().filter(is_draw).map(|op| {
        let outermost = chains.around(op).filter(|x| is_loop(chains.kind(*x))).last();
        outermost.map_or(op, |x| *chains.inside(x).end())
    });
    let Some(last) = last.max() else { return Vec::new() };
    all.filter(|op| is_draw(op) || *op <= last && is_keep(op)).collect()
}

/// Whether an operation takes from the inputs of the call, or adds to them.
fn is_input(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Draw { .. } | OpKind::NextValue { .. } | OpKind::CurrentValue { .. } | OpKind::Keep { .. }
    )
}

/// What a part needs to change what it changes, to draw what it draws, and to hand over `gives`. Its reads
/// that serve nothing of this are left out.
fn needs<'a, 'p>(cut: &'a Cut<'p>, part: Part, gives: &BTreeSet<Pass>) -> Result<Demand<'a, 'p>, Uncut> {
    let mut demand = Demand::new(cut, Some(part), part);
    let own = (0..cut.owner.len() as u32).filter(|op| cut.owner[*op as usize] == Some(part));
    own.filter(|op| cut.chains.kind(*op).is_write() || is_input(cut.chains.kind(*op)))
        .for_each(|op| demand.run(op));
    gives.iter().for_each(|pass| demand.give(*pass));
    demand.finish()
}

struct Cutter<'c, 'p, 'k> {
    cut: &'c Cut<'p>,
    columns: &'k dyn KeyColumns,
    /// By part: what it hands to others.
    gives: Vec<BTreeSet<Pass>>,
    /// By part and pass: the value's number.
    values: BTreeMap<(Part, Pass), usize>,
}

impl Cutter<'_, '_, '_> {
    /// Numbers what a program fetches, and lets the parts that have it give it.
    fn ask(
        gives: &mut [BTreeSet<Pass>],
        values: &mut BTreeMap<(Part, Pass), usize>,
        demand: &Demand<'_, '_>,
    ) {
        for (pass, part) in &demand.fetch {
            gives[*part].insert(*pass);
            let number = values.len();
            values.entry((*part, *pass)).or_insert(number);
        }
    }

    fn programs(mut self, count: usize) -> Result<SlicedProcedure, Uncut> {
        let cut = self.cut;
        let none = emit::Keys::default();
        let mut slices = Vec::new();
        let mut keys = Vec::new();
        for part in (1..=count).rev() {
            let demand = needs(cut, part, &self.gives[part])?;
            Self::ask(&mut self.gives, &mut self.values, &demand);
            let program = &cut.program.name;
            let name = format!("{program} slice {}", part - 1);
            let inputs = self.numbers(&demand);
            let gives = self.given(part);
            slices.push(emit::emit(cut, &demand, &gives.0, &none, &merged(inputs, gives.1), name)?);
            let handed = keys::of(cut, part, &demand, self.columns);
            if let Some((demand, _)) = &handed {
                Self::ask(&mut self.gives, &mut self.values, demand);
            }
            // Keys that cannot be written down are keys that are not known.
            keys.push(handed.and_then(|(demand, keys)| {
                let name = format!("{program} keys {}", part - 1);
                emit::emit(cut, &demand, &BTreeSet::new(), &keys, &self.numbers(&demand), name).ok()
            }));
        }
        slices.reverse();
        keys.reverse();
        let mut prologue = None;
        if cut.owner.contains(&Some(0)) {
            let demand = needs(cut, 0, &self.gives[0]).map_err(|_| Uncut::Draws)?;
            let gives = self.given(0);
            let name = format!("{} prologue", cut.program.name);
            prologue = Some(emit::emit(cut, &demand, &gives.0, &none, &gives.1, name)?);
        }
        Ok(SlicedProcedure { values: self.values.len(), prologue, slices, keys })
    }

    fn numbers(&self, demand: &Demand<'_, '_>) -> BTreeMap<Pass, usize> {
        demand.fetch.iter().map(|(pass, part)| (*pass, self.values[&(*part, *pass)])).collect()
    }

    fn given(&self, part: Part) -> (BTreeSet<Pass>, BTreeMap<Pass, usize>) {
        let gives = self.gives[part].clone();
        let numbers = gives.iter().map(|pass| (*pass, self.values[&(part, *pass)])).collect();
        (gives, numbers)
    }
}

/// What comes in and what goes out pass at different places, or carry the same.
fn merged(mut a: BTreeMap<Pass, usize>, b: BTreeMap<Pass, usize>) -> BTreeMap<Pass, usize> {
    a.extend(b);
    a
}
