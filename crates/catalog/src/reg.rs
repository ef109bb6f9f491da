//! Names and OIDs: how `regclass`, `regtype` and their like are read and shown, and how types are
//! written.
//!
//! A name may be qualified and quoted; unqualified, `pg_catalog` is searched before `public`. Shown, a
//! name is qualified only where it would not be found so.

use crate::oids::Object;
use crate::system::{self, INFORMATION_SCHEMA, INFORMATION_SCHEMA_OID, PG_CATALOG};
use crate::{Catalog, PUBLIC, Wanted, of_key};
use planaria_base::oid::{self, Oid};
use planaria_base::search::{self, Configuration};
use planaria_base::text_io::quote_ident;
use planaria_base::types::{PackedType, SystemType};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use std::collections::HashMap;
use std::sync::LazyLock;

/// Splits a possibly qualified name: folded unless quoted. 42602 where it is none.
pub fn split_name(text: &str) -> Result<Vec<String>> {
    let invalid = || Error::new(SqlState::INVALID_NAME, "invalid name syntax");
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        if let Some(quoted) = rest.strip_prefix('"') {
            let mut name = String::new();
            let mut chars = quoted.char_indices().peekable();
            let end = loop {
                match chars.next() {
                    None => return Err(invalid()),
                    Some((_, '"')) if chars.peek().is_some_and(|(_, c)| *c == '"') => {
                        chars.next();
                        name.push('"');
                    }
                    Some((at, '"')) => break at + 1,
                    Some((_, c)) => name.push(c),
                }
            };
            parts.push(name);
            rest = &quoted[end..];
        } else {
            let end = rest.find('.').unwrap_or(rest.len());
            let name = rest[..end].trim();
            if name.is_empty() || name.contains('"') {
                return Err(invalid());
            }
            parts.push(name.to_lowercase());
            rest = &rest[end..];
        }
        rest = rest.trim_start();
        match rest.strip_prefix('.') {
            Some(more) => rest = more.trim_start(),
            None if rest.is_empty() => return Ok(parts),
            None => return Err(invalid()),
        }
    }
}

/// What a fixed catalog's rows are called, by OID and by name.
struct Named {
    by_oid: HashMap<Oid, (Oid, String)>,
    by_name: HashMap<String, Vec<Oid>>,
}

fn named(relation: &str, name: &str, namespace: Option<&str>) -> Named {
    let relation = system::unqualified(relation).expect("a system relation");
    let column = |name: &str| relation.column(name).expect("a column of it");
    let (oid, name, namespace) = (column("oid"), column(name), namespace.map(column));
    let mut named = Named { by_oid: HashMap::new(), by_name: HashMap::new() };
    for row in system::fixed_rows(relation.id) {
        let (Datum::Int(oid), Datum::Text(text)) = (&row[oid], &row[name]) else { continue };
        let within = match namespace.map(|n| &row[n]) {
            Some(Datum::Int(n)) => *n as Oid,
            _ => oid::PG_CATALOG,
        };
        named.by_oid.insert(*oid as Oid, (within, text.clone()));
        named.by_name.entry(text.clone()).or_default().push(*oid as Oid);
    }
    named
}

static TYPES: LazyLock<Named> = LazyLock::new(|| named("pg_type", "typname", Some("typnamespace")));
static ROUTINES: LazyLock<Named> = LazyLock::new(|| named("pg_proc", "proname", Some("pronamespace")));
static OPERATORS: LazyLock<Named> = LazyLock::new(|| named("pg_operator", "oprname", None));
/// Types of the operands of each operator; 0 where it has none.
static OPERANDS: LazyLock<HashMap<Oid, (Oid, Oid)>> = LazyLock::new(|| {
    let relation = system::unqualified("pg_operator").expect("a system relation");
    let [oid, left, right] =
        ["oid", "oprleft", "oprright"].map(|name| relation.column(name).expect("a column of it"));
    let rows = system::fixed_rows(relation.id).iter();
    rows.filter_map(|row| match (&row[oid], &row[left], &row[right]) {
        (Datum::Int(oid), Datum::Int(left), Datum::Int(right)) => {
            Some((*oid as Oid, (*left as Oid, *right as Oid)))
        }
        _ => None,
    })
    .collect()
});
static COLLATIONS: LazyLock<Named> = LazyLock::new(|| named("pg_collation", "collname", None));

