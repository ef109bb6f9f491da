//! Which reads and writes of a procedure make a piece, and what must be known from elsewhere.
//!
//! A piece is a set of reads of rows with one key (or of one primary key range), the writes of these
//! rows, and the values between. Everything else that a piece needs must be known when the log is
//! read: its key, the conditions around it, values read from other rows. What of that is not known
//! is a *sink* of the minimum cut: a logged value must come between it and the tables.

use super::Unplannable;
use super::cut;
use super::facts::Facts;
use super::order::crossed;
use super::simplify::{has_effect, is_effect};
use super::value::{NodeId, NodeKind, Place, Values, is_row};
use planaria_base::types::TypeClass;
use planaria_base::{ColumnId, IndexId, TableId, Type};
use planaria_ir::{OpId, OpKind, Program, RegKind};
use std::collections::{BTreeMap, BTreeSet};

/// A set of reads, by bit.
type Reads = u128;
/// As many reads as a procedure may have.
pub const READS_MAX: usize = 128;

/// A piece before its program is made.
#[derive(Clone, Debug)]
pub struct Draft {
    /// Reads whose rows it writes or whose values feed what it writes; the first one leads. None:
    /// the row is found by `key` again.
    pub reads: Vec<usize>,
    /// Updates and deletes of these rows; or one insert.
    pub writes: Vec<OpId>,
    /// The table.
    pub table: TableId,
    /// Values of the leading primary key columns.
    pub key: Vec<NodeId>,
    /// The leading read is a scan.
    pub scan: bool,
    /// The block in which it begins.
    pub block: usize,
    /// Inserts that this piece hands over when it has run, because it alone knows what they insert.
    pub hosts: Vec<OpId>,
    /// Another piece hands this one over.
    pub hosted: bool,
    /// Without reads: the one that found the row, if the piece would find the same in it.
    pub found: Option<usize>,
}

/// What a draft takes part in and takes in.
#[derive(Clone, Debug, Default)]
pub struct Closure {
    /// Values computed inside.
    pub members: BTreeSet<NodeId>,
    /// Values taken in.
    pub operands: BTreeSet<NodeId>,
    /// Values that would have to be known and are not.
    pub sinks: BTreeSet<NodeId>,
    /// Values that equal one of the operands.
    pub same: BTreeMap<NodeId, NodeId>,
}

/// The finished division of a procedure.
#[derive(Clone, Debug)]
pub struct Division {
    /// Pieces, in program order of their first operation.
    pub drafts: Vec<Draft>,
    /// What each computes and takes in.
    pub closures: Vec<Closure>,
    /// Logged values.
    pub kept: BTreeSet<NodeId>,
    /// Reads that replay does out of order, of what nobody changes.
    pub planned_reads: BTreeSet<usize>,
    /// What is still unknown of a value when the log is read: the reads it depends on.
    pub unknown: Vec<Reads>,
    /// The price of what is logged and read.
    pub cost: u64,
}

/// How the writes are anchored, before costs are weighed.
pub struct Shape<'v, 'p> {
    pub values: &'v Values<'p>,
    pub program: &'p Program,
    pub facts: &'v Facts,
    /// Writes whose rows must be found again by key.
    pub detached: BTreeSet<OpId>,
    /// Reads joined into one piece, by the leading read.
    pub joined: BTreeMap<usize, BTreeSet<usize>>,
    /// Inserts that the piece of a leading read hands over.
    pub hosted: BTreeMap<OpId, usize>,
}

/// The write's row and the values it writes.
fn row_and_values(values: &Values<'_>, write: OpId) -> (Option<NodeId>, Vec<NodeId>) {
    let uses = &values.ops[&write].uses;
    match &values.code[&write].kind {
        OpKind::Insert { .. } => (None, uses.iter().map(|(_, n)| *n).collect()),
        _ => (Some(uses[0].1), uses[1..].iter().map(|(_, n)| *n).collect()),
    }
}

/// The read that found the row of a write, if it is one read alone.
fn read_of(values: &Values<'_>, write: OpId) -> Option<usize> {
    let (row, _) = row_and_values(values, write);
    match values.nodes[row?].kind {
        NodeKind::Read { read, column: None } => Some(read),
        _ => None,
    }
}

