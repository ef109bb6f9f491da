//! Index keys: column values encoded so that comparing words compares rows.
//!
//! A key is a byte string, held as big-endian `u64` words padded with zero bytes, so that keys compare
//! as sequences of integers. Per column:
//!
//! | column | bytes |
//! |---|---|
//! | nullable | a marker first: `01` value follows, `02` NULL (NULLs last, nothing follows) |
//! | integers, date, timestamps, boolean, `numeric(p <= 18, s)` | column width, biased to unsigned |
//! | other numerics | 17: sign and decimal exponent, then the digits left-aligned; more of those with more than 35 digits (`key/numeric.rs`) |
//! | double precision | 8: sign-magnitude turned; -0 is 0, NaN above all, as in PostgreSQL |
//! | uuid | 16 |
//! | interval | 16: its span in microseconds ([`Interval::span`]), biased; 8 where it is kept without months |
//! | citext | the folded text, as text |
//! | jsonb | what orders it (`planaria_base::json::key`), as text |
//! | arrays, rows | what orders them (`planaria_base::value::key`), as text |
//! | text, bytea | bytes with `00` as `01 01` and `01` as `01 02`, then `00`: ordered, prefix-free |
//!
//! No encoding is a prefix of another of the same column, hence none of the same index: keys differ
//! within their common words, and a byte prefix of leading columns selects a contiguous range.
//!
//! A *unique* index holds its columns, followed by the primary key where one of them is NULL (NULLs
//! are distinct). Other indexes append the columns of the primary key that they lack.
//!
//! Search values need not be of the column's type: an integer beyond the column's width or a decimal
//! between two of its values equals nothing, and as a bound moves to the next value inside.

use crate::row::{Column, ColumnKind, Field, RowLayout, at_scale};
use crate::table::IndexSpec;
use planaria_base::datetime::Interval;
use planaria_base::limits::{INDEX_COLUMNS_MAX, INDEX_KEY_BYTES_MAX};
use planaria_base::numeric::Long;
use planaria_base::{ColumnId, Error, Numeric, Result, SqlState, Type};

mod buf;
mod decode;
mod numeric;
mod range;
pub use buf::KeyBuf;
use numeric::{numeric_len, push_long, push_numeric};
pub use range::{KeyBound, KeyRange};

/// A key over [`INDEX_KEY_BYTES_MAX`] bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyTooLong;

const VALUE: u64 = 1;
const NULL: u64 = 2;

#[derive(Clone, Copy, Debug)]
struct KeyColumn {
    id: ColumnId,
    column: Column,
    /// Bytes of an integer that is never NULL, which most keys are made of; 0 for all else.
    plain: u8,
}

impl KeyColumn {
    fn new(id: ColumnId, column: Column) -> KeyColumn {
        let plain = match column.kind() {
            _ if column.nullable() => 0,
            ColumnKind::Int2 => 2,
            ColumnKind::Int4 => 4,
            ColumnKind::Int8 => 8,
            _ => 0,
        };
        KeyColumn { id, column, plain }
    }

    /// Appends the column of a row; whether it is NULL.
    #[inline(always)]
    fn push(&self, image: &[u64], key: &mut KeyBuf) -> bool {
        if self.plain == 0 {
            return push_column(&self.column, image, key);
        }
        let width = u32::from(self.plain);
        key.push(biased(self.column.int(image), width), width);
        false
    }

    /// Appends a search value that must equal the column; `false` if it cannot.
    #[inline(always)]
    fn push_equal(&self, field: Field<'_>, key: &mut KeyBuf) -> bool {
        match field {
            Field::Int(v) if self.plain != 0 && fits(v, self.plain.into()) => {
                key.push(biased(v, self.plain.into()), self.plain.into());
                true
            }
            _ => push_equal(&self.column, field, key),
        }
    }
}

