//! The value graph of a program: which value comes from which.
//!
//! A node is a value of a register between two writes: what an operation wrote, or the meeting of
//! several at the end of a branch, at the head of a loop or behind it (the φ of static single
//! assignment; over structured regions every φ has its place at a region). Copies make no node. What
//! decided a branch, or how often a loop turned, is an input of the φ. It is a view of [`Flow`], whose definitions these are.
//!
//! Nodes that must be equal have one *value number*: equal constants, and the same pure function of
//! equal values.

use super::Unplannable;
use super::facts::Facts;
use crate::flow::{self, At, DefId, Flow, Paths, Step, Var, is_loop};
use planaria_base::{ColumnId, IndexId, ProcedureId, TableId};
use planaria_ir::{Coll, Op, OpId, OpKind, Program, Reg, RegKind};
use std::collections::{BTreeMap, BTreeSet};

/// A value.
pub type NodeId = usize;

/// Where a value comes to be, at its operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Before everything.
    Start,
    /// Written by the operation.
    Def,
    /// At the end of an `If`: the values of both branches.
    Join { then: NodeId, otherwise: NodeId },
    /// At the start of each turn.
    Head,
    /// Behind the region.
    After,
}

/// What kind of value.
#[derive(Clone, PartialEq, Debug)]
pub enum NodeKind {
    /// Known when the log is read: a parameter, NULL at the start, an input drawn from outside.
    Known,
    /// A constant.
    Const,
    /// A pure function of the inputs; whether it can never raise.
    Pure { total: bool },
    /// What a read found; the row handle if there is no column.
    Read { read: usize, column: Option<ColumnId> },
    /// What a read op depends on that transactions change.
    Source { read: usize },
    /// What a read op depends on that no procedure changes: replay may read it out of order.
    Stable { read: usize },
    /// Whether a scan or a loop over a collection takes another turn.
    Turn,
    /// A φ.
    Phi,
    /// The rows of a collection.
    Rows,
    /// A row handle of an inserted row, and other values that mean nothing outside the transaction.
    Handle,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Node {
    /// The register that holds it right after its place.
    pub reg: Option<Reg>,
    /// The operation it comes to be at.
    pub op: Option<OpId>,
    /// Where there.
    pub place: Place,
    /// What kind.
    pub kind: NodeKind,
    /// What it is made of.
    pub inputs: Vec<NodeId>,
    /// Equal numbers: equal values.
    pub number: usize,
    /// Loops around it.
    pub depth: u32,
}

/// An operation that reads a table.
#[derive(Clone, Debug)]
pub struct Read {
    /// The operation.
    pub op: OpId,
    /// Its table.
    pub table: TableId,
    /// Its index; none for `Load`.
    pub index: Option<IndexId>,
}

/// What is known of an operation.
#[derive(Clone, Debug, Default)]
pub struct OpInfo {
    /// Operations around it, outermost first.
    pub path: Vec<OpId>,
    /// The block it stands in, and its position there.
    pub block: usize,
    /// See `block`.
    pub position: usize,
    /// For each around it that decides whether it runs (`If`, `Scan`, loops over collections), the
    /// deciding value.
    pub controls: Vec<(OpId, NodeId)>,
    /// The registers it reads, with their values.
    pub uses: Vec<(Reg, NodeId)>,
    /// The values it makes, at whatever place.
    pub defs: Vec<NodeId>,
    /// Loops around it.
    pub depth: u32,
}

/// See the module's head.
pub struct Values<'p> {
    /// Nodes.
    pub nodes: Vec<Node>,
    /// Reads, in program order.
    pub reads: Vec<Read>,
    /// Operations.
    pub ops: BTreeMap<OpId, OpInfo>,
    /// The operations themselves.
    pub code: BTreeMap<OpId, &'p Op>,
    /// Exits, continues and returns: the operation whose region they leave or repeat (`None`: the program).
    pub escapes: Vec<(OpId, Option<OpId>)>,
    /// Blocks: their operations.
    pub blocks: Vec<Vec<OpId>>,
    numbers: BTreeMap<String, usize>,
}

