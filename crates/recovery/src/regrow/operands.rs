//! Operands of pieces, packed: a bit each for NULL, then each in its place by its type.
//!
//! ```text
//! | NULL bits: 4 or 8 bytes | 1, 4, 8 or 16 bytes an operand | texts, tagged values |
//! ```
//!
//! There are more than a hundred to a transaction, written once and read once: places that are known
//! when the piece is compiled make either a load and a store. A text has its length there and its
//! bytes behind. What has no place of its own (arrays) is written behind as a tag byte and what the tag
//! says. Nothing here outlives a replay.

use planaria_base::datetime::Interval;
use planaria_base::numeric::PackedNumeric;
use planaria_base::shape::{Dimension, Shape};
use planaria_base::{Error, Numeric, Result, Type};
use planaria_exec::{Heap, Slot};
use planaria_storage::arena::Bytes;

/// Operands with a bit of their own; a piece with more has all of them tagged.
pub(super) const BITS_MAX: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Bool,
    Word4,
    Word8,
    Float,
    Numeric,
    Uuid,
    Text,
    Bytea,
    Jsonb,
    Tagged,
}

impl Form {
    fn of(ty: &Type) -> Form {
        match ty.plain() {
            Type::Bool => Form::Bool,
            Type::Int2 | Type::Int4 | Type::Date | Type::Enum(_) => Form::Word4,
            Type::Int8 | Type::Time | Type::Timestamp | Type::TimestampTz => Form::Word8,
            Type::Float8 | Type::Float4 => Form::Float,
            Type::Numeric(_) => Form::Numeric,
            Type::Uuid => Form::Uuid,
            Type::Text | Type::Varchar(_) | Type::Char(_) => Form::Text,
            Type::Bytea | Type::Range(_) | Type::Packed(_) => Form::Bytea,
            Type::Jsonb => Form::Jsonb,
            Type::Interval | Type::OldInterval => Form::Tagged,
            Type::Rounded(..)
            | Type::Citext
            | Type::Array(_)
            | Type::Unknown
            | Type::Void
            | Type::System(_)
            | Type::Record(_) => Form::Tagged,
        }
    }

    fn width(self) -> usize {
        match self {
            Form::Bool => 1,
            Form::Word4 | Form::Text | Form::Bytea | Form::Jsonb => 4,
            Form::Word8 | Form::Float => 8,
            Form::Numeric | Form::Uuid => 16,
            Form::Tagged => 0,
        }
    }
}

/// Where the operands of a piece are.
#[derive(Debug)]
pub(super) struct Packing {
    /// Form and place of each.
    operands: Box<[(Form, u16)]>,
    /// Bytes before the texts.
    fixed: usize,
    /// Whether NULL bits take 8 bytes.
    wide: bool,
}

