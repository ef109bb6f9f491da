//! Row images: one row as a sequence of `u64` words.
//!
//! ```text
//!  16-byte | 8-byte | 4-byte | 2-byte | 1-byte columns | null bitmap | end offsets u32.. | bytes.. | pad
//!  '------------------------- fixed part, offsets known -------------------------------'
//! ```
//!
//! 1. Fixed-width columns come in descending width, so each is naturally aligned and nothing is lost
//!    to padding: `bool` 1, `int2` 2, `int4`, `date` 4, `int8`, timestamps, `float8` 8,
//!    `numeric(p <= 18, s)` 8 (the mantissa at the column's scale), other numerics 16
//!    ([`PackedNumeric`]), `uuid` 16, `interval` 16 (microseconds 8, days 4, months 4; tables of older databases keep 8
//!    bytes of microseconds).
//! 2. The bitmap has a bit per *nullable* column: a row without nullable columns pays nothing.
//! 3. A variable-length column (text, bytea) is its end, an offset from the start of the image; it
//!    begins where the one before ends. NULL is an empty one.
//! 4. A numeric that 16 bytes have no room for ([`planaria_base::numeric::Long`]) has its bytes behind all others, in column order; its place of 16 bytes is a
//!    mark, which no packed numeric is, with where they begin and how many they are. NaN and the infinities are marks
//!    alone; NaN in 8 bytes is the least mantissa.
//! 5. Bytes are little-endian; everything unused (NULL columns, the pad of the last word) is zero.
//!    So equal rows have equal images: images are compared, hashed and logged as they are.
//!
//! A [`Column`] holds what reading one column takes (offset, width, null bit); the executor keeps them
//! in its code, and reading is a load.

use planaria_base::datetime::Interval;
use planaria_base::limits::{NUMERIC_DIGITS_WORD, NUMERIC_SCALE_MAX, ROW_BYTES_MAX};
use planaria_base::numeric::{Long, PackedNumeric};
use planaria_base::sync::atomic::{AtomicU64, Ordering};
use planaria_base::types::SystemType;
use planaria_base::{ColumnId, Error, Numeric, Result, SqlState, Type};
use std::ops::Range;

mod change;
mod fold;
mod long;
mod part;
pub use fold::Fold;
use long::{MARK_LONG, MARK_SPECIAL, NAN_MANTISSA, marked};
pub use long::{Stored, copy_range};
pub use part::Part;

/// A column as storage sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct ColumnSpec {
    /// Its type.
    pub ty: Type,
    /// Whether NULL may be stored.
    pub nullable: bool,
}

/// The value of a column, going in or coming out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Field<'a> {
    /// SQL NULL
    Null,
    /// boolean
    Bool(bool),
    /// integers, date, timestamps
    Int(i64),
    /// double precision
    Float(f64),
    /// numeric
    Numeric(Numeric),
    /// the bytes of a numeric of any length ([`planaria_base::numeric::Long::encode`])
    Long(&'a [u8]),
    /// text (char without trailing blanks), bytea
    Bytes(&'a [u8]),
    /// uuid
    Uuid([u8; 16]),
    /// interval
    Interval(Interval),
}

/// How a column is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum ColumnKind {
    /// 1 byte, 0 or 1
    Bool,
    /// 2 bytes
    Int2,
    /// 4 bytes
    Int4,
    /// 8 bytes
    Int8,
    /// 8 bytes
    Float8,
    /// 8 bytes: mantissa at the column's scale
    Decimal,
    /// 16 bytes: a packed numeric with its own scale
    Numeric,
    /// 16 bytes
    Uuid,
    /// 16 bytes: microseconds, days, months
    Interval,
    /// 8 bytes: the microseconds of an interval without months ([`Type::OldInterval`])
    OldInterval,
    /// variable length
    Bytes,
    /// 4 bytes: a double that is one of 32 bits
    Float4,
}