/// Makes values of definitions.
struct Builder<'p, 'f> {
    values: Values<'p>,
    flow: Flow<'p>,
    program: &'p Program,
    facts: &'f Facts,
    pure: &'f dyn Fn(ProcedureId) -> bool,
    /// Tables that the program itself puts rows into.
    fills: BTreeSet<TableId>,
    /// By definition: its value.
    of: Vec<NodeId>,
    /// By operation: the read that it is, and whether it takes another turn.
    reads: BTreeMap<At, usize>,
    turns: BTreeMap<At, NodeId>,
    /// By region that has ended: what decided about its exits and continues, and whether it takes another turn.
    decided: BTreeMap<At, Vec<NodeId>>,
    colls: Vec<NodeId>,
}

impl<'p> Values<'p> {
    /// Builds the graph of a program whose operations are numbered. `pure` tells whether a callee
    /// reads and writes nothing and draws nothing.
    pub fn of(
        program: &'p Program,
        facts: &Facts,
        pure: &dyn Fn(ProcedureId) -> bool,
        formerly: bool,
    ) -> Result<Values<'p>, Unplannable> {
        planaria_base::stack::check().map_err(|_| Unplannable("It nests too deeply.".into()))?;
        let values = Values {
            nodes: Vec::new(),
            reads: Vec::new(),
            ops: BTreeMap::new(),
            code: BTreeMap::new(),
            escapes: Vec::new(),
            blocks: Vec::new(),
            numbers: BTreeMap::new(),
        };
        let flow = Flow::of(program, Paths::Taken);
        let of = vec![NodeId::MAX; flow.defs.len()];
        let mut fills = BTreeSet::new();
        program.body.visit(&mut |op| {
            if let OpKind::Insert { table, .. } = &op.kind
                && !formerly
            {
                fills.insert(*table);
            }
        });
        let mut b = Builder {
            values,
            flow,
            program,
            facts,
            pure,
            fills,
            of,
            reads: BTreeMap::new(),
            turns: BTreeMap::new(),
            decided: BTreeMap::new(),
            colls: Vec::new(),
        };
        for block in &b.flow.blocks {
            b.values.blocks.push(block.iter().map(|at| b.flow.ops[*at as usize].id).collect());
        }
        for step in std::mem::take(&mut b.flow.steps) {
            match step {
                Step::Op(at) => b.op(at)?,
                Step::Def(def) => b.define(def),
                Step::Handlers(_) | Step::End(_) => {}
            }
        }
        b.close();
        Ok(b.values)
    }

    /// Whether `op` is `around` or stands inside it.
    pub fn within(&self, op: OpId, around: OpId) -> bool {
        op == around || self.ops[&op].path.contains(&around)
    }

    /// The operation of this block that is `op` or has it inside.
    pub fn top_in(&self, block: usize, op: OpId) -> Option<OpId> {
        let info = &self.ops[&op];
        info.path.iter().copied().chain([op]).find(|o| self.ops[o].block == block)
    }

    /// Whether the operation is reached at all.
    pub fn reached(&self, op: OpId) -> bool {
        self.ops.contains_key(&op)
    }
}

