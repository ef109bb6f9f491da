//! How `regrow` replays calls: slices that each know their partition when the log is read.
//!
//! The analysis cuts a procedure so that a logged call can be *planned*: from its arguments, its
//! inputs and a few logged values alone, replay knows every key and every condition, and divides the
//! call into *pieces*, each of which reads and writes rows of one key. Pieces of different keys need
//! no order among them; pieces of one key run in commit order. In the words of PACMAN §4, every slice
//! is one key's, and there are no flow dependencies between slices: what would flow is in the log.
//!
//! 1. What is known of a committed call ([`committed`]: guards, handlers) and what feeds no write
//!    ([`simplify`]) go.
//! 2. [`value`]: the value graph.
//! 3. [`pieces`]: reads, writes and the values between that share a key; what they need from elsewhere.
//! 4. [`cut`]: the cheapest logged values (*key-determining values*) between the tables and those
//!    needs. A read of what no procedure changes may be done by replay, out of order, where that is
//!    cheaper than logging its result.
//! 5. [`emit`]: the program that runs forward and hands the values to the log, the program that plans,
//!    the pieces' programs.
//!
//! A write whose row is not found by its primary key is given the key by the log: then it is replayed
//! like an after-image, but of the columns it sets. What cannot be cut is [`Unplannable`], and the
//! procedure is logged by values.

mod cut;
mod emit;
mod facts;
mod order;
mod pieces;
mod simplify;
mod value;

pub use facts::{Facts, TableFacts};
pub use simplify::is_small;

use crate::committed::committed_by;
use crate::explain::Names;
use pieces::{Division, READS_MAX, Refused, Shape, names_key, read_behind};
use planaria_base::{ColumnId, ProcedureId, TableId};
use planaria_ir::{Block, Op, OpId, OpKind, Program};
use std::collections::{BTreeMap, BTreeSet};
use value::{NodeId, NodeKind, Place, Values};

/// Whether pieces hand over others.
const HANDS_OVER: bool = true;

/// How calls of one procedure are logged and replayed.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplayPlan {
    /// The program to run forward: the procedure's, with `Keep`s put in.
    pub forward: Program,
    /// Runs when the log is read: arguments as the procedure's; takes logged values by `Draw::Kept`,
    /// hands over pieces by `Piece`. Reads only what no procedure changes.
    pub plan: Program,
    /// The pieces, by the number that `Piece` names.
    pub pieces: Vec<Piece>,
    /// What is logged and why, for people.
    pub notes: Vec<Note>,
}

/// A slice of a procedure that touches the rows of one key.
#[derive(Clone, PartialEq, Debug)]
pub struct Piece {
    /// Runs when the piece's turn has come. Its parameters are the arguments of the `Piece` operation.
    pub program: Program,
    /// The tables whose rows it touches: only those whose leading primary key columns equal the first
    /// `key` parameters.
    pub tables: Vec<TableId>,
    /// How many parameters are the key.
    pub key: usize,
    /// Pieces that its program hands over by `Piece`, of tables with higher ids than its own: they run
    /// after all pieces of this one's tables.
    pub hands_over: Vec<u32>,
}

/// One thing the analysis decided.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Note {
    /// Byte offset in the procedure's source.
    pub position: u32,
    /// What it is about.
    pub subject: Subject,
}

/// What a [`Note`] is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A value is logged.
    Logs {
        /// Of this variable, if it has a name.
        variable: Option<String>,
        /// Which a read took from here, if it did.
        column: Option<(TableId, ColumnId)>,
        /// Anew in each turn of a loop.
        each_turn: bool,
    },
    /// Whether a scan finds another row is logged.
    LogsTurns(TableId),
    /// A table is read when the log is read.
    Reads(TableId, Vec<ColumnId>),
}

impl Note {
    /// One sentence, without the procedure as its subject.
    pub fn text(&self, names: &dyn Names) -> String {
        match &self.subject {
            Subject::Logs { variable, column, each_turn } => {
                let column = column.map(|(t, c)| format!("{}.{}", names.table(t), names.column(t, c)));
                let what = match (variable, column) {
                    // What stands for a column is named like it.
                    (Some(variable), Some(column)) if variable.contains('.') => column,
                    (Some(variable), Some(column)) => format!("{variable} ({column})"),
                    (Some(variable), None) => variable.clone(),
                    (None, Some(column)) => column,
                    (None, None) => "a value".to_owned(),
                };
                format!("logs {what}{}", if *each_turn { ", in each turn" } else { "" })
            }
            Subject::LogsTurns(table) => {
                format!("logs whether there is another row of {}", names.table(*table))
            }
            Subject::Reads(table, columns) => {
                let columns: Vec<_> = columns.iter().map(|c| names.column(*table, *c)).collect();
                let of =
                    if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
                let table = names.table(*table);
                format!("reads {table}{of} when the log is read: no procedure changes what is read")
            }
        }
    }
}

/// Why calls of a procedure cannot be planned; one sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unplannable(pub String);

