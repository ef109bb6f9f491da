//! DROP of everything.

use super::alter::Rewrite;
use super::depend::Object;
use super::index::mentions_text;
use super::routine::{self, signature};
use super::{Change, Work, names};
use planaria_base::{ColumnId, Error, IndexId, Result, SequenceId, SqlState, TableId};
use planaria_catalog::{ColumnDefault, ForeignKey, Procedure, Table, Wanted};
use planaria_syntax::ast::{Expr, ExprKind, Name, ObjectKind, TypeName, visit};

fn word(object: ObjectKind) -> &'static str {
    match object {
        ObjectKind::Table => "table",
        ObjectKind::Index => "index",
        ObjectKind::View => "view",
        ObjectKind::MaterializedView => "materialized view",
        ObjectKind::Sequence => "sequence",
        ObjectKind::Schema => "schema",
    }
}

/// As PostgreSQL's DROP says that something is not there.
pub(super) fn missing(object: ObjectKind, name: &str, position: u32) -> Error {
    let state = match object {
        ObjectKind::Index => SqlState::UNDEFINED_OBJECT,
        ObjectKind::Schema => SqlState::INVALID_SCHEMA_NAME,
        _ => SqlState::UNDEFINED_TABLE,
    };
    let error = Error::new(state, format!("{} \"{name}\" does not exist", word(object)));
    if position == 0 { error } else { error.at(position) }
}

