//! Aggregates of statistics, over the array of their inputs. Doubles are added up as PostgreSQL does it, by the method of
//! Youngs and Cramer, so that the last digits are the same.

use super::order::eq;
use crate::heap::Heap;
use crate::slot::{ArrayRef, Slot};
use planaria_base::datetime::Interval;
use planaria_base::numeric::Long;
use planaria_base::{Error, Numeric, Result, SqlState};

/// Of `stddev_samp` and its like: of a sample, the root.
fn spread_of(name: &str) -> (bool, bool) {
    (!name.ends_with("_pop"), name.starts_with("stddev"))
}

/// Of elements that are no numbers no plan calls these functions.
#[cold]
fn unexpected() -> Error {
    Error::new(SqlState::DATATYPE_MISMATCH, "statistics of what are no numbers")
}

fn number(slot: Slot) -> Result<Numeric> {
    match slot {
        Slot::Long(_) => Err(planaria_base::numeric::long::no_room()),
        Slot::Int(n) => Numeric::from_i128(n.into()),
        Slot::Numeric(n) => Ok(n.unpack()),
        _ => Err(unexpected()),
    }
}

fn double(slot: Slot) -> Result<f64> {
    match slot {
        Slot::Float(x) => Ok(x),
        _ => Err(unexpected()),
    }
}

pub fn numeric_spread(heap: &mut Heap, array: ArrayRef, name: &str) -> Result<Slot> {
    match short_spread(heap, array, name) {
        Err(e) if planaria_base::numeric::long::is_overflow(&e) => long_spread(heap, array, name),
        done => done,
    }
}

/// The same of numbers of any length.
#[cold]
fn long_spread(heap: &mut Heap, array: ArrayRef, name: &str) -> Result<Slot> {
    let (mut count, mut sum, mut squares) = (0, Long::whole(0), Long::whole(0));
    for slot in heap.elements(array).iter().filter(|slot| !slot.is_null()) {
        let n = heap.to_long(*slot).ok_or_else(unexpected)?;
        count += 1;
        // Squares may be longer than any number that is kept.
        squares = squares.plus_square(&n);
        sum = sum.add(&n)?;
    }
    let (sample, root) = spread_of(name);
    match Long::spread(count, &sum, &squares, sample, root)? {
        Some(n) => heap.number(n.narrow()),
        None => Ok(Slot::Null),
    }
}

fn short_spread(heap: &Heap, array: ArrayRef, name: &str) -> Result<Slot> {
    let (mut count, mut sum, mut squares) = (0, Numeric::ZERO, Numeric::ZERO);
    for slot in heap.elements(array).iter().filter(|slot| !slot.is_null()) {
        let n = number(*slot)?;
        count += 1;
        sum = sum.add(n)?;
        squares = squares.add(n.mul(n)?)?;
    }
    let (sample, root) = spread_of(name);
    Ok(Numeric::spread(count, sum, squares, sample, root)?.map_or(Slot::Null, Slot::numeric))
}

#[cold]
fn overflow() -> Error {
    Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
}

/// A sum of squares of differences, where a new value may make it infinite or no number at all.
fn settled(squares: f64, sum: f64, before: f64, value: f64) -> Result<f64> {
    match squares.is_infinite() || sum.is_infinite() {
        true if !before.is_infinite() && !value.is_infinite() => Err(overflow()),
        true => Ok(f64::NAN),
        false => Ok(squares),
    }
}

pub fn float_spread(heap: &Heap, array: ArrayRef, name: &str) -> Result<Slot> {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for slot in heap.elements(array).iter().filter(|slot| !slot.is_null()) {
        let value = double(*slot)?;
        let (others, before) = (n, sum);
        n += 1.0;
        sum += value;
        if others > 0.0 {
            let difference = value * n - sum;
            squares += difference * difference / (n * others);
            squares = settled(squares, sum, before, value)?;
        } else if !value.is_finite() {
            squares = f64::NAN;
        }
    }
    let (sample, root) = spread_of(name);
    let of = if sample { n - 1.0 } else { n };
    Ok(match of > 0.0 {
        true if root => Slot::Float((squares / of).sqrt()),
        true => Slot::Float(squares / of),
        false => Slot::Null,
    })
}

