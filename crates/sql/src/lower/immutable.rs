//! Whether an expression always has the same value for the same row: what is computed once and kept must.

use planaria_base::Type;
use planaria_base::packed::PackedType;
use planaria_base::types::TypeClass;
use planaria_catalog::{Catalog, Volatility};
use planaria_ir::{Determinism, Func, OpKind, Program};

const MONEY: Type = Type::Packed(PackedType::Money);

/// Whether the program reads and draws nothing, asks nothing of the session, and calls only functions that say so of
/// themselves.
///
/// `texts`: also that it makes no text of values whose texts may change ([`is_shown_by_settings`]), and no date of a text.
/// What was made before
/// that was asked stays as it is.
pub(crate) fn is_immutable(catalog: &Catalog, program: &Program, texts: bool) -> bool {
    let zoned = |reg| program.type_of(reg).is_some_and(Type::has_zone);
    let mut immutable = true;
    program.body.visit(&mut |op| {
        immutable &= match &op.kind {
            OpKind::Apply { func: Func::Version, .. } => false,
            // Encodings can be defined anew.
            OpKind::Apply { func: Func::ConvertTo | Func::ConvertFrom, .. } => !texts,
            OpKind::Apply { func, .. } => !func.reads_zone(),
            // By the clocks of the session, unless both are instants.
            OpKind::Cast { dst, src, .. } => {
                let (to, from) = (program.type_of(*dst), program.type_of(*src));
                let [is_text, was_text] =
                    [to, from].map(|ty| ty.is_some_and(|ty| innermost(ty).class() == TypeClass::Text));
                // Which number is the day, the style of dates says.
                let read = was_text && to.is_some_and(Type::has_style);
                // An array of texts of a list of labels is made of their texts, an array's text is one as well.
                let shown = |ty: &Type| {
                    is_shown_by_settings(innermost(ty))
                        || matches!(ty, Type::Array(_)) && !to.is_some_and(|to| matches!(to, Type::Array(_)))
                };
                // It has its own zone: what is made of it asks for no other.
                let timed =
                    from.is_some_and(|ty| matches!(innermost(ty), Type::Packed(PackedType::TimeTz(_))));
                // The session says how many digits a currency has.
                let [pays, paid] = [to, from].map(|ty| ty.is_some_and(|ty| *innermost(ty) == MONEY));
                (zoned(*dst) == zoned(*src) || timed)
                    && !(texts && (is_text && from.is_some_and(shown) || read || pays != paid))
            }
            OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => {
                catalog.procedure(*procedure).volatility == Volatility::Immutable
            }
            kind => kind.table().is_none() && kind.level() == Determinism::Deterministic,
        };
    });
    immutable
}

/// What an array is of.
fn innermost(ty: &Type) -> &Type {
    match ty {
        Type::Array(of) => innermost(of),
        _ => ty,
    }
}

/// Whether its text depends on more than the value, as PostgreSQL sees it: labels can be renamed, dates, amounts of money
/// and what is made of them are printed as settings say. A key that was computed from such a text would be of before.
fn is_shown_by_settings(ty: &Type) -> bool {
    match ty {
        Type::Enum(_) | Type::Range(_) | Type::Record(_) | Type::Packed(PackedType::Money) => true,
        _ => matches!(ty.plain(), Type::Date | Type::Timestamp | Type::TimestampTz | Type::Interval),
    }
}
