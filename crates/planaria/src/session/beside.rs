//! Who goes on beside a block that changes the schema, and what open blocks make of a change: those that have to do with
//! other tables do not notice.
//!
//! **Beside.** A block that changes the schema has the [gate](crate::engine::gate) until it ends
//! ([`schema_block`](crate::session::schema_block)). While one of its changes is carried out, and at its COMMIT, the gate
//! is closed. In between the block lends it, and has locks instead ([`table_locks`](crate::engine::table_locks)): SHARE on
//! what it has read, EXCLUSIVE on what it has written, ACCESS EXCLUSIVE on what its changes have made other tables of, and
//! SHARE on the parents of their foreign keys. So what it has read holds, and it is alone with what it changes, as if the
//! gate were closed. Each statement locks what it is about to touch first.
//!
//! It *stays apart*, with the gate closed to its end, where that cannot be had:
//!
//! 1. another open block, or a reader of a snapshot, has to do with such a table, or may have (SQL made at run time). It
//!    would have to be waited for; a change waits for statements alone;
//! 2. a part that is installed has rows in tables that others know: those would be seen before COMMIT;
//! 3. a type was changed, or a sequence that others draw from: no lock of a table keeps them from it.
//!
//! Where transactions come one after another, the gate is lent to nobody.
//!
//! **Following.** A block that finds the schema changed by others goes on under the new one if all tables that it has
//! touched are what they were: the same storage, definition, and foreign keys to them where it has written. It fails
//! otherwise (40001), as whoever read a row that changed. What it reads of tables that are others now is of a later moment
//! than what it has read so far, so that must hold.

use crate::engine::program::refusal::schema_changed;
use crate::engine::schema_version::SchemaVersion;
use crate::engine::table_locks::{Place, Touch, Touches, Wanted};
use crate::session::changing::SchemaBlock;
use crate::session::core::SessionCore;
use planaria_base::{Result, TableId};
use planaria_catalog::{Catalog, Table};
use planaria_log::Effect;
use planaria_protocol::Conflict;
use planaria_syntax::ast::LockMode;
use std::sync::Arc;

/// A table of a catalog, unless it was dropped.
pub(crate) fn table(catalog: &Catalog, id: TableId) -> Option<&Table> {
    catalog.tables.get(id.index())?.as_deref()
}

/// Whether all types are there as they were, beside new ones.
pub(crate) fn leaves_types(now: &Catalog, before: &Catalog) -> bool {
    before.types.iter().enumerate().all(|(i, ty)| now.types.get(i) == Some(ty))
}

impl SchemaVersion {
    /// Whether a table is what it was, to a transaction that has touched it in this way.
    fn leaves(&self, before: &SchemaVersion, id: TableId, mode: LockMode) -> bool {
        let same = self.shares_table(before, id) && table(&self.catalog, id) == table(&before.catalog, id);
        // What was written may violate a key that nobody has looked at.
        let keys = || self.catalog.references_to(id).eq(before.catalog.references_to(id));
        same && (mode < LockMode::RowExclusive || keys())
    }

    /// Whether tables are what they were.
    pub(crate) fn leaves_all(&self, before: &SchemaVersion, tables: &[TableId]) -> bool {
        tables.iter().all(|table| self.leaves(before, *table, LockMode::AccessShare))
    }

    /// Whether all types are there as they were, beside new ones.
    fn leaves_types(&self, before: &SchemaVersion) -> bool {
        leaves_types(&self.catalog, &before.catalog)
    }

    /// The tables of before that are others now, or gone, and those that their keys and keys of new tables refer to; with
    /// the locks that keep everybody else from noticing.
    fn changed_tables(&self, before: &SchemaVersion) -> Vec<(TableId, LockMode)> {
        let mut changed = Vec::new();
        for at in 0..self.catalog.tables.len().max(before.catalog.tables.len()) {
            let id = TableId::from(at);
            let (now, then) = (table(&self.catalog, id), table(&before.catalog, id));
            if now == then && (then.is_none() || self.shares_table(before, id)) {
                continue;
            }
            if then.is_some() {
                changed.push((id, LockMode::AccessExclusive));
            }
            let keys = now.iter().chain(&then).flat_map(|t| &t.foreign_keys);
            changed.extend(keys.map(|key| (key.parent, LockMode::Share)));
        }
        changed
    }

    /// Whether all sequences of before are drawn from as they were, but for those that number the rows of tables that
    /// are other ones now.
    fn leaves_sequences(&self, before: &SchemaVersion) -> bool {
        before.catalog.sequences.definitions().all(|sequence| {
            let hidden = || {
                sequence.owner.is_some_and(|(owner, column)| {
                    let owner = table(&before.catalog, owner);
                    owner.is_some_and(|t| t.columns.get(column.index()).is_some_and(|c| c.hidden))
                })
            };
            self.shares_sequence(before, sequence.id) || hidden()
        })
    }
}

