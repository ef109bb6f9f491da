//! Zipfian keys: how often each is drawn, and how many transactions access each.

use crate::inputs::Inputs;
use rand_distr::Zipf;

/// Draws keys 1 to n, the first most often.
pub(crate) struct Skewed {
    zipf: Zipf<f64>,
    keys: i64,
}

impl Skewed {
    /// `theta` is at least 0.
    pub(crate) fn new(keys: u64, theta: f64) -> Skewed {
        let keys = keys.max(1);
        Skewed { zipf: Zipf::new(keys as f64, theta).expect("keys, and an exponent"), keys: keys as i64 }
    }

    pub(crate) fn draw(&self, inputs: &mut Inputs) -> i64 {
        inputs.sample(&self.zipf) as i64
    }

    /// Two different ones (the same where there is one alone).
    pub(crate) fn pair(&self, inputs: &mut Inputs) -> (i64, i64) {
        let first = self.draw(inputs);
        loop {
            let second = self.draw(inputs);
            if second != first || self.keys == 1 {
                return (first, second);
            }
        }
    }
}

/// Spreads the hot ranks over all keys, each rank to a key of its own: about the golden section of the keys, and without
/// a divisor in common with their number.
pub(crate) fn stride(records: u64) -> u64 {
    let gcd = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let golden = (records as f64 * 0.618_034) as u64;
    (golden.max(1)..).find(|stride| gcd(*stride, records) == 1).expect("a prime is among them")
}

/// Probabilities of the keys 1 to `keys`, the most popular first, where the `i`-th is drawn in proportion to
/// `1 / i^theta`.
pub fn zipf(keys: u64, theta: f64) -> Vec<f64> {
    let weights: Vec<f64> = (1..=keys).map(|i| (i as f64).powf(-theta)).collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// Of transactions, the share that accesses each key, where of `one_key` (of 1) a key is drawn and of the others two
/// different ones: SmallBank's customers (0.6 in its mix). That is what Table 3.2 of Wu's thesis lists.
pub fn accessed(probabilities: &[f64], one_key: f64) -> Vec<f64> {
    // The second is drawn until it is not the first: j first, then k, with p(j) p(k) / (1 - p(j)).
    let odds: f64 = probabilities.iter().map(|p| p / (1.0 - p)).sum();
    probabilities.iter().map(|p| one_key * p + (1.0 - one_key) * (p + p * (odds - p / (1.0 - p)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 3.2: theta, and of transactions those that access the first, second, 10th and 100th of 1,000 keys. (Two of
    /// its numbers are not within the tenth of a point that it is rounded to; see the test.)
    pub(super) const TABLE: [(f64, [f64; 4]); 9] = [
        (0.1, [0.25, 0.24, 0.20, 0.16]),
        (0.2, [0.45, 0.39, 0.29, 0.18]),
        (0.3, [0.78, 0.63, 0.40, 0.19]),
        (0.4, [1.34, 1.02, 0.55, 0.22]),
        (0.5, [2.26, 1.60, 0.74, 0.22]),
        (0.6, [3.70, 2.45, 0.95, 0.24]),
        (0.7, [5.86, 3.60, 1.20, 0.23]),
        (0.8, [8.91, 5.17, 1.48, 0.23]),
        (0.9, [13.01, 7.06, 1.72, 0.21]),
    ];

    #[test]
    fn shares_are_those_of_table_3_2() {
        for (theta, row) in TABLE {
            let shares = accessed(&zipf(1000, theta), 0.6);
            for (rank, listed) in [1, 2, 10, 100].into_iter().zip(row) {
                let share = shares[rank - 1] * 100.0;
                assert!((share - listed).abs() < 0.1, "theta {theta}, key {rank}: {share:.3}, not {listed}");
            }
        }
    }

    #[test]
    fn keys_are_drawn_as_often_as_computed() {
        let (mut inputs, draws) = (Inputs::new(7), 200_000);
        for theta in [0.0, 0.5, 0.9] {
            let skewed = Skewed::new(1000, theta);
            let mut drawn = vec![0_u32; 1000];
            (0..draws).for_each(|_| drawn[skewed.draw(&mut inputs) as usize - 1] += 1);
            for (rank, p) in zipf(1000, theta).into_iter().enumerate().take(20) {
                let share = f64::from(drawn[rank]) / f64::from(draws);
                let deviation = (p * (1.0 - p) / f64::from(draws)).sqrt();
                assert!((share - p).abs() < 5.0 * deviation, "theta {theta}, key {}: {share}", rank + 1);
            }
        }
    }

    #[test]
    fn two_customers_are_two() {
        let mut inputs = Inputs::new(3);
        let hot = Skewed::new(2, 3.0);
        assert!((0..1000).map(|_| hot.pair(&mut inputs)).all(|(a, b)| a != b));
        assert_eq!(Skewed::new(1, 0.9).pair(&mut inputs), (1, 1));
    }

    #[test]
    fn each_rank_has_a_key_of_its_own() {
        for records in [1, 2, 16, 100, 997, 1000, 30030] {
            let stride = stride(records);
            let mut keys: Vec<u64> = (0..records).map(|rank| rank * stride % records).collect();
            keys.sort_unstable();
            assert!(keys.into_iter().eq(0..records), "{records}");
        }
    }
}
