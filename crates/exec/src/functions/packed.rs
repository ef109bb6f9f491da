//! Functions of the types that are kept as bytes in their order; what they mean is [`planaria_base::packed`]'s business.

use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::packed::inet::Inet;
use planaria_base::{Error, Result};

/// The address that lies at some bytes.
pub fn inet(heap: &Heap, slot: Slot) -> Result<Inet> {
    Inet::decode(heap.bytes(slot.bytes())).ok_or_else(|| Error::internal("bytes that are no address"))
}

/// An address as a value.
pub fn kept(heap: &mut Heap, inet: Inet) -> Result<Slot> {
    heap.bytea(&inet.encode())
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
