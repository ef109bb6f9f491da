//! The checks themselves: plain text over the checkout, so that they need nothing but std.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A room, the rooms it may depend on, and the source files in which it may use `unsafe`.
struct Room {
    name: &'static str,
    knows: &'static [&'static str],
    /// Additional rooms its tests, benches and examples may use.
    tests_know: &'static [&'static str],
    /// Files (suffixes) that may contain `unsafe`.
    unsafe_in: &'static [&'static str],
}

/// The map of ARCHITECTURE.md, as data.
const ROOMS: &[Room] = &[
    Room { name: "base", knows: &[], tests_know: &[], unsafe_in: &[] },
    Room { name: "catalog", knows: &["base"], tests_know: &[], unsafe_in: &[] },
    Room { name: "storage", knows: &["base"], tests_know: &[], unsafe_in: &["crates/storage/"] },
    Room { name: "ir", knows: &["base"], tests_know: &[], unsafe_in: &[] },
    Room { name: "syntax", knows: &["base", "catalog"], tests_know: &[], unsafe_in: &[] },
    Room { name: "sql", knows: &["base", "catalog", "ir", "syntax"], tests_know: &["exec"], unsafe_in: &[] },
    Room {
        name: "analysis",
        knows: &["base", "ir"],
        tests_know: &["sql", "syntax", "catalog"],
        unsafe_in: &[],
    },
    Room {
        name: "protocol",
        knows: &["base", "storage"],
        tests_know: &["sim"],
        unsafe_in: &[
            "crates/protocol/src/door.rs",
            "crates/protocol/src/footprint/edits.rs",
            "crates/protocol/src/serial.rs",
            "crates/protocol/src/serial/write.rs",
            "crates/protocol/src/versioned/dated.rs",
            "crates/protocol/src/versioned/heal.rs",
            "crates/protocol/src/versioned/ranges.rs",
            "crates/protocol/src/versioned/read.rs",
            "crates/protocol/src/snapshot/reader.rs",
        ],
    },
    Room {
        name: "exec",
        knows: &["base", "ir", "storage", "protocol"],
        tests_know: &["analysis", "catalog", "sql"],
        unsafe_in: &["crates/exec/tests/", "crates/exec/examples/"],
    },
    Room { name: "log", knows: &["base", "storage"], tests_know: &["sim"], unsafe_in: &[] },
    Room { name: "checkpoint", knows: &["base", "storage", "log"], tests_know: &["sim"], unsafe_in: &[] },
    Room {
        name: "recovery",
        knows: &["base", "catalog", "storage", "protocol", "exec", "log", "ir", "analysis"],
        tests_know: &["sim"],
        unsafe_in: &[],
    },
    Room { name: "derive", knows: &[], tests_know: &[], unsafe_in: &[] },
    Room {
        name: "planaria",
        knows: &[
            "derive",
            "base",
            "catalog",
            "storage",
            "ir",
            "syntax",
            "sql",
            "analysis",
            "protocol",
            "exec",
            "log",
            "checkpoint",
            "recovery",
        ],
        tests_know: &["planaria", "sim", "workload"],
        unsafe_in: &["crates/planaria/tests/it/fork.rs"],
    },
    Room {
        name: "sim",
        knows: &["base", "storage", "protocol", "log", "catalog", "exec"],
        tests_know: &["planaria"],
        unsafe_in: &[],
    },
    Room { name: "workload", knows: &["base", "planaria"], tests_know: &["sim"], unsafe_in: &[] },
    Room {
        name: "lab",
        knows: &["base", "analysis", "planaria", "workload", "sim"],
        tests_know: &[],
        unsafe_in: &[],
    },
    Room {
        name: "campaign",
        knows: &["base", "planaria", "log", "sim"],
        tests_know: &["protocol"],
        unsafe_in: &[],
    },
    Room { name: "graph", knows: &["planaria"], tests_know: &[], unsafe_in: &[] },
    Room { name: "server", knows: &["base", "planaria", "graph"], tests_know: &["sim"], unsafe_in: &[] },
    Room { name: "tokio", knows: &["planaria"], tests_know: &[], unsafe_in: &[] },
    Room { name: "examples", knows: &[], tests_know: &["planaria", "tokio"], unsafe_in: &[] },
    Room { name: "fuzz", knows: &["planaria", "server", "sim"], tests_know: &[], unsafe_in: &[] },
    Room { name: "differential", knows: &["planaria", "sim"], tests_know: &[], unsafe_in: &[] },
    Room {
        name: "cli",
        knows: &["base", "planaria", "graph", "workload", "lab", "campaign", "server"],
        tests_know: &["sim"],
        unsafe_in: &[],
    },
];

