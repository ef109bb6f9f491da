//! Array functions: one-dimensional, 1-based.

use super::order::{compare, eq, sql_eq};
use crate::heap::{Heap, check_length};
use crate::slot::{ArrayRef, Slot};
use crate::values::{read_slot, write_slot};
use memchr::memmem;
use planaria_base::text_io::count_chars;
use planaria_base::value::{ValueReader, ValueWriter};
use planaria_base::watch::Pace;
use planaria_base::{Error, Result, SqlState, limits};
use planaria_storage::arena::Bytes;

/// `array[index]`; NULL outside.
#[inline]
pub fn get(heap: &Heap, array: ArrayRef, index: i64) -> Slot {
    match usize::try_from(index.wrapping_sub(1)) {
        Ok(at) => heap.elements(array).get(at).copied().unwrap_or_default(),
        Err(_) => Slot::Null,
    }
}

/// An array as the bytes that a column of arrays holds: an array as in the log.
pub fn store(heap: &mut Heap, array: ArrayRef) -> Result<Slot> {
    let bytes = heap.build(|heap, out| {
        let mut writer = ValueWriter::new(out, 1);
        write_slot(&mut writer, Slot::Array(array), heap);
        writer.finish();
        Ok(())
    })?;
    Ok(Slot::Bytea(bytes))
}

/// An array out of those bytes; XX001 where they are none.
pub fn load(heap: &mut Heap, at: Bytes) -> Result<Slot> {
    let bytes = heap.bytes(at).to_vec();
    let mut reader = ValueReader::new(&bytes);
    match read_slot(&mut reader, heap)? {
        Some(array @ Slot::Array(_)) if reader.is_empty() => Ok(array),
        _ => Err(Error::corrupted("a column of arrays holds something else")),
    }
}

/// `array[from:to]`; the part that exists.
pub fn slice(heap: &Heap, array: ArrayRef, from: i64, to: i64) -> Slot {
    let len = i64::from(array.len);
    let (from, to) = (from.clamp(1, len + 1), to.clamp(0, len));
    if from > to {
        return heap.slice(array, 0, 0);
    }
    heap.slice(array, from as usize - 1, to as usize)
}

/// Without so many elements at the end.
pub fn trimmed(heap: &Heap, array: ArrayRef, less: i64) -> Result<Slot> {
    let len = i64::from(array.len);
    if !(0..=len).contains(&less) {
        let message = format!("number of elements to trim must be between 0 and {len}");
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
    }
    Ok(heap.slice(array, 0, (len - less) as usize))
}

/// `array_length`, `array_upper`: NULL for an empty array and other dimensions.
pub fn length(array: ArrayRef, dimension: i64) -> Slot {
    if dimension == 1 && array.len > 0 { Slot::Int(i64::from(array.len)) } else { Slot::Null }
}

/// `array_lower`.
pub fn lower(array: ArrayRef, dimension: i64) -> Slot {
    if dimension == 1 && array.len > 0 { Slot::Int(1) } else { Slot::Null }
}

pub fn append(heap: &mut Heap, array: Slot, element: Slot) -> Result<Slot> {
    match array {
        Slot::Null => heap.array(&[element]),
        array => heap.append(array.array(), element),
    }
}

pub fn prepend(heap: &mut Heap, element: Slot, array: Slot) -> Result<Slot> {
    let first = heap.array(&[element])?;
    concat(heap, first, array)
}

pub fn concat(heap: &mut Heap, a: Slot, b: Slot) -> Result<Slot> {
    match (a, b) {
        (Slot::Null, other) | (other, Slot::Null) => Ok(other),
        (a, b) => heap.append_all(a.array(), b.array()),
    }
}

/// `value = ANY(array)`: NULL if none is equal but one is NULL.
pub fn any_equal(heap: &Heap, value: Slot, array: Slot) -> Slot {
    let Slot::Array(array) = array else { return Slot::Null };
    let mut unknown = false;
    for element in heap.elements(array) {
        match sql_eq(value, *element, heap) {
            Some(true) => return Slot::Bool(true),
            Some(false) => {}
            None => unknown = true,
        }
    }
    if unknown { Slot::Null } else { Slot::Bool(false) }
}

/// `array_position`: NULL is found like any value.
pub fn position(heap: &Heap, array: Slot, value: Slot) -> Slot {
    let Slot::Array(array) = array else { return Slot::Null };
    let found = heap.elements(array).iter().position(|e| eq(*e, value, heap));
    found.map_or(Slot::Null, |at| Slot::Int(at as i64 + 1))
}

/// `array_positions`.
pub fn positions(heap: &mut Heap, array: Slot, value: Slot) -> Result<Slot> {
    let Slot::Array(array) = array else { return Ok(Slot::Null) };
    let elements = heap.elements(array).iter().enumerate();
    let found = elements.filter(|(_, e)| eq(**e, value, heap)).map(|(at, _)| Slot::Int(at as i64 + 1));
    let found: Vec<Slot> = found.collect();
    heap.array(&found)
}

/// `array_replace`: NULL is replaced like any value.
/// The array with another element at an index.
pub fn put(heap: &mut Heap, array: Slot, index: Slot, value: Slot) -> Result<Slot> {
    let Slot::Int(at) = index else { return Err(null_subscript()) };
    let whole = match array {
        Slot::Array(shared) => {
            let own = heap.elements(shared).to_vec();
            heap.array(&own)?
        }
        none => none,
    };
    heap.array_set_in_place(whole, at, value)
}

