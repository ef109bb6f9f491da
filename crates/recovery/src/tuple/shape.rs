//! What kinds of changes a record holds, as far as it decides how the record is replayed.

use planaria_base::Result;
use planaria_log::{RawEffect, RawRecord};

/// A set of kinds of changes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Shape(u8);

const BARRIER: u8 = 1;
const WITHOUT_LOCATION: u8 = 2;
const PATCH: u8 = 4;

impl Shape {
    /// No change.
    pub(super) const EMPTY: Shape = Shape(0);

    /// Of a record.
    pub(super) fn of(record: &RawRecord<'_>) -> Result<Shape> {
        let Some(mut effects) = record.effects() else { return Ok(Shape(BARRIER)) };
        let mut shape = Shape::EMPTY;
        for effect in effects.by_ref() {
            shape = shape.union(Shape::of_effect(&effect));
        }
        if !effects.is_whole() {
            // Says what is wrong with it.
            record.decode()?;
        }
        Ok(shape)
    }

    fn of_effect(effect: &RawEffect<'_>) -> Shape {
        Shape(match effect.table() {
            Some(_) if effect.locations().is_some() => 0,
            Some(_) if effect.is_patch() => WITHOUT_LOCATION | PATCH,
            Some(_) => WITHOUT_LOCATION,
            // The last place of the newest generation holds, in whatever order they come.
            None if effect.place().is_some() => 0,
            None => BARRIER,
        })
    }

    /// Both.
    pub(super) fn union(self, other: Shape) -> Shape {
        Shape(self.0 | other.0)
    }
    /// Whether nothing may be replayed at the same time.
    pub(super) fn is_barrier(self) -> bool {
        self.0 & BARRIER != 0
    }
    /// Whether every row change has its location.
    pub(super) fn is_located(self) -> bool {
        self.0 & WITHOUT_LOCATION == 0
    }
    /// Whether changes must be replayed in the order of each row.
    pub(super) fn has_patches(self) -> bool {
        self.0 & PATCH != 0
    }
}
