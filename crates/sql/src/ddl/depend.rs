//! What depends on what. Dependencies are found by reading the definitions' text again; nothing is
//! stored, so nothing can be stale. A routine's body is no dependency where it is a string, as in PostgreSQL.

mod types;

use super::drop::index_includes;
use super::schema::mention;
use super::trigger::TriggersOf;
use super::{Change, reparse};
use crate::lower::Lowerer;
use planaria_base::SchemaId;
use planaria_base::oid::Oid;
use planaria_base::text_io::quote_ident;
use planaria_base::{ColumnId, Error, IndexId, ProcedureId, Result, SequenceId, SqlState, TableId, TypeId};
use planaria_catalog::oids;
use planaria_catalog::system::is_system_schema;
use planaria_catalog::{Catalog, ColumnDefault, IndexKey, PUBLIC, Procedure, Table, View, of_key, reg};
use planaria_ir::ProgramKind;
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{Assignment, Expr, ExprKind, Query, StatementKind, Step, TypeNameKind};
use std::collections::BTreeSet;
use types::{of_row_type, of_type};

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
    Schema(SchemaId),
    /// A trigger, by name.
    Trigger(TableId, String),
    /// A policy, by name.
    Policy(TableId, String),
    /// A trigger of a view, both by name.
    ViewTrigger(String, String),
    /// A conversion, by the OIDs of its types.
    Cast(Oid, Oid),
    /// An extension, by name.
    Extension(String),
}

/// Names that a definition mentions. What is kept as text names the schema of what is not in `public`: such names are
/// here with the schema's and a zero byte before them.
#[derive(Default, Debug)]
pub(super) struct References {
    pub relations: BTreeSet<String>,
    pub functions: BTreeSet<String>,
    pub columns: BTreeSet<String>,
    pub sequences: BTreeSet<String>,
    pub types: BTreeSet<String>,
    /// Fields of rows.
    pub fields: BTreeSet<String>,
    /// Schemas, but for `public` and the system's.
    pub schemas: BTreeSet<String>,
    pub star: bool,
}

/// What a text that is kept names: tables, views and sequences, routines, and types, by their OIDs. Of a routine with
/// several of its name all are there.
#[derive(Default, Debug)]
pub struct Named {
    /// Tables, views, sequences.
    pub relations: BTreeSet<Oid>,
    /// Routines.
    pub routines: BTreeSet<Oid>,
    /// Types that users made.
    pub types: BTreeSet<Oid>,
}

/// What an expression that is kept names.
pub fn named_by_expression(catalog: &Catalog, text: &str) -> Named {
    References::of_text(text).map_or_else(|_| Named::default(), |references| references.resolved(catalog))
}

/// What a view names.
pub fn named_by_view(catalog: &Catalog, view: &View) -> Named {
    References::of_view(view).map_or_else(|_| Named::default(), |references| references.resolved(catalog))
}

/// The tables whose primary keys the query of a view rests on, because of its GROUP BY.
pub fn keys_of_view(catalog: &Catalog, view: &View) -> Vec<TableId> {
    let Ok(query) = reparse::query(&view.query) else { return Vec::new() };
    let home = catalog.at_home();
    Lowerer::new(&home, "view", ProgramKind::Statement).of_kept_text().keys_relied_on(&query)
}

/// What the body of a routine names, where it is no string.
pub fn named_by_routine(catalog: &Catalog, procedure: &Procedure) -> Named {
    References::of_routine(procedure)
        .map_or_else(|_| Named::default(), |references| references.resolved(catalog))
}

