//! The experiments: chapter 3 of Y. Wu, *Transaction Management on Multicores* (NUS 2017), §3.5.
//!
//! Of the plots no more is known than what the prose says of them; where that contradicts itself (OCC⁻ over OCC and
//! SILO⁻ over SILO at 2 warehouses), the order is the expectation. Warehouses of Figures 3.11 and 3.12 are not given. The
//! thesis has 46 threads on 48 cores: here `k1` are two threads on two cores, `k2` 46 on as few, `k3` 46 that wait in
//! their transactions (see [`Contention`]), `k4` 46 in virtual time.

use super::experiment::*;

const OCC: &str = "occ";
const SILO: &str = "silo";
const TWO_PHASE: &str = "two_phase";
const HYBRID: &str = "hybrid";
const PARTITIONED: &str = "partitioned";
const HEALING: &str = "healing";
const HEALING_WITHOUT: &str = "healing-without";
const HEALING_CACHE: &str = "healing-cache";
const HEALING_ALWAYS: &str = "healing-always";
const OCC_BOUND: &str = "occ-unvalidated";
const SILO_BOUND: &str = "silo-unvalidated";

const ALL: &[&str] = &[HEALING, OCC, SILO, TWO_PHASE, HYBRID, PARTITIONED, OCC_BOUND, SILO_BOUND];

const WAREHOUSES: Axis =
    Axis { vary: Vary::Units, full: &[2.0, 4.0, 8.0, 16.0, 24.0, 48.0], quick: &[2.0, 4.0, 8.0] };

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

const TWO: Contention = Contention::Real;
const YIELDING: Contention = Contention::Oversubscribed { yield_every: 8 };
const LONG: Contention = Contention::Waiting { micros: 2000 };
const SHORT: Contention = Contention::Waiting { micros: 1000 };
/// A transaction of TPC-C takes 20 us or so: some 800 of each session, and some 200 in a quick run.
const VIRTUAL: Contention = Contention::Virtual { micros: 16_000 };

