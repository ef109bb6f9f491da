//! SQL values in a record of the log, and elements of an array in a row: a tag byte, then what the tag says. See
//! `docs/formats/log.md`.
//!
//! Whole numbers from -8 to 183 are their tag alone, so that the ids, counts and flags that most
//! calls carry take one byte each; other whole numbers are zigzag varints. An array of whole
//! numbers without NULL has a form without tags.

pub mod key;

use crate::datetime::Interval;
use crate::limits::{ARRAY_DIMENSIONS_MAX, NESTING_MAX};
use crate::numeric::Long;
use crate::shape::{Dimension, Shape};
use crate::varint;
use crate::{Datum, Numeric};

const NULL: u8 = 0x00;
const FALSE: u8 = 0x01;
const TRUE: u8 = 0x02;
const INT: u8 = 0x03;
const FLOAT: u8 = 0x04;
const NUMERIC: u8 = 0x05;
const TEXT: u8 = 0x06;
const BYTEA: u8 = 0x07;
const UUID: u8 = 0x08;
const ARRAY: u8 = 0x09;
const INT_ARRAY: u8 = 0x0a;
const INTERVAL: u8 = 0x0b;
const JSONB: u8 = 0x0c;
/// Of an array that is no list from 1 on: its dimensions, then the elements as those of a list.
const SHAPE: u8 = 0x0d;
/// A numeric that has no room in the form above: see [`crate::numeric::long`].
const NUMERIC_LONG: u8 = 0x0e;
/// A citext.
const CITEXT: u8 = 0x0f;
/// Tags from here on are whole numbers; `SMALL_ZERO` is 0.
const SMALL: u8 = 0x40;
const SMALL_ZERO: u8 = 0x48;

/// Writes values into a worker's buffer, one after the other, without allocating anything else.
pub struct ValueWriter<'a> {
    buf: &'a mut Vec<u8>,
    /// Values still to come: what was announced, less what was written.
    missing: u64,
}

impl<'a> ValueWriter<'a> {
    /// Of so many values, behind what is there.
    pub fn new(buf: &'a mut Vec<u8>, announced: u64) -> ValueWriter<'a> {
        ValueWriter { buf, missing: announced }
    }

    /// Every announced value must have been written: the reader counts on it.
    pub fn finish(self) {
        assert_eq!(self.missing, 0, "a log record announced values that were not written");
    }

    #[inline]
    fn one(&mut self) {
        self.missing = self.missing.wrapping_sub(1);
    }

    /// NULL.
    #[inline]
    pub fn null(&mut self) {
        self.one();
        self.buf.push(NULL);
    }

    /// A boolean.
    #[inline]
    pub fn bool(&mut self, value: bool) {
        self.one();
        self.buf.push(if value { TRUE } else { FALSE });
    }

    /// A whole number, a date or a timestamp.
    #[inline]
    pub fn int(&mut self, value: i64) {
        self.one();
        if (SMALL as i64..=0xff).contains(&value.saturating_add(SMALL_ZERO as i64)) {
            self.buf.push((value + SMALL_ZERO as i64) as u8);
        } else {
            self.buf.push(INT);
            varint::put(self.buf, varint::zigzag(value));
        }
    }

    /// A double precision number, bit by bit.
    #[inline]
    pub fn float(&mut self, value: f64) {
        self.one();
        self.buf.push(FLOAT);
        self.buf.extend_from_slice(&value.to_bits().to_le_bytes());
    }

    /// A numeric with its display scale.
    pub fn numeric(&mut self, value: Numeric) {
        self.one();
        self.buf.push(NUMERIC);
        self.buf.push(value.scale());
        varint::put_wide(self.buf, varint::zigzag_wide(value.mantissa()));
    }

    /// The bytes of a numeric of any length ([`Long::encode`]).
    pub fn long(&mut self, value: &[u8]) {
        self.tagged(NUMERIC_LONG, value);
    }

    /// Text.
    #[inline]
    pub fn text(&mut self, value: &str) {
        self.tagged(TEXT, value.as_bytes());
    }

    /// A bytea.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) {
        self.tagged(BYTEA, value);
    }

