//! `planaria log inspect` and `planaria log verify`: what a log says, and whether it can be trusted.
//!
//! Neither writes to the directory. Both end with status 1 where the log is damaged; `verify` also where
//! replays differ.

use crate::arguments::positive;
use crate::print::{self, grouped};
use clap::{Args, Subcommand};
use planaria::log::{Body, Entry, Filter, LogView, Overview, Segment, Summary, Verification};
use planaria::{Result, Scheme};
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

/// Commands of `planaria log`.
#[derive(Subcommand)]
pub enum Command {
    /// Shows files, records and where the bytes go.
    Inspect(InspectOptions),
    /// Replays the log in memory, serially and with threads, and compares.
    Verify(VerifyOptions),
}

/// Options of `planaria log inspect`.
#[derive(Args)]
pub struct InspectOptions {
    /// Directory of the database
    dir: PathBuf,
    /// Directory of a backup of the database: begins where that ends, also before the newest checkpoint (keep_log)
    #[arg(long, value_name = "DIR")]
    backup: Option<PathBuf>,
    /// From this epoch, or transaction EPOCH:NUMBER, on
    #[arg(long, value_parser = first_of)]
    from: Option<(u64, u32)>,
    /// Up to and with this epoch, or transaction EPOCH:NUMBER
    #[arg(long, value_parser = last_of)]
    to: Option<(u64, u32)>,
    /// Records that change rows of this table, and calls that may do so
    #[arg(long)]
    table: Option<String>,
    /// Calls of this procedure or function
    #[arg(long)]
    procedure: Option<String>,
    /// Records shown at most; the summary is over all that pass the filters
    #[arg(long, default_value_t = 100)]
    limit: usize,
    /// Changes shown of a record at most (JSON has all)
    #[arg(long, default_value_t = 20)]
    changes: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Options of `planaria log verify`.
#[derive(Args)]
pub struct VerifyOptions {
    /// Directory of the database
    dir: PathBuf,
    /// Recovery scheme that is compared with serial replay
    #[arg(long, default_value_t)]
    recovery: Scheme,
    /// Threads of that scheme
    #[arg(long, value_parser = positive(),
          default_value_t = std::thread::available_parallelism().map_or(2, |n| n.get().max(2)))]
    threads: usize,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn transaction(text: &str, sequence: u32) -> Result<(u64, u32), String> {
    let (epoch, number) = text.split_once(':').unwrap_or((text, ""));
    let wrong = |_| format!("\"{text}\" is neither an epoch nor a transaction EPOCH:NUMBER");
    let number = if number.is_empty() { Ok(sequence) } else { number.parse().map_err(wrong) };
    Ok((epoch.parse().map_err(wrong)?, number?))
}

fn first_of(text: &str) -> Result<(u64, u32), String> {
    transaction(text, 0)
}

fn last_of(text: &str) -> Result<(u64, u32), String> {
    transaction(text, u32::MAX)
}

/// Runs one of them.
pub fn log(command: &Command) -> ExitCode {
    let outcome = match command {
        Command::Inspect(o) => inspect(o).map(|()| true),
        Command::Verify(o) => verify(o),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprint!("{}", print::error(&error, None));
            ExitCode::FAILURE
        }
    }
}

fn inspect(o: &InspectOptions) -> Result<()> {
    let view = match &o.backup {
        Some(backup) => LogView::open_behind(&o.dir, backup)?,
        None => LogView::open(&o.dir)?,
    };
    let filter = Filter { from: o.from, to: o.to, table: o.table.clone(), procedure: o.procedure.clone() };
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    // What a closed pipe does not take is not wanted.
    let mut write = |text: String| drop(out.write_all(text.as_bytes()));
    if o.json {
        let mut first = true;
        write(format!("{{\n\"log\": {},\n\"entries\": [", json(view.overview())?));
        let mut failed = None;
        let summary = view.read(&filter, o.limit, &mut |entry| match json(&entry) {
            Ok(text) => {
                write(format!("{}\n{text}", if std::mem::take(&mut first) { "" } else { "," }));
            }
            Err(error) => failed = Some(error),
        })?;
        failed.map_or(Ok(()), Err)?;
        write(format!("\n],\n\"summary\": {}\n}}\n", json(&summary)?));
        return Ok(());
    }
    write(overview(view.overview()));
    let mut shown = 0;
    let summary = view.read(&filter, o.limit, &mut |mut entry: Entry| {
        shown += 1;
        let mut more = 0;
        if let Body::Effects { changes } = &mut entry.body {
            more = changes.len().saturating_sub(o.changes);
            changes.truncate(o.changes);
        }
        write(format!("{entry}\n"));
        if more > 0 {
            write(format!("    and {} more changes\n", grouped(more as u64)));
        }
    })?;
    if shown < summary.records {
        let rest = summary.records - shown;
        write(format!("and {} more (--limit shows more)\n", grouped(rest)));
    }
    write(summed(&summary));
    Ok(())
}