impl ColumnKind {
    /// The kind that stores a type; `None` for pseudo-types, which cannot be columns. An array, or a row, is kept as bytes,
    /// which whoever writes it makes of it.
    pub fn of(ty: &Type) -> Option<ColumnKind> {
        Some(match ty.plain() {
            Type::Bool => ColumnKind::Bool,
            Type::Int2 => ColumnKind::Int2,
            Type::Int4 | Type::Date | Type::Enum(_) => ColumnKind::Int4,
            Type::Int8 | Type::Time | Type::Timestamp | Type::TimestampTz => ColumnKind::Int8,
            Type::Interval => ColumnKind::Interval,
            Type::OldInterval => ColumnKind::OldInterval,
            Type::Float8 => ColumnKind::Float8,
            Type::Float4 => ColumnKind::Float4,
            Type::Numeric(Some((p, s)))
                if u32::from(*p) <= NUMERIC_DIGITS_WORD && (0..=NUMERIC_SCALE_MAX as i16).contains(s) =>
            {
                ColumnKind::Decimal
            }
            Type::Numeric(_) => ColumnKind::Numeric,
            Type::Uuid => ColumnKind::Uuid,
            Type::Text
            | Type::Varchar(_)
            | Type::Char(_)
            | Type::Bytea
            | Type::Jsonb
            | Type::Citext
            | Type::Range(_)
            | Type::Packed(_) => ColumnKind::Bytes,
            Type::System(SystemType::Name | SystemType::Char | SystemType::Json | SystemType::RefCursor) => {
                ColumnKind::Bytes
            }
            Type::Array(of) => return ColumnKind::of(of).map(|_| ColumnKind::Bytes),
            Type::Record(row) if row.of.is_some() => {
                return row.iter().all(|(_, ty)| ColumnKind::of(ty).is_some()).then_some(ColumnKind::Bytes);
            }
            // An oid has no sign.
            ty if ty.is_oid() || *ty == Type::TID => ColumnKind::Int8,
            Type::System(_) | Type::Record(_) | Type::Rounded(..) | Type::Unknown | Type::Void => {
                return None;
            }
        })
    }
    /// Integers, dates, timestamps.
    #[inline]
    const fn is_int(self) -> bool {
        matches!(self, ColumnKind::Int2 | ColumnKind::Int4 | ColumnKind::Int8)
    }
    /// Bytes in the fixed part, without the end offset of variable-length columns.
    const fn width(self) -> u32 {
        match self {
            ColumnKind::Bool => 1,
            ColumnKind::Int2 => 2,
            ColumnKind::Int4 | ColumnKind::Float4 => 4,
            ColumnKind::Int8 | ColumnKind::Float8 | ColumnKind::Decimal | ColumnKind::OldInterval => 8,
            ColumnKind::Numeric | ColumnKind::Uuid | ColumnKind::Interval => 16,
            ColumnKind::Bytes => 0,
        }
    }
}

/// All that reading a column from an image takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Column {
    /// Byte offset of a fixed-width column, or of a variable-length column's end offset.
    offset: u32,
    /// Byte offset of its bits of the null bitmap.
    null_byte: u32,
    /// Its null bit; 0 for a column that is never NULL.
    null_mask: u8,
    /// How it is stored.
    kind: ColumnKind,
    /// Scale of a `Decimal`.
    scale: u8,
    /// What keys are made of, if not of its bytes.
    fold: Fold,
    /// Byte offset at which the first variable-length column begins; 0 for every other column.
    begin: u32,
}

const _: () = assert!(size_of::<Column>() == 16);

#[inline]
fn view(image: &[u64]) -> &[u8] {
    bytemuck::cast_slice(image)
}

/// The words of an image: a copy, or those of a record ([`crate::RecordRef::words`]).
pub trait Words {
    /// `N` bytes (16 at most) from a byte offset on.
    fn load<const N: usize>(&self, offset: u32) -> [u8; N];
}

impl Words for [u64] {
    #[inline]
    fn load<const N: usize>(&self, offset: u32) -> [u8; N] {
        let at = offset as usize;
        // Images come from `RowLayout`, so the fixed part is there; a bounds check is all it costs.
        *view(self)[at..].first_chunk::<N>().expect("image shorter than its layout")
    }
}

impl Words for [AtomicU64] {
    #[inline]
    fn load<const N: usize>(&self, offset: u32) -> [u8; N] {
        let (at, shift) = (offset as usize / 8, offset % 8 * 8);
        let mut bytes = [0; N];
        let mut word = self[at].load(Ordering::Relaxed) >> shift;
        if N > 8 {
            // Such are aligned.
            bytes[..8].copy_from_slice(&word.to_le_bytes());
            word = self[at + 1].load(Ordering::Relaxed);
            bytes[8..].copy_from_slice(&word.to_le_bytes()[..N - 8]);
            return bytes;
        }
        if shift as usize + N * 8 > 64 {
            word |= self[at + 1].load(Ordering::Relaxed) << (64 - shift);
        }
        bytes.copy_from_slice(&word.to_le_bytes()[..N]);
        bytes
    }
}

