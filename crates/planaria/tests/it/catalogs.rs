//! The catalog queries that clients send, word for word, and what they get.
//!
//! `catalogs/CLIENT.sql` holds the texts, a blank line between them; `-- $1 = value` gives a parameter (as the
//! client bound it, in text form), `{table t}` and `{routine f}` stand for OIDs. `catalogs/CLIENT.out` is what
//! they answer on `catalogs/schema.sql`. `UPDATE=1 cargo test --test it catalogs` writes it anew.

use planaria::{Database, Datum, Session};
use std::fmt::Write;
use std::path::Path;

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/catalogs"))
}

fn shop() -> Database {
    let db = Database::in_memory().expect("opens");
    let schema = std::fs::read_to_string(folder().join("schema.sql")).expect("the schema");
    db.execute_script(&schema).expect("the schema is accepted");
    db
}

/// Replaces `{table t}` and `{routine f}` by OIDs.
fn with_oids(session: &mut Session, text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, after) = rest.split_at(open);
        out.push_str(before);
        let close = after.find('}').expect("a closing brace");
        let oid = match after[1..close].split_once(' ') {
            Some((kind @ ("table" | "routine"), name)) => {
                let ty = if kind == "table" { "regclass" } else { "regproc" };
                let rows = session.query(&format!("SELECT '{name}'::{ty}::oid"), ()).expect("an object");
                rows[0].get::<u32>(0).expect("an oid").to_string()
            }
            _ => after[..=close].to_owned(),
        };
        out.push_str(&oid);
        rest = &after[close + 1..];
    }
    out.push_str(rest);
    out
}

/// Runs the texts of a client.
fn run(client: &str) -> String {
    let db = shop();
    let mut session = db.session().expect("a session");
    let texts = std::fs::read_to_string(folder().join(format!("{client}.sql"))).expect("the texts");
    let mut out = String::new();
    let mut texts = texts.split(";\n").map(str::trim).filter(|t| !t.is_empty()).collect::<Vec<_>>();
    if let Some(last) = texts.last_mut() {
        *last = last.trim_end_matches(';');
    }
    for (n, text) in texts.into_iter().enumerate() {
        let mut params = Vec::new();
        let mut title = String::new();
        let mut lines = Vec::new();
        for line in text.lines() {
            match line.strip_prefix("-- ") {
                Some(param) if param.starts_with('$') => {
                    let value = param.split_once(" = ").map_or("", |(_, v)| v);
                    let value = with_oids(&mut session, value);
                    params.push(if value == "NULL" { Datum::Null } else { Datum::Text(value) });
                }
                Some(words) => title = format!(" {words}"),
                None => lines.push(line),
            }
        }
        let _ = writeln!(out, "== {}{title}", n + 1);
        let text = with_oids(&mut session, &lines.join("\n"));
        match session.query(&text, params) {
            Err(error) => {
                let _ = writeln!(out, "{}: {}", error.sqlstate().as_str(), error.message());
            }
            Ok(rows) => {
                let names: Vec<&str> = rows.columns().iter().map(|c| c.name.as_str()).collect();
                let _ = writeln!(out, "{}", names.join(" | "));
                for row in &rows {
                    let show = |i: usize| {
                        let value: Option<String> = row.get(i).expect("text");
                        shown(&value.unwrap_or_default())
                    };
                    let values: Vec<String> = (0..names.len()).map(show).collect();
                    let _ = writeln!(out, "{}", values.join(" | ").trim_end());
                }
            }
        }
    }
    out
}

/// A value on one line; how large things are is the storage's business.
fn shown(value: &str) -> String {
    match value.strip_suffix(" bytes") {
        Some(n) if n.bytes().all(|b| b.is_ascii_digit()) => "some bytes".to_owned(),
        _ => value.replace('\n', "\\n"),
    }
}

fn golden(client: &str) {
    let path = folder().join(format!("{client}.out"));
    let found = run(client);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &found).expect("writes");
    }
    let wanted = std::fs::read_to_string(&path).unwrap_or_default();
    for (n, (found, wanted)) in found.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(found, wanted, "{client}.out, line {}", n + 1);
    }
    assert_eq!(found.lines().count(), wanted.lines().count(), "{client}.out");
}

#[test]
fn psql() {
    golden("psql");
}

#[test]
fn jdbc() {
    golden("jdbc");
}

#[test]
fn sqlalchemy() {
    golden("sqlalchemy");
}

#[test]
fn asyncpg() {
    golden("asyncpg");
}

#[test]
fn pgbench() {
    golden("pgbench");
}

#[test]
fn information_schema() {
    golden("information_schema");
}
