//! Which of so many equal buckets a value between two bounds is in (`width_bucket`), or a row of so many (`ntile`).

use super::order::compare;
use crate::heap::Heap;
use crate::slot::{ArrayRef, Slot};
use planaria_base::numeric::Long;
use planaria_base::{Error, Numeric, Result, SqlState};
use std::cmp::Ordering;

#[cold]
fn wrong(message: &str) -> Error {
    Error::new(SqlState::new("2201G"), message)
}

fn checked_count(count: i64) -> Result<i64> {
    if count <= 0 { Err(wrong("count must be greater than zero")) } else { Ok(count) }
}

fn beyond(count: i64) -> Result<i64> {
    match count < i64::from(i32::MAX) {
        true => Ok(count + 1),
        false => Err(Error::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "integer out of range")),
    }
}

/// 0 below the first bucket, `count + 1` beyond the last; bounds may fall.
pub fn of_float(value: f64, low: f64, high: f64, count: i64) -> Result<i64> {
    checked_count(count)?;
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return Err(wrong("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.is_infinite() || high.is_infinite() {
        return Err(wrong("lower and upper bounds must be finite"));
    }
    let (value, low, high) = match low.total_cmp(&high) {
        _ if low == high => return Err(wrong("lower bound cannot equal upper bound")),
        Ordering::Less => (value, low, high),
        _ => (-value, -low, -high),
    };
    match value {
        _ if value < low => Ok(0),
        _ if value >= high => beyond(count),
        _ => {
            // The range may be wider than the widest number.
            let share = match (high - low).is_infinite() {
                true => (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0),
                false => (value - low) / (high - low),
            };
            Ok(((count as f64 * share) as i64).min(count - 1) + 1)
        }
    }
}

/// The bucket behind so many, which may be beyond the last where the quotient was rounded.
fn within(share: Option<i64>, count: i64) -> Result<i64> {
    match share {
        Some(share) if share < count => Ok(share + 1),
        _ => beyond(count),
    }
}

/// The same of numerics of any length.
#[cold]
pub fn of_long(value: &Long, low: &Long, high: &Long, count: i64) -> Result<i64> {
    checked_count(count)?;
    if value.is_nan() || low.is_nan() || high.is_nan() {
        return Err(wrong("operand, lower bound, and upper bound cannot be NaN"));
    }
    if low.finite().is_none() || high.finite().is_none() {
        return Err(wrong("lower and upper bounds must be finite"));
    }
    let (rises, from_low) = (low.compare(high), value.compare(low));
    let (before, after) = match rises {
        Ordering::Equal => return Err(wrong("lower bound cannot equal upper bound")),
        Ordering::Less => (from_low == Ordering::Less, value.compare(high) != Ordering::Less),
        Ordering::Greater => (from_low == Ordering::Greater, value.compare(high) != Ordering::Greater),
    };
    match (before, after) {
        (true, _) => Ok(0),
        (_, true) => beyond(count),
        _ => {
            // A quotient as PostgreSQL rounds it, which may make it whole.
            let share = value.sub(low)?.mul(&Long::whole(count))?.div(&high.sub(low)?)?;
            within(share.floor()?.to_i64("integer")?, count)
        }
    }
}

/// The same of numerics, exact.
pub fn of_numeric(value: Numeric, low: Numeric, high: Numeric, count: i64) -> Result<i64> {
    checked_count(count)?;
    let (rises, from_low) = (low.compare(high), value.compare(low));
    let (before, after) = match rises {
        Ordering::Equal => return Err(wrong("lower bound cannot equal upper bound")),
        Ordering::Less => (from_low == Ordering::Less, value.compare(high) != Ordering::Less),
        Ordering::Greater => (from_low == Ordering::Greater, value.compare(high) != Ordering::Greater),
    };
    if before {
        return Ok(0);
    }
    if after {
        return beyond(count);
    }
    // A quotient as PostgreSQL rounds it, which may make it whole.
    let share = value.sub(low)?.mul(Numeric::from_i64(count))?.div(high.sub(low)?)?;
    within(share.floor().to_i64(), count)
}

/// How many of some thresholds, which rise, are no greater than a value.
pub fn of_thresholds(heap: &Heap, value: Slot, thresholds: ArrayRef) -> Result<Slot> {
    if heap.shape(thresholds).is_some_and(|shape| shape.dimensions().len() > 1) {
        return Err(Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, "thresholds must be one-dimensional array"));
    }
    let thresholds = heap.elements(thresholds);
    planaria_base::watch::count(thresholds.len());
    if thresholds.iter().any(|slot| slot.is_null()) {
        let message = "thresholds array must not contain NULLs";
        return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message));
    }
    let below = thresholds.partition_point(|slot| compare(*slot, value, heap) != Ordering::Greater);
    Ok(Slot::Int(below as i64))
}

/// The bucket of a row, from 1, of so many rows: the first buckets have one row more where they cannot be equal.
pub fn ntile(row: i64, rows: i64, buckets: i64) -> Result<i64> {
    if buckets <= 0 {
        let message = "argument of ntile must be greater than zero";
        return Err(Error::new(SqlState::new("22014"), message));
    }
    let (rows, buckets) = (i128::from(rows.max(1)), i128::from(buckets));
    let (row, each, longer) = (i128::from(row).clamp(1, rows) - 1, rows / buckets, rows % buckets);
    let bucket = match row < longer * (each + 1) {
        true => row / (each + 1) + 1,
        false => (row - longer) / each.max(1) + 1,
    };
    // There are no more than rows.
    Ok(i64::try_from(bucket).unwrap_or(i64::MAX))
}
