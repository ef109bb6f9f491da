//! Texts in other encodings: `convert_to`, `convert_from`.

use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::{Error, Result, SqlState, watch};
use planaria_storage::arena::Bytes;

/// The encodings that there are.
#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Utf8,
    Latin1,
    /// Bytes that nobody looks at.
    Ascii,
}

/// How the names of the encodings begin that PostgreSQL has beside those.
const OTHERS: &[&str] = &[
    "abc",
    "alt",
    "big5",
    "euc",
    "gb18030",
    "gbk",
    "iso8859",
    "johab",
    "koi8",
    "latin",
    "mskanji",
    "muleinternal",
    "shiftjis",
    "sjis",
    "tcvn",
    "uhc",
    "vscii",
    "win",
];

/// By its name, of which letters and digits count. `role`: what the text is to it, for the error.
fn encoding(name: &str, role: &str) -> Result<Encoding> {
    watch::count(name.len());
    let letters: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    match letters.as_str() {
        "utf8" | "unicode" => Ok(Encoding::Utf8),
        "latin1" | "iso88591" => Ok(Encoding::Latin1),
        "sqlascii" => Ok(Encoding::Ascii),
        other if OTHERS.iter().any(|begin| other.starts_with(begin)) => {
            let hint = "UTF8, LATIN1 and SQL_ASCII are.";
            Err(Error::unsupported(format!("encoding \"{name}\" is not supported"), hint))
        }
        _ => {
            let message = format!("invalid {role} encoding name \"{name}\"");
            Err(Error::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

fn shown(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("0x{b:02x}")).collect::<Vec<_>>().join(" ")
}

/// A text as bytes of an encoding.
pub fn convert_to(heap: &mut Heap, text: Bytes, name: Bytes) -> Result<Slot> {
    if encoding(heap.str(name), "destination")? != Encoding::Latin1 {
        return Ok(Slot::Bytea(text));
    }
    let text = heap.str(text);
    watch::count(text.len());
    let byte = |c: char| {
        u8::try_from(u32::from(c)).map_err(|_| {
            let sequence = shown(c.encode_utf8(&mut [0; 4]).as_bytes());
            let message = format!(
                "character with byte sequence {sequence} in encoding \"UTF8\" has no equivalent in encoding \"LATIN1\""
            );
            Error::new(SqlState::UNTRANSLATABLE_CHARACTER, message)
        })
    };
    let bytes: Vec<u8> = text.chars().map(byte).collect::<Result<_>>()?;
    heap.bytea(&bytes)
}

/// Bytes of an encoding as a text.
pub fn convert_from(heap: &mut Heap, bytes: Bytes, name: Bytes) -> Result<Slot> {
    let encoding = encoding(heap.str(name), "source")?;
    let data = heap.bytes(bytes);
    watch::count(data.len());
    let wrong = |name: &str, sequence: &[u8]| {
        let message = format!("invalid byte sequence for encoding \"{name}\": {}", shown(sequence));
        Err(Error::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message))
    };
    if data.contains(&0) {
        return wrong(if encoding == Encoding::Latin1 { "LATIN1" } else { "UTF8" }, &[0]);
    }
    if encoding == Encoding::Latin1 {
        let text: String = data.iter().map(|b| char::from(*b)).collect();
        return heap.text(&text);
    }
    match std::str::from_utf8(data) {
        Ok(_) => Ok(Slot::Text(bytes)),
        Err(error) => {
            let rest = &data[error.valid_up_to()..];
            // As many as the first says that there are.
            let len = match rest[0] {
                0xC0..=0xDF => 2,
                0xE0..=0xEF => 3,
                0xF0..=0xF7 => 4,
                _ => 1,
            };
            wrong("UTF8", &rest[..rest.len().min(len)])
        }
    }
}
