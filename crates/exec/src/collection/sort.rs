//! Lists in order.
//!
//! 1. Each row gets a *rank*: eight bytes in the order of its first key, DESC and NULLS FIRST included. Where the values
//!    fit, equal ranks are equal values (the rank is exact); else they are only near each other.
//! 2. The ranks are sorted, with the numbers of their rows beside them: which makes it stable, and no row is looked at.
//!    Runs of a bounded length are sorted and then merged, and between it is asked whether to go on.
//! 3. Rows of the same rank are sorted by the next key in the same way, if their ranks are exact, else by comparing.
//! 4. The rows are copied in their new order. Of a large list they stay where they are, and their places are kept: to
//!    get the memory for a copy would take longer than all the rest.
//!
//! Of a list of which the first rows alone are wanted no more are kept than that and as many again: once there are more,
//! it is sorted and cut, and from then on a row that comes behind the last one kept is dropped at once.

use super::{Collection, KEPT_SLOTS_MAX};
use crate::functions;
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::Result;
use planaria_base::numeric::{Long, PackedNumeric};
use planaria_ir::SortKey;
use std::cmp::Ordering;

/// Rows that are sorted, or merged, without asking whether to go on.
const RUN_ROWS: usize = 1 << 16;
/// Keys that are sorted by one after the other; the others are compared.
const KEYS_RANKED: usize = 8;
/// A list is cut when it has so many rows more than twice those that are kept.
const CUT_ROWS: usize = 256;
/// Digits after the point in the rank of a numeric.
const RANK_DIGITS: u32 = 6;

/// A row on its way: 64 bits of its rank, 32 of its number, and whether the rank is not exact. So the order of the numbers
/// is the order of the rows.
pub(super) type Place = u128;

fn place(row: u32, (rank, exact): (u64, bool)) -> Place {
    u128::from(rank) << 64 | u128::from(row) << 32 | u128::from(!exact)
}
fn row_of(place: Place) -> u32 {
    (place >> 32) as u32
}
fn rank_of(place: Place) -> u64 {
    (place >> 64) as u64
}
fn is_exact(place: Place) -> bool {
    place & 1 == 0
}

/// The rank of a value, and whether only equal values have it.
#[inline]
fn rank(value: Slot, key: &SortKey, heap: &Heap) -> (u64, bool) {
    let signed = |n: i64| n as u64 ^ 1 << 63;
    let narrowed = |n: i128| {
        let near = n.clamp(i64::MIN.into(), i64::MAX.into());
        (signed(near as i64), near == n)
    };
    let (rank, exact) = match value {
        // The ends are NULL's; a value there is not known from it.
        Slot::Null => return (if key.nulls_first { 0 } else { u64::MAX }, true),
        Slot::Int(n) => (signed(n), true),
        Slot::Float(x) => (rank_of_float(x), true),
        Slot::Numeric(n) => {
            let (n, exact) = fixed(n);
            let (rank, fits) = narrowed(n);
            (rank, exact && fits)
        }
        Slot::Text(b) | Slot::Bytea(b) => rank_of_bytes(heap.bytes(b)),
        Slot::Citext(b) => rank_of_bytes(&planaria_base::citext::fold(heap.bytes(b))),
        Slot::Bool(b) => (1 + u64::from(b), true),
        Slot::Uuid(u) => (u64::from_be_bytes([u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7]]), false),
        Slot::Interval(i) => narrowed(i.span()),
        Slot::Long(at) => (rank_of_long(&Long::from_bytes(heap.long(at))), false),
        Slot::Jsonb(_) | Slot::Array(_) => (1 << 63, false),
    };
    let rank = if key.descending { !rank } else { rank };
    (rank, exact && rank != 0 && rank != u64::MAX)
}

