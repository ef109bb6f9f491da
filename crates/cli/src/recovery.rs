//! How a command recovers the database it opens.

use clap::Args;
use planaria::{Options, Scheme};

/// Options of every command that opens a database.
#[derive(Args, Clone, Default)]
pub struct Recovery {
    /// Recovery scheme
    #[arg(long, value_name = "SCHEME", default_value_t)]
    recovery: Scheme,
    /// Threads that recover; one a core without
    #[arg(long, value_name = "N")]
    recovery_threads: Option<usize>,
}

impl Recovery {
    /// The options with these choices.
    pub fn apply(&self, options: Options) -> Options {
        let options = options.recovery(self.recovery);
        match self.recovery_threads {
            Some(threads) => options.recovery_threads(threads),
            None => options,
        }
    }
}
