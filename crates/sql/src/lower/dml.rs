//! What INSERT, UPDATE, DELETE and MERGE share: their table, values for its columns, RETURNING.

use super::bind_call::{Clause, Collector};
use super::bind_from::{missing_relation, refuse_composite};
use super::bound::{Bound, BoundKind, RelId, RelKind};
use super::closest::relation_hinted;
use super::names::{Names, Source, SourceColumn};
use super::types::CastContext;
use super::updatable::Target;
use super::{Lowerer, Typed};
use planaria_base::types::SystemType;
use planaria_base::{Error, Result, SqlState, Type};
use planaria_catalog::{ColumnDefault, Object, Privileges, Table};
use planaria_ir::{Func, OpKind, Output, Reg};
use planaria_syntax::ast::{ExprKind, Name, SelectItem};

pub(super) const XID: Type = Type::System(SystemType::Xid);

/// RETURNING, bound.
pub(super) struct Returning {
    pub outputs: Vec<Output>,
    pub values: Vec<Bound>,
    /// Of INSERT: where `xmax` is, if it is asked for and not known beforehand.
    pub xmax: Option<Reg>,
    /// What is asked of the table before the one row is changed that the statement changes.
    pub early: Vec<(Bound, Reg)>,
    /// What is called in front of the first row that is changed, and whether it has been.
    pub once: Vec<(Bound, Reg, Reg)>,
}

/// 0A000 for WHERE CURRENT OF where it is not PL/pgSQL's.
pub(super) fn refuse_current_of(condition: &planaria_syntax::ast::Expr) -> Result<()> {
    match planaria_syntax::ast::current_of(condition) {
        None => Ok(()),
        Some(_) => Err(Error::unsupported(
            "WHERE CURRENT OF is not supported outside of PL/pgSQL",
            "Change the row by its key, or use a cursor of a routine.",
        )
        .at(condition.position)),
    }
}