/// Schema and name of a possibly qualified name.
fn qualified(parts: &[String]) -> (Option<&str>, &str) {
    match parts {
        [.., schema, name] => (Some(schema), name),
        [name] => (None, name),
        [] => (None, ""),
    }
}

fn in_schema(schema: Option<&str>, which: &str) -> bool {
    schema.is_none_or(|s| s == which)
}

fn missing(state: SqlState, what: &str, name: &str) -> Error {
    Error::new(state, format!("{what} \"{name}\" does not exist"))
}

/// The OID that a text stands for, as the input function of the type has it. Digits are taken as they
/// are, `-` is 0.
pub fn find(catalog: &Catalog, ty: SystemType, text: &str) -> Result<Oid> {
    let trimmed = text.trim();
    if trimmed == "-" {
        return Ok(0);
    }
    if !trimmed.is_empty() && trimmed.bytes().all(|b| b.is_ascii_digit()) {
        return planaria_base::text_io::parse_oid(trimmed, ty);
    }
    match ty {
        SystemType::RegType => return find_type(catalog, trimmed),
        SystemType::RegProcedure => return find_procedure(catalog, trimmed),
        SystemType::RegOper | SystemType::RegOperator => {
            return find_operator(catalog, trimmed, text);
        }
        _ => {}
    }
    let parts = split_name(trimmed)?;
    let shown = parts.join(".");
    let (schema, name) = qualified(&parts);
    known(catalog, schema)?;
    match ty {
        SystemType::RegClass => relation(catalog, schema, name)
            .ok_or_else(|| missing(SqlState::UNDEFINED_TABLE, "relation", &shown)),
        SystemType::RegProc => {
            let mut found: Vec<Oid> = Vec::new();
            if in_schema(schema, PG_CATALOG) {
                found.extend(ROUTINES.by_name.get(name).into_iter().flatten());
            }
            if found.is_empty()
                && let Some(wanted) = wanted(catalog, schema, name)
            {
                found.extend(catalog.procedures_named(wanted).map(|p| catalog.routine_oid(p)));
            }
            match found[..] {
                [one] => Ok(one),
                [] => Err(missing(SqlState::UNDEFINED_FUNCTION, "function", &shown)),
                _ => Err(Error::new(
                    SqlState::AMBIGUOUS_FUNCTION,
                    format!("more than one function named \"{shown}\""),
                )),
            }
        }
        SystemType::RegNamespace => namespace_oid(catalog, name)
            .ok_or_else(|| missing(SqlState::INVALID_SCHEMA_NAME, "schema", &shown)),
        SystemType::RegRole => Ok(catalog.role_oid(catalog.role_named(name)?.id)),
        SystemType::RegConfig => search_configuration(trimmed).map(|configuration| configuration.oid),
        SystemType::RegCollation => match COLLATIONS.by_name.get(name).map(Vec::as_slice) {
            Some([one, ..]) => Ok(*one),
            _ => Err(Error::new(
                SqlState::UNDEFINED_OBJECT,
                format!("collation \"{shown}\" for encoding \"UTF8\" does not exist"),
            )),
        },
        _ => Err(planaria_base::text_io::invalid_syntax(ty.name(), text)),
    }
}

/// An operator by its name, and by the types of its operands where they are said: `+(integer,integer)`, `-(NONE,integer)`.
fn find_operator(catalog: &Catalog, trimmed: &str, text: &str) -> Result<Oid> {
    let name = trimmed.strip_prefix("pg_catalog.").unwrap_or(trimmed);
    let (name, operands) = match name.split_once('(') {
        Some((name, operands)) => (name.trim(), Some(operands.trim_end().trim_end_matches(')'))),
        None => (name, None),
    };
    let mut found = OPERATORS.by_name.get(name).cloned().unwrap_or_default();
    if let Some((left, right)) = operands.and_then(|operands| operands.split_once(',')) {
        let operand = |ty: &str| match ty.trim() {
            none if none.eq_ignore_ascii_case("none") => Ok(0),
            ty => find_type(catalog, ty),
        };
        let wanted = (operand(left)?, operand(right)?);
        found.retain(|oid| OPERANDS.get(oid) == Some(&wanted));
    }
    match found[..] {
        [one] => Ok(one),
        [] => Err(Error::new(SqlState::UNDEFINED_FUNCTION, format!("operator does not exist: {text}"))),
        _ => Err(Error::new(SqlState::AMBIGUOUS_FUNCTION, format!("more than one operator named {name}"))),
    }
}

