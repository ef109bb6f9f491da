//! Cursors.
//!
//! OPEN runs the query. A cursor that stays in its routine keeps the rows in a map by their numbers, with its position
//! beside: nothing else knows of it, so calls are analysed, logged and replayed as any others, and it ends with the
//! routine. One whose name is asked for (it is returned, passed on, compared, assigned) is the session's, among those of
//! DECLARE. Which of the two a variable is shows when the body has been lowered: where the register of its name is in use, the
//! body is lowered once more ([`Needs`]).
//!
//! For WHERE CURRENT OF the rows have the primary key of the table with them.

mod go;

use super::assign::Target;
use super::statement::settled;
use super::{Body, Region, unsupported};
use crate::lower::held::{RowId, Rows, Shape};
use crate::lower::record_calls::Inferring;
use crate::lower::{CastContext, Found, Lowerer, Scope, Typed, Variable, table_of_type};
use planaria_base::types::SystemType;
use planaria_base::{Datum, Error, Result, SqlState, TableId, Type};
use planaria_ir::{Block, Coll, CollDecl, CollKind, Func, OpKind, Output, Reg, RegKind, Run, Step};
use planaria_syntax::ast::plpgsql::{Opened, PlDirection, Stmt};
use planaria_syntax::ast::{
    BinaryOp, Expr, ExprKind, Into, Name, Query, QueryBody, SelectItem, Statement, StatementKind, TableRef,
    TypeName,
};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The type of a cursor's variable.
pub(super) const REFCURSOR: Type = Type::System(SystemType::RefCursor);

/// `24000`
const INVALID_CURSOR_STATE: SqlState = SqlState::new("24000");
/// `42P11`
const INVALID_CURSOR_DEFINITION: SqlState = SqlState::new("42P11");

/// What the cursors of a body turned out to need, by the places of their declarations.
#[derive(Clone, PartialEq, Default)]
pub(super) struct Needs {
    /// Their names are asked for: they are the session's.
    shared: BTreeSet<u32>,
    /// The keys of their rows.
    keys: BTreeSet<u32>,
    /// Row variables that have a flag ([`crate::lower::held`]).
    flagged: BTreeSet<RowId>,
    /// Records whose structure is known before they are assigned.
    known: BTreeMap<RowId, Shape>,
    /// Records of several structures that are read where any of them may be the one.
    several: BTreeSet<RowId>,
    /// The routines whose rows are looked for: that of the body, which returns `record`, and those around it.
    pub inferring: Inferring,
    /// The structures of the rows that it answers with.
    pub answered: Vec<Shape>,
    /// Its records take rows of which nothing is known beforehand: it is carried out by steps.
    pub steps: bool,
}

impl Needs {
    /// What is needed of row variables.
    pub(super) fn give_rows(&self, rows: &mut Rows) {
        rows.flagged.clone_from(&self.flagged);
        rows.known.clone_from(&self.known);
        rows.several.clone_from(&self.several);
    }

    /// Notes what a body turned out to need of row variables.
    pub(super) fn note_rows(&mut self, rows: &Rows) {
        rows.found(&mut self.flagged, &mut self.known, &mut self.several);
    }
}

/// The declaration of a bound cursor.
pub(super) struct Bound {
    scroll: Option<bool>,
    parameters: Vec<(String, TypeName)>,
    query: Statement,
    /// How many frames the query sees.
    depth: usize,
}

/// A cursor's variable.
#[derive(Clone)]
pub(super) struct Cursor {
    name: String,
    declared: u32,
    /// Its name as a value.
    reg: Reg,
    bound: Option<Rc<Bound>>,
    kept: Kept,
    /// Of the rows that it was opened for last, in the order of the text.
    layout: Option<Layout>,
}

#[derive(Clone)]
enum Kept {
    /// In the routine.
    Here(State),
    /// By the session.
    There,
}

/// Registers of a cursor that stays in its routine.
#[derive(Clone)]
struct State {
    /// How often it was opened.
    opens: Reg,
    /// Which of these times it is open; 0 or NULL: it is not.
    open: Reg,
    /// The number of its row; 0: before the first.
    at: Reg,
    rows: Reg,
    forward_only: Reg,
}

#[derive(Clone)]
struct Layout {
    coll: Coll,
    columns: Vec<Output>,
    /// Behind them, the primary key of a table.
    keys: Option<(TableId, Vec<Output>)>,
}

