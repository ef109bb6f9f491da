//! SEARCH and CYCLE of recursive queries.
//!
//! As PostgreSQL's manual has it, they stand for columns that a query could compute itself, and that each turn has from
//! the last:
//!
//! ```text
//!  SEARCH DEPTH    s := ARRAY[ROW(a, b)]  s || ROW(a, b)
//!  SEARCH BREADTH  s := ROW(0, a, b)      ROW(s.1 + 1, a, b)
//!  CYCLE           p := ARRAY[row]        p || row               mark := row = ANY (p); no turn for marked rows
//! ```
//!
//! Paths are arrays of the texts of rows. In routines and in text that is kept, as in views, sequences are arrays of the values
//! (`ARRAY[a, b]`, `ARRAY[0, a, b]`), where these are of one type: logs and definitions have them.

use super::Lowerer;
use super::Scope;
use super::bound::{Body, Bound, BoundKind, BoundQuery, Item, RelId};
use super::names::{Names, Source};
use super::recursion::Terms;
use super::types::CastContext;
use planaria_base::text_io::quote_ident;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_ir::{Func, Output, ProgramKind};
use planaria_syntax::ast::{BinaryOp, Cte, Expr, ExprKind, Name, Query, QueryBody, SelectItem, TableRef};

/// The name of the FROM item that has the added columns of the last turn.
pub(super) const ADDED: &str = "*added*";

/// 42601 for a CTE with SEARCH or CYCLE that does not refer to itself.
pub(super) fn check_recursive(cte: &Cte) -> Result<()> {
    let at = cte.search.as_ref().map(|s| s.position).or(cte.cycle.as_ref().map(|c| c.position));
    match at {
        None => Ok(()),
        Some(at) => Err(Error::new(SqlState::SYNTAX_ERROR, "WITH query is not recursive").at(at)),
    }
}

