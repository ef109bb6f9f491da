//! Names inside a statement: FROM items by alias, their columns, CTEs; nested queries see outwards.

use super::Lowerer;
use super::bound::{Bound, BoundKind, RelId, RelKind};
use super::rights::Tracked;
use super::scope::{Found, Scope, Typed, Variable};
use planaria_base::types::Clock;
use planaria_base::{Error, Result, SqlState, Type};
use planaria_syntax::ast::plpgsql::VariableConflict;
use planaria_syntax::ast::{Expr, ExprKind, Name};
use std::borrow::Cow;

/// The names of one query level.
pub(super) struct Names<'a> {
    /// The query around this one.
    pub outer: Option<&'a Names<'a>>,
    /// Variables and parameters.
    pub scope: &'a Scope,
    /// FROM items so far.
    pub sources: Vec<Source>,
    /// Common table expressions, by their place in the lowerer's list.
    pub ctes: Vec<(String, usize)>,
    /// Those of the same WITH that come later.
    pub later: Vec<String>,
    /// A FROM item is the last turn of a recursive CTE.
    pub turn: bool,
    /// Which of the lowerer's collectors is this level's, if it is a SELECT's.
    pub collector: Option<usize>,
}

/// The name of the hidden row id, for what is made here and written by nobody.
pub(super) const ROW_ID: &str = "our row id";

/// A FROM item.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub alias: String,
    /// The table or view it is, where the alias hides that name.
    pub relation: Option<String>,
    pub columns: Vec<SourceColumn>,
    /// System columns, which are not part of `*`: `tableoid` of tables and system relations, `ctid` of tables whose rows have a
    /// number, `xmax` of rows that INSERT returns.
    pub system: Vec<SourceColumn>,
    /// [`ROW_ID`], of tables without a primary key.
    pub row: Option<SourceColumn>,
    /// The partitioned table that a row is of which is being stored.
    pub root: Option<planaria_base::TableId>,
    /// The relation whose columns these are, where they are those of one.
    pub of: Option<RelId>,
    /// How many of the first columns the alias gives other names.
    pub renamed: usize,
}

/// A column of a FROM item.
#[derive(Clone, Debug)]
pub(super) struct SourceColumn {
    pub name: String,
    pub expr: Bound,
    /// Merged into another by USING: found only when qualified.
    pub merged: bool,
    /// Columns on which rights are, that are read by naming this one.
    pub tracked: Vec<Tracked>,
    /// A system column of a row that a statement changes: naming it reads the relation.
    pub reads: Option<RelId>,
}

impl SourceColumn {
    /// A column by that name.
    pub fn new(name: String, expr: Bound) -> SourceColumn {
        SourceColumn { name, expr, merged: false, tracked: Vec::new(), reads: None }
    }
}

