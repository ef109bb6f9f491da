//! Ranges of keys: a prefix of columns that equal given values, and bounds on the next column.

use super::{KeyBuf, KeyCodec, NULL, VALUE, int_width, push_value};
use crate::btree::compare_keys;
use crate::row::ColumnKind;
use crate::row::{Column, Field};
use planaria_base::Numeric;
use planaria_base::datetime::Interval;
use planaria_base::limits::INDEX_KEY_BYTES_MAX;
use planaria_base::numeric::Long;

/// One end of a range, as a value of the column after the prefix.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KeyBound<'a> {
    /// The value.
    pub value: Field<'a>,
    /// Whether the value itself is inside.
    pub inclusive: bool,
}

/// The keys from `lower` (inclusive) to `upper` (exclusive, or all), compared as words. Reusable.
#[derive(Clone, Default, Debug)]
pub struct KeyRange {
    lower: KeyBuf,
    upper: KeyBuf,
    bounded: bool,
    empty: bool,
}

impl KeyRange {
    /// All keys.
    pub const fn all() -> KeyRange {
        KeyRange { lower: KeyBuf::new(), upper: KeyBuf::new(), bounded: false, empty: false }
    }
    /// The keys from `from` on and below `to`, in words; all of them without.
    pub fn of_words(from: &[u64], to: Option<&[u64]>) -> KeyRange {
        let mut range = KeyRange::all();
        range.lower.set_words(from);
        if let Some(to) = to {
            range.upper.set_words(to);
            range.bounded = true;
        }
        range.empty = to.is_some_and(|to| compare_keys(from, to).is_ge());
        range
    }
    /// The least key inside.
    #[inline]
    pub fn lower(&self) -> &[u64] {
        self.lower.words()
    }
    /// The least key above; `None` if there is no bound.
    #[inline]
    pub fn upper(&self) -> Option<&[u64]> {
        self.bounded.then(|| self.upper.words())
    }
    /// Whether no key can be inside.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.empty
    }
    /// Whether a key is inside.
    pub fn contains(&self, key: &[u64]) -> bool {
        !self.empty && key >= self.lower() && self.upper().is_none_or(|upper| key < upper)
    }
}

impl KeyCodec {
    /// The keys whose leading columns equal `prefix` and whose next column lies within the bounds.
    pub fn range(
        &self,
        prefix: &[Field<'_>],
        lower: Option<KeyBound<'_>>,
        upper: Option<KeyBound<'_>>,
        out: &mut KeyRange,
    ) {
        self.range_with(prefix.len(), |i| prefix[i], lower, upper, out);
    }

    /// The same, asking for each of the `count` values of the prefix once. A NULL anywhere matches
    /// nothing; without bounds NULLs of the next column are inside, with any bound they are not.
    #[inline]
    pub fn range_with<'a>(
        &self,
        count: usize,
        value: impl FnMut(usize) -> Field<'a>,
        lower: Option<KeyBound<'_>>,
        upper: Option<KeyBound<'_>>,
        out: &mut KeyRange,
    ) {
        out.empty = !self.encode_prefix_with(count, value, &mut out.lower);
        if out.empty {
            return;
        }
        out.upper.copy_from(&out.lower);
        if lower.is_none() && upper.is_none() {
            out.bounded = out.upper.successor();
            return;
        }
        let column = self.columns[count].column;
        let inside = column_bounds(&column, lower, upper, out);
        out.empty = !inside || out.upper().is_some_and(|upper| out.lower() >= upper);
    }
}