const fn panel(
    name: &'static str,
    contention: Contention,
    sessions: usize,
    units: u64,
    plots: Metric,
) -> Panel {
    Panel { name, contention, sessions, units, plots, lists: USUAL }
}

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
    Experiment {
        id: "fig-3.8",
        title: "What validation costs optimistic schemes on TPC-C",
        paper: "Figure 3.8: 46 threads, 48 to 2 warehouses; OCC, SILO, and both without validation",
        schemes: &[OCC, SILO, OCC_BOUND, SILO_BOUND],
        others: false,
        panels: &[panel("k3", LONG, 46, 0, Metric::Throughput), panel("k1", TWO, 2, 0, Metric::Throughput)],
        expectations: &[
            Expectation {
                says: "at 2 warehouses SILO < OCC < OCC- < SILO-",
                panels: &["k3"],
                test: Test::Rising {
                    metric: Metric::Throughput,
                    at: At::First,
                    schemes: &[SILO, OCC, OCC_BOUND, SILO_BOUND],
                    slack: 2.0,
                },
            },
            Expectation {
                says: "at 2 warehouses OCC has 150 K, SILO 60 K transactions a second: 2.5 times",
                panels: &["k3"],
                test: Test::Ratio {
                    metric: Metric::Throughput,
                    at: At::First,
                    of: OCC,
                    to: SILO,
                    paper: 2.5,
                    factor: 1.5,
                },
            },
            Expectation {
                says: "at 2 warehouses OCC- has 3 times what OCC has",
                panels: &["k3"],
                test: Test::AtLeast {
                    metric: Metric::Throughput,
                    at: At::First,
                    of: OCC_BOUND,
                    to: OCC,
                    paper: 3.0,
                },
            },
            Expectation {
                says: "SILO- is 10 to 15 % above OCC-",
                panels: &["k3"],
                test: Test::Ratio {
                    metric: Metric::Throughput,
                    at: At::First,
                    of: SILO_BOUND,
                    to: OCC_BOUND,
                    paper: 1.125,
                    factor: 1.05,
                },
            },
        ],
        ..TPCC
    },
    Experiment {
        id: "fig-3.9",
        title: "Time that optimistic schemes lose in attempts in vain on TPC-C",
        paper: "Figure 3.9: 46 threads, 48 to 2 warehouses; share of time in restarts, and restarts a commit",
        schemes: &[OCC, SILO],
        others: true,
        panels: &[panel("k3", LONG, 46, 0, Metric::Lost), panel("k2", YIELDING, 46, 0, Metric::Operations)],
        expectations: &[
            Expectation {
                says: "at 2 warehouses OCC spends 69 % of its time in restarts",
                panels: &["k3"],
                test: Test::Value {
                    metric: Metric::Lost,
                    at: At::First,
                    of: OCC,
                    paper: 69.0,
                    tolerance: 10.0,
                },
            },
            Expectation {
                says: "at 2 warehouses SILO spends 91 %",
                panels: &["k3"],
                test: Test::Value {
                    metric: Metric::Lost,
                    at: At::First,
                    of: SILO,
                    paper: 91.0,
                    tolerance: 10.0,
                },
            },
            Expectation {
                says: "OCC and SILO restart about as often",
                panels: &["k3"],
                test: Test::Ratio {
                    metric: Metric::Restarts,
                    at: At::First,
                    of: SILO,
                    to: OCC,
                    paper: 1.0,
                    factor: 1.25,
                },
            },
        ],
        ..TPCC
    },
    Experiment {
        id: "fig-3.10",
        title: "All schemes over contention on TPC-C, no transaction across warehouses",
        paper: "Figure 3.10: 46 threads, 2 to 48 warehouses, no cross-partition transactions",
        panels: &[panel("k3", LONG, 46, 0, Metric::Throughput), panel("k1", TWO, 2, 0, Metric::Throughput)],
        home: true,
        cross_partition: Some(0.0),
        expectations: &[
            Expectation {
                says: "at 2 warehouses HEALING is close to OCC-",
                panels: &["k3"],
                test: Test::Ratio {
                    metric: Metric::Throughput,
                    at: At::First,
                    of: HEALING,
                    to: OCC_BOUND,
                    paper: 1.0,
                    factor: 1.2,
                },
            },
            Expectation {
                says: "at 2 warehouses HEALING is above 2PL",
                panels: &["k3"],
                test: Test::AtLeast {
                    metric: Metric::Throughput,
                    at: At::First,
                    of: HEALING,
                    to: TWO_PHASE,
                    paper: 1.0,
                },
            },
            Expectation {
                says: "with many warehouses DT is the best",
                panels: &["k3"],
                test: Test::AtLeast {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: PARTITIONED,
                    to: HEALING,
                    paper: 1.0,
                },
            },
        ],
        ..TPCC
    },
    Experiment {
        id: "fig-3.11",
        title: "All schemes over sessions on TPC-C, at three contentions",
        paper: "Figure 3.11: up to 46 threads, three numbers of warehouses (not given), no cross-partition transactions",
        axis: Axis {
            vary: Vary::Sessions,
            full: &[1.0, 8.0, 16.0, 24.0, 32.0, 46.0],
            quick: &[1.0, 16.0, 46.0],
        },
        panels: &[
            panel("k3-2", LONG, 0, 2, Metric::Throughput),
            panel("k3-4", LONG, 0, 4, Metric::Throughput),
            panel("k3-8", LONG, 0, 8, Metric::Throughput),
            panel("k4-2", VIRTUAL, 0, 2, Metric::Throughput),
        ],
        home: true,
        cross_partition: Some(0.0),
        expectations: &[
            Expectation {
                says: "at the highest contention HEALING has 2.3 times what 2PL has",
                panels: &["k3-2", "k4-2"],
                test: Test::Ratio {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING,
                    to: TWO_PHASE,
                    paper: 2.3,
                    factor: 1.5,
                },
            },
            Expectation {
                says: "and 6.2 times what SILO has",
                panels: &["k3-2", "k4-2"],
                test: Test::Ratio {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING,
                    to: SILO,
                    paper: 6.2,
                    factor: 1.5,
                },
            },
            Expectation {
                says: "2PL has 1.25 times what OCC has",
                panels: &["k3-2", "k4-2"],
                test: Test::Ratio {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: TWO_PHASE,
                    to: OCC,
                    paper: 1.25,
                    factor: 1.2,
                },
            },
            Expectation {
                says: "SILO is the last",
                panels: &["k3-2", "k4-2"],
                test: Test::Rising {
                    metric: Metric::Throughput,
                    at: At::Last,
                    schemes: &[SILO, OCC],
                    slack: 0.0,
                },
            },
            Expectation {
                says: "HEALING scales almost linearly: from 1 to 46 sessions at least 30 times",
                panels: &["k3-2", "k4-2"],
                test: Test::Change { metric: Metric::Throughput, of: HEALING, least: 30.0, most: 60.0 },
            },
            Expectation {
                says: "at the lowest contention all scale almost linearly: OCC",
                panels: &["k3-8"],
                test: Test::Change { metric: Metric::Throughput, of: OCC, least: 30.0, most: 60.0 },
            },
            Expectation {
                says: "and 2PL",
                panels: &["k3-8"],
                test: Test::Change { metric: Metric::Throughput, of: TWO_PHASE, least: 30.0, most: 60.0 },
            },
        ],
        ..TPCC
    },
    Experiment {
        id: "fig-3.12",
        title: "All schemes over the share of cross-partition transactions on TPC-C",
        paper: "Figure 3.12: 46 threads, share of cross-partition transactions; warehouses not given",
        axis: Axis {
            vary: Vary::CrossPartition,
            full: &[0.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0],
            quick: &[0.0, 10.0, 50.0],
        },
        panels: &[panel("k3", LONG, 46, 8, Metric::Throughput)],
        home: true,
        expectations: &[
            Expectation {
                says: "the others do not depend on it: HEALING",
                panels: &["k3"],
                test: Test::Change { metric: Metric::Throughput, of: HEALING, least: 0.8, most: 1.25 },
            },
            Expectation {
                says: "the others do not depend on it: OCC",
                panels: &["k3"],
                test: Test::Change { metric: Metric::Throughput, of: OCC, least: 0.8, most: 1.25 },
            },
            Expectation {
                says: "the others do not depend on it: SILO",
                panels: &["k3"],
                test: Test::Change { metric: Metric::Throughput, of: SILO, least: 0.8, most: 1.25 },
            },
            Expectation {
                says: "the others do not depend on it: 2PL",
                panels: &["k3"],
                test: Test::Change { metric: Metric::Throughput, of: TWO_PHASE, least: 0.8, most: 1.25 },
            },
            Expectation {
                says: "at 10 % DT is below HEALING",
                panels: &["k3"],
                test: Test::Rising {
                    metric: Metric::Throughput,
                    at: At::Near(10.0),
                    schemes: &[PARTITIONED, HEALING],
                    slack: 0.0,
                },
            },
            Expectation {
                says: "DT falls",
                panels: &["k3"],
                test: Test::Change { metric: Metric::Throughput, of: PARTITIONED, least: 0.0, most: 0.8 },
            },
        ],
        ..TPCC
    },
    Experiment {
        id: "fig-3.13",
        title: "Healing where some calls cannot be healed, on TPC-C with 4 warehouses",
        paper: "Figure 3.13: 46 threads, 4 warehouses, 0 to 100 % ad hoc transactions",
        schemes: &[HEALING, OCC],
        others: false,
        axis: Axis {
            vary: Vary::Unhealed,
            full: &[0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0],
            quick: &[0.0, 20.0, 50.0, 80.0, 100.0],
        },
        panels: &[panel("k3", LONG, 46, 4, Metric::Throughput)],
        expectations: &[
            Expectation {
                says: "at 100 % HEALING is OCC",
                panels: &["k3"],
                test: Test::Ratio {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING,
                    to: OCC,
                    paper: 1.0,
                    factor: 1.15,
                },
            },
            Expectation {
                says: "HEALING falls on the way there",
                panels: &["k3"],
                test: Test::Change { metric: Metric::Throughput, of: HEALING, least: 0.0, most: 0.8 },
            },
            Expectation {
                says: "smoothly",
                panels: &["k3"],
                test: Test::Falling { metric: Metric::Throughput, of: HEALING, slack: 5.0 },
            },
        ],
        ..TPCC
    },
    Experiment {
        id: "fig-3.14",
        title: "All schemes over skew on SmallBank with 1,000 customers",
        paper: "Figure 3.14: 24 threads, 1,000 rows, theta 0.1 to 0.9",
        panels: &[
            panel("k3", SHORT, 24, 1000, Metric::Throughput),
            panel("k1", TWO, 2, 1000, Metric::Throughput),
            panel("k2", Contention::Oversubscribed { yield_every: 2 }, 24, 1000, Metric::Operations),
            panel("k4", Contention::Virtual { micros: 4000 }, 24, 1000, Metric::Throughput),
        ],
        expectations: &[
            Expectation {
                says: "at theta 0.1 SILO is 5 % above HEALING (two threads: what it costs)",
                panels: &["k1"],
                test: Test::Ratio {
                    metric: Metric::Throughput,
                    at: At::First,
                    of: SILO,
                    to: HEALING,
                    paper: 1.05,
                    factor: 1.05,
                },
            },
            Expectation {
                says: "at theta 0.9 HEALING has 4.5 times what the others have: SILO",
                panels: &["k3", "k4"],
                test: Test::Ratio {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING,
                    to: SILO,
                    paper: 4.5,
                    factor: 1.5,
                },
            },
            Expectation {
                says: "OCC",
                panels: &["k3", "k4"],
                test: Test::Ratio {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING,
                    to: OCC,
                    paper: 4.5,
                    factor: 1.5,
                },
            },
            Expectation {
                says: "2PL",
                panels: &["k3", "k4"],
                test: Test::Ratio {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING,
                    to: TWO_PHASE,
                    paper: 4.5,
                    factor: 1.5,
                },
            },
            Expectation {
                says: "HYBRID",
                panels: &["k3", "k4"],
                test: Test::Ratio {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING,
                    to: HYBRID,
                    paper: 4.5,
                    factor: 1.5,
                },
            },
            Expectation {
                says: "and is close to OCC-",
                panels: &["k3", "k4"],
                test: Test::Ratio {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING,
                    to: OCC_BOUND,
                    paper: 1.0,
                    factor: 1.1,
                },
            },
            Expectation {
                says: "at theta 0.9 SILO has the least",
                panels: &["k3", "k4"],
                test: Test::Rising {
                    metric: Metric::Throughput,
                    at: At::Last,
                    schemes: &[SILO, OCC],
                    slack: 0.0,
                },
            },
        ],
        ..SMALLBANK
    },
    Experiment {
        id: "table-3.1",
        title: "Latencies of NewOrder on TPC-C with 4 warehouses",
        paper: "Table 3.1: 46 threads, 4 warehouses; classes of latency (here: how many end within a time)",
        schemes: &[HEALING, OCC, SILO, TWO_PHASE, OCC_BOUND, SILO_BOUND],
        axis: Axis { vary: Vary::Latency(&["new_order"]), full: &[0.0], quick: &[0.0] },
        panels: &[panel("k3", LONG, 46, 4, Metric::Within), panel("k1", TWO, 2, 4, Metric::Within)],
        expectations: &[
            Expectation {
                says: "within the time of 96.8 % of OCC- (80 us): 96.0 % of HEALING",
                panels: &["k3"],
                test: Test::NoSlower {
                    of: HEALING,
                    than: OCC_BOUND,
                    percent: 96.8,
                    paper: 96.0,
                    tolerance: 5.0,
                },
            },
            Expectation {
                says: "45.8 % of OCC",
                panels: &["k3"],
                test: Test::NoSlower {
                    of: OCC,
                    than: OCC_BOUND,
                    percent: 96.8,
                    paper: 45.8,
                    tolerance: 15.0,
                },
            },
            Expectation {
                says: "58.2 % of SILO",
                panels: &["k3"],
                test: Test::NoSlower {
                    of: SILO,
                    than: OCC_BOUND,
                    percent: 96.8,
                    paper: 58.2,
                    tolerance: 15.0,
                },
            },
            Expectation {
                says: "71.7 % of 2PL",
                panels: &["k3"],
                test: Test::NoSlower {
                    of: TWO_PHASE,
                    than: OCC_BOUND,
                    percent: 96.8,
                    paper: 71.7,
                    tolerance: 15.0,
                },
            },
        ],
        ..TPCC
    },
    Experiment {
        id: "table-3.2",
        title: "Skew of SmallBank's customers, and what restarts because of it",
        paper: "Table 3.2: 1,000 customers; shares of the first, second, 10th, 100th key, and abort rates (24 threads)",
        schemes: &[HEALING, OCC, SILO],
        others: false,
        panels: &[
            panel("k3", SHORT, 24, 1000, Metric::Restarts),
            panel("k1", TWO, 2, 1000, Metric::Restarts),
        ],
        expectations: &[
            Expectation {
                says: "shares of keys by theta (computed)",
                panels: &[],
                test: Test::Shares {
                    keys: 1000,
                    listed: &[
                        (0.1, [0.25, 0.24, 0.20, 0.16]),
                        (0.2, [0.45, 0.39, 0.29, 0.18]),
                        (0.3, [0.78, 0.63, 0.40, 0.19]),
                        (0.4, [1.34, 1.02, 0.55, 0.22]),
                        (0.5, [2.26, 1.60, 0.74, 0.22]),
                        (0.6, [3.70, 2.45, 0.95, 0.24]),
                        (0.7, [5.86, 3.60, 1.20, 0.23]),
                        (0.8, [8.91, 5.17, 1.48, 0.23]),
                        (0.9, [13.01, 7.06, 1.72, 0.21]),
                    ],
                    tolerance: 0.1,
                },
            },
            Expectation {
                says: "at theta 0.9 OCC restarts 0.324 times a commit",
                panels: &["k3"],
                test: Test::Value {
                    metric: Metric::Restarts,
                    at: At::Last,
                    of: OCC,
                    paper: 0.324,
                    tolerance: 0.1,
                },
            },
            Expectation {
                says: "SILO 0.403 times",
                panels: &["k3"],
                test: Test::Value {
                    metric: Metric::Restarts,
                    at: At::Last,
                    of: SILO,
                    paper: 0.403,
                    tolerance: 0.1,
                },
            },
            Expectation {
                says: "HEALING never",
                panels: &["k3"],
                test: Test::Value {
                    metric: Metric::Restarts,
                    at: At::Last,
                    of: HEALING,
                    paper: 0.0,
                    tolerance: 0.001,
                },
            },
        ],
        ..SMALLBANK
    },
    Experiment {
        id: "table-3.3",
        title: "Latencies on SmallBank with 1,000 customers",
        paper: "Table 3.3: 24 threads, theta 0.5, 0.7, 0.9; percentiles 25, 80, 95",
        schemes: &[HEALING, OCC, SILO],
        others: false,
        axis: Axis { vary: Vary::Theta, full: &[0.5, 0.7, 0.9], quick: &[0.5, 0.7, 0.9] },
        panels: &[
            Panel {
                name: "k3",
                contention: SHORT,
                sessions: 24,
                units: 1000,
                plots: Metric::Percentile(95.0),
                lists: &[Metric::Percentile(25.0), Metric::Percentile(80.0), Metric::Restarts],
            },
            Panel {
                name: "k1",
                contention: TWO,
                sessions: 2,
                units: 1000,
                plots: Metric::Percentile(95.0),
                lists: &[Metric::Percentile(25.0), Metric::Percentile(80.0), Metric::Restarts],
            },
        ],
        expectations: &[
            Expectation {
                says: "at theta 0.9 OCC's p95 is 3.16 times HEALING's (36.14 and 11.45 us)",
                panels: &["k3"],
                test: Test::Ratio {
                    metric: Metric::Percentile(95.0),
                    at: At::Last,
                    of: OCC,
                    to: HEALING,
                    paper: 3.16,
                    factor: 1.5,
                },
            },
            Expectation {
                says: "SILO's 3.72 times (42.54 us)",
                panels: &["k3"],
                test: Test::Ratio {
                    metric: Metric::Percentile(95.0),
                    at: At::Last,
                    of: SILO,
                    to: HEALING,
                    paper: 3.72,
                    factor: 1.5,
                },
            },
            Expectation {
                says: "at theta 0.5 HEALING's p95 is OCC's",
                panels: &["k1"],
                test: Test::Ratio {
                    metric: Metric::Percentile(95.0),
                    at: At::First,
                    of: HEALING,
                    to: OCC,
                    paper: 0.96,
                    factor: 1.1,
                },
            },
        ],
        ..SMALLBANK
    },
    Experiment {
        id: "table-3.4",
        title: "What healing's access cache and copies of rows cost where nobody meets",
        paper: "Table 3.4: 8 to 46 threads, as many warehouses: 1139 K without, 1087 with the cache, 1067 with copies, too",
        schemes: &[HEALING_WITHOUT, HEALING_CACHE, HEALING_ALWAYS, HEALING, OCC, SILO],
        others: false,
        axis: Axis { vary: Vary::SessionsAndUnits, full: &[1.0, 2.0], quick: &[1.0, 2.0] },
        panels: &[panel("k1", TWO, 0, 0, Metric::Throughput), panel("k4", VIRTUAL, 0, 0, Metric::Throughput)],
        home: true,
        cross_partition: Some(0.0),
        expectations: &[
            Expectation {
                says: "with the access cache 95.4 % of what there is without",
                panels: &["k1", "k4"],
                test: Test::AtLeast {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING_CACHE,
                    to: HEALING_WITHOUT,
                    paper: 0.954,
                },
            },
            Expectation {
                says: "with copies of rows 98.2 % of that",
                panels: &["k1", "k4"],
                test: Test::AtLeast {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING_ALWAYS,
                    to: HEALING_CACHE,
                    paper: 0.982,
                },
            },
            Expectation {
                says: "with both 93.7 % of what there is without",
                panels: &["k1", "k4"],
                test: Test::AtLeast {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING_ALWAYS,
                    to: HEALING_WITHOUT,
                    paper: 0.937,
                },
            },
            Expectation {
                says: "(ours) HEALING, which remembers nothing where nobody meets, is SILO within 3 %",
                panels: &["k1"],
                test: Test::AtLeast {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING,
                    to: SILO,
                    paper: 0.97,
                },
            },
        ],
        ..TPCC
    },
    Experiment {
        id: "contention-tpcc",
        title: "Every scheme where 46 sessions share a warehouse of TPC-C",
        paper: "not in the thesis: what Figures 3.10 and 3.11 come to at a single warehouse",
        axis: Axis { vary: Vary::Units, full: &[1.0], quick: &[1.0] },
        panels: &[
            panel("k1", TWO, 2, 0, Metric::Throughput),
            panel("k3", LONG, 46, 0, Metric::Throughput),
            panel("k4", VIRTUAL, 46, 0, Metric::Throughput),
        ],
        expectations: &[
            Expectation {
                says: "the more contention, the further HEALING is ahead: 2.3 times 2PL at least",
                panels: &["k3", "k4"],
                test: Test::AtLeast {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING,
                    to: TWO_PHASE,
                    paper: 2.3,
                },
            },
            Expectation {
                says: "6.2 times SILO at least",
                panels: &["k3", "k4"],
                test: Test::AtLeast {
                    metric: Metric::Throughput,
                    at: At::Last,
                    of: HEALING,
                    to: SILO,
                    paper: 6.2,
                },
            },
        ],
        ..TPCC
    },
    Experiment {
        id: "contention-smallbank",
        title: "Every scheme where 46 sessions share 1,000 customers of SmallBank, theta 0.9",
        paper: "Figure 3.14 at theta 0.9, with 46 threads in place of 24",
        axis: Axis { vary: Vary::Theta, full: &[0.9], quick: &[0.9] },
        panels: &[
            panel("k1", TWO, 2, 1000, Metric::Throughput),
            panel("k3", SHORT, 46, 1000, Metric::Throughput),
            panel("k4", Contention::Virtual { micros: 10_000 }, 46, 1000, Metric::Throughput),
        ],
        expectations: &[Expectation {
            says: "HEALING has 4.5 times what SILO has, at least",
            panels: &["k3", "k4"],
            test: Test::AtLeast {
                metric: Metric::Throughput,
                at: At::Last,
                of: HEALING,
                to: SILO,
                paper: 4.5,
            },
        }],
        ..SMALLBANK
    },
];
