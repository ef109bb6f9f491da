//! How the calls of a procedure are logged, and why.
//!
//! A call that is a whole transaction can be logged as a call where replaying it, with the same
//! arguments and the same drawn inputs, in the same place of the commit order, changes the same
//! rows in the same way. The IR is deterministic by construction: every input from outside is a
//! `Draw`, a `NextValue` or a `CurrentValue`, recorded with the call; plans, and with them the order
//! of rows, are fixed with the catalog version. What is left is SQL made at run time: its text is
//! compiled when it runs, and may name what a later schema has otherwise. And reads of the system
//! catalogs: most of their rows follow from the definitions, which are logged in the same order, but
//! some from the session or from counters; so a procedure that reads any and writes is logged by values.

use planaria_base::ProcedureId;
use planaria_ir::{IfClaimed, OpKind, Program};

/// How calls are logged.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Logging {
    kind: Kind,
    /// Draws inputs from outside, which are logged with the call.
    draws: bool,
    /// Asks the system catalogs or the session, whose answers are not logged.
    asks: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Kind {
    /// Nothing: it changes nothing.
    ReadOnly,
    /// Procedure, arguments, drawn inputs.
    Command,
    /// After-images; why.
    Values(String),
}

impl Logging {
    /// The same calls logged by the rows they change, for this reason (one sentence).
    pub fn by_values(&self, why: String) -> Logging {
        Logging { kind: Kind::Values(why), ..self.clone() }
    }
    /// Changes nothing: nothing is logged.
    pub fn is_read_only(&self) -> bool {
        self.kind == Kind::ReadOnly
    }
    /// Logged as the call.
    pub fn is_command(&self) -> bool {
        self.kind == Kind::Command
    }
    /// Why it is logged so, one sentence.
    pub fn reason(&self) -> String {
        match (&self.kind, self.draws) {
            (Kind::ReadOnly, _) => "It changes nothing.".to_owned(),
            (Kind::Command, false) => "Its arguments determine what it does.".to_owned(),
            (Kind::Command, true) => {
                "Its arguments and the inputs it draws, which are logged with them, determine what it does."
                    .to_owned()
            }
            (Kind::Values(why), _) => why.clone(),
        }
    }
    /// What a call writes to the log, for people.
    pub fn describe(&self) -> &'static str {
        match (&self.kind, self.draws) {
            (Kind::ReadOnly, _) => "nothing",
            (Kind::Command, false) => "command (procedure, arguments)",
            (Kind::Command, true) => "command (procedure, arguments, drawn inputs)",
            (Kind::Values(_), _) => "values (after-images of the rows it changes)",
        }
    }
}

/// Decides for a program; `of_callee` answers for the procedures it calls (`None`: for itself, or one
/// that cannot be compiled and so will fail when called).
pub fn of(program: &Program, of_callee: &mut dyn FnMut(ProcedureId) -> Option<Logging>) -> Logging {
    let mut writes = false;
    let mut draws = false;
    let mut asks = false;
    let mut values: Option<String> = None;
    program.body.visit(&mut |op| match &op.kind {
        OpKind::Execute { .. } => {
            writes = true;
            values.get_or_insert_with(|| {
                "It executes SQL text made at run time, which cannot be analysed beforehand.".to_owned()
            });
        }
        OpKind::Call { procedure, .. } | OpKind::CallSet { procedure, .. } => {
            if let Some(callee) = of_callee(*procedure) {
                writes |= !callee.is_read_only();
                draws |= callee.draws;
                asks |= callee.asks;
                if let Kind::Values(why) = callee.kind {
                    values.get_or_insert_with(|| format!("It calls a procedure that is logged so: {why}"));
                }
            }
        }
        OpKind::Claim { if_claimed: IfClaimed::Refuse | IfClaimed::Skip, .. } => {
            values.get_or_insert_with(|| "It depends on which rows others have claimed.".to_owned());
        }
        OpKind::Draw { input, .. } if input.is_of_user() => {
            values
                .get_or_insert_with(|| "It asks who calls it, which a log of calls does not say.".to_owned());
        }
        OpKind::Ask { .. } | OpKind::SystemRows { .. } => asks = true,
        OpKind::Draw { .. } | OpKind::CurrentValue { .. } => draws = true,
        OpKind::NextValue { .. } => {
            draws = true;
            writes = true;
        }
        OpKind::SetValue { .. } => writes = true,
        kind => writes |= kind.is_write(),
    });
    if asks {
        values.get_or_insert_with(|| {
            "It reads the system catalogs or settings of the session, which are not logged with it."
                .to_owned()
        });
    }
    let kind = match values {
        _ if !writes => Kind::ReadOnly,
        Some(why) => Kind::Values(why),
        None => Kind::Command,
    };
    Logging { kind, draws, asks }
}
