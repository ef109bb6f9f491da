//! What `-t` and `-n` choose.

use super::source::Source;
use planaria::{Error, Result, SqlState};
use std::collections::HashSet;

/// Schemas of users, as a condition on `n`.
pub const USERS: &str = "n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'";

/// See the module's head.
pub struct Selection {
    /// Names of schemas; none: all.
    schemas: HashSet<String>,
    /// Relations by OID; `None`: all of the schemas, and what is no relation.
    relations: Option<HashSet<u32>>,
}

impl Selection {
    /// Looks the names up: 42P01 or 3F000 for one that is not there.
    pub fn new(source: &mut Source, tables: &[String], schemas: &[String]) -> Result<Selection> {
        let query = format!("SELECT n.nspname FROM pg_namespace n WHERE {USERS}");
        let known: Vec<String> = source.rows(&query)?.iter().map(|r| r.text(0).to_owned()).collect();
        let mut chosen = HashSet::new();
        for name in schemas {
            let found = known.iter().find(|known| *known == name || parts(name) == [known.as_str()]);
            let found = found.ok_or_else(|| {
                Error::new(SqlState::new("3F000"), format!("schema \"{name}\" does not exist"))
            })?;
            chosen.insert(found.clone());
        }
        let mut selection = Selection { schemas: chosen, relations: None };
        if tables.is_empty() {
            return Ok(selection);
        }
        // A table comes with the sequences that its columns own.
        let query = format!(
            "SELECT c.oid, n.nspname, c.relname, d.refobjid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
             LEFT JOIN pg_depend d ON d.classid = 1259 AND d.objid = c.oid AND d.refclassid = 1259 AND d.refobjsubid > 0
              AND d.deptype IN ('a', 'i') AND c.relkind = 'S'
             WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S') AND c.relpersistence <> 't' AND {USERS}"
        );
        let relations = source.rows(&query)?;
        let mut oids = HashSet::new();
        for name in tables {
            let parts = parts(name);
            let found = relations.iter().filter(|r| match parts.as_slice() {
                [table] => table == r.text(2) && selection.has_schema(r.text(1)),
                [schema, table] => table == r.text(2) && schema == r.text(1),
                _ => false,
            });
            let found: Vec<u32> = found.map(|r| r.oid(0)).collect();
            if found.is_empty() {
                return Err(Error::new(
                    SqlState::new("42P01"),
                    format!("relation \"{name}\" does not exist"),
                ));
            }
            oids.extend(found);
        }
        let owned = relations.iter().filter(|r| oids.contains(&r.oid(3))).map(|r| r.oid(0));
        let owned: Vec<u32> = owned.collect();
        oids.extend(owned);
        selection.relations = Some(oids);
        Ok(selection)
    }

    /// Whether what is in a schema belongs to it.
    pub fn has_schema(&self, name: &str) -> bool {
        self.schemas.is_empty() || self.schemas.contains(name)
    }

    /// Whether anything but relations does.
    pub fn has_all_kinds(&self) -> bool {
        self.relations.is_none()
    }

    /// Whether a relation of a schema does.
    pub fn has_relation(&self, oid: u32, schema: &str) -> bool {
        match &self.relations {
            Some(chosen) => chosen.contains(&oid),
            None => self.has_schema(schema),
        }
    }
}

/// A name and its schema: small letters unless they are quoted.
fn parts(text: &str) -> Vec<String> {
    let (mut parts, mut quoted) = (vec![String::new()], false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c => {
                let last = parts.last_mut().expect("it begins with one");
                if quoted { last.push(c) } else { last.extend(c.to_lowercase()) }
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_small_unless_quoted() {
        assert_eq!(parts("Shop.Item"), ["shop", "item"]);
        assert_eq!(parts("\"Odd.one\".\"T x\""), ["Odd.one", "T x"]);
    }
}