/// Cuts a procedure. `program` has no calls of procedures that touch tables (see `inline`), its
/// operations are numbered; `pure` tells of the callees left that they read, write and draw nothing.
pub fn plan(
    program: &Program,
    facts: &Facts,
    pure: &dyn Fn(ProcedureId) -> bool,
) -> Result<ReplayPlan, Unplannable> {
    plan_by(program, facts, pure, false)
}

/// The same as versions before 5 of keeping have cut it: to tell what calls in their logs have kept. Nothing is replayed by it.
pub fn plan_formerly(
    program: &Program,
    facts: &Facts,
    pure: &dyn Fn(ProcedureId) -> bool,
) -> Result<ReplayPlan, Unplannable> {
    plan_by(program, facts, pure, true)
}

fn plan_by(
    program: &Program,
    facts: &Facts,
    pure: &dyn Fn(ProcedureId) -> bool,
    formerly: bool,
) -> Result<ReplayPlan, Unplannable> {
    if !simplify::is_small(program) {
        return Err(Unplannable(format!(
            "It is nested more than {} levels deep ({} of loops), or has more than {} operations.",
            simplify::NESTING_MAX,
            simplify::LOOPS_MAX,
            simplify::OPERATIONS_MAX
        )));
    }
    let mut loaded = BTreeSet::new();
    loop {
        let program = with_loads(program, &loaded, facts);
        let mut simple = committed_by(&program, formerly);
        simple.body = simplify::without_raises(std::mem::take(&mut simple.body));
        simplify::remove_dead(&mut simple);
        let mut values = Values::of(&simple, facts, pure, formerly)?;
        if values.reads.len() > READS_MAX {
            return Err(Unplannable(format!("It has more than {READS_MAX} operations that read.")));
        }
        let forced = forced(&mut values);
        match divided(&values, &simple, facts, &mut loaded)? {
            None => continue,
            Some(division) => {
                let forward = emit::forward(&program, &values, &division);
                let (plan, pieces) = emit::plan(&simple, &values, &division, &forced);
                if !formerly {
                    check(&plan, &pieces)?;
                }
                let notes = notes(&values, &simple, &division, &forced);
                return Ok(ReplayPlan { forward, plan, pieces, notes });
            }
        }
    }
}

/// Puts a `Load` of the key, and a `Keep` of it, before writes whose rows the log must name.
fn with_loads(program: &Program, loaded: &BTreeSet<OpId>, facts: &Facts) -> Program {
    fn block(b: &mut Block, out: &mut Program, loaded: &BTreeSet<OpId>, facts: &Facts, next: &mut u32) {
        let mut ops = Vec::new();
        for mut op in std::mem::take(&mut b.0) {
            op.kind.blocks_mut(&mut |b| block(b, out, loaded, facts, next));
            if let OpKind::Update { table, row, .. } | OpKind::Delete { table, row } = &op.kind
                && loaded.contains(&op.id)
                && let Some(facts) = facts.table(*table)
            {
                let columns: Vec<_> =
                    facts.key.iter().map(|c| (*c, out.value(facts.columns[c.index()].clone()))).collect();
                let values = columns.iter().map(|(_, r)| *r).collect();
                let load = OpKind::Load { table: *table, row: *row, columns };
                for kind in [load, OpKind::Keep { values }] {
                    ops.push(Op { id: OpId(*next), position: op.position, kind });
                    *next += 1;
                }
            }
            ops.push(op);
        }
        b.0 = ops;
    }
    let mut out = program.clone();
    let mut next = 0;
    out.body.visit(&mut |op| next = next.max(op.id.0 + 1));
    let mut body = std::mem::take(&mut out.body);
    block(&mut body, &mut out, loaded, facts, &mut next);
    out.body = body;
    out
}

/// The values that the program keeps already: they count as known.
fn forced(values: &mut Values<'_>) -> BTreeSet<NodeId> {
    let keeps: Vec<OpId> =
        values.code.values().filter(|op| matches!(op.kind, OpKind::Keep { .. })).map(|op| op.id).collect();
    let mut forced = BTreeSet::new();
    for keep in keeps {
        forced.extend(values.ops[&keep].uses.iter().map(|(_, n)| *n));
    }
    for n in &forced {
        values.nodes[*n].inputs.clear();
        values.nodes[*n].kind = match values.nodes[*n].kind {
            NodeKind::Read { read, column } => NodeKind::Read { read, column },
            _ => NodeKind::Known,
        };
    }
    forced
}

