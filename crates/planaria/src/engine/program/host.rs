//! The engine as a running program sees it: inputs ([`super::inputs`]), sequences, messages, dynamic SQL, rows.

use crate::engine::channels::{Channels, Ears, Said, Saying};
use crate::engine::exported::Exporter;
use crate::engine::memory::{Meter, Share};
use crate::engine::program::at::At;
use crate::engine::program::cancel::Cancel;
use crate::engine::program::constraints;
use crate::engine::program::cursor::{Cursor, Cursors};
use crate::engine::program::deferred::Deferred;
use crate::engine::program::dynamic::{compile_dynamic, compile_query, compile_step};
use crate::engine::program::inputs::Inputs;
use crate::engine::program::keys::Keys;
use crate::engine::program::refusal::read_only;
use crate::engine::schema_version::SchemaVersion;
use crate::engine::sequence::{self, SequenceEffect, SessionSequences};
use crate::notice::Notice;
use crate::row::{Column, Columns, Row};
use crate::serving::clients::{Clients, Lent};
use crate::session::path::path;
use crate::settings::Settings;
use crate::sink::{RowRef, RowSink};
use crate::system::{Facts, NamedStatements, Vitals};
use planaria_base::{
    ColumnId, Datum, Error, Level, ProcedureId, Result, RoleId, SchemaId, SequenceId, SqlState, SystemId,
    TableId, Type, types::SystemType,
};
use planaria_catalog::SearchPath;
use planaria_exec::heap::Heap;
use planaria_exec::slot::Slot;
use planaria_exec::{Beside, Code, CursorAt, Dynamic, Host, Interrupt, Link, StepProgram, Stepwise};
use planaria_ir::{Draw, Output, Question, Step};
use planaria_syntax::ast::cursor::Direction;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// See the module's head.
pub(crate) struct SessionHost<'a> {
    pub(crate) schema: At<'a>,
    /// The version of the schema from home, as the session has it.
    pub(crate) home: &'a Arc<SchemaVersion>,
    /// Where the callers of routines with paths of their own look for names.
    pub(crate) outer: Vec<At<'a>>,
    pub(crate) channels: &'a Channels,
    pub(crate) exporter: Exporter<'a>,
    /// What the transaction has to tell others.
    pub(crate) said: &'a mut Said,
    pub(crate) ears: &'a Ears,
    /// What it has put off.
    pub(crate) deferred: &'a mut Deferred,
    /// Whose rights the program runs with now.
    pub(crate) role: RoleId,
    pub(crate) session_user: RoleId,
    pub(crate) inputs: &'a mut Inputs,
    /// Where texts and arrays that are kept for the log lie.
    pub(crate) kept_heap: &'a mut Heap,
    pub(crate) sequences: &'a mut SessionSequences,
    pub(crate) effects: &'a mut Vec<SequenceEffect>,
    pub(crate) notices: &'a mut Vec<Notice>,
    pub(crate) columns: &'a Columns,
    pub(crate) rows: &'a mut Vec<Row>,
    /// Takes the rows instead.
    pub(crate) sink: Option<&'a mut dyn RowSink>,
    /// Rows given to the sink.
    pub(crate) sunk: &'a mut u64,
    pub(crate) cancel: &'a Cancel,
    /// Whether the program answers: replay does not collect rows.
    pub(crate) quiet: bool,
    /// What the session has set.
    pub(crate) settings: &'a mut Settings,
    /// Cursors that the session has open.
    pub(crate) cursors: &'a mut Cursors,
    pub(crate) statements: &'a dyn NamedStatements,
    /// Savepoints of its block.
    pub(crate) savepoints: usize,
    /// Number of the session.
    pub(crate) session: i32,
    /// Who is connected.
    pub(crate) clients: &'a Lent<dyn Clients>,
    /// The server itself.
    pub(crate) host: &'a Lent<dyn crate::serving::host::Host>,
    /// When the engine was started.
    pub(crate) started: i64,
    /// Columns of the answer that are shown as names: `regclass` and the like.
    pub(crate) named: Option<Box<[(usize, SystemType)]>>,
    pub(crate) vitals: &'a dyn Vitals,
    pub(crate) meter: &'a Meter,
    pub(crate) share: &'a mut Share,
    /// `pg_sleep`, of so many seconds.
    pub(crate) sleep: &'a dyn Fn(f64) -> Result<()>,
    pub(crate) keys: Keys<'a>,
    /// Routines that are carried out by steps.
    pub(crate) stepwise: fn(&SchemaVersion, ProcedureId) -> Result<Arc<dyn Stepwise>>,
    /// It reads a snapshot: sequences stay where they are.
    pub(crate) read_only: bool,
    /// It only reads, and may begin anew in a snapshot.
    pub(crate) may_change_over: bool,
    /// It may end its transaction, and go on in the next one.
    pub(crate) may_end_transaction: bool,
}

