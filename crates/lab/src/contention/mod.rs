//! Concurrency control compared: figures and tables of a paper, each a named experiment.
//!
//! * [`experiment`]: what an experiment is: a workload, an axis, schemes, ways to make contention, expectations. Data alone.
//! * [`EXPERIMENTS`] (`catalogue`): Figures 3.8 to 3.14 and Tables 3.1 to 3.4 of Wu's thesis.
//! * `run`: measures one, in turns, on loaded bases.
//! * [`expectations`]: whether what the paper says comes out here, too. No expectation is left out because it does not.
//! * [`report`]: the outcome as text, CSV and JSON; [`plot`]: as SVG.
//!
//! **Contention on few cores.** What the paper measures on 46 cores is measured in several ways: `k1` on the cores there are
//! (real, with less contention), `k2` with many more threads than cores that yield to each other (what a commit costs is
//! real, throughput is the scheduler's, which is said), `k3` with sessions that wait in the midst of their
//! transactions: they overlap as on as many cores, and as they use little of the processor, throughput is real. `k4` is
//! simulated (`virtual_time`), and says so wherever it is shown, with how near to real runs it comes.

mod catalogue;
pub mod expectations;
pub mod experiment;
mod plan;
pub mod plot;
mod prices;
pub mod report;
mod run;
mod scheme;
mod virtual_time;

pub use catalogue::EXPERIMENTS;
pub use run::{Line, Median, Outcome, Own, Plot, PlotPoint, Settings};
pub use scheme::{Kind, Scheme};
pub use virtual_time::{Calibration, FEW_RESTARTS, RATE_PERCENT, RESTARTS_PERCENT};

#[cfg(test)]
mod tests;
