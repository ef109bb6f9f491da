//! The value graph of a program: which value comes from which.
//!
//! A node is a value of a register between two writes: what an operation wrote, or the meeting of
//! several at the end of a branch, at the head of a loop or behind it (the φ of static single
//! assignment; over structured regions every φ has its place at a region). Copies make no node. What
//! decided a branch, or how often a loop turned, is an input of the φ.
//!
//! Nodes that must be equal have one *value number*: equal constants, and the same pure function of
//! equal values.

use super::Unplannable;
use super::facts::Facts;
use planaria_base::{ColumnId, IndexId, ProcedureId, TableId};
use planaria_ir::{Block, Label, Op, OpId, OpKind, Program, Reg, RegKind};
use std::collections::BTreeMap;

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

type Env = Option<Vec<NodeId>>;

struct Region {
    op: OpId,
    /// Height of `controls` at its start.
    controls: usize,
    exits: Vec<Vec<NodeId>>,
    nexts: Vec<Vec<NodeId>>,
    /// What decided exits and continues.
    decided: Vec<NodeId>,
}

struct Builder<'p, 'f> {
    values: Values<'p>,
    program: &'p Program,
    facts: &'f Facts,
    pure: &'f dyn Fn(ProcedureId) -> bool,
    path: Vec<OpId>,
    controls: Vec<(OpId, NodeId)>,
    regions: BTreeMap<Label, Region>,
    colls: Vec<NodeId>,
    depth: u32,
}