/// `regclass` and the like among columns.
fn named_columns(columns: &[Column]) -> Box<[(usize, SystemType)]> {
    let named = columns.iter().enumerate().filter_map(|(i, c)| match c.ty {
        Type::System(system) if system.is_reg() => Some((i, system)),
        _ => None,
    });
    named.collect()
}

impl SessionHost<'_> {
    fn facts(&mut self) -> Facts<'_> {
        Facts {
            catalog: &self.schema.catalog,
            stock: &*self.schema,
            settings: self.settings,
            cursors: self.cursors,
            statements: self.statements,
            role: self.role,
            session_user: self.session_user,
            session: self.session,
            clients: self.clients.get(),
            host: self.host.get(),
            started: self.started,
            now: self.inputs.now.unwrap_or_else(|| self.inputs.transaction_time()),
            vitals: self.vitals,
        }
    }

    /// The values of a row that are shown as names, by their places.
    #[cold]
    fn names(&self, named: &[(usize, SystemType)], row: &[Slot]) -> Vec<(usize, u32, String)> {
        let name = |(at, ty): &(usize, SystemType)| match row[*at] {
            Slot::Int(oid) => {
                let oid = oid as u32;
                Some((*at, oid, planaria_catalog::reg::show(&self.schema.catalog, *ty, oid)))
            }
            _ => None,
        };
        named.iter().filter_map(name).collect()
    }

    /// What decides which policies hold for the program as it runs now.
    fn of_policies(&self, input: Draw) -> Option<bool> {
        let catalog = &self.schema.catalog;
        match input {
            Draw::RowSecurity(table) => Some(!catalog.is_exempt(self.role, table)),
            Draw::ActsAs(role) => Some(catalog.has_privileges_of(self.role, role)),
            Draw::RowSecurityOff => Some(self.settings.is_off("row_security")),
            _ => None,
        }
    }

    /// What a setting is: an input of the call.
    fn ask_input(&mut self, question: Question, args: &[Slot], heap: &mut Heap) -> Result<Slot, Interrupt> {
        let answer = match self.inputs.replayed_setting(heap) {
            Some(answer) => answer?,
            None if args.iter().any(|slot| slot.is_null()) => Slot::Null,
            None => crate::system::answer(&mut self.facts(), question, args, heap)?,
        };
        self.inputs.count_text()?;
        if !self.inputs.unlogged {
            self.inputs.drawn.push(Heap::relocate(answer, heap, self.kept_heap)?);
        }
        Ok(answer)
    }

    /// The schema along the path that `set_config()` has named since the program was made, if that is another than here.
    fn elsewhere(&self) -> Option<Arc<SchemaVersion>> {
        if !self.settings.path_was_set() {
            return None;
        }
        let catalog = &self.schema.catalog;
        let path = path(catalog, self.settings.get("search_path").ok()?, self.role);
        let path = path.as_replica(self.settings.is_replica());
        let here = catalog.path();
        let temporary = here.temporary();
        // A routine's own path says itself where temporary relations stand.
        let others = |path: &SearchPath| -> Vec<SchemaId> {
            path.schemas().iter().copied().filter(|id| Some(*id) != temporary).collect()
        };
        if path.is_replica() == here.is_replica() && others(&path) == others(here) {
            return None;
        }
        let path = match temporary {
            Some(temporary) => path.with_temporary(temporary),
            None => path,
        };
        Some(self.schema.home(self.home)?.along(&path))
    }

    fn sequence(&self, id: SequenceId) -> Result<&crate::engine::sequence::SequenceState> {
        self.schema
            .sequences
            .get(id.index())
            .map(|state| &**state)
            .ok_or_else(|| Error::internal(format!("there is no sequence {id}")))
    }
}

