//! The list of schemes, and what follows from it.

use crate::{Hosted, Protocol};

/// The shelf: calls `$callback! { module: Type; .. }` with every scheme, or `$callback! { [more] module: Type; .. }`
/// where it is given more. A new one is a line here and a file of its own.
#[macro_export]
macro_rules! for_each_protocol {
    ($callback:ident $(, $($more:tt)*)?) => {
        $callback! {
            $([$($more)*])?
            serial: Serial;
            silo: Silo;
            occ: Occ;
            two_phase: TwoPhase;
            hybrid: Hybrid;
            healing: Healing;
            partitioned: Partitioned;
            mvocc: Mvocc;
        }
    };
}

/// Something to do with a scheme chosen at run time.
pub trait ProtocolJob {
    /// Its result.
    type Output;
    /// Does it.
    fn run<P: Hosted>(self) -> Self::Output;
}

macro_rules! shelf {
    ($($module:ident: $scheme:ident;)*) => {
        /// A scheme, chosen at run time: once per database.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ProtocolKind {
            $(#[doc = concat!("See [`crate::", stringify!($module), "`].")] $scheme,)*
        }

        impl ProtocolKind {
            /// All schemes.
            pub const ALL: &'static [ProtocolKind] = &[$(ProtocolKind::$scheme),*];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $(ProtocolKind::$scheme => <crate::$scheme as Protocol>::NAME,)* }
            }

            /// Whether transactions of different workers may overlap.
            pub const fn is_concurrent(self) -> bool {
                match self { $(ProtocolKind::$scheme => <crate::$scheme as Protocol>::CONCURRENT,)* }
            }

            /// Runs a job with the scheme: the one `match` of a database.
            pub fn dispatch<J: ProtocolJob>(self, job: J) -> J::Output {
                match self { $(ProtocolKind::$scheme => job.run::<crate::$scheme>(),)* }
            }
        }
    };
}

for_each_protocol!(shelf);

impl Default for ProtocolKind {
    /// What a database is run with that asks for none.
    fn default() -> ProtocolKind {
        ProtocolKind::Silo
    }
}

impl std::str::FromStr for ProtocolKind {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|kind| kind.name().eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("unknown protocol \"{name}\"; there are: {}", names.join(", "))
        })
    }
}

impl std::fmt::Display for ProtocolKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_to_their_schemes() {
        for kind in ProtocolKind::ALL {
            assert_eq!(kind.name().parse(), Ok(*kind));
        }
        assert!("hekaton".parse::<ProtocolKind>().unwrap_err().contains("silo"));
    }
}
