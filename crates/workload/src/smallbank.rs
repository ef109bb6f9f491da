//! SmallBank's teller: the mix of pgbench's run; customers drawn uniformly, or by a zipfian distribution.

use crate::Driver;
use crate::inputs::{Inputs, cents};
use crate::parameters::Mix;
use crate::skew::Skewed;
use crate::suite::Draws;
use planaria::{Numeric, ParamRef, Params, PreparedCall, Result, Session, Submitted};

pub(crate) const TRANSACTIONS: &[&str] =
    &["balance", "deposit_checking", "transact_savings", "amalgamate", "write_check", "send_payment"];

pub(crate) const PARAMETERS: &[&str] = &["mix", "theta"];

struct Teller {
    calls: [PreparedCall; 6],
    customers: i64,
    skewed: Option<Skewed>,
    mix: Mix,
    inputs: Inputs,
}

/// A customer's name: `Customer` and twelve digits. It is made for every call that is measured, so without the general
/// ways of formatting, which take as long as a lookup.
#[derive(Clone, Copy)]
struct Name([u8; 20]);

impl Name {
    fn of(id: i64) -> Name {
        let (mut name, mut rest) = (Name(*b"Customer000000000000"), id);
        for digit in name.0[8..].iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        name
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
    }))
}

/// A call, drawn.
#[derive(Clone, Copy)]
struct Drawn {
    kind: usize,
    names: [Name; 2],
    amount: Numeric,
}

impl Drawn {
    const fn is_of_two(&self) -> bool {
        matches!(self.kind, 3 | 5)
    }
}

impl Params for Drawn {
    fn count(&self) -> usize {
        match self.kind {
            0 => 1,
            5 => 3,
            _ => 2,
        }
    }

    #[inline]
    fn param(&self, i: usize) -> ParamRef<'_> {
        match i {
            0 => ParamRef::Text(self.names[0].as_str()),
            1 if self.is_of_two() => ParamRef::Text(self.names[1].as_str()),
            _ => ParamRef::Numeric(self.amount),
        }
    }
}

impl Teller {
    fn draw(&mut self) -> Drawn {
        let (a, b) = match &self.skewed {
            Some(skewed) => skewed.pair(&mut self.inputs),
            None => self.inputs.pair(self.customers),
        };
        let kind = self.mix.draw(&mut self.inputs);
        let amount = match kind {
            0 | 3 => 0,
            2 => self.inputs.uniform(-1000, 1000),
            _ => self.inputs.uniform(1, 1000),
        };
        Drawn { kind, names: [Name::of(a), Name::of(b)], amount: cents(amount) }
    }
}

impl Driver for Teller {
    fn next(&mut self, s: &mut Session) -> (usize, Result<Submitted>) {
        let drawn = self.draw();
        (drawn.kind, s.submit(&self.calls[drawn.kind], drawn))
    }

    fn next_together(
        &mut self,
        s: &mut Session,
        many: usize,
        each: &mut dyn FnMut(usize, Result<Submitted>),
    ) {
        let drawn: Vec<Drawn> = (0..many).map(|_| self.draw()).collect();
        let calls: Vec<(&PreparedCall, &dyn Params)> =
            drawn.iter().map(|d| (&self.calls[d.kind], d as &dyn Params)).collect();
        for (drawn, outcome) in drawn.iter().zip(s.submit_all(&calls)) {
            each(drawn.kind, outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_loader() {
        for id in [1, 10, 123_456, 999_999_999_999] {
            assert_eq!(Name::of(id).as_str(), format!("Customer{id:012}"));
        }
    }
}
