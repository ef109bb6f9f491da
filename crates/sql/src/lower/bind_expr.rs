//! Expressions: syntax tree -> bound tree.

use super::Lowerer;
use super::Variable;
use super::bound::{Bound, BoundKind};
use super::names::Names;
use super::operators::comparison;
use super::types::{CastContext, unmodified};
use planaria_base::datetime::Interval;
use planaria_base::limits::CHAIN_NESTING_MAX;
use planaria_base::numeric::Number;
use planaria_base::types::{Clock, PackedType, TypeClass};
use planaria_base::{Datum, Error, Result, SqlState, Type, stack, text_io};
use planaria_ir::{Draw, Func};
use planaria_syntax::ast::{BinaryOp, Expr, ExprKind, IsWhat, Position};

impl Lowerer<'_> {
    /// `(a, b) IS [NOT] DISTINCT FROM (c, d)`: whether any two fields are distinct.
    fn rows_distinct(
        &mut self,
        names: &Names<'_>,
        left: &[Expr],
        right: &[Expr],
        negated: bool,
        position: u32,
    ) -> Result<Bound> {
        if left.len() != right.len() {
            return Err(Error::new(SqlState::SYNTAX_ERROR, "unequal number of entries in row expressions")
                .at(position));
        }
        let one = |(left, right): (&Expr, &Expr)| {
            let (left, right) = (Box::new(left.clone()), Box::new(right.clone()));
            let kind = ExprKind::IsDistinctFrom { left, right, negated };
            self.bind(names, &Expr { position, kind })
        };
        let all: Vec<Bound> = left.iter().zip(right).map(one).collect::<Result<_>>()?;
        let func = if negated { Func::And } else { Func::Or };
        let joined = all.into_iter().reduce(|a, b| Bound::apply(func, vec![a, b], Type::Bool, position));
        Ok(joined.unwrap_or_else(|| Bound::bool(negated, position)))
    }
}