/// How the keys of one index are made.
#[derive(Clone, Debug)]
pub struct KeyCodec {
    columns: Box<[KeyColumn]>,
    /// Columns of the primary key that follow: always in a non-unique index, with a NULL in a unique one.
    suffix: Box<[KeyColumn]>,
    unique: bool,
    /// NULLs are like other values: no two rows may have them.
    equal_nulls: bool,
    bytes_max: usize,
}

impl KeyCodec {
    /// The codec of an index of a table with this layout and primary key.
    pub fn new(layout: &RowLayout, index: &IndexSpec, primary: &[ColumnId]) -> Result<KeyCodec> {
        let IndexSpec { columns, unique, equal_nulls } = index;
        let (unique, equal_nulls) = (*unique, *equal_nulls);
        if columns.is_empty() || columns.len() > INDEX_COLUMNS_MAX {
            return Err(Error::new(
                SqlState::PROGRAM_LIMIT_EXCEEDED,
                format!("an index has 1 to {INDEX_COLUMNS_MAX} columns"),
            ));
        }
        let of = |id: &ColumnId| KeyColumn::new(*id, *layout.column(*id));
        let columns: Box<[KeyColumn]> = columns.iter().map(of).collect();
        let nullable = columns.iter().any(|c| c.column.nullable());
        let suffix: Box<[KeyColumn]> = if unique && (!nullable || equal_nulls) {
            Box::new([])
        } else {
            primary.iter().filter(|id| columns.iter().all(|c| c.id != **id)).map(of).collect()
        };
        let bytes = |c: &KeyColumn| column_bytes_max(&c.column, &layout.specs()[c.id.index()].ty);
        let bytes_max = columns.iter().chain(&suffix).map(bytes).sum::<usize>().min(INDEX_KEY_BYTES_MAX);
        Ok(KeyCodec { columns, suffix, unique, equal_nulls, bytes_max })
    }

