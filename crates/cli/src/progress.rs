//! Bars of a recovery: one a phase, each with its rate and the time it will still take.
//!
//! ```text
//!  load     [=============>]  98% 9,800,000 of 10,000,000 rows, 0s to go
//!  check    1,204,113 records, 96.0 MiB
//!  plan     [=========>    ]  68% 818,800 of 1,204,113 transactions, 1s to go
//!  execute  [=======>      ]  55% 52.80 MiB of 96.00 MiB of log, 2.1 s to go
//!  index    [===>          ]  20% 240,000 of 1,200,000 entries, 0s to go
//! ```
//!
//! What is executed is told by bytes of log: a transaction may be a row, or a table that was loaded. How large the log is, only its check tells: that is a count. Phases that a scheme does not have, or does
//! together with another, have no bar; `plan` and `execute` run at the same time.

use crate::print;
use indicatif::{HumanDuration, MultiProgress, ProgressBar, ProgressStyle};
use planaria::{RecoveryProgress, RecoveryStage};
use std::time::{Duration, Instant};

/// See the module's head.
pub struct Bars {
    all: MultiProgress,
    began: Instant,
    load: Option<ProgressBar>,
    check: ProgressBar,
    plan: Option<ProgressBar>,
    execute: Option<ProgressBar>,
    index: Option<ProgressBar>,
}

impl Bars {
    /// With a spinner, until there is more to show.
    pub fn new(all: MultiProgress) -> Bars {
        let check = all.add(ProgressBar::new_spinner());
        check.set_style(style("   {prefix:8} {spinner} {msg}"));
        check.set_prefix("check");
        check.set_message("reading the log");
        check.enable_steady_tick(Duration::from_millis(100));
        Bars { all, began: Instant::now(), load: None, check, plan: None, execute: None, index: None }
    }

    /// Shows how far it is.
    pub fn show(&mut self, p: &RecoveryProgress) {
        if p.stage == RecoveryStage::Load {
            let load = self.load.get_or_insert_with(|| bar(&self.all, "load", p.rows_total, " rows"));
            load.set_position(p.rows);
            self.began = Instant::now();
            return;
        }
        if p.stage == RecoveryStage::Check {
            let rate = p.bytes_total as f64 / self.began.elapsed().as_secs_f64().max(1e-3);
            self.check.set_message(format!("{}, {}/s", checked(p), print::bytes(rate as u64)));
            return;
        }
        if !self.check.is_finished() {
            self.check.finish_with_message(checked(p));
        }
        // Schemes that plan are ahead there; the others have nothing to show for it.
        if p.planned > p.transactions || self.plan.is_some() {
            let bar = self.plan.get_or_insert_with(|| bar(&self.all, "plan", p.records, " transactions"));
            bar.set_position(p.planned);
        }
        let execute = self.execute.get_or_insert_with(|| bar(&self.all, "execute", p.bytes_total, ""));
        execute.set_position(p.bytes_done);
        execute.set_message(p.left.map_or(String::new(), |left| match left.as_secs_f64() {
            few if few < 9.95 => format!(", {few:.1} s to go"),
            _ => format!(", {:#} to go", HumanDuration(left)),
        }));
        if p.stage == RecoveryStage::Index {
            let index = self.index.get_or_insert_with(|| bar(&self.all, "index", 0, " entries"));
            if p.index_entries_total == 0 || p.index_entries < index.position() {
                // Another run of rows: its indexes begin anew.
                index.reset();
            }
            index.set_length(p.index_entries_total);
            index.set_position(p.index_entries);
        }
    }

    /// Takes them away.
    pub fn end(&self) {
        let bars = [
            self.load.as_ref(),
            Some(&self.check),
            self.plan.as_ref(),
            self.execute.as_ref(),
            self.index.as_ref(),
        ];
        bars.into_iter().flatten().for_each(ProgressBar::finish_and_clear);
    }
}

fn checked(p: &RecoveryProgress) -> String {
    format!("{} records, {}", print::grouped(p.records), print::bytes(p.bytes_total))
}

fn bar(all: &MultiProgress, what: &'static str, length: u64, unit: &str) -> ProgressBar {
    let bar = all.add(ProgressBar::new(length));
    // The log is told by its bytes, and what is left of it is known better than by the bar.
    let counts = match unit {
        "" => "{binary_bytes} of {binary_total_bytes} of log{msg}".to_owned(),
        unit => format!("{{human_pos}} of {{human_len}}{unit}, {{eta}} to go"),
    };
    bar.set_style(style(&format!("   {{prefix:8}} {{bar:14}} {{percent:>3}}% {counts}")));
    bar.set_prefix(what);
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or(ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;
    use indicatif::ProgressDrawTarget;

    fn positions(bars: &Bars) -> Vec<Option<(u64, u64)>> {
        let of = |bar: &Option<ProgressBar>| bar.as_ref().map(|b| (b.position(), b.length().unwrap_or(0)));
        vec![of(&bars.plan), of(&bars.execute), of(&bars.index)]
    }

    #[test]
    fn each_phase_has_a_bar_of_its_own() {
        let mut bars = Bars::new(MultiProgress::with_draw_target(ProgressDrawTarget::hidden()));
        let mut p = RecoveryProgress { records: 1500, bytes_total: 1 << 20, ..Default::default() };
        bars.show(&p);
        assert!(bars.check.message().starts_with("1,500 records, 1.0 MiB, "), "{}", bars.check.message());
        assert_eq!(positions(&bars), [None, None, None]);
        (p.stage, p.records, p.transactions, p.planned) = (RecoveryStage::Replay, 2000, 10, 10);
        (p.bytes_done, p.bytes_total) = (5, 100);
        bars.show(&p);
        assert!(bars.check.is_finished());
        assert_eq!(positions(&bars), [None, Some((5, 100)), None]);
        (p.transactions, p.planned, p.bytes_done) = (500, 900, 25);
        bars.show(&p);
        assert_eq!(positions(&bars), [Some((900, 2000)), Some((25, 100)), None]);
        (p.stage, p.index_entries, p.index_entries_total) = (RecoveryStage::Index, 30, 70);
        bars.show(&p);
        assert_eq!(positions(&bars)[2], Some((30, 70)));
        (p.index_entries, p.index_entries_total) = (0, 0);
        bars.show(&p);
        assert_eq!(positions(&bars)[2], Some((0, 0)));
        bars.end();
    }
}