/// Words of an image in the making, or of one that is changed in place.
pub trait WordsMut: Words {
    /// Puts `N` bytes (16 at most) at a byte offset.
    fn store<const N: usize>(&mut self, offset: u32, value: [u8; N]);
}

impl WordsMut for [u64] {
    #[inline]
    fn store<const N: usize>(&mut self, offset: u32, value: [u8; N]) {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(self);
        *bytes[offset as usize..].first_chunk_mut::<N>().expect("within the fixed part") = value;
    }
}

/// A record's words, changed by the only one who is at them.
pub struct InPlace<'r>(pub &'r [AtomicU64]);

impl Words for InPlace<'_> {
    #[inline]
    fn load<const N: usize>(&self, offset: u32) -> [u8; N] {
        self.0.load(offset)
    }
}

impl WordsMut for InPlace<'_> {
    #[inline]
    fn store<const N: usize>(&mut self, offset: u32, value: [u8; N]) {
        // Fixed-width columns are aligned to their width (see the module's head): none crosses words.
        let (at, shift) = (offset as usize / 8, offset % 8 * 8);
        let mut low = [0; 8];
        low[..N.min(8)].copy_from_slice(&value[..N.min(8)]);
        let new = u64::from_le_bytes(low) << shift;
        let word = &self.0[at];
        if N >= 8 {
            word.store(new, Ordering::Relaxed);
        } else {
            let mask = ((1u64 << (N as u32 * 8)) - 1) << shift;
            word.store(word.load(Ordering::Relaxed) & !mask | new, Ordering::Relaxed);
        }
        if N > 8 {
            let mut high = [0; 8];
            high[..N - 8].copy_from_slice(&value[8..]);
            self.0[at + 1].store(u64::from_le_bytes(high), Ordering::Relaxed);
        }
    }
}

