//! `cargo xtask mutants [NAME..]`: the generators of random cases find the defects that they were made to find.
//!
//! A mutant is a patch in a room's folder `mutants` that takes a mend out again. For each of them
//!
//! 1. a copy of the checkout, beside its build folder, becomes as the checkout is, and the patch is applied;
//! 2. the room's program is built there and looks for a case that is wrong: it must find one;
//! 3. at last the same is done without a patch: what was found there must not be found here.
//!
//! A patch opens with what it brings back, in lines that begin with `#`; two of these are for here: `# kind: K`, what
//! the cases are about (and what else the program is told: `objects --recover`), and `# cases: N`, after how many of them at most something must have been found. `cargo xtask
//! tidy` looks whether the patches apply. Of one that does not any more, because the code around it has changed, do the
//! same to the code as it is now, and write it down with `git diff`.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// A room with mutants: what builds its program, and the program's path in the build folder.
struct Room {
    folder: &'static str,
    build: &'static [&'static str],
    program: &'static str,
}

const ROOMS: &[Room] = &[
    Room {
        folder: "crates/campaign/mutants",
        build: &["-p", "planaria-campaign", "--example", "determinism"],
        program: "debug/examples/determinism",
    },
    Room {
        folder: "crates/differential/mutants",
        build: &["-p", "planaria-differential", "--bin", "planaria-differential"],
        program: "debug/planaria-differential",
    },
];

/// Cases of this seed are right without a patch.
const SEED: &str = "77";

/// Lines of a finding that are shown, its end.
const LINES_SHOWN: usize = 10;

/// A patch, and how it is found.
#[derive(PartialEq, Eq, Debug)]
struct Mutant {
    name: String,
    /// What it brings back.
    what: String,
    kind: String,
    cases: u64,
}

impl Mutant {
    /// Reads what stands before the patch itself.
    fn read(name: &str, text: &str) -> Result<Mutant, String> {
        let (mut what, mut kind, mut cases) = (Vec::new(), None, None);
        for line in text.lines().take_while(|line| !line.starts_with("diff ")) {
            let line = line.strip_prefix('#').ok_or("a line before the patch does not begin with #")?.trim();
            if let Some(value) = line.strip_prefix("kind: ") {
                kind = Some(value.to_owned());
            } else if let Some(value) = line.strip_prefix("cases: ") {
                cases = Some(value.parse().map_err(|_| format!("\"{value}\" cases"))?);
            } else {
                what.push(line);
            }
        }
        let what = what.join(" ");
        if what.is_empty() {
            return Err("it does not say what it brings back".into());
        }
        let missing = |what| format!("there is no line \"# {what}: ..\"");
        let (kind, cases) = (kind.ok_or(missing("kind"))?, cases.ok_or(missing("cases"))?);
        Ok(Mutant { name: name.to_owned(), what, kind, cases })
    }
}

/// The number of the case that was found, in what a program printed.
fn found(output: &str) -> Option<u64> {
    let line = output.lines().find_map(|line| line.strip_prefix("found: case "))?;
    line.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Patches of a room, by name.
fn patches(room: &Room) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join(room.folder)).into_iter().flatten().flatten();
    let mut all: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    all.retain(|path| path.extension().is_some_and(|extension| extension == "diff"));
    all.sort();
    all
}

fn read(path: &Path) -> Result<Mutant, String> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let text = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    Mutant::read(&name, &text)
}

/// What is wrong with the patches, one line each.
pub fn check(wrong: &mut Vec<String>) {
    for room in ROOMS {
        for path in patches(room) {
            let name = path.strip_prefix(root()).unwrap_or(&path).display();
            if let Err(why) = read(&path) {
                wrong.push(format!("{name}: {why}"));
            }
            if let Err(why) = apply(root(), &path, &["--check"]) {
                wrong.push(format!("{name}: does not apply (see xtask/src/mutants.rs): {why}"));
            }
        }
    }
}

/// Runs these mutants; all of them without names.
pub fn run(names: &[String]) -> ExitCode {
    match all(names) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(missed) => {
            println!("mutants: {missed} to put right");
            ExitCode::FAILURE
        }
        Err(why) => {
            println!("mutants: {why}");
            ExitCode::FAILURE
        }
    }
}

fn all(names: &[String]) -> Result<usize, String> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let target = std::path::absolute(target).map_err(|e| e.to_string())?.join("mutants");
    let copy = Copy { tree: target.join("tree"), build: target.join("build") };
    let mut missed = 0;
    let mut known = 0;
    for room in ROOMS {
        let mut cases = Vec::new();
        for path in patches(room) {
            let mutant = read(&path).map_err(|why| format!("{}: {why}", path.display()))?;
            if !names.is_empty() && !names.contains(&mutant.name) {
                continue;
            }
            known += 1;
            let start = Instant::now();
            println!("{}: {}", mutant.name, mutant.what);
            match copy.try_out(room, &path, &mutant) {
                Ok(Some(case)) => {
                    let Mutant { kind, .. } = mutant;
                    println!(
                        "   found by case {case} of {kind} (seed {SEED}), {} s",
                        start.elapsed().as_secs()
                    );
                    cases.push((kind, case));
                }
                Ok(None) => {
                    println!("   NOT FOUND in {} cases of {} (seed {SEED})", mutant.cases, mutant.kind);
                    missed += 1;
                }
                Err(why) => {
                    println!("   {why}");
                    missed += 1;
                }
            }
        }
        if cases.is_empty() {
            continue;
        }
        copy.renew()?;
        let program = copy.build(room)?;
        for (kind, case) in cases {
            if look(&program, &kind, case, 1)?.is_some() {
                println!("case {case} of {kind} (seed {SEED}) is WRONG without a patch, too");
                missed += 1;
            }
        }
    }
    if known == 0 { Err("there is none of this name".into()) } else { Ok(missed) }
}

