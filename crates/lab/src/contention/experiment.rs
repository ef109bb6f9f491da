//! What an experiment is, as data.

use planaria::lab::Pauses;
use std::time::Duration;

/// An experiment of a paper.
#[derive(Debug)]
pub struct Experiment {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it shows, in a line.
    pub title: &'static str,
    /// Where it stands, and what it was measured with there.
    pub paper: &'static str,
    /// The workload's name.
    pub workload: &'static str,
    /// Schemes of the paper, in its order. Those that are on no shelf are left out, which is said.
    pub schemes: &'static [&'static str],
    /// Whether all other schemes of the shelf are measured, too.
    pub others: bool,
    /// What the points of a line differ in.
    pub axis: Axis,
    /// How it is measured, each a plot of its own.
    pub panels: &'static [Panel],
    /// Each session keeps to one of the units, where those are warehouses.
    pub home: bool,
    /// Of orders and payments, those that touch another warehouse, unless that is the axis; without, TPC-C's.
    pub cross_partition: Option<f64>,
    /// What the paper says comes out.
    pub expectations: &'static [Expectation],
}

/// What the points of a line differ in.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// What varies.
    pub vary: Vary,
    /// Its values, rising.
    pub full: &'static [f64],
    /// The same where it is to be quick.
    pub quick: &'static [f64],
}

/// See [`Axis`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Vary {
    /// Units that are used: warehouses.
    Units,
    /// Sessions.
    Sessions,
    /// Sessions, each with a unit of its own.
    SessionsAndUnits,
    /// The share of transactions that touch another warehouse.
    CrossPartition,
    /// The share of calls that are not healed.
    Unhealed,
    /// The exponent of the keys' distribution.
    Theta,
    /// Sessions beside those that are measured, each of which reads all tables again and again, as of one moment.
    Readers,
    /// Nothing: schemes are compared at one point, workload by workload.
    Nothing,
    /// Nothing: latencies are shown by how many transactions end within a time, of these.
    Latency(&'static [&'static str]),
}

impl Vary {
    /// With its unit, for people.
    pub fn name(self) -> &'static str {
        match self {
            Vary::Units => "warehouses",
            Vary::Sessions => "sessions",
            Vary::SessionsAndUnits => "sessions, and as many warehouses",
            Vary::CrossPartition => "cross-partition transactions (%)",
            Vary::Unhealed => "calls that are not healed (%)",
            Vary::Theta => "theta",
            Vary::Readers => "long readers",
            Vary::Nothing => "",
            Vary::Latency(_) => "latency (us)",
        }
    }
}

/// How contention is made with the cores there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contention {
    /// Sessions that run as fast as they can; as many as there are cores, at most, unless the axis is that.
    Real,
    /// More sessions than cores, each of which gives its processor away after so many operations on tables. What is
    /// done for each commit is real, what is done in a second measures the system's scheduler.
    Oversubscribed {
        /// Operations.
        yield_every: u64,
    },
    /// Sessions that wait in their transactions, so that these overlap as on as many cores.
    Waiting {
        /// How long.
        micros: u64,
    },
    /// Sessions in virtual time, each on a core of its own: simulated.
    Virtual {
        /// How much of it is measured.
        micros: u64,
    },
}

impl Contention {
    /// What sessions do for it.
    pub fn pauses(self) -> Pauses {
        match self {
            Contention::Real => Pauses::default(),
            Contention::Oversubscribed { yield_every } => Pauses { yield_every, ..Pauses::default() },
            // Each operation is a point of the simulation.
            Contention::Virtual { .. } => Pauses { yield_every: 1, ..Pauses::default() },
            Contention::Waiting { micros } => {
                Pauses { wait: Duration::from_micros(micros), ..Pauses::default() }
            }
        }
    }

    /// How much virtual time is measured, where it is that.
    pub fn virtual_time(self) -> Option<Duration> {
        match self {
            Contention::Virtual { micros } => Some(Duration::from_micros(micros)),
            _ => None,
        }
    }
}

