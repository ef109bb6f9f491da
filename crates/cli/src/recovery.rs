//! How a command recovers the database it opens, and how it shows that.

use crate::arguments::positive;
use crate::print;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use planaria::{Database, Options, RecoveryReport, Result, Scheme};
use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

/// Options of every command that opens a database.
#[derive(Args, Clone, Default)]
pub struct Recovery {
    /// Recovery scheme
    #[arg(long, value_name = "SCHEME", default_value_t)]
    recovery: Scheme,
    /// Threads that recover; one a core without
    #[arg(long, value_name = "N", value_parser = positive())]
    recovery_threads: Option<usize>,
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

    /// Opens the database in a directory with a bar of progress, if somebody sees it.
    pub fn open(&self, options: Options, dir: &Path) -> Result<Database> {
        with_bar(self.apply(options), |options| options.open(dir))
    }

    /// The same for people: says what was recovered, and how, if that took a moment.
    pub fn open_and_tell(&self, options: Options, dir: &Path) -> Result<Database> {
        let db = self.open(options, dir)?;
        if let Some(report) = db.recovery()
            && report.replay > Duration::from_millis(500)
            && std::io::stderr().is_terminal()
        {
            eprintln!("{}", describe(&report));
        }
        Ok(db)
    }
}

/// Opens with options that show a bar meanwhile.
pub fn with_bar(options: Options, open: impl FnOnce(Options) -> Result<Database>) -> Result<Database> {
    let bar = ProgressBar::new_spinner().with_message("reading the log");
    bar.enable_steady_tick(Duration::from_millis(100));
    let shown = bar.clone();
    let (begun, style) = (Instant::now(), std::sync::Once::new());
    let opened = open(options.on_recovery(move |p| {
        style.call_once(|| {
            let template = "   {bar:30} {percent:>3}% of the log, {eta} to go, {msg}";
            shown.set_style(ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar()));
            shown.reset_eta();
        });
        shown.set_length(p.bytes_total.max(1));
        shown.set_position(p.bytes_done);
        let rate = p.transactions as f64 / begun.elapsed().as_secs_f64().max(1e-3);
        let ahead = p.planned.saturating_sub(p.transactions);
        let ahead = if ahead > 0 { format!(", {} planned", print::grouped(ahead)) } else { String::new() };
        shown.set_message(format!(
            "{} transactions, {}/s{ahead}",
            print::grouped(p.transactions),
            print::grouped(rate as u64)
        ));
    }));
    bar.finish_and_clear();
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
    format!(
        "{} transactions replayed from {} of log in {seconds:.2} s, {} a second, by {} on {} thread{}; its time: {}",
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
