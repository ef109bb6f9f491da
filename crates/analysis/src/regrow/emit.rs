//! The programs of a division: the one that runs forward and logs, the one that plans, the pieces.

use super::Piece;
use super::pieces::{Closure, Division, Draft};
use super::simplify::remove_dead;
use super::value::{NodeId, NodeKind, Place, Values};
use planaria_base::{Datum, IndexId, Type};
use planaria_ir::{
    Block, Bound, Draw, Label, Op, OpId, OpKind, Param, ParamMode, Program, ProgramKind, Range, ReadMode,
    Reg, RegKind,
};
use std::collections::{BTreeMap, BTreeSet};

/// What is logged where: at the start of a turn of an operation, and behind it.
struct Kept {
    top: BTreeMap<OpId, Vec<NodeId>>,
    after: BTreeMap<OpId, Vec<NodeId>>,
    /// Loops whose turns the log has.
    turns: BTreeSet<OpId>,
}

fn is_region(kind: &OpKind) -> bool {
    kind.label().is_some()
}

impl Kept {
    fn of(values: &Values<'_>, division: &Division, forced: &BTreeSet<NodeId>) -> Kept {
        let mut kept = Kept { top: BTreeMap::new(), after: BTreeMap::new(), turns: BTreeSet::new() };
        for id in division.kept.iter().chain(forced) {
            let node = &values.nodes[*id];
            let op = node.op.expect("only values of operations are kept");
            if node.kind == NodeKind::Turn {
                kept.turns.insert(op);
            } else if node.place == Place::Def && is_region(&values.code[&op].kind) {
                kept.top.entry(op).or_default().push(*id);
            } else {
                kept.after.entry(op).or_default().push(*id);
            }
        }
        kept
    }
}

fn op(kind: OpKind, like: &Op) -> Op {
    Op { kind, ..*like }
}

/// The program with its key-determining values handed to the log.
pub fn forward(program: &Program, values: &Values<'_>, division: &Division) -> Program {
    let mut out = program.clone();
    let kept = Kept::of(values, division, &BTreeSet::new());
    let body = std::mem::take(&mut out.body);
    out.body = forward_block(body, values, &kept, &mut out);
    out.renumber();
    out
}

fn forward_block(block: Block, values: &Values<'_>, kept: &Kept, out: &mut Program) -> Block {
    let mut ops = Vec::new();
    let regs = |nodes: &[NodeId]| -> Vec<Reg> {
        nodes.iter().map(|n| values.nodes[*n].reg.expect("a kept value has a register")).collect()
    };
    for mut o in block.0 {
        let place = Op { kind: OpKind::Return, ..o };
        o.kind.blocks_mut(&mut |b| *b = forward_block(std::mem::take(b), values, kept, out));
        let turn = kept.turns.contains(&o.id);
        let top = kept.top.get(&o.id).map(|n| regs(n)).unwrap_or_default();
        if turn || !top.is_empty() {
            let mut first = Vec::new();
            let mut keep = Vec::new();
            if turn {
                let yes = out.value(Type::Bool);
                first.push(op(OpKind::Const { dst: yes, value: Datum::Bool(true) }, &place));
                keep.push(yes);
            }
            keep.extend(top);
            first.push(op(OpKind::Keep { values: keep }, &place));
            o.kind.blocks_mut(&mut |b| {
                let rest = std::mem::take(&mut b.0);
                b.0 = first.drain(..).chain(rest).collect();
            });
        }
        let after = kept.after.get(&o.id).map(|n| regs(n)).unwrap_or_default();
        ops.push(o);
        if turn {
            let no = out.value(Type::Bool);
            ops.push(op(OpKind::Const { dst: no, value: Datum::Bool(false) }, &place));
            ops.push(op(OpKind::Keep { values: vec![no] }, &place));
        }
        if !after.is_empty() {
            ops.push(op(OpKind::Keep { values: after }, &place));
        }
    }
    Block(ops)
}