impl Lowerer<'_> {
    /// Adds the columns of SEARCH and CYCLE to the first term. Answers with the recursive term that hands on those of the last
    /// turn.
    pub(super) fn track_first(
        &mut self,
        cte: &Cte,
        terms: &Terms<'_>,
        query: &mut BoundQuery,
    ) -> Result<Option<Query>> {
        if cte.search.is_none() && cte.cycle.is_none() {
            return Ok(None);
        }
        check_columns(cte, &query.columns)?;
        check_apart(cte)?;
        if let QueryBody::SetOp { .. } = terms.first.body {
            return Err(side("left", terms.first.position));
        }
        let mut turn = terms.turn.clone();
        let QueryBody::Select(select) = &mut turn.body else { return Err(side("right", turn.position)) };
        if !select.from.iter().any(|table| refers(table, &cte.name)) {
            let message = format!(
                "with a SEARCH or CYCLE clause, the recursive reference to WITH query \"{}\" must be at the top level of its right-hand SELECT",
                cte.name
            );
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(turn.position));
        }
        for name in added(cte) {
            select.items.push(SelectItem { expr: of_last_turn(name, turn.position), alias: None });
        }
        if let Some(cycle) = &cte.cycle {
            let (position, mark) = (cycle.position, of_last_turn(&cycle.mark, cycle.position));
            let goes_on = ExprKind::Binary(BinaryOp::Ne, Box::new(mark), Box::new(cycle.value.clone()));
            let goes_on = Expr { position, kind: goes_on };
            select.filter = Some(match select.filter.take() {
                None => goes_on,
                Some(filter) => Expr {
                    position,
                    kind: ExprKind::Binary(BinaryOp::And, Box::new(filter), Box::new(goes_on)),
                },
            });
        }
        self.add_tracks(cte, query.columns.len(), query, None)?;
        Ok(Some(turn))
    }

    /// Computes these columns in the recursive term, whose last outputs are those of the turn before.
    pub(super) fn track_turn(
        &mut self,
        cte: &Cte,
        width: usize,
        types: &[Type],
        turn: &mut BoundQuery,
    ) -> Result<()> {
        if types.len() == width {
            return Ok(());
        }
        let own = self.ctes.last().map_or(&[][..], |c| &c.columns[..width]);
        check_free(cte, own)?;
        for (i, ty) in types.iter().enumerate().take(width) {
            if self.common_type("UNION", &[(ty, 0), (&turn.columns[i].ty, 0)])? == *ty {
                self.coerce_output(turn, i, ty)?;
            }
        }
        self.add_tracks(cte, width, turn, Some(types))
    }

    /// Makes a term a derived table, and puts the added columns behind its own. `before`: the types of all, where the last
    /// outputs are those of the turn before.
    fn add_tracks(
        &mut self,
        cte: &Cte,
        width: usize,
        query: &mut BoundQuery,
        before: Option<&[Type]>,
    ) -> Result<()> {
        let own: Vec<String> = match before {
            None => query.columns.iter().map(|c| c.name.clone()).collect(),
            Some(_) => {
                self.ctes.last().map_or(Vec::new(), |c| c.columns.iter().map(|(n, _)| n.clone()).collect())
            }
        };
        self.derive(query);
        let Body::Select(select) = &query.body else { return Err(Error::internal("a derived table")) };
        let [Item::Rel(rel)] = select.from[..] else { return Err(Error::internal("a derived table")) };
        let scope = Scope::new();
        let mut names = Names::of(&scope);
        names.sources.push(self.term_source(rel, &own));
        let mut values = Vec::new();
        if let Some(search) = &cte.search {
            values.push(self.sequence(search, &names, &own, before.is_some())?);
        }
        if let Some(cycle) = &cte.cycle {
            let position = cycle.position;
            let row = format!("ROW({})::text", listed(&cycle.columns));
            let path = quote_ident(&cycle.path);
            let both = [&cycle.value, &cycle.otherwise].map(|e| self.bind(&names, e));
            let [value, otherwise] = both;
            let (mut marks, ty) = self.unify("CYCLE", vec![value?, otherwise?])?;
            let ty = if ty == Type::Unknown { Type::Text } else { ty };
            let otherwise = marks.pop().ok_or_else(|| Error::internal("two marks"))?;
            let value = marks.pop().ok_or_else(|| Error::internal("two marks"))?;
            let otherwise = self.coerce(otherwise, &ty, CastContext::Implicit)?;
            let value = self.coerce(value, &ty, CastContext::Implicit)?;
            let (mark, path) = match before {
                None => (otherwise, format!("ARRAY[{row}]")),
                Some(_) => {
                    let met = self.bind_text_in(&names, &format!("{row} = ANY ({path})"), position)?;
                    let mark = BoundKind::Case(vec![(met, value)], Box::new(otherwise));
                    (Bound::new(mark, ty, position), format!("array_append({path}, {row})"))
                }
            };
            values.push(mark);
            values.push(self.bind_text_in(&names, &path, position)?);
        }
        let Body::Select(select) = &mut query.body else { return Err(Error::internal("a derived table")) };
        select.outputs.truncate(width);
        query.columns.truncate(width);
        for (name, value) in added(cte).into_iter().zip(values) {
            query.columns.push(Output { name: name.clone(), ty: value.ty.clone() });
            select.outputs.push(value);
        }
        select.visible = select.outputs.len();
        Ok(())
    }

    /// SEARCH: what orders the rows.
    fn sequence(
        &mut self,
        search: &planaria_syntax::ast::Search,
        names: &Names<'_>,
        own: &[String],
        goes_on: bool,
    ) -> Result<Bound> {
        let columns = listed(&search.columns);
        let sequence = quote_ident(&search.sequence);
        let before = match goes_on {
            true => Some(self.bind_text_in(names, &sequence, search.position)?),
            false => None,
        };
        let in_rows = match &before {
            // As the turn before. (Values may be rows, too, but never of what they are themselves.)
            Some(before) => {
                let row = self.row_of_sequence(search, names)?;
                match &before.ty {
                    Type::Array(of) => **of == row,
                    ty => *ty == row,
                }
            }
            None => self.program.kind == ProgramKind::Statement && !self.kept_text,
        };
        if in_rows {
            return self.sequence_of_rows(search, names, before);
        }
        let source = &names.sources[0];
        let of =
            |name: &String| own.iter().position(|n| n == name).map(|at| source.columns[at].expr.ty.clone());
        let texts = search
            .columns
            .iter()
            .filter_map(of)
            .all(|ty| matches!(ty.base(), Type::Text | Type::Varchar(_) | Type::Char(_)));
        let text = match (search.breadth, goes_on, texts) {
            (false, false, _) => format!("ARRAY[{columns}]"),
            (false, true, _) => format!("array_cat({sequence}, ARRAY[{columns}])"),
            (true, false, false) => format!("ARRAY[0, {columns}]"),
            (true, true, false) => format!("ARRAY[{sequence}[1] + 1, {columns}]"),
            // Numbers that order as texts.
            (true, false, true) => format!("ARRAY['0000000000', {columns}]"),
            (true, true, true) => {
                format!("ARRAY[lpad(({sequence}[1]::integer + 1)::text, 10, '0'), {columns}]")
            }
        };
        match self.bind_text_in(names, &text, search.position) {
            // They are of several types.
            Err(error) if error.sqlstate() == SqlState::DATATYPE_MISMATCH && !goes_on => {
                self.sequence_of_rows(search, names, None)
            }
            bound => bound,
        }
    }

    /// The type of a row of a sequence in rows.
    fn row_of_sequence(&mut self, search: &planaria_syntax::ast::Search, names: &Names<'_>) -> Result<Type> {
        let mut types: Vec<Type> = search.breadth.then_some(Type::Int8).into_iter().collect();
        for column in &search.columns {
            let column = self.bind_text_in(names, &quote_ident(column), search.position)?;
            types.push(column.ty.base().clone());
        }
        let named = |(at, ty)| (format!("f{}", at + 1), ty);
        let row: Vec<(String, Type)> = types.into_iter().enumerate().map(named).collect();
        Ok(Type::Record(row.into()))
    }

    /// The same in rows. `before`: of the turn before.
    fn sequence_of_rows(
        &mut self,
        search: &planaria_syntax::ast::Search,
        names: &Names<'_>,
        before: Option<Bound>,
    ) -> Result<Bound> {
        let position = search.position;
        let mut fields = Vec::with_capacity(search.columns.len() + 1);
        if search.breadth {
            fields.push(match &before {
                None => Bound::constant(Datum::Int(0), Type::Int8, position),
                Some(before) => {
                    let depth = super::rows::nth_field(before.clone(), 0, Type::Int8, position);
                    let one = Bound::constant(Datum::Int(1), Type::Int8, position);
                    Bound::apply(Func::Int8Add, vec![depth, one], Type::Int8, position)
                }
            });
        }
        for column in &search.columns {
            fields.push(self.bind_text_in(names, &quote_ident(column), position)?);
        }
        let row = self.row_of_sequence(search, names)?;
        let value = Bound::apply(Func::ArrayMake, fields, row.clone(), position);
        if search.breadth {
            return Ok(value);
        }
        let rows = Type::Array(Box::new(row));
        Ok(match before {
            None => Bound::apply(Func::ArrayMake, vec![value], rows, position),
            Some(before) => Bound::apply(Func::ArrayAppend, vec![before, value], rows, position),
        })
    }

    fn term_source(&self, rel: RelId, own: &[String]) -> Source {
        let mut source = Source::of("", rel, &self.rel(rel).columns);
        for (column, name) in source.columns.iter_mut().zip(own) {
            column.name.clone_from(name);
        }
        source
    }
}

