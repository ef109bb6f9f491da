//! Windows and their frames.

use super::{Expr, OrderItem, Position};

/// A window definition, or the name of one.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Window {
    /// Name of a window of the WINDOW clause.
    pub name: Option<String>,
    /// PARTITION BY
    pub partition_by: Vec<Expr>,
    /// ORDER BY
    pub order_by: Vec<OrderItem>,
    /// ROWS, RANGE, GROUPS
    pub frame: Option<Frame>,
    /// It is a name alone, without parentheses: that window, with its frame.
    pub bare: bool,
    /// Where it stands.
    pub position: Position,
}

/// The rows of a partition that a window function is computed over.
#[derive(Clone, PartialEq, Debug)]
pub struct Frame {
    /// What is counted.
    pub units: FrameUnits,
    /// First.
    pub start: FrameEdge,
    /// Last.
    pub end: FrameEdge,
    /// EXCLUDE
    pub exclude: FrameExclusion,
    /// Where it stands.
    pub position: Position,
}

/// What the edges of a frame count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameUnits {
    /// ROWS
    Rows,
    /// RANGE: values of the order.
    Range,
    /// GROUPS: of rows that the order does not tell apart.
    Groups,
}

/// What is left out of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FrameExclusion {
    /// NO OTHERS
    #[default]
    Nothing,
    /// CURRENT ROW
    Row,
    /// GROUP: the row, and those that the order does not tell from it.
    Group,
    /// TIES: these, but not the row.
    Ties,
}

/// An edge of a frame.
#[derive(Clone, PartialEq, Debug)]
pub enum FrameEdge {
    /// UNBOUNDED, on its side.
    Unbounded,
    /// `n PRECEDING`
    Preceding(Expr),
    /// CURRENT ROW
    Current,
    /// `n FOLLOWING`
    Following(Expr),
}

impl Frame {
    /// The expressions in it.
    pub fn exprs(&self) -> impl Iterator<Item = &Expr> {
        [&self.start, &self.end].into_iter().filter_map(|edge| match edge {
            FrameEdge::Preceding(e) | FrameEdge::Following(e) => Some(e),
            FrameEdge::Unbounded | FrameEdge::Current => None,
        })
    }
}
