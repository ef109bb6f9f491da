//! Expressions: bound tree -> operations.

use super::Lowerer;
use super::bound::{Bound, BoundKind, RelId};
use planaria_base::types::TypeClass;
use planaria_base::{Datum, Error, Level, ProcedureId, Result, SqlState, Type, stack};
use planaria_ir::verify::holds;
use planaria_ir::{
    Block, CollDecl, CollKind, ErrorFields, Func, OpKind, Question, Reg, RegKind, StateSource,
};

impl Lowerer<'_> {
    /// Emits an expression; its value is in the register returned, which may be a variable's or a
    /// constant's own.
    pub(super) fn value(&mut self, e: &Bound) -> Result<Reg> {
        self.eval(e, None)
    }

    /// Emits an expression into a register of exactly its type.
    pub(super) fn value_into(&mut self, e: &Bound, dst: Reg) -> Result<()> {
        // What is built up piece by piece must not destroy its own inputs.
        let piecemeal = matches!(
            e.kind,
            BoundKind::Coalesce(_)
                | BoundKind::And(..)
                | BoundKind::Or(..)
                | BoundKind::Case(..)
                | BoundKind::Let(..)
                | BoundKind::InList(..)
                | BoundKind::Subquery(_)
                | BoundKind::Exists(_)
                | BoundKind::InQuery(..)
                | BoundKind::Quantified(..)
                | BoundKind::QuantifiedQuery(..)
                | BoundKind::ArrayQuery(_)
        );
        if piecemeal && self.mentions(e, dst) {
            let src = self.eval(e, None)?;
            self.emit(OpKind::Copy { dst, src });
            return Ok(());
        }
        self.eval(e, Some(dst)).map(|_| ())
    }

    fn mentions(&mut self, e: &Bound, reg: Reg) -> bool {
        let mut found = false;
        let mut e = e.clone();
        self.visit(&mut e, &mut |_, e| {
            found |= e.kind == BoundKind::Reg(reg);
            !found
        });
        found
    }

    /// The value in a register whose declared type the expression's holds.
    pub(super) fn exact(&mut self, e: &Bound) -> Result<Reg> {
        let reg = self.value(e)?;
        Ok(self.exactly(reg, &e.ty))
    }

    pub(super) fn exactly(&mut self, src: Reg, ty: &Type) -> Reg {
        if self.program.type_of(src).is_some_and(|from| holds(ty, from)) {
            return src;
        }
        let dst = self.temp(ty.clone());
        self.emit(OpKind::Cast { dst, src, explicit: false });
        dst
    }

    /// A value in the destination asked for, or where it is.
    pub(super) fn deliver(&mut self, src: Reg, dst: Option<Reg>) -> Reg {
        let Some(dst) = dst else { return src };
        let fits = match (self.program.type_of(dst), self.program.type_of(src)) {
            (Some(to), Some(from)) => holds(to, from),
            _ => true,
        };
        if fits {
            self.emit(OpKind::Copy { dst, src });
        } else {
            self.emit(OpKind::Cast { dst, src, explicit: false });
        }
        dst
    }

    fn eval(&mut self, e: &Bound, dst: Option<Reg>) -> Result<Reg> {
        let before = self.at(e.position);
        let result = stack::check().and_then(|()| self.eval_kind(e, dst));
        self.at(before);
        result
    }

    /// An operator or function with a NULL beside what may fail is NULL, and the rest of it is not computed: in statements.
    /// Routines compute it, as logs have calls of them.
    fn is_known_null(&mut self, e: &Bound) -> bool {
        self.program.kind == planaria_ir::ProgramKind::Statement
            && is_null_by_text(e, LEVELS)
            && !has_constant_part(e, LEVELS)
            && !self.is_volatile(e)
    }

    fn eval_kind(&mut self, e: &Bound, dst: Option<Reg>) -> Result<Reg> {
        let target = |l: &mut Self| dst.unwrap_or_else(|| l.temp(e.ty.clone()));
        match &e.kind {
            BoundKind::Const(value) => {
                let ty = if e.ty == Type::Unknown { Type::Text } else { e.ty.clone() };
                let src = self.constant(value.clone(), ty);
                Ok(self.deliver(src, dst))
            }
            BoundKind::Reg(reg) => Ok(self.deliver(*reg, dst)),
            BoundKind::Param(index) => {
                let known = self.params[*index].as_ref().map(|p| p.reg);
                let reg = known.ok_or_else(|| undetermined(*index))?;
                Ok(self.deliver(reg, dst))
            }
            BoundKind::Column(rel, column) => {
                let reg = self.column_reg(*rel, *column);
                Ok(self.deliver(reg, dst))
            }
            BoundKind::LetRef(id) => {
                let reg = self.lets[*id as usize];
                let reg = reg.ok_or_else(|| Error::internal("a value is used before it is bound"))?;
                Ok(self.deliver(reg, dst))
            }
            BoundKind::Relabel(inner) => {
                let reg = self.value(inner)?;
                // Its text is not that of the number which it is, and a copy would stand for what it was made of.
                if e.ty == Type::TID && self.program.type_of(reg) != Some(&Type::TID) {
                    let (number, zero) = (target(self), self.int8(0));
                    self.emit(OpKind::Apply { dst: number, func: Func::IntOr, args: vec![reg, zero] });
                    return Ok(number);
                }
                Ok(self.deliver(reg, dst))
            }
            BoundKind::PerRow(_, inner) | BoundKind::Secured(inner) => self.eval(inner, dst),
            BoundKind::InDomain(inner, domain) => {
                let reg = self.eval(inner, dst)?;
                match domain {
                    Some(id) => self.check_domain(reg, *id)?,
                    None => self.check_fields(reg, &e.ty)?,
                }
                Ok(reg)
            }
            BoundKind::Apply(..) if self.is_known_null(e) => {
                let src = self.constant(Datum::Null, e.ty.clone());
                Ok(self.deliver(src, dst))
            }
            BoundKind::Apply(func, args) => {
                let args = args.iter().map(|a| self.value(a)).collect::<Result<Vec<_>>>()?;
                let dst = target(self);
                self.emit(OpKind::Apply { dst, func: *func, args });
                Ok(dst)
            }
            BoundKind::Cast(inner, explicit) => {
                let src = self.value(inner)?;
                // Who reads a text as a label says what the type is called.
                let dst = dst.unwrap_or_else(|| self.temp(self.catalog.as_shown(&e.ty)));
                self.emit(OpKind::Cast { dst, src, explicit: *explicit });
                Ok(dst)
            }
            BoundKind::And(a, b) => self.eval_and(a, b, dst),
            BoundKind::Or(a, b) => self.eval_or(a, b, dst),
            BoundKind::Case(whens, otherwise) => {
                let dst = target(self);
                self.eval_case(whens, otherwise, dst)?;
                Ok(dst)
            }
            BoundKind::Coalesce(list) => {
                let dst = target(self);
                self.eval_coalesce(list, dst)?;
                Ok(dst)
            }
            BoundKind::Let(values, body) => {
                for (id, value) in values {
                    let reg = self.value(value)?;
                    self.lets[*id as usize] = Some(reg);
                }
                self.eval(body, dst)
            }
            BoundKind::Draw(input) => {
                let dst = target(self);
                self.emit(OpKind::Draw { dst, input: *input });
                Ok(dst)
            }
            BoundKind::NextValue(sequence) => {
                let dst = target(self);
                self.emit(OpKind::NextValue { dst, sequence: *sequence });
                Ok(dst)
            }
            BoundKind::CurrentValue(sequence) => {
                let dst = target(self);
                self.emit(OpKind::CurrentValue { dst, sequence: *sequence });
                Ok(dst)
            }
            BoundKind::SetValue(sequence, value, is_called) => {
                let value = self.exact(value)?;
                let is_called = self.value(is_called)?;
                self.emit(OpKind::SetValue { sequence: *sequence, value, is_called });
                Ok(self.deliver(value, dst))
            }
            BoundKind::ByText(parts) => {
                let dst = target(self);
                self.eval_by_text(parts, dst)?;
                Ok(dst)
            }
            BoundKind::Ask(question, args) => {
                let args = args.iter().map(|a| self.value(a)).collect::<Result<Vec<_>>>()?;
                let dst = target(self);
                match (question, &args[..]) {
                    (Question::Notify, [channel, payload]) => {
                        self.emit(OpKind::Notify { channel: *channel, payload: *payload });
                        self.emit(OpKind::Const { dst, value: Datum::Null });
                    }
                    // What a foreign key does is within a trigger of its own.
                    (Question::TriggerDepth, []) if self.within_key => {
                        let (depth, one) = (self.temp(Type::Int4), self.int4(1));
                        self.emit(OpKind::Ask { dst: depth, question: *question, args });
                        self.emit(OpKind::Apply { dst, func: Func::Int4Add, args: vec![depth, one] });
                    }
                    _ => self.emit(OpKind::Ask { dst, question: *question, args }),
                }
                Ok(dst)
            }
            BoundKind::Call(procedure, args) => self.eval_call(*procedure, args, &e.ty, dst),
            BoundKind::NotAmong(coll, keys) => {
                let keys = keys.iter().map(|key| self.value(key)).collect::<Result<Vec<_>>>()?;
                let found = self.temp(Type::Bool);
                self.emit(OpKind::MapGet { coll: *coll, keys, found, values: Vec::new() });
                let free = self.apply(planaria_ir::Func::Not, vec![found], Type::Bool);
                Ok(self.deliver(free, dst))
            }
            BoundKind::Row(_) => {
                Err(Error::unsupported("a row cannot be used as a value here", "name its fields one by one")
                    .at(e.position))
            }
            BoundKind::InList(value, list, func) => self.eval_in_list(value, list, *func, dst),
            BoundKind::Quantified(value, array, func, all) => {
                self.eval_quantified(value, array, *func, *all, dst)
            }
            BoundKind::Subquery(query) => self.eval_subquery(query, &e.ty, dst),
            BoundKind::Exists(query) => self.eval_exists(query, dst),
            BoundKind::InQuery(values, query) => self.eval_in_query(values, query, dst),
            BoundKind::QuantifiedQuery(value, query, func, all) => {
                self.eval_quantified_query(value, query, *func, *all, dst)
            }
            BoundKind::ArrayQuery(query) => {
                let array = self.temp(e.ty.clone());
                let empty = self.constant(Datum::Array(Vec::new()), e.ty.clone());
                self.once(query, &[(array, empty)], &mut |l| {
                    l.emit_query(query, None, &mut |l, row| {
                        let args = vec![array, row[0].reg];
                        l.emit(OpKind::Apply { dst: array, func: Func::ArrayAppend, args });
                        Ok(())
                    })
                })?;
                Ok(self.deliver(array, dst))
            }
        }
    }

    /// The register of a relation's column; made when first asked for.
    pub(super) fn column_reg(&mut self, rel: RelId, column: usize) -> Reg {
        if let Some(reg) = self.rel(rel).regs[column] {
            return reg;
        }
        let relation = self.rel(rel);
        let (name, ty) = &relation.columns[column];
        let name = if name.is_empty() { None } else { Some(format!("{}.{name}", relation.name)) };
        let kind = RegKind::Value(ty.clone());
        let reg = self.program.reg(kind, name);
        self.rel_mut(rel).regs[column] = Some(reg);
        reg
    }

    /// Whether evaluating it needlessly does no harm: no error, no effect, few operations.
    fn is_total(&self, e: &Bound) -> bool {
        let here = match &e.kind {
            BoundKind::Apply(func, _) => func.total(),
            BoundKind::Const(_)
            | BoundKind::Reg(_)
            | BoundKind::Param(_)
            | BoundKind::Column(..)
            | BoundKind::LetRef(_)
            | BoundKind::Relabel(_)
            | BoundKind::And(..)
            | BoundKind::Or(..) => true,
            _ => false,
        };
        let mut total = here;
        e.children(&mut |c| total = total && self.is_total(c), &mut |_| {});
        total
    }

    fn eval_and(&mut self, a: &Bound, b: &Bound, dst: Option<Reg>) -> Result<Reg> {
        if self.is_total(b) {
            let args = vec![self.value(a)?, self.value(b)?];
            let dst = dst.unwrap_or_else(|| self.temp(Type::Bool));
            self.emit(OpKind::Apply { dst, func: Func::And, args });
            return Ok(dst);
        }
        let dst = dst.unwrap_or_else(|| self.temp(Type::Bool));
        self.value_into(a, dst)?;
        let no = self.temp(Type::Bool);
        self.emit(OpKind::Apply { dst: no, func: Func::IsFalse, args: vec![dst] });
        let otherwise = self.block(|l| {
            let args = vec![dst, l.value(b)?];
            l.emit(OpKind::Apply { dst, func: Func::And, args });
            Ok(())
        })?;
        self.emit(OpKind::If { cond: no, then: Block::default(), otherwise });
        Ok(dst)
    }

    fn eval_or(&mut self, a: &Bound, b: &Bound, dst: Option<Reg>) -> Result<Reg> {
        if self.is_total(b) {
            let args = vec![self.value(a)?, self.value(b)?];
            let dst = dst.unwrap_or_else(|| self.temp(Type::Bool));
            self.emit(OpKind::Apply { dst, func: Func::Or, args });
            return Ok(dst);
        }
        let dst = dst.unwrap_or_else(|| self.temp(Type::Bool));
        self.value_into(a, dst)?;
        let otherwise = self.block(|l| {
            let args = vec![dst, l.value(b)?];
            l.emit(OpKind::Apply { dst, func: Func::Or, args });
            Ok(())
        })?;
        self.emit(OpKind::If { cond: dst, then: Block::default(), otherwise });
        Ok(dst)
    }

    /// A condition: true where the expression is, false or NULL where it is not. AND and OR need not tell
    /// those two apart, and evaluate their right side only where it matters.
    pub(super) fn truth_of(&mut self, e: &Bound) -> Result<Reg> {
        let (a, b, both) = match &e.kind {
            BoundKind::And(a, b) => (a, b, true),
            BoundKind::Or(a, b) => (a, b, false),
            _ => return self.value(e),
        };
        if self.is_total(b) {
            return self.value(e);
        }
        let first = self.truth_of(a)?;
        let dst = self.temp(Type::Bool);
        self.copy(dst, first);
        let second = self.block(|l| {
            let second = l.truth_of(b)?;
            l.copy(dst, second);
            Ok(())
        })?;
        let (then, otherwise) = if both { (second, Block::default()) } else { (Block::default(), second) };
        self.emit(OpKind::If { cond: dst, then, otherwise });
        Ok(dst)
    }

    fn eval_case(&mut self, whens: &[(Bound, Bound)], otherwise: &Bound, dst: Reg) -> Result<()> {
        let Some(((when, result), rest)) = whens.split_first() else {
            return self.value_into(otherwise, dst);
        };
        let cond = self.truth_of(when)?;
        let then = self.block(|l| l.value_into(result, dst))?;
        let otherwise = self.block(|l| l.eval_case(rest, otherwise, dst))?;
        self.emit(OpKind::If { cond, then, otherwise });
        Ok(())
    }

    fn eval_coalesce(&mut self, list: &[Bound], dst: Reg) -> Result<()> {
        let Some((first, rest)) = list.split_first() else { return Ok(()) };
        self.value_into(first, dst)?;
        if rest.is_empty() || self.never_null(first) {
            return Ok(());
        }
        let missing = self.temp(Type::Bool);
        self.emit(OpKind::Apply { dst: missing, func: Func::IsNull, args: vec![dst] });
        let then = self.block(|l| l.eval_coalesce(rest, dst))?;
        self.emit(OpKind::If { cond: missing, then, otherwise: Block::default() });
        Ok(())
    }

    /// Whether an expression is known not to be NULL.
    pub(super) fn never_null(&self, e: &Bound) -> bool {
        match &e.kind {
            BoundKind::Const(value) => !value.is_null(),
            BoundKind::Column(rel, column) => {
                let relation = self.rel(*rel);
                match relation.kind {
                    super::bound::RelKind::Table(table) => {
                        !relation.nullable && self.catalog.table_by_id(table).columns[*column].not_null
                    }
                    super::bound::RelKind::Series { .. } => !relation.nullable,
                    super::bound::RelKind::System(id) => {
                        let system = planaria_catalog::system::by_id(id);
                        !relation.nullable && system.columns[*column].not_null
                    }
                    _ => false,
                }
            }
            BoundKind::Relabel(inner) | BoundKind::InDomain(inner, _) => self.never_null(inner),
            // Casts of NULL are NULL, of others never; but a text can become a NULL of no type.
            // There is no time of day in infinity.
            BoundKind::Cast(inner, _) if e.ty.class() == TypeClass::Time => {
                inner.ty.class() != TypeClass::DateTime && self.never_null(inner)
            }
            BoundKind::Cast(inner, _) => self.never_null(inner),
            BoundKind::Apply(func, args) => match func {
                Func::IsNull
                | Func::IsNotNull
                | Func::IsTrue
                | Func::IsFalse
                | Func::Distinct
                | Func::NotDistinct => true,
                _ => keeps_not_null(*func) && args.iter().all(|a| self.never_null(a)),
            },
            BoundKind::And(a, b) | BoundKind::Or(a, b) => self.never_null(a) && self.never_null(b),
            BoundKind::Coalesce(list) => list.iter().any(|e| self.never_null(e)),
            BoundKind::Case(whens, otherwise) => {
                whens.iter().all(|(_, then)| self.never_null(then)) && self.never_null(otherwise)
            }
            BoundKind::Draw(_) | BoundKind::NextValue(_) | BoundKind::Exists(_) => true,
            _ => false,
        }
    }

    fn eval_call(
        &mut self,
        procedure: ProcedureId,
        args: &[Bound],
        ty: &Type,
        dst: Option<Reg>,
    ) -> Result<Reg> {
        let mut regs = Vec::with_capacity(args.len());
        for arg in args {
            regs.push(self.exact(arg)?);
        }
        let dst = dst.unwrap_or_else(|| self.temp(ty.clone()));
        let routine = self.catalog.procedure(procedure);
        // It looks at its arguments itself, too; nothing may stand around a call that is carried out by steps.
        let strict = routine.strict && !super::plpgsql::routine_goes_by_steps(routine);
        let nullable: Vec<Reg> =
            args.iter().zip(&regs).filter(|(e, _)| strict && !self.never_null(e)).map(|(_, r)| *r).collect();
        let call = |l: &mut Self, args: Vec<Reg>| match ty {
            Type::Record(row) => l.call_for_row(procedure, args, row, dst),
            _ => l.emit(OpKind::Call { procedure, args, outs: vec![dst] }),
        };
        if nullable.is_empty() {
            call(self, regs);
            return Ok(dst);
        }
        let cond = self.any_null(&nullable);
        let null = self.constant(Datum::Null, ty.clone());
        let then = self.block(|l| {
            l.emit(OpKind::Copy { dst, src: null });
            Ok(())
        })?;
        let otherwise = self.block(|l| {
            call(l, regs);
            Ok(())
        })?;
        self.emit(OpKind::If { cond, then, otherwise });
        Ok(dst)
    }

    /// Whether any of some registers is NULL.
    pub(super) fn any_null(&mut self, regs: &[Reg]) -> Reg {
        let dst = self.temp(Type::Bool);
        let func = if regs.len() == 1 { Func::IsNull } else { Func::AnyNull };
        self.emit(OpKind::Apply { dst, func, args: regs.to_vec() });
        dst
    }

    fn eval_in_list(&mut self, value: &Bound, list: &[Bound], func: Func, dst: Option<Reg>) -> Result<Reg> {
        // Constants of one type make an array: one operation whatever their number.
        let constants: Option<Vec<Datum>> = list.iter().map(|e| e.as_const().cloned()).collect();
        if let Some(constants) = constants
            && list.len() > 3
        {
            let ty = Type::Array(Box::new(list[0].ty.clone()));
            let array = self.constant(Datum::Array(constants), ty);
            let args = vec![self.value(value)?, array];
            let dst = dst.unwrap_or_else(|| self.temp(Type::Bool));
            self.emit(OpKind::Apply { dst, func: Func::ArrayContainsElement, args });
            return Ok(dst);
        }
        let value = self.value(value)?;
        let mut found: Option<Reg> = None;
        for item in list {
            // Each may fail only if it is reached.
            let compare = |l: &mut Self| {
                let args = vec![value, l.value(item)?];
                let dst = l.temp(Type::Bool);
                l.emit(OpKind::Apply { dst, func, args });
                Ok::<Reg, Error>(dst)
            };
            found = Some(match found {
                None => compare(self)?,
                Some(before) if self.is_total(item) => {
                    let args = vec![before, compare(self)?];
                    let either = self.temp(Type::Bool);
                    self.emit(OpKind::Apply { dst: either, func: Func::Or, args });
                    either
                }
                Some(before) => {
                    let either = self.temp(Type::Bool);
                    self.emit(OpKind::Copy { dst: either, src: before });
                    let otherwise = self.block(|l| {
                        let args = vec![either, compare(l)?];
                        l.emit(OpKind::Apply { dst: either, func: Func::Or, args });
                        Ok(())
                    })?;
                    self.emit(OpKind::If { cond: either, then: Block::default(), otherwise });
                    either
                }
            });
        }
        let found = found.ok_or_else(|| Error::internal("an empty IN list"))?;
        Ok(self.deliver(found, dst))
    }

    /// `value op ANY/ALL (array)`: a loop over the elements, three-valued.
    fn eval_quantified(
        &mut self,
        value: &Bound,
        array: &Bound,
        func: Func,
        all: bool,
        dst: Option<Reg>,
    ) -> Result<Reg> {
        let element_type = match &array.ty {
            Type::Array(of) => (**of).clone(),
            _ => return Err(Error::internal("a quantified comparison with no array")),
        };
        let value = self.value(value)?;
        let array = self.value(array)?;
        let result = self.temp(Type::Bool);
        let start = self.constant(Datum::Bool(all), Type::Bool);
        self.emit(OpKind::Copy { dst: result, src: start });
        let missing = self.any_null(&[array]);
        let null = self.constant(Datum::Null, Type::Bool);
        let then = self.block(|l| {
            l.emit(OpKind::Copy { dst: result, src: null });
            Ok(())
        })?;
        let otherwise = self.block(|l| {
            l.for_elements(array, &element_type, &mut |l, element, label| {
                let one = l.temp(Type::Bool);
                l.emit(OpKind::Apply { dst: one, func, args: vec![value, element] });
                l.fold_quantifier(result, one, all, label)
            })
        })?;
        self.emit(OpKind::If { cond: missing, then, otherwise });
        Ok(self.deliver(result, dst))
    }

    /// Adds one comparison to the result of ANY or ALL; leaves the loop when that is decided.
    pub(super) fn fold_quantifier(
        &mut self,
        result: Reg,
        one: Reg,
        all: bool,
        label: planaria_ir::Label,
    ) -> Result<()> {
        let (fold, decided) = if all { (Func::And, Func::IsFalse) } else { (Func::Or, Func::IsTrue) };
        self.emit(OpKind::Apply { dst: result, func: fold, args: vec![result, one] });
        let cond = self.temp(Type::Bool);
        self.emit(OpKind::Apply { dst: cond, func: decided, args: vec![result] });
        let then = self.block(|l| {
            l.emit(OpKind::Exit { label });
            Ok(())
        })?;
        self.emit(OpKind::If { cond, then, otherwise: Block::default() });
        Ok(())
    }

    /// Runs `body` for each element of an array, with the element and the loop's label.
    pub(super) fn for_elements(
        &mut self,
        array: Reg,
        element_type: &Type,
        body: &mut dyn FnMut(&mut Self, Reg, planaria_ir::Label) -> Result<()>,
    ) -> Result<()> {
        let (one, zero) = (self.int4(1), self.int4(0));
        let at = self.temp(Type::Int4);
        let len = self.temp(Type::Int4);
        self.emit(OpKind::Apply { dst: len, func: Func::Cardinality, args: vec![array] });
        self.emit(OpKind::Copy { dst: at, src: zero });
        let label = self.label();
        let block = self.block(|l| {
            let more = l.temp(Type::Bool);
            l.emit(OpKind::Apply { dst: more, func: Func::IntLt, args: vec![at, len] });
            let otherwise = l.block(|l| {
                l.emit(OpKind::Exit { label });
                Ok(())
            })?;
            let then = l.block(|l| {
                l.emit(OpKind::Apply { dst: at, func: Func::Int4Add, args: vec![at, one] });
                let element = l.temp(element_type.clone());
                l.emit(OpKind::Apply { dst: element, func: Func::ArrayNth, args: vec![array, at] });
                body(l, element, label)
            })?;
            l.emit(OpKind::If { cond: more, then, otherwise });
            Ok(())
        })?;
        self.emit(OpKind::Loop { label, body: block });
        Ok(())
    }

    pub(super) fn int4(&mut self, n: i64) -> Reg {
        self.constant(Datum::Int(n), Type::Int4)
    }
    pub(super) fn int8(&mut self, n: i64) -> Reg {
        self.constant(Datum::Int(n), Type::Int8)
    }
    pub(super) fn truth(&mut self, b: bool) -> Reg {
        self.constant(Datum::Bool(b), Type::Bool)
    }
    pub(super) fn copy(&mut self, dst: Reg, src: Reg) {
        self.emit(OpKind::Copy { dst, src });
    }
    /// Emits a function of booleans or counts into a new register.
    pub(super) fn apply(&mut self, func: Func, args: Vec<Reg>, ty: Type) -> Reg {
        let dst = self.temp(ty);
        self.emit(OpKind::Apply { dst, func, args });
        dst
    }
    /// `if cond { f }`
    pub(super) fn when(&mut self, cond: Reg, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let then = self.block(f)?;
        self.emit(OpKind::If { cond, then, otherwise: Block::default() });
        Ok(())
    }
    /// `if not cond { f }`
    pub(super) fn unless(&mut self, cond: Reg, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let otherwise = self.block(f)?;
        self.emit(OpKind::If { cond, then: Block::default(), otherwise });
        Ok(())
    }

    /// `if cond { f }`, where `f` ends in an error.
    pub(super) fn raising(&mut self, cond: Reg, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.when(cond, |l| l.cold(f))
    }

    /// Raises an error with a constant message.
    pub(super) fn raise(&mut self, state: SqlState, message: impl Into<String>, fields: ErrorFields) {
        let before = self.cold;
        self.cold = Some(before.unwrap_or(0));
        let message = self.constant(Datum::Text(message.into()), Type::Text);
        self.cold = before;
        self.emit(OpKind::Raise {
            level: Level::Exception,
            state: StateSource::Known(state),
            message,
            fields,
        });
    }

    /// The same with a message that was computed.
    pub(super) fn raise_text(&mut self, state: SqlState, message: Reg, fields: ErrorFields) {
        let (level, state) = (Level::Exception, StateSource::Known(state));
        self.emit(OpKind::Raise { level, state, message, fields });
    }

    /// A new collection.
    pub(super) fn coll(
        &mut self,
        kind: CollKind,
        keys: Vec<RegKind>,
        values: Vec<RegKind>,
    ) -> planaria_ir::Coll {
        let coll = self.program.coll(CollDecl { kind, keys, values });
        self.emit(OpKind::Clear { coll });
        coll
    }
}