    /// Whether equal values of all columns may occur once only.
    #[inline]
    pub fn unique(&self) -> bool {
        self.unique
    }
    /// Whether no other row may have this row's key columns: the index is unique, and none is NULL or NULLs are equal.
    pub fn is_exclusive(&self, image: &[u64]) -> bool {
        self.unique && (self.equal_nulls || !self.columns.iter().any(|c| c.column.is_null(image)))
    }
    /// Bytes of the longest key it makes.
    pub fn bytes_max(&self) -> usize {
        self.bytes_max
    }
    /// Words of the longest key it makes.
    pub fn key_words_max(&self) -> usize {
        self.bytes_max.div_ceil(8)
    }
    /// Whether its keys change with this column (primary key columns aside, which never change).
    pub fn depends_on(&self, column: ColumnId) -> bool {
        self.columns.iter().any(|c| c.id == column)
    }
    /// The columns, without those appended to tell rows apart.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = ColumnId> + '_ {
        self.columns.iter().map(|c| c.id)
    }
    /// Number of columns, without those appended.
    #[inline]
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// The key of a row.
    #[inline]
    pub fn encode_row(&self, image: &[u64], key: &mut KeyBuf) -> Result<(), KeyTooLong> {
        key.clear();
        let mut null = false;
        for c in &self.columns {
            null |= c.push(image, key);
        }
        if !self.unique || null {
            for c in &self.suffix {
                c.push(image, key);
            }
        }
        if key.len_bytes() > INDEX_KEY_BYTES_MAX { Err(KeyTooLong) } else { Ok(()) }
    }

    /// The encoding of a row's first `count` columns: of a primary index, whose columns are never NULL.
    #[inline]
    pub fn encode_row_prefix(&self, image: &[u64], count: usize, key: &mut KeyBuf) {
        key.clear();
        for c in &self.columns[..count] {
            c.push(image, key);
        }
    }
    /// How many bytes of an encoded key its first `count` columns take. Never NULL, as above; of bytes
    /// that are no key of this index, anything up to their length.
    pub fn prefix_len(&self, key: &[u8], count: usize) -> usize {
        let mut at = 0;
        for c in &self.columns[..count] {
            at += match c.column.kind() {
                ColumnKind::Bool => 1,
                ColumnKind::Int2 => 2,
                ColumnKind::Int4 => 4,
                ColumnKind::Int8
                | ColumnKind::Float8
                | ColumnKind::Float4
                | ColumnKind::Decimal
                | ColumnKind::OldInterval => 8,
                ColumnKind::Uuid | ColumnKind::Interval => 16,
                ColumnKind::Numeric => numeric_len(key.get(at..).unwrap_or_default()),
                // Escaped bytes have no zero before the terminator.
                ColumnKind::Bytes => {
                    let rest = key.get(at..).unwrap_or_default();
                    rest.iter().position(|b| *b == 0).map_or(rest.len(), |end| end + 1)
                }
            };
        }
        at.min(key.len())
    }
    /// How many leading columns of two primary indexes encode equal values to equal bytes.
    pub fn common_columns(&self, other: &KeyCodec) -> usize {
        let same = |(a, b): &(&KeyColumn, &KeyColumn)| {
            let (a, b) = (&a.column, &b.column);
            a.kind() == b.kind()
                && a.scale() == b.scale()
                && a.fold() == b.fold()
                && !a.nullable()
                && !b.nullable()
        };
        self.columns.iter().zip(&other.columns).take_while(same).count()
    }

    /// The key that one row of a unique index may have: a value per column. `false` if no row can
    /// have it (a NULL, a value outside the column's domain).
    #[inline]
    pub fn encode_key(&self, fields: &[Field<'_>], key: &mut KeyBuf) -> bool {
        debug_assert_eq!(fields.len(), self.columns.len());
        self.encode_prefix_with(fields.len(), |i| fields[i], key)
    }

    /// The encoding of the first `count` columns, asking for each value once; `false` if no row can
    /// match.
    #[inline]
    pub fn encode_prefix_with<'a>(
        &self,
        count: usize,
        mut value: impl FnMut(usize) -> Field<'a>,
        key: &mut KeyBuf,
    ) -> bool {
        key.clear();
        for (i, c) in self.columns[..count].iter().enumerate() {
            if !c.push_equal(value(i), key) {
                return false;
            }
        }
        // No stored key is longer, so a longer one equals none.
        key.len_bytes() <= INDEX_KEY_BYTES_MAX
    }

    /// The encoding of all columns of a row that may be in the way of another: with NULLs, where they are equal.
    #[inline]
    pub fn encode_arbiter_with<'a>(
        &self,
        mut value: impl FnMut(usize) -> Field<'a>,
        key: &mut KeyBuf,
    ) -> bool {
        if !self.equal_nulls {
            return self.encode_prefix_with(self.columns.len(), value, key);
        }
        key.clear();
        for (i, c) in self.columns.iter().enumerate() {
            match value(i) {
                Field::Null if c.column.nullable() => key.push(NULL, 1),
                value if c.push_equal(value, key) => {}
                _ => return false,
            }
        }
        key.len_bytes() <= INDEX_KEY_BYTES_MAX
    }
}

/// Bytes that a column takes in a key at most.
fn column_bytes_max(column: &Column, ty: &Type) -> usize {
    let value = match (column.kind(), ty) {
        (ColumnKind::Bool, _) => 1,
        (ColumnKind::Int2, _) => 2,
        (ColumnKind::Int4, _) => 4,
        (ColumnKind::Int8 | ColumnKind::Decimal | ColumnKind::OldInterval, _) => 8,
        (ColumnKind::Float8 | ColumnKind::Float4, _) => 8,
        (ColumnKind::Uuid | ColumnKind::Interval, _) => 16,
        (ColumnKind::Numeric, Type::Numeric(Some((p, s)))) => numeric::bytes_max(*p, *s),
        // Up to 4 bytes a character; only characters of one byte are escaped.
        (_, Type::Varchar(Some(n)) | Type::Char(n @ 1..)) => {
            (*n as usize).saturating_mul(4).saturating_add(1)
        }
        (ColumnKind::Numeric | ColumnKind::Bytes, _) => INDEX_KEY_BYTES_MAX,
    };
    usize::from(column.nullable()) + value.min(INDEX_KEY_BYTES_MAX)
}