    /// A jsonb, in its canonical form.
    pub fn jsonb(&mut self, value: &str) {
        self.tagged(JSONB, value.as_bytes());
    }

    /// A citext, as it was written.
    pub fn citext(&mut self, value: &str) {
        self.tagged(CITEXT, value.as_bytes());
    }

    #[inline]
    fn tagged(&mut self, tag: u8, value: &[u8]) {
        self.one();
        self.buf.push(tag);
        varint::put(self.buf, value.len() as u64);
        self.buf.extend_from_slice(value);
    }

    /// A uuid in network order.
    pub fn uuid(&mut self, value: [u8; 16]) {
        self.one();
        self.buf.push(UUID);
        self.buf.extend_from_slice(&value);
    }

    /// An interval.
    pub fn interval(&mut self, value: Interval) {
        self.one();
        self.buf.push(INTERVAL);
        for part in [value.months.into(), value.days.into(), value.micros] {
            varint::put(self.buf, varint::zigzag(part));
        }
    }

    /// Opens an array; the next `len` values are its elements.
    pub fn array(&mut self, len: usize) {
        self.one();
        self.missing = self.missing.wrapping_add(len as u64);
        self.buf.push(ARRAY);
        varint::put(self.buf, len as u64);
    }

    /// The shape of an array; its elements come next, by [`ValueWriter::array`] or [`ValueWriter::ints`].
    pub fn shape(&mut self, shape: &Shape) {
        self.buf.push(SHAPE);
        self.buf.push(shape.dimensions().len() as u8);
        for dimension in shape.dimensions() {
            varint::put(self.buf, varint::zigzag(dimension.lower.into()));
            varint::put(self.buf, dimension.len.into());
        }
    }

    /// A whole array of whole numbers, none of them NULL.
    pub fn ints(&mut self, values: impl ExactSizeIterator<Item = i64>) {
        self.one();
        self.buf.push(INT_ARRAY);
        varint::put(self.buf, values.len() as u64);
        for value in values {
            varint::put(self.buf, varint::zigzag(value));
        }
    }

    /// Any value.
    pub fn datum(&mut self, value: &Datum) {
        match value {
            Datum::Null => self.null(),
            Datum::Bool(b) => self.bool(*b),
            Datum::Int(n) => self.int(*n),
            Datum::Float(x) => self.float(*x),
            Datum::Numeric(n) => self.numeric(*n),
            Datum::Long(n) => {
                let mut bytes = Vec::new();
                n.encode(&mut bytes);
                self.long(&bytes);
            }
            Datum::Text(s) => self.text(s),
            Datum::Bytea(b) => self.bytes(b),
            Datum::Jsonb(s) => self.jsonb(s),
            Datum::Citext(s) => self.citext(s),
            Datum::Uuid(u) => self.uuid(*u),
            Datum::Interval(i) => self.interval(*i),
            Datum::Reg(oid, _) => self.int(i64::from(*oid)),
            Datum::Array(items) => self.elements(items),
            Datum::Shaped(of) => {
                self.shape(of.shape());
                self.elements(of.elements());
            }
        }
    }

    fn elements(&mut self, items: &[Datum]) {
        let int = |d: &Datum| match d {
            Datum::Int(n) => Some(*n),
            _ => None,
        };
        if !items.is_empty() && items.iter().all(|d| int(d).is_some()) {
            self.ints(items.iter().map(|d| int(d).unwrap_or_default()));
        } else {
            self.array(items.len());
            items.iter().for_each(|d| self.datum(d));
        }
    }
}

