//! What `generate_series` of numerics asks before it begins.

use super::bound::Bound;
use super::*;
use planaria_base::numeric::Long;
use planaria_base::{Datum, Result, SqlState, Type};
use planaria_ir::{ErrorFields, Func, Reg};

impl Lowerer<'_> {
    /// 22023 unless a numeric is a number, or NULL.
    pub(super) fn must_be_finite(&mut self, bound: &Bound, reg: Reg, what: &str) -> Result<()> {
        if matches!(bound.as_const(), Some(Datum::Numeric(_) | Datum::Int(_))) {
            return Ok(());
        }
        // What is not finite has no scale.
        let scale = self.apply(Func::NumScale, vec![reg], Type::Int4);
        let none = self.apply(Func::IsNull, vec![scale], Type::Bool);
        let given = self.apply(Func::IsNotNull, vec![reg], Type::Bool);
        let special = self.apply(Func::And, vec![none, given], Type::Bool);
        self.when(special, |l| {
            let nan = l.constant(Datum::Long(Box::new(Long::Nan)), Type::Numeric(None));
            let is_nan = l.apply(Func::NumEq, vec![reg, nan], Type::Bool);
            l.when(is_nan, |l| {
                let message = format!("{what} cannot be NaN");
                l.raise(SqlState::INVALID_PARAMETER_VALUE, message, ErrorFields::default());
                Ok(())
            })?;
            let message = format!("{what} cannot be infinity");
            l.raise(SqlState::INVALID_PARAMETER_VALUE, message, ErrorFields::default());
            Ok(())
        })
    }
}