fn json(value: &impl serde::Serialize) -> Result<String> {
    Ok(serde_json::to_string(value).map_err(std::io::Error::other)?)
}

fn overview(log: &Overview) -> String {
    let mut text = format!(
        "database {}{}: {} records in {} epochs, {} bytes, durable up to epoch {}\n",
        log.database,
        if log.in_use { " (open: the newest epochs may be missing)" } else { "" },
        grouped(log.records),
        grouped(log.epochs),
        grouped(log.bytes),
        log.durable_epoch
    );
    if let Some(c) = &log.checkpoint {
        text += &format!(
            "epochs up to {} are in checkpoint {}: {} rows, {} bytes\n",
            c.epoch,
            c.number,
            grouped(c.rows),
            grouped(c.bytes)
        );
    }
    for run in &log.runs {
        let last = run.last_epoch.map_or("not ended".to_owned(), |e| e.to_string());
        text += &format!(
            "run {}: {} logger{}, planner {}, epochs {} to {last}\n",
            run.number,
            run.loggers,
            if run.loggers == 1 { "" } else { "s" },
            run.planner,
            run.first_epoch,
        );
        for segment in log.segments.iter().filter(|s| s.run == run.number) {
            text += &format!("  {}\n", segment_line(segment));
        }
    }
    text + "\n"
}

fn segment_line(s: &Segment) -> String {
    let epochs = match (s.first_epoch, s.last_epoch) {
        (Some(first), Some(last)) => format!("epochs {first} to {last}"),
        _ => "no epochs".to_owned(),
    };
    let bad = s.unreadable_at.map_or(String::new(), |at| format!(", unreadable at {at}"));
    format!(
        "{}  format {}, {epochs}, {} frames, {} records, {} of {} bytes used{bad}",
        s.name,
        s.format,
        grouped(s.frames),
        grouped(s.records),
        grouped(s.end),
        grouped(s.size)
    )
}

fn summed(summary: &Summary) -> String {
    let mut text = format!("\n{} records, {} bytes\n", grouped(summary.records), grouped(summary.bytes));
    let head = |what: &str, n: &str| format!("  {what:<32} {n:>12} {:>14} {:>8}\n", "bytes", "each");
    let row = |name: &str, count: u64, bytes: u64| {
        let each = bytes as f64 / count.max(1) as f64;
        format!("  {name:<32} {:>12} {:>14} {each:>8.1}\n", grouped(count), grouped(bytes))
    };
    if !summary.kinds.is_empty() {
        text += &head("kind", "records");
    }
    for k in &summary.kinds {
        text += &row(k.kind, k.records, k.bytes);
    }
    if !summary.procedures.is_empty() {
        text += &head("procedure", "calls");
    }
    for p in &summary.procedures {
        text += &row(&p.procedure, p.calls, p.bytes);
    }
    if !summary.changes.is_empty() {
        text += &head("effect", "count");
    }
    for c in &summary.changes {
        text += &row(format!("{} {}", c.kind, c.object).trim_end(), c.count, c.bytes);
    }
    text
}

fn verify(o: &VerifyOptions) -> Result<bool> {
    let found = planaria::log::verify(&o.dir, o.recovery, o.threads)?;
    if o.json {
        println!("{}", serde_json::to_string_pretty(&found).map_err(std::io::Error::other)?);
    } else {
        print!("{}", verdict(&found));
    }
    Ok(found.is_clean())
}

fn verdict(found: &Verification) -> String {
    let mut text = overview(&found.log);
    for replay in &found.replays {
        text += &format!(
            "{}, {} thread{}: {} transactions ({} calls) in {:.2} s\n",
            replay.scheme,
            replay.threads,
            if replay.threads == 1 { "" } else { "s" },
            grouped(replay.transactions),
            grouped(replay.calls),
            replay.seconds
        );
    }
    for table in &found.tables {
        text += &format!(
            "  {:<32} {:>14} rows  {}\n",
            table.table,
            grouped(table.rows),
            if table.equal { "equal" } else { "DIFFERENT" }
        );
        if !table.equal {
            for (replay, digest) in found.replays.iter().zip(&table.digests) {
                let digest = digest.as_deref().unwrap_or("no such table");
                text += &format!("    {}, {} threads: {digest}\n", replay.scheme, replay.threads);
            }
        }
    }
    text += if found.is_clean() { "verified\n" } else { "the replays differ\n" };
    text
}