/// Looks for a case that is wrong.
fn look(program: &Path, kind: &str, from: u64, cases: u64) -> Result<Option<u64>, String> {
    let mut command = Command::new(program);
    command.args(["--first", "--seed", SEED, "--kind"]).args(kind.split(' '));
    command.args(["--from", &from.to_string(), "--cases", &cases.to_string()]);
    let output = command.output().map_err(|e| format!("{}: {e}", program.display()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let case = found(&said);
    // Which case it is, and what it came to.
    let lines: Vec<&str> = said.lines().collect();
    let shown = lines.iter().enumerate().filter(|(at, _)| *at == 0 || at + LINES_SHOWN >= lines.len());
    shown.filter(|_| case.is_some()).for_each(|(_, line)| println!("   | {line}"));
    if case.is_none() && !output.status.success() {
        return Err(format!("{said}{}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(case)
}

/// A copy of the checkout.
struct Copy {
    tree: PathBuf,
    build: PathBuf,
}

impl Copy {
    /// Makes it as the checkout is. What is so already is not touched, so that it is not built again.
    fn renew(&self) -> Result<(), String> {
        let mut list = Command::new("git");
        list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]).current_dir(root());
        let output = list.output().map_err(|e| format!("git: {e}"))?;
        let files = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut there = Vec::new();
        walk(&self.tree, &mut there);
        for path in there {
            let name = path.strip_prefix(&self.tree).unwrap_or(&path).to_string_lossy().into_owned();
            if !root().join(&name).is_file() {
                std::fs::remove_file(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            }
        }
        for name in files.split('\0').filter(|name| !name.is_empty()) {
            let Ok(wanted) = std::fs::read(root().join(name)) else { continue };
            let path = self.tree.join(name);
            if std::fs::read(&path).is_ok_and(|is| is == wanted) {
                continue;
            }
            let folder = path.parent().unwrap_or(&self.tree);
            let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, wanted));
            written.map_err(|e| format!("{}: {e}", path.display()))?;
        }
        Ok(())
    }

    /// The case that finds a mutant.
    fn try_out(&self, room: &Room, patch: &Path, mutant: &Mutant) -> Result<Option<u64>, String> {
        self.renew()?;
        apply(&self.tree, patch, &[])?;
        look(&self.build(room)?, &mutant.kind, 0, mutant.cases)
    }

    /// Builds a room's program.
    fn build(&self, room: &Room) -> Result<PathBuf, String> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.arg("build").args(room.build).arg("--target-dir").arg(&self.build).current_dir(&self.tree);
        if std::env::var_os("CARGO_PROFILE_DEV_DEBUG").is_none() {
            cargo.env("CARGO_PROFILE_DEV_DEBUG", "0");
        }
        let output = cargo.output().map_err(|e| format!("cargo: {e}"))?;
        match output.status.success() {
            true => Ok(self.build.join(room.program)),
            false => Err(format!("it does not build: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

fn apply(tree: &Path, patch: &Path, how: &[&str]) -> Result<(), String> {
    let mut git = Command::new("git");
    git.arg("apply").args(how).arg(patch).current_dir(tree);
    // The copy lies within a checkout, and is none.
    git.env("GIT_CEILING_DIRECTORIES", tree.parent().unwrap_or(tree));
    let output = git.output().map_err(|e| format!("git: {e}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; ")),
    }
}

fn walk(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { walk(&path, out) } else { out.push(path) }
    }
}

#[cfg(test)]
mod tests {
    use super::{Mutant, found};

    #[test]
    fn what_stands_before_a_patch_is_read() {
        let text = "# A condition is\n# computed once.\n# kind: volatile\n# cases: 200\ndiff --git a/x b/x\n# no: comment\n";
        let wanted = Mutant {
            name: "once".into(),
            what: "A condition is computed once.".into(),
            kind: "volatile".into(),
            cases: 200,
        };
        assert_eq!(Mutant::read("once", text), Ok(wanted));
        for (text, why) in [
            ("# kind: a\n# cases: 2\ndiff --git", "it does not say what it brings back"),
            ("# It.\n# cases: 2\ndiff --git", "there is no line \"# kind: ..\""),
            ("# It.\n# kind: a\ndiff --git", "there is no line \"# cases: ..\""),
            ("# It.\n# kind: a\n# cases: many\ndiff --git", "\"many\" cases"),
            ("It.\n# kind: a\n# cases: 2\ndiff --git", "a line before the patch does not begin with #"),
        ] {
            assert_eq!(Mutant::read("x", text), Err(why.to_owned()), "{text}");
        }
    }

    #[test]
    fn the_case_that_was_found_is_read() {
        assert_eq!(found("looking\nfound: case 12 (seed 89): it has other content\n"), Some(12));
        assert_eq!(found("found: case 7\n"), Some(7));
        assert_eq!(found("100 cases, 0 wrong\n"), None);
    }
}
