//! SmallBank's teller: the mix of pgbench's run; customers drawn uniformly, or by a zipfian distribution.

use crate::Driver;
use crate::inputs::{Inputs, cents};
use crate::parameters::Mix;
use crate::skew::Skewed;
use crate::suite::Draws;
use planaria::{PreparedCall, Result, Session, Submitted};

pub(crate) const TRANSACTIONS: &[&str] =
    &["balance", "deposit_checking", "transact_savings", "amalgamate", "write_check", "send_payment"];

pub(crate) const PARAMETERS: &[&str] = &["mix", "theta"];

struct Teller {
    calls: [PreparedCall; 6],
    customers: i64,
    skewed: Option<Skewed>,
    mix: Mix,
    inputs: Inputs,
    names: [Name; 2],
}

/// A customer's name: `Customer` and twelve digits. It is made for every call that is measured, so without the general
/// ways of formatting, which take as long as a lookup.
struct Name([u8; 20]);

impl Name {
    fn new() -> Name {
        Name(*b"Customer000000000000")
    }

    fn set(&mut self, id: i64) {
        let mut rest = id;
        for digit in self.0[8..].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("letters and digits")
    }
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
        names: [Name::new(), Name::new()],
    }))
}

impl Driver for Teller {
    fn next(&mut self, s: &mut Session) -> (usize, Result<Submitted>) {
        let (a, b) = match &self.skewed {
            Some(skewed) => skewed.pair(&mut self.inputs),
            None => self.inputs.pair(self.customers),
        };
        for (name, id) in self.names.iter_mut().zip([a, b]) {
            name.set(id);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_loader() {
        let mut name = Name::new();
        for id in [1, 10, 123_456, 999_999_999_999] {
            name.set(id);
            assert_eq!(name.as_str(), format!("Customer{id:012}"));
        }
    }
}
