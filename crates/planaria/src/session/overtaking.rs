//! Patience of a change of the schema with the open blocks that it would overtake.
//!
//! A change that is a transaction of its own holds nothing that others wait for, so it can wait for them. It does so for
//! blocks that have touched what it changes, as long as they are at work: one that is about to end (`BEGIN; TRUNCATE;
//! COPY; COMMIT`, as parallel restores have them) ends, and is not told to begin again. A block that does nothing for a
//! while is overtaken, so that nobody who forgot to end one keeps the schema from being changed.
//!
//! 1. With the gate closed: has anybody else touched tables? (Mostly not.) If so the change is worked out on a copy of
//!    the catalog, without any work on rows, to see whether those tables would be others.
//! 2. If they would: open the gate, wait until those blocks have ended or have been quiet for [`QUIET`], begin anew. Where
//!    others have come meanwhile, these are waited for, too, until [`PATIENCE`] has run out.

use crate::engine::schema_version::SchemaVersion;
use crate::engine::table_locks::Touch;
use crate::session::beside::{leaves_types, table};
use crate::session::core::SessionCore;
use crate::session::schema::Change;
use planaria_base::sync::{Instant, thread};
use planaria_base::{Result, WorkerId};
use planaria_catalog::Catalog;
use planaria_sql::ddl;
use planaria_syntax::ast::LockMode;
use planaria_syntax::parse;
use std::time::Duration;

/// A block that has begun no statement for so long is overtaken.
const QUIET: Duration = Duration::from_millis(500);

/// No change waits longer than that: nothing keeps newcomers from what it is to change.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often somebody who waits looks.
const LOOK: Duration = Duration::from_millis(2);

/// A session whose block would be overtaken, and how many statements it had begun.
type Busy = (WorkerId, u32);

impl SessionCore {
    /// With the gate closed: whose open blocks a change would overtake. Errors are those of who carries it out.
    pub(crate) fn overtaken(&mut self, old: &SchemaVersion, change: Change<'_>) -> Vec<Busy> {
        let Change::New(text) = change else { return Vec::new() };
        let engine = self.engine.clone();
        if !engine.traits.concurrent {
            return Vec::new();
        }
        let mut touched = engine.locks.all_touched();
        touched.retain(|(worker, ..)| *worker != self.worker);
        if touched.is_empty() {
            return Vec::new();
        }
        let Some(new) = self.worked_out(&old.catalog, text) else { return Vec::new() };
        let others = |touch: &Touch| {
            let same = table(&new, touch.table) == table(&old.catalog, touch.table);
            let keys = || new.references_to(touch.table).eq(old.catalog.references_to(touch.table));
            !same || touch.mode >= LockMode::RowExclusive && !keys()
        };
        // These concern whoever has touched anything.
        let all = new.has_deferred_keys() != old.has_deferred || !leaves_types(&new, &old.catalog);
        touched.retain(|(_, touch)| all || others(touch));
        let mut busy: Vec<Busy> =
            touched.iter().map(|(worker, ..)| (*worker, engine.locks.begun(*worker))).collect();
        busy.dedup();
        busy
    }

    /// The catalog as the change would leave it.
    fn worked_out(&mut self, old: &Catalog, text: &str) -> Option<Catalog> {
        let statement = parse::statements(text).ok()?.pop()?;
        let mut catalog = old.clone();
        let actor = self.actor_of(&statement).ok()?;
        let path = self.path(&catalog);
        catalog.set_path(&path);
        ddl::apply_as(&mut catalog, &statement, actor).ok()?;
        Some(catalog)
    }

    /// Up to when a change that begins now is patient: `lock_timeout` ends that, too.
    pub(crate) fn patient_until(&self) -> Instant {
        let longest = Instant::now() + PATIENCE;
        self.lock_deadline().map_or(longest, |deadline| deadline.min(longest))
    }

    /// With the gate open: waits until these blocks have ended (true), or none of those that have not is at work, or it is
    /// late. 57014 where the statement is cancelled.
    pub(crate) fn await_end_of(&mut self, mut busy: Vec<Busy>, until: Instant) -> Result<bool> {
        let mut quiet_since = Instant::now();
        let engine = self.engine.clone();
        while !busy.is_empty() {
            self.check_cancelled()?;
            let now = Instant::now();
            if now.duration_since(quiet_since) >= QUIET || now >= until {
                return Ok(false);
            }
            (self.sleeps_by)(&mut || thread::sleep(LOOK));
            busy.retain(|(worker, _)| engine.locks.has_touched(*worker));
            for (worker, begun) in &mut busy {
                let now = engine.locks.begun(*worker);
                if *begun != now {
                    (*begun, quiet_since) = (now, Instant::now());
                }
            }
        }
        Ok(true)
    }
}
