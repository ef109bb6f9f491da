//! Running an experiment: every scheme on a base of its own, in turns.
//!
//! 1. Each scheme's database is loaded once, with as many units as the experiment uses at most, where memory holds
//!    them for all schemes; points that need more are left out, and that is said.
//! 2. Turn by turn, panel by panel, point by point, one scheme after the other: what else the machine does hits all
//!    alike. The first scheme of a turn is another one each time.
//! 3. Medians over the turns. Latencies of all turns are taken together.
//! 4. After the last turn the workload's checks are run on each database whose scheme promises that they hold: what
//!    loses updates is no result.

use super::expectations::{self, Verdict};
use super::experiment::{Experiment, Metric, Panel, Vary};
use super::plan::workloads;
use super::scheme::{Kind, Scheme, chosen};
use super::virtual_time::{self, Calibration, Job};
use crate::load::{Measured, histogram};
use crate::machine::Machine;
use crate::recovery::Watch;
use hdrhistogram::Histogram;
use planaria::{BackoffKind, Database, Error, Result, SqlState};
use planaria_workload::{Parameters, Suite};
use serde::Serialize;
use std::time::Duration;

/// How to run it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Fewer points and shorter runs.
    pub quick: bool,
    /// Turns.
    pub turns: usize,
    /// How long a point is measured.
    pub time: Duration,
    /// Before that.
    pub warmup: Duration,
    /// Panels, by name; all of them without.
    pub panels: Vec<String>,
    /// Schemes, by name; those of the experiment without.
    pub schemes: Vec<String>,
    /// How calls that have met others wait.
    pub backoff: BackoffKind,
    /// Units that are loaded at most, whatever memory would hold.
    pub units_max: Option<u64>,
    /// What is to be otherwise than in the experiment.
    pub own: Own,
    /// Seed of the inputs.
    pub seed: u64,
}

/// Settings in place of those of all panels; without, theirs. What the axis varies is then one point of it.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// Sessions.
    pub sessions: Option<usize>,
    /// Operations after which a session yields, but in virtual time; never with 0.
    pub yield_every: Option<u64>,
    /// How long each attempt waits.
    pub wait: Option<Duration>,
    /// What drivers draw.
    pub parameters: Parameters,
}

/// A number, over the turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Median {
    /// The median.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

impl Median {
    pub(super) fn of(mut values: Vec<f64>) -> Median {
        values.sort_by(f64::total_cmp);
        let n = values.len();
        if n == 0 {
            return Median::default();
        }
        let median = (values[(n - 1) / 2] + values[n / 2]) / 2.0;
        Median { median, least: values[0], greatest: values[n - 1] }
    }
}

/// What was measured at a place of the axis.
#[derive(Clone, Debug, Serialize)]
pub struct PlotPoint {
    /// The place.
    pub x: f64,
    /// Numbers, by [`Metric::key`].
    pub numbers: Vec<(String, Median)>,
    /// Attempts in vain of all turns, by cause.
    pub causes: Vec<(&'static str, u64)>,
    /// Transactions that ended in an error, of all turns.
    pub failed: u64,
}

impl PlotPoint {
    /// A number of it.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        let key = metric.key();
        self.numbers.iter().find(|(k, _)| *k == key).map(|(_, m)| m.median)
    }
}

/// A scheme's points.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The scheme.
    pub scheme: String,
    /// As the paper writes it.
    pub label: String,
    /// Points, in the order of the axis.
    pub points: Vec<PlotPoint>,
    /// Where it is simulated: how near to real runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calibration: Vec<Calibration>,
    /// Latencies at the last point.
    #[serde(skip)]
    pub latencies: Histogram<u64>,
}

