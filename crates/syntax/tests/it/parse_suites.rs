//! Every file of the workloads' SQL parses, the bodies of its routines included.

use std::path::{Path, PathBuf};

use planaria_syntax::ast::plpgsql::PlBlock;
use planaria_syntax::ast::{Statement, StatementKind};
use planaria_syntax::parse;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../workload/sql")
}

fn files(suite: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder().join(suite))
        .expect("the suite's folder")
        .map(|entry| entry.expect("a folder entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "sql"))
        .collect();
    files.sort();
    files
}

/// The PL/pgSQL bodies of a script's statements.
fn bodies(statements: &[Statement]) -> Vec<(String, PlBlock)> {
    let mut bodies = Vec::new();
    for statement in statements {
        let (name, body) = match &statement.kind {
            StatementKind::CreateRoutine(routine) => {
                assert_eq!(routine.unsupported, None);
                if routine.language.as_deref() != Some("plpgsql") {
                    parse::statements(&routine.body).expect("a SQL body");
                    continue;
                }
                (routine.name.parts.join("."), &routine.body)
            }
            StatementKind::Do { body, .. } => ("DO".to_owned(), body),
            StatementKind::Unsupported(what) => panic!("unsupported: {what}"),
            _ => continue,
        };
        let block = parse::plpgsql(body).unwrap_or_else(|e| panic!("body of {name}: {e:?}"));
        bodies.push((name, block));
    }
    bodies
}

#[test]
fn suites_parse_with_their_bodies() {
    let mut count = 0;
    for suite in ["tpcc", "smallbank", "voter", "ycsb", "tpcb"] {
        let files = files(suite);
        assert!(files.len() >= 5, "{suite}: {files:?}");
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a readable file");
            let statements = parse::statements(&text).unwrap_or_else(|e| panic!("{}: {e:?}", file.display()));
            assert!(!statements.is_empty());
            count += bodies(&statements).len();
        }
    }
    assert!(count >= 30, "{count} bodies");
}

/// pgbench scripts: `\` lines are its own language, `:name` is replaced by a number.
#[test]
fn pgbench_scripts_parse() {
    for file in files("pgbench") {
        let text = std::fs::read_to_string(&file).expect("a readable file");
        let sql: String = text.lines().filter(|l| !l.starts_with('\\')).collect::<Vec<_>>().join("\n");
        let mut plain = String::new();
        let mut rest = sql.as_str();
        while let Some(at) = rest.find(':') {
            plain.push_str(&rest[..at]);
            rest = &rest[at + 1..];
            if let Some(cast) = rest.strip_prefix(':') {
                plain.push_str("::");
                rest = cast;
                continue;
            }
            let name = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').count();
            plain.push('1');
            rest = &rest[name..];
        }
        plain.push_str(rest);
        let statements = parse::statements(&plain).unwrap_or_else(|e| panic!("{}: {e:?}", file.display()));
        assert!(!statements.is_empty(), "{}", file.display());
    }
}
