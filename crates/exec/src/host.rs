//! What the machine asks of its surroundings: inputs, sequences, messages, dynamic SQL, rows.

use crate::code::Code;
use crate::heap::Heap;
use crate::slot::Slot;
use planaria_base::{
    ColumnId, Datum, Error, Level, ProcedureId, Result, RoleId, SequenceId, SystemId, TableId, Type,
};
use planaria_ir::{Draw, Output, Question, Step};
use planaria_protocol::{Conflict, RowLocks};
use planaria_storage::TableSet;
use std::any::Any;
use std::hint::cold_path;
use std::sync::Arc;

/// Why a program did not end well.
#[derive(Debug)]
pub enum Interrupt {
    /// It raised an error that nobody caught. Report it only if the reads validate.
    Error(Error),
    /// The protocol wants the transaction aborted and tried again. Never caught by a handler.
    Conflict(Conflict),
    /// The program has ended its transaction and wants to go on in the next one, as
    /// [`Machine::take_suspended`](crate::Machine::take_suspended) has it. Only where the host says that it may.
    TransactionEnds,
}

/// For those who neither repeat nor go on.
impl From<Interrupt> for Error {
    fn from(interrupt: Interrupt) -> Error {
        match interrupt {
            Interrupt::Error(error) => error,
            Interrupt::Conflict(conflict) => conflict.into(),
            Interrupt::TransactionEnds => Error::internal("a transaction was ended that nobody goes on from"),
        }
    }
}

impl From<Error> for Interrupt {
    /// What `?` does with an error is laid out away from what is run.
    #[inline]
    fn from(e: Error) -> Interrupt {
        cold_path();
        Interrupt::Error(e)
    }
}
impl From<Conflict> for Interrupt {
    #[inline]
    fn from(c: Conflict) -> Interrupt {
        cold_path();
        Interrupt::Conflict(c)
    }
}

/// A statement made at run time, as the engine gives it back.
pub enum Dynamic {
    /// To run nested, in the same transaction, with the arguments as `$1..`.
    Code(Arc<Code>),
    /// Done already (a schema change); the number of rows affected.
    Done(i64),
}

/// What a transaction has done beside its rows.
#[derive(Clone, Copy, Default, Debug)]
pub struct Beside {
    /// How many locks it has beside those of rows.
    pub locked: usize,
    /// How much it has to tell others.
    pub said: usize,
    /// How many rows wait or have waited for deferred triggers, of how many these have fired, and how often it was said which
    /// are deferred.
    pub deferred: [usize; 3],
    /// How many cursors it has opened.
    pub opened: u64,
    /// How many settings it has changed.
    pub set: usize,
}

