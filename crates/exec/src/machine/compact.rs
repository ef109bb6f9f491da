//! Compaction of the heap at a safe point.

use super::Machine;
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::Result;
use planaria_storage::Bytes;

/// Heaps below this size are not compacted. What they grow to by then, and the other heap, is kept by the session.
pub(super) const COMPACT_BYTES_MIN: usize = planaria_storage::arena::KEEP_BYTES / 2;
/// Texts shorter than this are copied without looking whether they were copied before.
const SHARED_BYTES_MIN: u32 = 16;
const RECENT: usize = 256;

/// Copies slots from one heap to another. Remembers the latest texts, so that one text in many rows
/// (a constant, mostly) stays one.
pub(super) struct Relocation<'a> {
    from: &'a Heap,
    to: &'a mut Heap,
    recent: [(Bytes, Bytes); RECENT],
}

impl<'a> Relocation<'a> {
    pub(super) fn new(from: &'a Heap, to: &'a mut Heap) -> Relocation<'a> {
        Relocation { from, to, recent: [Default::default(); RECENT] }
    }

    pub(super) fn slots(&mut self, slots: &mut [Slot]) -> Result<()> {
        for slot in slots {
            *slot = match *slot {
                Slot::Text(b) => Slot::Text(self.bytes(b)?),
                Slot::Bytea(b) => Slot::Bytea(self.bytes(b)?),
                Slot::Jsonb(b) => Slot::Jsonb(self.bytes(b)?),
                Slot::Citext(b) => Slot::Citext(self.bytes(b)?),
                Slot::Long(b) if b.len > 0 => Slot::Long(self.bytes(b)?),
                Slot::Array(_) => Heap::relocate(*slot, self.from, self.to)?,
                plain => plain,
            };
        }
        Ok(())
    }

    fn bytes(&mut self, old: Bytes) -> Result<Bytes> {
        if old.len < SHARED_BYTES_MIN {
            return Ok(self.to.arena.push_from(&self.from.arena, old)?);
        }
        let at = (old.offset.wrapping_mul(0x9e37_79b1) >> 24) as usize % RECENT;
        let (known, new) = self.recent[at];
        if known == old {
            return Ok(new);
        }
        let new = self.to.arena.push_from(&self.from.arena, old)?;
        self.recent[at] = (old, new);
        Ok(new)
    }
}

/// Keeps of a heap what these slots reach; they are moved along. `other`, a buffer, is empty afterwards. After an error the
/// slots are of two heaps.
pub fn tidy<'s>(
    heap: &mut Heap,
    other: &mut Heap,
    slots: impl IntoIterator<Item = &'s mut [Slot]>,
) -> Result<()> {
    other.clear();
    let mut relocation = Relocation::new(heap, other);
    for slots in slots {
        relocation.slots(slots)?;
    }
    std::mem::swap(heap, other);
    heap.take_forms_of(other);
    other.clear();
    Ok(())
}

impl Machine {
    /// Copies everything that a register or a collection can reach into the other heap. After an
    /// error the slots are of two heaps: the run must end.
    #[cold]
    #[inline(never)]
    pub(super) fn compact(&mut self, frame: &mut [Slot]) -> Result<()> {
        let parked = self.parked.iter_mut().map(|parked| &mut parked[..]);
        let colls = self.colls[..self.colls_used].iter_mut().map(|coll| coll.slots_mut());
        tidy(&mut self.heap, &mut self.spare, [frame].into_iter().chain(parked).chain(colls))?;
        // As much again as this had to look through.
        let looked_through = self.heap.used() + self.collected_bytes();
        self.compact_at = self.heap.used() + looked_through.max(COMPACT_BYTES_MIN);
        Ok(())
    }
}
