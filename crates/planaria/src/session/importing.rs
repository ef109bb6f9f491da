//! `SET TRANSACTION SNAPSHOT`: see [`exported`](crate::engine::exported).

use crate::engine::exported::Exports;
use crate::engine::snapshot::Reading;
use crate::session::core::{Block, SessionCore};
use planaria_base::{Error, Isolation, Result, SqlState};

impl SessionCore {
    /// `SET TRANSACTION SNAPSHOT`: the open block reads what another has exported. 25001 where it is too late, 0A000 for a
    /// transaction that cannot, 22023 for no name.
    pub(crate) fn set_snapshot(&mut self, name: &str) -> Result<()> {
        let in_block = !matches!(self.block, Block::None);
        if !in_block {
            self.warn("SET TRANSACTION can only be used in transaction blocks");
        }
        let used = in_block && self.reading.as_ref().map_or(self.used, |reading| reading.used);
        if used || !self.savepoints.is_empty() {
            let message = "SET TRANSACTION SNAPSHOT must be called before any query";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        let isolation = if in_block { self.isolation } else { self.settings.isolation() };
        if isolation.effective() == Isolation::ReadCommitted {
            let message =
                "a snapshot-importing transaction must have isolation level SERIALIZABLE or REPEATABLE READ";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        let (open, exporter) = self.engine.exported.find(name)?;
        if isolation == Isolation::Serializable && exporter != Isolation::Serializable {
            let message =
                "a serializable transaction cannot import a snapshot from a non-serializable transaction";
            return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        }
        if !in_block {
            return Ok(());
        }
        if self.reading.is_none() {
            return Err(match isolation {
                Isolation::Serializable => Error::new(
                    SqlState::FEATURE_NOT_SUPPORTED,
                    "a non-read-only serializable transaction cannot import a snapshot from a read-only transaction",
                ),
                _ => Error::unsupported(
                    "importing a snapshot into a transaction that may write is not supported",
                    "Make it READ ONLY first.",
                ),
            });
        }
        let (reader, exports) = (open.reader(self.worker), Exports::new(&self.engine, &open));
        self.reading = Some(Box::new(Reading { reader, open, exports, used: true }));
        self.begin_state();
        Ok(())
    }
}
