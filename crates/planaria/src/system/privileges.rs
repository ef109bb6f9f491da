//! `has_table_privilege` and its like, `pg_has_role`.

use super::Facts;
use super::relations::system_relation;
use super::rows::Rows;
use planaria_base::oid::Oid;
use planaria_base::types::SystemType;
use planaria_base::{Error, Result, RoleId, SqlState};
use planaria_catalog::oids::Object as Identified;
use planaria_catalog::{
    Catalog, MONITOR, Object, ObjectKind, PREDEFINED, Privileges, Role, reg, shown_grants, system,
};

/// `pg_default_acl`
pub(super) fn defaults(facts: &Facts<'_>, rows: &mut Rows) {
    let catalog = facts.catalog;
    for defaults in &catalog.default_rights {
        rows.add(|r| {
            r.set("oid", defaults.oid)
                .set("defaclrole", catalog.role_oid(defaults.role))
                .set("defaclnamespace", defaults.schema.map_or(0, |schema| catalog.schema_oid(schema)))
                .set("defaclobjtype", defaults.kind.letter())
                .set("defaclacl", shown_grants(&defaults.grants, catalog));
        });
    }
}

/// A role by name or OID; the current one where none was said. `public` is nobody.
fn role(facts: &Facts<'_>, name: Option<&str>) -> Result<Option<RoleId>> {
    let Some(name) = name else { return Ok(Some(facts.role)) };
    if let Ok(oid) = name.parse::<Oid>() {
        return Ok(facts.catalog.role_of_oid(oid).map(|r| r.id));
    }
    if name == "public" {
        return Ok(None);
    }
    facts.catalog.role_named(name).map(|r| Some(r.id))
}

/// What a privilege is asked on.
enum Target {
    /// Something that rights are on.
    Object(Object),
    /// A relation of the system: everybody reads it, but for passwords.
    System { secret: bool },
    /// Everybody may use it: types, languages, built-in functions.
    Free,
}

/// The object by kind, and by name or OID; `None` where an OID is of nothing.
fn target(facts: &Facts<'_>, kind: &str, name: &str) -> Result<Option<Target>> {
    let catalog = facts.catalog;
    let digits = name.parse::<Oid>().ok();
    let found = |ty| match digits {
        Some(oid) => Ok(oid),
        None => reg::find(catalog, ty, name),
    };
    Ok(match kind {
        "table" | "any_column" | "column" | "sequence" => {
            let oid = found(SystemType::RegClass)?;
            if let Some(relation) = system_relation(oid) {
                let secret = matches!(relation.name, "pg_authid" | "pg_shadow");
                return Ok(Some(Target::System { secret }));
            }
            match catalog.oids.object(oid) {
                Some(Identified::Table(id)) => Some(Target::Object(Object::Table(*id))),
                Some(Identified::Index(table, _)) => Some(Target::Object(Object::Table(*table))),
                Some(Identified::View(name)) => Some(Target::Object(Object::View(name.clone()))),
                Some(Identified::Sequence(id)) => Some(Target::Object(Object::Sequence(*id))),
                _ => None,
            }
        }
        "schema" => match reg::namespace_name(catalog, found(SystemType::RegNamespace)?) {
            Some(schema) if system::is_system_schema(schema) => Some(Target::System { secret: false }),
            Some(schema) => catalog.schema(schema).map(|id| Target::Object(Object::Schema(id))),
            None => None,
        },
        "function" => {
            let ty = if name.contains('(') { SystemType::RegProcedure } else { SystemType::RegProc };
            match catalog.oids.object(found(ty)?) {
                Some(Identified::Routine(identity)) => {
                    catalog.routine_by_identity(identity).map(|p| Target::Object(Object::Routine(p.id)))
                }
                _ => Some(Target::Free),
            }
        }
        "database" => {
            if digits.is_none() && !facts.settings.is_database(name) {
                let message = format!("database \"{name}\" does not exist");
                return Err(Error::new(SqlState::INVALID_CATALOG_NAME, message));
            }
            Some(Target::Object(Object::Database))
        }
        "type" => {
            let oid = found(SystemType::RegType)?;
            let row_type = |key: &str| catalog.of_rows(planaria_catalog::of_key(key)).filter(|t| t.composite);
            match catalog.oids.object(oid) {
                Some(Identified::Type(id) | Identified::TypeArray(id)) => {
                    Some(Target::Object(Object::Type(*id)))
                }
                Some(Identified::RowType(key) | Identified::RowTypeArray(key)) => {
                    Some(row_type(key).map_or(Target::Free, |t| Target::Object(Object::Table(t.id))))
                }
                _ => reg::type_name(catalog, oid).map(|_| Target::Free),
            }
        }
        _ => Some(Target::Free),
    })
}