/// `corr`, `covar_samp`, `regr_slope` and their like, of the pairs of which neither is NULL.
pub fn regression(heap: &Heap, ys: ArrayRef, xs: ArrayRef, name: &str) -> Result<Slot> {
    let [mut n, mut sx, mut sxx, mut sy, mut syy, mut sxy] = [0f64; 6];
    for (y, x) in heap.elements(ys).iter().zip(heap.elements(xs)) {
        if y.is_null() || x.is_null() {
            continue;
        }
        let (y, x) = (double(*y)?, double(*x)?);
        let (others, of_x, of_y) = (n, sx, sy);
        n += 1.0;
        sx += x;
        sy += y;
        if others > 0.0 {
            let (dx, dy) = (x * n - sx, y * n - sy);
            let scale = 1.0 / (n * others);
            sxx = settled(sxx + dx * dx * scale, sx, of_x, x)?;
            syy = settled(syy + dy * dy * scale, sy, of_y, y)?;
            sxy += dx * dy * scale;
            if sxx.is_nan() || syy.is_nan() {
                sxy = f64::NAN;
            }
        } else {
            if !x.is_finite() {
                (sxx, sxy) = (f64::NAN, f64::NAN);
            }
            if !y.is_finite() {
                (syy, sxy) = (f64::NAN, f64::NAN);
            }
        }
    }
    let some = |is: bool, value: f64| Ok(if is { Slot::Float(value) } else { Slot::Null });
    let any = n >= 1.0;
    match name {
        "regr_count" => some(true, n),
        "regr_sxx" => some(any, sxx),
        "regr_syy" => some(any, syy),
        "regr_sxy" => some(any, sxy),
        "regr_avgx" => some(any, sx / n),
        "regr_avgy" => some(any, sy / n),
        "covar_pop" => some(any, sxy / n),
        "covar_samp" => some(n >= 2.0, sxy / (n - 1.0)),
        "corr" => some(any && sxx != 0.0 && syy != 0.0, sxy / (sxx * syy).sqrt()),
        "regr_r2" if any && sxx != 0.0 && syy == 0.0 => some(true, 1.0),
        "regr_r2" => some(any && sxx != 0.0, (sxy * sxy) / (sxx * syy)),
        "regr_slope" => some(any && sxx != 0.0, sxy / sxx),
        "regr_intercept" => some(any && sxx != 0.0, (sy - sx * sxy / sxx) / n),
        _ => Err(unexpected()),
    }
}

pub fn bits(heap: &Heap, array: ArrayRef, name: &str) -> Result<Slot> {
    let mut folded = None;
    for slot in heap.elements(array).iter().filter(|slot| !slot.is_null()) {
        let Slot::Int(bits) = *slot else { return Err(unexpected()) };
        folded = Some(match (folded, name) {
            (None, _) => bits,
            (Some(all), "bit_and") => all & bits,
            (Some(all), "bit_or") => all | bits,
            (Some(all), _) => all ^ bits,
        });
    }
    Ok(folded.map_or(Slot::Null, Slot::Int))
}

fn counted(heap: &Heap, array: ArrayRef) -> Vec<Slot> {
    heap.elements(array).iter().filter(|slot| !slot.is_null()).copied().collect()
}

fn share(p: f64) -> Result<f64> {
    if (0.0..=1.0).contains(&p) {
        return Ok(p);
    }
    let message = format!("percentile value {p} is not between 0 and 1");
    Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message))
}

pub fn percentile_disc(heap: &Heap, array: ArrayRef, p: f64) -> Result<Slot> {
    let (all, p) = (counted(heap, array), share(p)?);
    let row = (p * all.len() as f64).ceil().max(1.0) as usize;
    Ok(all.get(row - 1).copied().unwrap_or(Slot::Null))
}

/// A percentile for each share of an array; of one that is NULL, NULL.
pub fn percentiles(
    heap: &mut Heap,
    array: ArrayRef,
    shares: ArrayRef,
    one: fn(&Heap, ArrayRef, f64) -> Result<Slot>,
) -> Result<Slot> {
    let given = heap.elements(shares).to_vec();
    let all = given.into_iter().map(|share| match share {
        Slot::Null => Ok(Slot::Null),
        share => one(heap, array, double(share)?),
    });
    let all = all.collect::<Result<Vec<Slot>>>()?;
    heap.array_like(shares, &all)
}

/// The two values that a share is between, and how far it is from the first.
fn between(heap: &Heap, array: ArrayRef, p: f64) -> Result<Option<(Slot, Slot, f64)>> {
    let (all, p) = (counted(heap, array), share(p)?);
    if all.is_empty() {
        return Ok(None);
    }
    let at = p * (all.len() - 1) as f64;
    let (low, high) = (at.floor(), at.ceil());
    Ok(Some((all[low as usize], all[high as usize], at - low)))
}

pub fn percentile_cont(heap: &Heap, array: ArrayRef, p: f64) -> Result<Slot> {
    Ok(match between(heap, array, p)? {
        None => Slot::Null,
        Some((low, high, part)) => {
            let (low, high) = (double(low)?, double(high)?);
            // Infinity is no distance from itself.
            Slot::Float(if part == 0.0 { low } else { low + part * (high - low) })
        }
    })
}

pub fn percentile_interval(heap: &Heap, array: ArrayRef, p: f64) -> Result<Option<Interval>> {
    between(heap, array, p)?
        .map(|(low, high, part)| {
            let (Slot::Interval(low), Slot::Interval(high)) = (low, high) else { return Err(unexpected()) };
            low.checked_add(high.checked_sub(low)?.checked_mul(part)?)
        })
        .transpose()
}

/// The most frequent of values that are sorted; of several the first.
pub fn mode(heap: &Heap, array: ArrayRef) -> Slot {
    let all = counted(heap, array);
    let groups = all.chunk_by(|a, b| eq(*a, *b, heap));
    let most = groups.rev().max_by_key(|group| group.len());
    most.map_or(Slot::Null, |group| group[0])
}