impl<'v, 'p> Shape<'v, 'p> {
    /// Every update and delete, in program order.
    pub fn changes(&self) -> Vec<OpId> {
        self.writes_where(|k| matches!(k, OpKind::Update { .. } | OpKind::Delete { .. }))
    }

    fn writes_where(&self, wanted: impl Fn(&OpKind) -> bool) -> Vec<OpId> {
        let reached = |op: &&OpId| self.values.code.contains_key(op);
        self.values
            .ops
            .keys()
            .filter(reached)
            .copied()
            .filter(|op| wanted(&self.values.code[op].kind))
            .collect()
    }

    /// Whether only branches stand between the block and the operation.
    fn only_branches(&self, block: usize, op: OpId) -> bool {
        let Some(top) = self.values.top_in(block, op) else { return false };
        let path = &self.values.ops[&op].path;
        let inside = path.iter().skip_while(|o| **o != top);
        inside.clone().all(|o| matches!(self.values.code[o].kind, OpKind::If { .. }))
    }

    /// Whether control cannot leave between two positions of a block.
    fn no_escape(&self, block: usize, first: OpId, last: OpId) -> bool {
        let (a, b) = (self.values.ops[&first].position, self.values.ops[&last].position);
        let tops = &self.values.blocks[block][a..=b];
        !self.values.escapes.iter().any(|(op, target)| {
            let inside = tops.iter().any(|top| self.values.within(*op, *top));
            let stays = target.is_some_and(|t| tops.iter().any(|top| self.values.within(t, *top)));
            inside && !stays
        })
    }

    /// Whether a read may lead the piece of a write: by primary key, only branches around the write, no
    /// way out beside it.
    pub fn may_anchor(&self, read: usize, write: OpId) -> bool {
        let r = &self.values.reads[read];
        let code = &self.values.code[&r.op].kind;
        let block = self.values.ops[&r.op].block;
        match code {
            OpKind::Get { .. } => {
                r.index == Some(IndexId::PRIMARY)
                    && self.only_branches(block, write)
                    && self.values.top_in(block, write).is_some_and(|top| self.no_escape(block, top, top))
            }
            OpKind::Scan { range, body, .. } => {
                let inner = body.0.first().map(|op| self.values.ops.get(&op.id).map(|i| i.block));
                let Some(Some(inner)) = inner else { return false };
                let own = |op: &OpId| read_of(self.values, *op) == Some(read) && !self.detached.contains(op);
                let mut alone = true;
                body.visit(&mut |op| {
                    if is_effect(&op.kind) {
                        let change = matches!(op.kind, OpKind::Update { .. } | OpKind::Delete { .. });
                        alone &= change && self.values.reached(op.id) && own(&op.id);
                    }
                });
                r.index == Some(IndexId::PRIMARY)
                    && !range.prefix.is_empty()
                    && alone
                    && self.only_branches(inner, write)
                    && self.no_escape(block, r.op, r.op)
            }
            _ => false,
        }
    }

    /// Pairs of reads that might be one piece: point reads of one table by one key.
    pub fn pairs(&self) -> Vec<(usize, usize)> {
        let mut out = Vec::new();
        let keys = |read: usize| -> Vec<usize> {
            let uses = &self.values.ops[&self.values.reads[read].op].uses;
            uses.iter().map(|(_, n)| self.values.nodes[*n].number).collect()
        };
        let point = |read: usize| {
            let r = &self.values.reads[read];
            r.index == Some(IndexId::PRIMARY) && matches!(self.values.code[&r.op].kind, OpKind::Get { .. })
        };
        for b in 0..self.values.reads.len() {
            for a in 0..b {
                let (first, second) = (&self.values.reads[a], &self.values.reads[b]);
                let block = self.values.ops[&first.op].block;
                if first.table == second.table
                    && point(a)
                    && point(b)
                    && keys(a) == keys(b)
                    && self.only_branches(block, second.op)
                {
                    out.push((a, b));
                }
            }
        }
        out
    }

