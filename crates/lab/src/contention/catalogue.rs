//! The experiments: chapter 3 of Y. Wu, *Transaction Management on Multicores* (NUS 2017), §3.5.
//!
//! Of the plots no more is known than what the prose says of them; where that contradicts itself (OCC⁻ over OCC and
//! SILO⁻ over SILO at 2 warehouses), the order is the expectation. Warehouses of Figures 3.11 and 3.12 are not given. The
//! thesis has 46 threads on 48 cores: here `k1` are two threads on two cores, `k2` 46 on as few, `k3` 46 that wait in
//! their transactions (see [`Contention`]), `k4` 46 in virtual time, at fewer points where loading them takes long.
//!
//! The thesis's rivals try again at once, ours wait first, so those it compares are there in both ways: `silo+none` is
//! `silo` without back-off.

mod figures;
mod own;
mod tables;

use super::experiment::*;

const OCC: &str = "occ";
const SILO: &str = "silo";
const TWO_PHASE: &str = "two_phase";
const OCC_AT_ONCE: &str = "occ+none";
const SILO_AT_ONCE: &str = "silo+none";
const TWO_PHASE_AT_ONCE: &str = "two_phase+none";
const MVOCC: &str = "mvocc";
const HYBRID: &str = "hybrid";
const PARTITIONED: &str = "partitioned";
const HEALING: &str = "healing";
const HEALING_WITHOUT: &str = "healing-without";
const HEALING_CACHE: &str = "healing-cache";
const HEALING_ALWAYS: &str = "healing-always";
const OCC_BOUND: &str = "occ-unvalidated";
const SILO_BOUND: &str = "silo-unvalidated";

const ALL: &[&str] = &[HEALING, OCC, SILO, TWO_PHASE, HYBRID, PARTITIONED, OCC_BOUND, SILO_BOUND];

/// With the thesis's strongest and weakest rival as it has them.
const ALL_AND_AT_ONCE: &[&str] = &[
    HEALING,
    OCC,
    SILO,
    TWO_PHASE,
    HYBRID,
    PARTITIONED,
    OCC_BOUND,
    SILO_BOUND,
    SILO_AT_ONCE,
    TWO_PHASE_AT_ONCE,
];

const WAREHOUSES: Axis =
    Axis { vary: Vary::Units, full: &[2.0, 4.0, 8.0, 16.0, 24.0, 48.0], quick: &[2.0, 4.0] };

const THETAS: &[f64] = &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// What stands in every table.
const USUAL: &[Metric] = &[
    Metric::Restarts,
    Metric::Healed,
    Metric::Operations,
    Metric::Processor,
    Metric::Percentile(50.0),
    Metric::Percentile(95.0),
];

/// What stands in Table 3.3.
const LATENCIES: &[Metric] = &[Metric::Percentile(25.0), Metric::Percentile(80.0), Metric::Restarts];

const TWO: Contention = Contention::Real;
const YIELDING: Contention = Contention::Oversubscribed { yield_every: 8 };
const LONG: Contention = Contention::Waiting { micros: 2000 };
const SHORT: Contention = Contention::Waiting { micros: 1000 };
/// A transaction of TPC-C takes 20 us or so: some 800 of each session, and some 25 in a quick run, which has a thirty-second of it.
const VIRTUAL: Contention = Contention::Virtual { micros: 16_000 };

const fn panel(
    name: &'static str,
    contention: Contention,
    sessions: usize,
    units: u64,
    plots: Metric,
) -> Panel {
    Panel { name, contention, sessions, units, plots, lists: USUAL, ..Panel::PLAIN }
}

/// Of an experiment whose panels differ in their workloads; with that of the experiment.
const ONE_OF_SEVERAL: Panel = Panel {
    name: "tpcc",
    sessions: 2,
    lists: &[Metric::Restarts, Metric::Operations, Metric::Percentile(95.0)],
    ..Panel::PLAIN
};

/// What most have.
const TPCC: Experiment = Experiment {
    id: "",
    title: "",
    paper: "",
    workload: "tpcc",
    schemes: ALL,
    others: true,
    axis: WAREHOUSES,
    panels: &[],
    home: false,
    cross_partition: None,
    expectations: &[],
};

const SMALLBANK: Experiment = Experiment {
    workload: "smallbank",
    axis: Axis { vary: Vary::Theta, full: THETAS, quick: &[0.1, 0.5, 0.9] },
    ..TPCC
};

/// In the order of the paper.
pub static EXPERIMENTS: &[Experiment] = &[
    figures::FIG_3_8,
    figures::FIG_3_9,
    figures::FIG_3_10,
    figures::FIG_3_11,
    figures::FIG_3_12,
    figures::FIG_3_13,
    figures::FIG_3_14,
    tables::TABLE_3_1,
    tables::TABLE_3_2,
    tables::TABLE_3_3,
    tables::TABLE_3_4,
    own::CONTENTION_TPCC,
    own::CONTENTION_SMALLBANK,
    own::CONTENTION_K1,
    own::MVOCC_READERS,
];
