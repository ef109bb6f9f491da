//! DROP and RENAME of relations, with what depends on them.

use super::constraint::sequence_of;
use super::{Ddl, Work, local_name, no_relation};
use crate::ast::{Name, ObjectKind};
use crate::lower;
use planaria_base::{Error, Result, SequenceId, SqlState, TableId};
use planaria_catalog::ColumnDefault;

impl Ddl<'_> {
    pub(super) fn drop(
        &mut self,
        object: ObjectKind,
        names: &[Name],
        if_exists: bool,
        cascade: bool,
    ) -> Result<&'static str> {
        let (what, tag) = match object {
            ObjectKind::Table => ("table", "DROP TABLE"),
            ObjectKind::Index => ("index", "DROP INDEX"),
            ObjectKind::View => ("view", "DROP VIEW"),
            ObjectKind::Sequence => ("sequence", "DROP SEQUENCE"),
            ObjectKind::Schema => ("schema", "DROP SCHEMA"),
        };
        if object == ObjectKind::Schema {
            return Err(Error::unsupported("DROP SCHEMA is not supported", "There is only the schema public."));
        }
        // Tables of one statement may depend on each other.
        let together: Vec<String> = names.iter().map(local_name).collect::<Result<_>>()?;
        for (name, local) in names.iter().zip(&together) {
            let catalog = &self.change.catalog;
            let exists = match object {
                ObjectKind::Table => catalog.table(local).is_some(),
                ObjectKind::Index => catalog.index(local).is_some(),
                ObjectKind::View => catalog.views.contains_key(local),
                ObjectKind::Sequence => catalog.sequence(local).is_some_and(|s| !s.hidden),
                ObjectKind::Schema => false,
            };
            if !exists && self.change.catalog.relation_exists(local) {
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{local}\" is not a {what}"))
                    .hint("Use the DROP of its own kind to remove it.")
                    .at(name.position));
            }
            if !exists {
                if if_exists {
                    self.notice(format!("{what} \"{local}\" does not exist, skipping"));
                    continue;
                }
                return Err(Error::new(SqlState::UNDEFINED_TABLE, format!("{what} \"{local}\" does not exist"))
                    .at(name.position));
            }
            match object {
                ObjectKind::Table => self.drop_table(local, cascade, &together)?,
                ObjectKind::Index => self.drop_index(local)?,
                ObjectKind::View => self.drop_view(local, cascade, &together)?,
                ObjectKind::Sequence => self.drop_sequence(local, cascade)?,
                ObjectKind::Schema => {}
            }
        }
        Ok(tag)
    }

    /// 2BP01, with what depends.
    fn depends(what: &str, name: &str, dependants: &[String]) -> Error {
        Error::new(
            SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
            format!("cannot drop {what} {name} because other objects depend on it"),
        )
        .detail(dependants.iter().map(|d| format!("{d} depends on {what} {name}")).collect::<Vec<_>>().join("\n"))
        .hint("Use DROP ... CASCADE to drop the dependent objects too.")
    }

    /// Views whose query names the relation, directly.
    fn views_on(&self, relation: &str) -> Vec<String> {
        let views = &self.change.catalog.views;
        views.values().filter(|v| lower::relations_named(&v.query).iter().any(|r| r == relation)).map(|v| v.name.clone()).collect()
    }

    fn drop_table(&mut self, name: &str, cascade: bool, together: &[String]) -> Result<()> {
        let id = self.change.catalog.table(name).map(|t| t.id).ok_or_else(|| no_relation(name))?;
        let views: Vec<String> = self.views_on(name).into_iter().filter(|v| !together.contains(v)).collect();
        let keys: Vec<(TableId, String, String)> = self
            .change
            .catalog
            .references_to(id)
            .filter(|(t, _)| t.id != id && !together.contains(&t.name))
            .map(|(t, k)| (t.id, t.name.clone(), k.name.clone()))
            .collect();
        if !cascade && (!views.is_empty() || !keys.is_empty()) {
            let mut dependants: Vec<String> =
                keys.iter().map(|(_, t, k)| format!("constraint {k} on table {t}")).collect();
            dependants.extend(views.iter().map(|v| format!("view {v}")));
            return Err(Self::depends("table", name, &dependants));
        }
        for (_, table, key) in &keys {
            self.notice(format!("drop cascades to constraint {key} on table {table}"));
        }
        for table in self.change.catalog.tables.iter_mut().flatten() {
            table.foreign_keys.retain(|k| k.parent != id);
        }
        for view in views {
            self.notice(format!("drop cascades to view {view}"));
            self.drop_view(&view, true, together)?;
        }
        self.drop_owned_sequences(id, None);
        self.change.catalog.tables[id.index()] = None;
        self.work(Work::DropTable(id));
        Ok(())
    }

    /// Sequences that belong to a table, or to one column of it.
    pub(super) fn drop_owned_sequences(&mut self, table: TableId, column: Option<planaria_base::ColumnId>) {
        let owned: Vec<SequenceId> = self
            .catalog()
            .sequences
            .iter()
            .flatten()
            .filter(|s| s.owner.is_some_and(|(t, c)| t == table && column.is_none_or(|only| only == c)))
            .map(|s| s.id)
            .collect();
        for sequence in owned {
            self.catalog().sequences[sequence.index()] = None;
            self.work(Work::DropSequence(sequence));
        }
    }

    fn drop_view(&mut self, name: &str, cascade: bool, together: &[String]) -> Result<()> {
        let views: Vec<String> = self.views_on(name).into_iter().filter(|v| !together.contains(v)).collect();
        if !cascade && !views.is_empty() {
            let dependants: Vec<String> = views.iter().map(|v| format!("view {v}")).collect();
            return Err(Self::depends("view", name, &dependants));
        }
        self.catalog().views.remove(name);
        for view in views {
            self.notice(format!("drop cascades to view {view}"));
            self.drop_view(&view, true, together)?;
        }
        Ok(())
    }

    fn drop_index(&mut self, name: &str) -> Result<()> {
        let Some((table, index)) = self.change.catalog.index(name).map(|(t, i)| (t.id, i)) else {
            return Err(no_relation(name));
        };
        let definition = &self.table_mut(table).indexes[index.index()];
        if definition.constraint || index == planaria_base::IndexId::PRIMARY {
            let owner = self.table_mut(table).name.clone();
            return Err(Error::new(
                SqlState::DEPENDENT_OBJECTS_STILL_EXIST,
                format!("cannot drop index {name} because constraint {name} on table {owner} requires it"),
            )
            .hint(format!("You can drop constraint {name} on table {owner} instead.")));
        }
        self.remove_index(table, index.index(), false)
    }

    /// Removes an index; foreign keys that use a later one follow, one that uses it is refused or
    /// dropped.
    pub(super) fn remove_index(&mut self, table: TableId, at: usize, cascade: bool) -> Result<()> {
        let users: Vec<(String, String)> = self
            .change
            .catalog
            .references_to(table)
            .filter(|(_, k)| k.parent_index.index() == at)
            .map(|(t, k)| (t.name.clone(), k.name.clone()))
            .collect();
        let name = self.table_mut(table).indexes[at].name.clone();
        if !users.is_empty() && !cascade {
            let dependants: Vec<String> =
                users.iter().map(|(t, k)| format!("constraint {k} on table {t}")).collect();
            return Err(Self::depends("index", &name, &dependants));
        }
        for t in self.change.catalog.tables.iter_mut().flatten() {
            t.foreign_keys.retain(|k| k.parent != table || k.parent_index.index() != at);
            for key in t.foreign_keys.iter_mut().filter(|k| k.parent == table && k.parent_index.index() > at) {
                key.parent_index.0 -= 1;
            }
        }
        self.table_mut(table).indexes.remove(at);
        self.work(Work::Reindex(table));
        Ok(())
    }

    fn drop_sequence(&mut self, name: &str, cascade: bool) -> Result<()> {
        let Some(id) = self.change.catalog.sequence(name).map(|s| s.id) else { return Err(no_relation(name)) };
        let mut users = Vec::new();
        for table in self.change.catalog.tables.iter().flatten() {
            for column in table.columns.iter().filter(|c| sequence_of(c) == Some(id)) {
                users.push((table.id, column.name.clone(), table.name.clone()));
            }
        }
        if !users.is_empty() && !cascade {
            let dependants: Vec<String> =
                users.iter().map(|(_, c, t)| format!("default value for column {c} of table {t}")).collect();
            return Err(Self::depends("sequence", name, &dependants));
        }
        for (table, column, table_name) in users {
            self.notice(format!("drop cascades to default value for column {column} of table {table_name}"));
            for c in self.table_mut(table).columns.iter_mut().filter(|c| c.name == column) {
                c.default = ColumnDefault::None;
            }
        }
        self.catalog().sequences[id.index()] = None;
        self.work(Work::DropSequence(id));
        Ok(())
    }

    pub(super) fn rename(
        &mut self,
        object: ObjectKind,
        name: &Name,
        to: &str,
        if_exists: bool,
    ) -> Result<&'static str> {
        let local = local_name(name)?;
        let tag = match object {
            ObjectKind::Table => "ALTER TABLE",
            ObjectKind::Index => "ALTER INDEX",
            ObjectKind::View => "ALTER VIEW",
            ObjectKind::Sequence => "ALTER SEQUENCE",
            ObjectKind::Schema => {
                return Err(Error::unsupported("ALTER SCHEMA is not supported", "There is only public."));
            }
        };
        if !self.change.catalog.relation_exists(&local) {
            if if_exists {
                self.notice(format!("relation \"{local}\" does not exist, skipping"));
                return Ok(tag);
            }
            return Err(no_relation(&local).at(name.position));
        }
        self.check_free(to)?;
        self.refuse_under_views(&local)?;
        let wrong = || Error::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{local}\" is of another kind"));
        let catalog = &mut self.change.catalog;
        match object {
            ObjectKind::Table => {
                let id = catalog.table(&local).ok_or_else(wrong)?.id;
                self.table_mut(id).name = to.to_owned();
            }
            ObjectKind::Index => {
                let (id, at) = catalog.index(&local).map(|(t, i)| (t.id, i.index())).ok_or_else(wrong)?;
                self.table_mut(id).indexes[at].name = to.to_owned();
            }
            ObjectKind::View => {
                let mut view = catalog.views.remove(&local).ok_or_else(wrong)?;
                view.name = to.to_owned();
                catalog.views.insert(to.to_owned(), view);
            }
            ObjectKind::Sequence => {
                let id = catalog.sequence(&local).ok_or_else(wrong)?.id;
                self.sequence_mut(id).name = to.to_owned();
            }
            ObjectKind::Schema => {}
        }
        Ok(tag)
    }

    /// Views are kept as text: what they name must keep its name.
    pub(super) fn refuse_under_views(&mut self, relation: &str) -> Result<()> {
        match self.views_on(relation).first() {
            None => Ok(()),
            Some(view) => Err(Error::unsupported(
                format!("cannot change \"{relation}\" because view {view} depends on it"),
                "Drop the view, change the table, create the view again.",
            )),
        }
    }
}
