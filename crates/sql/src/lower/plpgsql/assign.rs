//! Assignment to variables: scalars, fields, rows, elements of arrays; INTO.

use super::Body;
use crate::lower::arrays::Place;
use crate::lower::held::{Held, unassigned};
use crate::lower::{CastContext, Found, Lowerer, Typed, Variable};
use planaria_base::types::RowType;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_catalog::ROWS_TOLD;
use planaria_ir::{Func, OpKind, Output, Reg};
use planaria_syntax::ast::{
    self, Argument, Expr, ExprKind, FunctionCall, Into, Name, Subscript, TypeName, TypeNameKind,
};

/// What INTO and loops assign to.
#[derive(Clone)]
pub(super) enum Target {
    /// A register of a type.
    Value(Typed),
    /// A field of a row variable that is a target as a whole.
    Field(Typed),
    /// An element of an array: array, a subscript for each dimension.
    Element { array: Typed, index: Vec<Reg>, ty: Type },
    /// What is within a row that is a value, or within an element: the whole, and the way into it.
    Part { whole: Typed, steps: Vec<Step>, ty: Type },
}

impl Target {
    /// The type of what is assigned.
    pub(super) fn ty(&self) -> &Type {
        match self {
            Target::Value(t) | Target::Field(t) => &t.ty,
            Target::Element { ty, .. } | Target::Part { ty, .. } => ty,
        }
    }
}

/// A step into a value that is assigned to.
#[derive(Clone)]
pub(super) enum Step {
    /// The field of a row at that place.
    Field(usize, RowType),
    /// The element of an array of such: a subscript for each dimension.
    Element(Vec<Reg>, Type),
    /// A slice of an array: of each bound whether it is given, those that are. Nothing comes behind it.
    Slice(Reg, Vec<Reg>),
}

impl Body<'_, '_> {
    /// `target := value`
    pub(super) fn assign(&mut self, target: &Expr, value: &Expr) -> Result<()> {
        if let Some(variable) = self.whole_row(target) {
            return self.assign_row(target, &variable, value);
        }
        if let ExprKind::Subscripts(base, all) = &target.kind
            && let Some(call) = self.with_part_of_json(base, all, value)
        {
            return self.assign(base, &call);
        }
        match self.target(target)? {
            Target::Value(t) | Target::Field(t) => {
                self.l.expr_into(&self.scope, value, t.reg, CastContext::Variable)?;
                self.check_not_null(t.reg)
            }
            Target::Part { whole, steps, ty } => {
                let value = self.l.expr_as(&self.scope, value, &ty, CastContext::Variable)?;
                put(self.l, &whole, &steps, value);
                self.check_not_null(whole.reg)
            }
            element @ Target::Element { .. } => {
                let value = self.value(value)?;
                store(self.l, &element, &value)
            }
        }
    }

    /// What a `jsonb` variable or field becomes where a part of it is assigned; `None` of what is no such one.
    fn with_part_of_json(&self, base: &Expr, all: &[Subscript], value: &Expr) -> Option<Expr> {
        let found = match &base.kind {
            ExprKind::Column(name) => self.scope.lookup(&name.parts)?,
            ExprKind::Parameter(n) => Found::Variable(self.scope.parameter(*n)?),
            _ => return None,
        };
        let (Found::Variable(Variable::Scalar(t)) | Found::Field(t)) = found else { return None };
        if t.ty != Type::Jsonb {
            return None;
        }
        let step = |subscript: &Subscript| match subscript {
            Subscript::Element(e) => Some(e.clone()),
            Subscript::Slice(..) => None,
        };
        let mut args = vec![base.clone()];
        args.extend(all.iter().map(step).collect::<Option<Vec<_>>>()?);
        // Whatever it is becomes jsonb by its text, as any value of another type becomes a variable's.
        let cast = |e: Expr, ty| {
            let ty = TypeName { position: value.position, kind: TypeNameKind::Known(ty) };
            Expr { position: value.position, kind: ExprKind::Cast(Box::new(e), ty) }
        };
        args.push(cast(cast(value.clone(), Type::Text), Type::Jsonb));
        let args = args.into_iter().map(|value| Argument { name: None, value }).collect();
        let put = Name { parts: vec![ast::PUT.to_owned()], position: base.position };
        let kind = ExprKind::Call(Box::new(FunctionCall::plain(put, args)));
        Some(Expr { position: value.position, kind })
    }

