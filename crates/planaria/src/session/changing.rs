//! What a session holds while its block changes the schema: see [`schema_block`](crate::session::schema_block).

use crate::engine::Engine;
use crate::engine::memory::Kept;
use crate::engine::schema_version::SchemaVersion;
use crate::engine::sequence::SequenceEffect;
use crate::session::constraints::KeyToCheck;
use crate::session::record;
use planaria_base::TableId;
use planaria_log::{Effect, EffectWriter};
use planaria_syntax::ast::LockMode;
use std::sync::Arc;
use std::time::Duration;

/// What a block that changes the schema is in the midst of.
pub(crate) struct SchemaBlock {
    /// The schema when the gate was closed.
    pub(crate) base: Shared,
    pub(crate) parts: Vec<InstalledChanges>,
    /// The change that the part under way began with, with what it computed, for the log.
    pub(crate) change: Option<Vec<u8>>,
    /// What its changes of the schema took.
    pub(crate) took: Duration,
    /// The gate is lent: others go on, but for what is locked.
    pub(crate) lent: bool,
    /// It is lent no more.
    pub(crate) apart: bool,
    /// What the block relies on, or changes, of what others know; locked where others go on.
    pub(crate) needs: Vec<(TableId, LockMode)>,
    /// Opens the gate at last.
    pub(crate) _alone: Alone,
}

/// A schema as sessions hold it.
pub(crate) type Shared = Arc<Arc<SchemaVersion>>;

/// The gate is the block's as long as this lives.
pub(crate) struct Alone(pub(crate) Arc<Engine>);

impl Drop for Alone {
    fn drop(&mut self) {
        self.0.gate.open();
    }
}

/// Changes of rows that are installed, with the change of the schema before them.
pub(crate) struct InstalledChanges {
    /// The schema that they were made under.
    pub(crate) schema: Shared,
    /// For the log, encoded.
    pub(crate) change: Option<Vec<u8>>,
    pub(crate) sequences: Vec<SequenceEffect>,
    /// For the log, encoded.
    pub(crate) rows: Vec<u8>,
    /// What takes the rows back, of tables that something could come back to.
    pub(crate) undo: Vec<Effect>,
    /// Keys of deferred foreign keys, to be looked at by COMMIT.
    pub(crate) keys: Vec<KeyToCheck>,
    /// The memory of both.
    pub(crate) _kept: Option<Kept>,
}

/// What an effect takes.
pub(crate) fn effect_bytes(effect: &Effect) -> usize {
    let more = match effect {
        Effect::Insert { row, .. } | Effect::Update { row, .. } => size_of_val(&row[..]),
        Effect::Delete { key, .. } => key.len(),
        // Nothing is undone by others.
        _ => 0,
    };
    size_of::<Effect>() + more
}

impl InstalledChanges {
    pub(crate) fn is_empty(&self) -> bool {
        self.change.is_none()
            && self.sequences.is_empty()
            && self.rows.is_empty()
            && self.undo.is_empty()
            && self.keys.is_empty()
    }

    pub(crate) fn write(&self, w: &mut EffectWriter<'_>) {
        if let Some(change) = &self.change {
            w.encoded(change);
        }
        record::write_sequences(w, &self.sequences);
        w.encoded(&self.rows);
    }
}