impl Change {
    /// Foreign keys of a table to itself do not go with a column that they refer to unless that is said, nor do exclusion
    /// constraints with one that they have in an expression or a condition alone. Logs of former versions have it otherwise.
    pub(super) fn refuse_own_references(
        &mut self,
        id: TableId,
        column: ColumnId,
        cascade: bool,
    ) -> Result<()> {
        if self.actor.internal {
            return Ok(());
        }
        let table = self.catalog.table_by_id(id);
        let refers =
            |k: &&ForeignKey| k.parent == id && stands_on(table, k, column) && !k.columns.contains(&column);
        let (name, relation) =
            (&table.columns[column.index()].name, self.catalog.shown_relation(table.schema, &table.name));
        let on = |k: &ForeignKey| match k.parent_columns.contains(&column) {
            true => format!("column {name} of table {relation}"),
            false => format!("index {}", table.index_at(k.parent_index.index()).name),
        };
        let mut keys: Vec<(String, String)> = table
            .foreign_keys
            .iter()
            .filter(refers)
            .map(|k| (format!("constraint {} on table {relation}", k.name), on(k)))
            .collect();
        for index in table.all_indexes() {
            let excludes = index.excludes();
            if excludes && !index.columns.contains(&column) && mentions_text(index, name)? {
                let on = format!("column {name} of table {relation}");
                keys.push((format!("constraint {} on table {relation}", index.name), on));
            }
        }
        if !cascade && !keys.is_empty() {
            let message =
                format!("cannot drop column {name} of table {relation} because other objects depend on it");
            let detail: Vec<String> = keys.iter().map(|(key, on)| format!("{key} depends on {on}")).collect();
            return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                .with_detail(detail.join("\n"))
                .with_hint("Use DROP ... CASCADE to drop the dependent objects too."));
        }
        let dropped: Vec<String> = keys.into_iter().map(|(key, _)| key).collect();
        self.tell_cascade(&dropped);
        Ok(())
    }

    /// 42703 of an expression over a table's rows that names a column that is not there.
    pub(super) fn unknown_column(&self, id: TableId, expr: Option<&Expr>) -> Option<Error> {
        let table = self.catalog.table_by_id(id);
        let mut unknown = None;
        visit::expr(expr?, &mut |node| {
            if let visit::Node::Expr(Expr { kind: ExprKind::Column(name), position }) = node
                && let [column] = &name.parts[..]
                && table.column(column).is_none()
            {
                let message = format!("column \"{column}\" does not exist");
                let error = Error::new(SqlState::UNDEFINED_COLUMN, message).at(*position);
                unknown.get_or_insert(error);
            }
        });
        unknown
    }

    pub(super) fn drop_objects(
        &mut self,
        object: ObjectKind,
        names: &[Name],
        if_exists: bool,
        cascade: bool,
    ) -> Result<&'static str> {
        let mut targets = Vec::new();
        for name in names {
            let found = match names::own_relation(&self.catalog, name) {
                Ok(local) => self.find(object, local, name)?,
                // A schema that is not there holds nothing.
                Err(error) if if_exists && error.sqlstate() == SqlState::INVALID_SCHEMA_NAME => {
                    self.skip_missing(&error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Some(target) = &found {
                self.require_owner_of(target)?;
            }
            match found {
                Some(target) if targets.contains(&target) => {}
                Some(target) => targets.push(target),
                None => {
                    let local = name.parts.last().map_or("", String::as_str);
                    let error = missing(object, local, 0);
                    if !if_exists {
                        return Err(error);
                    }
                    self.skip_missing(&error);
                }
            }
        }
        self.drop_targets(targets, cascade)?;
        Ok(match object {
            ObjectKind::Table => "DROP TABLE",
            ObjectKind::Index => "DROP INDEX",
            ObjectKind::View => "DROP VIEW",
            ObjectKind::MaterializedView => "DROP MATERIALIZED VIEW",
            ObjectKind::Sequence => "DROP SEQUENCE",
            ObjectKind::Schema => "DROP SCHEMA",
        })
    }

    /// Drops objects with what depends on them, or refuses (2BP01).
    pub(super) fn drop_targets(&mut self, mut targets: Vec<Object>, cascade: bool) -> Result<()> {
        // Partitions go with their table.
        let tables: Vec<TableId> = targets
            .iter()
            .filter_map(|t| match t {
                Object::Table(id) => Some(*id),
                _ => None,
            })
            .collect();
        for partition in tables.into_iter().flat_map(|id| self.catalog.partition_tree(id)) {
            if !targets.contains(&Object::Table(partition)) {
                targets.push(Object::Table(partition));
            }
        }
        // Places of indexes move as others go.
        let named: Vec<(Object, String)> = targets
            .iter()
            .filter_map(|target| match target {
                Object::Index(table, index) => {
                    let name = self.catalog.table_by_id(*table).index_at(index.index()).name.clone();
                    Some((target.clone(), name))
                }
                _ => None,
            })
            .collect();
        let columns = self.drop_dependents(&targets, cascade)?;
        self.drop_columns(&columns)?;
        for target in targets {
            let said = named.iter().find(|(object, _)| *object == target).map(|(_, name)| name.as_str());
            match target {
                Object::Table(id) => self.remove_table(id),
                Object::Index(table, _) if self.catalog.tables[table.index()].is_none() => {}
                Object::View(name) => {
                    self.catalog.views.remove(&name);
                }
                Object::Sequence(id) => self.remove_sequence(id),
                Object::Index(table, index) => {
                    let before = self.catalog.table_by_id(table).clone();
                    let at = match said {
                        // A program of that time dropped what had come to stand in its place: so did it later.
                        _ if self.actor.forgets_indexes => index.index(),
                        Some(name) => match before.all_indexes().position(|i| i.name == name) {
                            Some(at) => at,
                            // It went with another.
                            None => continue,
                        },
                        None => index.index(),
                    };
                    let name = before.index_at(at).name.clone();
                    if let Some((_, above)) = self.catalog.parent_index(&before, at) {
                        let of = before.partition.as_ref().map(|p| self.catalog.table_by_id(p.of));
                        let above = of.map_or("", |of| &of.index_at(above).name);
                        let message = format!("cannot drop index {name} because index {above} requires it");
                        return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                            .with_hint(format!("You can drop index {above} instead.")));
                    }
                    self.drop_index(table, &name)?;
                    self.drop_partition_indexes(table, &before, &name)?;
                }
                Object::Routine(id) => self.catalog.procedures[id.index()].current = false,
                Object::Type(id) => self.catalog.types[id.index()] = None,
                Object::Schema(id) => self.remove_schema(id),
                Object::Extension(name) => self.catalog.remove_extension(&name),
                _ => return Err(Error::internal("a target of another kind")),
            }
        }
        Ok(())
    }

    /// The object of that kind and name; an error where it is of another kind or must stay.
    pub(super) fn find(&self, object: ObjectKind, local: Wanted<'_>, name: &Name) -> Result<Option<Object>> {
        let catalog = &self.catalog;
        let found = match object {
            ObjectKind::Table | ObjectKind::MaterializedView => catalog
                .table(local)
                .filter(|t| t.materialized.is_some() == (object == ObjectKind::MaterializedView))
                .map(|t| Object::Table(t.id)),
            ObjectKind::View => catalog.view(local).map(|v| Object::View(v.key())),
            ObjectKind::Sequence => {
                let sequence = catalog.sequence(local).filter(|s| !s.hidden);
                if let Some(s) = sequence {
                    self.refuse_identity(s.id)?;
                }
                sequence.map(|s| Object::Sequence(s.id))
            }
            ObjectKind::Index => match catalog.index(local) {
                Some((table, i)) if table.index_at(i.index()).constraint => {
                    self.require_owner_of(&Object::Index(table.id, i))?;
                    let (constraint, t) =
                        (format!("constraint {local} on table {}", table.name), &table.name);
                    let message = format!("cannot drop index {local} because {constraint} requires it");
                    return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                        .with_hint(format!("You can drop constraint {local} on table {t} instead.")));
                }
                Some((table, i)) if table.index_form(i.index()).is_some() => Some(Object::Index(table.id, i)),
                _ => None,
            },
            ObjectKind::Schema => None,
        };
        if found.is_none() && catalog.relation_exists(local) {
            let a = match object {
                ObjectKind::Index => "an",
                _ => "a",
            };
            let message = format!("\"{local}\" is not {a} {}", word(object));
            let error = Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position);
            let hint = if catalog.table(local).is_some_and(|t| t.materialized.is_some()) {
                "Use DROP MATERIALIZED VIEW to remove a materialized view."
            } else if catalog.composite(local).is_some() {
                "Use DROP TYPE to remove a type."
            } else if catalog.table(local).is_some() {
                "Use DROP TABLE to remove a table."
            } else if catalog.view(local).is_some() {
                "Use DROP VIEW to remove a view."
            } else if catalog.sequence(local).is_some() {
                "Use DROP SEQUENCE to remove a sequence."
            } else {
                "Use DROP INDEX to remove an index."
            };
            return Err(error.with_hint(hint));
        }
        Ok(found)
    }

    fn refuse_identity(&self, sequence: SequenceId) -> Result<()> {
        for table in self.catalog.tables.iter().flatten() {
            for column in &table.columns {
                if matches!(column.default, ColumnDefault::Identity { sequence: s, .. } if s == sequence) {
                    let name = self.catalog.sequences[sequence.index()].as_ref().map_or("", |s| &s.name);
                    let owner = format!("column {} of table {}", column.name, table.name);
                    let message = format!("cannot drop sequence {name} because {owner} requires it");
                    return Err(Error::new(SqlState::DEPENDENT_OBJECTS_STILL_EXIST, message)
                        .with_hint(format!("You can drop {owner} instead.")));
                }
            }
        }
        Ok(())
    }

    /// 42501 where the actor does not own what is to be dropped or renamed; an index is the owner's of
    /// its table.
    pub(super) fn require_owner_of(&self, object: &Object) -> Result<()> {
        use planaria_catalog::Object as Owned;
        let owned = match object {
            Object::View(name) | Object::ViewTrigger(name, _) => Owned::View(name.clone()),
            Object::Sequence(id) => Owned::Sequence(*id),
            Object::Routine(id) => Owned::Routine(*id),
            Object::Type(id) => Owned::Type(*id),
            Object::Schema(id) => Owned::Schema(*id),
            // Who drops a type drops what converts it.
            Object::Cast(..) => return Ok(()),
            Object::Extension(name) => return self.require_extension(name),
            Object::Table(table)
            | Object::Column(table, _)
            | Object::Index(table, _)
            | Object::Constraint(table, _)
            | Object::Trigger(table, _)
            | Object::Policy(table, _)
            | Object::Default(table, _) => Owned::Table(*table),
        };
        if let Object::Index(table, index) = object
            && !self.catalog.owns(self.actor.user, &owned)
        {
            let name = &self.catalog.table_by_id(*table).index_at(index.index()).name;
            let message = format!("must be owner of index {name}");
            return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
        }
        self.catalog.require_owner(self.actor.user, &owned)
    }

    pub(super) fn remove_sequence(&mut self, id: SequenceId) {
        self.catalog.sequences[id.index()] = None;
        self.out.work.push(Work::DropSequence(id));
    }

    /// A table goes with its indexes, constraints and the sequences it owns.
    pub(super) fn remove_table(&mut self, id: TableId) {
        self.leave_root(id);
        let Some(table) = self.catalog.tables[id.index()].take() else { return };
        if table.materialized.is_some() {
            self.catalog.views.remove(&planaria_catalog::key(table.schema, &table.name));
        }
        let owned: Vec<SequenceId> = self
            .catalog
            .sequences
            .iter()
            .flatten()
            .filter(|s| s.owner.is_some_and(|(t, _)| t == id))
            .map(|s| s.id)
            .collect();
        owned.into_iter().for_each(|s| self.remove_sequence(s));
        self.out.work.push(Work::DropTable(id));
    }

    pub(super) fn drop_index(&mut self, table: TableId, name: &str) -> Result<()> {
        if self.forget_index(table, name) {
            return Ok(());
        }
        let at = self.catalog.table_by_id(table).indexes.iter().position(|i| i.name == name);
        if let Some(at) = at {
            let index = IndexId(at as u16);
            let stored = self.catalog.table_by_id(table).clone();
            let mut hidden = self.hidden_columns(table, &stored.indexes[at]);
            self.remove_index(table, index);
            if hidden.is_empty() {
                self.out.work.push(Work::DropIndex(table, index));
                return Ok(());
            }
            let mut rewrite = Rewrite::of(&stored);
            hidden.sort_unstable();
            for column in hidden.into_iter().rev() {
                self.remove_column(table, column, &mut rewrite);
            }
            self.finish_alter(table, rewrite)?;
        }
        Ok(())
    }

    /// Drops an index that is only remembered; says whether it is one.
    pub(super) fn forget_index(&mut self, table: TableId, name: &str) -> bool {
        if !self.catalog.table_by_id(table).unmade.iter().any(|i| i.name == name) {
            return false;
        }
        self.table_mut(table).unmade.retain(|i| i.name != name);
        true
    }

    /// Takes an index out of its table's list; foreign keys that lean on later ones follow.
    pub(super) fn remove_index(&mut self, table: TableId, index: IndexId) {
        self.table_mut(table).indexes.remove(index.index());
        let leaning = self.catalog.references_to(table).filter(|(_, key)| key.parent_index > index);
        let leaning: std::collections::BTreeSet<TableId> = leaning.map(|(t, _)| t.id).collect();
        for t in leaning {
            for key in self.table_mut(t).foreign_keys.iter_mut().filter(|k| k.parent == table) {
                if key.parent_index > index {
                    key.parent_index.0 -= 1;
                }
            }
        }
    }

    pub(super) fn drop_routines(
        &mut self,
        names: &[(Name, Option<Vec<TypeName>>)],
        procedure: Option<bool>,
        if_exists: bool,
        cascade: bool,
    ) -> Result<&'static str> {
        let mut targets = Vec::new();
        for (name, types) in names {
            match self.find_routine(name, types.as_deref(), procedure) {
                Ok(p) => {
                    let target = Object::Routine(p.id);
                    self.require_owner_of(&target)?;
                    targets.push(target);
                }
                Err(error) if if_exists && error.sqlstate() == SqlState::UNDEFINED_FUNCTION => {
                    let kind = routine::kind_word(procedure);
                    let args = match types {
                        Some(types) => routine::shown_types(&self.catalog, types)?,
                        None => String::new(),
                    };
                    let message = format!("{kind} {}({args}) does not exist", name.parts.join("."));
                    self.skip_missing(&Error::new(SqlState::UNDEFINED_FUNCTION, message));
                }
                Err(error) => return Err(error),
            }
        }
        targets.dedup();
        self.drop_targets(targets, cascade)?;
        Ok(match procedure {
            Some(true) => "DROP PROCEDURE",
            Some(false) => "DROP FUNCTION",
            None => "DROP ROUTINE",
        })
    }

    fn find_routine(
        &self,
        name: &Name,
        types: Option<&[TypeName]>,
        procedure: Option<bool>,
    ) -> Result<&Procedure> {
        let found = routine::find(&self.catalog, name, types, procedure)?;
        if procedure.is_some_and(|p| p != found.is_procedure()) {
            let kind = routine::kind_word(procedure);
            let message = format!("{} is not a {kind}", signature(found));
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).at(name.position));
        }
        if procedure == Some(false) && found.aggregate.is_some() {
            let message = format!("\"{}\" is an aggregate function", name.parts.join("."));
            let hint = "Use DROP AGGREGATE to drop aggregate functions.";
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message).with_hint(hint).at(name.position));
        }
        Ok(found)
    }
}

/// Whether the index that a foreign key refers to goes with a column of the parent that it has by INCLUDE.
pub(super) fn index_includes(parent: &Table, key: &ForeignKey, column: ColumnId) -> bool {
    let definition = &parent.index_at(key.parent_index.index()).definition;
    definition.as_ref().is_some_and(|d| d.included.contains(&column))
}

/// Whether a foreign key goes with a column of the table that it refers to.
pub(super) fn stands_on(parent: &Table, key: &ForeignKey, column: ColumnId) -> bool {
    key.parent_columns.contains(&column) || index_includes(parent, key, column)
}
