//! Options that say what a workload's drivers draw.

use clap::Args;
use planaria_workload::Parameters;

/// What is left out is the benchmark's. Shares are of a hundred.
#[derive(Args, Clone, Default)]
pub struct Inputs {
    /// tpcc, smallbank: weights of the transactions, separated by commas, in the order of the report
    #[arg(long, value_delimiter = ',', value_name = "WEIGHTS")]
    mix: Option<Vec<u32>>,
    /// smallbank, ycsb: exponent of the zipfian distribution of keys; 0 is uniform
    #[arg(long)]
    theta: Option<f64>,
    /// ycsb: records per transaction, all different
    #[arg(long)]
    operations: Option<u32>,
    /// ycsb: percentage of operations that read
    #[arg(long, value_name = "SHARE")]
    reads: Option<f64>,
    /// tpcc: each session uses one warehouse only
    #[arg(long)]
    home: bool,
    /// tpcc: percentage of order lines supplied by another warehouse (1)
    #[arg(long, value_name = "SHARE")]
    remote_lines: Option<f64>,
    /// tpcc: percentage of payments by customers of another warehouse (15)
    #[arg(long, value_name = "SHARE")]
    remote_payments: Option<f64>,
    /// tpcc: percentage of orders and payments that touch one other warehouse; instead of the two above
    #[arg(long, value_name = "SHARE")]
    cross_partition: Option<f64>,
    /// tpcc: orders and payments insert no rows, so that tables do not grow
    #[arg(long)]
    no_inserts: bool,
}

impl Inputs {
    /// As drivers take them.
    pub fn parameters(&self) -> Parameters {
        Parameters {
            mix: self.mix.clone(),
            theta: self.theta,
            operations: self.operations,
            reads: self.reads,
            home: self.home,
            remote_lines: self.remote_lines,
            remote_payments: self.remote_payments,
            cross_partition: self.cross_partition,
            no_inserts: self.no_inserts,
        }
    }
}
