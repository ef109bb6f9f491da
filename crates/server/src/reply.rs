//! Messages to the client, gathered in one buffer.

use crate::encode::{self, Format};
use crate::spool::Slice;
use planaria::{Column, Error, Notice, Notification, SqlState};
use planaria_base::oid;

/// What the client hears. Messages stand whole in `bytes`, but for one that is being written; those that are too
/// many for memory wait in files.
#[derive(Default)]
pub(crate) struct Reply {
    bytes: Vec<u8>,
    /// Messages that belong in front of the byte of that place, in order.
    spools: Vec<(usize, Slice)>,
}

/// A part of a reply.
pub(crate) enum Fragment<'r> {
    Bytes(&'r [u8]),
    Spool(&'r Slice),
}

/// Where a message begins that is being written.
#[must_use]
pub(crate) struct Begun(usize);

/// Memory kept while nothing is in it.
const KEPT_BYTES_MAX: usize = 4 << 10;

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Severity {
    Error,
    /// The connection ends.
    Fatal,
}

impl Reply {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Memory that it takes.
    pub(crate) fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.spools.is_empty()
    }

    /// Bytes in it, those in files too.
    pub(crate) fn weight(&self) -> u64 {
        self.bytes.len() as u64 + self.spools.iter().map(|(_, spool)| spool.len()).sum::<u64>()
    }

    /// All of it, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = Fragment<'_>> {
        let mut from = 0;
        let spools = self.spools.iter().flat_map(move |(at, spool)| {
            let before = &self.bytes[std::mem::replace(&mut from, *at)..*at];
            [Fragment::Bytes(before), Fragment::Spool(spool)]
        });
        let last = self.spools.last().map_or(0, |(at, _)| *at);
        spools.chain(std::iter::once(Fragment::Bytes(&self.bytes[last..])))
    }

    /// Takes back what was written since the buffer had this length.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.bytes.truncate(len);
        while self.spools.pop_if(|(at, _)| *at >= len).is_some() {}
    }

    /// Takes back what was written behind this place, but not what waits in a file in front of it.
    pub(crate) fn cut(&mut self, len: usize) {
        self.bytes.truncate(len);
        while self.spools.pop_if(|(at, _)| *at > len).is_some() {}
    }

    /// Puts messages where some of what was written since begins.
    pub(crate) fn insert(&mut self, at: usize, messages: &[u8]) {
        self.bytes.splice(at..at, messages.iter().copied());
        self.spools
            .iter_mut()
            .filter(|(place, _)| *place >= at)
            .for_each(|(place, _)| *place += messages.len());
    }

    /// Says that messages in a file belong in front of the byte at `at`, where nothing of the kind is yet.
    pub(crate) fn spooled(&mut self, at: usize, spool: Option<Slice>) {
        self.spools.extend(spool.map(|spool| (at, spool)));
    }

    /// Takes what [`Reply::spooled`] said of this place, the last one.
    pub(crate) fn take_spool(&mut self, at: usize) -> Option<Slice> {
        self.spools.pop_if(|(place, _)| *place == at).map(|(_, spool)| spool)
    }

    pub(crate) fn clear(&mut self) {
        self.spools.clear();
        self.bytes.clear();
        if self.bytes.capacity() > KEPT_BYTES_MAX {
            self.bytes = Vec::new();
        }
    }

    /// Appends whole messages written elsewhere.
    pub(crate) fn append(&mut self, messages: &[u8]) {
        self.bytes.extend_from_slice(messages);
    }

    pub(crate) fn begin(&mut self, tag: u8) -> Begun {
        self.bytes.push(tag);
        let at = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        Begun(at)
    }

    pub(crate) fn end(&mut self, begun: Begun) {
        let len = (self.bytes.len() - begun.0) as i32;
        self.bytes[begun.0..begun.0 + 4].copy_from_slice(&len.to_be_bytes());
    }

    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    fn i16(&mut self, n: i16) {
        self.bytes.extend_from_slice(&n.to_be_bytes());
    }

    fn i32(&mut self, n: i32) {
        self.bytes.extend_from_slice(&n.to_be_bytes());
    }

    fn string(&mut self, text: &str) {
        // What a zero byte would end must not be ended by one.
        self.bytes.extend(text.bytes().filter(|b| *b != 0));
        self.bytes.push(0);
    }

    /// A message without a body.
    fn plain(&mut self, tag: u8) {
        let m = self.begin(tag);
        self.end(m);
    }

    pub(crate) fn authentication_ok(&mut self) {
        let m = self.begin(b'R');
        self.i32(0);
        self.end(m);
    }

    /// AuthenticationSASL: the mechanisms.
    pub(crate) fn authentication_sasl(&mut self, mechanisms: &[&str]) {
        let m = self.begin(b'R');
        self.i32(10);
        for mechanism in mechanisms {
            self.string(mechanism);
        }
        self.bytes.push(0);
        self.end(m);
    }

    /// AuthenticationSASLContinue (11) and AuthenticationSASLFinal (12).
    pub(crate) fn authentication_sasl_data(&mut self, kind: i32, data: &str) {
        let m = self.begin(b'R');
        self.i32(kind);
        self.bytes.extend_from_slice(data.as_bytes());
        self.end(m);
    }

    pub(crate) fn negotiate_protocol_version(&mut self, options: &[&str]) {
        let m = self.begin(b'v');
        self.i32(0);
        self.i32(options.len() as i32);
        for option in options {
            self.string(option);
        }
        self.end(m);
    }

    pub(crate) fn parameter_status(&mut self, name: &str, value: &str) {
        let m = self.begin(b'S');
        self.string(name);
        self.string(value);
        self.end(m);
    }

    pub(crate) fn backend_key_data(&mut self, process: i32, secret: i32) {
        let m = self.begin(b'K');
        self.i32(process);
        self.i32(secret);
        self.end(m);
    }

    /// `status`: I, T or E.
    pub(crate) fn ready_for_query(&mut self, status: u8) {
        let m = self.begin(b'Z');
        self.bytes.push(status);
        self.end(m);
    }

    pub(crate) fn parse_complete(&mut self) {
        self.plain(b'1');
    }

    pub(crate) fn bind_complete(&mut self) {
        self.plain(b'2');
    }

    pub(crate) fn close_complete(&mut self) {
        self.plain(b'3');
    }

    pub(crate) fn no_data(&mut self) {
        self.plain(b'n');
    }

    pub(crate) fn empty_query(&mut self) {
        self.plain(b'I');
    }

    pub(crate) fn portal_suspended(&mut self) {
        self.plain(b's');
    }

    pub(crate) fn command_complete(&mut self, tag: impl FnOnce(&mut Vec<u8>)) {
        let m = self.begin(b'C');
        tag(&mut self.bytes);
        self.bytes.push(0);
        self.end(m);
    }

    pub(crate) fn parameter_description(&mut self, types: impl ExactSizeIterator<Item = u32>) {
        let m = self.begin(b't');
        self.i16(types.len() as i16);
        for oid in types {
            self.i32(oid as i32);
        }
        self.end(m);
    }

    /// `formats`: as Bind has them: none, one for all, or one for each.
    pub(crate) fn row_description(&mut self, columns: &[Column], formats: &[Format]) {
        let m = self.begin(b'T');
        self.i16(columns.len() as i16);
        for (i, column) in columns.iter().enumerate() {
            self.string(&column.name);
            let (table, number) = column.origin.map_or((0, 0), |o| (o.table, o.column));
            self.i32(table as i32);
            self.i16(number);
            self.i32(oid::of(&column.ty) as i32);
            self.i16(oid::length(&column.ty));
            self.i32(oid::modifier(&column.ty));
            self.i16(encode::format_of(formats, i) as i16);
        }
        self.end(m);
    }

    /// CopyInResponse (`G`) or CopyOutResponse (`H`).
    pub(crate) fn copy_response(&mut self, tag: u8, columns: usize, binary: bool) {
        let m = self.begin(tag);
        self.bytes.push(u8::from(binary));
        self.i16(columns as i16);
        for _ in 0..columns {
            self.i16(i16::from(binary));
        }
        self.end(m);
    }

    pub(crate) fn copy_done(&mut self) {
        self.plain(b'c');
    }

    fn field(&mut self, tag: u8, text: &str) {
        self.bytes.push(tag);
        self.string(text);
    }

    /// An error. `text`: what it may point into.
    pub(crate) fn error(&mut self, severity: Severity, error: &Error, text: Option<&str>) {
        let fields = error.fields();
        let m = self.begin(b'E');
        let severity = if severity == Severity::Fatal { "FATAL" } else { "ERROR" };
        self.field(b'S', severity);
        self.field(b'V', severity);
        self.field(b'C', fields.sqlstate.as_str());
        self.field(b'M', &fields.message);
        if let Some(detail) = &fields.detail {
            self.field(b'D', detail);
        }
        if let Some(hint) = &fields.hint {
            self.field(b'H', hint);
        }
        match (&fields.query, fields.position, text) {
            (Some(query), position, _) => {
                if let Some(position) = position {
                    self.field(b'p', &characters(query, position as usize).to_string());
                }
                self.field(b'q', query);
            }
            (None, Some(position), Some(text)) => {
                self.field(b'P', &characters(text, position as usize).to_string());
            }
            _ => {}
        }
        if let Some(context) = &fields.context {
            self.field(b'W', context);
        }
        match (&fields.schema, &fields.table) {
            (Some(schema), _) => self.field(b's', schema),
            (None, Some(_)) => self.field(b's', "public"),
            (None, None) => {}
        }
        if let Some(table) = &fields.table {
            self.field(b't', table);
        }
        if let Some(column) = &fields.column {
            self.field(b'c', column);
        }
        if let Some(datatype) = &fields.datatype {
            self.field(b'd', datatype);
        }
        if let Some(constraint) = &fields.constraint {
            self.field(b'n', constraint);
        }
        self.bytes.push(0);
        self.end(m);
    }

    pub(crate) fn notice(&mut self, notice: &Notice) {
        self.notice_with(
            notice.severity,
            notice.code,
            &notice.message,
            notice.detail.as_deref(),
            notice.hint.as_deref(),
        );
    }

    /// What was said on a channel. It goes in front of the last message, if that is ReadyForQuery.
    pub(crate) fn notification(&mut self, notification: &Notification) {
        const READY: usize = 6;
        let mut own = Reply::default();
        let m = own.begin(b'A');
        own.bytes.extend_from_slice(&notification.process.to_be_bytes());
        for text in [&notification.channel, &notification.payload] {
            own.bytes.extend_from_slice(text.as_bytes());
            own.bytes.push(0);
        }
        own.end(m);
        let len = self.bytes.len();
        let is_ready = len >= READY && self.bytes[len - READY..].starts_with(&[b'Z', 0, 0, 0, 5]);
        self.insert(if is_ready { len - READY } else { len }, &own.bytes);
    }

    /// A warning of the server's own.
    pub(crate) fn warning(&mut self, code: SqlState, message: &str, hint: Option<&str>) {
        self.notice_with("WARNING", code, message, None, hint);
    }

    fn notice_with(
        &mut self,
        severity: &str,
        code: SqlState,
        message: &str,
        detail: Option<&str>,
        hint: Option<&str>,
    ) {
        let m = self.begin(b'N');
        self.field(b'S', severity);
        self.field(b'V', severity);
        self.field(b'C', code.as_str());
        self.field(b'M', message);
        if let Some(detail) = detail {
            self.field(b'D', detail);
        }
        if let Some(hint) = hint {
            self.field(b'H', hint);
        }
        self.bytes.push(0);
        self.end(m);
    }
}

