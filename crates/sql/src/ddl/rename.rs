//! Renaming. Definitions are kept as text: where a name stands in a CHECK or a view it is changed there. Where the view
//! would not be what it was, the change is refused rather than the view broken.

use super::depend::{Object, References};
use super::schema::mention;
use super::{Change, names, reparse};
use crate::lower::{Renamed, identifier, renamed, written_out};
use planaria_base::text_io::quote_ident;
use planaria_base::{Error, Result, SqlState, TableId};
use planaria_catalog::{ColumnDefault, IndexKey, key, of_key};
use planaria_ir::Output;
use planaria_syntax::ast::visit::{self, Node};
use planaria_syntax::ast::{Expr, ExprKind, Name, ObjectKind};

/// The part of a qualified name that is to change.
enum What<'n> {
    Table(&'n str),
    Column { table: &'n str, column: &'n str },
}

impl Change {
    pub(super) fn rename(
        &mut self,
        object: ObjectKind,
        name: &Name,
        to: &str,
        if_exists: bool,
    ) -> Result<&'static str> {
        let tag = match object {
            ObjectKind::Table => "ALTER TABLE",
            ObjectKind::Index => "ALTER INDEX",
            ObjectKind::View => "ALTER VIEW",
            ObjectKind::MaterializedView => "ALTER MATERIALIZED VIEW",
            ObjectKind::Sequence => "ALTER SEQUENCE",
            ObjectKind::Schema => return Err(Error::internal("a schema is no relation")),
        };
        let local = names::own_relation(&self.catalog, name)?;
        let found = match object {
            // An index of a constraint may be renamed; its constraint follows.
            ObjectKind::Index => self.catalog.index(local).map(|(t, i)| Object::Index(t.id, i)),
            ObjectKind::Sequence => self.catalog.sequence(local).map(|s| Object::Sequence(s.id)),
            _ => self.find(object, local, name).map_err(|mut error| {
                // Nothing is dropped here.
                error.fields_mut().hint = None;
                error
            })?,
        };
        let Some(found) = found else {
            let missing = names::no_relation(name);
            if !if_exists {
                return Err(missing);
            }
            self.skip_missing(&missing);
            return Ok(tag);
        };
        self.require_owner_of(&found)?;
        let schema = self.catalog.path().schemas().first().copied().unwrap_or_default();
        let schema = local.schema.unwrap_or(schema);
        if self.catalog.relation_exists((schema, to)) {
            return Err(names::relation_exists(to));
        }
        match found {
            Object::Table(id) => self.rename_table(id, to)?,
            Object::View(from) => {
                let (schema, name) = of_key(&from);
                let message = format!("view \"{name}\" cannot be renamed");
                let mentioned = mention(&self.catalog, schema, name);
                self.refuse_named_by_policies(None, &mentioned, None, &message)?;
                self.rename_in_views(&mentioned, &Renamed::Relation(schema, name), to, &message, |change| {
                    if let Some(view) = change.catalog.views.remove(&from) {
                        change.view_moved(&from, &key(schema, to));
                        change.catalog.views.insert(key(schema, to), view.renamed(schema, to));
                    }
                    Ok(())
                })?;
            }
            Object::Index(table, index) => {
                let table = self.table_mut(table);
                let from = std::mem::replace(&mut table.index_at_mut(index.index()).name, to.to_owned());
                table.follow_index(&from, to);
            }
            Object::Sequence(id) => {
                self.refuse_default_text(local.local, &mention(&self.catalog, schema, local.local))?;
                if let Some(sequence) = &mut self.catalog.sequences[id.index()] {
                    sequence.name = to.to_owned();
                }
            }
            _ => return Err(Error::internal("an object of another kind")),
        }
        Ok(tag)
    }

    pub(super) fn rename_table(&mut self, id: TableId, to: &str) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let (schema, from) = (table.schema, table.name.clone());
        if self.catalog.relation_exists((schema, to)) {
            return Err(names::relation_exists(to));
        }
        let message = format!("table \"{from}\" cannot be renamed");
        let mentioned = mention(&self.catalog, schema, &from);
        self.refuse_named_by_policies(Some(id), &mentioned, None, &message)?;
        self.rename_in_views(&mentioned, &Renamed::Relation(schema, &from), to, &message, |change| {
            change.rewrite_checks(id, &What::Table(&from), to)?;
            change.row_type_moved(id, (schema, Some(to)));
            change.table_mut(id).name = to.to_owned();
            change.stored_view_moved(id, &key(schema, &from));
            Ok(())
        })
    }

    pub(super) fn rename_column(&mut self, id: TableId, from: &str, to: &str) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let Some((column, _)) = table.column(from) else {
            let message = format!("column \"{from}\" does not exist");
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
        };
        if !table.composite {
            self.free_name(to)?;
        }
        if table.column(to).is_some() {
            // PostgreSQL looks at partitions first.
            let told = self.catalog.partitions_of(id).next().unwrap_or(table);
            let message = format!("column \"{to}\" of relation \"{}\" already exists", told.name);
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
        let name = table.name.clone();
        let message = format!("column \"{from}\" of table \"{name}\" cannot be renamed");
        let mentioned = mention(&self.catalog, table.schema, &name);
        self.refuse_named_by_policies(Some(id), &mentioned, Some(from), &message)?;
        self.rename_in_views(&mentioned, &Renamed::Column(id, column), to, &message, |change| {
            change.rewrite_checks(id, &What::Column { table: &name, column: from }, to)?;
            change.table_mut(id).columns[column.index()].name = to.to_owned();
            change.table_mut(id).rights.move_column(from, Some(to));
            change.name_hidden(id);
            Ok(())
        })
    }

    /// 0A000 where the body of a routine, that is no string, names a relation.
    pub(super) fn refuse_named_by_routines(&self, relation: &str, message: &str) -> Result<()> {
        for p in self.catalog.procedures.iter().filter(|p| p.current && p.standard.is_some()) {
            if References::of_routine(p)?.relations.contains(relation) {
                let detail = format!("Function \"{}\" depends on it, and bodies are kept as text.", p.name);
                let hint = "Drop the function, make the change, create the function again.";
                return Err(Error::unsupported(message, hint).with_detail(detail));
            }
        }
        Ok(())
    }

    /// Does a renaming, and changes the texts of the views that mention it. 0A000 where one of them would not be what it
    /// was: PostgreSQL keeps views as trees.
    fn rename_in_views(
        &mut self,
        relation: &str,
        what: &Renamed<'_>,
        to: &str,
        message: &str,
        rename: impl FnOnce(&mut Change) -> Result<()>,
    ) -> Result<()> {
        self.refuse_named_by_routines(relation, message)?;
        let mut changed = Vec::new();
        for view in self.catalog.views.values() {
            if References::of_view(view)?.relations.contains(relation) {
                let home = self.catalog.at_home();
                let (outputs, text) = written_out(&home, &view.query)?;
                let text = renamed(&home, &text, what, to)?;
                changed.push((view.key(), outputs, text));
            }
        }
        rename(self)?;
        let mut before = Vec::new();
        for (name, outputs, text) in changed {
            // A view may be the one that is renamed.
            let name = match (*what, of_key(&name)) {
                (Renamed::Relation(schema, from), (of, old)) if (of, old) == (schema, from) => key(of, to),
                _ => name,
            };
            if let Some(view) = self.catalog.views.get_mut(&name) {
                view.query = text;
                before.push((name, outputs));
            }
        }
        self.refuse_changed_views(before, message)
    }

    /// The views that mention a relation, with their columns.
    pub(super) fn views_over(&self, relation: &str) -> Result<Vec<(String, Vec<Output>)>> {
        let mut all = Vec::new();
        for view in self.catalog.views.values() {
            let query = reparse::query(&view.query)?;
            if References::of_query(&query).relations.contains(relation) {
                all.push((view.key(), self.describe_kept(&query)?));
            }
        }
        Ok(all)
    }

    /// 0A000 where a view is not any more what it was.
    pub(super) fn refuse_changed_views(
        &mut self,
        before: Vec<(String, Vec<Output>)>,
        message: &str,
    ) -> Result<()> {
        self.keep_row_types();
        for (name, before) in before {
            let view = self.catalog.views.get(&name);
            let query = view.map(|view| reparse::query(&view.query)).transpose()?;
            let after = query.map(|query| self.describe_kept(&query)).transpose();
            let same = |after: &[Output]| {
                after.len() == before.len() && after.iter().zip(&before).all(|(a, b)| a.ty == b.ty)
            };
            if !matches!(after, Ok(Some(after)) if same(&after)) {
                let name = of_key(&name).1;
                let detail = format!("View \"{name}\" depends on it, and views are kept as text.");
                let hint = "Drop the view, make the change, create the view again.";
                return Err(Error::unsupported(message, hint).with_detail(detail));
            }
        }
        Ok(())
    }

    /// Hidden columns of indexes are called as their keys are shown.
    pub(super) fn name_hidden(&mut self, id: TableId) {
        let table = self.catalog.table_by_id(id);
        let mut names = Vec::new();
        for index in &table.indexes {
            for (at, column) in index.columns.iter().enumerate() {
                let hidden = &table.columns[column.index()];
                if hidden.hidden && hidden.generated().is_some() {
                    names.push((*column, table.key_text(index, at)));
                }
            }
        }
        for (column, name) in names {
            self.table_mut(id).columns[column.index()].name = name;
        }
    }

    pub(super) fn rename_constraint(&mut self, id: TableId, from: &str, to: &str) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        if !table.has_constraint(from) {
            let message = format!("constraint \"{from}\" for table \"{}\" does not exist", table.name);
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
        }
        if table.has_constraint(to) {
            return Err(names::constraint_exists(to, &table.name));
        }
        let is_index = table.indexes.iter().any(|i| i.constraint && i.name == from);
        if is_index && self.catalog.relation_exists((table.schema, to)) {
            return Err(names::relation_exists(to));
        }
        let table = self.table_mut(id);
        let checks = table.checks.iter_mut().map(|c| &mut c.name);
        let keys = table.foreign_keys.iter_mut().map(|k| &mut k.name);
        let indexes = table.indexes.iter_mut().filter(|i| i.constraint).map(|i| &mut i.name);
        if let Some(name) = checks.chain(keys).chain(indexes).find(|n| *n == from) {
            to.clone_into(name);
        }
        if is_index {
            table.follow_index(from, to);
        }
        Ok(())
    }

    /// 0A000 where a default names a sequence in its text.
    fn refuse_default_text(&self, sequence: &str, mentioned: &str) -> Result<()> {
        for table in self.catalog.tables.iter().flatten() {
            for column in &table.columns {
                if let ColumnDefault::Expression(text) = &column.default
                    && References::of_text(text)?.sequences.contains(mentioned)
                {
                    let message = format!("sequence \"{sequence}\" cannot be renamed");
                    let detail = format!(
                        "The default of column \"{}\" of table \"{}\" names it.",
                        column.name, table.name
                    );
                    return Err(Error::unsupported(message, "Drop the default first.").with_detail(detail));
                }
            }
        }
        Ok(())
    }

    fn rewrite_checks(&mut self, id: TableId, what: &What<'_>, to: &str) -> Result<()> {
        for check in &mut self.table_mut(id).checks {
            let expr = reparse::expression(&check.expression)?;
            check.expression = rewritten(&check.expression, &expr, what, to);
        }
        for index in self.table_mut(id).all_indexes_mut() {
            let Some(definition) = &mut index.definition else { continue };
            for key in &mut definition.keys {
                if let IndexKey::Expression(text) = key {
                    *text = rewritten(text, &reparse::expression(text)?, what, to);
                }
            }
            if let Some(text) = &mut definition.predicate {
                *text = rewritten(text, &reparse::expression(text)?, what, to);
            }
        }
        for of in &mut self.table_mut(id).statistics {
            for text in &mut of.expressions {
                *text = rewritten(text, &reparse::expression(text)?, what, to);
            }
            if let What::Column { column, .. } = what {
                let own = of.columns.iter_mut().filter(|own| own == column);
                own.for_each(|own| to.clone_into(own));
            }
        }
        for policy in &mut self.table_mut(id).policies {
            for text in policy.texts_mut() {
                let expr = reparse::expression(text)?;
                if References::of_expr(&expr).relations.is_empty() {
                    *text = rewritten(text, &expr, what, to);
                }
            }
        }
        if let Some(partitioning) = &mut self.table_mut(id).partitioning {
            for key in &mut partitioning.keys {
                key.text = rewritten(&key.text, &reparse::expression(&key.text)?, what, to);
                if let (What::Column { column, .. }, Some(own)) = (what, &mut key.column)
                    && own == column
                {
                    to.clone_into(own);
                }
            }
        }
        if let What::Column { column, .. } = *what {
            for trigger in &mut self.table_mut(id).triggers {
                let Some(text) = &mut trigger.condition else { continue };
                for table in ["new", "old"] {
                    *text = rewritten(text, &reparse::expression(text)?, &What::Column { table, column }, to);
                }
            }
        }
        for column in &mut self.table_mut(id).columns {
            if let ColumnDefault::Generated(text) = &mut column.default {
                *text = rewritten(text, &reparse::expression(text)?, what, to);
            }
        }
        Ok(())
    }
}

/// The text of an expression with a name changed wherever it stands.
fn rewritten(text: &str, expr: &Expr, what: &What<'_>, to: &str) -> String {
    let mut places: Vec<(usize, usize)> = Vec::new();
    visit::expr(expr, &mut |node| {
        let Node::Expr(Expr { kind: ExprKind::Column(name), .. }) = node else { return };
        let part = match (what, &name.parts[..]) {
            (What::Table(table), [t, _]) if t == table => 0,
            (What::Column { column, .. }, [c]) if c == column => 0,
            (What::Column { table, column }, [t, c]) if t == table && c == column => 1,
            _ => return,
        };
        places.extend(identifier(text, name.position as usize, part));
    });
    places.sort_unstable();
    places.dedup();
    let mut out = text.to_owned();
    for (start, end) in places.into_iter().rev() {
        out.replace_range(start..end, &quote_ident(to));
    }
    out
}
