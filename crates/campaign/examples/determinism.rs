//! Looks for a case of the kind `determinism` that is wrong: `determinism [--kind THEME] [--seed N] [--from K]
//! [--cases M] [--steps N] [--first]`.
//!
//! A theme is `all`, `schema`, `routines` or `sequences` (default: any, as each case draws). Case K of seed N has seed
//! N + K. `--first` ends with the first that is wrong. `cargo xtask mutants` runs this against versions of the engine
//! that are wrong on purpose; `planaria lab faults --kind determinism` is for long runs.

use planaria_campaign::determinism::{Theme, case, logs};
use std::process::ExitCode;

struct Args {
    theme: Option<Theme>,
    seed: u64,
    from: u64,
    cases: u64,
    steps: usize,
    first: bool,
}

fn args() -> Option<Args> {
    let mut args = Args { theme: None, seed: 1, from: 0, cases: 100, steps: 30, first: false };
    let mut given = std::env::args().skip(1);
    while let Some(arg) = given.next() {
        if arg == "--first" {
            args.first = true;
            continue;
        }
        let value = given.next()?;
        match arg.as_str() {
            "--kind" => args.theme = Some(*Theme::ALL.iter().find(|theme| theme.name() == value)?),
            "--seed" => args.seed = value.parse().ok()?,
            "--from" => args.from = value.parse().ok()?,
            "--cases" => args.cases = value.parse().ok()?,
            "--steps" => args.steps = value.parse().ok()?,
            _ => return None,
        }
    }
    Some(args)
}

fn main() -> ExitCode {
    let Some(args) = args() else {
        eprintln!("determinism [--kind THEME] [--seed N] [--from K] [--cases M] [--steps N] [--first]");
        return ExitCode::from(2);
    };
    // What panics is told by the case.
    std::panic::set_hook(Box::new(|_| ()));
    let kinds = logs();
    let (mut said, mut refused, mut timeouts, mut recoveries, mut routines, mut asking, mut wrong) =
        (0, 0, 0, 0, 0, 0, 0);
    for number in args.from..args.from + args.cases {
        let seed = args.seed + number;
        let report = case(seed, args.steps, kinds[seed as usize % kinds.len()], args.theme);
        (said, refused) = (said + report.said, refused + report.refused);
        (routines, asking) = (routines + report.routines, asking + report.asking);
        (timeouts, recoveries) = (timeouts + report.timeouts, recoveries + report.recoveries);
        if let Some(what) = report.violation {
            wrong += 1;
            println!("found: case {number} (seed {seed}): {what}");
            if args.first {
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{} cases, {said} statements ({refused} refused, {timeouts} of them by timeouts), {routines} routines ({asking} ask), {recoveries} recoveries \
         compared, {wrong} wrong",
        args.cases
    );
    ExitCode::from(u8::from(wrong > 0))
}
