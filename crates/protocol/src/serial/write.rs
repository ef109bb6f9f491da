//! Writes in place, and their undoing.

#![allow(unsafe_code)] // looks at records; see `door`

use super::*;
use crate::door;
use planaria_storage::Index;
use planaria_storage::btree::Insert;

/// Puts the key of `image` in; `false` if it is there already.
fn enter(index: &Index, image: &[u64], word: u64, key: &mut KeyBuf, pin: Pinned<'_>) -> Result<bool, ()> {
    index.codec().encode_row(image, key).map_err(|_| ())?;
    Ok(matches!(index.tree().insert(pin, key.words(), word), Insert::Done(_)))
}

/// The same from where the last key was.
fn enter_near(
    index: &Index,
    image: &[u64],
    word: u64,
    key: &mut KeyBuf,
    finger: &mut Finger,
    pin: Pinned<'_>,
) -> Result<bool, ()> {
    index.codec().encode_row(image, key).map_err(|_| ())?;
    Ok(index.tree().insert_near(finger, pin, key.words(), word).is_ok())
}

/// Takes the key of `image` out.
fn leave(index: &Index, image: &[u64], word: u64, key: &mut KeyBuf, pin: Pinned<'_>) {
    if index.codec().encode_row(image, key).is_ok() {
        index.tree().remove(pin, key.words(), word);
    }
}

impl<H: Header> SerialTxn<H> {
    pub(super) fn insert<const UNDO: bool>(
        &mut self,
        table: &Table<H>,
        image: &[u64],
    ) -> Result<RowHandle, Refused> {
        let SerialTxn { participant, worker, key, rows, undo, fingers, .. } = self;
        let pin = participant.pinned();
        let record = Met::allocate(table, *worker, image.len());
        let word = record.to_word();
        for (i, index) in (0u16..).zip(table.indexes()) {
            let entered = if !UNDO && i == 0 {
                let (finger, pin) = finger(fingers, participant, table.id());
                enter_near(index, image, word, key, finger, pin)
            } else {
                enter(index, image, word, key, pin)
            };
            let refused = match entered {
                Ok(true) => continue,
                Ok(false) => Refused::Duplicate(IndexId(i)),
                Err(()) => Refused::KeyTooLong(IndexId(i)),
            };
            for index in &table.indexes()[..usize::from(i)] {
                leave(index, image, word, key, pin);
            }
            // SAFETY: own; the entries that it had are out again.
            unsafe { door::retire(table, record, pin) };
            return Err(refused);
        }
        let shown = look(record, pin);
        table.write(shown, image, *worker, pin);
        shown.header().set_present(true);
        if UNDO {
            let (old, touched) = (Image::default(), IndexSet::EMPTY);
            undo.push(Undo { kind: WriteKind::Insert, table: table.id(), record, old, touched });
        }
        rows.push(record);
        Ok(RowHandle((rows.len() - 1) as u32))
    }

    pub(super) fn update<const UNDO: bool>(
        &mut self,
        table: &Table<H>,
        row: RowHandle,
        image: &[u64],
        touched: IndexSet,
    ) -> Result<Result<(), Refused>, Conflict> {
        let record = self.rows[row.0 as usize];
        let SerialTxn { participant, worker, key, other_key, undo, images, .. } = self;
        let pin = participant.pinned();
        let shown = look(record, pin);
        if !shown.header().is_present() {
            return Ok(Ok(()));
        }
        if !UNDO && touched.is_empty() {
            table.write(shown, image, *worker, pin);
            return Ok(Ok(()));
        }
        let old = shown.read(images)?;
        let word = record.to_word();
        let mut entered = IndexSet::EMPTY;
        for id in touched.iter() {
            let index = table.index(id);
            let unchanged = index.codec().encode_row(old.words(images), other_key).is_ok()
                && index.codec().encode_row(image, key).is_ok()
                && key == other_key;
            if unchanged {
                continue;
            }
            let refused = match enter(index, image, word, key, pin) {
                Ok(true) => {
                    entered.insert(id);
                    continue;
                }
                Ok(false) => Refused::Duplicate(id),
                Err(()) => Refused::KeyTooLong(id),
            };
            entered.iter().for_each(|id| leave(table.index(id), image, word, key, pin));
            return Ok(Err(refused));
        }
        entered.iter().for_each(|id| leave(table.index(id), old.words(images), word, key, pin));
        table.write(shown, image, *worker, pin);
        if UNDO {
            undo.push(Undo { kind: WriteKind::Update, table: table.id(), record, old, touched: entered });
        } else {
            images.reset();
        }
        Ok(Ok(()))
    }

    pub(super) fn delete(&mut self, table: &Table<H>, row: RowHandle) -> bool {
        let record = self.rows[row.0 as usize];
        let SerialTxn { participant, key, undo, scratch, .. } = self;
        let pin = participant.pinned();
        let shown = look(record, pin);
        if !shown.header().is_present() {
            return false;
        }
        scratch.clear();
        shown.read_to_vec(scratch);
        shown.header().set_present(false);
        table.indexes().iter().for_each(|index| leave(index, scratch, record.to_word(), key, pin));
        let (old, touched) = (Image::default(), IndexSet::EMPTY);
        undo.push(Undo { kind: WriteKind::Delete, table: table.id(), record, old, touched });
        true
    }

    /// Undoes writes from the last one down to number `len`.
    pub(super) fn undo_to(&mut self, len: usize, tables: &TableSet<H>) {
        let SerialTxn { participant, worker, key, undo, images, scratch, .. } = self;
        let pin = participant.pinned();
        while undo.len() > len {
            let Some(Undo { kind, table, record, old, touched }) = undo.pop() else { return };
            let (table, word) = (tables.get(table), record.to_word());
            let shown = look(record, pin);
            scratch.clear();
            shown.read_to_vec(scratch);
            match kind {
                WriteKind::Insert => {
                    shown.header().set_present(false);
                    table.indexes().iter().for_each(|index| leave(index, scratch, word, key, pin));
                    // SAFETY: inserted by this transaction and taken back, once, as its undo is taken from the log.
                    unsafe { door::retire(table, record, pin) };
                }
                WriteKind::Update => {
                    let old = old.words(images);
                    for id in touched.iter() {
                        leave(table.index(id), scratch, word, key, pin);
                        let entered = enter(table.index(id), old, word, key, pin);
                        debug_assert_eq!(entered, Ok(true), "undone in reverse order");
                    }
                    table.write(shown, old, *worker, pin);
                }
                WriteKind::Delete => {
                    for index in table.indexes() {
                        let entered = enter(index, scratch, word, key, pin);
                        debug_assert_eq!(entered, Ok(true), "undone in reverse order");
                    }
                    shown.header().set_present(true);
                }
            }
        }
    }

    /// Lets go of the records that the transaction has deleted.
    pub(super) fn retire_deleted(&mut self, tables: &TableSet<H>) {
        let pin = self.participant.pinned();
        for undo in self.undo.iter().filter(|undo| undo.kind == WriteKind::Delete) {
            // SAFETY: deleted by this transaction, which took its entries out then; it is over.
            unsafe { door::retire(tables.get(undo.table), undo.record, pin) };
        }
    }
}