    /// Inserts that a piece could hand over: into a table that the procedure does not write otherwise,
    /// made later than the piece's (so that what flows from table to table never flows in a circle,
    /// whatever the procedures).
    pub fn hostable(&self, division: &Division) -> Vec<(OpId, usize)> {
        let mut out = Vec::new();
        for insert in self.writes_where(|k| matches!(k, OpKind::Insert { .. })) {
            let table = self.values.code[&insert].kind.table();
            let all = self.writes_where(OpKind::is_write);
            if all.iter().filter(|w| self.values.code[*w].kind.table() == table).count() > 1 {
                continue;
            }
            for draft in division.drafts.iter().filter(|d| !d.scan && Some(d.table) < table) {
                let Some(leader) = draft.reads.first() else { continue };
                let read = self.values.reads[*leader].op;
                let top = self.values.top_in(draft.block, insert);
                if top.is_some_and(|top| self.values.ops[&top].position > self.values.ops[&read].position)
                    && self.only_branches(draft.block, insert)
                {
                    out.push((insert, *leader));
                }
            }
        }
        out
    }

    /// The pieces; an error where a write's row cannot be named.
    fn drafts(&self) -> Vec<Draft> {
        let mut drafts: Vec<Draft> = Vec::new();
        let mut by_read: BTreeMap<usize, usize> = BTreeMap::new();
        let leader = |read: usize| {
            self.joined.iter().find(|(_, all)| all.contains(&read)).map_or(read, |(leader, _)| *leader)
        };
        for write in self.writes_where(|k| {
            matches!(k, OpKind::Insert { .. } | OpKind::Update { .. } | OpKind::Delete { .. })
        }) {
            let op = self.values.code[&write];
            let table = op.kind.table().expect("a write has a table");
            let info = &self.values.ops[&write];
            let key_columns = self.facts.table(table).map(|t| t.key.clone()).unwrap_or_default();
            let draft = |key: Vec<NodeId>| Draft {
                reads: vec![],
                writes: vec![write],
                table,
                key,
                scan: false,
                block: info.block,
                hosts: vec![],
                hosted: self.hosted.contains_key(&write),
                found: None,
            };
            if let OpKind::Insert { .. } = op.kind {
                let key = key_columns.iter().map(|c| info.uses[c.index()].1).collect();
                drafts.push(draft(key));
                continue;
            }
            let read = read_of(self.values, write);
            let read = read.map(|r| (r, leader(r)));
            match read {
                Some((_, leader)) if !self.detached.contains(&write) => {
                    if let Some(at) = by_read.get(&leader) {
                        drafts[*at].writes.push(write);
                        continue;
                    }
                    let r = &self.values.reads[leader];
                    let uses = &self.values.ops[&r.op].uses;
                    let (count, scan) = match &self.values.code[&r.op].kind {
                        OpKind::Scan { range, .. } => (range.prefix.len(), true),
                        _ => (key_columns.len(), false),
                    };
                    let key = uses[..count].iter().map(|(_, n)| *n).collect();
                    let mut reads = vec![leader];
                    reads.extend(self.joined.get(&leader).into_iter().flatten().filter(|r| **r != leader));
                    by_read.insert(leader, drafts.len());
                    let block = self.values.ops[&r.op].block;
                    let hosts = self.hosted.iter().filter(|(_, l)| **l == leader).map(|(i, _)| *i).collect();
                    drafts.push(Draft {
                        reads,
                        writes: vec![write],
                        table,
                        key,
                        scan,
                        block,
                        hosts,
                        hosted: false,
                        found: None,
                    });
                }
                _ => {
                    // Found again by its key: the one it was read by, or the one loaded before the write.
                    let key = self.key_of(write, read.map(|(r, _)| r), &key_columns);
                    let same = |w: &&OpId| self.values.code[*w].kind.table() == Some(table);
                    let alone = self.writes_where(OpKind::is_write).iter().filter(same).count() == 1;
                    let found = read.map(|(r, _)| r).filter(|_| alone);
                    drafts.push(Draft { found, ..draft(key) });
                }
            }
        }
        drafts
    }

    fn key_of(&self, write: OpId, read: Option<usize>, columns: &[ColumnId]) -> Vec<NodeId> {
        if let Some(read) = read
            && names_key(self.values, read)
        {
            let uses = &self.values.ops[&self.values.reads[read].op].uses;
            return uses.iter().map(|(_, n)| *n).collect();
        }
        // The `Load` and `Keep` put in right before it.
        let info = &self.values.ops[&write];
        let load = self.values.blocks[info.block][info.position - 2];
        let defs = &self.values.ops[&load].defs;
        let find = |column: &ColumnId| {
            let is = |n: &&NodeId| matches!(&self.values.nodes[**n].kind, NodeKind::Read { column: Some(c), .. } if c == column);
            *defs.iter().find(is).expect("the key was loaded")
        };
        columns.iter().map(find).collect()
    }

