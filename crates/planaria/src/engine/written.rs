//! What a transaction has changed, whatever the protocol.

use planaria_protocol::{Hosted, Write};

/// The changes of a transaction that is open, or just being committed.
pub(crate) trait Written {
    /// Calls `f` with the net effect on each row: see [`Effects::writes`](planaria_protocol::Effects::writes).
    fn for_each(&self, f: &mut dyn FnMut(Write<'_>));
}

/// Those of a protocol's transaction.
pub(crate) struct WrittenBy<'t, P: Hosted>(pub(crate) &'t P, pub(crate) &'t P::Txn);

impl<P: Hosted> Written for WrittenBy<'_, P> {
    fn for_each(&self, f: &mut dyn FnMut(Write<'_>)) {
        let WrittenBy(protocol, txn) = self;
        protocol.writes(txn, f);
    }
}
