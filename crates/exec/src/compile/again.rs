//! What a program computes or looks up again: `SELECT .. WHERE id = x` and then `UPDATE .. WHERE id = x`, `items[i]` in every line of a loop.
//!
//! A walk in program order numbers values: registers with the same number hold the same value. A function of values that it
//! has been computed of before becomes a copy. A lookup by a key that was looked up before, of a table that nothing has
//! changed since, is found with the first one: that one reads the columns of both, and the second one is made only where
//! what was read need not stand any more ([`Hints::reads_stand`](planaria_protocol::Hints::reads_stand)). Of lookups that are
//! made ahead by one key, only the first one is.
//!
//! What is known is known on every way to where it is used: in branches what was known before them, in loops the values that
//! no turn changes, and no lookups from outside; behind a block what it does before anything may leave it.

use super::simplify::Uses;
use planaria_base::{ColumnId, Datum, IndexId, TableId, Type};
use planaria_ir::{Block, Func, Label, Op, OpId, OpKind, Program, ReadMode, Reg, RegDecl, RegKind};
use std::collections::{HashMap, HashSet};

/// What is remembered at a time; more is forgotten, the oldest first.
const VALUES_MAX: usize = 64;
const LOOKUPS_MAX: usize = 8;

/// Lookups that are made again, each with the register that has the row since the first one.
pub(super) type Again = HashMap<OpId, Reg>;

/// The same value as another register with this number.
type Number = u32;

#[derive(Clone)]
struct Value {
    func: Func,
    args: Vec<Number>,
    dst: Reg,
    number: Number,
}

#[derive(Clone)]
struct Lookup {
    op: OpId,
    table: TableId,
    index: IndexId,
    key: Vec<Number>,
    row: Reg,
    number: Number,
    /// Registers that have been read since.
    read: HashSet<Reg>,
}

/// A lookup that is made ahead.
type Ahead = (TableId, IndexId, Vec<Number>);

/// What is known at a point of the program.
#[derive(Clone, Default)]
struct Known {
    values: Vec<Value>,
    lookups: Vec<Lookup>,
    aheads: Vec<Ahead>,
}

struct Finder<'p> {
    regs: &'p [RegDecl],
    uses: &'p Uses,
    numbers: Vec<Number>,
    next: Number,
    constants: Vec<(Datum, Number)>,
    again: Again,
    /// What first lookups read for those that follow.
    more: HashMap<OpId, Vec<(ColumnId, Reg)>>,
    ahead: Option<Label>,
    /// Whether lookups are looked for, too.
    lookups: bool,
}

/// Makes copies of what is computed again; lookups stay where they are.
pub(super) fn find_values(program: &mut Program) {
    find_in(program, None, false);
}

/// Makes copies of what is computed again, and lets first lookups read the columns of all. The program has been numbered. What it
/// does ahead, in the block of this label, may be passed over, or left anywhere.
pub(super) fn find(program: &mut Program, ahead: Option<Label>) -> Again {
    find_in(program, ahead, true)
}

fn find_in(program: &mut Program, ahead: Option<Label>, lookups: bool) -> Again {
    let uses = Uses::of(program);
    let mut body = std::mem::take(&mut program.body);
    let mut finder = Finder {
        regs: &program.regs,
        uses: &uses,
        numbers: (0..program.regs.len() as Number).collect(),
        next: program.regs.len() as Number,
        constants: Vec::new(),
        again: Again::new(),
        more: HashMap::new(),
        ahead,
        lookups,
    };
    finder.block(&mut body, &mut Known::default());
    let Finder { again, mut more, .. } = finder;
    if !more.is_empty() {
        body.visit_mut(&mut |op| {
            if let OpKind::Get { columns, .. } = &mut op.kind
                && let Some(more) = more.remove(&op.id)
            {
                columns.extend(more);
            }
        });
    }
    program.body = body;
    again
}