/// The pieces' programs, and the program that plans.
pub fn plan(
    program: &Program,
    values: &Values<'_>,
    division: &Division,
    forced: &BTreeSet<NodeId>,
) -> (Program, Vec<Piece>) {
    let mut planner = Planner {
        values,
        division,
        kept: Kept::of(values, division, forced),
        out: program.clone(),
        copies: BTreeMap::new(),
        hoists: BTreeMap::new(),
        emissions: BTreeMap::new(),
    };
    let mut pieces = Vec::new();
    // What a hosted insert takes in, by the insert: its host must know.
    let mut hosted: BTreeMap<OpId, (u32, Vec<NodeId>)> = BTreeMap::new();
    for (number, (draft, closure)) in (0..).zip(division.drafts.iter().zip(&division.closures)) {
        if draft.hosted {
            let args = draft.key.iter().chain(closure.operands.iter().filter(|n| !draft.key.contains(n)));
            hosted.insert(draft.writes[0], (number, args.copied().collect()));
        }
    }
    for (number, (draft, closure)) in (0..).zip(division.drafts.iter().zip(&division.closures)) {
        let (piece, args) = piece(program, values, draft, closure, &hosted);
        pieces.push(piece);
        if !draft.hosted {
            let at = last(values, draft, closure);
            planner.emissions.entry(at).or_default().push((number, args.clone()));
            args.into_iter().for_each(|n| planner.want(n));
        }
    }
    let body = std::mem::take(&mut planner.out.body);
    let mut start = Vec::new();
    for (node, reg) in planner.copies.clone() {
        let n = &values.nodes[node];
        let kind = match n.reg {
            Some(src) if n.place == Place::Start => OpKind::Copy { dst: reg, src },
            _ => OpKind::Const { dst: reg, value: Datum::Null },
        };
        start.push(Op { id: OpId(0), position: 0, kind });
    }
    let mut body = planner.block(&body);
    start.append(&mut body.0);
    let mut out = planner.out;
    out.body = Block(start);
    remove_dead(&mut out);
    out.renumber();
    (out, pieces)
}

/// The operation behind which everything a piece takes in is known: the last of its range.
pub fn last(values: &Values<'_>, draft: &Draft, closure: &Closure) -> OpId {
    let reads = draft.reads.iter().map(|r| values.reads[*r].op);
    let members = closure.members.iter().filter_map(|n| values.nodes[*n].op);
    let tops = reads.chain(draft.writes.iter().chain(&draft.hosts).copied()).chain(members);
    let tops = tops.filter_map(|op| values.top_in(draft.block, op));
    tops.max_by_key(|op| values.ops[op].position).expect("a piece has a write")
}

struct Planner<'a, 'p> {
    values: &'a Values<'p>,
    division: &'a Division,
    kept: Kept,
    out: Program,
    /// Registers that hold a value until its piece is handed over.
    copies: BTreeMap<NodeId, Reg>,
    /// Values computed before an operation that replay cannot decide.
    hoists: BTreeMap<OpId, Vec<NodeId>>,
    /// Pieces handed over behind an operation, with what they take in.
    emissions: BTreeMap<OpId, Vec<(u32, Vec<NodeId>)>>,
}

impl Planner<'_, '_> {
    /// Makes a value available to a piece.
    fn want(&mut self, n: NodeId) {
        if self.copies.contains_key(&n) {
            return;
        }
        let node = &self.values.nodes[n];
        let reg = node.reg.expect("a piece takes in values of registers");
        let kind = self.out.kind_of(reg).clone();
        let name = self.out.regs[reg.index()].name.clone();
        let copy = self.out.reg(kind, name);
        self.copies.insert(n, copy);
        if let Some(at) = self.undecided(n) {
            node.inputs.clone().into_iter().for_each(|i| self.want(i));
            self.hoists.entry(at).or_default().push(n);
        }
    }

