//! SmallBank's teller: the mix of pgbench's run; customers drawn uniformly, or by a zipfian distribution.

use crate::Driver;
use crate::inputs::{Inputs, cents};
use crate::parameters::Mix;
use crate::skew::Skewed;
use crate::suite::Draws;
use planaria::{PreparedCall, Result, Session, Submitted};
use std::fmt::Write;

pub(crate) const TRANSACTIONS: &[&str] =
    &["balance", "deposit_checking", "transact_savings", "amalgamate", "write_check", "send_payment"];

pub(crate) const PARAMETERS: &[&str] = &["mix", "theta"];

struct Teller {
    calls: [PreparedCall; 6],
    customers: i64,
    skewed: Option<Skewed>,
    mix: Mix,
    inputs: Inputs,
    names: [String; 2],
}

pub(crate) fn driver(session: &mut Session, draws: &Draws<'_>) -> Result<Box<dyn Driver>> {
    Ok(Box::new(Teller {
        calls: [
            session.prepare_call("sb_balance", 1)?,
            session.prepare_call("sb_deposit_checking", 2)?,
            session.prepare_call("sb_transact_savings", 2)?,
            session.prepare_call("sb_amalgamate", 2)?,
            session.prepare_call("sb_write_check", 2)?,
            session.prepare_call("sb_send_payment", 3)?,
        ],
        customers: draws.size as i64,
        skewed: draws.parameters.theta.map(|theta| Skewed::new(draws.size, theta)),
        mix: Mix::new(&[15, 15, 15, 15, 15, 25], draws.parameters),
        inputs: Inputs::new(draws.seed),
        names: Default::default(),
    }))
}

impl Driver for Teller {
    fn next(&mut self, s: &mut Session) -> (usize, Result<Submitted>) {
        let (a, b) = match &self.skewed {
            Some(skewed) => skewed.pair(&mut self.inputs),
            None => self.inputs.pair(self.customers),
        };
        for (name, id) in self.names.iter_mut().zip([a, b]) {
            name.clear();
            write!(name, "Customer{id:012}").expect("writing to a string");
        }
        let (a, b) = (self.names[0].as_str(), self.names[1].as_str());
        match self.mix.draw(&mut self.inputs) {
            0 => (0, s.submit(&self.calls[0], (a,))),
            1 => (1, s.submit(&self.calls[1], (a, cents(self.inputs.uniform(1, 1000))))),
            2 => (2, s.submit(&self.calls[2], (a, cents(self.inputs.uniform(-1000, 1000))))),
            3 => (3, s.submit(&self.calls[3], (a, b))),
            4 => (4, s.submit(&self.calls[4], (a, cents(self.inputs.uniform(1, 1000))))),
            _ => (5, s.submit(&self.calls[5], (a, b, cents(self.inputs.uniform(1, 1000))))),
        }
    }
}
