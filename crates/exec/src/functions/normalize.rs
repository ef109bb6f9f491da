//! The normal forms of Unicode.

use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::watch::{Pace, admit};
use planaria_base::{Error, Result, SqlState};
use planaria_storage::arena::Bytes;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::{is_nfc, is_nfd, is_nfkc, is_nfkd};

/// Bytes that the longest form of a byte takes.
const GROWTH_MAX: usize = 11;

enum Form {
    Composed,
    Decomposed,
    CompatiblyComposed,
    CompatiblyDecomposed,
}

fn form(name: &str) -> Result<Form> {
    Ok(match name.to_ascii_lowercase().as_str() {
        "nfc" => Form::Composed,
        "nfd" => Form::Decomposed,
        "nfkc" => Form::CompatiblyComposed,
        "nfkd" => Form::CompatiblyDecomposed,
        _ => {
            let message = format!("invalid normalization form: {name}");
            return Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
    })
}

/// `normalize`
pub fn normalized(heap: &mut Heap, text: Bytes, name: Bytes) -> Result<Slot> {
    let form = form(heap.str(name))?;
    if heap.str(text).is_ascii() {
        return Ok(Slot::Text(text));
    }
    admit(text.len as usize * GROWTH_MAX)?;
    let built = heap.build(|heap, out| {
        let text = heap.str(text);
        let mut pace = Pace::default();
        let mut put = |c: char| {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            pace.step(1)
        };
        match form {
            Form::Composed => text.nfc().try_for_each(&mut put),
            Form::Decomposed => text.nfd().try_for_each(&mut put),
            Form::CompatiblyComposed => text.nfkc().try_for_each(&mut put),
            Form::CompatiblyDecomposed => text.nfkd().try_for_each(&mut put),
        }
    })?;
    Ok(Slot::Text(built))
}

/// `IS NORMALIZED`
pub fn is_normalized(text: &str, name: &str) -> Result<bool> {
    Ok(match form(name)? {
        Form::Composed => is_nfc(text),
        Form::Decomposed => is_nfd(text),
        Form::CompatiblyComposed => is_nfkc(text),
        Form::CompatiblyDecomposed => is_nfkd(text),
    })
}