    /// The row or record variable that a target names as a whole.
    pub(super) fn whole_row(&self, target: &Expr) -> Option<Variable> {
        let ExprKind::Column(name) = &target.kind else { return None };
        let field_of_unassigned = name.parts.len() > 1
            && matches!(self.scope.variable(&name.parts[0]), Some(Variable::Unassigned { .. }));
        match self.scope.lookup(&name.parts) {
            Some(Found::Variable(Variable::Unassigned { .. })) if field_of_unassigned => None,
            Some(Found::Variable(v @ (Variable::Row { .. } | Variable::Unassigned { .. }))) => {
                Some(v.clone())
            }
            _ => None,
        }
    }

    fn assign_row(&mut self, target: &Expr, variable: &Variable, value: &Expr) -> Result<()> {
        let (mut from, mut by_value) = ((Held::Row, 0), None);
        let values: Vec<(String, Typed)> = match &value.kind {
            ExprKind::Column(name) if self.whole_row(value).is_some() => match self.whole_row(value) {
                Some(Variable::Row { fields, held, id, .. }) => {
                    if let (Variable::Row { fields: same, id: of, .. }, false) =
                        (variable, self.l.rows.former)
                        && (*of == id && *same == fields && !fields.is_empty())
                        && let ExprKind::Column(target) = &target.kind
                    {
                        // It stays what it is.
                        return fields.iter().try_for_each(|(_, t)| self.check_constant(t.reg, target));
                    }
                    from = (held, id);
                    fields
                }
                Some(Variable::Unassigned { id }) => {
                    self.l.unassigned_value(id, &name.parts.join("."), value.position)?;
                    return self.assign_null(target, variable);
                }
                _ => return Err(not_assignable(target)),
            },
            ExprKind::Row(items) => {
                let mut row = Vec::new();
                for (i, item) in items.iter().enumerate() {
                    row.push((format!("f{}", i + 1), self.value(item)?));
                }
                row
            }
            ExprKind::Null => return self.assign_null(target, variable),
            _ => {
                let mut computed = self.value(value)?;
                if let (Variable::Row { table: Some(table), .. }, false) =
                    (variable, matches!(computed.ty, Type::Record(_)))
                {
                    // Its text may be that of a row.
                    let ty = Type::Record(self.l.row_type_of(*table));
                    let text = self.l.cast(computed, &Type::Text, CastContext::Variable)?;
                    let text = Typed { reg: text, ty: Type::Text };
                    computed = Typed { reg: self.l.cast(text, &ty, CastContext::Variable)?, ty };
                }
                let Type::Record(row) = &computed.ty else {
                    let message = "cannot assign non-composite value to a record variable";
                    return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(value.position));
                };
                // In programs of former forms a record that a function gives has a row.
                let typed = matches!(variable, Variable::Row { table: Some(_), .. });
                let told = self.l.form >= ROWS_TOLD;
                by_value =
                    (told || typed || !matches!(value.kind, ExprKind::Call(_))).then_some(computed.reg);
                self.l.unpacked(computed.reg, row, None)
            }
        };
        let outputs: Vec<Output> =
            values.iter().map(|(n, t)| Output { name: n.clone(), ty: t.ty.clone() }).collect();
        let targets = self.row_targets(target, &outputs)?;
        let values: Vec<Typed> = values.into_iter().map(|(_, t)| t).collect();
        self.store_all(&targets, &values)?;
        self.take_held(&targets, from);
        if let Some(value) = by_value {
            self.take_value(&targets, value);
        }
        Ok(())
    }

    /// The registers of a row variable, for a row of these columns; a record gets its shape here.
    fn row_targets(&mut self, target: &Expr, columns: &[Output]) -> Result<Vec<Target>> {
        let ExprKind::Column(name) = &target.kind else { return Err(not_assignable(target)) };
        let fields = match self.scope.lookup(&name.parts) {
            Some(Found::Variable(Variable::Row { fields, table: Some(_), .. })) => fields.clone(),
            Some(Found::Variable(Variable::Row { .. } | Variable::Unassigned { .. })) => {
                let local = name.parts.last().cloned().unwrap_or_default();
                let shape = columns.iter().map(|o| {
                    // Values keep their own scale: a record's field has no modifier to round to.
                    let ty = if o.ty == Type::Unknown { Type::Text } else { o.ty.base() };
                    (o.name.clone(), ty)
                });
                self.reshape(&local, shape.collect())
            }
            _ => return Err(not_assignable(target)),
        };
        for (_, field) in &fields {
            self.check_constant(field.reg, name)?;
        }
        if let Some((_, first)) = fields.first() {
            self.scope.hold(first.reg, Held::Row);
        }
        Ok(fields.into_iter().map(|(_, t)| Target::Field(t)).collect())
    }

    /// A single target: scalar, field or element.
    pub(super) fn target(&mut self, target: &Expr) -> Result<Target> {
        if let ExprKind::Column(name) = &target.kind
            && matches!(self.scope.lookup(&name.parts), Some(Found::NoField) | None)
            && let Some(part) = self.part_of_row(name)?
        {
            return Ok(part);
        }
        match &target.kind {
            ExprKind::Column(name) => match self.scope.lookup(&name.parts) {
                Some(Found::Variable(Variable::Scalar(t))) | Some(Found::Field(t)) => {
                    let t = t.clone();
                    let around = &name.parts[..name.parts.len() - 1];
                    let of_row =
                        matches!(self.scope.lookup(around), Some(Found::Variable(Variable::Row { .. })));
                    let shown = if of_row { around } else { &name.parts[..] };
                    let shown = Name { parts: shown.to_vec(), position: name.position };
                    self.check_constant(t.reg, &shown)?;
                    self.l.must_hold(&self.scope, &name.parts[..name.parts.len() - 1], target.position)?;
                    self.now_held(t.reg);
                    Ok(Target::Value(t))
                }
                Some(Found::NoField) => Err(no_field(name).at(target.position)),
                Some(Found::Variable(Variable::Unassigned { id })) if name.parts.len() > 1 => {
                    self.l.rows.read_early(*id);
                    Err(unassigned(&name.parts[name.parts.len() - 2]).at(target.position))
                }
                Some(Found::Variable(_)) => Err(not_assignable(target)),
                None => Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    format!("\"{}\" is not a known variable", name.parts.join(".")),
                )
                .at(target.position)),
            },
            ExprKind::Parameter(n) => match self.scope.parameter(*n) {
                Some(Variable::Scalar(t)) => Ok(Target::Value(t.clone())),
                _ => Err(not_assignable(target)),
            },
            ExprKind::Field(of, field) => {
                let of = self.target(of)?;
                self.field_of_target(of, field, target.position)
            }
            ExprKind::Subscripts(array, all) => {
                let array = self.target(array)?;
                self.place_in_target(array, all, target.position)
            }
            _ => Err(not_assignable(target)),
        }
    }

    /// The element or slice of what is assigned to.
    fn place_in_target(&mut self, of: Target, all: &[Subscript], position: u32) -> Result<Target> {
        let (whole, mut steps, ty) = match of {
            Target::Value(t) | Target::Field(t) => (t.clone(), Vec::new(), t.ty),
            Target::Element { array, index, ty } => (array, vec![Step::Element(index, ty.clone())], ty),
            Target::Part { whole, steps, ty } => (whole, steps, ty),
        };
        let after_slice = matches!(steps.last(), Some(Step::Slice(..)));
        let of = match ty {
            Type::Jsonb => {
                let message = "assigning to a part of a jsonb variable is not supported";
                return Err(Error::unsupported(message, "Use jsonb_set.").at(position));
            }
            Type::Array(of) if !after_slice => *of,
            ty => {
                let message = format!("cannot subscript type {ty} because it does not support subscripting");
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
            }
        };
        let one = self.l.constant(Datum::Int(1), Type::Int4);
        let index = |e: &Expr| self.l.expr_as(&self.scope, e, &Type::Int4, CastContext::Variable);
        match Place::of(all, || one, index)? {
            Place::Element(index) if steps.is_empty() => Ok(Target::Element { array: whole, index, ty: of }),
            Place::Element(index) => {
                steps.push(Step::Element(index, of.clone()));
                Ok(Target::Part { whole, steps, ty: of })
            }
            Place::Slice(given, bounds) => {
                let given = self.l.constant(Datum::Text(given), Type::Text);
                steps.push(Step::Slice(given, bounds));
                Ok(Target::Part { whole, steps, ty: Type::Array(Box::new(of)) })
            }
        }
    }

    /// What `v.f.g` names, where `v.f` is a row that is a value.
    fn part_of_row(&mut self, name: &Name) -> Result<Option<Target>> {
        for known in (1..name.parts.len()).rev() {
            let found = match self.scope.lookup(&name.parts[..known]) {
                Some(Found::Variable(Variable::Unassigned { id })) => {
                    self.l.rows.read_early(*id);
                    return Err(unassigned(&name.parts[known - 1]).at(name.position));
                }
                Some(Found::Variable(Variable::Scalar(t))) | Some(Found::Field(t)) => t.clone(),
                _ => continue,
            };
            if !matches!(found.ty, Type::Record(_)) {
                continue;
            }
            self.check_constant(found.reg, name)?;
            self.now_held(found.reg);
            let mut target = Target::Value(found);
            for field in &name.parts[known..] {
                target = self.field_of_target(target, field, name.position)?;
            }
            return Ok(Some(target));
        }
        Ok(None)
    }

    /// A field of what is assigned to.
    fn field_of_target(&self, of: Target, field: &str, position: u32) -> Result<Target> {
        let (whole, mut steps, ty) = match of {
            Target::Value(t) | Target::Field(t) => (t.clone(), Vec::new(), t.ty),
            Target::Element { array, index, ty } => (array, vec![Step::Element(index, ty.clone())], ty),
            Target::Part { whole, steps, ty } => (whole, steps, ty),
        };
        let Type::Record(row) = ty else {
            let message = format!(
                "cannot assign to field \"{field}\" of a value of type {ty}, which is not a composite type"
            );
            return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(position));
        };
        let Some(at) = row.iter().position(|(name, _)| name == field) else {
            let message = format!("record has no field \"{field}\"");
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(position));
        };
        let ty = row[at].1.clone();
        steps.push(Step::Field(at, row));
        Ok(Target::Part { whole, steps, ty })
    }

    /// Before an assignment: a constant has its value.
    pub(super) fn check_constant(&mut self, reg: Reg, name: &Name) -> Result<()> {
        if self.l.rows.former {
            self.l.rows.assigned.extend(self.scope.row_of(reg));
        }
        if self.constants.contains(&reg) {
            return Err(Error::new(
                super::ERROR_IN_ASSIGNMENT,
                format!("variable \"{}\" is declared CONSTANT", name.parts.join(".")),
            )
            .at(name.position));
        }
        Ok(())
    }

    /// After an assignment: a variable declared NOT NULL must not be NULL, and one of a domain meets its conditions.
    pub(super) fn check_not_null(&mut self, reg: Reg) -> Result<()> {
        self.l.check_assigned(reg)?;
        let Some((_, name)) = self.not_null.iter().find(|(r, _)| *r == reg).cloned() else { return Ok(()) };
        let null = self.is_null(reg);
        self.when(null, |s| {
            let message = format!("null value cannot be assigned to variable \"{name}\" declared NOT NULL");
            s.fail(SqlState::NULL_VALUE_NOT_ALLOWED, &message, None);
            Ok(())
        })
    }

    /// The targets of INTO or of a loop, for rows of these columns.
    pub(super) fn targets(&mut self, targets: &[Expr], columns: &[Output]) -> Result<Vec<Target>> {
        if let [one] = targets
            && self.whole_row(one).is_some()
        {
            return self.row_targets(one, columns);
        }
        let mut all = Vec::new();
        for target in targets {
            if self.whole_row(target).is_some() {
                return Err(Error::new(
                    SqlState::SYNTAX_ERROR,
                    "record variable cannot be part of multiple-item INTO list",
                )
                .at(target.position));
            }
            all.push(self.target(target)?);
        }
        Ok(all)
    }

    /// Stores a row; what is missing becomes NULL, what is too much is left out. All values are taken
    /// before any target changes.
    pub(super) fn store_all(&mut self, targets: &[Target], values: &[Typed]) -> Result<()> {
        store_row(self.l, targets, values)?;
        self.after_store(targets)
    }

    pub(super) fn after_store(&mut self, targets: &[Target]) -> Result<()> {
        self.row_stored(targets);
        for target in targets {
            if let Target::Value(t) | Target::Field(t) = target {
                self.check_not_null(t.reg)?;
            }
        }
        Ok(())
    }

    /// Every target becomes NULL.
    pub(super) fn store_nulls(&mut self, targets: &[Target]) -> Result<()> {
        for target in targets {
            match target {
                Target::Value(t) | Target::Field(t) => self.null(t.reg),
                Target::Element { array, index, ty } => {
                    let value = self.l.constant(Datum::Null, ty.clone());
                    set_element(self.l, array, index, value);
                }
                Target::Part { whole, steps, ty } => {
                    let value = self.l.constant(Datum::Null, ty.clone());
                    put(self.l, whole, steps, value);
                }
            }
        }
        self.row_stored(targets);
        // Of a row that is none, no field is looked at.
        for target in targets {
            if let Target::Value(t) = target {
                self.check_not_null(t.reg)?;
            }
        }
        Ok(())
    }

    /// `INTO` of a statement: targets and whether it is STRICT.
    pub(super) fn into(&mut self, into: &Into, columns: &[Output]) -> Result<(Vec<Target>, bool)> {
        Ok((self.targets(&into.targets, columns).map_err(|e| e.at(into.position))?, into.strict))
    }
}