impl Finder<'_> {
    fn number(&self, reg: Reg) -> Number {
        self.numbers[reg.index()]
    }

    fn fresh(&mut self, reg: Reg) {
        self.numbers[reg.index()] = self.next;
        self.next += 1;
    }

    /// Everything that a block may write has another value from here on.
    fn rewritten(&mut self, ops: &[Op], known: &mut Known) {
        let mut written = Vec::new();
        visit(ops, &mut |op| {
            op.kind.writes(&mut |r| written.push(r));
            changes(&op.kind, known);
            self.note_reads(&op.kind, known);
        });
        written.into_iter().for_each(|r| self.fresh(r));
    }

    fn note_reads(&self, kind: &OpKind, known: &mut Known) {
        for lookup in &mut known.lookups {
            kind.reads(&mut |r| {
                lookup.read.insert(r);
            });
        }
    }

    fn block(&mut self, block: &mut Block, known: &mut Known) {
        self.ops(&mut block.0, known);
    }

    fn ops(&mut self, ops: &mut [Op], known: &mut Known) {
        for at in 0..ops.len() {
            let (before, rest) = ops.split_at_mut(at + 1);
            let op = &mut before[at];
            self.note_reads(&op.kind, known);
            match &mut op.kind {
                OpKind::Loop { body, .. }
                | OpKind::Scan { body, .. }
                | OpKind::ForEach { body, .. }
                | OpKind::ForMatches { body, .. } => {
                    self.rewritten(&body.0, known);
                    let mut turn = Known { values: known.values.clone(), ..Known::default() };
                    op.kind.writes(&mut |r| self.fresh(r));
                    op.kind.blocks_mut(&mut |body| self.block(body, &mut turn));
                    op.kind.blocks(&mut |body| self.rewritten(&body.0, known));
                    op.kind.writes(&mut |r| self.fresh(r));
                    continue;
                }
                OpKind::If { then, otherwise, .. } => {
                    let before = self.numbers.clone();
                    self.block(then, &mut known.clone());
                    self.numbers = before;
                    self.block(otherwise, &mut known.clone());
                    op.kind.blocks(&mut |block| self.rewritten(&block.0, known));
                    continue;
                }
                OpKind::Block { label, body } => {
                    let sure = match self.ahead == Some(*label) {
                        true => 0,
                        false => body.0.iter().take_while(|op| !may_leave(op)).count(),
                    };
                    let (sure, rest) = body.0.split_at_mut(sure);
                    self.ops(sure, known);
                    self.ops(rest, &mut known.clone());
                    self.rewritten(rest, known);
                    continue;
                }
                OpKind::Try { body, handlers } => {
                    self.block(body, &mut known.clone());
                    self.rewritten(&body.0, known);
                    for handler in handlers {
                        [handler.sqlstate, handler.sqlerrm].into_iter().for_each(|r| self.fresh(r));
                        handler.diagnostics.iter().for_each(|(_, r)| self.fresh(*r));
                        self.block(&mut handler.body, &mut known.clone());
                        self.rewritten(&handler.body.0, known);
                    }
                    continue;
                }
                OpKind::Const { dst, value } if is_plain(value) => {
                    let number = self.constant(value);
                    self.numbers[dst.index()] = number;
                    continue;
                }
                OpKind::Copy { dst, src } => {
                    self.numbers[dst.index()] = self.number(*src);
                    continue;
                }
                OpKind::Apply { dst, func, args } if self.is_kept(*func, *dst) => {
                    let args: Vec<Number> = args.iter().map(|a| self.number(*a)).collect();
                    let (dst, func) = (*dst, *func);
                    let same = |v: &&Value| {
                        v.func == func && v.args == args && self.number(v.dst) == v.number && v.dst != dst
                    };
                    match known.values.iter().find(same) {
                        Some(value) => {
                            self.numbers[dst.index()] = value.number;
                            op.kind = OpKind::Copy { dst, src: value.dst };
                        }
                        None => {
                            self.fresh(dst);
                            if known.values.len() == VALUES_MAX {
                                known.values.remove(0);
                            }
                            known.values.push(Value { func, args, dst, number: self.number(dst) });
                        }
                    }
                    continue;
                }
                OpKind::Get { table, index, key, mode: ReadMode::Plain, row, columns } if self.lookups => {
                    let key: Vec<Number> = key.iter().map(|r| self.number(*r)).collect();
                    // Nobody sees that it has them earlier: they are written here alone, and read behind it.
                    let own = |r: &Reg| {
                        self.uses.writes[r.index()] == 1 && self.uses.reads[r.index()] == reads_of(*r, rest)
                    };
                    let same = |l: &&Lookup| {
                        (l.table, l.index) == (*table, *index)
                            && l.key == key
                            && self.number(l.row) == l.number
                            && columns.iter().all(|(_, r)| !l.read.contains(r))
                    };
                    match known.lookups.iter().find(same).filter(|_| columns.iter().all(|(_, r)| own(r))) {
                        Some(first) => {
                            self.again.insert(op.id, first.row);
                            self.more.entry(first.op).or_default().extend(columns.iter().copied());
                            op.kind.writes(&mut |r| self.fresh(r));
                        }
                        None => {
                            let (op, table, index, row) = (op.id, *table, *index, *row);
                            self.fresh(row);
                            columns.iter().for_each(|(_, r)| self.fresh(*r));
                            if known.lookups.len() == LOOKUPS_MAX {
                                known.lookups.remove(0);
                            }
                            let (number, read) = (self.number(row), HashSet::new());
                            known.lookups.push(Lookup { op, table, index, key, row, number, read });
                        }
                    }
                    continue;
                }
                OpKind::Get { table, index, key, mode: ReadMode::Ahead, row, columns }
                    if columns.is_empty() =>
                {
                    let ahead = (*table, *index, key.iter().map(|r| self.number(*r)).collect());
                    if known.aheads.contains(&ahead) {
                        // Nothing at all: it is swept.
                        op.kind = OpKind::Copy { dst: *row, src: *row };
                    } else {
                        if known.aheads.len() == LOOKUPS_MAX {
                            known.aheads.remove(0);
                        }
                        known.aheads.push(ahead);
                    }
                    continue;
                }
                _ => {}
            }
            changes(&op.kind, known);
            op.kind.writes(&mut |r| self.fresh(r));
        }
    }

    fn constant(&mut self, value: &Datum) -> Number {
        if let Some((_, number)) = self.constants.iter().find(|(v, _)| v == value) {
            return *number;
        }
        self.next += 1;
        if self.constants.len() < VALUES_MAX {
            self.constants.push((value.clone(), self.next - 1));
        }
        self.next - 1
    }

    /// Whether it pays, and is right, to keep what a function answers. What is asked becomes part of a jump; arrays are changed in
    /// place; and the time zone may be another one the next time.
    fn is_kept(&self, func: Func, dst: Reg) -> bool {
        let decl = &self.regs[dst.index()];
        !func.reads_zone()
            && matches!(&decl.kind, RegKind::Value(ty) if !matches!(ty.base(), Type::Array(_) | Type::Bool))
    }
}