    /// The division with the joins and anchors as they are.
    pub fn divide(&self) -> Result<Division, Refused> {
        let drafts = self.drafts();
        // A piece is handed over behind its last write; nobody may leave after the first.
        for draft in drafts.iter().filter(|d| d.writes.len() + d.hosts.len() > 1) {
            if !draft.hosts.is_empty() {
                let tops = draft.writes.iter().chain(&draft.hosts);
                let mut tops: Vec<OpId> = tops.filter_map(|w| self.values.top_in(draft.block, *w)).collect();
                tops.sort_by_key(|t| self.values.ops[t].position);
                let (first, last) = (tops[0], tops[tops.len() - 1]);
                if !self.no_escape(draft.block, first, last) {
                    return Err(Refused::Never);
                }
            }
            let tops: Vec<OpId> =
                draft.writes.iter().filter_map(|w| self.values.top_in(draft.block, *w)).collect();
            if let [first, .., last] = tops[..]
                && !self.no_escape(draft.block, first, last)
            {
                return Err(Refused::Detach(draft.writes[1..].to_vec()));
            }
        }
        let mut sinks: BTreeSet<NodeId> = BTreeSet::new();
        let mut division = Division {
            closures: vec![Closure::default(); drafts.len()],
            drafts,
            kept: BTreeSet::new(),
            planned_reads: BTreeSet::new(),
            unknown: Vec::new(),
            cost: 0,
        };
        loop {
            division.unknown = self.unknown(&division);
            let found = self.sinks(&mut division);
            let before = sinks.len();
            sinks.extend(found.iter().filter(|n| division.unknown[**n] != 0));
            if sinks.len() == before {
                break;
            }
            self.cut(&mut division, &sinks)?;
        }
        for (draft, closure) in division.drafts.iter().zip(&mut division.closures).filter(|(d, _)| !d.hosted)
        {
            self.trim(draft, &division.unknown, closure);
        }
        // A value logged inside a scan that is a piece makes the scan one that the log drives.
        for draft in division.drafts.iter().filter(|d| d.scan) {
            let scan = self.values.reads[draft.reads[0]].op;
            let inside = |op: OpId| self.values.within(op, scan);
            let kept = division.kept.iter().any(|n| {
                let node = &self.values.nodes[*n];
                node.op.is_some_and(inside) && !(node.op == Some(scan) && node.place == Place::After)
            });
            let read = division.planned_reads.iter().any(|r| inside(self.values.reads[*r].op));
            if kept || read {
                return Err(Refused::Detach(draft.writes.clone()));
            }
        }
        match crossed(self.values, self.program, &division) {
            // By construction; but to ask for the same again would be for ever.
            Some(writes) if writes.iter().all(|w| self.detached.contains(w)) => Err(Refused::Never),
            Some(writes) => Err(Refused::Detach(writes)),
            None => Ok(division),
        }
    }

    fn unknown(&self, division: &Division) -> Vec<Reads> {
        let nodes = &self.values.nodes;
        let mut unknown: Vec<Reads> = vec![0; nodes.len()];
        loop {
            let mut changed = false;
            for (id, node) in nodes.iter().enumerate() {
                let new = match node.kind {
                    _ if division.kept.contains(&id) => 0,
                    NodeKind::Source { read } => 1 << read,
                    NodeKind::Stable { read } if division.planned_reads.contains(&read) => 0,
                    NodeKind::Stable { read } => 1 << read,
                    _ => node.inputs.iter().fold(0, |all, n| all | unknown[*n]),
                };
                changed |= new != unknown[id];
                unknown[id] = new;
            }
            if !changed {
                return unknown;
            }
        }
    }

    /// The deciding values around an operation that are not inside the piece.
    fn controls(&self, op: OpId, into: &mut BTreeSet<NodeId>) {
        into.extend(self.values.ops[&op].controls.iter().map(|(_, n)| *n));
    }