/// How many levels down a NULL is looked for: people write one near the operator that it is of.
const LEVELS: u32 = 4;

/// Whether a part of it is computed from constants alone, without a NULL among them: PostgreSQL computes that before it looks
/// for one. What has more levels may have one.
fn has_constant_part(e: &Bound, levels: u32) -> bool {
    fn is_constant(e: &Bound) -> bool {
        match &e.kind {
            BoundKind::Const(value) => *value != Datum::Null,
            BoundKind::Relabel(inner) | BoundKind::Cast(inner, _) => is_constant(inner),
            BoundKind::Apply(_, args) => args.iter().all(is_constant),
            _ => false,
        }
    }
    if levels == 0 {
        return !matches!(e.kind, BoundKind::Const(_) | BoundKind::Column(..));
    }
    let mut found = matches!(e.kind, BoundKind::Apply(..) | BoundKind::Cast(..)) && is_constant(e);
    e.children(&mut |part| found |= has_constant_part(part, levels - 1), &mut |_| {});
    found
}

/// Whether it is NULL by a NULL that is written in it.
fn is_null_by_text(e: &Bound, levels: u32) -> bool {
    match &e.kind {
        BoundKind::Const(value) => *value == Datum::Null,
        BoundKind::Relabel(inner) | BoundKind::Cast(inner, _) if levels > 0 => {
            is_null_by_text(inner, levels - 1)
        }
        BoundKind::Apply(func, args) if func.strict() && levels > 0 => {
            args.iter().any(|a| is_null_by_text(a, levels - 1))
        }
        _ => false,
    }
}