    /// The outermost operation around a value that replay does not follow.
    fn undecided(&self, n: NodeId) -> Option<OpId> {
        let op = self.values.nodes[n].op?;
        let controls = &self.values.ops[&op].controls;
        controls.iter().find(|(_, c)| self.division.unknown[*c] != 0).map(|(op, _)| *op)
    }

    fn known(&self, n: NodeId) -> bool {
        self.division.unknown[n] == 0
    }

    fn turn_of(&self, op: OpId) -> NodeId {
        let is = |n: &&NodeId| self.values.nodes[**n].kind == NodeKind::Turn;
        *self.values.ops[&op].defs.iter().find(is).expect("the loop has a turn")
    }

    /// Copies of what comes to be at a place of an operation.
    fn copied(&self, o: &Op, wanted: impl Fn(Place) -> bool, ops: &mut Vec<Op>) {
        for n in &self.values.ops[&o.id].defs {
            let node = &self.values.nodes[*n];
            if let (Some(dst), Some(src)) = (self.copies.get(n), node.reg)
                && wanted(node.place)
                && self.undecided(*n).is_none()
            {
                ops.push(op(OpKind::Copy { dst: *dst, src }, o));
            }
        }
    }

    fn taken(&self, o: &Op, nodes: Option<&Vec<NodeId>>, ops: &mut Vec<Op>) {
        for n in nodes.into_iter().flatten() {
            let dst = self.values.nodes[*n].reg.expect("a kept value has a register");
            ops.push(op(OpKind::Draw { dst, input: Draw::Kept }, o));
        }
    }

    fn block(&mut self, block: &Block) -> Block {
        let mut ops = Vec::new();
        for o in &block.0 {
            if self.values.reached(o.id) {
                self.op(o, &mut ops);
            }
        }
        Block(ops)
    }

    fn op(&mut self, o: &Op, ops: &mut Vec<Op>) {
        for n in self.hoists.get(&o.id).cloned().unwrap_or_default() {
            self.hoist(n, o, ops);
        }
        let region = is_region(&o.kind);
        match &o.kind {
            OpKind::Insert { .. }
            | OpKind::Update { .. }
            | OpKind::Delete { .. }
            | OpKind::Claim { .. }
            | OpKind::Keep { .. }
            | OpKind::Raise { .. }
            | OpKind::Notify { .. }
            | OpKind::EndTransaction { .. } => {}
            OpKind::If { cond, then, otherwise } => {
                let decided = self.known(self.values.ops[&o.id].uses[0].1);
                if decided {
                    let (then, otherwise) = (self.block(then), self.block(otherwise));
                    ops.push(op(OpKind::If { cond: *cond, then, otherwise }, o));
                }
            }
            OpKind::Get { columns, .. } | OpKind::Load { columns, .. } => {
                if self.planned(o.id) {
                    let columns = self.stable_columns(o.id, columns);
                    let mut kind = o.kind.clone();
                    if let OpKind::Get { columns: c, .. } | OpKind::Load { columns: c, .. } = &mut kind {
                        *c = columns;
                    }
                    ops.push(op(kind, o));
                }
            }
            OpKind::Loop { label, body } => {
                let body = self.turn(o, body);
                ops.push(op(OpKind::Loop { label: *label, body }, o));
            }
            OpKind::Block { label, body } => {
                let body = self.turn(o, body);
                ops.push(op(OpKind::Block { label: *label, body }, o));
            }
            OpKind::Scan { body, label, .. }
            | OpKind::ForEach { body, label, .. }
            | OpKind::ForMatches { body, label, .. } => {
                if self.kept.turns.contains(&o.id) {
                    let body = self.turn(o, body);
                    ops.push(self.driven(o, *label, body));
                } else if self.known(self.turn_of(o.id)) {
                    let inner = self.turn(o, body);
                    let mut kind = o.kind.clone();
                    if let OpKind::Scan { columns, .. } = &mut kind {
                        *columns = self.stable_columns(o.id, columns);
                    }
                    kind.blocks_mut(&mut |b| b.clone_from(&inner));
                    ops.push(op(kind, o));
                }
            }
            kind => ops.push(op(kind.clone(), o)),
        }
        let after = self.kept.after.get(&o.id).cloned();
        self.taken(o, after.as_ref(), ops);
        self.copied(
            o,
            |p| matches!(p, Place::Join { .. } | Place::After) || (p == Place::Def && !region),
            ops,
        );
        for (piece, args) in self.emissions.get(&o.id).cloned().unwrap_or_default() {
            let args = args.iter().map(|n| self.copies[n]).collect();
            ops.push(op(OpKind::Piece { piece, args }, o));
        }
    }