/// The privileges that may be asked for on a kind of object.
fn askable(kind: &str) -> Privileges {
    match kind {
        "table" => ObjectKind::Table.all(),
        "column" | "any_column" => planaria_catalog::ALL_OF_COLUMNS,
        "sequence" => ObjectKind::Sequence.all(),
        "schema" => ObjectKind::Schema.all(),
        "function" => ObjectKind::Function.all(),
        "database" => ObjectKind::Database.all(),
        "tablespace" => Privileges::CREATE,
        // Types, languages, servers, foreign data wrappers.
        _ => Privileges::USAGE,
    }
}

/// Whether a role has any of the privileges in a list (`SELECT, INSERT WITH GRANT OPTION`).
pub(super) fn has_privilege(
    facts: &Facts<'_>,
    who: Option<&str>,
    kind: &str,
    name: &str,
    column: Option<&str>,
    wanted: &str,
) -> Result<Option<bool>> {
    let catalog = facts.catalog;
    let role = role(facts, who)?;
    let Some(target) = target(facts, kind, name)? else { return Ok(None) };
    // The columns whose own rights count as well.
    let columns: Vec<String> = match (&target, kind) {
        (Target::Object(object), "column") => match column_named(catalog, object, column)? {
            Some(column) => vec![column],
            None => return Ok(None),
        },
        (Target::Object(object), "any_column") => {
            catalog.named_columns(object).into_iter().map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let mut any = false;
    for said in wanted.split(',').map(str::trim) {
        let word = said.to_uppercase();
        let (plain, option) = match word.strip_suffix(" WITH GRANT OPTION") {
            Some(plain) => (plain, true),
            None => (word.as_str(), false),
        };
        let privilege =
            Privileges::of_word(plain).filter(|p| askable(kind).contains(*p)).ok_or_else(|| {
                let message = format!("unrecognized privilege type: \"{said}\"");
                Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
            })?;
        any |= columns.iter().any(|column| {
            let Target::Object(object) = &target else { return false };
            let (all, options) = catalog.granted_on_column(role, object, column);
            if option { options.contains(privilege) } else { all.contains(privilege) }
        });
        any |= match (&target, role) {
            (Target::Free, role) => !option || role.is_some_and(|r| catalog.is_superuser(r)),
            (Target::System { secret }, role) => {
                let reads = matches!(plain, "SELECT" | "USAGE") && !secret && !option;
                reads || role.is_some_and(|r| catalog.is_superuser(r))
            }
            (Target::Object(object), Some(role)) if option => {
                catalog.grant_options(role, object).contains(privilege)
            }
            (Target::Object(object), Some(role)) => catalog.privileges(role, object).contains(privilege),
            (Target::Object(object), None) => {
                let kind = catalog.object_kind(object);
                let grants = catalog.rights(object).map(|r| r.grants(kind));
                grants.is_some_and(|all| {
                    all.iter().any(|g| g.grantee.is_none() && g.privileges.contains(privilege))
                })
            }
        };
    }
    Ok(Some(any))
}

/// A column by name or number; `None` where there is none of that number.
fn column_named(catalog: &Catalog, object: &Object, column: Option<&str>) -> Result<Option<String>> {
    let column = column.unwrap_or_default();
    let columns = catalog.named_columns(object);
    if columns.contains(&column) {
        return Ok(Some(column.to_owned()));
    }
    if let Ok(number) = column.parse::<usize>() {
        let at = match object {
            Object::Table(id) => {
                catalog.table_by_id(*id).column_numbered(number as i64).map(|(_, c)| c.name.clone())
            }
            _ => columns.get(number.wrapping_sub(1)).map(|name| (*name).to_owned()),
        };
        return Ok(at);
    }
    let relation = catalog.object_name(object);
    let message = format!("column \"{column}\" of relation \"{relation}\" does not exist");
    Err(Error::new(SqlState::UNDEFINED_COLUMN, message))
}

/// A role that memberships are asked of.
#[derive(Clone, Copy)]
enum OfRole {
    /// One of the catalog.
    Known(RoleId),
    /// A predefined one that has had no member yet.
    Predefined(&'static str),
}

fn of_role(facts: &Facts<'_>, name: Option<&str>) -> Result<Option<OfRole>> {
    let is = |(predefined, oid): &&(&str, Oid)| {
        name.is_some_and(|name| name == *predefined || name.parse() == Ok(*oid))
    };
    match PREDEFINED.iter().find(is) {
        Some((name, _)) if facts.catalog.role(name).is_none() => Ok(Some(OfRole::Predefined(name))),
        _ => Ok(role(facts, name)?.map(OfRole::Known)),
    }
}

impl OfRole {
    /// Whether it is in a role, as `known` says it of two of the catalog.
    fn is_in(self, of: OfRole, catalog: &Catalog, known: fn(&Catalog, RoleId, RoleId) -> bool) -> bool {
        let monitors = |name: &str| MONITOR.1.contains(&name);
        match (self, of) {
            (OfRole::Known(member), OfRole::Known(of)) => known(catalog, member, of),
            (OfRole::Known(member), OfRole::Predefined(of)) => {
                let monitor = catalog.role(MONITOR.0).filter(|_| monitors(of));
                catalog.is_superuser(member) || monitor.is_some_and(|m| known(catalog, member, m.id))
            }
            (OfRole::Predefined(member), OfRole::Known(of)) => {
                member == MONITOR.0 && catalog.role_by_id(of).is_some_and(|of| monitors(&of.name))
            }
            (OfRole::Predefined(member), OfRole::Predefined(of)) => {
                member == of || member == MONITOR.0 && monitors(of)
            }
        }
    }
}

/// Whether `member` may become a role (MEMBER), or has its privileges already (USAGE).
pub(super) fn has_role(facts: &Facts<'_>, member: Option<&str>, group: &str, what: &str) -> Result<bool> {
    let (Some(member), Some(group)) = (of_role(facts, member)?, of_role(facts, Some(group))?) else {
        return Ok(false);
    };
    let mut any = false;
    for word in what.split(',').map(|w| w.trim().to_uppercase()) {
        any |= match word.split(" WITH ").next().unwrap_or_default() {
            "USAGE" => member.is_in(group, facts.catalog, Catalog::has_privileges_of),
            "MEMBER" => member.is_in(group, facts.catalog, Catalog::is_member_of),
            _ => {
                let message = format!("unrecognized privilege type: \"{}\"", word.to_lowercase());
                return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
            }
        };
    }
    Ok(any)
}

/// A role that the user of a session may become. 22023 where there is none, 42501 where he may not.
pub(crate) fn may_become(catalog: &Catalog, user: RoleId, name: &str) -> Result<RoleId> {
    let role = setting_of_role(catalog, name)?;
    if !catalog.is_member_of(user, role.id) {
        let message = format!("permission denied to set role \"{name}\"");
        return Err(Error::new(SqlState::INSUFFICIENT_PRIVILEGE, message));
    }
    Ok(role.id)
}

/// The role that the setting `role` names; 22023, as a setting's bad value.
pub(crate) fn setting_of_role<'c>(catalog: &'c Catalog, name: &str) -> Result<&'c Role> {
    catalog.role(name).ok_or_else(|| {
        let message = format!("role \"{name}\" does not exist");
        Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
    })
}
