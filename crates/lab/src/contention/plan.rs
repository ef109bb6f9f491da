//! What an experiment runs, from its data and from settings of one's own, and how long that takes.

use super::experiment::{Contention, Experiment, Panel, Vary, describe};
use super::run::{Own, Settings, kinds};
use super::scheme::{Scheme, chosen};
use super::virtual_time::{self, Job};
use planaria::lab::Pauses;
use planaria::{Error, Result, SqlState};
use planaria_workload::{Parameters, Suite};
use std::time::Duration;

/// Of a quick run's virtual time: so much less than of others.
const QUICK_VIRTUAL: u32 = 32;

impl Settings {
    /// As most run it.
    pub fn usual(quick: bool) -> Settings {
        let millis = |quick_ones, full| Duration::from_millis(if quick { quick_ones } else { full });
        Settings {
            quick,
            turns: if quick { 2 } else { 5 },
            time: millis(500, 2000),
            warmup: millis(100, 500),
            panels: Vec::new(),
            schemes: Vec::new(),
            backoff: Default::default(),
            units_max: None,
            own: Own::default(),
            seed: 1,
        }
    }
}

impl Own {
    /// What is another one than the experiment's, for people.
    pub(super) fn describe(&self) -> Option<String> {
        let mut parts = Vec::new();
        if let Some(sessions) = self.sessions {
            parts.push(format!("{sessions} sessions"));
        }
        if let Some(every) = self.yield_every {
            parts.push(format!("yielding every {every} operations"));
        }
        if let Some(wait) = self.wait {
            parts.push(format!("waiting {wait:?}"));
        }
        if self.parameters != Parameters::default() {
            parts.push("inputs of one's own".into());
        }
        (!parts.is_empty()).then(|| format!("not as in the paper: {}", parts.join(", ")))
    }
}

