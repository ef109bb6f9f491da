//! Privileges and comments of the system's own objects: relations and functions of `pg_catalog` and `information_schema`, built-in
//! types, languages. Everybody may use all of them, so what is granted is there already; nothing can be taken from everybody.

use super::Change;
use planaria_base::text_io::quote_ident;
use planaria_base::types::SystemType;
use planaria_base::{Error, Result, SqlState};
use planaria_catalog::{Privileges, reg, system};
use planaria_syntax::ast::{CommentTarget, GrantStatement, GrantTarget, Name, Position, RoleName, TypeName};

/// OIDs from here on are those of users' objects.
const FIRST_OF_USERS: u32 = 16_384;

impl Change {
    fn is_system_relation(&self, name: &Name) -> bool {
        crate::lower::system::named(name).is_some() && self.relation(name, false).is_err()
    }

    fn is_system_routine(&self, name: &Name) -> bool {
        match &name.parts[..] {
            [local] => {
                let own = super::routine::find(&self.catalog, name, None, None);
                reg::is_built_in(local) && own.is_err_and(|e| e.sqlstate() == SqlState::UNDEFINED_FUNCTION)
            }
            [.., schema, local] => schema == system::PG_CATALOG && reg::is_built_in(local),
            [] => false,
        }
    }

    fn is_system_schema(&self, name: &str) -> bool {
        system::is_system_schema(name) && self.catalog.schema(name).is_none()
    }

    fn is_system_type(&self, name: &Name) -> bool {
        let own = super::names::wanted(&self.catalog, name);
        if own.is_ok_and(|own| self.catalog.user_type(own).is_some() || self.catalog.composite(own).is_some())
        {
            return false;
        }
        let quoted: Vec<String> = name.parts.iter().map(|part| quote_ident(part)).collect();
        let found = reg::find(&self.catalog, SystemType::RegType, &quoted.join("."));
        found.is_ok_and(|oid| (1..FIRST_OF_USERS).contains(&oid))
    }

