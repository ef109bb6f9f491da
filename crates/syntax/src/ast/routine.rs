//! CREATE FUNCTION and CREATE PROCEDURE.

use super::{Expr, Name, Position, TypeName};

/// CREATE FUNCTION / PROCEDURE
#[derive(Clone, PartialEq, Debug)]
pub struct CreateRoutine {
    /// Name.
    pub name: Name,
    /// OR REPLACE
    pub or_replace: bool,
    /// PROCEDURE
    pub procedure: bool,
    /// Parameters.
    pub parameters: Vec<RoutineParameter>,
    /// RETURNS
    pub returns: Option<RoutineReturns>,
    /// LANGUAGE, lower case
    pub language: Option<String>,
    /// IMMUTABLE, STABLE, VOLATILE
    pub volatility: Option<planaria_catalog::Volatility>,
    /// STRICT
    pub strict: bool,
    /// SECURITY DEFINER
    pub security_definer: bool,
    /// LEAKPROOF, PARALLEL, COST, ROWS
    pub hints: RoutineHints,
    /// Body between the quotes
    pub body: String,
    /// The body is no string: RETURN, or BEGIN ATOMIC
    pub standard: Option<planaria_catalog::StandardBody>,
    /// Where the body begins in the text.
    pub body_position: Position,
    /// SET, RESET, in order
    pub settings: Vec<RoutineSetting>,
    /// What cannot be ignored
    pub unsupported: Option<(String, Position)>,
}

/// What CREATE and ALTER FUNCTION say to planners.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RoutineHints {
    /// LEAKPROOF; `false`: NOT LEAKPROOF
    pub leakproof: Option<bool>,
    /// PARALLEL
    pub parallel: Option<String>,
    /// COST, as it is written.
    pub cost: Option<String>,
    /// ROWS
    pub rows: Option<String>,
    /// Where one of them is said once more.
    pub twice: Option<Position>,
}

/// SET or RESET of a routine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RoutineSetting {
    /// Which; `all` for RESET ALL.
    pub name: String,
    /// Its value.
    pub value: SettingValue,
    /// Where it stands.
    pub position: Position,
}

/// What a setting is set to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SettingValue {
    /// DEFAULT, RESET
    Default,
    /// Values.
    Values(Vec<String>),
    /// FROM CURRENT, and where these words begin and end.
    Current(Position, Position),
}

/// A parameter of a routine.
#[derive(Clone, PartialEq, Debug)]
pub struct RoutineParameter {
    /// Name; empty if unnamed.
    pub name: String,
    /// Mode.
    pub mode: planaria_catalog::Mode,
    /// Type.
    pub ty: TypeName,
    /// DEFAULT, with its text
    pub default: Option<(Expr, String)>,
    /// Where it stands.
    pub position: Position,
}

/// RETURNS
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs, reason = "fields are named after the clause in the line above them")]
pub enum RoutineReturns {
    /// A type.
    Type { ty: TypeName, setof: bool },
    /// TABLE (..): its columns are among the parameters, mode `Table`
    Table,
}

/// What ALTER FUNCTION changes of a routine.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RoutineOptions {
    /// RENAME TO; then nothing else
    pub name: Option<String>,
    /// IMMUTABLE, STABLE, VOLATILE
    pub volatility: Option<planaria_catalog::Volatility>,
    /// STRICT, RETURNS NULL ON NULL INPUT; `false`: CALLED ON NULL INPUT
    pub strict: Option<bool>,
    /// SECURITY DEFINER; `false`: SECURITY INVOKER
    pub security_definer: Option<bool>,
    /// LEAKPROOF, PARALLEL, COST, ROWS
    pub hints: RoutineHints,
    /// SET, RESET, in order
    pub settings: Vec<RoutineSetting>,
}
