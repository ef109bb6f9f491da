//! What an INSERT is given: for which columns, or parts of them, and the rows.
//!
//! A part of a column is given by a way into it (`home.zip`, `many[1].street`). The parts of a column make a value of it
//! together, in which everything else is NULL.

use super::Lowerer;
use super::arrays::{Place, no_subscripts};
use super::bound::{Body, Bound, BoundQuery};
use super::dml::mismatch;
use super::insert::Rows;
use super::names::Names;
use super::rows::nth_field;
use super::types::{CastContext, unmodified};
use super::updatable::Target;
use planaria_base::types::RowType;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_catalog::{ColumnDefault, Table};
use planaria_ir::{Func, Output, ProgramKind};
use planaria_syntax::ast::{self, Expr, ExprKind, Insert, InsertSource, Position, Step, Subscript};
use std::borrow::Cow;

/// A column of the query that is not stored.
const NOWHERE: usize = usize::MAX;

/// A column, or a field within it, parts of which are given.
#[derive(Clone, Copy)]
struct Within<'a> {
    names: &'a Names<'a>,
    column: &'a str,
    position: Position,
}

/// Values, each with the way to where it goes.
type Parts<'a> = Vec<(&'a [Step], Bound)>;

impl Lowerer<'_> {
    /// The columns that are given values, in the order of the list.
    pub(super) fn given_columns(&mut self, target: &Target<'_>, insert: &Insert) -> Result<Vec<usize>> {
        if insert.columns.is_empty() {
            return Ok(target.columns().into_iter().map(|(_, column)| column.unwrap_or(NOWHERE)).collect());
        }
        let mut given = Vec::with_capacity(insert.columns.len());
        for (i, (name, position)) in insert.columns.iter().enumerate() {
            let column = target.found(name, *position)?.unwrap_or(NOWHERE);
            let part = |i| !insert.part(i).is_empty();
            let again =
                |(j, (other, _)): (usize, &(String, Position))| other == name && !(part(i) && part(j));
            if insert.columns[..i].iter().enumerate().any(again) {
                let message = format!("column \"{name}\" specified more than once");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(*position));
            }
            given.push(column);
        }
        Ok(given)
    }

    /// Whether each column can be given values, and is given one only.
    fn check_given(&self, target: &Target<'_>, insert: &Insert, given: &[usize]) -> Result<()> {
        for i in 0..given.len() {
            if given[i] == NOWHERE {
                let columns = target.columns();
                let name = insert.columns.get(i).map_or_else(|| columns[i].0, |(name, _)| name);
                return Err(target.read_only(name));
            }
            let twice =
                |j: usize| given[j] == given[i] && (insert.part(i).is_empty() || insert.part(j).is_empty());
            if (0..i).any(twice) {
                let name = &target.table.columns[given[i]].name;
                let message = format!("multiple assignments to same column \"{name}\"");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message));
            }
        }
        Ok(())
    }

    /// Binds the rows; `given` loses the columns that every row leaves to their default.
    pub(super) fn bind_rows(
        &mut self,
        level: &Names<'_>,
        target: &Target<'_>,
        insert: &Insert,
        given: &mut Vec<usize>,
    ) -> Result<Rows> {
        let table = target.table;
        let listed = !insert.columns.is_empty();
        let width = |n: usize, given: &mut Vec<usize>, position: u32| -> Result<()> {
            if n > given.len() {
                let message = "INSERT has more expressions than target columns";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
            }
            if n < given.len() && listed {
                let message = "INSERT has more target columns than expressions";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(insert.columns[n].1));
            }
            given.truncate(n);
            Ok(())
        };
        let values = match &insert.source {
            // What logs have of routines stays as it was.
            InsertSource::Default(at) if !insert.columns.is_empty() && self.refuses_more() => {
                let message = "syntax error at or near \"DEFAULT\"";
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(*at));
            }
            InsertSource::Default(_) => {
                given.clear();
                return Ok(Rows::One(Vec::new()));
            }
            InsertSource::Values(rows) => &self.spread_rows(level, rows)?[..],
            InsertSource::Query(query) => {
                let mut bound = self.bind_level(level.inner(), query, true)?;
                width(bound.columns.len(), given, query.position)?;
                self.check_given(target, insert, given)?;
                let draws = |(i, column): (usize, &planaria_catalog::Column)| {
                    let draws =
                        matches!(column.default, ColumnDefault::Sequence(_) | ColumnDefault::Identity { .. });
                    draws && !column.is_row_id() && !given.contains(&i)
                };
                // A row draws its numbers in the order of the columns, before it fails for a later one. Programs of routines
                // convert what they are given first: logs have their calls.
                let converts_later = self.program.kind == ProgramKind::Statement
                    && target.instead().is_none()
                    && !insert.has_parts()
                    && table.columns.iter().enumerate().any(draws);
                for (i, column) in given.iter().enumerate() {
                    let name = target.shown(*column);
                    let column = &table.columns[*column];
                    let from = bound.columns[i].ty.clone();
                    let steps = insert.part(i);
                    if !steps.is_empty() {
                        // What does not fit is told of below.
                        let part = part_type(&column.ty, steps);
                        let part = part.filter(|ty| self.castable(&from, ty, CastContext::Assignment));
                        part.map_or(Ok(()), |ty| self.coerce_output(&mut bound, i, &ty))?;
                        continue;
                    }
                    if !self.castable(&from, &column.ty, CastContext::Assignment) {
                        return Err(mismatch(name, &column.ty, &from, query.position));
                    }
                    if !converts_later || from == Type::Unknown {
                        self.coerce_output(&mut bound, i, &column.ty)?;
                    }
                }
                for column in given.clone() {
                    self.check_identity(table, column, insert)?;
                }
                if insert.has_parts() {
                    *given = self.derive_whole(level, target, insert, given, &mut bound)?;
                }
                if insert.overriding == Some(false) {
                    // What the query gives for identity columns goes nowhere.
                    for column in given.iter_mut() {
                        if matches!(table.columns[*column].default, ColumnDefault::Identity { .. }) {
                            *column = NOWHERE;
                        }
                    }
                }
                return Ok(Rows::Query(Box::new(bound)));
            }
        };
        let first = values.first().map_or(0, Vec::len);
        if let Some(other) = values.iter().find(|r| r.len() != first) {
            let message = "VALUES lists must all be the same length";
            let at = other.iter().flatten().next().map_or(insert.table.position, |e| e.position);
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
        }
        let place = values.first().and_then(|r| r.get(given.len())).and_then(|e| e.as_ref());
        width(first, given, place.map_or(insert.table.position, |e| e.position))?;
        self.check_given(target, insert, given)?;
        let no_value = |i: &usize| values.iter().any(|row| row[*i].is_none());
        if let Some((i, step)) = (0..first).filter(no_value).find_map(|i| Some((i, insert.part(i).first()?)))
        {
            let message = match step {
                Step::Subscripts(_) => "cannot set an array element to DEFAULT",
                Step::Field(_) => "cannot set a subfield to DEFAULT",
            };
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(insert.columns[i].1));
        }
        // Columns that are DEFAULT everywhere are as if they were not listed.
        let identity = |c: usize| matches!(table.columns[c].default, ColumnDefault::Identity { .. });
        let dropped: Vec<bool> = (0..first)
            .map(|i| {
                values.iter().all(|r| r[i].is_none())
                    || insert.overriding == Some(false) && identity(given[i])
            })
            .collect();
        let mut rows = Vec::with_capacity(values.len());
        for row in values {
            let mut bound = Vec::with_capacity(row.len());
            for (i, e) in row.iter().enumerate().filter(|(i, _)| !dropped[*i]) {
                let column = given[i];
                bound.push(match e {
                    None => self.target_default(target, column, insert.table.position)?,
                    Some(e) => {
                        self.check_identity(table, column, insert)?;
                        let value = self.outside("VALUES", |l| l.bind(level, e))?;
                        match insert.part(i) {
                            [] => self.assign(value, target, column)?,
                            _ => value,
                        }
                    }
                });
            }
            rows.push(bound);
        }
        let kept: Vec<usize> = (0..first).filter(|i| !dropped[*i]).collect();
        *given = kept.iter().map(|i| given[*i]).collect();
        if insert.has_parts() {
            let of_parts = std::mem::take(given);
            for row in &mut rows {
                let values = std::mem::take(row);
                (*given, *row) = self.whole_values(level, target, insert, (&of_parts, &kept), values)?;
            }
        }
        Ok(if rows.len() == 1 { Rows::One(rows.remove(0)) } else { Rows::Several(rows) })
    }

    /// 428C9 for a value given to an identity column that is always generated.
    fn check_identity(&self, table: &Table, column: usize, insert: &Insert) -> Result<()> {
        let column = &table.columns[column];
        if column.generated().is_some() {
            return Err(super::generated::cannot_be_given(&column.name, true));
        }
        let always = matches!(column.default, ColumnDefault::Identity { always: true, .. });
        if !always || insert.overriding.is_some() {
            return Ok(());
        }
        let message = format!("cannot insert a non-DEFAULT value into column \"{}\"", column.name);
        Err(Error::new(SqlState::GENERATED_ALWAYS, message)
            .with_detail(format!(
                "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                column.name
            ))
            .with_hint("Use OVERRIDING SYSTEM VALUE to override."))
    }

    /// A query that gives parts of columns becomes one that gives the columns.
    fn derive_whole(
        &mut self,
        level: &Names<'_>,
        target: &Target<'_>,
        insert: &Insert,
        given: &[usize],
        query: &mut BoundQuery,
    ) -> Result<Vec<usize>> {
        self.derive(query);
        let Body::Select(select) = &mut query.body else {
            return Err(Error::internal("a derived query selects"));
        };
        let kept: Vec<usize> = (0..given.len()).collect();
        let values = std::mem::take(&mut select.outputs);
        let (columns, values) = self.whole_values(level, target, insert, (given, &kept), values)?;
        let output = |e: &Bound| Output { name: String::new(), ty: e.ty.clone() };
        query.columns = values.iter().map(output).collect();
        select.visible = values.len();
        select.outputs = values;
        Ok(columns)
    }

    /// The columns, and their values, that parts make. `kept`: for which items of the list the values are.
    fn whole_values(
        &mut self,
        level: &Names<'_>,
        target: &Target<'_>,
        insert: &Insert,
        (given, kept): (&[usize], &[usize]),
        values: Vec<Bound>,
    ) -> Result<(Vec<usize>, Vec<Bound>)> {
        let mut all: Vec<(usize, Position, Parts<'_>)> = Vec::new();
        for ((column, item), value) in given.iter().zip(kept).zip(values) {
            let (steps, position) = (insert.part(*item), insert.columns.get(*item).map_or(0, |(_, at)| *at));
            match all.iter_mut().find(|(other, ..)| other == column && !steps.is_empty()) {
                Some((.., parts)) => parts.push((steps, value)),
                None => all.push((*column, position, vec![(steps, value)])),
            }
        }
        let (mut columns, mut whole) = (Vec::with_capacity(all.len()), Vec::with_capacity(all.len()));
        for (column, position, mut parts) in all {
            columns.push(column);
            if let [([], _)] = parts[..] {
                whole.extend(parts.pop().map(|(_, value)| value));
                continue;
            }
            let within = Within { names: level, column: target.shown(column), position };
            let ty = target.table.columns[column].ty.clone();
            let value = self.value_of_parts(&within, &ty, None, parts)?;
            whole.push(self.assign(value, target, column)?);
        }
        Ok((columns, whole))
    }

    /// A value of a type with the parts that are given, in that order; what none gives is that of `base`.
    fn value_of_parts(
        &mut self,
        of: &Within<'_>,
        ty: &Type,
        mut base: Option<Bound>,
        mut parts: Parts<'_>,
    ) -> Result<Bound> {
        // What is given whole is without the parts that were given before.
        if let Some(last) = parts.iter().rposition(|(steps, _)| steps.is_empty()) {
            let later = parts.split_off(last + 1);
            base = parts.pop().map(|(_, value)| value);
            parts = later;
        }
        let Some((first, _)) = parts.first() else {
            return Ok(base.unwrap_or_else(|| Bound::null(ty.clone(), of.position)));
        };
        match (ty, &first[0]) {
            (Type::Record(row), Step::Field(_)) => match base {
                Some(base) => self.with_let(base, |l, base| l.row_of_parts(of, row, Some(&base), parts)),
                None => self.row_of_parts(of, row, None, parts),
            },
            (_, Step::Field(field)) => {
                let message = format!(
                    "cannot assign to field \"{field}\" of column \"{}\" because its type {} is not a composite type",
                    of.column,
                    self.catalog.as_shown(ty)
                );
                Err(Error::new(SqlState::DATATYPE_MISMATCH, message).at(of.position))
            }
            (_, Step::Subscripts(_)) => self.array_of_parts(of, ty, base, parts),
        }
    }

    fn row_of_parts(
        &mut self,
        of: &Within<'_>,
        row: &RowType,
        base: Option<&Bound>,
        parts: Parts<'_>,
    ) -> Result<Bound> {
        let named = |step: &Step, name: &str| matches!(step, Step::Field(field) if field == name);
        for (steps, _) in &parts {
            let Step::Field(field) = &steps[0] else { return Err(no_subscripts(&Type::Record(row.clone()))) };
            if !row.iter().any(|(name, _)| name == field) {
                let message = format!(
                    "cannot assign to field \"{field}\" of column \"{}\" because there is no such column in data \
                     type {row}",
                    of.column
                );
                return Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(of.position));
            }
        }
        let mut fields = Vec::with_capacity(row.iter().len());
        for (i, (name, ty)) in row.iter().enumerate() {
            let before = base.map(|base| nth_field(base.clone(), i, ty.clone(), of.position));
            let mut within: Parts<'_> = Vec::new();
            for (steps, value) in parts.iter().filter(|(steps, _)| named(&steps[0], name)) {
                let value = match steps.len() {
                    1 => self.given_part(of, ty, &steps[0], value.clone())?,
                    _ => value.clone(),
                };
                within.push((&steps[1..], value));
            }
            let of = Within { column: name, ..*of };
            fields.push(self.value_of_parts(&of, ty, before, within)?);
        }
        Ok(Bound::apply(Func::ArrayMake, fields, Type::Record(row.clone()), of.position))
    }

    fn array_of_parts(
        &mut self,
        of: &Within<'_>,
        ty: &Type,
        base: Option<Bound>,
        parts: Parts<'_>,
    ) -> Result<Bound> {
        let mut whole = base;
        for (steps, value) in parts {
            let Step::Subscripts(list) = &steps[0] else { return Err(no_subscripts(ty)) };
            let rest = &steps[1..];
            let part = part_type(ty, &steps[..1]).ok_or_else(|| no_subscripts(ty))?;
            let within = |l: &mut Self, before| match rest.is_empty() {
                // What becomes of JSON is seen to where it is put in.
                true if part == Type::Jsonb => Ok(value),
                true => l.given_part(of, &part, &steps[0], value),
                false => l.value_of_parts(of, &part, before, vec![(rest, value)]),
            };
            whole = Some(match whole {
                None => {
                    let value = within(self, None)?;
                    self.put_at(of, Bound::null(ty.clone(), of.position), list, value)?
                }
                Some(whole) if rest.is_empty() => {
                    let value = within(self, None)?;
                    self.put_at(of, whole, list, value)?
                }
                Some(whole) => self.with_let(whole, |l, whole| {
                    let before = l.bind_subscripts(of.names, whole.clone(), list, of.position)?;
                    let value = within(l, Some(before))?;
                    l.put_at(of, whole, list, value)
                })?,
            });
        }
        Ok(whole.unwrap_or_else(|| Bound::null(ty.clone(), of.position)))
    }

    /// An array, or JSON, with a value at a place.
    fn put_at(&mut self, of: &Within<'_>, whole: Bound, list: &[Subscript], value: Bound) -> Result<Bound> {
        let ty = whole.ty.clone();
        let one = || Bound::constant(Datum::Int(1), Type::Int4, of.position);
        let (function, args) = match Place::of(list, one, |e| self.bind(of.names, e))? {
            Place::Element(places) => {
                (ast::PUT, std::iter::once(whole).chain(places).chain([value]).collect::<Vec<_>>())
            }
            Place::Slice(given, bounds) => {
                let given = Bound::constant(Datum::Text(given), Type::Text, of.position);
                (ast::PUT_SLICE, [whole, given].into_iter().chain(bounds).chain([value]).collect())
            }
        };
        self.bind_array_function(function, &args, of.position)?.ok_or_else(|| no_subscripts(&ty))
    }

    /// The value of a part, in its type.
    fn given_part(&mut self, of: &Within<'_>, ty: &Type, step: &Step, value: Bound) -> Result<Bound> {
        let from = value.ty.clone();
        self.coerce(value, ty, CastContext::Assignment).map_err(|error| {
            if error.sqlstate() != SqlState::CANNOT_COERCE {
                return error;
            }
            let [to, from] = [ty, &from].map(|ty| self.catalog.as_shown(ty));
            let message = match step {
                Step::Field(field) => {
                    format!("subfield \"{field}\" is of type {to} but expression is of type {from}")
                }
                Step::Subscripts(_) => {
                    let column = of.column;
                    format!(
                        "subscripted assignment to \"{column}\" requires type {to} but expression is of type {from}"
                    )
                }
            };
            Error::new(SqlState::DATATYPE_MISMATCH, message)
                .with_hint("You will need to rewrite or cast the expression.")
                .at(of.position)
        })
    }

    /// Rows of VALUES, with each `row.*` written out.
    fn spread_rows<'r>(
        &mut self,
        level: &Names<'_>,
        rows: &'r [Vec<Option<Expr>>],
    ) -> Result<Cow<'r, [Vec<Option<Expr>>]>> {
        let is_star = |e: &Expr| matches!(e.kind, ExprKind::Star(Some(_)) | ExprKind::Fields(_));
        if !rows.iter().flatten().flatten().any(is_star) {
            return Ok(Cow::Borrowed(rows));
        }
        let mut all = Vec::with_capacity(rows.len());
        for row in rows {
            let mut spread = Vec::with_capacity(row.len());
            for e in row {
                match e {
                    Some(e) => {
                        let fields = self.spread(level, std::slice::from_ref(e))?;
                        spread.extend(fields.iter().cloned().map(Some));
                    }
                    None => spread.push(None),
                }
            }
            all.push(spread);
        }
        Ok(Cow::Owned(all))
    }
}

/// The type of a part, if there is such a part.
fn part_type(ty: &Type, steps: &[Step]) -> Option<Type> {
    let Some((step, rest)) = steps.split_first() else { return Some(ty.clone()) };
    let part = match (ty, step) {
        (Type::Record(row), Step::Field(field)) => {
            row.iter().find(|(name, _)| name == field).map(|(_, ty)| ty.clone())?
        }
        (Type::Jsonb, Step::Subscripts(_)) => Type::Jsonb,
        (Type::Array(_), Step::Subscripts(list)) => {
            let slice = list.iter().any(|s| matches!(s, Subscript::Slice(..)));
            if slice { unmodified(ty) } else { unmodified(&ty.element()?) }
        }
        _ => return None,
    };
    part_type(&part, rest)
}
