//! Frames of window functions: bound.

use super::Lowerer;
use super::bind_call::Clause;
use super::bound::{Bound, WindowEdge, WindowFrame, WindowKind};
use super::names::Names;
use super::types::CastContext;
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_syntax::ast::{BinaryOp, Expr, Frame, FrameEdge, FrameUnits};

impl Lowerer<'_> {
    /// The frame of a call; `None` where it is the default or where the function has none. Its offsets go to `args`; of
    /// RANGE, which needs one item of ORDER BY for them, the value that is ordered by comes last.
    pub(super) fn window_frame(
        &mut self,
        names: &Names<'_>,
        frame: Option<&Frame>,
        kind: &WindowKind,
        order: &[(Bound, bool, bool)],
        args: &mut Vec<Bound>,
    ) -> Result<Option<WindowFrame>> {
        let framed = matches!(
            kind,
            WindowKind::FirstValue | WindowKind::LastValue | WindowKind::NthValue | WindowKind::Aggregate(_)
        );
        let default =
            WindowFrame { units: FrameUnits::Range, start: WindowEdge::Unbounded, end: WindowEdge::Current };
        let Some(frame) = frame else {
            return Ok((*kind == WindowKind::NthValue).then_some(default));
        };
        let wrong = |message: &str| Error::new(SqlState::WINDOWING_ERROR, message).at(frame.position);
        if frame.units == FrameUnits::Groups && order.is_empty() {
            return Err(wrong("GROUPS mode requires an ORDER BY clause"));
        }
        let mut ends = Vec::with_capacity(2);
        let mut by_value = None;
        for edge in [&frame.start, &frame.end] {
            ends.push(match edge {
                FrameEdge::Unbounded => WindowEdge::Unbounded,
                FrameEdge::Current => WindowEdge::Current,
                FrameEdge::Preceding(e) | FrameEdge::Following(e) => {
                    let preceding = matches!(edge, FrameEdge::Preceding(_));
                    let offset = self.frame_offset(names, e, frame.units)?;
                    let (offset, value) = match (frame.units, order) {
                        (FrameUnits::Range, [(value, descending, _)]) => {
                            let (offset, edge) =
                                self.value_at_edge(value, offset, preceding != *descending)?;
                            by_value = Some(self.coerce(value.clone(), &edge.ty, CastContext::Implicit)?);
                            (offset, edge)
                        }
                        (FrameUnits::Range, _) => {
                            return Err(wrong(
                                "RANGE with offset PRECEDING/FOLLOWING requires exactly one ORDER BY column",
                            ));
                        }
                        _ => (offset.clone(), offset),
                    };
                    let zero = Bound::constant(Datum::Text("0".into()), Type::Unknown, e.position);
                    let negative = self.binary(BinaryOp::Lt, offset, zero, e.position)?;
                    args.extend([negative, value]);
                    let (negative, offset) = (args.len() - 2, args.len() - 1);
                    match preceding {
                        true => WindowEdge::Preceding { negative, offset },
                        false => WindowEdge::Following { negative, offset },
                    }
                }
            });
        }
        args.extend(by_value);
        let frame = WindowFrame { units: frame.units, start: ends[0], end: ends[1] };
        Ok((framed && (frame != default || *kind == WindowKind::NthValue)).then_some(frame))
    }

    fn frame_offset(&mut self, names: &Names<'_>, e: &Expr, units: FrameUnits) -> Result<Bound> {
        let offset = self.in_clause(Clause::Window, |l| l.bind(names, e))?;
        if !self.rels_in(&offset).is_empty() {
            let units = match units {
                FrameUnits::Rows => "ROWS",
                FrameUnits::Range => "RANGE",
                FrameUnits::Groups => "GROUPS",
            };
            let message = format!("argument of {units} must not contain variables");
            return Err(Error::new(SqlState::INVALID_COLUMN_REFERENCE, message).at(e.position));
        }
        match units {
            FrameUnits::Range => Ok(offset),
            _ => self.coerce(offset, &Type::Int8, CastContext::Implicit),
        }
    }

    /// An offset as it is added, and the value that is so far before or behind another.
    fn value_at_edge(&mut self, value: &Bound, offset: Bound, before: bool) -> Result<(Bound, Bound)> {
        let position = offset.position;
        // Numbers are added in a wider type, where sums have a place.
        let value = match value.ty.base() {
            Type::Int2 | Type::Int4 => self.coerce(value.clone(), &Type::Int8, CastContext::Implicit)?,
            Type::Int8 => self.coerce(value.clone(), &Type::Numeric(None), CastContext::Implicit)?,
            _ => value.clone(),
        };
        let ty = match value.ty.base() {
            Type::Date | Type::Timestamp | Type::TimestampTz | Type::Time | Type::Interval => Type::Interval,
            ty @ (Type::Int8 | Type::Numeric(_) | Type::Float8) => ty,
            Type::Float4 => Type::Float8,
            other => {
                let message =
                    format!("RANGE with offset PRECEDING/FOLLOWING is not supported for column type {other}");
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
            }
        };
        let offset = self.operand(offset, &ty)?;
        let op = if before { BinaryOp::Sub } else { BinaryOp::Add };
        let edge = self.binary(op, value, offset.clone(), position)?;
        Ok((offset, edge))
    }
}
