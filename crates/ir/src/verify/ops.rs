//! Entities, kinds and control: one walk over the operations with the labels in scope.

use super::{IndexShape, VerifyEnv, comparable, holds, kind_holds};
use crate::func::Sig;
use crate::{
    Block, Bound, Coll, CollDecl, CollKind, Func, Label, Op, OpKind, Program, ProgramKind, Range, Reg,
    RegKind, Run, SortKey, StateSource,
};
use planaria_base::types::{PackedKind, TypeClass};
use planaria_base::{ColumnId, Datum, Error, IndexId, Result, TableId, Type};

pub(super) fn check(program: &Program, env: &dyn VerifyEnv) -> Result<()> {
    let mut walk = Walk {
        program,
        env,
        labels: Vec::new(),
        seen: vec![false; program.labels as usize],
        iterated: Vec::new(),
        handlers: 0,
    };
    walk.block(&program.body)
}

struct Walk<'a> {
    program: &'a Program,
    env: &'a dyn VerifyEnv,
    /// Labels in scope; whether the region is loop-like.
    labels: Vec<(Label, bool)>,
    /// Labels that have had their region.
    seen: Vec<bool>,
    /// Collections being iterated.
    iterated: Vec<Coll>,
    /// Depth of handlers around.
    handlers: u32,
}

/// What is wrong with an operation, without saying yet where it stands.
type Check = Result<(), String>;

macro_rules! ensure {
    ($cond:expr, $($message:tt)*) => { if !$cond { return Err(format!($($message)*)); } };
}

