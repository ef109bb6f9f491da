//! Roles and grants.

use super::objects::{Kind, Objects};
use super::select::{Selection, USERS};
use super::source::{Source, literal};
use planaria::Result;
use std::collections::HashMap;

/// Roles but for the first superuser, who is everywhere.
pub fn roles(source: &mut Source) -> Result<Vec<String>> {
    let query = "SELECT quote_ident(rolname), rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication,
                        rolbypassrls, rolconnlimit, rolpassword, rolvaliduntil
                 FROM pg_authid WHERE oid <> 10 AND rolname !~ '^pg_' ORDER BY rolname";
    const RIGHTS: [&str; 7] =
        ["SUPERUSER", "INHERIT", "CREATEROLE", "CREATEDB", "LOGIN", "REPLICATION", "BYPASSRLS"];
    let mut statements = Vec::new();
    for row in source.rows(query)? {
        let mut statement = format!("CREATE ROLE {} WITH", row.text(0));
        for (at, right) in RIGHTS.iter().enumerate() {
            statement.push_str(if row.is(at + 1) { " " } else { " NO" });
            statement.push_str(right);
        }
        if row.text(8) != "-1" {
            statement.push_str(&format!(" CONNECTION LIMIT {}", row.text(8)));
        }
        if let Some(verifier) = row.get(9) {
            statement.push_str(&format!(" PASSWORD {}", literal(verifier)));
        }
        if let Some(until) = row.get(10) {
            statement.push_str(&format!(" VALID UNTIL {}", literal(until)));
        }
        statements.push(statement + ";");
    }
    let query = "SELECT quote_ident(r.rolname), quote_ident(m.rolname), a.admin_option
                 FROM pg_auth_members a JOIN pg_authid r ON r.oid = a.roleid JOIN pg_authid m ON m.oid = a.member
                 WHERE a.member >= 16384 ORDER BY r.rolname, m.rolname";
    for row in source.rows(query)? {
        let admin = if row.is(2) { " WITH ADMIN OPTION" } else { "" };
        statements.push(format!("GRANT {} TO {}{admin};", row.text(0), row.text(1)));
    }
    Ok(statements)
}

/// Letters of rights, and their names.
const NAMES: [(char, &str); 13] = [
    ('r', "SELECT"),
    ('a', "INSERT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('c', "CONNECT"),
    ('T', "TEMPORARY"),
    ('m', "MAINTAIN"),
];

/// `grantee=rights/grantor`
#[derive(Clone, Debug, PartialEq, Eq)]
struct Item {
    grantee: String,
    rights: String,
    grantor: String,
}

/// Elements of an array of texts.
fn elements(array: &str) -> Vec<String> {
    let inner = array.strip_prefix('{').and_then(|a| a.strip_suffix('}')).unwrap_or_default();
    let (mut elements, mut current, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => quoted = !quoted,
            '\\' => current.extend(chars.next()),
            ',' if !quoted => elements.push(std::mem::take(&mut current)),
            c => current.push(c),
        }
    }
    if !current.is_empty() {
        elements.push(current);
    }
    elements
}

fn items(acl: &str) -> Vec<Item> {
    let item = |text: String| {
        // A name that needs them stands in quotes.
        let mut quoted = false;
        let at = text.find(|c: char| {
            quoted ^= c == '"';
            c == '=' && !quoted
        })?;
        let (grantee, rest) = (&text[..at], &text[at + 1..]);
        let (rights, grantor) = rest.split_once('/')?;
        let grantee = if grantee.is_empty() { "PUBLIC" } else { grantee };
        Some(Item { grantee: grantee.to_owned(), rights: rights.to_owned(), grantor: grantor.to_owned() })
    };
    elements(acl).into_iter().filter_map(item).collect()
}

/// A role as SQL has it: names in rights are quoted only where they have odd characters.
fn role(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if name == "PUBLIC" || name.starts_with('"') || name.chars().all(plain) {
        return name.to_owned();
    }
    format!("\"{name}\"")
}

/// What makes the rights of an object from those that it has when it is made.
fn statements(on: &str, acl: &str, default: &str) -> Vec<String> {
    let given = items(default);
    let owner = given.first().map_or(String::new(), |item| item.grantor.clone());
    differing(on, "", &items(acl), &given, &owner)
}

/// The same by items, of privileges on these columns (`(a)`).
fn differing(on: &str, columns: &str, has: &[Item], given: &[Item], owner: &str) -> Vec<String> {
    let mut statements = Vec::new();
    for item in given.iter().filter(|item| !has.contains(item)) {
        statements.push(format!("REVOKE ALL ON {on} FROM {};", role(&item.grantee)));
    }
    let mut granted: Vec<&Item> = has.iter().filter(|item| !given.contains(item)).collect();
    // Who hands a right on has it from the owner.
    granted.sort_by_key(|item| (item.grantor != owner, item.grantee.clone()));
    for item in granted {
        let (mut plain, mut with_option) = (Vec::new(), Vec::new());
        let mut letters = item.rights.chars().peekable();
        while let Some(letter) = letters.next() {
            let option = letters.next_if_eq(&'*').is_some();
            if let Some((_, name)) = NAMES.iter().find(|(l, _)| *l == letter) {
                let name = format!("{name}{columns}");
                if option { with_option.push(name) } else { plain.push(name) }
            }
        }
        let other = item.grantor != owner;
        if other {
            statements.push(format!("SET SESSION AUTHORIZATION {};", role(&item.grantor)));
        }
        for (names, option) in [(plain, ""), (with_option, " WITH GRANT OPTION")] {
            if !names.is_empty() {
                let names = names.join(", ");
                statements.push(format!("GRANT {names} ON {on} TO {}{option};", role(&item.grantee)));
            }
        }
        if other {
            statements.push("RESET SESSION AUTHORIZATION;".to_owned());
        }
    }
    statements
}

