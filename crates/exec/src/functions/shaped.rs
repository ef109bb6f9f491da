//! Arrays of several dimensions, or whose first element is not number 1: parts of them, and how they are made.

use crate::heap::{Heap, subscript_out_of_range, too_large, wrong_number_of_subscripts};
use crate::slot::{ArrayRef, Slot};
use planaria_base::limits::ARRAY_DIMENSIONS_MAX;
use planaria_base::shape::{Dimension, Shape, too_many_dimensions};
use planaria_base::watch::Pace;
use planaria_base::{Error, Result, SqlState};
use planaria_storage::arena::Bytes;

#[cold]
pub fn subscript_error(message: &str) -> Error {
    Error::new(SqlState::ARRAY_SUBSCRIPT_ERROR, message)
}

#[cold]
fn null_not_allowed(message: &str) -> Error {
    Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, message)
}

/// How many dimensions there are; of an empty array none.
pub fn count(heap: &Heap, array: ArrayRef) -> usize {
    heap.dimensions(array).map_or(0, |shape| shape.dimensions().len())
}

/// A dimension by its number from 1.
pub fn dimension(heap: &Heap, array: ArrayRef, number: i64) -> Option<Dimension> {
    let at = usize::try_from(number.checked_sub(1)?).ok()?;
    heap.dimensions(array)?.dimensions().get(at).copied()
}

/// `array_dims`; NULL of an empty array.
pub fn text_of_dimensions(heap: &mut Heap, array: ArrayRef) -> Result<Slot> {
    let Some(shape) = heap.dimensions(array) else { return Ok(Slot::Null) };
    heap.build_text(|_, out| shape.write(out))
}

/// `array[i][j]..`: NULL outside, or where the subscripts are not as many as dimensions.
pub fn at(heap: &Heap, array: ArrayRef, subscripts: &[Slot]) -> Slot {
    let place = heap.dimensions(array).and_then(|shape| shape.place(subscripts.iter().map(|s| s.int())));
    place.map_or(Slot::Null, |at| heap.elements(array)[at])
}

/// The bounds of a slice, as far as they are given.
#[derive(Clone, Copy)]
struct Bounds {
    lower: Option<i64>,
    upper: Option<i64>,
}

/// Out of what says of each bound whether it is given, and those that are.
fn bounds(given: &str, values: &[Slot]) -> Vec<Bounds> {
    let mut values = values.iter();
    let (low, high) = (i64::from(i32::MIN), i64::from(i32::MAX));
    let mut next = |given: Option<&u8>| match given {
        Some(b'1') => values.next().map(|v| v.int().clamp(low, high)),
        _ => None,
    };
    let pairs = given.as_bytes().chunks(2);
    pairs.map(|pair| Bounds { lower: next(pair.first()), upper: next(pair.get(1)) }).collect()
}

/// A box within an array: in each dimension the first place, from 0, and how many.
type Span = Vec<(usize, usize)>;

/// Calls for each run of elements that lie behind one another in a box: place and number.
fn runs(shape: &Shape, span: &Span, each: &mut dyn FnMut(usize, usize) -> Result<()>) -> Result<()> {
    let sizes: Vec<usize> = (1..=span.len()).map(|outer| shape.part(outer)).collect();
    let (last, outer) = span.split_last().expect("an array has dimensions");
    let mut places = vec![0usize; outer.len()];
    loop {
        let start: usize =
            outer.iter().zip(&places).zip(&sizes).map(|(((from, _), i), size)| (from + i) * size).sum();
        each(start + last.0, last.1)?;
        // The next place, from the innermost dimension out.
        let mut turned = outer.len();
        loop {
            let Some(dimension) = turned.checked_sub(1) else { return Ok(()) };
            places[dimension] += 1;
            if places[dimension] < outer[dimension].1 {
                break;
            }
            places[dimension] = 0;
            turned = dimension;
        }
    }
}

