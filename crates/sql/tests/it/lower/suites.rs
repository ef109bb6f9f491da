//! The five conformance suites: every routine, statement and DO block of them lowers and verifies.

use planaria_base::Result;
use planaria_catalog::Catalog;
use planaria_ir::Program;
use planaria_sql::ddl;
use planaria_sql::lower::{CatalogEnv, ParamTypes, Runner, lower_statement, plpgsql};
use planaria_syntax::ast::StatementKind;
use planaria_syntax::parse;
use std::path::PathBuf;

/// Where the suites are: beside the repository, or where `PLANARIA_SQL` says. `None`: not there.
fn suite(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("PLANARIA_SQL")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/sql"));
    let path = root.join(name);
    path.is_dir().then_some(path)
}

fn read(path: PathBuf) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The definitions of a script; what defines nothing is passed over.
pub(super) fn define(catalog: &mut Catalog, script: &str) {
    for statement in parse::statements(script).expect(script).iter().filter(|s| ddl::is_ddl(s)) {
        ddl::apply(catalog, statement).expect(script);
    }
}

fn check(catalog: &Catalog, name: &str, program: Result<Program>) -> Program {
    let program = program.unwrap_or_else(|e| panic!("{name}: {e:?}"));
    planaria_ir::verify(&program, &CatalogEnv(catalog)).unwrap_or_else(|e| panic!("{name}:\n{program}\n{e}"));
    program
}

fn suite_lowers(name: &str) {
    let Some(path) = suite(name) else { return };
    let file = |f: &str| read(path.join(f));
    let mut catalog = Catalog::default();
    for f in ["schema.sql", "load.sql", "procedures.sql", "golden.sql"] {
        define(&mut catalog, &file(f));
    }
    for procedure in &catalog.procedures {
        let program = check(&catalog, &procedure.name, plpgsql::lower_procedure(&catalog, procedure));
        if std::env::var("DUMP").is_ok_and(|name| name == procedure.name) {
            println!("{program}");
        }
    }
    for f in ["golden.sql", "checks.sql"] {
        let text = file(f);
        for (i, statement) in parse::statements(&text).expect(f).iter().enumerate() {
            let name = format!("{f}, statement {i}");
            match &statement.kind {
                StatementKind::Query(_)
                | StatementKind::Insert(_)
                | StatementKind::Update(_)
                | StatementKind::Delete(_)
                | StatementKind::Merge(_)
                | StatementKind::Call { .. } => {
                    check(&catalog, &name, lower_statement(&catalog, statement, &ParamTypes::default()));
                }
                StatementKind::Do { body, .. } => {
                    check(
                        &catalog,
                        &name,
                        plpgsql::lower_do(&catalog, body, Runner::Engine, None).map(|l| l.program),
                    );
                }
                _ => {}
            }
        }
    }
}

#[test]
fn tpcc() {
    suite_lowers("tpcc");
}

#[test]
fn smallbank() {
    suite_lowers("smallbank");
}

#[test]
fn voter() {
    suite_lowers("voter");
}

#[test]
fn ycsb() {
    suite_lowers("ycsb");
}

#[test]
fn tpcb() {
    suite_lowers("tpcb");
}