/// Appends the column of a row; whether it is NULL.
#[inline(never)]
fn push_column(c: &Column, image: &[u64], key: &mut KeyBuf) -> bool {
    if c.nullable() {
        if c.is_null(image) {
            key.push(NULL, 1);
            return true;
        }
        key.push(VALUE, 1);
    }
    // One way to push for all that has a width of its own: this is run for each key there is.
    let (word, width) = match c.kind() {
        ColumnKind::Int8 => (biased(c.int(image), 8), 8),
        ColumnKind::Decimal => (biased(numeric::mantissa_order(c.int(image)), 8), 8),
        ColumnKind::Int4 => (biased(c.int(image), 4), 4),
        ColumnKind::Int2 => (biased(c.int(image), 2), 2),
        ColumnKind::Bool => (c.int(image) as u64, 1),
        ColumnKind::Float8 | ColumnKind::Float4 => (float_order(c.float(image)), 8),
        // Without months its span is what it keeps.
        ColumnKind::OldInterval => (biased(c.interval(image).span() as i64, 8), 8),
        kind => {
            match kind {
                ColumnKind::Bytes if c.folds() => push_escaped(&c.fold().of(c.bytes(image)), key),
                ColumnKind::Bytes => push_escaped(c.bytes(image), key),
                ColumnKind::Numeric => numeric::push_stored(c, image, key),
                ColumnKind::Uuid => push_uuid(c.uuid(image), key),
                _ => push_span(c.interval(image), key),
            }
            return false;
        }
    };
    key.push(word, width);
    false
}

/// Appends a search value that must equal the column; `false` if it cannot.
#[inline(never)]
fn push_equal(c: &Column, field: Field<'_>, key: &mut KeyBuf) -> bool {
    if matches!(field, Field::Null) {
        return false;
    }
    if c.nullable() {
        key.push(VALUE, 1);
    }
    push_value(c, field, key)
}

/// The same without the marker of nullable columns.
#[inline]
fn push_value(c: &Column, field: Field<'_>, key: &mut KeyBuf) -> bool {
    let width = int_width(c.kind());
    let (word, width) = match (c.kind(), field) {
        (ColumnKind::Int8, Field::Int(v)) => (biased(v, 8), 8),
        (ColumnKind::Int4, Field::Int(v)) if i32::try_from(v).is_ok() => (biased(v, 4), 4),
        (ColumnKind::Int2, Field::Int(v)) if i16::try_from(v).is_ok() => (biased(v, 2), 2),
        (ColumnKind::Bool, Field::Bool(v)) => (u64::from(v), 1),
        // A real as the double that it is: it may be looked for with one.
        (ColumnKind::Float8 | ColumnKind::Float4, Field::Float(v)) => (float_order(v), 8),
        (ColumnKind::Float8 | ColumnKind::Float4, Field::Int(v)) => (float_order(v as f64), 8),
        (ColumnKind::Decimal, Field::Long(v)) if v == Long::NAN_BYTES => (biased(i64::MAX, 8), 8),
        (ColumnKind::OldInterval, Field::Interval(v)) => match i64::try_from(v.span()) {
            Ok(span) => (biased(span, 8), 8),
            Err(_) => return false,
        },
        (_, Field::Int(_) | Field::Numeric(_) | Field::Long(_)) if width != 0 => {
            let value = match field {
                Field::Int(v) => Numeric::from_i64(v),
                Field::Numeric(v) => v,
                // Perhaps it has nothing but zeros too many.
                Field::Long(v) => match Long::from_bytes(v).normalized().short() {
                    Some(v) => v,
                    None => return false,
                },
                _ => unreachable!("matched above"),
            };
            match at_scale(value, c.scale()) {
                // NaN's key, which no number has.
                Some(i64::MAX) if c.kind() == ColumnKind::Decimal => return false,
                Some(v) if fits(v, width) => (biased(v, width), width),
                _ => return false,
            }
        }
        (kind, field) => {
            match (kind, field) {
                (ColumnKind::Bytes, Field::Bytes(v)) if c.folds() => push_escaped(&c.fold().of(v), key),
                (ColumnKind::Bytes, Field::Bytes(v)) => push_escaped(v, key),
                (ColumnKind::Numeric, Field::Numeric(v)) => push_numeric(v, key),
                (ColumnKind::Numeric, Field::Long(v)) => push_long(&Long::from_bytes(v), key),
                (ColumnKind::Numeric, Field::Int(v)) => push_numeric(Numeric::from_i64(v), key),
                (ColumnKind::Uuid, Field::Uuid(v)) => push_uuid(v, key),
                (ColumnKind::Interval, Field::Interval(v)) => push_span(v, key),
                (kind, field) => unreachable!("{field:?} as a key of a column of kind {kind:?}"),
            }
            return true;
        }
    };
    key.push(word, width);
    true
}

