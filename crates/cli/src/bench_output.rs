//! What `planaria bench` shows beside its table: a line meanwhile, histograms, and files.

use crate::print;
use hdrhistogram::Histogram;
use indicatif::{ProgressBar, ProgressStyle};
use planaria::{Error, Result};
use planaria_graph::escaped;
use planaria_lab::load::{Live, Second};
use serde::Serialize;
use std::fmt::Write;
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

/// A line on the terminal that says how it goes.
pub struct Line(Option<ProgressBar>);

impl Line {
    /// Where somebody sees it.
    pub fn new() -> Line {
        Line(std::io::stderr().is_terminal().then(|| {
            let style =
                ProgressStyle::with_template("  {spinner} {msg}").unwrap_or(ProgressStyle::default_spinner());
            let bar = ProgressBar::new_spinner().with_style(style);
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        }))
    }

    /// Whether there is one.
    pub fn is_shown(&self) -> bool {
        self.0.is_some()
    }

    /// Says something else.
    pub fn say(&self, what: impl Into<std::borrow::Cow<'static, str>>) {
        if let Some(bar) = &self.0 {
            bar.set_message(what);
        }
    }

    /// Shows how it goes.
    pub fn show(&self, live: Live) {
        self.say(live_line(&live));
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

fn live_line(live: &Live) -> String {
    let each_second = |n: u64| print::grouped((n as f64 / live.time.as_secs_f64().max(1e-9)) as u64);
    let stage = live.since.map_or("warming up".to_owned(), |since| format!("{:>5.1} s", since.as_secs_f64()));
    format!(
        "{stage}  {} transactions/s  {} on average  {} retries/s",
        each_second(live.transactions),
        time(live.mean_us),
        each_second(live.restarts)
    )
}

/// Microseconds for people.
pub fn time(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{us:.1} us"),
        us if us < 1e6 => format!("{:.2} ms", us / 1e3),
        us => format!("{:.2} s", us / 1e6),
    }
}

/// Why latencies are as they are: what is on the way waits.
pub fn in_flight(txn_per_s: f64, mean_us: f64, in_flight: usize, sessions: usize) -> String {
    if in_flight <= 1 {
        return "  Latencies include the wait for the disk, and for the epoch to close: most of each is that.\n".to_owned();
    }
    let on_the_way = txn_per_s * mean_us / 1e6;
    let each = if sessions == 1 { "" } else { " each" };
    format!(
        "  Latencies include the wait for the disk. On average {} calls were in flight\n  \
         (throughput times latency, by Little's law): the {} session{} may{each} have {},\n  \
         so most of a latency is time in the queue. To measure a single call, use\n  \
         --in-flight 1, or --rate PER_SECOND below what the workload can do.\n",
        print::grouped(on_the_way.round() as u64),
        sessions,
        if sessions == 1 { "" } else { "s" },
        print::grouped(in_flight as u64)
    )
}

/// A latency that so many of a hundred have at most.
#[derive(Clone, Serialize)]
pub struct Percentile {
    percentile: f64,
    us: f64,
}

const PERCENTILES: [f64; 9] = [10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 100.0];

/// Percentiles of a histogram of nanoseconds.
pub fn percentiles(of: &Histogram<u64>) -> Vec<Percentile> {
    let at = |percentile: f64| Percentile {
        percentile,
        us: of.value_at_quantile(percentile / 100.0) as f64 / 1e3,
    };
    PERCENTILES.into_iter().map(at).collect()
}

/// A histogram of nanoseconds as bars: each has latencies up to 1, 2 or 5 times a power of ten.
pub fn bars(name: &str, of: &Histogram<u64>) -> String {
    const WIDTH: f64 = 36.0;
    let mut out = format!("  {name}: {}\n", print::grouped(of.len()));
    let mut buckets: Vec<(u64, u64)> = Vec::new();
    for value in of.iter_recorded() {
        let ns = value.value_iterated_to().max(1);
        let power = 10u64.pow(ns.ilog10());
        let upto = [power * 2, power * 5].into_iter().find(|upto| ns <= *upto).unwrap_or(power * 10);
        match buckets.last_mut() {
            Some((bound, n)) if *bound == upto => *n += value.count_since_last_iteration(),
            _ => buckets.push((upto, value.count_since_last_iteration())),
        }
    }
    let most = buckets.iter().map(|(_, n)| *n).max().unwrap_or(1).max(1);
    let (all, mut sum) = (of.len().max(1) as f64, 0);
    for (upto, n) in buckets {
        sum += n;
        let bar = "#".repeat((n as f64 / most as f64 * WIDTH).round() as usize);
        let _ = writeln!(
            out,
            "    to {:>10} {:>12} {:>6.1} % {bar}",
            time(upto as f64 / 1e3),
            print::grouped(n),
            sum as f64 / all * 100.0
        );
    }
    let listed: Vec<String> =
        percentiles(of).iter().map(|p| format!("p{} {}", p.percentile, time(p.us))).collect();
    for line in listed.chunks(5) {
        let _ = writeln!(out, "    {}", line.join(", "));
    }
    out
}

/// The seconds as CSV.
pub fn csv(series: &[Second]) -> String {
    let mut out = "second,transactions,attempts_in_vain,mean_us,max_us,log_bytes\n".to_owned();
    for (i, s) in series.iter().enumerate() {
        let _ = writeln!(
            out,
            "{},{},{},{:.1},{:.1},{}",
            i + 1,
            s.transactions,
            s.restarts,
            s.mean_us,
            s.max_us,
            s.log_bytes
        );
    }
    out
}

/// What is better known before the work than after it: whether a file can be written.
pub fn writable(file: Option<&Path>) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    let opened = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(file);
    opened.map(|_| ()).map_err(|e| Error::file("open file", file, e))
}

