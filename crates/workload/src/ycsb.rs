//! YCSB workload A: half reads, half updates of one field, keys zipfian with theta 0.99, scattered; one a
//! transaction, or several.

use crate::Driver;
use crate::inputs::Inputs;
use crate::skew::{Skewed, stride};
use crate::suite::Draws;
use planaria::{Params, PreparedCall, Result, Session, Submitted};
use std::fmt::Write;

pub(crate) const TRANSACTIONS: &[&str] = &["read", "update", "several"];

pub(crate) const PARAMETERS: &[&str] = &["theta", "operations", "reads"];

/// What is read, of a hundred operations.
const READS: f64 = 50.0;

struct Client {
    calls: [PreparedCall; 3],
    records: u64,
    /// From a rank's key to the next one's.
    stride: u64,
    skewed: Skewed,
    reads: f64,
    /// A transaction; none: one without asking for several.
    operations: Option<usize>,
    inputs: Inputs,
    value: String,
    keys: Vec<i64>,
    writes: Vec<bool>,
}

pub(crate) fn driver(session: &mut Session, draws: &Draws<'_>) -> Result<Box<dyn Driver>> {
    let parameters = draws.parameters;
    // As many different keys as there are, at most.
    let operations = parameters.operations.map(|n| u64::from(n).min(draws.size.max(1)) as usize);
    Ok(Box::new(Client {
        calls: [
            session.prepare_call("ycsb_read", 1)?,
            session.prepare_call("ycsb_update", 3)?,
            session.prepare_call("ycsb_txn", 3)?,
        ],
        records: draws.size.max(1),
        stride: stride(draws.size.max(1)),
        skewed: Skewed::new(draws.size, parameters.theta.unwrap_or(0.99)),
        reads: parameters.reads.unwrap_or(READS),
        operations,
        inputs: Inputs::new(draws.seed),
        value: String::new(),
        keys: Vec::new(),
        writes: Vec::new(),
    }))
}

impl Client {
    fn key(&mut self) -> i64 {
        let rank = self.skewed.draw(&mut self.inputs);
        (u128::from(rank as u64 - 1) * u128::from(self.stride) % u128::from(self.records)) as i64 + 1
    }

    /// A value of `key` for a field.
    fn fill(&mut self, key: i64, field: i64) {
        let version = self.inputs.uniform(1, 1_000_000);
        self.value.clear();
        write!(self.value, "k{key}f{field}v{version} ").expect("writing to a string");
        while self.value.len() < 100 {
            self.value.push_str("abcdefghijklmnopqrstuvwxyz0123456789");
        }
        self.value.truncate(100);
    }

    /// Different keys, in rising order.
    fn several(&mut self, s: &mut Session, operations: usize) -> Result<Submitted> {
        self.keys.clear();
        while self.keys.len() < operations {
            let key = self.key();
            if let Err(at) = self.keys.binary_search(&key) {
                self.keys.insert(at, key);
            }
        }
        self.writes.clear();
        for _ in 0..operations {
            self.writes.push(!self.inputs.chance_of(self.reads));
        }
        self.fill(self.keys[0], 1);
        s.submit(&self.calls[2], (&self.keys, &self.writes, self.value.as_str()))
    }
}

impl Client {
    /// The key of a read, or with it the field of an update, whose value is in place.
    fn draw(&mut self) -> (i64, Option<i64>) {
        let key = self.key();
        let field = (!self.inputs.chance_of(self.reads)).then(|| self.inputs.uniform(0, 9));
        if let Some(field) = field {
            self.fill(key, field);
        }
        (key, field)
    }
}

impl Driver for Client {
    fn next(&mut self, s: &mut Session) -> (usize, Result<Submitted>) {
        if let Some(operations) = self.operations {
            return (2, self.several(s, operations));
        }
        match self.draw() {
            (key, None) => (0, s.submit(&self.calls[0], (key,))),
            (key, Some(field)) => (1, s.submit(&self.calls[1], (key, field, self.value.as_str()))),
        }
    }

    fn next_together(
        &mut self,
        s: &mut Session,
        many: usize,
        each: &mut dyn FnMut(usize, Result<Submitted>),
    ) {
        if self.operations.is_some() {
            for _ in 0..many {
                let (kind, outcome) = self.next(s);
                each(kind, outcome);
            }
            return;
        }
        let drawn: Vec<Box<dyn Params>> = (0..many)
            .map(|_| match self.draw() {
                (key, None) => Box::new((key,)) as Box<dyn Params>,
                (key, Some(field)) => Box::new((key, field, self.value.clone())),
            })
            .collect();
        let kind = |params: &dyn Params| usize::from(params.count() > 1);
        let calls: Vec<(&PreparedCall, &dyn Params)> =
            drawn.iter().map(|params| (&self.calls[kind(&**params)], &**params)).collect();
        for (params, outcome) in drawn.iter().zip(s.submit_all(&calls)) {
            each(kind(&**params), outcome);
        }
    }
}