/// The names of the columns that SEARCH and CYCLE add.
fn added(cte: &Cte) -> Vec<&String> {
    let mut names: Vec<&String> = cte.search.iter().map(|s| &s.sequence).collect();
    names.extend(cte.cycle.iter().flat_map(|c| [&c.mark, &c.path]));
    names
}

fn of_last_turn(name: &str, position: u32) -> Expr {
    let name = Name { parts: vec![ADDED.to_owned(), name.to_owned()], position };
    Expr { position, kind: ExprKind::Column(name) }
}

fn listed(columns: &[String]) -> String {
    columns.iter().map(|c| quote_ident(c)).collect::<Vec<_>>().join(", ")
}

fn side(which: &str, position: u32) -> Error {
    let message = format!("with a SEARCH or CYCLE clause, the {which} side of the UNION must be a SELECT");
    Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position)
}

/// Whether a FROM item has the relation among its joins.
fn refers(table: &TableRef, wanted: &str) -> bool {
    match table {
        TableRef::Relation { name, .. } => name.parts == [wanted],
        TableRef::Join { left, right, .. } => refers(left, wanted) || refers(right, wanted),
        _ => false,
    }
}

/// 42601, 42701: columns that are not there, or named twice.
fn check_columns(cte: &Cte, own: &[Output]) -> Result<()> {
    let search = cte.search.iter().map(|s| ("search", &s.columns, s.position));
    let cycle = cte.cycle.iter().map(|c| ("cycle", &c.columns, c.position));
    for (what, columns, position) in search.chain(cycle) {
        for (i, name) in columns.iter().enumerate() {
            if !own.iter().any(|c| c.name == *name) {
                let message = format!("{what} column \"{name}\" not in WITH query column list");
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(position));
            }
            if columns[..i].contains(name) {
                let message = format!("{what} column \"{name}\" specified more than once");
                return Err(Error::new(SqlState::DUPLICATE_COLUMN, message).at(position));
            }
        }
    }
    Ok(())
}

/// The added columns with what they are.
fn named(cte: &Cte) -> Vec<(&'static str, &String, u32)> {
    let mut all = Vec::new();
    all.extend(cte.search.iter().map(|s| ("search sequence", &s.sequence, s.position)));
    if let Some(c) = &cte.cycle {
        all.extend([("cycle mark", &c.mark, c.position), ("cycle path", &c.path, c.position)]);
    }
    all
}

/// 42601: an added column whose name one of the query's own has.
fn check_free(cte: &Cte, own: &[(String, Type)]) -> Result<()> {
    for (what, name, at) in named(cte) {
        if own.iter().any(|(n, _)| n == name) {
            let message = format!("{what} column name \"{name}\" already used in WITH query column list");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(at));
        }
    }
    Ok(())
}

/// 42601: added columns with one name.
fn check_apart(cte: &Cte) -> Result<()> {
    let all = named(cte);
    // Those of CYCLE come first.
    for (i, (one, name, at)) in all.iter().enumerate().rev() {
        if let Some((other, ..)) = all[i + 1..].iter().find(|(_, n, _)| n == name) {
            let message = format!("{one} column name and {other} column name are the same");
            return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(*at));
        }
    }
    Ok(())
}
