//! What INSERT makes of the values it is given.

use super::Typed;
use super::bound::RelId;
use super::updatable::{Target, ViewCheck};

/// A row to be inserted.
pub(super) struct Proposed<'a> {
    pub target: &'a Target<'a>,
    /// What views ask of it.
    pub checks: &'a [ViewCheck],
    /// Which columns `values` are for.
    pub given: &'a [usize],
    pub values: &'a [Typed],
    /// The relation of the row as it is stored.
    pub shadow: RelId,
    /// It is the only one.
    pub single: bool,
    /// ... and is stored, or the statement fails.
    pub certain: bool,
    /// Values are yet to be converted to the types of their columns.
    pub converts: bool,
}
