//! The figures of the chapter.

use super::*;

pub(super) const FIG_3_8: Experiment = Experiment {
    id: "fig-3.8",
    title: "What validation costs optimistic schemes on TPC-C",
    paper: "Figure 3.8: 46 threads, 48 to 2 warehouses; OCC, SILO, and both without validation",
    schemes: &[OCC, SILO, OCC_BOUND, SILO_BOUND, OCC_AT_ONCE, SILO_AT_ONCE],
    others: false,
    panels: &[
        panel("k3", LONG, 46, 0, Metric::Throughput),
        panel("k1", TWO, 2, 0, Metric::Throughput),
        panel("k4", VIRTUAL, 46, 0, Metric::Throughput).at(&[2.0, 4.0, 8.0], &[2.0]),
    ],
    expectations: &[
        Expectation {
            says: "at 2 warehouses SILO < OCC < OCC- < SILO-",
            panels: &["k3", "k4"],
            test: Test::Rising {
                metric: Metric::Throughput,
                at: At::First,
                schemes: &[SILO, OCC, OCC_BOUND, SILO_BOUND],
                slack: 2.0,
            },
        },
        Expectation {
            says: "at 2 warehouses OCC has 150 K, SILO 60 K transactions a second: 2.5 times",
            panels: &["k3", "k4"],
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
            says: "the same of those that try again at once, as the paper's do",
            panels: &["k3", "k4"],
            test: Test::Ratio {
                metric: Metric::Throughput,
                at: At::First,
                of: OCC_AT_ONCE,
                to: SILO_AT_ONCE,
                paper: 2.5,
                factor: 1.5,
            },
        },
        Expectation {
            says: "at 2 warehouses OCC- has 3 times what OCC has",
            panels: &["k3", "k4"],
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
            panels: &["k3", "k4"],
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
};

pub(super) const FIG_3_9: Experiment = Experiment {
    id: "fig-3.9",
    title: "Time that optimistic schemes lose in attempts in vain on TPC-C",
    paper: "Figure 3.9: 46 threads, 48 to 2 warehouses; share of time in restarts, and restarts a commit",
    schemes: &[OCC, SILO, OCC_AT_ONCE, SILO_AT_ONCE],
    others: true,
    panels: &[
        panel("k3", LONG, 46, 0, Metric::Lost),
        panel("k2", YIELDING, 46, 0, Metric::Operations),
        panel("k4", VIRTUAL, 46, 0, Metric::Lost).at(&[2.0, 4.0, 8.0], &[2.0]).slow(),
    ],
    expectations: &[
        Expectation {
            says: "at 2 warehouses OCC spends 69 % of its time in restarts",
            panels: &["k3", "k4"],
            test: Test::Value { metric: Metric::Lost, at: At::First, of: OCC, paper: 69.0, tolerance: 10.0 },
        },
        Expectation {
            says: "at 2 warehouses SILO spends 91 %",
            panels: &["k3", "k4"],
            test: Test::Value { metric: Metric::Lost, at: At::First, of: SILO, paper: 91.0, tolerance: 10.0 },
        },
        Expectation {
            says: "69 % of OCC's that tries again at once, as the paper's does",
            panels: &["k3", "k4"],
            test: Test::Value {
                metric: Metric::Lost,
                at: At::First,
                of: OCC_AT_ONCE,
                paper: 69.0,
                tolerance: 10.0,
            },
        },
        Expectation {
            says: "91 % of SILO's that tries again at once, as the paper's does",
            panels: &["k3", "k4"],
            test: Test::Value {
                metric: Metric::Lost,
                at: At::First,
                of: SILO_AT_ONCE,
                paper: 91.0,
                tolerance: 10.0,
            },
        },
        Expectation {
            says: "OCC and SILO restart about as often",
            panels: &["k3", "k4"],
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
};

pub(super) const FIG_3_10: Experiment = Experiment {
    id: "fig-3.10",
    title: "All schemes over contention on TPC-C, no transaction across warehouses",
    paper: "Figure 3.10: 46 threads, 2 to 48 warehouses, no cross-partition transactions",
    panels: &[
        panel("k3", LONG, 46, 0, Metric::Throughput),
        panel("k1", TWO, 2, 0, Metric::Throughput),
        panel("k4", VIRTUAL, 46, 0, Metric::Throughput).at(&[2.0, 4.0, 8.0], &[2.0]).slow(),
    ],
    home: true,
    cross_partition: Some(0.0),
    expectations: &[
        Expectation {
            says: "at 2 warehouses HEALING is close to OCC-",
            panels: &["k3", "k4"],
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
            panels: &["k3", "k4"],
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
            panels: &["k3", "k4"],
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
};

pub(super) const FIG_3_11: Experiment = Experiment {
    id: "fig-3.11",
    title: "All schemes over sessions on TPC-C, at three contentions",
    paper: "Figure 3.11: up to 46 threads, three numbers of warehouses (not given), no cross-partition transactions",
    schemes: ALL_AND_AT_ONCE,
    axis: Axis { vary: Vary::Sessions, full: &[1.0, 8.0, 16.0, 24.0, 32.0, 46.0], quick: &[1.0, 46.0] },
    panels: &[
        panel("k3-2", LONG, 0, 2, Metric::Throughput),
        panel("k3-4", LONG, 0, 4, Metric::Throughput),
        panel("k3-8", LONG, 0, 8, Metric::Throughput).at(&[1.0, 8.0, 16.0, 24.0, 32.0, 46.0], &[46.0]).slow(),
        panel("k4-2", VIRTUAL, 0, 2, Metric::Throughput).slow(),
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
            says: "2.3 times what 2PL has that tries again at once, as the paper's does",
            panels: &["k3-2", "k4-2"],
            test: Test::Ratio {
                metric: Metric::Throughput,
                at: At::Last,
                of: HEALING,
                to: TWO_PHASE_AT_ONCE,
                paper: 2.3,
                factor: 1.5,
            },
        },
        Expectation {
            says: "and 6.2 times what such a SILO has",
            panels: &["k3-2", "k4-2"],
            test: Test::Ratio {
                metric: Metric::Throughput,
                at: At::Last,
                of: HEALING,
                to: SILO_AT_ONCE,
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
};

pub(super) const FIG_3_12: Experiment = Experiment {
    id: "fig-3.12",
    title: "All schemes over the share of cross-partition transactions on TPC-C",
    paper: "Figure 3.12: 46 threads, share of cross-partition transactions; warehouses not given",
    axis: Axis {
        vary: Vary::CrossPartition,
        full: &[0.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0],
        quick: &[0.0, 10.0, 50.0],
    },
    panels: &[
        panel("k3", LONG, 46, 8, Metric::Throughput)
            .at(&[0.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0], &[0.0, 10.0]),
        panel("k4", VIRTUAL, 46, 2, Metric::Throughput).at(&[0.0, 10.0, 50.0], &[0.0]).slow(),
    ],
    home: true,
    expectations: &[
        Expectation {
            says: "the others do not depend on it: HEALING",
            panels: &["k3", "k4"],
            test: Test::Change { metric: Metric::Throughput, of: HEALING, least: 0.8, most: 1.25 },
        },
        Expectation {
            says: "the others do not depend on it: OCC",
            panels: &["k3", "k4"],
            test: Test::Change { metric: Metric::Throughput, of: OCC, least: 0.8, most: 1.25 },
        },
        Expectation {
            says: "the others do not depend on it: SILO",
            panels: &["k3", "k4"],
            test: Test::Change { metric: Metric::Throughput, of: SILO, least: 0.8, most: 1.25 },
        },
        Expectation {
            says: "the others do not depend on it: 2PL",
            panels: &["k3", "k4"],
            test: Test::Change { metric: Metric::Throughput, of: TWO_PHASE, least: 0.8, most: 1.25 },
        },
        Expectation {
            says: "at 10 % DT is below HEALING",
            panels: &["k3", "k4"],
            test: Test::Rising {
                metric: Metric::Throughput,
                at: At::Near(10.0),
                schemes: &[PARTITIONED, HEALING],
                slack: 0.0,
            },
        },
        Expectation {
            says: "DT falls",
            panels: &["k3", "k4"],
            test: Test::Change { metric: Metric::Throughput, of: PARTITIONED, least: 0.0, most: 0.8 },
        },
    ],
    ..TPCC
};

pub(super) const FIG_3_13: Experiment = Experiment {
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
    panels: &[
        panel("k3", LONG, 46, 4, Metric::Throughput),
        panel("k4", VIRTUAL, 46, 4, Metric::Throughput)
            .at(&[0.0, 20.0, 50.0, 80.0, 100.0], &[0.0, 50.0, 100.0]),
    ],
    expectations: &[
        Expectation {
            says: "at 100 % HEALING is OCC",
            panels: &["k3", "k4"],
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
            panels: &["k3", "k4"],
            test: Test::Change { metric: Metric::Throughput, of: HEALING, least: 0.0, most: 0.8 },
        },
        Expectation {
            says: "smoothly",
            panels: &["k3", "k4"],
            test: Test::Falling { metric: Metric::Throughput, of: HEALING, slack: 5.0 },
        },
    ],
    ..TPCC
};

pub(super) const FIG_3_14: Experiment = Experiment {
    id: "fig-3.14",
    title: "All schemes over skew on SmallBank with 1,000 customers",
    paper: "Figure 3.14: 24 threads, 1,000 rows, theta 0.1 to 0.9",
    schemes: ALL_AND_AT_ONCE,
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
            says: "SILO that tries again at once, as the paper's does",
            panels: &["k3", "k4"],
            test: Test::Ratio {
                metric: Metric::Throughput,
                at: At::Last,
                of: HEALING,
                to: SILO_AT_ONCE,
                paper: 4.5,
                factor: 1.5,
            },
        },
        Expectation {
            says: "2PL that does",
            panels: &["k3", "k4"],
            test: Test::Ratio {
                metric: Metric::Throughput,
                at: At::Last,
                of: HEALING,
                to: TWO_PHASE_AT_ONCE,
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
};
