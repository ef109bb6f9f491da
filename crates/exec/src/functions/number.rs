//! Functions of numerics: first with two words, and where these have no room, or a number had none before, with any length.

use super::{bucket, digits, fast, is, template};
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::numeric::long::is_overflow;
use planaria_base::numeric::{Long, Number};
use planaria_base::{Error, Numeric, Result};
use planaria_ir::Func;
use std::cmp::Ordering;

fn num(n: Result<Numeric>) -> Result<Slot> {
    n.map(Slot::numeric)
}

/// A function of the numeric class, of arguments that are not NULL.
pub fn apply(func: Func, a: &[Slot], heap: &mut Heap) -> Result<Slot> {
    if !a.iter().any(|slot| matches!(slot, Slot::Long(_))) {
        match short(func, a, heap) {
            Err(e) if is_overflow(&e) => {}
            done => return done,
        }
    }
    long(func, a, heap)
}

#[rustfmt::skip]
fn short(func: Func, a: &[Slot], heap: &mut Heap) -> Result<Slot> {
    use Func::*;
    match func {
        NumAdd => num(a[0].num().add(a[1].num())),
        NumSub => num(a[0].num().sub(a[1].num())),
        NumMul => num(a[0].num().mul(a[1].num())),
        NumDiv => num(a[0].num().div(a[1].num())),
        NumMod => num(a[0].num().rem(a[1].num())),
        NumNeg => Ok(Slot::numeric(a[0].num().neg())),
        NumAbs => Ok(Slot::numeric(a[0].num().abs())),
        NumSign => Ok(Slot::numeric(a[0].num().sign())),
        NumCeil => Ok(Slot::numeric(a[0].num().ceil())),
        NumFloor => Ok(Slot::numeric(a[0].num().floor())),
        NumRound => num(a[0].num().round(digits(a[1]))),
        NumTrunc => num(a[0].num().trunc(digits(a[1]))),
        NumSqrt => num(a[0].num().sqrt()),
        NumPower => num(a[0].num().power(a[1].num())),
        NumExp => num(a[0].num().exp()),
        NumLn => num(a[0].num().ln()),
        NumLog10 => num(a[0].num().log(Numeric::from_i64(10))),
        NumLog => num(a[1].num().log(a[0].num())),
        NumDivTrunc => num(a[0].num().div_trunc(a[1].num())),
        NumMinScale => Ok(Slot::Int(i64::from(a[0].num().normalized().scale()))),
        NumTrimScale => Ok(Slot::numeric(a[0].num().normalized())),
        NumScale => Ok(Slot::Int(i64::from(a[0].num().scale()))),
        NumEq | NumNe | NumLt | NumLe | NumGt | NumGe => is(a[0].num().compare(a[1].num()), func),
        NumAvg => num(Numeric::avg(a[0].num(), a[1].int())),
        NumWidthBucket => bucket::of_numeric(a[0].num(), a[1].num(), a[2].num(), a[3].int()).map(Slot::Int),
        ToCharNumeric => heap.build(|heap, out| a[0].num().to_char(out, template(heap, a[1])?)).map(Slot::Text),
        // They are seldom asked for: one way for all lengths.
        _ => long(func, a, heap),
    }
}

#[cold]
fn of(heap: &Heap, slot: Slot) -> Result<Long> {
    heap.to_long(slot).ok_or_else(|| Error::internal("a numeric that is none"))
}

#[cold]
#[inline(never)]
fn long(func: Func, a: &[Slot], heap: &mut Heap) -> Result<Slot> {
    use Func::*;
    let x = of(heap, a[0])?;
    let other = |at: usize| of(heap, a[at]);
    let result = match func {
        NumAdd => x.add(&other(1)?)?,
        NumSub => x.sub(&other(1)?)?,
        NumMul => x.mul(&other(1)?)?,
        NumDiv => x.div(&other(1)?)?,
        NumMod => x.rem(&other(1)?)?,
        NumNeg => x.neg(),
        NumAbs => x.abs(),
        NumSign => x.sign(),
        NumCeil => x.ceil()?,
        NumFloor => x.floor()?,
        NumRound => x.round(digits(a[1]))?,
        NumTrunc => x.trunc(digits(a[1]))?,
        NumSqrt => x.sqrt()?,
        NumPower => x.power(&other(1)?)?,
        NumExp => x.exp()?,
        NumLn => x.ln()?,
        NumLog10 => x.log(&Long::whole(10))?,
        NumLog => other(1)?.log(&x)?,
        NumDivTrunc => x.div_trunc(&other(1)?)?,
        NumGcd => x.gcd(&other(1)?)?,
        NumLcm => x.lcm(&other(1)?)?,
        NumFactorial => Long::factorial(a[0].int())?,
        NumAvg => Long::avg(&x, a[1].int())?,
        NumTrimScale => x.normalized(),
        NumMinScale => return Ok(scale(x.normalized())),
        NumScale => return Ok(scale(x)),
        NumEq | NumNe | NumLt | NumLe | NumGt | NumGe => return is(x.compare(&other(1)?), func),
        NumWidthBucket => return bucket::of_long(&x, &other(1)?, &other(2)?, a[3].int()).map(Slot::Int),
        ToCharNumeric => {
            return heap.build(|heap, out| x.to_char(out, template(heap, a[1])?)).map(Slot::Text);
        }
        _ => return Err(Error::internal("a function that is none of numerics")),
    };
    heap.number(result.narrow())
}

