//! Programs that end their transaction, and go on in the next one: COMMIT and ROLLBACK in a procedure.
//!
//! The program stops there, and what it has computed so far is copied out of the machine ([`Suspended`]). Whoever runs it
//! ends the transaction, begins the next one, and has it go on ([`Machine::resume`]): as often as that transaction
//! takes, as the copy stays as it is. It may stop in a procedure that it has called: then the copy has a [`Level`] for each.
//!
//! The schema may change between: then the program goes on only if the code is what it was ([`Code::fingerprint`]).
//!
//! Nothing of rows is in the copy: no scan is open, as loops over queries have all their rows before their first turn, and no
//! savepoint, as that is an error.

use super::compact::Relocation;
use super::{Base, Machine, Sink};
use crate::code::{Code, Inst, NONE};
use crate::collection::Collection;
use crate::heap::Heap;
use crate::host::{Call, Context, Host, Interrupt};
use crate::slot::Slot;
use planaria_base::{Error, Result, SqlState, limits};
use planaria_protocol::RowLocks;

/// A program between two of its transactions. See the module's head.
pub struct Suspended {
    /// Whether the transaction that it has ended is to be committed.
    commits: bool,
    heap: Heap,
    /// The outermost first.
    frames: Vec<Vec<Slot>>,
    colls: Vec<Collection>,
    caught: Vec<Error>,
    handled: bool,
    /// The innermost first.
    levels: Vec<Level>,
}

/// Where a program on the stack goes on.
#[derive(Clone, Copy)]
struct Level {
    /// Behind the instruction that ended the transaction, or that called the program that did.
    pc: usize,
    base: Base,
    code: u64,
}

impl Suspended {
    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        let slots: usize = self.frames.iter().map(Vec::len).sum();
        let rows: usize = self.colls.iter().map(Collection::bytes).sum();
        self.heap.capacity() + slots * size_of::<Slot>() + rows
    }
}

impl Machine {
    /// Whether the last run has left a program to go on.
    #[inline]
    pub fn is_suspended(&self) -> bool {
        self.suspended.is_some()
    }

    /// Whether the transaction that the last run has ended is to be committed.
    pub fn commits(&self) -> bool {
        self.suspended.as_ref().is_some_and(|suspended| suspended.commits)
    }

    /// The program that the last run has left to go on.
    pub fn take_suspended(&mut self) -> Option<Box<Suspended>> {
        self.suspended.take()
    }

    /// Ends the transaction, if that may be.
    #[cold]
    pub(super) fn end_transaction<H: Host + ?Sized>(
        &mut self,
        commits: bool,
        frame: &[Slot],
        host: &mut H,
    ) -> Interrupt {
        match self.suspend(commits, frame, host) {
            Ok(()) => Interrupt::TransactionEnds,
            Err(error) => error.into(),
        }
    }

    fn suspend<H: Host + ?Sized>(&mut self, commits: bool, frame: &[Slot], host: &mut H) -> Result<()> {
        if self.atomic > 0 || !host.may_end_transaction() {
            return Err(refused("invalid transaction termination"));
        }
        if !self.tries.is_empty() {
            let what = if commits { "commit" } else { "roll back" };
            return Err(refused(&format!("cannot {what} while a subtransaction is active")));
        }
        if !self.cursors.is_empty() {
            return Err(Error::internal(
                "the transaction ends in a loop over rows that are still being read",
            ));
        }
        host.holds(2 * self.held_bytes())?;
        let mut suspended = Suspended {
            commits,
            heap: Heap::new(),
            frames: self.parked.clone(),
            colls: self.colls[..self.colls_used].to_vec(),
            caught: self.caught.clone(),
            handled: self.handled,
            levels: Vec::new(),
        };
        suspended.frames.push(frame.to_vec());
        let Suspended { heap, frames, colls, .. } = &mut suspended;
        relocate(&self.heap, heap, frames, colls)?;
        self.suspended = Some(Box::new(suspended));
        Ok(())
    }

    /// A program is left that goes on here.
    #[cold]
    pub(super) fn note_level(&mut self, code: &Code, pc: usize, base: Base) {
        if let Some(suspended) = &mut self.suspended {
            suspended.levels.push(Level { pc, base, code: code.fingerprint() });
        }
    }

