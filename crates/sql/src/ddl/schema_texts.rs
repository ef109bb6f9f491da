//! ALTER SCHEMA .. RENAME: texts that name the schema follow.

use super::depend::References;
use super::{Change, reparse};
use planaria_base::{Error, Result, TableId, TypeId};
use planaria_catalog::{ColumnDefault, IndexKey, Table, TypeKind, View};
use planaria_ir::Output;
use planaria_syntax::parse::schema_renamed;

/// Forms of schema changes from which on texts follow.
const TEXTS_FOLLOW: u8 = 2;

/// The names, and who has a text that could not follow.
struct Renaming<'n> {
    from: &'n str,
    to: &'n str,
}

impl Renaming<'_> {
    /// 0A000 for what keeps a text in which the name may mean something else.
    fn refused(&self, what: &str, holder: &str) -> Error {
        let detail = format!("The definition of {what} \"{holder}\" names it, and is kept as text.");
        let hint = "Drop it, rename the schema, create it again.";
        Error::unsupported(format!("schema \"{}\" cannot be renamed", self.from), hint).with_detail(detail)
    }

    /// Changes an expression, if it names the schema.
    fn expression(&self, text: &mut String, what: &str, holder: &str) -> Result<()> {
        if References::of_text(text)?.schemas.contains(self.from) {
            *text = self.text(text, what, holder)?;
        }
        Ok(())
    }

    fn text(&self, text: &str, what: &str, holder: &str) -> Result<String> {
        schema_renamed(text, self.from, self.to).ok_or_else(|| self.refused(what, holder))
    }

    /// Changes what a table keeps; whether anything is another.
    fn table(&self, table: &mut Table) -> Result<bool> {
        let before = table.clone();
        let name = table.name.clone();
        let change = |text: &mut String| self.expression(text, "table", &name);
        for column in &mut table.columns {
            if let ColumnDefault::Expression(text) | ColumnDefault::Generated(text) = &mut column.default {
                change(text)?;
            }
        }
        table.checks.iter_mut().try_for_each(|check| change(&mut check.expression))?;
        table.policies.iter_mut().flat_map(|p| p.texts_mut()).try_for_each(change)?;
        table.triggers.iter_mut().filter_map(|t| t.condition.as_mut()).try_for_each(change)?;
        for definition in table.all_indexes_mut().filter_map(|i| i.definition.as_mut()) {
            for key in &mut definition.keys {
                if let IndexKey::Expression(text) = key {
                    change(text)?;
                }
            }
            definition.predicate.iter_mut().try_for_each(change)?;
        }
        for statistics in &mut table.statistics {
            for text in &mut statistics.expressions {
                self.expression(text, "statistics object", &statistics.name)?;
            }
        }
        Ok(*table != before)
    }

    fn view(&self, view: &mut View) -> Result<()> {
        if References::of_query(&reparse::query(&view.query)?).schemas.contains(self.from) {
            view.query = self.text(&view.query, "view", &view.name)?;
        }
        for text in view.defaults.values_mut() {
            self.expression(text, "view", &view.name)?;
        }
        // Conditions of triggers of a view that cannot follow stay as they are, as they all did once.
        if let Some(rows) = &mut view.rows {
            let mut changed = rows.clone();
            if self.table(&mut changed).is_ok() {
                *rows = changed;
            }
        }
        Ok(())
    }
}

impl Change {
    /// Has all texts that are kept name a schema by another name. Answers with the views that have changed, with their
    /// columns as they were. (Once most texts that named it were in the way, and the others stayed as they were.)
    pub(super) fn rename_schema_in_texts(
        &mut self,
        from: &str,
        to: &str,
    ) -> Result<Vec<(String, Vec<Output>)>> {
        let renaming = Renaming { from, to };
        let mut views = Vec::new();
        if self.actor.form < TEXTS_FOLLOW {
            return Ok(Vec::new());
        }
        for view in self.catalog.views.values() {
            if References::of_view(view)?.schemas.contains(from) {
                let mut changed = View::clone(view);
                renaming.view(&mut changed)?;
                let outputs = self.describe_kept(&reparse::query(&view.query)?)?;
                views.push((view.key(), changed, outputs));
            }
        }
        let mut tables: Vec<(TableId, Table)> = Vec::new();
        for table in self.catalog.tables.iter().flatten() {
            let mut changed = Table::clone(table);
            if renaming.table(&mut changed)? {
                tables.push((table.id, changed));
            }
        }
        let mut domains: Vec<TypeId> = Vec::new();
        for ty in self.catalog.types.iter().flatten() {
            let TypeKind::Domain(domain) = &ty.kind else { continue };
            let mut domain = domain.clone();
            for text in domain.checks.iter_mut().map(|c| &mut c.expression).chain(&mut domain.default) {
                renaming.expression(text, "domain", &ty.name)?;
            }
            domains.push(ty.id);
        }
        let mut routines = Vec::new();
        for p in self.catalog.procedures.iter().filter(|p| p.current && p.standard.is_some()) {
            // One that cannot follow stays as it is, as they all did once: what it names is not there then.
            if References::of_routine(p)?.schemas.contains(from)
                && let Some(body) = schema_renamed(&p.body, from, to)
            {
                routines.push((p.id, body));
            }
        }
        for (id, changed) in tables {
            *self.table_mut(id) = changed;
            self.name_hidden(id);
        }
        for id in domains {
            let Some(ty) = self.catalog.types[id.index()].as_mut() else { continue };
            let name = ty.name.clone();
            if let TypeKind::Domain(domain) = &mut ty.kind {
                for text in domain.checks.iter_mut().map(|c| &mut c.expression).chain(&mut domain.default) {
                    renaming.expression(text, "domain", &name)?;
                }
            }
        }
        for (id, body) in routines {
            self.catalog.procedures.change_where(|p| p.id == id, |p| p.body.clone_from(&body));
        }
        let mut before = Vec::new();
        for (key, changed, outputs) in views {
            if let Some(view) = self.catalog.views.get_mut(&key) {
                *view = changed;
            }
            before.push((key, outputs));
        }
        Ok(before)
    }
}