/// What sessions do, for people: stands in every caption. `simulated`: in virtual time.
pub(super) fn describe(sessions: Option<usize>, pauses: &Pauses, simulated: bool) -> String {
    let mut text = sessions
        .map_or("sessions".to_owned(), |n| format!("{n} {}", if n == 1 { "session" } else { "sessions" }));
    let micros = pauses.wait.as_micros();
    match pauses.yield_every {
        _ if simulated => text += " in virtual time: simulated",
        0 if micros == 0 => text += ", nothing but the work",
        0 => {}
        every => text += &format!(" that yield every {every} operations: oversubscribed"),
    }
    match micros {
        0 => text,
        _ if micros.is_multiple_of(1000) => format!("{text}, each transaction waits {} ms", micros / 1000),
        _ => format!("{text}, each transaction waits {micros} us"),
    }
}

/// One way to measure an experiment.
#[derive(Debug)]
pub struct Panel {
    /// Its name: `k1` is real, `k2` oversubscribed, `k3` waits, `k4` is simulated.
    pub name: &'static str,
    /// How contention is made.
    pub contention: Contention,
    /// Sessions, unless the axis says how many.
    pub sessions: usize,
    /// Units that are used, unless the axis says how many.
    pub units: u64,
    /// What is plotted.
    pub plots: Metric,
    /// What stands in the table beside it.
    pub lists: &'static [Metric],
    /// Its points, where they are not all of the experiment's axis: what is simulated takes long.
    pub points: Option<Points>,
    /// A quick run has it only where it is asked for by its name.
    pub slow: bool,
    /// Its workload, where that is not the experiment's.
    pub workload: Option<Inputs>,
}

impl Panel {
    /// What most have, for the rest of one.
    pub const PLAIN: Panel = Panel {
        name: "",
        contention: Contention::Real,
        sessions: 0,
        units: 0,
        plots: Metric::Throughput,
        lists: &[],
        points: None,
        slow: false,
        workload: None,
    };

    /// With points of its own.
    pub const fn at(self, full: &'static [f64], quick: &'static [f64]) -> Panel {
        Panel { points: Some(Points { full, quick }), ..self }
    }

    /// Left out of quick runs, but by name.
    pub const fn slow(self) -> Panel {
        Panel { slow: true, ..self }
    }
}

/// Points of an axis.
#[derive(Clone, Copy, Debug)]
pub struct Points {
    /// Rising.
    pub full: &'static [f64],
    /// The same where it is to be quick.
    pub quick: &'static [f64],
}

/// A workload, and what its drivers draw.
#[derive(Clone, Copy, Debug)]
pub struct Inputs {
    /// The workload's name.
    pub name: &'static str,
    /// The exponent of the keys' distribution.
    pub theta: Option<f64>,
    /// Operations of a transaction.
    pub operations: Option<u32>,
}

/// What is measured.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Metric {
    /// Transactions a second.
    Throughput,
    /// Attempts in vain for each transaction: the thesis's abort rate.
    Restarts,
    /// Of the sessions' time, what went into attempts in vain, of a hundred.
    Lost,
    /// Operations on tables for each transaction.
    Operations,
    /// Processor time for each transaction.
    Processor,
    /// Of a hundred transactions, those that were healed.
    Healed,
    /// The latency that so many of a hundred transactions do not exceed.
    Percentile(f64),
    /// Of a hundred transactions of these kinds, those that end within the time of the axis.
    Within,
}

impl Metric {
    /// With its unit, for people.
    pub fn name(self) -> String {
        match self {
            Metric::Throughput => "transactions/s".into(),
            Metric::Restarts => "restarts a commit".into(),
            Metric::Lost => "time in restarts (%)".into(),
            Metric::Operations => "table operations a commit".into(),
            Metric::Processor => "processor us a commit".into(),
            Metric::Healed => "healed (%)".into(),
            Metric::Percentile(p) => format!("p{p} (us)"),
            Metric::Within => "committed within (%)".into(),
        }
    }