/// What a panel shows.
#[derive(Clone, Debug, Serialize)]
pub struct Plot {
    /// The panel's name.
    pub panel: &'static str,
    /// How it was measured.
    pub caption: String,
    /// Whether throughput measures the system's scheduler.
    pub oversubscribed: bool,
    /// Whether time was virtual.
    pub simulated: bool,
    /// Whether sessions wait, and are to use little of the processors.
    pub waits: bool,
    /// What stands on the horizontal axis.
    pub x: &'static str,
    /// What stands on the vertical one.
    pub y: String,
    /// Keys of what the table lists beside.
    pub lists: Vec<String>,
    #[serde(skip)]
    pub(super) plots: Metric,
    #[serde(skip)]
    pub(super) metrics: Vec<Metric>,
    /// Lines, in the order of the legend.
    pub lines: Vec<Line>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The experiment.
    pub id: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// Where it stands.
    pub paper: &'static str,
    /// What it was measured on.
    pub machine: Machine,
    /// Turns.
    pub turns: usize,
    /// Seconds a point.
    pub seconds: f64,
    /// How calls that had met others waited.
    pub backoff: String,
    /// What was left out, and why.
    pub notes: Vec<String>,
    /// Its plots.
    pub plots: Vec<Plot>,
    /// What the paper says, and whether it is so here.
    pub expectations: Vec<Verdict>,
    /// The whole took so long.
    pub took_seconds: f64,
}

/// A database, as loaded for all series of a scheme.
struct Base {
    kind: Kind,
    db: Database,
}

/// Panels of one workload, each with its points, and what is measured of each series there.
struct Group {
    suite: &'static Suite,
    panels: Vec<(&'static Panel, Vec<f64>)>,
    series: Vec<Scheme>,
    bases: Vec<Base>,
    /// By panel, series and point.
    cells: Vec<Vec<Vec<Cell>>>,
}

/// What is measured of a point, turn by turn.
struct Cell {
    turns: Vec<Vec<f64>>,
    causes: Vec<(&'static str, u64)>,
    failed: u64,
    latencies: Histogram<u64>,
}

/// Bytes that a unit of a workload takes, rows and indexes, more than less.
fn bytes_per_unit(workload: &str) -> u64 {
    match workload {
        "tpcc" => 130 << 20,
        _ => 4 << 10,
    }
}

impl Experiment {
    /// Runs it. 22023 for panels, schemes and parameters that there are not.
    pub fn run(&self, settings: &Settings, watch: &dyn Watch) -> Result<Outcome> {
        let began = std::time::Instant::now();
        let mut notes: Vec<String> = settings.own.describe().into_iter().collect();
        let schemes = chosen(self, &settings.schemes, settings.backoff, &mut notes)?;
        let panels = self.chosen_panels(settings, &mut notes)?;
        let mut plots = Vec::new();
        for workload in workloads(self, &panels) {
            let suite = Suite::find(workload)?;
            let panels: Vec<_> = panels.iter().copied().filter(|p| self.workload(p) == workload).collect();
            for panel in &panels {
                suite.check(&self.parameters(panel, 0.0, &settings.own))?;
            }
            let panels = self.fitting(suite, panels, &schemes, settings, &mut notes);
            if !panels.is_empty() && !schemes.is_empty() {
                let mut group = self.load(suite, panels, &schemes, watch)?;
                self.measure(&mut group, settings, watch)?;
                self.check(&group, settings, watch)?;
                plots.extend(self.finish(group, settings, watch)?);
            }
        }
        if plots.is_empty() {
            return Err(Error::new(SqlState::OUT_OF_MEMORY, "there is nothing left to measure")
                .with_detail(notes.join("\n")));
        }
        let expectations = expectations::judge(self, &plots);
        Ok(Outcome {
            id: self.id,
            title: self.title,
            paper: self.paper,
            machine: Machine::this(),
            turns: settings.turns,
            seconds: settings.time.as_secs_f64(),
            backoff: settings.backoff.to_string(),
            notes,
            plots,
            expectations,
            took_seconds: began.elapsed().as_secs_f64(),
        })
    }

