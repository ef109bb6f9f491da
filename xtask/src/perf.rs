//! `cargo xtask perf [--keep] [NAME..]`: what calls and replay cost in instructions and cache misses, against the figures that
//! are kept in `xtask/perf.txt`.
//!
//! 1. Every case runs the release build under callgrind, which counts the same on any machine and beside any other
//!    work, as long as compiler and C library are the same. What is counted begins and ends with functions
//!    named here; loading is not counted.
//! 2. Cache misses are those of a simulated second-level cache of 2 MiB with a first level of 48 KiB in front, in other words, what would have
//!    waited for memory or the last level.
//! 3. More instructions than kept, by over 2 %, or misses by over 10 % and more than half a miss a call, fail.
//!    `--keep` writes the new figures down; then a review sees them beside what made them so.
//!
//! Not part of `./test`: it takes minutes, and a change may be worth what it costs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// What is measured in a run of the program of its own.
struct Case {
    name: String,
    arguments: String,
    /// Functions whose instructions are counted, with all that they call.
    functions: &'static [&'static str],
    /// By which the counts are divided.
    calls: u64,
}

/// What brackets the calls of `planaria lab calls`.
const REPEATED: &[&str] = &["planaria_lab::calls::repeated"];
/// Functions of regrow: planning of calls, and pieces with what drives them.
const REPLAY: &[&str] =
    &["planaria_recovery::regrow::planner::plan_part", "planaria_recovery::regrow::execute::run"];

/// Workload, size, calls counted, kinds of calls.
const CALLS: &[(&str, u64, u64, &[&str])] = &[
    ("operations", 50_000, 2_000, &["commit", "get", "update", "insert"]),
    (
        "smallbank",
        10_000,
        1_000,
        &["balance", "deposit_checking", "transact_savings", "amalgamate", "write_check", "send_payment"],
    ),
    ("tpcc", 1, 300, &["new_order", "payment"]),
];

/// Workload, size, transactions replayed.
const REPLAYS: &[(&str, u64, u64)] = &[("smallbank", 10_000, 10_000), ("tpcc", 1, 2_000)];

fn cases() -> Vec<Case> {
    let calls = CALLS.iter().flat_map(|(workload, size, times, kinds)| {
        kinds.iter().map(move |kind| Case {
            name: format!("{workload}.{kind}"),
            arguments: format!(
                "lab calls --workload {workload} --scale {size} --times {times} --repeat 1 --only {kind}"
            ),
            functions: REPEATED,
            calls: *times,
        })
    });
    let replays = REPLAYS.iter().map(|(workload, size, transactions)| Case {
        name: format!("{workload}.replay"),
        arguments: format!(
            "lab recovery --workload {workload} --scale {size} --transactions {transactions} --workers 1 --threads 1 \
             --repeat 1 --schemes regrow --log-kinds command"
        ),
        functions: REPLAY,
        calls: *transactions,
    });
    calls.chain(replays).collect()
}

/// Shares by which more is too much.
const INSTRUCTIONS_MORE: f64 = 0.02;
const MISSES_MORE: f64 = 0.10;
/// Misses a call that are no difference, whatever their share.
const MISSES_NOISE: f64 = 0.5;

/// What a call costs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    instructions: f64,
    misses: f64,
}

/// Runs all cases, or those named.
pub fn run(arguments: &[String]) -> ExitCode {
    let keep = arguments.iter().any(|a| a == "--keep");
    let names: Vec<&str> = arguments.iter().map(String::as_str).filter(|a| *a != "--keep").collect();
    match measure_all(&names, keep) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn measure_all(names: &[&str], keep: bool) -> Result<bool, String> {
    let mut cases = cases();
    if let Some(unknown) = names.iter().find(|n| cases.iter().all(|c| !c.is(n))) {
        let known: Vec<&str> = cases.iter().map(|c| c.name.as_str()).collect();
        return Err(format!("there is no case \"{unknown}\"; there are {}", known.join(", ")));
    }
    cases.retain(|c| names.is_empty() || names.iter().any(|n| c.is(n)));
    if Command::new("valgrind").arg("--version").output().is_err() {
        return Err("valgrind is not installed".into());
    }
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("perf.txt");
    let mut figures = match std::fs::read_to_string(&kept) {
        Ok(text) => read(&text)?,
        Err(_) => BTreeMap::new(),
    };
    let program = program()?;
    let mut worse = false;
    println!("{:<30} {:>12} {:>8} {:>10} {:>8}", "a call", "instructions", "", "misses", "");
    for case in &cases {
        let now = case.measure(&program)?;
        let before = figures.get(&case.name).copied();
        worse |= before.is_none_or(|before| now.worse_than(before));
        println!("{}", line(&case.name, now, before));
        if keep {
            figures.insert(case.name.clone(), now);
        }
    }
    if keep {
        std::fs::write(&kept, write(&figures)).map_err(|e| format!("{}: {e}", kept.display()))?;
    } else if worse {
        println!("More than is kept in xtask/perf.txt, or new. If it is worth that, --keep writes it down.");
    }
    Ok(keep || !worse)
}

/// The release build, or another one that `PLANARIA` names. It is not built here: cargo would do it in another environment.
fn program() -> Result<PathBuf, String> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/planaria");
    let program = std::env::var_os("PLANARIA").map_or(built, PathBuf::from);
    match program.exists() {
        true => Ok(program),
        false => Err(format!("{} is not there: cargo build --release", program.display())),
    }
}

impl Case {
    /// Whether a name on the command line means it: its own, or that of its workload.
    fn is(&self, name: &str) -> bool {
        self.name == name || self.name.split_once('.').is_some_and(|(workload, _)| workload == name)
    }