impl References {
    fn note(&mut self, node: Node<'_>) {
        match node {
            Node::Relation(name) => {
                let name = self.mention(&name.parts);
                self.relations.insert(name);
            }
            Node::Call(call) => {
                let last = call.name.parts.last().map_or("", String::as_str);
                if ["nextval", "currval", "setval"].contains(&last)
                    && let Some(argument) = call.args.first()
                    && let Some(s) = literal(&argument.value)
                    && let Ok(parts) = reg::split_name(s)
                {
                    let name = self.mention(&parts);
                    self.sequences.insert(name);
                }
                let name = self.mention(&call.name.parts);
                self.functions.insert(name);
            }
            Node::Expr(Expr { kind: ExprKind::Column(name), .. }) => {
                self.columns.insert(name.parts.last().cloned().unwrap_or_default());
                if let [schema, _, _] = &name.parts[..] {
                    self.schemas.insert(schema.clone());
                }
            }
            Node::Expr(Expr { kind: ExprKind::Field(_, name), .. }) => {
                self.fields.insert(name.clone());
            }
            Node::Expr(Expr { kind: ExprKind::Star(_), .. }) => self.star = true,
            Node::Type(ty) => {
                if let TypeNameKind::Named(name) | TypeNameKind::NamedArray(name) = &ty.kind {
                    let name = self.mention(&name.parts);
                    self.types.insert(name);
                }
            }
            Node::Expr(_) | Node::Enter(_) | Node::Leave => {}
        }
    }
    fn mention(&mut self, parts: &[String]) -> String {
        match parts {
            [.., schema, name] if schema != PUBLIC && !is_system_schema(schema) => {
                self.schemas.insert(schema.clone());
                format!("{schema}\0{name}")
            }
            [.., name] => name.clone(),
            [] => String::new(),
        }
    }
    fn resolved(&self, catalog: &Catalog) -> Named {
        fn of<'m>(catalog: &Catalog, mention: &'m str) -> Option<(SchemaId, &'m str)> {
            match mention.split_once('\0') {
                Some((schema, name)) => Some((catalog.schema(schema)?, name)),
                None => Some((SchemaId::PUBLIC, mention)),
            }
        }
        let mut named = Named::default();
        for mention in self.relations.iter().chain(&self.sequences) {
            named.relations.extend(of(catalog, mention).and_then(|wanted| catalog.relation_oid(wanted)));
        }
        for wanted in self.functions.iter().filter_map(|mention| of(catalog, mention)) {
            named.routines.extend(catalog.procedures_named(wanted).map(|p| catalog.routine_oid(p)));
        }
        for wanted in self.types.iter().filter_map(|mention| of(catalog, mention)) {
            named.types.extend(catalog.user_type(wanted).map(|ty| catalog.type_oid(ty.id)));
            named.types.extend(
                catalog.of_rows(wanted).map(|t| {
                    catalog.oids.of(&oids::Object::RowType(planaria_catalog::key(t.schema, &t.name)))
                }),
            );
        }
        named
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
        let mut all = References::of_query(&reparse::query(&view.query)?);
        for text in view.defaults.values() {
            visit::expr(&reparse::expression(text)?, &mut |node| all.note(node));
        }
        Ok(all)
    }
    /// Nothing, of a routine whose body is a string.
    pub(super) fn of_routine(procedure: &Procedure) -> Result<References> {
        let mut all = References::default();
        if procedure.standard.is_some() {
            for statement in reparse::statements(&procedure.body)? {
                visit::statement(&statement, &mut |node| all.note(node));
                all.note_changes(&statement.kind);
            }
        }
        Ok(all)
    }
    /// The columns that a statement gives values.
    fn note_changes(&mut self, kind: &StatementKind) {
        let set: &[Assignment] = match kind {
            StatementKind::Insert(insert) => {
                self.star |= insert.columns.is_empty();
                self.columns.extend(insert.columns.iter().map(|(name, _)| name.clone()));
                self.fields.extend(insert.parts.iter().flatten().filter_map(Step::field).map(str::to_owned));
                let update = insert.on_conflict.as_ref().and_then(|on| on.update.as_ref());
                update.map_or(&[], |update| &update.set)
            }
            StatementKind::Update(update) => &update.set,
            // Its actions may be any.
            StatementKind::Merge(_) => {
                self.star = true;
                &[]
            }
            _ => &[],
        };
        self.columns.extend(set.iter().flat_map(|a| &a.columns).map(|(name, _)| name.clone()));
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
        let table = |id: &TableId| {
            let table = catalog.table_by_id(*id);
            catalog.shown_relation(table.schema, &table.name)
        };
        let column = |t: &TableId, c: &ColumnId| catalog.table_by_id(*t).columns[c.index()].name.clone();
        match self {
            Object::Table(id) if catalog.table_by_id(*id).materialized.is_some() => {
                format!("materialized view {}", table(id))
            }
            Object::Table(id) if catalog.table_by_id(*id).composite => format!("type {}", table(id)),
            Object::Table(id) => format!("table {}", table(id)),
            Object::View(key) => {
                let (schema, name) = of_key(key);
                format!("view {}", catalog.shown_relation(schema, name))
            }
            Object::Sequence(id) => {
                let name = catalog.sequences[id.index()].as_ref();
                let name = name.map_or(String::new(), |s| catalog.shown_relation(s.schema, &s.name));
                format!("sequence {name}")
            }
            Object::Routine(id) => {
                format!("function {}", catalog.shown_signature(catalog.procedure(*id)))
            }
            Object::Column(t, c) if catalog.table_by_id(*t).composite => {
                format!("column {} of composite type {}", column(t, c), table(t))
            }
            Object::Column(t, c) => format!("column {} of table {}", column(t, c), table(t)),
            Object::Index(t, i) => {
                let index = catalog.table_by_id(*t).index_at(i.index());
                if index.constraint {
                    format!("constraint {} on table {}", index.name, table(t))
                } else {
                    let schema = catalog.table_by_id(*t).schema;
                    format!("index {}", catalog.shown_relation(schema, &index.name))
                }
            }
            Object::Constraint(t, name) => format!("constraint {name} on table {}", table(t)),
            Object::Type(id) => format!("type {}", catalog.shown_user_type(*id)),
            Object::Schema(id) => format!("schema {}", quote_ident(catalog.schema_name(*id))),
            Object::Cast(source, target) => super::cast::described(catalog, *source, *target),
            Object::Extension(name) => format!("extension {name}"),
            Object::Trigger(t, name) => format!("trigger {name} on table {}", table(t)),
            Object::Policy(t, name) => format!("policy {name} on table {}", table(t)),
            Object::ViewTrigger(key, name) => {
                let (schema, view) = of_key(key);
                format!("trigger {name} on view {}", catalog.shown_relation(schema, view))
            }
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
            | Object::Policy(t, _)
            | Object::Trigger(t, _) => Some(*t),
            _ => None,
        }
    }

    fn as_table(&self) -> Option<TableId> {
        match self {
            Object::Table(id) => Some(*id),
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
                let of = catalog.table_by_id(*id);
                let name = catalog.shown_relation(of.schema, &of.name);
                for (child, key) in catalog.references_to(*id) {
                    if child.id != *id {
                        all.push((Object::Constraint(child.id, key.name.clone()), own.clone()));
                    }
                }
                let mentioned = mention(catalog, of.schema, &of.name);
                views_on(catalog, &mentioned, &own, |_| true, &mut all)?;
                policies_with(catalog, &own, |_, r| r.relations.contains(&mentioned), &mut all)?;
                routines_with(catalog, &own, |r| r.relations.contains(&mentioned), &mut all)?;
                on_owned_sequences(catalog, *id, |_| true, &mut all)?;
                of_row_type(catalog, *id, &format!("type {name}"), &mentioned, &mut all)?;
                if of.composite {
                    return Ok(all);
                }
            }
            Object::View(key) => {
                let (schema, name) = of_key(key);
                let mentioned = mention(catalog, schema, name);
                views_on(catalog, &mentioned, &own, |_| true, &mut all)?;
                policies_with(catalog, &own, |_, r| r.relations.contains(&mentioned), &mut all)?;
                routines_with(catalog, &own, |r| r.relations.contains(&mentioned), &mut all)?;
            }
            Object::Column(id, column) => {
                let table = catalog.table_by_id(*id);
                on_owned_sequences(catalog, *id, |c| c == *column, &mut all)?;
                for (child, key) in catalog.references_to(*id) {
                    let constraint = || Object::Constraint(child.id, key.name.clone());
                    if child.id != *id && key.parent_columns.contains(column) {
                        all.push((constraint(), own.clone()));
                    } else if child.id != *id && index_includes(table, key, *column) {
                        let index = &table.index_at(key.parent_index.index()).name;
                        all.push((constraint(), format!("index {index}")));
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
                let mentioned = mention(catalog, table.schema, &table.name);
                views_on(catalog, &mentioned, &own, |r| r.star || r.columns.contains(name), &mut all)?;
                let names_it = |of: &Table, r: &References| {
                    (of.id == *id || r.relations.contains(&mentioned)) && (r.star || r.columns.contains(name))
                };
                policies_with(catalog, &own, names_it, &mut all)?;
                let reads =
                    |r: &References| r.relations.contains(&mentioned) && (r.star || r.columns.contains(name));
                routines_with(catalog, &own, reads, &mut all)?;
                for trigger in Change::triggers_on(table, *column)? {
                    all.push((Object::Trigger(*id, trigger.name.clone()), own.clone()));
                }
                // Those of partitions name the column that these have of it.
                for partition in catalog.partition_tree(*id).into_iter().skip(1) {
                    let partition = catalog.table_by_id(partition);
                    let Some((place, _)) = partition.column(name) else { continue };
                    for trigger in Change::triggers_on(partition, place)? {
                        let of = format!("column {name} of table {}", partition.name);
                        all.push((Object::Trigger(partition.id, trigger.name.clone()), of));
                    }
                }
            }
            Object::Index(id, index) => {
                let name = &catalog.table_by_id(*id).index_at(index.index()).name;
                for (child, key) in catalog.references_to(*id) {
                    if key.parent_index == *index {
                        all.push((Object::Constraint(child.id, key.name.clone()), format!("index {name}")));
                    }
                }
            }
            Object::Sequence(id) => {
                let name =
                    catalog.sequences[id.index()].as_ref().map(|s| mention(catalog, s.schema, &s.name));
                let uses = |r: &References| name.as_ref().is_some_and(|n| r.sequences.contains(n));
                routines_with(catalog, &own, uses, &mut all)?;
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
                for (view, trigger) in catalog.views_firing(*id) {
                    all.push((Object::ViewTrigger(view, trigger.name.clone()), own.clone()));
                }
                let of = catalog.procedure(*id);
                all.extend(super::aggregate::made_of(catalog, of).map(|a| (Object::Routine(a), own.clone())));
                let name = &mention(catalog, of.schema, &of.name);
                // An overload that stays may be the one meant: only the last of a name is needed for sure.
                if catalog.procedures_named((of.schema, of.name.as_str())).count() > 1 {
                    return Ok(all);
                }
                for view in catalog.views.values() {
                    if References::of_view(view)?.functions.contains(name) {
                        all.push((of_view(catalog, view), own.clone()));
                    }
                }
                policies_with(catalog, &own, |_, r| r.functions.contains(name), &mut all)?;
                let calls = |r: &References| r.functions.contains(name);
                routines_with(catalog, &own, calls, &mut all)?;
                all.retain(|(object, _)| object != self);
                for table in tables() {
                    let keys = table.partitioning.iter().flat_map(|p| &p.keys).filter(|k| k.column.is_none());
                    for key in keys {
                        if References::of_text(&key.text)?.functions.contains(name) {
                            all.push((Object::Table(table.id), own.clone()));
                        }
                    }
                    for (c, column) in table.visible() {
                        let (ColumnDefault::Expression(text) | ColumnDefault::Generated(text)) =
                            &column.default
                        else {
                            continue;
                        };
                        if References::of_text(text)?.functions.contains(name) {
                            all.push(match column.generated() {
                                Some(_) => (Object::Column(table.id, c), own.clone()),
                                None => (Object::Default(table.id, c), own.clone()),
                            });
                        }
                    }
                    for (at, index) in table.all_indexes().enumerate() {
                        let Some(definition) = &index.definition else { continue };
                        let keys = definition.keys.iter().filter_map(|key| match key {
                            IndexKey::Expression(text) => Some(text),
                            IndexKey::Column(_) => None,
                        });
                        for text in keys.chain(&definition.predicate) {
                            if References::of_text(text)?.functions.contains(name) {
                                all.push((Object::Index(table.id, IndexId(at as u16)), own.clone()));
                                break;
                            }
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
                all.sort_by_key(|(object, _)| text_age(catalog, object));
                return Ok(all);
            }
            Object::Type(id) => return of_type(catalog, *id, &own),
            Object::Schema(id) => all = in_schema(catalog, *id, &own),
            Object::Extension(name) => all = super::extension::dependents(catalog, name),
            Object::Constraint(..)
            | Object::Default(..)
            | Object::Trigger(..)
            | Object::Policy(..)
            | Object::ViewTrigger(..)
            | Object::Cast(..) => {}
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

/// What dependents are ordered by: their age; the columns of a table from the last to the first.
fn age(catalog: &Catalog, object: &Object) -> (Oid, u32) {
    match object {
        Object::Column(table, column) => (catalog.table_oid(*table), u32::MAX - column.0),
        Object::Default(table, column) => {
            let name = catalog.table_by_id(*table).columns[column.index()].name.clone();
            (catalog.oids.of(&oids::Object::Default(*table, name)), 0)
        }
        Object::Constraint(table, name) => {
            (catalog.oids.of(&oids::Object::Constraint(*table, name.clone())), 0)
        }
        Object::Routine(id) => (catalog.routine_oid(catalog.procedure(*id)), 0),
        Object::View(name) => (catalog.views.get(name).map_or(0, |v| catalog.view_oid(v)), 0),
        Object::Table(id) => (catalog.table_oid(*id), 0),
        Object::Index(id, index) => {
            let table = catalog.table_by_id(*id);
            (catalog.index_oid(table, table.index_at(index.index())), 0)
        }
        Object::Sequence(id) => (catalog.sequence_oid(*id), 0),
        Object::Cast(source, target) => (catalog.oids.of(&oids::Object::Cast(*source, *target)), 0),
        Object::Type(id) => (catalog.type_oid(*id), 0),
        Object::Extension(name) => (catalog.extension_oid(name), 0),
        Object::Trigger(table, name) => (catalog.trigger_oid(*table, name), 0),
        Object::Policy(table, name) => (catalog.policy_oid(*table, name), 0),
        Object::ViewTrigger(view, name) => {
            (catalog.oids.of(&planaria_catalog::oids::Object::ViewTrigger(view.clone(), name.clone())), 0)
        }
        _ => (0, 0),
    }
}

/// What is in a schema, but for what goes with something of it.
fn in_schema(catalog: &Catalog, id: SchemaId, own: &str) -> Vec<(Object, String)> {
    let tables = catalog.tables.iter().flatten().filter(|t| t.schema == id).map(|t| Object::Table(t.id));
    let views = catalog.plain_views().filter(|v| v.schema == id).map(|v| Object::View(v.key()));
    let sequences = catalog.sequences.iter().flatten().filter(|s| s.schema == id && s.owner.is_none());
    let sequences = sequences.filter(|s| !s.hidden).map(|s| Object::Sequence(s.id));
    let routines = catalog.procedures.iter().filter(|p| p.current && p.schema == id);
    let routines = routines.map(|p| Object::Routine(p.id));
    let types = catalog.types.iter().flatten().filter(|t| t.schema == id).map(|t| Object::Type(t.id));
    let extensions = catalog.extensions.iter().filter(|e| e.schema == id);
    let extensions = extensions.map(|e| Object::Extension(e.name.clone()));
    let all = tables.chain(views).chain(sequences).chain(routines).chain(types).chain(extensions);
    all.map(|o| (o, own.to_owned())).collect()
}

/// The same of what keeps a text.
fn text_age(catalog: &Catalog, object: &Object) -> (Oid, u32) {
    match object {
        // It is the expression of the column.
        Object::Column(table, column) => age(catalog, &Object::Default(*table, *column)),
        other => age(catalog, other),
    }
}

/// A view as something that depends; a materialized one is its table.
fn of_view(catalog: &Catalog, view: &View) -> Object {
    match catalog.table((view.schema, view.name.as_str())).filter(|_| view.stored) {
        Some(table) => Object::Table(table.id),
        None => Object::View(view.key()),
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
            all.push((of_view(catalog, view), own.to_owned()));
        }
    }
    Ok(())
}

/// Routines whose bodies are no strings, and name something.
fn routines_with(
    catalog: &Catalog,
    own: &str,
    names_it: impl Fn(&References) -> bool,
    all: &mut Vec<(Object, String)>,
) -> Result<()> {
    for p in catalog.procedures.iter().filter(|p| p.current && p.standard.is_some()) {
        if names_it(&References::of_routine(p)?) {
            all.push((Object::Routine(p.id), own.to_owned()));
        }
    }
    Ok(())
}

/// Policies whose conditions name something.
fn policies_with(
    catalog: &Catalog,
    own: &str,
    names_it: impl Fn(&Table, &References) -> bool,
    all: &mut Vec<(Object, String)>,
) -> Result<()> {
    for table in catalog.tables.iter().flatten() {
        for policy in &table.policies {
            for text in policy.texts() {
                if names_it(table, &References::of_text(text)?) {
                    all.push((Object::Policy(table.id, policy.name.clone()), own.to_owned()));
                    break;
                }
            }
        }
    }
    Ok(())
}

impl Change {
    /// Says what else goes.
    pub(super) fn tell_cascade(&mut self, dropped: &[String]) {
        let lines: Vec<String> = dropped.iter().map(|what| format!("drop cascades to {what}")).collect();
        let lines = lines.join("\n");
        let mut fields = match dropped.len() {
            0 => return,
            1 => Error::new(SqlState::SUCCESSFUL_COMPLETION, lines),
            n => Error::new(SqlState::SUCCESSFUL_COMPLETION, format!("drop cascades to {n} other objects"))
                .with_detail(lines),
        };
        fields.fields_mut().position = None;
        self.out.notices.push(super::Notice { level: planaria_base::Level::Notice, fields });
    }

    /// Drops what depends on the targets (not these themselves), or refuses (2BP01).
    /// Columns among them are answered: they are the caller's to drop.
    pub(super) fn drop_dependents(
        &mut self,
        targets: &[Object],
        cascade: bool,
    ) -> Result<Vec<(TableId, ColumnId)>> {
        // In PostgreSQL's order: the youngest dependent is gone into first, with all that depends on it; told is the
        // other way round.
        let mut all = targets.to_vec();
        let mut found: Vec<(Object, String)> = Vec::new();
        for target in targets {
            // What is gone into, and what of it is still to be.
            let mut path = vec![(None, target.dependents(&self.catalog)?)];
            while let Some((_, left)) = path.last_mut() {
                let Some((dependent, on)) = left.pop() else {
                    found.extend(path.pop().and_then(|(done, _)| done));
                    continue;
                };
                // What is there twice depends on what it was found by first.
                let again = left.iter().any(|(other, _)| *other == dependent);
                let with_table = dependent.part_of().is_some_and(|t| all.contains(&Object::Table(t)));
                if again || with_table || all.contains(&dependent) {
                    continue;
                }
                all.push(dependent.clone());
                let left = dependent.dependents(&self.catalog)?;
                path.push((Some((dependent, on)), left));
            }
        }
        found.reverse();
        // What was come to before its table goes with that.
        let tables: Vec<TableId> = found.iter().filter_map(|(o, _)| o.as_table()).collect();
        found.retain(|(o, _)| o.part_of().is_none_or(|table| !tables.contains(&table)));
        if found.is_empty() {
            return Ok(Vec::new());
        }
        // A partition goes with its table, and is not told of beside it.
        let goes = |id: TableId| {
            let table = Object::Table(id);
            targets.contains(&table) || found.iter().any(|(o, _)| *o == table)
        };
        let with_parent = |t: &Object| match t {
            Object::Table(id) => self.catalog.table_by_id(*id).partition.as_ref().is_some_and(|p| goes(p.of)),
            _ => false,
        };
        let told: Vec<&(Object, String)> = found.iter().filter(|(o, _)| !with_parent(o)).collect();
        let lines = |f: &dyn Fn(&(Object, String)) -> String| {
            told.iter().map(|t| f(t)).collect::<Vec<_>>().join("\n")
        };
        if !cascade {
            let named: Vec<&Object> = targets.iter().filter(|t| !with_parent(t)).collect();
            let message = match named[..] {
                [one] => {
                    format!("cannot drop {} because other objects depend on it", one.describe(&self.catalog))
                }
                _ => "cannot drop desired object(s) because other objects depend on them".to_owned(),
            };
            let detail = lines(&|(o, on)| format!("{} depends on {on}", o.describe(&self.catalog)));
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .with_detail(detail)
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let dropped: Vec<String> = told.iter().map(|(o, _)| o.describe(&self.catalog)).collect();
        self.tell_cascade(&dropped);
        let mut columns = Vec::new();
        // Their places move as others go.
        let mut indexes = Vec::new();
        for (object, _) in found {
            match object {
                Object::Index(table, index) => {
                    let name = self.catalog.table_by_id(table).index_at(index.index()).name.clone();
                    indexes.push((table, name));
                }
                Object::Column(table, _) if all.contains(&Object::Table(table)) => {}
                Object::Column(table, column) => columns.push((table, column)),
                object => self.remove_dependent(object),
            }
        }
        for (table, name) in indexes {
            if self.catalog.tables[table.index()].is_some() {
                self.drop_index(table, &name)?;
            }
        }
        Ok(columns)
    }

    /// Columns among dependents are the caller's.
    fn remove_dependent(&mut self, object: Object) {
        let is_there = |change: &Self, table: TableId| change.catalog.tables[table.index()].is_some();
        match object {
            Object::View(name) => {
                self.catalog.views.remove(&name);
            }
            Object::Cast(source, target) => self.catalog.remove_cast(source, target),
            Object::Extension(name) => self.catalog.remove_extension(&name),
            Object::Routine(id) => self.catalog.procedures[id.index()].current = false,
            // It may have gone with its table.
            Object::Constraint(table, name) if is_there(self, table) => {
                let table = self.table_mut(table);
                table.foreign_keys.retain(|k| k.name != name);
                table.checks.retain(|c| c.name != name);
            }
            Object::Default(table, column) if is_there(self, table) => {
                self.table_mut(table).columns[column.index()].default = ColumnDefault::None;
            }
            Object::Trigger(table, name) if is_there(self, table) => {
                self.remove_trigger(&TriggersOf::Table(table), &name);
            }
            Object::Policy(table, name) if is_there(self, table) => self.remove_policy(table, &name),
            Object::ViewTrigger(view, name) => self.remove_trigger(&TriggersOf::View(view), &name),
            Object::Constraint(..) | Object::Default(..) | Object::Trigger(..) | Object::Policy(..) => {}
            Object::Type(id) => self.catalog.types[id.index()] = None,
            Object::Table(id) => self.remove_table(id),
            Object::Sequence(id) => self.remove_sequence(id),
            Object::Column(..) | Object::Index(..) | Object::Schema(_) => {
                unreachable!("these depend on nothing that goes without them")
            }
        }
    }
}
