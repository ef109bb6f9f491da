//! TPC-C's terminal: the mix 45/43/4/4/4 without keying and thinking times (clauses 2.4 to 2.8), warehouses drawn
//! uniformly; or by parameters.

use crate::Driver;
use crate::inputs::{Inputs, cents};
use crate::parameters::{Mix, Parameters};
use crate::suite::Draws;
use planaria::{PreparedCall, Result, Session, Submitted};

pub(crate) const TRANSACTIONS: &[&str] = &["new_order", "payment", "order_status", "delivery", "stock_level"];

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

pub(crate) const PARAMETERS: &[&str] =
    &["mix", "home", "remote lines", "remote payments", "cross-partition", "no inserts"];

/// Checks that cannot hold where orders and payments insert nothing: they compare with rows that are not there.
const OF_INSERTS: [&str; 7] = ["C02", "C08", "C09", "C10", "X01", "X02", "X04"];

/// What holds in their place.
const WITHOUT_INSERTS: &str = include_str!("../sql/tpcc/checks_no_inserts.sql");

/// How the names of procedures end that insert nothing.
const NO_INSERTS: &str = "_no_inserts";

/// The procedures that insert, under other names, without the statements that do so.
pub(crate) fn without_inserts(procedures: &str) -> String {
    let mut out = String::new();
    for name in ["tpcc_new_order", "tpcc_payment"] {
        let head = format!("CREATE OR REPLACE PROCEDURE {name}");
        let Some((_, body)) = procedures.split_once(&format!("{head}(")) else { continue };
        let mut rest = body.find("$$;").map_or(body, |end| &body[..end + 3]);
        out += &format!("{head}{NO_INSERTS}(");
        while let Some((before, insert)) = rest.split_once("INSERT INTO") {
            out += before;
            rest = insert.split_once(';').map_or("", |(_, after)| after);
        }
        out += &format!("{rest}\n");
    }
    out
}

/// Checks that do not hold after drivers with these parameters, and one that does in their place.
pub(crate) fn checks(parameters: &Parameters) -> (&'static [&'static str], Option<&'static str>) {
    if parameters.no_inserts { (&OF_INSERTS, Some(WITHOUT_INSERTS)) } else { (&[], None) }
}

/// Which transactions touch other warehouses, of a hundred.
enum Remote {
    /// Lines, and payments.
    Each { lines: f64, payments: f64 },
    /// Orders and payments.
    Transactions(f64),
}

impl Remote {
    fn new(parameters: &Parameters) -> Remote {
        match parameters.cross_partition {
            Some(share) => Remote::Transactions(share),
            None => Remote::Each {
                lines: parameters.remote_lines.unwrap_or(1.0),
                payments: parameters.remote_payments.unwrap_or(15.0),
            },
        }
    }
}

struct Terminal {
    calls: [PreparedCall; 5],
    warehouses: i64,
    home: Option<i64>,
    remote: Remote,
    mix: Mix,
    inputs: Inputs,
    items: Vec<i32>,
    supply: Vec<i32>,
    quantities: Vec<i32>,
    name: String,
}

pub(crate) fn driver(session: &mut Session, draws: &Draws<'_>) -> Result<Box<dyn Driver>> {
    let kind = if draws.parameters.no_inserts { NO_INSERTS } else { "" };
    Ok(Box::new(Terminal {
        calls: [
            session.prepare_call(&format!("tpcc_new_order{kind}"), 7)?,
            session.prepare_call(&format!("tpcc_payment{kind}"), 7)?,
            session.prepare_call("tpcc_order_status", 4)?,
            session.prepare_call("tpcc_delivery", 2)?,
            session.prepare_call("tpcc_stock_level", 3)?,
        ],
        warehouses: draws.size as i64,
        home: draws.parameters.home.then(|| (draws.number % draws.size.max(1)) as i64 + 1),
        remote: Remote::new(draws.parameters),
        mix: Mix::new(&[45, 43, 4, 4, 4], draws.parameters),
        inputs: Inputs::new(draws.seed),
        items: Vec::with_capacity(15),
        supply: Vec::with_capacity(15),
        quantities: Vec::with_capacity(15),
        name: String::new(),
    }))
}

impl Terminal {
    fn warehouse(&mut self) -> i64 {
        self.home.unwrap_or_else(|| self.inputs.uniform(1, self.warehouses))
    }

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
        let w = self.warehouse();
        let d = self.inputs.uniform(1, 10);
        let c = self.inputs.nurand(1023, 1, 3000, 259);
        let lines = self.inputs.uniform(5, 15);
        self.items.clear();
        self.supply.clear();
        self.quantities.clear();
        let crosses = match self.remote {
            Remote::Transactions(share) if self.warehouses > 1 && self.inputs.chance_of(share) => {
                Some(self.inputs.uniform(1, lines))
            }
            _ => None,
        };
        for line in 1..=lines {
            self.items.push(self.inputs.nurand(8191, 1, 100_000, 7911) as i32);
            let remote = match self.remote {
                Remote::Each { lines, .. } => self.warehouses > 1 && self.inputs.chance_of(lines),
                Remote::Transactions(_) => crosses == Some(line),
            };
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
        let w = self.warehouse();
        let d = self.inputs.uniform(1, 10);
        let share = match self.remote {
            Remote::Each { payments, .. } => payments,
            Remote::Transactions(share) => share,
        };
        let (cw, cd) = if self.warehouses > 1 && self.inputs.chance_of(share) {
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
        let w = self.warehouse();
        let d = self.inputs.uniform(1, 10);
        match self.customer() {
            Some(c) => s.submit(&self.calls[2], (w, d, c, None::<&str>)),
            None => s.submit(&self.calls[2], (w, d, None::<i64>, self.name.as_str())),
        }
    }
}

impl Driver for Terminal {
    fn next(&mut self, s: &mut Session) -> (usize, Result<Submitted>) {
        match self.mix.draw(&mut self.inputs) {
            0 => (0, self.new_order(s)),
            1 => (1, self.payment(s)),
            2 => (2, self.order_status(s)),
            3 => {
                let (w, carrier) = (self.warehouse(), self.inputs.uniform(1, 10));
                (3, s.submit(&self.calls[3], (w, carrier)))
            }
            _ => {
                let (w, d) = (self.warehouse(), self.inputs.uniform(1, 10));
                let threshold = self.inputs.uniform(10, 20);
                (4, s.submit(&self.calls[4], (w, d, threshold)))
            }
        }
    }
}