impl Packing {
    /// For operands of these types.
    pub(super) fn new<'t>(types: impl ExactSizeIterator<Item = &'t Type>) -> Packing {
        let count = types.len();
        let wide = count > 32;
        let mut fixed = if wide { 8 } else { 4 };
        let place = |ty: &Type| {
            let form = if count > BITS_MAX { Form::Tagged } else { Form::of(ty) };
            let at = fixed as u16;
            fixed += form.width();
            (form, at)
        };
        let operands = types.map(place).collect();
        Packing { operands, fixed, wide }
    }

    /// Bytes without texts.
    pub(super) fn bytes(&self) -> usize {
        self.fixed
    }

    /// Appends operands.
    #[inline]
    pub(super) fn put(&self, out: &mut Vec<u8>, value: impl Fn(usize) -> Slot, heap: &Heap) -> Result<()> {
        let start = out.len();
        out.resize(start + self.fixed, 0);
        let mut nulls = 0u64;
        for (i, (form, at)) in self.operands.iter().enumerate() {
            let at = start + usize::from(*at);
            match (form, value(i)) {
                (Form::Word4, Slot::Int(n)) => out[at..at + 4].copy_from_slice(&(n as i32).to_le_bytes()),
                (Form::Word8, Slot::Int(n)) => out[at..at + 8].copy_from_slice(&n.to_le_bytes()),
                (Form::Numeric, Slot::Numeric(n)) => {
                    out[at..at + 8].copy_from_slice(&n.0[0].to_le_bytes());
                    out[at + 8..at + 16].copy_from_slice(&n.0[1].to_le_bytes());
                }
                (Form::Numeric, Slot::Long(n)) => {
                    out[at..at + 4].copy_from_slice(&[LONG, 0, 0, 0]);
                    let bytes = heap.long(n);
                    out[at + 4..at + 8].copy_from_slice(&(bytes.len() as u32).to_le_bytes());
                    out.extend_from_slice(bytes);
                }
                (Form::Text, Slot::Text(text))
                | (Form::Bytea, Slot::Bytea(text))
                | (Form::Jsonb, Slot::Jsonb(text)) => {
                    out[at..at + 4].copy_from_slice(&text.len.to_le_bytes());
                    out.extend_from_slice(heap.bytes(text));
                }
                (Form::Bool, Slot::Bool(b)) => out[at] = u8::from(b),
                (Form::Float, Slot::Float(x)) => out[at..at + 8].copy_from_slice(&x.to_le_bytes()),
                (Form::Uuid, Slot::Uuid(u)) => out[at..at + 16].copy_from_slice(&u),
                (Form::Tagged, slot) => put(out, slot, heap),
                (_, Slot::Null) => nulls |= 1 << i,
                (form, slot) => return Err(Error::internal(format!("{slot:?} as an operand: {form:?}"))),
            }
        }
        match self.wide {
            true => out[start..start + 8].copy_from_slice(&nulls.to_le_bytes()),
            false => out[start..start + 4].copy_from_slice(&(nulls as u32).to_le_bytes()),
        }
        Ok(())
    }

    /// Reads operands back, their texts into `heap`; the NULL bits. Panics on bytes that `put` did not
    /// make.
    #[inline]
    pub(super) fn take(
        &self,
        operands: &[u8],
        heap: &mut Heap,
        each: impl FnMut(usize, Slot),
    ) -> Result<u64> {
        let (fixed, behind) = operands.split_at(self.fixed);
        let nulls = match self.wide {
            true => u64::from_le_bytes(*fixed.first_chunk().expect("NULL bits")),
            false => u64::from(u32::from_le_bytes(*fixed.first_chunk().expect("NULL bits"))),
        };
        match nulls {
            0 => self.take_each::<false>(0, fixed, behind, heap, each)?,
            _ => self.take_each::<true>(nulls, fixed, behind, heap, each)?,
        }
        Ok(nulls)
    }

    #[inline]
    fn take_each<const NULLS: bool>(
        &self,
        nulls: u64,
        fixed: &[u8],
        mut behind: &[u8],
        heap: &mut Heap,
        mut each: impl FnMut(usize, Slot),
    ) -> Result<()> {
        for (i, (form, at)) in self.operands.iter().enumerate() {
            let at = &fixed[usize::from(*at)..];
            if NULLS && nulls >> (i & 63) & 1 != 0 && *form != Form::Tagged {
                each(i, Slot::Null);
                continue;
            }
            let word = || u64::from_le_bytes(*at.first_chunk().expect("a word"));
            let slot = match form {
                Form::Word4 => Slot::Int(i64::from(i32::from_le_bytes(*at.first_chunk().expect("a number")))),
                Form::Word8 => Slot::Int(word() as i64),
                Form::Numeric if at[0] == LONG => {
                    let len = u32::from_le_bytes(*at[4..].first_chunk().expect("a length"));
                    let (bytes, rest) = behind.split_at(len as usize);
                    behind = rest;
                    heap.long_bytes(bytes)?
                }
                Form::Numeric => {
                    let high = u64::from_le_bytes(*at[8..].first_chunk().expect("a word"));
                    Slot::Numeric(PackedNumeric([word(), high]))
                }
                Form::Text => Slot::Text(run(at, &mut behind, heap)?),
                Form::Bytea => Slot::Bytea(run(at, &mut behind, heap)?),
                Form::Jsonb => Slot::Jsonb(run(at, &mut behind, heap)?),
                Form::Bool => Slot::Bool(at[0] != 0),
                Form::Float => Slot::Float(f64::from_bits(word())),
                Form::Uuid => Slot::Uuid(*at.first_chunk().expect("a uuid")),
                Form::Tagged => {
                    let mut reader = Reader(behind);
                    let slot = reader.slot(heap)?;
                    behind = reader.0;
                    slot
                }
            };
            each(i, slot);
        }
        Ok(())
    }
}