impl<'p> Builder<'p, '_> {
    fn node(
        &mut self,
        (reg, at): (Option<Reg>, Option<At>),
        (place, depth): (Place, u32),
        kind: NodeKind,
        inputs: Vec<NodeId>,
        key: Option<String>,
    ) -> NodeId {
        let id = self.values.nodes.len();
        let number = match key {
            Some(key) => *self.values.numbers.entry(key).or_insert(id),
            None => id,
        };
        let op = at.map(|at| self.flow.ops[at as usize].id);
        self.values.nodes.push(Node { reg, op, place, kind, inputs, number, depth });
        if let Some(op) = op {
            self.values.ops.entry(op).or_default().defs.push(id);
        }
        id
    }

    /// A node of an operation that no register holds.
    fn beside(&mut self, at: At, kind: NodeKind, inputs: Vec<NodeId>) -> NodeId {
        let depth = self.flow.depth[at as usize];
        self.node((None, Some(at)), (Place::Def, depth), kind, inputs, None)
    }

    /// The values that an operation reads.
    fn inputs(&self, at: At) -> Vec<NodeId> {
        self.flow.uses[at as usize].iter().map(|(_, def)| self.of[*def]).collect()
    }

    /// For each operation from `region` to this one that decides whether it runs: the deciding value. All around it, without
    /// a region.
    fn controls(&self, at: At, region: Option<At>) -> Vec<(OpId, NodeId)> {
        let mut found = Vec::new();
        for around in self.flow.around(at) {
            let op = self.flow.ops[around as usize];
            let decides = match op.kind {
                OpKind::If { .. } => self.inputs(around).first().copied(),
                _ => self.turns.get(&around).copied(),
            };
            found.extend(decides.map(|value| (op.id, value)));
            if Some(around) == region {
                break;
            }
        }
        found.reverse();
        found
    }

    /// See the field.
    fn decided(&mut self, region: At) -> Vec<NodeId> {
        if let Some(known) = self.decided.get(&region) {
            return known.clone();
        }
        let of = |e: &&flow::Escape| e.target == Some(region) && self.flow.block[e.at as usize].is_some();
        let escapes = self.flow.escapes_in(region).iter().filter(of);
        let left = escapes.flat_map(|e| self.controls(e.at, Some(region))).map(|(_, value)| value);
        let decided: Vec<NodeId> = left.chain(self.turns.get(&region).copied()).collect();
        self.decided.insert(region, decided.clone());
        decided
    }

    /// An operation is met: what is known of it, and what it makes besides definitions.
    fn op(&mut self, at: At) -> Result<(), Unplannable> {
        let op = self.flow.ops[at as usize];
        let inputs = self.inputs(at);
        self.values.code.insert(op.id, op);
        let mut path: Vec<OpId> = self.flow.around(at).map(|a| self.flow.ops[a as usize].id).collect();
        path.reverse();
        let controls = self.controls(at, None);
        let uses = self.flow.uses[at as usize].iter().map(|(reg, def)| (*reg, self.of[*def])).collect();
        let block = self.flow.block[at as usize].unwrap_or_default();
        let position = self.flow.position[at as usize];
        let info = self.values.ops.entry(op.id).or_default();
        (info.path, info.controls, info.uses) = (path, controls, uses);
        (info.block, info.position, info.depth) = (block, position, self.flow.depth[at as usize]);
        match &op.kind {
            OpKind::CallSet { procedure, into, .. } if (self.pure)(*procedure) => {
                self.change(at, *into, inputs);
            }
            OpKind::Call { procedure, .. } if (self.pure)(*procedure) => {}
            OpKind::Call { .. } | OpKind::CallSet { .. } => {
                return Err(Unplannable("It calls itself, or a function that returns rows it reads.".into()));
            }
            OpKind::Ask { .. } | OpKind::SystemRows { .. } => {
                return Err(Unplannable("It reads the system catalogs.".into()));
            }
            OpKind::Execute { .. } => {
                return Err(Unplannable(
                    "It executes SQL text built at run time, which cannot be analysed in advance.".into(),
                ));
            }
            OpKind::Claim { .. } => {
                return Err(Unplannable("It depends on locks that others hold.".into()));
            }
            OpKind::SetValue { .. } => return Err(Unplannable("It sets a sequence.".into())),
            OpKind::Try { .. } => return Err(Unplannable("It has an exception block.".into())),
            OpKind::Get { table, index, .. } => {
                self.read(at, *table, Some(*index));
            }
            OpKind::Load { table, .. } => {
                self.read(at, *table, None);
            }
            OpKind::Scan { table, index, .. } => {
                let read = self.read(at, *table, Some(*index));
                let mut from = inputs;
                from.push(self.origin(read, None));
                let turn = self.beside(at, NodeKind::Turn, from);
                self.turns.insert(at, turn);
            }
            OpKind::ForEach { .. } | OpKind::ForMatches { .. } => {
                let from = self.looked_up(op, inputs);
                let turn = self.beside(at, NodeKind::Turn, from);
                self.turns.insert(at, turn);
            }
            OpKind::Push { coll, .. }
            | OpKind::Trim { coll, .. }
            | OpKind::Fill { coll, .. }
            | OpKind::MapPut { coll, .. }
            | OpKind::SetEntry { coll, .. } => self.change(at, *coll, inputs),
            OpKind::Exit { .. } | OpKind::Continue { .. } | OpKind::Return => {
                let target = self.flow.target(at).map(|t| self.flow.ops[t as usize].id);
                self.values.escapes.push((op.id, target));
            }
            _ => {}
        }
        Ok(())
    }

    /// A definition is met. Its φ's inputs that are behind it come at the end ([`Builder::close`]).
    fn define(&mut self, def: DefId) {
        let flow::Def { var, at, place, depth, .. } = self.flow.defs[def];
        self.of[def] = match (var, at) {
            // What is in a collection has one value, whatever changed it when.
            (Var::Coll(coll), Some(_)) => self.colls[coll.index()],
            (Var::Coll(_), None) => {
                let node = self.node((None, None), (Place::Start, depth), NodeKind::Rows, vec![], None);
                self.colls.push(node);
                node
            }
            (Var::Reg(reg), None) => {
                self.node((Some(reg), None), (Place::Start, depth), NodeKind::Known, vec![], None)
            }
            (Var::Reg(reg), Some(at)) => match place {
                flow::Place::Start | flow::Place::Def | flow::Place::Caught => self.written(def, reg, at),
                flow::Place::Head => {
                    let inputs = self.flow.defs[def].from.iter().take(1).map(|from| self.of[*from]).collect();
                    self.node((Some(reg), Some(at)), (Place::Head, depth), NodeKind::Phi, inputs, None)
                }
                flow::Place::Join | flow::Place::After => self.met(def, reg, at),
            },
        };
    }

    /// A meeting behind a branch or a region, if different values meet.
    fn met(&mut self, def: DefId, reg: Reg, at: At) -> NodeId {
        let flow::Def { place, depth, from, .. } = &self.flow.defs[def];
        let (place, depth) = (*place, *depth);
        let mut inputs: Vec<NodeId> = from.iter().map(|from| self.of[*from]).collect();
        inputs.dedup();
        match (&inputs[..], place) {
            ([one], _) if !is_loop(self.flow.kind(at)) => *one,
            ([then, otherwise], flow::Place::Join) => {
                let place = Place::Join { then: *then, otherwise: *otherwise };
                inputs.extend(self.inputs(at).first());
                self.node((Some(reg), Some(at)), (place, depth), NodeKind::Phi, inputs, None)
            }
            _ => {
                inputs.extend(self.decided(at));
                self.node((Some(reg), Some(at)), (Place::After, depth), NodeKind::Phi, inputs, None)
            }
        }
    }

    /// The inputs of a loop's heads: what the turns leave, and what decided about them.
    fn close(&mut self) {
        for def in 0..self.flow.defs.len() {
            let of = &self.flow.defs[def];
            let (flow::Place::Head, Var::Reg(_), Some(at)) = (of.place, of.var, of.at) else { continue };
            let mut inputs: Vec<NodeId> = of.from.iter().skip(1).map(|from| self.of[*from]).collect();
            inputs.extend(self.decided(at));
            self.values.nodes[self.of[def]].inputs.extend(inputs);
        }
    }

    /// The value that an operation writes.
    fn written(&mut self, def: DefId, reg: Reg, at: At) -> NodeId {
        let op = self.flow.ops[at as usize];
        let flow::Def { nth, depth, ref from, .. } = self.flow.defs[def];
        let before: Vec<NodeId> = from.iter().map(|from| self.of[*from]).collect();
        let inputs = self.inputs(at);
        let (kind, inputs, key) = match &op.kind {
            OpKind::Copy { .. } => return inputs[0],
            OpKind::Const { value, .. } => {
                let ty = self.program.kind_of(reg);
                (NodeKind::Const, vec![], Some(format!("const {value:?} {ty:?}")))
            }
            OpKind::Apply { func, .. } => {
                let key = self.pure_key(reg, &inputs, &format!("{func:?}"));
                (NodeKind::Pure { total: func.total() }, inputs, Some(key))
            }
            OpKind::Cast { explicit, src, .. } => {
                let ty = (self.program.kind_of(*src), self.program.kind_of(reg));
                let key = self.pure_key(reg, &inputs, &format!("cast {explicit} {ty:?}"));
                (NodeKind::Pure { total: false }, inputs, Some(key))
            }
            OpKind::Draw { .. } | OpKind::NextValue { .. } | OpKind::CurrentValue { .. } => {
                (NodeKind::Known, vec![], None)
            }
            OpKind::Insert { .. } => (NodeKind::Handle, vec![], None),
            // The row comes first.
            OpKind::Get { columns, .. } | OpKind::Scan { columns, .. } => {
                self.found(at, nth.checked_sub(1).map(|nth| columns[nth].0), inputs)
            }
            OpKind::Load { columns, .. } => self.found(at, Some(columns[nth].0), inputs),
            OpKind::Len { .. } | OpKind::MapGet { .. } => {
                let mut inputs = self.looked_up(op, inputs);
                // A map leaves the values alone where there is no such key.
                inputs.extend(before);
                (NodeKind::Pure { total: false }, inputs, None)
            }
            OpKind::ForEach { .. } | OpKind::ForMatches { .. } => {
                (NodeKind::Pure { total: false }, self.looked_up(op, inputs), None)
            }
            _ => (NodeKind::Pure { total: false }, inputs, None),
        };
        self.node((Some(reg), Some(at)), (Place::Def, depth), kind, inputs, key)
    }

    fn pure_key(&self, dst: Reg, inputs: &[NodeId], what: &str) -> String {
        let numbers: Vec<usize> = inputs.iter().map(|n| self.values.nodes[*n].number).collect();
        format!("{what} {numbers:?} {:?}", self.program.kind_of(dst))
    }

    /// Inputs of what is made of a collection's rows.
    fn looked_up(&self, op: &Op, mut inputs: Vec<NodeId>) -> Vec<NodeId> {
        inputs.extend(op.kind.read_collection().map(|coll| self.colls[coll.index()]));
        inputs
    }

    /// A collection changes, under what decided that.
    fn change(&mut self, at: At, coll: Coll, inputs: Vec<NodeId>) {
        let decided = self.controls(at, None).into_iter().map(|(_, value)| value);
        let node = self.colls[coll.index()];
        self.values.nodes[node].inputs.extend(inputs.into_iter().chain(decided));
    }

    fn read(&mut self, at: At, table: TableId, index: Option<IndexId>) -> usize {
        let op = self.flow.ops[at as usize].id;
        self.values.reads.push(Read { op, table, index });
        let read = self.values.reads.len() - 1;
        self.beside(at, NodeKind::Source { read }, vec![]);
        self.beside(at, NodeKind::Stable { read }, vec![]);
        self.reads.insert(at, read);
        read
    }

    /// The source of a read's column: stable or not. Sources stand first among the read's nodes.
    fn origin(&self, read: usize, column: Option<ColumnId>) -> NodeId {
        let Read { op, table, index } = &self.values.reads[read];
        // A plan is done before the pieces: what a bulk load reads of the rows that it has put in itself would not be there.
        let stable = !self.fills.contains(table)
            && self.facts.table(*table).is_some_and(|t| {
                let found = match index {
                    None | Some(IndexId::PRIMARY) => t.rows_stay(),
                    Some(_) => t.rows_stay() && t.updated.is_empty(),
                };
                found && column.is_none_or(|c| t.is_stable(c))
            });
        let wanted = if stable { NodeKind::Stable { read } } else { NodeKind::Source { read } };
        let defs = &self.values.ops[op].defs;
        *defs.iter().find(|n| self.values.nodes[**n].kind == wanted).expect("made with the read")
    }

    /// What a read finds: a column, or the row.
    fn found(
        &self,
        at: At,
        column: Option<ColumnId>,
        mut inputs: Vec<NodeId>,
    ) -> (NodeKind, Vec<NodeId>, Option<String>) {
        let read = self.reads[&at];
        inputs.push(self.origin(read, column));
        // A column is NULL where there is no row.
        let found = self.origin(read, None);
        if !inputs.contains(&found) {
            inputs.push(found);
        }
        (NodeKind::Read { read, column }, inputs, None)
    }
}

/// Whether a register holds a row handle.
pub fn is_row(program: &Program, reg: Reg) -> bool {
    matches!(program.kind_of(reg), RegKind::Row(_))
}