impl Body<'_, '_> {
    /// `name CURSOR ..`
    pub(super) fn declare_cursor(
        &mut self,
        name: &str,
        scroll: Option<bool>,
        parameters: &[(String, TypeName)],
        query: &Statement,
        declared: u32,
    ) -> Result<()> {
        self.refuse_twice(name)?;
        for (_, ty) in parameters {
            self.l.declared(ty)?;
        }
        let depth = self.scope.frames().len();
        let bound = Bound { scroll, parameters: parameters.to_vec(), query: query.clone(), depth };
        let Variable::Scalar(variable) = self.scalar(name, REFCURSOR) else {
            return Err(Error::internal("a cursor is a scalar"));
        };
        self.add_cursor(name, variable.reg, Some(Rc::new(bound)), declared);
        self.scope.declare(name, Variable::Scalar(variable));
        Ok(())
    }

    /// Whether a variable is a cursor's that stays here: its register is not in use.
    pub(super) fn add_cursor(
        &mut self,
        name: &str,
        reg: Reg,
        bound: Option<Rc<Bound>>,
        declared: u32,
    ) -> bool {
        let shared = self.needs.shared.contains(&declared);
        let kept = if shared {
            if bound.is_some() {
                let text = self.l.constant(Datum::Text(name.to_owned()), REFCURSOR);
                self.copy(reg, text);
            }
            Kept::There
        } else {
            let mut register = |ty: Type, what: &str| {
                self.l.program.reg(RegKind::Value(ty), Some(format!("({what} {name})")))
            };
            let state = State {
                opens: register(Type::Int8, "opens"),
                open: register(Type::Int8, "open"),
                at: register(Type::Int8, "at"),
                rows: register(Type::Int8, "rows"),
                forward_only: register(Type::Bool, "forward only"),
            };
            if self.loops > 0 && bound.is_none() {
                // A variable of each turn.
                self.null(state.open);
                self.null(state.opens);
            }
            Kept::Here(state)
        };
        self.cursors.push(Cursor { name: name.to_owned(), declared, reg, bound, kept, layout: None });
        !shared
    }

    /// After the body: what it has to be lowered with instead, if that is not what it was lowered with.
    pub(super) fn found_needs(&mut self, ops: &[planaria_ir::Op]) {
        let here: Vec<(Reg, u32)> = self
            .cursors
            .iter()
            .filter(|c| matches!(c.kept, Kept::Here(_)))
            .map(|c| (c.reg, c.declared))
            .collect();
        if here.is_empty() {
            return;
        }
        let needs = &mut self.needs;
        let mut note = |op: &planaria_ir::Op| {
            let mut met = |reg: Reg| {
                if let Some((_, declared)) = here.iter().find(|(r, _)| *r == reg) {
                    needs.shared.insert(*declared);
                }
            };
            op.kind.reads(&mut met);
            op.kind.writes(&mut met);
        };
        for op in ops {
            note(op);
            op.kind.blocks(&mut |block| block.visit(&mut note));
        }
    }

    /// The cursor of a variable, by its place in the list.
    fn cursor(&mut self, name: &Name) -> Result<usize> {
        let number = match &name.parts[..] {
            [one] => one.strip_prefix('$').and_then(|n| n.parse().ok()),
            _ => None,
        };
        let numbered = number.and_then(|n| self.scope.parameter(n)).map(Found::Variable);
        let (reg, ty) = match self.scope.lookup(&name.parts).or(numbered) {
            Some(Found::Variable(Variable::Scalar(t))) | Some(Found::Field(t)) => (t.reg, t.ty.clone()),
            Some(_) => return Err(no_cursor(name)),
            None => {
                let message = format!("\"{}\" is not a known variable", name.parts.join("."));
                return Err(Error::new(SqlState::SYNTAX_ERROR, message).at(name.position));
            }
        };
        if ty != REFCURSOR {
            return Err(no_cursor(name));
        }
        if let Some(at) = self.cursors.iter().rposition(|c| c.reg == reg) {
            return Ok(at);
        }
        // A parameter, or a field: others know its name.
        let name = name.parts.last().cloned().unwrap_or_default();
        let (declared, bound, kept) = (u32::MAX, None, Kept::There);
        self.cursors.push(Cursor { name, declared, reg, bound, kept, layout: None });
        Ok(self.cursors.len() - 1)
    }

