//! Snapshots that sessions share: `pg_export_snapshot()` and `SET TRANSACTION SNAPSHOT`.
//!
//! A transaction that reads a snapshot gives it a name; others read the same one, under the schema of its moment, as long as
//! it has not ended. What an importer reads stays open until the last of those who read it has ended
//! ([`OpenSnapshot`] is closed when dropped), and a name ends with who gave it.

use crate::engine::Engine;
use crate::engine::snapshot::OpenSnapshot;
use planaria_base::sync::Mutex;
use planaria_base::{Error, Isolation, Result, SqlState};
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// What has been exported in an engine, by name.
#[derive(Default)]
pub(crate) struct ExportedSnapshots {
    all: Mutex<(u64, BTreeMap<String, Named>)>,
}

#[derive(Clone)]
struct Named {
    open: Weak<OpenSnapshot>,
    isolation: Isolation,
}

impl ExportedSnapshots {
    /// A name that no other export has or had, of a session by its number.
    pub(crate) fn name(&self, session: i32) -> String {
        let (last, _) = &mut *self.all.lock();
        *last += 1;
        format!("{session:08X}-{:08X}-{}", *last >> 16, *last & 0xFFFF)
    }

    /// The snapshot of that name, with the level of who has exported it. 22023 where there is none.
    pub(crate) fn find(&self, name: &str) -> Result<(Arc<OpenSnapshot>, Isolation)> {
        let named = self.all.lock().1.get(name).cloned();
        named.and_then(|named| Some((named.open.upgrade()?, named.isolation))).ok_or_else(|| {
            let message = format!("invalid snapshot identifier: \"{name}\"");
            Error::new(SqlState::INVALID_PARAMETER_VALUE, message)
        })
    }
}

/// What a transaction that reads a snapshot has exported; the names end with it.
pub(crate) struct Exports {
    engine: Arc<Engine>,
    open: Arc<OpenSnapshot>,
    names: Vec<String>,
    /// One of them is of this very snapshot.
    named: bool,
    /// Snapshots of statements before, which have names.
    kept: Vec<Arc<OpenSnapshot>>,
}

impl Exports {
    pub(crate) fn new(engine: &Arc<Engine>, open: &Arc<OpenSnapshot>) -> Exports {
        Exports {
            engine: engine.clone(),
            open: open.clone(),
            names: Vec::new(),
            named: false,
            kept: Vec::new(),
        }
    }

    /// Gives the snapshot a name: of a session by its number.
    pub(crate) fn export(&mut self, session: i32, isolation: Isolation) -> String {
        let exported = &self.engine.exported;
        let name = exported.name(session);
        let named = Named { open: Arc::downgrade(&self.open), isolation };
        exported.all.lock().1.insert(name.clone(), named);
        self.names.push(name.clone());
        self.named = true;
        name
    }

    /// The names end.
    pub(crate) fn end(&mut self) {
        if !self.names.is_empty() {
            let (_, all) = &mut *self.engine.exported.all.lock();
            self.names.drain(..).for_each(|name| drop(all.remove(&name)));
        }
        self.kept.clear();
    }

    /// A statement of READ COMMITTED reads anew: what those before have exported stays.
    pub(crate) fn take_over(&mut self, other: &mut Exports) {
        self.kept.append(&mut other.kept);
        self.names.append(&mut other.names);
        if other.named {
            self.kept.push(other.open.clone());
        }
    }
}

impl Drop for Exports {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a program exports with.
pub(crate) struct Exporter<'a> {
    pub(crate) all: &'a ExportedSnapshots,
    /// Those of the snapshot that is read, and the level of who reads it.
    pub(crate) exports: Option<(&'a mut Exports, Isolation)>,
}

impl Exporter<'_> {
    /// The name of the snapshot that a session reads, by the number of that and its savepoints; outside of a block it ends with
    /// the statement. 25001 behind a savepoint, 0A000 in a transaction that may write.
    pub(crate) fn export(&mut self, session: i32, in_block: bool, savepoints: usize) -> Result<String> {
        if !in_block {
            return Ok(self.all.name(session));
        }
        if savepoints > 0 {
            let message = "cannot export a snapshot from a subtransaction";
            return Err(Error::new(SqlState::ACTIVE_SQL_TRANSACTION, message));
        }
        match &mut self.exports {
            Some((exports, isolation)) => Ok(exports.export(session, *isolation)),
            None => Err(Error::unsupported(
                "exporting the snapshot of a transaction that may write is not supported",
                "Begin it READ ONLY.",
            )),
        }
    }
}
