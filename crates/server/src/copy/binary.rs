//! PostgreSQL's binary form: a header, then for each row the number of values and each with its
//! length, then -1.

use super::Front;
use super::fields::Fields;
use crate::decode::binary_datum;
use crate::encode::{self, Format};
use crate::read::Reader;
use planaria::serving::RowRef;
use planaria::{Column, Datum, Error, Result, SqlState, Type};

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// Signature, flags, length of an extension.
pub(super) const HEADER_BYTES_MIN: usize = 19;
/// Behind the last row.
pub(super) const END: [u8; 2] = (-1i16).to_be_bytes();

#[cold]
fn bad(message: &str) -> Error {
    Error::new(SqlState::BAD_COPY_FILE_FORMAT, message)
}

/// The header, or the row in front. `begun`: the header is behind us.
pub(super) fn front(data: &[u8], begun: bool) -> Result<Front> {
    let mut r = Reader::new(data);
    if !begun {
        if data.len() < HEADER_BYTES_MIN {
            return Ok(Front::Incomplete);
        }
        if r.bytes(SIGNATURE.len())? != SIGNATURE {
            return Err(bad("COPY file signature not recognized"));
        }
        let (flags, extension) = (r.i32()?, r.i32()?);
        if flags as u32 & 0xFFFF_0000 != 0 {
            return Err(bad("unrecognized critical flags in COPY file header"));
        }
        let extension =
            usize::try_from(extension).map_err(|_| bad("invalid COPY file header (wrong length)"))?;
        return Ok(if r.rest().len() >= extension {
            Front::Line(HEADER_BYTES_MIN + extension)
        } else {
            Front::Incomplete
        });
    }
    let Ok(count) = r.i16() else { return Ok(Front::Incomplete) };
    if count == -1 {
        return Ok(Front::End(2));
    }
    for _ in 0..count {
        let Ok(len) = r.i32() else { return Ok(Front::Incomplete) };
        if len < -1 {
            return Err(bad("invalid field size"));
        }
        if r.bytes(len.max(0) as usize).is_err() {
            return Ok(Front::Incomplete);
        }
    }
    Ok(Front::Line(data.len() - r.rest().len()))
}

/// The values of a row.
pub(super) fn split(row: &[u8], types: &[Type], fields: &mut Fields) -> Result<()> {
    let mut r = Reader::new(row);
    let count = r.i16()?;
    if count as usize != types.len() {
        return Err(bad(&format!("row field count is {count}, expected {}", types.len())));
    }
    for ty in types {
        fields.value(match usize::try_from(r.i32()?) {
            Ok(len) => binary_datum(r.bytes(len)?, ty)?,
            Err(_) => Datum::Null,
        });
    }
    Ok(())
}

/// Appends the header.
pub(super) fn write_header(out: &mut Vec<u8>) {
    out.extend_from_slice(SIGNATURE);
    out.extend_from_slice(&[0; 8]);
}

/// Appends a row.
pub(super) fn write(out: &mut Vec<u8>, row: RowRef<'_>, columns: &[Column]) {
    out.extend_from_slice(&(row.len() as i16).to_be_bytes());
    for (value, column) in row.values().zip(columns) {
        encode::field(out, &value, &column.ty, Format::Binary, Default::default());
    }
}