impl<'c> Lowerer<'c> {
    /// What a statement changes.
    pub(super) fn target(&mut self, name: &Name, verb: &str) -> Result<Target<'c>> {
        self.refuse_transition(name)?;
        if let Some(system) = super::system::named(name) {
            let verb = match verb {
                "insert" => "insert into",
                "delete" => "delete from",
                "merge" => "merge into",
                other => other,
            };
            return Err(super::system::read_only(system, Some(verb), name.position));
        }
        let no_schema = |e: Error| super::bind_call::relation_error(name, e);
        let table = self.catalog.located(self.meant(name).map_err(no_schema)?);
        refuse_composite(self.catalog, table, name)?;
        if let Some(table) = self.catalog.table(table) {
            if table.materialized.is_some() {
                let message = format!("cannot change materialized view \"{}\"", table.name);
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
            if table.slice().is_some() {
                return self.slice_target(table, verb);
            }
            let privilege = match verb {
                "insert" => Privileges::INSERT,
                "delete" => Privileges::DELETE,
                // What it needs depends on what it does.
                "merge" => return Ok(Target::table(table)),
                _ => Privileges::UPDATE,
            };
            let mut target = Target::table(table);
            target.writes = match privilege {
                Privileges::DELETE => {
                    self.require(Object::Table(table.id), privilege);
                    Vec::new()
                }
                _ => vec![self.require_columns(Object::Table(table.id), privilege)],
            };
            return Ok(target);
        }
        if self.catalog.view(table).is_some() && verb == "merge" {
            let message = format!("cannot execute MERGE on relation \"{table}\"");
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message)
                .with_detail("This operation is not supported for views.")
                .at(name.position));
        }
        if let Some(view) = self.catalog.view(table) {
            return self.view_target(view, verb, name.position);
        }
        if self.catalog.sequence(table).is_some_and(|s| !s.hidden) {
            let message = format!("cannot change sequence \"{table}\"");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position));
        }
        Err(relation_hinted(
            missing_relation(name),
            self.catalog,
            name.parts.last().map_or("", String::as_str),
        ))
    }

    /// Within the names of a statement that is no SELECT.
    pub(super) fn outside<R>(&mut self, what: &'static str, f: impl FnOnce(&mut Self) -> R) -> R {
        let rel = RelId(u32::MAX);
        self.collectors.push(Collector {
            clause: Clause::Other(what),
            group_rel: rel,
            keys: 0,
            grouped_by: Default::default(),
            aggregates: Vec::new(),
            window_rel: rel,
            windows: Vec::new(),
            named_windows: Vec::new(),
            sets: Vec::new(),
            set_calls: 0,
        });
        let result = f(self);
        self.collectors.pop();
        result
    }

    /// A value for a column: converted as by assignment, 42804 where that cannot be.
    pub(super) fn assign(&mut self, e: Bound, target: &Target<'_>, column: usize) -> Result<Bound> {
        let ty = &target.table.columns[column].ty;
        let (from, position) = (e.ty.clone(), e.position);
        self.coerce(e, ty, CastContext::Assignment).map_err(|error| {
            let rows = matches!((&from, ty), (Type::Record(_), Type::Record(_)));
            if error.sqlstate() == SqlState::CANNOT_COERCE && !rows {
                let [to, from] = [ty, &from].map(|ty| self.catalog.as_shown(ty));
                mismatch(target.shown(column), &to, &from, position)
            } else {
                error
            }
        })
    }

    /// What a column becomes when no value is given.
    pub(super) fn default_value(&mut self, table: &Table, column: usize, position: u32) -> Result<Bound> {
        let ty = table.columns[column].ty.clone();
        match &table.columns[column].default {
            ColumnDefault::None => match self.catalog.default_of_domain(&ty, table.columns[column].domain) {
                Some(text) => {
                    let e = self.bind_text(text, position)?;
                    self.coerce(e, &ty, CastContext::Assignment)
                }
                None => Ok(Bound::null(ty, position)),
            },
            ColumnDefault::Expression(text) => {
                let e = self.bind_text(text, position)?;
                self.coerce(e, &ty, CastContext::Assignment)
            }
            // Computed where the row is stored.
            ColumnDefault::Generated(_) => Ok(Bound::null(ty, position)),
            ColumnDefault::Sequence(sequence) | ColumnDefault::Identity { sequence, .. } => {
                let serial = matches!(table.columns[column].default, ColumnDefault::Sequence(_));
                if serial && !table.columns[column].hidden {
                    self.require_next(*sequence);
                }
                let next = Bound::new(BoundKind::NextValue(*sequence), Type::Int8, position);
                self.coerce(next, &ty, CastContext::Assignment)
            }
        }
    }

    /// A relation whose columns are those of the table and whose registers are set by hand.
    pub(super) fn shadow_rel(&mut self, table: &Table, alias: &str) -> RelId {
        let columns = table.columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
        self.new_rel(alias, columns, RelKind::Pseudo)
    }

    /// The source of such a relation.
    pub(super) fn shadow_source(&self, table: &Table, rel: RelId, alias: &str) -> Source {
        let mut source = Source::of(alias, rel, &self.rel(rel).columns);
        let mut hidden = table.columns.iter().map(|c| c.hidden);
        source.columns.retain(|_| !hidden.next().unwrap_or(false));
        source
    }

    /// The names that RETURNING sees, with the relation behind them. `xmax`: where that is, if the row that is returned may
    /// have been updated.
    pub(super) fn returned_names<'a>(
        &mut self,
        level: &Names<'a>,
        target: &Target<'_>,
        alias: &str,
        xmax: Option<Reg>,
    ) -> Result<(Names<'a>, RelId)> {
        let rel = self.shadow_rel(target.table, alias);
        let mut names = Names::new(level.outer, level.scope, level.ctes.clone());
        let mut source = self.target_source(target, rel, alias)?.0;
        if target.is_table() && !(target.table.is_partitioned() && self.reads_after) {
            source.system.extend(self.place_of(rel, target.table));
            source.root = target.table.is_partitioned().then_some(target.table.id);
            let oid = i64::from(self.catalog.table_oid(target.table.id));
            let expr = Bound::constant(planaria_base::Datum::Int(oid), Type::OID, 0);
            source.system.push(SourceColumn::new("tableoid".to_owned(), expr));
        }
        if target.is_table() || target.partition().is_some() {
            let expr = match xmax {
                None => Bound::constant(planaria_base::Datum::Int(0), XID, 0),
                Some(reg) => Bound::new(BoundKind::Reg(reg), XID, 0),
            };
            source.system.push(SourceColumn::new("xmax".to_owned(), expr));
        }
        self.track_system(rel, &mut source);
        names.sources.push(source);
        Ok((names, rel))
    }

    /// Binds RETURNING.
    pub(super) fn bind_returning(&mut self, names: &Names<'_>, items: &[SelectItem]) -> Result<Returning> {
        let mut returning = Returning {
            outputs: Vec::new(),
            values: Vec::new(),
            xmax: None,
            early: Vec::new(),
            once: Vec::new(),
        };
        let star: Vec<(String, Bound)> = names
            .sources
            .iter()
            .flat_map(|s| &s.columns)
            .filter(|c| !c.merged)
            .map(|c| (c.name.clone(), c.expr.clone()))
            .collect();
        for item in items {
            if let ExprKind::Star(qualifier) = &item.expr.kind {
                star.iter().for_each(|(_, column)| self.note_read(column));
                self.note_star(names, qualifier.as_ref());
                let columns =
                    super::bind_query::star_columns(names, qualifier.as_ref(), &star, item.expr.position)?;
                for (name, e) in columns {
                    returning.outputs.push(Output { name, ty: e.ty.clone() });
                    returning.values.push(e);
                }
                continue;
            }
            let fields = match &item.expr.kind {
                ExprKind::Fields(inner) => self.fields_of(names, inner, item.expr.position)?,
                _ => vec![item.clone()],
            };
            for item in fields {
                let e = self.outside("RETURNING", |l| l.bind(names, &item.expr))?;
                let e = self.settle(e)?;
                let name = item.alias.unwrap_or_else(|| super::bind_query::output_name(&item.expr));
                returning.outputs.push(Output { name, ty: e.ty.clone() });
                returning.values.push(e);
            }
        }
        Ok(returning)
    }

    /// Counts the columns that RETURNING uses.
    pub(super) fn count_returning(&mut self, returning: &mut Returning) {
        for e in &mut returning.values {
            self.count(e);
        }
    }

    /// Computes the queries in these expressions that read the table and depend on nothing else, here: before the
    /// statement changes its first row. What is computed later sees what has been changed.
    pub(super) fn before_changes<'e>(
        &mut self,
        expressions: impl IntoIterator<Item = &'e mut Bound>,
        table: &Table,
    ) -> Result<()> {
        let mut changed = super::apart::Changed::default();
        changed.add(table.id);
        self.before_all(expressions, &changed)
    }

    /// The same of several tables.
    pub(super) fn before_all<'e>(
        &mut self,
        expressions: impl IntoIterator<Item = &'e mut Bound>,
        changed: &super::apart::Changed,
    ) -> Result<()> {
        let mut done = Ok(());
        for e in expressions {
            self.visit(e, &mut |l, e| {
                let (BoundKind::Subquery(query) | BoundKind::Exists(query) | BoundKind::ArrayQuery(query)) =
                    &e.kind
                else {
                    return done.is_ok();
                };
                let query = query.clone();
                if done.is_err()
                    || !l.free_rels(&query).is_empty()
                    || !(l.calls_stable(e) || l.asks(e, changed))
                {
                    return done.is_ok();
                }
                match l.exact(e) {
                    Ok(reg) => e.kind = BoundKind::Reg(reg),
                    Err(error) => done = Err(error),
                }
                false
            });
        }
        done
    }

    /// Hands a row of RETURNING to the sink.
    pub(super) fn give(&mut self, returning: &Returning, sink: &mut super::Sink<'_>) -> Result<()> {
        if returning.values.is_empty() {
            return Ok(());
        }
        let mut row = Vec::with_capacity(returning.values.len());
        for e in &returning.values {
            row.push(Typed { reg: self.value(e)?, ty: e.ty.clone() });
        }
        sink(self, &row)
    }

    /// A row counter at zero.
    pub(super) fn counter(&mut self) -> Reg {
        let count = self.temp(Type::Int8);
        let zero = self.int8(0);
        self.copy(count, zero);
        count
    }

    /// Counts a row: the only one, or one more.
    pub(super) fn count_row(&mut self, count: Reg, single: bool) {
        let one = self.int8(1);
        if single {
            self.copy(count, one);
        } else {
            self.emit(OpKind::Apply { dst: count, func: Func::Int8Add, args: vec![count, one] });
        }
    }

    /// Whether an expression or anything in it reads a table as it was before the statement, or calls a function that
    /// may. A volatile function reads it as it is when it is called.
    pub(super) fn reads_table(&mut self, e: &Bound, table: planaria_base::TableId) -> bool {
        let rels: Vec<RelId> = self.inner_rels(e);
        self.calls_stable(e)
            || rels.iter().any(|r| matches!(self.rel(*r).kind, RelKind::Table(t) if t == table))
    }

    /// Whether an expression or anything in it calls a STABLE function.
    fn calls_stable(&mut self, e: &Bound) -> bool {
        let mut reads = false;
        let mut copy = e.clone();
        self.visit(&mut copy, &mut |l, e| {
            if let BoundKind::Call(id, _) = e.kind {
                let volatility = l.catalog.procedure(id).volatility;
                reads |= volatility == planaria_catalog::Volatility::Stable;
            }
            true
        });
        reads
    }
}

/// 42804 for a value that does not go into a column.
pub(super) fn mismatch(column: &str, to: &Type, from: &Type, position: u32) -> Error {
    let message = format!(
        "column \"{column}\" is of type {} but expression is of type {}",
        super::operators::base_name(to),
        super::operators::base_name(from)
    );
    Error::new(SqlState::DATATYPE_MISMATCH, message)
        .at(position)
        .with_hint("You will need to rewrite or cast the expression.")
}
