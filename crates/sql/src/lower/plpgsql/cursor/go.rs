//! Where FETCH and MOVE go, and which cursors an error closes: of those that stay in their routine.

use super::{Cursor, Kept, State};
use crate::lower::CastContext;
use crate::lower::plpgsql::Body;
use planaria_base::{Error, Result, SqlState, Type};
use planaria_ir::{Func, OpKind, Reg, RegKind};
use planaria_syntax::ast::Expr;
use planaria_syntax::ast::plpgsql::PlDirection;

impl Body<'_, '_> {
    /// Goes where a direction says; answers with the number of rows met on the way, if that is wanted.
    pub(super) fn go(&mut self, state: &State, direction: &PlDirection, counted: bool) -> Result<Reg> {
        let (zero, one) = (self.int8(0), self.int8(1));
        let int8 = |s: &mut Self, func, args| s.apply(func, args, Type::Int8);
        let behind = int8(self, Func::Int8Add, vec![state.rows, one]);
        if let (PlDirection::Forward(1), false) = (direction, counted) {
            let more = self.apply(Func::IntLt, vec![state.at, behind], Type::Bool);
            let dst = state.at;
            self.when(more, |s| {
                s.l.emit(OpKind::Apply { dst, func: Func::Int8Add, args: vec![dst, one] });
                Ok(())
            })?;
            return Ok(zero);
        }
        let from = self.l.temp(Type::Int8);
        self.copy(from, state.at);
        let mut may_go_back = true;
        let mut always_back = None;
        let count = self.l.temp(Type::Int8);
        let wanted = match direction {
            PlDirection::Forward(n) => {
                may_go_back = *n < 0;
                let n = self.int8(*n);
                Some((n, int8(self, Func::Int8Add, vec![from, n])))
            }
            PlDirection::Count(n, back) => {
                let mut n = self.number(n)?;
                if *back {
                    n = int8(self, Func::Int8Neg, vec![n]);
                }
                Some((n, int8(self, Func::Int8Add, vec![from, n])))
            }
            PlDirection::All(false) => {
                may_go_back = false;
                Some((one, behind))
            }
            PlDirection::All(true) => {
                let back = self.int8(-1);
                Some((back, zero))
            }
            PlDirection::Absolute(_) | PlDirection::To(_) | PlDirection::By(_) => None,
        };
        let to = match (&wanted, direction) {
            (Some((_, to)), _) => *to,
            (None, PlDirection::By(n)) => {
                let n = self.number(n)?;
                int8(self, Func::Int8Add, vec![from, n])
            }
            (None, _) => {
                let n = match direction {
                    PlDirection::Absolute(n) => self.int8(*n),
                    PlDirection::To(n) => self.number(n)?,
                    _ => return Err(Error::internal("a direction of one row")),
                };
                let to = self.l.temp(Type::Int8);
                self.copy(to, n);
                let from_end = self.apply(Func::IntLt, vec![n, zero], Type::Bool);
                always_back = Some(from_end);
                self.when(from_end, |s| {
                    s.l.emit(OpKind::Apply { dst: to, func: Func::Int8Add, args: vec![behind, n] });
                    Ok(())
                })?;
                to
            }
        };
        let within = int8(self, Func::Least, vec![to, behind]);
        let end = int8(self, Func::Greatest, vec![within, zero]);
        if may_go_back {
            let mut back = self.apply(Func::IntLt, vec![end, from], Type::Bool);
            if let Some(always) = always_back {
                back = self.apply(Func::Or, vec![back, always], Type::Bool);
            }
            let refused = self.apply(Func::And, vec![back, state.forward_only], Type::Bool);
            self.when(refused, |s| {
                let hint = "Declare it with SCROLL option to enable backward scan.";
                let state = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
                s.fail(state, "cursor can only scan forward", Some(hint));
                Ok(())
            })?;
        }
        self.copy(state.at, end);
        if !counted {
            return Ok(count);
        }
        // On a row: one.
        let on_row = |s: &mut Self, at: Reg| {
            s.copy(count, zero);
            let low = s.apply(Func::IntGe, vec![at, one], Type::Bool);
            let high = s.apply(Func::IntLt, vec![at, behind], Type::Bool);
            let on = s.apply(Func::And, vec![low, high], Type::Bool);
            s.when(on, |s| {
                s.copy(count, one);
                Ok(())
            })
        };
        let Some((n, to)) = wanted else {
            on_row(self, end)?;
            return Ok(count);
        };
        let forth = self.apply(Func::IntGt, vec![n, zero], Type::Bool);
        let stays = self.apply(Func::IntEq, vec![n, zero], Type::Bool);
        let then = self.sub_block(|s| {
            let last = int8(s, Func::Least, vec![to, state.rows]);
            let met = int8(s, Func::Int8Sub, vec![last, from]);
            s.l.emit(OpKind::Apply { dst: count, func: Func::Greatest, args: vec![met, zero] });
            Ok(())
        })?;
        let back = self.sub_block(|s| {
            let last = int8(s, Func::Greatest, vec![to, one]);
            let met = int8(s, Func::Int8Sub, vec![from, last]);
            s.l.emit(OpKind::Apply { dst: count, func: Func::Greatest, args: vec![met, zero] });
            Ok(())
        })?;
        let same = self.sub_block(|s| on_row(s, from))?;
        let otherwise = self.sub_block(|s| {
            s.l.emit(OpKind::If { cond: stays, then: same, otherwise: back });
            Ok(())
        })?;
        self.l.emit(OpKind::If { cond: forth, then, otherwise });
        Ok(count)
    }

    /// The number of a direction, as a bigint.
    pub(super) fn number(&mut self, n: &Expr) -> Result<Reg> {
        let narrow = self.l.expr_as(&self.scope, n, &Type::Int4, CastContext::Variable)?;
        let null = self.is_null(narrow);
        self.when(null, |s| {
            s.fail(SqlState::NULL_VALUE_NOT_ALLOWED, "relative or absolute cursor position is null", None);
            Ok(())
        })?;
        let wide = self.l.temp(Type::Int8);
        self.copy(wide, narrow);
        Ok(wide)
    }

    // ---- EXCEPTION ----

    /// Before a block that catches errors: what is needed to know which cursors were opened in it.
    pub(in crate::lower::plpgsql) fn mark_cursors(&mut self) -> Vec<Reg> {
        let marks: Vec<Reg> = self.states().iter().map(|s| s.opens).collect();
        marks
            .into_iter()
            .map(|opens| {
                let kind = RegKind::Value(Type::Int8);
                let mark = self.l.program.reg(kind, Some("(cursors)".to_owned()));
                self.copy(mark, opens);
                mark
            })
            .collect()
    }

    /// Where it has caught one: those that were opened in it are closed.
    pub(in crate::lower::plpgsql) fn close_since(&mut self, marks: &[Reg]) -> Result<()> {
        let zero = self.int8(0);
        for (i, state) in self.states().into_iter().enumerate() {
            let Some(mark) = marks.get(i) else {
                self.copy(state.open, zero);
                continue;
            };
            // NULL where it had never been opened.
            let before = self.apply(Func::IntLe, vec![state.open, *mark], Type::Bool);
            self.unless(before, |s| {
                s.copy(state.open, zero);
                Ok(())
            })?;
        }
        Ok(())
    }

    fn states(&self) -> Vec<State> {
        let here = |c: &Cursor| match &c.kept {
            Kept::Here(state) => Some(state.clone()),
            Kept::There => None,
        };
        self.cursors.iter().filter_map(here).collect()
    }
}
