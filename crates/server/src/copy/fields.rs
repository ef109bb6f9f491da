//! The values of one line, in memory that is used again for the next.

use planaria::{Datum, Param, ParamRef, Params};
use std::ops::Range;

/// See the module's head.
#[derive(Default)]
pub(crate) struct Fields {
    bytes: Vec<u8>,
    /// `None`: NULL.
    ranges: Vec<Option<Range<usize>>>,
    /// Of a binary row: the values.
    values: Vec<Datum>,
    start: usize,
}

impl Fields {
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ranges.clear();
        self.values.clear();
        self.start = 0;
    }

    pub(super) fn len(&self) -> usize {
        self.ranges.len().max(self.values.len())
    }

    /// Appends to the value that is being read.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The value that is being read.
    pub(super) fn current(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Takes it back.
    pub(super) fn drop_current(&mut self) {
        self.bytes.truncate(self.start);
    }

    /// The value that is being read is over.
    pub(super) fn end(&mut self, null: bool) {
        let range = self.start..self.bytes.len();
        self.start = self.bytes.len();
        self.ranges.push((!null).then_some(range));
    }

    pub(super) fn value(&mut self, value: Datum) {
        self.values.push(value);
    }

    pub(super) fn text(&self, i: usize) -> Option<&str> {
        let range = self.ranges[i].clone()?;
        Some(std::str::from_utf8(&self.bytes[range]).unwrap_or_default())
    }

    /// Whether each value is UTF-8: escapes may have made something else of it, of which the rest stands in the next
    /// value.
    pub(super) fn are_utf8(&self) -> bool {
        self.ranges.iter().flatten().all(|range| std::str::from_utf8(&self.bytes[range.clone()]).is_ok())
    }
}

impl Params for Fields {
    fn count(&self) -> usize {
        self.len()
    }

    fn param(&self, i: usize) -> ParamRef<'_> {
        match self.values.get(i) {
            Some(value) => value.as_param(),
            None => self.text(i).map_or(ParamRef::Null, ParamRef::Text),
        }
    }
}
