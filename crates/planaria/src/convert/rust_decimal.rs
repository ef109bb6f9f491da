//! `rust_decimal`: `Decimal` (numeric).

use super::out_of_range;
use crate::params::{Param, ParamRef};
use crate::row::{FromDatum, mismatch};
use planaria_base::types::TypeClass;
use planaria_base::{Datum, Numeric, Result, SqlState, Type};
use rust_decimal::Decimal;

impl Param for Decimal {
    fn as_param(&self) -> ParamRef<'_> {
        let (mantissa, scale) = (self.mantissa(), self.scale() as u8);
        Numeric::from_parts(mantissa, scale).map_or(
            ParamRef::Refused(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric out of range"),
            ParamRef::Numeric,
        )
    }
}

/// Of numeric and of integers. A decimal has 28 digits: 22003 where the value has more that count.
impl FromDatum for Decimal {
    fn from_datum(value: &Datum, ty: &Type) -> Result<Self> {
        match value {
            Datum::Numeric(n) => {
                let decimal =
                    |n: Numeric| Decimal::try_from_i128_with_scale(n.mantissa(), u32::from(n.scale())).ok();
                // Its zeros at the end are shown, but may be more than fit.
                let fits = decimal(*n).or_else(|| decimal(n.normalized()));
                fits.ok_or_else(|| out_of_range(value, ty, "Decimal"))
            }
            Datum::Int(n) if ty.class() == TypeClass::Integer => Ok(Decimal::from(*n)),
            Datum::Long(_) => Err(out_of_range(value, ty, "Decimal")),
            other => mismatch(other, ty, "Decimal"),
        }
    }
}