    fn sinks(&self, division: &mut Division) -> BTreeSet<NodeId> {
        let mut sinks = BTreeSet::new();
        for (i, draft) in division.drafts.iter().enumerate() {
            if draft.hosted {
                let (_, values) = row_and_values(self.values, draft.writes[0]);
                let constant = |n: &NodeId| self.values.nodes[*n].kind == NodeKind::Const;
                let (members, operands) = values.into_iter().partition(constant);
                division.closures[i] = Closure { members, operands, ..Closure::default() };
                continue;
            }
            sinks.extend(&draft.key);
            let first = draft.reads.first().map_or(draft.writes[0], |r| self.values.reads[*r].op);
            self.controls(first, &mut sinks);
            let closure = self.closure(draft, &division.unknown);
            sinks.extend(&closure.sinks);
            division.closures[i] = closure;
        }
        for (id, op) in &self.values.code {
            if matches!(op.kind, OpKind::Draw { .. } | OpKind::NextValue { .. } | OpKind::CurrentValue { .. })
            {
                self.controls(*id, &mut sinks);
            }
        }
        for (escape, target) in &self.values.escapes {
            // A region that takes from the log when it is planned must turn as often as it did.
            let takes = |t: OpId| {
                let inside = |n: &NodeId| {
                    let node = &self.values.nodes[*n];
                    let op = node.op.expect("only values of operations are kept");
                    self.values.within(op, t) && !(op == t && node.place == Place::After)
                };
                division.kept.iter().any(inside)
            };
            let in_effect = target.is_none_or(|t| {
                let mut found = takes(t);
                self.values.code[&t].kind.blocks(&mut |b| found |= has_effect(b));
                found
            });
            if in_effect {
                let controls = &self.values.ops[escape].controls;
                let inside = |op: &OpId| target.is_none_or(|t| self.values.within(*op, t));
                sinks.extend(controls.iter().filter(|(op, _)| inside(op)).map(|(_, n)| *n));
            }
        }
        for kept in &division.kept {
            let node = &self.values.nodes[*kept];
            self.controls(node.op.expect("only values of operations are kept"), &mut sinks);
        }
        for read in &division.planned_reads {
            self.controls(self.values.reads[*read].op, &mut sinks);
        }
        sinks
    }

    fn cut(&self, division: &mut Division, sinks: &BTreeSet<NodeId>) -> Result<(), Refused> {
        let nodes = &self.values.nodes;
        let prices: Vec<u64> = (0..nodes.len()).map(|n| self.price(n, division)).collect();
        let inputs: Vec<Vec<usize>> = nodes.iter().map(|n| n.inputs.clone()).collect();
        let source = |n: &NodeId| matches!(nodes[*n].kind, NodeKind::Source { .. } | NodeKind::Stable { .. });
        let sources: Vec<NodeId> = (0..nodes.len()).filter(source).collect();
        let sinks: Vec<NodeId> = sinks.iter().copied().collect();
        let Some((cut, cost)) = cut::minimum(&prices, &inputs, &sources, &sinks) else {
            return Err(Refused::Never);
        };
        division.cost = cost;
        division.kept.clear();
        division.planned_reads.clear();
        for node in cut {
            match nodes[node].kind {
                NodeKind::Stable { read } => {
                    division.planned_reads.insert(read);
                }
                _ => {
                    division.kept.insert(node);
                }
            }
        }
        Ok(())
    }

    /// Bytes in the log, or the like of them for a read during replay, times the turns expected.
    fn price(&self, node: NodeId, division: &Division) -> u64 {
        const TURNS: u64 = 10;
        let n = &self.values.nodes[node];
        let times = |depth: u32| TURNS.pow(depth.min(4));
        match n.kind {
            NodeKind::Source { .. }
            | NodeKind::Rows
            | NodeKind::Handle
            | NodeKind::Known
            | NodeKind::Const => cut::NEVER,
            NodeKind::Stable { read } => {
                let r = &self.values.reads[read];
                let scan = matches!(self.values.code[&r.op].kind, OpKind::Scan { .. });
                let primary = r.index.is_none_or(|i| i == IndexId::PRIMARY);
                let price = if primary { READ_PRICE } else { SEARCH_PRICE };
                times(n.depth + u32::from(scan)) * price
            }
            NodeKind::Turn => {
                let op = n.op.expect("a turn is of a loop");
                let leads = |d: &Draft| d.scan && self.values.reads[d.reads[0]].op == op;
                if division.drafts.iter().any(leads) { cut::NEVER } else { times(n.depth + 1) }
            }
            _ if matches!(n.place, Place::Head | Place::Start) => cut::NEVER,
            _ => {
                let Some(reg) = n.reg.filter(|r| !is_row(self.program, *r)) else { return cut::NEVER };
                let RegKind::Value(ty) = self.program.kind_of(reg) else { return cut::NEVER };
                times(n.depth) * bytes(ty)
            }
        }
    }

