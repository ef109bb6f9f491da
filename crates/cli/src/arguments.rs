//! Parsers of arguments that several commands take.

use clap::builder::RangedU64ValueParser;

/// A number of threads, turns and the like: 1 at least.
pub fn positive() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}