impl<'a> Names<'a> {
    /// Only variables.
    pub fn of(scope: &'a Scope) -> Names<'a> {
        Names::new(None, scope, Vec::new())
    }
    /// A query inside this one.
    pub fn inner(&'a self) -> Names<'a> {
        Names::new(Some(self), self.scope, Vec::new())
    }
    /// A query in FROM, which does not see its neighbours.
    pub fn beside(&self) -> Names<'a> {
        Names::new(self.outer, self.scope, self.ctes.clone())
    }
    /// A level that has no sources yet.
    pub fn new(outer: Option<&'a Names<'a>>, scope: &'a Scope, ctes: Vec<(String, usize)>) -> Names<'a> {
        Names { outer, scope, sources: Vec::new(), ctes, later: Vec::new(), turn: false, collector: None }
    }
    /// How many levels are around this one.
    pub fn depth(&self) -> usize {
        self.outer.map_or(0, |outer| outer.depth() + 1)
    }
    /// Whether a CTE of that name comes too late to be seen here.
    pub fn comes_later(&self, name: &str) -> bool {
        self.later.iter().any(|n| n == name) || self.outer.is_some_and(|outer| outer.comes_later(name))
    }
    /// A CTE by name, from inside out.
    pub fn cte(&self, name: &str) -> Option<usize> {
        let here = self.ctes.iter().rev().find(|(n, _)| n == name).map(|(_, i)| *i);
        here.or_else(|| self.outer.and_then(|o| o.cte(name)))
    }
    /// The source of that alias, from inside out, and the depth of its level.
    pub fn source(&self, alias: &str) -> Option<(&Source, usize)> {
        let here = self.sources.iter().find(|s| s.alias == alias);
        here.map(|s| (s, self.depth())).or_else(|| self.outer.and_then(|o| o.source(alias)))
    }
    /// Names of the fields of a variable, or of the columns of a FROM item, as a whole row has them.
    pub fn column_names(&self, parts: &[String]) -> Vec<String> {
        if let Some(Found::Variable(Variable::Row { fields, .. })) = self.scope.lookup(parts) {
            return fields.iter().map(|(name, _)| name.clone()).collect();
        }
        let source = parts.last().and_then(|alias| self.source(alias));
        source.map_or(Vec::new(), |(s, _)| s.columns.iter().map(|c| c.name.clone()).collect())
    }
    /// Whether a name is that of a row: of a variable, or of a FROM item.
    pub fn has_row(&self, name: &Name) -> bool {
        let variable = self.scope.lookup(&name.parts);
        matches!(variable, Some(Found::Variable(Variable::Row { .. } | Variable::Unassigned { .. })))
            || !self.column_names(&name.parts).is_empty()
    }
    /// Elements of a row, with each `row.*` written out.
    pub fn spread<'e>(&self, fields: &'e [Expr]) -> Cow<'e, [Expr]> {
        let is_star = |e: &Expr| matches!(e.kind, ExprKind::Star(Some(_)));
        if !fields.iter().any(is_star) {
            return Cow::Borrowed(fields);
        }
        let mut all = Vec::new();
        for e in fields {
            let ExprKind::Star(Some(name)) = &e.kind else {
                all.push(e.clone());
                continue;
            };
            let columns = self.column_names(&name.parts);
            if columns.is_empty() {
                all.push(e.clone());
            }
            for column in columns {
                let mut parts = name.parts.clone();
                parts.push(column);
                let kind = ExprKind::Column(Name { parts, position: name.position });
                all.push(Expr { position: e.position, kind });
            }
        }
        Cow::Owned(all)
    }
    /// The elements of a row that is written out, of `row.*`, or of a row variable; `items`: also of a FROM item by its
    /// alias, but for one that has a single column, which may be a value.
    pub fn whole_row<'e>(&self, e: &'e Expr, items: bool) -> Option<Cow<'e, [Expr]>> {
        let name = match &e.kind {
            ExprKind::Row(fields) => return Some(self.spread(fields)),
            ExprKind::Star(Some(name)) => name,
            ExprKind::Column(name) => match (self.scope.lookup(&name.parts), &name.parts[..]) {
                (Some(Found::Variable(Variable::Row { .. })), _) => name,
                (None, [alias]) if items && self.source_with(alias).is_none() => {
                    self.source(alias).filter(|(source, _)| source.columns.len() > 1)?;
                    name
                }
                _ => return None,
            },
            _ => return None,
        };
        let star = Expr { position: e.position, kind: ExprKind::Star(Some(name.clone())) };
        let fields = self.spread(std::slice::from_ref(&star)).into_owned();
        let known = !fields.iter().any(|f| matches!(f.kind, ExprKind::Star(_)));
        known.then_some(Cow::Owned(fields))
    }
    /// The source of that alias at this level.
    pub fn source_here(&self, alias: &str) -> Option<&Source> {
        self.sources.iter().find(|s| s.alias == alias)
    }
    /// The source that has the column of a bare name, and the level it is in.
    pub fn source_with(&self, name: &str) -> Option<(&Source, &Names<'_>)> {
        let has = |s: &&Source| {
            s.columns.iter().chain(&s.system).chain(&s.row).any(|c| !c.merged && c.name == name)
        };
        let here = self.sources.iter().find(has);
        here.map(|s| (s, self)).or_else(|| self.outer.and_then(|o| o.source_with(name)))
    }
    /// The source of a relation's columns, from inside out.
    pub fn source_of(&self, rel: RelId) -> Option<&Source> {
        let here = self.sources.iter().find(|s| s.of == Some(rel));
        here.or_else(|| self.outer.and_then(|o| o.source_of(rel)))
    }
    /// The alias under which a relation is known, if it goes by another name.
    fn alias_of(&self, relation: &str) -> Option<&str> {
        let here = self.sources.iter().find(|s| s.relation.as_deref() == Some(relation));
        here.map(|s| s.alias.as_str()).or_else(|| self.outer.and_then(|o| o.alias_of(relation)))
    }
    /// Whether an alias is taken at this level.
    pub fn check_alias(&self, alias: &str, position: u32) -> Result<()> {
        if !alias.is_empty() && self.sources.iter().any(|s| s.alias == alias) {
            let message = format!("table name \"{alias}\" specified more than once");
            return Err(Error::new(SqlState::DUPLICATE_ALIAS, message).at(position));
        }
        Ok(())
    }
    /// A column by its bare name: found at the innermost level that has it; with that level's depth.
    fn unqualified(&self, name: &str, position: u32) -> Result<Option<(&SourceColumn, usize)>> {
        let all = self.sources.iter().flat_map(|s| s.columns.iter().chain(&s.system).chain(&s.row));
        let mut found = all.filter(|c| !c.merged && c.name == name);
        if let Some(column) = found.next() {
            if found.next().is_some() {
                return Err(ambiguous(name, position));
            }
            return Ok(Some((column, self.depth())));
        }
        match self.outer {
            // A system column would be that of this level's row, not of the one around.
            Some(outer) => match self.sources.iter().find_map(|s| system_column(s, name)) {
                Some(error) => Err(error.at(position)),
                None => outer.unqualified(name, position),
            },
            None => Ok(None),
        }
    }
}

