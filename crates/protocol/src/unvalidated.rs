//! Upper bounds: schemes that commit whatever they have read. For the laboratory alone.
//!
//! **Paper.** Y. Wu's thesis (*Transaction Management on Multicores*, NUS 2017, §3.6, Figures 3.8 to 3.10) measures OCC and
//! Silo with validation switched off (OCC⁻, SILO⁻): what they could do if no attempt ever failed, which is what
//! a scheme that mends attempts can be held against.
//!
//! **Guarantee.** None: updates are lost. A call is logged by what it writes, and there is no log: a database is run with one of
//! these in memory alone, never on a directory. They are not on the shelf that databases choose from, but on one of their own.
//!
//! **What is left out.** Commit locks as the scheme does, draws, and installs: neither versions nor leaves are
//! compared. A row that has changed since is changed as it is now.
//!
//! **What is not.** What indexes depend on: a row that is gone, or whose keys are to change, must be as it was read, and a key is
//! given once. An error that a call meets counts only if what it has read holds, so that most of those that come from
//! lost updates (a number that was given twice) are attempts that failed, and not answers. Blocks are validated.

use crate::occ::OccRules;
use crate::silo::SiloRules;
use crate::versioned::OverVersions;
use crate::{Protocol, ProtocolJob};

/// Silo without validation.
pub type SiloUnvalidated = OverVersions<SiloRules<true, true, false, false>>;

/// OCC without validation.
pub type OccUnvalidated = OverVersions<OccRules<true, true, true, false>>;

/// One of them, chosen at run time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum UpperBound {
    /// [`SiloUnvalidated`]
    Silo,
    /// [`OccUnvalidated`]
    Occ,
}

impl UpperBound {
    /// All of them.
    pub const ALL: [UpperBound; 2] = [UpperBound::Silo, UpperBound::Occ];

    /// Its name, as the laboratory writes it.
    pub const fn name(self) -> &'static str {
        match self {
            UpperBound::Silo => SiloUnvalidated::NAME,
            UpperBound::Occ => OccUnvalidated::NAME,
        }
    }

    /// Runs a job with the scheme.
    pub fn dispatch<J: ProtocolJob>(self, job: J) -> J::Output {
        match self {
            UpperBound::Silo => job.run::<SiloUnvalidated>(),
            UpperBound::Occ => job.run::<OccUnvalidated>(),
        }
    }
}

impl std::str::FromStr for UpperBound {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|bound| bound.name().eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| format!("unknown upper bound \"{name}\""))
    }
}

impl std::fmt::Display for UpperBound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