impl Lowerer<'_> {
    /// Binds an expression.
    pub(super) fn bind(&mut self, names: &Names<'_>, e: &Expr) -> Result<Bound> {
        self.depth += 1;
        let bound = if self.depth > planaria_base::limits::NESTING_MAX {
            Err(Error::new(SqlState::STATEMENT_TOO_COMPLEX, "expression is nested too deeply").at(e.position))
        } else {
            stack::check().and_then(|()| self.bind_kind(names, e)).map_err(|error| error.at(e.position))
        };
        self.depth -= 1;
        bound
    }

    fn bind_all(&mut self, names: &Names<'_>, list: &[Expr]) -> Result<Vec<Bound>> {
        list.iter().map(|e| self.bind(names, e)).collect()
    }

    /// Binds a condition.
    pub(super) fn bind_condition(&mut self, names: &Names<'_>, e: &Expr, what: &str) -> Result<Bound> {
        let bound = self.bind(names, e)?;
        self.boolean(bound, what)
    }

    pub(super) fn new_let(&mut self) -> u32 {
        self.lets.push(None);
        self.lets.len() as u32 - 1
    }

    /// Evaluates `e` once for a body that uses it several times.
    pub(super) fn with_let(
        &mut self,
        e: Bound,
        body: impl FnOnce(&mut Self, Bound) -> Result<Bound>,
    ) -> Result<Bound> {
        if e.is_simple() {
            return body(self, e);
        }
        let id = self.new_let();
        let reference = Bound::new(BoundKind::LetRef(id), e.ty.clone(), e.position);
        let body = body(self, reference)?;
        let (ty, position) = (body.ty.clone(), body.position);
        Ok(Bound::new(BoundKind::Let(vec![(id, e)], Box::new(body)), ty, position))
    }

    fn bind_kind(&mut self, names: &Names<'_>, e: &Expr) -> Result<Bound> {
        let position = e.position;
        let apply = |func, args, ty| Ok(Bound::apply(func, args, ty, position));
        match &e.kind {
            ExprKind::Null => Ok(Bound::null(Type::Unknown, position)),
            ExprKind::Bool(b) => Ok(Bound::bool(*b, position)),
            ExprKind::Integer(text) => integer_literal(text, position),
            ExprKind::Decimal(text) => {
                let n = Number::parse(text)?;
                Ok(Bound::constant(n.into(), Type::Numeric(None), position))
            }
            ExprKind::String(text) => Ok(Bound::constant(Datum::Text(text.clone()), Type::Unknown, position)),
            ExprKind::BitString(text) => {
                let ty = Type::Packed(PackedType::Bit(None));
                let value = Datum::parse(&ty, text).map_err(|e| e.at(position))?;
                Ok(Bound::constant(value, ty, position))
            }
            ExprKind::Column(name) => {
                if let Some(oid) = self.leaf_oid(names, name)? {
                    return Ok(oid);
                }
                let bound = match self.bind_name(names, name) {
                    Err(error) if error.sqlstate() == SqlState::UNDEFINED_COLUMN => {
                        return self.function_of_row(names, name, position)?.ok_or(error);
                    }
                    bound => bound?,
                };
                match bound.kind {
                    BoundKind::Row(fields) if bound.ty == Type::Void => {
                        self.row_value(names, &name.parts, fields, position)
                    }
                    _ => Ok(bound),
                }
            }
            // A whole row.
            ExprKind::Star(Some(name)) if names.has_row(name) => {
                self.bind(names, &Expr { position, kind: ExprKind::Column(name.clone()) })
            }
            ExprKind::Star(_) => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "\"*\" is not allowed here").at(position))
            }
            ExprKind::Parameter(n) => match names.scope.parameter(*n) {
                Some(row @ Variable::Row { .. }) => self.variable_value(row, position),
                _ => self.bind_parameter(names, *n, position),
            },
            ExprKind::Unary(op, inner) => {
                // A negative literal is read as one, so that the smallest bigint can be written; its
                // negative is the literal again.
                use planaria_syntax::ast::UnaryOp::Minus;
                match (op, &inner.kind) {
                    (Minus, ExprKind::Integer(text)) => {
                        return integer_literal(&format!("-{text}"), position);
                    }
                    (Minus, ExprKind::Unary(Minus, twice)) => {
                        if let ExprKind::Integer(text) = &twice.kind {
                            return integer_literal(text, position);
                        }
                    }
                    _ => {}
                }
                let inner = self.bind(names, inner)?;
                self.unary(*op, inner, position)
            }
            ExprKind::Binary(BinaryOp::And, left, right) => {
                let left = self.bind_condition(names, left, "AND")?;
                let right = self.bind_condition(names, right, "AND")?;
                Ok(Bound { position, ..left.and(right) })
            }
            ExprKind::Binary(BinaryOp::Or, left, right) => {
                let left = self.bind_condition(names, left, "OR")?;
                let right = self.bind_condition(names, right, "OR")?;
                Ok(Bound { position, ..left.or(right) })
            }
            // A row is an element there.
            ExprKind::Binary(BinaryOp::Concat, left, right) => {
                let (left, right) = (self.bind(names, left)?, self.bind(names, right)?);
                self.written(BinaryOp::Concat, left, right, position)
            }
            ExprKind::Binary(op, left, right) => {
                let left = self.bind_operand(names, left)?;
                let right = self.bind_operand(names, right)?;
                self.written(*op, left, right, position)
            }
            ExprKind::Chain(first, rest) => self.bind_chain(names, first, rest),
            ExprKind::Is { expr, what, negated } => self.bind_is(names, expr, *what, *negated, position),
            ExprKind::IsDistinctFrom { left, right, negated } => {
                if let (Some(left), Some(right)) = (names.whole_row(left, true), names.whole_row(right, true))
                {
                    return self.rows_distinct(names, &left, &right, *negated, position);
                }
                let left = self.bind(names, left)?;
                let right = self.bind(names, right)?;
                // As `=` would compare them.
                let equal = self.binary(BinaryOp::Eq, left, right, position)?;
                let func = if *negated { Func::NotDistinct } else { Func::Distinct };
                match equal.kind {
                    BoundKind::Apply(_, args) => apply(func, args, Type::Bool),
                    _ => Err(Error::internal("an equality that is no function")),
                }
            }
            ExprKind::Between { expr, low, high, negated, symmetric } => {
                let value = self.bind(names, expr)?;
                let low = self.bind(names, low)?;
                let high = self.bind(names, high)?;
                let within = self.with_let(value, |l, value| {
                    if *symmetric && l.reads_after {
                        // What a former version made passes over a bound that is NULL.
                        let (ordered, _) = l.unify("BETWEEN", vec![low, high])?;
                        let ty = ordered[0].ty.clone();
                        let least = Bound::apply(Func::Least, ordered.clone(), ty.clone(), position);
                        let greatest = Bound::apply(Func::Greatest, ordered, ty, position);
                        let above = l.binary(BinaryOp::Ge, value.clone(), least, position)?;
                        let below = l.binary(BinaryOp::Le, value, greatest, position)?;
                        return Ok(above.and(below));
                    }
                    if *symmetric {
                        // In one order or the other: with a bound that is NULL it may be neither.
                        return l.with_let(low, |l, low| {
                            l.with_let(high, |l, high| {
                                let mut ways = Vec::new();
                                for (low, high) in [(low.clone(), high.clone()), (high, low)] {
                                    let above = l.binary(BinaryOp::Ge, value.clone(), low, position)?;
                                    let below = l.binary(BinaryOp::Le, value.clone(), high, position)?;
                                    ways.push(above.and(below));
                                }
                                let [one, other] = <[Bound; 2]>::try_from(ways)
                                    .map_err(|_| Error::internal("two ways that are not two"))?;
                                Ok(one.or(other))
                            })
                        });
                    }
                    let above = l.written(BinaryOp::Ge, value.clone(), low, position)?;
                    let below = l.written(BinaryOp::Le, value, high, position)?;
                    Ok(above.and(below))
                })?;
                Ok(if *negated { within.negated() } else { within })
            }
            ExprKind::InList { expr, list, negated } => {
                let value = self.bind_operand(names, expr)?;
                let list = list.iter().map(|e| self.bind_operand(names, e)).collect::<Result<Vec<_>>>()?;
                let found = self.in_list(value, list, position)?;
                Ok(if *negated { found.negated() } else { found })
            }
            ExprKind::InQuery { expr, query, negated } => {
                let left = match self.bind_operand(names, expr)? {
                    Bound { kind: BoundKind::Row(fields), .. } => fields,
                    one => vec![one],
                };
                let query = self.bind_query(names, query)?;
                let found = self.in_query(left, query, position)?;
                Ok(if *negated { found.negated() } else { found })
            }
            ExprKind::Quantified { expr, op, all, array } => {
                let value = self.bind(names, expr)?;
                let array = self.bind(names, array)?;
                let (op, all, negated) = affirmed(*op, *all);
                let found = self.quantified(op, all, value, array, position)?;
                Ok(if negated { found.negated() } else { found })
            }
            ExprKind::QuantifiedQuery { expr, op, all, query } => {
                let value = self.bind(names, expr)?;
                let query = self.bind_query(names, query)?;
                let (op, all, negated) = affirmed(*op, *all);
                let found = match (op, all) {
                    (BinaryOp::Eq, false) => self.in_query(vec![value], query, position),
                    (BinaryOp::Ne, true) => Ok(self.in_query(vec![value], query, position)?.negated()),
                    _ => {
                        one_column(&query, position)?;
                        let (value, query, func) = self.match_query(op, value, query, position)?;
                        let kind = BoundKind::QuantifiedQuery(Box::new(value), Box::new(query), func, all);
                        Ok(Bound::new(kind, Type::Bool, position))
                    }
                }?;
                Ok(if negated { found.negated() } else { found })
            }
            ExprKind::Like { expr, pattern, escape, insensitive, negated } => {
                let mut insensitive = *insensitive;
                let mut types = Vec::new();
                let mut text = |l: &mut Self, e: &Expr| {
                    let e = l.bind(names, e)?;
                    types.push(e.ty.clone());
                    let what = if insensitive { "~~*" } else { "~~" };
                    if !super::operators::is_string(&e.ty) && e.ty != Type::Unknown {
                        let (left, right) = (&e.ty, Type::Unknown);
                        return Err(super::operators::no_operator(what, Some(left), &right, position));
                    }
                    l.operand(e, &Type::Text)
                };
                let value = text(self, expr)?;
                let pattern = text(self, pattern)?;
                let escape = match escape {
                    Some(e) => text(self, e)?,
                    None => Bound::constant(Datum::Text("\\".to_owned()), Type::Text, position),
                };
                insensitive |= super::operators::without_case(&types[0], &types[1]);
                let func = if insensitive { Func::ILike } else { Func::Like };
                let found = Bound::apply(func, vec![value, pattern, escape], Type::Bool, position);
                Ok(if *negated { found.negated() } else { found })
            }
            ExprKind::Call(call) => self.bind_call(names, call, position),
            ExprKind::SqlValue(keyword, precision) => match keyword.as_str() {
                "current_user" | "user" | "current_role" => Ok(self.user_name(false, position)),
                "session_user" => Ok(self.user_name(true, position)),
                "current_schema" => Ok(self.current_schema(position)),
                "current_catalog" => Ok(self.database_name(position)),
                _ => sql_value(keyword, *precision, position),
            },
            ExprKind::Cast(inner, name) => self.bind_cast(names, inner, name, position),
            ExprKind::Case { operand, whens, otherwise } => {
                self.without_sets("CASE", |l| l.bind_any_case(names, operand, whens, otherwise, position))
            }
            ExprKind::Coalesce(list) => {
                let list = self.without_sets("COALESCE", |l| l.bind_all(names, list))?;
                let (mut list, ty) = self.unify("COALESCE", list)?;
                if list.len() == 1 {
                    return Ok(list.remove(0));
                }
                Ok(Bound::new(BoundKind::Coalesce(list), ty, position))
            }
            ExprKind::NullIf(a, b) => {
                let a = self.bind(names, a)?;
                let b = self.bind(names, b)?;
                let a = self.settle(a)?;
                self.with_let(a, |l, a| {
                    let equal = l.binary(BinaryOp::Eq, a.clone(), b, position)?;
                    // The answer is of the type that was compared; dates and timestamps of all kinds are compared as they are.
                    let dated = a.ty.class() == TypeClass::DateTime;
                    let a = match &equal.kind {
                        BoundKind::Apply(_, args) if args[0].ty != a.ty && !dated => args[0].clone(),
                        _ => a,
                    };
                    let ty = a.ty.clone();
                    let null = Bound::null(ty.clone(), position);
                    Ok(Bound::new(BoundKind::Case(vec![(equal, null)], Box::new(a)), ty, position))
                })
            }
            ExprKind::Greatest(list) | ExprKind::Least(list) => {
                let greatest = matches!(e.kind, ExprKind::Greatest(_));
                let (what, func) =
                    if greatest { ("GREATEST", Func::Greatest) } else { ("LEAST", Func::Least) };
                let list = self.bind_all(names, list)?;
                let (list, ty) = self.unify(what, list)?;
                apply(func, list, ty)
            }
            ExprKind::Array(list) => self.bind_array(names, list, None, position),
            ExprKind::ArrayQuery(query) => {
                let query = self.bind_query(names, query)?;
                one_column(&query, position)?;
                let of = unmodified(&query.columns[0].ty);
                let ty = Type::Array(Box::new(of.clone()));
                let all = Bound::new(BoundKind::ArrayQuery(Box::new(query)), ty, position);
                match of {
                    // One array of those that are alike.
                    Type::Array(_) => apply(Func::ArrayStack, vec![all], of),
                    _ => Ok(all),
                }
            }
            ExprKind::Row(fields) => {
                let fields = self.spread(names, fields)?;
                let fields = self.bind_all(names, &fields)?;
                self.record(fields, Vec::new(), position)
            }
            ExprKind::Subscripts(base, list) => {
                let base = self.bind(names, base)?;
                self.bind_subscripts(names, base, list, position)
            }
            ExprKind::Field(inner, field) => {
                // Of a row that is named: its column or field, or a function of it.
                if let ExprKind::Column(name) = &inner.kind
                    && self.bind_name(names, name).map_or(true, |b| b.ty == Type::Void)
                {
                    let mut name = name.clone();
                    name.parts.push(field.clone());
                    return self.bind(names, &Expr { position: name.position, kind: ExprKind::Column(name) });
                }
                let row = self.bind(names, inner)?;
                self.field_of(row, field, position)
            }
            ExprKind::Fields(_) => {
                let message = "row expansion via \"*\" is not supported here";
                Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
            }
            ExprKind::Subquery(query) => {
                let query = self.bind_query(names, query)?;
                one_column(&query, position)?;
                let ty = query.columns[0].ty.clone();
                Ok(Bound::new(BoundKind::Subquery(Box::new(query)), ty, position))
            }
            ExprKind::Exists(query) => {
                let query = self.bind_query(names, query)?;
                Ok(Bound::new(BoundKind::Exists(Box::new(query)), Type::Bool, position))
            }
            ExprKind::AtTimeZone(inner, zone) => {
                let inner = self.bind(names, inner)?;
                let zone = self.bind(names, zone)?;
                self.at_time_zone(inner, zone, position)
            }
            ExprKind::Collate(inner, collation) => {
                let name = collation.parts.last().map_or("", String::as_str);
                if !["C", "POSIX", "default", "ucs_basic", "C.UTF-8"].contains(&name) {
                    return Err(Error::unsupported(
                        format!("collation \"{name}\" is not supported"),
                        "texts are ordered by their bytes, as under \"C\"",
                    ));
                }
                self.bind(names, inner)
            }
        }
    }

    /// A row as a value; fields without a name are `f1`, `f2`, ...
    pub(super) fn record(&mut self, fields: Vec<Bound>, names: Vec<String>, position: u32) -> Result<Bound> {
        let fields = fields.into_iter().map(|f| self.settle(f)).collect::<Result<Vec<_>>>()?;
        let mut names = names.into_iter();
        let typed = fields
            .iter()
            .enumerate()
            .map(|(i, f)| (names.next().unwrap_or_else(|| format!("f{}", i + 1)), f.ty.clone()));
        let ty = Type::Record(typed.collect::<Vec<_>>().into());
        Ok(Bound::apply(Func::ArrayMake, fields, ty, position))
    }

    /// Like [`Lowerer::bind`], but rows are allowed.
    /// A long chain of operators: every so often its value so far gets a name, so that nothing nests deeply.
    fn bind_chain(
        &mut self,
        names: &Names<'_>,
        first: &Expr,
        rest: &[(BinaryOp, Position, Expr)],
    ) -> Result<Bound> {
        let mut values = Vec::new();
        let mut left = self.bind_operand(names, first)?;
        for (i, (op, position, right)) in rest.iter().enumerate() {
            // What has no type yet gets it from its neighbour.
            if i % CHAIN_NESTING_MAX == 0
                && left.ty != Type::Unknown
                && !matches!(left.kind, BoundKind::Row(_))
            {
                let id = self.new_let();
                let reference = Bound::new(BoundKind::LetRef(id), left.ty.clone(), left.position);
                values.push((id, std::mem::replace(&mut left, reference)));
            }
            let right = self.bind_operand(names, right)?;
            left = self.compare(*op, left, right, *position).map_err(|e| e.at(*position))?;
        }
        let (ty, position) = (left.ty.clone(), left.position);
        Ok(Bound::new(BoundKind::Let(values, Box::new(left)), ty, position))
    }

    fn bind_operand(&mut self, names: &Names<'_>, e: &Expr) -> Result<Bound> {
        match &e.kind {
            ExprKind::Row(fields) => {
                let fields = self.spread(names, fields)?;
                let fields = self.bind_all(names, &fields)?;
                Ok(Bound::new(BoundKind::Row(fields), Type::Void, e.position))
            }
            _ => self.bind(names, e),
        }
    }

    fn bind_is(
        &mut self,
        names: &Names<'_>,
        e: &Expr,
        what: IsWhat,
        negated: bool,
        position: u32,
    ) -> Result<Bound> {
        let rows = what == IsWhat::Null;
        let fields = match &e.kind {
            ExprKind::Row(_) if rows => Some(self.bind_operand(names, e)?),
            ExprKind::Column(name) if rows => Some(self.bind_name(names, name)?),
            _ => None,
        };
        if let Some(Bound { kind: BoundKind::Row(fields), .. }) = fields {
            // A row IS NULL when all its fields are, IS NOT NULL when none is.
            let func = if negated { Func::IsNotNull } else { Func::IsNull };
            let mut all = Bound::bool(true, position);
            for field in fields {
                let field = self.settle(field)?;
                all = all.and(Bound::apply(func, vec![field], Type::Bool, position));
            }
            return Ok(all);
        }
        let value = match fields {
            Some(bound) => bound,
            None => self.bind(names, e)?,
        };
        if rows && matches!(value.ty, Type::Record(_)) {
            return self.row_is_null(value, negated, position);
        }
        let (func, inverse) = match what {
            IsWhat::Null => (Func::IsNull, Func::IsNotNull),
            IsWhat::Unknown => (Func::IsNull, Func::IsNotNull),
            IsWhat::True => (Func::IsTrue, Func::IsTrue),
            IsWhat::False => (Func::IsFalse, Func::IsFalse),
        };
        let value = match what {
            IsWhat::Null => self.settle(value)?,
            IsWhat::True => self.boolean(value, "IS TRUE")?,
            IsWhat::False => self.boolean(value, "IS FALSE")?,
            IsWhat::Unknown => self.boolean(value, "IS UNKNOWN")?,
        };
        Ok(match (negated, func == inverse) {
            (false, _) => Bound::apply(func, vec![value], Type::Bool, position),
            (true, false) => Bound::apply(inverse, vec![value], Type::Bool, position),
            (true, true) => Bound::apply(func, vec![value], Type::Bool, position).negated(),
        })
    }

    fn bind_any_case(
        &mut self,
        names: &Names<'_>,
        operand: &Option<Box<Expr>>,
        whens: &[(Expr, Expr)],
        otherwise: &Option<Box<Expr>>,
        position: u32,
    ) -> Result<Bound> {
        let Some(operand) = operand else { return self.bind_case(names, None, whens, otherwise, position) };
        let value = self.bind(names, operand)?;
        let value = self.settle(value)?;
        self.with_let(value, |l, value| l.bind_case(names, Some(value), whens, otherwise, position))
    }

    fn bind_case(
        &mut self,
        names: &Names<'_>,
        operand: Option<Bound>,
        whens: &[(Expr, Expr)],
        otherwise: &Option<Box<Expr>>,
        position: u32,
    ) -> Result<Bound> {
        let mut conditions = Vec::with_capacity(whens.len());
        let mut results = Vec::with_capacity(whens.len() + 1);
        for (when, then) in whens {
            let sets = self.set_calls();
            conditions.push(match &operand {
                Some(value) => {
                    let when = self.bind(names, when)?;
                    let at = when.position;
                    self.binary(BinaryOp::Eq, value.clone(), when, at)?
                }
                None => self.bind_condition(names, when, "CASE/WHEN")?,
            });
            if self.set_calls() > sets {
                let message = "argument of CASE/WHEN must not return a set";
                return Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(when.position));
            }
            results.push(self.bind(names, then)?);
        }
        results.push(match otherwise {
            Some(e) => self.bind(names, e)?,
            None => Bound::null(Type::Unknown, position),
        });
        // The type of ELSE comes first.
        results.rotate_right(1);
        let (mut results, ty) = self.unify("CASE", results).map_err(|mut e| {
            if let Some(rest) = e.message().strip_prefix("CASE could") {
                let message = format!("CASE/WHEN could{rest}");
                e.fields_mut().message = message;
            }
            e
        })?;
        let last = results.remove(0);
        let whens = conditions.into_iter().zip(results).collect();
        Ok(Bound::new(BoundKind::Case(whens, Box::new(last)), ty, position))
    }

    fn bind_cast(
        &mut self,
        names: &Names<'_>,
        inner: &Expr,
        name: &planaria_syntax::ast::TypeName,
        position: u32,
    ) -> Result<Bound> {
        let super::Declared { ty, domain } = self.declared(name)?;
        if let (ExprKind::Array(list), Type::Array(_)) = (&inner.kind, &ty) {
            let array = self.bind_array(names, list, Some(&ty), position)?;
            return Ok(self.in_domain(array, domain));
        }
        let inner = self.bind(names, inner)?;
        let mut bound = self.coerce(inner, &ty, CastContext::Explicit)?;
        bound.position = position;
        Ok(self.in_domain(bound, domain))
    }

    /// `value IN (list)`.
    pub(super) fn in_list(&mut self, value: Bound, list: Vec<Bound>, position: u32) -> Result<Bound> {
        let is_row = matches!(value.kind, BoundKind::Row(_));
        let ints = |b: &Bound| matches!(b.ty, Type::Int2 | Type::Int4 | Type::Int8);
        if !is_row && list.len() > 1 {
            let (value, list, class) = if ints(&value) && list.iter().all(ints) {
                (value, list, planaria_base::types::TypeClass::Integer)
            } else {
                let mut all = vec![value.clone()];
                all.extend(list.iter().cloned());
                match self.unify("IN", all) {
                    Ok((mut all, ty)) => {
                        let value = all.remove(0);
                        (value, all, ty.class())
                    }
                    // No common type: each comparison chooses its own operator, or fails.
                    Err(_) => return self.any_equal(value, list, position),
                }
            };
            let Some(func) = comparison(BinaryOp::Eq, class) else {
                return self.any_equal(value, list, position);
            };
            let kind = BoundKind::InList(Box::new(value), list, func);
            return Ok(Bound::new(kind, Type::Bool, position));
        }
        self.any_equal(value, list, position)
    }

    fn any_equal(&mut self, value: Bound, list: Vec<Bound>, position: u32) -> Result<Bound> {
        let mut any: Option<Bound> = None;
        for item in list {
            let equal = self.compare(BinaryOp::Eq, value.clone(), item, position)?;
            any = Some(match any {
                None => equal,
                Some(any) => any.or(equal),
            });
        }
        any.ok_or_else(|| Error::new(SqlState::SYNTAX_ERROR, "an empty IN list"))
    }

    /// `op ANY/ALL (array)`.
    fn quantified(
        &mut self,
        op: BinaryOp,
        all: bool,
        value: Bound,
        array: Bound,
        position: u32,
    ) -> Result<Bound> {
        let array = arrayed(array);
        let array = if array.ty == Type::Unknown {
            let of = if value.ty == Type::Unknown { Type::Text } else { unmodified(&value.ty) };
            self.coerce(array, &Type::Array(Box::new(of)), CastContext::Implicit)?
        } else {
            array
        };
        let Type::Array(of) = array.ty.clone() else {
            let message = "op ANY/ALL (array) requires array on right side";
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        };
        // Which comparison: as between the value and an element.
        let id = self.new_let();
        let element = Bound::new(BoundKind::LetRef(id), (*of).clone(), position);
        let compared = self.binary(op, value, element, position)?;
        let BoundKind::Apply(func, mut args) = compared.kind else {
            return Err(Error::internal("a comparison that is no function"));
        };
        if compared.ty != Type::Bool || args.len() != 2 {
            let message = "op ANY/ALL (array) requires operator to yield boolean";
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
        }
        let (element, value) = (args.pop().expect("two"), args.pop().expect("two"));
        let array = match element.kind {
            BoundKind::LetRef(_) => array,
            // The elements must be converted first.
            _ => self.coerce(array, &Type::Array(Box::new(element.ty)), CastContext::Implicit)?,
        };
        match (op, all) {
            (BinaryOp::Eq, false) => {
                Ok(Bound::apply(Func::ArrayContainsElement, vec![value, array], Type::Bool, position))
            }
            (BinaryOp::Ne, true) => {
                Ok(Bound::apply(Func::ArrayContainsElement, vec![value, array], Type::Bool, position)
                    .negated())
            }
            _ => {
                let kind = BoundKind::Quantified(Box::new(value), Box::new(array), func, all);
                Ok(Bound::new(kind, Type::Bool, position))
            }
        }
    }
}

