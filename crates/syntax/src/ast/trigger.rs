//! CREATE TRIGGER.

use super::{Expr, Name, Position};
use planaria_catalog::{CheckTime, TriggerEvent};

/// When a trigger fires.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TriggerTiming {
    /// BEFORE
    Before,
    /// AFTER
    After,
    /// INSTEAD OF
    InsteadOf,
}

/// `OLD | NEW TABLE | ROW [AS] name` of REFERENCING.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Transition {
    /// NEW, not OLD
    pub new: bool,
    /// TABLE, not ROW
    pub table: bool,
    /// The name.
    pub name: String,
}

/// CREATE TRIGGER
#[derive(Clone, PartialEq, Debug)]
pub struct CreateTrigger {
    /// Name.
    pub name: String,
    /// OR REPLACE
    pub or_replace: bool,
    /// CONSTRAINT, with when it was said to fire
    pub constraint: Option<CheckTime>,
    /// BEFORE, AFTER, INSTEAD OF
    pub timing: TriggerTiming,
    /// What fires it.
    pub events: Vec<TriggerEvent>,
    /// UPDATE OF columns
    pub columns: Vec<(String, Position)>,
    /// The table or view.
    pub table: Name,
    /// REFERENCING
    pub transitions: Vec<Transition>,
    /// FOR EACH ROW
    pub each_row: bool,
    /// WHEN; text as written, without the parentheses
    pub condition: Option<(Expr, String)>,
    /// The function.
    pub function: Name,
    /// Its arguments, which are texts
    pub arguments: Vec<String>,
    /// Where the time to fire stands.
    pub position: Position,
}

/// Which INSERT triggers of a table are to fire around a COPY FROM, whose rows are statements of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyTriggers {
    /// Those before the statement.
    Before,
    /// Those behind each row, with the row as parameters.
    AfterRow,
    /// Those behind the statement.
    After,
}

/// Which triggers of a table ENABLE and DISABLE are about.
#[derive(Clone, PartialEq, Debug)]
pub enum TriggerNames {
    /// One.
    One(String),
    /// ALL: those of constraints, too
    All,
    /// USER
    User,
}