impl Column {
    /// How the column is stored.
    #[inline]
    pub fn kind(&self) -> ColumnKind {
        self.kind
    }
    /// The scale of a [`ColumnKind::Decimal`] column.
    #[inline]
    pub fn scale(&self) -> u8 {
        self.scale
    }
    /// Whether equal values of it may have different bytes.
    #[inline]
    pub fn folds(&self) -> bool {
        self.fold != Fold::No
    }
    /// What keys are made of: bytes that are ordered as its values are, and equal where they are.
    #[inline]
    pub fn fold(&self) -> Fold {
        self.fold
    }
    /// Whether it may hold NULL.
    #[inline]
    pub fn nullable(&self) -> bool {
        self.null_mask != 0
    }
    /// Whether it is NULL.
    #[inline]
    pub fn is_null<W: Words + ?Sized>(&self, image: &W) -> bool {
        self.null_mask != 0 && image.load::<1>(self.null_byte)[0] & self.null_mask != 0
    }
    /// A boolean (as 0 or 1), integer, date, timestamp or interval; the mantissa of a `Decimal`.
    #[inline]
    pub fn int<W: Words + ?Sized>(&self, image: &W) -> i64 {
        match self.kind {
            ColumnKind::Int8 | ColumnKind::Decimal => i64::from_le_bytes(image.load(self.offset)),
            ColumnKind::Int4 => i64::from(i32::from_le_bytes(image.load(self.offset))),
            ColumnKind::Int2 => i64::from(i16::from_le_bytes(image.load(self.offset))),
            ColumnKind::Bool => i64::from(image.load::<1>(self.offset)[0]),
            _ => unreachable!("not an integer column"),
        }
    }
    /// A boolean.
    #[inline]
    pub fn bool<W: Words + ?Sized>(&self, image: &W) -> bool {
        debug_assert_eq!(self.kind, ColumnKind::Bool);
        image.load::<1>(self.offset)[0] != 0
    }
    /// A double precision, or a real as one.
    #[inline]
    pub fn float<W: Words + ?Sized>(&self, image: &W) -> f64 {
        if self.kind == ColumnKind::Float4 {
            return f64::from(f32::from_le_bytes(image.load(self.offset)));
        }
        debug_assert_eq!(self.kind, ColumnKind::Float8);
        f64::from_le_bytes(image.load(self.offset))
    }
    /// A numeric of either kind of column.
    #[inline]
    pub fn stored<W: Words + ?Sized>(&self, image: &W) -> Stored {
        if self.kind == ColumnKind::Decimal {
            let mantissa = i64::from_le_bytes(image.load(self.offset));
            if mantissa == NAN_MANTISSA {
                return Stored::Special(Long::NAN_BYTES);
            }
            let number = Numeric::from_parts(i128::from(mantissa), self.scale);
            return Stored::Packed(number.expect("64 bits fit a mantissa").pack());
        }
        debug_assert_eq!(self.kind, ColumnKind::Numeric);
        let low = u64::from_le_bytes(image.load(self.offset));
        let high = u64::from_le_bytes(image.load(self.offset + 8));
        if (low as u8) < MARK_LONG { Stored::Packed(PackedNumeric([low, high])) } else { marked(low, high) }
    }
    /// Whether it is a numeric whose bytes stand behind the others of the image.
    #[inline]
    pub fn is_long<W: Words + ?Sized>(&self, image: &W) -> bool {
        self.kind == ColumnKind::Numeric && image.load::<1>(self.offset)[0] == MARK_LONG
    }
    /// A numeric that is known to have room in two words; zero where it has not.
    #[inline]
    pub fn numeric<W: Words + ?Sized>(&self, image: &W) -> Numeric {
        match self.stored(image) {
            Stored::Packed(packed) => packed.unpack(),
            Stored::Special(_) | Stored::Long(_) => Numeric::ZERO,
        }
    }
    /// A uuid.
    #[inline]
    pub fn uuid<W: Words + ?Sized>(&self, image: &W) -> [u8; 16] {
        debug_assert_eq!(self.kind, ColumnKind::Uuid);
        image.load(self.offset)
    }
    /// An interval.
    #[inline]
    pub fn interval<W: Words + ?Sized>(&self, image: &W) -> Interval {
        let micros = i64::from_le_bytes(image.load(self.offset));
        if self.kind == ColumnKind::OldInterval {
            return Interval::of_micros(micros);
        }
        debug_assert_eq!(self.kind, ColumnKind::Interval);
        let days = i32::from_le_bytes(image.load(self.offset + 8));
        Interval { months: i32::from_le_bytes(image.load(self.offset + 12)), days, micros }
    }
    /// Where the bytes of a text or bytea stand within the image.
    #[inline]
    pub fn bytes_range<W: Words + ?Sized>(&self, image: &W) -> Range<usize> {
        debug_assert_eq!(self.kind, ColumnKind::Bytes);
        let end = u32::from_le_bytes(image.load(self.offset)) as usize;
        let start =
            if self.begin != 0 { self.begin } else { u32::from_le_bytes(image.load(self.offset - 4)) };
        start as usize..end
    }
    /// A text or bytea.
    #[inline]
    pub fn bytes<'a>(&self, image: &'a [u64]) -> &'a [u8] {
        &view(image)[self.bytes_range(image)]
    }
    /// Appends a text or bytea to a buffer, from an image that nobody changes meanwhile.
    pub fn copy_bytes<W: Words + ?Sized>(&self, image: &W, out: &mut Vec<u8>) {
        copy_range(image, self.bytes_range(image), out);
    }
    /// Whether it is NULL, if it may be.
    #[inline]
    fn set_null<W: WordsMut + ?Sized>(&self, null: bool, out: &mut W) {
        if self.null_mask != 0 {
            let bits = out.load::<1>(self.null_byte)[0] & !self.null_mask;
            out.store(self.null_byte, [if null { bits | self.null_mask } else { bits }]);
        }
    }
    /// Puts a value into an image in the making, or into a record that nobody else is at: of a column of
    /// fixed width. The value is of its column's type (22003 if it does not fit nevertheless); a NULL in a
    /// column that is not nullable is the caller's bug.
    #[inline]
    pub fn put<W: WordsMut + ?Sized>(&self, field: Field<'_>, out: &mut W) -> Result<()> {
        let at = self.offset;
        self.set_null(matches!(field, Field::Null), out);
        match (self.kind, field) {
            (ColumnKind::Int8, Field::Int(v)) => out.store(at, v.to_le_bytes()),
            (ColumnKind::Int4, Field::Int(v)) => match i32::try_from(v) {
                Ok(v) => out.store(at, v.to_le_bytes()),
                Err(_) => return Err(out_of_range()),
            },
            (ColumnKind::Int2, Field::Int(v)) => match i16::try_from(v) {
                Ok(v) => out.store(at, v.to_le_bytes()),
                Err(_) => return Err(out_of_range()),
            },
            (ColumnKind::Bool, Field::Bool(v)) => out.store(at, [u8::from(v)]),
            (ColumnKind::Float8, Field::Float(v)) => out.store(at, v.to_le_bytes()),
            (ColumnKind::Float4, Field::Float(v)) => out.store(at, (v as f32).to_le_bytes()),
            (ColumnKind::Decimal, Field::Numeric(v)) => {
                let mantissa = at_scale(v, self.scale).ok_or_else(out_of_range)?;
                out.store(at, mantissa.to_le_bytes());
            }
            (ColumnKind::Numeric, Field::Numeric(v)) => {
                let [low, high] = v.pack().0;
                out.store(at, low.to_le_bytes());
                out.store(at + 8, high.to_le_bytes());
            }
            (ColumnKind::Decimal, Field::Long(v)) => {
                if v != Long::NAN_BYTES {
                    return Err(out_of_range());
                }
                out.store(at, NAN_MANTISSA.to_le_bytes());
            }
            // Of any other the bytes follow: `RowLayout::put_long`.
            (ColumnKind::Numeric, Field::Long(v)) => {
                let kind = if let [kind] = v { *kind } else { 0 };
                out.store(at, (u64::from(MARK_SPECIAL) | u64::from(kind) << 8).to_le_bytes());
                out.store(at + 8, [0; 8]);
            }
            (ColumnKind::Uuid, Field::Uuid(v)) => out.store(at, v),
            (ColumnKind::Interval, Field::Interval(v)) => {
                out.store(at, v.micros.to_le_bytes());
                out.store(at + 8, v.days.to_le_bytes());
                out.store(at + 12, v.months.to_le_bytes());
            }
            (ColumnKind::OldInterval, Field::Interval(v)) => {
                let micros = i64::try_from(v.span()).ok().filter(|_| v.months == 0);
                out.store(at, micros.ok_or_else(old_interval)?.to_le_bytes());
            }
            (_, Field::Null) => {
                assert!(self.null_mask != 0, "NULL in a column that is not nullable");
                match self.kind.width() {
                    1 => out.store(at, [0; 1]),
                    2 => out.store(at, [0; 2]),
                    4 => out.store(at, [0; 4]),
                    8 => out.store(at, [0; 8]),
                    _ => out.store(at, [0; 16]),
                }
            }
            (kind, field) => unreachable!("{field:?} in a column of kind {kind:?}"),
        }
        Ok(())
    }
    /// The same of an integer, date or timestamp.
    #[inline]
    pub fn put_int<W: WordsMut + ?Sized>(&self, v: i64, out: &mut W) -> Result<()> {
        if self.null_mask != 0 {
            let bits = out.load::<1>(self.null_byte)[0];
            out.store(self.null_byte, [bits & !self.null_mask]);
        }
        match self.kind {
            ColumnKind::Int4 if v as i32 as i64 == v => out.store(self.offset, (v as i32).to_le_bytes()),
            ColumnKind::Int8 => out.store(self.offset, v.to_le_bytes()),
            ColumnKind::Int2 if v as i16 as i64 == v => out.store(self.offset, (v as i16).to_le_bytes()),
            _ => return Err(out_of_range()),
        }
        Ok(())
    }
    /// The same of a numeric of two words.
    #[inline]
    pub fn put_numeric<W: WordsMut + ?Sized>(&self, v: PackedNumeric, out: &mut W) -> Result<()> {
        match v.word_at(self.scale) {
            Some(mantissa) if self.kind == ColumnKind::Decimal && mantissa != NAN_MANTISSA => {
                self.set_null(false, out);
                out.store(self.offset, mantissa.to_le_bytes());
                Ok(())
            }
            _ => self.put(Field::Numeric(v.unpack()), out),
        }
    }
    /// The value, whatever its kind.
    #[inline]
    pub fn field<'a>(&self, image: &'a [u64]) -> Field<'a> {
        if self.is_null(image) {
            return Field::Null;
        }
        match self.kind {
            ColumnKind::Bool => Field::Bool(self.bool(image)),
            ColumnKind::Int2 | ColumnKind::Int4 | ColumnKind::Int8 => Field::Int(self.int(image)),
            ColumnKind::Float8 | ColumnKind::Float4 => Field::Float(self.float(image)),
            ColumnKind::Decimal | ColumnKind::Numeric => match self.stored(image) {
                Stored::Packed(packed) => Field::Numeric(packed.unpack()),
                Stored::Special(bytes) => Field::Long(bytes),
                // Bytes that no image has are NaN.
                Stored::Long(range) => Field::Long(view(image).get(range).unwrap_or(Long::NAN_BYTES)),
            },
            ColumnKind::Uuid => Field::Uuid(self.uuid(image)),
            ColumnKind::Interval | ColumnKind::OldInterval => Field::Interval(self.interval(image)),
            ColumnKind::Bytes => Field::Bytes(self.bytes(image)),
        }
    }
}