/// The configuration of full-text search that a possibly qualified name means.
pub fn search_configuration(text: &str) -> Result<&'static Configuration> {
    let parts = split_name(text)?;
    let (schema, name) = qualified(&parts);
    match search::configuration_named(name) {
        Some(configuration) if in_schema(schema, PG_CATALOG) => Ok(configuration),
        None if in_schema(schema, PG_CATALOG) && search::MISSING.contains(&name) => {
            let what = format!("text search configuration \"{name}\" is not supported");
            Err(Error::unsupported(what, "\\dF lists those that are."))
        }
        _ => Err(missing(SqlState::UNDEFINED_OBJECT, "text search configuration", &parts.join("."))),
    }
}

/// 3F000 where there is no such schema.
fn known(catalog: &Catalog, schema: Option<&str>) -> Result<()> {
    match schema {
        Some(name) if !system::is_system_schema(name) && catalog.schema(name).is_none() => {
            Err(crate::no_schema(name))
        }
        _ => Ok(()),
    }
}

/// A name of the user's things; `None` where there is no such schema, or it is one of the system's.
fn wanted<'n>(catalog: &Catalog, schema: Option<&str>, local: &'n str) -> Option<Wanted<'n>> {
    match schema {
        None => Some(local.into()),
        Some(schema) => Some((catalog.schema(schema)?, local).into()),
    }
}

/// A relation by schema (searched: `pg_catalog`, then the path) and name.
pub fn relation(catalog: &Catalog, schema: Option<&str>, name: &str) -> Option<Oid> {
    match schema {
        None => system::unqualified(name).map(|r| r.oid).or_else(|| catalog.relation_oid(name)),
        Some(schema) if system::is_system_schema(schema) => system::relation(schema, name).map(|r| r.oid),
        Some(schema) => catalog.relation_oid((catalog.schema(schema)?, name)),
    }
}

/// Whether there is a function of that name in `pg_catalog`.
pub fn is_built_in(name: &str) -> bool {
    ROUTINES.by_name.contains_key(name)
}

/// A schema's OID.
pub fn namespace_oid(catalog: &Catalog, name: &str) -> Option<Oid> {
    match name {
        PG_CATALOG => Some(oid::PG_CATALOG),
        INFORMATION_SCHEMA => Some(INFORMATION_SCHEMA_OID),
        _ => catalog.schema(name).map(|id| catalog.schema_oid(id)),
    }
}

/// The name of a schema.
pub fn namespace_name(catalog: &Catalog, oid: Oid) -> Option<&str> {
    match oid {
        oid::PG_CATALOG => Some(PG_CATALOG),
        oid::PUBLIC => Some(PUBLIC),
        INFORMATION_SCHEMA_OID => Some(INFORMATION_SCHEMA),
        _ => match catalog.oids.object(oid)? {
            Object::Schema(id) => Some(catalog.schema_name(*id)),
            _ => None,
        },
    }
}

/// Types whose SQL names are not those of the catalog.
const SPELLINGS: &[(&str, &str)] = &[
    ("int", "int4"),
    ("integer", "int4"),
    ("smallint", "int2"),
    ("bigint", "int8"),
    ("boolean", "bool"),
    ("double precision", "float8"),
    ("real", "float4"),
    ("time without time zone", "time"),
    ("time with time zone", "timetz"),
    ("decimal", "numeric"),
    ("character varying", "varchar"),
    ("character", "bpchar"),
    ("char", "bpchar"),
    ("timestamp without time zone", "timestamp"),
    ("timestamp with time zone", "timestamptz"),
    ("\"char\"", "char"),
];

