//! Values bit by bit: what a call computed, and what the log has of it.

use planaria_base::Datum;

/// Whether two values have the same bits: 1.0 and 1.00 are two, a NaN is itself.
pub(super) fn same(a: &Datum, b: &Datum) -> bool {
    match (a, b) {
        (Datum::Float(a), Datum::Float(b)) => a.to_bits() == b.to_bits(),
        (Datum::Numeric(a), Datum::Numeric(b)) => (a.mantissa(), a.scale()) == (b.mantissa(), b.scale()),
        (Datum::Array(a), Datum::Array(b)) => all_same(a, b),
        (Datum::Shaped(a), Datum::Shaped(b)) => {
            a.shape() == b.shape() && all_same(a.elements(), b.elements())
        }
        _ => a == b,
    }
}

fn all_same(a: &[Datum], b: &[Datum]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}
