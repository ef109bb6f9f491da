//! Ranges: constructors, bounds, operators. What they mean is [`planaria_base::range`]'s business.

use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::range::{Range, RangeBound, RangeType, RangeValue};
use planaria_base::{Error, Numeric, Result, SqlState};

/// The range that lies at some bytes.
fn range(heap: &Heap, slot: Slot) -> Result<Range> {
    Range::decode(heap.bytes(slot.bytes())).ok_or_else(|| Error::internal("bytes that are no range"))
}

fn value(slot: Slot, of: RangeType) -> Result<Option<RangeValue>> {
    Ok(match slot {
        Slot::Int(n) if of == RangeType::Num => Some(RangeValue::Numeric(Numeric::from_i64(n))),
        Slot::Int(n) => Some(RangeValue::Int(n)),
        Slot::Numeric(n) => Some(RangeValue::Numeric(n.unpack())),
        Slot::Long(_) => return Err(planaria_base::range::no_room(planaria_base::numeric::long::no_room())),
        _ => None,
    })
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
    let side = |slot, inclusive| Ok::<_, Error>(RangeBound { value: value(slot, of)?, inclusive });
    kept(heap, &Range::new(of, side(a[0], lower)?, side(a[1], upper)?)?)
}

/// Whether a number with more digits than a bound may have lies within a range.
#[cold]
fn has_long(heap: &Heap, range: &Range, element: Slot) -> bool {
    let (Some(n), Some((lower, upper))) = (heap.to_long(element), &range.bounds) else { return false };
    let order = |bound: &RangeBound| match bound.value {
        Some(RangeValue::Numeric(b)) => Some(n.compare(&b.into())),
        _ => None,
    };
    // It equals no bound.
    order(lower).is_none_or(|o| o.is_gt()) && order(upper).is_none_or(|o| o.is_lt())
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
    if let Slot::Long(_) = element {
        return Ok(Slot::Bool(has_long(heap, &range, element)));
    }
    Ok(Slot::Bool(value(element, range.of)?.is_some_and(|value| range.contains_value(value))))
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