/// `array[from:to]..`: the part that exists, its elements counted from 1.
pub fn slice(heap: &mut Heap, array: ArrayRef, given: Bytes, values: &[Slot]) -> Result<Slot> {
    let bounds = bounds(heap.str(given), values);
    let Some(shape) = heap.dimensions(array) else { return heap.array(&[]) };
    if shape.dimensions().len() < bounds.len() {
        return heap.array(&[]);
    }
    let mut span = Span::with_capacity(bounds.len());
    for (i, dimension) in shape.dimensions().iter().enumerate() {
        let (lower, upper) = (i64::from(dimension.lower), dimension.upper());
        let of = bounds.get(i).copied().unwrap_or(Bounds { lower: None, upper: None });
        let from = of.lower.map_or(lower, |from| from.max(lower));
        let to = of.upper.map_or(upper, |to| to.min(upper));
        if from > to {
            return heap.array(&[]);
        }
        span.push(((from - lower) as usize, (to - from + 1) as usize));
    }
    if let [(from, len)] = span[..] {
        return Ok(heap.slice(array, from, from + len));
    }
    let dimensions: Vec<Dimension> =
        span.iter().map(|(_, len)| Dimension { lower: 1, len: *len as u32 }).collect();
    heap.admit(span.iter().map(|(_, len)| len).product::<usize>() * size_of::<Slot>())?;
    let mut pace = Pace::default();
    let mut elements = Vec::new();
    runs(&shape, &span, &mut |start, len| {
        elements.extend_from_slice(&heap.elements(array)[start..start + len]);
        pace.step(len * size_of::<Slot>())
    })?;
    let list = heap.array(&elements)?.array();
    heap.shaped(list, Shape::new(&dimensions)?)
}

/// What `array[from:to].. = source` makes of an array: the elements of the source in their order. A list grows, NULLs fill
/// what is between; of an empty array, or none, all bounds must be given.
pub fn put_slice(heap: &mut Heap, array: Slot, source: Slot, given: Slot, values: &[Slot]) -> Result<Slot> {
    if values.iter().any(|v| v.is_null()) {
        return Err(super::null_subscript());
    }
    // An empty array is made of none even where nothing is put into it.
    let array = match array {
        Slot::Array(array) => array,
        _ => ArrayRef::list(0, 0),
    };
    let (Slot::Array(source), Slot::Text(given)) = (source, given) else { return Ok(Slot::Array(array)) };
    let bounds = bounds(heap.str(given), values);
    let Some(shape) = heap.dimensions(array) else {
        let mut dimensions = Vec::with_capacity(bounds.len());
        for bound in bounds {
            let (Some(lower), Some(upper)) = (bound.lower, bound.upper) else {
                let detail = "When assigning to a slice of an empty array value, slice boundaries must be fully specified.";
                return Err(
                    subscript_error("array slice subscript must provide both boundaries").with_detail(detail)
                );
            };
            dimensions.push(dimension_between(lower, upper)?);
        }
        let shape = Shape::new(&dimensions)?;
        let wanted = shape.map_or(0, |shape| shape.elements());
        if (source.len as usize) < wanted {
            return Err(subscript_error("source array too small"));
        }
        let elements = heap.elements(source)[..wanted].to_vec();
        let list = heap.array(&elements)?.array();
        return heap.shaped(list, shape);
    };
    if shape.dimensions().len() < bounds.len() {
        return Err(wrong_number_of_subscripts());
    }
    let mut dimensions = shape.dimensions().to_vec();
    let grows = dimensions.len() == 1;
    let mut chosen = Vec::with_capacity(dimensions.len());
    for (i, dimension) in shape.dimensions().iter().enumerate() {
        let (lower, upper) = (i64::from(dimension.lower), dimension.upper());
        let of = bounds.get(i).copied().unwrap_or(Bounds { lower: None, upper: None });
        let (from, to) = (of.lower.unwrap_or(lower), of.upper.unwrap_or(upper));
        if from > to {
            return Err(subscript_error("upper bound cannot be less than lower bound"));
        }
        if grows {
            dimensions[i] = dimension_between(from.min(lower), to.max(upper))?;
        } else if from < lower || to > upper {
            return Err(subscript_out_of_range());
        }
        chosen.push((from, to));
    }
    let whole = Shape::new(&dimensions)?.ok_or_else(too_large)?;
    let span: Span = whole
        .dimensions()
        .iter()
        .zip(chosen)
        .map(|(dimension, (from, to))| {
            ((from - i64::from(dimension.lower)) as usize, (to - from + 1) as usize)
        })
        .collect();
    if span.iter().map(|(_, len)| len).product::<usize>() > source.len as usize {
        return Err(subscript_error("source array too small"));
    }
    heap.admit(2 * whole.elements() * size_of::<Slot>())?;
    let mut elements = heap.elements(array).to_vec();
    if grows {
        let before = (i64::from(shape.dimensions()[0].lower) - i64::from(dimensions[0].lower)) as usize;
        elements.splice(0..0, std::iter::repeat_n(Slot::Null, before));
        elements.resize(whole.elements(), Slot::Null);
    }
    let mut pace = Pace::default();
    let mut taken = 0;
    runs(&whole, &span, &mut |start, len| {
        elements[start..start + len].copy_from_slice(&heap.elements(source)[taken..taken + len]);
        taken += len;
        pace.step(len * size_of::<Slot>())
    })?;
    let list = heap.array(&elements)?.array();
    heap.shaped(list, Some(whole))
}

