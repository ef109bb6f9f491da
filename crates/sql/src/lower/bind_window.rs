//! Window functions and their frames: bound.

use super::Lowerer;
use super::bind_call::{Clause, is_aggregate, is_window};
use super::bound::{Bound, WindowCall, WindowEdge, WindowFrame, WindowKind};
use super::functions::no_function;
use super::names::Names;
use super::types::{CastContext, unmodified};
use planaria_base::{Datum, Error, Result, SqlState, Type};
use planaria_catalog::Wanted;
use planaria_ir::Func;
use planaria_syntax::ast::{
    BinaryOp, Expr, Frame, FrameEdge, FrameExclusion, FrameUnits, FunctionCall, Name, Window,
};

impl Lowerer<'_> {
    pub(super) fn bind_window(
        &mut self,
        names: &Names<'_>,
        wanted: Wanted<'_>,
        call: &FunctionCall,
        position: u32,
    ) -> Result<Bound> {
        let name = wanted.local;
        let clause = self.clause();
        if !matches!(clause, Clause::Select | Clause::OrderBy) {
            let message = format!("window functions are not allowed in {}", clause.name());
            return Err(Error::new(SqlState::WINDOWING_ERROR, message));
        }
        let written = call.over.as_ref().expect("a window call");
        let over = self.window_definition(written)?;
        self.check_over(written)?;
        if let ("percent_rank" | "cume_dist" | "ntile", n) = (name, call.args.len())
            && n == usize::from(name == "ntile")
        {
            // No frame has a say in it.
            let over = Window { frame: None, ..over };
            return self.bind_share(names, name, call, &over, position);
        }
        let whole = |e: Error| if e.fields().position.is_some() { e } else { e.at(position) };
        let call = self
            .in_clause(Clause::Window, |l| {
                let mut partition = Vec::new();
                for e in &over.partition_by {
                    let e = l.bind(names, e)?;
                    partition.push(l.settle(e)?);
                }
                let mut order = Vec::new();
                for item in &over.order_by {
                    let e = l.bind(names, &item.expr)?;
                    let e = l.settle(e)?;
                    order.push((e, item.descending, item.nulls_first.unwrap_or(item.descending)));
                }
                let (kind, mut args, ty) = l.window_kind(names, wanted, call, position)?;
                let frame = l.window_frame(names, over.frame.as_ref(), &kind, &order, &mut args)?;
                Ok(WindowCall { kind, args, frame, partition, order, ty })
            })
            .map_err(whole)?;
        let ty = call.ty.clone();
        let collector = self.collectors.last_mut().expect("window functions were allowed by one");
        let at = collector.windows.iter().position(|w| *w == call).unwrap_or_else(|| {
            collector.windows.push(call);
            collector.windows.len() - 1
        });
        let found = Bound::column(collector.window_rel, at, ty, position);
        Ok(super::bind_aggregate::whole_aggregate(name, found))
    }

    /// Window functions that are computed from others over the same window and over the whole partition.
    fn bind_share(
        &mut self,
        names: &Names<'_>,
        name: &str,
        call: &FunctionCall,
        over: &Window,
        position: u32,
    ) -> Result<Bound> {
        let mut other = |name: &str, over: Window| {
            let parts = vec!["pg_catalog".to_owned(), name.to_owned()];
            let mut call = FunctionCall::plain(Name { parts, position }, Vec::new());
            call.star = name == "count";
            call.over = Some(over);
            self.bind_window(names, name.into(), &call, position)
        };
        let partition = Window { order_by: Vec::new(), ..over.clone() };
        let rows = other("count", partition)?;
        let own = match name {
            "ntile" => "row_number",
            "percent_rank" => "rank",
            _ => "count",
        };
        let own = other(own, over.clone())?;
        if let [buckets] = &call.args[..] {
            let buckets = self.in_clause(Clause::Window, |l| l.bind(names, &buckets.value))?;
            let buckets = self.coerce(buckets, &Type::Int4, CastContext::Implicit)?;
            return Ok(Bound::apply(Func::Ntile, vec![own, rows, buckets], Type::Int4, position));
        }
        let (share, of) = match name {
            "cume_dist" => (own, rows),
            // The only row of a partition has none before it.
            _ => {
                let one = Bound::constant(Datum::Int(1), Type::Int8, position);
                let less = |n: Bound| Bound::apply(Func::Int8Sub, vec![n, one.clone()], Type::Int8, position);
                let of = vec![less(rows), one.clone()];
                (less(own), Bound::apply(Func::Greatest, of, Type::Int8, position))
            }
        };
        let share = self.coerce(share, &Type::Float8, CastContext::Explicit)?;
        let of = self.coerce(of, &Type::Float8, CastContext::Explicit)?;
        Ok(Bound::apply(Func::FltDiv, vec![share, of], Type::Float8, position))
    }

    /// The definition behind a name of the WINDOW clause.
    fn window_definition(&self, over: &Window) -> Result<Window> {
        let Some(name) = &over.name else { return Ok(over.clone()) };
        let named = self.collectors.last().into_iter().flat_map(|c| &c.named_windows);
        let Some((_, base)) = named.clone().find(|(n, _)| n == name) else {
            let message = format!("window \"{name}\" does not exist");
            return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(over.position));
        };
        let mut merged = self.window_definition(base)?;
        if !over.order_by.is_empty() {
            merged.order_by = over.order_by.clone();
        }
        if over.frame.is_some() {
            merged.frame = over.frame.clone();
        }
        Ok(merged)
    }

    /// The same of an OVER clause, which may take one of the WINDOW clause.
    fn check_over(&self, over: &Window) -> Result<()> {
        let named = self.collectors.last().into_iter().flat_map(|c| &c.named_windows);
        let copied = over.name.as_ref().and_then(|name| named.clone().find(|(n, _)| n == name));
        match copied.filter(|_| !over.bare) {
            None => Ok(()),
            Some((name, base)) => self.check_copied_window(name, base, over).map_err(|error| {
                match over.order_by.is_empty() && over.frame.is_none() && over.partition_by.is_empty() {
                    true => error.with_hint("Omit the parentheses in this OVER clause."),
                    false => error,
                }
            }),
        }
    }

    /// What of a window cannot be taken by one that is defined by its name. What logs have of routines, and views, stays as it was.
    fn check_copied_window(&self, name: &str, base: &Window, over: &Window) -> Result<()> {
        if !self.refuses_more() {
            return Ok(());
        }
        let wrong = |message: String| Error::new(SqlState::WINDOWING_ERROR, message).at(over.position);
        if !over.partition_by.is_empty() {
            return Err(wrong(format!("cannot override PARTITION BY clause of window \"{name}\"")));
        }
        if !over.order_by.is_empty() && !self.window_definition(base)?.order_by.is_empty() {
            return Err(wrong(format!("cannot override ORDER BY clause of window \"{name}\"")));
        }
        if base.frame.is_none() {
            return Ok(());
        }
        Err(wrong(format!("cannot copy window \"{name}\" because it has a frame clause")))
    }

    /// What is wrong with the definitions of a WINDOW clause, each of which may take one that stands before it.
    pub(super) fn check_windows(&self, windows: &[(String, Window)]) -> Result<()> {
        if !self.refuses_more() {
            return Ok(());
        }
        for (at, (name, window)) in windows.iter().enumerate() {
            if windows[..at].iter().any(|(other, _)| other == name) {
                let message = format!("window \"{name}\" is already defined");
                return Err(Error::new(SqlState::WINDOWING_ERROR, message).at(window.position));
            }
            let Some(copied) = &window.name else { continue };
            let Some((_, base)) = windows[..at].iter().find(|(other, _)| other == copied) else {
                let message = format!("window \"{copied}\" does not exist");
                return Err(Error::new(SqlState::UNDEFINED_OBJECT, message).at(window.position));
            };
            self.check_copied_window(copied, base, window)?;
        }
        Ok(())
    }

    fn window_kind(
        &mut self,
        names: &Names<'_>,
        wanted: Wanted<'_>,
        call: &FunctionCall,
        position: u32,
    ) -> Result<(WindowKind, Vec<Bound>, Type)> {
        let name = wanted.local;
        if is_aggregate(name) || self.calls_own_aggregate(wanted, call) {
            if call.distinct {
                let message = "DISTINCT is not implemented for window functions";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            // What logs have of routines stays as it was.
            if !call.order_by.is_empty() && !call.within_group && self.refuses_more() {
                let message = "aggregate ORDER BY is not implemented for window functions";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, message).at(position));
            }
            let aggregate = self.bind_aggregate(names, wanted, call, position)?;
            let ty = aggregate.ty.clone();
            return Ok((WindowKind::Aggregate(aggregate), Vec::new(), ty));
        }
        let mut args = self.bind_args(names, call)?;
        let types: Vec<Type> = args.iter().map(|a| a.ty.clone()).collect();
        let kind = match (name, args.len()) {
            ("row_number", 0) => WindowKind::RowNumber,
            ("rank", 0) => WindowKind::Rank,
            ("dense_rank", 0) => WindowKind::DenseRank,
            ("lag" | "lead", 1..=3) => WindowKind::Lag { lead: name == "lead" },
            ("first_value", 1) => WindowKind::FirstValue,
            ("last_value", 1) => WindowKind::LastValue,
            ("nth_value", 2) => WindowKind::NthValue,
            _ if is_window(name) => return Err(no_function(name, &types, position)),
            _ => {
                self.needs_function(names, call, position)?;
                let message =
                    format!("OVER specified, but {name} is not a window function nor an aggregate function");
                return Err(Error::new(SqlState::WRONG_OBJECT_TYPE, message));
            }
        };
        if args.is_empty() {
            return Ok((kind, args, Type::Int8));
        }
        args[0] = self.settle(args[0].clone())?;
        let ty = unmodified(&args[0].ty);
        if kind == WindowKind::NthValue {
            args[1] = self.operand(args[1].clone(), &Type::Int4)?;
        }
        if matches!(kind, WindowKind::Lag { .. }) {
            if args.len() < 2 {
                args.push(Bound::constant(Datum::Int(1), Type::Int4, position));
            }
            args[1] = self.operand(args[1].clone(), &Type::Int4)?;
            if args.len() < 3 {
                args.push(Bound::null(ty.clone(), position));
            }
            args[2] = self.coerce(args[2].clone(), &ty, CastContext::Implicit)?;
        }
        Ok((kind, args, ty))
    }

    /// The frame of a call; `None` where it is the default or where the function has none. Its offsets go to `args`; of
    /// RANGE, which needs one item of ORDER BY for them, the value that is ordered by comes last.
    fn window_frame(
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
        let (start, end, exclude) = (WindowEdge::Unbounded, WindowEdge::Current, FrameExclusion::Nothing);
        let default = WindowFrame { units: FrameUnits::Range, start, end, exclude };
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
        let frame = WindowFrame { units: frame.units, start: ends[0], end: ends[1], exclude: frame.exclude };
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
            // A time of day beyond midnight is no earlier one.
            Type::Time => self.coerce(value.clone(), &Type::Interval, CastContext::Implicit)?,
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
