//! Each kind of input: what was found before, then so many by a seed. A failure names its seed:
//! `PLANARIA_SEED=S PLANARIA_CASES=1 cargo test -p planaria-fuzz NAME`. More of them: `PLANARIA_CASES=100000`.
//! What kills the whole process leaves its seed in `target/tmp/NAME.seed`.

use planaria::Scheme;
use planaria_fuzz::chance::{below, change, once_in};
use planaria_fuzz::{files, sql, wire};
use planaria_sim::dice::Dice;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

/// Runs one case for each seed, those that found something once before others; names the seed of the one that fails.
fn cases(name: &str, found: &[u64], few: u64, mut case: impl FnMut(&mut Dice)) {
    let trace = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).with_extension("seed");
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("PLANARIA_SEED").unwrap_or(1);
    let fresh = first..first + number("PLANARIA_CASES").unwrap_or(few);
    for seed in found.iter().copied().chain(fresh) {
        std::fs::write(&trace, seed.to_string()).expect("a trace");
        let mut dice = Dice::new(seed, 0);
        if let Err(cause) = catch_unwind(AssertUnwindSafe(|| case(&mut dice))) {
            eprintln!("seed {seed}");
            resume_unwind(cause);
        }
    }
}

/// What was found before.
fn found(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| (entry.path(), std::fs::read(entry.path()).expect("a file of the corpus")))
        .collect();
    found.sort();
    found
}

#[test]
fn sql_text() {
    let corpus = sql::statements(&["workload/sql"]);
    let mut subject = sql::Subject::new();
    for (path, content) in found("sql") {
        eprintln!("{}", path.display());
        subject.run(&String::from_utf8_lossy(&content));
    }
    let mut run = 0;
    cases("sql_text", &[], 1500, |dice| {
        if run % 300 == 299 {
            subject = sql::Subject::new();
        }
        run += 1;
        subject.run(&sql::text(dice, &corpus));
    });
}

#[test]
fn wire_messages() {
    let subject = wire::Subject::new();
    for (path, content) in found("wire") {
        eprintln!("{}", path.display());
        subject.hear(&content);
    }
    cases("wire_messages", &[], 400, |dice| {
        if once_in(dice, 10) {
            let mut said =
                wire::startup(&[("user", "postgres"), ("database", "x"), ("options", "-c geqo=off")]);
            let other = wire::conversation(dice);
            change(dice, &mut said, &other);
            said.extend(other);
            subject.run_raw(&said);
        } else {
            subject.run(&wire::conversation(dice));
        }
    });
    subject.serves();
}

/// Directories in which one file is forged.
fn forged(name: &str, found: &[u64], few: u64, wanted: impl Fn(&str) -> bool) {
    let templates = files::templates();
    for template in &templates {
        files::open(template, Scheme::Clr);
        assert!(template.iter().any(|(name, _)| wanted(name)));
    }
    let schemes = [Scheme::Clr, Scheme::Regrow, Scheme::Clr, Scheme::Llr, Scheme::Aries];
    cases(name, found, few, |dice| {
        let mut files = templates[below(dice, templates.len())].clone();
        let candidates: Vec<usize> = (0..files.len()).filter(|i| wanted(&files[*i].0)).collect();
        let (at, other) = (dice.of(&candidates), below(dice, files.len()));
        let other = files[other].1.clone();
        files::change(dice, &mut files[at].1, &other);
        files::open(&files, dice.of(&schemes));
    });
}

#[test]
fn log_files() {
    // A call of a procedure that is not there.
    forged("log_files", &[3328], 400, |name| name.ends_with(".log") || name == "manifest");
}

#[test]
fn checkpoint_files() {
    forged("checkpoint_files", &[], 400, |name| name.starts_with("checkpoint"));
}

#[test]
fn files_found_before() {
    let templates = files::templates();
    for (path, content) in found("files") {
        eprintln!("{}", path.display());
        if let Some((files, scheme)) = files::forged(&templates, &content) {
            files::open(&files, scheme);
        }
    }
}
