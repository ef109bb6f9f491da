//! Keys, exclusion constraints and foreign keys that are checked when the transaction commits: `DEFERRABLE INITIALLY DEFERRED`, or
//! `SET CONSTRAINTS .. DEFERRED`.
//!
//! 1. Programs do not look at them at all; so a logged call is replayed without them, like every check that was
//!    passed before the commit.
//! 2. A commit asks the protocol what the transaction has written, row by row, and takes from it the *keys to look
//!    at*: of rows that are new or have another key, and, for foreign keys, of rows of parent tables that are gone or
//!    have lost their key.
//! 3. For each a program looks whether there is a child with it and no parent ([`lower::deferred_key`]), or another row in its
//!    way ([`lower::deferred_exclusion`]), in the transaction itself: so what it sees is validated with the rest.
//!
//! In a block that changes the schema the keys of a part are kept with the part. `SET CONSTRAINTS .. IMMEDIATE` does
//! 2 and 3 at once and after every statement until the end of the block.

use crate::engine::program::constraints;
use crate::engine::program::deferred::Modes;
use crate::engine::schema_version::{DeferredKey, SchemaVersion};
use crate::session::StatementResult;
use crate::session::constraints::{KeyToCheck, PendingKey};
use crate::session::core::SessionCore;
use planaria_base::{Error, Result, SqlState};
use planaria_catalog::CheckTime;
use planaria_exec::{Interrupt, Machine};
use planaria_protocol::{Write, WriteKind};
use planaria_syntax::ast::Name;

