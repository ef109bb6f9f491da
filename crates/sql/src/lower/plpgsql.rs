//! Lowering of PL/pgSQL: a body becomes the program of its routine.
//!
//! * Variables are registers with names; rows and records are a register for each field. What
//!   structure a record has is decided here ([`shapes`]).
//! * `FOUND` is a register, set exactly by the statements that set it in PostgreSQL.
//! * Loops over queries run over a list that the query filled first: the body may change what the
//!   query reads, or the variables it names, and must not see that.
//! * EXCEPTION blocks are `Try` regions; `sqlstate` and `sqlerrm` are variables of the handler.
//! * Functions end in `Return` with their answer in `outs`; set-returning ones `Emit` rows.

mod assign;
mod block;
mod by_steps;
mod control;
mod cursor;
mod raise;
mod routine;
mod shapes;
mod statement;
mod step;
mod trigger;

pub(crate) use trigger::{Assigned, assigned, may_write};

pub use block::catch;
pub use by_steps::{
    BySteps, called_by_itself, can_follow, changes_current, changes_role, check_carried_out, check_steps,
    goes_by_steps, goes_by_steps_under, needs_session, routine_goes_by_steps, sole_call,
};
pub(in crate::lower) use cursor::{key_of, with_keys};
pub use step::lower_step;
pub use trigger::Fired;

pub(crate) use routine::answered;
pub use routine::{check_routine, do_wants_steps, lower_do, lower_procedure, lower_procedure_rights};

use super::{Lowerer, Scope, Typed, Variable};
use planaria_base::{Datum, Error, Level, Result, SqlState, Type};
use planaria_ir::{Diagnostic, ErrorFields, Func, Label, OpKind, Output, Reg, StateSource};
use planaria_syntax::ast::Expr;
use planaria_syntax::ast::plpgsql::Stmt;

/// The place of what is wrong with the row that a function has returned: none in its text.
pub const CASTING: u32 = u32::MAX - 1;

/// The same of the row that a trigger function has returned.
pub const EXITING: u32 = u32::MAX - 2;

/// How a routine answers.
enum Answer {
    /// With its OUT parameters, if any (procedures, functions with OUT parameters, DO).
    Outs,
    /// `RETURN expr` into this register.
    Value(Reg),
    /// Nothing (`void`).
    Void,
    /// `RETURN row` into these registers.
    Row(Vec<Typed>),
    /// The same, of the types that the call says.
    Record(Vec<Typed>),
    /// A row, or rows (`true`), of columns that a call will say: the body is only checked.
    Unknown(bool),
    /// A trigger's row, if it fires before one.
    Trigger,
    /// Rows, of these columns; `true`: taken from the OUT variables by RETURN NEXT.
    Set(Vec<Output>, Option<Vec<Reg>>),
}

/// A loop or labelled block around the statement being lowered.
struct Region {
    name: Option<String>,
    /// Left by EXIT.
    exit: Label,
    /// CONTINUE: the label, and whether that is an `Exit` of it (of the body) rather than a
    /// `Continue`. `None`: a block.
    next: Option<(Label, bool)>,
    /// The cursor that it goes through, closed where it is left.
    closes: Option<usize>,
}

/// The errors that a handler can ask for.
#[derive(Clone, Copy)]
struct Handled {
    sqlstate: Reg,
    sqlerrm: Reg,
}

