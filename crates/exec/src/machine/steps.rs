//! Routines that are carried out statement by statement, within the program that calls them.
//!
//! What types their statements have is known only when they are reached: so each is a program of its own, which is made then. Who
//! makes them and decides which comes next is the engine ([`Stepwise`]); here is what it does so with ([`Carrier`]). Between
//! statements the routine's variables are values of the engine's, and nothing of it is in the heap.

use super::{Base, Machine, Sink};
use crate::code::{Code, ExecuteDesc, NONE};
use crate::host::{Call, Carrier, Context, CursorAt, Host, Interrupt};
use crate::slot::Slot;
use planaria_base::{Datum, ProcedureId, Result, TableId, Type, stack};
use planaria_ir::{CollKind, Output};
use planaria_protocol::{LocksMark, RowLocks, Savepoint};
use std::any::Any;

/// A block that catches errors.
struct Open {
    savepoint: Savepoint,
    beside: crate::host::Beside,
    rows: LocksMark,
}

struct Within<'w, 'c, P: RowLocks, H: Host + ?Sized> {
    machine: &'w mut Machine,
    frame: &'w mut Vec<Slot>,
    ctx: &'w mut Context<'c, P, H>,
    caller: &'w Code,
    pc: usize,
    /// Where the answer goes.
    list: Option<usize>,
    open: Vec<Open>,
}

impl<P: RowLocks, H: Host + ?Sized> Carrier for Within<'_, '_, P, H> {
    fn program(&mut self, step: &dyn Any) -> Result<crate::host::StepProgram> {
        let elsewhere = self.ctx.host.look_elsewhere().is_some();
        let made = self.ctx.host.step(step);
        if elsewhere {
            self.ctx.host.look_back();
        }
        made
    }

    fn looks_at(&mut self) -> u64 {
        self.ctx.host.looks_at()
    }

    fn run(&mut self, code: &Code, arguments: &[Datum]) -> Result<(Vec<Vec<Datum>>, Option<i64>), Interrupt> {
        let machine = &mut *self.machine;
        machine.turns -= 1;
        if machine.turns == 0 {
            machine.safe_point(self.frame, self.ctx)?;
        }
        let mut inner = machine.take_frame(code);
        for (reg, argument) in code.inputs.iter().zip(arguments) {
            inner[usize::from(*reg)] = machine.heap.push_datum(argument)?;
        }
        let list = machine.colls_used;
        machine.colls_used += 1;
        if machine.colls.len() < machine.colls_used {
            machine.colls.resize_with(machine.colls_used, Default::default);
        }
        machine.colls[list].open(CollKind::List, 0, code.output_types.len());
        let call = Call { code: self.caller, pc: self.pc, text: None, outer: self.ctx.calls };
        let ended = machine.deeper().map_err(Interrupt::from).and_then(|()| {
            let elsewhere = self.ctx.host.look_elsewhere();
            let mut within = self.ctx.called_by(&call);
            let ended = match &elsewhere {
                Some(link) => {
                    let mut there = within.linked_by(&**link);
                    machine.inside(code, inner, self.frame, Sink::List(list), &mut there)
                }
                None => machine.inside(code, inner, self.frame, Sink::List(list), &mut within),
            };
            if elsewhere.is_some() {
                self.ctx.host.look_back();
            }
            ended
        });
        machine.colls_used = list;
        let inner = ended?;
        let affected = code.row_count.map(|r| inner[usize::from(r)]);
        machine.recycle(inner);
        let (rows, heap) = (&machine.colls[list], &machine.heap);
        let row = |at: usize| rows.row(at).iter().map(|slot| heap.to_datum(*slot)).collect();
        let rows = (0..rows.len()).map(row).collect();
        let counted = match affected {
            Some(Slot::Int(count)) => Some(count),
            _ => None,
        };
        Ok((rows, counted))
    }

    fn enter(&mut self) {
        let savepoint = self.ctx.protocol.savepoint(self.ctx.txn);
        let (beside, rows) = (self.ctx.host.beside(), self.ctx.protocol.locked(self.ctx.txn));
        self.open.push(Open { savepoint, beside, rows });
    }

    fn leave(&mut self) {
        if let Some(open) = self.open.pop() {
            self.ctx.protocol.release(self.ctx.txn, open.savepoint);
        }
    }

    fn back(&mut self) {
        if let Some(open) = self.open.pop() {
            self.ctx.protocol.rollback_to(self.ctx.txn, open.savepoint, self.ctx.tables);
            self.ctx.protocol.unlock_to(self.ctx.txn, open.rows);
            self.ctx.host.back_to(open.beside, &mut self.machine.heap);
            self.ctx.protocol.release(self.ctx.txn, open.savepoint);
            self.machine.handled = true;
        }
    }

    fn answer(&mut self, row: &[Datum]) -> Result<()> {
        let Some(list) = self.list else { return Ok(()) };
        let machine = &mut *self.machine;
        let mut slots = Vec::with_capacity(row.len());
        for value in row {
            slots.push(machine.heap.push_datum(value)?);
        }
        machine.colls[list].push(slots.into_iter())
    }

    fn cursor_columns(&self, name: &str) -> Option<Vec<(String, Type)>> {
        self.ctx.host.cursor_columns(name)
    }

    fn split_cursor(&mut self, name: &str, table: TableId, keys: &[Output]) -> Result<()> {
        self.ctx.host.split_cursor(name, table, keys)
    }

    fn cursor_at(&self, name: &str) -> Option<CursorAt> {
        self.ctx.host.cursor_at(name)
    }

    fn check(&self) -> Result<()> {
        self.ctx.host.check_interrupt()
    }
}

impl Machine {
    #[cold]
    #[allow(clippy::too_many_arguments, reason = "a call, and what it stands in")]
    pub(super) fn carry_out<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        routine: ProcedureId,
        desc: &ExecuteDesc,
        caller: &Code,
        pc: usize,
        frame: &mut Vec<Slot>,
        base: Base,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        stack::check()?;
        let stepwise = ctx.host.stepwise(routine)?;
        let arguments = desc.args.iter().map(|r| self.heap.to_datum(frame[usize::from(*r)])).collect();
        let list = desc.rows.map(|list| base.colls + usize::from(list));
        let before = list.map_or(0, |list| self.colls[list].len());
        let mut within = Within { machine: self, frame, ctx, caller, pc, list, open: Vec::new() };
        let ended = stepwise.carry_out(arguments, &mut within);
        // Of an error that leaves the routine.
        while !within.open.is_empty() {
            within.leave();
        }
        if let Err(Interrupt::Error(mut error)) = ended {
            // What is said of the routine is said already.
            error.fields_mut().again = true;
            return Err(error.into());
        }
        ended?;
        if desc.row_count != NONE {
            let count = list.map_or(0, |list| self.colls[list].len() - before);
            frame[usize::from(desc.row_count)] = Slot::Int(count as i64);
        }
        Ok(())
    }
}