impl Source {
    /// A source whose columns are those of a relation.
    pub fn of(alias: &str, rel: RelId, columns: &[(String, Type)]) -> Source {
        let columns = columns
            .iter()
            .enumerate()
            .map(|(i, (name, ty))| SourceColumn::new(name.clone(), Bound::column(rel, i, ty.clone(), 0)))
            .collect();
        Source { of: Some(rel), ..Source::computed(alias, columns) }
    }
    /// A source whose columns are expressions.
    pub fn computed(alias: &str, columns: Vec<SourceColumn>) -> Source {
        Source {
            alias: alias.to_owned(),
            relation: None,
            columns,
            system: Vec::new(),
            row: None,
            root: None,
            of: None,
            renamed: 0,
        }
    }
    /// Its column of that name.
    pub fn column(&self, name: &str) -> Option<&SourceColumn> {
        self.columns.iter().chain(&self.system).chain(&self.row).find(|c| c.name == name)
    }
}

fn ambiguous(name: &str, position: u32) -> Error {
    Error::new(SqlState::AMBIGUOUS_COLUMN, format!("column reference \"{name}\" is ambiguous")).at(position)
}

fn clash(name: &str, position: u32) -> Error {
    ambiguous(name, position).with_detail("It could refer to either a PL/pgSQL variable or a table column.")
}

