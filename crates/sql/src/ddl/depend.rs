//! What depends on what. Dependencies are found by reading the definitions' text again; nothing is
//! stored, so nothing can be stale. A routine's body is no dependency, as in PostgreSQL.

use super::routine::reference;
use super::{Change, reparse};
use crate::lower::sequence_name;
use planaria_base::{ColumnId, Error, IndexId, ProcedureId, Result, SequenceId, SqlState, TableId};
use planaria_catalog::{Catalog, ColumnDefault, Returns, Table, View};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{Expr, ExprKind, Query};
use std::collections::BTreeSet;

/// Something that can be dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Object {
    Table(TableId),
    View(String),
    Sequence(SequenceId),
    Routine(ProcedureId),
    Column(TableId, ColumnId),
    /// An index, by its position; also that of a UNIQUE or PRIMARY KEY constraint.
    Index(TableId, IndexId),
    /// A CHECK or FOREIGN KEY.
    Constraint(TableId, String),
    Default(TableId, ColumnId),
}

/// Names that a definition mentions.
#[derive(Default, Debug)]
pub(super) struct References {
    pub relations: BTreeSet<String>,
    pub functions: BTreeSet<String>,
    pub columns: BTreeSet<String>,
    pub sequences: BTreeSet<String>,
    pub star: bool,
}

/// The sequences that a default names.
pub fn sequences_of_default(text: &str) -> Vec<String> {
    References::of_text(text).map_or(Vec::new(), |all| all.sequences.into_iter().collect())
}

impl References {
    fn note(&mut self, node: Node<'_>) {
        let last = |n: &planaria_syntax::ast::Name| n.parts.last().cloned().unwrap_or_default();
        match node {
            Node::Relation(name) => {
                self.relations.insert(last(name));
            }
            Node::Call(call) => {
                let name = last(&call.name);
                if ["nextval", "currval", "setval"].contains(&name.as_str())
                    && let Some(argument) = call.args.first()
                    && let Some(s) = literal(&argument.value)
                {
                    self.sequences.insert(sequence_name(s));
                }
                self.functions.insert(name);
            }
            Node::Expr(Expr { kind: ExprKind::Column(name), .. }) => {
                self.columns.insert(last(name));
            }
            Node::Expr(Expr { kind: ExprKind::Star(_), .. }) => self.star = true,
            Node::Expr(_) | Node::Enter(_) | Node::Leave => {}
        }
    }
    pub(super) fn of_query(query: &Query) -> References {
        let mut all = References::default();
        visit::query(query, &mut |node| all.note(node));
        all
    }
    pub(super) fn of_expr(expr: &Expr) -> References {
        let mut all = References::default();
        visit::expr(expr, &mut |node| all.note(node));
        all
    }
    pub(super) fn of_view(view: &View) -> Result<References> {
        reparse::query(&view.query).map(|q| References::of_query(&q))
    }
    pub(super) fn of_text(text: &str) -> Result<References> {
        reparse::expression(text).map(|e| References::of_expr(&e))
    }
}

/// The text of a string literal, `'s'` or `'s'::regclass`.
fn literal(e: &Expr) -> Option<&str> {
    match &e.kind {
        ExprKind::String(s) => Some(s),
        ExprKind::Cast(inner, _) => literal(inner),
        _ => None,
    }
}

/// The columns of a table that an expression over its rows mentions, each once, in their order.
pub(super) fn columns_of(table: &Table, expr: &Expr) -> Vec<ColumnId> {
    let names = References::of_expr(expr).columns;
    table.visible().filter(|(_, c)| names.contains(&c.name)).map(|(id, _)| id).collect()
}