    /// What a piece computes itself and what it takes in, as far as `unknown` says what is known.
    fn closure(&self, draft: &Draft, unknown: &[Reads]) -> Closure {
        let mut own: Reads = 0;
        for read in draft.reads.iter().chain(&draft.found) {
            own |= 1 << read;
        }
        let mut c = Closure::default();
        let mut seen = BTreeSet::new();
        let mut work: Vec<NodeId> = Vec::new();
        for write in draft.writes.iter().chain(&draft.hosts) {
            work.extend(row_and_values(self.values, *write).1);
        }
        let first = draft.reads.first().map(|r| self.values.reads[*r].op);
        let reads = draft.reads.iter().map(|r| self.values.reads[*r].op);
        for op in draft.writes.iter().chain(&draft.hosts).copied().chain(reads) {
            let outer =
                first.map_or(self.values.ops[&op].controls.len(), |f| self.values.ops[&f].controls.len());
            let inner = self.values.ops[&op].controls.iter().skip(outer);
            // The turn of the scan that leads the piece is its own.
            work.extend(inner.filter(|(o, _)| Some(*o) != first).map(|(_, n)| *n));
        }
        if draft.scan {
            let uses = &self.values.ops[&first.expect("a scan leads")].uses;
            work.extend(uses.iter().map(|(_, n)| *n));
        }
        while let Some(n) = work.pop() {
            if !seen.insert(n) {
                continue;
            }
            let node = &self.values.nodes[n];
            if node.kind == NodeKind::Const {
                c.members.insert(n);
            } else if unknown[n] == 0 {
                self.take(draft, n, unknown, &mut c, &mut work);
            } else if unknown[n] & own == 0 {
                c.sinks.insert(n);
            } else if self.member(draft, n) {
                c.members.insert(n);
                work.extend(self.ingredients(n));
            } else {
                c.sinks.insert(n);
            }
        }
        c
    }

    /// What is needed to compute a value inside a piece.
    fn ingredients(&self, n: NodeId) -> Vec<NodeId> {
        let node = &self.values.nodes[n];
        match (node.place, &node.kind) {
            (_, NodeKind::Read { .. }) => vec![],
            (Place::Join { then, otherwise }, _) => {
                let op = node.op.expect("a join is of an operation");
                vec![then, otherwise, self.values.ops[&op].uses[0].1]
            }
            _ => node.inputs.clone(),
        }
    }

    /// A known value: taken in, or, where replay cannot know whether it is computed, computed inside.
    fn take(&self, draft: &Draft, n: NodeId, unknown: &[Reads], c: &mut Closure, work: &mut Vec<NodeId>) {
        let doubt = self.doubts(n, unknown);
        if doubt.is_empty() || self.can_hoist(n, unknown) {
            c.operands.insert(n);
        } else if self.member(draft, n) {
            c.members.insert(n);
            work.extend(self.ingredients(n));
        } else {
            c.sinks.extend(doubt);
        }
    }

    /// Deciding values around a value's place that replay does not know.
    fn doubts(&self, n: NodeId, unknown: &[Reads]) -> Vec<NodeId> {
        let node = &self.values.nodes[n];
        let Some(op) = node.op else { return vec![] };
        let controls = self.values.ops[&op].controls.iter().map(|(_, n)| *n);
        controls.filter(|n| unknown[*n] != 0).collect()
    }

    /// Whether a value under an undecided branch can be computed before it: only functions that never
    /// raise, of values known there.
    pub fn can_hoist(&self, n: NodeId, unknown: &[Reads]) -> bool {
        let node = &self.values.nodes[n];
        self.doubts(n, unknown).is_empty()
            || node.kind == NodeKind::Const
            || (node.kind == NodeKind::Pure { total: true }
                && matches!(node.op.map(|op| &self.values.code[&op].kind), Some(OpKind::Apply { .. }))
                && self.only_under_branches(n)
                && node.inputs.iter().all(|i| self.can_hoist(*i, unknown)))
    }

