//! Ranges: constructors, bounds, operators. What they mean is [`planaria_base::range`]'s business.

use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::range::{Range, RangeBound, RangeType, RangeValue};
use planaria_base::{Error, Numeric, Result, SqlState};

/// The range that lies at some bytes.
fn range(heap: &Heap, slot: Slot) -> Result<Range> {
    Range::decode(heap.bytes(slot.bytes())).ok_or_else(|| Error::internal("bytes that are no range"))
}

fn value(slot: Slot, of: RangeType) -> Option<RangeValue> {
    match slot {
        Slot::Int(n) if of == RangeType::Num => Some(RangeValue::Numeric(Numeric::from_i64(n))),
        Slot::Int(n) => Some(RangeValue::Int(n)),
        Slot::Numeric(n) => Some(RangeValue::Numeric(n.unpack())),
        _ => None,
    }
}

fn kept(heap: &mut Heap, range: &Range) -> Result<Slot> {
    heap.bytea(&range.encode())
}

/// `int4range(lower, upper, flags)`; the last argument is the type of range.
pub fn make(heap: &mut Heap, a: &[Slot]) -> Result<Slot> {
    let of = RangeType::at(a[3].int()).ok_or_else(|| Error::internal("no type of range"))?;
    if a[2].is_null() {
        let message = "range constructor flags argument must not be null";
        return Err(Error::new(SqlState::DATA_EXCEPTION, message));
    }
    let (lower, upper) = Range::flags(heap.str(a[2].bytes()))?;
    let side = |slot, inclusive| RangeBound { value: value(slot, of), inclusive };
    kept(heap, &Range::new(of, side(a[0], lower), side(a[1], upper))?)
}

/// The value of a bound; NULL where there is none.
pub fn bound(heap: &Heap, slot: Slot, which: fn(RangeBound, RangeBound) -> RangeBound) -> Result<Slot> {
    let bound = range(heap, slot)?.bounds.map(|(lower, upper)| which(lower, upper));
    Ok(match bound.and_then(|bound| bound.value) {
        None => Slot::Null,
        Some(RangeValue::Int(n)) => Slot::Int(n),
        Some(RangeValue::Numeric(n)) => Slot::numeric(n),
    })
}

/// A question about one range.
pub fn one(heap: &Heap, slot: Slot, ask: fn(&Range) -> bool) -> Result<Slot> {
    Ok(Slot::Bool(ask(&range(heap, slot)?)))
}

/// A question about two.
pub fn two(heap: &Heap, a: &[Slot], ask: fn(&Range, &Range) -> bool) -> Result<Slot> {
    Ok(Slot::Bool(ask(&range(heap, a[0])?, &range(heap, a[1])?)))
}

/// Whether a value is one of a range.
pub fn has(heap: &Heap, slot: Slot, element: Slot) -> Result<Slot> {
    let range = range(heap, slot)?;
    Ok(Slot::Bool(value(element, range.of).is_some_and(|value| range.contains_value(value))))
}

/// A range made of two.
pub fn made(heap: &mut Heap, a: &[Slot], make: fn(&Range, &Range) -> Result<Range>) -> Result<Slot> {
    let made = make(&range(heap, a[0])?, &range(heap, a[1])?)?;
    kept(heap, &made)
}

/// What ranges that overlap it are not above, as bytes.
pub fn ceiling(heap: &mut Heap, slot: Slot) -> Result<Slot> {
    let ceiling = range(heap, slot)?.ceiling();
    heap.bytea(&ceiling)
}
