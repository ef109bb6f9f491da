//! Voter's caller: random telephones vote for one of six contestants, twice at most.

use crate::Driver;
use crate::inputs::Inputs;
use crate::suite::Draws;
use planaria::{PreparedCall, Result, Session, Submitted};

pub(crate) const TRANSACTIONS: &[&str] = &["vote"];

pub(crate) const PARAMETERS: &[&str] = &[];

struct Caller {
    call: PreparedCall,
    contestants: i64,
    inputs: Inputs,
}

pub(crate) fn driver(session: &mut Session, draws: &Draws<'_>) -> Result<Box<dyn Driver>> {
    Ok(Box::new(Caller {
        call: session.prepare_call("vote", 3)?,
        contestants: draws.size as i64,
        inputs: Inputs::new(draws.seed),
    }))
}

impl Driver for Caller {
    fn next(&mut self, s: &mut Session) -> (usize, Result<Submitted>) {
        let phone = self.inputs.uniform(200, 999) * 10_000_000 + self.inputs.uniform(0, 9_999_999);
        let contestant = self.inputs.uniform(1, self.contestants);
        (0, s.submit(&self.call, (phone, contestant, 2)))
    }
}