/// The next text, of the length that stands at its place.
#[inline]
fn run(at: &[u8], behind: &mut &[u8], heap: &mut Heap) -> Result<Bytes> {
    let len = u32::from_le_bytes(*at.first_chunk().expect("a length"));
    let (bytes, rest) = behind.split_at(len as usize);
    *behind = rest;
    Ok(heap.arena.push_bytes(bytes)?)
}

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const FLOAT: u8 = 3;
const UUID: u8 = 4;
/// Microseconds, days, months.
const INTERVAL: u8 = 10;
const TEXT: u8 = 5;
const BYTEA: u8 = 6;
const JSONB: u8 = 11;
const ARRAY: u8 = 7;
/// Of an array that is no list from 1 on: how many dimensions, of each its lower bound and length; then the elements as
/// those of a list.
const SHAPE: u8 = 12;
const CITEXT: u8 = 14;
/// A scale byte and a number follow.
const NUMERIC: u8 = 8;
/// A scale byte and 16 bytes follow.
const NUMERIC_WIDE: u8 = 9;
/// The bytes of a numeric that has no room in two words.
const NUMERIC_LONG: u8 = 13;
/// In place of the scale of a packed numeric: the length of such bytes, which are behind, stands in bytes 4 to 8.
const LONG: u8 = 0xFF;
/// `INT + n`: n bytes follow, 0 to 8.
const INT: u8 = 16;
/// Tags from here on are numbers themselves.
const SMALL: u8 = 32;
const SMALL_ZERO: i64 = 48;

/// Appends a value.
fn put(out: &mut Vec<u8>, slot: Slot, heap: &Heap) {
    match slot {
        Slot::Null => out.push(NULL),
        Slot::Bool(b) => out.push(if b { TRUE } else { FALSE }),
        Slot::Int(n) => put_int(out, n),
        Slot::Float(x) => {
            out.push(FLOAT);
            out.extend_from_slice(&x.to_bits().to_le_bytes());
        }
        Slot::Numeric(packed) => {
            let n = packed.unpack();
            match i64::try_from(n.mantissa()) {
                Ok(mantissa) => {
                    out.extend_from_slice(&[NUMERIC, n.scale()]);
                    put_int(out, mantissa);
                }
                Err(_) => {
                    out.extend_from_slice(&[NUMERIC_WIDE, n.scale()]);
                    out.extend_from_slice(&n.mantissa().to_le_bytes());
                }
            }
        }
        Slot::Long(at) => put_run(out, NUMERIC_LONG, heap.long(at)),
        Slot::Text(at) => put_run(out, TEXT, heap.bytes(at)),
        Slot::Bytea(at) => put_run(out, BYTEA, heap.bytes(at)),
        Slot::Jsonb(at) => put_run(out, JSONB, heap.bytes(at)),
        Slot::Citext(at) => put_run(out, CITEXT, heap.bytes(at)),
        Slot::Uuid(u) => {
            out.push(UUID);
            out.extend_from_slice(&u);
        }
        Slot::Interval(i) => {
            out.push(INTERVAL);
            out.extend_from_slice(&i.micros.to_le_bytes());
            out.extend_from_slice(&i.days.to_le_bytes());
            out.extend_from_slice(&i.months.to_le_bytes());
        }
        Slot::Array(a) => {
            if let Some(shape) = heap.shape(a) {
                out.extend_from_slice(&[SHAPE, shape.dimensions().len() as u8]);
                for dimension in shape.dimensions() {
                    out.extend_from_slice(&dimension.lower.to_le_bytes());
                    out.extend_from_slice(&dimension.len.to_le_bytes());
                }
            }
            out.push(ARRAY);
            out.extend_from_slice(&a.len.to_le_bytes());
            heap.elements(a).iter().for_each(|e| put(out, *e, heap));
        }
    }
}

