//! How procedures are cut for `regrow`: the plans and pieces of the suites and of one procedure for each
//! way in which a write finds its row. `UPDATE_GOLDEN=1 cargo test -p planaria-analysis --test it regrow`
//! writes the answers anew; read the difference.

use planaria_analysis::{Numbers, inline, regrow};
use planaria_base::ProcedureId;
use planaria_catalog::{Catalog, Procedure};
use planaria_ir::{OpKind, Program, verify};
use planaria_sql::ddl;
use planaria_sql::lower::CatalogEnv;
use planaria_sql::lower::plpgsql::lower_procedure_rights;
use planaria_syntax::parse;
use std::fmt::Write;
use std::path::{Path, PathBuf};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn catalog(files: &[String]) -> Catalog {
    let mut catalog = Catalog::default();
    for file in files {
        let text = std::fs::read_to_string(root(file)).expect(file);
        for statement in parse::statements(&text).expect(file) {
            if ddl::is_ddl(&statement) {
                ddl::apply(&mut catalog, &statement).unwrap_or_else(|e| panic!("{file}: {e:?}"));
            }
        }
    }
    catalog
}

/// A program's body, without the declarations of its registers.
pub(crate) fn body(program: &Program) -> String {
    let text = program.to_string();
    let lines =
        text.lines().filter(|l| !["  reg ", "  output ", "  labels "].iter().any(|p| l.starts_with(p)));
    lines.fold(String::new(), |all, line| all + line + "\n")
}

/// The plan and the pieces of every procedure that can be lowered without the rest of its suite.
fn answer(catalog: &Catalog) -> String {
    let programs: Vec<Option<Program>> = catalog.procedures.iter().map(|p| whole(catalog, p)).collect();
    let env = CatalogEnv(catalog);
    let mut facts = regrow::Facts::default();
    programs.iter().flatten().for_each(|p| facts.add(p, &env));
    let callee = |id: ProcedureId| programs[id.index()].as_ref();
    let mut out = String::new();
    for program in programs.iter().flatten() {
        let _ = writeln!(out, "==== {}", program.name);
        let whole = inline(program, &callee).expect("it is inlined");
        let plan = match regrow::plan(&whole, &facts, &|_| false) {
            Ok(plan) => plan,
            Err(e) => {
                let _ = writeln!(out, "no plan: {}\n", e.0);
                continue;
            }
        };
        for note in &plan.notes {
            let _ = writeln!(out, "-- {}: {}", note.position, note.text(&Numbers));
        }
        let pieces = plan.pieces.iter().map(|p| &p.program);
        for program in [&plan.forward, &plan.plan].into_iter().chain(pieces) {
            verify(program, &env).unwrap_or_else(|e| panic!("{}\n{program}", e.message()));
        }
        // Only what no procedure changes is read out of order.
        plan.plan.body.visit(&mut |op| {
            if let OpKind::Get { table, columns, .. } | OpKind::Scan { table, columns, .. } = &op.kind {
                let facts = facts.table(*table).expect("it is touched");
                assert!(columns.iter().all(|(c, _)| facts.is_stable(*c)), "{}", program.name);
            }
        });
        let _ = write!(out, "plan\n{}", body(&plan.plan));
        for (number, piece) in plan.pieces.iter().enumerate() {
            let _ = write!(
                out,
                "piece {number}: {} key columns of {:?}\n{}",
                piece.key,
                piece.tables,
                body(&piece.program)
            );
        }
        out.push('\n');
    }
    out
}

/// A procedure's program; `None` where it has a statement that fails, as its tables are not here.
pub(crate) fn whole(catalog: &Catalog, procedure: &Procedure) -> Option<Program> {
    let lowered = lower_procedure_rights(catalog, procedure, None).ok()?;
    lowered.errors.is_empty().then_some(lowered.program)
}

/// Compares what is said of these definitions with what stands in a folder of `tests`.
pub(crate) fn golden(folder: &str, name: &str, files: &[String], answer: fn(&Catalog) -> String) {
    let got = answer(&catalog(files));
    let file = root("tests").join(folder).join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &got).expect("written");
    }
    assert_eq!(got, std::fs::read_to_string(&file).unwrap_or_default(), "{name}");
}

/// The same of a suite.
pub(crate) fn golden_suite(folder: &str, name: &str, answer: fn(&Catalog) -> String) {
    let file = |part: &str| format!("../workload/sql/{name}/{part}.sql");
    golden(folder, &format!("{name}.txt"), &[file("schema"), file("procedures")], answer);
}

fn suite(name: &str) {
    golden_suite("regrow", name, answer);
}

#[test]
fn shapes() {
    golden("regrow", "shapes.txt", &["tests/regrow/shapes.sql".to_owned()], answer);
}

#[test]
fn tpcc() {
    suite("tpcc");
}

#[test]
fn smallbank() {
    suite("smallbank");
}

#[test]
fn tpcb() {
    suite("tpcb");
}

#[test]
fn voter() {
    suite("voter");
}

#[test]
fn ycsb() {
    suite("ycsb");
}