/// Appends both ends to the prefix in `out`; `false` if nothing can be inside.
fn column_bounds(
    column: &Column,
    lower: Option<KeyBound<'_>>,
    upper: Option<KeyBound<'_>>,
    out: &mut KeyRange,
) -> bool {
    if [lower, upper].iter().flatten().any(|b| matches!(b.value, Field::Null)) {
        return false;
    }
    if column.nullable() {
        out.lower.push(VALUE, 1);
    }
    if let Some(bound) = lower {
        let width = int_width(column.kind());
        if width != 0 {
            let Some(first) = first_integer(bound, column) else { return false };
            let (min, max) = domain(width);
            if first > max {
                return false;
            }
            push_value(column, integer(first.max(min), column), &mut out.lower);
        } else {
            push_value(column, within(column, bound.value), &mut out.lower);
            if !bound.inclusive && !out.lower.successor() {
                return false;
            }
        }
    }
    out.bounded = match upper {
        None if column.nullable() => {
            out.upper.push(NULL, 1);
            true
        }
        None => out.upper.successor(),
        Some(bound) => {
            if column.nullable() {
                out.upper.push(VALUE, 1);
            }
            let width = int_width(column.kind());
            let mut inclusive = bound.inclusive;
            if width != 0 {
                let Some(last) = last_integer(bound, column) else { return false };
                let (min, max) = domain(width);
                if last < min {
                    return false;
                }
                push_value(column, integer(last.min(max), column), &mut out.upper);
                inclusive = true;
            } else {
                push_value(column, within(column, bound.value), &mut out.upper);
            }
            if inclusive { out.upper.successor() } else { true }
        }
    };
    // Bounds longer than any stored key stay correct: they only compare. They must fit the tree's
    // largest key, though.
    out.lower.truncate_bytes(INDEX_KEY_BYTES_MAX + 8);
    out.upper.truncate_bytes(INDEX_KEY_BYTES_MAX + 8);
    true
}

/// A bound of a column that keeps intervals without months, no further out than what it can keep.
fn within<'a>(column: &Column, value: Field<'a>) -> Field<'a> {
    match value {
        Field::Interval(v) if column.kind() == ColumnKind::OldInterval => {
            let span = v.span().clamp(i64::MIN.into(), i64::MAX.into()) as i64;
            Field::Interval(Interval::of_micros(span))
        }
        value => value,
    }
}

fn domain(width: u32) -> (i128, i128) {
    let half = 1i128 << (8 * width - 1);
    (-half, half - 1)
}

/// An integer within the domain of the column as a value that encodes exactly.
fn integer(v: i128, column: &Column) -> Field<'static> {
    if column.kind() == ColumnKind::Decimal && v == i128::from(i64::MAX) {
        return Field::Long(Long::NAN_BYTES);
    }
    match Numeric::from_parts(v, column.scale()) {
        Some(v) => Field::Numeric(v),
        None => unreachable!("an integer of 64 bits fits a mantissa"),
    }
}

/// [`floor_at`], where the greatest mantissa of a column of 8 bytes is that of NaN.
fn floor_in(value: Field<'_>, column: &Column) -> (i128, bool) {
    let most = if column.kind() == ColumnKind::Decimal { i128::from(i64::MAX) } else { i128::MAX / 2 };
    match value {
        Field::Long(v) if v == Long::NAN_BYTES => (most, true),
        value => {
            let (floor, exact) = floor_at(value, column.scale());
            if floor < most { (floor, exact) } else { (most - 1, false) }
        }
    }
}

/// The value at the column's scale, rounded down, and whether that was exact. Values too large for
/// the arithmetic are far outside any domain: they saturate.
fn floor_at(value: Field<'_>, scale: u8) -> (i128, bool) {
    let v = match value {
        Field::Int(v) => Numeric::from_i64(v),
        Field::Numeric(v) => v,
        Field::Long(v) => return Long::from_bytes(v).floor_at(scale.into()),
        other => unreachable!("{other:?} as a bound of an integer or decimal column"),
    };
    let power = 10i128.checked_pow(u32::from(v.scale().abs_diff(scale)));
    if v.scale() <= scale {
        let scaled = power.and_then(|p| v.mantissa().checked_mul(p));
        let saturated = if v.mantissa() < 0 { i128::MIN / 2 } else { i128::MAX / 2 };
        return (scaled.unwrap_or(if v.mantissa() == 0 { 0 } else { saturated }), true);
    }
    match power {
        Some(p) => (v.mantissa().div_euclid(p), v.mantissa().rem_euclid(p) == 0),
        None if v.mantissa() == 0 => (0, true),
        None => (if v.mantissa() < 0 { -1 } else { 0 }, false),
    }
}

/// The least integer inside a lower bound.
fn first_integer(bound: KeyBound<'_>, column: &Column) -> Option<i128> {
    let (floor, exact) = floor_in(bound.value, column);
    if exact && bound.inclusive { Some(floor) } else { floor.checked_add(1) }
}

/// The greatest integer inside an upper bound.
fn last_integer(bound: KeyBound<'_>, column: &Column) -> Option<i128> {
    let (floor, exact) = floor_in(bound.value, column);
    if exact && !bound.inclusive { floor.checked_sub(1) } else { Some(floor) }
}