/// The engine, as a running program sees it. The host records what it gives out for the log, and
/// gives the same again on replay.
pub trait Host {
    /// An input from outside; of the draw's type, never a text. What the log alone says is asked of [`Host::kept`], names
    /// of [`Host::name`].
    fn draw(&mut self, input: Draw) -> Result<Slot>;
    /// A draw that is a name: of the role that runs the program now, of the session's, or of the database.
    fn name(&mut self, of: Draw) -> Result<String> {
        let _ = of;
        Err(Error::internal("nobody says who runs the program"))
    }
    /// The program is about to do what depends on other transactions: on the claims that they have. An error
    /// where it must not.
    fn asks_others(&mut self) -> Result<()> {
        Ok(())
    }
    /// From here on the program runs with the rights of a role; answers with the one before. Called
    /// where a routine with a definer begins and ends.
    fn become_user(&mut self, role: RoleId) -> RoleId {
        role
    }
    /// A routine begins that has settings, or a path, of its own: they hold from here on.
    fn enter(&mut self, routine: ProcedureId) -> Result<()> {
        let _ = routine;
        Ok(())
    }
    /// It has ended; `waits`: because it has to wait for others.
    fn leave(&mut self, routine: ProcedureId, waits: bool) {
        let _ = (routine, waits);
    }
    /// Has the heap compute in the time zone and the styles that are set now.
    fn settle_forms(&self, heap: &mut Heap) {
        let _ = heap;
    }
    /// The next value of a sequence.
    fn next_value(&mut self, sequence: SequenceId) -> Result<i64>;
    /// The value this session drew last from the sequence.
    fn current_value(&mut self, sequence: SequenceId) -> Result<i64>;
    /// `setval(sequence, value, is_called)`.
    fn set_value(&mut self, sequence: SequenceId, value: i64, is_called: bool) -> Result<()>;
    /// A message of RAISE below `Level::Exception`; as an error because it has the same fields.
    fn notice(&mut self, level: Level, message: &Error);
    /// Tells those that listen to a channel, should the transaction commit.
    fn notify(&mut self, channel: &str, payload: &str) -> Result<()> {
        let _ = (channel, payload);
        Ok(())
    }
    /// A row of the top-level program's answer.
    fn row(&mut self, row: &[Slot], heap: &Heap) -> Result<()>;
    /// Compiles SQL text made at run time, for arguments of these types; the last of them are rows that it can read as tables, by
    /// the names in `tables`. Makes the transaction ad hoc.
    fn execute(&mut self, text: &str, arguments: &[Type], tables: &[String]) -> Result<Dynamic>;
    /// A routine that is carried out statement by statement. Makes the transaction ad hoc.
    fn stepwise(&mut self, routine: ProcedureId) -> Result<Arc<dyn Stepwise>> {
        Err(Error::internal(format!("nobody carries {routine} out")))
    }
    /// The program of a statement of such a routine.
    fn step(&mut self, step: &dyn Any) -> Result<StepProgram> {
        let _ = step;
        Err(Error::internal("nobody makes programs of statements"))
    }
    /// Where names are looked for in text that is made now, where that is not where the program's are; until
    /// [`look_back`](Host::look_back), the host looks there itself.
    fn look_elsewhere(&mut self) -> Option<Arc<dyn Link>> {
        None
    }
    /// Looks where it looked before.
    fn look_back(&mut self) {}
    /// Which place that is: a number that is another one's for each.
    fn looks_at(&mut self) -> u64 {
        0
    }
    /// Answers a question about the catalog or the session. A conflict: it has to wait for others first, and be asked
    /// again.
    fn ask(&mut self, question: Question, args: &[Slot], heap: &mut Heap) -> Result<Slot, Interrupt> {
        let _ = (args, heap);
        Err(Error::internal(format!("nobody answers {}", question.name())).into())
    }
    /// Whether the program may end its transaction: nobody else has begun it, or goes on in it.
    fn may_end_transaction(&self) -> bool {
        false
    }
    /// What the transaction has done so far beside its rows: a block that catches errors begins.
    fn beside(&mut self) -> Beside {
        Beside::default()
    }
    /// Such a block has caught one: undoes what was done since.
    fn back_to(&mut self, beside: Beside, heap: &mut Heap) {
        let _ = (beside, heap);
    }
    /// Compiles a query that a cursor is opened for; the rows that are given from here on are the cursor's.
    fn cursor_query(&mut self, text: &str, arguments: &[Type]) -> Result<Arc<Code>> {
        let _ = (text, arguments);
        Err(no_cursors())
    }
    /// Rows of these columns are going to be given to a cursor.
    fn cursor_rows(&mut self, columns: &mut dyn Iterator<Item = (&str, &Type)>) -> Result<()> {
        let _ = columns;
        Err(no_cursors())
    }
    /// The cursor that was begun last has all its rows; answers with its name.
    fn open_cursor(&mut self, name: Option<&str>, forward_only: bool) -> Result<String> {
        let _ = (name, forward_only);
        Err(no_cursors())
    }
    /// Moves a cursor; answers with how many rows it met, which are given to `push` with their types.
    fn fetch_cursor(
        &mut self,
        name: &str,
        step: Step,
        count: i64,
        push: &mut dyn FnMut(&[Datum], &mut dyn Iterator<Item = &Type>) -> Result<()>,
    ) -> Result<i64> {
        let _ = (name, step, count, push);
        Err(no_cursors())
    }
    /// Names and types of the columns of a cursor, if there is one of that name.
    fn cursor_columns(&self, name: &str) -> Option<Vec<(String, Type)>> {
        let _ = name;
        None
    }
    /// Takes the last columns of a cursor's rows from them: they are the keys of these rows, which are of a table.
    fn split_cursor(&mut self, name: &str, table: TableId, keys: &[Output]) -> Result<()> {
        let _ = (name, table, keys);
        Err(no_cursors())
    }
    /// Where a cursor stands, if there is one of that name.
    fn cursor_at(&self, name: &str) -> Option<CursorAt> {
        let _ = name;
        None
    }
    /// Closes a cursor.
    fn close_cursor(&mut self, name: &str) -> Result<()> {
        let _ = name;
        Err(no_cursors())
    }
    /// Gives the rows of a system relation, of each these columns.
    fn system_rows(
        &mut self,
        relation: SystemId,
        columns: &[ColumnId],
        heap: &mut Heap,
        push: &mut dyn FnMut(&[Slot]) -> Result<()>,
    ) -> Result<()> {
        let _ = (columns, heap, push);
        Err(Error::internal(format!("nobody has the rows of {relation}")))
    }
    /// Takes values for the log, behind the inputs given out so far; or, when a logged call runs again,
    /// compares them with those the log has. What they point to in the heap is theirs no longer than this
    /// call.
    fn keep(&mut self, values: &[Slot], heap: &Heap) -> Result<()>;
    /// The next value that the logged call kept, of this type. Asked for by plan programs alone.
    fn kept(&mut self, ty: &Type, heap: &mut Heap) -> Result<Slot> {
        let _ = (ty, heap);
        Err(Error::internal("kept values are for plan programs"))
    }
    /// Takes a piece of a replay and its arguments. From plan programs alone.
    fn piece(&mut self, piece: u32, args: &[Slot], heap: &Heap) -> Result<()> {
        let _ = (piece, args, heap);
        Err(Error::internal("pieces are for plan programs"))
    }
    /// Whether the transaction only reads, and the caller will run it in a snapshot if it is long.
    fn may_change_over(&self) -> bool {
        false
    }
    /// A row of so many bytes is about to be stored. 53200 where there is no memory for it.
    fn stores(&mut self, _bytes: usize) -> Result<()> {
        Ok(())
    }
    /// What the program computes with takes so many bytes now. Told now and then; 53200 where that is too much.
    fn holds(&mut self, _bytes: usize) -> Result<()> {
        Ok(())
    }
    /// 57014 where the statement is to end: it was cancelled, or its time is over.
    fn check_interrupt(&self) -> Result<()> {
        Ok(())
    }
}