impl Experiment {
    /// Panels that are measured. What is left out is noted.
    pub(super) fn chosen_panels(
        &self,
        settings: &Settings,
        notes: &mut Vec<String>,
    ) -> Result<Vec<&'static Panel>> {
        let names = &settings.panels;
        if let Some(name) = names.iter().find(|name| self.panels.iter().all(|p| p.name != **name)) {
            let all: Vec<_> = self.panels.iter().map(|p| p.name).collect();
            let message = format!("{} has no panel \"{name}\"", self.id);
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
                .with_hint(format!("There are {}.", all.join(", "))));
        }
        if !names.is_empty() {
            return Ok(self.panels.iter().filter(|p| names.iter().any(|name| *name == p.name)).collect());
        }
        let is_left_out = |panel: &&Panel| settings.quick && panel.slow;
        for panel in self.panels.iter().filter(is_left_out) {
            notes.push(format!(
                "left out, as it takes long: panel {0} (--panels {0} asks for it)",
                panel.name
            ));
        }
        Ok(self.panels.iter().filter(|panel| !is_left_out(panel)).collect())
    }

    /// Its workload, in a panel.
    pub(super) fn workload(&self, panel: &Panel) -> &'static str {
        panel.workload.map_or(self.workload, |inputs| inputs.name)
    }

    /// A panel's points: those of the axis, but where settings of one's own say what varies.
    pub(super) fn points(&self, panel: &Panel, settings: &Settings) -> Vec<f64> {
        let own = &settings.own;
        let one = match self.axis.vary {
            Vary::Sessions | Vary::SessionsAndUnits => own.sessions.map(|n| n as f64),
            Vary::Theta => own.parameters.theta,
            Vary::CrossPartition => own.parameters.cross_partition,
            _ => None,
        };
        let points = panel.points.map_or((self.axis.full, self.axis.quick), |p| (p.full, p.quick));
        one.map_or(if settings.quick { points.1 } else { points.0 }.to_vec(), |x| vec![x])
    }

    /// Units that a point uses.
    pub(super) fn units(&self, panel: &Panel, x: f64) -> u64 {
        match self.axis.vary {
            Vary::Units | Vary::SessionsAndUnits => x as u64,
            _ => panel.units,
        }
    }

    fn sessions(&self, panel: &Panel, x: f64, own: &Own) -> usize {
        match self.axis.vary {
            Vary::Sessions | Vary::SessionsAndUnits => x as usize,
            _ => own.sessions.unwrap_or(panel.sessions),
        }
    }

    /// What drivers draw.
    pub(super) fn parameters(&self, panel: &Panel, x: f64, own: &Own) -> Parameters {
        let own = &own.parameters;
        let inputs = panel.workload;
        let varies = |vary: Vary| (self.axis.vary == vary).then_some(x);
        let shares = own.remote_lines.is_some() || own.remote_payments.is_some();
        let usual = if shares { None } else { self.cross_partition };
        Parameters {
            theta: varies(Vary::Theta).or(own.theta).or(inputs.and_then(|i| i.theta)),
            operations: own.operations.or(inputs.and_then(|i| i.operations)),
            home: self.home || own.home,
            cross_partition: varies(Vary::CrossPartition).or(own.cross_partition).or(usual),
            ..own.clone()
        }
    }

    /// What sessions do in a panel.
    pub(super) fn pauses(&self, panel: &Panel, own: &Own) -> Pauses {
        let mut pauses = Pauses { timed: true, ..panel.contention.pauses() };
        // In virtual time each operation is a point of the simulation.
        if panel.contention.virtual_time().is_none() {
            pauses.yield_every = own.yield_every.unwrap_or(pauses.yield_every);
        }
        pauses.wait = own.wait.unwrap_or(pauses.wait);
        pauses
    }

    /// How a panel is measured, for people.
    pub(super) fn caption(&self, panel: &Panel, settings: &Settings) -> String {
        let sessions = match self.axis.vary {
            Vary::Sessions | Vary::SessionsAndUnits => None,
            _ => Some(self.sessions(panel, 0.0, &settings.own)),
        };
        let simulated = panel.contention.virtual_time().is_some();
        let how = describe(sessions, &self.pauses(panel, &settings.own), simulated);
        let mut caption = format!("{}: {how}", panel.name);
        if panel.units > 0 {
            let unit = Suite::find(self.workload(panel)).map_or("units", |suite| &suite.unit);
            caption += &format!("; {} {unit}", panel.units);
        }
        let inputs = self.parameters(panel, 0.0, &settings.own);
        if let (Some(theta), true) = (inputs.theta, self.axis.vary != Vary::Theta) {
            caption += &format!(", theta {theta}");
        }
        if let Some(operations) = inputs.operations {
            caption += &format!(", {operations} operations");
        }
        caption
    }

    pub(super) fn job(
        &self,
        suite: &'static Suite,
        panel: &Panel,
        x: f64,
        settings: &Settings,
        (scheme, turn): (Scheme, usize),
    ) -> Job {
        let time = time_in(panel.contention, settings.quick);
        Job {
            suite,
            size: self.units(panel, x),
            sessions: self.sessions(panel, x, &settings.own),
            parameters: self.parameters(panel, x, &settings.own),
            pauses: Pauses {
                backoff: Some(scheme.backoff.unwrap_or(settings.backoff)),
                ..self.pauses(panel, &settings.own)
            },
            unhealed: if self.axis.vary == Vary::Unhealed { x } else { 0.0 },
            readers: if self.axis.vary == Vary::Readers { x as usize } else { 0 },
            warmup: time.map_or(settings.warmup, |time| time / 2),
            time: time.unwrap_or(settings.time),
            seed: settings.seed.wrapping_mul(31).wrapping_add(turn as u64),
        }
    }

    /// How long it takes, more or less, on two cores that nobody else wants: 22023 as for [`Experiment::run`].
    pub fn planned(&self, settings: &Settings) -> Result<Duration> {
        let schemes = chosen(self, &settings.schemes, settings.backoff, &mut Vec::new())?;
        let (kinds, series) = (kinds(&schemes).len() as f64, schemes.len() as f64);
        let panels = self.chosen_panels(settings, &mut Vec::new())?;
        let each = (settings.time + settings.warmup).as_secs_f64();
        let mut seconds = 0.0;
        for workload in workloads(self, &panels) {
            let cost = Cost::of(workload);
            let panels: Vec<_> = panels.iter().filter(|p| self.workload(p) == workload).collect();
            let most = |panel: &Panel| {
                let units = self.points(panel, settings).into_iter().map(|x| self.units(panel, x));
                units.max().unwrap_or(0) as f64
            };
            let units = panels.iter().map(|p| most(p)).fold(0.0, f64::max);
            seconds += kinds * units * (cost.loads + cost.checks);
            for panel in panels {
                let points = self.points(panel, settings);
                let Some(time) = time_in(panel.contention, settings.quick) else {
                    seconds += series * points.len() as f64 * each * settings.turns as f64;
                    continue;
                };
                let sessions = points.iter().map(|x| self.sessions(panel, *x, &settings.own));
                // One for the price, one and two to hold them against real ones; with what goes before they count.
                let held = 4 * virtual_time::LONGER as usize;
                let virtually = (sessions.sum::<usize>() + held) as f64 * time.as_secs_f64() * 1.5;
                seconds +=
                    series * (2.0 * each + most(panel) * cost.loads_alone + virtually * cost.simulates);
            }
        }
        Ok(Duration::from_secs_f64(seconds))
    }
}

/// Workloads of some panels, each once.
pub(super) fn workloads(experiment: &Experiment, panels: &[&'static Panel]) -> Vec<&'static str> {
    let mut workloads = Vec::new();
    for panel in panels {
        let workload = experiment.workload(panel);
        if !workloads.contains(&workload) {
            workloads.push(workload);
        }
    }
    workloads
}

fn time_in(contention: Contention, quick: bool) -> Option<Duration> {
    contention.virtual_time().map(|time| if quick { time / QUICK_VIRTUAL } else { time })
}

/// What a workload takes, in seconds: measured once, and rounded up.
struct Cost {
    /// Loading a unit, on two cores.
    loads: f64,
    /// On one, in a simulation.
    loads_alone: f64,
    /// Checking a unit.
    checks: f64,
    /// A second of a session in virtual time, where many sessions meet.
    simulates: f64,
}

impl Cost {
    fn of(workload: &str) -> Cost {
        match workload {
            "tpcc" => Cost { loads: 1.5, loads_alone: 3.0, checks: 0.5, simulates: 100.0 },
            _ => Cost { loads: 2e-5, loads_alone: 4e-5, checks: 1e-5, simulates: 60.0 },
        }
    }
}