/// Bytes of a text whose type does not say how long it may be, as a guess.
const LIKELY_BYTES: usize = 32;

/// Where the columns of a table stand in its images, and how images are made.
#[derive(Clone, Debug)]
pub struct RowLayout {
    columns: Box<[Column]>,
    specs: Box<[ColumnSpec]>,
    /// Columns with a place in the fixed part.
    fixed: Box<[ColumnId]>,
    /// Variable-length columns, in column order.
    variable: Box<[ColumnId]>,
    /// Those of them that are UTF-8.
    texts: Box<[ColumnId]>,
    /// Numerics of 16 bytes, which may be longer.
    numerics: Box<[ColumnId]>,
    /// Bytes of the fixed part; variable-length data begin here.
    fixed_bytes: u32,
}

impl RowLayout {
    /// Lays the columns out. An error for types that cannot be stored.
    pub fn new(specs: &[ColumnSpec]) -> Result<RowLayout> {
        let kinds = specs
            .iter()
            .map(|spec| {
                ColumnKind::of(&spec.ty).ok_or_else(|| {
                    Error::unsupported(
                        format!("columns of type {} are not supported", spec.ty),
                        "Use a table of its own with one row per element.",
                    )
                })
            })
            .collect::<Result<Vec<_>>>()?;
        let mut columns = vec![
            Column {
                offset: 0,
                null_byte: 0,
                null_mask: 0,
                kind: ColumnKind::Bool,
                scale: 0,
                fold: Fold::No,
                begin: 0,
            };
            specs.len()
        ];
        let mut fixed: Vec<ColumnId> = Vec::new();
        let mut end = 0u32;
        for width in [16, 8, 4, 2, 1] {
            for (i, kind) in kinds.iter().enumerate().filter(|(_, k)| k.width() == width) {
                let scale = match specs[i].ty {
                    Type::Numeric(Some((_, scale))) if *kind == ColumnKind::Decimal => scale as u8,
                    _ => 0,
                };
                columns[i] = Column { offset: end, kind: *kind, scale, ..columns[i] };
                fixed.push(ColumnId::from(i));
                end += width;
            }
        }
        let nullables = specs.iter().enumerate().filter(|(_, spec)| spec.nullable);
        for (bit, (i, _)) in (0u32..).zip(nullables) {
            columns[i].null_byte = end + bit / 8;
            columns[i].null_mask = 1 << (bit % 8);
        }
        end += (specs.iter().filter(|spec| spec.nullable).count() as u32).div_ceil(8);
        let variable: Vec<ColumnId> =
            (0..specs.len()).filter(|i| kinds[*i] == ColumnKind::Bytes).map(ColumnId::from).collect();
        let is_text = |id: &ColumnId| {
            !matches!(
                specs[id.index()].ty,
                Type::Bytea | Type::Range(_) | Type::Packed(_) | Type::Array(_) | Type::Record(_)
            )
        };
        let texts = variable.iter().copied().filter(is_text).collect();
        let is_numeric = |i: &usize| kinds[*i] == ColumnKind::Numeric;
        let numerics = (0..specs.len()).filter(is_numeric).map(ColumnId::from).collect();
        let fixed_bytes = end + 4 * variable.len() as u32;
        for (nth, id) in variable.iter().enumerate() {
            let column = &mut columns[id.index()];
            column.kind = ColumnKind::Bytes;
            column.fold = match specs[id.index()].ty {
                Type::Citext => Fold::Citext,
                Type::Jsonb => Fold::Jsonb,
                Type::Array(_) | Type::Record(_) => Fold::Array,
                _ => Fold::No,
            };
            column.offset = end + 4 * nth as u32;
            column.begin = if nth == 0 { fixed_bytes } else { 0 };
        }
        Ok(RowLayout {
            columns: columns.into(),
            specs: specs.into(),
            fixed: fixed.into(),
            variable: variable.into(),
            texts,
            numerics,
            fixed_bytes,
        })
    }

