//! All that can be seen of a database, as text: what two openings of it are compared by.

use planaria::{Database, Result};
use std::collections::BTreeMap;

/// Rows, and what the catalogs say. Where sequences stand is told apart: see [`positions`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Content {
    tables: BTreeMap<String, Vec<String>>,
    facts: Vec<String>,
}

const TABLES: &str = "
    SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'public' AND c.relkind = 'r'";

const FACTS: &str = "
    SELECT 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull
           || ' ' || coalesce(pg_get_expr(d.adbin, d.adrelid), '-') || ' ' || a.attidentity || ' ' || a.attgenerated
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
         LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE n.nspname = 'public' AND a.attnum > 0
    UNION ALL SELECT 'constraint ' || c.relname || '.' || k.conname || ' ' || pg_get_constraintdef(k.oid)
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
    UNION ALL SELECT 'index ' || indexdef FROM pg_indexes WHERE schemaname = 'public'
    UNION ALL SELECT 'view ' || viewname || ' ' || definition FROM pg_views WHERE schemaname = 'public'
    UNION ALL SELECT 'routine ' || p.proname || ' ' || pg_get_userbyid(p.proowner) || ' ' || p.prosecdef || ' ' || p.prosrc
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'public'
    UNION ALL SELECT 'relation ' || c.relname || ' ' || pg_get_userbyid(c.relowner) || ' ' || coalesce(c.relacl::text, '-')
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'public'
    UNION ALL SELECT 'sequence ' || sequencename || ' ' || start_value || ' ' || min_value || ' ' || max_value || ' '
           || increment_by || ' ' || cycle
    FROM pg_sequences
    UNION ALL SELECT 'role ' || rolname || ' ' || rolsuper || ' ' || rolcanlogin FROM pg_roles";

/// How many rows a difference shows of each side.
const SHOWN: usize = 3;

impl Content {
    /// Of a database in which nobody is; its indexes are compared with its rows on the way.
    pub fn checked(db: &Database) -> Result<Content> {
        db.check()?;
        Content::of(db)
    }

    /// Of a database, as its superuser sees it.
    pub fn of(db: &Database) -> Result<Content> {
        let mut tables = BTreeMap::new();
        for row in &db.query(TABLES, ())? {
            let name: String = row.get(0)?;
            let rows = lines(db, &format!("SELECT * FROM {name}"))?;
            tables.insert(name, rows);
        }
        Ok(Content { tables, facts: lines(db, FACTS)? })
    }

    /// How it differs from what it should be; nothing where it does not.
    pub fn difference(&self, wanted: &Content) -> String {
        let mut text = only("facts", &self.facts, &wanted.facts);
        for (name, rows) in &self.tables {
            if let Some(wanted) = wanted.tables.get(name) {
                text += &only(&format!("rows of {name}"), rows, wanted);
            }
        }
        text
    }
}

fn only(what: &str, there: &[String], wanted: &[String]) -> String {
    if there == wanted {
        return String::new();
    }
    let some = |a: &[String], b: &[String]| -> Vec<String> {
        a.iter().filter(|x| !b.contains(x)).take(SHOWN).cloned().collect()
    };
    let count = if there.len() == wanted.len() {
        String::new()
    } else {
        format!(" ({} instead of {})", there.len(), wanted.len())
    };
    format!("{what}{count}: {:?} instead of {:?}; ", some(there, wanted), some(wanted, there))
}

/// The rows of a query as text, in order of it.
fn lines(db: &Database, sql: &str) -> Result<Vec<String>> {
    let rows = db.query(sql, ())?;
    let columns = rows.columns().len();
    let cell = |text: Option<String>| text.unwrap_or_else(|| "NULL".to_owned());
    let line = |row: &planaria::Row| -> String {
        (0..columns).map(|i| cell(row.text(i))).collect::<Vec<_>>().join(" | ")
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.sort();
    Ok(lines)
}

/// Where a sequence stands, and what follows from its definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The number given last, if there is one.
    pub last: Option<i64>,
    increment: i64,
    min: i64,
    max: i64,
    cycle: bool,
}

const POSITIONS: &str =
    "SELECT sequencename::text, last_value, increment_by, min_value, max_value, cycle FROM pg_sequences";

impl Position {
    /// The number that must be given next; `None` if none must.
    pub fn next(&self) -> Option<i64> {
        let next = self.last?.checked_add(self.increment);
        let within = |n: &i64| (self.min..=self.max).contains(n);
        let first = if self.increment > 0 { self.min } else { self.max };
        next.filter(within).or(self.cycle.then_some(first))
    }
}

/// Where all sequences stand.
pub fn positions(db: &Database) -> Result<BTreeMap<String, Position>> {
    let mut positions = BTreeMap::new();
    for row in &db.query(POSITIONS, ())? {
        let position = Position {
            last: row.get(1)?,
            increment: row.get(2)?,
            min: row.get(3)?,
            max: row.get(4)?,
            cycle: row.get(5)?,
        };
        positions.insert(row.get(0)?, position);
    }
    Ok(positions)
}