/// NaN is one value, above all others, and so is zero.
fn rank_of_float(x: f64) -> u64 {
    let bits = if x.is_nan() {
        f64::NAN.to_bits() & !(1 << 63)
    } else if x == 0.0 {
        0
    } else {
        x.to_bits()
    };
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The first seven bytes, then how many there are, of more than seven that.
fn rank_of_bytes(bytes: &[u8]) -> (u64, bool) {
    let mut first = [0; 8];
    let len = bytes.len().min(7);
    first[..len].copy_from_slice(&bytes[..len]);
    first[7] = bytes.len().min(8) as u8;
    (u64::from_be_bytes(first), bytes.len() < 8)
}

/// A numeric in units of 10^-[`RANK_DIGITS`], rounded down, and whether that is it; of numbers beyond 128 bits some such.
fn fixed(n: PackedNumeric) -> (i128, bool) {
    let n = n.unpack();
    let (mantissa, scale) = (n.mantissa(), u32::from(n.scale()));
    if scale <= RANK_DIGITS {
        let unit = 10i64.pow(RANK_DIGITS - scale);
        return match i64::try_from(mantissa) {
            Ok(small) => (i128::from(small) * i128::from(unit), true),
            Err(_) => (mantissa.saturating_mul(unit.into()), true),
        };
    }
    match 10i128.checked_pow(scale - RANK_DIGITS) {
        Some(unit) => (mantissa.div_euclid(unit), mantissa.rem_euclid(unit) == 0),
        // Far below a unit.
        None => (if mantissa < 0 { -1 } else { 0 }, mantissa == 0),
    }
}

/// The same of a long numeric, which has no exact rank: NaN beside infinity, and that beside the greatest numbers.
fn rank_of_long(n: &Long) -> u64 {
    let (floor, _) = n.floor_at(RANK_DIGITS);
    // The extremes are told from NULL by the caller.
    floor.clamp(i64::MIN.into(), i64::MAX.into()) as i64 as u64 ^ 1 << 63
}

/// A list that is being sorted.
struct Sorter<'a> {
    list: &'a Collection,
    keys: &'a [SortKey],
    heap: &'a Heap,
    merged: &'a mut Vec<Place>,
    goes_on: &'a mut dyn FnMut() -> Result<()>,
    /// Rows sorted since it was asked.
    since: usize,
}

impl Sorter<'_> {
    fn row(&self, row: u32) -> &[Slot] {
        self.list.row(row as usize)
    }

    fn rank(&self, row: u32, key: usize) -> (u64, bool) {
        let key = &self.keys[key];
        rank(self.row(row)[key.column as usize], key, self.heap)
    }

    /// By the keys from this one on; rows that are alike in all of them by their number.
    fn by_keys(&mut self, places: &mut [Place], key: usize) -> Result<()> {
        for at in places.iter_mut() {
            *at = place(row_of(*at), self.rank(row_of(*at), key));
        }
        self.in_runs(places, |_, a, b| a.cmp(b))?;
        let mut begin = 0;
        while begin < places.len() {
            let rank = rank_of(places[begin]);
            let alike = places[begin..].iter().take_while(|at| rank_of(**at) == rank).count();
            let run = &mut places[begin..begin + alike];
            begin += alike;
            if alike == 1 {
                continue;
            }
            if !run.iter().all(|at| is_exact(*at)) {
                self.by_comparing(run, key)?;
            } else if key + 1 < self.keys.len().min(KEYS_RANKED) {
                self.by_keys(run, key + 1)?;
            } else if key + 1 < self.keys.len() {
                self.by_comparing(run, key + 1)?;
            }
        }
        Ok(())
    }

    fn by_comparing(&mut self, places: &mut [Place], key: usize) -> Result<()> {
        self.in_runs(places, |sorter, a, b| {
            let (a, b) = (row_of(*a), row_of(*b));
            compare_rows(sorter.row(a), sorter.row(b), &sorter.keys[key..], sorter.heap).then(a.cmp(&b))
        })
    }

    fn in_runs(
        &mut self,
        places: &mut [Place],
        compare: impl Fn(&Self, &Place, &Place) -> Ordering,
    ) -> Result<()> {
        for run in places.chunks_mut(RUN_ROWS) {
            run.sort_unstable_by(|a, b| compare(self, a, b));
            self.since += run.len();
            if self.since >= RUN_ROWS {
                self.since = 0;
                (self.goes_on)()?;
            }
        }
        let mut sorted = RUN_ROWS;
        while sorted < places.len() {
            let mut merged = std::mem::take(self.merged);
            merged.clear();
            for pair in places.chunks(2 * sorted) {
                let (a, b) = pair.split_at(sorted.min(pair.len()));
                self.merge(a, b, &compare, &mut merged)?;
            }
            places.copy_from_slice(&merged);
            *self.merged = merged;
            sorted *= 2;
        }
        Ok(())
    }

    /// Appends two sorted runs to `out` as one.
    fn merge(
        &mut self,
        mut a: &[Place],
        mut b: &[Place],
        compare: &impl Fn(&Self, &Place, &Place) -> Ordering,
        out: &mut Vec<Place>,
    ) -> Result<()> {
        let in_order = match (a.last(), b.first()) {
            (Some(last), Some(first)) => compare(self, last, first).is_lt(),
            _ => true,
        };
        if in_order {
            out.extend_from_slice(a);
            a = &[];
        }
        let mut left = RUN_ROWS;
        while let ([x, after_a @ ..], [y, after_b @ ..]) = (a, b) {
            if compare(self, x, y).is_lt() {
                out.push(*x);
                a = after_a;
            } else {
                out.push(*y);
                b = after_b;
            }
            left -= 1;
            if left == 0 {
                left = RUN_ROWS;
                (self.goes_on)()?;
            }
        }
        out.extend_from_slice(a);
        out.extend_from_slice(b);
        Ok(())
    }
}