impl<'p> Values<'p> {
    /// Builds the graph of a program whose operations are numbered. `pure` tells whether a callee
    /// reads and writes nothing and draws nothing.
    pub fn of(
        program: &'p Program,
        facts: &Facts,
        pure: &dyn Fn(ProcedureId) -> bool,
    ) -> Result<Values<'p>, Unplannable> {
        let values = Values {
            nodes: Vec::new(),
            reads: Vec::new(),
            ops: BTreeMap::new(),
            code: BTreeMap::new(),
            escapes: Vec::new(),
            blocks: Vec::new(),
            numbers: BTreeMap::new(),
        };
        let mut b = Builder {
            values,
            program,
            facts,
            pure,
            path: Vec::new(),
            controls: Vec::new(),
            regions: BTreeMap::new(),
            colls: Vec::new(),
            depth: 0,
        };
        let mut env = Vec::new();
        for i in 0..program.regs.len() {
            let reg = Reg::from(i);
            let node = b.node(Some(reg), None, Place::Start, NodeKind::Known, Vec::new(), None);
            env.push(node);
        }
        for _ in &program.colls {
            let node = b.node(None, None, Place::Start, NodeKind::Rows, Vec::new(), None);
            b.colls.push(node);
        }
        let mut env = Some(env);
        b.block(&program.body, &mut env)?;
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
        reg: Option<Reg>,
        op: Option<OpId>,
        place: Place,
        kind: NodeKind,
        inputs: Vec<NodeId>,
        key: Option<String>,
    ) -> NodeId {
        let id = self.values.nodes.len();
        let number = match key {
            Some(key) => *self.values.numbers.entry(key).or_insert(id),
            None => id,
        };
        self.values.nodes.push(Node { reg, op, place, kind, inputs, number, depth: self.depth });
        if let Some(op) = op {
            self.values.ops.entry(op).or_default().defs.push(id);
        }
        id
    }

    fn phi(&mut self, reg: usize, op: OpId, place: Place, inputs: Vec<NodeId>) -> NodeId {
        self.node(Some(Reg::from(reg)), Some(op), place, NodeKind::Phi, inputs, None)
    }

    fn block(&mut self, block: &'p Block, env: &mut Env) -> Result<(), Unplannable> {
        planaria_base::stack::check().map_err(|_| Unplannable("It nests too deeply.".into()))?;
        let number = self.values.blocks.len();
        self.values.blocks.push(block.0.iter().map(|op| op.id).collect());
        for (position, op) in block.0.iter().enumerate() {
            if env.is_none() {
                break;
            }
            let info = self.values.ops.entry(op.id).or_default();
            (info.block, info.position) = (number, position);
            self.op(op, env)?;
        }
        Ok(())
    }

    /// What decided that control is here, since the region began.
    fn decided(&self, from: usize) -> Vec<NodeId> {
        self.controls[from..].iter().map(|(_, n)| *n).collect()
    }

    fn escape(&mut self, op: OpId, label: Option<Label>, env: &mut Env, next: bool) {
        let state = env.take().expect("control is here");
        let target = label.map(|label| {
            let controls = self.regions[&label].controls;
            let mut decided = self.decided(controls);
            let region = self.regions.get_mut(&label).expect("the verifier found the label");
            region.decided.append(&mut decided);
            if next {
                region.nexts.push(state)
            } else {
                region.exits.push(state)
            }
            region.op
        });
        self.values.escapes.push((op, target));
    }

    fn op(&mut self, op: &'p Op, env: &mut Env) -> Result<(), Unplannable> {
        let here = env.as_mut().expect("control is here");
        let mut uses = Vec::new();
        op.kind.reads(&mut |r| uses.push((r, here[r.index()])));
        let inputs: Vec<NodeId> = uses.iter().map(|(_, n)| *n).collect();
        self.values.code.insert(op.id, op);
        let info = self.values.ops.entry(op.id).or_default();
        info.path.clone_from(&self.path);
        info.controls.clone_from(&self.controls);
        info.uses = uses;
        info.depth = self.depth;
        match &op.kind {
            OpKind::Copy { dst, src } => here[dst.index()] = here[src.index()],
            OpKind::Const { dst, value } => {
                let ty = self.program.kind_of(*dst);
                let key = format!("const {value:?} {ty:?}");
                let node = self.node(Some(*dst), Some(op.id), Place::Def, NodeKind::Const, vec![], Some(key));
                here[dst.index()] = node;
            }
            OpKind::Apply { dst, func, .. } => {
                let kind = NodeKind::Pure { total: func.total() };
                here[dst.index()] = self.pure_value(op, *dst, kind, &inputs, &format!("{func:?}"));
            }
            OpKind::Cast { dst, explicit, src } => {
                let ty = (self.program.kind_of(*src), self.program.kind_of(*dst));
                let kind = NodeKind::Pure { total: false };
                here[dst.index()] =
                    self.pure_value(op, *dst, kind, &inputs, &format!("cast {explicit} {ty:?}"));
            }
            OpKind::ArraySet { array, .. } => {
                let node = self.def(op, *array, NodeKind::Pure { total: false }, inputs);
                here[array.index()] = node;
            }
            OpKind::Draw { dst, .. } | OpKind::NextValue { dst, .. } | OpKind::CurrentValue { dst, .. } => {
                here[dst.index()] = self.def(op, *dst, NodeKind::Known, vec![]);
            }
            OpKind::Call { procedure, outs, .. } if (self.pure)(*procedure) => {
                for out in outs {
                    here[out.index()] = self.def(op, *out, NodeKind::Pure { total: false }, inputs.clone());
                }
            }
            OpKind::CallSet { procedure, into, .. } if (self.pure)(*procedure) => {
                self.change(*into, inputs);
            }
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
            OpKind::Get { table, index, row, columns, .. } => {
                let read = self.read(op.id, *table, Some(*index));
                self.columns(op, read, *row, columns, &inputs, here);
            }
            OpKind::Load { table, columns, .. } => {
                let read = self.read(op.id, *table, None);
                for (column, reg) in columns {
                    here[reg.index()] = self.column(op, read, *reg, Some(*column), &inputs);
                }
            }
            OpKind::Insert { row, .. } => {
                if let Some(row) = row {
                    here[row.index()] = self.def(op, *row, NodeKind::Handle, vec![]);
                }
            }
            OpKind::Update { .. }
            | OpKind::Delete { .. }
            | OpKind::Keep { .. }
            | OpKind::Piece { .. }
            | OpKind::Emit { .. }
            | OpKind::Raise { .. }
            | OpKind::Notify { .. }
            | OpKind::EndTransaction { .. } => {}
            OpKind::Clear { .. } => {}
            OpKind::Push { coll, .. }
            | OpKind::Trim { coll, .. }
            | OpKind::Fill { coll, .. }
            | OpKind::MapPut { coll, .. }
            | OpKind::SetEntry { coll, .. } => {
                self.change(*coll, inputs);
            }
            OpKind::Sort { .. } => {}
            OpKind::Len { .. } | OpKind::MapGet { .. } => {
                let coll = op.kind.read_collection().expect("it reads one");
                let mut inputs = inputs;
                inputs.push(self.colls[coll.index()]);
                let mut regs = Vec::new();
                op.kind.writes(&mut |r| regs.push(r));
                for reg in regs {
                    // A map leaves the values alone where there is no such key.
                    let mut inputs = inputs.clone();
                    inputs.push(here[reg.index()]);
                    here[reg.index()] = self.def(op, reg, NodeKind::Pure { total: false }, inputs);
                }
            }
            OpKind::Exit { label } => self.escape(op.id, Some(*label), env, false),
            OpKind::Continue { label } => self.escape(op.id, Some(*label), env, true),
            OpKind::Return => self.escape(op.id, None, env, false),
            OpKind::If { then, otherwise, .. } => {
                let cond = inputs[0];
                self.path.push(op.id);
                self.controls.push((op.id, cond));
                let mut other = env.clone();
                self.block(then, env)?;
                self.block(otherwise, &mut other)?;
                self.controls.pop();
                self.path.pop();
                *env = match (env.take(), other) {
                    (Some(a), Some(b)) => Some(self.join(op.id, a, b, cond)),
                    (a, b) => a.or(b),
                };
            }
            OpKind::Loop { label, body } => self.region(op, *label, body, None, vec![], env)?,
            OpKind::Block { label, body } => self.region(op, *label, body, None, vec![], env)?,
            OpKind::Scan { table, index, row, columns, label, body, .. } => {
                let read = self.read(op.id, *table, Some(*index));
                let whole = self.whole(read);
                let mut from = inputs.clone();
                from.push(whole);
                let turn = self.node(None, Some(op.id), Place::Def, NodeKind::Turn, from, None);
                let mut written = vec![(*row, None)];
                written.extend(columns.iter().map(|(c, r)| (*r, Some(*c))));
                let written = Written::Row(read, written, inputs);
                self.region(op, *label, body, Some(turn), vec![written], env)?;
            }
            OpKind::ForEach { coll, label, body, .. } | OpKind::ForMatches { coll, label, body, .. } => {
                let mut from = inputs;
                from.push(self.colls[coll.index()]);
                let turn = self.node(None, Some(op.id), Place::Def, NodeKind::Turn, from.clone(), None);
                self.region(op, *label, body, Some(turn), vec![Written::Values(from)], env)?;
            }
        }
        Ok(())
    }

    fn def(&mut self, op: &Op, reg: Reg, kind: NodeKind, inputs: Vec<NodeId>) -> NodeId {
        self.node(Some(reg), Some(op.id), Place::Def, kind, inputs, None)
    }

    fn pure_value(&mut self, op: &Op, dst: Reg, kind: NodeKind, inputs: &[NodeId], what: &str) -> NodeId {
        let numbers: Vec<usize> = inputs.iter().map(|n| self.values.nodes[*n].number).collect();
        let key = format!("{what} {numbers:?} {:?}", self.program.kind_of(dst));
        self.node(Some(dst), Some(op.id), Place::Def, kind, inputs.to_vec(), Some(key))
    }

    /// A collection changes, under what decided that.
    fn change(&mut self, coll: planaria_ir::Coll, inputs: Vec<NodeId>) {
        let decided = self.decided(0);
        let node = self.colls[coll.index()];
        self.values.nodes[node].inputs.extend(inputs.into_iter().chain(decided));
    }

    fn read(&mut self, op: OpId, table: TableId, index: Option<IndexId>) -> usize {
        self.values.reads.push(Read { op, table, index });
        let read = self.values.reads.len() - 1;
        self.node(None, Some(op), Place::Def, NodeKind::Source { read }, vec![], None);
        self.node(None, Some(op), Place::Def, NodeKind::Stable { read }, vec![], None);
        read
    }

    /// The source of a read's column: stable or not. Sources stand first among the read's nodes.
    fn origin(&self, read: usize, column: Option<ColumnId>) -> NodeId {
        let Read { op, table, index } = &self.values.reads[read];
        let stable = self.facts.table(*table).is_some_and(|t| {
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

    fn whole(&self, read: usize) -> NodeId {
        self.origin(read, None)
    }

    fn column(
        &mut self,
        op: &Op,
        read: usize,
        reg: Reg,
        column: Option<ColumnId>,
        keys: &[NodeId],
    ) -> NodeId {
        let mut inputs = keys.to_vec();
        inputs.push(self.origin(read, column));
        // A column is NULL where there is no row.
        let found = self.whole(read);
        if !inputs.contains(&found) {
            inputs.push(found);
        }
        self.def(op, reg, NodeKind::Read { read, column }, inputs)
    }

    fn columns(
        &mut self,
        op: &Op,
        read: usize,
        row: Reg,
        columns: &[(ColumnId, Reg)],
        keys: &[NodeId],
        env: &mut [NodeId],
    ) {
        env[row.index()] = self.column(op, read, row, None, keys);
        for (column, reg) in columns {
            env[reg.index()] = self.column(op, read, *reg, Some(*column), keys);
        }
    }

    fn join(&mut self, op: OpId, a: Vec<NodeId>, b: Vec<NodeId>, cond: NodeId) -> Vec<NodeId> {
        let mut out = a;
        for (reg, other) in b.into_iter().enumerate() {
            let (then, otherwise) = (out[reg], other);
            if then != otherwise {
                let place = Place::Join { then, otherwise };
                out[reg] = self.phi(reg, op, place, vec![then, otherwise, cond]);
            }
        }
        out
    }

    fn region(
        &mut self,
        op: &'p Op,
        label: Label,
        body: &'p Block,
        turn: Option<NodeId>,
        written: Vec<Written>,
        env: &mut Env,
    ) -> Result<(), Unplannable> {
        let before = env.take().expect("control is here");
        let loops = !matches!(op.kind, OpKind::Block { .. });
        let mut assigned = vec![false; self.program.regs.len()];
        op.kind.writes(&mut |r| assigned[r.index()] = true);
        body.visit(&mut |o| o.kind.writes(&mut |r| assigned[r.index()] = true));
        let region = Region {
            op: op.id,
            controls: self.controls.len(),
            exits: vec![],
            nexts: vec![],
            decided: vec![],
        };
        self.regions.insert(label, region);
        self.depth += u32::from(loops);
        let mut head = before.clone();
        if loops {
            for reg in (0..head.len()).filter(|r| assigned[*r]) {
                head[reg] = self.phi(reg, op.id, Place::Head, vec![before[reg]]);
            }
        }
        let heads = head.clone();
        self.path.push(op.id);
        if let Some(turn) = turn {
            self.controls.push((op.id, turn));
        }
        let mut start = head.clone();
        for w in written {
            match w {
                Written::Row(read, columns, keys) => {
                    for (reg, column) in columns {
                        start[reg.index()] = self.column(op, read, reg, column, &keys);
                    }
                }
                Written::Values(from) => {
                    let mut regs = Vec::new();
                    op.kind.writes(&mut |r| regs.push(r));
                    for reg in regs {
                        start[reg.index()] = self.def(op, reg, NodeKind::Pure { total: false }, from.clone());
                    }
                }
            }
        }
        let mut inside = Some(start);
        self.block(body, &mut inside)?;
        if turn.is_some() {
            self.controls.pop();
        }
        self.path.pop();
        self.depth -= u32::from(loops);
        let mut region = self.regions.remove(&label).expect("inserted above");
        let decided: Vec<NodeId> = region.decided.iter().copied().chain(turn).collect();
        if loops {
            region.nexts.extend(inside.take());
            for reg in (0..head.len()).filter(|r| assigned[*r]) {
                let mut inputs: Vec<NodeId> = region.nexts.iter().map(|e| e[reg]).collect();
                inputs.extend(&decided);
                self.values.nodes[heads[reg]].inputs.extend(inputs);
            }
        }
        let mut ends = region.exits;
        match (loops, turn) {
            (true, Some(_)) => ends.push(head),
            (true, None) => {}
            (false, _) => ends.extend(inside),
        }
        let mut after: Env = None;
        if let Some((first, rest)) = ends.split_first() {
            let mut out = first.clone();
            for reg in 0..out.len() {
                let mut all: Vec<NodeId> = vec![out[reg]];
                all.extend(rest.iter().map(|e| e[reg]));
                all.dedup();
                if all.len() > 1 || (loops && assigned[reg]) {
                    all.extend(&decided);
                    out[reg] = self.phi(reg, op.id, Place::After, all);
                }
            }
            after = Some(out);
        }
        *env = after;
        Ok(())
    }
}

/// What a region's operation writes at the start of each turn.
enum Written {
    Row(usize, Vec<(Reg, Option<ColumnId>)>, Vec<NodeId>),
    Values(Vec<NodeId>),
}

/// Whether a register holds a row handle.
pub fn is_row(program: &Program, reg: Reg) -> bool {
    matches!(program.kind_of(reg), RegKind::Row(_))
}
