//! Records: how a call, or what a transaction changed, is written to the log.

use super::sequence::SequenceEffect;
use super::snapshot::Snapshot;
use crate::options::LogKind;
use planaria_base::IndexId;
use planaria_exec::heap::Heap;
use planaria_exec::slot::Slot;
use planaria_log::{EffectWriter, ValueWriter};
use planaria_protocol::{Protocol, Write, WriteKind};
use planaria_storage::KeyBuf;

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

/// Places that sequences came to.
pub(super) fn write_sequences(w: &mut EffectWriter<'_>, effects: &[SequenceEffect]) {
    for SequenceEffect { sequence, place } in effects {
        w.sequence(*sequence, *place);
    }
}

/// The form in which changed rows are logged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RowForm {
    /// After-images by primary key.
    Logical,
    /// After-images with locations.
    Physical,
    /// Before- and after-images of what changed.
    Physiological,
}

impl RowForm {
    /// What a log of this kind has where it has rows.
    pub(super) fn of(kind: LogKind) -> RowForm {
        match kind {
            LogKind::Physical => RowForm::Physical,
            LogKind::Physiological => RowForm::Physiological,
            LogKind::Off | LogKind::Command | LogKind::Logical | LogKind::Adaptive => RowForm::Logical,
        }
    }
}

/// The rows the transaction changed.
pub(super) fn write_rows<P: Protocol>(
    w: &mut EffectWriter<'_>,
    form: RowForm,
    snapshot: &Snapshot<P::Header>,
    protocol: &P,
    txn: &P::Txn,
) {
    let (mut key, mut bytes) = (KeyBuf::new(), Vec::new());
    protocol.writes(txn, &mut |write| {
        let Write { table, kind, image, before, location } = write;
        if kind == WriteKind::Delete || kind == WriteKind::Update && form == RowForm::Physiological {
            let codec = snapshot.tables.get(table).index(IndexId::PRIMARY).codec();
            codec.encode_row(image, &mut key).expect("a row's key was encoded when it was stored");
            bytes.clear();
            bytes.extend(key.bytes());
        }
        match (form, kind) {
            (RowForm::Physical, WriteKind::Insert) => w.physical_insert(table, location, image),
            (RowForm::Physical, WriteKind::Update) => w.physical_update(table, location, location, image),
            (RowForm::Physical, WriteKind::Delete) => w.physical_delete(table, location, &bytes),
            (_, WriteKind::Insert) => w.insert(table, image),
            (RowForm::Logical, WriteKind::Update) => w.update(table, image),
            (RowForm::Logical, WriteKind::Delete) => w.delete(table, &bytes),
            (RowForm::Physiological, WriteKind::Update) => w.patch(table, &bytes, before, image),
            (RowForm::Physiological, WriteKind::Delete) => w.delete_row(table, &bytes, before),
        }
    });
}
