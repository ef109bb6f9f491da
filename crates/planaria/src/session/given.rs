//! The arguments that a call gives: so many, or those of these names.

use crate::params::Params;
use planaria_catalog::{Parameter, Procedure};
use std::fmt;

/// Which arguments a call gives.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Given {
    /// So many, in the order of the routine.
    First(usize),
    /// Those of these names.
    Named(Box<[String]>),
}

impl Given {
    /// What the parameters say.
    pub(crate) fn of(params: &dyn Params) -> Given {
        match params.names() {
            None => Given::First(params.count()),
            Some(names) => Given::Named(names.iter().map(|name| (*name).to_owned()).collect()),
        }
    }

    /// Whether the parameters say the same.
    pub(crate) fn is_of(&self, params: &dyn Params) -> bool {
        match (self, params.names()) {
            (Given::First(n), None) => *n == params.count(),
            (Given::Named(known), Some(names)) => known.iter().map(String::as_str).eq(names.iter().copied()),
            _ => false,
        }
    }

    pub(crate) fn count(&self) -> usize {
        match self {
            Given::First(n) => *n,
            Given::Named(names) => names.len(),
        }
    }

    /// Whether the `i`-th argument is given.
    pub(crate) fn has(&self, i: usize, parameter: &Parameter) -> bool {
        match self {
            Given::First(n) => i < *n,
            Given::Named(names) => names.contains(&parameter.name),
        }
    }

    /// Whether the routine can be called so.
    pub(crate) fn fits(&self, procedure: &Procedure) -> bool {
        let known = match self {
            Given::First(n) => procedure.inputs().count() >= *n,
            Given::Named(names) => {
                names.iter().all(|name| procedure.inputs().filter(|p| p.name == *name).count() == 1)
                    && (1..names.len()).all(|i| !names[..i].contains(&names[i]))
            }
        };
        known && procedure.inputs().enumerate().all(|(i, p)| self.has(i, p) || p.default.is_some())
    }

    /// Where the routine's parameters are among the arguments and, behind them, the defaults of those left out.
    pub(crate) fn order(&self, procedure: &Procedure) -> Option<Box<[usize]>> {
        let Given::Named(names) = self else { return None };
        let mut left_out = names.len()..;
        let place = |p: &Parameter| {
            names.iter().position(|name| *name == p.name).or_else(|| left_out.next()).unwrap_or_default()
        };
        Some(procedure.inputs().map(place).collect())
    }
}

impl fmt::Display for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Given::First(n) => write!(f, "{n} arguments"),
            Given::Named(names) => write!(f, "the arguments {}", names.join(", ")),
        }
    }
}
