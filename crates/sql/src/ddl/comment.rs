//! COMMENT ON.

use super::depend::Object as Target;
use super::{Change, drop, names};
use planaria_base::{Error, Result, SqlState};
use planaria_catalog::{Commented, Object, no_schema};
use planaria_syntax::ast::{CommentTarget, Name, ObjectKind};

impl Change {
    pub(super) fn comment(&mut self, on: &CommentTarget, text: Option<&str>) -> Result<&'static str> {
        if let Some(of) = self.commented(on)? {
            self.catalog.set_comment(&of, text.map(str::to_owned));
        }
        Ok("COMMENT")
    }

    /// What is meant, if the actor may say something about it. `None`: a warning has said that it is not there.
    fn commented(&mut self, on: &CommentTarget) -> Result<Option<Commented>> {
        self.refuse_comment_of_system(on)?;
        Ok(Some(match on {
            CommentTarget::Relation(kind, name) => self.commented_relation(*kind, name)?,
            CommentTarget::Column(name) => self.commented_column(name)?,
            CommentTarget::Constraint(constraint, name) => {
                let table = names::table(&self.catalog, name).map_err(unplaced)?;
                self.catalog.require_owner(self.actor.user, &Object::Table(table.id))?;
                if !table.has_constraint(constraint) {
                    let table = &table.name;
                    let message = format!("constraint \"{constraint}\" for table \"{table}\" does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                }
                Commented::Constraint(table.id, constraint.clone())
            }
            CommentTarget::Trigger(name, table) => {
                let table = names::table(&self.catalog, table).map_err(unplaced)?;
                self.catalog.require_owner(self.actor.user, &Object::Table(table.id))?;
                if table.trigger(name).is_none() {
                    let message = format!("trigger \"{name}\" for table \"{}\" does not exist", table.name);
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                }
                Commented::Trigger(table.id, name.clone())
            }
            CommentTarget::Policy(name, table) => {
                let table = names::table(&self.catalog, table).map_err(unplaced)?;
                self.catalog.require_owner(self.actor.user, &Object::Table(table.id))?;
                if table.policy(name).is_none() {
                    let message = format!("policy \"{name}\" for table \"{}\" does not exist", table.name);
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                }
                Commented::Policy(table.id, name.clone())
            }
            CommentTarget::Routine(routine) => {
                let object = self.routine(routine)?;
                self.catalog.require_owner(self.actor.user, &object)?;
                match object {
                    Object::Routine(id) => Commented::Routine(id),
                    _ => return Err(Error::internal("a routine of another kind")),
                }
            }
            CommentTarget::Type(ty) => {
                if let Some(id) = self.owned_composite(&ty.name)?.filter(|_| !ty.domain) {
                    return Ok(Some(Commented::Table(id)));
                }
                let (id, is_domain) = self.user_type(&ty.name).map(|t| (t.id, t.domain().is_some()))?;
                if ty.domain && !is_domain {
                    let message = format!("\"{}\" is not a domain", ty.name.parts.join("."));
                    return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
                }
                self.catalog.require_owner(self.actor.user, &Object::Type(id))?;
                Commented::Type(id)
            }
            CommentTarget::DomainConstraint(constraint, name) => {
                let (id, domain) = self.user_type(name).map(|t| (t.id, t.domain()))?;
                self.catalog.require_owner(self.actor.user, &Object::Type(id))?;
                if !domain.is_some_and(|d| d.checks.iter().any(|c| c.name == *constraint)) {
                    let domain = name.parts.join(".");
                    let message = format!("constraint \"{constraint}\" for domain {domain} does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                }
                Commented::DomainConstraint(id, constraint.clone())
            }
            CommentTarget::Cast(types) => self.commented_cast(types)?,
            CommentTarget::Statistics(name) => self.commented_statistics(name)?,
            CommentTarget::Extension(name) => return self.commented_extension(name),
            CommentTarget::Role(role) => {
                let id = self.role_of(role)?;
                let actor = self.catalog.role_by_id(self.actor.user);
                let superuser = self.catalog.role_by_id(id).is_some_and(|r| r.superuser);
                if !self.is_superuser() && (superuser || !actor.is_some_and(|r| r.create_role)) {
                    let message = match superuser {
                        true => "must be superuser".to_owned(),
                        false => "must have CREATEROLE privilege".to_owned(),
                    };
                    return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
                }
                Commented::Role(id)
            }
            CommentTarget::Schema(name, _) => {
                let id = self.catalog.schema(name).ok_or_else(|| no_schema(name))?;
                self.catalog.require_owner(self.actor.user, &Object::Schema(id))?;
                Commented::Schema(id)
            }
            CommentTarget::Database(name) if self.is_ours(name) => {
                self.catalog.require_owner(self.actor.user, &Object::Database)?;
                Commented::Database
            }
            // A dump that is restored under another name has this.
            CommentTarget::Database(name) => {
                let message = format!("database \"{name}\" does not exist");
                self.warning(SqlState::INVALID_CATALOG_NAME, message);
                return Ok(None);
            }
        }))
    }

    fn commented_relation(&self, kind: ObjectKind, name: &Name) -> Result<Commented> {
        let local = names::own_relation(&self.catalog, name).map_err(unplaced)?;
        let found = match kind {
            // One behind a constraint or an identity column, too.
            ObjectKind::Index => self.catalog.index(local).map(|(t, i)| Target::Index(t.id, i)),
            ObjectKind::Sequence => {
                self.catalog.sequence(local).filter(|s| !s.hidden).map(|s| Target::Sequence(s.id))
            }
            _ => None,
        };
        let found = match found {
            Some(found) => Some(found),
            None => self.find(kind, local, name).map_err(|mut e| {
                e.fields_mut().hint = None;
                unplaced(e)
            })?,
        };
        let Some(found) = found else { return Err(unplaced(names::no_relation(name))) };
        self.require_owner_of(&found)?;
        Ok(match found {
            Target::Table(id) => Commented::Table(id),
            Target::View(name) => Commented::View(name),
            Target::Index(table, index) => Commented::Index(table, index),
            Target::Sequence(id) => Commented::Sequence(id),
            _ => return Err(drop::missing(kind, local.local, 0)),
        })
    }

    fn commented_column(&self, name: &Name) -> Result<Commented> {
        let Some((column, relation @ [_, ..])) = name.parts.split_last() else {
            let message = "column name must be qualified";
            return Err(Error::new(SqlState::SYNTAX_ERROR, message));
        };
        let relation = Name { parts: relation.to_vec(), position: name.position };
        let local = names::own_relation(&self.catalog, &relation).map_err(unplaced)?;
        let missing = || {
            let message = format!("column \"{column}\" of relation \"{local}\" does not exist");
            Error::new(SqlState::UNDEFINED_COLUMN, message)
        };
        let catalog = &self.catalog;
        if let Some(table) = catalog.of_rows(local) {
            catalog.require_owner(self.actor.user, &Object::Table(table.id))?;
            let (id, _) = table.column(column).ok_or_else(missing)?;
            return Ok(Commented::Column(table.id, id));
        }
        if let Some(view) = catalog.view(local) {
            catalog.require_owner(self.actor.user, &Object::View(view.key()))?;
            let known = view.columns.contains(column);
            return if known {
                Ok(Commented::ViewColumn(view.key(), column.clone()))
            } else {
                Err(missing())
            };
        }
        if catalog.relation_exists(local) {
            let what = if catalog.index(local).is_some() { "indexes" } else { "sequences" };
            let message = format!("cannot set comment on relation \"{local}\"");
            return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message)
                .with_detail(format!("This operation is not supported for {what}.")));
        }
        Err(unplaced(names::no_relation(&relation)))
    }
}

/// PostgreSQL gives no position here.
fn unplaced(mut error: Error) -> Error {
    error.fields_mut().position = None;
    error
}