fn no_cursors() -> Error {
    Error::internal("nobody keeps cursors")
}

/// Where a cursor stands whose rows may have keys.
#[derive(Clone, Debug)]
pub struct CursorAt {
    /// The table that its rows are of, and the columns of the key; `None`: they are of no single table.
    pub keys: Option<(TableId, Arc<[Output]>)>,
    /// The key of the row that it stands on; `None`: it stands on none.
    pub row: Option<Vec<Datum>>,
}

/// The code of a statement, and the names and types of what it answers with.
pub type StepProgram = (Vec<(String, Type)>, Arc<Code>);

/// A routine that is carried out statement by statement.
pub trait Stepwise {
    /// Carries it out for these arguments, and answers with its rows, or with one row of what it gives.
    fn carry_out(&self, arguments: Vec<Datum>, carrier: &mut dyn Carrier) -> Result<(), Interrupt>;
}

/// What a routine is carried out with that way: the program that has called it.
pub trait Carrier {
    /// The program of a statement: what [`Host::step`] makes of it.
    fn program(&mut self, step: &dyn Any) -> Result<StepProgram>;
    /// What [`Host::looks_at`] says: a program that was made elsewhere is to be made again.
    fn looks_at(&mut self) -> u64;
    /// Runs one. Answers with its rows, and with how many it has changed, if it counts them.
    fn run(&mut self, code: &Code, arguments: &[Datum]) -> Result<(Vec<Vec<Datum>>, Option<i64>), Interrupt>;
    /// A block begins that catches errors.
    fn enter(&mut self);
    /// The innermost such block has ended, well or with an error that it does not catch.
    fn leave(&mut self);
    /// It has caught one: what was done since it began is undone, and it has ended.
    fn back(&mut self);
    /// A row of the answer.
    fn answer(&mut self, row: &[Datum]) -> Result<()>;
    /// What [`Host::cursor_columns`] says.
    fn cursor_columns(&self, name: &str) -> Option<Vec<(String, Type)>>;
    /// What [`Host::split_cursor`] does.
    fn split_cursor(&mut self, name: &str, table: TableId, keys: &[Output]) -> Result<()>;
    /// What [`Host::cursor_at`] says.
    fn cursor_at(&self, name: &str) -> Option<CursorAt>;
    /// 57014 where the statement is to end.
    fn check(&self) -> Result<()>;
}