fn dimension_between(lower: i64, upper: i64) -> Result<Dimension> {
    let len = u32::try_from(upper - lower + 1).map_err(|_| too_large())?;
    Ok(Dimension { lower: lower as i32, len })
}

/// One array of arrays that are alike, which become its rows; `unlike` is the error where they are not.
fn stacked(heap: &mut Heap, rows: &[ArrayRef], unlike: impl Fn() -> Error) -> Result<Slot> {
    let Some(first) = rows.first() else { return heap.array(&[]) };
    let inner = heap.dimensions(*first).ok_or_else(&unlike)?;
    let mut dimensions = vec![Dimension { lower: 1, len: rows.len() as u32 }];
    dimensions.extend_from_slice(inner.dimensions());
    let shape = Shape::new(&dimensions)?;
    let mut pace = Pace::default();
    let mut elements = Vec::new();
    for row in rows {
        if heap.dimensions(*row) != Some(inner) {
            return Err(unlike());
        }
        heap.admit(elements.len() * size_of::<Slot>())?;
        elements.extend_from_slice(heap.elements(*row));
        pace.step(row.len as usize * size_of::<Slot>())?;
    }
    let list = heap.array(&elements)?.array();
    heap.shaped(list, shape)
}

/// `ARRAY[a, b, ..]` of arrays: where all are NULL or empty, so is it.
pub fn nest(heap: &mut Heap, rows: &[Slot]) -> Result<Slot> {
    let some = |row: &Slot| match row {
        Slot::Array(array) if array.len > 0 => Some(*array),
        _ => None,
    };
    let arrays: Vec<ArrayRef> = rows.iter().filter_map(some).collect();
    let unlike =
        || subscript_error("multidimensional arrays must have array expressions with matching dimensions");
    if !arrays.is_empty() && arrays.len() < rows.len() {
        return Err(unlike());
    }
    stacked(heap, &arrays, unlike)
}

/// `array_agg` of arrays, which were put into one: they must have elements.
pub fn stack(heap: &mut Heap, rows: ArrayRef) -> Result<Slot> {
    let rows = heap.elements(rows).to_vec();
    let mut arrays = Vec::with_capacity(rows.len());
    for row in rows {
        match row {
            Slot::Array(array) if array.len == 0 && arrays.is_empty() => {
                return Err(subscript_error("cannot accumulate empty arrays"));
            }
            Slot::Array(array) => arrays.push(array),
            _ => return Err(null_not_allowed("cannot accumulate null arrays")),
        }
    }
    stacked(heap, &arrays, || subscript_error("cannot accumulate arrays of different dimensionality"))
}

