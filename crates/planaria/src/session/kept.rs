//! What a session keeps between transactions of a client, so that one session can serve many clients.
//!
//! All fields of a session are named where clients are exchanged, and so are those of what is a client's in part: a new one
//! is compiled only when somebody has said whose it is.

use crate::engine::channels::{Ears, Mailbox};
use crate::engine::program::cursor::Cursors;
use crate::engine::program::random::Chance;
use crate::engine::sequence::LastDrawn;
use crate::session::core::{Block, SessionCore};
use crate::session::prepared::Named;
use crate::session::user::User;
use crate::settings::Settings;
use std::collections::HashMap;
use std::mem::swap;
use std::sync::Arc;

/// What a client's session is, apart from a transaction under way.
#[derive(Default)]
pub(crate) struct KeptState {
    named: HashMap<String, Named>,
    settings: Settings,
    user: User,
    number: Option<i32>,
    /// Cursors WITH HOLD.
    cursors: Cursors,
    /// The channels that it listens to.
    ears: Ears,
    /// `currval` of sequences, and `lastval`.
    drawn: LastDrawn,
    /// What `random()` draws from.
    chance: Chance,
}

impl KeptState {
    /// What comes for the client, if it listens.
    pub(crate) fn inbox(&self) -> Option<&Arc<Mailbox>> {
        self.ears.mailbox()
    }
}

impl SessionCore {
    /// Serves another client from now on: the one whose state that is. Between transactions.
    pub(crate) fn exchange_state(&mut self, state: &mut KeptState) {
        let SessionCore {
            inputs,
            sequences,
            ears,
            statements,
            settings,
            cursors,
            user,
            number,
            // What keeps the session with its client.
            block,
            own_locks,
            temporary,
            pending,
            // Of the last statement.
            notices,
            // Of a statement or a transaction, all of which are over; or the session's, whoever it serves.
            engine: _,
            worker: _,
            schema: _,
            txn: _,
            machine: _,
            log: _,
            session_log: _,
            last_commit: _,
            met: _,
            effects: _,
            rows: _,
            sunk: _,
            args: _,
            kept_args: _,
            kept_heap: _,
            reading: _,
            read_only: _,
            isolation: _,
            used: _,
            pure: _,
            doomed: _,
            savepoints: _,
            barred: _,
            said: _,
            has_locks: _,
            compiled_for: _,
            outdated: _,
            followed_from: _,
            deferred: _,
            trigger_codes: _,
            changing: _,
            cancel: _,
            watch: _,
            sleeps_by: _,
            no_columns: _,
            calls: _,
            internal: _,
            scoped: _,
            forms_seen: _,
            share: _,
            touched: _,
            panicked: _,
            pauses: _,
            several: _,
            runs_ahead: _,
        } = self;
        debug_assert!(matches!(block, Block::None), "a transaction belongs to its session");
        debug_assert!(own_locks.is_empty(), "advisory locks belong to their session");
        debug_assert!(!temporary.made, "temporary relations belong to their session");
        debug_assert!(pending.is_none(), "who has committed something waits for it");
        let KeptState {
            named,
            settings: other_settings,
            user: other_user,
            number: other_number,
            cursors: other_cursors,
            ears: other_ears,
            drawn,
            chance,
        } = state;
        statements.exchange(named);
        inputs.exchange(chance);
        sequences.exchange(drawn);
        swap(settings, other_settings);
        swap(user, other_user);
        swap(number, other_number);
        swap(cursors, other_cursors);
        swap(ears, other_ears);
        notices.clear();
    }
}
