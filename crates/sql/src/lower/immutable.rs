//! Whether an expression always has the same value for the same row: what is computed once and kept must.

use planaria_base::Type;
use planaria_catalog::{Catalog, Volatility};
use planaria_ir::{Determinism, Func, OpKind, Program};

/// Whether the program reads and draws nothing, asks nothing of the session, and calls only functions that say so of
/// themselves.
pub(crate) fn is_immutable(catalog: &Catalog, program: &Program) -> bool {
    let zoned = |reg| program.type_of(reg).is_some_and(Type::has_zone);
    let mut immutable = true;
    program.body.visit(&mut |op| {
        immutable &= match &op.kind {
            OpKind::Apply { func: Func::Version, .. } => false,
            OpKind::Apply { func, .. } => !func.reads_zone(),
            // By the clocks of the session, unless both are instants.
            OpKind::Cast { dst, src, .. } => zoned(*dst) == zoned(*src),
            OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => {
                catalog.procedure(*procedure).volatility == Volatility::Immutable
            }
            kind => kind.table().is_none() && kind.level() == Determinism::Deterministic,
        };
    });
    immutable
}
