//! The body of a message, read field by field.

use planaria::{Error, Result, SqlState};

/// `08P01`: the other side does not speak the protocol.
pub(crate) const PROTOCOL_VIOLATION: SqlState = SqlState::new("08P01");
/// `22021`
pub(crate) const CHARACTER_NOT_IN_REPERTOIRE: SqlState = SqlState::new("22021");

#[cold]
pub(crate) fn violation(what: impl Into<String>) -> Error {
    Error::new(PROTOCOL_VIOLATION, what)
}

/// Bytes as text; 22021 where they are not UTF-8, or zero.
pub(crate) fn text(bytes: &[u8]) -> Result<&str> {
    let invalid = |bytes: &[u8]| {
        let shown: Vec<String> = bytes.iter().map(|b| format!("0x{b:02x}")).collect();
        Error::new(
            CHARACTER_NOT_IN_REPERTOIRE,
            format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" ")),
        )
    };
    match std::str::from_utf8(bytes) {
        Ok(text) if text.contains('\0') => Err(invalid(&[0])),
        Ok(text) => Ok(text),
        Err(e) => {
            let rest = &bytes[e.valid_up_to()..];
            Err(invalid(&rest[..rest.len().min(4)]))
        }
    }
}

/// See the module's head.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(rest: &'a [u8]) -> Reader<'a> {
        Reader { rest }
    }

    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(n) {
            Some((bytes, rest)) => {
                self.rest = rest;
                Ok(bytes)
            }
            None => Err(violation("insufficient data left in message")),
        }
    }

    pub(crate) fn u8(&mut self) -> Result<u8> {
        Ok(self.bytes(1)?[0])
    }

    pub(crate) fn i16(&mut self) -> Result<i16> {
        let b = self.bytes(2)?;
        Ok(i16::from_be_bytes([b[0], b[1]]))
    }

    pub(crate) fn i32(&mut self) -> Result<i32> {
        let b = self.bytes(4)?;
        Ok(i32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }

    pub(crate) fn i64(&mut self) -> Result<i64> {
        let b = self.bytes(8)?;
        Ok(i64::from_be_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]))
    }

    /// A number of things to come; each takes at least `bytes_each`, so a wrong one is found before
    /// memory is asked for it.
    pub(crate) fn count(&mut self, bytes_each: usize) -> Result<usize> {
        // PostgreSQL reads it as unsigned: up to 65535 parameters.
        let n = self.i16()? as u16 as usize;
        if n * bytes_each > self.rest.len() {
            return Err(violation("insufficient data left in message"));
        }
        Ok(n)
    }

    /// Text up to a zero byte.
    pub(crate) fn string(&mut self) -> Result<&'a str> {
        let end =
            self.rest.iter().position(|b| *b == 0).ok_or_else(|| violation("invalid string in message"))?;
        let bytes = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        text(bytes)
    }

    pub(crate) fn end(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(violation("invalid message format")) }
    }
}
