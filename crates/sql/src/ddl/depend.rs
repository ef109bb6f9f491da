//! What depends on what. Dependencies are found by reading the definitions' text again; nothing is
//! stored, so nothing can be stale. A routine's body is no dependency, as in PostgreSQL.

use super::routine::reference;
use super::{Change, reparse};
use crate::lower::sequence_name;
use planaria_base::oid::Oid;
use planaria_base::{
    ColumnId, Error, IndexId, ProcedureId, Result, SequenceId, SqlState, TableId, Type, TypeId,
};
use planaria_catalog::{Catalog, ColumnDefault, Returns, Table, TypeKind, View, is_made_of};
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{Expr, ExprKind, Query, TypeNameKind};
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
    Type(TypeId),
    /// A trigger, by name.
    Trigger(TableId, String),
}

/// Names that a definition mentions.
#[derive(Default, Debug)]
pub(super) struct References {
    pub relations: BTreeSet<String>,
    pub functions: BTreeSet<String>,
    pub columns: BTreeSet<String>,
    pub sequences: BTreeSet<String>,
    pub types: BTreeSet<String>,
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
            Node::Type(ty) => {
                if let TypeNameKind::Named(name) | TypeNameKind::NamedArray(name) = &ty.kind {
                    self.types.insert(last(name));
                }
            }
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
            Object::Trigger(t, name) => format!("trigger {name} on table {}", table(t)),
            Object::Type(id) => format!("type {}", catalog.type_by_id(*id).name),
            Object::Default(t, c) => {
                format!("default value for column {} of table {}", column(t, c), table(t))
            }
        }
    }

    /// The table it is a part of.
    fn part_of(&self) -> Option<TableId> {
        match self {
            Object::Column(t, _)
            | Object::Index(t, _)
            | Object::Constraint(t, _)
            | Object::Default(t, _)
            | Object::Trigger(t, _) => Some(*t),
            _ => None,
        }
    }

    /// What depends on it directly, and what that is called on which it depends (a function that
    /// returns rows of a table depends on its *type*).
    pub(super) fn dependents(&self, catalog: &Catalog) -> Result<Vec<(Object, String)>> {
        let own = self.describe(catalog);
        let mut all: Vec<(Object, String)> = Vec::new();
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
                on_owned_sequences(catalog, *id, |_| true, &mut all)?;
                for p in catalog.procedures.iter().filter(|p| p.current) {
                    if matches!(p.returns, Returns::SetOfTable(t) | Returns::RowOf(t) if t == *id) {
                        all.push((Object::Routine(p.id), format!("type {name}")));
                    }
                }
            }
            Object::View(name) => views_on(catalog, name, &own, |_| true, &mut all)?,
            Object::Column(id, column) => {
                let table = catalog.table_by_id(*id);
                on_owned_sequences(catalog, *id, |c| c == *column, &mut all)?;
                for (child, key) in catalog.references_to(*id) {
                    if child.id != *id && key.parent_columns.contains(column) {
                        all.push((Object::Constraint(child.id, key.name.clone()), own.clone()));
                    }
                }
                let name = &table.columns[column.index()].name;
                for (c, other) in table.visible() {
                    if let Some(text) = other.generated()
                        && References::of_text(text)?.columns.contains(name)
                    {
                        all.push((Object::Column(*id, c), own.clone()));
                    }
                }
                views_on(catalog, &table.name, &own, |r| r.star || r.columns.contains(name), &mut all)?;
                for trigger in Change::triggers_on(table, *column)? {
                    all.push((Object::Trigger(*id, trigger.name.clone()), own.clone()));
                }
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
                            ColumnDefault::None | ColumnDefault::Generated(_) => false,
                        };
                        if uses {
                            all.push((Object::Default(table.id, c), own.clone()));
                        }
                    }
                }
            }
            Object::Routine(id) => {
                for (table, trigger) in catalog.tables_firing(*id) {
                    all.push((Object::Trigger(table, trigger.name.clone()), own.clone()));
                }
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
                    for trigger in &table.triggers {
                        if let Some(text) = &trigger.condition
                            && References::of_text(text)?.functions.contains(name)
                        {
                            all.push((Object::Trigger(table.id, trigger.name.clone()), own.clone()));
                        }
                    }
                }
            }
            Object::Type(id) => return of_type(catalog, *id, &own),
            Object::Constraint(..) | Object::Default(..) | Object::Trigger(..) => {}
        }
        all.sort_by_key(|(object, _)| age(catalog, object));
        Ok(all)
    }
}

/// What else depends on the sequences that go with columns of a table.
fn on_owned_sequences(
    catalog: &Catalog,
    table: TableId,
    goes: impl Fn(ColumnId) -> bool,
    all: &mut Vec<(Object, String)>,
) -> Result<()> {
    for sequence in catalog.sequences.iter().flatten() {
        if sequence.owner.is_none_or(|(of, column)| of != table || !goes(column)) {
            continue;
        }
        let on = Object::Sequence(sequence.id).dependents(catalog)?;
        all.extend(on.into_iter().filter(|(object, _)| match object {
            Object::Default(of, column) => *of != table || !goes(*column),
            _ => true,
        }));
    }
    Ok(())
}

