//! Scripts in which a difference was found and mended, with what PostgreSQL 15 answered
//! (`scripts/NAME.out`, made anew by `PLANARIA_REGENERATE=1 cargo test -p planaria-differential`); and new
//! random ones, where PostgreSQL is installed.

use planaria_differential::cluster::Cluster;
use planaria_differential::compare;
use planaria_differential::engines::{self, Outcome, Step};
use planaria_differential::generate::Kind;
use planaria_differential::recovered;
use std::path::PathBuf;

/// Random scripts that every run compares: some 12000 statements.
const SEED: u64 = 77;
const CASES: &[(&str, Kind, u64)] = &[
    ("mixed", Kind::Mixed, 240),
    ("actions", Kind::Actions, 90),
    ("nested", Kind::Nested, 60),
    ("volatile", Kind::Volatile, 60),
    ("programs", Kind::Programs, 15),
    ("objects", Kind::Objects, 12),
    ("values", Kind::Values, 12),
    ("definitions", Kind::Definitions, 5),
];

fn scripts() -> Vec<PathBuf> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let files = std::fs::read_dir(directory).expect("the scripts").map(|f| f.expect("a file").path());
    let mut all: Vec<PathBuf> = files.filter(|p| p.extension().is_some_and(|e| e == "sql")).collect();
    all.sort();
    all
}

/// Statements stand between lines of one semicolon.
fn steps(path: &PathBuf) -> Vec<Step> {
    let text = std::fs::read_to_string(path).expect("readable");
    text.split("\n;\n").map(|s| Step { text: s.trim().to_owned(), ordered: false }).collect()
}

fn shown(steps: &[Step], outcomes: &[Outcome]) -> String {
    let both = steps.iter().zip(outcomes).map(|(s, o)| format!("{};\n{o}", s.text));
    both.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_was_mended_stays_so() {
    if std::env::var_os("PLANARIA_REGENERATE").is_some() {
        let cluster = Cluster::start().expect("starts").expect("PostgreSQL is installed");
        for path in scripts() {
            let steps = steps(&path);
            let answers = engines::postgres(&cluster, std::slice::from_ref(&steps)).expect("runs");
            std::fs::write(path.with_extension("out"), shown(&steps, &answers[0])).expect("writable");
        }
    }
    for path in scripts() {
        let steps = steps(&path);
        let got = shown(&steps, &engines::planaria(&steps).expect("runs"));
        let wanted = std::fs::read_to_string(path.with_extension("out")).expect("made by PostgreSQL");
        assert_eq!(got, wanted, "{}", path.display());
    }
}

/// Some of each kind; PostgreSQL is not needed.
#[test]
fn what_random_scripts_leave_is_recovered() {
    const EACH: u64 = 2;
    let mut calls = 0;
    for (name, kind, _) in CASES {
        for case in 0..EACH {
            let of = recovered::case(*kind, SEED, case);
            calls += of.calls;
            if let Some(lost) = of.lost {
                panic!(
                    "{};\n-- {}\n-- cargo run -p planaria-differential -- --recover --kind {name} --seed {SEED} --from \
                     {case} --cases 1",
                    lost.script.join(";\n"),
                    lost.what
                );
            }
        }
    }
    assert!(calls > 4, "{calls} calls: what is recovered was logged by rows");
}

#[test]
fn random_scripts_have_the_same_answers() {
    let Some(cluster) = Cluster::start().expect("starts") else {
        eprintln!("skipped: PostgreSQL 15 is not installed");
        return;
    };
    for (name, kind, cases) in CASES {
        let mut statements = 0;
        for from in (0..*cases).step_by(60) {
            let all = compare::cases(&cluster, *kind, SEED, from, 60.min(cases - from)).expect("runs");
            for (case, compared) in (from..).zip(all) {
                statements += compared.steps.len();
                if let Some(d) = &compared.difference {
                    let text = &compared.steps[d.step].text;
                    panic!(
                        "{text};\n-- Planaria:\n{}-- PostgreSQL:\n{}-- cargo run -p planaria-differential -- --kind \
                         {name} --seed {SEED} --from {case} --cases 1",
                        d.planaria, d.postgres
                    );
                }
            }
        }
        assert!(statements as u64 > 15 * cases, "only {statements} statements of {name} were compared");
    }
}