impl Host for SessionHost<'_> {
    fn draw(&mut self, input: Draw) -> Result<Slot> {
        if let Draw::Permitted(number) = input {
            self.inputs.beyond_a_call()?;
            return Ok(Slot::Bool(self.schema.is_permitted(self.role, number)));
        }
        if let Some(answer) = self.of_policies(input) {
            let answer = self.inputs.replayed(input).unwrap_or(Ok(Slot::Bool(answer)))?;
            self.inputs.drawn.push(answer);
            return Ok(answer);
        }
        let input = match (input, self.inputs.block) {
            // Nothing of a block is logged as a call.
            (Draw::StatementTimestamp, Some(_)) => return Ok(Slot::Int(self.inputs.statement)),
            (Draw::StatementTimestamp, None) => Draw::TransactionTimestamp,
            (other, _) => other,
        };
        if let (Draw::TransactionTimestamp, Some(now)) = (input, self.inputs.now) {
            return Ok(Slot::Int(now));
        }
        let value = match self.inputs.replayed(input) {
            Some(value) => value?,
            None if input == Draw::LastValue => Slot::Int(self.sequences.last()?),
            None if input == Draw::TransactionId => {
                Slot::Int(*self.inputs.transaction.get_or_insert_with(|| self.vitals.transaction_id()))
            }
            None => {
                let mut handed = std::mem::take(&mut self.inputs.handed);
                let value = handed.drawn(input, || self.inputs.draw(input));
                self.inputs.handed = handed;
                value?
            }
        };
        if let (Draw::TransactionTimestamp, Slot::Int(now)) = (input, value) {
            self.inputs.now = Some(now);
        }
        self.inputs.drawn.push(value);
        Ok(value)
    }

    fn name(&mut self, of: Draw) -> Result<String> {
        if of == Draw::CurrentDatabase {
            self.inputs.beyond_a_call()?;
            return Ok(self.settings.database().to_owned());
        }
        let role = if of == Draw::SessionUser { self.session_user } else { self.role };
        let known = || Ok(self.schema.catalog.role_name(role));
        let name = self.inputs.replayed_name().unwrap_or_else(known)?;
        self.inputs.count_text()?;
        if !self.inputs.unlogged {
            self.inputs.drawn.push(self.kept_heap.text(&name)?);
        }
        Ok(name)
    }

    fn asks_others(&mut self) -> Result<()> {
        self.inputs.beyond_a_call()
    }

    fn become_user(&mut self, role: RoleId) -> RoleId {
        std::mem::replace(&mut self.role, role)
    }

    fn enter(&mut self, routine: ProcedureId) -> Result<()> {
        let own = self.schema.catalog.behind(routine);
        self.settings.enter(&own.settings)?;
        if own.setting("search_path").is_some() {
            let at = match self.schema.within(routine) {
                Some(within) => At::Routine(within),
                None => self.schema.again(),
            };
            self.outer.push(std::mem::replace(&mut self.schema, at));
        }
        Ok(())
    }

    fn leave(&mut self, routine: ProcedureId, waits: bool) {
        self.settings.leave(waits);
        if self.schema.catalog.behind(routine).setting("search_path").is_some()
            && let Some(outer) = self.outer.pop()
        {
            self.schema = outer;
        }
    }

    fn settle_forms(&self, heap: &mut Heap) {
        self.settings.settle_forms(heap);
    }

    fn next_value(&mut self, sequence: SequenceId) -> Result<i64> {
        if self.read_only {
            return Err(read_only("nextval()"));
        }
        let place = match self.inputs.replayed_value() {
            Some(place) => {
                let place = place?;
                self.sequence(sequence)?.observe(place);
                self.sequences.remember(sequence, place.value);
                place
            }
            None => {
                let state = self
                    .schema
                    .sequences
                    .get(sequence.index())
                    .map(|state| &**state)
                    .ok_or_else(|| Error::internal(format!("there is no sequence {sequence}")))?;
                let (sequences, effects) = (&mut *self.sequences, &mut *self.effects);
                let seen = !state.definition().hidden;
                if seen {
                    self.inputs.handed.keep_current(sequence, sequences.last_drawn(sequence));
                }
                let place = self.inputs.handed.next(sequence, || {
                    let place = sequences.next(sequence, state)?;
                    if seen {
                        sequence::note(effects, sequence, place);
                    }
                    Ok::<_, Error>(place)
                })?;
                if seen {
                    // It may have been handed out again.
                    sequences.remember(sequence, place.value);
                }
                place
            }
        };
        let value = Slot::Int(place.value);
        self.sequences.drew(sequence);
        self.inputs.drawn.push(match place.generation {
            0 => value,
            generation => self.kept_heap.array(&[value, Slot::Int(generation as i64)])?,
        });
        Ok(place.value)
    }

    fn current_value(&mut self, sequence: SequenceId) -> Result<i64> {
        // A call's answer must not depend on what the session did before it: the value is an input.
        let value = match self.inputs.replayed_value() {
            Some(place) => place?.value,
            None => {
                let name = &self.sequence(sequence)?.definition().name;
                self.sequences.current(sequence, name)?
            }
        };
        self.inputs.drawn.push(Slot::Int(value));
        Ok(value)
    }

    fn set_value(&mut self, sequence: SequenceId, value: i64, is_called: bool) -> Result<()> {
        if self.read_only {
            return Err(read_only("setval()"));
        }
        // What was drawn before it cannot be handed out again behind it.
        self.inputs.under_locks.refuse()?;
        self.inputs.unlogged = true;
        let place = self.sequence(sequence)?.set(value, is_called)?;
        if is_called {
            self.sequences.remember(sequence, value);
        }
        sequence::note(self.effects, sequence, place);
        Ok(())
    }

    fn notice(&mut self, level: Level, message: &Error) {
        if self.quiet || matches!(level, Level::Debug | Level::Log) {
            return;
        }
        self.notices.push(Notice::of(level, message));
    }

    fn row(&mut self, row: &[Slot], heap: &Heap) -> Result<()> {
        if let Some((columns, rows)) = self.cursors.opening() {
            let mut values: Vec<Datum> = row.iter().map(|s| heap.to_datum(*s)).collect();
            for (at, column) in columns.iter().enumerate() {
                if let (Type::System(system), Datum::Int(oid)) = (&column.ty, &values[at])
                    && system.is_reg()
                {
                    let oid = *oid as u32;
                    let name = planaria_catalog::reg::show(&self.schema.catalog, *system, oid);
                    values[at] = Datum::Reg(oid, name);
                }
            }
            let row = Row::of(columns, values, heap);
            self.share.answers(crate::engine::program::cursor::row_bytes(&row));
            rows.push(row);
            return if self.share.is_due(self.meter) {
                self.meter.weigh(self.share, &self.schema)
            } else {
                Ok(())
            };
        }
        let columns = self.columns;
        let named = self.named.take().unwrap_or_else(|| named_columns(columns));
        let names = if named.is_empty() { Vec::new() } else { self.names(&named, row) };
        self.named = Some(named);
        if let Some(sink) = &mut self.sink {
            *self.sunk += 1;
            return sink.row(RowRef::with_names(row, heap, &names));
        }
        if !self.quiet {
            let mut values: Vec<Datum> = row.iter().map(|s| heap.to_datum(*s)).collect();
            for (at, oid, name) in names {
                values[at] = Datum::Reg(oid, name);
            }
            let texts: usize = row.iter().map(|s| heap.bytes_of(*s)).sum();
            self.share.answers(size_of::<Row>() + values.len() * size_of::<Datum>() + texts);
            self.rows.push(Row::of(self.columns, values, heap));
            if self.share.is_due(self.meter) {
                return self.meter.weigh(self.share, &self.schema);
            }
        }
        Ok(())
    }

    fn ask(&mut self, question: Question, args: &[Slot], heap: &mut Heap) -> Result<Slot, Interrupt> {
        let said = self.deferred.has_said();
        if let (Some(answer), None, false) = (question.in_a_call(), self.inputs.block, said) {
            return Ok(Slot::Bool(answer));
        }
        if question.is_input() {
            return self.ask_input(question, args, heap);
        }
        self.inputs.beyond_a_call()?;
        if question.locks() {
            self.inputs.settle_time();
            self.keys.process.store(self.session, Ordering::Relaxed);
            let limit = self.settings.milliseconds("lock_timeout");
            return self.keys.answer(question, args, limit, self.notices);
        }
        if question == Question::Sleep {
            self.inputs.settle_time();
            (self.sleep)(args[0].float())?;
            return Ok(Slot::Null);
        }
        match question {
            Question::SetSeed => {
                self.inputs.chance.seed(args[0].float())?;
                return Ok(Slot::Null);
            }
            Question::ListeningChannels => {
                let channels = self.ears.channels().iter().map(|name| heap.text(name));
                let channels = channels.collect::<Result<Vec<Slot>>>()?;
                return Ok(heap.array_of(channels.into_iter())?);
            }
            Question::ExportSnapshot => {
                let (in_block, savepoints) = (self.inputs.block.is_some(), self.savepoints);
                return Ok(heap.text(&self.exporter.export(self.session, in_block, savepoints)?)?);
            }
            Question::NotificationUsage => return Ok(Slot::Float(self.channels.usage())),
            Question::DeferCheckInBlock => {
                let table = u32::try_from(args[0].int()).map_err(|_| Error::internal("a table's number"))?;
                let modes = &self.deferred.modes;
                let made = planaria_catalog::CheckTime::Deferrable;
                let constraint = heap.str(args[1].bytes());
                return Ok(Slot::Bool(!modes.is_immediate(TableId(table), constraint, made)));
            }
            Question::DeferTrigger | Question::DeferTriggerInBlock => {
                let (deferred, bytes) = self.deferred.ask(&self.schema.catalog, args, heap)?;
                self.stores(bytes)?;
                return Ok(Slot::Bool(deferred));
            }
            _ => {}
        }
        let answer = crate::system::answer(&mut self.facts(), question, args, heap)?;
        if matches!(question, Question::SetSetting | Question::SetSettingOfDefiner) {
            self.settle_forms(heap);
        }
        if let (Question::CancelClient | Question::TerminateClient, Slot::Bool(false)) = (question, answer) {
            self.notices.push(Notice {
                severity: "WARNING",
                code: SqlState::WARNING,
                message: format!("PID {} is not a PostgreSQL backend process", args[0].int()),
                detail: None,
                hint: None,
            });
        }
        Ok(answer)
    }

    fn notify(&mut self, channel: &str, payload: &str) -> Result<()> {
        if self.quiet {
            return Ok(());
        }
        self.channels.check(channel, payload)?;
        self.said.push(Saying::Notify { channel: channel.to_owned(), payload: payload.to_owned() });
        Ok(())
    }

    fn beside(&mut self) -> Beside {
        Beside {
            locked: self.keys.own.mark(),
            said: self.said.mark(),
            deferred: self.deferred.beside(),
            opened: self.cursors.opened,
            set: self.settings.mark(),
        }
    }

    fn back_to(&mut self, beside: Beside, heap: &mut Heap) {
        if self.settings.back(beside.set) {
            self.settle_forms(heap);
        }
        self.keys.unlock_to(beside.locked);
        self.said.back_to(beside.said);
        self.deferred.back_beside(beside.deferred);
        self.cursors.close_since(beside.opened);
    }

    fn system_rows(
        &mut self,
        relation: SystemId,
        columns: &[ColumnId],
        heap: &mut Heap,
        push: &mut dyn FnMut(&[Slot]) -> Result<()>,
    ) -> Result<()> {
        self.inputs.beyond_a_call()?;
        crate::system::push_rows(&self.facts(), relation, columns, heap, push)
    }

    fn execute(&mut self, text: &str, arguments: &[Type], tables: &[String]) -> Result<Dynamic> {
        self.inputs.beyond_a_call()?;
        match constraints::said(text) {
            Some(said) => self.deferred.said_by_program(&self.schema, self.role, said),
            None => compile_dynamic(&self.schema, self.role, text, arguments, tables).map(Dynamic::Code),
        }
    }

    fn stepwise(&mut self, routine: ProcedureId) -> Result<Arc<dyn Stepwise>> {
        self.inputs.beyond_a_call()?;
        (self.stepwise)(&self.schema, routine)
    }

    fn step(&mut self, step: &dyn Any) -> Result<StepProgram> {
        compile_step(&self.schema, self.role, step)
    }

    fn look_elsewhere(&mut self) -> Option<Arc<dyn Link>> {
        let elsewhere = self.elsewhere()?;
        self.outer.push(std::mem::replace(&mut self.schema, At::Routine(elsewhere.clone())));
        Some(elsewhere)
    }

    fn look_back(&mut self) {
        if let Some(outer) = self.outer.pop() {
            self.schema = outer;
        }
    }

    fn looks_at(&mut self) -> u64 {
        self.elsewhere().map_or(0, |elsewhere| elsewhere.version())
    }

    fn cursor_query(&mut self, text: &str, arguments: &[Type]) -> Result<Arc<Code>> {
        self.inputs.beyond_a_call()?;
        let (outputs, code) = compile_query(&self.schema, self.role, text, arguments)?;
        let column = |o: planaria_ir::Output| Column { name: o.name, ty: o.ty, origin: None };
        self.cursors.begin(text, outputs.into_iter().map(column).collect());
        Ok(code)
    }

    fn cursor_rows(&mut self, columns: &mut dyn Iterator<Item = (&str, &Type)>) -> Result<()> {
        self.inputs.beyond_a_call()?;
        let columns = columns
            .map(|(name, ty)| Column { name: name.to_owned(), ty: ty.clone(), origin: None })
            .collect();
        self.cursors.begin("", columns);
        Ok(())
    }

    fn open_cursor(&mut self, name: Option<&str>, forward_only: bool) -> Result<String> {
        if let Some(name) = name.filter(|name| self.cursors.open.contains_key(*name)) {
            let message = format!("cursor \"{name}\" already in use");
            return Err(Error::new(SqlState::DUPLICATE_CURSOR, message));
        }
        let created = self.inputs.moment();
        let (meter, schema) = (self.meter, &*self.schema);
        self.cursors.finish(name, forward_only, created, self.savepoints, |bytes| meter.keep(bytes, schema))
    }

    fn fetch_cursor(
        &mut self,
        name: &str,
        step: Step,
        count: i64,
        push: &mut dyn FnMut(&[Datum], &mut dyn Iterator<Item = &Type>) -> Result<()>,
    ) -> Result<i64> {
        self.inputs.beyond_a_call()?;
        let cursor = self.cursors.moved(name)?;
        let met = cursor.go(match step {
            Step::Forward => Direction::Forward(count),
            Step::Absolute => Direction::Absolute(count),
            Step::Relative => Direction::Relative(count),
        })?;
        for at in &met {
            push(&cursor.rows[*at].values, &mut cursor.columns.iter().map(|c| &c.ty))?;
        }
        Ok(met.len() as i64)
    }

    fn cursor_columns(&self, name: &str) -> Option<Vec<(String, Type)>> {
        let cursor = self.cursors.open.get(name)?;
        Some(cursor.columns.iter().map(|c| (c.name.clone(), c.ty.clone())).collect())
    }

    fn split_cursor(&mut self, name: &str, table: TableId, keys: &[Output]) -> Result<()> {
        self.cursors.split(name, table, keys)
    }

    fn cursor_at(&self, name: &str) -> Option<CursorAt> {
        self.cursors.open.get(name).map(Cursor::stands)
    }

    fn close_cursor(&mut self, name: &str) -> Result<()> {
        self.inputs.beyond_a_call()?;
        self.cursors.close(name)
    }

    fn keep(&mut self, values: &[Slot], heap: &Heap) -> Result<()> {
        let name = |id| self.schema.catalog.procedure(id).name.clone();
        self.inputs.keep(values, heap, self.kept_heap, name)
    }

    fn may_change_over(&self) -> bool {
        self.may_change_over
    }

    fn may_end_transaction(&self) -> bool {
        self.may_end_transaction
    }

    #[inline]
    fn stores(&mut self, bytes: usize) -> Result<()> {
        // What was there before must find its place again.
        if self.quiet {
            return Ok(());
        }
        self.share.stores(bytes);
        if self.share.is_due(self.meter) || self.meter.is_full() {
            return self.meter.weigh_stored(self.share, &self.schema);
        }
        Ok(())
    }

    fn holds(&mut self, bytes: usize) -> Result<()> {
        if self.quiet {
            return Ok(());
        }
        self.share.holds(bytes);
        if self.share.is_due(self.meter) { self.meter.weigh(self.share, &self.schema) } else { Ok(()) }
    }

    fn check_interrupt(&self) -> Result<()> {
        self.inputs.under_locks.check()?;
        self.cancel.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::program::inputs::Recorded;
    use planaria_base::clock::CommitClock;
    use planaria_base::{Epoch, Numeric};
    use planaria_exec::values::write_slot;
    use planaria_log::{Keeping, Log, LogReader, RecordBody};
    use planaria_sim::disk::SimDisk;

    fn values(heap: &mut Heap) -> Vec<Slot> {
        let ints = Datum::Array(vec![Datum::Int(1), Datum::Int(-1 << 40)]);
        let texts = Datum::Array(vec![Datum::Text("a".into()), Datum::Null]);
        let all = [
            Datum::Null,
            Datum::Bool(true),
            Datum::Int(i64::MIN),
            Datum::Float(-0.0),
            Datum::Numeric(Numeric::from_parts(100, 2).expect("in range")),
            Datum::Text("zwölf".into()),
            Datum::Bytea(vec![0, 255]),
            Datum::Uuid([7; 16]),
            ints,
            Datum::Array(Vec::new()),
            Datum::Array(vec![texts, Datum::Array(Vec::new())]),
        ];
        all.iter().map(|d| heap.push_datum(d).expect("fits")).collect()
    }

    fn name(_: ProcedureId) -> String {
        "pay".to_owned()
    }

    /// What the log gives back of a call that kept these values, in a heap that is gone by then.
    fn through_the_log() -> Vec<Datum> {
        let (mut heap, mut kept_heap, mut inputs) = (Heap::new(), Heap::new(), Inputs::default());
        inputs.begin();
        let slots = values(&mut heap);
        inputs.keep(&slots[..3], &heap, &mut kept_heap, name).expect("keeps");
        inputs.keep(&slots[3..], &heap, &mut kept_heap, name).expect("keeps");
        heap.clear();
        heap.text("something else that is longer than what was there").expect("fits");
        let disk = SimDisk::new(1);
        let clock = Arc::new(CommitClock::new(Epoch(1)));
        let reader = LogReader::open(disk.device()).expect("opens");
        let log: Log = reader.resume(clock.clone(), Default::default()).expect("goes on");
        let mut worker = log.worker().expect("a seat");
        let commit = worker.enter().expect("enters");
        let ts = clock.draw();
        commit.keeping_call(ts, ProcedureId(3), 0, inputs.drawn.len(), |w| {
            inputs.drawn.iter().for_each(|slot| write_slot(w, *slot, &kept_heap));
        });
        log.flush().expect("flushes");
        drop((worker, log));
        let reader = LogReader::open(disk.device()).expect("opens");
        let batch = reader.batches(Epoch(0)).next().expect("one batch").expect("whole");
        let record = batch.records().next().expect("one record").decode().expect("a record");
        match record.body {
            RecordBody::Call(call) if call.keeping == Keeping::Yes => call.inputs,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn kept_values_of_every_type_come_back_and_are_compared() {
        let logged = through_the_log();
        let mut heap = Heap::new();
        let slots = values(&mut heap);
        let replay = |values: Vec<Datum>| {
            let recorded = Some(Recorded { procedure: ProcedureId(3), values });
            let mut inputs = Inputs { recorded, ..Inputs::default() };
            inputs.begin();
            inputs.keep(&slots, &heap, &mut Heap::new(), name).map(|()| inputs.all_given())
        };
        assert_eq!(replay(logged.clone()), Ok(true));
        let changes = [
            Datum::Bool(false),
            Datum::Null,
            Datum::Int(0),
            Datum::Float(0.0),
            Datum::Numeric(Numeric::from_parts(10, 1).expect("in range")),
            Datum::Text("elf".into()),
            Datum::Bytea(vec![0]),
            Datum::Uuid([8; 16]),
            Datum::Array(vec![Datum::Int(1)]),
            Datum::Null,
            Datum::Array(vec![Datum::Array(Vec::new())]),
        ];
        for (at, change) in changes.into_iter().enumerate() {
            let mut other = logged.clone();
            other[at] = change.clone();
            let error = replay(other).expect_err("a difference");
            assert_eq!(error.sqlstate(), SqlState::DATA_CORRUPTED);
            let wanted = format!(
                "replay of procedure pay computes {:?} where the log has {change:?}",
                heap.to_datum(slots[at])
            );
            assert_eq!(error.message(), wanted);
        }
        let mut fewer = logged.clone();
        fewer.pop();
        assert!(replay(fewer).is_err());
        let mut more = logged;
        more.push(Datum::Null);
        assert_eq!(replay(more), Ok(false));
    }
}