    /// How to read a column.
    #[inline]
    pub fn column(&self, id: ColumnId) -> &Column {
        &self.columns[id.index()]
    }
    /// All columns, by position.
    #[inline]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }
    /// The columns as they were given.
    pub fn specs(&self) -> &[ColumnSpec] {
        &self.specs
    }
    /// Whether images all have one length.
    pub fn is_fixed_length(&self) -> bool {
        self.variable.is_empty() && self.numerics.is_empty()
    }
    /// Whether a numeric of a row has its bytes behind the others.
    #[inline]
    pub fn has_long<W: Words + ?Sized>(&self, image: &W) -> bool {
        self.numerics.iter().any(|id| self.column(*id).is_long(image))
    }

    /// Bytes of an image up to the end of a variable-length column, as they are likely to be: as many as the types of it and those
    /// before it allow, or a few where they do not say.
    pub fn likely_bytes_to(&self, column: &Column) -> usize {
        let before = self.variable.iter().filter(|id| self.column(**id).offset <= column.offset);
        let likely = |id: &ColumnId| match &self.specs[id.index()].ty {
            Type::Char(n) | Type::Varchar(Some(n)) => *n as usize,
            _ => LIKELY_BYTES,
        };
        self.fixed_bytes() + before.map(likely).sum::<usize>()
    }

