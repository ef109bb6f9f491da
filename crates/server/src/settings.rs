//! Settings while the server runs: SQL shows and changes them, SIGHUP and `pg_reload_conf` have them read again.
//!
//! Where they are from is the binary's business: it lends the server a [`Source`]. The server takes over what comes of it at
//! once: whatever it looks up when it needs it (limits, times, who is trusted, certificates) holds from then on; the rest (where it
//! listens, how many threads it has) from the next start, and it is the source that says which is which.

use crate::config::Config;
use crate::server::Shared;
use parking_lot::Mutex;
use planaria::serving::{Host, HostChange, HostSetting, ServedDatabase, StatementStatistics};
use planaria::{Error, Options, Result};
use std::sync::{Arc, Weak};
use std::time::{SystemTime, UNIX_EPOCH};

/// What was read.
pub struct Read {
    /// How the server is to behave.
    pub config: Config,
    /// What of the database can change while it is open: see [`planaria::Database::reconfigure`].
    pub database: Options,
}

/// Where a server's settings are from.
pub trait Source: Send + Sync {
    /// All of them, as they are.
    fn list(&self) -> Vec<HostSetting>;
    /// Notes a change for when they are read again.
    fn alter(&self, change: &HostChange<'_>) -> Result<()>;
    /// Reads them again. After an error nothing has changed.
    fn read(&self) -> Result<Read>;
    /// What was read has been taken over.
    fn taken_over(&self);
}

/// Who is told of SIGHUP: nobody, until the server serves.
#[derive(Clone, Default)]
pub(crate) struct Hangups(Arc<Mutex<Weak<Shared>>>);

impl Hangups {
    pub(crate) fn hears(&self, shared: &Arc<Shared>) {
        *self.0.lock() = Arc::downgrade(shared);
    }

    pub(crate) fn reload(&self) {
        let shared = self.0.lock().upgrade();
        let Some(shared) = shared else {
            return tracing::info!("SIGHUP: settings are not reloaded while the database is being opened");
        };
        tracing::info!("SIGHUP: reloading settings");
        if let Err(error) = shared.reload() {
            let detail = error.fields().detail.as_deref();
            tracing::error!(detail, "settings were not changed: {}", error.message());
        }
    }
}

impl Host for Shared {
    fn settings(&self) -> Vec<HostSetting> {
        self.source.get().map(|source| source.list()).unwrap_or_default()
    }

    fn alter(&self, change: &HostChange<'_>) -> Result<()> {
        match self.source.get() {
            Some(source) => source.alter(change),
            None => Err(Error::unsupported(
                "this server has no settings that ALTER SYSTEM could change",
                "`planaria serve` has.",
            )),
        }
    }

    fn reload(&self) -> Result<()> {
        let Some(source) = self.source.get() else { return Ok(()) };
        let read = source.read()?;
        self.sessions.database().reconfigure(&read.database)?;
        self.behave(read.config);
        *self.loaded.lock() = SystemTime::now();
        source.taken_over();
        Ok(())
    }

    fn statements(&self) -> Vec<StatementStatistics> {
        self.statements.all()
    }

    fn forget_statements(&self) {
        self.statements.forget();
    }

    fn loaded(&self) -> i64 {
        micros(*self.loaded.lock())
    }
}

/// Microseconds since 2000-01-01 UTC.
fn micros(time: SystemTime) -> i64 {
    const TO_2000: i64 = 946_684_800_000_000;
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_micros() as i64) - TO_2000
}