    /// Goes on with a program that has ended its transaction: `code` is the one that it was begun with, or the same under another
    /// schema. 55000 where it is not the same.
    pub fn resume<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        suspended: &Suspended,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        let mut frames = suspended.frames.clone();
        let mut colls = suspended.colls.clone();
        relocate(&suspended.heap, &mut self.heap, &mut frames, &mut colls)?;
        self.turns = limits::TURNS_PER_CHECK;
        self.checks = 0;
        self.handled = suspended.handled;
        self.caught.clone_from(&suspended.caught);
        self.colls_used = colls.len();
        self.colls.splice(..self.colls.len().min(colls.len()), colls);
        frames.reverse();
        let Some(mut frame) = frames.pop() else {
            return Err(Error::internal("a program without a frame goes on").into());
        };
        let levels = suspended.levels.iter().rev();
        let ended = self.resume_level(code, &mut frame, &mut frames, levels, Sink::Host, ctx);
        self.end_top(code, frame, ended)
    }

    fn resume_level<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        code: &Code,
        frame: &mut Vec<Slot>,
        frames: &mut Vec<Vec<Slot>>,
        mut levels: std::iter::Rev<std::slice::Iter<'_, Level>>,
        sink: Sink<'_>,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        let Some(Level { pc, base, .. }) = levels.next().copied().filter(|l| l.code == code.fingerprint())
        else {
            return Err(changed(code).into());
        };
        let called = match (code.insts.get(pc.wrapping_sub(1)), frames.pop()) {
            (Some(Inst::Call { call }), Some(inner)) => {
                self.resume_called(code, pc - 1, *call, frame, inner, frames, levels, ctx)
            }
            _ => Ok(()),
        };
        let ended = self.steps_from(pc, called, code, frame, sink, base, ctx);
        self.colls_used = base.colls;
        if ended.is_err() {
            self.close_cursors(base.cursors, ctx);
            self.tries.truncate(base.tries);
            self.caught.truncate(base.caught);
        }
        ended
    }

    #[allow(clippy::too_many_arguments, reason = "a call, and what is left of the stack")]
    fn resume_called<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        caller: &Code,
        pc: usize,
        call: u16,
        frame: &mut Vec<Slot>,
        mut inner: Vec<Slot>,
        frames: &mut Vec<Vec<Slot>>,
        levels: std::iter::Rev<std::slice::Iter<'_, Level>>,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        let desc = &caller.calls[usize::from(call)];
        let code = match desc.guarded {
            false => ctx.link.code(desc.procedure)?,
            true => ctx.link.guarded_code(desc.procedure)?,
        };
        self.parked.push(std::mem::take(frame));
        let waits = Call { code: caller, pc, text: None, outer: ctx.calls };
        let within = &mut ctx.called_by(&waits);
        // A procedure has no rows.
        let ended = self.resume_level(code, &mut inner, frames, levels, Sink::Nowhere, within);
        *frame = self.parked.pop().unwrap_or_default();
        if ended.is_ok() {
            for (to, from) in desc.outs.iter().zip(&code.outs) {
                if *to != NONE {
                    frame[usize::from(*to)] = inner[usize::from(*from)];
                }
            }
        }
        self.recycle(inner);
        ended
    }
}

fn relocate(from: &Heap, to: &mut Heap, frames: &mut [Vec<Slot>], colls: &mut [Collection]) -> Result<()> {
    let mut relocation = Relocation::new(from, to);
    for frame in frames {
        relocation.slots(frame)?;
    }
    for coll in colls {
        relocation.slots(coll.slots_mut())?;
    }
    Ok(())
}

#[cold]
fn changed(code: &Code) -> Error {
    let message = format!("\"{}\" was changed between two of its transactions", code.name);
    Error::new(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .with_detail("The routine, or a table that it uses, has been changed.")
        .with_hint("What it has committed remains committed.")
}

#[cold]
fn refused(message: &str) -> Error {
    Error::new(SqlState::INVALID_TRANSACTION_TERMINATION, message.to_owned())
}