impl Collection {
    /// Bytes that [`Collection::sort`] takes for the time of it.
    pub fn sort_bytes(&self) -> usize {
        let merged = if self.len > RUN_ROWS { self.len } else { 0 };
        let result = match self.rows.len() {
            0..=KEPT_SLOTS_MAX => self.rows.len() * size_of::<Slot>(),
            _ => self.len * size_of::<u32>(),
        };
        result + (self.len + merged) * size_of::<Place>()
    }

    /// Sorts the rows, stably; `keys` count from the first column. See the module's head. After an error of `goes_on`
    /// the rows are in the order they were.
    pub fn sort(
        &mut self,
        keys: &[SortKey],
        heap: &Heap,
        goes_on: &mut dyn FnMut() -> Result<()>,
    ) -> Result<()> {
        self.kept = 0;
        if self.len < 2 || keys.is_empty() {
            return Ok(());
        }
        let (mut order, mut merged) = (std::mem::take(&mut self.order), std::mem::take(&mut self.merged));
        order.clear();
        order.extend((0..self.len as u32).map(|row| place(row, (0, true))));
        let mut sorter = Sorter { list: self, keys, heap, merged: &mut merged, goes_on, since: 0 };
        let done = sorter.by_keys(&mut order, 0);
        if done.is_ok() {
            self.arrange(&order);
        }
        if self.rows.len() <= KEPT_SLOTS_MAX {
            (self.order, self.merged) = (order, merged);
        }
        done
    }

    /// Puts the rows into an order.
    fn arrange(&mut self, order: &[Place]) {
        if self.rows.len() > KEPT_SLOTS_MAX {
            self.places = order.iter().map(|at| self.place(row_of(*at) as usize) as u32).collect();
            return;
        }
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.clear();
        order.iter().for_each(|at| sorted.extend_from_slice(self.row(row_of(*at) as usize)));
        self.places.clear();
        self.sorted = std::mem::replace(&mut self.rows, sorted);
        self.sorted.clear();
    }

    /// Looks at the last row of a list that is going to be sorted, and of which no more than the `first` rows then are
    /// wanted, and with `ties` those that tie with the last of them: drops it if it is behind those. Whether there are so
    /// many now that the list is to be sorted and then [cut](Collection::cut).
    #[inline]
    pub fn drop_behind(&mut self, keys: &[SortKey], first: usize, ties: bool, heap: &Heap) -> bool {
        if self.kept > 0 && self.len > self.kept {
            let order = compare_rows(self.row(self.len - 1), self.row(self.kept - 1), keys, heap);
            if order.is_gt() || order.is_eq() && !ties {
                // The last one that came stands last.
                self.len -= 1;
                self.rows.truncate(self.len * self.width);
                self.places.pop();
                return false;
            }
        }
        self.len >= self.kept.max(first).saturating_mul(2).saturating_add(CUT_ROWS)
    }

    /// Drops all but the first rows, and those that tie with the last of them, of a list that has been sorted.
    pub fn cut(&mut self, keys: &[SortKey], first: usize, ties: bool, heap: &Heap) {
        let first = first.clamp(1, self.len);
        let mut kept = first;
        if ties {
            let tie = |row: &usize| compare_rows(self.row(*row), self.row(first - 1), keys, heap).is_eq();
            kept += (first..self.len).take_while(tie).count();
        }
        if self.places.is_empty() {
            self.rows.truncate(kept * self.width);
        } else {
            self.rows = (0..kept).flat_map(|row| self.row(row)).copied().collect();
            self.places.clear();
        }
        (self.len, self.kept) = (kept, kept);
    }
}

fn compare_rows(a: &[Slot], b: &[Slot], keys: &[SortKey], heap: &Heap) -> Ordering {
    for key in keys {
        let (x, y) = (a[key.column as usize], b[key.column as usize]);
        let order = match (x, y) {
            (Slot::Null, Slot::Null) => Ordering::Equal,
            (Slot::Null, _) => return if key.nulls_first { Ordering::Less } else { Ordering::Greater },
            (_, Slot::Null) => return if key.nulls_first { Ordering::Greater } else { Ordering::Less },
            (Slot::Int(x), Slot::Int(y)) => x.cmp(&y),
            (Slot::Text(x), Slot::Text(y)) => heap.bytes(x).cmp(heap.bytes(y)),
            (x, y) => functions::compare(x, y, heap),
        };
        if order != Ordering::Equal {
            return if key.descending { order.reverse() } else { order };
        }
    }
    Ordering::Equal
}

#[cfg(test)]
mod tests;