/// Anchors the writes and weighs which reads to join; `None` if more keys must be loaded first.
fn divided(
    values: &Values<'_>,
    program: &Program,
    facts: &Facts,
    loaded: &mut BTreeSet<OpId>,
) -> Result<Option<Division>, Unplannable> {
    let mut shape = Shape {
        values,
        program,
        facts,
        detached: loaded.clone(),
        joined: BTreeMap::new(),
        hosted: BTreeMap::new(),
    };
    for write in shape.changes() {
        if let OpKind::Update { table, set, .. } = &values.code[&write].kind
            && facts.table(*table).is_none_or(|t| set.iter().any(|(c, _)| t.key.contains(c)))
        {
            return Err(Unplannable("It changes columns of a primary key.".into()));
        }
    }
    loop {
        let lost: Vec<OpId> = shape
            .changes()
            .into_iter()
            .filter(|w| !shape.detached.contains(w))
            .filter(|w| !read_behind(values, *w).is_some_and(|r| shape.may_anchor(r, *w)))
            .collect();
        shape.detached.extend(&lost);
        let nameless = |w: &&OpId| !read_behind(values, **w).is_some_and(|r| names_key(values, r));
        let before = loaded.len();
        loaded.extend(shape.detached.iter().filter(nameless));
        if loaded.len() > before {
            return Ok(None);
        }
        if lost.is_empty() {
            match shape.divide() {
                Ok(division) => return Ok(Some(join(&mut shape, division))),
                Err(Refused::Detach(writes)) => shape.detached.extend(writes),
                Err(refused @ Refused::Never) => return Err(refused.reason()),
            }
        }
    }
}

/// Joins reads of one key into one piece, and lets pieces hand over inserts of what they read, where
/// that makes the log or the plan smaller.
fn join(shape: &mut Shape<'_, '_>, first: Division) -> Division {
    let mut best = first;
    for (a, b) in shape.pairs() {
        let before = shape.joined.clone();
        let leader = before.iter().find(|(_, all)| all.contains(&a)).map_or(a, |(l, _)| *l);
        if before.values().any(|all| all.contains(&b)) {
            continue;
        }
        let mine = |w: &&OpId| read_behind(shape.values, **w) == Some(b) && !shape.detached.contains(*w);
        if shape.changes().iter().filter(mine).any(|w| !shape.may_anchor(leader, *w)) {
            continue;
        }
        shape.joined.entry(leader).or_insert_with(|| BTreeSet::from([leader])).insert(b);
        match shape.divide() {
            Ok(d) if (d.cost, d.drafts.len()) < (best.cost, best.drafts.len()) => best = d,
            _ => shape.joined = before,
        }
    }
    for (insert, leader) in shape.hostable(&best).into_iter().filter(|_| HANDS_OVER) {
        let before = shape.hosted.insert(insert, leader);
        match shape.divide() {
            Ok(d) if d.cost < best.cost => best = d,
            _ => {
                shape.hosted.remove(&insert);
                shape.hosted.extend(before.map(|leader| (insert, leader)));
            }
        }
    }
    best
}

/// The plan may read only what no procedure changes; by construction it does, and this would say so.
fn check(plan: &Program, pieces: &[Piece]) -> Result<(), Unplannable> {
    let (mut wrong, mut reads) = (false, BTreeSet::new());
    plan.body.visit(&mut |op| {
        wrong |= op.kind.is_write() || matches!(op.kind, OpKind::Keep { .. });
        reads.extend(op.kind.table());
    });
    if wrong {
        return Err(Unplannable("Its plan would write.".into()));
    }
    for piece in pieces {
        piece.program.body.visit(&mut |op| {
            let rows = matches!(op.kind, OpKind::Insert { .. } | OpKind::Delete { .. });
            wrong |= rows && op.kind.table().is_some_and(|table| reads.contains(&table));
        });
    }
    if wrong {
        return Err(Unplannable("Its plan would read before it what its pieces change.".into()));
    }
    Ok(())
}

/// What is logged and what is read out of order, in words.
fn notes(
    values: &Values<'_>,
    program: &Program,
    division: &Division,
    forced: &BTreeSet<NodeId>,
) -> Vec<Note> {
    let mut notes = Vec::new();
    let position = |op: Option<OpId>| op.map_or(0, |op| values.code[&op].position);
    for n in division.kept.iter().chain(forced) {
        let node = &values.nodes[*n];
        let column = match node.kind {
            NodeKind::Read { read, column } => column.map(|c| (values.reads[read].table, c)),
            _ => None,
        };
        let subject = match (&node.kind, node.op.and_then(|op| values.code[&op].kind.table())) {
            (NodeKind::Turn, Some(table)) => Subject::LogsTurns(table),
            _ => Subject::Logs {
                variable: node.reg.and_then(|r| program.regs[r.index()].name.clone()),
                column,
                each_turn: node.depth > 0 && node.place != Place::After,
            },
        };
        notes.push(Note { position: position(node.op), subject });
    }
    for read in &division.planned_reads {
        let r = &values.reads[*read];
        let columns = match &values.code[&r.op].kind {
            OpKind::Get { columns, .. } | OpKind::Load { columns, .. } | OpKind::Scan { columns, .. } => {
                columns.iter().map(|(c, _)| *c).collect()
            }
            _ => Vec::new(),
        };
        notes.push(Note { position: position(Some(r.op)), subject: Subject::Reads(r.table, columns) });
    }
    notes.sort_by_key(|n| n.position);
    notes
}
