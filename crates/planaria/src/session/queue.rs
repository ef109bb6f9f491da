//! Calls that wait their turn: their rows are fetched meanwhile, together.
//!
//! A short call looks up a row or two by what it is given, and others by what these say: it has nothing to look up beside, and
//! waits for memory each time ([`planaria_analysis::look_ahead()`]). Of calls that are there together the first lookups
//! of all are made as a group, then the second ones. That takes a transaction of its own, which reads, writes nothing and
//! is aborted. Then the calls run as ever. They look up everything themselves, but find at once where the paths led, as nothing
//! that was found is freed before the last of them: a comparison each, in the processor's caches.

use crate::engine::schema_version::SchemaVersion;
use crate::params::Params;
use crate::session::PreparedCall;
use crate::session::core::{Block, SessionCore};
use crate::session::prepared::{Defaults, Resolved};
use crate::session::statement::WithDefaults;
use crate::session::user::stamp;
use planaria_base::Result;
use planaria_exec::Interrupt;
use planaria_log::Call;

/// Calls that are looked ahead for together. Of more, the first rows would be out of the nearest caches when they are wanted.
pub(crate) const GROUP: usize = 16;

/// Programs for a call: the second one reads what the first has fetched.
const WAVES: usize = 2;

impl SessionCore {
    /// Fetches rows that these calls are known to look up, if any are, in the time of a statement. Then the n-th of them is run behind
    /// [`Self::serve`], and [`Self::end_calls`] ends it.
    pub(crate) fn fetch_ahead(&mut self, calls: &[(&PreparedCall, &dyn Params)]) -> Result<()> {
        if calls.len() < 2 || !matches!(self.block, Block::None) {
            return Ok(());
        }
        self.in_time(|s| {
            s.in_waves(calls.len(), &mut |s, schema, wave, n| {
                let (call, params) = calls[n];
                let known = s.calls.take(call.number);
                let resolved = known.unwrap_or_else(|| call.resolved.load_full());
                let is_made =
                    params.count() == call.given.count() && s.ask_for(schema, wave, &resolved, params);
                s.calls.put(call.number, resolved);
                is_made
            });
            Ok(())
        })
    }

    /// The same of calls that the log has.
    pub(crate) fn fetch_for_replay(&mut self, calls: &[&Call]) {
        self.end_calls();
        if calls.len() < 2 {
            return;
        }
        self.in_waves(calls.len(), &mut |s, schema, wave, n| {
            let code = schema.waves(calls[n].procedure).get(wave);
            code.is_some_and(|code| is_made(s.run_datums(schema, code, &calls[n].args, true)))
        });
    }

    /// What runs next is the n-th of the calls that rows were fetched for.
    #[inline]
    pub(crate) fn serve(&mut self, n: usize) {
        self.machine.serve(Some(n as u32));
    }

    /// What runs next is none of them. Nothing else waits with what they have found.
    pub(crate) fn end_calls(&mut self) {
        self.machine.serve(None);
        self.machine.asked().begin_calls();
        self.txn.let_go();
    }

    /// `run` runs the program that a call has in a wave: whether it has one.
    fn in_waves(
        &mut self,
        calls: usize,
        run: &mut dyn FnMut(&mut Self, &SchemaVersion, usize, usize) -> bool,
    ) {
        if !self.engine.traits.concurrent || !self.engine.look_ahead || self.enter().is_err() {
            return;
        }
        // Who cannot begin is outside.
        if self.begin_in_turn().is_err() {
            return;
        }
        self.pure = false;
        let (schema, pace) = (self.scoped(), self.machine.pace);
        self.machine.asked().begin_calls();
        self.runs_ahead = true;
        for wave in 0..WAVES {
            let mut any = false;
            for n in 0..calls {
                self.machine.asked().of_call(n as u32);
                // The second one finds what the first has fetched.
                self.machine.serve(Some(n as u32));
                any |= run(self, &schema, wave, n);
            }
            if !any {
                break;
            }
            self.txn.fetch(&mut self.machine, &schema.tables);
        }
        self.runs_ahead = false;
        self.machine.serve(None);
        self.machine.pace = pace;
        self.txn.hold();
        self.txn.abort(&schema.tables);
        self.leave();
    }

    /// One call's part of a wave: whether it has any. Errors will be seen when it runs.
    fn ask_for(
        &mut self,
        schema: &SchemaVersion,
        wave: usize,
        resolved: &Resolved,
        params: &dyn Params,
    ) -> bool {
        let Defaults::Values(defaults) = &resolved.defaults else { return false };
        if resolved.guarded || resolved.stamp != stamp(schema.version(), self.user.current()) {
            return false;
        }
        let Some(code) = schema.waves(resolved.id).get(wave) else { return false };
        let params = WithDefaults { params, defaults, order: resolved.order.as_deref() };
        let columns = self.no_columns.clone();
        is_made(self.run(schema, code, &resolved.parameters, &columns, &params, false))
    }
}

/// Whoever meets others in the way asks for nothing more.
fn is_made(ended: Result<(), Interrupt>) -> bool {
    !matches!(ended, Err(Interrupt::Conflict(_)))
}