/// What a simulation does not see (see `planaria_base::sync`), and must, where the engine waits.
const WAITS: &[&str] = &[
    "std::thread::spawn",
    "std::thread::scope",
    "std::thread::Builder",
    "std::thread::sleep",
    "std::thread::yield_now",
    "std::thread::park",
    "std::sync::Mutex",
    "std::sync::RwLock",
    "std::sync::Condvar",
    "std::sync::OnceLock",
    "std::sync::Barrier",
    "std::sync::mpsc",
    "std::time::Instant",
    "std::time::{Duration, Instant",
    "SystemTime::now",
    "parking_lot::",
];

/// Whether the threads of a file are to be those of a simulation. (The locks of `storage` are held for moments in
/// which nobody waits.)
fn waits_simulated(path: &str) -> bool {
    let rooms = ["log", "protocol", "checkpoint", "recovery", "planaria"];
    rooms.iter().any(|room| path.starts_with(&format!("crates/{room}/src/")))
        && !path.ends_with("tests.rs")
        // A caller's deadline is by the system's clock.
        && path != "crates/planaria/src/serving/session.rs"
        && !path.contains("/tests/")
}

const LINES_MAX: usize = 900;
/// Files that may be longer, with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

const PAGES: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "docs/dependencies.md",
    "docs/formats/checkpoint.md",
    "docs/formats/log.md",
    "docs/guide/embedding.md",
    "docs/howto/add-a-protocol.md",
    "docs/howto/add-a-recovery-scheme.md",
    "docs/howto/add-a-version-storage.md",
    "docs/howto/add-a-workload.md",
    "docs/howto/measure-recovery.md",
    "docs/howto/serve.md",
    "docs/reliability.md",
    "docs/sql.md",
];

/// Runs every check; prints what is wrong, one line each.
pub fn run() -> ExitCode {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned();
    let mut wrong = Vec::new();
    directions(&root, &mut wrong);
    sources(&root, &mut wrong);
    dependencies(&root, &mut wrong);
    publishing(&root, &mut wrong);
    crate::mutants::check(&mut wrong);
    crate::book::check(&mut wrong);
    for page in PAGES {
        if !root.join(page).is_file() {
            wrong.push(format!("{page}: missing"));
        }
    }
    for line in &wrong {
        println!("tidy: {line}");
    }
    if wrong.is_empty() {
        println!("tidy: {} rooms, all in order", ROOMS.len());
        ExitCode::SUCCESS
    } else {
        println!("tidy: {} to put right", wrong.len());
        ExitCode::FAILURE
    }
}

fn directions(root: &Path, wrong: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(root.join("crates")) else {
        wrong.push("crates/: cannot be read".into());
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(room) = ROOMS.iter().find(|r| r.name == name) else {
            wrong.push(format!("crates/{name}: a room that xtask/src/tidy.rs does not know"));
            continue;
        };
        let manifest = std::fs::read_to_string(entry.path().join("Cargo.toml")).unwrap_or_default();
        let mut section = String::new();
        for line in manifest.lines() {
            let line = line.trim();
            if line.starts_with('[') {
                section = line.trim_matches(['[', ']']).to_owned();
                continue;
            }
            let Some(dependency) = line.split(['.', ' ', '=']).next() else { continue };
            let other = match dependency.strip_prefix("planaria-") {
                Some(other) => other,
                None if dependency == "planaria" => "planaria",
                None => continue,
            };
            let allowed = match section.as_str() {
                "dependencies" => room.knows.contains(&other),
                "dev-dependencies" => room.knows.contains(&other) || room.tests_know.contains(&other),
                _ => true,
            };
            if !allowed {
                wrong.push(format!("crates/{name}: must not know `{other}` ({section})"));
            }
        }
        let lib = entry.path().join("src/lib.rs");
        let head = std::fs::read_to_string(&lib)
            .or_else(|_| std::fs::read_to_string(entry.path().join("src/main.rs")))
            .unwrap_or_default();
        if head.lines().take_while(|l| l.starts_with("//!")).count() < 3 {
            wrong.push(format!("crates/{name}: its first file does not open with what the room is"));
        }
    }
}