#[inline]
fn put_int(out: &mut Vec<u8>, n: i64) {
    let small = n.wrapping_add(SMALL_ZERO);
    if (i64::from(SMALL)..=255).contains(&small) {
        out.push(small as u8);
        return;
    }
    let zigzag = ((n << 1) ^ (n >> 63)) as u64;
    let bytes = (71 - zigzag.leading_zeros() as usize) / 8;
    out.push(INT + bytes as u8);
    // All eight bytes, then back: a copy of known length is one store.
    let end = out.len() + bytes;
    out.extend_from_slice(&zigzag.to_le_bytes());
    out.truncate(end);
}

fn put_run(out: &mut Vec<u8>, tag: u8, bytes: &[u8]) {
    out.push(tag);
    match u8::try_from(bytes.len()) {
        Ok(len) if len < u8::MAX => out.push(len),
        _ => {
            out.push(u8::MAX);
            out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        }
    }
    out.extend_from_slice(bytes);
}

/// Reads values in the order they were put. Panics on bytes that `put` did not make.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    fn byte(&mut self) -> u8 {
        let (&byte, rest) = self.0.split_first().expect("an operand");
        self.0 = rest;
        byte
    }

    fn fixed<const N: usize>(&mut self) -> [u8; N] {
        let (bytes, rest) = self.0.split_first_chunk::<N>().expect("an operand");
        self.0 = rest;
        *bytes
    }

    #[inline]
    fn zigzag(&mut self, bytes: usize) -> i64 {
        let word = if let Some(head) = self.0.first_chunk::<8>() {
            u64::from_le_bytes(*head) & (u64::MAX.checked_shr(64 - 8 * bytes as u32).unwrap_or(0))
        } else {
            let mut word = [0; 8];
            word[..bytes].copy_from_slice(&self.0[..bytes]);
            u64::from_le_bytes(word)
        };
        self.0 = &self.0[bytes..];
        (word >> 1) as i64 ^ -((word & 1) as i64)
    }

    fn int(&mut self) -> i64 {
        match self.byte() {
            tag @ SMALL.. => i64::from(tag) - SMALL_ZERO,
            tag => self.zigzag(usize::from(tag - INT)),
        }
    }

    fn run(&mut self) -> &'a [u8] {
        let len = match self.byte() {
            u8::MAX => u32::from_le_bytes(self.fixed()) as usize,
            len => usize::from(len),
        };
        let (run, rest) = self.0.split_at(len);
        self.0 = rest;
        run
    }

    /// The next value, its texts in `heap`.
    #[inline]
    fn slot(&mut self, heap: &mut Heap) -> Result<Slot> {
        Ok(match self.byte() {
            tag @ SMALL.. => Slot::Int(i64::from(tag) - SMALL_ZERO),
            tag @ INT.. => Slot::Int(self.zigzag(usize::from(tag - INT))),
            NULL => Slot::Null,
            FALSE => Slot::Bool(false),
            TRUE => Slot::Bool(true),
            FLOAT => Slot::Float(f64::from_bits(u64::from_le_bytes(self.fixed()))),
            UUID => Slot::Uuid(self.fixed()),
            INTERVAL => {
                let micros = i64::from_le_bytes(self.fixed());
                let days = i32::from_le_bytes(self.fixed());
                Slot::Interval(Interval { months: i32::from_le_bytes(self.fixed()), days, micros })
            }
            NUMERIC => {
                let scale = self.byte();
                let mantissa = i128::from(self.int());
                Slot::numeric(Numeric::from_parts(mantissa, scale).ok_or_else(unreadable)?)
            }
            NUMERIC_WIDE => {
                let scale = self.byte();
                let mantissa = i128::from_le_bytes(self.fixed());
                Slot::numeric(Numeric::from_parts(mantissa, scale).ok_or_else(unreadable)?)
            }
            NUMERIC_LONG => heap.long_bytes(self.run())?,
            TEXT => Slot::Text(heap.arena.push_bytes(self.run())?),
            BYTEA => Slot::Bytea(heap.arena.push_bytes(self.run())?),
            JSONB => Slot::Jsonb(heap.arena.push_bytes(self.run())?),
            CITEXT => Slot::Citext(heap.arena.push_bytes(self.run())?),
            SHAPE => {
                let mut dimensions = Vec::new();
                for _ in 0..self.byte() {
                    let lower = i32::from_le_bytes(self.fixed());
                    dimensions.push(Dimension { lower, len: u32::from_le_bytes(self.fixed()) });
                }
                let shape = Shape::new(&dimensions)?;
                let list = self.slot(heap)?.array();
                heap.shaped(list, shape)?
            }
            _ => {
                let len = u32::from_le_bytes(self.fixed());
                let elements = (0..len).map(|_| self.slot(heap)).collect::<Result<Vec<_>>>()?;
                heap.array(&elements)?
            }
        })
    }
}

