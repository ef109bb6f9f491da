//! Operands of pieces, packed: a tag byte, then what the tag says.
//!
//! Most operands are small numbers, and there are some hundred to a transaction: a number takes its
//! significant bytes and a tag, texts are copied once. Nothing here outlives a replay.

use planaria_base::{Error, Numeric, Result};
use planaria_exec::{Heap, Slot};
use planaria_log::{Value, ValueReader};

const NULL: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const FLOAT: u8 = 3;
const UUID: u8 = 4;
const TEXT: u8 = 5;
const BYTEA: u8 = 6;
const ARRAY: u8 = 7;
/// A scale byte and a number follow.
const NUMERIC: u8 = 8;
/// A scale byte and 16 bytes follow.
const NUMERIC_WIDE: u8 = 9;
/// `INT + n`: n bytes follow, 0 to 8.
const INT: u8 = 16;
/// Tags from here on are numbers themselves.
const SMALL: u8 = 32;
const SMALL_ZERO: i64 = 48;

/// Appends a value.
pub(super) fn put(out: &mut Vec<u8>, slot: Slot, heap: &Heap) {
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
        Slot::Text(at) => put_run(out, TEXT, heap.bytes(at)),
        Slot::Bytea(at) => put_run(out, BYTEA, heap.bytes(at)),
        Slot::Uuid(u) => {
            out.push(UUID);
            out.extend_from_slice(&u);
        }
        Slot::Array(a) => {
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
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl Reader<'_> {
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

    fn run(&mut self) -> &[u8] {
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
    pub(super) fn slot(&mut self, heap: &mut Heap) -> Result<Slot> {
        Ok(match self.byte() {
            tag @ SMALL.. => Slot::Int(i64::from(tag) - SMALL_ZERO),
            tag @ INT.. => Slot::Int(self.zigzag(usize::from(tag - INT))),
            NULL => Slot::Null,
            FALSE => Slot::Bool(false),
            TRUE => Slot::Bool(true),
            FLOAT => Slot::Float(f64::from_bits(u64::from_le_bytes(self.fixed()))),
            UUID => Slot::Uuid(self.fixed()),
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
            TEXT => Slot::Text(heap.arena.push_bytes(self.run())?),
            BYTEA => Slot::Bytea(heap.arena.push_bytes(self.run())?),
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

/// A logged value in `heap`; `None` for bytes that no writer makes.
#[inline]
pub(super) fn logged(values: &mut ValueReader<'_>, heap: &mut Heap) -> Result<Option<Slot>> {
    let Some(value) = values.value() else { return Ok(None) };
    Ok(Some(match value {
        Value::Null => Slot::Null,
        Value::Bool(b) => Slot::Bool(b),
        Value::Int(n) => Slot::Int(n),
        Value::Float(x) => Slot::Float(x),
        Value::Numeric(n) => Slot::numeric(n),
        Value::Text(text) => heap.text(text)?,
        Value::Bytea(bytes) => heap.bytea(bytes)?,
        Value::Uuid(u) => Slot::Uuid(u),
        Value::Array(n) => {
            let mut elements = Vec::new();
            for _ in 0..n {
                match logged(values, heap)? {
                    Some(element) => elements.push(element),
                    None => return Ok(None),
                }
            }
            heap.array(&elements)?
        }
        Value::Ints(n) => {
            let mut array = heap.array(&[])?;
            for _ in 0..n {
                let Some(n) = values.int() else { return Ok(None) };
                array = heap.append(array.array(), Slot::Int(n))?;
            }
            array
        }
    }))
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
}