    /// What is wrong with a name of `pg_catalog` or `information_schema` that means nothing there.
    fn check_of_system(&self, target: &GrantTarget) -> Result<()> {
        let within =
            |name: &Name| matches!(&name.parts[..], [.., schema, _] if self.is_system_schema(schema));
        let missing = |state, what: String| Err(Error::new(state, format!("{what} does not exist")));
        match target {
            GrantTarget::Relations(names) | GrantTarget::Sequences(names) => {
                match names.iter().find(|name| within(name) && !self.is_system_relation(name)) {
                    Some(name) => {
                        missing(SqlState::UNDEFINED_TABLE, format!("relation \"{}\"", name.parts.join(".")))
                    }
                    None => Ok(()),
                }
            }
            GrantTarget::Routines(all) => {
                match all
                    .iter()
                    .find(|routine| within(&routine.name) && !self.is_system_routine(&routine.name))
                {
                    Some(routine) => {
                        let name = routine.name.parts.join(".");
                        let what = match &routine.types {
                            Some(types) => {
                                let shown: Vec<String> =
                                    types.iter().map(|ty| self.type_as_said(ty)).collect();
                                format!("function {name}({})", shown.join(", "))
                            }
                            None => format!("function {name}"),
                        };
                        missing(SqlState::UNDEFINED_FUNCTION, what)
                    }
                    None => Ok(()),
                }
            }
            GrantTarget::Types(names, _) => {
                match names.iter().find(|name| within(name) && !self.is_system_type(name)) {
                    Some(name) => {
                        missing(SqlState::UNDEFINED_OBJECT, format!("type \"{}\"", name.parts.join(".")))
                    }
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn type_as_said(&self, ty: &TypeName) -> String {
        match crate::lower::resolve_type(&self.catalog, ty) {
            Ok(ty) => crate::lower::type_in_message(&self.catalog.as_shown(&ty)).to_string(),
            Err(_) => String::new(),
        }
    }

    /// Whether the objects are the system's own; 0A000 where some are, and some are not.
    pub(super) fn are_of_system(&self, target: &GrantTarget) -> Result<bool> {
        let placed = |(name, _): &(String, Position)| self.is_system_schema(name);
        let (all, those) = match target {
            GrantTarget::Relations(names) | GrantTarget::Sequences(names) => {
                (names.len(), names.iter().filter(|name| self.is_system_relation(name)).count())
            }
            GrantTarget::Routines(all) => {
                (all.len(), all.iter().filter(|routine| self.is_system_routine(&routine.name)).count())
            }
            GrantTarget::Types(names, _) => {
                (names.len(), names.iter().filter(|name| self.is_system_type(name)).count())
            }
            GrantTarget::Schemas(names)
            | GrantTarget::AllTables(names)
            | GrantTarget::AllSequences(names)
            | GrantTarget::AllRoutines(_, names) => {
                (names.len(), names.iter().filter(|name| placed(name)).count())
            }
            GrantTarget::Languages(names) => {
                let missing = names
                    .iter()
                    .find(|(name, _)| !["c", "internal", "plpgsql", "sql"].contains(&name.as_str()));
                if let Some((name, _)) = missing {
                    let message = format!("language \"{name}\" does not exist");
                    return Err(Error::new(SqlState::UNDEFINED_OBJECT, message));
                }
                (names.len(), names.len())
            }
            GrantTarget::Databases(_) | GrantTarget::Defaults(_) => return Ok(false),
        };
        if those < all {
            self.check_of_system(target)?;
        }
        if those > 0 && those < all {
            let message = "privileges on objects of the system and on others at once are not supported";
            return Err(Error::unsupported(message, "Write two statements."));
        }
        Ok(those > 0)
    }

    /// GRANT and REVOKE where all objects are the system's own.
    pub(super) fn grant_of_system(
        &mut self,
        statement: &GrantStatement,
        wanted: Option<Privileges>,
        on_columns: &[(Privileges, Vec<String>)],
    ) -> Result<()> {
        let had = match &statement.target {
            GrantTarget::Relations(_) | GrantTarget::AllTables(_) => Privileges::SELECT,
            GrantTarget::Routines(_) | GrantTarget::AllRoutines(..) => Privileges::EXECUTE,
            GrantTarget::AllSequences(_) => return Ok(()),
            _ => Privileges::USAGE,
        };
        let columns = on_columns.iter().fold(Privileges::NONE, |all, (own, _)| all.with(*own));
        let wanted =
            wanted.unwrap_or(if on_columns.is_empty() { had } else { Privileges::NONE }).with(columns);
        if statement.revoke {
            if statement.grantees.iter().any(|grantee| matches!(grantee.name, RoleName::Public)) {
                let hint = "Everybody may read the catalogs, call built-in functions and use built-in types.";
                return Err(Error::unsupported(
                    "taking privileges on objects of the system from PUBLIC is not supported",
                    hint,
                ));
            }
        } else if wanted.and(had) != wanted {
            let message = "privileges to change objects of the system are not supported";
            return Err(Error::unsupported(message, "Everybody may read the catalogs; nobody changes them."));
        } else if !self.is_superuser() {
            self.warning(SqlState::PRIVILEGE_NOT_GRANTED, "no privileges were granted");
        }
        Ok(())
    }

    /// 0A000 for a comment on one of the system's own objects.
    pub(super) fn refuse_comment_of_system(&self, target: &CommentTarget) -> Result<()> {
        let relation_of = |name: &Name| Name {
            parts: name.parts[..name.parts.len().saturating_sub(1)].to_vec(),
            position: name.position,
        };
        let of_system = match target {
            CommentTarget::Relation(_, name) => self.is_system_relation(name),
            CommentTarget::Column(name) => self.is_system_relation(&relation_of(name)),
            CommentTarget::Routine(routine) => self.is_system_routine(&routine.name),
            CommentTarget::Type(ty) => self.is_system_type(&ty.name),
            CommentTarget::Schema(name, _) => self.is_system_schema(name),
            _ => false,
        };
        if !of_system {
            return Ok(());
        }
        Err(Error::unsupported(
            "comments on objects of the system are not supported",
            "Comment on your own objects.",
        ))
    }
}