/// The operator without a negation of its own, whether it must hold for all, and whether that is negated: not to match
/// any is not to match all.
fn affirmed(op: BinaryOp, all: bool) -> (BinaryOp, bool, bool) {
    match op {
        BinaryOp::Regex { insensitive, negated: true } => {
            (BinaryOp::Regex { insensitive, negated: false }, !all, true)
        }
        BinaryOp::Like { insensitive, negated: true } => {
            (BinaryOp::Like { insensitive, negated: false }, !all, true)
        }
        _ => (op, all, false),
    }
}

/// A vector as the array that it is.
pub(super) fn arrayed(e: Bound) -> Bound {
    match (&e.ty, e.ty.element()) {
        (Type::System(_), Some(of)) => {
            let position = e.position;
            Bound::new(BoundKind::Relabel(Box::new(e)), Type::Array(Box::new(of)), position)
        }
        _ => e,
    }
}

/// An integer literal: the smallest of integer, bigint, numeric that holds it.
fn integer_literal(text: &str, position: u32) -> Result<Bound> {
    let clean: String = text.chars().filter(|c| *c != '_').collect();
    match text_io::parse_int(&clean, &Type::Int8) {
        Ok(n) => {
            let ty = if i32::try_from(n).is_ok() { Type::Int4 } else { Type::Int8 };
            Ok(Bound::constant(Datum::Int(n), ty, position))
        }
        Err(_) => {
            let n = Number::parse(&clean)?;
            Ok(Bound::constant(n.into(), Type::Numeric(None), position))
        }
    }
}

