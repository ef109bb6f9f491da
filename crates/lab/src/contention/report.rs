//! The outcome of an experiment as text that a person reads, and as CSV that a program does.

use super::expectations::round;
use super::experiment::Metric;
use super::run::{Outcome, Plot, PlotPoint};
use super::virtual_time::{RATE_PERCENT, RESTARTS_PERCENT};
use std::fmt::Write;

/// A number as it stands in a table.
fn cell(number: Option<f64>) -> String {
    match number {
        None => "-".into(),
        Some(n) if n >= 1000.0 => grouped(n.round() as u64),
        Some(n) => round(n),
    }
}

fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// A number of the axis.
fn place(x: f64) -> String {
    if x.fract() == 0.0 { grouped(x as u64) } else { format!("{x}") }
}

/// Columns of equal width for each; the first is on the left.
fn columns(out: &mut String, rows: &[Vec<String>]) {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| rows.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    for row in rows {
        let mut line = String::from(" ");
        for (i, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            line += &if i == 0 { format!(" {cell}{pad}") } else { format!("  {pad}{cell}") };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

/// What is plotted: a row for each place, a column for each scheme.
fn table(out: &mut String, plot: &Plot) {
    let mut rows = vec![vec![plot.x.to_owned()]];
    rows[0].extend(plot.lines.iter().map(|line| line.label.clone()));
    let mut places: Vec<f64> = plot.lines.iter().flat_map(|l| l.points.iter().map(|p| p.x)).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    for x in places {
        let mut row = vec![place(x)];
        for line in &plot.lines {
            let point = line.points.iter().find(|p| p.x == x);
            // Beyond a scheme's slowest transaction, and before its fastest, shares of latencies go on as they are.
            let known = point.and_then(|p| p.get(plot.plots)).or_else(|| {
                let is_share = plot.plots == Metric::Within;
                is_share.then(|| if line.points.first().is_some_and(|p| x < p.x) { 0.0 } else { 100.0 })
            });
            row.push(cell(known));
        }
        rows.push(row);
    }
    columns(out, &rows);
}

/// One point of several panels, of different workloads: a row for each scheme, a column for each panel and number.
fn together(out: &mut String, plots: &[&Plot]) {
    let mut panels = vec![String::new()];
    let mut heads = vec!["scheme".to_owned()];
    let mut schemes: Vec<(&str, &str)> = Vec::new();
    for plot in plots {
        for (i, metric) in plot.metrics.iter().enumerate() {
            panels.push(if i == 0 { plot.panel.to_owned() } else { String::new() });
            heads.push(metric.name());
        }
        for line in &plot.lines {
            if !schemes.iter().any(|(name, _)| *name == line.scheme) {
                schemes.push((&line.scheme, &line.label));
            }
        }
    }
    let mut rows = vec![panels, heads];
    for (scheme, label) in schemes {
        let mut row = vec![label.to_owned()];
        for plot in plots {
            let point = plot.line(scheme).and_then(|line| line.points.first());
            row.extend(plot.metrics.iter().map(|metric| cell(point.and_then(|p| p.get(*metric)))));
        }
        rows.push(row);
    }
    columns(out, &rows);
}

/// The other numbers: a row for each place and scheme.
fn details(out: &mut String, plot: &Plot) {
    let others: Vec<_> = plot.metrics.iter().filter(|m| **m != plot.plots).collect();
    let mut rows = vec![vec![plot.x.to_owned(), "scheme".to_owned()]];
    rows[0].extend(others.iter().map(|m| m.name()));
    rows[0].push("causes of restarts".into());
    let latency = plot.plots == Metric::Within;
    let points = plot.lines.first().map_or(0, |line| line.points.len());
    for i in 0..if latency { points.min(1) } else { points } {
        for line in &plot.lines {
            let Some(point) = line.points.get(i) else { continue };
            let x = if latency { "all".into() } else { place(point.x) };
            let mut row = vec![x, line.label.clone()];
            row.extend(others.iter().map(|m| cell(point.get(**m))));
            row.push(causes(point));
            rows.push(row);
        }
    }
    columns(out, &rows);
}

/// Where sessions that wait had no processor left, so that it was the machine that was measured.
fn saturated(plot: &Plot, cores: usize) -> Vec<String> {
    let busy = |point: &PlotPoint| {
        let rate = point.get(Metric::Throughput)?;
        Some(rate * point.get(Metric::Processor)? / 1e6 / cores as f64)
    };
    let mut lines = Vec::new();
    for line in plot.lines.iter().filter(|_| plot.waits) {
        let full = line.points.iter().filter(|p| busy(p).is_some_and(|busy| busy > 0.9));
        let places: Vec<String> = full.map(|p| place(p.x)).collect();
        if !places.is_empty() {
            lines.push(format!(
                "the processors were the limit, not the scheme: {} at {} {}",
                line.label,
                plot.x,
                places.join(", ")
            ));
        }
    }
    lines
}

/// What stands where a simulation is too far from real runs.
pub(super) const MISSED: &str = "NOT HELD";

/// How near a simulation comes to real runs: the head of a table, and a row for each scheme and number of sessions.
pub(super) fn calibration(plot: &Plot) -> Vec<Vec<String>> {
    let head =
        ["scheme", "sessions", "real", "simulated", "off (%)", "restarts real", "simulated", "off (%)", ""];
    let mut rows = vec![head.map(String::from).to_vec()];
    for line in &plot.lines {
        for c in &line.calibration {
            let off = |percent: Option<f64>| percent.map_or("-".into(), |percent| format!("{percent:+.0}"));
            rows.push(vec![
                line.label.clone(),
                c.sessions.to_string(),
                cell(Some(c.real)),
                cell(Some(c.simulated)),
                off(Some(c.off_percent)),
                cell(Some(c.real_restarts)),
                cell(Some(c.simulated_restarts)),
                off(c.restarts_off_percent),
                if c.holds { "within".into() } else { MISSED.into() },
            ]);
        }
    }
    rows
}

/// What calibration is, for people, and whether it holds.
pub(super) fn calibration_head(plot: &Plot) -> String {
    let (missed, all) = plot
        .lines
        .iter()
        .flat_map(|line| &line.calibration)
        .fold((0, 0), |(missed, all), c| (missed + usize::from(!c.holds), all + 1));
    format!(
        "held against real runs of 1 and 2 sessions: transactions/s within {RATE_PERCENT} %, restarts a commit within \
         {RESTARTS_PERCENT} %{}",
        if missed == 0 { String::new() } else { format!("; {MISSED} in {missed} of {all}") }
    )
}

fn causes(point: &PlotPoint) -> String {
    let all: u64 = point.causes.iter().map(|(_, n)| n).sum();
    let mut causes: Vec<_> = point.causes.iter().collect();
    causes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let share = |n: u64| format!("{:.0} %", 100.0 * n as f64 / all.max(1) as f64);
    let mut text: Vec<String> = causes.iter().map(|(cause, n)| format!("{cause} {}", share(*n))).collect();
    if point.failed > 0 {
        text.push(format!("{} failed", grouped(point.failed)));
    }
    if text.is_empty() { "-".into() } else { text.join(", ") }
}

/// The whole, for people.
pub fn text(outcome: &Outcome) -> String {
    let mut out = String::new();
    let o = &mut out;
    let _ = writeln!(o, "{}: {}", outcome.id, outcome.title);
    let _ = writeln!(o, "{}", outcome.paper);
    let m = &outcome.machine;
    let _ = writeln!(
        o,
        "{}, {} cores; medians of {} turns of {} s each; back-off {}",
        m.processor, m.cores, outcome.turns, outcome.seconds, outcome.backoff
    );
    for note in &outcome.notes {
        let _ = writeln!(o, "  {note}");
    }
    let (single, along): (Vec<&Plot>, Vec<&Plot>) = outcome.plots.iter().partition(|plot| plot.x.is_empty());
    if !single.is_empty() {
        let _ = writeln!(o);
        for plot in &single {
            let _ = writeln!(o, "{}", plot.caption);
        }
        together(o, &single);
    }
    for plot in along {
        let _ = writeln!(o, "\n{}\n{}", plot.caption, plot.y);
        if plot.oversubscribed {
            let _ = writeln!(o, "  (what is done in a second is the system's scheduling, too)");
        }
        table(o, plot);
        let _ = writeln!(o);
        details(o, plot);
        for line in saturated(plot, outcome.machine.cores) {
            let _ = writeln!(o, "  {line}");
        }
        if plot.simulated {
            let _ = writeln!(o, "\n  simulated; {}", calibration_head(plot));
            columns(o, &calibration(plot));
        }
    }
    let _ = writeln!(o, "\nWhat the paper says");
    for expectation in &outcome.expectations {
        let verdict = match expectation.as_the_paper {
            Some(true) => "yes",
            Some(false) => "no",
            None => "unknown",
        };
        let panel =
            if expectation.panel.is_empty() { String::new() } else { format!(" [{}]", expectation.panel) };
        let _ = writeln!(
            o,
            "  {}{panel}\n    here: {}\n    as the paper: {verdict}",
            expectation.says, expectation.measured
        );
    }
    let _ = writeln!(o, "\ntook {:.0} s", outcome.took_seconds);
    out
}

/// In place of the axis' name, where a row is of how near a simulation comes to real runs.
const CALIBRATION: &str = "calibration: sessions";

/// A row for each number.
pub fn csv(outcome: &Outcome) -> String {
    let mut out = String::from("experiment,panel,scheme,x_name,x,metric,median,least,greatest\n");
    let quoted = |text: &str| {
        if text.contains([',', '"', '\n']) {
            format!("\"{}\"", text.replace('"', "\"\""))
        } else {
            text.to_owned()
        }
    };
    for plot in &outcome.plots {
        for line in &plot.lines {
            let of =
                |x_name: &str| format!("{},{},{},{}", outcome.id, plot.panel, line.scheme, quoted(x_name));
            for point in &line.points {
                for (metric, m) in &point.numbers {
                    let (of, x) = (of(plot.x), point.x);
                    let _ = writeln!(out, "{of},{x},{metric},{},{},{}", m.median, m.least, m.greatest);
                }
            }
            for c in &line.calibration {
                let numbers = [
                    ("real_txn_per_s", c.real),
                    ("simulated_txn_per_s", c.simulated),
                    ("txn_per_s_off_percent", c.off_percent),
                    ("real_restarts_per_txn", c.real_restarts),
                    ("simulated_restarts_per_txn", c.simulated_restarts),
                    ("restarts_off_percent", c.restarts_off_percent.unwrap_or(f64::NAN)),
                    ("holds", f64::from(u8::from(c.holds))),
                ];
                for (metric, n) in numbers {
                    let _ = writeln!(out, "{},{},{metric},{n},{n},{n}", of(CALIBRATION), c.sessions);
                }
            }
        }
    }
    out
}
