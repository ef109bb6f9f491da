//! Records: how a call, or what a transaction changed, is written to the log.

use super::host::SequenceEffect;
use super::snapshot::Snapshot;
use planaria_base::IndexId;
use planaria_exec::heap::Heap;
use planaria_exec::slot::Slot;
use planaria_log::{EffectWriter, ValueWriter};
use planaria_protocol::{Protocol, WriteKind};
use planaria_storage::{Header, KeyBuf};

/// An argument or input.
#[inline]
pub(super) fn write_slot(w: &mut ValueWriter<'_>, slot: Slot, heap: &Heap) {
    match slot {
        Slot::Null => w.null(),
        Slot::Bool(b) => w.bool(b),
        Slot::Int(n) => w.int(n),
        Slot::Float(x) => w.float(x),
        Slot::Numeric(n) => w.numeric(n.unpack()),
        Slot::Text(t) => w.text(heap.str(t)),
        Slot::Bytea(b) => w.bytes(heap.bytes(b)),
        Slot::Uuid(u) => w.uuid(u),
        Slot::Array(a) => {
            let elements = heap.elements(a);
            if elements.iter().all(|e| matches!(e, Slot::Int(_))) {
                w.ints(elements.iter().map(|e| e.int()));
            } else {
                w.array(elements.len());
                elements.iter().for_each(|e| write_slot(w, *e, heap));
            }
        }
    }
}

/// Where the transaction left sequences. A drawn value is written as called (replay moves past it),
/// a `setval` by the value that comes next (replay sets it).
pub(super) fn write_sequences<H: Header>(
    w: &mut EffectWriter<'_>,
    effects: &[SequenceEffect],
    snapshot: &Snapshot<H>,
) {
    for effect in effects {
        match *effect {
            SequenceEffect::Drawn(id, value) => w.sequence(id, value, true),
            SequenceEffect::Set(id, value, false) => w.sequence(id, value, false),
            SequenceEffect::Set(id, value, true) => {
                let increment = snapshot.catalog.sequences[id.index()].as_ref().map_or(1, |s| s.increment);
                match value.checked_add(increment) {
                    Some(next) => w.sequence(id, next, false),
                    None => w.sequence(id, value, true),
                }
            }
        }
    }
}

/// The rows the transaction changed.
pub(super) fn write_rows<P: Protocol>(
    w: &mut EffectWriter<'_>,
    snapshot: &Snapshot<P::Header>,
    protocol: &P,
    txn: &P::Txn,
) {
    let mut key = KeyBuf::new();
    protocol.writes(txn, &mut |write| match write.kind {
        WriteKind::Insert => w.insert(write.table, write.image),
        WriteKind::Update => w.update(write.table, write.image),
        WriteKind::Delete => {
            let codec = snapshot.tables.get(write.table).index(IndexId::PRIMARY).codec();
            codec.encode_row(write.image, &mut key).expect("a row's key was encoded when it was stored");
            let bytes: Vec<u8> = key.words().iter().flat_map(|w| w.to_be_bytes()).collect();
            w.delete(write.table, &bytes[..key.len_bytes()]);
        }
    });
}