impl Object {
    /// As PostgreSQL calls it in messages.
    pub(super) fn describe(&self, catalog: &Catalog) -> String {
        let table = |id: &TableId| catalog.table_by_id(*id).name.clone();
        let column = |t: &TableId, c: &ColumnId| catalog.table_by_id(*t).columns[c.index()].name.clone();
        match self {
            Object::Table(id) => format!("table {}", table(id)),
            Object::View(name) => format!("view {name}"),
            Object::Sequence(id) => {
                let name = catalog.sequences[id.index()].as_ref().map_or("", |s| s.name.as_str());
                format!("sequence {name}")
            }
            Object::Routine(id) => {
                let p = catalog.procedure(*id);
                format!("{} {}", if p.is_procedure() { "procedure" } else { "function" }, reference(p))
            }
            Object::Column(t, c) => format!("column {} of table {}", column(t, c), table(t)),
            Object::Index(t, i) => {
                let index = &catalog.table_by_id(*t).indexes[i.index()];
                if index.constraint {
                    format!("constraint {} on table {}", index.name, table(t))
                } else {
                    format!("index {}", index.name)
                }
            }
            Object::Constraint(t, name) => format!("constraint {name} on table {}", table(t)),
            Object::Default(t, c) => {
                format!("default value for column {} of table {}", column(t, c), table(t))
            }
        }
    }

    /// The table it is a part of.
    fn part_of(&self) -> Option<TableId> {
        match self {
            Object::Column(t, _) | Object::Index(t, _) | Object::Constraint(t, _) | Object::Default(t, _) => {
                Some(*t)
            }
            _ => None,
        }
    }

    /// What depends on it directly, and what that is called on which it depends (a function that
    /// returns rows of a table depends on its *type*).
    pub(super) fn dependents(&self, catalog: &Catalog) -> Result<Vec<(Object, String)>> {
        let own = self.describe(catalog);
        let mut all = Vec::new();
        let tables = || catalog.tables.iter().flatten();
        match self {
            Object::Table(id) => {
                let name = &catalog.table_by_id(*id).name;
                for (child, key) in catalog.references_to(*id) {
                    if child.id != *id {
                        all.push((Object::Constraint(child.id, key.name.clone()), own.clone()));
                    }
                }
                views_on(catalog, name, &own, |_| true, &mut all)?;
                for p in catalog.procedures.iter().filter(|p| p.current) {
                    if matches!(p.returns, Returns::SetOfTable(t) | Returns::RowOf(t) if t == *id) {
                        all.push((Object::Routine(p.id), format!("type {name}")));
                    }
                }
            }
            Object::View(name) => views_on(catalog, name, &own, |_| true, &mut all)?,
            Object::Column(id, column) => {
                let table = catalog.table_by_id(*id);
                for (child, key) in catalog.references_to(*id) {
                    if child.id != *id && key.parent_columns.contains(column) {
                        all.push((Object::Constraint(child.id, key.name.clone()), own.clone()));
                    }
                }
                let name = &table.columns[column.index()].name;
                views_on(catalog, &table.name, &own, |r| r.star || r.columns.contains(name), &mut all)?;
            }
            Object::Index(id, index) => {
                let name = &catalog.table_by_id(*id).indexes[index.index()].name;
                for (child, key) in catalog.references_to(*id) {
                    if key.parent_index == *index {
                        all.push((Object::Constraint(child.id, key.name.clone()), format!("index {name}")));
                    }
                }
            }
            Object::Sequence(id) => {
                let name = catalog.sequences[id.index()].as_ref().map(|s| s.name.clone());
                for table in tables() {
                    for (c, column) in table.visible() {
                        let uses = match &column.default {
                            ColumnDefault::Sequence(s) | ColumnDefault::Identity { sequence: s, .. } => {
                                s == id
                            }
                            ColumnDefault::Expression(text) => {
                                let refs = References::of_text(text)?;
                                name.as_ref().is_some_and(|n| refs.sequences.contains(n))
                            }
                            ColumnDefault::None => false,
                        };
                        if uses {
                            all.push((Object::Default(table.id, c), own.clone()));
                        }
                    }
                }
            }
            Object::Routine(id) => {
                let name = &catalog.procedure(*id).name;
                // An overload that stays may be the one meant: only the last of a name is needed for sure.
                if catalog.procedures_named(name).count() > 1 {
                    return Ok(all);
                }
                for view in catalog.views.values() {
                    if References::of_view(view)?.functions.contains(name) {
                        all.push((Object::View(view.name.clone()), own.clone()));
                    }
                }
                for table in tables() {
                    for (c, column) in table.visible() {
                        if let ColumnDefault::Expression(text) = &column.default
                            && References::of_text(text)?.functions.contains(name)
                        {
                            all.push((Object::Default(table.id, c), own.clone()));
                        }
                    }
                    for check in &table.checks {
                        if References::of_text(&check.expression)?.functions.contains(name) {
                            all.push((Object::Constraint(table.id, check.name.clone()), own.clone()));
                        }
                    }
                }
            }
            Object::Constraint(..) | Object::Default(..) => {}
        }
        Ok(all)
    }
}