    fn only_under_branches(&self, n: NodeId) -> bool {
        // Undecided loops are dropped whole; nothing comes out of them.
        let op = self.values.nodes[n].op.expect("a pure value has an operation");
        let controls = &self.values.ops[&op].controls;
        controls.iter().all(|(o, _)| {
            matches!(
                self.values.code[o].kind,
                OpKind::If { .. } | OpKind::Scan { .. } | OpKind::ForEach { .. } | OpKind::ForMatches { .. }
            )
        })
    }

    /// Whether a piece can compute a value itself.
    fn member(&self, draft: &Draft, n: NodeId) -> bool {
        let node = &self.values.nodes[n];
        let Some(op) = node.op else { return false };
        let Some(first) = draft.reads.first().map(|r| self.values.reads[*r].op) else {
            // Computed whenever the write is made, from what the row has.
            let around = &self.values.ops[&draft.writes[0]].controls;
            let kind = match &node.kind {
                NodeKind::Read { read, column } => draft.found == Some(*read) && column.is_some(),
                NodeKind::Pure { .. } => {
                    matches!(self.values.code[&op].kind, OpKind::Apply { .. } | OpKind::Cast { .. })
                }
                _ => false,
            };
            return kind
                && draft.found.is_some()
                && self.values.ops[&op].controls.iter().all(|c| around.contains(c));
        };
        let inside = if draft.scan {
            // Of the scan itself only what it reads, not what it leaves behind.
            op == first || self.values.within(op, first) && self.branches_below(first, op)
        } else {
            self.only_branches(draft.block, op)
                && self
                    .values
                    .top_in(draft.block, op)
                    .is_some_and(|top| self.values.ops[&top].position >= self.values.ops[&first].position)
        };
        let kind = match &node.kind {
            NodeKind::Read { read, .. } => draft.reads.contains(read),
            NodeKind::Pure { .. } => matches!(
                self.values.code[&op].kind,
                OpKind::Apply { .. } | OpKind::Cast { .. } | OpKind::Call { .. }
            ),
            NodeKind::Phi => matches!(node.place, Place::Join { .. }) && op != first,
            _ => false,
        };
        inside && kind
    }

    /// Makes what a piece takes in smaller: equal values once, and what follows from the others is computed
    /// inside.
    fn trim(&self, draft: &Draft, unknown: &[Reads], c: &mut Closure) {
        let nodes = &self.values.nodes;
        let mut equal: BTreeMap<usize, NodeId> = BTreeMap::new();
        for n in draft.key.iter().chain(&c.operands) {
            if draft.key.contains(n) || self.always(draft, *n, unknown) {
                equal.entry(nodes[*n].number).or_insert(*n);
            }
        }
        for n in c.operands.clone() {
            if let Some(first) = equal.get(&nodes[n].number).filter(|first| **first != n) {
                c.same.insert(n, *first);
                c.operands.remove(&n);
            }
        }
        if draft.reads.is_empty() {
            return;
        }
        loop {
            // What each operand would need besides the others.
            let mut wanted: BTreeMap<NodeId, u32> = BTreeMap::new();
            let mut free = None;
            for n in c.operands.iter().filter(|n| !draft.key.contains(n)) {
                let mut missing = BTreeSet::new();
                if self.follows(draft, *n, *n, c, &mut missing) {
                    match missing.len() {
                        0 => free = Some(*n),
                        1 => *wanted.entry(missing.into_iter().next().expect("one")).or_default() += 1,
                        _ => {}
                    }
                }
            }
            if let Some(n) = free {
                c.operands.remove(&n);
                let mut work = vec![n];
                while let Some(n) = work.pop() {
                    let known = c.operands.contains(&n) || draft.key.contains(&n) || c.same.contains_key(&n);
                    if !known && c.members.insert(n) {
                        work.extend(&nodes[n].inputs);
                    }
                }
                continue;
            }
            let small = |n: &NodeId| {
                let ty = nodes[*n].reg.and_then(|r| self.program.type_of(r));
                ty.is_some_and(|ty| bytes(ty) < 10) && self.always(draft, *n, unknown)
            };
            match wanted
                .into_iter()
                .filter(|(n, count)| *count > 1 && small(n))
                .max_by_key(|(_, count)| *count)
            {
                Some((n, _)) => c.operands.insert(n),
                None => return,
            };
        }
    }

