//! Looks for differences: `planaria-differential [--kind K] [--seed N] [--cases M] [--from K] [--first] [--shrink N]
//! [--unsupported] [--recover] [--file F]`.

use planaria_differential::cluster::Cluster;
use planaria_differential::compare::{self, Compared};
use planaria_differential::engines::Step;
use planaria_differential::generate::Kind;
use planaria_differential::recovered::{self, Lost};
use std::collections::BTreeMap;
use std::process::ExitCode;

const USAGE: &str = "planaria-differential [--kind K] [--seed N] [--cases M] [--from K] [--first]
                      [--shrink N] [--unsupported] [--recover] [--file F]

  --kind K         mixed, actions, nested, volatile, objects, values, definitions or programs: what the
                   scripts are about (default: all, in turn)
  --seed N         of the random scripts (default 1)
  --cases M        scripts of each kind to run (default 200)
  --from K         number of the first (default 0)
  --first          end with the first that differs, and show it as it is
  --shrink N       shrink no more than so many differences (default 5)
  --unsupported    count what Planaria refuses with 0A000
  --recover        recover what each random script leaves by every scheme, and compare that; nothing is
                   compared with PostgreSQL (not with --file)
  --file F         run this script instead, its statements between lines of one semicolon";

struct Args {
    kinds: Vec<(&'static str, Kind)>,
    file: Option<String>,
    seed: u64,
    cases: u64,
    from: u64,
    first: bool,
    shrink: u64,
    unsupported: bool,
    recover: bool,
}

fn args() -> Option<Args> {
    let mut args = Args {
        kinds: Kind::ALL.to_vec(),
        file: None,
        seed: 1,
        cases: 200,
        from: 0,
        first: false,
        shrink: 5,
        unsupported: false,
        recover: false,
    };
    let mut given = std::env::args().skip(1);
    while let Some(arg) = given.next() {
        let number = |given: &mut dyn Iterator<Item = String>| given.next().and_then(|n| n.parse().ok());
        match arg.as_str() {
            "--kind" => {
                let name = given.next()?;
                args.kinds.retain(|(n, _)| *n == name);
                args.kinds.first()?;
            }
            "--file" => args.file = Some(given.next()?),
            "--seed" => args.seed = number(&mut given)?,
            "--cases" => args.cases = number(&mut given)?,
            "--from" => args.from = number(&mut given)?,
            "--shrink" => args.shrink = number(&mut given)?,
            "--first" => args.first = true,
            "--unsupported" => args.unsupported = true,
            "--recover" => args.recover = true,
            _ => return None,
        }
    }
    // A script that is given is compared, not recovered.
    (!args.recover || args.file.is_none()).then_some(args)
}

/// A script that differs, and how.
fn show(compared: &Compared) {
    let Some(difference) = &compared.difference else { return };
    for step in &compared.steps[..=difference.step] {
        println!("{};", step.text);
    }
    println!("-- Planaria:\n{}-- PostgreSQL:\n{}", difference.planaria, difference.postgres);
}

/// What scripts of a kind came to.
#[derive(Default)]
struct Counts {
    statements: usize,
    failed: usize,
    excused: usize,
    refused: usize,
    cut: usize,
    unsupported: BTreeMap<String, (usize, String)>,
    differing: Vec<(u64, Compared)>,
}

impl Counts {
    fn take(&mut self, case: u64, compared: Compared) {
        self.statements += compared.steps.len();
        self.failed += compared.failed;
        self.excused += compared.excused;
        self.refused += compared.unsupported.len();
        self.cut += usize::from(compared.cut);
        for (text, message) in &compared.unsupported {
            let entry = self.unsupported.entry(message.clone()).or_insert((0, text.clone()));
            entry.0 += 1;
        }
        if compared.difference.is_some() {
            self.differing.push((case, compared));
        }
    }
}

fn random(cluster: &Cluster, args: &Args, (name, kind): (&str, Kind)) -> std::io::Result<bool> {
    let mut counts = Counts::default();
    let mut at = args.from;
    while at < args.from + args.cases {
        let count = if args.first { 20 } else { 50 }.min(args.from + args.cases - at);
        for (case, compared) in (at..).zip(compare::cases(cluster, kind, args.seed, at, count)?) {
            if args.first && compared.difference.is_some() {
                println!("found: case {case}");
                show(&compared);
                return Ok(false);
            }
            counts.take(case, compared);
        }
        at += count;
    }
    for (n, (case, compared)) in counts.differing.iter().enumerate() {
        println!("---- {name}, seed {} case {case}", args.seed);
        if (n as u64) < args.shrink {
            match compare::shrink(cluster, kind, args.seed, *case)? {
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
        for (message, (count, example)) in &counts.unsupported {
            println!("0A000 {count:>5}  {message}\n             {}", example.replace('\n', " "));
        }
    }
    let Counts { statements, failed, excused, refused, cut, differing, .. } = &counts;
    println!(
        "{name}: {} cases, {statements} statements ({failed} fail, {excused} of them in two ways; {refused} more \
         are refused), {cut} cases end early, {} differ",
        args.cases,
        differing.len()
    );
    Ok(differing.is_empty())
}

fn file(cluster: &Cluster, path: &str) -> std::io::Result<bool> {
    let text = std::fs::read_to_string(path)?;
    let steps = text.split("\n;\n").map(|s| Step { text: s.trim().to_owned(), ordered: false }).collect();
    let all = compare::scripts(cluster, &[steps])?;
    for compared in &all {
        show(compared);
        for (text, message) in &compared.unsupported {
            println!("0A000  {message}\n       {text}");
        }
    }
    Ok(all.iter().all(|c| c.difference.is_none()))
}

/// Whether every script is recovered as it was.
fn recovered(args: &Args, (name, kind): (&str, Kind)) -> bool {
    let (mut transactions, mut calls, mut lost) = (0, 0, 0);
    for case in args.from..args.from + args.cases {
        let of = recovered::case(kind, args.seed, case);
        (transactions, calls) = (transactions + of.transactions, calls + of.calls);
        let Some(Lost { script, what }) = of.lost else { continue };
        lost += 1;
        match args.first {
            true => println!("found: case {case}"),
            false => println!("---- {name}, seed {} case {case}", args.seed),
        }
        script.iter().for_each(|text| println!("{text};"));
        println!("-- {what}");
        if args.first {
            break;
        }
    }
    println!(
        "{name}: {} cases, {transactions} transactions ({calls} calls), {lost} are not recovered as they were",
        args.cases
    );
    lost == 0
}

fn run(args: &Args) -> std::io::Result<bool> {
    if args.recover {
        let lost = args.kinds.iter().filter(|kind| !recovered(args, **kind)).count();
        return Ok(lost == 0);
    }
    let Some(cluster) = Cluster::start()? else {
        eprintln!(
            "PostgreSQL 15 is not installed in /usr/lib/postgresql/15: there is nothing to compare with"
        );
        return Ok(false);
    };
    if let Some(path) = &args.file {
        return file(&cluster, path);
    }
    let mut same = true;
    for kind in &args.kinds {
        same &= random(&cluster, args, *kind)?;
    }
    Ok(same)
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
