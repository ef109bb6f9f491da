//! YCSB workload A: half reads, half updates of one field, keys zipfian with theta 0.99, scattered.

use crate::Driver;
use crate::inputs::Inputs;
use planaria::{PreparedCall, Result, Session, Submitted};
use rand_distr::Zipf;
use std::fmt::Write;

pub(crate) const TRANSACTIONS: &[&str] = &["read", "update"];

struct Client {
    calls: [PreparedCall; 2],
    records: i64,
    zipf: Zipf<f64>,
    inputs: Inputs,
    value: String,
}

pub(crate) fn driver(session: &mut Session, records: u64, seed: u64) -> Result<Box<dyn Driver>> {
    Ok(Box::new(Client {
        calls: [session.prepare_call("ycsb_read", 1)?, session.prepare_call("ycsb_update", 3)?],
        records: records as i64,
        zipf: Zipf::new(records as f64, 0.99).expect("at least one record"),
        inputs: Inputs::new(seed),
        value: String::new(),
    }))
}

impl Driver for Client {
    fn next(&mut self, s: &mut Session) -> (usize, Result<Submitted>) {
        let rank = self.inputs.sample(&self.zipf) as i64;
        // A multiplicative hash spreads the hot ranks over the key space.
        let key = (rank as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) % self.records as u64 + 1;
        if self.inputs.chance(50) {
            return (0, s.submit(&self.calls[0], (key as i64,)));
        }
        let (field, version) = (self.inputs.uniform(0, 9), self.inputs.uniform(1, 1_000_000));
        self.value.clear();
        write!(self.value, "k{key}f{field}v{version} ").expect("writing to a string");
        while self.value.len() < 100 {
            self.value.push_str("abcdefghijklmnopqrstuvwxyz0123456789");
        }
        self.value.truncate(100);
        (1, s.submit(&self.calls[1], (key as i64, field, self.value.as_str())))
    }
}
