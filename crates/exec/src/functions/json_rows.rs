//! Arrays of rows out of JSON: each object becomes the literal of a row, which is then read as any other is.
//!
//! What the rows are made of is described by JSON, too: an object with the attributes of a row, in their order, a list of what an
//! array is of, `1` for a value that stays JSON, `0` for any other.

use super::json;
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::json::part::{self, Kind};
use planaria_base::text_io::{write_array_element, write_record_field};
use planaria_base::{Error, Result, SqlState, stack};
use planaria_storage::arena::Bytes;

/// What stands at a key, as the texts of rows: the elements of an array, or those of an array of SQL in a string.
pub fn field_rows(heap: &mut Heap, whole: Slot, key: Bytes, made_of: Bytes) -> Result<Slot> {
    let texts = json::field_texts(heap, whole, key)?;
    if texts.is_null() {
        return Ok(texts);
    }
    let list = heap.elements(texts.array()).to_vec();
    let mut rows = Vec::with_capacity(list.len());
    for element in list {
        let Slot::Text(text) = element else {
            rows.push(Slot::Null);
            continue;
        };
        // A string may be a literal already.
        let literal = heap.str(text).trim_start().starts_with('(');
        rows.push(match literal {
            true => element,
            false => Slot::Text(heap.build(|heap, out| write_row(heap.str(text), heap.str(made_of), out))?),
        });
    }
    heap.array_like(texts.array(), &rows)
}

/// The literal of a row.
fn write_row(value: &str, made_of: &str, out: &mut Vec<u8>) -> Result<()> {
    stack::check()?;
    let wrong = |what: &str| {
        let message = format!("cannot call populate_composite on {what}");
        Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
    };
    match part::kind(value) {
        Kind::Object => {}
        Kind::Array => return wrong("an array"),
        _ => return wrong("a scalar"),
    }
    out.push(b'(');
    let mut attributes = part::parts(made_of)?;
    let mut first = true;
    while let Some(attribute) = attributes.next()? {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        if attribute.quoted_key().len() < 2 || !attribute.quoted_key().starts_with('"') {
            return Err(Error::internal("a row that is made of nothing"));
        }
        let key = attribute.key()?;
        let Some(field) = part::field(value, &key)? else { continue };
        let mut text = Vec::new();
        if write_value(field, attribute.value, &key, &mut text)? {
            write_record_field(out, &text);
        }
    }
    out.push(b')');
    Ok(())
}

/// The text of a value; whether it is one, not NULL.
fn write_value(value: &str, made_of: &str, key: &str, out: &mut Vec<u8>) -> Result<bool> {
    if part::kind(value) == Kind::Null {
        return Ok(false);
    }
    match part::kind(made_of) {
        // The literal of a row.
        Kind::Object if part::kind(value) == Kind::String => write_text(value, out)?,
        Kind::Object => write_row(value, made_of, out)?,
        Kind::Array => {
            let of = part::element(made_of, 0)?.unwrap_or("0");
            match part::kind(value) {
                Kind::Array => write_list(value, of, key, out)?,
                Kind::String => write_text(value, out)?,
                _ => return Err(json::no_array(key, &[])),
            }
        }
        _ if made_of == "1" => out.extend_from_slice(value.as_bytes()),
        _ => write_text(value, out)?,
    }
    Ok(true)
}

/// The literal of an array, of as many dimensions as it has.
fn write_list(value: &str, of: &str, key: &str, out: &mut Vec<u8>) -> Result<()> {
    stack::check()?;
    out.push(b'{');
    let mut parts = part::parts(value)?;
    let mut first = true;
    while let Some(element) = parts.next()? {
        if !std::mem::take(&mut first) {
            out.push(b',');
        }
        if part::kind(element.value) == Kind::Array && of != "1" {
            write_list(element.value, of, key, out)?;
            continue;
        }
        let mut text = Vec::new();
        match write_value(element.value, of, key, &mut text)? {
            true => write_array_element(out, &text),
            false => out.extend_from_slice(b"NULL"),
        }
    }
    out.push(b'}');
    Ok(())
}

fn write_text(value: &str, out: &mut Vec<u8>) -> Result<()> {
    if let Some(text) = part::as_text(value)? {
        out.extend_from_slice(text.as_bytes());
    }
    Ok(())
}
