//! Whether what a paper says comes out here, too.

use super::experiment::{At, Expectation, Experiment, Metric, Test};
use super::run::{Line, Plot, PlotPoint};
use planaria_workload::skew::{accessed, zipf};
use serde::Serialize;

/// What became of an expectation.
#[derive(Clone, Debug, Serialize)]
pub struct Verdict {
    /// The panel it was tested in.
    pub panel: &'static str,
    /// What the paper says.
    pub says: &'static str,
    /// What was measured, in words; or why nothing was.
    pub measured: String,
    /// Whether it is as the paper says; `None` if that cannot be said.
    pub as_the_paper: Option<bool>,
}

/// Judges an experiment's expectations by what was measured: one verdict for each panel that was and that the expectation
/// speaks of.
pub fn judge(experiment: &Experiment, plots: &[Plot]) -> Vec<Verdict> {
    let mut verdicts = Vec::new();
    for Expectation { says, panels, test } in experiment.expectations {
        let mut verdict = |panel, (measured, as_the_paper)| {
            verdicts.push(Verdict { panel, says, measured, as_the_paper });
        };
        if let Test::Shares { keys, listed, tolerance } = test {
            verdict("", shares(*keys, listed, *tolerance));
            continue;
        }
        let mut measured =
            panels.iter().filter_map(|name| plots.iter().find(|plot| plot.panel == *name)).peekable();
        if measured.peek().is_none() {
            verdict(panels.first().copied().unwrap_or_default(), (not_measured(panels), None));
        }
        for plot in measured {
            verdict(
                plot.panel,
                match missing(test, plot) {
                    Some(name) => (format!("{name} was not measured"), None),
                    None => judge_by(test, plot),
                },
            );
        }
    }
    verdicts
}

fn not_measured(panels: &[&str]) -> String {
    match panels {
        [one] => format!("panel {one} was not measured"),
        several => format!("none of the panels {} was measured", several.join(", ")),
    }
}

fn missing(test: &Test, plot: &Plot) -> Option<&'static str> {
    test.schemes().into_iter().find(|name| plot.line(name).is_none())
}

impl Plot {
    /// A scheme's line.
    pub fn line(&self, scheme: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.scheme == scheme)
    }

    fn number(&self, scheme: &str, metric: Metric, at: At) -> Option<f64> {
        let points = &self.line(scheme)?.points;
        match at {
            At::First => points.first()?.get(metric),
            At::Last => points.last()?.get(metric),
            At::Near(x) => {
                let far = |point: &&PlotPoint| (point.x - x).abs();
                points.iter().min_by(|a, b| far(a).total_cmp(&far(b)))?.get(metric)
            }
        }
    }
}

fn shares(keys: u64, listed: &[(f64, [f64; 4])], tolerance: f64) -> (String, Option<bool>) {
    let mut worst = 0.0_f64;
    let mut text = String::new();
    for (theta, row) in listed {
        let computed = accessed(&zipf(keys, *theta), 0.6);
        let ranks = [1, 2, 10, 100].map(|rank| computed[rank - 1] * 100.0);
        for (share, listed) in ranks.iter().zip(row) {
            worst = worst.max((share - listed).abs());
        }
        let cells: Vec<String> = ranks.iter().map(|share| format!("{share:.2}")).collect();
        text += &format!("theta {theta}: {} %; ", cells.join(" "));
    }
    (format!("{text}{worst:.3} points off at most"), Some(worst <= tolerance))
}

fn judge_by(test: &Test, plot: &Plot) -> (String, Option<bool>) {
    judged(test, plot).unwrap_or_else(|| ("nothing was measured there".into(), None))
}

/// `None` where there is no such number.
fn judged(test: &Test, plot: &Plot) -> Option<(String, Option<bool>)> {
    let ratio = |metric, of, to, at| Some(plot.number(of, metric, at)? / plot.number(to, metric, at)?);
    Some(match test {
        Test::Ratio { metric, at, of, to, paper, factor } => {
            let ratio = ratio(*metric, of, to, *at)?;
            let text = format!("{} times, the paper's {paper} (as far as {factor} times off)", round(ratio));
            // 0 times 0 is no ratio.
            (text, ratio.is_finite().then_some(ratio >= paper / factor && ratio <= paper * factor))
        }
        Test::AtLeast { metric, at, of, to, paper } => {
            let ratio = ratio(*metric, of, to, *at)?;
            (format!("{} times, the paper's {paper} at least", round(ratio)), Some(ratio >= *paper))
        }
        Test::Rising { metric, at, schemes, slack } => {
            let numbers: Option<Vec<f64>> = schemes.iter().map(|s| plot.number(s, *metric, *at)).collect();
            let numbers = numbers?;
            let text: Vec<_> =
                schemes.iter().zip(&numbers).map(|(s, n)| format!("{s} {}", round(*n))).collect();
            let rises = numbers.windows(2).all(|pair| pair[1] >= pair[0] * (1.0 - slack / 100.0));
            (text.join(", "), Some(rises))
        }
        Test::Change { metric, of, least, most } => {
            let ratio = plot.number(of, *metric, At::Last)? / plot.number(of, *metric, At::First)?;
            let text = format!("{} times from one end to the other, {least} to {most} wanted", round(ratio));
            // One place is no way from one to another.
            let is_known = ratio.is_finite() && plot.line(of)?.points.len() > 1;
            (text, is_known.then_some(ratio >= *least && ratio <= *most))
        }
        Test::Falling { metric, of, slack } => {
            let points = &plot.line(of)?.points;
            let numbers: Vec<f64> = points.iter().map(|point| point.get(*metric)).collect::<Option<_>>()?;
            let text: Vec<_> = numbers.iter().map(|n| round(*n)).collect();
            let falls = numbers.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + slack / 100.0));
            (text.join(", "), (numbers.len() > 1).then_some(falls))
        }
        Test::Value { metric, at, of, paper, tolerance } => {
            let number = plot.number(of, *metric, *at)?;
            let text = format!("{}, the paper's {paper} (give or take {tolerance})", round(number));
            (text, Some((number - paper).abs() <= *tolerance))
        }
        Test::NoSlower { of, than, percent, paper, tolerance } => {
            let limit = plot.line(than)?.latencies.value_at_quantile(percent / 100.0);
            let latencies = &plot.line(of)?.latencies;
            if latencies.is_empty() {
                return None;
            }
            let share = 100.0 * latencies.count_between(0, limit) as f64 / latencies.len() as f64;
            let text = format!(
                "{} % within {} us, the paper's {paper} % (give or take {tolerance})",
                round(share),
                round(limit as f64 / 1e3)
            );
            (text, Some((share - paper).abs() <= *tolerance))
        }
        Test::Shares { .. } => return None,
    })
}

/// A number with three digits that count.
pub fn round(number: f64) -> String {
    match number.abs() {
        n if !n.is_finite() => "-".into(),
        n if n >= 100.0 || n == 0.0 => format!("{number:.0}"),
        n if n >= 10.0 => format!("{number:.1}"),
        n if n >= 1.0 => format!("{number:.2}"),
        _ => format!("{number:.3}"),
    }
}