/// Views whose query mentions a relation.
fn views_on(
    catalog: &Catalog,
    relation: &str,
    own: &str,
    also: impl Fn(&References) -> bool,
    all: &mut Vec<(Object, String)>,
) -> Result<()> {
    for view in catalog.views.values() {
        let refs = References::of_view(view)?;
        if refs.relations.contains(relation) && also(&refs) {
            all.push((Object::View(view.name.clone()), own.to_owned()));
        }
    }
    Ok(())
}

impl Change {
    /// Drops what depends on the targets (not these themselves), or refuses (2BP01).
    pub(super) fn drop_dependents(&mut self, targets: &[Object], cascade: bool) -> Result<()> {
        let mut all = targets.to_vec();
        let mut found: Vec<(Object, String)> = Vec::new();
        let mut next = 0;
        while next < all.len() {
            for (dependent, on) in all[next].dependents(&self.catalog)? {
                let with_table = dependent.part_of().is_some_and(|t| all.contains(&Object::Table(t)));
                if with_table || all.contains(&dependent) {
                    continue;
                }
                all.push(dependent.clone());
                found.push((dependent, on));
            }
            next += 1;
        }
        if found.is_empty() {
            return Ok(());
        }
        let lines =
            |f: &dyn Fn(&(Object, String)) -> String| found.iter().map(f).collect::<Vec<_>>().join("\n");
        if !cascade {
            let message = match targets {
                [one] => {
                    format!("cannot drop {} because other objects depend on it", one.describe(&self.catalog))
                }
                _ => "cannot drop desired object(s) because other objects depend on them".to_owned(),
            };
            let detail = lines(&|(o, on)| format!("{} depends on {on}", o.describe(&self.catalog)));
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .detail(detail)
                .hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let dropped = lines(&|(o, _)| format!("drop cascades to {}", o.describe(&self.catalog)));
        let mut fields = match &found[..] {
            [_] => Error::new(SqlState::SUCCESSFUL_COMPLETION, dropped),
            _ => Error::new(
                SqlState::SUCCESSFUL_COMPLETION,
                format!("drop cascades to {} other objects", found.len()),
            )
            .detail(dropped),
        };
        fields.fields_mut().position = None;
        self.out.notices.push(super::Notice { level: planaria_base::Level::Notice, fields });
        for (object, _) in found {
            self.remove_dependent(object);
        }
        Ok(())
    }

    /// Dependents are of the kinds whose removal touches no stored row.
    fn remove_dependent(&mut self, object: Object) {
        match object {
            Object::View(name) => {
                self.catalog.views.remove(&name);
            }
            Object::Routine(id) => self.catalog.procedures[id.index()].current = false,
            Object::Constraint(table, name) => {
                let table = self.table_mut(table);
                table.foreign_keys.retain(|k| k.name != name);
                table.checks.retain(|c| c.name != name);
            }
            Object::Default(table, column) => {
                self.table_mut(table).columns[column.index()].default = ColumnDefault::None;
            }
            Object::Table(_) | Object::Sequence(_) | Object::Column(..) | Object::Index(..) => {
                unreachable!("these depend on nothing")
            }
        }
    }
}
