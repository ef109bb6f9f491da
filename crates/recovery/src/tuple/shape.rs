//! What kinds of changes a record holds, as far as it decides how the record is replayed.

use planaria_base::Result;
use planaria_log::{Effect, RawRecord, RecordBody};

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
        if record.call().is_some() {
            return Ok(Shape(BARRIER));
        }
        Ok(match record.decode()?.body {
            RecordBody::Call(_) => Shape(BARRIER),
            RecordBody::Effects(effects) => {
                effects.iter().fold(Shape::EMPTY, |shape, effect| shape.union(Shape::of_effect(effect)))
            }
        })
    }

    fn of_effect(effect: &Effect) -> Shape {
        Shape(match effect {
            Effect::PhysicalInsert { .. } | Effect::PhysicalUpdate { .. } | Effect::PhysicalDelete { .. } => {
                0
            }
            Effect::Insert { .. } | Effect::Update { .. } => WITHOUT_LOCATION,
            Effect::Delete { .. } | Effect::DeleteRow { .. } => WITHOUT_LOCATION,
            Effect::Patch { .. } => WITHOUT_LOCATION | PATCH,
            // A value drawn moves the sequence past it, in whatever order.
            Effect::Sequence { called: true, .. } => 0,
            Effect::Sequence { .. } | Effect::Truncate { .. } | Effect::Schema(_) => BARRIER,
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
