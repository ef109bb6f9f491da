//! Renaming. Definitions are kept as text: where a name stands in a CHECK it is changed there; where
//! a view would have to be rewritten, the change is refused rather than the view broken.

use super::depend::{Object, References};
use super::{Change, names, reparse};
use planaria_base::{Error, Result, SqlState, TableId};
use planaria_catalog::{ColumnDefault, IndexKey, View};
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
            ObjectKind::Sequence => "ALTER SEQUENCE",
            ObjectKind::Schema => {
                return Err(Error::unsupported("schemas cannot be renamed", "There is one schema, public."));
            }
        };
        let local = names::local_relation(name)?;
        let found = match object {
            // An index of a constraint may be renamed; its constraint follows.
            ObjectKind::Index => self.catalog.index(local).map(|(t, i)| Object::Index(t.id, i)),
            ObjectKind::Sequence => self.catalog.sequence(local).map(|s| Object::Sequence(s.id)),
            _ => self.find(object, local, name)?,
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
        if self.catalog.relation_exists(to) {
            return Err(names::relation_exists(to));
        }
        match found {
            Object::Table(id) => self.rename_table(id, to)?,
            Object::View(from) => {
                self.refuse_views(&from, &format!("view \"{from}\" cannot be renamed"), |_| true)?;
                if let Some(view) = self.catalog.views.remove(&from) {
                    self.catalog.views.insert(to.to_owned(), View { name: to.to_owned(), ..view });
                }
            }
            Object::Index(table, index) => {
                self.table_mut(table).indexes[index.index()].name = to.to_owned();
            }
            Object::Sequence(id) => {
                self.refuse_default_text(local)?;
                if let Some(sequence) = &mut self.catalog.sequences[id.index()] {
                    sequence.name = to.to_owned();
                }
            }
            _ => return Err(Error::internal("an object of another kind")),
        }
        Ok(tag)
    }

    pub(super) fn rename_table(&mut self, id: TableId, to: &str) -> Result<()> {
        if self.catalog.relation_exists(to) {
            return Err(names::relation_exists(to));
        }
        let from = self.catalog.table_by_id(id).name.clone();
        self.refuse_views(&from, &format!("table \"{from}\" cannot be renamed"), |_| true)?;
        self.rewrite_checks(id, &What::Table(&from), to)?;
        self.table_mut(id).name = to.to_owned();
        Ok(())
    }

    pub(super) fn rename_column(&mut self, id: TableId, from: &str, to: &str) -> Result<()> {
        let table = self.catalog.table_by_id(id);
        let Some((column, _)) = table.column(from) else {
            let message = format!("column \"{from}\" does not exist");
            return Err(Error::new(SqlState::UNDEFINED_COLUMN, message));
        };
        if table.column(to).is_some() {
            let message = format!("column \"{to}\" of relation \"{}\" already exists", table.name);
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, message));
        }
        let name = table.name.clone();
        let message = format!("column \"{from}\" of table \"{name}\" cannot be renamed");
        self.refuse_views(&name, &message, |r| r.star || r.columns.contains(from))?;
        self.rewrite_checks(id, &What::Column { table: &name, column: from }, to)?;
        self.table_mut(id).columns[column.index()].name = to.to_owned();
        self.name_hidden(id);
        Ok(())
    }

    /// Hidden columns of indexes are called as their keys are shown.
    fn name_hidden(&mut self, id: TableId) {
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
        if is_index && self.catalog.relation_exists(to) {
            return Err(names::relation_exists(to));
        }
        let table = self.table_mut(id);
        let checks = table.checks.iter_mut().map(|c| &mut c.name);
        let keys = table.foreign_keys.iter_mut().map(|k| &mut k.name);
        let indexes = table.indexes.iter_mut().filter(|i| i.constraint).map(|i| &mut i.name);
        if let Some(name) = checks.chain(keys).chain(indexes).find(|n| *n == from) {
            to.clone_into(name);
        }
        Ok(())
    }

    /// 0A000 where a view's text mentions the relation (and `also` what is to change).
    pub(super) fn refuse_views(
        &self,
        relation: &str,
        message: &str,
        also: impl Fn(&References) -> bool,
    ) -> Result<()> {
        for view in self.catalog.views.values() {
            let refs = References::of_view(view)?;
            if refs.relations.contains(relation) && also(&refs) {
                let detail = format!("View \"{}\" depends on it, and views are kept as text.", view.name);
                let hint = "Drop the view, make the change, create the view again.";
                return Err(Error::unsupported(message, hint).detail(detail));
            }
        }
        Ok(())
    }

    /// 0A000 where a default names a sequence in its text.
    fn refuse_default_text(&self, sequence: &str) -> Result<()> {
        for table in self.catalog.tables.iter().flatten() {
            for column in &table.columns {
                if let ColumnDefault::Expression(text) = &column.default
                    && References::of_text(text)?.sequences.contains(sequence)
                {
                    let message = format!("sequence \"{sequence}\" cannot be renamed");
                    let detail = format!(
                        "The default of column \"{}\" of table \"{}\" names it.",
                        column.name, table.name
                    );
                    return Err(Error::unsupported(message, "Drop the default first.").detail(detail));
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
        for index in &mut self.table_mut(id).indexes {
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
        out.replace_range(start..end, &quoted(to));
    }
    out
}

/// Where the `part`-th identifier of a dotted name stands.
fn identifier(text: &str, position: usize, part: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut at = position;
    for n in 0.. {
        while bytes.get(at)?.is_ascii_whitespace() {
            at += 1;
        }
        let start = at;
        if bytes[at] == b'"' {
            at += 1;
            while !(*bytes.get(at)? == b'"' && bytes.get(at + 1) != Some(&b'"')) {
                at += if bytes[at] == b'"' { 2 } else { 1 };
            }
            at += 1;
        } else {
            let end = text[at..].find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
            at += end.unwrap_or(text.len() - at);
        }
        if n == part {
            return Some((start, at));
        }
        while bytes.get(at)?.is_ascii_whitespace() {
            at += 1;
        }
        if bytes[at] != b'.' {
            return None;
        }
        at += 1;
    }
    None
}

/// An identifier as it must be written.
fn quoted(name: &str) -> String {
    let head = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let plain = head && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    if plain { name.to_owned() } else { format!("\"{}\"", name.replace('"', "\"\"")) }
}