fn find_type(catalog: &Catalog, text: &str) -> Result<Oid> {
    let unknown = || missing(SqlState::UNDEFINED_OBJECT, "type", text);
    let mut rest = text.trim();
    let mut array = false;
    while let Some(element) = rest.strip_suffix(']') {
        let open = element.rfind('[').ok_or_else(unknown)?;
        rest = element[..open].trim_end();
        array = true;
    }
    if let Some(open) = rest.find('(')
        && let Some(close) = rest[open..].find(')')
    {
        // timestamp(6) with time zone: the modifier does not count.
        let joined = format!("{}{}", &rest[..open], &rest[open + close + 1..]);
        return find_type(catalog, &if array { format!("{joined}[]") } else { joined });
    }
    let words = rest.split_ascii_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
    let found = match SPELLINGS.iter().find(|(spelling, _)| *spelling == words) {
        Some((_, name)) => TYPES.by_name.get(*name).map(|oids| oids[0]),
        None => {
            let parts = split_name(rest)?;
            let (schema, name) = qualified(&parts);
            known(catalog, schema)?;
            let built_in = TYPES.by_name.get(name).filter(|_| in_schema(schema, PG_CATALOG));
            let row = || {
                if let Some(ty) = catalog.user_type(wanted(catalog, schema, name)?) {
                    return Some(catalog.type_oid(ty.id));
                }
                if let Some(ty) = catalog.extension_type(wanted(catalog, schema, name)?) {
                    return Some(oid::of(&ty));
                }
                let array = name.strip_prefix('_');
                if let Some(ty) = array.and_then(|of| catalog.user_type(wanted(catalog, schema, of)?)) {
                    return Some(catalog.oids.of(&Object::TypeArray(ty.id)));
                }
                let relation = catalog.located(wanted(catalog, schema, array.unwrap_or(name))?);
                let of = relation.schema.or(catalog.path().schemas().first().copied())?;
                let key = crate::key(of, relation.local);
                let object = if array.is_some() { Object::RowTypeArray(key) } else { Object::RowType(key) };
                Some(catalog.oids.of(&object)).filter(|oid| *oid != 0)
            };
            built_in.map(|oids| oids[0]).or_else(row)
        }
    };
    let found = found.ok_or_else(unknown)?;
    if !array {
        return Ok(found);
    }
    let of = oid::to_type(found, -1).map(|ty| oid::array_of(&ty)).filter(|oid| *oid != 0);
    let row = || match catalog.oids.object(found) {
        Some(Object::RowType(name)) => Some(catalog.oids.of(&Object::RowTypeArray(name.clone()))),
        Some(Object::Type(id)) => Some(catalog.oids.of(&Object::TypeArray(*id))),
        _ => None,
    };
    of.or_else(row).ok_or_else(unknown)
}

fn find_procedure(catalog: &Catalog, text: &str) -> Result<Oid> {
    let none = || Error::new(SqlState::UNDEFINED_FUNCTION, format!("function \"{text}\" does not exist"));
    let open = text
        .find('(')
        .ok_or_else(|| Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "expected a left parenthesis"))?;
    let inner = text[open + 1..]
        .trim_end()
        .strip_suffix(')')
        .ok_or_else(|| Error::new(SqlState::INVALID_TEXT_REPRESENTATION, "expected a right parenthesis"))?;
    let mut types_wanted = Vec::new();
    for ty in inner.split(',').map(str::trim).filter(|t| !t.is_empty()) {
        types_wanted.push(find_type(catalog, ty)?);
    }
    let parts = split_name(&text[..open])?;
    let (schema, name) = qualified(&parts);
    if let Some(named) = wanted(catalog, schema, name) {
        for p in catalog.procedures_named(named) {
            let declared = p.inputs().map(|q| catalog.declared_oid(&q.ty, q.domain));
            let values = p.inputs().map(|q| oid::of(&q.ty));
            if declared.eq(types_wanted.iter().copied()) || values.eq(types_wanted.iter().copied()) {
                return Ok(catalog.routine_oid(p));
            }
        }
    }
    let relation = system::unqualified("pg_proc").expect("a system relation");
    let column = |name: &str| relation.column(name).expect("a column of it");
    let (oid, proname, types) = (column("oid"), column("proname"), column("proargtypes"));
    let wanted = Datum::Array(types_wanted.into_iter().map(|oid| Datum::Int(i64::from(oid))).collect());
    system::fixed_rows(relation.id)
        .iter()
        .filter(|_| in_schema(schema, PG_CATALOG))
        .find(|row| row[proname] == Datum::Text(name.to_owned()) && row[types] == wanted)
        .and_then(|row| match row[oid] {
            Datum::Int(oid) => Some(oid as Oid),
            _ => None,
        })
        .ok_or_else(none)
}

/// A name of a system schema, qualified where it would not be found without.
fn shown(schema: Oid, name: &str) -> String {
    match schema {
        INFORMATION_SCHEMA_OID => format!("{INFORMATION_SCHEMA}.{}", quote_ident(name)),
        _ => quote_ident(name),
    }
}

