//! Schemes that are compared: those of the shelf, upper bounds that lose updates, and healing with parts of its cache.

use super::experiment::Experiment;
use planaria::lab::{LabOptions, Remembers, UpperBound};
use planaria::{BackoffKind, Database, Durability, Error, LogKind, Options, ProtocolKind, Result, SqlState};

/// A scheme.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// One that databases may be run with.
    Shelf(ProtocolKind),
    /// One that loses updates.
    Bound(UpperBound),
    /// `healing` that heals whenever it can, as in the thesis, and remembers so much: what its parts cost.
    Healing(Remembers),
}

/// Names of [`Scheme::Healing`].
const HEALING: [(&str, Remembers); 3] = [
    ("healing-without", Remembers::Nothing),
    ("healing-cache", Remembers::Lookups),
    ("healing-always", Remembers::Rows),
];

impl Scheme {
    /// By name, if there is one.
    pub fn find(name: &str) -> Option<Scheme> {
        let healing = HEALING.iter().find(|(known, _)| *known == name).map(|(_, what)| Scheme::Healing(*what));
        healing.or_else(|| name.parse().map(Scheme::Bound).or_else(|_| name.parse().map(Scheme::Shelf)).ok())
    }

    /// All names there are.
    pub fn names() -> Vec<&'static str> {
        let shelf = ProtocolKind::ALL.iter().map(|kind| kind.name());
        let bounds = UpperBound::ALL.iter().map(|bound| bound.name());
        shelf.chain(bounds).chain(HEALING.iter().map(|(name, _)| *name)).collect()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Scheme::Shelf(kind) => kind.name(),
            Scheme::Bound(bound) => bound.name(),
            Scheme::Healing(what) => HEALING[what as usize].0,
        }
    }

    /// As the thesis writes it.
    pub fn label(self) -> &'static str {
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
        !matches!(self, Scheme::Bound(_))
    }

    /// A database in memory, without a log.
    pub fn in_memory(self, backoff: BackoffKind) -> Result<Database> {
        let options = Options::new().log(LogKind::Off).durability(Durability::Off).backoff(backoff);
        match self {
            Scheme::Shelf(kind) => options.protocol(kind).in_memory(),
            Scheme::Bound(bound) => options.in_memory_unvalidated(bound),
            Scheme::Healing(what) => {
                let options = options.protocol(ProtocolKind::Healing);
                options.heal_always(true).healing_remembers(what).in_memory()
            }
        }
    }
}

/// Schemes that are measured, in the order of the legend. What is left out is noted. 22023 for a name that was asked for
/// and does not exist.
pub(super) fn chosen(
    experiment: &Experiment,
    asked: &[String],
    notes: &mut Vec<String>,
) -> Result<Vec<Scheme>> {
    if !asked.is_empty() {
        let find = |name: &String| {
            Scheme::find(name).ok_or_else(|| {
                Error::new(SqlState::INVALID_PARAMETER_VALUE, format!("there is no scheme \"{name}\""))
                    .with_hint(format!("There are {}.", Scheme::names().join(", ")))
            })
        };
        return asked.iter().map(find).collect();
    }
    let mut schemes = Vec::new();
    for name in experiment.schemes {
        match Scheme::find(name) {
            Some(scheme) => schemes.push(scheme),
            None => notes.push(format!("left out: {name} is not on the shelf")),
        }
    }
    if experiment.others {
        for kind in ProtocolKind::ALL.iter().filter(|kind| kind.is_concurrent()) {
            let scheme = Scheme::Shelf(*kind);
            if !schemes.contains(&scheme) {
                notes.push(format!("{} is not in the paper's figure", scheme.name()));
                schemes.push(scheme);
            }
        }
    }
    Ok(schemes)
}