/// The rights of everything that is dumped.
pub fn grants(source: &mut Source, objects: &Objects, selection: &Selection) -> Result<Vec<String>> {
    let mut found = Vec::new();
    if selection.has_all_kinds() {
        let query = format!(
            "SELECT n.nspname, quote_ident(n.nspname), n.nspacl::text, acldefault('n', n.nspowner)::text
             FROM pg_namespace n WHERE n.nspacl IS NOT NULL AND {USERS} ORDER BY n.nspname"
        );
        for row in source.rows(&query)?.iter().filter(|row| selection.has_schema(row.text(0))) {
            let mut default = row.text(3).to_owned();
            if row.text(0) == "public" {
                // Everybody may use it from the beginning.
                let owner = items(&default).first().map_or(String::new(), |item| item.grantor.clone());
                default = default.replace('}', &format!(",=U/{owner}}}"));
            }
            found.extend(statements(&format!("SCHEMA {}", row.text(1)), row.text(2), &default));
        }
    }
    let mut on_columns: HashMap<u32, Vec<(String, Vec<Item>)>> = HashMap::new();
    let query = "SELECT attrelid, quote_ident(attname), attacl::text FROM pg_attribute
                 WHERE attacl IS NOT NULL AND attnum > 0 AND NOT attisdropped ORDER BY attrelid, attnum";
    for row in source.rows(query)? {
        let columns = on_columns.entry(row.text(0).parse().unwrap_or_default()).or_default();
        columns.push((row.text(1).to_owned(), items(row.text(2))));
    }
    let mut with_rights: Vec<_> =
        objects.iter().filter(|o| o.acl.is_some() || on_columns.contains_key(&o.oid)).collect();
    with_rights.sort_by_key(|o| (o.kind, &o.name));
    for object in with_rights {
        let kind = match object.kind {
            Kind::Type => 'T',
            Kind::Routine => 'f',
            Kind::Sequence => 's',
            Kind::Table | Kind::View => 'r',
        };
        let owner = literal(&object.owner);
        let query = format!("SELECT acldefault('{kind}', {owner}::regrole)::text");
        let default = source.rows(&query)?.first().map_or(String::new(), |row| row.text(0).to_owned());
        let on = match object.kind {
            Kind::Table | Kind::View => format!("TABLE {}", object.name),
            Kind::Type => format!("TYPE {}", object.name),
            _ => object.label.clone(),
        };
        if let Some(acl) = &object.acl {
            found.extend(statements(&on, acl, &default));
        }
        // Types and routines may have the OID of another catalog's relation.
        if matches!(object.kind, Kind::Table | Kind::View) {
            let owner = items(&default).first().map_or(String::new(), |item| item.grantor.clone());
            for (column, has) in on_columns.get(&object.oid).into_iter().flatten() {
                found.extend(differing(&on, &format!(" ({column})"), has, &[], &owner));
            }
        }
    }
    if selection.has_all_kinds() {
        found.extend(defaults(source, selection)?);
    }
    Ok(found)
}

/// ALTER DEFAULT PRIVILEGES: behind everything that is made.
fn defaults(source: &mut Source, selection: &Selection) -> Result<Vec<String>> {
    let query = "SELECT d.defaclobjtype, quote_ident(pg_get_userbyid(d.defaclrole)), n.nspname, quote_ident(n.nspname),
                        d.defaclacl::text,
                        acldefault(CASE WHEN d.defaclobjtype = 'S' THEN 's' ELSE d.defaclobjtype END::\"char\",
                                   d.defaclrole)::text
                 FROM pg_default_acl d LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace
                 ORDER BY 2, 4 NULLS FIRST, 1";
    let mut found = Vec::new();
    for row in source.rows(query)? {
        let kind = match row.text(0) {
            "r" => "TABLES",
            "S" => "SEQUENCES",
            "f" => "FUNCTIONS",
            "T" => "TYPES",
            _ => "SCHEMAS",
        };
        let usual = items(row.text(5));
        let owner = usual.first().map_or(String::new(), |item| item.grantor.clone());
        let (place, usual) = match row.get(2) {
            Some(schema) if !selection.has_schema(schema) => continue,
            Some(_) => (format!(" IN SCHEMA {}", row.text(3)), Vec::new()),
            None => (String::new(), usual),
        };
        for statement in differing(kind, "", &items(row.text(4)), &usual, &owner) {
            found.push(format!("ALTER DEFAULT PRIVILEGES FOR ROLE {}{place} {statement}", row.text(1)));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_are_told_apart_from_those_of_the_beginning() {
        let default = "{boss=arw/boss,=X/boss}";
        let acl = r#"{boss=arw/boss,"\"Ann x\"=r*w/boss",bob=r/"\"Ann x\""}"#;
        let made = statements("TABLE t", acl, default);
        assert_eq!(
            made,
            [
                "REVOKE ALL ON TABLE t FROM PUBLIC;",
                "GRANT UPDATE ON TABLE t TO \"Ann x\";",
                "GRANT SELECT ON TABLE t TO \"Ann x\" WITH GRANT OPTION;",
                "SET SESSION AUTHORIZATION \"Ann x\";",
                "GRANT SELECT ON TABLE t TO bob;",
                "RESET SESSION AUTHORIZATION;",
            ]
        );
    }
}