impl Lowerer<'_> {
    /// A column, variable or field by name.
    pub(super) fn bind_name(&mut self, names: &Names<'_>, name: &Name) -> Result<Bound> {
        let position = name.position;
        let mut parts = &name.parts[..];
        let known =
            |s: &str| planaria_catalog::system::is_system_schema(s) || self.catalog.schema(s).is_some();
        if parts.len() == 3 && known(&parts[0]) {
            parts = &parts[1..];
        }
        let column = match parts {
            [column] => names.unqualified(column, position)?,
            [table, column] => match names.source(table) {
                Some((source, depth)) => match source.column(column) {
                    Some(_) if source.columns.iter().filter(|c| c.name == *column).count() > 1 => {
                        return Err(ambiguous(column, position));
                    }
                    Some(c) => Some((c, depth)),
                    None if names.scope.lookup(parts).is_none() => {
                        if let Some(error) = system_column(source, column) {
                            return Err(error.at(position));
                        }
                        let error = no_qualified_column(table, column, position);
                        return Err(super::closest::hinted(error, names, Some(table), column));
                    }
                    None => None,
                },
                None => None,
            },
            _ => None,
        };
        let variable = names.scope.lookup(parts);
        let column = match (column, &variable) {
            (Some(column), Some(Found::Variable(_) | Found::Field(_))) => match self.conflict {
                VariableConflict::Error => return Err(clash(&parts.join("."), position)),
                VariableConflict::Variable => None,
                VariableConflict::Column => Some(column),
            },
            (column, _) => column,
        };
        if let Some((column, depth)) = column {
            self.note_tracked(&column.tracked);
            self.note_system(column.reads);
            let mut column = column.expr.clone();
            column.position = position;
            self.note_read(&column);
            self.note_level(depth);
            self.note_column(names, parts, &column);
            return Ok(column);
        }
        match variable {
            Some(Found::Variable(Variable::Scalar(value))) => Ok(reg(value, position)),
            Some(Found::Field(value)) => {
                self.must_hold(names.scope, &parts[..parts.len() - 1], position)?;
                Ok(reg(value, position))
            }
            Some(Found::Variable(Variable::Row { fields, table: None, .. }))
                if fields.is_empty() && !self.rows.former && !self.rows.checked =>
            {
                Err(super::held::several_structures(&parts[parts.len() - 1]).at(position))
            }
            Some(Found::Variable(Variable::Row { fields, .. })) => {
                let fields = fields.iter().map(|(_, f)| reg(f, position)).collect();
                Ok(Bound::new(BoundKind::Row(fields), Type::Void, position))
            }
            Some(Found::Variable(Variable::Unassigned { id })) => {
                let around = names.scope.lookup(&parts[..parts.len() - 1]);
                match around {
                    Some(Found::Variable(Variable::Unassigned { .. })) => {
                        self.rows.read_early(*id);
                        Err(super::held::unassigned(&parts[parts.len() - 2]).at(position))
                    }
                    _ => self.unassigned_value(*id, &parts[parts.len() - 1], position),
                }
            }
            Some(Found::NoField) => {
                let (field, record) = (&parts[parts.len() - 1], &parts[parts.len() - 2]);
                let message = format!("record \"{record}\" has no field \"{field}\"");
                Err(Error::new(SqlState::UNDEFINED_COLUMN, message).at(position))
            }
            None => {
                if let [table] = parts
                    && let Some((source, depth)) = names.source(table)
                {
                    self.note_level(depth);
                    // Of a function that returns values, the row is the value.
                    if let [only] = &source.columns[..]
                        && let Some((rel, _)) = only.expr.as_column()
                        && matches!(self.rel(rel).kind, RelKind::Unnest { .. } | RelKind::Series { .. })
                    {
                        let mut value = only.expr.clone();
                        value.position = position;
                        self.note_read(&value);
                        return Ok(value);
                    }
                    for column in &source.columns {
                        self.note_tracked(&column.tracked);
                        self.note_read(&column.expr);
                    }
                    // A whole row; it can be compared and counted.
                    let fields = source.columns.iter().map(|c| c.expr.clone()).collect();
                    return Ok(Bound::new(BoundKind::Row(fields), Type::Void, position));
                }
                if let [table, _] = parts
                    && let Some(alias) = names.alias_of(table)
                {
                    let message = format!("invalid reference to FROM-clause entry for table \"{table}\"");
                    let hint = format!("Perhaps you meant to reference the table alias \"{alias}\".");
                    return Err(Error::new(SqlState::UNDEFINED_TABLE, message).with_hint(hint).at(position));
                }
                if let [column] = parts
                    && let Some(error) = names.sources.iter().find_map(|s| system_column(s, column))
                {
                    return Err(error.at(position));
                }
                let error = no_column(parts, position);
                Err(match parts {
                    [column] => super::closest::hinted(error, names, None, column),
                    _ => error,
                })
            }
        }
    }

    /// `$n`
    pub(super) fn bind_parameter(&mut self, names: &Names<'_>, n: u32, position: u32) -> Result<Bound> {
        match names.scope.parameter(n) {
            Some(Variable::Scalar(value)) => return Ok(reg(value, position)),
            Some(_) => {
                return Err(Error::unsupported("a row as a parameter", "pass its fields").at(position));
            }
            None => {}
        }
        let missing =
            || Error::new(SqlState::UNDEFINED_PARAMETER, format!("there is no parameter ${n}")).at(position);
        let index = (n as usize).checked_sub(1).ok_or_else(missing)?;
        if index >= self.params.len() {
            if !self.params_open || index >= planaria_base::limits::ARGUMENTS_MAX.max(65_535) {
                return Err(missing());
            }
            self.params.resize(index + 1, None);
        }
        let ty = self.params[index].as_ref().map_or(Type::Unknown, |p| p.ty.clone());
        Ok(Bound::new(BoundKind::Param(index), ty, position))
    }

    /// A parameter without a type takes the one its context wants.
    pub(super) fn infer_param(&mut self, index: usize, ty: &Type, position: u32) -> Result<Bound> {
        if self.params[index].is_none() {
            // A number alone is one of the last field.
            let ty = match ty {
                Type::Rounded(Clock::Fields(_), _) => ty.clone(),
                ty => super::types::unmodified(ty),
            };
            let reg = self.temp(ty.clone());
            self.params[index] = Some(Typed { reg, ty });
        }
        let known = self.params[index].as_ref().expect("set above").ty.clone();
        let bound = Bound::new(BoundKind::Param(index), known, position);
        self.coerce(bound, ty, super::CastContext::Implicit)
    }
}

