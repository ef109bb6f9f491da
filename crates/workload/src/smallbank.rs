//! SmallBank's teller: the mix of pgbench's run, customers drawn uniformly.

use crate::Driver;
use crate::inputs::{Inputs, cents};
use planaria::{PreparedCall, Result, Session, Submitted};
use std::fmt::Write;

pub(crate) const TRANSACTIONS: &[&str] =
    &["balance", "deposit_checking", "transact_savings", "amalgamate", "write_check", "send_payment"];

struct Teller {
    calls: [PreparedCall; 6],
    customers: i64,
    inputs: Inputs,
    names: [String; 2],
}

pub(crate) fn driver(session: &mut Session, customers: u64, seed: u64) -> Result<Box<dyn Driver>> {
    Ok(Box::new(Teller {
        calls: [
            session.prepare_call("sb_balance", 1)?,
            session.prepare_call("sb_deposit_checking", 2)?,
            session.prepare_call("sb_transact_savings", 2)?,
            session.prepare_call("sb_amalgamate", 2)?,
            session.prepare_call("sb_write_check", 2)?,
            session.prepare_call("sb_send_payment", 3)?,
        ],
        customers: customers as i64,
        inputs: Inputs::new(seed),
        names: Default::default(),
    }))
}

impl Driver for Teller {
    fn next(&mut self, s: &mut Session) -> (usize, Result<Submitted>) {
        let (a, b) = self.inputs.pair(self.customers);
        for (name, id) in self.names.iter_mut().zip([a, b]) {
            name.clear();
            write!(name, "Customer{id:012}").expect("writing to a string");
        }
        let (a, b) = (self.names[0].as_str(), self.names[1].as_str());
        match self.inputs.uniform(1, 100) {
            1..=15 => (0, s.submit(&self.calls[0], (a,))),
            16..=30 => (1, s.submit(&self.calls[1], (a, cents(self.inputs.uniform(1, 1000))))),
            31..=45 => (2, s.submit(&self.calls[2], (a, cents(self.inputs.uniform(-1000, 1000))))),
            46..=60 => (3, s.submit(&self.calls[3], (a, b))),
            61..=75 => (4, s.submit(&self.calls[4], (a, cents(self.inputs.uniform(1, 1000))))),
            _ => (5, s.submit(&self.calls[5], (a, b, cents(self.inputs.uniform(1, 1000))))),
        }
    }
}