    /// Whether a value is computed whenever the piece is handed over.
    fn always(&self, draft: &Draft, n: NodeId, unknown: &[Reads]) -> bool {
        let Some(op) = self.values.nodes[n].op else { return true };
        let first = draft.reads.first().map_or(draft.writes[0], |r| self.values.reads[*r].op);
        let around = &self.values.ops[&first].controls;
        let own = &self.values.ops[&op].controls;
        own.iter().take_while(|(_, c)| unknown[*c] == 0).all(|c| around.contains(c))
    }

    /// Whether an operand can be computed inside by functions that never raise; `missing` are the values
    /// that the piece would have to take in for it.
    fn follows(
        &self,
        draft: &Draft,
        n: NodeId,
        of: NodeId,
        c: &Closure,
        missing: &mut BTreeSet<NodeId>,
    ) -> bool {
        let node = &self.values.nodes[n];
        let has = |n: &NodeId| {
            *n != of
                && (c.operands.contains(n)
                    || c.members.contains(n)
                    || draft.key.contains(n)
                    || c.same.contains_key(n))
        };
        if has(&n) || node.kind == NodeKind::Const {
            return true;
        }
        let apply = node.op.is_some_and(|op| {
            let first = draft.reads.first().map(|r| self.values.reads[*r].op);
            let outer = first.map_or(0, |f| self.values.ops[&f].controls.len());
            matches!(self.values.code[&op].kind, OpKind::Apply { .. })
                && self.values.ops[&op].controls.iter().skip(outer).all(|(_, n)| has(n))
        });
        let array = |n: &NodeId| {
            let ty = self.values.nodes[*n].reg.and_then(|r| self.program.type_of(r));
            ty.is_some_and(|ty| ty.class() == TypeClass::Array)
        };
        if apply
            && node.kind == (NodeKind::Pure { total: true })
            && self.member(draft, n)
            && !node.inputs.iter().any(array)
        {
            return node.inputs.iter().all(|i| self.follows(draft, *i, of, c, missing));
        }
        missing.insert(n);
        n != of
    }

    fn branches_below(&self, scan: OpId, op: OpId) -> bool {
        let path = &self.values.ops[&op].path;
        path.iter()
            .skip_while(|o| **o != scan)
            .skip(1)
            .all(|o| matches!(self.values.code[o].kind, OpKind::If { .. }))
    }
}

/// Why a division is not possible so.
pub enum Refused {
    /// These writes cannot stay with the scan that found their rows.
    Detach(Vec<OpId>),
    /// No set of logged values will do.
    Never,
}

impl Refused {
    /// For a procedure that cannot be planned.
    pub fn reason(&self) -> Unplannable {
        Unplannable("What it writes depends on reads in a way that logged values cannot stand for.".into())
    }
}

/// Whether a read by full primary key names the key of the row it finds.
pub fn names_key(values: &Values<'_>, read: usize) -> bool {
    let r = &values.reads[read];
    r.index == Some(IndexId::PRIMARY) && matches!(values.code[&r.op].kind, OpKind::Get { .. })
}

/// Price of reading a row by primary key during replay, in bytes of log.
const READ_PRICE: u64 = 2;
/// The same by another index: the row lies anywhere, and keys are mostly longer.
const SEARCH_PRICE: u64 = 12;

/// Bytes that a value of the type takes in the log, about.
fn bytes(ty: &Type) -> u64 {
    match ty {
        Type::Bool => 1,
        Type::Int2 => 2,
        Type::Int4 | Type::Enum(_) => 3,
        Type::Int8 | Type::Date | Type::Numeric(_) => 4,
        Type::Varchar(Some(n)) | Type::Char(n) => 2 + u64::from(*n) / 2,
        _ => match ty.class() {
            TypeClass::Text
            | TypeClass::Citext
            | TypeClass::Bytea
            | TypeClass::Json
            | TypeClass::Range
            | TypeClass::Array => 64,
            TypeClass::Uuid => 17,
            _ => 9,
        },
    }
}

/// The read behind a write's row, for those who put loads in.
pub fn read_behind(values: &Values<'_>, write: OpId) -> Option<usize> {
    read_of(values, write)
}