    /// OPEN
    pub(super) fn open(&mut self, name: &Name, scroll: Option<bool>, what: &Opened) -> Result<()> {
        let at = self.cursor(name)?;
        let bound = self.cursors[at].bound.clone();
        match (what, bound) {
            (Opened::Bound(args), Some(_)) => self.open_bound(at, args, name.position),
            (Opened::Bound(_), None) => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error, expected \"FOR\"").at(name.position))
            }
            (_, Some(_)) => {
                Err(Error::new(SqlState::SYNTAX_ERROR, "syntax error at or near \"FOR\"").at(name.position))
            }
            (Opened::Query(query), None) => {
                let scope = self.scope.clone();
                self.refuse_open(at)?;
                self.open_query(at, &scope, query, scroll)
            }
            (Opened::Execute { text, using }, None) => {
                self.share(at)?;
                self.refuse_open(at)?;
                self.cursors[at].layout = None;
                let (text, args) = self.text_and_args(text, using)?;
                let name = self.cursors[at].reg;
                let run = Run::Open { name, columns: None, forward_only: scroll == Some(false) };
                let row_count = self.l.temp(Type::Int8);
                self.l.emit(OpKind::Execute { text, args, rows: None, row_count, run });
                Ok(())
            }
        }
    }

    /// It has to be the session's: says so, and goes no further, where it is not.
    fn share(&mut self, at: usize) -> Result<()> {
        let cursor = &self.cursors[at];
        if matches!(cursor.kept, Kept::Here(_)) {
            self.needs.shared.insert(cursor.declared);
            return Err(Error::internal("the body is lowered once more"));
        }
        Ok(())
    }

    fn open_bound(&mut self, at: usize, args: &[(Option<String>, Expr)], position: u32) -> Result<()> {
        let Some(bound) = self.cursors[at].bound.clone() else {
            return Err(Error::internal("the cursor is bound"));
        };
        let name = self.cursors[at].name.clone();
        let wrong = |message: String| Error::new(SqlState::SYNTAX_ERROR, message).at(position);
        if bound.parameters.is_empty() && !args.is_empty() {
            return Err(wrong(format!("cursor \"{name}\" has no arguments")));
        }
        if !bound.parameters.is_empty() && args.is_empty() {
            return Err(wrong(format!("cursor \"{name}\" has arguments")));
        }
        let mut given: Vec<Option<&Expr>> = vec![None; bound.parameters.len()];
        for (i, (named, value)) in args.iter().enumerate() {
            let to = match named {
                Some(named) => {
                    bound.parameters.iter().position(|(n, _)| n == named).ok_or_else(|| {
                        wrong(format!("cursor \"{name}\" has no argument named \"{named}\""))
                    })?
                }
                None if i >= given.len() => {
                    return Err(wrong(format!("too many arguments for cursor \"{name}\"")));
                }
                None => i,
            };
            if given[to].replace(value).is_some() {
                let parameter = &bound.parameters[to].0;
                let message = format!(
                    "value for parameter \"{parameter}\" of cursor \"{name}\" specified more than once"
                );
                return Err(wrong(message));
            }
        }
        if given.iter().any(Option::is_none) {
            return Err(wrong(format!("not enough arguments for cursor \"{name}\"")));
        }
        self.refuse_open(at)?;
        let mut scope = self.scope.clone();
        scope.truncate(bound.depth);
        scope.push(Some(name.clone()));
        for ((parameter, ty), value) in bound.parameters.iter().zip(given.into_iter().flatten()) {
            let ty = self.l.declared(ty)?;
            let variable = self.scalar(parameter, ty.ty);
            if let Variable::Scalar(t) = &variable {
                self.l.declare_domain(t.reg, ty.domain);
                self.l.expr_into(&self.scope, value, t.reg, CastContext::Variable)?;
                self.l.check_assigned(t.reg)?;
            }
            scope.declare(parameter.clone(), variable);
        }
        self.open_query(at, &scope, &bound.query, bound.scroll)
    }

    /// 42P03 where it is open already.
    fn refuse_open(&mut self, at: usize) -> Result<()> {
        let Cursor { kept, name, .. } = self.cursors[at].clone();
        // The session says it itself.
        let Kept::Here(state) = kept else { return Ok(()) };
        let open = self.is_open(&state);
        self.when(open, |s| {
            s.fail(SqlState::DUPLICATE_CURSOR, &format!("cursor \"{name}\" already in use"), None);
            Ok(())
        })
    }

    fn is_open(&mut self, state: &State) -> Reg {
        let zero = self.int8(0);
        self.apply(Func::IntGt, vec![state.open, zero], Type::Bool)
    }

    fn open_query(
        &mut self,
        at: usize,
        scope: &Scope,
        statement: &Statement,
        scroll: Option<bool>,
    ) -> Result<()> {
        let query = self.cursor_query(statement)?;
        let layout = self.layout(at, scope, query)?;
        let query = match &layout.keys {
            Some((table, keys)) => with_keys(self.l, query, *table, keys),
            None => query.clone(),
        };
        self.l.emit(OpKind::Clear { coll: layout.coll });
        let mut all = layout.columns.clone();
        all.extend(layout.keys.iter().flat_map(|(_, keys)| keys.clone()));
        let values = |l: &mut Lowerer<'_>, row: &[Typed]| -> Result<Vec<Reg>> {
            row.iter().zip(&all).map(|(v, c)| l.cast(v.clone(), &c.ty, CastContext::Implicit)).collect()
        };
        let coll = layout.coll;
        match self.cursors[at].kept.clone() {
            Kept::Here(state) => {
                let (zero, one) = (self.int8(0), self.int8(1));
                let count = self.l.temp(Type::Int8);
                self.copy(count, zero);
                self.l.query(scope, &query, &mut |l, row| {
                    let values = values(l, row)?;
                    l.emit(OpKind::Apply { dst: count, func: Func::Int8Add, args: vec![count, one] });
                    l.emit(OpKind::MapPut { coll, keys: vec![count], values });
                    Ok(())
                })?;
                self.copy(state.rows, count);
                self.copy(state.at, zero);
                let first = self.is_null(state.opens);
                self.when(first, |s| {
                    s.copy(state.opens, zero);
                    Ok(())
                })?;
                let dst = state.opens;
                self.l.emit(OpKind::Apply { dst, func: Func::Int8Add, args: vec![dst, one] });
                self.copy(state.open, state.opens);
                let forward_only = self.truth(scroll == Some(false));
                self.copy(state.forward_only, forward_only);
            }
            Kept::There => {
                self.l.query(scope, &query, &mut |l, row| {
                    let values = values(l, row)?;
                    l.emit(OpKind::Push { coll, values });
                    Ok(())
                })?;
                let name = self.cursors[at].reg;
                let columns = layout.columns.iter().map(|c| c.name.clone()).collect();
                let run = Run::Open { name, columns: Some(columns), forward_only: scroll == Some(false) };
                let row_count = self.l.temp(Type::Int8);
                let (text, args, rows) = (name, Vec::new(), Some(coll));
                self.l.emit(OpKind::Execute { text, args, rows, row_count, run });
            }
        }
        self.cursors[at].layout = Some(layout);
        Ok(())
    }

    /// The query that a cursor can be opened for.
    fn cursor_query<'s>(&self, statement: &'s Statement) -> Result<&'s Query> {
        let tag = match &statement.kind {
            StatementKind::Query(query) => return Ok(query),
            StatementKind::Insert(s) if s.returning.is_empty() => "INSERT",
            StatementKind::Update(s) if s.returning.is_empty() => "UPDATE",
            StatementKind::Delete(s) if s.returning.is_empty() => "DELETE",
            _ => return Err(unsupported("a cursor for this statement", statement.position)),
        };
        Err(Error::new(INVALID_CURSOR_DEFINITION, format!("cannot open {tag} query as cursor"))
            .at(statement.position))
    }

    /// Where the rows of a query go: to those of the last OPEN, if they are alike.
    fn layout(&mut self, at: usize, scope: &Scope, query: &Query) -> Result<Layout> {
        let Cursor { declared, kept, layout, .. } = self.cursors[at].clone();
        let here = matches!(kept, Kept::Here(_));
        let mut keys = None;
        if here && self.needs.keys.contains(&declared) {
            keys = self.key_columns(scope, query);
        }
        let columns = settled(&self.l.describe(scope, query)?);
        let alike = |old: &Layout| {
            let types = |c: &[Output]| c.iter().map(|o| o.ty.clone()).collect::<Vec<_>>();
            types(&old.columns) == types(&columns) && old.keys == keys
        };
        match layout {
            Some(old) if alike(&old) => return Ok(Layout { columns, ..old }),
            Some(old) if old.keys != keys => return Err(Error::internal("the body is lowered once more")),
            // Which of the two it is open for is known when it runs.
            Some(_) if here => self.share(at)?,
            _ => {}
        }
        let all = columns.iter().chain(keys.iter().flat_map(|(_, k)| k));
        let values = all.map(|c| RegKind::Value(c.ty.clone())).collect();
        let decl = match here {
            true => CollDecl { kind: CollKind::Map, keys: vec![RegKind::Value(Type::Int8)], values },
            false => CollDecl { kind: CollKind::List, keys: Vec::new(), values },
        };
        Ok(Layout { coll: self.l.program.coll(decl), columns, keys })
    }

    /// The key of the one table whose rows a query gives, one for one.
    fn key_columns(&mut self, scope: &Scope, query: &Query) -> Option<(TableId, Vec<Output>)> {
        let QueryBody::Select(select) = &query.body else { return None };
        let plain =
            select.distinct.is_none() && select.group_by.is_empty() && select.grouping_sets.is_empty();
        let [TableRef::Relation { name, .. }] = &select.from[..] else { return None };
        if !plain || select.having.is_some() || !query.with.is_empty() {
            return None;
        }
        let table = table_of_type(self.l.catalog, name)?.id;
        let keys = key_of(self.l, table);
        // Behind aggregates a column has no place.
        let with = with_keys(self.l, query, table, &keys);
        self.l.describe(scope, &with).is_ok().then_some((table, keys))
    }

    /// The columns of a cursor's rows, where they are known.
    fn columns_of(&mut self, at: usize) -> Result<Option<Layout>> {
        if self.cursors[at].layout.is_none()
            && let Some(bound) = self.cursors[at].bound.clone()
        {
            // It is opened further down, or not at all.
            let mut scope = self.scope.clone();
            scope.truncate(bound.depth);
            scope.push(Some(self.cursors[at].name.clone()));
            for (parameter, ty) in &bound.parameters {
                let ty = self.l.declared(ty)?.ty;
                let variable = self.scalar(parameter, ty);
                scope.declare(parameter.clone(), variable);
            }
            let query = self.cursor_query(&bound.query)?.clone();
            let layout = self.layout(at, &scope, &query)?;
            self.cursors[at].layout = Some(layout);
        }
        Ok(self.cursors[at].layout.clone())
    }

    /// FETCH, or MOVE without targets.
    pub(super) fn fetch(&mut self, name: &Name, direction: &PlDirection, into: Option<&Into>) -> Result<()> {
        let at = self.cursor(name)?;
        let known = self.columns_of(at)?;
        let Kept::Here(state) = self.cursors[at].kept.clone() else {
            return self.fetch_there(at, direction, into, known.as_ref());
        };
        let Some(layout) = known else {
            // It is not opened before, in the order of the text.
            return self.share(at);
        };
        self.refuse_closed(at, &state)?;
        let count = self.go(&state, direction, into.is_none())?;
        let Some(into) = into else {
            let zero = self.int8(0);
            let found = self.found;
            self.l.emit(OpKind::Apply { dst: found, func: Func::IntGt, args: vec![count, zero] });
            self.set_row_count(count);
            return Ok(());
        };
        let (targets, _) = self.into(into, &layout.columns)?;
        let (got, row, _) = self.row_at(&state, &layout);
        self.store_fetched(&targets, got, &row)
    }

    /// FOUND, ROW_COUNT and the targets, after a row was looked for.
    fn store_fetched(&mut self, targets: &[Target], got: Reg, row: &[Typed]) -> Result<()> {
        let (then, otherwise) =
            (self.sub_block(|s| s.store_all(targets, row))?, self.sub_block(|s| s.store_nulls(targets))?);
        self.l.emit(OpKind::If { cond: got, then, otherwise });
        self.found_one(got)
    }

    /// The row that a cursor is at: whether there is one, its columns, its key.
    fn row_at(&mut self, state: &State, layout: &Layout) -> (Reg, Vec<Typed>, Vec<Typed>) {
        let mut row = |columns: &[Output]| -> Vec<Typed> {
            columns.iter().map(|c| Typed { reg: self.l.temp(c.ty.clone()), ty: c.ty.clone() }).collect()
        };
        let columns = row(&layout.columns);
        let keys = layout.keys.as_ref().map(|(_, keys)| row(keys)).unwrap_or_default();
        let found = self.l.temp(Type::Bool);
        let values = columns.iter().chain(&keys).map(|t| t.reg).collect();
        self.l.emit(OpKind::MapGet { coll: layout.coll, keys: vec![state.at], found, values });
        (found, columns, keys)
    }

    /// 34000 or 22004 where it is not open.
    fn refuse_closed(&mut self, at: usize, state: &State) -> Result<()> {
        let Cursor { name, bound, .. } = self.cursors[at].clone();
        let open = self.is_open(state);
        self.unless(open, |s| {
            if bound.is_none() {
                let never = s.is_null(state.opens);
                s.when(never, |s| {
                    s.fail_null(&name);
                    Ok(())
                })?;
            }
            s.fail(SqlState::INVALID_CURSOR_NAME, &format!("cursor \"{name}\" does not exist"), None);
            Ok(())
        })
    }

    fn fail_null(&mut self, name: &str) {
        let message = format!("cursor variable \"{name}\" is null");
        self.fail(SqlState::NULL_VALUE_NOT_ALLOWED, &message, None);
    }

    // ---- cursors of the session ----

    fn fetch_there(
        &mut self,
        at: usize,
        direction: &PlDirection,
        into: Option<&Into>,
        known: Option<&Layout>,
    ) -> Result<()> {
        let Cursor { name, reg, .. } = self.cursors[at].clone();
        let null = self.is_null(reg);
        self.when(null, |s| {
            s.fail_null(&name);
            Ok(())
        })?;
        let (step, count) = match direction {
            PlDirection::Forward(n) => (Step::Forward, self.int8(*n)),
            PlDirection::All(back) => (Step::Forward, self.int8(if *back { -i64::MAX } else { i64::MAX })),
            PlDirection::Count(n, back) => {
                let mut n = self.number(n)?;
                if *back {
                    n = self.apply(Func::Int8Neg, vec![n], Type::Int8);
                }
                (Step::Forward, n)
            }
            PlDirection::Absolute(n) => (Step::Absolute, self.int8(*n)),
            PlDirection::To(n) => (Step::Absolute, self.number(n)?),
            PlDirection::By(n) => (Step::Relative, self.number(n)?),
        };
        let met = self.l.temp(Type::Int8);
        let zero = self.int8(0);
        let Some(into) = into else {
            let (text, args, run) = (reg, vec![count], Run::Fetch(step));
            self.l.emit(OpKind::Execute { text, args, rows: None, row_count: met, run });
            let found = self.found;
            self.l.emit(OpKind::Apply { dst: found, func: Func::IntGt, args: vec![met, zero] });
            self.set_row_count(met);
            return Ok(());
        };
        let columns = known.map(|l| l.columns.clone());
        if columns.is_none() && self.is_record(into) {
            return Err(Error::unsupported(
                "FETCH of a cursor that was opened elsewhere into a record variable is not supported",
                super::by_steps::ONE_BY_ONE,
            )
            .at(into.position));
        }
        let (targets, _) = self.into(into, columns.as_deref().unwrap_or_default())?;
        let (got, row) = self.fetch_row(reg, step, count, met, &targets);
        self.store_fetched(&targets, got, &row)
    }

    /// Whether INTO names a record whose structure is that of what it is assigned.
    fn is_record(&self, into: &Into) -> bool {
        let [Expr { kind: ExprKind::Column(name), .. }] = &into.targets[..] else { return false };
        let found = self.scope.lookup(&name.parts);
        matches!(
            found,
            Some(Found::Variable(Variable::Unassigned { .. } | Variable::Row { table: None, .. }))
        )
    }

    /// One row of a cursor of the session, as its targets are.
    fn fetch_row(
        &mut self,
        name: Reg,
        step: Step,
        count: Reg,
        met: Reg,
        targets: &[Target],
    ) -> (Reg, Vec<Typed>) {
        let row: Vec<Typed> = targets
            .iter()
            .map(|t| {
                let ty = match t {
                    Target::Value(t) | Target::Field(t) => t.ty.clone(),
                    Target::Element { ty, .. } | Target::Part { ty, .. } => ty.clone(),
                };
                let kind = RegKind::Value(ty.clone());
                // Read only where a row has come, which the verifier cannot see.
                Typed { reg: self.l.program.reg(kind, Some("(fetched)".to_owned())), ty }
            })
            .collect();
        let values = row.iter().map(|t| RegKind::Value(t.ty.clone())).collect();
        let rows = self.l.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values });
        self.l.emit(OpKind::Clear { coll: rows });
        let (text, args, run) = (name, vec![count], Run::Fetch(step));
        self.l.emit(OpKind::Execute { text, args, rows: Some(rows), row_count: met, run });
        let label = self.l.label();
        let columns = row.iter().map(|t| t.reg).collect();
        self.l.emit(OpKind::ForEach { coll: rows, columns, entry: None, label, body: Block::default() });
        let zero = self.int8(0);
        (self.apply(Func::IntGt, vec![met, zero], Type::Bool), row)
    }

    // ---- CLOSE, FOR, CURRENT OF ----

    /// CLOSE
    pub(super) fn close(&mut self, name: &Name) -> Result<()> {
        let at = self.cursor(name)?;
        match self.cursors[at].kept.clone() {
            Kept::Here(state) => self.refuse_closed(at, &state)?,
            Kept::There => {
                let Cursor { name, reg, .. } = self.cursors[at].clone();
                let null = self.is_null(reg);
                self.when(null, |s| {
                    s.fail_null(&name);
                    Ok(())
                })?;
            }
        }
        self.close_quietly(at);
        Ok(())
    }

    /// It is known to be open.
    pub(super) fn close_quietly(&mut self, at: usize) {
        match self.cursors[at].kept.clone() {
            Kept::Here(state) => {
                let zero = self.int8(0);
                self.copy(state.open, zero);
            }
            Kept::There => {
                let name = self.cursors[at].reg;
                let row_count = self.l.temp(Type::Int8);
                let (text, args, run) = (name, Vec::new(), Run::Close);
                self.l.emit(OpKind::Execute { text, args, rows: None, row_count, run });
            }
        }
    }

    /// A transaction ends, and with it the cursors that no loop goes through. The session closes its own.
    pub(super) fn close_all_but_loops(&mut self) {
        let zero = self.int8(0);
        for at in 0..self.cursors.len() {
            if let Kept::Here(state) = &self.cursors[at].kept
                && !self.regions.iter().any(|region| region.closes == Some(at))
            {
                let open = state.open;
                self.copy(open, zero);
            }
        }
    }

    /// `FOR record IN cursor [(arguments)] LOOP`
    pub(super) fn for_cursor(
        &mut self,
        name: Option<&str>,
        targets: &[Expr],
        cursor: &Name,
        args: &[(Option<String>, Expr)],
        body: &[Stmt],
    ) -> Result<()> {
        let at = self.cursor(cursor)?;
        let wrong = |message: &str| Err(Error::new(SqlState::SYNTAX_ERROR, message).at(cursor.position));
        if self.cursors[at].bound.is_none() {
            return wrong("cursor FOR loop must use a bound cursor variable");
        }
        let [Expr { kind: ExprKind::Column(target), .. }] = targets else {
            return wrong("cursor FOR loop must have only one target variable");
        };
        let [record] = &target.parts[..] else {
            return wrong("cursor FOR loop must have only one target variable");
        };
        self.open_bound(at, args, cursor.position)?;
        let Some(layout) = self.cursors[at].layout.clone() else {
            return Err(Error::internal("the cursor was opened"));
        };
        let ran = self.l.temp(Type::Bool);
        self.l.emit(OpKind::Const { dst: ran, value: Datum::Bool(false) });
        let yes = self.truth(true);
        let label = self.l.label();
        self.scope.push(name.map(str::to_owned));
        let id = target.position;
        self.scope.declare(record.clone(), Variable::Unassigned { id });
        let region = Region {
            name: name.map(str::to_owned),
            exit: label,
            next: Some((label, false)),
            closes: Some(at),
        };
        let block = self.in_loop(region, body, |s| {
            let targets = s.targets(targets, &layout.columns)?;
            let (got, row) = match s.cursors[at].kept.clone() {
                Kept::Here(state) => {
                    s.go(&state, &PlDirection::Forward(1), false)?;
                    let (got, row, _) = s.row_at(&state, &layout);
                    (got, row)
                }
                Kept::There => {
                    let (one, met) = (s.int8(1), s.l.temp(Type::Int8));
                    let name = s.cursors[at].reg;
                    s.fetch_row(name, Step::Forward, one, met, &targets)
                }
            };
            s.unless(got, |s| {
                s.l.emit(OpKind::Exit { label });
                Ok(())
            })?;
            s.copy(ran, yes);
            s.store_all(&targets, &row)?;
            s.statements(body)
        });
        self.scope.pop();
        self.l.emit(OpKind::Loop { label, body: block? });
        self.close_quietly(at);
        self.copy(self.found, ran);
        Ok(())
    }

    /// UPDATE and DELETE with WHERE CURRENT OF: the statement with the key of the row, whose values are in a new frame of
    /// the scope.
    pub(super) fn at_current(&mut self, statement: &Statement) -> Result<Option<Statement>> {
        let mut statement = statement.clone();
        let (filter, table, alias) = match &mut statement.kind {
            StatementKind::Update(s) => (&mut s.filter, &s.table, &s.alias),
            StatementKind::Delete(s) => (&mut s.filter, &s.table, &s.alias),
            _ => return Ok(None),
        };
        let Some(name) = filter.as_ref().and_then(planaria_syntax::ast::current_of) else { return Ok(None) };
        let name = name.clone();
        let shown = name.parts.join(".");
        if self.scope.lookup(&name.parts).is_none() {
            let message = format!("cursor \"{shown}\" does not exist");
            return Err(Error::new(SqlState::INVALID_CURSOR_NAME, message));
        }
        let at = self.cursor(&name)?;
        let layout = self.columns_of(at)?;
        let Kept::Here(state) = self.cursors[at].kept.clone() else {
            return Err(Error::unsupported(
                "WHERE CURRENT OF a cursor whose name leaves its routine is not supported",
                "Do not return or assign the cursor, or change the row by its key.",
            )
            .at(name.position));
        };
        let Some(layout) = layout else { return self.share(at).map(|()| None) };
        let declared = self.cursors[at].declared;
        if self.needs.keys.insert(declared) {
            return Err(Error::internal("the body is lowered once more"));
        }
        let target = table_of_type(self.l.catalog, table).map(|t| t.id);
        let local = table.parts.last().cloned().unwrap_or_default();
        let keys = match &layout.keys {
            Some((of, keys)) if Some(*of) == target => keys.clone(),
            _ => {
                let message =
                    format!("cursor \"{shown}\" is not a simply updatable scan of table \"{local}\"");
                return Err(Error::new(INVALID_CURSOR_STATE, message));
            }
        };
        self.refuse_closed(at, &state)?;
        let (got, _, values) = self.row_at(&state, &layout);
        self.unless(got, |s| {
            s.fail(INVALID_CURSOR_STATE, &format!("cursor \"{shown}\" is not positioned on a row"), None);
            Ok(())
        })?;
        self.scope.push(None);
        let position = name.position;
        let alias = alias.clone().unwrap_or(local);
        let mut conditions = Vec::new();
        for (key, value) in keys.into_iter().zip(values) {
            let variable = format!("(current {})", key.name);
            self.scope.declare(variable.clone(), Variable::Scalar(value));
            let column = |parts: Vec<String>| {
                Box::new(Expr { position, kind: ExprKind::Column(Name { parts, position }) })
            };
            let (left, right) = (column(vec![alias.clone(), key.name]), column(vec![variable]));
            conditions.push(Expr { position, kind: ExprKind::Binary(BinaryOp::Eq, left, right) });
        }
        *filter = conditions.into_iter().reduce(|a, b| Expr {
            position,
            kind: ExprKind::Binary(BinaryOp::And, Box::new(a), Box::new(b)),
        });
        Ok(Some(statement))
    }
}

