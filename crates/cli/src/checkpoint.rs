//! `planaria checkpoint inspect|verify`, `planaria backup` and `planaria restore`: checkpoints and backups in
//! directories.

use crate::arguments::positive;
use crate::print::{self, grouped};
use crate::recovery::{Recovery, bars};
use clap::{Args, Subcommand};
use planaria::checkpoint::{Overview, Restore, Restored, backup, inspect, verify};
use planaria::{Error, Options, Result, SqlState};
use std::path::PathBuf;

/// Commands of `planaria checkpoint`.
#[derive(Subcommand)]
pub enum Command {
    /// Shows what the newest checkpoint of a database, or a backup, consists of.
    Inspect(LookOptions),
    /// Reads all of it and compares it with what was written.
    Verify(VerifyOptions),
}

/// Options of `planaria checkpoint inspect`.
#[derive(Args)]
pub struct LookOptions {
    /// Directory of the database or the backup
    dir: PathBuf,
    /// JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Options of `planaria checkpoint verify`.
#[derive(Args)]
pub struct VerifyOptions {
    #[command(flatten)]
    look: LookOptions,
    /// Threads that read (default: one per core)
    #[arg(long, value_name = "N", value_parser = positive())]
    threads: Option<usize>,
}

/// Options of `planaria backup`.
#[derive(Args)]
pub struct BackupOptions {
    /// Directory of the database, which must not be in use; to back up a running server, run BACKUP TO in SQL
    dir: PathBuf,
    /// Where to write the backup: a new or empty directory
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    #[command(flatten)]
    recovery: Recovery,
}

/// Options of `planaria restore`.
#[derive(Args)]
pub struct RestoreOptions {
    /// Directory of the backup
    backup: PathBuf,
    /// Where to write the database: a new or empty directory
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Directory of the database that was backed up, for the log written since (keep_log)
    #[arg(long, value_name = "DIR")]
    log: Option<PathBuf>,
    /// Up to and including this transaction, EPOCH:NUMBER as `planaria log inspect` shows it (default: all)
    #[arg(long, value_name = "EPOCH:NUMBER")]
    until: Option<String>,
    /// Up to this time, UTC
    #[arg(long, value_name = "TIMESTAMP", conflicts_with = "until")]
    until_time: Option<String>,
    #[command(flatten)]
    recovery: Recovery,
}

/// Looks at a checkpoint.
pub fn checkpoint(command: &Command) -> Result<()> {
    let (found, look, verb) = match command {
        Command::Inspect(look) => (inspect(&look.dir)?, look, None),
        Command::Verify(o) => {
            let threads =
                o.threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |n| n.get()));
            (verify(&o.look.dir, threads, &mut |_, _| ())?, &o.look, Some("verified"))
        }
    };
    if look.json {
        println!("{}", serde_json::to_string_pretty(&found).map_err(std::io::Error::other)?);
        return Ok(());
    }
    print!("{}", shown(&found));
    if let Some(verb) = verb {
        println!("{verb}");
    }
    Ok(())
}

fn shown(c: &Overview) -> String {
    let mut text = format!(
        "checkpoint {} of database {}\nepoch {}, begun {} UTC, written in {:.2} s\n\
         {} rows, {} ({} before compression) in {} file{}, {} sequences, {} versions of procedures\n",
        c.number,
        c.database,
        c.epoch,
        c.began,
        c.seconds,
        grouped(c.rows),
        print::bytes(c.bytes),
        print::bytes(c.raw_bytes),
        c.files,
        if c.files == 1 { "" } else { "s" },
        c.sequences,
        c.procedures,
    );
    let rate = |what: &str, rate: f64| match rate {
        0.0 => format!("{what}: not measured yet\n"),
        rate => format!("{what}: {} a second\n", print::bytes(rate as u64)),
    };
    text += &rate("rows load at", c.load_bytes_per_second);
    text += &rate("log replays at", c.replay_bytes_per_second);
    text +=
        &format!("\n  {:<32} {:>14} {:>12} {:>12} {:>6}\n", "table", "rows", "bytes", "unpacked", "parts");
    for t in &c.tables {
        text += &format!(
            "  {:<32} {:>14} {:>12} {:>12} {:>6}\n",
            t.table,
            grouped(t.rows),
            print::bytes(t.bytes),
            print::bytes(t.raw_bytes),
            t.parts
        );
    }
    text
}

fn told(what: &str, to: &std::path::Path, done: &Restored) {
    let replayed = match done.transactions {
        0 => String::new(),
        n => format!(", {} transactions replayed", grouped(n)),
    };
    println!("{what} {} rows to {}{replayed}", grouped(done.rows), to.display());
}

/// Backs a database up that nobody has open.
pub fn back_up(o: &BackupOptions) -> Result<()> {
    let done = bars(o.recovery.apply(Options::new()), |options| backup(&o.dir, &o.to, options))?;
    told("backed up", &o.to, &done);
    Ok(())
}

/// Restores a database.
pub fn restore(o: &RestoreOptions) -> Result<()> {
    let mut restore = Restore::new(&o.backup);
    if let Some(log) = &o.log {
        restore = restore.log(log);
    }
    if let Some(until) = &o.until {
        let (epoch, sequence) = transaction(until)?;
        restore = restore.until(epoch, sequence);
    }
    if let Some(time) = &o.until_time {
        restore = restore.until_time(time)?;
    }
    let done = bars(o.recovery.apply(Options::new()), |options| restore.options(options).to(&o.to))?;
    told("restored", &o.to, &done);
    Ok(())
}

/// `EPOCH:NUMBER`
fn transaction(text: &str) -> Result<(u64, u32)> {
    let parsed = text.split_once(':').and_then(|(epoch, n)| Some((epoch.parse().ok()?, n.parse().ok()?)));
    parsed.ok_or_else(|| {
        Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("\"{text}\" is no transaction"))
            .with_hint("Transactions are EPOCH:NUMBER, as planaria log inspect shows them.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_epoch_and_number() {
        assert_eq!(transaction("17:4"), Ok((17, 4)));
        for wrong in ["17", "17:", ":4", "17:x", "-1:0", ""] {
            assert!(transaction(wrong).is_err(), "{wrong}");
        }
    }
}