impl Walk<'_> {
    fn block(&mut self, block: &Block) -> Result<()> {
        planaria_base::stack::check()?;
        planaria_base::watch::check()?;
        for op in &block.0 {
            self.op(op).map_err(|what| {
                Error::internal(format!("verifier: {}: {}: {what}", self.program.name, op.id))
            })?;
            self.inner(op)?;
        }
        Ok(())
    }

    /// Walks the blocks of an operation that was checked.
    fn inner(&mut self, op: &Op) -> Result<()> {
        match &op.kind {
            OpKind::If { then, otherwise, .. } => {
                self.block(then)?;
                self.block(otherwise)
            }
            OpKind::Try { body, handlers } => {
                self.block(body)?;
                self.handlers += 1;
                for h in handlers {
                    self.block(&h.body)?;
                }
                self.handlers -= 1;
                Ok(())
            }
            OpKind::Block { label, body } => self.region(*label, false, None, body),
            OpKind::Loop { label, body } | OpKind::Scan { label, body, .. } => {
                self.region(*label, true, None, body)
            }
            OpKind::ForEach { coll, label, body, .. } | OpKind::ForMatches { coll, label, body, .. } => {
                self.region(*label, true, Some(*coll), body)
            }
            _ => Ok(()),
        }
    }

    fn region(&mut self, label: Label, looping: bool, coll: Option<Coll>, body: &Block) -> Result<()> {
        self.labels.push((label, looping));
        self.iterated.extend(coll);
        let done = self.block(body);
        if coll.is_some() {
            self.iterated.pop();
        }
        self.labels.pop();
        done
    }

    fn op(&mut self, op: &Op) -> Check {
        let mut bad = None;
        let mut in_range = |r: Reg| {
            if r.index() >= self.program.regs.len() {
                bad = Some(r);
            }
        };
        op.kind.reads(&mut in_range);
        op.kind.writes(&mut in_range);
        ensure!(bad.is_none(), "{} is not declared", bad.expect("checked"));
        if let Some(label) = op.kind.label() {
            let seen = self.seen.get_mut(label.index()).ok_or(format!("{label} is not declared"))?;
            ensure!(!std::mem::replace(seen, true), "{label} belongs to another region");
        }
        match &op.kind {
            OpKind::Const { .. }
            | OpKind::Copy { .. }
            | OpKind::Apply { .. }
            | OpKind::Cast { .. }
            | OpKind::Draw { .. }
            | OpKind::NextValue { .. }
            | OpKind::CurrentValue { .. }
            | OpKind::SetValue { .. }
            | OpKind::ArraySet { .. } => self.value_op(&op.kind),
            OpKind::If { cond, .. } => self.is(*cond, &Type::Bool),
            OpKind::Loop { .. } | OpKind::Block { .. } | OpKind::Return | OpKind::EndTransaction { .. } => {
                Ok(())
            }
            OpKind::Exit { label } => {
                ensure!(self.labels.iter().any(|(l, _)| l == label), "{label} is not around it");
                Ok(())
            }
            OpKind::Continue { label } => {
                ensure!(self.labels.contains(&(*label, true)), "{label} is no loop around it");
                Ok(())
            }
            OpKind::Try { handlers, .. } => {
                for h in handlers {
                    ensure!(!h.catches.is_empty(), "a handler without conditions");
                    self.text(h.sqlstate)?;
                    self.text(h.sqlerrm)?;
                    h.diagnostics.iter().try_for_each(|(_, r)| self.text(*r))?;
                }
                Ok(())
            }
            OpKind::Notify { channel, payload } => {
                self.text(*channel)?;
                self.text(*payload)
            }
            OpKind::Raise { state, message, fields, .. } => {
                match state {
                    StateSource::Computed(r) => self.text(*r)?,
                    StateSource::Current => ensure!(self.handlers > 0, "no error is being handled here"),
                    StateSource::Known(_) => {}
                }
                self.text(*message)?;
                fields.regs().try_for_each(|r| self.text(*r))
            }
            OpKind::Call { .. } | OpKind::CallSet { .. } | OpKind::Execute { .. } | OpKind::Emit { .. } => {
                self.call_op(&op.kind)
            }
            OpKind::Ask { dst, question, args } => {
                let sigs = question.args();
                ensure!(args.len() == sigs.len(), "{} takes {} arguments", question.name(), sigs.len());
                for (arg, sig) in args.iter().zip(sigs) {
                    let ty = self.value(*arg)?;
                    ensure!(sig_fits(*sig, ty), "{arg} of type {ty} is no argument of {}", question.name());
                }
                let ty = self.value(*dst)?;
                ensure!(sig_fits(question.result(), ty), "{} answers no {ty}", question.name());
                Ok(())
            }
            OpKind::SystemRows { relation, columns, into } => {
                let decl = self.coll(*into, &[CollKind::List])?;
                self.unchanged(*into)?;
                ensure!(decl.values.len() == columns.len(), "{into} has another number of columns");
                let Some(types) = self.env.system(*relation) else {
                    return Err(format!("{relation} does not exist"));
                };
                for (column, kind) in columns.iter().zip(&decl.values) {
                    let fits =
                        types.get(column.index()).is_some_and(|ty| *kind == RegKind::Value(ty.clone()));
                    ensure!(fits, "{column} of {relation} does not fit {into}");
                }
                Ok(())
            }
            OpKind::Keep { values } => {
                ensure!(!values.is_empty(), "nothing is kept");
                values.iter().try_for_each(|r| self.value(*r).map(|_| ()))
            }
            OpKind::Piece { args, .. } => args.iter().try_for_each(|r| self.value(*r).map(|_| ())),
            OpKind::Get { .. }
            | OpKind::Scan { .. }
            | OpKind::Load { .. }
            | OpKind::Insert { .. }
            | OpKind::Update { .. }
            | OpKind::Delete { .. }
            | OpKind::Claim { .. } => self.table_op(&op.kind),
            OpKind::Clear { .. }
            | OpKind::Push { .. }
            | OpKind::Fill { .. }
            | OpKind::Len { .. }
            | OpKind::Sort { .. }
            | OpKind::Trim { .. }
            | OpKind::MapGet { .. }
            | OpKind::MapPut { .. }
            | OpKind::ForEach { .. }
            | OpKind::ForMatches { .. }
            | OpKind::SetEntry { .. } => self.coll_op(&op.kind),
        }
    }

    fn value_op(&self, kind: &OpKind) -> Check {
        match kind {
            OpKind::Const { dst, value } => {
                let fits = match self.kind(*dst) {
                    RegKind::Row(_) => value.is_null(),
                    RegKind::Value(ty) => datum_fits(value, ty),
                };
                ensure!(fits, "{value:?} is no value of {dst}");
                Ok(())
            }
            OpKind::Copy { dst, src } => self.moves(self.kind(*dst), *src),
            OpKind::Apply { dst, func, args } => self.apply(*dst, *func, args),
            OpKind::Cast { dst, src, .. } => {
                self.value(*dst)?;
                self.value(*src).map(|_| ())
            }
            OpKind::Draw { dst, input } => {
                use crate::Draw::*;
                let ty = self.value(*dst)?;
                let fits = match input {
                    TransactionTimestamp | StatementTimestamp | ClockTimestamp => {
                        matches!(ty.plain(), Type::Timestamp | Type::TimestampTz)
                    }
                    Random => *ty == Type::Float8,
                    Uuid => *ty == Type::Uuid,
                    TransactionId | LastValue => *ty == Type::Int8,
                    Kept => true,
                    CurrentUser | SessionUser | CurrentDatabase | Setting => *ty == Type::Text,
                    Permitted(_) | RowSecurity(_) | ActsAs(_) | RowSecurityOff => *ty == Type::Bool,
                };
                ensure!(fits, "{input:?} is no value of type {ty}");
                Ok(())
            }
            OpKind::NextValue { dst, sequence } | OpKind::CurrentValue { dst, sequence } => {
                ensure!(self.env.sequence(*sequence), "{sequence} does not exist");
                self.is(*dst, &Type::Int8)
            }
            OpKind::SetValue { sequence, value, is_called } => {
                ensure!(self.env.sequence(*sequence), "{sequence} does not exist");
                self.class(*value, TypeClass::Integer)?;
                self.is(*is_called, &Type::Bool)
            }
            OpKind::ArraySet { array, index, value } => {
                let Type::Array(element) = self.value(*array)? else {
                    return Err(format!("{array} is no array"));
                };
                // One subscript, or an array of them.
                if *self.value(*index)? != Type::Array(Box::new(Type::Int4)) {
                    self.class(*index, TypeClass::Integer)?;
                }
                self.moves(&RegKind::Value((**element).clone()), *value)
            }
            _ => unreachable!("dispatched by op()"),
        }
    }

    fn apply(&self, dst: Reg, func: Func, args: &[Reg]) -> Check {
        let fixed = func.args();
        ensure!(
            if func.variadic().is_some() { args.len() >= fixed.len() } else { args.len() == fixed.len() },
            "{func} with {} arguments",
            args.len()
        );
        if matches!(func, Func::IsNull | Func::IsNotNull) && matches!(self.kind(args[0]), RegKind::Row(_)) {
            return self.is(dst, &Type::Bool);
        }
        let ordered =
            matches!(func, Func::IntEq | Func::IntNe | Func::IntLt | Func::IntLe | Func::IntGt | Func::IntGe);
        for (i, arg) in args.iter().enumerate() {
            let sig = fixed.get(i).copied().or(func.variadic()).expect("counted above");
            let ty = self.value(*arg)?;
            let fits = sig_fits(sig, ty)
                || (ordered && matches!(ty.class(), TypeClass::DateTime | TypeClass::Time | TypeClass::Enum));
            ensure!(fits, "{func} with {arg} of type {ty} as argument {}", i + 1);
        }
        let pair = matches!(func, Func::Distinct | Func::NotDistinct | Func::Compare | Func::Min | Func::Max);
        if pair || ordered || matches!(func, Func::Greatest | Func::Least) {
            ensure!(!args.is_empty(), "{func} of nothing");
            let first = self.value(args[0])?;
            for arg in &args[1..] {
                ensure!(comparable(first, self.value(*arg)?), "{func} over different classes");
            }
        }
        let ty = self.value(dst)?;
        ensure!(sig_fits(func.result(), ty), "{func} gives no {ty}");
        Ok(())
    }

    fn call_op(&self, kind: &OpKind) -> Check {
        match kind {
            OpKind::Call { procedure, args, .. } | OpKind::CallSet { procedure, args, .. } => {
                let signature =
                    self.env.procedure(*procedure).ok_or(format!("{procedure} does not exist"))?;
                ensure!(args.len() == signature.inputs.len(), "{procedure} with {} arguments", args.len());
                for (arg, ty) in args.iter().zip(&signature.inputs) {
                    self.moves(&RegKind::Value(ty.base()), *arg)?;
                }
                match kind {
                    OpKind::Call { outs, .. } => {
                        ensure!(!signature.set, "{procedure} answers with rows");
                        ensure!(
                            outs.len() == signature.outputs.len(),
                            "{procedure} with {} results",
                            outs.len()
                        );
                        for (out, ty) in outs.iter().zip(&signature.outputs) {
                            ensure!(holds(self.value(*out)?, ty), "{out} does not hold a {ty}");
                        }
                        Ok(())
                    }
                    OpKind::CallSet { into, .. } => {
                        ensure!(signature.set, "{procedure} does not answer with rows");
                        let decl = self.coll(*into, &[CollKind::List])?;
                        self.unchanged(*into)?;
                        let fits = decl.values.len() == signature.outputs.len()
                            && decl
                                .values
                                .iter()
                                .zip(&signature.outputs)
                                .all(|(k, ty)| matches!(k, RegKind::Value(v) if holds(v, ty)));
                        ensure!(fits, "{into} does not hold the rows of {procedure}");
                        Ok(())
                    }
                    _ => unreachable!(),
                }
            }
            OpKind::Execute { text, args, rows, row_count, run } => {
                self.text(*text)?;
                match run {
                    Run::Statement | Run::Constraints | Run::Steps(_) => {}
                    Run::Among(names) => {
                        ensure!(names.len() <= args.len(), "each table of rows is an argument");
                    }
                    Run::Open { name, columns, .. } => {
                        self.text(*name)?;
                        ensure!(
                            rows.is_some() == columns.is_some(),
                            "rows and their columns belong together"
                        );
                    }
                    Run::Fetch(_) => {
                        let [count] = args[..] else {
                            return Err("a cursor moves by one number".to_owned());
                        };
                        self.is(count, &Type::Int8)?;
                    }
                    Run::Close => ensure!(args.is_empty() && rows.is_none(), "CLOSE takes a name alone"),
                }
                for arg in args {
                    self.value(*arg)?;
                }
                if let Some(rows) = rows {
                    let decl = self.coll(*rows, &[CollKind::List])?;
                    self.unchanged(*rows)?;
                    let values = decl.values.iter().all(|k| matches!(k, RegKind::Value(_)));
                    ensure!(values, "{rows} holds row handles");
                }
                self.is(*row_count, &Type::Int8)
            }
            OpKind::Emit { values } => {
                let rows = matches!(self.program.kind, ProgramKind::SetFunction | ProgramKind::Statement);
                ensure!(rows, "this kind of program emits no rows");
                let outputs = &self.program.outputs;
                ensure!(
                    values.len() == outputs.len(),
                    "{} columns emitted, not {}",
                    values.len(),
                    outputs.len()
                );
                for (r, o) in values.iter().zip(outputs) {
                    self.moves(&RegKind::Value(o.ty.clone()), *r)?;
                }
                Ok(())
            }
            _ => unreachable!("dispatched by op()"),
        }
    }

    fn table_op(&self, kind: &OpKind) -> Check {
        let table = kind.table().expect("an operation on a table");
        let columns = self.env.columns(table).ok_or(format!("{table} does not exist"))?;
        match kind {
            OpKind::Get { index, key, row, columns: outs, .. } => {
                let shape = self.index(table, *index)?;
                ensure!(shape.unique, "{table}.{index} is not unique");
                ensure!(key.len() == shape.columns.len(), "{} key columns", key.len());
                self.keys(&shape, &columns, key, None)?;
                self.row(*row, table)?;
                self.loads(&columns, outs)
            }
            OpKind::Scan { index, range, row, columns: outs, .. } => {
                let shape = self.index(table, *index)?;
                let Range { prefix, lower, upper } = range;
                let bounded = usize::from(lower.is_some() || upper.is_some());
                ensure!(prefix.len() + bounded <= shape.columns.len(), "more keys than columns");
                self.keys(&shape, &columns, prefix, None)?;
                for Bound { reg, .. } in lower.iter().chain(upper) {
                    self.keys(&shape, &columns, prefix, Some(*reg))?;
                }
                self.row(*row, table)?;
                self.loads(&columns, outs)
            }
            OpKind::Load { row, columns: outs, .. } => {
                self.row(*row, table)?;
                self.loads(&columns, outs)
            }
            OpKind::Insert { values, row, .. } => {
                ensure!(
                    values.len() == columns.len(),
                    "{} values for {} columns",
                    values.len(),
                    columns.len()
                );
                for (ty, r) in columns.iter().zip(values) {
                    self.moves(&RegKind::Value(ty.clone()), *r)?;
                }
                row.iter().try_for_each(|r| self.row(*r, table))
            }
            OpKind::Update { row, set, .. } => {
                self.row(*row, table)?;
                ensure!(!set.is_empty(), "an update of no column");
                for (i, (c, r)) in set.iter().enumerate() {
                    ensure!(!set[..i].iter().any(|(d, _)| d == c), "{c} is set twice");
                    let ty = columns.get(c.index()).ok_or(format!("{table} has no {c}"))?;
                    self.moves(&RegKind::Value(ty.clone()), *r)?;
                }
                Ok(())
            }
            OpKind::Delete { row, .. } => self.row(*row, table),
            OpKind::Claim { row, granted, .. } => {
                self.row(*row, table)?;
                self.is(*granted, &Type::Bool)
            }
            _ => unreachable!("dispatched by op()"),
        }
    }

    /// A list, by columns that it has.
    fn sorts(&self, coll: Coll, keys: &[SortKey]) -> Check {
        let decl = self.coll(coll, &[CollKind::List])?;
        self.unchanged(coll)?;
        for k in keys {
            let column = decl.values.get(k.column as usize);
            ensure!(
                matches!(column, Some(RegKind::Value(_))),
                "{coll} is not sorted by its column {}",
                k.column
            );
        }
        Ok(())
    }

    fn coll_op(&self, kind: &OpKind) -> Check {
        use CollKind::{List, Map, MultiMap};
        match kind {
            OpKind::Clear { coll } => {
                self.coll(*coll, &[List, Map, MultiMap])?;
                self.unchanged(*coll)
            }
            OpKind::Push { coll, values } => {
                let decl = self.coll(*coll, &[List])?;
                self.unchanged(*coll)?;
                self.fills(&decl.values, values)
            }
            OpKind::Fill { coll, rows } => {
                let decl = self.coll(*coll, &[List])?;
                self.unchanged(*coll)?;
                for row in rows.iter() {
                    let columns = decl.values.len();
                    ensure!(row.len() == columns, "{} values for {columns} columns", row.len());
                    for (kind, value) in decl.values.iter().zip(row) {
                        let fits = match kind {
                            RegKind::Row(_) => false,
                            RegKind::Value(ty) => datum_fits(value, ty),
                        };
                        ensure!(fits, "{value:?} is no value of {kind:?}");
                    }
                }
                Ok(())
            }
            OpKind::Len { dst, coll } => {
                self.coll(*coll, &[List, Map, MultiMap])?;
                self.is(*dst, &Type::Int8)
            }
            OpKind::Sort { coll, keys } => self.sorts(*coll, keys),
            OpKind::Trim { coll, keys, limit, offset, .. } => {
                self.sorts(*coll, keys)?;
                std::iter::once(limit).chain(offset).try_for_each(|r| self.class(*r, TypeClass::Integer))
            }
            OpKind::MapGet { coll, keys, found, values } => {
                let decl = self.coll(*coll, &[Map])?;
                self.fills(&decl.keys, keys)?;
                self.is(*found, &Type::Bool)?;
                self.takes(&decl.values, values)
            }
            OpKind::MapPut { coll, keys, values } => {
                let decl = self.coll(*coll, &[Map, MultiMap])?;
                self.unchanged(*coll)?;
                self.fills(&decl.keys, keys)?;
                self.fills(&decl.values, values)
            }
            OpKind::ForEach { coll, columns, entry, .. } => {
                let decl = self.coll(*coll, &[List, Map, MultiMap])?;
                let all: Vec<RegKind> = decl.keys.iter().chain(&decl.values).cloned().collect();
                self.takes(&all, columns)?;
                entry.iter().try_for_each(|r| self.is(*r, &Type::Int8))
            }
            OpKind::ForMatches { coll, keys, values, entry, .. } => {
                let decl = self.coll(*coll, &[MultiMap])?;
                self.fills(&decl.keys, keys)?;
                self.takes(&decl.values, values)?;
                entry.iter().try_for_each(|r| self.is(*r, &Type::Int8))
            }
            OpKind::SetEntry { coll, entry, column, value } => {
                let decl = self.coll(*coll, &[List, Map, MultiMap])?;
                self.is(*entry, &Type::Int8)?;
                let kind =
                    decl.values.get(*column as usize).ok_or(format!("{coll} has no column {column}"))?;
                self.moves(kind, *value)
            }
            _ => unreachable!("dispatched by op()"),
        }
    }

    // ---- pieces ----

    fn kind(&self, r: Reg) -> &RegKind {
        self.program.kind_of(r)
    }
    fn value(&self, r: Reg) -> Result<&Type, String> {
        self.program.type_of(r).ok_or(format!("{r} is a row handle"))
    }
    fn is(&self, r: Reg, ty: &Type) -> Check {
        ensure!(self.value(r)? == ty, "{r} is no {ty}");
        Ok(())
    }
    fn class(&self, r: Reg, class: TypeClass) -> Check {
        ensure!(self.value(r)?.class() == class, "{r} is no {class:?}");
        Ok(())
    }
    fn text(&self, r: Reg) -> Check {
        self.class(r, TypeClass::Text)
    }
    fn row(&self, r: Reg, table: TableId) -> Check {
        ensure!(*self.kind(r) == RegKind::Row(table), "{r} is no row of {table}");
        Ok(())
    }
    fn moves(&self, to: &RegKind, src: Reg) -> Check {
        let from = self.kind(src);
        ensure!(kind_holds(to, from), "{src} ({from:?}) does not fit {to:?}");
        Ok(())
    }
    fn index(&self, table: TableId, index: IndexId) -> Result<IndexShape, String> {
        self.env.index(table, index).ok_or(format!("{table}.{index} does not exist"))
    }
    /// The leading index columns against `prefix`, or the column after them against `next`.
    fn keys(&self, shape: &IndexShape, columns: &[Type], prefix: &[Reg], next: Option<Reg>) -> Check {
        let regs = match &next {
            None => prefix,
            Some(r) => std::slice::from_ref(r),
        };
        let from = if next.is_some() { prefix.len() } else { 0 };
        for (c, r) in shape.columns[from..].iter().zip(regs) {
            let ty = columns.get(c.index()).ok_or(format!("the index has no {c}"))?;
            ensure!(comparable(ty, self.value(*r)?), "{r} is no key for a column of type {ty}");
        }
        Ok(())
    }
    fn loads(&self, columns: &[Type], outs: &[(ColumnId, Reg)]) -> Check {
        for (c, r) in outs {
            let ty = columns.get(c.index()).ok_or(format!("there is no {c}"))?;
            ensure!(holds(self.value(*r)?, ty), "{r} does not hold {c} of type {ty}");
        }
        Ok(())
    }
    fn coll(&self, coll: Coll, kinds: &[CollKind]) -> Result<&CollDecl, String> {
        let decl = self.program.colls.get(coll.index()).ok_or(format!("{coll} is not declared"))?;
        ensure!(kinds.contains(&decl.kind), "{coll} is a {:?}", decl.kind);
        Ok(decl)
    }
    fn unchanged(&self, coll: Coll) -> Check {
        ensure!(!self.iterated.contains(&coll), "{coll} is being iterated");
        Ok(())
    }
    fn fills(&self, decl: &[RegKind], regs: &[Reg]) -> Check {
        ensure!(decl.len() == regs.len(), "{} values for {} columns", regs.len(), decl.len());
        decl.iter().zip(regs).try_for_each(|(k, r)| self.moves(k, *r))
    }
    fn takes(&self, decl: &[RegKind], regs: &[Reg]) -> Check {
        ensure!(decl.len() == regs.len(), "{} registers for {} columns", regs.len(), decl.len());
        for (k, r) in decl.iter().zip(regs) {
            ensure!(kind_holds(self.kind(*r), k), "{r} does not hold {k:?}");
        }
        Ok(())
    }
}