/// Strict functions that answer no NULL for arguments that are not NULL.
fn keeps_not_null(func: Func) -> bool {
    func.strict()
        && !matches!(
            func,
            Func::ArrayGet
                | Func::ArrayNth
                | Func::ArrayAt
                | Func::ArrayDims
                | Func::ArrayNdims
                | Func::ArraySlice
                | Func::ArrayLength
                | Func::ArrayLower
                | Func::ArrayUpper
                | Func::ArrayContainsElement
                | Func::ExtractTimestamp
                | Func::ExtractUnzoned
                | Func::ExtractUntimed
                | Func::ExtractTz
                | Func::RegexMatch
                | Func::RegexPart
                | Func::RegexSubstr
                | Func::ExtractDate
                | Func::ExtractInterval
                | Func::ArrayPosition
                | Func::JsonField
                | Func::JsonFieldText
                | Func::JsonElement
                | Func::JsonElementText
                | Func::JsonPath
                | Func::JsonPathText
                | Func::RangeLower
                | Func::RangeUpper
                | Func::BitFold
                | Func::BitsFold
                | Func::NumSpread
                | Func::NumScale
                | Func::NumMinScale
                | Func::FltSpread
                | Func::Regression
                | Func::PercentileDisc
                | Func::PercentileCont
                | Func::PercentileInterval
                | Func::ModeOf
                | Func::Hash
        )
}

/// 42P18
pub(super) fn undetermined(index: usize) -> Error {
    let message = format!("could not determine data type of parameter ${}", index + 1);
    Error::new(SqlState::INDETERMINATE_DATATYPE, message)
}