    /// Panels with their points, as far as memory holds them for all schemes.
    fn fitting(
        &self,
        suite: &Suite,
        panels: Vec<&'static Panel>,
        schemes: &[Scheme],
        settings: &Settings,
        notes: &mut Vec<String>,
    ) -> Vec<(&'static Panel, Vec<f64>)> {
        let bases = kinds(schemes).len().max(1);
        let held = settings.units_max.unwrap_or_else(|| {
            Machine::available_bytes() / 5 * 3 / bytes_per_unit(&suite.name) / bases as u64
        });
        let mut fitting = Vec::new();
        let mut missing: Vec<f64> = Vec::new();
        for panel in panels {
            let points = self.points(panel, settings).into_iter();
            let (kept, left_out): (Vec<f64>, Vec<f64>) = points.partition(|x| self.units(panel, *x) <= held);
            missing.extend(left_out);
            if !kept.is_empty() {
                fitting.push((panel, kept));
            }
        }
        missing.sort_by(f64::total_cmp);
        missing.dedup();
        if !missing.is_empty() {
            let (unit, axis) = (&suite.unit, self.axis.vary.name());
            notes.push(format!(
                "left out, as memory holds no more than {held} {unit} for each of {bases} schemes: {missing:?} {axis}"
            ));
        }
        fitting
    }