fn scale(n: Long) -> Slot {
    n.scale().map_or(Slot::Null, |scale| Slot::Int(scale.into()))
}

/// What the machine does not do with two words itself: a strict function of two operands.
#[cold]
#[inline(never)]
pub fn apply_two(func: Func, a: Slot, b: Slot, heap: &mut Heap) -> Result<Slot> {
    if a.is_null() || b.is_null() { Ok(Slot::Null) } else { apply(func, &[a, b], heap) }
}

/// The order of two numerics of which at least one is long.
#[cold]
#[inline(never)]
pub fn compare(a: Slot, b: Slot, heap: &Heap) -> Ordering {
    match (heap.to_long(a), heap.to_long(b)) {
        (Some(a), Some(b)) => a.compare(&b),
        // No plan compares a numeric with anything else.
        _ => Ordering::Equal,
    }
}

/// The order of two numerics; `None` if one of them is NULL.
#[inline]
pub fn order(a: Slot, b: Slot, heap: &Heap) -> Option<Ordering> {
    match (a, b) {
        (Slot::Numeric(a), Slot::Numeric(b)) => Some(fast::num_cmp(a, b)),
        (Slot::Null, _) | (_, Slot::Null) => None,
        (a, b) => Some(compare(a, b, heap)),
    }
}

/// A numeric as `numeric(precision, scale)`, or as it is.
#[cold]
#[inline(never)]
pub fn rescale(slot: Slot, modifier: Option<(u16, i16)>, heap: &mut Heap) -> Result<Slot> {
    let Some((precision, scale)) = modifier else { return Ok(slot) };
    match slot {
        Slot::Null => Ok(Slot::Null),
        slot => {
            let n = of(heap, slot)?.rescale(precision, scale)?;
            heap.number(n.narrow())
        }
    }
}

/// The same of a number that is in no heap yet.
pub fn modified(n: Number, modifier: Option<(u16, i16)>, heap: &mut Heap) -> Result<Slot> {
    let n = match modifier {
        Some((precision, scale)) => n.rescale(precision, scale)?,
        None => n,
    };
    heap.number(n)
}

/// `pg_size_pretty` of a numeric.
pub fn size_pretty(heap: &mut Heap, bytes: Slot) -> Result<Slot> {
    // Units, below what they are taken, and how many bits smaller than the one behind it each is. But for the first, one bit
    // more is kept until the end, to round by.
    const UNITS: [(&str, i64, u32); 6] = [
        ("bytes", 10 * 1024, 9),
        ("kB", 20 * 1024 - 1, 10),
        ("MB", 20 * 1024 - 1, 10),
        ("GB", 20 * 1024 - 1, 10),
        ("TB", 20 * 1024 - 1, 10),
        ("PB", i64::MAX, 0),
    ];
    let mut size = of(heap, bytes)?;
    for (i, (unit, limit, bits)) in UNITS.into_iter().enumerate() {
        if i + 1 < UNITS.len() && size.abs().compare(&Long::whole(limit)) != Ordering::Less {
            size = size.div_trunc(&Long::whole(1 << bits))?;
            continue;
        }
        if i > 0 {
            let away = Long::whole(if size.signum() < 0 { -1 } else { 1 });
            size = size.add(&away)?.div_trunc(&Long::whole(2))?;
        }
        return heap
            .build(|_, out| {
                size.write(out);
                out.extend_from_slice(format!(" {unit}").as_bytes());
                Ok(())
            })
            .map(Slot::Text);
    }
    Err(Error::internal("a size beyond all units"))
}
