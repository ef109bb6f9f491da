//! How a command recovers the database it opens, and how it shows that.

use crate::arguments::positive;
use crate::print;
use crate::progress::Bars;
use clap::Args;
use indicatif::MultiProgress;
use planaria::{Database, Options, RecoveryProgress, RecoveryReport, Result, Scheme};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Options of every command that opens a database.
#[derive(Args, Clone, Default)]
pub struct Recovery {
    /// Recovery scheme
    #[arg(long, value_name = "SCHEME", default_value_t)]
    recovery: Scheme,
    /// Threads that recover the database (default: one per core)
    #[arg(long, value_name = "N", value_parser = positive())]
    recovery_threads: Option<usize>,
}

/// What becomes of the log that a database was served with `keep_log` for.
#[derive(Args, Clone, Copy, Default)]
pub struct KeepLog {
    /// Keep the log older than the last checkpoint, as `serve --keep-log` does; else it is deleted
    #[arg(long, value_name = "BOOL", env = "PLANARIA_KEEP_LOG", num_args = 0..=1, default_missing_value = "true", default_value_t = false)]
    #[arg(action = clap::ArgAction::Set)]
    keep_log: bool,
}

impl KeepLog {
    /// For whoever only reads.
    pub const YES: KeepLog = KeepLog { keep_log: true };

    /// Options with this choice.
    pub fn options(self) -> Options {
        Options::new().keep_log(self.keep_log)
    }
}

impl Recovery {
    /// The options with these choices.
    pub fn apply(&self, options: Options) -> Options {
        let options = options.recovery(self.recovery);
        match self.recovery_threads {
            Some(threads) => options.recovery_threads(threads),
            None => options,
        }
    }

    /// Opens the database in a directory with bars of progress, if somebody sees it.
    pub fn open(&self, options: Options, dir: &Path) -> Result<Database> {
        with_bars(self.apply(options), |options| options.open(dir))
    }

    /// The same, and somebody else hears of the progress, too.
    pub fn open_telling(
        &self,
        options: Options,
        dir: &Path,
        tell: impl Fn(RecoveryProgress) + Send + Sync + 'static,
    ) -> Result<Database> {
        if !std::io::stderr().is_terminal() {
            return self.apply(options).on_recovery(tell).open(dir);
        }
        let bars = Arc::new(Mutex::new(Bars::new(MultiProgress::new())));
        let shown = bars.clone();
        let opened = self.apply(options).on_recovery(move |progress| {
            shown.lock().unwrap_or_else(PoisonError::into_inner).show(&progress);
            tell(progress);
        });
        let opened = opened.open(dir);
        bars.lock().unwrap_or_else(PoisonError::into_inner).end();
        opened
    }

    /// The same for people: says what was recovered, and how, if that took a moment.
    pub fn open_and_tell(&self, options: Options, dir: &Path) -> Result<Database> {
        let db = self.open(options, dir)?;
        if let Some(report) = db.recovery()
            && report.replay + report.checkpoint.as_ref().map_or(Duration::ZERO, |c| c.took)
                > Duration::from_millis(500)
            && std::io::stderr().is_terminal()
        {
            eprintln!("{}", describe(&report));
        }
        Ok(db)
    }
}

/// Opens with options that show bars meanwhile.
pub fn with_bars(options: Options, open: impl FnOnce(Options) -> Result<Database>) -> Result<Database> {
    bars(options, open)
}

/// The same for anything that recovers.
pub fn bars<T>(options: Options, open: impl FnOnce(Options) -> Result<T>) -> Result<T> {
    let bars = Arc::new(Mutex::new(Bars::new(MultiProgress::new())));
    let shown = bars.clone();
    let opened = open(options.on_recovery(move |progress| {
        shown.lock().unwrap_or_else(PoisonError::into_inner).show(&progress);
    }));
    bars.lock().unwrap_or_else(PoisonError::into_inner).end();
    opened
}

/// What was recovered, how fast, and where the time went (PACMAN, figure 20).
pub fn describe(report: &RecoveryReport) -> String {
    let seconds = report.replay.as_secs_f64();
    let p = &report.phases;
    let phases =
        [("load", p.load), ("plan", p.plan), ("execute", p.execute), ("wait", p.wait), ("index", p.index)];
    let sum = phases.iter().map(|(_, time)| time.as_secs_f64()).sum::<f64>().max(1e-9);
    let shares: Vec<String> = phases
        .iter()
        .filter(|(_, time)| !time.is_zero())
        .map(|(name, time)| format!("{name} {:.0} %", time.as_secs_f64() / sum * 100.0))
        .collect();
    let loaded = report.checkpoint.as_ref().map_or(String::new(), |c| {
        format!(
            "{} rows loaded from checkpoint {} ({}) in {:.2} s\n",
            print::grouped(c.rows),
            c.number,
            print::bytes(c.bytes),
            c.took.as_secs_f64()
        )
    });
    if report.transactions == 0 {
        return loaded.trim_end().to_owned();
    }
    format!(
        "{loaded}{} transactions replayed from {} of log in {seconds:.2} s, {} a second, by {} on {} thread{}; its time: {}",
        print::grouped(report.transactions),
        print::bytes(report.log_bytes),
        print::grouped((report.transactions as f64 / seconds.max(1e-9)) as u64),
        report.scheme,
        report.threads,
        if report.threads == 1 { "" } else { "s" },
        shares.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_says_where_the_time_went() {
        let report = RecoveryReport {
            transactions: 2_000_000,
            log_bytes: 1 << 20,
            replay: Duration::from_secs(2),
            threads: 2,
            phases: planaria::RecoveryPhases {
                load: Duration::from_secs(1),
                execute: Duration::from_secs(3),
                ..Default::default()
            },
            ..Default::default()
        };
        let text = describe(&report);
        assert!(text.starts_with(
            "2,000,000 transactions replayed from 1.0 MiB of log in 2.00 s, 1,000,000 a second"
        ));
        assert!(text.ends_with("on 2 threads; its time: load 25 %, execute 75 %"), "{text}");
    }
}
