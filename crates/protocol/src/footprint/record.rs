//! Looking at records with a version word.

use super::word::{ABSENT, CLAIMED, DEAD, LOCKED, VersionWord};
use super::{Footprint, Mine, Versioned};
use crate::Conflict;
use crate::door::{Met, look};
use planaria_base::sync::spin_hint;
use planaria_storage::reclaim::Pinned;
use planaria_storage::{Arena, Image, Part, RecordRef};
use std::hint::cold_path;

/// What a look at a record gave.
pub(crate) enum Seen {
    /// A row, at this version.
    Row(u64, Image),
    /// A placeholder, at this version.
    Placeholder(u64),
    /// A record that is leaving the indexes.
    Dead,
}

/// One consistent image of a record, in the arena. Of one that is `mine` nobody else changes the image.
#[inline]
pub(crate) fn read_record<H: Versioned>(
    record: Met<H>,
    pin: Pinned<'_>,
    mine: &Mine,
    arena: &mut Arena,
) -> Result<Seen, Conflict> {
    read_record_part(record, None, pin, mine, arena)
}

/// The same, of which a part is enough.
#[inline]
pub(crate) fn read_record_part<H: Versioned>(
    record: Met<H>,
    part: Option<&Part>,
    pin: Pinned<'_>,
    mine: &Mine,
    arena: &mut Arena,
) -> Result<Seen, Conflict> {
    let shown = look(record, pin);
    let word = shown.header().word();
    let mut spins = 0;
    loop {
        let before = word.load();
        if before & (LOCKED | ABSENT) == 0 {
            let mark = arena.mark();
            let image = match part {
                None => shown.read(arena)?,
                Some(part) => shown.read_part(part, arena)?,
            };
            if word.is_unchanged(before) {
                return Ok(Seen::Row(before & !CLAIMED, image));
            }
            cold_path();
            arena.truncate(mark);
        } else if before & LOCKED == 0 {
            cold_path();
            return Ok(if before & DEAD != 0 { Seen::Dead } else { Seen::Placeholder(before) });
        } else if let Some(version) = mine.version_of(record.to_word()) {
            cold_path();
            return Ok(Seen::Row(version, shown.read(arena)?));
        }
        cold_path();
        spins += 1;
        if spins > mine.patience(record.to_word()) {
            return Err(Conflict::Locked);
        }
        spin_hint();
    }
}

/// A record that the transaction has found, for as long as it stays pinned.
#[inline]
pub(crate) fn found<H: Versioned>(record: Met<H>, pin: Pinned<'_>) -> RecordRef<'_, H> {
    look(record, pin)
}

impl<H: Versioned> Footprint<H> {
    /// The header of a record that the transaction has found, or made.
    #[inline]
    pub(crate) fn header(&self, record: Met<H>) -> &H {
        look(record, self.participant.pinned()).header()
    }

    /// Its version word.
    #[inline]
    pub(crate) fn word(&self, record: Met<H>) -> &VersionWord {
        self.header(record).word()
    }
}
