//! The measurement of prices, small.

use planaria_lab::costs::Measurement;
use planaria_lab::recovery::Watch;

struct Unseen;

impl Watch for Unseen {
    fn step(&self, _: &str, _: u64) {}
    fn at(&self, _: u64) {}
}

#[test]
fn every_price_is_measured() {
    let prices = Measurement { rows: 500, operations: 100, repeat: 2 }.run(&Unseen).expect("measures");
    let names: Vec<_> = prices.iter().map(|p| p.operation).collect();
    assert_eq!(names, planaria_analysis::cost::PRICES.map(|(name, _)| name));
    assert!(prices.iter().all(|p| p.measured_ns.is_finite() && p.measured_ns >= 0.0 && p.used_ns > 0.0));
}
