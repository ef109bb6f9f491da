//! Window functions over a frame that is not the default one. When partitions and peers are numbered, and their first and
//! last rows known, each row's frame is a range of the list: from it a function takes one row, or all for an aggregate.
//! A frame that begins with its partition only grows, and an aggregate with it; another is gone through for each row. So is
//! one that leaves rows out (EXCLUDE), by every function.

use super::Lowerer;
use super::bound::{BoundKind, WindowCall, WindowEdge, WindowFrame, WindowKind};
use super::emit_group::State;
use planaria_base::{Datum, Result, SqlState, Type};
use planaria_ir::{Coll, ErrorFields, Func, OpKind, Reg};
use planaria_syntax::ast::{FrameExclusion, FrameUnits};

/// First and last rows, by the number of a partition or a group of peers.
pub(super) struct Edges {
    pub part: [Coll; 2],
    pub peer: [Coll; 2],
}

/// A call with its frame, and what it keeps between rows.
pub(super) struct Framed {
    frame: WindowFrame,
    /// What it takes of each row: its arguments, and what RANGE compares.
    inputs: Vec<usize>,
    /// The same, by the row's place.
    rows: Coll,
    state: Option<State>,
    /// Of a frame that grows: the partition that the state is of, the last row in it.
    grown: Option<(Reg, Reg)>,
    /// Of RANGE: the partition, and where each edge was last.
    scanned: Option<(Reg, [Reg; 2])>,
}

/// What a row's frame leaves out: rows between these two, but for the row itself if it stays.
struct LeftOut {
    first: Reg,
    last: Reg,
    stays: Option<Reg>,
}

/// A row, while frames are computed.
pub(super) struct Place<'a> {
    pub row: &'a [Reg],
    pub entry: Reg,
    pub part: Reg,
    pub peer: Reg,
    /// Of the RANGE order: descending.
    pub descending: bool,
    pub nulls_first: bool,
}

