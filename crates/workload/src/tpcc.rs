//! TPC-C's terminal: the mix 45/43/4/4/4 without keying and thinking times (clauses 2.4 to 2.8).

use crate::Driver;
use crate::inputs::{Inputs, cents};
use planaria::{PreparedCall, Result, Session, Submitted};

pub(crate) const TRANSACTIONS: &[&str] = &["new_order", "payment", "order_status", "delivery", "stock_level"];

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

struct Terminal {
    calls: [PreparedCall; 5],
    warehouses: i64,
    inputs: Inputs,
    items: Vec<i32>,
    supply: Vec<i32>,
    quantities: Vec<i32>,
    name: String,
}

pub(crate) fn driver(session: &mut Session, warehouses: u64, seed: u64) -> Result<Box<dyn Driver>> {
    Ok(Box::new(Terminal {
        calls: [
            session.prepare_call("tpcc_new_order", 7)?,
            session.prepare_call("tpcc_payment", 7)?,
            session.prepare_call("tpcc_order_status", 4)?,
            session.prepare_call("tpcc_delivery", 2)?,
            session.prepare_call("tpcc_stock_level", 3)?,
        ],
        warehouses: warehouses as i64,
        inputs: Inputs::new(seed),
        items: Vec::with_capacity(15),
        supply: Vec::with_capacity(15),
        quantities: Vec::with_capacity(15),
        name: String::new(),
    }))
}

impl Terminal {
    /// The customer: a last name in 60 of 100 cases, else a number.
    fn customer(&mut self) -> Option<i64> {
        if !self.inputs.chance(60) {
            return Some(self.inputs.nurand(1023, 1, 3000, 259));
        }
        let n = self.inputs.nurand(255, 0, 999, 223) as usize;
        self.name.clear();
        for digit in [n / 100, n / 10 % 10, n % 10] {
            self.name.push_str(SYLLABLES[digit]);
        }
        None
    }

    /// A warehouse other than `home`, where there is one.
    fn other_warehouse(&mut self, home: i64) -> i64 {
        (home + self.inputs.uniform(0, self.warehouses - 2)) % self.warehouses + 1
    }

    fn new_order(&mut self, s: &mut Session) -> Result<Submitted> {
        let w = self.inputs.uniform(1, self.warehouses);
        let d = self.inputs.uniform(1, 10);
        let c = self.inputs.nurand(1023, 1, 3000, 259);
        let lines = self.inputs.uniform(5, 15);
        self.items.clear();
        self.supply.clear();
        self.quantities.clear();
        for _ in 0..lines {
            self.items.push(self.inputs.nurand(8191, 1, 100_000, 7911) as i32);
            let remote = self.warehouses > 1 && self.inputs.chance(1);
            let from = if remote { self.other_warehouse(w) } else { w };
            self.supply.push(from as i32);
            self.quantities.push(self.inputs.uniform(1, 10) as i32);
        }
        if self.inputs.chance(1) {
            // Clause 2.4.1.5: an unused item number undoes the order.
            *self.items.last_mut().expect("five lines at least") = 100_001;
        }
        s.submit(&self.calls[0], (w, d, c, lines, &self.items, &self.supply, &self.quantities))
    }

    fn payment(&mut self, s: &mut Session) -> Result<Submitted> {
        let w = self.inputs.uniform(1, self.warehouses);
        let d = self.inputs.uniform(1, 10);
        let (cw, cd) = if self.warehouses > 1 && self.inputs.chance(15) {
            (self.other_warehouse(w), self.inputs.uniform(1, 10))
        } else {
            (w, d)
        };
        let amount = cents(self.inputs.uniform(100, 500_000));
        match self.customer() {
            Some(c) => s.submit(&self.calls[1], (w, d, cw, cd, amount, c, None::<&str>)),
            None => s.submit(&self.calls[1], (w, d, cw, cd, amount, None::<i64>, self.name.as_str())),
        }
    }

    fn order_status(&mut self, s: &mut Session) -> Result<Submitted> {
        let w = self.inputs.uniform(1, self.warehouses);
        let d = self.inputs.uniform(1, 10);
        match self.customer() {
            Some(c) => s.submit(&self.calls[2], (w, d, c, None::<&str>)),
            None => s.submit(&self.calls[2], (w, d, None::<i64>, self.name.as_str())),
        }
    }
}

impl Driver for Terminal {
    fn next(&mut self, s: &mut Session) -> (usize, Result<Submitted>) {
        match self.inputs.uniform(1, 100) {
            1..=45 => (0, self.new_order(s)),
            46..=88 => (1, self.payment(s)),
            89..=92 => (2, self.order_status(s)),
            93..=96 => {
                let (w, carrier) = (self.inputs.uniform(1, self.warehouses), self.inputs.uniform(1, 10));
                (3, s.submit(&self.calls[3], (w, carrier)))
            }
            _ => {
                let (w, d) = (self.inputs.uniform(1, self.warehouses), self.inputs.uniform(1, 10));
                let threshold = self.inputs.uniform(10, 20);
                (4, s.submit(&self.calls[4], (w, d, threshold)))
            }
        }
    }
}
