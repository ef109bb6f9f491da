//! Slots as the values of records, and back: arguments in the log, elements of an array in a row.

use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::Result;
use planaria_base::value::{Value, ValueReader, ValueWriter};

/// Writes a value.
#[inline]
pub fn write_slot(w: &mut ValueWriter<'_>, slot: Slot, heap: &Heap) {
    match slot {
        Slot::Null => w.null(),
        Slot::Bool(b) => w.bool(b),
        Slot::Int(n) => w.int(n),
        Slot::Float(x) => w.float(x),
        Slot::Numeric(n) => w.numeric(n.unpack()),
        Slot::Long(b) => w.long(heap.long(b)),
        Slot::Text(t) => w.text(heap.str(t)),
        Slot::Bytea(b) => w.bytes(heap.bytes(b)),
        Slot::Jsonb(b) => w.jsonb(heap.str(b)),
        Slot::Citext(b) => w.citext(heap.str(b)),
        Slot::Uuid(u) => w.uuid(u),
        Slot::Interval(i) => w.interval(i),
        Slot::Array(a) => {
            if let Some(shape) = heap.shape(a) {
                w.shape(shape);
            }
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

/// Reads a value into `heap`; `None` for bytes that no writer makes.
#[inline]
pub fn read_slot(values: &mut ValueReader<'_>, heap: &mut Heap) -> Result<Option<Slot>> {
    let Some(value) = values.value() else { return Ok(None) };
    Ok(Some(match value {
        Value::Null => Slot::Null,
        Value::Bool(b) => Slot::Bool(b),
        Value::Int(n) => Slot::Int(n),
        Value::Float(x) => Slot::Float(x),
        Value::Numeric(n) => Slot::numeric(n),
        Value::Long(bytes) => heap.long_bytes(bytes)?,
        Value::Text(text) => heap.text(text)?,
        Value::Bytea(bytes) => heap.bytea(bytes)?,
        Value::Jsonb(text) => heap.jsonb(text)?,
        Value::Citext(text) => heap.citext(text)?,
        Value::Uuid(u) => Slot::Uuid(u),
        Value::Interval(i) => Slot::Interval(i),
        Value::Array(n) => {
            let mut elements = Vec::new();
            for _ in 0..n {
                match read_slot(values, heap)? {
                    Some(element) => elements.push(element),
                    None => return Ok(None),
                }
            }
            heap.array(&elements)?
        }
        Value::Ints(n) => {
            let ints = std::iter::from_fn(|| values.int().map(Slot::Int)).take(n);
            let array = heap.array_of(ints)?;
            match array.array().len == n as u32 {
                true => array,
                false => return Ok(None),
            }
        }
        Value::Shape => {
            let Some(shape) = values.shape() else { return Ok(None) };
            match read_slot(values, heap)? {
                Some(Slot::Array(a)) if a.is_list() && a.len as usize == shape.elements() => {
                    heap.shaped(a, Some(shape))?
                }
                _ => return Ok(None),
            }
        }
    }))
}
