//! Schemes that are compared: those of the shelf, upper bounds that lose updates, and healing with parts of its cache; each as
//! whoever runs the experiment has attempts wait, or with a back-off of its own.

use super::experiment::Experiment;
use planaria::lab::{LabOptions, Remembers, UpperBound};
use planaria::{BackoffKind, Database, Durability, Error, LogKind, Options, ProtocolKind, Result, SqlState};

/// What databases are run with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// One that databases may be run with.
    Shelf(ProtocolKind),
    /// One that loses updates.
    Bound(UpperBound),
    /// `healing` that heals whenever it can, as in the thesis, and remembers so much: what its parts cost.
    Healing(Remembers),
}

/// Names of [`Kind::Healing`].
const HEALING: [(&str, Remembers); 3] = [
    ("healing-without", Remembers::Nothing),
    ("healing-cache", Remembers::Lookups),
    ("healing-always", Remembers::Rows),
];

/// A scheme, a line of a plot: `silo`, or `silo+none` for what is tried again at once, whatever the others do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scheme {
    /// Series of one kind share their database.
    pub kind: Kind,
    /// How attempts wait that have met others, where not as all do.
    pub backoff: Option<BackoffKind>,
}

impl Kind {
    fn find(name: &str) -> Option<Kind> {
        let healing = HEALING.iter().find(|(known, _)| *known == name).map(|(_, what)| Kind::Healing(*what));
        healing.or_else(|| name.parse().map(Kind::Bound).ok()).or_else(|| name.parse().map(Kind::Shelf).ok())
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Shelf(kind) => kind.name(),
            Kind::Bound(bound) => bound.name(),
            Kind::Healing(what) => HEALING[what as usize].0,
        }
    }

    fn label(self) -> &'static str {
        match self.name() {
            "healing" => "HEALING",
            "healing-without" => "without cache",
            "healing-cache" => "with cache",
            "healing-always" => "with cache and copies",
            "occ" => "OCC",
            "silo" => "SILO",
            "two_phase" => "2PL",
            "hybrid" => "HYBRID",
            "partitioned" => "DT",
            "occ-unvalidated" => "OCC\u{2212}",
            "silo-unvalidated" => "SILO\u{2212}",
            other => other,
        }
    }

    /// Whether what it leaves has to pass a workload's checks.
    pub fn is_serializable(self) -> bool {
        !matches!(self, Kind::Bound(_))
    }

    /// A database in memory, without a log.
    pub fn in_memory(self) -> Result<Database> {
        let options = Options::new().log(LogKind::Off).durability(Durability::Off);
        match self {
            Kind::Shelf(kind) => options.protocol(kind).in_memory(),
            Kind::Bound(bound) => options.in_memory_unvalidated(bound),
            Kind::Healing(what) => {
                let options = options.protocol(ProtocolKind::Healing);
                options.heal_always(true).healing_remembers(what).in_memory()
            }
        }
    }
}

impl Scheme {
    /// By name, if there is one.
    pub fn find(name: &str) -> Option<Scheme> {
        let Some((kind, backoff)) = name.split_once('+') else {
            return Some(Scheme { kind: Kind::find(name)?, backoff: None });
        };
        Some(Scheme { kind: Kind::find(kind)?, backoff: Some(backoff.parse().ok()?) })
    }

    /// All names of kinds there are.
    pub fn names() -> Vec<&'static str> {
        let shelf = ProtocolKind::ALL.iter().map(|kind| kind.name());
        let bounds = UpperBound::ALL.iter().map(|bound| bound.name());
        shelf.chain(bounds).chain(HEALING.iter().map(|(name, _)| *name)).collect()
    }

    /// Its name.
    pub fn name(self) -> String {
        match self.backoff {
            None => self.kind.name().to_owned(),
            Some(backoff) => format!("{}+{backoff}", self.kind.name()),
        }
    }

    /// As the thesis writes it.
    pub fn label(self) -> String {
        match self.backoff {
            None => self.kind.label().to_owned(),
            Some(BackoffKind::None) => format!("{} at once", self.kind.label()),
            Some(BackoffKind::Exponential) => format!("{} that waits", self.kind.label()),
        }
    }
}

/// Schemes that are measured, in the order of the legend, where all others wait by `backoff`. What is left out is noted. 22023 for
/// a name that was asked for and does not exist.
pub(super) fn chosen(
    experiment: &Experiment,
    asked: &[String],
    backoff: BackoffKind,
    notes: &mut Vec<String>,
) -> Result<Vec<Scheme>> {
    let mut schemes: Vec<Scheme> = Vec::new();
    let mut add = |scheme: Scheme, notes: &mut Vec<String>| {
        let how = |s: &Scheme| (s.kind, s.backoff.unwrap_or(backoff));
        match schemes.iter().find(|other| how(other) == how(&scheme)) {
            Some(other) => notes.push(format!("left out: {} is {} here", scheme.name(), other.name())),
            None => schemes.push(scheme),
        }
    };
    if !asked.is_empty() {
        for name in asked {
            let scheme = Scheme::find(name).ok_or_else(|| {
                Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("there is no scheme \"{name}\""))
                    .with_hint(format!(
                        "There are {}; with +none behind it, one is tried again at once.",
                        Scheme::names().join(", ")
                    ))
            })?;
            add(scheme, notes);
        }
        return Ok(schemes);
    }
    for name in experiment.schemes {
        match Scheme::find(name) {
            Some(scheme) => add(scheme, notes),
            None => notes.push(format!("left out: {name} is not on the shelf")),
        }
    }
    if experiment.others {
        for kind in ProtocolKind::ALL.iter().filter(|kind| kind.is_concurrent()) {
            if !experiment.schemes.contains(&kind.name()) {
                notes.push(format!("{} is not in the paper's figure", kind.name()));
                add(Scheme { kind: Kind::Shelf(*kind), backoff: None }, notes);
            }
        }
    }
    Ok(schemes)
}