impl SchemaBlock {
    /// The block is going to rely on a table, or to change it.
    fn need(&mut self, id: TableId, mode: LockMode) {
        let known = table(&self.base.catalog, id).is_some();
        if known && !self.needs.contains(&(id, mode)) {
            self.needs.push((id, mode));
        }
    }

    /// The same of what a program touches. While the gate is lent its locks of rows are none: it has the table then.
    fn need_touched(&mut self, touched: &[Touch], is_claimed: &dyn Fn(TableId) -> bool) {
        for touch in touched {
            let alone = touch.mode >= LockMode::RowExclusive || is_claimed(touch.table);
            self.need(touch.table, if alone { LockMode::Exclusive } else { LockMode::Share });
        }
    }

    /// Whether others would see what is installed.
    fn shows(&self) -> bool {
        let known = |schema: &SchemaVersion, effect: &Effect| {
            let table = effect.logical().map(|change| change.table());
            table.is_none_or(|table| self.base.shares_table(schema, table))
        };
        self.parts.iter().any(|part| part.undo.iter().any(|effect| known(&part.schema, effect)))
    }
}

impl SessionCore {
    /// The block has begun to change the schema: it relies on what it has touched so far.
    pub(crate) fn begin_beside(&mut self) {
        let touched = self.engine.locks.touched_in_all(self.worker);
        let Some(block) = &mut self.changing else { return };
        match touched {
            Some(touched) => {
                // Some may be foreign keys' alone.
                let claimed =
                    |table| touched.iter().any(|t| t.table == table && t.mode == LockMode::RowShare);
                block.need_touched(&touched, &claimed);
            }
            None => block.apart = true,
        }
    }

    /// A program of a block that changes the schema is about to touch tables. Errors as those of
    /// [`Self::await_claim`].
    pub(crate) fn touch_beside(&mut self, touches: &Arc<Touches>) -> Result<()> {
        // Since others go on they may have locked tables.
        while self.lends() && self.engine.locks.bars(self.worker, touches, (0, false)) {
            self.await_locks(&Wanted::Run(touches.clone()))?;
        }
        let Some(block) = &mut self.changing else { return Ok(()) };
        if block.apart {
            return Ok(());
        }
        if touches.anything {
            return self.stay_apart();
        }
        block.need_touched(&touches.tables, &|table| touches.claimed.contains(&table));
        self.lock_needed()
    }

    /// The block locks a table, as it says; 55P03 where others have locked it and it does not wait.
    pub(crate) fn lock_beside(&mut self, id: TableId, mode: LockMode, waits: bool) -> Result<()> {
        let mut touches = Touches::default();
        touches.add(id, mode);
        let touches = Arc::new(touches);
        if !waits && self.lends() && self.engine.locks.bars(self.worker, &touches, (0, false)) {
            return Err(self.lock_not_available(id));
        }
        self.touch_beside(&touches)?;
        let Some(block) = &mut self.changing else { return Ok(()) };
        block.need(id, mode);
        self.lock_needed()
    }

    /// Locks what the block needs, where others go on.
    fn lock_needed(&mut self) -> Result<()> {
        if !self.lends() {
            return Ok(());
        }
        let before = self.engine.locks.count(self.worker);
        if !self.ask_for_needed() {
            return Ok(());
        }
        if let Err(error) = self.outlast_statements() {
            self.engine.locks.release_to(self.worker, before);
            return Err(error);
        }
        if self.grant_needed() {
            return Ok(());
        }
        let apart = self.stay_apart();
        if apart.is_err() {
            self.engine.locks.release_to(self.worker, before);
        }
        apart
    }

    /// Asks for what the block needs and has not: whether there was anything.
    fn ask_for_needed(&mut self) -> bool {
        let Some(block) = &self.changing else { return false };
        let (locks, worker) = (&self.engine.locks, self.worker);
        let mut asked = false;
        for (table, mode) in &block.needs {
            asked |= locks.ask(worker, &Place::from(*table), *mode);
        }
        self.has_locks |= asked;
        asked
    }

    /// Takes what was asked for, if nobody else has to do with it.
    fn grant_needed(&self) -> bool {
        let Some(block) = &self.changing else { return false };
        let locks = &self.engine.locks;
        block.needs.iter().all(|(table, mode)| locks.grant_if_free(self.worker, &Place::from(*table), *mode))
    }

    /// Whether others go on beside the block.
    pub(crate) fn lends(&self) -> bool {
        self.changing.as_ref().is_some_and(|block| block.lent)
    }

    /// Closes the gate again where it is lent. Errors as those of [`Self::await_claim`].
    pub(crate) fn take_gate_back(&mut self) -> Result<()> {
        if !self.lends() {
            return Ok(());
        }
        self.at_gate(&mut |gate, patience| gate.close_again(patience))?;
        if let Some(block) = &mut self.changing {
            block.lent = false;
        }
        Ok(())
    }