impl SessionCore {
    /// The keys that the open transaction's writes give to look at.
    pub(crate) fn keys_to_check(&self, schema: &SchemaVersion) -> Result<Vec<KeyToCheck>> {
        let mut found: Vec<KeyToCheck> = Vec::new();
        if !schema.has_deferred || self.txn.is_read_only() {
            return Ok(found);
        }
        let (modes, replica) = (&self.deferred.modes, self.settings.is_replica());
        // What is INITIALLY IMMEDIATE the programs have looked at, unless they were told not to.
        let may_wait = |k: &&DeferredKey| k.made == CheckTime::Deferred || modes.any_said();
        let keys: Vec<&DeferredKey> = schema.deferred_keys()?.iter().filter(may_wait).collect();
        if keys.is_empty() {
            return Ok(found);
        }
        self.txn.for_each(&mut |write: Write<'_>| {
            for key in &keys {
                let sides = key.parent_side.iter().map(|side| (side, true)).chain([(&key.child_side, false)]);
                for (side, referenced) in sides {
                    let disabled =
                        replica && key.parent_side.is_some() || key.disabled[usize::from(referenced)];
                    if side.table != write.table || disabled {
                        continue;
                    }
                    let key_of = |row: &[u64]| side.key(schema.shape(side.table), row);
                    let before = || if write.kind == WriteKind::Insert { None } else { key_of(write.before) };
                    let after = || if write.kind == WriteKind::Delete { None } else { key_of(write.image) };
                    let (old, new) = (before(), after());
                    let values = match (old == new, referenced) {
                        (true, _) => None,
                        (false, true) => old,
                        (false, false) => new,
                    };
                    let Some(values) = values else { continue };
                    let (child, constraint, types) = (key.child, key.name.clone(), side.types.clone());
                    let one = KeyToCheck { child, constraint, referenced, types, values };
                    if found.last() != Some(&one) {
                        found.push(one);
                    }
                }
            }
        });
        Ok(found)
    }

    /// The constraints of which the open transaction has put keys off, but for those that are immediate by now: their keys
    /// were looked at.
    pub(crate) fn pending_keys(&self) -> Result<Vec<PendingKey>> {
        let schema = &self.schema;
        let mut pending: Vec<PendingKey> = Vec::new();
        if !schema.has_deferred {
            return Ok(pending);
        }
        let mut keys = self.keys_of_parts();
        keys.extend(self.keys_to_check(schema)?);
        for key in keys {
            let same = |k: &&DeferredKey| k.child == key.child && k.name == key.constraint;
            let Some(of) = schema.deferred_keys()?.iter().find(same) else { continue };
            if self.deferred.modes.is_immediate(key.child, &key.constraint, of.made) {
                continue;
            }
            let parent = of.parent_side.as_ref().filter(|_| key.referenced).map(|side| side.table);
            let tables = [key.child].into_iter().chain(parent).collect();
            let one = PendingKey { child: key.child, constraint: key.constraint, tables };
            if !pending.contains(&one) {
                pending.push(one);
            }
        }
        Ok(pending)
    }

    /// Looks at keys: 23503, 23505 or 23P01 where one does not hold.
    fn check_keys(&mut self, schema: &SchemaVersion, keys: &[KeyToCheck]) -> Result<(), Interrupt> {
        if keys.is_empty() {
            return Ok(());
        }
        if self.lends() {
            // They are looked at now, and must hold at the end.
            self.stay_apart()?;
        }
        // What the statement has answered with stays as it is.
        let machine = std::mem::replace(&mut self.machine, Machine::new());
        let rows = std::mem::take(&mut self.rows);
        // The other machine has not settled in the session's forms, and afterwards this one may not have.
        self.forms_seen = u64::MAX;
        self.pure = false;
        self.txn.for_constraint(true);
        let outcome = keys.iter().try_for_each(|key| self.check_key(schema, key));
        self.txn.for_constraint(false);
        self.machine = machine;
        self.rows = rows;
        self.forms_seen = u64::MAX;
        outcome
    }

    fn check_key(&mut self, schema: &SchemaVersion, key: &KeyToCheck) -> Result<(), Interrupt> {
        let same = |k: &&DeferredKey| k.child == key.child && k.name == key.constraint;
        // It was dropped in the same transaction.
        let Some(deferred) = schema.deferred_keys()?.iter().find(same) else { return Ok(()) };
        let side = match &deferred.parent_side {
            Some(side) if key.referenced => side,
            _ => &deferred.child_side,
        };
        if side.types != key.types {
            let table = &schema.catalog.table_by_id(side.table).name;
            let message = format!("cannot ALTER TABLE \"{table}\" because it has pending trigger events");
            return Err(Error::new(SqlState::OBJECT_IN_USE, message).into());
        }
        self.machine.reset();
        // Where its program stands is no place in what the client has said.
        self.run_datums(schema, &side.code, &key.values, true).map_err(|interrupt| match interrupt {
            Interrupt::Error(mut error) => {
                error.fields_mut().position = None;
                Interrupt::Error(error)
            }
            other => other,
        })
    }

    /// Looks at everything that the open transaction has put off, in its parts as well: before it commits.
    pub(crate) fn check_deferred(&mut self, schema: &SchemaVersion) -> Result<(), Interrupt> {
        self.check_some(schema, |_, _| true)
    }

    /// The same for what is immediate: after each statement.
    pub(crate) fn check_immediate(&mut self, schema: &SchemaVersion) -> Result<(), Interrupt> {
        if !self.deferred.modes.any_immediate() {
            return Ok(());
        }
        let made = CheckTime::Deferred;
        self.check_some(schema, |modes, key| modes.is_immediate(key.child, &key.constraint, made))
    }

    fn check_some(
        &mut self,
        schema: &SchemaVersion,
        wanted: impl Fn(&Modes, &KeyToCheck) -> bool,
    ) -> Result<(), Interrupt> {
        if !schema.has_deferred {
            return Ok(());
        }
        let mut keys = self.keys_of_parts();
        keys.extend(self.keys_to_check(schema)?);
        keys.retain(|key| wanted(&self.deferred.modes, key));
        self.check_keys(schema, &keys)
    }

    /// SET CONSTRAINTS; `None`: ALL.
    pub(crate) fn set_constraints(
        &mut self,
        names: Option<&[Name]>,
        deferred: bool,
    ) -> Result<StatementResult> {
        if !self.is_in_block() {
            self.warn("SET CONSTRAINTS can only be used in transaction blocks");
            if let Some(names) = names {
                constraints::named(&self.newest_catalog(), names, deferred)?;
            }
            return Ok(crate::session::answer::done("SET CONSTRAINTS"));
        }
        let catalog = self.newest_catalog();
        let named = names.map(|names| constraints::named(&catalog, names, deferred)).transpose()?;
        self.deferred.say(named, !deferred);
        if !deferred && self.reading.is_none() {
            // Statements of blocks look at keys that are immediate when they end.
            self.catch_up()?;
            self.in_block(|s| {
                let schema = s.schema();
                s.fire_immediate(&schema)
            })?;
        }
        Ok(crate::session::answer::done("SET CONSTRAINTS"))
    }
}
