//! The global dependency graph over all procedures (PACMAN §4.1.2, Appendix B, Algorithm 2).

use super::classes::Classes;
use super::{Accesses, BlockId, LocalGraph, Slice, SliceId};
use planaria_base::{ProcedureId, TableId};
use std::collections::{BTreeMap, BTreeSet};

/// A block: slices of all procedures that may meet in a table. In one batch its pieces run in commit order,
/// unless they are known to touch different rows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Block {
    /// At most one slice a procedure, numbered as in [`GlobalGraph::locals`]; by procedure.
    pub slices: Vec<(ProcedureId, SliceId)>,
    /// What they touch, and what ad hoc transactions change here.
    pub accesses: Accesses,
}

/// Blocks, and what must run before what.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GlobalGraph {
    /// The local graphs after "merge slices": in each, a block has at most one slice. Read-only procedures,
    /// and those whose calls run alone, are left out.
    pub locals: BTreeMap<ProcedureId, LocalGraph>,
    /// By [`BlockId`]; a block stands behind all it depends on.
    pub blocks: Vec<Block>,
    /// (a, b): block `b` depends on `a`, directly; `a < b`.
    pub edges: BTreeSet<(BlockId, BlockId)>,
}

impl GlobalGraph {
    /// Algorithm 2. `locals`: the local graphs ([`LocalGraph::of`], or the pieces of [`super::chop`]);
    /// `ad_hoc`: the tables that transactions logged by values may change. Such a transaction is a write-only
    /// one (PACMAN §4.5): each of these tables then belongs to exactly one block, [`Self::block_of_table`].
    pub fn of(
        locals: &[(ProcedureId, LocalGraph)],
        ad_hoc: impl IntoIterator<Item = TableId>,
    ) -> GlobalGraph {
        let cut: Vec<&(ProcedureId, LocalGraph)> =
            locals.iter().filter(|(_, g)| g.barrier.is_none() && !g.is_read_only()).collect();
        // Elements: the slices of one procedure after the other, then the tables of ad hoc transactions.
        let mut elements: Vec<(Option<(ProcedureId, SliceId)>, Accesses)> = Vec::new();
        let mut edges = Vec::new();
        for (procedure, local) in &cut {
            let base = elements.len();
            for (i, slice) in local.slices.iter().enumerate() {
                elements.push((Some((*procedure, SliceId::from(i))), slice.accesses.clone()));
            }
            edges.extend(local.edges.iter().map(|(a, b)| (base + a.index(), base + b.index())));
        }
        for table in ad_hoc {
            let writes = BTreeSet::from([table]);
            elements.push((None, Accesses { reads: BTreeSet::new(), writes }));
        }
        let mut classes = Classes::new(elements.len());
        for (i, (_, a)) in elements.iter().enumerate() {
            for (j, (_, b)) in elements.iter().enumerate().skip(i + 1) {
                if a.conflicts(b) {
                    classes.merge(i, j);
                }
            }
        }
        let condensed = classes.condense(&edges);
        // Merge slices: those of one procedure in one block become one.
        let mut place: BTreeMap<(ProcedureId, SliceId), BlockId> = BTreeMap::new();
        let mut blocks: Vec<Block> = Vec::new();
        for group in &condensed.groups {
            let mut block = Block::default();
            for i in group {
                let (slice, accesses) = &elements[*i];
                block.accesses.add(accesses);
                if let Some(slice) = slice {
                    place.insert(*slice, BlockId::from(blocks.len()));
                }
            }
            blocks.push(block);
        }
        let mut merged = BTreeMap::new();
        for (procedure, local) in cut {
            let (local, of_block) = merge_slices(local, |s| place[&(*procedure, s)]);
            for (block, slice) in of_block {
                blocks[block.index()].slices.push((*procedure, slice));
            }
            merged.insert(*procedure, local);
        }
        blocks.iter_mut().for_each(|b| b.slices.sort());
        let edges = condensed.edges.iter().map(|(a, b)| (BlockId::from(*a), BlockId::from(*b))).collect();
        GlobalGraph { locals: merged, blocks, edges }
    }

    /// The blocks that a block depends on directly.
    pub fn needs(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        self.edges.iter().filter(move |(_, to)| *to == block).map(|(from, _)| *from)
    }

    /// The block that a slice (numbered as in `locals`) belongs to.
    pub fn block_of(&self, procedure: ProcedureId, slice: SliceId) -> Option<BlockId> {
        self.blocks.iter().position(|b| b.slices.contains(&(procedure, slice))).map(BlockId::from)
    }

    /// The block in which a table is changed, if any; then it is read nowhere else.
    pub fn block_of_table(&self, table: TableId) -> Option<BlockId> {
        self.blocks.iter().position(|b| b.accesses.writes.contains(&table)).map(BlockId::from)
    }

    /// The edges that do not follow from others (the figures show these).
    pub fn reduced(&self) -> BTreeSet<(BlockId, BlockId)> {
        // `above[b]`: every ancestor of `b`. Blocks stand in topological order.
        let mut above: Vec<BTreeSet<BlockId>> = vec![BTreeSet::new(); self.blocks.len()];
        for (from, to) in self.by_target() {
            let more: Vec<BlockId> = above[from.index()].iter().copied().chain([from]).collect();
            above[to.index()].extend(more);
        }
        let implied = |from: BlockId, to: BlockId| {
            self.needs(to).any(|other| other != from && above[other.index()].contains(&from))
        };
        self.edges.iter().copied().filter(|(from, to)| !implied(*from, *to)).collect()
    }

    fn by_target(&self) -> Vec<(BlockId, BlockId)> {
        let mut edges: Vec<_> = self.edges.iter().copied().collect();
        edges.sort_by_key(|(from, to)| (*to, *from));
        edges
    }
}

/// The local graph with the slices of each block made one, and the slice of each block.
fn merge_slices(
    local: &LocalGraph,
    block_of: impl Fn(SliceId) -> BlockId,
) -> (LocalGraph, BTreeMap<BlockId, SliceId>) {
    // Blocks stand in topological order, and so do the slices by block.
    let ids = || (0..local.slices.len()).map(SliceId::from);
    let of_block: BTreeMap<BlockId, SliceId> = ids()
        .map(&block_of)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .enumerate()
        .map(|(i, b)| (b, SliceId::from(i)))
        .collect();
    let mut slices = vec![Slice::default(); of_block.len()];
    for id in ids() {
        let (old, new) = (&local.slices[id.index()], &mut slices[of_block[&block_of(id)].index()]);
        new.ops.extend(&old.ops);
        new.accesses.add(&old.accesses);
    }
    slices.iter_mut().for_each(|s| s.ops.sort());
    let edges = local
        .edges
        .iter()
        .map(|(a, b)| (of_block[&block_of(*a)], of_block[&block_of(*b)]))
        .filter(|(a, b)| a != b)
        .collect();
    (LocalGraph { slices, edges, barrier: None }, of_block)
}