pub(in crate::lower) fn key_of(l: &Lowerer<'_>, table: TableId) -> Vec<Output> {
    let table = l.catalog.table_by_id(table);
    let column = |c: &planaria_base::ColumnId| {
        let column = &table.columns[c.index()];
        let name = if column.hidden { crate::lower::names::ROW_ID.to_owned() } else { column.name.clone() };
        Output { name, ty: column.ty.clone() }
    };
    table.indexes[0].columns.iter().map(column).collect()
}

/// A query with the key of its table behind its columns.
pub(in crate::lower) fn with_keys(l: &Lowerer<'_>, query: &Query, table: TableId, keys: &[Output]) -> Query {
    let mut query = query.clone();
    let position = query.position;
    if let QueryBody::Select(select) = &mut query.body
        && let [TableRef::Relation { alias, .. }] = &select.from[..]
    {
        let alias = match alias {
            Some(alias) => alias.name.clone(),
            None => l.catalog.table_by_id(table).name.clone(),
        };
        for key in keys {
            let name = Name { parts: vec![alias.clone(), key.name.clone()], position };
            let expr = Expr { position, kind: ExprKind::Column(name) };
            select.items.push(SelectItem { expr, alias: Some(format!("(key {})", key.name)) });
        }
    }
    query
}

fn no_cursor(name: &Name) -> Error {
    let message = format!("variable \"{}\" must be of type cursor or refcursor", name.parts.join("."));
    Error::new(SqlState::DATATYPE_MISMATCH, message).at(name.position)
}
