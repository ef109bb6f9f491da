//! Dimensions of arrays. A list that begins at element 1, or is empty, has no [`Shape`]: it is its elements alone, wherever
//! it is kept. Whatever else an array may be, in more dimensions or from another bound on, has one beside its elements,
//! which stand in row-major order.

use crate::error::{Error, Result, SqlState};
use crate::limits::{ARRAY_DIMENSIONS_MAX, ARRAY_ELEMENTS_MAX};
use crate::{Datum, text_io};
use serde::{Deserialize, Serialize};

/// One dimension of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Dimension {
    /// Subscript of the first element.
    pub lower: i32,
    /// How many there are, at least one.
    pub len: u32,
}

impl Dimension {
    /// Subscript of the last element.
    pub fn upper(self) -> i64 {
        i64::from(self.lower) + i64::from(self.len) - 1
    }

    /// Where the element of a subscript is, from 0.
    pub fn place(self, subscript: i64) -> Option<usize> {
        let at = subscript.checked_sub(i64::from(self.lower))?;
        usize::try_from(at).ok().filter(|at| *at < self.len as usize)
    }
}

/// The dimensions of an array, from the outermost in: one at least, six at most, none of them empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(try_from = "Vec<Dimension>", into = "Vec<Dimension>")]
pub struct Shape {
    count: u8,
    dimensions: [Dimension; ARRAY_DIMENSIONS_MAX],
}

impl Shape {
    /// Of these dimensions; `None` where one of them, or all, are missing: the array is empty. 54000 where there are too
    /// many, too many elements, or subscripts beyond 32 bits.
    pub fn new(dimensions: &[Dimension]) -> Result<Option<Shape>> {
        if dimensions.len() > ARRAY_DIMENSIONS_MAX {
            return Err(too_many_dimensions(dimensions.len()));
        }
        let mut elements = 1usize;
        for dimension in dimensions {
            elements = elements.saturating_mul(dimension.len as usize);
        }
        if dimensions.is_empty() || elements == 0 {
            return Ok(None);
        }
        if elements > ARRAY_ELEMENTS_MAX {
            return Err(too_many_elements());
        }
        for dimension in dimensions {
            if dimension.upper() >= i64::from(i32::MAX) {
                let message = format!("array lower bound is too large: {}", dimension.lower);
                return Err(Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
            }
        }
        Ok(Some(Shape::of(dimensions)))
    }

    /// Of a list of so many elements, which are some, that begins at 1.
    pub fn list(len: usize) -> Shape {
        Shape::of(&[Dimension { lower: 1, len: len as u32 }])
    }

    fn of(dimensions: &[Dimension]) -> Shape {
        let mut all = [Dimension::default(); ARRAY_DIMENSIONS_MAX];
        all[..dimensions.len()].copy_from_slice(dimensions);
        Shape { count: dimensions.len() as u8, dimensions: all }
    }

    /// Its dimensions.
    #[inline]
    pub fn dimensions(&self) -> &[Dimension] {
        &self.dimensions[..usize::from(self.count)]
    }

    /// How many elements such an array has.
    pub fn elements(&self) -> usize {
        self.dimensions().iter().map(|d| d.len as usize).product()
    }

    /// Whether it says nothing but how many elements there are.
    pub fn is_list(&self) -> bool {
        matches!(self.dimensions(), [Dimension { lower: 1, .. }])
    }

    /// Where an element is among all of them; `None` where there is none, or the subscripts are not as many as dimensions.
    pub fn place(&self, subscripts: impl ExactSizeIterator<Item = i64>) -> Option<usize> {
        if subscripts.len() != usize::from(self.count) {
            return None;
        }
        let mut at = 0;
        for (dimension, subscript) in self.dimensions().iter().zip(subscripts) {
            at = at * dimension.len as usize + dimension.place(subscript)?;
        }
        Some(at)
    }

    /// How many elements a part has that leaves out so many of the outer dimensions.
    pub fn part(&self, outer: usize) -> usize {
        self.dimensions()[outer..].iter().map(|d| d.len as usize).product()
    }

    /// Appends its bounds: `[1:2][0:3]`.
    pub fn write(&self, out: &mut Vec<u8>) {
        for dimension in self.dimensions() {
            out.push(b'[');
            text_io::write_int(out, dimension.lower.into());
            out.push(b':');
            text_io::write_int(out, dimension.upper());
            out.push(b']');
        }
    }
}

impl From<Shape> for Vec<Dimension> {
    fn from(shape: Shape) -> Vec<Dimension> {
        shape.dimensions().to_vec()
    }
}

impl TryFrom<Vec<Dimension>> for Shape {
    type Error = String;

