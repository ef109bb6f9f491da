//! What a driver draws, where it is to draw otherwise than its benchmark says.

use planaria::{Error, Result, SqlState};

/// Parameters of a workload's inputs; those left out are the benchmark's. Shares are of a hundred.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parameters {
    /// How often each transaction is drawn, against the others, in the order of
    /// [`Suite::transactions`](crate::Suite::transactions).
    pub mix: Option<Vec<u32>>,
    /// Exponent of the zipfian distribution that keys are drawn by; 0 is uniform.
    pub theta: Option<f64>,
    /// Records that a transaction reads or writes, each another one.
    pub operations: Option<u32>,
    /// Of the operations, those that read.
    pub reads: Option<f64>,
    /// Each driver keeps to one warehouse, by its number, as a terminal does.
    pub home: bool,
    /// Of the lines of an order, those that another warehouse supplies.
    pub remote_lines: Option<f64>,
    /// Of the payments, those of customers of another warehouse.
    pub remote_payments: Option<f64>,
    /// Of the orders and of the payments, those that touch another warehouse, each exactly one: in place of the two
    /// above, where partitions are measured.
    pub cross_partition: Option<f64>,
    /// Orders and payments insert no rows, so that tables do not grow: they call procedures that
    /// [`Suite::make_ready`](crate::Suite::make_ready) adds to a database. Deliveries find no more orders than were loaded.
    pub no_inserts: bool,
}

impl Parameters {
    /// Those that are given, with what is wrong about each, if anything is.
    fn given(&self) -> Vec<(&'static str, Option<&'static str>)> {
        let share = |share: f64| (!(0.0..=100.0).contains(&share)).then_some("a share is one of a hundred");
        let shares = [
            ("reads", self.reads),
            ("remote lines", self.remote_lines),
            ("remote payments", self.remote_payments),
            ("cross-partition", self.cross_partition),
        ];
        let mut given: Vec<_> =
            shares.into_iter().filter_map(|(name, of)| of.map(|of| (name, share(of)))).collect();
        if let Some(mix) = &self.mix {
            let nothing = mix.iter().all(|weight| *weight == 0);
            given.push(("mix", nothing.then_some("nothing would be drawn")));
        }
        if let Some(theta) = self.theta {
            let wrong = !(0.0..10.0).contains(&theta);
            given.push(("theta", wrong.then_some("it is at least 0, and below 10")));
        }
        if let Some(operations) = self.operations {
            given.push(("operations", (operations == 0).then_some("at least 1")));
        }
        for (name, is_given) in [("home", self.home), ("no inserts", self.no_inserts)] {
            if is_given {
                given.push((name, None));
            }
        }
        given
    }

    /// 22023 where a parameter is out of range, or none of `known`.
    pub(crate) fn check(&self, workload: &str, transactions: usize, known: &[&str]) -> Result<()> {
        let invalid = |what: String| Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, what));
        for (name, wrong) in self.given() {
            if !known.contains(&name) {
                return invalid(format!("{workload} has no parameter \"{name}\""));
            }
            if let Some(wrong) = wrong {
                return invalid(format!("parameter \"{name}\": {wrong}"));
            }
        }
        match &self.mix {
            Some(mix) if mix.len() != transactions => {
                invalid(format!("{workload} has {transactions} transactions, the mix {}", mix.len()))
            }
            _ if self.cross_partition.is_some()
                && (self.remote_lines.is_some() || self.remote_payments.is_some()) =>
            {
                invalid("cross-partition shares take the place of remote ones".into())
            }
            _ => Ok(()),
        }
    }
}

/// Which transaction is next.
pub(crate) struct Mix(Vec<i64>);

impl Mix {
    /// By these weights, or by those of the parameters.
    pub(crate) fn new(weights: &[u32], parameters: &Parameters) -> Mix {
        let weights = parameters.mix.as_deref().unwrap_or(weights);
        let mut sum = 0;
        Mix(weights
            .iter()
            .map(|weight| {
                sum += i64::from(*weight);
                sum
            })
            .collect())
    }

    pub(crate) fn draw(&self, inputs: &mut crate::inputs::Inputs) -> usize {
        let pick = inputs.uniform(1, *self.0.last().expect("a mix of something"));
        self.0.iter().position(|upto| pick <= *upto).expect("at most the last")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::Inputs;

    #[test]
    fn a_mix_draws_by_its_weights() {
        let mix = Mix::new(&[1], &Parameters { mix: Some(vec![0, 30, 0, 70]), ..Parameters::default() });
        let mut inputs = Inputs::new(1);
        let mut drawn = [0; 4];
        (0..10_000).for_each(|_| drawn[mix.draw(&mut inputs)] += 1);
        assert_eq!((drawn[0], drawn[2]), (0, 0));
        assert!((2800..3200).contains(&drawn[1]), "{drawn:?}");
    }

    #[test]
    fn parameters_are_checked() {
        let none = Parameters::default();
        assert!(none.check("w", 2, &[]).is_ok());
        let theta = Parameters { theta: Some(0.9), ..none.clone() };
        assert!(theta.check("w", 2, &["theta"]).is_ok());
        let refused = theta.check("w", 2, &["mix"]).unwrap_err();
        assert_eq!(refused.message(), "w has no parameter \"theta\"");
        for wrong in [
            Parameters { theta: Some(-1.0), ..none.clone() },
            Parameters { theta: Some(f64::NAN), ..none.clone() },
            Parameters { reads: Some(101.0), ..none.clone() },
            Parameters { operations: Some(0), ..none.clone() },
            Parameters { mix: Some(vec![0, 0]), ..none.clone() },
            Parameters { mix: Some(vec![1]), ..none.clone() },
            Parameters { cross_partition: Some(1.0), remote_lines: Some(1.0), ..none.clone() },
        ] {
            let known = ["theta", "reads", "operations", "mix", "cross-partition", "remote lines"];
            assert!(wrong.check("w", 2, &known).is_err(), "{wrong:?}");
        }
    }
}