/// The number, from 1, of the character that a byte offset points at.
fn characters(text: &str, position: usize) -> usize {
    let position = position.min(text.len());
    1 + text.as_bytes()[..position].iter().filter(|b| **b & 0xC0 != 0x80).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        assert_eq!(characters("SELECT x", 7), 8);
        assert_eq!(characters("SELECT 'äö', x", "SELECT 'äö', ".len()), 14);
        assert_eq!(characters("a", 99), 2);
    }

    #[test]
    fn a_message_carries_its_length() {
        let mut reply = Reply::default();
        reply.ready_for_query(b'I');
        reply.parameter_status("a", "b\0c");
        assert_eq!(reply.bytes(), b"Z\0\0\0\x05IS\0\0\0\x09a\0bc\0");
    }

    fn all(reply: &Reply) -> String {
        let shown = |part| match part {
            Fragment::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Fragment::Spool(spool) => format!("<{}>", spool.len()),
        };
        reply.parts().map(shown).collect()
    }

    #[test]
    fn what_is_spooled_stands_where_it_belongs() {
        let room = crate::spool::tests::room();
        let spool = |bytes: &[u8]| {
            let mut spool = crate::spool::Spool::new(&room);
            spool.append(bytes).expect("room");
            spool.finish()
        };
        let mut reply = Reply::default();
        reply.append(b"ab");
        reply.spooled(2, spool(b"12345"));
        reply.append(b"cd");
        reply.spooled(3, spool(b"1"));
        assert_eq!(all(&reply), "ab<5>c<1>d");
        assert_eq!((reply.len(), reply.weight()), (4, 10));
        reply.insert(2, b"xy");
        assert_eq!(all(&reply), "abxy<5>c<1>d");
        reply.truncate(5);
        assert_eq!(all(&reply), "abxy<5>c");
        reply.spooled(5, None);
        reply.truncate(4);
        assert_eq!(all(&reply), "abxy");
    }
}
