//! What an embedder finds in the documentation: the names at the root of the crate, and the methods of what stands there.
//!
//! `public_names.txt` lists them, so that a new one is seen in review: is it for who embeds the database? What only a server needs
//! belongs into `planaria::serving`, what only experiments and tests need into `planaria::lab`.
//! `UPDATE=1 cargo test --test it public_names` writes the list anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn crate_folder() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The last part of each path that `pub use` names.
fn used(item: &str, names: &mut BTreeSet<String>) {
    let paths = match item.split_once('{') {
        Some((_, inner)) => inner.trim_end_matches('}'),
        None => item,
    };
    for path in paths.split(',').map(str::trim).filter(|path| !path.is_empty()) {
        let name = path.rsplit(" as ").next().unwrap_or(path);
        names.insert(name.rsplit("::").next().unwrap_or(name).to_owned());
    }
}

/// The name of an item after a keyword.
fn word(text: &str) -> &str {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

fn at_the_root() -> BTreeSet<String> {
    let text = read(&crate_folder().join("src/lib.rs"));
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let mut names = BTreeSet::new();
    for item in code.join("\n").split(';') {
        for line in item.lines() {
            if let Some(rest) = line.strip_prefix("pub mod ") {
                names.insert(format!("mod {}", word(rest)));
            } else if let Some(rest) = line.strip_prefix("pub fn ") {
                names.insert(format!("fn {}", word(rest)));
            }
        }
        if let Some((_, rest)) = item.split_once("pub use ") {
            used(&rest.replace('\n', " "), &mut names);
        }
    }
    names
}

/// Sources outside of the rooms that have names of their own.
fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("the sources").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
}

/// Methods of these types, whichever file they stand in.
fn methods(types: &[&str]) -> BTreeSet<String> {
    let mut files = Vec::new();
    sources(&crate_folder().join("src"), &mut files);
    let mut names = BTreeSet::new();
    for file in files {
        let mut of = None;
        for line in read(&file).lines() {
            if let Some(rest) = line.strip_prefix("impl ") {
                of = types.iter().find(|ty| rest.rsplit("::").next().is_some_and(|r| word(r) == **ty));
                of = of.filter(|_| !rest.contains(" for "));
            } else if line.starts_with('}') {
                of = None;
            } else if let (Some(ty), Some(rest)) = (of, line.strip_prefix("    pub fn ")) {
                names.insert(format!("{ty}::{}", word(rest)));
            }
        }
    }
    names
}

#[test]
fn are_what_an_embedder_uses() {
    let mut found: Vec<String> = at_the_root().into_iter().collect();
    found.extend(methods(&["Database", "Options", "Session", "Statement", "Ticket", "Transaction"]));
    let found = found.join("\n") + "\n";
    let golden = crate_folder().join("tests/public_names.txt");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&golden, &found).expect("the list can be written");
    }
    let wanted = read(&golden);
    let lacks = |a: &str, b: &str| {
        let b: BTreeSet<&str> = b.lines().collect();
        a.lines().filter(|line| !b.contains(line)).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(lacks(&found, &wanted), [""; 0], "new names: are they for who embeds the database?");
    assert_eq!(lacks(&wanted, &found), [""; 0], "names that are gone: say so in CHANGELOG.md");
}

/// Hidden is only what macros of ours write.
#[test]
fn are_not_hidden() {
    let mut files = Vec::new();
    sources(&crate_folder().join("src"), &mut files);
    let hidden = files.iter().filter(|file| read(file).contains("#[doc(hidden)]"));
    let mut hidden: Vec<_> = hidden.filter_map(|file| file.file_name()?.to_str()).collect();
    hidden.sort_unstable();
    assert_eq!(hidden, ["named.rs", "params.rs"]);
}
