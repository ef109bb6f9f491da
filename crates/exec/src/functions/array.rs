//! Functions of arrays; see [`super::shaped`] for what is about their dimensions.

use super::order::{compare, eq, sql_eq};
use super::shaped;
use crate::heap::{Heap, check_length};
use crate::slot::{ArrayRef, Slot};
use crate::values::{read_slot, write_slot};
use memchr::memmem;
use planaria_base::shape::{Dimension, Shape};
use planaria_base::text_io::count_chars;
use planaria_base::value::{ValueReader, ValueWriter};
use planaria_base::watch::Pace;
use planaria_base::{Error, Result, SqlState, limits};
use planaria_storage::arena::Bytes;

/// `array[index]`; NULL outside, and where there are more dimensions.
#[inline]
pub fn get(heap: &Heap, array: ArrayRef, index: i64) -> Slot {
    if !array.is_list() {
        return shaped::at(heap, array, &[Slot::Int(index)]);
    }
    nth(heap, array, index)
}

/// The element of that number from 1, whatever the dimensions; NULL outside.
#[inline]
pub fn nth(heap: &Heap, array: ArrayRef, index: i64) -> Slot {
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

/// Without so many rows at the end.
pub fn trimmed(heap: &mut Heap, array: ArrayRef, less: i64) -> Result<Slot> {
    let shape = heap.dimensions(array);
    let len = shape.map_or(0, |shape| i64::from(shape.dimensions()[0].len));
    if !(0..=len).contains(&less) {
        let message = format!("number of elements to trim must be between 0 and {len}");
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message));
    }
    let Some(shape) = shape else { return Ok(Slot::Array(array)) };
    let left = heap.slice(array, 0, (len - less) as usize * shape.part(1)).array();
    // Like any slice it is counted from 1.
    let mut dimensions: Vec<Dimension> =
        shape.dimensions().iter().map(|d| Dimension { lower: 1, len: d.len }).collect();
    dimensions[0].len = (len - less) as u32;
    heap.shaped(left, Shape::new(&dimensions)?)
}

/// `array_length`: NULL of a dimension that is not there.
pub fn length(heap: &Heap, array: ArrayRef, dimension: i64) -> Slot {
    shaped::dimension(heap, array, dimension).map_or(Slot::Null, |d| Slot::Int(d.len.into()))
}

/// `array_lower`.
pub fn lower(heap: &Heap, array: ArrayRef, dimension: i64) -> Slot {
    shaped::dimension(heap, array, dimension).map_or(Slot::Null, |d| Slot::Int(d.lower.into()))
}

/// `array_upper`.
pub fn upper(heap: &Heap, array: ArrayRef, dimension: i64) -> Slot {
    shaped::dimension(heap, array, dimension).map_or(Slot::Null, |d| Slot::Int(d.upper()))
}

/// The shape of an array with one element more, which may have one dimension.
fn longer(heap: &Heap, array: ArrayRef) -> Result<Option<Shape>> {
    match heap.shape(array).map(|shape| shape.dimensions()) {
        None => Ok(None),
        Some(&[Dimension { lower, len }]) => Shape::new(&[Dimension { lower, len: len + 1 }]),
        Some(_) => {
            let message = "argument must be empty or one-dimensional array";
            Err(Error::new(SqlState::DATA_EXCEPTION, message))
        }
    }
}

pub fn append(heap: &mut Heap, array: Slot, element: Slot) -> Result<Slot> {
    let Slot::Array(array) = array else { return heap.array(&[element]) };
    if array.is_list() {
        return heap.append(array, element);
    }
    let shape = longer(heap, array)?;
    let list = heap.append(array, element)?.array();
    heap.shaped(list, shape)
}

/// The first element has the number that the first one had.
pub fn prepend(heap: &mut Heap, element: Slot, array: Slot) -> Result<Slot> {
    let first = heap.array(&[element])?.array();
    let Slot::Array(array) = array else { return Ok(Slot::Array(first)) };
    let shape = longer(heap, array)?;
    let list = heap.append_all(first, array)?.array();
    heap.shaped(list, shape)
}