/// The name an OID is shown as; its digits where there is no such object, `-` for 0.
pub fn show(catalog: &Catalog, ty: SystemType, oid: Oid) -> String {
    if oid == 0 {
        return "-".to_owned();
    }
    let name = match ty {
        SystemType::RegClass => relation_name(catalog, oid),
        SystemType::RegType => type_name(catalog, oid),
        SystemType::RegProc => routine_name(catalog, oid),
        SystemType::RegProcedure => routine_signature(catalog, oid),
        SystemType::RegOper => OPERATORS.by_oid.get(&oid).map(|(_, name)| {
            let several = OPERATORS.by_name.get(name).is_some_and(|all| all.len() > 1);
            if several { format!("{PG_CATALOG}.{name}") } else { name.clone() }
        }),
        SystemType::RegOperator => OPERATORS.by_oid.get(&oid).map(|(_, name)| {
            let (left, right) = OPERANDS.get(&oid).copied().unwrap_or_default();
            let operand = |ty| match ty {
                0 => "NONE".to_owned(),
                ty => type_name(catalog, ty).unwrap_or_else(|| ty.to_string()),
            };
            format!("{name}({},{})", operand(left), operand(right))
        }),
        SystemType::RegNamespace => namespace_name(catalog, oid).map(quote_ident),
        SystemType::RegRole => {
            let predefined = || crate::PREDEFINED.iter().find(|(_, of)| *of == oid).map(|(name, _)| *name);
            let name = catalog.role_of_oid(oid).map(|r| &*r.name).or_else(predefined);
            name.map(quote_ident)
        }
        SystemType::RegConfig => search::configuration(oid).map(|of| quote_ident(of.name)),
        SystemType::RegCollation => COLLATIONS.by_oid.get(&oid).map(|(_, name)| quote_ident(name)),
        _ => None,
    };
    name.unwrap_or_else(|| oid.to_string())
}

fn relation_name(catalog: &Catalog, oid: Oid) -> Option<String> {
    if let Some(system) = system::relations().iter().find(|r| r.oid == oid) {
        return Some(shown(system.namespace(), system.name));
    }
    let (schema, name) = catalog.relation_name(oid)?;
    Some(catalog.shown_relation(schema, name))
}

fn routine_name(catalog: &Catalog, oid: Oid) -> Option<String> {
    if let Some((schema, name)) = ROUTINES.by_oid.get(&oid) {
        return Some(shown(*schema, name));
    }
    if let Some(name) = crate::aggregates::support_name(oid) {
        return Some(shown(oid::PG_CATALOG, name));
    }
    match catalog.oids.object(oid)? {
        Object::Routine(s) => catalog.routine_by_identity(s).map(|p| catalog.shown_routine(p)),
        _ => None,
    }
}

fn routine_signature(catalog: &Catalog, oid: Oid) -> Option<String> {
    match catalog.oids.object(oid) {
        Some(Object::Routine(s)) => {
            catalog.routine_by_identity(s).map(|routine| catalog.shown_signature(routine))
        }
        _ => Some(format!("{}({})", routine_name(catalog, oid)?, argument_types(catalog, oid)?.join(","))),
    }
}

/// Names of the argument types of a built-in function.
pub fn argument_types(catalog: &Catalog, oid: Oid) -> Option<Vec<String>> {
    let relation = system::unqualified("pg_proc")?;
    let (id, types) = (relation.column("oid")?, relation.column("proargtypes")?);
    let wanted = Datum::Int(i64::from(oid));
    let row = system::fixed_rows(relation.id).iter().find(|row| row[id] == wanted)?;
    let Datum::Array(types) = &row[types] else { return None };
    let name = |t: &Datum| match t {
        Datum::Int(oid) => type_name(catalog, *oid as Oid),
        _ => None,
    };
    Some(types.iter().filter_map(name).collect())
}

/// The SQL name of a type; `None` where there is none of that OID.
pub fn type_name(catalog: &Catalog, oid: Oid) -> Option<String> {
    format_type(catalog, oid, None)
}