/// Stores one value.
pub(super) fn store(l: &mut Lowerer<'_>, target: &Target, value: &Typed) -> Result<()> {
    match target {
        Target::Value(t) | Target::Field(t) => {
            let src = l.cast(value.clone(), &t.ty, CastContext::Variable)?;
            if src != t.reg {
                l.emit(OpKind::Copy { dst: t.reg, src });
            }
        }
        Target::Element { array, index, ty } => {
            let value = l.cast(value.clone(), ty, CastContext::Variable)?;
            set_element(l, array, index, value);
        }
        Target::Part { whole, steps, ty } => {
            let value = l.cast(value.clone(), ty, CastContext::Variable)?;
            put(l, whole, steps, value);
        }
    }
    Ok(())
}

/// Overwrites an element of a variable; several subscripts are an array of them.
fn set_element(l: &mut Lowerer<'_>, array: &Typed, index: &[Reg], value: Reg) {
    let index = match index {
        [one] => *one,
        all => l.apply(Func::ArrayMake, all.to_vec(), Type::Array(Box::new(Type::Int4))),
    };
    l.emit(OpKind::ArraySet { array: array.reg, index, value });
}

/// Puts a value into a variable, where the steps lead.
fn put(l: &mut Lowerer<'_>, whole: &Typed, steps: &[Step], value: Reg) {
    let src = with_part(l, whole.reg, &whole.ty, steps, value);
    l.emit(OpKind::Copy { dst: whole.reg, src });
}

