//! System relations: found before any relation of the user's, and read whole.
//!
//! The engine gives the rows of one in a list, made once for a statement, at its start. Joins over equal
//! columns go through a hash table that is made once as well, also where they stand in a subquery
//! that runs for every row of the query around it; so psql's and the drivers' queries are linear in
//! the number of objects.

use super::bind_from::FromClause;
use super::bound::{Body, Bound, BoundKind, BoundQuery, BoundSelect, Distinct, Item, RelId, RelKind};
use super::emit_join::Then;
use super::names::Names;
use super::plan::{Hash, JoinPlan, Outer, Source};
use super::types::CastContext;
use super::{Lowerer, Scope};
use planaria_base::{ColumnId, Error, Result, SqlState, SystemId};
use planaria_catalog::system::{self, SystemRelation};
use planaria_ir::{CollDecl, CollKind, OpKind, Output, RegKind};
use planaria_syntax::ast::{Name, Query};

/// The system relation that a name means.
pub(crate) fn named(name: &Name) -> Option<&'static SystemRelation> {
    match &name.parts[..] {
        [table] => system::unqualified(table),
        [.., schema, table] => system::relation(schema, table),
        [] => None,
    }
}

/// The system relation whose rows a function without arguments returns.
pub(super) fn answering(function: &str) -> Option<&'static SystemRelation> {
    system::unqualified(match function {
        "pg_get_keywords" => "planaria_keywords",
        _ => return None,
    })
}

/// The row of a sequence, which PostgreSQL has as a relation.
pub(super) fn sequence_query(schema: &str, name: &str, position: u32) -> Result<Query> {
    let [schema, name] = [schema, name].map(|n| n.replace('\'', "''"));
    let text = format!(
        "SELECT last_value, log_cnt, is_called FROM pg_catalog.planaria_sequences
         WHERE schemaname = '{schema}' AND sequencename = '{name}'"
    );
    planaria_syntax::parse::query(&text).map_err(|e| e.at(position))
}