/// Bytes of the kinds that are integers in a key; 0 for the others.
#[inline]
fn int_width(kind: ColumnKind) -> u32 {
    match kind {
        ColumnKind::Int2 => 2,
        ColumnKind::Int4 => 4,
        ColumnKind::Int8 | ColumnKind::Decimal => 8,
        _ => 0,
    }
}

#[inline]
fn fits(v: i64, width: u32) -> bool {
    let unused = 64 - 8 * width;
    (v << unused) >> unused == v
}

/// Signed to unsigned, order kept, in the low `width` bytes.
#[inline]
fn biased(v: i64, width: u32) -> u64 {
    let unused = 64 - 8 * width;
    (((v as u64) << unused) ^ (1 << 63)) >> unused
}

#[inline]
fn float_order(v: f64) -> u64 {
    if v.is_nan() {
        return u64::MAX;
    }
    // Adding zero turns -0 into +0.
    let bits = (v + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[inline]
fn push_uuid(v: [u8; 16], key: &mut KeyBuf) {
    let v = u128::from_be_bytes(v);
    key.push((v >> 64) as u64, 8);
    key.push(v as u64, 8);
}

/// What orders intervals: those that are equal in SQL have equal keys.
#[inline]
fn push_span(v: Interval, key: &mut KeyBuf) {
    let v = v.span() as u128 ^ 1 << 127;
    key.push((v >> 64) as u64, 8);
    key.push(v as u64, 8);
}

/// Appends bytes escaped and terminated.
#[inline]
fn push_escaped(bytes: &[u8], key: &mut KeyBuf) {
    let mut rest = bytes;
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        let word = u64::from_be_bytes(*chunk);
        if has_escapes(word) {
            return push_escapes(rest, key);
        }
        key.push(word, 8);
        rest = tail;
    }
    // The last bytes and their end at once.
    let bits = 8 * rest.len() as u32;
    let word = match bytes.last_chunk::<8>() {
        Some(last) => u64::from_be_bytes(*last).unbounded_shl(64 - bits),
        None => rest.iter().rev().fold(0, |word, byte| word >> 8 | u64::from(*byte) << 56),
    };
    if has_escapes(word | u64::MAX >> bits) {
        return push_escapes(rest, key);
    }
    key.push(word >> (56 - bits), rest.len() as u32 + 1);
}

/// Whether one of the bytes is below 2: it borrows into its high bit then, while that bit is clear in the byte itself.
#[inline]
fn has_escapes(word: u64) -> bool {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    word.wrapping_sub(LOW * 2) & !word & HIGH != 0
}

/// The same, byte by byte.
#[cold]
#[inline(never)]
fn push_escapes(bytes: &[u8], key: &mut KeyBuf) {
    for byte in bytes {
        match byte {
            0 => key.push(0x0101, 2),
            1 => key.push(0x0102, 2),
            other => key.push(u64::from(*other), 1),
        }
    }
    key.push(0, 1);
}

#[cfg(test)]
mod tests;
