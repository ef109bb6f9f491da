//! Functions of the types that are kept as bytes in their order; what they mean is [`planaria_base::packed`]'s business.

use crate::heap::Heap;
use crate::slot::{ArrayRef, Slot};
use planaria_base::packed::bits::Bits;
use planaria_base::packed::inet::Inet;
use planaria_base::packed::money;
use planaria_base::packed::timetz::TimeTz;
use planaria_base::{Error, Result, SqlState};
use planaria_storage::arena::Bytes;

/// The address that lies at some bytes.
pub fn inet(heap: &Heap, slot: Slot) -> Result<Inet> {
    Inet::decode(heap.bytes(slot.bytes())).ok_or_else(|| Error::internal("bytes that are no address"))
}

/// An address as a value.
pub fn kept(heap: &mut Heap, inet: Inet) -> Result<Slot> {
    heap.bytea(&inet.encode())
}

/// The time with a zone that lies at some bytes.
pub fn time(heap: &Heap, slot: Slot) -> Result<TimeTz> {
    TimeTz::decode(heap.bytes(slot.bytes())).ok_or_else(|| Error::internal("bytes that are no time"))
}

/// One made of another.
pub fn timed(heap: &mut Heap, slot: Slot, make: impl FnOnce(TimeTz) -> TimeTz) -> Result<Slot> {
    let made = make(time(heap, slot)?);
    heap.bytea(&made.encode())
}

/// A text of an address, by its place: see [`planaria_ir::Func::InetText`].
pub fn inet_text(heap: &mut Heap, slot: Slot, which: i64) -> Result<Slot> {
    let inet = inet(heap, slot)?;
    let mut text = Vec::new();
    match which {
        0 => inet.write_host(&mut text),
        1 => inet.write(false, &mut text),
        2 => inet.write(true, &mut text),
        _ => inet.write_short(&mut text),
    }
    heap.text(&String::from_utf8_lossy(&text))
}

/// What follows from an address, by its place: see [`planaria_ir::Func::InetOf`].
pub fn inet_of(heap: &mut Heap, slot: Slot, which: i64) -> Result<Slot> {
    let inet = inet(heap, slot)?;
    let of = match which {
        0 => inet.broadcast(),
        1 => inet.netmask(),
        2 => inet.hostmask(),
        _ => inet.network(),
    };
    kept(heap, of)
}

/// With a mask of so many bits; of a network the rest is cut off.
pub fn set_mask(heap: &mut Heap, slot: Slot, bits: i64, network: bool) -> Result<Slot> {
    let inet = inet(heap, slot)?.with_mask(bits)?;
    kept(heap, if network { inet.network() } else { inet })
}

/// A question about two addresses.
pub fn two(heap: &Heap, a: &[Slot], ask: fn(&Inet, &Inet) -> bool) -> Result<Slot> {
    Ok(Slot::Bool(ask(&inet(heap, a[0])?, &inet(heap, a[1])?)))
}

/// An address made of two.
pub fn made(heap: &mut Heap, a: &[Slot], make: fn(&Inet, &Inet) -> Result<Inet>) -> Result<Slot> {
    let made = make(&inet(heap, a[0])?, &inet(heap, a[1])?)?;
    kept(heap, made)
}

/// Bytes made of the bytes of a value.
pub fn bytes(heap: &mut Heap, slot: Slot, make: impl Fn(&[u8]) -> Vec<u8>) -> Result<Slot> {
    let made = make(heap.bytes(slot.bytes()));
    heap.bytea(&made)
}

/// Bytes made of those of two values, each of two.
pub fn pairs(heap: &mut Heap, a: &[Slot], make: fn((&u8, &u8)) -> u8) -> Result<Slot> {
    let pairs = heap.bytes(a[0].bytes()).iter().zip(heap.bytes(a[1].bytes()));
    let made: Vec<u8> = pairs.map(make).collect();
    heap.bytea(&made)
}

/// The bits that lie at some bytes.
pub fn bits(heap: &Heap, slot: Slot) -> Result<Bits> {
    Bits::decode(heap.bytes(slot.bytes())).ok_or_else(|| Error::internal("bytes that are no bits"))
}

/// A number that bits have.
pub fn of_bits(heap: &Heap, slot: Slot, ask: impl Fn(&Bits) -> i64) -> Result<Slot> {
    Ok(Slot::Int(ask(&bits(heap, slot)?)))
}

/// Bits made of some.
pub fn made_bits(heap: &mut Heap, slot: Slot, make: impl Fn(Bits) -> Result<Bits>) -> Result<Slot> {
    let made = make(bits(heap, slot)?)?.encode();
    heap.bytea(&made)
}

/// Bits made of two strings of them.
pub fn paired_bits(heap: &mut Heap, a: &[Slot], make: fn(Bits, &Bits) -> Result<Bits>) -> Result<Slot> {
    let made = make(bits(heap, a[0])?, &bits(heap, a[1])?)?.encode();
    heap.bytea(&made)
}

/// `bit_and` and its like over the array of their inputs.
pub fn fold_bits(heap: &mut Heap, array: ArrayRef, name: Bytes) -> Result<Slot> {
    let inputs: Vec<Slot> = heap.elements(array).iter().filter(|slot| !slot.is_null()).copied().collect();
    let fold = match heap.str(name) {
        "bit_and" => Bits::and,
        "bit_or" => Bits::or,
        _ => Bits::xor,
    };
    let mut folded: Option<Bits> = None;
    for slot in inputs {
        let next = bits(heap, slot)?;
        folded = Some(match folded {
            None => next,
            Some(all) => fold(&all, &next)?,
        });
    }
    match folded {
        None => Ok(Slot::Null),
        Some(all) => heap.bytea(&all.encode()),
    }
}

/// The cents of an amount.
pub fn cents(heap: &Heap, slot: Slot) -> Result<i64> {
    money::decode(heap.bytes(slot.bytes())).ok_or_else(|| Error::internal("bytes that are no amount"))
}

/// An amount as a value.
pub fn amount(heap: &mut Heap, cents: i64) -> Result<Slot> {
    heap.bytea(&money::encode(cents))
}

/// What an amount can be divided by.
pub fn divisor(by: f64) -> Result<f64> {
    if by == 0.0 {
        return Err(Error::new(SqlState::DIVISION_BY_ZERO, "division by zero"));
    }
    Ok(by)
}