/// Finds the code of procedures.
pub trait Link {
    /// The code of this version of a procedure, compiled when first asked for.
    fn code(&self, procedure: ProcedureId) -> Result<&Code>;
    /// The same guarded: what guarded code calls.
    fn guarded_code(&self, procedure: ProcedureId) -> Result<&Code> {
        self.code(procedure)
    }
    /// Where the calls of a routine lead that has a path of its own; `None`: where its caller's lead.
    fn within(&self, routine: ProcedureId) -> Option<Arc<dyn Link + '_>> {
        let _ = routine;
        None
    }
}

/// What a program runs in.
pub struct Context<'c, P: RowLocks, H: Host + ?Sized> {
    /// Concurrency control.
    pub protocol: &'c P,
    /// The transaction, begun.
    pub txn: &'c mut P::Txn,
    /// The tables of the catalog version that the code was compiled for.
    pub tables: &'c TableSet<P::Header>,
    /// Other procedures' codes.
    pub link: &'c dyn Link,
    /// The engine.
    pub host: &'c mut H,
    /// Who has called the program that runs.
    pub calls: Calls<'c>,
}

/// The calls that have led to a program, for those that ask for them; by default, none: the engine runs it.
#[derive(Clone, Copy, Default)]
pub struct Calls<'c>(pub(crate) Option<&'c Call<'c>>);

/// A call that waits for its end.
pub(crate) struct Call<'c> {
    /// Who calls, and which instruction does.
    pub code: &'c Code,
    pub pc: usize,
    /// Of EXECUTE: which of the caller's registers has the text, and the place of its frame among those that are parked.
    pub text: Option<(u16, usize)>,
    pub outer: Calls<'c>,
}

impl<P: RowLocks, H: Host + ?Sized> Context<'_, P, H> {
    /// The same for a program that is called there.
    pub(crate) fn called_by<'c>(&'c mut self, call: &'c Call<'c>) -> Context<'c, P, H> {
        Context {
            protocol: self.protocol,
            txn: &mut *self.txn,
            tables: self.tables,
            link: self.link,
            host: &mut *self.host,
            calls: Calls(Some(call)),
        }
    }

    /// The same for a program whose calls lead elsewhere.
    pub(crate) fn linked_by<'c>(&'c mut self, link: &'c dyn Link) -> Context<'c, P, H> {
        Context {
            protocol: self.protocol,
            txn: &mut *self.txn,
            tables: self.tables,
            link,
            host: &mut *self.host,
            calls: self.calls,
        }
    }
}