/// 22004
#[cold]
pub fn null_subscript() -> Error {
    Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "array subscript in assignment must not be null")
}

pub fn replace(heap: &mut Heap, array: Slot, from: Slot, to: Slot) -> Result<Slot> {
    let Slot::Array(found) = array else { return Ok(Slot::Null) };
    let elements = heap.elements(found).iter();
    let replaced: Vec<Slot> = elements.map(|e| if eq(*e, from, heap) { to } else { *e }).collect();
    heap.array(&replaced)
}

pub fn remove(heap: &mut Heap, array: Slot, value: Slot) -> Result<Slot> {
    let Slot::Array(found) = array else { return Ok(Slot::Null) };
    let left: Vec<Slot> = heap.elements(found).iter().filter(|e| !eq(**e, value, heap)).copied().collect();
    if left.len() == found.len as usize { Ok(array) } else { heap.array(&left) }
}

/// `a = b`: NULL elements are equal to each other.
pub fn equal(heap: &Heap, a: ArrayRef, b: ArrayRef) -> bool {
    compare(Slot::Array(a), Slot::Array(b), heap).is_eq()
}

/// `a @> b`: every element of b is in a; NULL is in nothing.
pub fn contains(heap: &Heap, a: ArrayRef, b: ArrayRef) -> Result<bool> {
    let mut pace = Pace::default();
    for wanted in heap.elements(b) {
        pace.step(size_of::<Slot>() * a.len as usize)?;
        let mut all = heap.elements(a).iter();
        if wanted.is_null() || !all.any(|e| sql_eq(*e, *wanted, heap) == Some(true)) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// `a && b`: an element of b is in a.
pub fn overlaps(heap: &Heap, a: ArrayRef, b: ArrayRef) -> Result<bool> {
    let mut pace = Pace::default();
    for wanted in heap.elements(b) {
        pace.step(size_of::<Slot>() * a.len as usize)?;
        if heap.elements(a).iter().any(|e| sql_eq(*e, *wanted, heap) == Some(true)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `array_to_string` of an array of texts; NULLs are left out.
pub fn to_string(heap: &mut Heap, array: ArrayRef, delimiter: Bytes) -> Result<Slot> {
    joined(heap, array, delimiter, None)
}

/// The same with a text for NULLs, if that is not NULL itself.
pub fn to_string_or(heap: &mut Heap, array: Slot, delimiter: Slot, null: Slot) -> Result<Slot> {
    let (Slot::Array(array), Slot::Text(delimiter)) = (array, delimiter) else { return Ok(Slot::Null) };
    let null = if let Slot::Text(at) = null { Some(at) } else { None };
    joined(heap, array, delimiter, null)
}

fn joined(heap: &mut Heap, array: ArrayRef, delimiter: Bytes, null: Option<Bytes>) -> Result<Slot> {
    let text = |e: &Slot| if e.is_null() { null } else { Some(e.bytes()) };
    let texts = heap.elements(array).iter().filter_map(text);
    let len = texts.map(|e| e.len as usize + delimiter.len as usize).sum();
    check_length(len)?;
    let built = heap.build_within(len, |heap, out| {
        let mut pace = Pace::default();
        let mut first = true;
        for element in heap.elements(array).iter().filter_map(text) {
            if !first {
                out.extend_from_slice(heap.bytes(delimiter));
            }
            first = false;
            out.extend_from_slice(heap.bytes(element));
            pace.step(element.len as usize + size_of::<Slot>())?;
        }
        Ok(())
    });
    built.map(Slot::Text)
}

/// `string_to_array`: a NULL delimiter separates the characters, an empty one nothing.
pub fn from_string(heap: &mut Heap, text: Slot, delimiter: Slot) -> Result<Slot> {
    let Slot::Text(at) = text else { return Ok(Slot::Null) };
    let bytes = heap.bytes(at);
    let part = |start: usize, end: usize| {
        Slot::Text(Bytes { offset: at.offset + start as u32, len: (end - start) as u32 })
    };
    // Each part takes more than a character: there may be far more of them than bytes of text.
    let count = match delimiter {
        Slot::Text(delimiter) if delimiter.len == 0 => 1,
        Slot::Text(delimiter) => memmem::find_iter(bytes, heap.bytes(delimiter)).count() + 1,
        _ => count_chars(bytes),
    };
    if count > limits::ARRAY_ELEMENTS_MAX {
        return Err(crate::heap::too_large());
    }
    heap.admit(count * 2 * size_of::<Slot>())?;
    let mut parts = Vec::with_capacity(count);
    match delimiter {
        _ if bytes.is_empty() => {}
        Slot::Text(delimiter) if delimiter.len == 0 => parts.push(text),
        Slot::Text(delimiter) => {
            let delimiter = heap.bytes(delimiter);
            let mut pace = Pace::default();
            let mut start = 0;
            for end in memmem::find_iter(bytes, delimiter) {
                parts.push(part(start, end));
                pace.step(end - start + size_of::<Slot>())?;
                start = end + delimiter.len();
            }
            parts.push(part(start, bytes.len()));
        }
        _ => {
            let mut start = 0;
            while start < bytes.len() {
                let end = start + super::like::char_len(bytes[start]);
                parts.push(part(start, end));
                start = end;
            }
        }
    }
    heap.array(&parts)
}