    /// Bytes of the part with offsets known.
    pub fn fixed_bytes(&self) -> usize {
        self.fixed_bytes as usize
    }
    /// Words of the part with offsets known, which every image has.
    pub fn fixed_words(&self) -> usize {
        (self.fixed_bytes as usize).div_ceil(8)
    }
    /// The byte from which on an image holds the places of variable-length columns, and these; `None`
    /// without such columns.
    pub fn variable_from(&self) -> Option<usize> {
        self.variable.first().map(|first| self.column(*first).offset as usize)
    }
    /// Whether words that come from elsewhere can be read as an image: long enough, the variable-length columns
    /// one after the other within them, and texts UTF-8.
    pub fn is_image(&self, words: &[u64]) -> bool {
        let mut end = self.fixed_bytes as usize;
        words.len() >= self.fixed_words()
            && self.variable.iter().all(|id| {
                let begin = end;
                end = u32::from_le_bytes(words.load(self.column(*id).offset)) as usize;
                begin <= end && end <= words.len() * 8
            })
            && self.texts.iter().all(|id| std::str::from_utf8(self.bytes(words, *id)).is_ok())
            && self.numerics.iter().all(|id| match self.column(*id).stored(words) {
                Stored::Long(range) => {
                    let bytes = view(words).get(range.clone()).filter(|_| range.start >= end);
                    bytes.is_some_and(|bytes| Long::decode(bytes).is_some())
                }
                Stored::Packed(_) | Stored::Special(_) => true,
            })
    }

