//! Calls of other programs, and the rows a program emits.

use super::{Base, Machine, Sink};
use crate::code::*;
use crate::functions;
use crate::host::{Call, Calls, Context, Dynamic, Host, Interrupt};
use crate::slot::Slot;
use planaria_base::{Error, Result, SqlState};
use planaria_ir::{Question, Run};
use planaria_protocol::RowLocks;

impl Machine {
    pub(super) fn call_procedure<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        desc: &CallDesc,
        caller: &Code,
        pc: usize,
        frame: &mut Vec<Slot>,
        base: Base,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        // Calls count as turns: recursion of bounded depth can still run for ever.
        self.turns -= 1;
        if self.turns == 0 {
            self.safe_point(frame, ctx)?;
        }
        let code = match desc.guarded {
            false => ctx.link.code(desc.procedure)?,
            true => ctx.link.guarded_code(desc.procedure)?,
        };
        let sink = match desc.into {
            Some(list) => Sink::List(base.colls + usize::from(list)),
            None => Sink::Nowhere,
        };
        let depth = u32::from(code.is_trigger) + std::mem::take(&mut self.deeper_trigger);
        self.trigger_depth += depth;
        let call = Call { code: caller, pc, text: None, outer: ctx.calls };
        let inner = self.nested(code, &desc.args, frame, sink, &mut ctx.called_by(&call));
        self.trigger_depth -= depth;
        let inner = inner?;
        for (to, from) in desc.outs.iter().zip(&code.outs) {
            if *to != NONE {
                frame[usize::from(*to)] = inner[usize::from(*from)];
            }
        }
        self.recycle(inner);
        Ok(())
    }

    #[cold]
    #[allow(clippy::too_many_arguments, reason = "a call, and what it stands in")]
    pub(super) fn call_dynamic<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        desc: &ExecuteDesc,
        caller: &Code,
        pc: usize,
        frame: &mut Vec<Slot>,
        base: Base,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        let Some(link) = ctx.host.look_elsewhere() else {
            return self.call_dynamic_here(desc, caller, pc, frame, base, ctx);
        };
        let ended = self.call_dynamic_here(desc, caller, pc, frame, base, &mut ctx.linked_by(&*link));
        ctx.host.look_back();
        ended
    }

    #[allow(clippy::too_many_arguments, reason = "a call, and what it stands in")]
    fn call_dynamic_here<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        desc: &ExecuteDesc,
        caller: &Code,
        pc: usize,
        frame: &mut Vec<Slot>,
        base: Base,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        let embedded = desc.run == Run::Constraints;
        if let Run::Steps(routine) = desc.run {
            return self.carry_out(routine, desc, caller, pc, frame, base, ctx);
        }
        let tables: &[String] = match &desc.run {
            Run::Statement | Run::Constraints => &[],
            Run::Among(names) => names,
            Run::Open { columns: None, .. } => return self.open_query(desc, caller, pc, frame, ctx),
            _ => return Ok(self.cursor(desc, caller, frame, base, ctx.host)?),
        };
        let Slot::Text(text) = frame[usize::from(desc.text)] else {
            return Err(null_text().into());
        };
        let dynamic = ctx.host.execute(self.heap.str(text), &desc.types, tables).map_err(|mut error| {
            if embedded {
                error.fields_mut().position = None;
            }
            match error.fields().position {
                Some(_) => error.in_query(self.heap.str(text)),
                None => error,
            }
        });
        let count = match dynamic? {
            Dynamic::Done(count) => count,
            Dynamic::Code(code) => {
                let list = desc.rows.map(|list| base.colls + usize::from(list));
                let sink = match (list, desc.rows) {
                    (Some(list), Some(number)) => Sink::Convert {
                        list,
                        from: &code.output_types,
                        to: &caller.colls[usize::from(number)].types,
                    },
                    _ => Sink::Nowhere,
                };
                let before = list.map_or(0, |list| self.colls[list].len());
                let text = (!embedded).then_some((desc.text, self.parked.len()));
                let call = Call { code: caller, pc, text, outer: ctx.calls };
                let inner = match self.nested(&code, &desc.args, frame, sink, &mut ctx.called_by(&call)) {
                    Err(Interrupt::Error(e)) if !embedded => {
                        return Err(self.in_text(e, frame[usize::from(desc.text)]).into());
                    }
                    other => other?,
                };
                let affected = code.row_count.map(|r| inner[usize::from(r)]);
                self.recycle(inner);
                match affected {
                    Some(Slot::Int(count)) => count,
                    _ => list.map_or(0, |list| (self.colls[list].len() - before) as i64),
                }
            }
        };
        if desc.row_count != NONE {
            frame[usize::from(desc.row_count)] = Slot::Int(count);
        }
        Ok(())
    }

    /// OPEN for a text: a cursor for the rows that it gives.
    fn open_query<P: RowLocks, H: Host + ?Sized>(
        &mut self,
        desc: &ExecuteDesc,
        caller: &Code,
        pc: usize,
        frame: &mut Vec<Slot>,
        ctx: &mut Context<'_, P, H>,
    ) -> Result<(), Interrupt> {
        let slot = frame[usize::from(desc.text)];
        let Slot::Text(text) = slot else { return Err(null_text().into()) };
        let code = ctx.host.cursor_query(self.heap.str(text), &desc.types).map_err(|error| {
            match error.fields().position {
                Some(_) => error.in_query(self.heap.str(text)),
                None => error,
            }
        })?;
        let text = Some((desc.text, self.parked.len()));
        let call = Call { code: caller, pc, text, outer: ctx.calls };
        match self.nested(&code, &desc.args, frame, Sink::Host, &mut ctx.called_by(&call)) {
            Err(Interrupt::Error(e)) => return Err(self.in_text(e, slot).into()),
            other => {
                let inner = other?;
                self.recycle(inner);
            }
        }
        Ok(self.name_cursor(desc, frame, ctx.host)?)
    }

    /// What was begun is a cursor; its name goes to where it is kept.
    fn name_cursor<H: Host + ?Sized>(
        &mut self,
        desc: &ExecuteDesc,
        frame: &mut [Slot],
        host: &mut H,
    ) -> Result<()> {
        let Run::Open { forward_only, .. } = &desc.run else { return Ok(()) };
        let place = usize::from(desc.name);
        let name = match frame[place] {
            Slot::Text(name) => Some(self.heap.str(name)),
            _ => None,
        };
        let given = name.is_none();
        let name = host.open_cursor(name, *forward_only)?;
        if given {
            frame[place] = self.heap.text(&name)?;
        }
        Ok(())
    }

    /// OPEN for rows that are there, FETCH, MOVE and CLOSE.
    fn cursor<H: Host + ?Sized>(
        &mut self,
        desc: &ExecuteDesc,
        caller: &Code,
        frame: &mut [Slot],
        base: Base,
        host: &mut H,
    ) -> Result<()> {
        let list = desc.rows.map(|list| (base.colls + usize::from(list), usize::from(list)));
        if let (Run::Open { columns: Some(names), .. }, Some((list, number))) = (&desc.run, list) {
            let types = caller.colls[number].types.iter().flatten();
            host.cursor_rows(&mut names.iter().map(String::as_str).zip(types))?;
            for at in 0..self.colls[list].len() {
                host.row(self.colls[list].row(at), &self.heap)?;
            }
            return self.name_cursor(desc, frame, host);
        }
        let Slot::Text(name) = frame[usize::from(desc.text)] else {
            return Err(Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "cursor variable is null"));
        };
        let name = self.heap.str(name).to_owned();
        let Run::Fetch(step) = desc.run else {
            return host.close_cursor(&name);
        };
        let count = frame[usize::from(desc.args[0])].int();
        let (heap, colls) = (&mut self.heap, &mut self.colls);
        let met = host.fetch_cursor(&name, step, count, &mut |row, types| {
            let Some((list, number)) = list else { return Ok(()) };
            let mut converted = Vec::new();
            let mut row = row.iter().zip(types);
            for wanted in caller.colls[number].types.iter() {
                converted.push(match (row.next(), wanted) {
                    (Some((value, from)), Some(to)) if !value.is_null() => {
                        let slot = heap.push_datum(value)?;
                        if from == to { slot } else { functions::cast(slot, from, to, false, heap)? }
                    }
                    _ => Slot::Null,
                });
            }
            colls[list].push(converted.into_iter())
        })?;
        if desc.row_count != NONE {
            frame[usize::from(desc.row_count)] = Slot::Int(met);
        }
        Ok(())
    }

    /// An error of dynamic SQL: its position is one in that text, which goes into the context.
    fn in_text(&self, mut error: Error, text: Slot) -> Error {
        if error.fields().query.is_none() {
            error.fields_mut().position = None;
        }
        match text {
            Slot::Text(text) => error.context(format!("SQL statement \"{}\"", self.heap.str(text))),
            _ => error,
        }
    }

    /// What CONTEXT of an error would be here: the routine that runs, and whoever has called it.
    #[cold]
    pub(super) fn call_stack(
        &mut self,
        desc: &AskDesc,
        code: &Code,
        pc: usize,
        frame: &mut [Slot],
        calls: Calls<'_>,
    ) -> Result<()> {
        let mut told = super::error::with_context(code, pc, Error::new(SqlState::SUCCESSFUL_COMPLETION, ""));
        let mut rest = calls;
        while let Some(call) = rest.0 {
            let text = call.text.and_then(|(reg, at)| self.parked.get(at)?.get(usize::from(reg)).copied());
            if let Some(text) = text {
                told = self.in_text(told, text);
            }
            told = super::error::with_context(call.code, call.pc, told);
            rest = call.outer;
        }
        let stack = self.heap.text(told.fields().context.as_deref().unwrap_or(""))?;
        if desc.dst != NONE {
            frame[usize::from(desc.dst)] = stack;
        }
        Ok(())
    }

    /// Asks the engine something.
    #[cold]
    pub(super) fn ask<H: Host + ?Sized>(
        &mut self,
        desc: &AskDesc,
        frame: &mut [Slot],
        host: &mut H,
    ) -> Result<(), Interrupt> {
        self.row.clear();
        self.row.extend(desc.args.iter().map(|r| frame[usize::from(*r)]));
        let answer = if desc.question == Question::TriggerDepth {
            Slot::Int(i64::from(self.trigger_depth))
        } else if desc.question == Question::DeeperTrigger {
            self.deeper_trigger = 1;
            Slot::Bool(true)
        } else if desc.question.strict()
            && !desc.question.is_input()
            && self.row.iter().any(|slot| slot.is_null())
        {
            Slot::Null
        } else {
            host.ask(desc.question, &self.row, &mut self.heap)?
        };
        if desc.dst != NONE {
            frame[usize::from(desc.dst)] = answer;
        }
        Ok(())
    }

    /// Collects the rows of a system relation.
    #[cold]
    pub(super) fn system_rows<H: Host + ?Sized>(
        &mut self,
        desc: &SystemRowsDesc,
        base: Base,
        host: &mut H,
    ) -> Result<()> {
        let list = &mut self.colls[base.colls + usize::from(desc.into)];
        host.system_rows(desc.relation, &desc.columns, &mut self.heap, &mut |row| {
            list.push(row.iter().copied())
        })
    }

    /// Hands values to the log.
    pub(super) fn keep<H: Host + ?Sized>(
        &mut self,
        values: &[R],
        frame: &[Slot],
        host: &mut H,
    ) -> Result<()> {
        self.row.clear();
        self.row.extend(values.iter().map(|r| frame[usize::from(*r)]));
        host.keep(&self.row, &self.heap)
    }

    /// Hands a piece to the planner.
    pub(super) fn piece<H: Host + ?Sized>(
        &mut self,
        piece: u32,
        args: &[R],
        frame: &[Slot],
        host: &mut H,
    ) -> Result<()> {
        self.row.clear();
        self.row.extend(args.iter().map(|r| frame[usize::from(*r)]));
        host.piece(piece, &self.row, &self.heap)
    }

    /// Adds a row to where the program's rows go.
    pub(super) fn emit<H: Host + ?Sized>(
        &mut self,
        values: &[R],
        frame: &[Slot],
        sink: Sink<'_>,
        host: &mut H,
    ) -> Result<()> {
        let row = values.iter().map(|r| frame[usize::from(*r)]);
        match sink {
            Sink::Nowhere => Ok(()),
            Sink::List(list) => self.colls[list].push(row),
            Sink::Host => {
                self.row.clear();
                self.row.extend(row);
                host.row(&self.row, &self.heap)
            }
            Sink::Convert { list, from, to } => {
                // As SELECT INTO has it: missing columns are NULL, further ones are left out.
                let mut converted = std::mem::take(&mut self.row);
                converted.clear();
                let mut row = row.zip(from);
                for wanted in to {
                    let slot = match (row.next(), wanted) {
                        (Some((Slot::Null, _)) | None, _) | (_, None) => Slot::Null,
                        (Some((slot, from)), Some(to)) if from == to => slot,
                        (Some((slot, from)), Some(to)) => {
                            functions::cast(slot, from, to, false, &mut self.heap)?
                        }
                    };
                    converted.push(slot);
                }
                let pushed = self.colls[list].push(converted.iter().copied());
                self.row = converted;
                pushed
            }
        }
    }
}

fn null_text() -> Error {
    Error::new(SqlState::NULL_VALUE_NOT_ALLOWED, "query string argument of EXECUTE is null")
}
