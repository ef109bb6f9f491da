//! TPC-B's teller, as pgbench draws its inputs.

use crate::Driver;
use crate::inputs::Inputs;
use crate::suite::Draws;
use planaria::{PreparedCall, Result, Session, Submitted};

pub(crate) const TRANSACTIONS: &[&str] = &["tpcb"];

pub(crate) const PARAMETERS: &[&str] = &[];

struct Teller {
    call: PreparedCall,
    branches: i64,
    inputs: Inputs,
}

pub(crate) fn driver(session: &mut Session, draws: &Draws<'_>) -> Result<Box<dyn Driver>> {
    Ok(Box::new(Teller {
        call: session.prepare_call("tpcb", 4)?,
        branches: draws.size as i64,
        inputs: Inputs::new(draws.seed),
    }))
}

impl Driver for Teller {
    fn next(&mut self, s: &mut Session) -> (usize, Result<Submitted>) {
        let n = self.branches;
        let (account, branch) = (self.inputs.uniform(1, 100_000 * n), self.inputs.uniform(1, n));
        let (teller, delta) = (self.inputs.uniform(1, 10 * n), self.inputs.uniform(-5000, 5000));
        (0, s.submit(&self.call, (account, branch, teller, delta)))
    }
}