    /// The same for a change, when nobody else has locked tables.
    pub(crate) fn take_gate_back_on_unlocked(&mut self) -> Result<()> {
        while self.lends() {
            self.take_gate_back()?;
            if !self.engine.locks.are_held_by_others(self.worker) {
                break;
            }
            self.let_others_in();
            if !self.lends() {
                break;
            }
            self.await_locks(&Wanted::Change)?;
        }
        Ok(())
    }

    /// The gate stays closed from now on.
    pub(crate) fn stay_apart(&mut self) -> Result<()> {
        self.take_gate_back()?;
        if let Some(block) = &mut self.changing {
            block.apart = true;
        }
        Ok(())
    }

    /// Between two changes of the block, with the gate closed: lends it, if that harms nobody.
    pub(crate) fn let_others_in(&mut self) {
        let Some(block) = &mut self.changing else { return };
        if block.lent || block.apart || !self.engine.traits.concurrent || block.shows() {
            return;
        }
        if !self.schema.leaves_types(&block.base) || !self.schema.leaves_sequences(&block.base) {
            return;
        }
        for (id, mode) in self.schema.changed_tables(&block.base) {
            block.need(id, mode);
        }
        self.ask_for_needed();
        let free = self.grant_needed();
        if let Some(block) = &mut self.changing {
            (block.lent, block.apart) = (free, !free);
        }
        if free {
            self.engine.gate.lend();
        }
    }

    /// Whether the open block goes on under the newest schema: see the module's head.
    pub(crate) fn follow(&mut self) -> bool {
        let engine = self.engine.clone();
        if !engine.traits.concurrent
            || self.changing.is_some()
            || self.reading.is_some()
            || !self.deferred.is_empty()
        {
            return false;
        }
        let (new, old) = (engine.schema.load_full(), self.schema.clone());
        let touched = engine.locks.touched_in_all(self.worker);
        // What is kept of rows as they were is kept from the first of them on, or not at all.
        let begins = touched.as_ref().is_some_and(Vec::is_empty);
        if new.has_deferred != old.has_deferred && !begins || !new.leaves_types(&old) {
            return false;
        }
        let left = touched.is_some_and(|all| all.iter().all(|t| new.leaves(&old, t.table, t.mode)));
        if left {
            self.refresh_to(Arc::new(new));
            let moment = self.txn.moment();
            if self.followed_from.as_ref().is_none_or(|(_, then)| *then != moment) {
                self.followed_from = Some((old, moment));
            }
        }
        left
    }

    /// A statement of a block that has followed is about to touch tables. A table that was made or rewritten since has no
    /// old versions, and its rows seem to have been there for ever: so the block's moment has to move on before it is read
    /// (40001 where it cannot).
    pub(crate) fn date_anew(&mut self, touches: &Touches) -> Result<()> {
        let Some((then, moment)) = &self.followed_from else { return Ok(()) };
        // It may have moved on since.
        if moment.is_none() || self.txn.moment() != *moment {
            return Ok(());
        }
        let new = |touch: &Touch| !self.schema.shares_table(then, touch.table);
        // Where nothing was committed since, the moment is now.
        let is_now = || *moment == Some(self.engine.clock.now().before());
        if !touches.anything && !touches.tables.iter().any(new) || is_now() {
            return Ok(());
        }
        let (schema, moment) = (self.schema.clone(), *moment);
        // Who only reads may stay where it is instead.
        if !self.txn.move_on(&schema.tables, Conflict::Past) || self.txn.moment() == moment {
            return Err(schema_changed());
        }
        Ok(())
    }

    /// The same, or 40001.
    pub(crate) fn follow_or_fail(&mut self) -> Result<()> {
        if !self.is_stale() || self.follow() { Ok(()) } else { Err(schema_changed()) }
    }

    /// [`Self::follow`] while a statement is about to run that was compiled for the schema of before, and runs as that: what it
    /// draws from must be the same, and what it touches ([`Self::confirm`]).
    pub(crate) fn follow_with_code(&mut self) -> bool {
        let (old, new) = (self.schema.clone(), self.engine.schema.load());
        // The numbers of a table's rows are drawn where the table is touched, which is looked at then.
        let follows = new.leaves_sequences(&old) && self.follow();
        // It may have changed once more.
        let follows = follows && new.version() == self.schema.version();
        if follows {
            self.compiled_for = Some((old, false));
        }
        follows
    }

    /// A statement is about to touch tables: 40001 if it was compiled for a schema where they were others.
    pub(crate) fn confirm(&mut self, touches: &Touches) -> Result<()> {
        let Some((old, confirmed)) = &mut self.compiled_for else { return Ok(()) };
        let mut tables = touches.tables.iter();
        *confirmed = !touches.anything && tables.all(|t| self.schema.leaves(old, t.table, t.mode));
        self.outdated = !*confirmed;
        if *confirmed { Ok(()) } else { Err(schema_changed()) }
    }
}