pub fn concat(heap: &mut Heap, a: Slot, b: Slot) -> Result<Slot> {
    match (a, b) {
        (Slot::Null, other) | (other, Slot::Null) => Ok(other),
        (Slot::Array(a), Slot::Array(b)) if a.is_list() && b.is_list() => heap.append_all(a, b),
        (a, b) => shaped::concat(heap, a.array(), b.array()),
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

/// The number of the first element of a list; 0A000 of an array of more dimensions.
fn first_number(heap: &Heap, array: ArrayRef, what: &str) -> Result<i64> {
    match heap.shape(array).map(|shape| shape.dimensions()) {
        None => Ok(1),
        Some(&[Dimension { lower, .. }]) => Ok(lower.into()),
        Some(_) => {
            let message = format!("{what} multidimensional arrays is not supported");
            Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message))
        }
    }
}

const SEARCHING: &str = "searching for elements in";

/// `array_position`: NULL is found like any value.
pub fn position(heap: &Heap, array: Slot, value: Slot) -> Result<Slot> {
    let Slot::Array(array) = array else { return Ok(Slot::Null) };
    let first = first_number(heap, array, SEARCHING)?;
    let found = heap.elements(array).iter().position(|e| eq(*e, value, heap));
    Ok(found.map_or(Slot::Null, |at| Slot::Int(first + at as i64)))
}

/// The same from an element on.
pub fn position_from(heap: &Heap, array: Slot, value: Slot, from: Slot) -> Result<Slot> {
    let Slot::Array(array) = array else { return Ok(Slot::Null) };
    let first = first_number(heap, array, SEARCHING)?;
    let elements = heap.elements(array);
    // What is surely not found is not looked for from anywhere.
    if elements.is_empty() || value.is_null() && !elements.iter().any(|e| e.is_null()) {
        return Ok(Slot::Null);
    }
    let Slot::Int(from) = from else {
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "initial position must not be null"));
    };
    let before = usize::try_from(from.saturating_sub(first)).unwrap_or(0);
    let found = elements.iter().skip(before).position(|e| eq(*e, value, heap));
    Ok(found.map_or(Slot::Null, |at| Slot::Int(first + (before + at) as i64)))
}

/// `array_positions`.
pub fn positions(heap: &mut Heap, array: Slot, value: Slot) -> Result<Slot> {
    let Slot::Array(array) = array else { return Ok(Slot::Null) };
    let first = first_number(heap, array, SEARCHING)?;
    let elements = heap.elements(array).iter().enumerate();
    let found = elements.filter(|(_, e)| eq(**e, value, heap)).map(|(at, _)| Slot::Int(first + at as i64));
    let found: Vec<Slot> = found.collect();
    heap.array(&found)
}

/// The array with another element at an index.
pub fn put(heap: &mut Heap, array: Slot, index: Slot, value: Slot) -> Result<Slot> {
    let Slot::Int(at) = index else { return Err(null_subscript()) };
    let whole = own(heap, array)?;
    heap.array_set_in_place(whole, at, value)
}

/// The same with a subscript for each dimension.
pub fn put_at(heap: &mut Heap, array: Slot, value: Slot, subscripts: &[Slot]) -> Result<Slot> {
    if subscripts.iter().any(|s| s.is_null()) {
        return Err(null_subscript());
    }
    let whole = own(heap, array)?;
    let subscripts = heap.array(subscripts)?.array();
    heap.array_set_at(whole, subscripts, value)
}

fn own(heap: &mut Heap, array: Slot) -> Result<Slot> {
    match array {
        Slot::Array(shared) => heap.copy(shared).map(Slot::Array),
        none => Ok(none),
    }
}

/// 22004
#[cold]
pub fn null_subscript() -> Error {
    Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "array subscript in assignment must not be null")
}

/// `array_replace`: NULL is replaced like any value.
pub fn replace(heap: &mut Heap, array: Slot, from: Slot, to: Slot) -> Result<Slot> {
    let Slot::Array(found) = array else { return Ok(Slot::Null) };
    let elements = heap.elements(found).iter();
    let replaced: Vec<Slot> = elements.map(|e| if eq(*e, from, heap) { to } else { *e }).collect();
    heap.array_like(found, &replaced)
}

pub fn remove(heap: &mut Heap, array: Slot, value: Slot) -> Result<Slot> {
    let Slot::Array(found) = array else { return Ok(Slot::Null) };
    let first = first_number(heap, found, "removing elements from")?;
    let left: Vec<Slot> = heap.elements(found).iter().filter(|e| !eq(**e, value, heap)).copied().collect();
    if left.len() == found.len as usize {
        return Ok(array);
    }
    let shape = Shape::new(&[Dimension { lower: first as i32, len: left.len() as u32 }])?;
    let list = heap.array(&left)?.array();
    heap.shaped(list, shape)
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