/// Writes a file that was asked for.
pub fn write(file: Option<&Path>, text: impl FnOnce() -> String) -> Result<()> {
    let Some(file) = file else { return Ok(()) };
    std::fs::write(file, text()).map_err(|e| Error::file("write file", file, e))
}

/// A report for a browser, with nothing outside of it: what was measured, plots of the seconds, the table.
pub fn html(title: &str, facts: &[(&str, String)], table: &[Vec<String>], series: &[Second]) -> String {
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n<style>{STYLE}</style></head>\n\
         <body><main><h1>{0}</h1>\n<dl>",
        escaped(title)
    );
    for (name, value) in facts {
        let _ = write!(out, "<div><dt>{}</dt><dd>{}</dd></div>", escaped(name), escaped(value));
    }
    out.push_str("</dl>\n<div class=\"scroll\"><table>");
    for (i, row) in table.iter().enumerate() {
        let tag = if i == 0 { "th" } else { "td" };
        out.push_str("<tr>");
        for cell in row {
            let _ = write!(out, "<{tag}>{}</{tag}>", escaped(cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</table></div>\n");
    let plots: [(&str, fn(&Second) -> f64); 4] = [
        ("Transactions a second", |s| s.transactions as f64),
        ("Latency on average, ms", |s| s.mean_us / 1e3),
        ("Longest latency, ms", |s| s.max_us / 1e3),
        ("Retries per second", |s| s.restarts as f64),
    ];
    if series.is_empty() {
        out.push_str("<p>Measured for less than a second: there is nothing to plot.</p>\n");
    } else {
        for (name, of) in plots {
            out.push_str(&plot(name, &series.iter().map(of).collect::<Vec<_>>()));
        }
    }
    out + "</main></body></html>\n"
}

const STYLE: &str = "
:root{color-scheme:light dark;--bg:#fbfbf9;--fg:#1e2430;--soft:#667085;--line:#d9dce3;--accent:#1769aa}
@media(prefers-color-scheme:dark){:root{--bg:#14171d;--fg:#e8eaee;--soft:#9aa3b2;--line:#313844;--accent:#6db5f0}}
body{background:var(--bg);color:var(--fg);font:15px/1.5 system-ui,sans-serif;margin:0}
main{max-width:960px;margin:0 auto;padding:2rem 1rem}h1{font-size:1.5rem}h2{font-size:1rem;margin:2rem 0 .3rem}
dl{display:flex;flex-wrap:wrap;gap:.5rem 2rem}dt{color:var(--soft);font-size:.8rem}dd{margin:0;font-size:1.1rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:.3rem .6rem;border-bottom:1px solid var(--line)}th{color:var(--soft);font-weight:500}
th:first-child,td:first-child{text-align:left}svg{width:100%;height:auto}
.grid{stroke:var(--line)}.curve{stroke:var(--accent);fill:none;stroke-width:2}.dot{fill:var(--accent)}
text{fill:var(--soft);font:12px system-ui,sans-serif}";

fn plot(name: &str, values: &[f64]) -> String {
    let (w, h, left, bottom) = (900.0, 200.0, 80.0, 24.0);
    let top = ceiling(values.iter().copied().fold(0.0, f64::max));
    let x = |i: usize| left + 10.0 + (w - left - 30.0) * i as f64 / (values.len().max(2) - 1) as f64;
    let y = |v: f64| h - bottom - (h - bottom - 12.0) * v / top;
    let mut out = format!("<h2>{name}</h2><svg viewBox=\"0 0 {w} {h}\" role=\"img\" aria-label=\"{name}\">");
    for part in 0..=4 {
        let v = top * f64::from(part) / 4.0;
        let label = match top {
            top if top >= 20.0 => print::grouped(v as u64),
            top if top >= 1.0 => format!("{v:.1}"),
            _ => format!("{v:.3}"),
        };
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{w}\" y1=\"{0:.1}\" y2=\"{0:.1}\"/><text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{label}</text>",
            y(v),
            left - 8.0,
            y(v) + 4.0
        );
    }
    let step = values.len().div_ceil(15).max(1);
    for i in (0..values.len()).step_by(step) {
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{h}\" dy=\"-6\" text-anchor=\"middle\">{} s</text>",
            x(i),
            i + 1
        );
    }
    let points: Vec<String> =
        values.iter().enumerate().map(|(i, v)| format!("{:.1},{:.1}", x(i), y(*v))).collect();
    let _ = write!(out, "<polyline class=\"curve\" points=\"{}\"/>", points.join(" "));
    for (i, v) in values.iter().enumerate().filter(|_| values.len() <= 120) {
        let _ = write!(
            out,
            "<circle class=\"dot\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"><title>second {}: {v:.1}</title></circle>",
            x(i),
            y(*v),
            i + 1
        );
    }
    out + "</svg>\n"
}

/// The next number that is 1, 2, 4 or 8 times a power of ten.
fn ceiling(n: f64) -> f64 {
    if n <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(n.max(1e-3).log10().floor());
    [1.0, 2.0, 4.0, 8.0, 10.0].into_iter().map(|by| by * power).find(|c| *c >= n).unwrap_or(power * 10.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_have_bars() {
        let mut of = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 2).expect("bounds");
        (0..90).for_each(|_| of.record(1_000_000).expect("within"));
        (0..10).for_each(|_| of.record(9_000_000).expect("within"));
        let text = bars("pay", &of);
        assert!(text.starts_with("  pay: 100\n"), "{text}");
        assert!(text.contains(&"#".repeat(36)) && text.contains("100.0 %"), "{text}");
        assert!(text.contains("p50 1.0") && text.contains("p99 9.0"), "{text}");
    }

    #[test]
    fn latencies_are_explained() {
        let text = in_flight(500_000.0, 8_000.0, 10_000, 1);
        assert!(text.contains("4,000 calls were in flight") && text.contains("--in-flight 1"), "{text}");
        assert!(in_flight(900.0, 1_100.0, 1, 1).contains("the epoch"));
    }

    #[test]
    fn reports_stand_alone() {
        let second = Second { transactions: 5, mean_us: 2.0, ..Second::default() };
        let page = html("a <b>", &[("rate", "5".into())], &[vec!["x".into()]], &[second.clone(), second]);
        assert!(page.contains("a &lt;b&gt;") && page.contains("polyline") && !page.contains("http"));
        assert_eq!([0.0, 3.0, 8.5, 1200.0].map(ceiling), [1.0, 4.0, 10.0, 2000.0]);
        assert_eq!(csv(&[Second::default()]).lines().nth(1), Some("1,0,0,0.0,0.0,0"));
    }
}