/// A body being lowered.
struct Body<'l, 'c> {
    l: &'l mut Lowerer<'c>,
    scope: Scope,
    name: String,
    answer: Answer,
    found: Reg,
    /// Rows of the last statement, where the body asks for them (GET DIAGNOSTICS).
    row_count: Option<Reg>,
    regions: Vec<Region>,
    handled: Option<Handled>,
    /// What else is asked of the error that is being handled.
    diagnosed: Vec<(Diagnostic, Reg)>,
    constants: Vec<Reg>,
    not_null: Vec<(Reg, String)>,
    /// Hidden variables made so far.
    hidden: u32,
    /// Inside a loop variables must be set to NULL where their block begins.
    loops: u32,
    /// Structures that records have had: name, depth of its frame, registers.
    shapes: Vec<(String, usize, Variable)>,
    /// What held where a loop or block was left, or its next turn begun, by the label.
    jumps: Vec<(Label, Scope)>,
    /// What is wrong with a statement is of interest only if CREATE says so; the rest is for the
    /// first call. See [`check_routine`].
    checking: bool,
    /// It is a routine that is carried out statement by statement where it is called by itself.
    by_steps: bool,
    /// Where a record takes rows of which nothing is known, the routine's program carries it out by steps.
    any_structure: bool,
    /// What a function in SQL has to answer, where that is looked at.
    declared: Option<routine::SqlAnswer>,
    /// Loops over rows of statements that change something, around the statement being lowered.
    changing_loops: u32,
    /// The routine is a trigger's.
    trigger: Option<trigger::OfTrigger>,
    /// Variables of cursors that are or were in scope, and what they have turned out to need.
    cursors: Vec<cursor::Cursor>,
    needs: cursor::Needs,
}

impl Body<'_, '_> {
    fn statements(&mut self, statements: &[Stmt]) -> Result<()> {
        for statement in statements {
            let before = self.l.at(statement.position);
            let (depth, loops, handled) = (self.depth(), self.loops, self.handled);
            let ops = self.l.blocks.last().map_or(0, Vec::len);
            if let Err(error) = self.statement(statement) {
                let error = self.explained(error).at(statement.position);
                let later = self.by_steps
                    && (by_steps::is_of_programs(&error) || by_steps::wants_steps(&error))
                    || self.any_structure && by_steps::wants_steps(&error);
                self.needs.steps |= later && self.any_structure && !self.checking;
                let of_creation = is_of_creation(&error) && !later;
                if self.checking && of_creation {
                    return Err(error);
                }
                self.back_to(depth);
                (self.loops, self.handled) = (loops, handled);
                if !self.checking {
                    // As in PostgreSQL, it is wrong only if it is reached, and can be caught.
                    if let Some(block) = self.l.blocks.last_mut() {
                        block.truncate(ops);
                    }
                    self.l.at(statement.position);
                    self.raise_found(&error);
                    self.l.errors.push(error);
                }
            }
            self.l.at(before);
        }
        Ok(())
    }

    /// How deep the stacks are.
    fn depth(&self) -> [usize; 3] {
        [self.scope.frames().len(), self.regions.len(), self.l.blocks.len()]
    }

    /// After a statement that failed: the stacks as they were before it.
    fn back_to(&mut self, [scope, regions, blocks]: [usize; 3]) {
        self.scope.truncate(scope);
        self.regions.truncate(regions);
        self.l.blocks.truncate(blocks);
    }

    fn int8(&mut self, n: i64) -> Reg {
        self.l.constant(Datum::Int(n), Type::Int8)
    }

    fn truth(&mut self, b: bool) -> Reg {
        self.l.constant(Datum::Bool(b), Type::Bool)
    }

    fn copy(&mut self, dst: Reg, src: Reg) {
        if dst != src {
            self.l.emit(OpKind::Copy { dst, src });
        }
    }

    fn null(&mut self, dst: Reg) {
        self.l.emit(OpKind::Const { dst, value: Datum::Null });
    }

    fn apply(&mut self, func: Func, args: Vec<Reg>, ty: Type) -> Reg {
        let dst = self.l.temp(ty);
        self.l.emit(OpKind::Apply { dst, func, args });
        dst
    }

    /// `if cond { f }`
    fn when(&mut self, cond: Reg, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let (then, otherwise) = self.either(f, |_| Ok(()))?;
        self.l.emit(OpKind::If { cond, then, otherwise });
        Ok(())
    }

    /// `if cond {} else { f }`: false or NULL.
    fn unless(&mut self, cond: Reg, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        let (then, otherwise) = self.either(|_| Ok(()), f)?;
        self.l.emit(OpKind::If { cond, then, otherwise });
        Ok(())
    }