    fn measure(&self, program: &Path) -> Result<Cost, String> {
        let profile = std::env::temp_dir().join(format!("planaria-perf-{}", std::process::id()));
        let all = self.count(program, &profile);
        // What cannot be removed is in the way of nobody.
        let _ = std::fs::remove_file(&profile);
        let all = all?;
        if all.instructions == 0.0 {
            return Err(format!("{}: nothing was counted; are its functions named as here?", self.name));
        }
        let calls = self.calls as f64;
        Ok(Cost { instructions: all.instructions / calls, misses: all.misses / calls })
    }

    fn count(&self, program: &Path, profile: &Path) -> Result<Cost, String> {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--collect-atstart=no", "--cache-sim=yes"]);
        valgrind.args(["--I1=32768,8,64", "--D1=49152,12,64", "--LL=2097152,16,64"]);
        valgrind.arg(format!("--callgrind-out-file={}", profile.display()));
        valgrind.args(self.functions.iter().map(|f| format!("--toggle-collect={f}")));
        valgrind.arg(program).args(self.arguments.split_whitespace());
        let ran = valgrind.output().map_err(|e| format!("valgrind: {e}"))?;
        if !ran.status.success() {
            return Err(format!("{}: {}", self.name, String::from_utf8_lossy(&ran.stderr)));
        }
        summary(&std::fs::read_to_string(profile).map_err(|e| format!("{}: {e}", profile.display()))?)
    }
}

/// What a profile counted: its `totals` by the names in its `events`.
fn summary(profile: &str) -> Result<Cost, String> {
    let values = |name: &str| profile.lines().find_map(|line| line.strip_prefix(name));
    let events = values("events:").ok_or("a profile without events")?;
    let totals = values("totals:").ok_or("a profile without totals")?;
    let all: BTreeMap<&str, f64> = events
        .split_whitespace()
        .zip(totals.split_whitespace().map(|number| number.parse().unwrap_or(0.0)))
        .collect();
    // Trailing zeroes are left out of a profile.
    let of = |name: &str| all.get(name).copied().unwrap_or(0.0);
    Ok(Cost { instructions: of("Ir"), misses: of("DLmr") + of("DLmw") })
}

impl Cost {
    fn worse_than(self, before: Cost) -> bool {
        self.instructions > before.instructions * (1.0 + INSTRUCTIONS_MORE)
            || (self.misses > before.misses * (1.0 + MISSES_MORE)
                && self.misses > before.misses + MISSES_NOISE)
    }
}

fn line(name: &str, now: Cost, before: Option<Cost>) -> String {
    let change = |now: f64, before: Option<f64>| match before {
        Some(before) if before > 0.0 => format!("{:+.1} %", (now / before - 1.0) * 100.0),
        _ => "new".to_owned(),
    };
    format!(
        "{name:<30} {:>12.0} {:>8} {:>10.1} {:>8}{}",
        now.instructions,
        change(now.instructions, before.map(|b| b.instructions)),
        now.misses,
        change(now.misses, before.map(|b| b.misses)),
        if before.is_some_and(|before| now.worse_than(before)) { "  more" } else { "" }
    )
}

/// The kept figures: a line each, name, instructions and misses, in two columns from the right.
fn read(text: &str) -> Result<BTreeMap<String, Cost>, String> {
    let figure = |line: &str| -> Option<(String, Cost)> {
        let mut words = line.rsplitn(3, char::is_whitespace).filter(|word| !word.is_empty());
        let misses = words.next()?.parse().ok()?;
        let instructions = words.next()?.parse().ok()?;
        Some((words.next()?.trim().to_owned(), Cost { instructions, misses }))
    };
    text.lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .map(|line| figure(line).ok_or_else(|| format!("xtask/perf.txt: no figure: {line}")))
        .collect()
}

fn write(figures: &BTreeMap<String, Cost>) -> String {
    let mut text = "# What a call costs: instructions and cache misses, counted by `cargo xtask perf` (what and how: src/perf.rs).\n\
                    # `cargo xtask perf --keep` writes this file.\n"
        .to_owned();
    for (name, cost) in figures {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name} {:.0} {:.1}", cost.instructions, cost.misses);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_as_they_were_written() {
        let figures = BTreeMap::from([
            ("smallbank.replay".to_owned(), Cost { instructions: 1234.0, misses: 0.5 }),
            ("tpcc.new_order".to_owned(), Cost { instructions: 98_765.0, misses: 12.3 }),
        ]);
        assert_eq!(read(&write(&figures)), Ok(figures));
        assert!(read("a line of words\n").is_err());
    }

    #[test]
    fn totals_are_named_by_events() {
        let profile = "events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\ntotals: 100 50 20 1 2 3 0 4 5\n";
        assert_eq!(summary(profile), Ok(Cost { instructions: 100.0, misses: 9.0 }));
        assert_eq!(summary("events: Ir Dr DLmr\ntotals: 7\n"), Ok(Cost { instructions: 7.0, misses: 0.0 }));
        assert!(summary("").is_err());
    }

    #[test]
    fn a_little_more_is_no_more() {
        let before = Cost { instructions: 1000.0, misses: 1.0 };
        assert!(!Cost { instructions: 1019.0, misses: 1.4 }.worse_than(before));
        assert!(Cost { instructions: 1021.0, misses: 1.0 }.worse_than(before));
        assert!(Cost { instructions: 1000.0, misses: 1.6 }.worse_than(before));
        assert!(!Cost { instructions: 500.0, misses: 0.0 }.worse_than(before));
    }
}