/// Calls `f` with operations and all within them.
fn visit(ops: &[Op], f: &mut dyn FnMut(&Op)) {
    for op in ops {
        f(op);
        op.kind.blocks(&mut |block| visit(&block.0, f));
    }
}

/// How often they read a register.
fn reads_of(reg: Reg, ops: &[Op]) -> u32 {
    let mut reads = 0;
    visit(ops, &mut |op| op.kind.reads(&mut |r| reads += u32::from(r == reg)));
    reads
}

/// Whether an operation may go on elsewhere than behind it.
fn may_leave(op: &Op) -> bool {
    let mut leaves = false;
    visit(std::slice::from_ref(op), &mut |op| {
        leaves |= matches!(op.kind, OpKind::Exit { .. } | OpKind::Continue { .. } | OpKind::Return)
    });
    leaves
}

fn is_plain(value: &Datum) -> bool {
    matches!(value, Datum::Int(_) | Datum::Bool(_) | Datum::Null)
}

/// Forgets the lookups that an operation may give another answer.
fn changes(kind: &OpKind, known: &mut Known) {
    match kind {
        OpKind::Insert { table, .. } | OpKind::Update { table, .. } | OpKind::Delete { table, .. } => {
            known.lookups.retain(|l| l.table != *table)
        }
        OpKind::Call { .. }
        | OpKind::CallSet { .. }
        | OpKind::Execute { .. }
        | OpKind::EndTransaction { .. }
        | OpKind::Ask { .. } => known.lookups.clear(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program over these registers: which of its lookups, counted from 0, are made again, and its text afterwards.
    fn again(body: &str) -> (Vec<usize>, String) {
        let mut program = program(body);
        let found = find(&mut program, None);
        let mut gets = Vec::new();
        program.body.visit(&mut |op| {
            if matches!(op.kind, OpKind::Get { .. }) {
                gets.push(op.id);
            }
        });
        let places = gets.iter().enumerate().filter(|(_, id)| found.contains_key(id)).map(|(at, _)| at);
        (places.collect(), program.to_string())
    }

    fn program(body: &str) -> Program {
        let text = format!(
            "procedure p
  reg k: int8
  reg a: int8
  reg b: int8
  reg c: int8
  reg r: row t0
  reg q: row t0
  reg x: int8
  reg y: int8
  reg yes: bool
  reg z: int8
  reg t: text
  reg all: int8[]
  param in k: int8 = k
  param in yes: bool = yes
  param in all: int8[] = all
  outs (c)
  labels 3
begin
{body}
end
"
        );
        let mut program = planaria_ir::text::parse(&text).expect("it is a program");
        program.renumber();
        program
    }

    #[test]
    fn a_row_is_found_with_its_first_lookup() {
        let (found, text) = again(
            "  a = int8.add(k, k)
  get t0.i0 (a) -> r, c0 = x
  b = int8.add(k, k)
  get t0.i0 (b) -> q, c1 = y",
        );
        assert_eq!(found, [1]);
        assert_eq!(text.matches("int8.add").count(), 1, "{text}");
        assert_eq!(text.matches("c1 = ").count(), 2, "the first one reads both columns: {text}");
    }

    #[test]
    fn what_changes_the_table_is_seen() {
        for between in ["  update t0 r set c1 = k", "  delete t0 r", "  call p0 (k) -> (b)"] {
            let body = format!("  get t0.i0 (k) -> r, c0 = x\n{between}\n  get t0.i0 (k) -> q, c1 = y");
            assert_eq!(again(&body).0, [0usize; 0], "{between}");
            let body = format!(
                "  get t0.i0 (k) -> r, c0 = x\n  if yes {{\n  {between}\n  }}\n  get t0.i0 (k) -> q, c1 = y"
            );
            assert_eq!(again(&body).0, [0usize; 0], "{between} in a branch");
        }
        let other = "  get t0.i0 (k) -> r, c0 = x\n  update t1 r set c1 = k\n  get t0.i0 (k) -> q, c1 = y";
        assert_eq!(again(other).0, [1]);
    }

    #[test]
    fn another_key_is_another_row() {
        assert_eq!(
            again("  get t0.i0 (k) -> r, c0 = x\n  k = int8.add(k, k)\n  get t0.i0 (k) -> q, c1 = y").0,
            [0usize; 0]
        );
        assert_eq!(again("  get t0.i0 (k) -> r, c0 = x\n  get t0.i1 (k) -> q, c1 = y").0, [0usize; 0]);
    }

    #[test]
    fn what_one_way_has_looked_up_the_other_does_not_know() {
        let body = "  if yes {
    get t0.i0 (k) -> r, c0 = x
    a = int8.add(k, k)
  }
  get t0.i0 (k) -> q, c1 = y
  b = int8.add(k, k)";
        let (found, text) = again(body);
        assert_eq!(found, [0usize; 0]);
        assert_eq!(text.matches("int8.add").count(), 2, "{text}");
        let body = "  get t0.i0 (k) -> r, c0 = x
  if yes {
    get t0.i0 (k) -> q, c1 = y
  }";
        assert_eq!(again(body).0, [1]);
    }

    #[test]
    fn a_turn_of_a_loop_begins_anew() {
        let body = "  get t0.i0 (k) -> r, c0 = x
  a = int8.add(x, x)
  loop l0 {
    get t0.i0 (k) -> q, c1 = y
    b = int8.add(x, x)
    c = int8.add(c, c)
    if yes {
      exit l0
    }
    c = int8.add(c, c)
  }";
        let (found, text) = again(body);
        assert_eq!(found, [0usize; 0]);
        assert_eq!(text.matches("int8.add").count(), 3, "what no turn changes is known: {text}");
    }

    #[test]
    fn a_key_may_be_an_element_and_a_turn_of_a_loop_have_branches() {
        let body = "  loop l0 {
    b = array.get(all, k)
    get t0.i0 (b) -> r, c0 = x
    yes = is.notnull(r)
    if yes {
      a = int8.add(x, k)
    } else {
      raise exception 'P0002' t
    }
    c = array.get(all, k)
    get t0.i0 (c) -> q, c1 = y
    yes = is.notnull(q)
    if yes {
      load t0 q -> c0 = z
      update t0 q set c1 = z
    }
  }";
        assert_eq!(again(body).0, [1], "{}", again(body).1);
    }

    #[test]
    fn a_variable_that_may_be_read_elsewhere_is_not_written_earlier() {
        let first = "  get t0.i0 (k) -> r, c0 = x\n";
        let behind = "  if yes {\n    get t0.i0 (k) -> q, c1 = y\n    a = int8.add(y, y)\n  }";
        assert_eq!(again(&format!("{first}{behind}")).0, [1]);
        assert_eq!(again(&format!("{first}{behind}\n  b = int8.add(y, y)")).0, [0usize; 0]);
        assert_eq!(again(&format!("  b = int8.add(y, y)\n{first}{behind}")).0, [0usize; 0]);
    }

    #[test]
    fn what_a_block_does_before_anything_may_leave_it_is_known_behind() {
        let block = |first: &str, second: &str| {
            format!(
                "  block l1 {{
{first}
    if yes {{
      exit l1
    }}
{second}
  }}
  get t0.i0 (k) -> q, c1 = y
  b = int8.add(k, k)"
            )
        };
        let get = "    get t0.i0 (k) -> r, c0 = x\n    a = int8.add(k, k)";
        let (found, text) = again(&block(get, ""));
        assert_eq!((found, text.matches("int8.add").count()), (vec![1], 1), "{text}");
        let (found, text) = again(&block("", get));
        assert_eq!((found, text.matches("int8.add").count()), (vec![], 2), "{text}");
        assert_eq!(again(&block(get, "    update t0 r set c1 = k")).0, [0usize; 0]);
    }

    #[test]
    fn what_is_done_ahead_is_known_nowhere_else() {
        let body = "  block l2 {
    get t0.i0 (k) ahead -> r
    a = int8.add(k, k)
  }
  b = int8.add(k, k)
  get t0.i0 (k) -> q, c1 = y";
        let mut program = program(body);
        find(&mut program, Some(Label(2)));
        let text = program.to_string();
        assert_eq!(text.matches("int8.add").count(), 2, "{text}");
    }

    #[test]
    fn what_is_looked_up_ahead_is_so_once() {
        let body = "  block l1 {
    get t0.i0 (k) ahead -> r
    a = int8.add(k, k)
    get t0.i0 (a) ahead -> q
    b = int8.add(k, k)
    get t0.i0 (b) ahead -> r
    get t0.i1 (b) ahead -> r
  }";
        let text = again(body).1;
        assert_eq!(text.matches("ahead").count(), 3, "{text}");
    }

    #[test]
    fn a_column_that_is_read_before_keeps_its_value() {
        let body = "  get t0.i0 (k) -> r, c0 = x\n  a = int8.add(y, y)\n  get t0.i0 (k) -> q, c1 = y";
        assert_eq!(again(body).0, [0usize; 0]);
    }
}
