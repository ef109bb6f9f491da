//! Open scans.

use crate::CursorId;
use planaria_base::IndexId;
use planaria_storage::KeyRange;
use planaria_storage::btree::Cursor;
use std::ops::{Bound, Index, IndexMut};

/// How many rows ahead of a scan records are fetched.
pub(crate) const PREFETCH_AHEAD: usize = 4;

/// A cursor, and what the scheme knows of it.
pub(crate) struct OpenCursor<M> {
    pub(crate) cursor: Cursor,
    pub(crate) index: IndexId,
    open: bool,
    pub(crate) more: M,
}

/// The cursors of a worker: closed ones are used again.
pub(crate) struct Cursors<M> {
    slots: Vec<OpenCursor<M>>,
    open: u32,
}

impl<M> Default for Cursors<M> {
    fn default() -> Self {
        Cursors { slots: Vec::new(), open: 0 }
    }
}

impl<M: Default> Cursors<M> {
    /// Opens one. What the scheme knew of it when it was last open is still there.
    #[inline]
    pub(crate) fn open(&mut self, index: IndexId, range: &KeyRange, descending: bool) -> CursorId {
        let at = self.slots.iter().position(|slot| !slot.open).unwrap_or_else(|| {
            self.slots.push(OpenCursor { cursor: Cursor::new(), index, open: false, more: M::default() });
            self.slots.len() - 1
        });
        let slot = &mut self.slots[at];
        (slot.index, slot.open) = (index, true);
        self.open += 1;
        if range.is_empty() {
            slot.cursor = Cursor::new();
        } else {
            let upper = range.upper().map_or(Bound::Unbounded, Bound::Excluded);
            slot.cursor.open(Bound::Included(range.lower()), upper, descending);
        }
        CursorId(at as u32)
    }

    /// Closes one; answers with it if it was open.
    #[inline]
    pub(crate) fn close(&mut self, cursor: CursorId) -> Option<&OpenCursor<M>> {
        let slot = &mut self.slots[cursor.0 as usize];
        self.open -= u32::from(slot.open);
        std::mem::take(&mut slot.open).then_some(slot)
    }

    #[inline]
    pub(crate) fn close_all(&mut self) {
        if self.open > 0 {
            self.slots.iter_mut().for_each(|slot| slot.open = false);
            self.open = 0;
        }
    }

    pub(crate) fn open_ones(&self) -> impl Iterator<Item = &OpenCursor<M>> {
        self.slots.iter().filter(|slot| slot.open)
    }

    #[inline]
    pub(crate) fn are_open(&self) -> bool {
        self.open > 0
    }
}

impl<M> Index<CursorId> for Cursors<M> {
    type Output = OpenCursor<M>;
    #[inline]
    fn index(&self, cursor: CursorId) -> &OpenCursor<M> {
        &self.slots[cursor.0 as usize]
    }
}

impl<M> IndexMut<CursorId> for Cursors<M> {
    #[inline]
    fn index_mut(&mut self, cursor: CursorId) -> &mut OpenCursor<M> {
        &mut self.slots[cursor.0 as usize]
    }
}