    /// Operations of `f` as a block of their own.
    fn sub_block(&mut self, f: impl FnOnce(&mut Self) -> Result<()>) -> Result<planaria_ir::Block> {
        self.l.check_height()?;
        self.l.begin_block();
        let outcome = f(self);
        let block = self.l.end_block();
        outcome.map(|()| block)
    }

    /// Raises a known error.
    fn fail(&mut self, state: SqlState, message: &str, hint: Option<&str>) {
        let text = |s: &mut Self, t: &str| s.l.constant(Datum::Text(t.to_owned()), Type::Text);
        let message = text(self, message);
        let hint = hint.map(|h| text(self, h));
        let fields = ErrorFields { hint, ..Default::default() };
        self.l.emit(OpKind::Raise {
            level: Level::Exception,
            state: StateSource::Known(state),
            message,
            fields,
        });
    }

    /// Raises an error that was found when its statement was lowered, where it points to.
    fn raise_found(&mut self, error: &Error) {
        let fields = error.fields();
        let before = self.l.at(fields.position.unwrap_or(self.l.position));
        let text = |l: &mut Lowerer<'_>, t: &str| l.constant(Datum::Text(t.to_owned()), Type::Text);
        let raised = self.l.cold(|l| {
            let message = text(l, &fields.message);
            let detail = fields.detail.as_deref().map(|t| text(l, t));
            let hint = fields.hint.as_deref().map(|t| text(l, t));
            let state = StateSource::Known(fields.sqlstate);
            let found = fields.position.is_some() && !is_of_call(error);
            let fields = ErrorFields { detail, hint, found, ..Default::default() };
            l.emit(OpKind::Raise { level: Level::Exception, state, message, fields });
            Ok(())
        });
        self.l.at(before);
        debug_assert!(raised.is_ok());
    }

    fn is_null(&mut self, reg: Reg) -> Reg {
        self.apply(Func::IsNull, vec![reg], Type::Bool)
    }

    fn set_row_count(&mut self, count: Reg) {
        if let Some(row_count) = self.row_count {
            self.copy(row_count, count);
        }
    }

    /// An expression's value.
    fn value(&mut self, e: &Expr) -> Result<Typed> {
        self.l.expr(&self.scope, e)
    }
}

impl Lowerer<'_> {
    /// Begins a block; [`Lowerer::end_block`] takes it.
    fn begin_block(&mut self) {
        self.blocks.push(Vec::new());
    }

    fn end_block(&mut self) -> planaria_ir::Block {
        planaria_ir::Block(self.blocks.pop().unwrap_or_default())
    }

    /// Appends the operations of a block as they are.
    fn splice(&mut self, block: planaria_ir::Block) {
        self.blocks.last_mut().expect("there is always a block").extend(block.0);
    }
}

/// What is wrong with a statement only when it has run: there is no place for what it gives.
fn is_of_call(error: &Error) -> bool {
    const TEXTS: [&str; 2] =
        ["query has no destination for result data", "but corresponding argument is not writable"];
    TEXTS.iter().any(|text| error.message().ends_with(text))
}

/// What CREATE refuses: the rest may come right before the first call.
fn is_of_creation(error: &Error) -> bool {
    let state = error.sqlstate();
    // A wrong path is a wrong value, and no wrong statement.
    if error.message().ends_with(" of jsonpath input") {
        return false;
    }
    if is_of_call(error) {
        return false;
    }
    matches!(state, SqlState::SYNTAX_ERROR | SqlState::FEATURE_NOT_SUPPORTED | SqlState::UNDEFINED_OBJECT)
        || state == ERROR_IN_ASSIGNMENT
        || ["RETURN ", "cannot use RETURN"].iter().any(|w| error.message().starts_with(w))
        || error.message().ends_with("must be of type cursor or refcursor")
}

/// `22005`: assignment to a constant.
const ERROR_IN_ASSIGNMENT: SqlState = SqlState::new("22005");

/// `0A000` for a construct, at its place.
fn unsupported(what: &str, position: u32) -> Error {
    Error::unsupported(format!("{what} is not supported in PL/pgSQL here"), "docs/sql.md lists what is.")
        .at(position)
}