impl Lowerer<'_> {
    /// Maps for the first and last rows.
    pub(super) fn window_edges(&mut self) -> Edges {
        let mut map = || self.window_map(vec![Type::Int8], vec![Type::Int8]);
        Edges { part: [map(), map()], peer: [map(), map()] }
    }

    /// What a call over a frame needs: `columns` of the list are its arguments.
    pub(super) fn framed(
        &mut self,
        call: &WindowCall,
        frame: &WindowFrame,
        columns: &[usize],
    ) -> Result<Framed> {
        let types = kept_types(call);
        let zero = self.int8(0);
        let mut from_zero = || {
            let reg = self.temp(Type::Int8);
            self.copy(reg, zero);
            reg
        };
        let offset = |edge| matches!(edge, WindowEdge::Preceding { .. } | WindowEdge::Following { .. });
        let by_value = frame.units == FrameUnits::Range && (offset(frame.start) || offset(frame.end));
        let scanned = by_value.then(|| (from_zero(), [from_zero(), from_zero()]));
        let aggregate = match &call.kind {
            WindowKind::Aggregate(a) => Some(a),
            _ => None,
        };
        let whole = frame.exclude == FrameExclusion::Nothing;
        let grows = frame.start == WindowEdge::Unbounded && whole && aggregate.is_some();
        let grown = grows.then(|| (from_zero(), from_zero()));
        let mut state = None;
        if let Some(a) = aggregate {
            let mut aggregate = a.clone();
            aggregate.distinct = false;
            let begun = self.state(&aggregate, false)?;
            for (reg, start) in &begun.regs {
                self.copy(*reg, *start);
            }
            state = Some(begun);
        }
        let rows = self.window_map(vec![Type::Int8], types);
        Ok(Framed { frame: frame.clone(), inputs: columns.to_vec(), rows, state, grown, scanned })
    }

    /// First pass: keeps a row's values.
    pub(super) fn keep_for_frame(&mut self, framed: &Framed, row: &[Reg], entry: Reg) {
        let values = framed.inputs.iter().map(|c| row[*c]).collect();
        self.emit(OpKind::MapPut { coll: framed.rows, keys: vec![entry], values });
    }

    /// Second pass: the call's value for a row, in a register of its type.
    pub(super) fn framed_value(
        &mut self,
        frame: usize,
        call: &WindowCall,
        framed: &Framed,
        edges: &Edges,
        place: &Place<'_>,
    ) -> Result<Reg> {
        let (first, last) = self.frame_of_row(call, framed, edges, place)?;
        let value = self.temp(call.ty.clone());
        let null = self.constant(Datum::Null, call.ty.clone());
        self.copy(value, null);
        let taken = self.taken(call);
        let left_out = self.left_out(framed, edges, place);
        match &call.kind {
            WindowKind::Aggregate(a) => {
                let Some(state) = &framed.state else { return Ok(value) };
                let mut aggregate = a.clone();
                let n = aggregate.args.len();
                for (e, reg) in aggregate.args.iter_mut().zip(&taken) {
                    e.kind = BoundKind::Reg(*reg);
                }
                if let Some(filter) = &mut aggregate.filter {
                    filter.kind = BoundKind::Reg(taken[n]);
                }
                let at = self.temp(Type::Int8);
                let one = self.int8(1);
                match framed.grown {
                    Some((part, done)) => {
                        let same = self.apply(Func::IntEq, vec![part, place.part], Type::Bool);
                        let before = self.apply(Func::Int8Sub, vec![first, one], Type::Int8);
                        self.unless(same, |l| {
                            for (reg, start) in &state.regs {
                                l.copy(*reg, *start);
                            }
                            l.copy(part, place.part);
                            l.copy(done, before);
                            Ok(())
                        })?;
                        self.emit(OpKind::Apply { dst: at, func: Func::Int8Add, args: vec![done, one] });
                        self.emit(OpKind::Apply { dst: done, func: Func::Greatest, args: vec![done, last] });
                    }
                    None => {
                        for (reg, start) in &state.regs {
                            self.copy(*reg, *start);
                        }
                        self.copy(at, first);
                    }
                }
                self.for_rows(at, last, &mut |l| {
                    let Some(out) = &left_out else {
                        l.row_at(framed, at, &taken);
                        return l.update_state(frame, &aggregate, state, &[]);
                    };
                    let out = l.is_left_out(out, at);
                    l.unless(out, |l| {
                        l.row_at(framed, at, &taken);
                        l.update_state(frame, &aggregate, state, &[])
                    })
                })?;
                let result = self.result(&aggregate, state)?;
                self.copy(value, result);
            }
            _ => {
                let at = self.temp(Type::Int8);
                self.copy(at, if call.kind == WindowKind::LastValue { last } else { first });
                let (zero, one) = (self.int8(0), self.int8(1));
                let mut wanted = one;
                if call.kind == WindowKind::NthValue {
                    let number = place.row[framed.inputs[1]];
                    wanted = number;
                    let wrong = self.apply(Func::IntLe, vec![number, zero], Type::Bool);
                    self.raising(wrong, |l| {
                        let message = "argument of nth_value must be greater than zero";
                        l.raise(SqlState::new("22016"), message, ErrorFields::default());
                        Ok(())
                    })?;
                    let further = self.apply(Func::Int8Sub, vec![number, one], Type::Int8);
                    self.emit(OpKind::Apply { dst: at, func: Func::Int8Add, args: vec![first, further] });
                }
                if let Some(out) = &left_out {
                    let back = call.kind == WindowKind::LastValue;
                    self.copy(at, if back { last } else { first });
                    let counted = self.temp(Type::Int8);
                    self.copy(counted, zero);
                    let label = self.label();
                    let body = self.block(|l| {
                        let from = l.apply(Func::IntGe, vec![at, first], Type::Bool);
                        let to = l.apply(Func::IntLe, vec![at, last], Type::Bool);
                        let within = l.apply(Func::And, vec![from, to], Type::Bool);
                        l.unless(within, |l| {
                            l.emit(OpKind::Exit { label });
                            Ok(())
                        })?;
                        let out = l.is_left_out(out, at);
                        l.unless(out, |l| {
                            l.emit(OpKind::Apply {
                                dst: counted,
                                func: Func::Int8Add,
                                args: vec![counted, one],
                            });
                            let is = l.apply(Func::IntEq, vec![counted, wanted], Type::Bool);
                            l.when(is, |l| {
                                l.row_at(framed, at, &taken);
                                let found = l.exactly(taken[0], &call.ty);
                                l.copy(value, found);
                                l.emit(OpKind::Exit { label });
                                Ok(())
                            })
                        })?;
                        let func = if back { Func::Int8Sub } else { Func::Int8Add };
                        l.emit(OpKind::Apply { dst: at, func, args: vec![at, one] });
                        Ok(())
                    })?;
                    self.emit(OpKind::Loop { label, body });
                    return Ok(value);
                }
                let from = self.apply(Func::IntGe, vec![at, first], Type::Bool);
                let to = self.apply(Func::IntLe, vec![at, last], Type::Bool);
                let within = self.apply(Func::And, vec![from, to], Type::Bool);
                self.when(within, |l| {
                    l.row_at(framed, at, &taken);
                    let found = l.exactly(taken[0], &call.ty);
                    l.copy(value, found);
                    Ok(())
                })?;
            }
        }
        Ok(value)
    }

    /// EXCLUDE, of a row's frame.
    fn left_out(&mut self, framed: &Framed, edges: &Edges, place: &Place<'_>) -> Option<LeftOut> {
        let exclude = framed.frame.exclude;
        let stays = (exclude == FrameExclusion::Ties).then_some(place.entry);
        let [first, last] = match exclude {
            FrameExclusion::Nothing => return None,
            FrameExclusion::Row => [place.entry; 2],
            FrameExclusion::Group | FrameExclusion::Ties => {
                let zero = self.int8(0);
                [0, 1].map(|side| self.edge_of(edges.peer[side], place.peer, zero))
            }
        };
        Some(LeftOut { first, last, stays })
    }

    fn is_left_out(&mut self, out: &LeftOut, at: Reg) -> Reg {
        let from = self.apply(Func::IntGe, vec![at, out.first], Type::Bool);
        let to = self.apply(Func::IntLe, vec![at, out.last], Type::Bool);
        let between = self.apply(Func::And, vec![from, to], Type::Bool);
        let Some(row) = out.stays else { return between };
        let other = self.apply(Func::Distinct, vec![at, row], Type::Bool);
        self.apply(Func::And, vec![between, other], Type::Bool)
    }

    /// Registers for what is kept of a row.
    fn taken(&mut self, call: &WindowCall) -> Vec<Reg> {
        kept_types(call).into_iter().map(|ty| self.temp(ty)).collect()
    }

    fn row_at(&mut self, framed: &Framed, at: Reg, taken: &[Reg]) {
        let found = self.temp(Type::Bool);
        let values = taken.to_vec();
        self.emit(OpKind::MapGet { coll: framed.rows, keys: vec![at], found, values });
    }

    /// Runs `body` while `at`, which then grows, is not beyond `last`.
    fn for_rows(&mut self, at: Reg, last: Reg, body: &mut dyn FnMut(&mut Self) -> Result<()>) -> Result<()> {
        let label = self.label();
        let one = self.int8(1);
        let block = self.block(|l| {
            let more = l.apply(Func::IntLe, vec![at, last], Type::Bool);
            l.unless(more, |l| {
                l.emit(OpKind::Exit { label });
                Ok(())
            })?;
            body(l)?;
            l.emit(OpKind::Apply { dst: at, func: Func::Int8Add, args: vec![at, one] });
            Ok(())
        })?;
        self.emit(OpKind::Loop { label, body: block });
        Ok(())
    }

    fn edge_of(&mut self, map: Coll, key: Reg, otherwise: Reg) -> Reg {
        let (found, value) = (self.temp(Type::Bool), self.temp(Type::Int8));
        self.copy(value, otherwise);
        self.emit(OpKind::MapGet { coll: map, keys: vec![key], found, values: vec![value] });
        value
    }

    /// The first and the last row of a row's frame; there is none where the first is behind the last.
    fn frame_of_row(
        &mut self,
        call: &WindowCall,
        framed: &Framed,
        edges: &Edges,
        place: &Place<'_>,
    ) -> Result<(Reg, Reg)> {
        let units = framed.frame.units;
        let zero = self.int8(0);
        let part = [0, 1].map(|side| self.edge_of(edges.part[side], place.part, zero));
        let base = match &call.kind {
            WindowKind::Aggregate(a) => a.args.len() + a.filter.iter().len(),
            _ => 0,
        };
        let mut ends = part;
        for (side, edge) in [framed.frame.start, framed.frame.end].into_iter().enumerate() {
            let (before, negative, offset) = match edge {
                WindowEdge::Unbounded => continue,
                WindowEdge::Current => {
                    ends[side] = match units {
                        FrameUnits::Rows => place.entry,
                        _ => self.edge_of(edges.peer[side], place.peer, zero),
                    };
                    continue;
                }
                WindowEdge::Preceding { negative, offset } => (true, negative, offset),
                WindowEdge::Following { negative, offset } => (false, negative, offset),
            };
            let at = |i: usize| place.row[framed.inputs[base + i]];
            self.check_offset(at(negative), units, side)?;
            let func = if before { Func::Int8Sub } else { Func::Int8Add };
            ends[side] = match units {
                FrameUnits::Range => self.scan_edge(call, framed, edges, place, side, at(offset), part)?,
                _ => {
                    // More than there ever are.
                    let most = self.int8(i64::MAX / 4);
                    let offset = self.apply(Func::Least, vec![at(offset), most], Type::Int8);
                    let from = if units == FrameUnits::Rows { place.entry } else { place.peer };
                    let to = self.apply(func, vec![from, offset], Type::Int8);
                    match units {
                        FrameUnits::Rows => to,
                        _ => {
                            // No such group: before the first one, or behind the last.
                            let one = self.int8(1);
                            let beyond = match (before, side) {
                                (true, 0) => part[0],
                                (true, _) => self.apply(Func::Int8Sub, vec![part[0], one], Type::Int8),
                                (false, 0) => self.apply(Func::Int8Add, vec![part[1], one], Type::Int8),
                                (false, _) => part[1],
                            };
                            self.edge_of(edges.peer[side], to, beyond)
                        }
                    }
                }
            };
        }
        let first = self.apply(Func::Greatest, vec![ends[0], part[0]], Type::Int8);
        let last = self.apply(Func::Least, vec![ends[1], part[1]], Type::Int8);
        Ok((first, last))
    }

    fn check_offset(&mut self, negative: Reg, units: FrameUnits, side: usize) -> Result<()> {
        let what = ["starting", "ending"][side];
        let null = self.apply(Func::IsNull, vec![negative], Type::Bool);
        self.raising(null, |l| {
            let message = format!("frame {what} offset must not be null");
            l.raise(SqlState::NULL_VALUE_NOT_ALLOWED, message, ErrorFields::default());
            Ok(())
        })?;
        self.raising(negative, |l| {
            let message = match units {
                FrameUnits::Range => "invalid preceding or following size in window function".to_owned(),
                _ => format!("frame {what} offset must not be negative"),
            };
            l.raise(SqlState::new("22013"), message, ErrorFields::default());
            Ok(())
        })
    }

    /// An edge of RANGE: from where it was for the row before, on to the first row that is not before the value at the
    /// start, or the last that is not behind the value at the end. Rows whose value is NULL are their own frame.
    #[allow(clippy::too_many_arguments)]
    fn scan_edge(
        &mut self,
        call: &WindowCall,
        framed: &Framed,
        edges: &Edges,
        place: &Place<'_>,
        side: usize,
        value: Reg,
        part: [Reg; 2],
    ) -> Result<Reg> {
        let Some((of, pointers)) = framed.scanned else { return Ok(part[side]) };
        let (at, one, zero) = (pointers[side], self.int8(1), self.int8(0));
        let taken = self.taken(call);
        let key = *taken.last().unwrap_or(&at);
        // Both pointers begin anew with a partition.
        let same = self.apply(Func::IntEq, vec![of, place.part], Type::Bool);
        self.unless(same, |l| {
            pointers.iter().for_each(|p| l.copy(*p, part[0]));
            l.copy(of, place.part);
            Ok(())
        })?;
        let edge = self.temp(Type::Int8);
        let own = self.edge_of(edges.peer[side], place.peer, zero);
        self.copy(edge, own);
        let null = self.apply(Func::IsNull, vec![value], Type::Bool);
        self.unless(null, |l| {
            let label = l.label();
            let block = l.block(|l| {
                let within = l.apply(Func::IntLe, vec![at, part[1]], Type::Bool);
                l.unless(within, |l| {
                    l.emit(OpKind::Exit { label });
                    Ok(())
                })?;
                l.row_at(framed, at, &taken);
                let passed = l.temp(Type::Bool);
                let nulls = l.truth(place.nulls_first);
                l.copy(passed, nulls);
                let is_null = l.apply(Func::IsNull, vec![key], Type::Bool);
                l.unless(is_null, |l| {
                    let order = l.apply(Func::Compare, vec![key, value], Type::Int4);
                    let func = match (side, place.descending) {
                        (0, false) => Func::IntLt,
                        (0, true) => Func::IntGt,
                        (_, false) => Func::IntLe,
                        (_, true) => Func::IntGe,
                    };
                    let zero = l.int4(0);
                    let is = l.apply(func, vec![order, zero], Type::Bool);
                    l.copy(passed, is);
                    Ok(())
                })?;
                l.unless(passed, |l| {
                    l.emit(OpKind::Exit { label });
                    Ok(())
                })?;
                l.emit(OpKind::Apply { dst: at, func: Func::Int8Add, args: vec![at, one] });
                Ok(())
            })?;
            l.emit(OpKind::Loop { label, body: block });
            match side {
                0 => l.copy(edge, at),
                _ => l.emit(OpKind::Apply { dst: edge, func: Func::Int8Sub, args: vec![at, one] }),
            }
            Ok(())
        })?;
        Ok(edge)
    }
}

/// What is kept of each row for a call: the aggregate's inputs and filter, then what belongs to the frame.
fn kept_types(call: &WindowCall) -> Vec<Type> {
    let aggregate = match &call.kind {
        WindowKind::Aggregate(a) => Some(a),
        _ => None,
    };
    let inputs = aggregate.into_iter().flat_map(|a| a.args.iter().chain(&a.filter));
    inputs.chain(&call.args).map(|e| e.ty.clone()).collect()
}