/// `format_type(oid, modifier)`: with a modifier as `atttypmod` has it.
pub fn format_type(catalog: &Catalog, oid: Oid, modifier: Option<i32>) -> Option<String> {
    let of_user = |key: &str| {
        let (schema, name) = of_key(key);
        catalog.shown_type(schema, name)
    };
    match catalog.oids.object(oid) {
        Some(Object::RowType(key)) => return Some(of_user(key)),
        Some(Object::RowTypeArray(key)) => return Some(format!("{}[]", of_user(key))),
        Some(Object::Type(id)) => return Some(catalog.shown_user_type(*id)),
        Some(Object::TypeArray(id)) => return Some(format!("{}[]", catalog.shown_user_type(*id))),
        _ => {}
    }
    if oid == oid::of(&Type::Citext) {
        return Some(catalog.shown_citext());
    }
    if oid == oid::array_of(&Type::Citext) {
        return Some(format!("{}[]", catalog.shown_citext()));
    }
    // What no column has is shown as it is.
    if let Some(digits) = modifier.filter(|m| *m > 6) {
        let clock = match oid {
            1083 => Some(("time", "without")),
            1114 => Some(("timestamp", "without")),
            1184 => Some(("timestamp", "with")),
            1266 => Some(("time", "with")),
            _ => None,
        };
        if let Some((name, with)) = clock {
            return Some(format!("{name}({digits}) {with} time zone"));
        }
    }
    if let Some(ty) = oid::to_type(oid, modifier.unwrap_or(-1)) {
        let limited = modifier.is_some_and(|m| m >= 4);
        let unlimited = |ty: &Type| match ty {
            // character without a length is what PostgreSQL calls bpchar, unless no modifier was asked.
            Type::Char(_) if !limited => Some(if modifier.is_some() { "bpchar" } else { "character" }),
            // bit without a length is one bit in SQL, so its name is in quotes where a modifier was asked.
            Type::Packed(PackedType::Bit(None)) if modifier.is_some() => Some("\"bit\""),
            _ => None,
        };
        return Some(match &ty {
            Type::Array(of) => match unlimited(of) {
                Some(name) => format!("{name}[]"),
                None => ty.to_string(),
            },
            ty => unlimited(ty).map_or_else(|| ty.to_string(), str::to_owned),
        });
    }
    if let Some((schema, name)) = TYPES.by_oid.get(&oid) {
        return Some(match name.strip_prefix('_') {
            Some(of) if TYPES.by_name.contains_key(of) => format!("{}[]", shown(*schema, of)),
            _ if name == "any" => "\"any\"".to_owned(),
            _ => shown(*schema, name),
        });
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_shown() {
        let catalog = Catalog::default();
        let find = |ty, text: &str| find(&catalog, ty, text);
        assert_eq!(find(SystemType::RegClass, "pg_class"), Ok(1259));
        assert_eq!(find(SystemType::RegClass, "pg_catalog.\"pg_class\""), Ok(1259));
        assert_eq!(find(SystemType::RegClass, "1259"), Ok(1259));
        let error = find(SystemType::RegClass, "Nowhere").expect_err("missing");
        assert_eq!(
            (error.sqlstate().as_str(), error.message()),
            ("42P01", "relation \"nowhere\" does not exist")
        );
        for (text, oid) in [
            ("integer", 23),
            ("int4", 23),
            ("pg_catalog.int4", 23),
            ("varchar(20)", 1043),
            ("character varying", 1043),
            ("timestamp(6) with time zone", 1184),
            ("int4[]", 1007),
            ("\"char\"", 18),
            ("_text", 1009),
        ] {
            assert_eq!(find(SystemType::RegType, text), Ok(oid), "{text}");
        }
        assert_eq!(find(SystemType::RegType, "hstore").expect_err("missing").sqlstate().as_str(), "42704");
        assert_eq!(find(SystemType::RegProc, "pg_catalog.array_in"), Ok(750));
        assert_eq!(find(SystemType::RegNamespace, "public"), Ok(2200));
        assert_eq!(show(&catalog, SystemType::RegClass, 1259), "pg_class");
        assert_eq!(show(&catalog, SystemType::RegType, 1007), "integer[]");
        assert_eq!(show(&catalog, SystemType::RegProc, 750), "array_in");
        assert_eq!(show(&catalog, SystemType::RegClass, 7), "7");
        assert_eq!(format_type(&catalog, 1043, Some(44)).as_deref(), Some("character varying(40)"));
        assert_eq!(format_type(&catalog, 1042, None).as_deref(), Some("character"));
        assert_eq!(format_type(&catalog, 2249, None).as_deref(), Some("record"));
    }
}