fn sig_fits(sig: Sig, ty: &Type) -> bool {
    match sig {
        Sig::B => *ty == Type::Bool,
        Sig::I => ty.class() == TypeClass::Integer,
        Sig::N => ty.class() == TypeClass::Numeric,
        Sig::F => ty.class() == TypeClass::Float,
        Sig::T => matches!(ty.class(), TypeClass::Text) || *ty == Type::Unknown,
        Sig::Y => matches!(*ty, Type::Bytea | Type::Range(_) | Type::Packed(_)),
        Sig::L => is_packed(ty, &[PackedKind::Network]),
        Sig::Z => is_packed(ty, &[PackedKind::Bits]),
        Sig::M => is_packed(ty, &[PackedKind::Money]),
        Sig::W => is_packed(ty, &[PackedKind::TimeTz]),
        Sig::H => is_packed(ty, &[PackedKind::MacAddr, PackedKind::MacAddr8]),
        Sig::P => is_packed(ty, &[PackedKind::TsVector]),
        Sig::Q => is_packed(ty, &[PackedKind::TsQuery]),
        Sig::R => matches!(*ty, Type::Range(_)),
        Sig::D => *ty == Type::Date,
        Sig::S => matches!(ty.plain(), Type::Timestamp | Type::TimestampTz),
        Sig::V => ty.class() == TypeClass::Interval,
        Sig::C => ty.class() == TypeClass::Time,
        Sig::U => *ty == Type::Uuid,
        Sig::E => *ty == Type::Citext,
        Sig::J => *ty == Type::Jsonb,
        Sig::K => matches!(*ty, Type::Jsonb | Type::JSON),
        Sig::A => ty.class() == TypeClass::Array,
        Sig::X => true,
    }
}