impl Lowerer<'_> {
    /// A system relation in FROM.
    pub(super) fn bind_system(
        &mut self,
        level: &mut Names<'_>,
        relation: &'static SystemRelation,
        shown: &str,
        renamed: &[String],
        nullable: bool,
        position: u32,
    ) -> Result<FromClause> {
        let Some(text) = relation.query else {
            let columns = relation.columns.iter().map(|c| (c.name.to_owned(), c.ty.clone())).collect();
            let rel = self.new_rel(shown, columns, RelKind::System(relation.id));
            return self.add_rel(level, rel, shown, renamed, position);
        };
        let query = planaria_syntax::parse::query(text)?;
        let scope = Scope::new();
        let collectors = std::mem::take(&mut self.collectors);
        // They stand in another text.
        let mentions = self.text.take();
        let bound = self.bind_level(Names::of(&scope), &query, false);
        self.text = mentions;
        self.collectors = collectors;
        let mut bound = bound.map_err(|e| e.context(format!("view \"{}\"", relation.name)))?;
        self.reposition_query(&mut bound, position);
        let bound = self.as_declared(bound, relation, position)?;
        self.add_query(level, bound, shown, renamed, nullable, position)
    }

    /// A view's query with the columns that are declared of it: found by name, NULL where missing.
    fn as_declared(
        &mut self,
        query: BoundQuery,
        relation: &SystemRelation,
        position: u32,
    ) -> Result<BoundQuery> {
        let names: Vec<String> = query.columns.iter().map(|c| c.name.clone()).collect();
        let (select, given): (BoundSelect, Vec<Bound>) = match query.body {
            Body::Select(select)
                if select.distinct == Distinct::No
                    && select.visible == select.outputs.len()
                    && query.order.is_empty()
                    && query.limit.is_none() =>
            {
                let given = select.outputs.clone();
                (*select, given)
            }
            _ => {
                let columns: Vec<_> = query.columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect();
                let rel = self.new_rel(relation.name, columns.clone(), RelKind::Query(Box::new(query)));
                let given = columns.iter().enumerate();
                let given = given.map(|(i, (_, ty))| Bound::column(rel, i, ty.clone(), position)).collect();
                let select = BoundSelect {
                    from: vec![Item::Rel(rel)],
                    filter: Vec::new(),
                    grouping: None,
                    windows: None,
                    outputs: Vec::new(),
                    visible: 0,
                    distinct: Distinct::No,
                    apart: None,
                };
                (select, given)
            }
        };
        let mut outputs = Vec::with_capacity(relation.columns.len());
        for column in &relation.columns {
            outputs.push(match names.iter().position(|n| n == column.name) {
                Some(at) => self.coerce(given[at].clone(), &column.ty, CastContext::Explicit)?,
                None => Bound::null(column.ty.clone(), position),
            });
        }
        let output = |c: &system::SystemColumn| Output { name: c.name.to_owned(), ty: c.ty.clone() };
        let columns: Vec<Output> = relation.columns.iter().map(output).collect();
        let visible = outputs.len();
        let body = Body::Select(Box::new(BoundSelect { outputs, visible, ..select }));
        Ok(BoundQuery::plain(body, columns))
    }

    /// The rows of a system relation, from a list that is filled at the statement's start.
    pub(super) fn emit_system(&mut self, rel: RelId, id: SystemId, then: &mut Then<'_>) -> Result<()> {
        let (relation, name) = (system::by_id(id), self.rel(rel).name.clone());
        self.note_with("Seq Scan", |_, node| {
            node.relation = Some(relation.name.to_owned());
            node.alias = Some(name).filter(|name| name != relation.name);
        });
        let uses = &self.rel(rel).uses;
        let mut columns: Vec<ColumnId> =
            (0..uses.len()).filter(|c| uses[*c] > 0).map(ColumnId::from).collect();
        if columns.is_empty() {
            // A list has at least one column, were it only to count its rows.
            columns.push(ColumnId(0));
        }
        let kinds = columns.iter().map(|c| RegKind::Value(relation.columns[c.index()].ty.clone())).collect();
        let list = self.program.coll(CollDecl { kind: CollKind::List, keys: Vec::new(), values: kinds });
        let wanted = columns.clone();
        self.at_frame(0, |l| {
            l.emit(OpKind::Clear { coll: list });
            l.emit(OpKind::SystemRows { relation: id, columns: wanted, into: list });
            Ok(())
        })?;
        let regs = columns.iter().map(|c| self.column_reg(rel, c.index())).collect();
        self.iterate(rel, list, regs, false, then)
    }

    /// The outermost frame where a hash table over system relations can be built; `None` where
    /// other things are in it.
    pub(super) fn system_frame(&mut self, hash: &Hash) -> Option<usize> {
        let mut exprs: Vec<Bound> = hash.keys.iter().map(|(build, _)| build.clone()).collect();
        self.system_exprs(&hash.build, &mut exprs)?;
        let mut free = Vec::new();
        for e in &exprs {
            if self.is_volatile(e) || holds_variable(e) {
                return None;
            }
            free.extend(self.rels_in(e).into_iter().filter(|r| !hash.rels.contains(r)));
        }
        (0..self.frames.len()).find(|i| {
            let there = &self.available[..self.frames[*i].available.min(self.available.len())];
            free.iter().all(|r| there.contains(r))
        })
    }

    fn system_exprs(&mut self, plan: &JoinPlan, exprs: &mut Vec<Bound>) -> Option<()> {
        exprs.extend(plan.first.iter().cloned());
        for step in &plan.steps {
            exprs.extend(step.filter.iter().cloned());
            match &step.source {
                Source::Produce { rel, .. } if matches!(self.rel(*rel).kind, RelKind::System(_)) => {}
                Source::Hash(hash) | Source::Outer { how: Outer::Hash(hash, _), .. } => {
                    exprs.extend(hash.keys.iter().flat_map(|(b, p)| [b.clone(), p.clone()]));
                    if let Source::Outer { how: Outer::Hash(_, rest), .. } = &step.source {
                        exprs.extend(rest.iter().cloned());
                    }
                    self.system_exprs(&hash.build, exprs)?;
                }
                _ => return None,
            }
        }
        Some(())
    }
}

/// Whether a register or a value bound inside the query is used: it may not be set yet further out.
fn holds_variable(e: &Bound) -> bool {
    let (mut found, mut queries) = (matches!(e.kind, BoundKind::LetRef(_) | BoundKind::Let(..)), false);
    e.children(&mut |c| found |= holds_variable(c), &mut |_| queries = true);
    found || queries
}

/// The error of whoever would change a system relation: 42501, for a view 55000. `verb` is "insert into"
/// and the like, `None` for changes of its definition.
pub(crate) fn read_only(relation: &SystemRelation, verb: Option<&str>, position: u32) -> Error {
    let error = match verb.filter(|_| relation.view) {
        Some(verb) => {
            let message = format!("cannot {verb} view \"{}\"", relation.name);
            Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        }
        None => {
            let message = format!("permission denied: \"{}\" is a system catalog", relation.name);
            Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
        }
    };
    error.at(position)
}