    /// The body of a loop, with what is taken from the log and copied at the start of each turn.
    fn turn(&mut self, o: &Op, body: &Block) -> Block {
        let mut first = Vec::new();
        let top = self.kept.top.get(&o.id).cloned();
        self.taken(o, top.as_ref(), &mut first);
        self.copied(o, |p| matches!(p, Place::Head | Place::Def), &mut first);
        first.extend(self.block(body).0);
        Block(first)
    }

    /// A loop that turns as often as the log says.
    fn driven(&mut self, o: &Op, label: Label, body: Block) -> Op {
        let (more, last) = (self.out.value(Type::Bool), self.out.value(Type::Bool));
        let end = self.out.label();
        let stop = Block(vec![op(OpKind::Exit { label: end }, o)]);
        let mut turn = vec![
            op(OpKind::Draw { dst: more, input: Draw::Kept }, o),
            op(OpKind::If { cond: more, then: Block::default(), otherwise: stop }, o),
        ];
        turn.extend(body.0);
        let turns = op(OpKind::Loop { label, body: Block(turn) }, o);
        // A loop left early has still logged its end.
        let drop = op(OpKind::Draw { dst: last, input: Draw::Kept }, o);
        op(OpKind::Block { label: end, body: Block(vec![turns, drop]) }, o)
    }

    fn hoist(&mut self, n: NodeId, at: &Op, ops: &mut Vec<Op>) {
        let node = &self.values.nodes[n];
        let dst = self.copies[&n];
        let made = node.op.expect("a hoisted value has an operation");
        let kind = match &self.values.code[&made].kind {
            OpKind::Const { value, .. } => OpKind::Const { dst, value: value.clone() },
            OpKind::Apply { func, .. } => {
                let args = self.values.ops[&made].uses.iter().map(|(_, n)| self.copies[n]).collect();
                OpKind::Apply { dst, func: *func, args }
            }
            _ => unreachable!("only constants and total functions are hoisted"),
        };
        ops.push(op(kind, at));
    }

    fn read_of(&self, o: OpId) -> usize {
        self.values.reads.iter().position(|r| r.op == o).expect("a read was numbered")
    }

    fn planned(&self, o: OpId) -> bool {
        self.division.planned_reads.contains(&self.read_of(o))
    }

    /// The columns that nobody changes.
    fn stable_columns(
        &self,
        o: OpId,
        columns: &[(planaria_base::ColumnId, Reg)],
    ) -> Vec<(planaria_base::ColumnId, Reg)> {
        let changing = |n: &NodeId| matches!(self.values.nodes[*n].kind, NodeKind::Source { .. });
        let stable = |column: planaria_base::ColumnId| {
            self.values.ops[&o].defs.iter().any(|n| {
                let node = &self.values.nodes[*n];
                matches!(node.kind, NodeKind::Read { column: Some(c), .. } if c == column)
                    && !node.inputs.iter().any(changing)
            })
        };
        columns.iter().copied().filter(|(c, _)| stable(*c)).collect()
    }
}