    /// Whether a column is NULL.
    #[inline]
    pub fn is_null(&self, image: &[u64], id: ColumnId) -> bool {
        self.column(id).is_null(image)
    }
    /// See [`Column::int`].
    #[inline]
    pub fn int(&self, image: &[u64], id: ColumnId) -> i64 {
        self.column(id).int(image)
    }
    /// See [`Column::float`].
    #[inline]
    pub fn float(&self, image: &[u64], id: ColumnId) -> f64 {
        self.column(id).float(image)
    }
    /// See [`Column::numeric`].
    #[inline]
    pub fn numeric(&self, image: &[u64], id: ColumnId) -> Numeric {
        self.column(id).numeric(image)
    }
    /// See [`Column::uuid`].
    #[inline]
    pub fn uuid(&self, image: &[u64], id: ColumnId) -> [u8; 16] {
        self.column(id).uuid(image)
    }
    /// See [`Column::bytes`].
    #[inline]
    pub fn bytes<'a>(&self, image: &'a [u64], id: ColumnId) -> &'a [u8] {
        self.column(id).bytes(image)
    }
    /// See [`Column::field`].
    #[inline]
    pub fn field<'a>(&self, image: &'a [u64], id: ColumnId) -> Field<'a> {
        self.column(id).field(image)
    }

    /// Makes the image of a row with these values, in column order; see [`RowLayout::encode_with`].
    pub fn encode(&self, fields: &[Field<'_>], out: &mut Vec<u64>) -> Result<()> {
        assert_eq!(fields.len(), self.columns.len(), "one value per column");
        self.encode_with(|id| fields[id.index()], out)
    }

    /// Makes the image of a row into `out`, asking for each column's value once. Values are of their
    /// columns' types already; what does not fit nevertheless is SQLSTATE 22003 (54000 for a row
    /// over [`ROW_BYTES_MAX`]). A NULL in a column that is not nullable is the caller's bug.
    #[inline]
    pub fn encode_with<'a>(
        &self,
        mut value: impl FnMut(ColumnId) -> Field<'a>,
        out: &mut Vec<u64>,
    ) -> Result<()> {
        out.clear();
        out.resize((self.fixed_bytes as usize).div_ceil(8), 0);
        let mut longs = Vec::new();
        for id in &self.fixed {
            let field = value(*id);
            if let Field::Long(bytes @ [_, _, ..]) = field {
                longs.push((*id, bytes));
            }
            self.put_fixed(self.column(*id), field, &mut out[..])?;
        }
        let mut end = self.fixed_bytes as usize;
        for id in &self.variable {
            end = self.put_variable(self.column(*id), value(*id), end, out)?;
        }
        for (id, bytes) in longs {
            end = self.put_long(self.column(id), bytes, end, out)?;
        }
        Ok(())
    }

    /// Appends the bytes of a long numeric from byte `begin` on; returns where they end. They go in column order behind all
    /// else; what else the column has was put into its place ([`Column::put`]).
    #[cold]
    pub fn put_long(&self, column: &Column, value: &[u8], begin: usize, out: &mut Vec<u64>) -> Result<usize> {
        let end = begin + value.len();
        if end > ROW_BYTES_MAX {
            return Err(row_too_large());
        }
        if end > out.len() * 8 {
            out.resize(end.div_ceil(8), 0);
        }
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(out);
        bytes[begin..end].copy_from_slice(value);
        if column.kind != ColumnKind::Numeric {
            return Err(out_of_range());
        }
        let low = u64::from(MARK_LONG) | (begin as u64) << 32;
        put(bytes, column.offset as usize, low.to_le_bytes());
        put(bytes, column.offset as usize + 8, (value.len() as u64).to_le_bytes());
        Ok(end)
    }

    #[inline]
    fn put_fixed(&self, column: &Column, field: Field<'_>, out: &mut [u64]) -> Result<()> {
        match field {
            Field::Int(v) if column.kind.is_int() => column.put_int(v, out),
            field => column.put(field, out),
        }
    }

    /// Appends a variable-length value that begins at byte `begin`; returns where it ends. They go in column
    /// order, the first one behind the fixed part ([`RowLayout::fixed_bytes`]).
    #[inline]
    pub fn put_variable(
        &self,
        column: &Column,
        field: Field<'_>,
        begin: usize,
        out: &mut Vec<u64>,
    ) -> Result<usize> {
        let value: &[u8] = match field {
            Field::Bytes(value) => value,
            Field::Null => &[],
            other => unreachable!("{other:?} in a text or bytea column"),
        };
        let end = begin + value.len();
        if end > ROW_BYTES_MAX {
            return Err(row_too_large());
        }
        if end > out.len() * 8 {
            out.resize(end.div_ceil(8), 0);
        }
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(out);
        bytes[begin..end].copy_from_slice(value);
        put(bytes, column.offset as usize, (end as u32).to_le_bytes());
        if column.null_mask != 0 {
            bytes[column.null_byte as usize] &= !column.null_mask;
        }
        if matches!(field, Field::Null) {
            assert!(column.null_mask != 0, "NULL in a column that is not nullable");
            bytes[column.null_byte as usize] |= column.null_mask;
        }
        Ok(end)
    }
}

#[inline]
fn put<const N: usize>(bytes: &mut [u8], at: usize, value: [u8; N]) {
    *bytes[at..].first_chunk_mut::<N>().expect("within the fixed part") = value;
}

/// The mantissa of `v` at `scale`, if it is exact there and fits 64 bits.
#[inline]
pub(crate) fn at_scale(v: Numeric, scale: u8) -> Option<i64> {
    if v.scale() == scale {
        return i64::try_from(v.mantissa()).ok();
    }
    let power = 10i128.checked_pow(u32::from(v.scale().abs_diff(scale)));
    if v.scale() < scale {
        if v.mantissa() == 0 {
            return Some(0);
        }
        return i64::try_from(v.mantissa().checked_mul(power?)?).ok();
    }
    match power {
        Some(power) if v.mantissa() % power == 0 => i64::try_from(v.mantissa() / power).ok(),
        None if v.mantissa() == 0 => Some(0),
        _ => None,
    }
}

#[cold]
fn out_of_range() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range of its column")
}

#[cold]
fn old_interval() -> Error {
    let message = "a column of an older version of Planaria has no room for the months of an interval";
    Error::new(SqlState::INTERVAL_FIELD_OVERFLOW, message)
        .with_hint("ALTER TABLE .. ALTER COLUMN .. TYPE interval makes room.")
}

#[cold]
fn row_too_large() -> Error {
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, format!("row exceeds the maximum of {ROW_BYTES_MAX} bytes"))
}

#[cfg(test)]
mod tests;