    /// A column's name in files.
    pub fn key(self) -> String {
        match self {
            Metric::Throughput => "txn_per_s".into(),
            Metric::Restarts => "restarts_per_txn".into(),
            Metric::Lost => "lost_percent".into(),
            Metric::Operations => "table_operations_per_txn".into(),
            Metric::Processor => "cpu_us_per_txn".into(),
            Metric::Healed => "healed_percent".into(),
            Metric::Percentile(p) => format!("p{p}_us"),
            Metric::Within => "within_percent".into(),
        }
    }
}

/// A place on the axis.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum At {
    /// The least value that was measured.
    First,
    /// The greatest.
    Last,
    /// The one nearest to this.
    Near(f64),
}

/// Something that the paper says comes out.
#[derive(Debug)]
pub struct Expectation {
    /// In words.
    pub says: &'static str,
    /// Where it is tested: in each of these panels that was measured.
    pub panels: &'static [&'static str],
    /// How it is tested.
    pub test: Test,
}

/// How an expectation is tested.
#[derive(Debug)]
pub enum Test {
    /// One scheme's number over another's is the paper's, give or take a factor.
    Ratio {
        /// Of what.
        metric: Metric,
        /// Where.
        at: At,
        /// The one.
        of: &'static str,
        /// The other.
        to: &'static str,
        /// The paper's.
        paper: f64,
        /// From `paper / factor` to `paper * factor`.
        factor: f64,
    },
    /// One scheme's number over another's is so much at least.
    AtLeast {
        /// Of what.
        metric: Metric,
        /// Where.
        at: At,
        /// The one.
        of: &'static str,
        /// The other.
        to: &'static str,
        /// The paper's.
        paper: f64,
    },
    /// Numbers of these schemes rise in this order, each a hundredth of `slack` below the one before at most.
    Rising {
        /// Of what.
        metric: Metric,
        /// Where.
        at: At,
        /// Schemes.
        schemes: &'static [&'static str],
        /// Of a hundred.
        slack: f64,
    },
    /// A scheme's number at one end of the axis over that at the other is in a range.
    Change {
        /// Of what.
        metric: Metric,
        /// Whose.
        of: &'static str,
        /// At the last over at the first, at least.
        least: f64,
        /// At most.
        most: f64,
    },
    /// A scheme's numbers fall along the axis: none is more than a hundredth of `slack` above the one before.
    Falling {
        /// Of what.
        metric: Metric,
        /// Whose.
        of: &'static str,
        /// Of a hundred.
        slack: f64,
    },
    /// A scheme's number is in a range.
    Value {
        /// Of what.
        metric: Metric,
        /// Where.
        at: At,
        /// Whose.
        of: &'static str,
        /// The paper's.
        paper: f64,
        /// Give or take.
        tolerance: f64,
    },
    /// Of a scheme's transactions, those that are no slower than so many of a hundred of another's: the paper's classes
    /// of latency, whatever the machine's speed.
    NoSlower {
        /// The one.
        of: &'static str,
        /// The other.
        than: &'static str,
        /// Of the other's.
        percent: f64,
        /// Of the one's, in the paper.
        paper: f64,
        /// Give or take.
        tolerance: f64,
    },
    /// Shares of transactions that access the most popular keys of so many, computed, are those that are listed.
    Shares {
        /// Keys.
        keys: u64,
        /// Theta, and the shares of the first, second, 10th and 100th key, of a hundred.
        listed: &'static [(f64, [f64; 4])],
        /// Give or take.
        tolerance: f64,
    },
}

impl Test {
    /// Schemes it speaks of.
    pub fn schemes(&self) -> Vec<&'static str> {
        match self {
            Test::Ratio { of, to, .. } | Test::AtLeast { of, to, .. } => vec![of, to],
            Test::Rising { schemes, .. } => schemes.to_vec(),
            Test::Change { of, .. } | Test::Falling { of, .. } | Test::Value { of, .. } => vec![of],
            Test::NoSlower { of, than, .. } => vec![of, than],
            Test::Shares { .. } => Vec::new(),
        }
    }
}