struct PieceMaker<'a, 'p> {
    source: &'a Program,
    values: &'a Values<'p>,
    draft: &'a Draft,
    closure: &'a Closure,
    out: Program,
    map: BTreeMap<NodeId, Reg>,
    start: Vec<Op>,
    hosted: &'a BTreeMap<OpId, (u32, Vec<NodeId>)>,
}

/// The program of a piece, and the values of its parameters.
fn piece(
    source: &Program,
    values: &Values<'_>,
    draft: &Draft,
    closure: &Closure,
    hosted: &BTreeMap<OpId, (u32, Vec<NodeId>)>,
) -> (Piece, Vec<NodeId>) {
    let mut m = PieceMaker {
        source,
        values,
        draft,
        closure,
        out: Program::new(source.name.clone(), ProgramKind::Procedure),
        map: BTreeMap::new(),
        start: Vec::new(),
        hosted,
    };
    let mut args = Vec::new();
    let mut keys = Vec::new();
    for n in &draft.key {
        keys.push(m.parameter(*n));
        args.push(*n);
    }
    for n in closure.operands.iter().filter(|n| !draft.key.contains(n)) {
        m.parameter(*n);
        args.push(*n);
    }
    let body = match draft.reads.first() {
        None => m.alone(&keys),
        Some(read) => {
            let first = values.reads[*read].op;
            let from = values.ops[&first].position;
            let ops = values.blocks[draft.block][from..].to_vec();
            m.block(&ops, &keys)
        }
    };
    let mut all = std::mem::take(&mut m.start);
    all.extend(body.0);
    m.out.body = Block(all);
    m.out.renumber();
    let hands_over = draft.hosts.iter().map(|insert| hosted[insert].0).collect();
    (Piece { program: m.out, tables: vec![draft.table], key: keys.len(), hands_over }, args)
}

impl PieceMaker<'_, '_> {
    fn parameter(&mut self, n: NodeId) -> Reg {
        let reg = self.values.nodes[n].reg.expect("a piece takes in values of registers");
        let decl = &self.source.regs[reg.index()];
        let own = self.out.reg(decl.kind.clone(), decl.name.clone());
        let RegKind::Value(ty) = decl.kind.clone() else { unreachable!("row handles are never taken in") };
        let name = decl.name.clone().unwrap_or_else(|| format!("${}", self.out.params.len() + 1));
        self.out.params.push(Param { name, ty, mode: ParamMode::In, reg: own });
        self.map.insert(n, own);
        own
    }

    fn own(&mut self, n: NodeId) -> Reg {
        let n = *self.closure.same.get(&n).unwrap_or(&n);
        if let Some(reg) = self.map.get(&n) {
            return *reg;
        }
        let reg = self.values.nodes[n].reg.expect("it has a register");
        let decl = &self.source.regs[reg.index()];
        let own = self.out.reg(decl.kind.clone(), decl.name.clone());
        self.map.insert(n, own);
        if let (NodeKind::Const, Some(made)) = (&self.values.nodes[n].kind, self.values.nodes[n].op)
            && let OpKind::Const { value, .. } = &self.values.code[&made].kind
        {
            let kind = OpKind::Const { dst: own, value: value.clone() };
            self.start.push(op(kind, self.values.code[&made]));
        }
        own
    }

