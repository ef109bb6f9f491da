//! Options that say what a workload's drivers draw.

use clap::Args;
use planaria_workload::Parameters;

/// What is left out is the benchmark's. Shares are of a hundred.
#[derive(Args, Clone, Default)]
pub struct Inputs {
    /// tpcc, smallbank: how often each transaction is drawn, by commas, in the order in which they are reported
    #[arg(long, value_delimiter = ',', value_name = "WEIGHTS")]
    mix: Option<Vec<u32>>,
    /// smallbank, ycsb: exponent of the zipfian distribution of keys; 0 is uniform
    #[arg(long)]
    theta: Option<f64>,
    /// ycsb: records a transaction, each another one
    #[arg(long)]
    operations: Option<u32>,
    /// ycsb: of the operations, those that read
    #[arg(long, value_name = "SHARE")]
    reads: Option<f64>,
    /// tpcc: each session keeps to one warehouse
    #[arg(long)]
    home: bool,
    /// tpcc: of the lines of an order, those from another warehouse (1)
    #[arg(long, value_name = "SHARE")]
    remote_lines: Option<f64>,
    /// tpcc: of the payments, those of another warehouse's customers (15)
    #[arg(long, value_name = "SHARE")]
    remote_payments: Option<f64>,
    /// tpcc: of orders and payments, those that touch one other warehouse; in place of the two above
    #[arg(long, value_name = "SHARE")]
    cross_partition: Option<f64>,
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
        }
    }
}