/// A value with another part.
fn with_part(l: &mut Lowerer<'_>, old: Reg, ty: &Type, steps: &[Step], value: Reg) -> Reg {
    let Some((step, rest)) = steps.split_first() else { return value };
    let dst = l.temp(ty.clone());
    match step {
        Step::Field(at, row) => {
            let mut fields: Vec<Reg> = Vec::with_capacity(row.len());
            for (i, (_, field)) in l.unpacked(old, row, None).into_iter().enumerate() {
                fields.push(match i == *at {
                    true => with_part(l, field.reg, &field.ty, rest, value),
                    false => field.reg,
                });
            }
            l.emit(OpKind::Apply { dst, func: Func::ArrayMake, args: fields });
        }
        Step::Element(index, of) => {
            let element = l.temp(of.clone());
            let (get, put) = match index.len() {
                1 => (Func::ArrayGet, Func::ArrayPut),
                _ => (Func::ArrayAt, Func::ArrayPutAt),
            };
            let args = std::iter::once(old).chain(index.iter().copied()).collect();
            l.emit(OpKind::Apply { dst: element, func: get, args });
            let element = with_part(l, element, of, rest, value);
            let args = match index[..] {
                [one] => vec![old, one, element],
                _ => [old, element].into_iter().chain(index.iter().copied()).collect(),
            };
            l.emit(OpKind::Apply { dst, func: put, args });
        }
        Step::Slice(given, bounds) => {
            let args = [old, value, *given].into_iter().chain(bounds.iter().copied()).collect();
            l.emit(OpKind::Apply { dst, func: Func::ArrayPutSlice, args });
        }
    }
    dst
}