    /// The operation with its registers replaced by the piece's.
    fn renamed(&mut self, o: &Op) -> Op {
        let info = &self.values.ops[&o.id];
        let mut uses: Vec<Reg> =
            info.uses.iter().map(|(_, n)| *n).collect::<Vec<_>>().into_iter().map(|n| self.own(n)).collect();
        let mut next = uses.drain(..);
        let mut take = || next.next().expect("one for each register read");
        let mut kind = o.kind.clone();
        match &mut kind {
            OpKind::Apply { args, .. } | OpKind::Call { args, .. } => {
                args.iter_mut().for_each(|r| *r = take())
            }
            OpKind::Cast { src, .. } => *src = take(),
            OpKind::Insert { values, row, .. } => {
                values.iter_mut().for_each(|r| *r = take());
                *row = None;
            }
            OpKind::Update { row, set, .. } => {
                *row = take();
                set.iter_mut().for_each(|(_, r)| *r = take());
            }
            OpKind::Delete { row, .. } => *row = take(),
            _ => unreachable!("pieces hold functions, reads and writes"),
        }
        drop(next);
        let made: Vec<NodeId> =
            info.defs.iter().copied().filter(|n| self.values.nodes[*n].place == Place::Def).collect();
        match &mut kind {
            OpKind::Apply { dst, .. } | OpKind::Cast { dst, .. } => *dst = self.own(made[0]),
            OpKind::Call { outs, .. } => outs.iter_mut().zip(made).for_each(|(r, n)| *r = self.own(n)),
            _ => {}
        }
        op(kind, o)
    }

    /// A write whose row is found by key, or an insert.
    fn alone(&mut self, keys: &[Reg]) -> Block {
        let write = self.values.code[&self.draft.writes[0]];
        let mut ops = Vec::new();
        let row_node = self.values.ops[&write.id].uses.first().map(|(_, n)| *n);
        if let (OpKind::Update { table, .. } | OpKind::Delete { table, .. }, Some(node)) =
            (&write.kind, row_node)
        {
            let row = self.out.reg(RegKind::Row(*table), None);
            self.map.insert(node, row);
            let members = self.closure.members.iter();
            let made: BTreeSet<OpId> = members.filter_map(|n| self.values.nodes[*n].op).collect();
            let mut columns = Vec::new();
            if let Some(read) = self.draft.found {
                let defs = self.values.ops[&self.values.reads[read].op].defs.clone();
                columns = self.found(&defs).1;
            }
            let get = OpKind::Get {
                table: *table,
                index: IndexId::PRIMARY,
                key: keys.to_vec(),
                mode: ReadMode::Plain,
                row,
                columns,
            };
            ops.push(op(get, write));
            for id in made {
                let o = self.values.code[&id];
                if matches!(o.kind, OpKind::Apply { .. } | OpKind::Cast { .. }) {
                    ops.push(self.renamed(o));
                }
            }
        }
        ops.push(self.renamed(write));
        Block(ops)
    }

    fn block(&mut self, ids: &[OpId], keys: &[Reg]) -> Block {
        let mut ops = Vec::new();
        for id in ids {
            let Some(o) = self.values.code.get(id).copied() else { continue };
            self.op(o, keys, &mut ops);
        }
        Block(ops)
    }

    fn nested(&mut self, block: &Block, keys: &[Reg]) -> Block {
        let ids: Vec<OpId> = block.0.iter().map(|o| o.id).collect();
        self.block(&ids, keys)
    }

    fn reads(&self, op: OpId) -> bool {
        self.draft.reads.iter().any(|r| self.values.reads[*r].op == op)
    }

    /// Whether a read leads the piece.
    fn leads(&self, op: OpId) -> bool {
        self.draft.reads.first().is_some_and(|r| self.values.reads[*r].op == op)
    }

    /// Whether a read finds what the leading one found: the same row, not written in between.
    fn merged(&self, op: OpId) -> bool {
        self.reads(op) && !self.leads(op) && self.draft.writes.iter().all(|w| *w > op)
    }

    fn is_member(&self, n: NodeId) -> bool {
        self.closure.members.contains(&n)
    }