/// A value as it stands in the log: nothing is copied.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Value<'a> {
    /// NULL
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number, a date or a timestamp.
    Int(i64),
    /// A double precision number.
    Float(f64),
    /// A numeric.
    Numeric(Numeric),
    /// The bytes of a numeric of any length.
    Long(&'a [u8]),
    /// Text.
    Text(&'a str),
    /// A bytea.
    Bytea(&'a [u8]),
    /// A jsonb.
    Jsonb(&'a str),
    /// A citext.
    Citext(&'a str),
    /// A uuid in network order.
    Uuid([u8; 16]),
    /// An interval.
    Interval(Interval),
    /// An array: so many values follow, its elements.
    Array(usize),
    /// An array of whole numbers: so many follow, to be read by [`ValueReader::int`].
    Ints(usize),
    /// An array with a shape, to be read by [`ValueReader::shape`]: the value behind that is the array of its elements.
    Shape,
}

/// Reads values back in the order they were written. `None` means bytes that no writer makes.
#[derive(Clone)]
pub struct ValueReader<'a> {
    bytes: &'a [u8],
}

impl<'a> ValueReader<'a> {
    /// Of values that stand one behind the other.
    pub fn new(bytes: &'a [u8]) -> ValueReader<'a> {
        ValueReader { bytes }
    }

    /// The next value.
    pub fn datum(&mut self) -> Option<Datum> {
        self.nested(NESTING_MAX)
    }

    /// The next value, where it stands; of an array its head.
    #[inline]
    pub fn value(&mut self) -> Option<Value<'a>> {
        let (&tag, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(match tag {
            SMALL..=0xff => Value::Int(tag as i64 - SMALL_ZERO as i64),
            NULL => Value::Null,
            FALSE => Value::Bool(false),
            TRUE => Value::Bool(true),
            INT => Value::Int(self.int()?),
            FLOAT => Value::Float(f64::from_bits(u64::from_le_bytes(self.fixed()?))),
            NUMERIC => {
                let [scale] = self.fixed()?;
                let mantissa = varint::unzigzag_wide(varint::take_wide(&mut self.bytes)?);
                Value::Numeric(Numeric::from_parts(mantissa, scale)?)
            }
            NUMERIC_LONG => {
                let bytes = self.run()?;
                Long::decode(bytes)?;
                Value::Long(bytes)
            }
            TEXT => Value::Text(std::str::from_utf8(self.run()?).ok()?),
            BYTEA => Value::Bytea(self.run()?),
            JSONB => Value::Jsonb(std::str::from_utf8(self.run()?).ok()?),
            CITEXT => Value::Citext(std::str::from_utf8(self.run()?).ok()?),
            UUID => Value::Uuid(self.fixed()?),
            INTERVAL => {
                let (months, days) = (i32::try_from(self.int()?).ok()?, i32::try_from(self.int()?).ok()?);
                Value::Interval(Interval { months, days, micros: self.int()? })
            }
            ARRAY => Value::Array(self.count()?),
            INT_ARRAY => Value::Ints(self.count()?),
            SHAPE => Value::Shape,
            _ => return None,
        })
    }

    /// Passes over the next value. Whether its text is text is not looked at.
    pub fn skip(&mut self) -> Option<()> {
        let mut left = 1usize;
        while let Some(others) = left.checked_sub(1) {
            left = others;
            let (&tag, rest) = self.bytes.split_first()?;
            if matches!(tag, TEXT | BYTEA | JSONB | CITEXT) {
                self.bytes = rest;
                self.run()?;
                continue;
            }
            match self.value()? {
                Value::Array(n) => left += n,
                Value::Ints(n) => (0..n).try_for_each(|_| self.int().map(drop))?,
                Value::Shape => {
                    self.shape()?;
                    left += 1;
                }
                _ => {}
            }
        }
        Some(())
    }

    /// Whether everything was read.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next `n` values.
    pub fn datums(&mut self, n: usize) -> Option<Vec<Datum>> {
        self.list(n, NESTING_MAX)
    }

    /// What was not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    fn list(&mut self, n: usize, depth: usize) -> Option<Vec<Datum>> {
        // Every value takes a byte at least: a count beyond the bytes must not reserve memory.
        let mut items = Vec::with_capacity(n.min(self.bytes.len()));
        for _ in 0..n {
            items.push(self.nested(depth)?);
        }
        Some(items)
    }

    fn nested(&mut self, depth: usize) -> Option<Datum> {
        Some(match self.value()? {
            Value::Null => Datum::Null,
            Value::Bool(b) => Datum::Bool(b),
            Value::Int(n) => Datum::Int(n),
            Value::Float(x) => Datum::Float(x),
            Value::Numeric(n) => Datum::Numeric(n),
            Value::Long(bytes) => Datum::Long(Box::new(Long::from_bytes(bytes))),
            Value::Text(text) => Datum::Text(text.to_owned()),
            Value::Bytea(bytes) => Datum::Bytea(bytes.to_vec()),
            Value::Jsonb(text) => Datum::Jsonb(text.to_owned()),
            Value::Citext(text) => Datum::Citext(text.to_owned()),
            Value::Uuid(u) => Datum::Uuid(u),
            Value::Interval(i) => Datum::Interval(i),
            Value::Array(n) => Datum::Array(self.list(n, depth.checked_sub(1)?)?),
            Value::Ints(n) => {
                Datum::Array((0..n).map(|_| self.int().map(Datum::Int)).collect::<Option<_>>()?)
            }
            Value::Shape => {
                let shape = self.shape()?;
                match self.nested(depth.checked_sub(1)?)? {
                    Datum::Array(items) if items.len() == shape.elements() => {
                        Datum::array(Some(shape), items)
                    }
                    _ => return None,
                }
            }
        })
    }

    /// The next element of an array of whole numbers.
    #[inline]
    pub fn int(&mut self) -> Option<i64> {
        varint::take(&mut self.bytes).map(varint::unzigzag)
    }

    /// The shape of an array.
    pub fn shape(&mut self) -> Option<Shape> {
        let [count] = self.fixed()?;
        let mut dimensions = [Dimension::default(); ARRAY_DIMENSIONS_MAX];
        let dimensions = dimensions.get_mut(..usize::from(count))?;
        for dimension in &mut *dimensions {
            dimension.lower = i32::try_from(self.int()?).ok()?;
            dimension.len = u32::try_from(varint::take(&mut self.bytes)?).ok()?;
        }
        Shape::new(dimensions).ok()?.filter(|shape| !shape.is_list())
    }

    fn count(&mut self) -> Option<usize> {
        let n = varint::take(&mut self.bytes)?;
        usize::try_from(n).ok().filter(|&n| n <= self.bytes.len())
    }

    fn run(&mut self) -> Option<&'a [u8]> {
        let n = self.count()?;
        let (run, rest) = self.bytes.split_at_checked(n)?;
        self.bytes = rest;
        Some(run)
    }

    fn fixed<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_passed_over_ends_where_the_value_does() {
        let shaped = Shape::new(&[Dimension { lower: -1, len: 2 }]).expect("a shape");
        let values = [
            Datum::Null,
            Datum::Bool(true),
            Datum::Int(7),
            Datum::Int(i64::MIN),
            Datum::Float(0.5),
            Datum::Numeric(Numeric::from_parts(-123_456_789_012_345_678_901, 4).expect("a numeric")),
            Datum::Text("grüße".repeat(100)),
            Datum::Bytea(vec![0xff; 3]),
            Datum::Jsonb("{}".into()),
            Datum::Citext("A".into()),
            Datum::Uuid([9; 16]),
            Datum::Interval(Interval { months: -1, days: 400, micros: i64::MAX }),
            Datum::Array(vec![]),
            Datum::Array(vec![Datum::Int(1), Datum::Int(1 << 40)]),
            Datum::Array(vec![Datum::Text("a".into()), Datum::Null]),
            Datum::array(shaped, vec![Datum::Int(1), Datum::Text("b".into())]),
        ];
        for value in &values {
            let mut bytes = Vec::new();
            let mut writer = ValueWriter::new(&mut bytes, 2);
            writer.datum(value);
            writer.int(42);
            writer.finish();
            let mut reader = ValueReader::new(&bytes);
            assert_eq!(reader.skip(), Some(()), "{value:?}");
            assert_eq!((reader.datum(), reader.is_empty()), (Some(Datum::Int(42)), true), "{value:?}");
            let end = bytes.len() - 1;
            for cut in 0..end {
                assert_eq!(ValueReader::new(&bytes[..cut]).skip(), None, "{value:?} cut at {cut}");
            }
        }
    }
}