    fn load(
        &self,
        suite: &'static Suite,
        panels: Vec<(&'static Panel, Vec<f64>)>,
        schemes: &[Scheme],
        watch: &dyn Watch,
    ) -> Result<Group> {
        let units = panels.iter().flat_map(|(p, xs)| xs.iter().map(|x| self.units(p, *x))).max().unwrap_or(1);
        let mut bases = Vec::new();
        for kind in kinds(schemes) {
            watch.step(&format!("loading {units} {} for {}", suite.unit, kind.name()), 0);
            let db = kind.in_memory()?;
            suite.install_parallel(&db, units, Machine::cores(), &|_, _| {})?;
            bases.push(Base { kind, db });
        }
        let cells = panels
            .iter()
            .map(|(_, xs)| schemes.iter().map(|_| xs.iter().map(|_| Cell::default()).collect()).collect());
        Ok(Group { suite, cells: cells.collect(), panels, series: schemes.to_vec(), bases })
    }

    /// What is real, in turns.
    fn measure(&self, group: &mut Group, settings: &Settings, watch: &dyn Watch) -> Result<()> {
        let Group { suite, panels, series, bases, cells } = group;
        let real = |panel: &Panel| panel.contention.virtual_time().is_none();
        let points: usize = panels.iter().filter(|(p, _)| real(p)).map(|(_, xs)| xs.len()).sum();
        watch.step("measuring", (settings.turns * points * series.len()) as u64);
        let mut done = 0;
        for turn in 0..settings.turns {
            for (p, (panel, xs)) in panels.iter().enumerate().filter(|(_, (panel, _))| real(panel)) {
                for (i, x) in xs.iter().enumerate() {
                    for k in 0..series.len() {
                        let at = (k + turn) % series.len();
                        let job = self.job(suite, panel, *x, settings, (series[at], turn));
                        let measured = job.run(base(bases, series[at])?)?;
                        cells[p][at][i].add(self, panel, suite, &measured);
                        done += 1;
                        watch.at(done);
                    }
                }
            }
        }
        Ok(())
    }

    /// What loses updates is no result.
    fn check(&self, group: &Group, settings: &Settings, watch: &dyn Watch) -> Result<()> {
        let suite = group.suite;
        for base in group.bases.iter().filter(|base| base.kind.is_serializable()) {
            watch.step(&format!("checking {}", base.kind.name()), 0);
            let parameters = &settings.own.parameters;
            let violations = suite.violations_after(&base.db, suite.default_size, true, parameters)?;
            if let Some(v) = violations.first() {
                let message =
                    format!("{}: check violated {} times: {}", base.kind.name(), v.count, v.condition);
                return Err(Error::new(SqlState::DATA_CORRUPTED, message));
            }
        }
        Ok(())
    }

    /// Simulates what is to be, and makes the plots.
    fn finish(&self, group: Group, settings: &Settings, watch: &dyn Watch) -> Result<Vec<Plot>> {
        let Group { suite, panels, series, bases, cells } = group;
        let mut plots = Vec::new();
        for ((panel, xs), cells) in panels.into_iter().zip(cells) {
            let mut lines = Vec::new();
            for (scheme, mut cells) in series.iter().zip(cells) {
                let mut calibration = Vec::new();
                if panel.contention.virtual_time().is_some() {
                    watch.step(&format!("{}: simulating {}", panel.name, scheme.name()), 0);
                    let job = |x: &f64| self.job(suite, panel, *x, settings, (*scheme, 0));
                    let jobs: Vec<Job> = xs.iter().map(job).collect();
                    let simulated;
                    (simulated, calibration) =
                        virtual_time::run(scheme.kind, settings, &jobs, base(&bases, *scheme)?)?;
                    for (cell, measured) in cells.iter_mut().zip(&simulated) {
                        cell.add(self, panel, suite, measured);
                    }
                }
                let mut line = self.line(panel, *scheme, &xs, cells);
                line.calibration = calibration;
                lines.push(line);
            }
            plots.push(self.plot(panel, settings, lines));
        }
        Ok(plots)
    }

    fn line(&self, panel: &Panel, scheme: Scheme, xs: &[f64], cells: Vec<Cell>) -> Line {
        let metrics = self.metrics(panel);
        let latencies = cells.last().map_or_else(histogram, |cell| cell.latencies.clone());
        let points = xs.iter().zip(cells).flat_map(|(x, cell)| {
            let numbers = metrics.iter().enumerate();
            let numbers: Vec<_> = numbers
                .map(|(i, m)| (m.key(), Median::of(cell.turns.iter().map(|turn| turn[i]).collect())))
                .collect();
            let at = |x, numbers| PlotPoint { x, numbers, causes: cell.causes.clone(), failed: cell.failed };
            match self.axis.vary {
                Vary::Latency(_) => within(&cell.latencies)
                    .into_iter()
                    .map(|(upto, share)| {
                        let mut numbers = numbers.clone();
                        let share = Median { median: share, least: share, greatest: share };
                        numbers
                            .iter_mut()
                            .filter(|(k, _)| *k == Metric::Within.key())
                            .for_each(|n| n.1 = share);
                        at(upto, numbers)
                    })
                    .collect(),
                _ => vec![at(*x, numbers)],
            }
        });
        Line {
            scheme: scheme.name(),
            label: scheme.label(),
            points: points.collect(),
            calibration: Vec::new(),
            latencies,
        }
    }

    fn plot(&self, panel: &Panel, settings: &Settings, lines: Vec<Line>) -> Plot {
        let pauses = self.pauses(panel, &settings.own);
        let simulated = panel.contention.virtual_time().is_some();
        Plot {
            panel: panel.name,
            caption: self.caption(panel, settings),
            waits: !pauses.wait.is_zero() && !simulated,
            simulated,
            oversubscribed: pauses.yield_every > 0 && !simulated,
            x: self.axis.vary.name(),
            y: panel.plots.name(),
            lists: self.metrics(panel).into_iter().map(Metric::key).collect(),
            plots: panel.plots,
            metrics: self.metrics(panel),
            lines,
        }
    }

    /// All that is measured in a panel: what is plotted, throughput, and what is listed.
    pub(super) fn metrics(&self, panel: &Panel) -> Vec<Metric> {
        let mut metrics = vec![panel.plots];
        for metric in [Metric::Throughput].iter().chain(panel.lists).chain([&Metric::Lost]) {
            if !metrics.contains(metric) {
                metrics.push(*metric);
            }
        }
        metrics
    }

    /// Latencies that it speaks of.
    fn latencies(&self, suite: &Suite, measured: &Measured) -> Histogram<u64> {
        let Vary::Latency(names) = self.axis.vary else { return measured.all() };
        let mut all = histogram();
        for (name, of) in suite.transactions.iter().zip(&measured.latencies) {
            if names.contains(&&**name) {
                all.add(of).expect("they have the same bounds");
            }
        }
        all
    }
}

impl Default for Cell {
    fn default() -> Cell {
        Cell { turns: Vec::new(), causes: Vec::new(), failed: 0, latencies: histogram() }
    }
}

/// Kinds of some schemes, each once.
pub(super) fn kinds(schemes: &[Scheme]) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for scheme in schemes {
        if !kinds.contains(&scheme.kind) {
            kinds.push(scheme.kind);
        }
    }
    kinds
}

/// The database of a series.
fn base(bases: &[Base], scheme: Scheme) -> Result<&Database> {
    let found = bases.iter().find(|base| base.kind == scheme.kind).map(|base| &base.db);
    found.ok_or_else(|| Error::new(SqlState::INTERNAL_ERROR, format!("{} was not loaded", scheme.name())))
}

impl Cell {
    fn add(&mut self, experiment: &Experiment, panel: &Panel, suite: &Suite, measured: &Measured) {
        let sessions = f64::from(u32::try_from(measured.sessions).unwrap_or(u32::MAX));
        let latencies = experiment.latencies(suite, measured);
        let healed = measured.healing().iter().find(|(what, _)| *what == "commits").map_or(0, |(_, n)| *n);
        let number = |metric: &Metric| match *metric {
            Metric::Throughput => measured.transactions() as f64 / measured.seconds,
            Metric::Restarts => measured.restarts_each(),
            Metric::Lost => 100.0 * measured.lost_seconds / (sessions * measured.seconds),
            Metric::Operations => measured.each(measured.table_operations as f64),
            // A simulation's says nothing.
            Metric::Processor if panel.contention.virtual_time().is_some() => f64::NAN,
            Metric::Processor => measured.each(measured.cpu_seconds) * 1e6,
            Metric::Healed => 100.0 * measured.each(healed as f64),
            Metric::Percentile(p) => latencies.value_at_quantile(p / 100.0) as f64 / 1e3,
            // Of all turns, at the end.
            Metric::Within => 0.0,
        };
        self.turns.push(experiment.metrics(panel).iter().map(number).collect());
        for (cause, n) in measured.restarts() {
            match self.causes.iter_mut().find(|(c, _)| *c == cause) {
                Some((_, sum)) => *sum += n,
                None => self.causes.push((cause, n)),
            }
        }
        self.failed += measured.failed;
        self.latencies.add(latencies).expect("they have the same bounds");
    }
}

/// How many of a hundred are no greater than each of some limits in microseconds, from the last limit that none is below
/// to the first that holds all: 10, 20, 40 and so on.
pub(super) fn within(latencies: &Histogram<u64>) -> Vec<(f64, f64)> {
    let share = |upto: f64| {
        let n = latencies.count_between(0, (upto * 1e3) as u64);
        100.0 * n as f64 / latencies.len().max(1) as f64
    };
    let limits: Vec<f64> = (0..23).map(|i| 10.0 * f64::from(1 << i)).collect();
    let first = limits.iter().rposition(|upto| share(*upto) == 0.0).unwrap_or(0);
    let last = limits.iter().position(|upto| share(*upto) >= 100.0).unwrap_or(limits.len() - 1);
    limits[first..=last.max(first)].iter().map(|upto| (*upto, share(*upto))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_have_their_range() {
        assert_eq!(Median::of(vec![3.0, 1.0, 2.0]), Median { median: 2.0, least: 1.0, greatest: 3.0 });
        assert_eq!(Median::of(vec![1.0, 2.0]).median, 1.5);
        assert_eq!(Median::of(Vec::new()), Median::default());
    }

    #[test]
    fn latencies_are_classed_as_the_paper_does() {
        let mut latencies = histogram();
        for us in [15, 25, 30, 70, 75, 78, 100, 150, 155, 700] {
            latencies.record(us * 1000).expect("in range");
        }
        let classes = within(&latencies);
        assert_eq!(classes.first(), Some(&(10.0, 0.0)));
        assert_eq!(classes[1..4], [(20.0, 10.0), (40.0, 30.0), (80.0, 60.0)]);
        assert_eq!(classes.last(), Some(&(1280.0, 100.0)));
    }
}