    fn op(&mut self, o: &Op, keys: &[Reg], ops: &mut Vec<Op>) {
        let values = self.values;
        let defs = values.ops[&o.id].defs.clone();
        match &o.kind {
            OpKind::Update { .. } | OpKind::Delete { .. } if self.draft.writes.contains(&o.id) => {
                let renamed = self.renamed(o);
                ops.push(renamed);
            }
            OpKind::Insert { .. } if self.draft.hosts.contains(&o.id) => {
                let (piece, nodes) = &self.hosted[&o.id];
                let args = nodes.iter().map(|n| self.own(*n)).collect();
                ops.push(op(OpKind::Piece { piece: *piece, args }, o));
            }
            OpKind::Get { .. } if self.merged(o.id) => {}
            OpKind::Get { table, .. } if self.reads(o.id) => {
                let mut defs = defs;
                for read in &self.draft.reads {
                    let again = values.reads[*read].op;
                    if again != o.id && self.merged(again) && self.leads(o.id) {
                        defs.extend(&values.ops[&again].defs);
                    }
                }
                let (row, columns) = self.found(&defs);
                let (table, index) = (*table, IndexId::PRIMARY);
                ops.push(op(
                    OpKind::Get { table, index, key: keys.to_vec(), mode: ReadMode::Plain, row, columns },
                    o,
                ));
            }
            OpKind::Scan { table, index, range, descending, label, body, .. } if self.reads(o.id) => {
                // Taken in, or, where they are constants, made at the piece's start.
                let mut bounds = values.ops[&o.id].uses[range.prefix.len()..].iter().map(|(_, n)| *n);
                let mut bound = |b: &Option<Bound>| {
                    b.map(|b| Bound { reg: self.own(bounds.next().expect("one for each bound")), ..b })
                };
                let (lower, upper) = (bound(&range.lower), bound(&range.upper));
                let (row, columns) = self.found(&defs);
                let body = self.nested(body, keys);
                let scan = OpKind::Scan {
                    table: *table,
                    index: *index,
                    range: Range { prefix: keys.to_vec(), lower, upper },
                    descending: *descending,
                    mode: ReadMode::Plain,
                    row,
                    columns,
                    label: *label,
                    body,
                };
                self.out.labels = self.source.labels;
                ops.push(op(scan, o));
            }
            OpKind::If { then, otherwise, .. } => {
                let mut then = self.nested(then, keys);
                let mut otherwise = self.nested(otherwise, keys);
                let joins: Vec<NodeId> = defs.into_iter().filter(|n| self.is_member(*n)).collect();
                for n in joins {
                    if let Place::Join { then: a, otherwise: b } = values.nodes[n].place {
                        let dst = self.own(n);
                        let (a, b) = (self.own(a), self.own(b));
                        then.0.push(op(OpKind::Copy { dst, src: a }, o));
                        otherwise.0.push(op(OpKind::Copy { dst, src: b }, o));
                    }
                }
                if !then.0.is_empty() || !otherwise.0.is_empty() {
                    let cond = self.own(values.ops[&o.id].uses[0].1);
                    ops.push(op(OpKind::If { cond, then, otherwise }, o));
                }
            }
            OpKind::Apply { .. } | OpKind::Cast { .. } | OpKind::Call { .. }
                if defs.iter().any(|n| self.is_member(*n)) =>
            {
                let renamed = self.renamed(o);
                ops.push(renamed);
            }
            _ => {}
        }
    }

    /// Registers of a read's row and of the columns that the piece uses.
    fn found(&mut self, defs: &[NodeId]) -> (Reg, Vec<(planaria_base::ColumnId, Reg)>) {
        let mut row = None;
        let mut columns = Vec::new();
        for n in defs {
            match self.values.nodes[*n].kind {
                NodeKind::Read { column: None, .. } => match row {
                    None => row = Some(self.own(*n)),
                    // Of reads that are one: the same row.
                    Some(row) => {
                        let n = *self.closure.same.get(n).unwrap_or(n);
                        self.map.insert(n, row);
                    }
                },
                NodeKind::Read { column: Some(c), .. } if self.is_member(*n) => {
                    columns.push((c, self.own(*n)))
                }
                _ => {}
            }
        }
        (row.expect("every read has a row"), columns)
    }
}