impl Lowerer<'_> {
    /// A comparison as it was written, or any other infix operator.
    fn written(&mut self, op: BinaryOp, left: Bound, right: Bound, position: u32) -> Result<Bound> {
        match self.bounded_by_instant(op, &left, &right, position)? {
            Some(bounded) => Ok(bounded),
            None => self.compare(op, left, right, position),
        }
    }

    /// What clocks of a zone show at an instant, or the instant at which they show this.
    fn at_time_zone(&mut self, mut inner: Bound, zone: Bound, position: u32) -> Result<Bound> {
        if *inner.ty.plain() == Type::Time {
            inner = self.coerce(inner, &super::packed::TIMETZ, CastContext::Implicit)?;
        }
        if let Type::Packed(PackedType::TimeTz(_)) = inner.ty {
            let by_interval = zone.ty.class() == TypeClass::Interval;
            let (func, by) = match by_interval {
                true => (Func::TimeTzShift, Type::Interval),
                false => (Func::TimeTzInZone, Type::Text),
            };
            let zone = self.operand(zone, &by)?;
            return Ok(Bound::apply(func, vec![zone, inner], super::packed::TIMETZ, position));
        }
        let local = *inner.ty.plain() == Type::Timestamp;
        let (inner, to) = match local {
            true => (inner, Type::TimestampTz),
            false => (self.coerce(inner, &Type::TimestampTz, CastContext::Implicit)?, Type::Timestamp),
        };
        // UTC needs no rules, whatever the release.
        let utc = matches!(zone.as_const(), Some(Datum::Text(z)) if
            ["utc", "gmt", "z", "zulu", "etc/utc"].contains(&z.to_ascii_lowercase().as_str()));
        let by = match zone.ty.class() {
            _ if utc => Some(Bound::constant(Datum::Interval(Interval::ZERO), Type::Interval, position)),
            TypeClass::Interval => Some(zone.clone()),
            _ => None,
        };
        Ok(match by {
            Some(by) => {
                let func = if local { Func::TimestampSubInterval } else { Func::TimestampAddInterval };
                Bound::apply(func, vec![inner, by], to, position)
            }
            None => {
                let zone = self.operand(zone, &Type::Text)?;
                let func = if local { Func::ZoneTz } else { Func::ZoneLocal };
                Bound::apply(func, vec![zone, inner], to, position)
            }
        })
    }
}