    fn try_from(dimensions: Vec<Dimension>) -> std::result::Result<Shape, String> {
        match Shape::new(&dimensions) {
            Ok(Some(shape)) => Ok(shape),
            _ => Err("no dimensions of an array".to_owned()),
        }
    }
}

/// An array with a shape: what [`Datum::Array`] is not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shaped {
    shape: Shape,
    elements: Vec<Datum>,
}

impl Shaped {
    /// Its dimensions.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Its elements, row by row.
    pub fn elements(&self) -> &[Datum] {
        &self.elements
    }

    /// The same, to keep.
    pub fn into_elements(self) -> Vec<Datum> {
        self.elements
    }
}

impl Datum {
    /// An array of these elements, as many as the shape has. Without a shape it is a list that begins at 1.
    pub fn array(shape: Option<Shape>, elements: Vec<Datum>) -> Datum {
        match shape {
            Some(shape) if !shape.is_list() => {
                assert_eq!(shape.elements(), elements.len(), "an array has as many elements as its shape");
                Datum::Shaped(Box::new(Shaped { shape, elements }))
            }
            _ => Datum::Array(elements),
        }
    }
}

/// 54000
#[cold]
pub fn too_many_dimensions(count: usize) -> Error {
    let message =
        format!("number of array dimensions ({count}) exceeds the maximum allowed ({ARRAY_DIMENSIONS_MAX})");
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

/// 54000
#[cold]
pub fn too_many_elements() -> Error {
    let message = format!("array size exceeds the maximum allowed ({ARRAY_ELEMENTS_MAX})");
    Error::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(dimensions: &[(i32, u32)]) -> Result<Option<Shape>> {
        let all: Vec<Dimension> = dimensions.iter().map(|&(lower, len)| Dimension { lower, len }).collect();
        Shape::new(&all)
    }

    #[test]
    fn elements_are_found_by_subscripts_within_the_bounds() {
        let shape = shape(&[(1, 2), (-1, 3)]).expect("small").expect("not empty");
        assert_eq!((shape.elements(), shape.part(1), shape.is_list()), (6, 3, false));
        let place = |subscripts: &[i64]| shape.place(subscripts.iter().copied());
        assert_eq!(place(&[1, -1]), Some(0));
        assert_eq!(place(&[2, 1]), Some(5));
        assert_eq!([place(&[0, 0]), place(&[1, 2]), place(&[1, i64::MIN]), place(&[1])], [None; 4]);
        let mut text = Vec::new();
        shape.write(&mut text);
        assert_eq!(text, b"[1:2][-1:1]");
    }

    #[test]
    fn what_is_too_large_is_none() {
        assert_eq!(shape(&[]), Ok(None));
        assert_eq!(shape(&[(1, 2), (1, 0)]), Ok(None));
        assert!(shape(&[(1, 1); 7]).is_err());
        assert!(shape(&[(1, 1 << 14), (1, 1 << 14)]).is_err());
        assert!(shape(&[(1, u32::MAX), (1, u32::MAX)]).is_err());
        assert!(shape(&[(i32::MAX, 1)]).is_err());
        assert!(shape(&[(i32::MIN, 5)]).is_ok());
    }
}