/// What `FOREACH .. SLICE` goes through: the parts of an array of so many of its inner dimensions, in a list.
pub fn parts(heap: &mut Heap, array: ArrayRef, inner: i64) -> Result<Slot> {
    let all = count(heap, array);
    let inner = match usize::try_from(inner) {
        Ok(inner) if inner <= all => inner,
        _ => {
            let message = format!("slice dimension ({inner}) is out of the valid range 0..{all}");
            return Err(subscript_error(&message));
        }
    };
    let Some(shape) = heap.dimensions(array) else { return heap.array(&[]) };
    if inner == 0 {
        return Ok(Slot::Array(array.flat()));
    }
    let part = Shape::new(&shape.dimensions()[all - inner..])?;
    let size = shape.part(all - inner);
    let first = heap.shaped(ArrayRef::list(array.offset, size as u32), part)?.array();
    let starts = (0..array.len).step_by(size);
    heap.array_of(starts.map(|at| Slot::Array(ArrayRef { offset: array.offset + at, ..first })))
}

/// `a || b`: of as many dimensions one behind the other, of one less it is a row of the other.
pub fn concat(heap: &mut Heap, a: ArrayRef, b: ArrayRef) -> Result<Slot> {
    let (Some(of_a), Some(of_b)) = (heap.dimensions(a), heap.dimensions(b)) else {
        return Ok(Slot::Array(if b.len == 0 { a } else { b }));
    };
    let (in_a, in_b) = (of_a.dimensions(), of_b.dimensions());
    let incompatible =
        |detail: &str| subscript_error("cannot concatenate incompatible arrays").with_detail(detail);
    let mut dimensions;
    match in_a.len() as i64 - in_b.len() as i64 {
        0 => {
            dimensions = in_a.to_vec();
            if in_a[1..] != in_b[1..] {
                return Err(incompatible(
                    "Arrays with differing element dimensions are not compatible for concatenation.",
                ));
            }
            dimensions[0].len += in_b[0].len;
        }
        difference @ (-1 | 1) => {
            let (outer, row) = if difference > 0 { (in_a, in_b) } else { (in_b, in_a) };
            dimensions = outer.to_vec();
            if outer[1..] != *row {
                return Err(incompatible(
                    "Arrays with differing dimensions are not compatible for concatenation.",
                ));
            }
            dimensions[0].len += 1;
        }
        _ => {
            let (a, b) = (in_a.len(), in_b.len());
            return Err(incompatible(&format!(
                "Arrays of {a} and {b} dimensions are not compatible for concatenation."
            )));
        }
    }
    let shape = Shape::new(&dimensions)?;
    let both = heap.append_all(a, b)?.array();
    heap.shaped(both, shape)
}

/// `array_fill`: so many of a value, by dimensions; their lower bounds, where they are given, are as many.
pub fn fill(heap: &mut Heap, value: Slot, lengths: Slot, lowers: Option<Slot>) -> Result<Slot> {
    let none = || null_not_allowed("dimension array or low bound array cannot be null");
    let numbers = |heap: &Heap, of: Slot| -> Result<Vec<i64>> {
        let Slot::Array(of) = of else { return Err(none()) };
        if count(heap, of) > 1 {
            let detail = "Dimension array must be one dimensional.";
            return Err(wrong_number_of_subscripts().with_detail(detail));
        }
        let number = |n: &Slot| match n {
            Slot::Int(n) => Ok(*n),
            _ => Err(null_not_allowed("dimension values cannot be null")),
        };
        heap.elements(of).iter().map(number).collect()
    };
    if lowers.is_some_and(|lowers| lowers.is_null()) {
        return Err(none());
    }
    let lengths = numbers(heap, lengths)?;
    if lengths.len() > ARRAY_DIMENSIONS_MAX {
        return Err(too_many_dimensions(lengths.len()));
    }
    let lowers = match lowers {
        Some(lowers) => numbers(heap, lowers)?,
        None => vec![1; lengths.len()],
    };
    if lowers.len() != lengths.len() {
        let detail = "Low bound array has different size than dimensions array.";
        return Err(wrong_number_of_subscripts().with_detail(detail));
    }
    let mut dimensions = Vec::with_capacity(lengths.len());
    for (lower, len) in lowers.into_iter().zip(lengths) {
        let len = u32::try_from(len).map_err(|_| too_large())?;
        dimensions.push(Dimension { lower: lower as i32, len });
    }
    let Some(shape) = Shape::new(&dimensions)? else { return heap.array(&[]) };
    let list = heap.array_of(std::iter::repeat_n(value, shape.elements()))?.array();
    heap.shaped(list, Some(shape))
}