/// A subquery used as a value has one column.
pub(super) fn one_column(query: &super::bound::BoundQuery, position: u32) -> Result<()> {
    if query.columns.len() == 1 {
        return Ok(());
    }
    Err(Error::new(SqlState::SYNTAX_ERROR, "subquery must return only one column").at(position))
}

/// `current_timestamp` and its like.
pub(super) fn sql_value(keyword: &str, precision: Option<u32>, position: u32) -> Result<Bound> {
    if keyword == "current_time" {
        let now = BoundKind::Draw(Draw::TransactionTimestamp);
        let kind = BoundKind::Cast(Box::new(Bound::new(now, Type::TimestampTz, position)), true);
        return Ok(Bound::new(kind, Type::Packed(PackedType::TimeTz(precision.map(|p| p.min(6)))), position));
    }
    let clock = match keyword {
        "current_timestamp" => Clock::TimestampTz,
        "localtimestamp" => Clock::Timestamp,
        _ => Clock::Time,
    };
    if let Some(digits @ 0..6) = precision {
        let whole = sql_value(keyword, None, position)?;
        let kind = BoundKind::Cast(Box::new(whole), true);
        return Ok(Bound::new(kind, Type::Rounded(clock, digits as u8), position));
    }
    let draw = |ty| Bound::new(BoundKind::Draw(Draw::TransactionTimestamp), ty, position);
    Ok(match keyword {
        "current_timestamp" => draw(Type::TimestampTz),
        "localtimestamp" | "localtime" | "current_date" => {
            let ty = if keyword == "current_date" { &Type::Date } else { clock.ty() };
            let kind = BoundKind::Cast(Box::new(draw(Type::TimestampTz)), true);
            Bound::new(kind, ty.clone(), position)
        }
        _ => {
            return Err(Error::unsupported(
                format!("{keyword} is not supported"),
                "use localtime or localtimestamp",
            ));
        }
    })
}
