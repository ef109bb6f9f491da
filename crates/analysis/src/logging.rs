//! How the calls of a procedure are logged, and why.
//!
//! A call that is a whole transaction can be logged as a call where replaying it, with the same
//! arguments and the same drawn inputs, in the same place of the commit order, changes the same
//! rows in the same way. Plans, and with them the order of rows, are fixed with the catalog version; what
//! else an outcome may depend on is the program's [`Determinism`], which is joined over what it calls,
//! whether that writes or not.

use planaria_base::ProcedureId;
use planaria_ir::{Determinism, OpKind, Program};

/// How calls are logged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Logging {
    /// Whether a call may change anything.
    writes: bool,
    /// What its outcome depends on.
    level: Determinism,
    /// What it depends on by itself, without what it calls.
    own: Determinism,
    /// Why it is logged by values although it could be logged as a call.
    why: Option<String>,
}

impl Logging {
    /// The same calls logged by the rows they change, for this reason (one sentence).
    pub fn by_values(&self, why: String) -> Logging {
        Logging { why: Some(why), ..self.clone() }
    }
    /// The same where settings of the routine's own, or names that it looks for elsewhere, decide what it does.
    pub fn in_settings_of_its_own(&self) -> Logging {
        let level = self.level.join(Determinism::Session);
        Logging { level, own: level, ..self.clone() }
    }
    /// Changes nothing: nothing is logged.
    pub fn is_read_only(&self) -> bool {
        !self.writes
    }
    /// Logged as the call.
    pub fn is_command(&self) -> bool {
        self.writes && self.level.is_in_a_call() && self.why.is_none()
    }
    /// A log of an older version may have it as a call, which can be replayed.
    pub fn was_command(&self) -> bool {
        self.writes && self.level.was_in_a_call()
    }
    /// What the outcome of a call depends on.
    pub fn determinism(&self) -> Determinism {
        self.level
    }
    /// Why it is logged so, one sentence.
    pub fn reason(&self) -> String {
        if !self.writes {
            return "It changes nothing.".to_owned();
        }
        match (self.level.reason(), &self.why, self.level) {
            (Some(why), ..) if self.own == self.level => why.to_owned(),
            (Some(why), ..) => format!("It calls a routine that is logged this way: {why}"),
            (None, Some(why), _) => why.clone(),
            (None, None, Determinism::Deterministic) => "Its arguments determine what it does.".to_owned(),
            (None, None, _) => {
                "Its arguments and the inputs it draws, which are logged with them, determine what it does."
                    .to_owned()
            }
        }
    }
    /// What a call writes to the log, for people.
    pub fn describe(&self) -> &'static str {
        match (self.writes, self.is_command(), self.level) {
            (false, ..) => "nothing",
            (true, true, Determinism::Deterministic) => "command (procedure, arguments)",
            (true, true, _) => "command (procedure, arguments, drawn inputs)",
            (true, false, _) => "values (after-images of the rows it changes)",
        }
    }
}

/// Decides for a program; `of_callee` answers for the procedures it calls (`None`: for itself, or one
/// that cannot be compiled and so will fail when called).
pub fn of(program: &Program, of_callee: &mut dyn FnMut(ProcedureId) -> Option<Logging>) -> Logging {
    let mut writes = false;
    program.body.visit(&mut |op| {
        writes |= match &op.kind {
            // What it executes may write.
            OpKind::Execute { .. }
            | OpKind::NextValue { .. }
            | OpKind::SetValue { .. }
            | OpKind::EndTransaction { .. } => true,
            kind => kind.is_write(),
        };
    });
    let own = program.determinism(&mut |_| Determinism::Deterministic);
    let level = program.determinism(&mut |procedure| match of_callee(procedure) {
        Some(callee) => {
            writes |= callee.writes;
            callee.level
        }
        None => Determinism::Deterministic,
    });
    Logging { writes, level, own, why: None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use planaria_ir::{Draw, Op, OpId, ProgramKind, Reg};

    fn program(kinds: Vec<OpKind>) -> Program {
        let mut program = Program::new("p", ProgramKind::Procedure);
        program.body.0 = kinds.into_iter().map(|kind| Op { id: OpId(0), position: 0, kind }).collect();
        program
    }

    fn call() -> OpKind {
        OpKind::Call { procedure: ProcedureId(7), args: Vec::new(), outs: Vec::new() }
    }

    fn delete() -> OpKind {
        OpKind::Delete { table: planaria_base::TableId(0), row: Reg(0) }
    }

    #[test]
    fn a_callee_that_only_reads_counts_like_one_that_writes() {
        let user = OpKind::Draw { dst: Reg(0), input: Draw::CurrentDatabase };
        let asks = of(&program(vec![user]), &mut |_| None);
        assert!(asks.is_read_only() && !asks.is_command());
        let caller = of(&program(vec![call(), delete()]), &mut |_| Some(asks.clone()));
        assert!(!caller.is_read_only() && !caller.is_command());
        assert!(
            caller
                .reason()
                .starts_with("It calls a routine that is logged this way: It depends on privileges")
        );
        let above = of(&program(vec![call()]), &mut |_| Some(caller.clone()));
        assert!(!above.is_command() && !above.is_read_only());
    }

    #[test]
    fn inputs_that_are_logged_leave_a_call_a_call() {
        let draws = of(&program(vec![OpKind::Draw { dst: Reg(0), input: Draw::Random }]), &mut |_| None);
        let caller = of(&program(vec![call(), delete()]), &mut |_| Some(draws.clone()));
        assert!(caller.is_command());
        assert_eq!(caller.describe(), "command (procedure, arguments, drawn inputs)");
        let otherwise = caller.by_values("It cannot be cut.".to_owned());
        assert!(!otherwise.is_command() && otherwise.was_command());
        assert_eq!(otherwise.reason(), "It cannot be cut.");
    }
}