/// Whether a type is kept as bytes, and of one of these kinds.
fn is_packed(ty: &Type, kinds: &[PackedKind]) -> bool {
    matches!(ty, Type::Packed(of) if kinds.contains(&of.kind()))
}

/// Whether a datum's form is that of the type; modifiers are the lowering's business.
fn datum_fits(value: &Datum, ty: &Type) -> bool {
    match value {
        Datum::Null => true,
        Datum::Bool(_) => *ty == Type::Bool,
        Datum::Int(n) => match ty {
            Type::Int2 => i16::try_from(*n).is_ok(),
            Type::Int4 | Type::Date | Type::Enum(_) => i32::try_from(*n).is_ok(),
            &Type::TID => true,
            Type::System(_) => ty.is_oid() && u32::try_from(*n).is_ok(),
            _ => matches!(ty.class(), TypeClass::Integer | TypeClass::DateTime | TypeClass::Time),
        },
        Datum::Reg(..) => false,
        Datum::Float(_) => ty.class() == TypeClass::Float,
        Datum::Numeric(_) | Datum::Long(_) => ty.class() == TypeClass::Numeric,
        Datum::Text(_) => ty.class() == TypeClass::Text || *ty == Type::Unknown,
        Datum::Bytea(_) => matches!(*ty, Type::Bytea | Type::Range(_) | Type::Packed(_)),
        Datum::Uuid(_) => *ty == Type::Uuid,
        Datum::Jsonb(_) => *ty == Type::Jsonb,
        Datum::Citext(_) => *ty == Type::Citext,
        Datum::Interval(_) => ty.class() == TypeClass::Interval,
        Datum::Shaped(of) => match ty {
            Type::Array(element) => of.elements().iter().all(|d| datum_fits(d, element)),
            _ => false,
        },
        Datum::Array(of) => match ty {
            Type::Array(element) => of.iter().all(|d| datum_fits(d, element)),
            Type::System(system) => match system.element() {
                Some(element) => of.iter().all(|d| datum_fits(d, &element)),
                None => false,
            },
            Type::Record(fields) => {
                fields.len() == of.len() && of.iter().zip(fields.iter()).all(|(d, (_, ty))| datum_fits(d, ty))
            }
            _ => false,
        },
    }
}