/// Crates of others: each is used somewhere, and `docs/dependencies.md` says why it is there; nothing else.
fn dependencies(root: &Path, wrong: &mut Vec<String>) {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let section = |manifest: &str, wanted: &[&str]| -> Vec<String> {
        let mut inside = false;
        let mut all = Vec::new();
        for line in manifest.lines().map(str::trim) {
            if line.starts_with('[') {
                inside = wanted.iter().any(|w| line.trim_matches(['[', ']']).ends_with(w));
            } else if inside
                && !line.starts_with('#')
                && let Some(name) = line.split(['.', ' ', '=']).next().filter(|n| !n.is_empty())
                && !name.starts_with("planaria")
            {
                all.push(name.to_owned());
            }
        }
        all
    };
    let mut declared = section(&read(&root.join("Cargo.toml")), &["workspace.dependencies"]);
    let rooms = std::fs::read_dir(root.join("crates")).into_iter().flatten().flatten();
    let used: Vec<String> =
        rooms.flat_map(|room| section(&read(&room.path().join("Cargo.toml")), &["dependencies"])).collect();
    declared.extend(used.iter().cloned());
    declared.sort();
    declared.dedup();
    let page = read(&root.join("docs/dependencies.md"));
    fn named(page: &str) -> Vec<&str> {
        let cells = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        cells
            .flat_map(|cell| cell.split('`').skip(1).step_by(2))
            .map(|name| name.split("::").next().unwrap_or(name))
            .collect()
    }
    // The first table says what is here, the second what was tried (some of it is still measured against).
    let here = named(page.split("\n## ").next().unwrap_or_default());
    let explained = named(&page);
    for name in &declared {
        if !used.contains(name) {
            wrong.push(format!("Cargo.toml: no room uses `{name}`"));
        }
        if !explained.contains(&name.as_str()) {
            wrong.push(format!("docs/dependencies.md: does not say why `{name}` is there"));
        }
    }
    for name in here {
        if !declared.iter().any(|d| d == name) {
            wrong.push(format!("docs/dependencies.md: `{name}` is no dependency"));
        }
    }
}

/// Crates that no registry is to have: tests, and what builds with none but this checkout.
const UNPUBLISHED: &[&str] = &["fuzz", "differential", "examples"];

/// What registries want to know of each crate; and one Rust, the same wherever it is named.
fn publishing(root: &Path, wrong: &mut Vec<String>) {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    let workspace = read("Cargo.toml");
    let oldest = workspace.lines().find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'));
    let Some(oldest) = oldest else { return wrong.push("Cargo.toml: no rust-version".into()) };
    if !read("README.md").contains(&format!("Rust {oldest}")) {
        wrong.push(format!("README.md: does not say that it takes Rust {oldest}"));
    }
    for file in ["rust-toolchain", "rust-toolchain.toml"] {
        let text = read(file);
        if !text.is_empty() && !text.contains(oldest) {
            wrong.push(format!("{file}: names another Rust than {oldest} of Cargo.toml"));
        }
    }
    for room in ROOMS {
        let path = format!("crates/{}/Cargo.toml", room.name);
        let manifest = read(&path);
        let package = manifest.split("\n[").next().unwrap_or_default();
        let has = |key: &str| package.lines().any(|line| line.starts_with(key));
        if UNPUBLISHED.contains(&room.name) {
            if !has("publish = false") {
                wrong.push(format!("{path}: is not to be published"));
            }
            continue;
        }
        for key in
            ["description = ", "license.", "readme.", "keywords.", "categories.", "rust-version.", "version."]
        {
            if !has(key) {
                wrong.push(format!("{path}: has no {}", key.trim_end_matches(['.', ' ', '='])));
            }
        }
    }
    // Rooms that a published one is built with have a version that registries can find.
    for line in workspace.lines().filter(|line| line.starts_with("planaria") && line.contains("path = ")) {
        if !line.contains("version = ") {
            wrong.push(format!("Cargo.toml: no version in `{line}`"));
        }
    }
}

fn sources(root: &Path, wrong: &mut Vec<String>) {
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        walk(&root.join(folder), "rs", &mut files);
    }
    for file in files {
        let path = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        let lines = text.lines().count();
        if lines > LINES_MAX && !LONG_FILES.iter().any(|(f, _)| *f == path) {
            wrong.push(format!("{path}: {lines} lines; is it one thing?"));
        }
        if path == "xtask/src/tidy.rs" {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or("");
            let say = |what: &str| format!("{path}:{}: {what}", number + 1);
            if ["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait"].iter().any(|u| code.contains(u)) {
                let room = path.split('/').nth(1).unwrap_or("");
                let declared =
                    ROOMS.iter().any(|r| r.name == room && r.unsafe_in.iter().any(|p| path.starts_with(p)));
                if !declared {
                    wrong.push(say("unsafe code in a room that does not declare it"));
                }
            }
            if waits_simulated(&path) && WAITS.iter().any(|w| code.contains(w)) {
                wrong.push(say("waits or asks for the time elsewhere than by planaria_base::sync"));
            }
            if code.contains("todo!(") || code.contains("unimplemented!(") {
                wrong.push(say("unfinished"));
            }
            if code.contains("#[ignore") {
                wrong.push(say("a test that does not run"));
            }
            // Wherever this checkout stands.
            let checkout = env!("CARGO_MANIFEST_DIR").trim_end_matches("xtask");
            let homes = ["home", "root"].map(|home| format!("/{home}/"));
            if line.contains(checkout) || homes.iter().any(|home| line.contains(home)) {
                wrong.push(say("the path of a machine"));
            }
        }
    }
}

/// The files with an ending that lie in a folder and those below it.
pub(crate) fn walk(folder: &Path, ending: &str, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if entry.file_name() != "target" {
                walk(&path, ending, out);
            }
        } else if path.extension().is_some_and(|e| e == ending) {
            out.push(path);
        }
    }
}
