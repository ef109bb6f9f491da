//! What the thesis has not, or not so: comparisons of all schemes, and of versions.

use super::*;

pub(super) const CONTENTION_TPCC: Experiment = Experiment {
    id: "contention-tpcc",
    title: "Every scheme where 46 sessions share a warehouse of TPC-C",
    paper: "not in the thesis: what Figures 3.10 and 3.11 come to at a single warehouse",
    schemes: ALL_AND_AT_ONCE,
    axis: Axis { vary: Vary::Units, full: &[1.0], quick: &[1.0] },
    panels: &[
        panel("k1", TWO, 2, 0, Metric::Throughput),
        panel("k3", LONG, 46, 0, Metric::Throughput),
        panel("k4", VIRTUAL, 46, 0, Metric::Throughput).slow(),
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
};

pub(super) const CONTENTION_SMALLBANK: Experiment = Experiment {
    id: "contention-smallbank",
    title: "Every scheme where 46 sessions share 1,000 customers of SmallBank, theta 0.9",
    paper: "Figure 3.14 at theta 0.9, with 46 threads in place of 24",
    schemes: ALL_AND_AT_ONCE,
    axis: Axis { vary: Vary::Theta, full: &[0.9], quick: &[0.9] },
    panels: &[
        panel("k1", TWO, 2, 1000, Metric::Throughput),
        panel("k3", SHORT, 46, 1000, Metric::Throughput),
        panel("k4", Contention::Virtual { micros: 10_000 }, 46, 1000, Metric::Throughput),
    ],
    expectations: &[Expectation {
        says: "HEALING has 4.5 times what SILO has, at least",
        panels: &["k3", "k4"],
        test: Test::AtLeast { metric: Metric::Throughput, at: At::Last, of: HEALING, to: SILO, paper: 4.5 },
    }],
    ..SMALLBANK
};

pub(super) const CONTENTION_K1: Experiment = Experiment {
    id: "contention-k1",
    title: "Every scheme on two real sessions, workload by workload",
    paper: "not in the thesis: TPC-C with 1 warehouse, SmallBank with 1,000 customers at theta 0.9, YCSB with 16 operations at 0.99",
    schemes: &[
        HEALING,
        OCC,
        SILO,
        TWO_PHASE,
        HYBRID,
        PARTITIONED,
        MVOCC,
        OCC_AT_ONCE,
        SILO_AT_ONCE,
        TWO_PHASE_AT_ONCE,
    ],
    axis: Axis { vary: Vary::Nothing, full: &[0.0], quick: &[0.0] },
    panels: &[
        Panel { units: 1, ..ONE_OF_SEVERAL },
        Panel {
            name: "smallbank",
            units: 1000,
            workload: Some(Inputs { name: "smallbank", theta: Some(0.9), operations: None }),
            ..ONE_OF_SEVERAL
        },
        Panel {
            name: "ycsb",
            units: 100_000,
            workload: Some(Inputs { name: "ycsb", theta: Some(0.99), operations: Some(16) }),
            ..ONE_OF_SEVERAL
        },
    ],
    expectations: &[Expectation {
        says: "(ours) HEALING is SILO within 3 %, or above it",
        panels: &["tpcc", "smallbank", "ycsb"],
        test: Test::AtLeast { metric: Metric::Throughput, at: At::Last, of: HEALING, to: SILO, paper: 0.97 },
    }],
    ..TPCC
};

pub(super) const MVOCC_READERS: Experiment = Experiment {
    id: "mvocc-readers",
    title: "Versions of rows beside one image of each, alone and with a long reader, on TPC-C",
    paper: "not in the thesis: mvocc and silo, and one block beside them that reads all tables as of its begin",
    schemes: &[MVOCC, SILO],
    others: false,
    axis: Axis { vary: Vary::Readers, full: &[0.0, 1.0], quick: &[0.0, 1.0] },
    panels: &[
        panel("k1-1", TWO, 1, 2, Metric::Throughput),
        panel("k1-2", TWO, 2, 2, Metric::Throughput),
        panel("k3", LONG, 46, 2, Metric::Throughput),
    ],
    expectations: &[
        Expectation {
            says: "(ours) alone MVOCC has 0.8 times what SILO has, at least",
            panels: &["k1-1", "k1-2", "k3"],
            test: Test::AtLeast {
                metric: Metric::Throughput,
                at: At::First,
                of: MVOCC,
                to: SILO,
                paper: 0.8,
            },
        },
        Expectation {
            says: "(ours) and with a reader as much as SILO",
            panels: &["k1-1", "k1-2", "k3"],
            test: Test::AtLeast { metric: Metric::Throughput, at: At::Last, of: MVOCC, to: SILO, paper: 1.0 },
        },
        Expectation {
            says: "(ours) a reader on another core costs MVOCC a fifth at most",
            panels: &["k1-1"],
            test: Test::Change { metric: Metric::Throughput, of: MVOCC, least: 0.8, most: 1.2 },
        },
    ],
    ..TPCC
};