/// What depends on a type: columns, routines and domains of it or of arrays of it, and texts that name it; in PostgreSQL's
/// order, those of the arrays first.
fn of_type(catalog: &Catalog, id: TypeId, own: &str) -> Result<Vec<(Object, String)>> {
    let ty = catalog.type_by_id(id);
    let mut all: Vec<(Object, String)> = Vec::new();
    let arrays = format!("{own}[]");
    let made_of = |other: &Type| match &ty.kind {
        TypeKind::Enum(of) => is_made_of(other, of),
        TypeKind::Domain(_) => false,
    };
    let on = |other: &Type| if matches!(other, Type::Array(_)) { arrays.clone() } else { own.to_owned() };
    for table in catalog.tables.iter().flatten() {
        for (c, column) in table.visible() {
            if column.domain == Some(id) {
                all.push((Object::Column(table.id, c), own.to_owned()));
            } else if column.domain.is_none() && made_of(&column.ty) {
                all.push((Object::Column(table.id, c), on(&column.ty)));
            } else if let ColumnDefault::Expression(text) = &column.default
                && References::of_text(text)?.types.contains(&ty.name)
            {
                all.push((Object::Default(table.id, c), own.to_owned()));
            }
        }
        for check in &table.checks {
            if References::of_text(&check.expression)?.types.contains(&ty.name) {
                all.push((Object::Constraint(table.id, check.name.clone()), own.to_owned()));
            }
        }
        for trigger in &table.triggers {
            if let Some(text) = &trigger.condition
                && References::of_text(text)?.types.contains(&ty.name)
            {
                all.push((Object::Trigger(table.id, trigger.name.clone()), own.to_owned()));
            }
        }
    }
    for other in catalog.types.iter().flatten() {
        if let TypeKind::Domain(domain) = &other.kind
            && (domain.over == Some(id) || (domain.over.is_none() && made_of(&domain.base)))
        {
            all.push((Object::Type(other.id), on(&domain.base)));
        }
    }
    for p in catalog.procedures.iter().filter(|p| p.current) {
        let result = match &p.returns {
            Returns::Scalar(ty) | Returns::SetOf(ty) => Some(ty),
            _ => None,
        };
        let mut domains = p.parameters.iter().filter_map(|p| p.domain).chain(p.returns_domain);
        let mut types = p.parameters.iter().map(|p| &p.ty).chain(result);
        if domains.any(|d| d == id) {
            all.push((Object::Routine(p.id), own.to_owned()));
        } else if let Some(ty) = types.find(|ty| made_of(ty)) {
            all.push((Object::Routine(p.id), on(ty)));
        }
    }
    for view in catalog.views.values() {
        if References::of_view(view)?.types.contains(&ty.name) {
            all.push((Object::View(view.name.clone()), own.to_owned()));
        }
    }
    all.sort_by_key(|(object, on)| (*on == own, age(catalog, object)));
    Ok(all)
}

/// What dependents are ordered by: their age; the columns of a table from the last to the first.
fn age(catalog: &Catalog, object: &Object) -> (Oid, u32) {
    match object {
        Object::Column(table, column) => (catalog.table_oid(*table), u32::MAX - column.0),
        Object::Default(table, _) | Object::Constraint(table, _) => (catalog.table_oid(*table), u32::MAX),
        Object::Routine(id) => (catalog.routine_oid(catalog.procedure(*id)), 0),
        Object::View(name) => (catalog.views.get(name).map_or(0, |v| catalog.view_oid(v)), 0),
        Object::Type(id) => (catalog.type_oid(*id), 0),
        Object::Trigger(table, name) => (catalog.trigger_oid(*table, name), 0),
        _ => (0, 0),
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
    /// Columns among them are answered: they are the caller's to drop.
    pub(super) fn drop_dependents(
        &mut self,
        targets: &[Object],
        cascade: bool,
    ) -> Result<Vec<(TableId, ColumnId)>> {
        // In PostgreSQL's order: what depends on a dependent stands right behind it, the last target's first.
        let mut all = targets.to_vec();
        let mut groups: Vec<Vec<(Object, String)>> = Vec::new();
        for target in targets {
            let mut found = Vec::new();
            let mut next: Vec<(Object, Option<String>)> = vec![(target.clone(), None)];
            while let Some((object, on)) = next.pop() {
                if let Some(on) = on {
                    if all.contains(&object) {
                        continue;
                    }
                    all.push(object.clone());
                    found.push((object.clone(), on));
                }
                for (dependent, on) in object.dependents(&self.catalog)?.into_iter().rev() {
                    let with_table = dependent.part_of().is_some_and(|t| all.contains(&Object::Table(t)));
                    if !with_table {
                        next.push((dependent, Some(on)));
                    }
                }
            }
            groups.push(found);
        }
        let found: Vec<(Object, String)> = groups.into_iter().rev().flatten().collect();
        if found.is_empty() {
            return Ok(Vec::new());
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
        let mut columns = Vec::new();
        for (object, _) in found {
            match object {
                Object::Column(table, column) => columns.push((table, column)),
                object => self.remove_dependent(object),
            }
        }
        Ok(columns)
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
            Object::Type(id) => self.catalog.types[id.index()] = None,
            Object::Trigger(table, name) => self.remove_trigger(table, &name),
            Object::Table(_) | Object::Sequence(_) | Object::Column(..) | Object::Index(..) => {
                unreachable!("these depend on nothing")
            }
        }
    }
}
