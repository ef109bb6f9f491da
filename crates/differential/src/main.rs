//! Looks for differences: `planaria-differential [--seed N] [--cases M] [--from K] [--shrink N]
//! [--unsupported]`.

use planaria_differential::cluster::Cluster;
use planaria_differential::compare::{self, Compared};
use std::collections::BTreeMap;
use std::process::ExitCode;

const USAGE: &str = "planaria-differential [--seed N] [--cases M] [--from K] [--shrink N] [--unsupported]

  --seed N         of the random scripts (default 1)
  --cases M        scripts to run (default 200)
  --from K         number of the first (default 0)
  --shrink N       shrink no more than so many differences (default 5)
  --unsupported    count what Planaria refuses with 0A000";

struct Args {
    seed: u64,
    cases: u64,
    from: u64,
    shrink: u64,
    unsupported: bool,
}

fn args() -> Option<Args> {
    let mut args = Args { seed: 1, cases: 200, from: 0, shrink: 5, unsupported: false };
    let mut given = std::env::args().skip(1);
    while let Some(arg) = given.next() {
        let number = |given: &mut dyn Iterator<Item = String>| given.next().and_then(|n| n.parse().ok());
        match arg.as_str() {
            "--seed" => args.seed = number(&mut given)?,
            "--cases" => args.cases = number(&mut given)?,
            "--from" => args.from = number(&mut given)?,
            "--shrink" => args.shrink = number(&mut given)?,
            "--unsupported" => args.unsupported = true,
            _ => return None,
        }
    }
    Some(args)
}

/// A script that differs, and how.
fn show(compared: &Compared) {
    let Some(difference) = &compared.difference else { return };
    for step in &compared.steps[..=difference.step] {
        println!("{};", step.text);
    }
    println!("-- Planaria:\n{}-- PostgreSQL:\n{}", difference.planaria, difference.postgres);
}

fn run(args: &Args) -> std::io::Result<bool> {
    let Some(cluster) = Cluster::start()? else {
        eprintln!(
            "PostgreSQL 15 is not installed in /usr/lib/postgresql/15: there is nothing to compare with"
        );
        return Ok(false);
    };
    let (mut differing, mut statements) = (Vec::new(), 0);
    let mut unsupported: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut at = args.from;
    while at < args.from + args.cases {
        let count = 50.min(args.from + args.cases - at);
        for (i, compared) in compare::cases(&cluster, args.seed, at, count)?.into_iter().enumerate() {
            statements += compared.steps.len();
            for (text, message) in &compared.unsupported {
                let entry = unsupported.entry(message.clone()).or_insert((0, text.clone()));
                entry.0 += 1;
            }
            if compared.difference.is_some() {
                differing.push((at + i as u64, compared));
            }
        }
        at += count;
    }
    for (n, (case, compared)) in differing.iter().enumerate() {
        println!("---- seed {} case {case}", args.seed);
        if (n as u64) < args.shrink {
            match compare::shrink(&cluster, args.seed, *case)? {
                Some(small) => show(&small),
                None => println!("(not found again)"),
            }
        } else if let Some(d) = &compared.difference {
            println!(
                "{};\n-- Planaria:\n{}-- PostgreSQL:\n{}",
                compared.steps[d.step].text, d.planaria, d.postgres
            );
        }
    }
    if args.unsupported {
        for (message, (count, example)) in &unsupported {
            println!("0A000 {count:>5}  {message}\n             {}", example.replace('\n', " "));
        }
    }
    println!("{} cases, {statements} statements, {} differ", args.cases, differing.len());
    Ok(differing.is_empty())
}

fn main() -> ExitCode {
    let Some(args) = args() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
