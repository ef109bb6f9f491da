//! Which errors an operation may raise: what the handlers of a `Try` could have to do with it.

use planaria_base::{Level, SqlState};
use planaria_ir::{Catch, OpKind, StateSource};

/// Whether an operation itself (not those inside it) may raise what the condition catches. Conflicts
/// between transactions are never seen by handlers.
pub fn may_raise(kind: &OpKind, catch: &Catch) -> bool {
    match kind {
        OpKind::Raise { level: Level::Exception, state: StateSource::Known(state), .. } => {
            catch.catches(*state)
        }
        OpKind::Raise { level: Level::Exception, .. } => true,
        // Whatever the routine, or the text, may raise.
        OpKind::Call { .. } | OpKind::CallSet { .. } | OpKind::Execute { .. } => true,
        OpKind::Const { .. }
        | OpKind::Copy { .. }
        | OpKind::If { .. }
        | OpKind::Loop { .. }
        | OpKind::Block { .. }
        | OpKind::Exit { .. }
        | OpKind::Continue { .. }
        | OpKind::Return
        | OpKind::Raise { .. }
        | OpKind::Try { .. }
        | OpKind::Clear { .. }
        | OpKind::Len { .. } => false,
        OpKind::Apply { func, .. } if func.total() => false,
        _ => match catch {
            Catch::Others => true,
            // Constraints other than unique keys are checked by operations of their own.
            Catch::State(state) if state.class() == *b"23" => {
                matches!(kind, OpKind::Insert { .. } | OpKind::Update { .. })
            }
            Catch::State(state) => is_reserved(*state),
        },
    }
}

/// Whether the SQLSTATE is of a class that the standard or PostgreSQL reserves: others are raised by
/// procedures alone.
fn is_reserved(state: SqlState) -> bool {
    let class = state.class();
    matches!(class[0], b'0'..=b'5' | b'A'..=b'H') || class == *b"P0" || class == *b"XX"
}