/// Stores a row; see [`Body::store_all`].
pub(super) fn store_row(l: &mut Lowerer<'_>, targets: &[Target], values: &[Typed]) -> Result<()> {
    let written: Vec<Reg> = targets
        .iter()
        .map(|t| match t {
            Target::Value(t) | Target::Field(t) => t.reg,
            Target::Element { array, .. } => array.reg,
            Target::Part { whole, .. } => whole.reg,
        })
        .collect();
    let mut taken = values.to_vec();
    for (i, value) in taken.iter_mut().enumerate() {
        let changes_before = written.iter().take(i).any(|r| *r == value.reg);
        if changes_before {
            let copy = l.temp(value.ty.clone());
            l.emit(OpKind::Copy { dst: copy, src: value.reg });
            value.reg = copy;
        }
    }
    for (i, target) in targets.iter().enumerate() {
        match taken.get(i) {
            Some(value) => store(l, target, value)?,
            None => match target {
                Target::Value(t) | Target::Field(t) => {
                    l.emit(OpKind::Const { dst: t.reg, value: Datum::Null })
                }
                Target::Element { array, index, ty } => {
                    let value = l.constant(Datum::Null, ty.clone());
                    set_element(l, array, index, value);
                }
                Target::Part { whole, steps, ty } => {
                    let value = l.constant(Datum::Null, ty.clone());
                    put(l, whole, steps, value);
                }
            },
        }
    }
    Ok(())
}

fn not_assignable(target: &Expr) -> Error {
    Error::new(SqlState::SYNTAX_ERROR, "this cannot be assigned to").at(target.position)
}

fn no_field(name: &Name) -> Error {
    let field = name.parts.last().map_or("", String::as_str);
    let record = &name.parts[..name.parts.len() - 1].join(".");
    Error::new(SqlState::UNDEFINED_COLUMN, format!("record \"{record}\" has no field \"{field}\""))
}