#[cold]
fn unreadable() -> Error {
    Error::internal("an operand that cannot be read back")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_come_back_as_they_were() {
        let mut heap = Heap::new();
        let ints = [0, 1, -1, -17, -16, 207, 208, 300, -300, 1 << 40, i64::MIN, i64::MAX];
        let mut slots: Vec<Slot> = ints.iter().map(|n| Slot::Int(*n)).collect();
        slots.extend([
            Slot::Null,
            Slot::Bool(true),
            Slot::Bool(false),
            Slot::Float(-0.0),
            Slot::Uuid([9; 16]),
        ]);
        for (mantissa, scale) in [(0, 0), (-12345, 2), (i128::from(i64::MAX) * 1000, 4)] {
            slots.push(Slot::numeric(Numeric::from_parts(mantissa, scale).unwrap()));
        }
        slots.push(heap.text("").unwrap());
        slots.push(heap.text(&"é".repeat(400)).unwrap());
        slots.push(heap.bytea(&[0, 255]).unwrap());
        let inner = heap.array(&slots).unwrap();
        slots.push(inner);
        let dimensions =
            [Dimension { lower: 0, len: 1 }, Dimension { lower: -7, len: slots.len() as u32 - 1 }];
        let shape = Shape::new(&dimensions).unwrap();
        slots.push(heap.shaped(inner.array(), shape).unwrap());
        let mut out = Vec::new();
        slots.iter().for_each(|s| put(&mut out, *s, &heap));
        let mut other = Heap::new();
        let mut reader = Reader(&out);
        for slot in &slots {
            let back = reader.slot(&mut other).unwrap();
            assert_eq!(other.to_datum(back), heap.to_datum(*slot));
        }
        assert!(reader.0.is_empty());
    }

    #[test]
    fn operands_of_known_types_come_back_from_their_places() {
        let mut heap = Heap::new();
        let text = heap.text("grüße").unwrap();
        let bytea = heap.bytea(&[0, 255, 7]).unwrap();
        let array = heap.array(&[Slot::Int(5), Slot::Null, text]).unwrap();
        let numeric = Slot::numeric(Numeric::from_parts(-1234567890123456789012, 7).unwrap());
        let cases = [
            (Type::Int4, Slot::Int(-7)),
            (Type::Text, text),
            (Type::Int2, Slot::Int(-32768)),
            (Type::Array(Box::new(Type::Text)), array),
            (Type::Bool, Slot::Bool(true)),
            (Type::Numeric(None), numeric),
            (Type::Bytea, bytea),
            (Type::Timestamp, Slot::Int(i64::MIN)),
            (Type::Float8, Slot::Float(-0.0)),
            (Type::Uuid, Slot::Uuid([3; 16])),
            (Type::Text, Slot::Null),
            (Type::Array(Box::new(Type::Text)), Slot::Null),
            (Type::Varchar(Some(9)), text),
            (Type::Date, Slot::Null),
        ];
        for repeat in [1, 3, 6] {
            let cases: Vec<_> = (0..repeat).flat_map(|_| cases.clone()).collect();
            let packing = Packing::new(cases.iter().map(|(ty, _)| ty));
            let mut out = vec![9];
            packing.put(&mut out, |i| cases[i].1, &heap).unwrap();
            let mut other = Heap::new();
            let mut back = Vec::new();
            packing.take(&out[1..], &mut other, |_, slot| back.push(slot)).unwrap();
            assert_eq!(back.len(), cases.len());
            for (slot, (ty, was)) in back.iter().zip(&cases) {
                assert_eq!(other.to_datum(*slot), heap.to_datum(*was), "{ty}");
            }
        }
    }
}