fn reg(value: &Typed, position: u32) -> Bound {
    Bound::new(BoundKind::Reg(value.reg), value.ty.clone(), position)
}

/// 0A000 for a column that every table of PostgreSQL has.
fn system_column(source: &Source, column: &str) -> Option<Error> {
    let is_table = !source.system.is_empty();
    let known = ["ctid", "xmin", "xmax", "cmin", "cmax"].contains(&column);
    (is_table && known).then(|| {
        let hint = match column {
            "ctid" => {
                "Rows of a table have one where its primary key is one or two integers, of 64 bits together, or where it has none."
            }
            "xmax" => "RETURNING of INSERT has it: there it is 0 where the row is new.",
            _ => "Rows have no number of a transaction.",
        };
        Error::unsupported(format!("system column \"{column}\" is not supported"), hint)
    })
}

fn no_column(parts: &[String], position: u32) -> Error {
    let error = match parts {
        [column] => Error::new(SqlState::UNDEFINED_COLUMN, format!("column \"{column}\" does not exist")),
        [.., table, _] => {
            Error::new(SqlState::UNDEFINED_TABLE, format!("missing FROM-clause entry for table \"{table}\""))
        }
        [] => Error::internal("an empty name"),
    };
    error.at(position)
}

/// 42703 for a qualified name whose table is there.
fn no_qualified_column(table: &str, column: &str, position: u32) -> Error {
    Error::new(SqlState::UNDEFINED_COLUMN, format!("column {table}.{column} does not exist")).at(position)
}
